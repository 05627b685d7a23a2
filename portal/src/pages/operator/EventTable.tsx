// Events as they come, newest first. What happened before the page was opened is read once; the stream of the portal adds to it.
import { useEffect, useState } from 'react';
import type { Schemas } from '../../api/client';
import { listen } from '../../api/live';
import * as operator from '../../api/operator';
import { useRead } from '../../api/reads';
import { strings } from '../../strings';
import { DataTable, type Column } from '../../ui/DataTable';
import { Time } from '../../ui/pieces';
import { Empty, Reading } from '../../ui/states';
import { Ref, word } from './parts';

const words = strings.operator.events;
type CloudEvent = Schemas['CloudEvent'];

/** So many events are kept on a page. */
const most = 2000;

/** Events after those that were read, as they come. */
export function useNewEvents(): readonly CloudEvent[] {
  const [events, setEvents] = useState<readonly CloudEvent[]>([]);
  useEffect(() => listen((event) => setEvents((before) => [...before, event].slice(-most))), []);
  return events;
}

/** Both together, newest first, each once. */
export function mergeEvents(read: readonly CloudEvent[], came: readonly CloudEvent[]): CloudEvent[] {
  const seen = new Set<string>();
  const all: CloudEvent[] = [];
  for (const event of [...read, ...came]) {
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    all.push(event);
  }
  return all.reverse();
}

/** A table of events. */
export function EventTable({ keep, label, paused }: { keep: (event: CloudEvent) => boolean; label: string; paused?: readonly CloudEvent[] | undefined }) {
  const read = useRead(operator.events);
  const came = useNewEvents();
  const columns: Column<CloudEvent>[] = [
    { id: 'at', title: words.at, value: (event) => event.time, render: (event) => <Time at={event.time} /> },
    { id: 'noun', title: words.noun, value: (event) => word(event.data.noun) },
    { id: 'change', title: words.change, value: (event) => word(event.data.change) },
    {
      id: 'states',
      title: words.states,
      value: (event) => [event.data.state_from, event.data.state_to].filter(Boolean).join(' → '),
    },
    { id: 'subject', title: words.subject, value: (event) => event.subject, render: (event) => <Ref id={event.subject} /> },
    { id: 'reason', title: words.reason, value: (event) => event.data.reason },
    { id: 'sequence', title: words.sequence, align: 'end', value: (event) => Number(event.sequence) },
  ];
  return (
    <Reading of={read}>
      {(page) => (
        <DataTable
          label={label}
          columns={columns}
          rows={(paused ?? mergeEvents(page.items, came)).filter(keep)}
          rowKey={(event) => event.id}
          empty={
            <Empty title={words.none}>
              <p>{words.noneDetail}</p>
            </Empty>
          }
        />
      )}
    </Reading>
  );
}
