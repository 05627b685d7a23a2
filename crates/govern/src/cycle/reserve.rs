//! Quota that is kept for the workload that waits longest for it, so that small work does not pass it for ever.
//!
//! Of all that wait for the same quota in one tree one has a reservation: the oldest of those that are first in their queues.
//! Where enough of what runs has a known end, the time is known at which it can start at the latest. Others pass it only if
//! they are gone by then, or if what it needs is there then all the same.
//!
//! ```text
//!   in use  ┌──────────┐                       Kept from "start" on for the one that waits. "a" is gone by then and passes;
//!           │  runs    │╔══════════════════    "b" is not, but leaves enough, and passes too; what is longer and wider than
//!           ├───┬──────┤║  kept                 these waits.
//!           │ a │      │║
//!           ├───┴──────┴╨──────────────────
//!           │ b                            ...
//!           └──────────┬───────────────────▶ time
//!                    start
//! ```
//!
//! Where no start is known, others pass for as long as the profile is patient, and then nobody passes who would take of what
//! it waits for. Never bound are those of another queue that stay within their own quota or have a higher priority, and those
//! that come before it in its own queue.

use super::{
    Profile, Scheduler, Why,
    book::{Pending, PendingIx},
};
use crate::{
    tree::{NodeIx, Tree, Usage},
    workload::{Amounts, WorkloadIx},
};
use std::ops::Range;

/// Quota that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// For whom.
    pub pending: PendingIx,
    /// Its identity.
    pub identity: u64,
    /// Its queue.
    pub queue: NodeIx,
    /// What it needs.
    pub request: Amounts,
    /// Since when, in seconds.
    pub since: i64,
    /// When it starts at the latest, in seconds, as the last cycle saw it; nothing where that is not known.
    pub start: Option<i64>,
    /// It has its quota already and lacks a place.
    pub lacks_place: bool,
}

/// What a cycle knows of a reservation.
pub(super) struct Shadow {
    pub(super) reservation: Reservation,
    root: NodeIx,
    priority: i64,
    // What is used when it starts, as far as that is known now, without itself.
    then: Usage,
    // It can start at the known time, or it has waited long enough.
    binds: bool,
}

/// Who would like to pass.
pub(super) struct Passer<'a> {
    pub(super) place: PendingIx,
    pub(super) pending: &'a Pending,
    pub(super) asked: &'a super::Asked,
    pub(super) now: i64,
}

fn fits(tree: &Tree, usage: &Usage, reservation: &Reservation) -> bool {
    let room = |(what, much): &(_, _)| tree.available(usage, reservation.queue, *what) >= *much;
    reservation.request.iter().all(room)
}

// The queues below a node.
fn queues(tree: &Tree, root: NodeIx) -> Vec<NodeIx> {
    let (mut below, mut queues) = (vec![root], vec![]);
    while let Some(node) = below.pop() {
        below.extend(tree.children(node));
        if tree.is_queue(node) {
            queues.push(node);
        }
    }
    queues
}

impl Scheduler {
    // Forgets reservations whose workload is not there to take what is kept.
    pub(super) fn forget_reservations(&mut self) {
        let Self { book, reservations, .. } = self;
        let mut lost = vec![];
        reservations.retain(|one| {
            let barred = book.get(one.pending).is_none_or(|pending| pending.bar.is_some());
            let stays = !barred && !book.is_stopped(one.queue);
            if !stays {
                lost.push(one.queue);
            }
            stays
        });
        lost.into_iter().for_each(|queue| self.stir_all(queue));
    }

    // When the workload of a reservation can start, from what is known to end, and what is used then.
    fn foresee(&self, reservation: &Reservation, root: NodeIx, now: i64) -> (Option<i64>, Usage) {
        let Self { estate, running, usage, .. } = self;
        if fits(&estate.tree, usage, reservation) {
            return (Some(now), usage.clone());
        }
        let wanted: Vec<_> = reservation.request.iter().map(|(what, _)| *what).collect();
        let mut ends: Vec<(i64, WorkloadIx)> = vec![];
        for queue in queues(&estate.tree, root) {
            for place in running.of_queue(queue) {
                let Some(workload) = running.get(*place).filter(|workload| workload.uses(&wanted)) else { continue };
                // What should be gone already will be soon.
                let end = if workload.evicting { Some(now) } else { workload.ends_by() };
                ends.extend(end.map(|end| (end.max(now), *place)));
            }
        }
        ends.sort_unstable();
        let mut then = usage.clone();
        for (at, (end, place)) in ends.iter().enumerate() {
            if let Some(workload) = running.get(*place) {
                workload.refund(&estate.tree, &mut then);
            }
            // Those that end at the same time are all gone then.
            let last = ends.get(at + 1).is_none_or(|(next, _)| next > end);
            if last && fits(&estate.tree, &then, reservation) {
                return (Some(*end), then);
            }
        }
        (None, usage.clone())
    }

    /// What is kept, as this cycle sees it.
    pub(super) fn shadows(&mut self, now: i64, ready: &[NodeIx]) -> Vec<Shadow> {
        let mut roots: Vec<NodeIx> = ready.iter().map(|queue| self.estate.tree.root(*queue)).collect();
        roots.sort_unstable();
        roots.dedup();
        let mut shadows = vec![];
        for at in 0..self.reservations.len() {
            let reservation = &self.reservations[at];
            let root = self.estate.tree.root(reservation.queue);
            if roots.binary_search(&root).is_err() {
                continue;
            }
            let (foreseen, then) = self.foresee(reservation, root, now);
            let start = foreseen.filter(|_| !reservation.lacks_place);
            let patience_s = self.profile.patience_s.map_or(i64::MAX, i64::from);
            let binds = start.is_some() || now.saturating_sub(reservation.since) >= patience_s;
            let priority = self.book.get(reservation.pending).map_or(i64::MIN, |pending| pending.waiting.priority);
            self.reservations[at].start = start;
            shadows.push(Shadow { reservation: self.reservations[at].clone(), root, priority, then, binds });
        }
        shadows
    }

