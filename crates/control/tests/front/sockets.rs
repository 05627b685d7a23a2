//! The shell on real sockets: limits of size, rate and time, the pages beside the API, and a clean end.

use std::{net::SocketAddr, time::Duration};

use control::{
    http::{EventFeed, HttpConfig, HttpError, HttpServer, Parts, Rate, start},
    metrics::Metrics,
    plane::Poke,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::world::World;

pub fn config() -> HttpConfig {
    HttpConfig { portal: &[], ..HttpConfig::new("127.0.0.1:0".parse().unwrap()) }
}

pub async fn serve(world: &World, config: HttpConfig) -> (HttpServer, EventFeed) {
    let feed = EventFeed::default();
    let parts = Parts {
        door: world.door.clone(),
        db: world.db.clone(),
        metrics: Metrics::new(),
        poke: Poke::default(),
        feed: feed.clone(),
    };
    (start(config, parts).await.unwrap(), feed)
}

/// An answer as it came over the wire.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = |line: &&str| line.split_once(':').is_some_and(|(given, _)| given.eq_ignore_ascii_case(name));
        self.head.lines().find(found).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
    fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.head);
        self.json()["code"].as_str().unwrap().to_owned()
    }
}

/// Reads one answer and expects the connection to be usable or closed after it.
pub async fn receive(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    let read = async {
        loop {
            if let Some(answer) = whole(&bytes) {
                return answer;
            }
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => panic!("closed after {:?}", String::from_utf8_lossy(&bytes)),
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), read).await.expect("an answer in time")
}

fn whole(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let answer = Answer { status, head: head.to_owned(), body: String::new() };
    let length: usize = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
    (body.len() >= length).then(|| Answer { body: body[..length].to_owned(), ..answer })
}

pub async fn ask(address: SocketAddr, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    receive(&mut stream).await
}

