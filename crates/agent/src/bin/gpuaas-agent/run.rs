//! `run`: the loop around the agent's steps. Steps wait for the journal's disk, so they run on a thread of their own; work on the
//! host has threads of its own again, and wakes the loop when it has ended or has something to tell.
//!
//! One call is in flight at a time, on one connection: it carries what the agent has to say, and the control plane holds its
//! answer back until there is an order or the next heartbeat is due. What comes up meanwhile is said on a second connection,
//! so that an order's end is heard at once and the first goes on waiting for the next order. Losing the control plane stops
//! nothing that was begun; it is called again and again, ever more slowly.

use crate::{
    Outcome,
    args::Join,
    backoff::{Backoff, draw},
    join::{self, client},
    streams::{dialer, streams},
};
use agent::{
    Agent, FileJournal, Hands, Identity, JournalFault, POLL_S, PROGRESS_S, Survives,
    clock::now,
    enrollment::renew,
    hands::ORDERS_AT_ONCE_MAX,
    real::RealHost,
    state::{Enrolled, StateDir},
    streams::{Dialer, Streams},
    wire::{CallFault, Client, credential::Credential},
};
use api::node_plane::{FromControl, MESSAGES_BYTES_MAX, MESSAGES_MAX, MESSAGES_PATH, ToControl, WAIT_S_MAX};
use model::Timestamp;
use std::{process::ExitCode, sync::Arc, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Notify,
    task::spawn_blocking,
    time::{Instant, sleep, sleep_until},
};

// Steps in a row before the control plane is told. Each makes at most one durable write.
const STEPS_MAX: usize = 256;
// While the host is at work there may be news of it as often as this.
const NEWS: Duration = Duration::from_secs(PROGRESS_S.unsigned_abs());
// A call that was held longer than this is followed by the next at once; one that was not keeps to the usual pace.
const HELD_MIN: Duration = Duration::from_millis(100);
const POLL: Duration = Duration::from_secs(POLL_S.unsigned_abs());
// The messages of one request, well below what the control plane reads.
const BATCH_BYTES_MAX: usize = MESSAGES_BYTES_MAX / 2;

/// Runs until a signal comes.
pub(crate) async fn run(join: Join) -> Outcome {
    let signals = signal(SignalKind::terminate()).and_then(|end| Ok((end, signal(SignalKind::interrupt())?)));
    let (mut terminate, mut interrupt) = signals.map_err(|error| format!("signals: {error}"))?;
    tokio::select! {
        _ = terminate.recv() => tracing::info!("ended by SIGTERM"),
        _ = interrupt.recv() => tracing::info!("ended by SIGINT"),
        why = run_on(&join) => return Err(why),
    }
    Ok(ExitCode::SUCCESS)
}

// Returns only with the reason why it cannot go on.
async fn run_on(join: &Join) -> String {
    let begun = StateDir::open(&join.state_dir).and_then(|state| state.lock().map(|lock| (state, lock)));
    let (state, _lock) = match begun {
        Ok(begun) => begun,
        Err(fault) => return fault.to_string(),
    };
    loop {
        let enrolled = match state.enrolled() {
            Ok(Some(enrolled)) => Ok(enrolled),
            Ok(None) => join::traded_in_the_end(join, &state).await,
            Err(fault) => Err(fault.to_string()),
        };
        let worked = match enrolled.and_then(|enrolled| Node::start(join, &state, enrolled)) {
            Ok(mut node) => {
                let worked = node.work().await;
                node.desk.end().await;
                worked
            }
            Err(why) => return why,
        };
        if let Err(why) = worked {
            return why;
        }
    }
}

/// An enrolled host at work.
struct Node<'a> {
    join: &'a Join,
    state: &'a StateDir,
    enrolled: Enrolled,
    credential: Credential,
    session: String,
    line: Client,
    // For what comes up while the call on the first is held.
    aside: Client,
    desk: Desk<'a>,
    streams: Streams,
    dialer: Dialer,
    renew_at: Timestamp,
    renewals: Backoff,
    calls: Backoff,
    is_heard: Option<bool>,
}

/// The agent, what it is to hear next, and when it next has something to say.
struct Desk<'a> {
    state: &'a StateDir,
    agent: Option<Agent<RealHost, FileJournal>>,
    heartbeat: Duration,
    wake: Arc<Notify>,
    inbox: Vec<FromControl>,
    beat_at: Instant,
    poll_at: Instant,
}

