//! Random stories beside a model that a person can check at a glance: which slots are free, who holds which, and nothing else.
//! After every step the store must be where the model could be: who was placed got a set of free slots on one node, who was
//! refused did not fit anywhere, nobody lost what they hold, and nothing is held twice. The process dies in between, at a
//! commit whose outcome nobody hears, and with its connections cut.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use model::{
    AllocationId, NodeId, SlotId,
    allocation::State,
    sku::CapacityShape,
    supply::{NodeDesired, SlotState},
};
use store::{
    CommitFault, CommitFaults, Db, Dialect, NoFaults, StoreError,
    claims::{self, ClaimRow},
    nodes,
    slots::SlotRow,
    testing::{CommitFailure, Place},
};
use topology::simulated::hgx_partitions;

use crate::world::World;

const NODES: usize = 3;
const OPS: usize = 60;

fn soaked(usual: u64) -> u64 {
    if std::env::var_os("GPUAAS_SOAK").is_some() { usual * 25 } else { usual }
}

struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }
}

/// What is known of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fate {
    Open,
    Held(NodeId, BTreeSet<SlotId>),
    Over,
}

#[derive(Debug)]
struct Wish {
    shape: CapacityShape,
    gpus: usize,
    fate: Fate,
}

/// Who holds what, as far as anybody can tell.
#[derive(Debug, Default)]
struct Model {
    wishes: BTreeMap<AllocationId, Wish>,
    seen: Seen,
}

/// How often things happened: a story without them proves nothing.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    placed: usize,
    refused: usize,
    deaths: usize,
}

impl Seen {
    fn and(self, other: Self) -> Self {
        let Self { placed, refused, deaths } = self;
        Self { placed: placed + other.placed, refused: refused + other.refused, deaths: deaths + other.deaths }
    }

    fn is_enough(self) -> bool {
        self.placed > 20 && self.refused > 2 && self.deaths > 2
    }
}

impl Model {
    /// Holds the store against what could be, and takes over what is.
    fn compare(&mut self, world: &World, told: &str) {
        let slots: BTreeMap<SlotId, SlotRow> = world.slots().into_iter().map(|slot| (slot.id.clone(), slot)).collect();
        let mut free: BTreeSet<SlotId> =
            slots.values().filter(|slot| slot.state == SlotState::Available).map(|slot| slot.id.clone()).collect();
        let now: BTreeMap<AllocationId, (State, Vec<ClaimRow>)> =
            self.wishes.keys().map(|id| (id.clone(), self.read(world, id))).collect();
        let held = |claims: &[ClaimRow]| -> BTreeSet<SlotId> {
            let on = |claim: &ClaimRow| match &claim.slot_id {
                Some(slot) => vec![slot.clone()],
                None => {
                    slots.values().filter(|slot| slot.node_id == claim.node_id).map(|slot| slot.id.clone()).collect()
                }
            };
            claims.iter().filter(|claim| claim.active).flat_map(on).collect()
        };
        // What is free now, and what was taken since the last look, was free when wishes were decided about.
        for (id, (_, claims)) in &now {
            if self.wishes[id].fate == Fate::Open {
                free.extend(held(claims));
            }
        }
        let mut holders: BTreeMap<SlotId, AllocationId> = BTreeMap::new();
        for (id, (state, claims)) in now {
            let holds = held(&claims);
            for slot in &holds {
                let other = holders.insert(slot.clone(), id.clone());
                assert_eq!(other, None, "{told}: {slot} is held twice");
            }
            let wish = self.wishes.get_mut(&id).unwrap();
            match (&wish.fate, state) {
                (Fate::Open, State::Requested) | (Fate::Over, _) => assert!(holds.is_empty(), "{told}: {id} {state}"),
                (Fate::Open, State::Refused) => {
                    let place = place_for(wish, &free, &slots, world);
                    assert_eq!(place, None, "{told}: {id} of {} was refused although it fits", wish.gpus);
                    self.seen.refused += 1;
                    wish.fate = Fate::Over;
                }
                (Fate::Open, state) if state.is_terminal() && holds.is_empty() => wish.fate = Fate::Over,
                (Fate::Open, _) => {
                    assert!(holds.is_subset(&free), "{told}: {id} got what was not free");
                    assert!(is_a_set(wish, &holds, &slots), "{told}: {id} got {holds:?}, which is no set");
                    free.retain(|slot| !holds.contains(slot));
                    self.seen.placed += 1;
                    let node = slots[holds.first().unwrap()].node_id.clone();
                    wish.fate = Fate::Held(node, holds);
                }
                (Fate::Held(..), state) if state.is_terminal() => {
                    assert!(holds.is_empty(), "{told}: {id} has ended and holds something");
                    wish.fate = Fate::Over;
                }
                (Fate::Held(_, before), _) => assert_eq!(holds, *before, "{told}: what {id} holds changed under it"),
            }
        }
        for slot in slots.values().filter(|slot| slot.state == SlotState::Available) {
            assert!(!holders.contains_key(&slot.id), "{told}: {} is for sale and held", slot.id);
        }
    }

