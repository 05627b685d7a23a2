//! 64 concurrent HTTP clients on the smallest mutating call, each on a connection of its own: requests a second and how long
//! one takes, on both engines, beside what the disk can do.

use crate::{
    disk::per_second,
    figure::{Limit, RUNS, Report},
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
use store::{Dialect, testing::Place};

const CLIENTS: usize = 64;
const TAKES: Duration = Duration::from_secs(3);

/// Measures both engines.
pub fn measure(report: &mut Report, syncs_per_s: u64) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    for (dialect, name) in [(Dialect::Sqlite, "sqlite"), (Dialect::Postgres, "postgres")] {
        let place = Place::new(dialect);
        drop(place.open());
        let token = bootstrap(place.url())?;
        let words = ["serve", "--database", place.url(), "--listen", "127.0.0.1:0", "--rate-limit-per-s", "1000000"];
        let server = Server::start(&words)?;
        let mut rates = Vec::new();
        let (mut halves, mut tails) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let mut times = runtime.block_on(burst(&server.address, &token))?;
            times.sort_unstable();
            rates.push(per_second(times.len() as u64, TAKES));
            halves.push(times.get(times.len() / 2).copied().unwrap_or(0));
            tails.push(times.get(times.len() * 99 / 100).copied().unwrap_or(0));
        }
        report.figure(&format!("http_{name}_64_clients"), &rates, "requests/s", Limit::AtBest(syncs_per_s));
        report.figure(&format!("http_{name}_64_clients_p50"), &halves, "us", Limit::None);
        report.figure(&format!("http_{name}_64_clients_p99"), &tails, "us", Limit::None);
    }
    Ok(())
}

// The times of all answered requests, in microseconds.
async fn burst(address: &str, token: &str) -> Result<Vec<u64>, String> {
    let (started, next) = (Instant::now(), Arc::new(AtomicU64::new(started_at())));
    let hands: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(client(address.to_owned(), token.to_owned(), started, next.clone())))
        .collect();
    let mut times = Vec::new();
    for hand in hands {
        times.extend(hand.await.map_err(|error| error.to_string())??);
    }
    Ok(times)
}

// Names must differ between runs too.
fn started_at() -> u64 {
    static RUN: AtomicU64 = AtomicU64::new(0);
    RUN.fetch_add(1, Ordering::Relaxed) * 10_000_000
}

async fn client(address: String, token: String, started: Instant, next: Arc<AtomicU64>) -> Result<Vec<u64>, String> {
    let stream = tokio::net::TcpStream::connect(&address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let mut times = Vec::new();
    while started.elapsed() < TAKES {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let sent = Instant::now();
        create_region(&mut sender, &address, &token, number).await?;
        times.push(u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    Ok(times)
}

async fn create_region(
    sender: &mut SendRequest<Full<Bytes>>,
    address: &str,
    token: &str,
    number: u64,
) -> Result<(), String> {
    let body = format!(r#"{{"slug":"r{number}","name":"Bench","enabled":false}}"#);
    let request = Request::post("/api/v1/regions")
        .header("host", address)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .header("idempotency-key", format!("\"bench-{number}\""))
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    if status.as_u16() == 201 { Ok(()) } else { Err(format!("{status}: {}", String::from_utf8_lossy(&body))) }
}
