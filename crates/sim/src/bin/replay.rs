//! Runs the world of one seed again and tells all of it: `cargo run -p sim --bin replay -- --seed 7`.
//! With `--features planted-bugs` and `--planted BUG` a deliberate bug is switched on first.

use sim::run::{Report, run};
use std::{io::Write, process::ExitCode};

struct Asked {
    seed: u64,
    planted: Option<String>,
    quiet: bool,
}

fn asked() -> Result<Asked, String> {
    let (mut seed, mut planted, mut quiet) = (None, None, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seed" => seed = words.next().and_then(|text| text.parse().ok()),
            "--planted" => planted = words.next(),
            "--quiet" => quiet = true,
            other => return Err(format!("`{other}` is not known; accepted: --seed N, --planted BUG, --quiet")),
        }
    }
    Ok(Asked { seed: seed.ok_or("--seed takes a whole number")?, planted, quiet })
}

fn played(asked: &Asked) -> Result<Report, String> {
    match &asked.planted {
        None => run(asked.seed, !asked.quiet, |_| Ok(())).map_err(|fault| fault.to_string()),
        Some(bug) => planted(bug, asked),
    }
}

#[cfg(feature = "planted-bugs")]
fn planted(bug: &str, asked: &Asked) -> Result<Report, String> {
    let bug = bug.parse().map_err(|unknown: model::text::UnknownWord| unknown.to_string())?;
    sim::planted::run_planted(bug, asked.seed, !asked.quiet).map_err(|fault| fault.to_string())
}

#[cfg(not(feature = "planted-bugs"))]
fn planted(_: &str, _: &Asked) -> Result<Report, String> {
    Err("planted bugs are not compiled in; accepted: cargo run -p sim --features planted-bugs --bin replay -- …"
        .to_owned())
}

fn main() -> ExitCode {
    let report = match asked().and_then(|asked| played(&asked)) {
        Ok(report) => report,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            return ExitCode::from(2);
        }
    };
    let mut out = std::io::stdout().lock();
    if report.failure.is_none() {
        for line in &report.lines {
            let _ = writeln!(out, "  {line}");
        }
    }
    let _ = writeln!(out, "{report}");
    if report.failure.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
