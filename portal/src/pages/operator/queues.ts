// The tree of cohorts and queues, and the parts of a quota's bar. Pure.
import type { Schemas } from '../../api/client';
import type { Tone } from '../../ui/icons';

type Use = Schemas['QueueUseView'];

/** A cohort or queue with what is below it. */
export interface UseTree {
  use: Use;
  children: UseTree[];
}

/** Puts cohorts and queues under their parents; cohorts first, each by name. One with an unknown parent is a root. */
export function treeOf(all: readonly Use[]): UseTree[] {
  const cohorts = new Set(all.filter((use) => !use.is_queue).map((use) => use.slug));
  const below = (parent: string | undefined, seen: readonly string[]): UseTree[] =>
    all
      .filter((use) => (use.parent !== undefined && cohorts.has(use.parent) ? use.parent : undefined) === parent)
      .filter((use) => use.is_queue || !seen.includes(use.slug))
      .sort((a, b) => Number(a.is_queue) - Number(b.is_queue) || a.slug.localeCompare(b.slug))
      .map((use) => ({ use, children: use.is_queue ? [] : below(use.slug, [...seen, use.slug]) }));
  return below(undefined, []);
}

/** One part of a quota's bar, in GPUs from the left. */
export interface QuotaPart {
  id: 'own' | 'borrowed' | 'lent' | 'free';
  from: number;
  size: number;
  tone: Tone;
  pattern?: 'hatch' | 'dots';
}

/** How a quota is drawn: what is used of its own, what others have of it, what is borrowed beyond it, what is free. */
export function quotaParts(quota: Schemas['QuotaUseView']): { parts: QuotaPart[]; whole: number } {
  const own = Math.max(0, quota.used - quota.borrowed);
  const lent = Math.min(quota.lent, Math.max(0, quota.nominal - own));
  const free = Math.max(0, quota.nominal - own - lent);
  const parts: QuotaPart[] = [
    { id: 'own', from: 0, size: own, tone: 'busy' },
    { id: 'lent', from: own, size: lent, tone: 'good', pattern: 'dots' },
    { id: 'free', from: own + lent, size: free, tone: 'idle' },
    { id: 'borrowed', from: Math.max(quota.nominal, own), size: quota.borrowed, tone: 'warn', pattern: 'hatch' },
  ];
  return { parts: parts.filter((part) => part.size > 0), whole: Math.max(quota.nominal, own) + quota.borrowed };
}
