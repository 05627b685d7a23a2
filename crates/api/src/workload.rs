//! Workloads: what waits in a queue and is admitted as a whole. A launch in a project that has a queue is a workload of one
//! allocation; several that only make sense together are submitted as one workload with members.

use crate::{
    allocation::AllocationLaunchBody,
    endpoint::not_null,
    endpoints,
    operation::OperationView,
    page::{Page, PageQuery, PageToken, paged},
    problem::FieldError,
    queue::ExplanationView,
    states::ProgressView,
    tenancy::ProjectPath,
};
use model::{
    AllocationId, PreemptionId, ProjectId, RegionId, SkuId, TenantId, Timestamp, WorkloadId,
    allocation::{self, Desired},
    number::{MemberCount, PageSize},
    sku::CapacityShape,
    text::Slug,
    workload::{IfUnavailable, PreemptionRule, State},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a workload.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPath {
    /// The workload.
    pub workload_id: WorkloadId,
}

/// Members that start together or not at all.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSubmitBody {
    /// How many members.
    pub members: MemberCount,
    /// What each of them is; its name is that of the workload as well.
    pub launch: AllocationLaunchBody,
}

impl WorkloadSubmitBody {
    /// The rules between its fields.
    pub fn check(&self) -> Result<(), FieldError> {
        let inside = |error: FieldError| FieldError { pointer: format!("/launch{}", error.pointer), ..error };
        self.launch.check().map_err(inside)
    }
}

/// Another priority.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPriorityBody {
    /// The class that its priority comes from.
    pub priority_class: Slug,
}

/// Whether a workload is kept from being admitted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadGateBody {
    /// Closed, it waits whatever there is room for.
    pub closed: bool,
}

/// Which workloads.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadQuery {
    /// Only of this cluster queue.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub queue: Option<Slug>,
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

paged!(WorkloadQuery);

/// What is told to a workload that has to go, in its event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreemptionNotice {
    /// The preemption.
    pub preemption_id: PreemptionId,
    /// For whom; absent when its queue is being emptied, and where that one is another tenant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_workload_id: Option<WorkloadId>,
    /// The queue of that one; absent when its own queue is being emptied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_queue: Option<Slug>,
    /// Under which rule.
    pub rule: PreemptionRule,
    /// How long the notice is.
    pub notice_s: i64,
    /// How long guests may take to stop after that.
    pub grace_s: i64,
    /// When its members are stopped, unless its work is saved before.
    pub stop_at: Timestamp,
}

/// One time that a workload was told to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreemptionView {
    /// Its id.
    pub id: PreemptionId,
    /// For whom; absent when its queue is being emptied, and where that one is another tenant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_workload_id: Option<WorkloadId>,
    /// The queue of that one; absent when its own queue is being emptied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_queue: Option<Slug>,
    /// Under which rule.
    pub rule: PreemptionRule,
    /// How long the notice was.
    pub notice_s: i64,
    /// How long guests may take to stop after that.
    pub grace_s: i64,
    /// When it was told.
    pub noticed_at: Timestamp,
    /// When its members are stopped, unless its work is saved before.
    pub stop_at: Timestamp,
    /// When its guest said that the work is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpointed_at: Option<Timestamp>,
    /// When its members were told to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Timestamp>,
    /// When the last of them was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadMemberView {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// What is wanted of it.
    pub desired: Desired,
    /// What its workflow is doing.
    pub execution: allocation::State,
}

/// One flavor that would do for a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareChoiceView {
    /// The flavor whose quota it would use.
    pub flavor: Slug,
    /// The SKU that it would be sold as.
    pub sku_id: SkuId,
}

