//! The self-test of the invariants: one deliberate bug for each, and the rule that must catch it. A rule that does not catch
//! its bug is not a rule.

use crate::{
    run::{Report, run},
    world::{PICTURE, World, WorldFault},
};
use model::planted::{Bug, activate};

/// The rule that a bug breaks.
pub fn breaks(bug: Bug) -> &'static str {
    match bug {
        Bug::TwoClaimsOnOneSlot => "I1",
        Bug::SliceBesideBareMetal => "I2",
        Bug::ClaimEndsBeforeStart => "I3",
        Bug::OneClaimTooFew => "I4",
        Bug::ClaimOutlivesAllocation => "I5",
        Bug::AgentIgnoresFence => "I6",
        Bug::AckBeforeCommit => "I7",
        Bug::IdempotencyForgotten => "I8",
        Bug::VersionSkips => "I9",
        Bug::DecisionLost => "I19",
        Bug::AgentRepeatsWork => "I20",
        Bug::ReleaseLeavesGuest => "I21",
        Bug::EventLost => "I22",
        Bug::ListUnscoped => "I26",
        Bug::ForeignIdTells => "I27",
        Bug::NodeActsForAnother => "I28",
        Bug::InventoryStands | Bug::BisectDropsHalf => PICTURE,
    }
}

// Whatever happens to the run, the bug does not stay on this thread.
struct Planted;

impl Drop for Planted {
    fn drop(&mut self) {
        activate(None);
    }
}

/// Runs one seed with a bug planted on this thread.
pub fn run_planted(bug: Bug, seed: u64, aloud: bool) -> Result<Report, WorldFault> {
    activate(Some(bug));
    let _planted = Planted;
    run(seed, aloud, |world| prepare(bug, world))
}

// Some bugs the schema itself would stop; for those its rules on claims are taken away first.
fn prepare(bug: Bug, world: &World) -> Result<(), WorldFault> {
    if matches!(bug, Bug::TwoClaimsOnOneSlot | Bug::SliceBesideBareMetal | Bug::ClaimEndsBeforeStart) {
        world.db().write(store::claims::drop_constraint_for_planted_bug)?;
    }
    Ok(())
}
