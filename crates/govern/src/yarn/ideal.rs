//! What each queue of a tree should have: the ideal allocation.
//!
//! From the root down, each node's ideal is divided among its children. Everyone starts with what it uses within its
//! guarantee, and what is left is offered again and again to the most under-served, in proportion to their guarantees, until
//! nobody asks or nothing is left. Queues without a guarantee share evenly what the others leave, and never gain at each
//! other's cost.

use super::bundle::{Bundle, Measure, WIDTH};
use super::order::by_band;
use crate::division::fraction::Fraction;
use std::cmp::Ordering;

/// A queue in one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    /// Its parent's place in the list; a parent comes before its children.
    pub parent: Option<usize>,
    /// What it is sure of.
    pub guaranteed: Bundle,
    /// What it may have at most.
    pub max: Bundle,
    /// What it uses, reservations included.
    pub used: Bundle,
    /// What it waits for; of a leaf. A parent's is that of its children.
    pub pending: Bundle,
    /// What of that is reserved on nodes already.
    pub reserved: Bundle,
    /// What may be killed at any time and need not be asked for.
    pub killable: Bundle,
    /// Whether nothing may be taken from it.
    pub kept: bool,
    /// Higher is served first, on the same side of the guarantee.
    pub priority: u32,
}

/// How to compute it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Reservations count as demand: for a search that makes room for them.
    pub for_reservations: bool,
    /// Leaves may grow beyond their guarantee at the cost of others beyond theirs.
    pub balance: bool,
    /// Only containers of use in every resource are taken; else one resource is enough.
    pub conservative: bool,
    /// What may be taken back in this round.
    pub allowed: Bundle,
    /// A queue is left alone up to this part over its guarantee, in millionths.
    pub ignored_over_micro: u32,
    /// The part of what should be taken that is taken at once, in millionths: the rest may end by itself.
    pub at_once_micro: u32,
}

/// What was computed for a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ideal {
    /// What it should have.
    pub ideal: Bundle,
    /// What should be taken from it.
    pub excess: Bundle,
    /// What to take in this round.
    pub obtain: Bundle,
}

struct Level<'a> {
    measure: Measure,
    pace: Pace,
    queues: &'a [Queue],
    children: Vec<Vec<usize>>,
    pending: Vec<Bundle>,
    // Without what is reserved.
    pending_free: Vec<Bundle>,
    untouchable: Vec<Bundle>,
    results: Vec<Ideal>,
}

/// The ideal of every queue of one partition. The first queue is the root; its ideal is its guarantee.
///
/// # Panics
/// When a parent does not come before its children.
#[must_use]
pub fn compute(measure: Measure, pace: Pace, queues: &[Queue]) -> Vec<Ideal> {
    let nothing = vec![Bundle::ZERO; queues.len()];
    let mut level = Level {
        measure,
        pace,
        queues,
        children: vec![vec![]; queues.len()],
        pending: nothing.clone(),
        pending_free: nothing.clone(),
        untouchable: nothing,
        results: vec![Ideal::default(); queues.len()],
    };
    for (at, queue) in queues.iter().enumerate() {
        if let Some(parent) = queue.parent {
            assert!(parent < at, "a parent comes before its children");
            level.children[parent].push(at);
        }
    }
    level.sum_up();
    if let Some(root) = queues.first() {
        level.results[0].ideal = root.guaranteed;
    }
    for at in 0..queues.len() {
        if !level.children[at].is_empty() {
            level.distribute(at);
        }
    }
    for (at, queue) in queues.iter().enumerate() {
        if level.children[at].is_empty() && !queue.kept {
            level.obtain(at);
        }
    }
    level.results
}

