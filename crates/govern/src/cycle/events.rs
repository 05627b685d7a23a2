//! What happens to the state between cycles. Every change comes as one of these events, and each event wakes exactly those that
//! it may help: nobody is looked at again because time has passed, except where time itself was what was missing. When that
//! is the case next, [`Scheduler::next_due`] says.
//!
//! ```text
//!              submit            step                     end
//!   (caller) ─────────▶ waits ─────────▶ runs ─────────────────────────▶ (gone)
//!               cancel ◀──┘ ▲              │ evict, or told to go
//!                           │   gone       ▼
//!                           └────────── leaving: its quota counts until it is gone
//! ```

use super::{
    Estate, Scheduler,
    book::{Bar, Pending, PendingIx, ShapeIx, Strategy, Where},
};
use crate::{
    flavors::Offer,
    order::{Order, Waiting},
    tree::{FlavorResource, NodeIx},
    workload::{Cause, Workload, WorkloadIx},
};
use std::collections::BTreeSet;

/// How long a workload that had to stop waits before it is looked at again: longer each time, up to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first time, in seconds; zero never waits.
    pub first_s: u32,
    /// Never longer than this, in seconds.
    pub most_s: u32,
}

impl Backoff {
    /// Nobody waits.
    pub const NONE: Self = Self { first_s: 0, most_s: 0 };

    /// For how long, the so manieth time; one is the first.
    #[must_use]
    pub fn wait_s(&self, time: u32) -> u32 {
        let doubled = 1_u32.checked_shl(time.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_s.saturating_mul(doubled).min(self.most_s)
    }
}

/// Whether a queue goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stop {
    /// It does.
    #[default]
    None,
    /// Nothing new is admitted; what runs runs on.
    Hold,
    /// Nothing new is admitted, and what runs has to stop.
    HoldAndDrain,
}

// Whether whoever asks for this in a queue may use one of these.
fn may_use(estate: &Estate, queue: NodeIx, asked: &[crate::flavors::PodSet], freed: &BTreeSet<FlavorResource>) -> bool {
    let Some(Offer { groups, .. }) = estate.offers.get(queue.0 as usize) else { return false };
    let asks = |resource| {
        let requested = |set: &crate::flavors::PodSet| set.requests.iter().any(|(of, _)| *of == resource);
        estate.pods == Some(resource) || asked.iter().any(requested)
    };
    groups.iter().any(|group| {
        let columns = group.resources.len().max(1);
        group.cells.iter().enumerate().any(|(at, cell)| {
            freed.contains(cell) && group.resources.get(at % columns).is_some_and(|resource| asks(*resource))
        })
    })
}

impl Scheduler {
    /// A workload waits.
    pub fn submit(&mut self, pending: Pending) -> PendingIx {
        let (due_at, identity) = (pending.due_at, pending.waiting.identity);
        let place = self.book.submit(pending);
        if let Some(due_at) = due_at {
            self.book.hold(place);
            self.due.insert((due_at, place, identity));
        }
        place
    }

    /// A workload waits no more, because nobody wants it any longer. What was kept for it others may have.
    pub fn cancel(&mut self, place: PendingIx) -> Option<Pending> {
        let is_preemptor = self.book.is_preemptor(place);
        let pending = self.take_out(place)?;
        if is_preemptor {
            self.stir_all(pending.queue);
        }
        Some(pending)
    }

    // A workload waits no more, and nothing is kept for it.
    pub(super) fn take_out(&mut self, place: PendingIx) -> Option<Pending> {
        let pending = self.book.withdraw(place)?;
        if self.reserved_around(pending.queue).any(|one| one.pending == place) {
            self.reservations.retain(|one| one.pending != place);
            self.stir_all(pending.queue);
        }
        Some(pending)
    }

    /// A workload runs that was admitted elsewhere.
    pub fn start(&mut self, workload: Workload) -> WorkloadIx {
        workload.charge(&self.estate.tree, &mut self.usage);
        self.running.add(workload)
    }

    /// A workload runs no more and does not come back. Whoever may use what it used is looked at again.
    pub fn end(&mut self, place: WorkloadIx) -> Option<Workload> {
        let workload = self.running.remove(place)?;
        workload.refund(&self.estate.tree, &mut self.usage);
        self.stir(workload.queue, workload.usage.iter().map(|(what, _)| *what));
        Some(workload)
    }

    /// A workload has to stop. Its quota counts until it is gone. Says whether that is news.
    pub fn evict(&mut self, place: WorkloadIx, cause: Cause) -> bool {
        let news = self.running.get(place).is_some_and(|workload| !workload.evicting);
        if news {
            self.running.update(place, |workload| {
                workload.evicting = true;
                workload.terms.leaves = Some(cause);
            });
        }
        news
    }

    /// A workload that had to stop has stopped, at this time in seconds. It waits again where it stood before, but is not
    /// looked at before its back-off is over. Nothing for one that does not come back.
    pub fn gone(&mut self, now: i64, place: WorkloadIx) -> Option<PendingIx> {
        let workload = self.end(place)?;
        let terms = workload.terms;
        let mut past = terms.past;
        past.returns = past.returns.saturating_add(1);
        if let (Some(Cause::Preempted { by }), Some(most)) = (terms.leaves, self.profile.rules.stops_max) {
            past.stopped(now, most.window_s, by);
        }
        let Workload { queue, priority, identity, queued_at, local_usage, .. } = workload;
        let waiting = Waiting { local_usage, priority, queued_at, identity };
        let wait_s = self.profile.backoff.wait_s(past.returns);
        Some(self.submit(Pending {
            may_not_preempt: terms.may_not_preempt,
            max_run_s: terms.max_run_s,
            run_s_min: terms.run_s_min,
            due_at: (wait_s > 0).then(|| now.saturating_add(i64::from(wait_s))),
            past,
            ..Pending::new(queue, waiting, terms.shape?)
        }))
    }

