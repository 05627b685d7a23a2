import { expect, it } from 'vitest';
import type { Schemas } from '../../../api/client';
import { FleetSlots } from './slots';

type Cell = Schemas['SlotCellView'];

const cell = (id: string, execution: Cell['execution'] = 'available'): Cell => ({ id, node_id: `node ${id.slice(0, 1)}`, execution, drifted: false });

/** A fleet that can be changed, and what was asked of it. */
function fake(begin: Cell[]) {
  const fleet = new Map(begin.map((each) => [each.id, each]));
  const asked: string[] = [];
  let broken = false;
  const slots = new FleetSlots({
    page: (token) => {
      asked.push(`page ${token ?? ''}`);
      if (broken) return Promise.reject(new Error('gone'));
      const all = [...fleet.values()];
      return Promise.resolve(token === undefined ? { items: all.slice(0, 2), ...(all.length > 2 ? { next_page_token: 'more' } : {}) } : { items: all.slice(2) });
    },
    one: (id) => {
      asked.push(id);
      return Promise.resolve(fleet.get(id));
    },
  });
  const told = (): Promise<void> => new Promise((resolve) => {
    const stop = slots.watch(() => {
      stop();
      resolve();
    });
  });
  return { slots, fleet, asked, told, breaks: (now: boolean) => (broken = now) };
}

it('reads the whole fleet in pages, and says nothing of a node before that', async () => {
  const { slots, asked, told } = fake([cell('a1'), cell('a2'), cell('b1')]);
  expect(slots.of('node a')).toBeUndefined();
  slots.survey();
  await told();
  expect(asked).toEqual(['page ', 'page more']);
  expect(slots.of('node a')?.map((each) => each.id)).toEqual(['a1', 'a2']);
  expect(slots.of('node without slots')).toEqual([]);
});

it('reads only what changed, takes in what is new, and drops what is gone', async () => {
  const { slots, fleet, asked, told } = fake([cell('a1'), cell('a2')]);
  slots.survey();
  await told();
  fleet.set('a1', cell('a1', 'in_use'));
  fleet.set('b1', cell('b1'));
  fleet.delete('a2');
  ['a1', 'b1', 'a2'].forEach((id) => slots.changed(id));
  await told();
  expect(asked).toEqual(['page ', 'a1', 'b1', 'a2']);
  expect(slots.of('node a')).toEqual([cell('a1', 'in_use')]);
  expect(slots.of('node b')).toEqual([cell('b1')]);
});

it('reads everything again when very much changed', async () => {
  const { slots, asked, told } = fake([cell('a1')]);
  slots.survey();
  await told();
  // Six are asked for at once; one more than three hundred wait.
  const ids = Array.from({ length: 307 }, (_, at) => `c${at}`);
  ids.forEach((id) => slots.changed(id));
  await told();
  expect(asked.filter((each) => each === 'page ').length).toBe(2);
  expect(asked.length).toBeLessThan(20);
});

it('keeps what it knows when the fleet cannot be read, and says why', async () => {
  const { slots, told, breaks } = fake([cell('a1')]);
  slots.survey();
  await told();
  breaks(true);
  slots.survey();
  await told();
  expect(slots.error).toBeInstanceOf(Error);
  expect(slots.of('node a')?.length).toBe(1);
  breaks(false);
  slots.survey();
  await told();
  expect(slots.error).toBeUndefined();
});