impl Level<'_> {
    fn sum_up(&mut self) {
        let mut preemptable = vec![Bundle::ZERO; self.queues.len()];
        for at in (0..self.queues.len()).rev() {
            let queue = &self.queues[at];
            let extra = queue.used.minus(queue.guaranteed).or_zero();
            if self.children[at].is_empty() {
                self.pending[at] = queue.pending;
                self.pending_free[at] = queue.pending.minus(queue.reserved).or_zero();
                if queue.kept {
                    self.untouchable[at] = extra;
                } else {
                    preemptable[at] = extra;
                }
                continue;
            }
            let mut below = Bundle::ZERO;
            for child in &self.children[at] {
                below = below.plus(preemptable[*child]);
                self.pending[at] = self.pending[at].plus(self.pending[*child]);
                self.pending_free[at] = self.pending_free[at].plus(self.pending_free[*child]);
            }
            self.untouchable[at] = extra.minus(below).or_zero();
            preemptable[at] = below.least(extra);
        }
    }

    fn distribute(&mut self, parent: usize) {
        let total = self.results[parent].ideal;
        let measure = self.measure.against(total);
        let sure = |at: &usize| measure.some(self.queues[*at].guaranteed);
        let (with, without): (Vec<usize>, Vec<usize>) = self.children[parent].iter().copied().partition(sure);
        let mut rest = total;
        self.settle(measure, &with, &mut rest, false);
        if !without.is_empty() && measure.some(rest) {
            self.settle(measure, &without, &mut rest, true);
        }
        let children = self.children[parent].clone();
        let needed = children.iter().fold(Bundle::ZERO, |sum, at| {
            let (used, ideal) = (self.queues[*at].used, self.results[*at].ideal);
            if measure.more(used, ideal) { sum.plus(used.minus(ideal)) } else { sum }
        });
        let allowed = self.pace.allowed;
        let scale = if measure.more(needed, allowed) { measure.ratio(allowed, needed) } else { Fraction::ONE };
        for at in children {
            let queue = &self.queues[at];
            let used = queue.used.minus(queue.killable);
            let sure = measure.min(queue.used.plus(self.pending[at]), queue.guaranteed);
            let kept = measure.max(sure, self.results[at].ideal);
            self.results[at].excess =
                if measure.more(used, kept) { used.minus(kept).times(scale) } else { Bundle::ZERO };
        }
    }

    // Everyone starts with what it has, then the most under-served are offered what is left.
    fn settle(&mut self, measure: Measure, queues: &[usize], rest: &mut Bundle, evenly: bool) {
        let mut needy: Vec<usize> = vec![];
        for &at in queues {
            let queue = &self.queues[at];
            let start = if measure.more(queue.used, queue.guaranteed) {
                queue.guaranteed.least(queue.used).plus(self.untouchable[at])
            } else {
                queue.used
            };
            self.results[at].ideal = start;
            *rest = rest.minus(start);
            if measure.more(queue.used.plus(self.pending[at]), start) {
                needy.push(at);
            }
        }
        while !needy.is_empty() && measure.some(*rest) {
            let guaranteed = needy.iter().fold(Bundle::ZERO, |sum, at| sum.plus(self.queues[*at].guaranteed));
            let evenly = evenly.then_some(needy.len());
            let served = self.most_underserved(measure, &mut needy);
            let round = *rest;
            for at in served {
                if !rest.any_above_zero() {
                    break;
                }
                let offer = measure.part(round, self.parts(at, guaranteed, evenly)).least(*rest);
                let accepted = self.accept(measure, at, offer);
                self.results[at].ideal = self.results[at].ideal.plus(accepted);
                if measure.some(accepted) {
                    needy.push(at);
                }
                *rest = rest.minus(accepted).or_zero();
            }
        }
    }

    // A queue's part of what is offered: of each resource by its guarantee among those in need, or evenly.
    fn parts(&self, at: usize, guaranteed: Bundle, evenly: Option<usize>) -> [Fraction; WIDTH] {
        let mut parts = [Fraction { over: 0, under: 1 }; WIDTH];
        for (place, part) in parts.iter_mut().enumerate() {
            *part = match evenly {
                Some(count) => Fraction { over: 1, under: i128::try_from(count.max(1)).unwrap_or(i128::MAX) },
                None => Fraction {
                    over: i128::from(self.queues[at].guaranteed.0[place]),
                    under: i128::from(guaranteed.0[place].max(1)),
                },
            };
        }
        parts
    }

    // Takes those tied at the front out of the list.
    fn most_underserved(&self, measure: Measure, needy: &mut Vec<usize>) -> Vec<usize> {
        let key = |at: usize| {
            let queue = &self.queues[at];
            let ratio = if measure.some(queue.guaranteed) {
                measure.ratio(self.results[at].ideal, queue.guaranteed)
            } else {
                Fraction { over: 1, under: 0 }
            };
            (ratio, queue.priority)
        };
        needy.sort_by(|left, right| by_band(key(*left), key(*right)).then(left.cmp(right)));
        let first = key(needy[0]);
        let tied = needy.iter().take_while(|at| by_band(first, key(**at)) != Ordering::Less).count();
        needy.drain(..tied.max(1)).collect()
    }

    fn accept(&self, measure: Measure, at: usize, offer: Bundle) -> Bundle {
        let (queue, ideal) = (&self.queues[at], self.results[at].ideal);
        let pending = if self.pace.for_reservations { self.pending[at] } else { self.pending_free[at] };
        let room = queue.max.minus(ideal).or_zero();
        let mut accepted = room.least(offer.least(queue.used.plus(pending).minus(ideal)));
        if self.children[at].is_empty() && !self.pace.balance {
            let own = measure.max(queue.used, queue.guaranteed).minus(ideal).or_zero();
            accepted = accepted.least(own);
        }
        accepted.or_zero().least(offer)
    }

    fn obtain(&mut self, at: usize) {
        let queue = &self.queues[at];
        let over = Fraction { over: 1_000_000 + i128::from(self.pace.ignored_over_micro), under: 1_000_000 };
        if !self.measure.more(queue.used, queue.guaranteed.times(over)) {
            return;
        }
        let excess = self.results[at].excess;
        self.results[at].obtain = if self.pace.for_reservations {
            excess
        } else {
            self.measure.part(excess, [Fraction::millionths(self.pace.at_once_micro); WIDTH])
        };
    }
}
