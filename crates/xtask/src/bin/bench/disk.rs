//! What the disk itself can do: 4 KiB written and synced, over and over. Everything durable is held against this.

use crate::figure::{Limit, Report, five};
use std::{
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::FileExt as _,
    time::{Duration, Instant},
};

const TAKES: Duration = Duration::from_millis(700);

/// How many times a second 4 KiB reach the disk.
pub fn syncs_per_second(report: &mut Report) -> Result<u64, String> {
    std::fs::create_dir_all("target/bench").map_err(|error| error.to_string())?;
    let path = "target/bench/sync.probe";
    let file =
        OpenOptions::new().create(true).truncate(true).write(true).open(path).map_err(|error| error.to_string())?;
    let block = [7u8; 4096];
    let runs = five(|| {
        let (started, mut syncs) = (Instant::now(), 0u64);
        while started.elapsed() < TAKES {
            file.write_all_at(&block, (syncs % 256) * 4096).map_err(|error| error.to_string())?;
            file.sync_data().map_err(|error| error.to_string())?;
            syncs += 1;
        }
        Ok(per_second(syncs, started.elapsed()))
    })?;
    std::fs::remove_file(path).map_err(|error| error.to_string())?;
    Ok(report.figure("disk_fdatasync", &runs, "syncs/s", Limit::None))
}

/// How long it takes to append so many bytes to a file in so many parts, each synced before the next.
pub fn synced_appends(parts: u64, bytes: u64) -> Result<Duration, String> {
    let path = "target/bench/append.probe";
    std::fs::create_dir_all("target/bench").map_err(|error| error.to_string())?;
    let mut file = std::fs::File::create(path).map_err(|error| error.to_string())?;
    let part = vec![7u8; usize::try_from(bytes / parts.max(1)).map_err(|error| error.to_string())?];
    let started = Instant::now();
    for _ in 0..parts {
        file.write_all(&part).and_then(|()| file.sync_data()).map_err(|error| error.to_string())?;
    }
    let took = started.elapsed();
    std::fs::remove_file(path).map_err(|error| error.to_string())?;
    Ok(took)
}

/// A count over a time as a rate.
pub fn per_second(count: u64, took: Duration) -> u64 {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
    count.saturating_mul(1_000_000) / micros
}
