//! A small world behind a front door: two tenants of the same build, a catalogue, a node, and somebody of every role.
//! `acme` is the callers' own tenant, `umbrella` the foreign one. Time stands still unless a test moves it.

// Each test binary uses its own part of the world.
#![allow(dead_code)]

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use control::{
    Clock, Entropy, Ports, bootstrap,
    front_door::{FrontDoor, FrontDoorConfig, Request, Response},
    streams::{Gateway, GatewayConfig, RecordingConfig},
};
use model::{
    AllocationId, IngressId, MemberId, NodeId, OperationId, PoolId, PrincipalId, ProjectId, RegionId, SkuId, SshKeyId,
    TenantId, Timestamp, TokenId,
    identity::{MemberRole, PlatformRole, PrincipalKind},
    tenancy::State,
};
use serde_json::{Value, json};
use store::{Db, DbConfig, Stamp, StoreError, Tx, members, nodes, principals, projects, tenants};

struct StandingClock(AtomicI64);
impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

struct Counter(AtomicU64);
impl Entropy for Counter {
    fn fill(&self, buffer: &mut [u8]) {
        let number = self.0.fetch_add(1, Ordering::SeqCst).to_be_bytes();
        let start = buffer.len().saturating_sub(number.len());
        buffer.fill(0);
        buffer[start..].copy_from_slice(&number);
    }
}

/// Somebody with a role.
#[derive(Debug, Clone)]
pub struct Actor {
    pub principal: PrincipalId,
    pub token: TokenId,
    pub secret: String,
}

/// A public key that every project has.
pub const KNOWN_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN1CZlhofS60IfKCOYSNdKAhVWqk92zZqBBrMYEtjN3w known";

/// What belongs to one tenant.
#[derive(Debug, Clone)]
pub struct Estate {
    pub tenant: TenantId,
    pub project: ProjectId,
    pub member: MemberId,
    pub account: PrincipalId,
    pub token: TokenId,
    pub allocation: AllocationId,
    pub operation: OperationId,
    pub ssh_key: SshKeyId,
    /// Only where a test made one.
    pub ingress: Option<IngressId>,
    /// The same, with a delivery to it.
    pub webhook: Option<(String, String)>,
    pub admin: Actor,
}

pub struct World {
    pub db: Db,
    pub door: FrontDoor,
    pub ports: Ports,
    clock: Arc<StandingClock>,
    keys: AtomicU64,
    pub operator: Actor,
    pub auditor: Actor,
    pub acme: Estate,
    pub umbrella: Estate,
    pub worker: Actor,
    pub viewer: Actor,
    pub region: RegionId,
    pub pool: PoolId,
    pub sku: SkuId,
    pub node: NodeId,
}

pub fn id<T: std::str::FromStr>(value: &Value) -> T
where
    T::Err: std::fmt::Debug,
{
    value.as_str().expect("an id").parse().expect("an id of the right kind")
}

pub fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or(Value::Null)
}

/// What the allocation of every estate brings for cloud-init.
pub const USER_DATA: &str = "#cloud-config\npassword: hunter2\n";

/// A store and a door with nobody behind it.
struct Shell {
    db: Db,
    door: FrontDoor,
    ports: Ports,
    clock: Arc<StandingClock>,
}

impl Shell {
    fn new(db: Db) -> Self {
        let clock = Arc::new(StandingClock(AtomicI64::new(1_800_000_000_000_000)));
        let ports = Ports { clock: clock.clone(), entropy: Arc::new(Counter(AtomicU64::new(1))) };
        // Nothing is written through this door, so the folder need not be there.
        let recordings = Some(RecordingConfig::new("/nonexistent"));
        let gateway = Gateway::new(GatewayConfig { recordings, ..GatewayConfig::default() });
        let config = FrontDoorConfig { authority_sha256: Some("ab".repeat(32)), gateway, ..FrontDoorConfig::default() };
        let door = FrontDoor::new(ports.clone(), config).unwrap();
        Self { db, door, ports, clock }
    }

