//! Overrides: two operators let a slot go on that cannot be proved clean. One asks and says why, another decides within a
//! day; nobody does both. An override makes the slot available once and says nothing about any later use.

use crate::{
    endpoint::not_null,
    endpoints,
    page::{Page, PageQuery},
    supply::SlotPath,
};
use model::{
    SlotId, Timestamp, WipeOverrideId,
    supply::OverrideState,
    text::{Justification, Note},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names an override.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WipeOverridePath {
    /// The override.
    pub override_id: WipeOverrideId,
}

/// Why a slot should go on without a proof.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WipeOverrideRequestBody {
    /// Why the slot holds nothing of its last tenant all the same. The second operator judges by it, and it is kept.
    pub reason: Justification,
    /// Where the evidence is: a ticket, a protocol, a certificate of destruction.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub evidence_ref: Option<Note>,
}

/// A wish that a slot goes on without a proof, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WipeOverrideView {
    /// Its id.
    pub id: WipeOverrideId,
    /// The slot.
    pub slot_id: SlotId,
    /// The use that was not proved.
    pub use_generation: i64,
    /// Where it stands.
    pub execution: OverrideState,
    /// Why.
    pub reason: String,
    /// Where the evidence is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence_ref: String,
    /// Who asked.
    pub requested_by: String,
    /// When.
    pub requested_at: Timestamp,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// Until when it can be decided.
    pub expires_at: Timestamp,
    /// One sentence.
    pub projected: String,
    /// Rises by one with every change; the ETag.
    pub version: i64,
}

endpoints! {
    /// Ask that a blocked slot goes on without a proof of its wipe. Another operator has to agree.
    WipeOverrideRequest = "wipe_override_request", Post "/api/v1/admin/resource-slots/{slot_id}/override", "slots", FleetManage { path: SlotPath, body: WipeOverrideRequestBody, answer: Created WipeOverrideView, problems: [StateConflict] }
    /// List overrides, decided ones too.
    WipeOverrideList = "wipe_override_list", Get "/api/v1/admin/wipe-overrides", "slots", PlatformRead { query: PageQuery, answer: Ok Page<WipeOverrideView>, problems: [InvalidPageToken] }
    /// Show an override.
    WipeOverrideShow = "wipe_override_show", Get "/api/v1/admin/wipe-overrides/{override_id}", "slots", PlatformRead { path: WipeOverridePath, answer: Ok WipeOverrideView }
    /// Agree to an override that somebody else asked for. The slot is available from then on.
    WipeOverrideApprove = "wipe_override_approve", Post "/api/v1/admin/wipe-overrides/{override_id}/approve", "slots", FleetManage { path: WipeOverridePath, answer: Ok WipeOverrideView, problems: [StateConflict] }
    /// Refuse an override that somebody else asked for. The slot stays blocked.
    WipeOverrideReject = "wipe_override_reject", Post "/api/v1/admin/wipe-overrides/{override_id}/reject", "slots", FleetManage { path: WipeOverridePath, answer: Ok WipeOverrideView, problems: [StateConflict] }
}
