//! The root process is killed at every step of a guest's life on a real host. Each time it is started again, says truthfully what
//! is there, and the same order goes on; in the end there is one guest, and then nothing.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod world;

use hostbox::{MIB, tiny_image};
use hostd::{ClientFault, Waiting};
use model::{
    runtime::{WorkProgress, WorkStep},
    task::TaskSlot,
};
use std::{
    fs::File,
    sync::atomic::{AtomicBool, Ordering},
};
use world::{World, allocation, guest, slot, world};

// In their order; what comes after the start waits for a machine that runs.
const BUILT: [WorkStep; 9] = [
    WorkStep::Image,
    WorkStep::Plan,
    WorkStep::Lease,
    WorkStep::Clone,
    WorkStep::Verify,
    WorkStep::Devices,
    WorkStep::Seed,
    WorkStep::Network,
    WorkStep::Start,
];
const AWAITED: [WorkStep; 2] = [WorkStep::LeaseSeen, WorkStep::SshReady];

// Asks for something and kills the root process as soon as the step is told.
fn killed_at<T: std::fmt::Debug>(
    world: &mut World,
    step: WorkStep,
    ask: impl FnOnce(&World, Waiting<'_>) -> Result<T, ClientFault>,
) {
    let killed = AtomicBool::new(false);
    let progress = |told: WorkProgress| {
        if told.step == step && !killed.swap(true, Ordering::SeqCst) {
            world.daemon_signal("-KILL");
        }
    };
    let ended = ask(world, Waiting { progress: &progress, wanted: &|| true });
    // What was done before the signal came is done.
    assert!(matches!(ended, Ok(_) | Err(ClientFault::Broken(_))), "{step}: {ended:?}");
    world.daemon_ended();
    world.daemon_start();
}

fn build(world: &World, slot: &TaskSlot, waiting: Waiting<'_>) -> Result<(), ClientFault> {
    let slots = std::slice::from_ref(slot);
    world.client().provision(&allocation(1), slots, &guest(world, "one"), waiting).map(drop)
}

#[test]
fn a_guest_lives_through_a_kill_at_every_step() {
    let Some(mut world) = world("a_guest_lives_through_a_kill_at_every_step") else { return };
    world.config_write(&[]);
    world.daemon_start();
    let (identity, _) = world.disk("disk7.img", 96 * MIB);
    let (slot, other) = (slot(7, &identity), allocation(2));
    let image = guest(&world, "one").image;
    world.client().image_admit(&image, &mut File::open(tiny_image()).unwrap()).unwrap();
    let listed = |world: &World| world.client().guests().unwrap();
    for step in BUILT {
        killed_at(&mut world, step, |world, waiting| build(world, &slot, waiting));
        let known = listed(&world);
        assert!(known.iter().all(|guest| guest.allocation_id == allocation(1) && !guest.ready), "{step}: {known:?}");
        // From its record on it holds its slot, and nobody else gets it.
        if !matches!(step, WorkStep::Image | WorkStep::Plan | WorkStep::Lease) {
            assert_eq!(known.len(), 1, "{step}");
            let slots = std::slice::from_ref(&slot);
            let thief = world.client().provision(&other, slots, &guest(&world, "thief"), Waiting::quietly());
            assert!(thief.unwrap_err().to_string().contains("slot_free"), "{step}");
        }
        assert!(world.qemus().len() <= usize::from(step == WorkStep::Start), "{step}");
    }
    for step in AWAITED {
        killed_at(&mut world, step, |world, waiting| build(world, &slot, waiting));
        assert!(!listed(&world)[0].ready && world.qemus().len() == 1, "{step}");
    }
    let running = world.qemus();
    build(&world, &slot, Waiting::quietly()).unwrap();
    assert_eq!((world.qemus(), listed(&world)[0].ready), (running, true));
    for step in [WorkStep::Stop, WorkStep::Remove] {
        let slots = std::slice::from_ref(&slot);
        killed_at(&mut world, step, |world, waiting| world.client().stop(&allocation(1), slots, None, waiting));
        // Told before it is begun: at the first it may still run, and at the second its machine is gone.
        let known = listed(&world);
        assert!(known.iter().all(|guest| step == WorkStep::Stop || !guest.ready), "{step}: {known:?}");
    }
    world.client().stop(&allocation(1), std::slice::from_ref(&slot), None, Waiting::quietly()).unwrap();
    world.nothing_left();
}
