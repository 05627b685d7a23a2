//! What operators do while things run: repair what waits for them, drain, demote, and look at what drifted. Nobody who holds
//! something is touched by any of it.

use control::{
    bootstrap,
    front_door::{FrontDoor, FrontDoorConfig, Request, Response},
};
use lifecycle::{allocation::ORDERS_MAX, slot::REWIPES_MAX};
use model::{
    NodeId,
    allocation::State,
    operation::OperationState,
    supply::{NodeDesired, SlotState},
    task::{TaskFailure, TaskKind, TaskState},
};
use store::{nodes, operations, slots, tasks, testing::both_engines};

use crate::world::World;

/// The front door with an operator's token.
struct Desk {
    door: FrontDoor,
    secret: String,
}

impl Desk {
    fn new(world: &World) -> Self {
        let door = FrontDoor::new(world.ports.clone(), FrontDoorConfig::default()).unwrap();
        let ports = world.ports.clone();
        let made = world.write(move |tx, stamp| {
            let email = "root@platform.example".parse().unwrap();
            bootstrap::first_operator(tx, stamp, &ports, &email, 86_400.try_into().unwrap())
        });
        Self { door, secret: made.unwrap().unwrap().secret.reveal().to_owned() }
    }

    fn send(&self, world: &World, request: Request) -> Response {
        let key: String = world.ports.id_bits().iter().map(|byte| format!("{byte:02x}")).collect();
        self.door.perform(&world.db, request.bearer(&self.secret).key(&key))
    }

    fn act(&self, world: &World, path: &str) -> Response {
        self.send(world, Request::new("POST", path))
    }

    fn with_reason(&self, world: &World, path: &str) -> Response {
        self.send(world, Request::new("POST", path).json(r#"{"reason":"maintenance"}"#))
    }
}

fn of_node(node: &NodeId, rest: &str) -> String {
    format!("/api/v1/admin/nodes/{node}{rest}")
}

/// Ten seconds in which every open order fails, or is answered without a proof.
fn in_vain(world: &mut World) {
    for node in &world.nodes {
        for order in world.poll(node) {
            let served = order.input.guest().map(|guest| world.allocation(&guest.allocation_id).state);
            let mut result = node.succeed(&order);
            result.proofs.clear();
            if served == Some(State::Releasing) {
                result = node.fail(&order, TaskFailure::GuestNotGone);
            }
            world.answer(node, result).unwrap();
        }
    }
    world.advance_s(10);
    world.nodes_heard();
    world.settle();
}

#[test]
fn a_slot_that_was_wiped_in_vain_is_wiped_again_when_an_operator_says_so() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let id = world.run(1);
        world.release(&id).unwrap();
        world.settle();
        let (node, order) = world.only_order();
        let slot = order.slots()[0].slot_id.clone();
        let mut unproved = node.succeed(&order);
        unproved.proofs.clear();
        world.answer(&node, unproved).unwrap();
        world.settle();
        let repair = format!("/api/v1/admin/resource-slots/{slot}/repair");
        assert_eq!(desk.act(&world, &repair).status, 409, "the platform is still at it");
        for _ in 0..60 {
            in_vain(&mut world);
        }
        let given = |world: &World| {
            let releases = world.orders(&id).into_iter().filter(|task| task.kind == TaskKind::SliceVmRelease);
            i64::try_from(releases.count()).unwrap()
        };
        assert_eq!(given(&world), 1 + REWIPES_MAX);
        let code = |world: &World| world.slot(&slot).life.wait.map(|wait| wait.code);
        assert_eq!(code(&world).as_deref(), Some("cleanup_needs_operator"));
        assert_eq!(desk.act(&world, &repair).status, 200);
        world.settle();
        let (node, again) = world.only_order();
        assert_eq!(given(&world), 2 + REWIPES_MAX);
        // In vain once more: it is tried as often as the first time, and then rests.
        let mut unproved = node.succeed(&again);
        unproved.proofs.clear();
        world.answer(&node, unproved).unwrap();
        for _ in 0..60 {
            in_vain(&mut world);
        }
        assert_eq!(given(&world), 1 + 2 * REWIPES_MAX);
        assert_eq!(code(&world).as_deref(), Some("cleanup_needs_operator"));
        assert_eq!(desk.act(&world, &repair).status, 200);
        world.settle();
        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!(world.slot(&slot).state, SlotState::Available);
        world.check_history();
    });
}

