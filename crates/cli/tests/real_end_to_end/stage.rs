//! The stage of the end-to-end test: a host in a box with its root process and its agent, a control plane beside it, and
//! people at their command lines. The agent runs as nobody, without a single right.

use super::common::{
    Ran, gpuaas,
    plane::{Plane, operator_token, store_url},
    ran,
};
use hostbox::World;
use serde_json::Value;
use std::{
    fs::{self, File},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How long anything may take that happens by itself. Guests run in software here, on a machine that does other things.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// The user that the agent is.
const AGENT_USER: &str = "nobody";
const AGENT_UID: u32 = 65534;
/// Slots of the host.
pub const SLOTS: usize = 3;
pub const DISK_BYTES: u64 = 384 << 20;

/// Disks are overwritten, which takes long enough to be cut off and touches every byte of the medium.
const OVERWRITE: (&str, &str) = (
    "ready = ",
    "wipe = { methods = [{ method = \"overwrite\" }], format_s_max = 60, \
     sanitize = { total_s_max = 60, still_s_max = 60, look_every_ms = 1000 }, \
     verify = { whole_s_max = 600, sample_count = 4096, sample_bytes = 1048576 } }\nready = ",
);

/// A process that ends with its value.
pub struct Process(Child);

impl Process {
    fn start(command: &mut Command, log: &Path) -> Self {
        let log = File::options().create(true).append(true).open(log).unwrap();
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Everything.
pub struct Stage<'a> {
    pub world: &'a World,
    pub plane: Plane,
    pub operator: String,
    pub disks: Vec<(String, PathBuf)>,
    agents_url: String,
    authority_sha256: String,
    hostd: Option<Process>,
    agent: Option<Process>,
    libvirt: Option<Process>,
}

impl<'a> Stage<'a> {
    /// A control plane, a host that has joined it, and slots that were approved.
    pub fn open(world: &'a World) -> Self {
        let home = world.path("plane");
        fs::create_dir_all(&home).unwrap();
        let authority = home.join("authority");
        let made =
            ran(gpuaas(&home).args(["authority", "init"]).arg(&authority).args(["-o", "json"]).output().unwrap());
        assert_eq!(made.code, 0, "{}", made.stderr);
        let authority_sha256 = parsed(&made)["authority_sha256"].as_str().unwrap().to_owned();
        let operator = operator_token(&home);
        let (store, folder) = (store_url(&home), authority.display().to_string());
        let words = ["serve", "--lab", "--database", &store, "--listen", "127.0.0.1:0", "--log", "info"];
        let more = ["--agents-listen", "127.0.0.1:0", "--authority", &folder];
        let log = File::create(world.path("plane.log")).unwrap();
        let mut plane = Plane::start_logging(gpuaas(&home), &[&words[..], &more[..]].concat(), log.into());
        let agents_url = plane.line().strip_prefix("agents ").unwrap().to_owned();
        let medium = world.path("medium");
        fs::create_dir(&medium).unwrap();
        world.inside(&["mount", "-t", "tmpfs", "tmpfs", medium.to_str().unwrap()]);
        let disks = (0..SLOTS).map(|number| world.disk(&format!("medium/disk{number}.img"), DISK_BYTES)).collect();
        Self { world, plane, operator, disks, agents_url, authority_sha256, hostd: None, agent: None, libvirt: None }
    }

    pub fn home(&self) -> PathBuf {
        self.world.path("plane")
    }

    /// Somebody at the command line.
    pub fn run_as(&self, token: &str, words: &[&str]) -> Ran {
        self.plane.run(&self.home(), token, words)
    }

    pub fn json_as(&self, token: &str, words: &[&str]) -> Value {
        let ran = self.run_as(token, &[words, &["-o", "json"]].concat());
        assert_eq!(ran.code, 0, "{words:?}: {}\n{}", ran.stderr, self.logs());
        parsed(&ran)
    }

    pub fn json(&self, words: &[&str]) -> Value {
        self.json_as(&self.operator, words)
    }

    /// Waits until something holds, and says what was seen last when it never does.
    pub fn until(&self, what: &str, words: &[&str], holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let seen = self.json(words);
            if holds(&seen) {
                return seen;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} never came true: {seen}\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The end of what everybody logged.
    pub fn logs(&self) -> String {
        let end = |name: &str| {
            let text = fs::read_to_string(self.world.path(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("{name}:\n{}\n", lines[lines.len().saturating_sub(25)..].join("\n"))
        };
        ["plane.log", "hostd.log", "agent.log"].map(end).concat()
    }

    fn binary(name: &str) -> PathBuf {
        let binary = Path::new(env!("CARGO_BIN_EXE_gpuaas")).with_file_name(name);
        assert!(binary.exists(), "{} is not built; run the tests of the whole workspace", binary.display());
        binary
    }

    /// Starts the root process.
    pub fn hostd_start(&mut self, image_key: &(String, String)) {
        let (user, key) =
            (format!("agent_user = \"{AGENT_USER}\""), format!("{{ {} = \"{}\" }}", image_key.0, image_key.1));
        let known = format!("{{ {} = \"{}\" }}", hostbox::KEY_ID, hostbox::key_hex());
        self.world.hostd_config(&[OVERWRITE, ("agent_user = \"root\"", &user), (&known, &key)]);
        self.hostd_again();
    }

    pub fn hostd_again(&mut self) {
        let mut command = Command::new(Self::binary("gpuaas-hostd"));
        command.args(["run", "--lab", "--config"]).arg(self.world.path("hostd.toml"));
        self.hostd = Some(Process::start(&mut command, &self.world.path("hostd.log")));
        let socket = self.socket();
        hostbox::until("the root process listens", || socket.exists().then_some(()));
    }

    pub fn hostd_kill(&mut self) {
        self.hostd.take().unwrap().kill();
        let _ = fs::remove_file(self.socket());
    }

    /// From now on the medium under the disks takes no byte that is not there yet: writing such a place is an I/O error.
    pub fn medium_is_full(&self) {
        let medium = self.world.path("medium");
        let used = self.world.inside(&["df", "--output=used", "-B1", medium.to_str().unwrap()]);
        let used = used.lines().last().unwrap().trim();
        self.world.inside(&["mount", "-o", &format!("remount,size={used}"), medium.to_str().unwrap()]);
    }

    /// The hypervisor's process dies without a word and comes back, as its service manager would have it.
    pub fn libvirt_dies(&mut self) {
        let file = self.world.path("libvirtd.pid");
        let pid = fs::read_to_string(&file).unwrap().trim().to_owned();
        self.world.inside(&["kill", "-KILL", &pid]);
        hostbox::until("libvirt is gone", || hostbox::has_ended(&pid).then_some(()));
        let mut command = Command::new("libvirtd");
        command.args(["--config", "/etc/libvirt/libvirtd.conf", "--pid-file"]).arg(&file);
        self.libvirt = Some(Process::start(&mut command, &self.world.path("libvirtd.err")));
        hostbox::until("libvirt answers", || {
            self.world.try_inside(&["virsh", "-c", "qemu:///system", "list"]).status.success().then_some(())
        });
    }

    fn socket(&self) -> PathBuf {
        self.world.socket()
    }

    /// Starts the agent, as somebody who may do nothing.
    pub fn agent_start(&mut self) {
        let state = self.world.path("agent-state");
        if !state.exists() {
            fs::create_dir(&state).unwrap();
            fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
            chown(&state, Some(AGENT_UID), Some(AGENT_UID)).unwrap();
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid", AGENT_USER, "--regid", "nogroup", "--clear-groups", "--bounding-set", "-all"]);
        command.args(["--inh-caps", "-all", "--ambient-caps", "-all", "--no-new-privs", "--"]);
        command.arg(Self::binary("gpuaas-agent")).args(["run", "--lab", "--server", &self.agents_url]);
        command.args(["--authority-sha256", &self.authority_sha256, "--log", "info"]);
        command.arg("--token-file").arg(self.world.path("token")).arg("--state-dir").arg(&state);
        command.arg("--hostd-socket").arg(self.socket()).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        self.agent = Some(Process::start(&mut command, &self.world.path("agent.log")));
    }

    pub fn agent_pid(&self) -> u32 {
        self.agent.as_ref().unwrap().pid()
    }

    /// The agent dies without a word and comes back.
    pub fn agent_dies(&mut self) {
        self.agent.take().unwrap().kill();
        self.agent_start();
    }

    /// A one-time token for the host.
    pub fn invite(&self) {
        let made = self.json(&["enrollment-token", "create", "lab-1", "--pool", "lab"]);
        fs::write(self.world.path("token"), made["secret"].as_str().unwrap()).unwrap();
        chown(self.world.path("token"), Some(AGENT_UID), Some(AGENT_UID)).unwrap();
        fs::set_permissions(self.world.path("token"), fs::Permissions::from_mode(0o400)).unwrap();
    }
}

pub fn parsed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", ran.stdout, ran.stderr))
}

pub fn items(list: &Value) -> Vec<Value> {
    list.as_array().or_else(|| list["items"].as_array()).cloned().unwrap_or_else(|| panic!("no list: {list}"))
}
