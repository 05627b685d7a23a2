//! A world that moves step by step: two control-plane replicas over one store, a few hosts with their agents, a network in
//! between, clients in front, and misfortune everywhere. One seed gives one history.
//!
//! ```text
//! a step: time passes ── misfortune ── messages arrive ── agents act ── replicas act ── clients ask ── the auditor looks
//! ```
//!
//! A world has two phases. In the first anything may fail, and nothing wrong may ever be seen. In the second everything
//! works again, and the world must come to rest.

use crate::{
    auditor::Auditor,
    clients::{Call, Clients, Purpose, probe_differs},
    crash::CrashPlan,
    dice::Dice,
    ground::Ground,
    liar,
    network::Network,
    owners::Owners,
    ports::{SimClock, ports},
    replica::{Acted, LEASE_TTL_S, Replica},
    rest::{self, Unrest},
    seat::Seat,
    swarm::Swarm,
    trace::Trace,
};
use api::node_plane::{FromControl, Offer, ToControl};
use control::{
    Clock, Ports,
    front_door::{Request, Response},
};
use model::{NodeId, task::TaskKind, time::MICROS_PER_SECOND};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use store::{CommitFault, Db, StoreError, invariants::Violation, tasks};

/// Steps within which a healed world must come to rest.
pub const REST_STEPS_MAX: u64 = 2500;

/// Why a world could not even begin.
#[derive(Debug, thiserror::Error)]
pub enum WorldFault {
    /// The ground.
    #[error("the ground: {0}")]
    Ground(String),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The front door.
    #[error(transparent)]
    FrontDoor(#[from] control::front_door::BadFrontDoor),
}

#[derive(Debug, Clone)]
enum Letter {
    // With the identity that the sender has proved.
    Up(NodeId, ToControl),
    Down(NodeId, FromControl),
}

/// One world.
pub struct World {
    step: u64,
    swarm: Swarm,
    dice: Dice,
    post: Dice,
    clock: Arc<SimClock>,
    db: Db,
    replicas: Vec<Replica>,
    seats: Vec<Seat>,
    network: Network<Letter>,
    clients: Clients,
    owners: Owners,
    auditor: Auditor,
    trace: Trace,
    healed: bool,
    // What the lying agent's host has said so far, to be said again.
    said: Vec<ToControl>,
    found: Vec<Violation>,
    worked: bool,
    // Many clients asked at once in the last step.
    rushed: bool,
}

// The host whose agent lies, where one does.
const LIAR: usize = 0;
const SAID_MAX: usize = 40;

/// The rule that the leader's picture of the fleet, brought up to date, is what the store has.
pub const PICTURE: &str = "the picture is the store";

impl World {
    /// The world of a seed. `aloud` keeps every line of its trace.
    pub fn new(seed: u64, swarm: Swarm, aloud: bool) -> Result<Self, WorldFault> {
        let ground = Ground::get().map_err(WorldFault::Ground)?;
        let (crash, clock) = (CrashPlan::default(), SimClock::starting(ground.at));
        let db = Db::open_inline_image(&ground.image, Box::new(crash.clone()))?;
        let world: Ports = ports(seed, &clock);
        let mut dice = Dice::new(seed, "world");
        let mut replicas = vec![];
        for name in ["replica-1", "replica-2"] {
            let skew_us = i64::try_from(dice.below(swarm.clock_skew_ms + 1)).unwrap_or(0) * 1000;
            replicas.push(Replica::new(name, &db, (&world, &clock), skew_us, &crash)?);
        }
        let seat = |plan: &crate::fleet::HostPlan| Seat::new(plan.clone(), swarm.hosts, Dice::new(seed, &plan.name));
        let mut trace = Trace::new(aloud);
        trace.note(format!("seed {seed} {swarm:?}"));
        Ok(Self {
            step: 0,
            swarm,
            dice,
            post: Dice::new(seed, "post"),
            clock,
            db,
            replicas,
            seats: ground.hosts.iter().map(seat).collect(),
            network: Network::new(swarm.weather),
            clients: Clients::new(seed, ground),
            owners: Owners::default(),
            auditor: Auditor::default(),
            trace,
            healed: false,
            said: vec![],
            found: vec![],
            worked: false,
            rushed: false,
        })
    }

