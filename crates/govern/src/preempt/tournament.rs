//! Whose turn it is to give: from the root down, always the child with the largest share, until that is a queue.
//!
//! Each cohort keeps its children that can still give in a heap. Only the queue that was picked changes, and the cohorts above
//! it, and these are the first of their heaps: that is how the queue was found. So a change moves one entry in each of a few
//! heaps. Shares only fall while victims are taken; what has none left is out for good, except the taker's own side, where
//! the imbalance may be further down.

use super::{
    candidates::{Taker, first_live},
    ground::Ground,
};
use crate::{
    share::Share,
    tree::NodeIx,
    workload::{Rank, WorkloadIx},
};
use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeSet, BinaryHeap, binary_heap::PeekMut},
};

/// What a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Those that are being stopped anyway.
    Evicting,
    /// What can be given up without being stopped.
    Spare,
    /// Whole workloads.
    Stop,
    /// Whole workloads from a list.
    Left,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    share: Share,
    // Of equal shares a cohort comes first, because further down may be a larger one; of two queues the one whose first
    // workload gives way first.
    is_cohort: bool,
    first: Reverse<(bool, bool, Rank)>,
    node: NodeIx,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_share = self.share.compare(&other.share);
        by_share
            .then(self.is_cohort.cmp(&other.is_cohort))
            .then_with(|| self.first.cmp(&other.first))
            .then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

#[derive(Debug, Clone, Copy, Default)]
struct Line<'p> {
    places: &'p [WorkloadIx],
    at: Option<usize>,
}

pub(super) struct Tournament<'t, 'a, 'p> {
    pub(super) pass: Pass,
    taker: &'t Taker<'a>,
    // An earlier run has taken these.
    whole: BTreeSet<WorkloadIx>,
    root: NodeIx,
    own: NodeIx,
    // By node.
    lines: Vec<Line<'p>>,
    above_own: Vec<bool>,
    heaps: Vec<BinaryHeap<Entry>>,
    // The way down of the last pick.
    above: Vec<NodeIx>,
}

const fn ix(node: NodeIx) -> usize {
    node.0 as usize
}

impl<'t, 'a, 'p> Tournament<'t, 'a, 'p> {
    pub(super) fn new(taker: &'t Taker<'a>, ground: &Ground<'_>, pass: Pass, whole: &BTreeSet<WorkloadIx>) -> Self {
        let own = taker.asking.queue;
        let count = ground.tree.nodes().count();
        let mut above_own = vec![false; count];
        ground.tree.ancestors(own).for_each(|node| above_own[ix(node)] = true);
        Self {
            pass,
            taker,
            whole: whole.clone(),
            root: ground.tree.root(own),
            own,
            lines: vec![Line::default(); count],
            above_own,
            heaps: (0..count).map(|_| BinaryHeap::new()).collect(),
            above: vec![],
        }
    }

    /// A queue takes part with these workloads, the first of which gives way first.
    pub(super) fn enter(&mut self, ground: &mut Ground<'_>, queue: NodeIx, places: &'p [WorkloadIx]) {
        let places = match self.pass {
            Pass::Evicting => &places[..first_live(ground, places)],
            Pass::Spare if !ground.running.has_elastic(queue) => &[],
            _ => places,
        };
        self.lines[ix(queue)] = Line { places, at: None };
        self.seek(ground, queue, 0);
    }

    /// Lines everybody up.
    pub(super) fn start(&mut self, ground: &Ground<'_>) {
        if self.lines.iter().all(|line| line.at.is_none()) {
            return;
        }
        let mut nodes = vec![self.root];
        while let Some(node) = nodes.pop() {
            nodes.extend(ground.tree.children(node));
            if let (Some(parent), Some(entry)) = (ground.tree.parent(node), self.entry(ground, node)) {
                self.heaps[ix(parent)].push(entry);
            }
        }
    }

    /// Whose turn it is, and the first workload there. Whoever is picked must be settled, changed or dropped before the next
    /// pick.
    pub(super) fn pick(&mut self) -> Option<(NodeIx, WorkloadIx)> {
        if self.root == self.own {
            return Some((self.own, self.head(self.own)?));
        }
        let mut node = self.root;
        self.above.clear();
        loop {
            match self.heaps[ix(node)].peek() {
                Some(entry) if entry.is_cohort => {
                    self.above.push(node);
                    node = entry.node;
                }
                Some(entry) => return Some((entry.node, self.head(entry.node)?)),
                None => {
                    // Nobody below has anything left.
                    node = self.above.pop()?;
                    self.heaps[ix(node)].pop();
                }
            }
        }
    }

    /// The workload that a queue gives first.
    pub(super) fn head(&self, queue: NodeIx) -> Option<WorkloadIx> {
        let Line { places, at } = self.lines[ix(queue)];
        places.get(at?).copied()
    }

    /// On to the next workload of a queue.
    pub(super) fn advance(&mut self, ground: &mut Ground<'_>, queue: NodeIx) {
        if let Some(at) = self.lines[ix(queue)].at {
            self.seek(ground, queue, at + 1);
        }
    }

    /// The queue that was picked has a new first workload or none, and nothing else is different.
    pub(super) fn settle(&mut self, ground: &Ground<'_>, queue: NodeIx) {
        let Some(parent) = ground.tree.parent(queue) else { return };
        let entry = self.entry(ground, queue);
        if let Some(mut top) = self.heaps[ix(parent)].peek_mut().filter(|top| top.node == queue) {
            match entry {
                Some(entry) => *top = entry,
                None => {
                    PeekMut::pop(top);
                }
            }
        }
    }

    /// Something was taken from the queue that was picked.
    pub(super) fn changed(&mut self, ground: &Ground<'_>, queue: NodeIx) {
        self.settle(ground, queue);
        ground.tree.ancestors(queue).for_each(|node| self.settle(ground, node));
    }

    /// The queue that was picked gives no more.
    pub(super) fn drop_queue(&mut self, ground: &Ground<'_>, queue: NodeIx) {
        self.lines[ix(queue)].at = None;
        self.settle(ground, queue);
    }

    fn seek(&mut self, ground: &mut Ground<'_>, queue: NodeIx, from: usize) {
        let places = self.lines[ix(queue)].places;
        let mut from = from;
        self.lines[ix(queue)].at = loop {
            let at = match self.pass {
                Pass::Left => (from < places.len()).then_some(from),
                _ => self.taker.next_of(ground, places, from),
            };
            match at {
                Some(at) if !self.is_of_pass(ground, places[at]) => from = at + 1,
                at => break at,
            }
        };
    }

    fn is_of_pass(&self, ground: &Ground<'_>, place: WorkloadIx) -> bool {
        let Some(workload) = ground.running.get(place) else { return false };
        match self.pass {
            Pass::Evicting => workload.evicting,
            Pass::Spare => !workload.evicting && workload.elastic.as_ref().is_some_and(|elastic| elastic.spare > 0),
            Pass::Stop | Pass::Left => !self.whole.contains(&place),
        }
    }

    // Where a node stands among its siblings, unless it has nothing to give.
    fn entry(&self, ground: &Ground<'_>, node: NodeIx) -> Option<Entry> {
        let is_cohort = !ground.tree.is_queue(node);
        let first = if is_cohort {
            (false, false, (0, 0, Reverse(0), 0))
        } else {
            let workload = ground.running.get(self.head(node)?)?;
            (!workload.evicting, node == self.own, workload.rank())
        };
        let share = ground.share(node);
        let stays = node == self.own || self.above_own[ix(node)];
        (stays || !share.is_zero()).then_some(Entry { share, is_cohort, first: Reverse(first), node })
    }
}