    fn read(&self, world: &World, id: &AllocationId) -> (State, Vec<ClaimRow>) {
        let name = id.clone();
        (world.allocation(id).state, world.read(move |tx| claims::of_allocation(tx, &name)))
    }
}

fn modules_of(holds: &BTreeSet<SlotId>, slots: &BTreeMap<SlotId, SlotRow>) -> (BTreeSet<NodeId>, BTreeSet<u32>) {
    let module = |id: &SlotId| u32::try_from(slots[id].parts.gpu_module_id.unwrap()).unwrap();
    (holds.iter().map(|id| slots[id].node_id.clone()).collect(), holds.iter().map(module).collect())
}

fn is_a_set(wish: &Wish, holds: &BTreeSet<SlotId>, slots: &BTreeMap<SlotId, SlotRow>) -> bool {
    let (nodes, modules) = modules_of(holds, slots);
    let sets = hgx_partitions();
    let sold = sets.sets().iter().any(|set| set.iter().map(|module| module.0).collect::<BTreeSet<u32>>() == modules);
    nodes.len() == 1 && modules.len() == wish.gpus && sold
}

/// A node on which the wish fits, found by trying everything.
fn place_for(wish: &Wish, free: &BTreeSet<SlotId>, slots: &BTreeMap<SlotId, SlotRow>, world: &World) -> Option<NodeId> {
    let takes = |node: &NodeId| {
        let (id, shape) = (node.clone(), wish.shape);
        world.read(move |tx| {
            let row = nodes::get(tx, &id)?.ok_or(StoreError::NotFound)?;
            let alone = claims::active_on_node(tx, &id)?.is_empty();
            Ok(row.desired == NodeDesired::InService && (shape == CapacityShape::GpuSlice || alone))
        })
    };
    let sets = hgx_partitions();
    for node in world.nodes.iter().map(|node| &node.id).filter(|node| takes(node)) {
        let there: BTreeSet<SlotId> = free.iter().filter(|id| slots[*id].node_id == *node).cloned().collect();
        let modules = modules_of(&there, slots).1;
        if sets.sets_of(wish.gpus).any(|set| set.iter().all(|module| modules.contains(&module.0))) {
            return Some(node.clone());
        }
    }
    None
}

/// How the process of a story dies.
trait Mishap {
    /// Something bad will happen at one of the next commits.
    fn plan(&mut self, world: &World, dice: &mut Dice);
    /// The process is gone; another one starts on what is there.
    fn restart(&mut self, world: &mut World);
}

