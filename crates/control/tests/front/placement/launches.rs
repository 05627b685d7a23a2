//! What is wrong with a launch is said precisely, and nothing is changed by it.

use api::Code;
use control::front_door::{Request, Response};
use serde_json::{Value, json};

use super::live::Live;
use crate::{
    fleet::code,
    world::{World, body},
};

fn send(world: &World, wish: &Value) -> Response {
    world.post(&world.worker, &Live::allocations(&world.acme.project), wish.clone())
}

fn place(response: &Response) -> (Code, String) {
    let problem = response.as_problem().unwrap_or_else(|| panic!("{} is no refusal", response.status));
    let pointer = problem.errors.first().map(|error| error.pointer.clone()).unwrap_or_default();
    (problem.code, pointer)
}

#[test]
fn each_bad_field_is_named_and_nothing_is_launched() {
    let world = World::new();
    let good = json!({"name": "job", "sku_id": world.sku, "gpu_count": 1, "region_id": world.region});
    let with = |name: &str, value: Value| {
        let mut wish = good.clone();
        wish[name] = value;
        wish
    };
    let before = (world.count("SELECT COUNT(*) FROM allocations"), world.audited());
    for count in [3, 5, 6, 7] {
        let refused = send(&world, &with("gpu_count", json!(count)));
        assert_eq!(place(&refused), (Code::NotForSale, "/gpu_count".to_owned()), "{count}");
        assert_eq!(refused.as_problem().unwrap().errors[0].detail, "one of 1, 2, 4, 8");
    }
    for count in [json!(0), json!(-1), json!(9_223_372_036_854_775_808_u64), json!(65), json!(1.5), json!("2")] {
        assert_eq!(
            place(&send(&world, &with("gpu_count", count.clone()))),
            (Code::InvalidBody, "/gpu_count".to_owned()),
            "{count}"
        );
    }
    let absent = |prefix: &str| format!("{prefix}_{}", "0".repeat(26));
    for (field, value, expected) in [
        ("sku_id", json!(absent("sku")), (Code::UnknownReference, "/sku_id")),
        ("region_id", json!(absent("rgn")), (Code::UnknownReference, "/region_id")),
        ("sku_id", json!("slice"), (Code::InvalidBody, "/sku_id")),
        ("name", json!("a'; DROP TABLE allocations; --"), (Code::InvalidBody, "/name")),
        ("name", json!("a\u{1b}[31m"), (Code::InvalidBody, "/name")),
        ("labels", json!([{"key": "team\n", "value": "x"}]), (Code::InvalidBody, "/labels/0/key")),
        ("labels", json!([{"key": "team", "value": "<script>"}]), (Code::InvalidBody, "/labels/0/value")),
        ("labels", json!([{"key": "a", "value": "x"}, {"key": "a", "value": "y"}]), (Code::InvalidBody, "/labels")),
        ("labels", json!({"a": "x"}), (Code::InvalidBody, "/labels")),
        ("lease_ends_at", json!("2026-01-01T00:00:00Z"), (Code::LeaseRefused, "/lease_ends_at")),
        ("lease_ends_at", json!("tomorrow"), (Code::InvalidBody, "/lease_ends_at")),
        ("placement", json!({"spread": "far"}), (Code::InvalidBody, "/placement/spread")),
        ("placement", json!({"pool_id": absent("pol")}), (Code::UnknownReference, "/placement/pool_id")),
        ("placement", json!({"node_id": absent("nod")}), (Code::InvalidBody, "/placement/node_id")),
        ("may_recreate", json!("yes"), (Code::InvalidBody, "/may_recreate")),
    ] {
        let refused = send(&world, &with(field, value.clone()));
        assert_eq!(place(&refused), (expected.0, expected.1.to_owned()), "{field} {value}");
    }
    let labels: Vec<Value> = (0..33).map(|n| json!({"key": format!("l{n}"), "value": "x"})).collect();
    assert_eq!(place(&send(&world, &with("labels", json!(labels)))).1, "/labels");
    let foreign = world.post(&world.worker, &Live::allocations(&world.umbrella.project), good.clone());
    assert_eq!(code(&foreign), Code::NotFound);
    assert_eq!((world.count("SELECT COUNT(*) FROM allocations"), world.audited()), before);
    assert_eq!(send(&world, &good).status, 202, "the rest of it was good");
}

