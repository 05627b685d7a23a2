//! The agent, by example: orders carried out, refused, repeated, interrupted.
#![allow(clippy::unwrap_used)]

mod world;

use agent::{
    Agent, Guest, HEARTBEAT_S, Identity, Journal, JournalFault, POLL_S, RESEND_S, Record, SlotUse, Step,
    book::{ANSWERS_KEPT_MAX, Book},
};
use api::node_plane::{FromControl, ResultAck, ToControl};
use ed25519_dalek::{Signature, SigningKey};
use model::{
    NodeId, TaskId, Timestamp,
    proof::{Expected, Proof, ProofFault, WipeStep},
    task::{Task, TaskFailure, TaskKind, TaskResult},
};
use world::{SECRET, World, allocation_id, lab_bundle, node_id, order, refusal, seen, slot_id, with_slots};

fn start(n: u8, use_generation: u8, attempt: i64) -> Task {
    order(n, TaskKind::SliceVmProvision, use_generation, attempt)
}

fn end(n: u8, use_generation: u8, attempt: i64) -> Task {
    order(n, TaskKind::SliceVmRelease, use_generation, attempt)
}

fn proof_fault(proof: &Proof, slot: u8, use_generation: i64) -> Option<ProofFault> {
    let key = SigningKey::from_bytes(&SECRET).verifying_key();
    let bytes: Vec<u8> =
        (0..128).step_by(2).map(|i| u8::from_str_radix(&proof.signature[i..i + 2], 16).unwrap()).collect();
    let signature_ok = key.verify_strict(&proof.signed_bytes(), &Signature::from_slice(&bytes).unwrap()).is_ok();
    let nonce = format!("nonce-{use_generation}");
    let expected = Expected {
        node_id: &node_id(),
        slot_id: &slot_id(slot),
        use_generation,
        disk_identity: "",
        nonce: &nonce,
        steps: WipeStep::ALL,
    };
    proof.fault(&expected, signature_ok)
}

fn failure(world: &World, task: &Task) -> Option<TaskFailure> {
    world.result(task).failure
}

#[test]
fn a_guest_is_started_and_then_released_with_proof() {
    let (up, down) = (start(1, 1, 1), end(2, 1, 2));
    let mut world = World::new(vec![up.clone()]);
    world.settle();
    assert_eq!(failure(&world, &up), None);
    assert_eq!(world.guests().len(), 1);
    assert_eq!(world.guests()[0].allocation_id, allocation_id(1));
    world.orders.push(down.clone());
    world.settle();
    let result = world.result(&down);
    assert_eq!((result.failure, result.fence, result.proofs.len()), (None, down.fence, 2));
    assert_eq!(proof_fault(&result.proofs[0], 1, 1), None);
    assert_eq!(proof_fault(&result.proofs[1], 2, 1), None);
    assert!(world.guests().is_empty());
    assert_eq!(world.effects().len(), 1 + 1 + 2 * 5);
    for proof in &result.proofs {
        let expected = format!("{{\"guests\":0,\"stopped\":\"the machine of {} is gone\"}}", allocation_id(1));
        assert_eq!((proof.steps[0].step, &proof.steps[0].evidence), (WipeStep::GuestGone, &expected));
    }
}

#[test]
fn a_crash_after_any_step_changes_nothing_in_the_end() {
    let orders = || vec![start(1, 1, 1), end(2, 1, 2), start(3, 2, 3)];
    let whole = World::new(orders()).settle();
    for crash_at in 0..=whole {
        for heard in [true, false] {
            let mut world = World::new(orders());
            for step in 0..=crash_at {
                world.step(heard || step < crash_at);
            }
            world.restart();
            world.settle();
            let ids: Vec<_> = world.guests().iter().map(|guest| guest.allocation_id.clone()).collect();
            assert_eq!(ids, [allocation_id(2)], "crash after step {crash_at}");
            assert!(world.agent().book().boot() == 2 && world.agent().book().open().is_empty());
            assert!(orders().iter().all(|task| failure(&world, task).is_none()), "crash after step {crash_at}");
            let proofs = &world.result(&orders()[1]).proofs;
            assert!(proofs.len() == 2 && proofs.iter().zip(1..).all(|(p, s)| proof_fault(p, s, 1).is_none()));
            let starts = world.effects().iter().filter(|effect| effect.step == Step::Provision).count();
            assert_eq!(starts, 2, "each guest was started once, crash after step {crash_at}");
        }
    }
}

