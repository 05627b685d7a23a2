//! The control plane as a process: one replica with its store, its runner and its HTTP server. It ends in an orderly way
//! on Ctrl-C or SIGTERM: no new connections, open requests end, the lease is given back.
//!
//! An embedded store whose last commit ended unknown is not used again: the process ends with code 75, and whoever
//! supervises it starts it anew.

use clap::{Args, ValueEnum};
use control::{
    Ports,
    agents::{self, AgentsConfig, AgentsParts, AgentsServer, Revocations},
    authority::Authority,
    background::Background,
    front_door::{FrontDoor, FrontDoorConfig},
    http::{self, EventFeed, HttpConfig, HttpServer, Parts, Rate},
    image_files::ImageFiles,
    metrics::Metrics,
    node_plane::NodePlane,
    observability::{self, LogConfig, LogFormat, LogGuard},
    plane::{ControlPlane, PlaneConfig},
    providers::{self, MachineHands, Patience, Provider},
    runner::{self, RunnerHandle},
    sign_in::SignIn,
    streams::{Gateway, GatewayConfig, RECORDINGS_KEEP_DAYS, RecordingConfig},
    webhooks::{self, AddressRange, Courier, Poster, Reach, SystemNames},
};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use store::{Db, Dialect, principals};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    args::{Global, examples},
    commands::{
        authority::authority_failure,
        database::{Database, store_failure},
        maas::MaasArgs,
        sign_in::SignInArgs,
    },
    exit::Exit,
    failure::Failure,
    interrupt, output,
};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogStyle {
    // For people.
    Human,
    // One JSON object a line.
    Json,
}

/// What a control plane logs.
#[derive(Debug, Clone, Args)]
pub struct Logging {
    /// What to log: a level (error, warn, info, debug, trace), or a filter such as info,control=debug
    #[arg(long, default_value = "info", env = "GPUAAS_LOG", value_name = "LEVEL")]
    pub log: String,
    /// How log lines look; they go to standard error
    #[arg(long, default_value = "human", value_name = "FORMAT")]
    pub log_format: LogStyle,
    /// The OpenTelemetry collector to send spans to, such as http://127.0.0.1:4318 [default: OTEL_EXPORTER_OTLP_ENDPOINT]; needs a build with the otel feature
    #[arg(long, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

impl Logging {
    /// Starts to log. The answer must live as long as the process.
    pub fn start(&self, global: &Global) -> Result<LogGuard, Failure> {
        let format = match self.log_format {
            LogStyle::Human => LogFormat::Human,
            LogStyle::Json => LogFormat::Json,
        };
        let colour = global.color != output::Color::Never;
        // What is set for every program of a machine must not keep one from starting that was built without spans.
        let from_environment = |name: &str| if cfg!(feature = "otel") { std::env::var(name).ok() } else { None };
        let otlp_endpoint = spans_address(self.otlp_endpoint.as_deref(), from_environment);
        let config = LogConfig { format, filter: self.log.clone(), colour, otlp_endpoint };
        observability::init(&config).map_err(|error| Failure::Usage(error.to_string()))
    }
}

/// Where spans go: the flag, else what OpenTelemetry's own variables say. A collector has one address and takes spans under
/// a path of it; only the variable for spans alone names that path itself.
fn spans_address(flag: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    const PATH: &str = "/v1/traces";
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let under = |base: &str| match base.trim_end_matches('/') {
        base if base.ends_with(PATH) => base.to_owned(),
        base => format!("{base}{PATH}"),
    };
    if let Some(flag) = flag {
        return Some(under(flag));
    }
    set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| set("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| under(&base)))
}

/// How to serve.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas serve --database sqlite:gpuaas.db",
    "gpuaas serve --database postgres://gpuaas@db.example/gpuaas --listen 127.0.0.1:7071 --replica east-2",
    "gpuaas serve --database sqlite:gpuaas.db --listen 127.0.0.1:0 --log-format json --log warn",
    "gpuaas serve --database postgres://gpuaas@db.example/gpuaas --image-dir /srv/gpuaas/images",
    "gpuaas serve --database sqlite:gpuaas.db --public-url https://gpuaas.example --oidc-issuer https://id.example --oidc-client-id gpuaas --oidc-client-secret-file /etc/gpuaas/oidc-secret --oidc-rules /etc/gpuaas/groups.yaml",
    "gpuaas serve --database sqlite:gpuaas.db --agents-listen 0.0.0.0:7443 --authority /etc/gpuaas/authority --agents-name gpuaas.example",
])]
pub struct Serve {
    #[command(flatten)]
    database: Database,
    /// Where to listen; port 0 takes a free one, and the address is printed
    #[arg(long, default_value = "127.0.0.1:7070", value_name = "ADDR")]
    listen: SocketAddr,
    /// Listen in plain text on an address that other machines can reach, because a TLS proxy or a private network is there
    #[arg(long)]
    insecure_listen: bool,
    /// The name of this replica; no two running replicas may share one [default: made from the host's name]
    #[arg(long, value_name = "NAME")]
    replica: Option<String>,
    /// For how many seconds a silent leader is waited for before another replica takes over
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(1..=600))]
    lease_ttl_s: i64,
    /// Requests a second that each token may make, averaged over a minute
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate_limit_per_s: u32,
    /// The folder that the bytes of images are kept in; replicas of one store share it [default: images, beside an embedded store]
    #[arg(long, value_name = "DIR", env = "GPUAAS_IMAGE_DIR")]
    image_dir: Option<PathBuf>,
    /// This is a laboratory: slots without GPUs, on files instead of disks, can be tried out; they are never for sale
    #[arg(long)]
    lab: bool,
    #[command(flatten)]
    agents: Agents,
    #[command(flatten)]
    streams: Streams,
    #[command(flatten)]
    sign_in: SignInArgs,
    #[command(flatten)]
    maas: MaasArgs,
    #[command(flatten)]
    webhooks: Webhooks,
    #[command(flatten)]
    logging: Logging,
}

