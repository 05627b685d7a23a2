import { describe, expect, it } from 'vitest';
import type { Schemas } from '../../api/client';
import { quotaParts, treeOf } from './queues';

const use = (slug: string, parent?: string, is_queue = false): Schemas['QueueUseView'] => ({ slug, is_queue, quotas: [], running: 0, waiting: 0, share_per_mille: 0, ...(parent ? { parent } : {}) });
const quota = (nominal: number, used: number, borrowed: number, lent: number): Schemas['QuotaUseView'] => ({ nominal, used, borrowed, lent, available: 0, flavor: 'h200', resource: 'gpu' });

describe('the tree of queues', () => {
  it('has cohorts before queues, each under its parent', () => {
    const tree = treeOf([use('b', 'root', true), use('root'), use('a', 'inner', true), use('inner', 'root'), use('alone', undefined, true)]);
    expect(tree.map((each) => each.use.slug)).toEqual(['root', 'alone']);
    expect(tree[0]?.children.map((each) => each.use.slug)).toEqual(['inner', 'b']);
    expect(tree[0]?.children[0]?.children.map((each) => each.use.slug)).toEqual(['a']);
  });

  it('shows a queue whose cohort is not there as a root', () => {
    expect(treeOf([use('lost', 'gone', true)]).map((each) => each.use.slug)).toEqual(['lost']);
  });
});

describe('the bar of a quota', () => {
  it('puts what is borrowed beyond what is its own', () => {
    const { parts, whole } = quotaParts(quota(8, 23, 15, 0));
    expect(parts.map((part) => [part.id, part.from, part.size])).toEqual([['own', 0, 8], ['borrowed', 8, 15]]);
    expect(whole).toBe(23);
  });

  it('shows what was lent as taken and the rest as free', () => {
    expect(quotaParts(quota(24, 4, 0, 15)).parts.map((part) => [part.id, part.from, part.size])).toEqual([['own', 0, 4], ['lent', 4, 15], ['free', 19, 5]]);
  });

  it('has no parts where there is nothing', () => {
    expect(quotaParts(quota(0, 0, 0, 0))).toEqual({ parts: [], whole: 0 });
  });
});
