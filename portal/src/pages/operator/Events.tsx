// The feed of events, live, by kind of thing and by thing.
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import type { Noun, Schemas } from '../../api/client';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { Button, Select, TextField } from '../../ui/controls';
import { Page } from '../../ui/Page';
import { EventTable, mergeEvents, useNewEvents } from './EventTable';
import { word } from './parts';

const words = strings.operator.events;
const nouns: readonly Noun[] = [
  'allocation', 'workload', 'node', 'slot', 'task', 'wipe_override', 'tenant', 'project', 'principal', 'member', 'token', 'region', 'pool', 'sku', 'slot_profile', 'image', 'image_key',
  'ssh_key', 'enrollment_token', 'ingress', 'topology', 'flavor', 'cohort', 'cluster_queue', 'local_queue', 'priority_class', 'hardware_profile',
];

/** The page. */
export function Component() {
  const [params, setParams] = useSearchParams();
  const noun = params.get('noun') ?? 'all';
  const subject = params.get('subject') ?? '';
  const read = useRead(operator.events).data?.items ?? [];
  const came = useNewEvents();
  const [paused, setPaused] = useState<readonly Schemas['CloudEvent'][]>();
  const set = (name: string, value: string): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value) next.set(name, value);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  const keep = (event: Schemas['CloudEvent']): boolean => (noun === 'all' || event.data.noun === noun) && (subject === '' || event.subject.includes(subject));
  return (
    <Page
      title={words.title}
      lead={words.lead(operator.recentEvents)}
      actions={<Button onPress={() => setPaused(paused ? undefined : mergeEvents(read, came))}>{paused ? words.resume : words.pause}</Button>}
      calls={[
        { method: 'GET', path: '/api/v1/events', cli: 'gpuaas event list' },
        { method: 'GET', path: '/api/v1/events/stream', cli: 'gpuaas event list --follow' },
      ]}
    >
      <div className="filters">
        <Select label={words.noun} value={noun} onChange={(id) => set('noun', id === 'all' ? '' : id)} options={[{ id: 'all', label: strings.operator.fleet.all }, ...nouns.map((each) => ({ id: each, label: word(each) }))]} />
        <TextField label={words.subject} type="search" value={subject} onChange={(value) => set('subject', value.trim())} placeholder="alc_…" />
      </div>
      <EventTable label={words.title} keep={keep} paused={paused} />
    </Page>
  );
}
