//! What ships beside the program: the unit is sandboxed well enough, starts the program with settings that it knows, and the
//! scripts change nothing unless they are asked to.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").canonicalize().unwrap()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../topology/fixtures").join(name).join("root")
}

fn script(name: &str, arguments: &[&str]) -> Output {
    Command::new(packaging().join(name)).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_unit_is_rated_two_or_better() {
    let rated = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager", "--threshold=20"])
        .arg(packaging().join("gpuaas-agent.service"))
        .output()
        .expect("systemd-analyze is installed by scripts/install-test-tools");
    assert!(rated.status.success(), "{}", said(&rated));
    assert!(said(&rated).contains("Overall exposure level"), "{}", said(&rated));
}

#[test]
fn the_unit_starts_the_program_with_settings_that_it_knows() {
    let unit = fs::read_to_string(packaging().join("gpuaas-agent.service")).unwrap();
    assert!(unit.lines().any(|line| line == "ExecStart=/usr/bin/gpuaas-agent run"), "{unit}");
    let help = Command::new(env!("CARGO_BIN_EXE_gpuaas-agent")).args(["run", "--help"]).output().unwrap();
    let help = said(&help);
    let settings = fs::read_to_string(packaging().join("agent.env")).unwrap();
    let names: Vec<&str> = settings
        .lines()
        .filter_map(|line| line.trim_start_matches('#').split_once('='))
        .map(|(name, _)| name)
        .collect();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        assert!(help.contains(&format!("{name}=")), "{name} is not in {help}");
    }
    assert!(help.contains("/var/lib/gpuaas-agent") && unit.contains("StateDirectory=gpuaas-agent\n"));
}

#[test]
fn the_firmware_preflight_finds_what_is_missing_on_captured_hosts() {
    let check = |name: &str| script("firmware-preflight", &["--root", fixture(name).to_str().unwrap()]);
    let well = check("hgx-h200");
    assert_eq!(well.status.code(), Some(0), "{}", said(&well));
    assert_eq!(said(&well).matches("virtual functions").count(), 8, "one line a card, none for the BlueField");
    let bare = check("dev-machine");
    assert_eq!(bare.status.code(), Some(1), "{}", said(&bare));
    for what in ["the IOMMU is off", "no GPU", "no fabric card"] {
        assert!(said(&bare).contains(what), "{}", said(&bare));
    }
}

#[test]
fn the_scripts_refuse_what_they_do_not_understand_and_change_only_what_is_named() {
    for (name, arguments, why) in [
        ("firmware-preflight", vec!["--apply"], "needs at least one --card"),
        ("firmware-preflight", vec!["--apply", "--card", "0000:19:00.0; reboot"], "no PCI address"),
        ("firmware-preflight", vec!["--apply", "--card", "0000:19:00.0", "--root", "/tmp"], "takes no --root"),
        ("firmware-preflight", vec!["--vfs", "many"], "needs a number"),
        ("firmware-preflight", vec!["--force"], "unknown argument"),
        ("host-bootstrap", vec!["--hugepages-gib", "1; reboot"], "needs a number"),
        ("host-bootstrap", vec!["--force"], "unknown argument"),
    ] {
        let output = script(name, &arguments);
        assert_eq!(output.status.code(), Some(2), "{name} {arguments:?}: {}", said(&output));
        assert!(said(&output).contains(why), "{name} {arguments:?}: {}", said(&output));
    }
}

#[test]
fn the_bootstrap_only_says_what_it_would_do_unless_asked() {
    let ours = ["/etc/default/grub.d/60-gpuaas.cfg", "/etc/modules-load.d/gpuaas.conf"];
    let before = ours.map(|path| fs::read(path).ok());
    let output = script("host-bootstrap", &["--hugepages-gib", "3"]);
    assert!([Some(0), Some(1)].contains(&output.status.code()), "{}", said(&output));
    assert!(said(&output).contains("hugepagesz=1G hugepages=3"), "{}", said(&output));
    assert!(!said(&output).lines().any(|line| line.starts_with("do ")), "{}", said(&output));
    assert!(ours.map(|path| fs::read(path).ok()) == before);
}
