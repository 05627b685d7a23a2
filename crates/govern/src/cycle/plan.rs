//! The plan for one workload: its flavors, who would have to go, and how many pods, on a given usage.

use super::{
    Estate, Floor, Placing, Profile,
    book::{Pending, PendingIx, ShapeIx},
};
use crate::{
    amount::Amount,
    flavors::{
        Assigner, Assignment, Blocked, Nominated, Oracle, PodSet, Possibility, Progress, Reason, Request,
        mode::{Mode, lowest_subtree, preempts_while_borrowing},
        reduce::{Span, largest},
    },
    order::Waiting,
    preempt::{AnyPlace, Asking, Cut, Part, Place, Refusal, Scene, Victim, search},
    tree::{FlavorResource, NodeIx, Usage},
    workload::{Amounts, Running},
};
use std::cell::Cell;

/// Flavors, and who would have to go.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) assignment: Assignment,
    pub(super) victims: Vec<Victim>,
    /// When time alone may change it, in seconds.
    pub(super) recheck_at: Option<i64>,
    /// Others would have to go, and nobody has looked for them.
    pub(super) unsearched: bool,
}

/// What a plan is made from.
#[derive(Clone, Copy)]
pub(super) struct Planner<'a> {
    pub(super) estate: &'a Estate,
    pub(super) profile: &'a Profile,
    pub(super) running: &'a Running,
    pub(super) now: i64,
    pub(super) place: PendingIx,
    pub(super) pending: &'a Pending,
    pub(super) pod_sets: &'a [PodSet],
    pub(super) progress: Option<&'a Progress>,
    /// What the cycle knows from earlier searches for the same queue.
    pub(super) known: Known,
    /// Who was told to go for it before; nobody where it has no such plan.
    pub(super) told: &'a [Victim],
    /// Whether victims are looked for at all; where not, a plan that needs some says so.
    pub(super) searches: bool,
    /// What the searches for victims found out besides.
    pub(super) findings: &'a Findings,
}

/// A search that was refused, on a usage that has not changed since.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    priority: i64,
    queued_at: Option<i64>,
    what: FlavorResource,
    /// So much of it was asked for.
    pub(super) much: Amount,
    // Only for this; nothing where it was quota that nobody gave.
    shape: Option<ShapeIx>,
    // When time alone may change it.
    until: Option<i64>,
}

/// Searches that were refused in one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// For quota alone: who asks for more of it and comes no earlier finds nobody either.
    pub(super) quota: Option<Refused>,
    /// For a place, too: the same, if it asks for the same.
    pub(super) place: Option<Refused>,
}

impl Refused {
    // Whoever this one may take, the one that was refused might have taken as well.
    fn covers(&self, pending: &Pending, what: FlavorResource, much: Amount) -> bool {
        let same = self.shape.is_none_or(|shape| shape == pending.shape && self.much == much);
        let waiting = &pending.waiting;
        same && self.what == what
            && self.much <= much
            && waiting.priority <= self.priority
            && waiting.queued_at >= self.queued_at
    }
}

/// What searches for victims found out, besides who they are.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The first time at which a search would find somebody that it left alone.
    pub(super) recheck_at: Cell<Option<i64>>,
    /// Searches that were refused, for whoever comes after.
    pub(super) refused: Cell<Known>,
    /// How many candidates were looked at.
    pub(super) looked: Cell<u32>,
}

/// What a victim gives up.
pub(super) fn given_up(running: &Running, victim: &Victim) -> Vec<(FlavorResource, Amount)> {
    let Some(workload) = running.get(victim.workload) else { return vec![] };
    match (victim.cut, &workload.elastic) {
        (Cut::Shrink { units }, Some(elastic)) => {
            elastic.unit.iter().map(|(what, much)| (*what, much.times(i64::from(units)))).collect()
        }
        _ => workload.usage.clone(),
    }
}

/// Takes away what victims give up.
pub(super) fn without(estate: &Estate, running: &Running, usage: &mut Usage, victims: &[Victim]) {
    for victim in victims {
        for (what, much) in given_up(running, victim) {
            usage.remove(&estate.tree, victim.queue, what, much);
        }
    }
}

/// Puts it back, in the opposite order.
pub(super) fn with_again(estate: &Estate, running: &Running, usage: &mut Usage, victims: &[Victim]) {
    for victim in victims.iter().rev() {
        for (what, much) in given_up(running, victim).into_iter().rev() {
            usage.add(&estate.tree, victim.queue, what, much);
        }
    }
}