/// The way in to guests.
#[derive(Debug, Args)]
#[command(next_help_heading = "SSH and consoles")]
pub struct Streams {
    /// Where agents reach this replica, as https://NAME:PORT; needed where several replicas stand behind one name
    #[arg(long, value_name = "URL", requires = "agents_listen")]
    agents_advertise: Option<String>,
    /// The folder for what consoles print [default: console, beside an embedded store; without one there are no consoles]
    #[arg(long, value_name = "DIR")]
    console_dir: Option<PathBuf>,
    /// Keep what people type on consoles too, passwords included
    #[arg(long)]
    record_keystrokes: bool,
    /// For how many days after its end the recording of a console is kept
    #[arg(long, value_name = "DAYS", default_value_t = RECORDINGS_KEEP_DAYS, value_parser = clap::value_parser!(u64).range(1..=3650))]
    console_keep_days: u64,
}

impl Streams {
    fn config(&self, database: &Database) -> GatewayConfig {
        let folder = self.console_dir.clone().or_else(|| Some(database.folder()?.join(CONSOLE)));
        let recordings = folder.map(|folder| RecordingConfig {
            keystrokes: self.record_keystrokes,
            keep: Duration::from_secs(self.console_keep_days.saturating_mul(86_400)),
            ..RecordingConfig::new(folder)
        });
        GatewayConfig { recordings, ..GatewayConfig::default() }
    }
}

/// Where events are sent.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Webhooks")]
pub struct Webhooks {
    /// Addresses that webhooks may have besides those of the public internet, such as 10.20.0.0/16, and without https; may be given several times
    #[arg(long, value_name = "CIDR")]
    webhook_allow: Vec<AddressRange>,
    /// Certificates to trust besides the system's, in PEM, for receivers with a private authority
    #[arg(long, value_name = "FILE")]
    webhook_ca: Option<PathBuf>,
}

impl Webhooks {
    /// For a platform on one machine, whose receivers are on it too.
    pub fn on_this_machine() -> Self {
        let own = ["127.0.0.0/8", "::1/128"];
        Self { webhook_allow: own.iter().filter_map(|range| range.parse().ok()).collect(), webhook_ca: None }
    }

    fn poster(&self) -> Result<Poster, Failure> {
        let reach = Reach { allowed: self.webhook_allow.clone() };
        Poster::new(reach, Arc::new(SystemNames), self.webhook_ca.as_deref())
            .map_err(|error| Failure::Local(error.to_string()))
    }
}

/// Where consoles are recorded, beside the store.
pub const CONSOLE: &str = "console";

