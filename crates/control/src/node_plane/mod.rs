//! What node agents say, and what they hear back. The caller's identity is proved before this is reached; here it is only
//! compared: a node reads and answers its own orders and nobody else's.
//!
//! Every message may be lost, doubled, late or out of order. An answer counts once, and only for the attempt that is open,
//! under the fence it was given with; whatever comes later is acknowledged, so that it is not repeated for ever, and
//! changes nothing. What an honest agent does not do is refused, counted and shown to operators as an incident.
//!
//! A heartbeat of a session that is known touches no store; ten thousand nodes are heard a thousand times a second.

mod answers;
mod beats;
mod incidents;
mod proofs;
mod sessions;

use api::node_plane::{
    CLOCK_OFF_S_MAX, FromControl, Heartbeat, Offer, RESULT_BYTES_MAX, ResultAck, TASKS_OFFERED_MAX, TaskAnswer,
    TaskProgress, TasksOffered, ToControl,
};
use api::timeline::TimelineStep;
use model::{NodeId, Timestamp, supply::IncidentKind, task::TaskState, time::MICROS_PER_SECOND};
use store::{
    Db, Stamp, StoreError, Tx, nodes,
    tasks::{self, TaskRow},
};
use tokio::sync::Notify;

use crate::{Ports, poke::Poke, use_cases::timeline::Said};
use beats::Beats;
use incidents::Incidents;
use sessions::Sessions;

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeRefusal {
    /// The message, or the order it answers, belongs to another node.
    #[error("the message is not this node's to send")]
    WrongNode,
    /// No such node is enrolled.
    #[error("no such node is enrolled")]
    UnknownNode,
    /// The agent has been started again since.
    #[error("the agent has been started again since")]
    Superseded,
    /// Another agent speaks for the node.
    #[error("another agent uses this node's identity")]
    IdentityShared,
    /// The host's clock cannot be trusted.
    #[error("the host's clock is {0} s off")]
    ClockFarOff(i64),
    /// More than an agent may say.
    #[error("the message is longer than it may be")]
    Oversized,
    /// The store did not take it; the same message may be sent again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NodeRefusal {
    /// What an operator is told about it; nothing when an honest agent can be refused like this.
    pub fn incident(&self) -> Option<IncidentKind> {
        match self {
            Self::WrongNode => Some(IncidentKind::ActedForAnother),
            Self::IdentityShared => Some(IncidentKind::IdentityShared),
            Self::ClockFarOff(_) => Some(IncidentKind::ClockFarOff),
            Self::Oversized => Some(IncidentKind::OversizedOutput),
            Self::UnknownNode | Self::Superseded | Self::Store(_) => None,
        }
    }
}

/// The agents' side of the control plane. Holds only what may be lost: heartbeats and incidents not yet written down, and
/// who was heard last.
#[derive(Debug)]
pub struct NodePlane {
    ports: Ports,
    poke: Poke,
    beats: Beats,
    sessions: Sessions,
    incidents: Incidents,
    orders: Notify,
}

impl NodePlane {
    /// `poke` is told when something came in that the driver should look at.
    pub fn new(ports: Ports, poke: Poke) -> Self {
        let (beats, sessions, incidents) = (Beats::default(), Sessions::default(), Incidents::default());
        Self { ports, poke, beats, sessions, incidents, orders: Notify::new() }
    }

    /// Takes one message of a node whose identity is proved, and answers it.
    pub fn handle(&self, db: &Db, node: &NodeId, message: ToControl) -> Result<Vec<FromControl>, NodeRefusal> {
        self.handle_from(db, node, None, message)
    }

    /// The same, from an agent that said which version it is.
    pub(crate) fn handle_from(
        &self,
        db: &Db,
        node: &NodeId,
        version: Option<&str>,
        message: ToControl,
    ) -> Result<Vec<FromControl>, NodeRefusal> {
        let now = self.ports.now();
        let claimed = message.node_id().clone();
        let handled = self.take(db, node, version, message, now);
        if let Err(refusal) = &handled
            && let Some(kind) = refusal.incident()
        {
            let detail = match refusal {
                NodeRefusal::WrongNode if claimed != *node => format!("It spoke in the name of {claimed}."),
                NodeRefusal::WrongNode => "It answered another node's order.".to_owned(),
                other => sentence(&other.to_string()),
            };
            self.suspect(db, node, (kind, &detail));
        }
        handled
    }

