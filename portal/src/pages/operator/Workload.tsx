// One workload for operators: how it stands, why it waits, who stopped it, and what can be done about it.
import { useState } from 'react';
import { useParams } from 'react-router';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { Select } from '../../ui/controls';
import { FormDialog, tell } from '../../ui/overlays';
import { DataTable, type Column } from '../../ui/DataTable';
import { Page } from '../../ui/Page';
import { Card, Duration, Facts, StateBadge, Time, Timeline } from '../../ui/pieces';
import { Note, Reading } from '../../ui/states';
import { Act, Ref, useCatalogNames, useMayAct, word } from './parts';

const words = strings.operator.workload;
type Workload = Schemas['WorkloadView'];

function PriorityButton({ workload, classes }: { workload: Workload; classes: readonly Schemas['PriorityClass'][] }) {
  const [chosen, setChosen] = useState<string | undefined>(workload.priority_class);
  const run = async (): Promise<void> => {
    await answer(api.PUT('/api/v1/workloads/{workload_id}/priority', { params: { path: { workload_id: workload.id }, header: ifMatch(workload) }, body: { priority_class: chosen ?? '' } }));
    tell(words.prioritySet);
  };
  return (
    <FormDialog trigger={words.setPriority} title={words.setPriorityTitle(workload.name)} action={words.setPriority} run={run} ready={chosen !== undefined}>
      <p>{words.setPriorityDetail}</p>
      <Select label={words.priorityClass} value={chosen} onChange={setChosen} options={classes.map((each) => ({ id: each.slug, label: each.slug, detail: String(each.value) }))} />
    </FormDialog>
  );
}

function Actions({ workload }: { workload: Workload }) {
  const classes = useRead(operator.governance).data?.governance.priority_classes ?? [];
  const path = { workload_id: workload.id };
  const header = { ...wish(), ...ifMatch(workload) };
  const ended = ['finished', 'cancelled', 'refused', 'failed'].includes(workload.execution);
  if (ended) return null;
  return (
    <>
      <Act
        label={workload.gated ? words.openGate : words.closeGate}
        title={workload.gated ? words.openGateTitle(workload.name) : words.closeGateTitle(workload.name)}
        consequence={workload.gated ? words.openGateDetail : words.closeGateDetail}
        done={words.gateSet}
        run={() => answer(api.POST('/api/v1/admin/workloads/{workload_id}/gate', { params: { path, header }, body: { closed: !workload.gated } }))}
      />
      {classes.length > 0 && <PriorityButton workload={workload} classes={classes} />}
      <Act
        danger
        label={words.cancel}
        title={words.cancelTitle(workload.name)}
        consequence={words.cancelDetail(workload.member_count, workload.gpu_count)}
        done={words.cancelled}
        run={() => answer(api.POST('/api/v1/workloads/{workload_id}/cancel', { params: { path, header } }))}
      />
    </>
  );
}

/** Why something waits, and what would help. */
export function Why({ wait }: { wait: Schemas['ExplanationView'] }) {
  return (
    <Note tone="warn" title={words.waits}>
      <p>{wait.sentence}</p>
      <Facts
        of={[
          [words.code, <code key="c">{wait.code}</code>],
          [words.blockedAt, wait.blocked_at],
          [words.asked, wait.resource ? `${wait.asked} ${wait.resource} ${wait.flavor ?? ''}` : String(wait.asked)],
          [words.available, String(wait.available)],
          [words.shortfall, String(wait.shortfall)],
          [words.start, wait.estimated_start_at && <Time key="s" at={wait.estimated_start_at} from="now" />],
        ]}
      />
      {wait.holders.length > 0 && (
        <>
          <h3>{words.holders}</h3>
          <ul>
            {wait.holders.map((holder) => (
              <li key={holder.queue}>{words.holder(holder.queue, holder.holds, holder.borrowed)}</li>
            ))}
          </ul>
        </>
      )}
      {wait.unblocks.length > 0 && (
        <>
          <h3>{words.helps}</h3>
          <ul>
            {wait.unblocks.map((way) => (
              <li key={`${way.kind}${way.node ?? ''}${way.workload_id ?? ''}`}>
                {word(way.kind)}
                {way.node ? `: ${way.node}` : ''}
                {way.amount === undefined ? '' : ` (${way.amount})`} {way.workload_id && <Ref id={way.workload_id} />} {way.at && <Time at={way.at} from="now" />}
              </li>
            ))}
          </ul>
        </>
      )}
    </Note>
  );
}

