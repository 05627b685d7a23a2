//! Regions: where capacity is. Anybody may read them; a disabled region is shown but nothing is placed in it. A region
//! that pools or allocations refer to cannot be deleted.

use model::event::{Change as What, Noun};
use model::text::{DisplayName, Slug};
use model::{RegionId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionRow {
    /// Its id.
    pub id: RegionId,
    /// Its short name, unique.
    pub slug: Slug,
    /// Its name for people.
    pub name: DisplayName,
    /// Whether anything new is placed in it.
    pub enabled: bool,
    /// Who owns ways in and what may be used, as JSON; nobody and nothing when absent.
    pub ingress: Option<String>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl RegionRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Region, what, self.id.as_str(), self.version + 1)
    }
}

macro_rules! selected {
    () => {
        "SELECT id, slug, name, enabled, version, created_us, ingress FROM regions"
    };
}

const INSERT: &str =
    "INSERT INTO regions (id, slug, name, enabled, version, created_us) VALUES ($1, $2, $3, $4, 1, $5)";
const GET: &str = concat!(selected!(), " WHERE id = $1");
const BY_SLUG: &str = concat!(selected!(), " WHERE slug = $1");
const LIST: &str = concat!(selected!(), " WHERE id > $1 ORDER BY id LIMIT $2");
const UPDATE: &str = "UPDATE regions SET name = $3, enabled = $4, version = version + 1 WHERE id = $1 AND version = $2";
const SET_INGRESS: &str = "UPDATE regions SET ingress = $3, version = version + 1 WHERE id = $1 AND version = $2";
const DELETE: &str = "DELETE FROM regions WHERE id = $1 AND version = $2";

fn read(row: &Row) -> Result<RegionRow, StoreError> {
    Ok(RegionRow {
        id: row.parse(0)?,
        slug: row.parse(1)?,
        name: row.parse(2)?,
        enabled: row.flag(3)?,
        version: row.int(4)?,
        created: row.timestamp(5)?,
        ingress: row.opt_text(6)?.map(str::to_owned),
    })
}

/// Records a new region.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    id: &RegionId,
    slug: &Slug,
    name: &DisplayName,
    enabled: bool,
) -> Result<(), StoreError> {
    let params = [id.into(), slug.as_str().into(), name.as_str().into(), enabled.into(), stamp.now.into()];
    record::created(tx, stamp, INSERT, &params, Change::of(Noun::Region, What::Created, id.as_str(), 1))
}

/// One region.
pub fn get(tx: &mut Tx<'_>, id: &RegionId) -> Result<Option<RegionRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The region with this slug.
pub fn by_slug(tx: &mut Tx<'_>, slug: &Slug) -> Result<Option<RegionRow>, StoreError> {
    tx.query_opt(BY_SLUG, &[slug.as_str().into()])?.as_ref().map(read).transpose()
}

/// Regions in id order.
pub fn list(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<RegionRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// Gives a region another name, or opens and closes it.
pub fn update(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    region: &RegionRow,
    name: &DisplayName,
    enabled: bool,
) -> Result<i64, StoreError> {
    let params = [(&region.id).into(), region.version.into(), name.as_str().into(), enabled.into()];
    record::changed(tx, stamp, UPDATE, &params, region.change(What::Updated))
}

/// Says who owns ways in and what may be used, or that nobody does.
pub fn set_ingress(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    region: &RegionRow,
    settings: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&region.id).into(), region.version.into(), settings.into()];
    record::changed(tx, stamp, SET_INGRESS, &params, region.change(What::Updated).because(Some("ingress_settings")))
}

/// Erases a region that nothing refers to; otherwise `ForeignKeyViolation`.
pub fn delete(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, region: &RegionRow) -> Result<(), StoreError> {
    let params = [(&region.id).into(), region.version.into()];
    record::changed(tx, stamp, DELETE, &params, region.change(What::Deleted)).map(drop)
}
