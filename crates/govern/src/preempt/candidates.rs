//! Who may be taken, and in which order. The queues' own orders are merged as far as a search goes and no further, so that a
//! search among ten thousand workloads that needs three looks at little more than the first of each queue.

use super::{
    Asking, Over, Part, PreemptionRules, QueuePolicy, Scene, Spared, Takes,
    budget::{self, Protected},
    ground::{Ground, Step, Why},
};
use crate::{
    tree::NodeIx,
    workload::{Rank, Workload, WorkloadIx},
};
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

/// Who asks, and what it may do.
pub(super) struct Taker<'a> {
    pub(super) asking: &'a Asking<'a>,
    pub(super) policy: QueuePolicy,
    pub(super) rules: &'a PreemptionRules,
    pub(super) now: i64,
    // Gets back what is its own, and waits for nobody.
    owner: bool,
    // Workloads whose taking would not have been fair in the end.
    pub(super) unfair: BTreeSet<WorkloadIx>,
    /// What is left alone before any workload is looked at.
    pub(super) spared: Spared,
}

/// Which of the lists of candidates a queue is in. They are taken in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// The taker is nearer to the quota that they use.
    Nearer,
    /// They use what is no nearer to the taker.
    Other,
    /// The taker's own queue.
    Own,
}

/// A queue with candidates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    pub(super) queue: NodeIx,
    pub(super) list: List,
    /// The lowest cohort that the taker is in too; for the taker's own queue that queue.
    pub(super) common: NodeIx,
}

/// What is taken in one go through the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    // Those that are being stopped anyway.
    Evicting,
    // What can be given up without being stopped.
    Spare,
    Stop,
}

const PHASES: [(Pass, List); 9] = [
    (Pass::Evicting, List::Nearer),
    (Pass::Evicting, List::Other),
    (Pass::Evicting, List::Own),
    (Pass::Spare, List::Nearer),
    (Pass::Spare, List::Other),
    (Pass::Spare, List::Own),
    (Pass::Stop, List::Nearer),
    (Pass::Stop, List::Other),
    (Pass::Stop, List::Own),
];

/// The candidates of one attempt, one after the other.
pub(super) struct Stream<'g> {
    groups: &'g [Group],
    borrowing: bool,
    phase: usize,
    started: bool,
    // The first of each queue that is still in this phase: its rank, its group and its place in the queue.
    heads: BinaryHeap<Reverse<(Rank, usize, usize)>>,
    shrunk: BTreeSet<WorkloadIx>,
}

impl<'a> Taker<'a> {
    pub(super) fn new(scene: &Scene<'a>, asking: &'a Asking<'a>) -> Self {
        let policy = scene.policies.get(asking.queue.0 as usize).copied().unwrap_or_default();
        let Scene { tree, usage, rules, now, .. } = scene;
        let beyond = |(what, much): &(_, _)| tree.borrows_with(usage, asking.queue, *what, *much);
        let mut contested = asking.request.iter().filter(|(what, _)| asking.contested.contains(what));
        let owner = rules.owner_waits_for_nobody && !contested.any(beyond);
        Self { asking, policy, rules, now: *now, owner, unfair: BTreeSet::new(), spared: Spared::default() }
    }

    pub(super) fn is_own(&self, queue: NodeIx) -> bool {
        self.asking.queue == queue
    }

    fn takes_from(&self, queue: NodeIx) -> Takes {
        if self.is_own(queue) { self.policy.within_queue } else { self.policy.reclaim }
    }

    /// Whether the policy gives a workload, whatever else is taken.
    pub(super) fn may_take(&self, workload: &Workload) -> bool {
        let asking = self.asking;
        let lower = asking.priority > workload.priority;
        let by_policy = match self.takes_from(workload.queue) {
            Takes::Never | Takes::Unset => false,
            _ if self.rules.strict_within_queue && self.is_own(workload.queue) => lower,
            Takes::Any => true,
            Takes::LowerPriority => lower,
            Takes::LowerOrNewerEqualPriority => {
                lower || asking.priority == workload.priority && self.is_newer(workload)
            }
        };
        by_policy && workload.uses(asking.contested)
    }

    /// Whether the taker's own queue may have a candidate; where its lowest priority is too high, it has none.
    pub(super) fn may_take_own(&self, ground: &Ground<'_>) -> bool {
        let (asking, takes) = (self.asking, self.policy.within_queue);
        let Some(lowest) = ground.running.lowest_priority(asking.queue) else { return false };
        match takes {
            Takes::Never | Takes::Unset => false,
            Takes::LowerOrNewerEqualPriority if !self.rules.strict_within_queue => lowest <= asking.priority,
            Takes::Any if !self.rules.strict_within_queue => true,
            _ => lowest < asking.priority,
        }
    }

