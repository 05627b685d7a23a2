//! The program itself, as a process, against a small control plane over real mutual TLS: it joins, works, is killed at bad
//! moments and comes back, is refused and is let in again.
#![allow(clippy::unwrap_used)]

mod small_control;
mod world;

use agent::real::root::write_directory;
use api::node_plane::{MESSAGES_PATH, TaskReport, ToControl};
use model::{
    TaskId, Timestamp,
    task::{Fence, Task, TaskFailure, TaskInput},
};
use small_control::{PATIENCE, SmallControl, node_id};
use std::{
    fs,
    io::Read,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use topology::{
    Tree, discover,
    simulated::{HostSpec, trees::hgx_h200},
};

const AGENT: &str = env!("CARGO_BIN_EXE_gpuaas-agent");

/// A host with a captured tree, a token file and a state directory.
struct TestHost {
    folder: TempDir,
}

impl TestHost {
    fn new(token: &str) -> Self {
        let host = Self { folder: tempfile::tempdir().unwrap() };
        write_directory(&tree(), &host.path("root")).unwrap();
        host.token(token);
        host
    }
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
    fn token(&self, token: &str) {
        fs::write(self.path("token.new"), format!("{token}\n")).unwrap();
        fs::rename(self.path("token.new"), self.path("token")).unwrap();
    }
    fn command(&self, control: &SmallControl, command: &str) -> Command {
        let mut agent = Command::new(AGENT);
        agent
            .arg(command)
            .args(["--server", &control.url(), "--authority-sha256", &control.authority_sha256()])
            .arg("--token-file")
            .arg(self.path("token"))
            .arg("--state-dir")
            .arg(self.path("state"))
            .arg("--root")
            .arg(self.path("root"))
            .env_remove("JOURNAL_STREAM")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        agent
    }
    fn run(&self, control: &SmallControl) -> Running {
        Running(self.command(control, "run").stderr(Stdio::null()).spawn().unwrap())
    }
}

/// A process that does not outlive its test.
struct Running(Child);

impl Running {
    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap().success());
    }
    fn ended(&mut self) -> ExitStatus {
        until(|| self.0.try_wait().unwrap())
    }
    fn killed(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tree() -> Tree {
    hgx_h200(&HostSpec { number: 7, name: "host-7".to_owned(), gpus: 8 })
}

fn look(n: u8, attempt: i64) -> Task {
    Task {
        id: TaskId::from_parts(Timestamp::from_micros(i64::from(n) * 1000), [n; 10]),
        node_id: node_id(),
        input: TaskInput::SliceTopologyDiscover {},
        fence: Fence { incarnation: 1, generation: 0, attempt },
        deadline: Timestamp::from_micros(i64::MAX),
    }
}

fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let late = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < late, "waited for ever");
        thread::sleep(Duration::from_millis(5));
    }
}

fn text(stream: Option<impl Read>) -> String {
    let mut text = String::new();
    stream.unwrap().read_to_string(&mut text).unwrap();
    text
}

fn boots(said: &[ToControl]) -> Option<i64> {
    said.iter().find_map(|message| match message {
        ToControl::Heartbeat(beat) => Some(beat.boot),
        _ => None,
    })
}

#[test]
fn it_trades_its_token_says_what_the_host_has_and_ends_on_sigterm() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| mind.tokens.push("gpe_one".to_owned()));
    let mut agent = host.run(&control);
    let order = look(1, 1);
    control.until("a poll", |mind| mind.calls.iter().find(|call| call.path == MESSAGES_PATH).cloned());
    control.tell(|mind| mind.orders.push(order.clone()));
    let answer = control.answer(&order);
    assert_eq!(answer.result.failure, None);
    assert!(answer.report == Some(TaskReport::SliceTopologyDiscover(Box::new(discover(&tree())))));
    control.tell(|mind| {
        assert_eq!(mind.enrolled.len(), 1);
        assert_eq!(mind.enrolled[0].hardware_serial.as_deref(), discover(&tree()).host.serial.as_deref());
        let (joins, rest): (Vec<_>, Vec<_>) = mind.calls.iter().partition(|call| !call.certified);
        assert_eq!(joins.len(), 1, "only enrolling needs no certificate");
        let session = rest[0].session.clone();
        assert!(session.is_some() && rest.iter().all(|call| call.session == session));
    });
    agent.signal("-TERM");
    assert!(agent.ended().success());
    let mode = |name: &str| fs::metadata(host.path("state").join(name)).unwrap().mode() & 0o777;
    assert_eq!((mode(""), mode("identity.json"), mode("journal")), (0o700, 0o600, 0o600));
}

