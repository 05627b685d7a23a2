//! The fleet's side of the wire, in a process of its own so that its CPU is not the server's: every node is a task with one
//! connection, mutual TLS 1.3 and HTTP/1.1 kept alive. A node says that it is there every ten seconds and asks for orders in
//! the same call, which the server holds back; that is what an agent does.
//!
//! It obeys lines on standard input (`storm full`, `storm resumed`) and says on standard output how each went. In a storm all
//! nodes lose their connections at once and come back as quickly as they can; it is over when the heartbeat of every one
//! was answered. When standard input ends, so does the process.

use super::fleet;
use crate::figure::{complain, say};
use agent::wire::credential::Credential;
use api::node_plane::{HEARTBEAT_S, Heartbeat, MESSAGES_PATH, Poll, SESSION_HEADER, ToControl};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use std::{
    io::BufRead as _,
    net::SocketAddr,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::TcpStream,
    sync::{Notify, mpsc, watch},
    time::{Instant, sleep, timeout},
};
use tokio_rustls::TlsConnector;

/// The word that makes this program play the fleet.
pub const WORD: &str = "agents-load";

// As long as an agent waits for these.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);
const HEARTBEAT: Duration = Duration::from_secs(HEARTBEAT_S as u64);
// Files that are open beside the connections.
const OTHER_FILES: u64 = 64;

/// One time that all nodes connect.
#[derive(Debug, Clone, Copy)]
struct Round {
    number: u64,
    began: Instant,
    resumes: bool,
}

struct Member {
    number: usize,
    // The number of rounds that have begun when it was last heard.
    heard: AtomicU64,
    credential: Credential,
    full: Arc<ClientConfig>,
    resuming: Arc<ClientConfig>,
}

struct Fleet {
    server: SocketAddr,
    count: usize,
    // How long each node took in the current round, in microseconds.
    times: Mutex<(u64, Vec<u64>)>,
    all: Notify,
    failures: AtomicU64,
}

/// Plays the fleet until standard input ends: `agents-load ADDRESS AUTHORITY_PEM CERTIFICATES_JSON`.
pub fn main(words: &[String]) -> ExitCode {
    match run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(&format!("{WORD}: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<(), String> {
    let [server, authority, certificates] = words else { return Err("expected an address and two files".to_owned()) };
    let server: SocketAddr = server.parse().map_err(|_| format!("{server} is no address"))?;
    let authority = CertificateDer::from_pem_file(authority).map_err(|error| error.to_string())?;
    let pems = std::fs::read(certificates).map_err(|error| error.to_string())?;
    let pems: Vec<String> = serde_json::from_slice(&pems).map_err(|error| error.to_string())?;
    raise_open_files(pems.len() as u64 + OTHER_FILES)?;
    let members = members(authority, &pems)?;
    // One thread: the fleet stands for other machines, so it leaves the rest of this one to the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(play(server, members))
}

fn raise_open_files(needed: u64) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).map_err(|error| error.to_string())?;
    match maximum {
        Some(maximum) if maximum < needed => Err(format!("{needed} open files are needed and {maximum} allowed")),
        _ => Ok(()),
    }
}

fn members(authority: CertificateDer<'static>, pems: &[String]) -> Result<Vec<Member>, String> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority).map_err(|error| error.to_string())?;
    let roots = Arc::new(roots);
    let member = |(number, pem): (usize, &String)| {
        let credential = Credential::new(fleet::key(number)?, pem).map_err(|fault| fault.to_string())?;
        let full = client(&provider, &roots, &credential, Resumption::disabled())?;
        let resuming = client(&provider, &roots, &credential, Resumption::in_memory_sessions(1))?;
        Ok(Member { number, heard: AtomicU64::new(0), credential, full, resuming })
    };
    pems.iter().enumerate().map(member).collect()
}

fn client(
    provider: &Arc<CryptoProvider>,
    roots: &Arc<RootCertStore>,
    credential: &Credential,
    resumption: Resumption,
) -> Result<Arc<ClientConfig>, String> {
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?
        .with_root_certificates(Arc::clone(roots))
        .with_client_auth_cert(credential.chain().to_vec(), credential.key().to_rustls())
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = resumption;
    Ok(Arc::new(config))
}

async fn play(server: SocketAddr, members: Vec<Member>) -> Result<(), String> {
    let fleet = Arc::new(Fleet {
        server,
        count: members.len(),
        times: Mutex::default(),
        all: Notify::new(),
        failures: AtomicU64::new(0),
    });
    let first = Round { number: 0, began: Instant::now(), resumes: false };
    let (rounds, heard) = watch::channel(first);
    for member in members {
        tokio::spawn(live(member, Arc::clone(&fleet), heard.clone()));
    }
    fleet.all.notified().await;
    tell("connected", &fleet);
    let mut orders = orders();
    let mut number = 0;
    while let Some(order) = orders.recv().await {
        let resumes = match order.as_str() {
            "storm full" => false,
            "storm resumed" => true,
            other => return Err(format!("{other:?} is no order")),
        };
        number += 1;
        *fleet.times.lock().unwrap_or_else(PoisonError::into_inner) = (number, Vec::with_capacity(fleet.count));
        rounds.send_replace(Round { number, began: Instant::now(), resumes });
        fleet.all.notified().await;
        tell("renewed", &fleet);
    }
    Ok(())
}

