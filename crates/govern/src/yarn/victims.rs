//! Which containers go: those of the ideal allocation's excess, newest first.
//!
//! In a leaf, containers that run in a partition they did not ask for go first, newest first; then apps by priority, lowest
//! first, and newest first, each with its reservations first and then its containers by priority number and age; masters go
//! last, and only while what they hold passes what masters may hold.

use super::bundle::{Bundle, Measure};
use super::ideal::{Ideal, Pace, Queue, compute};
use crate::division::fraction::Fraction;
use std::cmp::Reverse;

/// A container, running or reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Container {
    /// Its app's place in the list.
    pub app: usize,
    /// What it holds.
    pub size: Bundle,
    /// The number of its priority: higher numbers go first.
    pub priority: u32,
    /// Its number in its app: higher numbers go first.
    pub number: u64,
    /// Where it runs: the node's place in a list.
    pub node: usize,
    /// The partition of that node.
    pub partition: usize,
    /// It runs in a partition it did not ask for, on sufferance.
    pub on_sufferance: bool,
    /// Reserved, not running.
    pub reserved: bool,
    /// Without it its app ends.
    pub master: bool,
}

/// An app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct App {
    /// Its leaf's place in the list of queues.
    pub queue: usize,
    /// Its place by age: higher is newer.
    pub age_rank: u64,
    /// Its priority in its queue: higher first.
    pub priority: i32,
}

/// All queues of all partitions, and what runs in them.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// How bundles compare, against all there is.
    pub measure: Measure,
    /// The queues by partition: the same tree in each.
    pub partitions: Vec<Vec<Queue>>,
    /// All apps.
    pub apps: Vec<App>,
    /// All containers.
    pub containers: Vec<Container>,
    /// What each node has, where it is known.
    pub nodes: Vec<Option<Bundle>>,
    /// What of its guarantee the masters of a queue may hold, in millionths.
    pub masters_micro: u32,
}

/// What has been chosen, and what may still be chosen in this round.
#[derive(Debug, Clone)]
pub struct Choice {
    /// By container.
    pub chosen: Vec<bool>,
    /// What may still be taken.
    pub allowed: Bundle,
}

impl Choice {
    /// Nothing chosen, so much allowed.
    #[must_use]
    pub fn new(cluster: &Cluster, allowed: Bundle) -> Self {
        Self { chosen: vec![false; cluster.containers.len()], allowed }
    }

    /// Takes a container if it helps with what is still to be obtained there. `all` asks that it be useful in every resource
    /// that is short, else any will do.
    pub fn take(&mut self, cluster: &Cluster, obtain: &mut [Bundle], at: usize, all: bool) -> bool {
        let container = &cluster.containers[at];
        let wanted = obtain[container.partition];
        if self.chosen[at] || !wanted.any_above_zero() || !container.size.fits_in(self.allowed) {
            return false;
        }
        let left = wanted.minus(container.size);
        let useful = if all {
            wanted.0[..cluster.measure.width].iter().all(|amount| *amount > 0)
        } else {
            cluster.measure.more(wanted.or_zero(), left.or_zero())
        };
        if !useful {
            return false;
        }
        // What is no longer above zero in any resource is done.
        obtain[container.partition] =
            if cluster.measure.compare(left, Bundle::ZERO).is_le() { Bundle::ZERO } else { left };
        self.allowed = self.allowed.minus(container.size);
        self.chosen[at] = true;
        true
    }
}

impl Cluster {
    /// The ideal of every queue in every partition.
    #[must_use]
    pub fn ideals(&self, pace: Pace) -> Vec<Vec<Ideal>> {
        self.partitions.iter().map(|queues| compute(self.measure, pace, queues)).collect()
    }

