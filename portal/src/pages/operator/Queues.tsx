// Queues and cohorts with what each has, uses, borrows and lends; who waits and why; and who was told to go.
import type { CSSProperties } from 'react';
import { Link } from 'react-router';
import type { Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { LinkButton } from '../../ui/controls';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { Card, StateBadge, Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { Ref, word } from './parts';
import { quotaParts, treeOf, type UseTree } from './queues';

const words = strings.operator.queues;
type Workload = Schemas['WorkloadView'];

function QuotaBar({ quota, scale }: { quota: Schemas['QuotaUseView']; scale: number }) {
  const { parts } = quotaParts(quota);
  const percent = (value: number): string => `${(100 * value) / Math.max(1, scale)}%`;
  const told = words.quota(quota.used, quota.nominal, quota.borrowed, quota.lent, quota.available);
  return (
    <div className="quota">
      <div className="meter-head small">
        <span>
          <strong>{quota.flavor}</strong> <span className="soft">{quota.resource}</span>
        </span>
        <span className="number">{told}</span>
      </div>
      <div className="quota-track" role="img" aria-label={`${quota.flavor}: ${told}`}>
        {parts
          .filter((part) => part.id !== 'free')
          .map((part) => (
            <div key={part.id} className="quota-part" data-tone={part.tone} data-pattern={part.pattern} style={{ left: percent(part.from), width: percent(part.size) } satisfies CSSProperties} />
          ))}
        {quota.nominal > 0 && <div className="quota-mark" style={{ left: `calc(${percent(quota.nominal)} - 3px)` }} />}
      </div>
    </div>
  );
}

function Branch({ tree, scale }: { tree: UseTree; scale: number }) {
  const { use } = tree;
  return (
    <li>
      <Card
        title={
          <>
            {use.slug} <span className="soft small">{use.is_queue ? words.queue : words.cohort}</span>
          </>
        }
        actions={
          <>
            {use.is_queue && (
              <span className="small soft">
                {words.running(use.running)} · {use.waiting > 0 ? <strong>{words.waiting(use.waiting)}</strong> : words.waiting(0)}
              </span>
            )}
            <span className="small" title={words.shareDetail}>
              {words.share} <span className="number">{(use.share_per_mille / 10).toFixed(1)} %</span>
            </span>
          </>
        }
      >
        {use.quotas.length === 0 ? <p className="soft small">{words.noQuota}</p> : use.quotas.map((quota) => <QuotaBar key={`${quota.flavor}${quota.resource}`} quota={quota} scale={scale} />)}
      </Card>
      {tree.children.length > 0 && (
        <ul className="tree">
          {tree.children.map((child) => (
            <Branch key={`${child.use.is_queue}${child.use.slug}`} tree={child} scale={scale} />
          ))}
        </ul>
      )}
    </li>
  );
}

/** The tree with its legend. Every bar has the same scale. */
export function QueueTree({ uses }: { uses: readonly Schemas['QueueUseView'][] }) {
  const scale = Math.max(1, ...uses.flatMap((use) => use.quotas.map((quota) => Math.max(quotaParts(quota).whole, quota.used))));
  return (
    <div className="stack">
      <ul className="legend">
        <li data-tone="busy">
          <span className="swatch" aria-hidden="true" /> {words.own}
        </li>
        <li data-tone="warn">
          <span className="swatch" data-pattern="hatch" aria-hidden="true" /> {words.borrowed}
        </li>
        <li data-tone="good">
          <span className="swatch" data-pattern="dots" aria-hidden="true" /> {words.lent}
        </li>
        <li>▎ {words.nominal}</li>
      </ul>
      <ul className="tree">
        {treeOf(uses).map((tree) => (
          <Branch key={`${tree.use.is_queue}${tree.use.slug}`} tree={tree} scale={scale} />
        ))}
      </ul>
    </div>
  );
}

/** Workloads of all projects, as a table. */
export function WorkloadTable({ workloads, label, complete }: { workloads: readonly Workload[]; label: string; complete?: boolean }) {
  const columns: Column<Workload>[] = [
    { id: 'name', title: words.workload, value: (each) => each.name, render: (each) => <Ref id={each.id}>{each.name}</Ref> },
    { id: 'state', title: words.state, value: (each) => each.execution, render: (each) => <StateBadge state={each.execution} /> },
    { id: 'queue', title: words.queue, value: (each) => each.cluster_queue },
    { id: 'position', title: words.position, align: 'end', value: (each) => each.position },
    { id: 'gpus', title: words.gpus, align: 'end', value: (each) => each.gpu_count * each.member_count },
    { id: 'priority', title: words.priority, align: 'end', value: (each) => each.priority },
    { id: 'project', title: words.project, value: (each) => each.project_id, render: (each) => <Ref id={each.project_id} /> },
    { id: 'since', title: words.since, value: (each) => each.queued_at, render: (each) => <Time at={each.queued_at} from="now" /> },
    { id: 'why', title: words.why, value: (each) => each.wait?.sentence ?? each.projected },
  ];
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={workloads}
      rowKey={(each) => each.id}
      {...(complete === undefined ? {} : { complete })}
      empty={
        <Empty title={words.nobodyWaits}>
          <p>{words.nobodyWaitsDetail}</p>
        </Empty>
      }
    />
  );
}

function Preemptions({ workloads }: { workloads: readonly Workload[] }) {
  const told = workloads.filter((each) => each.preemption !== undefined);
  const columns: Column<Workload>[] = [
    { id: 'name', title: words.workload, value: (each) => each.name, render: (each) => <Ref id={each.id}>{each.name}</Ref> },
    { id: 'rule', title: words.rule, value: (each) => (each.preemption ? word(each.preemption.rule) : undefined) },
    { id: 'by', title: words.by, value: (each) => each.preemption?.by_workload_id, render: (each) => (each.preemption?.by_workload_id ? <Ref id={each.preemption.by_workload_id} /> : '–') },
    { id: 'told', title: words.told, value: (each) => each.preemption?.noticed_at, render: (each) => each.preemption && <Time at={each.preemption.noticed_at} /> },
    { id: 'stop', title: words.stopAt, value: (each) => each.preemption?.stop_at, render: (each) => each.preemption && <Time at={each.preemption.stop_at} from="now" /> },
    { id: 'state', title: words.state, value: (each) => each.execution, render: (each) => <StateBadge state={each.execution} /> },
  ];
  return <DataTable label={words.preemptions} columns={columns} rows={told} rowKey={(each) => each.id} empty={<p className="soft">{words.noPreemptions}</p>} />;
}

/** The page. */
export function Component() {
  const uses = useRead(operator.queueUse);
  const all = useRead(operator.workloads());
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <>
          <LinkButton to="/operator/workloads">{words.allWorkloads}</LinkButton>
          <LinkButton to="/operator/what-if" tone="primary">
            {words.whatIf}
          </LinkButton>
        </>
      }
      calls={[
        { method: 'GET', path: '/api/v1/admin/governance/usage', cli: 'gpuaas queue top' },
        { method: 'GET', path: '/api/v1/admin/workloads' },
      ]}
    >
      <Reading of={uses}>
        {(list) =>
          list.items.length === 0 ? (
            <Empty title={words.empty}>
              <p>{words.emptyDetail}</p>
              <Link to="/operator/what-if">{words.whatIf}</Link>
            </Empty>
          ) : (
            <QueueTree uses={list.items} />
          )
        }
      </Reading>
      <h2>{words.whoWaits}</h2>
      <Reading of={all}>
        {(list) => (
          <div className="stack">
            <WorkloadTable label={words.whoWaits} workloads={list.items.filter((each) => each.execution === 'queued')} complete={list.complete} />
            <h2>{words.preemptions}</h2>
            <Preemptions workloads={list.items} />
          </div>
        )}
      </Reading>
    </Page>
  );
}
