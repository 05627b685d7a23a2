//! A tenant: usable, suspended, or on its way out until nothing of it is left.
//!
//! Deletion is one way. It first asks every project to go and waits for them, so that admins can watch; then it takes
//! away tokens, memberships and service accounts. The row is marked deleted only by a look that counted nothing left.

use crate::{diagram, order::whole_seconds};
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
    /// Since when.
    pub state_since: Timestamp,
    /// What is wanted.
    pub desired: Desired,
    /// Projects that are not deleted.
    pub projects_left: u64,
    /// Of those, the ones nobody asked to go yet.
    pub projects_unasked: u64,
    /// Memberships in the tenant or its projects.
    pub members_left: u64,
    /// Tokens that belong to the tenant and are not revoked, expired or not.
    pub tokens_live: u64,
    /// Service accounts of the tenant.
    pub service_accounts_left: u64,
}

/// What a tenant may ask of the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Record the wish that every project goes.
    DeleteProjects,
    /// End every membership.
    RemoveMembers,
    /// Revoke every token.
    RevokeTokens,
    /// Remove every service account.
    RemoveServiceAccounts,
}

/// The published graph. Only the driver moves a tenant.
pub const EDGES: &[(State, State)] = &[
    (State::Creating, State::Active),
    (State::Creating, State::Deleting),
    (State::Active, State::Suspended),
    (State::Suspended, State::Active),
    (State::Active, State::Deleting),
    (State::Suspended, State::Deleting),
    (State::Deleting, State::Deleted),
];

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Creating, EDGES)
}

const DELETE_BUDGET_S: i64 = 3600;
const DELETE_LOOK_S: i64 = 10;

/// What should happen next.
pub fn decide(view: &View, now: Timestamp) -> Next<State, Effect> {
    match (view.state, view.desired) {
        (State::Deleted, _) => Next::Forget,
        (State::Deleting, _) => deleting(view, now),
        (_, Desired::Deleted) => Next::Enter(State::Deleting),
        (State::Creating, _) => Next::Enter(State::Active),
        (State::Active, Desired::Suspended) => Next::Enter(State::Suspended),
        (State::Suspended, Desired::Active) => Next::Enter(State::Active),
        (State::Active, Desired::Active) | (State::Suspended, Desired::Suspended) => Next::Forget,
    }
}

fn deleting(view: &View, now: Timestamp) -> Next<State, Effect> {
    if view.projects_unasked > 0 {
        Next::Do(Effect::DeleteProjects)
    } else if view.projects_left > 0 {
        let so_far = whole_seconds(now.micros_since(view.state_since)).max(0);
        let because =
            format!("{} projects are still being deleted, {so_far} s after the tenant was.", view.projects_left);
        Next::Wait(Wait::new("projects_left", because, DELETE_BUDGET_S, DELETE_LOOK_S))
    } else if view.tokens_live > 0 {
        Next::Do(Effect::RevokeTokens)
    } else if view.members_left > 0 {
        Next::Do(Effect::RemoveMembers)
    } else if view.service_accounts_left > 0 {
        Next::Do(Effect::RemoveServiceAccounts)
    } else {
        Next::Enter(State::Deleted)
    }
}
