// The pages of the platform's operators: their routes below /operator, and their lines in the menu, in order. Every page is
// loaded when it is opened.
import type { ReactNode } from 'react';
import { Navigate, type RouteObject } from 'react-router';
import { strings } from '../../strings';
import { ChipIcon, HookIcon, KeyIcon, MapIcon, PeopleIcon, QueueIcon, RocketIcon } from '../../ui/icons';
import { AuditIcon, BookIcon, ClockIcon, FeedIcon, MachineIcon, PulseIcon, ShieldIcon, StuckIcon, WrenchIcon } from './icons';

const words = strings.operator.menu;

/** A line of the menu. */
export interface OperatorNavItem {
  to: string;
  label: string;
  icon: ReactNode;
  /** Whether only this very path counts as being there. */
  end?: boolean;
}

/** The menu. */
export const operatorNav: readonly OperatorNavItem[] = [
  { to: '/operator/fleet', label: words.fleet, icon: <MapIcon /> },
  { to: '/operator/stuck', label: words.stuck, icon: <StuckIcon /> },
  { to: '/operator/queues', label: words.queues, icon: <QueueIcon /> },
  { to: '/operator/workloads', label: words.workloads, icon: <RocketIcon /> },
  { to: '/operator/allocations', label: words.allocations, icon: <ChipIcon /> },
  { to: '/operator/operations', label: words.operations, icon: <ClockIcon /> },
  { to: '/operator/overrides', label: words.overrides, icon: <ShieldIcon /> },
  { to: '/operator/tenants', label: words.tenants, icon: <PeopleIcon /> },
  { to: '/operator/catalog', label: words.catalog, icon: <BookIcon /> },
  { to: '/operator/enrolment', label: words.enrolment, icon: <KeyIcon /> },
  { to: '/operator/machines', label: words.machines, icon: <MachineIcon /> },
  { to: '/operator/operators', label: words.operators, icon: <WrenchIcon /> },
  { to: '/operator/webhooks', label: words.webhooks, icon: <HookIcon /> },
  { to: '/operator/events', label: words.events, icon: <FeedIcon /> },
  { to: '/operator/audit', label: words.audit, icon: <AuditIcon /> },
  { to: '/operator/status', label: words.status, icon: <PulseIcon /> },
];

/** The routes, relative to /operator. A page is a module with a `Component`. */
export const operatorRoutes: RouteObject[] = [
  { index: true, element: <Navigate to="/operator/fleet" replace /> },
  { path: 'fleet', lazy: () => import('./Fleet') },
  { path: 'nodes/:nodeId', lazy: () => import('./Node') },
  { path: 'nodes/:nodeId/slots', lazy: () => import('./Approval') },
  { path: 'slots/:slotId', lazy: () => import('./Slot') },
  { path: 'queues', lazy: () => import('./Queues') },
  { path: 'what-if', lazy: () => import('./WhatIf') },
  { path: 'workloads', lazy: () => import('./Workloads') },
  { path: 'workloads/:workloadId', lazy: () => import('./Workload') },
  { path: 'allocations', lazy: () => import('./Allocations') },
  { path: 'allocations/:allocationId', lazy: () => import('./Allocation') },
  { path: 'stuck', lazy: () => import('./Stuck') },
  { path: 'operations', lazy: () => import('./Operations') },
  { path: 'overrides', lazy: () => import('./Overrides') },
  { path: 'events', lazy: () => import('./Events') },
  { path: 'audit', lazy: () => import('./Audit') },
  { path: 'status', lazy: () => import('./Status') },
  { path: 'tenants', lazy: () => import('./Tenants') },
  { path: 'tenants/:tenantId', lazy: () => import('./Tenant') },
  { path: 'catalog', element: <Navigate to="/operator/catalog/skus" replace /> },
  { path: 'catalog/:kind', lazy: () => import('./catalog/Catalog') },
  { path: 'catalog/:kind/:id', lazy: () => import('./catalog/Catalog') },
  { path: 'enrolment', lazy: () => import('./Enrolment') },
  { path: 'machines', lazy: () => import('./Machines') },
  { path: 'operators', lazy: () => import('./Operators') },
  { path: 'webhooks', lazy: () => import('./Webhooks') },
  { path: 'webhooks/:webhookId', lazy: () => import('./Webhook') },
];
