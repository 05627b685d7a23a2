//! What runs: the workloads that hold quota, each in its queue, and for every queue the order in which they would have to
//! give way.
//!
//! The order is kept up to date with each change, so a search for victims looks at the first of each queue and at no more
//! than it needs. First comes what is being evicted anyway, then what belongs to the local queue that used most, then the
//! lowest priority, then what was stopped least often before, then what got its quota last; the identity settles the rest.

use crate::{
    amount::Amount,
    cycle::book::ShapeIx,
    places,
    tree::{FlavorResource, NodeIx, Tree, Usage},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, btree_map::Entry},
};

/// A workload that runs, as its place in [`Running`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadIx(pub u32);

/// So much of each of these.
pub type Amounts = Vec<(FlavorResource, Amount)>;

/// What a workload can give up and run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elastic {
    /// What one unit uses, a part of the workload's usage.
    pub unit: Amounts,
    /// How many units it has beyond the least that it can run on.
    pub spare: u32,
}

/// Why a workload has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// For another one.
    Preempted {
        /// The identity of that one.
        by: u64,
    },
    /// Its queue is being emptied.
    Drained,
    /// A check outside took back its yes.
    CheckFailed,
    /// It did not get ready in time.
    NotReady,
    /// What it ran on is gone.
    Lost,
    /// Somebody asked for it.
    Asked,
}

/// What a workload went through before. It keeps that from one run to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Past {
    /// How often it was stopped for others in the window that began with the first of these stops.
    pub stops: u32,
    /// When that was, in seconds.
    pub stops_since: i64,
    /// How often it came back.
    pub returns: u32,
    /// The identity of the one for which it was stopped last, as long as it waits for its next run.
    pub displaced_by: Option<u64>,
}

impl Past {
    /// How many stops count at this time.
    #[must_use]
    pub fn stops_at(&self, now: i64, window_s: u32) -> u32 {
        if now.saturating_sub(self.stops_since) < i64::from(window_s) { self.stops } else { 0 }
    }

    /// One more stop for others.
    pub fn stopped(&mut self, now: i64, window_s: u32, by: u64) {
        let before = self.stops_at(now, window_s);
        if before == 0 {
            self.stops_since = now;
        }
        self.stops = before.saturating_add(1);
        self.displaced_by = Some(by);
    }
}

/// How long a workload runs, and how it comes back if it has to stop before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// The longest that it runs, in seconds; nothing where nobody knows.
    pub max_run_s: Option<u32>,
    /// For how many seconds it is left alone once it has its quota; as the rules say where nothing is said.
    pub run_s_min: Option<u32>,
    /// What it asks for when it waits again; nothing for one that does not.
    pub shape: Option<ShapeIx>,
    /// Nobody may be told to go for it when it waits again.
    pub may_not_preempt: bool,
    /// Why it is being stopped.
    pub leaves: Option<Cause>,
    /// What it went through.
    pub past: Past,
}

/// One workload that holds quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Whose quota it holds.
    pub queue: NodeIx,
    /// The higher, the later it gives way.
    pub priority: i64,
    /// Its place in an order of all identities that the caller keeps; different for each workload.
    pub identity: u64,
    /// Since when it counts in its queue, in seconds; nothing is before everything.
    pub queued_at: Option<i64>,
    /// When it got its quota, in seconds; nothing is just now.
    pub quota_at: Option<i64>,
    /// What it uses, each pair once.
    pub usage: Amounts,
    /// It is being stopped already and will give its quota back.
    pub evicting: bool,
    /// What its local queue used of late, in a unit of the caller; zero where that does not count.
    pub local_usage: u64,
    /// What it can give up without being stopped.
    pub elastic: Option<Elastic>,
    /// How long it runs, and how it comes back.
    pub terms: Terms,
}

/// A place in the order in which workloads of several queues give way; the smallest gives way first.
pub(crate) type Rank = (i64, u32, Reverse<i64>, u64);

impl Workload {
    /// Counts it as used.
    pub fn charge(&self, tree: &Tree, usage: &mut Usage) {
        self.usage.iter().for_each(|(what, much)| usage.add(tree, self.queue, *what, *much));
    }

    /// Counts it as used no more.
    pub fn refund(&self, tree: &Tree, usage: &mut Usage) {
        self.usage.iter().for_each(|(what, much)| usage.remove(tree, self.queue, *what, *much));
    }

    /// Whether it uses one of these.
    #[must_use]
    pub fn uses(&self, contested: &[FlavorResource]) -> bool {
        self.usage.iter().any(|(what, _)| contested.contains(what))
    }

    pub(crate) fn rank(&self) -> Rank {
        let since = self.quota_at.unwrap_or(i64::MAX);
        (self.priority, self.terms.past.stops, Reverse(since), self.identity)
    }