/// How node agents are let in.
#[derive(Debug, Args)]
#[command(next_help_heading = "Node agents")]
pub struct Agents {
    /// Where to listen for node agents, with TLS; without it this replica lets none in
    #[arg(long, value_name = "ADDR", requires = "authority")]
    agents_listen: Option<SocketAddr>,
    /// A name or address by which agents reach this replica; may be given several times [default: the address, and localhost]
    #[arg(long, value_name = "NAME", requires = "agents_listen")]
    agents_name: Vec<String>,
    /// The folder with the authority that signs nodes' certificates; `gpuaas authority init` makes one
    #[arg(long, value_name = "DIR", env = "GPUAAS_AUTHORITY")]
    authority: Option<PathBuf>,
    /// The first part of every node's identity [default: the id of the store]
    #[arg(long, value_name = "NAME", requires = "authority")]
    trust_domain: Option<String>,
}

/// Opens an authority. Its trust domain is the store's id unless another was asked for.
pub async fn open_authority(folder: PathBuf, trust_domain: Option<String>, db: &Db) -> Result<Arc<Authority>, Failure> {
    let store = db.read_async(store::store_identity).await.map_err(|error| store_failure(&error))?;
    let domain = trust_domain.unwrap_or_else(|| store.store_id.to_ascii_lowercase());
    Authority::open(&folder, &domain).map(Arc::new).map_err(|fault| authority_failure(&fault))
}

/// What a replica needs to start.
#[derive(Debug)]
pub struct Setup {
    /// Its store.
    pub db: Db,
    /// Its clock and randomness.
    pub ports: Ports,
    /// Its name.
    pub replica: String,
    /// How long a silent leader is waited for.
    pub lease_ttl_s: i64,
    /// How to listen.
    pub http: HttpConfig,
    /// Who signs nodes' certificates.
    pub authority: Option<Arc<Authority>>,
    /// How to listen for agents; needs an authority.
    pub agents: Option<AgentsConfig>,
    /// How the way in to guests works.
    pub gateway: GatewayConfig,
    /// Where agents reach this replica, if it is to say so.
    pub advertised: Option<String>,
    /// Where the bytes of images are.
    pub images: Option<ImageFiles>,
    /// How people in browsers sign in.
    pub sign_in: SignIn,
    /// Whether this is a laboratory.
    pub lab: bool,
    /// Who provides whole machines, how patient to be with them, and how often to look.
    pub machines: (Vec<Provider>, Patience, Duration),
    /// Where events may be sent.
    pub webhooks: Webhooks,
}

/// A running replica.
#[derive(Debug)]
pub struct Replica {
    server: HttpServer,
    agents: Option<AgentsServer>,
    runner: RunnerHandle,
    hands: Background,
    courier: Background,
    node_plane: Arc<NodePlane>,
}

