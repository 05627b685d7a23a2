// The last step of a launch: what it costs, whether it fits and if not why, what to do then, and the launch itself.
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, api, type Schemas } from '../../api/client';
import { useRead } from '../../api/reads';
import * as things from '../../api/things';
import { strings } from '../../strings';
import { Button, Choices, Select } from '../../ui/controls';
import { curlOf } from '../../ui/ApiCall';
import { bytes, count, duration, gpuModel } from '../../ui/format';
import { CopyField, Disclosure, Facts, Money, StateBadge } from '../../ui/pieces';
import { Loading, Note, ProblemNote } from '../../ui/states';
import { launchCommand, type LaunchBody, type LaunchChange, type LaunchState } from './launch-state';
import { Checks, PlacementRefusal } from './Refusal';

const words = strings.tenant.launch;

interface ReviewProps {
  projectId: string;
  projectPath: string;
  state: LaunchState;
  change: (part: LaunchChange) => void;
  body: LaunchBody | undefined;
  plan: UseQueryResult<Schemas['PlanView']>;
  idempotencyKey: string;
  keys: readonly Schemas['SshKeyView'][];
  skus: readonly Schemas['SkuView'][];
  queues: readonly Schemas['LocalQueueView'][];
  hasUserData: boolean;
  onLaunched: (operation: Schemas['OperationView']) => void;
}

function Elsewhere({ plan, change, skus }: { plan: Schemas['PlanView'] } & Pick<ReviewProps, 'change' | 'skus'>) {
  const fitting = plan.elsewhere.filter((each) => each.fits);
  if (fitting.length === 0) return null;
  return (
    <div className="stack-tight">
      <strong>{words.elsewhere}</strong>
      {fitting.map((each) => (
        <div key={`${each.region_id} ${each.sku_id}`} className="row">
          <span>
            {count(each.gpu_count)} × {each.sku}, {each.region} · <Money micros={each.price.micros_per_hour} per={strings.shared.perHour} />
          </span>
          <Button
            small
            onPress={() =>
              change({
                shape: skus.find((sku) => sku.id === each.sku_id)?.shape ?? plan.shape,
                sku: each.sku,
                profile: undefined,
                region: each.region,
                gpus: each.gpu_count,
                pool: undefined,
              })
            }
          >
            {words.choose}
          </Button>
        </div>
      ))}
    </div>
  );
}

function Plan({ plan, change, skus }: { plan: Schemas['PlanView'] } & Pick<ReviewProps, 'change' | 'skus'>) {
  const good = plan.admitted && plan.fits;
  return (
    <>
      <div className="price">
        <span className="tile-value">
          <Money micros={plan.price.micros_per_hour} />
        </span>
        <span className="soft">{strings.shared.perHour}</span>
      </div>
      <Facts
        of={[
          [words.perMonth, <Money key="month" micros={plan.price.micros_per_730_hours} />],
          [words.perGpu, <Money key="gpu" micros={plan.price.micros_per_gpu_hour} per={strings.shared.perHour} />],
          [words.youGet, `${gpuModel(plan.gpu_model)}, ${strings.codes.shape[plan.shape]}, ${words.resources(plan.vcpus, bytes(plan.memory_mib * 1024 * 1024))}`],
        ]}
      />
      {good ? (
        <Note tone="good" title={words.fits}>
          <p>{plan.projected}</p>
        </Note>
      ) : (
        <Note tone="warn" title={plan.admitted ? words.noPlace : words.notAdmitted}>
          <p>{plan.projected}</p>
          {plan.refusal && plan.admitted && <PlacementRefusal refusal={plan.refusal} />}
          <Elsewhere plan={plan} change={change} skus={skus} />
        </Note>
      )}
      <Disclosure title={words.checks} open={!plan.admitted}>
        <Checks checks={plan.checks} />
      </Disclosure>
    </>
  );
}

/** How long something may run at most, to choose from; in seconds. */
const spans = [3600, 14_400, 43_200, 86_400, 259_200, 604_800, 2_592_000];