    /// The store, for planting what the schema would stop.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// What happened.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// How many steps it has made.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// How many times the store was read from end to end.
    pub fn looks(&self) -> u64 {
        self.auditor.looks()
    }

    /// One step. What is seen to be wrong after it comes back.
    pub fn step(&mut self) -> Result<Vec<Violation>, WorldFault> {
        self.step += 1;
        self.worked = false;
        self.time_passes();
        if !self.healed {
            self.misfortune()?;
        }
        self.come_back()?;
        self.post_arrives()?;
        self.agents_act();
        self.replicas_act();
        self.clients_ask()?;
        self.clients_rush()?;
        if !self.healed && self.dice.chance(self.swarm.liar) {
            self.lie()?;
        }
        self.auditor.look(&self.db, &self.seats, &self.clients.promises, &mut self.found)?;
        Ok(std::mem::take(&mut self.found))
    }

    /// From now on everything works.
    pub fn heal(&mut self) {
        self.healed = true;
        self.network.heal();
        self.replicas.iter_mut().for_each(Replica::heal);
        self.seats.iter_mut().for_each(Seat::heal);
        self.trace.note(format!("{} everything works again", self.step));
        self.auditor.look_deep();
    }

    /// The last look: at everything, whether it moved or not.
    pub fn last_look(&mut self) -> Result<Vec<Violation>, WorldFault> {
        self.auditor.look_deep();
        self.auditor.look(&self.db, &self.seats, &self.clients.promises, &mut self.found)?;
        Ok(std::mem::take(&mut self.found))
    }

    /// What has not come to rest yet, if anything.
    pub fn unrest(&self) -> Result<Option<Unrest>, WorldFault> {
        if self.worked {
            return Ok(Some(Unrest::new("the control plane is at work")));
        }
        if !self.clients.is_content() {
            return Ok(Some(Unrest::new("a client has no answer")));
        }
        if let Some(seat) = self.seats.iter().find(|seat| !seat.is_idle()) {
            return Ok(Some(Unrest::new(format!("the agent on {} is at work", seat.plan.name))));
        }
        Ok(rest::unrest(&self.db)?)
    }

    fn time_passes(&mut self) {
        // A healed world has nothing to hurry for: it mostly waits for pauses to end.
        let most_ms = if self.healed { 4000 } else { 1500 };
        let mut us = 1000 * (100 + i64::try_from(self.dice.below(most_ms)).unwrap_or(0));
        if !self.healed && self.dice.chance(self.swarm.clock_jump) {
            us += MICROS_PER_SECOND * (10 + i64::try_from(self.dice.below(300)).unwrap_or(0));
            self.trace.note(format!("{} time jumps by {us} µs", self.step));
        }
        self.clock.advance_us(us);
    }

    fn misfortune(&mut self) -> Result<(), WorldFault> {
        let swarm = self.swarm;
        let until = |dice: &mut Dice, step: u64, most: u64| step + 1 + dice.below(most);
        if self.dice.chance(swarm.replica_crash) {
            let (at, until) = (self.any(self.replicas.len()), until(&mut self.dice, self.step, 15));
            self.trace.note(format!("{} {} dies", self.step, self.replicas[at].name()));
            self.replicas[at].crash(until);
        }
        if self.dice.chance(swarm.zombie) {
            // The leader, more often than not, and long enough for its lease to run out and for another to take over.
            let leader = self.replicas.iter().position(Replica::leads).filter(|_| self.dice.chance(700));
            let at = leader.unwrap_or_else(|| self.any(self.replicas.len()));
            let until = until(&mut self.dice, self.step, 4 * LEASE_TTL_S.unsigned_abs());
            self.trace.note(format!("{} {} stands still", self.step, self.replicas[at].name()));
            self.replicas[at].stand_still(until);
        }
        let any_seat = self.any(self.seats.len());
        let seat = &mut self.seats[any_seat];
        if self.dice.chance(swarm.agent_crash) {
            self.trace.note(format!("{} the agent on {} dies", self.step, seat.plan.name));
            seat.crash(until(&mut self.dice, self.step, 10));
        }
        if self.dice.chance(swarm.agent_pause) {
            self.trace.note(format!("{} the agent on {} stands still", self.step, seat.plan.name));
            seat.stand_still(until(&mut self.dice, self.step, 60));
        }
        if self.dice.chance(swarm.host_reboot) {
            self.trace.note(format!("{} {} loses power", self.step, seat.plan.name));
            let lost = seat.reboot(until(&mut self.dice, self.step, 20));
            self.auditor.powerless.extend(lost);
        }
        Ok(())
    }

