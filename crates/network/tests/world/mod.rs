//! A host in a box: network namespaces for the host, the world outside and each guest, and an Open vSwitch of its own in a
//! temporary folder. Nothing of the machine's own network or switch is touched, and all of it is ended and removed at the end,
//! also when a test fails.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::{
    fs,
    io::Write,
    net::Ipv4Addr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use model::{AllocationId, Timestamp};
use network::{Attach, Datapath, GuestPort, HostNetwork, Mac, Policy, Seen, Tools};

pub const WORLD_IP: &str = "203.0.113.2";
pub const PRIVATE_IP: &str = "192.168.50.2";
const NEEDED: [&str; 13] = [
    "ip",
    "ovs-vsctl",
    "ovs-ofctl",
    "ovsdb-server",
    "ovsdb-tool",
    "ovs-vswitchd",
    "dnsmasq",
    "nft",
    "ethtool",
    "conntrack",
    "busybox",
    "nc",
    "ovs-appctl",
];

static NUMBER: AtomicU32 = AtomicU32::new(0);

pub struct World {
    pub host: HostNetwork,
    folder: tempfile::TempDir,
    tag: String,
    namespaces: Vec<String>,
    servers: Vec<Child>,
}

/// A world, or the reason why there is none. With GPUAAS_REAL=require a missing part is a failure.
pub fn world(test: &str) -> Option<World> {
    let reason = match NEEDED.iter().find(|name| command::find(name).is_err()) {
        Some(name) => format!("{name} is not installed"),
        None if !rustix::process::geteuid().is_root() => "it needs root".to_owned(),
        None if !try_run(&["ip", "netns", "list"]).status.success() => "network namespaces do not work".to_owned(),
        None => return Some(World::new()),
    };
    assert!(std::env::var("GPUAAS_REAL").as_deref() != Ok("require"), "{test} cannot run: {reason}");
    eprintln!("SKIPPED {test}: {reason}");
    None
}

fn program(words: &[&str]) -> Command {
    let mut command = Command::new(command::find(words[0]).unwrap_or_else(|_| PathBuf::from(words[0])));
    command.args(&words[1..]).stdin(Stdio::null()).env_clear().env("PATH", command::PATH);
    command
}

fn try_run(words: &[&str]) -> Output {
    program(words).output().unwrap()
}

pub fn run(words: &[&str]) -> String {
    let out = try_run(words);
    let (said, beside) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{words:?}: {said} {beside}");
    said.into_owned()
}

pub fn wait_for(what: &str, so: impl Fn() -> bool) {
    let late = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < late, "{what} did not come");
        thread::sleep(Duration::from_millis(10));
    }
}

