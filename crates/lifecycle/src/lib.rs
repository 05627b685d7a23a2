//! One decider a noun: it looks at one thing and says what should happen next to it.
//!
//! A decider is a pure function from a view (counts and states, never rows) and the time to a [`Next`]: wait with a
//! reason, look again later because all is well, do something outside, enter a state, or rest. It remembers nothing and takes no hints, so asking it again
//! after a crash is always safe. Carrying the answer out is the driver's work; who else may move a noun (the placement
//! applier, an agent's answer, an operator) is written in the comment above its `EDGES`, which is the whole published
//! graph: a move that is not on it does not exist.

pub mod allocation;
mod diagram;
pub mod image;
pub mod node;
pub mod order;
pub mod posture;
pub mod project;
pub mod slot;
pub mod task;
pub mod tenant;
pub mod webhook;
pub mod wipe_override;
pub mod workload;

use model::event::Noun;
pub use model::lifecycle::{Next, Wait};

/// Something that cannot happen: the effect of a noun whose decider only waits and enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEffect {}

/// Whether a move is on the published graph of its noun. `None` for nouns without a workflow. States are given as the
/// words they are stored as, because that is what events hold; an unknown word is on no graph.
pub fn edge_exists(noun: Noun, from: &str, to: &str) -> Option<bool> {
    fn on<S: std::str::FromStr + PartialEq>(edges: &[(S, S)], from: &str, to: &str) -> Option<bool> {
        Some(from.parse().ok().zip(to.parse().ok()).is_some_and(|edge| edges.contains(&edge)))
    }
    match noun {
        Noun::Tenant => on(tenant::EDGES, from, to),
        Noun::Project => on(project::EDGES, from, to),
        Noun::Workload => on(workload::EDGES, from, to),
        Noun::Allocation => on(allocation::EDGES, from, to),
        Noun::Slot => on(slot::EDGES, from, to),
        Noun::Node => on(node::EDGES, from, to),
        Noun::Task => on(task::EDGES, from, to),
        Noun::WipeOverride => on(wipe_override::EDGES, from, to),
        Noun::Image => on(image::EDGES, from, to),
        _ => None,
    }
}

/// The state diagram of every noun that has one, as Mermaid text.
pub fn diagrams() -> Vec<(Noun, String)> {
    vec![
        (Noun::Tenant, tenant::diagram()),
        (Noun::Project, project::diagram()),
        (Noun::Workload, workload::diagram()),
        (Noun::Allocation, allocation::diagram()),
        (Noun::Slot, slot::diagram()),
        (Noun::Node, node::diagram()),
        (Noun::Task, task::diagram()),
        (Noun::WipeOverride, wipe_override::diagram()),
        (Noun::Image, image::diagram()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_looked_up_by_the_words_events_hold() {
        assert_eq!(edge_exists(Noun::Tenant, "active", "deleting"), Some(true));
        assert_eq!(edge_exists(Noun::Tenant, "deleted", "active"), Some(false));
        assert_eq!(edge_exists(Noun::Slot, "in_use", "available"), Some(false));
        assert_eq!(edge_exists(Noun::Task, "no", "such"), Some(false));
        assert_eq!(edge_exists(Noun::Token, "active", "revoked"), None);
    }

    #[test]
    fn every_diagram_shows_where_things_begin() {
        for (noun, text) in diagrams() {
            assert!(text.starts_with("stateDiagram-v2\n"), "{noun}");
            assert!(text.contains("[*] --> "), "{noun}");
        }
    }
}