function preemptionItems(all: readonly Schemas['PreemptionView'][]) {
  return all.flatMap((each) => [
    { key: `${each.id}told`, at: each.noticed_at, tone: 'warn' as const, title: words.told(word(each.rule)), detail: each.by_workload_id && <Ref id={each.by_workload_id} /> },
    ...(each.checkpointed_at ? [{ key: `${each.id}saved`, at: each.checkpointed_at, tone: 'busy' as const, title: words.saved }] : []),
    ...(each.stopped_at ? [{ key: `${each.id}stopped`, at: each.stopped_at, tone: 'bad' as const, title: words.stopped }] : [{ key: `${each.id}stop`, at: each.stop_at, tone: 'idle' as const, title: words.stops }]),
    ...(each.gone_at ? [{ key: `${each.id}gone`, at: each.gone_at, tone: 'idle' as const, title: words.gone }] : []),
  ]);
}

function Shown({ workload }: { workload: Workload }) {
  const names = useCatalogNames();
  const explanation = useRead(operator.explanation(workload.id));
  const wait = explanation.data?.wait ?? workload.wait;
  const members: Column<Schemas['WorkloadMemberView']>[] = [
    { id: 'allocation', title: strings.operator.claim.allocation, value: (member) => member.allocation_id, render: (member) => <Ref id={member.allocation_id} /> },
    { id: 'state', title: strings.operator.queues.state, value: (member) => member.execution, render: (member) => <StateBadge state={member.execution} /> },
    { id: 'desired', title: strings.operator.node.desired, value: (member) => word(member.desired) },
  ];
  return (
    <>
      {wait && <Why wait={wait} />}
      <div className="grid-2">
        <Card title={words.facts}>
          <p>{workload.projected}</p>
          <Facts
            of={[
              [words.queue, `${workload.queue} → ${workload.cluster_queue}`],
              [words.position, workload.position === undefined ? undefined : String(workload.position)],
              [words.asks, words.members(workload.member_count, workload.gpu_count)],
              [words.flavor, workload.flavor],
              [words.borrowed, workload.borrowed_gpus > 0 && String(workload.borrowed_gpus)],
              [words.priority, `${workload.priority}${workload.priority_class ? ` (${workload.priority_class})` : ''}`],
              [words.region, names.region(workload.region_id)],
              [words.tenant, <Ref key="t" id={workload.tenant_id} />],
              [words.project, <Ref key="p" id={workload.project_id} />],
              [words.queued, <Time key="q" at={workload.queued_at} />],
              [words.admitted, workload.admitted_at && <Time key="a" at={workload.admitted_at} />],
              [words.maxRun, workload.max_run_s !== undefined && <Duration key="m" seconds={workload.max_run_s} />],
              [words.stopsCount, workload.stops > 0 && String(workload.stops)],
              [words.gate, workload.gated && words.gateClosed],
            ]}
          />
        </Card>
        <Card title={words.membersTitle}>
          <DataTable label={words.membersTitle} columns={members} rows={workload.members} rowKey={(member) => member.allocation_id} empty={<p className="soft">{words.noMembers}</p>} />
        </Card>
      </div>
      <Card title={words.preemptions}>
        <Reading of={explanation} lines={2}>
          {(found) => (found.preemptions.length === 0 ? <p className="soft">{words.noPreemptions}</p> : <Timeline label={words.preemptions} items={preemptionItems(found.preemptions)} />)}
        </Reading>
      </Card>
    </>
  );
}

/** The page. */
export function Component() {
  const { workloadId = '' } = useParams();
  const may = useMayAct();
  const workload = useRead(operator.workload(workloadId));
  return (
    <Page
      title={workload.data?.name ?? strings.operator.queues.workload}
      mark={workload.data && <StateBadge state={workload.data.execution} />}
      crumbs={[
        { label: strings.operator.queues.title, to: '/operator/queues' },
        { label: strings.operator.workloads.title, to: '/operator/workloads' },
      ]}
      actions={may && workload.data && <Actions workload={workload.data} />}
      calls={[
        { method: 'GET', path: `/api/v1/workloads/${workloadId}`, cli: `gpuaas workload show ${workloadId}` },
        { method: 'GET', path: `/api/v1/workloads/${workloadId}/explanation`, cli: `gpuaas queue explain ${workloadId}` },
      ]}
    >
      <Reading of={workload}>{(found) => <Shown workload={found} />}</Reading>
    </Page>
  );
}