// Standard input is read on a thread, since nothing else may wait for it.
fn orders() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

// The word, then when the last, the middle and the hundredth-last node was heard, in milliseconds, then failed tries.
fn tell(word: &str, fleet: &Fleet) {
    let mut times = fleet.times.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
    times.sort_unstable();
    let at =
        |percent: usize| times.get((times.len() * percent / 100).min(times.len() - 1)).copied().unwrap_or(0) / 1000;
    let failures = fleet.failures.swap(0, Ordering::Relaxed);
    say(&format!("{word} {} {} {} {failures}", at(100), at(50), at(99)));
}

async fn live(member: Member, fleet: Arc<Fleet>, mut rounds: watch::Receiver<Round>) {
    let mut failures = 0u32;
    loop {
        let round = *rounds.borrow_and_update();
        let ended = tokio::select! {
            ended = connected(&member, &fleet, round) => ended,
            // Whatever is open is dropped with the future.
            _ = rounds.changed() => {
                failures = 0;
                continue;
            }
        };
        let Err(why) = ended;
        failures += 1;
        if fleet.failures.fetch_add(1, Ordering::Relaxed) == 0 {
            complain(&format!("{WORD}: {why}"));
        }
        tokio::select! {
            () = sleep(pause(member.number, failures)) => {}
            _ = rounds.changed() => {}
        }
    }
}

// As an agent waits: a second at first, then ever longer, and no two nodes the same.
fn pause(number: usize, failures: u32) -> Duration {
    let whole = 1000u64.saturating_mul(1 << (failures - 1).min(6)).min(60_000);
    let share = (number as u64).wrapping_mul(2_654_435_761) % 1000;
    Duration::from_millis(whole / 2 + whole * share / 2000)
}

async fn connected(member: &Member, fleet: &Fleet, round: Round) -> Result<std::convert::Infallible, String> {
    let config = if round.resumes { &member.resuming } else { &member.full };
    let opened = timeout(CONNECT_TIME_MAX, async {
        let stream = TcpStream::connect(fleet.server).await.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let (connector, name) = (TlsConnector::from(Arc::clone(config)), ServerName::from(fleet.server.ip()));
        let stream = connector.connect(name, stream).await.map_err(|error| error.to_string())?;
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())
    });
    let (mut sender, connection) = opened.await.map_err(|_| "no connection in time".to_owned())??;
    tokio::select! {
        ended = connection => Err(format!("the connection ended: {ended:?}")),
        ended = talk(member, fleet, round, &mut sender) => ended,
    }
}

type Sender = http1::SendRequest<Full<Bytes>>;

async fn talk(
    member: &Member,
    fleet: &Fleet,
    round: Round,
    sender: &mut Sender,
) -> Result<std::convert::Infallible, String> {
    // Alone, so that its answer is not held back.
    call(member, fleet, sender, true, None).await?;
    fleet.heard(member, round);
    call(member, fleet, sender, false, Some(HEARTBEAT)).await?;
    loop {
        call(member, fleet, sender, true, Some(HEARTBEAT)).await?;
    }
}

async fn call(
    member: &Member,
    fleet: &Fleet,
    sender: &mut Sender,
    beats: bool,
    held: Option<Duration>,
) -> Result<(), String> {
    let (node_id, boot, session) = (member.credential.node_id(), 1, format!("session-{}", member.number));
    let mut said = Vec::with_capacity(2);
    if beats {
        let (session, sent_at) = (session.clone(), agent::clock::now());
        said.push(ToControl::Heartbeat(Heartbeat { node_id: node_id.clone(), boot, session, sent_at }));
    }
    let mut path = MESSAGES_PATH.to_owned();
    if let Some(held) = held {
        said.push(ToControl::Poll(Poll { node_id: node_id.clone(), boot }));
        path = format!("{path}?wait_s={}", held.as_secs());
    }
    let body = serde_json::to_vec(&said).map_err(|error| error.to_string())?;
    let request = Request::post(path)
        .header("host", fleet.server.to_string())
        .header("content-type", "application/json")
        .header("user-agent", concat!("gpuaas-agent/", env!("CARGO_PKG_VERSION")))
        .header(SESSION_HEADER, session)
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())?;
    let answered = timeout(held.unwrap_or_default() + ANSWER_TIME_MAX, async {
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        if status == 200 { Ok(()) } else { Err(format!("{status}: {}", String::from_utf8_lossy(&body))) }
    });
    answered.await.map_err(|_| "no answer in time".to_owned())?
}

impl Fleet {
    fn heard(&self, member: &Member, round: Round) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        // A node that had to connect twice in one round counts once.
        if times.0 == round.number && member.heard.swap(round.number + 1, Ordering::Relaxed) <= round.number {
            times.1.push(u64::try_from(round.began.elapsed().as_micros()).unwrap_or(u64::MAX));
            if times.1.len() == self.count {
                self.all.notify_one();
            }
        }
    }
}
