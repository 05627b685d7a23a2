//! The release binary in a process of its own: started, waited for, measured, ended.

use crate::{
    figure::{Limit, Report, five},
    process,
};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A running `gpuaas`.
pub struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// Where agents reach it, when the words asked for that.
    pub agents: Option<String>,
    /// From the start of the process to the first ready answer.
    pub ready_after: Duration,
}

impl Server {
    /// Starts `gpuaas` with these words and waits until it is ready.
    pub fn start(words: &[&str]) -> Result<Self, String> {
        let started = Instant::now();
        let mut child = Command::new(binary())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{} did not start: {error}", binary().display()))?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut line_after = |beginning: &str| {
            let mut line = String::new();
            output.read_line(&mut line).map_err(|error| error.to_string())?;
            let rest = line.trim().strip_prefix(beginning).map(str::to_owned);
            rest.ok_or_else(|| format!("expected {beginning}…, got {line:?}"))
        };
        let address = line_after("http://")?;
        let agents = if words.contains(&"--agents-listen") { Some(line_after("agents https://")?) } else { None };
        while get(&address, "/readyz") != Some(200) {
            if started.elapsed() > Duration::from_secs(60) {
                return Err("not ready within a minute".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Self { child, address, agents, ready_after: started.elapsed() })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `cargo build --release` puts the binary.
pub fn binary() -> PathBuf {
    PathBuf::from(std::env::var("GPUAAS_BINARY").unwrap_or_else(|_| "target/release/gpuaas".into()))
}

/// Makes the first operator of a store and returns its token.
pub fn bootstrap(database: &str) -> Result<String, String> {
    let words = ["bootstrap", "--database", database, "--email", "bench@gpuaas.example"];
    let output = Command::new(binary()).args(words).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let token = text.split_whitespace().find(|word| word.starts_with("gpuaas_"));
    token.map(str::to_owned).ok_or_else(|| format!("no token: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn get(address: &str, path: &str) -> Option<u16> {
    ask(address, &format!("GET {path}"), "", "").map(|(status, _)| status)
}

/// Asks once, on a connection of its own: the verb and the path, whole lines of headers, a body. The status and what was said.
pub fn ask(address: &str, what: &str, headers: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let length = body.len();
    let head =
        format!("{what} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}");
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split_whitespace().nth(1)?.parse().ok()?;
    let said = answer.split_once("\r\n\r\n").map_or("", |(_, said)| said).to_owned();
    Some((status, said))
}

/// Resident memory of the platform with its simulated fleet, after ten quiet seconds.
pub fn idle_memory(report: &mut Report) -> Result<(), String> {
    let runs = five(|| {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = directory.path().display().to_string();
        let server = Server::start(&["dev", "--data-dir", &path, "--listen", "127.0.0.1:0"])?;
        std::thread::sleep(Duration::from_secs(10));
        Ok(process::resident_kib(server.pid()) / 1000)
    })?;
    report.figure("idle_resident", &runs, "MB", Limit::AtMost(150));
    Ok(())
}
