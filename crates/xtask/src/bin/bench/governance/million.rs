//! One cycle over a million workloads that wait in a thousand queues, on a floor of ten thousand nodes with eight GPUs each,
//! after ten thousand of them have changed: in every queue five that waited were taken back and five more have come. Besides
//! that, the cycle after a turnover: in every queue five that ran have ended and five more have come, so that thousands start.
//!
//! The queues own all GPUs in equal parts. Work is of one, two, four or eight GPUs on one node and has one of five priorities,
//! so that each queue has twenty classes of it and all of them are looked at after a change. Who is told to go is gone once
//! its notice is over. What the changes take and what the floor takes to find nodes is counted with the cycle.

use govern::{
    amount::Amount,
    cycle::{
        Decision, Estate, Floor, Placing, Profile, Scheduler, Verdict,
        book::{Pending, PendingIx},
    },
    flavors::{Flavor, FlavorIx, Group, Offer, PodSet},
    order::Waiting,
    preempt::{FairStrategies, Part, Place, PreemptionRules, QueuePolicy, Takes},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    workload::WorkloadIx,
};
use std::collections::{BTreeMap, VecDeque};

const GPU: FlavorResource = FlavorResource(0);
const QUEUES: u32 = 1000;
const CHANGED: u32 = 10_000;
const NODES: u32 = 10_000;
const GPUS: u32 = 8;

/// How the queues belong together, and how shares are divided.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// What it is called.
    pub name: &'static str,
    /// In so many cohorts, with equally many queues in each.
    pub cohorts: u32,
    /// By fair shares; else classical.
    pub fair: Option<FairStrategies>,
}

const fn shape(name: &'static str, cohorts: u32, fair: Option<FairStrategies>) -> Shape {
    Shape { name, cohorts, fair }
}

/// One cohort, ten, and one for each queue; each with and without fair shares.
pub const SHAPES: [Shape; 6] = [
    shape("one_cohort", 1, None),
    shape("ten_cohorts", 10, None),
    shape("thousand_cohorts", 1000, None),
    shape("one_cohort_fair", 1, Some(FairStrategies::Both)),
    shape("ten_cohorts_fair", 10, Some(FairStrategies::Both)),
    shape("thousand_cohorts_fair", 1000, Some(FairStrategies::Both)),
];

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What it took until nobody more could be admitted, in all cycles.
    pub fill_us: u64,
    /// How many cycles that were.
    pub fill_cycles: u64,
    /// How many run then.
    pub running: usize,
    /// What each cycle took after as many were taken back as came.
    pub cycles_us: Vec<u64>,
    /// What each cycle took after as many had ended as came.
    pub turnovers_us: Vec<u64>,
    /// What it took each time until nobody more was admitted.
    pub rests_us: Vec<u64>,
    /// How many workloads each of all these cycles admitted, told others to go for, and let wait.
    pub decided: Vec<[usize; 3]>,
}

/// Fills the floor and then takes so many cycles, each after a change. `clock_us` says what time it is; `rested` is told each
/// time that the world is at rest.
///
/// # Errors
/// When the shape is none.
pub fn run(
    shape: &Shape,
    waiting: u32,
    cycles: u32,
    clock_us: &dyn Fn() -> u64,
    rested: &mut dyn FnMut(),
) -> Result<Outcome, String> {
    let mut world = World::new(shape)?;
    let mut outcome = Outcome::default();
    (0..waiting).for_each(|number| world.submit(number % QUEUES));
    loop {
        let (took_us, decided) = world.step(clock_us);
        outcome.fill_us += took_us;
        outcome.fill_cycles += 1;
        if decided[0] == 0 && world.leaving.is_empty() {
            break;
        }
    }
    outcome.running = world.scheduler.running().iter().count();
    let changes: [fn(&mut World, u32); 2] = [World::take_back, World::end];
    for (change, turnover) in changes.iter().zip([false, true]) {
        for _ in 0..cycles {
            let begun_us = clock_us();
            for queue in 0..QUEUES {
                change(&mut world, queue);
                (0..CHANGED / QUEUES / 2).for_each(|_| world.submit(queue));
            }
            let changed_us = clock_us().saturating_sub(begun_us);
            let (cycle_us, counts) = world.step(clock_us);
            let took_us = changed_us + cycle_us;
            if turnover { &mut outcome.turnovers_us } else { &mut outcome.cycles_us }.push(took_us);
            outcome.decided.push(counts);
            rested();
            // Whoever still can be admitted is, so that each change meets a world at rest.
            let (mut until_rest_us, mut admits) = (took_us, true);
            while admits {
                let (more_us, counts) = world.step(clock_us);
                until_rest_us += more_us;
                admits = counts[0] > 0;
            }
            outcome.rests_us.push(until_rest_us);
        }
    }
    Ok(outcome)
}

