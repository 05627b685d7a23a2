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
}

/// One profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotProfileRow {
    /// Its short name, by which everything refers to it.
    pub slug: Slug,
    /// The GPU of its slots.
    pub gpu_model: GpuModel,
    /// What may change.
    pub terms: SlotProfileTerms,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

macro_rules! selected {
    () => {
        "SELECT slug, gpu_model, name, vcpus, memory_mib, min_disk_bytes, version, created_us FROM slot_profiles"
    };
}

const INSERT: &str = "INSERT INTO slot_profiles (slug, gpu_model, name, vcpus, memory_mib, min_disk_bytes, version, \
    created_us) VALUES ($1, $2, $3, $4, $5, $6, 1, $7)";
const GET: &str = concat!(selected!(), " WHERE slug = $1");
const LIST: &str = concat!(selected!(), " WHERE slug > $1 ORDER BY slug LIMIT $2");
const UPDATE: &str = "UPDATE slot_profiles SET name = $3, vcpus = $4, memory_mib = $5, min_disk_bytes = $6, \
    version = version + 1 WHERE slug = $1 AND version = $2";

fn read(row: &Row) -> Result<SlotProfileRow, StoreError> {
    Ok(SlotProfileRow {
        slug: row.parse(0)?,
        gpu_model: row.parse(1)?,
        terms: SlotProfileTerms {
            name: row.parse(2)?,
            vcpus: row.int(3)?,
            memory_mib: row.int(4)?,
            min_disk_bytes: row.int(5)?,
        },
        version: row.int(6)?,
        created: row.timestamp(7)?,
    })
}

/// Records a new profile. A short name that is in use is a `UniqueViolation`.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slug: &Slug,
    gpu_model: GpuModel,
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
    ];
    record::created(tx, stamp, INSERT, &params, Change::of(Noun::SlotProfile, What::Created, slug.as_str(), 1))
}

/// One profile.
pub fn get(tx: &mut Tx<'_>, slug: &Slug) -> Result<Option<SlotProfileRow>, StoreError> {
    tx.query_opt(GET, &[slug.as_str().into()])?.as_ref().map(read).transpose()
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
    ];
    let change = Change::of(Noun::SlotProfile, What::Updated, profile.slug.as_str(), profile.version + 1);
    record::changed(tx, stamp, UPDATE, &params, change)
}
