//! What the engine of governance takes where there is most to do: a million workloads that wait, and ten thousand that may be
//! told to go.

use super::{
    cpu_us, million,
    search::{self, KINDS, World},
};
use crate::{
    figure::{Limit, RUNS, Report, five},
    process,
};

const WAITING: u32 = 1_000_000;
const CYCLE_US_MAX: u64 = 50_000;
const SEARCH_US_MAX: u64 = 5000;
const RESIDENT_MB_MAX: u64 = 2000;

/// The searches, and then the cycles in each shape of the tree.
pub fn measure(report: &mut Report) -> Result<(), String> {
    measure_searches(report)?;
    million::SHAPES.iter().try_for_each(|shape| measure_cycles(report, shape))
}

// The longest of those that have the same name, over all trees.
fn measure_searches(report: &mut Report) -> Result<(), String> {
    let worlds = World::both()?;
    for name in ["accepted", "refused", "fair_accepted", "fair_refused"] {
        let runs = five(|| {
            let mut longest_us = 0;
            for kind in KINDS.iter().filter(|kind| kind.name == name) {
                for world in &worlds {
                    longest_us = longest_us.max(search::measure(world, kind, &cpu_us)?);
                }
            }
            Ok(longest_us)
        })?;
        report.figure(&format!("governance_search_{name}"), &runs, "us", Limit::AtMost(SEARCH_US_MAX));
    }
    Ok(())
}

// A world is filled once, and changed five times.
fn measure_cycles(report: &mut Report, shape: &million::Shape) -> Result<(), String> {
    let name = |what: &str| format!("governance_million_{}_{what}", shape.name);
    let mut resident_kib = 0;
    let runs = u32::try_from(RUNS).unwrap_or(1);
    let outcome = million::run(shape, WAITING, runs, &cpu_us, &mut || {
        resident_kib = resident_kib.max(process::resident_kib(std::process::id()));
    })?;
    report.figure(&name("cycle"), &outcome.cycles_us, "us", Limit::AtMost(CYCLE_US_MAX));
    report.figure(&name("turnover"), &outcome.turnovers_us, "us", Limit::AtMost(CYCLE_US_MAX));
    report.figure(&name("rest"), &outcome.rests_us, "us", Limit::None);
    report.figure(&name("fill"), &[outcome.fill_us / 1000], "ms", Limit::None);
    report.figure(&name("resident"), &[resident_kib / 1000], "MB", Limit::AtMost(RESIDENT_MB_MAX));
    Ok(())
}
