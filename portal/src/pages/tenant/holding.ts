// Which allocations hold GPUs, and how many. The same rule as that of the project's cap.
import type { Schemas } from '../../api/client';

const holding: readonly Schemas['AllocationState'][] = ['requested', 'reserved', 'provisioning', 'running', 'releasing'];

/** Whether an allocation counts against the project's GPUs. */
export function holdsGpus(allocation: { execution: Schemas['AllocationState'] }): boolean {
  return holding.includes(allocation.execution);
}

/** The GPUs that a project holds. */
export function heldGpus(allocations: readonly { execution: Schemas['AllocationState']; gpu_count: number }[]): number {
  return allocations.filter(holdsGpus).reduce((sum, each) => sum + each.gpu_count, 0);
}
