//! Governance: who may have how much of which GPUs, and in which order. Flavors, priority classes and hardware profiles are
//! what people choose by, so everybody reads them; cohorts, cluster queues and topologies are the operators'. Local queues
//! belong to projects, whose members read them. Only operators change any of it.
//!
//! Objects are set as a whole, one by one or all together in one document. The short name of an object is for ever.

use crate::{
    endpoint::{Nothing, not_null},
    endpoints,
    page::{Page, PageQuery},
    problem::FieldError,
    tenancy::ProjectPath,
};
use model::{
    GovernedId, ProjectId, Timestamp,
    governance::{
        ClusterQueue, Cohort, Flavor, Governance, HardwareProfile, Kind, LocalQueue, PriorityClass, Topology,
        check::FindingCode, difference::Action,
    },
    text::Slug,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a topology.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyPath {
    /// The topology, by its short name.
    pub topology: Slug,
}
/// Names a flavor.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlavorPath {
    /// The flavor, by its short name.
    pub flavor: Slug,
}
/// Names a priority class.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityClassPath {
    /// The priority class, by its short name.
    pub priority_class: Slug,
}
/// Names a cohort.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CohortPath {
    /// The cohort, by its short name.
    pub cohort: Slug,
}
/// Names a cluster queue.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterQueuePath {
    /// The cluster queue, by its short name.
    pub cluster_queue: Slug,
}
/// Names a hardware profile.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HardwareProfilePath {
    /// The hardware profile, by its short name.
    pub hardware_profile: Slug,
}
/// Names a local queue.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalQueuePath {
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// The local queue, by its short name in the project.
    pub local_queue: Slug,
}

/// An object of governance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}View")]
pub struct GovernedView<T> {
    /// Its id, for its events.
    pub id: GovernedId,
    /// What it says.
    pub spec: T,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// All objects at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GovernanceView {
    /// Rises by one with every change of any object; the ETag.
    pub version: i64,
    /// The objects. The same document can be applied.
    pub governance: Governance,
}

/// Objects that are wanted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GovernanceApplyBody {
    /// The objects, each said as a whole.
    pub governance: Governance,
    /// Whether objects that the document does not have go.
    #[serde(default)]
    pub prune: bool,
    /// Whether only to say what would happen.
    #[serde(default)]
    pub dry_run: bool,
}

impl GovernanceApplyBody {
    /// The rules between its fields.
    pub fn check(&self) -> Result<(), FieldError> {
        let Governance {
            topologies,
            flavors,
            priority_classes,
            cohorts,
            cluster_queues,
            local_queues,
            hardware_profiles,
        } = &self.governance;
        let counts = [
            (Kind::Topology, topologies.len()),
            (Kind::Flavor, flavors.len()),
            (Kind::PriorityClass, priority_classes.len()),
            (Kind::Cohort, cohorts.len()),
            (Kind::ClusterQueue, cluster_queues.len()),
            (Kind::LocalQueue, local_queues.len()),
            (Kind::HardwareProfile, hardware_profiles.len()),
        ];
        match counts.into_iter().find(|(_, count)| *count > Governance::LIST_MAX) {
            None => Ok(()),
            Some((kind, _)) => Err(FieldError {
                pointer: format!("/governance/{}", kind.list()),
                detail: format!("at most {} entries", Governance::LIST_MAX),
            }),
        }
    }
}

/// One field that says something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldChangeView {
    /// Its name.
    pub field: String,
    /// What it said, as JSON text.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it says, as JSON text.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What happens to one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GovernanceChangeView {
    /// Its kind.
    pub kind: Kind,
    /// The project, for local queues.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Its short name.
    pub slug: Slug,
    /// What happens.
    pub action: Action,
    /// Field by field.
    pub fields: Vec<FieldChangeView>,
}

/// Something that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    /// The kind of the object that says so.
    pub kind: Kind,
    /// The project, for local queues.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The object's short name.
    pub slug: Slug,
    /// JSON Pointer into the object.
    pub field: String,
    /// What is wrong.
    pub code: FindingCode,
    /// What would be accepted, or what it means.
    pub detail: String,
    /// Whether it keeps the change from being made.
    pub refuses: bool,
}

