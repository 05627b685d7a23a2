//! Many clients at once, and a history that is checked afterwards. Each client asks for GPUs, looks at what it holds, and
//! gives it back, while a control plane that is killed now and then decides and agents do as they are told. Everything that a
//! client saw is written down with when the question began and when the answer was there. At the end every slot has its own
//! checker: no two clients can have held it at the same moment, whatever order the questions really had.
//!
//! `GPUAAS_SOAK=1` makes a million operations of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use api::node_plane::{FromControl, Heartbeat, Poll, TaskAnswer, ToControl};
use control::{
    node_plane::NodePlane,
    plane::{ControlPlane, PlaneConfig},
};
use model::{AllocationId, ClaimId, SlotId, allocation::State};
use store::{Db, StoreError, allocations, claims, claims::ClaimRow, testing::both_engines};

use crate::world::{World, known};

const OPERATIONS: u64 = 10_500;
const OPERATIONS_SOAKED: u64 = 500_000;
const CLIENTS: usize = 8;
const NODES: usize = 6;
/// A plane is killed after about so many steps.
const KILLED_EVERY: u64 = 150;

/// One look of a client at one of its allocations.
struct Look {
    allocation: AllocationId,
    // Before the question, and after the answer, by one clock for all.
    asked: u64,
    answered: u64,
    state: State,
    held: Vec<(SlotId, ClaimId, i64)>,
}

/// What one client did and saw.
#[derive(Default)]
struct History {
    launched: Vec<AllocationId>,
    looks: Vec<Look>,
}

/// What all share.
struct Stage {
    world: World,
    ticks: AtomicU64,
    operations: AtomicU64,
    limit: u64,
    over: AtomicBool,
}

impl Stage {
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    /// Takes one of the operations that are left.
    fn takes_one(&self) -> bool {
        self.operations.fetch_add(1, Ordering::SeqCst) < self.limit
    }
}

// A small generator: which client does what need not be secret, only varied.
struct Whim(u64);

