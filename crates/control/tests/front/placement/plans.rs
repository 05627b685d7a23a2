//! Plans, refusals with their numbers, and decisions as owners and operators see them.

use api::Code;
use control::front_door::Request;
use serde_json::json;

use super::live::Live;
use crate::{fleet::code, world::body};

fn plan_path(live: &Live) -> String {
    format!("{}/plan", Live::allocations(&live.world().acme.project))
}

#[test]
fn a_plan_says_what_would_happen_and_changes_nothing() {
    let live = Live::new(2);
    let world = live.world();
    let before = (world.count("SELECT COUNT(*) FROM allocations"), world.audited());
    // A question needs no key and no right to change.
    let ask = |who: &str, wish: serde_json::Value| {
        world.send(Request::new("POST", &plan_path(&live)).bearer(who).json(wish.to_string()))
    };
    let answer = ask(&world.viewer.secret, live.wish(4));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let plan = body(&answer);
    assert_eq!((&plan["admitted"], &plan["fits"], &plan["kind"]), (&json!(true), &json!(true), &json!("half_board")));
    assert_eq!(plan["price"]["micros_per_hour"], 14_000_000);
    assert_eq!(plan["price"]["micros_per_730_hours"], 14_000_000_i64 * 730);
    assert_eq!((&plan["vcpus"], &plan["memory_mib"]), (&json!(96), &json!(262_144)));
    assert!(plan["projected"].as_str().unwrap().contains("half of a board"), "{plan}");
    assert_eq!(plan["checks"].as_array().unwrap().len(), 6);
    let three = body(&ask(&world.worker.secret, live.wish(3)));
    assert_eq!((&three["admitted"], &three["fits"]), (&json!(false), &json!(false)));
    assert!(three["projected"].as_str().unwrap().contains('3'), "{three}");
    let foreign = world.send(
        Request::new("POST", &plan_path(&live)).bearer(&world.umbrella.admin.secret).json(live.wish(1).to_string()),
    );
    assert_eq!(code(&foreign), Code::NotFound);
    let mut bad = live.wish(1);
    bad["sku_id"] = json!("sku_00000000000000000000000000");
    assert_eq!(code(&ask(&world.worker.secret, bad)), Code::UnknownReference);
    assert_eq!((world.count("SELECT COUNT(*) FROM allocations"), world.audited()), before);
}

#[test]
fn what_does_not_fit_is_told_in_numbers_before_and_after() {
    let live = Live::new(1);
    let world = live.world();
    // A second region where it would fit.
    let region =
        body(&world.post(&world.operator, "/api/v1/regions", json!({"slug": "eu-2", "name": "Two", "enabled": true})));
    let pool = json!({"region_id": region["id"], "slug": "other", "name": "Other", "gpu_model": "h200-sxm"});
    assert_eq!(world.post(&world.operator, "/api/v1/pools", pool).status, 201);
    live.run(live.wish(4));
    live.run(live.wish(1));
    let ask = Request::new("POST", &plan_path(&live)).bearer(&world.worker.secret).json(live.wish(2).to_string());
    assert_eq!(body(&world.send(ask))["fits"], true);
    let cap = format!("/api/v1/projects/{}", world.acme.project);
    assert_eq!(world.patch(&world.operator, &cap, world.version(&cap), json!({"gpu_cap": 64})).status, 200);
    let ask = Request::new("POST", &plan_path(&live)).bearer(&world.worker.secret).json(live.wish(4).to_string());
    let plan = body(&world.send(ask));
    assert_eq!((&plan["admitted"], &plan["fits"]), (&json!(true), &json!(false)));
    let refusal = &plan["refusal"];
    assert_eq!(
        (&refusal["code"], &refusal["free_gpus"], &refusal["largest_set_gpus"]),
        (&json!("sku_unavailable"), &json!(3), &json!(2))
    );
    assert!(refusal["unblocks"].as_array().unwrap().iter().any(|unblock| unblock["step"] == "release"), "{refusal}");
    let elsewhere = plan["elsewhere"].as_array().unwrap();
    assert_eq!(elsewhere.len(), 1, "{plan}");
    assert_eq!((&elsewhere[0]["region"], &elsewhere[0]["fits"]), (&json!("eu-2"), &json!(false)));

    let launched = world.post(&world.worker, &Live::allocations(&world.acme.project), live.wish(4));
    let operation = launched.header("Location").unwrap().to_owned();
    let id = body(&launched)["subject_id"].as_str().unwrap().to_owned();
    live.settle();
    let shown = live.show(&id);
    assert_eq!(shown["execution"], "refused");
    assert_eq!(shown["observed"]["refusal"]["largest_set_gpus"], 2);
    assert_eq!(shown["observed"]["refusal"]["free_gpus"], 3);
    let ended = live.fleet.get(&operation);
    assert_eq!((&ended["state"], &ended["error"]["code"]), (&json!("failed"), &json!("sku_unavailable")));
    assert_eq!(ended["error"]["detail"], shown["observed"]["reason"]);
    assert_eq!(ended["error"]["refusal"], shown["observed"]["refusal"]);
}

#[test]
fn owners_see_why_and_operators_see_where() {
    let live = Live::new(2);
    let world = live.world();
    let id = live.run(live.wish(2));
    let path = format!("/api/v1/allocations/{id}/decisions");
    let answer = world.get(&world.viewer, &path);
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let told = body(&answer);
    let items = told["items"].as_array().unwrap();
    let outcomes: Vec<&str> = items.iter().map(|item| item["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["admitted", "placed"]);
    assert_eq!(items[0]["checks"].as_array().unwrap().len(), 6);
    assert_eq!((&items[1]["kind"], &items[1]["considered"]["nodes_fitting"]), (&json!("pair"), &json!(2)));
    let text = String::from_utf8_lossy(&answer.body);
    for node in &live.nodes {
        assert!(!text.contains(node.as_str()), "an owner was told where: {text}");
    }
    assert!(!text.contains("gpu_modules"), "{text}");
    assert_eq!(code(&world.get(&world.umbrella.admin, &path)), Code::NotFound);

    let placed = live.fleet.get(&format!("/api/v1/admin/allocations/{id}/decisions"));
    let best = &placed["items"][1]["places"][0];
    assert!(live.nodes.iter().any(|node| best["node_id"] == node.as_str()), "{placed}");
    assert_eq!(best["gpu_modules"].as_array().unwrap().len(), 2);
    let inspected = live.inspect(&id);
    assert_eq!(inspected["node_id"], best["node_id"]);
    assert_eq!((inspected["claims"].as_array().unwrap().len(), inspected["slots"].as_array().unwrap().len()), (2, 2));
    assert_eq!(inspected["decision"]["decision"]["outcome"], "placed");
    assert_eq!(inspected["tasks"].as_array().unwrap().len(), 1);
    let refused = world.get(&world.acme.admin, &format!("/api/v1/admin/allocations/{id}"));
    assert_eq!(code(&refused), Code::NotFound);
}
