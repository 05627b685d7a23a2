//! Projects: where the members of a tenant work. A project belongs to one tenant for ever and is never erased: once
//! nothing of it is left it stays as `deleted`, and its slug is free again inside the tenant.

use model::event::{Change as What, Noun};
use model::tenancy::{Desired, State};
use model::text::{DisplayName, Slug};
use model::{ProjectId, TenantId, Timestamp};

use crate::living::{Life, Seen, life_begins_anew, life_columns, look_at_once};
use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_membership};
use crate::{Row, StoreError, Tx};

/// One project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRow {
    /// Its id.
    pub id: ProjectId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// Its short name, unique among the tenant's projects that are not deleted.
    pub slug: Slug,
    /// Its name for people.
    pub name: DisplayName,
    /// How many GPUs its allocations may hold together.
    pub gpu_cap: i64,
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

impl ProjectRow {
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: self.life.look }
    }
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Project, what, self.id.as_str(), self.version + 1)
            .within(Some(&self.tenant_id), Some(&self.id))
    }
}

/// A project to record.
#[derive(Debug, Clone, Copy)]
pub struct ProjectNew<'a> {
    /// Its id.
    pub id: &'a ProjectId,
    /// Whose it is.
    pub tenant_id: &'a TenantId,
    /// Its short name.
    pub slug: &'a Slug,
    /// Its name for people.
    pub name: &'a DisplayName,
    /// How many GPUs its allocations may hold together.
    pub gpu_cap: i64,
}

/// What still belongs to a project. All zero proves that nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProjectLeft {
    /// Memberships in force.
    pub members: i64,
    /// Tokens that still open something.
    pub tokens_live: i64,
    /// Allocations that have not ended.
    pub allocations_live: i64,
    /// Claims that have not ended.
    pub claims_active: i64,
}

macro_rules! columns {
    () => {
        concat!(
            "p.id, p.tenant_id, p.slug, p.name, p.gpu_cap, p.desired, p.observed, p.state, p.version, p.created_us, ",
            life_columns!("p")
        )
    };
}

const INSERT: &str = "INSERT INTO projects (id, tenant_id, slug, name, gpu_cap, desired, observed, state, \
    state_since_us, look_us, version, created_us) VALUES ($1, $2, $3, $4, $5, $6, '{}', $7, $8, $8, 1, $8)";
const GET: &str = concat!("SELECT ", columns!(), " FROM projects p WHERE p.id = $1");
// Keeps others from changing the row, but not from referring to it.
const GET_HELD: &str = concat!("SELECT ", columns!(), " FROM projects p WHERE p.id = $1 FOR NO KEY UPDATE");
const GET_SCOPED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM projects p WHERE p.id = $1 AND ",
    opened_by_membership!("p.tenant_id", "p.id", "$2", "$3")
);
const BY_SLUG: &str =
    concat!("SELECT ", columns!(), " FROM projects p WHERE p.tenant_id = $1 AND p.slug = $2 AND p.state <> 'deleted'");
macro_rules! listed {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM projects p WHERE p.id > $1 AND (CAST($3 AS TEXT) IS NULL OR p.tenant_id = $3)"
        )
    };
}
const LIST: &str = concat!(listed!(), " ORDER BY p.id LIMIT $2");
const LIST_SCOPED: &str =
    concat!(listed!(), " AND ", opened_by_membership!("p.tenant_id", "p.id", "$4", "$5"), " ORDER BY p.id LIMIT $2");
const UPDATE: &str =
    "UPDATE projects SET name = $3, gpu_cap = $4, version = version + 1 WHERE id = $1 AND version = $2";
