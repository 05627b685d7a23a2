//! Every way a request can be wrong gets its own code, and changes nothing.

use api::{Code, endpoint::IfMatch};
use control::front_door::{Request, Response};
use model::identity::MemberRole;
use serde_json::json;

use crate::world::{World, body, sku_body};

fn code(response: &Response) -> Code {
    response.as_problem().unwrap_or_else(|| panic!("{} is no refusal", response.status)).code
}

fn field(response: &Response) -> String {
    response.as_problem().unwrap().errors[0].pointer.clone()
}

#[test]
fn unknown_paths_and_methods_are_told_apart() {
    let world = World::new();
    let send = |method: &str, path: &str| world.send(Request::new(method, path).bearer(&world.operator.secret));
    for path in ["/", "/api/v1/nothing", "/api/v1/tenants/", "/api/v2/tenants", "/api/v1/tenants/x/y/z"] {
        assert_eq!(code(&send("GET", path)), Code::RouteNotFound, "{path}");
    }
    let refused = send("PUT", "/api/v1/tenants");
    assert_eq!((code(&refused), refused.header("Allow")), (Code::MethodNotAllowed, Some("GET, POST")));
    let refused = send("BREW", &format!("/api/v1/tenants/{}", world.acme.tenant));
    assert_eq!(refused.header("Allow"), Some("DELETE, GET, PATCH"));
}

#[test]
fn tokens_that_do_not_open_are_told_apart() {
    let world = World::new();
    let whoami = |secret: &str| world.send(Request::new("GET", "/api/v1/whoami").bearer(secret));
    assert_eq!(whoami(&world.viewer.secret).status, 200);
    for secret in ["", "nonsense", &format!("gpuaas_{}", "A".repeat(43))] {
        let refused = whoami(secret);
        assert_eq!((code(&refused), refused.header("WWW-Authenticate")), (Code::Unauthenticated, Some("Bearer")));
    }
    let revoked = world.delete(&world.acme.admin, &format!("/api/v1/tokens/{}", world.viewer.token), None);
    assert_eq!(code(&revoked), Code::NotFound, "an unrestricted token is its owner's business");
    assert_eq!(world.delete(&world.viewer, &format!("/api/v1/tokens/{}", world.viewer.token), None).status, 204);
    assert_eq!(code(&whoami(&world.viewer.secret)), Code::TokenRevoked);
    world.pass(86_400);
    assert_eq!(code(&whoami(&world.worker.secret)), Code::TokenExpired);
}

#[test]
fn who_is_unknown_learns_nothing_about_the_request() {
    let world = World::new();
    let refused = world.send(Request::new("POST", "/api/v1/tenants?bogus=1").bearer("gpuaas_x").json("{"));
    assert_eq!(code(&refused), Code::Unauthenticated);
    let stranger = format!("gpuaas_{}", "A".repeat(43));
    let refused = world.send(Request::new("POST", "/api/v1/tenants?bogus=1").bearer(&stranger).json("{"));
    assert_eq!(code(&refused), Code::Unauthenticated);
}

#[test]
fn a_token_for_reading_changes_nothing() {
    let world = World::new();
    let made = world.post(&world.operator, "/api/v1/tokens", json!({"name": "ro", "scope": "read", "lifetime_s": 600}));
    let secret = body(&made)["secret"].as_str().unwrap().to_owned();
    assert_eq!(world.send(Request::new("GET", "/api/v1/tenants").bearer(&secret)).status, 200);
    for known in api::operations().iter().filter(|known| known.operation.is_mutating()) {
        let operation = known.operation;
        let path = operation.path.replace("{tenant_id}", world.acme.tenant.as_str());
        let path = path.replace("{project_id}", world.acme.project.as_str());
        // Whoever signed in may sign out.
        if path.contains('{') || known.has_body || operation.id == "session_delete" {
            continue;
        }
        let mut request = Request::new(operation.method.as_str(), &path).bearer(&secret).key(&world.key());
        if operation.if_match == IfMatch::Required {
            request = request.if_match(1);
        }
        assert_eq!(code(&world.send(request)), Code::TokenScopeTooNarrow, "{}", operation.id);
    }
}

