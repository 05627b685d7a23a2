//! Launches over HTTP with 64 clients at once, at 10,000 nodes, on both engines: how many a second are answered and durable,
//! how many of them have their place when the last was asked for, and how long one takes from the request to the place.

use crate::{
    disk::per_second,
    figure::{Limit, Report, say, thousandths},
    ground,
    server::{Server, bootstrap},
};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, body::Bytes, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use store::{Db, Dialect, StoreError, testing::Place};

const CLIENTS: usize = 64;
const RUNS: usize = 3;
const TAKES: Duration = Duration::from_secs(3);
/// A placement is looked for this often by whoever waits for it.
const LOOKS_EVERY: Duration = Duration::from_millis(3);

/// What the applier alone does a second, by engine, where it was measured in this run.
pub type AppliersAlone = [Option<u64>; 2];

/// Measures the engines that are wanted.
pub fn measure(report: &mut Report, alone: AppliersAlone, is_wanted: impl Fn(&str) -> bool) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    for (dialect, name, alone) in [(Dialect::Sqlite, "sqlite", alone[0]), (Dialect::Postgres, "postgres", alone[1])] {
        if !is_wanted(name) {
            continue;
        }
        let place = Place::new(dialect);
        let db = place.open();
        ground::fleet(&db)?;
        ground::people(&db)?;
        ground::settle(&db)?;
        drop(db);
        let token = bootstrap(place.url())?;
        let words = ["serve", "--database", place.url(), "--listen", "127.0.0.1:0", "--rate-limit-per-s", "1000000"];
        let server = Server::start(&words)?;
        let load = Load { address: server.address.clone(), token, next: Arc::new(AtomicU64::new(0)) };
        // The first asks wait for the leader and for the fleet to be read.
        runtime.block_on(load.burst(Duration::from_millis(200), true))?;
        measure_engine(report, &runtime, &load, name, (place.url(), alone))?;
    }
    Ok(())
}

fn measure_engine(
    report: &mut Report,
    runtime: &tokio::runtime::Runtime,
    load: &Load,
    name: &str,
    (url, alone): (&str, Option<u64>),
) -> Result<(), String> {
    let (mut rates, mut placed, mut answers) = (vec![], vec![], (vec![], vec![]));
    let mut places = (vec![], vec![]);
    for _ in 0..RUNS {
        let before = placements(url)?;
        let started = Instant::now();
        let times = runtime.block_on(load.burst(TAKES, false))?;
        rates.push(per_second(times.len() as u64, started.elapsed()));
        placed.push(per_second(placements(url)?.saturating_sub(before), started.elapsed()));
        answers.0.push(percentile(&times, 50));
        answers.1.push(percentile(&times, 99));
        wait_until_all_are_placed(url)?;
        let times = runtime.block_on(load.burst(TAKES, true))?;
        places.0.push(percentile(&times, 50));
        places.1.push(percentile(&times, 99));
    }
    let limit = alone.map_or(Limit::None, Limit::AtBest);
    let title = format!("launches_{name}_64_clients");
    let rate = report.figure(&title, &rates, "launches/s", limit);
    report.figure(&format!("{title}_placed"), &placed, "placements/s", limit);
    report.figure(&format!("{title}_answer_p50"), &answers.0, "us", Limit::None);
    report.figure(&format!("{title}_answer_p99"), &answers.1, "us", Limit::None);
    report.figure(&format!("{title}_placed_p50"), &places.0, "us", Limit::None);
    report.figure(&format!("{title}_placed_p99"), &places.1, "us", Limit::None);
    if let Some(alone) = alone {
        say(&format!(
            "# {name}: launches through HTTP are {} of what the applier alone places",
            thousandths(rate, alone)
        ));
    }
    Ok(())
}

fn percentile(times: &[u64], percent: usize) -> u64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(0)
}

fn count(url: &str, sql: &'static str) -> Result<u64, String> {
    let config = store::DbConfig { readers: 1, ..store::DbConfig::new(url) };
    let read = |db: Db| db.read(move |tx| tx.query_one(sql, &[])?.int(0));
    let counted = Db::open_for_reading(&config).and_then(read).map_err(|error: StoreError| error.to_string())?;
    Ok(counted.unsigned_abs())
}

