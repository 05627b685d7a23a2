//! Regions, pools, slot profiles and SKUs: where capacity is, what it is made of and what is sold.

use crate::{
    endpoint::{Nothing, not_null},
    endpoints,
    page::{Page, PageQuery},
    problem::FieldError,
};
use model::{
    PoolId, RegionId, SkuId, Timestamp,
    number::{GpuCount, HugepageKib, MemoryMibPerGpu, MinDiskBytes, PriceMicrosPerGpuHour, VcpusPerGpu},
    sku::CapacityShape,
    supply::GpuModel,
    text::{DisplayName, Slug},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub use topology::Cidr;

/// Names a region.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionPath {
    /// The region.
    pub region_id: RegionId,
}
/// Names a pool.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolPath {
    /// The pool.
    pub pool_id: PoolId,
}
/// Names a SKU.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkuPath {
    /// The SKU.
    pub sku_id: SkuId,
}

/// A new region.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionCreateBody {
    /// Short name, unique among regions.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// Whether anything can be launched there. A disabled region is shown and cannot be chosen.
    pub enabled: bool,
}
/// What may change about a region. At least one field.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct RegionUpdateBody {
    /// Name for people.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<DisplayName>,
    /// Whether anything can be launched there.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
/// A region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegionView {
    /// Its id.
    pub id: RegionId,
    /// Short name.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// Whether anything can be launched there.
    pub enabled: bool,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// A new pool.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolCreateBody {
    /// The region it is in.
    pub region_id: RegionId,
    /// Short name, unique among pools.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// The GPUs of its nodes.
    pub gpu_model: GpuModel,
    /// Whether slices may be placed on its nodes; off unless said.
    #[serde(default)]
    pub slices_enabled: bool,
    /// The private addresses of its guests, such as `10.64.0.0/12`. Without it no address is suggested.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub private_range: Option<Cidr>,
}
/// What may change about a pool. At least one field.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct PoolUpdateBody {
    /// Name for people.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<DisplayName>,
    /// Whether slices may be placed on its nodes.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub slices_enabled: Option<bool>,
    /// The private addresses of its guests. Addresses that slots have already stay as they are.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub private_range: Option<Cidr>,
}
/// A pool of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolView {
    /// Its id.
    pub id: PoolId,
    /// The region it is in.
    pub region_id: RegionId,
    /// Short name.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// The GPUs of its nodes.
    pub gpu_model: GpuModel,
    /// Whether slices may be placed on its nodes.
    pub slices_enabled: bool,
    /// The private addresses of its guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_range: Option<Cidr>,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// Different counts of GPUs that one SKU is sold in at most.
const GPU_COUNTS_MAX: usize = 8;

/// Names a slot profile.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotProfilePath {
    /// The profile, by its short name.
    pub profile: Slug,
}

/// A new slot profile.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotProfileCreateBody {
    /// Short name, unique among profiles; slots and SKUs refer to it.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// The GPU of its slots.
    pub gpu_model: GpuModel,
    /// Virtual CPUs of one slot.
    pub vcpus: VcpusPerGpu,
    /// Memory of one slot.
    pub memory_mib: MemoryMibPerGpu,
    /// The smallest disk that a slot may have; any when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub min_disk_bytes: Option<MinDiskBytes>,
    /// The size of the huge pages that memory is made of: 2048 or 1048576; ordinary pages when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub hugepage_kib: Option<HugepageKib>,
}

/// What may change about a slot profile. At least one field. SKUs made of it follow; what is already running keeps the terms it was launched with.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct SlotProfileUpdateBody {
    /// Name for people.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<DisplayName>,
    /// Virtual CPUs of one slot.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub vcpus: Option<VcpusPerGpu>,
    /// Memory of one slot.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<MemoryMibPerGpu>,
    /// The smallest disk that a slot may have. Slots that were approved before stay as they are.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub min_disk_bytes: Option<MinDiskBytes>,
    /// The size of the huge pages that memory is made of: 2048 or 1048576.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub hugepage_kib: Option<HugepageKib>,
}

/// What one slot of a kind is made of besides its GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotProfileView {
    /// Short name, by which everything refers to it.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// The GPU of its slots.
    pub gpu_model: GpuModel,
    /// Virtual CPUs of one slot.
    pub vcpus: i64,
    /// Memory of one slot.
    pub memory_mib: i64,
    /// The smallest disk that a slot may have.
    pub min_disk_bytes: i64,
    /// The size of the huge pages that memory is made of; ordinary pages when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hugepage_kib: Option<i64>,
    /// Whether a slot must have a GPU; only a laboratory's need none.
    pub needs_gpu: bool,
    /// Whether a slot must have a function of the fabric; only a laboratory's need none.
    pub needs_fabric: bool,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// Sizes that a board can be cut into.
