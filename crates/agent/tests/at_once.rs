//! Several orders at once: what touches different slots goes on side by side, what touches the same waits its turn, and a crash
//! in the middle of several changes none of the promises. Work is held up at gates, never by the clock.
#![allow(clippy::unwrap_used)]

mod world;

use agent::{HostFault, STILL_S, Step, Watch, hands::ORDERS_AT_ONCE_MAX};
use model::{
    runtime::{WorkProgress, WorkStep},
    task::{ReconcileOrder, Task, TaskFailure, TaskInput, TaskKind},
    time::MICROS_PER_SECOND,
};
use std::{
    collections::BTreeSet,
    sync::{Arc, Condvar, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};
use world::{Middle, World, allocation_id, look, on_slot, order, seen};

/// Holds up work in the middle, by the name of what it is about.
#[derive(Default)]
struct Gate {
    inside: Mutex<Inside>,
    changed: Condvar,
}

#[derive(Default)]
struct Inside {
    closed: BTreeSet<String>,
    // Who goes on although nobody wants it any more.
    stubborn: bool,
    waiting: Vec<String>,
    unwanted: Vec<String>,
}

impl Gate {
    fn closed_for(names: &[String]) -> Arc<Self> {
        let gate = Self::default();
        gate.inside.lock().unwrap().closed.extend(names.iter().cloned());
        Arc::new(gate)
    }

    fn middle(self: &Arc<Self>) -> Middle {
        let gate = Arc::clone(self);
        Arc::new(move |name, watch| gate.pass(name, watch))
    }

    fn pass(&self, name: &str, watch: &dyn Watch) -> Result<(), HostFault> {
        watch.tell(WorkProgress::at(WorkStep::Clone));
        let mut inside = self.inside.lock().unwrap();
        inside.waiting.push(name.to_owned());
        while inside.closed.contains(name) {
            if !watch.is_wanted() && !inside.stubborn {
                inside.unwanted.push(name.to_owned());
                inside.waiting.retain(|other| other != name);
                return Err(HostFault::new("nobody wants it any more"));
            }
            // Nobody is told when an order stops being wanted, so a host looks now and then.
            inside = self.changed.wait_timeout(inside, Duration::from_millis(2)).unwrap().0;
        }
        inside.waiting.retain(|other| other != name);
        Ok(())
    }

    fn open(&self) {
        self.inside.lock().unwrap().closed.clear();
        self.changed.notify_all();
    }

    fn waiting(&self) -> Vec<String> {
        let mut waiting = self.inside.lock().unwrap().waiting.clone();
        waiting.sort();
        waiting
    }
}

fn start(n: u8, slot: u8) -> Task {
    on_slot(order(n, TaskKind::SliceVmProvision, 1, 1), slot)
}

fn end(n: u8, slot: u8) -> Task {
    on_slot(order(n, TaskKind::SliceVmRelease, 1, 2), slot)
}

fn name(slot: u8) -> String {
    allocation_id(100 + slot).to_string()
}

fn until(world: &mut World, holds: impl Fn(&World) -> bool) {
    let late = Instant::now() + Duration::from_secs(120);
    while !holds(world) {
        assert!(Instant::now() < late, "waited for ever: {:?}", world.agent().book());
        world.step(true);
        std::thread::sleep(Duration::from_millis(1));
    }
}

// All that is heard is offered at once, as a real control plane does.
fn world_of(tasks: &[Task], at_once_max: usize, gate: &Arc<Gate>) -> World {
    let mut world = World::threaded(tasks.to_vec(), at_once_max, gate.middle());
    world.offer(tasks);
    world
}

// Every order that is open is begun as far as it can be: nothing is left that does not wait for the host.
fn run_on(world: &mut World) {
    for _ in 0..20 {
        world.step(true);
    }
}

#[test]
fn orders_on_different_slots_are_worked_on_side_by_side() {
    let gate = Gate::closed_for(&[name(1), name(2)]);
    let orders = [start(1, 1), start(2, 2)];
    let mut world = world_of(&orders, ORDERS_AT_ONCE_MAX, &gate);
    until(&mut world, |_| gate.waiting() == [name(1), name(2)]);
    assert!(!world.agent().is_busy() && world.agent().is_at_work() && !world.agent().is_idle());
    gate.open();
    world.settle();
    for (task, slot) in orders.iter().zip(1..) {
        let result = world.result(task);
        assert_eq!((result.failure, result.guest.as_deref()), (None, Some(&seen(&allocation_id(100 + slot)))));
    }
    assert_eq!(world.guests().len(), 2);
}

#[test]
fn no_more_orders_are_worked_on_at_once_than_there_are_hands() {
    let gate = Gate::closed_for(&[name(1), name(2), name(3)]);
    let mut world = world_of(&[start(1, 1), start(2, 2), start(3, 3)], 2, &gate);
    until(&mut world, |_| gate.waiting().len() == 2);
    run_on(&mut world);
    assert_eq!(gate.waiting(), [name(1), name(2)]);
    let waits = |world: &World| {
        let third = world.progress.iter().filter(|said| said.task_id == start(3, 3).id);
        third.map(|said| said.progress.step).collect::<Vec<_>>()
    };
    assert_eq!(waits(&world), [WorkStep::Waiting]);
    let wakes = world.wakes.load(Ordering::SeqCst);
    run_on(&mut world);
    assert_eq!(world.wakes.load(Ordering::SeqCst), wakes, "an order that waits keeps nobody awake");
    assert!(wakes > 0 && !world.agent().is_busy());
    gate.open();
    world.settle();
    assert_eq!(world.guests().len(), 3);
}

#[test]
fn a_release_makes_a_start_unwanted_and_waits_until_it_has_ended() {
    for stubborn in [false, true] {
        let gate = Gate::closed_for(&[name(1)]);
        gate.inside.lock().unwrap().stubborn = stubborn;
        let (up, down) = (start(1, 1), end(2, 1));
        let mut world = world_of(std::slice::from_ref(&up), ORDERS_AT_ONCE_MAX, &gate);
        until(&mut world, |_| gate.waiting() == [name(1)]);
        world.orders.push(down.clone());
        world.offer(std::slice::from_ref(&down));
        if stubborn {
            run_on(&mut world);
            assert_eq!(world.effects().len(), 1, "the release has begun nothing");
            assert!(world.agent().book().open().contains_key(&down.id));
        } else {
            until(&mut world, |_| gate.inside.lock().unwrap().unwanted == [name(1)]);
        }
        gate.open();
        world.settle();
        assert_eq!(world.result(&up).failure, Some(TaskFailure::StaleFence));
        assert_eq!((world.result(&down).failure, world.result(&down).proofs.len()), (None, 1));
        let unwanted = gate.inside.lock().unwrap().unwanted.clone();
        assert_eq!(unwanted, if stubborn { vec![] } else { vec![name(1)] });
        let steps: Vec<Step> = world.effects().into_iter().map(|effect| effect.step).collect();
        assert_eq!(steps[0], Step::Provision);
        assert_eq!(steps.iter().any(|step| matches!(step, Step::StopGuest { .. })), stubborn, "{steps:?}");
        assert!(world.guests().is_empty());
    }
}

#[test]
fn a_crash_in_the_middle_of_two_changes_begins_both_again() {
    let gate = Gate::closed_for(&[name(1), name(2)]);
    let orders = [start(1, 1), end(2, 2)];
    let mut world = world_of(&orders, ORDERS_AT_ONCE_MAX, &gate);
    until(&mut world, |_| gate.waiting() == [name(1), name(2)]);
    // What the dead agent had begun ends with it.
    world.restart();
    assert!(gate.waiting().is_empty());
    gate.open();
    world.settle();
    for task in &orders {
        assert_eq!(world.result(task).failure, None);
        let turns: Vec<u32> = world
            .effects()
            .iter()
            .filter(|effect| effect.task_id == task.id)
            .filter(
                |effect| !matches!(&effect.step, Step::Wipe { wipe, .. } if *wipe != model::proof::WipeStep::GuestGone),
            )
            .map(|effect| effect.turn)
            .collect();
        assert_eq!(turns, [1, 2], "the turn nobody heard of is counted");
    }
    assert!(world.result(&orders[1]).proofs[0].steps.iter().all(|step| step.ok));
}

#[test]
fn two_releases_of_one_guest_do_not_stop_it_twice() {
    let gate = Gate::closed_for(&[]);
    let both = order(1, TaskKind::SliceVmProvision, 1, 1);
    let mut world = world_of(std::slice::from_ref(&both), ORDERS_AT_ONCE_MAX, &gate);
    world.settle();
    gate.inside.lock().unwrap().closed.extend([name(1), name(2)]);
    let downs = [end(2, 1), end(3, 2)];
    world.orders.extend(downs.clone());
    world.offer(&downs);
    until(&mut world, |_| gate.waiting().len() == 1);
    run_on(&mut world);
    assert_eq!(gate.waiting().len(), 1, "the guest sits on both slots");
    assert_eq!(world.effects().len(), 2);
    gate.open();
    world.settle();
    assert!(downs.iter().all(|task| world.result(task).failure.is_none()) && world.guests().is_empty());
    let stops = world.effects().iter().filter(|effect| matches!(effect.step, Step::StopGuest { .. })).count();
    assert_eq!(stops, 1);
}

#[test]
fn a_comparison_leaves_alone_what_is_being_built_and_nothing_else_is_begun_beside_it() {
    let gate = Gate::closed_for(&[name(1), "reconcile".to_owned()]);
    let compare = look(3, TaskKind::SliceReconcile, 1);
    let (early, late) = (start(1, 1), start(4, 2));
    let mut world = world_of(&[early.clone(), compare.clone()], ORDERS_AT_ONCE_MAX, &gate);
    until(&mut world, |_| gate.waiting() == [name(1), "reconcile".to_owned()]);
    world.orders.push(late.clone());
    world.offer(std::slice::from_ref(&late));
    run_on(&mut world);
    assert_eq!(gate.waiting(), [name(1), "reconcile".to_owned()], "the comparison knows nothing of a later guest");
    let (given, busy) = world.host.machine().compared[0].clone();
    assert_eq!((given, busy), (ReconcileOrder { claims: vec![], slots: vec![] }, vec![allocation_id(101)]));
    gate.open();
    world.settle();
    assert!([&early, &compare, &late].iter().all(|task| world.result(task).failure.is_none()));
    let compared = world.host.machine().compared.len();
    assert_eq!((compared, world.guests().len()), (1, 2));
}

#[test]
fn one_look_of_a_kind_at_a_time_and_other_kinds_beside_it() {
    let gate = Gate::closed_for(&["reconcile".to_owned(), "prefetch".to_owned()]);
    let looks = [
        look(1, TaskKind::SliceReconcile, 1),
        look(2, TaskKind::SliceReconcile, 2),
        look(3, TaskKind::ImagePrefetch, 1),
        look(4, TaskKind::SlicePlan, 1),
    ];
    let mut world = world_of(&looks, ORDERS_AT_ONCE_MAX, &gate);
    until(&mut world, |world| gate.waiting().len() == 2 && world.results.contains_key(&looks[3].id));
    run_on(&mut world);
    assert_eq!(gate.waiting(), ["prefetch".to_owned(), "reconcile".to_owned()]);
    gate.open();
    world.settle();
    assert!(looks.iter().all(|task| world.result(task).failure.is_none()));
    assert_eq!(world.host.machine().compared.len(), 2);
}

#[test]
fn progress_is_told_at_every_new_step_and_otherwise_once_a_second() {
    let tell: Middle = Arc::new(|_, watch| {
        for percent in 0..=100 {
            watch.tell(WorkProgress { percent: Some(percent), ..WorkProgress::at(WorkStep::Clone) });
        }
        Ok(())
    });
    let gate = Gate::closed_for(&[name(1)]);
    let held = gate.middle();
    let middle: Middle = Arc::new(move |name, watch| tell(name, watch).and_then(|()| held(name, watch)));
    let up = start(1, 1);
    let mut world = World::threaded(vec![up.clone()], ORDERS_AT_ONCE_MAX, middle);
    world.offer(std::slice::from_ref(&up));
    until(&mut world, |_| gate.waiting() == [name(1)]);
    run_on(&mut world);
    let told = world.progress.clone();
    assert!(!told.is_empty() && told.len() <= 3, "{told:?}");
    assert!(told.iter().all(|said| said.task_id == up.id && said.fence == up.fence && said.boot == 1));
    assert_eq!(told.last().unwrap().progress, WorkProgress::at(WorkStep::Clone));
    gate.open();
    world.settle();
    assert_eq!(world.result(&up).failure, None);
}

#[test]
fn an_order_that_stands_still_is_heard_of_every_minute() {
    let gate = Gate::closed_for(&[name(1)]);
    let (up, waits) = (start(1, 1), on_slot(order(2, TaskKind::SliceVmProvision, 1, 1), 2));
    let mut world = world_of(&[up.clone(), waits.clone()], 1, &gate);
    until(&mut world, |world| gate.waiting() == [name(1)] && !world.progress.is_empty());
    let begun = world.now;
    let mut heard = vec![];
    // One step is one second.
    while world.now < begun.plus_seconds(400) {
        let before = world.progress.len();
        world.step(true);
        let now = world.now;
        heard.extend(world.progress[before..].iter().map(|said| (said.task_id.clone(), now)));
    }
    for task in [&up, &waits] {
        let times: Vec<_> = heard.iter().filter(|(id, _)| *id == task.id).map(|(_, at)| *at).collect();
        let gaps = times.windows(2).map(|pair| pair[1].micros_since(pair[0]));
        assert!(times.len() >= 6 && times[0] <= begun.plus_seconds(STILL_S), "{times:?}");
        assert!(gaps.clone().all(|gap| gap == STILL_S * MICROS_PER_SECOND), "{times:?}");
    }
    gate.open();
    world.settle();
    assert!([&up, &waits].iter().all(|task| world.result(task).failure.is_none()));
}

#[test]
fn work_whose_thread_dies_has_failed() {
    let dies: Middle = Arc::new(|name, _| panic!("{name} upsets the thread, on purpose"));
    let (up, compare) = (start(1, 1), look(2, TaskKind::SliceReconcile, 1));
    let mut world = World::threaded(vec![up.clone(), compare.clone()], ORDERS_AT_ONCE_MAX, dies);
    world.settle();
    assert_eq!(world.result(&up).failure, Some(TaskFailure::ProvisionFailed));
    assert_eq!(world.result(&compare).failure, Some(TaskFailure::ReconcileFailed));
    assert!(world.result(&up).detail.contains("broke off"), "{}", world.result(&up).detail);
    assert!(matches!(compare.input, TaskInput::SliceReconcile(_)));
}

#[test]
fn an_agent_that_is_put_to_rest_leaves_nobody_at_work() {
    let gate = Gate::closed_for(&[name(1), name(2)]);
    let orders = [start(1, 1), start(2, 2)];
    let mut world = world_of(&orders, ORDERS_AT_ONCE_MAX, &gate);
    until(&mut world, |_| gate.waiting() == [name(1), name(2)]);
    world.agent.take().unwrap().rest();
    assert!(gate.waiting().is_empty());
    gate.open();
    world.restart();
    world.settle();
    assert!(orders.iter().all(|task| world.result(task).failure.is_none()));
}