/// Why what was said brought no answer.
enum Unsaid {
    /// The control plane was not reached, or said no.
    Call(CallFault),
    /// The agent cannot go on.
    Over(String),
}

impl<'a> Node<'a> {
    fn start(join: &'a Join, state: &'a StateDir, enrolled: Enrolled) -> Result<Self, String> {
        let credential = enrolled.credential().map_err(|fault| fault.to_string())?;
        let session = format!("{:016x}{:016x}", random()?, random()?);
        let line = client(join, &enrolled, &credential, &session)?;
        let aside = client(join, &enrolled, &credential, &session)?;
        let desk = Desk::open(join, state, &enrolled, &credential, &session)?;
        let dialer = dialer(join, &enrolled, &credential, &session)?;
        Ok(Self {
            join,
            state,
            renew_at: credential.renew_at(permille()),
            enrolled,
            credential,
            session,
            line,
            aside,
            desk,
            streams: streams(join, &dialer.session),
            dialer,
            renewals: Backoff::default(),
            calls: Backoff::default(),
            is_heard: None,
        })
    }

    // Ends well when the host has to start again under a new identity.
    async fn work(&mut self) -> Result<(), String> {
        loop {
            self.renew().await;
            let said = self.desk.steps().await?;
            if said.is_empty() {
                tokio::select! {
                    () = sleep_until(self.desk.poll_at) => (),
                    () = self.desk.news() => (),
                }
                continue;
            }
            match self.exchange(said).await {
                Ok(()) => self.heard(),
                Err(Unsaid::Over(why)) => return Err(why),
                Err(Unsaid::Call(fault)) => {
                    self.unheard(&fault);
                    if fault.is_refusal() && self.enroll_again().await {
                        return Ok(());
                    }
                    self.rest().await?;
                }
            }
        }
    }

    // Waits before the next call. What was begun goes on meanwhile; what the agent says about it is said again later.
    async fn rest(&mut self) -> Result<(), String> {
        let until = Instant::now() + self.calls.next();
        loop {
            tokio::select! {
                () = sleep_until(until) => return Ok(()),
                () = self.desk.news() => drop(self.desk.steps().await?),
            }
        }
    }

    // Says it in as many requests as it takes; only the last may be held back.
    async fn exchange(&mut self, said: Vec<ToControl>) -> Result<(), Unsaid> {
        let asks = said.iter().any(|message| matches!(message, ToControl::Poll(_)));
        // Rounded up: one that came back a moment before the next heartbeat would be asked twice for each.
        let until_beat = self.desk.beat_at.saturating_duration_since(Instant::now()).as_millis().div_ceil(1000);
        let until_beat = u64::try_from(until_beat).unwrap_or(WAIT_S_MAX);
        // Until it is known that the node is heard, no answer is held back.
        let may_wait = asks && self.is_heard == Some(true);
        let wait_s = if may_wait { until_beat.min(WAIT_S_MAX) } else { 0 };
        let batches = batches(said);
        let last = batches.len().saturating_sub(1);
        let begun = Instant::now();
        for (at, batch) in batches.into_iter().enumerate() {
            self.call(&batch, if at == last { wait_s } else { 0 }).await?;
        }
        if wait_s > 0 && begun.elapsed() >= HELD_MIN {
            self.desk.poll_soon();
        }
        Ok(())
    }

    // One call. While it is held, steps go on, and what they say goes another way.
    async fn call(&mut self, batch: &[ToControl], wait_s: u64) -> Result<(), Unsaid> {
        let path = format!("{MESSAGES_PATH}?wait_s={wait_s}");
        let call = self.line.post::<Vec<FromControl>>(&path, &batch, Duration::from_secs(wait_s));
        tokio::pin!(call);
        loop {
            tokio::select! {
                answered = &mut call => {
                    let answers = answered.map_err(Unsaid::Call)?;
                    self.streams.hear(&answers, &self.dialer);
                    self.desk.inbox.extend(answers);
                    return Ok(());
                }
                () = self.desk.news(), if wait_s > 0 => {
                    let mut said = self.desk.steps().await.map_err(Unsaid::Over)?;
                    // The call that is held asks already.
                    said.retain(|message| !matches!(message, ToControl::Poll(_)));
                    for batch in batches(said) {
                        match self.aside.post::<Vec<FromControl>>(MESSAGES_PATH, &batch, Duration::ZERO).await {
                            Ok(answers) => {
                                self.streams.hear(&answers, &self.dialer);
                                self.desk.inbox.extend(answers);
                            }
                            // Answers are said again until they are heard; the call that is held will tell what is wrong.
                            Err(fault) => tracing::debug!(%fault, "the control plane did not hear what came up"),
                        }
                    }
                }
            }
        }
    }