#[test]
fn work_that_keeps_being_interrupted_fails_instead_of_going_on_for_ever() {
    let down = end(1, 1, 1);
    let mut world = World::new(vec![down.clone()]);
    // Two steps a life: the intent is written, the erase is made, and nobody is left to write down how it ended.
    for _ in 0..40 {
        world.offer(std::slice::from_ref(&down));
        for _ in 0..2 {
            world.step(true);
        }
        world.restart();
    }
    world.settle();
    let proofs = &world.result(&down).proofs;
    assert!(proofs.iter().zip(1..).all(|(p, s)| proof_fault(p, s, 1) == Some(ProofFault::StepFailed)), "{proofs:?}");
}

#[test]
fn an_older_order_is_refused_and_touches_nothing() {
    let newest = end(2, 2, 1);
    let mut world = World::new(vec![newest]);
    world.settle();
    let effects = world.effects().len();
    let mut restored = start(9, 3, 1);
    restored.fence.incarnation = 0;
    let stale = [start(1, 1, 9), end(3, 1, 9), start(4, 2, 9), end(5, 2, 1), end(6, 2, 0), restored];
    world.orders.extend(stale.iter().cloned());
    world.settle();
    for task in &stale {
        assert_eq!(failure(&world, task), Some(TaskFailure::StaleFence), "{task:?}");
    }
    assert_eq!(world.effects().len(), effects);
}

#[test]
fn a_release_of_a_restored_store_removes_the_guest_that_the_backup_forgot() {
    let mut world = World::new(vec![start(1, 3, 1)]);
    world.settle();
    let mut release = end(2, 1, 1);
    release.fence.incarnation += 1;
    world.orders.push(release.clone());
    world.settle();
    assert_eq!(failure(&world, &release), None);
    assert!(world.guests().is_empty());
}

#[test]
fn an_order_for_another_node_is_refused_and_not_written_down() {
    let mut stray = start(1, 1, 1);
    stray.node_id = NodeId::from_parts(Timestamp::from_micros(0), [9; 10]);
    let mut world = World::new(vec![stray.clone()]);
    world.settle();
    assert_eq!(failure(&world, &stray), Some(TaskFailure::WrongNode));
    assert!(world.effects().is_empty() && world.agent().book().marks().is_empty());
}

#[test]
fn a_newer_order_takes_over_from_one_that_is_being_worked_on() {
    let (up, down) = (start(1, 1, 1), end(2, 1, 2));
    let mut world = World::new(vec![up.clone()]);
    while world.agent().book().open().is_empty() {
        world.step(true);
    }
    world.orders.push(down.clone());
    world.offer(std::slice::from_ref(&down));
    world.settle();
    assert_eq!(failure(&world, &up), Some(TaskFailure::StaleFence));
    assert_eq!(failure(&world, &down), None);
    assert!(world.guests().is_empty());
}

#[test]
fn a_repeated_order_gets_the_answer_that_was_given_before() {
    let up = start(1, 1, 1);
    let mut world = World::new(vec![up.clone()]);
    world.settle();
    let (effects, records) = (world.effects(), world.host.journal.records().len());
    for _ in 0..3 {
        world.restart();
        world.offer(&[up.clone(), up.clone()]);
        let said = world.step(true);
        assert_eq!(said.iter().filter(|m| matches!(m, ToControl::Result(a) if a.result.task_id == up.id)).count(), 1);
    }
    world.settle();
    assert_eq!(world.effects(), effects);
    assert_eq!(world.host.journal.records().len(), records + 3, "three starts and nothing else");
}

#[test]
fn a_second_attempt_finds_the_work_of_the_first_and_is_content() {
    let (first, second) = (start(1, 1, 1), start(2, 1, 2));
    let mut world = World::new(vec![first]);
    world.settle();
    world.orders.push(second.clone());
    world.settle();
    assert_eq!(failure(&world, &second), None);
    assert_eq!(world.effects().len(), 1);
}

