//! The loop, one step at a time: hear what arrived, do one thing, say what is due.

use crate::{
    book::{Answer, Book, Open},
    host::{Effect, Host, HostFault, Step},
    identity::Identity,
    journal::{Journal, JournalFault, Outcome, Record},
    work::{self, Move},
};
use api::node_plane::{FromControl, Heartbeat, Offer, Poll, TaskAnswer, ToControl};
use model::{
    TaskId, Timestamp,
    task::{GuestOrder, Task, TaskFailure, TaskResult},
    time::MICROS_PER_SECOND,
};
use std::collections::{BTreeMap, BTreeSet};

/// Seconds between heartbeats.
pub const HEARTBEAT_S: i64 = 10;
/// Seconds between polls.
pub const POLL_S: i64 = 2;
/// Seconds after which an answer that was not acknowledged is sent again.
pub const RESEND_S: i64 = 5;

// Orders that were heard and not yet taken; more than that are dropped, and offered again at the next poll.
const OFFERED_MAX: usize = 64;
// Answers sent in one step.
const ANSWERS_PER_STEP_MAX: usize = 32;
// A journal this long or this large is rewritten, unless most of it is still needed.
const RECORDS_MAX: usize = 8192;
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// An agent on its host. All that must last is in the journal; dropping an agent at any moment is a crash, and
/// [`Agent::start`] on the same journal and host is the restart.
#[derive(Debug)]
pub struct Agent<H, J> {
    identity: Identity,
    session: String,
    host: H,
    journal: J,
    book: Book,
    records: usize,
    records_max: usize,
    bytes_max: u64,
    heartbeat_s: i64,
    offered: BTreeMap<TaskId, Task>,
    refusals: Vec<TaskResult>,
    doing: Doing,
    acks: BTreeSet<TaskId>,
    sent: BTreeMap<TaskId, Timestamp>,
    asked_again: BTreeSet<TaskId>,
    beat: Option<Timestamp>,
    polled: Option<Timestamp>,
    halted: Option<JournalFault>,
}

// Where one change stands between its two records. Lost in a crash, on purpose: then nobody knows how it ended.
#[derive(Debug)]
enum Doing {
    Nothing,
    Begun(Box<Effect>),
    Done { task_id: TaskId, step: Step, outcome: Outcome },
}

impl<H: Host, J: Journal> Agent<H, J> {
    /// Starts from what the journal holds, and counts the start. `session` is a word that no other start ever had.
    pub fn start(identity: Identity, session: String, host: H, mut journal: J) -> Result<Self, JournalFault> {
        let records = journal.load()?;
        let mut book = Book::default();
        for record in &records {
            if let Record::Booted { node_id, .. } = record
                && node_id != identity.node_id()
            {
                return Err(JournalFault::OtherNode(node_id.clone()));
            }
            book.apply(record);
        }
        let booted = Record::Booted { node_id: identity.node_id().clone(), boot: book.boot() + 1 };
        journal.append(&booted)?;
        book.apply(&booted);
        Ok(Self {
            identity,
            session,
            host,
            journal,
            book,
            records: records.len() + 1,
            records_max: RECORDS_MAX,
            bytes_max: BYTES_MAX,
            heartbeat_s: HEARTBEAT_S,
            offered: BTreeMap::new(),
            refusals: vec![],
            doing: Doing::Nothing,
            acks: BTreeSet::new(),
            sent: BTreeMap::new(),
            asked_again: BTreeSet::new(),
            beat: None,
            polled: None,
            halted: None,
        })
    }

    /// One step: takes in what arrived, makes at most one durable write or one change to the host, returns what to send.
    /// After a journal fault nothing happens any more; the process has to end and start again.
    pub fn step(&mut self, now: Timestamp, inbox: Vec<FromControl>) -> Vec<ToControl> {
        if self.halted.is_some() {
            return vec![];
        }
        for message in inbox {
            self.hear(message);
        }
        if let Err(fault) = self.act() {
            self.halted = Some(fault);
            return vec![];
        }
        self.speak(now)
    }

    /// Says "I am here" as often as the control plane asked for at enrollment, instead of every [`HEARTBEAT_S`].
    #[must_use]
    pub fn with_heartbeat_s(mut self, heartbeat_s: i64) -> Self {
        self.heartbeat_s = heartbeat_s;
        self
    }

    /// How many times the agent has started, this time counted.
    pub fn boot(&self) -> i64 {
        self.book.boot()
    }

