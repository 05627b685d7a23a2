//! The same search done the plain way: all candidates in one list, sorted whole, every share worked out anew. Slow, and
//! written from the description alone, so that what the fast one does lazily can be held against it.

use super::{super::*, World};
use crate::workload::Workload;
use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeSet,
};

pub(super) struct Naive<'a> {
    world: &'a World,
    asking: &'a Asking<'a>,
    policy: QueuePolicy,
    usage: Usage,
}

type Found = Vec<(WorkloadIx, &'static str)>;

impl<'a> Naive<'a> {
    pub(super) fn search(world: &'a World, asking: &'a Asking<'a>) -> BTreeSet<(u32, &'static str)> {
        let policy = world.policies[asking.queue.0 as usize];
        let mut naive = Self { world, asking, policy, usage: world.usage() };
        let found = match world.rules.fair {
            None => naive.classical(),
            Some(strategies) => naive.fair(strategies),
        };
        found.into_iter().map(|(place, reason)| (place.0, reason)).collect()
    }

    fn workload(&self, place: WorkloadIx) -> &'a Workload {
        self.world.running.get(place).unwrap()
    }

    fn own(&self, place: WorkloadIx) -> bool {
        self.workload(place).queue == self.asking.queue
    }

    fn allowed(&self, place: WorkloadIx) -> bool {
        let workload = self.workload(place);
        let (mine, theirs) = (self.asking.priority, workload.priority);
        let takes = if self.own(place) { self.policy.within_queue } else { self.policy.reclaim };
        let fits = match takes {
            Takes::Never | Takes::Unset => false,
            Takes::LowerPriority => theirs < mine,
            Takes::LowerOrNewerEqualPriority => {
                theirs < mine || theirs == mine && self.asking.queued_at < workload.queued_at
            }
            Takes::Any => true,
        };
        fits && workload.usage.iter().any(|(what, _)| self.asking.contested.contains(what))
    }

    fn order(&self, left: WorkloadIx, right: WorkloadIx) -> Ordering {
        let key = |place| {
            let workload = self.workload(place);
            (
                !workload.evicting,
                self.own(place),
                workload.priority,
                Reverse(workload.quota_at.unwrap_or(i64::MAX)),
                workload.identity,
            )
        };
        key(left).cmp(&key(right))
    }

    fn within(&self, node: NodeIx) -> bool {
        self.asking.contested.iter().all(|what| self.usage.of(node, *what) <= self.world.tree.subtree(node, *what))
    }

    fn fits(&self, borrowing: bool) -> bool {
        let (tree, queue) = (&self.world.tree, self.asking.queue);
        self.asking.request.iter().all(|(what, much)| {
            (borrowing || !tree.borrows_with(&self.usage, queue, *what, *much))
                && *much <= tree.available(&self.usage, queue, *what).or_zero()
        })
    }

    fn take(&mut self, place: WorkloadIx) {
        self.workload(place).refund(&self.world.tree, &mut self.usage);
    }

    fn add(&mut self, place: WorkloadIx) {
        self.workload(place).charge(&self.world.tree, &mut self.usage);
    }

    fn fill_back(&mut self, mut found: Found, borrowing: bool) -> Found {
        for at in (0..found.len().saturating_sub(1)).rev() {
            self.add(found[at].0);
            if self.fits(borrowing) {
                found.remove(at);
            } else {
                self.take(found[at].0);
            }
        }
        found
    }

    fn queues_below(&self, node: NodeIx, skip: NodeIx) -> Vec<NodeIx> {
        let mut queues = vec![];
        for child in self.world.tree.children(node) {
            if *child == skip || self.within(*child) {
                continue;
            }
            if self.world.tree.is_queue(*child) {
                queues.push(*child);
            } else {
                queues.extend(self.queues_below(*child, skip));
            }
        }
        queues
    }

    // What is nearer, what is not, and its own; each with the common cohort and whether it is nearer.
    fn lists(&self) -> [Vec<(WorkloadIx, NodeIx, bool)>; 3] {
        let (tree, queue) = (&self.world.tree, self.asking.queue);
        let of = |node: NodeIx, this: &Self| -> Vec<WorkloadIx> {
            this.world
                .running
                .iter()
                .filter(|(place, it)| it.queue == node && this.allowed(*place))
                .map(|it| it.0)
                .collect()
        };
        let mut lists = [vec![], vec![], vec![]];
        if self.policy.reclaim != Takes::Never {
            let mut left = self.asking.request.to_vec();
            let mut claim = |node: NodeIx| {
                let fits = left.iter().all(|(what, much)| !tree.borrows_with(&self.usage, node, *what, *much));
                for (what, much) in &mut left {
                    *much = much.minus(tree.kept_free(&self.usage, node, *what)).or_zero();
                }
                fits
            };
            let (mut nearer, mut seen) = (claim(queue), queue);
            for above in tree.ancestors(queue) {
                for giver in self.queues_below(above, seen) {
                    let list = &mut lists[usize::from(!nearer)];
                    list.extend(of(giver, self).into_iter().map(|place| (place, above, nearer)));
                }
                nearer |= claim(above);
                seen = above;
            }
        }
        if self.policy.within_queue != Takes::Never {
            lists[2].extend(of(queue, self).into_iter().map(|place| (place, queue, false)));
        }
        lists.iter_mut().for_each(|list| list.sort_by(|left, right| self.order(left.0, right.0)));
        lists
    }

    fn classical(&mut self) -> Found {
        let (tree, queue) = (&self.world.tree, self.asking.queue);
        let lists = self.lists();
        let evicting = |place: WorkloadIx| self.workload(place).evicting;
        let all: Vec<_> = [true, false]
            .into_iter()
            .flat_map(|wanted| lists.iter().flatten().filter(move |it| evicting(it.0) == wanted))
            .copied()
            .collect();
        let strict = self.policy.while_borrowing.is_none();
        let below = |what: &FlavorResource| self.usage.of(queue, *what) < tree.quota(queue, *what).nominal;
        let attempts: &[bool] =
            if lists[0].is_empty() && lists[1].is_empty() || strict && !self.asking.contested.iter().all(below) {
                &[true]
            } else if strict && lists[0].is_empty() {
                &[false, true]
            } else {
                &[true, false]
            };
        for borrowing in attempts {
            let start = self.usage.clone();
            let mut found = vec![];
            for (place, common, nearer) in &all {
                let reason = self.reason(*place, *nearer);
                if !self.own(*place) {
                    let bound = reason == "without" && *borrowing;
                    let nodes =
                        std::iter::once(self.workload(*place).queue).chain(tree.ancestors(self.workload(*place).queue));
                    if bound || nodes.take_while(|node| node != common).any(|node| self.within(node)) {
                        continue;
                    }
                }
                self.take(*place);
                found.push((*place, if reason == "without" { "reclaim" } else { reason }));
                if self.fits(*borrowing) {
                    return self.fill_back(found, *borrowing);
                }
            }
            self.usage = start;
        }
        vec![]
    }

    fn reason(&self, place: WorkloadIx, nearer: bool) -> &'static str {
        let priority = self.workload(place).priority;
        match self.policy.while_borrowing {
            _ if self.own(place) => "own",
            _ if nearer => "reclaim",
            Some(TakesWhileBorrowing { priority_max })
                if priority < self.asking.priority && priority_max.is_none_or(|most| priority <= most) =>
            {
                "borrowing"
            }
            _ => "without",
        }
    }

    fn share(&self, node: NodeIx) -> Share {
        self.world.shares.of(&self.world.tree, &self.usage, node)
    }

    fn request(&mut self, add: bool) {
        for (what, much) in self.asking.request {
            if add {
                self.usage.add(&self.world.tree, self.asking.queue, *what, *much);
            } else {
                self.usage.remove(&self.world.tree, self.asking.queue, *what, *much);
            }
        }
    }

    fn fits_without_request(&mut self) -> bool {
        self.request(false);
        let fits = self.fits(true);
        self.request(true);
        fits
    }

    // The queue whose turn it is; those that are out are kept in `out`.
    fn turn(&self, left: &[WorkloadIx], out: &mut BTreeSet<NodeIx>) -> Option<NodeIx> {
        let (tree, own) = (&self.world.tree, self.asking.queue);
        let root = tree.root(own);
        let first = |queue: NodeIx| left.iter().copied().find(|place| self.workload(*place).queue == queue);
        if root == own {
            return first(own).map(|_| own);
        }
        'again: loop {
            if out.contains(&root) {
                return None;
            }
            let mut at = root;
            loop {
                let mut best: Option<NodeIx> = None;
                for node in tree.children(at) {
                    let on_way = *node == own || tree.ancestors(own).any(|above| above == *node);
                    let empty = tree.is_queue(*node) && first(*node).is_none();
                    if empty || self.share(*node).is_zero() && !on_way {
                        out.insert(*node);
                    }
                    if out.contains(node) {
                        continue;
                    }
                    let better = best.is_none_or(|best| {
                        let by_share = self.share(*node).compare(&self.share(best));
                        let by_kind = tree.is_queue(best).cmp(&tree.is_queue(*node));
                        let by_first = match (first(*node), first(best)) {
                            (Some(mine), Some(theirs)) => self.order(mine, theirs).reverse(),
                            _ => Ordering::Equal,
                        };
                        by_share.then(by_kind).then(by_first).is_gt()
                    });
                    if better {
                        best = Some(*node);
                    }
                }
                match best {
                    None => {
                        out.insert(at);
                        continue 'again;
                    }
                    Some(node) if tree.is_queue(node) => return Some(node),
                    Some(node) => at = node,
                }
            }
        }
    }

    fn sides(&self, queue: NodeIx) -> (NodeIx, NodeIx) {
        let up =
            |queue: NodeIx| -> Vec<NodeIx> { std::iter::once(queue).chain(self.world.tree.ancestors(queue)).collect() };
        let (mut mine, mut theirs) = (up(self.asking.queue), up(queue));
        while mine.last() == theirs.last() {
            mine.pop();
            theirs.pop();
        }
        (*mine.last().unwrap(), *theirs.last().unwrap())
    }

    fn fair(&mut self, strategies: FairStrategies) -> Found {
        let root = self.world.tree.root(self.asking.queue);
        let mut left: Vec<WorkloadIx> = self.world.running.iter().map(|it| it.0).collect();
        left.retain(|place| {
            let queue = self.workload(*place).queue;
            let borrowed = self.world.tree.root(queue) == root && !self.within(queue);
            self.allowed(*place) && (self.own(*place) || borrowed)
        });
        left.sort_by(|a, b| self.order(*a, *b));
        self.request(true);
        let (mut found, mut later, mut fits) = (vec![], vec![], false);
        let entitled = self.within(self.asking.queue);
        let mut out = BTreeSet::new();
        while !fits && let Some(queue) = self.turn(&left, &mut out) {
            let mut taken = None;
            let (taker, before, theirs) = if queue == self.asking.queue || entitled {
                (Share::none(crate::weight::Weight::ONE), Share::none(crate::weight::Weight::ONE), queue)
            } else {
                let (mine, theirs) = self.sides(queue);
                (self.share(mine), self.share(theirs), theirs)
            };
            while taken.is_none()
                && let Some(at) = left.iter().position(|place| self.workload(*place).queue == queue)
            {
                let place = left.remove(at);
                self.take(place);
                let after = self.share(theirs);
                let given = match strategies {
                    FairStrategies::InitialShare => taker.compare(&before).is_lt(),
                    _ => taker.compare(&after).is_le(),
                };
                if queue == self.asking.queue {
                    taken = Some((place, "own"));
                } else if entitled {
                    taken = Some((place, "reclaim"));
                } else if given {
                    taken = Some((place, "fair"));
                } else {
                    self.add(place);
                    later.push(place);
                }
            }
            if let Some(taken) = taken {
                found.push(taken);
                fits = self.fits_without_request();
            }
        }
        let mut out = BTreeSet::new();
        while !fits
            && strategies == FairStrategies::Both
            && let Some(queue) = self.turn(&later, &mut out)
        {
            let place = later.iter().copied().find(|place| self.workload(*place).queue == queue).unwrap();
            let (mine, theirs) = self.sides(queue);
            if self.share(mine).compare(&self.share(theirs)).is_lt() {
                self.take(place);
                found.push((place, "fair"));
                fits = self.fits_without_request();
            }
            out.insert(queue);
        }
        self.request(false);
        if fits { self.fill_back(found, true) } else { vec![] }
    }
}