    fn come_back(&mut self) -> Result<(), WorldFault> {
        for replica in self.replicas.iter_mut().filter(|replica| replica.may_start(self.step)) {
            replica.start()?;
            self.trace.note(format!("{} {} starts", self.step, replica.name()));
        }
        for seat in self.seats.iter_mut().filter(|seat| seat.may_start(self.step)) {
            seat.start();
            self.trace.note(format!("{} the agent on {} starts", self.step, seat.plan.name));
        }
        Ok(())
    }

    fn any(&mut self, count: usize) -> usize {
        usize::try_from(self.dice.below(count as u64)).unwrap_or(0)
    }

    // The fate of the next action of a replica, which makes about so many commits.
    fn fate(&mut self, commits: u64) -> Option<(u64, CommitFault)> {
        if self.healed || !self.dice.chance(self.swarm.commit_crash) {
            return None;
        }
        let fault = if self.dice.chance(500) { CommitFault::CrashBefore } else { CommitFault::CrashAfter };
        Some((self.dice.below(commits), fault))
    }

    // The fate of a replica's step: now and then it lives and the store refuses one of its commits. After a rush that is
    // more likely one that places many.
    fn fate_of_step(&mut self) -> Option<(u64, CommitFault)> {
        let fate = self.fate(10);
        let (rate, commits) =
            if self.rushed { (4 * self.swarm.commit_refused, 4) } else { (self.swarm.commit_refused, 10) };
        if fate.is_some() || self.healed || !self.dice.chance(rate) {
            return fate;
        }
        Some((self.dice.below(commits), CommitFault::BreaksARule))
    }

    fn bury(&mut self, at: usize, died: bool) {
        if died {
            let until = self.step + 1 + self.dice.below(12);
            self.replicas[at].crash(until);
            self.trace.note(format!("{} {} died at a commit", self.step, self.replicas[at].name()));
            self.auditor.look_deep();
        }
    }

    // A replica that can act, if there is one.
    fn replica(&mut self) -> Option<usize> {
        let up: Vec<usize> = (0..self.replicas.len()).filter(|at| self.replicas[*at].acts(self.step)).collect();
        self.dice.pick(&up).copied()
    }

    fn post_arrives(&mut self) -> Result<(), WorldFault> {
        while let Some(letter) = self.network.receive(self.step) {
            match letter {
                Letter::Down(node, message) => {
                    if let Some(seat) = self.seats.iter_mut().find(|seat| seat.node_id == node) {
                        seat.receive(message);
                    }
                }
                Letter::Up(node, message) => self.replica_hears(&node, message),
            }
        }
        Ok(())
    }

    fn replica_hears(&mut self, node: &NodeId, message: ToControl) {
        let (Some(at), fate) = (self.replica(), self.fate(2)) else { return };
        let line = format!("{} {} hears {} say {}", self.step, self.replicas[at].name(), node, short(&message));
        let Acted { result, died } = self.replicas[at].hear(fate, node, message);
        let Some(result) = result else { return };
        match result {
            Ok(answers) => {
                self.trace.note(format!("{line}: {} answers", answers.len()));
                self.check_offers(node, &answers);
                for answer in answers.into_iter().filter(|_| !died) {
                    self.network.send(&mut self.post, self.step, Letter::Down(node.clone(), answer));
                }
            }
            Err(refusal) => self.trace.note(format!("{line}: {refusal}")),
        }
        self.bury(at, died);
    }

