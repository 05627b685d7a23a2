//! One host of a world with its agent. The host and the journal stay; the agent's process comes and goes.

use crate::{
    dice::Dice,
    fleet::HostPlan,
    host::{HostWeather, Machine, Shows, SimHost},
    journal::WorldJournal,
};
use agent::{Agent, MemoryJournal};
use api::node_plane::{FromControl, ToControl};
use model::{AllocationId, NodeId, Timestamp};

/// A host with its agent.
pub struct Seat {
    /// What it is.
    pub plan: HostPlan,
    /// Its id.
    pub node_id: NodeId,
    /// The host.
    pub host: SimHost,
    journal: MemoryJournal,
    agent: Option<Agent<SimHost, WorldJournal>>,
    inbox: Vec<FromControl>,
    idle_until: u64,
    // How often its agent was started: each start is a session of its own.
    starts: u64,
}

impl Seat {
    /// A host whose agent is up.
    pub fn new(plan: HostPlan, weather: HostWeather, dice: Dice) -> Self {
        let node_id = plan.node_id();
        let shows = Shows::Plan(Box::new(plan.clone()));
        let host = SimHost::new(node_id.clone(), Machine::default(), weather, dice, shows);
        let (journal, inbox) = (MemoryJournal::new(), vec![]);
        let mut seat = Self { plan, node_id, host, journal, agent: None, inbox, idle_until: 0, starts: 0 };
        seat.start();
        seat
    }

    /// Starts the agent from its journal.
    pub fn start(&mut self) {
        let watched = WorldJournal::new(self.journal.clone(), self.host.clone());
        self.starts += 1;
        let session = format!("{}-{}", self.plan.name, self.starts);
        let start = |journal| Agent::start(self.plan.identity(), session, self.host.clone(), journal);
        self.agent = watched.and_then(start).ok();
    }

    /// Whether the agent is up and not kept by anything.
    pub fn acts(&self, step: u64) -> bool {
        self.agent.is_some() && step >= self.idle_until
    }

    /// Whether the agent is down and may start again.
    pub fn may_start(&self, step: u64) -> bool {
        self.agent.is_none() && step >= self.idle_until
    }

    /// The agent's process dies with all that it heard.
    pub fn crash(&mut self, until: u64) {
        self.agent = None;
        self.inbox.clear();
        self.idle_until = until;
    }

    /// The agent stands still; what arrives waits for it.
    pub fn stand_still(&mut self, until: u64) {
        self.idle_until = until;
    }

    /// Power goes off and on again. Says whose guests are lost.
    pub fn reboot(&mut self, until: u64) -> Vec<AllocationId> {
        self.crash(until);
        self.host.reboot()
    }

    /// From now on nothing keeps the agent, and nothing breaks.
    pub fn heal(&mut self) {
        self.idle_until = 0;
        self.host.heal();
    }

    /// A message arrives. Nobody hears it while the agent is down.
    pub fn receive(&mut self, message: FromControl) {
        if self.agent.is_some() {
            self.inbox.push(message);
        }
    }

    /// One step of the agent.
    pub fn step(&mut self, step: u64, now: Timestamp) -> Vec<ToControl> {
        let Some(agent) = &mut self.agent else { return vec![] };
        let said = agent.step(now, std::mem::take(&mut self.inbox));
        let busy = self.host.take_busy_steps();
        if busy > 0 {
            self.idle_until = step + busy;
        }
        said
    }

    /// Whether every order that was heard is answered and every answer acknowledged.
    pub fn is_idle(&self) -> bool {
        self.agent.as_ref().is_some_and(Agent::is_idle)
    }
}
