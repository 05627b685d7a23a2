// Which project the pages are about, and which region lists are narrowed to. The project of a page is in its URL; the last
// one is kept for pages that have none, so that the picker and the menu lead somewhere.
import { useQueries } from '@tanstack/react-query';
import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from 'react';
import { useParams } from 'react-router';
import type { Schemas } from '../api/client';
import { readOptions, useRead } from '../api/reads';
import * as things from '../api/things';

/** A project with its tenant. */
export interface ScopedProject {
  project: Schemas['ProjectView'];
  tenant: Schemas['TenantView'];
  /** `tenant/project`, as commands take it. */
  path: string;
}

interface Scope {
  /** Every project that can be chosen, by tenant and name. */
  all: readonly ScopedProject[];
  tenants: readonly Schemas['TenantView'][];
  /** Whether `all` is known. */
  ready: boolean;
  error: Error | undefined;
  /** Reads what could not be read once more. */
  retry: () => void;
  /** The project of this page, or the last one. */
  current: ScopedProject | undefined;
  /** The region that lists are narrowed to; all when absent. */
  regionId: string | undefined;
  setRegionId: (id: string | undefined) => void;
}

const ScopeContext = createContext<Scope | undefined>(undefined);

/** Which project and region pages are about. */
export function useScope(): Scope {
  const scope = useContext(ScopeContext);
  if (!scope) throw new Error('useScope outside ScopeProvider');
  return scope;
}

/** The projects of so many tenants are offered; an operator of more chooses in the list of tenants. */
const tenantsOffered = 40;

function remembered(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

function remember(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Storage may be forbidden; then nothing is remembered.
  }
}

/** Provides the scope to what is inside. */
export function ScopeProvider({ children }: { children: ReactNode }) {
  const params = useParams();
  const tenants = useRead(things.tenants);
  const offered = useMemo(() => (tenants.data?.items ?? []).filter((tenant) => tenant.execution !== 'deleted').slice(0, tenantsOffered), [tenants.data]);
  const lists = useQueries({ queries: offered.map((tenant) => readOptions(things.projects(tenant.id))) });
  const [regionId, setRegion] = useState(() => remembered('region'));
  const setRegionId = useCallback((id: string | undefined) => {
    remember('region', id);
    setRegion(id);
  }, []);

  const listsReady = tenants.data !== undefined && lists.every((list) => list.data !== undefined || list.error !== null);
  const all: ScopedProject[] = offered.flatMap((tenant, index) =>
    (lists[index]?.data?.items ?? [])
      .filter((project) => project.execution !== 'deleted')
      .map((project) => ({ project, tenant, path: `${tenant.slug}/${project.slug}` })),
  );
  const wanted = params.projectId ?? remembered('project');
  const found = all.find((each) => each.project.id === wanted);
  const current = found ?? (params.projectId === undefined ? all[0] : undefined);
  const currentId = current?.project.id;
  useEffect(() => {
    if (currentId) remember('project', currentId);
  }, [currentId]);

  return (
    <ScopeContext
      value={{ all, tenants: tenants.data?.items ?? [], ready: listsReady, error: tenants.error ?? undefined, retry: () => void tenants.refetch(), current, regionId, setRegionId }}
    >
      {children}
    </ScopeContext>
  );
}
