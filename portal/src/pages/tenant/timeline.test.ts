import { describe, expect, it } from 'vitest';
import { linesOf, nothingKnown, withEntry, type Entry } from './timeline';

const at = '2026-01-31T12:00:00.000Z';
const entry = (position: number, step: Entry['step'], state: Entry['state'], more: Partial<Entry> = {}): Entry => ({ position, step, state, detail: `${step} ${state}`, at, ...more });
const fold = (entries: Entry[]) => entries.reduce(withEntry, nothingKnown);

describe('a timeline', () => {
  it('does not tell an entry twice, whatever the order it comes in', () => {
    const known = fold([entry(2, 'placement', 'done'), entry(1, 'admission', 'done'), entry(2, 'placement', 'done')]);
    expect(known.entries.map((each) => each.position)).toEqual([1, 2]);
  });

  it('shows a step once, with its end in place of its beginning', () => {
    const lines = linesOf(fold([entry(1, 'order', 'begun', { attempt: 1 }), entry(2, 'order', 'done', { attempt: 1 }), entry(3, 'clone', 'begun', { attempt: 1 })]));
    expect(lines.map((line) => [line.entry.step, line.entry.state, line.past])).toEqual([
      ['order', 'done', true],
      ['clone', 'begun', false],
    ]);
  });

  it('keeps the tries of an order apart', () => {
    const lines = linesOf(fold([entry(1, 'order', 'begun', { attempt: 1 }), entry(2, 'order', 'begun', { attempt: 2 })]));
    expect(lines).toHaveLength(2);
  });

  it('puts the progress of the step under way on its line, and forgets it with the next event', () => {
    const known = fold([entry(3, 'clone', 'begun'), entry(3, 'clone', 'progress', { percent: 40, detail: 'copying' })]);
    expect(linesOf(known).map((line) => [line.percent, line.entry.detail])).toEqual([[40, 'copying']]);
    expect(linesOf(withEntry(known, entry(4, 'boot', 'begun'))).map((line) => line.percent)).toEqual([undefined, undefined]);
  });
});
