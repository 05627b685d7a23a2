//! A server that follows MAAS's published API 2.0 as far as this room uses it, on a port of its own, for tests. It is
//! stricter than MAAS: every OAuth field is checked, a nonce may come once, and a field that an operation does not take is
//! refused. What goes wrong with real servers and the proxies before them can be planned, one call at a time.

mod node;
mod request;

pub use node::Node;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use machines::maas::{Limits, Maas, Settings, Signing};
use model::Timestamp;
use node::number_name;
use request::{Asked, oauth_fault};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64, atomic::Ordering},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

pub const CONSUMER: &str = "Xc4Kq7ConsumerPart";
pub const TOKEN: &str = "Yt9TokenPartOfKey1";
pub const SECRET: &str = "ZsSecretPartOfTheKeyOf32Letters1";
/// The clock of both sides.
pub const NOW_S: i64 = 1_770_000_000;

/// What happens to the next call to an operation.
pub enum Quirk {
    /// It is not done, and this is the answer.
    Says(u16, &'static str),
    /// It is not done, and there is never an answer.
    Silent,
    /// It is done, and there is never an answer.
    DoneSilently,
    /// It is done, and the connection is closed.
    DoneThenCut,
    /// It is done, and the answer is empty.
    DoneWithout,
    /// It is done, and the answer shows the machine as it was before.
    DoneButOld,
    /// It is not done, and the answer is a success with this body.
    Body(Vec<u8>),
    /// Only for `allocate`: a virtual machine is made and given instead.
    Composes,
    /// It is not done; the client is sent to this address.
    Moved(&'static str),
    /// It is refused with a page that repeats the whole request.
    Echoes,
}

#[derive(Default)]
pub struct State {
    pub nodes: BTreeMap<String, Node>,
    pub tags: BTreeSet<String>,
    /// Every operation that was asked for, in order, with the machine or tag.
    pub log: Vec<String>,
    pub quirks: Vec<(&'static str, Quirk)>,
    nonces: BTreeSet<String>,
}

pub struct Server {
    scheme: &'static str,
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start() -> Self {
        Self::start_on(None).await
    }

    /// A server that speaks TLS, and the certificate it shows.
    pub async fn start_with_tls() -> (Self, String) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        (Self::start_on(Some(TlsAcceptor::from(Arc::new(config)))).await, made.cert.pem())
    }

    async fn start_on(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, scheme) = (listener.local_addr().unwrap(), if tls.is_some() { "https" } else { "http" });
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            // Connections end with the test: its runtime is dropped, and they with it.
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, tls) = (Arc::clone(&shared), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => connection(shared, stream).await,
                        Some(tls) => {
                            // A client that does not trust us hangs up; that is its good right.
                            if let Ok(stream) = tls.accept(stream).await {
                                connection(shared, stream).await;
                            }
                        }
                    }
                });
            }
        });
        Self { scheme, address, state, task }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A free machine.
    pub fn add(&self, id: &str) -> machines::ProviderId {
        self.state().nodes.insert(id.to_owned(), Node::ready(id));
        id.parse().unwrap()
    }

    pub fn node(&self, id: &str) -> Node {
        self.state().nodes[id].clone()
    }

    pub fn change(&self, id: &str, change: impl FnOnce(&mut Node)) {
        change(self.state().nodes.get_mut(id).unwrap());
    }

    pub fn plan(&self, operation: &'static str, quirk: Quirk) {
        self.state().quirks.push((operation, quirk));
    }

    pub fn calls(&self, operation: &str) -> usize {
        self.state().log.iter().filter(|entry| entry.split(' ').next() == Some(operation)).count()
    }

    pub fn settings(&self) -> Settings {
        Settings {
            // The certificate is for the name.
            url: format!("{}://localhost:{}/MAAS", self.scheme, self.address.port()),
            key: format!("{CONSUMER}:{TOKEN}:{SECRET}").parse().unwrap(),
            plain_http_allowed: false,
            extra_roots_pem: Vec::new(),
            limits: Limits { connect_ms: 5_000, answer_ms: 10_000, answer_bytes: 64 * 1024, list_bytes: 256 * 1024 },
        }
    }

    pub fn client(&self) -> Maas {
        Maas::new(&self.settings(), signing()).unwrap()
    }

    /// A client that does not wait long: for answers that never come.
    pub fn hasty_client(&self) -> Maas {
        let mut settings = self.settings();
        settings.limits.answer_ms = 2_000;
        Maas::new(&settings, signing()).unwrap()
    }
}

/// A fixed clock, and words that differ in this whole process.
pub fn signing() -> Signing {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    Signing::new(
        || Timestamp::from_micros(0).plus_seconds(NOW_S),
        || format!("nonce-{}", COUNT.fetch_add(1, Ordering::SeqCst)),
    )
}

type Reply = Response<Full<Bytes>>;

/// The connection is to be closed without an answer.
#[derive(Debug)]
pub struct Cut;
impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cut")
    }
}
impl std::error::Error for Cut {}

pub fn reply(status: u16, body: impl Into<Bytes>) -> Reply {
    Response::builder().status(status).body(Full::new(body.into())).unwrap()
}

