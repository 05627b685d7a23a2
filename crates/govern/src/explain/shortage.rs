//! What is missing, where in the quota tree, and who has it.

use super::{Amounts, ENDS_MAX, Explanation, HOLDERS_MAX, Holder, Unblock};
use crate::{
    amount::Amount,
    cycle::{Scheduler, book::PendingIx},
    flavors::{Assignment, Reason},
    share::Resource,
    tree::{FlavorResource, NodeIx, Tree, Usage},
    workload::WorkloadIx,
};

/// The thing of which most is missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortage {
    what: FlavorResource,
    asked: Amount,
    available: Amount,
    blocked_at: Option<NodeIx>,
    queue: NodeIx,
    // Nobody else uses it: the quotas themselves are too small.
    ever: bool,
}

impl Shortage {
    /// Against what is used now. Nothing where all of it is there.
    pub(super) fn now(scheduler: &Scheduler, place: PendingIx, assignment: &Assignment) -> Option<Self> {
        let queue = scheduler.book().get(place)?.queue;
        let (tree, usage) = (&scheduler.estate().tree, scheduler.usage());
        let short = asked_of(scheduler, place, assignment).into_iter().map(|(what, asked)| {
            let available = tree.available(usage, queue, what).or_zero();
            let blocked_at = blocking_node(tree, usage, queue, what, asked);
            Self { what, asked, available, blocked_at, queue, ever: false }
        });
        largest(short)
    }

    /// Against all there could ever be.
    pub(super) fn ever(scheduler: &Scheduler, place: PendingIx, assignment: &Assignment) -> Option<Self> {
        let queue = scheduler.book().get(place)?.queue;
        let tree = &scheduler.estate().tree;
        let unused = tree.unused();
        let short = asked_of(scheduler, place, assignment).into_iter().map(|(what, asked)| {
            let blocked_at = blocking_node(tree, &unused, queue, what, asked);
            Self { what, asked, available: tree.potential(queue, what).or_zero(), blocked_at, queue, ever: true }
        });
        largest(short)
    }

    pub(super) const fn missing(&self) -> Amount {
        self.asked.minus(self.available)
    }

    pub(super) fn tell(&self, scheduler: &Scheduler, explanation: &mut Explanation) {
        explanation.what = Some(self.what);
        (explanation.asked, explanation.available) = (self.asked, self.available);
        explanation.shortfall = self.missing();
        explanation.blocked_at = self.blocked_at;
        if !self.ever {
            let around = self.around(&scheduler.estate().tree);
            explanation.holders = holders(&scheduler.estate().tree, scheduler.usage(), around, self.what);
        }
    }

    // Where whatever ends helps.
    fn around(&self, tree: &Tree) -> NodeIx {
        self.blocked_at.unwrap_or_else(|| tree.root(self.queue))
    }

    pub(super) fn raised(&self) -> Option<Unblock> {
        Some(Unblock::QuotaRaised { node: self.blocked_at?, by: self.missing() })
    }

    /// What would help: enough of what runs ends, first those that are being stopped, then in the order of their known ends;
    /// where that is not enough, queues give back what they borrowed; or quota is raised.
    pub(super) fn unblocks(&self, scheduler: &Scheduler) -> Vec<Unblock> {
        let tree = &scheduler.estate().tree;
        let around = self.around(tree);
        let mut missing = self.missing();
        let mut unblocks = vec![];
        for (at, workload, much) in self.ends(scheduler, around).into_iter().take(ENDS_MAX) {
            if missing <= Amount::ZERO {
                break;
            }
            unblocks.push(Unblock::Ends { workload, at });
            missing = missing.minus(much);
        }
        for holder in holders(tree, scheduler.usage(), around, self.what) {
            if missing <= Amount::ZERO {
                break;
            }
            let gives = if holder.borrowed > Amount::ZERO { holder.borrowed } else { holder.holds };
            let amount = gives.min(missing);
            unblocks.push(Unblock::Released { queue: holder.queue, amount });
            missing = missing.minus(amount);
        }
        unblocks.extend(self.raised());
        unblocks
    }

    // What is being stopped, and what has a known end, the first first.
    fn ends(&self, scheduler: &Scheduler, around: NodeIx) -> Vec<(Option<i64>, WorkloadIx, Amount)> {
        let mut ends = vec![];
        for queue in queues_below(&scheduler.estate().tree, around) {
            for place in scheduler.running().of_queue(queue) {
                let Some(workload) = scheduler.running().get(*place) else { continue };
                let much = workload.usage.iter().filter(|(what, _)| *what == self.what);
                let much = much.fold(Amount::ZERO, |sum, (_, much)| sum.plus(*much));
                let at = if workload.evicting { None } else { workload.ends_by() };
                if much > Amount::ZERO && (workload.evicting || at.is_some()) {
                    ends.push((at, *place, much));
                }
            }
        }
        ends.sort_unstable();
        ends
    }
}