#[test]
fn a_release_that_waits_for_an_operator_goes_on_when_the_node_is_repaired() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let id = world.run(1);
        world.release(&id).unwrap();
        world.settle();
        for _ in 0..200 {
            in_vain(&mut world);
        }
        let releases = |world: &World| {
            let all = world.orders(&id).into_iter().filter(|task| task.kind == TaskKind::SliceVmRelease);
            i64::try_from(all.count()).unwrap()
        };
        assert_eq!(releases(&world), ORDERS_MAX);
        let node = world.nodes[0].clone();
        assert_eq!(desk.act(&world, &of_node(&node.id, "/repair")).status, 200);
        world.settle();
        assert_eq!(releases(&world), ORDERS_MAX + 1);
        assert_eq!(world.nodes_work(), 2, "the release, and a look at the host");
        world.settle();
        assert_eq!((world.allocation(&id).state, world.active_claims()), (State::Released, 0));
        world.check_history();
    });
}

/// What the newest refused launch was told.
fn told(world: &World, id: &model::AllocationId) -> String {
    let row = world.allocation(id);
    assert_eq!(row.state, State::Refused, "{}", row.observed);
    row.observed
}

#[test]
fn nothing_new_comes_to_a_node_that_is_drained_or_not_promoted_and_what_runs_goes_on() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let node = world.nodes[0].id.clone();
        let running = world.run(2);
        assert_eq!(desk.with_reason(&world, &of_node(&node, "/disable")).status, 409, "somebody is on it");
        for (close, open, word) in
            [("/drain", Some("/undrain"), "draining"), ("/demote", None, "not promoted to slice use")]
        {
            assert_eq!(desk.with_reason(&world, &of_node(&node, close)).status, 200);
            let (refused, _) = world.launch(1);
            world.settle();
            assert!(told(&world, &refused).contains(word), "{}", told(&world, &refused));
            assert_eq!(world.allocation(&running).state, State::Running);
            if let Some(open) = open {
                assert_eq!(desk.act(&world, &of_node(&node, open)).status, 200);
                let (placed, _) = world.launch(1);
                world.settle();
                assert_eq!(world.nodes_work(), 1);
                world.settle();
                assert_eq!(world.allocation(&placed).state, State::Running);
            }
        }
        world.release(&running).unwrap();
        world.settle();
        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!(world.allocation(&running).state, State::Released, "giving back works everywhere");
        world.check_history();
    });
}

#[test]
fn a_verdict_on_a_node_that_was_drained_meanwhile_is_not_applied() {
    let mut world = World::new(store::Db::open_inline(Box::new(store::NoFaults)).unwrap(), 1);
    let (id, _) = world.launch(1);
    let node = world.nodes[0].id.clone();
    let drained = node.clone();
    world
        .write(move |tx, stamp| {
            let row = nodes::get(tx, &drained)?.unwrap();
            nodes::wish(tx, stamp, &row, NodeDesired::Disabled, "gone")
        })
        .unwrap();
    world.settle();
    assert!(told(&world, &id).contains("out of use"));
}

#[test]
fn a_drifted_slot_is_not_sold_and_its_tenant_is_left_alone() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let running = world.run(1);
        world
            .write(|tx, stamp| {
                for slot in slots::list(tx, None, None, store::Page::first(50))? {
                    slots::set_drifted(tx, stamp, &slot, true)?;
                }
                Ok(())
            })
            .unwrap();
        world.settle();
        assert_eq!(world.allocation(&running).state, State::Running);
        assert_eq!((world.slots_in(SlotState::InUse), world.slots_in(SlotState::Available)), (1, 7));
        let (refused, _) = world.launch(1);
        world.settle();
        assert!(told(&world, &refused).contains("does not show what was approved"), "{}", told(&world, &refused));
        world.release(&running).unwrap();
        world.settle();
        assert_eq!(world.nodes_work(), 1);
        world.settle();
        assert_eq!(world.slots_in(SlotState::Available), 8, "clean, and still not for sale");
        world.check_history();
    });
}

#[test]
fn an_order_to_look_that_nobody_answers_is_given_up_and_its_operation_says_so() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let desk = Desk::new(&world);
        let node = world.nodes[0].id.clone();
        let ordered = desk.act(&world, &of_node(&node, "/slice-topology/discovery"));
        assert_eq!(ordered.status, 202);
        for _ in 0..31 {
            world.advance_s(10);
            world.nodes_heard();
            world.settle();
        }
        let id = node.clone();
        let order = world.read(move |tx| tasks::latest_of_node(tx, &id, TaskKind::SliceTopologyDiscover)).unwrap();
        assert_eq!(order.state, TaskState::Expired);
        let subject = order.id.to_string();
        let all =
            world.read(move |tx| operations::list(tx, &store::Scope::All, None, Some(&subject), store::Page::first(5)));
        assert_eq!(all[0].state, OperationState::Failed);
        assert!(all[0].result.as_deref().unwrap().contains("No answer came in time"));
        assert_eq!(desk.act(&world, &of_node(&node, "/slice-topology/discovery")).status, 202, "another may be given");
        world.settle();
        world.check_history();
    });
}