impl Whim {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn client(stage: &Stage, number: u64) -> History {
    let (mut history, mut whim) = (History::default(), Whim(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
    let mut mine: Vec<AllocationId> = vec![];
    while stage.takes_one() {
        let launches = mine.is_empty() || (mine.len() < 3 && whim.below(6) == 0);
        if launches {
            let (id, metal) = (stage.world.allocation_id(), whim.below(20) == 0);
            let size = if metal { 8 } else { [1, 1, 1, 2, 2, 4, 8][usize::try_from(whim.below(7)).unwrap()] };
            let sku = if metal { &stage.world.bare_metal } else { &stage.world.sku };
            stage.world.try_launch(&id, sku, size).unwrap();
            history.launched.push(id.clone());
            mine.push(id);
            continue;
        }
        let at = usize::try_from(whim.below(mine.len() as u64)).unwrap();
        if whim.below(8) == 0 {
            release(stage, &mine[at]);
            continue;
        }
        let look = look(stage, &mine[at]);
        if look.state.is_terminal() {
            mine.swap_remove(at);
        }
        history.looks.push(look);
    }
    history
}

// The driver may move it at the same moment; then the client asks again, as one does after a 409.
fn release(stage: &Stage, id: &AllocationId) {
    for _ in 0..1000 {
        match stage.world.release(id) {
            Ok(()) => return,
            Err(StoreError::StaleVersion) => (),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("{id} cannot be given back");
}

fn look(stage: &Stage, id: &AllocationId) -> Look {
    let asked = stage.tick();
    let name = id.clone();
    let (state, claims) = stage.world.read(move |tx| {
        let row = allocations::get(tx, &name)?.ok_or(StoreError::NotFound)?;
        Ok((row.state, claims::of_allocation(tx, &name)?))
    });
    let active = claims.into_iter().filter(|claim| claim.active);
    // A whole node is looked at by its claim alone; its slots are told apart by the fence at the end.
    let held = active.filter_map(|claim| Some((claim.slot_id?, claim.id, claim.fence))).collect();
    Look { allocation: id.clone(), asked, answered: stage.tick(), state, held }
}

/// Control planes, one after the other: each is killed in the middle of its work, without a word.
fn planes(stage: &Stage) {
    let mut lives = 0;
    while !stage.over.load(Ordering::Acquire) {
        lives += 1;
        let config = PlaneConfig { placements_per_commit: 16, ..PlaneConfig::serving("test-replica") };
        let mut plane = ControlPlane::new(stage.world.db.clone(), stage.world.ports.clone(), config);
        for _ in 0..KILLED_EVERY + lives % 40 {
            let report = plane.step_now();
            assert_eq!(report.stopped, None);
            if !report.worked {
                thread::yield_now();
            }
            if stage.over.load(Ordering::Acquire) {
                return;
            }
        }
    }
}

/// All agents: they do everything they are asked, well.
fn agents(stage: &Stage, node_plane: &NodePlane) {
    let (db, world) = (&stage.world.db, &stage.world);
    while !stage.over.load(Ordering::Acquire) {
        for node in &world.nodes {
            let say = |message| node_plane.handle(db, &node.id, message).unwrap();
            let sent_at = world.clock_now();
            let beat = Heartbeat { node_id: node.id.clone(), boot: 1, session: "only".to_owned(), sent_at };
            say(ToControl::Heartbeat(beat));
            let offered = say(ToControl::Poll(Poll { node_id: node.id.clone(), boot: 1 }));
            let [FromControl::TasksOffered(offer)] = offered.as_slice() else { panic!("{offered:?}") };
            for task in &offer.tasks {
                let result = node.succeed(&known(task));
                say(ToControl::Result(TaskAnswer { node_id: node.id.clone(), boot: 1, result, report: None }));
            }
        }
        thread::yield_now();
    }
}

fn perform(db: Db, limit: u64) {
    let world = World::new(db, NODES);
    let node_plane = world.plane.node_plane();
    let stage = Arc::new(Stage {
        world,
        ticks: AtomicU64::new(0),
        operations: AtomicU64::new(0),
        limit,
        over: AtomicBool::new(false),
    });
    let histories: Vec<History> = thread::scope(|scope| {
        let planes = scope.spawn(|| planes(&stage));
        let agents = scope.spawn(|| agents(&stage, &node_plane));
        let clients: Vec<_> = (1..=CLIENTS as u64)
            .map(|number| {
                let stage = &stage;
                scope.spawn(move || client(stage, number))
            })
            .collect();
        let histories = clients.into_iter().map(|client| client.join().unwrap()).collect();
        stage.over.store(true, Ordering::Release);
        planes.join().unwrap();
        agents.join().unwrap();
        histories
    });
    let mut stage = Arc::into_inner(stage).unwrap();
    bring_to_rest(&mut stage.world);
    check(&stage.world, &histories);
}

/// Everything is given back, so that every claim has ended.
fn bring_to_rest(world: &mut World) {
    world.restart();
    for _ in 0..200 {
        world.settle();
        let open = world.living();
        if open.is_empty() {
            break;
        }
        for id in &open {
            world.release(id).unwrap();
        }
        world.settle();
        world.nodes_work();
    }
    world.settle();
    world.check_history();
}

fn check(world: &World, histories: &[History]) {
    let mut claims: BTreeMap<ClaimId, ClaimRow> = BTreeMap::new();
    for id in histories.iter().flat_map(|history| &history.launched) {
        assert!(world.allocation(id).state.is_terminal(), "an acknowledged launch is there, and was ended");
        let id = id.clone();
        claims
            .extend(world.read(move |tx| claims::of_allocation(tx, &id)).into_iter().map(|row| (row.id.clone(), row)));
    }
    // For every slot: who was seen to hold it, from the end of the first look to the beginning of the last.
    let mut holds: BTreeMap<SlotId, BTreeMap<ClaimId, (u64, u64)>> = BTreeMap::new();
    let mut ended: BTreeMap<&AllocationId, u64> = BTreeMap::new();
    let mut seen = 0;
    for look in histories.iter().flat_map(|history| &history.looks) {
        let nodes: BTreeSet<_> = look.held.iter().map(|(_, claim, _)| &claims[claim].node_id).collect();
        assert!(nodes.len() <= 1, "{} is on {nodes:?}", look.allocation);
        for (slot, claim, fence) in &look.held {
            let row = claims.get(claim).expect("a claim that was seen does not go away");
            assert_eq!((row.slot_id.as_ref(), row.fence), (Some(slot), *fence), "a claim never changes");
            let hold =
                holds.entry(slot.clone()).or_default().entry(claim.clone()).or_insert((look.answered, look.asked));
            *hold = (hold.0.min(look.answered), hold.1.max(look.asked));
            seen += 1;
        }
        if let Some(at) = ended.get(&look.allocation) {
            assert!(look.answered < *at || look.state.is_terminal(), "{} came back", look.allocation);
        }
        if look.state.is_terminal() {
            assert!(look.held.is_empty(), "{} has ended and holds something", look.allocation);
            ended.entry(&look.allocation).or_insert(look.answered);
        }
    }
    for (slot, holds) in &holds {
        let mut by_start: Vec<(&ClaimId, &(u64, u64))> = holds.iter().filter(|(_, hold)| hold.0 < hold.1).collect();
        by_start.sort_by_key(|(_, hold)| hold.0);
        for pair in by_start.windows(2) {
            assert!(pair[0].1.1 <= pair[1].1.0, "{slot} was held twice at once: {pair:?}");
            assert!(claims[pair[0].0].fence < claims[pair[1].0].fence, "{slot}: the later holder has the lower fence");
        }
    }
    assert!(seen > 0 && !holds.is_empty(), "a history in which nobody holds anything proves nothing");
}

#[test]
fn no_two_clients_ever_hold_one_slot() {
    let soaked = std::env::var_os("GPUAAS_SOAK").is_some();
    both_engines(|db| perform(db, if soaked { OPERATIONS_SOAKED } else { OPERATIONS }));
}