fn placements(url: &str) -> Result<u64, String> {
    count(url, "SELECT COUNT(*) FROM decisions WHERE outcome = 'placed'")
}

fn wait_until_all_are_placed(url: &str) -> Result<(), String> {
    let started = Instant::now();
    while count(url, "SELECT COUNT(*) FROM allocations WHERE state = 'requested'")? > 0 {
        if started.elapsed() > Duration::from_secs(120) {
            return Err("wishes are left without an answer after two minutes".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Who asks, and of whom.
struct Load {
    address: String,
    token: String,
    next: Arc<AtomicU64>,
}

impl Load {
    /// The times of all launches, in microseconds: until the answer, or until they have their place.
    async fn burst(&self, takes: Duration, until_placed: bool) -> Result<Vec<u64>, String> {
        let started = Instant::now();
        let hands: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let client = Client::new(&self.address, &self.token, &self.next);
                tokio::spawn(async move { client.await?.work(started, takes, until_placed).await })
            })
            .collect();
        let mut times = Vec::new();
        for hand in hands {
            times.extend(hand.await.map_err(|error| error.to_string())??);
        }
        Ok(times)
    }
}

struct Client {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    token: String,
    next: Arc<AtomicU64>,
}

impl Client {
    fn new(address: &str, token: &str, next: &Arc<AtomicU64>) -> impl Future<Output = Result<Self, String>> + use<> {
        let (address, token, next) = (address.to_owned(), token.to_owned(), Arc::clone(next));
        async move {
            let stream = tokio::net::TcpStream::connect(&address).await.map_err(|error| error.to_string())?;
            stream.set_nodelay(true).map_err(|error| error.to_string())?;
            let (sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
            tokio::spawn(connection);
            Ok(Self { sender, address, token, next })
        }
    }

    async fn work(mut self, started: Instant, takes: Duration, until_placed: bool) -> Result<Vec<u64>, String> {
        let mut times = Vec::new();
        while started.elapsed() < takes {
            let sent = Instant::now();
            let allocation = self.launch().await?;
            while until_placed && self.state_of(&allocation).await? == "requested" {
                tokio::time::sleep(LOOKS_EVERY).await;
            }
            times.push(u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX));
        }
        Ok(times)
    }

    // Sizes in the usual mix, spread over all projects.
    async fn launch(&mut self) -> Result<String, String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sku, gpus) = match number * 7 % 20 {
            0..10 => (0, 1),
            10..14 => (0, 2),
            14..17 => (0, 4),
            17..19 => (0, 8),
            _ => (1, 8),
        };
        let id = |prefix: &str, number: u64| format!("{prefix}_01jh2n6f4zw8q9r0s1t{}", 1_000_000 + number);
        let body = format!(
            r#"{{"name":"run","sku_id":"{}","region_id":"{}","gpu_count":{gpus}}}"#,
            id("sku", sku),
            id("rgn", 0)
        );
        let path = format!("/api/v1/projects/{}/allocations", id("prj", number % 500));
        let request = Request::post(path)
            .header("content-type", "application/json")
            .header("idempotency-key", format!("\"bench-{number}\""));
        let answer = self.ask(request, body, 202).await?;
        answer["subject_id"].as_str().map(str::to_owned).ok_or_else(|| format!("no allocation in {answer}"))
    }

    async fn state_of(&mut self, allocation: &str) -> Result<String, String> {
        let answer = self.ask(Request::get(format!("/api/v1/allocations/{allocation}")), String::new(), 200).await?;
        Ok(answer["execution"].as_str().unwrap_or_default().to_owned())
    }

    async fn ask(
        &mut self,
        request: hyper::http::request::Builder,
        body: String,
        expected: u16,
    ) -> Result<serde_json::Value, String> {
        let request = request
            .header("host", &self.address)
            .header("authorization", format!("Bearer {}", self.token))
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| error.to_string())?;
        let answer = self.sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        if status.as_u16() != expected {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)));
        }
        serde_json::from_slice(&body).map_err(|error| error.to_string())
    }
}
