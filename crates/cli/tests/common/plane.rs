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
        let mut child = gpuaas(home).args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
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
