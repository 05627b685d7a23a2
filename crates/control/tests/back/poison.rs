//! One thing that cannot be looked at never blocks another.

use model::{AllocationId, allocation::State, supply::SlotState};
use store::{testing::both_engines, tx::Tx};

use crate::world::World;

fn corrupt(world: &World, id: &AllocationId, sql: &'static str) {
    let id = id.clone();
    world.write(move |tx: &mut Tx<'_>, _| tx.execute_one(sql, &[(&id).into()])).unwrap();
}

#[test]
fn a_corrupt_object_is_set_aside_with_a_growing_pause_and_others_go_on() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let (poisoned, _) = world.launch(1);
        corrupt(&world, &poisoned, "UPDATE allocations SET observed = 'not json' WHERE id = $1");
        let (healthy, _) = world.launch(1);
        world.settle();
        assert_eq!(world.allocation(&healthy).state, State::Provisioning);
        let row = world.allocation(&poisoned);
        assert_eq!((row.state, row.life.faults), (State::Reserved, 1));
        assert!(row.life.last_fault.unwrap().contains("observed"), "it says what is wrong");

        // It is tried again, each time after a longer pause.
        let mut tried_at = vec![];
        let mut seen = 1;
        for second in 1..=120 {
            world.advance_s(1);
            if second % 10 == 0 {
                world.nodes_heard();
            }
            world.settle();
            let faults = world.allocation(&poisoned).life.faults;
            if faults > seen {
                seen = faults;
                tried_at.push(second);
            }
        }
        assert_eq!(tried_at, [1, 3, 7, 15, 31, 63], "pauses of 1, 2, 4, … seconds");

        // Mended, it lives on like any other.
        corrupt(&world, &poisoned, "UPDATE allocations SET observed = '{}' WHERE id = $1");
        world.advance_s(64);
        world.nodes_heard();
        world.settle();
        let row = world.allocation(&poisoned);
        assert_eq!((row.state, row.life.faults), (State::Provisioning, 0));
        world.check_history();
    });
}

#[test]
fn more_poisoned_objects_than_one_step_looks_at_do_not_starve_the_rest() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        world.config.looks_per_noun = 2;
        world.restart();
        let poisoned: Vec<_> = (0..7).map(|_| world.launch(1).0).collect();
        for id in &poisoned {
            corrupt(&world, id, "UPDATE allocations SET state = 'no such state' WHERE id = $1");
        }
        world.advance_s(1);
        let (healthy, _) = world.launch(1);
        world.settle();
        assert_eq!(world.allocation(&healthy).state, State::Provisioning);
    });
}

#[test]
fn a_node_with_an_unreadable_board_does_not_stop_placement_on_others() {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        let spoiled = world.nodes[0].id.clone();
        let id = spoiled.clone();
        world
            .write(move |tx: &mut Tx<'_>, _| {
                tx.execute_one("UPDATE nodes SET partitions = '[]' WHERE id = $1", &[(&id).into()])
            })
            .unwrap();
        // The leader reads the fleet when it begins to lead.
        world.restart();
        let wishes: Vec<_> = (0..8).map(|_| world.launch(1).0).collect();
        world.settle();
        for id in wishes {
            assert_eq!(world.allocation(&id).state, State::Provisioning);
        }
        let reserved = world.slots().into_iter().filter(|slot| slot.state == SlotState::Reserved);
        assert!(reserved.into_iter().all(|slot| slot.node_id != spoiled));
    });
}
