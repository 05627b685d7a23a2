// Every slot of the fleet as one cell. All are read in a few large pages when the map opens, and afterwards only those that change,
// one by one as their events come. When too much changed to be asked for so, or the connection was lost, all are read again.
import { useEffect, useState, useSyncExternalStore } from 'react';
import { answer, api, type ListPage, type Schemas } from '../../../api/client';
import { listen, useConnection } from '../../../api/live';

type Cell = Schemas['SlotCellView'];

/** How many slots are asked about at the same time. */
const atOnce = 6;
/** From so many changed slots on, reading all of them is less work. */
const manyChanged = 300;

/** Where cells come from. */
export interface CellSource {
  /** One page of all cells. */
  page: (token: string | undefined) => Promise<ListPage<Cell>>;
  /** One cell; nothing for a slot that is gone. */
  one: (slotId: string) => Promise<Cell | undefined>;
}

/** Reads the slots of the fleet, and keeps them current. */
export class FleetSlots {
  private known = new Map<string, Cell>();
  private byNode = new Map<string, Cell[]>();
  private readonly changedIds = new Set<string>();
  private asking = 0;
  private surveying = false;
  /** Whether all are to be read once more. */
  private stale = false;
  private problem: unknown;
  private readAll = false;
  private version = 0;
  private told: ReturnType<typeof setTimeout> | undefined;
  private readonly watchers = new Set<() => void>();

  constructor(private readonly source: CellSource) {}

  readonly watch = (call: () => void): (() => void) => {
    this.watchers.add(call);
    return () => void this.watchers.delete(call);
  };

  /** A number that changes whenever something was read. */
  readonly seen = (): number => this.version;

  /** The slots of a node; nothing until the whole fleet was read once. */
  readonly of = (nodeId: string): readonly Cell[] | undefined => this.byNode.get(nodeId) ?? (this.readAll ? [] : undefined);

  /** Why the fleet could not be read. */
  get error(): unknown {
    return this.problem;
  }

  /** Reads all slots; what changes meanwhile is read after that. */
  survey(): void {
    this.stale = true;
    if (!this.surveying) void this.readWhole();
  }

  /** A slot changed, or is new. */
  changed(slotId: string): void {
    this.changedIds.add(slotId);
    if (this.changedIds.size > manyChanged) this.survey();
    else this.pump();
  }

  private async readWhole(): Promise<void> {
    this.surveying = true;
    while (this.stale) {
      this.stale = false;
      this.changedIds.clear();
      try {
        const found = new Map<string, Cell>();
        let token: string | undefined;
        do {
          const page = await this.source.page(token);
          for (const cell of page.items) found.set(cell.id, cell);
          token = page.next_page_token;
        } while (token !== undefined);
        this.known = found;
        this.readAll = true;
        this.problem = undefined;
      } catch (cause) {
        this.problem = cause;
      }
      this.group();
    }
    this.surveying = false;
    this.pump();
  }

  private pump(): void {
    if (this.surveying || !this.readAll) return;
    for (const id of this.changedIds) {
      if (this.asking >= atOnce) return;
      this.changedIds.delete(id);
      void this.readOne(id);
    }
  }

  private async readOne(slotId: string): Promise<void> {
    this.asking += 1;
    try {
      const cell = await this.source.one(slotId);
      if (cell) this.known.set(slotId, cell);
      else this.known.delete(slotId);
      this.group();
    } catch {
      // What is shown stays until the connection is back; then all are read again.
    } finally {
      this.asking -= 1;
      this.pump();
    }
  }

  /** Puts cells to their nodes and tells, at most once a frame or so: a thousand answers are not a thousand redraws. */
  private group(): void {
    this.told ??= setTimeout(() => {
      this.told = undefined;
      this.byNode = new Map();
      for (const cell of this.known.values()) {
        const cells = this.byNode.get(cell.node_id);
        if (cells) cells.push(cell);
        else this.byNode.set(cell.node_id, [cell]);
      }
      this.version += 1;
      this.watchers.forEach((call) => call());
    }, 40);
  }
}

const source: CellSource = {
  page: (token) => answer(api.GET('/api/v1/admin/resource-slots', { params: { query: { page_size: 1000, ...(token === undefined ? {} : { page_token: token }) } } })),
  one: async (slotId) => {
    const { data: slot, response } = await api.GET('/api/v1/admin/resource-slots/{slot_id}', { params: { path: { slot_id: slotId } } });
    if (response.status === 404) return undefined;
    if (!slot) throw new Error(response.statusText);
    return { ...slot, drifted: slot.drift.length > 0 };
  },
};

/** The slots of the fleet, current while the page is open. */
export function useFleetSlots(): { slots: FleetSlots; version: number } {
  const [slots] = useState(() => new FleetSlots(source));
  const version = useSyncExternalStore(slots.watch, slots.seen);
  const live = useConnection().kind === 'live';
  useEffect(() => listen((event) => event.data.noun === 'slot' && slots.changed(event.subject)), [slots]);
  // At first, and again whenever the connection is back: what was told in between is not relied on.
  useEffect(() => slots.survey(), [live, slots]);
  return { slots, version };
}
