//! The process may die before or after any commit. Whatever it was doing, it goes on after a restart, and nothing is done
//! twice or left behind.

use std::sync::{Arc, Mutex};

use api::node_plane::{FromControl, Poll, TaskAnswer, ToControl};
use control::node_plane::NodeRefusal;
use model::{AllocationId, allocation::State, supply::SlotState};
use store::{CommitFault, CommitFaults, Db, StoreError};

use crate::world::{Node, World, known};

#[derive(Debug, Default)]
struct Plan {
    commits: usize,
    crash_at: Option<(usize, CommitFault)>,
}

struct Planned(Arc<Mutex<Plan>>);
impl CommitFaults for Planned {
    fn at_commit(&mut self) -> CommitFault {
        let mut plan = self.0.lock().unwrap();
        plan.commits += 1;
        match plan.crash_at {
            Some((at, fault)) if at == plan.commits => fault,
            _ => CommitFault::Proceed,
        }
    }
}

/// Does something until it works, restarting after a crash.
fn insist<T>(world: &mut World, mut act: impl FnMut(&mut World) -> Result<T, StoreError>) -> T {
    for _ in 0..3 {
        match act(world) {
            Ok(value) => return value,
            Err(StoreError::Crashed) => world.restart(),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("one crash was planned");
}

fn settle(world: &mut World) {
    insist(world, |world| {
        for _ in 0..200 {
            let report = world.step();
            if let Some(error) = report.stopped {
                return Err(error);
            }
            if !report.worked {
                return Ok(());
            }
        }
        panic!("the plane does not come to rest");
    });
}

fn say(world: &World, node: &Node, message: ToControl) -> Result<Vec<FromControl>, StoreError> {
    match world.say(node, message) {
        Err(NodeRefusal::Store(error)) => Err(error),
        other => Ok(other.unwrap()),
    }
}

fn heard(world: &mut World) {
    insist(world, |world| {
        world.nodes.iter().try_for_each(|node| say(world, node, ToControl::Heartbeat(world.beat(node))).map(drop))
    });
}

fn work(world: &mut World) {
    insist(world, |world| {
        for node in &world.nodes {
            let say = |message| say(world, node, message);
            let offered = say(ToControl::Poll(Poll { node_id: node.id.clone(), boot: 1 }))?;
            let [FromControl::TasksOffered(offer)] = offered.as_slice() else { panic!("{offered:?}") };
            for task in &offer.tasks {
                let result = node.succeed(&known(task));
                say(ToControl::Result(TaskAnswer { node_id: node.id.clone(), boot: 1, result, report: None }))?;
            }
        }
        Ok(())
    });
}

/// The whole road, with at most one crash on it. Says how many commits it took.
fn walk(crash_at: Option<(usize, CommitFault)>) -> usize {
    let plan = Arc::new(Mutex::new(Plan::default()));
    let db = Db::open_inline(Box::new(Planned(plan.clone()))).unwrap();
    let mut world = World::bare(db, 2);
    // The seeds are not part of the story.
    *plan.lock().unwrap() = Plan { commits: 0, crash_at };
    settle(&mut world);
    heard(&mut world);
    settle(&mut world);
    // Heartbeats that were lost with the process come again.
    heard(&mut world);
    settle(&mut world);

    let id: AllocationId = world.allocation_id();
    let sku = world.sku.clone();
    insist(&mut world, |world| world.try_launch(&id, &sku, 2));
    settle(&mut world);
    work(&mut world);
    settle(&mut world);
    assert_eq!(world.allocation(&id).state, State::Running, "{crash_at:?}");
    assert_eq!((world.slots_in(SlotState::InUse), world.active_claims()), (2, 2), "{crash_at:?}");

    insist(&mut world, |world| world.release(&id));
    settle(&mut world);
    work(&mut world);
    settle(&mut world);
    assert_eq!(world.allocation(&id).state, State::Released, "{crash_at:?}");
    assert_eq!((world.slots_in(SlotState::Available), world.active_claims()), (16, 0), "{crash_at:?}");
    assert_eq!(world.orders(&id).len(), 2, "no order was given twice: {crash_at:?}");
    world.check_history();
    plan.lock().unwrap().commits
}

#[test]
fn a_crash_before_or_after_any_commit_of_the_road_converges() {
    let commits = walk(None);
    assert!(commits > 30, "{commits}");
    for at in 1..=commits {
        for fault in [CommitFault::CrashBefore, CommitFault::CrashAfter] {
            walk(Some((at, fault)));
        }
    }
}
