//! How much of a node can be had, in one of seven words, with the reason. Derived from what is known each time it is asked for:
//! a stored posture would be one more thing that can be wrong.

use model::supply::{NodeDesired, NodeState, OccupancyMode, Posture, SlotState};

/// One slot, as far as this matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotFacts {
    /// Where it stands.
    pub state: SlotState,
    /// The host shows something else than what was approved.
    pub drifted: bool,
}

/// What is known about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Whether its agent has been heard of lately.
    pub state: NodeState,
    /// What operators want.
    pub desired: NodeDesired,
    /// Its identity was revoked.
    pub identity_revoked: bool,
    /// Its machine is a tenant's, or not taken back yet.
    pub handed_over: bool,
    /// The claims it carries.
    pub occupancy: OccupancyMode,
    /// It was promoted to slice use.
    pub promoted: bool,
    /// Its slots.
    pub slots: Vec<SlotFacts>,
}

/// A posture and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// The word.
    pub posture: Posture,
    /// One sentence.
    pub reason: String,
}

#[derive(Default)]
struct Counts {
    all: usize,
    free: usize,
    taken: usize,
    blocked: usize,
    drifted: usize,
    disabled: usize,
}

impl Counts {
    fn of(slots: &[SlotFacts]) -> Self {
        let mut counts = Self { all: slots.len(), ..Self::default() };
        for slot in slots {
            match slot.state {
                SlotState::Disabled => counts.disabled += 1,
                SlotState::Reserved | SlotState::InUse => counts.taken += 1,
                SlotState::Wiping | SlotState::CleanupBlocked => counts.blocked += 1,
                SlotState::Available if slot.drifted => counts.drifted += 1,
                SlotState::Available => counts.free += 1,
            }
        }
        counts
    }

