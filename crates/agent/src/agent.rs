//! The loop, one step at a time: hear what arrived, do one thing, say what is due.

use crate::{
    book::{Answer, Book, Open},
    hands::{Hands, Job, Told},
    host::{Effect, Guest, Host, HostFault, SlotUse, Step},
    identity::Identity,
    in_hand::{Hold, InHand, Stage},
    journal::{Journal, JournalFault, Record},
    looks,
    notices::{Noticed, Notices},
    work::{self, Move},
};
use api::node_plane::{FromControl, Heartbeat, Offer, Poll, TaskAnswer, TaskProgress, TaskReport, ToControl};
use model::{
    TaskId, Timestamp,
    notice::NoticeSeen,
    runtime::{WorkProgress, WorkStep},
    task::{GuestOrder, Task, TaskFailure, TaskInput, TaskResult},
    time::MICROS_PER_SECOND,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Seconds between heartbeats.
pub const HEARTBEAT_S: i64 = 10;
/// Seconds between polls.
pub const POLL_S: i64 = 2;
/// Seconds after which an answer that was not acknowledged is sent again.
pub const RESEND_S: i64 = 5;
/// Seconds between two tellings of how far one step of an order is. A new step is told at once.
pub const PROGRESS_S: i64 = 1;
/// Seconds after which how far an order is is told again though nothing changed: a step such as a disk that formats itself
/// may have nothing new to say for half an hour, and an order of which nothing is heard is given up.
pub const STILL_S: i64 = 60;

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
    host: Arc<H>,
    hands: Hands,
    journal: J,
    book: Book,
    records: usize,
    records_max: usize,
    bytes_max: u64,
    heartbeat_s: i64,
    offered: BTreeMap<TaskId, Task>,
    refusals: Vec<TaskResult>,
    in_hand: InHand,
    now: Timestamp,
    notices: Notices,
    // Orders wait for what is in hand, and nothing has ended since that was seen.
    stuck: bool,
    // Orders whose next change was decided and touches what another order is at.
    behind: BTreeSet<TaskId>,
    told: BTreeMap<TaskId, Arc<Told>>,
    said: BTreeMap<TaskId, (Timestamp, WorkProgress)>,
    acks: BTreeSet<TaskId>,
    sent: BTreeMap<TaskId, Timestamp>,
    asked_again: BTreeSet<TaskId>,
    beat: Option<Timestamp>,
    polled: Option<Timestamp>,
    halted: Option<JournalFault>,
}

