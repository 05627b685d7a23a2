//! Who is asking, as far as a list is concerned, and one page of a list.
//!
//! Lists filter in SQL: an operator sees everything, anybody else only what a membership opens. A membership in a
//! tenant opens all of the tenant; a membership in a project opens that project alone, and the tenant's own row. What
//! may be *done* with a visible thing is not decided here.

use model::{PrincipalId, ProjectId, TenantId};

use crate::Value;

/// How far a list reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything: for the platform's operators and for the control plane itself.
    All,
    /// What the memberships of one principal open.
    Principal {
        /// Whose memberships.
        principal_id: PrincipalId,
        /// A token that was narrowed to one project sees nothing outside it.
        project_only: Option<ProjectId>,
    },
    /// What the memberships of one principal open inside one tenant: for a token that was narrowed to it.
    InTenant {
        /// Whose memberships.
        principal_id: PrincipalId,
        /// Nothing outside this tenant.
        tenant_only: TenantId,
    },
}

impl Scope {
    /// Picks the statement for this scope and appends the scope's parameters where it needs them: the principal, and
    /// what it is narrowed to. Ids say what they name, so one parameter serves for a tenant and for a project.
    pub(crate) fn choose(
        &self,
        all: &'static str,
        scoped: &'static str,
        mut params: Vec<Value>,
    ) -> (&'static str, Vec<Value>) {
        match self {
            Self::Principal { principal_id, project_only } if !model::planted!(ListUnscoped) => {
                params.push(principal_id.into());
                params.push(project_only.as_ref().into());
                (scoped, params)
            }
            Self::InTenant { principal_id, tenant_only } if !model::planted!(ListUnscoped) => {
                params.push(principal_id.into());
                params.push(tenant_only.into());
                (scoped, params)
            }
            _ => (all, params),
        }
    }
}

/// One page of a list in id order: what follows `after`, at most `limit` rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// The last id of the page before; empty for the first page.
    pub after: &'a str,
    /// How many rows at most; never more than [`PAGE_ROWS_MAX`].
    pub limit: i64,
}

/// No list answers with more rows than this, whatever was asked: those of the longest page, and the one more that tells whether
/// there is another.
pub const PAGE_ROWS_MAX: i64 = model::number::SlotPageSize::MAX + 1;

impl<'a> Page<'a> {
    /// The first `limit` rows.
    pub fn first(limit: i64) -> Self {
        Self { after: "", limit }
    }
    /// The `limit` rows after an id.
    pub fn after(after: &'a str, limit: i64) -> Self {
        Self { after, limit }
    }
    pub(crate) fn rows(self) -> i64 {
        self.limit.clamp(0, PAGE_ROWS_MAX)
    }
}

/// SQL: a row that belongs to a tenant and perhaps a project is open to a principal. The IN comes first because it lets
/// both engines start from the few tenants of the principal; the EXISTS is the rule itself.
macro_rules! opened_by_membership {
    ($tenant:literal, $project:literal, $who:literal, $only:literal) => {
        concat!(
            $tenant,
            " IN (SELECT m.tenant_id FROM members m WHERE m.principal_id = ",
            $who,
            " AND m.removed_us IS NULL) AND EXISTS (SELECT 1 FROM members m WHERE m.principal_id = ",
            $who,
            " AND m.removed_us IS NULL AND m.tenant_id = ",
            $tenant,
            " AND (m.project_id IS NULL OR m.project_id = ",
            $project,
            ")) AND (CAST(",
            $only,
            " AS TEXT) IS NULL OR ",
            $project,
            " = ",
            $only,
            " OR ",
            $tenant,
            " = ",
            $only,
            ")"
        )
    };
}

/// SQL: a row that belongs to a tenant as a whole is open to a principal with a membership in the whole tenant.
macro_rules! opened_by_tenant_membership {
    ($tenant:literal, $who:literal, $only:literal) => {
        concat!(
            $tenant,
            " IN (SELECT m.tenant_id FROM members m WHERE m.principal_id = ",
            $who,
            " AND m.removed_us IS NULL AND m.project_id IS NULL) AND (CAST(",
            $only,
            " AS TEXT) IS NULL OR ",
            $tenant,
            " = ",
            $only,
            ")"
        )
    };
}

/// SQL: a row that is the business of a tenant's administrators (tokens, audit) is open to a principal that is one.
macro_rules! opened_by_administration {
    ($tenant:literal, $who:literal, $only:literal) => {
        concat!(
            $tenant,
            " IN (SELECT m.tenant_id FROM members m WHERE m.principal_id = ",
            $who,
            " AND m.removed_us IS NULL AND m.role = 'tenant_admin') AND (CAST(",
            $only,
            " AS TEXT) IS NULL OR ",
            $tenant,
            " = ",
            $only,
            ")"
        )
    };
}

pub(crate) use {opened_by_administration, opened_by_membership, opened_by_tenant_membership};
