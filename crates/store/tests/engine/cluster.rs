//! The temporary cluster leaves nothing behind, however the tests end.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use store::testing::PostgresCluster;

const DYING_PROCESS: &str = "STORE_TEST_DYING_PROCESS";

/// The body of the dying process below; alone it does nothing.
#[test]
fn dying_process() {
    if let Ok(note) = std::env::var(DYING_PROCESS) {
        let cluster = PostgresCluster::start();
        std::fs::write(note, cluster.directory().to_str().unwrap()).unwrap();
        // No destructor runs, nothing is flushed: like SIGKILL, but without needing another process's help.
        std::process::abort();
    }
}

fn is_gone_within(directory: &Path, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    while directory.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    !directory.exists()
}

#[test]
fn a_cluster_does_not_outlive_a_process_that_dies() {
    let notes = tempfile::tempdir().unwrap();
    let note = notes.path().join("where");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "cluster::dying_process"]).env(DYING_PROCESS, &note);
    assert!(!command.output().unwrap().status.success(), "it dies");
    let directory = PathBuf::from(std::fs::read_to_string(&note).unwrap());
    assert!(directory.starts_with("/tmp/"), "{directory:?}");
    assert!(is_gone_within(&directory, Duration::from_secs(60)));
}

#[test]
fn dropping_a_cluster_stops_it() {
    let cluster = PostgresCluster::start();
    let directory = cluster.directory().to_owned();
    assert!(directory.exists());
    drop(cluster);
    assert!(!directory.exists());
}
