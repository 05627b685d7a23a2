//! A world whose only node is a machine of a provider, with the hands of its leader, and a host that comes and goes with what
//! is installed on the machine: it takes the token it was told, enrolls with a key of its own, and answers what it is asked.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use api::node_plane::{EnrollRequest, FromControl, Heartbeat, Offer, Poll, TaskAnswer, TaskReport, ToControl};
use control::{
    Clock as _, agents,
    authority::Authority,
    node_plane::NodeRefusal,
    providers::{AgentSettings, Install, MachineHands, MachineStep, Patience, Provider, TOKEN_FILE},
};
use ed25519_dalek::SigningKey;
use machines::{
    DeployOrder, Erase, Machine, MachineProvider, MachineStatus, PowerState, ProviderId,
    simulated::{SimulatedMachines, Timings},
};
use model::{
    AllocationId, NodeId,
    allocation::{AllocationTerms, State},
    task::{Task, TaskInput, TaskResult},
};
use store::{
    Db, machines as rows,
    nodes::{self, MachineRef, NodeRow},
    tasks::TaskRow,
};
use topology::{
    Discovery,
    simulated::{HostSpec, trees},
};

use crate::world::{Node, World};

pub const SLUG: &str = "sim";
pub const MACHINE: &str = "m-01";

/// An authority; making one takes a while, and all tests can share it.
pub fn authority(world: &World) -> Arc<Authority> {
    static MADE: OnceLock<(tempfile::TempDir, Arc<Authority>)> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("authority");
        Authority::create(&place, &world.ports).unwrap();
        let opened = Arc::new(Authority::open(&place, "test.example").unwrap());
        (folder, opened)
    });
    Arc::clone(&made.1)
}

/// A host with the platform's agent on it.
pub struct Host {
    pub node: Arc<Node>,
    pub session: String,
    pub discovery: Discovery,
}

pub struct Metal {
    pub world: World,
    pub hands: MachineHands,
    pub host: Option<Host>,
    pub id: ProviderId,
    pub patience: Patience,
    provider: Provider,
    tokens_used: BTreeSet<String>,
    runtime: tokio::runtime::Runtime,
    // Where a server of the test runs.
    kept: Option<tokio::runtime::Runtime>,
    /// The host comes up and does nothing.
    pub mute: bool,
}

pub fn machine(status: MachineStatus) -> Machine {
    Machine {
        id: MACHINE.parse().unwrap(),
        hostname: "node-0".to_owned(),
        serial: None,
        status,
        message: String::new(),
        power: PowerState::On,
        tags: BTreeSet::new(),
        pool: None,
        zone: None,
        owner: Some("platform".to_owned()),
        mark: None,
        locked: false,
        gpus: None,
    }
}

/// A fleet in memory with the one machine, installed by a person.
pub fn simulated(world: &World) -> Arc<SimulatedMachines> {
    let clock = world.clock.clone();
    let fleet = SimulatedMachines::new(move || clock.now(), Timings { deploy_s: 600, release_s: 60, erase_s: 300 });
    fleet.put(machine(MachineStatus::Deployed));
    Arc::new(fleet)
}

pub fn install(system: &str, image: &str) -> Install {
    Install { system: system.to_owned(), image: image.to_owned() }
}

impl Metal {
    pub fn new(db: Db) -> (Self, Arc<SimulatedMachines>) {
        let world = World::new(db, 1);
        let fleet = simulated(&world);
        let metal = Self::on(world, fleet.clone());
        (metal, fleet)
    }

    /// The same with any provider.
    pub fn on(world: World, machines: Arc<dyn MachineProvider>) -> Self {
        let provider = Provider {
            slug: SLUG.to_owned(),
            kind: "simulated".to_owned(),
            address: "memory".to_owned(),
            machines,
            host: install("custom", "gpuaas-host"),
            agents: AgentSettings::new("https://agents.test:7443", &authority(&world).sha256()).unwrap(),
            tenant: install("ubuntu", "noble"),
            erase: Erase::Secure,
        };
        let patience = Patience::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let host = Host { node: world.nodes[0].clone(), session: "only".to_owned(), discovery: discovery() };
        let mut metal = Self {
            hands: hands(&world, &provider, patience),
            id: MACHINE.parse().unwrap(),
            host: Some(host),
            patience,
            provider,
            tokens_used: BTreeSet::new(),
            runtime,
            kept: None,
            mute: false,
            world,
        };
        metal.link();
        metal
    }

    /// Lets what runs elsewhere live as long as this.
    pub fn keep(&mut self, runtime: tokio::runtime::Runtime) {
        self.kept = Some(runtime);
    }

