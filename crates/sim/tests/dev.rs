//! The development fleet in real time: filled once, watched from launch to running, stopped and started with the guest
//! still there, and given back until its slots are for sale again.
#![allow(clippy::unwrap_used)]

use control::{
    Ports,
    authority::Authority,
    background::Background,
    front_door::{FrontDoor, FrontDoorConfig, Request},
    plane::{ControlPlane, PlaneConfig},
    providers::{self, MachineHands, Patience},
    runner::{self, RunnerHandle},
};
use model::{identity::Role, supply::SlotState};
use serde_json::{Value, json};
use sim::{
    dev::{DevSeed, Pace, seed_dev, spawn_fleet_on},
    fleet::DEV,
    metal::{self, Metal},
};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use store::{Db, DbConfig, Page, StoreError, Tx, events, nodes, slots};

const PACE: Pace = Pace { provision_ms: 50, stop_ms: 20, wipe_ms: 5, checkpoint_ms: None };

struct Dev {
    db: Db,
    door: FrontDoor,
    seed: DevSeed,
    fleet: Background,
    runner: RunnerHandle,
    hands: Option<Background>,
}

impl Dev {
    fn start(folder: &Path) -> Self {
        Self::start_on(folder, None)
    }

    /// The same, with a provider for the hosts that are sold whole.
    fn start_with_machines(folder: &Path, authority: &Arc<Authority>) -> Self {
        Self::start_on(folder, Some(authority))
    }

    fn start_on(folder: &Path, authority: Option<&Arc<Authority>>) -> Self {
        let db = Db::open(&DbConfig::new(format!("sqlite:{}", folder.join("dev.db").display()))).unwrap();
        let ports = Ports::system();
        let seed = seed_dev(&db, &ports, &folder.join("fleet")).unwrap();
        let plane = ControlPlane::new(db.clone(), ports.clone(), PlaneConfig::new("dev"));
        let (node_plane, told) = (plane.node_plane(), (plane.led(), plane.poke()));
        let runner = runner::spawn(plane, || ()).unwrap();
        let metal =
            authority.map(|authority| Metal::open(&db, &ports, Arc::clone(authority), metal::timings(true)).unwrap());
        let hands = metal.as_ref().map(|metal| {
            let provider = metal.provider("https://localhost").unwrap();
            let patience = Patience { look_s: 0, pause_s_max: 1, ..Patience::default() };
            let home = (db.clone(), ports.clone());
            let hands = MachineHands::new(home, PlaneConfig::new("dev"), told, vec![provider], patience);
            providers::spawn(hands, Duration::from_millis(20)).unwrap()
        });
        let (kept, ours) = (folder.join("fleet"), metal.as_ref());
        let fleet = spawn_fleet_on(db.clone(), node_plane, ports.clone(), &kept, PACE, ours).unwrap();
        let door = FrontDoor::new(ports, FrontDoorConfig::default()).unwrap();
        Self { db, door, seed, fleet, runner, hands }
    }

    fn stop(self) {
        if let Some(hands) = self.hands {
            hands.stop();
        }
        self.fleet.stop();
        self.runner.stop();
    }

    fn ask(&self, role: Role, request: Request) -> Value {
        let response = self.door.perform(&self.db, request.bearer(&self.seed.in_role(role).unwrap().secret));
        assert!(response.is_success(), "{}", String::from_utf8_lossy(&response.body));
        self.runner.poke();
        serde_json::from_slice(&response.body).unwrap()
    }

