//! The simulated fleet for `gpuaas dev`: the people and hosts of [`fleet::DEV`](crate::fleet::DEV), kept in a folder beside
//! the store, and one thread that runs all agents in real time.
//!
//! The agents are the real ones; only the hosts under them are simulated. Their journals and what is on the hosts are kept in
//! files, so that guests are still there when the process is stopped and started again. Changes take seconds, so that a
//! person can watch them.

use crate::{
    dice::Dice,
    fleet::{DEV, HostPlan, OPERATOR},
    host::{HostWeather, Machine, Shows, SimHost},
    journal::Watched,
    metal::{Metal, OnIt, OwnMachine, away_until, kept_key},
    seed::{Person, SeedFault, order_discoveries, refresh, seed},
};
use agent::{Agent, FileJournal, Identity, Step, Survives, wire::credential::NodeKey};
use api::node_plane::{FromControl, TaskProgress, ToControl};
use control::{
    Ports,
    background::Background,
    front_door::{FrontDoor, FrontDoorConfig},
    node_plane::{NodePlane, NodeRefusal},
};
use model::{
    TaskId, Timestamp,
    identity::Role,
    proof::WipeStep,
    runtime::{WorkProgress, WorkStep},
};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use store::{Db, StoreError, principals};

/// Who can sign in to a development control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevSeed {
    /// Everybody with a token that works, the operator first.
    pub people: Vec<Person>,
}

impl DevSeed {
    /// Somebody in this role.
    pub fn in_role(&self, role: Role) -> Option<&Person> {
        self.people.iter().find(|person| person.role == role)
    }
}

const PEOPLE: &str = "people.json";

/// Fills a store for development, once. Later runs find everything there and make only tokens that no longer work.
pub fn seed_dev(db: &Db, ports: &Ports, folder: &Path) -> Result<DevSeed, SeedFault> {
    let file = |error| SeedFault::File { path: folder.display().to_string(), error };
    fs::create_dir_all(folder).map_err(file)?;
    let path = folder.join(PEOPLE);
    let known = people(&path)?;
    let filled: bool = db.read(|tx| Ok::<_, StoreError>(principals::by_email(tx, OPERATOR)?.is_some()))?;
    let door = FrontDoor::new(ports.clone(), FrontDoorConfig::default())?;
    let people = if filled && !known.is_empty() {
        refresh(db, &door, ports, &known)?
    } else {
        let people = seed(db, &door, ports, &DEV, &known)?.people;
        order_discoveries(db, &door, ports, &DEV, &people)?;
        people
    };
    let text = serde_json::to_vec_pretty(&people).map_err(|error| file(error.into()))?;
    replace_private(&path, &text).map_err(file)?;
    Ok(DevSeed { people })
}

// The file holds secrets: nobody but its owner reads it, from before anything is in it.
pub(crate) fn replace_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    if let Err(error) = fs::remove_file(&beside)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?.write_all(contents)?;
    fs::rename(&beside, path)
}

fn people(path: &Path) -> Result<Vec<Person>, SeedFault> {
    match fs::read(path) {
        // A file that cannot be read is as good as none: the tokens are made again.
        Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(SeedFault::File { path: path.display().to_string(), error }),
    }
}

/// How long changes take on the simulated hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Starting a guest.
    pub provision_ms: i64,
    /// Stopping one.
    pub stop_ms: i64,
    /// One step of wiping one slot.
    pub wipe_ms: i64,
    /// What guests take to save what they need once they are told that they will be stopped; for ever when absent.
    pub checkpoint_ms: Option<i64>,
}

impl Default for Pace {
    /// Slow enough to watch, quick enough to wait for.
    fn default() -> Self {
        Self { provision_ms: 3000, stop_ms: 800, wipe_ms: 150, checkpoint_ms: None }
    }
}

impl Pace {
    // How long the thread rests between two steps of a busy agent; hosts that take no time are not waited for.
    fn tick(self) -> Duration {
        let instant = self.provision_ms == 0 && self.stop_ms == 0 && self.wipe_ms == 0;
        if instant { Duration::from_millis(1) } else { TICK_BUSY }
    }

