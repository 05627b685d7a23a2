// Who is signed in, for every page inside the frame.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, useContext, useEffect, type ReactNode } from 'react';
import { Navigate, useLocation } from 'react-router';
import { Refusal, whenSignedOut } from '../api/client';
import { startLive } from '../api/live';
import { readSession, type Session } from '../api/session';
import { Loading, ProblemNote } from '../ui/states';

const SessionContext = createContext<Session | undefined>(undefined);

/** What the session is kept under. */
export const sessionKey = ['session'] as const;

/** Who is signed in. Only inside `SignedIn`. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('useSession outside SignedIn');
  return session;
}

/** Shows what is inside to those who are signed in, and sends all others to sign in and back. */
export function SignedIn({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const location = useLocation();
  const session = useQuery({ queryKey: sessionKey, queryFn: readSession, staleTime: Infinity, retry: false });
  const signedIn = session.data !== undefined;
  useEffect(() => whenSignedOut(() => void queries.resetQueries({ queryKey: sessionKey })), [queries]);
  useEffect(() => (signedIn ? startLive(queries) : undefined), [queries, signedIn]);
  if (session.data) return <SessionContext value={session.data}>{children}</SessionContext>;
  if (session.error instanceof Refusal && (session.error.signedOut || session.error.missing)) {
    const back = `${location.pathname}${location.search}`;
    return <Navigate to={back === '/' ? '/sign-in' : `/sign-in?back=${encodeURIComponent(back)}`} replace />;
  }
  return (
    <div className="front">
      <div className="front-box">{session.error ? <ProblemNote error={session.error} onRetry={() => void session.refetch()} /> : <Loading />}</div>
    </div>
  );
}
