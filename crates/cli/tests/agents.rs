//! Twenty real agents and a real control plane, all as processes, with certificates at both ends: hosts are enrolled, looked
//! at, approved and sold; agents are killed and come back; copies, revoked ones and used tokens are refused and shown.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{
    Ran, gpuaas,
    plane::{Plane, operator_token, store_url},
    ran,
};
use serde_json::Value;
use sim::fleet::{DEV, HostPlan, Plan, PoolPlan};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const AGENTS: usize = 20;
/// How long anything may take that happens by itself.
const PATIENCE: Duration = Duration::from_secs(120);

/// Twenty hosts that differ in their serial numbers alone.
fn plans() -> Vec<HostPlan> {
    let pools: &'static [PoolPlan] =
        Box::leak(Box::new([PoolPlan { hosts: &[8; AGENTS], odd: &[], host_prefix: "host", ..DEV.pools[0] }]));
    Plan { pools, ..DEV }.hosts()
}

/// One agent as a process; ended with the test whatever happens.
struct AgentProcess {
    child: Child,
}

impl AgentProcess {
    fn start(world: &World<'_>, folder: &Path, root: &Path) -> Self {
        let binary = Path::new(env!("CARGO_BIN_EXE_gpuaas")).with_file_name("gpuaas-agent");
        assert!(binary.exists(), "{} is not built; run the tests of the whole workspace", binary.display());
        let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(binary).arg("run");
        command.args(["--server", &world.agents_url, "--authority-sha256", &world.authority_sha256]);
        command.arg("--token-file").arg(folder.join("token")).arg("--state-dir").arg(folder.join("state"));
        command.arg("--root").arg(root).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Self { child: command.spawn().unwrap() }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The control plane, and an operator at the command line.
struct World<'a> {
    home: &'a Path,
    plane: Plane,
    token: String,
    agents_url: String,
    authority_sha256: String,
}

impl<'a> World<'a> {
    fn start(home: &'a Path) -> Self {
        let authority = home.join("authority");
        let made = ran(gpuaas(home).args(["authority", "init"]).arg(&authority).args(["-o", "json"]).output().unwrap());
        assert_eq!(made.code, 0, "{}", made.stderr);
        let authority_sha256 = parsed(&made)["authority_sha256"].as_str().unwrap().to_owned();
        let token = operator_token(home);
        let (store, folder) = (store_url(home), authority.display().to_string());
        let words = ["serve", "--database", &store, "--listen", "127.0.0.1:0", "--log", "warn"];
        let more = ["--agents-listen", "127.0.0.1:0", "--authority", &folder];
        let mut plane = Plane::start(home, &[&words[..], &more[..]].concat());
        let agents_url = plane.line().strip_prefix("agents ").unwrap().to_owned();
        let world = Self { home, plane, token, agents_url, authority_sha256 };
        world.json(&["region", "create", "eu-1", "--name", "Europe"]);
        let pool = ["pool", "create", "h200", "--name", "H200", "--region", "eu-1", "--gpu-model", "h200-sxm"];
        world.json(&[&pool[..], &["--slices-enabled", "--private-range", "10.64.0.0/16"]].concat());
        world
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.plane.run(self.home, &self.token, words)
    }

    fn json(&self, words: &[&str]) -> Value {
        let ran = self.run(&[words, &["-o", "json"]].concat());
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        parsed(&ran)
    }

    /// Makes a one-time token for a host and leaves it in its folder.
    fn invite(&self, name: &str, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        let made = self.json(&["enrollment-token", "create", name, "--pool", "h200"]);
        assert_eq!(made["authority_sha256"], *self.authority_sha256);
        fs::write(folder.join("token"), made["secret"].as_str().unwrap()).unwrap();
    }

