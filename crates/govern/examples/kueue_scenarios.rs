//! The performance scenarios of Kueue through the engine alone, in virtual time: the same that `make bench` takes, without
//! the rest of it. Prints one line a scenario and one a size.
//!
//! `cargo run --release -p govern --example kueue_scenarios`

#![expect(clippy::disallowed_types, reason = "what measures reads a clock; the crate itself does not")]
#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "../../xtask/src/bin/bench/governance/racks.rs"]
mod racks;
#[expect(dead_code, reason = "what journals use, and here nothing is written")]
#[path = "../../xtask/src/bin/bench/governance/scenarios.rs"]
mod scenarios;

use scenarios::{BASELINE, Clocks, LARGE_SCALE, Nowhere, TOPOLOGY, run};
use std::time::Instant;

fn main() -> Result<(), String> {
    let begun = Instant::now();
    let clock_us = || u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    for scenario in [BASELINE, LARGE_SCALE, TOPOLOGY] {
        let outcome = run(&scenario, &mut Nowhere, Clocks { engine_us: &clock_us, journal_us: &clock_us })?;
        let (name, wall_ms, bound_ms) = (scenario.name, outcome.wall_ms(), scenario.work_bound_ms());
        println!("{name}: {wall_ms} ms, goal {}, Kueue {}", scenario.goal_wall_ms, scenario.kueue_wall_ms);
        println!("  {} ms of it engine, {} cycles; work bound {bound_ms} ms", outcome.engine_us / 1000, outcome.cycles);
        println!(
            "  {} of {} admissions, {} preemptions",
            outcome.admissions,
            scenario.workloads(),
            outcome.preemptions
        );
        for (size, wait_ms) in scenario.sizes.iter().zip(outcome.wait_ms) {
            println!("  {}: waits {wait_ms} ms in the mean, in Kueue {} ms", size.name, size.kueue_wait_ms);
        }
    }
    Ok(())
}
