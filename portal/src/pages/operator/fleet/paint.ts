// Draws the part of the fleet map that is on the screen. Tiles and cells are put together as pixels in a typed array, from one small
// picture for each kind of cell: sixteen thousand cells are then copied, where as many drawing commands take a
// browser a second. Only headings, names and the mark of the focus are drawn with commands, on top. All of it is pure: it only
// touches the array or the surface that it is given.
import type { Tone } from '../../../ui/icons';
import { cellsPerNode, type CellKind, type Fleet } from './cells';
import { cellOffset, tilesBetween, type Layout, type Spot } from './layout';

/** Colours of the theme, as the style sheet has them now. */
export interface Colours {
  ink: string;
  line: string;
  surface: string;
  focus: string;
  font: string;
  tones: Record<Tone, { strong: string; weak: string }>;
}

/** The part of a drawing surface that is used. */
export type Surface = Pick<CanvasRenderingContext2D, 'fillText' | 'fillRect' | 'strokeRect' | 'measureText'> & {
  fillStyle: unknown;
  strokeStyle: unknown;
  lineWidth: number;
  font: string;
  textBaseline: string;
  textAlign: string;
};

/** What tiles and cells are put together from: one square picture for each kind, and plain colours, all as pixels. */
export interface Sprites {
  /** Length of a side of a cell, in pixels. */
  size: number;
  /** By the number of the kind. */
  cells: readonly Uint32Array[];
  line: number;
  surface: number;
  /** By the number of the posture. */
  postures: readonly number[];
}

/** What of the map is in the window. */
export interface View {
  top: number;
  height: number;
}

const postureTones: readonly Tone[] = ['good', 'busy', 'busy', 'busy', 'warn', 'bad', 'bad'];

/** The tone of a posture, by its number. */
export function postureTone(posture: number): Tone {
  return postureTones[posture] ?? 'idle';
}

/** Draws the picture of one kind of cell at the corner of a surface. */
export function paintCell(surface: Surface, kind: CellKind, colours: Colours, size: number): void {
  const tone = colours.tones[kind.tone];
  const full = kind.mark === 'full';
  surface.fillStyle = kind.id === 'none' ? colours.line : tone.strong;
  if (kind.mark !== 'dot') surface.fillRect(0, 0, size, size);
  if (!full) {
    surface.fillStyle = kind.id === 'none' ? colours.surface : tone.weak;
    surface.fillRect(1, 1, size - 2, size - 2);
  }
  surface.fillStyle = full ? colours.surface : tone.strong;
  if (size >= 14) {
    surface.textBaseline = 'middle';
    surface.textAlign = 'center';
    surface.font = `700 ${Math.round(size * 0.56)}px ${colours.font}`;
    surface.fillText(kind.letter, size / 2, size / 2 + 0.5);
  } else {
    mark(surface, kind.mark, size);
  }
}

/** The shape inside a cell that is too small for a letter, put together from squares. */
function mark(surface: Surface, shape: CellKind['mark'], size: number): void {
  const low = 2;
  const inner = size - 2 * low;
  switch (shape) {
    case 'half':
      surface.fillRect(0, size / 2, size, size / 2);
      break;
    case 'stripe':
      for (let at = 0; at < inner; at += 1) surface.fillRect(low + at, size - low - 1 - at, 1, 1);
      break;
    case 'cross':
      for (let at = 0; at < inner; at += 1) {
        surface.fillRect(low + at, low + at, 1, 1);
        surface.fillRect(low + at, size - low - 1 - at, 1, 1);
      }
      break;
    case 'dash':
      surface.fillRect(low, size / 2 - 1, inner, 2);
      break;
    case 'bang':
      surface.fillRect(size / 2 - 1, low, 2, inner);
      break;
    case 'dot':
    case 'empty':
    case 'ring':
    case 'full':
      break;
  }
}

/** Pixels with their width. */
export interface Pixels {
  data: Uint32Array;
  width: number;
  height: number;
}

function box(pixels: Pixels, left: number, top: number, wide: number, high: number, colour: number): void {
  const from = Math.max(0, left);
  const to = Math.min(pixels.width, left + wide);
  if (to <= from) return;
  for (let y = Math.max(0, top); y < Math.min(pixels.height, top + high); y += 1) pixels.data.fill(colour, y * pixels.width + from, y * pixels.width + to);
}

