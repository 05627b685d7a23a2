//! An order to a node: answered, or given up at its deadline. An order that was given up may still be carried out, late;
//! that is harmless because the node refuses it once it has seen a newer one.

use crate::{NoEffect, diagram, order::whole_seconds};
pub use model::task::TaskState as State;
use model::{
    Timestamp,
    lifecycle::{Next, Wait},
};

/// What the decider sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Where the workflow stands.
    pub state: State,
    /// Since when.
    pub state_since: Timestamp,
    /// When it is given up.
    pub deadline: Timestamp,
    /// A newer order for the same allocation has been given.
    pub superseded: bool,
    /// It is carried out at the provider of a machine, not by an agent.
    pub for_provider: bool,
}

/// The published graph. The driver gives orders up; the node's poll and answer make the other moves.
pub const EDGES: &[(State, State)] = &[
    (State::Pending, State::Delivered),
    (State::Pending, State::Expired),
    (State::Delivered, State::Succeeded),
    (State::Delivered, State::Failed),
    (State::Delivered, State::Expired),
];

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Pending, EDGES)
}

// Looked at once more after the deadline; anything later than that has been forgotten by the driver.
const LATE_S: i64 = 60;

/// What should happen next.
pub fn decide(view: &View, now: Timestamp) -> Next<State, NoEffect> {
    if view.state.is_terminal() {
        return Next::Forget;
    }
    let left_us = view.deadline.micros_since(now);
    if view.superseded || left_us <= 0 {
        return Next::Enter(State::Expired);
    }
    let (code, because) = match view.state {
        _ if view.for_provider => ("awaiting_provider", "The order is carried out at the machine's provider."),
        State::Pending => ("awaiting_poll", "The node has not fetched the order yet."),
        _ => ("awaiting_answer", "The node has the order and has not answered yet."),
    };
    let at_most_s = whole_seconds(view.deadline.micros_since(view.state_since)).max(0) + LATE_S;
    Next::Wait(Wait::new(code, because, at_most_s, whole_seconds(left_us)))
}
