//! The run of one cycle. Each workload that is looked at changes what the later ones see: what was admitted is used, what was
//! promised to one is not given to another, and quota that a workload waits for is kept from those behind it.

use super::{
    Decision, Floor, Placing, Profile, Scheduler, Verdict, Why,
    book::{Bar, Pending, PendingIx, Requeue, Strategy},
    bracket::{Bracket, Contender},
    plan::{Findings, Known, Plan, Planner, with_again, without},
    reserve::Shadow,
};
use crate::{
    amount::Amount,
    flavors::{Assignment, Blocked, Nominated, Progress, mode::Mode},
    order::{Waiting, among_queues},
    preempt::{Cut, Part, Takes, Victim},
    tree::{FlavorResource, NodeIx, Usage},
    workload::{Cause, Past, Terms, Workload, WorkloadIx},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};

// The next workload of a queue, and its plan.
struct Entry {
    pending: PendingIx,
    waiting: Waiting,
    first: bool,
    plan: Plan,
}

pub(super) struct Run<'s> {
    pub(super) scheduler: &'s mut Scheduler,
    floor: &'s mut dyn Floor,
    pub(super) now: i64,
    // What is used as the cycle sees it: what was admitted or promised counts, victims are still there.
    pub(super) usage: Usage,
    // The same once the victims are gone; the same usage as long as there are none.
    after: Option<Usage>,
    // Who is told to go, and the identity of the one for whom.
    taken: BTreeMap<WorkloadIx, (Victim, u64)>,
    // How many of them were not on their way before.
    pub(super) told: u32,
    // It may tell no more to go, and looks for nobody either.
    pub(super) exhausted: bool,
    // How many candidates all searches of the cycle have looked at.
    searched: u32,
    // Queues in which somebody waits for those that were told to go for it.
    pub(super) promised: BTreeSet<NodeIx>,
    // Queues that had their turn and were cut short.
    pub(super) cut: BTreeSet<NodeIx>,
    // Classes of which no more are looked at in this cycle, each as one of it.
    paused: Vec<PendingIx>,
    // By queue: searches that were refused, and after how many changes.
    known: Vec<(u64, Known)>,
    changes: u64,
    pub(super) shadows: Vec<Shadow>,
    // The first of each queue that waits for quota, by queue; whether it lacks a place only.
    pub(super) blocked: BTreeMap<NodeIx, (PendingIx, bool)>,
    // By node: the next workload, and how many the cycle took from there.
    fronts: Vec<Option<Entry>>,
    looked: Vec<u32>,
    admitted: Vec<(usize, PendingIx)>,
    // Goes back to the front of its queue, but only once the cycle is over: no cycle looks at a workload twice.
    later: Vec<(usize, Requeue, Option<Progress>)>,
    decisions: Vec<Decision>,
}

impl<'s> Run<'s> {
    pub(super) fn new(scheduler: &'s mut Scheduler, now: i64, floor: &'s mut dyn Floor) -> Self {
        let nodes = scheduler.estate.tree.nodes().count();
        let told = scheduler.told.keys().filter_map(|place| scheduler.book.get(*place));
        let promised = told.map(|pending| pending.queue).collect();
        Self {
            usage: scheduler.usage.clone(),
            scheduler,
            floor,
            now,
            after: None,
            taken: BTreeMap::new(),
            told: 0,
            exhausted: false,
            searched: 0,
            promised,
            cut: BTreeSet::new(),
            paused: vec![],
            known: vec![(0, Known::default()); nodes],
            changes: 0,
            shadows: vec![],
            blocked: BTreeMap::new(),
            fronts: (0..nodes).map(|_| None).collect(),
            looked: vec![0; nodes],
            admitted: vec![],
            later: vec![],
            decisions: vec![],
        }
    }

    pub(super) fn go(mut self) -> Vec<Decision> {
        self.scheduler.book.begin_cycle();
        let queues: Vec<NodeIx> = self.scheduler.book.ready().collect();
        if self.profile().reserves() {
            self.shadows = self.scheduler.shadows(self.now, &queues);
        }
        queues.iter().for_each(|queue| self.next(*queue));
        if self.profile().rules.fair.is_some() {
            self.fair(&queues);
        } else {
            self.classical(&queues);
        }
        self.settle();
        self.decisions
    }

    pub(super) const fn profile(&self) -> &Profile {
        &self.scheduler.profile
    }

    fn front(&self, queue: NodeIx) -> Option<&Entry> {
        self.fronts.get(queue.0 as usize)?.as_ref()
    }

