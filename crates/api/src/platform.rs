//! The platform itself: what it is, who leads, what is stuck.

use crate::endpoints;
use model::{Timestamp, event::Noun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What this server speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiIndexView {
    /// The version of the contract.
    pub api_version: String,
    /// The version of the program.
    pub program_version: String,
    /// Additions to the contract that clients may test for.
    pub extensions: Vec<String>,
}

/// Who decides now, and how far the records have come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlatformStatusView {
    /// `sqlite` or `postgres`.
    pub store_engine: String,
    /// Which store this is.
    pub store_id: String,
    /// Raised when a backup is restored.
    pub incarnation: i64,
    /// The replica that answered.
    pub replica: String,
    /// The replica that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// How many times the lead has changed hands.
    pub epoch: i64,
    /// The newest numbered event.
    pub event_head: i64,
    /// The newest chained audit entry.
    pub audit_head: i64,
    /// Things whose wait is over budget.
    pub over_budget: i64,
}

/// Something that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StuckView {
    /// What kind of thing.
    pub noun: Noun,
    /// Which.
    pub subject_id: String,
    /// The state it is in.
    pub execution: String,
    /// A stable code.
    pub code: String,
    /// What it waits for and what would end it.
    pub because: String,
    /// The line of source that decided to wait.
    pub source: String,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// When the wait is, or was, over budget.
    pub until: Timestamp,
}

/// What waits, most overdue first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StuckList {
    /// At most 200.
    pub items: Vec<StuckView>,
}

endpoints! {
    /// Say what this server speaks.
    ApiIndex = "api_index", Get "/api/v1", "platform", SelfRead { answer: Ok ApiIndexView }
    /// Show who leads and how far the records have come.
    PlatformStatus = "platform_status", Get "/api/v1/admin/status", "platform", PlatformRead { answer: Ok PlatformStatusView }
    /// List what waits, most overdue first.
    WaitList = "wait_list", Get "/api/v1/admin/waits", "platform", PlatformRead { answer: Ok StuckList }
}
