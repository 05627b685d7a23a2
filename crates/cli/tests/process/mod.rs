//! What the tests with real processes share: control planes that are started, killed, paused and started again; clients
//! that remember what they were promised; and the checks that every promise was kept.
//!
//! Kills fall where they fall, so a run cannot be repeated exactly; its seed repeats what was asked for and how long each
//! process lived. `GPUAAS_SEED` sets it, `GPUAAS_SOAK=1` runs the full count, and `GPUAAS_BIN` names another binary to kill.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

pub mod alarms;
pub mod book;
pub mod chronicle;
pub mod claims;
pub mod dice;
pub mod ground;
pub mod http;
pub mod load;
pub mod replicas;
pub mod server;
pub mod stream;
pub mod tmpfs;

use std::{
    future::Future,
    path::Path,
    process::Output,
    time::{Duration, Instant},
};

/// How long anything that must happen may take before a test gives up on it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Looks again and again until there is an answer, and fails with a sentence when there is none in time.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, within: Duration, mut look: impl FnMut() -> F) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < within, "after {within:?} still not: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A runtime for clients; the test's own thread is the one that starts and ends processes.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// How often something is done: a fixed small share, or everything.
pub fn count(share: usize, all: usize) -> usize {
    if std::env::var_os("GPUAAS_SOAK").is_some_and(|word| word == "1") { all } else { share }
}

/// A folder for one test, with the logs of its processes. When the test fails it stays, to be looked at.
pub struct Home(Option<tempfile::TempDir>);

impl Home {
    pub fn new() -> Self {
        Self(Some(tempfile::tempdir().unwrap()))
    }

    pub fn path(&self) -> &Path {
        self.0.as_ref().unwrap().path()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let kept = self.0.take().map(tempfile::TempDir::keep);
            eprintln!("what the processes left is kept in {}", kept.unwrap_or_default().display());
        }
    }
}

/// Runs the auditor against a store.
pub fn verify(home: &Path, database: &str) {
    let mut command = server::gpuaas(home);
    let Output { status, stdout, stderr } = command.args(["verify", "--database", database]).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(0), "gpuaas verify --database {database}\n{text}");
}
