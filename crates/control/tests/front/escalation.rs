//! Nobody gets more than they were given, and nobody is left without an administrator.

use api::Code;
use control::front_door::{Request, Response};
use model::identity::MemberRole;
use serde_json::{Value, json};

use crate::world::{Actor, World, body};

fn code(response: &Response) -> Code {
    response.as_problem().unwrap_or_else(|| panic!("{} is no refusal", response.status)).code
}

fn token(world: &World, who: &Actor, mut wish: Value) -> Response {
    for (name, value) in [("name", json!("t")), ("scope", json!("write")), ("lifetime_s", json!(600))] {
        wish.as_object_mut().unwrap().entry(name).or_insert(value);
    }
    world.post(who, "/api/v1/tokens", wish)
}

fn holder(response: &Response, who: &Actor) -> Actor {
    assert_eq!(response.status, 201, "{}", String::from_utf8_lossy(&response.body));
    let body = body(response);
    let token = body["token"]["id"].as_str().unwrap().parse().unwrap();
    Actor { secret: body["secret"].as_str().unwrap().to_owned(), token, principal: who.principal.clone() }
}

#[test]
fn the_last_administrator_stays() {
    let world = World::new();
    let members = format!("/api/v1/tenants/{}/members", world.acme.tenant);
    let listed = body(&world.get(&world.acme.admin, &members));
    let admin = listed["items"].as_array().unwrap().iter().find(|member| member["role"] == "tenant_admin").unwrap();
    let path = format!("/api/v1/members/{}", admin["id"].as_str().unwrap());
    for who in [&world.acme.admin, &world.operator] {
        assert_eq!(code(&world.delete(who, &path, None)), Code::LastAdmin);
        assert_eq!(code(&world.patch(who, &path, 1, json!({"role": "viewer"}))), Code::LastAdmin);
    }
    let second = json!({"subject": {"service_account": world.acme.account}, "role": "tenant_admin"});
    assert_eq!(world.post(&world.acme.admin, &members, second).status, 201);
    assert_eq!(world.delete(&world.acme.admin, &path, None).status, 204);
    let account = format!("/api/v1/service-accounts/{}", world.acme.account);
    assert_eq!(code(&world.delete(&world.operator, &account, None)), Code::LastAdmin);
}

#[test]
fn the_last_operator_stays() {
    let world = World::new();
    let path = format!("/api/v1/admin/operators/{}", world.operator.principal);
    assert_eq!(code(&world.delete(&world.operator, &path, None)), Code::LastAdmin);
    let wish = json!({"email": "second@platform.example", "role": "platform_operator"});
    assert_eq!(world.post(&world.operator, "/api/v1/admin/operators", wish.clone()).status, 201);
    assert_eq!(code(&world.post(&world.operator, "/api/v1/admin/operators", wish)), Code::NameTaken);
    assert_eq!(world.delete(&world.operator, &path, None).status, 204);
    assert_eq!(world.get(&world.operator, "/api/v1/admin/nodes").status, 403, "the role is gone at once");
}

#[test]
fn a_token_for_somebody_else_works_in_that_tenant_only() {
    let world = World::new();
    // A person who administers both tenants, and is an operator too.
    let everywhere = world.person("everywhere@acme.example");
    for estate in [&world.acme, &world.umbrella] {
        world.join(&everywhere, &estate.tenant, None, MemberRole::TenantAdmin);
    }
    let wish = json!({"email": "everywhere@acme.example", "role": "platform_operator"});
    assert_eq!(world.post(&world.operator, "/api/v1/admin/operators", wish).status, 201);

    let wish = json!({"principal_id": everywhere.principal, "tenant_id": world.acme.tenant});
    let made = holder(&token(&world, &world.acme.admin, wish), &everywhere);
    assert_eq!(world.get(&made, &format!("/api/v1/tenants/{}", world.acme.tenant)).status, 200);
    assert_eq!(world.get(&made, &format!("/api/v1/tenants/{}", world.umbrella.tenant)).status, 404);
    assert_eq!(world.get(&made, "/api/v1/admin/nodes").status, 403, "the operator's role is not carried");
    let tenants = body(&world.get(&made, "/api/v1/tenants"));
    assert_eq!(tenants["items"].as_array().unwrap().len(), 1, "a list does not reach beyond the token");
    let events = body(&world.get(&made, "/api/v1/events?page_size=200"));
    let foreign = json!(world.umbrella.tenant);
    assert!(events["items"].as_array().unwrap().iter().all(|event| event["data"]["tenant_id"] != foreign));

    // What such a token makes is no wider than itself.
    let child = token(&world, &made, json!({}));
    assert_eq!(body(&child)["token"]["tenant_id"], json!(world.acme.tenant));
    assert_eq!(code(&token(&world, &made, json!({"tenant_id": world.umbrella.tenant}))), Code::UnknownReference);
    // And without saying where, there is no token for somebody else at all.
    let unbound = json!({"principal_id": everywhere.principal});
    assert_eq!(code(&token(&world, &world.acme.admin, unbound.clone())), Code::UnknownReference);
    assert_eq!(token(&world, &world.operator, unbound).status, 201, "an operator may, for another operator");
}

