//! A node: heard of, or not. Silence changes what is placed on it and nothing else: running tenants are not touched. A node
//! whose machine is a tenant's is silent by right, and nobody is told.
//!
//! A node is turned from slices to bare metal, or back, in three steps: nothing new is placed on it, its tenants leave, and
//! every slot is proved clean. Then it is what it was to become, and has to show anew that it can be cut into slices.

use crate::{diagram, order::whole_seconds};
pub use model::supply::NodeState as State;
use model::{
    Timestamp,
    lifecycle::{Next, Wait},
    supply::NodeProfile,
};

/// What a node is being turned into, and what is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    /// What it will be.
    pub to: NodeProfile,
    /// How many allocations hold capacity on it.
    pub holders: i64,
    /// How many of its slots are not proved clean.
    pub unproved: i64,
}

/// What a node may ask of the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It has become what it was turned into.
    Convert,
}

/// What the decider sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Where the workflow stands.
    pub state: State,
    /// When its agent was last heard of, by the control plane's clock.
    pub last_seen: Option<Timestamp>,
    /// Its machine is a tenant's.
    pub handed_over: bool,
    /// What it is being turned into.
    pub conversion: Option<Conversion>,
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
const CONVERSION_BUDGET_S: i64 = 7 * 86_400;

/// What should happen next.
pub fn decide(view: &View, now: Timestamp) -> Next<State, Effect> {
    let lease_left_us = view.last_seen.map_or(0, |seen| seen.plus_seconds(LEASE_S).micros_since(now));
    let heard = lease_left_us > 0;
    match view.state {
        State::Enrolled | State::Silent if heard => Next::Enter(State::Online),
        State::Online if !heard => Next::Enter(State::Silent),
        _ if view.conversion.is_some_and(|conversion| conversion.holders == 0 && conversion.unproved == 0) => {
            Next::Do(Effect::Convert)
        }
        State::Enrolled | State::Silent if view.handed_over => Next::LookAgain { after_s: LOOK_S },
        State::Enrolled => {
            Next::Wait(Wait::new("never_heard", "The agent has not called yet.", ENROLLED_BUDGET_S, LOOK_S))
        }
        State::Online => {
            // A clock that jumped back must not make a dead node look alive for longer than one lease at a time.
            let after_s = whole_seconds(lease_left_us).clamp(1, LEASE_S);
            match view.conversion {
                None => Next::LookAgain { after_s },
                Some(conversion) => Next::Wait(converting(&conversion, after_s)),
            }
        }
        State::Silent => {
            let because =
                format!("The agent has not called for {LEASE_S} s; nothing new is placed on the node until it does.");
            Next::Wait(Wait::new("node_silent", because, SILENT_BUDGET_S, LOOK_S))
        }
    }
}

fn converting(conversion: &Conversion, look_again_s: i64) -> Wait {
    let Conversion { to, holders, unproved } = conversion;
    let (code, because) = if *holders > 0 {
        let because = format!("The node is being turned into {to}; {holders} allocations still hold capacity on it.");
        ("conversion_holders", because)
    } else {
        let because = format!("The node is being turned into {to}; {unproved} of its slots are not proved clean yet.");
        ("conversion_proofs", because)
    };
    Wait::new(code, because, CONVERSION_BUDGET_S, look_again_s)
}
