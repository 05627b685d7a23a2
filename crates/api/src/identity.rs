//! Members, service accounts, operators and tokens.

use crate::{
    endpoint::{Nothing, not_null},
    endpoints,
    page::{Page, PageQuery},
    problem::FieldError,
    tenancy::TenantPath,
};
use model::{
    MemberId, PrincipalId, ProjectId, TenantId, Timestamp, TokenId,
    identity::{MemberRole, PlatformRole, PrincipalKind, TokenScope},
    number::TokenLifetimeS,
    text::{DisplayName, Email, Slug},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a membership.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberPath {
    /// The membership.
    pub member_id: MemberId,
}
/// Names a person or service account.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalPath {
    /// The person or service account.
    pub principal_id: PrincipalId,
}
/// Names a token.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenPath {
    /// The token.
    pub token_id: TokenId,
}

/// Who becomes a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum MemberSubject {
    /// A person; known by address, created when new.
    Email(Email),
    /// A service account of the same tenant.
    ServiceAccount(PrincipalId),
}

/// A new membership. `project_member` needs a project, `tenant_admin` must not have one, `viewer` may.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [
    { "if": { "properties": { "role": { "const": "project_member" } } }, "then": { "required": ["project_id"] } },
    { "if": { "properties": { "role": { "const": "tenant_admin" } } }, "then": { "properties": { "project_id": false } } }
]))]
pub struct MemberCreateBody {
    /// Who.
    pub subject: MemberSubject,
    /// As what.
    pub role: MemberRole,
    /// In which project; the whole tenant when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
}

impl MemberCreateBody {
    // The same rule as in the schema, where a role and a project do not go together.
    fn check(&self) -> Result<(), FieldError> {
        let accepted = match (self.role, self.project_id.is_some()) {
            (MemberRole::ProjectMember, false) => "a project: project_member holds in one",
            (MemberRole::TenantAdmin, true) => "no project: tenant_admin holds in the whole tenant",
            _ => return Ok(()),
        };
        Err(FieldError { pointer: "/project_id".to_owned(), detail: accepted.to_owned() })
    }
}

/// What may change about a membership.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberUpdateBody {
    /// As what.
    pub role: MemberRole,
}

/// A membership.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberView {
    /// Its id.
    pub id: MemberId,
    /// The tenant.
    pub tenant_id: TenantId,
    /// The project; the whole tenant when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Who.
    pub principal_id: PrincipalId,
    /// Person or service account.
    pub principal_kind: PrincipalKind,
    /// E-mail address or account name.
    pub principal_name: String,
    /// As what.
    pub role: MemberRole,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// Since when.
    pub created_at: Timestamp,
}

/// A new service account.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceAccountCreateBody {
    /// Short name, unique in the tenant.
    pub name: Slug,
}

/// A person or service account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalView {
    /// Its id.
    pub id: PrincipalId,
    /// Person or service account.
    pub kind: PrincipalKind,
    /// E-mail address or account name.
    pub name: String,
    /// The tenant a service account belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// A role over the whole platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_role: Option<PlatformRole>,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// Since when.
    pub created_at: Timestamp,
}

/// A new operator.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorCreateBody {
    /// Who.
    pub email: Email,
    /// As what.
    pub role: PlatformRole,
}

/// A new token.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenCreateBody {
    /// What it is for.
    pub name: DisplayName,
    /// How far it reaches.
    pub scope: TokenScope,
    /// How long it lives.
    pub lifetime_s: TokenLifetimeS,
    /// Whose it is; the caller's own when absent. A tenant administrator may make tokens for members and service accounts of
    /// the tenant; such a token works in that tenant only.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<PrincipalId>,
    /// Restrict it to one tenant.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Restrict it to one project.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenView {
    /// Its id.
    pub id: TokenId,
    /// What it is for.
    pub name: DisplayName,
    /// Whose it is.
    pub principal_id: PrincipalId,
    /// How far it reaches.
    pub scope: TokenScope,
    /// The tenant it is restricted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// The project it is restricted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A new token with its secret, which is shown this once and stored only as a hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCreatedView {
    /// The token.
    pub token: TokenView,
    /// What to send as `Authorization: Bearer …`.
    pub secret: String,
}

/// One role the caller has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BindingView {
    /// As what.
    pub role: MemberRole,
    /// In which tenant.
    pub tenant_id: TenantId,
    /// In which project; the whole tenant when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
}

