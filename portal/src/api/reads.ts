// Reading with what keeps a read current. Every read says which kinds of changes make it old; see `live`.
import { QueryClient, useQuery, type UseQueryOptions, type UseQueryResult } from '@tanstack/react-query';
import { Refusal } from './client';
import type { Touches } from './live';

/** One read: what it is kept under, what makes it old, and how it is made. */
export interface Read<T> {
  key: readonly unknown[];
  touches: Touches;
  read: () => Promise<T>;
  /** Left out until this holds. */
  when?: boolean;
}

/** The options of the query library for a read. */
export function readOptions<T>(read: Read<T>): UseQueryOptions<T, Error, T, readonly unknown[]> {
  return { queryKey: read.key, queryFn: read.read, meta: { touches: read.touches }, enabled: read.when ?? true };
}

/** Reads, and reads again when it is old. */
export function useRead<T>(read: Read<T>): UseQueryResult<T> {
  return useQuery(readOptions(read));
}

/** How long a read that failed waits before it is tried again; the next time twice as long. Whoever looks is told soon. */
const retryMs = 300;

/** Where all reads are kept. A refusal that would be the same again is not asked for twice. */
export function makeQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 30_000,
        retryDelay: (failures) => retryMs * 2 ** failures,
        retry: (failures, error) => failures < 2 && error instanceof Refusal && (error.problem?.retryable ?? error.status === 0),
      },
    },
  });
}
