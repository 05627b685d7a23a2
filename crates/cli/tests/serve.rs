//! The command against the real control plane, both as processes.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{
    Ran,
    desk::Desk,
    gpuaas,
    plane::{Plane, operator_token, serve, store_url},
    ran,
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use store::{Dialect, testing::Place};

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
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    assert_eq!(desk.json(&["whoami"])["principal"]["name"], "ops@cloud.example");
    catalogue(&desk);
    images(&desk);
    tenants(&desk);
    people(&desk);
    long_work(&desk);
    records(&desk);
}

fn catalogue(desk: &Desk<'_>) {
    assert_eq!(desk.json(&["region", "create", "eu-1", "--name", "Europe", "--disabled"])["enabled"], false);
    assert_eq!(desk.json(&["region", "update", "eu-1", "--enabled", "true"])["version"], 2);
    desk.json(&["pool", "create", "a", "--name", "A", "--region", "eu-1", "--gpu-model", "h200-sxm"]);
    assert_eq!(desk.json(&["pool", "update", "a", "--slices-enabled", "true"])["slices_enabled"], true);
    desk.refused("still_in_use", 5, &["region", "delete", "eu-1", "--yes"]);
    let line = "sku create s --name S --shape gpu_slice --gpu-model h200-sxm --gpu-counts 1,2 --vcpus-per-gpu 8 --memory-mib-per-gpu 1024 --price-micros-per-gpu-hour 1";
    let sku: Vec<&str> = line.split(' ').collect();
    desk.json(&sku);
    desk.refused("name_taken", 5, &sku);
    assert_eq!(desk.json(&["sku", "list"])["items"].as_array().unwrap().len(), 1);
}

/// From a file to an image that can be launched, as a person does it.
fn images(desk: &Desk<'_>) {
    let at = |name: &str| desk.home.join(name).display().to_string();
    let (key, file, other, entry) = (at("images.key"), at("debian.raw"), at("other.raw"), at("debian.json"));
    std::fs::write(&file, vec![7u8; 1024 * 1024]).unwrap();
    std::fs::write(&other, vec![8u8; 1024 * 1024]).unwrap();
    let made = desk.json(&["image", "keygen", &key, "--key-id", "ours"]);
    let public = made["public_key"].as_str().unwrap();
    let signed = desk.run(&["image", "sign", &file, "--id", "debian-12", "--kind", "base", "--key", &key]);
    std::fs::write(&entry, &signed.stdout).unwrap();
    desk.refused("image_refused", 5, &["image", "add", &entry]);
    desk.json(&["image", "key", "add", "ours", public]);
    assert_eq!(desk.json(&["image", "add", &entry])["state"], "registered");
    desk.refused("image_refused", 5, &["image", "upload", "debian-12", &other]);
    let brought = desk.json(&["image", "upload", "debian-12", &file]);
    assert_eq!(brought["state"], "available");
    let kept = desk.home.join("images").join(brought["entry"]["sha256"].as_str().unwrap());
    assert_eq!(std::fs::read(kept).unwrap(), vec![7u8; 1024 * 1024]);
    assert_eq!(desk.json(&["image", "default", "debian-12"])["is_default"], true);
    assert_eq!(desk.json(&["image", "list"])["items"].as_array().unwrap().len(), 1);
    assert_eq!(desk.json(&["image", "key", "list"])["items"][0]["key_id"], "ours");
}

fn tenants(desk: &Desk<'_>) {
    let acme = ["tenant", "create", "acme", "--name", "Acme", "--idempotency-key", "make-acme"];
    assert_eq!(desk.json(&acme), desk.json(&acme), "the same wish once");
    let other = ["tenant", "create", "acme", "--name", "Other", "--idempotency-key", "make-acme"];
    desk.refused("idempotency_key_reused", 5, &other);
    desk.json(&["project", "create", "research", "--tenant", "acme", "--name", "Research", "--gpu-cap", "4"]);
    assert_eq!(desk.json(&["project", "update", "acme/research", "--gpu-cap", "8"])["gpu_cap"], 8);
    desk.refused("stale_version", 5, &["project", "update", "research", "--gpu-cap", "9", "--if-version", "1"]);
}

fn people(desk: &Desk<'_>) {
    let ada = "member create --tenant acme --email ada@acme.example --role tenant_admin";
    let ada = desk.json(&ada.split(' ').collect::<Vec<_>>());
    desk.json(&["service-account", "create", "builder", "--tenant", "acme"]);
    let builder =
        "member create --tenant acme --service-account acme/builder --role project_member --project acme/research";
    desk.json(&builder.split(' ').collect::<Vec<_>>());
    let owner = ada["principal_id"].as_str().unwrap();
    let made =
        desk.json(&["token", "create", "ada", "--scope", "write", "--principal", owner, "--restrict-tenant", "acme"]);
    let theirs = Desk { token: made["secret"].as_str().unwrap(), ..*desk };
    assert_eq!(theirs.json(&["tenant", "list"])["items"].as_array().unwrap().len(), 1);
    theirs.refused("forbidden", 4, &["region", "create", "x", "--name", "X"]);
    theirs.refused("not_found", 3, &["tenant", "show", "tnt_01jh2n6f4zw8q9r0s1t2v3x4y5"]);
    assert_eq!(desk.run(&["token", "revoke", made["token"]["id"].as_str().unwrap(), "--yes"]).code, 0);
    theirs.refused("token_revoked", 4, &["whoami"]);
}

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ ada";

