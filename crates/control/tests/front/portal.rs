//! The portal's files on a real socket: which path gets which file, how long it is kept, and what a page may load.

use ::portal::File;
use control::http::HttpConfig;

use crate::{
    sockets::{Answer, ask, config, serve},
    world::World,
};

static FILES: &[File] = &[
    File {
        path: "/assets/main-1a2b.js",
        content_type: "text/javascript; charset=utf-8",
        immutable: true,
        plain: b"plain script",
        gzip: Some(b"squeezed"),
    },
    File { path: "/favicon.svg", content_type: "image/svg+xml", immutable: false, plain: b"<svg/>", gzip: None },
    File {
        path: "/index.html",
        content_type: "text/html; charset=utf-8",
        immutable: false,
        plain: b"<p>portal",
        gzip: None,
    },
];

const BROWSER: &str = "accept: text/html,*/*;q=0.8\r\n";

async fn get(address: std::net::SocketAddr, path: &str, headers: &str) -> Answer {
    ask(address, &format!("GET {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_of_the_portal_starts_from_its_first_one() {
    let world = World::new();
    let (server, _) = serve(&world, HttpConfig { portal: FILES, ..config() }).await;
    let at = server.address();
    for (path, headers) in [("/", ""), ("/", BROWSER), ("/index.html", ""), ("/nodes/nod_1?tab=slots", BROWSER)] {
        let answer = get(at, path, headers).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "<p>portal"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-cache"), "{path}");
    }
    // A script that mistypes a path is told so, and a file that is gone is gone.
    for (path, headers) in [
        ("/nodes/nod_1", "accept: application/json\r\n"),
        ("/api/v1/nothing", BROWSER),
        ("/assets/main-0000.js", BROWSER),
        ("/../etc/passwd", ""),
    ] {
        let answer = get(at, path, headers).await;
        assert_eq!((answer.status, answer.json()["code"].as_str()), (404, Some("route_not_found")), "{path}");
    }
    // What is served beside the API stays where it is.
    assert!(get(at, "/docs/api", BROWSER).await.body.contains("API"));
    assert_eq!(get(at, "/healthz", BROWSER).await.body, "ok\n");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_never_changes_is_kept_for_ever_and_the_rest_is_compared() {
    let world = World::new();
    let (server, _) = serve(&world, HttpConfig { portal: FILES, ..config() }).await;
    let at = server.address();
    let script = get(at, "/assets/main-1a2b.js", "").await;
    assert_eq!((script.body.as_str(), script.header("content-encoding")), ("plain script", None));
    assert_eq!(script.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let small = get(at, "/assets/main-1a2b.js", "accept-encoding: br, gzip\r\n").await;
    assert_eq!((small.body.as_str(), small.header("content-encoding")), ("squeezed", Some("gzip")));
    assert_eq!(small.header("vary"), Some("accept-encoding"));
    let first = get(at, "/favicon.svg", "").await;
    let tag = first.header("etag").unwrap().to_owned();
    let again = get(at, "/favicon.svg", &format!("if-none-match: {tag}\r\n")).await;
    assert_eq!((again.status, again.header("etag"), again.body.as_str()), (304, Some(tag.as_str()), ""));
    let other = get(at, "/favicon.svg", "if-none-match: \"other\"\r\n").await;
    assert_eq!((other.status, other.body.as_str()), (200, "<svg/>"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_may_load_what_comes_from_here_and_nothing_else() {
    let world = World::new();
    let (server, _) = serve(&world, HttpConfig { portal: FILES, ..config() }).await;
    let page = get(server.address(), "/", BROWSER).await;
    let policy = page.header("content-security-policy").unwrap();
    for word in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(word), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    assert!(page.header("permissions-policy").unwrap().contains("camera=()"));
    // The API's answers are not pages: nothing at all may be loaded by them.
    let api = get(server.address(), "/api/v1/whoami", "").await;
    assert!(api.header("content-security-policy").unwrap().starts_with("default-src 'none'; style-src 'self';"));
    server.stop().await;
}
