//! The search for victims: which workloads must give way so that one that waits can run, chosen so that its quota and its
//! place become free together.
//!
//! A search takes workloads away from the usage, one by one and in a fixed order, until what is asked for fits; then it puts
//! back whatever turned out not to be needed. It leaves the usage as it found it and answers with a [`Plan`] or with why
//! there is none. Whose workloads may be taken is a matter of the queue's [`QueuePolicy`], how they are chosen of the
//! [`PreemptionRules`]:
//!
//! ```text
//!   classical   those that use what is the taker's by the shape of the tree, then others that borrow, then its own;
//!               lowest priority first
//!   fair        again and again from the node with the largest share, as long as the taker's share stays below
//! ```
//!
//! Nothing is stopped here: a plan is what the caller carries out, or does not.

mod budget;
mod candidates;
mod classical;
mod fair;
mod ground;
mod policy;
mod settle;
mod tournament;

pub use policy::{FairStrategies, Most, PreemptionRules, QueuePolicy, Takes, TakesWhileBorrowing};

use crate::{
    amount::Amount,
    share::{Share, Shares},
    tree::{FlavorResource, NodeIx, Tree, Usage},
    workload::{Running, WorkloadIx},
};

/// All that a search looks at.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The quotas.
    pub tree: &'a Tree,
    /// How shares are measured in that tree.
    pub shares: &'a Shares,
    /// What is used; a search changes it and puts it back.
    pub usage: &'a mut Usage,
    /// What runs.
    pub running: &'a Running,
    /// What each queue may take, by node; who is missing takes nothing.
    pub policies: &'a [QueuePolicy],
    /// How the search goes about it.
    pub rules: &'a PreemptionRules,
    /// The time, in seconds.
    pub now: i64,
}

/// Who asks, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// Its queue.
    pub queue: NodeIx,
    /// Its priority.
    pub priority: i64,
    /// Since when it counts in its queue, in seconds; nothing is before everything.
    pub queued_at: Option<i64>,
    /// All that it will use, each pair once.
    pub request: &'a [(FlavorResource, Amount)],
    /// Of these there is not enough; only workloads that use one of them are taken.
    pub contested: &'a [FlavorResource],
    /// The identity of the one for which it was stopped itself: unless it gets back its own, it does not take that one.
    pub displaced_by: Option<u64>,
}

/// What is taken from a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All that it has.
    Whole,
    /// So many of its units.
    Units(u32),
    /// What is left once all its spare units are gone.
    Rest,
}

/// Where things run. A search tells it what is gone and asks whether the request would find its place then.
pub trait Place {
    /// This part of a workload is gone.
    fn take(&mut self, workload: WorkloadIx, part: Part);
    /// It is there again.
    fn put_back(&mut self, workload: WorkloadIx, part: Part);
    /// Whether the request finds its place now.
    fn is_found(&mut self) -> bool;
    /// Whether that ever depends on what is gone.
    fn matters(&self) -> bool {
        true
    }
}

/// Everything finds a place; only quota counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnyPlace;

impl Place for AnyPlace {
    fn take(&mut self, _: WorkloadIx, _: Part) {}
    fn put_back(&mut self, _: WorkloadIx, _: Part) {}
    fn is_found(&mut self) -> bool {
        true
    }
    fn matters(&self) -> bool {
        false
    }
}

/// A node that uses more than its own, when a victim was taken from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over {
    /// Which node.
    pub node: NodeIx,
    /// Of what.
    pub what: FlavorResource,
    /// So much it used.
    pub used: Amount,
    /// So much is its own.
    pub own: Amount,
}

/// Which of the fair strategies let a victim be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FairRule {
    /// The taker's share is not above what the giver's becomes.
    FinalShare,
    /// The taker's share is below what the giver's was.
    InitialShare,
}

impl FairRule {
    // Whether the giver has to give. Shares that are nearer to each other than the margin count as equal.
    fn gives(self, margin_per_mille: u32, taker: &Share, giver: &Share, giver_after: &Share) -> bool {
        let apart = giver.per_mille_ceil().saturating_sub(taker.per_mille_ceil());
        let by_rule = match self {
            Self::FinalShare => taker.compare(giver_after).is_le(),
            Self::InitialShare => taker.compare(giver).is_lt(),
        };
        by_rule && (margin_per_mille == 0 || apart >= i64::from(margin_per_mille))
    }
}

