//! How long one cycle takes over a million workloads that wait in a thousand queues, on a floor of ten thousand nodes with eight
//! GPUs each, when ten thousand of them have changed. Prints one line a measurement.
//!
//! `cargo run --release -p govern --example speed`

#![allow(clippy::disallowed_methods, reason = "an example measures; the crate itself reads no files")]
#![allow(clippy::print_stdout, reason = "an example prints")]

use govern::{
    amount::Amount,
    cycle::{
        Estate, Floor, Placing, Profile, Scheduler, Verdict,
        book::{Pending, PendingIx},
    },
    flavors::{Flavor, FlavorIx, Group, Offer, PodSet},
    order::Waiting,
    preempt::{FairStrategies, Part, Place, PreemptionRules, QueuePolicy, Takes},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    workload::WorkloadIx,
};
use std::collections::BTreeMap;

const GPU: FlavorResource = FlavorResource(0);
const QUEUES: u32 = 1000;
const CHANGED: u32 = 10_000;
const NODES: u32 = 10_000;
const GPUS: u32 = 8;

// Nodes by how many of their GPUs are free; each workload is on one node.
struct Nodes {
    free: Vec<u32>,
    with: Vec<Vec<u32>>,
    at: BTreeMap<WorkloadIx, (u32, u32)>,
    // What the cycle gave, until the workload has its place.
    given: BTreeMap<PendingIx, (u32, u32)>,
}

impl Nodes {
    fn new() -> Self {
        let mut with = vec![vec![]; GPUS as usize + 1];
        with[GPUS as usize] = (0..NODES).collect();
        Self { free: vec![GPUS; NODES as usize], with, at: BTreeMap::new(), given: BTreeMap::new() }
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
}

struct Spot<'n> {
    nodes: &'n mut Nodes,
    gpus: u32,
    gone: BTreeMap<u32, u32>,
}

impl Place for Spot<'_> {
    fn take(&mut self, workload: WorkloadIx, _: Part) {
        if let Some((node, gpus)) = self.nodes.at.get(&workload) {
            *self.gone.entry(*node).or_default() += gpus;
        }
    }
    fn put_back(&mut self, workload: WorkloadIx, _: Part) {
        if let Some((node, gpus)) = self.nodes.at.get(&workload) {
            *self.gone.entry(*node).or_default() -= gpus;
        }
    }
    fn is_found(&mut self) -> bool {
        let more = self.gone.iter().any(|(node, more)| self.nodes.free[*node as usize] + more >= self.gpus);
        more || self.nodes.find(self.gpus).is_some()
    }
}

fn gpus(asked: &Placing<'_>) -> u32 {
    let units = asked.assignment.usage.first().map_or(0, |(_, much)| much.units());
    u32::try_from(units).unwrap_or(u32::MAX)
}

impl Floor for Nodes {
    fn place<'p>(&'p mut self, asked: &Placing<'_>) -> Box<dyn Place + 'p> {
        Box::new(Spot { gpus: gpus(asked), nodes: self, gone: BTreeMap::new() })
    }
    fn is_possible(&mut self, asked: &Placing<'_>) -> bool {
        gpus(asked) <= GPUS
    }
    fn occupy(&mut self, asked: &Placing<'_>, gone: &[WorkloadIx]) {
        if let (true, Some(node)) = (gone.is_empty(), self.find(gpus(asked))) {
            self.set(node, self.free[node as usize] - gpus(asked));
            self.given.insert(asked.pending, (node, gpus(asked)));
        }
    }
}

fn estate(cohorts: u32) -> Estate {
    let mut specs = vec![NodeSpec::default(); cohorts as usize];
    let nominal = Amount::new(i64::from(NODES * GPUS / QUEUES));
    for queue in 0..QUEUES {
        let quotas = vec![(GPU, Quota { nominal, ..Quota::default() })];
        specs.push(NodeSpec { parent: Some(queue % cohorts), is_queue: true, quotas, ..NodeSpec::default() });
    }
    let tree = Tree::build(&specs, 1).expect("a tree");
    let group = Group { resources: vec![Resource(0)], flavors: vec![FlavorIx(0)], cells: vec![GPU] };
    let policy = QueuePolicy { within_queue: Takes::LowerPriority, reclaim: Takes::Any, while_borrowing: None };
    Estate {
        shares: Shares::build(&tree, &[Resource(0)]),
        offers: vec![Offer { groups: vec![group], ..Offer::default() }; specs.len()],
        policies: vec![policy; specs.len()],
        tree,
        catalog: vec![Some(Flavor::default())],
        pods: None,
    }
}