fn get(path: &str, secret: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\n\r\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_over_a_socket_is_the_same_request() {
    let world = World::new();
    let (server, _) = serve(&world, config()).await;
    let answer = ask(server.address(), &get("/api/v1/whoami", &world.viewer.secret)).await;
    assert_eq!((answer.status, answer.json()["principal"]["id"].clone()), (200, json!(world.viewer.principal)));
    for name in ["x-request-id", "ratelimit", "ratelimit-policy", "content-security-policy", "date"] {
        assert!(answer.header(name).is_some(), "{name} is missing in\n{}", answer.head);
    }
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = json!({"slug": "new", "name": "New"}).to_string();
    let create = format!(
        "POST /api/v1/tenants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nidempotency-key: \"k\"\r\n\
         content-type: application/json\r\nx-request-id: mine\r\ncontent-length: {}\r\n\r\n{body}",
        world.operator.secret,
        body.len()
    );
    let (first, second) = (ask(server.address(), &create).await, ask(server.address(), &create).await);
    assert_eq!((first.status, first.body.as_str()), (201, second.body.as_str()));
    assert_eq!(first.header("x-request-id"), Some("mine"));
    assert!(first.header("location").unwrap().starts_with("/api/v1/tenants/tnt_"));
    assert_eq!(first.header("etag"), Some("\"1\""));
    let twice = create.replace("x-request-id: mine", "idempotency-key: \"j\"");
    assert_eq!(ask(server.address(), &twice).await.code(), "invalid_header");
    assert_eq!(ask(server.address(), &get("/api/v1/nothing", "")).await.code(), "route_not_found");
    let answer = ask(server.address(), "PUT /api/v1/tenants HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, POST")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_large_is_refused_in_words() {
    let world = World::new();
    let (server, _) = serve(&world, config()).await;
    let secret = &world.operator.secret;
    let long = format!("/api/v1/tenants?page_token={}", "a".repeat(5000));
    assert_eq!(ask(server.address(), &get(&long, secret)).await.code(), "uri_too_long");
    let heavy = format!("GET /api/v1/whoami HTTP/1.1\r\nhost: x\r\nx-padding: {}\r\n\r\n", "a".repeat(20_000));
    let answer = ask(server.address(), &heavy).await;
    assert_eq!((answer.status, answer.code().as_str()), (431, "headers_too_large"));
    // So large that the HTTP library gives up on it before a request comes of it.
    let bomb = heavy.replace("x-padding", &"x-padding: 1\r\n".repeat(300)).replace("::", ":");
    for heavy in [heavy.replace("aaa", &"a".repeat(100)), bomb] {
        let answer = ask(server.address(), &heavy).await;
        assert_eq!((answer.status, answer.code().as_str()), (431, "headers_too_large"));
        assert!(answer.header("x-request-id").is_some(), "{}", answer.head);
    }
    let long = format!("/api/v1/tenants?page_token={}", "a".repeat(100_000));
    assert_eq!(ask(server.address(), &get(&long, secret)).await.code(), "uri_too_long");
    let post = |length: usize| {
        format!(
            "POST /api/v1/tenants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\nidempotency-key: k\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{}",
            " ".repeat(length)
        )
    };
    let answer = ask(server.address(), &post(300_000)).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    // Without a length, the limit is found while reading.
    let chunks: String = std::iter::repeat_n(format!("8000\r\n{}\r\n", " ".repeat(0x8000)), 10).collect();
    let chunked = format!(
        "POST /api/v1/tenants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\nidempotency-key: k\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    );
    assert_eq!(ask(server.address(), &chunked).await.status, 413);
    assert_eq!(ask(server.address(), &post(200_000)).await.code(), "malformed_json", "this much may be said");
    let plain = post(2).replace("application/json", "text/plain");
    assert_eq!(ask(server.address(), &plain).await.code(), "unsupported_media_type");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_http_is_told_so() {
    let world = World::new();
    let (server, _) = serve(&world, config()).await;
    let good = get("/api/v1/whoami", &world.operator.secret);
    let chunked = good.replace("GET", "POST").replace("host: x", "host: x\r\ntransfer-encoding: chunked");
    let refused = [
        "\u{16}\u{3}\u{1}\u{2}\r\n\r\n".to_owned(),
        "GET /api/v1/whoami\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        good.replace("host: x", "host : x"),
        good.replace("host: x", "host: x\r\ncontent-length: -2"),
        good.replace("host: x", "host: x\r\ncontent-length: 2\r\ncontent-length: 3"),
        good.replace("host: x\r\n", ""),
        good.replace("host: x", "host: x\r\nhost: y"),
        chunked.clone() + "zz\r\n\r\n",
    ];
    for request in refused {
        let answer = ask(server.address(), &request).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "malformed_request"), "{request}");
        assert!(answer.header("x-request-id").is_some() && answer.header("connection") == Some("close"), "{request}");
    }
    // Both a length and chunks: the chunks count, and nothing after them is taken for another request.
    let both = chunked.replace("host: x", "host: x\r\ncontent-length: 5") + "0\r\n\r\n" + &good;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(both.as_bytes()).await.unwrap();
    assert_eq!(receive(&mut stream).await.code(), "method_not_allowed");
    assert!(matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_)), "a second answer");
    // Two requests at once on one connection are both answered, in order and as themselves.
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let last = good.replace("host: x", "host: x\r\nconnection: close");
    stream.write_all(format!("{}{last}", get("/api/v1/nothing", "")).as_bytes()).await.unwrap();
    let mut both = String::new();
    tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut both)).await.unwrap().unwrap();
    let statuses: Vec<&str> = both.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["404", "200"], "{both}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_arrive_in_time_is_told_so() {
    let world = World::new();
    let quick = HttpConfig { arrival: Duration::from_millis(200), ..config() };
    let (server, _) = serve(&world, quick).await;
    let slow_head = ask(server.address(), "GET /api/v1/whoami HTTP/1.1\r\nhost:").await;
    assert_eq!((slow_head.status, slow_head.code().as_str()), (408, "request_timeout"));
    let slow_body = format!(
        "POST /api/v1/tenants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nidempotency-key: k\r\n\
         content-type: application/json\r\ncontent-length: 10\r\n\r\n{{",
        world.operator.secret
    );
    assert_eq!(ask(server.address(), &slow_body).await.code(), "request_timeout");
    // A connection that never says anything is closed without a word.
    let idle = HttpConfig { idle: Duration::from_millis(200), ..config() };
    let (quiet, _) = serve(&world, idle).await;
    let mut stream = TcpStream::connect(quiet.address()).await.unwrap();
    let mut nothing = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut nothing)).await.unwrap();
    assert_eq!(closed.unwrap(), 0);
    quiet.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allowance_is_per_token() {
    const RATE: Rate = Rate { requests: 2, window_s: 3600 };
    let world = World::new();
    let (server, _) =
        serve(&world, HttpConfig { rate: RATE, stranger_rate: Rate { requests: 4, window_s: 3600 }, ..config() }).await;
    let address = server.address();
    let mine = get("/api/v1/whoami", &world.viewer.secret);
    assert_eq!(ask(address, &mine).await.header("ratelimit"), Some("\"default\";r=1;t=1800"));
    assert_eq!(ask(address, &mine).await.header("ratelimit-policy"), Some("\"default\";q=2;w=3600"));
    let refused = ask(address, &mine).await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(refused.json()["retry_after_s"], json!(wait));
    assert!(refused.header("ratelimit").unwrap().starts_with("\"default\";r=0;"));
    assert_eq!(ask(address, &get("/api/v1/whoami", &world.worker.secret)).await.status, 200);
    // Whoever has no token is counted by address, and so was each token before it was known.
    let nobody = "GET /api/v1/whoami HTTP/1.1\r\nhost: x\r\n\r\n";
    let statuses =
        [ask(address, nobody).await.status, ask(address, nobody).await.status, ask(address, nobody).await.status];
    assert_eq!(statuses, [401, 401, 429]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_beside_the_api_are_open_to_everybody() {
    let world = World::new();
    let (server, _) = serve(&world, config()).await;
    let page = async |path: &str| ask(server.address(), &format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
    for (path, kind, word) in [
        ("/", "text/html; charset=utf-8", "not built into this binary"),
        ("/openapi.json", "application/json", "\"openapi\":\"3.1"),
        ("/asyncapi.json", "application/json", "\"asyncapi\":\"3."),
        ("/docs", "text/html; charset=utf-8", "API reference"),
        ("/docs/reference.css", "text/css; charset=utf-8", "{"),
        ("/docs/errors", "text/html; charset=utf-8", "name_taken"),
        ("/docs/errors/name_taken", "text/html; charset=utf-8", "name_taken"),
        ("/healthz", "text/plain; charset=utf-8", "ok"),
        ("/readyz", "text/plain; charset=utf-8", "ready"),
        (
            "/metrics",
            control::metrics::CONTENT_TYPE,
            "gpuaas_http_requests_total{operation=\"page\",status_class=\"2xx\"}",
        ),
    ] {
        let answer = page(path).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        assert!(answer.body.contains(word), "{path} lacks {word}");
    }
    let metrics = page("/metrics").await.body;
    assert!(metrics.contains("gpuaas_objects{noun=\"tenant\",state=\"active\"} 2") && metrics.ends_with("# EOF\n"));
    assert_eq!(page("/docs/errors/nothing").await.code(), "route_not_found");
    let refused = ask(server.address(), "POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_text_stays_at_home() {
    let world = World::new();
    let parts = Parts {
        door: world.door.clone(),
        db: world.db.clone(),
        metrics: Metrics::new(),
        poke: Poke::default(),
        feed: EventFeed::default(),
    };
    let open = HttpConfig::new("0.0.0.0:0".parse().unwrap());
    assert!(matches!(start(open.clone(), parts.clone()).await, Err(HttpError::Plaintext(_))));
    let allowed = start(HttpConfig { plaintext_allowed: true, ..open }, parts).await.unwrap();
    allowed.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_serves_several_requests_and_ends_with_the_server() {
    let world = World::new();
    let (server, _) = serve(&world, config()).await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    for _ in 0..3 {
        stream.write_all(get("/api/v1/whoami", &world.viewer.secret).as_bytes()).await.unwrap();
        assert_eq!(receive(&mut stream).await.status, 200);
    }
    let address = server.address();
    server.stop().await;
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).await.unwrap_or(0), 0);
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_from_one_address_are_bounded() {
    let world = World::new();
    let (server, _) = serve(&world, HttpConfig { connections_per_address_max: 1, ..config() }).await;
    let mut first = TcpStream::connect(server.address()).await.unwrap();
    first.write_all(get("/healthz", "").as_bytes()).await.unwrap();
    assert_eq!(receive(&mut first).await.status, 200);
    let mut second = TcpStream::connect(server.address()).await.unwrap();
    let mut nothing = Vec::new();
    assert_eq!(second.read_to_end(&mut nothing).await.unwrap_or(0), 0, "closed unheard");
    server.stop().await;
}
