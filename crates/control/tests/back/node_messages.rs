//! A node speaks for itself and for nobody else, and saying something twice changes nothing.

use api::node_plane::{Poll, TaskAnswer, TaskProgress, ToControl};
use control::node_plane::NodeRefusal;
use model::{
    NodeId,
    allocation::State,
    runtime::{WorkProgress, WorkStep},
    task::{Fence, TaskState},
};
use store::testing::both_engines;

use crate::world::World;

#[test]
fn a_node_cannot_speak_in_anothers_name() {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        let (id, _) = world.launch(1);
        world.settle();
        let (owner, order) = world.only_order();
        let other = world.nodes.iter().find(|node| node.id != owner.id).unwrap();
        let spoken = [
            ToControl::Heartbeat(world.beat(&owner)),
            ToControl::Poll(Poll { node_id: owner.id.clone(), boot: 1 }),
            ToControl::Result(TaskAnswer {
                node_id: owner.id.clone(),
                boot: 1,
                result: owner.succeed(&order),
                report: None,
            }),
        ];
        for message in spoken {
            assert_eq!(world.say(other, message), Err(NodeRefusal::WrongNode));
        }
        world.settle();
        assert_eq!(world.orders(&id)[0].state, TaskState::Delivered);
        assert_eq!(world.allocation(&id).state, State::Provisioning);
    });
}

#[test]
fn a_node_sees_and_answers_only_its_own_orders() {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        let (id, _) = world.launch(1);
        world.settle();
        let (owner, order) = world.only_order();
        let other = world.nodes.iter().find(|node| node.id != owner.id).unwrap();
        assert_eq!(world.poll(other), []);
        let refusal = world.answer(other, other.succeed(&order));
        assert_eq!(refusal, Err(NodeRefusal::WrongNode), "in its own name, but about another's order");
        world.settle();
        assert_eq!(world.orders(&id)[0].state, TaskState::Delivered);
        assert_eq!(world.allocation(&id).state, State::Provisioning);
    });
}

#[test]
fn a_node_that_is_not_enrolled_gets_nothing() {
    both_engines(|db| {
        let world = World::new(db, 1);
        let stranger = NodeId::from_parts(world.ports.now(), [9; 10]);
        let poll = ToControl::Poll(Poll { node_id: stranger.clone(), boot: 1 });
        let answer = world.plane.node_plane().handle(&world.db, &stranger, poll);
        assert_eq!(answer, Err(NodeRefusal::UnknownNode));
    });
}

#[test]
fn an_order_is_offered_until_it_is_answered_and_answered_once() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, _) = world.launch(1);
        world.settle();
        let (node, order) = world.only_order();
        let version = world.orders(&id)[0].version;
        assert_eq!(world.only_order().1, order, "the poll's answer may have been lost");
        assert_eq!(world.orders(&id)[0].version, version, "offering it again is no change");
        for _ in 0..3 {
            assert_eq!(world.answer(&node, node.succeed(&order)).unwrap().len(), 1);
        }
        assert_eq!(world.poll(&node), []);
        assert_eq!(world.orders(&id)[0].version, version + 1, "the answer counted once");
        world.settle();
        assert_eq!(world.allocation(&id).state, State::Running);
        world.check_history();
    });
}

#[test]
fn an_answer_under_another_fence_changes_nothing() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, _) = world.launch(1);
        world.settle();
        let (node, order) = world.only_order();
        let fence = order.fence;
        let others = [
            Fence { incarnation: fence.incarnation + 1, ..fence },
            Fence { generation: fence.generation + 1, ..fence },
            Fence { attempt: fence.attempt + 1, ..fence },
        ];
        for fence in others {
            let mut result = node.succeed(&order);
            result.fence = fence;
            world.answer(&node, result).unwrap();
        }
        world.settle();
        assert_eq!(world.orders(&id)[0].state, TaskState::Delivered);
        assert_eq!(world.allocation(&id).state, State::Provisioning);
    });
}

#[test]
fn an_order_whose_agent_is_at_work_is_waited_for_but_not_for_ever() {
    const DAY_S: i64 = 24 * 3600;
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (id, _) = world.launch(1);
        world.settle();
        let (node, order) = world.only_order();
        let (task_id, fence) = (order.id.clone(), order.fence);
        // The same word again and again: there is nothing new to tell, and somebody is at work.
        let progress = WorkProgress::at(WorkStep::SshReady);
        let said = TaskProgress { node_id: node.id.clone(), boot: 1, task_id, fence, progress };
        let last = world.orders(&id)[0].created.plus_seconds(DAY_S);
        let mut words = 0;
        while world.clock_now() < last.plus_seconds(-120) {
            world.advance_s(120);
            world.say(&node, ToControl::Progress(said.clone())).unwrap();
            words += 1;
            if words % 60 == 0 {
                world.settle();
                let given = world.orders(&id);
                assert_eq!((given.len(), given[0].state), (1, TaskState::Delivered), "after {words} words");
            }
        }
        assert_eq!(world.orders(&id)[0].deadline, last, "a day and no longer");
        world.advance_s(180);
        world.say(&node, ToControl::Progress(said)).unwrap();
        world.settle();
        let given = world.orders(&id);
        assert_eq!(given[0].state, TaskState::Expired);
        assert_eq!(given[1].fence.attempt, fence.attempt + 1, "it is ordered once more");
    });
}
