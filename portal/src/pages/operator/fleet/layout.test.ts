import { describe, expect, it } from 'vitest';
import type { Schemas } from '../../../api/client';
import { cellKinds, cellNumber, cellsPerNode, countCells, fleetOf, placeCells, postures } from './cells';
import { cellOffset, densities, densityFor, hit, layOut, step, tilesBetween, type Density } from './layout';
import { compose, type Pixels, type Sprites } from './paint';
import { syntheticFleet } from './synthetic';

const [small, medium] = densities as [Density, Density, Density];
const groups = [
  { label: 'a', from: 0, count: 5 },
  { label: 'b', from: 5, count: 3 },
];
/** Two tiles of the medium size fit in a row. */
const width = 2 * (4 * 16 + 3 * 2 + 12) + 6;
const layout = layOut(groups, width, medium);

describe('layout', () => {
  it('begins every group in a new row under a heading', () => {
    expect(layout.columns).toBe(2);
    expect(layout.x[1]).toBeGreaterThan(0);
    expect(layout.y[1]).toBe(layout.y[0]);
    expect(layout.x[5]).toBe(0);
    expect(layout.heads.map((head) => [head.label, head.count])).toEqual([['a', 5], ['b', 3]]);
    expect(layout.y[5]).toBeGreaterThan((layout.y[4] ?? 0) + layout.tileHeight);
  });

  it('makes the smallest tiles large enough to point at', () => {
    expect(layOut(groups, 300, small).tileHeight).toBeGreaterThanOrEqual(24);
  });

  it('has one column where there is hardly any room', () => {
    expect(layOut(groups, 10, medium).columns).toBe(1);
  });
});

describe('hit', () => {
  it('finds every cell at its middle', () => {
    for (let tile = 0; tile < 8; tile += 1) {
      for (let cell = 0; cell < cellsPerNode; cell += 1) {
        const [dx, dy] = cellOffset(medium, cell);
        expect(hit(layout, (layout.x[tile] ?? 0) + dx + 8, (layout.y[tile] ?? 0) + dy + 8)).toEqual({ tile, cell });
      }
    }
  });

  it('finds nothing between tiles and on headings', () => {
    expect(hit(layout, layout.tileWidth + 2, (layout.y[0] ?? 0) + 4)).toBeUndefined();
    expect(hit(layout, 4, 4)).toBeUndefined();
  });
});

describe('step', () => {
  it('goes through the cells of a tile and on to the next', () => {
    expect(step(layout, { tile: 0, cell: 0 }, 'ArrowRight', false)).toEqual({ tile: 0, cell: 1 });
    expect(step(layout, { tile: 0, cell: 3 }, 'ArrowRight', false)).toEqual({ tile: 1, cell: 0 });
    expect(step(layout, { tile: 1, cell: 4 }, 'ArrowLeft', false)).toEqual({ tile: 0, cell: 7 });
  });

  it('goes down by rows of cells, then by rows of tiles, also across groups', () => {
    expect(step(layout, { tile: 1, cell: 2 }, 'ArrowDown', false)).toEqual({ tile: 1, cell: 6 });
    expect(step(layout, { tile: 1, cell: 6 }, 'ArrowDown', false)).toEqual({ tile: 3, cell: 2 });
    expect(step(layout, { tile: 3, cell: 6 }, 'ArrowDown', false)).toEqual({ tile: 4, cell: 2 });
    expect(step(layout, { tile: 4, cell: 6 }, 'ArrowDown', false)).toEqual({ tile: 5, cell: 2 });
    expect(step(layout, { tile: 6, cell: 1 }, 'ArrowUp', true)).toEqual({ tile: 4, cell: 1 });
  });

  it('stays at the edges and leaves other keys alone', () => {
    expect(step(layout, { tile: 0, cell: 0 }, 'ArrowLeft', false)).toEqual({ tile: 0, cell: 0 });
    expect(step(layout, { tile: 7, cell: 7 }, 'ArrowDown', false)).toEqual({ tile: 7, cell: 7 });
    expect(step(layout, { tile: 0, cell: 0 }, 'End', false)).toEqual({ tile: 7, cell: 7 });
    expect(step(layout, { tile: 0, cell: 0 }, 'a', false)).toBeUndefined();
  });
});

