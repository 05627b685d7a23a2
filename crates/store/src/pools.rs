//! Pools: nodes of one GPU model in one region that are sold alike. Slices are off in a pool until an operator turns
//! them on. A pool with nodes cannot be deleted.

use model::event::{Change as What, Noun};
use model::supply::GpuModel;
use model::text::{DisplayName, Slug};
use model::{PoolId, RegionId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolRow {
    /// Its id.
    pub id: PoolId,
    /// Where it is.
    pub region_id: RegionId,
    /// Its short name, unique.
    pub slug: Slug,
    /// Its name for people.
    pub name: DisplayName,
    /// What its nodes carry.
    pub gpu_model: GpuModel,
    /// Whether its nodes may be cut into slices.
    pub slices_enabled: bool,
    /// The private addresses of its guests, such as `10.64.0.0/12`.
    pub private_range: Option<String>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl PoolRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Pool, what, self.id.as_str(), self.version + 1)
    }
}

/// A pool to record.
#[derive(Debug, Clone, Copy)]
pub struct PoolNew<'a> {
    /// Its id.
    pub id: &'a PoolId,
    /// Where it is.
    pub region_id: &'a RegionId,
    /// Its short name.
    pub slug: &'a Slug,
    /// Its name for people.
    pub name: &'a DisplayName,
    /// What its nodes carry.
    pub gpu_model: GpuModel,
    /// Whether its nodes may be cut into slices.
    pub slices_enabled: bool,
    /// The private addresses of its guests.
    pub private_range: Option<&'a str>,
}

/// What may change about a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolTerms<'a> {
    /// Its name for people.
    pub name: &'a DisplayName,
    /// Whether its nodes may be cut into slices.
    pub slices_enabled: bool,
    /// The private addresses of its guests.
    pub private_range: Option<&'a str>,
}

macro_rules! selected {
    () => {
        "SELECT id, region_id, slug, name, gpu_model, slices_enabled, private_range, version, created_us FROM pools"
    };
}

const INSERT: &str = "INSERT INTO pools (id, region_id, slug, name, gpu_model, slices_enabled, private_range, version, \
    created_us) VALUES ($1, $2, $3, $4, $5, $6, $8, 1, $7)";
const GET: &str = concat!(selected!(), " WHERE id = $1");
const BY_SLUG: &str = concat!(selected!(), " WHERE slug = $1");
const LIST_SOLD: &str = concat!(selected!(), " WHERE id > $1 AND gpu_model <> 'lab' ORDER BY id LIMIT $2");
const LIST: &str =
    concat!(selected!(), " WHERE id > $1 AND (CAST($3 AS TEXT) IS NULL OR region_id = $3) ORDER BY id LIMIT $2");
const UPDATE: &str = "UPDATE pools SET name = $3, slices_enabled = $4, private_range = $5, version = version + 1 \
    WHERE id = $1 AND version = $2";
const DELETE: &str = "DELETE FROM pools WHERE id = $1 AND version = $2";

fn read(row: &Row) -> Result<PoolRow, StoreError> {
    Ok(PoolRow {
        id: row.parse(0)?,
        region_id: row.parse(1)?,
        slug: row.parse(2)?,
        name: row.parse(3)?,
        gpu_model: row.parse(4)?,
        slices_enabled: row.flag(5)?,
        private_range: row.opt_text(6)?.map(str::to_owned),
        version: row.int(7)?,
        created: row.timestamp(8)?,
    })
}

/// Records a new pool.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: PoolNew<'_>) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.region_id.into(),
        new.slug.as_str().into(),
        new.name.as_str().into(),
        new.gpu_model.as_str().into(),
        new.slices_enabled.into(),
        stamp.now.into(),
        new.private_range.into(),
    ];
    record::created(tx, stamp, INSERT, &params, Change::of(Noun::Pool, What::Created, new.id.as_str(), 1))
}

/// One pool.
pub fn get(tx: &mut Tx<'_>, id: &PoolId) -> Result<Option<PoolRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The pool with this slug.
pub fn by_slug(tx: &mut Tx<'_>, slug: &Slug) -> Result<Option<PoolRow>, StoreError> {
    tx.query_opt(BY_SLUG, &[slug.as_str().into()])?.as_ref().map(read).transpose()
}

/// Pools in id order, without a laboratory's.
pub fn list_sold(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<PoolRow>, StoreError> {
    tx.query(LIST_SOLD, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// Pools in id order, of one region where one is given.
pub fn list(tx: &mut Tx<'_>, region_id: Option<&RegionId>, page: Page<'_>) -> Result<Vec<PoolRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into(), region_id.into()])?.iter().map(read).collect()
}

/// Gives a pool another name or range, or turns its slices on and off.
pub fn update(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, pool: &PoolRow, terms: PoolTerms<'_>) -> Result<i64, StoreError> {
    let (name, slices, range) = (terms.name.as_str(), terms.slices_enabled, terms.private_range);
    let params = [(&pool.id).into(), pool.version.into(), name.into(), slices.into(), range.into()];
    record::changed(tx, stamp, UPDATE, &params, pool.change(What::Updated))
}

/// Erases a pool that has no nodes; otherwise `ForeignKeyViolation`.
pub fn delete(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, pool: &PoolRow) -> Result<(), StoreError> {
    let params = [(&pool.id).into(), pool.version.into()];
    record::changed(tx, stamp, DELETE, &params, pool.change(What::Deleted)).map(drop)
}