#[test]
fn fences_boots_and_answers_survive_sigkill_wherever_it_comes() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| mind.tokens.push("gpe_one".to_owned()));
    let newest = 12;
    for n in 1..=newest {
        // The answer is broken off on its way, so that the agent is killed with it unheard, every second time.
        let breaks: fn(&[ToControl]) -> bool =
            |said| said.iter().any(|message| matches!(message, ToControl::Result(_)));
        control.tell(|mind| {
            mind.breaks = (n % 2 == 0).then_some(breaks);
            mind.broken = 0;
            mind.orders.push(look(n, i64::from(n)));
        });
        let agent = host.run(&control);
        if n % 2 == 0 {
            control.until("an answer that breaks off", |mind| (mind.broken > 0).then_some(()));
            agent.killed();
            control.tell(|mind| mind.breaks = None);
            let agent = host.run(&control);
            assert_eq!(control.answer(&look(n, i64::from(n))).result.failure, None, "said again after the kill");
            agent.killed();
        } else {
            control.answer(&look(n, i64::from(n)));
            agent.killed();
        }
    }
    // A late copy of an order, under a new number and with an old fence.
    let late = look(200, 3);
    control.tell(|mind| mind.orders.push(late.clone()));
    let agent = host.run(&control);
    assert_eq!(control.answer(&late).result.failure, Some(TaskFailure::StaleFence));
    agent.killed();
    control.tell(|mind| {
        let mut seen: Vec<i64> = mind.calls.iter().filter_map(|call| boots(&call.said)).collect();
        assert!(seen.is_sorted(), "a start is counted before anything is said: {seen:?}");
        seen.dedup();
        assert_eq!(seen, (1..=i64::from(newest + newest / 2 + 1)).collect::<Vec<_>>());
        assert_eq!(mind.enrolled.len(), 1, "it is enrolled once");
    });
}

#[test]
fn an_order_to_start_a_guest_is_answered_with_the_reason_why_not() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| {
        mind.tokens.push("gpe_one".to_owned());
        let mut order = world::order(1, model::task::TaskKind::SliceVmProvision, 1, 1);
        order.node_id = node_id();
        mind.orders.push(order);
    });
    let _agent = host.run(&control);
    let answer = control.until("an answer", |mind| mind.answers.values().next()?.first().cloned());
    assert_eq!(answer.result.failure, Some(TaskFailure::ProvisionFailed));
    assert_eq!(answer.result.detail, "This version of the agent cannot run guests.");
}

#[test]
fn a_second_agent_on_the_same_state_is_refused() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| mind.tokens.push("gpe_one".to_owned()));
    let _first = host.run(&control);
    control.until("a poll", |mind| mind.calls.iter().any(|call| call.path == MESSAGES_PATH).then_some(()));
    let second = host.command(&control, "run").output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("another agent runs on"), "{said}");
}

#[test]
fn a_token_is_not_shown_to_a_server_of_another_authority() {
    let (control, other, host) = (SmallControl::start(), SmallControl::start(), TestHost::new("gpe_one"));
    let refused = Command::new(AGENT)
        .args(["enroll", "--server", &control.url(), "--authority-sha256", &other.authority_sha256(), "--token-file"])
        .arg(host.path("token"))
        .arg("--state-dir")
        .arg(host.path("state"))
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("no trusted connection"), "{said}");
    control.tell(|mind| assert!(mind.calls.is_empty(), "{:?}", mind.calls));
}

