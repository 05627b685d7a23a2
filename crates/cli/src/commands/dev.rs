//! A whole platform on one machine to try things on: an embedded store, a control plane, a simulated fleet, people with
//! tokens. Everything is kept in one folder; stopping and starting again changes nothing.

use clap::Args;
use control::{
    Ports,
    agents::AgentsConfig,
    authority::Authority,
    http::{HttpConfig, Rate},
    providers::{Patience, Provider},
    sign_in::SignIn,
    streams::{GatewayConfig, RecordingConfig},
};
use model::identity::Role;
use sim::{
    dev::{DevSeed, Pace, seed_dev, spawn_fleet_on},
    metal::{self, Metal},
};
use std::{
    fs::{File, TryLockError},
    io::ErrorKind,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{
    args::{Global, examples},
    commands::{
        authority::authority_failure,
        database::Database,
        serve::{CONSOLE, Ending, Logging, Replica, Setup, Webhooks, announce, image_files, open, open_authority},
    },
    failure::Failure,
    output,
    progress::patiently,
};

/// How to run a development platform.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas dev",
    "gpuaas dev --reset",
    "gpuaas dev --data-dir /tmp/gpuaas-dev --listen 127.0.0.1:0",
])]
pub struct Dev {
    /// Where everything is kept [default: $XDG_STATE_HOME/gpuaas/dev]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Start over: forget everything that an earlier run left
    #[arg(long)]
    reset: bool,
    /// Where to listen; port 0 takes a free one, and the address is printed
    #[arg(long, default_value = "127.0.0.1:7070", value_name = "ADDR")]
    listen: SocketAddr,
    /// Where to listen for the agents of real hosts [default: 127.0.0.1:7443, or a free port when --listen has port 0]
    #[arg(long, value_name = "ADDR")]
    agents_listen: Option<SocketAddr>,
    /// Requests a second that each token, and each address without one, may make, averaged over a minute
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate_limit_per_s: u32,
    /// Simulated hosts build, stop and wipe at once, for scripts that do not want to wait
    #[arg(long)]
    instant: bool,
    #[command(flatten)]
    logging: Logging,
}

const STORE: &str = "store.db";
const FLEET: &str = "fleet";
const AUTHORITY: &str = "authority";
const AGENTS_PORT: u16 = 7443;

fn default_folder() -> Result<PathBuf, Failure> {
    use etcetera::BaseStrategy;
    let dirs = etcetera::choose_base_strategy()
        .map_err(|error| Failure::Local(format!("cannot find the home directory: {error}")))?;
    Ok(dirs.state_dir().unwrap_or_else(|| dirs.data_dir()).join("gpuaas").join("dev"))
}

fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Removes what an earlier run left, and nothing else that may be in the folder. Refuses while that run goes on.
fn forget(folder: &Path) -> Result<(), Failure> {
    let store = folder.join(STORE);
    let cannot =
        |path: &Path, error: &std::io::Error| Failure::Local(format!("cannot remove {}: {error}", path.display()));
    let lock_path = beside(&store, ".lock");
    let lock = match File::open(&lock_path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(cannot(&lock_path, &error)),
    };
    if let Some(Err(TryLockError::WouldBlock)) = lock.as_ref().map(File::try_lock) {
        return Err(Failure::Conflict(format!("{} is in use; stop the other `gpuaas dev` first", folder.display())));
    }
    for ending in ["", "-wal", "-shm", ".lock"] {
        let path = beside(&store, ending);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot(&path, &error)),
            _ => {}
        }
    }
    for name in [FLEET, AUTHORITY, CONSOLE] {
        let inner = folder.join(name);
        match std::fs::remove_dir_all(&inner) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot(&inner, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// The authority of the folder, made when there is none.
async fn authority(folder: &Path, ports: &Ports, db: &store::Db) -> Result<Arc<Authority>, Failure> {
    let folder = folder.join(AUTHORITY);
    if !folder.join(control::authority::CERTIFICATE_FILE).exists() {
        // Half of one is left by a run that was cut off; nobody has seen it yet.
        let _ = std::fs::remove_dir_all(&folder);
        Authority::create(&folder, ports).map_err(|fault| authority_failure(&fault))?;
    }
    open_authority(folder, None, db).await
}

/// How often machines are looked at: people watch.
const MACHINES_EVERY: Duration = Duration::from_millis(200);

fn patience() -> Patience {
    Patience { look_s: 1, pause_s_max: 5, sync_s: 30, ..Patience::default() }
}

/// The provider of the hosts that are sold whole.
async fn metal(
    db: &store::Db,
    ports: &Ports,
    authority: Option<&Arc<Authority>>,
    instant: bool,
) -> Result<Option<(Metal, Provider)>, Failure> {
    let Some(authority) = authority.cloned() else { return Ok(None) };
    let (db, ports) = (db.clone(), ports.clone());
    let opened =
        tokio::task::spawn_blocking(move || Metal::open(&db, &ports, authority, metal::timings(instant))).await;
    let failed = |why: String| Failure::Local(format!("the simulated machines could not be put together: {why}"));
    let metal = opened.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
    // Simulated hosts have no network between them and this process.
    let provider = metal.provider("https://localhost").map_err(|error| failed(error.to_string()))?;
    Ok(Some((metal, provider)))
}

/// The folder, made for its owner only: tokens are kept in it.
fn prepared(folder: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Failure::Local(format!("cannot make {}: {error}", folder.display())))
}

/// Runs until it is told to end.
pub async fn dev(global: &Global, dev: Dev) -> Result<(), Failure> {
    if !dev.listen.ip().is_loopback() {
        let why =
            "a development platform is for this machine alone: give --listen an address of it, such as 127.0.0.1:7070";
        return Err(Failure::Usage(why.to_owned()));
    }
    let _logs = dev.logging.start(global)?;
    let folder = dev.data_dir.map_or_else(default_folder, Ok)?;
    let ports = Ports::system();
    let mut ending = Ending::prepare()?;
    if dev.reset {
        forget(&folder)?;
    }
    prepared(&folder)?;
    let database = Database { database: format!("sqlite:{}", folder.join(STORE).display()) };
    let db = open(&database, &ports).await?;
    let (kept, fleet_db, seed_ports) = (folder.join(FLEET), db.clone(), ports.clone());
    let seeding = tokio::task::spawn_blocking({
        let (db, kept) = (db.clone(), kept.clone());
        move || seed_dev(&db, &seed_ports, &kept)
    });
    let seeded = patiently(global.quiet, "building a fleet", seeding).await;
    let seeded = seeded
        .map_err(|error| Failure::Local(format!("the fleet could not be built: {error}")))?
        .map_err(|error| Failure::Local(format!("the fleet could not be built: {error}")))?;
    let rate = Rate { requests: dev.rate_limit_per_s.saturating_mul(60), window_s: 60 };
    let http = HttpConfig { rate, stranger_rate: rate, sign_in_rate: rate, ..HttpConfig::new(dev.listen) };
    let authority = Some(authority(&folder, &ports, &db).await?);
    let agents_port = if dev.listen.port() == 0 { 0 } else { AGENTS_PORT };
    let agents = dev.agents_listen.unwrap_or_else(|| SocketAddr::new(dev.listen.ip(), agents_port));
    let agents = Some(AgentsConfig::new(agents));
    let (replica, lease_ttl_s) = ("dev".to_owned(), 10);
    let metal = metal(&fleet_db, &ports, authority.as_ref(), dev.instant).await?;
    let machines = (metal.iter().map(|(_, provider)| provider.clone()).collect(), patience(), MACHINES_EVERY);
    let recordings = Some(RecordingConfig::new(folder.join(CONSOLE)));
    let setup = Setup {
        db,
        ports: ports.clone(),
        replica,
        lease_ttl_s,
        http,
        authority,
        agents,
        gateway: GatewayConfig { recordings, ..GatewayConfig::default() },
        advertised: None,
        images: image_files(Some(folder.join("images")))?,
        sign_in: SignIn::default(),
        lab: false,
        machines,
        webhooks: Webhooks::on_this_machine(),
    };
    let running = Replica::start(setup).await?;
    let metal = metal.map(|(metal, _)| metal);
    let pace = if dev.instant {
        Pace { provision_ms: 0, stop_ms: 0, wipe_ms: 0, checkpoint_ms: None }
    } else {
        Pace::default()
    };
    let fleet = spawn_fleet_on(fleet_db, running.node_plane(), ports, &kept, pace, metal.as_ref())
        .map_err(|error| Failure::Local(format!("the simulated fleet could not start: {error}")))?;
    announce(&welcome(&running, &seeded, &folder))?;
    ending.asked().await;
    output::note("\nending; everything is kept");
    let work = async {
        let _ = tokio::task::spawn_blocking(move || fleet.stop()).await;
        running.stop().await;
    };
    ending.unless_asked_again(work).await;
    Ok(())
}

/// What is printed once everything is up: the address on the first line, tokens, and a session to copy.
fn welcome(running: &Replica, seeded: &DevSeed, folder: &Path) -> String {
    let url = &running.url();
    let mut lines = vec![url.clone(), String::new()];
    lines.extend(running.agents_url().map(|agents| format!("Agents of real hosts are let in at {agents}.")));
    lines.extend([format!("Kept in {}. Tokens:", folder.display()), String::new()]);
    for role in Role::ALL {
        if let Some(person) = seeded.in_role(*role) {
            let place = match (&person.tenant, &person.project) {
                (Some(tenant), Some(project)) => format!("{tenant}/{project}"),
                (Some(tenant), None) => tenant.clone(),
                _ => "the platform".to_owned(),
            };
            lines.push(format!("  {:<20} {}  {} of {place}", role.as_str(), person.secret, person.email));
        }
    }
    lines.extend(session(url, seeded));
    lines.join("\n")
}

/// A public key that opens nothing: nobody has its other half. What is simulated is not signed in to.
const DEMO_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIP0XJDhaoMdbZPt4zWAvodmR/ev3axPFjtcC6sg16fYY demo";

/// Commands that work as they stand, from another terminal.
fn session(url: &str, seeded: &DevSeed) -> Vec<String> {
    let (Some(member), Some(operator)) = (seeded.in_role(Role::ProjectMember), seeded.in_role(Role::PlatformOperator))
    else {
        return Vec::new();
    };
    let project =
        format!("{}/{}", member.tenant.as_deref().unwrap_or_default(), member.project.as_deref().unwrap_or_default());
    [
        String::new(),
        "Try, in another terminal:".to_owned(),
        String::new(),
        format!("  export GPUAAS_URL={url}"),
        format!("  export GPUAAS_TOKEN={}", member.secret),
        "  gpuaas whoami".to_owned(),
        "  gpuaas sku list".to_owned(),
        // The same wish once, however often the session is run.
        format!("  gpuaas ssh-key add demo --project {project} --key '{DEMO_KEY}' --idempotency-key demo"),
        format!("  gpuaas launch demo --project {project} --sku h200-sxm-slice --gpus 2 --region eu-north --yes -o json | tee launched.json"),
        format!("  gpuaas allocation list --project {project}"),
        "  gpuaas release $(grep -o 'alc_[0-9a-z]*' launched.json) --yes".to_owned(),
        format!("  gpuaas launch whole --project {project} --sku h200-sxm-baremetal --gpus 8 --region eu-north --yes"),
        format!("  export GPUAAS_TOKEN={}", operator.secret),
        "  gpuaas node list".to_owned(),
        "  gpuaas machine list".to_owned(),
        "  gpuaas event list --limit 20".to_owned(),
        "  gpuaas status".to_owned(),
        String::new(),
        format!("The API is described at {url}/openapi.json. Ctrl-C stops everything."),
    ]
    .to_vec()
}