    /// By when it ends at the latest, in seconds, where that is known.
    #[must_use]
    pub fn ends_by(&self) -> Option<i64> {
        Some(self.quota_at?.saturating_add(i64::from(self.terms.max_run_s?)))
    }

    // Workloads of different queues are never compared by what their local queues used, so this orders one queue only.
    fn place_in_queue(&self) -> (bool, Reverse<u64>, Rank) {
        (!self.evicting, Reverse(self.local_usage), self.rank())
    }
}

#[derive(Debug, Clone)]
struct Slot {
    workload: Workload,
    aside: bool,
}

/// All workloads that hold quota.
#[derive(Debug, Clone, Default)]
pub struct Running {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    // By node; the first gives way first.
    queues: Vec<Vec<WorkloadIx>>,
    // By node, how many of them can give something up.
    elastic: Vec<u32>,
    // By node, their priorities, and since when they have their quota.
    priorities: Vec<Tally>,
    starts: Vec<Tally>,
}

// How many there are of each number.
#[derive(Debug, Clone, Default)]
struct Tally(BTreeMap<i64, u32>);

impl Tally {
    fn add(&mut self, number: i64) {
        *self.0.entry(number).or_default() += 1;
    }

    fn remove(&mut self, number: i64) {
        if let Entry::Occupied(mut count) = self.0.entry(number) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn least(&self) -> Option<i64> {
        self.0.first_key_value().map(|(number, _)| *number)
    }
}

impl Running {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more. The places of those that went are used again.
    pub fn add(&mut self, workload: Workload) -> WorkloadIx {
        let queue = workload.queue.0 as usize;
        if self.queues.len() <= queue {
            self.queues.resize(queue + 1, vec![]);
            self.elastic.resize(queue + 1, 0);
            self.priorities.resize(queue + 1, Tally::default());
            self.starts.resize(queue + 1, Tally::default());
        }
        let slot = Slot { workload, aside: false };
        let place = WorkloadIx(places::put(&mut self.slots, &mut self.free, slot));
        self.line_up(place);
        place
    }

    /// One less.
    pub fn remove(&mut self, place: WorkloadIx) -> Option<Workload> {
        self.step_out(place);
        let slot = places::take(&mut self.slots, &mut self.free, place.0)?;
        Some(slot.workload)
    }

    /// Changes a workload and puts it where it now belongs. Its queue stays.
    pub fn update(&mut self, place: WorkloadIx, change: impl FnOnce(&mut Workload)) {
        self.step_out(place);
        if let Some(Some(slot)) = self.slots.get_mut(place.0 as usize) {
            let queue = slot.workload.queue;
            change(&mut slot.workload);
            slot.workload.queue = queue;
            self.line_up(place);
        }
    }

    /// Takes a workload out of every search, because somebody else's plan stops it already, or puts it back. Whoever sets it
    /// aside also gives back its usage.
    pub fn set_aside(&mut self, place: WorkloadIx, aside: bool) {
        if let Some(Some(slot)) = self.slots.get_mut(place.0 as usize) {
            slot.aside = aside;
        }
    }

    /// Whether it is set aside.
    #[must_use]
    pub fn is_aside(&self, place: WorkloadIx) -> bool {
        matches!(self.slots.get(place.0 as usize), Some(Some(Slot { aside: true, .. })))
    }

    /// The workload at a place.
    #[must_use]
    pub fn get(&self, place: WorkloadIx) -> Option<&Workload> {
        Some(&self.slots.get(place.0 as usize)?.as_ref()?.workload)
    }

