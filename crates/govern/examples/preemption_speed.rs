//! How long a search for victims takes among ten thousand workloads that run. Prints one line for each shape: what it cost in
//! workloads looked at, and the median time of several searches. `cargo run --release -p govern --example preemption_speed`.

#![expect(clippy::disallowed_types, reason = "what measures reads a clock; the crate itself does not")]

use govern::{
    amount::Amount,
    preempt::{AnyPlace, Asking, FairStrategies, PreemptionRules, QueuePolicy, Scene, Takes, search},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    workload::{Running, Terms, Workload},
};
use std::{io::Write, time::Instant};

const WORKLOADS: u32 = 10_000;
const GPU: FlavorResource = FlavorResource(0);
const CPU: FlavorResource = FlavorResource(1);

struct World {
    tree: Tree,
    shares: Shares,
    running: Running,
    policies: Vec<QueuePolicy>,
    taker: NodeIx,
}

fn quota(gpus: i64) -> Vec<(FlavorResource, Quota)> {
    let of = |units| Quota { nominal: Amount::new(units), ..Quota::default() };
    vec![(GPU, of(gpus)), (CPU, of(gpus * 100))]
}

// So many cohorts below one, with so many queues each; the first queue of the first cohort asks. All others use what is its.
fn world(cohorts: u32, queues: u32) -> World {
    let mut specs = vec![NodeSpec::default()];
    for _ in 0..cohorts {
        specs.push(NodeSpec { parent: Some(0), ..NodeSpec::default() });
    }
    let all = cohorts * queues;
    for queue in 0..all {
        let gpus = if queue == 0 { i64::from(WORKLOADS) } else { 0 };
        let parent = Some(1 + queue / queues);
        specs.push(NodeSpec { parent, is_queue: true, quotas: quota(gpus), ..NodeSpec::default() });
    }
    let tree = Tree::build(&specs, 2).expect("a tree");
    let shares = Shares::build(&tree, &[Resource(0), Resource(1)]);
    let taker = NodeIx(1 + cohorts);
    let mut running = Running::new();
    for at in 0..WORKLOADS {
        let queue = if all == 1 { taker } else { NodeIx(taker.0 + 1 + at % (all - 1)) };
        let mixed = u64::from(at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        running.add(Workload {
            queue,
            priority: i64::try_from(mixed % 10).unwrap_or(0) - 10,
            identity: u64::from(at),
            queued_at: Some(0),
            quota_at: i64::try_from(mixed).ok(),
            usage: vec![(GPU, Amount::new(1)), (CPU, Amount::new(100))],
            evicting: false,
            local_usage: 0,
            elastic: None,
            terms: Terms::default(),
        });
    }
    let policy = QueuePolicy { within_queue: Takes::LowerPriority, reclaim: Takes::Any, while_borrowing: None };
    World { policies: vec![policy; specs.len()], tree, shares, running, taker }
}

fn measure(out: &mut impl Write, name: &str, world: &World, rules: &PreemptionRules, gpus: i64) {
    let mut usage = world.tree.unused();
    world.running.iter().for_each(|(_, workload)| workload.charge(&world.tree, &mut usage));
    let request = [(GPU, Amount::new(gpus)), (CPU, Amount::new(gpus * 100))];
    let contested = [GPU, CPU];
    let (queue, priority, queued_at) = (world.taker, 1, Some(0));
    let asking = Asking { queue, priority, queued_at, request: &request, contested: &contested, displaced_by: None };
    let mut times_us = vec![];
    let mut line = String::new();
    for _ in 0..21 {
        let (World { tree, shares, running, policies, .. }, usage) = (world, &mut usage);
        let mut scene = Scene { tree, shares, usage, running, policies, rules, now: 1 << 40 };
        let start = Instant::now();
        let found = search(&mut scene, &asking, &mut AnyPlace);
        times_us.push(start.elapsed().as_micros());
        line = match found {
            Ok(plan) => format!("{} victims, {:?}", plan.victims.len(), plan.work),
            Err(refusal) => format!("{:?}, {:?}", refusal.because, refusal.work),
        };
    }
    times_us.sort_unstable();
    let (least, middle) = (times_us[0], times_us[times_us.len() / 2]);
    writeln!(out, "{name}, {gpus} gpus: {least} us at least, {middle} us in the middle; {line}")
        .expect("somewhere to write");
}

fn main() {
    let mut out = std::io::stdout().lock();
    let shapes = [("one queue", 1, 1), ("flat, 1000 queues", 1, 1001), ("20 cohorts of 50 queues", 20, 50)];
    for (name, cohorts, queues) in shapes {
        let world = world(cohorts, queues);
        for (kind, fair) in [("classical", None), ("fair", Some(FairStrategies::Both))] {
            for (profile, rules) in [("kueue", PreemptionRules::kueue(fair)), ("own", PreemptionRules::own(fair))] {
                let name = format!("{name}, {kind}, {profile}");
                for gpus in [8, 1000, i64::from(WORKLOADS), i64::from(WORKLOADS) + 1] {
                    measure(&mut out, &name, &world, &rules, gpus);
                }
            }
        }
    }
}