fn long_work(desk: &Desk<'_>) {
    let launch =
        |gpus| ["launch", "x", "--project", "acme/research", "--sku", "s", "--gpus", gpus, "--region", "eu-1", "--yes"];
    assert_eq!(desk.json(&["tenant", "suspend", "acme", "--yes"])["state"], "succeeded");
    desk.refused("state_conflict", 5, &[&launch("1")[..], &["--no-ssh-key"]].concat());
    assert_eq!(desk.json(&["tenant", "resume", "acme"])["state"], "succeeded");
    let keyless = desk.run(&launch("1"));
    assert!(keyless.code == 5 && keyless.stderr.contains("gpuaas ssh-key add"), "{} {}", keyless.code, keyless.stderr);
    desk.json(&["ssh-key", "add", "laptop", "--project", "acme/research", "--key", KEY]);
    // There is no node, so nothing that fits is free.
    desk.refused("sku_unavailable", 7, &launch("1"));
    desk.refused("/gpu_count", 5, &launch("3"));
    let started = desk.json(&["tenant", "delete", "acme", "--yes", "--no-wait"]);
    let ended = desk.json(&["operation", "wait", started["id"].as_str().unwrap()]);
    assert_eq!(ended["state"], "succeeded", "{ended}");
    assert_eq!(desk.json(&["tenant", "show", started["subject_id"].as_str().unwrap()])["observed"]["projects"], 0);
}

fn records(desk: &Desk<'_>) {
    let listed = desk.json(&["event", "list", "--limit", "5"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 5);
    let followed = desk.run(&["event", "follow", "--after", "0", "--limit", "10", "-o", "json"]);
    let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["sequence"].as_str().unwrap().to_owned();
    let numbers: Vec<String> = followed.stdout.lines().map(number).collect();
    assert_eq!(numbers, (1..=10).map(|n| n.to_string()).collect::<Vec<_>>());
    let audited = |words: &[&str]| {
        let listed = desk.json(&[&["audit", "list"][..], words].concat());
        listed["items"].as_array().unwrap().clone()
    };
    let all = audited(&[]);
    assert_eq!(audited(&["--newest", "--limit", "1"]), all[all.len() - 1..]);
    let made = audited(&["--action", "tenant_create"]);
    let subject = made[0]["subject"].as_str().unwrap();
    assert_eq!(audited(&["--action", "tenant_create", "--subject", subject, "--from", "2020-01-01T00:00:00Z"]), made);
    assert_eq!(audited(&["--actor", "system:nobody"]), [Value::Null; 0]);
    let told = desk.json(&["event", "list", "--subject", subject]);
    assert!(told["items"].as_array().unwrap().iter().all(|event| event["subject"] == subject));
    assert_eq!(told["items"][0]["data"]["change"], "created");
    let asked = desk.json(&["allocation", "list", "--all-projects", "--state", "refused", "--tenant", subject]);
    assert_eq!(asked["items"].as_array().unwrap().len(), 1, "{asked}");
    assert_eq!(desk.json(&["slot", "list", "--state", "available"])["items"], Value::Array(vec![]), "there is no node");
    assert_eq!(desk.json(&["status"])["store_engine"], "sqlite");
    assert!(desk.run(&["api", "get", "/metrics"]).stdout.ends_with("# EOF\n"));
    assert!(desk.json(&["api", "get", "/openapi.json"])["openapi"].as_str().unwrap().starts_with("3."));
    let sound = ran(gpuaas(desk.home).args(["verify", "--database", &store_url(desk.home)]).output().unwrap());
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

/// Asks until the answer is the wanted one; a replica takes over within seconds or not at all.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn replicas_on_postgres_share_the_work_and_survive_the_leader() {
    let home = tempfile::tempdir().unwrap();
    let place = Place::new(Dialect::Postgres);
    let replica = |name: &str| {
        let words =
            ["serve", "--database", place.url(), "--listen", "127.0.0.1:0", "--replica", name, "--lease-ttl-s", "1"];
        Plane::start(home.path(), &words)
    };
    let mut first = replica("one");
    let email = ["bootstrap", "--database", place.url(), "--email", "ops@cloud.example", "-o", "json"];
    let made = value(&ran(gpuaas(home.path()).args(email).output().unwrap()));
    let token = made["secret"].as_str().unwrap();
    let leader = |plane: &Plane| value(&plane.run(home.path(), token, &["status", "-o", "json"]))["leader"].clone();
    eventually("nobody leads", || leader(&first) == "one");
    let second = replica("two");
    assert_eq!(leader(&second), "one");
    assert_eq!(first.run(home.path(), token, &["region", "create", "eu-1", "--name", "Europe"]).code, 0);
    assert_eq!(first.signal("-KILL"), None);
    eventually("the other replica does not take over", || leader(&second) == "two");
    assert_eq!(second.run(home.path(), token, &["region", "show", "eu-1"]).code, 0);
    let events = ["event", "follow", "--after", "0", "--limit", "3"];
    assert_eq!(second.run(home.path(), token, &events).stdout.lines().count(), 3, "numbering goes on");
    let sound = ran(gpuaas(home.path()).args(["verify", "--database", place.url()]).output().unwrap());
    assert_eq!(sound.code, 0, "{}{}", sound.stdout, sound.stderr);
}
