//! How fast each policy goes through a trace. Prints one line a policy: how long it took, and what it came to; and writes the
//! report.
//!
//! `cargo run --release -p lab --example replay_speed -- TRACE.csv REPORT.html [JOBS [POLICIES]]`

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an example reads a file, measures and uses threads"
)]
#![allow(clippy::print_stdout, reason = "an example prints")]

use lab::{
    policy::{ALL, Policy},
    replay::replay,
    report,
    run::{Comparison, asides},
    stage::{Setup, Stage},
    trace,
};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("the trace's path is missing")?;
    let out = arguments.next().ok_or("the report's path is missing")?;
    let limit = arguments.next().map(|jobs| jobs.parse()).transpose()?;
    let only = arguments.next();
    let trace = trace::read(&std::fs::read_to_string(path)?, limit)?;
    let setup = Setup::default();
    let stage = Stage::new(&trace, &setup)?;
    println!("{} jobs of {} teams on {} GPUs", trace.jobs.len(), trace.teams.len(), stage.gpus);
    let one = |policy: Policy| {
        let begun = Instant::now();
        let outcome = replay(&trace, &stage, &setup, policy).map(|replayed| replayed.outcome);
        (begun.elapsed().as_millis(), outcome)
    };
    let one = &one;
    let wanted = |policy: &Policy| only.as_ref().is_none_or(|only| only.split(',').any(|name| name == policy.name()));
    let measured: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = ALL.into_iter().filter(wanted).map(|policy| scope.spawn(move || one(policy))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a replay panicked")).collect()
    });
    let mut outcomes = vec![];
    for done in measured {
        let (millis, outcome) = done?;
        let outcome = outcome?;
        println!(
            "{:9} {millis:7} ms: mean wait {} s, p99 {} s, longest {} s, busy {} ppm, Jain {} ppm, {} stops, {} GPU-h lost, {} unfinished",
            outcome.policy,
            outcome.waits.mean_s,
            outcome.waits.p99_s,
            outcome.waits.longest_s,
            outcome.busy_ppm,
            outcome.jain_ppm,
            outcome.stops.count,
            outcome.stops.lost_gpu_s / 3600,
            outcome.unfinished,
        );
        outcomes.push(outcome);
    }
    let comparison = Comparison::new(&trace, &stage, &setup, outcomes, asides(&trace, &setup)?);
    std::fs::write(out, report::page(&comparison))?;
    Ok(())
}
