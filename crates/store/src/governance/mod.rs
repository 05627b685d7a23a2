//! The objects of governance: flavors, cohorts, queues, priority classes, hardware profiles and topologies.
//!
//! Each kind has its table; an object is kept whole as JSON, and the columns beside it are what the database watches over:
//! references, limits, one default. One counter over all of them rises with every change, so whoever keeps a picture of
//! governance knows at once whether it is still true. Whoever changes anything takes the counter first ([`hold`]), then
//! tenants, then projects: always in this order.

mod texts;

use model::event::Change as What;
use model::governance::check::Surroundings;
use model::governance::{Governance, Identity, Kind, Object, ResourceGroup};
use model::text::Slug;
use model::{GovernedId, ProjectId, TenantId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Batch, BulkInsert, Kind as Column, Row, StoreError, Tx, Value};
use texts::texts;

/// One object as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GovernedRow {
    /// Its id, for its events.
    pub id: GovernedId,
    /// What it says.
    pub object: Object,
    /// Whose it is; `None` for what belongs to the platform.
    pub tenant_id: Option<TenantId>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl GovernedRow {
    fn project_id(&self) -> Option<&ProjectId> {
        if let Object::LocalQueue(queue) = &self.object { Some(&queue.project_id) } else { None }
    }
    fn kind(&self) -> Kind {
        self.object.kind()
    }
    fn change(&self, what: What) -> Change<'_> {
        Change::of(self.kind().noun(), what, self.id.as_str(), self.version + 1)
            .within(self.tenant_id.as_ref(), self.project_id())
    }
}

/// Everything at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The counter over all changes.
    pub version: i64,
    /// Every object, kind by kind in the order of [`Kind::ALL`], by short name; local queues by project first. Without those
    /// of projects that are no more.
    pub rows: Vec<GovernedRow>,
}

impl Snapshot {
    /// What all of them say together.
    pub fn governance(&self) -> Governance {
        let mut all = Governance::default();
        self.rows.iter().for_each(|row| all.push(row.object.clone()));
        all
    }
    /// One of them.
    pub fn find(&self, identity: &Identity) -> Option<&GovernedRow> {
        self.rows.iter().find(|row| row.object.identity() == *identity)
    }
}

const VERSION: &str = "SELECT version FROM governance WHERE one = 1";
const VERSION_HELD: &str = "SELECT version FROM governance WHERE one = 1 FOR UPDATE";
const RAISE: &str = "UPDATE governance SET version = version + 1 WHERE one = 1";

/// The counter over all changes.
pub fn version(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.query_one(VERSION, &[])?.int(0)
}

/// The counter, kept from rising until this transaction ends. Take it before deciding about a change: what was checked is
/// then what is written.
pub fn hold(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    let sql = tx.dialect().pick(VERSION, VERSION_HELD);
    tx.query_one(sql, &[])?.int(0)
}

/// Everything at one moment, with the counter. Read it under [`hold`], or in a transaction that reads one snapshot.
pub fn all(tx: &mut Tx<'_>) -> Result<Snapshot, StoreError> {
    let version = version(tx)?;
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        for row in tx.query(texts(*kind).all, &[])? {
            rows.push(read(*kind, &row)?);
        }
    }
    Ok(Snapshot { version, rows })
}

/// What the objects refer to beyond each other, and what is in use now: by the default queue of its project.
pub fn surroundings(tx: &mut Tx<'_>) -> Result<Surroundings, StoreError> {
    let mut around = Surroundings::default();
    for row in tx.query(texts::POOLS, &[])? {
        around.pools.insert(row.parse(0)?);
    }
    for row in tx.query(texts::TENANTS, &[])? {
        around.tenants.insert(row.parse(0)?);
    }
    for row in tx.query(texts::PROJECTS, &[])? {
        around.projects.insert(row.parse(0)?, row.parse(1)?);
    }
    for row in tx.query(texts::IN_USE, &[])? {
        around.in_use.insert((row.parse(0)?, row.parse(1)?), row.int(2)?);
    }
    Ok(around)
}

