// Which tone a state has. One table for all kinds of things, so that the same word looks the same everywhere.
import type { Tone } from './icons';

const tones: Record<string, Tone> = {
  // Allocations, workloads and members of them.
  requested: 'busy',
  reserved: 'busy',
  provisioning: 'busy',
  running: 'good',
  releasing: 'busy',
  released: 'idle',
  refused: 'bad',
  failed: 'bad',
  queued: 'warn',
  admitted: 'busy',
  preempting: 'warn',
  stopping: 'busy',
  finished: 'idle',
  cancelled: 'idle',
  // Operations and tasks.
  succeeded: 'good',
  pending: 'idle',
  // Tenants and projects.
  creating: 'busy',
  active: 'good',
  suspended: 'warn',
  deleting: 'busy',
  deleted: 'idle',
  // Regions, SKUs and images.
  open: 'good',
  closed: 'idle',
  registered: 'idle',
  available: 'good',
  retired: 'idle',
  // Slots.
  in_use: 'busy',
  challenged: 'busy',
  wiping: 'busy',
  cleanup_blocked: 'bad',
  disabled: 'idle',
  // Postures of nodes.
  fully_available: 'good',
  partially_allocated: 'busy',
  fully_allocated_by_slices: 'busy',
  exclusively_allocated_by_baremetal: 'busy',
  draining: 'warn',
  unavailable: 'bad',
  // Decisions, checks and proofs.
  placed: 'good',
  passed: 'good',
  // Tokens.
  expired: 'idle',
  revoked: 'idle',
};

/** The tone of a state; a state that nobody named here is neither good nor bad. */
export function toneOf(state: string): Tone {
  return tones[state] ?? 'idle';
}
