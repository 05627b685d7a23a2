//! Wiping real loop devices, and faults on the way.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use disk::{
    Fault, Tools, WipeMethod, WipePolicy, bulk, verify,
    verify::{VerifyMode, VerifyPolicy},
    wipe,
};
use std::{
    fs::{self, OpenOptions},
    os::unix::{fs::FileExt, process::ExitStatusExt},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};
use support::{LoopDisk, MIB, NONCE, Running, SECRET, Undo, can_run, clock, run};

fn only(method: WipeMethod) -> WipePolicy {
    WipePolicy { methods: vec![method], ..WipePolicy::default() }
}

#[test]
fn the_secret_is_gone_after_each_method() {
    if !can_run("the_secret_is_gone_after_each_method", &["losetup"]) {
        return;
    }
    for (method, block) in [
        (WipeMethod::Discard, 512),
        (WipeMethod::Overwrite, 512),
        (WipeMethod::Discard, 4096),
        (WipeMethod::Overwrite, 4096),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let disk = LoopDisk::with_blocks(folder.path(), 97 * MIB + 4096, block);
        disk.plant();
        assert!(disk.holds_secret());
        let held = disk.open().unwrap();
        let mut stages = vec![];
        let evidence = wipe::wipe(&held, &only(method), NONCE, &Tools::default(), &clock(), &mut |stage, progress| {
            stages.push((stage, progress.percent));
        })
        .unwrap();
        drop(held);
        assert!(!disk.holds_secret() && disk.is_zero(), "{method}");
        assert_eq!(evidence.erased.choice.method, method);
        assert_eq!((&evidence.erased.before, &evidence.identity_after), (&disk.identity, &disk.identity));
        assert_eq!((evidence.read_back.mode, evidence.read_back.bytes_read), (VerifyMode::Whole, 97 * MIB + 4096));
        assert!(evidence.erased.started_us <= evidence.read_back.started_us);
        assert!(stages.contains(&(wipe::WipeStage::Erase, 100)) && stages.contains(&(wipe::WipeStage::ReadBack, 100)));
        let text = serde_json::to_string(&evidence.erased).unwrap();
        assert_eq!(serde_json::from_str::<wipe::Erased>(&text).unwrap(), evidence.erased);
    }
}

