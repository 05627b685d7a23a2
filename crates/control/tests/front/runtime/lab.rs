//! Laboratories: unknown where none was wanted, made of files where one was, and never for sale. What is sold keeps every rule.

use api::{
    Code,
    node_plane::{Heartbeat, ToControl},
};
use control::{
    front_door::FrontDoorConfig,
    plane::{ControlPlane, PlaneConfig},
};
use model::{NodeId, PoolId, supply::GpuModel};
use serde_json::{Value, json};
use store::nodes as rows;
use topology::{Tree, probe};

use crate::{
    fleet::{Fleet, broken, code, healthy, rules},
    world::{body, id},
};

/// A host of a laboratory: two files, and a third that is mounted.
fn bench() -> Tree {
    let mut tree = healthy(1);
    let disk = |at: u32, file: &str| json!({"name": format!("loop{at}"), "backing_file": file, "size_bytes": 2_147_483_648u64});
    let told = json!({"loop_devices": [disk(4, "/lab/b.img"), disk(3, "/lab/a.img")]});
    tree.insert_file(probe::LAB, told.to_string()).unwrap();
    tree
}

struct Lab {
    fleet: Fleet,
    pool: PoolId,
    node: NodeId,
}

fn lab() -> Lab {
    let fleet = Fleet::new().through(FrontDoorConfig { lab: true, ..FrontDoorConfig::default() });
    let world = &fleet.world;
    let pool = json!({"region_id": world.region, "slug": "lab", "name": "Lab", "gpu_model": "lab", "slices_enabled": true,
        "private_range": "10.99.0.0/24"});
    let pool: PoolId = id(&body(&fleet.post("/api/v1/pools", pool))["id"]);
    let (of, node) = (pool.clone(), world.ports.id_bits());
    let node = NodeId::from_parts(world.ports.now(), node);
    let made = node.clone();
    world.write(move |tx, stamp| {
        let new = rows::NodeNew {
            id: &made,
            pool_id: &of,
            name: "bench-1",
            gpu_model: GpuModel::Lab,
            public_key: "bench",
            partitions: "null",
            hardware_serial: None,
            profiles: "[]",
            promoted: None,
        };
        rows::insert(tx, stamp, new)?;
        let row = rows::get(tx, &made)?.unwrap();
        rows::enter(tx, stamp, &row, model::supply::NodeState::Online, None).map(drop)
    });
    Lab { fleet, pool, node }
}

/// Everything that can move moves, on a plane that is a laboratory's or not; the node is heard of.
fn driven(fleet: &Fleet, node: &NodeId, lab: bool) {
    let (db, ports) = (&fleet.world.db, &fleet.world.ports);
    let mut plane = ControlPlane::new(db.clone(), ports.clone(), PlaneConfig { lab, ..PlaneConfig::new("lab") });
    let beat = Heartbeat { node_id: node.clone(), boot: 1, session: "only".to_owned(), sent_at: ports.now() };
    plane.node_plane().handle(db, node, ToControl::Heartbeat(beat)).unwrap();
    for _ in 0..50 {
        assert_eq!(plane.step(ports.now()).stopped, None);
    }
}

fn profile() -> Value {
    json!({"slug": "lab-vm", "name": "Lab", "gpu_model": "lab", "vcpus": 1, "memory_mib": 512, "min_disk_bytes": 1 << 30})
}

fn sku(price: i64) -> Value {
    json!({"slug": "lab-vm", "name": "Lab", "shape": "gpu_slice", "gpu_model": "lab", "gpu_counts": [1], "profile": "lab-vm",
        "price_micros_per_gpu_hour": price})
}

#[test]
fn without_a_laboratory_there_is_no_such_model() {
    let fleet = Fleet::new();
    let pool = json!({"region_id": fleet.world.region, "slug": "lab", "name": "Lab", "gpu_model": "lab"});
    assert_eq!(code(&fleet.post("/api/v1/pools", pool)), Code::LabOnly);
    assert_eq!(code(&fleet.post("/api/v1/slot-profiles", profile())), Code::LabOnly);
    assert_eq!(code(&fleet.post("/api/v1/skus", sku(0))), Code::LabOnly);
    let real = json!({"slug": "lab-vm", "name": "Slice", "gpu_model": "h200-sxm", "vcpus": 1, "memory_mib": 512});
    assert_eq!(code(&fleet.post("/api/v1/slot-profiles", real)), Code::LabOnly, "nor a way around it");
}