/// One object.
pub fn get(tx: &mut Tx<'_>, identity: &Identity) -> Result<Option<GovernedRow>, StoreError> {
    let mut params: Vec<Value> = vec![identity.slug.as_str().into()];
    if identity.kind == Kind::LocalQueue {
        params.push(identity.project_id.as_ref().into());
    }
    tx.query_opt(texts(identity.kind).get, &params)?.map(|row| read(identity.kind, &row)).transpose()
}

/// Objects of a kind by short name, where they belong to the platform; local queues by id, of all projects.
pub fn list(tx: &mut Tx<'_>, kind: Kind, page: Page<'_>) -> Result<Vec<GovernedRow>, StoreError> {
    let rows = tx.query(texts(kind).list, &[page.after.into(), page.rows().into()])?;
    rows.iter().map(|row| read(kind, row)).collect()
}

/// The local queues of a project by short name.
pub fn local_queues(tx: &mut Tx<'_>, project_id: &ProjectId, page: Page<'_>) -> Result<Vec<GovernedRow>, StoreError> {
    let params = [page.after.into(), page.rows().into(), project_id.into()];
    tx.query(texts::OF_PROJECT, &params)?.iter().map(|row| read(Kind::LocalQueue, row)).collect()
}

/// Records a new object; `tenant_id` is that of a local queue's project. A reference to nothing is a `ForeignKeyViolation`.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    id: &GovernedId,
    object: &Object,
    tenant_id: Option<&TenantId>,
) -> Result<(), StoreError> {
    let Identity { kind, project_id, slug } = object.identity();
    let mut params: Vec<Value> = vec![id.into(), slug.as_str().into(), text(object)?.into(), stamp.now.into()];
    params.extend(watched(object));
    if kind == Kind::LocalQueue {
        params.extend([tenant_id.into(), project_id.as_ref().into()]);
    }
    let change = Change::of(kind.noun(), What::Created, id.as_str(), 1).within(tenant_id, project_id.as_ref());
    record::created(tx, stamp, texts(kind).insert, &params, change)?;
    link(tx, object)?;
    tx.execute_one(RAISE, &[])
}

/// Says something else of an object. Its identity stays.
pub fn update(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &GovernedRow, object: &Object) -> Result<i64, StoreError> {
    debug_assert_eq!(row.object.identity(), object.identity(), "a short name is for ever");
    let mut params: Vec<Value> = vec![(&row.id).into(), row.version.into(), text(object)?.into()];
    params.extend(watched(object));
    let version = record::changed(tx, stamp, texts(row.kind()).update, &params, row.change(What::Updated))?;
    unlink(tx, object)?;
    link(tx, object)?;
    tx.execute_one(RAISE, &[])?;
    Ok(version)
}

/// Erases an object that nothing refers to; otherwise `ForeignKeyViolation`. Local queues of projects that are no more do
/// not keep a queue from going: they go with it.
pub fn delete(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &GovernedRow) -> Result<(), StoreError> {
    if let Object::ClusterQueue(queue) = &row.object {
        for left in tx.query(texts::LEFT_BEHIND, &[queue.slug.as_str().into()])? {
            erase(tx, stamp, &read(Kind::LocalQueue, &left)?)?;
        }
    }
    erase(tx, stamp, row)
}

fn erase(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &GovernedRow) -> Result<(), StoreError> {
    unlink(tx, &row.object)?;
    let params = [(&row.id).into(), row.version.into()];
    record::changed(tx, stamp, texts(row.kind()).delete, &params, row.change(What::Deleted))?;
    tx.execute_one(RAISE, &[])
}

fn text(object: &Object) -> Result<String, StoreError> {
    let unreadable =
        |error: serde_json::Error| StoreError::Corrupt { column: "body".to_owned(), why: error.to_string() };
    object.to_json().map(|value| value.to_string()).map_err(unreadable)
}

fn read(kind: Kind, row: &Row) -> Result<GovernedRow, StoreError> {
    Ok(GovernedRow {
        id: row.parse(0)?,
        object: Object::from_json(kind, row.text(1)?).map_err(|error| row.corrupt(1, &error.to_string()))?,
        version: row.int(2)?,
        created: row.timestamp(3)?,
        tenant_id: row.opt_parse(4)?,
    })
}