// Nodes by how many of their GPUs are free; each workload is on one node.
struct Nodes {
    free: Vec<u32>,
    with: Vec<Vec<u32>>,
    // By place of what runs: its node and its GPUs.
    at: Vec<Option<(u32, u32)>>,
    // What the cycle gave, until the workload has its place.
    given: Vec<(PendingIx, u32, u32)>,
}

impl Nodes {
    fn new() -> Self {
        let mut with = vec![vec![]; GPUS as usize + 1];
        with[GPUS as usize] = (0..NODES).collect();
        Self { free: vec![GPUS; NODES as usize], with, at: vec![], given: vec![] }
    }

    // The fullest node that has enough; entries of nodes that have changed since are dropped on the way.
    fn find(&mut self, gpus: u32) -> Option<u32> {
        for free in gpus..=GPUS {
            while let Some(node) = self.with[free as usize].last().copied() {
                if self.free[node as usize] == free {
                    return Some(node);
                }
                self.with[free as usize].pop();
            }
        }
        None
    }

    fn set(&mut self, node: u32, free: u32) {
        self.free[node as usize] = free;
        self.with[free as usize].push(node);
    }

    fn of(&self, workload: WorkloadIx) -> Option<(u32, u32)> {
        self.at.get(workload.0 as usize).copied().flatten()
    }

    fn settle(&mut self, workload: WorkloadIx, place: (u32, u32)) {
        let at = workload.0 as usize;
        if self.at.len() <= at {
            self.at.resize(at + 1, None);
        }
        self.at[at] = Some(place);
    }

    fn leave(&mut self, workload: WorkloadIx) {
        if let Some((node, gpus)) = self.at.get_mut(workload.0 as usize).and_then(Option::take) {
            self.set(node, self.free[node as usize] + gpus);
        }
    }
}

// Asks for one node with enough free GPUs, with some workloads gone.
struct Spot<'n> {
    nodes: &'n mut Nodes,
    gpus: u32,
    gone: BTreeMap<u32, u32>,
    // Of the nodes that somebody is gone from, how many have enough now.
    enough: u32,
}

impl Spot<'_> {
    fn shift(&mut self, workload: WorkloadIx, to: impl Fn(u32, u32) -> u32) {
        let Some((node, gpus)) = self.nodes.of(workload) else { return };
        let free = self.nodes.free[node as usize];
        let more = self.gone.entry(node).or_default();
        let (before, after) = (*more, to(*more, gpus));
        *more = after;
        let has = |more: u32| u32::from(more > 0 && free + more >= self.gpus);
        self.enough = self.enough + has(after) - has(before);
    }
}

impl Place for Spot<'_> {
    fn take(&mut self, workload: WorkloadIx, _: Part) {
        self.shift(workload, |more, gpus| more + gpus);
    }
    fn put_back(&mut self, workload: WorkloadIx, _: Part) {
        self.shift(workload, |more, gpus| more - gpus);
    }
    fn is_found(&mut self) -> bool {
        self.enough > 0 || self.nodes.find(self.gpus).is_some()
    }
}

fn gpus(asked: &Placing<'_>) -> u32 {
    let units = asked.assignment.usage.first().map_or(0, |(_, much)| much.units());
    u32::try_from(units).unwrap_or(u32::MAX)
}

impl Floor for Nodes {
    fn place<'p>(&'p mut self, asked: &Placing<'_>) -> Box<dyn Place + 'p> {
        Box::new(Spot { gpus: gpus(asked), nodes: self, gone: BTreeMap::new(), enough: 0 })
    }
    fn is_possible(&mut self, asked: &Placing<'_>) -> bool {
        gpus(asked) <= GPUS
    }
    fn occupy(&mut self, asked: &Placing<'_>, gone: &[WorkloadIx]) {
        if let (true, Some(node)) = (gone.is_empty(), self.find(gpus(asked))) {
            self.set(node, self.free[node as usize] - gpus(asked));
            self.given.push((asked.pending, node, gpus(asked)));
        }
    }
}

fn estate(cohorts: u32) -> Result<Estate, String> {
    let mut specs = vec![NodeSpec::default(); cohorts as usize];
    let nominal = Amount::new(i64::from(NODES * GPUS / QUEUES));
    for queue in 0..QUEUES {
        let quotas = vec![(GPU, Quota { nominal, ..Quota::default() })];
        specs.push(NodeSpec { parent: Some(queue % cohorts), is_queue: true, quotas, ..NodeSpec::default() });
    }
    let tree = Tree::build(&specs, 1).map_err(|why| why.to_string())?;
    let group = Group { resources: vec![Resource(0)], flavors: vec![FlavorIx(0)], cells: vec![GPU] };
    let policy = QueuePolicy { within_queue: Takes::LowerPriority, reclaim: Takes::Any, while_borrowing: None };
    Ok(Estate {
        shares: Shares::build(&tree, &[Resource(0)]),
        offers: vec![Offer { groups: vec![group], ..Offer::default() }; specs.len()],
        policies: vec![policy; specs.len()],
        tree,
        catalog: vec![Some(Flavor::default())],
        pods: None,
    })
}