impl Replica {
    /// Starts everything.
    pub async fn start(setup: Setup) -> Result<Self, Failure> {
        let Setup {
            db,
            ports,
            replica,
            lease_ttl_s,
            http,
            authority,
            agents,
            gateway,
            advertised,
            images,
            sign_in,
            lab,
            machines,
            webhooks,
        } = setup;
        db.on_poison(end_poisoned);
        let poster = webhooks.poster()?;
        let (revocations, gateway) = (Revocations::default(), Gateway::new(gateway));
        if let Some(address) = advertised {
            gateway.advertise(address);
        }
        let front = FrontDoorConfig {
            replica: replica.clone(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            authority_sha256: authority.as_ref().map(|authority| authority.sha256()),
            revocations: revocations.clone(),
            gateway: gateway.clone(),
            images: images.clone(),
            sign_in,
            lab,
            webhook_reach: Reach { allowed: webhooks.webhook_allow },
        };
        let door = FrontDoor::new(ports.clone(), front).map_err(|error| Failure::Local(error.to_string()))?;
        let config = PlaneConfig { lease_ttl_s, lab, ..PlaneConfig::serving(replica) };
        let plane = ControlPlane::new(db.clone(), ports.clone(), config.clone());
        let (providers, patience, every) = machines;
        let told = (plane.led(), plane.poke());
        let hands = MachineHands::new((db.clone(), ports.clone()), config.clone(), told, providers, patience);
        let (poke, node_plane, metrics) = (plane.poke(), plane.node_plane(), Metrics::new());
        let courier = Courier::new((db.clone(), ports.clone()), config, plane.led(), poster, metrics.clone());
        let parts =
            Parts { door, db: db.clone(), metrics: metrics.clone(), poke: poke.clone(), feed: EventFeed::default() };
        // The addresses first: a port that is taken must be told before anything begins to work.
        let server = http::start(http, parts).await.map_err(|error| Failure::Local(error.to_string()))?;
        let agents = match (agents, authority) {
            (Some(config), Some(authority)) => {
                let config = AgentsConfig { images, ..config };
                let (node_plane, metrics) = (Arc::clone(&node_plane), metrics.clone());
                let parts = AgentsParts { db, ports, authority, node_plane, revocations, poke, metrics, gateway };
                Some(agents::start(config, parts).await.map_err(|error| Failure::Local(error.to_string()))?)
            }
            _ => None,
        };
        let observed = move |report: &control::plane::StepReport| metrics.stepped(report);
        let runner = runner::spawn_observed(plane, observed, end_poisoned)
            .map_err(|error| Failure::Local(format!("cannot start the control plane's thread: {error}")))?;
        let hands = providers::spawn(hands, every)
            .map_err(|error| Failure::Local(format!("cannot start the thread that looks at machines: {error}")))?;
        let courier = webhooks::spawn(courier, WEBHOOKS_EVERY)
            .map_err(|error| Failure::Local(format!("cannot start the thread that sends events: {error}")))?;
        Ok(Self { server, agents, runner, hands, courier, node_plane })
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Where agents reach it, if they do.
    pub fn agents_url(&self) -> Option<String> {
        self.agents.as_ref().map(|agents| format!("https://{}", agents.address()))
    }

    /// Where agents' messages go.
    pub fn node_plane(&self) -> Arc<NodePlane> {
        Arc::clone(&self.node_plane)
    }

    /// Ends it in an orderly way.
    pub async fn stop(self) {
        if let Some(agents) = self.agents {
            agents.stop().await;
        }
        self.server.stop().await;
        // Waits for the current step and gives the lease back; both talk to the store.
        let _ = tokio::task::spawn_blocking(move || {
            self.courier.stop();
            self.hands.stop();
            self.runner.stop()
        })
        .await;
    }
}

fn end_poisoned() {
    tracing::error!(alert = "store_poisoned", "the outcome of a commit is unknown; start this process again");
    std::process::exit(i32::from(Exit::Restart.number()));
}

/// Signals that ask for an orderly end. Asked twice, the process ends at once.
pub struct Ending {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Ending {
    /// Takes Ctrl-C and SIGTERM over from here on.
    pub fn prepare() -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| Failure::Local(format!("cannot watch for signals: {error}"));
        let ending = Self {
            interrupt: signal(SignalKind::interrupt()).map_err(cannot)?,
            terminate: signal(SignalKind::terminate()).map_err(cannot)?,
        };
        interrupt::leave_to_command();
        Ok(ending)
    }

    /// Waits until an end is asked for.
    pub async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Does the work of ending, unless somebody is in a hurry.
    pub async fn unless_asked_again(mut self, work: impl Future<Output = ()>) {
        tokio::select! {
            () = work => {}
            () = self.asked() => std::process::exit(i32::from(Exit::Interrupted.number())),
        }
    }
}

/// A name that no other process has. An embedded store has one process at a time, held by its file lock, so its name stays:
/// started again after a crash it takes its own lease back instead of waiting for it to run out.
fn replica_name(ports: &Ports, dialect: Dialect) -> String {
    if dialect == Dialect::Sqlite {
        return "embedded".to_owned();
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    let bits = ports.id_bits();
    format!("{}-{:02x}{:02x}{:02x}", if host.is_empty() { "replica" } else { &host }, bits[0], bits[1], bits[2])
}

/// Opens a store without holding up the runtime.
pub async fn open(database: &Database, ports: &Ports) -> Result<Db, Failure> {
    let config = database.config(ports);
    let opened = tokio::task::spawn_blocking(move || Db::open(&config)).await;
    let opened = opened.map_err(|error| Failure::Local(format!("the store could not be opened: {error}")))?;
    opened.map_err(|error| store_failure(&error))
}

/// Says something on standard output that a supervisor or a person waits for. Whether anybody reads it must not matter
/// to a server.
pub fn announce(text: &str) -> Result<(), Failure> {
    match output::data(text) {
        Err(Failure::ReaderGone) => Ok(()),
        other => other,
    }
}

/// Where images are kept unless something else is said: beside an embedded store, and nowhere for one on a server, which
/// other replicas may serve too.
pub fn beside_store(database: &str) -> Option<PathBuf> {
    let file = database.strip_prefix("sqlite:")?;
    let folder = Path::new(file).parent()?;
    Some(folder.join("images"))
}

/// Opens the folder of images.
pub fn image_files(folder: Option<PathBuf>) -> Result<Option<ImageFiles>, Failure> {
    let open = |folder: PathBuf| {
        let cannot = |error| Failure::Local(format!("cannot use {} for images: {error}", folder.display()));
        ImageFiles::open(&folder).map_err(cannot)
    };
    folder.map(open).transpose()
}

/// How often the leader looks whether a machine wants something.
const MACHINES_EVERY: Duration = Duration::from_secs(1);

/// How often the leader looks for events to send.
const WEBHOOKS_EVERY: Duration = Duration::from_millis(250);

/// Where agents reach a door, as far as its settings say.
fn agents_url(config: &AgentsConfig) -> Option<String> {
    config.names.first().map(|name| format!("https://{name}:{}", config.listen.port()))
}

/// Serves until it is told to end.
pub async fn serve(global: &Global, serve: Serve) -> Result<(), Failure> {
    let _logs = serve.logging.start(global)?;
    let ports = Ports::system();
    let mut ending = Ending::prepare()?;
    let sign_in = serve.sign_in.ways()?;
    let db = open(&serve.database, &ports).await?;
    let operators = db.read_async(principals::operators_left).await.map_err(|error| store_failure(&error))?;
    let replica = serve.replica.unwrap_or_else(|| replica_name(&ports, db.dialect()));
    let rate = Rate { requests: serve.rate_limit_per_s.saturating_mul(60), window_s: 60 };
    let http = HttpConfig { plaintext_allowed: serve.insecure_listen, rate, ..HttpConfig::new(serve.listen) };
    let Agents { agents_listen, agents_name, authority, trust_domain } = serve.agents;
    let authority = match authority {
        Some(folder) => Some(open_authority(folder, trust_domain, &db).await?),
        None => None,
    };
    let agents = agents_listen.map(|listen| match AgentsConfig::new(listen) {
        usual if agents_name.is_empty() => usual,
        usual => AgentsConfig { names: agents_name, ..usual },
    });
    let images = image_files(serve.image_dir.or_else(|| beside_store(&serve.database.database)))?;
    let gateway = serve.streams.config(&serve.database);
    let agents_url = agents.as_ref().and_then(agents_url);
    let provider = serve.maas.provider(&ports, authority.as_ref(), agents_url.as_deref())?;
    let machines = (provider.into_iter().collect(), Patience::default(), MACHINES_EVERY);
    let (lease_ttl_s, lab, advertised) = (serve.lease_ttl_s, serve.lab, serve.streams.agents_advertise);
    let webhooks = serve.webhooks;
    let setup = Setup {
        db,
        ports,
        replica,
        lease_ttl_s,
        http,
        authority,
        agents,
        gateway,
        advertised,
        images,
        sign_in,
        lab,
        machines,
        webhooks,
    };
    let running = Replica::start(setup).await?;
    if operators == 0 {
        output::note(
            "the store has no operator yet, so nobody can sign in; with this server stopped, or on PostgreSQL beside it, run:\n  gpuaas bootstrap --database URL --email you@example.com",
        );
    }
    announce(&running.url())?;
    if let Some(agents) = running.agents_url() {
        announce(&format!("agents {agents}"))?;
    }
    ending.asked().await;
    tracing::info!("ending");
    ending.unless_asked_again(running.stop()).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_where_the_flag_or_the_standard_variables_say() {
        let set = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(spans_address(None, set(&[])), None);
        assert_eq!(spans_address(None, set(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")])), None);
        let base = set(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/")]);
        assert_eq!(spans_address(None, base).as_deref(), Some("http://c:4318/v1/traces"));
        assert_eq!(spans_address(Some("http://f:1"), base).as_deref(), Some("http://f:1/v1/traces"));
        assert_eq!(spans_address(Some("http://f:1/v1/traces"), base).as_deref(), Some("http://f:1/v1/traces"));
        let own =
            set(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"), ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x")]);
        assert_eq!(spans_address(None, own).as_deref(), Some("http://t/x"));
    }
}
