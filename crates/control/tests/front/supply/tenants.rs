//! What tenants see of supply: how much, never which.

use api::Code;
use serde_json::{Value, json};

use crate::{
    fleet::{Fleet, code},
    world::body,
};

#[test]
fn everybody_reads_what_can_be_had_in_counts() {
    let fleet = Fleet::new();
    let world = &fleet.world;
    let nodes = [fleet.promoted(1), fleet.promoted(2)];
    world.pass(2);
    for who in [&world.worker, &world.viewer, &world.acme.admin, &world.auditor, &world.operator] {
        let response = world.get(who, "/api/v1/availability");
        let told = String::from_utf8_lossy(&response.body).into_owned();
        assert_eq!(response.status, 200, "{told}");
        let mut items = body(&response)["items"].clone();
        let operator = [&world.auditor.secret, &world.operator.secret].contains(&&who.secret);
        for more in ["pools", "skus"] {
            let shown = items[0].as_object_mut().unwrap().remove(more);
            assert_eq!(shown.is_some(), operator, "{more} are for operators");
        }
        assert_eq!(
            items,
            json!([{
                "region_id": world.region, "region": "eu-1", "enabled": true, "gpu_model": "h200-sxm", "slice_gpus": 16,
                "largest_slice_gpus": 8, "whole_nodes": 2, "forecast": [],
                "projected": "16 H200 available in eu-1, largest set on one node 8",
            }])
        );
        for secret in [nodes[0].as_str(), "nod_", "slt_", "0000:", "eui.", "host-", "GPU-", "10.64."] {
            assert!(!told.contains(secret), "{secret} is nobody's business: {told}");
        }
    }
}

#[test]
fn a_disabled_region_is_shown_and_has_nothing() {
    let fleet = Fleet::new();
    fleet.promoted(1);
    let region = format!("/api/v1/regions/{}", fleet.world.region);
    let off = json!({"enabled": false});
    assert_eq!(fleet.world.patch(&fleet.world.operator, &region, fleet.world.version(&region), off).status, 200);
    fleet.world.pass(2);
    let item: Value = fleet.get("/api/v1/availability")["items"][0].clone();
    assert_eq!((&item["enabled"], &item["slice_gpus"], &item["whole_nodes"]), (&json!(false), &json!(0), &json!(0)));
    assert_eq!(item["projected"], "Nothing can be launched in eu-1 now");
}

#[test]
fn an_answer_serves_until_something_changes() {
    let fleet = Fleet::new();
    let gpus = || fleet.get("/api/v1/availability")["items"][0]["slice_gpus"].as_i64().unwrap();
    assert_eq!(gpus(), 0);
    let node = fleet.promoted(1);
    assert_eq!(gpus(), 0, "within the same second it may be old");
    fleet.world.pass(1);
    assert_eq!(gpus(), 8);
    fleet.world.pass(60);
    assert_eq!(gpus(), 8);
    let reason = json!({"reason": "fan"});
    assert_eq!(fleet.post(&Fleet::path(&node, "/drain"), reason).status, 200);
    fleet.world.pass(1);
    assert_eq!(gpus(), 0);
}

#[test]
fn tenants_learn_nothing_of_hosts_and_read_only_operators_change_nothing() {
    let fleet = Fleet::new();
    let world = &fleet.world;
    let node = fleet.approved(1);
    let slot = fleet.slots(&node)[0]["id"].as_str().unwrap().to_owned();
    let reads = [
        Fleet::path(&node, "/slice-topology/discovery"),
        Fleet::path(&node, "/readiness"),
        Fleet::path(&node, "/disk-grants"),
        format!("/api/v1/admin/resource-slots/{slot}"),
    ];
    for path in &reads {
        assert_eq!(code(&world.get(&world.acme.admin, path)), Code::NotFound, "{path}");
        assert_eq!(world.get(&world.auditor, path).status, 200, "{path}");
    }
    for path in [Fleet::path(&node, "/slice-topology/discovery"), format!("/api/v1/admin/resource-slots/{slot}/enable")]
    {
        assert_eq!(code(&world.act(&world.acme.admin, &path)), Code::NotFound, "{path}");
        assert_eq!(code(&world.act(&world.auditor, &path)), Code::Forbidden, "{path}");
    }
}
