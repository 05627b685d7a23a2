// The pages of the platform's operators: their routes below /operator, and their lines in the menu, in order. Every page is
// loaded when it is opened.
import type { ReactNode } from 'react';
import type { RouteObject } from 'react-router';

/** A line of the menu. */
export interface OperatorNavItem {
  to: string;
  label: string;
  icon: ReactNode;
  /** Whether only this very path counts as being there. */
  end?: boolean;
}

/** The menu. */
export const operatorNav: readonly OperatorNavItem[] = [];

/** The routes, relative to /operator. A page is a module with a `Component`: `lazy: () => import('./Fleet')`. */
export const operatorRoutes: RouteObject[] = [];
