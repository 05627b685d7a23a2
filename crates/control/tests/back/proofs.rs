//! A slot is sold again only after a valid proof of its latest use.

use lifecycle::slot::REWIPES_MAX;
use model::{
    allocation::State,
    proof::{Proof, ProofFault},
    supply::SlotState,
    task::{TaskKind, TaskResult},
};
use store::{proofs, testing::both_engines};

use crate::world::{Node, World};

/// Releases a running slice of one with a proof that was tampered with, and says what the slot is like then.
fn released_with(world: &mut World, tamper: impl Fn(&World, &Node, Proof) -> Vec<Proof>) -> model::SlotId {
    let id = world.run(1);
    world.release(&id).unwrap();
    world.settle();
    let (node, order) = world.only_order();
    let slot = order.slots()[0].slot_id.clone();
    let proofs = tamper(world, &node, node.prove(&order.slots()[0]));
    let result = TaskResult { proofs, ..TaskResult::done(&order) };
    world.answer(&node, result).unwrap();
    world.settle();
    assert_eq!(world.allocation(&id).state, State::Released, "the claim ends when the guest is gone");
    assert_eq!(world.active_claims(), 0);
    slot
}

fn refused(fault: ProofFault, tamper: impl Fn(&World, &Node, Proof) -> Proof) {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        let slot = released_with(&mut world, |world, node, proof| vec![tamper(world, node, proof)]);
        let row = world.slot(&slot);
        assert_eq!(row.state, SlotState::CleanupBlocked);
        assert_eq!(row.health_state, fault.as_str());
        let words =
            if fault == ProofFault::StepFailed { "failed on the host: disk_erased failed" } else { "was refused" };
        assert!(row.health_detail.contains(words), "{}", row.health_detail);
        let generation = row.use_generation;
        let id = slot.clone();
        assert!(world.read(move |tx| proofs::get(tx, &id, generation)).is_none(), "only what was checked is stored");

        // It is wiped again under a fresh challenge, and sold again once that is proved.
        let (node, again) = world.only_order();
        assert_eq!((again.kind(), again.slots().len()), (TaskKind::SliceVmRelease, 1));
        assert_eq!(again.slots()[0].slot_id, slot);
        world.answer(&node, node.succeed(&again)).unwrap();
        world.settle();
        let row = world.slot(&slot);
        assert_eq!((row.state, row.health_state.as_str()), (SlotState::Available, "clean"));
        world.check_history();
    });
}

#[test]
fn a_proof_about_another_slot_is_refused() {
    refused(ProofFault::WrongSubject, |world, node, proof| {
        let other = world.slots().into_iter().find(|slot| slot.id != proof.slot_id).unwrap();
        node.sign(Proof { slot_id: other.id, ..proof })
    });
}

#[test]
fn a_proof_in_another_nodes_name_is_refused() {
    refused(ProofFault::WrongSubject, |world, node, proof| {
        let other = world.nodes.iter().find(|other| other.id != node.id).unwrap();
        node.sign(Proof { node_id: other.id.clone(), ..proof })
    });
}

#[test]
fn a_proof_of_another_use_is_refused() {
    refused(ProofFault::WrongGeneration, |_, node, proof| node.sign(Proof { use_generation: 7, ..proof }));
}

#[test]
fn a_proof_about_another_disk_or_none_is_refused() {
    refused(ProofFault::WrongDisk, |_, node, proof| node.sign(Proof { disk_identity: "eui.other".into(), ..proof }));
    refused(ProofFault::WrongDisk, |_, node, proof| node.sign(Proof { disk_identity: String::new(), ..proof }));
}

#[test]
fn a_proof_that_does_not_answer_the_challenge_is_refused() {
    refused(ProofFault::WrongNonce, |_, node, proof| node.sign(Proof { nonce: "0".repeat(40), ..proof }));
}

#[test]
fn a_proof_with_a_step_missing_or_failed_is_refused() {
    refused(ProofFault::StepMissing, |_, node, mut proof| {
        proof.steps.pop();
        node.sign(proof)
    });
    refused(ProofFault::StepFailed, |_, node, mut proof| {
        proof.steps[1].ok = false;
        node.sign(proof)
    });
}

#[test]
fn a_proof_signed_by_somebody_else_or_not_at_all_is_refused() {
    refused(ProofFault::BadSignature, |world, node, proof| {
        world.nodes.iter().find(|other| other.id != node.id).unwrap().sign(proof)
    });
    refused(ProofFault::BadSignature, |_, _, proof| Proof { signature: String::new(), ..proof });
    refused(ProofFault::BadSignature, |_, _, mut proof| {
        proof.steps[0].evidence.push('!');
        proof
    });
}

#[test]
fn a_slot_without_a_proof_is_blocked_wiped_again_a_few_times_and_then_rests_blocked() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let slot = released_with(&mut world, |_, _, _| vec![]);
        assert_eq!(world.slot(&slot).state, SlotState::CleanupBlocked);
        assert_eq!(world.slot(&slot).health_state, "proof_missing");
        let mut wiped_again = 0;
        for _ in 0..10 {
            for task in world.poll(&world.nodes[0]) {
                wiped_again += 1;
                let unproved = TaskResult { proofs: vec![], ..world.nodes[0].succeed(&task) };
                world.answer(&world.nodes[0], unproved).unwrap();
            }
            world.settle();
        }
        assert_eq!(wiped_again, REWIPES_MAX);
        let row = world.slot(&slot);
        assert_eq!(row.state, SlotState::CleanupBlocked);
        assert_eq!(row.life.wait.unwrap().code, "cleanup_needs_operator");
        // The other seven are for sale, this one is not.
        let (id, _) = world.launch(8);
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Refused);
        world.check_history();
    });
}

#[test]
fn two_blocked_slots_of_one_allocation_are_wiped_again_side_by_side() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(4);
        world.release(&id).unwrap();
        world.settle();
        let (node, order) = world.only_order();
        world.answer(&node, TaskResult { proofs: vec![], ..node.succeed(&order) }).unwrap();
        world.settle();
        assert_eq!(world.slots_in(SlotState::CleanupBlocked), 4);
        let again = world.poll(&world.nodes[0]);
        assert_eq!(again.len(), 4);
        let mut attempts: Vec<i64> = again.iter().map(|task| task.fence.attempt).collect();
        attempts.sort_unstable();
        attempts.dedup();
        assert_eq!(attempts.len(), 4, "each order has a number of its own");
        assert_eq!(world.nodes_work(), 4);
        world.settle();
        assert_eq!(world.slots_in(SlotState::Available), 8);
        world.check_history();
    });
}

#[test]
fn a_proof_is_not_accepted_with_a_failed_release() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(1);
        world.release(&id).unwrap();
        world.settle();
        let (node, order) = world.only_order();
        let failed = TaskResult { failure: Some(model::task::TaskFailure::GuestNotGone), ..node.succeed(&order) };
        world.answer(&node, failed).unwrap();
        world.settle();
        let slot = world.slot(&order.slots()[0].slot_id);
        assert_eq!((slot.state, world.active_claims()), (SlotState::InUse, 1));
        let (slot_id, generation) = (slot.id.clone(), slot.use_generation);
        assert!(world.read(move |tx| proofs::get(tx, &slot_id, generation)).is_none());
    });
}