impl<H: Host + 'static, J: Journal> Agent<H, J> {
    /// Starts from what the journal holds, and counts the start. `session` is a word that no other start ever had. Work on the
    /// host is done on the spot unless [`Agent::with_hands`] says otherwise.
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
            host: Arc::new(host),
            hands: Hands::inline(),
            journal,
            book,
            records: records.len() + 1,
            records_max: RECORDS_MAX,
            bytes_max: BYTES_MAX,
            heartbeat_s: HEARTBEAT_S,
            offered: BTreeMap::new(),
            refusals: vec![],
            in_hand: InHand::default(),
            now: Timestamp::default(),
            notices: Notices::default(),
            stuck: false,
            behind: BTreeSet::new(),
            told: BTreeMap::new(),
            said: BTreeMap::new(),
            acks: BTreeSet::new(),
            sent: BTreeMap::new(),
            asked_again: BTreeSet::new(),
            beat: None,
            polled: None,
            halted: None,
        })
    }

    /// One step: takes in what arrived, makes at most one durable write or begins one piece of work, returns what to send.
    /// After a journal fault nothing happens any more; the process has to end and start again.
    pub fn step(&mut self, now: Timestamp, inbox: Vec<FromControl>) -> Vec<ToControl> {
        if self.halted.is_some() {
            return vec![];
        }
        self.now = now;
        for message in inbox {
            self.hear(message);
        }
        match self.act() {
            Ok(acted) => self.stuck = !acted,
            Err(fault) => {
                self.halted = Some(fault);
                return vec![];
            }
        }
        self.speak(now)
    }

    /// Says "I am here" as often as the control plane asked for at enrollment, instead of every [`HEARTBEAT_S`].
    #[must_use]
    pub fn with_heartbeat_s(mut self, heartbeat_s: i64) -> Self {
        self.heartbeat_s = heartbeat_s;
        self
    }

    /// Does the work on the host this way from now on.
    #[must_use]
    pub fn with_hands(mut self, hands: Hands) -> Self {
        self.hands = hands;
        self
    }

    /// Asks for orders with the next step, however short ago it did: the last call was held, and has been answered.
    pub fn poll_soon(&mut self) {
        self.polled = None;
    }

    /// How many times the agent has started, this time counted.
    pub fn boot(&self) -> i64 {
        self.book.boot()
    }

    /// Whether there is something to do that needs neither a further message nor the end of work on the host. Whoever calls
    /// [`Agent::step`] may rest when not.
    pub fn is_busy(&self) -> bool {
        let waits = || self.book.open().keys().any(|id| !self.in_hand.has(id));
        let something =
            !self.offered.is_empty() || !self.acks.is_empty() || self.in_hand.has_next() || (waits() && !self.stuck);
        self.halted.is_none() && something
    }

    /// Whether the host is at work for an order, or a guest is waited for that was told something. Whoever calls
    /// [`Agent::step`] does so every second meanwhile.
    pub fn is_at_work(&self) -> bool {
        !self.in_hand.is_empty() || !self.notices.is_empty()
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
            && self.in_hand.is_empty()
            && self.book.answers().values().all(|answer| answer.acknowledged)
    }

    /// Ends the agent, and waits for the work that it began on the host: nobody who starts after this meets it there. How
    /// the work ended is not written down, as in a crash.
    pub fn rest(mut self) {
        self.told.values().for_each(|told| told.not_wanted());
        loop {
            while self.in_hand.next(|stage| !matches!(stage, Stage::AtWork)).is_some() {}
            if self.in_hand.is_empty() {
                return;
            }
            let Some((task_id, done)) = self.hands.wait() else { return };
            self.in_hand.ended(&task_id, done);
        }
    }

    fn hear(&mut self, message: FromControl) {
        match message {
            FromControl::TasksOffered(offered) => offered.tasks.into_iter().for_each(|offer| match offer {
                Offer::Known(task) => self.hear_task(task),
                Offer::Unknown(unknown) => self.refuse(TaskResult::failed(
                    unknown.id,
                    unknown.fence,
                    TaskFailure::UnknownKind,
                    "The agent does not know this kind of order; it may be older than the control plane.",
                )),
            }),
            FromControl::ResultAck(ack) => {
                if self.book.answers().get(&ack.task_id).is_some_and(|answer| !answer.acknowledged) {
                    self.acks.insert(ack.task_id);
                }
            }
            // Streams are opened beside the orders; they change nothing that is kept.
            FromControl::StreamWanted(_) => (),
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
        Some(TaskResult::failed(task.id.clone(), task.fence, failure, detail))
    }

    // One durable write or one piece of work begun, never two. Says whether there was anything to do.
    fn act(&mut self) -> Result<bool, JournalFault> {
        self.gather();
        if let Some((task_id, Stage::Changed(step, outcome))) =
            self.in_hand.next(|stage| matches!(stage, Stage::Changed(..)))
        {
            return self.write(Record::Ended { task_id, step, outcome });
        }
        if let Some(effect) = self.in_hand.hand_over() {
            self.perform(effect);
            return Ok(true);
        }
        if self.conclude()? {
            return Ok(true);
        }
        while let Some((_, task)) = self.offered.pop_first() {
            match self.refusal(&task) {
                Some(refusal) => self.refusals.push(refusal),
                None => return self.accept(task),
            }
        }
        if self.advance()? {
            return Ok(true);
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
        Ok(false)
    }

    fn gather(&mut self) {
        while let Some((task_id, done)) = self.hands.ended() {
            self.in_hand.ended(&task_id, done);
        }
    }

    // From here on the order is the newest for its slots, and whoever works on one of them for another should stop.
    fn accept(&mut self, task: Task) -> Result<bool, JournalFault> {
        self.write(Record::Accepted { task })?;
        for (task_id, open) in self.book.open() {
            if !self.book.is_newest(&open.task)
                && let Some(told) = self.told.get(task_id)
            {
                told.not_wanted();
            }
        }
        Ok(true)
    }

    // Orders that are neither in hand nor answered, oldest first: the first that may go on does.
    fn advance(&mut self) -> Result<bool, JournalFault> {
        let waits = |id: &&TaskId| !self.in_hand.has(id) && !self.behind.contains(*id);
        let waiting: Vec<TaskId> = self.book.open().keys().filter(waits).cloned().collect();
        for task_id in waiting {
            let Some(open) = self.book.open().get(&task_id).cloned() else { continue };
            if !self.book.is_newest(&open.task) {
                return self.finish_stale(&open);
            }
            if !self.notices.is_due(&task_id, self.now) {
                continue;
            }
            let (hold, job) = self.begun(&open);
            let told = self.told(&task_id);
            if !self.in_hand.may_begin(&task_id, &hold, self.hands.at_once_max()) {
                told.waits(WorkStep::Waiting);
                continue;
            }
            self.in_hand.take(task_id.clone(), hold);
            self.hands.begin(&self.host, task_id, job, told);
            // What is done on the spot has ended by now.
            self.gather();
            self.conclude()?;
            return Ok(true);
        }
        Ok(false)
    }

    // What an order holds, and what is asked from the host for the sake of it.
    fn begun(&self, open: &Open) -> (Hold, Job) {
        let task = Box::new(open.task.clone());
        match &open.task.input {
            // Whole machines are their provider's; an agent that is asked for one says so.
            TaskInput::SliceVmProvision(_)
            | TaskInput::SliceVmRelease(_)
            | TaskInput::MachineDeploy(_)
            | TaskInput::MachineReclaim(_) => (Hold::of(open), Job::Guests),
            TaskInput::SliceVmNotice(order) => (Hold::of(open), Job::Notice(Box::new(order.clone()), self.now)),
            TaskInput::SliceReconcile(order) => {
                let (order, busy) = looks::reconcile_scope(&self.book, &open.task, order);
                let hold = Hold::reconcile(open, &busy);
                (hold, Job::Look(Box::new(Task { input: TaskInput::SliceReconcile(order), ..*task }), busy))
            }
            TaskInput::SlicePlan(_)
            | TaskInput::ImagePrefetch { .. }
            | TaskInput::SliceTopologyDiscover {}
            | TaskInput::NodeReadiness {} => (Hold::of(open), Job::Look(task, vec![])),
        }
    }

    // Writes down an answer that is there, or decides an order's next move once the guests are listed or a guest was told.
    fn conclude(&mut self) -> Result<bool, JournalFault> {
        match self.in_hand.next(|stage| matches!(stage, Stage::Answered(..) | Stage::Noticed(_) | Stage::Listed(_))) {
            Some((_, Stage::Answered(result, report))) => self.finish(*result, report),
            Some((task_id, Stage::Noticed(seen))) => self.noticed(&task_id, seen),
            Some((task_id, Stage::Listed(guests))) => self.decide(&task_id, guests),
            _ => Ok(false),
        }
    }

    fn noticed(&mut self, task_id: &TaskId, seen: Result<NoticeSeen, HostFault>) -> Result<bool, JournalFault> {
        let Some(open) = self.book.open().get(task_id).cloned() else { return Ok(true) };
        match self.notices.looked(&open.task, seen, self.now) {
            _ if !self.book.is_newest(&open.task) => self.finish_stale(&open),
            Noticed::Over(result) => self.finish(*result, None),
            Noticed::LookAgain => {
                self.told(task_id).waits(WorkStep::Notice);
                Ok(true)
            }
        }
    }

    fn decide(&mut self, task_id: &TaskId, guests: Result<Vec<Guest>, HostFault>) -> Result<bool, JournalFault> {
        let Some(open) = self.book.open().get(task_id).cloned() else { return Ok(true) };
        if !self.book.is_newest(&open.task) {
            return self.finish_stale(&open);
        }
        match work::next(&open, &guests, &self.identity) {
            Move::Answer(result) => self.finish(result, None),
            Move::Act(step) => {
                let Some(order) = open.task.input.guest() else { return Ok(true) };
                let hold = Hold::change(&open, &step, guests.as_deref().unwrap_or_default());
                // The guest to stop may sit on more than the order knew; then it waits for whoever is at that.
                if !self.in_hand.may_begin(task_id, &hold, self.hands.at_once_max()) {
                    self.behind.insert(task_id.clone());
                    self.told(task_id).waits(WorkStep::Waiting);
                    return Ok(false);
                }
                let turn = open.turns.get(&step).copied().unwrap_or(0) + 1;
                self.write(Record::Started { task_id: task_id.clone(), step: step.clone(), turn })?;
                self.in_hand.written(task_id.clone(), hold, effect(&open, order, step, turn));
                Ok(true)
            }
        }
    }

    fn perform(&mut self, effect: Box<Effect>) {
        let task_id = effect.task_id.clone();
        let Some(order) = self.book.open().get(&task_id).and_then(|open| open.task.input.guest()).cloned() else {
            return;
        };
        let told = self.told(&task_id);
        self.hands.begin(&self.host, task_id, Job::Change(effect, Box::new(order)), told);
    }

    fn told(&mut self, task_id: &TaskId) -> Arc<Told> {
        let hands = &self.hands;
        Arc::clone(self.told.entry(task_id.clone()).or_insert_with(|| hands.told()))
    }

    fn finish_stale(&mut self, open: &Open) -> Result<bool, JournalFault> {
        let refused = work::failure(open, TaskFailure::StaleFence, "A newer order for one of the slots took over.");
        self.finish(refused, None)
    }

    fn finish(&mut self, result: TaskResult, report: Option<TaskReport>) -> Result<bool, JournalFault> {
        self.told.remove(&result.task_id);
        self.notices.forget(&result.task_id);
        self.said.remove(&result.task_id);
        self.write(Record::Finished { result, report })
    }

    fn write(&mut self, record: Record) -> Result<bool, JournalFault> {
        self.journal.append(&record)?;
        self.book.apply(&record);
        self.records += 1;
        if matches!(record, Record::Ended { .. } | Record::Finished { .. }) {
            self.behind.clear();
        }
        Ok(true)
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
        out.extend(self.progress(now).into_iter().map(ToControl::Progress));
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

    // The latest of each order, when it is at another step than was said last, or a second later; the same again now and then.
    fn progress(&mut self, now: Timestamp) -> Vec<TaskProgress> {
        let mut news = vec![];
        for (task_id, told) in &self.told {
            let (Some(open), Some(progress)) = (self.book.open().get(task_id), told.latest()) else { continue };
            let is_news = self.said.get(task_id).is_none_or(|(at, said)| {
                let every_s = if *said == progress { STILL_S } else { PROGRESS_S };
                said.step != progress.step || is_due(Some(*at), every_s, now)
            });
            if is_news {
                self.said.insert(task_id.clone(), (now, progress.clone()));
                news.push(TaskProgress {
                    node_id: self.identity.node_id().clone(),
                    boot: self.book.boot(),
                    task_id: task_id.clone(),
                    fence: open.task.fence,
                    progress,
                });
            }
        }
        news
    }
}

impl<H, J> Drop for Agent<H, J> {
    // Whoever still works for it may stop: nobody will hear the answer.
    fn drop(&mut self) {
        self.told.values().for_each(|told| told.not_wanted());
    }
}

fn effect(open: &Open, order: &GuestOrder, step: Step, turn: u32) -> Effect {
    let mut slots = open.slots();
    if let Step::Wipe { slot_id, .. } = &step {
        slots.retain(|slot| slot.slot_id == *slot_id);
    }
    let task = &open.task;
    let given = |slot: &SlotUse| order.slots.iter().find(|given| given.slot_id == slot.slot_id).cloned();
    Effect {
        task_id: task.id.clone(),
        allocation_id: order.allocation_id.clone(),
        fence: task.fence,
        given: slots.iter().filter_map(given).collect(),
        grace_s: order.grace_s,
        slots,
        step,
        turn,
    }
}

// A clock that went back makes everything due: saying something twice is harmless, falling silent is not.
fn is_due(last: Option<Timestamp>, every_s: i64, now: Timestamp) -> bool {
    last.is_none_or(|last| now < last || now.micros_since(last) >= every_s * MICROS_PER_SECOND)
}
