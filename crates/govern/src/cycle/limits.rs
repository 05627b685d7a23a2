//! What a cycle leaves alone although it could have it: quota that is kept for another one, and workloads that it would have to
//! stop beyond its budget.

use super::{
    Scheduler, Why,
    book::{PendingIx, Requeue},
    plan::{Findings, Known, Plan, Planner},
    reserve::{Passer, Reservation, around},
    run::Run,
};
use crate::{
    amount::Amount,
    flavors::Assignment,
    preempt::Victim,
    tree::{FlavorResource, NodeIx},
};

// Those that were not on their way before.
fn new_victims(victims: &[Victim]) -> u32 {
    u32::try_from(victims.iter().filter(|victim| victim.stops_at.is_some()).count()).unwrap_or(u32::MAX)
}

impl Run<'_> {
    // Why a plan would take what is kept for another one, if so.
    pub(super) fn kept(&mut self, place: PendingIx, plan: &Plan) -> Option<Why> {
        let Self { shadows, scheduler, usage, now, .. } = self;
        let passer = Passer { place, pending: scheduler.book.get(place)?, asked: &plan.assignment.usage, now: *now };
        let around = around(shadows, scheduler.estate.tree.root(passer.pending.queue));
        around.iter_mut().find_map(|shadow| shadow.refusal(scheduler, usage, &passer))
    }

    // Who of the same class may pass all the same: those that are gone when the one starts for which quota is kept.
    pub(super) fn reserved(&self, why: Why) -> Requeue {
        let start = if let Why::Reserved { start, .. } = why { start } else { None };
        Requeue::Reserved { unless_run_s: start.and_then(|start| u32::try_from(start.saturating_sub(self.now)).ok()) }
    }

    // Until when a plan would tell too many to go, if so; nothing for the time where the next cycle may.
    #[expect(clippy::option_option, reason = "a limit without a time is not the same as no limit")]
    pub(super) fn over_budget(&mut self, queue: NodeIx, plan: &Plan) -> Option<Option<i64>> {
        let new = new_victims(&plan.victims);
        if new == 0 {
            return None;
        }
        if self.told > 0 && self.profile().evictions_per_cycle.is_some_and(|most| self.told.saturating_add(new) > most)
        {
            self.exhausted = true;
            return Some(None);
        }
        let most = self.profile().evictions_per_queue.filter(|_| !self.gets_back_its_own(queue, plan))?;
        let spent = self.scheduler.spent.get_mut(&queue)?;
        let window_s = i64::from(most.window_s);
        while spent.front().is_some_and(|(at, _)| self.now.saturating_sub(*at) >= window_s) {
            spent.pop_front();
        }
        let before = spent.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
        let oldest = spent.front().map(|(at, _)| at.saturating_add(window_s))?;
        (before.saturating_add(new) > most.count).then_some(Some(oldest))
    }

    // Whether a queue only takes what it lent to others.
    fn gets_back_its_own(&self, queue: NodeIx, plan: &Plan) -> bool {
        let tree = &self.scheduler.estate.tree;
        let own = |(what, much): &(FlavorResource, Amount)| !tree.borrows_with(&self.usage, queue, *what, *much);
        plan.assignment.usage.iter().all(own) && plan.victims.iter().all(|victim| victim.queue != queue)
    }

    pub(super) fn is_blocked(&mut self, queue: NodeIx, pending: PendingIx, lacks_place: bool) {
        self.blocked.entry(queue).or_insert((pending, lacks_place));
    }

    // Time alone will change what this one waits for.
    pub(super) fn recheck(&mut self, pending: PendingIx, at: Option<i64>) {
        let identity = self.scheduler.book.get(pending).map(|pending| pending.waiting.identity);
        if let Some((at, identity)) = at.zip(identity) {
            self.scheduler.due.insert((at, pending, identity));
        }
    }

    /// Counts those that a plan tells to go.
    pub(super) fn spend(&mut self, queue: NodeIx, plan: &Plan) {
        let new = new_victims(&plan.victims);
        self.told = self.told.saturating_add(new);
        if new > 0 && self.profile().evictions_per_queue.is_some() && !self.gets_back_its_own(queue, plan) {
            self.scheduler.spent.entry(queue).or_default().push_back((self.now, new));
        }
    }

    /// Somebody takes its quota, past those for whom some is kept.
    pub(super) fn let_pass(&mut self, place: PendingIx, assignment: &Assignment) {
        let Self { shadows, scheduler, now, .. } = self;
        let Some(pending) = scheduler.book.get(place) else { return };
        let passer = Passer { place, pending, asked: &assignment.usage, now: *now };
        let around = around(shadows, scheduler.estate.tree.root(pending.queue));
        around.iter_mut().for_each(|shadow| shadow.let_pass(&scheduler.estate.tree, &passer));
    }

    /// Keeps quota for those that are first in their queues and wait for it; who waits longest comes first.
    pub(super) fn keep_quota(&mut self) {
        if !self.profile().reserves() {
            return;
        }
        let blocked = std::mem::take(&mut self.blocked);
        let since = |place: PendingIx| {
            let waiting = self.scheduler.book.get(place)?.waiting;
            Some((waiting.queued_at, waiting.identity))
        };
        let mut oldest: Vec<_> =
            blocked.into_iter().map(|(queue, (place, lacks))| (since(place), queue, place, lacks)).collect();
        oldest.sort_unstable();
        for (_, queue, place, lacks_place) in oldest {
            let held = self.scheduler.reserved_around(queue).find(|one| one.pending == place);
            match held {
                Some(held) => held.lacks_place = lacks_place,
                None => self.keep_for(queue, place, lacks_place),
            }
        }
    }

    fn keep_for(&mut self, queue: NodeIx, place: PendingIx, lacks_place: bool) {
        let Scheduler { estate, profile, running, book, .. } = &*self.scheduler;
        let Some(pending) = book.get(place) else { return };
        let (pod_sets, findings) = (self.scheduler.pod_sets(place), Findings::default());
        let (now, progress, known, told, searches) = (self.now, None, Known::default(), &[][..], true);
        let findings = &findings;
        let planner = Planner {
            estate,
            profile,
            running,
            now,
            place,
            pending,
            pod_sets,
            progress,
            known,
            told,
            searches,
            findings,
        };
        let Some(request) = planner.when_free() else { return };
        let identity = pending.waiting.identity;
        let (since, start, pending) = (self.now, None, place);
        self.scheduler.reserve(Reservation { pending, identity, queue, request, since, start, lacks_place });
    }
}
