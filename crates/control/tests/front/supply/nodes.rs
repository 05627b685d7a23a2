//! What operators want of a node: profile, promotion, draining, taking out of use, and the posture that follows.

use api::Code;
use serde_json::{Value, json};
use topology::simulated::trees;

use crate::{
    fleet::{Fleet, code, healthy, spec},
    world::body,
};

fn posture(fleet: &Fleet, path: &str) -> (Value, Value) {
    let shown = fleet.get(path);
    (shown["posture"].clone(), shown["projected"].clone())
}

#[test]
fn a_node_is_promoted_only_with_intent_evidence_and_a_slot() {
    let fleet = Fleet::new();
    let node = fleet.enrolled("host-01");
    let (path, promote) = (Fleet::path(&node, ""), Fleet::path(&node, "/promote"));
    let needs = || -> Vec<String> {
        let refused = fleet.act(&promote);
        assert_eq!(code(&refused), Code::NodeNotReady);
        let told: Vec<String> = refused.as_problem().unwrap().errors.into_iter().map(|error| error.detail).collect();
        let shown: Vec<String> = serde_json::from_value(fleet.get(&path)["promotion_needs"].clone()).unwrap();
        assert_eq!(told, shown, "the same words in both places");
        told
    };
    let subjects = |needs: Vec<String>| -> Vec<String> {
        needs.iter().map(|need| need.split(':').next().unwrap().to_owned()).collect()
    };
    assert_eq!(subjects(needs()), ["profile", "readiness", "slots"]);
    let operator = &fleet.world.operator;
    let profile = json!({"profiles": ["gpuaas-profile-slice-vm"]});
    let twice = json!({"profiles": ["gpuaas-profile-slice-vm", "gpuaas-profile-slice-vm"]});
    assert_eq!(code(&fleet.world.patch(operator, &path, 1, twice)), Code::InvalidBody);
    assert_eq!(code(&fleet.world.patch(operator, &path, 1, profile.clone())), Code::StaleVersion);
    let updated = fleet.world.patch(operator, &path, fleet.world.version(&path), profile);
    assert_eq!(body(&updated)["profiles"], json!(["gpuaas-profile-slice-vm"]));
    assert_eq!(subjects(needs()), ["readiness", "slots"]);
    fleet.look(&node, &trees::half_broken(&spec(1)));
    let gaps = subjects(needs());
    assert!(gaps.contains(&"ovs".to_owned()) && gaps.contains(&"iommu".to_owned()), "{gaps:?}");
    fleet.look(&node, &healthy(1));
    assert_eq!(subjects(needs()), ["slots"]);
    assert_eq!(fleet.approve(&node, fleet.wish(&node, 0)).status, 201);
    assert_eq!(fleet.get(&path)["promotion_needs"], json!([]));
    fleet.world.pass(24 * 3600 + 1);
    assert_eq!(promotion_needs_now(&fleet, &node), ["readiness"], "evidence of yesterday is none");
}

// After a day the operator's token has run out; what is needed is the same view, read without it.
fn promotion_needs_now(fleet: &Fleet, node: &model::NodeId) -> Vec<String> {
    let (id, now) = (node.clone(), fleet.world.ports.now());
    let view = fleet
        .world
        .db
        .read(move |tx: &mut store::Tx<'_>| {
            let row = store::nodes::get(tx, &id)?.unwrap();
            let mode = store::claims::occupancy(tx, &id)?;
            let standing = store::standing::of(tx, &id)?;
            control::views::node(row, mode, &standing, now)
        })
        .unwrap();
    view.promotion_needs.iter().map(|need| need.split(':').next().unwrap().to_owned()).collect()
}

#[test]
fn promotion_opens_a_node_for_slices_and_demotion_closes_it() {
    let fleet = Fleet::new();
    let node = fleet.approved(1);
    let gpus = || {
        fleet.world.pass(2);
        fleet.get("/api/v1/availability")["items"][0]["slice_gpus"].as_i64().unwrap()
    };
    assert_eq!(gpus(), 0, "slice use is off until it is promoted");
    let path = Fleet::path(&node, "");
    let profile = json!({"profiles": ["gpuaas-profile-slice-vm"]});
    fleet.world.patch(&fleet.world.operator, &path, fleet.world.version(&path), profile);
    assert_eq!(fleet.act(&format!("{path}/promote")).status, 200);
    assert_eq!(gpus(), 8);
    assert_eq!(code(&fleet.act(&format!("{path}/promote"))), Code::StateConflict);
    let reason = json!({"reason": "firmware update"});
    let demoted = fleet.post(&format!("{path}/demote"), reason.clone());
    assert!(body(&demoted).get("promoted_at").is_none());
    assert_eq!(gpus(), 0);
    assert_eq!(code(&fleet.post(&format!("{path}/demote"), reason)), Code::StateConflict);
}

#[test]
fn a_node_is_drained_disabled_and_put_back_and_its_posture_says_so() {
    let fleet = Fleet::new();
    let node = fleet.promoted(1);
    let path = Fleet::path(&node, "");
    let word = || posture(&fleet, &path).0;
    assert_eq!(posture(&fleet, &path), (json!("fully_available"), json!("All 8 slots are free.")));
    let reason = json!({"reason": "fan replaced"});
    let drained = body(&fleet.post(&format!("{path}/drain"), reason.clone()));
    assert_eq!((&drained["desired"], &drained["desired_reason"]), (&json!("drained"), &json!("fan replaced")));
    assert_eq!(word(), "draining");
    assert_eq!(code(&fleet.post(&format!("{path}/drain"), reason.clone())), Code::StateConflict);
    fleet.world.pass(2);
    assert_eq!(fleet.get("/api/v1/availability")["items"][0]["slice_gpus"], 0);
    assert_eq!(body(&fleet.act(&format!("{path}/undrain")))["desired"], "in_service");
    assert_eq!(code(&fleet.act(&format!("{path}/undrain"))), Code::StateConflict);
    assert_eq!(fleet.post(&format!("{path}/disable"), reason.clone()).status, 200);
    assert_eq!(word(), "unavailable");
    assert_eq!(code(&fleet.act(&format!("{path}/repair"))), Code::StateConflict);
    assert_eq!(code(&fleet.post(&format!("{path}/disable"), reason.clone())), Code::StateConflict);
    assert_eq!(code(&fleet.post(&format!("{path}/drain"), reason)), Code::StateConflict);
    assert_eq!(fleet.act(&format!("{path}/undrain")).status, 200);
    assert_eq!(word(), "fully_available");
    // The list says the same as the node itself.
    let listed = fleet.get("/api/v1/admin/nodes");
    let in_list = listed["items"].as_array().unwrap().iter().find(|item| item["id"] == json!(node)).unwrap().clone();
    assert_eq!(in_list, fleet.get(&path));
}

#[test]
fn a_repair_looks_at_the_host_anew() {
    let fleet = Fleet::new();
    let node = fleet.promoted(1);
    let path = Fleet::path(&node, "");
    assert_eq!(fleet.act(&format!("{path}/repair")).status, 200);
    assert_eq!(fleet.orders(&node).len(), 1);
    assert_eq!(fleet.act(&format!("{path}/repair")).status, 200, "one that is open will do");
    assert_eq!(fleet.orders(&node).len(), 1);
    fleet.answer(&node, &healthy(1));
    assert_eq!(fleet.discovery(&node)["number"], 2);
}
