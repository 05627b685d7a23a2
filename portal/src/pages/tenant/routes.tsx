// The pages of those who use the platform. Every page is loaded when it is opened.
import type { RouteObject } from 'react-router';

/** The routes. */
export const tenantRoutes: RouteObject[] = [
  { path: '/projects/:projectId', lazy: () => import('./Home') },
  { path: '/projects/:projectId/launch', lazy: () => import('./Launch') },
  { path: '/projects/:projectId/allocations', lazy: () => import('./Allocations') },
  { path: '/projects/:projectId/allocations/:allocationId', lazy: () => import('./Allocation') },
  { path: '/projects/:projectId/queue', lazy: () => import('./Queue') },
  { path: '/projects/:projectId/queue/:workloadId', lazy: () => import('./Workload') },
  { path: '/projects/:projectId/usage', lazy: () => import('./Usage') },
  { path: '/projects/:projectId/ssh-keys', lazy: () => import('./SshKeys') },
  { path: '/tenants/:tenantId/members', lazy: () => import('./Members') },
  { path: '/tenants/:tenantId/webhooks', lazy: () => import('./Webhooks') },
  { path: '/tenants/:tenantId/webhooks/:webhookId', lazy: () => import('./Webhook') },
  { path: '/tokens', lazy: () => import('./Tokens') },
  { path: '/settings', lazy: () => import('./Settings') },
];