/// Why a workload is a victim, with the numbers that made it one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// In the same queue, and of less priority or newer.
    InQueue {
        /// The victim's.
        priority: i64,
        /// The taker's.
        taker_priority: i64,
    },
    /// It uses what others have lent to its queue.
    CohortReclaim {
        /// Its queue, when it was taken.
        over: Over,
        /// The taker is nearer to the quota by the shape of the tree.
        nearer: bool,
    },
    /// The same, and the taker will borrow too.
    CohortReclaimWhileBorrowing {
        /// Its queue, when it was taken.
        over: Over,
        /// The victim's.
        priority: i64,
        /// The taker's.
        taker_priority: i64,
        /// The most that a victim's priority may be.
        priority_max: Option<i64>,
    },
    /// Its side has the larger share.
    CohortFairShare {
        /// Which strategy let it be taken.
        rule: FairRule,
        /// The taker's node right below the common cohort, and its share with what is asked for.
        taker: (NodeIx, Share),
        /// The giver's node, and its share with the victim.
        giver: (NodeIx, Share),
        /// The giver's share without the victim.
        giver_after: Share,
    },
}

/// What happens to a victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It is stopped.
    Stop,
    /// It gives up so many of its units and runs on.
    Shrink {
        /// How many.
        units: u32,
    },
}

/// A workload that gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Victim {
    /// Which one.
    pub workload: WorkloadIx,
    /// Its queue.
    pub queue: NodeIx,
    /// Why this one.
    pub reason: Reason,
    /// What happens to it.
    pub cut: Cut,
    /// When that happens, in seconds; nothing where it was on its way before.
    pub stops_at: Option<i64>,
}

/// How much a search did. The same input costs the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Workloads looked at.
    pub looked: u32,
    /// Times that a workload was taken away or put back.
    pub moved: u32,
    /// Times it was asked whether the request fits.
    pub fits: u32,
}

/// Workloads that a policy would have given but that were left alone, as far as the search came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spared {
    /// They run for too short a time.
    pub young: u32,
    /// Their side would have been left with less than its own.
    pub nominal: u32,
    /// Their taking would not have been fair in the end.
    pub unfair: u32,
    /// They were stopped often enough of late.
    pub stopped: u32,
    /// The one that asks was stopped for them.
    pub shielded: u32,
    /// When the first of them is left alone no longer because of its run time or its stops, in seconds.
    pub until: Option<i64>,
}

/// Who gives way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// In the order in which they were taken.
    pub victims: Vec<Victim>,
    /// What it cost to find out.
    pub work: Work,
    /// Who was left alone.
    pub spared: Spared,
}

/// Why nobody gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// There is no workload that may be taken.
    NoCandidates,
    /// With all of them gone there would still be too little.
    NotEnough {
        /// Of what.
        what: FlavorResource,
        /// How much is missing.
        short: Amount,
    },
    /// There would be quota, but no place.
    NoPlace,
    /// It would take too many.
    OverBudget {
        /// So many.
        needed: u32,
        /// Instead of so many.
        allowed: u32,
    },
    /// The shares do not let enough be taken.
    NotFair {
        /// So many workloads the policy would give, and the shares would not.
        refused: u32,
    },
    /// Every set that was found has a victim whose taking would not be fair in the end.
    NeverFair,
}

/// No plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub because: Because,
    /// What it cost to find out.
    pub work: Work,
    /// Who was left alone.
    pub spared: Spared,
}

impl Refusal {
    /// Whether a search that asked for no place was refused for good: then none that does ask for one finds anybody either.
    /// A search that left out workloads whose taking would not have been fair in the end might, with others taken for a place.
    #[must_use]
    pub const fn is_for_any_place(&self) -> bool {
        let by_quota =
            matches!(self.because, Because::NoCandidates | Because::NotEnough { .. } | Because::NotFair { .. });
        by_quota && self.spared.unfair == 0
    }
}

/// Looks for the workloads that must give way so that the request fits.
///
/// # Errors
/// When there are none, or not enough.
pub fn search(scene: &mut Scene<'_>, asking: &Asking<'_>, place: &mut dyn Place) -> Result<Plan, Refusal> {
    let taker = candidates::Taker::new(scene, asking);
    let fair = scene.rules.fair;
    let mut ground = ground::Ground::new(scene, asking, place);
    let found = match fair {
        None => classical::search(&taker, &mut ground),
        Some(strategies) => fair::search(taker, &mut ground, strategies),
    };
    let (work, spared) = (ground.work, ground.spared);
    match found {
        Ok(victims) => Ok(Plan { victims, work, spared }),
        Err(because) => Err(Refusal { because, work, spared }),
    }
}

#[cfg(test)]
mod tests;