    /// Whether taking a message needs the store. The rest can be taken on a thread that must not wait.
    pub(crate) fn needs_store(&self, node: &NodeId, message: &ToControl) -> bool {
        let ToControl::Heartbeat(beat) = message else { return true };
        beat.node_id != *node || off_s(beat, self.ports.now()).is_some() || !self.sessions.knows(beat)
    }

    /// Whether an agent that names its session, or says how often it was started, was replaced by another one.
    pub(crate) fn is_replaced(&self, node: &NodeId, session: Option<&str>, boot: Option<i64>) -> bool {
        boot.is_some_and(|boot| self.sessions.is_older(node, boot))
            || session.is_some_and(|word| self.sessions.is_other(node, word))
    }

    /// Writes down that a node's agent did what an honest one does not.
    pub(crate) fn suspect(&self, db: &Db, node: &NodeId, incident: (IncidentKind, &str)) {
        self.incidents.note(db, &self.ports, node, incident, self.ports.now());
    }

    /// Learns from the store who speaks for every node.
    pub(crate) fn learn_sessions(&self, db: &Db) -> Result<(), StoreError> {
        self.sessions.learn(db, self.ports.now())
    }

    /// Forgets who spoke for a node: its host was enrolled again.
    pub(crate) fn forget_session(&self, node: &NodeId) {
        self.sessions.forget(node);
    }

    /// Whether anything collected should be written down now.
    pub(crate) fn flush_due(&self, now: Timestamp, every_s: i64) -> bool {
        self.beats.due(now, every_s) || self.incidents.due(now)
    }

    /// Writes down what was collected.
    pub fn flush(&self, db: &Db, now: Timestamp) -> Result<(), StoreError> {
        self.beats.flush(db, now)?;
        self.incidents.flush(db, &self.ports, now)
    }

    /// Says that orders may have been given.
    pub(crate) fn orders_given(&self) {
        self.orders.notify_one();
    }

    /// Waits until orders may have been given.
    pub(crate) async fn orders_next(&self) {
        self.orders.notified().await;
    }

    /// Notes that a node was heard of.
    pub(crate) fn heard(&self, node: &NodeId) {
        if self.beats.heard(node, self.ports.now()) {
            self.poke.poke();
        }
    }

    fn take(
        &self,
        db: &Db,
        node: &NodeId,
        version: Option<&str>,
        message: ToControl,
        now: Timestamp,
    ) -> Result<Vec<FromControl>, NodeRefusal> {
        if message.node_id() != node && !model::planted!(NodeActsForAnother) {
            return Err(NodeRefusal::WrongNode);
        }
        let answer = match message {
            ToControl::Heartbeat(beat) => {
                if let Some(off_s) = off_s(&beat, now) {
                    return Err(NodeRefusal::ClockFarOff(off_s));
                }
                self.sessions.admit(db, &self.ports, &beat, version, now)?;
                vec![]
            }
            ToControl::Poll(poll) => {
                self.refuse_older(node, poll.boot)?;
                self.offer(db, node, now)?
            }
            ToControl::Progress(progress) => {
                self.refuse_older(node, progress.boot)?;
                note_progress(db, &self.ports, node, progress, now)?;
                vec![]
            }
            ToControl::Result(answer) => {
                self.refuse_older(node, answer.boot)?;
                self.take_answer(db, node, answer, now)?
            }
        };
        self.heard(node);
        Ok(answer)
    }

    fn refuse_older(&self, node: &NodeId, boot: i64) -> Result<(), NodeRefusal> {
        if self.sessions.is_older(node, boot) { Err(NodeRefusal::Superseded) } else { Ok(()) }
    }

    fn offer(&self, db: &Db, node: &NodeId, now: Timestamp) -> Result<Vec<FromControl>, NodeRefusal> {
        let id = node.clone();
        let open = db.read(move |tx| {
            let node = nodes::get(tx, &id)?.ok_or(NodeRefusal::UnknownNode)?;
            // A tenant has the machine: whoever answers from there is nobody's agent.
            if node.is_without_identity() {
                return Err(NodeRefusal::UnknownNode);
            }
            Ok::<_, NodeRefusal>(open_orders(tx, &id, now)?)
        })?;
        let open = if open.iter().any(|task| task.state == TaskState::Pending) {
            let (id, ports) = (node.clone(), self.ports.clone());
            db.write(move |tx| {
                let open = open_orders(tx, &id, now)?;
                let mut bits = || ports.id_bits();
                tasks::deliver_all(tx, &mut Stamp::new(now, &mut bits), &open)?;
                Ok::<_, StoreError>(open)
            })?
        } else {
            open
        };
        let tasks = open.iter().map(|task| Offer::Known(task.order())).collect();
        Ok(vec![FromControl::TasksOffered(TasksOffered { tasks })])
    }