/// Who the caller is and what the token in use may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhoamiView {
    /// The caller.
    pub principal: PrincipalView,
    /// The token in use.
    pub token: TokenView,
    /// The roles the token carries.
    pub bindings: Vec<BindingView>,
}

endpoints! {
    /// Say who the caller is.
    Whoami = "whoami", Get "/api/v1/whoami", "identity", SelfRead { answer: Ok WhoamiView }
    /// List the memberships of a tenant that the caller may see.
    MemberList = "member_list", Get "/api/v1/tenants/{tenant_id}/members", "members", TenantRead { path: TenantPath, query: PageQuery, answer: Ok Page<MemberView>, problems: [InvalidPageToken] }
    /// Make somebody a member.
    MemberCreate = "member_create", Post "/api/v1/tenants/{tenant_id}/members", "members", TenantManage { path: TenantPath, body: MemberCreateBody, check: MemberCreateBody::check, answer: Created MemberView, problems: [NameTaken, StateConflict, UnknownReference] }
    /// Show a membership.
    MemberShow = "member_show", Get "/api/v1/members/{member_id}", "members", TenantRead { path: MemberPath, answer: Ok MemberView }
    /// Change a member's role.
    MemberUpdate = "member_update", Patch "/api/v1/members/{member_id}", "members", TenantManage { path: MemberPath, body: MemberUpdateBody, answer: Ok MemberView, if_match: Required, problems: [LastAdmin, StateConflict] }
    /// End a membership.
    MemberRemove = "member_remove", Delete "/api/v1/members/{member_id}", "members", TenantManage { path: MemberPath, answer: NoContent Nothing, if_match: Optional, problems: [LastAdmin] }
    /// List the service accounts of a tenant.
    ServiceAccountList = "service_account_list", Get "/api/v1/tenants/{tenant_id}/service-accounts", "service accounts", TenantRead { path: TenantPath, query: PageQuery, answer: Ok Page<PrincipalView>, problems: [InvalidPageToken] }
    /// Create a service account.
    ServiceAccountCreate = "service_account_create", Post "/api/v1/tenants/{tenant_id}/service-accounts", "service accounts", TenantManage { path: TenantPath, body: ServiceAccountCreateBody, answer: Created PrincipalView, problems: [NameTaken, StateConflict] }
    /// Show a service account.
    ServiceAccountShow = "service_account_show", Get "/api/v1/service-accounts/{principal_id}", "service accounts", TenantRead { path: PrincipalPath, answer: Ok PrincipalView }
    /// Remove a service account, its memberships and its tokens.
    ServiceAccountRemove = "service_account_remove", Delete "/api/v1/service-accounts/{principal_id}", "service accounts", TenantManage { path: PrincipalPath, answer: NoContent Nothing, if_match: Optional, problems: [LastAdmin] }
    /// List the platform's operators.
    OperatorList = "operator_list", Get "/api/v1/admin/operators", "operators", PlatformRead { query: PageQuery, answer: Ok Page<PrincipalView>, problems: [InvalidPageToken] }
    /// Make somebody an operator.
    OperatorCreate = "operator_create", Post "/api/v1/admin/operators", "operators", PlatformManage { body: OperatorCreateBody, answer: Created PrincipalView, problems: [NameTaken] }
    /// Take an operator's platform role away.
    OperatorRemove = "operator_remove", Delete "/api/v1/admin/operators/{principal_id}", "operators", PlatformManage { path: PrincipalPath, answer: NoContent Nothing, if_match: Optional, problems: [LastAdmin] }
    /// List the tokens the caller may see: their own, and those of a tenant they administer.
    TokenList = "token_list", Get "/api/v1/tokens", "tokens", SelfRead { query: PageQuery, answer: Ok Page<TokenView>, problems: [InvalidPageToken] }
    /// Make a token.
    TokenCreate = "token_create", Post "/api/v1/tokens", "tokens", SelfManage { body: TokenCreateBody, answer: Created TokenCreatedView, problems: [UnknownReference] }
    /// Show a token, without its secret.
    TokenShow = "token_show", Get "/api/v1/tokens/{token_id}", "tokens", SelfRead { path: TokenPath, answer: Ok TokenView }
    /// Revoke a token.
    TokenRevoke = "token_revoke", Delete "/api/v1/tokens/{token_id}", "tokens", SelfManage { path: TokenPath, answer: NoContent Nothing, if_match: Optional }
}
