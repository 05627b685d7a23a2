//! The fleet in memory walks like a real one, and nothing is done twice.

use super::*;
use crate::{
    provider::UserData,
    step::{Budgets, Elapsed, Step, Wanted, next_step},
};
use proptest::prelude::*;
use std::{
    future::Future,
    sync::atomic::{AtomicI64, Ordering},
    task::{Context, Poll, Waker},
};

/// The fleet never waits, so its answers are there at once.
fn now<T>(mut answer: Answer<'_, T>) -> Result<T, Fault> {
    match Future::poll(answer.as_mut(), &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the simulated fleet waits"),
    }
}

struct World {
    fleet: SimulatedMachines,
    seconds: Arc<AtomicI64>,
    id: ProviderId,
}

impl World {
    fn new() -> Self {
        let seconds = Arc::new(AtomicI64::new(1_000));
        let clock = Arc::clone(&seconds);
        let fleet = SimulatedMachines::new(
            move || Timestamp::from_micros(0).plus_seconds(clock.load(Ordering::SeqCst)),
            Timings::default(),
        );
        let id: ProviderId = "m1".parse().unwrap();
        fleet.put(Machine {
            id: id.clone(),
            hostname: "m1".to_owned(),
            serial: Some("S1".to_owned()),
            status: MachineStatus::Ready,
            message: String::new(),
            power: PowerState::Off,
            tags: BTreeSet::new(),
            pool: None,
            zone: None,
            owner: None,
            mark: None,
            locked: false,
            gpus: Some(8),
        });
        Self { fleet, seconds, id }
    }

    fn seen(&self) -> Machine {
        now(self.fleet.machine(&self.id)).unwrap()
    }

    /// Does what it is told until it comes to rest; a call that failed is just tried again at the next look.
    fn walk(&self, wanted: &Wanted) -> Step {
        let (budgets, began) = (Budgets::default(), self.seconds.load(Ordering::SeqCst));
        let (mut last, mut since) = (None, began);
        for _ in 0..10_000 {
            let at = self.seconds.fetch_add(30, Ordering::SeqCst) + 30;
            let Ok(seen) = now(self.fleet.machine(&self.id)) else { continue };
            if last.as_ref() != Some(&seen.status) {
                (last, since) = (Some(seen.status.clone()), at);
            }
            let elapsed = Elapsed { in_status_s: at - since, since_wanted_s: at - began };
            let step = next_step(wanted, &seen, elapsed, &budgets);
            let _ = match &step {
                Step::Rest | Step::GiveUp(_) => return step,
                Step::Wait { .. } => continue,
                Step::Allocate => now(self.fleet.allocate(&self.id, &mark())),
                Step::Deploy => now(self.fleet.deploy(&self.id, &order())),
                Step::Release { erase } => now(self.fleet.release(&self.id, &giving_back(*erase))),
                Step::MarkBroken(trouble) => {
                    let order = BreakOrder { held_by: Some(mark()), comment: trouble.to_string() };
                    now(self.fleet.mark_broken(&self.id, &order))
                }
            };
        }
        panic!("it never comes to rest")
    }
}

fn mark() -> OrderMark {
    "alloc_1".parse().unwrap()
}

fn order() -> DeployOrder {
    DeployOrder::new(mark(), "ubuntu", "jammy", UserData::default()).unwrap()
}

fn giving_back(erase: Erase) -> ReleaseOrder {
    ReleaseOrder { held_by: Some(mark()), erase, comment: String::new() }
}

fn free() -> Wanted {
    Wanted::Free { held_by: Some(mark()), erase: Erase::Secure }
}

#[test]
fn a_machine_goes_out_and_comes_back() {
    let world = World::new();
    assert_eq!(world.walk(&Wanted::Deployed { mark: mark() }), Step::Rest);
    assert_eq!((world.seen().power, world.fleet.installations(&world.id)), (PowerState::On, 1));
    assert_eq!(world.walk(&free()), Step::Rest);
    let seen = world.seen();
    assert_eq!((seen.status, seen.mark, seen.owner), (MachineStatus::Ready, None, None));
}

