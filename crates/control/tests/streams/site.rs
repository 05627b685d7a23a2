//! A platform with an open door for clients and one for agents, a tenant with people and a running allocation, and a host
//! that runs the agent's own code over guests that a test makes up.

use std::{
    io::{Read as _, Write as _},
    net::SocketAddr,
    os::unix::net::UnixStream,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use agent::{
    enrollment::enroll,
    state::{Enrolled, StateDir},
    streams::{Dialer, GuestDoor, Streams},
    wire::{Client as AgentClient, address::ServerAddress},
};
use api::node_plane::{FromControl, Heartbeat, MESSAGES_PATH, Poll, ToControl};
use control::{
    Ports, bootstrap,
    http::{EventFeed, HttpConfig, HttpServer, Parts},
    metrics::Metrics,
    streams::{Gateway, GatewayConfig, RecordingConfig},
};
use model::{
    AllocationId, ClaimId, MemberId, NodeId, PrincipalId, ProjectId, SkuId, SlotId, StreamId, TenantId, TokenId,
    allocation::{AllocationTerms, State},
    identity::{MemberRole, PrincipalKind},
    number::TokenLifetimeS,
    sku::CapacityShape,
    stream::{StreamKind, StreamState},
    supply::FabricClaimMode,
    tenancy,
};
use serde_json::{Value, json};
use store::{
    Stamp, StoreError, Tx, allocations,
    allocations::{AllocationNew, Entering},
    audit, claims,
    claims::SlotClaim,
    members, principals, projects,
    slots::{self, SlotNew, SlotParts},
    streams::{self as rows, StreamRow},
    tenants,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
};

use crate::agents::{World, memory};

/// How long a test waits for something that must come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody with a role.
#[derive(Debug, Clone)]
pub struct Person {
    pub secret: String,
    pub token: TokenId,
    pub member: Option<MemberId>,
}

/// What belongs to one tenant.
#[derive(Debug, Clone)]
pub struct Estate {
    pub tenant: TenantId,
    pub project: ProjectId,
    pub worker: Person,
    pub viewer: Person,
}

pub struct Site {
    pub world: World,
    pub http: HttpServer,
    pub acme: Estate,
    pub umbrella: Estate,
    pub sku: SkuId,
    pub folder: tempfile::TempDir,
}

/// Settings that do not make tests wait.
pub fn quick(folder: &std::path::Path) -> GatewayConfig {
    GatewayConfig {
        recheck: Duration::from_millis(100),
        recordings: Some(RecordingConfig::new(folder.join("console"))),
        ..GatewayConfig::default()
    }
}

pub async fn serve(world: &World) -> HttpServer {
    let parts = Parts {
        door: world.door.clone(),
        db: world.db.clone(),
        metrics: Metrics::new(),
        poke: world.poke.clone(),
        feed: EventFeed::default(),
    };
    control::http::start(HttpConfig::new("127.0.0.1:0".parse().unwrap()), parts).await.unwrap()
}

impl Site {
    pub async fn new() -> Self {
        Self::with(|config| config).await
    }

    pub async fn with(set_up: impl FnOnce(GatewayConfig) -> GatewayConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let gateway = Gateway::new(set_up(quick(folder.path())));
        let world = World::with(memory(), gateway, |config| config).await;
        let http = serve(&world).await;
        let sku = json!({
            "slug": "slice", "name": "A slice", "shape": "gpu_slice", "gpu_model": "a100-sxm", "gpu_counts": [1],
            "vcpus_per_gpu": 1, "memory_mib_per_gpu": 1024, "price_micros_per_gpu_hour": 1
        });
        let (status, sku) = world.api("POST", "/api/v1/skus", Some(sku)).await;
        assert_eq!(status, 201, "{sku}");
        let sku: SkuId = serde_json::from_value(sku["id"].clone()).unwrap();
        let (acme, umbrella) = (estate(&world, "acme").await, estate(&world, "umbrella").await);
        Self { world, http, acme, umbrella, sku, folder }
    }

    pub fn gateway(&self) -> &Gateway {
        &self.world.gateway
    }

    /// A host with these guests, and an allocation of acme's that runs on it.
    pub async fn host(&self, name: &str, door: impl GuestDoor + 'static) -> (Host, AllocationId) {
        let host = Host::start(self, name, door).await;
        let allocation = self.running(&host.node).await;
        (host, allocation)
    }

    /// An allocation of acme's that runs on a node.
    pub async fn running(&self, node: &NodeId) -> AllocationId {
        let (node, estate, sku) = (node.clone(), self.acme.clone(), self.sku.clone());
        write(&self.world, move |tx, stamp| {
            let id = AllocationId::from_parts(stamp.now, stamp.bits());
            let region = store::regions::list(tx, store::Page::first(1))?.remove(0).id;
            let new = AllocationNew {
                id: &id,
                tenant_id: &estate.tenant,
                project_id: &estate.project,
                name: &"job".parse().unwrap(),
                sku_id: &sku,
                region_id: &region,
                shape: CapacityShape::GpuSlice,
                gpu_count: 1,
                terms: &AllocationTerms::default(),
                recreated_from: None,
                workload_id: None,
            };
            allocations::insert(tx, stamp, new)?;
            let slot = SlotId::from_parts(stamp.now, stamp.bits());
            slots::insert_all(tx, stamp, &[slot_on(&node, &slot)])?;
            let chosen = slots::lock_chosen(tx, std::slice::from_ref(&slot))?;
            slots::reserve_all(tx, stamp, &chosen)?;
            let claim = SlotClaim {
                id: ClaimId::from_parts(stamp.now, stamp.bits()),
                slot_id: slot,
                fence: chosen[0].use_generation + 1,
                snapshot: "{}".into(),
            };
            assert!(claims::take_slots(tx, &id, &node, &[claim], stamp.now)?);
            let row = allocations::get(tx, &id)?.unwrap();
            let running =
                Entering { state: State::Running, observed: "{\"guest_up\":true}", node_id: Some(&node), reason: None };
            allocations::enter(tx, stamp, &row, running)?;
            Ok(id)
        })
        .await
    }

    /// Opens a stream as acme's worker; it must work.
    pub async fn open(&self, allocation: &AllocationId, kind: StreamKind) -> TcpStream {
        let opened = self.try_open(&self.acme.worker, allocation, kind).await;
        opened.unwrap_or_else(|(status, problem)| panic!("{status} {problem}"))
    }

    /// Tries to open a stream; the refusal when it does not work.
    pub async fn try_open(
        &self,
        who: &Person,
        allocation: &AllocationId,
        kind: StreamKind,
    ) -> Result<TcpStream, (u16, Value)> {
        open_at(self.http.address(), who, allocation, kind).await
    }

    pub async fn streams(&self, allocation: &AllocationId) -> Vec<StreamRow> {
        let id = allocation.clone();
        self.world.read(move |tx| rows::of_allocation(tx, &id, store::Page::first(100))).await
    }

    /// The only stream to an allocation, once it has ended.
    pub async fn ended(&self, allocation: &AllocationId) -> StreamRow {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut all = self.streams(allocation).await;
            if all.len() == 1 && all[0].state == StreamState::Ended {
                return all.remove(0);
            }
            assert!(Instant::now() < until, "it does not end: {all:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// What the audit trail says about streams to an allocation: (action, body).
    pub async fn audited(&self, allocation: &AllocationId) -> Vec<(String, Value)> {
        let rows = self
            .world
            .read(|tx| audit::list(tx, &store::Scope::All, audit::AuditFilter::default(), store::Page::first(1000)))
            .await;
        let about = rows.into_iter().map(|row| row.row).filter(|row| row.subject == allocation.as_str());
        about.map(|row| (row.action, serde_json::from_str(&row.body).unwrap())).collect()
    }

    /// A request as somebody: the status and the body.
    pub async fn get(&self, who: &Person, path: &str) -> (u16, Vec<u8>) {
        let mut socket = TcpStream::connect(self.http.address()).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
            who.secret
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        socket.read_to_end(&mut all).await.unwrap();
        let at = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let status = String::from_utf8_lossy(&all[..at]).split(' ').nth(1).unwrap().parse().unwrap();
        (status, all[at + 4..].to_vec())
    }
}

/// Opens a stream at a server.
pub async fn open_at(
    server: SocketAddr,
    who: &Person,
    allocation: &AllocationId,
    kind: StreamKind,
) -> Result<TcpStream, (u16, Value)> {
    let path = format!("/api/v1/allocations/{allocation}/{kind}");
    let wish = "connection: Upgrade\r\nupgrade: gpuaas-stream\r\n";
    ask_at(server, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{wish}\r\n", who.secret))
        .await
}

/// Sends a head as it is; a stream when the answer is 101.
pub async fn ask_at(server: SocketAddr, head: &str) -> Result<TcpStream, (u16, Value)> {
    let mut socket = TcpStream::connect(server).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // One byte at a time: what follows the head belongs to the stream.
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(tokio::time::timeout(PATIENCE, socket.read_u8()).await.expect("an answer in time").unwrap());
    }
    let head = String::from_utf8(answer).unwrap().to_ascii_lowercase();
    let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
    if status == 101 {
        assert!(head.contains("upgrade: gpuaas-stream"), "{head}");
        return Ok(socket);
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().trim().parse().unwrap();
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.unwrap();
    Err((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

pub async fn write<T: Send + 'static>(
    world: &World,
    mut run: impl FnMut(&mut Tx<'_>, &mut Stamp<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    let ports = world.ports.clone();
    let write = move |tx: &mut Tx<'_>| {
        let mut bits = || ports.id_bits();
        run(tx, &mut Stamp::new(ports.now(), &mut bits))
    };
    world.db.write_async(write).await.unwrap()
}

fn slot_on(node: &NodeId, slot: &SlotId) -> SlotNew {
    let word = |what: &str| Some(format!("{what}-{slot}"));
    let parts = SlotParts {
        gpu_pci_address: word("gpu"),
        gpu_uuid: word("uuid"),
        gpu_module_id: Some(1),
        nvme_identity: word("nvme"),
        mgmt_mac: word("mac"),
        private_ip: word("ip"),
        fabric_claim_mode: FabricClaimMode::PerSlotVf,
        fabric_vf_pci_address: word("vf"),
        numa_node: Some(0),
        pcie_switch: Some(0),
        rail: Some(0),
        partition_ids: "[]".into(),
        capacity_metadata: "{}".into(),
    };
    let (id, node_id, profile) = (slot.clone(), node.clone(), "slice".into());
    SlotNew { id, node_id, profile, available: true, parts, approval: None }
}

async fn estate(world: &World, slug: &str) -> Estate {
    let id = |made: &(u16, Value)| {
        assert_eq!(made.0, 201, "{}", made.1);
        made.1["id"].as_str().unwrap().to_owned()
    };
    let tenant = world.api("POST", "/api/v1/tenants", Some(json!({"slug": slug, "name": slug}))).await;
    let tenant: TenantId = id(&tenant).parse().unwrap();
    let wish = json!({"slug": "research", "name": "Research", "gpu_cap": 8});
    let project = world.api("POST", &format!("/api/v1/tenants/{tenant}/projects"), Some(wish)).await;
    let project: ProjectId = id(&project).parse().unwrap();
    let (ports, mail) = (world.ports.clone(), slug.to_owned());
    let (of, within) = (tenant.clone(), project.clone());
    let (worker, viewer) = write(world, move |tx, stamp| {
        let row = tenants::get(tx, &of)?.unwrap();
        tenants::enter(tx, stamp, &row, tenancy::State::Active, "{}", None)?;
        let row = projects::get(tx, &within)?.unwrap();
        projects::enter(tx, stamp, &row, tenancy::State::Active, "{}", None)?;
        let mut join =
            |name: &str, role| person(tx, stamp, &ports, &format!("{name}@{mail}.example"), (&of, &within, role));
        Ok((join("worker", MemberRole::ProjectMember)?, join("viewer", MemberRole::Viewer)?))
    })
    .await;
    Estate { tenant, project, worker, viewer }
}

fn person(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    ports: &Ports,
    email: &str,
    (tenant, project, role): (&TenantId, &ProjectId, MemberRole),
) -> Result<Person, StoreError> {
    let principal = PrincipalId::from_parts(stamp.now, stamp.bits());
    let kind = PrincipalKind::User;
    let new = principals::PrincipalNew { id: &principal, kind, name: email, tenant_id: None, platform_role: None };
    principals::insert(tx, stamp, new)?;
    let lifetime: TokenLifetimeS = 86_400.try_into().unwrap();
    let (token, secret) = bootstrap::token_for(tx, stamp, ports, &principal, lifetime)?;
    let member = MemberId::from_parts(stamp.now, stamp.bits());
    let new = members::MemberNew {
        id: &member,
        tenant_id: tenant,
        project_id: Some(project),
        principal_id: &principal,
        role,
    };
    members::insert(tx, stamp, new)?;
    Ok(Person { secret: secret.reveal().to_owned(), token, member: Some(member) })
}

/// A host at work: the agent's own code for enrolling, polling and streams. Dropping it ends it.
pub struct Host {
    pub node: NodeId,
    pub streams: Streams,
    pub dialer: Dialer,
    polling: JoinHandle<()>,
    _state: tempfile::TempDir,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.polling.abort();
    }
}

impl Host {
    pub async fn start(site: &Site, name: &str, door: impl GuestDoor + 'static) -> Self {
        let state = tempfile::tempdir().unwrap();
        let (dialer, enrolled) = enrolled(site, name, &state).await;
        let streams = Streams::new(door);
        let polling = tokio::spawn(poll(dialer.clone(), enrolled.node_id.clone(), streams.clone()));
        Self { node: enrolled.node_id, streams, dialer, polling, _state: state }
    }
}

/// Makes a host a node: how it reaches the platform from then on.
pub async fn enrolled(site: &Site, name: &str, state: &tempfile::TempDir) -> (Dialer, Enrolled) {
    let (_, secret) = site.world.token(name).await;
    let server: ServerAddress = format!("https://{}", site.world.server.address()).parse().unwrap();
    let pin = site.world.authority.sha256().parse().unwrap();
    let folder = StateDir::open(&state.path().join("state")).unwrap();
    let enrolled = enroll(&folder, &server, pin, &secret, None).await.unwrap();
    let session = format!("session-of-{name}");
    (Dialer { server, pin, credential: enrolled.credential().unwrap(), session }, enrolled)
}

async fn poll(dialer: Dialer, node_id: NodeId, streams: Streams) {
    let client = AgentClient::new(&dialer.server, dialer.pin, Some(&dialer.credential)).unwrap();
    let mut client = client.with_session(&dialer.session);
    let beat = ToControl::Heartbeat(Heartbeat {
        node_id: node_id.clone(),
        boot: 1,
        session: dialer.session.clone(),
        sent_at: Ports::system().now(),
    });
    let _: Vec<FromControl> = client.post(MESSAGES_PATH, &[beat], Duration::ZERO).await.unwrap();
    let ask = [ToControl::Poll(Poll { node_id, boot: 1 })];
    let path = format!("{MESSAGES_PATH}?wait_s=20");
    loop {
        match client.post::<Vec<FromControl>>(&path, &ask, Duration::from_secs(20)).await {
            Ok(said) => streams.hear(&said, &dialer),
            // Its identity may have been revoked, which some tests want.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// A guest that says back what it hears.
pub struct Echo;

impl GuestDoor for Echo {
    fn open(&self, _: &AllocationId, _: StreamKind) -> std::io::Result<UnixStream> {
        let (ours, mut theirs) = UnixStream::pair()?;
        std::thread::spawn(move || {
            let mut piece = vec![0; 64 * 1024];
            while let Ok(bytes @ 1..) = theirs.read(&mut piece) {
                if theirs.write_all(&piece[..bytes]).is_err() {
                    return;
                }
            }
        });
        Ok(ours)
    }
}

/// A guest whose end of every stream is handed to the test.
#[derive(Clone, Default)]
pub struct InHand(pub Arc<Mutex<Vec<UnixStream>>>);

impl GuestDoor for InHand {
    fn open(&self, _: &AllocationId, _: StreamKind) -> std::io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        self.0.lock().unwrap().push(theirs);
        Ok(ours)
    }
}

impl InHand {
    /// The guest's end of the only stream.
    pub fn only(&self) -> UnixStream {
        let mut all = self.0.lock().unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }
}

/// Waits until the other side has closed.
pub async fn closed(mut socket: TcpStream) {
    let mut rest = Vec::new();
    // An abrupt end is an end too.
    let _ = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut rest)).await.expect("it is not closed");
}

pub fn only_id(rows: &[StreamRow]) -> StreamId {
    assert_eq!(rows.len(), 1);
    rows[0].id.clone()
}
