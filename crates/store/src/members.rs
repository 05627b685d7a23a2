//! Members: one principal's role in a tenant or in one project of it. Memberships are what every scoped list is
//! filtered by, and what authorization reads. Removal keeps the row; a tenant's last administrator is counted here and
//! protected above.

use model::event::{Change as What, Noun};
use model::identity::{MemberRole, PrincipalKind};
use model::{MemberId, PrincipalId, ProjectId, TenantId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_membership};
use crate::{Row, StoreError, Tx};

/// One membership, with the name of who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRow {
    /// Its id.
    pub id: MemberId,
    /// In which tenant.
    pub tenant_id: TenantId,
    /// In which project; `None` holds in the whole tenant.
    pub project_id: Option<ProjectId>,
    /// Who holds it.
    pub principal_id: PrincipalId,
    /// Who that is.
    pub principal_name: String,
    /// A person or a program.
    pub principal_kind: PrincipalKind,
    /// The role.
    pub role: MemberRole,
    /// When it was removed.
    pub removed: Option<Timestamp>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl MemberRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Member, what, self.id.as_str(), self.version + 1)
            .within(Some(&self.tenant_id), self.project_id.as_ref())
    }
}

/// A membership to record.
#[derive(Debug, Clone, Copy)]
pub struct MemberNew<'a> {
    /// Its id.
    pub id: &'a MemberId,
    /// In which tenant.
    pub tenant_id: &'a TenantId,
    /// In which project; `None` holds in the whole tenant.
    pub project_id: Option<&'a ProjectId>,
    /// Who holds it.
    pub principal_id: &'a PrincipalId,
    /// The role.
    pub role: MemberRole,
}

/// A role in force, as authorization reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// In which tenant.
    pub tenant_id: TenantId,
    /// In which project; `None` holds in the whole tenant.
    pub project_id: Option<ProjectId>,
    /// The role.
    pub role: MemberRole,
}

macro_rules! selected {
    () => {
        "SELECT b.id, b.tenant_id, b.project_id, b.principal_id, r.name, r.kind, b.role, b.removed_us, b.version, \
         b.created_us FROM members b JOIN principals r ON r.id = b.principal_id"
    };
}
macro_rules! listed {
    () => {
        concat!(
            selected!(),
            " WHERE b.id > $1 AND b.removed_us IS NULL AND (CAST($3 AS TEXT) IS NULL OR b.tenant_id = $3) ",
            "AND (CAST($4 AS TEXT) IS NULL OR b.project_id = $4)"
        )
    };
}

const INSERT: &str = "INSERT INTO members (id, tenant_id, project_id, principal_id, role, version, created_us) \
    VALUES ($1, $2, $3, $4, $5, 1, $6)";
const GET: &str = concat!(selected!(), " WHERE b.id = $1");
const GET_SCOPED: &str =
    concat!(selected!(), " WHERE b.id = $1 AND ", opened_by_membership!("b.tenant_id", "b.project_id", "$2", "$3"));
const LIST: &str = concat!(listed!(), " ORDER BY b.id LIMIT $2");
const LIST_SCOPED: &str = concat!(
    listed!(),
    " AND ",
    opened_by_membership!("b.tenant_id", "b.project_id", "$5", "$6"),
    " ORDER BY b.id LIMIT $2"
);
const SET_ROLE: &str = "UPDATE members SET role = $3, version = version + 1 \
    WHERE id = $1 AND version = $2 AND removed_us IS NULL";
const REMOVE: &str = "UPDATE members SET removed_us = $3, version = version + 1 \
    WHERE id = $1 AND version = $2 AND removed_us IS NULL";
const BINDINGS: &str = "SELECT tenant_id, project_id, role FROM members \
    WHERE principal_id = $1 AND removed_us IS NULL ORDER BY id";
