//! Guests that are told that they will be stopped, and what else goes on meanwhile.
#![allow(clippy::unwrap_used)]

mod world;

use agent::{HostFault, Record, Step};
use api::node_plane::{FromControl, Offer, TasksOffered};
use model::{
    Timestamp,
    notice::NoticeSeen,
    runtime::WorkStep,
    task::{Task, TaskFailure, TaskInput, TaskKind},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};
use world::{NOTICE_S, World, allocation_id, on_slot, order};

const READY: NoticeSeen = NoticeSeen { delivered: true, checkpointed: true };
const LISTENS: NoticeSeen = NoticeSeen { delivered: true, checkpointed: false };

fn notice(n: u8, attempt: i64) -> Task {
    order(n, TaskKind::SliceVmNotice, 1, attempt)
}

// A world in which the guest of the first allocation is up.
fn running() -> World {
    let mut world = World::new(vec![order(1, TaskKind::SliceVmProvision, 1, 1)]);
    world.settle();
    world
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(0).plus_seconds(second)
}

fn told_at(world: &World) -> Vec<Timestamp> {
    world.host.machine().noticed.iter().map(|(_, at)| *at).collect()
}

#[test]
fn a_guest_is_told_and_looked_at_every_second_until_it_is_ready() {
    let mut world = running();
    let ready_at = world.now.plus_seconds(20);
    world.host.machine().ready_at = Some(ready_at);
    let (told, records) = (notice(2, 2), world.host.journal.records().len());
    world.orders.push(told.clone());
    world.settle();
    let result = world.result(&told);
    assert_eq!((result.failure, result.notice), (None, Some(READY)));
    let looks = told_at(&world);
    assert!(looks.windows(2).all(|pair| pair[1].micros_since(pair[0]) >= 1_000_000), "{looks:?}");
    assert_eq!((looks.last(), looks.len() > 10), (Some(&ready_at), true), "{looks:?}");
    assert_eq!(world.host.machine().noticed[0].0.allocation_id, allocation_id(1));
    let written = world.host.journal.records().split_off(records);
    assert!(
        matches!(&written[..], [Record::Accepted { .. }, Record::Finished { .. }, Record::Acknowledged { .. }]),
        "nothing is changed on the host: {written:?}"
    );
    let steps: Vec<WorkStep> = world.progress.iter().map(|said| said.progress.step).collect();
    assert_eq!(steps, [WorkStep::Notice], "said once, since nothing new is known");
    assert_eq!(world.guests().len(), 1, "it runs on");
}

#[test]
fn a_guest_that_never_answers_is_waited_for_until_its_end() {
    let mut world = running();
    let told = notice(2, 2);
    world.orders.push(told.clone());
    world.settle();
    assert_eq!((world.result(&told).failure, world.result(&told).notice), (None, Some(LISTENS)));
    assert_eq!(told_at(&world).last(), Some(&at(NOTICE_S)));
    let looks = told_at(&world).len();
    // The same order again gets the same answer, and nobody is told again.
    world.offer(std::slice::from_ref(&told));
    world.settle();
    assert_eq!(told_at(&world).len(), looks);
}

#[test]
fn a_host_that_cannot_tell_it_says_so() {
    let mut world = running();
    world.host.machine().blind = true;
    let told = notice(2, 2);
    world.orders.push(told.clone());
    world.settle();
    assert_eq!((world.result(&told).failure, world.result(&told).notice), (Some(TaskFailure::NoticeFailed), None));
    assert!(world.now < at(NOTICE_S), "nobody waits for a host that cannot");
}

#[test]
fn an_order_to_stop_it_does_not_wait_for_its_notice() {
    let mut world = running();
    let (told, mut down) = (notice(2, 2), order(3, TaskKind::SliceVmRelease, 1, 3));
    if let TaskInput::SliceVmRelease(order) = &mut down.input {
        order.grace_s = Some(90);
    }
    world.offer(std::slice::from_ref(&told));
    for _ in 0..5 {
        world.step(true);
    }
    assert!(!told_at(&world).is_empty() && !world.results.contains_key(&told.id));
    world.orders.push(down.clone());
    world.settle();
    assert_eq!(world.result(&told).failure, Some(TaskFailure::StaleFence));
    assert_eq!((world.result(&down).failure, world.guests().len()), (None, 0));
    assert!(world.now < at(NOTICE_S));
    let stops = world.effects().into_iter().filter(|effect| matches!(effect.step, Step::StopGuest { .. }));
    assert_eq!(stops.map(|effect| effect.grace_s).collect::<Vec<_>>(), [Some(90)], "it has as long as it was promised");
    let late = notice(4, 2);
    world.orders.push(late.clone());
    world.settle();
    assert_eq!(world.result(&late).failure, Some(TaskFailure::StaleFence), "a use that has ended is told nothing");
}

#[test]
fn a_second_notice_takes_the_place_of_the_first() {
    let mut world = running();
    let (first, second) = (notice(2, 2), notice(3, 3));
    world.offer(std::slice::from_ref(&first));
    for _ in 0..5 {
        world.step(true);
    }
    world.orders.push(second.clone());
    while !world.results.contains_key(&first.id) {
        world.step(true);
    }
    world.host.machine().ready_at = Some(at(0));
    world.settle();
    assert_eq!(world.result(&first).failure, Some(TaskFailure::StaleFence));
    assert_eq!(world.result(&second).notice, Some(READY));
}

#[test]
fn an_agent_that_was_interrupted_asks_again() {
    let mut world = running();
    let told = notice(2, 2);
    world.orders.push(told.clone());
    for _ in 0..6 {
        world.step(true);
    }
    let before = told_at(&world).len();
    assert!(before > 0 && !world.results.contains_key(&told.id));
    world.restart();
    assert!(world.agent().book().open().contains_key(&told.id));
    world.host.machine().ready_at = Some(at(0));
    world.settle();
    assert_eq!(told_at(&world).len(), before + 1);
    assert_eq!(world.result(&told).notice, Some(READY));
}

#[test]
fn a_notice_is_given_though_the_host_has_its_hands_full() {
    let go_on = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&go_on);
    let busy = on_slot(order(5, TaskKind::SliceVmProvision, 9, 1), 9);
    let slow = busy.input.allocation_id().unwrap().to_string();
    let middle = move |of: &str, _: &dyn agent::Watch| -> Result<(), HostFault> {
        while of == slow && !waits.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        Ok(())
    };
    let mut world = World::threaded(vec![order(1, TaskKind::SliceVmProvision, 1, 1)], 1, Arc::new(middle));
    world.settle();
    world.host.machine().ready_at = Some(at(0));
    let told = notice(2, 2);
    let offers = [busy.clone(), told.clone()].map(Offer::Known).to_vec();
    world.inbox.push(FromControl::TasksOffered(TasksOffered { tasks: offers }));
    while !world.results.contains_key(&told.id) {
        world.step(true);
        thread::yield_now();
    }
    assert_eq!(world.result(&told).notice, Some(READY));
    assert!(!world.results.contains_key(&busy.id), "its guest is still being built");
    go_on.store(true, Ordering::SeqCst);
    world.settle();
}