#[test]
fn bodies_are_read_strictly() {
    let world = World::new();
    let send = |text: &str| {
        let request = Request::new("POST", "/api/v1/tenants").bearer(&world.operator.secret).key(&world.key());
        world.send(request.json(text))
    };
    for (text, expected, pointer) in [
        ("{", Code::MalformedJson, None),
        ("[1]", Code::InvalidBody, Some("")),
        (r#"{"slug": "a", "name": "A", "desired": "active"}"#, Code::InvalidBody, Some("/desired")),
        (r#"{"slug": "a", "slug": "a", "name": "A"}"#, Code::InvalidBody, Some("/slug")),
        (r#"{"slug": "a"}"#, Code::InvalidBody, Some("/name")),
        (r#"{"slug": "a", "name": null}"#, Code::InvalidBody, Some("/name")),
        (r#"{"slug": "A", "name": "A"}"#, Code::InvalidBody, Some("/slug")),
        (r#"{"slug": ["a"], "name": "A"}"#, Code::InvalidBody, Some("/slug")),
    ] {
        let refused = send(text);
        assert_eq!(code(&refused), expected, "{text}");
        if let Some(pointer) = pointer {
            assert_eq!(field(&refused), pointer, "{text}");
        }
    }
    assert_eq!(code(&send(&"[".repeat(1000))), Code::BodyTooDeep);
    let plain = Request::new("POST", "/api/v1/tenants").bearer(&world.operator.secret).key("k");
    let plain = Request { body: b"{}".to_vec(), ..plain };
    assert_eq!(code(&world.send(plain)), Code::UnsupportedMediaType);
    assert_eq!(world.audited(), World::new().audited());
}

#[test]
fn parameters_and_headers_are_read_strictly() {
    let world = World::new();
    let get = |path: &str| world.get(&world.operator, path);
    for (path, name) in [
        ("/api/v1/tenants?page_sise=1", "page_sise"),
        ("/api/v1/tenants?page_size=1&page_size=1", "page_size"),
        ("/api/v1/tenants?page_size=201", "page_size"),
        ("/api/v1/tenants?page_token=%20", "page_token"),
        ("/api/v1/events?after=-1", "after"),
        ("/api/v1/tenants/prj_01jh2n6f4zw8q9r0s1t2v3x4y5", "tenant_id"),
        ("/api/v1/tenants/%ff", "tenant_id"),
    ] {
        let refused = get(path);
        assert_eq!((code(&refused), field(&refused).as_str()), (Code::InvalidParameter, name), "{path}");
    }
    let bodied = Request::new("GET", "/api/v1/whoami").bearer(&world.operator.secret).json(r#"{"a": 1}"#);
    assert_eq!(code(&world.send(bodied)), Code::InvalidParameter);
    let tenant = format!("/api/v1/tenants/{}", world.acme.tenant);
    let patch = Request::new("PATCH", &tenant).bearer(&world.operator.secret).json(r#"{"name": "B"}"#);
    assert_eq!(code(&world.send(patch.clone())), Code::VersionRequired);
    let mut weak = patch.clone();
    weak.headers.if_match = Some("W/\"1\"".into());
    assert_eq!(code(&world.send(weak)), Code::InvalidHeader);
    assert_eq!(code(&world.send(patch.if_match(99))), Code::StaleVersion);
    let keyless = Request::new("POST", &format!("{tenant}/suspend")).bearer(&world.operator.secret);
    assert_eq!(code(&world.send(keyless)), Code::IdempotencyKeyMissing);
}

#[test]
fn versions_are_shown_and_compared() {
    let world = World::new();
    let path = format!("/api/v1/tenants/{}", world.acme.tenant);
    let version = world.version(&path);
    let renamed = world.patch(&world.acme.admin, &path, version, json!({"name": "Acme Two"}));
    assert_eq!((renamed.status, renamed.header("ETag").unwrap()), (200, format!("\"{}\"", version + 1).as_str()));
    assert_eq!(code(&world.patch(&world.acme.admin, &path, version, json!({"name": "x"}))), Code::StaleVersion);
    let mut known = Request::new("GET", &path).bearer(&world.operator.secret);
    known.headers.if_none_match = Some(format!("\"{}\"", version + 1));
    let unchanged = world.send(known.clone());
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    known.headers.if_none_match = Some(format!("W/\"{version}\", \"99\""));
    assert_eq!(world.send(known.clone()).status, 200);
    known.headers.if_none_match = Some(format!("W/\"{}\", \"99\"", version + 1));
    assert_eq!(world.send(known.clone()).status, 304);
    known.headers.if_none_match = Some("7".to_owned());
    let refused = world.send(known);
    assert_eq!((code(&refused), field(&refused).as_str()), (Code::InvalidHeader, "If-None-Match"));
}

#[test]
fn the_form_is_judged_before_rights_and_facts() {
    let world = World::new();
    let mut sku = sku_body("twice");
    sku["gpu_counts"] = json!([1, 1]);
    let subject = json!({"email": "new@acme.example"});
    let homeless = json!({"subject": subject, "role": "project_member"});
    let confined = json!({"subject": subject, "role": "tenant_admin", "project_id": world.acme.project});
    let members = format!("/api/v1/tenants/{}/members", world.acme.tenant);
    for who in [&world.viewer, &world.operator] {
        for (path, body, pointer) in [
            ("/api/v1/skus", sku.clone(), "/gpu_counts"),
            (members.as_str(), homeless.clone(), "/project_id"),
            (members.as_str(), confined.clone(), "/project_id"),
        ] {
            let refused = world.post(who, path, body);
            assert_eq!((code(&refused), field(&refused).as_str()), (Code::InvalidBody, pointer), "{path}");
        }
    }
    // A role that is good in itself, and not for where this membership is, is no fault of the form.
    let path =
        format!("/api/v1/members/{}", world.join(&world.viewer, &world.umbrella.tenant, None, MemberRole::TenantAdmin));
    let refused = world.patch(&world.operator, &path, 1, json!({"role": "project_member"}));
    assert_eq!((code(&refused), field(&refused).as_str()), (Code::StateConflict, "/role"));
}

#[test]
fn every_answer_names_its_request() {
    let world = World::new();
    let mut request = Request::new("GET", "/api/v1/whoami").bearer(&world.viewer.secret);
    assert!(world.send(request.clone()).header("X-Request-Id").unwrap().starts_with("req_"));
    request.headers.request_id = Some("mine-1".into());
    assert_eq!(world.send(request.clone()).header("X-Request-Id"), Some("mine-1"));
    request.headers.request_id = Some("two\r\nlines".into());
    assert!(world.send(request).header("X-Request-Id").unwrap().starts_with("req_"));
}
