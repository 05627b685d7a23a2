//! Reading a wiped disk back, beside `dd` that reads the same disk past the page cache and looks at nothing: once where the
//! disk sets the pace, and once where only memory does.

use super::loops::{Behind, LoopDisk, MIB, clock, folder, rate, run};
use crate::figure::{Limit, Report};
use disk::{WipeMethod, WipePolicy, wipe};
use std::time::Instant;

const DISK_BYTES: u64 = 1024 * MIB;
const ROUNDS: usize = 6;
const NONCE: &str = "0123456789abcdef-bench";

/// Measures both.
pub fn measure(report: &mut Report) -> Result<(), String> {
    for (name, behind) in [("disk", Behind::Disk), ("memory", Behind::PageCache)] {
        let folder = folder()?;
        let disk = LoopDisk::new(&folder.path().join("disk.img"), DISK_BYTES, behind)?;
        let policy = WipePolicy { methods: vec![WipeMethod::Overwrite], ..WipePolicy::default() };
        // Written and not only forgotten, so that there are blocks to read.
        wipe::erase(&disk.take()?, &policy, &disk::Tools::default(), &clock(), &mut |_| ())
            .map_err(|fault| fault.to_string())?;
        let (mut ours, mut alone) = (vec![], vec![]);
        for round in 0..ROUNDS {
            for turn in 0..2 {
                if (round + turn) % 2 == 0 {
                    alone.push(dd(&disk)?);
                } else {
                    ours.push(read_back(&disk, &policy)?);
                }
            }
        }
        let limit = Limit::AtBest(alone.iter().copied().max().unwrap_or(0));
        report.best(&format!("wipe_dd_{name}"), &alone, "MB/s", Limit::None);
        report.best(&format!("wipe_read_back_{name}"), &ours, "MB/s", limit);
    }
    Ok(())
}

fn dd(disk: &LoopDisk) -> Result<u64, String> {
    let begun = Instant::now();
    run("dd", &[&format!("if={}", disk.word()), "of=/dev/null", "bs=4M", "iflag=direct"])?;
    Ok(rate(DISK_BYTES, u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)))
}

fn read_back(disk: &LoopDisk, policy: &WipePolicy) -> Result<u64, String> {
    let held = disk.take()?;
    let begun = Instant::now();
    let (seen, _) =
        wipe::prove(&held, &policy.verify, NONCE, &clock(), &mut |_| ()).map_err(|fault| fault.to_string())?;
    if seen.bytes_read != DISK_BYTES {
        return Err(format!("only {} bytes of the disk were read back", seen.bytes_read));
    }
    Ok(rate(DISK_BYTES, u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)))
}
