//! Every operation, fed with what no well-meaning client sends: no answer of the 500s, nothing changed, nothing audited.

use api::endpoint::IfMatch;
use control::front_door::Request;
use serde_json::{Map, Value, json};

use crate::world::World;

fn values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(9_223_372_036_854_775_807_i64),
        json!(18_446_744_073_709_551_615_u64),
        json!(1e308),
        json!(0.5),
        json!(""),
        json!("\u{0}"),
        json!("a\u{0}b\r\n\u{1b}[31m"),
        json!("=cmd()"),
        json!("'; DROP TABLE tenants; --"),
        json!("\u{202e}\u{feff}𐀀"),
        json!("a".repeat(100_000)),
        json!([]),
        json!([[[[[1]]]]]),
        json!({}),
        json!({"email": "x", "service_account": "y"}),
        json!({"": {"~/": 1}}),
    ]
}

const TEXTS: &[&str] = &[
    "",
    " ",
    "null",
    "{",
    "}",
    "[",
    "\"",
    "{\"a\":}",
    "{\"a\":1,}",
    "{\"a\":1e400}",
    "{\"a\":NaN}",
    "{\"\\ud800\":1}",
    "{\"a\":\"\\u0000\"}",
    "\u{feff}{}",
    "{}{}",
    "//",
    "{\"a\":01}",
    "{\"a\":+1}",
    "{a:1}",
    "\"\\",
];

const SEGMENTS: &[&str] = &[
    "x",
    "%00",
    "%2e%2e",
    "..",
    "%",
    "%zz",
    "%ff%fe",
    "a%2fb",
    "'%20OR%201=1--",
    "tnt_",
    "TNT_01JH2N6F4ZW8Q9R0S1T2V3X4Y5",
    "tnt_01jh2n6f4zw8q9r0s1t2v3x4y5%0a",
    "%F0%9F%92%A9",
    "*",
];

fn request(world: &World, known: &api::Described, segment: &str) -> Request {
    let operation = known.operation;
    let template: Vec<&str> = operation.path.split('/').collect();
    let fill = |part: &&str| if part.starts_with('{') { segment.to_owned() } else { (*part).to_owned() };
    let path = template.iter().map(fill).collect::<Vec<_>>().join("/");
    let mut request = Request::new(operation.method.as_str(), &path).bearer(&world.operator.secret);
    if operation.needs_idempotency_key() {
        request = request.key(&world.key());
    }
    if operation.if_match == IfMatch::Required {
        request = request.if_match(1);
    }
    request
}

/// An id of the right kind for the first parameter of a path.
fn good_segment(world: &World, path: &str) -> String {
    let estate = &world.acme;
    let parameter = path.split('{').nth(1).and_then(|rest| rest.split('}').next()).unwrap_or_default();
    match parameter {
        "tenant_id" => estate.tenant.to_string(),
        "project_id" => estate.project.to_string(),
        "member_id" => estate.member.to_string(),
        "principal_id" => estate.account.to_string(),
        "token_id" => estate.token.to_string(),
        "allocation_id" => estate.allocation.to_string(),
        "operation_id" => estate.operation.to_string(),
        "ssh_key_id" => estate.ssh_key.to_string(),
        "profile" => "nothing".to_owned(),
        "region_id" => world.region.to_string(),
        "pool_id" => world.pool.to_string(),
        "sku_id" => world.sku.to_string(),
        _ => world.node.to_string(),
    }
}

fn refused(world: &World, request: Request, what: &str) {
    let (method, path) = (request.method.clone(), request.path.clone());
    let response = world.send(request);
    let text = String::from_utf8_lossy(&response.body).into_owned();
    assert!((400..500).contains(&response.status), "{method} {path} with {what}: {} {text}", response.status);
    assert!(response.as_problem().is_some(), "{method} {path} with {what}: {text}");
}

#[test]
fn nasty_bodies_change_nothing() {
    let world = World::new();
    let before = (world.audited(), world.count("SELECT COUNT(*) FROM events"));
    for known in api::operations().iter().filter(|known| known.has_body) {
        let segment = good_segment(&world, known.operation.path);
        for text in TEXTS {
            refused(&world, request(&world, known, &segment).json(*text), text);
        }
        let mut generator = schemars::SchemaGenerator::default();
        let reference = (known.body)(&mut generator);
        let name = reference.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        let definitions = generator.take_definitions(false);
        let schema = name.and_then(|name| definitions.get(name)).unwrap_or_else(|| panic!("{}", known.operation.id));
        let fields: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        for value in values() {
            let all: Map<String, Value> = fields.iter().map(|field| (field.clone(), value.clone())).collect();
            let text = Value::Object(all).to_string();
            // A body of flags alone is a good one for `true`; it must only not be a fault of ours.
            let response = world.door.rehearse(&world.db, request(&world, known, &segment).json(text), |_| ()).0;
            assert!(response.status < 500, "{} with {value}: {}", known.operation.id, response.status);
        }
    }
    assert_eq!((world.audited(), world.count("SELECT COUNT(*) FROM events")), before);
}

#[test]
fn nasty_paths_and_queries_change_nothing() {
    let world = World::new();
    let before = (world.audited(), world.count("SELECT COUNT(*) FROM events"));
    for known in &api::operations() {
        let operation = known.operation;
        if operation.path.contains('{') {
            for segment in SEGMENTS {
                refused(&world, request(&world, known, segment), segment);
            }
        }
        let segment = good_segment(&world, operation.path);
        for query in
            ["x=1", "page_size=1&page_size=2", "page_size=%00", "%ff=1", "page_token=%00", "after=1e3", "=", "&=&"]
        {
            let request = Request { query: Some(query.to_owned()), ..request(&world, known, &segment) };
            refused(&world, request, query);
        }
    }
    assert_eq!((world.audited(), world.count("SELECT COUNT(*) FROM events")), before);
}

#[test]
fn nasty_headers_change_nothing() {
    let world = World::new();
    let before = (world.audited(), world.count("SELECT COUNT(*) FROM events"));
    for known in api::operations().iter().filter(|known| known.operation.is_mutating()) {
        let segment = good_segment(&world, known.operation.path);
        for text in ["", "\"", "\"\"", "W/\"1\"", "*", "\"1\",\"2\"", "\u{0}", "é", &"k".repeat(5000)] {
            let mut request = request(&world, known, &segment);
            request.headers.idempotency_key = Some(text.to_owned());
            request.headers.if_match = Some(text.to_owned());
            request.headers.content_type = Some(text.to_owned());
            request.headers.request_id = Some(text.to_owned());
            if known.operation.if_match == IfMatch::Ignored && !known.operation.needs_idempotency_key() {
                continue;
            }
            refused(&world, request, text);
        }
    }
    assert_eq!((world.audited(), world.count("SELECT COUNT(*) FROM events")), before);
}