#[test]
fn a_certificate_past_half_of_its_life_is_renewed_with_the_same_key() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| {
        mind.tokens.push("gpe_one".to_owned());
        mind.certificate_age = Duration::from_secs(20 * 3600);
    });
    let agent = host.run(&control);
    control.until("a renewal and a message after it", |mind| {
        let last = mind.calls.last()?;
        (mind.renewed == 1 && last.path == MESSAGES_PATH).then_some(())
    });
    let kept = |name: &str| {
        let identity: serde_json::Value =
            serde_json::from_slice(&fs::read(host.path("state/identity.json")).unwrap()).unwrap();
        identity[name].as_str().unwrap().to_owned()
    };
    let (key, certificate) = (kept("key"), kept("certificate_pem"));
    agent.killed();
    let _agent = host.run(&control);
    let calls = control.tell(|mind| mind.calls.len());
    control.until("a message", |mind| (mind.calls.len() > calls).then_some(()));
    control.tell(|mind| assert_eq!(mind.renewed, 1, "the new certificate is kept"));
    assert_eq!((kept("key"), kept("certificate_pem")), (key, certificate));
}

#[test]
fn a_refused_node_calls_ever_more_slowly_and_comes_back_with_a_new_token() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| mind.tokens.push("gpe_one".to_owned()));
    let _agent = host.run(&control);
    control.until("a message", |mind| mind.calls.iter().any(|call| call.path == MESSAGES_PATH).then_some(()));
    let before = control.tell(|mind| {
        mind.refuses = Some((403, "node_identity_refused"));
        mind.calls.len()
    });
    let refused = control.until("three refusals", |mind| {
        let refused: Vec<Instant> = mind.calls.iter().skip(before).map(|call| call.at).collect();
        (refused.len() >= 3).then_some(refused)
    });
    // Half of one second and half of two are the least that is waited.
    assert!(refused[1] - refused[0] >= Duration::from_millis(450), "{refused:?}");
    assert!(refused[2] - refused[1] >= Duration::from_millis(900), "{refused:?}");
    control.tell(|mind| mind.tokens.push("gpe_two".to_owned()));
    host.token("gpe_two");
    control.until("a second enrollment", |mind| (mind.enrolled.len() == 2).then_some(()));
    let calls = control.tell(|mind| mind.calls.len());
    let boot = control.until("a heartbeat", |mind| mind.calls.iter().skip(calls).find_map(|call| boots(&call.said)));
    assert_eq!(boot, 2, "the journal went on");
    control.tell(|mind| assert_ne!(mind.enrolled[0].csr_pem, mind.enrolled[1].csr_pem, "another key"));
}

#[test]
fn a_node_whose_certificate_has_ended_says_so_and_comes_back_with_a_new_token() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| {
        mind.tokens.push("gpe_one".to_owned());
        mind.certificate_age = Duration::from_secs(25 * 3600);
    });
    let log = fs::File::create(host.path("log")).unwrap();
    let _agent = Running(host.command(&control, "run").stderr(log).spawn().unwrap());
    let said = until(|| Some(fs::read_to_string(host.path("log")).unwrap()).filter(|log| log.contains("has ended")));
    assert!(said.contains("the server refused our certificate"), "{said}");
    control.tell(|mind| {
        assert!(mind.calls.iter().all(|call| call.path.ends_with("enroll")), "nothing else gets through");
        mind.tokens.push("gpe_two".to_owned());
        mind.certificate_age = Duration::ZERO;
    });
    host.token("gpe_two");
    control.until("a message", |mind| mind.calls.iter().any(|call| call.path == MESSAGES_PATH).then_some(()));
}

#[test]
fn a_refused_token_is_shown_once_and_the_next_one_is_taken_up() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_wrong"));
    let _agent = host.run(&control);
    control.until("a refusal", |mind| (mind.calls.len() == 1).then_some(()));
    control.tell(|mind| mind.tokens.push("gpe_right".to_owned()));
    host.token("gpe_right");
    control.until("an enrollment", |mind| (mind.enrolled.len() == 1).then_some(()));
    control.tell(|mind| assert_eq!(mind.calls.iter().filter(|call| call.path.ends_with("enroll")).count(), 2));
}