/// What an apply did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GovernanceAppliedView {
    /// The version of all objects together, after it.
    pub version: i64,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// What happens to each object that the document has, and to those that go.
    pub changes: Vec<GovernanceChangeView>,
    /// What is wrong, or worth knowing. What refuses is only here after a dry run.
    pub findings: Vec<FindingView>,
}

endpoints! {
    /// Show all objects of governance as one document.
    GovernanceShow = "governance_show", Get "/api/v1/admin/governance", "governance", PlatformRead { answer: Ok GovernanceView }
    /// Apply a document: all of it or nothing, in one transaction.
    GovernanceApply = "governance_apply", Post "/api/v1/admin/governance/apply", "governance", CatalogManage { body: GovernanceApplyBody, check: GovernanceApplyBody::check, answer: Ok GovernanceAppliedView, if_match: Optional, problems: [GovernanceRefused, StillInUse] }
    /// List topologies.
    TopologyList = "topology_list", Get "/api/v1/admin/topologies", "topologies", PlatformRead { query: PageQuery, answer: Ok Page<GovernedView<Topology>>, problems: [InvalidPageToken] }
    /// Show a topology.
    TopologyShow = "topology_show", Get "/api/v1/admin/topologies/{topology}", "topologies", PlatformRead { path: TopologyPath, answer: Ok GovernedView<Topology> }
    /// Make a topology, or change it.
    TopologyPut = "topology_put", Put "/api/v1/admin/topologies/{topology}", "topologies", CatalogManage { path: TopologyPath, body: Topology, answer: Ok GovernedView<Topology>, if_match: Optional, problems: [GovernanceRefused] }
    /// Delete a topology that no flavor has.
    TopologyDelete = "topology_delete", Delete "/api/v1/admin/topologies/{topology}", "topologies", CatalogManage { path: TopologyPath, answer: NoContent Nothing, if_match: Optional, problems: [StillInUse] }
    /// List flavors.
    FlavorList = "flavor_list", Get "/api/v1/flavors", "flavors", CatalogRead { query: PageQuery, answer: Ok Page<GovernedView<Flavor>>, problems: [InvalidPageToken] }
    /// Show a flavor.
    FlavorShow = "flavor_show", Get "/api/v1/flavors/{flavor}", "flavors", CatalogRead { path: FlavorPath, answer: Ok GovernedView<Flavor> }
    /// Make a flavor, or change it.
    FlavorPut = "flavor_put", Put "/api/v1/flavors/{flavor}", "flavors", CatalogManage { path: FlavorPath, body: Flavor, answer: Ok GovernedView<Flavor>, if_match: Optional, problems: [GovernanceRefused] }
    /// Delete a flavor in which there is no quota.
    FlavorDelete = "flavor_delete", Delete "/api/v1/flavors/{flavor}", "flavors", CatalogManage { path: FlavorPath, answer: NoContent Nothing, if_match: Optional, problems: [StillInUse] }
    /// List priority classes.
    PriorityClassList = "priority_class_list", Get "/api/v1/priority-classes", "priority classes", CatalogRead { query: PageQuery, answer: Ok Page<GovernedView<PriorityClass>>, problems: [InvalidPageToken] }
    /// Show a priority class.
    PriorityClassShow = "priority_class_show", Get "/api/v1/priority-classes/{priority_class}", "priority classes", CatalogRead { path: PriorityClassPath, answer: Ok GovernedView<PriorityClass> }
    /// Make a priority class, or change it.
    PriorityClassPut = "priority_class_put", Put "/api/v1/priority-classes/{priority_class}", "priority classes", CatalogManage { path: PriorityClassPath, body: PriorityClass, answer: Ok GovernedView<PriorityClass>, if_match: Optional, problems: [GovernanceRefused] }
    /// Delete a priority class that no hardware profile has.
    PriorityClassDelete = "priority_class_delete", Delete "/api/v1/priority-classes/{priority_class}", "priority classes", CatalogManage { path: PriorityClassPath, answer: NoContent Nothing, if_match: Optional, problems: [StillInUse] }
    /// List hardware profiles.
    HardwareProfileList = "hardware_profile_list", Get "/api/v1/hardware-profiles", "hardware profiles", CatalogRead { query: PageQuery, answer: Ok Page<GovernedView<HardwareProfile>>, problems: [InvalidPageToken] }
    /// Show a hardware profile.
    HardwareProfileShow = "hardware_profile_show", Get "/api/v1/hardware-profiles/{hardware_profile}", "hardware profiles", CatalogRead { path: HardwareProfilePath, answer: Ok GovernedView<HardwareProfile> }
    /// Make a hardware profile, or change it.
    HardwareProfilePut = "hardware_profile_put", Put "/api/v1/hardware-profiles/{hardware_profile}", "hardware profiles", CatalogManage { path: HardwareProfilePath, body: HardwareProfile, answer: Ok GovernedView<HardwareProfile>, if_match: Optional, problems: [GovernanceRefused] }
    /// Delete a hardware profile.
    HardwareProfileDelete = "hardware_profile_delete", Delete "/api/v1/hardware-profiles/{hardware_profile}", "hardware profiles", CatalogManage { path: HardwareProfilePath, answer: NoContent Nothing, if_match: Optional, problems: [StillInUse] }
    /// List cohorts.
    CohortList = "cohort_list", Get "/api/v1/admin/cohorts", "cohorts", PlatformRead { query: PageQuery, answer: Ok Page<GovernedView<Cohort>>, problems: [InvalidPageToken] }
    /// Show a cohort.
    CohortShow = "cohort_show", Get "/api/v1/admin/cohorts/{cohort}", "cohorts", PlatformRead { path: CohortPath, answer: Ok GovernedView<Cohort> }
    /// Make a cohort, or change it.
    CohortPut = "cohort_put", Put "/api/v1/admin/cohorts/{cohort}", "cohorts", CatalogManage { path: CohortPath, body: Cohort, answer: Ok GovernedView<Cohort>, if_match: Optional, problems: [GovernanceRefused] }
    /// Delete a cohort that has no members.
    CohortDelete = "cohort_delete", Delete "/api/v1/admin/cohorts/{cohort}", "cohorts", CatalogManage { path: CohortPath, answer: NoContent Nothing, if_match: Optional, problems: [StillInUse] }
    /// List cluster queues.
    ClusterQueueList = "cluster_queue_list", Get "/api/v1/admin/cluster-queues", "cluster queues", PlatformRead { query: PageQuery, answer: Ok Page<GovernedView<ClusterQueue>>, problems: [InvalidPageToken] }
    /// Show a cluster queue.
    ClusterQueueShow = "cluster_queue_show", Get "/api/v1/admin/cluster-queues/{cluster_queue}", "cluster queues", PlatformRead { path: ClusterQueuePath, answer: Ok GovernedView<ClusterQueue> }
    /// Make a cluster queue, or change it.
    ClusterQueuePut = "cluster_queue_put", Put "/api/v1/admin/cluster-queues/{cluster_queue}", "cluster queues", CatalogManage { path: ClusterQueuePath, body: ClusterQueue, answer: Ok GovernedView<ClusterQueue>, if_match: Optional, problems: [GovernanceRefused] }
    /// Delete a cluster queue that no local queue leads to.
    ClusterQueueDelete = "cluster_queue_delete", Delete "/api/v1/admin/cluster-queues/{cluster_queue}", "cluster queues", CatalogManage { path: ClusterQueuePath, answer: NoContent Nothing, if_match: Optional, problems: [StillInUse] }
    /// List a project's local queues.
    LocalQueueList = "local_queue_list", Get "/api/v1/projects/{project_id}/queues", "local queues", ProjectRead { path: ProjectPath, query: PageQuery, answer: Ok Page<GovernedView<LocalQueue>>, problems: [InvalidPageToken] }
    /// Show a local queue.
    LocalQueueShow = "local_queue_show", Get "/api/v1/projects/{project_id}/queues/{local_queue}", "local queues", ProjectRead { path: LocalQueuePath, answer: Ok GovernedView<LocalQueue> }
    /// Make a local queue, or change it.
    LocalQueuePut = "local_queue_put", Put "/api/v1/projects/{project_id}/queues/{local_queue}", "local queues", CatalogManage { path: LocalQueuePath, body: LocalQueue, answer: Ok GovernedView<LocalQueue>, if_match: Optional, problems: [GovernanceRefused] }
    /// Delete a local queue in which there is no work.
    LocalQueueDelete = "local_queue_delete", Delete "/api/v1/projects/{project_id}/queues/{local_queue}", "local queues", CatalogManage { path: LocalQueuePath, answer: NoContent Nothing, if_match: Optional, problems: [StillInUse] }
}
