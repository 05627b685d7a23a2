//! Coming back: a host that was silent, an agent that was started anew, and a control plane that was away. What runs goes on, each
//! host is compared once with what is claimed on it, and what was said meanwhile counts only if it still may.

use api::node_plane::{FromControl, Heartbeat, Poll, ToControl};
use model::{
    allocation::State,
    supply::SlotState,
    task::{ReconcileOrder, Task, TaskInput, TaskKind, TaskState},
};
use store::{Page, incidents, tasks, testing::both_engines};

use crate::world::{Node, World, known};

/// What a node is to compare itself with; none when nothing was ordered.
fn to_compare(offered: Vec<Task>) -> Option<ReconcileOrder> {
    let mut orders = offered.into_iter().filter_map(|task| match task.input {
        TaskInput::SliceReconcile(order) => Some(order),
        _ => None,
    });
    let first = orders.next();
    assert!(orders.next().is_none(), "one at a time");
    first
}

fn comparisons(world: &World, node: &Node) -> Vec<TaskState> {
    let id = node.id.clone();
    let all = world.read(move |tx| tasks::list_of_node(tx, &id, Page::first(1000)));
    all.into_iter().filter(|task| task.kind == TaskKind::SliceReconcile).map(|task| task.state).collect()
}

/// Nobody hears of any node until it counts as silent.
fn silence(world: &mut World) {
    world.advance_s(31);
    world.settle();
}

fn back(world: &mut World) {
    world.nodes_heard();
    world.settle();
}

#[test]
fn a_node_that_is_back_is_compared_with_its_claims() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(2);
        let node = world.nodes[0].clone();
        assert_eq!(comparisons(&world, &node), [], "a host that is new has nothing to be compared with");
        silence(&mut world);
        assert_eq!(comparisons(&world, &node), [], "nobody is there to be asked");
        back(&mut world);
        let order = to_compare(world.offered(&node).unwrap()).unwrap();
        let claims: Vec<_> =
            order.claims.iter().map(|claim| (&claim.allocation_id, claim.slots.len(), claim.should_run)).collect();
        assert_eq!(claims, [(&id, 2, true)]);
        // Away and back before it has answered: it has its order.
        silence(&mut world);
        back(&mut world);
        assert_eq!(comparisons(&world, &node).len(), 1);
        assert!(world.poll(&node).is_empty(), "the comparison was all");
        assert_eq!(comparisons(&world, &node), [TaskState::Succeeded]);
        silence(&mut world);
        back(&mut world);
        assert_eq!(comparisons(&world, &node), [TaskState::Succeeded, TaskState::Pending]);
        assert_eq!(world.allocation(&id).state, State::Running);
        world.check_history();
    });
}

#[test]
fn an_agent_that_was_started_anew_is_told_to_compare() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let id = world.run(1);
        let node = world.nodes[0].clone();
        for boot in [2, 3] {
            let beat = Heartbeat { boot, session: format!("start-{boot}"), ..world.beat(&node) };
            world.say(&node, ToControl::Heartbeat(beat)).unwrap();
            world.settle();
        }
        assert_eq!(comparisons(&world, &node).len(), 1, "one at a time, whoever carries it out");
        let poll = ToControl::Poll(Poll { node_id: node.id.clone(), boot: 3 });
        let said = world.say(&node, poll).unwrap();
        let [FromControl::TasksOffered(offer)] = said.as_slice() else { panic!("{said:?}") };
        let order = to_compare(offer.tasks.iter().map(known).collect()).unwrap();
        assert_eq!((order.claims.len(), &order.claims[0].allocation_id), (1, &id));
        world.settle();
        world.check_history();
    });
}

#[test]
fn a_control_plane_that_was_away_for_an_hour_goes_on_where_it_was() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (runs, ends) = (world.run(1), world.run(1));
        let (begun, _) = world.launch(1);
        world.release(&ends).unwrap();
        world.settle();
        // The host carries out what it was told; nobody is there to hear of it.
        let node = world.nodes[0].clone();
        let told: Vec<Task> = world.poll(&node);
        assert_eq!(told.len(), 2, "{told:?}");
        let answers: Vec<_> = told.iter().map(|task| node.succeed(task)).collect();
        world.restart();
        world.advance_s(3_600);
        world.settle();
        assert_eq!(world.allocation(&runs).state, State::Running);
        assert_eq!(world.orders(&runs).len(), 1, "what runs is told nothing");
        assert_eq!(world.active_claims(), 3);
        // Late answers, twice each.
        back(&mut world);
        for answer in answers.iter().chain(&answers) {
            world.answer(&node, answer.clone()).unwrap();
            world.settle();
        }
        let compared = to_compare(world.offered(&node).unwrap()).unwrap();
        assert_eq!(compared.claims.iter().filter(|claim| claim.should_run).count(), 1);
        for _ in 0..20 {
            back(&mut world);
            world.nodes_work();
            world.settle();
            world.advance_s(20);
        }
        let state = |id| world.allocation(id).state;
        assert_eq!((state(&runs), state(&begun), state(&ends)), (State::Running, State::Running, State::Released));
        assert_eq!((world.slots_in(SlotState::InUse), world.slots_in(SlotState::Available)), (2, 6));
        for id in [&runs, &begun, &ends] {
            let orders = world.orders(id);
            for kind in [TaskKind::SliceVmProvision, TaskKind::SliceVmRelease] {
                let done = orders.iter().filter(|task| task.kind == kind && task.state == TaskState::Succeeded).count();
                assert!(done <= 1, "each was done once: {orders:?}");
            }
        }
        let of = node.id.clone();
        assert!(world.read(move |tx| incidents::list(tx, &of, Page::first(10))).is_empty(), "nobody lied");
        world.check_history();
    });
}
