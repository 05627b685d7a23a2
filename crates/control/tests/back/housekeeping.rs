//! The first operator, old answers, and when the next look is due.

use control::bootstrap::{self, FirstOperator};
use model::identity::PlatformRole;
use store::{
    events,
    idempotency::{self, Kept},
    living::{self, Living},
    testing::both_engines,
    tokens,
};

use crate::world::World;

fn first_operator(world: &World) -> Option<FirstOperator> {
    let ports = world.ports.clone();
    let (email, lifetime) = ("root@platform.example".parse().unwrap(), 3600.try_into().unwrap());
    world.write(move |tx, stamp| bootstrap::first_operator(tx, stamp, &ports, &email, lifetime)).unwrap()
}

#[test]
fn the_first_operator_is_made_once_and_its_token_opens_the_platform() {
    both_engines(|db| {
        let mut world = World::bare(db, 0);
        let made = first_operator(&world).expect("there was none");
        assert!(first_operator(&world).is_none(), "there is one already");
        let hash = made.secret.hash();
        assert!(!hash.contains(made.secret.reveal()));
        let owner = world.read(move |tx| tokens::find_by_hash(tx, &hash)).unwrap();
        assert_eq!(owner.token.principal_id, made.principal_id);
        assert_eq!(owner.platform_role, Some(PlatformRole::PlatformOperator));
        assert!(owner.token.is_live(world.ports.now()));
        world.settle();
        world.check_history();
    });
}

#[test]
fn numbers_do_not_fall_behind_a_flood_of_changes() {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        world.settle();
        world.config.numbered_per_commit = 2;
        world.restart();
        let before = world.read(events::head);
        (0..5).for_each(|_| drop(world.launch(1)));
        assert!(world.step().leading);
        assert!(world.read(events::head) >= before + 5, "one step numbers more than one commit does");
        world.settle();
        world.check_history();
    });
}

#[test]
fn answers_are_forgotten_when_nobody_will_ask_again() {
    both_engines(|db| {
        let mut world = World::new(db, 0);
        let keep = |world: &World, key: &'static str| {
            let (user, at) = (world.user.clone(), world.ports.now());
            let kept =
                Kept { fingerprint: "f".into(), status: 201, answer: "{}".into(), etag: None, location: None, at };
            world.write(move |tx, _| idempotency::insert(tx, &user, key, &kept)).unwrap();
        };
        keep(&world, "old");
        world.advance_s(20 * 3600);
        keep(&world, "young");
        world.advance_s(5 * 3600);
        world.settle();
        let user = world.user.clone();
        let found = world.read(move |tx| {
            Ok((idempotency::find(tx, &user, "old")?.is_some(), idempotency::find(tx, &user, "young")?.is_some()))
        });
        assert_eq!(found, (false, true));
    });
}

#[test]
fn a_node_that_is_well_waits_for_nothing_and_a_silent_one_says_so() {
    both_engines(|db| {
        let mut world = World::new(db, 2);
        world.settle();
        let waits = |world: &World| {
            let end_of_time = model::Timestamp::from_micros(i64::MAX);
            let found = world.read(move |tx| living::overdue(tx, Living::Nodes, end_of_time, 10));
            found.into_iter().map(|found| (found.state, found.wait.code)).collect::<Vec<_>>()
        };
        assert_eq!(waits(&world), []);
        world.advance_s(31);
        world.settle();
        let silent = || ("silent".to_owned(), "node_silent".to_owned());
        assert_eq!(waits(&world), [silent(), silent()]);
        world.advance_s(301);
        assert_eq!(world.step().waits_over_budget, 2);
        world.nodes_heard();
        world.settle();
        assert_eq!(waits(&world), []);
    });
}

#[test]
fn an_idle_plane_knows_when_to_look_next() {
    both_engines(|db| {
        let mut world = World::new(db, 1);
        let report = world.step();
        assert!(!report.worked);
        let look = report.next_look.expect("the node's lease runs out");
        let wait_s = look.micros_since(world.ports.now()) / 1_000_000;
        assert!((1..=30).contains(&wait_s), "{wait_s}");
        assert!(world.plane.pause_after(&report).as_millis() <= 250, "others may have recorded something");
        let (id, _) = world.launch(1);
        assert!(world.step().worked, "{id} was due at once");
    });
}