// A number that looks like any other, and is always the same.
fn mixed(number: u32) -> u64 {
    u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

struct World {
    scheduler: Scheduler,
    nodes: Nodes,
    cohorts: u32,
    next: u32,
    now: i64,
    // Who was told to go, and when it is gone.
    leaving: VecDeque<(i64, WorkloadIx)>,
    // Who came to each queue, with its number, the last one last.
    came: Vec<Vec<(PendingIx, u64)>>,
}

impl World {
    fn new(shape: &Shape) -> Result<Self, String> {
        let profile = Profile::own(PreemptionRules::own(shape.fair));
        let scheduler = Scheduler::new(estate(shape.cohorts)?, profile);
        let (nodes, leaving) = (Nodes::new(), VecDeque::new());
        let came = vec![vec![]; QUEUES as usize];
        Ok(Self { scheduler, nodes, cohorts: shape.cohorts, next: 0, now: 1000, leaving, came })
    }

    fn submit(&mut self, queue: u32) {
        let number = self.next;
        self.next += 1;
        let count = 1 << (mixed(number) % 4);
        let requests = vec![(Resource(0), Amount::new(count))];
        let shape = self.scheduler.shape(&[PodSet { count: 1, requests, ..PodSet::default() }]);
        let priority = i64::try_from(mixed(number) / 4 % 5).unwrap_or(0);
        let waiting = Waiting { local_usage: 0, priority, queued_at: Some(self.now), identity: u64::from(number) };
        let max_run_s = u32::try_from(100 + mixed(number) / 20 % 10_000).ok();
        let pending = Pending { max_run_s, ..Pending::new(NodeIx(self.cohorts + queue), waiting, shape) };
        let place = self.scheduler.submit(pending);
        self.came[queue as usize].push((place, u64::from(number)));
    }

    // One cycle, a second after the last: how long it took, and what came of it.
    fn step(&mut self, clock_us: &dyn Fn() -> u64) -> (u64, [usize; 3]) {
        self.now += 1;
        while let Some((_, workload)) = self.leaving.pop_front_if(|(at, _)| *at <= self.now) {
            self.nodes.leave(workload);
            self.scheduler.gone(self.now, workload);
        }
        let begun = clock_us();
        let decisions = self.scheduler.step(self.now, &mut self.nodes);
        let took_us = clock_us().saturating_sub(begun);
        (took_us, self.follow(&decisions))
    }

    fn follow(&mut self, decisions: &[Decision]) -> [usize; 3] {
        let mut given: BTreeMap<PendingIx, (u32, u32)> =
            self.nodes.given.drain(..).map(|(pending, node, gpus)| (pending, (node, gpus))).collect();
        let mut decided = [0; 3];
        for decision in decisions {
            match &decision.verdict {
                Verdict::Admitted { workload, .. } => {
                    decided[0] += 1;
                    if let Some(place) = given.remove(&decision.pending) {
                        self.nodes.settle(*workload, place);
                    }
                }
                Verdict::Preempting { victims, .. } => {
                    decided[1] += 1;
                    let told = victims.iter().filter_map(|victim| Some((victim.stops_at?, victim.workload)));
                    self.leaving.extend(told);
                }
                Verdict::Waiting { .. } => decided[2] += 1,
            }
        }
        decided
    }

    // Some of a queue that wait are taken back, whoever came last first.
    fn take_back(&mut self, queue: u32) {
        let mut left = CHANGED / QUEUES / 2;
        while let Some((place, number)) = self.came[queue as usize].pop().filter(|_| left > 0) {
            if self.scheduler.book().get(place).is_some_and(|pending| pending.waiting.identity == number) {
                self.scheduler.cancel(place);
                left -= 1;
            }
        }
    }

    // Some of a queue that run end, whoever started last first.
    fn end(&mut self, queue: u32) {
        let running = self.scheduler.running();
        let stays = |place: &&WorkloadIx| running.get(**place).is_some_and(|workload| !workload.evicting);
        let all = running.of_queue(NodeIx(self.cohorts + queue)).iter();
        let ends: Vec<WorkloadIx> =
            all.filter(stays).rev().take(CHANGED as usize / QUEUES as usize / 2).copied().collect();
        for workload in ends {
            self.scheduler.end(workload);
            self.nodes.leave(workload);
        }
    }
}