    // A node hears of its own orders and of no others, and is told to compare itself with its claims once at a time.
    fn check_offers(&mut self, node: &NodeId, answers: &[FromControl]) {
        let offered = answers.iter().flat_map(|answer| match answer {
            FromControl::TasksOffered(offer) => offer.tasks.as_slice(),
            FromControl::ResultAck(_) | FromControl::StreamWanted(_) => &[],
        });
        let compares = |offer: &&Offer| matches!(offer, Offer::Known(task) if task.kind() == TaskKind::SliceReconcile);
        if offered.clone().filter(compares).count() > 1 {
            let detail = "was told to compare itself with its claims twice at once".to_owned();
            self.found.push(Violation { invariant: "I28", subject: node.to_string(), detail });
        }
        for offer in offered {
            let (id, owner) = match offer {
                Offer::Known(task) if task.node_id == *node => continue,
                Offer::Known(task) => (&task.id, task.node_id.as_str()),
                Offer::Unknown(task) => (&task.id, "nobody"),
            };
            let detail = format!("was offered to {node}, it is for {owner}");
            self.found.push(Violation { invariant: "I28", subject: id.to_string(), detail });
        }
    }

    fn agents_act(&mut self) {
        let now = self.clock.now();
        for at in 0..self.seats.len() {
            if !self.seats[at].acts(self.step) {
                continue;
            }
            let said = self.seats[at].step(self.step, now);
            for (task_id, change, turn) in self.seats[at].host.take_news() {
                let name = &self.seats[at].plan.name;
                self.trace.note(format!("{} {name}: {change:?} of {task_id} turn {turn}", self.step));
            }
            let node = self.seats[at].node_id.clone();
            if at == LIAR && self.said.len() < SAID_MAX {
                self.said.extend(said.iter().filter(|message| matches!(message, ToControl::Result(_))).cloned());
            }
            for message in said {
                self.network.send(&mut self.post, self.step, Letter::Up(node.clone(), message));
            }
        }
    }

    fn replicas_act(&mut self) {
        for at in 0..self.replicas.len() {
            if !self.replicas[at].acts(self.step) || !(self.healed || self.dice.chance(800)) {
                continue;
            }
            let fate = self.fate_of_step();
            let Acted { result, died } = self.replicas[at].step(fate);
            let mut looks = self.healed || self.step.is_multiple_of(5);
            if let Some(report) = result {
                looks |= report.placement.halved > 0;
                self.worked |= report.worked;
                let what = (report.leading, report.looked, report.faults);
                let stopped = report.stopped.map(|error| error.to_string()).unwrap_or_default();
                let placed = report.placement;
                let placed = (placed.placed, placed.refused, placed.lost, placed.postponed, placed.halved);
                let name = self.replicas[at].name();
                self.trace.note(format!("{} {name} steps: {what:?} {placed:?} {stopped}", self.step));
            }
            self.bury(at, died);
            // Now and then, so that the picture also goes without news for a while, and when something went wrong.
            let fault = if looks { self.replicas[at].picture_fault() } else { None };
            self.found.extend(fault.map(|detail| Violation {
                invariant: PICTURE,
                subject: self.replicas[at].name().to_owned(),
                detail,
            }));
        }
    }

    fn clients_ask(&mut self) -> Result<(), WorldFault> {
        let now = self.clock.now();
        let call = if !self.healed {
            let asks = self.dice.chance(self.swarm.client);
            if asks { self.clients.next(&self.swarm, now) } else { None }
        } else {
            match self.clients.unanswered() {
                None if self.swarm.give_back => self.clients.give_back(),
                call => call,
            }
        };
        match call {
            Some(call) => self.carry_out(call),
            None => Ok(()),
        }
    }

