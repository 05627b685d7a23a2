//! One scheduling cycle: takes the next workloads of all queues, plans each of them, and goes through them in order until
//! every one is admitted, waits for others to go, or waits.
//!
//! ```text
//!   heads ──▶ plan each on what is used now ──▶ in order ──▶ still fits? ──▶ admitted
//!                flavors, victims, fewer pods      │             │ no  ──▶ back to the queue
//!                                                  │             └ victims ──▶ told to go, waits for them
//!                                                  └ classical: near quota, priority, age; fair: a tournament
//! ```
//!
//! All state is in [`Scheduler`], which events change: a workload comes, changes, ends. A cycle returns what it decided as
//! data, and what it decided is in the state already; nobody is stopped here, and the time is what the caller says it is.

pub mod book;
pub mod bracket;
pub mod change;
mod events;
mod limits;
mod plan;
mod reserve;
mod run;
mod turns;

pub use events::{Backoff, Stop};
pub use reserve::Reservation;

use crate::{
    amount::Amount,
    flavors::{Assignment, Blocked, Flavor, Offer, PodSet, Undeclared},
    preempt::{AnyPlace, Most, Place, PreemptionRules, QueuePolicy, Victim},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, Tree, Usage},
    workload::{Running, WorkloadIx},
};
use book::{Book, PendingIx, ShapeIx, Where};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// What changes rarely: quotas, flavors and policies.
#[derive(Debug, Clone)]
pub struct Estate {
    /// The quotas.
    pub tree: Tree,
    /// How shares are measured in it.
    pub shares: Shares,
    /// All flavors; one that is nothing is named by a queue and does not exist.
    pub catalog: Vec<Option<Flavor>>,
    /// What each queue offers, by node.
    pub offers: Vec<Offer>,
    /// What each queue may take from others, by node.
    pub policies: Vec<QueuePolicy>,
    /// The resource that counts pods, if there is one.
    pub pods: Option<Resource>,
}

/// How cycles go about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// How many workloads of one queue a cycle looks at, at most. Those after the first are planned on what is used once
    /// the earlier ones are counted.
    pub heads_per_queue: u32,
    /// Whether a workload that allows it may start with fewer pods.
    pub partial_admission: bool,
    /// Whether a workload whose victims were promised to another one is planned again.
    pub replan_on_overlap: bool,
    /// Whether a workload that waits for quota and can tell nobody to go keeps others from that quota for the cycle, where
    /// its queue could not take it back.
    pub reserve_for_blocked: bool,
    /// Whether a workload may be admitted into quota that a victim of the same cycle has not given back yet. Then more can
    /// be used than there is, until the victim is gone.
    pub admit_before_gone: bool,
    /// Whether a workload for which others were told to go comes before all others, so that nobody takes what was freed for
    /// it. Else it can happen that it tells the same ones to go again and again.
    pub preemptors_first: bool,
    /// Whether workloads that ask for the same are parked together.
    pub park_by_class: bool,
    /// Quota is kept for whoever waits longest for it in its tree, so that small work does not pass it for ever. Where run
    /// times are known, others pass only if they are gone when it can start; where they are not, after so many seconds
    /// nobody who competes with it passes any more.
    pub patience_s: Option<u32>,
    /// How many a cycle tells to go, at most. A first plan that needs more is carried out, and is the only one of its cycle.
    /// Once a plan was refused for this, the cycle looks for no more victims.
    pub evictions_per_cycle: Option<u32>,
    /// Once so many candidates were looked at in a cycle, nobody else is searched for in it; whoever needs others to go has its
    /// turn in the next one. Without it a cycle takes as long as all searches together.
    pub candidates_per_cycle: Option<u32>,
    /// How many a queue tells to go, at most, and in how long. To get back its own it always may. A first plan that needs
    /// more is carried out, and is the only one of its window.
    pub evictions_per_queue: Option<Most>,
    /// How long a workload that had to stop waits.
    pub backoff: Backoff,
    /// What happens to resources that a queue does not offer.
    pub undeclared: Undeclared,
    /// How victims are chosen; with fair shares, the order of a cycle is fair, too.
    pub rules: PreemptionRules,
}

