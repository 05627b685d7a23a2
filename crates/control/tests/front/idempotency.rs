//! The same wish twice is one wish.

use api::Code;
use control::front_door::{FrontDoor, FrontDoorConfig, Prepared, Request};
use serde_json::json;

use crate::world::{World, body};

fn create(world: &World, key: &str, what: serde_json::Value) -> Request {
    Request::new("POST", "/api/v1/tenants").bearer(&world.operator.secret).key(key).json(what.to_string())
}

#[test]
fn a_retry_gets_the_same_bytes_and_does_nothing_again() {
    let world = World::new();
    let first = world.send(create(&world, "k", json!({"slug": "new", "name": "New"})));
    assert_eq!(first.status, 201);
    let (audited, tenants) = (world.audited(), world.count("SELECT COUNT(*) FROM tenants"));
    world.pass(5);
    // Spacing and order of fields do not make another request, and neither do quotes around the key.
    let mut again = create(&world, "k", json!({}));
    again.body = br#"{ "name":"New",   "slug":"new" }"#.to_vec();
    again.headers.idempotency_key = Some("k".into());
    let second = world.send(again);
    assert_eq!((first.status, &first.body), (second.status, &second.body));
    for name in ["ETag", "Location"] {
        assert_eq!(first.header(name), second.header(name), "{name}");
    }
    assert_eq!(first.content_type, second.content_type);
    assert_eq!((world.audited(), world.count("SELECT COUNT(*) FROM tenants")), (audited, tenants));
}

#[test]
fn another_replica_remembers_too() {
    let world = World::new();
    let first = world.send(create(&world, "k", json!({"slug": "new", "name": "New"})));
    let other = FrontDoor::new(world.ports.clone(), FrontDoorConfig::default()).unwrap();
    let second = other.perform(&world.db, create(&world, "k", json!({"slug": "new", "name": "New"})));
    assert_eq!((first.status, first.body), (second.status, second.body));
}

#[test]
fn a_key_belongs_to_one_wish_of_one_caller() {
    let world = World::new();
    world.send(create(&world, "k", json!({"slug": "new", "name": "New"})));
    let refused = world.send(create(&world, "k", json!({"slug": "other", "name": "New"})));
    assert_eq!(refused.as_problem().unwrap().code, Code::IdempotencyKeyReused);
    let elsewhere = Request::new("POST", &format!("/api/v1/tenants/{}/suspend", world.acme.tenant));
    let refused = world.send(elsewhere.bearer(&world.operator.secret).key("k"));
    assert_eq!(refused.as_problem().unwrap().code, Code::IdempotencyKeyReused);
    let somebody = Request::new("POST", &format!("/api/v1/tenants/{}/service-accounts", world.acme.tenant));
    let fine = world.send(somebody.bearer(&world.acme.admin.secret).key("k").json(r#"{"name": "bot"}"#));
    assert_eq!(fine.status, 201);
}

#[test]
fn a_refused_wish_is_refused_the_same_way_again() {
    let world = World::new();
    let first = world.send(create(&world, "k", json!({"slug": "acme", "name": "New"})));
    assert_eq!(first.as_problem().unwrap().code, Code::NameTaken);
    let delete = format!("/api/v1/tenants/{}", world.acme.tenant);
    assert_eq!(world.delete(&world.operator, &delete, Some(world.version(&delete))).status, 202);
    let again = world.send(create(&world, "k", json!({"slug": "acme", "name": "New"})));
    assert_eq!((again.status, again.body), (first.status, first.body), "the answer to this wish was given");
}

#[test]
fn what_was_wrong_with_the_request_can_be_put_right_under_the_same_key() {
    let world = World::new();
    assert_eq!(world.send(create(&world, "k", json!({"slug": "NEW", "name": "New"}))).status, 400);
    assert_eq!(world.send(create(&world, "k", json!({"slug": "new", "name": "New"}))).status, 201);
}

#[test]
fn a_second_request_waits_while_the_first_runs() {
    let world = World::new();
    let running = world.door.prepare(create(&world, "k", json!({"slug": "new", "name": "New"})));
    assert!(matches!(running, Prepared::Write(_)));
    let refused = world.send(create(&world, "k", json!({"slug": "new", "name": "New"})));
    let problem = refused.as_problem().unwrap();
    assert_eq!((problem.code, problem.retry_after_s), (Code::RequestInFlight, Some(1)));
    drop(running);
    assert_eq!(world.send(create(&world, "k", json!({"slug": "new", "name": "New"}))).status, 201);
}

#[test]
fn a_token_is_shown_again_to_its_maker_and_its_secret_is_stored_nowhere() {
    let world = World::new();
    let make = |secret: &str| {
        let request = Request::new("POST", "/api/v1/tokens").bearer(secret).key("k");
        world.send(request.json(json!({"name": "t", "scope": "write", "lifetime_s": 600}).to_string()))
    };
    let first = make(&world.worker.secret);
    let secret = body(&first)["secret"].as_str().unwrap().to_owned();
    let second = make(&world.worker.secret);
    assert_eq!((first.status, &first.body), (second.status, &second.body));
    let naked = secret.trim_start_matches("gpuaas_").to_owned();
    let found = world.db.read(move |tx: &mut store::Tx<'_>| {
        let kept = tx.query("SELECT answer FROM idempotency", &[])?;
        kept.iter().map(|row| Ok(row.text(0)?.contains(&naked))).collect::<Result<Vec<bool>, store::StoreError>>()
    });
    assert_eq!(found.unwrap().into_iter().filter(|found| *found).count(), 0, "a secret is in the store");
    // Another token of the same owner could not open the answer, so it is another request.
    let refused = make(&secret);
    assert_eq!(refused.as_problem().unwrap().code, Code::IdempotencyKeyReused);
}