function blit(pixels: Pixels, left: number, top: number, sprite: Uint32Array, size: number): void {
  const wide = Math.min(size, pixels.width - left);
  if (wide <= 0 || left < 0) return;
  for (let row = 0; row < size; row += 1) {
    const y = top + row;
    if (y < 0 || y >= pixels.height) continue;
    const to = y * pixels.width + left;
    const from = row * size;
    for (let at = 0; at < wide; at += 1) pixels.data[to + at] = sprite[from + at] ?? 0;
  }
}

/** Puts all tiles and cells in view together; returns how many cells that were. `scale` is how many pixels one unit of the layout is. */
export function compose(pixels: Pixels, layout: Layout, fleet: Fleet, sprites: Sprites, view: View, scale: number): number {
  pixels.data.fill(0);
  const [from, to] = tilesBetween(layout, view.top, view.top + view.height);
  const offsets = Array.from({ length: cellsPerNode }, (_, cell) => cellOffset(layout.density, cell).map((part) => Math.round(part * scale)));
  const wide = Math.round(layout.tileWidth * scale);
  const high = Math.round(layout.tileHeight * scale);
  const edge = Math.max(1, Math.round(scale));
  const bar = Math.round((layout.density.id === 'small' ? 2 : 3) * scale);
  for (let tile = from; tile < to; tile += 1) {
    const left = Math.round((layout.x[tile] ?? 0) * scale);
    const top = Math.round(((layout.y[tile] ?? 0) - view.top) * scale);
    box(pixels, left, top, wide, high, sprites.line);
    box(pixels, left + edge, top + edge, wide - 2 * edge, high - 2 * edge, sprites.surface);
    box(pixels, left, top, bar, high, sprites.postures[fleet.postures[tile] ?? 0] ?? sprites.line);
    for (let cell = 0; cell < cellsPerNode; cell += 1) {
      const sprite = sprites.cells[fleet.cells[tile * cellsPerNode + cell] ?? 0];
      const offset = offsets[cell];
      if (sprite && offset) blit(pixels, left + (offset[0] ?? 0), top + (offset[1] ?? 0), sprite, sprites.size);
    }
  }
  return (to - from) * cellsPerNode;
}

/** Draws headings, names and the mark of the focus over what `compose` made. */
export function paintWords(surface: Surface, layout: Layout, fleet: Fleet, colours: Colours, view: View, focus?: Spot): void {
  surface.textBaseline = 'middle';
  surface.textAlign = 'left';
  surface.font = `600 ${layout.density.letters.head}px ${colours.font}`;
  surface.fillStyle = colours.ink;
  for (const head of layout.heads) {
    if (head.y + 28 < view.top || head.y > view.top + view.height) continue;
    surface.fillText(`${head.label} · ${head.count}`, 0, head.y - view.top + 13);
  }
  if (layout.density.name > 0) paintNames(surface, layout, fleet, colours, view);
  if (focus) {
    const [dx, dy] = cellOffset(layout.density, focus.cell);
    surface.strokeStyle = colours.focus;
    surface.lineWidth = 2;
    surface.strokeRect((layout.x[focus.tile] ?? 0) + dx - 1, (layout.y[focus.tile] ?? 0) - view.top + dy - 1, layout.density.cell + 2, layout.density.cell + 2);
  }
}

function paintNames(surface: Surface, layout: Layout, fleet: Fleet, colours: Colours, view: View): void {
  const { density, tileWidth } = layout;
  const [from, to] = tilesBetween(layout, view.top, view.top + view.height);
  surface.font = `500 ${density.letters.name}px ${colours.font}`;
  const room = tileWidth - 2 * density.pad;
  const letter = surface.measureText('n').width || 6;
  const most = Math.max(3, Math.floor(room / letter));
  for (let tile = from; tile < to; tile += 1) {
    const name = fleet.nodes[tile]?.name ?? '';
    // The end of a name tells nodes of one pool apart.
    const shown = name.length > most ? `…${name.slice(name.length - most + 1)}` : name;
    surface.fillText(shown, (layout.x[tile] ?? 0) + density.pad, (layout.y[tile] ?? 0) - view.top + density.pad + density.name / 2 - 2);
  }
}