impl Oracle for Planner<'_> {
    fn possibility(
        &mut self,
        usage: &mut Usage,
        queue: NodeIx,
        what: FlavorResource,
        more: Amount,
    ) -> (Possibility, u32) {
        let tree = &self.estate.tree;
        if self.is_promised(usage, &[(what, more)]) {
            return self.after(usage, queue, what, more, self.told);
        }
        if !self.searches {
            return (Possibility::Reclaim, lowest_subtree(tree, usage, queue, what, more).0);
        }
        if let Some(refused) = self.known.quota.filter(|refused| refused.covers(self.pending, what, more)) {
            self.recheck(refused.until);
            self.refuse(Some(Refused { what, much: more, ..refused }), None);
            return (Possibility::NoCandidates, lowest_subtree(tree, usage, queue, what, more).0);
        }
        let victims = self.victims(usage, &[(what, more)], &[what], &mut AnyPlace);
        if victims.is_empty() {
            return (Possibility::NoCandidates, lowest_subtree(tree, usage, queue, what, more).0);
        }
        self.after(usage, queue, what, more, &victims)
    }
}

impl Planner<'_> {
    // What telling these to go would do.
    fn after(
        &self,
        usage: &mut Usage,
        queue: NodeIx,
        what: FlavorResource,
        more: Amount,
        victims: &[Victim],
    ) -> (Possibility, u32) {
        without(self.estate, self.running, usage, victims);
        let (level, _) = lowest_subtree(&self.estate.tree, usage, queue, what, more);
        with_again(self.estate, self.running, usage, victims);
        let own = victims.iter().any(|victim| victim.queue == queue);
        (if own { Possibility::Preempt } else { Possibility::Reclaim }, level)
    }

    // Whether this fits once those are gone that were told to go for it before: then nobody else need be looked for.
    fn is_promised(&self, usage: &mut Usage, request: &super::Asked) -> bool {
        let leaves = |victim: &Victim| self.running.candidate(victim.workload).is_some_and(|one| one.evicting);
        if self.told.is_empty() || !self.told.iter().all(leaves) {
            return false;
        }
        without(self.estate, self.running, usage, self.told);
        let (tree, queue) = (&self.estate.tree, self.pending.queue);
        let room = |(what, much): &(FlavorResource, Amount)| tree.available(usage, queue, *what).or_zero() >= *much;
        let fits = request.iter().all(room);
        with_again(self.estate, self.running, usage, self.told);
        fits
    }

    // The same, and for a place.
    fn is_promised_place(&self, usage: &mut Usage, floor: &mut dyn Floor, asked: &Placing<'_>) -> bool {
        if !self.is_promised(usage, &asked.assignment.usage) {
            return false;
        }
        let mut place = floor.place(asked);
        for victim in self.told {
            let part = if let Cut::Shrink { units } = victim.cut { Part::Units(units) } else { Part::Whole };
            place.take(victim.workload, part);
        }
        place.is_found()
    }

    fn victims(
        &self,
        usage: &mut Usage,
        request: &super::Asked,
        contested: &[FlavorResource],
        place: &mut dyn Place,
    ) -> Vec<Victim> {
        let estate = self.estate;
        let mut scene = Scene {
            tree: &estate.tree,
            shares: &estate.shares,
            usage,
            running: self.running,
            policies: &estate.policies,
            rules: &self.profile.rules,
            now: self.now,
        };
        let asking = Asking {
            queue: self.pending.queue,
            priority: self.pending.waiting.priority,
            queued_at: self.pending.waiting.queued_at,
            request,
            contested,
            displaced_by: self.pending.past.displaced_by,
        };
        let (victims, spared, work) = match search(&mut scene, &asking, place) {
            Ok(plan) => (plan.victims, plan.spared, plan.work),
            Err(refusal) => {
                self.remember(request, place.matters(), &refusal);
                (vec![], refusal.spared, refusal.work)
            }
        };
        self.findings.looked.set(self.findings.looked.get().saturating_add(work.looked).saturating_add(work.moved));
        self.recheck(spared.until);
        victims
    }

    fn recheck(&self, at: Option<i64>) {
        let first = [self.findings.recheck_at.get(), at].into_iter().flatten().min();
        self.findings.recheck_at.set(first);
    }

    fn refuse(&self, quota: Option<Refused>, place: Option<Refused>) {
        let before = self.findings.refused.get();
        self.findings.refused.set(Known { quota: quota.or(before.quota), place: place.or(before.place) });
    }

    // Whoever was stopped for another one leaves that one alone; others need not, and learn nothing from its search.
    fn remember(&self, request: &super::Asked, for_place: bool, refusal: &Refusal) {
        let ([(what, much)], None) = (request, self.pending.past.displaced_by) else { return };
        let Waiting { priority, queued_at, .. } = self.pending.waiting;
        let shape = for_place.then_some(self.pending.shape);
        let refused = Refused { priority, queued_at, what: *what, much: *much, shape, until: refusal.spared.until };
        if for_place {
            self.refuse(None, Some(refused));
        } else if refusal.is_for_any_place() {
            self.refuse(Some(refused), None);
        }
    }

    // Whether it is known that nobody makes room for this, wherever there is a place or for the same place.
    fn is_refused(&self, usage: &super::Asked) -> bool {
        let [(what, much)] = *usage else { return false };
        let same = |refused: &Refused| (refused.what, refused.much) == (what, much);
        if self.findings.refused.get().quota.as_ref().is_some_and(same) {
            return true;
        }
        let known = self.known.place.filter(|refused| refused.covers(self.pending, what, much));
        known.into_iter().for_each(|refused| self.recheck(refused.until));
        known.is_some()
    }

    /// The best plan on this usage: whole if that can be, else with as many pods as can be. Leaves the usage as it was.
    pub(super) fn make(&self, usage: &mut Usage, floor: &mut dyn Floor, only: Option<&Nominated>) -> Plan {
        let whole = self.try_counts(usage, floor, only, None);
        let settled = whole.assignment.mode == Mode::Fit || !whole.victims.is_empty() || whole.unsearched;
        if settled || !self.profile.partial_admission {
            return whole;
        }
        let span = |set: &PodSet| Span { full: set.count, least: set.least.unwrap_or(set.count).min(set.count) };
        let spans: Vec<Span> = self.pod_sets.iter().map(span).collect();
        let fewer = largest(&spans, |counts| {
            let plan = self.try_counts(usage, floor, only, Some(counts));
            (plan.assignment.mode == Mode::Fit || !plan.victims.is_empty()).then_some(plan)
        });
        fewer.unwrap_or(whole)
    }

    fn try_counts(
        &self,
        usage: &mut Usage,
        floor: &mut dyn Floor,
        only: Option<&Nominated>,
        counts: Option<&[u32]>,
    ) -> Plan {
        let nothing = QueueNothing::default();
        let assigner = self.assigner(&nothing);
        let progress = self.progress.filter(|_| only.is_none());
        let request = Request { pod_sets: self.pod_sets, counts, progress, only };
        let mut assignment = assigner.assign(usage, &mut { *self }, request);
        self.check_place(floor, &mut assignment);
        if assignment.mode != Mode::Preempt {
            return Plan { assignment, victims: vec![], recheck_at: self.findings.recheck_at.get(), unsearched: false };
        }
        let mut contested: Vec<FlavorResource> = assignment.contested().collect();
        contested.sort_unstable();
        contested.dedup();
        let asked = Placing { pending: self.place, pod_sets: self.pod_sets, assignment: &assignment };
        if self.is_promised_place(usage, floor, &asked) {
            let victims = self.told.iter().map(|victim| Victim { stops_at: None, ..*victim }).collect();
            return Plan { assignment, victims, recheck_at: self.findings.recheck_at.get(), unsearched: false };
        }
        if !self.searches || self.is_refused(&assignment.usage) {
            let (recheck_at, unsearched) = (self.findings.recheck_at.get(), !self.searches);
            return Plan { assignment, victims: vec![], recheck_at, unsearched };
        }
        let asked = Placing { pending: self.place, pod_sets: self.pod_sets, assignment: &assignment };
        let victims = self.victims(usage, &assignment.usage, &contested, &mut *floor.place(&asked));
        Plan { assignment, victims, recheck_at: self.findings.recheck_at.get(), unsearched: false }
    }

    fn assigner<'p>(&'p self, nothing: &'p QueueNothing) -> Assigner<'p> {
        let (estate, queue) = (self.estate, self.pending.queue);
        let policy = estate.policies.get(queue.0 as usize).copied().unwrap_or_default();
        Assigner {
            tree: &estate.tree,
            queue,
            offer: estate.offers.get(queue.0 as usize).unwrap_or(nothing),
            catalog: &estate.catalog,
            pods: estate.pods,
            undeclared: self.profile.undeclared,
            preempts_while_borrowing: preempts_while_borrowing(&policy, &self.profile.rules),
        }
    }

    /// What it would use if nothing else ran; nothing where it would not fit even then.
    pub(super) fn when_free(&self) -> Option<Amounts> {
        let nothing = QueueNothing::default();
        let request = Request { pod_sets: self.pod_sets, counts: None, progress: None, only: None };
        let assignment = self.assigner(&nothing).assign(&mut self.estate.tree.unused(), &mut { *self }, request);
        (assignment.mode == Mode::Fit).then_some(assignment.usage)
    }

    // What has quota and no place needs others to go; what would have no place even alone cannot be.
    fn check_place(&self, floor: &mut dyn Floor, assignment: &mut Assignment) {
        let (pending, pod_sets) = (self.place, self.pod_sets);
        if assignment.mode == Mode::Fit && !floor.place(&Placing { pending, pod_sets, assignment }).is_found() {
            assignment.set_mode(Mode::Preempt);
        }
        if assignment.mode == Mode::Preempt && !floor.is_possible(&Placing { pending, pod_sets, assignment }) {
            assignment.set_mode(Mode::NoFit);
            assignment.blocked = Some(Blocked::NoPlace);
            assignment.pod_sets.iter_mut().for_each(|set| set.reasons.push(Reason::NoPlace));
        }
    }
}

// What a queue offers of which nobody said anything.
type QueueNothing = crate::flavors::Offer;
