// Reads of the operators' pages. Each says which changes make it old.
import { answer, api, pageQuery, readAll, type Noun, type Schemas, type Whole } from './client';
import type { Read } from './reads';

type List<T> = Read<Whole<T>>;

/** All nodes. A sign of life is no event, so `last_seen_at` is as old as the read. */
export const nodes: List<Schemas['NodeView']> = {
  key: ['operator', 'nodes'],
  touches: { nouns: ['node'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/admin/nodes', { params: { query: pageQuery(token) } }))),
};

/** One node. */
export function node(nodeId: string): Read<Schemas['NodeView']> {
  return {
    key: ['operator', 'node', nodeId],
    touches: { nouns: ['node', 'slot', 'task'] },
    read: () => answer(api.GET('/api/v1/admin/nodes/{node_id}', { params: { path: { node_id: nodeId } } })),
  };
}

/** The slots of a node. */
export function slots(nodeId: string): List<Schemas['SlotView']> {
  return {
    key: ['operator', 'slots', nodeId],
    touches: { nouns: ['slot'] },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/admin/nodes/{node_id}/resource-slots', { params: { path: { node_id: nodeId }, query: pageQuery(token) } })),
      ),
  };
}

/** One slot. */
export function slot(slotId: string): Read<Schemas['SlotView']> {
  return {
    key: ['operator', 'slot', slotId],
    touches: { nouns: ['slot'], subject: slotId },
    read: () => answer(api.GET('/api/v1/admin/resource-slots/{slot_id}', { params: { path: { slot_id: slotId } } })),
  };
}

/** The proofs that were given for a slot. */
export function proofs(slotId: string): List<Schemas['ProofSummary']> {
  return {
    key: ['operator', 'proofs', slotId],
    touches: { nouns: ['slot'], subject: slotId },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/admin/resource-slots/{slot_id}/proofs', { params: { path: { slot_id: slotId }, query: pageQuery(token) } })),
      ),
  };
}

/** One proof in full, checked again by the control plane. */
export function proof(slotId: string, useGeneration: number): Read<Schemas['ProofView']> {
  return {
    key: ['operator', 'proof', slotId, useGeneration],
    touches: { nouns: ['slot'], subject: slotId },
    read: () =>
      answer(
        api.GET('/api/v1/admin/resource-slots/{slot_id}/proof', {
          params: { path: { slot_id: slotId }, query: { use_generation: useGeneration } },
        }),
      ),
  };
}

/** What the agent found on a node, with candidates for slots. */
export function discovery(nodeId: string): Read<Schemas['DiscoveryView']> {
  return {
    key: ['operator', 'discovery', nodeId],
    touches: { nouns: ['task', 'slot', 'node'] },
    read: () => answer(api.GET('/api/v1/admin/nodes/{node_id}/slice-topology/discovery', { params: { path: { node_id: nodeId } } })),
  };
}

/** What a node lacks before it can be promoted. */
export function readiness(nodeId: string): Read<Schemas['ReadinessView']> {
  return {
    key: ['operator', 'readiness', nodeId],
    touches: { nouns: ['task'] },
    read: () => answer(api.GET('/api/v1/admin/nodes/{node_id}/readiness', { params: { path: { node_id: nodeId } } })),
  };
}

/** What the last reconciliation of a node found. */
export function reconcile(nodeId: string): Read<Schemas['ReconcileReportView']> {
  return {
    key: ['operator', 'reconcile', nodeId],
    touches: { nouns: ['task'] },
    read: () => answer(api.GET('/api/v1/admin/nodes/{node_id}/reconcile', { params: { path: { node_id: nodeId } } })),
  };
}

/** The last plan of a node. */
export function plan(nodeId: string): Read<Schemas['PlanReportView']> {
  return {
    key: ['operator', 'plan', nodeId],
    touches: { nouns: ['task'] },
    read: () => answer(api.GET('/api/v1/admin/nodes/{node_id}/plan', { params: { path: { node_id: nodeId } } })),
  };
}

/** Who holds what of a node, now and before. */
export function claims(nodeId: string): List<Schemas['ClaimView']> {
  return {
    key: ['operator', 'claims', nodeId],
    touches: { nouns: ['allocation', 'slot'] },
    read: () =>
      readAll((token) => answer(api.GET('/api/v1/admin/nodes/{node_id}/claims', { params: { path: { node_id: nodeId }, query: pageQuery(token) } }))),
  };
}

