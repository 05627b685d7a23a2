// Which allocations live, which of them hold GPUs, and how many. The same rule as that of the project's cap: what waits in a
// queue does not count before it is admitted.
import type { Schemas } from '../../api/client';

const ended: readonly Schemas['AllocationState'][] = ['released', 'refused', 'failed'];

type Standing = Pick<Schemas['AllocationView'], 'execution' | 'workload_id'>;

/** Whether an allocation has not ended. */
export function lives(allocation: Standing): boolean {
  return !ended.includes(allocation.execution);
}

/** Whether an allocation waits in a queue. */
export function waits(allocation: Standing): boolean {
  return allocation.execution === 'requested' && allocation.workload_id !== undefined;
}

/** The GPUs that a project holds or asks for. */
export function heldGpus(allocations: readonly (Standing & { gpu_count: number })[]): number {
  return allocations.filter((each) => lives(each) && !waits(each)).reduce((sum, each) => sum + each.gpu_count, 0);
}
