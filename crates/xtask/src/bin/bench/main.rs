//! `make bench`: what the platform does on this machine, each figure beside a limit measured in the same run.
//!
//! Prints one line a figure, `BENCH name value unit limit ratio`, the median of five runs, and writes the same as JSON to
//! `target/bench/`. These are measurements, never tests: nothing here fails because the machine was busy.
//! The server under load is the release binary in a process of its own, so its CPU and memory are its own.

mod commits;
mod disk;
mod figure;
mod http;
mod process;
mod server;
mod start;

use figure::Report;
use std::process::ExitCode;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let mut report = Report::new("foundation");
    let outcome = run(&mut report, is_wanted);
    if let Err(why) = report.write() {
        figure::complain(&format!("the report could not be written: {why}"));
        return ExitCode::FAILURE;
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            figure::complain(&format!("bench: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn run(report: &mut Report, is_wanted: impl Fn(&str) -> bool) -> Result<(), String> {
    let syncs_per_s = disk::syncs_per_second(report)?;
    if is_wanted("commits") {
        commits::measure(report, syncs_per_s)?;
    }
    if is_wanted("start") {
        start::measure(report)?;
    }
    if is_wanted("idle") {
        server::idle_memory(report)?;
    }
    if is_wanted("http") {
        http::measure(report, syncs_per_s)?;
    }
    Ok(())
}
