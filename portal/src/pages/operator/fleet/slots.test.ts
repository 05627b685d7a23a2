import { expect, it } from 'vitest';
import type { Schemas } from '../../../api/client';
import { SlotReader } from './slots';

type Slot = Schemas['SlotView'];

/** A reader whose answers come when the test says so. */
function fake() {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const reader = new SlotReader((nodeId) => {
    asked.push(nodeId);
    return new Promise((resolve) => answers.push(() => resolve([{ id: `slot of ${nodeId}` } as Slot])));
  });
  const answerAll = async (): Promise<void> => {
    while (answers.length > 0) {
      answers.splice(0).forEach((answer) => answer());
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { reader, asked, answerAll };
}

it('asks about a few nodes at a time, and about each once', async () => {
  const { reader, asked, answerAll } = fake();
  const nodes = Array.from({ length: 20 }, (_, at) => `n${at}`);
  reader.want(nodes);
  reader.want(nodes);
  expect(asked.length).toBe(6);
  await answerAll();
  expect([...asked].sort()).toEqual([...nodes].sort());
  expect(reader.of('n19')?.length).toBe(1);
});

it('reads only the node of a slot that changed, and only while it is wanted', async () => {
  const { reader, asked, answerAll } = fake();
  reader.want(['a', 'b']);
  await answerAll();
  reader.changed('slot of b');
  await answerAll();
  expect(asked).toEqual(['a', 'b', 'b']);
  reader.want(['a']);
  reader.changed('slot of b');
  await answerAll();
  expect(asked).toEqual(['a', 'b', 'b']);
  reader.want(['b']);
  await answerAll();
  expect(asked).toEqual(['a', 'b', 'b', 'b']);
});

it('reads everything in view again when nothing can be relied on', async () => {
  const { reader, asked, answerAll } = fake();
  reader.want(['a', 'b']);
  await answerAll();
  reader.allChanged();
  await answerAll();
  expect(asked).toEqual(['a', 'b', 'a', 'b']);
});
