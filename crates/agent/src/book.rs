//! What the journal says, added up: the newest order for each slot, how far each open order has come, and the answers given.
//!
//! The newest order for a slot only ever gets newer. An order that was answered keeps its answer; once many have been
//! acknowledged the oldest are forgotten, and then the fence alone refuses them.

use crate::{
    host::{SlotUse, Step},
    journal::{Outcome, Record},
};
use api::node_plane::TaskReport;
use model::{
    AllocationId, SlotId, TaskId,
    task::{Fence, Task, TaskKind, TaskResult, TaskSlot},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Acknowledged answers that are kept for a late repeat of their order.
pub const ANSWERS_KEPT_MAX: usize = 256;

/// How new an order is for one slot. Compared field by field. Within one use a release is newer than every order to start:
/// a use that has begun to end is never begun again, whatever the numbers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank {
    /// Of the store.
    pub incarnation: i64,
    /// Of the slot's use.
    pub generation: i64,
    /// Whether the order ends the use.
    pub ends_use: bool,
    /// Of the order.
    pub attempt: i64,
}

impl Rank {
    /// How new this order is for one of its slots.
    pub fn of(task: &Task, slot: &TaskSlot) -> Self {
        Self {
            incarnation: task.fence.incarnation,
            generation: slot.use_generation,
            ends_use: task.kind() == TaskKind::SliceVmRelease,
            attempt: task.fence.attempt,
        }
    }
}

/// The newest order for a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// How new.
    pub rank: Rank,
    /// Which.
    pub task_id: TaskId,
    /// For whom, where that is known.
    pub allocation_id: Option<AllocationId>,
}

/// The newest order of one kind about the host itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMark {
    /// How new.
    pub fence: Fence,
    /// Which.
    pub task_id: TaskId,
}

/// An order that was taken and not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// The order.
    pub task: Task,
    /// How many times each change was begun.
    pub turns: BTreeMap<Step, u32>,
    /// How each change ended, as far as known.
    pub outcomes: BTreeMap<Step, Outcome>,
}

impl Open {
    fn new(task: Task) -> Self {
        Self { task, turns: BTreeMap::new(), outcomes: BTreeMap::new() }
    }
    /// The slots of the order, by slot id.
    pub fn slots(&self) -> Vec<SlotUse> {
        let mut slots: Vec<SlotUse> = self
            .task
            .slots()
            .iter()
            .map(|slot| SlotUse { slot_id: slot.slot_id.clone(), use_generation: slot.use_generation })
            .collect();
        slots.sort();
        slots
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What was answered.
    pub result: TaskResult,
    /// What was seen, until the control plane has it.
    pub report: Option<TaskReport>,
    /// Whether the control plane has it.
    pub acknowledged: bool,
}

/// The sum of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Book {
    boot: i64,
    marks: BTreeMap<SlotId, Mark>,
    host_marks: BTreeMap<TaskKind, HostMark>,
    open: BTreeMap<TaskId, Open>,
    answers: BTreeMap<TaskId, Answer>,
}

impl Book {
    /// How many times the agent has started.
    pub fn boot(&self) -> i64 {
        self.boot
    }
    /// The newest order for each slot.
    pub fn marks(&self) -> &BTreeMap<SlotId, Mark> {
        &self.marks
    }
    /// Orders that were taken and not answered.
    pub fn open(&self) -> &BTreeMap<TaskId, Open> {
        &self.open
    }
    /// Answers that are kept.
    pub fn answers(&self) -> &BTreeMap<TaskId, Answer> {
        &self.answers
    }

    /// Whether an order is newer than everything taken for any of its slots.
    pub fn is_newer(&self, task: &Task) -> bool {
        let newer = |slot: &TaskSlot| self.marks.get(&slot.slot_id).is_none_or(|mark| Rank::of(task, slot) > mark.rank);
        (task.slots().iter().all(newer) && self.is_newer_for_host(task)) || model::planted!(AgentIgnoresFence)
    }

    /// Whether an order that was taken is still the newest for every one of its slots.
    pub fn is_newest(&self, task: &Task) -> bool {
        let newest = |slot: &TaskSlot| self.marks.get(&slot.slot_id).is_some_and(|mark| mark.task_id == task.id);
        task.slots().iter().all(newest) || model::planted!(AgentIgnoresFence)
    }

