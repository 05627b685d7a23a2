//! An override: one operator asks that a slot goes on without a proof of its wipe, another decides.
//!
//! Nothing here moves by itself but time: a request that nobody decided on expires. Approval and use are one transaction,
//! which also makes the slot available; an override is used once.

use crate::diagram;
pub use model::supply::OverrideState as State;

/// The published graph. A second operator makes the moves to `approved` and `rejected`, the transaction that makes the slot
/// available the one to `used`, the leader's housekeeping the one to `expired`.
pub const EDGES: &[(State, State)] = &[
    (State::Requested, State::Approved),
    (State::Requested, State::Rejected),
    (State::Requested, State::Expired),
    (State::Approved, State::Used),
];

/// How long a request waits for a second operator.
pub const LIFETIME_S: i64 = 24 * 3600;

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Requested, EDGES)
}
