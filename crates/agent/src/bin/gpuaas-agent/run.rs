//! `run`: the loop around the agent's steps. Steps block (a disk, a look at the host), so they run on a thread of their own;
//! everything else waits on this one.
//!
//! One request is in flight at a time, on one connection: it carries what the agent has to say, and the control plane holds its
//! answer back until there is an order or the next heartbeat is due. When a step takes long, heartbeats go out beside it.
//! Losing the control plane stops nothing that was begun; it is called again and again, ever more slowly.

use crate::{
    Outcome,
    args::Join,
    backoff::{Backoff, draw},
    join,
};
use agent::{
    Agent, FileJournal, Identity, JournalFault, POLL_S, Survives,
    clock::now,
    enrollment::renew,
    real::RealHost,
    state::{Enrolled, StateDir},
    wire::{CallFault, Client, credential::Credential},
};
use api::node_plane::{
    FromControl, Heartbeat, MESSAGES_BYTES_MAX, MESSAGES_MAX, MESSAGES_PATH, TaskProgress, ToControl, WAIT_S_MAX,
};
use model::{NodeId, TaskId, Timestamp, task::Fence};
use std::{process::ExitCode, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::spawn_blocking,
    time::{Instant, sleep, sleep_until},
};

// Steps in a row before the control plane is told. Each makes at most one durable write.
const STEPS_MAX: usize = 256;
// A step that takes less has its heartbeat in what it says.
const LONG_STEP: Duration = Duration::from_secs(1);
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
            Ok(mut node) => node.work().await,
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
    client: Client,
    agent: Option<Agent<RealHost, FileJournal>>,
    node_id: NodeId,
    boot: i64,
    session: String,
    heartbeat: Duration,
    inbox: Vec<FromControl>,
    beat_at: Instant,
    poll_at: Instant,
    renew_at: Timestamp,
    renewals: Backoff,
    calls: Backoff,
    is_heard: Option<bool>,
}

impl<'a> Node<'a> {
    fn start(join: &'a Join, state: &'a StateDir, enrolled: Enrolled) -> Result<Self, String> {
        let credential = enrolled.credential().map_err(|fault| fault.to_string())?;
        let pin = join.pin(Some(&enrolled))?;
        let session = format!("{:016x}{:016x}", random()?, random()?);
        let client = Client::new(join.server()?, pin, Some(&credential)).map_err(|fault| fault.to_string())?;
        let client = client.with_session(&session);
        let node_id = enrolled.node_id.clone();
        let identity = Identity::from_secret(node_id.clone(), credential.key().secret());
        let opened = FileJournal::open(&state.journal_path(), Survives::PowerLoss);
        let started = opened.and_then(|journal| Agent::start(identity, session.clone(), join.host(), journal));
        let agent =
            started.map_err(|fault| journal_fault(&fault, state))?.with_heartbeat_s(enrolled.heartbeat_s.into());
        let boot = agent.boot();
        tracing::info!(%node_id, boot, server = %join.server()?, "at work");
        Ok(Self {
            join,
            state,
            renew_at: credential.renew_at(permille()),
            heartbeat: Duration::from_secs(enrolled.heartbeat_s.into()),
            enrolled,
            credential,
            client,
            agent: Some(agent),
            node_id,
            boot,
            session,
            inbox: vec![],
            beat_at: Instant::now(),
            poll_at: Instant::now(),
            renewals: Backoff::default(),
            calls: Backoff::default(),
            is_heard: None,
        })
    }

    // Ends well when the host has to start again under a new identity.
    async fn work(&mut self) -> Result<(), String> {
        loop {
            self.renew().await;
            let said = self.steps().await?;
            if said.is_empty() {
                sleep_until(self.poll_at).await;
                continue;
            }
            match self.exchange(said).await {
                Ok(()) => self.heard(),
                Err(fault) => {
                    self.unheard(&fault);
                    if fault.is_refusal() && self.enroll_again().await {
                        return Ok(());
                    }
                    // What was begun goes on afterwards, heard or not.
                    sleep(self.calls.next()).await;
                }
            }
        }
    }

