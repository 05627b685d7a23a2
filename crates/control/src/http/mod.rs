//! The shell that speaks HTTP: sockets, limits, headers and streams around the [front door](crate::front_door). It decides
//! nothing about tenants or rights; it only makes sure that what reaches the door is bounded in size, rate and time, and
//! that every answer, even to a panic, is a well-formed one.
//!
//! Encryption is somebody else's: put a TLS proxy in front. An address that is reachable from elsewhere is refused unless
//! the set-up says that such a proxy, or a private network, is there.

mod callback;
mod feed;
mod guests;
mod limits;
mod outside;
mod portal;
mod service;
mod stream;
mod upload;
mod wire;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use store::Db;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

pub use feed::EventFeed;
pub use limits::Rate;

use crate::{front_door::FrontDoor, metrics::Metrics, plane::Poke};
use limits::{Admitted, Connections, Rates};
use service::Service;
use wire::{Patience, Phase, Wire};

/// How to listen.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Where.
    pub listen: SocketAddr,
    /// Listen in plain text on an address that others can reach.
    pub plaintext_allowed: bool,
    /// The allowance of each token.
    pub rate: Rate,
    /// The allowance of each address for requests without a token that is known to be good.
    pub stranger_rate: Rate,
    /// The allowance of each address for trying to sign in.
    pub sign_in_rate: Rate,
    /// Open connections at most.
    pub connections_max: usize,
    /// Open connections from one address at most.
    pub connections_per_address_max: usize,
    /// How long a head, and again a body, may take to arrive.
    pub arrival: Duration,
    /// How long a connection may sit between requests.
    pub idle: Duration,
    /// How long a client may take to read what is sent.
    pub stall: Duration,
    /// How often a quiet stream shows that it lives; its token is checked as often.
    pub heartbeat: Duration,
    /// How often the store is asked for new events.
    pub head_poll: Duration,
    /// How long open requests may take to end when the server stops.
    pub drain: Duration,
    /// The files of the portal; none where it was not built.
    pub portal: &'static [::portal::File],
}

impl HttpConfig {
    /// The usual settings for an address.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            plaintext_allowed: false,
            rate: Rate::default(),
            stranger_rate: Rate::default(),
            sign_in_rate: Rate { requests: 120, window_s: 60 },
            connections_max: 8192,
            connections_per_address_max: 1024,
            arrival: Duration::from_secs(api::limits::ARRIVAL_S_MAX),
            idle: Duration::from_secs(75),
            stall: Duration::from_secs(30),
            heartbeat: Duration::from_secs(15),
            head_poll: Duration::from_millis(500),
            drain: Duration::from_secs(10),
            portal: ::portal::files(),
        }
    }
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Plain text where others can listen in.
    #[error(
        "{0} can be reached from other machines and this server does not encrypt: listen on a loopback address behind a TLS \
         proxy, or allow plain text explicitly"
    )]
    Plaintext(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
}

/// What the server serves.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The door.
    pub door: FrontDoor,
    /// The store.
    pub db: Db,
    /// What is counted.
    pub metrics: Metrics,
    /// Whom to nudge when a wish was recorded.
    pub poke: Poke,
    /// How far the events have come.
    pub feed: EventFeed,
}

/// A running server. Dropping it stops it at once; [`HttpServer::stop`] lets open requests end.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

/// Starts to listen. Must be called inside a tokio runtime.
pub async fn start(config: HttpConfig, parts: Parts) -> Result<HttpServer, HttpError> {
    if !config.listen.ip().is_loopback() && !config.plaintext_allowed {
        return Err(HttpError::Plaintext(config.listen));
    }
    let failed = |error| HttpError::Listen { address: config.listen, error };
    let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (stop, stopping) = watch::channel(false);
    let task = tokio::spawn(run(listener, config, parts, stopping));
    Ok(HttpServer { address, stop, task: Some(task) })
}

impl HttpServer {
    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, ends streams, and waits for open requests as long as the set-up says.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

async fn run(listener: TcpListener, config: HttpConfig, parts: Parts, mut stopping: watch::Receiver<bool>) {
    let open = Connections::new(config.connections_max, config.connections_per_address_max);
    let rates = Arc::new(Rates::new(config.rate, config.stranger_rate, config.sign_in_rate));
    let service = Arc::new(Service::new(&config, parts.clone(), Arc::clone(&rates), stopping.clone()));
    let mut connections = JoinSet::new();
    let follow = parts.feed.follow(&parts.db, config.head_poll, &parts.poke);
    let tidy = async {
        loop {
            tokio::time::sleep(Duration::from_secs(60)).await;
            rates.tidy();
        }
    };
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    while connections.try_join_next().is_some() {}
                    // Over the limit: the socket is closed unheard, which costs us least.
                    if let Some(admitted) = open.admit(peer.ip()) {
                        let (service, stopping) = (Arc::clone(&service), stopping.clone());
                        let patience = Patience { idle: config.idle, head: config.arrival, stall: config.stall };
                        let (open, metrics) = (open.clone(), parts.metrics.clone());
                        metrics.connections(open.count());
                        connections.spawn(async move {
                            connection(stream, peer, patience, service, (stopping, admitted)).await;
                            metrics.connections(open.count());
                        });
                    }
                }
                Err(error) => {
                    // Usually too many open files; trying at once would spin.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    };
    let mut asked = stopping.clone();
    let gateway = parts.door.config().gateway.clone();
    tokio::select! {
        () = accept => {}
        () = follow => {}
        () = gateway.follow(&parts.door, &parts.db, &parts.poke) => {}
        () = tidy => {}
        _ = asked.wait_for(|stop| *stop) => {}
    }
    drop(listener);
    let _ = stopping.wait_for(|stop| *stop).await;
    gateway.stop(config.drain).await;
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(config.drain, ended).await.is_err() {
        tracing::warn!(left = connections.len(), "connections were cut at shutdown");
    }
    connections.abort_all();
}

/// Room for a head that is a little too large, so that it can be refused in words.
const HEAD_BUFFER_BYTES: usize = 128 * 1024;
const HEADERS_MAX: usize = 256;

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    patience: Patience,
    service: Arc<Service>,
    (mut stopping, _admitted): (watch::Receiver<bool>, Admitted),
) {
    let _ = stream.set_nodelay(true);
    crate::streams::keep_alive(&stream);
    let (stream, phase) = (Arc::new(stream), Phase::default());
    let io = TokioIo::new(Wire::new(Arc::clone(&stream), phase.clone(), patience));
    let serve = {
        let (service, phase) = (Arc::clone(&service), phase.clone());
        hyper::service::service_fn(move |request| {
            let (service, phase) = (Arc::clone(&service), phase.clone());
            async move { service.answer(request, peer, &phase).await }
        })
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEAD_BUFFER_BYTES).max_headers(HEADERS_MAX);
    let mut connection = std::pin::pin!(http.serve_connection(io, serve).with_upgrades());
    let asked = async { stopping.wait_for(|stop| *stop).await.map(drop) };
    let result = tokio::select! {
        result = connection.as_mut() => result,
        _ = asked => {
            connection.as_mut().graceful_shutdown();
            connection.as_mut().await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended badly");
        if let Some(problem) = service::unread_head(&error, &phase) {
            service.last_word(&stream, &problem).await;
        }
    }
}