/** The orders that an agent was given. */
export function tasks(nodeId: string): List<Schemas['TaskView']> {
  return {
    key: ['operator', 'tasks', nodeId],
    touches: { nouns: ['task'] },
    read: () =>
      readAll((token) => answer(api.GET('/api/v1/admin/nodes/{node_id}/tasks', { params: { path: { node_id: nodeId }, query: pageQuery(token) } }))),
  };
}

/** What an agent did that it must not do. */
export function incidents(nodeId: string): List<Schemas['IncidentView']> {
  return {
    key: ['operator', 'incidents', nodeId],
    touches: { nouns: ['node'], subject: nodeId },
    read: () =>
      readAll((token) => answer(api.GET('/api/v1/admin/nodes/{node_id}/incidents', { params: { path: { node_id: nodeId }, query: pageQuery(token) } }))),
  };
}

/** Disks that may be used although something is on them. */
export function diskGrants(nodeId: string): List<Schemas['DiskGrantView']> {
  return {
    key: ['operator', 'disk-grants', nodeId],
    touches: { nouns: ['node'], subject: nodeId },
    read: () =>
      readAll((token) => answer(api.GET('/api/v1/admin/nodes/{node_id}/disk-grants', { params: { path: { node_id: nodeId }, query: pageQuery(token) } }))),
  };
}

/** What waits longer than it should. */
export const waits: Read<Schemas['StuckList']> = {
  key: ['operator', 'waits'],
  touches: { nouns: ['tenant', 'project', 'node', 'slot', 'wipe_override', 'workload', 'allocation', 'task'] },
  read: () => answer(api.GET('/api/v1/admin/waits')),
};

/** The platform's own state. */
export const status: Read<Schemas['PlatformStatusView']> = {
  key: ['operator', 'status'],
  touches: { nouns: ['node', 'allocation', 'workload', 'slot'] },
  read: () => answer(api.GET('/api/v1/admin/status')),
};

/** GPUs held and free, by pool. */
export const occupancy: Read<Schemas['OccupancyList']> = {
  key: ['operator', 'occupancy'],
  touches: { nouns: ['allocation', 'slot', 'node', 'pool'] },
  read: () => answer(api.GET('/api/v1/admin/occupancy')),
};

