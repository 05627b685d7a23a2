//! The plane on a thread of its own, as a server runs it: woken by pokes, stopped on request, ended by a poisoned store.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use control::{
    plane::{ControlPlane, PlaneConfig},
    runner::{self, RunEnd},
};
use model::allocation::State;
use store::{
    Dialect, LEADER, lease,
    testing::{CommitFailure, Place, both_engines},
};

use crate::world::World;

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A world whose plane is on its own thread from now on, sleeping long unless poked.
fn on_a_thread(world: &World, on_poisoned: impl FnOnce() + Send + 'static) -> runner::RunnerHandle {
    let config = PlaneConfig { idle_look_ms: 60_000, ..PlaneConfig::new("test-replica") };
    let plane = ControlPlane::new(world.db.clone(), world.ports.clone(), config);
    runner::spawn(plane, on_poisoned).unwrap()
}

#[test]
fn a_poke_wakes_the_runner_and_a_stop_gives_the_lease_back() {
    both_engines(|db| {
        let world = World::new(db, 1);
        let handle = on_a_thread(&world, || panic!("the store is fine"));
        eventually("it leads", || handle.latest().leading && !handle.latest().worked);
        let (id, _) = world.launch(1);
        handle.poke();
        eventually("the wish is placed", || world.allocation(&id).state == State::Provisioning);
        assert_eq!(handle.stop(), RunEnd::Stopped);
        assert!(world.read(|tx| lease::lease_read(tx, LEADER)).unwrap().is_released());
    });
}

#[test]
fn a_poisoned_store_ends_the_run_and_says_so() {
    let place = Place::new(Dialect::Sqlite);
    let world = World::new(place.open(), 1);
    let (told, heard) = mpsc::channel();
    let handle = on_a_thread(&world, move || told.send(()).unwrap());
    eventually("it leads", || handle.latest().leading && !handle.latest().worked);
    world.db.sabotage().unwrap().fail_next_commit(CommitFailure::AnswerLost);
    let id = world.allocation_id();
    assert!(world.try_launch(&id, &world.sku.clone(), 1).is_err());
    handle.poke();
    heard.recv_timeout(Duration::from_secs(30)).expect("the caller is told");
    assert_eq!(handle.stop(), RunEnd::StorePoisoned);
}