fn mixed(number: u32) -> u64 {
    u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

struct World {
    scheduler: Scheduler,
    nodes: Nodes,
    cohorts: u32,
    next: u32,
    now: i64,
}

impl World {
    fn submit(&mut self, queue: u32) {
        let number = self.next;
        self.next += 1;
        let count = 1 << (mixed(number) % 4);
        let requests = vec![(Resource(0), Amount::new(count))];
        let shape = self.scheduler.shape(&[PodSet { count: 1, requests, ..PodSet::default() }]);
        let priority = i64::try_from(mixed(number) / 4 % 5).unwrap_or(0);
        let waiting = Waiting { local_usage: 0, priority, queued_at: Some(self.now), identity: u64::from(number) };
        let max_run_s = u32::try_from(100 + mixed(number) / 20 % 10_000).ok();
        self.scheduler.submit(Pending { max_run_s, ..Pending::new(NodeIx(self.cohorts + queue), waiting, shape) });
    }

    // One cycle: how long it took, and what came of it.
    fn step(&mut self) -> (u64, [usize; 3]) {
        let start = cpu_us();
        let decisions = self.scheduler.step(self.now, &mut self.nodes);
        let took = cpu_us() - start;
        let mut counts = [0; 3];
        for decision in &decisions {
            match &decision.verdict {
                Verdict::Admitted { workload, .. } => {
                    counts[0] += 1;
                    if let Some(place) = self.nodes.given.remove(&decision.pending) {
                        self.nodes.at.insert(*workload, place);
                    }
                }
                Verdict::Preempting { .. } => counts[1] += 1,
                Verdict::Waiting { .. } => counts[2] += 1,
            }
        }
        self.nodes.given.clear();
        (took, counts)
    }

    fn end(&mut self, workload: WorkloadIx) {
        self.scheduler.end(workload);
        if let Some((node, gpus)) = self.nodes.at.remove(&workload) {
            self.nodes.set(node, self.nodes.free[node as usize] + gpus);
        }
    }

    // In every queue as many end and come, so that as many wait and run as before.
    fn change(&mut self, of_each: u32) {
        for queue in 0..QUEUES {
            let running = self.scheduler.running().of_queue(NodeIx(self.cohorts + queue));
            let ends: Vec<WorkloadIx> = running.iter().rev().take(of_each as usize / 2).copied().collect();
            ends.into_iter().for_each(|workload| self.end(workload));
            (0..of_each - of_each / 2).for_each(|_| self.submit(queue));
        }
    }
}

// The time that this process had a processor, so that a busy machine does not count.
fn cpu_us() -> u64 {
    let spent = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    spent.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0) / 1000
}

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kb.unwrap_or(0) / 1024
}

fn main() {
    let waiting: u32 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    for (name, fair) in [("classical", None), ("fair", Some(FairStrategies::Both))] {
        for cohorts in [1, 10, 100] {
            let profile = Profile::own(PreemptionRules::own(fair));
            let scheduler = Scheduler::new(estate(cohorts), profile);
            let mut world = World { scheduler, nodes: Nodes::new(), cohorts, next: 0, now: 1000 };
            (0..waiting).for_each(|number| world.submit(number % QUEUES));
            let (mut cycles, mut filled_us) = (0, 0);
            loop {
                let (took, counts) = world.step();
                (cycles, filled_us) = (cycles + 1, filled_us + took);
                if counts[0] == 0 {
                    break;
                }
            }
            let (running, mut times) = (world.scheduler.running().iter().count(), vec![]);
            let mut last = [0; 3];
            for _ in 0..11 {
                world.now += 1;
                world.change(CHANGED / QUEUES);
                let (took, counts) = world.step();
                times.push(took);
                last = counts;
                while world.step().1[0] > 0 {}
            }
            times.sort_unstable();
            println!(
                "{name}, {cohorts} cohorts: {} us at least, {} us in the middle; {running} run after {cycles} cycles in {filled_us} us; {last:?} admitted, preempting, waiting; {} MB at most",
                times[0],
                times[times.len() / 2],
                resident_mb()
            );
        }
    }
}
