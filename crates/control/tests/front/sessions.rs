//! Sessions of people in browsers: signing in with a token, what the cookie opens, what another site cannot do with it, and
//! every way in which it ends.

use control::front_door::{Request, Response};
use serde_json::{Value, json};

use crate::{
    sockets::{ask, config, serve},
    world::{Actor, World, body},
};

/// A browser that is signed in.
struct Browser {
    secret: String,
    csrf: String,
}

fn cookie_value(response: &Response) -> String {
    let cookie = response.header("Set-Cookie").expect("a cookie");
    cookie.split(['=', ';']).nth(1).unwrap().to_owned()
}

fn sign_in(world: &World, who: &Actor) -> (Browser, Response) {
    let request = Request::new("POST", "/api/v1/session").json(json!({"token": who.secret}).to_string());
    let response = world.send(request);
    assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.body));
    let csrf = body(&response)["csrf_token"].as_str().unwrap().to_owned();
    (Browser { secret: cookie_value(&response), csrf }, response)
}

impl Browser {
    fn get(&self, world: &World, path: &str) -> Response {
        world.send(Request::new("GET", path).session(&self.secret, ""))
    }

    fn make_tenant(&self, world: &World, slug: &str) -> Request {
        let wish = json!({"slug": slug, "name": slug}).to_string();
        Request::new("POST", "/api/v1/tenants").session(&self.secret, &self.csrf).key(&world.key()).json(wish)
    }

    fn sign_out(&self, world: &World) -> Response {
        world.send(Request::new("DELETE", "/api/v1/session").session(&self.secret, &self.csrf))
    }
}

fn code(response: &Response) -> String {
    response.as_problem().map_or_else(|| response.status.to_string(), |problem| problem.code.to_string())
}

