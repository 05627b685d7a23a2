//! Ten thousand agents on one control plane with an embedded store: how long a whole fleet takes to be heard again after all
//! connections were lost at once, whether anybody was taken for dead meanwhile, what a reader notices of it, and what the
//! fleet costs when nothing happens.
//!
//! Three processes: the server, the fleet ([`load`]), and this one, which reads, counts and tells the two what to do. All run
//! on this machine, so what the fleet needs for its half of ten thousand handshakes is missing to the server.

mod fleet;
mod load;
mod reads;

use crate::{
    figure::{Limit, RUNS, Report, say},
    process,
    server::Server,
};
use fleet::Fleet;
use reads::Reader;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

pub use load::{WORD as LOAD_WORD, main as load};

const NODES: usize = 10_000;
const HEARTBEAT: Duration = Duration::from_secs(api::node_plane::HEARTBEAT_S as u64);
// A lease and a little: by then every node was looked at once more, and nothing is left of the last storm.
const QUIET: Duration = Duration::from_secs(35);
const STEADY: Duration = Duration::from_secs(60);
// When storms take longer than this, fewer have to do.
const LONG_MS: u64 = 20_000;
const RUNS_WHEN_LONG: usize = 3;

/// Measures storms, then the quiet after them.
pub fn measure(report: &mut Report) -> Result<(), String> {
    let fleet = Fleet::new(NODES)?;
    let authority = fleet.authority().display().to_string();
    let server = Server::start(&[
        "serve",
        "--database",
        fleet.url(),
        "--listen",
        "127.0.0.1:0",
        "--agents-listen",
        "127.0.0.1:0",
        "--authority",
        &authority,
    ])?;
    let mut load = Load::start(&server, &fleet)?;
    let first = load.hear("connected")?;
    report.figure("agents_10k_first_connect", &[first.all_ms], "ms", Limit::None);
    std::thread::sleep(HEARTBEAT + HEARTBEAT);
    let storms = storms(&mut load, &server, &fleet, Kind::Full)?;
    let column = |of: fn(&Storm) -> u64| storms.iter().map(of).collect::<Vec<u64>>();
    report.figure("agents_10k_reconnect", &column(|storm| storm.heard.all_ms), "ms", Limit::AtMost(30_000));
    report.figure("agents_10k_reconnect_p50", &column(|storm| storm.heard.half_ms), "ms", Limit::None);
    report.figure("agents_10k_reconnect_cpu", &column(|storm| storm.server_cpu_ms), "cpu_ms", Limit::None);
    report.figure("agents_10k_reads_p99", &column(|storm| storm.reads_p99_ms), "ms", Limit::AtMost(1000));
    // Once to be given tickets; from then on connections are resumed.
    load.storm(Kind::Resumed)?;
    std::thread::sleep(HEARTBEAT);
    let resumed = self::storms(&mut load, &server, &fleet, Kind::Resumed)?;
    let resumed: Vec<u64> = resumed.iter().map(|storm| storm.heard.all_ms).collect();
    report.figure("agents_10k_reconnect_resumed", &resumed, "ms", Limit::AtMost(30_000));
    std::thread::sleep(QUIET);
    let steady = steady_permille(&server);
    report.figure("agents_10k_steady_cpu", &[steady], "permille", Limit::AtMost(200));
    report.figure("agents_10k_resident", &[process::resident_kib(server.pid()) / 1000], "MB", Limit::None);
    drop(load);
    drop(server);
    let told = fleet.told()?;
    report.figure("agents_10k_false_expiries", &[told.silences], "nodes", Limit::AtMost(0));
    if told.online != NODES as u64 {
        return Err(format!("expected {NODES} nodes online at the end, found {}", told.online));
    }
    Ok(())
}

/// How connections come back.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// With a whole handshake, as after a restart of the server.
    Full,
    /// With a ticket, as after a break of the network.
    Resumed,
}

struct Storm {
    heard: Heard,
    server_cpu_ms: u64,
    reads_p99_ms: u64,
}

fn storms(load: &mut Load, server: &Server, fleet: &Fleet, kind: Kind) -> Result<Vec<Storm>, String> {
    let mut storms: Vec<Storm> = Vec::new();
    loop {
        let reader = Reader::start(&server.address, &fleet.token);
        let cpu_before = process::cpu_ms(server.pid());
        let heard = load.storm(kind)?;
        let server_cpu_ms = process::cpu_ms(server.pid()) - cpu_before;
        let reads = reader.times()?;
        let reads_p99_ms = reads.get(reads.len() * 99 / 100).copied().unwrap_or(0).div_ceil(1000);
        say(&format!(
            "# storm ({kind:?}): all heard after {} ms, half after {} ms, 99 of 100 after {} ms, {} failed tries, server \
             {server_cpu_ms} CPU ms, {} reads, p99 {reads_p99_ms} ms",
            heard.all_ms,
            heard.half_ms,
            heard.most_ms,
            heard.failures,
            reads.len()
        ));
        storms.push(Storm { heard, server_cpu_ms, reads_p99_ms });
        let long = storms.iter().any(|storm| storm.heard.all_ms > LONG_MS);
        if storms.len() >= if long { RUNS_WHEN_LONG } else { RUNS } {
            return Ok(storms);
        }
        // Every node says once more that it is there, and its next poll is held.
        std::thread::sleep(HEARTBEAT + HEARTBEAT / 5);
    }
}

/// The server's CPU over time, in thousandths of one core.
fn steady_permille(server: &Server) -> u64 {
    let (before, began) = (process::cpu_ms(server.pid()), Instant::now());
    std::thread::sleep(STEADY);
    let used = process::cpu_ms(server.pid()) - before;
    used.saturating_mul(1000) / u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
}

/// How a round of connecting went.
struct Heard {
    all_ms: u64,
    half_ms: u64,
    most_ms: u64,
    failures: u64,
}

/// The process that plays the fleet.
struct Load {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Load {
    fn start(server: &Server, fleet: &Fleet) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let agents = server.agents.as_deref().ok_or("the server does not listen for agents")?;
        let mut child = Command::new(program)
            .arg(LOAD_WORD)
            .arg(agents)
            .arg(fleet.authority_pem())
            .arg(fleet.certificates())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let orders = child.stdin.take().ok_or("no standard input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, orders, answers })
    }

    fn storm(&mut self, kind: Kind) -> Result<Heard, String> {
        let order = match kind {
            Kind::Full => "storm full",
            Kind::Resumed => "storm resumed",
        };
        writeln!(self.orders, "{order}").map_err(|error| error.to_string())?;
        self.hear("renewed")
    }

    fn hear(&mut self, word: &str) -> Result<Heard, String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|error| error.to_string())?;
        let wrong = || format!("expected {word:?} and numbers from the fleet, got {line:?}");
        let numbers = line.trim().strip_prefix(word).ok_or_else(wrong)?;
        let numbers: Result<Vec<u64>, _> = numbers.split_whitespace().map(str::parse).collect();
        let numbers = numbers.map_err(|_| wrong())?;
        let [all_ms, half_ms, most_ms, failures] = numbers.as_slice() else { return Err(wrong()) };
        Ok(Heard { all_ms: *all_ms, half_ms: *half_ms, most_ms: *most_ms, failures: *failures })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
