//! Tenants: the organisations that own projects and pay. A tenant is never erased: once nothing of it is left it stays
//! as `deleted`, and its slug is free again. This file counts what is left; the lifecycle decides what that means.

use model::event::{Change as What, Noun};
use model::tenancy::{Desired, State};
use model::text::{DisplayName, Slug};
use model::{TenantId, Timestamp};

use crate::living::{Life, Seen, life_begins_anew, life_columns, look_at_once};
use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope};
use crate::{Row, StoreError, Tx};

/// One tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantRow {
    /// Its id.
    pub id: TenantId,
    /// Its short name, unique among tenants that are not deleted.
    pub slug: Slug,
    /// Its name for people.
    pub name: DisplayName,
    /// What is wanted of it.
    pub desired: Desired,
    /// What evidence says of it, as JSON.
    pub observed: String,
    /// Where its workflow stands.
    pub state: State,
    /// Waits, looks and faults.
    pub life: Life,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl TenantRow {
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: self.life.look }
    }
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Tenant, what, self.id.as_str(), self.version + 1).within(Some(&self.id), None)
    }
}

/// What still belongs to a tenant. All zero proves that nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TenantLeft {
    /// Projects that are not deleted.
    pub projects: i64,
    /// Memberships in force.
    pub members: i64,
    /// Tokens that still open something.
    pub tokens_live: i64,
    /// Service accounts in force.
    pub service_accounts: i64,
    /// Allocations that have not ended.
    pub allocations_live: i64,
    /// Claims that have not ended.
    pub claims_active: i64,
}

macro_rules! columns {
    () => {
        concat!("t.id, t.slug, t.name, t.desired, t.observed, t.state, t.version, t.created_us, ", life_columns!("t"))
    };
}

// A membership anywhere in the tenant opens the tenant's own row; a token narrowed to one project opens only its
// tenant.
macro_rules! opened {
    ($who:literal, $only:literal) => {
        concat!(
            "t.id IN (SELECT m.tenant_id FROM members m WHERE m.removed_us IS NULL AND m.principal_id = ",
            $who,
            ") AND (CAST(",
            $only,
            " AS TEXT) IS NULL OR t.id = ",
            $only,
            " OR EXISTS (SELECT 1 FROM projects p WHERE p.tenant_id = t.id AND p.id = ",
            $only,
            "))"
        )
    };
}

const INSERT: &str = "INSERT INTO tenants (id, slug, name, desired, observed, state, state_since_us, look_us, version, \
    created_us) VALUES ($1, $2, $3, $4, '{}', $5, $6, $6, 1, $6)";
