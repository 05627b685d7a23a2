//! Chores of the project that are not part of the product, run as `cargo xtask CHORE`.
//!
//! `check` holds the workspace to its own rules: which crate may use which, what the pure crates must not touch, and how
//! large a file or function may grow. It reads the manifests and the sources and changes nothing. `conformance` replays the
//! cases of other schedulers against ours.

mod check;
mod conformance;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE

chores:
  check    check the rules of the workspace; prints file:line: rule: why, and exits 1 if anything is wrong
  rules    list the rules that `check` enforces
  conformance [--file FILE]... [--json]
           replay cases of other schedulers against ours, those of the project or of these files; the last line says how they
           fared as JSON, with --json it is the only one; exits 1 unless every case of a required kind passes
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => check_run(),
        ["rules"] => say(&check::rules_text()),
        ["conformance", rest @ ..] => conformance_run(rest),
        ["help" | "--help" | "-h"] => say(USAGE),
        _ => {
            complain(USAGE);
            ExitCode::from(2)
        }
    }
}

fn check_run() -> ExitCode {
    let workspace = match check::Workspace::load(&root()) {
        Ok(workspace) => workspace,
        Err(why) => {
            complain(&format!("cargo xtask check: {why}\n"));
            return ExitCode::from(2);
        }
    };
    let violations = check::run(&workspace);
    let listing: String = violations.iter().map(|violation| format!("{violation}\n")).collect();
    let (crates, files) = (workspace.crates.len(), workspace.sources.len());
    if violations.is_empty() {
        return say(&format!("{crates} crates and {files} files keep the rules\n"));
    }
    say(&listing);
    complain(&format!(
        "{} of the workspace's rules broken; `cargo xtask rules` says what they are\n",
        violations.len()
    ));
    ExitCode::FAILURE
}

fn conformance_run(words: &[&str]) -> ExitCode {
    let (mut files, mut as_json, mut words) = (Vec::new(), false, words.iter());
    while let Some(word) = words.next() {
        match (*word, word.strip_prefix("--file=")) {
            ("--json", _) => as_json = true,
            ("--file", _) if !words.as_slice().is_empty() => files.extend(words.next().map(PathBuf::from)),
            (_, Some(file)) => files.push(PathBuf::from(file)),
            _ => {
                complain(USAGE);
                return ExitCode::from(2);
            }
        }
    }
    if files.is_empty() {
        files = conformance::OWN_FILES.iter().map(|file| root().join(file)).collect();
    }
    match conformance::play(&files) {
        Ok(report) => {
            let text = if as_json { String::new() } else { report.text() };
            let said = say(&format!("{text}{}\n", report.json()));
            if report.is_good() { said } else { ExitCode::FAILURE }
        }
        Err(why) => {
            complain(&format!("cargo xtask conformance: {why}\n"));
            ExitCode::from(2)
        }
    }
}

/// The workspace's directory: where cargo found this crate, two up; or the current one when run without cargo.
fn root() -> PathBuf {
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let two_up = crate_dir.as_deref().and_then(|dir| dir.parent()?.parent()).map(PathBuf::from);
    two_up.unwrap_or_else(|| PathBuf::from("."))
}

fn say(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn complain(text: &str) {
    // Nothing can be done about a closed standard error; the exit code still tells.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
