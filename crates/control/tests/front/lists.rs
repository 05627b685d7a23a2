//! Pages: complete, without repeats, and only what the caller may see.

use api::Code;
use serde_json::json;

use crate::world::{Actor, World, body};

fn walk(world: &World, who: &Actor, path: &str, size: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = format!("{path}?page_size={size}");
    loop {
        let response = world.get(who, &next);
        assert_eq!(response.status, 200, "{next}");
        let page = body(&response);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= size);
        found.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        let link = response.header("Link").map(str::to_owned);
        assert_eq!(link.is_some(), page["next_page_token"].is_string());
        let Some(link) = link else { return found };
        next = link.strip_prefix('<').unwrap().split('>').next().unwrap().to_owned();
    }
}

#[test]
fn pages_add_up_to_the_list() {
    let world = World::new();
    for number in 0..7 {
        let wish = json!({"slug": format!("p{number}"), "name": "P", "gpu_cap": 0});
        world.post(&world.acme.admin, &format!("/api/v1/tenants/{}/projects", world.acme.tenant), wish);
    }
    let path = format!("/api/v1/tenants/{}/projects", world.acme.tenant);
    let whole = walk(&world, &world.acme.admin, &path, 200);
    assert_eq!(whole.len(), 8);
    assert!(whole.is_sorted());
    for size in [1, 3, 8] {
        assert_eq!(walk(&world, &world.acme.admin, &path, size), whole);
    }
    assert_eq!(walk(&world, &world.worker, &path, 3), [world.acme.project.to_string()], "one project is theirs");
}

#[test]
fn a_page_token_belongs_to_its_list_and_its_caller() {
    let world = World::new();
    let page = body(&world.get(&world.operator, "/api/v1/tenants?page_size=1"));
    let token = page["next_page_token"].as_str().unwrap();
    let again = |who: &Actor, path: &str| world.get(who, &format!("{path}?page_token={token}"));
    assert_eq!(again(&world.operator, "/api/v1/tenants").status, 200);
    for refused in [again(&world.operator, "/api/v1/regions"), again(&world.auditor, "/api/v1/tenants")] {
        assert_eq!(refused.as_problem().unwrap().code, Code::InvalidPageToken);
    }
}

#[test]
fn lists_show_what_the_caller_may_see() {
    let world = World::new();
    let count = |who: &Actor, path: &str| walk(&world, who, path, 50).len();
    assert_eq!(count(&world.operator, "/api/v1/tenants"), 2);
    assert_eq!(count(&world.auditor, "/api/v1/tenants"), 2);
    for who in [&world.acme.admin, &world.worker, &world.viewer] {
        assert_eq!(walk(&world, who, "/api/v1/tenants", 50), [world.acme.tenant.to_string()]);
        assert_eq!(walk(&world, who, "/api/v1/operations", 50), [world.acme.operation.to_string()]);
    }
    let allocations = format!("/api/v1/projects/{}/allocations", world.acme.project);
    assert_eq!(walk(&world, &world.worker, &allocations, 50), [world.acme.allocation.to_string()]);
    let members = format!("/api/v1/tenants/{}/members", world.acme.tenant);
    assert_eq!(count(&world.acme.admin, &members), 4);
    assert_eq!(count(&world.worker, &members), 2, "those of the project");
}

#[test]
fn events_are_numbered_filtered_and_resumable() {
    let world = World::new();
    world.write(|tx, _| store::events::number_batch(tx, 10_000));
    let page = |who: &Actor, after: i64, size: i64| {
        body(&world.get(who, &format!("/api/v1/events?after={after}&page_size={size}")))
    };
    let all = page(&world.operator, 0, 200);
    let sequences: Vec<i64> =
        all["items"].as_array().unwrap().iter().map(|e| e["sequence"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(sequences, (1..=all["head"].as_i64().unwrap()).collect::<Vec<_>>(), "dense from 1");
    let event = &all["items"][0];
    assert_eq!((&event["specversion"], &event["source"]), (&json!("1.0"), &json!("urn:gpuaas:store:test")));
    let mine = page(&world.acme.admin, 0, 200);
    let own = json!(world.acme.tenant);
    assert!(!mine["items"].as_array().unwrap().is_empty());
    assert!(mine["items"].as_array().unwrap().iter().all(|event| event["data"]["tenant_id"] == own));
    assert_eq!(mine["next_after"], all["head"], "a filtered page still goes on from the end");
    let (mut after, mut seen) = (0, 0);
    loop {
        let some = page(&world.acme.admin, after, 2);
        seen += some["items"].as_array().unwrap().len();
        after = some["next_after"].as_i64().unwrap();
        if after >= some["head"].as_i64().unwrap() {
            break;
        }
    }
    assert_eq!(seen, mine["items"].as_array().unwrap().len());
}