fn story(world: &mut World, mishap: &mut dyn Mishap, seed: u64) -> Seen {
    let (mut model, mut dice) = (Model::default(), Dice::new(seed));
    let mishap = &mut Counted { inner: mishap, deaths: 0 };
    for op in 0..OPS {
        let told = format!("seed {seed}, op {op}");
        match dice.below(12) {
            0..=3 => launch(world, &mut model, &mut dice, mishap),
            4 | 5 => release(world, &mut model, &mut dice, mishap),
            6 => toggle_drain(world, &mut dice, mishap),
            7 => mishap.inner.restart(world),
            8 => mishap.inner.plan(world, &mut dice),
            9 => survive(world, mishap, World::try_nodes_heard),
            10 => agents_work(world, mishap),
            _ => (),
        }
        step(world, mishap);
        model.compare(world, &told);
    }
    mishap.inner.restart(world);
    for _ in 0..40 {
        step(world, mishap);
        agents_work(world, mishap);
        world.advance_s(3);
        survive(world, mishap, World::try_nodes_heard);
        model.compare(world, &format!("seed {seed}, at the end"));
    }
    let open = model.wishes.iter().filter(|(_, wish)| wish.fate == Fate::Open).count();
    assert_eq!(open, 0, "seed {seed}: every wish has its answer in the end");
    assert_eq!(control::auditor::check(&world.db, 10).unwrap(), [], "seed {seed}");
    Seen { deaths: mishap.deaths, ..model.seen }
}

/// Counts deaths that nobody planned to the moment.
struct Counted<'a> {
    inner: &'a mut dyn Mishap,
    deaths: usize,
}

impl Counted<'_> {
    fn died(&mut self, world: &mut World) {
        self.deaths += 1;
        self.inner.restart(world);
    }
}

