// Who is signed in. The session is a cookie that scripts cannot read; what they get is who it is for, and the token
// that requests which change something have to carry.
import { answer, api, setCsrfToken, type Schemas } from './client';

/** A session, as the API tells it. */
export type Session = Schemas['SessionView'];
/** The ways to sign in that this control plane offers. */
export type SignInWays = Schemas['SignInView'];

function begin(session: Session): Session {
  setCsrfToken(session.csrf_token);
  return session;
}

/** The session there is; a `Refusal` that is `signedOut` when there is none. */
export async function readSession(): Promise<Session> {
  return begin(await answer(api.GET('/api/v1/session')));
}

/** How one can sign in here. */
export function readSignInWays(): Promise<SignInWays> {
  return answer(api.GET('/api/v1/sign-in'));
}

/** Signs in with a token. It is sent once, in the body, and not kept. */
export async function signInWithToken(token: string): Promise<Session> {
  return begin(await answer(api.POST('/api/v1/session', { body: { token } })));
}

/** Where to go to sign in with the identity provider, to come back to a page of the portal. */
export async function beginOidc(returnTo: string): Promise<string> {
  const begun = await answer(api.POST('/api/v1/session/oidc', { body: { return_to: returnTo } }));
  return begun.authorization_url;
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  await answer(api.DELETE('/api/v1/session'));
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
