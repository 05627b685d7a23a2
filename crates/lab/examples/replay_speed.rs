//! How fast each policy goes through a trace. Prints one line a policy: seconds, and what it came to.
//!
//! `cargo run --release -p lab --example replay_speed -- TRACE.csv [JOBS [POLICY]]`

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "an example reads a file and measures")]
#![allow(clippy::print_stdout, reason = "an example prints")]

use lab::{
    policy,
    replay::replay,
    stage::{Setup, Stage},
    trace,
};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("the trace's path is missing")?;
    let limit = arguments.next().map(|jobs| jobs.parse()).transpose()?;
    let only = arguments.next();
    let trace = trace::read(&std::fs::read_to_string(path)?, limit)?;
    let setup = Setup::default();
    let stage = Stage::new(&trace, &setup)?;
    println!("{} jobs of {} teams on {} GPUs", trace.jobs.len(), trace.teams.len(), stage.gpus);
    for policy in policy::ALL.into_iter().filter(|policy| only.as_ref().is_none_or(|only| only == policy.name())) {
        let begun = Instant::now();
        let outcome = replay(&trace, &stage, &setup, policy)?.outcome;
        println!(
            "{:9} {:6} ms: mean wait {} s, p99 {} s, longest {} s, busy {} ppm, Jain {} ppm, gap {} ppm, {} stops, {} lost, cut {}, unfinished {}",
            policy.name(),
            begun.elapsed().as_millis(),
            outcome.waits.mean_s,
            outcome.waits.p99_s,
            outcome.waits.longest_s,
            outcome.busy_ppm,
            outcome.jain_ppm,
            outcome.gap_ppm,
            outcome.stops.count,
            outcome.stops.lost_gpu_s,
            outcome.stops.cut,
            outcome.unfinished,
        );
    }
    Ok(())
}