impl Profile {
    /// As Kueue does it: one head of each queue.
    #[must_use]
    pub const fn kueue(rules: PreemptionRules) -> Self {
        Self {
            heads_per_queue: 1,
            partial_admission: true,
            replan_on_overlap: true,
            reserve_for_blocked: true,
            admit_before_gone: true,
            preemptors_first: false,
            park_by_class: true,
            patience_s: None,
            evictions_per_cycle: None,
            candidates_per_cycle: None,
            evictions_per_queue: None,
            backoff: Backoff::NONE,
            undeclared: Undeclared::Block,
            rules,
        }
    }

    /// Our own: as many heads as it takes to find something to do, within bounds, never more in use than there is, quota kept
    /// for who waits longest, and budgets for what may be stopped.
    #[must_use]
    pub const fn own(rules: PreemptionRules) -> Self {
        Self {
            heads_per_queue: 64,
            reserve_for_blocked: false,
            admit_before_gone: false,
            preemptors_first: true,
            patience_s: Some(600),
            evictions_per_cycle: Some(256),
            candidates_per_cycle: Some(100_000),
            evictions_per_queue: Some(Most { count: 256, window_s: 600 }),
            backoff: Backoff { first_s: 10, most_s: 600 },
            ..Self::kueue(rules)
        }
    }
}

/// A workload that wants a place.
#[derive(Debug, Clone, Copy)]
pub struct Placing<'a> {
    /// Which one.
    pub pending: PendingIx,
    /// What it asks for.
    pub pod_sets: &'a [PodSet],
    /// Which flavors it would get.
    pub assignment: &'a Assignment,
}

/// Where things run. Quota alone admits nothing: there must be a place, too.
pub trait Floor {
    /// Somebody to ask whether there is a place, with some workloads gone.
    fn place<'p>(&'p mut self, asked: &Placing<'_>) -> Box<dyn Place + 'p>;
    /// Whether there would be a place if nothing else ran.
    fn is_possible(&mut self, asked: &Placing<'_>) -> bool;
    /// For the rest of the cycle this one has its place, and these are gone from theirs.
    fn occupy(&mut self, asked: &Placing<'_>, gone: &[WorkloadIx]);
}

/// Everything finds a place.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnyFloor;

impl Floor for AnyFloor {
    fn place<'p>(&'p mut self, _: &Placing<'_>) -> Box<dyn Place + 'p> {
        Box::new(AnyPlace)
    }
    fn is_possible(&mut self, _: &Placing<'_>) -> bool {
        true
    }
    fn occupy(&mut self, _: &Placing<'_>, _: &[WorkloadIx]) {}
}

/// Why a workload waits, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// No flavor suits, or it asks for too much: see there.
    Blocked(Blocked),
    /// Others were told to go for it.
    WaitingForPreempted,
    /// It may not be in this queue, or asks for what it must not.
    Misconfigured,
    /// A check outside has to say yes first.
    PendingEvaluation,
    /// Others would have to go, but it must not tell them, for now.
    Gated,
    /// It would take what is kept for another one.
    Reserved {
        /// For whom.
        holder: PendingIx,
        /// When that one starts at the latest, in seconds, where that is known.
        start: Option<i64>,
    },
    /// It would tell too many others to go.
    OverBudget {
        /// Until when, in seconds; nothing where the next cycle looks again.
        until: Option<i64>,
    },
}

/// What was decided about a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It has its quota.
    Admitted {
        /// Its place among what runs.
        workload: WorkloadIx,
        /// What it got.
        assignment: Assignment,
    },
    /// Others are told to go for it.
    Preempting {
        /// What it will get.
        assignment: Assignment,
        /// Who is told.
        victims: Vec<Victim>,
    },
    /// It waits.
    Waiting {
        /// For what.
        why: Why,
        /// How far its plan came, where there was one.
        assignment: Option<Assignment>,
    },
}

/// A decision of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// About this one.
    pub pending: PendingIx,
    /// In this queue.
    pub queue: NodeIx,
    /// What.
    pub verdict: Verdict,
    /// Where it waits now; nothing for one that waits no more.
    pub at: Option<Where>,
}

