//! One search for victims among ten thousand workloads that run in a thousand queues, with the rules that hold here unless
//! said otherwise. The queue that asks owns everything and has nothing of it.
//!
//! An accepted search needs all ten thousand, so none is longer. A refused one takes all of them and still finds no place; by
//! fair shares there is a second one, which asks for more than its own and is refused by the shares.

use govern::{
    amount::Amount,
    preempt::{AnyPlace, Asking, FairStrategies, Part, Place, PreemptionRules, QueuePolicy, Scene, Takes, search},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    workload::{Running, Terms, Workload, WorkloadIx},
};

const WORKLOADS: u32 = 10_000;
const GPU: FlavorResource = FlavorResource(0);
const CPU: FlavorResource = FlavorResource(1);

/// A kind of search.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What it is called.
    pub name: &'static str,
    fair: Option<FairStrategies>,
    gpus: i64,
    has_place: bool,
}

/// All kinds; of those with the same name the longest counts.
pub const KINDS: [Kind; 5] = [
    Kind { name: "accepted", fair: None, gpus: 10_000, has_place: true },
    Kind { name: "refused", fair: None, gpus: 10_000, has_place: false },
    Kind { name: "fair_accepted", fair: Some(FairStrategies::Both), gpus: 10_000, has_place: true },
    Kind { name: "fair_refused", fair: Some(FairStrategies::Both), gpus: 10_000, has_place: false },
    Kind { name: "fair_refused", fair: Some(FairStrategies::Both), gpus: 10_001, has_place: true },
];

// There is none.
struct NoPlace;

impl Place for NoPlace {
    fn take(&mut self, _: WorkloadIx, _: Part) {}
    fn put_back(&mut self, _: WorkloadIx, _: Part) {}
    fn is_found(&mut self) -> bool {
        false
    }
}

/// So many cohorts with so many queues each, and what runs in them.
pub struct World {
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

impl World {
    /// A thousand queues besides the one that asks: in one cohort, or in twenty below one.
    ///
    /// # Errors
    /// When that is no tree.
    pub fn both() -> Result<[Self; 2], String> {
        Ok([Self::new(1, 1001)?, Self::new(20, 50)?])
    }

    fn new(cohorts: u32, queues: u32) -> Result<Self, String> {
        let mut specs = vec![NodeSpec::default()];
        specs.resize(1 + cohorts as usize, NodeSpec { parent: Some(0), ..NodeSpec::default() });
        for queue in 0..cohorts * queues {
            let gpus = if queue == 0 { i64::from(WORKLOADS) } else { 0 };
            let parent = Some(1 + queue / queues);
            specs.push(NodeSpec { parent, is_queue: true, quotas: quota(gpus), ..NodeSpec::default() });
        }
        let tree = Tree::build(&specs, 2).map_err(|why| why.to_string())?;
        let taker = NodeIx(1 + cohorts);
        let mut running = Running::new();
        for at in 0..WORKLOADS {
            running.add(workload(at, NodeIx(taker.0 + 1 + at % (cohorts * queues - 1))));
        }
        let policy = QueuePolicy { within_queue: Takes::LowerPriority, reclaim: Takes::Any, while_borrowing: None };
        let shares = Shares::build(&tree, &[Resource(0), Resource(1)]);
        Ok(Self { policies: vec![policy; specs.len()], tree, shares, running, taker })
    }
}

fn workload(at: u32, queue: NodeIx) -> Workload {
    let mixed = u64::from(at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    Workload {
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
    }
}

/// How long one search takes: the median of several. `clock_us` says what time it is.
///
/// # Errors
/// When the search does not end as its name says.
pub fn measure(world: &World, kind: &Kind, clock_us: &dyn Fn() -> u64) -> Result<u64, String> {
    let World { tree, shares, running, policies, taker } = world;
    let mut usage = tree.unused();
    running.iter().for_each(|(_, workload)| workload.charge(tree, &mut usage));
    let request = [(GPU, Amount::new(kind.gpus)), (CPU, Amount::new(kind.gpus * 100))];
    let (queue, priority, queued_at) = (*taker, 1, Some(0));
    let asking = Asking { queue, priority, queued_at, request: &request, contested: &[GPU, CPU], displaced_by: None };
    let rules = PreemptionRules::own(kind.fair);
    let mut times_us = vec![];
    for _ in 0..11 {
        let mut scene = Scene { tree, shares, usage: &mut usage, running, policies, rules: &rules, now: 1 << 40 };
        let place: &mut dyn Place = if kind.has_place { &mut AnyPlace } else { &mut NoPlace };
        let begun = clock_us();
        let found = search(&mut scene, &asking, place);
        times_us.push(clock_us().saturating_sub(begun));
        if found.is_ok() != kind.name.ends_with("accepted") {
            return Err(format!("a search for victims that should be {} ended otherwise", kind.name));
        }
    }
    times_us.sort_unstable();
    Ok(times_us[times_us.len() / 2])
}
