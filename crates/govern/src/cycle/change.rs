//! What a change would do, answered by the scheduler itself on a copy: the change is made there, cycles are run until nothing
//! more happens, and what came of everybody is compared with what would have come of it without the change.
//!
//! Time stands still meanwhile: who is told to go is gone at once, and nobody ends.

use super::{
    Decision, Estate, Floor, Scheduler, Stop, Verdict, Why,
    book::{Pending, PendingIx},
};
use crate::{
    tree::NodeIx,
    workload::{Cause, WorkloadIx},
};
use std::collections::{BTreeMap, BTreeSet};

/// A change that somebody thinks about.
#[derive(Debug, Clone)]
pub enum Change {
    /// Other quotas, flavors or policies.
    Estate(Box<Estate>),
    /// A queue stops or goes on.
    Stop {
        /// Which one.
        queue: NodeIx,
        /// How.
        stop: Stop,
    },
    /// A workload that waits has another priority.
    Priority {
        /// Which one.
        pending: PendingIx,
        /// The new one.
        priority: i64,
    },
    /// One more workload waits.
    Submit(Box<Pending>),
    /// A workload has to stop.
    Evict(WorkloadIx),
}

/// What became of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Runs,
    /// It waits; for what, where it was looked at by itself and not with others that ask for the same.
    Waits(Option<Why>),
}

/// Somebody waits for something else than it would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitsFor {
    /// Its identity.
    pub identity: u64,
    /// Without the change.
    pub before: Fate,
    /// With it.
    pub after: Fate,
}

/// What a change does, by identity and in that order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effect {
    /// They would be admitted, and would not be without the change.
    pub admitted: Vec<u64>,
    /// They would have to stop, and would not have to without the change.
    pub preempted: Vec<u64>,
    /// They would wait for something else, or wait instead of running.
    pub waits: Vec<WaitsFor>,
    /// How many cycles that took.
    pub cycles: u32,
    /// Whether nothing more would happen then.
    pub at_rest: bool,
}

// What comes of everybody.
#[derive(Debug, Default)]
struct Outcome {
    admitted: BTreeSet<u64>,
    stopped: BTreeSet<u64>,
    fates: BTreeMap<u64, Fate>,
    cycles: u32,
    at_rest: bool,
}

/// Gives the floor for each cycle, on what runs then.
pub type Floors<'f> = dyn FnMut(&Scheduler) -> Box<dyn Floor> + 'f;

impl Scheduler {
    /// What these changes would do at this time, in seconds. Looks at no more than so many cycles.
    #[must_use]
    pub fn what_if(&self, changes: &[Change], now: i64, floors: &mut Floors<'_>, cycles_max: u32) -> Effect {
        let without = self.clone().play_out(now, floors, cycles_max);
        let mut changed = self.clone();
        changes.iter().for_each(|change| changed.make(change));
        let with = changed.play_out(now, floors, cycles_max);
        let mut waits = vec![];
        for (identity, after) in &with.fates {
            let before = without.fates.get(identity).copied();
            let differs = match (before, after) {
                (Some(Fate::Waits(Some(before))), Fate::Waits(Some(after))) => before != *after,
                (Some(Fate::Runs), Fate::Waits(_)) => true,
                _ => false,
            };
            waits.extend(before.filter(|_| differs).map(|before| WaitsFor {
                identity: *identity,
                before,
                after: *after,
            }));
        }
        Effect {
            admitted: with.admitted.difference(&without.admitted).copied().collect(),
            preempted: with.stopped.difference(&without.stopped).copied().collect(),
            waits,
            cycles: with.cycles,
            at_rest: with.at_rest,
        }
    }

    fn make(&mut self, change: &Change) {
        match change {
            Change::Estate(estate) => self.set_estate(Estate::clone(estate)),
            Change::Stop { queue, stop } => drop(self.set_stop(*queue, *stop)),
            Change::Priority { pending, priority } => self.set_priority(*pending, *priority),
            Change::Submit(pending) => {
                self.submit(Pending::clone(pending));
            }
            Change::Evict(workload) => {
                self.evict(*workload, Cause::Asked);
            }
        }
    }

    // Everybody is looked at once more, and then for as long as something happens.
    fn play_out(mut self, now: i64, floors: &mut Floors<'_>, cycles_max: u32) -> Outcome {
        let queues: Vec<NodeIx> = self.estate.tree.nodes().filter(|node| self.estate.tree.is_queue(*node)).collect();
        queues.into_iter().for_each(|queue| self.book.wake(queue));
        let (mut outcome, mut seen) = (Outcome::default(), BTreeSet::new());
        while outcome.cycles < cycles_max && !outcome.at_rest {
            self.leave(now, &mut outcome);
            let mut floor = floors(&self);
            let decisions = self.step(now, &mut *floor);
            outcome.cycles += 1;
            let news = decisions.iter().filter(|decision| self.note(decision, &mut outcome)).count() > 0;
            if news {
                seen.clear();
            }
            let unseen = decisions.iter().filter(|decision| seen.insert(decision.pending)).count();
            outcome.at_rest = !news && unseen == 0;
        }
        self.fates(&mut outcome);
        outcome
    }

    // Whoever was told to go is gone.
    fn leave(&mut self, now: i64, outcome: &mut Outcome) {
        let leave =
            |(place, one): (WorkloadIx, &crate::workload::Workload)| one.evicting.then_some((place, one.identity));
        let all: Vec<(WorkloadIx, u64)> = self.running.iter().filter_map(leave).collect();
        for (place, identity) in all {
            outcome.stopped.insert(identity);
            self.gone(now, place);
        }
    }

    // Whether a decision changes anything.
    fn note(&self, decision: &Decision, outcome: &mut Outcome) -> bool {
        match &decision.verdict {
            Verdict::Admitted { workload, .. } => {
                outcome.admitted.extend(self.running.get(*workload).map(|one| one.identity));
                true
            }
            Verdict::Preempting { .. } => true,
            Verdict::Waiting { why, .. } => {
                let identity = self.book.get(decision.pending).map(|pending| pending.waiting.identity);
                outcome.fates.extend(identity.map(|identity| (identity, Fate::Waits(Some(*why)))));
                false
            }
        }
    }

    // What has come of everybody in the end.
    fn fates(&self, outcome: &mut Outcome) {
        let waiting: BTreeSet<u64> = self.book.iter().map(|(_, pending)| pending.waiting.identity).collect();
        outcome.fates.retain(|identity, _| waiting.contains(identity));
        for identity in waiting {
            outcome.fates.entry(identity).or_insert(Fate::Waits(None));
        }
        outcome.fates.extend(self.running.iter().map(|(_, one)| (one.identity, Fate::Runs)));
    }
}