    fn link(&mut self) {
        self.machine_step();
        let id = self.world.nodes[0].id.clone();
        let machine = MachineRef { provider: SLUG.to_owned(), machine_id: self.id.to_string() };
        self.world
            .write(move |tx, stamp| {
                let node = nodes::get(tx, &id)?.unwrap();
                nodes::set_machine(tx, stamp, &node, Some(&machine)).map(drop)
            })
            .unwrap();
        self.world.settle();
    }

    pub fn machine_step(&mut self) -> MachineStep {
        self.runtime.block_on(self.hands.step()).unwrap()
    }

    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The process is gone with everything it held in memory.
    pub fn restart(&mut self) {
        self.world.restart();
        self.hands = hands(&self.world, &self.provider, self.patience);
        self.world.settle();
    }

    pub fn node(&self) -> NodeRow {
        let id = self.world.nodes[0].id.clone();
        self.world.read(move |tx| nodes::get(tx, &id)).unwrap()
    }

    pub fn node_id(&self) -> NodeId {
        self.world.nodes[0].id.clone()
    }

    pub fn state(&self, id: &AllocationId) -> State {
        self.world.allocation(id).state
    }

    pub fn launch(&mut self) -> AllocationId {
        self.launch_with(AllocationTerms::default())
    }

    pub fn launch_with(&mut self, terms: AllocationTerms) -> AllocationId {
        let id = self.world.allocation_id();
        self.world.try_launch_with(&id, &self.world.bare_metal, 8, terms).unwrap();
        self.world.settle();
        id
    }

    /// Ten seconds of everything: the host that runs now, the plane, the hands.
    pub fn ten_seconds(&mut self, fleet: &SimulatedMachines) {
        self.world.advance_s(10);
        self.play_host(fleet.installed(&self.id).map(|order| token_of(&order)));
        self.world.settle();
        self.machine_step();
        self.world.advance_s(1);
        self.world.settle();
    }

    /// Lets time pass until something is so.
    pub fn until(&mut self, fleet: &SimulatedMachines, what: &str, so: impl Fn(&Self) -> bool) {
        for _ in 0..1_000 {
            if so(self) {
                return;
            }
            self.ten_seconds(fleet);
        }
        panic!("it never came to this: {what}; orders {:#?}, node {:#?}", self.told(), self.node());
    }

    pub fn until_state(&mut self, fleet: &SimulatedMachines, id: &AllocationId, state: State) {
        let wanted = id.clone();
        self.until(fleet, state.as_str(), move |metal| metal.state(&wanted) == state);
    }

    /// What an order installed on the machine decides which host there is. The platform's has a token in what it was told.
    pub fn play_host(&mut self, installed: Option<Option<String>>) {
        if self.world.read_node_without_identity() && self.host.is_some() {
            // Its agent goes on for as long as the machine is not given back; nobody listens to it.
            self.old_agent_is_nobody();
        }
        match installed {
            Some(Some(token)) if !self.mute && self.tokens_used.insert(token.clone()) => self.enroll(&token),
            Some(Some(_)) => {}
            None if self.is_hand_installed() => {}
            Some(None) | None => self.host = None,
        }
        if !self.world.read_node_without_identity() {
            self.host_works();
        }
    }

    fn is_hand_installed(&self) -> bool {
        self.tokens_used.is_empty() && self.node().handed_over.is_none()
    }

    fn old_agent_is_nobody(&mut self) {
        let Some(host) = &self.host else { return };
        let poll = Poll { node_id: host.node.id.clone(), boot: 1 };
        let answer = self.world.say(&host.node, ToControl::Poll(poll));
        assert_eq!(answer, Err(NodeRefusal::UnknownNode), "nobody speaks for a node whose machine is a tenant's");
    }

    /// Enrolls with a fresh key, as the agent does.
    pub fn enroll(&mut self, token: &str) {
        let key = SigningKey::from_bytes(&self.seed());
        let request = EnrollRequest {
            secret: token.to_owned(),
            csr_pem: csr(&key),
            hardware_serial: self.node().hardware_serial,
            agent_version: "1.0.0".to_owned(),
        };
        // An order that has ended took its token back; the host tries for nothing.
        let Ok(answer) = self.try_enroll(&request) else { return };
        assert_eq!(answer.node_id, self.world.nodes[0].id);
        let node = Arc::new(Node { id: answer.node_id, key });
        self.world.nodes[0] = node.clone();
        let session = format!("again-{}", self.tokens_used.len());
        self.host = Some(Host { node, session, discovery: discovery() });
    }

    pub fn try_enroll(&self, request: &EnrollRequest) -> Result<api::node_plane::EnrollAnswer, api::Problem> {
        let world = &self.world;
        agents::enroll((&world.db, &world.ports), &authority(world), &world.plane.node_plane(), request)
    }

