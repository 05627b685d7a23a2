// Draws the part of the fleet map that is on the screen. A pure function of the layout, the fleet and the colours: it only
// talks to the drawing surface that it is given. Cells of one kind are drawn together, since changing a colour costs more than
// drawing a square.
import type { Tone } from '../../../ui/icons';
import { cellKinds, cellsPerNode, postures, type Fleet } from './cells';
import { cellOffset, tilesBetween, type Layout, type Spot } from './layout';

/** Colours of the theme, as the style sheet has them now. */
export interface Colours {
  ink: string;
  soft: string;
  line: string;
  surface: string;
  focus: string;
  font: string;
  tones: Record<Tone, { strong: string; weak: string }>;
}

/** The part of a drawing surface that is used. */
export type Surface = Pick<
  CanvasRenderingContext2D,
  'beginPath' | 'rect' | 'fill' | 'stroke' | 'moveTo' | 'lineTo' | 'fillText' | 'clearRect' | 'fillRect' | 'strokeRect' | 'measureText'
> & { fillStyle: unknown; strokeStyle: unknown; lineWidth: number; font: string; textBaseline: string; textAlign: string };

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

/** Draws what is in view; returns how many cells that were. */
export function paint(surface: Surface, layout: Layout, fleet: Fleet, colours: Colours, view: View, focus?: Spot): number {
  surface.clearRect(0, 0, layout.width, view.height);
  const [from, to] = tilesBetween(layout, view.top, view.top + view.height);
  paintHeads(surface, layout, colours, view);
  paintTiles(surface, layout, fleet, colours, view.top, from, to);
  paintCells(surface, layout, fleet, colours, view.top, from, to);
  if (layout.density.name > 0) paintNames(surface, layout, fleet, colours, view.top, from, to);
  if (focus) paintFocus(surface, layout, colours, view.top, focus);
  return (to - from) * cellsPerNode;
}

function paintHeads(surface: Surface, layout: Layout, colours: Colours, view: View): void {
  surface.textBaseline = 'middle';
  surface.textAlign = 'left';
  surface.font = `600 13px ${colours.font}`;
  surface.fillStyle = colours.ink;
  for (const head of layout.heads) {
    if (head.y + 28 < view.top || head.y > view.top + view.height) continue;
    surface.fillText(`${head.label} · ${head.count}`, 0, head.y - view.top + 13);
  }
}

function paintTiles(surface: Surface, layout: Layout, fleet: Fleet, colours: Colours, top: number, from: number, to: number): void {
  const { tileWidth, tileHeight } = layout;
  surface.fillStyle = colours.surface;
  surface.strokeStyle = colours.line;
  surface.lineWidth = 1;
  surface.beginPath();
  for (let tile = from; tile < to; tile += 1) surface.rect((layout.x[tile] ?? 0) + 0.5, (layout.y[tile] ?? 0) - top + 0.5, tileWidth - 1, tileHeight - 1);
  surface.fill();
  surface.stroke();
  // A bar at the left edge tells the posture of the node.
  for (let posture = 0; posture < postures.length; posture += 1) {
    surface.fillStyle = colours.tones[postureTone(posture)].strong;
    surface.beginPath();
    for (let tile = from; tile < to; tile += 1) {
      if (fleet.postures[tile] === posture) surface.rect(layout.x[tile] ?? 0, (layout.y[tile] ?? 0) - top, layout.density.id === 'small' ? 2 : 3, tileHeight);
    }
    surface.fill();
  }
}

