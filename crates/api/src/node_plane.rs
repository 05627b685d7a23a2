//! What a node's agent and the control plane say to each other.
//!
//! The agent calls; nothing calls the agent. Every message may be lost, doubled, late or out of order, and none of that
//! may matter: an order carries its id and fence, an answer is repeated until it is acknowledged, and an acknowledgement
//! that is lost is simply given again. There is no free-form field an agent would act on.

use model::{
    NodeId, TaskId,
    task::{Task, TaskResult},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No more orders than this in one answer to a poll; the rest come with the next.
pub const TASKS_OFFERED_MAX: usize = 32;

/// "I am here." Sent every ten seconds; only ever changes what is scheduled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Who calls.
    pub node_id: NodeId,
    /// How many times this agent has started; it only grows, so an answer from before a restart can be told apart.
    pub boot: i64,
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
}

/// The orders that are open for the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TasksOffered {
    /// At most [`TASKS_OFFERED_MAX`], oldest first.
    pub tasks: Vec<Task>,
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
}

impl ToControl {
    /// The node that speaks. What it says about itself is checked against its credential before anything else.
    pub fn node_id(&self) -> &NodeId {
        match self {
            Self::Heartbeat(Heartbeat { node_id, .. })
            | Self::Poll(Poll { node_id, .. })
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
