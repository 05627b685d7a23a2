//! The rules are tested too: each has a bug that breaks it, and must catch it within 200 seeds, under its own name.
#![allow(clippy::unwrap_used)]

use model::planted::Bug;
use sim::{
    planted::{breaks, run_planted},
    run::{Report, on_all_cores, run},
};

const SEEDS: u64 = 200;

fn caught(bug: Bug) {
    let seeds: Vec<u64> = (0..SEEDS).collect();
    let failed = |report: &Report| report.failure.is_some();
    let reports = on_all_cores(&seeds, |seed| run_planted(bug, seed, false).unwrap(), failed);
    let Some(report) = reports.into_iter().find(failed) else {
        panic!("nobody noticed {bug} in {SEEDS} seeds");
    };
    assert!(report.broke(breaks(bug)), "{bug} should break {}:\n{report} --planted {bug}", breaks(bug));
    // The same world without the bug is a good one: it was the bug that was seen.
    let without = run(report.seed, false, |_| Ok(())).unwrap();
    assert!(without.failure.is_none(), "{without}");
}

macro_rules! bugs {
    ($($name:ident => $bug:ident),+ $(,)?) => {
        $(#[test] fn $name() { caught(Bug::$bug); })+

        #[test]
        fn every_bug_has_a_test() {
            let tested = [$(Bug::$bug),+];
            for bug in Bug::ALL {
                assert!(tested.contains(bug), "{bug}");
            }
        }
    };
}

bugs! {
    i1_two_claims_on_one_slot => TwoClaimsOnOneSlot,
    i2_slice_beside_bare_metal => SliceBesideBareMetal,
    i3_claim_ends_before_start => ClaimEndsBeforeStart,
    i4_one_claim_too_few => OneClaimTooFew,
    i5_claim_outlives_allocation => ClaimOutlivesAllocation,
    i6_agent_ignores_fence => AgentIgnoresFence,
    i7_ack_before_commit => AckBeforeCommit,
    i8_idempotency_forgotten => IdempotencyForgotten,
    i9_version_skips => VersionSkips,
    i19_decision_lost => DecisionLost,
    i20_agent_repeats_work => AgentRepeatsWork,
    i21_release_leaves_guest => ReleaseLeavesGuest,
    i22_event_lost => EventLost,
    i26_list_unscoped => ListUnscoped,
    i27_foreign_id_tells => ForeignIdTells,
    i28_node_acts_for_another => NodeActsForAnother,
    picture_inventory_stands => InventoryStands,
    picture_bisect_drops_half => BisectDropsHalf,
}
