//! How long governance takes for the scenarios that Kueue measures itself by (see [`scenarios`] for what is counted), and
//! whether guarantees over cells are as good as a cluster of one's own.

mod large;
mod million;
mod racks;
pub mod scenarios;
mod search;

use crate::figure::{Limit, Report, five};
use govern::cells::trial;
use rustix::time::{ClockId, clock_gettime};
use scenarios::{BASELINE, LARGE_SCALE, Nowhere, Outcome, Scenario, TOPOLOGY, run};

// What this thread has computed so far. Only that counts: others may use the machine meanwhile.
fn cpu_us() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1000
}

/// All scenarios, and the trial of cells.
pub fn measure(report: &mut Report) -> Result<(), String> {
    large::measure(report)?;
    measure_sharing(report);
    [BASELINE, LARGE_SCALE, TOPOLOGY].iter().try_for_each(|scenario| measure_one(report, scenario))
}

// Five seeds of two hundred thousand steps: a million in all.
fn measure_sharing(report: &mut Report) {
    let tallies: Vec<trial::Tally> = (1..=5).map(|seed| trial::run(seed, 20, 10_000)).collect();
    let of = |figure: fn(&trial::Tally) -> u64| -> Vec<u64> { tallies.iter().map(figure).collect() };
    report.best("governance_sharing_violations", &of(|tally| tally.violations), "count", Limit::AtMost(0));
    report.best("governance_sharing_violations_by_count", &of(|tally| tally.violations_by_count), "count", Limit::None);
    report.figure("governance_sharing_in_use", &of(|tally| tally.utilisation().0), "percent_x100", Limit::None);
    let lost = |tally: &trial::Tally| {
        let (cells, by_count) = tally.utilisation();
        by_count.saturating_sub(cells)
    };
    report.figure("governance_sharing_lost_points", &of(lost), "points_x100", Limit::AtMost(200));
}

fn measure_one(report: &mut Report, scenario: &Scenario) -> Result<(), String> {
    let mut outcomes: Vec<Outcome> = vec![];
    let walls = five(|| {
        let outcome = run(scenario, &mut Nowhere, &cpu_us)?;
        let wall_ms = outcome.wall_ms();
        outcomes.push(outcome);
        Ok(wall_ms)
    })?;
    let name = |what: &str| format!("governance_{}_{what}", scenario.name);
    let of = |figure: fn(&Outcome) -> u64| -> Vec<u64> { outcomes.iter().map(figure).collect() };
    report.figure(&name("wall"), &walls, "ms", Limit::AtMost(scenario.goal_wall_ms));
    report.figure(&name("wall_against_kueue"), &walls, "ms", Limit::AtMost(scenario.kueue_wall_ms));
    report.figure(&name("wall_against_work_bound"), &walls, "ms", Limit::AtMost(scenario.work_bound_ms()));
    report.figure(&name("engine"), &of(|outcome| outcome.engine_us / 1000), "ms", Limit::None);
    let rate = |outcome: &Outcome| outcome.admissions * 1_000_000 / outcome.engine_us.max(1);
    let kueue_rate = scenario.workloads() * 1000 / scenario.kueue_wall_ms;
    report.figure(&name("admissions_per_engine_s"), &of(rate), "per_s", Limit::None);
    let wall_rate: Vec<u64> = outcomes.iter().map(|one| one.admissions * 1000 / one.wall_ms().max(1)).collect();
    report.figure(&name("admissions_per_wall_s"), &wall_rate, "per_s", Limit::AtBest(kueue_rate));
    for (at, size) in scenario.sizes.iter().enumerate() {
        let waits: Vec<u64> = outcomes.iter().map(|outcome| outcome.wait_ms[at]).collect();
        report.figure(&name(&format!("wait_{}", size.name)), &waits, "ms", Limit::AtMost(size.kueue_wait_ms));
    }
    Ok(())
}
