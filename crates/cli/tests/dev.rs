//! `gpuaas dev` as a person meets it: the printed session is run as it stands, twice, with a stop in between.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{gpuaas, plane::Plane, ran};
use std::{collections::BTreeMap, path::Path, process::Command};

struct Welcome {
    tokens: BTreeMap<String, String>,
    session: Vec<String>,
}

fn start(home: &Path, more: &[&str]) -> (Plane, Welcome) {
    let folder = home.join("dev");
    let words: Vec<&str> = ["dev", "--data-dir", folder.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log", "warn"]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    let mut plane = Plane::start(home, &words);
    let (mut tokens, mut session) = (BTreeMap::new(), Vec::new());
    loop {
        let line = plane.line();
        if line.contains("Ctrl-C") {
            return (plane, Welcome { tokens, session });
        }
        if let Some(command) =
            line.strip_prefix("  export ").map(|_| line.trim()).or(line.strip_prefix("  gpuaas ").map(|_| line.trim()))
        {
            session.push(command.to_owned());
        } else if let [role, secret, ..] = line.split_whitespace().collect::<Vec<_>>()[..]
            && secret.starts_with("gpuaas_")
        {
            tokens.insert(role.to_owned(), secret.to_owned());
        }
    }
}

/// Runs the printed commands in one shell that stops at the first that fails.
fn shell(home: &Path, session: &[String]) -> common::Ran {
    let binary = Path::new(env!("CARGO_BIN_EXE_gpuaas")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let script = format!("set -euo pipefail\n{}\n", session.join("\n"));
    ran(Command::new("bash")
        .arg("-c")
        .arg(script)
        .env_clear()
        .env("HOME", home)
        .env("PATH", path)
        .current_dir(home)
        .output()
        .unwrap())
}

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN1CZlhofS60IfKCOYSNdKAhVWqk92zZqBBrMYEtjN3w ada\n";

/// Launches with a key after looking at the plan; the id.
fn launched(plane: &Plane, home: &Path, token: &str) -> String {
    let mut launch: Vec<&str> =
        "launch kept --project aurora/vision --sku h200-sxm-slice --gpus 1 --region eu-north".split(' ').collect();
    launch.extend(["--ssh-key", "laptop", "--label", "team=vision", "-o", "json"]);
    let with = |more: &'static str| -> Vec<&str> { launch.iter().copied().chain([more]).collect() };
    let key = home.join("id.pub");
    std::fs::write(&key, KEY).unwrap();
    let add = ["ssh-key", "add", "laptop", "--project", "aurora/vision", "--file", key.to_str().unwrap()];
    let added = plane.run(home, token, &add);
    assert!(added.code == 0 && added.stdout.contains("SHA256:"), "{} {}", added.stdout, added.stderr);
    let planned: serde_json::Value = serde_json::from_str(&plane.run(home, token, &with("--dry-run")).stdout).unwrap();
    assert_eq!((&planned["admitted"], &planned["fits"]), (&true.into(), &true.into()), "{planned}");
    let unasked = plane.run(home, token, &launch);
    let told = |text: &str| unasked.stderr.contains(text);
    assert!(unasked.code == 2 && told("an hour") && told("--yes"), "{}", unasked.stderr);
    let kept = plane.run(home, token, &with("--yes"));
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    let operation: serde_json::Value = serde_json::from_str(&kept.stdout).unwrap();
    operation["subject_id"].as_str().unwrap().to_owned()
}

/// What owners and operators see of an allocation that runs.
fn looked_at(plane: &Plane, home: &Path, tokens: &BTreeMap<String, String>, allocation: &str) {
    let json = |role: &str, args: &[&str]| -> serde_json::Value {
        let mut all = args.to_vec();
        all.extend(["-o", "json"]);
        let seen = plane.run(home, &tokens[role], &all);
        assert_eq!(seen.code, 0, "{args:?}: {}", seen.stderr);
        serde_json::from_str(&seen.stdout).unwrap()
    };
    let why = json("viewer", &["allocation", "why", allocation]);
    assert_eq!(why["items"][1]["outcome"], "placed", "{why}");
    let steps = json("viewer", &["allocation", "timeline", allocation]);
    let steps: Vec<&str> = steps["items"].as_array().unwrap().iter().map(|e| e["step"].as_str().unwrap()).collect();
    for step in ["admission", "placement", "order", "clone", "network", "boot", "ssh_ready", "running"] {
        assert!(steps.contains(&step), "{step}: {steps:?}");
    }
    let inspected = json("platform_operator", &["admin", "allocation", "show", allocation]);
    assert_eq!(inspected["claims"].as_array().unwrap().len(), 1);
    let table = plane.run(home, &tokens["platform_operator"], &["admin", "allocation", "show", allocation]);
    assert!(table.stdout.contains("CLAIMS") && table.stdout.contains("DECISION"), "{}", table.stdout);
    assert!(!json("operator_read_only", &["admin", "occupancy"])["items"].as_array().unwrap().is_empty());
    let usage = json("viewer", &["usage", "--project", "aurora/vision"]);
    assert!(usage["items"].as_array().unwrap().iter().any(|item| item["allocation_id"] == allocation), "{usage}");
    let renamed =
        json("project_member", &["allocation", "update", allocation, "--name", "renamed", "--may-recreate", "true"]);
    assert_eq!((&renamed["name"], &renamed["may_recreate"]), (&"renamed".into(), &true.into()));
    let extended = json("project_member", &["allocation", "extend", allocation, "--until", "2090-01-01T00:00:00Z"]);
    assert_eq!(extended["lease_ends_at"], "2090-01-01T00:00:00.000Z");
    let filled = json("platform_operator", &["admin", "claims", "backfill", "--dry-run"]);
    assert_eq!(filled["claimed"], serde_json::json!([]));
}

#[test]
fn the_printed_session_works_and_everything_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let (mut plane, first) = start(home.path(), &[]);
    let roles: Vec<&str> = first.tokens.keys().map(String::as_str).collect();
    assert_eq!(roles, ["operator_read_only", "platform_operator", "project_member", "tenant_admin", "viewer"]);
    for (role, token) in &first.tokens {
        assert_eq!(plane.run(home.path(), token, &["whoami"]).code, 0, "{role}");
    }
    let ran_once = shell(home.path(), &first.session);
    assert_eq!(ran_once.code, 0, "{}\n{}\n{}", first.session.join("\n"), ran_once.stdout, ran_once.stderr);
    assert!(ran_once.stderr.contains("provisioning"), "{}", ran_once.stderr);
    assert!(ran_once.stderr.contains("clone"), "what the host reports is shown: {}", ran_once.stderr);

    let allocation = launched(&plane, home.path(), &first.tokens["project_member"]);
    let busy = ran(gpuaas(home.path())
        .args(["dev", "--reset", "--data-dir", home.path().join("dev").to_str().unwrap()])
        .output()
        .unwrap());
    assert!(busy.code == 5 && busy.stderr.contains("in use"), "{} {}", busy.code, busy.stderr);
    assert_eq!(plane.signal("-INT"), Some(0));

    let (mut plane, second) = start(home.path(), &[]);
    assert_eq!(second.tokens, first.tokens, "tokens are stable across restarts");
    let shown = plane.run(home.path(), &second.tokens["viewer"], &["allocation", "show", &allocation, "-o", "json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&shown.stdout).unwrap()["execution"],
        "running",
        "{}",
        shown.stderr
    );
    looked_at(&plane, home.path(), &second.tokens, &allocation);
    let released = plane.run(home.path(), &second.tokens["project_member"], &["release", &allocation, "--yes"]);
    assert_eq!(released.code, 0, "{}", released.stderr);
    assert!(released.stderr.contains("wiping"), "what the host reports is shown: {}", released.stderr);
    let whole = ["allocation", "timeline", &allocation, "--follow", "-o", "json"];
    let told = plane.run(home.path(), &second.tokens["viewer"], &whole);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let last = told.stdout.lines().last().unwrap_or_default();
    assert_eq!(serde_json::from_str::<serde_json::Value>(last).unwrap()["step"], "released", "{}", told.stdout);
    let store = format!("sqlite:{}", home.path().join("dev/store.db").display());
    let sound = ran(gpuaas(home.path()).args(["verify", "--database", &store]).output().unwrap());
    assert_eq!(sound.code, 0, "{}{}", sound.stdout, sound.stderr);
    assert_eq!(plane.signal("-TERM"), Some(0));
}

#[test]
fn a_reset_starts_over_and_removes_only_what_is_its_own() {
    let home = tempfile::tempdir().unwrap();
    let (mut plane, first) = start(home.path(), &[]);
    assert_eq!(plane.signal("-INT"), Some(0));
    let mine = home.path().join("dev/notes.txt");
    std::fs::write(&mine, "mine").unwrap();
    let (plane, second) = start(home.path(), &["--reset"]);
    assert_ne!(second.tokens, first.tokens);
    assert_eq!(plane.run(home.path(), &first.tokens["viewer"], &["whoami"]).code, 4);
    assert_eq!(std::fs::read_to_string(mine).unwrap(), "mine");
}

#[test]
fn what_is_kept_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let (_plane, welcome) = start(home.path(), &[]);
    let folder = home.path().join("dev");
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o077, 0);
    let secret = &welcome.tokens["viewer"];
    let fleet = folder.join("fleet");
    let with_secret: Vec<_> = std::fs::read_dir(&fleet)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(secret)))
        .collect();
    assert_eq!(with_secret.len(), 1, "{with_secret:?}");
    assert_eq!(std::fs::metadata(&with_secret[0]).unwrap().permissions().mode() & 0o077, 0);
}