    fn wait_until(&self, allocation: &str, state: &str) {
        let path = format!("/api/v1/allocations/{allocation}");
        let began = Instant::now();
        loop {
            let seen = self.ask(Role::ProjectMember, Request::new("GET", &path));
            if seen["execution"] == state {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{seen:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Nodes are heard of within a poll; a launch before that would be refused.
    fn wait_for_nodes(&self) {
        let silent = |tx: &mut Tx<'_>| -> Result<bool, StoreError> {
            let all = nodes::list(tx, None, Page::first(100))?;
            Ok(all.iter().any(|node| node.state != model::supply::NodeState::Online))
        };
        let began = Instant::now();
        while self.db.read(silent).unwrap() {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Every slot is for sale again.
    fn wait_until_clean(&self) {
        let began = Instant::now();
        loop {
            let rows = self.db.read(|tx| slots::list(tx, None, None, Page::first(1000)));
            let rows: Result<Vec<slots::SlotRow>, StoreError> = rows;
            let blocked = rows.map(|rows| rows.iter().filter(|slot| slot.state != SlotState::Available).count());
            if blocked == Ok(0) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{blocked:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn launch(&self) -> String {
        self.launch_as("h200-sxm-slice", 2)
    }

    fn launch_as(&self, sku: &str, gpu_count: i64) -> String {
        let find = |path: &str, slug: &str| {
            let page = self.ask(Role::ProjectMember, Request::new("GET", path));
            let items = page["items"].as_array().unwrap().clone();
            items.into_iter().find(|item| item["slug"] == slug).unwrap()["id"].as_str().unwrap().to_owned()
        };
        let tenants = self.ask(Role::ProjectMember, Request::new("GET", "/api/v1/tenants"));
        let tenant = tenants["items"][0]["id"].as_str().unwrap().to_owned();
        let project = find(&format!("/api/v1/tenants/{tenant}/projects"), "vision");
        let (sku, region) = (find("/api/v1/skus", sku), find("/api/v1/regions", "eu-north"));
        let body = json!({ "name": "try", "sku_id": sku, "gpu_count": gpu_count, "region_id": region });
        let path = format!("/api/v1/projects/{project}/allocations");
        let operation = self
            .ask(Role::ProjectMember, Request::new("POST", &path).key(&format!("try-{sku}")).json(body.to_string()));
        operation["subject_id"].as_str().unwrap().to_owned()
    }
}

fn guests(folder: &Path) -> usize {
    let machines = DEV.hosts().into_iter().filter_map(|host| {
        let text = std::fs::read(folder.join("fleet").join(format!("{}.machine.json", host.name))).ok()?;
        serde_json::from_slice::<sim::host::Machine>(&text).ok()
    });
    machines.map(|machine| machine.guests.len()).sum()
}

#[test]
fn a_guest_outlives_the_process_and_its_slots_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    dev.wait_for_nodes();
    let allocation = dev.launch();
    dev.wait_until(&allocation, "running");
    let people = dev.seed.people.clone();
    dev.stop();
    assert_eq!(guests(folder.path()), 1);

    let dev = Dev::start(folder.path());
    assert_eq!(dev.seed.people, people, "the same tokens still work");
    dev.wait_until(&allocation, "running");
    dev.ask(
        Role::ProjectMember,
        Request::new("POST", &format!("/api/v1/allocations/{allocation}/release")).key("try-2"),
    );
    dev.wait_until(&allocation, "released");
    dev.wait_until_clean();
    dev.stop();
    assert_eq!(guests(folder.path()), 0);
}

#[test]
fn a_whole_machine_outlives_the_process_and_comes_back_with_a_new_identity() {
    let folder = tempfile::tempdir().unwrap();
    Authority::create(&folder.path().join("authority"), &Ports::system()).unwrap();
    let authority = Arc::new(Authority::open(&folder.path().join("authority"), "dev.example").unwrap());
    let dev = Dev::start_with_machines(folder.path(), &authority);
    dev.wait_for_nodes();
    let allocation = dev.launch_as("h200-sxm-baremetal", 8);
    dev.wait_until(&allocation, "running");
    let handed_over = |dev: &Dev| -> Vec<nodes::NodeRow> {
        let all = dev.db.read(|tx| nodes::list(tx, None, Page::first(100)));
        let all: Result<Vec<nodes::NodeRow>, StoreError> = all;
        all.unwrap().into_iter().filter(|node| node.handed_over.is_some()).collect()
    };
    let [taken] = handed_over(&dev).try_into().unwrap();
    assert!(taken.name.starts_with("h200-metal") && taken.is_without_identity());
    dev.stop();

    let dev = Dev::start_with_machines(folder.path(), &authority);
    dev.wait_until(&allocation, "running");
    let release = format!("/api/v1/allocations/{allocation}/release");
    dev.ask(Role::ProjectMember, Request::new("POST", &release).key("try-2"));
    dev.wait_until(&allocation, "released");
    dev.wait_until_clean();
    assert_eq!(handed_over(&dev), []);
    let id = taken.id.clone();
    let again: Result<_, StoreError> = dev.db.read(move |tx| nodes::get(tx, &id));
    let again = again.unwrap().unwrap();
    let plan = DEV.hosts().into_iter().find(|host| host.name == again.name).unwrap();
    assert!(!again.is_without_identity() && again.public_key != plan.identity().public_key_hex());
    dev.stop();

    // And it is still that agent when everything starts anew.
    let dev = Dev::start_with_machines(folder.path(), &authority);
    dev.wait_for_nodes();
    let allocation = dev.launch();
    dev.wait_until(&allocation, "running");
    dev.stop();
}

#[test]
fn filling_a_store_again_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&DbConfig::new("sqlite::memory:")).unwrap();
    let ports = Ports::system();
    let first = seed_dev(&db, &ports, folder.path()).unwrap();
    let mut plane = ControlPlane::new(db.clone(), ports.clone(), PlaneConfig::new("dev"));
    let head = |plane: &mut ControlPlane| {
        while plane.step_now().worked {}
        db.read(events::head).unwrap()
    };
    let before = head(&mut plane);
    assert!(before > 0);
    assert_eq!(seed_dev(&db, &ports, folder.path()).unwrap(), first);
    assert_eq!(head(&mut plane), before);
    for role in Role::ALL {
        assert!(first.in_role(*role).is_some(), "{role}");
    }
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(folder.path().join("people.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