#[test]
fn a_session_may_do_what_its_token_may() {
    let world = World::new();
    let (browser, signed_in) = sign_in(&world, &world.operator);
    let cookie = signed_in.header("Set-Cookie").unwrap();
    for word in ["gpuaas_session=gps_", "; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(!String::from_utf8_lossy(&signed_in.body).contains(&world.operator.secret), "the token is not repeated");
    let shown = browser.get(&world, "/api/v1/session");
    assert_eq!(body(&shown)["who"]["principal"]["id"], json!(world.operator.principal));
    assert_eq!(body(&shown)["csrf_token"], json!(browser.csrf));
    let whoami = body(&world.get(&world.operator, "/api/v1/whoami"));
    assert_eq!(body(&shown)["who"], whoami, "a session shows what the token shows");
    assert_eq!(world.send(browser.make_tenant(&world, "made-by-browser")).status, 201);
    // The audit trail knows both the person and the token that the session stands for.
    let audited = body(&world.get(&world.operator, "/api/v1/audit?page_size=200"));
    let rows = audited["items"].as_array().unwrap();
    let row = |action: &str| rows.iter().rev().find(|row| row["action"] == action).unwrap_or(&Value::Null).clone();
    assert_eq!(row("session_create")["actor"], json!(world.operator.principal));
    assert_eq!(row("tenant_create")["token_id"], json!(world.operator.token));
    assert!(!audited.to_string().contains("gps_") && !audited.to_string().contains(&world.operator.secret));
    // With a token there is no session to show.
    assert_eq!(code(&world.get(&world.operator, "/api/v1/session")), "not_found");
    let (viewer, _) = sign_in(&world, &world.viewer);
    assert_eq!(code(&world.send(viewer.make_tenant(&world, "no"))), "forbidden");
}

#[test]
fn only_a_good_token_signs_in() {
    let world = World::new();
    let attempt = |token: &str| {
        code(&world.send(Request::new("POST", "/api/v1/session").json(json!({"token": token}).to_string())))
    };
    assert_eq!(attempt(&format!("gpuaas_{}", "A".repeat(43))), "unauthenticated");
    assert_eq!(attempt("not a token"), "invalid_body");
    let (browser, _) = sign_in(&world, &world.viewer);
    assert_eq!(attempt(&browser.secret), "invalid_body", "a session is no token");
    let revoke = world.delete(&world.viewer, &format!("/api/v1/tokens/{}", world.viewer.token), None);
    assert_eq!(revoke.status, 204);
    assert_eq!(attempt(&world.viewer.secret), "token_revoked");
    let bearer = Request::new("GET", "/api/v1/whoami").bearer(&browser.secret);
    assert_eq!(code(&world.send(bearer)), "unauthenticated", "and no token is a session");
}

#[test]
fn another_site_changes_nothing_with_somebody_s_cookie() {
    let world = World::new();
    let (browser, _) = sign_in(&world, &world.operator);
    let (other, _) = sign_in(&world, &world.operator);
    let with = |change: fn(&mut Request)| {
        let mut request = browser.make_tenant(&world, "forged");
        change(&mut request);
        code(&world.send(request))
    };
    assert_eq!(with(|request| request.headers.csrf_token = None), "csrf_refused");
    assert_eq!(with(|request| request.headers.sec_fetch_site = Some("cross-site".into())), "csrf_refused");
    assert_eq!(with(|request| request.headers.origin = Some("https://evil.example".into())), "csrf_refused");
    let mut foreign = browser.make_tenant(&world, "forged");
    foreign.headers.csrf_token = Some(other.csrf.clone());
    assert_eq!(code(&world.send(foreign)), "csrf_refused", "the token of another session of the same person");
    let plan = format!("/api/v1/projects/{}/allocations/plan", world.acme.project);
    let asked = Request::new("POST", &plan).session(&browser.secret, "").json("{}");
    assert_eq!(code(&world.send(asked)), "csrf_refused", "every unsafe method");
    let signing = Request::new("POST", "/api/v1/session").json(json!({"token": world.viewer.secret}).to_string());
    let mut abroad = signing.clone();
    abroad.headers.origin = Some("https://evil.example".into());
    assert_eq!(code(&world.send(abroad)), "csrf_refused", "nor signs anybody in");
    let tenants = body(&world.get(&world.operator, "/api/v1/tenants"));
    assert!(!tenants.to_string().contains("forged"));
    // A token beside the cookie decides alone.
    let mut both = browser.make_tenant(&world, "with-both").bearer(&world.viewer.secret);
    both.headers.csrf_token = None;
    assert_eq!(code(&world.send(both)), "forbidden");
}

#[test]
fn a_session_ends_when_it_is_left_and_when_its_token_ends() {
    let world = World::new();
    let (left, _) = sign_in(&world, &world.operator);
    let (other, _) = sign_in(&world, &world.operator);
    let gone = left.sign_out(&world);
    assert_eq!(gone.status, 204);
    assert!(gone.header("Set-Cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(code(&left.get(&world, "/api/v1/whoami")), "unauthenticated");
    assert_eq!(other.get(&world, "/api/v1/whoami").status, 200, "other sessions go on");
    assert_eq!(world.get(&world.operator, "/api/v1/whoami").status, 200, "and so does the token");
    let (viewer, _) = sign_in(&world, &world.viewer);
    let revoked = world.delete(&world.viewer, &format!("/api/v1/tokens/{}", world.viewer.token), None);
    assert_eq!((revoked.status, code(&viewer.get(&world, "/api/v1/whoami")).as_str()), (204, "token_revoked"));
}

#[test]
fn who_may_only_read_can_still_leave() {
    let world = World::new();
    let wish = json!({"name": "reader", "scope": "read", "lifetime_s": 3600});
    let made = body(&world.post(&world.viewer, "/api/v1/tokens", wish));
    let secret = made["secret"].as_str().unwrap().to_owned();
    let reader = Actor { secret, ..world.viewer.clone() };
    let (browser, _) = sign_in(&world, &reader);
    assert_eq!(code(&world.send(browser.make_tenant(&world, "no"))), "token_scope_too_narrow");
    assert_eq!(browser.sign_out(&world).status, 204);
}

#[test]
fn a_session_ends_by_itself() {
    let world = World::new();
    let (idle, response) = sign_in(&world, &world.operator);
    let shown = body(&response);
    // The token of these people lives for a day, which is less than a session may.
    assert_eq!(shown["expires_at"], shown["who"]["token"]["expires_at"]);
    world.pass(12 * 3600 - 1);
    assert_eq!(idle.get(&world, "/api/v1/whoami").status, 200);
    world.pass(2);
    assert_eq!(code(&idle.get(&world, "/api/v1/whoami")), "unauthenticated", "twelve hours without a sign of life");
    let (late, _) = sign_in(&world, &world.operator);
    world.pass(12 * 3600 - 1);
    assert_eq!(code(&late.get(&world, "/api/v1/whoami")), "unauthenticated", "no longer than its token");
}

#[test]
fn an_answer_kept_under_a_key_is_its_session_s_own() {
    let world = World::new();
    let (one, _) = sign_in(&world, &world.operator);
    let (other, _) = sign_in(&world, &world.operator);
    let wish = json!({"name": "made", "scope": "read", "lifetime_s": 60}).to_string();
    let make = |browser: &Browser| {
        let request = Request::new("POST", "/api/v1/tokens").session(&browser.secret, &browser.csrf);
        world.send(request.key("the-same").json(wish.clone()))
    };
    let first = make(&one);
    assert_eq!((first.status, make(&one).body == first.body), (201, true), "the secret is told again");
    assert_eq!(code(&make(&other)), "idempotency_key_reused", "and to nobody else");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_works_over_a_socket_and_its_use_is_noted() {
    let world = World::new();
    let (server, _) = serve(&world, config()).await;
    let (at, token) = (server.address(), json!({"token": world.operator.secret}).to_string());
    let post = format!(
        "POST /api/v1/session HTTP/1.1\r\nhost: x\r\norigin: http://x\r\nsec-fetch-site: same-origin\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{token}",
        token.len()
    );
    let signed_in = ask(at, &post).await;
    assert_eq!((signed_in.status, signed_in.header("cache-control")), (200, Some("no-store")), "{}", signed_in.body);
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let whoami = format!("GET /api/v1/session HTTP/1.1\r\nhost: x\r\ncookie: theme=dark; {cookie}\r\n\r\n");
    let idle_end = |answer: &crate::sockets::Answer| answer.json()["idle_expires_at"].as_str().unwrap().to_owned();
    let before = idle_end(&ask(at, &whoami).await);
    // Used once more before it would end: it goes on for as long again from there.
    world.pass(11 * 3600);
    assert_eq!(idle_end(&ask(at, &whoami).await), before, "noted after the answer");
    world.pass(3600 - 1);
    let later = ask(at, &whoami).await;
    assert_eq!(later.status, 200);
    assert!(idle_end(&later) > before);
    let public = ask(at, "GET /api/v1/sign-in HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!((public.status, public.json()), (200, json!({"token": true})));
    // An event stream takes the cookie too.
    let stream = format!("GET /api/v1/events/stream HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n");
    let opened = ask(at, &stream).await;
    assert_eq!((opened.status, opened.header("content-type")), (200, Some("text/event-stream")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tries_to_sign_in_are_counted() {
    use control::http::{HttpConfig, Rate};
    let world = World::new();
    let few = HttpConfig { sign_in_rate: Rate { requests: 2, window_s: 3600 }, ..config() };
    let (server, _) = serve(&world, few).await;
    let token = json!({"token": format!("gpuaas_{}", "A".repeat(43))}).to_string();
    let post = format!(
        "POST /api/v1/session HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{token}",
        token.len()
    );
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(ask(server.address(), &post).await.status);
    }
    assert_eq!(statuses, [401, 401, 429]);
    let other =
        format!("GET /api/v1/whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", world.viewer.secret);
    assert_eq!(ask(server.address(), &other).await.status, 200, "who is signed in goes on");
    server.stop().await;
}
