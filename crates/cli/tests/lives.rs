//! A control plane from its first start to its last: killed while it fills its store, followed across kills, stopped while
//! busy, and out of disk.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod process;

use api::client::{Client, Follower, Patience};
use process::{
    Home,
    book::{reckon, settle},
    chronicle::Chronicle,
    count,
    dice::{Dice, Seed},
    ground::{Addresses, Asker, Ground, id},
    http::{Http, Lost, Request},
    load::Crowd,
    runtime,
    server::{Server, gpuaas, logs_are_clean},
    stream::Consumer,
    tmpfs::Tmpfs,
    verify,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    process::{Child, Stdio},
    sync::Arc,
    time::Duration,
};

fn words(folder: &str) -> [&str; 8] {
    ["dev", "--data-dir", folder, "--listen", "127.0.0.1:0", "--instant", "--log", "warn"]
}

fn start(home: &Path) -> Server {
    Server::start(home, "dev", &words(home.join("dev").to_str().unwrap()))
}

fn store_of(home: &Path) -> String {
    format!("sqlite:{}", home.join("dev/store.db").display())
}

/// The tokens that `dev` prints, by role.
fn tokens(server: &Server) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    loop {
        let line = server.line();
        if line.contains("Ctrl-C") {
            return found;
        }
        if let [role, secret, ..] = line.split_whitespace().collect::<Vec<_>>()[..]
            && secret.starts_with("gpuaas_")
        {
            found.insert(role.to_owned(), secret.to_owned());
        }
    }
}

/// A process that is killed before it said anything.
struct Unheard(Child);

impl Drop for Unheard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn killed_while_it_fills_its_store_it_fills_the_rest() {
    let seed = Seed::new("killed_while_it_fills_its_store_it_fills_the_rest");
    let (runtime, mut dice) = (runtime(), seed.dice());
    for _ in 0..count(8, 400) {
        let home = Home::new();
        let folder = home.path().join("dev");
        for _ in 0..3 {
            let mut command = gpuaas(home.path());
            command.args(words(folder.to_str().unwrap())).stdout(Stdio::null()).stderr(Stdio::null());
            let unheard = Unheard(command.spawn().unwrap());
            std::thread::sleep(dice.between_ms(1, 150));
            drop(unheard);
        }
        let server = start(home.path());
        let tokens = tokens(&server);
        let addresses = Addresses::default();
        addresses.add("dev", &server.url);
        runtime.block_on(whole(&mut Asker::new(&addresses, dice.fork()), &tokens));
        drop(server);
        verify(home.path(), &store_of(home.path()));
    }
}

/// Everything that a development platform promises is there, once.
async fn whole(asker: &mut Asker, tokens: &BTreeMap<String, String>) {
    let operator = &tokens["platform_operator"];
    let mut slugs = BTreeMap::new();
    for noun in ["regions", "pools", "skus", "tenants", "admin/nodes"] {
        let items = asker.list(&format!("/api/v1/{noun}"), operator).await;
        let field = if noun == "admin/nodes" { "name" } else { "slug" };
        let mut names: Vec<String> = items.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect();
        names.sort();
        slugs.insert(noun, names);
    }
    assert_eq!(slugs["regions"], ["eu-north", "us-east"]);
    assert_eq!(slugs["pools"], ["a100-slices", "h200-metal", "h200-slices"]);
    assert_eq!(slugs["tenants"], ["aurora", "borealis"]);
    assert_eq!((slugs["skus"].len(), slugs["admin/nodes"].len()), (3, 14));
    assert_eq!(tokens.len(), 5);
    for (role, token) in tokens {
        let answer = asker.ask(&Request::get("/api/v1/whoami", token)).await;
        assert_eq!(answer.status, 200, "{role}");
    }
    for tenant in asker.list("/api/v1/tenants", operator).await {
        let path = format!("/api/v1/tenants/{}", id(&tenant));
        assert_eq!(asker.list(&format!("{path}/projects"), operator).await.len(), 2);
        assert_eq!(asker.list(&format!("{path}/members"), operator).await.len(), 4);
    }
}

/// A development platform with clients and a place to work.
struct Stage {
    home: Home,
    runtime: tokio::runtime::Runtime,
    dice: Dice,
    addresses: Addresses,
    asker: Asker,
    ground: Arc<Ground>,
    operator: String,
}

fn stage(seed: &Seed) -> (Stage, Server, Crowd) {
    let (home, runtime, mut dice, addresses) = (Home::new(), runtime(), seed.dice(), Addresses::default());
    let server = start(home.path());
    addresses.add("dev", &server.url);
    let operator = tokens(&server)["platform_operator"].clone();
    let mut asker = Asker::new(&addresses, dice.fork());
    let ground = Arc::new(runtime.block_on(Ground::prepare(&mut asker, "load", &operator)));
    let crowd = Crowd::new(8, Arc::clone(&ground), &addresses, &mut dice);
    (Stage { home, runtime, dice, addresses, asker, ground, operator }, server, crowd)
}

