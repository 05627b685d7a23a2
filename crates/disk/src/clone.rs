//! Puts an image on a disk. Everything that can be refused is refused before the first byte. `qemu-img` then writes through
//! our own descriptor (`/proc/PID/fd/N`), so it opens the very device that we hold and checked, whatever has become of the
//! paths in `/dev`; our exclusive claim stays in place all the time and is not in its way, since it makes none itself. It
//! dies with us, and the next exclusive open refuses while it still has the disk open.
//!
//! What was written is read back, past the page cache: of a raw image the digest must be that of the catalogue, which costs
//! one read of the disk; a qcow2 image has no digest of its content, so `qemu-img compare` reads both once.

use crate::{
    bulk::{self, Range},
    cache::CachedImage,
    exclusive::ExclusiveDisk,
    fault::{Fault, ImageRefusal},
    image::{ImageFormat, ImageSpec},
    plain,
    progress::{Percentages, Progress},
    tools::Tools,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{os::fd::AsRawFd, os::unix::fs::FileExt, time::Duration};

/// How long the parts of a clone may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloneLimits {
    /// For looking at the image.
    pub look_s_max: u64,
    /// For writing it.
    pub write_s_max: u64,
    /// For reading it back.
    pub read_back_s_max: u64,
}

impl Default for CloneLimits {
    fn default() -> Self {
        Self { look_s_max: 60, write_s_max: 3600, read_back_s_max: 3600 }
    }
}

/// What a clone is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloneStage {
    /// Writing the image.
    Write,
    /// Reading it back.
    ReadBack,
}

/// How it is known that the disk holds the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum SameBy {
    /// The disk's bytes have the image's digest.
    Sha256 {
        /// In hexadecimal.
        sha256: String,
    },
    /// Every byte was compared.
    Compared,
}

/// A clone that is done and proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloneReport {
    /// How long it took to look at the image.
    pub look_us: u64,
    /// How long it took to write it.
    pub clone_us: u64,
    /// How long it took to read it back.
    pub verify_us: u64,
    /// How many bytes of the disk it fills.
    pub bytes: u64,
    /// How it is known to be right.
    pub same_by: SameBy,
}

/// Whether an image may go on a disk of this size.
pub fn fits(spec: &ImageSpec, disk_bytes: u64) -> Result<(), ImageRefusal> {
    let needed = spec.virtual_size_bytes.max(spec.minimum_disk_bytes);
    if needed <= disk_bytes { Ok(()) } else { Err(ImageRefusal::DiskTooSmall { needed, found: disk_bytes }) }
}

/// Puts an image on a disk and proves that it is there. `clock` tells microseconds. Must be called on a thread that lives
/// until it returns, because the programs end with that thread.
pub fn clone(
    image: &CachedImage,
    disk: &ExclusiveDisk,
    tools: &Tools,
    limits: &CloneLimits,
    clock: &dyn Fn() -> u64,
    progress: &mut dyn FnMut(CloneStage, Progress),
) -> Result<CloneReport, Fault> {
    clone_while(image, disk, tools, limits, clock, progress, &|| true)
}

/// The same, for as long as it is wanted. When it is not, `qemu-img` is ended and the disk holds part of an image.
pub fn clone_while(
    image: &CachedImage,
    disk: &ExclusiveDisk,
    tools: &Tools,
    limits: &CloneLimits,
    clock: &dyn Fn() -> u64,
    progress: &mut dyn FnMut(CloneStage, Progress),
    wanted: &dyn Fn() -> bool,
) -> Result<CloneReport, Fault> {
    let spec = image.spec();
    let started = clock();
    fits(spec, disk.size_bytes())?;
    look(image, tools, Duration::from_secs(limits.look_s_max))?;
    disk.recheck()?;
    let looked = clock();
    write(image, disk, tools, limits, clock, progress, wanted)?;
    disk.recheck()?;
    let written = clock();
    let mut tell = |done: u64| {
        progress(CloneStage::ReadBack, Progress::at(done, spec.virtual_size_bytes, clock().saturating_sub(written)));
    };
    let same_by = match spec.format {
        ImageFormat::Raw => read_back(image, disk, &mut tell)?,
        ImageFormat::Qcow2 => compare(image, disk, tools, limits, &mut tell, wanted)?,
    };
    image.unchanged()?;
    disk.recheck()?;
    Ok(CloneReport {
        look_us: looked.saturating_sub(started),
        clone_us: written.saturating_sub(looked),
        verify_us: clock().saturating_sub(written),
        bytes: spec.virtual_size_bytes,
        same_by,
    })
}