    fn classical(&mut self, queues: &[NodeIx]) {
        let key = |run: &Self, queue: NodeIx| {
            let entry = run.front(queue)?;
            Some(Reverse((!entry.first, among_queues(entry.plan.assignment.level, &entry.waiting), queue)))
        };
        let mut heap: BinaryHeap<_> = queues.iter().filter_map(|queue| key(self, *queue)).collect();
        while let Some(Reverse((_, _, queue))) = heap.pop() {
            self.look(queue);
            heap.extend(key(self, queue));
        }
    }

    fn fair(&mut self, queues: &[NodeIx]) {
        let mut bracket = Bracket::new(&self.scheduler.estate.tree);
        let mut roots: Vec<NodeIx> = queues.iter().map(|queue| self.scheduler.estate.tree.root(*queue)).collect();
        roots.sort_unstable();
        roots.dedup();
        queues.iter().for_each(|queue| self.play(&mut bracket, *queue));
        for root in roots {
            while let Some(queue) = bracket.winner(&self.scheduler.estate.tree, root) {
                self.look(queue);
                self.play(&mut bracket, queue);
            }
        }
    }

    fn play(&mut self, bracket: &mut Bracket, queue: NodeIx) {
        let Self { fronts, usage, scheduler, .. } = self;
        let next = |queue: NodeIx| {
            let entry = fronts.get(queue.0 as usize)?.as_ref()?;
            Some(Contender { queue, waiting: entry.waiting, first: entry.first, usage: &entry.plan.assignment.usage })
        };
        bracket.play(&scheduler.estate.tree, &scheduler.estate.shares, usage, queue, &next);
    }

    // Takes the next workload of a queue that can be planned, as long as the cycle may take one.
    fn next(&mut self, queue: NodeIx) {
        let at = queue.0 as usize;
        while self.looked.get(at).is_some_and(|looked| *looked < self.profile().heads_per_queue) {
            if !self.may_search(queue) && self.is_full(queue) {
                self.is_cut(queue);
                return;
            }
            let Some(pending) = self.scheduler.book.pop(queue) else { return };
            self.looked[at] += 1;
            let Some(found) = self.scheduler.book.get(pending) else { continue };
            let (waiting, bar) = (found.waiting, found.bar);
            match bar {
                None => {
                    let plan = self.plan(pending, None, false);
                    let first = self.profile().preemptors_first && self.scheduler.book.is_preemptor(pending);
                    self.fronts[at] = plan.map(|plan| Entry { pending, waiting, first, plan });
                    return;
                }
                Some(bar) => {
                    let (requeue, why) = match bar {
                        Bar::FailedChecks => (Requeue::Barred, Why::PendingEvaluation),
                        Bar::NotAllowedHere => (Requeue::NotAllowedHere, Why::Misconfigured),
                        Bar::Invalid => (Requeue::Barred, Why::Misconfigured),
                    };
                    self.wait(queue, pending, requeue, why, None, None);
                    // Only one that the queue does not take does not hold up the others.
                    if self.scheduler.book.strategy(queue) == Strategy::Strict && requeue == Requeue::Barred {
                        return;
                    }
                }
            }
        }
    }

    // `after`: on what is used once the victims of the cycle are gone, and without them to take again.
    fn plan(&mut self, place: PendingIx, only: Option<&Nominated>, after: bool) -> Option<Plan> {
        let findings = Findings::default();
        let may_search = self.scheduler.book.get(place).is_some_and(|pending| self.may_search(pending.queue));
        let Self { scheduler, floor, usage, after: gone, taken, now, known, changes, exhausted, searched, .. } = self;
        let usage = if after { gone.as_mut().unwrap_or(usage) } else { usage };
        if after {
            taken.keys().for_each(|victim| scheduler.running.set_aside(*victim, true));
        }
        let pending = scheduler.book.get(place)?;
        let is_preemptor = scheduler.book.is_preemptor(place);
        // What was refused is refused as long as nothing has changed.
        let first = only.is_none() && !after;
        let known = known.get_mut(pending.queue.0 as usize).filter(|_| first);
        let before = known.as_ref().filter(|(at, _)| at == changes).map_or(Known::default(), |(_, known)| *known);
        let planner = Planner {
            estate: &scheduler.estate,
            profile: &scheduler.profile,
            running: &scheduler.running,
            now: *now,
            place,
            pending,
            pod_sets: scheduler.pod_sets(place),
            progress: scheduler.book.progress(place),
            known: before,
            told: scheduler
                .told
                .get(&place)
                .filter(|_| is_preemptor && scheduler.profile.preemptors_first)
                .map_or(&[], Vec::as_slice),
            // Whoever was searched for already may be searched for again.
            searches: may_search || is_preemptor || only.is_some(),
            findings: &findings,
        };
        let plan = planner.make(usage, *floor, only);
        *searched = searched.saturating_add(findings.looked.get());
        *exhausted |= scheduler.profile.candidates_per_cycle.is_some_and(|most| *searched >= most);
        if let Some(known) = known {
            let Known { quota, place } = findings.refused.get();
            // The least that was refused says most.
            let quota = [before.quota, quota].into_iter().flatten().min_by_key(|refused| refused.much);
            *known = (*changes, Known { quota, place: place.or(before.place) });
        }
        if after {
            taken.keys().for_each(|victim| scheduler.running.set_aside(*victim, false));
        }
        Some(plan)
    }