    /// A check outside lets a workload pass, or does not.
    pub fn gate(&mut self, place: PendingIx, open: bool) {
        self.book.change(place, |pending| pending.bar = (!open).then_some(Bar::FailedChecks));
        self.forget_reservations();
    }

    /// Stops a queue or lets it go on. Returns what has to stop because of that and was not stopping before.
    pub fn set_stop(&mut self, queue: NodeIx, stop: Stop) -> Vec<WorkloadIx> {
        self.book.set_stopped(queue, stop != Stop::None);
        self.forget_reservations();
        if stop != Stop::HoldAndDrain {
            return vec![];
        }
        let mut leave = self.running.of_queue(queue).to_vec();
        leave.retain(|place| self.evict(*place, Cause::Drained));
        leave
    }

    /// A workload that waits has another priority now.
    pub fn set_priority(&mut self, place: PendingIx, priority: i64) {
        self.book.change(place, |pending| pending.waiting.priority = priority);
    }

    /// The local queue of a workload that waits has used so much of late.
    pub fn set_local_usage(&mut self, place: PendingIx, used: u64) {
        if self.book.get(place).is_some_and(|pending| pending.waiting.local_usage != used) {
            self.book.change(place, |pending| pending.waiting.local_usage = used);
        }
    }

    /// The same for one that runs.
    pub fn set_running_local_usage(&mut self, place: WorkloadIx, used: u64) {
        if self.running.get(place).is_some_and(|workload| workload.local_usage != used) {
            self.running.update(place, |workload| workload.local_usage = used);
        }
    }

    /// A workload that runs has another priority now. A lower one may be taken by those who wait.
    pub fn set_running_priority(&mut self, place: WorkloadIx, priority: i64) {
        let Some(workload) = self.running.get(place) else { return };
        let (queue, lower) = (workload.queue, priority < workload.priority);
        let usage: Vec<FlavorResource> = workload.usage.iter().map(|(what, _)| *what).collect();
        self.running.update(place, |workload| workload.priority = priority);
        if lower {
            self.stir(queue, usage);
        }
    }

    /// Says how a queue's workloads line up, those too that wait in it already.
    pub fn set_queue(&mut self, queue: NodeIx, strategy: Strategy, order: Order) {
        self.book.set_queue(queue, strategy, order);
    }

    /// Quotas, flavors or policies have changed; nodes and what is counted keep their numbers. Whatever waits is looked at
    /// again. What runs stays, even where more is used now than there is.
    pub fn set_estate(&mut self, estate: Estate) {
        self.usage = estate.tree.unused();
        self.running.iter().for_each(|(_, workload)| workload.charge(&estate.tree, &mut self.usage));
        for queue in estate.tree.nodes().filter(|node| estate.tree.is_queue(*node)) {
            self.book.offer_changed(queue);
        }
        // What was kept was kept by quotas that are no more.
        self.reservations.clear();
        self.told.clear();
        self.estate = estate;
    }

    /// Places have become free: whoever had quota and no place is looked at again.
    pub fn places_changed(&mut self) {
        let queues: Vec<NodeIx> = self.estate.tree.nodes().filter(|node| self.estate.tree.is_queue(*node)).collect();
        queues.into_iter().for_each(|queue| self.stir_all(queue));
    }

    /// When time alone would change something, in seconds: somebody's back-off is over, or what it waits for has run long
    /// enough. Until then, and without another event, a cycle would decide nothing.
    #[must_use]
    pub fn next_due(&self) -> Option<i64> {
        let current = |place: PendingIx, identity| {
            self.book.get(place).is_some_and(|pending| pending.waiting.identity == identity)
        };
        self.due.iter().find(|(_, place, identity)| current(*place, *identity)).map(|(at, _, _)| *at)
    }

    /// Whether a cycle may decide something new: something has changed, or somebody is next who does not wait for others to go.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.stirred.is_empty() || self.book.has_news()
    }

    // Some of this is free now, or may be taken.
    pub(super) fn stir(&mut self, queue: NodeIx, freed: impl IntoIterator<Item = FlavorResource>) {
        let root = self.estate.tree.root(queue);
        self.stirred.entry(root).or_default().extend(freed);
    }

    pub(super) fn stir_all(&mut self, queue: NodeIx) {
        let all = (0..self.estate.tree.width()).map(FlavorResource);
        self.stir(queue, all);
    }

    // Wakes whoever the events since the last cycle may help, and whose time has come.
    pub(super) fn wake(&mut self, now: i64) {
        for (root, freed) in std::mem::take(&mut self.stirred) {
            let Self { estate, book, shapes, .. } = self;
            let mut below = vec![root];
            while let Some(node) = below.pop() {
                below.extend(estate.tree.children(node));
                if estate.tree.is_queue(node) {
                    let asked = |shape: ShapeIx| shapes.get(shape.0 as usize).map_or(&[][..], |sets| sets);
                    book.wake_those(node, &|shape| may_use(estate, node, asked(shape), &freed));
                }
            }
        }
        while let Some(entry) = self.due.first().copied().filter(|(at, _, _)| *at <= now) {
            self.due.remove(&entry);
            let (_, place, identity) = entry;
            let Some(pending) = self.book.get(place).filter(|one| one.waiting.identity == identity) else { continue };
            if pending.due_at.is_some() && self.book.place_of(place) == Some(Where::Held) {
                self.book.change(place, |pending| pending.due_at = None);
                self.book.release(place);
            } else {
                self.book.wake_one(place);
            }
        }
    }
}
