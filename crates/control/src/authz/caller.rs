//! Who is calling: the owner of a live token, with the roles that the token carries. A session is a token in a browser: what
//! it may do is what its token may do, for as long as both live.
//!
//! A token restricted to a tenant or project carries only the memberships that hold there, and no role over the platform;
//! a whole-tenant role seen through a token for one project becomes the same role in that project alone. The restriction
//! is applied here, once, so that neither policies nor lists can forget it.

use api::{Code, Problem};
use model::{
    PrincipalId, Timestamp,
    identity::{PlatformRole, TokenScope},
};
use store::{
    StoreError, Tx,
    members::{self, Binding},
    scope::Scope,
    sessions::{self, SessionRow},
    tokens::{self, TokenRow},
};

use super::token::Secret;

/// A caller that has shown a live token.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The owner of the token.
    pub principal_id: PrincipalId,
    /// The token in use.
    pub token: TokenRow,
    /// The role over the platform that the token carries.
    pub platform_role: Option<PlatformRole>,
    /// The memberships that the token carries.
    pub bindings: Vec<Binding>,
    /// The session that the request came in, if it came from a browser.
    pub session: Option<SignedIn>,
}

/// Somebody in a browser.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Their session.
    pub row: SessionRow,
    /// What their requests repeat in a header.
    pub csrf_token: String,
}

impl SignedIn {
    /// When the session ends if nothing more is asked of it.
    pub fn idle_end(&self) -> Timestamp {
        self.row.seen.plus_seconds(api::session::IDLE_HOURS * 3600).min(self.row.expires)
    }
}

impl Caller {
    /// What was shown, by its id: the session, or else the token.
    pub fn shown(&self) -> &str {
        self.session.as_ref().map_or(self.token.id.as_str(), |session| session.row.id.as_str())
    }

    /// How far the caller's lists reach.
    pub fn scope(&self) -> Scope {
        if self.platform_role.is_some() {
            return Scope::All;
        }
        let principal_id = self.principal_id.clone();
        match (&self.token.project_id, &self.token.tenant_id) {
            (None, Some(tenant)) => Scope::InTenant { principal_id, tenant_only: tenant.clone() },
            (project, _) => Scope::Principal { principal_id, project_only: project.clone() },
        }
    }

    /// Whether the token may be used for changes.
    pub fn may_change(&self) -> bool {
        self.token.scope == TokenScope::Write
    }
}

/// The owner of a live token; a problem that says what is wrong with it otherwise.
pub fn authenticate(tx: &mut Tx<'_>, secret: &Secret, now: Timestamp) -> Result<Result<Caller, Problem>, StoreError> {
    let session = if secret.is_session() { live_session(tx, secret, now)? } else { None };
    let found = match &session {
        Some(session) => tokens::with_owner(tx, &session.row.token_id)?,
        None if secret.is_session() => return Ok(Err(signed_out())),
        None => tokens::find_by_hash(tx, &secret.hash())?,
    };
    let Some(found) = found else {
        return Ok(Err(unauthenticated()));
    };
    if found.token.revoked.is_some() || found.principal_removed.is_some() {
        return Ok(Err(Problem::new(Code::TokenRevoked, "The token was revoked, or its owner was removed.")));
    }
    if !found.token.is_live(now) {
        let detail = format!("The token expired at {}.", found.token.expires);
        return Ok(Err(Problem::new(Code::TokenExpired, detail)));
    }
    let token = found.token;
    let restricted = token.tenant_id.is_some() || token.project_id.is_some();
    let platform_role = if restricted { None } else { found.platform_role };
    let held = members::bindings_of(tx, &token.principal_id)?;
    let bindings = held.into_iter().filter_map(|binding| narrowed(binding, &token)).collect();
    Ok(Ok(Caller { principal_id: token.principal_id.clone(), token, platform_role, bindings, session }))
}

/// The session with this secret, if it was not ended, is not too old and was used not too long ago.
fn live_session(tx: &mut Tx<'_>, secret: &Secret, now: Timestamp) -> Result<Option<SignedIn>, StoreError> {
    let found = sessions::find_by_hash(tx, &secret.hash())?;
    let session = found.map(|row| SignedIn { row, csrf_token: secret.csrf_token() });
    Ok(session.filter(|session| session.row.ended.is_none() && now < session.idle_end()))
}

/// The answer to a session that is over, or never was.
fn signed_out() -> Problem {
    Problem::new(Code::Unauthenticated, "The session is over. Sign in again.")
}

/// The one answer to a missing, malformed or unknown token.
pub fn unauthenticated() -> Problem {
    Problem::new(Code::Unauthenticated, "Send a token that is known here as Authorization: Bearer gpuaas_….")
}

/// What is left of a membership when it is used through a token.
fn narrowed(binding: Binding, token: &TokenRow) -> Option<Binding> {
    if token.tenant_id.as_ref().is_some_and(|tenant| *tenant != binding.tenant_id) {
        return None;
    }
    match (&token.project_id, &binding.project_id) {
        (None, _) => Some(binding),
        (Some(only), Some(project)) => (only == project).then_some(binding),
        // A token for a project is always bound to the project's tenant too, so this is that tenant.
        (Some(only), None) => Some(Binding { project_id: Some(only.clone()), ..binding }),
    }
}

#[cfg(test)]
impl Caller {
    /// A caller made of roles alone.
    pub(crate) fn for_tests(platform_role: Option<PlatformRole>, bindings: Vec<Binding>) -> Self {
        use model::TokenId;
        let at = Timestamp::from_micros(1);
        let id = PrincipalId::from_parts(at, [7; 10]);
        let token = TokenRow {
            id: TokenId::from_parts(at, [7; 10]),
            principal_id: id,
            tenant_id: None,
            project_id: None,
            name: "test".into(),
            scope: TokenScope::Write,
            expires: at.plus_seconds(60),
            revoked: None,
            version: 1,
            created: at,
        };
        Self { principal_id: token.principal_id.clone(), token, platform_role, bindings, session: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ProjectId, TenantId, identity::MemberRole};

    #[test]
    fn a_token_carries_only_what_holds_inside_its_restriction() {
        let at = Timestamp::from_micros(1);
        let (a, b) = (TenantId::from_parts(at, [1; 10]), TenantId::from_parts(at, [2; 10]));
        let (p, q) = (ProjectId::from_parts(at, [1; 10]), ProjectId::from_parts(at, [2; 10]));
        let binding = |tenant: &TenantId, project: Option<&ProjectId>, role| Binding {
            tenant_id: tenant.clone(),
            project_id: project.cloned(),
            role,
        };
        let mut token = Caller::for_tests(None, vec![]).token;
        let admin = binding(&a, None, MemberRole::TenantAdmin);
        assert_eq!(narrowed(admin.clone(), &token), Some(admin.clone()));
        token.tenant_id = Some(b);
        assert_eq!(narrowed(admin.clone(), &token), None);
        token.tenant_id = Some(a.clone());
        assert_eq!(narrowed(admin.clone(), &token), Some(admin.clone()));
        token.project_id = Some(p.clone());
        assert_eq!(narrowed(admin, &token), Some(binding(&a, Some(&p), MemberRole::TenantAdmin)));
        assert_eq!(narrowed(binding(&a, Some(&q), MemberRole::ProjectMember), &token), None);
        let member = binding(&a, Some(&p), MemberRole::ProjectMember);
        assert_eq!(narrowed(member.clone(), &token), Some(member));
    }
}