    fn write<T: Send + 'static>(
        &self,
        mut run: impl FnMut(&mut Tx<'_>, &mut Stamp<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        let ports = self.ports.clone();
        let write = move |tx: &mut Tx<'_>| {
            let mut bits = || ports.id_bits();
            run(tx, &mut Stamp::new(ports.now(), &mut bits))
        };
        self.db.write(write).unwrap()
    }

    fn person(&self, email: &str, role: Option<PlatformRole>) -> Actor {
        let (email, ports) = (email.to_owned(), self.ports.clone());
        self.write(move |tx, stamp| {
            let principal = PrincipalId::from_parts(stamp.now, stamp.bits());
            let kind = PrincipalKind::User;
            let new =
                principals::PrincipalNew { id: &principal, kind, name: &email, tenant_id: None, platform_role: role };
            principals::insert(tx, stamp, new)?;
            let lifetime = 86_400.try_into().unwrap();
            let (token, secret) = bootstrap::token_for(tx, stamp, &ports, &principal, lifetime)?;
            Ok(Actor { principal, token, secret: secret.reveal().to_owned() })
        })
    }

    fn join(&self, actor: &Actor, tenant: &TenantId, project: Option<&ProjectId>, role: MemberRole) -> MemberId {
        let (principal, tenant, project) = (actor.principal.clone(), tenant.clone(), project.cloned());
        self.write(move |tx, stamp| {
            let member = MemberId::from_parts(stamp.now, stamp.bits());
            let new = members::MemberNew {
                id: &member,
                tenant_id: &tenant,
                project_id: project.as_ref(),
                principal_id: &principal,
                role,
            };
            members::insert(tx, stamp, new)?;
            Ok(member)
        })
    }

    /// A request as the operator, which must succeed.
    fn make(&self, operator: &Actor, path: &str, what: Value) -> Value {
        let key = format!("seed-{:?}", self.ports.id_bits());
        let key: String = key.chars().filter(char::is_ascii_alphanumeric).take(60).collect();
        let request = Request::new("POST", path).bearer(&operator.secret).key(&key).json(what.to_string());
        let response = self.door.perform(&self.db, request);
        assert!(response.is_success(), "{path}: {}", String::from_utf8_lossy(&response.body));
        body(&response)
    }

    fn activate(&self, tenant: &TenantId, project: &ProjectId) {
        let (tenant, project) = (tenant.clone(), project.clone());
        self.write(move |tx, stamp| {
            let row = tenants::get(tx, &tenant)?.unwrap();
            if row.state == State::Creating {
                tenants::enter(tx, stamp, &row, State::Active, "{}", None)?;
            }
            let row = projects::get(tx, &project)?.unwrap();
            projects::enter(tx, stamp, &row, State::Active, "{}", None).map(drop)
        });
    }

    fn estate(&self, operator: &Actor, slug: &str, sku: &SkuId, region: &RegionId) -> Estate {
        let tenant = self.make(operator, "/api/v1/tenants", json!({"slug": slug, "name": slug}));
        let tenant: TenantId = id(&tenant["id"]);
        let wish = json!({"slug": "research", "name": "Research", "gpu_cap": 8});
        let project = self.make(operator, &format!("/api/v1/tenants/{tenant}/projects"), wish);
        let project: ProjectId = id(&project["id"]);
        self.activate(&tenant, &project);
        let admin = self.person(&format!("admin@{slug}.example"), None);
        self.join(&admin, &tenant, None, MemberRole::TenantAdmin);
        let bystander = self.person(&format!("bystander@{slug}.example"), None);
        let member = self.join(&bystander, &tenant, Some(&project), MemberRole::Viewer);
        let accounts = format!("/api/v1/tenants/{tenant}/service-accounts");
        let account: PrincipalId = id(&self.make(operator, &accounts, json!({"name": "robot"}))["id"]);
        let wish = json!({"name": "robot", "scope": "write", "lifetime_s": 3600, "principal_id": account});
        let token: TokenId = id(&self.make(operator, "/api/v1/tokens", wish)["token"]["id"]);
        let mut wish = json!({"name": "job", "sku_id": sku, "gpu_count": 1, "region_id": region});
        wish["user_data"] = json!(USER_DATA);
        let launched = self.make(operator, &format!("/api/v1/projects/{project}/allocations"), wish);
        let (allocation, operation) = (id(&launched["subject_id"]), id(&launched["id"]));
        let wish = json!({"name": "known", "public_key": KNOWN_KEY});
        let ssh_key = id(&self.make(operator, &format!("/api/v1/projects/{project}/ssh-keys"), wish)["id"]);
        Estate {
            tenant,
            project,
            member,
            account,
            token,
            allocation,
            operation,
            ssh_key,
            ingress: None,
            webhook: None,
            admin,
        }
    }

    fn node(&self, pool: &PoolId) -> NodeId {
        let pool = pool.clone();
        self.write(move |tx, stamp| {
            let node = NodeId::from_parts(stamp.now, stamp.bits());
            let new = nodes::NodeNew {
                id: &node,
                pool_id: &pool,
                name: "host-1",
                gpu_model: model::supply::GpuModel::H200Sxm,
                public_key: "00",
                partitions: "null",
                hardware_serial: None,
                profiles: "[]",
                promoted: Some(stamp.now),
            };
            nodes::insert(tx, stamp, new)?;
            Ok(node)
        })
    }
}

impl World {
    pub fn new() -> Self {
        let config = DbConfig { store_id: Some("test".into()), ..DbConfig::new("sqlite::memory:") };
        Self::on(Db::open(&config).unwrap())
    }

