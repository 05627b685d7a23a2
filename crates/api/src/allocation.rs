//! Allocations: launch, watch, extend, release.

use crate::{
    endpoint::not_null,
    endpoints,
    operation::OperationView,
    page::{Page, PageQuery, PageToken, paged},
    placement::PlacementRefusal,
    problem::FieldError,
    states::ProgressView,
    tenancy::ProjectPath,
};
use model::{
    AllocationId, ProjectId, RegionId, SkuId, SshKeyId, TenantId, Timestamp, WorkloadId,
    allocation::{Desired, Labels, LaunchKey, PlacementWishes, State},
    guest::UserData,
    number::{GpuCount, MaxRunS, PageSize},
    runtime::{GuestLeaseState, GuestSeen},
    sku::CapacityShape,
    text::{ImageName, Slug},
    time::UtcTime,
    workload::IfUnavailable,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Names an allocation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationPath {
    /// The allocation.
    pub allocation_id: AllocationId,
}

/// A launch: of a SKU, or of whatever a hardware profile lets serve.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [
    { "if": { "required": ["hardware_profile"] },
      "then": { "properties": { "sku_id": false } },
      "else": { "required": ["sku_id"] } }
]))]
pub struct AllocationLaunchBody {
    /// A name for it; need not be unique.
    pub name: Slug,
    /// What to launch; either this or a hardware profile.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub sku_id: Option<SkuId>,
    /// By what the hardware is chosen, instead of a SKU: any flavor of the profile may serve, whichever the queue can give
    /// first. For slices, in projects that have a queue.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub hardware_profile: Option<Slug>,
    /// How many GPUs; one of the SKU's counts.
    pub gpu_count: GpuCount,
    /// Where.
    pub region_id: RegionId,
    /// Public keys of the project whose owners may sign in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = SSH_KEYS_MAX), extend("uniqueItems" = true))]
    pub ssh_key_ids: Vec<SshKeyId>,
    /// What it is made of; the platform's default when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageName>,
    /// What cloud-init is to do in the guest besides. Kept with the allocation, and shown only to those who may use the project.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub user_data: Option<UserData>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Wishes about the place.
    #[serde(default)]
    pub placement: PlacementWishes,
    /// When it is given back by itself; never when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub lease_ends_at: Option<UtcTime>,
    /// Whether it may be stopped and launched again elsewhere when its node is evacuated.
    #[serde(default)]
    pub may_recreate: bool,
    /// What to do when it cannot start at once: wait, where the project has a queue, unless said otherwise.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub if_unavailable: Option<IfUnavailable>,
    /// The queue of the project that it goes through; when absent that of the hardware profile, or else the project's default.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub queue: Option<Slug>,
    /// The class that its priority comes from; when absent that of the hardware profile, or else the platform's default.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<Slug>,
    /// How long it runs at most, from its admission; then it is given back by itself. Work that says so can be let past
    /// others that wait for more.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub max_run_s: Option<MaxRunS>,
}
/// Public keys that one launch may name.
pub const SSH_KEYS_MAX: usize = 16;

impl AllocationLaunchBody {
    /// The rules between its fields.
    pub fn check(&self) -> Result<(), FieldError> {
        if self.sku_id.is_some() == self.hardware_profile.is_some() {
            let detail = "a SKU or a hardware profile, and not both".to_owned();
            return Err(FieldError { pointer: "/sku_id".to_owned(), detail });
        }
        let different: BTreeSet<&SshKeyId> = self.ssh_key_ids.iter().collect();
        if different.len() == self.ssh_key_ids.len() && different.len() <= SSH_KEYS_MAX {
            return Ok(());
        }
        let detail = format!("at most {SSH_KEYS_MAX} different ids");
        Err(FieldError { pointer: "/ssh_key_ids".to_owned(), detail })
    }
}

/// What may change about an allocation that lives. At least one field.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct AllocationUpdateBody {
    /// A name for it.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<Slug>,
    /// Words to find it by; they take the place of all it has.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// Whether it may be stopped and launched again elsewhere when its node is evacuated.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub may_recreate: Option<bool>,
}

/// A later end of the lease.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationExtendBody {
    /// When it is given back by itself; later than it is now.
    pub lease_ends_at: UtcTime,
}

/// Which allocations of all projects.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationQuery {
    /// Only of this tenant.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Only in this state.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// How many items at most; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<PageSize>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<PageToken>,
}

