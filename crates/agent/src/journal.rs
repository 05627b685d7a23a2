//! What the agent must remember across a crash, as an append-only list of records.
//!
//! A record is durable when [`Journal::append`] returns, and the agent acts only after that: the fence of an order is
//! written before anything of it is done, and each change to the host before it is made. A write that fails leaves the
//! journal in an unknown state, so the agent stops and has to be started again from what is really there.

use crate::{
    book::Rank,
    host::{HostFault, Step},
};
use api::node_plane::TaskReport;
use model::{
    AllocationId, NodeId, SlotId, TaskId,
    runtime::{GuestSeen, Refusal},
    task::{Fence, Task, TaskFailure, TaskKind, TaskResult},
};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How one change to the host ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether it worked and was seen to work.
    pub ok: bool,
    /// What was seen, or what went wrong.
    pub text: String,
    /// What kind of failure it was, where the host said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TaskFailure>,
    /// What stood against it, check by check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// The guest that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Box<GuestSeen>>,
}

// What an answer may carry of each, so that the answer for a whole host stays within what the control plane reads.
const EVIDENCE_BYTES_MAX: usize = 2048;
const DETAIL_BYTES_MAX: usize = 1024;
const WORD_BYTES_MAX: usize = 256;
const REFUSALS_MAX: usize = 64;

impl Outcome {
    /// It worked, and this was seen.
    pub fn done(evidence: &str) -> Self {
        let text = clipped(evidence, EVIDENCE_BYTES_MAX);
        Self { ok: true, text, failure: None, refusals: vec![], guest: None }
    }

    /// The guest runs.
    pub fn started(guest: GuestSeen) -> Self {
        Self { guest: Some(Box::new(guest)), ..Self::done("started") }
    }

    /// It did not work.
    pub fn failed(fault: &HostFault) -> Self {
        let short = |refusal: &Refusal| Refusal {
            check: clipped(&refusal.check, WORD_BYTES_MAX),
            slot_id: refusal.slot_id.clone(),
            expected: clipped(&refusal.expected, WORD_BYTES_MAX),
            found: clipped(&refusal.found, WORD_BYTES_MAX),
        };
        Self {
            ok: false,
            text: clipped_detail(&fault.detail),
            failure: fault.failure,
            refusals: fault.refusals.iter().take(REFUSALS_MAX).map(short).collect(),
            guest: None,
        }
    }
}

/// A sentence from the host, cut to what an answer may carry.
pub(crate) fn clipped_detail(text: &str) -> String {
    clipped(text, DETAIL_BYTES_MAX)
}

fn clipped(text: &str, bytes_max: usize) -> String {
    let mut kept: String = text.chars().filter(|c| !c.is_control()).collect();
    kept.truncate(kept.floor_char_boundary(bytes_max));
    kept
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The agent started.
    Booted {
        /// Whose journal this is.
        node_id: NodeId,
        /// How many times it has started.
        boot: i64,
    },
    /// The newest order for a slot, carried over when a journal is rewritten.
    Marked {
        /// The slot.
        slot_id: SlotId,
        /// How new.
        rank: Rank,
        /// Which order.
        task_id: TaskId,
        /// For whom; not known of orders from before it was written down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allocation_id: Option<AllocationId>,
    },
    /// The newest order of one kind about the host itself, carried over when a journal is rewritten.
    HostMarked {
        /// The kind.
        kind: TaskKind,
        /// How new.
        fence: Fence,
        /// Which order.
        task_id: TaskId,
    },
    /// An order was taken; it is now the newest for each of its slots.
    Accepted {
        /// The order.
        task: Task,
    },
    /// A change is about to be made.
    Started {
        /// Under which order.
        task_id: TaskId,
        /// Which.
        step: Step,
        /// For the how-manieth time.
        turn: u32,
    },
    /// A change was made, or not.
    Ended {
        /// Under which order.
        task_id: TaskId,
        /// Which.
        step: Step,
        /// How it ended.
        outcome: Outcome,
    },
    /// An order ended; this is its answer for ever.
    Finished {
        /// The answer.
        result: TaskResult,
        /// What was seen, for orders to look.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<TaskReport>,
    },
    /// The control plane has the answer.
    Acknowledged {
        /// To which order.
        task_id: TaskId,
    },
}

/// The journal cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalFault {
    /// A read or write failed, and what is on the disk is unknown.
    #[error("the journal could not be read or written: {0}")]
    Io(String),
    /// It belongs to another node: this disk or this key is in the wrong machine.
    #[error("the journal belongs to {0}")]
    OtherNode(NodeId),
    /// A record in the middle of it is not what was written.
    #[error("line {0} of the journal is damaged")]
    Damaged(usize),
    /// Another process has it open.
    #[error("another agent holds {0}")]
    InUse(String),
}

/// A durable list of records.
pub trait Journal {
    /// Everything that was written, in order.
    fn load(&self) -> Result<Vec<Record>, JournalFault>;
    /// Adds one record; it is durable when this returns.
    fn append(&mut self, record: &Record) -> Result<(), JournalFault>;
    /// Replaces everything at once; after a crash either the old or the new list is there.
    fn rewrite(&mut self, records: &[Record]) -> Result<(), JournalFault>;
    /// How much room it takes, where that can grow to matter.
    fn bytes(&self) -> u64 {
        0
    }
}

/// A journal in memory. Clones share their contents, so a handle kept outside outlives a crash of the agent; a simulated
/// host has nothing else that needs to last.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    records: Vec<Record>,
    broken: bool,
}

impl MemoryJournal {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }
    /// What is in it.
    pub fn records(&self) -> Vec<Record> {
        self.contents().records.clone()
    }
    /// From now on every write fails, or works again.
    pub fn set_broken(&self, broken: bool) {
        self.contents().broken = broken;
    }
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn writable(&self) -> Result<MutexGuard<'_, Contents>, JournalFault> {
        let contents = self.contents();
        if contents.broken {
            Err(JournalFault::Io("the simulated disk refuses writes".to_owned()))
        } else {
            Ok(contents)
        }
    }
}

impl Journal for MemoryJournal {
    fn load(&self) -> Result<Vec<Record>, JournalFault> {
        Ok(self.records())
    }
    fn append(&mut self, record: &Record) -> Result<(), JournalFault> {
        self.writable()?.records.push(record.clone());
        Ok(())
    }
    fn rewrite(&mut self, records: &[Record]) -> Result<(), JournalFault> {
        self.writable()?.records = records.to_vec();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_outcome_from_before_refusals_and_guests_still_reads() {
        let old: Outcome = serde_json::from_str(r#"{"ok":true,"text":"stopped"}"#).unwrap();
        assert_eq!(old, Outcome::done("stopped"));
        assert_eq!(serde_json::to_string(&old).unwrap(), r#"{"ok":true,"text":"stopped"}"#);
    }

    #[test]
    fn what_a_host_says_is_cut_between_letters() {
        let fault = HostFault::new("é\n".repeat(2000));
        let text = Outcome::failed(&fault).text;
        assert_eq!((text.len(), text.chars().all(|c| c == 'é')), (DETAIL_BYTES_MAX, true));
        assert_eq!(Outcome::done(&"é".repeat(2000)).text.len(), EVIDENCE_BYTES_MAX);
        let refusal = Refusal { check: "disk".into(), slot_id: None, expected: "x".repeat(9999), found: String::new() };
        let failed = Outcome::failed(&HostFault::refused(TaskFailure::PlanRefused, vec![refusal; 100]));
        assert_eq!((failed.refusals.len(), failed.refusals[0].expected.len()), (REFUSALS_MAX, WORD_BYTES_MAX));
    }
}
