//! Durable placements through the applier, on both engines, at 10,000 nodes: how many a second and how long a batch takes,
//! beside a bare driver that writes the same rows, to the letter, as durably, in the same run.

use crate::{
    disk::per_second,
    figure::{Limit, Report, say, thousandths},
    ground,
    launches::AppliersAlone,
    process,
};
use control::{
    Ports,
    plane::{ControlPlane, PlaneConfig},
};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};
use store::{
    Db, Dialect, StoreError,
    testing::{BarePostgres, BareSqlite, Place, PlacedRows, PostgresCluster, placed_rows, undo_placements},
};

/// Batch sizes, and how many placements are made in each.
const SIZES: &[(usize, usize)] = &[(1, 1_500), (16, 8_000), (64, 24_000), (256, 24_000)];
/// The batch size that a server works with.
const SERVED: usize = 64;
const RUNS: usize = 3;
const BATCHES: usize = 4;
/// The ceiling for how long a placement may take.
const P99_US: u64 = 50_000;

/// Measures the engines that are wanted. Answers what the applier does on each with the batch size of a server.
pub fn measure(report: &mut Report, is_wanted: impl Fn(&str) -> bool) -> Result<AppliersAlone, String> {
    let mut alone = AppliersAlone::default();
    let engines = [(Dialect::Sqlite, "sqlite"), (Dialect::Postgres, "postgres")];
    for (at, (dialect, name)) in engines.into_iter().enumerate().filter(|(_, (_, name))| is_wanted(name)) {
        let place = Place::new(dialect);
        let db = place.open();
        ground::fleet(&db)?;
        ground::people(&db)?;
        ground::wishes(&db)?;
        ground::settle(&db)?;
        drop(db);
        for (batch, count) in SIZES {
            let rate = measure_size(report, &place, name, *batch, *count)?;
            if *batch == SERVED {
                alone[at] = Some(rate);
            }
        }
    }
    Ok(alone)
}

fn measure_size(report: &mut Report, place: &Place, name: &str, batch: usize, count: usize) -> Result<u64, String> {
    let runs = if batch == SERVED { RUNS } else { 1 };
    let (mut ours, mut bare, mut costs) = (vec![], vec![], vec![]);
    let (mut halves, mut tails, mut bare_tails) = (vec![], vec![], vec![]);
    for _ in 0..runs {
        let (run, rows) = through_the_applier(place, batch, count)?;
        ours.push(run.rate());
        costs.push(run.cpu_ms_per_1000());
        halves.push(run.percentile_us(50));
        tails.push(run.percentile_us(99));
        let run = through_a_bare_driver(place, &rows, batch)?;
        bare.push(run.rate());
        bare_tails.push(run.percentile_us(99));
    }
    let title = format!("placements_{name}_b{batch}");
    let bare = report.figure(&format!("{title}_bare"), &bare, "placements/s", Limit::None);
    let ours = report.figure(&title, &ours, "placements/s", Limit::AtBest(bare));
    report.figure(&format!("{title}_cpu"), &costs, "cpu_ms/1000", Limit::None);
    report.figure(&format!("{title}_batch_p50"), &halves, "us", Limit::None);
    report.figure(&format!("{title}_batch_p99"), &tails, "us", Limit::AtMost(P99_US));
    report.figure(&format!("{title}_bare_batch_p99"), &bare_tails, "us", Limit::None);
    say(&format!("# {name}, {batch} in a commit: {} of a bare driver", thousandths(ours, bare)));
    Ok(ours)
}

/// What one run did.
struct Run {
    placed: usize,
    took: Duration,
    batches_us: Vec<u64>,
    cpu_ms: u64,
}

impl Run {
    fn rate(&self) -> u64 {
        per_second(self.placed as u64, self.took)
    }

    fn cpu_ms_per_1000(&self) -> u64 {
        self.cpu_ms.saturating_mul(1000) / (self.placed as u64).max(1)
    }

    fn percentile_us(&self, percent: usize) -> u64 {
        let mut sorted = self.batches_us.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() * percent / 100).copied().unwrap_or(0)
    }
}

// The process itself, and the server where there is one.
fn cpu_ms(dialect: Dialect) -> u64 {
    let server = || {
        let path = PostgresCluster::shared().directory().join("data/postmaster.pid");
        std::fs::read_to_string(path).ok()?.lines().next()?.trim().parse().ok()
    };
    let of_server = if dialect == Dialect::Postgres { server().map_or(0, process::cpu_ms_of_tree) } else { 0 };
    process::cpu_ms(std::process::id()) + of_server
}

/// Batches, one after the other, as a leader makes them. The rows that were written come back, and everything is undone.
fn through_the_applier(place: &Place, batch: usize, count: usize) -> Result<(Run, PlacedRows), String> {
    let db = place.open();
    let config = PlaneConfig { placements_per_commit: batch, ..PlaneConfig::serving("bench") };
    let mut plane = ControlPlane::new(db.clone(), Ports::system(), config);
    // The first turn takes the lease and reads the fleet; a server does that once.
    plane.place_batch(0, true).map_err(|error| error.to_string())?;
    let mut run = Run { placed: 0, took: Duration::ZERO, batches_us: vec![], cpu_ms: 0 };
    while run.placed < count {
        let (cpu, begun) = (cpu_ms(db.dialect()), Instant::now());
        // As many batches as one step of a server makes before it numbers what it did.
        for at in 0..BATCHES {
            let begun = Instant::now();
            let turn = plane.place_batch(batch, at == 0).map_err(|error| error.to_string())?;
            run.batches_us.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
            if turn.placed == 0 {
                return Err(format!("nothing was placed after {}: {turn:?}", run.placed));
            }
            run.placed += turn.placed;
            if run.placed >= count {
                break;
            }
        }
        run.took += begun.elapsed();
        run.cpu_ms += cpu_ms(db.dialect()).saturating_sub(cpu);
        plane.number().map_err(|error| error.to_string())?;
    }
    plane.resign();
    drop(plane);
    let rows = db.read(placed_rows).map_err(|error: StoreError| error.to_string())?;
    undo(place, &db)?;
    Ok((run, rows))
}

// Whoever comes next finds the store as it was before.
fn undo(place: &Place, db: &Db) -> Result<(), String> {
    db.write(undo_placements).map_err(|error: StoreError| error.to_string())?;
    match db.dialect() {
        Dialect::Sqlite => Ok(()),
        Dialect::Postgres => BarePostgres::open(place.url())?.tidy(),
    }
}

/// The same rows in the same batches.
fn through_a_bare_driver(place: &Place, rows: &PlacedRows, batch: usize) -> Result<Run, String> {
    enum Bare {
        Sqlite(BareSqlite),
        Postgres(BarePostgres),
    }
    let path = place.url().strip_prefix("sqlite:").map(PathBuf::from);
    let mut bare = match &path {
        Some(path) => Bare::Sqlite(BareSqlite::open(path)?),
        None => Bare::Postgres(BarePostgres::open(place.url())?),
    };
    let mut run = Run { placed: rows.len(), took: Duration::ZERO, batches_us: vec![], cpu_ms: 0 };
    let started = Instant::now();
    let mut at = 0;
    while at < rows.len() {
        let part = at..(at + batch).min(rows.len());
        let begun = Instant::now();
        match &mut bare {
            Bare::Sqlite(bare) => bare.commit(rows, part.clone())?,
            Bare::Postgres(bare) => bare.commit(rows, part.clone())?,
        }
        run.batches_us.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        at = part.end;
    }
    run.took = started.elapsed();
    drop(bare);
    undo(place, &place.open())?;
    Ok(run)
}
