//! A host in a box with its root process and its agent, and a control plane beside them, all as they ship: the release
//! programs, each in a process of its own, the agent without a single right.

use crate::server::{self, Server};
use hostbox::{Running, World};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Slots of the host.
pub const SLOTS: u64 = 2;
const DISK_BYTES: u64 = 160 << 20;
const AGENT_USER: &str = "nobody";
const AGENT_UID: u32 = 65534;
const PATIENCE: Duration = Duration::from_secs(300);

/// Everything, ready to launch on.
pub struct Stage<'a> {
    pub world: &'a World,
    pub server: Server,
    pub token: String,
    pub agent: Running,
    pub hostd: Running,
    /// Where to launch, and the body of a launch.
    pub launch_path: String,
    pub launch_body: Value,
    slots_path: String,
    asks: AtomicU64,
}

/// The programs that run on a host.
pub fn programs() -> [PathBuf; 2] {
    ["gpuaas-agent", "gpuaas-hostd"].map(|name| server::binary().with_file_name(name))
}

impl<'a> Stage<'a> {
    /// Starts it all, with one host in service.
    pub fn open(world: &'a World) -> Result<Self, String> {
        let home = world.path("plane");
        fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let authority = home.join("authority").display().to_string();
        let people = People { home: home.clone(), url: String::new(), token: String::new() };
        let made = people.json(&["authority", "init", &authority])?;
        let authority_sha256 = text(&made, "authority_sha256")?;
        let store = format!("sqlite:{}", home.join("store.db").display());
        let token = server::bootstrap(&store)?;
        let words = ["serve", "--lab", "--database", &store, "--listen", "127.0.0.1:0", "--agents-listen"];
        let server = Server::start(&[&words[..], &["127.0.0.1:0", "--authority", &authority]].concat())?;
        let people = People { home, url: format!("http://{}", server.address), token: token.clone() };
        let disks: Vec<String> =
            (0..SLOTS).map(|number| world.disk(&format!("disk{number}.img"), DISK_BYTES).0).collect();
        let agents = server.agents.clone().ok_or("the server names no place for agents")?;
        let (key_id, key) = images(world, &people)?;
        let sold = catalogue(&people)?;
        let hostd = hostd_start(world, &key_id, &key);
        let invited = people.json(&["enrollment-token", "create", "lab-1", "--pool", "lab"])?;
        let agent = agent_start(world, &agents, &authority_sha256, &text(&invited, "secret")?)?;
        let slots_path = format!("/api/v1/admin/nodes/{}/resource-slots", into_service(&people, &disks)?);
        let (launch_path, launch_body) = tenant(world, &people, sold)?;
        Ok(Self { world, server, token, agent, hostd, launch_path, launch_body, slots_path, asks: AtomicU64::new(0) })
    }

    /// What the root process has logged so far.
    pub fn hostd_log(&self) -> Result<String, String> {
        fs::read_to_string(self.world.path("hostd.err")).map_err(|error| error.to_string())
    }

    /// Asks the control plane over HTTP: the verb and the path, and a body. Whatever is asked can be asked once.
    pub fn ask(&self, what: &str, body: &str) -> Result<Value, String> {
        let number = self.asks.fetch_add(1, Ordering::Relaxed);
        let headers = format!(
            "Authorization: Bearer {}\r\nContent-Type: application/json\r\nIdempotency-Key: \"bench-{number}\"\r\n",
            self.token
        );
        let answer = server::ask(&self.server.address, what, &headers, body);
        let (status, said) = answer.ok_or_else(|| format!("{what}: no answer"))?;
        if status >= 300 {
            return Err(format!("{what}: {status} {said}"));
        }
        serde_json::from_str(&said).map_err(|error| format!("{what}: {error} in {said}"))
    }
}

