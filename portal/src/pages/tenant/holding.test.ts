import { describe, expect, it } from 'vitest';
import { heldGpus, lives, waits } from './holding';

describe('what a project holds', () => {
  const all = [
    { execution: 'running', gpu_count: 4 },
    { execution: 'releasing', gpu_count: 2 },
    { execution: 'requested', gpu_count: 1 },
    { execution: 'requested', gpu_count: 8, workload_id: 'wkl_1' },
    { execution: 'running', gpu_count: 2, workload_id: 'wkl_2' },
    { execution: 'released', gpu_count: 8 },
    { execution: 'refused', gpu_count: 8 },
    { execution: 'failed', gpu_count: 8 },
  ] as const;

  it('leaves out what waits in a queue and what ended', () => {
    expect(heldGpus(all)).toBe(4 + 2 + 1 + 2);
    expect(all.filter(lives)).toHaveLength(5);
    expect(all.filter(waits)).toHaveLength(1);
  });
});