    // Decides about the next workload of a queue, and takes the one after it.
    fn look(&mut self, queue: NodeIx) {
        let Some(entry) = self.fronts[queue.0 as usize].take() else { return };
        let admitted = self.decide(queue, entry);
        if admitted || self.scheduler.book.strategy(queue) == Strategy::BestEffort {
            self.next(queue);
        }
    }

    // Whether it was admitted.
    fn decide(&mut self, queue: NodeIx, mut entry: Entry) -> bool {
        let fits = self.replan(queue, &mut entry);
        let Entry { pending, plan, .. } = entry;
        if let Some((requeue, why)) = self.hindrance(queue, pending, &plan, fits) {
            let searched = matches!(requeue, Requeue::NoFit | Requeue::NoCandidates);
            let progress = plan.assignment.progress().filter(|_| searched);
            self.wait(queue, pending, requeue, why, Some(plan.assignment), progress);
            return false;
        }
        self.spend(queue, &plan);
        self.grant(queue, pending, &plan);
        let Plan { assignment, victims, .. } = plan;
        if assignment.mode == Mode::Preempt {
            let verdict = Verdict::Preempting { assignment, victims };
            self.put_back(queue, pending, verdict, Requeue::PendingPreemption, None);
            return false;
        }
        let Scheduler { estate, usage, .. } = &mut *self.scheduler;
        assignment.usage.iter().for_each(|(what, much)| usage.add(&estate.tree, queue, *what, *much));
        self.admitted.push((self.decisions.len(), pending));
        let verdict = Verdict::Admitted { workload: WorkloadIx(u32::MAX), assignment };
        self.decisions.push(Decision { pending, queue, verdict, at: None });
        true
    }

    // What keeps a plan from being carried out, if anything does. `fits`: there is enough once the victims of the cycle are gone.
    fn hindrance(&mut self, queue: NodeIx, pending: PendingIx, plan: &Plan, fits: bool) -> Option<(Requeue, Why)> {
        let Plan { assignment, victims, recheck_at, unsearched } = plan;
        let short = Why::Blocked(Blocked::WaitingForQuota);
        match assignment.mode {
            Mode::NoFit => {
                let why = Why::Blocked(assignment.blocked.unwrap_or(Blocked::WaitingForQuota));
                if why == short {
                    self.is_blocked(queue, pending, false);
                }
                return Some((Requeue::NoFit, why));
            }
            Mode::Preempt if *unsearched => {
                self.scheduler.book.pause(pending);
                self.paused.push(pending);
                self.is_cut(queue);
                return Some((Requeue::Skipped, Why::OverBudget { until: None }));
            }
            Mode::Preempt if victims.is_empty() => {
                self.is_blocked(queue, pending, self.has_room(queue, assignment));
                self.recheck(pending, *recheck_at);
                self.reserve(queue, assignment);
                return Some((Requeue::NoCandidates, short));
            }
            Mode::Preempt if self.scheduler.book.get(pending).is_some_and(|found| found.may_not_preempt) => {
                return Some((Requeue::Gated, Why::Gated));
            }
            Mode::DeferredFit => {
                self.count(queue, &assignment.usage);
                return Some((Requeue::PendingPreemption, Why::WaitingForPreempted));
            }
            _ => {}
        }
        if self.overlaps(victims) || !fits {
            self.is_blocked(queue, pending, false);
            return Some((Requeue::Skipped, short));
        }
        if let Some(why) = self.kept(pending, plan) {
            self.is_blocked(queue, pending, false);
            return Some((self.reserved(why), why));
        }
        if let Some(until) = self.over_budget(queue, plan) {
            self.recheck(pending, until);
            let requeue = if until.is_some() { Requeue::OverBudget } else { Requeue::Skipped };
            return Some((requeue, Why::OverBudget { until }));
        }
        if assignment.mode == Mode::Fit && !self.is_free(queue, assignment) {
            self.count(queue, &assignment.usage);
            return Some((Requeue::PendingPreemption, Why::WaitingForPreempted));
        }
        None
    }