    fn is_newer(&self, workload: &Workload) -> bool {
        match (self.asking.queued_at, workload.queued_at) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(mine), Some(theirs)) => theirs.saturating_sub(mine) > i64::from(self.rules.newer_s_min),
        }
    }

    /// The place in its queue of the next workload that may be taken.
    pub(super) fn next_of(&self, ground: &mut Ground<'_>, places: &[WorkloadIx], from: usize) -> Option<usize> {
        for (at, place) in places.iter().enumerate().skip(from) {
            ground.work.looked += 1;
            let Some(workload) = ground.running.candidate(*place).filter(|workload| self.may_take(workload)) else {
                continue;
            };
            if self.is_protected(ground, workload) {
                continue;
            }
            if self.unfair.contains(place) {
                ground.spared.unfair += 1;
            } else {
                return Some(at);
            }
        }
        None
    }

    /// Until when nothing in another queue may be taken because all of it has only just started, if that is so.
    pub(super) fn all_young_until(&self, ground: &Ground<'_>, queue: NodeIx) -> Option<i64> {
        if self.owner || self.rules.run_s_min == 0 || self.takes_from(queue) != Takes::Any {
            return None;
        }
        let first = ground.running.get(*ground.running.of_queue(queue).first()?)?;
        let grown_at = ground.running.first_start(queue)?.min(self.now).saturating_add(i64::from(self.rules.run_s_min));
        (!first.evicting && self.now < grown_at).then_some(grown_at)
    }

    // Whoever gets back its own from another queue waits for nobody. Says so in what is spared.
    fn is_protected(&self, ground: &mut Ground<'_>, workload: &Workload) -> bool {
        if self.owner && !self.is_own(workload.queue) {
            return false;
        }
        let spared = &mut ground.spared;
        if self.asking.displaced_by == Some(workload.identity) {
            spared.shielded += 1;
            return true;
        }
        let Some(protected) = budget::protected(self.rules, workload, self.now) else { return false };
        let until = match protected {
            Protected::Young(until) => {
                spared.young += 1;
                until
            }
            Protected::Stopped(until) => {
                spared.stopped += 1;
                until
            }
        };
        spared.until = Some(spared.until.map_or(until, |before| before.min(until)));
        true
    }

    /// Whether a node uses enough beyond its own of what is contested.
    pub(super) fn over(&self, ground: &Ground<'_>, node: NodeIx) -> Option<Over> {
        budget::over(ground.tree, ground.usage, self.rules, node, self.asking.contested.iter().copied())
    }

    /// Whether a queue does, and every node above it below the common cohort.
    fn is_over_up_to(&self, ground: &Ground<'_>, queue: NodeIx, common: NodeIx) -> bool {
        let mut nodes = std::iter::once(queue).chain(ground.tree.ancestors(queue)).take_while(|node| *node != common);
        nodes.all(|node| self.over(ground, node).is_some())
    }

    /// Whether what is nominal to a node forbids to take this part, although the node uses more than its own of something.
    /// `taker_borrows`: what is taken would be lent to the taker, not given back to it.
    pub(super) fn keeps_nominal(
        &self,
        ground: &Ground<'_>,
        workload: &Workload,
        part: Part,
        common: NodeIx,
        taker_borrows: bool,
    ) -> bool {
        if !self.rules.keep_nominal {
            return false;
        }
        let (tree, usage, contested) = (ground.tree, &*ground.usage, self.asking.contested);
        let used = || workload.usage.iter().map(|(what, _)| *what).filter(|what| contested.contains(what));
        let within = |node: NodeIx| budget::over(tree, usage, self.rules, node, used()).is_none();
        let mut nodes = std::iter::once(workload.queue).chain(tree.ancestors(workload.queue));
        nodes.by_ref().take_while(|node| *node != common).any(within)
            || taker_borrows && !budget::leaves_nominal(tree, usage, workload, part, contested, common)
    }

    /// Whether the taker would use more than its own of something that is contested.
    pub(super) fn borrows(&self, ground: &Ground<'_>) -> bool {
        let Asking { queue, request, contested, .. } = self.asking;
        let beyond = |(what, much): &(_, _)| ground.tree.borrows_with(ground.usage, *queue, *what, *much);
        request.iter().filter(|(what, _)| contested.contains(what)).any(beyond)
    }

    // What binds a workload of another queue.
    fn why(&self, workload: &Workload, list: List) -> Why {
        match self.policy.while_borrowing {
            _ if list == List::Nearer => Why::Nearer,
            None => Why::Reclaim,
            Some(_) if workload.priority >= self.asking.priority => Why::Reclaim,
            Some(limit) if limit.priority_max.is_some_and(|most| workload.priority > most) => Why::Reclaim,
            Some(_) => Why::WhileBorrowing,
        }
    }
}

