//! Images on real loop devices: what goes on a disk, what is refused before the first byte, and a clone that was killed.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use disk::{
    Cache, CloneLimits, CloneReport, CloneStage, ExclusiveDisk, Fault, HostView, ImageFormat, ImageRefusal, Refusal,
    Tools, TrustedImage, clone,
};
use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    os::unix::{fs::FileExt, process::ExitStatusExt},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};
use support::{LoopDisk, MIB, Running, Undo, cached, can_run, clock, qcow2_of, raw_image, run, spec_of};

const PROGRAMS: [&str; 4] = ["losetup", "qemu-img", "setpriv", "prlimit"];

fn put(cache: &Cache, image: &TrustedImage, file: &Path, disk: &LoopDisk) -> Result<CloneReport, Fault> {
    let cached = cached(cache, image, file)?;
    clone::clone(&cached, &disk.open()?, &Tools::default(), &CloneLimits::default(), &clock(), &mut |_, _| ())
}

fn image_refusal(ended: Result<CloneReport, Fault>) -> ImageRefusal {
    match ended {
        Err(Fault::Refused { refusal: Refusal::Image(refusal) }) => refusal,
        other => panic!("{other:?}"),
    }
}

fn start_of(path: &Path, bytes: u64) -> Vec<u8> {
    let mut start = vec![];
    File::open(path).unwrap().take(bytes).read_to_end(&mut start).unwrap();
    start
}

#[test]
fn an_image_goes_on_a_disk_whole() {
    if !can_run("an_image_goes_on_a_disk_whole", &PROGRAMS) {
        return;
    }
    // One that is not a multiple of 4 KiB, on disks of both block sizes.
    let bytes = 48 * MIB + 512;
    for (format, block) in [(ImageFormat::Raw, 512), (ImageFormat::Qcow2, 512), (ImageFormat::Raw, 4096)] {
        let folder = tempfile::tempdir().unwrap();
        let raw = raw_image(folder.path(), bytes);
        let file = if format == ImageFormat::Raw { raw.clone() } else { qcow2_of(&raw) };
        let disk = LoopDisk::with_blocks(folder.path(), 64 * MIB, block);
        disk.plant();
        let cache = Cache::open(&folder.path().join("cache"), 1 << 30).unwrap();
        let image = cached(&cache, &spec_of(&file, format, bytes, bytes), &file).unwrap();
        let held = disk.open().unwrap();
        let mut seen = vec![];
        let limits = CloneLimits::default();
        let report = clone::clone(&image, &held, &Tools::default(), &limits, &clock(), &mut |stage, progress| {
            seen.push((stage, progress.percent));
        });
        assert_eq!(report.unwrap().bytes, bytes);
        assert!(seen.contains(&(CloneStage::Write, 100)) && seen.contains(&(CloneStage::ReadBack, 100)), "{seen:?}");
        drop(held);
        assert!(start_of(&disk.path, bytes) == fs::read(&raw).unwrap());
        // Once more is the same.
        put(&cache, &spec_of(&file, format, bytes, bytes), &file, &disk).unwrap();
        assert!(start_of(&disk.path, bytes) == fs::read(&raw).unwrap());
    }
}