    /// Whether there is something to do that needs no further message. Whoever calls [`Agent::step`] may rest when not.
    pub fn is_busy(&self) -> bool {
        self.halted.is_none()
            && !(self.offered.is_empty()
                && self.book.open().is_empty()
                && self.acks.is_empty()
                && matches!(self.doing, Doing::Nothing))
    }

    /// Why the agent stopped, if it did.
    pub fn halted(&self) -> Option<&JournalFault> {
        self.halted.as_ref()
    }

    /// What the journal adds up to.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// The host, to look at.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// Whether every order that was heard is answered and every answer acknowledged.
    pub fn is_idle(&self) -> bool {
        self.offered.is_empty()
            && self.book.open().is_empty()
            && matches!(self.doing, Doing::Nothing)
            && self.book.answers().values().all(|answer| answer.acknowledged)
    }

    /// Ends the agent, as a crash would, and gives back what outlives it.
    pub fn into_parts(self) -> (Identity, H, J) {
        (self.identity, self.host, self.journal)
    }

    fn hear(&mut self, message: FromControl) {
        match message {
            FromControl::TasksOffered(offered) => offered.tasks.into_iter().for_each(|offer| match offer {
                Offer::Known(task) => self.hear_task(task),
                Offer::Unknown(unknown) => self.refuse(TaskResult {
                    task_id: unknown.id,
                    fence: unknown.fence,
                    failure: Some(TaskFailure::UnknownKind),
                    detail: "The agent does not know this kind of order; it may be older than the control plane."
                        .to_owned(),
                    proofs: vec![],
                }),
            }),
            FromControl::ResultAck(ack) => {
                if self.book.answers().get(&ack.task_id).is_some_and(|answer| !answer.acknowledged) {
                    self.acks.insert(ack.task_id);
                }
            }
        }
    }

    fn hear_task(&mut self, task: Task) {
        if self.book.answers().contains_key(&task.id) {
            self.asked_again.insert(task.id.clone());
            #[cfg(feature = "planted-bugs")]
            if model::planted!(AgentRepeatsWork) && task.node_id == *self.identity.node_id() {
                self.book.forget_answer(&task);
            }
        } else if self.book.open().contains_key(&task.id) || self.offered.contains_key(&task.id) {
            // It is being worked on.
        } else if let Some(refusal) = self.refusal(&task) {
            self.refuse(refusal);
        } else if self.offered.len() < OFFERED_MAX {
            self.offered.insert(task.id.clone(), task);
        }
    }

    fn refuse(&mut self, refusal: TaskResult) {
        if self.refusals.len() < OFFERED_MAX && !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    // Refusals need no record: the same order is refused again, because what refuses it never goes back.
    fn refusal(&self, task: &Task) -> Option<TaskResult> {
        let (failure, detail) = if task.node_id != *self.identity.node_id() {
            (TaskFailure::WrongNode, "The order names another node.")
        } else if !self.book.is_newer(task) {
            (TaskFailure::StaleFence, "A newer order for one of the slots was taken before.")
        } else {
            return None;
        };
        Some(TaskResult {
            task_id: task.id.clone(),
            fence: task.fence,
            failure: Some(failure),
            detail: detail.to_owned(),
            proofs: vec![],
        })
    }

    // One durable write or one change to the host, never two.
    fn act(&mut self) -> Result<(), JournalFault> {
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Done { task_id, step, outcome } => return self.write(Record::Ended { task_id, step, outcome }),
            Doing::Begun(effect) => {
                self.perform(*effect);
                return Ok(());
            }
            Doing::Nothing => (),
        }
        while let Some((_, task)) = self.offered.pop_first() {
            match self.refusal(&task) {
                Some(refusal) => self.refusals.push(refusal),
                None => return self.write(Record::Accepted { task }),
            }
        }
        if let Some(open) = self.book.open().values().next().cloned() {
            return self.advance(&open);
        }
        if let Some(task_id) = self.acks.pop_first() {
            self.sent.remove(&task_id);
            return self.write(Record::Acknowledged { task_id });
        }
        if self.records > self.records_max || self.journal.bytes() > self.bytes_max {
            let records = self.book.records(self.identity.node_id());
            self.journal.rewrite(&records)?;
            self.records = records.len();
            self.records_max = RECORDS_MAX.max(2 * self.records);
            self.bytes_max = BYTES_MAX.max(2 * self.journal.bytes());
        }
        Ok(())
    }