/// Does something, and again in a new process if the old one died of it.
fn survive(world: &mut World, mishap: &mut Counted<'_>, act: impl Fn(&World) -> Result<(), StoreError>) {
    for _ in 0..20 {
        match act(world) {
            Ok(()) => return,
            Err(error) if is_death(&error) => mishap.died(world),
            // The driver was quicker.
            Err(StoreError::StaleVersion) => (),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("it cannot be done");
}

fn is_death(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Crashed
            | StoreError::OutcomeUnknown
            | StoreError::Poisoned
            | StoreError::Unavailable(_)
            | StoreError::LostLeadership
    )
}

fn step(world: &mut World, mishap: &mut Counted<'_>) {
    for _ in 0..30 {
        match world.step().stopped {
            None => return,
            Some(error) if is_death(&error) => mishap.died(world),
            Some(error) => panic!("{error}"),
        }
    }
    panic!("no step gets through");
}

fn launch(world: &mut World, model: &mut Model, dice: &mut Dice, mishap: &mut Counted<'_>) {
    let metal = dice.below(8) == 0;
    let gpus = if metal { 8 } else { [1, 1, 2, 2, 4, 8][dice.below(6)] };
    let shape = if metal { CapacityShape::Baremetal } else { CapacityShape::GpuSlice };
    let (id, sku) = (world.allocation_id(), if metal { world.bare_metal.clone() } else { world.sku.clone() });
    survive(world, mishap, |world| world.try_launch(&id, &sku, i64::try_from(gpus).unwrap()).map(drop));
    model.wishes.insert(id, Wish { shape, gpus, fate: Fate::Open });
}

fn release(world: &mut World, model: &mut Model, dice: &mut Dice, mishap: &mut Counted<'_>) {
    let living: Vec<&AllocationId> =
        model.wishes.iter().filter(|(_, wish)| wish.fate != Fate::Over).map(|(id, _)| id).collect();
    if living.is_empty() {
        return;
    }
    let id = living[dice.below(living.len())].clone();
    survive(world, mishap, |world| world.release(&id));
}

fn toggle_drain(world: &mut World, dice: &mut Dice, mishap: &mut Counted<'_>) {
    let id = world.nodes[dice.below(NODES)].id.clone();
    survive(world, mishap, |world| {
        let id = id.clone();
        world.write(move |tx, stamp| {
            let row = nodes::get(tx, &id)?.ok_or(StoreError::NotFound)?;
            let desired = match row.desired {
                NodeDesired::InService => NodeDesired::Drained,
                _ => NodeDesired::InService,
            };
            nodes::wish(tx, stamp, &row, desired, "a test").map(drop)
        })
    });
}

fn agents_work(world: &mut World, mishap: &mut Counted<'_>) {
    survive(world, mishap, |world| world.try_nodes_work().map(drop));
}

#[derive(Debug, Default)]
struct Plan {
    armed: Option<(usize, CommitFault)>,
}

/// Dies at a commit of the simulator's store.
#[derive(Debug, Clone, Default)]
struct AtCommit(Arc<Mutex<Plan>>);

impl CommitFaults for AtCommit {
    fn at_commit(&mut self) -> CommitFault {
        let mut plan = self.0.lock().unwrap();
        match plan.armed.take() {
            Some((0, fault)) => fault,
            Some((left, fault)) => {
                plan.armed = Some((left - 1, fault));
                CommitFault::Proceed
            }
            None => CommitFault::Proceed,
        }
    }
}

impl Mishap for AtCommit {
    fn plan(&mut self, _: &World, dice: &mut Dice) {
        let fault = [CommitFault::CrashBefore, CommitFault::CrashAfter][dice.below(2)];
        self.0.lock().unwrap().armed = Some((dice.below(6), fault));
    }

    fn restart(&mut self, world: &mut World) {
        self.0.lock().unwrap().armed = None;
        world.restart();
    }
}

/// An embedded store: COMMIT answers with an error, whether it was durable or not, and the process must begin anew.
struct Embedded(Place);

impl Mishap for Embedded {
    fn plan(&mut self, world: &World, dice: &mut Dice) {
        let how = [CommitFailure::Refused, CommitFailure::AnswerLost][dice.below(2)];
        world.db.sabotage().unwrap().fail_next_commit(how);
    }

    fn restart(&mut self, world: &mut World) {
        // Nobody may have the file open when it is opened again.
        world.db = Db::open_inline(Box::new(NoFaults)).unwrap();
        world.restart();
        world.db = self.0.open();
        world.restart();
    }
}

/// A server whose connections are cut at any moment, by somebody who does nothing else.
struct Cut {
    now: Arc<AtomicBool>,
}

impl Mishap for Cut {
    fn plan(&mut self, _: &World, _: &mut Dice) {
        self.now.store(true, Ordering::Release);
    }

    fn restart(&mut self, world: &mut World) {
        world.restart();
    }
}

#[test]
fn stories_with_deaths_at_commits() {
    let mut seen = Seen::default();
    for seed in 0..soaked(40) {
        let faults = AtCommit::default();
        let mut world = World::new(Db::open_inline(Box::new(faults.clone())).unwrap(), NODES);
        seen = seen.and(story(&mut world, &mut faults.clone(), seed));
    }
    assert!(seen.is_enough(), "{seen:?}");
}

#[test]
fn stories_on_an_embedded_store_whose_commits_end_unknown() {
    let mut seen = Seen::default();
    for seed in 0..soaked(4) {
        let place = Place::new(Dialect::Sqlite);
        let mut world = World::new(place.open(), NODES);
        seen = seen.and(story(&mut world, &mut Embedded(place), 1000 + seed));
    }
    assert!(seen.is_enough(), "{seen:?}");
}

#[test]
fn stories_on_a_server_whose_connections_are_cut() {
    let mut seen = Seen::default();
    for seed in 0..soaked(4) {
        let place = Place::new(Dialect::Postgres);
        let (now, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mut world = World::new(place.open(), NODES);
        let other = place.open();
        thread::scope(|scope| {
            let (asked, end) = (Arc::clone(&now), Arc::clone(&over));
            let cutter = scope.spawn(move || {
                while !end.load(Ordering::Acquire) {
                    if asked.swap(false, Ordering::AcqRel) {
                        cut(&other);
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            });
            seen = seen.and(story(&mut world, &mut Cut { now }, 2000 + seed));
            over.store(true, Ordering::Release);
            cutter.join().unwrap();
        });
    }
    // A cut connection is mostly mended by the store itself, so nobody need have died of it.
    assert!(Seen { deaths: seen.deaths + 3, ..seen }.is_enough(), "{seen:?}");
}

// Ends every other connection to this database, whatever it is doing.
fn cut(db: &Db) {
    let ended = db.write(|tx| {
        tx.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
             AND pid <> pg_backend_pid()",
            &[],
        )
        .map(drop)
    });
    assert!(ended.is_ok() || matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
}