    // Several launches at once, so that placement has many to decide about.
    fn clients_rush(&mut self) -> Result<(), WorldFault> {
        self.rushed = !self.healed && self.dice.chance(self.swarm.client_rush);
        for _ in 0..if self.rushed { 2 + self.dice.below(4) } else { 0 } {
            if let Some(call) = self.clients.rush() {
                self.carry_out(call)?;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, call: Call) -> Result<(), WorldFault> {
        let Some(at) = self.replica() else { return Ok(()) };
        if let Purpose::Probe(absent) = &call.purpose {
            let foreign = self.ask(at, call.who, call.request.clone())?;
            let absent = self.ask(at, call.who, absent.as_ref().clone())?;
            if let (Some(foreign), Some(absent)) = (foreign, absent)
                && let Some(detail) = probe_differs(&foreign, &absent)
            {
                self.found.push(Violation { invariant: "I27", subject: call.request.path.clone(), detail });
            }
            return Ok(());
        }
        let answer = self.ask(at, call.who, call.request.clone())?;
        let next = self.clients.heard(&call, answer.as_ref(), &mut self.found);
        if let Some(request) = next {
            let answer = self.ask(at, call.who, request.clone())?;
            self.clients.heard(&Call { request, ..call }, answer.as_ref(), &mut self.found);
        }
        Ok(())
    }

    // What the client hears: nothing when the process died before it answered.
    fn ask(&mut self, at: usize, who: usize, request: Request) -> Result<Option<Response>, WorldFault> {
        let person = self.clients.person(who);
        let what = format!("{} {} {} {}", self.step, person.email, request.method, request.path);
        let fate = self.fate(1);
        let Acted { result, died } = self.replicas[at].perform(fate, request.bearer(&person.secret));
        self.bury(at, died);
        let Some(response) = result else { return Ok(None) };
        // An answer that went out before the process died was heard.
        if died && !response.is_success() {
            self.trace.note(format!("{what}: no answer"));
            return Ok(None);
        }
        let digest = Sha256::digest(&response.body);
        self.trace.note(format!("{what}: {} {:02x}{:02x}", response.status, digest[0], digest[1]));
        if response.status >= 500 {
            let detail = String::from_utf8_lossy(&response.body).into_owned();
            self.found.push(Violation { invariant: "no 5xx", subject: what, detail });
        } else if let Some(tenant) = self.clients.tenant_of(who).cloned()
            && let Some(foreign) = self.owners.foreign(&self.db, &tenant, &response.body)?
        {
            let detail = format!("{what}: shows {foreign}, which belongs to another tenant");
            self.found.push(Violation { invariant: "I26", subject: foreign, detail });
        }
        Ok(Some(response))
    }

    fn lie(&mut self) -> Result<(), WorldFault> {
        let nodes: Vec<NodeId> = self.seats.iter().map(|seat| seat.node_id.clone()).collect();
        let open = self.db.read(move |tx| {
            let mut open = vec![];
            for node in &nodes {
                open.extend(liar::handed_out(tasks::open_for_node(tx, node, 32)?));
            }
            Ok::<_, StoreError>(open)
        })?;
        let node = self.seats[LIAR].node_id.clone();
        let (own, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|task| task.node_id == node);
        let Some(lie) = liar::lie(&mut self.dice, &self.seats[LIAR].plan, &own, &others, &self.said) else {
            return Ok(());
        };
        if let Some(task) = lie.about_own {
            self.auditor.tainted.extend(task.served.map(|served| served.allocation_id));
            self.auditor.tainted_tasks.insert(task.id);
        }
        self.trace.note(format!("{} {node} lies", self.step));
        self.replica_hears(&node, lie.message);
        Ok(())
    }
}

fn short(message: &ToControl) -> String {
    match message {
        ToControl::Heartbeat(beat) => format!("beat {}", beat.boot),
        ToControl::Poll(poll) => format!("poll {}", poll.boot),
        ToControl::Progress(progress) => format!("{} {}", progress.task_id, progress.progress),
        ToControl::Result(answer) => {
            let failure = answer.result.failure.map_or("done", |failure| failure.as_str());
            format!("{} {failure} ({} proofs)", answer.result.task_id, answer.result.proofs.len())
        }
    }
}
