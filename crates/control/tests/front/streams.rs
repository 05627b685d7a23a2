//! Live events over a socket: in order, without gaps, from where the reader left off, and only while the token is good.

use std::time::Duration;

use control::http::HttpConfig;
use model::runtime::WorkStep;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    sockets::{config, serve},
    world::{Actor, World},
};

/// A reader of server-sent events.
struct Reader {
    stream: TcpStream,
    text: String,
}

#[derive(Debug, Clone)]
struct Frame {
    id: Option<i64>,
    data: Option<Value>,
    comment: Option<String>,
}

impl Reader {
    async fn open(address: std::net::SocketAddr, who: &Actor, extra: &str, query: &str) -> Self {
        Self::at(address, who, extra, &format!("/api/v1/events/stream{query}")).await
    }

    async fn at(address: std::net::SocketAddr, who: &Actor, extra: &str, path: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{extra}\r\n", who.secret);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = Self { stream, text: String::new() };
        while !reader.text.contains("\r\n\r\n") {
            assert!(reader.more().await, "closed before the head");
        }
        let (head, rest) = reader.text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.to_ascii_lowercase().contains("content-type: text/event-stream"), "{head}");
        reader.text = rest.to_owned();
        reader
    }

    async fn more(&mut self) -> bool {
        let mut piece = [0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(20), self.stream.read(&mut piece)).await;
        let count = read.expect("something in time").unwrap_or(0);
        self.text.push_str(&String::from_utf8_lossy(&piece[..count]));
        count > 0
    }

    /// The next frame; `None` at the end of the stream. Chunk sizes between frames are skipped.
    async fn frame(&mut self) -> Option<Frame> {
        while !self.text.contains("\n\n") {
            if !self.more().await {
                return None;
            }
        }
        let (frame, rest) = self.text.split_once("\n\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        self.text = rest;
        let value = |name: &str| {
            let line = frame.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
            line.map(|line| line.trim().to_owned())
        };
        Some(Frame {
            id: value("id:").map(|id| id.parse().unwrap()),
            data: value("data:").map(|data| serde_json::from_str(&data).unwrap()),
            comment: value(":"),
        })
    }

    /// The next event.
    async fn event(&mut self) -> (i64, Value) {
        loop {
            let frame = self.frame().await.expect("the stream goes on");
            if let Some(data) = frame.data {
                assert_eq!(frame.id.unwrap().to_string(), data["sequence"], "the id is the sequence");
                return (frame.id.unwrap(), data);
            }
        }
    }
}

/// The next entry of a timeline; `None` at its end.
async fn entry(reader: &mut Reader) -> Option<(i64, Value)> {
    loop {
        let frame = reader.frame().await?;
        if let Some(data) = frame.data {
            assert_eq!(frame.id, data["position"].as_i64(), "the id is the position");
            return Some((frame.id.unwrap(), data));
        }
    }
}

