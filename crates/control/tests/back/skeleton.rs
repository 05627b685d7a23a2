//! The whole road: launch, claim, order, running, release, proof, available.

use control::applier::{ClaimSnapshot, PLACED, PlacementDecision};
use model::{
    allocation::State,
    claim::ClaimKind,
    operation::OperationState,
    supply::{OccupancyMode, SlotState},
    task::{TaskKind, TaskState},
};
use store::{Page, Scope, audit, claims, decisions, proofs, testing::both_engines};

use crate::world::World;

#[test]
fn a_slice_goes_from_wish_to_guest_and_back_to_a_clean_slot() {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        let (id, operation) = world.launch(2);
        world.settle();

        let row = world.allocation(&id);
        assert_eq!(row.state, State::Provisioning);
        let (node, order) = world.only_order();
        assert_eq!(Some(&node.id), row.node_id.as_ref());
        assert_eq!((order.kind(), order.slots().len(), order.fence.attempt), (TaskKind::SliceVmProvision, 2, 1));
        assert!(order.slots().iter().all(|slot| slot.use_generation == 1 && slot.nonce.is_none()));
        assert_eq!((world.slots_in(SlotState::Reserved), world.active_claims()), (2, 2));
        assert_eq!(world.operation(&operation).state, OperationState::Running);

        world.answer(&node, node.succeed(&order)).unwrap();
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Running);
        assert_eq!(world.slots_in(SlotState::InUse), 2);
        assert_eq!(world.operation(&operation).state, OperationState::Succeeded);

        world.release(&id).unwrap();
        world.settle();
        let (node, order) = world.only_order();
        assert_eq!((order.kind(), order.fence.attempt), (TaskKind::SliceVmRelease, 2));
        assert!(order.slots().iter().all(|slot| slot.nonce.as_ref().is_some_and(|nonce| nonce.len() == 40)));
        world.answer(&node, node.succeed(&order)).unwrap();
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Released);
        assert_eq!((world.slots_in(SlotState::Available), world.active_claims()), (16, 0));
        for slot in order.slots() {
            let (slot_id, generation) = (slot.slot_id.clone(), slot.use_generation);
            assert!(world.read(move |tx| proofs::get(tx, &slot_id, generation)).is_some());
        }
        assert!(world.orders(&id).iter().all(|task| task.state == TaskState::Succeeded));
        world.check_history();
    });
}

#[test]
fn the_placement_commit_says_what_was_sold_and_why() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, _) = world.launch(1);
        world.settle();
        let (allocation_id, subject) = (id.clone(), id.clone());
        let claims = world.read(move |tx| claims::of_allocation(tx, &allocation_id));
        assert_eq!(claims.len(), 1);
        let sold: ClaimSnapshot = serde_json::from_str(&claims[0].snapshot).unwrap();
        assert_eq!(
            (sold.sku.as_str(), sold.billable_gpus, sold.price_micros_per_gpu_hour),
            ("h200-slice", 1, 3_000_000)
        );
        assert_eq!(sold.devices.len(), 1);
        let decided = world.read(move |tx| decisions::of_subject(tx, subject.as_str(), Page::first(10)));
        assert_eq!(decided.len(), 1);
        assert_eq!(decided[0].outcome, PLACED);
        let read = PlacementDecision::read(&decided[0].body).unwrap();
        assert!(read.because.contains("A slice of 1"), "{read:?}");
        assert_eq!(read.record.unwrap().candidates[0].node_id, world.nodes[0].id);
        assert!(decided[0].body.len() <= 1024);
        let audited = world.read(|tx| audit::list(tx, &Scope::All, audit::AuditFilter::default(), Page::first(100)));
        let placed: Vec<_> = audited.iter().filter(|entry| entry.row.actor == "system:placement").collect();
        assert_eq!(placed.len(), 1);
        assert_eq!(placed[0].row.subject, id.to_string());
        assert!(placed[0].link.is_some(), "chained by the leader");
    });
}

#[test]
fn bare_metal_takes_a_whole_node_and_gives_it_back() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.allocation_id();
        world.try_launch(&id, &world.bare_metal.clone(), 8).unwrap();
        world.settle();
        let node = world.nodes[0].id.clone();
        let (held, occupancy) =
            world.read(move |tx| Ok((claims::active_on_node(tx, &node)?, claims::occupancy(tx, &node)?)));
        assert_eq!(held.len(), 1);
        assert_eq!((held[0].kind, occupancy), (ClaimKind::NodeExclusive, OccupancyMode::Exclusive));
        assert_eq!(world.slots_in(SlotState::Reserved), 8);

        // Nothing else fits beside it.
        let (slice, _) = world.launch(1);
        world.settle();
        assert_eq!(world.allocation(&slice).state, State::Refused);

        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Running);
        world.release(&id).unwrap();
        world.settle();
        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Released);
        assert_eq!((world.slots_in(SlotState::Available), world.active_claims()), (8, 0));
        let node = world.nodes[0].id.clone();
        assert_eq!(world.read(move |tx| claims::occupancy(tx, &node)), OccupancyMode::Free);
        world.check_history();
    });
}

#[test]
fn wishes_of_one_step_never_share_a_slot() {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        let wishes: Vec<_> = (0..20).map(|_| world.launch(1).0).collect();
        world.settle();
        let placed = wishes.iter().filter(|id| world.allocation(id).state == State::Provisioning).count();
        let refused = wishes.iter().filter(|id| world.allocation(id).state == State::Refused).count();
        assert_eq!((placed, refused), (16, 4));
        assert_eq!((world.active_claims(), world.slots_in(SlotState::Reserved)), (16, 16));
        world.check_history();
    });
}

#[test]
fn a_slot_that_is_used_again_carries_a_higher_fence() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        for generation in 1..=3 {
            let id = world.run(8);
            assert!(world.slots().iter().all(|slot| slot.use_generation == generation));
            world.release(&id).unwrap();
            world.settle();
            world.nodes_work();
            world.settle();
            assert_eq!(world.slots_in(SlotState::Available), 8);
        }
        world.check_history();
    });
}