#[test]
fn what_is_disabled_cannot_be_launched() {
    let world = World::new();
    let good = json!({"name": "job", "sku_id": world.sku, "gpu_count": 1, "region_id": world.region});
    for (path, pointer) in [
        (format!("/api/v1/skus/{}", world.sku), "/sku_id"),
        (format!("/api/v1/regions/{}", world.region), "/region_id"),
    ] {
        let change =
            |enabled: bool| world.patch(&world.operator, &path, world.version(&path), json!({"enabled": enabled}));
        assert_eq!(change(false).status, 200);
        assert_eq!(place(&send(&world, &good)), (Code::NotForSale, pointer.to_owned()));
        assert_eq!(change(true).status, 200);
    }
}

#[test]
fn a_field_that_comes_twice_is_refused() {
    let world = World::new();
    let text = format!(
        r#"{{"name": "job", "sku_id": "{}", "gpu_count": 1, "gpu_count": 8, "region_id": "{}"}}"#,
        world.sku, world.region
    );
    let request = Request::new("POST", &Live::allocations(&world.acme.project));
    let refused = world.send(request.bearer(&world.worker.secret).key(&world.key()).json(text));
    assert_eq!(place(&refused), (Code::InvalidBody, "/gpu_count".to_owned()));
}

#[test]
fn the_same_launch_twice_is_one_under_one_key_and_two_under_two() {
    let world = World::new();
    let wish = json!({"name": "job", "sku_id": world.sku, "gpu_count": 1, "region_id": world.region});
    let path = Live::allocations(&world.acme.project);
    let under = |key: &str| {
        let request = Request::new("POST", &path).bearer(&world.worker.secret).key(key);
        world.send(request.json(wish.to_string()))
    };
    let before = world.count("SELECT COUNT(*) FROM allocations");
    let (first, again) = (under("one"), under("one"));
    assert_eq!((first.status, &first.body), (again.status, &again.body));
    assert_eq!(world.count("SELECT COUNT(*) FROM allocations"), before + 1);
    let second = under("two");
    assert_eq!(second.status, 202);
    assert_ne!(body(&second)["subject_id"], body(&first)["subject_id"]);
    assert_eq!(world.count("SELECT COUNT(*) FROM allocations"), before + 2);
    let other = Request::new("POST", &path).bearer(&world.worker.secret).key("one");
    let changed = world
        .send(other.json(
            json!({"name": "other", "sku_id": world.sku, "gpu_count": 1, "region_id": world.region}).to_string(),
        ));
    assert_eq!(code(&changed), Code::IdempotencyKeyReused);
}

#[test]
fn what_was_asked_for_is_shown_and_some_of_it_can_be_changed() {
    let live = Live::new(1);
    let world = live.world();
    let mut wish = live.wish(2);
    wish["labels"] = json!([{"key": "team", "value": "vision"}]);
    wish["placement"] = json!({"group": "web", "spread": "prefer", "co_tenancy": "same_tenant"});
    wish["lease_ends_at"] = json!("2030-01-01T00:00:00Z");
    wish["may_recreate"] = json!(true);
    let id = live.launch(wish);
    let path = format!("/api/v1/allocations/{id}");
    let shown = live.show(&id);
    assert_eq!(shown["labels"], json!([{"key": "team", "value": "vision"}]));
    assert_eq!(shown["placement"], json!({"group": "web", "spread": "prefer", "co_tenancy": "same_tenant"}));
    assert_eq!((&shown["lease_ends_at"], &shown["may_recreate"]), (&json!("2030-01-01T00:00:00.000Z"), &json!(true)));
    let change = json!({"name": "renamed", "labels": [], "may_recreate": false});
    let changed = world.patch(&world.worker, &path, world.version(&path), change);
    assert_eq!(changed.status, 200, "{}", String::from_utf8_lossy(&changed.body));
    let changed = body(&changed);
    assert_eq!(
        (&changed["name"], &changed["labels"], &changed["may_recreate"]),
        (&json!("renamed"), &json!([]), &json!(false))
    );
    assert_eq!(code(&world.patch(&world.viewer, &path, 1, json!({"name": "x"}))), Code::Forbidden);
    assert_eq!(world.act(&world.worker, &format!("{path}/release")).status, 202);
    let late = world.patch(&world.worker, &path, world.version(&path), json!({"name": "x"}));
    assert_eq!(code(&late), Code::StateConflict);
}