#[test]
fn what_does_not_fit_is_refused_before_the_first_byte() {
    if !can_run("what_does_not_fit_is_refused_before_the_first_byte", &PROGRAMS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let raw = raw_image(folder.path(), 32 * MIB);
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let cache = Cache::open(&folder.path().join("cache"), 1 << 30).unwrap();
    let refused = image_refusal(put(&cache, &spec_of(&raw, ImageFormat::Raw, 32 * MIB, 32 * MIB), &raw, &disk));
    assert_eq!(refused, ImageRefusal::DiskTooSmall { needed: 32 * MIB, found: 16 * MIB });
    let small = raw_image(folder.path(), 8 * MIB);
    let refused = image_refusal(put(&cache, &spec_of(&small, ImageFormat::Raw, 8 * MIB, 17 * MIB), &small, &disk));
    assert_eq!(refused, ImageRefusal::DiskTooSmall { needed: 17 * MIB, found: 16 * MIB });
    assert!(disk.is_zero());
}

#[test]
fn an_image_that_changed_in_the_cache_is_refused() {
    if !can_run("an_image_that_changed_in_the_cache_is_refused", &PROGRAMS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let raw = raw_image(folder.path(), 8 * MIB);
    let image = spec_of(&raw, ImageFormat::Raw, 8 * MIB, 8 * MIB);
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let cache = Cache::open(&folder.path().join("cache"), 1 << 30).unwrap();
    let verified = cached(&cache, &image, &raw).unwrap();
    let kept = folder.path().join("cache").join(&image.spec().sha256);
    OpenOptions::new().write(true).open(&kept).unwrap().write_all_at(b"x", 5 * MIB).unwrap();
    let held = disk.open().unwrap();
    let ended = clone::clone(&verified, &held, &Tools::default(), &CloneLimits::default(), &clock(), &mut |_, _| ());
    assert!(matches!(image_refusal(ended), ImageRefusal::Changed { .. }));
    drop(held);
    assert!(disk.is_zero());
    let digest = cache.verify_cached(&image).unwrap_err();
    assert!(matches!(digest, Fault::Refused { refusal: Refusal::Image(ImageRefusal::Digest { .. }) }), "{digest:?}");
    assert!(!kept.exists());
    // Fetched anew, it is good again.
    put(&cache, &image, &raw, &disk).unwrap();
}

#[test]
fn an_image_that_is_not_plain_is_refused_even_when_signed() {
    if !can_run("an_image_that_is_not_plain_is_refused_even_when_signed", &PROGRAMS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let raw = raw_image(folder.path(), 8 * MIB);
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let cache = Cache::open(&at("cache"), 1 << 30).unwrap();
    let (base, backed, outside) = (raw.to_str().unwrap(), at("backed.qcow2"), at("outside.qcow2"));
    run("qemu-img", &["create", "-q", "-f", "qcow2", "-F", "raw", "-b", base, backed.to_str().unwrap()]);
    let elsewhere = format!("data_file={}", at("data.raw").display());
    run("qemu-img", &["create", "-q", "-f", "qcow2", "-o", &elsewhere, outside.to_str().unwrap(), "8M"]);
    // Cut in the middle of its data, with a digest of what is left.
    let (whole, short) = (qcow2_of(&raw), at("short.qcow2"));
    let bytes = fs::read(&whole).unwrap();
    fs::write(&short, &bytes[..bytes.len() / 3]).unwrap();
    let header = at("header.qcow2");
    fs::write(&header, &bytes[..50]).unwrap();
    // A table that points into the header.
    let (broken, mut damaged) = (at("broken.qcow2"), bytes.clone());
    damaged[40..48].copy_from_slice(&u64::MAX.to_be_bytes());
    fs::write(&broken, damaged).unwrap();
    for file in [&backed, &outside, &short, &header, &broken, &raw] {
        let refused = image_refusal(put(&cache, &spec_of(file, ImageFormat::Qcow2, 8 * MIB, 8 * MIB), file, &disk));
        assert!(matches!(refused, ImageRefusal::NotPlain { .. }), "{file:?}: {refused:?}");
    }
    let refused = image_refusal(put(&cache, &spec_of(&whole, ImageFormat::Qcow2, 4 * MIB, 8 * MIB), &whole, &disk));
    assert!(matches!(refused, ImageRefusal::NotPlain { .. }), "{refused:?}");
    assert!(disk.is_zero());
    put(&cache, &spec_of(&whole, ImageFormat::Qcow2, 8 * MIB, 8 * MIB), &whole, &disk).unwrap();
}

#[test]
fn a_disk_that_cannot_take_it_is_a_fault() {
    if !can_run("a_disk_that_cannot_take_it_is_a_fault", &PROGRAMS) {
        return;
    }
    let (folder, small) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let point = small.path().to_str().unwrap();
    run("mount", &["-t", "tmpfs", "-o", "size=4m", "tmpfs", point]);
    let mut undo = Undo::default();
    undo.later(&["umount", point]);
    let raw = raw_image(folder.path(), 32 * MIB);
    let disk = LoopDisk::new(small.path(), 64 * MIB);
    let cache = Cache::open(&folder.path().join("cache"), 1 << 30).unwrap();
    let ended = put(&cache, &spec_of(&raw, ImageFormat::Raw, 32 * MIB, 32 * MIB), &raw, &disk);
    assert!(matches!(ended, Err(Fault::Program { .. } | Fault::Io { .. })), "{ended:?}");
    drop(disk);
}

#[test]
fn a_full_file_system_leaves_no_part_of_an_image() {
    if !can_run("a_full_file_system_leaves_no_part_of_an_image", &["mount"]) {
        return;
    }
    let (folder, small) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let point = small.path().to_str().unwrap();
    run("mount", &["-t", "tmpfs", "-o", "size=4m", "tmpfs", point]);
    let mut undo = Undo::default();
    undo.later(&["umount", point]);
    let raw = raw_image(folder.path(), 8 * MIB);
    let cache = Cache::open(small.path(), 1 << 30).unwrap();
    let ended = cached(&cache, &spec_of(&raw, ImageFormat::Raw, 8 * MIB, 8 * MIB), &raw);
    assert!(matches!(ended, Err(Fault::NoRoom { .. })), "{ended:?}");
    let left: Vec<_> = fs::read_dir(small.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"]);
}

// Run by the test below in a process of its own, which is killed while it is at it.
#[test]
#[ignore = "run by a_clone_that_was_killed_is_done_again"]
fn clone_until_killed() {
    let Ok(folder) = std::env::var("DISK_TEST_FOLDER") else { return };
    let folder = Path::new(&folder);
    let path = fs::read_to_string(folder.join("path")).unwrap();
    let approved = serde_json::from_slice(&fs::read(folder.join("identity")).unwrap()).unwrap();
    let held = ExclusiveDisk::open(&HostView::default(), Path::new(&path), &approved).unwrap();
    let raw = folder.join("image.raw");
    let bytes = fs::metadata(&raw).unwrap().len();
    let cache = Cache::open(&folder.join("cache"), 1 << 30).unwrap();
    let image = cached(&cache, &spec_of(&raw, ImageFormat::Raw, bytes, bytes), &raw).unwrap();
    let limits = CloneLimits::default();
    let _ = clone::clone(&image, &held, &Tools::default(), &limits, &clock(), &mut |_, _| {
        fs::write(folder.join("begun"), "").unwrap();
        std::thread::sleep(Duration::from_secs(600));
    });
}

#[test]
fn a_clone_that_was_killed_is_done_again() {
    if !can_run("a_clone_that_was_killed_is_done_again", &PROGRAMS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bytes = 192 * MIB;
    let raw = raw_image(folder.path(), bytes);
    let disk = LoopDisk::new(folder.path(), 256 * MIB);
    fs::write(folder.path().join("path"), disk.path.to_str().unwrap()).unwrap();
    fs::write(folder.path().join("identity"), serde_json::to_vec(&disk.identity).unwrap()).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "clone_until_killed", "--ignored"])
        .env("DISK_TEST_FOLDER", folder.path())
        .spawn();
    let mut child = Running(child.unwrap());
    let late = Instant::now() + Duration::from_secs(60);
    while !folder.path().join("begun").exists() {
        assert!(Instant::now() < late && child.0.try_wait().unwrap().is_none(), "the clone did not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.0.kill().unwrap();
    assert_eq!(child.0.wait().unwrap().signal(), Some(9));
    // Its qemu-img ends with it; until it has, the disk is not given out.
    let cache = Cache::open(&folder.path().join("cache"), 1 << 30).unwrap();
    let image = spec_of(&raw, ImageFormat::Raw, bytes, bytes);
    put(&cache, &image, &raw, &disk).unwrap();
    assert!(start_of(&disk.path, bytes) == fs::read(&raw).unwrap());
}

#[test]
#[ignore = "measures; run it alone with --release"]
fn how_fast_a_clone_is() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = 768 * MIB;
    let raw = raw_image(folder.path(), bytes);
    let qcow2 = qcow2_of(&raw);
    let disk = LoopDisk::new(folder.path(), 1024 * MIB);
    let cache = Cache::open(&folder.path().join("cache"), 4 << 30).unwrap();
    for _ in 0..7 {
        for (format, name, file) in [(ImageFormat::Raw, "raw", &raw), (ImageFormat::Qcow2, "qcow2", &qcow2)] {
            let image = spec_of(file, format, bytes, bytes);
            cached(&cache, &image, file).unwrap();
            let kept = folder.path().join("cache").join(&image.spec().sha256);
            let (from, to) = (kept.to_str().unwrap(), disk.path.to_str().unwrap());
            let started = Instant::now();
            run("qemu-img", &["convert", "-n", "-t", "none", "-T", "none", "-f", name, "-O", "raw", from, to]);
            let alone_us = started.elapsed().as_micros();
            let report = put(&cache, &image, file, &disk).unwrap();
            println!("{name}: qemu-img alone {alone_us} us, {report:?}");
        }
    }
}