/// What may serve a workload that named a hardware profile, as the profile was when the workload was submitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareView {
    /// The profile.
    pub profile: Slug,
    /// What would do, in the order of the profile; which of it can be had first is for the queue to say.
    pub choices: Vec<HardwareChoiceView>,
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadView {
    /// Its id.
    pub id: WorkloadId,
    /// The tenant it belongs to.
    pub tenant_id: TenantId,
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// Its name.
    pub name: Slug,
    /// The queue of the project that it was submitted to.
    pub queue: Slug,
    /// The queue with quota behind that.
    pub cluster_queue: Slug,
    /// The class that its priority comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<Slug>,
    /// Its priority; higher goes first.
    pub priority: i64,
    /// Its members: those that live, and those that ended and were not launched again.
    pub members: Vec<WorkloadMemberView>,
    /// How many members it has.
    pub member_count: i64,
    /// What each member is; of one that named a hardware profile and waits, what it was last or is first to be.
    pub sku_id: SkuId,
    /// What may serve it, where it named a hardware profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareView>,
    /// In which form.
    pub shape: CapacityShape,
    /// How many GPUs each member has.
    pub gpu_count: i64,
    /// Where.
    pub region_id: RegionId,
    /// What to do when it cannot start at once.
    pub if_unavailable: IfUnavailable,
    /// How long it runs at most, from its admission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_run_s: Option<i64>,
    /// What is wanted.
    pub desired: Desired,
    /// What its workflow is doing.
    pub execution: State,
    /// One sentence.
    pub projected: String,
    /// How far the workflow has come.
    pub progress: ProgressView,
    /// Its place in the queue, from 1; only while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<i64>,
    /// Why it waits; only while it does, and once somebody has looked at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<ExplanationView>,
    /// Since when it has its place in the queue; kept over preemptions.
    pub queued_at: Timestamp,
    /// Not to be admitted before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// An operator keeps it from being admitted.
    pub gated: bool,
    /// How often it was stopped and queued again.
    pub stops: i64,
    /// The kind of GPUs whose quota it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flavor: Option<Slug>,
    /// How many of its GPUs are borrowed, and can be reclaimed.
    pub borrowed_gpus: i64,
    /// When it was admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admitted_at: Option<Timestamp>,
    /// The last time it was told to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<PreemptionView>,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it was submitted.
    pub created_at: Timestamp,
}

/// Why a workload stands where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadExplanationView {
    /// The workload.
    pub workload_id: WorkloadId,
    /// What its workflow is doing.
    pub execution: State,
    /// The queue with quota.
    pub cluster_queue: Slug,
    /// Its place in the queue, from 1; only while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<i64>,
    /// Why it waits: a code, with its numbers and objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<ExplanationView>,
    /// Since when that code holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_since: Option<Timestamp>,
    /// Not to be admitted before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// An operator keeps it from being admitted.
    pub gated: bool,
    /// Every time that it was told to go, oldest first; the last hundred.
    pub preemptions: Vec<PreemptionView>,
    /// One sentence.
    pub projected: String,
}

endpoints! {
    /// List a project's workloads.
    WorkloadList = "workload_list", Get "/api/v1/projects/{project_id}/workloads", "workloads", ProjectRead { path: ProjectPath, query: PageQuery, answer: Ok Page<WorkloadView>, problems: [InvalidPageToken] }
    /// Submit members that start together or not at all.
    WorkloadSubmit = "workload_submit", Post "/api/v1/projects/{project_id}/workloads", "workloads", ProjectUse { path: ProjectPath, body: WorkloadSubmitBody, check: WorkloadSubmitBody::check, answer: Accepted OperationView, problems: [UnknownReference, QueueMissing, NotForSale, LeaseRefused, ImageUnavailable, ImageUnfit, LabOnly, QuotaExceeded, StateConflict] }
    /// Show a workload.
    WorkloadShow = "workload_show", Get "/api/v1/workloads/{workload_id}", "workloads", ProjectRead { path: WorkloadPath, answer: Ok WorkloadView }
    /// Say why a workload stands where it stands.
    WorkloadExplain = "workload_explain", Get "/api/v1/workloads/{workload_id}/explanation", "workloads", ProjectRead { path: WorkloadPath, answer: Ok WorkloadExplanationView }
    /// Give a workload back, waiting or running, with all its members.
    WorkloadCancel = "workload_cancel", Post "/api/v1/workloads/{workload_id}/cancel", "workloads", ProjectUse { path: WorkloadPath, answer: Accepted OperationView, if_match: Optional, problems: [StateConflict] }
    /// Change a workload's priority.
    WorkloadPriority = "workload_priority", Put "/api/v1/workloads/{workload_id}/priority", "workloads", ProjectUse { path: WorkloadPath, body: WorkloadPriorityBody, answer: Ok WorkloadView, if_match: Optional, problems: [UnknownReference, StateConflict] }
    /// List workloads of all projects, by queue and state.
    WorkloadSurvey = "workload_survey", Get "/api/v1/admin/workloads", "workloads", PlatformRead { query: WorkloadQuery, answer: Ok Page<WorkloadView>, problems: [InvalidPageToken] }
    /// Keep a workload from being admitted, or let it go on.
    WorkloadGate = "workload_gate", Post "/api/v1/admin/workloads/{workload_id}/gate", "workloads", CatalogManage { path: WorkloadPath, body: WorkloadGateBody, answer: Ok WorkloadView, if_match: Optional, problems: [StateConflict] }
}
