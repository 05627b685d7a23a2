//! A control plane of a few hundred lines for the program to talk to: an authority, a listener with real mutual TLS, one
//! token, and a list of orders. It writes down everything that it hears, and can be told to misbehave.
#![allow(clippy::unwrap_used, dead_code)]

use api::node_plane::{
    ENROLL_PATH, EnrollAnswer, EnrollRequest, FromControl, HEARTBEAT_S, MESSAGES_PATH, Offer, RENEW_PATH, RenewAnswer,
    RenewRequest, ResultAck, TaskAnswer, TasksOffered, ToControl,
};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use model::{NodeId, TaskId, Timestamp, task::Task};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::{RootCertStore, ServerConfig, crypto::ring, pki_types::PrivatePkcs8KeyDer, server::WebPkiClientVerifier};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, runtime::Runtime, sync::Notify};
use tokio_rustls::TlsAcceptor;

/// How long a test waits for something that must come.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// One call, as it was heard.
#[derive(Debug, Clone)]
pub struct Call {
    pub path: String,
    pub at: Instant,
    pub certified: bool,
    pub session: Option<String>,
    pub said: Vec<ToControl>,
}

/// What the control plane knows and how it behaves.
#[derive(Default)]
pub struct Mind {
    pub tokens: Vec<String>,
    pub enrolled: Vec<EnrollRequest>,
    pub renewed: usize,
    pub orders: Vec<Task>,
    pub answers: BTreeMap<TaskId, Vec<TaskAnswer>>,
    pub calls: Vec<Call>,
    /// Answers every message call with this.
    pub refuses: Option<(u16, &'static str)>,
    /// Certificates are given that began so long ago.
    pub certificate_age: Duration,
    /// Breaks the connection instead of answering, while this says so about what it heard.
    pub breaks: Option<fn(&[ToControl]) -> bool>,
    pub broken: usize,
}

struct Shared {
    mind: Mutex<Mind>,
    changed: Condvar,
    orders: Notify,
    authority: CertifiedIssuer<'static, KeyPair>,
}

/// A control plane that listens.
pub struct SmallControl {
    shared: Arc<Shared>,
    pub address: SocketAddr,
    _runtime: Runtime,
}

pub fn node_id() -> NodeId {
    NodeId::from_parts(Timestamp::from_micros(1), [3; 10])
}

impl SmallControl {
    pub fn start() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let shared =
            Arc::new(Shared { mind: Mutex::default(), changed: Condvar::new(), orders: Notify::new(), authority });
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&shared.authority)));
        runtime.spawn(listen(listener, acceptor, shared.clone()));
        Self { shared, address, _runtime: runtime }
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub fn authority_sha256(&self) -> String {
        Sha256::digest(self.shared.authority.der()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Changes what it knows; whoever waits for an order looks again.
    pub fn tell<T>(&self, change: impl FnOnce(&mut Mind) -> T) -> T {
        let told = change(&mut self.shared.mind.lock().unwrap());
        self.shared.orders.notify_waiters();
        told
    }

    /// Waits until it has heard enough.
    pub fn until<T>(&self, what: &str, heard: impl Fn(&Mind) -> Option<T>) -> T {
        let late = Instant::now() + PATIENCE;
        let mut mind = self.shared.mind.lock().unwrap();
        loop {
            if let Some(found) = heard(&mind) {
                return found;
            }
            let left = late.checked_duration_since(Instant::now());
            let left = left.unwrap_or_else(|| {
                panic!(
                    "waited for ever for {what}; last calls: {:?}",
                    mind.calls.iter().rev().take(3).collect::<Vec<_>>()
                )
            });
            mind = self.shared.changed.wait_timeout(mind, left).unwrap().0;
        }
    }

    /// The answer to an order, once it is there. Every copy of it must be the same.
    pub fn answer(&self, task: &Task) -> TaskAnswer {
        self.until(&format!("the answer to {}", task.id), |mind| mind.answers.get(&task.id)?.first().cloned())
    }
}

fn server_config(authority: &CertifiedIssuer<'static, KeyPair>) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, authority).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(clients.allow_unauthenticated().build().unwrap())
        .with_single_cert(
            vec![own.der().clone(), authority.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap()
}

async fn listen(listener: TcpListener, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, shared) = (acceptor.clone(), shared.clone());
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let certified = stream.get_ref().1.peer_certificates().is_some();
            let service = service_fn(|request| serve(request, certified, shared.clone()));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

type Answer = Response<Full<Bytes>>;

async fn serve(request: Request<Incoming>, certified: bool, shared: Arc<Shared>) -> Result<Answer, &'static str> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| "half a body")?.to_bytes();
    let path = parts.uri.path().to_owned();
    let wait_s = parts.uri.query().and_then(|query| query.strip_prefix("wait_s=")?.parse().ok()).unwrap_or(0);
    let session = parts.headers.get("agent-session").map(|value| value.to_str().unwrap().to_owned());
    let said: Vec<ToControl> =
        if path == MESSAGES_PATH { serde_json::from_slice(&body).unwrap_or_default() } else { vec![] };
    {
        let mut mind = shared.mind.lock().unwrap();
        mind.calls.push(Call { path: path.clone(), at: Instant::now(), certified, session, said: said.clone() });
        if mind.breaks.is_some_and(|breaks| breaks(&said)) {
            mind.broken += 1;
            shared.changed.notify_all();
            return Err("broken on purpose");
        }
    }
    let answer = match path.as_str() {
        ENROLL_PATH => enroll(&shared, &serde_json::from_slice(&body).unwrap()),
        RENEW_PATH if certified => renew(&shared, &serde_json::from_slice(&body).unwrap()),
        MESSAGES_PATH if certified => messages(&shared, said, Duration::from_secs(wait_s)).await,
        _ => problem(403, "node_identity_refused"),
    };
    shared.changed.notify_all();
    Ok(answer)
}

fn enroll(shared: &Shared, asked: &EnrollRequest) -> Answer {
    let mut mind = shared.mind.lock().unwrap();
    let Some(at) = mind.tokens.iter().position(|token| *token == asked.secret) else {
        return problem(403, "enrollment_refused");
    };
    mind.tokens.remove(at);
    mind.enrolled.push(asked.clone());
    // A host that comes with a new token is welcome again.
    mind.refuses = None;
    let (certificate_pem, not_after) = signed(shared, &asked.csr_pem, mind.certificate_age);
    let authority_pem = shared.authority.pem();
    json(&EnrollAnswer { node_id: node_id(), certificate_pem, authority_pem, not_after, heartbeat_s: HEARTBEAT_S })
}

fn renew(shared: &Shared, asked: &RenewRequest) -> Answer {
    let mut mind = shared.mind.lock().unwrap();
    mind.renewed += 1;
    let (certificate_pem, not_after) = signed(shared, &asked.csr_pem, Duration::ZERO);
    json(&RenewAnswer { certificate_pem, authority_pem: shared.authority.pem(), not_after, heartbeat_s: HEARTBEAT_S })
}

fn signed(shared: &Shared, csr_pem: &str, age: Duration) -> (String, Timestamp) {
    let mut request = CertificateSigningRequestParams::from_pem(csr_pem).unwrap();
    let name = format!("spiffe://test/node/{}", node_id());
    request.params.subject_alt_names = vec![SanType::URI(name.as_str().try_into().unwrap())];
    // An hour is left, plus what the certificate is younger than a day.
    let now = agent::clock::now();
    let not_after = now.plus_seconds(24 * 3600 - i64::try_from(age.as_secs()).unwrap());
    let moment = |at: Timestamp| {
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(at.as_micros() / 1_000_000).unwrap())
    };
    request.params.not_before = moment(now) - age;
    request.params.not_after = moment(not_after);
    (request.signed_by(&shared.authority).unwrap().pem(), not_after)
}

async fn messages(shared: &Shared, said: Vec<ToControl>, wait: Duration) -> Answer {
    let mut heard = vec![];
    {
        let mut mind = shared.mind.lock().unwrap();
        if let Some((status, code)) = mind.refuses {
            return problem(status, code);
        }
        for message in &said {
            assert_eq!(message.node_id(), &node_id());
            if let ToControl::Result(answer) = message {
                let answers = mind.answers.entry(answer.result.task_id.clone()).or_default();
                assert!(answers.iter().all(|before| before.result == answer.result), "an order ends one way only");
                answers.push(answer.clone());
                heard.push(FromControl::ResultAck(ResultAck { task_id: answer.result.task_id.clone() }));
            }
        }
    }
    shared.changed.notify_all();
    if said.iter().any(|message| matches!(message, ToControl::Poll(_))) {
        let wait = if heard.is_empty() { wait } else { Duration::ZERO };
        let tasks = tokio::time::timeout(wait, open(shared)).await.unwrap_or_else(|_| open_now(shared));
        heard.push(FromControl::TasksOffered(TasksOffered { tasks: tasks.into_iter().map(Offer::Known).collect() }));
    }
    json(&heard)
}

async fn open(shared: &Shared) -> Vec<Task> {
    loop {
        let changed = shared.orders.notified();
        let open = open_now(shared);
        if !open.is_empty() {
            return open;
        }
        changed.await;
    }
}

fn open_now(shared: &Shared) -> Vec<Task> {
    let mind = shared.mind.lock().unwrap();
    mind.orders.iter().filter(|task| !mind.answers.contains_key(&task.id)).cloned().collect()
}

fn json(value: &impl Serialize) -> Answer {
    Response::new(Full::new(Bytes::from(serde_json::to_vec(value).unwrap())))
}

fn problem(status: u16, code: &str) -> Answer {
    let body = serde_json::json!({"code": code, "detail": "As the test wants it."}).to_string();
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}