    // Plans again what can no longer be as it was planned, with the same flavors. Says whether the plan can be now.
    fn replan(&mut self, queue: NodeIx, entry: &mut Entry) -> bool {
        let again = |run: &mut Self, entry: &mut Entry, after: bool| {
            let only = entry.plan.assignment.nominated();
            if let Some(plan) = run.plan(entry.pending, Some(&only), after) {
                entry.plan = plan;
            }
        };
        // Two plans that each leave a queue its own may together leave it less; who is on its way already is not asked again.
        let new = entry.plan.victims.iter().any(|victim| victim.stops_at.is_some());
        let crowded = self.profile().rules.keep_nominal && !self.taken.is_empty() && new;
        if self.profile().replan_on_overlap && (crowded || self.overlaps(&entry.plan.victims)) {
            again(self, entry, true);
            if entry.plan.assignment.mode == Mode::Fit {
                entry.plan.assignment.set_mode(Mode::DeferredFit);
            }
        }
        let mut fits = self.fits(queue, entry);
        if fits == Err(Misfit::Place) {
            again(self, entry, false);
            fits = self.fits(queue, entry);
        }
        fits.is_ok()
    }

    fn overlaps(&self, victims: &[Victim]) -> bool {
        victims.iter().any(|victim| self.taken.contains_key(&victim.workload))
    }

    // Whether a plan still holds once all victims of the cycle and its own are gone.
    fn fits(&mut self, queue: NodeIx, entry: &Entry) -> Result<(), Misfit> {
        let Self { scheduler, floor, usage, after, taken, .. } = self;
        let pod_sets = scheduler.pod_sets(entry.pending);
        let Scheduler { estate, running, .. } = &**scheduler;
        let Plan { assignment, victims, .. } = &entry.plan;
        let usage = after.as_mut().unwrap_or(usage);
        let own: Vec<Victim> = victims.iter().filter(|victim| !taken.contains_key(&victim.workload)).copied().collect();
        without(estate, running, usage, &own);
        let room =
            |(what, much): &(FlavorResource, Amount)| estate.tree.available(usage, queue, *what).or_zero() >= *much;
        let enough = assignment.usage.iter().all(room);
        with_again(estate, running, usage, &own);
        if !enough {
            return Err(Misfit::Quota);
        }
        // A plan that cannot be, with or without a place, need not ask for one.
        if assignment.mode == Mode::NoFit || (assignment.mode == Mode::Preempt && victims.is_empty()) {
            return Ok(());
        }
        let mut place = floor.place(&Placing { pending: entry.pending, pod_sets, assignment });
        for victim in &own {
            let part = if let Cut::Shrink { units } = victim.cut { Part::Units(units) } else { Part::Whole };
            place.take(victim.workload, part);
        }
        if place.is_found() { Ok(()) } else { Err(Misfit::Place) }
    }

    // Whether there is room now, with the victims of the cycle still there. Without victims there always is.
    fn is_free(&self, queue: NodeIx, assignment: &Assignment) -> bool {
        self.profile().admit_before_gone || self.after.is_none() || self.has_room(queue, assignment)
    }

    fn has_room(&self, queue: NodeIx, assignment: &Assignment) -> bool {
        let Scheduler { estate, usage, .. } = &*self.scheduler;
        let room =
            |(what, much): &(FlavorResource, Amount)| estate.tree.available(usage, queue, *what).or_zero() >= *much;
        assignment.usage.iter().all(room)
    }

    // From now on a workload counts.
    fn count(&mut self, queue: NodeIx, asked: &super::Asked) {
        self.changes += 1;
        let tree = &self.scheduler.estate.tree;
        for (what, much) in asked {
            self.usage.add(tree, queue, *what, *much);
            if let Some(after) = &mut self.after {
                after.add(tree, queue, *what, *much);
            }
        }
    }

    fn grant(&mut self, queue: NodeIx, place: PendingIx, plan: &Plan) {
        let Plan { assignment, victims, .. } = plan;
        if !victims.is_empty() {
            let Scheduler { estate, running, book, .. } = &*self.scheduler;
            let after = self.after.get_or_insert_with(|| self.usage.clone());
            without(estate, running, after, victims);
            let by = book.get(place).map_or(u64::MAX, |pending| pending.waiting.identity);
            self.taken.extend(victims.iter().map(|victim| (victim.workload, (*victim, by))));
        }
        self.let_pass(place, assignment);
        self.count(queue, &assignment.usage);
        let pod_sets = self.scheduler.pod_sets(place);
        let gone: Vec<WorkloadIx> = victims.iter().map(|victim| victim.workload).collect();
        self.floor.occupy(&Placing { pending: place, pod_sets, assignment }, &gone);
    }

