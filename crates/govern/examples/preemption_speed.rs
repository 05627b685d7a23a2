//! How long a search for victims takes among ten thousand workloads that run: the same that `make bench` takes, without the
//! rest of it. Prints one line a kind of search and shape of the tree.
//!
//! `cargo run --release -p govern --example preemption_speed`

#![expect(clippy::disallowed_methods, reason = "what measures reads a clock; the crate itself does not")]
#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "../../xtask/src/bin/bench/governance/search.rs"]
mod search;

use search::{KINDS, World, measure};

// The time that this process had a processor, so that a busy machine does not count.
fn cpu_us() -> u64 {
    let spent = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    spent.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0) / 1000
}

fn main() -> Result<(), String> {
    for (name, world) in ["one cohort", "twenty cohorts"].into_iter().zip(World::both()?) {
        for kind in &KINDS {
            println!("{name}, {}: {} us", kind.name, measure(&world, kind, &cpu_us)?);
        }
    }
    Ok(())
}