// The image as QEMU is told to open it: this format, this file, and nothing behind it, whatever its header says.
fn source(image: &CachedImage) -> String {
    let file = json!({
        "driver": "file",
        "filename": format!("/proc/{}/fd/{}", std::process::id(), image.file().as_raw_fd()),
    });
    let opened = match image.spec().format {
        ImageFormat::Raw => json!({"driver": "raw", "file": file}),
        ImageFormat::Qcow2 => json!({"driver": "qcow2", "backing": null, "file": file}),
    };
    format!("json:{opened}")
}

/// Looks at an image without trusting it, and refuses what is not one plain whole file.
pub fn look(image: &CachedImage, tools: &Tools, time_max: Duration) -> Result<(), Fault> {
    let spec = image.spec();
    image.unchanged()?;
    let mut header = [0; plain::HEADER_BYTES];
    let count = image.file().read_at(&mut header, 0).map_err(|error| Fault::io("reading the image", 0, &error))?;
    plain::check_header(&header[..count], spec)?;
    let ask = |verb: &str| {
        let said = tools.qemu_img_bounded(time_max).args([verb, "--output=json"]).arg(source(image)).run();
        said.map_err(|fault| match fault {
            command::Fault::Failed { said, .. } => {
                let found = format!("qemu-img {verb} says: {said}");
                ImageRefusal::NotPlain { format: spec.format.to_string(), found }.into()
            }
            other => Fault::from(other),
        })
    };
    plain::check_info(&ask("info")?.out, spec)?;
    if spec.format == ImageFormat::Qcow2 {
        plain::check_tables(&ask("check")?.out, spec)?;
    }
    Ok(())
}

fn write(
    image: &CachedImage,
    disk: &ExclusiveDisk,
    tools: &Tools,
    limits: &CloneLimits,
    clock: &dyn Fn() -> u64,
    progress: &mut dyn FnMut(CloneStage, Progress),
    wanted: &dyn Fn() -> bool,
) -> Result<(), Fault> {
    let started = clock();
    let mut percentages = Percentages::default();
    let target = format!("driver=raw,file.driver=host_device,file.filename={}", disk.path_for_programs());
    tools
        .qemu_img(Duration::from_secs(limits.write_s_max))
        // -n: the target exists and is not assumed to hold zeros; none: past the page cache on both sides.
        .args(["convert", "-p", "-n", "-t", "none", "-T", "none", "--target-image-opts"])
        .arg(source(image))
        .arg(target)
        .watch_while(
            |said| {
                if let Some(hundredths) = percentages.push(said) {
                    let elapsed_us = clock().saturating_sub(started);
                    let done = Progress::at_hundredths(hundredths, image.spec().virtual_size_bytes, elapsed_us);
                    progress(CloneStage::Write, done);
                }
            },
            wanted,
        )?;
    disk.file().sync_all().map_err(|error| Fault::io("flushing the disk", 0, &error))
}

fn read_back(image: &CachedImage, disk: &ExclusiveDisk, tell: &mut dyn FnMut(u64)) -> Result<SameBy, Fault> {
    let spec = image.spec();
    let range = Range { offset: 0, bytes: spec.virtual_size_bytes };
    let found = bulk::hex(&bulk::sha256(disk.file(), range, disk.identity().logical_block_bytes(), tell)?);
    if found == spec.sha256 {
        return Ok(SameBy::Sha256 { sha256: found });
    }
    Err(Fault::ReadBackDiffers { expected: spec.sha256.clone(), found })
}

fn compare(
    image: &CachedImage,
    disk: &ExclusiveDisk,
    tools: &Tools,
    limits: &CloneLimits,
    tell: &mut dyn FnMut(u64),
    wanted: &dyn Fn() -> bool,
) -> Result<SameBy, Fault> {
    let bytes = image.spec().virtual_size_bytes;
    let file = json!({"driver": "host_device", "filename": disk.path_for_programs()});
    // Only as much of the disk as the image fills; the rest is not its business.
    let target = json!({"driver": "raw", "size": bytes, "file": file});
    let mut percentages = Percentages::default();
    let said = tools
        .qemu_img(Duration::from_secs(limits.read_back_s_max))
        .args(["compare", "-p", "-T", "none"])
        .arg(source(image))
        .arg(format!("json:{target}"))
        .watch_while(
            |said| {
                let hundredths = percentages.push(said);
                hundredths.into_iter().for_each(|part| tell(Progress::at_hundredths(part, bytes, 1).bytes_done));
            },
            wanted,
        );
    let expected = || "the image's content".to_owned();
    match said {
        Ok(said) if said.out.contains("Images are identical.") => Ok(SameBy::Compared),
        Ok(_) => {
            Err(Fault::NotUnderstood { program: "qemu-img".to_owned(), why: "compare named no result".to_owned() })
        }
        Err(command::Fault::Failed { code, said, .. }) if code == "exit 1" => {
            Err(Fault::ReadBackDiffers { expected: expected(), found: said })
        }
        Err(other) => Err(other.into()),
    }
}