const OF_PRINCIPAL: &str = concat!(selected!(), " WHERE b.principal_id = $1 AND b.removed_us IS NULL ORDER BY b.id");
const ADMINS_LEFT: &str = "SELECT COUNT(*) FROM members b JOIN principals r ON r.id = b.principal_id \
    WHERE b.tenant_id = $1 AND b.role = 'tenant_admin' AND b.removed_us IS NULL AND r.removed_us IS NULL";

fn read(row: &Row) -> Result<MemberRow, StoreError> {
    Ok(MemberRow {
        id: row.parse(0)?,
        tenant_id: row.parse(1)?,
        project_id: row.opt_parse(2)?,
        principal_id: row.parse(3)?,
        principal_name: row.text(4)?.to_owned(),
        principal_kind: row.parse(5)?,
        role: row.parse(6)?,
        removed: row.opt_timestamp(7)?,
        version: row.int(8)?,
        created: row.timestamp(9)?,
    })
}

/// Records a new membership. One principal has at most one in the tenant and one in each project.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: MemberNew<'_>) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.tenant_id.into(),
        new.project_id.into(),
        new.principal_id.into(),
        new.role.as_str().into(),
        stamp.now.into(),
    ];
    let change =
        Change::of(Noun::Member, What::Created, new.id.as_str(), 1).within(Some(new.tenant_id), new.project_id);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One membership, removed or not, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &MemberId) -> Result<Option<MemberRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One membership, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &MemberId) -> Result<Option<MemberRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// Memberships in force in id order, of one tenant and project where given.
pub fn list(
    tx: &mut Tx<'_>,
    scope: &Scope,
    tenant_id: Option<&TenantId>,
    project_id: Option<&ProjectId>,
    page: Page<'_>,
) -> Result<Vec<MemberRow>, StoreError> {
    let params = vec![page.after.into(), page.rows().into(), tenant_id.into(), project_id.into()];
    let (sql, params) = scope.choose(LIST, LIST_SCOPED, params);
    tx.query(sql, &params)?.iter().map(read).collect()
}

/// The roles that one principal holds now.
pub fn bindings_of(tx: &mut Tx<'_>, principal_id: &PrincipalId) -> Result<Vec<Binding>, StoreError> {
    let read = |row: &Row| Ok(Binding { tenant_id: row.parse(0)?, project_id: row.opt_parse(1)?, role: row.parse(2)? });
    tx.query(BINDINGS, &[principal_id.into()])?.iter().map(read).collect()
}

/// The memberships in force of one principal.
pub fn of_principal(tx: &mut Tx<'_>, principal_id: &PrincipalId) -> Result<Vec<MemberRow>, StoreError> {
    tx.query(OF_PRINCIPAL, &[principal_id.into()])?.iter().map(read).collect()
}

/// Gives a membership another role.
pub fn set_role(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    member: &MemberRow,
    role: MemberRole,
) -> Result<i64, StoreError> {
    let params = [(&member.id).into(), member.version.into(), role.as_str().into()];
    record::changed(tx, stamp, SET_ROLE, &params, member.change(What::Updated))
}

/// Ends a membership.
pub fn remove(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, member: &MemberRow) -> Result<i64, StoreError> {
    let params = [(&member.id).into(), member.version.into(), stamp.now.into()];
    record::changed(tx, stamp, REMOVE, &params, member.change(What::Deleted))
}

/// Ends up to `limit` memberships of a tenant, or of one project of it, that is being deleted; says how many.
pub fn remove_in(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    tenant_id: &TenantId,
    project_id: Option<&ProjectId>,
    limit: i64,
) -> Result<usize, StoreError> {
    let found = list(tx, &Scope::All, Some(tenant_id), project_id, Page::first(limit))?;
    for member in &found {
        remove(tx, stamp, member)?;
    }
    Ok(found.len())
}

/// How many administrators a tenant has. Read it under `tenants::hold`: the last one cannot be removed.
pub fn admins_left(tx: &mut Tx<'_>, tenant_id: &TenantId) -> Result<i64, StoreError> {
    tx.query_one(ADMINS_LEFT, &[tenant_id.into()])?.int(0)
}
