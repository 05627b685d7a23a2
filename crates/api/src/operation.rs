//! Operations: long work started by a request, to be followed until it ends.

use crate::{
    endpoints,
    page::{Page, PageQuery},
    placement::PlacementRefusal,
    problem::Code,
};
use model::{OperationId, PrincipalId, ProjectId, TenantId, Timestamp, event::Noun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

model::text_enum! {
    /// Where an operation stands.
    OperationState {
        /// Not ended.
        Running = "running",
        /// The wish came true.
        Succeeded = "succeeded",
        /// It will not come true; the error says why.
        Failed = "failed",
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationError {
    /// The stable code.
    pub code: Code,
    /// One sentence.
    pub detail: String,
    /// What a refused placement counted, and what would end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<PlacementRefusal>,
}

/// How far an operation has come. Steps are counted, not measured: one may take a moment and the next an hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationProgress {
    /// What is being done now, in one sentence.
    pub description: String,
    /// Steps that are behind it.
    pub done_steps: u32,
    /// All steps of this kind of work.
    pub total_steps: u32,
}

/// Names an operation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationPath {
    /// The operation.
    pub operation_id: OperationId,
}

/// Long work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationView {
    /// Its id.
    pub id: OperationId,
    /// The operation of the API that started it.
    pub kind: String,
    /// What kind of thing it works on.
    pub noun: Noun,
    /// The thing it works on.
    pub subject_id: String,
    /// The tenant it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// The project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Who started it.
    pub created_by: PrincipalId,
    /// Where it stands.
    pub state: OperationState,
    /// How far it has come; absent once it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<OperationProgress>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<OperationError>,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

endpoints! {
    /// List the operations the caller may see.
    OperationList = "operation_list", Get "/api/v1/operations", "operations", SelfRead { query: PageQuery, answer: Ok Page<OperationView>, problems: [InvalidPageToken] }
    /// Show an operation.
    OperationShow = "operation_show", Get "/api/v1/operations/{operation_id}", "operations", SelfRead { path: OperationPath, answer: Ok OperationView }
}
