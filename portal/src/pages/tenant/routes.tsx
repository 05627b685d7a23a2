// The pages of those who use the platform. Every page is loaded when it is opened.
import type { RouteObject } from 'react-router';

/** The routes. */
export const tenantRoutes: RouteObject[] = [
  { path: '/projects/:projectId/ssh-keys', lazy: () => import('./SshKeys') },
];