// What a plan asks for, each thing once. Where it came to nothing, the flavor that was nearest to enough stands for all.
fn asked_of(scheduler: &Scheduler, place: PendingIx, assignment: &Assignment) -> Amounts {
    let mut asked = assignment.usage.clone();
    for (set, pod_set) in assignment.pod_sets.iter().zip(scheduler.pod_sets(place)) {
        if !set.failed {
            continue;
        }
        for (resource, each) in &pod_set.requests {
            let has = set.resources.iter().any(|one| one.resource == *resource);
            let tried = set.reasons.iter().filter_map(|reason| missing_of(scheduler, place, reason, *resource));
            let Some((_, what)) = tried.min().filter(|_| !has) else { continue };
            let much = each.times(i64::from(set.count));
            match asked.iter_mut().find(|(of, _)| *of == what) {
                Some((_, sum)) => *sum = sum.plus(much),
                None => asked.push((what, much)),
            }
        }
    }
    asked
}

// How much a flavor is short of a resource, where that is why it was not taken.
fn missing_of(
    scheduler: &Scheduler,
    place: PendingIx,
    reason: &Reason,
    resource: Resource,
) -> Option<(Amount, FlavorResource)> {
    let (missing, what) = match *reason {
        Reason::Insufficient { what, missing } => (missing, what),
        Reason::ExceedsCapacity { what, earlier, asked, capacity } => (earlier.plus(asked).minus(capacity), what),
        _ => return None,
    };
    let queue = scheduler.book().get(place)?.queue;
    let offer = scheduler.estate().offers.get(queue.0 as usize)?;
    let is_it = offer.groups.iter().any(|group| {
        let columns = group.resources.len().max(1);
        let here = |(at, cell): (usize, &FlavorResource)| {
            *cell == what && group.resources.get(at % columns) == Some(&resource)
        };
        group.cells.iter().enumerate().any(here)
    });
    is_it.then_some((missing, what))
}

fn largest(short: impl Iterator<Item = Shortage>) -> Option<Shortage> {
    let short = short.filter(|one| one.missing() > Amount::ZERO);
    short.max_by_key(|one| (one.missing(), std::cmp::Reverse(one.what)))
}

/// The lowest node on the way up that does not have so much more for a queue: one that may not borrow more, or the root.
pub(super) fn blocking_node(
    tree: &Tree,
    usage: &Usage,
    queue: NodeIx,
    what: FlavorResource,
    asked: Amount,
) -> Option<NodeIx> {
    let (mut node, mut rest) = (queue, asked);
    loop {
        let Some(parent) = tree.parent(node) else {
            return (tree.subtree(node, what).minus(usage.of(node, what)) < rest).then_some(node);
        };
        rest = rest.minus(tree.kept_free(usage, node, what));
        if let Some(limit) = tree.quota(node, what).borrowing_limit {
            let kept = tree.kept(node, what);
            let taken = usage.of(node, what).minus(kept).or_zero();
            if tree.subtree(node, what).minus(kept).minus(taken).plus(limit) < rest {
                return Some(node);
            }
        }
        node = parent;
    }
}

/// The queues at or below a node that use some of this, who borrowed most first.
pub(super) fn holders(tree: &Tree, usage: &Usage, around: NodeIx, what: FlavorResource) -> Vec<Holder> {
    let holder = |queue: NodeIx| {
        let holds = usage.of(queue, what);
        Holder { queue, holds, borrowed: holds.minus(tree.subtree(queue, what)).or_zero() }
    };
    let mut all: Vec<Holder> = queues_below(tree, around).into_iter().map(holder).collect();
    all.retain(|holder| holder.holds > Amount::ZERO);
    all.sort_unstable_by_key(|one| std::cmp::Reverse((one.borrowed, one.holds, std::cmp::Reverse(one.queue))));
    all.truncate(HOLDERS_MAX);
    all
}

fn queues_below(tree: &Tree, node: NodeIx) -> Vec<NodeIx> {
    let (mut below, mut queues) = (vec![node], vec![]);
    while let Some(node) = below.pop() {
        below.extend(tree.children(node));
        if tree.is_queue(node) {
            queues.push(node);
        }
    }
    queues
}
