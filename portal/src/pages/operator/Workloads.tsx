// Workloads of all projects, by state and queue.
import { useSearchParams } from 'react-router';
import type { Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { Select } from '../../ui/controls';
import { Page } from '../../ui/Page';
import { Reading } from '../../ui/states';
import { word } from './parts';
import { WorkloadTable } from './Queues';

const words = strings.operator.workloads;
const states: readonly Schemas['WorkloadState'][] = ['queued', 'admitted', 'running', 'preempting', 'stopping', 'finished', 'cancelled', 'refused', 'failed'];

/** The page. */
export function Component() {
  const [params, setParams] = useSearchParams();
  const state = params.get('state') ?? 'all';
  const queue = params.get('queue') ?? 'all';
  const queues = (useRead(operator.queueUse).data?.items ?? []).filter((use) => use.is_queue);
  const list = useRead(operator.workloads(state === 'all' ? undefined : state, queue === 'all' ? undefined : queue));
  const set = (name: string, value: string): void =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      next.set(name, value);
      return next;
    });
  const all = { id: 'all', label: strings.operator.fleet.all };
  const query = [state !== 'all' && `state=${state}`, queue !== 'all' && `queue=${queue}`].filter(Boolean).join('&');
  return (
    <Page title={words.title} lead={words.lead} crumbs={[{ label: strings.operator.queues.title, to: '/operator/queues' }]} calls={[{ method: 'GET', path: `/api/v1/admin/workloads${query ? `?${query}` : ''}` }]}>
      <div className="filters">
        <Select label={strings.operator.queues.state} value={state} onChange={(id) => set('state', id)} options={[all, ...states.map((each) => ({ id: each, label: word(each) }))]} />
        <Select label={strings.operator.queues.queue} value={queue} onChange={(id) => set('queue', id)} options={[all, ...queues.map((each) => ({ id: each.slug, label: each.slug }))]} />
      </div>
      <Reading of={list}>{(found) => <WorkloadTable label={words.title} workloads={found.items} complete={found.complete} />}</Reading>
    </Page>
  );
}