    // Steps until there is nothing left to do without hearing from the control plane.
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
        let open = agent.book().open().values().next().map(|open| (open.task.id.clone(), open.task.fence));
        let begun = Instant::now();
        let mut stepping = spawn_blocking(move || {
            let said = agent.step(now(), inbox);
            (agent, said)
        });
        let (agent, said) = loop {
            tokio::select! {
                stepped = &mut stepping => break stepped.map_err(|error| format!("a step failed: {error}"))?,
                () = sleep_until(self.beat_at.max(begun + LONG_STEP)) => self.beat_beside(open.as_ref(), begun).await,
            }
        };
        for message in &said {
            match message {
                ToControl::Heartbeat(_) => self.beat_at = Instant::now() + self.heartbeat,
                ToControl::Poll(_) => self.poll_at = Instant::now() + POLL,
                ToControl::Result(answer) => {
                    let failure = answer.result.failure.map_or("done", |failure| failure.as_str());
                    tracing::info!(task_id = %answer.result.task_id, result = failure, detail = answer.result.detail, "answered");
                }
                ToControl::Progress(_) => (),
            }
        }
        if let Some(fault) = agent.halted() {
            return Err(journal_fault(fault, self.state));
        }
        self.agent = Some(agent);
        Ok(said)
    }

    // While a step takes long: the node is alive, and this is what it is at.
    async fn beat_beside(&mut self, open: Option<&(TaskId, Fence)>, begun: Instant) {
        self.beat_at = Instant::now() + self.heartbeat;
        let (node_id, boot, session) = (self.node_id.clone(), self.boot, self.session.clone());
        let mut said =
            vec![ToControl::Heartbeat(Heartbeat { node_id: node_id.clone(), boot, session, sent_at: now() })];
        said.extend(open.map(|(task_id, fence)| {
            let step = format!("at it for {} s", begun.elapsed().as_secs());
            let (task_id, fence) = (task_id.clone(), *fence);
            ToControl::Progress(TaskProgress { node_id, boot, task_id, fence, percent: 0, step })
        }));
        match self.exchange(said).await {
            Ok(()) => self.heard(),
            Err(fault) => self.unheard(&fault),
        }
    }

    // Says it in as many requests as it takes; only the last may be held back.
    async fn exchange(&mut self, said: Vec<ToControl>) -> Result<(), CallFault> {
        let asks = said.iter().any(|message| matches!(message, ToControl::Poll(_)));
        // Rounded up: one that came back a moment before the next heartbeat would be asked twice for each.
        let until_beat = self.beat_at.saturating_duration_since(Instant::now()).as_millis().div_ceil(1000);
        let until_beat = u64::try_from(until_beat).unwrap_or(WAIT_S_MAX);
        // Until it is known that the node is heard, no answer is held back.
        let may_wait = asks && self.is_heard == Some(true);
        let wait_s = if may_wait { until_beat.min(WAIT_S_MAX) } else { 0 };
        let batches = batches(said);
        let last = batches.len().saturating_sub(1);
        for (at, batch) in batches.into_iter().enumerate() {
            let wait_s = if at == last { wait_s } else { 0 };
            let path = format!("{MESSAGES_PATH}?wait_s={wait_s}");
            let answers: Vec<FromControl> = self.client.post(&path, &batch, Duration::from_secs(wait_s)).await?;
            self.inbox.extend(answers);
        }
        Ok(())
    }

    // Half of a certificate's life is left for trying, so a failure is no reason to stop.
    async fn renew(&mut self) {
        if now() < self.renew_at {
            return;
        }
        let renewed = renew(self.state, &mut self.client, &self.enrolled).await.map_err(|fault| fault.to_string());
        let adopted = renewed.and_then(|enrolled| {
            let credential = enrolled.credential().map_err(|fault| fault.to_string())?;
            let pin = self.join.pin(Some(&enrolled))?;
            let client = Client::new(self.join.server()?, pin, Some(&credential)).map_err(|fault| fault.to_string())?;
            Ok((enrolled, credential, client.with_session(&self.session)))
        });
        match adopted {
            Ok((enrolled, credential, client)) => {
                (self.enrolled, self.credential, self.client) = (enrolled, credential, client);
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