/** Requests to let a slot go on without a proof. */
export const overrides: List<Schemas['WipeOverrideView']> = {
  key: ['operator', 'overrides'],
  touches: { nouns: ['wipe_override'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/admin/wipe-overrides', { params: { query: pageQuery(token) } }))),
};

/** Long-running requests. */
export const operations: List<Schemas['OperationView']> = {
  key: ['operator', 'operations'],
  touches: { nouns: ['tenant', 'project', 'allocation', 'workload', 'task', 'node', 'slot'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/operations', { params: { query: pageQuery(token) } }))),
};

/** How every queue and cohort stands. */
export const queueUse: Read<Schemas['QueueUseList']> = {
  key: ['operator', 'queue-use'],
  touches: { nouns: ['workload', 'allocation', 'cohort', 'cluster_queue', 'flavor'] },
  read: () => answer(api.GET('/api/v1/admin/governance/usage')),
};

const governedNouns: Noun[] = ['topology', 'flavor', 'cohort', 'cluster_queue', 'local_queue', 'priority_class', 'hardware_profile'];

/** All objects of governance as one document. */
export const governance: Read<Schemas['GovernanceView']> = {
  key: ['operator', 'governance'],
  touches: { nouns: governedNouns },
  read: () => answer(api.GET('/api/v1/admin/governance')),
};

/** Workloads of all projects; by state and queue where given. */
export function workloads(state?: string, queue?: string): List<Schemas['WorkloadView']> {
  return {
    key: ['operator', 'workloads', state ?? '', queue ?? ''],
    touches: { nouns: ['workload', 'allocation'] },
    read: () =>
      readAll((token) =>
        answer(
          api.GET('/api/v1/admin/workloads', {
            params: { query: { ...pageQuery(token), ...(state ? { state: state as Schemas['WorkloadState'] } : {}), ...(queue ? { queue } : {}) } },
          }),
        ),
      ),
  };
}

/** One workload. */
export function workload(workloadId: string): Read<Schemas['WorkloadView']> {
  return {
    key: ['operator', 'workload', workloadId],
    touches: { nouns: ['workload', 'allocation'] },
    read: () => answer(api.GET('/api/v1/workloads/{workload_id}', { params: { path: { workload_id: workloadId } } })),
  };
}

/** Why a workload stands as it does. */
export function explanation(workloadId: string): Read<Schemas['WorkloadExplanationView']> {
  return {
    key: ['operator', 'explanation', workloadId],
    touches: { nouns: ['workload', 'allocation', 'cluster_queue', 'cohort'] },
    read: () => answer(api.GET('/api/v1/workloads/{workload_id}/explanation', { params: { path: { workload_id: workloadId } } })),
  };
}

/** Allocations of all projects: of one tenant, in one state, or all. */
export function allocations(tenantId: string | undefined, state: Schemas['AllocationState'] | undefined): List<Schemas['AllocationView']> {
  return {
    key: ['operator', 'allocations', tenantId, state],
    touches: { nouns: ['allocation'] },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/admin/allocations', { params: { query: { ...pageQuery(token), ...(tenantId ? { tenant_id: tenantId } : {}), ...(state ? { state } : {}) } } })),
      ),
  };
}

/** An allocation with where it is. */
export function place(allocationId: string): Read<Schemas['AllocationPlaceView']> {
  return {
    key: ['operator', 'place', allocationId],
    touches: { nouns: ['allocation', 'slot', 'task'] },
    read: () => answer(api.GET('/api/v1/admin/allocations/{allocation_id}', { params: { path: { allocation_id: allocationId } } })),
  };
}

/** What was decided about an allocation, with places. */
export function decisions(allocationId: string): List<Schemas['PlacedDecisionView']> {
  return {
    key: ['operator', 'decisions', allocationId],
    touches: { nouns: ['allocation'], subject: allocationId },
    read: () =>
      readAll((token) =>
        answer(
          api.GET('/api/v1/admin/allocations/{allocation_id}/decisions', { params: { path: { allocation_id: allocationId }, query: pageQuery(token) } }),
        ),
      ),
  };
}

/** One tenant. */
export function tenant(tenantId: string): Read<Schemas['TenantView']> {
  return {
    key: ['operator', 'tenant', tenantId],
    touches: { nouns: ['tenant', 'project', 'member', 'allocation'] },
    read: () => answer(api.GET('/api/v1/tenants/{tenant_id}', { params: { path: { tenant_id: tenantId } } })),
  };
}

/** Secrets that let a host in. */
export const enrollmentTokens: List<Schemas['EnrollmentTokenView']> = {
  key: ['operator', 'enrollment-tokens'],
  touches: { nouns: ['enrollment_token', 'node'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/admin/enrollment-tokens', { params: { query: pageQuery(token) } }))),
};

/** Machines that a provider has. */
export const machines: List<Schemas['MachineView']> = {
  key: ['operator', 'machines'],
  touches: { nouns: ['node', 'task'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/admin/machines', { params: { query: pageQuery(token) } }))),
};

/** Where machines come from. */
export const providers: Read<Schemas['ProviderListView']> = {
  key: ['operator', 'providers'],
  touches: { nouns: ['node', 'task'] },
  read: () => answer(api.GET('/api/v1/admin/providers')),
};

/** People with a role over the whole platform. */
export const operators: List<Schemas['PrincipalView']> = {
  key: ['operator', 'operators'],
  touches: { nouns: ['principal'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/admin/operators', { params: { query: pageQuery(token) } }))),
};

/** Keys that images are signed with. */
export const imageKeys: List<Schemas['ImageKeyView']> = {
  key: ['operator', 'image-keys'],
  touches: { nouns: ['image_key'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/image-keys', { params: { query: pageQuery(token) } }))),
};

/** How many of the newest events a page begins with. */
export const recentEvents = 400;

/** The newest events, oldest first. */
export const events: Read<Schemas['EventPage']> = {
  key: ['operator', 'events'],
  touches: { nouns: [] },
  read: async () => {
    const { event_head } = await answer(api.GET('/api/v1/admin/status'));
    const items: Schemas['CloudEvent'][] = [];
    let after = Math.max(0, event_head - recentEvents);
    for (;;) {
      const page = await answer(api.GET('/api/v1/events', { params: { query: { after } } }));
      items.push(...page.items);
      if (page.items.length === 0 || page.next_after >= page.head) return { ...page, items };
      after = page.next_after;
    }
  },
};
