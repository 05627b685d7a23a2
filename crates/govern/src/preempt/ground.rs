//! The ground a search stands on: usage and place with some workloads taken away. Every step can be undone, and whoever
//! starts from here comes back here.

use super::{Asking, Because, FairRule, Part, Place, Scene, Spared, Work};
use crate::{
    amount::Amount,
    share::{Share, Shares},
    tree::{FlavorResource, NodeIx, Tree, Usage},
    workload::{Running, Workload, WorkloadIx},
};

/// A part of a workload that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) workload: WorkloadIx,
    pub(super) queue: NodeIx,
    pub(super) part: Part,
    pub(super) why: Why,
}

/// By which rule it was taken. The numbers are added once it is clear who stays a victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Own,
    /// The taker is nearer to the quota by the shape of the tree.
    Nearer,
    Reclaim,
    WhileBorrowing,
    Fair(FairRule),
}

pub(super) struct Ground<'a> {
    pub(super) tree: &'a Tree,
    pub(super) shares: &'a Shares,
    pub(super) running: &'a Running,
    pub(super) usage: &'a mut Usage,
    pub(super) place: &'a mut dyn Place,
    pub(super) asking: &'a Asking<'a>,
    pub(super) work: Work,
    pub(super) spared: Spared,
    // What was short when last asked: likely still so.
    short_at: usize,
}

/// What a part of a workload uses.
pub(super) fn amounts(workload: &Workload, part: Part) -> impl Iterator<Item = (FlavorResource, Amount)> {
    let units = match (part, &workload.elastic) {
        (Part::Units(units), _) => i64::from(units),
        (Part::Rest, Some(elastic)) => i64::from(elastic.spare),
        _ => 0,
    };
    let unit = workload.elastic.as_ref().map_or(&[][..], |elastic| elastic.unit.as_slice());
    workload.usage.iter().map(move |(what, whole)| {
        let of_unit = || unit.iter().find(|(of, _)| of == what).map_or(Amount::ZERO, |(_, much)| *much);
        match part {
            Part::Whole => (*what, *whole),
            Part::Units(_) => (*what, of_unit().times(units)),
            Part::Rest => (*what, whole.minus(of_unit().times(units))),
        }
    })
}

impl<'a> Ground<'a> {
    pub(super) fn new(scene: &'a mut Scene<'_>, asking: &'a Asking<'a>, place: &'a mut dyn Place) -> Self {
        let Scene { tree, shares, running, usage, .. } = scene;
        let (work, spared) = (Work::default(), Spared::default());
        Self { tree, shares, running, usage, place, asking, work, spared, short_at: 0 }
    }

    pub(super) fn take(&mut self, step: &Step) {
        self.uncharge(step.workload, step.part);
        self.place.take(step.workload, step.part);
    }

    pub(super) fn put_back(&mut self, step: &Step) {
        self.charge(step.workload, step.part);
        self.place.put_back(step.workload, step.part);
    }

    // The usage alone, for a look at the shares.
    pub(super) fn uncharge(&mut self, workload: WorkloadIx, part: Part) {
        self.work.moved += 1;
        let Some(workload) = self.running.get(workload) else { return };
        if part == Part::Whole {
            return workload.refund(self.tree, self.usage);
        }
        for (what, much) in amounts(workload, part) {
            self.usage.remove(self.tree, workload.queue, what, much);
        }
    }

    pub(super) fn charge(&mut self, workload: WorkloadIx, part: Part) {
        self.work.moved += 1;
        let Some(workload) = self.running.get(workload) else { return };
        if part == Part::Whole {
            return workload.charge(self.tree, self.usage);
        }
        for (what, much) in amounts(workload, part) {
            self.usage.add(self.tree, workload.queue, what, much);
        }
    }

    pub(super) fn charge_request(&mut self) {
        let Asking { queue, request, .. } = self.asking;
        request.iter().for_each(|(what, much)| self.usage.add(self.tree, *queue, *what, *much));
    }

    pub(super) fn uncharge_request(&mut self) {
        let Asking { queue, request, .. } = self.asking;
        request.iter().for_each(|(what, much)| self.usage.remove(self.tree, *queue, *what, *much));
    }

    pub(super) fn share(&self, node: NodeIx) -> Share {
        self.shares.of(self.tree, self.usage, node)
    }

    /// Whether the taker uses no more than its own of what is contested. Its request must be charged.
    pub(super) fn is_entitled(&self) -> bool {
        let Asking { queue, contested, .. } = *self.asking;
        contested.iter().all(|what| self.usage.of(queue, *what) <= self.tree.subtree(queue, *what))
    }

    /// Whether the request fits now, in quota and in place.
    pub(super) fn fits(&mut self, borrowing: bool) -> bool {
        self.work.fits += 1;
        if let Some(entry) = self.asking.request.get(self.short_at)
            && self.short_of(entry, borrowing).is_some()
        {
            return false;
        }
        let short = self.asking.request.iter().position(|entry| self.short_of(entry, borrowing).is_some());
        match short {
            Some(at) => {
                self.short_at = at;
                false
            }
            None => self.place.is_found(),
        }
    }

    /// Whether the request fits now, while it is charged.
    pub(super) fn fits_charged(&mut self) -> bool {
        if self.is_root_overdrawn() {
            self.work.fits += 1;
            return false;
        }
        self.uncharge_request();
        let fits = self.fits(true);
        self.charge_request();
        fits
    }

    // Where nothing on the way up is kept, all of the request counts at the root; if that is too much there, it does not fit.
    fn is_root_overdrawn(&self) -> bool {
        let queue = self.asking.queue;
        let root = self.tree.root(queue);
        let keeps_none = |what| {
            let mut way = std::iter::once(queue).chain(self.tree.ancestors(queue));
            way.all(|node| self.tree.kept(node, what) <= Amount::ZERO)
        };
        let mut asked = self.asking.request.iter().filter(|(_, much)| *much > Amount::ZERO).map(|(what, _)| *what);
        asked.any(|what| self.usage.of(root, what) > self.tree.subtree(root, what) && keeps_none(what))
    }

    /// Why the request does not fit now.
    pub(super) fn because(&self, borrowing: bool) -> Because {
        let short = |entry: &(FlavorResource, Amount)| Some((entry.0, self.short_of(entry, borrowing)?));
        match self.asking.request.iter().find_map(short) {
            Some((what, short)) => Because::NotEnough { what, short },
            None => Because::NoPlace,
        }
    }

    fn short_of(&self, (what, much): &(FlavorResource, Amount), borrowing: bool) -> Option<Amount> {
        let queue = self.asking.queue;
        let mut free = self.tree.available(self.usage, queue, *what).or_zero();
        if !borrowing {
            // Below zero where more than its own is used; then not even nothing is to be had without borrowing.
            free = free.min(self.tree.subtree(queue, *what).minus(self.usage.of(queue, *what)));
        }
        (free < *much).then(|| much.minus(free))
    }

    /// The nodes of two queues right below the lowest cohort that both are in.
    pub(super) fn sides(&self, queue: NodeIx, other: NodeIx) -> Option<(NodeIx, NodeIx)> {
        let (mut mine, mut above) = (queue, self.tree.parent(queue));
        while let Some(cohort) = above {
            let mut theirs = other;
            for node in self.tree.ancestors(other) {
                if node == cohort {
                    return Some((mine, theirs));
                }
                theirs = node;
            }
            (mine, above) = (cohort, self.tree.parent(cohort));
        }
        None
    }
}
