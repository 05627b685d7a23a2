//! What is being worked on right now, and what may begin beside it.
//!
//! An order holds the slots that its change touches and the allocations whose guests it is about, from the moment the host is
//! asked for the sake of it until its change is written down as ended. Nothing that touches one of them begins meanwhile.
//! Lost in a crash, on purpose: then nobody knows how the work ended, and the journal says so.

use crate::{
    book::Open,
    hands::Done,
    host::{Effect, Guest, HostFault, Step},
    journal::Outcome,
};
use api::node_plane::TaskReport;
use model::{
    AllocationId, SlotId, TaskId,
    notice::NoticeSeen,
    task::{TaskKind, TaskResult},
};
use std::collections::{BTreeMap, BTreeSet};

/// The orders that are being worked on.
#[derive(Debug, Default)]
pub(crate) struct InHand(BTreeMap<TaskId, Hold>);

/// What one order holds, and where its work stands.
#[derive(Debug)]
pub(crate) struct Hold {
    kind: TaskKind,
    slots: BTreeSet<SlotId>,
    allocations: BTreeSet<AllocationId>,
    stage: Stage,
}

/// Where the work of an order stands.
#[derive(Debug)]
pub(crate) enum Stage {
    /// The host is at it.
    AtWork,
    /// The guests are listed; the next move is to be decided.
    Listed(Result<Vec<Guest>, HostFault>),
    /// A change is written down as begun, and is to be made.
    Written(Box<Effect>),
    /// A change was made, or not; that is to be written down.
    Changed(Step, Outcome),
    /// A guest was told, or looked at again; what comes of that is to be decided.
    Noticed(Result<NoticeSeen, HostFault>),
    /// The answer is there; it is to be written down.
    Answered(Box<TaskResult>, Option<TaskReport>),
}

impl Hold {
    /// What an order holds before its next change is decided.
    pub(crate) fn of(open: &Open) -> Self {
        Self {
            kind: open.task.kind(),
            slots: open.slots().into_iter().map(|slot| slot.slot_id).collect(),
            allocations: open.task.input.guest_held().map(|(id, _)| id.clone()).into_iter().collect(),
            stage: Stage::AtWork,
        }
    }

    /// What an order to compare the host holds: everything but the guests it was told to leave alone.
    pub(crate) fn reconcile(open: &Open, busy: &[AllocationId]) -> Self {
        Self { allocations: busy.iter().cloned().collect(), ..Self::of(open) }
    }

    /// What is held while this change is made: of a guest that is stopped also what it sits on.
    pub(crate) fn change(open: &Open, step: &Step, guests: &[Guest]) -> Self {
        let mut hold = Self::of(open);
        match step {
            Step::Provision => (),
            Step::StopGuest { allocation_id } => {
                hold.allocations.insert(allocation_id.clone());
                let guest = guests.iter().filter(|guest| guest.allocation_id == *allocation_id);
                hold.slots.extend(guest.flat_map(|guest| &guest.slots).map(|slot| slot.slot_id.clone()));
            }
            Step::Wipe { slot_id, .. } => hold.slots = BTreeSet::from([slot_id.clone()]),
        }
        hold
    }

    fn is_about_guests(&self) -> bool {
        self.changes_guests() || self.kind == TaskKind::SliceVmNotice
    }

    // What takes its time, and of which there is only so much at once. A notice takes none, and must not come late.
    fn changes_guests(&self) -> bool {
        matches!(self.kind, TaskKind::SliceVmProvision | TaskKind::SliceVmRelease)
    }

    // A comparison that has begun knows nothing of guests that were ordered after it.
    fn keeps_out(&self, other: &Self) -> bool {
        match (self.is_about_guests(), other.is_about_guests()) {
            (true, true) => !self.slots.is_disjoint(&other.slots) || !self.allocations.is_disjoint(&other.allocations),
            (false, true) => self.kind == TaskKind::SliceReconcile && !other.allocations.is_subset(&self.allocations),
            (false, false) => self.kind == other.kind,
            (true, false) => false,
        }
    }
}

impl InHand {
    /// Whether nothing is.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this order is.
    pub(crate) fn has(&self, task_id: &TaskId) -> bool {
        self.0.contains_key(task_id)
    }

    /// Whether there is something that the loop has to do without waiting for the host.
    pub(crate) fn has_next(&self) -> bool {
        self.0.values().any(|hold| !matches!(hold.stage, Stage::AtWork))
    }

    /// Whether an order with this hold may go on: nothing else touches what it touches, and not too much is going on.
    pub(crate) fn may_begin(&self, task_id: &TaskId, hold: &Hold, at_once_max: usize) -> bool {
        let others = || self.0.iter().filter(|(id, _)| *id != task_id).map(|(_, hold)| hold);
        let full = hold.changes_guests() && others().filter(|other| other.changes_guests()).count() >= at_once_max;
        !full && !others().any(|other| other.keeps_out(hold))
    }

    /// Takes an order in hand, or changes what it holds.
    pub(crate) fn take(&mut self, task_id: TaskId, hold: Hold) {
        self.0.insert(task_id, hold);
    }

    /// The change of an order is written down as begun.
    pub(crate) fn written(&mut self, task_id: TaskId, hold: Hold, effect: Effect) {
        self.0.insert(task_id, Hold { stage: Stage::Written(Box::new(effect)), ..hold });
    }

    /// The next change that is written down as begun and not made; from now on the host is at it.
    pub(crate) fn hand_over(&mut self) -> Option<Box<Effect>> {
        for hold in self.0.values_mut() {
            if matches!(hold.stage, Stage::Written(_))
                && let Stage::Written(effect) = std::mem::replace(&mut hold.stage, Stage::AtWork)
            {
                return Some(effect);
            }
        }
        None
    }

    /// A piece of work of an order has ended.
    pub(crate) fn ended(&mut self, task_id: &TaskId, done: Done) {
        let Some(hold) = self.0.get_mut(task_id) else { return };
        hold.stage = match done {
            Done::Listed(guests) => Stage::Listed(guests),
            Done::Changed(step, outcome) => Stage::Changed(step, outcome),
            Done::Noticed(seen) => Stage::Noticed(seen),
            Done::Answered(result, report) => Stage::Answered(result, report),
        };
    }

    /// The next order about which something is to be written or decided; it is let go of.
    pub(crate) fn next(&mut self, wanted: fn(&Stage) -> bool) -> Option<(TaskId, Stage)> {
        let task_id = self.0.iter().find(|(_, hold)| wanted(&hold.stage)).map(|(id, _)| id.clone())?;
        self.0.remove(&task_id).map(|hold| (task_id, hold.stage))
    }
}