fn step_of(entry: &Option<(i64, Value)>) -> String {
    let (_, data) = entry.as_ref().expect("the timeline goes on");
    format!("{} {}", data["step"].as_str().unwrap(), data["state"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeline_is_told_live_with_percent_and_ends() {
    let live = crate::placement::live::Live::new(1);
    let world = live.world();
    let id = live.launch(live.wish(1));
    live.settle();
    let (server, feed) = serve(world, config()).await;
    let path = format!("/api/v1/allocations/{id}/timeline/stream");
    let mut reader = Reader::at(server.address(), &world.viewer, "", &path).await;
    let (first, second) = (entry(&mut reader).await, entry(&mut reader).await);
    assert_eq!([step_of(&first), step_of(&second)], ["admission done", "placement done"]);
    let (node, task) = live.orders().pop().unwrap();
    live.progress(&node, &task, WorkStep::Clone, 10);
    live.settle();
    feed.advance(number(world));
    let mut seen = Vec::new();
    while seen.last().map(String::as_str) != Some("clone progress") {
        seen.push(step_of(&entry(&mut reader).await));
    }
    assert!(
        seen.ends_with(&["order done".to_owned(), "clone begun".to_owned(), "clone progress".to_owned()]),
        "{seen:?}"
    );
    // A percent is no event, and is told all the same.
    live.progress(&node, &task, WorkStep::Clone, 60);
    let more = entry(&mut reader).await;
    assert_eq!((step_of(&more).as_str(), &more.unwrap().1["percent"]), ("clone progress", &json!(60)));
    // Whoever comes back goes on behind what they saw.
    let at = format!("last-event-id: {}\r\n", second.unwrap().0);
    let mut again = Reader::at(server.address(), &world.viewer, &at, &path).await;
    assert_eq!(step_of(&entry(&mut again).await), "order begun");
    assert_eq!(world.act(&world.worker, &format!("/api/v1/allocations/{id}/release")).status, 202);
    live.work();
    feed.advance(number(world));
    let mut last = String::new();
    while let Some(told) = entry(&mut reader).await {
        last = step_of(&Some(told));
    }
    assert_eq!(last, "released done", "and then the stream ends");
    server.stop().await;
}

fn number(world: &World) -> i64 {
    world.write(|tx, _| {
        store::events::number_batch(tx, 10_000)?;
        store::events::head(tx)
    })
}

fn rename(world: &World, name: &str) {
    let path = format!("/api/v1/tenants/{}", world.acme.tenant);
    assert_eq!(world.patch(&world.operator, &path, world.version(&path), json!({"name": name})).status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_starts_now_and_goes_on_where_it_was_left() {
    let world = World::new();
    let head = number(&world);
    let (server, feed) = serve(&world, config()).await;
    let mut reader = Reader::open(server.address(), &world.operator, "", "").await;
    assert_eq!(reader.frame().await.unwrap().comment.as_deref(), Some("connected"));
    rename(&world, "One");
    feed.advance(number(&world));
    let (first, event) = reader.event().await;
    assert_eq!(
        (first, &event["data"]["change"], &event["type"]),
        (head + 1, &json!("updated"), &json!("io.gpuaas.tenant.updated.v1"))
    );
    drop(reader);
    rename(&world, "Two");
    rename(&world, "Three");
    number(&world);
    // Nobody announces it: the process finds out by itself.
    let mut again = Reader::open(server.address(), &world.operator, &format!("last-event-id: {first}\r\n"), "").await;
    assert_eq!((again.event().await.0, again.event().await.0), (first + 1, first + 2));
    rename(&world, "Four");
    number(&world);
    assert_eq!(again.event().await.0, first + 3);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_from_the_beginning_is_dense_and_a_tenant_sees_its_own() {
    let world = World::new();
    let head = number(&world);
    let (server, _) = serve(&world, config()).await;
    let mut all = Reader::open(server.address(), &world.auditor, "", "?after=0").await;
    for expected in 1..=head {
        assert_eq!(all.event().await.0, expected);
    }
    let quick = HttpConfig { heartbeat: Duration::from_millis(50), ..config() };
    let (quick, _) = serve(&world, quick).await;
    let mut own = Reader::open(quick.address(), &world.acme.admin, "", "?after=0").await;
    let mut seen = 0;
    let end = loop {
        let frame = own.frame().await.unwrap();
        match frame.data {
            Some(event) => {
                assert_eq!(event["data"]["tenant_id"], json!(world.acme.tenant));
                seen += 1;
            }
            None if frame.comment.as_deref() == Some("alive") => break frame.id,
            None => {}
        }
    };
    assert!(seen > 0 && i64::from(seen) < head);
    assert_eq!(end, Some(head), "a heartbeat moves the reader past what is not theirs");
    server.stop().await;
    quick.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_with_its_token() {
    let world = World::new();
    let quick = HttpConfig { heartbeat: Duration::from_millis(50), ..config() };
    let (server, _) = serve(&world, quick).await;
    let mut reader = Reader::open(server.address(), &world.viewer, "", "").await;
    assert!(reader.frame().await.is_some());
    assert_eq!(world.delete(&world.viewer, &format!("/api/v1/tokens/{}", world.viewer.token), None).status, 204);
    let mut last = None;
    while let Some(frame) = reader.frame().await {
        last = frame.comment;
    }
    assert_eq!(last.as_deref(), Some("token_revoked"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_stream_is_not_an_idle_connection() {
    let world = World::new();
    let quick = HttpConfig { heartbeat: Duration::from_millis(50), idle: Duration::from_millis(150), ..config() };
    let (server, _) = serve(&world, quick).await;
    let mut reader = Reader::open(server.address(), &world.viewer, "", "").await;
    for _ in 0..10 {
        assert!(reader.frame().await.is_some(), "cut off as idle");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_end_when_the_server_stops() {
    let world = World::new();
    let (server, _) = serve(&world, config()).await;
    let mut reader = Reader::open(server.address(), &world.viewer, "", "").await;
    let started = std::time::Instant::now();
    server.stop().await;
    assert!(started.elapsed() < Duration::from_secs(8), "stopping does not wait for readers");
    while reader.frame().await.is_some() {}
}
