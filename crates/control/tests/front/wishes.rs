//! Wishes are recorded, refused when they make no sense, and followed through operations.

use api::Code;
use control::front_door::Response;
use serde_json::{Value, json};

use crate::world::{World, body};

fn code(response: &Response) -> Code {
    response.as_problem().unwrap_or_else(|| panic!("{} is no refusal", response.status)).code
}

/// The fields of a refusal, each with what would be accepted.
fn told(response: &Response) -> Vec<(String, String)> {
    let errors = response.as_problem().unwrap().errors;
    errors.into_iter().map(|error| (error.pointer, error.detail)).collect()
}

fn fields(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(pointer, detail)| ((*pointer).to_owned(), (*detail).to_owned())).collect()
}

#[test]
fn suspending_resuming_and_deleting_are_wishes_with_an_operation() {
    let world = World::new();
    let path = format!("/api/v1/projects/{}", world.acme.project);
    let suspended = world.act(&world.acme.admin, &format!("{path}/suspend"));
    assert_eq!(suspended.status, 202);
    let first = suspended.header("Location").unwrap().to_owned();
    let project = body(&world.get(&world.acme.admin, &path));
    assert_eq!((&project["desired"], &project["execution"]), (&json!("suspended"), &json!("active")));
    assert_eq!(project["projected"], "The project is about to be suspended.");
    assert_eq!(code(&world.act(&world.acme.admin, &format!("{path}/suspend"))), Code::StateConflict);
    // A later wish takes the place of the earlier one, and says so.
    assert_eq!(world.act(&world.acme.admin, &format!("{path}/resume")).status, 202);
    let overruled = body(&world.get(&world.acme.admin, &first));
    assert_eq!((&overruled["state"], &overruled["error"]["code"]), (&json!("failed"), &json!("state_conflict")));
    assert_eq!(code(&world.act(&world.acme.admin, &format!("{path}/resume"))), Code::StateConflict);
    assert_eq!(world.delete(&world.acme.admin, &path, Some(world.version(&path))).status, 202);
    for refused in [
        world.act(&world.acme.admin, &format!("{path}/suspend")),
        world.delete(&world.acme.admin, &path, Some(world.version(&path))),
        world.patch(&world.acme.admin, &path, world.version(&path), json!({"gpu_cap": 1})),
    ] {
        assert_eq!(code(&refused), Code::StateConflict);
    }
}

#[test]
fn nothing_starts_in_what_is_suspended_or_going() {
    let world = World::new();
    let tenant = format!("/api/v1/tenants/{}", world.acme.tenant);
    assert_eq!(world.act(&world.operator, &format!("{tenant}/suspend")).status, 202);
    let project = json!({"slug": "late", "name": "Late", "gpu_cap": 1});
    assert_eq!(code(&world.post(&world.acme.admin, &format!("{tenant}/projects"), project)), Code::StateConflict);
    assert_eq!(code(&launch(&world, json!({}))), Code::StateConflict);
    let member = json!({"subject": {"email": "new@acme.example"}, "role": "viewer"});
    let members = format!("{tenant}/members");
    assert_eq!(world.post(&world.acme.admin, &members, member.clone()).status, 201, "people may still be let in");
    assert_eq!(world.delete(&world.operator, &tenant, Some(world.version(&tenant))).status, 202);
    assert_eq!(code(&world.post(&world.acme.admin, &members, member)), Code::StateConflict);
    let account = json!({"name": "late"});
    let accounts = format!("{tenant}/service-accounts");
    assert_eq!(code(&world.post(&world.acme.admin, &accounts, account)), Code::StateConflict);
    let token = json!({"name": "late", "scope": "read", "lifetime_s": 60, "tenant_id": world.acme.tenant});
    assert_eq!(code(&world.post(&world.acme.admin, "/api/v1/tokens", token)), Code::UnknownReference);
}

fn launch(world: &World, changes: Value) -> Response {
    let mut wish = json!({"name": "job", "sku_id": world.sku, "gpu_count": 2, "region_id": world.region});
    wish.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    world.post(&world.worker, &format!("/api/v1/projects/{}/allocations", world.acme.project), wish)
}

