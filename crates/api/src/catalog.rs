//! Regions, pools and SKUs: where capacity is and what is sold.

use crate::{
    endpoint::{Nothing, not_null},
    endpoints,
    page::{Page, PageQuery},
    problem::FieldError,
};
use model::{
    PoolId, RegionId, SkuId, Timestamp,
    number::{GpuCount, MemoryMibPerGpu, PriceMicrosPerGpuHour, VcpusPerGpu},
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

/// A new SKU.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkuCreateBody {
    /// Short name, unique among SKUs.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// The form it is sold in.
    pub shape: CapacityShape,
    /// The GPUs it is made of.
    pub gpu_model: GpuModel,
    /// How many GPUs one allocation may have: 1 to 8 different counts.
    #[schemars(length(min = 1, max = GPU_COUNTS_MAX), extend("uniqueItems" = true))]
    pub gpu_counts: Vec<GpuCount>,
    /// Virtual CPUs per GPU.
    pub vcpus_per_gpu: VcpusPerGpu,
    /// Memory per GPU.
    pub memory_mib_per_gpu: MemoryMibPerGpu,
    /// Price.
    pub price_micros_per_gpu_hour: PriceMicrosPerGpuHour,
}
impl SkuCreateBody {
    fn check(&self) -> Result<(), FieldError> {
        let different: BTreeSet<GpuCount> = self.gpu_counts.iter().copied().collect();
        if different.len() == self.gpu_counts.len() && (1..=GPU_COUNTS_MAX).contains(&different.len()) {
            return Ok(());
        }
        let detail = format!("1 to {GPU_COUNTS_MAX} different counts");
        Err(FieldError { pointer: "/gpu_counts".to_owned(), detail })
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
    PoolCreate = "pool_create", Post "/api/v1/pools", "pools", CatalogManage { body: PoolCreateBody, answer: Created PoolView, problems: [NameTaken, UnknownReference] }
    /// Show a pool.
    PoolShow = "pool_show", Get "/api/v1/pools/{pool_id}", "pools", CatalogRead { path: PoolPath, answer: Ok PoolView }
    /// Rename a pool or switch slices on or off.
    PoolUpdate = "pool_update", Patch "/api/v1/pools/{pool_id}", "pools", CatalogManage { path: PoolPath, body: PoolUpdateBody, answer: Ok PoolView, if_match: Required }
    /// Delete a pool that has no nodes.
    PoolDelete = "pool_delete", Delete "/api/v1/pools/{pool_id}", "pools", CatalogManage { path: PoolPath, answer: NoContent Nothing, if_match: Required, problems: [StillInUse] }
    /// List SKUs.
    SkuList = "sku_list", Get "/api/v1/skus", "skus", CatalogRead { query: PageQuery, answer: Ok Page<SkuView>, problems: [InvalidPageToken] }
    /// Create a SKU.
    SkuCreate = "sku_create", Post "/api/v1/skus", "skus", CatalogManage { body: SkuCreateBody, check: SkuCreateBody::check, answer: Created SkuView, problems: [NameTaken] }
    /// Show a SKU.
    SkuShow = "sku_show", Get "/api/v1/skus/{sku_id}", "skus", CatalogRead { path: SkuPath, answer: Ok SkuView }
    /// Change a SKU's name, price or availability.
    SkuUpdate = "sku_update", Patch "/api/v1/skus/{sku_id}", "skus", CatalogManage { path: SkuPath, body: SkuUpdateBody, answer: Ok SkuView, if_match: Required }
    /// Delete a SKU that was never launched.
    SkuDelete = "sku_delete", Delete "/api/v1/skus/{sku_id}", "skus", CatalogManage { path: SkuPath, answer: NoContent Nothing, if_match: Required, problems: [StillInUse] }
}