#[test]
fn asked_to_end_while_busy_it_ends_in_order_and_keeps_everything() {
    let seed = Seed::new("asked_to_end_while_busy_it_ends_in_order_and_keeps_everything");
    let (mut stage, mut server, mut crowd) = stage(&seed);
    let Stage { home, runtime, dice, addresses, asker, ground, operator } = &mut stage;
    for signal in ["INT", "TERM", "INT"] {
        let (url, token) = (server.url.clone(), operator.clone());
        let following = runtime.spawn(async move {
            let mut consumer = Consumer { position: Some("0".to_owned()), ..Consumer::default() };
            consumer.follow(&url, &token).await;
            consumer.events.len()
        });
        let busy = runtime.block_on(async { crowd.begin(true) });
        let span = dice.between_ms(200, 600);
        runtime.block_on(async { tokio::time::sleep(span).await });
        server.signal(signal);
        assert_eq!(server.ends_within(Duration::from_secs(5)), Some(0), "SIG{signal}");
        addresses.remove("dev");
        assert!(runtime.block_on(following).unwrap() > 0, "the stream showed nothing before it ended");
        crowd = runtime.block_on(busy.end());
        server = start(home.path());
        addresses.add("dev", &server.url);
        runtime.block_on(settle(asker, ground, &crowd.book));
    }
    runtime.block_on(async {
        settle(asker, ground, &crowd.book).await;
        reckon(asker, ground, &crowd.book).await;
        Chronicle::default().complete(asker, ground, &crowd.book).await;
    });
    verify(home.path(), &store_of(home.path()));
    logs_are_clean(home.path());
}

/// The client that comes with the contract, reconnected to each life of the server in turn.
async fn followed(follower: &mut Follower, events: &mut Vec<Value>) {
    while let Ok(event) = follower.next().await {
        events.push(serde_json::to_value(event).unwrap());
    }
}

#[test]
fn events_are_followed_across_kills_without_a_gap() {
    let seed = Seed::new("events_are_followed_across_kills_without_a_gap");
    let (mut stage, mut server, mut crowd) = stage(&seed);
    let Stage { home, runtime, dice, addresses, asker, ground, operator } = &mut stage;
    let mut plain = Consumer { position: Some("0".to_owned()), ..Consumer::default() };
    let (mut typed, mut typed_position) = (Vec::new(), Some(0));
    let kills = count(15, 500);
    for _ in 0..kills {
        let client = Client::new(&server.url, operator).unwrap();
        let once = Patience { tries_max: 1, first_wait: Duration::ZERO, wait_max: Duration::ZERO };
        let mut follower = client.with_patience(once).events(typed_position);
        let span = dice.between_ms(100, 500);
        crowd = runtime.block_on(async {
            let busy = crowd.begin(true);
            let killed = async {
                tokio::time::sleep(span).await;
                server.kill();
                addresses.remove("dev");
            };
            let url = server_url(addresses);
            tokio::join!(plain.follow(&url, operator), followed(&mut follower, &mut typed), killed);
            busy.end().await
        });
        typed_position = follower.position();
        server = start(home.path());
        addresses.add("dev", &server.url);
        runtime.block_on(settle(asker, ground, &crowd.book));
    }
    let listed = runtime.block_on(to_the_end(asker, ground, &crowd, (&mut plain, &mut typed, typed_position), &server));
    let repeated = plain.events.len() - listed;
    let (connections, position) = (plain.connections, plain.position.clone());
    eprintln!("followed {listed} events over {connections} connections up to {position:?}; {repeated} came twice");
    assert!(connections > kills, "the stream was not opened again after each kill");
    drop(server);
    verify(home.path(), &store_of(home.path()));
}

fn server_url(addresses: &Addresses) -> String {
    addresses.of("dev").unwrap()
}

