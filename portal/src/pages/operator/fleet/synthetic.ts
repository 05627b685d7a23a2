// A fleet of any size that nobody has, for tests and for measuring how fast the map is drawn. The same size gives the same
// fleet. No page uses it.
import { cellKinds, cellsPerNode, postures, type Fleet } from './cells';

/** So many nodes, in pools of 128, with slots of every kind. */
export function syntheticFleet(count: number): Fleet {
  const cells = new Uint8Array(count * cellsPerNode);
  for (let at = 0; at < cells.length; at += 1) cells[at] = 2 + ((at * 2_654_435_761) >>> 7) % (cellKinds.length - 2);
  const found = Uint8Array.from({ length: count }, (_, at) => at % postures.length);
  const nodes = Array.from({ length: count }, (_, at) => ({ id: `node-${at}`, name: `h200-${at}`, posture: postures[at % postures.length] ?? 'unavailable' }));
  const groups = Array.from({ length: Math.ceil(count / 128) }, (_, at) => ({ label: `pool-${at}`, from: at * 128, count: Math.min(128, count - at * 128) }));
  return { nodes, groups, cells, postures: found };
}
