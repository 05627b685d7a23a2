//! One replica decides. The others watch, and take over when it is gone; what an overtaken one still tries is refused.

use control::plane::{ControlPlane, PlaneConfig};
use model::{allocation::State, supply::SlotState};
use store::{
    Db, Dialect, LEADER, StoreError, lease,
    testing::{Place, both_engines},
};

use crate::world::World;

fn replica(world: &World, db: &Db, name: &str) -> ControlPlane {
    ControlPlane::new(db.clone(), world.ports.clone(), PlaneConfig::new(name))
}

fn epoch_in_store(world: &World) -> i64 {
    world.read(|tx| lease::lease_read(tx, LEADER)).unwrap().epoch
}

#[test]
fn of_two_replicas_on_one_postgres_only_one_leads_and_the_other_takes_over() {
    let place = Place::new(Dialect::Postgres);
    let (first_db, second_db) = (place.open(), place.open());
    let mut world = World::new(first_db, 1);
    let mut other = replica(&world, &second_db, "other");
    assert_eq!(world.plane.epoch(), Some(1));
    let report = other.step(world.ports.now());
    assert!(!report.leading && !report.worked);

    // The leader lives: however long the other watches, it stays a follower and touches nothing.
    let (id, _) = world.launch(1);
    for _ in 0..10 {
        world.advance_s(4);
        world.nodes_heard();
        assert!(!other.step(world.ports.now()).leading);
        assert!(world.step().leading);
    }
    assert_eq!(world.allocation(&id).state, State::Provisioning);

    // Killed: nothing is given back. A whole period must pass before the other takes over.
    world.plane = replica(&world, &second_db, "unused");
    let now = world.ports.now();
    assert!(!other.step(now).leading, "the last renewal was seen just now");
    world.advance_s(9);
    assert!(!other.step(world.ports.now()).leading);
    world.advance_s(1);
    assert!(other.step(world.ports.now()).leading);
    assert_eq!((other.epoch(), epoch_in_store(&world)), (Some(2), 2));
    world.plane = other;
    world.nodes_heard();
    world.settle();
    assert_eq!(world.nodes_work(), 1, "the new leader goes on where the old one was");
    world.settle();
    assert_eq!(world.allocation(&id).state, State::Running);
    world.check_history();
}

#[test]
fn an_overtaken_leader_commits_nothing() {
    both_engines(|db| {
        let mut world = World::new(db.clone(), 1);
        let mut other = replica(&world, &db, "other");
        assert!(!other.step(world.ports.now()).leading);
        // The leader is paused for longer than its lease; the other takes over and does nothing yet.
        world.advance_s(10);
        let now = world.ports.now();
        assert!(other.step(now).leading);
        // The old one wakes up at a moment at which its own clock says that no renewal is due, and finds a wish.
        world.advance_s(-9);
        let (id, _) = world.launch(1);
        let before = world.allocation(&id);
        let stale = world.step();
        assert_eq!(stale.stopped, Some(StoreError::LostLeadership));
        assert!(!stale.leading);
        assert_eq!(world.allocation(&id), before, "no partial effect");
        assert_eq!((world.active_claims(), world.slots_in(SlotState::Available)), (0, 8));
        assert_eq!(world.plane.epoch(), None);
        world.advance_s(9);
        while other.step(now).worked {}
        assert_eq!(world.allocation(&id).state, State::Provisioning);
    });
}

#[test]
fn a_leader_that_resigns_is_followed_at_once() {
    both_engines(|db| {
        let mut world = World::new(db.clone(), 0);
        let mut other = replica(&world, &db, "other");
        assert!(!other.step(world.ports.now()).leading);
        world.plane.resign();
        assert!(other.step(world.ports.now()).leading);
        assert_eq!(other.epoch(), Some(2));
    });
}

#[test]
fn a_restarted_replica_takes_its_own_lease_back_at_once_but_only_when_newborn() {
    both_engines(|db| {
        let mut world = World::new(db.clone(), 0);
        world.restart();
        assert!(world.step().leading);
        assert_eq!(world.plane.epoch(), Some(2));
        // A second process under the same name: each is overtaken at most once, then they watch like any other.
        let mut twin = ControlPlane::new(db, world.ports.clone(), world.config.clone());
        assert!(twin.step(world.ports.now()).leading);
        world.advance_s(4);
        assert!(!world.step().leading);
        assert!(!world.step().leading);
        assert!(twin.step(world.ports.now()).leading);
        assert_eq!(twin.epoch(), Some(3));
    });
}
