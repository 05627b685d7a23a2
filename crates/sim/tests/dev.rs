//! The development fleet in real time: filled once, watched from launch to running, stopped and started with the guest
//! still there, and given back until its slots are for sale again.
#![allow(clippy::unwrap_used)]

use control::{
    Ports,
    front_door::{FrontDoor, FrontDoorConfig, Request},
    plane::{ControlPlane, PlaneConfig},
    runner::{self, RunnerHandle},
};
use model::{identity::Role, supply::SlotState};
use serde_json::{Value, json};
use sim::{
    dev::{DevSeed, FleetHandle, Pace, seed_dev, spawn_fleet},
    fleet::DEV,
};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use store::{Db, DbConfig, Page, StoreError, events, slots};

const PACE: Pace = Pace { provision_ms: 50, stop_ms: 20, wipe_ms: 5 };

struct Dev {
    db: Db,
    door: FrontDoor,
    seed: DevSeed,
    fleet: FleetHandle,
    runner: RunnerHandle,
}

impl Dev {
    fn start(folder: &Path) -> Self {
        let db = Db::open(&DbConfig::new(format!("sqlite:{}", folder.join("dev.db").display()))).unwrap();
        let ports = Ports::system();
        let seed = seed_dev(&db, &ports, &folder.join("fleet")).unwrap();
        let plane = ControlPlane::new(db.clone(), ports.clone(), PlaneConfig::new("dev"));
        let node_plane = plane.node_plane();
        let runner = runner::spawn(plane, || ()).unwrap();
        let fleet = spawn_fleet(db.clone(), node_plane, ports.clone(), &folder.join("fleet"), PACE).unwrap();
        let door = FrontDoor::new(ports, FrontDoorConfig::default()).unwrap();
        Self { db, door, seed, fleet, runner }
    }

    fn stop(self) {
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

    fn launch(&self) -> String {
        let find = |path: &str, slug: &str| {
            let page = self.ask(Role::ProjectMember, Request::new("GET", path));
            let items = page["items"].as_array().unwrap().clone();
            items.into_iter().find(|item| item["slug"] == slug).unwrap()["id"].as_str().unwrap().to_owned()
        };
        let tenants = self.ask(Role::ProjectMember, Request::new("GET", "/api/v1/tenants"));
        let tenant = tenants["items"][0]["id"].as_str().unwrap().to_owned();
        let project = find(&format!("/api/v1/tenants/{tenant}/projects"), "vision");
        let (sku, region) = (find("/api/v1/skus", "h200-sxm-slice"), find("/api/v1/regions", "eu-north"));
        let body = json!({ "name": "try", "sku_id": sku, "gpu_count": 2, "region_id": region });
        let path = format!("/api/v1/projects/{project}/allocations");
        let operation = self.ask(Role::ProjectMember, Request::new("POST", &path).key("try-1").json(body.to_string()));
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
    let allocation = {
        // Nodes are heard of within a poll; a launch before that would be refused.
        let began = Instant::now();
        while dev
            .db
            .read(|tx| {
                Ok::<_, StoreError>(
                    store::nodes::list(tx, None, Page::first(100))?
                        .iter()
                        .any(|node| node.state != model::supply::NodeState::Online),
                )
            })
            .unwrap()
        {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(20));
        }
        dev.launch()
    };
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
    let began = Instant::now();
    loop {
        let blocked = dev
            .db
            .read(|tx| slots::list(tx, None, None, Page::first(1000)))
            .map(|rows: Vec<slots::SlotRow>| rows.iter().filter(|slot| slot.state != SlotState::Available).count());
        if blocked == Ok::<_, StoreError>(0) {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{blocked:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    dev.stop();
    assert_eq!(guests(folder.path()), 0);
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
