//! How many small durable writes a second a store takes from how many callers.
//! `cargo run --release --example commit_rate --features testing -- sqlite|postgres CALLERS SECONDS [WRITERS] [BATCH]`
#![allow(clippy::unwrap_used)]

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use store::{Db, DbConfig, Dialect, StoreError, Tx, testing::Place};

/// What the smallest mutating call writes: a row of its own, its event, its audit entry.
fn write_one(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    tx.execute_one(
        "INSERT INTO decisions (id, subject_id, outcome, body, snapshot_version, at_us) VALUES ($1, 's', 'x', '{}', 1, 0)",
        &[id.into()],
    )?;
    tx.post(
        "INSERT INTO events (id, noun, change, subject_id, object_version, at_us) VALUES ($1, 'n', 'created', $1, 1, 0)",
        &[id.into()],
    )?;
    tx.post(
        "INSERT INTO audit (id, actor, action, subject, request_id, body, at_us) VALUES ($1, 'a', 'x', 's', 'r', '{}', 0)",
        &[id.into()],
    )
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| words.get(at).map_or(usual, |word| word.parse().unwrap());
    let dialect = if words[0] == "sqlite" { Dialect::Sqlite } else { Dialect::Postgres };
    let (callers, seconds) = (number(1, 64), number(2, 3));
    let place = Place::new(dialect);
    let batch = number(4, 256);
    let config =
        DbConfig { writers: number(3, 8), batch_sqlite: batch, batch_postgres: batch, ..DbConfig::new(place.url()) };
    let db = Db::open(&config).unwrap();
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let begun = Instant::now();
    let threads: Vec<_> = (0..callers)
        .map(|caller| {
            let (db, stop, done) = (db.clone(), Arc::clone(&stop), Arc::clone(&done));
            std::thread::spawn(move || {
                for call in 0u64.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let id = format!("{call:012}-{caller:04}");
                    db.write(move |tx| write_one(tx, &id)).unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_secs(u64::try_from(seconds).unwrap()));
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let per_second = u128::from(done.load(Ordering::Relaxed)) * 1_000_000 / begun.elapsed().as_micros();
    let counts = db.counts();
    let out = &mut std::io::stdout();
    writeln!(out, "{dialect:?} callers {callers} writers {} batch {batch}: {per_second}/s {counts:?}", config.writers)
        .unwrap();
}