    /// Adds one record.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::Booted { boot, .. } => self.boot = self.boot.max(*boot),
            Record::Marked { slot_id, rank, task_id, allocation_id } => {
                self.mark(slot_id, *rank, task_id, allocation_id.as_ref());
            }
            Record::Accepted { task } => {
                let allocation_id = task.input.guest_held().map(|(id, _)| id);
                for slot in task.slots() {
                    self.mark(&slot.slot_id, Rank::of(task, slot), &task.id, allocation_id);
                }
                self.mark_host(task);
                self.open.insert(task.id.clone(), Open::new(task.clone()));
            }
            Record::HostMarked { kind, fence, task_id } => {
                self.host_marks.insert(*kind, HostMark { fence: *fence, task_id: task_id.clone() });
            }
            Record::Started { task_id, step, turn } => {
                if let Some(open) = self.open.get_mut(task_id) {
                    open.turns.insert(step.clone(), *turn);
                }
            }
            Record::Ended { task_id, step, outcome } => {
                if let Some(open) = self.open.get_mut(task_id) {
                    open.outcomes.insert(step.clone(), outcome.clone());
                }
            }
            Record::Finished { result, report } => {
                self.open.remove(&result.task_id);
                let answer = Answer { result: result.clone(), report: report.clone(), acknowledged: false };
                self.answers.insert(result.task_id.clone(), answer);
            }
            Record::Acknowledged { task_id } => {
                if let Some(answer) = self.answers.get_mut(task_id) {
                    answer.acknowledged = true;
                    // What was seen is the control plane's now, and may be large.
                    answer.report = None;
                }
                self.forget_oldest();
            }
        }
    }

    /// The shortest list of records that adds up to this book.
    pub fn records(&self, node_id: &model::NodeId) -> Vec<Record> {
        let mut records = vec![Record::Booted { node_id: node_id.clone(), boot: self.boot }];
        for (task_id, open) in &self.open {
            records.push(Record::Accepted { task: open.task.clone() });
            let started = open.turns.iter();
            records.extend(started.map(|(step, turn)| Record::Started {
                task_id: task_id.clone(),
                step: step.clone(),
                turn: *turn,
            }));
            let ended = open.outcomes.iter();
            records.extend(ended.map(|(step, outcome)| Record::Ended {
                task_id: task_id.clone(),
                step: step.clone(),
                outcome: outcome.clone(),
            }));
        }
        for (task_id, answer) in &self.answers {
            records.push(Record::Finished { result: answer.result.clone(), report: answer.report.clone() });
            if answer.acknowledged {
                records.push(Record::Acknowledged { task_id: task_id.clone() });
            }
        }
        let marks = self.marks.iter();
        records.extend(marks.map(|(slot_id, mark)| Record::Marked {
            slot_id: slot_id.clone(),
            rank: mark.rank,
            task_id: mark.task_id.clone(),
            allocation_id: mark.allocation_id.clone(),
        }));
        let marks = self.host_marks.iter();
        records.extend(marks.map(|(kind, mark)| Record::HostMarked {
            kind: *kind,
            fence: mark.fence,
            task_id: mark.task_id.clone(),
        }));
        records
    }

    /// The bug of an agent that does not remember its answers: the order is open again, with nothing done.
    #[cfg(feature = "planted-bugs")]
    pub(crate) fn forget_answer(&mut self, task: &Task) {
        self.answers.remove(&task.id);
        self.open.insert(task.id.clone(), Open::new(task.clone()));
    }

    // Orders about the host are read-only and of a kind each; an older one of the same kind is a late copy.
    fn is_newer_for_host(&self, task: &Task) -> bool {
        task.input.guest_held().is_some()
            || self.host_marks.get(&task.kind()).is_none_or(|mark| task.fence > mark.fence)
    }

    fn mark_host(&mut self, task: &Task) {
        if task.input.guest_held().is_none() {
            self.host_marks.insert(task.kind(), HostMark { fence: task.fence, task_id: task.id.clone() });
        }
    }

    fn mark(&mut self, slot_id: &SlotId, rank: Rank, task_id: &TaskId, allocation_id: Option<&AllocationId>) {
        if self.marks.get(slot_id).is_none_or(|mark| rank > mark.rank) {
            let mark = Mark { rank, task_id: task_id.clone(), allocation_id: allocation_id.cloned() };
            self.marks.insert(slot_id.clone(), mark);
        }
    }

    // Ids are ordered by time, so the first acknowledged answer is the oldest.
    fn forget_oldest(&mut self) {
        let acknowledged = self.answers.values().filter(|answer| answer.acknowledged).count();
        if acknowledged > ANSWERS_KEPT_MAX {
            let oldest = self.answers.iter().find(|(_, answer)| answer.acknowledged).map(|(id, _)| id.clone());
            oldest.and_then(|id| self.answers.remove(&id));
        }
    }
}
