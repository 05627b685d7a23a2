//! The command against the real control plane, both as processes.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Ran, gpuaas, plane::Plane, ran};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
};

fn store_url(home: &Path) -> String {
    format!("sqlite:{}", home.join("store.db").display())
}

fn operator_token(home: &Path) -> String {
    let made = ran(gpuaas(home)
        .args(["bootstrap", "--database", &store_url(home), "--email", "ops@cloud.example", "-o", "json"])
        .output()
        .unwrap());
    assert_eq!(made.code, 0, "{}", made.stderr);
    serde_json::from_str::<Value>(&made.stdout).unwrap()["secret"].as_str().unwrap().to_owned()
}

fn serve(home: &Path) -> Plane {
    Plane::start(home, &["serve", "--database", &store_url(home), "--listen", "127.0.0.1:0", "--log", "warn"])
}

fn value(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

#[test]
fn an_empty_store_says_how_to_begin_and_the_server_ends_in_order() {
    let home = tempfile::tempdir().unwrap();
    let words = ["serve", "--database", &store_url(home.path()), "--listen", "127.0.0.1:0"];
    let mut child = gpuaas(home.path()).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && !url.trim_end().ends_with(":0"), "{url}");
    // The reader of its output is gone now, and the server must not mind.
    let health = ran(gpuaas(home.path()).args(["api", "get", "/healthz", "--url", url.trim_end()]).output().unwrap());
    assert_eq!(health.code, 0, "{}", health.stderr);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut notes = String::new();
    child.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
    assert!(notes.contains("gpuaas bootstrap --database"), "{notes}");
}

#[test]
fn what_cannot_be_served_is_refused_before_anything_starts() {
    let home = tempfile::tempdir().unwrap();
    let url = store_url(home.path());
    let refused = |words: &[&str]| {
        let ran = ran(gpuaas(home.path()).args(words).output().unwrap());
        assert_eq!(ran.stdout, "", "{words:?}");
        (ran.code, ran.stderr)
    };
    let (code, why) = refused(&["serve", "--database", &url, "--listen", "0.0.0.0:0"]);
    assert!(code == 1 && why.contains("can be reached from other machines"), "{code} {why}");
    let (code, why) = refused(&["serve", "--database", "sqlite:/nowhere/at/all.db"]);
    assert!(code == 1 && why.contains("/nowhere/at/all.db"), "{code} {why}");
    let (code, why) = refused(&["serve", "--database", &url, "--log", "control=loud"]);
    assert!(code == 2 && why.contains("filter"), "{code} {why}");
    let plane = serve(home.path());
    let (code, why) = refused(&["serve", "--database", &url, "--listen", "127.0.0.1:0"]);
    assert!(code == 1 && why.contains("in use by another process"), "{code} {why}");
    let taken = plane.url.trim_start_matches("http://");
    let (code, why) = refused(&["serve", "--database", &format!("{url}2"), "--listen", taken]);
    assert!(code == 1 && why.contains("cannot listen"), "{code} {why}");
}

#[test]
fn a_person_can_manage_everything_from_the_command_line() {
    let home = tempfile::tempdir().unwrap();
    let token = operator_token(home.path());
    let plane = serve(home.path());
    let run = |words: &[&str]| plane.run(home.path(), &token, words);
    let json = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["-o", "json"]).collect();
        value(&run(&words))
    };
    assert_eq!(json(&["whoami"])["principal"]["name"], "ops@cloud.example");

    // The catalogue.
    assert_eq!(json(&["region", "create", "eu-1", "--name", "Europe", "--disabled"])["enabled"], false);
    assert_eq!(json(&["region", "update", "eu-1", "--enabled", "true"])["version"], 2);
    json(&["pool", "create", "a", "--name", "A", "--region", "eu-1", "--gpu-model", "h200-sxm"]);
    assert_eq!(json(&["pool", "update", "a", "--slices-enabled", "true"])["slices_enabled"], true);
    let sku = [
        "sku",
        "create",
        "s",
        "--name",
        "S",
        "--shape",
        "gpu_slice",
        "--gpu-model",
        "h200-sxm",
        "--gpu-counts",
        "1,2",
        "--vcpus-per-gpu",
        "8",
        "--memory-mib-per-gpu",
        "1024",
        "--price-micros-per-gpu-hour",
        "1",
    ];
    json(&sku);
    let taken = run(&sku);
    assert!(taken.code == 5 && taken.stderr.contains("name_taken"), "{}", taken.stderr);
    assert_eq!(json(&["sku", "list"])["items"].as_array().unwrap().len(), 1);

    // Tenants, projects, people, tokens.
    let tenant = json(&["tenant", "create", "acme", "--name", "Acme", "--idempotency-key", "make-acme"]);
    assert_eq!(
        json(&["tenant", "create", "acme", "--name", "Acme", "--idempotency-key", "make-acme"]),
        tenant,
        "the same wish once"
    );
    let other = run(&["tenant", "create", "acme", "--name", "Other", "--idempotency-key", "make-acme"]);
    assert!(other.code == 5 && other.stderr.contains("idempotency_key_reused"), "{}", other.stderr);
    json(&["project", "create", "research", "--tenant", "acme", "--name", "Research", "--gpu-cap", "4"]);
    assert_eq!(json(&["project", "update", "acme/research", "--gpu-cap", "8"])["gpu_cap"], 8);
    let stale = run(&["project", "update", "research", "--gpu-cap", "9", "--if-version", "1"]);
    assert!(stale.code == 5 && stale.stderr.contains("stale_version"), "{}", stale.stderr);
    let member =
        json(&["member", "create", "--tenant", "acme", "--email", "ada@acme.example", "--role", "tenant_admin"]);
    json(&["service-account", "create", "builder", "--tenant", "acme"]);
    json(&[
        "member",
        "create",
        "--tenant",
        "acme",
        "--service-account",
        "acme/builder",
        "--role",
        "project_member",
        "--project",
        "acme/research",
    ]);
    let ada = json(&[
        "token",
        "create",
        "ada",
        "--scope",
        "write",
        "--lifetime",
        "1d",
        "--principal",
        member["principal_id"].as_str().unwrap(),
        "--restrict-tenant",
        "acme",
    ]);
    let secret = ada["secret"].as_str().unwrap().to_owned();
    let as_ada = |words: &[&str]| plane.run(home.path(), &secret, words);
    assert_eq!(value(&as_ada(&["tenant", "list", "-o", "json"]))["items"].as_array().unwrap().len(), 1);
    let forbidden = as_ada(&["region", "create", "x", "--name", "X"]);
    assert!(forbidden.code == 4 && forbidden.stderr.contains("forbidden"), "{}", forbidden.stderr);
    let unknown = as_ada(&["tenant", "show", "tnt_01jh2n6f4zw8q9r0s1t2v3x4y5"]);
    assert!(unknown.code == 3 && unknown.stderr.contains("not_found"), "{}", unknown.stderr);
    assert_eq!(run(&["token", "revoke", ada["token"]["id"].as_str().unwrap(), "--yes"]).code, 0);
    let revoked = as_ada(&["whoami"]);
    assert!(revoked.code == 4 && revoked.stderr.contains("token_revoked"), "{}", revoked.stderr);

    long_work(&json, &run);
    records(home.path(), &json, &run);
}

