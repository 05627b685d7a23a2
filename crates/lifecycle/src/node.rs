//! A node: heard of, or not. Silence changes what is placed on it and nothing else: running tenants are not touched.

use crate::{NoEffect, diagram, order::whole_seconds};
pub use model::supply::NodeState as State;
use model::{
    Timestamp,
    lifecycle::{Next, Wait},
};

/// What the decider sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Where the workflow stands.
    pub state: State,
    /// When its agent was last heard of, by the control plane's clock.
    pub last_seen: Option<Timestamp>,
}

/// The published graph. Only the driver moves a node.
pub const EDGES: &[(State, State)] =
    &[(State::Enrolled, State::Online), (State::Online, State::Silent), (State::Silent, State::Online)];

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Enrolled, EDGES)
}

/// A node that was not heard of for this long is silent.
pub const LEASE_S: i64 = 30;

const ENROLLED_BUDGET_S: i64 = 86_400;
const SILENT_BUDGET_S: i64 = 300;
const LOOK_S: i64 = 30;

/// What should happen next.
pub fn decide(view: &View, now: Timestamp) -> Next<State, NoEffect> {
    let lease_left_us = view.last_seen.map_or(0, |seen| seen.plus_seconds(LEASE_S).micros_since(now));
    let heard = lease_left_us > 0;
    match view.state {
        State::Enrolled | State::Silent if heard => Next::Enter(State::Online),
        State::Online if !heard => Next::Enter(State::Silent),
        State::Enrolled => {
            Next::Wait(Wait::new("never_heard", "The agent has not called yet.", ENROLLED_BUDGET_S, LOOK_S))
        }
        State::Online => {
            // A clock that jumped back must not make a dead node look alive for longer than one lease at a time.
            Next::LookAgain { after_s: whole_seconds(lease_left_us).clamp(1, LEASE_S) }
        }
        State::Silent => {
            let because =
                format!("The agent has not called for {LEASE_S} s; nothing new is placed on the node until it does.");
            Next::Wait(Wait::new("node_silent", because, SILENT_BUDGET_S, LOOK_S))
        }
    }
}
