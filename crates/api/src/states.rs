//! The four states that are never mixed up, as every living thing shows them: what is wanted (`desired`), what evidence
//! says (`observed`), what the workflow is doing (`execution`), and one sentence for the reader (`projected`).

use model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a workflow waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitView {
    /// A stable code.
    pub code: String,
    /// What it waits for and what would end it.
    pub because: String,
    /// The line of source that decided to wait.
    pub source: String,
    /// After this the wait is over budget and an alert is raised.
    pub until: Timestamp,
    /// Whether that moment has passed.
    pub over_budget: bool,
}

/// The last fault of a workflow that is being tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultView {
    /// How many times in a row.
    pub count: i64,
    /// The last one.
    pub last: String,
}

/// How far a living thing has come, shared by every view of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressView {
    /// When the current execution state was entered.
    pub since: Timestamp,
    /// Why it waits, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitView>,
    /// Present when the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultView>,
}