impl Stage<'_> {
    /// Waits until every slot can be had.
    pub fn until_free(&self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let seen = self.ask(&format!("GET {}", self.slots_path), "")?;
            let free = |slot: &Value| slot["execution"] == "available";
            if seen["items"].as_array().is_some_and(|slots| slots.iter().all(free)) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("the slots are not free: {seen}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Somebody at the command line.
struct People {
    home: PathBuf,
    url: String,
    token: String,
}

impl People {
    fn json(&self, words: &[&str]) -> Result<Value, String> {
        let said = self.said(&[words, &["-o", "json"]].concat())?;
        serde_json::from_str(&said).map_err(|error| format!("{words:?}: {error} in {said}"))
    }

    fn said(&self, words: &[&str]) -> Result<String, String> {
        let done = Command::new(server::binary())
            .args(words)
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join("config"))
            .env("GPUAAS_URL", &self.url)
            .env("GPUAAS_TOKEN", &self.token)
            .output()
            .map_err(|error| error.to_string())?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        Err(format!("{words:?}: {}", String::from_utf8_lossy(&done.stderr)))
    }

    fn line(&self, line: &str) -> Result<Value, String> {
        self.json(&line.split(' ').collect::<Vec<_>>())
    }

    fn until(&self, what: &str, line: &str, holds: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let begun = Instant::now();
        loop {
            let seen = self.line(line)?;
            if holds(&seen) {
                return Ok(seen);
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("{what} never came true: {seen}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn text(value: &Value, name: &str) -> Result<String, String> {
    value[name].as_str().map(str::to_owned).ok_or_else(|| format!("no {name} in {value}"))
}

// A signed image in the catalogue; the key that signed it.
fn images(world: &World, people: &People) -> Result<(String, String), String> {
    let at = |name: &str| world.path(name).display().to_string();
    let (key, entry, image) = (at("images.key"), at("tiny.json"), hostbox::tiny_image().display().to_string());
    let public = text(&people.json(&["image", "keygen", &key, "--key-id", "bench"])?, "public_key")?;
    people.json(&["image", "key", "add", "bench", &public])?;
    let signed = people.said(&["image", "sign", &image, "--id", "tiny", "--kind", "base", "--key", &key])?;
    fs::write(&entry, signed).map_err(|error| error.to_string())?;
    people.json(&["image", "add", &entry])?;
    people.json(&["image", "upload", "tiny", &image])?;
    people.json(&["image", "default", "tiny"])?;
    Ok(("bench".to_owned(), public))
}

// What is sold; the numbers of region and SKU.
fn catalogue(people: &People) -> Result<(String, String), String> {
    let region = people.line("region create eu-1 --name Europe")?;
    let profile = "slot-profile create lab-vm --name Laboratory --gpu-model lab --vcpus 1 --memory-mib 192";
    people.line(&format!("{profile} --min-disk-bytes 100000000"))?;
    let pool = "pool create lab --name Laboratory --region eu-1 --gpu-model lab --slices-enabled";
    people.line(&format!("{pool} --private-range 10.77.0.128/25"))?;
    let sku = "sku create lab-vm --name Laboratory --shape gpu_slice --gpu-model lab --gpu-counts 1";
    let sku = people.line(&format!("{sku} --slot-profile lab-vm --price-micros-per-gpu-hour 0"))?;
    Ok((text(&region, "id")?, text(&sku, "id")?))
}

fn hostd_start(world: &World, key_id: &str, key: &str) -> Running {
    let (user, key) = (format!("agent_user = \"{AGENT_USER}\""), format!("{{ {key_id} = \"{key}\" }}"));
    let known = format!("{{ {} = \"{}\" }}", hostbox::KEY_ID, hostbox::key_hex());
    let config = world.hostd_config(&[("agent_user = \"root\"", &user), (&known, &key)]);
    let [_, hostd] = programs();
    let mut command = Command::new(hostd);
    // The log tells every program that ran, and for how long.
    command.args(["run", "--lab", "--config"]).arg(config).env("GPUAAS_HOSTD_LOG", "info,command=debug,hostd=debug");
    let hostd = world.start("hostd", &mut command);
    let socket = world.socket();
    hostbox::until("the root process listens", || socket.exists().then_some(()));
    hostd
}

fn agent_start(world: &World, agents: &str, authority_sha256: &str, token: &str) -> Result<Running, String> {
    let (state, token_file) = (world.path("agent-state"), world.path("token"));
    let own = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        chown(path, Some(AGENT_UID), Some(AGENT_UID))
    };
    let made = fs::create_dir(&state)
        .and_then(|()| own(&state, 0o700))
        .and_then(|()| fs::write(&token_file, token))
        .and_then(|()| own(&token_file, 0o400));
    made.map_err(|error| error.to_string())?;
    // Where it can be read by one who has no rights; whoever builds may have closed his folders.
    let [agent, _] = programs();
    let program = world.path("gpuaas-agent");
    fs::copy(agent, &program).map_err(|error| error.to_string())?;
    let mut command = Command::new("setpriv");
    command.args(["--reuid", AGENT_USER, "--regid", "nogroup", "--clear-groups", "--bounding-set", "-all"]);
    command.args(["--inh-caps", "-all", "--ambient-caps", "-all", "--no-new-privs", "--"]).arg(program);
    command.args(["run", "--lab", "--server", &format!("https://{agents}"), "--authority-sha256", authority_sha256]);
    command.arg("--token-file").arg(token_file).arg("--state-dir").arg(state);
    command.arg("--hostd-socket").arg(world.socket()).env_clear().env("PATH", command::PATH);
    Ok(world.start("agent", &mut command))
}

// The host's number, once its slots can be had.
fn into_service(people: &People, disks: &[String]) -> Result<String, String> {
    let online = |node: &Value| node["execution"] == "online";
    people.until("the host is online", "node list", |nodes| {
        nodes.as_array().or(nodes["items"].as_array()).is_some_and(|nodes| nodes.iter().any(online))
    })?;
    people.line("node discover lab-1 --wait")?;
    // One by one: loop devices are in no name space, and those of others are seen here too.
    for (number, disk) in (140..).zip(disks) {
        let (mac, ip) = (format!("02:00:00:00:2a:{number:02x}"), format!("10.77.0.{number}"));
        let words = ["slot", "approve", "lab-1", "--disk", disk, "--mac", &mac, "--ip", &ip, "--fabric-mode", "none"];
        people.json(&words)?;
    }
    people.line("node update lab-1 --tag gpuaas-profile-slice-vm")?;
    text(&people.line("node promote lab-1")?, "id")
}

// Somebody to launch for.
fn tenant(world: &World, people: &People, (region, sku): (String, String)) -> Result<(String, Value), String> {
    people.line("tenant create aurora --name aurora")?;
    let project = people.line("project create lab --tenant aurora --name Lab --gpu-cap 8")?;
    world.user_key();
    let file = world.path("user.pub").display().to_string();
    let key = people.json(&["ssh-key", "add", "laptop", "--project", "aurora/lab", "--file", &file])?;
    let body = serde_json::json!({
        "name": "bench", "sku_id": sku, "region_id": region, "gpu_count": 1, "ssh_key_ids": [text(&key, "id")?],
    });
    Ok((format!("/api/v1/projects/{}/allocations", text(&project, "id")?), body))
}