    /// Waits until something holds, and says what was seen last when it never does.
    fn until(&self, what: &str, words: &[&str], holds: impl Fn(&Value) -> bool) -> Value {
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

    /// The end of what every agent logged.
    fn logs(&self) -> String {
        let mut text = String::new();
        for entry in fs::read_dir(self.home).unwrap().flatten() {
            if let Ok(log) = fs::read_to_string(entry.path().join("log")) {
                let lines: Vec<&str> = log.lines().collect();
                text +=
                    &format!("{}:\n{}\n", entry.path().display(), lines[lines.len().saturating_sub(3)..].join("\n"));
            }
        }
        text
    }

    fn until_online(&self, boots: impl Fn(&str) -> i64) {
        self.until("all agents online", &["node", "list"], |nodes| {
            let nodes = items(nodes);
            let there = |node: &&Value| {
                node["execution"] == "online"
                    && node["agent_boot"].as_i64().unwrap() >= boots(node["name"].as_str().unwrap())
            };
            nodes.len() == AGENTS && nodes.iter().filter(there).count() == AGENTS
        });
    }

    fn until_incident(&self, node: &str, kind: &str) {
        self.until(kind, &["node", "incidents", node], |seen| items(seen).iter().any(|one| one["kind"] == kind));
    }
}

fn parsed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

fn items(list: &Value) -> Vec<Value> {
    list.as_array().or_else(|| list["items"].as_array()).cloned().unwrap_or_else(|| panic!("no list: {list}"))
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn twenty_agents_join_work_die_and_come_back() {
    let home = tempfile::tempdir().unwrap();
    let world = World::start(home.path());
    let hosts: Vec<(HostPlan, PathBuf)> =
        plans().into_iter().map(|plan| (plan.clone(), home.path().join(&plan.name))).collect();
    let mut agents = Vec::new();
    for (plan, folder) in &hosts {
        world.invite(&plan.name, folder);
        plan.write_to(&folder.join("root")).unwrap();
        agents.push(AgentProcess::start(&world, folder, &folder.join("root")));
    }
    world.until_online(|_| 1);
    bring_into_service(&world, "host-01");

    // Half of them die without a word and come back with the identity they have: the token is used up.
    let ids = items(&world.json(&["node", "list"])).iter().map(|node| node["id"].clone()).collect::<Vec<_>>();
    for (at, (_, folder)) in hosts.iter().enumerate().take(AGENTS / 2) {
        let reborn = AgentProcess::start(&world, &home.path().join(folder), &folder.join("root"));
        std::mem::replace(&mut agents[at], reborn).kill();
    }
    restart_those_that_met_their_predecessor(&world, &hosts, &mut agents);
    world.until_online(|name| if hosts[..AGENTS / 2].iter().any(|(plan, _)| plan.name == name) { 2 } else { 1 });
    let after = items(&world.json(&["node", "list"])).iter().map(|node| node["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids, after, "nobody became another node");

    refused_and_shown(&world, &hosts, &mut agents);
}

// The new process may find the state folder still locked by the one that is being killed.
fn restart_those_that_met_their_predecessor(
    world: &World<'_>,
    hosts: &[(HostPlan, PathBuf)],
    agents: &mut [AgentProcess],
) {
    for (at, (_, folder)) in hosts.iter().enumerate().take(AGENTS / 2) {
        if agents[at].ended() {
            agents[at] = AgentProcess::start(world, folder, &folder.join("root"));
        }
    }
}

/// Discovery, candidates, approval, promotion, and what a tenant sees of it.
fn bring_into_service(world: &World<'_>, node: &str) {
    assert_eq!(world.run(&["node", "discover", node, "--wait"]).code, 0);
    let found = world.json(&["node", "candidates", node]);
    let candidates = found["candidates"].as_array().cloned().unwrap_or_else(|| items(&found));
    assert_eq!(candidates.len(), 8);
    assert!(candidates.iter().all(|one| one["refusals"].as_array().is_some_and(Vec::is_empty)), "{found}");
    let approved = world.json(&["slot", "approve-complete", node]);
    assert_eq!(approved["approved"].as_array().map(Vec::len), Some(8), "{approved}");
    let refused = world.run(&["node", "promote", node]);
    assert!(refused.stderr.contains("gpuaas-profile-slice-vm"), "{}", refused.stderr);
    world.json(&["node", "update", node, "--tag", "gpuaas-profile-slice-vm"]);
    world.json(&["node", "promote", node]);
    let shown = world.json(&["node", "show", node]);
    assert_eq!(shown["posture"], "fully_available", "{shown}");
    let availability = world.run(&["availability"]);
    assert!(
        availability.stdout.contains("8 H200 available in eu-1, largest set on one node 8"),
        "{}",
        availability.stdout
    );
}

fn refused_and_shown(world: &World<'_>, hosts: &[(HostPlan, PathBuf)], agents: &mut [AgentProcess]) {
    // A copy of a disk in another machine: both agents cannot be the node.
    let (copied, twin) = (&hosts[AGENTS - 1], world.home.join("twin"));
    copy_folder(&copied.1.join("state"), &twin.join("state"));
    fs::write(twin.join("token"), "none").unwrap();
    let _twin = AgentProcess::start(world, &twin, &copied.1.join("root"));
    world.until_incident(&copied.0.name, "identity_shared");

    // A host that shows another's devices.
    let (liar, victim) = (&hosts[AGENTS - 2], &hosts[0]);
    let lying = AgentProcess::start(world, &liar.1, &victim.1.join("root"));
    std::mem::replace(&mut agents[AGENTS - 2], lying).kill();
    if agents[AGENTS - 2].ended() {
        agents[AGENTS - 2] = AgentProcess::start(world, &liar.1, &victim.1.join("root"));
    }
    world.until("the liar is back", &["node", "show", &liar.0.name], |node| node["agent_boot"].as_i64() >= Some(2));
    assert_ne!(world.run(&["node", "discover", &liar.0.name, "--wait"]).code, 0);
    world.until_incident(&liar.0.name, "claimed_foreign_device");

    // A revoked identity.
    let revoked = &hosts[AGENTS - 3].0.name;
    world.json(&["node", "revoke-identity", revoked, "--reason", "stolen", "--yes"]);
    world.until_incident(revoked, "revoked_identity");

    // A token that was used before.
    let late = world.home.join("late");
    fs::create_dir_all(&late).unwrap();
    fs::copy(hosts[0].1.join("token"), late.join("token")).unwrap();
    let mut late_agent = AgentProcess::start(world, &late, &hosts[0].1.join("root"));
    let begun = Instant::now();
    while !fs::read_to_string(late.join("log")).unwrap_or_default().contains("enrollment_refused")
        && !late_agent.ended()
    {
        assert!(begun.elapsed() < PATIENCE, "{}", fs::read_to_string(late.join("log")).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(items(&world.json(&["node", "list"])).len(), AGENTS, "no host came in by a used token");
}
