//! Somebody who reads meanwhile: fifty calls a second, each due at its own moment whether the one before was answered or not.
//! How long one took is counted from when it was due, so that a server that stands still is not measured less often.

use http_body_util::{BodyExt as _, Empty};
use hyper::{Request, body::Bytes, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};
use tokio::time::Instant;

/// One read is due this long after the other: fifty a second.
const EVERY: Duration = Duration::from_millis(20);
/// So many may be open at the same time.
const CONNECTIONS: u32 = 64;

/// A reader at work, on a thread of its own.
pub struct Reader {
    stop: Arc<AtomicBool>,
    hand: JoinHandle<Result<Vec<u64>, String>>,
}

impl Reader {
    /// Begins to read.
    pub fn start(address: &str, token: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (address, token, told) = (address.to_owned(), token.to_owned(), Arc::clone(&stop));
        Self { stop, hand: std::thread::spawn(move || read(&address, &token, &told)) }
    }

    /// Ends, and says how long each read took, in microseconds, shortest first.
    pub fn times(self) -> Result<Vec<u64>, String> {
        self.stop.store(true, Ordering::Release);
        let mut times = self.hand.join().map_err(|_| "the reader panicked".to_owned())??;
        times.sort_unstable();
        Ok(times)
    }
}

fn read(address: &str, token: &str, stop: &Arc<AtomicBool>) -> Result<Vec<u64>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let mut senders = Vec::new();
        for _ in 0..CONNECTIONS {
            senders.push(connect(address).await?);
        }
        let started = Instant::now();
        let hands: Vec<_> = (0u32..)
            .zip(senders)
            .map(|(at, sender)| {
                let (address, token, stop) = (address.to_owned(), token.to_owned(), Arc::clone(stop));
                tokio::spawn(async move { turns(sender, &address, &token, started + EVERY * at, &stop).await })
            })
            .collect();
        let mut times = Vec::new();
        for hand in hands {
            times.extend(hand.await.map_err(|error| error.to_string())??);
        }
        Ok(times)
    })
}

async fn connect(address: &str) -> Result<SendRequest<Empty<Bytes>>, String> {
    let stream = tokio::net::TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let (sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    Ok(sender)
}

// Every connection has its turn; one that is late goes on at once.
async fn turns(
    mut sender: SendRequest<Empty<Bytes>>,
    address: &str,
    token: &str,
    mut due: Instant,
    stop: &AtomicBool,
) -> Result<Vec<u64>, String> {
    let mut times = Vec::new();
    loop {
        tokio::time::sleep_until(due).await;
        if stop.load(Ordering::Acquire) {
            return Ok(times);
        }
        let request = Request::get("/api/v1/regions")
            .header("host", address)
            .header("authorization", format!("Bearer {token}"))
            .body(Empty::new())
            .map_err(|error| error.to_string())?;
        let answer = sender.send_request(request).await.map_err(|error| format!("a read failed: {error}"))?;
        let status = answer.status();
        answer.into_body().collect().await.map_err(|error| error.to_string())?;
        if status != 200 {
            return Err(format!("a read was answered with {status}"));
        }
        times.push(u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX));
        due += EVERY * CONNECTIONS;
    }
}