#[test]
fn a_second_attempt_goes_on_with_what_the_first_did_not_get_to_the_end() {
    let (second, other) = (start(2, 1, 2), start(3, 2, 1));
    let unfinished = Guest {
        allocation_id: allocation_id(1),
        slots: [1, 2].map(|n| SlotUse { slot_id: slot_id(n), use_generation: 1 }).to_vec(),
        ready: false,
        seen: None,
    };
    let mut world = World::new(vec![second.clone()]);
    world.host.machine().guests.push(unfinished.clone());
    world.settle();
    assert_eq!(failure(&world, &second), None);
    assert!(world.guests().len() == 1 && world.guests()[0].ready);
    // What is left of somebody else, or of another use, is not.
    for left in [unfinished.clone(), Guest { allocation_id: allocation_id(2), ..unfinished }] {
        let mut world = World::new(vec![other.clone()]);
        world.host.machine().guests.push(left);
        world.settle();
        assert_eq!(failure(&world, &other), Some(TaskFailure::ProvisionFailed));
        assert!(world.effects().is_empty());
    }
}

#[test]
fn a_failed_or_blank_wipe_step_is_shown_as_it_is() {
    for blank in [false, true] {
        for wipe in WipeStep::ALL.iter().copied() {
            let down = end(1, 1, 1);
            let mut world = World::new(vec![down.clone()]);
            let step = Step::Wipe { slot_id: slot_id(1), wipe };
            let mut machine = world.host.machine();
            if blank {
                machine.blank.insert(step)
            } else {
                machine.failing.insert(step)
            };
            drop(machine);
            world.settle();
            let result = world.result(&down);
            assert_eq!(result.failure, None, "the guest is gone all the same");
            assert_eq!(proof_fault(&result.proofs[0], 1, 1), Some(ProofFault::StepFailed), "{wipe}");
            let last = result.proofs[0].steps.last().unwrap();
            assert!(last.step == wipe && !last.ok, "nothing is tried after the step that failed");
            assert_eq!(proof_fault(&result.proofs[1], 2, 1), None, "the other slot is not held up");
        }
    }
}

#[test]
fn a_guest_that_will_not_go_keeps_its_slots_unwiped() {
    let (up, down) = (start(1, 1, 1), end(2, 1, 2));
    let mut world = World::new(vec![up]);
    world.settle();
    world.host.machine().unstoppable = true;
    world.orders.push(down.clone());
    world.settle();
    assert_eq!(failure(&world, &down), Some(TaskFailure::GuestNotGone));
    assert!(world.result(&down).proofs.is_empty());
    assert!(!world.effects().iter().any(|effect| matches!(effect.step, Step::Wipe { .. })));
}

#[test]
fn a_guest_that_cannot_start_and_a_host_that_cannot_see_are_failures() {
    let up = start(1, 1, 1);
    let mut world = World::new(vec![up.clone()]);
    world.host.machine().failing.insert(Step::Provision);
    world.settle();
    assert_eq!(
        (failure(&world, &up), world.result(&up).detail.as_str()),
        (Some(TaskFailure::ProvisionFailed), "it broke")
    );
    world.host.machine().blind = true;
    let down = end(2, 1, 2);
    world.orders.push(down.clone());
    world.settle();
    assert_eq!(failure(&world, &down), Some(TaskFailure::GuestNotGone));
}

#[test]
fn a_refusal_is_answered_check_by_check_wherever_a_crash_comes() {
    for failure_told in [TaskFailure::PlanRefused, TaskFailure::ImageRefused] {
        let up = start(1, 1, 1);
        let refused = || {
            let world = World::new(vec![up.clone()]);
            world.host.machine().refusing = Some(failure_told);
            world
        };
        let whole = refused().settle();
        for crash_at in 0..=whole {
            let mut world = refused();
            (0..=crash_at).for_each(|_| drop(world.step(true)));
            world.restart();
            world.settle();
            let result = world.result(&up);
            assert_eq!((result.failure, result.refusals.as_slice()), (Some(failure_told), &[refusal()][..]));
            assert_eq!(result.detail, "disk_identity: expected serial A, found serial B");
            assert!(result.guest.is_none() && world.guests().is_empty());
        }
    }
}

#[test]
fn what_is_seen_of_a_guest_is_answered_wherever_a_crash_comes() {
    for shy in [false, true] {
        let up = start(1, 1, 1);
        let whole = World::new(vec![up.clone()]).settle();
        for crash_at in 0..=whole {
            let mut world = World::new(vec![up.clone()]);
            world.host.machine().shy = shy;
            (0..=crash_at).for_each(|_| drop(world.step(true)));
            world.restart();
            world.settle();
            assert_eq!(world.result(&up).guest.as_deref(), Some(&seen(&allocation_id(1))), "crash after {crash_at}");
            assert_eq!(world.guests().len(), 1);
            // One that lists its guests without what is seen of them is asked for it once more, and no more than that.
            assert!(world.effects().len() <= if shy { 2 } else { 1 }, "{:?}", world.effects());
        }
    }
}