    pub fn csr(&self) -> String {
        csr(&SigningKey::from_bytes(&self.seed()))
    }

    fn seed(&self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.world.ports.entropy.fill(&mut seed);
        seed
    }

    fn host_works(&mut self) {
        let Some(host) = &self.host else { return };
        if self.mute {
            return;
        }
        let node_id = host.node.id.clone();
        let beat = Heartbeat {
            node_id: node_id.clone(),
            boot: 1,
            session: host.session.clone(),
            sent_at: self.world.clock_now(),
        };
        self.world.say(&host.node, ToControl::Heartbeat(beat)).unwrap();
        let answer = self.world.say(&host.node, ToControl::Poll(Poll { node_id: node_id.clone(), boot: 1 })).unwrap();
        let [FromControl::TasksOffered(offered)] = answer.as_slice() else { panic!("{answer:?}") };
        for offer in &offered.tasks {
            let Offer::Known(task) = offer else { panic!("{offer:?}") };
            assert!(!task.kind().is_for_provider(), "an agent is offered an order to a provider");
            let (result, report) = host.answer(task);
            let said = TaskAnswer { node_id: node_id.clone(), boot: 1, result, report };
            self.world.say(&host.node, ToControl::Result(said)).unwrap();
        }
    }

    /// The orders of everybody, for messages of tests.
    pub fn told(&self) -> Vec<String> {
        let ids = self.world.read(|tx| {
            let rows = tx.query("SELECT id FROM node_tasks ORDER BY id", &[])?;
            rows.iter().map(|row| row.parse(0)).collect::<Result<Vec<model::TaskId>, _>>()
        });
        let row = |id: model::TaskId| {
            let (task, work) = self.world.read(move |tx| Ok((store::tasks::get(tx, &id)?, rows::work(tx, &id)?)));
            let task: TaskRow = task.unwrap();
            let why = task.result.map(|result| result.detail).unwrap_or_default();
            let work = work.map(|work| format!("{} {} {}", work.phase, work.status, work.fault));
            format!("{} {} {why} {}", task.kind, task.state, work.unwrap_or_default())
        };
        ids.into_iter().map(row).collect()
    }
}

impl World {
    pub fn read_node_without_identity(&self) -> bool {
        let id = self.nodes[0].id.clone();
        self.read(move |tx| Ok(nodes::get(tx, &id)?.unwrap().is_without_identity()))
    }
}

impl Host {
    fn answer(&self, task: &Task) -> (TaskResult, Option<TaskReport>) {
        let report = match &task.input {
            TaskInput::SliceTopologyDiscover {} => {
                Some(TaskReport::SliceTopologyDiscover(Box::new(self.discovery.clone())))
            }
            TaskInput::NodeReadiness {} => {
                Some(TaskReport::NodeReadiness(Box::new(topology::readiness(&self.discovery))))
            }
            TaskInput::SliceReconcile(_) => Some(TaskReport::SliceReconcile(Box::default())),
            _ => None,
        };
        (self.node.succeed(task), report)
    }
}

pub fn discovery() -> Discovery {
    topology::discover(&trees::hgx_h200(&HostSpec { number: 7, name: "node-0".to_owned(), gpus: 8 }))
}

fn hands(world: &World, provider: &Provider, patience: Patience) -> MachineHands {
    let plane = &world.plane;
    MachineHands::new(
        (world.db.clone(), world.ports.clone()),
        world.config.clone(),
        (plane.led(), plane.poke()),
        vec![provider.clone()],
        patience,
    )
}

/// The token in what a host is told, if it is the platform's.
pub fn token_of(order: &DeployOrder) -> Option<String> {
    token_in(order.user_data().as_bytes())
}

/// The same from what was told.
pub fn token_in(user_data: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(user_data).ok()?;
    let told: serde_json::Value = serde_json::from_str(text.strip_prefix("#cloud-config\n")?).ok()?;
    let file = told["write_files"].as_array()?.iter().find(|file| file["path"] == TOKEN_FILE)?;
    Some(file["content"].as_str()?.to_owned())
}

/// A certificate request for an Ed25519 key.
pub fn csr(key: &SigningKey) -> String {
    // PKCS #8 around the 32 bytes of the key.
    let mut der = vec![0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    der.extend_from_slice(key.as_bytes());
    let der = rustls::pki_types::PrivatePkcs8KeyDer::from(der);
    let pair = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&der, &rcgen::PKCS_ED25519).unwrap();
    rcgen::CertificateParams::default().serialize_request(&pair).unwrap().pem().unwrap()
}
