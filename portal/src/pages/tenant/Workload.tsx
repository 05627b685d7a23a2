// One workload: where it stands in its queue and why, what would let it in, what its quota is worth, and every time that
// it was told to go.
import { useState } from 'react';
import { Link, useParams } from 'react-router';
import { answer, api, ifMatch, wish, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import { mayUse } from '../../api/session';
import * as things from '../../api/things';
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { strings } from '../../strings';
import { Select } from '../../ui/controls';
import { count, duration } from '../../ui/format';
import { ConfirmButton, FormDialog, tell } from '../../ui/overlays';
import { Page } from '../../ui/Page';
import { Bars, Card, Facts, StateBadge, Tile, Time, Timeline } from '../../ui/pieces';
import { Loading, Note, Reading, Refused } from '../../ui/states';

const words = strings.tenant.workload;
type Workload = Schemas['WorkloadView'];

function cancel(it: Workload): Promise<unknown> {
  return answer(api.POST('/api/v1/workloads/{workload_id}/cancel', { params: { path: { workload_id: it.id }, header: wish() } }));
}

function ChangePriority({ of }: { of: Workload }) {
  const [chosen, setChosen] = useState(of.priority_class);
  const classes = useRead(things.priorityClasses);
  const change = async (): Promise<void> => {
    if (chosen === undefined) return;
    await answer(
      api.PUT('/api/v1/workloads/{workload_id}/priority', {
        params: { path: { workload_id: of.id }, header: ifMatch(of) },
        body: { priority_class: chosen },
      }),
    );
    tell(words.priorityChanged);
  };
  if (!classes.data || classes.data.items.length < 2) return null;
  return (
    <FormDialog trigger={words.changePriority} title={words.changePriorityOf(of.name)} action={words.changePriority} run={change} ready={chosen !== undefined}>
      <Select
        label={words.priorityClass}
        value={chosen}
        onChange={setChosen}
        options={classes.data.items.map((each) => ({ id: each.spec.slug, label: each.spec.slug, detail: words.priorityValue(each.spec.value) }))}
      />
    </FormDialog>
  );
}

function Why({ wait, waits }: { wait: Schemas['ExplanationView']; waits: boolean }) {
  return (
    <Card title={waits ? words.why : words.whyHere}>
      <p>{wait.sentence}</p>
      {wait.resource !== undefined && (
        <Bars
          label={words.asked(wait.flavor)}
          unit={wait.resource}
          whole={wait.asked}
          parts={[
            { label: words.available, value: Math.min(wait.available, wait.asked), tone: 'good' },
            { label: words.missing, value: Math.max(0, wait.shortfall), tone: 'warn', hatched: true },
          ]}
          head={words.of(wait.available, wait.asked)}
        />
      )}
      {wait.promise && (
        <Facts
          of={[
            [words.promise, strings.codes.promise[wait.promise]],
            [words.blockedAt, wait.blocked_at],
            [words.code, <code key="code">{wait.code}</code>],
          ]}
        />
      )}
      {wait.unblocks.length > 0 && (
        <>
          <h3>{words.unblocks}</h3>
          <ul>
            {wait.unblocks.map((way, index) => (
              <li key={`${way.kind} ${index}`}>
                {strings.codes.wayOut[way.kind]}
                {way.amount !== undefined && ` · ${count(way.amount)}`}
                {way.node !== undefined && ` · ${way.node}`}
                {way.workload_id !== undefined && (
                  <>
                    {' · '}
                    <code className="small">{way.workload_id}</code>
                  </>
                )}
                {way.at !== undefined && (
                  <>
                    {' · '}
                    <Time at={way.at} from="now" />
                  </>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {wait.holders.length > 0 && (
        <>
          <h3>{words.holders}</h3>
          <ul>
            {wait.holders.map((holder) => (
              <li key={holder.queue}>{words.holds(holder.queue, holder.holds, holder.borrowed)}</li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

function told(each: Schemas['PreemptionView']): string {
  return words.preempted(strings.codes.preemptionRule[each.rule]);
}

function stands(each: Schemas['PreemptionView']): string {
  if (each.gone_at) return words.gone;
  if (each.stopped_at) return words.stopping;
  if (each.checkpointed_at) return words.saved;
  return words.noticeRuns;
}

function Preemptions({ of }: { of: readonly Schemas['PreemptionView'][] }) {
  if (of.length === 0) return null;
  return (
    <Card title={words.preemptions}>
      <Timeline
        label={words.preemptions}
        items={of.map((each) => ({
          key: each.id,
          at: each.noticed_at,
          tone: each.gone_at ? 'idle' : 'warn',
          title: told(each),
          detail: (
            <Facts
              of={[
                [words.forWhom, each.by_queue ?? words.forNobody],
                [words.forWorkload, each.by_workload_id && <code key="by">{each.by_workload_id}</code>],
                [words.notice, duration(each.notice_s)],
                [words.grace, duration(each.grace_s)],
                [words.stopAt, <Time key="stop" at={each.stop_at} />],
                [words.savedAt, each.checkpointed_at && <Time at={each.checkpointed_at} />],
                [words.goneAt, each.gone_at && <Time at={each.gone_at} />],
                [words.standsNow, stands(each)],
              ]}
            />
          ),
        }))}
      />
    </Card>
  );
}

function About({ of }: { of: Workload }) {
  return (
    <Card title={words.about}>
      <Facts
        of={[
          [words.id, <code key="id">{of.id}</code>],
          [words.queue, `${of.queue} → ${of.cluster_queue}`],
          [words.priority, of.priority_class ? `${of.priority_class} (${of.priority})` : String(of.priority)],
          [words.flavor, of.flavor],
          [words.borrowed, of.borrowed_gpus > 0 && words.gpus(of.borrowed_gpus)],
          [words.submitted, <Time key="submitted" at={of.created_at} />],
          [words.admitted, of.admitted_at && <Time at={of.admitted_at} />],
          [words.notBefore, of.not_before && <Time at={of.not_before} />],
          [words.maxRun, of.max_run_s !== undefined && duration(of.max_run_s)],
          [words.stops, of.stops > 0 && String(of.stops)],
          [words.gated, of.gated && strings.shared.yes],
        ]}
      />
    </Card>
  );
}

/** The page. */
export function Component() {
  const { projectId = '', workloadId = '' } = useParams();
  const session = useSession();
  const { current } = useScope();
  const found = useRead({
    key: ['workload', workloadId],
    touches: { nouns: ['workload', 'allocation'] },
    read: () => answer(api.GET('/api/v1/workloads/{workload_id}', { params: { path: { workload_id: workloadId } } })),
  });
  const why = useRead({
    key: ['workload-why', workloadId],
    touches: { nouns: ['workload', 'allocation'] },
    read: () => answer(api.GET('/api/v1/workloads/{workload_id}/explanation', { params: { path: { workload_id: workloadId } } })),
  });
  const crumbs = [{ label: strings.tenant.queue.title, to: `/projects/${projectId}/queue` }];
  const it = found.data;
  if (!it) {
    return (
      <Page title={words.title} crumbs={crumbs}>
        {found.error ? <Refused error={found.error} onRetry={() => void found.refetch()} /> : <Loading />}
      </Page>
    );
  }
  const may = current !== undefined && mayUse(session, current.project) && it.desired === 'running';
  return (
    <Page
      title={it.name}
      mark={<StateBadge state={it.execution} />}
      lead={it.execution === 'preempting' ? undefined : it.projected}
      crumbs={crumbs}
      actions={
        may && (
          <>
            {it.execution === 'queued' && <ChangePriority of={it} />}
            <ConfirmButton trigger={words.cancel} title={words.cancelTitle(it.name)} action={words.cancel} run={() => cancel(it)} onDone={() => tell(words.cancelled(it.name))}>
              <p>{it.execution === 'queued' ? words.cancelWaiting : words.cancelRunning}</p>
              <code>{it.id}</code>
            </ConfirmButton>
          </>
        )
      }
      calls={[
        { method: 'GET', path: `/api/v1/workloads/${it.id}`, cli: `gpuaas workload show ${it.id}` },
        { method: 'GET', path: `/api/v1/workloads/${it.id}/explanation`, cli: `gpuaas queue explain ${it.id}` },
      ]}
    >
      {it.execution === 'preempting' && it.preemption && (
        <Note tone="warn" title={told(it.preemption)}>
          <p>
            {words.stopsAt} <Time at={it.preemption.stop_at} from="now" /> · {stands(it.preemption)}
          </p>
        </Note>
      )}
      <div className="tiles">
        {it.position !== undefined && <Tile label={words.position} value={count(it.position)} {...(it.wait?.of === undefined ? {} : { detail: words.ofWaiting(it.wait.of) })} />}
        <Tile label={words.size} value={count(it.gpu_count * it.member_count)} detail={words.members(it.member_count, it.gpu_count)} />
        {it.wait?.estimated_start_at && <Tile label={words.start} value={<Time at={it.wait.estimated_start_at} from="now" />} detail={words.startDetail} />}
      </div>
      <div className="grid-side">
        <div className="stack">
          <Reading of={why}>
            {(explained) => (
              <>
                {explained.wait && <Why wait={explained.wait} waits={it.execution === 'queued'} />}
                <Preemptions of={explained.preemptions} />
              </>
            )}
          </Reading>
          {it.members.length > 0 && (
            <Card title={words.membersTitle}>
              <ul className="plain-list lines">
                {it.members.map((member) => (
                  <li key={member.allocation_id} className="line">
                    <Link className="row-link" to={`/projects/${projectId}/allocations/${member.allocation_id}`}>
                      {member.allocation_id}
                    </Link>
                    <StateBadge state={member.execution} />
                  </li>
                ))}
              </ul>
            </Card>
          )}
        </div>
        <About of={it} />
      </div>
    </Page>
  );
}