#[test]
fn a_slot_is_wiped_as_far_as_it_has_devices() {
    let down = with_slots(end(1, 1, 1), |slots| slots[1].bundle = Some(Box::new(lab_bundle(1))));
    let mut world = World::new(vec![down.clone()]);
    world.settle();
    let proofs = &world.result(&down).proofs;
    let steps = |at: usize| proofs[at].steps.iter().map(|given| given.step).collect::<Vec<_>>();
    assert_eq!(steps(0), WipeStep::needed(false, false), "a laboratory's slot has nothing to reset");
    assert_eq!(proofs[0].disk_identity, "loop:/disks/1");
    assert_eq!(steps(1), WipeStep::ALL, "of a slot about which nothing is said everything is wiped");
}

#[test]
fn nobody_is_started_beside_what_another_guest_left() {
    let (first, second) = (start(1, 1, 1), start(2, 2, 1));
    let mut world = World::new(vec![first]);
    world.settle();
    world.orders.push(second.clone());
    world.settle();
    assert_eq!(failure(&world, &second), Some(TaskFailure::ProvisionFailed));
    assert_eq!(world.guests().len(), 1);
}

#[test]
fn an_order_that_names_no_slot_or_one_twice_is_refused() {
    let none = with_slots(end(1, 1, 1), Vec::clear);
    let twice = with_slots(start(2, 2, 1), |slots| slots[1] = slots[0].clone());
    let mut world = World::new(vec![none.clone(), twice.clone()]);
    world.settle();
    assert_eq!(failure(&world, &none), Some(TaskFailure::GuestNotGone));
    assert_eq!(failure(&world, &twice), Some(TaskFailure::ProvisionFailed));
    assert!(world.effects().is_empty());
}

#[test]
fn without_a_journal_nothing_is_done() {
    let up = start(1, 1, 1);
    let mut world = World::new(vec![up.clone()]);
    world.offer(std::slice::from_ref(&up));
    world.host.journal.set_broken(true);
    for _ in 0..10 {
        assert!(world.step(true).is_empty());
    }
    assert!(matches!(world.agent().halted(), Some(JournalFault::Io(_))));
    assert!(world.effects().is_empty());
    world.host.journal.set_broken(false);
    world.restart();
    world.settle();
    assert_eq!(failure(&world, &up), None);
}

#[test]
fn a_journal_from_another_node_is_refused() {
    let world = World::new(vec![]);
    let other = NodeId::from_parts(Timestamp::from_micros(0), [9; 10]);
    let started = Agent::start(
        Identity::from_secret(other, &SECRET),
        "session".to_owned(),
        world.host.clone(),
        world.host.journal.clone(),
    );
    assert_eq!(started.map(|_| ()).unwrap_err(), JournalFault::OtherNode(node_id()));
}

#[test]
fn a_rewritten_journal_adds_up_to_the_same() {
    let mut world = World::new(vec![start(1, 1, 1), end(2, 1, 2), start(3, 2, 1)]);
    for _ in 0..40 {
        let book = world.agent().book().clone();
        let mut again = Book::default();
        book.records(&node_id()).iter().for_each(|record| again.apply(record));
        assert_eq!(again, book);
        world.host.journal.clone().rewrite(&book.records(&node_id())).unwrap();
        world.step(true);
    }
    world.settle();
    assert_eq!(world.guests().len(), 1);
}

#[test]
fn it_calls_on_time_and_repeats_an_answer_until_it_is_acknowledged() {
    let up = start(1, 1, 1);
    let mut world = World::new(vec![]);
    world.offer(std::slice::from_ref(&up));
    let seconds = 40;
    let said: Vec<ToControl> = (0..seconds).flat_map(|_| world.step(false)).collect();
    let count = |pick: fn(&ToControl) -> bool| i64::try_from(said.iter().filter(|m| pick(m)).count()).unwrap();
    assert_eq!(count(|m| matches!(m, ToControl::Heartbeat(h) if h.boot == 1)), seconds / HEARTBEAT_S);
    assert_eq!(count(|m| matches!(m, ToControl::Poll(_))), seconds / POLL_S);
    let answers = count(|m| matches!(m, ToControl::Result(_)));
    assert!(answers >= seconds / RESEND_S - 1, "{answers}");
    world.inbox.push(FromControl::ResultAck(ResultAck { task_id: up.id.clone() }));
    let after: Vec<ToControl> = (0..seconds).flat_map(|_| world.step(false)).collect();
    assert!(!after.iter().any(|m| matches!(m, ToControl::Result(_))));
    world.restart();
    assert!(
        !world.step(false).iter().any(|m| matches!(m, ToControl::Result(_))),
        "the acknowledgement was written down"
    );
}