/// All that waits and runs.
#[derive(Debug, Clone)]
pub struct Scheduler {
    estate: Estate,
    profile: Profile,
    shapes: Vec<Arc<[PodSet]>>,
    known_shapes: BTreeMap<Arc<[PodSet]>, ShapeIx>,
    usage: Usage,
    running: Running,
    book: Book,
    // When somebody is to be looked at although nothing has happened: the time, its place and its identity.
    due: BTreeSet<(i64, PendingIx, u64)>,
    // What has become free since the last cycle, by root.
    stirred: BTreeMap<NodeIx, BTreeSet<FlavorResource>>,
    // By node: when so many were told to go for it, beyond what is its own.
    spent: BTreeMap<NodeIx, VecDeque<(i64, u32)>>,
    reservations: Vec<Reservation>,
    // Who was told to go for those that wait for them.
    told: BTreeMap<PendingIx, Vec<Victim>>,
    // Queues that the last cycle cut short: others may be told to go for them first.
    turns: BTreeSet<NodeIx>,
}

impl Scheduler {
    /// Nothing waits or runs.
    #[must_use]
    pub fn new(estate: Estate, profile: Profile) -> Self {
        let usage = estate.tree.unused();
        Self {
            book: Book::new(profile.park_by_class),
            estate,
            profile,
            shapes: vec![],
            known_shapes: BTreeMap::new(),
            usage,
            running: Running::new(),
            due: BTreeSet::new(),
            stirred: BTreeMap::new(),
            spent: BTreeMap::new(),
            reservations: vec![],
            told: BTreeMap::new(),
            turns: BTreeSet::new(),
        }
    }

    /// What changes rarely.
    #[must_use]
    pub const fn estate(&self) -> &Estate {
        &self.estate
    }

    /// What is used.
    #[must_use]
    pub const fn usage(&self) -> &Usage {
        &self.usage
    }

    /// What runs.
    #[must_use]
    pub const fn running(&self) -> &Running {
        &self.running
    }

    /// What waits.
    #[must_use]
    pub const fn book(&self) -> &Book {
        &self.book
    }

    #[cfg(test)]
    pub(crate) const fn book_mut(&mut self) -> &mut Book {
        &mut self.book
    }

    /// How cycles go about it.
    #[must_use]
    pub const fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What is kept for those that wait for quota.
    #[must_use]
    pub fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }

    /// The number of what a workload asks for; the same for the same.
    pub fn shape(&mut self, pod_sets: &[PodSet]) -> ShapeIx {
        if let Some(known) = self.known_shapes.get(pod_sets) {
            return *known;
        }
        let shape = ShapeIx(u32::try_from(self.shapes.len()).unwrap_or(u32::MAX));
        let pod_sets: Arc<[PodSet]> = pod_sets.into();
        self.shapes.push(Arc::clone(&pod_sets));
        self.known_shapes.insert(pod_sets, shape);
        shape
    }

    pub(crate) fn pod_sets(&self, pending: PendingIx) -> &[PodSet] {
        let shape = self.book.get(pending).map(|pending| pending.shape.0 as usize);
        shape.and_then(|shape| self.shapes.get(shape)).map_or(&[], |pod_sets| pod_sets)
    }

    /// Lets back into line whoever the events since the last cycle may help, and whose time has come. Nothing is decided.
    pub fn time_passes(&mut self, now: i64) {
        self.wake(now);
    }

    /// One cycle, at this time in seconds.
    pub fn step(&mut self, now: i64, floor: &mut dyn Floor) -> Vec<Decision> {
        self.time_passes(now);
        run::Run::new(self, now, floor).go()
    }
}

/// So much of each of these, added up in one list.
pub(crate) type Asked = [(FlavorResource, Amount)];

#[cfg(test)]
mod tests;