#[test]
fn logs_for_the_journal_have_a_priority_and_no_time() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| mind.tokens.push("gpe_one".to_owned()));
    let log = fs::File::create(host.path("log")).unwrap();
    let stream = format!("{}:{}", log.metadata().unwrap().dev(), log.metadata().unwrap().ino());
    let mut agent = Running(host.command(&control, "run").stderr(log).env("JOURNAL_STREAM", stream).spawn().unwrap());
    control.until("a message", |mind| mind.calls.iter().any(|call| call.path == MESSAGES_PATH).then_some(()));
    agent.signal("-TERM");
    assert!(agent.ended().success());
    let log = fs::read_to_string(host.path("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() >= 3 && lines.iter().all(|line| line.starts_with("<6>")), "{log}");
    assert!(lines.contains(&"<6>ended by SIGTERM"), "{log}");
    assert!(!log.contains("gpe_one") && !log.contains('\u{1b}'), "{log}");
}

#[test]
fn the_doctor_says_what_is_missing_and_whether_the_node_is_heard() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    control.tell(|mind| mind.tokens.push("gpe_one".to_owned()));
    let doctor = || {
        let output = host.command(&control, "doctor").output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, page) = doctor();
    assert!(page.contains("answers and is the one that was named"), "{page}");
    let well = !page.lines().any(|line| line.starts_with("BAD"));
    assert_eq!(code, Some(i32::from(!well)), "{page}");
    let enrolled = host.command(&control, "enroll").output().unwrap();
    assert_eq!(String::from_utf8(enrolled.stdout).unwrap(), format!("{}\n", node_id()));
    let (_, page) = doctor();
    assert!(page.contains("hears this node") && page.contains("the certificate is good until"), "{page}");
    assert!(page.contains("the clock agrees"), "{page}");
    control.tell(|mind| mind.refuses = Some((403, "node_identity_refused")));
    let (code, page) = doctor();
    assert!(page.contains("BAD") && page.contains("node_identity_refused"), "{page}");
    assert_eq!(code, Some(1));
}

#[test]
fn discovery_needs_no_control_plane_and_gives_the_same_bytes_every_time() {
    let host = TestHost::new("");
    let discover_at = |root: &Path, form: &str| {
        let output = Command::new(AGENT).args(["discover", "--output", form, "--root"]).arg(root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let first = discover_at(&host.path("root"), "json");
    assert!(first == serde_json::to_string_pretty(&discover(&tree())).unwrap() + "\n");
    assert!(discover_at(&host.path("root"), "json") == first);
    let page = discover_at(&host.path("root"), "table");
    assert!(page.contains("0000:18:00.0") && page.contains("READINESS"), "{page}");
    // A copy of a copy is the same host.
    let copied = Command::new(AGENT)
        .args(["capture", "--root"])
        .arg(host.path("root"))
        .arg("--output")
        .arg(host.path("copy"))
        .output()
        .unwrap();
    assert!(copied.status.success());
    assert!(discover_at(&host.path("copy"), "json") == first);
}

#[test]
fn this_machine_can_be_looked_at() {
    let output = Command::new(AGENT).args(["discover", "--output", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: topology::Discovery = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen.host.kernel_release.unwrap(), fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim());
    assert!(seen.mounts_known && seen.tools.is_some() && seen.fabric_manager.is_some());
}

#[test]
fn a_state_directory_that_others_can_read_is_refused() {
    let (control, host) = (SmallControl::start(), TestHost::new("gpe_one"));
    fs::DirBuilder::new().mode(0o755).create(host.path("state")).unwrap();
    let mut agent = Running(host.command(&control, "run").spawn().unwrap());
    assert_eq!(agent.ended().code(), Some(1));
    let said = text(agent.0.stderr.take());
    assert!(said.contains("chmod 700"), "{said}");
}