#[test]
fn a_control_plane_that_is_away_for_an_hour_finds_what_it_ordered_and_nothing_done_twice() {
    let (up, mut down) = (start(1, 1, 1), end(2, 1, 2));
    let mut world = World::new(vec![]);
    world.offer(std::slice::from_ref(&up));
    // Nobody hears the agent, and in the middle of it the agent dies.
    for _ in 0..1800 {
        world.step(false);
    }
    world.restart();
    for _ in 0..1800 {
        world.step(false);
    }
    assert_eq!(world.guests().len(), 1, "the guest runs on");
    let effects = world.effects();
    assert_eq!(effects.iter().filter(|effect| effect.step == Step::Provision).count(), 1);
    // It comes back and asks once more for what it never heard about.
    world.orders.push(up.clone());
    world.settle();
    assert_eq!((failure(&world, &up), world.effects()), (None, effects));
    down.deadline = world.now.plus_seconds(600);
    world.orders.push(down.clone());
    world.settle();
    assert_eq!((failure(&world, &down), world.guests()), (None, vec![]));
    assert_eq!(proof_fault(&world.result(&down).proofs[0], 1, 1), None);
}

#[test]
fn an_order_whose_answer_was_forgotten_is_refused_rather_than_done_again() {
    let ended = |task: &Task| {
        let result = TaskResult::done(task);
        [
            Record::Accepted { task: task.clone() },
            Record::Finished { result, report: None },
            Record::Acknowledged { task_id: task.id.clone() },
        ]
    };
    let mut book = Book::default();
    let first = end(1, 1, 1);
    ended(&first).iter().for_each(|record| book.apply(record));
    for n in 0..ANSWERS_KEPT_MAX {
        let mut other = with_slots(end(2, 1, i64::try_from(n).unwrap()), |slots| {
            slots.truncate(1);
            slots[0].slot_id = slot_id(9);
        });
        other.id = TaskId::from_parts(Timestamp::from_micros(0).plus_seconds(10 + other.fence.attempt), [0; 10]);
        ended(&other).iter().for_each(|record| book.apply(record));
    }
    assert_eq!(book.answers().len(), ANSWERS_KEPT_MAX);
    assert!(!book.answers().contains_key(&first.id), "the oldest was forgotten");
    assert!(!book.is_newer(&first));
}

#[cfg(feature = "planted-bugs")]
mod planted {
    use super::*;
    use model::planted::{Bug, activate};

    // The world panics at the first broken rule, which is what these bugs are planted for.
    fn is_caught(bug: Bug, run: impl Fn() + std::panic::UnwindSafe) -> bool {
        activate(Some(bug));
        let outcome = std::panic::catch_unwind(run);
        activate(None);
        outcome.is_err()
    }

    #[test]
    fn an_agent_that_ignores_fences_is_caught() {
        assert!(is_caught(Bug::AgentIgnoresFence, || {
            let mut world = World::new(vec![end(2, 2, 1)]);
            world.settle();
            world.orders.push(end(1, 1, 1));
            world.settle();
        }));
    }

    #[test]
    fn an_agent_that_repeats_work_is_caught() {
        for task in [start(1, 1, 1), end(1, 1, 1)] {
            assert!(is_caught(Bug::AgentRepeatsWork, || {
                let mut world = World::new(vec![task.clone()]);
                world.settle();
                world.offer(std::slice::from_ref(&task));
                world.settle();
                world.step(true);
                world.settle();
            }));
        }
    }

    #[test]
    fn a_release_that_leaves_the_guest_is_seen_on_the_host() {
        activate(Some(Bug::ReleaseLeavesGuest));
        let mut world = World::new(vec![start(1, 1, 1)]);
        world.settle();
        let down = end(2, 1, 2);
        world.orders.push(down.clone());
        world.settle();
        activate(None);
        assert_eq!((failure(&world, &down), world.guests().len()), (None, 1), "answered as gone, and still there");
    }
}
