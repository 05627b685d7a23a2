//! What a node's agent and the control plane say to each other.
//!
//! The agent calls; nothing calls the agent. Every message may be lost, doubled, late or out of order, and none of that
//! may matter: an order carries its id and fence, an answer is repeated until it is acknowledged, and an acknowledgement
//! that is lost is simply given again. There is no free-form field an agent would act on.
//!
//! All of it travels as JSON over TLS 1.3. An agent that has no certificate yet may only enroll; every other call needs one,
//! and who calls is read from it alone. A call that is refused is answered with a [`Problem`](crate::Problem):
//!
//! | call | body | answer |
//! |---|---|---|
//! | `POST` [`ENROLL_PATH`] | [`EnrollRequest`] | [`EnrollAnswer`] |
//! | `POST` [`RENEW_PATH`] | [`RenewRequest`] | [`RenewAnswer`] |
//! | `POST` [`MESSAGES_PATH`]`?wait_s=N` | a list of [`ToControl`] | a list of [`FromControl`] |
//! | `GET` [`IMAGES_PATH`]`/{sha256}` | | the bytes of an image that a guest of the node needs |
//! | `POST` [`STREAM_PATH`]`/{id}` | | an upgrade to [`STREAM_PROTOCOL`] |
//!
//! With `wait_s` a call that polls is held until there is an order for the node, or until the time is up.

pub use model::stream::StreamKind;
use model::{
    AllocationId, NodeId, StreamId, TaskId, Timestamp,
    runtime::{PlanReport, ReconcileReport, WorkProgress},
    task::{Fence, Task, TaskResult},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{Discovery, Readiness};

/// No more orders than this in one answer to a poll; the rest come with the next.
pub const TASKS_OFFERED_MAX: usize = 32;
/// Where an agent without a certificate gets its first one.
pub const ENROLL_PATH: &str = "/agent/v1/enroll";
/// Where an agent gets its next certificate.
pub const RENEW_PATH: &str = "/agent/v1/renew";
/// Where messages go.
pub const MESSAGES_PATH: &str = "/agent/v1/messages";
/// Where an agent fetches an image's bytes, by the SHA-256 of its file: `GET` this`/{sha256}`.
pub const IMAGES_PATH: &str = "/agent/v1/images";
/// Where an agent opens a stream that was wanted: `POST` this`/{id}` with [`STREAM_PROTOCOL`] as `Upgrade`.
pub const STREAM_PATH: &str = "/agent/v1/streams";
/// What a call is upgraded to: bytes in both directions, nothing else.
pub const STREAM_PROTOCOL: &str = "gpuaas-stream";
/// Seconds within which an agent has to open a stream that is wanted.
pub const STREAM_OPEN_S_MAX: u64 = 15;
/// The header in which an agent names its session with every call, so that a second agent with the same identity is
/// noticed whatever it says. The same word as in [`Heartbeat::session`].
pub const SESSION_HEADER: &str = "agent-session";
/// The longest wait that can be asked for, in seconds.
pub const WAIT_S_MAX: u64 = 30;
/// The largest body that is read; a larger one is refused, and held against the node.
pub const MESSAGES_BYTES_MAX: usize = 1024 * 1024;
/// The largest report, in bytes of JSON.
pub const REPORT_BYTES_MAX: usize = 256 * 1024;
/// Messages in one call at most.
pub const MESSAGES_MAX: usize = 128;
/// Bytes of one answer to an order at most, as JSON and without its report.
pub const RESULT_BYTES_MAX: usize = 128 * 1024;
/// Letters of a session at most.
pub const SESSION_LETTERS_MAX: usize = 64;
/// How many seconds a host's clock may be off.
pub const CLOCK_OFF_S_MAX: i64 = 120;
/// Seconds between heartbeats.
pub const HEARTBEAT_S: u32 = 10;

/// "Let me in." An agent's first call, with the secret of a one-time token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnrollRequest {
    /// The secret.
    pub secret: String,
    /// A PKCS #10 certificate request for the node's Ed25519 key, in PEM. Only the key is taken from it.
    pub csr_pem: String,
    /// The serial number of the mainboard, as far as the host knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_serial: Option<String>,
    /// The version of the agent.
    pub agent_version: String,
}

// A secret never appears in a log.
impl std::fmt::Debug for EnrollRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnrollRequest").field("hardware_serial", &self.hardware_serial).finish_non_exhaustive()
    }
}

/// "You are in."
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnrollAnswer {
    /// Who the node is from now on.
    pub node_id: NodeId,
    /// Its certificate, in PEM.
    pub certificate_pem: String,
    /// The authority that signed it, in PEM.
    pub authority_pem: String,
    /// Until when the certificate is good.
    pub not_after: Timestamp,
    /// Seconds between heartbeats.
    pub heartbeat_s: u32,
}

/// "My certificate ends soon." The request must be for the same key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    /// A PKCS #10 certificate request for the node's key, in PEM.
    pub csr_pem: String,
    /// The version of the agent.
    pub agent_version: String,
}

/// "Here is the next one." The old one stays good until it ends by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewAnswer {
    /// The new certificate, in PEM.
    pub certificate_pem: String,
    /// The authority that signed it, in PEM.
    pub authority_pem: String,
    /// Until when the certificate is good.
    pub not_after: Timestamp,
    /// Seconds between heartbeats.
    pub heartbeat_s: u32,
}

