//! A platform with an open agents' door, an operator who calls the API, and agents that say what a test wants.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use api::node_plane::{
    ENROLL_PATH, EnrollAnswer, EnrollRequest, FromControl, Heartbeat, MESSAGES_PATH, Offer, Poll, RENEW_PATH,
    RenewRequest, TaskAnswer, ToControl,
};
use bytes::Bytes;
use control::{
    Clock, Ports,
    agents::{self, AgentsConfig, AgentsParts, AgentsServer, Revocations},
    authority::Authority,
    bootstrap,
    front_door::{FrontDoor, FrontDoorConfig, Request},
    metrics::Metrics,
    plane::{ControlPlane, PlaneConfig, Poke},
    streams::Gateway,
};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use model::{
    NodeId, PoolId, RegionId, Timestamp,
    supply::{GpuModel, IncidentKind},
    task::{Task, TaskResult},
};
use rcgen::{KeyPair, PKCS_ED25519};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, pem::PemObject as _},
};
use serde_json::{Value, json};
use store::{
    Db, DbConfig, Stamp, StoreError, Tx, audit,
    incidents::{self, IncidentRow},
    nodes,
    nodes::NodeRow,
    pools, regions,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The real time, and a hand on it.
pub struct Shifted(AtomicI64);
impl Clock for Shifted {
    fn now(&self) -> Timestamp {
        Ports::system().now().plus_micros(self.0.load(Ordering::SeqCst))
    }
}

pub struct World {
    pub db: Db,
    pub ports: Ports,
    pub clock: Arc<Shifted>,
    pub authority: Arc<Authority>,
    pub door: FrontDoor,
    pub plane: ControlPlane,
    pub poke: Poke,
    pub server: AgentsServer,
    pub pool: PoolId,
    pub other_pool: PoolId,
    pub operator: String,
    // Looked at by the tests of streams, which share this world.
    #[allow(dead_code)]
    pub gateway: Gateway,
    keys: AtomicU64,
    folder: tempfile::TempDir,
}

pub fn memory() -> Db {
    Db::open(&DbConfig::new("sqlite::memory:")).unwrap()
}

impl World {
    pub async fn new() -> Self {
        Self::on(memory(), |config| config).await
    }

    pub async fn on(db: Db, set_up: impl FnOnce(AgentsConfig) -> AgentsConfig) -> Self {
        Self::with(db, Gateway::default(), set_up).await
    }

    pub async fn with(db: Db, gateway: Gateway, set_up: impl FnOnce(AgentsConfig) -> AgentsConfig) -> Self {
        let clock = Arc::new(Shifted(AtomicI64::new(0)));
        let ports = Ports { clock: clock.clone(), ..Ports::system() };
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("authority");
        Authority::create(&place, &ports).unwrap();
        let authority = Arc::new(Authority::open(&place, "test.example").unwrap());
        let revocations = Revocations::default();
        let config = FrontDoorConfig {
            authority_sha256: Some(authority.sha256()),
            revocations: revocations.clone(),
            gateway: gateway.clone(),
            ..FrontDoorConfig::default()
        };
        let door = FrontDoor::new(ports.clone(), config).unwrap();
        let plane = ControlPlane::new(db.clone(), ports.clone(), PlaneConfig::new("test"));
        let (pool, other_pool, operator) = seed(&db, &ports).await;
        let parts = AgentsParts {
            db: db.clone(),
            ports: ports.clone(),
            authority: authority.clone(),
            node_plane: plane.node_plane(),
            revocations,
            poke: plane.poke(),
            metrics: Metrics::new(),
            gateway: gateway.clone(),
        };
        let config = set_up(AgentsConfig::new("127.0.0.1:0".parse().unwrap()));
        let server = agents::start(config, parts).await.unwrap();
        let (poke, keys) = (plane.poke(), AtomicU64::new(1));
        Self {
            db,
            ports,
            clock,
            authority,
            door,
            plane,
            poke,
            server,
            pool,
            other_pool,
            operator,
            gateway,
            keys,
            folder,
        }
    }

    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn shift_s(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// A call of the API as the operator; the HTTP shell pokes after it, and so does this.
    pub async fn api(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = Request::new(method, path).bearer(&self.operator);
        if method == "POST" {
            request = request.key(&format!("k-{}", self.keys.fetch_add(1, Ordering::SeqCst)));
        }
        if let Some(body) = body {
            request = request.json(body.to_string());
        }
        let response = self.door.serve(&self.db, request).await;
        if response.poke {
            self.poke.poke();
        }
        (response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null))
    }

    /// A new token for a host: its id and secret.
    pub async fn token(&self, name: &str) -> (String, String) {
        self.token_with(json!({ "pool_id": self.pool, "node_name": name, "lifetime_s": 900 })).await
    }

    pub async fn token_with(&self, body: Value) -> (String, String) {
        let (status, made) = self.api("POST", "/api/v1/admin/enrollment-tokens", Some(body)).await;
        assert_eq!(status, 201, "{made}");
        assert_eq!(made["authority_sha256"], json!(self.authority.sha256()));
        (made["token"]["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
    }

    /// An agent that was let in.
    pub async fn agent(&self, name: &str) -> Agent {
        let (_, secret) = self.token(name).await;
        let mut agent = Agent::new(self);
        let (status, answer) = agent.enroll(&secret, None).await;
        assert_eq!(status, 200, "{answer}");
        agent
    }

    /// An agent that has started and was heard.
    pub async fn running(&self, name: &str) -> Agent {
        let mut agent = self.agent(name).await;
        let (status, answer) = agent.beat().await;
        assert_eq!(status, 200, "{answer}");
        agent
    }

    /// Gives a node an order to look at itself, through the API.
    pub async fn order_readiness(&self, node: &NodeId) {
        let (status, answer) = self.api("POST", &format!("/api/v1/admin/nodes/{node}/readiness"), None).await;
        assert_eq!(status, 202, "{answer}");
    }

    pub async fn read<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.db.read_async(run).await.unwrap()
    }

    pub async fn node(&self, id: &NodeId) -> NodeRow {
        let id = id.clone();
        self.read(move |tx| nodes::get(tx, &id)).await.unwrap()
    }

    pub async fn incidents(&self, id: &NodeId) -> Vec<IncidentRow> {
        let id = id.clone();
        self.read(move |tx| incidents::list(tx, &id, store::Page::first(100))).await
    }

    /// The one incident on record, which must be of this kind and in the audit trail.
    pub async fn only_incident(&self, id: &NodeId, kind: IncidentKind) -> IncidentRow {
        let mut rows = self.incidents(id).await;
        assert_eq!(rows.iter().map(|row| row.kind).collect::<Vec<_>>(), [kind]);
        let actor = format!("node:{id}");
        let told = self.audited(&actor).await;
        assert!(told.iter().any(|row| row.0 == "node_incident" && row.1.contains(kind.as_str())), "{told:?}");
        rows.remove(0)
    }

    /// What somebody did, by the audit trail: (action, body).
    pub async fn audited(&self, actor: &str) -> Vec<(String, String)> {
        let rows = self
            .read(|tx| audit::list(tx, &store::Scope::All, audit::AuditFilter::default(), store::Page::first(1000)))
            .await;
        let by = rows.into_iter().filter(|row| row.row.actor == actor);
        by.map(|row| (row.row.action, row.row.body)).collect()
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        self.read(move |tx| tx.query_one(sql, &[])?.int(0)).await
    }
}

async fn seed(db: &Db, ports: &Ports) -> (PoolId, PoolId, String) {
    let ports = ports.clone();
    db.write_async(move |tx| {
        let mut bits = || ports.id_bits();
        let stamp = &mut Stamp::new(ports.now(), &mut bits);
        let region = RegionId::from_parts(stamp.now, stamp.bits());
        regions::insert(tx, stamp, &region, &"eu-1".parse().unwrap(), &"Europe".parse().unwrap(), true)?;
        let mut made = Vec::new();
        for slug in ["h200", "other"] {
            let (id, name) = (PoolId::from_parts(stamp.now, stamp.bits()), "Pool".parse().unwrap());
            let new = pools::PoolNew {
                id: &id,
                region_id: &region,
                slug: &slug.parse().unwrap(),
                name: &name,
                gpu_model: GpuModel::A100Sxm,
                slices_enabled: true,
                private_range: None,
            };
            pools::insert(tx, stamp, new)?;
            made.push(id);
        }
        let (email, lifetime) = ("root@platform.example".parse().unwrap(), 86_400.try_into().unwrap());
        let operator = bootstrap::first_operator(tx, stamp, &ports, &email, lifetime)?.unwrap();
        let other = made.pop().unwrap();
        Ok::<_, StoreError>((made.pop().unwrap(), other, operator.secret.reveal().to_owned()))
    })
    .await
    .unwrap()
}

/// What a client of the door trusts and shows.
pub fn client_config(authority: &Authority, shown: Option<(&str, &KeyPair)>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let mut config = match shown {
        None => builder.with_no_client_auth(),
        Some((pem, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()];
            builder.with_client_auth_cert(chain, PrivatePkcs8KeyDer::from(key.serialize_der()).into()).unwrap()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

type Sender = hyper::client::conn::http1::SendRequest<Full<Bytes>>;

/// Connects and greets. An error may come from the door as late as with the first answer.
pub async fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> std::io::Result<Sender> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::from(address.ip());
    let stream = TlsConnector::from(config.clone()).connect(name, stream).await?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = handshake.map_err(std::io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

pub async fn post(sender: &mut Sender, path: &str, body: Vec<u8>) -> Result<(u16, Value), hyper::Error> {
    sender.ready().await?;
    let request = hyper::Request::post(path)
        .header("host", "localhost")
        .header("user-agent", "gpuaas-agent/9.8.7")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let answer = sender.send_request(request).await?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await?.to_bytes();
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

/// An agent that says what a test wants.
pub struct Agent {
    address: SocketAddr,
    authority: Arc<Authority>,
    pub key: KeyPair,
    pub node_id: Option<NodeId>,
    pub certificate: Option<String>,
    pub boot: i64,
    pub session: String,
    sender: Option<Sender>,
}

pub fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["code"].as_str().unwrap_or("none"))
}

impl Agent {
    pub fn new(world: &World) -> Self {
        Self {
            address: world.server.address(),
            authority: world.authority.clone(),
            key: KeyPair::generate_for(&PKCS_ED25519).unwrap(),
            node_id: None,
            certificate: None,
            boot: 1,
            session: "first".to_owned(),
            sender: None,
        }
    }

    /// The same identity in another process.
    pub fn twin(&self) -> Self {
        Self {
            address: self.address,
            authority: self.authority.clone(),
            key: KeyPair::from_pem(&self.key.serialize_pem()).unwrap(),
            node_id: self.node_id.clone(),
            certificate: self.certificate.clone(),
            boot: self.boot,
            session: self.session.clone(),
            sender: None,
        }
    }

    pub fn id(&self) -> NodeId {
        self.node_id.clone().unwrap()
    }

    pub fn request_pem(&self) -> String {
        rcgen::CertificateParams::default().serialize_request(&self.key).unwrap().pem().unwrap()
    }

    /// A call, on a connection that is kept.
    pub async fn call(&mut self, path: &str, body: Vec<u8>) -> (u16, Value) {
        if self.sender.as_ref().is_none_or(Sender::is_closed) {
            let shown = self.certificate.as_deref().map(|pem| (pem, &self.key));
            let config = Arc::new(client_config(&self.authority, shown));
            self.sender = Some(connect(self.address, &config).await.unwrap());
        }
        post(self.sender.as_mut().unwrap(), path, body).await.unwrap()
    }

    /// Fetches something, or a part of it.
    pub async fn fetch(&mut self, path: &str, range: Option<&str>) -> (u16, HashMap<String, String>, Bytes) {
        let shown = self.certificate.as_deref().map(|pem| (pem, &self.key));
        let config = Arc::new(client_config(&self.authority, shown));
        let mut sender = connect(self.address, &config).await.unwrap();
        sender.ready().await.unwrap();
        let mut request = hyper::Request::get(path).header("host", "localhost");
        if let Some(range) = range {
            request = request.header("range", range);
        }
        let answer = sender.send_request(request.body(Full::new(Bytes::new())).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        let text = |value: &hyper::header::HeaderValue| value.to_str().unwrap().to_owned();
        let head = answer.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        (status, head, answer.into_body().collect().await.unwrap().to_bytes())
    }

    pub fn move_to(&mut self, address: SocketAddr) {
        self.address = address;
        self.hang_up();
    }

    pub fn hang_up(&mut self) {
        self.sender = None;
    }

    pub async fn enroll(&mut self, secret: &str, serial: Option<&str>) -> (u16, Value) {
        let csr_pem = self.request_pem();
        self.enroll_with(secret, serial, csr_pem).await
    }

    pub async fn enroll_with(&mut self, secret: &str, serial: Option<&str>, csr_pem: String) -> (u16, Value) {
        let request = EnrollRequest {
            secret: secret.to_owned(),
            csr_pem,
            hardware_serial: serial.map(str::to_owned),
            agent_version: "1.2.3".to_owned(),
        };
        let (status, answer) = self.call(ENROLL_PATH, serde_json::to_vec(&request).unwrap()).await;
        if status == 200 {
            let enrolled: EnrollAnswer = serde_json::from_value(answer.clone()).unwrap();
            assert_eq!(enrolled.authority_pem, self.authority.pem());
            (self.node_id, self.certificate) = (Some(enrolled.node_id), Some(enrolled.certificate_pem));
            self.hang_up();
        }
        (status, answer)
    }

    pub async fn renew(&mut self, csr_pem: String) -> (u16, Value) {
        let request = RenewRequest { csr_pem, agent_version: "1.2.4".to_owned() };
        self.call(RENEW_PATH, serde_json::to_vec(&request).unwrap()).await
    }

    pub async fn say(&mut self, messages: &[ToControl]) -> (u16, Value) {
        self.call(MESSAGES_PATH, serde_json::to_vec(messages).unwrap()).await
    }

    pub fn heartbeat(&self) -> ToControl {
        let sent_at = Ports::system().now();
        let (node_id, boot, session) = (self.id(), self.boot, self.session.clone());
        ToControl::Heartbeat(Heartbeat { node_id, boot, session, sent_at })
    }

    pub async fn beat(&mut self) -> (u16, Value) {
        let beat = self.heartbeat();
        self.say(&[beat]).await
    }

    pub fn asking(&self) -> ToControl {
        ToControl::Poll(Poll { node_id: self.id(), boot: self.boot })
    }

    /// A poll that may be held.
    pub async fn poll(&mut self, wait_s: u64) -> Vec<Task> {
        let body = serde_json::to_vec(&[self.asking()]).unwrap();
        let (status, answer) = self.call(&format!("{MESSAGES_PATH}?wait_s={wait_s}"), body).await;
        assert_eq!(status, 200, "{answer}");
        orders(&answer)
    }

    pub fn answering(&self, result: TaskResult) -> ToControl {
        ToControl::Result(TaskAnswer { node_id: self.id(), boot: self.boot, result, report: None })
    }
}

/// The orders in an answer, which must be nothing else.
pub fn orders(answer: &Value) -> Vec<Task> {
    let heard: Vec<FromControl> = serde_json::from_value(answer.clone()).unwrap();
    let [FromControl::TasksOffered(offered)] = heard.as_slice() else { panic!("{heard:?}") };
    let known = |offer: &Offer| match offer {
        Offer::Known(task) => task.clone(),
        Offer::Unknown(unknown) => panic!("{unknown:?}"),
    };
    offered.tasks.iter().map(known).collect()
}

/// An answer that says nothing but that it is done.
pub fn done(task: &Task) -> TaskResult {
    TaskResult::done(task)
}