    fn advance(&mut self, open: &Open) -> Result<(), JournalFault> {
        let next = if self.book.is_newest(&open.task) {
            work::next(open, &self.host, &self.identity)
        } else {
            let refused = work::failure(open, TaskFailure::StaleFence, "A newer order for one of the slots took over.");
            Move::Answer(refused, None)
        };
        match next {
            Move::Answer(result, report) => self.write(Record::Finished { result, report }),
            Move::Act(step) => {
                let Some(order) = open.task.input.guest() else { return Ok(()) };
                let turn = open.turns.get(&step).copied().unwrap_or(0) + 1;
                let task_id = open.task.id.clone();
                self.write(Record::Started { task_id, step: step.clone(), turn })?;
                self.doing = Doing::Begun(Box::new(effect(open, order, step, turn)));
                Ok(())
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        let outcome = match self.change(&effect) {
            Ok(text) => Outcome { ok: true, text: work::clipped(&text) },
            Err(fault) => Outcome { ok: false, text: work::clipped(&fault.detail) },
        };
        self.doing = Doing::Done { task_id: effect.task_id, step: effect.step, outcome };
    }

    fn change(&mut self, effect: &Effect) -> Result<String, HostFault> {
        match &effect.step {
            Step::Provision => self.host.provision(effect).map(|()| "started".to_owned()),
            Step::StopGuest { allocation_id } => {
                // It may have ended by itself since the step was begun.
                let guest = self.host.guests()?.into_iter().find(|guest| guest.allocation_id == *allocation_id);
                guest.map_or(Ok(()), |guest| self.host.stop_guest(effect, &guest)).map(|()| "stopped".to_owned())
            }
            Step::Wipe { slot_id, wipe } => match effect.slots.iter().find(|slot| slot.slot_id == *slot_id) {
                Some(slot) => self.host.wipe_step(effect, slot, *wipe),
                None => Err(HostFault::new("The order does not name this slot.")),
            },
        }
    }

    fn write(&mut self, record: Record) -> Result<(), JournalFault> {
        self.journal.append(&record)?;
        self.book.apply(&record);
        self.records += 1;
        Ok(())
    }

    fn speak(&mut self, now: Timestamp) -> Vec<ToControl> {
        let (node_id, boot) = (self.identity.node_id().clone(), self.book.boot());
        let mut out = vec![];
        if is_due(self.beat, self.heartbeat_s, now) {
            self.beat = Some(now);
            let session = self.session.clone();
            out.push(ToControl::Heartbeat(Heartbeat { node_id: node_id.clone(), boot, session, sent_at: now }));
        }
        if is_due(self.polled, POLL_S, now) {
            self.polled = Some(now);
            out.push(ToControl::Poll(Poll { node_id: node_id.clone(), boot }));
        }
        let mut results: Vec<_> = std::mem::take(&mut self.refusals).into_iter().map(|result| (result, None)).collect();
        let unheard = |(id, answer): &(&TaskId, &Answer)| {
            let waits = !answer.acknowledged && !self.acks.contains(*id);
            self.asked_again.contains(*id) || (waits && is_due(self.sent.get(*id).copied(), RESEND_S, now))
        };
        let due = self.book.answers().iter().filter(unheard).take(ANSWERS_PER_STEP_MAX);
        results.extend(due.map(|(_, answer)| (answer.result.clone(), answer.report.clone())));
        for (result, _) in &results {
            self.asked_again.remove(&result.task_id);
            if self.book.answers().get(&result.task_id).is_some_and(|answer| !answer.acknowledged) {
                self.sent.insert(result.task_id.clone(), now);
            }
        }
        let answer =
            |(result, report)| ToControl::Result(TaskAnswer { node_id: node_id.clone(), boot, result, report });
        out.extend(results.into_iter().map(answer));
        out
    }
}

fn effect(open: &Open, order: &GuestOrder, step: Step, turn: u32) -> Effect {
    let mut slots = open.slots();
    if let Step::Wipe { slot_id, .. } = &step {
        slots.retain(|slot| slot.slot_id == *slot_id);
    }
    let task = &open.task;
    Effect {
        task_id: task.id.clone(),
        allocation_id: order.allocation_id.clone(),
        fence: task.fence,
        slots,
        step,
        turn,
    }
}

// A clock that went back makes everything due: saying something twice is harmless, falling silent is not.
fn is_due(last: Option<Timestamp>, every_s: i64, now: Timestamp) -> bool {
    last.is_none_or(|last| now < last || now.micros_since(last) >= every_s * MICROS_PER_SECOND)
}
