// What keeps pages current: one stream of events for the whole portal. An event marks the reads that its kind of thing
// touches as old, and those on the screen are read again. Nothing is asked for on a clock.
import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { tellSignedOut, type Noun, type Schemas } from './client';
import { follow, type Connection } from './stream';

type CloudEvent = Schemas['CloudEvent'];

/** Which changes make a read old. Kept with the query. */
export interface Touches {
  /** Kinds of things. */
  nouns: readonly Noun[];
  /** Only changes of this thing count, of the nouns it could be. */
  subject?: string;
}

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: { touches?: Touches };
  }
}

/** Whether an event makes a read old. */
export function touched(touches: Touches | undefined, event: { subject: string; noun: Noun }): boolean {
  if (!touches?.nouns.includes(event.noun)) return false;
  return touches.subject === undefined || touches.subject === event.subject;
}

/** How long events are gathered before reads are repeated, so that a burst costs one read. */
const gatherMs = 300;

let connection: Connection = { kind: 'connecting' };
const watchers = new Set<() => void>();
const listeners = new Set<(event: CloudEvent) => void>();

function setConnection(next: Connection): void {
  connection = next;
  watchers.forEach((call) => call());
}

/** How the stream stands, for the top bar. */
export function useConnection(): Connection {
  return useSyncExternalStore(
    (call) => {
      watchers.add(call);
      return () => void watchers.delete(call);
    },
    () => connection,
  );
}

/** Calls back with every event; returns how to stop that. For pages that show the events themselves. */
export function listen(call: (event: CloudEvent) => void): () => void {
  listeners.add(call);
  return () => void listeners.delete(call);
}

/** Starts following; returns how to stop. */
export function startLive(queries: QueryClient): () => void {
  let gathered: { subject: string; noun: Noun }[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    const events = gathered;
    gathered = [];
    timer = undefined;
    void queries.invalidateQueries({ predicate: (query) => events.some((event) => touched(query.meta?.touches, event)) });
  };
  const stop = follow({
    url: '/api/v1/events/stream',
    onConnection: setConnection,
    onRefused: (status) => {
      if (status === 401) tellSignedOut();
    },
    // A first connection begins at its own moment; what happened between a read and that moment was not told.
    // A connection that goes on behind what was seen tells all of it; only what could not be read meanwhile is missing.
    onOpen: (resumed) => {
      void queries.invalidateQueries({ predicate: (query) => query.meta?.touches !== undefined && (!resumed || query.state.status === 'error') });
    },
    onMessage: (message) => {
      const event = JSON.parse(message.data) as CloudEvent;
      gathered.push({ subject: event.subject, noun: event.data.noun });
      listeners.forEach((call) => call(event));
      timer ??= setTimeout(flush, gatherMs);
    },
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
