//! `gpuaas ssh` and `gpuaas console` against a server that upgrades connections and remembers what came through them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{TOKEN, allocation, gpuaas, id, ran};
use serde_json::json;
use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(60);
const HOST_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ";
const BANNER: &[u8] = b"\r\nguest login: ";

/// How a guest behind the server behaves.
#[derive(Clone, Copy, PartialEq)]
enum Guest {
    /// It says back what it hears.
    Echo,
    /// It prints, and listens until nobody speaks.
    Console,
    /// It prints, and closes.
    Closes,
}

struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(guest: Guest, host_key: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (heard, heads) = (Arc::<Mutex<Vec<u8>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let mut view = allocation("running");
        if let Some(host_key) = host_key {
            view["observed"]["guest"] = json!({
                "mac": "52:54:00:00:00:01", "expected_ip": "10.0.0.2", "lease_state": "leased", "host_key": host_key,
                "accelerator": "kvm"
            });
        }
        let view = view.to_string();
        let (kept, noted) = (Arc::clone(&heard), Arc::clone(&heads));
        // Ends with the process: it waits for connections that do not come.
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (view, kept, noted) = (view.clone(), Arc::clone(&kept), Arc::clone(&noted));
                thread::spawn(move || serve(socket, guest, &view, (&kept, &noted)));
            }
        });
        Self { address, heard, heads }
    }

    fn command(&self, home: &Path, words: &[&str]) -> Command {
        let mut command = gpuaas(home);
        command.env("GPUAAS_URL", format!("http://{}", self.address)).env("GPUAAS_TOKEN", TOKEN).args(words);
        command
    }

    fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }
}

fn serve(mut socket: TcpStream, guest: Guest, view: &str, (kept, noted): (&Mutex<Vec<u8>>, &Mutex<Vec<String>>)) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if socket.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    noted.lock().unwrap().push(head.clone());
    if !head.to_ascii_lowercase().contains("upgrade: gpuaas-stream") {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{view}",
            view.len()
        );
        socket.write_all(answer.as_bytes()).unwrap();
        return;
    }
    socket
        .write_all(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: gpuaas-stream\r\n\r\n")
        .unwrap();
    if guest != Guest::Echo {
        socket.write_all(BANNER).unwrap();
    }
    if guest == Guest::Closes {
        return;
    }
    let mut piece = vec![0; 64 * 1024];
    while let Ok(bytes @ 1..) = socket.read(&mut piece) {
        kept.lock().unwrap().extend_from_slice(&piece[..bytes]);
        if guest == Guest::Echo && socket.write_all(&piece[..bytes]).is_err() {
            return;
        }
    }
    let _ = socket.shutdown(Shutdown::Both);
}

