// Reads that several pages share: the catalogue, tenants and projects. Each says what makes it old.
import { answer, api, pageQuery, readAll, type Schemas, type Whole } from './client';
import type { Read } from './reads';

type List<T> = Read<Whole<T>>;

/** All regions, closed ones too. */
export const regions: List<Schemas['RegionView']> = {
  key: ['regions'],
  touches: { nouns: ['region'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/regions', { params: { query: pageQuery(token) } }))),
};

/** All pools. */
export const pools: List<Schemas['PoolView']> = {
  key: ['pools'],
  touches: { nouns: ['pool'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/pools', { params: { query: pageQuery(token) } }))),
};

/** Everything that is sold. */
export const skus: List<Schemas['SkuView']> = {
  key: ['skus'],
  touches: { nouns: ['sku'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/skus', { params: { query: pageQuery(token) } }))),
};

/** All images of the catalogue. */
export const images: List<Schemas['ImageView']> = {
  key: ['images'],
  touches: { nouns: ['image'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/images', { params: { query: pageQuery(token) } }))),
};

/** What a slot of each kind is made of. */
export const slotProfiles: List<Schemas['SlotProfileView']> = {
  key: ['slot-profiles'],
  touches: { nouns: ['slot_profile'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/slot-profiles', { params: { query: pageQuery(token) } }))),
};

/** What people choose hardware by instead of a SKU. */
export const hardwareProfiles: List<Schemas['HardwareProfileView']> = {
  key: ['hardware-profiles'],
  touches: { nouns: ['hardware_profile'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/hardware-profiles', { params: { query: pageQuery(token) } }))),
};

/** What goes first where launches wait. */
export const priorityClasses: List<Schemas['PriorityClassView']> = {
  key: ['priority-classes'],
  touches: { nouns: ['priority_class'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/priority-classes', { params: { query: pageQuery(token) } }))),
};

/** What can be had now. */
export const availability: Read<Schemas['AvailabilityList']> = {
  key: ['availability'],
  touches: { nouns: ['allocation', 'slot', 'node', 'pool', 'region', 'sku'] },
  read: () => answer(api.GET('/api/v1/availability')),
};

/** All tenants that the caller may see. */
export const tenants: List<Schemas['TenantView']> = {
  key: ['tenants'],
  touches: { nouns: ['tenant'] },
  read: () => readAll((token) => answer(api.GET('/api/v1/tenants', { params: { query: pageQuery(token) } }))),
};

/** The projects of a tenant that the caller may see. */
export function projects(tenantId: string): List<Schemas['ProjectView']> {
  return {
    key: ['projects', tenantId],
    touches: { nouns: ['project'] },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/tenants/{tenant_id}/projects', { params: { path: { tenant_id: tenantId }, query: pageQuery(token) } })),
      ),
  };
}

/** One project, with what it holds counted now. */
export function project(projectId: string): Read<Schemas['ProjectView']> {
  return {
    key: ['project', projectId],
    touches: { nouns: ['project', 'allocation'] },
    read: () => answer(api.GET('/api/v1/projects/{project_id}', { params: { path: { project_id: projectId } } })),
  };
}

/** The public keys of a project. */
export function sshKeys(projectId: string): List<Schemas['SshKeyView']> {
  return {
    key: ['ssh-keys', projectId],
    touches: { nouns: ['ssh_key'] },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/projects/{project_id}/ssh-keys', { params: { path: { project_id: projectId }, query: pageQuery(token) } })),
      ),
  };
}

/** The allocations of a project, ended ones too. */
export function allocations(projectId: string): List<Schemas['AllocationView']> {
  return {
    key: ['allocations', projectId],
    touches: { nouns: ['allocation'] },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/projects/{project_id}/allocations', { params: { path: { project_id: projectId }, query: pageQuery(token) } })),
      ),
  };
}

/** One allocation. */
export function allocation(allocationId: string): Read<Schemas['AllocationView']> {
  return {
    key: ['allocation', allocationId],
    touches: { nouns: ['allocation'], subject: allocationId },
    read: () => answer(api.GET('/api/v1/allocations/{allocation_id}', { params: { path: { allocation_id: allocationId } } })),
  };
}

/** The workloads of a project, ended ones too. */
export function workloads(projectId: string): List<Schemas['WorkloadView']> {
  return {
    key: ['workloads', projectId],
    touches: { nouns: ['workload', 'allocation'] },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/projects/{project_id}/workloads', { params: { path: { project_id: projectId }, query: pageQuery(token) } })),
      ),
  };
}

/** The queues of a project. */
export function localQueues(projectId: string): List<Schemas['LocalQueueView']> {
  return {
    key: ['local-queues', projectId],
    touches: { nouns: ['local_queue'] },
    read: () =>
      readAll((token) =>
        answer(api.GET('/api/v1/projects/{project_id}/queues', { params: { path: { project_id: projectId }, query: pageQuery(token) } })),
      ),
  };
}