async fn connection(state: Arc<Mutex<State>>, stream: impl AsyncRead + AsyncWrite + Unpin) {
    let service = service_fn(move |request| serve(Arc::clone(&state), request));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn serve(state: Arc<Mutex<State>>, request: hyper::Request<Incoming>) -> Result<Reply, Cut> {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Err(Cut) };
    let body = body.to_bytes();
    let (reply, silent) = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        answer(&mut state, &head, &body)?
    };
    if silent {
        // Until the client gives up and drops the connection, or the test ends.
        std::future::pending::<()>().await;
    }
    Ok(reply)
}

/// The answer, and whether it is kept back.
fn answer(state: &mut State, head: &hyper::http::request::Parts, body: &Bytes) -> Result<(Reply, bool), Cut> {
    if let Some(fault) = oauth_fault(head, &mut state.nonces) {
        return Ok((reply(401, format!("Authorization Error: '{fault}'")), false));
    }
    let asked = match Asked::read(head, body) {
        Ok(asked) => asked,
        Err((status, text)) => return Ok((reply(status, text), false)),
    };
    state.log.push(format!("{} {}", asked.operation, asked.subject));
    let place = state.quirks.iter().position(|(operation, _)| *operation == asked.operation);
    Ok(match place.map(|place| state.quirks.remove(place).1) {
        None => (state.act(&asked), false),
        Some(Quirk::Says(status, text)) => (reply(status, text), false),
        Some(Quirk::Silent) => (reply(200, ""), true),
        Some(Quirk::DoneSilently) => (state.act(&asked), true),
        Some(Quirk::DoneThenCut) => {
            state.act(&asked);
            return Err(Cut);
        }
        Some(Quirk::DoneWithout) => {
            state.act(&asked);
            (reply(204, ""), false)
        }
        Some(Quirk::DoneButOld) => {
            let before = state.nodes[&asked.subject].json();
            state.act(&asked);
            (reply(200, before), false)
        }
        Some(Quirk::Body(bytes)) => (reply(200, bytes), false),
        Some(Quirk::Composes) => {
            let mut node = Node::ready("vm9999");
            node.take("someone", "");
            let text = node.json();
            state.nodes.insert("vm9999".to_owned(), node);
            (reply(200, text), false)
        }
        Some(Quirk::Moved(to)) => {
            let mut moved = reply(302, "");
            moved.headers_mut().insert("location", hyper::header::HeaderValue::from_static(to));
            (moved, false)
        }
        Some(Quirk::Echoes) => {
            let page = format!("Traceback: {:?} {}", head.headers, String::from_utf8_lossy(body));
            (reply(500, page), false)
        }
    })
}

impl State {
    fn act(&mut self, asked: &Asked) -> Reply {
        match asked.operation {
            "list" => self.list(asked),
            "allocate" => self.allocate(asked),
            "tags" => {
                let tags: Vec<_> = self.tags.iter().map(|tag| serde_json::json!({ "name": tag })).collect();
                reply(200, serde_json::Value::from(tags).to_string())
            }
            "tag_make" => {
                if !self.tags.insert(asked.field("name").to_owned()) {
                    return reply(400, r#"{"name": ["Tag with this Name already exists."]}"#);
                }
                reply(200, serde_json::json!({ "name": asked.field("name"), "definition": "" }).to_string())
            }
            "update_nodes" => self.update_nodes(asked),
            _ => match self.nodes.get_mut(&asked.subject) {
                None => reply(404, "Not Found"),
                Some(node) => match node.act(asked) {
                    Ok(text) => reply(200, text),
                    Err((status, text)) => reply(status, text),
                },
            },
        }
    }

    fn list(&mut self, asked: &Asked) -> Reply {
        let wanted = |node: &Node| {
            asked.queried("id").is_none_or(|id| id == node.id)
                && asked.queried("agent_name").is_none_or(|name| name == node.agent_name)
        };
        let nodes: Vec<String> = self.nodes.values().filter(|node| wanted(node)).map(Node::json).collect();
        reply(200, format!("[{}]", nodes.join(",")))
    }

    fn allocate(&mut self, asked: &Asked) -> Reply {
        match self.nodes.get_mut(asked.field("system_id")) {
            Some(node) if node.status == 4 && !node.locked => {
                node.take("gpuaas", asked.field("agent_name"));
                reply(200, node.json())
            }
            _ => reply(409, "No available machine matches constraints: [('system_id', ...)]"),
        }
    }

    fn update_nodes(&mut self, asked: &Asked) -> Reply {
        if !self.tags.contains(&asked.subject) {
            return reply(404, "No Tag matches the given query.");
        }
        let (mut added, mut removed) = (0, 0);
        if let Some(node) = self.nodes.get_mut(asked.field("add")) {
            node.tags.insert(asked.subject.clone());
            added = 1;
        }
        if let Some(node) = self.nodes.get_mut(asked.field("remove")) {
            node.tags.remove(&asked.subject);
            removed = 1;
        }
        reply(200, serde_json::json!({ "added": added, "removed": removed }).to_string())
    }
}

/// The name that MAAS shows for a status, for tests that go through all of them.
pub fn status_name(number: i64) -> &'static str {
    number_name(number)
}