#[test]
fn a_laboratory_launches_on_files_and_costs_nothing() {
    let Lab { fleet, node, .. } = lab();
    let world = &fleet.world;
    assert_eq!(fleet.look(&node, &bench())["state"], "succeeded");
    let made = fleet.post("/api/v1/slot-profiles", profile());
    assert_eq!((made.status, body(&made)["needs_gpu"].clone()), (201, json!(false)));
    assert_eq!(code(&fleet.post("/api/v1/skus", sku(1))), Code::LabOnly);
    let sold = body(&fleet.post("/api/v1/skus", sku(0)))["id"].clone();
    let path = format!("/api/v1/skus/{}", sold.as_str().unwrap());
    let dearer = world.patch(&world.operator, &path, 1, json!({"price_micros_per_gpu_hour": 5}));
    assert_eq!(code(&dearer), Code::LabOnly);

    let found = fleet.discovery(&node);
    assert_eq!(found["discovery"]["lab_disks"].as_array().unwrap().len(), 2);
    let disks: Vec<&Value> = found["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["candidate"]["devices"]["nvme_identity"])
        .collect();
    assert_eq!(disks, [&json!("loop:/lab/a.img"), &json!("loop:/lab/b.img")]);
    let approved = fleet.act(&Fleet::path(&node, "/resource-slots/approve-complete"));
    assert_eq!(body(&approved)["approved"].as_array().unwrap().len(), 2, "{}", body(&approved));
    let slot = &body(&approved)["approved"][0];
    assert_eq!((&slot["profile"], &slot["execution"]), (&json!("lab-vm"), &json!("available")));
    assert_eq!(slot.get("gpu_pci_address"), None);
    let tag = json!({"profiles": ["gpuaas-profile-slice-vm"]});
    let of_node = Fleet::path(&node, "");
    assert_eq!(world.patch(&world.operator, &of_node, world.version(&of_node), tag).status, 200);
    let promoted = fleet.act(&Fleet::path(&node, "/promote"));
    assert_eq!(promoted.status, 200, "{}", String::from_utf8_lossy(&promoted.body));

    let wish = json!({"name": "try", "sku_id": sold, "gpu_count": 1, "region_id": world.region});
    let launched = world.post(&world.worker, &format!("/api/v1/projects/{}/allocations", world.acme.project), wish);
    assert_eq!(launched.status, 202, "{}", String::from_utf8_lossy(&launched.body));
    let allocation = body(&launched)["subject_id"].as_str().unwrap().to_owned();
    driven(&fleet, &node, true);
    let shown = body(&world.get(&world.worker, &format!("/api/v1/allocations/{allocation}")));
    assert_eq!(shown["execution"], "provisioning", "{shown}");
    let order = fleet.orders(&node).into_iter().find(|task| task.input.guest().is_some()).unwrap();
    let bundle = order.slots()[0].bundle.clone().unwrap();
    assert_eq!((bundle.gpu, bundle.fabric, bundle.gpu_module_id), (None, None, None));
    assert!(bundle.disk_identity.starts_with("loop:/lab/"));
}

#[test]
fn nothing_is_placed_on_a_laboratory_by_a_plane_that_is_none() {
    let Lab { fleet, node, pool } = lab();
    let world = &fleet.world;
    assert_eq!(fleet.look(&node, &bench())["state"], "succeeded");
    assert_eq!(fleet.post("/api/v1/slot-profiles", profile()).status, 201);
    let sold = body(&fleet.post("/api/v1/skus", sku(0)))["id"].clone();
    assert_eq!(fleet.act(&Fleet::path(&node, "/resource-slots/approve-complete")).status, 200);
    let tag = json!({"profiles": ["gpuaas-profile-slice-vm"]});
    let of_node = Fleet::path(&node, "");
    assert_eq!(world.patch(&world.operator, &of_node, world.version(&of_node), tag).status, 200);
    assert_eq!(fleet.act(&Fleet::path(&node, "/promote")).status, 200);
    let wish = json!({"name": "try", "sku_id": sold, "gpu_count": 1, "region_id": world.region});
    let path = format!("/api/v1/projects/{}/allocations", world.acme.project);
    let launched = world.post(&world.worker, &path, wish.clone());
    assert_eq!(launched.status, 202);
    driven(&fleet, &node, false);
    let allocation = body(&launched)["subject_id"].as_str().unwrap().to_owned();
    let shown = body(&world.get(&world.worker, &format!("/api/v1/allocations/{allocation}")));
    assert_eq!(shown["execution"], "refused");

    let listed = |fleet: &Fleet, who: &crate::world::Actor, path: &str| fleet.world.get(who, path).body;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert!(text(listed(&fleet, &world.viewer, "/api/v1/availability")).contains("\"lab\""));
    let fleet = fleet.through(FrontDoorConfig::default());
    let world = &fleet.world;
    for path in ["/api/v1/pools", "/api/v1/skus", "/api/v1/slot-profiles", "/api/v1/availability"] {
        assert!(!text(listed(&fleet, &world.viewer, path)).contains("\"lab"), "{path}");
    }
    assert!(text(listed(&fleet, &world.operator, "/api/v1/pools")).contains(pool.as_str()));
    assert_eq!(code(&world.post(&world.worker, &path, wish)), Code::LabOnly);
}

#[test]
fn a_laboratorys_slot_has_a_file_and_nothing_that_is_sold() {
    let Lab { fleet, node, .. } = lab();
    assert_eq!(fleet.post("/api/v1/slot-profiles", profile()).status, 201);
    assert_eq!(fleet.look(&node, &bench())["state"], "succeeded");
    let good = json!({"nvme_identity": "loop:/lab/a.img", "mgmt_mac": "02:00:00:00:01:05", "private_ip": "10.99.0.6",
        "fabric_claim_mode": "none"});
    let changed = |field: &str, value: Value| {
        let mut wish = good.clone();
        wish[field] = value;
        rules(&fleet.approve(&node, wish))
    };
    let refused = changed("gpu_pci_address", json!("0000:0f:00.0"));
    assert!(refused.contains(&("/gpu_pci_address".to_owned(), "not_in_lab".to_owned())), "{refused:?}");
    assert_eq!(changed("fabric_claim_mode", json!("per_slot_vf")), broken(&[("/fabric_claim_mode", "not_in_lab")]));
    let real = topology::simulated::trees::wwid(&crate::fleet::spec(1), 0);
    let refused = changed("nvme_identity", json!(real));
    assert!(refused.contains(&("/nvme_identity".to_owned(), "not_on_node".to_owned())), "{refused:?}");
    assert_eq!(fleet.approve(&node, good).status, 201);
}

#[test]
fn what_is_sold_needs_its_gpu_and_its_fabric_whatever_its_agent_says() {
    let fleet = Fleet::new();
    let node = fleet.enrolled("host-01");
    // The agent says that it is a laboratory's; its pool is not.
    assert_eq!(fleet.look(&node, &bench())["state"], "succeeded");
    let file = json!({"nvme_identity": "loop:/lab/a.img", "mgmt_mac": "02:00:00:00:01:05", "private_ip": "10.64.0.6",
        "fabric_claim_mode": "none"});
    let refused = rules(&fleet.approve(&node, file.clone()));
    assert!(refused.contains(&("/gpu_pci_address".to_owned(), "missing".to_owned())), "{refused:?}");
    let mut with_gpu = fleet.wish(&node, 0);
    with_gpu["nvme_identity"] = file["nvme_identity"].clone();
    let refused = rules(&fleet.approve(&node, with_gpu.clone()));
    assert_eq!(refused, broken(&[("/nvme_identity", "not_on_node")]));
    let mut without_fabric = fleet.wish(&node, 0);
    without_fabric["fabric_claim_mode"] = json!("none");
    let made = body(&fleet.approve(&node, without_fabric));
    assert_eq!((&made["execution"], &made["profile"]), (&json!("disabled"), &json!("h200-sxm-slice")));
}