    // What keeps slots from being sold, besides tenants.
    fn held_back(&self) -> String {
        let part = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let parts = [
            part(self.blocked, "not proved clean"),
            part(self.drifted, "drifted"),
            part(self.disabled, "not approved or disabled"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The posture of a node. The first rule that fits decides: who holds the node, then what operators want, then what keeps
/// it from being sold, then how much is free.
pub fn posture(node: &NodeFacts) -> Derived {
    let counts = Counts::of(&node.slots);
    let derived = |posture, reason: String| Derived { posture, reason };
    if node.desired == NodeDesired::Disabled {
        return derived(Posture::Unavailable, "An operator took the node out of use.".to_owned());
    }
    if node.desired == NodeDesired::Drained {
        let left = match node.occupancy {
            OccupancyMode::Free => "nothing runs on it any more".to_owned(),
            OccupancyMode::Exclusive => "one tenant still holds all of it".to_owned(),
            OccupancyMode::Sliced => format!("{} of {} slots are still held", counts.taken, counts.all),
        };
        return derived(Posture::Draining, format!("An operator drains the node: {left}."));
    }
    if node.occupancy == OccupancyMode::Exclusive {
        let reason = if node.handed_over {
            "One tenant holds the whole node, and the machine itself.".to_owned()
        } else {
            "One tenant holds the whole node.".to_owned()
        };
        return derived(Posture::ExclusivelyAllocatedByBaremetal, reason);
    }
    if let Some(reason) = unusable(node, &counts) {
        return derived(Posture::Unavailable, reason);
    }
    by_slots(&counts)
}

fn unusable(node: &NodeFacts, counts: &Counts) -> Option<String> {
    if node.handed_over {
        return Some("The machine was a tenant's and is not taken back yet.".to_owned());
    }
    if node.identity_revoked {
        return Some("The node's identity is revoked; its host has to be enrolled again.".to_owned());
    }
    match node.state {
        NodeState::Enrolled => return Some("The agent has not called yet.".to_owned()),
        NodeState::Silent => return Some("The agent has not been heard of lately.".to_owned()),
        NodeState::Online => (),
    }
    if counts.all == 0 {
        return Some("No slot has been approved.".to_owned());
    }
    (counts.free + counts.taken + counts.blocked == 0)
        .then(|| format!("None of its {} slots can be sold: {}.", counts.all, counts.held_back()))
}

fn by_slots(counts: &Counts) -> Derived {
    let aside = match counts.held_back() {
        held if held.is_empty() => String::new(),
        held => format!(" ({held})"),
    };
    let (posture, reason) = match (counts.free, counts.taken) {
        (0, 0) => (Posture::CleanupBlocked, format!("No slot is free{aside}.")),
        (0, taken) => (Posture::FullyAllocatedBySlices, format!("Slices hold {taken} slots and none is free{aside}.")),
        (free, 0) if free == counts.all => (Posture::FullyAvailable, format!("All {free} slots are free.")),
        (free, 0) => {
            (Posture::FullyAvailable, format!("{free} of {} slots are free, none is held{aside}.", counts.all))
        }
        (free, taken) => (
            Posture::PartiallyAllocated,
            format!("Slices hold {taken} of {} slots, {free} are free{aside}.", counts.all),
        ),
    };
    Derived { posture, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(states: &[SlotState]) -> Vec<SlotFacts> {
        states.iter().map(|state| SlotFacts { state: *state, drifted: false }).collect()
    }

    fn node(states: &[SlotState]) -> NodeFacts {
        NodeFacts {
            state: NodeState::Online,
            desired: NodeDesired::InService,
            identity_revoked: false,
            handed_over: false,
            occupancy: if states.contains(&SlotState::InUse) { OccupancyMode::Sliced } else { OccupancyMode::Free },
            promoted: true,
            slots: slots(states),
        }
    }

    #[test]
    fn every_posture_can_be_reached_and_says_why() {
        use SlotState::{Available, CleanupBlocked, Disabled, InUse};
        let base = node(&[Available, Available]);
        let cases = [
            (base.clone(), Posture::FullyAvailable, "All 2 slots are free."),
            (node(&[Available, InUse]), Posture::PartiallyAllocated, "Slices hold 1 of 2 slots, 1 are free."),
            (node(&[InUse, InUse]), Posture::FullyAllocatedBySlices, "Slices hold 2 slots and none is free."),
            (
                NodeFacts { occupancy: OccupancyMode::Exclusive, ..base.clone() },
                Posture::ExclusivelyAllocatedByBaremetal,
                "One tenant holds the whole node.",
            ),
            (
                NodeFacts { desired: NodeDesired::Drained, ..node(&[InUse, Available]) },
                Posture::Draining,
                "An operator drains the node: 1 of 2 slots are still held.",
            ),
            (
                node(&[CleanupBlocked, Disabled]),
                Posture::CleanupBlocked,
                "No slot is free (1 not proved clean, 1 not approved or disabled).",
            ),
            (
                NodeFacts { state: NodeState::Silent, ..base.clone() },
                Posture::Unavailable,
                "The agent has not been heard of lately.",
            ),
        ];
        for (facts, posture, reason) in cases {
            assert_eq!(super::posture(&facts), Derived { posture, reason: reason.to_owned() });
        }
    }

    #[test]
    fn what_makes_a_node_unavailable_is_named() {
        use SlotState::Available;
        let base = node(&[Available]);
        let drifted = NodeFacts { slots: vec![SlotFacts { state: Available, drifted: true }], ..base.clone() };
        for (facts, word) in [
            (NodeFacts { desired: NodeDesired::Disabled, ..base.clone() }, "operator"),
            (NodeFacts { identity_revoked: true, ..base.clone() }, "revoked"),
            (NodeFacts { handed_over: true, identity_revoked: true, ..base.clone() }, "not taken back"),
            (NodeFacts { state: NodeState::Enrolled, ..base.clone() }, "not called yet"),
            (NodeFacts { slots: vec![], ..base.clone() }, "approved"),
            (drifted, "1 drifted"),
        ] {
            let derived = posture(&facts);
            assert_eq!(derived.posture, Posture::Unavailable);
            assert!(derived.reason.contains(word), "{}", derived.reason);
        }
    }
}