pub const SLICE_COUNTS: [i64; 4] = [1, 2, 4, 8];

/// A new SKU. A slice is sold in sets that a board can be cut into. What goes with a GPU is said by a profile, for slices, or in numbers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [
    { "if": { "properties": { "shape": { "const": "gpu_slice" } }, "required": ["shape"] },
      "then": { "properties": { "gpu_counts": { "items": { "enum": [1, 2, 4, 8] } } } },
      "else": { "properties": { "profile": false } } },
    { "if": { "required": ["profile"] },
      "then": { "properties": { "vcpus_per_gpu": false, "memory_mib_per_gpu": false } },
      "else": { "required": ["vcpus_per_gpu", "memory_mib_per_gpu"] } }
]))]
pub struct SkuCreateBody {
    /// Short name, unique among SKUs.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// The form it is sold in; a whole node unless said.
    #[serde(default = "whole_node")]
    pub shape: CapacityShape,
    /// The GPUs it is made of.
    pub gpu_model: GpuModel,
    /// How many GPUs one allocation may have: 1 to 8 different counts.
    #[schemars(length(min = 1, max = GPU_COUNTS_MAX), extend("uniqueItems" = true))]
    pub gpu_counts: Vec<GpuCount>,
    /// What each slot is made of, by the short name of a profile; for slices only.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub profile: Option<Slug>,
    /// Virtual CPUs per GPU, unless a profile says it.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub vcpus_per_gpu: Option<VcpusPerGpu>,
    /// Memory per GPU, unless a profile says it.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub memory_mib_per_gpu: Option<MemoryMibPerGpu>,
    /// Price.
    pub price_micros_per_gpu_hour: PriceMicrosPerGpuHour,
}
const fn whole_node() -> CapacityShape {
    CapacityShape::Baremetal
}
impl SkuCreateBody {
    fn check(&self) -> Result<(), FieldError> {
        let wrong =
            |pointer: &str, detail: &str| Err(FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() });
        let different: BTreeSet<GpuCount> = self.gpu_counts.iter().copied().collect();
        if different.len() != self.gpu_counts.len() || !(1..=GPU_COUNTS_MAX).contains(&different.len()) {
            return wrong("/gpu_counts", &format!("1 to {GPU_COUNTS_MAX} different counts"));
        }
        let slices = self.shape == CapacityShape::GpuSlice;
        if slices && different.iter().any(|count| !SLICE_COUNTS.contains(&count.get())) {
            return wrong("/gpu_counts", "for slices only sets that a board can be cut into: 1, 2, 4 and 8");
        }
        let said = |given: bool, pointer: &str| match (given, &self.profile) {
            (true, Some(_)) => wrong(pointer, "no such field beside a profile, which says it"),
            (false, None) => wrong(pointer, "a value: the field is required without a profile"),
            _ => Ok(()),
        };
        if !slices && self.profile.is_some() {
            return wrong("/profile", "no such field: profiles are for slices");
        }
        said(self.vcpus_per_gpu.is_some(), "/vcpus_per_gpu")?;
        said(self.memory_mib_per_gpu.is_some(), "/memory_mib_per_gpu")
    }
}

/// What may change about a SKU. At least one field. What is already running keeps the terms it was launched with.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct SkuUpdateBody {
    /// Name for people.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<DisplayName>,
    /// Price for new launches.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub price_micros_per_gpu_hour: Option<PriceMicrosPerGpuHour>,
    /// Whether it can be launched.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
/// Something that is sold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkuView {
    /// Its id.
    pub id: SkuId,
    /// Short name.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// The form it is sold in.
    pub shape: CapacityShape,
    /// The GPUs it is made of.
    pub gpu_model: GpuModel,
    /// How many GPUs one allocation may have.
    pub gpu_counts: Vec<GpuCount>,
    /// What each slot is made of, where a profile says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Slug>,
    /// Virtual CPUs per GPU.
    pub vcpus_per_gpu: i64,
    /// Memory per GPU.
    pub memory_mib_per_gpu: i64,
    /// Price.
    pub price_micros_per_gpu_hour: i64,
    /// Whether it can be launched.
    pub enabled: bool,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