    // Half of a certificate's life is left for trying, so a failure is no reason to stop.
    async fn renew(&mut self) {
        if now() < self.renew_at {
            return;
        }
        let renewed = renew(self.state, &mut self.line, &self.enrolled).await.map_err(|fault| fault.to_string());
        let adopted = renewed.and_then(|enrolled| {
            let credential = enrolled.credential().map_err(|fault| fault.to_string())?;
            let line = client(self.join, &enrolled, &credential, &self.session)?;
            let aside = client(self.join, &enrolled, &credential, &self.session)?;
            self.dialer = dialer(self.join, &enrolled, &credential, &self.session)?;
            Ok((enrolled, credential, line, aside))
        });
        match adopted {
            Ok((enrolled, credential, line, aside)) => {
                (self.enrolled, self.credential, self.line, self.aside) = (enrolled, credential, line, aside);
                self.renew_at = self.credential.renew_at(permille());
                self.renewals.reset();
                tracing::info!(until = %self.credential.not_after(), "the certificate was renewed");
            }
            Err(fault) => {
                let wait = self.renewals.next();
                self.renew_at = now().plus_micros(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX));
                tracing::warn!(fault, until = %self.credential.not_after(), "the certificate was not renewed");
            }
        }
    }

    // The control plane does not want this identity. An operator who made a new token for this host does.
    async fn enroll_again(&mut self) -> bool {
        if self.join.new_token(&self.enrolled).is_none() {
            return false;
        }
        match join::traded(self.join, self.state).await {
            Ok(enrolled) => {
                tracing::info!(node_id = %enrolled.node_id, "enrolled again");
                true
            }
            Err(fault) => {
                tracing::error!(%fault, "not enrolled again");
                false
            }
        }
    }

    fn heard(&mut self) {
        self.calls.reset();
        if self.is_heard.replace(true) != Some(true) {
            tracing::info!("the control plane hears this node");
        }
    }

    fn unheard(&mut self, fault: &CallFault) {
        self.is_heard = Some(false);
        if now() > self.credential.not_after() {
            tracing::error!(%fault, ended = %self.credential.not_after(), "the certificate has ended; {NEW_TOKEN}");
        } else if fault.is_refusal() {
            tracing::error!(%fault, "the control plane refuses this node; {NEW_TOKEN}");
        } else {
            tracing::warn!(%fault, "the control plane does not hear this node");
        }
    }
}

impl<'a> Desk<'a> {
    fn open(
        join: &Join,
        state: &'a StateDir,
        enrolled: &Enrolled,
        credential: &Credential,
        session: &str,
    ) -> Result<Self, String> {
        let node_id = &enrolled.node_id;
        let identity = Identity::from_secret(node_id.clone(), credential.key().secret());
        let opened = FileJournal::open(&state.journal_path(), Survives::PowerLoss);
        let started = opened
            .and_then(|journal| Agent::start(identity, session.to_owned(), join.host_with_hands(session), journal));
        let wake = Arc::new(Notify::new());
        let woken = Arc::clone(&wake);
        let hands = Hands::threads(ORDERS_AT_ONCE_MAX, Arc::new(move || woken.notify_one()));
        let agent = started.map_err(|fault| journal_fault(&fault, state))?;
        let agent = agent.with_heartbeat_s(enrolled.heartbeat_s.into()).with_hands(hands);
        tracing::info!(%node_id, boot = agent.boot(), server = %join.server()?, "at work");
        Ok(Self {
            state,
            agent: Some(agent),
            heartbeat: Duration::from_secs(enrolled.heartbeat_s.into()),
            wake,
            inbox: vec![],
            beat_at: Instant::now(),
            poll_at: Instant::now(),
        })
    }

    // Comes back when a step may have something to do: an answer came, work on the host ended or tells how far it is.
    async fn news(&self) {
        if !self.inbox.is_empty() {
            return;
        }
        let at_work = self.agent.as_ref().is_some_and(Agent::is_at_work);
        tokio::select! {
            () = self.wake.notified() => (),
            () = sleep(NEWS), if at_work => (),
        }
    }

