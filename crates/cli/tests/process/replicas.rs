//! Three replicas on one temporary PostgreSQL, and a fleet whose agents live in the test process: they outlive every kill,
//! as agents do.

use super::{
    Home, alarms,
    dice::Dice,
    ground::{Addresses, Asker, Ground},
    server::Server,
};
use control::{Ports, background::Background, node_plane::NodePlane, plane::Poke};
use model::identity::Role;
use sim::dev::{Pace, seed_dev, spawn_fleet};
use std::{
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};
use store::{Db, DbConfig, testing::PostgresCluster};

/// How long a silent leader is waited for, in seconds.
const LEASE_TTL: &str = "2";

pub struct Replicas {
    pub servers: Vec<Server>,
    pub addresses: Addresses,
    pub home: Home,
    pub url: String,
    fleet: Fleet,
    // Last, so that everything else is gone when the server goes.
    pub cluster: PostgresCluster,
}

impl Replicas {
    /// Starts everything. The test's own thread must call this: the processes end with it.
    pub fn start(runtime: &tokio::runtime::Runtime, dice: &mut Dice) -> (Self, Asker, Arc<Ground>) {
        alarms::listen();
        let (home, cluster) = (Home::new(), PostgresCluster::start());
        let url = cluster.fresh_database();
        let (fleet, operator) = Fleet::start(&url, &home);
        let addresses = Addresses::default();
        let mut replicas = Self { servers: Vec::new(), addresses, home, url, fleet, cluster };
        for number in 0..3 {
            let server = replicas.launch(&format!("replica-{number}"));
            replicas.servers.push(server);
        }
        let mut asker = Asker::new(&replicas.addresses, dice.fork());
        let ground = Arc::new(runtime.block_on(Ground::prepare(&mut asker, "load", &operator)));
        (replicas, asker, ground)
    }

    fn launch(&self, name: &str) -> Server {
        let words = ["serve", "--database", &self.url, "--listen", "127.0.0.1:0", "--replica", name];
        let more = ["--lease-ttl-s", LEASE_TTL, "--rate-limit-per-s", "100000", "--log", "info,control::http=warn"];
        let server = Server::start(self.home.path(), name, &[words.as_slice(), &more].concat());
        self.addresses.add(name, &server.url);
        server
    }

    fn at(&self, name: &str) -> usize {
        self.servers.iter().position(|server| server.name == name).unwrap_or_else(|| panic!("no replica {name}"))
    }

    pub fn named(&self, name: &str) -> &Server {
        &self.servers[self.at(name)]
    }

    /// Ends one with SIGKILL.
    pub fn kill(&mut self, name: &str) {
        let at = self.at(name);
        self.servers[at].kill();
        self.addresses.remove(name);
    }

    /// Starts one again that was killed.
    pub fn restart(&mut self, name: &str) {
        let at = self.at(name);
        self.servers[at] = self.launch(name);
    }

    /// The folder in which the hosts keep what is on them.
    pub fn fleet_folder(&self) -> std::path::PathBuf {
        self.home.path().join("fleet")
    }
}

/// The agents, and a thread that passes their heartbeats on.
struct Fleet {
    agents: Option<Background>,
    stop: Option<mpsc::Sender<()>>,
    beats: Option<JoinHandle<()>>,
}

impl Fleet {
    /// Fills the store and starts the agents. Gives the operator's token.
    fn start(url: &str, home: &Home) -> (Self, String) {
        let ports = Ports::system();
        let config = DbConfig { now: ports.now(), readers: 2, writers: 2, ..DbConfig::new(url) };
        let (db, folder) = (Db::open(&config).unwrap(), home.path().join("fleet"));
        let seeded = seed_dev(&db, &ports, &folder).unwrap();
        let operator = seeded.in_role(Role::PlatformOperator).unwrap().secret.clone();
        let plane = Arc::new(NodePlane::new(ports.clone(), Poke::default()));
        let pace = Pace { provision_ms: 0, stop_ms: 0, wipe_ms: 0, checkpoint_ms: None };
        let agents = spawn_fleet(db.clone(), Arc::clone(&plane), ports.clone(), &folder, pace).unwrap();
        let (stop, stopped) = mpsc::channel();
        let beats = std::thread::spawn(move || {
            while stopped.recv_timeout(Duration::from_millis(500)) == Err(mpsc::RecvTimeoutError::Timeout) {
                // While the store is away they are kept; the next round tries again.
                let _ = plane.flush(&db, ports.now());
            }
        });
        (Self { agents: Some(agents), stop: Some(stop), beats: Some(beats) }, operator)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        drop((self.agents.take(), self.stop.take()));
        if let Some(beats) = self.beats.take() {
            let _ = beats.join();
        }
    }
}