endpoints! {
    /// List regions, disabled ones too.
    RegionList = "region_list", Get "/api/v1/regions", "regions", CatalogRead { query: PageQuery, answer: Ok Page<RegionView>, problems: [InvalidPageToken] }
    /// Create a region.
    RegionCreate = "region_create", Post "/api/v1/regions", "regions", CatalogManage { body: RegionCreateBody, answer: Created RegionView, problems: [NameTaken] }
    /// Show a region.
    RegionShow = "region_show", Get "/api/v1/regions/{region_id}", "regions", CatalogRead { path: RegionPath, answer: Ok RegionView }
    /// Rename, enable or disable a region.
    RegionUpdate = "region_update", Patch "/api/v1/regions/{region_id}", "regions", CatalogManage { path: RegionPath, body: RegionUpdateBody, answer: Ok RegionView, if_match: Required }
    /// Delete a region that nothing refers to.
    RegionDelete = "region_delete", Delete "/api/v1/regions/{region_id}", "regions", CatalogManage { path: RegionPath, answer: NoContent Nothing, if_match: Required, problems: [StillInUse] }
    /// List pools.
    PoolList = "pool_list", Get "/api/v1/pools", "pools", CatalogRead { query: PageQuery, answer: Ok Page<PoolView>, problems: [InvalidPageToken] }
    /// Create a pool.
    PoolCreate = "pool_create", Post "/api/v1/pools", "pools", CatalogManage { body: PoolCreateBody, answer: Created PoolView, problems: [NameTaken, UnknownReference, LabOnly] }
    /// Show a pool.
    PoolShow = "pool_show", Get "/api/v1/pools/{pool_id}", "pools", CatalogRead { path: PoolPath, answer: Ok PoolView }
    /// Rename a pool or switch slices on or off.
    PoolUpdate = "pool_update", Patch "/api/v1/pools/{pool_id}", "pools", CatalogManage { path: PoolPath, body: PoolUpdateBody, answer: Ok PoolView, if_match: Required }
    /// Delete a pool that has no nodes.
    PoolDelete = "pool_delete", Delete "/api/v1/pools/{pool_id}", "pools", CatalogManage { path: PoolPath, answer: NoContent Nothing, if_match: Required, problems: [StillInUse] }
    /// List slot profiles, by short name.
    SlotProfileList = "slot_profile_list", Get "/api/v1/slot-profiles", "slot profiles", CatalogRead { query: PageQuery, answer: Ok Page<SlotProfileView>, problems: [InvalidPageToken] }
    /// Create a slot profile.
    SlotProfileCreate = "slot_profile_create", Post "/api/v1/slot-profiles", "slot profiles", CatalogManage { body: SlotProfileCreateBody, answer: Created SlotProfileView, problems: [NameTaken, LabOnly] }
    /// Show a slot profile.
    SlotProfileShow = "slot_profile_show", Get "/api/v1/slot-profiles/{profile}", "slot profiles", CatalogRead { path: SlotProfilePath, answer: Ok SlotProfileView }
    /// Change what slots of a profile are made of.
    SlotProfileUpdate = "slot_profile_update", Patch "/api/v1/slot-profiles/{profile}", "slot profiles", CatalogManage { path: SlotProfilePath, body: SlotProfileUpdateBody, answer: Ok SlotProfileView, if_match: Required }
    /// List SKUs.
    SkuList = "sku_list", Get "/api/v1/skus", "skus", CatalogRead { query: PageQuery, answer: Ok Page<SkuView>, problems: [InvalidPageToken] }
    /// Create a SKU.
    SkuCreate = "sku_create", Post "/api/v1/skus", "skus", CatalogManage { body: SkuCreateBody, check: SkuCreateBody::check, answer: Created SkuView, problems: [NameTaken, UnknownReference, LabOnly] }
    /// Show a SKU.
    SkuShow = "sku_show", Get "/api/v1/skus/{sku_id}", "skus", CatalogRead { path: SkuPath, answer: Ok SkuView }
    /// Change a SKU's name, price or availability.
    SkuUpdate = "sku_update", Patch "/api/v1/skus/{sku_id}", "skus", CatalogManage { path: SkuPath, body: SkuUpdateBody, answer: Ok SkuView, if_match: Required, problems: [LabOnly] }
    /// Delete a SKU that was never launched.
    SkuDelete = "sku_delete", Delete "/api/v1/skus/{sku_id}", "skus", CatalogManage { path: SkuPath, answer: NoContent Nothing, if_match: Required, problems: [StillInUse] }
}
