// What usage comes to. Pure: the moment that is counted up to is passed in. The API bills by the interval; what goes on is
// counted up here between two reads, in the same way.
import type { Schemas } from '../../api/client';

/** One claim as an interval of use. */
export type Usage = Schemas['UsageView'];

const hourMs = 3_600_000;

/** The claims of one allocation. */
export function usageOf(claims: readonly Usage[], allocationId: string): Usage[] {
  return claims.filter((claim) => claim.allocation_id === allocationId);
}

/** What claims cost up to a moment, in millionths of the currency: what ended as it was billed, what goes on up to now. */
export function costOf(claims: readonly Usage[], now: number): number {
  return claims.reduce((sum, claim) => {
    if (claim.to !== undefined) return sum + claim.micros;
    const hours = Math.max(0, now - Date.parse(claim.from)) / hourMs;
    return sum + Math.max(claim.micros, Math.floor(hours * claim.gpus * claim.price_micros_per_gpu_hour));
  }, 0);
}

/** What goes on costs an hour. */
export function hourlyOf(claims: readonly Usage[]): number {
  return claims.filter((claim) => claim.to === undefined).reduce((sum, claim) => sum + claim.gpus * claim.price_micros_per_gpu_hour, 0);
}

/** How long something was held: from the first beginning to the last end, or to now. */
export function secondsOf(claims: readonly Usage[], now: number): number {
  if (claims.length === 0) return 0;
  const from = Math.min(...claims.map((claim) => Date.parse(claim.from)));
  const to = Math.max(...claims.map((claim) => (claim.to === undefined ? now : Date.parse(claim.to))));
  return Math.max(0, (to - from) / 1000);
}

/** A day and what was used in it. */
export interface DayUse {
  /** The day, in UTC. */
  day: string;
  gpuHours: number;
  micros: number;
}

/** GPU hours and cost by day, every day from the first to the last, in UTC. */
export function byDay(claims: readonly Usage[], from: number, to: number): DayUse[] {
  const dayMs = 24 * hourMs;
  const first = Math.floor(from / dayMs);
  const last = Math.floor((to - 1) / dayMs);
  const days: DayUse[] = [];
  for (let day = first; day <= last; day += 1) {
    const start = Math.max(day * dayMs, from);
    const end = Math.min((day + 1) * dayMs, to);
    let gpuHours = 0;
    let micros = 0;
    for (const claim of claims) {
      const begun = Math.max(Date.parse(claim.from), start);
      const ended = Math.min(claim.to === undefined ? to : Date.parse(claim.to), end);
      const hours = (Math.max(0, ended - begun) / hourMs) * claim.gpus;
      gpuHours += hours;
      micros += hours * claim.price_micros_per_gpu_hour;
    }
    days.push({ day: new Date(day * dayMs).toISOString().slice(0, 10), gpuHours, micros: Math.floor(micros) });
  }
  return days;
}