describe('fleet', () => {
  const slot = (module: number | undefined, execution: Schemas['SlotState'], drifted = false): Schemas['SlotCellView'] =>
    ({ id: 'slt', node_id: 'nod', execution, drifted, ...(module === undefined ? {} : { gpu_module_id: module }) });

  it('puts slots where their modules are, and the rest where there is room', () => {
    const cells = new Uint8Array(8);
    placeCells(cells, 0, [slot(8, 'in_use'), slot(undefined, 'wiping'), slot(2, 'available', true)]);
    expect(cells[7]).toBe(cellNumber('in_use'));
    expect(cells[0]).toBe(cellNumber('wiping'));
    expect(cells[1]).toBe(cellNumber('drifted'));
  });

  it('groups and sorts nodes, and shows what was not read as such', () => {
    const node = (name: string, pool: string): Schemas['NodeView'] => ({ id: name, name, pool_id: pool, posture: 'fully_available' }) as Schemas['NodeView'];
    const fleet = fleetOf([node('n10', 'p'), node('n9', 'p'), node('m', 'o')], (each) => each.pool_id, () => undefined);
    expect(fleet.nodes.map((each) => each.name)).toEqual(['m', 'n9', 'n10']);
    expect(fleet.groups).toEqual([{ label: 'o', from: 0, count: 1 }, { label: 'p', from: 1, count: 2 }]);
    expect(countCells(fleet.cells)[cellNumber('unread')]).toBe(24);
  });
});

describe('compose', () => {
  const size = small.cell;
  const sprites: Sprites = { size, cells: cellKinds.map((_, number) => new Uint32Array(size * size).fill(100 + number)), line: 1, surface: 2, postures: postures.map((_, number) => 10 + number) };
  const blank = (width: number, height: number): Pixels => ({ data: new Uint32Array(width * height), width, height });

  it('puts every cell of a large fleet where the layout has it', () => {
    const fleet = syntheticFleet(2000);
    const whole = layOut(fleet.groups, 1900, small);
    const pixels = blank(1900, Math.ceil(whole.height));
    expect(compose(pixels, whole, fleet, sprites, { top: 0, height: whole.height }, 1)).toBe(16_000);
    for (const tile of [0, 1, 777, 1999]) {
      for (let cell = 0; cell < cellsPerNode; cell += 1) {
        const [dx, dy] = cellOffset(small, cell);
        const at = ((whole.y[tile] ?? 0) + dy + 1) * pixels.width + (whole.x[tile] ?? 0) + dx + 1;
        expect(pixels.data[at]).toBe(100 + (fleet.cells[tile * cellsPerNode + cell] ?? 0));
      }
      expect(pixels.data[((whole.y[tile] ?? 0) + 5) * pixels.width + (whole.x[tile] ?? 0)]).toBe(10 + (fleet.postures[tile] ?? 0));
    }
  });

  it('draws only what is in view, and nothing outside of the picture', () => {
    const fleet = syntheticFleet(2000);
    const part = layOut(fleet.groups, 1200, small);
    const [from, to] = tilesBetween(part, 500, 700);
    const pixels = blank(600, 200);
    expect(compose(pixels, part, fleet, sprites, { top: 500, height: 200 }, 1)).toBe((to - from) * 8);
    expect(to - from).toBeLessThan(400);
    expect(pixels.data.length).toBe(600 * 200);
  });
});

describe('the density that a map begins with', () => {
  it('shows few nodes large, more so on a large screen, and many nodes small', () => {
    expect(densityFor(14, 1440)).toBe('large');
    expect(densityFor(14, 3840)).toBe('huge');
    expect(densityFor(200, 1440)).toBe('medium');
    expect(densityFor(200, 3840)).toBe('large');
    expect(densityFor(2000, 3840)).toBe('small');
  });
});