#[test]
fn every_call_can_be_repeated() {
    let world = World::new();
    for _ in 0..2 {
        now(world.fleet.allocate(&world.id, &mark())).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(now(world.fleet.deploy(&world.id, &order())).unwrap().status, MachineStatus::Deploying);
    }
    assert_eq!(world.fleet.installations(&world.id), 1);
    for _ in 0..2 {
        now(world.fleet.release(&world.id, &giving_back(Erase::Secure))).unwrap();
    }
    let tag: TagName = "rack-7".parse().unwrap();
    for _ in 0..2 {
        now(world.fleet.tag(&world.id, &tag)).unwrap();
    }
    assert!(world.seen().tags.contains("rack-7"));
    for _ in 0..2 {
        now(world.fleet.untag(&world.id, &tag)).unwrap();
    }
    assert!(world.seen().tags.is_empty());
    assert_eq!(now(world.fleet.tags()).unwrap(), ["rack-7"]);
}

#[test]
fn a_lost_answer_installs_only_once() {
    let world = World::new();
    for call in [Call::Allocate, Call::Deploy] {
        world.fleet.plan(call, None, Mishap::AnswerLost);
    }
    assert_eq!(world.walk(&Wanted::Deployed { mark: mark() }), Step::Rest);
    assert_eq!(world.fleet.installations(&world.id), 1);
}

#[test]
fn a_failed_or_endless_installation_ends_broken() {
    for mishap in [Mishap::Fails, Mishap::Hangs] {
        let world = World::new();
        world.fleet.plan(Call::Deploy, Some(world.id.clone()), mishap);
        assert!(matches!(world.walk(&Wanted::Deployed { mark: mark() }), Step::GiveUp(_)));
        let seen = world.seen();
        assert_eq!((seen.status, seen.mark), (MachineStatus::Broken, None));
        assert!(seen.message.contains("was expected to"), "{}", seen.message);
    }
}

#[test]
fn disks_that_were_not_erased_never_come_back_free() {
    for mishap in [Mishap::Fails, Mishap::Hangs] {
        let world = World::new();
        assert_eq!(world.walk(&Wanted::Deployed { mark: mark() }), Step::Rest);
        world.fleet.plan(Call::Release, None, mishap);
        assert!(matches!(world.walk(&free()), Step::GiveUp(_)));
        assert_eq!(world.seen().status, MachineStatus::Broken);
    }
}

#[test]
fn a_machine_that_was_carried_away_is_not_found() {
    let world = World::new();
    world.fleet.remove(&world.id);
    let fault = now(world.fleet.machine(&world.id)).unwrap_err();
    assert_eq!(fault.to_string(), "the provider was expected to know machine m1, but does not");
    assert_eq!(now(world.fleet.list()).unwrap(), []);
}

fn mishap() -> impl Strategy<Value = (Call, Mishap)> {
    let call =
        proptest::sample::select(vec![Call::Read, Call::Allocate, Call::Deploy, Call::Release, Call::MarkBroken]);
    let refused = Fault::Refused { what: "it".to_owned(), status: 503, detail: String::new() };
    let mishap = proptest::sample::select(vec![
        Mishap::Refused(refused),
        Mishap::Refused(Fault::Unreachable { why: "away".to_owned() }),
        Mishap::AnswerLost,
        Mishap::Fails,
        Mishap::Hangs,
    ]);
    (call, mishap)
}

proptest! {
    /// Whatever goes wrong on the way, the walk ends, and no order installs a machine twice.
    #[test]
    fn mishaps_never_install_twice(mishaps in proptest::collection::vec(mishap(), 0..12)) {
        let world = World::new();
        for (call, mishap) in mishaps {
            world.fleet.plan(call, None, mishap);
        }
        let end = world.walk(&Wanted::Deployed { mark: mark() });
        prop_assert!(matches!(end, Step::Rest | Step::GiveUp(_)));
        prop_assert!(world.fleet.installations(&world.id) <= 1);
        let end = world.walk(&free());
        let seen = now(world.fleet.machine(&world.id));
        if end == Step::Rest {
            prop_assert!(seen.is_ok_and(|seen| seen.status == MachineStatus::Ready && seen.mark.is_none()));
        }
    }
}
