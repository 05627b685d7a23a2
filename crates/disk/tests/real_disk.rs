//! Whether a real disk is taken or refused, on loop devices.
#![allow(clippy::unwrap_used)]

mod support;

use disk::{ExclusiveDisk, Fault, HostView, Refusal};
use std::{
    fs::OpenOptions,
    path::Path,
    process::{Command, Stdio},
};
use support::{LoopDisk, MIB, Running, Undo, can_run, run};

#[test]
fn a_free_disk_is_taken_once() {
    if !can_run("a_free_disk_is_taken_once", &["losetup"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let held = disk.open().unwrap();
    assert_eq!(held.recheck().unwrap(), disk.identity);
    assert_eq!(disk.open().unwrap_err(), Refusal::Busy { path: disk.path.display().to_string() });
    drop(held);
    disk.open().unwrap();
}

#[test]
fn what_is_no_whole_block_device_is_refused() {
    if !can_run("what_is_no_whole_block_device_is_refused", &["losetup", "addpart"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let open = |path: &Path| ExclusiveDisk::open(&HostView::default(), path, &disk.identity).unwrap_err();
    assert!(matches!(open(&disk.file), Refusal::NotBlockDevice { .. }));
    assert!(matches!(open(Path::new("/dev/null")), Refusal::NotBlockDevice { .. }));
    assert!(matches!(open(&folder.path().join("nothing")), Refusal::Missing { .. }));
    let device = disk.path.to_str().unwrap();
    let mut undo = Undo::default();
    run("addpart", &[device, "1", "2048", "8192"]);
    undo.later(&["delpart", device, "1"]);
    let refused = open(Path::new(&format!("{device}p1")));
    assert!(matches!(refused, Refusal::Partition { .. }), "{refused:?}");
    disk.open().unwrap();
}

#[test]
fn a_disk_with_anything_mounted_is_refused() {
    if !can_run("a_disk_with_anything_mounted_is_refused", &["losetup", "addpart", "mkfs.ext4", "mount"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (disk, point) = (LoopDisk::new(folder.path(), 32 * MIB), folder.path().join("a point"));
    std::fs::create_dir(&point).unwrap();
    let (device, at) = (disk.path.to_str().unwrap(), point.to_str().unwrap());
    let name = disk.path.file_name().unwrap().to_str().unwrap().to_owned();
    let mounted = |device: String| Refusal::Mounted { device, point: at.to_owned() };
    {
        let mut undo = Undo::default();
        run("addpart", &[device, "1", "2048", "40960"]);
        undo.later(&["delpart", device, "1"]);
        let part = format!("{device}p1");
        run("mkfs.ext4", &["-q", &part]);
        run("mount", &[&part, at]);
        undo.later(&["umount", at]);
        assert_eq!(disk.open().unwrap_err(), mounted(format!("{name}p1")));
    }
    disk.open().unwrap();
    let mut undo = Undo::default();
    run("mkfs.ext4", &["-q", "-F", device]);
    run("mount", &[device, at]);
    undo.later(&["umount", at]);
    assert_eq!(disk.open().unwrap_err(), mounted(name));
}

#[test]
fn swap_is_refused() {
    if !can_run("swap_is_refused", &["losetup", "mkswap", "swapon"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let device = disk.path.to_str().unwrap();
    run("mkswap", &[device]);
    let mut undo = Undo::default();
    run("swapon", &[device]);
    undo.later(&["swapoff", device]);
    assert!(matches!(disk.open().unwrap_err(), Refusal::Swap { .. }));
}

#[test]
fn another_file_behind_the_same_device_is_refused() {
    if !can_run("another_file_behind_the_same_device_is_refused", &["losetup"]) {
        return;
    }
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (disk, swapped) = (LoopDisk::new(folder.path(), 16 * MIB), LoopDisk::new(other.path(), 16 * MIB));
    let refused = ExclusiveDisk::open(&HostView::default(), &swapped.path, &disk.identity).unwrap_err();
    let Refusal::WrongDisk { differences } = refused else { panic!("{refused:?}") };
    let fields: Vec<&str> = differences.iter().map(|difference| difference.field.as_str()).collect();
    assert_eq!(fields, ["device", "backing_file"]);
    std::fs::rename(&disk.file, folder.path().join("elsewhere.img")).unwrap();
    assert!(matches!(disk.open().unwrap_err(), Refusal::WrongDisk { .. }));
}

#[test]
fn a_second_loop_device_over_the_same_file_is_refused() {
    if !can_run("a_second_loop_device_over_the_same_file_is_refused", &["losetup"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let second = run("losetup", &["-f", "--show", disk.file.to_str().unwrap()]);
    let mut undo = Undo::default();
    undo.later(&["losetup", "-d", &second]);
    assert!(matches!(disk.open().unwrap_err(), Refusal::Shared { other, .. } if second.ends_with(&other)));
}

#[test]
fn a_process_that_has_it_open_is_named() {
    if !can_run("a_process_that_has_it_open_is_named", &["losetup", "sleep"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let device = OpenOptions::new().read(true).open(&disk.path).unwrap();
    let holder = Running(Command::new("sleep").arg("600").stdin(Stdio::from(device)).spawn().unwrap());
    let expected = Refusal::OpenElsewhere { pid: holder.0.id(), program: "sleep".into() };
    assert_eq!(disk.open().unwrap_err(), expected);
    drop(holder);
    disk.open().unwrap();
}

#[test]
fn a_file_that_was_cut_short_is_noticed() {
    if !can_run("a_file_that_was_cut_short_is_noticed", &["losetup"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = LoopDisk::new(folder.path(), 16 * MIB);
    let held = disk.open().unwrap();
    OpenOptions::new().write(true).open(&disk.file).unwrap().set_len(MIB).unwrap();
    assert!(matches!(held.recheck(), Err(Fault::DiskGone { .. })));
    drop(held);
    assert!(matches!(disk.open().unwrap_err(), Refusal::Input { .. }));
}
