//! A control plane as a process of its own, stopped when the value goes.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use super::{Ran, gpuaas, ran};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

pub struct Plane {
    pub url: String,
    child: Child,
    // Kept open: a server must not mind a reader that goes away, but that is a test of its own.
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Plane {
    /// Starts `serve` or `dev` and waits for the address on its first line.
    pub fn start(home: &Path, words: &[&str]) -> Self {
        Self::start_with(gpuaas(home), words)
    }

    /// The same with an environment of its own.
    pub fn start_with(command: Command, words: &[&str]) -> Self {
        Self::start_logging(command, words, Stdio::null())
    }

    /// The same, with its log somewhere.
    pub fn start_logging(mut command: Command, words: &[&str], log: Stdio) -> Self {
        let mut child = command.args(words).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        match lines.next() {
            Some(Ok(url)) if url.starts_with("http://127.0.0.1:") => Self { url, child, lines },
            other => {
                let _ = child.kill();
                let status = child.wait();
                panic!("{words:?} did not come up: {other:?}, {status:?}");
            }
        }
    }

    /// The next line of standard output.
    pub fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    pub fn run(&self, home: &Path, token: &str, words: &[&str]) -> Ran {
        ran(gpuaas(home).env("GPUAAS_URL", &self.url).env("GPUAAS_TOKEN", token).args(words).output().unwrap())
    }

    /// Asks it to end and gives its exit code.
    pub fn signal(&mut self, name: &str) -> Option<i32> {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The store of a test.
pub fn store_url(home: &Path) -> String {
    format!("sqlite:{}", home.join("store.db").display())
}

/// The token of the first operator.
pub fn operator_token(home: &Path) -> String {
    let made = ran(gpuaas(home)
        .args(["bootstrap", "--database", &store_url(home), "--email", "ops@cloud.example", "-o", "json"])
        .output()
        .unwrap());
    assert_eq!(made.code, 0, "{}", made.stderr);
    serde_json::from_str::<serde_json::Value>(&made.stdout).unwrap()["secret"].as_str().unwrap().to_owned()
}

/// A control plane on that store.
pub fn serve(home: &Path) -> Plane {
    Plane::start(home, &["serve", "--database", &store_url(home), "--listen", "127.0.0.1:0", "--log", "warn"])
}
