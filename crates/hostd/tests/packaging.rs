//! What ships beside the program: its unit starts it, its settings are understood once they have a key, and the agent beside it
//! has no rights.
#![allow(clippy::unwrap_used)]

use hostd::{Config, check, config};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

fn lines(name: &str) -> Vec<String> {
    fs::read_to_string(packaging(name)).unwrap().lines().map(str::to_owned).collect()
}

fn has(name: &str, line: &str) {
    assert!(lines(name).iter().any(|found| found == line), "{line} is not in {name}");
}

#[test]
fn the_example_is_understood_also_with_everything_switched_on() {
    let text = fs::read_to_string(packaging("hostd.toml")).unwrap();
    let example = Config::parse(&text).unwrap();
    assert!(!example.lab && example.images.trusted_keys.is_empty());
    let key = "01".repeat(32);
    let on: Vec<String> = text
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => rest.replace("…64 hexadecimal digits…", &key),
            Some(rest) if rest.starts_with("  {") => rest.to_owned(),
            _ => line.to_owned(),
        })
        .collect();
    let all = Config::parse(&on.join("\n")).unwrap();
    assert_eq!(all.images.trusted_keys.len(), 1);
    let same = Config { images: example.images.clone(), ..all };
    assert_eq!(same, example, "what is shown is what holds without it");
}

#[test]
fn the_unit_starts_the_program_where_its_settings_say() {
    has("gpuaas-hostd.service", "ExecStart=/usr/bin/gpuaas-hostd run");
    has("gpuaas-hostd.service", "RuntimeDirectory=gpuaas-hostd");
    has("gpuaas-hostd.service", "StateDirectory=gpuaas-hostd");
    assert!(config::SOCKET.starts_with("/run/gpuaas-hostd/"));
    let example = Config::parse(&fs::read_to_string(packaging("hostd.toml")).unwrap()).unwrap();
    assert_eq!(example.state_dir, Path::new("/var/lib/gpuaas-hostd"));
    assert_eq!(example.socket, Path::new(config::SOCKET));
    let help = Command::new(env!("CARGO_BIN_EXE_gpuaas-hostd")).args(["run", "--help"]).output().unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains(config::PATH));
}

#[test]
fn what_prepares_a_host_installs_every_program_that_is_needed() {
    let config = Config::parse(&fs::read_to_string(packaging("hostd.toml")).unwrap()).unwrap();
    let needed = check::programs(&config);
    assert!(needed.iter().any(|program| program.name == "nvme") && needed.len() > 10, "{needed:?}");
    let line = lines("host-bootstrap").into_iter().find(|line| line.starts_with("packages=(")).unwrap();
    let installed: Vec<&str> = line["packages=(".len()..].trim_end_matches(')').split(' ').collect();
    for program in &needed {
        assert!(installed.contains(&program.package), "{} is not in {line}", program.package);
    }
    let lab = check::programs(&Config { lab: true, ..config });
    assert!(lab.iter().all(|program| program.name != "nvme"), "a loop device needs none");
}

#[test]
fn the_agent_beside_it_has_no_rights() {
    for line in ["CapabilityBoundingSet=", "AmbientCapabilities=", "NoNewPrivileges=yes", "User=gpuaas-agent"] {
        has("gpuaas-agent.service", line);
    }
    let user = lines("hostd.toml").into_iter().find(|line| line.starts_with("agent_user")).unwrap();
    assert_eq!(user, "agent_user = \"gpuaas-agent\"");
    let rated = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager", "--threshold=20"])
        .arg(packaging("gpuaas-agent.service"))
        .output()
        .expect("systemd-analyze is installed by scripts/install-test-tools");
    assert!(rated.status.success(), "{}", String::from_utf8_lossy(&rated.stdout));
}

#[test]
fn the_program_says_what_is_wrong_with_its_settings() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_gpuaas-hostd")).args(words).output().unwrap();
        (out.status.code(), format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr)))
    };
    let (code, said) = run(&["check", "--config", "/nonexistent"]);
    assert!(code == Some(1) && said.contains("cannot be read"), "{said}");
    let path = folder.path().join("hostd.toml");
    let text = fs::read_to_string(packaging("hostd.toml")).unwrap();
    fs::write(&path, text.replace("accelerator = \"kvm\"", "accelerator = \"auto\"")).unwrap();
    let (code, said) = run(&["check", "--config", path.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("accelerator"), "{said}");
    fs::write(&path, text).unwrap();
    let (code, said) = run(&["run", "--lab", "--config", path.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("lab must be true, as on the command line, found false"), "{said}");
    let (code, said) = run(&["check", "--config", path.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("MISSING      images.trusted_keys names no key"), "{said}");
}