    fn take_answer(
        &self,
        db: &Db,
        node: &NodeId,
        answer: TaskAnswer,
        now: Timestamp,
    ) -> Result<Vec<FromControl>, NodeRefusal> {
        if answers::json_bytes(&answer.result).is_none_or(|bytes| bytes > RESULT_BYTES_MAX) {
            return Err(NodeRefusal::Oversized);
        }
        let (id, ports) = (node.clone(), self.ports.clone());
        let task_id = answer.result.task_id.clone();
        let taken = db.write(move |tx| {
            let mut bits = || ports.id_bits();
            answers::take(tx, &mut Stamp::new(now, &mut bits), &id, &answer)
        })?;
        if taken.counted {
            self.poke.poke();
        }
        if let Some((kind, detail)) = &taken.incident {
            self.suspect(db, node, (*kind, detail));
        }
        Ok(vec![FromControl::ResultAck(ResultAck { task_id })])
    }
}

/// By how much the host's clock is off, when that is too much.
fn off_s(beat: &Heartbeat, now: Timestamp) -> Option<i64> {
    let off_s = now.micros_since(beat.sent_at).abs() / MICROS_PER_SECOND;
    (off_s > CLOCK_OFF_S_MAX).then_some(off_s)
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| format!("{}{}.", first.to_uppercase(), letters.as_str())).unwrap_or_default()
}

/// Stores the last word of an agent that is at work. One about an order that has ended, or under another fence, is late.
/// The first word about each step is told to everybody who follows the order; steps only go on, so there are few of them.
fn note_progress(
    db: &Db,
    ports: &Ports,
    node: &NodeId,
    progress: TaskProgress,
    now: Timestamp,
) -> Result<(), NodeRefusal> {
    let (id, ports) = (node.clone(), ports.clone());
    db.write(move |tx| {
        let Some(task) = tasks::get(tx, &progress.task_id)? else { return Ok(()) };
        if task.node_id != id && !model::planted!(NodeActsForAnother) {
            return Err(NodeRefusal::WrongNode);
        }
        if task.fence != progress.fence || task.state.is_terminal() {
            return Ok(());
        }
        let before = Said::of(&task);
        let same = before.as_ref().filter(|before| before.progress.step == progress.progress.step);
        let said = Said { since: same.map_or(now, |before| before.since), progress: progress.progress.clone() };
        let text = crate::driver::write_json(&said)?;
        let is_next = said.rank().is_some() && said.rank() > before.as_ref().and_then(Said::rank);
        if is_next && task.served.is_some() {
            let mut bits = || ports.id_bits();
            let step = TimelineStep::of(said.progress.step).map_or("", TimelineStep::as_str);
            tasks::begin_step(tx, &mut Stamp::new(now, &mut bits), &task, (step, &text))?;
        } else {
            tasks::progress(tx, &task.id, &id, &text)?;
        }
        if let Some(deadline) = longer(&task, now) {
            tasks::wait_longer(tx, &task.id, deadline)?;
        }
        Ok(())
    })
}

/// An agent that says it is at work is waited for this much longer: a large disk takes its time to be written and wiped.
const AT_WORK_S: i64 = 300;
/// But not longer than this in all: an agent that is at work for ever is not at work.
const AT_WORK_S_MAX: i64 = 24 * 3600;

/// Until when an order is waited for whose agent is at work now; none while its deadline is far enough away.
fn longer(task: &TaskRow, now: Timestamp) -> Option<Timestamp> {
    let (wanted, last) = (now.plus_seconds(AT_WORK_S), task.created.plus_seconds(AT_WORK_S_MAX));
    let soon = task.deadline <= now.plus_seconds(AT_WORK_S / 2);
    Some(wanted.min(last)).filter(|deadline| soon && *deadline > task.deadline)
}

// Past its deadline an order is as good as given up; the driver says so at its next look.
fn open_orders(tx: &mut Tx<'_>, node: &NodeId, now: Timestamp) -> Result<Vec<TaskRow>, StoreError> {
    let limit = i64::try_from(TASKS_OFFERED_MAX).unwrap_or(i64::MAX);
    let mut open = tasks::open_for_node(tx, node, limit)?;
    open.retain(|task| task.deadline > now);
    Ok(open)
}