#[test]
fn members_make_no_tokens_for_others_and_no_members() {
    let world = World::new();
    for who in [&world.worker, &world.viewer] {
        let wish = json!({"principal_id": world.acme.account});
        assert_eq!(code(&token(&world, who, wish)), Code::UnknownReference);
        let members = format!("/api/v1/tenants/{}/members", world.acme.tenant);
        let wish = json!({"subject": {"email": "me@acme.example"}, "role": "tenant_admin"});
        assert_eq!(code(&world.post(who, &members, wish)), Code::Forbidden);
    }
    let stranger = json!({"principal_id": world.umbrella.account, "tenant_id": world.acme.tenant});
    assert_eq!(code(&token(&world, &world.acme.admin, stranger)), Code::UnknownReference);
}

#[test]
fn a_token_for_one_project_sees_one_project() {
    let world = World::new();
    let wish = json!({"slug": "second", "name": "Second", "gpu_cap": 1});
    let projects = format!("/api/v1/tenants/{}/projects", world.acme.tenant);
    assert_eq!(world.post(&world.acme.admin, &projects, wish).status, 201);
    let narrow =
        holder(&token(&world, &world.acme.admin, json!({"project_id": world.acme.project})), &world.acme.admin);
    let seen = body(&world.get(&narrow, &projects));
    assert_eq!(seen["items"].as_array().unwrap().len(), 1);
    let project = format!("/api/v1/projects/{}", world.acme.project);
    let changed = world.patch(&narrow, &project, world.version(&project), json!({"gpu_cap": 7}));
    assert_eq!(changed.status, 200, "an administrator through a project's token administers the project");
    assert_eq!(code(&world.post(&narrow, &projects, json!({"slug": "x", "name": "X", "gpu_cap": 1}))), Code::Forbidden);
    assert_eq!(world.get(&narrow, &format!("/api/v1/service-accounts/{}", world.acme.account)).status, 404);
}

#[test]
fn tokens_and_audit_are_for_administrators() {
    let world = World::new();
    let count = |who: &Actor, path: &str| body(&world.get(who, path))["items"].as_array().unwrap().len();
    assert_eq!(count(&world.viewer, "/api/v1/tokens"), 1, "their own");
    assert_eq!(count(&world.acme.admin, "/api/v1/tokens"), 2, "their own and the service account's");
    assert_eq!(count(&world.viewer, "/api/v1/audit"), 0);
    assert_eq!(count(&world.worker, "/api/v1/audit"), 0);
    let audit = body(&world.get(&world.acme.admin, "/api/v1/audit"));
    let tenants: Vec<&Value> = audit["items"].as_array().unwrap().iter().map(|row| &row["tenant_id"]).collect();
    assert!(!tenants.is_empty() && tenants.iter().all(|tenant| **tenant == json!(world.acme.tenant)));
    let all = count(&world.operator, "/api/v1/audit?page_size=200");
    assert_eq!(i64::try_from(all).unwrap(), world.audited());
}

#[test]
fn removing_a_service_account_ends_its_tokens() {
    let world = World::new();
    let made = token(&world, &world.acme.admin, json!({"principal_id": world.acme.account}));
    let robot = holder(&made, &world.acme.admin);
    assert_eq!(world.get(&robot, "/api/v1/whoami").status, 200);
    let path = format!("/api/v1/service-accounts/{}", world.acme.account);
    assert_eq!(world.delete(&world.acme.admin, &path, None).status, 204);
    assert_eq!(code(&world.get(&robot, "/api/v1/whoami")), Code::TokenRevoked);
    assert_eq!(world.get(&world.acme.admin, &path).status, 404);
}

#[test]
fn a_role_change_counts_at_once() {
    let world = World::new();
    let project = format!("/api/v1/projects/{}", world.acme.project);
    assert_eq!(world.get(&world.worker, &project).status, 200);
    let members = body(&world.get(&world.acme.admin, &format!("/api/v1/tenants/{}/members", world.acme.tenant)));
    let worker = json!(world.worker.principal);
    let items = members["items"].as_array().unwrap();
    let member = items.iter().find(|member| member["principal_id"] == worker).unwrap();
    let path = format!("/api/v1/members/{}", member["id"].as_str().unwrap());
    assert_eq!(world.delete(&world.acme.admin, &path, None).status, 204);
    let absent = Request::new("GET", "/api/v1/projects/prj_01jh2n6f4zw8q9r0s1t2v3x4y5").bearer(&world.worker.secret);
    assert_eq!(world.get(&world.worker, &project).body, world.send(absent).body);
}