    // Steps until there is nothing left to do without hearing from the control plane or from the host.
    async fn steps(&mut self) -> Result<Vec<ToControl>, String> {
        let mut said = vec![];
        for _ in 0..STEPS_MAX {
            said.extend(self.step().await?);
            if !self.agent.as_ref().is_some_and(Agent::is_busy) {
                break;
            }
        }
        Ok(said)
    }

    async fn step(&mut self) -> Result<Vec<ToControl>, String> {
        let mut agent = self.agent.take().ok_or("the agent ended in the middle of a step")?;
        let inbox = std::mem::take(&mut self.inbox);
        let stepping = spawn_blocking(move || {
            let said = agent.step(now(), inbox);
            (agent, said)
        });
        let (agent, said) = stepping.await.map_err(|error| format!("a step failed: {error}"))?;
        for message in &said {
            match message {
                ToControl::Heartbeat(_) => self.beat_at = Instant::now() + self.heartbeat,
                ToControl::Poll(_) => self.poll_at = Instant::now() + POLL,
                ToControl::Result(answer) => {
                    let failure = answer.result.failure.map_or("done", |failure| failure.as_str());
                    tracing::info!(task_id = %answer.result.task_id, result = failure, detail = answer.result.detail, "answered");
                }
                ToControl::Progress(said) => {
                    tracing::debug!(task_id = %said.task_id, progress = %said.progress, "at work");
                }
            }
        }
        if let Some(fault) = agent.halted() {
            return Err(journal_fault(fault, self.state));
        }
        self.agent = Some(agent);
        Ok(said)
    }

    fn poll_soon(&mut self) {
        self.poll_at = Instant::now();
        self.agent.iter_mut().for_each(Agent::poll_soon);
    }

    // Before another agent starts on the same journal, whatever this one began has to have ended.
    async fn end(&mut self) {
        if let Some(agent) = self.agent.take() {
            let _ = spawn_blocking(move || agent.rest()).await;
        }
    }
}

const NEW_TOKEN: &str = "an operator has to make a new enrollment token for it";

fn batches(said: Vec<ToControl>) -> Vec<Vec<ToControl>> {
    let mut batches: Vec<Vec<ToControl>> = vec![];
    let mut room = 0;
    for message in said {
        let bytes = serde_json::to_vec(&message).map_or(0, |json| json.len());
        if bytes > room || batches.last().is_none_or(|batch| batch.len() >= MESSAGES_MAX) {
            batches.push(vec![]);
            room = BATCH_BYTES_MAX;
        }
        room = room.saturating_sub(bytes);
        if let Some(batch) = batches.last_mut() {
            batch.push(message);
        }
    }
    batches
}

fn journal_fault(fault: &JournalFault, state: &StateDir) -> String {
    let hint = match fault {
        JournalFault::OtherNode(_) => "; it was enrolled as another node than before: start it on an empty --state-dir",
        JournalFault::Damaged(_) => {
            "; what was promised is not known: drain the node, then start it on an empty --state-dir"
        }
        _ => "",
    };
    format!("{}: {fault}{hint}", state.journal_path().display())
}

fn random() -> Result<u64, String> {
    getrandom::u64().map_err(|error| format!("no random bits: {error}"))
}

fn permille() -> i64 {
    i64::try_from(draw(1000)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::node_plane::Heartbeat;
    use model::NodeId;

    fn poll(boot: i64) -> ToControl {
        ToControl::Poll(api::node_plane::Poll { node_id: NodeId::from_parts(Timestamp::from_micros(0), [1; 10]), boot })
    }

    #[test]
    fn messages_are_cut_into_requests_that_are_read_and_none_is_lost() {
        let large = |boot| {
            let ToControl::Poll(poll) = poll(boot) else { return poll(boot) };
            let session = "x".repeat(BATCH_BYTES_MAX / 2);
            ToControl::Heartbeat(Heartbeat { node_id: poll.node_id, boot, session, sent_at: Timestamp::from_micros(0) })
        };
        let said = vec![poll(1), large(2), large(3), poll(4), large(5)];
        let cut = batches(said.clone());
        assert_eq!(cut.len(), 3);
        assert_eq!(cut.concat(), said);
        let small: Vec<ToControl> = (0..200).map(poll).collect();
        assert_eq!(batches(small.clone()).iter().map(Vec::len).collect::<Vec<_>>(), [MESSAGES_MAX, 200 - MESSAGES_MAX]);
        assert!(batches(vec![]).is_empty());
    }
}
