//! Wipes that are cut off or that the disk refuses, through the root process: the step says why, nothing is believed to be clean
//! that is not, and once the fault is gone the same ask works.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod world;

use hostbox::MIB;
use hostd::{ClientFault, Waiting};
use model::{
    proof::WipeStep,
    runtime::{WorkProgress, WorkStep},
    task::TaskSlot,
};
use std::{
    fs::OpenOptions,
    os::unix::fs::FileExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};
use world::{World, allocation, slot, world};

const SECRET: &str = "the-tenants-planted-secret-8e1f";

// Only overwriting, which takes long enough to be cut off and needs every byte of the disk.
const OVERWRITE: (&str, &str) = (
    "ready = ",
    "wipe = { methods = [{ method = \"overwrite\" }], format_s_max = 60, \
     sanitize = { total_s_max = 60, still_s_max = 60, look_every_ms = 1000 }, \
     verify = { whole_s_max = 600, sample_count = 4096, sample_bytes = 1048576 } }\nready = ",
);

fn wipe(world: &World, slot: &TaskSlot, step: WipeStep) -> Result<String, ClientFault> {
    world.client().wipe(&allocation(1), slot, step, Waiting::quietly())
}

fn refused(ended: Result<String, ClientFault>) -> String {
    match ended {
        Err(ClientFault::Refused { detail, .. }) => detail,
        other => panic!("{other:?}"),
    }
}

fn plant(device: &Path, at: u64) {
    OpenOptions::new().write(true).open(device).unwrap().write_all_at(SECRET.as_bytes(), at).unwrap();
}

fn wiped(world: &World, slot: &TaskSlot, device: &Path) {
    wipe(world, slot, WipeStep::DiskErased).unwrap();
    let read = wipe(world, slot, WipeStep::DiskReadBack).unwrap();
    assert!(read.contains("\"mode\":\"whole\"") && read.contains(world::NONCE), "{read}");
    assert!(!world.disk_holds(device, SECRET));
}

// The root process dies as soon as a step is told.
fn killed_at(world: &mut World, slot: &TaskSlot, step: WipeStep, at: WorkStep) {
    let killed = AtomicBool::new(false);
    let progress = |told: WorkProgress| {
        if told.step == at && !killed.swap(true, Ordering::SeqCst) {
            world.daemon_signal("-KILL");
        }
    };
    let waiting = Waiting { progress: &progress, wanted: &|| true };
    let ended = world.client().wipe(&allocation(1), slot, step, waiting);
    assert!(matches!(ended, Err(ClientFault::Broken(_))), "{ended:?}");
    world.daemon_ended();
    world.daemon_start();
}

#[test]
fn a_wipe_whose_process_is_killed_is_done_again() {
    let Some(mut world) = world("a_wipe_whose_process_is_killed_is_done_again") else { return };
    world.config_write(&[OVERWRITE]);
    world.daemon_start();
    let bytes = 1024 * MIB;
    let (identity, device) = world.disk("disk7.img", bytes);
    let slot = slot(7, &identity);
    plant(&device, bytes - 4096);
    killed_at(&mut world, &slot, WipeStep::DiskErased, WorkStep::Erase);
    assert!(world.disk_holds(&device, SECRET), "it was cut off before the end");
    let unclean = refused(wipe(&world, &slot, WipeStep::DiskReadBack));
    assert!(unclean.starts_with("disk_read_back: ") && unclean.contains("expected to hold nothing"), "{unclean}");
    wipe(&world, &slot, WipeStep::DiskErased).unwrap();
    killed_at(&mut world, &slot, WipeStep::DiskReadBack, WorkStep::ReadBack);
    wiped(&world, &slot, &device);
    assert_eq!(world.client().guests().unwrap(), []);
}

#[test]
fn a_disk_that_fails_under_a_wipe_is_told_and_wiped_when_it_is_whole_again() {
    let Some(mut world) = world("a_disk_that_fails_under_a_wipe_is_told_and_wiped_when_it_is_whole_again") else {
        return;
    };
    world.config_write(&[OVERWRITE]);
    world.daemon_start();
    // A disk whose medium has room for an eighth of it: the rest cannot be written.
    let medium = world.path("medium");
    std::fs::create_dir(&medium).unwrap();
    let point = medium.to_str().unwrap();
    world.inside(&["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", point]);
    let (identity, device) = world.disk("medium/disk7.img", 64 * MIB);
    let slot = slot(7, &identity);
    plant(&device, 60 * MIB);
    world.inside(&["sync"]);
    let failed = refused(wipe(&world, &slot, WipeStep::DiskErased));
    assert!(failed.starts_with("disk_erased: ") && failed.contains("overwrite"), "{failed}");
    assert!(
        failed.contains("writing the disk failed at byte") || failed.contains("flushing the disk failed"),
        "{failed}"
    );
    assert!(world.disk_holds(&device, SECRET));
    let unclean = refused(wipe(&world, &slot, WipeStep::DiskReadBack));
    assert!(unclean.contains("expected to hold nothing"), "{unclean}");
    world.inside(&["mount", "-o", "remount,size=128m", point]);
    wiped(&world, &slot, &device);

    // And one whose end cannot be read.
    let file = OpenOptions::new().write(true).open(world.path("medium/disk7.img")).unwrap();
    file.set_len(MIB).unwrap();
    let failed = refused(wipe(&world, &slot, WipeStep::DiskReadBack));
    assert!(failed.starts_with("disk_read_back: "), "{failed}");
    file.set_len(64 * MIB).unwrap();
    wiped(&world, &slot, &device);
}
