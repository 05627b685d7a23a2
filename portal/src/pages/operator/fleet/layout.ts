// Where everything on the fleet map is: tiles in rows, groups under headings, cells in tiles; what lies under a pointer; and
// where the arrow keys lead. Pure arithmetic over typed arrays, so that two thousand nodes cost next to nothing.
import { cellsPerNode, type FleetGroup } from './cells';

/** How large things are drawn. */
export interface Density {
  id: 'small' | 'medium' | 'large' | 'huge';
  cell: number;
  gap: number;
  /** Room inside a tile around its cells. */
  pad: number;
  /** Room for the name above the cells; 0 when names are not drawn. */
  name: number;
  /** Room between tiles. */
  between: number;
  /** How large the letters of names and of headings are. */
  letters: { name: number; head: number };
}

/** All densities. The smallest tile is still 24 pixels high, large enough to be pointed at. */
export const densities: readonly Density[] = [
  { id: 'small', cell: 8, gap: 1, pad: 4, name: 0, between: 3, letters: { name: 11, head: 13 } },
  { id: 'medium', cell: 16, gap: 2, pad: 6, name: 16, between: 6, letters: { name: 11, head: 13 } },
  { id: 'large', cell: 26, gap: 3, pad: 8, name: 20, between: 8, letters: { name: 12, head: 13 } },
  { id: 'huge', cell: 44, gap: 5, pad: 12, name: 30, between: 14, letters: { name: 18, head: 20 } },
];

/** The density that shows so many nodes well in a window of this width, until somebody chooses another. */
export function densityFor(nodes: number, width: number): Density['id'] {
  if (nodes > 400) return 'small';
  if (nodes > 60) return width < 3200 ? 'medium' : 'large';
  return width < 2200 ? 'large' : 'huge';
}

/** Cells stand in two rows of four, as the modules do on a board. */
export const cellColumns = 4;
const cellRows = cellsPerNode / cellColumns;
const headHeight = 28;
const groupGap = 12;

/** A layout for one width. */
export interface Layout {
  density: Density;
  width: number;
  height: number;
  tileWidth: number;
  tileHeight: number;
  columns: number;
  /** Left and top of every tile. */
  x: Float32Array;
  y: Float32Array;
  heads: readonly { label: string; y: number; count: number; from: number }[];
}

/** Lays out groups of tiles. */
export function layOut(groups: readonly FleetGroup[], width: number, density: Density): Layout {
  const tileWidth = cellColumns * density.cell + (cellColumns - 1) * density.gap + 2 * density.pad;
  const tileHeight = density.name + cellRows * density.cell + (cellRows - 1) * density.gap + 2 * density.pad;
  const columns = Math.max(1, Math.floor((width + density.between) / (tileWidth + density.between)));
  const all = groups.reduce((sum, group) => sum + group.count, 0);
  const x = new Float32Array(all);
  const y = new Float32Array(all);
  const heads: Layout['heads'][number][] = [];
  let top = 0;
  for (const group of groups) {
    heads.push({ label: group.label, y: top, count: group.count, from: group.from });
    top += headHeight;
    for (let at = 0; at < group.count; at += 1) {
      x[group.from + at] = (at % columns) * (tileWidth + density.between);
      y[group.from + at] = top + Math.floor(at / columns) * (tileHeight + density.between);
    }
    top += Math.ceil(group.count / columns) * (tileHeight + density.between) - density.between + groupGap;
  }
  return { density, width, height: Math.max(0, top - groupGap), tileWidth, tileHeight, columns, x, y, heads };
}

/** Left and top of a cell, from the corner of its tile. */
export function cellOffset(density: Density, cell: number): [number, number] {
  const column = cell % cellColumns;
  const row = Math.floor(cell / cellColumns);
  return [density.pad + column * (density.cell + density.gap), density.name + density.pad + row * (density.cell + density.gap)];
}

/** A cell of a tile. */
export interface Spot {
  tile: number;
  cell: number;
}

/** The tiles between two heights, as the first and the one behind the last. Tiles are in order of their tops. */
export function tilesBetween(layout: Layout, top: number, bottom: number): [number, number] {
  const from = lowerBound(layout.y, top - layout.tileHeight);
  return [from, Math.max(from, lowerBound(layout.y, bottom))];
}

function lowerBound(sorted: Float32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What lies at a point: a cell, or the nearest cell of the tile that was hit. */
export function hit(layout: Layout, px: number, py: number): Spot | undefined {
  const [from, to] = tilesBetween(layout, py, py + 0.01);
  for (let tile = from; tile < to; tile += 1) {
    const left = layout.x[tile] ?? 0;
    const top = layout.y[tile] ?? 0;
    if (px < left || px >= left + layout.tileWidth || py < top || py >= top + layout.tileHeight) continue;
    const { density } = layout;
    const pitch = density.cell + density.gap;
    const column = clamp(Math.floor((px - left - density.pad) / pitch), cellColumns - 1);
    const row = clamp(Math.floor((py - top - density.pad - density.name) / pitch), cellRows - 1);
    return { tile, cell: row * cellColumns + column };
  }
  return undefined;
}

function clamp(value: number, most: number): number {
  return Math.min(Math.max(value, 0), most);
}

/** Where a key leads from a cell; `undefined` for keys that lead nowhere. With `whole` the arrows go from tile to tile. */
export function step(layout: Layout, spot: Spot, key: string, whole: boolean): Spot | undefined {
  const last = layout.x.length - 1;
  const { tile, cell } = spot;
  const column = cell % cellColumns;
  switch (key) {
    case 'ArrowRight':
      if (!whole && column < cellColumns - 1) return { tile, cell: cell + 1 };
      return tile < last ? { tile: tile + 1, cell: whole ? cell : cell - column } : spot;
    case 'ArrowLeft':
      if (!whole && column > 0) return { tile, cell: cell - 1 };
      return tile > 0 ? { tile: tile - 1, cell: whole ? cell : cell - column + cellColumns - 1 } : spot;
    case 'ArrowDown': {
      if (!whole && cell < cellColumns) return { tile, cell: cell + cellColumns };
      const below = nextRow(layout, tile, 1);
      return below === tile ? spot : { tile: below, cell: whole ? cell : column };
    }
    case 'ArrowUp': {
      if (!whole && cell >= cellColumns) return { tile, cell: cell - cellColumns };
      const above = nextRow(layout, tile, -1);
      return above === tile ? spot : { tile: above, cell: whole ? cell : column + cellColumns };
    }
    case 'PageDown':
      return { tile: Math.min(last, tile + 10 * layout.columns), cell };
    case 'PageUp':
      return { tile: Math.max(0, tile - 10 * layout.columns), cell };
    case 'Home':
      return { tile: 0, cell: 0 };
    case 'End':
      return { tile: last, cell: cellsPerNode - 1 };
    default:
      return undefined;
  }
}

/** The tile nearest by column in the row below (1) or above (-1); the tile itself where there is none. */
function nextRow(layout: Layout, tile: number, direction: 1 | -1): number {
  const { x, y } = layout;
  let at = tile;
  while (at >= 0 && at < y.length && y[at] === y[tile]) at += direction;
  if (at < 0 || at >= y.length) return tile;
  const row = y[at];
  let best = at;
  for (; at >= 0 && at < y.length && y[at] === row; at += direction) {
    if (Math.abs((x[at] ?? 0) - (x[tile] ?? 0)) < Math.abs((x[best] ?? 0) - (x[tile] ?? 0))) best = at;
  }
  return best;
}