    // What to take from each queue, less what was chosen before.
    pub(super) fn left_to_obtain(&self, pace: Pace, choice: &Choice) -> Vec<Vec<Bundle>> {
        let ideals = self.ideals(pace);
        let mut obtain: Vec<Vec<Bundle>> =
            ideals.iter().map(|queues| queues.iter().map(|ideal| ideal.obtain).collect()).collect();
        for (container, _) in self.containers.iter().zip(&choice.chosen).filter(|(_, chosen)| **chosen) {
            let left = &mut obtain[container.partition][self.apps[container.app].queue];
            if self.measure.more(*left, container.size) {
                *left = left.minus(container.size);
            } else {
                *left = Bundle::ZERO;
            }
        }
        obtain
    }

    // By app, in the order in which they go.
    pub(super) fn containers_by_app(&self) -> Vec<Vec<usize>> {
        let mut of_app: Vec<Vec<usize>> = vec![vec![]; self.apps.len()];
        for (container, at) in self.containers.iter().zip(0..) {
            of_app[container.app].push(at);
        }
        of_app.iter_mut().for_each(|containers| containers.sort_by_key(|at| self.leaving_order(*at)));
        of_app
    }

    // Reservations, then by priority number, then newest first.
    fn leaving_order(&self, at: usize) -> (bool, Reverse<u32>, Reverse<u64>) {
        let container = &self.containers[at];
        (!container.reserved, Reverse(container.priority), Reverse(container.number))
    }

    /// Chooses what goes so that no queue holds more than its ideal. Says what was to be taken from each queue, by partition.
    pub fn choose(&self, pace: Pace, choice: &mut Choice) -> Vec<Vec<Bundle>> {
        let obtain = self.left_to_obtain(pace, choice);
        let leaves = self.partitions.first().map_or(0, Vec::len);
        let mut by_queue: Vec<Vec<usize>> = vec![vec![]; leaves];
        for (app, at) in self.apps.iter().zip(0..) {
            by_queue[app.queue].push(at);
        }
        let of_app = self.containers_by_app();
        for (queue, apps) in by_queue.iter_mut().enumerate() {
            let mut left: Vec<Bundle> = obtain.iter().map(|queues| queues[queue]).collect();
            let kept = self.partitions.first().is_some_and(|queues| queues[queue].kept);
            if kept || !left.iter().any(|bundle| self.measure.some(*bundle)) {
                continue;
            }
            apps.sort_by_key(|app| (self.apps[*app].priority, Reverse(self.apps[*app].age_rank)));
            self.choose_in((queue, pace.conservative), apps, &of_app, &mut left, choice);
        }
        obtain
    }

    fn choose_in(
        &self,
        (queue, all): (usize, bool),
        apps: &[usize],
        of_app: &[Vec<usize>],
        left: &mut [Bundle],
        choice: &mut Choice,
    ) {
        let mut guests: Vec<usize> = apps.iter().flat_map(|app| of_app[*app].iter().copied()).collect();
        guests.retain(|at| self.containers[*at].on_sufferance);
        guests.sort_by_key(|at| Reverse((self.apps[self.containers[*at].app].age_rank, self.containers[*at].number)));
        for at in guests {
            choice.take(self, left, at, all);
        }
        let mut masters = vec![];
        for app in apps {
            if !left.iter().any(|bundle| bundle.any_above_zero()) {
                break;
            }
            for &at in &of_app[*app] {
                if self.containers[at].master && !choice.chosen[at] {
                    masters.push(at);
                } else {
                    choice.take(self, left, at, all);
                }
            }
        }
        let guaranteed = self.partitions.first().map_or(Bundle::ZERO, |queues| queues[queue].guaranteed);
        let may_hold = guaranteed.times(Fraction::millionths(self.masters_micro));
        let mut hold = masters.iter().fold(Bundle::ZERO, |sum, at| sum.plus(self.containers[*at].size));
        for at in masters {
            if !self.measure.more(hold, may_hold) {
                break;
            }
            if choice.take(self, left, at, all) {
                hold = hold.minus(self.containers[at].size);
            }
        }
    }
}
