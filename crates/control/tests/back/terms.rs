//! How an allocation ends other than by its owner's word: its lease ends, its host is given up, its node is evacuated.

use model::{
    allocation::{Desired, State},
    supply::SlotState,
    task::{TaskKind, TaskResult, TaskState},
};
use store::{allocations, testing::both_engines};

use crate::world::World;

#[test]
fn a_lease_ends_by_itself_after_one_warning() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(1);
        let (of, ends) = (id.clone(), world.clock_now().plus_seconds(3_600));
        world
            .write(move |tx, stamp| {
                let row = allocations::get(tx, &of)?.unwrap();
                allocations::extend_lease(tx, stamp, &row, ends)
            })
            .unwrap();
        world.settle();
        for _ in 0..3 {
            world.advance_s(1_100);
            world.nodes_heard();
            world.settle();
        }
        let row = world.allocation(&id);
        assert_eq!((row.state, row.lease_warned.is_some()), (State::Running, true));
        world.advance_s(301);
        world.nodes_heard();
        world.settle();
        let row = world.allocation(&id);
        assert_eq!((row.state, row.desired_reason.as_str()), (State::Releasing, "lease_ended"));
        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Released);
        assert_eq!(world.slots_in(SlotState::Available), 8);
        world.check_history();
    });
}

#[test]
fn a_host_that_was_given_up_proves_its_slots_clean_when_it_is_back() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(2);
        world.advance_s(31);
        world.settle();
        world.force_release(&id, "the host burnt down");
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Released);
        assert_eq!((world.active_claims(), world.slots_in(SlotState::CleanupBlocked)), (0, 2));
        world.check_history();
        // A late answer to what it was told before counts for nothing; the newest order does.
        world.nodes_heard();
        world.settle();
        let (node, order) = world.only_order();
        assert_eq!((order.kind(), order.slots().len(), order.fence.attempt), (TaskKind::SliceVmRelease, 2, 2));
        world.answer(&node, node.succeed(&order)).unwrap();
        world.settle();
        assert_eq!(world.slots_in(SlotState::Available), 8, "proved clean, and for sale again");
        assert!(world.orders(&id).iter().all(|task| task.state == TaskState::Succeeded));
        world.check_history();
    });
}

#[test]
fn a_proof_that_was_kept_from_before_the_operator_forced_it_frees_nothing() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(2);
        world.release(&id).unwrap();
        world.settle();
        // The host wipes and proves, and keeps its answer to itself.
        let (node, asked) = world.only_order();
        let kept = node.succeed(&asked);
        let challenges = |world: &World| -> Vec<Option<String>> {
            world.slots().into_iter().filter(|slot| slot.use_generation == 1).map(|slot| slot.wipe_nonce).collect()
        };
        let before = challenges(&world);
        world.advance_s(31);
        world.settle();
        world.force_release(&id, "the host says nothing");
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Released);
        let after = challenges(&world);
        assert_eq!((before.len(), after.len()), (2, 2));
        assert!(
            after.iter().all(|challenge| challenge.is_some() && !before.contains(challenge)),
            "{before:?} {after:?}"
        );
        // The old answer is late, and the old proofs do not answer the new order.
        world.nodes_heard();
        world.settle();
        world.answer(&node, kept.clone()).unwrap();
        world.settle();
        assert_eq!(world.slots_in(SlotState::CleanupBlocked), 2);
        let (_, again) = world.only_order();
        assert_eq!((again.kind(), again.slots().len()), (TaskKind::SliceVmRelease, 2));
        world.answer(&node, TaskResult { proofs: kept.proofs.clone(), ..TaskResult::done(&again) }).unwrap();
        world.settle();
        assert_eq!((world.slots_in(SlotState::CleanupBlocked), world.slots_in(SlotState::Available)), (2, 6));
        let told: Vec<String> = world
            .slots()
            .into_iter()
            .filter(|slot| slot.state == SlotState::CleanupBlocked)
            .map(|slot| slot.health_state)
            .collect();
        assert_eq!(told, ["wrong_nonce", "wrong_nonce"]);
        // Wiped again under yet another challenge, and proved.
        for _ in 0..20 {
            world.advance_s(60);
            world.nodes_heard();
            world.settle();
            world.nodes_work();
            world.settle();
        }
        assert_eq!(world.slots_in(SlotState::Available), 8);
        world.check_history();
    });
}

#[test]
fn slots_of_a_host_that_was_given_up_are_wiped_again_until_they_are_proved_clean() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(1);
        world.advance_s(31);
        world.settle();
        world.force_release(&id, "the host burnt down");
        world.settle();
        // Nobody answers the order before its deadline.
        for _ in 0..40 {
            world.advance_s(100);
            world.settle();
        }
        assert_eq!(world.orders(&id).last().unwrap().state, TaskState::Expired);
        assert_eq!(world.slots_in(SlotState::CleanupBlocked), 1);
        world.nodes_heard();
        world.settle();
        assert_eq!(world.nodes_work(), 1, "it is told again as soon as it is back");
        world.settle();
        assert_eq!(world.slots_in(SlotState::Available), 8);
        world.check_history();
    });
}

#[test]
fn what_is_evacuated_is_asked_for_again_in_the_commit_that_ends_it() {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        let id = world.run(4);
        for (may_recreate, again) in [(false, 0), (true, 1)] {
            let id = if again == 0 { id.clone() } else { world.run(4) };
            let of = id.clone();
            world
                .write(move |tx, stamp| {
                    let row = allocations::get(tx, &of)?.unwrap();
                    let new = allocations::Description { name: &row.name, labels: &row.terms.labels, may_recreate };
                    allocations::describe(tx, stamp, &row, new)?;
                    let row = allocations::get(tx, &of)?.unwrap();
                    allocations::evacuate(tx, stamp, &row)
                })
                .unwrap();
            world.settle();
            world.nodes_work();
            world.settle();
            let row = world.allocation(&id);
            assert_eq!((row.state, row.recreated_as.is_some()), (State::Released, may_recreate));
            let Some(new) = row.recreated_as else { continue };
            let new = world.allocation(&new);
            assert_eq!((new.recreated_from.as_ref(), new.gpu_count, new.desired), (Some(&id), 4, Desired::Running));
            assert!(new.state.holds_claims(), "{}", new.state);
        }
        world.check_history();
    });
}
