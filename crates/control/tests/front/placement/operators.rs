//! Occupancy, availability with its forecast, usage, and the backfill of claims.

use api::Code;
use serde_json::json;
use store::Tx;

use super::live::Live;
use crate::{fleet::code, world::body};

#[test]
fn operators_see_how_full_pools_are_and_everybody_what_comes_back() {
    let live = Live::new(2);
    let world = live.world();
    let mut wish = live.wish(4);
    wish["lease_ends_at"] = json!(world.ports.now().plus_seconds(7_200).to_string());
    live.run(wish);
    let full = live.fleet.get("/api/v1/admin/occupancy");
    let pool = &full["items"][0];
    assert_eq!(
        (&pool["gpus_held"], &pool["gpus_free"], &pool["largest_slice_gpus"]),
        (&json!(4), &json!(12), &json!(8))
    );
    let postures: i64 = pool["postures"].as_array().unwrap().iter().map(|count| count["nodes"].as_i64().unwrap()).sum();
    assert_eq!(postures, 3, "every node has one: {pool}");
    assert_eq!(code(&world.get(&world.acme.admin, "/api/v1/admin/occupancy")), Code::Forbidden);
    let seen = body(&world.get(&world.viewer, "/api/v1/availability"));
    let here = &seen["items"][0];
    assert_eq!((&here["slice_gpus"], &here["forecast"][0]["gpus"]), (&json!(12), &json!(4)));
    assert!(here["projected"].as_str().unwrap().contains("; 4 more at "), "{here}");
    assert!(here["pools"].is_null() && here["skus"].is_null(), "only operators see pools: {here}");
    let detailed = &live.fleet.get("/api/v1/availability")["items"][0];
    assert_eq!(detailed["pools"][0]["slice_gpus"], 12);
    assert_eq!(detailed["skus"][0]["gpu_counts"], json!([1, 2, 4, 8]));
}

#[test]
fn usage_is_told_claim_by_claim_with_the_price_of_then() {
    let live = Live::new(1);
    let world = live.world();
    let id = live.run(live.wish(2));
    world.pass(1_800);
    live.settle();
    let path = format!("/api/v1/projects/{}/usage", world.acme.project);
    let open = body(&world.get(&world.viewer, &path));
    let items = open["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    for item in items {
        assert_eq!(
            (&item["allocation_id"], &item["gpus"], &item["micros"]),
            (&json!(id), &json!(1), &json!(1_750_000))
        );
        assert!(item["to"].is_null());
    }
    assert_eq!(world.act(&world.worker, &format!("/api/v1/allocations/{id}/release")).status, 202);
    live.work();
    world.pass(3_600);
    let ended = body(&world.get(&world.viewer, &format!("{path}?page_size=1")));
    assert_eq!(ended["items"][0]["micros"], 1_750_000, "time after the end costs nothing");
    assert!(ended["items"][0]["to"].is_string() && ended["next_page_token"].is_string());
    let from = world.ports.now().plus_seconds(-60);
    let later = body(&world.get(&world.viewer, &format!("{path}?from={from}")));
    assert_eq!(later["items"], json!([]), "nothing was held then");
    assert_eq!(code(&world.get(&world.umbrella.admin, &path)), Code::NotFound);
    assert_eq!(code(&world.get(&world.viewer, &format!("{path}?from=yesterday"))), Code::InvalidParameter);
}

fn lose_claims(live: &Live, id: &str) {
    let id = id.to_owned();
    live.world().write(move |tx: &mut Tx<'_>, _| {
        tx.execute("DELETE FROM allocation_resource_claims WHERE allocation_id = $1", &[id.as_str().into()])?;
        tx.execute(
            "UPDATE node_occupancy SET mode = 'free' WHERE NOT EXISTS (SELECT 1 FROM allocation_resource_claims c \
             WHERE c.node_id = node_occupancy.node_id AND c.active_mode IS NOT NULL)",
            &[],
        )
    });
}

#[test]
fn claims_that_are_missing_are_filled_in_once() {
    let live = Live::new(2);
    let world = live.world();
    let whole = json!({
        "slug": "whole", "name": "Whole", "gpu_model": "h200-sxm", "gpu_counts": [8], "vcpus_per_gpu": 24,
        "memory_mib_per_gpu": 1, "price_micros_per_gpu_hour": 1
    });
    let sku = body(&world.post(&world.operator, "/api/v1/skus", whole))["id"].clone();
    let cap = format!("/api/v1/projects/{}", world.acme.project);
    assert_eq!(world.patch(&world.operator, &cap, world.version(&cap), json!({"gpu_cap": 64})).status, 200);
    let slice = live.run(live.wish(2));
    let mut wish = live.wish(8);
    wish["sku_id"] = sku;
    let metal = live.run(wish);
    let asked = |dry_run: bool| {
        let answer = live.fleet.post("/api/v1/admin/claims/backfill", json!({"dry_run": dry_run}));
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        body(&answer)
    };
    let backfill = || asked(false);
    assert_eq!(backfill(), json!({"claimed": [], "left": []}), "nothing is missing");
    lose_claims(&live, &slice);
    lose_claims(&live, &metal);
    assert_ne!(control::auditor::check(&world.db, 10).unwrap(), []);
    let tried = asked(true);
    assert_ne!(control::auditor::check(&world.db, 10).unwrap(), [], "it was only tried");
    let filled = backfill();
    assert_eq!(filled, tried);
    let claims: Vec<(&str, i64)> = filled["claimed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["allocation_id"].as_str().unwrap(), one["claims"].as_i64().unwrap()))
        .collect();
    assert_eq!(claims, [(slice.as_str(), 2), (metal.as_str(), 1)]);
    assert_eq!(filled["left"], json!([]));
    assert_eq!(backfill(), json!({"claimed": [], "left": []}), "doing it again does nothing");
    assert_eq!(live.inspect(&slice)["claims"].as_array().unwrap().len(), 2);
    assert_eq!(
        code(&world.post(&world.acme.admin, "/api/v1/admin/claims/backfill", json!({"dry_run": true}))),
        Code::Forbidden
    );
    // What lost its claims for good cannot take those of another.
    lose_claims(&live, &slice);
    let other = live.run(live.wish(1));
    let node = live.inspect(&other)["node_id"].as_str().unwrap().to_owned();
    let id = slice.clone();
    live.world().write(move |tx: &mut Tx<'_>, _| {
        tx.execute(
            "UPDATE allocations SET node_id = $2 WHERE id = $1",
            &[id.as_str().into(), "nod_00000000000000000000000000".into()],
        )
    });
    let left = backfill();
    assert_eq!(left["left"][0]["allocation_id"], json!(slice), "{left}");
    assert!(left["left"][0]["because"].as_str().unwrap().contains("node"), "{left} {node}");
}
