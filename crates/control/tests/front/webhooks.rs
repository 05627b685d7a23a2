//! Webhooks at the front door: who may have one, what is shown of it, and what is not.

use control::front_door::Request;
use serde_json::{Value, json};

use crate::world::{World, body};

const URL: &str = "https://hooks.example/in";

fn hooks(world: &World) -> String {
    format!("/api/v1/tenants/{}/webhooks", world.acme.tenant)
}

fn made(world: &World, what: Value) -> Value {
    let response = world.post(&world.acme.admin, &hooks(world), what);
    assert_eq!(response.status, 201, "{}", body(&response));
    body(&response)
}

#[test]
fn a_secret_is_shown_when_it_is_made_and_to_whoever_asks_the_same_again_and_never_after() {
    let world = World::new();
    let request = || {
        let wish = json!({"url": URL, "event_types": ["workload.*"], "description": "Pager"}).to_string();
        Request::new("POST", &hooks(&world)).bearer(&world.acme.admin.secret).key("one-wish").json(wish)
    };
    let (first, again) = (body(&world.send(request())), body(&world.send(request())));
    assert_eq!(first, again, "a retry gets the same answer, with the secret");
    let secret = first["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "32 bytes in base64: {secret}");
    let kept = world
        .count("SELECT COUNT(*) FROM idempotency WHERE answer LIKE '%whsec_%' AND answer NOT LIKE '%sealed:whsec_%'");
    assert_eq!(kept, 0, "what is kept for a retry is sealed");
    let id = first["webhook"]["id"].as_str().unwrap();
    let path = format!("/api/v1/webhooks/{id}");
    let rotated = body(&world.post(&world.acme.admin, &format!("{path}/rotate-secret"), json!({})));
    assert_ne!(rotated["secret"], first["secret"]);
    assert!(rotated["webhook"]["previous_secret_until"].is_string());
    let shown =
        [path.clone(), hooks(&world), format!("{path}/deliveries"), "/api/v1/events?after=0&page_size=200".to_owned()];
    for path in shown {
        let response = world.get(&world.acme.admin, &path);
        assert_eq!(response.status, 200, "{path}");
        assert!(!String::from_utf8_lossy(&response.body).contains("whsec_"), "{path}");
    }
    assert_eq!(world.count("SELECT COUNT(*) FROM audit WHERE body LIKE '%whsec_%'"), 0);
}

#[test]
fn a_webhook_is_the_business_of_who_runs_the_tenant() {
    let world = World::new();
    let id = made(&world, json!({"url": URL}))["webhook"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/webhooks/{id}");
    for (who, status) in [
        (&world.acme.admin, 200),
        (&world.operator, 200),
        (&world.auditor, 200),
        (&world.viewer, 404),
        (&world.worker, 404),
        (&world.umbrella.admin, 404),
    ] {
        assert_eq!(world.get(who, &path).status, status, "{who:?}");
        assert_eq!(world.get(who, &format!("{path}/deliveries")).status, status, "{who:?}");
    }
    assert_eq!(world.act(&world.auditor, &format!("{path}/test")).status, 403);
    assert_eq!(world.post(&world.acme.admin, "/api/v1/admin/webhooks", json!({"url": URL})).status, 403);
    let platform = world.post(&world.operator, "/api/v1/admin/webhooks", json!({"url": URL}));
    let path = format!("/api/v1/webhooks/{}", body(&platform)["webhook"]["id"].as_str().unwrap());
    assert_eq!(world.get(&world.acme.admin, &path).status, 404, "what is the platform's is nobody's else");
    assert_eq!(world.delete(&world.auditor, &path, None).status, 403);
    assert_eq!(world.delete(&world.operator, &path, None).status, 204);
}

#[test]
fn a_webhook_is_changed_by_version_and_says_how_it_stands() {
    let world = World::new();
    let id = made(&world, json!({"url": URL, "enabled": false}))["webhook"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/webhooks/{id}");
    let shown = body(&world.get(&world.acme.admin, &path));
    assert_eq!((&shown["enabled"], &shown["projected"]), (&json!(false), &json!("Nothing is sent: it was disabled.")));
    assert_eq!(world.act(&world.acme.admin, &format!("{path}/test")).status, 409);
    assert_eq!(world.post(&world.acme.admin, &format!("{path}/replay"), json!({"after": 0})).status, 409);
    let change = json!({"enabled": true, "event_types": ["allocation.*"], "url": "https://other.example/"});
    let changed = world.patch(&world.acme.admin, &path, 1, change.clone());
    assert_eq!((changed.status, &body(&changed)["version"]), (200, &json!(2)));
    assert_eq!(world.patch(&world.acme.admin, &path, 1, change.clone()).status, 412);
    let same = world.patch(&world.acme.admin, &path, 2, change);
    assert_eq!(body(&same)["version"], 2, "what changes nothing is no change");
    for (wrong, status) in [
        (json!({"url": "https://10.0.0.1/"}), 422),
        (json!({"url": "https://a.example/#x"}), 400),
        (json!({"event_types": ["allocation.vanished"]}), 400),
        (json!({"event_types": vec!["allocation.*"; 33]}), 400),
        (json!({"enabled": null}), 400),
        (json!({"secret": "whsec_x"}), 400),
    ] {
        assert_eq!(world.patch(&world.acme.admin, &path, 2, wrong.clone()).status, status, "{wrong}");
    }
    let tested = body(&world.act(&world.acme.admin, &format!("{path}/test")));
    assert_eq!(tested["state"], "pending");
    let pending = body(&world.get(&world.acme.admin, &format!("{path}/deliveries?state=pending")));
    assert_eq!(pending["items"].as_array().unwrap().len(), 1);
    let failed = body(&world.get(&world.acme.admin, &format!("{path}/deliveries?state=failed")));
    assert_eq!(failed["items"].as_array().unwrap().len(), 0);
    let other = made(&world, json!({"url": URL}))["webhook"]["id"].as_str().unwrap().to_owned();
    let elsewhere = format!("/api/v1/webhooks/{other}/deliveries/{}", tested["id"].as_str().unwrap());
    assert_eq!(world.get(&world.acme.admin, &elsewhere).status, 404, "a delivery is found under its own webhook only");
}

#[test]
fn a_tenant_has_sixteen_at_most_and_only_for_its_own_projects() {
    let world = World::new();
    for _ in 0..16 {
        made(&world, json!({"url": URL, "project_id": world.acme.project}));
    }
    let refused = |what: Value| body(&world.post(&world.acme.admin, &hooks(&world), what))["code"].clone();
    assert_eq!(refused(json!({"url": URL})), "state_conflict");
    assert_eq!(refused(json!({"url": URL, "project_id": world.umbrella.project})), "unknown_reference");
    assert_eq!(refused(json!({"url": "https://[::1]/"})), "webhook_refused");
}
