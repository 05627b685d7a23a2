//! What happens when something does not work: no capacity, a host that fails, an agent that does not answer.

use api::{Code, operation::OperationError};
use lifecycle::allocation::ORDERS_MAX;
use model::{
    allocation::State,
    operation::OperationState,
    supply::{NodeState, SlotState},
    task::{TaskFailure, TaskKind, TaskState},
};
use std::sync::mpsc;
use store::{
    Dialect, StoreError, nodes, regions, slots,
    testing::{Place, both_engines},
};

use crate::world::World;

fn error_of(world: &World, operation: &model::OperationId) -> OperationError {
    serde_json::from_str(world.operation(operation).result.as_deref().unwrap()).unwrap()
}

#[test]
fn a_wish_that_fits_nowhere_is_refused_with_the_numbers() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        world.run(4);
        world.run(2);
        let (id, operation) = world.launch(4);
        world.settle();
        let row = world.allocation(&id);
        assert_eq!(row.state, State::Refused);
        assert!(row.observed.contains("Only 2 H200 free in this region"), "{}", row.observed);
        assert_eq!(world.operation(&operation).state, OperationState::Failed);
        let error = error_of(&world, &operation);
        assert_eq!(error.code, Code::SkuUnavailable);
        assert!(error.detail.contains("a slice of 4 was asked for"), "{}", error.detail);
        world.check_history();
    });
}

#[test]
fn admission_is_asked_again_before_placement() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let region = world.region.clone();
        let (id, operation) = world.launch(1);
        world
            .write(move |tx, stamp| {
                let row = regions::get(tx, &region)?.unwrap();
                regions::update(tx, stamp, &row, &row.name, false)
            })
            .unwrap();
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Refused);
        assert_eq!(error_of(&world, &operation).code, Code::NotForSale);
    });
}

#[test]
fn a_silent_node_gets_nothing_new_and_keeps_what_runs() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let running = world.run(1);
        world.advance_s(31);
        world.settle();
        let node = world.nodes[0].id.clone();
        assert_eq!(world.read(move |tx| nodes::get(tx, &node)).unwrap().state, NodeState::Silent);
        assert_eq!(world.allocation(&running).state, State::Running);
        let (id, _) = world.launch(1);
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Refused);
        world.release(&running).unwrap();
        world.settle();
        let waiting = world.allocation(&running);
        assert_eq!(waiting.state, State::Releasing);
        assert_eq!(waiting.life.wait.unwrap().code, "node_silent");
        world.nodes_heard();
        world.settle();
        assert_eq!(world.nodes_work(), 1, "the order goes out as soon as the node is back");
        world.settle();
        assert_eq!(world.allocation(&running).state, State::Released);
        world.check_history();
    });
}

#[test]
fn a_guest_that_cannot_be_started_is_cleaned_up_and_ends_failed() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, operation) = world.launch(2);
        world.settle();
        let (node, order) = world.only_order();
        world.answer(&node, node.fail(&order, TaskFailure::ProvisionFailed)).unwrap();
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Releasing);
        assert_eq!(world.slots_in(SlotState::CleanupBlocked), 2);
        assert_eq!(world.operation(&operation).state, OperationState::Failed);
        assert!(error_of(&world, &operation).detail.contains("(The host said no)"), "its owner is told why");

        let (node, order) = world.only_order();
        assert_eq!(order.kind(), TaskKind::SliceVmRelease);
        world.answer(&node, node.succeed(&order)).unwrap();
        world.settle();
        let row = world.allocation(&id);
        assert_eq!(row.state, State::Failed);
        assert!(row.observed.contains("could not start"), "{}", row.observed);
        assert_eq!((world.slots_in(SlotState::Available), world.active_claims()), (8, 0));
        world.check_history();
    });
}

#[test]
fn an_order_that_is_not_answered_in_time_is_given_again_and_its_late_answer_counts_for_nothing() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, _) = world.launch(1);
        world.settle();
        let (_, first) = world.only_order();
        for _ in 0..31 {
            world.advance_s(10);
            world.nodes_heard();
            world.settle();
        }
        let orders = world.orders(&id);
        assert_eq!(orders.len(), 2);
        assert_eq!((orders[0].state, orders[1].fence.attempt), (TaskState::Expired, 2));
        let (node, second) = world.only_order();
        assert_eq!(second.fence.attempt, 2);

        let version = world.allocation(&id).version;
        let acked = world.answer(&node, node.succeed(&first)).unwrap();
        assert_eq!(acked.len(), 1, "so that it is not repeated for ever");
        world.settle();
        assert_eq!(world.allocation(&id).version, version);
        assert_eq!(world.orders(&id)[0].state, TaskState::Expired);

        world.answer(&node, node.succeed(&second)).unwrap();
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Running);
        world.check_history();
    });
}

