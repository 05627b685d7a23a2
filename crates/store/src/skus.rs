//! SKUs: what is sold. Shape and GPU model are fixed at birth, since allocations were made with them; price, sizes and
//! counts may change, because every claim carries a snapshot of what it was sold as. A SKU that was ever sold cannot be
//! deleted, only disabled.

use model::event::{Change as What, Noun};
use model::sku::CapacityShape;
use model::supply::GpuModel;
use model::text::{DisplayName, Slug};
use model::{SkuId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::value::keys;
use crate::{Row, StoreError, Tx};

/// The part of a SKU that may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkuTerms {
    /// Its name for people.
    pub name: DisplayName,
    /// The GPU counts it is sold in, ascending.
    pub gpu_counts: Vec<i64>,
    /// What each of its slots is made of; none for what is not cut into slots, or was made without one.
    pub profile: Option<Slug>,
    /// vCPUs with each GPU.
    pub vcpus_per_gpu: i64,
    /// Memory with each GPU.
    pub memory_mib_per_gpu: i64,
    /// Price in millionths of the currency unit.
    pub price_micros_per_gpu_hour: i64,
    /// Whether it can be launched.
    pub enabled: bool,
}

/// One SKU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkuRow {
    /// Its id.
    pub id: SkuId,
    /// Its short name, unique.
    pub slug: Slug,
    /// The form it is sold in.
    pub shape: CapacityShape,
    /// The GPU model.
    pub gpu_model: GpuModel,
    /// What may change.
    pub terms: SkuTerms,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl SkuRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Sku, what, self.id.as_str(), self.version + 1)
    }
}

macro_rules! selected {
    () => {
        "SELECT id, slug, shape, gpu_model, name, gpu_counts, vcpus_per_gpu, memory_mib_per_gpu, \
         price_micros_per_gpu_hour, enabled, version, created_us, profile FROM skus"
    };
}

const INSERT: &str = "INSERT INTO skus (id, slug, shape, gpu_model, name, gpu_counts, vcpus_per_gpu, \
    memory_mib_per_gpu, price_micros_per_gpu_hour, enabled, version, created_us, profile) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, $12)";
/// The SKUs of a set of keys.
pub(crate) const OF_KEYS: &str =
    concat!(selected!(), " WHERE id IN (SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given)");
const GET: &str = concat!(selected!(), " WHERE id = $1");
const BY_SLUG: &str = concat!(selected!(), " WHERE slug = $1");
const LIST_SOLD: &str = concat!(selected!(), " WHERE id > $1 AND gpu_model <> 'lab' ORDER BY id LIMIT $2");
const LIST: &str = concat!(selected!(), " WHERE id > $1 ORDER BY id LIMIT $2");
const OF_PROFILE: &str = concat!(selected!(), " WHERE profile = $1 ORDER BY id");
const OF_MODEL: &str = concat!(selected!(), " WHERE gpu_model = $1 AND enabled = 1 ORDER BY slug LIMIT $2");
const UPDATE: &str = "UPDATE skus SET name = $3, gpu_counts = $4, vcpus_per_gpu = $5, memory_mib_per_gpu = $6, \
    price_micros_per_gpu_hour = $7, enabled = $8, profile = $9, version = version + 1 WHERE id = $1 AND version = $2";
const DELETE: &str = "DELETE FROM skus WHERE id = $1 AND version = $2";

fn counts_text(counts: &[i64]) -> String {
    serde_json::Value::from(counts).to_string()
}

pub(crate) fn read(row: &Row) -> Result<SkuRow, StoreError> {
    let gpu_counts = serde_json::from_str(row.text(5)?).map_err(|error| row.corrupt(5, &error.to_string()))?;
    Ok(SkuRow {
        id: row.parse(0)?,
        slug: row.parse(1)?,
        shape: row.parse(2)?,
        gpu_model: row.parse(3)?,
        terms: SkuTerms {
            name: row.parse(4)?,
            gpu_counts,
            vcpus_per_gpu: row.int(6)?,
            memory_mib_per_gpu: row.int(7)?,
            price_micros_per_gpu_hour: row.int(8)?,
            enabled: row.flag(9)?,
            profile: row.opt_parse(12)?,
        },
        version: row.int(10)?,
        created: row.timestamp(11)?,
    })
}

/// Records a new SKU.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    id: &SkuId,
    slug: &Slug,
    (shape, gpu_model): (CapacityShape, GpuModel),
    terms: &SkuTerms,
) -> Result<(), StoreError> {
    let params = [
        id.into(),
        slug.as_str().into(),
        shape.as_str().into(),
        gpu_model.as_str().into(),
        terms.name.as_str().into(),
        counts_text(&terms.gpu_counts).into(),
        terms.vcpus_per_gpu.into(),
        terms.memory_mib_per_gpu.into(),
        terms.price_micros_per_gpu_hour.into(),
        terms.enabled.into(),
        stamp.now.into(),
        terms.profile.as_ref().map(Slug::as_str).into(),
    ];
    record::created(tx, stamp, INSERT, &params, Change::of(Noun::Sku, What::Created, id.as_str(), 1))
}

/// One SKU.
pub fn get(tx: &mut Tx<'_>, id: &SkuId) -> Result<Option<SkuRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The SKU with this slug.
pub fn by_slug(tx: &mut Tx<'_>, slug: &Slug) -> Result<Option<SkuRow>, StoreError> {
    tx.query_opt(BY_SLUG, &[slug.as_str().into()])?.as_ref().map(read).transpose()
}

/// The SKUs that are made of slots of a profile.
pub fn of_profile(tx: &mut Tx<'_>, profile: &Slug) -> Result<Vec<SkuRow>, StoreError> {
    tx.query(OF_PROFILE, &[profile.as_str().into()])?.iter().map(read).collect()
}

/// The SKUs with these ids.
pub fn of_ids<'a>(tx: &mut Tx<'_>, ids: impl Iterator<Item = &'a SkuId>) -> Result<Vec<SkuRow>, StoreError> {
    tx.query(OF_KEYS, &[keys(ids.map(SkuId::as_str))])?.iter().map(read).collect()
}

/// The SKUs of a GPU model that can be launched, by short name.
pub fn for_sale(tx: &mut Tx<'_>, gpu_model: GpuModel, limit: i64) -> Result<Vec<SkuRow>, StoreError> {
    tx.query(OF_MODEL, &[gpu_model.as_str().into(), limit.into()])?.iter().map(read).collect()
}

/// SKUs in id order, without a laboratory's.
pub fn list_sold(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<SkuRow>, StoreError> {
    tx.query(LIST_SOLD, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// SKUs in id order.
pub fn list(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<SkuRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// Changes the terms of a SKU; what was sold before keeps its own.
pub fn update(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, sku: &SkuRow, terms: &SkuTerms) -> Result<i64, StoreError> {
    let params = [
        (&sku.id).into(),
        sku.version.into(),
        terms.name.as_str().into(),
        counts_text(&terms.gpu_counts).into(),
        terms.vcpus_per_gpu.into(),
        terms.memory_mib_per_gpu.into(),
        terms.price_micros_per_gpu_hour.into(),
        terms.enabled.into(),
        terms.profile.as_ref().map(Slug::as_str).into(),
    ];
    record::changed(tx, stamp, UPDATE, &params, sku.change(What::Updated))
}

/// Erases a SKU that was never sold; otherwise `ForeignKeyViolation`.
pub fn delete(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, sku: &SkuRow) -> Result<(), StoreError> {
    let params = [(&sku.id).into(), sku.version.into()];
    record::changed(tx, stamp, DELETE, &params, sku.change(What::Deleted)).map(drop)
}
