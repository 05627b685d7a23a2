//! The way in to a guest. A stream is a connection that was upgraded: after the `101` it carries the bytes of the guest's SSH
//! server, or of its serial console, and nothing else. Each is audited when it opens and when it ends; what a console
//! prints is recorded.
//!
//! A stream ends within seconds when the allocation leaves `running`, when the token or the role behind it ends, when the
//! tenant is suspended, and when the node's identity is revoked.

use crate::{
    allocation::AllocationPath,
    endpoint::Nothing,
    endpoints,
    page::{Page, PageQuery},
};
use model::{
    AllocationId, PrincipalId, ProjectId, StreamId, TenantId, Timestamp,
    stream::{StreamEnding, StreamKind, StreamState},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a stream.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamPath {
    /// The stream.
    pub stream_id: StreamId,
}

/// What was kept of what a console printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingView {
    /// How many bytes.
    pub bytes: i64,
    /// Their SHA-256 in hexadecimal; the audit trail has the same.
    pub sha256: String,
    /// Whether more was printed than is kept of one stream.
    pub cut: bool,
}

/// A stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamView {
    /// Its id.
    pub id: StreamId,
    /// To whose guest.
    pub allocation_id: AllocationId,
    /// The tenant that holds it.
    pub tenant_id: TenantId,
    /// The project that holds it.
    pub project_id: ProjectId,
    /// What it carries.
    pub kind: StreamKind,
    /// Where it stands.
    pub state: StreamState,
    /// Who asked for it.
    pub opened_by: PrincipalId,
    /// From which address.
    pub from: String,
    /// When it was asked for.
    pub wanted_at: Timestamp,
    /// When the host opened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_how: Option<StreamEnding>,
    /// Bytes to the guest; known when it has ended.
    pub to_guest_bytes: i64,
    /// Bytes from the guest; known when it has ended.
    pub from_guest_bytes: i64,
    /// What was recorded of a console; known when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingView>,
}

endpoints! {
    /// Open a stream to the SSH server of an allocation's guest.
    AllocationSsh = "allocation_ssh", Get "/api/v1/allocations/{allocation_id}/ssh", "streams", ProjectUse { path: AllocationPath, answer: Upgraded Nothing, problems: [UpgradeRequired, StateConflict, StreamLimit, GuestUnreachable] }
    /// Open a stream to the serial console of an allocation's guest. What it prints is recorded.
    AllocationConsole = "allocation_console", Get "/api/v1/allocations/{allocation_id}/console", "streams", ProjectUse { path: AllocationPath, answer: Upgraded Nothing, problems: [UpgradeRequired, StateConflict, StreamLimit, GuestUnreachable] }
    /// List the streams to an allocation's guest, ended ones too.
    StreamList = "stream_list", Get "/api/v1/allocations/{allocation_id}/streams", "streams", ProjectRead { path: AllocationPath, query: PageQuery, answer: Ok Page<StreamView>, problems: [InvalidPageToken] }
    /// Show a stream.
    StreamShow = "stream_show", Get "/api/v1/streams/{stream_id}", "streams", ProjectRead { path: StreamPath, answer: Ok StreamView }
    /// Download what a console printed. For those who may use the project, and those who may read its audit trail.
    StreamRecording = "stream_recording", Get "/api/v1/streams/{stream_id}/recording", "streams", ProjectRead { path: StreamPath, answer: Bytes Nothing, problems: [StateConflict] }
}
