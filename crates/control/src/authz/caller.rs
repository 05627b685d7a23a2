//! Who is calling: the owner of a live token, with the roles that the token carries.
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
}

impl Caller {
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
    let Some(found) = tokens::find_by_hash(tx, &secret.hash())? else {
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
    Ok(Ok(Caller { principal_id: token.principal_id.clone(), token, platform_role, bindings }))
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
        Self { principal_id: token.principal_id.clone(), token, platform_role, bindings }
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
