//! The committed reference of the program is what the program itself says. `UPDATE_GENERATED=1` writes it anew.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, process::Command};

const COMMANDS: &[&str] = &["run", "enroll", "discover", "capture", "doctor"];

fn help(arguments: &[&str]) -> String {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_gpuaas-agent"));
    // What is set here must not stand in the page as if it were a default.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GPUAAS_")) {
        agent.env_remove(name);
    }
    let output = agent.args(arguments).arg("--help").output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn page() -> String {
    let mut page = "# gpuaas-agent\n\n\
        <!-- Written by the program; do not edit. `UPDATE_GENERATED=1 cargo test -p agent` rewrites it. -->\n\n\
        The program that runs on a GPU host. [Run the agent](../guides/run-the-agent.md) says how it is set up.\n\n\
        Exit codes: 0 when the command did what it is for, 1 when it could not or when `doctor` found something missing,\n\
        2 when the command line was not understood.\n\n"
        .to_owned();
    page += &format!("```text\n{}```\n", help(&[]));
    for command in COMMANDS {
        page += &format!("\n## gpuaas-agent {command}\n\n```text\n{}```\n", help(&[command]));
    }
    page
}

#[test]
fn the_committed_page_is_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/agent.md");
    let page = page();
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "docs/reference/agent.md differs; run with UPDATE_GENERATED=1 and review the change");
}

#[test]
fn every_command_is_in_it() {
    let all = help(&[]);
    let listed = all.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let named: Vec<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert_eq!(named, COMMANDS);
}