#[test]
fn a_launch_is_admitted_with_its_reasons_kept() {
    let world = World::new();
    let accepted = launch(&world, json!({}));
    assert_eq!(accepted.status, 202);
    let operation = body(&accepted);
    assert_eq!((&operation["kind"], &operation["state"]), (&json!("allocation_launch"), &json!("running")));
    let id = operation["subject_id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/allocations/{id}");
    let shown = body(&world.get(&world.worker, &path));
    assert_eq!(
        (&shown["execution"], &shown["projected"]),
        (&json!("requested"), &json!("It is waiting to be placed."))
    );
    let decision = world.db.read(move |tx: &mut store::Tx<'_>| store::decisions::latest(tx, &id)).unwrap().unwrap();
    assert!(decision.body.len() <= 1024 && decision.body.contains("gpu_cap"), "{}", decision.body);
    assert_eq!(world.act(&world.worker, &format!("{path}/release")).status, 202);
    assert_eq!(code(&world.act(&world.worker, &format!("{path}/release"))), Code::StateConflict);
}

#[test]
fn a_project_that_is_shown_counts_what_it_holds_now() {
    let world = World::new();
    let path = format!("/api/v1/projects/{}", world.acme.project);
    let held = |path: &str| body(&world.get(&world.operator, path))["observed"]["allocations"].as_i64().unwrap();
    let before = held(&path);
    assert_eq!(launch(&world, json!({})).status, 202);
    assert_eq!(held(&path), before + 1);
    assert_eq!(held(&format!("/api/v1/tenants/{}", world.acme.tenant)), before + 1);
}

#[test]
fn a_launch_that_cannot_be_is_refused_for_its_reason() {
    let world = World::new();
    let refused = launch(&world, json!({"gpu_count": 3}));
    assert_eq!((code(&refused), told(&refused)), (Code::NotForSale, fields(&[("/gpu_count", "one of 1, 2, 4, 8")])));
    let refused = launch(&world, json!({"gpu_count": 8}));
    let at_most = fields(&[("/gpu_count", "at most 7")]);
    assert_eq!((code(&refused), told(&refused)), (Code::QuotaExceeded, at_most), "one is held already");
    let absent = json!({"sku_id": "sku_01jh2n6f4zw8q9r0s1t2v3x4y5"});
    assert_eq!(code(&launch(&world, absent)), Code::UnknownReference);
    let absent = json!({"region_id": "rgn_01jh2n6f4zw8q9r0s1t2v3x4y5"});
    assert_eq!(code(&launch(&world, absent)), Code::UnknownReference);
    let region = format!("/api/v1/regions/{}", world.region);
    assert_eq!(world.patch(&world.operator, &region, 1, json!({"enabled": false})).status, 200);
    let refused = launch(&world, json!({"gpu_count": 3}));
    assert_eq!(code(&refused), Code::NotForSale);
    let all = fields(&[("/region_id", "the id of a region that is enabled"), ("/gpu_count", "one of 1, 2, 4, 8")]);
    assert_eq!(told(&refused), all, "all that is wrong is said at once, with what would do");
    assert_eq!(world.count("SELECT COUNT(*) FROM allocations"), 2);
}

#[test]
fn what_is_referred_to_is_not_deleted() {
    let world = World::new();
    for path in [
        format!("/api/v1/regions/{}", world.region),
        format!("/api/v1/pools/{}", world.pool),
        format!("/api/v1/skus/{}", world.sku),
    ] {
        assert_eq!(code(&world.delete(&world.operator, &path, Some(1))), Code::StillInUse, "{path}");
    }
    let counts = json!({"slug": "odd", "name": "Odd", "shape": "gpu_slice", "gpu_model": "h200-sxm", "gpu_counts": [2, 2],
        "vcpus_per_gpu": 1, "memory_mib_per_gpu": 1, "price_micros_per_gpu_hour": 0});
    assert_eq!(code(&world.post(&world.operator, "/api/v1/skus", counts)), Code::InvalidBody);
}

#[test]
fn names_are_taken_once() {
    let world = World::new();
    let tenant = json!({"slug": "acme", "name": "Acme"});
    assert_eq!(code(&world.post(&world.operator, "/api/v1/tenants", tenant)), Code::NameTaken);
    let account = json!({"name": "robot"});
    let accounts = format!("/api/v1/tenants/{}/service-accounts", world.acme.tenant);
    assert_eq!(code(&world.post(&world.acme.admin, &accounts, account)), Code::NameTaken);
    let member = json!({"subject": {"email": "viewer@acme.example"}, "role": "viewer"});
    let members = format!("/api/v1/tenants/{}/members", world.acme.tenant);
    assert_eq!(code(&world.post(&world.acme.admin, &members, member)), Code::NameTaken);
    for (role, project) in [("tenant_admin", true), ("project_member", false)] {
        let mut wish = json!({"subject": {"email": "new@acme.example"}, "role": role});
        if project {
            wish["project_id"] = json!(world.acme.project);
        }
        assert_eq!(code(&world.post(&world.acme.admin, &members, wish)), Code::InvalidBody, "{role}");
    }
    let foreign =
        json!({"subject": {"email": "n@acme.example"}, "role": "viewer", "project_id": world.umbrella.project});
    assert_eq!(code(&world.post(&world.acme.admin, &members, foreign)), Code::UnknownReference);
}