function paintCells(surface: Surface, layout: Layout, fleet: Fleet, colours: Colours, top: number, from: number, to: number): void {
  const { density } = layout;
  const offsets = Array.from({ length: cellsPerNode }, (_, cell) => cellOffset(density, cell));
  surface.textBaseline = 'middle';
  surface.textAlign = 'center';
  surface.font = `700 ${Math.round(density.cell * 0.56)}px ${colours.font}`;
  const size = density.cell;
  cellKinds.forEach((kind, number) => {
    if (kind.id === 'none') return;
    const tone = colours.tones[kind.tone];
    const spots: number[] = [];
    for (let tile = from; tile < to; tile += 1) {
      for (let cell = 0; cell < cellsPerNode; cell += 1) {
        if (fleet.cells[tile * cellsPerNode + cell] !== number) continue;
        const offset = offsets[cell];
        if (offset) spots.push((layout.x[tile] ?? 0) + offset[0], (layout.y[tile] ?? 0) - top + offset[1]);
      }
    }
    if (spots.length === 0) return;
    const full = kind.mark === 'full';
    surface.fillStyle = full ? tone.strong : tone.weak;
    surface.strokeStyle = tone.strong;
    surface.lineWidth = 1;
    surface.beginPath();
    for (let at = 0; at < spots.length; at += 2) surface.rect((spots[at] ?? 0) + 0.5, (spots[at + 1] ?? 0) + 0.5, size - 1, size - 1);
    surface.fill();
    if (kind.mark !== 'dot') surface.stroke();
    if (size >= 14) {
      surface.fillStyle = full ? colours.surface : tone.strong;
      for (let at = 0; at < spots.length; at += 2) surface.fillText(kind.letter, (spots[at] ?? 0) + size / 2, (spots[at + 1] ?? 0) + size / 2 + 0.5);
    } else {
      surface.fillStyle = tone.strong;
      surface.beginPath();
      for (let at = 0; at < spots.length; at += 2) mark(surface, kind.mark, spots[at] ?? 0, spots[at + 1] ?? 0, size);
      surface.fill();
      surface.stroke();
    }
  });
}

/** The shape inside a cell that is too small for a letter. */
function mark(surface: Surface, shape: (typeof cellKinds)[number]['mark'], x: number, y: number, size: number): void {
  const low = 2;
  const high = size - 2;
  switch (shape) {
    case 'half':
      surface.rect(x, y + size / 2, size, size / 2);
      break;
    case 'stripe':
      surface.moveTo(x + low, y + high);
      surface.lineTo(x + high, y + low);
      break;
    case 'cross':
      surface.moveTo(x + low, y + low);
      surface.lineTo(x + high, y + high);
      surface.moveTo(x + low, y + high);
      surface.lineTo(x + high, y + low);
      break;
    case 'dash':
      surface.rect(x + low, y + size / 2 - 0.5, size - 2 * low, 1);
      break;
    case 'bang':
      surface.rect(x + size / 2 - 1, y + low, 2, size - 2 * low);
      break;
    case 'dot':
    case 'empty':
    case 'ring':
    case 'full':
      break;
  }
}

function paintNames(surface: Surface, layout: Layout, fleet: Fleet, colours: Colours, top: number, from: number, to: number): void {
  const { density, tileWidth } = layout;
  const size = density.id === 'large' ? 12 : 11;
  surface.textBaseline = 'middle';
  surface.textAlign = 'left';
  surface.font = `500 ${size}px ${colours.font}`;
  surface.fillStyle = colours.ink;
  const room = tileWidth - 2 * density.pad;
  const letter = surface.measureText('n').width || 6;
  const most = Math.max(3, Math.floor(room / letter));
  for (let tile = from; tile < to; tile += 1) {
    const name = fleet.nodes[tile]?.name ?? '';
    // The end of a name tells nodes of one pool apart.
    const shown = name.length > most ? `…${name.slice(name.length - most + 1)}` : name;
    surface.fillText(shown, (layout.x[tile] ?? 0) + density.pad, (layout.y[tile] ?? 0) - top + density.pad + density.name / 2 - 2);
  }
}

function paintFocus(surface: Surface, layout: Layout, colours: Colours, top: number, focus: Spot): void {
  const [dx, dy] = cellOffset(layout.density, focus.cell);
  surface.strokeStyle = colours.focus;
  surface.lineWidth = 2;
  surface.strokeRect((layout.x[focus.tile] ?? 0) + dx - 1, (layout.y[focus.tile] ?? 0) - top + dy - 1, layout.density.cell + 2, layout.density.cell + 2);
}
