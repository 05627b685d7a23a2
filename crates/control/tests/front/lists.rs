//! Pages: complete, without repeats, and only what the caller may see.

use api::Code;
use serde_json::{Value, json};
use store::testing::both_engines;

use crate::{
    fleet::{Fleet, code},
    world::{Actor, World, body},
};

fn walk(world: &World, who: &Actor, path: &str, size: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = format!("{path}{}page_size={size}", if path.contains('?') { '&' } else { '?' });
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

#[test]
fn operators_read_the_slots_of_the_whole_fleet() {
    both_engines(|db| {
        let fleet = Fleet::on(db);
        let world = &fleet.world;
        let nodes = [fleet.approved(1), fleet.approved(2)];
        let mut slots: Vec<Value> = nodes.iter().flat_map(|node| fleet.slots(node)).collect();
        slots.sort_by_key(|slot| slot["id"].to_string());
        let path = "/api/v1/admin/resource-slots";
        let ids =
            |slots: &[Value]| slots.iter().map(|slot| slot["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        for (who, size) in [(&world.operator, 1000), (&world.auditor, 5), (&world.operator, 16)] {
            assert_eq!(walk(world, who, path, size), ids(&slots), "{size} at a time");
        }
        let first = &slots[0];
        let cell = &fleet.get(&format!("{path}?page_size=1"))["items"][0];
        let wanted = json!({
            "id": first["id"], "node_id": first["node_id"], "gpu_module_id": first["gpu_module_id"],
            "execution": "available", "drifted": false,
        });
        assert_eq!(*cell, wanted, "nobody holds it");

        let out = first["id"].as_str().unwrap();
        let disabled = fleet.post(&format!("{path}/{out}/disable"), json!({"reason": "fan"}));
        assert_eq!(disabled.status, 200);
        assert_eq!(walk(world, &world.operator, &format!("{path}?state=disabled"), 5), [out]);
        assert_eq!(walk(world, &world.operator, &format!("{path}?state=available"), 4), ids(&slots[1..]));
        assert_eq!(walk(world, &world.operator, &format!("{path}?pool_id={}&state=disabled", world.pool), 5), [out]);
        let region = json!(world.region);
        let other = json!({"region_id": region, "slug": "other", "name": "Other", "gpu_model": "h200-sxm"});
        let other = body(&fleet.post("/api/v1/pools", other))["id"].as_str().unwrap().to_owned();
        assert_eq!(walk(world, &world.operator, &format!("{path}?pool_id={other}"), 5), [""; 0]);
    });
}

#[test]
fn operators_read_the_allocations_of_all_projects() {
    both_engines(|db| {
        let world = World::on(db);
        let path = "/api/v1/admin/allocations";
        let mut both = vec![world.acme.allocation.to_string(), world.umbrella.allocation.to_string()];
        both.sort();
        for (who, size) in [(&world.operator, 1), (&world.auditor, 50)] {
            assert_eq!(walk(&world, who, path, size), both);
        }
        let found = |filters: &str| walk(&world, &world.auditor, &format!("{path}?{filters}"), 1);
        assert_eq!(found(&format!("tenant_id={}", world.acme.tenant)), [world.acme.allocation.to_string()]);
        assert_eq!(found("state=requested"), both);
        assert_eq!(found("state=running"), [""; 0]);
        let foreign = format!("tenant_id={}&state=requested", world.umbrella.tenant);
        assert_eq!(found(&foreign), [world.umbrella.allocation.to_string()]);
        let shown = body(&world.get(&world.operator, &format!("/api/v1/allocations/{}", both[0])));
        assert_eq!(body(&world.get(&world.operator, path))["items"][0], shown, "the same as one by one");
    });
}

#[test]
fn only_operators_read_what_is_everybodys() {
    let world = World::new();
    for path in ["/api/v1/admin/resource-slots", "/api/v1/admin/allocations"] {
        for who in [&world.acme.admin, &world.worker, &world.viewer] {
            assert_eq!(code(&world.get(who, path)), Code::Forbidden, "{path}");
        }
        for wrong in ["page_size=0", "page_size=1001", "state=lost", "state=", "tenant_id=x", "colour=red"] {
            assert_eq!(
                code(&world.get(&world.operator, &format!("{path}?{wrong}"))),
                Code::InvalidParameter,
                "{wrong}"
            );
        }
    }
}

#[test]
fn the_audit_trail_is_found_by_who_what_on_what_and_when() {
    both_engines(|db| {
        let world = World::on(db);
        let moment = world.ports.now();
        world.pass(60);
        let projects = format!("/api/v1/tenants/{}/projects", world.acme.tenant);
        for number in 0..3 {
            let wish = json!({"slug": format!("p{number}"), "name": "P", "gpu_cap": 0});
            assert_eq!(world.post(&world.acme.admin, &projects, wish).status, 201);
        }
        let found =
            |who: &Actor, filters: &str, size: usize| walk(&world, who, &format!("/api/v1/audit?{filters}"), size);
        let all = walk(&world, &world.operator, "/api/v1/audit", 200);
        assert_eq!(all, found(&world.operator, "order=oldest", 4));
        let backwards: Vec<String> = all.iter().rev().cloned().collect();
        for size in [1, 4, 200] {
            assert_eq!(found(&world.operator, "order=newest", size), backwards, "{size} at a time");
        }
        let made = all[all.len() - 3..].to_vec();
        let by = format!("actor={}", world.acme.admin.principal);
        let later = format!("from={}", world.ports.now());
        for filters in [by.clone(), later.clone(), format!("{by}&action=project_create&{later}")] {
            assert_eq!(found(&world.operator, &filters, 2), made, "{filters}");
            let newest = found(&world.operator, &format!("{filters}&order=newest"), 2);
            assert_eq!(newest, made.iter().rev().cloned().collect::<Vec<_>>(), "{filters}");
        }
        let before = found(&world.operator, &format!("to={}", world.ports.now()), 200);
        assert_eq!(before, all[..all.len() - 3]);
        assert_eq!(found(&world.operator, &format!("from={moment}&to={moment}"), 5), [""; 0], "no time at all");
        assert_eq!(found(&world.operator, &format!("{by}&action=project_delete"), 5), [""; 0]);

        let ours = format!("subject={}", world.acme.tenant);
        let theirs = format!("subject={}", world.umbrella.tenant);
        assert_eq!(found(&world.operator, &theirs, 5).len(), 1);
        assert_eq!(found(&world.acme.admin, &ours, 5), found(&world.operator, &ours, 5));
        assert_eq!(found(&world.acme.admin, &theirs, 5), [""; 0], "a filter opens nothing");
        assert_eq!(found(&world.viewer, &ours, 5), [""; 0]);
    });
}

#[test]
fn a_page_token_holds_for_its_filters_and_order_only() {
    let world = World::new();
    let page = |query: &str| world.get(&world.operator, &format!("/api/v1/audit?{query}"));
    let token = |query: &str| body(&page(query))["next_page_token"].as_str().unwrap().to_owned();
    let (plain, newest) = (token("page_size=1"), token("page_size=1&order=newest"));
    assert_eq!(page(&format!("page_size=2&page_token={plain}")).status, 200);
    assert_eq!(page(&format!("order=newest&page_token={newest}")).status, 200);
    for query in [
        format!("order=newest&page_token={plain}"),
        format!("page_token={newest}"),
        format!("action=tenant_create&page_token={plain}"),
        format!("action=tenant_create&order=newest&page_token={newest}"),
    ] {
        assert_eq!(code(&page(&query)), Code::InvalidPageToken, "{query}");
    }
    for wrong in ["order=up", "order=", "actor=", "actor=%00", "from=yesterday", "to=1", "subject=%20x", "colour=red"] {
        assert_eq!(code(&page(wrong)), Code::InvalidParameter, "{wrong}");
    }
}

#[test]
fn the_events_of_one_thing_are_found_alone() {
    both_engines(|db| {
        let world = World::on(db);
        let release = format!("/api/v1/allocations/{}/release", world.acme.allocation);
        assert_eq!(world.act(&world.worker, &release).status, 202);
        world.write(|tx, _| store::events::number_batch(tx, 10_000));
        let page = |who: &Actor, after: i64, size: i64| {
            let subject = &world.acme.allocation;
            body(&world.get(who, &format!("/api/v1/events?subject={subject}&after={after}&page_size={size}")))
        };
        let whole = page(&world.operator, 0, 200);
        let versions: Vec<i64> =
            whole["items"].as_array().unwrap().iter().map(|e| e["data"]["object_version"].as_i64().unwrap()).collect();
        assert_eq!(versions, [1, 2]);
        assert!(whole["items"].as_array().unwrap().iter().all(|e| e["subject"] == json!(world.acme.allocation)));
        assert_eq!(whole["next_after"], whole["head"], "the rest was looked at too");
        let first = page(&world.viewer, 0, 1);
        let rest = page(&world.viewer, first["next_after"].as_i64().unwrap(), 1);
        assert_eq!([&first["items"][0], &rest["items"][0]], [&whole["items"][0], &whole["items"][1]]);
        assert_eq!(page(&world.umbrella.admin, 0, 200)["items"], json!([]), "it is not theirs");
    });
}
