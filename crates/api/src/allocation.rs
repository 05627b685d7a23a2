//! Allocations: launch, watch, release.

use crate::{
    endpoints,
    operation::OperationView,
    page::{Page, PageQuery},
    states::ProgressView,
    tenancy::ProjectPath,
};
use model::{
    AllocationId, ProjectId, RegionId, SkuId, TenantId, Timestamp,
    allocation::{Desired, State},
    number::GpuCount,
    sku::CapacityShape,
    text::Slug,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names an allocation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationPath {
    /// The allocation.
    pub allocation_id: AllocationId,
}

/// A launch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationLaunchBody {
    /// A name for it; need not be unique.
    pub name: Slug,
    /// What to launch.
    pub sku_id: SkuId,
    /// How many GPUs; one of the SKU's counts.
    pub gpu_count: GpuCount,
    /// Where.
    pub region_id: RegionId,
}

/// What the host last said about an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationObserved {
    /// Whether a guest is known to be up.
    pub guest_up: bool,
    /// Why it ended the way it did, or why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether building it failed; then it ends as `failed` once cleaned up.
    #[serde(default)]
    pub provision_failed: bool,
}

/// An allocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationView {
    /// Its id.
    pub id: AllocationId,
    /// The tenant that holds it.
    pub tenant_id: TenantId,
    /// The project that holds it.
    pub project_id: ProjectId,
    /// Its name.
    pub name: Slug,
    /// What was launched.
    pub sku_id: SkuId,
    /// In which form.
    pub shape: CapacityShape,
    /// How many GPUs.
    pub gpu_count: i64,
    /// Where.
    pub region_id: RegionId,
    /// What is wanted.
    pub desired: Desired,
    /// What the host last said.
    pub observed: AllocationObserved,
    /// What its workflow is doing.
    pub execution: State,
    /// One sentence.
    pub projected: String,
    /// How far the workflow has come.
    pub progress: ProgressView,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it was asked for.
    pub created_at: Timestamp,
}

endpoints! {
    /// List a project's allocations.
    AllocationList = "allocation_list", Get "/api/v1/projects/{project_id}/allocations", "allocations", ProjectRead { path: ProjectPath, query: PageQuery, answer: Ok Page<AllocationView>, problems: [InvalidPageToken] }
    /// Launch: ask for GPUs.
    AllocationLaunch = "allocation_launch", Post "/api/v1/projects/{project_id}/allocations", "allocations", ProjectUse { path: ProjectPath, body: AllocationLaunchBody, answer: Accepted OperationView, problems: [UnknownReference, NotForSale, QuotaExceeded, StateConflict] }
    /// Show an allocation.
    AllocationShow = "allocation_show", Get "/api/v1/allocations/{allocation_id}", "allocations", ProjectRead { path: AllocationPath, answer: Ok AllocationView }
    /// Release an allocation: stop it, wipe it, give it back.
    AllocationRelease = "allocation_release", Post "/api/v1/allocations/{allocation_id}/release", "allocations", ProjectUse { path: AllocationPath, answer: Accepted OperationView, if_match: Optional, problems: [StateConflict] }
}