fn long_work(json: &dyn Fn(&[&str]) -> Value, run: &dyn Fn(&[&str]) -> Ran) {
    assert_eq!(json(&["tenant", "suspend", "acme", "--yes"])["state"], "succeeded");
    let launch = run(&["launch", "x", "--project", "acme/research", "--sku", "s", "--gpus", "1", "--region", "eu-1"]);
    assert!(launch.code == 5 && launch.stderr.contains("state_conflict"), "{} {}", launch.code, launch.stderr);
    assert_eq!(json(&["tenant", "resume", "acme"])["state"], "succeeded");
    // There is no node, so nothing that fits is free.
    let launch = run(&["launch", "x", "--project", "acme/research", "--sku", "s", "--gpus", "1", "--region", "eu-1"]);
    assert!(launch.code == 7 && launch.stderr.contains("sku_unavailable"), "{} {}", launch.code, launch.stderr);
    let too_many = run(&["launch", "x", "--project", "acme/research", "--sku", "s", "--gpus", "3", "--region", "eu-1"]);
    assert!(matches!(too_many.code, 2 | 5), "{} {}", too_many.code, too_many.stderr);
    let started = json(&["tenant", "delete", "acme", "--yes", "--no-wait"]);
    let ended = json(&["operation", "wait", started["id"].as_str().unwrap()]);
    assert_eq!(ended["state"], "succeeded", "{ended}");
    assert_eq!(json(&["tenant", "show", started["subject_id"].as_str().unwrap()])["observed"]["projects"], 0);
}

fn records(home: &Path, json: &dyn Fn(&[&str]) -> Value, run: &dyn Fn(&[&str]) -> Ran) {
    let listed = json(&["event", "list", "--limit", "5"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 5);
    let followed = run(&["event", "follow", "--after", "0", "--limit", "10", "-o", "json"]);
    let numbers: Vec<String> = followed
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["sequence"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(numbers, (1..=10).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(!json(&["audit", "list"])["items"].as_array().unwrap().is_empty());
    assert_eq!(json(&["status"])["store_engine"], "sqlite");
    assert!(run(&["api", "get", "/metrics"]).stdout.ends_with("# EOF\n"));
    assert_eq!(json(&["api", "get", "/openapi.json"])["openapi"].as_str().unwrap().split('.').next(), Some("3"));
    let sound = ran(gpuaas(home).args(["verify", "--database", &store_url(home)]).output().unwrap());
    assert_eq!(sound.code, 0, "{}{}", sound.stdout, sound.stderr);
}

#[test]
fn a_restart_keeps_everything_and_ctrl_c_is_an_orderly_end() {
    let home = tempfile::tempdir().unwrap();
    let token = operator_token(home.path());
    let mut plane = serve(home.path());
    assert_eq!(plane.run(home.path(), &token, &["region", "create", "eu-1", "--name", "Europe"]).code, 0);
    assert_eq!(plane.signal("-INT"), Some(0));
    let plane = serve(home.path());
    assert_eq!(plane.run(home.path(), &token, &["region", "show", "eu-1"]).code, 0);
}
