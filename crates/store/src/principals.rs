//! Principals: the people and service accounts that act. A person is named by an e-mail address and belongs to no
//! tenant; a service account belongs to one. Removal keeps the row, since events and audit rows name it.

use model::event::{Change as What, Noun};
use model::identity::{PlatformRole, PrincipalKind};
use model::{PrincipalId, TenantId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_tenant_membership};
use crate::{Row, StoreError, Tx};

/// One person or service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalRow {
    /// Its id.
    pub id: PrincipalId,
    /// A person or a program.
    pub kind: PrincipalKind,
    /// An e-mail address, or a slug that is unique in the tenant.
    pub name: String,
    /// The tenant of a service account.
    pub tenant_id: Option<TenantId>,
    /// A role over the whole platform.
    pub platform_role: Option<PlatformRole>,
    /// When it was removed.
    pub removed: Option<Timestamp>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl PrincipalRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Principal, what, self.id.as_str(), self.version + 1).within(self.tenant_id.as_ref(), None)
    }
}

/// A principal to record.
#[derive(Debug, Clone, Copy)]
pub struct PrincipalNew<'a> {
    /// Its id.
    pub id: &'a PrincipalId,
    /// A person or a program.
    pub kind: PrincipalKind,
    /// An e-mail address, or a slug.
    pub name: &'a str,
    /// The tenant of a service account; a person has none.
    pub tenant_id: Option<&'a TenantId>,
    /// A role over the whole platform; a service account has none.
    pub platform_role: Option<PlatformRole>,
}

macro_rules! columns {
    () => {
        "r.id, r.kind, r.name, r.tenant_id, r.platform_role, r.removed_us, r.version, r.created_us"
    };
}
macro_rules! listed {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM principals r WHERE r.id > $1 AND r.removed_us IS NULL ",
            "AND (CAST($3 AS TEXT) IS NULL OR r.kind = $3) AND (CAST($4 AS TEXT) IS NULL OR r.tenant_id = $4)"
        )
    };
}
macro_rules! opened {
    ($who:literal, $only:literal) => {
        concat!("(r.id = ", $who, " OR (", opened_by_tenant_membership!("r.tenant_id", $who, $only), "))")
    };
}

const INSERT: &str = "INSERT INTO principals (id, kind, name, tenant_id, platform_role, version, created_us) \
    VALUES ($1, $2, $3, $4, $5, 1, $6)";
const GET: &str = concat!("SELECT ", columns!(), " FROM principals r WHERE r.id = $1");
const GET_SCOPED: &str = concat!("SELECT ", columns!(), " FROM principals r WHERE r.id = $1 AND ", opened!("$2", "$3"));
const BY_EMAIL: &str =
    concat!("SELECT ", columns!(), " FROM principals r WHERE r.name = $1 AND r.kind = 'user' AND r.removed_us IS NULL");
const LIST: &str = concat!(listed!(), " ORDER BY r.id LIMIT $2");
const LIST_SCOPED: &str = concat!(listed!(), " AND ", opened!("$5", "$6"), " ORDER BY r.id LIMIT $2");
const UPDATE: &str = "UPDATE principals SET name = $3, platform_role = $4, version = version + 1 \
    WHERE id = $1 AND version = $2 AND removed_us IS NULL";
const REMOVE: &str = "UPDATE principals SET removed_us = $3, version = version + 1 \
    WHERE id = $1 AND version = $2 AND removed_us IS NULL";
const OPERATORS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM principals r WHERE r.id > $1 AND r.removed_us IS NULL AND r.platform_role IS NOT NULL ORDER BY r.id LIMIT $2"
);
const HOLD_OPERATORS: &str = "UPDATE principals SET version = version \
    WHERE platform_role = 'platform_operator' AND removed_us IS NULL";
const OPERATORS_LEFT: &str =
    "SELECT COUNT(*) FROM principals WHERE platform_role = 'platform_operator' AND removed_us IS NULL";

fn read(row: &Row) -> Result<PrincipalRow, StoreError> {
    Ok(PrincipalRow {
        id: row.parse(0)?,
        kind: row.parse(1)?,
        name: row.text(2)?.to_owned(),
        tenant_id: row.opt_parse(3)?,
        platform_role: row.opt_parse(4)?,
        removed: row.opt_timestamp(5)?,
        version: row.int(6)?,
        created: row.timestamp(7)?,
    })
}

/// Records a new principal.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: PrincipalNew<'_>) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.kind.as_str().into(),
        new.name.into(),
        new.tenant_id.into(),
        new.platform_role.map(PlatformRole::as_str).into(),
        stamp.now.into(),
    ];
    let change = Change::of(Noun::Principal, What::Created, new.id.as_str(), 1).within(new.tenant_id, None);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One principal, removed or not, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &PrincipalId) -> Result<Option<PrincipalRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One principal, if this scope may see it: itself, or a service account of a tenant it is a member of.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &PrincipalId) -> Result<Option<PrincipalRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// The person with this e-mail address.
pub fn by_email(tx: &mut Tx<'_>, email: &str) -> Result<Option<PrincipalRow>, StoreError> {
    tx.query_opt(BY_EMAIL, &[email.into()])?.as_ref().map(read).transpose()
}

/// Principals in force in id order, of one kind and tenant where given.
pub fn list(
    tx: &mut Tx<'_>,
    scope: &Scope,
    kind: Option<PrincipalKind>,
    tenant_id: Option<&TenantId>,
    page: Page<'_>,
) -> Result<Vec<PrincipalRow>, StoreError> {
    let kind = kind.map(PrincipalKind::as_str);
    let params = vec![page.after.into(), page.rows().into(), kind.into(), tenant_id.into()];
    let (sql, params) = scope.choose(LIST, LIST_SCOPED, params);
    tx.query(sql, &params)?.iter().map(read).collect()
}

/// Gives a principal another name and platform role.
pub fn update(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    principal: &PrincipalRow,
    name: &str,
    platform_role: Option<PlatformRole>,
) -> Result<i64, StoreError> {
    let role = platform_role.map(PlatformRole::as_str);
    let params = [(&principal.id).into(), principal.version.into(), name.into(), role.into()];
    record::changed(tx, stamp, UPDATE, &params, principal.change(What::Updated))
}

/// Ends a principal; its tokens open nothing from here on.
pub fn remove(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, principal: &PrincipalRow) -> Result<i64, StoreError> {
    let params = [(&principal.id).into(), principal.version.into(), stamp.now.into()];
    record::changed(tx, stamp, REMOVE, &params, principal.change(What::Deleted))
}

/// Ends up to `limit` service accounts of a tenant that is being deleted; says how many.
pub fn remove_in_tenant(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    tenant_id: &TenantId,
    limit: i64,
) -> Result<usize, StoreError> {
    let kind = Some(PrincipalKind::ServiceAccount);
    let found = list(tx, &Scope::All, kind, Some(tenant_id), Page::first(limit))?;
    for principal in &found {
        remove(tx, stamp, principal)?;
    }
    Ok(found.len())
}

/// Everybody with a role over the platform, in id order.
pub fn operators(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<PrincipalRow>, StoreError> {
    tx.query(OPERATORS, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// How many platform operators there are, kept from changing until this transaction ends: the last one stays.
pub fn operators_hold(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.execute(HOLD_OPERATORS, &[])?;
    operators_left(tx)
}

/// How many platform operators there are: the last one cannot be removed.
pub fn operators_left(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.query_one(OPERATORS_LEFT, &[])?.int(0)
}