/// "I am here." Sent every ten seconds; only ever changes what is scheduled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Who calls.
    pub node_id: NodeId,
    /// How many times this agent has started; it only grows, so an answer from before a restart can be told apart.
    pub boot: i64,
    /// Chosen at random when the process started: two agents that share an identity cannot both be it.
    pub session: String,
    /// The host's clock.
    pub sent_at: Timestamp,
}

/// "What is there for me to do?" Answered with every order that is open for the node, whether offered before or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// Who calls.
    pub node_id: NodeId,
    /// How many times this agent has started.
    pub boot: i64,
}

/// "This is how that order ended." Repeated until acknowledged; the same order always ends the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskAnswer {
    /// Who calls.
    pub node_id: NodeId,
    /// How many times this agent has started.
    pub boot: i64,
    /// How it ended.
    pub result: TaskResult,
    /// What was seen, for orders to look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<TaskReport>,
}

/// What an agent saw when it was ordered to look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "body")]
pub enum TaskReport {
    /// What the host has.
    #[serde(rename = "slice.topology_discover")]
    SliceTopologyDiscover(Box<Discovery>),
    /// Whether it is ready, and what is missing.
    #[serde(rename = "node.readiness")]
    NodeReadiness(Box<Readiness>),
    /// What a guest would get.
    #[serde(rename = "slice.plan")]
    SlicePlan(Box<PlanReport>),
    /// What was not as it should be.
    #[serde(rename = "slice.reconcile")]
    SliceReconcile(Box<ReconcileReport>),
}

/// "I am still at it." Changes nothing but what people are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskProgress {
    /// Who calls.
    pub node_id: NodeId,
    /// How many times this agent has started.
    pub boot: i64,
    /// The order.
    pub task_id: TaskId,
    /// Its fence.
    pub fence: Fence,
    /// What is being done, and how far it has come.
    pub progress: WorkProgress,
}

/// The orders that are open for the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TasksOffered {
    /// At most [`TASKS_OFFERED_MAX`], oldest first.
    pub tasks: Vec<Offer>,
}

/// One order, as far as the agent understands it. An agent older than the control plane may meet a kind that it does not
/// know: it says so, rather than losing the orders beside it or keeping silent until the deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Offer {
    /// An order of the closed list.
    Known(Task),
    /// Anything else that has an id and a fence.
    Unknown(UnknownTask),
}

/// What can be said about an order of an unknown kind: which one it is, so that it can be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownTask {
    /// The order's id.
    pub id: TaskId,
    /// Its fence.
    pub fence: Fence,
}

/// "Somebody wants to reach this guest." The agent opens the stream outward, with an upgraded call to
/// [`STREAM_PATH`]`/{id}`, within [`STREAM_OPEN_S_MAX`] seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamWanted {
    /// Which stream.
    pub id: StreamId,
    /// To whose guest.
    pub allocation_id: AllocationId,
    /// What it carries.
    pub kind: StreamKind,
    /// Where to open it, as `https://name:port`: the replica that has the other end. The agent's usual address when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// "I cannot open that." Sent to [`STREAM_PATH`]`/{id}` without an upgrade, so that nobody waits for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamRefused {
    /// Why, in one sentence.
    pub detail: String,
}

/// "That answer is written down." Also given for an answer nobody waits for any more, so that it is not repeated for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultAck {
    /// The order that was answered.
    pub task_id: TaskId,
}

/// Everything an agent may say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body", rename_all = "snake_case")]
pub enum ToControl {
    /// It is alive.
    Heartbeat(Heartbeat),
    /// It asks for orders.
    Poll(Poll),
    /// It is at work.
    Progress(TaskProgress),
    /// It answers an order.
    Result(TaskAnswer),
}

/// Everything an agent may hear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body", rename_all = "snake_case")]
pub enum FromControl {
    /// Orders.
    TasksOffered(TasksOffered),
    /// An answer arrived.
    ResultAck(ResultAck),
    /// Somebody wants to reach a guest.
    StreamWanted(StreamWanted),
}

impl ToControl {
    /// The node that speaks. What it says about itself is checked against its credential before anything else.
    pub fn node_id(&self) -> &NodeId {
        match self {
            Self::Heartbeat(Heartbeat { node_id, .. })
            | Self::Poll(Poll { node_id, .. })
            | Self::Progress(TaskProgress { node_id, .. })
            | Self::Result(TaskAnswer { node_id, .. }) => node_id,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::Timestamp;

    #[test]
    fn messages_read_back_as_they_were_written() {
        let node_id = NodeId::from_parts(Timestamp::from_micros(1), [1; 10]);
        let poll = ToControl::Poll(Poll { node_id: node_id.clone(), boot: 3 });
        let text = serde_json::to_string(&poll).unwrap();
        assert_eq!(text, format!(r#"{{"type":"poll","body":{{"node_id":"{node_id}","boot":3}}}}"#));
        assert_eq!(serde_json::from_str::<ToControl>(&text).unwrap(), poll);
        assert_eq!(poll.node_id(), &node_id);
    }

    #[test]
    fn a_field_nobody_knows_is_refused() {
        let task_id = TaskId::from_parts(Timestamp::from_micros(1), [1; 10]);
        let good = format!(r#"{{"type":"result_ack","body":{{"task_id":"{task_id}"}}}}"#);
        assert!(serde_json::from_str::<FromControl>(&good).is_ok());
        let more = format!(r#"{{"type":"result_ack","body":{{"task_id":"{task_id}","run":"rm -rf /"}}}}"#);
        assert!(serde_json::from_str::<FromControl>(&more).is_err());
        assert!(serde_json::from_str::<FromControl>(r#"{"type":"run","body":{}}"#).is_err());
    }
}