    /// Those of a queue; the first gives way first.
    #[must_use]
    pub fn of_queue(&self, queue: NodeIx) -> &[WorkloadIx] {
        self.queues.get(queue.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// All of them, by place.
    pub fn iter(&self) -> impl Iterator<Item = (WorkloadIx, &Workload)> {
        let places = (0..).map(WorkloadIx).zip(&self.slots);
        places.filter_map(|(place, slot)| Some((place, &slot.as_ref()?.workload)))
    }

    // A workload that a search may take.
    pub(crate) fn candidate(&self, place: WorkloadIx) -> Option<&Workload> {
        let slot = self.slots.get(place.0 as usize)?.as_ref()?;
        (!slot.aside).then_some(&slot.workload)
    }

    // Whether any workload of a queue can give something up without being stopped.
    pub(crate) fn has_elastic(&self, queue: NodeIx) -> bool {
        self.elastic.get(queue.0 as usize).is_some_and(|count| *count > 0)
    }

    // The lowest priority in a queue.
    pub(crate) fn lowest_priority(&self, queue: NodeIx) -> Option<i64> {
        self.priorities.get(queue.0 as usize)?.least()
    }

    // Since when the first in a queue has had its quota.
    pub(crate) fn first_start(&self, queue: NodeIx) -> Option<i64> {
        self.starts.get(queue.0 as usize)?.least()
    }

    fn is_elastic(&self, place: WorkloadIx) -> bool {
        self.get(place).and_then(|workload| workload.elastic.as_ref()).is_some_and(|elastic| elastic.spare > 0)
    }

    fn line_up(&mut self, place: WorkloadIx) {
        let Some((queue, at)) = self.find(place) else { return };
        self.queues[queue].insert(at, place);
        self.elastic[queue] += u32::from(self.is_elastic(place));
        let (priority, start) = self.tallied(place);
        self.priorities[queue].add(priority);
        self.starts[queue].add(start);
    }

    fn step_out(&mut self, place: WorkloadIx) {
        let Some((queue, at)) = self.find(place) else { return };
        if self.queues[queue].get(at) == Some(&place) {
            self.queues[queue].remove(at);
            self.elastic[queue] -= u32::from(self.is_elastic(place));
            let (priority, start) = self.tallied(place);
            self.priorities[queue].remove(priority);
            self.starts[queue].remove(start);
        }
    }

    fn tallied(&self, place: WorkloadIx) -> (i64, i64) {
        let of = |workload: &Workload| (workload.priority, workload.quota_at.unwrap_or(i64::MAX));
        self.get(place).map_or((0, i64::MAX), of)
    }

    fn find(&self, place: WorkloadIx) -> Option<(usize, usize)> {
        let workload = self.get(place)?;
        let (queue, key) = (workload.queue.0 as usize, (workload.place_in_queue(), place));
        let before = |other: &WorkloadIx| self.get(*other).is_some_and(|at| (at.place_in_queue(), *other) < key);
        Some((queue, self.queues.get(queue)?.partition_point(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Past, Running, Terms, Workload, WorkloadIx};
    use crate::tree::NodeIx;

    fn workload(priority: i64, quota_at: i64, identity: u64) -> Workload {
        let queue = NodeIx(2);
        let (quota_at, usage) = (Some(quota_at), vec![]);
        let (queued_at, evicting, local_usage, elastic, terms) = (None, false, 0, None, Terms::default());
        Workload { queue, priority, identity, queued_at, quota_at, usage, evicting, local_usage, elastic, terms }
    }

    fn identities(running: &Running) -> Vec<u64> {
        running.of_queue(NodeIx(2)).iter().map(|place| running.get(*place).unwrap().identity).collect()
    }

    #[test]
    fn low_priority_and_late_quota_give_way_first() {
        let mut running = Running::new();
        for (priority, quota_at, identity) in [(1, 9, 1), (0, 3, 2), (0, 5, 3), (0, 5, 4), (-1, 0, 5)] {
            running.add(workload(priority, quota_at, identity));
        }
        assert_eq!(identities(&running), [5, 3, 4, 2, 1]);
        running.add(Workload { quota_at: None, ..workload(0, 0, 6) });
        assert_eq!(identities(&running), [5, 6, 3, 4, 2, 1]);
    }

    #[test]
    fn who_was_never_stopped_gives_way_before_who_was() {
        let mut running = Running::new();
        let stopped = Past { stops: 1, ..Past::default() };
        running.add(Workload { terms: Terms { past: stopped, ..Terms::default() }, ..workload(0, 9, 1) });
        running.add(workload(0, 1, 2));
        running.add(workload(1, 1, 3));
        assert_eq!(identities(&running), [2, 1, 3]);
    }

    #[test]
    fn stops_count_for_a_window_that_begins_with_the_first() {
        let mut past = Past::default();
        for (now, want) in [(100, 1), (150, 2), (199, 3), (200, 1)] {
            past.stopped(now, 100, 7);
            assert_eq!((past.stops, past.stops_at(now, 100)), (want, want));
        }
        assert_eq!((past.stops_since, past.stops_at(299, 100), past.stops_at(300, 100)), (200, 1, 0));
    }

    #[test]
    fn a_change_moves_a_workload_and_a_removal_forgets_it() {
        let mut running = Running::new();
        let places: Vec<WorkloadIx> = (1..=4).map(|identity| running.add(workload(0, 0, identity))).collect();
        running.update(places[3], |it| it.evicting = true);
        running.update(places[2], |it| it.local_usage = 7);
        running.update(places[0], |it| it.priority = 5);
        assert_eq!(identities(&running), [4, 3, 2, 1]);
        assert_eq!(running.remove(places[2]).unwrap().identity, 3);
        assert_eq!(running.remove(places[2]), None);
        assert_eq!(running.add(workload(-9, 0, 8)), places[2]);
        assert_eq!(identities(&running), [4, 8, 2, 1]);
    }

    #[test]
    fn what_is_set_aside_is_no_candidate() {
        let mut running = Running::new();
        let place = running.add(workload(0, 0, 1));
        running.set_aside(place, true);
        assert!(running.is_aside(place) && running.candidate(place).is_none() && running.get(place).is_some());
        running.set_aside(place, false);
        assert!(running.candidate(place).is_some());
    }
}
