//! An image on a disk: as a host puts it there, beside `qemu-img convert` alone with the same caches, and both to the point
//! where the disk says that it has everything. One after the other in turn, so that what else the machine does falls on both.
//! What looking at the image before and reading it back after cost are figures of their own. Then two at once on two disks.

use super::loops::{Behind, LoopDisk, MIB, clock, folder, noise, rate, run};
use crate::figure::{Limit, Report};
use disk::{Cache, CachedImage, CloneLimits, CloneReport, ImageFormat, Tools, TrustedKeys};
use std::{
    collections::BTreeSet,
    fs::File,
    path::{Path, PathBuf},
    time::Instant,
};

const IMAGE_BYTES: u64 = 640 * MIB;
const DISK_BYTES: u64 = 768 * MIB;
const ROUNDS: usize = 6;

/// Megabytes a second, of each round.
#[derive(Default)]
struct Rates {
    ours: Vec<u64>,
    alone: Vec<u64>,
    look_ms: Vec<u64>,
    read_back: Vec<u64>,
    read_alone: Vec<u64>,
}

/// Measures both formats, and two clones at once.
pub fn measure(report: &mut Report) -> Result<(), String> {
    let folder = folder()?;
    let raw = folder.path().join("image.raw");
    noise(&raw, IMAGE_BYTES)?;
    let disks =
        [1, 2].map(|number| LoopDisk::new(&folder.path().join(format!("disk{number}.img")), DISK_BYTES, Behind::Disk));
    let [first, second] = disks;
    let disks = [first?, second?];
    let cache = Cache::open(&folder.path().join("cache"), 8 << 30).map_err(|fault| fault.to_string())?;
    let image = kept(&cache, &raw, ImageFormat::Raw)?;
    one_at_a_time(report, "raw", &image, &disks[0])?;
    two_at_once(report, &image, &disks)?;
    let qcow2 = folder.path().join("image.qcow2");
    run("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &raw.to_string_lossy(), &qcow2.to_string_lossy()])?;
    one_at_a_time(report, "qcow2", &kept(&cache, &qcow2, ImageFormat::Qcow2)?, &disks[0])
}

// An image in a host's cache, and where its file is.
struct Kept {
    image: CachedImage,
    file: PathBuf,
    format: &'static str,
}

fn kept(cache: &Cache, file: &Path, format: ImageFormat) -> Result<Kept, String> {
    let spec = hostbox::image_with("bench", file, format, IMAGE_BYTES);
    let keys = TrustedKeys::from([(hostbox::KEY_ID.to_owned(), hostbox::key_hex())]);
    let trusted = disk::trust(spec, &keys).map_err(|refusal| refusal.to_string())?;
    let mut source = File::open(file).map_err(|error| error.to_string())?;
    let image = cache.fetch(&trusted, &mut source, &BTreeSet::new()).map_err(|fault| fault.to_string())?;
    let format = if format == ImageFormat::Raw { "raw" } else { "qcow2" };
    Ok(Kept { image, file: file.to_owned(), format })
}

fn one_at_a_time(report: &mut Report, name: &str, image: &Kept, disk: &LoopDisk) -> Result<(), String> {
    let mut rates = Rates::default();
    for round in 0..ROUNDS {
        // Whoever comes first finds the disk as the other left it.
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                rates.alone.push(rate(IMAGE_BYTES, alone_us(image, disk)?));
            } else {
                let done = cloned(image, disk)?;
                rates.ours.push(rate(IMAGE_BYTES, done.clone_us));
                rates.look_ms.push(done.look_us / 1000);
                rates.read_back.push(rate(IMAGE_BYTES, done.verify_us));
            }
        }
        rates.read_alone.push(rate(IMAGE_BYTES, read_alone_us(disk)?));
    }
    let best = |runs: &[u64]| Limit::AtBest(runs.iter().copied().max().unwrap_or(0));
    report.best(&format!("clone_{name}_qemu_img_alone"), &rates.alone, "MB/s", Limit::None);
    report.best(&format!("clone_{name}"), &rates.ours, "MB/s", best(&rates.alone));
    report.figure(&format!("clone_{name}_look"), &rates.look_ms, "ms", Limit::None);
    report.best(&format!("clone_{name}_read_back"), &rates.read_back, "MB/s", best(&rates.read_alone));
    Ok(())
}

// How long until both disks have the image, by two hosts' hands at once and by two `qemu-img` at once.
fn two_at_once(report: &mut Report, image: &Kept, disks: &[LoopDisk; 2]) -> Result<(), String> {
    let (mut ours, mut alone) = (vec![], vec![]);
    let both = |how: &(dyn Fn(&LoopDisk) -> Result<u64, String> + Sync)| -> Result<u64, String> {
        std::thread::scope(|scope| {
            let hands = disks.each_ref().map(|disk| scope.spawn(move || how(disk)));
            let mut slowest = 0;
            for hand in hands {
                slowest = slowest.max(hand.join().map_err(|_| "a clone ended badly")??);
            }
            Ok(slowest)
        })
    };
    for round in 0..ROUNDS {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                alone.push(rate(2 * IMAGE_BYTES, both(&|disk| alone_us(image, disk))?));
            } else {
                ours.push(rate(2 * IMAGE_BYTES, both(&|disk| cloned(image, disk).map(|done| done.clone_us))?));
            }
        }
    }
    report.best("clone_two_at_once_qemu_img_alone", &alone, "MB/s", Limit::None);
    report.best("clone_two_at_once", &ours, "MB/s", Limit::AtBest(alone.iter().copied().max().unwrap_or(0)));
    Ok(())
}

// `qemu-img` by itself, until the disk has everything.
fn alone_us(image: &Kept, disk: &LoopDisk) -> Result<u64, String> {
    let (from, to) = (image.file.display().to_string(), disk.word());
    let begun = Instant::now();
    run("qemu-img", &["convert", "-n", "-t", "none", "-T", "none", "-f", image.format, "-O", "raw", &from, &to])?;
    File::open(&disk.path).and_then(|file| file.sync_all()).map_err(|error| error.to_string())?;
    Ok(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX))
}

// As a host does it: it looks at the image, writes it until the disk has everything, and reads it back.
fn cloned(image: &Kept, disk: &LoopDisk) -> Result<CloneReport, String> {
    let held = disk.take()?;
    let tell = &mut |_, _| ();
    disk::clone::clone(&image.image, &held, &Tools::default(), &CloneLimits::default(), &clock(), tell)
        .map_err(|fault| fault.to_string())
}

// The same bytes read from the disk by one who does nothing with them.
fn read_alone_us(disk: &LoopDisk) -> Result<u64, String> {
    let begun = Instant::now();
    let count = format!("count={}", IMAGE_BYTES / (4 * MIB));
    run("dd", &[&format!("if={}", disk.word()), "of=/dev/null", "bs=4M", "iflag=direct", &count])?;
    Ok(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX))
}