    /// The same world in a given store.
    pub fn on(db: Db) -> Self {
        let shell = Shell::new(db);
        let operator = shell.person("root@platform.example", Some(PlatformRole::PlatformOperator));
        let auditor = shell.person("auditor@platform.example", Some(PlatformRole::OperatorReadOnly));
        let region = json!({"slug": "eu-1", "name": "Europe", "enabled": true});
        let region: RegionId = id(&shell.make(&operator, "/api/v1/regions", region)["id"]);
        let pool = json!({"region_id": region, "slug": "h200", "name": "H200", "gpu_model": "h200-sxm"});
        let pool: PoolId = id(&shell.make(&operator, "/api/v1/pools", pool)["id"]);
        let sku: SkuId = id(&shell.make(&operator, "/api/v1/skus", sku_body("slice"))["id"]);
        let (ports, by) = (shell.ports.clone(), operator.principal.clone());
        shell.write(move |tx, stamp| bootstrap::simulated_image(tx, stamp, &ports, &by));
        let node = shell.node(&pool);
        let acme = shell.estate(&operator, "acme", &sku, &region);
        let umbrella = shell.estate(&operator, "umbrella", &sku, &region);
        let worker = shell.person("worker@acme.example", None);
        shell.join(&worker, &acme.tenant, Some(&acme.project), MemberRole::ProjectMember);
        let viewer = shell.person("viewer@acme.example", None);
        shell.join(&viewer, &acme.tenant, None, MemberRole::Viewer);
        let Shell { db, door, ports, clock } = shell;
        let keys = AtomicU64::new(1);
        Self {
            db,
            door,
            ports,
            clock,
            keys,
            operator,
            auditor,
            acme,
            umbrella,
            worker,
            viewer,
            region,
            pool,
            sku,
            node,
        }
    }

    /// The same world behind another door.
    pub fn through(self, config: FrontDoorConfig) -> Self {
        let door = FrontDoor::new(self.ports.clone(), config).unwrap();
        Self { door, ..self }
    }

    /// A key that was not used before.
    pub fn key(&self) -> String {
        format!("k-{}", self.keys.fetch_add(1, Ordering::SeqCst))
    }

    /// Moves time on.
    pub fn pass(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub fn send(&self, request: Request) -> Response {
        self.door.perform(&self.db, request)
    }

    pub fn get(&self, who: &Actor, path: &str) -> Response {
        self.send(Request::new("GET", path).bearer(&who.secret))
    }

    pub fn post(&self, who: &Actor, path: &str, what: Value) -> Response {
        self.send(Request::new("POST", path).bearer(&who.secret).key(&self.key()).json(what.to_string()))
    }

    pub fn act(&self, who: &Actor, path: &str) -> Response {
        self.send(Request::new("POST", path).bearer(&who.secret).key(&self.key()))
    }

    pub fn patch(&self, who: &Actor, path: &str, version: i64, what: Value) -> Response {
        self.send(Request::new("PATCH", path).bearer(&who.secret).if_match(version).json(what.to_string()))
    }

    pub fn delete(&self, who: &Actor, path: &str, version: Option<i64>) -> Response {
        let request = Request::new("DELETE", path).bearer(&who.secret);
        self.send(match version {
            Some(version) => request.if_match(version),
            None => request,
        })
    }

    /// The version that a GET of this path shows to the operator.
    pub fn version(&self, path: &str) -> i64 {
        let response = self.get(&self.operator, path);
        response.header("ETag").map_or(1, |etag| etag.trim_matches('"').parse().unwrap())
    }

    /// A person with a role, and a token that carries it.
    pub fn person(&self, email: &str) -> Actor {
        self.shell().person(email, None)
    }

    /// One more operator.
    pub fn operator_named(&self, email: &str) -> Actor {
        self.shell().person(email, Some(PlatformRole::PlatformOperator))
    }

    pub fn join(&self, actor: &Actor, tenant: &TenantId, project: Option<&ProjectId>, role: MemberRole) -> MemberId {
        self.shell().join(actor, tenant, project, role)
    }

    pub fn write<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Tx<'_>, &mut Stamp<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.shell().write(run)
    }

    fn shell(&self) -> Shell {
        let (db, door, ports, clock) = (self.db.clone(), self.door.clone(), self.ports.clone(), self.clock.clone());
        Shell { db, door, ports, clock }
    }

    /// One number that a query answers.
    pub fn count(&self, sql: &'static str) -> i64 {
        self.db.read(move |tx: &mut Tx<'_>| tx.query_one(sql, &[])?.int(0)).unwrap()
    }

    pub fn audited(&self) -> i64 {
        self.count("SELECT COUNT(*) FROM audit")
    }
}

pub fn sku_body(slug: &str) -> Value {
    json!({
        "slug": slug, "name": "A slice", "shape": "gpu_slice", "gpu_model": "h200-sxm", "gpu_counts": [1, 2, 4, 8],
        "vcpus_per_gpu": 24, "memory_mib_per_gpu": 65536, "price_micros_per_gpu_hour": 3_500_000
    })
}
