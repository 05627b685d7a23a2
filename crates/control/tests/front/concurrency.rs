//! Many callers at once, on both engines: one effect for each wish, and rules that two at a time cannot get around.

use std::{
    collections::HashSet,
    sync::{Arc, Barrier},
    thread,
};

use api::Code;
use control::front_door::{FrontDoor, FrontDoorConfig, Request, Response};
use model::identity::MemberRole;
use serde_json::json;
use store::testing::both_engines;

use crate::world::{World, body};

/// Sends all requests at the same moment, each through a door of its own, as replicas would.
fn at_once(world: &World, requests: Vec<Request>) -> Vec<Response> {
    let start = Arc::new(Barrier::new(requests.len()));
    let senders: Vec<_> = requests
        .into_iter()
        .map(|request| {
            let door = FrontDoor::new(world.ports.clone(), FrontDoorConfig::default()).unwrap();
            let (db, start) = (world.db.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                door.perform(&db, request)
            })
        })
        .collect();
    senders.into_iter().map(|sender| sender.join().unwrap()).collect()
}

#[test]
fn one_key_at_many_replicas_is_one_effect() {
    both_engines(|db| {
        let world = World::on(db);
        for round in 0..5 {
            let what = json!({"slug": format!("new-{round}"), "name": "New"}).to_string();
            let request = Request::new("POST", "/api/v1/tenants").bearer(&world.operator.secret).json(what);
            let answers = at_once(&world, vec![request.key(&format!("round-{round}")); 6]);
            let bodies: HashSet<_> = answers.iter().map(|answer| (answer.status, answer.body.clone())).collect();
            assert_eq!(bodies.len(), 1, "all hear the same");
            assert_eq!(answers[0].status, 201);
        }
        assert_eq!(world.count("SELECT COUNT(*) FROM tenants"), 2 + 5);
        assert_eq!(world.count("SELECT COUNT(*) FROM audit WHERE action = 'tenant_create'"), 2 + 5);
    });
}

#[test]
fn two_administrators_cannot_remove_each_other() {
    both_engines(|db| {
        let world = World::on(db);
        let members = format!("/api/v1/tenants/{}/members", world.acme.tenant);
        let listed = body(&world.get(&world.operator, &members));
        let items = listed["items"].as_array().unwrap();
        let first = items.iter().find(|member| member["role"] == "tenant_admin").unwrap()["id"].clone();
        let other = world.person("second-admin@acme.example");
        let second = world.join(&other, &world.acme.tenant, None, MemberRole::TenantAdmin);
        let remove = |id: &str| Request::new("DELETE", &format!("/api/v1/members/{id}")).bearer(&world.operator.secret);
        let answers = at_once(&world, vec![remove(first.as_str().unwrap()), remove(second.as_str())]);
        let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 409]);
        let refused = answers.iter().find(|answer| answer.status == 409).unwrap();
        assert_eq!(refused.as_problem().unwrap().code, Code::LastAdmin);
    });
}

#[test]
fn two_operators_cannot_remove_each_other() {
    both_engines(|db| {
        let world = World::on(db);
        let wish = json!({"email": "second@platform.example", "role": "platform_operator"});
        let second = body(&world.post(&world.operator, "/api/v1/admin/operators", wish))["id"].clone();
        let remove =
            |id: &str| Request::new("DELETE", &format!("/api/v1/admin/operators/{id}")).bearer(&world.operator.secret);
        let requests = vec![remove(second.as_str().unwrap()), remove(world.operator.principal.as_str())];
        let answers = at_once(&world, requests);
        let gone = answers.iter().filter(|answer| answer.status == 204).count();
        assert_eq!(gone, 1, "{answers:?}");
        assert_eq!(world.count("SELECT COUNT(*) FROM principals WHERE platform_role = 'platform_operator'"), 1);
    });
}

#[test]
fn a_cap_is_not_overrun_by_many_launches_at_once() {
    both_engines(|db| {
        let world = World::on(db);
        let path = format!("/api/v1/projects/{}/allocations", world.acme.project);
        let wish = json!({"name": "job", "sku_id": world.sku, "gpu_count": 2, "region_id": world.region}).to_string();
        let launch = || Request::new("POST", &path).bearer(&world.worker.secret).key(&world.key()).json(wish.clone());
        let answers = at_once(&world, (0..6).map(|_| launch()).collect());
        let accepted = answers.iter().filter(|answer| answer.status == 202).count();
        assert_eq!(accepted, 3, "one GPU of eight was held, and each asks for two");
        let refused = answers.iter().filter_map(Response::as_problem).map(|problem| problem.code);
        assert_eq!(refused.collect::<HashSet<_>>(), HashSet::from([Code::QuotaExceeded]));
    });
}

#[test]
fn changes_without_a_version_do_not_get_in_each_others_way() {
    both_engines(|db| {
        let world = World::on(db);
        let token = |n: usize| {
            let what = json!({"name": format!("t{n}"), "scope": "read", "lifetime_s": 60}).to_string();
            Request::new("POST", "/api/v1/tokens").bearer(&world.worker.secret).key(&world.key()).json(what)
        };
        let answers = at_once(&world, (0..8).map(token).collect());
        assert!(answers.iter().all(|answer| answer.status == 201), "{answers:?}");
        let path = format!("/api/v1/allocations/{}/release", world.acme.allocation);
        let release = || Request::new("POST", &path).bearer(&world.worker.secret).key(&world.key());
        let mut statuses: Vec<u16> =
            at_once(&world, vec![release(), release(), release()]).iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [202, 409, 409]);
    });
}
