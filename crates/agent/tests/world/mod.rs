//! A host in memory, a control plane that only hands out orders, and checks that hold after every step.
#![allow(clippy::unwrap_used, dead_code)]

use agent::{
    Agent, Effect, Guest, Host, HostFault, Identity, MemoryJournal, Record, SlotUse, Step,
    book::{Book, Rank},
};
use api::node_plane::{FromControl, Offer, ResultAck, TaskReport, TasksOffered, ToControl};
use model::{
    AllocationId, NodeId, SlotId, TaskId, Timestamp,
    proof::WipeStep,
    task::{Fence, GuestOrder, Task, TaskInput, TaskKind, TaskResult, TaskSlot},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};
use topology::Tree;

pub const SECRET: [u8; 32] = [7; 32];

pub fn node_id() -> NodeId {
    NodeId::from_parts(Timestamp::from_micros(0), [1; 10])
}

pub fn slot_id(n: u8) -> SlotId {
    SlotId::from_parts(Timestamp::from_micros(0), [n; 10])
}

pub fn allocation_id(n: u8) -> AllocationId {
    AllocationId::from_parts(Timestamp::from_micros(0), [n; 10])
}

/// An order for slots 1 and 2 of the only node, in the `use_generation`-th use of both, which is that allocation's.
pub fn order(n: u8, kind: TaskKind, use_generation: u8, attempt: i64) -> Task {
    let nonce = (kind == TaskKind::SliceVmRelease).then(|| format!("nonce-{use_generation}"));
    let slot = |s| TaskSlot { slot_id: slot_id(s), use_generation: i64::from(use_generation), nonce: nonce.clone() };
    Task {
        id: TaskId::from_parts(Timestamp::from_micros(i64::from(n) * 1000), [n; 10]),
        node_id: node_id(),
        input: input(kind, GuestOrder { allocation_id: allocation_id(use_generation), slots: vec![slot(2), slot(1)] }),
        fence: Fence { incarnation: 1, generation: i64::from(use_generation), attempt },
        deadline: Timestamp::from_micros(0).plus_seconds(600),
    }
}

fn input(kind: TaskKind, order: GuestOrder) -> TaskInput {
    match kind {
        TaskKind::SliceVmProvision => TaskInput::SliceVmProvision(order),
        TaskKind::SliceVmRelease => TaskInput::SliceVmRelease(order),
        TaskKind::SliceTopologyDiscover => TaskInput::SliceTopologyDiscover {},
        TaskKind::NodeReadiness => TaskInput::NodeReadiness {},
    }
}

/// The same order about other slots.
pub fn with_slots(mut task: Task, change: impl FnOnce(&mut Vec<TaskSlot>)) -> Task {
    match &mut task.input {
        TaskInput::SliceVmProvision(order) | TaskInput::SliceVmRelease(order) => change(&mut order.slots),
        TaskInput::SliceTopologyDiscover {} | TaskInput::NodeReadiness {} => (),
    }
    task
}

/// An order about the host itself.
pub fn look(n: u8, kind: TaskKind, attempt: i64) -> Task {
    order(n, kind, 0, attempt)
}

#[derive(Debug, Default)]
pub struct Machine {
    pub guests: Vec<Guest>,
    pub effects: Vec<Effect>,
    pub failing: BTreeSet<Step>,
    pub blank: BTreeSet<Step>,
    pub unstoppable: bool,
    pub blind: bool,
    pub shows: Tree,
    pub looks: usize,
}

#[derive(Debug, Clone, Default)]
pub struct TestHost {
    pub machine: Rc<RefCell<Machine>>,
    pub journal: MemoryJournal,
}

impl TestHost {
    // Nothing is touched before it was written down, and nothing is touched twice for one written line.
    fn take(&self, effect: &Effect) -> Result<(), HostFault> {
        let records = self.journal.records();
        assert!(records.iter().any(|r| matches!(r, Record::Accepted { task } if task.id == effect.task_id)));
        let begun = |r: &Record| matches!(r, Record::Started { task_id, step, turn } if *task_id == effect.task_id && *step == effect.step && *turn == effect.turn);
        assert!(records.iter().any(begun), "write before act: {effect:?}");
        let mut machine = self.machine.borrow_mut();
        machine.effects.push(effect.clone());
        if machine.failing.contains(&effect.step) { Err(HostFault::new("it broke")) } else { Ok(()) }
    }
}

impl Host for TestHost {
    fn provision(&mut self, effect: &Effect) -> Result<(), HostFault> {
        self.take(effect)?;
        let mut machine = self.machine.borrow_mut();
        machine.guests.push(Guest {
            allocation_id: effect.allocation_id.clone(),
            slots: effect.slots.clone(),
            ready: true,
        });
        Ok(())
    }
    fn stop_guest(&mut self, effect: &Effect, guest: &Guest) -> Result<(), HostFault> {
        self.take(effect)?;
        let mut machine = self.machine.borrow_mut();
        if !machine.unstoppable {
            machine.guests.retain(|other| other != guest);
        }
        Ok(())
    }
    fn wipe_step(&mut self, effect: &Effect, slot: &SlotUse, step: WipeStep) -> Result<String, HostFault> {
        self.take(effect)?;
        assert_ne!(step, WipeStep::GuestGone);
        assert_eq!(effect.slots, std::slice::from_ref(slot));
        let blank = self.machine.borrow().blank.contains(&effect.step);
        Ok(if blank { String::new() } else { format!("{step} done") })
    }
    fn capture(&self) -> Result<Tree, HostFault> {
        let mut machine = self.machine.borrow_mut();
        machine.looks += 1;
        if machine.blind { Err(HostFault::new("no answer")) } else { Ok(machine.shows.clone()) }
    }
    fn guests(&self) -> Result<Vec<Guest>, HostFault> {
        let machine = self.machine.borrow();
        if machine.blind { Err(HostFault::new("no answer")) } else { Ok(machine.guests.clone()) }
    }
}

