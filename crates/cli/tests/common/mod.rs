//! What the tests of the command share: running it in a clean environment, and a small server that answers with canned JSON
//! and remembers what it was asked.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub mod desk;
pub mod plane;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

pub const TOKEN: &str = "gpuaas_test_0123456789abcdef";

/// The command, cut off from the environment and configuration of whoever runs the tests.
pub fn gpuaas(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuaas"));
    command
        .env_clear()
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null());
    command
}

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the command without a server.
pub fn offline(words: &[&str]) -> Ran {
    let home = tempfile::tempdir().unwrap();
    ran(gpuaas(home.path()).args(words).output().unwrap())
}

#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

pub struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
}

pub fn json(status: u16, value: serde_json::Value) -> Answer {
    Answer { status, content_type: "application/json", body: value.to_string() }
}

pub fn problem(code: api::Code) -> Answer {
    let problem = api::Problem::new(code, "This is what happened.").with_field("/name", "something else");
    Answer {
        status: code.status(),
        content_type: "application/problem+json",
        body: serde_json::to_string(&problem).unwrap(),
    }
}

/// A server on loopback. It ends with the value.
pub struct Fake {
    pub url: String,
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    pub fn new(answer: impl Fn(&Asked) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let ending = Arc::new(AtomicBool::new(false));
        let (seen, end) = (asked.clone(), ending.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(stream) = stream {
                    serve(stream, &answer, &seen);
                }
            }
        });
        Self { url: format!("http://{address}"), address, asked, ending, thread: Some(thread) }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Runs the command against this server.
    pub fn run(&self, words: &[&str]) -> Ran {
        let home = tempfile::tempdir().unwrap();
        ran(self.command(home.path(), words).output().unwrap())
    }

    pub fn command(&self, home: &Path, words: &[&str]) -> Command {
        let mut command = gpuaas(home);
        command.env("GPUAAS_URL", &self.url).env("GPUAAS_TOKEN", TOKEN).args(words);
        command
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn serve(mut stream: TcpStream, answer: &impl Fn(&Asked) -> Answer, seen: &Mutex<Vec<Asked>>) {
    let Some(asked) = read_request(&stream) else { return };
    let answer = answer(&asked);
    seen.lock().unwrap().push(asked);
    let head = format!(
        "HTTP/1.1 {} Whatever\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.body.as_bytes()));
}

fn read_request(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut parts = line.split_whitespace();
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => break,
        }
    }
    let mut asked = Asked { method, target, headers, body: String::new() };
    let length = asked.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).ok()?;
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Some(asked)
}

const ULID: &str = "01jh2n6f4zw8q9r0s1t2v3x4y5";

pub fn id(prefix: &str) -> String {
    format!("{prefix}_{ULID}")
}

pub fn id_number(prefix: &str, number: u8) -> String {
    format!("{prefix}_01jh2n6f4zw8q9r0s1t2v3x4{number:02}")
}

pub fn region(number: u8, slug: &str, name: &str) -> serde_json::Value {
    serde_json::json!({ "id": id_number("rgn", number), "slug": slug, "name": name, "enabled": true, "version": 3, "created_at": "2026-01-31T12:00:00.000Z" })
}

pub fn tenant(number: u8, slug: &str, state: &str) -> serde_json::Value {
    serde_json::json!({
        "id": id_number("tnt", number), "slug": slug, "name": "A tenant", "desired": "active",
        "observed": { "projects": 1, "members": 1, "service_accounts": 0, "tokens": 1, "allocations": 0, "claims": 0 },
        "execution": state, "projected": "It is usable.", "progress": { "since": "2026-01-31T12:00:00.000Z" },
        "version": 7, "created_at": "2026-01-31T12:00:00.000Z"
    })
}

pub fn project(number: u8, tenant: u8, slug: &str) -> serde_json::Value {
    let mut value = self::tenant(number, slug, "active");
    value["id"] = id_number("prj", number).into();
    value["tenant_id"] = id_number("tnt", tenant).into();
    value["gpu_cap"] = 8.into();
    value
}

pub fn operation(state: &str) -> serde_json::Value {
    let mut value = serde_json::json!({
        "id": id("opn"), "kind": "allocation_release", "noun": "allocation", "subject_id": id("alc"),
        "created_by": id("prn"), "state": state, "created_at": "2026-01-31T12:00:00.000Z"
    });
    if state == "failed" {
        value["error"] = serde_json::json!({ "code": "sku_unavailable", "detail": "Nothing that fits is free." });
    }
    value
}

pub fn allocation(state: &str) -> serde_json::Value {
    serde_json::json!({
        "id": id("alc"), "tenant_id": id("tnt"), "project_id": id("prj"), "name": "trainer", "sku_id": id("sku"), "shape": "gpu_slice",
        "gpu_count": 2, "region_id": id("rgn"), "desired": "released", "observed": { "guest_up": true }, "execution": state,
        "projected": "The host is wiping it.", "progress": { "since": "2026-01-31T12:00:00.000Z" }, "version": 4, "created_at": "2026-01-31T12:00:00.000Z"
    })
}

pub fn whoami() -> serde_json::Value {
    let token = serde_json::json!({
        "id": id("tok"), "name": "laptop", "principal_id": id("prn"), "scope": "write",
        "expires_at": "2026-12-31T12:00:00.000Z", "version": 1, "created_at": "2026-01-31T12:00:00.000Z"
    });
    let principal = serde_json::json!({
        "id": id("prn"), "kind": "user", "name": "ada@acme.example", "version": 1, "created_at": "2026-01-31T12:00:00.000Z"
    });
    serde_json::json!({ "principal": principal, "token": token, "bindings": [] })
}