#[test]
fn orders_end_after_a_bounded_number_and_an_operator_is_waited_for() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(1);
        world.release(&id).unwrap();
        world.settle();
        for _ in 0..200 {
            if let Some((node, order)) = world.nodes.iter().find_map(|node| Some((node, world.poll(node).pop()?))) {
                world.answer(node, node.fail(&order, TaskFailure::GuestNotGone)).unwrap();
            }
            world.advance_s(10);
            world.nodes_heard();
            world.settle();
        }
        let releases = world.orders(&id).iter().filter(|task| task.kind == TaskKind::SliceVmRelease).count();
        assert_eq!(i64::try_from(releases).unwrap(), ORDERS_MAX);
        let row = world.allocation(&id);
        assert_eq!((row.state, world.active_claims()), (State::Releasing, 1));
        assert_eq!(row.life.wait.unwrap().code, "release_needs_operator");
        world.advance_s(20);
        world.nodes_heard();
        assert!(world.step().waits_over_budget >= 1, "somebody is called");
        world.check_history();
    });
}

#[test]
fn giving_back_wins_over_an_order_that_is_still_open() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, operation) = world.launch(1);
        world.settle();
        let (_, provision) = world.only_order();
        world.release(&id).unwrap();
        world.settle();
        assert_eq!(world.operation(&operation).state, OperationState::Failed);
        assert_eq!(error_of(&world, &operation).code, Code::StateConflict);
        let orders = world.orders(&id);
        assert_eq!(orders.iter().find(|task| task.id == provision.id).unwrap().state, TaskState::Expired);
        let (node, release) = world.only_order();
        assert!(release.fence > provision.fence);
        // The agent had started the guest all the same; its answer is too late to matter.
        world.answer(&node, node.succeed(&provision)).unwrap();
        world.answer(&node, node.succeed(&release)).unwrap();
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Released);
        assert_eq!(world.slots_in(SlotState::Available), 8);
        world.check_history();
    });
}

#[test]
fn a_wish_given_back_before_placement_holds_nothing() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, _) = world.launch(1);
        world.release(&id).unwrap();
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Released);
        assert!(world.orders(&id).is_empty());
        assert_eq!(world.active_claims(), 0);
        world.check_history();
    });
}

#[test]
fn a_place_that_somebody_else_holds_on_to_is_left_alone_and_the_wish_says_that_it_waits() {
    let place = Place::new(Dialect::Postgres);
    let mut world = World::new(place.open(), 1);
    let (id, _) = world.launch(1);
    let chosen: Vec<_> = world.slots().into_iter().map(|slot| slot.id).collect();
    let (locked, is_locked) = mpsc::channel();
    let (let_go, may_go) = mpsc::channel::<()>();
    let other = place.open();
    let holder = std::thread::spawn(move || {
        other.write(move |tx| {
            slots::lock_chosen(tx, &chosen)?;
            locked.send(()).unwrap();
            let _ = may_go.recv();
            Err::<(), _>(StoreError::Other("only a lock was wanted".into()))
        })
    });
    is_locked.recv().unwrap();
    let report = world.step();
    assert_eq!((report.stopped, report.faults), (None, 0), "somebody else has the slots: no fault of anybody's");
    assert_eq!((report.placement.lost, report.placement.postponed, report.placement.refused), (3, 1, 0));
    let row = world.allocation(&id);
    assert_eq!((row.state, row.life.wait.unwrap().code.as_str()), (State::Requested, "placement_contended"));
    assert_eq!(world.active_claims(), 0);
    // Still held: it waits on, and is not refused, since there is room for it.
    world.advance_s(1);
    assert_eq!(world.step().placement.postponed, 1);
    let_go.send(()).unwrap();
    assert!(holder.join().unwrap().is_err());
    world.advance_s(6);
    world.settle();
    assert_eq!(world.allocation(&id).state, State::Provisioning);
    world.check_history();
}