/// The agent with its host, and a control plane that offers `orders` one after the other, each until it is answered.
pub struct World {
    pub agent: Option<Agent<TestHost, MemoryJournal>>,
    pub host: TestHost,
    pub orders: Vec<Task>,
    pub results: BTreeMap<TaskId, TaskResult>,
    pub reports: BTreeMap<TaskId, TaskReport>,
    pub inbox: Vec<FromControl>,
    pub now: Timestamp,
    ranks: BTreeMap<SlotId, Rank>,
}

impl World {
    pub fn new(orders: Vec<Task>) -> Self {
        let host = TestHost::default();
        let mut world = Self {
            agent: None,
            host,
            orders,
            results: BTreeMap::new(),
            reports: BTreeMap::new(),
            inbox: vec![],
            now: Timestamp::from_micros(0),
            ranks: BTreeMap::new(),
        };
        world.restart();
        world
    }

    /// Drops the agent with all it had in memory, and starts it again.
    pub fn restart(&mut self) {
        self.agent = None;
        let identity = Identity::from_secret(node_id(), &SECRET);
        self.agent =
            Some(Agent::start(identity, "session".to_owned(), self.host.clone(), self.host.journal.clone()).unwrap());
    }

    pub fn agent(&self) -> &Agent<TestHost, MemoryJournal> {
        self.agent.as_ref().unwrap()
    }

    pub fn offer(&mut self, tasks: &[Task]) {
        self.inbox
            .push(FromControl::TasksOffered(TasksOffered { tasks: tasks.iter().cloned().map(Offer::Known).collect() }));
    }

    /// One second and one step. What the agent says is heard only if `heard`.
    pub fn step(&mut self, heard: bool) -> Vec<ToControl> {
        self.now = self.now.plus_seconds(1);
        let (actions, inbox) = (self.actions(), std::mem::take(&mut self.inbox));
        let said = self.agent.as_mut().unwrap().step(self.now, inbox);
        assert!(self.actions() - actions <= 1, "one thing at a time");
        self.check();
        for message in said.iter().filter(|_| heard) {
            match message {
                ToControl::Heartbeat(_) | ToControl::Progress(_) => (),
                ToControl::Poll(_) => {
                    let open = self.orders.iter().find(|t| !self.results.contains_key(&t.id)).cloned();
                    self.offer(open.as_slice());
                }
                ToControl::Result(answer) => {
                    let before = self.results.insert(answer.result.task_id.clone(), answer.result.clone());
                    assert!(before.is_none_or(|b| b == answer.result), "an order ends one way only: {answer:?}");
                    let report = answer.report.clone().map(|report| (answer.result.task_id.clone(), report));
                    self.reports.extend(report);
                    self.inbox.push(FromControl::ResultAck(ResultAck { task_id: answer.result.task_id.clone() }));
                }
            }
        }
        said
    }

    /// Steps until everything is answered and acknowledged; returns how many it took.
    pub fn settle(&mut self) -> usize {
        for steps in 0..400 {
            if self.orders.iter().all(|t| self.results.contains_key(&t.id)) && self.agent().is_idle() {
                return steps;
            }
            self.step(true);
        }
        panic!("did not settle: {:?}", self.agent().book());
    }

    pub fn result(&self, task: &Task) -> &TaskResult {
        &self.results[&task.id]
    }

    pub fn effects(&self) -> Vec<Effect> {
        self.host.machine.borrow().effects.clone()
    }

    pub fn guests(&self) -> Vec<Guest> {
        self.host.machine.borrow().guests.clone()
    }

    fn actions(&self) -> usize {
        self.host.journal.records().len() + self.host.machine.borrow().effects.len()
    }

    // Holds after every step, whatever happened before it.
    fn check(&mut self) {
        if let Some(problem) = effects_problem(&self.effects()) {
            panic!("{problem}");
        }
        let mut book = Book::default();
        self.host.journal.records().iter().for_each(|record| book.apply(record));
        for (slot, mark) in book.marks() {
            let before = self.ranks.insert(slot.clone(), mark.rank);
            assert!(before.is_none_or(|b| b <= mark.rank), "the newest order for a slot only gets newer");
        }
    }
}

/// What is wrong with a list of effects: one that came twice, or a fence that went down.
pub fn effects_problem(effects: &[Effect]) -> Option<String> {
    let mut keys = BTreeSet::new();
    let mut fences: BTreeMap<SlotId, Fence> = BTreeMap::new();
    for effect in effects {
        if !keys.insert((effect.task_id.clone(), effect.step.clone(), effect.turn)) {
            return Some(format!("came twice: {effect:?}"));
        }
        for slot in &effect.slots {
            let fence = effect.slot_fence(slot);
            if fences.insert(slot.slot_id.clone(), fence).is_some_and(|before| before > fence) {
                return Some(format!("the fence went down: {effect:?}"));
            }
        }
    }
    None
}