/// Follows until everything is there, and compares both consumers with the list. Says how many events there are.
async fn to_the_end(
    asker: &mut Asker,
    ground: &Ground,
    crowd: &Crowd,
    (plain, typed, position): (&mut Consumer, &mut Vec<Value>, Option<i64>),
    server: &Server,
) -> usize {
    settle(asker, &crowd.ground, &crowd.book).await;
    process::ground::quiet(asker, ground, Duration::from_secs(60)).await;
    let mut listed = Chronicle::default();
    listed.complete(asker, ground, &crowd.book).await;
    let last = listed.head().to_string();
    let client = Client::new(&server.url, &ground.operator).unwrap();
    let mut follower = client.events(position);
    let reach = async {
        while typed.last().is_none_or(|event| event["sequence"] != *last) {
            typed.push(serde_json::to_value(follower.next().await.unwrap()).unwrap());
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reach).await.expect("the typed client reaches the end");
    let _ = tokio::time::timeout(Duration::from_secs(3), plain.follow(&server.url, &ground.operator)).await;
    let mut heard = Chronicle::default();
    typed.iter().for_each(|event| heard.add(event));
    assert_eq!(heard.ids(), listed.ids(), "what the typed client handed out, without dedupe");
    let mut once: BTreeMap<u64, &Value> = BTreeMap::new();
    for event in &plain.events {
        let before = once.insert(event["sequence"].as_str().unwrap().parse().unwrap(), event);
        assert!(before.is_none_or(|before| before == event), "one number, two events: {before:?} and {event}");
    }
    let mut heard = Chronicle::default();
    once.values().take(listed.head()).for_each(|event| heard.add(event));
    assert_eq!(heard.ids(), listed.ids(), "what the stream sent, after dedupe");
    listed.head()
}

/// How clients fare while the disk is full.
#[derive(Debug, Default)]
struct Fared {
    acked: Vec<(String, String)>,
    open: Vec<String>,
}

fn region(operator: &str, name: &str) -> Request {
    let body = json!({ "slug": name, "name": "Made on a small disk", "enabled": false });
    Request::post("/api/v1/regions", operator, name, Some(body))
}

/// Writes until the server is gone.
async fn write_until_full(url: &str, operator: &str, fared: &mut Fared, life: usize) {
    let (mut http, within) = (Http::default(), Duration::from_secs(10));
    for number in 0..20_000 {
        let name = format!("r-{life}-{number}");
        match http.send(url, &region(operator, &name), within).await {
            Ok(answer) if answer.is_success() => fared.acked.push((name, id(&answer.json()))),
            Ok(answer) => {
                assert_eq!(answer.status, 503, "{}", answer.json());
                fared.open.push(name);
            }
            Err(Lost::BeforeSending) => return,
            Err(Lost::AfterSending) => fared.open.push(name),
        }
    }
    panic!("the disk never filled up");
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let home = Home::new();
    let disk = match Tmpfs::mount(home.path().join("small"), "24m") {
        Ok(disk) => disk,
        Err(why) => return eprintln!("SKIPPED a_full_disk_loses_nothing_that_was_acknowledged: no tmpfs here: {why}"),
    };
    let database = format!("sqlite:{}", disk.path().join("store.db").display());
    let words = ["bootstrap", "--database", &database, "--email", "ops@cloud.example", "-o", "json"];
    let made = gpuaas(home.path()).args(words).output().unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let operator = made["secret"].as_str().unwrap();
    let serve = ["serve", "--database", &database, "--listen", "127.0.0.1:0", "--log", "warn"];
    let (runtime, mut fared) = (runtime(), Fared::default());
    let mut server = Server::start(home.path(), "serve", &serve);
    // Room for some dozen changes: the server makes a few of its own meanwhile.
    disk.fill_but(2_000_000);
    runtime.block_on(write_until_full(&server.url, operator, &mut fared, 0));
    // A COMMIT that fails for want of room is a COMMIT whose outcome is unknown: the process ends, to be started again.
    assert_eq!(server.ends_within(Duration::from_secs(5)), Some(75));
    assert!(!fared.acked.is_empty() && !fared.open.is_empty(), "{fared:?}");
    // Started again on the full disk it can be read, until the next change does not fit; that may be one of its own.
    match Server::try_start(home.path(), "serve", &serve) {
        Ok(mut server) => {
            let reading = Request::get("/api/v1/regions?page_size=200", operator);
            let read = runtime.block_on(Http::default().send(&server.url, &reading, Duration::from_secs(10)));
            if let Ok(read) = read {
                let known = read.json()["items"].as_array().unwrap().len();
                assert!(known >= fared.acked.len(), "{known} of {} can be read", fared.acked.len());
            }
            runtime.block_on(write_until_full(&server.url, operator, &mut fared, 1));
            assert_eq!(server.ends_within(Duration::from_secs(5)), Some(75));
        }
        Err(code) => assert_eq!(code, Some(75)),
    }
    eprintln!("a full disk: {} acknowledged, {} open, none lost", fared.acked.len(), fared.open.len());
    disk.free();
    let server = Server::start(home.path(), "serve", &serve);
    let addresses = Addresses::default();
    addresses.add("serve", &server.url);
    let mut asker = Asker::new(&addresses, Dice::new(1));
    runtime.block_on(async {
        for name in &fared.open {
            let answer = asker.ask(&region(operator, name)).await;
            assert!(answer.is_success(), "{}", answer.json());
            fared.acked.push((name.clone(), id(&answer.json())));
        }
        let there = asker.list("/api/v1/regions", operator).await;
        let mut there: Vec<_> = there.iter().map(|one| (one["slug"].as_str().unwrap().to_owned(), id(one))).collect();
        there.sort();
        fared.acked.sort();
        assert_eq!(there, fared.acked);
    });
    drop(server);
    verify(home.path(), &database);
}