const GET: &str = concat!("SELECT ", columns!(), " FROM tenants t WHERE t.id = $1");
// Keeps others from changing the row, but not from referring to it.
const GET_HELD: &str = concat!("SELECT ", columns!(), " FROM tenants t WHERE t.id = $1 FOR NO KEY UPDATE");
const GET_SCOPED: &str = concat!("SELECT ", columns!(), " FROM tenants t WHERE t.id = $1 AND ", opened!("$2", "$3"));
const BY_SLUG: &str = concat!("SELECT ", columns!(), " FROM tenants t WHERE t.slug = $1 AND t.state <> 'deleted'");
const LIST: &str = concat!("SELECT ", columns!(), " FROM tenants t WHERE t.id > $1 ORDER BY t.id LIMIT $2");
const LIST_SCOPED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tenants t WHERE t.id > $1 AND ",
    opened!("$3", "$4"),
    " ORDER BY t.id LIMIT $2"
);
const RENAME: &str = "UPDATE tenants SET name = $3, version = version + 1 WHERE id = $1 AND version = $2";
const WISH: &str = concat!(
    "UPDATE tenants SET desired = $3, ",
    look_at_once!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const ENTER: &str = concat!(
    "UPDATE tenants SET state = $3, observed = $4, ",
    life_begins_anew!("$5"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const LEFT: &str = "SELECT \
    (SELECT COUNT(*) FROM projects WHERE tenant_id = $1 AND state <> 'deleted'), \
    (SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND removed_us IS NULL), \
    (SELECT COUNT(*) FROM tokens WHERE tenant_id = $1 AND revoked_us IS NULL AND expires_us > $2), \
    (SELECT COUNT(*) FROM principals WHERE tenant_id = $1 AND kind = 'service_account' AND removed_us IS NULL), \
    (SELECT COUNT(*) FROM allocations WHERE tenant_id = $1 AND state NOT IN ('released', 'refused', 'failed')), \
    (SELECT COUNT(*) FROM allocation_resource_claims c JOIN allocations a ON a.id = c.allocation_id \
      WHERE a.tenant_id = $1 AND c.active_mode IS NOT NULL)";

fn read(row: &Row) -> Result<TenantRow, StoreError> {
    Ok(TenantRow {
        id: row.parse(0)?,
        slug: row.parse(1)?,
        name: row.parse(2)?,
        desired: row.parse(3)?,
        observed: row.text(4)?.to_owned(),
        state: row.parse(5)?,
        version: row.int(6)?,
        created: row.timestamp(7)?,
        life: Life::read(row, 8)?,
    })
}

/// Records a new tenant: `creating`, wanted `active`, due for a look.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    id: &TenantId,
    slug: &Slug,
    name: &DisplayName,
) -> Result<(), StoreError> {
    let (desired, state) = (Desired::Active.as_str(), State::Creating.as_str());
    let params =
        [id.into(), slug.as_str().into(), name.as_str().into(), desired.into(), state.into(), stamp.now.into()];
    let change = Change::of(Noun::Tenant, What::Created, id.as_str(), 1).within(Some(id), None).states(None, state);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One tenant, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &TenantId) -> Result<Option<TenantRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One tenant, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &TenantId) -> Result<Option<TenantRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// The tenant that has this slug now.
pub fn by_slug(tx: &mut Tx<'_>, slug: &Slug) -> Result<Option<TenantRow>, StoreError> {
    tx.query_opt(BY_SLUG, &[slug.as_str().into()])?.as_ref().map(read).transpose()
}

/// One tenant, kept from changing until this transaction ends. Take it before creating something inside the tenant, and
/// before concluding that nothing is left in it: the two then happen one after the other.
pub fn hold(tx: &mut Tx<'_>, id: &TenantId) -> Result<Option<TenantRow>, StoreError> {
    let sql = tx.dialect().pick(GET, GET_HELD);
    tx.query_opt(sql, &[id.into()])?.as_ref().map(read).transpose()
}

/// Tenants in id order.
pub fn list(tx: &mut Tx<'_>, scope: &Scope, page: Page<'_>) -> Result<Vec<TenantRow>, StoreError> {
    let (sql, params) = scope.choose(LIST, LIST_SCOPED, vec![page.after.into(), page.rows().into()]);
    tx.query(sql, &params)?.iter().map(read).collect()
}

/// Gives a tenant another name.
pub fn rename(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    tenant: &TenantRow,
    name: &DisplayName,
) -> Result<i64, StoreError> {
    let params = [(&tenant.id).into(), tenant.version.into(), name.as_str().into()];
    record::changed(tx, stamp, RENAME, &params, tenant.change(What::Updated))
}

/// Records what is wanted of a tenant; the driver looks at it at once.
pub fn wish(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    tenant: &TenantRow,
    desired: Desired,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&tenant.id).into(), tenant.version.into(), desired.as_str().into(), stamp.now.into()];
    record::changed(tx, stamp, WISH, &params, tenant.change(What::Wished).because(reason))
}

/// Moves a tenant to a state, with what was observed.
pub fn enter(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    tenant: &TenantRow,
    state: State,
    observed: &str,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&tenant.id).into(), tenant.version.into(), state.as_str().into(), observed.into(), stamp.now.into()];
    let change = tenant.change(What::StateChanged).states(Some(tenant.state.as_str()), state.as_str()).because(reason);
    record::changed(tx, stamp, ENTER, &params, change)
}

/// Counts what still belongs to a tenant.
pub fn left(tx: &mut Tx<'_>, id: &TenantId, now: Timestamp) -> Result<TenantLeft, StoreError> {
    let row = tx.query_one(LEFT, &[id.into(), now.into()])?;
    Ok(TenantLeft {
        projects: row.int(0)?,
        members: row.int(1)?,
        tokens_live: row.int(2)?,
        service_accounts: row.int(3)?,
        allocations_live: row.int(4)?,
        claims_active: row.int(5)?,
    })
}