    /// Keeps quota for a workload, unless some of it is kept for another one that comes before it.
    pub(super) fn reserve(&mut self, reservation: Reservation) {
        let root = self.estate.tree.root(reservation.queue);
        let wants = |other: &Reservation| other.request.iter().any(|(what, _)| requests(&reservation, *what));
        let behind = |other: &Reservation| {
            other.queue == reservation.queue && self.book.key(reservation.pending) < self.book.key(other.pending)
        };
        let competes = |other: &&Reservation| {
            self.estate.tree.root(other.queue) == root && (other.pending == reservation.pending || wants(other))
        };
        let here = self.around(root);
        if self.reservations[here.clone()].iter().filter(competes).all(behind) {
            let behind: Vec<PendingIx> =
                self.reservations[here.clone()].iter().filter(competes).map(|one| one.pending).collect();
            self.reservations.insert(here.end, reservation);
            if !behind.is_empty() {
                self.reservations.retain(|other| !behind.contains(&other.pending));
            }
        }
    }

    // Where the reservations of one tree are; those of one tree stand together.
    fn around(&self, root: NodeIx) -> Range<usize> {
        let root_of = |one: &Reservation| self.estate.tree.root(one.queue);
        self.reservations.partition_point(|one| root_of(one) < root)
            ..self.reservations.partition_point(|one| root_of(one) <= root)
    }

    /// What is kept in the tree of a queue.
    pub(super) fn reserved_around(&mut self, queue: NodeIx) -> impl Iterator<Item = &mut Reservation> {
        let here = self.around(self.estate.tree.root(queue));
        self.reservations[here].iter_mut()
    }
}

/// What is kept in the tree of this root.
pub(super) fn around(shadows: &mut [Shadow], root: NodeIx) -> &mut [Shadow] {
    let (from, to) = (shadows.partition_point(|one| one.root < root), shadows.partition_point(|one| one.root <= root));
    &mut shadows[from..to]
}

fn requests(reservation: &Reservation, what: crate::tree::FlavorResource) -> bool {
    reservation.request.iter().any(|(of, much)| *of == what && *much > crate::amount::Amount::ZERO)
}

impl Shadow {
    // Whether this one must leave alone what is kept.
    fn concerns(&self, scheduler: &Scheduler, usage: &Usage, passer: &Passer<'_>) -> bool {
        let Self { reservation, root, priority, .. } = self;
        let (tree, book, pending) = (&scheduler.estate.tree, &scheduler.book, passer.pending);
        if !self.binds || passer.place == reservation.pending || tree.root(pending.queue) != *root {
            return false;
        }
        let mut shared = passer.asked.iter().filter(|(what, _)| requests(reservation, *what)).peekable();
        if shared.peek().is_none() {
            return false;
        }
        if pending.queue == reservation.queue {
            return book.key(passer.place) > book.key(reservation.pending);
        }
        pending.waiting.priority <= *priority
            && shared.any(|(what, much)| tree.borrows_with(usage, pending.queue, *what, *much))
    }

    fn is_gone_by_then(&self, passer: &Passer<'_>) -> bool {
        let ends = passer.pending.max_run_s.map(|run_s| passer.now.saturating_add(i64::from(run_s)));
        self.reservation.start.zip(ends).is_some_and(|(start, ends)| ends <= start)
    }

    /// Why somebody may not pass, if so.
    pub(super) fn refusal(&mut self, scheduler: &Scheduler, usage: &Usage, passer: &Passer<'_>) -> Option<Why> {
        if !self.concerns(scheduler, usage, passer) || self.is_gone_by_then(passer) {
            return None;
        }
        let Self { reservation, then, .. } = self;
        let (tree, queue) = (&scheduler.estate.tree, reservation.queue);
        let free = |then: &Usage| -> Vec<_> {
            let free = |(what, much): &(_, crate::amount::Amount)| tree.available(then, queue, *what).min(*much);
            reservation.request.iter().map(free).collect()
        };
        let before = free(then);
        passer.asked.iter().for_each(|(what, much)| then.add(tree, passer.pending.queue, *what, *much));
        let after = free(then);
        passer.asked.iter().rev().for_each(|(what, much)| then.remove(tree, passer.pending.queue, *what, *much));
        let (holder, start) = (reservation.pending, reservation.start);
        after.iter().zip(&before).any(|(after, before)| after < before).then_some(Why::Reserved { holder, start })
    }

    /// Somebody passes, and may still be there when the one that waits starts.
    pub(super) fn let_pass(&mut self, tree: &Tree, passer: &Passer<'_>) {
        if tree.root(passer.pending.queue) == self.root && !self.is_gone_by_then(passer) {
            passer.asked.iter().for_each(|(what, much)| self.then.add(tree, passer.pending.queue, *what, *much));
        }
    }
}

impl Profile {
    // Whether quota is kept at all.
    pub(super) const fn reserves(&self) -> bool {
        self.patience_s.is_some()
    }
}