    fn takes_ms(self, step: &Step) -> i64 {
        match step {
            Step::Provision => self.provision_ms,
            Step::StopGuest { .. } => self.stop_ms,
            Step::Wipe { .. } => self.wipe_ms,
        }
    }
}

/// Starts every agent of the development fleet in one thread.
pub fn spawn_fleet(
    db: Db,
    node_plane: Arc<NodePlane>,
    ports: Ports,
    folder: &Path,
    pace: Pace,
) -> io::Result<Background> {
    spawn_fleet_on(db, node_plane, ports, folder, pace, None)
}

/// The same, where hosts that are sold whole are machines of a provider.
pub fn spawn_fleet_on(
    db: Db,
    node_plane: Arc<NodePlane>,
    ports: Ports,
    folder: &Path,
    pace: Pace,
    metal: Option<&Metal>,
) -> io::Result<Background> {
    fs::create_dir_all(folder)?;
    let open = |plan: HostPlan| {
        let machine = match metal {
            Some(metal) => OwnMachine::of(&plan, metal, &db).map_err(io::Error::other)?,
            None => None,
        };
        DevHost::open(plan, folder, pace, machine)
    };
    let hosts: io::Result<Vec<DevHost>> = DEV.hosts().into_iter().map(open).collect();
    let mut fleet = Fleet { hosts: hosts?, db, node_plane, ports };
    Background::start("simulated-fleet", move || if fleet.tick() { pace.tick() } else { TICK_IDLE })
}

const TICK_BUSY: Duration = Duration::from_millis(40);
const TICK_IDLE: Duration = Duration::from_millis(400);

struct Fleet {
    hosts: Vec<DevHost>,
    db: Db,
    node_plane: Arc<NodePlane>,
    ports: Ports,
}

impl Fleet {
    // One step of every agent. True while any of them has something to do.
    fn tick(&mut self) -> bool {
        let mut busy = false;
        for host in &mut self.hosts {
            let now = self.ports.now();
            if now < host.busy_until {
                host.report(now, &self.db, &self.node_plane);
            } else if let Err(error) = host.live(now, (&self.db, &self.ports), &self.node_plane) {
                tracing::error!(host = host.plan.name, %error, "a simulated host stopped");
                host.agent = None;
            }
            busy |= host.agent.as_ref().is_some_and(|agent| !agent.is_idle());
        }
        busy
    }
}

type DevAgent = Agent<SimHost, Watched<FileJournal>>;

struct DevHost {
    plan: HostPlan,
    host: SimHost,
    agent: Option<DevAgent>,
    inbox: Vec<FromControl>,
    folder: PathBuf,
    kept: u64,
    busy_until: Timestamp,
    pace: Pace,
    // What the host is at, for which order and since when, how many steps of a wipe are behind it, and what was last said about it.
    doing: Option<(TaskId, Step, Timestamp)>,
    wiped: usize,
    told: Option<Stage>,
    // Where the host can be taken away from under its agent.
    machine: Option<OwnMachine>,
    key: Option<NodeKey>,
}

/// How far a host has come, in the words that a timeline knows.
type Stage = (WorkStep, u8);

// Which part of building a guest is done when, in thousandths of the time it takes.
const CLONED: i64 = 600;
const CONNECTED: i64 = 700;
const BOOTED: i64 = 900;

/// The stage of building a guest after so many thousandths of its time.
fn building(thousandths: i64) -> Stage {
    let (stage, from, to) = match thousandths {
        ..CLONED => (WorkStep::Clone, 0, CLONED),
        CLONED..CONNECTED => (WorkStep::Network, CLONED, CONNECTED),
        CONNECTED..BOOTED => (WorkStep::Start, CONNECTED, BOOTED),
        _ => (WorkStep::SshReady, BOOTED, 1000),
    };
    let percent = (thousandths.clamp(from, to) - from) * 100 / (to - from);
    (stage, u8::try_from(percent).unwrap_or(100))
}

