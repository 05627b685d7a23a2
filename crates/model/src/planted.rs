//! Deliberate bugs, one per invariant, for the simulator's self-test. Only compiled with the `planted-bugs` feature and only
//! ever active on the thread that asked for one: a check that does not catch its bug is not a check.

use std::cell::Cell;

text_enum! {
    /// The bugs, named after what they break.
    Bug {
        /// I1: the unique index on active slot claims is missing and the applier does not look at slot states.
        TwoClaimsOnOneSlot = "two_claims_on_one_slot",
        /// I2: occupancy is not enforced.
        SliceBesideBareMetal = "slice_beside_bare_metal",
        /// I3: a claim ends before it began.
        ClaimEndsBeforeStart = "claim_ends_before_start",
        /// I4: one claim too few is written.
        OneClaimTooFew = "one_claim_too_few",
        /// I5: an allocation ends and its claims do not.
        ClaimOutlivesAllocation = "claim_outlives_allocation",
        /// I6: the agent does not compare fences.
        AgentIgnoresFence = "agent_ignores_fence",
        /// I7: an answer is sent before the commit.
        AckBeforeCommit = "ack_before_commit",
        /// I8: the idempotency record is not looked up.
        IdempotencyForgotten = "idempotency_forgotten",
        /// I9: a transition skips a version.
        VersionSkips = "version_skips",
        /// I19: a placement is committed without its decision.
        DecisionLost = "decision_lost",
        /// I20: the agent repeats work it already did.
        AgentRepeatsWork = "agent_repeats_work",
        /// I21: a release leaves a guest behind.
        ReleaseLeavesGuest = "release_leaves_guest",
        /// I22: a transition writes no event.
        EventLost = "event_lost",
        /// I26: a list is not filtered by scope.
        ListUnscoped = "list_unscoped",
        /// I27: a foreign id answers 403 instead of 404.
        ForeignIdTells = "foreign_id_tells",
        /// I28: a node may answer for another node's task.
        NodeActsForAnother = "node_acts_for_another",
        /// The picture is the store: the leader's picture of the fleet does not take over what others commit.
        InventoryStands = "inventory_stands",
        /// The picture is the store: of a batch that the schema refused, one half is forgotten.
        BisectDropsHalf = "bisect_drops_half",
    }
}

thread_local! {
    static ACTIVE: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// Whether this bug is switched on for this thread.
pub fn is_active(bug: Bug) -> bool {
    ACTIVE.get() == Some(bug)
}

/// Switches one bug on, or all off, for this thread.
pub fn activate(bug: Option<Bug>) {
    ACTIVE.set(bug);
}