impl<'g> Stream<'g> {
    pub(super) fn new(groups: &'g [Group], borrowing: bool) -> Self {
        let (phase, started) = (0, false);
        Self { groups, borrowing, phase, started, heads: BinaryHeap::new(), shrunk: BTreeSet::new() }
    }

    /// The next workload to take.
    pub(super) fn next(&mut self, taker: &Taker<'_>, ground: &mut Ground<'_>) -> Option<Step> {
        loop {
            let Some(Reverse((_, group, at))) = self.heads.pop() else {
                if std::mem::replace(&mut self.started, true) {
                    self.phase += 1;
                }
                self.fill(taker, ground)?;
                continue;
            };
            let Group { queue, common, list } = self.groups[group];
            // Usage only falls during an attempt, so a queue that is within its own stays so.
            if list != List::Own && !taker.is_over_up_to(ground, queue, common) {
                continue;
            }
            let places = ground.running.of_queue(queue);
            self.push(taker, ground, group, at + 1);
            if let Some(step) = self.step(taker, ground, group, places[at]) {
                return Some(step);
            }
        }
    }

    fn step(&mut self, taker: &Taker<'_>, ground: &mut Ground<'_>, group: usize, place: WorkloadIx) -> Option<Step> {
        let Group { queue, list, common } = self.groups[group];
        let workload = ground.running.get(place)?;
        let spare = workload.elastic.as_ref().map_or(0, |elastic| elastic.spare);
        let part = match PHASES[self.phase].0 {
            Pass::Spare => Part::Units(spare),
            _ if self.shrunk.contains(&place) => Part::Rest,
            _ => Part::Whole,
        };
        let why = if list == List::Own { Why::Own } else { taker.why(workload, list) };
        if self.borrowing && why == Why::Reclaim {
            return None;
        }
        let lends = why == Why::WhileBorrowing && taker.borrows(ground);
        if why != Why::Own && taker.keeps_nominal(ground, workload, part, common, lends) {
            ground.spared.nominal += 1;
            return None;
        }
        if matches!(part, Part::Units(_)) {
            self.shrunk.insert(place);
        }
        Some(Step { workload: place, queue, part, why })
    }

    // Starts the phase, or the next one that has any; nothing when all are through.
    fn fill(&mut self, taker: &Taker<'_>, ground: &mut Ground<'_>) -> Option<()> {
        while self.heads.is_empty() {
            let (pass, list) = *PHASES.get(self.phase)?;
            if pass != Pass::Spare || taker.rules.shrink_first {
                // Whoever may never take while it borrows need not look at any of these.
                let none = self.borrowing && list == List::Other && taker.policy.while_borrowing.is_none();
                for group in 0..if none { 0 } else { self.groups.len() } {
                    let idle = pass == Pass::Spare && !ground.running.has_elastic(self.groups[group].queue);
                    if self.groups[group].list == list && !idle {
                        let places = ground.running.of_queue(self.groups[group].queue);
                        let from = if pass == Pass::Evicting { 0 } else { first_live(ground, places) };
                        self.push(taker, ground, group, from);
                    }
                }
            }
            if self.heads.is_empty() {
                self.phase += 1;
            }
        }
        Some(())
    }

    fn push(&mut self, taker: &Taker<'_>, ground: &mut Ground<'_>, group: usize, from: usize) {
        let pass = PHASES[self.phase].0;
        let running = ground.running;
        let places = running.of_queue(self.groups[group].queue);
        let places = if pass == Pass::Evicting { &places[..first_live(ground, places)] } else { places };
        let mut from = from;
        while let Some(at) = taker.next_of(ground, places, from) {
            let workload = running.get(places[at]);
            let spare = workload.and_then(|workload| workload.elastic.as_ref()).is_some_and(|it| it.spare > 0);
            if let Some(workload) = workload.filter(|_| pass != Pass::Spare || spare) {
                self.heads.push(Reverse((workload.rank(), group, at)));
                return;
            }
            from = at + 1;
        }
    }
}

// Those that are being stopped anyway come first.
pub(super) fn first_live(ground: &Ground<'_>, places: &[WorkloadIx]) -> usize {
    places.partition_point(|place| ground.running.get(*place).is_some_and(|workload| workload.evicting))
}
