// Every page of the portal, by its route, with what is to be expected of it. The routes themselves are read from the portal's
// sources, so that a page that nobody put in here is found missing.
import assert from 'node:assert/strict';
import { createServer } from 'vite';

/**
 * What is known about each page.
 *
 * - `picture`: what its pictures are called
 * - `empty`: what it says on a platform, or in a project, where there is nothing yet; pages of one thing cannot be empty
 * - `deniedTo`: who is refused, of those who may see the project; operators' pages are for operators alone
 * - `still`: it shows what the frame around it has read already, so it has nothing to wait for
 */
export const pages = {
  '/projects/:projectId': { picture: 'home', empty: 'Nothing runs' },
  '/projects/:projectId/launch': { picture: 'launch', deniedTo: 'viewer' },
  '/projects/:projectId/allocations': { picture: 'allocations', empty: 'No allocation' },
  '/projects/:projectId/allocations/:allocationId': { picture: 'allocation' },
  '/projects/:projectId/queue': { picture: 'queue', empty: 'Nothing waits and nothing runs through a queue' },
  '/projects/:projectId/queue/:workloadId': { picture: 'workload' },
  '/projects/:projectId/usage': { picture: 'usage', empty: 'Nothing was used in this time' },
  '/projects/:projectId/ssh-keys': { picture: 'ssh-keys', empty: 'No key yet' },
  '/tenants/:tenantId/members': { picture: 'members', empty: 'No service account' },
  '/tenants/:tenantId/webhooks': { picture: 'webhooks', empty: 'No webhook', deniedTo: 'project_member' },
  '/tenants/:tenantId/webhooks/:webhookId': { picture: 'webhook' },
  // Whoever looks has at least the token of the session.
  '/tokens': { picture: 'tokens' },
  '/settings': { picture: 'settings', still: true },
  '/operator/fleet': { picture: 'operator-fleet', empty: 'No host has been enrolled yet' },
  '/operator/nodes/:nodeId': { picture: 'operator-node' },
  '/operator/nodes/:nodeId/slots': { picture: 'operator-approval' },
  '/operator/slots/:slotId': { picture: 'operator-slot' },
  '/operator/queues': { picture: 'operator-queues', empty: 'There are no queues yet' },
  '/operator/what-if': { picture: 'operator-what-if' },
  '/operator/workloads': { picture: 'operator-workloads', empty: 'Nothing here' },
  '/operator/workloads/:workloadId': { picture: 'operator-workload' },
  '/operator/allocations': { picture: 'operator-allocations', empty: 'Nobody holds anything' },
  '/operator/allocations/:allocationId': { picture: 'operator-allocation' },
  '/operator/stuck': { picture: 'operator-stuck', empty: 'Nothing is stuck' },
  '/operator/operations': { picture: 'operator-operations', empty: 'No operation' },
  '/operator/overrides': { picture: 'operator-overrides', empty: 'Nobody has asked for an override' },
  '/operator/events': { picture: 'operator-events' },
  '/operator/audit': { picture: 'operator-audit' },
  '/operator/status': { picture: 'operator-status' },
  '/operator/tenants': { picture: 'operator-tenants', empty: 'No tenant yet', still: true },
  '/operator/tenants/:tenantId': { picture: 'operator-tenant' },
  '/operator/catalog/:kind': { picture: 'operator-catalog', empty: 'None yet' },
  '/operator/catalog/:kind/:id': { picture: 'operator-catalog-item' },
  '/operator/enrolment': { picture: 'operator-enrolment', empty: 'No token yet' },
  '/operator/machines': { picture: 'operator-machines', empty: 'No machines' },
  '/operator/operators': { picture: 'operator-operators' },
  '/operator/webhooks': { picture: 'operator-webhooks', empty: 'No webhook' },
  '/operator/webhooks/:webhookId': { picture: 'operator-webhook' },
};

/** Pages of those who use the platform, and of those who run it. */
export const tenantPages = Object.entries(pages).filter(([route]) => !route.startsWith('/operator'));
export const operatorPages = Object.entries(pages).filter(([route]) => route.startsWith('/operator'));

/** The path of a page for these ids; an id that is not there is a mistake in the test. */
export function pathOf(route, ids) {
  return route.replaceAll(/:(\w+)/g, (_, name) => {
    assert.ok(ids[name], `${route} needs ${name}`);
    return ids[name];
  });
}

/** The routes that the portal has, as its router is told. */
export async function readRoutes() {
  const server = await createServer({ root: new URL('..', import.meta.url).pathname, appType: 'custom', logLevel: 'error', server: { middlewareMode: true, hmr: false, ws: false } });
  try {
    const { tenantRoutes } = await server.ssrLoadModule('/src/pages/tenant/routes.tsx');
    const { operatorRoutes } = await server.ssrLoadModule('/src/pages/operator/routes.tsx');
    // A route without a page of its own leads to another.
    const paths = (routes, below) => routes.filter((route) => route.lazy).map((route) => below + route.path);
    return [...paths(tenantRoutes, ''), ...paths(operatorRoutes, '/operator/')];
  } finally {
    await server.close();
  }
}
