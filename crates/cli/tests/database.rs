//! Commands that open a store themselves: `bootstrap` and `verify`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{gpuaas, ran};
use std::path::Path;
use store::{Db, DbConfig};

fn run(home: &Path, words: &[&str]) -> common::Ran {
    ran(gpuaas(home).args(words).output().unwrap())
}

#[test]
fn the_first_operator_is_made_once_and_its_secret_printed() {
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", home.path().join("store.db").display());
    let words = ["bootstrap", "--database", &url, "--email", "ops@cloud.example", "-o", "json"];
    let made = run(home.path(), &words);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let value: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    assert!(value["secret"].as_str().unwrap().starts_with("gpuaas_"), "{value}");

    let again = run(home.path(), &words);
    assert_eq!((again.code, again.stdout.as_str()), (5, ""), "{}", again.stderr);
    assert!(again.stderr.contains("--new-token"), "{}", again.stderr);
    let other = run(home.path(), &["bootstrap", "--database", &url, "--email", "eve@cloud.example", "--new-token"]);
    assert_eq!(other.code, 3, "{}", other.stderr);
    let renewed = run(
        home.path(),
        &["bootstrap", "--database", &url, "--email", "ops@cloud.example", "--new-token", "-o", "json"],
    );
    assert_eq!(renewed.code, 0, "{}", renewed.stderr);
    assert_ne!(serde_json::from_str::<serde_json::Value>(&renewed.stdout).unwrap()["secret"], value["secret"]);
}

#[test]
fn verify_passes_a_sound_store_and_names_what_is_broken_in_another() {
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", home.path().join("store.db").display());
    run(home.path(), &["bootstrap", "--database", &url, "--email", "ops@cloud.example"]);
    let sound = run(home.path(), &["verify", "--database", &url, "-o", "json"]);
    assert_eq!(sound.code, 0, "{} {}", sound.stdout, sound.stderr);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&sound.stdout).unwrap(), serde_json::json!({ "items": [] }));

    // An object whose version moved without an event.
    let db = Db::open(&DbConfig::new(&url)).unwrap();
    db.write(|tx| tx.execute("UPDATE principals SET version = version + 1", &[]).map(|_| ())).unwrap();
    // The store is still open here, as it would be under a running server.
    let broken = run(home.path(), &["verify", "--database", &url]);
    assert_eq!(broken.code, 1, "{}", broken.stderr);
    assert!(broken.stdout.contains("I22") && broken.stdout.contains("prn_"), "{}", broken.stdout);
    drop(db);
}

#[test]
fn verify_changes_nothing_and_refuses_what_is_no_store() {
    let home = tempfile::tempdir().unwrap();
    let absent = home.path().join("absent.db");
    let ran = run(home.path(), &["verify", "--database", &format!("sqlite:{}", absent.display())]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(!absent.exists(), "verify made a store");
    std::fs::write(home.path().join("text.db"), "this is not a database, and long enough to be sure of it").unwrap();
    let ran = run(home.path(), &["verify", "--database", &format!("sqlite:{}", home.path().join("text.db").display())]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(run(home.path(), &["verify", "--database", "mysql:x"]).code, 2);
    assert_eq!(run(home.path(), &["verify"]).code, 2);
}