    // A queue that could take back whatever others borrow from it needs nothing kept for it.
    fn reserve(&mut self, queue: NodeIx, assignment: &Assignment) {
        let policies = &self.scheduler.estate.policies;
        let reclaim = policies.get(queue.0 as usize).copied().unwrap_or_default().reclaim;
        if reclaim == Takes::Any || !self.profile().reserve_for_blocked {
            return;
        }
        let kept = |(what, much): &(FlavorResource, Amount)| {
            let quota = self.scheduler.estate.tree.quota(queue, *what);
            let used = self.usage.of(queue, *what);
            let much = match (assignment.level > 0, quota.borrowing_limit) {
                (true, None) => *much,
                (true, Some(limit)) => (*much).min(quota.nominal.plus(limit).minus(used)),
                (false, _) => (*much).min(quota.nominal.minus(used)).or_zero(),
            };
            (*what, much)
        };
        let kept: Vec<(FlavorResource, Amount)> = assignment.usage.iter().map(kept).collect();
        self.count(queue, &kept);
    }

    fn wait(
        &mut self,
        queue: NodeIx,
        pending: PendingIx,
        requeue: Requeue,
        why: Why,
        assignment: Option<Assignment>,
        progress: Option<Progress>,
    ) {
        self.put_back(queue, pending, Verdict::Waiting { why, assignment }, requeue, progress);
    }

    // What is parked is parked at once, so that the cycle does not look at others that ask for the same.
    fn put_back(
        &mut self,
        queue: NodeIx,
        pending: PendingIx,
        verdict: Verdict,
        requeue: Requeue,
        progress: Option<Progress>,
    ) {
        let book = &mut self.scheduler.book;
        let at = if book.parks(queue, requeue) && progress.is_none() {
            book.requeue(pending, requeue, None)
        } else {
            self.later.push((self.decisions.len(), requeue, progress));
            None
        };
        self.decisions.push(Decision { pending, queue, verdict, at });
    }

    // Makes true what was decided: what was admitted runs and is used, who was told to go is on its way.
    fn settle(&mut self) {
        for (victim, by) in std::mem::take(&mut self.taken).into_values() {
            if victim.cut == Cut::Stop {
                self.scheduler.evict(victim.workload, Cause::Preempted { by });
            }
        }
        for (at, requeue, progress) in std::mem::take(&mut self.later) {
            let decision = &mut self.decisions[at];
            decision.at = self.scheduler.book.requeue(decision.pending, requeue, progress);
        }
        for place in std::mem::take(&mut self.paused) {
            self.scheduler.book.resume(place);
        }
        for (at, place) in std::mem::take(&mut self.admitted) {
            let Some(pending) = self.scheduler.take_out(place) else { continue };
            let Verdict::Admitted { workload, assignment } = &mut self.decisions[at].verdict else { continue };
            *workload = self.scheduler.running.add(runs(&pending, assignment, self.now));
        }
        self.remember_told();
        self.scheduler.turns = std::mem::take(&mut self.cut);
        self.keep_quota();
    }

    // Who is told to go for whom, for as long as that one waits for them.
    fn remember_told(&mut self) {
        let Scheduler { told, book, .. } = &mut *self.scheduler;
        for decision in &self.decisions {
            if let Verdict::Preempting { victims, .. } = &decision.verdict {
                told.insert(decision.pending, victims.clone());
            }
        }
        told.retain(|place, _| book.is_preemptor(*place));
    }
}

// A workload that waited, once it is admitted.
fn runs(pending: &Pending, assignment: &Assignment, now: i64) -> Workload {
    let terms = Terms {
        max_run_s: pending.max_run_s,
        run_s_min: pending.run_s_min,
        shape: Some(pending.shape),
        may_not_preempt: pending.may_not_preempt,
        leaves: None,
        past: Past { displaced_by: None, ..pending.past },
    };
    Workload {
        queue: pending.queue,
        priority: pending.waiting.priority,
        identity: pending.waiting.identity,
        queued_at: pending.waiting.queued_at,
        quota_at: Some(now),
        usage: assignment.usage.clone(),
        evicting: false,
        local_usage: pending.waiting.local_usage,
        elastic: None,
        terms,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misfit {
    Quota,
    Place,
}