#[test]
fn stdio_carries_every_byte_both_ways_until_both_are_done() {
    let (server, home) = (Server::new(Guest::Echo, None), tempfile::tempdir().unwrap());
    let mut command = server.command(home.path(), &["ssh", "--stdio", &id("alc")]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let sent: Vec<u8> = (0..8_u32 * 1024 * 1024).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let mut stdin = child.stdin.take().unwrap();
    let saying = {
        let sent = sent.clone();
        thread::spawn(move || stdin.write_all(&sent).unwrap())
    };
    let ended = child.wait_with_output().unwrap();
    saying.join().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(ended.stdout == sent, "{} bytes came back of {}", ended.stdout.len(), sent.len());
}

#[test]
fn the_key_that_leaves_ends_the_console_and_is_not_sent() {
    let (server, home) = (Server::new(Guest::Console, None), tempfile::tempdir().unwrap());
    let mut child = server
        .command(home.path(), &["console", &id("alc")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"root\n\x1dnever sent").unwrap();
    let ended = ran(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("recorded") && ended.stderr.contains("Ctrl-]"), "{}", ended.stderr);
    let until = Instant::now() + PATIENCE;
    while server.heard() != b"root\n" {
        assert!(Instant::now() < until, "{:?}", server.heard());
        thread::sleep(Duration::from_millis(5));
    }
    let heads = server.heads.lock().unwrap().clone();
    assert!(heads[0].starts_with(&format!("GET /api/v1/allocations/{}/console HTTP/1.1", id("alc"))), "{heads:?}");
}

/// A program in the place of ssh that says what it was told, and what it knows.
fn with_ssh(home: &Path, script: &str) -> std::ffi::OsString {
    let folder = home.join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("ssh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = folder.into_os_string();
    path.push(":/usr/bin:/bin");
    path
}

#[test]
fn ssh_is_told_whom_to_trust_and_how_to_get_there_and_its_end_is_ours() {
    let (server, home) = (Server::new(Guest::Echo, Some(HOST_KEY)), tempfile::tempdir().unwrap());
    let script = r#"for word in "$@"; do echo "word $word"; case "$word" in UserKnownHostsFile=*)
        file="${word#UserKnownHostsFile=\"}"; cat "${file%\"}";; esac; done
        echo "url $GPUAAS_URL"; exit 42"#;
    let path = with_ssh(home.path(), script);
    let alc = id("alc");
    let words = ["ssh", &alc, "--", "-v", "uname", "-a b"];
    let told = ran(server.command(home.path(), &words).env("PATH", path).output().unwrap());
    assert_eq!(told.code, 42, "{}", told.stderr);
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert!(lines.contains(&format!("{alc} {HOST_KEY}").as_str()), "{lines:?}");
    assert!(lines.contains(&"word StrictHostKeyChecking=yes"), "{lines:?}");
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("word ProxyCommand=") && line.ends_with(&format!("ssh --stdio {alc}")))
    );
    assert!(lines.contains(&format!("url http://{}", server.address).as_str()));
    let at = lines.iter().position(|line| *line == format!("word {alc}")).unwrap();
    assert_eq!(lines[at + 1..at + 4], ["word -v", "word uname", "word -a b"]);
    assert!(!told.stdout.contains(TOKEN), "the token is nowhere on a command line");
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let left: Vec<_> = left
        .filter(|file| std::fs::read(file.path()).is_ok_and(|text| text == format!("{alc} {HOST_KEY}\n").as_bytes()))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn without_a_host_key_or_ssh_it_says_what_is_missing() {
    let home = tempfile::tempdir().unwrap();
    let alc = id("alc");
    let unknown = Server::new(Guest::Echo, None);
    let told = ran(unknown.command(home.path(), &["ssh", &alc]).output().unwrap());
    assert_eq!(told.code, 5, "{}", told.stderr);
    assert!(told.stderr.contains("host key") && told.stderr.contains("is not known"), "{}", told.stderr);
    let known = Server::new(Guest::Echo, Some(HOST_KEY));
    let told = ran(known.command(home.path(), &["ssh", &alc]).env("PATH", "/nonexistent").output().unwrap());
    assert_eq!(told.code, 1, "{}", told.stderr);
    assert!(told.stderr.contains("`ssh` is not installed"), "{}", told.stderr);
}

/// A terminal around a command: what it is set to before and after, and all that was shown.
fn on_a_terminal(server: &Server, home: &Path) -> Option<Child> {
    let programs = ["/usr/bin/script", "/usr/bin/stty"];
    if let Some(missing) = programs.iter().find(|program| !Path::new(program).exists()) {
        assert!(std::env::var_os("GPUAAS_REAL").is_none_or(|asked| asked != "require"), "{missing} is not here");
        // The test harness shows this to whoever looks; it is no output of the program.
        let _ = writeln!(std::io::stderr(), "SKIPPED a terminal is given back as it was: {missing} is not here");
        return None;
    }
    let run = format!("stty -g; {} console {}; stty -g", env!("CARGO_BIN_EXE_gpuaas"), id("alc"));
    let mut command = Command::new("/usr/bin/script");
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("TERM", "dumb").env("SHELL", "/bin/sh");
    command.env("GPUAAS_URL", format!("http://{}", server.address)).env("GPUAAS_TOKEN", TOKEN);
    command.args(["-qec", &run, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    Some(command.spawn().unwrap())
}

/// The settings of a terminal in what was shown: one line each time they were asked for.
fn settings(shown: &str) -> Vec<&str> {
    shown.lines().map(str::trim).filter(|line| line.matches(':').count() > 20).collect()
}

fn shown_until(child: &mut Child, wanted: &[u8]) -> Vec<u8> {
    let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
    let stdout = child.stdout.as_mut().unwrap();
    while !shown.windows(wanted.len()).any(|part| part == wanted) {
        let bytes = stdout.read(&mut piece).unwrap();
        assert!(bytes > 0, "{}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&piece[..bytes]);
    }
    shown
}

#[test]
fn a_terminal_is_given_back_as_it_was_however_the_console_ends() {
    for guest in [Guest::Console, Guest::Closes] {
        let (server, home) = (Server::new(guest, None), tempfile::tempdir().unwrap());
        let Some(mut child) = on_a_terminal(&server, home.path()) else { return };
        let mut shown = shown_until(&mut child, b"guest login: ");
        let mut stdin = child.stdin.take().unwrap();
        if guest == Guest::Console {
            // Ctrl-C is the guest's; Ctrl-] leaves.
            stdin.write_all(b"\x03\x1d").unwrap();
        }
        child.stdout.as_mut().unwrap().read_to_end(&mut shown).unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success());
        let shown = String::from_utf8_lossy(&shown).into_owned();
        let settings = settings(&shown);
        assert_eq!(settings.len(), 2, "{shown}");
        assert_eq!(settings[0], settings[1], "{shown}");
        if guest == Guest::Console {
            assert_eq!(server.heard(), b"\x03");
        }
    }
}
