//! One `gpuaas serve` or `gpuaas dev` as a process. Whatever happens to the test, the process ends with it.

use super::alarms::is_never_right;
use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

/// How long a process may take to print its address.
const UP_WITHIN: Duration = Duration::from_secs(30);

/// The command, cut off from the environment and configuration of whoever runs the tests. The kernel kills it when the
/// thread that started it ends, even if that is by SIGKILL.
pub fn gpuaas(home: &Path) -> Command {
    let binary = std::env::var("GPUAAS_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_gpuaas").to_owned());
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(binary);
    command.env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null());
    command
}

pub struct Server {
    pub name: String,
    pub url: String,
    /// From the start of the process to the first line.
    pub took: Duration,
    child: Child,
    lines: Receiver<String>,
    log: PathBuf,
}

impl Server {
    /// Starts a control plane and waits for its address. What it logs is added to `NAME.log` in the folder.
    pub fn start(home: &Path, name: &str, words: &[&str]) -> Self {
        Self::try_start(home, name, words).unwrap_or_else(|code| {
            let log =
                fs::read_to_string(home.join(format!("{name}.log"))).unwrap_or_else(|why| format!("no log: {why}"));
            panic!("{name} ({words:?}) ended with {code:?} before it served:\n{}", tail(&log));
        })
    }

    /// The same, or the exit code of a process that ended instead.
    pub fn try_start(home: &Path, name: &str, words: &[&str]) -> Result<Self, Option<i32>> {
        let log = home.join(format!("{name}.log"));
        let stderr = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let begun = Instant::now();
        let mut child = gpuaas(home).args(words).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let lines = follow(BufReader::new(child.stdout.take().unwrap()));
        let mut server = Self { name: name.to_owned(), url: String::new(), took: Duration::ZERO, child, lines, log };
        match server.lines.recv_timeout(UP_WITHIN) {
            Ok(url) => {
                assert!(url.starts_with("http://127.0.0.1:"), "the first line of {name} is no address: {url}");
                (server.url, server.took) = (url, begun.elapsed());
                Ok(server)
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(server.ends_within(UP_WITHIN)),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("{name} said nothing for {UP_WITHIN:?}"),
        }
    }

    /// The next line of standard output.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(UP_WITHIN).unwrap_or_else(|_| panic!("{} says no more", self.name))
    }

    /// Ends it as the kernel would: at once and without a word.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success(), "{script}");
    }

    /// Waits for it to end by itself and says how; `None` is a signal.
    pub fn ends_within(&mut self, within: Duration) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < within, "{} did not end within {within:?}", self.name);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// How long its log is now; what comes later is read with [`Server::logged_since`].
    pub fn log_length(&self) -> u64 {
        fs::metadata(&self.log).map_or(0, |file| file.len())
    }

    pub fn logged_since(&self, position: u64) -> String {
        let mut text = Vec::new();
        let mut file = File::open(&self.log).unwrap();
        file.seek(SeekFrom::Start(position)).unwrap();
        file.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("the end of what {} logged:\n{}", self.name, tail(&log));
        }
    }
}

/// Fails when any log in the folder tells of what must never be.
pub fn logs_are_clean(home: &Path) {
    let entries = fs::read_dir(home).unwrap().flatten().map(|entry| entry.path());
    for path in entries.filter(|path| path.extension().is_some_and(|ending| ending == "log")) {
        let text = fs::read_to_string(&path).unwrap();
        let bad: Vec<&str> = text.lines().filter(|line| is_never_right(line)).take(20).collect();
        assert!(bad.is_empty(), "{} tells of:\n{}", path.display(), bad.join("\n"));
    }
}

fn follow(reader: impl BufRead + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in reader.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