/// What the database watches over, in the order of the columns of the kind's texts.
fn watched(object: &Object) -> Vec<Value> {
    let name = |slug: &Option<Slug>| Value::from(slug.as_ref().map(Slug::as_str));
    match object {
        Object::Topology(_) => Vec::new(),
        Object::Flavor(it) => vec![name(&it.topology), name(&it.pool), it.speed_milli.get().into()],
        Object::PriorityClass(it) => vec![it.value.get().into(), it.default.into()],
        Object::Cohort(it) => vec![name(&it.parent), it.weight_milli.get().into()],
        Object::ClusterQueue(it) => {
            vec![name(&it.cohort), it.ordering.as_str().into(), it.weight_milli.get().into(), it.stop.as_str().into()]
        }
        Object::LocalQueue(it) => vec![
            it.cluster_queue.as_str().into(),
            it.default.into(),
            it.stop.as_str().into(),
            it.weight_milli.get().into(),
        ],
        Object::HardwareProfile(it) => vec![name(&it.priority_class)],
    }
}

static QUOTAS: BulkInsert = BulkInsert {
    table: "quotas",
    columns: &[
        ("cohort", Column::Text),
        ("cluster_queue", Column::Text),
        ("flavor", Column::Text),
        ("resource", Column::Text),
        ("nominal", Column::Int),
        ("borrowing_limit", Column::Int),
        ("lending_limit", Column::Int),
    ],
};

static PROFILE_FLAVORS: BulkInsert = BulkInsert {
    table: "hardware_profile_flavors",
    columns: &[("hardware_profile", Column::Text), ("flavor", Column::Text)],
};

/// Writes the references of an object that are more than one.
fn link(tx: &mut Tx<'_>, object: &Object) -> Result<(), StoreError> {
    let links = match object {
        Object::Cohort(it) => quotas(Some(&it.slug), None, &it.resource_groups),
        Object::ClusterQueue(it) => quotas(None, Some(&it.slug), &it.resource_groups),
        Object::HardwareProfile(it) => {
            let mut rows = Batch::insert(&PROFILE_FLAVORS);
            it.flavors.iter().for_each(|flavor| rows.push([it.slug.as_str().into(), flavor.as_str().into()]));
            rows
        }
        Object::Topology(_) | Object::Flavor(_) | Object::PriorityClass(_) | Object::LocalQueue(_) => return Ok(()),
    };
    if links.is_empty() { Ok(()) } else { tx.execute_bulk(&links).map(drop) }
}

fn quotas(cohort: Option<&Slug>, queue: Option<&Slug>, groups: &[ResourceGroup]) -> Batch {
    let mut rows = Batch::insert(&QUOTAS);
    for offered in groups.iter().flat_map(|group| &group.flavors) {
        for quota in &offered.quotas {
            rows.push([
                cohort.map(Slug::as_str).into(),
                queue.map(Slug::as_str).into(),
                offered.flavor.as_str().into(),
                quota.resource.as_str().into(),
                quota.nominal.get().into(),
                quota.borrowing_limit.map(|limit| limit.get()).into(),
                quota.lending_limit.map(|limit| limit.get()).into(),
            ]);
        }
    }
    rows
}

fn unlink(tx: &mut Tx<'_>, object: &Object) -> Result<(), StoreError> {
    let (sql, slug) = match object {
        Object::Cohort(it) => ("DELETE FROM quotas WHERE cohort = $1", &it.slug),
        Object::ClusterQueue(it) => ("DELETE FROM quotas WHERE cluster_queue = $1", &it.slug),
        Object::HardwareProfile(it) => ("DELETE FROM hardware_profile_flavors WHERE hardware_profile = $1", &it.slug),
        Object::Topology(_) | Object::Flavor(_) | Object::PriorityClass(_) | Object::LocalQueue(_) => return Ok(()),
    };
    tx.execute(sql, &[slug.as_str().into()]).map(drop)
}