const WISH: &str = concat!(
    "UPDATE projects SET desired = $3, ",
    look_at_once!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const ENTER: &str = concat!(
    "UPDATE projects SET state = $3, observed = $4, ",
    life_begins_anew!("$5"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const UNASKED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM projects p WHERE p.tenant_id = $1 AND p.state <> 'deleted' AND p.desired <> 'deleted' ORDER BY p.id LIMIT $2"
);
const LEFT: &str = "SELECT \
    (SELECT COUNT(*) FROM members WHERE project_id = $1 AND removed_us IS NULL), \
    (SELECT COUNT(*) FROM tokens WHERE project_id = $1 AND revoked_us IS NULL AND expires_us > $2), \
    (SELECT COUNT(*) FROM allocations WHERE project_id = $1 AND state NOT IN ('released', 'refused', 'failed')), \
    (SELECT COUNT(*) FROM allocation_resource_claims c JOIN allocations a ON a.id = c.allocation_id \
      WHERE a.project_id = $1 AND c.active_mode IS NOT NULL)";
const GPUS_HELD: &str = "SELECT CAST(COALESCE(SUM(gpu_count), 0) AS BIGINT) FROM allocations WHERE project_id = $1 \
    AND state NOT IN ('released', 'refused', 'failed') AND NOT (state = 'requested' AND workload_id IS NOT NULL)";

fn read(row: &Row) -> Result<ProjectRow, StoreError> {
    Ok(ProjectRow {
        id: row.parse(0)?,
        tenant_id: row.parse(1)?,
        slug: row.parse(2)?,
        name: row.parse(3)?,
        gpu_cap: row.int(4)?,
        desired: row.parse(5)?,
        observed: row.text(6)?.to_owned(),
        state: row.parse(7)?,
        version: row.int(8)?,
        created: row.timestamp(9)?,
        life: Life::read(row, 10)?,
    })
}

/// Records a new project: `creating`, wanted `active`, due for a look.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: ProjectNew<'_>) -> Result<(), StoreError> {
    let state = State::Creating.as_str();
    let params = [
        new.id.into(),
        new.tenant_id.into(),
        new.slug.as_str().into(),
        new.name.as_str().into(),
        new.gpu_cap.into(),
        Desired::Active.as_str().into(),
        state.into(),
        stamp.now.into(),
    ];
    let change = Change::of(Noun::Project, What::Created, new.id.as_str(), 1)
        .within(Some(new.tenant_id), Some(new.id))
        .states(None, state);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One project, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &ProjectId) -> Result<Option<ProjectRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One project, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &ProjectId) -> Result<Option<ProjectRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// The project of a tenant that has this slug now.
pub fn by_slug(tx: &mut Tx<'_>, tenant_id: &TenantId, slug: &Slug) -> Result<Option<ProjectRow>, StoreError> {
    tx.query_opt(BY_SLUG, &[tenant_id.into(), slug.as_str().into()])?.as_ref().map(read).transpose()
}

/// One project, kept from changing until this transaction ends. Take it before creating something inside the project,
/// and before concluding that nothing is left in it: the two then happen one after the other.
pub fn hold(tx: &mut Tx<'_>, id: &ProjectId) -> Result<Option<ProjectRow>, StoreError> {
    let sql = tx.dialect().pick(GET, GET_HELD);
    tx.query_opt(sql, &[id.into()])?.as_ref().map(read).transpose()
}

/// Projects in id order, of one tenant where one is given.
pub fn list(
    tx: &mut Tx<'_>,
    scope: &Scope,
    tenant_id: Option<&TenantId>,
    page: Page<'_>,
) -> Result<Vec<ProjectRow>, StoreError> {
    let params = vec![page.after.into(), page.rows().into(), tenant_id.into()];
    let (sql, params) = scope.choose(LIST, LIST_SCOPED, params);
    tx.query(sql, &params)?.iter().map(read).collect()
}

/// Projects of a tenant that are not deleted and that nobody asked to go yet.
pub fn unasked(tx: &mut Tx<'_>, tenant_id: &TenantId, limit: i64) -> Result<Vec<ProjectRow>, StoreError> {
    tx.query(UNASKED, &[tenant_id.into(), limit.into()])?.iter().map(read).collect()
}

/// Gives a project another name and another cap.
pub fn update(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    project: &ProjectRow,
    name: &DisplayName,
    gpu_cap: i64,
) -> Result<i64, StoreError> {
    let params = [(&project.id).into(), project.version.into(), name.as_str().into(), gpu_cap.into()];
    record::changed(tx, stamp, UPDATE, &params, project.change(What::Updated))
}

/// Records what is wanted of a project; the driver looks at it at once.
pub fn wish(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    project: &ProjectRow,
    desired: Desired,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&project.id).into(), project.version.into(), desired.as_str().into(), stamp.now.into()];
    record::changed(tx, stamp, WISH, &params, project.change(What::Wished).because(reason))
}

/// Moves a project to a state, with what was observed.
pub fn enter(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    project: &ProjectRow,
    state: State,
    observed: &str,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params =
        [(&project.id).into(), project.version.into(), state.as_str().into(), observed.into(), stamp.now.into()];
    let change =
        project.change(What::StateChanged).states(Some(project.state.as_str()), state.as_str()).because(reason);
    record::changed(tx, stamp, ENTER, &params, change)
}

/// Counts what still belongs to a project.
pub fn left(tx: &mut Tx<'_>, id: &ProjectId, now: Timestamp) -> Result<ProjectLeft, StoreError> {
    let row = tx.query_one(LEFT, &[id.into(), now.into()])?;
    Ok(ProjectLeft {
        members: row.int(0)?,
        tokens_live: row.int(1)?,
        allocations_live: row.int(2)?,
        claims_active: row.int(3)?,
    })
}

/// How many GPUs the project's allocations hold or ask for; compared with the cap under [`hold`]. What waits in a queue does
/// not count before it is admitted.
pub fn gpus_held(tx: &mut Tx<'_>, id: &ProjectId) -> Result<i64, StoreError> {
    tx.query_one(GPUS_HELD, &[id.into()])?.int(0)
}
