//! `make bench`: what the platform does on this machine, each figure beside a limit measured in the same run.
//!
//! Prints one line a figure, `BENCH name value unit limit ratio`, the median of its runs, and writes the same as JSON to
//! `target/bench/`. These are measurements, never tests: nothing here fails because the machine was busy.
//! The server under load is the release binary in a process of its own, so its CPU and memory are its own.

mod agents;
mod commits;
mod discovery;
mod disk;
mod engine_speed;
mod figure;
mod governance;
mod ground;
mod http;
mod launches;
mod made_fleet;
mod placements;
mod process;
mod quality;
mod runtime;
mod server;
mod start;

use figure::Report;
use std::process::ExitCode;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [word, rest @ ..] = wanted.as_slice()
        && word == agents::LOAD_WORD
    {
        return agents::load(rest);
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let (mut foundation, mut supply) = (Report::new("foundation"), Report::new("supply"));
    let (mut placement, mut runtime) = (Report::new("placement"), Report::new("runtime"));
    let mut governance = Report::new("governance");
    let outcome = measure_foundation(&mut foundation, is_wanted)
        .and_then(|()| measure_supply(&mut supply, is_wanted))
        .and_then(|()| measure_placement(&mut placement, is_wanted))
        .and_then(|()| runtime::measure(&mut runtime, is_wanted))
        .and_then(|()| if is_wanted("governance") { governance::measure(&mut governance) } else { Ok(()) });
    for report in [foundation, supply, placement, runtime, governance] {
        if let Err(why) = report.write() {
            figure::complain(&format!("the report could not be written: {why}"));
            return ExitCode::FAILURE;
        }
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            figure::complain(&format!("bench: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn measure_foundation(report: &mut Report, is_wanted: impl Fn(&str) -> bool) -> Result<(), String> {
    if !["commits", "start", "idle", "http"].into_iter().any(&is_wanted) {
        return Ok(());
    }
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

fn measure_supply(report: &mut Report, is_wanted: impl Fn(&str) -> bool) -> Result<(), String> {
    if is_wanted("discovery") {
        discovery::measure(report)?;
    }
    if is_wanted("agents") {
        agents::measure(report)?;
    }
    Ok(())
}

fn measure_placement(report: &mut Report, is_wanted: impl Fn(&str) -> bool) -> Result<(), String> {
    if is_wanted("engine") {
        engine_speed::measure(report)?;
    }
    if is_wanted("quality") {
        let quick = std::env::args().any(|word| word == "quick");
        quality::measure(report, if quick { quality::QUICK } else { quality::FULL })?;
    }
    // `placements` is both engines, `placements-sqlite` one of them.
    let on = |part: &str, engine: &str| is_wanted(part) || is_wanted(&format!("{part}-{engine}"));
    let alone = placements::measure(report, |engine| on("placements", engine))?;
    launches::measure(report, alone, |engine| on("launches", engine))?;
    Ok(())
}
