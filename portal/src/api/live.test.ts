import { describe, expect, it } from 'vitest';
import { touched } from './live';

describe('an event', () => {
  it('touches reads of its kind', () => {
    expect(touched({ nouns: ['allocation'] }, { noun: 'allocation', subject: 'alc_1' })).toBe(true);
    expect(touched({ nouns: ['allocation'] }, { noun: 'node', subject: 'nod_1' })).toBe(false);
    expect(touched(undefined, { noun: 'node', subject: 'nod_1' })).toBe(false);
  });

  it('touches a read of one thing only when it is about that thing', () => {
    const touches = { nouns: ['allocation'], subject: 'alc_1' } as const;
    expect(touched(touches, { noun: 'allocation', subject: 'alc_1' })).toBe(true);
    expect(touched(touches, { noun: 'allocation', subject: 'alc_2' })).toBe(false);
  });
});
