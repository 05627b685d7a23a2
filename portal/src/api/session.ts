// Who is signed in. The session is a cookie that scripts cannot read; what they get is who it is for, and the token
// that requests which change something have to carry.
import { Refusal, isProblem, setCsrfToken, type Schemas } from './client';

/** A session, as the API tells it. */
export interface Session {
  who: Schemas['WhoamiView'];
  csrf_token: string;
  /** When it ends unless it is used. */
  idle_expires_at: string;
  /** When it ends in any case. */
  expires_at: string;
}

/** The ways to sign in that this control plane offers. */
export interface SignInWays {
  token: boolean;
  oidc?: { name: string };
}

async function ask<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const response = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const value: unknown = text ? JSON.parse(text) : undefined;
  if (response.ok) return value as T;
  const problem = isProblem(value) ? value : undefined;
  throw new Refusal(problem, response.status, response.headers.get('x-request-id') ?? undefined, problem?.detail ?? response.statusText);
}

/** The session there is; a `Refusal` that is `signedOut` or `missing` when there is none. */
export async function readSession(): Promise<Session> {
  const session = await ask<Session>('GET', '/api/v1/session');
  setCsrfToken(session.csrf_token);
  return session;
}

/** How one can sign in here. */
export function readSignInWays(): Promise<SignInWays> {
  return ask<SignInWays>('GET', '/api/v1/sign-in');
}

/** Signs in with a token. It is sent once, in the body, and not kept. */
export async function signInWithToken(token: string): Promise<Session> {
  await ask<unknown>('POST', '/api/v1/session', { token });
  return readSession();
}

/** Where to go to sign in with the identity provider, to come back to a page of the portal. */
export async function beginOidc(returnTo: string): Promise<string> {
  const begun = await ask<{ authorization_url: string }>('POST', '/api/v1/session/oidc', { return_to: returnTo });
  return begun.authorization_url;
}

/** Ends the session. */
export async function signOut(csrfToken: string): Promise<void> {
  await ask<unknown>('DELETE', '/api/v1/session', undefined, { 'x-csrf-token': csrfToken });
  setCsrfToken(undefined);
}

/** Whether somebody has a role over the whole platform. */
export function isOperator(session: Session): boolean {
  return session.who.principal.platform_role !== undefined;
}

/** Whether an operator may change things. */
export function mayOperate(session: Session): boolean {
  return session.who.principal.platform_role === 'platform_operator' && session.who.token.scope !== 'read';
}

/** Whether somebody may use a project: launch, release, add keys. */
export function mayUse(session: Session, project: { id: string; tenant_id: string }): boolean {
  if (mayOperate(session)) return true;
  if (session.who.token.scope === 'read') return false;
  return session.who.bindings.some(
    (binding) =>
      binding.tenant_id === project.tenant_id &&
      (binding.role === 'tenant_admin' || (binding.role === 'project_member' && binding.project_id === project.id)),
  );
}

/** Whether somebody may change the people of a tenant. */
export function mayAdminister(session: Session, tenantId: string): boolean {
  if (mayOperate(session)) return true;
  if (session.who.token.scope === 'read') return false;
  return session.who.bindings.some((binding) => binding.tenant_id === tenantId && binding.role === 'tenant_admin');
}
