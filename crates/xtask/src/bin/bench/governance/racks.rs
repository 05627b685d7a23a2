//! Places on 640 nodes: one block, ten racks, 64 nodes of 96 CPUs in each.

use govern::{
    amount::Amount,
    cycle::{Floor, Placing, book::PendingIx},
    domains::{
        Domains, DomainsSpec, Eligible, Layer, LevelIx, Load, Needs, Node, PerPod, Placement, PodSet, ResourceIx,
        Spread, place_all,
    },
    preempt::{Part, Place},
    workload::WorkloadIx,
};
use std::collections::BTreeMap;

const CPU: ResourceIx = ResourceIx(0);
const RACK: LevelIx = LevelIx(1);
const NODES: u32 = 640;
const RACK_NODES: u32 = 64;
const NODE_MILLICPUS: i64 = 96_000;

// What one workload asks for: how near its pods are, how many, and how much each takes.
#[derive(Debug, Clone, Copy)]
struct Wish {
    kind: u32,
    pods: u32,
    each: i64,
}

/// The nodes, and who is on them.
pub struct Racks {
    domains: Domains,
    eligible: Eligible,
    load: Load,
    wishes: BTreeMap<PendingIx, Wish>,
    running: BTreeMap<WorkloadIx, (PerPod, Placement)>,
    // Found in this cycle, and not yet anybody's.
    found: BTreeMap<PendingIx, (PerPod, Placement)>,
}

impl Racks {
    /// All nodes free.
    ///
    /// # Errors
    /// When they are no tree.
    pub fn new() -> Result<Self, String> {
        let levels = ["block", "rack", "host"].map(str::to_owned).to_vec();
        let spec = DomainsSpec { levels, leaves_are_nodes: true, resources: 1, ..DomainsSpec::default() };
        let node = |at: u32| {
            let names = ["b0".to_owned(), format!("r{:02}", at / RACK_NODES), format!("h{at:03}")];
            let labels = ["block", "rack", "host"].map(str::to_owned).into_iter().zip(names).collect();
            Node { labels, ready: true, capacity: vec![(CPU, Amount::new(NODE_MILLICPUS))], ..Node::default() }
        };
        let nodes: Vec<Node> = (0..NODES).map(node).collect();
        let domains = Domains::build(&spec, &nodes).map_err(|why| why.to_string())?;
        let (eligible, load) = (domains.eligible(&Needs::default()), domains.unused());
        let (wishes, running, found) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { domains, eligible, load, wishes, running, found })
    }

    /// A workload waits that asks for this.
    pub fn expect(&mut self, pending: PendingIx, kind: u32, pods: u32, each: i64) {
        self.wishes.insert(pending, Wish { kind, pods, each });
    }

    fn find(&self, load: &mut Load, wish: Wish) -> Option<(PerPod, Placement)> {
        let per_pod = [(CPU, Amount::new(wish.each))];
        let halves = [Layer { level: RACK, size: wish.pods.div_ceil(2) }];
        let (spread, slices): (Spread, &[Layer]) = match wish.kind {
            0 => (Spread::Required(RACK), &[]),
            1 => (Spread::Preferred(RACK), &[]),
            _ => (Spread::Unconstrained, &halves),
        };
        let eligible = &self.eligible;
        let set = PodSet { per_pod: &per_pod, count: wish.pods, spread, slices, eligible, group: None };
        let placed = place_all(&self.domains, load, &[set], false).placed.into_iter().next().flatten()?;
        Some((self.domains.per_pod(&per_pod), placed))
    }

    /// Who was admitted is where its place was found.
    pub fn settle(&mut self, pending: PendingIx, workload: WorkloadIx) {
        if let Some(found) = self.found.remove(&pending) {
            self.running.insert(workload, found);
        }
    }

    /// Who runs no more has left its place.
    pub fn leave(&mut self, workload: WorkloadIx) {
        if let Some((per_pod, placement)) = self.running.remove(&workload) {
            self.load.unplace(&self.domains, &per_pod, &placement);
        }
    }

    /// What was found for those that wait on is free again.
    pub fn end_cycle(&mut self) {
        for (per_pod, placement) in std::mem::take(&mut self.found).into_values() {
            self.load.unplace(&self.domains, &per_pod, &placement);
        }
    }
}

struct Spot<'r> {
    racks: &'r Racks,
    load: Load,
    wish: Option<Wish>,
}

impl Place for Spot<'_> {
    fn take(&mut self, workload: WorkloadIx, _: Part) {
        if let Some((per_pod, placement)) = self.racks.running.get(&workload) {
            self.load.unplace(&self.racks.domains, per_pod, placement);
        }
    }
    fn put_back(&mut self, workload: WorkloadIx, _: Part) {
        if let Some((per_pod, placement)) = self.racks.running.get(&workload) {
            self.load.place(&self.racks.domains, per_pod, placement);
        }
    }
    fn is_found(&mut self) -> bool {
        let Self { racks, load, wish } = self;
        wish.is_some_and(|wish| racks.find(load, wish).is_some())
    }
}

impl Floor for Racks {
    fn place<'p>(&'p mut self, asked: &Placing<'_>) -> Box<dyn Place + 'p> {
        let (load, wish) = (self.load.clone(), self.wishes.get(&asked.pending).copied());
        Box::new(Spot { racks: self, load, wish })
    }

    fn is_possible(&mut self, asked: &Placing<'_>) -> bool {
        let wish = self.wishes.get(&asked.pending).copied();
        let mut empty = self.domains.unused();
        wish.is_some_and(|wish| self.find(&mut empty, wish).is_some())
    }

    fn occupy(&mut self, asked: &Placing<'_>, gone: &[WorkloadIx]) {
        let Some(wish) = self.wishes.get(&asked.pending).copied() else { return };
        let mut load = self.load.clone();
        let running = gone.iter().filter_map(|workload| self.running.get(workload));
        running.for_each(|(per_pod, placement)| load.unplace(&self.domains, per_pod, placement));
        if let Some((per_pod, placement)) = self.find(&mut load, wish) {
            self.load.place(&self.domains, &per_pod, &placement);
            self.found.insert(asked.pending, (per_pod, placement));
        }
    }
}
