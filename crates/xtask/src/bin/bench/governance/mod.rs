//! How long governance takes for the scenarios that Kueue measures itself by (see [`scenarios`] for what is counted), with
//! nothing written down and with everything durable before it counts (see [`durable`]), and whether guarantees over cells are
//! as good as a cluster of one's own.

mod durable;
mod large;
mod million;
mod racks;
mod scenarios;
mod search;

use crate::{
    disk,
    figure::{Limit, Report, five, median},
    process,
};
use durable::Durable;
use govern::cells::trial;
use rustix::time::{ClockId, clock_gettime};
use scenarios::{BASELINE, Clocks, LARGE_SCALE, Nowhere, Outcome, Scenario, TOPOLOGY, run};
use std::time::{Duration, Instant};

const DURABLE_RUNS: usize = 3;

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
        let outcome = run(scenario, &mut Nowhere, Clocks { engine_us: &cpu_us, journal_us: &|| 0 })?;
        let wall_ms = outcome.wall_ms();
        outcomes.push(outcome);
        Ok(wall_ms)
    })?;
    let name = |what: &str| format!("governance_{}_{what}", scenario.name);
    let of = |figure: fn(&Outcome) -> u64| -> Vec<u64> { outcomes.iter().map(figure).collect() };
    report_walls(report, scenario, &name(""), &outcomes, scenario.goal_wall_ms);
    report.figure(&name("engine"), &of(|outcome| outcome.engine_us / 1000), "ms", Limit::None);
    let rate = |outcome: &Outcome| outcome.admissions * 1_000_000 / outcome.engine_us.max(1);
    report.figure(&name("admissions_per_engine_s"), &of(rate), "per_s", Limit::None);
    measure_durable(report, scenario, median(&walls))
}

// What is told of runs with commits and of those without; `title` is what the names of figures begin with.
fn report_walls(report: &mut Report, scenario: &Scenario, title: &str, outcomes: &[Outcome], goal_ms: u64) {
    let walls: Vec<u64> = outcomes.iter().map(Outcome::wall_ms).collect();
    let name = |what: &str| format!("{title}{what}");
    report.figure(&name("wall"), &walls, "ms", Limit::AtMost(goal_ms));
    report.figure(&name("wall_against_kueue"), &walls, "ms", Limit::AtMost(scenario.kueue_wall_ms));
    report.figure(&name("wall_against_work_bound"), &walls, "ms", Limit::AtMost(scenario.work_bound_ms()));
    let rates: Vec<u64> = outcomes.iter().map(|one| one.admissions * 1000 / one.wall_ms().max(1)).collect();
    let kueue_rate = scenario.workloads() * 1000 / scenario.kueue_wall_ms;
    report.figure(&name("admissions_per_wall_s"), &rates, "per_s", Limit::AtBest(kueue_rate));
    for (at, size) in scenario.sizes.iter().enumerate() {
        let waits: Vec<u64> = outcomes.iter().map(|outcome| outcome.wait_ms[at]).collect();
        report.figure(&name(&format!("wait_{}", size.name)), &waits, "ms", Limit::AtMost(size.kueue_wait_ms));
    }
}

// What a run through a store showed.
struct Written {
    outcome: Outcome,
    commits: u64,
    bytes: u64,
    // What as many synced appends of as many bytes take.
    disk_ms: u64,
    numbering_ms: u64,
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

// The journal waits for the disk, so its time is that of the wall.
fn write_once(scenario: &Scenario) -> Result<Written, String> {
    let mut journal = Durable::new(scenario)?;
    let begun = Instant::now();
    let wall_us = || u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    let before = (journal.commits(), process::written_bytes());
    let outcome = run(scenario, &mut journal, Clocks { engine_us: &cpu_us, journal_us: &wall_us })?;
    let (commits, bytes) = (journal.commits() - before.0, process::written_bytes() - before.1);
    journal.check(&outcome)?;
    let numbering_ms = millis(journal.number()?);
    let disk_ms = millis(disk::synced_appends(commits, bytes)?);
    Ok(Written { outcome, commits, bytes, disk_ms, numbering_ms })
}

// Each run takes a store of its own and several seconds, so there are fewer than of the others.
fn measure_durable(report: &mut Report, scenario: &Scenario, zero_ms: u64) -> Result<(), String> {
    let runs = (0..DURABLE_RUNS).map(|_| write_once(scenario)).collect::<Result<Vec<Written>, String>>()?;
    let title = format!("governance_{}_durable_", scenario.name);
    let name = |what: &str| format!("{title}{what}");
    let of = |figure: fn(&Written) -> u64| -> Vec<u64> { runs.iter().map(figure).collect() };
    let outcomes: Vec<Outcome> = runs.iter().map(|run| run.outcome.clone()).collect();
    report_walls(report, scenario, &title, &outcomes, scenario.goal_durable_ms);
    let walls = of(|run| run.outcome.wall_ms());
    report.figure(&name("wall_against_zero_io"), &walls, "ms", Limit::AtMost(zero_ms));
    report.figure(&name("commits"), &of(|run| run.commits), "count", Limit::None);
    report.figure(&name("kib"), &of(|run| run.bytes / 1024), "KiB", Limit::None);
    let disk_ms = report.figure(&name("disk_alone"), &of(|run| run.disk_ms), "ms", Limit::None);
    report.figure(&name("in_commits"), &of(|run| run.outcome.journal_us / 1000), "ms", Limit::AtMost(disk_ms));
    report.figure(&name("preemptions"), &of(|run| run.outcome.preemptions), "count", Limit::None);
    report.figure(&name("numbering"), &of(|run| run.numbering_ms), "ms", Limit::None);
    Ok(())
}
