// The slots of the nodes that are on the screen. The API lists slots by node, so they are read node by node as nodes come into
// view, a few at a time, and only the node of a changed slot is read again.
import { useEffect, useState, useSyncExternalStore } from 'react';
import { answer, api, pageQuery, readAll, type Schemas } from '../../../api/client';
import { listen, useConnection } from '../../../api/live';

type Slot = Schemas['SlotView'];

/** How many nodes are asked about at the same time. */
const atOnce = 6;

/** Reads the slots of nodes that are wanted, and keeps them current. */
export class SlotReader {
  private readonly known = new Map<string, readonly Slot[]>();
  private readonly owner = new Map<string, string>();
  /** Nodes whose slots changed since they were read. */
  private readonly old = new Set<string>();
  private readonly failed = new Set<string>();
  private readonly asking = new Set<string>();
  private wanted: readonly string[] = [];
  private version = 0;
  private told: ReturnType<typeof setTimeout> | undefined;
  private readonly watchers = new Set<() => void>();

  constructor(private readonly read: (nodeId: string) => Promise<readonly Slot[]>) {}

  readonly watch = (call: () => void): (() => void) => {
    this.watchers.add(call);
    return () => void this.watchers.delete(call);
  };

  /** A number that changes whenever something was read. */
  readonly seen = (): number => this.version;

  /** The slots of a node, where they were read. */
  readonly of = (nodeId: string): readonly Slot[] | undefined => this.known.get(nodeId);

  /** Says which nodes are on the screen. Those that were not read yet, or that are old, are read in this order. */
  want(nodeIds: readonly string[]): void {
    this.wanted = nodeIds;
    this.pump();
  }

  /** A slot changed: its node is read again, or, for a slot that is new, every node that has room for one. */
  changed(slotId: string): void {
    const owner = this.owner.get(slotId);
    if (owner) this.old.add(owner);
    else for (const [id, slots] of this.known) if (slots.length < 8) this.old.add(id);
    this.pump();
  }

  /** Nothing that was read can be relied on any more. */
  allChanged(): void {
    this.failed.clear();
    for (const id of this.known.keys()) this.old.add(id);
    this.pump();
  }

  private pump(): void {
    for (const id of this.wanted) {
      if (this.asking.size >= atOnce) return;
      const needed = (!this.known.has(id) || this.old.has(id)) && !this.failed.has(id) && !this.asking.has(id);
      if (needed) void this.fetch(id);
    }
  }

  private async fetch(nodeId: string): Promise<void> {
    this.asking.add(nodeId);
    // What changes from here on makes it old again.
    this.old.delete(nodeId);
    try {
      const slots = await this.read(nodeId);
      this.known.set(nodeId, slots);
      for (const slot of slots) this.owner.set(slot.id, nodeId);
    } catch {
      // The cells stay as unread; the list of nodes on the same page says what is wrong.
      this.failed.add(nodeId);
    } finally {
      this.asking.delete(nodeId);
      this.tell();
      this.pump();
    }
  }

  /** Tells at most once a frame or so, so that a thousand answers are not a thousand redraws. */
  private tell(): void {
    this.told ??= setTimeout(() => {
      this.told = undefined;
      this.version += 1;
      this.watchers.forEach((call) => call());
    }, 40);
  }
}

async function readSlots(nodeId: string): Promise<readonly Slot[]> {
  const path = { node_id: nodeId };
  const all = await readAll((token) => answer(api.GET('/api/v1/admin/nodes/{node_id}/resource-slots', { params: { path, query: pageQuery(token) } })));
  return all.items;
}

/** The slots of the nodes that are wanted, current while the page is open. */
export function useFleetSlots(): { reader: SlotReader; version: number } {
  const [reader] = useState(() => new SlotReader(readSlots));
  const version = useSyncExternalStore(reader.watch, reader.seen);
  const live = useConnection().kind === 'live';
  useEffect(() => listen((event) => event.data.noun === 'slot' && reader.changed(event.subject)), [reader]);
  useEffect(() => {
    if (live) reader.allChanged();
  }, [live, reader]);
  return { reader, version };
}