#[test]
fn what_is_left_is_found() {
    if !can_run("what_is_left_is_found", &["losetup", "mkfs.ext4"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 128 * MIB);
    let at = 70 * MIB + 33;
    OpenOptions::new().write(true).open(&disk.path).unwrap().write_all_at(SECRET, at).unwrap();
    let held = disk.open().unwrap();
    let prove = |policy: &VerifyPolicy| wipe::prove(&held, policy, NONCE, &clock(), &mut |_| ());
    let Err(Fault::NotClean { read_back }) = prove(&VerifyPolicy::default()) else { panic!("found clean") };
    assert_eq!((read_back.first_nonzero, read_back.signatures.len()), (Some(at), 0));
    // A sample may miss one spot; its result says that it read less than all.
    let sampled = VerifyPolicy { whole_s_max: 0, sample_count: 3, sample_bytes: 65536 };
    let seen = verify::read_back(held.file(), held.size_bytes(), NONCE, &sampled, &clock(), &mut |_| ()).unwrap();
    assert!(matches!(seen.mode, VerifyMode::Sampled { sample_count: 3, .. }));
    assert!(seen.bytes_read < held.size_bytes());
    // The same, with so many samples that they cover the disk.
    let dense = VerifyPolicy { whole_s_max: 0, sample_count: 4096, sample_bytes: MIB };
    let Err(Fault::NotClean { read_back }) = prove(&dense) else { panic!("found clean") };
    assert_eq!(read_back.first_nonzero, Some(at));
    drop(held);
    run("mkfs.ext4", &["-q", "-F", disk.path.to_str().unwrap()]);
    let held = disk.open().unwrap();
    let found = wipe::prove(&held, &sampled, NONCE, &clock(), &mut |_| ());
    let Err(Fault::NotClean { read_back }) = found else { panic!("found clean") };
    assert_eq!(read_back.signatures[0].name, "ext2, ext3 or ext4");
}

#[test]
fn an_error_of_the_disk_is_a_fault_and_no_other_method_is_tried() {
    if !can_run("an_error_of_the_disk_is_a_fault_and_no_other_method_is_tried", &["losetup", "mount"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let point = folder.path().to_str().unwrap();
    run("mount", &["-t", "tmpfs", "-o", "size=8m", "tmpfs", point]);
    let mut undo = Undo::default();
    undo.later(&["umount", point]);
    let disk = LoopDisk::new(folder.path(), 64 * MIB);
    let policy = WipePolicy { methods: vec![WipeMethod::Overwrite, WipeMethod::Discard], ..WipePolicy::default() };
    let held = disk.open().unwrap();
    let ended = wipe::wipe(&held, &policy, NONCE, &Tools::default(), &clock(), &mut |_, _| ());
    let Err(Fault::MethodFailed { method, why }) = ended else { panic!("{ended:?}") };
    assert_eq!(method, "overwrite");
    assert!(why.contains("writing the disk failed at byte") || why.contains("flushing the disk failed"), "{why}");
    drop((held, disk));
}

#[test]
fn a_disk_that_loses_its_end_under_way_is_a_fault() {
    if !can_run("a_disk_that_loses_its_end_under_way_is_a_fault", &["losetup"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 128 * MIB);
    let held = disk.open().unwrap();
    let ended = wipe::wipe(&held, &only(WipeMethod::Discard), NONCE, &Tools::default(), &clock(), &mut |stage, _| {
        if stage == wipe::WipeStage::ReadBack {
            OpenOptions::new().write(true).open(&disk.file).unwrap().set_len(MIB).unwrap();
        }
    });
    // The kernel answers with an error if there is anything left to read, and if not, the last look at the disk does.
    assert!(matches!(ended, Err(Fault::Io { .. } | Fault::DiskGone { .. })), "{ended:?}");
}

// Run by the test below in a process of its own, which is killed while it is at it.
#[test]
#[ignore = "run by a_wipe_that_was_killed_is_done_again"]
fn wipe_until_killed() {
    let Ok(folder) = std::env::var("DISK_TEST_FOLDER") else { return };
    let folder = Path::new(&folder);
    let path = fs::read_to_string(folder.join("path")).unwrap();
    let approved = serde_json::from_slice(&fs::read(folder.join("identity")).unwrap()).unwrap();
    let held = disk::ExclusiveDisk::open(&disk::HostView::default(), Path::new(&path), &approved).unwrap();
    let _ = wipe::wipe(&held, &only(WipeMethod::Overwrite), NONCE, &Tools::default(), &clock(), &mut |_, progress| {
        if progress.percent >= 30 {
            fs::write(folder.join("half"), "").unwrap();
            std::thread::sleep(Duration::from_secs(600));
        }
    });
}

#[test]
fn a_wipe_that_was_killed_is_done_again() {
    if !can_run("a_wipe_that_was_killed_is_done_again", &["losetup"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 64 * MIB);
    disk.plant();
    fs::write(folder.path().join("path"), disk.path.to_str().unwrap()).unwrap();
    fs::write(folder.path().join("identity"), serde_json::to_vec(&disk.identity).unwrap()).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wipe_until_killed", "--ignored"])
        .env("DISK_TEST_FOLDER", folder.path())
        .spawn();
    let mut child = Running(child.unwrap());
    let late = Instant::now() + Duration::from_secs(60);
    while !folder.path().join("half").exists() {
        assert!(Instant::now() < late && child.0.try_wait().unwrap().is_none(), "the wipe did not get so far");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.0.kill().unwrap();
    assert_eq!(child.0.wait().unwrap().signal(), Some(9));
    assert!(disk.holds_secret());
    let held = disk.open().unwrap();
    let again = || wipe::wipe(&held, &only(WipeMethod::Overwrite), NONCE, &Tools::default(), &clock(), &mut |_, _| ());
    again().unwrap();
    again().unwrap();
    drop(held);
    assert!(!disk.holds_secret() && disk.is_zero());
}

#[test]
#[ignore = "measures; run it alone with --release"]
fn how_fast_reading_back_is() {
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 1024 * MIB);
    disk.plant();
    let held = disk.open().unwrap();
    wipe::erase(&held, &only(WipeMethod::Overwrite), &Tools::default(), &clock(), &mut |_| ()).unwrap();
    let range = [bulk::Range { offset: 0, bytes: held.size_bytes() }];
    let mut buffer = bulk::Aligned::new(bulk::PIECE_BYTES);
    // In turn, so that whatever else the machine does falls on both.
    for _ in 0..7 {
        let started = Instant::now();
        for piece in bulk::pieces(&range) {
            bulk::read_exact(held.file(), buffer.bytes_mut(), piece.offset).unwrap();
        }
        let raw_us = started.elapsed().as_micros();
        let started = Instant::now();
        wipe::prove(&held, &VerifyPolicy::default(), NONCE, &clock(), &mut |_| ()).unwrap();
        println!("raw sequential read {raw_us} us, read-back {} us for 1 GiB", started.elapsed().as_micros());
    }
}
