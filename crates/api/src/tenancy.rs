//! Tenants and projects.

use crate::{
    endpoint::not_null,
    endpoints,
    operation::OperationView,
    page::{Page, PageQuery},
    states::ProgressView,
};
use model::{
    ProjectId, TenantId, Timestamp,
    number::GpuCap,
    tenancy::{Desired, State},
    text::{DisplayName, Slug},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a tenant.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantPath {
    /// The tenant.
    pub tenant_id: TenantId,
}

/// Names a project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPath {
    /// The project.
    pub project_id: ProjectId,
}

/// A new tenant.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantCreateBody {
    /// Short name, unique among tenants.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
}

/// What may change about a tenant.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantUpdateBody {
    /// Name for people.
    pub name: DisplayName,
}

/// What is in a tenant or project, counted when it was shown; in lists, when its workflow last moved. Once it is deleted this is the proof that nothing is left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holdings {
    /// Projects that are not deleted; 0 for a project.
    pub projects: i64,
    /// Memberships.
    pub members: i64,
    /// Service accounts; 0 for a project.
    pub service_accounts: i64,
    /// Tokens that still work.
    pub tokens: i64,
    /// Allocations that have not ended.
    pub allocations: i64,
    /// Active claims.
    pub claims: i64,
    /// When this was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_at: Option<Timestamp>,
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TenantView {
    /// Its id.
    pub id: TenantId,
    /// Short name.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// What is wanted.
    pub desired: Desired,
    /// What is in it.
    pub observed: Holdings,
    /// What its workflow is doing.
    pub execution: State,
    /// One sentence.
    pub projected: String,
    /// How far the workflow has come.
    pub progress: ProgressView,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// A new project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectCreateBody {
    /// Short name, unique in the tenant.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// GPUs it may hold at once.
    pub gpu_cap: GpuCap,
}

/// What may change about a project. At least one field.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct ProjectUpdateBody {
    /// Name for people.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<DisplayName>,
    /// GPUs it may hold at once.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub gpu_cap: Option<GpuCap>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectView {
    /// Its id.
    pub id: ProjectId,
    /// The tenant that owns it.
    pub tenant_id: TenantId,
    /// Short name.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// GPUs it may hold at once.
    pub gpu_cap: i64,
    /// What is wanted.
    pub desired: Desired,
    /// What is in it.
    pub observed: Holdings,
    /// What its workflow is doing.
    pub execution: State,
    /// One sentence.
    pub projected: String,
    /// How far the workflow has come.
    pub progress: ProgressView,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

endpoints! {
    /// List the tenants the caller may see.
    TenantList = "tenant_list", Get "/api/v1/tenants", "tenants", SelfRead { query: PageQuery, answer: Ok Page<TenantView>, problems: [InvalidPageToken] }
    /// Create a tenant.
    TenantCreate = "tenant_create", Post "/api/v1/tenants", "tenants", PlatformManage { body: TenantCreateBody, answer: Created TenantView, problems: [NameTaken] }
    /// Show a tenant.
    TenantShow = "tenant_show", Get "/api/v1/tenants/{tenant_id}", "tenants", TenantRead { path: TenantPath, answer: Ok TenantView }
    /// Rename a tenant.
    TenantUpdate = "tenant_update", Patch "/api/v1/tenants/{tenant_id}", "tenants", TenantManage { path: TenantPath, body: TenantUpdateBody, answer: Ok TenantView, if_match: Required, problems: [StateConflict] }
    /// Suspend a tenant: what runs goes on, nothing new starts.
    TenantSuspend = "tenant_suspend", Post "/api/v1/tenants/{tenant_id}/suspend", "tenants", PlatformManage { path: TenantPath, answer: Accepted OperationView, if_match: Optional, problems: [StateConflict] }
    /// End the suspension of a tenant.
    TenantResume = "tenant_resume", Post "/api/v1/tenants/{tenant_id}/resume", "tenants", PlatformManage { path: TenantPath, answer: Accepted OperationView, if_match: Optional, problems: [StateConflict] }
    /// Delete a tenant and everything in it, with proof that nothing is left.
    TenantDelete = "tenant_delete", Delete "/api/v1/tenants/{tenant_id}", "tenants", PlatformManage { path: TenantPath, answer: Accepted OperationView, if_match: Required, problems: [StateConflict] }
    /// List the projects of a tenant that the caller may see.
    ProjectList = "project_list", Get "/api/v1/tenants/{tenant_id}/projects", "projects", TenantRead { path: TenantPath, query: PageQuery, answer: Ok Page<ProjectView>, problems: [InvalidPageToken] }
    /// Create a project.
    ProjectCreate = "project_create", Post "/api/v1/tenants/{tenant_id}/projects", "projects", TenantManage { path: TenantPath, body: ProjectCreateBody, answer: Created ProjectView, problems: [NameTaken, StateConflict] }
    /// Show a project.
    ProjectShow = "project_show", Get "/api/v1/projects/{project_id}", "projects", ProjectRead { path: ProjectPath, answer: Ok ProjectView }
    /// Change a project's name or cap.
    ProjectUpdate = "project_update", Patch "/api/v1/projects/{project_id}", "projects", ProjectManage { path: ProjectPath, body: ProjectUpdateBody, answer: Ok ProjectView, if_match: Required, problems: [StateConflict] }
    /// Suspend a project: what runs goes on, nothing new starts.
    ProjectSuspend = "project_suspend", Post "/api/v1/projects/{project_id}/suspend", "projects", ProjectManage { path: ProjectPath, answer: Accepted OperationView, if_match: Optional, problems: [StateConflict] }
    /// End the suspension of a project.
    ProjectResume = "project_resume", Post "/api/v1/projects/{project_id}/resume", "projects", ProjectManage { path: ProjectPath, answer: Accepted OperationView, if_match: Optional, problems: [StateConflict] }
    /// Delete a project and everything in it, with proof that nothing is left.
    ProjectDelete = "project_delete", Delete "/api/v1/projects/{project_id}", "projects", ProjectManage { path: ProjectPath, answer: Accepted OperationView, if_match: Required, problems: [StateConflict] }
}