paged!(AllocationQuery);

/// What the host last said about an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationObserved {
    /// Whether a guest is known to be up.
    pub guest_up: bool,
    /// Why it ended the way it did, or why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a refusal counted, and what would end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<PlacementRefusal>,
    /// Whether building it failed; then it ends as `failed` once cleaned up.
    #[serde(default)]
    pub provision_failed: bool,
    /// The guest, as its host saw it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestSeen>,
}

/// How to reach a guest that is up. Its address is private: the way in leads through the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessView {
    /// The user that the keys open.
    pub user: String,
    /// Its private address.
    pub private_ip: String,
    /// The address of its network card.
    pub mac: String,
    /// Whether it has its address.
    pub lease_state: GuestLeaseState,
    /// The key it shows on SSH, on one line.
    pub host_key: String,
}

/// What was written for cloud-init.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserDataView {
    /// The text.
    pub user_data: UserData,
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
    /// The workload that it is a member of, where it goes through a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_id: Option<WorkloadId>,
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
    /// Who may sign in, as the keys were at launch.
    #[serde(default)]
    pub ssh_keys: Vec<LaunchKey>,
    /// What it is made of, by its name in the catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// The digest of that, as it was at launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_sha256: Option<String>,
    /// Whether something was written for cloud-init.
    #[serde(default)]
    pub has_user_data: bool,
    /// How to reach it, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessView>,
    /// Words to find it by.
    #[serde(default)]
    pub labels: Labels,
    /// Wishes about the place.
    #[serde(default)]
    pub placement: PlacementWishes,
    /// When it is given back by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ends_at: Option<Timestamp>,
    /// When its owner was told that this is soon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_warned_at: Option<Timestamp>,
    /// Whether it may be stopped and launched again elsewhere when its node is evacuated.
    #[serde(default)]
    pub may_recreate: bool,
    /// The allocation that this one takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recreated_from: Option<AllocationId>,
    /// The allocation that took the place of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recreated_as: Option<AllocationId>,
    /// What is wanted.
    pub desired: Desired,
    /// Why it is wanted released, as a word; absent while it is wanted, and when its owner gave it back.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub desired_reason: String,
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
    AllocationLaunch = "allocation_launch", Post "/api/v1/projects/{project_id}/allocations", "allocations", ProjectUse { path: ProjectPath, body: AllocationLaunchBody, check: AllocationLaunchBody::check, answer: Accepted OperationView, problems: [UnknownReference, QueueMissing, NotForSale, LeaseRefused, ImageUnavailable, ImageUnfit, LabOnly, QuotaExceeded, StateConflict] }
    /// Show an allocation.
    AllocationShow = "allocation_show", Get "/api/v1/allocations/{allocation_id}", "allocations", ProjectRead { path: AllocationPath, answer: Ok AllocationView }
    /// Show what was written for cloud-init, to those who may use the project.
    UserDataShow = "user_data_show", Get "/api/v1/allocations/{allocation_id}/user-data", "allocations", ProjectUse { path: AllocationPath, answer: Ok UserDataView }
    /// Rename or label an allocation, or say whether it may be launched again elsewhere.
    AllocationUpdate = "allocation_update", Patch "/api/v1/allocations/{allocation_id}", "allocations", ProjectUse { path: AllocationPath, body: AllocationUpdateBody, answer: Ok AllocationView, if_match: Required, problems: [StateConflict] }
    /// Move the end of an allocation's lease to a later moment.
    AllocationExtend = "allocation_extend", Post "/api/v1/allocations/{allocation_id}/extend", "allocations", ProjectUse { path: AllocationPath, body: AllocationExtendBody, answer: Ok AllocationView, if_match: Optional, problems: [LeaseRefused, StateConflict] }
    /// Release an allocation: stop it, wipe it, give it back.
    AllocationRelease = "allocation_release", Post "/api/v1/allocations/{allocation_id}/release", "allocations", ProjectUse { path: AllocationPath, answer: Accepted OperationView, if_match: Optional, problems: [StateConflict] }
    /// List allocations of all projects, by tenant and state.
    AllocationSurvey = "allocation_survey", Get "/api/v1/admin/allocations", "allocations", PlatformRead { query: AllocationQuery, answer: Ok Page<AllocationView>, problems: [InvalidPageToken] }
}
