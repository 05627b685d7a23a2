//! The agents' door: where node agents call in. TLS 1.3 with certificates at both ends; who calls is read from the
//! certificate and from nothing else; what is said goes to the [`NodePlane`], which does not know about sockets.
//!
//! ```text
//! enroll   no certificate: a one-time token and a certificate request  ──▶ a certificate
//! renew    a certificate that is on record and not revoked             ──▶ the next one
//! messages heartbeats, progress, answers, polls                        ──▶ acknowledgements, orders, wanted streams
//! streams  a stream that is wanted of the node, by its id              ──▶ bytes both ways
//! ```
//!
//! A fleet of ten thousand says a thousand things a second, so the common case is kept cheap: a heartbeat of a known session
//! touches memory only, and a poll without orders waits as one entry of a map. What needs the store waits on a bounded
//! number of threads of its own.

mod board;
mod enroll;
mod images;
mod peer;
mod revocations;
mod service;
mod streams;
mod tls;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use store::Db;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{Semaphore, watch},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

pub use revocations::Revocations;

use crate::{
    Ports,
    authority::{Authority, AuthorityFault},
    image_files::ImageFiles,
    metrics::Metrics,
    node_plane::NodePlane,
    plane::Poke,
    streams::Gateway,
};
use peer::Peer;
use service::{Connection, Door};

/// How to listen for agents.
#[derive(Debug, Clone)]
pub struct AgentsConfig {
    /// Where.
    pub listen: SocketAddr,
    /// The names and addresses that agents reach this by; its certificate is good for them and no others.
    pub names: Vec<String>,
    /// Open connections at most.
    pub connections_max: usize,
    /// Handshakes that are worked on at the same time; the others wait, so that a fleet that comes back at once leaves
    /// room for everything else.
    pub handshakes_at_once: usize,
    /// How long a handshake may take.
    pub handshake: Duration,
    /// How long a body may take to arrive.
    pub arrival: Duration,
    /// How long a connection of a node may sit between calls.
    pub idle: Duration,
    /// The same for a connection without a certificate.
    pub stranger_idle: Duration,
    /// Calls that may wait for the store at the same time.
    pub store_calls_at_once: usize,
    /// How long open calls may take to end when the server stops.
    pub drain: Duration,
    /// Where the bytes of images are; without it agents get none here.
    pub images: Option<ImageFiles>,
}

impl AgentsConfig {
    /// The usual settings for an address: agents reach it by that address, or as `localhost`.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            names: vec![listen.ip().to_string(), "localhost".to_owned()],
            connections_max: 32_768,
            handshakes_at_once: 32,
            handshake: Duration::from_secs(10),
            arrival: Duration::from_secs(30),
            idle: Duration::from_secs(90),
            stranger_idle: Duration::from_secs(10),
            store_calls_at_once: 64,
            drain: Duration::from_secs(5),
            images: None,
        }
    }
}

/// Why the door did not open.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// The authority could not sign the door's certificate.
    #[error(transparent)]
    Authority(#[from] AuthorityFault),
    /// The TLS library does not take the settings.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The address cannot be had.
    #[error("cannot listen for agents on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
    /// The store could not be asked who the agents are.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

/// What the door leads to.
#[derive(Debug, Clone)]
pub struct AgentsParts {
    /// The store.
    pub db: Db,
    /// Time and randomness.
    pub ports: Ports,
    /// Who signs.
    pub authority: Arc<Authority>,
    /// Where messages go.
    pub node_plane: Arc<NodePlane>,
    /// What was revoked; the same one as the door of the API has.
    pub revocations: Revocations,
    /// Tells that something was recorded through the API.
    pub poke: Poke,
    /// What is counted.
    pub metrics: Metrics,
    /// Where streams that agents open are joined; the same one as the door of the API has.
    pub gateway: Gateway,
}

/// Lets a host in as the door does, for hosts that have no network between them and this process. Blocks.
pub fn enroll(
    (db, ports): (&Db, &Ports),
    authority: &Arc<Authority>,
    node_plane: &NodePlane,
    request: &api::node_plane::EnrollRequest,
) -> Result<api::node_plane::EnrollAnswer, api::Problem> {
    let registrar = enroll::Registrar::new(db.clone(), ports.clone(), Arc::clone(authority));
    let enrolled = registrar.enroll(request).map_err(enroll::Fault::into_problem)?;
    if enrolled.again {
        node_plane.forget_session(&enrolled.answer.node_id);
    }
    Ok(enrolled.answer)
}

/// A running door. Dropping it closes it at once; [`AgentsServer::stop`] lets open calls end.
#[derive(Debug)]
pub struct AgentsServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

/// Opens the door. Must be called inside a tokio runtime.
pub async fn start(config: AgentsConfig, parts: AgentsParts) -> Result<AgentsServer, AgentsError> {
    let tls = tls::config(&parts.authority, &config.names, &parts.ports)?;
    let failed = |error| AgentsError::Listen { address: config.listen, error };
    let listener = listen(config.listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    raise_open_files();
    let (stop, stopping) = watch::channel(false);
    let door = Arc::new(Door::new(&config, parts, stopping.clone()));
    door.prepare().await?;
    let task = tokio::spawn(run(listener, config, tls, door, stopping));
    Ok(AgentsServer { address, stop, task: Some(task) })
}

/// A fleet that comes back after a power cut knocks all at once, and who finds the queue full waits a second or more.
const WAITING_CONNECTIONS_MAX: u32 = 4096;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_CONNECTIONS_MAX)
}