pub fn guest(number: u8) -> GuestPort {
    GuestPort {
        allocation_id: AllocationId::from_parts(Timestamp::from_micros(1_000_000), [number; 10]),
        use_generation: 3,
        mac: Mac::new([2, 0, 0, 0, 1, number]),
        ip: Ipv4Addr::new(10, 77, 0, number),
        interface_id: format!("00000000-0000-4000-8000-0000000000{number:02x}"),
        attach: Attach::Network,
    }
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let tag = format!("{}x{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let at = |name: &str| folder.path().join(name);
        let host = HostNetwork {
            bridge: "br-gpu".into(),
            datapath: Datapath::Netdev,
            subnet: "10.77.0.0/24".parse().unwrap(),
            gateway_ip: Ipv4Addr::new(10, 77, 0, 1),
            gateway_mac: "02:00:00:00:00:01".parse().unwrap(),
            dns: vec![],
            uplink: "up0".into(),
            namespace: Some(format!("h{tag}")),
            dhcp_dir: at("dhcp"),
            lease_s: 3600,
            nft_table: "gpuaas".into(),
            policy: Policy::default(),
            tools: Tools { ovs_database: at("db.sock"), ovs_run_dir: folder.path().into(), ..Tools::default() },
        };
        let mut world = Self { host, folder, tag, namespaces: vec![], servers: vec![] };
        world.links_make();
        world.switch_start();
        world
    }

    fn links_make(&mut self) {
        self.namespace_add("h");
        self.namespace_add("w");
        let (host, outside) = (self.namespace("h"), self.namespace("w"));
        let peer = ["type", "veth", "peer", "name", "up1", "netns", &outside];
        run(&[&["ip", "-n", &host, "link", "add", "up0"][..], &peer[..]].concat());
        run(&["ip", "-n", &host, "addr", "add", "203.0.113.1/24", "dev", "up0"]);
        run(&["ip", "-n", &host, "link", "set", "up0", "up"]);
        run(&["ip", "-n", &outside, "addr", "add", "203.0.113.2/24", "dev", "up1"]);
        run(&["ip", "-n", &outside, "addr", "add", "192.168.50.2/32", "dev", "lo"]);
        run(&["ip", "-n", &outside, "link", "set", "up1", "up"]);
        run(&["ip", "-n", &host, "route", "add", "192.168.50.0/24", "via", WORLD_IP]);
        for number in [7, 8] {
            self.guest_link_make(number);
        }
    }

    fn guest_link_make(&mut self, number: u8) {
        let key = format!("g{number}");
        self.namespace_add(&key);
        let (host, inside, port) = (self.namespace("h"), self.namespace(&key), guest(number).port_name());
        let peer = ["type", "veth", "peer", "name", "eth0", "netns", &inside];
        run(&[&["ip", "-n", &host, "link", "add", &port][..], &peer[..]].concat());
        run(&["ip", "-n", &inside, "link", "set", "eth0", "address", &guest(number).mac.to_string()]);
        // A switch in user space sees packets before their sums are filled in.
        self.inside("h", &["ethtool", "-K", &port, "tx", "off"]);
        self.inside(&key, &["ethtool", "-K", "eth0", "tx", "off"]);
        run(&["ip", "-n", &host, "link", "set", &port, "up"]);
        run(&["ip", "-n", &inside, "link", "set", "eth0", "up"]);
    }

    fn namespace_add(&mut self, key: &str) {
        let name = self.namespace(key);
        run(&["ip", "netns", "add", &name]);
        run(&["ip", "-n", &name, "link", "set", "lo", "up"]);
        self.namespaces.push(name);
    }

    pub fn namespace(&self, key: &str) -> String {
        format!("{key}{}", self.tag)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn text_of(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub fn try_inside(&self, key: &str, words: &[&str]) -> Output {
        try_run(&[&["ip", "netns", "exec", &self.namespace(key)], words].concat())
    }

    pub fn inside(&self, key: &str, words: &[&str]) -> String {
        run(&[&["ip", "netns", "exec", &self.namespace(key)], words].concat())
    }

    /// The database with the switch.
    pub fn switch_start(&self) {
        let (database, schema) = (self.text_of("conf.db"), "/usr/share/openvswitch/vswitch.ovsschema");
        if !Path::new(&database).exists() {
            run(&["ovsdb-tool", "create", &database, schema]);
        }
        let remote = format!("--remote=punix:{}", self.text_of("db.sock"));
        self.daemon(&["ovsdb-server", &database, &remote], "db");
        run(&["ovs-vsctl", &format!("--db=unix:{}", self.text_of("db.sock")), "--no-wait", "init"]);
        let database = format!("unix:{}", self.text_of("db.sock"));
        self.daemon(&["ip", "netns", "exec", &self.namespace("h"), "ovs-vswitchd", &database], "switch");
    }

    fn daemon(&self, words: &[&str], name: &str) {
        let (pid, log) = (self.text_of(&format!("{name}.pid")), self.text_of(&format!("{name}.log")));
        let mut start = program(words);
        start.arg(format!("--pidfile={pid}")).arg(format!("--log-file={log}")).args([
            "--detach",
            "--no-chdir",
            "-vconsole:off",
        ]);
        let started = start.env("OVS_RUNDIR", self.folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(started.unwrap().success(), "{name}: {:?}", fs::read_to_string(log));
    }

    pub fn switch_stop(&self) {
        for name in ["switch.pid", "db.pid"] {
            end(&self.path(name));
        }
    }

    /// Serves a file over HTTP on port 8080, in the background.
    pub fn serve(&mut self, key: &str) {
        let folder = self.path("www");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), vec![b'x'; 300_000]).unwrap();
        self.background(key, &["busybox", "httpd", "-f", "-p", "8080", "-h", &folder.display().to_string()]);
        wait_for("the server", || self.fetches(key, "127.0.0.1"));
    }

    pub fn background(&mut self, key: &str, words: &[&str]) {
        let namespace = self.namespace(key);
        let all = [&["ip", "netns", "exec", &namespace], words].concat();
        self.servers.push(program(&all).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    /// Whether the whole file comes over TCP.
    pub fn fetches(&self, key: &str, ip: &str) -> bool {
        let namespace = self.namespace(key);
        let mut ask = program(&["ip", "netns", "exec", &namespace, "nc", "-w", "3", ip, "8080"]);
        let mut child = ask.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // One that could not connect has gone already and does not listen.
        let _ = child.stdin.take().unwrap().write_all(b"GET /file HTTP/1.0\r\n\r\n");
        let got = child.wait_with_output().unwrap().stdout;
        got.starts_with(b"HTTP/1.1 200") && got.iter().rev().take_while(|byte| **byte == b'x').count() == 300_000
    }

    /// Asks for an address as a guest does, takes what it is given, and answers it.
    pub fn lease(&self, number: u8) -> Option<String> {
        let script = self.path("lease.sh");
        let text = "#!/bin/sh\n[ \"$1\" = bound ] || exit 0\nip addr replace $ip/$mask dev $interface\n\
                    ip route replace default via $router\n";
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let (key, script) = (format!("g{number}"), script.display().to_string());
        let ask = ["busybox", "udhcpc", "-i", "eth0", "-n", "-q", "-f", "-t", "4", "-T", "1", "-s", &script];
        let asked = self.try_inside(&key, &ask);
        asked.status.success().then(|| {
            let shown = self.inside(&key, &["ip", "-4", "-o", "addr", "show", "dev", "eth0"]);
            shown.split_whitespace().skip_while(|word| *word != "inet").nth(1).unwrap().to_owned()
        })
    }

    /// Makes it so for these guests, and answers what is there then.
    pub fn settle(&self, guests: &[GuestPort]) -> Seen {
        let wanted = network::desired(&self.host, guests).unwrap();
        network::apply(&self.host, &network::diff(&wanted, &network::see(&self.host).unwrap())).unwrap();
        let seen = network::see(&self.host).unwrap();
        assert_eq!(network::diff(&wanted, &seen), [], "nothing is left to do");
        seen
    }

    /// How many packets a guest's rules of this priority have taken.
    pub fn packets(&self, number: u8, priority: u16) -> u64 {
        // The switch counts in the fast path first; this waits until the rules have been told.
        let pid = fs::read_to_string(self.path("switch.pid")).unwrap();
        let control = self.text_of(&format!("ovs-vswitchd.{}.ctl", pid.trim()));
        run(&["ovs-appctl", "-t", &control, "revalidator/wait"]);
        let counts = network::flow_counts(&self.host).unwrap();
        let (cookie, port) = (guest(number).cookie(), guest(number).port_name());
        let own = counts.iter().filter(|count| {
            let flow = &count.flow;
            (flow.cookie, flow.priority) == (cookie, priority) && flow.fields.get("in_port") == Some(&port)
        });
        own.map(|count| count.packets).sum()
    }
}

// Ends the process that a file names and waits for it. A process that is gone but not yet collected counts as gone.
fn end(pid_file: &Path) {
    let Ok(pid) = fs::read_to_string(pid_file) else { return };
    let pid = pid.trim().to_owned();
    let gone = || {
        let state = fs::read_to_string(format!("/proc/{pid}/stat"));
        state.map_or(true, |state| state.rsplit(')').next().unwrap_or("Z").trim().starts_with('Z'))
    };
    for signal in ["-TERM", "-KILL"] {
        let _ = try_run(&["kill", signal, &pid]);
        let late = Instant::now() + Duration::from_secs(10);
        while !gone() && Instant::now() < late {
            thread::sleep(Duration::from_millis(10));
        }
    }
    let _ = fs::remove_file(pid_file);
}

impl Drop for World {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = network::dhcp_stop(&self.host);
        self.switch_stop();
        for name in &self.namespaces {
            let _ = try_run(&["ip", "netns", "del", name]);
        }
    }
}