impl DevHost {
    fn open(plan: HostPlan, folder: &Path, pace: Pace, own: Option<OwnMachine>) -> io::Result<Self> {
        let key = if own.is_some() { kept_key(folder, &plan)? } else { None };
        let machine: Machine = match fs::read(machine_path(folder, &plan)) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Machine::default(),
            Err(error) => return Err(error),
        };
        let kept = machine.changes;
        let host = SimHost::new(
            plan.node_id(),
            machine,
            HostWeather::default(),
            Dice::new(0, &plan.name),
            Shows::Plan(Box::new(plan.clone())),
        );
        host.checkpoints_after(pace.checkpoint_ms);
        let (folder, busy_until) = (folder.to_owned(), Timestamp::from_micros(0));
        let mut opened = Self {
            plan,
            host,
            agent: None,
            inbox: vec![],
            folder,
            kept,
            busy_until,
            pace,
            doing: None,
            wiped: 0,
            told: None,
            machine: own,
            key,
        };
        if opened.machine.as_ref().is_none_or(|machine| machine.on_it() == OnIt::Platform) {
            opened.agent = Some(opened.start()?);
        }
        Ok(opened)
    }

    fn journal_path(&self) -> PathBuf {
        self.folder.join(format!("{}.journal", self.plan.name))
    }

    /// One step of the agent, if the machine is the platform's and it is there.
    fn live(&mut self, now: Timestamp, (db, ports): (&Db, &Ports), node_plane: &NodePlane) -> io::Result<()> {
        match self.machine.as_ref().map_or(OnIt::Platform, OwnMachine::on_it) {
            OnIt::Platform => self.step(now, db, node_plane),
            OnIt::Others => {
                self.leave();
                self.busy_until = away_until(now);
                Ok(())
            }
            OnIt::Installed(token) => {
                self.leave();
                // A fresh installation knows nothing of what was before it.
                match fs::remove_file(self.journal_path()) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                self.host.reboot();
                let Some(machine) = &mut self.machine else { return Ok(()) };
                if machine.enroll((db, ports), node_plane, &self.plan, (&self.folder, token))? {
                    self.key = kept_key(&self.folder, &self.plan)?;
                }
                Ok(())
            }
        }
    }

    /// The machine went away from under the agent.
    fn leave(&mut self) {
        (self.agent, self.doing, self.told, self.wiped) = (None, None, None, 0);
        self.inbox.clear();
    }

    fn start(&self) -> io::Result<DevAgent> {
        let journal = FileJournal::open(&self.journal_path(), Survives::Kill).map_err(io::Error::other)?;
        let watched = Watched::new(journal, self.host.clone()).map_err(io::Error::other)?;
        let identity = match &self.key {
            Some(key) => Identity::from_secret(self.plan.node_id(), key.secret()),
            None => self.plan.identity(),
        };
        Agent::start(identity, self.plan.name.clone(), self.host.clone(), watched).map_err(io::Error::other)
    }

    fn step(&mut self, now: Timestamp, db: &Db, node_plane: &NodePlane) -> io::Result<()> {
        // One that halted lets go of its journal before the next opens it.
        let mut agent = match self.agent.take().filter(|agent| agent.halted().is_none()) {
            Some(agent) => agent,
            None => self.start()?,
        };
        let said = agent.step(now, std::mem::take(&mut self.inbox));
        self.agent = Some(agent);
        self.keep()?;
        let news = self.host.take_news();
        let pause_ms: i64 = news.iter().map(|(_, step, _)| self.pace.takes_ms(step)).sum();
        self.busy_until = now.plus_micros(1000 * pause_ms);
        self.begin(news.into_iter().map(|(task_id, step, _)| (task_id, step)).next_back(), now);
        let node_id = self.plan.node_id();
        for message in said {
            match node_plane.handle(db, &node_id, message) {
                Ok(answers) => self.inbox.extend(answers),
                // Said again later; that is what agents do.
                Err(NodeRefusal::Store(error)) => tracing::debug!(host = self.plan.name, %error, "not heard"),
                Err(refusal) => tracing::warn!(host = self.plan.name, %refusal, "refused"),
            }
        }
        for seen in self.host.take_violations() {
            tracing::error!(
                host = self.plan.name,
                rule = seen.invariant,
                subject = seen.subject,
                detail = seen.detail,
                "a rule was broken"
            );
        }
        Ok(())
    }

    fn begin(&mut self, begun: Option<(TaskId, Step)>, now: Timestamp) {
        let Some((task_id, step)) = begun else { return };
        self.wiped = if matches!(step, Step::Wipe { .. }) { self.wiped + 1 } else { 0 };
        (self.doing, self.told) = (Some((task_id, step, now)), self.told.filter(|_| self.wiped > 0));
    }

    /// Tells the control plane how far the host has come, when that is news.
    fn report(&mut self, now: Timestamp, db: &Db, node_plane: &NodePlane) {
        let (Some(agent), Some((task_id, step, begun))) = (&self.agent, &self.doing) else { return };
        let Some(open) = agent.book().open().get(task_id) else { return };
        let passed_us = now.micros_since(*begun).max(0);
        let thousandths = passed_us / self.pace.takes_ms(step).max(1);
        let stage = match step {
            Step::Provision => building(thousandths),
            Step::StopGuest { .. } => (WorkStep::Stop, u8::try_from((thousandths / 10).min(100)).unwrap_or(100)),
            Step::Wipe { .. } => {
                let all = open.task.slots().len() * (WipeStep::ALL.len() - 1);
                (WorkStep::Erase, u8::try_from(self.wiped * 100 / all.max(1)).unwrap_or(100).min(100))
            }
        };
        // Every tenth is enough to watch.
        let news = self.told.is_none_or(|(word, percent)| word != stage.0 || stage.1 >= percent.saturating_add(10));
        if !news {
            return;
        }
        let (node_id, boot) = (self.plan.node_id(), agent.boot());
        let (task_id, fence) = (open.task.id.clone(), open.task.fence);
        let progress = WorkProgress { percent: Some(stage.1), ..WorkProgress::at(stage.0) };
        let said = TaskProgress { node_id: node_id.clone(), boot, task_id, fence, progress };
        if let Err(refusal) = node_plane.handle(db, &node_id, ToControl::Progress(said)) {
            tracing::debug!(host = self.plan.name, %refusal, "progress was not heard");
        }
        self.told = Some(stage);
    }

    // What is on the host is written down whenever it changed.
    fn keep(&mut self) -> io::Result<()> {
        if self.host.changes() == self.kept {
            return Ok(());
        }
        let machine = self.host.machine();
        replace(&machine_path(&self.folder, &self.plan), &serde_json::to_vec(&machine)?)?;
        self.kept = machine.changes;
        Ok(())
    }
}

// After a kill either the old or the new file is there.
fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    fs::write(&beside, contents)?;
    fs::rename(&beside, path)
}

fn machine_path(folder: &Path, plan: &HostPlan) -> PathBuf {
    folder.join(format!("{}.machine.json", plan.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_built_stage_by_stage() {
        let stages: Vec<Stage> = [0, 300, 599, 600, 700, 800, 900, 950, 1000, 5000].map(building).to_vec();
        let words: Vec<&str> = stages.iter().map(|stage| stage.0.as_str()).collect();
        assert_eq!(
            words,
            [
                "clone",
                "clone",
                "clone",
                "network",
                "start",
                "start",
                "ssh_ready",
                "ssh_ready",
                "ssh_ready",
                "ssh_ready"
            ]
        );
        let percents: Vec<u8> = stages.iter().map(|stage| stage.1).collect();
        assert_eq!(percents, [0, 50, 99, 0, 0, 50, 0, 50, 100, 100]);
    }
}
