//! Slot profiles and the SKUs that are made of them.

use api::Code;
use serde_json::{Value, json};

use crate::{
    fleet::{Fleet, broken, code, rules},
    world::{World, body},
};

fn profile(slug: &str) -> Value {
    json!({"slug": slug, "name": "Slice", "gpu_model": "h200-sxm", "vcpus": 24, "memory_mib": 65536})
}

fn sku(slug: &str, changes: Value) -> Value {
    let mut sku = json!({
        "slug": slug, "name": "Slice", "shape": "gpu_slice", "gpu_model": "h200-sxm", "gpu_counts": [1, 2, 4, 8],
        "profile": "h200-slot", "price_micros_per_gpu_hour": 1
    });
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            sku.as_object_mut().unwrap().remove(name);
        } else {
            sku[name] = value.clone();
        }
    }
    sku
}

#[test]
fn a_sku_follows_its_profile() {
    let world = World::new();
    let made = world.post(&world.operator, "/api/v1/slot-profiles", profile("h200-slot"));
    assert_eq!(made.status, 201, "{}", String::from_utf8_lossy(&made.body));
    assert_eq!(code(&world.post(&world.operator, "/api/v1/slot-profiles", profile("h200-slot"))), Code::NameTaken);
    assert_eq!(code(&world.post(&world.acme.admin, "/api/v1/slot-profiles", profile("mine"))), Code::Forbidden);
    let made = body(&world.post(&world.operator, "/api/v1/skus", sku("of-profile", json!({}))));
    assert_eq!((&made["vcpus_per_gpu"], &made["memory_mib_per_gpu"]), (&json!(24), &json!(65536)));
    assert_eq!(made["profile"], "h200-slot");
    let path = "/api/v1/slot-profiles/h200-slot";
    let changed = world.patch(&world.operator, path, world.version(path), json!({"vcpus": 32}));
    assert_eq!(changed.status, 200);
    assert_eq!(body(&changed)["vcpus"], 32);
    let follows = body(&world.get(&world.viewer, &format!("/api/v1/skus/{}", made["id"].as_str().unwrap())));
    assert_eq!((&follows["vcpus_per_gpu"], &follows["version"]), (&json!(32), &json!(2)));
    assert_eq!(body(&world.get(&world.viewer, "/api/v1/slot-profiles"))["items"].as_array().unwrap().len(), 1);
    assert_eq!(code(&world.get(&world.viewer, "/api/v1/slot-profiles/nothing")), Code::NotFound);
}

#[test]
fn a_sku_says_what_it_is_made_of_in_one_way() {
    let world = World::new();
    assert_eq!(world.post(&world.operator, "/api/v1/slot-profiles", profile("h200-slot")).status, 201);
    let refused = |changes: Value| {
        let response = world.post(&world.operator, "/api/v1/skus", sku("s", changes));
        let problem = response.as_problem().unwrap();
        (problem.code, problem.errors[0].pointer.clone())
    };
    for counts in [json!([3]), json!([1, 6]), json!([16])] {
        assert_eq!(refused(json!({"gpu_counts": counts})), (Code::InvalidBody, "/gpu_counts".to_owned()));
    }
    assert_eq!(refused(json!({"vcpus_per_gpu": 1})), (Code::InvalidBody, "/vcpus_per_gpu".to_owned()));
    assert_eq!(refused(json!({"profile": null})), (Code::InvalidBody, "/vcpus_per_gpu".to_owned()));
    assert_eq!(refused(json!({"shape": "baremetal"})), (Code::InvalidBody, "/profile".to_owned()));
    assert_eq!(refused(json!({"profile": "nothing"})), (Code::UnknownReference, "/profile".to_owned()));
    assert_eq!(refused(json!({"gpu_model": "a100-sxm"})), (Code::UnknownReference, "/profile".to_owned()));
    let whole = sku(
        "whole",
        json!({"shape": null, "profile": null, "gpu_counts": [8], "vcpus_per_gpu": 24, "memory_mib_per_gpu": 1}),
    );
    let made = world.post(&world.operator, "/api/v1/skus", whole);
    assert_eq!((made.status, &body(&made)["shape"]), (201, &json!("baremetal")), "a whole node unless said");
}

#[test]
fn a_slot_has_the_disk_that_its_profile_asks_for() {
    let fleet = Fleet::new();
    let node = fleet.known(1);
    let wish = fleet.wish(&node, 0);
    let mut slice = profile("h200-sxm-slice");
    slice["min_disk_bytes"] = json!(9_007_199_254_740_991_i64);
    assert_eq!(fleet.post("/api/v1/slot-profiles", slice).status, 201);
    let refused = fleet.approve(&node, wish.clone());
    assert_eq!(rules(&refused), broken(&[("/nvme_identity", "disk_too_small")]));
    let path = "/api/v1/slot-profiles/h200-sxm-slice";
    let smaller = json!({"min_disk_bytes": 1});
    assert_eq!(fleet.world.patch(&fleet.world.operator, path, fleet.world.version(path), smaller).status, 200);
    let made = fleet.approve(&node, wish);
    assert_eq!((made.status, &body(&made)["profile"]), (201, &json!("h200-sxm-slice")));
}
