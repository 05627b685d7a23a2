//! A project: usable, suspended, or on its way out until nothing of it is left.
//!
//! Deletion is one way. It asks for every allocation back and waits until each has ended (the guest proved gone, its claims
//! over), then takes away tokens and memberships. Wiping slots is not waited for: an unproved slot stays unsold by itself.

use crate::diagram;
pub use model::tenancy::{Desired, State};
use model::{
    Timestamp,
    lifecycle::{Next, Wait},
};

/// What the decider sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Where the workflow stands.
    pub state: State,
    /// What is wanted.
    pub desired: Desired,
    /// Allocations that have not ended.
    pub allocations_live: u64,
    /// Of those, the ones nobody asked back yet.
    pub allocations_unasked: u64,
    /// Memberships in the project.
    pub members_left: u64,
    /// Tokens that are bound to the project and not revoked, expired or not.
    pub tokens_live: u64,
}

/// What a project may ask of the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Record the wish that every allocation is given back.
    ReleaseAllocations,
    /// End every membership.
    RemoveMembers,
    /// Revoke every token.
    RevokeTokens,
}

/// The published graph. Only the driver moves a project.
pub const EDGES: &[(State, State)] = crate::tenant::EDGES;

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Creating, EDGES)
}

const DELETE_BUDGET_S: i64 = 1800;
const DELETE_LOOK_S: i64 = 10;

/// What should happen next.
pub fn decide(view: &View, _now: Timestamp) -> Next<State, Effect> {
    match (view.state, view.desired) {
        (State::Deleted, _) => Next::Forget,
        (State::Deleting, _) => deleting(view),
        (_, Desired::Deleted) => Next::Enter(State::Deleting),
        (State::Creating, _) => Next::Enter(State::Active),
        (State::Active, Desired::Suspended) => Next::Enter(State::Suspended),
        (State::Suspended, Desired::Active) => Next::Enter(State::Active),
        (State::Active, Desired::Active) | (State::Suspended, Desired::Suspended) => Next::Forget,
    }
}

fn deleting(view: &View) -> Next<State, Effect> {
    if view.allocations_unasked > 0 {
        Next::Do(Effect::ReleaseAllocations)
    } else if view.allocations_live > 0 {
        let because = format!("{} allocations are still being released.", view.allocations_live);
        Next::Wait(Wait::new("allocations_live", because, DELETE_BUDGET_S, DELETE_LOOK_S))
    } else if view.tokens_live > 0 {
        Next::Do(Effect::RevokeTokens)
    } else if view.members_left > 0 {
        Next::Do(Effect::RemoveMembers)
    } else {
        Next::Enter(State::Deleted)
    }
}
