// What the fleet map shows of a node and its slots, as small numbers that can be kept in typed arrays. Pure.
import type { Schemas } from '../../../api/client';
import type { Tone } from '../../../ui/icons';

type Slot = Schemas['SlotCellView'];
type NodeView = Schemas['NodeView'];

/** How a cell stands. The number is the index in `cellKinds`. */
export type Cell = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** What is known about one kind of cell: its word, its letter in a large cell, its tone, and how it is filled. */
export interface CellKind {
  id: 'none' | 'unread' | 'available' | 'reserved' | 'in_use' | 'wiping' | 'cleanup_blocked' | 'disabled' | 'drifted';
  letter: string;
  tone: Tone;
  /** The shape that tells it apart without colour. */
  mark: 'empty' | 'dot' | 'ring' | 'half' | 'full' | 'stripe' | 'cross' | 'dash' | 'bang';
}

/** All kinds, by their numbers. */
export const cellKinds: readonly CellKind[] = [
  { id: 'none', letter: '', tone: 'idle', mark: 'empty' },
  { id: 'unread', letter: '·', tone: 'idle', mark: 'dot' },
  { id: 'available', letter: 'A', tone: 'good', mark: 'ring' },
  { id: 'reserved', letter: 'R', tone: 'busy', mark: 'half' },
  { id: 'in_use', letter: 'U', tone: 'busy', mark: 'full' },
  { id: 'wiping', letter: 'W', tone: 'warn', mark: 'stripe' },
  { id: 'cleanup_blocked', letter: 'B', tone: 'bad', mark: 'cross' },
  { id: 'disabled', letter: '–', tone: 'idle', mark: 'dash' },
  { id: 'drifted', letter: '!', tone: 'warn', mark: 'bang' },
];

const numbers = new Map(cellKinds.map((kind, index) => [kind.id, index as Cell]));

/** The number of a kind. */
export function cellNumber(id: CellKind['id']): Cell {
  return numbers.get(id) ?? 0;
}

/** How a slot stands on the map. A free slot that differs from what was approved is not for sale, and shown as such. */
export function cellOf(slot: Slot): Cell {
  if (slot.drifted && slot.execution === 'available') return cellNumber('drifted');
  return cellNumber(slot.execution);
}

/** Postures in the order of the legend. */
export const postures: readonly Schemas['Posture'][] = [
  'fully_available',
  'partially_allocated',
  'fully_allocated_by_slices',
  'exclusively_allocated_by_baremetal',
  'draining',
  'cleanup_blocked',
  'unavailable',
];

/** How many cells a tile has. */
export const cellsPerNode = 8;

/** One group of tiles, such as a pool. */
export interface FleetGroup {
  label: string;
  /** The first node, as an index in `nodes`. */
  from: number;
  /** How many nodes. */
  count: number;
}

/** Everything the map draws. `cells` has eight numbers for each node. */
export interface Fleet {
  nodes: readonly { id: string; name: string; posture: Schemas['Posture'] }[];
  groups: readonly FleetGroup[];
  cells: Uint8Array;
  postures: Uint8Array;
}

/** Puts a fleet together: nodes by group and name, and the slots of those whose slots were read. */
export function fleetOf(nodes: readonly NodeView[], groupOf: (node: NodeView) => string, slotsOf: (nodeId: string) => readonly Slot[] | undefined): Fleet {
  const sorted = nodes
    .map((node) => ({ node, group: groupOf(node) }))
    .sort((a, b) => a.group.localeCompare(b.group) || a.node.name.localeCompare(b.node.name, undefined, { numeric: true }));
  const cells = new Uint8Array(sorted.length * cellsPerNode);
  const found = new Uint8Array(sorted.length);
  const groups: FleetGroup[] = [];
  sorted.forEach(({ node, group }, index) => {
    const last = groups.at(-1);
    if (last?.label === group) last.count += 1;
    else groups.push({ label: group, from: index, count: 1 });
    found[index] = postures.indexOf(node.posture);
    const slots = slotsOf(node.id);
    if (slots) placeCells(cells, index, slots);
    else cells.fill(cellNumber('unread'), index * cellsPerNode, (index + 1) * cellsPerNode);
  });
  return { nodes: sorted.map(({ node }) => ({ id: node.id, name: node.name, posture: node.posture })), groups, cells, postures: found };
}

/** Where the slots of a node stand in its tile: by module number where it is known, and in order otherwise. */
export function placeCells(cells: Uint8Array, index: number, slots: readonly Slot[]): void {
  const base = index * cellsPerNode;
  const rest: Slot[] = [];
  for (const slot of slots) {
    const at = (slot.gpu_module_id ?? 0) - 1;
    if (at >= 0 && at < cellsPerNode && cells[base + at] === 0) cells[base + at] = cellOf(slot);
    else rest.push(slot);
  }
  for (const slot of rest) {
    const free = cells.subarray(base, base + cellsPerNode).indexOf(0);
    if (free >= 0) cells[base + free] = cellOf(slot);
  }
}

/** How many cells there are of each kind. */
export function countCells(cells: Uint8Array): number[] {
  const counts = new Array<number>(cellKinds.length).fill(0);
  for (const cell of cells) counts[cell] = (counts[cell] ?? 0) + 1;
  return counts;
}
