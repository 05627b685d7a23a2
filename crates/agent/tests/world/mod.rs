//! A host in memory, a control plane that only hands out orders, and checks that hold after every step.
#![allow(clippy::unwrap_used, dead_code)]

use agent::{
    Agent, Effect, Guest, Hands, Host, HostFault, Identity, MemoryJournal, Record, Step, Watch,
    book::{Book, Rank},
};
use api::node_plane::{FromControl, Offer, ResultAck, TaskProgress, TaskReport, TasksOffered, ToControl};
use model::{
    AllocationId, NodeId, SlotId, TaskId, Timestamp,
    guest::{SlotBundle, SlotShare},
    image::{ImageFormat, ImageKind, ImageSpec},
    notice::{NoticeSeen, StopNotice, StopReason},
    proof::WipeStep,
    runtime::{GuestLeaseState, GuestSeen, PlanReport, ReconcileReport, Refusal},
    task::{
        Fence, GuestOrder, NoticeOrder, PlanOrder, ReconcileOrder, Task, TaskFailure, TaskInput, TaskKind, TaskResult,
        TaskSlot,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use topology::Tree;

pub const SECRET: [u8; 32] = [7; 32];

/// Guests that are told so are stopped this long after the beginning of the world.
pub const NOTICE_S: i64 = 60;

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
    let use_of = i64::from(use_generation);
    let slot = |s| TaskSlot { slot_id: slot_id(s), use_generation: use_of, nonce: nonce.clone(), bundle: None };
    let slots = vec![slot(2), slot(1)];
    Task {
        id: TaskId::from_parts(Timestamp::from_micros(i64::from(n) * 1000), [n; 10]),
        node_id: node_id(),
        input: input(
            kind,
            GuestOrder { allocation_id: allocation_id(use_generation), slots, guest: None, grace_s: None },
        ),
        fence: Fence { incarnation: 1, generation: i64::from(use_generation), attempt },
        deadline: Timestamp::from_micros(0).plus_seconds(600),
    }
}

fn input(kind: TaskKind, order: GuestOrder) -> TaskInput {
    match kind {
        TaskKind::SliceVmProvision => TaskInput::SliceVmProvision(order),
        TaskKind::SliceVmRelease => TaskInput::SliceVmRelease(order),
        TaskKind::SliceVmNotice => {
            let stop_at = Timestamp::from_micros(0).plus_seconds(NOTICE_S);
            let notice = StopNotice { stop_at, reason: StopReason::Preempted, by: None };
            TaskInput::SliceVmNotice(NoticeOrder { allocation_id: order.allocation_id, slots: order.slots, notice })
        }
        TaskKind::SlicePlan => TaskInput::SlicePlan(PlanOrder { slots: vec![] }),
        TaskKind::SliceReconcile => TaskInput::SliceReconcile(ReconcileOrder { claims: vec![], slots: vec![] }),
        TaskKind::ImagePrefetch => TaskInput::ImagePrefetch { image: image() },
        TaskKind::SliceTopologyDiscover => TaskInput::SliceTopologyDiscover {},
        TaskKind::NodeReadiness => TaskInput::NodeReadiness {},
        TaskKind::MachineDeploy | TaskKind::MachineReclaim => panic!("{kind} is no agent's"),
    }
}

pub fn image() -> ImageSpec {
    ImageSpec {
        id: "debian".to_owned(),
        sha256: "ab".repeat(32),
        size_bytes: 512,
        format: ImageFormat::Raw,
        virtual_size_bytes: 512,
        minimum_disk_bytes: 512,
        kind: ImageKind::Base,
        signer_key_id: "key".to_owned(),
        signature: "cd".repeat(64),
    }
}

/// What a slot of a laboratory has: a disk, and no devices.
pub fn lab_bundle(n: u8) -> SlotBundle {
    SlotBundle {
        profile: "lab-vm".to_owned(),
        gpu: None,
        gpu_module_id: None,
        fabric: None,
        disk_identity: format!("loop:/disks/{n}"),
        mac: format!("02:00:00:00:00:{n:02x}"),
        ip: Ipv4Addr::new(10, 0, 0, n),
        numa_node: 0,
        share: SlotShare { vcpus: 1, memory_mib: 64, hugepage_kib: None, disk_bytes_min: 1 },
    }
}

/// The same order about one slot, for an allocation of its own.
pub fn on_slot(mut task: Task, slot: u8) -> Task {
    if let TaskInput::SliceVmProvision(order) | TaskInput::SliceVmRelease(order) = &mut task.input {
        order.slots.retain(|given| given.slot_id == slot_id(1));
        order.slots[0].slot_id = slot_id(slot);
        order.allocation_id = allocation_id(100 + slot);
    }
    task
}

pub fn seen(allocation_id: &AllocationId) -> GuestSeen {
    GuestSeen {
        mac: "02:00:00:00:00:01".to_owned(),
        expected_ip: "10.0.0.1".to_owned(),
        actual_ip: Some("10.0.0.1".to_owned()),
        lease_state: GuestLeaseState::Leased,
        host_key: format!("ssh-ed25519 {allocation_id}"),
        accelerator: "tcg".to_owned(),
    }
}

pub fn refusal() -> Refusal {
    let (expected, found) = ("serial A".to_owned(), "serial B".to_owned());
    Refusal { check: "disk_identity".to_owned(), slot_id: Some(slot_id(1)), expected, found }
}

/// The same order about other slots.
pub fn with_slots(mut task: Task, change: impl FnOnce(&mut Vec<TaskSlot>)) -> Task {
    match &mut task.input {
        TaskInput::SliceVmProvision(order) | TaskInput::SliceVmRelease(order) => change(&mut order.slots),
        _ => (),
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
    /// Guests are refused before anything is made.
    pub refusing: Option<TaskFailure>,
    /// Guests are listed without what is seen of them.
    pub shy: bool,
    pub unstoppable: bool,
    pub blind: bool,
    pub shows: Tree,
    pub looks: usize,
    /// Slots that a change is being made to, and those to which a second was begun meanwhile.
    touching: BTreeSet<SlotId>,
    pub overlaps: Vec<SlotId>,
    /// What guests were told, and by the agent's clock when.
    pub noticed: Vec<(NoticeOrder, Timestamp)>,
    /// When guests that were told are ready; never when absent.
    pub ready_at: Option<Timestamp>,
    /// What comparisons were given.
    pub compared: Vec<(ReconcileOrder, Vec<AllocationId>)>,
    /// What comparisons and plans answer.
    pub findings: ReconcileReport,
}

/// Called in the middle of every change to a guest or a slot and of every comparison; a fault is the host's answer.
pub type Middle = Arc<dyn Fn(&str, &dyn Watch) -> Result<(), HostFault> + Send + Sync>;

#[derive(Clone, Default)]
pub struct TestHost {
    machine: Arc<Mutex<Machine>>,
    pub journal: MemoryJournal,
    pub middle: Option<Middle>,
}

impl TestHost {
    pub fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap()
    }

    // Nothing is touched before it was written down, and nothing is touched twice for one written line.
    fn take(&self, effect: &Effect, watch: &dyn Watch) -> Result<(), HostFault> {
        let records = self.journal.records();
        assert!(records.iter().any(|r| matches!(r, Record::Accepted { task } if task.id == effect.task_id)));
        let begun = |r: &Record| matches!(r, Record::Started { task_id, step, turn } if *task_id == effect.task_id && *step == effect.step && *turn == effect.turn);
        assert!(records.iter().any(begun), "write before act: {effect:?}");
        let given: Vec<_> = effect.given.iter().map(|slot| (&slot.slot_id, slot.use_generation)).collect();
        assert_eq!(given, effect.slots.iter().map(|slot| (&slot.slot_id, slot.use_generation)).collect::<Vec<_>>());
        self.touch(effect);
        let passed = self.in_the_middle(effect.allocation_id.as_str(), watch);
        self.machine().touching.retain(|slot_id| effect.slots.iter().all(|slot| slot.slot_id != *slot_id));
        passed?;
        if self.machine().failing.contains(&effect.step) { Err(HostFault::new("it broke")) } else { Ok(()) }
    }

    fn touch(&self, effect: &Effect) {
        let mut machine = self.machine();
        machine.effects.push(effect.clone());
        for slot in &effect.slots {
            if !machine.touching.insert(slot.slot_id.clone()) {
                machine.overlaps.push(slot.slot_id.clone());
            }
        }
    }

    fn in_the_middle(&self, of: &str, watch: &dyn Watch) -> Result<(), HostFault> {
        self.middle.as_ref().map_or(Ok(()), |middle| middle(of, watch))
    }
}

impl Host for TestHost {
    fn provision(&self, effect: &Effect, order: &GuestOrder, watch: &dyn Watch) -> Result<GuestSeen, HostFault> {
        assert_eq!(order.allocation_id, effect.allocation_id);
        self.take(effect, watch)?;
        let mut machine = self.machine();
        if let Some(failure) = machine.refusing {
            return Err(HostFault::refused(failure, vec![refusal()]));
        }
        let (allocation_id, slots) = (effect.allocation_id.clone(), effect.slots.clone());
        let seen = seen(&allocation_id);
        machine.guests.retain(|guest| guest.allocation_id != allocation_id);
        machine.guests.push(Guest { allocation_id, slots, ready: true, seen: Some(seen.clone()) });
        Ok(seen)
    }
    fn notice(&self, order: &NoticeOrder, now: Timestamp) -> Result<NoticeSeen, HostFault> {
        let mut machine = self.machine();
        machine.noticed.push((order.clone(), now));
        if machine.blind {
            return Err(HostFault::new("no answer"));
        }
        Ok(NoticeSeen { delivered: true, checkpointed: machine.ready_at.is_some_and(|ready| now >= ready) })
    }
    fn stop_guest(&self, effect: &Effect, guest: &Guest, watch: &dyn Watch) -> Result<String, HostFault> {
        self.take(effect, watch)?;
        let mut machine = self.machine();
        if !machine.unstoppable {
            machine.guests.retain(|other| other.allocation_id != guest.allocation_id);
        }
        Ok(format!("the machine of {} is gone", guest.allocation_id))
    }
    fn wipe_step(
        &self,
        effect: &Effect,
        slot: &TaskSlot,
        step: WipeStep,
        watch: &dyn Watch,
    ) -> Result<String, HostFault> {
        self.take(effect, watch)?;
        assert_eq!(effect.given, std::slice::from_ref(slot));
        let blank = self.machine().blank.contains(&effect.step);
        let sits = |guest: &Guest| guest.slots.iter().any(|held| held.slot_id == slot.slot_id);
        match step {
            _ if blank => Ok(String::new()),
            WipeStep::GuestGone if self.machine().guests.iter().any(sits) => Err(HostFault::new("somebody sits there")),
            WipeStep::GuestGone => Ok("{\"guests\":0}".to_owned()),
            _ => Ok(format!("{step} done")),
        }
    }
    fn capture(&self) -> Result<Tree, HostFault> {
        let mut machine = self.machine();
        machine.looks += 1;
        if machine.blind { Err(HostFault::new("no answer")) } else { Ok(machine.shows.clone()) }
    }
    fn guests(&self) -> Result<Vec<Guest>, HostFault> {
        let machine = self.machine();
        if machine.blind {
            return Err(HostFault::new("no answer"));
        }
        let listed = |guest: &Guest| Guest { seen: guest.seen.clone().filter(|_| !machine.shy), ..guest.clone() };
        Ok(machine.guests.iter().map(listed).collect())
    }
    fn plan(&self, order: &PlanOrder) -> Result<PlanReport, HostFault> {
        if self.machine().blind {
            return Err(HostFault::new("no answer"));
        }
        let disks = order.slots.iter().map(|slot| slot.bundle.disk_identity.clone()).collect();
        let (mac, ip) = ("02:00:00:00:00:01".to_owned(), "10.0.0.1".to_owned());
        Ok(PlanReport { refusals: vec![], cells: vec![], hugepage_kib: None, pci_addresses: vec![], disks, mac, ip })
    }
    fn reconcile(
        &self,
        order: &ReconcileOrder,
        busy: &[AllocationId],
        watch: &dyn Watch,
    ) -> Result<ReconcileReport, HostFault> {
        self.machine().compared.push((order.clone(), busy.to_vec()));
        self.in_the_middle("reconcile", watch)?;
        let machine = self.machine();
        if machine.blind { Err(HostFault::new("no answer")) } else { Ok(machine.findings.clone()) }
    }
    fn prefetch(&self, image: &ImageSpec, watch: &dyn Watch) -> Result<(), HostFault> {
        self.in_the_middle("prefetch", watch)?;
        if self.machine().blind { Err(HostFault::new(format!("{} is not there", image.id))) } else { Ok(()) }
    }
}

/// The agent with its host, and a control plane that offers `orders` one after the other, each until it is answered.
pub struct World {
    pub agent: Option<Agent<TestHost, MemoryJournal>>,
    pub host: TestHost,
    pub orders: Vec<Task>,
    pub results: BTreeMap<TaskId, TaskResult>,
    pub reports: BTreeMap<TaskId, TaskReport>,
    pub progress: Vec<TaskProgress>,
    pub inbox: Vec<FromControl>,
    pub now: Timestamp,
    /// How work on the host is done after a start.
    pub hands: Box<dyn Fn() -> Hands>,
    /// How often work on the host has asked for a step.
    pub wakes: Arc<AtomicUsize>,
    ranks: BTreeMap<SlotId, Rank>,
}

impl World {
    pub fn new(orders: Vec<Task>) -> Self {
        Self::of(orders, TestHost::default(), Box::new(Hands::inline))
    }

    /// A world in which this many orders about guests are worked on at once, on threads.
    pub fn threaded(orders: Vec<Task>, at_once_max: usize, middle: Middle) -> Self {
        let host = TestHost { middle: Some(middle), ..TestHost::default() };
        let wakes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&wakes);
        let hands = move || {
            let wakes = Arc::clone(&counted);
            Hands::threads(
                at_once_max,
                Arc::new(move || {
                    wakes.fetch_add(1, Ordering::SeqCst);
                }),
            )
        };
        Self { wakes, ..Self::of(orders, host, Box::new(hands)) }
    }

    fn of(orders: Vec<Task>, host: TestHost, hands: Box<dyn Fn() -> Hands>) -> Self {
        let mut world = Self {
            agent: None,
            host,
            orders,
            results: BTreeMap::new(),
            reports: BTreeMap::new(),
            progress: vec![],
            hands,
            wakes: Arc::default(),
            inbox: vec![],
            now: Timestamp::from_micros(0),
            ranks: BTreeMap::new(),
        };
        world.restart();
        world
    }

    /// Drops the agent with all it had in memory, and starts it again once the threads of the dead one are gone.
    pub fn restart(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.rest();
        }
        let identity = Identity::from_secret(node_id(), &SECRET);
        let started = Agent::start(identity, "session".to_owned(), self.host.clone(), self.host.journal.clone());
        self.agent = Some(started.unwrap().with_hands((self.hands)()));
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
        assert!(self.host.middle.is_some() || self.actions() - actions <= 1, "one thing at a time");
        self.check();
        for message in said.iter().filter(|_| heard) {
            match message {
                ToControl::Heartbeat(_) => (),
                ToControl::Progress(progress) => self.progress.push(progress.clone()),
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

    /// Steps until everything is answered and acknowledged; returns how many it took. Threads need time instead of steps.
    pub fn settle(&mut self) -> usize {
        let late = Instant::now() + Duration::from_secs(120);
        let threads = self.host.middle.is_some();
        for steps in 0.. {
            assert!(
                if threads { Instant::now() < late } else { steps < 400 },
                "did not settle: {:?}",
                self.agent().book()
            );
            if threads && !self.agent().is_busy() {
                thread::sleep(Duration::from_micros(200));
            }
            if self.orders.iter().all(|t| self.results.contains_key(&t.id)) && self.agent().is_idle() {
                return steps;
            }
            self.step(true);
        }
        unreachable!("the count of steps has no end")
    }

    pub fn result(&self, task: &Task) -> &TaskResult {
        &self.results[&task.id]
    }

    pub fn effects(&self) -> Vec<Effect> {
        self.host.machine().effects.clone()
    }

    pub fn guests(&self) -> Vec<Guest> {
        self.host.machine().guests.clone()
    }

    fn actions(&self) -> usize {
        self.host.journal.records().len() + self.host.machine().effects.len()
    }

    // Holds after every step, whatever happened before it.
    fn check(&mut self) {
        if let Some(problem) = effects_problem(&self.effects()) {
            panic!("{problem}");
        }
        assert_eq!(self.host.machine().overlaps, [], "two changes to one slot at once");
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
