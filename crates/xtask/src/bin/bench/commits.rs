//! Durable commits through the store's own layer: one writer, and 64 at once, on both engines. One commit is the smallest
//! change the platform makes: an object, its event and its audit row.

use crate::{
    disk::per_second,
    figure::{Limit, RUNS, Report, median, thousandths},
    process,
};
use model::{AuditId, IdBits, RegionId, Timestamp};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};
use store::{
    Db, Dialect, Stamp, StoreError,
    audit::AuditRow,
    testing::{Place, PostgresCluster},
};

const TAKES: Duration = Duration::from_millis(1500);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Measures both engines.
pub fn measure(report: &mut Report, syncs_per_s: u64) -> Result<(), String> {
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let name = match dialect {
            Dialect::Sqlite => "sqlite",
            Dialect::Postgres => "postgres",
        };
        let place = Place::new(dialect);
        let db = place.open();
        let server = if dialect == Dialect::Postgres { postmaster_pid() } else { None };
        let mut rates = Vec::new();
        for writers in [1usize, 64] {
            let mut runs = Vec::new();
            let mut costs = Vec::new();
            for _ in 0..RUNS {
                let (rate, cost) = once(&db, writers, server)?;
                runs.push(rate);
                costs.push(cost);
            }
            rates.push(median(&runs));
            report.figure(&format!("commits_{name}_{writers}_writers"), &runs, "commits/s", Limit::AtBest(syncs_per_s));
            report.figure(&format!("commits_{name}_{writers}_writers_cpu"), &costs, "cpu_ms/1000", Limit::None);
        }
        let times = thousandths(rates[1], rates[0]);
        report.figure(
            &format!("commits_{name}_64_over_1"),
            &[rates[1] * 1000 / rates[0].max(1)],
            "thousandths",
            Limit::AtBest(4000),
        );
        crate::figure::say(&format!("# {name}: 64 writers make {times} times the commits of one"));
    }
    Ok(())
}

// The server writes its own number into its data directory.
fn postmaster_pid() -> Option<u32> {
    let path = PostgresCluster::shared().directory().join("data/postmaster.pid");
    std::fs::read_to_string(path).ok()?.lines().next()?.trim().parse().ok()
}

// Commits a second, and CPU milliseconds for a thousand of them (client, and the server's processes where there is one).
fn once(db: &Db, writers: usize, server: Option<u32>) -> Result<(u64, u64), String> {
    let cpu = || process::cpu_ms(std::process::id()) + server.map_or(0, process::cpu_ms_of_tree);
    let (cpu_before, started) = (cpu(), Instant::now());
    let counts: Vec<Result<u64, StoreError>> = std::thread::scope(|scope| {
        let hands: Vec<_> = (0..writers).map(|_| scope.spawn(|| write_for(db, started))).collect();
        hands.into_iter().map(|hand| hand.join().unwrap_or(Err(StoreError::Poisoned))).collect()
    });
    let took = started.elapsed();
    let made = counts.into_iter().sum::<Result<u64, StoreError>>().map_err(|error| error.to_string())?;
    Ok((per_second(made, took), (cpu() - cpu_before).saturating_mul(1000) / made.max(1)))
}

fn write_for(db: &Db, started: Instant) -> Result<u64, StoreError> {
    let mut made = 0;
    while started.elapsed() < TAKES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        db.write(move |tx| smallest_change(tx, number))?;
        made += 1;
    }
    Ok(made)
}

fn smallest_change(tx: &mut store::Tx<'_>, number: u64) -> Result<(), StoreError> {
    let now = Timestamp::from_micros(1_767_225_600_000_000 + i64::try_from(number).unwrap_or(0));
    let mut count = 0u8;
    let mut bits = || {
        count += 1;
        let mut bits = IdBits::default();
        bits[..8].copy_from_slice(&number.to_be_bytes());
        bits[9] = count;
        bits
    };
    let id = RegionId::from_parts(now, bits());
    let audit_id = AuditId::from_parts(now, bits());
    let slug = format!("r{number}").parse().map_err(|_| StoreError::Other("slug".into()))?;
    let name = "Bench".parse().map_err(|_| StoreError::Other("name".into()))?;
    store::regions::insert(tx, &mut Stamp::new(now, &mut bits), &id, &slug, &name, true)?;
    store::audit::append(
        tx,
        &AuditRow {
            id: audit_id,
            actor: "bench".into(),
            token_id: None,
            action: "region_create".into(),
            subject: id.to_string(),
            tenant_id: None,
            request_id: "bench".into(),
            body: "{}".into(),
            at: now,
        },
    )
}