function RunLimits({ state, change }: Pick<ReviewProps, 'state' | 'change'>) {
  const classes = useRead(things.priorityClasses).data?.items.map((each) => each.spec) ?? [];
  const fallback = classes.find((each) => each.default);
  const offered = state.maxRunS === undefined || spans.includes(state.maxRunS) ? spans : [...spans, state.maxRunS].sort((a, b) => a - b);
  return (
    <>
      <Select
        label={words.priorityClass}
        hint={classes.length === 0 ? words.noClasses : words.priorityHint}
        disabled={classes.length === 0}
        value={state.priorityClass ?? 'default'}
        onChange={(id) => change({ priorityClass: id === 'default' ? undefined : id })}
        options={[
          { id: 'default', label: fallback ? words.defaultClass(fallback.slug) : words.noClass },
          ...classes.map((each) => ({ id: each.slug, label: each.slug, detail: words.classDetail(each.value, each.preempts ?? true) })),
        ]}
      />
      <Select
        label={words.maxRun}
        hint={words.maxRunHint}
        value={String(state.maxRunS ?? 'ever')}
        onChange={(id) => change({ maxRunS: id === 'ever' ? undefined : Number(id) })}
        options={[{ id: 'ever', label: words.forEver }, ...offered.map((seconds) => ({ id: String(seconds), label: duration(seconds) }))]}
      />
    </>
  );
}

function QueueChoice({ state, change, queues }: Pick<ReviewProps, 'state' | 'change' | 'queues'>) {
  if (queues.length === 0) return <p className="small soft">{words.noQueue}</p>;
  return (
    <div className="stack-tight">
      <Choices
        label={words.ifUnavailable}
        value={state.ifUnavailable ?? 'queue'}
        onChange={(id) => change({ ifUnavailable: id === 'refuse' ? 'refuse' : 'queue' })}
        choices={[
          { id: 'queue', title: words.wait, detail: words.waitDetail },
          { id: 'refuse', title: words.refuse, detail: words.refuseDetail },
        ]}
      />
      <p className="small soft">{words.quotaLater}</p>
      {queues.length > 1 && (
        <Select
          label={words.queue}
          value={state.queue ?? queues.find((queue) => queue.spec.default)?.spec.slug}
          onChange={(queue) => change({ queue })}
          options={queues.map(({ spec }) => ({
            id: spec.slug,
            label: spec.slug,
            detail: (spec.stop ?? 'none') === 'none' ? words.leadsTo(spec.cluster_queue) : words.queueStopped,
          }))}
        />
      )}
      <RunLimits state={state} change={change} />
    </div>
  );
}

/** The step. */
export function LaunchReview(props: ReviewProps) {
  const { projectId, projectPath, state, change, body, plan, idempotencyKey, keys, skus, queues, hasUserData, onLaunched } = props;
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<unknown>();
  const launch = async (): Promise<void> => {
    if (!body) return;
    setPending(true);
    setError(undefined);
    try {
      const operation = await answer(
        api.POST('/api/v1/projects/{project_id}/allocations', {
          params: { path: { project_id: projectId }, header: { 'Idempotency-Key': idempotencyKey } },
          body,
        }),
      );
      onLaunched(operation);
    } catch (cause) {
      setError(cause);
      setPending(false);
    }
  };
  const noKey = (body?.ssh_key_ids?.length ?? 0) === 0;
  const lacking = state.name === '' ? words.nameFirst : noKey && !(state.shape === 'baremetal' && hasUserData) ? (keys.length === 0 ? words.keyFirst : words.chooseKey) : undefined;
  return (
    <div className="stack" aria-live="polite">
      {plan.data ? <Plan plan={plan.data} change={change} skus={skus} /> : plan.error ? <ProblemNote error={plan.error} onRetry={() => void plan.refetch()} /> : <Loading />}
      <QueueChoice state={state} change={change} queues={queues} />
      {error !== undefined && <ProblemNote error={error} />}
      {lacking !== undefined && <p className="row"><StateBadge state="lacking" tone="warn" label={lacking} /></p>}
      <Button tone="primary" pending={pending} disabled={!body || lacking !== undefined || plan.data?.admitted === false} onPress={() => void launch()}>
        {words.launch(state.gpus ?? 0)}
      </Button>
      <Disclosure title={words.same}>
        <div className="stack-tight">
          <CopyField text={launchCommand(state, projectPath, hasUserData)} what={strings.shared.asCli} />
          {body && <CopyField text={curlOf({ method: 'POST', path: `/api/v1/projects/${projectId}/allocations`, body })} what={strings.shared.asCurl} />}
        </div>
      </Disclosure>
    </div>
  );
}
