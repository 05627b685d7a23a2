//! Looking at a host and approving slots on it: each rule refuses through the API with its field, incomplete slots stay
//! disabled whoever writes them, and the database has the last word.

use api::{Code, node_plane::TaskReport};
use control::front_door::Response;
use serde_json::{Value, json};
use store::testing::both_engines;
use topology::simulated::{drift, trees};

use crate::{
    fleet::{Fleet, broken, code, healthy, rules, spec, with},
    world::body,
};

#[test]
fn a_host_is_looked_at_once_at_a_time_and_shows_what_it_has() {
    both_engines(|db| {
        let fleet = Fleet::on(db);
        let node = fleet.enrolled("host-01");
        let discovery = Fleet::path(&node, "/slice-topology/discovery");
        let readiness = Fleet::path(&node, "/readiness");
        let operator = &fleet.world.operator;
        assert_eq!(code(&fleet.world.get(operator, &discovery)), Code::NotFound);
        assert_eq!(code(&fleet.world.get(operator, &readiness)), Code::NotFound);
        let ordered = fleet.act(&discovery);
        assert_eq!(ordered.status, 202);
        let operation = body(&ordered);
        assert_eq!((&operation["noun"], &operation["state"]), (&json!("task"), &json!("running")));
        assert_eq!(operation["progress"]["done_steps"], 0);
        assert_eq!(code(&fleet.act(&discovery)), Code::StateConflict, "one is open");
        assert_eq!(fleet.act(&readiness).status, 202, "another kind");
        let orders = fleet.orders(&node);
        assert_eq!(
            orders.iter().map(|task| (task.fence.generation, task.fence.attempt)).collect::<Vec<_>>(),
            [(0, 1); 2]
        );
        let location = ordered.header("Location").unwrap().to_owned();
        assert_eq!(fleet.get(&location)["progress"]["done_steps"], 1, "the agent has it");
        fleet.answer(&node, &healthy(1));
        assert_eq!(fleet.get(&location)["state"], "succeeded");

        let seen = fleet.discovery(&node);
        assert!(!seen.to_string().contains(":null"), "no field is ever null");
        assert_eq!((seen["number"].as_i64(), seen["digest"].as_str().map(str::len)), (Some(1), Some(64)));
        let candidates = seen["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), 8);
        for candidate in candidates {
            assert_eq!(candidate["refusals"], json!([]), "{candidate}");
            assert!(candidate["candidate"]["suggestion"]["ovs_port"].is_string());
        }
        let checks = fleet.get(&readiness);
        assert!(checks["readiness"]["checks"].as_array().unwrap().len() > 10);
        let shown = fleet.get(&Fleet::path(&node, ""));
        assert!(shown["hardware_serial"].is_string(), "{shown}");
        assert_eq!(fleet.look(&node, &healthy(1))["state"], "succeeded");
        let again = fleet.discovery(&node);
        assert_eq!(
            (&again["number"], &again["digest"]),
            (&json!(2), &seen["digest"]),
            "the same host, the same digest"
        );
    });
}

#[test]
fn a_slot_with_anything_missing_is_stored_disabled() {
    let fleet = Fleet::new();
    let node = fleet.known(1);
    let missing = [
        json!({"nvme_identity": null}),
        json!({"mgmt_mac": null}),
        json!({"private_ip": null}),
        json!({"fabric_claim_mode": "none"}),
        json!({"fabric_vf_pci_address": null}),
    ];
    for (at, changes) in missing.into_iter().enumerate() {
        let made = fleet.approve(&node, with(fleet.wish(&node, at), changes.clone()));
        assert_eq!(made.status, 201, "{changes}");
        let slot = body(&made);
        assert_eq!(slot["execution"], "disabled", "{changes}");
        let path = format!("/api/v1/admin/resource-slots/{}", slot["id"].as_str().unwrap());
        assert_eq!(made.header("Location"), Some(path.as_str()));
        let enabled = fleet.act(&format!("{path}/enable"));
        assert_eq!(code(&enabled), Code::SlotRefused, "it is still not complete: {changes}");
    }
    let complete = body(&fleet.approve(&node, fleet.wish(&node, 5)));
    assert_eq!(
        (&complete["execution"], &complete["approved_by"]),
        (&json!("available"), &json!("root@platform.example"))
    );
    assert_eq!((&complete["profile"], &complete["drift"]), (&json!("h200-sxm-slice"), &json!([])));
    let states = fleet.slots(&node);
    assert_eq!(states.iter().filter(|slot| slot["execution"] == "disabled").count(), 5);
}

fn refused(response: &Response, expected: &[(&str, &str)]) {
    assert_eq!(code(response), Code::SlotRefused);
    assert_eq!(rules(response), broken(expected));
}

#[test]
fn what_another_slot_has_is_refused_field_by_field() {
    both_engines(|db| {
        let fleet = Fleet::on(db);
        let (node, other) = (fleet.known(1), fleet.known(2));
        let taken = fleet.wish(&node, 0);
        assert_eq!(fleet.approve(&node, taken.clone()).status, 201);
        let free = fleet.wish(&node, 1);
        for field in ["nvme_identity", "mgmt_mac", "private_ip", "fabric_vf_pci_address"] {
            let wish = with(free.clone(), json!({field: taken[field]}));
            refused(&fleet.approve(&node, wish), &[(&format!("/{field}"), "used_by_other_slot")]);
        }
        let twice = fleet.approve(&node, with(free.clone(), json!({"gpu_pci_address": taken["gpu_pci_address"]})));
        let told = rules(&twice);
        assert_eq!(
            told.iter().filter(|(pointer, rule)| pointer == "/gpu_pci_address" && rule == "used_by_other_slot").count(),
            2
        );
        // Addresses are one space for the whole fleet; places on the bus are each host's own.
        let theirs = fleet.wish(&other, 0);
        for field in ["mgmt_mac", "private_ip"] {
            let wish = with(theirs.clone(), json!({field: taken[field]}));
            refused(&fleet.approve(&other, wish), &[(&format!("/{field}"), "used_by_other_slot")]);
        }
        assert_eq!(theirs["gpu_pci_address"], taken["gpu_pci_address"]);
        assert_eq!(fleet.approve(&other, theirs).status, 201);
        assert_eq!(fleet.slots(&node).len(), 1);
    });
}

#[test]
fn what_the_host_does_not_show_or_cannot_isolate_is_refused() {
    let fleet = Fleet::new();
    let node = fleet.known(1);
    let wish = fleet.wish(&node, 0);
    let port = fleet.discovery(&node)["candidates"][0]["candidate"]["fabric_parent_pci_address"].clone();
    let cases: [(Value, &[(&str, &str)]); 8] = [
        (json!({"gpu_pci_address": "0000:ff:00.0"}), &[("/gpu_pci_address", "not_on_node")]),
        (json!({"gpu_pci_address": "first"}), &[("/gpu_pci_address", "malformed")]),
        (json!({"nvme_identity": "eui.nowhere"}), &[("/nvme_identity", "not_on_node")]),
        (json!({"mgmt_mac": "00:11:22:33:44:55"}), &[("/mgmt_mac", "not_local_unicast")]),
        (json!({"mgmt_mac": "02:11"}), &[("/mgmt_mac", "malformed")]),
        (json!({"private_ip": "192.168.0.1"}), &[("/private_ip", "outside_pool_range")]),
        (json!({"private_ip": "ten"}), &[("/private_ip", "malformed")]),
        (json!({"fabric_vf_pci_address": port}), &[("/fabric_vf_pci_address", "not_a_virtual_function")]),
    ];
    for (changes, expected) in cases {
        let response = fleet.approve(&node, with(wish.clone(), changes.clone()));
        assert_eq!(code(&response), Code::SlotRefused, "{changes}");
        for rule in broken(expected) {
            assert!(rules(&response).contains(&rule), "{changes}: {:?}", rules(&response));
        }
    }
    // A disk that the host's own system is on, whatever anybody grants.
    let system = trees::wwid(&spec(1), 0);
    let grant = json!({"nvme_identity": system, "reason": "we want it"});
    assert_eq!(fleet.post(&Fleet::path(&node, "/disk-grants"), grant).status, 201);
    refused(
        &fleet.approve(&node, with(wish.clone(), json!({"nvme_identity": system}))),
        &[("/nvme_identity", "system_disk")],
    );
    // A GPU that can be handed over only together with a stranger.
    let mut tree = healthy(1);
    let gpu = wish["gpu_pci_address"].as_str().unwrap().parse().unwrap();
    let stranger = fleet.wish(&node, 1)["gpu_pci_address"].as_str().unwrap().parse().unwrap();
    assert!(drift::share_iommu_group(&mut tree, stranger, gpu));
    fleet.look(&node, &tree);
    refused(&fleet.approve(&node, wish), &[("/gpu_pci_address", "iommu_shared")]);
    assert_eq!(fleet.slots(&node).len(), 0);
}

#[test]
fn a_disk_in_use_needs_a_grant_and_is_sold_only_once_it_is_free() {
    let fleet = Fleet::new();
    let node = fleet.known(1);
    let (mounted, formatted) = (fleet.wish(&node, 0), fleet.wish(&node, 1));
    let disk = |wish: &Value| wish["nvme_identity"].as_str().unwrap().to_owned();
    let mut tree = healthy(1);
    assert!(drift::mount_disk(&mut tree, &disk(&mounted), "/data"));
    assert!(drift::format_disk(&mut tree, &disk(&formatted), "xfs"));
    fleet.look(&node, &tree);
    refused(&fleet.approve(&node, mounted.clone()), &[("/nvme_identity", "disk_mounted")]);
    refused(&fleet.approve(&node, formatted.clone()), &[("/nvme_identity", "disk_not_blank")]);
    let grants = Fleet::path(&node, "/disk-grants");
    for wish in [&mounted, &formatted] {
        let grant = json!({"nvme_identity": disk(wish), "reason": "wiped, ticket 4711"});
        assert_eq!(fleet.post(&grants, grant.clone()).status, 201);
        assert_eq!(code(&fleet.post(&grants, grant)), Code::NameTaken);
    }
    let listed = fleet.get(&grants);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(listed["items"][0]["granted_by"], "root@platform.example");
    let slot = body(&fleet.approve(&node, formatted));
    assert_eq!((&slot["execution"], &slot["drift"]), (&json!("available"), &json!([])));
    let slot = body(&fleet.approve(&node, mounted.clone()));
    assert_eq!((&slot["execution"], &slot["drift"][0]["kind"]), (&json!("available"), &json!("disk_mounted")));
    assert!(slot["projected"].as_str().unwrap().contains("not for sale"), "{slot}");
    fleet.look(&node, &healthy(1));
    let free = fleet.get(&format!("/api/v1/admin/resource-slots/{}", slot["id"].as_str().unwrap()));
    assert_eq!(free["drift"], json!([]));
    let gone = fleet.world.delete(&fleet.world.operator, &format!("{grants}/{}", disk(&mounted)), None);
    assert_eq!(gone.status, 204);
    let again = fleet.world.delete(&fleet.world.operator, &format!("{grants}/{}", disk(&mounted)), None);
    assert_eq!(code(&again), Code::NotFound);
}

#[test]
fn nothing_is_approved_on_a_host_that_nobody_looked_at_or_that_is_not_ready() {
    let fleet = Fleet::new();
    let (unseen, seen) = (fleet.enrolled("host-09"), fleet.known(1));
    refused(&fleet.approve(&unseen, fleet.wish(&seen, 0)), &[("", "no_discovery")]);
    let all = fleet.act(&Fleet::path(&unseen, "/resource-slots/approve-complete"));
    assert_eq!(code(&all), Code::StateConflict);
    let broken_host = fleet.enrolled("host-02");
    fleet.look(&broken_host, &trees::half_broken(&spec(2)));
    let refusal = fleet.approve(&broken_host, fleet.wish(&broken_host, 6));
    assert!(rules(&refusal).contains(&(String::new(), "node_not_ready".to_owned())), "{:?}", rules(&refusal));
    let all = body(&fleet.act(&Fleet::path(&broken_host, "/resource-slots/approve-complete")));
    assert_eq!(all["approved"], json!([]));
    let left = all["left"].as_array().unwrap();
    assert_eq!(left.len(), 7, "one GPU is missing on that host");
    assert!(left.iter().all(|candidate| !candidate["refusals"].as_array().unwrap().is_empty()));
}

#[test]
fn every_complete_candidate_is_approved_at_once_and_the_rest_is_told() {
    both_engines(|db| {
        let fleet = Fleet::on(db);
        let node = fleet.known(1);
        let mut tree = healthy(1);
        let disk = fleet.wish(&node, 2)["nvme_identity"].as_str().unwrap().to_owned();
        assert!(drift::format_disk(&mut tree, &disk, "ext4"));
        fleet.look(&node, &tree);
        assert_eq!(fleet.approve(&node, fleet.wish(&node, 0)).status, 201);
        let path = Fleet::path(&node, "/resource-slots/approve-complete");
        let all = body(&fleet.act(&path));
        assert_eq!(
            (all["approved"].as_array().map(Vec::len), all["left"].as_array().map(Vec::len)),
            (Some(6), Some(1))
        );
        assert_eq!(all["left"][0]["refusals"][0]["rule"], "disk_not_blank");
        let again = body(&fleet.act(&path));
        assert_eq!((&again["approved"], again["left"].as_array().map(Vec::len)), (&json!([]), Some(1)));
        let candidates = fleet.discovery(&node)["candidates"].clone();
        let with_slot = candidates.as_array().unwrap().iter().filter(|c| c["slot_id"].is_string()).count();
        assert_eq!(with_slot, 7);
        assert_eq!(fleet.slots(&node).len(), 7);
    });
}

#[test]
fn an_approved_slot_knows_its_switch_and_its_rail_and_learns_them_anew() {
    both_engines(|db| {
        let fleet = Fleet::on(db);
        let node = fleet.approved(1);
        let rows = |fleet: &Fleet| {
            let id = node.clone();
            fleet.world.db.read(move |tx: &mut store::Tx<'_>| store::slots::of_node(tx, &id)).unwrap()
        };
        // On this board every GPU has a switch of its own, with a port of the fabric beside it.
        let mut places = rows(&fleet);
        places.sort_by(|a, b| a.parts.gpu_pci_address.cmp(&b.parts.gpu_pci_address));
        for (slot, number) in places.iter().zip(0i64..) {
            assert_eq!((slot.parts.pcie_switch, slot.parts.rail), (Some(number), Some(number)), "{:?}", slot.parts);
        }
        assert!(places.len() > 1);
        // A row from before these were kept has none; approving it again fills them in.
        let forget = "UPDATE node_resource_slots SET pcie_switch = NULL, rail = NULL";
        fleet.world.db.write(move |tx: &mut store::Tx<'_>| tx.execute(forget, &[])).unwrap();
        assert!(rows(&fleet).iter().all(|slot| slot.parts.pcie_switch.is_none() && slot.parts.rail.is_none()));
        let slot = &places[1];
        let at = fleet.discovery(&node)["candidates"]
            .as_array()
            .and_then(|all| all.iter().position(|candidate| candidate["slot_id"] == slot.id.as_str()))
            .unwrap();
        let path = format!("/api/v1/admin/resource-slots/{}/approve", slot.id);
        let request = control::front_door::Request::new("POST", &path).bearer(&fleet.world.operator.secret);
        let request = request.key(&fleet.world.key()).if_match(slot.version);
        let again = fleet.world.send(request.json(fleet.wish(&node, at).to_string()));
        assert_eq!(again.status, 200, "{}", body(&again));
        let known = rows(&fleet).into_iter().find(|row| row.id == slot.id).unwrap();
        assert_eq!((known.parts.pcie_switch, known.parts.rail), (Some(1), Some(1)));
    });
}

#[test]
fn a_report_about_another_nodes_devices_is_refused_whole() {
    both_engines(|db| {
        let fleet = Fleet::on(db);
        fleet.approved(1);
        let liar = fleet.enrolled("liar");
        let ended = fleet.look(&liar, &healthy(1));
        assert_eq!(ended["state"], "failed");
        assert!(ended["error"]["detail"].as_str().unwrap().contains("belongs to"), "{ended}");
        let unseen = fleet.world.get(&fleet.world.operator, &Fleet::path(&liar, "/slice-topology/discovery"));
        assert_eq!(code(&unseen), Code::NotFound, "nothing of it is kept");
        assert_eq!(fleet.world.count("SELECT COUNT(*) FROM node_devices"), 8 + 10, "8 GPUs and 10 disks of one host");
        // Only a disk of it, before anybody approved it: refused all the same.
        let honest = fleet.known(3);
        let mut tree = healthy(4);
        assert!(drift::replace_disk(&mut tree, &trees::wwid(&spec(4), 3), &trees::wwid(&spec(3), 3)));
        assert_eq!(fleet.look(&liar, &tree)["state"], "failed");
        // Hardware does move between hosts: what a node that is out of use had can be taken over.
        let retired = fleet.post(&Fleet::path(&honest, "/disable"), json!({"reason": "cannibalised"}));
        assert_eq!(retired.status, 200);
        assert_eq!(fleet.look(&liar, &tree)["state"], "succeeded");
        assert_eq!(fleet.look(&honest, &healthy(3))["state"], "failed", "and has it from then on");
    });
}

#[test]
fn a_report_of_another_kind_ends_the_order_and_changes_nothing() {
    let fleet = Fleet::new();
    let node = fleet.enrolled("host-01");
    let ordered = fleet.act(&Fleet::path(&node, "/readiness"));
    let [order] = fleet.orders(&node).try_into().unwrap();
    let report = TaskReport::SliceTopologyDiscover(Box::new(topology::discover(&healthy(1))));
    fleet.say(&node, &order, Some(report));
    assert_eq!(fleet.get(ordered.header("Location").unwrap())["state"], "failed");
    assert_eq!(fleet.world.count("SELECT COUNT(*) FROM node_discoveries"), 0);
}

#[test]
fn a_slot_is_taken_out_put_back_and_given_other_devices() {
    let fleet = Fleet::new();
    let node = fleet.known(1);
    let wish = fleet.wish(&node, 0);
    let made = body(&fleet.approve(&node, wish.clone()));
    let path = format!("/api/v1/admin/resource-slots/{}", made["id"].as_str().unwrap());
    let reason = json!({"reason": "fan replaced"});
    let out = body(&fleet.post(&format!("{path}/disable"), reason.clone()));
    assert_eq!((&out["execution"], &out["health_detail"]), (&json!("disabled"), &json!("fan replaced")));
    assert_eq!(code(&fleet.post(&format!("{path}/disable"), reason)), Code::StateConflict);
    let back = body(&fleet.act(&format!("{path}/enable")));
    assert_eq!(back["execution"], "available");
    assert_eq!(code(&fleet.act(&format!("{path}/enable"))), Code::StateConflict);
    assert_eq!(code(&fleet.act(&format!("{path}/repair"))), Code::StateConflict, "it is clean");

    let spare = fleet.wish(&node, 1);
    let send = |version: i64, wish: &Value| {
        let request = control::front_door::Request::new("POST", &format!("{path}/approve"));
        let request = request.bearer(&fleet.world.operator.secret).key(&fleet.world.key()).if_match(version);
        fleet.world.send(request.json(wish.to_string()))
    };
    let other_disk = with(wish.clone(), json!({"nvme_identity": spare["nvme_identity"]}));
    assert_eq!(code(&send(1, &other_disk)), Code::StaleVersion);
    let changed = send(fleet.world.version(&path), &other_disk);
    assert_eq!(changed.status, 200, "{}", String::from_utf8_lossy(&changed.body));
    let changed = body(&changed);
    assert_eq!((&changed["execution"], &changed["nvme_identity"]), (&json!("available"), &spare["nvme_identity"]));
    let without = send(fleet.world.version(&path), &with(wish.clone(), json!({"private_ip": null})));
    assert_eq!(body(&without)["execution"], "disabled");
    let bad = send(fleet.world.version(&path), &with(wish, json!({"private_ip": "1.1.1.1"})));
    refused(&bad, &[("/private_ip", "outside_pool_range")]);
}
