//! Slot profiles: what one slot of a kind is made of besides its GPU. SKUs for slices are made of them. A profile may change,
//! because every claim carries a snapshot of what it was sold as.

use model::Timestamp;
use model::event::{Change as What, Noun};
use model::supply::GpuModel;
use model::text::{DisplayName, Slug};

use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// The part of a profile that may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotProfileTerms {
    /// Its name for people.
    pub name: DisplayName,
    /// vCPUs of one slot.
    pub vcpus: i64,
    /// Memory of one slot.
    pub memory_mib: i64,
    /// The smallest disk that a slot may have.
    pub min_disk_bytes: i64,
    /// The size of the huge pages that its memory is made of; ordinary pages when absent.
    pub hugepage_kib: Option<i64>,
}

/// Which devices a slot of a profile is not complete without. Said once, when the profile is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotNeeds {
    /// A GPU.
    pub gpu: bool,
    /// A function of the fabric.
    pub fabric: bool,
}

/// One profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotProfileRow {
    /// Its short name, by which everything refers to it.
    pub slug: Slug,
    /// The GPU of its slots.
    pub gpu_model: GpuModel,
    /// Which devices its slots must have.
    pub needs: SlotNeeds,
    /// What may change.
    pub terms: SlotProfileTerms,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

macro_rules! selected {
    () => {
        "SELECT slug, gpu_model, name, vcpus, memory_mib, min_disk_bytes, version, created_us, hugepage_kib, \
         needs_gpu, needs_fabric FROM slot_profiles"
    };
}

const INSERT: &str = "INSERT INTO slot_profiles (slug, gpu_model, name, vcpus, memory_mib, min_disk_bytes, version, \
    created_us, hugepage_kib, needs_gpu, needs_fabric) VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9, $10)";
const GET: &str = concat!(selected!(), " WHERE slug = $1");
const LIST_SOLD: &str = concat!(selected!(), " WHERE slug > $1 AND gpu_model <> 'lab' ORDER BY slug LIMIT $2");
const LIST: &str = concat!(selected!(), " WHERE slug > $1 ORDER BY slug LIMIT $2");
const UPDATE: &str = "UPDATE slot_profiles SET name = $3, vcpus = $4, memory_mib = $5, min_disk_bytes = $6, \
    hugepage_kib = $7, version = version + 1 WHERE slug = $1 AND version = $2";

fn read(row: &Row) -> Result<SlotProfileRow, StoreError> {
    Ok(SlotProfileRow {
        slug: row.parse(0)?,
        gpu_model: row.parse(1)?,
        terms: SlotProfileTerms {
            name: row.parse(2)?,
            vcpus: row.int(3)?,
            memory_mib: row.int(4)?,
            min_disk_bytes: row.int(5)?,
            hugepage_kib: row.opt_int(8)?,
        },
        needs: SlotNeeds { gpu: row.flag(9)?, fabric: row.flag(10)? },
        version: row.int(6)?,
        created: row.timestamp(7)?,
    })
}

/// Records a new profile. A short name that is in use is a `UniqueViolation`.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slug: &Slug,
    (gpu_model, needs): (GpuModel, SlotNeeds),
    terms: &SlotProfileTerms,
) -> Result<(), StoreError> {
    let params = [
        slug.as_str().into(),
        gpu_model.as_str().into(),
        terms.name.as_str().into(),
        terms.vcpus.into(),
        terms.memory_mib.into(),
        terms.min_disk_bytes.into(),
        stamp.now.into(),
        terms.hugepage_kib.into(),
        needs.gpu.into(),
        needs.fabric.into(),
    ];
    record::created(tx, stamp, INSERT, &params, Change::of(Noun::SlotProfile, What::Created, slug.as_str(), 1))
}

/// One profile.
pub fn get(tx: &mut Tx<'_>, slug: &Slug) -> Result<Option<SlotProfileRow>, StoreError> {
    tx.query_opt(GET, &[slug.as_str().into()])?.as_ref().map(read).transpose()
}

/// Profiles by short name, without a laboratory's.
pub fn list_sold(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<SlotProfileRow>, StoreError> {
    tx.query(LIST_SOLD, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// Profiles by short name.
pub fn list(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<SlotProfileRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// Changes a profile; what was sold before keeps its own terms.
pub fn update(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    profile: &SlotProfileRow,
    terms: &SlotProfileTerms,
) -> Result<i64, StoreError> {
    let params = [
        profile.slug.as_str().into(),
        profile.version.into(),
        terms.name.as_str().into(),
        terms.vcpus.into(),
        terms.memory_mib.into(),
        terms.min_disk_bytes.into(),
        terms.hugepage_kib.into(),
    ];
    let change = Change::of(Noun::SlotProfile, What::Updated, profile.slug.as_str(), profile.version + 1);
    record::changed(tx, stamp, UPDATE, &params, change)
}