/// One connection is one open file, and the usual limit is meant for programs with few of them.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum }) {
        tracing::warn!(%error, "the limit of open files could not be raised; it limits how many agents can connect");
    }
}

impl AgentsServer {
    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, answers held polls, and waits for open calls as long as the set-up says.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

impl Drop for AgentsServer {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// What every connection needs.
struct Shell {
    config: AgentsConfig,
    acceptor: TlsAcceptor,
    door: Arc<Door>,
    handshakes: Semaphore,
    stopping: watch::Receiver<bool>,
}

async fn run(
    listener: TcpListener,
    config: AgentsConfig,
    tls: Arc<ServerConfig>,
    door: Arc<Door>,
    mut stopping: watch::Receiver<bool>,
) {
    let handshakes = Semaphore::new(config.handshakes_at_once.max(1));
    let drain = config.drain;
    let shell = Shell { config, acceptor: TlsAcceptor::from(tls), door, handshakes, stopping: stopping.clone() };
    let shell = Arc::new(shell);
    let mut connections = JoinSet::new();
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    while connections.try_join_next().is_some() {}
                    // Over the limit: the socket is closed unheard, which costs us least.
                    if connections.len() < shell.config.connections_max {
                        connections.spawn(connection(Arc::clone(&shell), stream, address));
                    }
                    shell.door.connections(connections.len());
                }
                Err(error) => {
                    // Usually too many open files; trying at once would spin.
                    tracing::warn!(%error, "an agent's connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    };
    tokio::select! {
        () = accept => {}
        () = shell.door.keep_current() => {}
        _ = stopping.wait_for(|stop| *stop) => {}
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(drain, ended).await.is_err() {
        tracing::warn!(left = connections.len(), "connections of agents were cut at shutdown");
    }
    connections.abort_all();
}

async fn connection(shell: Arc<Shell>, stream: TcpStream, address: SocketAddr) {
    let _ = stream.set_nodelay(true);
    crate::streams::keep_alive(&stream);
    let mut stopping = shell.stopping.clone();
    let greeted = tokio::select! {
        greeted = tokio::time::timeout(shell.config.handshake, handshake(&shell, stream)) => greeted,
        _ = stopping.wait_for(|stop| *stop) => return,
    };
    match greeted {
        Ok(Ok(stream)) => speak(&shell, stream, address).await,
        Ok(Err(error)) => tracing::debug!(%error, %address, "a handshake failed"),
        Err(_) => tracing::debug!(%address, "a handshake took too long"),
    }
}

/// A place among those that are worked on is kept this long; who is slower goes on without one, and keeps nobody waiting.
const PLACE_KEPT: Duration = Duration::from_millis(500);

async fn handshake(shell: &Shell, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
    // Who says nothing takes no place.
    stream.readable().await?;
    let place = shell.handshakes.acquire().await.map_err(std::io::Error::other)?;
    let mut greeting = std::pin::pin!(shell.acceptor.accept(stream));
    tokio::select! {
        done = greeting.as_mut() => return done,
        () = tokio::time::sleep(PLACE_KEPT) => drop(place),
    }
    greeting.await
}

const HEAD_BYTES_MAX: u16 = 16 * 1024;
const STREAMS_MAX: u32 = 16;

async fn speak(shell: &Arc<Shell>, stream: TlsStream<TcpStream>, address: SocketAddr) {
    let (_, tls) = stream.get_ref();
    let speaks_http2 = tls.alpn_protocol() == Some(b"h2");
    let shown = tls.peer_certificates().and_then(|chain| chain.first());
    let peer = shown.map(|certificate| Peer::read(shell.door.authority(), certificate));
    let idle = if peer.is_some() { shell.config.idle } else { shell.config.stranger_idle };
    let connection = Arc::new(Connection::new(peer, address));
    tracing::debug!(node = connection.node().map(tracing::field::display), %address, "connected");
    let service = {
        let door = Arc::clone(&shell.door);
        hyper::service::service_fn(move |request| {
            let (door, connection) = (Arc::clone(&door), Arc::clone(&connection));
            async move { door.answer(request, &connection).await }
        })
    };
    let mut stopping = shell.stopping.clone();
    let stop = async { stopping.wait_for(|stop| *stop).await.map(drop) };
    let io = TokioIo::new(stream);
    let ended = if speaks_http2 {
        let mut http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new()).keep_alive_interval(idle / 3).keep_alive_timeout(idle / 3);
        http.max_concurrent_streams(STREAMS_MAX).max_header_list_size(u32::from(HEAD_BYTES_MAX));
        let mut serving = std::pin::pin!(http.serve_connection(io, service));
        tokio::select! {
            ended = serving.as_mut() => ended,
            _ = stop => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        }
    } else {
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(idle).max_buf_size(usize::from(HEAD_BYTES_MAX));
        let mut serving = std::pin::pin!(http.serve_connection(io, service).with_upgrades());
        tokio::select! {
            ended = serving.as_mut() => ended,
            _ = stop => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %address, "a connection of an agent ended badly");
    }
}
