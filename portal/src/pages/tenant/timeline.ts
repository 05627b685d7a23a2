// The timeline of an allocation as it grows. Pure: entries in, what is shown out.
import type { Schemas } from '../../api/client';

/** One entry, as the API tells it. */
export type Entry = Schemas['TimelineEntry'];

/** What is known of a timeline. */
export interface Known {
  /** What happened, by position. */
  entries: readonly Entry[];
  /** How far the step under way has come: the host's last word, which is no entry of its own. */
  underWay: Entry | undefined;
}

/** Nothing yet. */
export const nothingKnown: Known = { entries: [], underWay: undefined };

/** Takes the next entry. One that was seen before changes nothing; one that is an event ends the last word of the host. */
export function withEntry(known: Known, entry: Entry): Known {
  if (entry.state === 'progress') return { ...known, underWay: entry };
  if (known.entries.some((each) => each.position === entry.position && each.step === entry.step && each.state === entry.state)) return known;
  const entries = [...known.entries, entry].sort((left, right) => left.position - right.position);
  return { entries, underWay: undefined };
}

/** One step of the timeline: its beginning and its end are one line. */
export interface Line {
  key: string;
  entry: Entry;
  begunAt: string;
  /** Whether something came after it; a step that was begun and left behind is done. */
  past: boolean;
  percent: number | undefined;
}

/** What is shown: the end of a step takes the place of its beginning, and the step under way has its progress. */
export function linesOf(known: Known): Line[] {
  const lines: Line[] = [];
  for (const entry of known.entries) {
    const before = lines.at(-1);
    if (before && before.entry.step === entry.step && before.entry.state === 'begun' && before.entry.attempt === entry.attempt) {
      lines[lines.length - 1] = { ...before, entry };
    } else {
      lines.push({ key: `${entry.position} ${entry.step}`, entry, begunAt: entry.at, past: true, percent: undefined });
    }
  }
  const last = lines.at(-1);
  const now = known.underWay;
  if (last) {
    const goesOn = now !== undefined && now.step === last.entry.step;
    lines[lines.length - 1] = { ...last, past: false, percent: goesOn ? now.percent : undefined, ...(goesOn ? { entry: { ...last.entry, detail: now.detail } } : {}) };
  }
  if (now && last?.entry.step !== now.step) lines.push({ key: `now ${now.step}`, entry: now, begunAt: now.at, past: false, percent: now.percent });
  return lines;
}
