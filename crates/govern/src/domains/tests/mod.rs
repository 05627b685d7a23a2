//! What placement promises: each rule by hand on small trees, and what must always hold on generated ones.

mod always;
mod rules;
mod slices;

use super::*;

pub(super) const CPU: ResourceIx = ResourceIx(0);
pub(super) const GPU: ResourceIx = ResourceIx(1);
pub(super) const PODS: ResourceIx = ResourceIx(2);
pub(super) const BLOCK: LevelIx = LevelIx(0);
pub(super) const RACK: LevelIx = LevelIx(1);
pub(super) const HOST: LevelIx = LevelIx(2);

pub(super) fn spec() -> DomainsSpec {
    DomainsSpec {
        levels: ["block", "rack", "host"].map(str::to_owned).to_vec(),
        leaves_are_nodes: true,
        resources: 3,
        pods: Some(PODS),
        ..DomainsSpec::default()
    }
}

/// A ready node `block/rack/host` with so much CPU.
pub(super) fn node(path: &str, cpu: i64) -> Node {
    let labels = ["block", "rack", "host"].into_iter().zip(path.split('/'));
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let capacity = vec![(CPU, Amount::new(cpu)), (PODS, Amount::new(100))];
    Node { labels, ready: true, capacity, ..Node::default() }
}

pub(super) fn tree(nodes: &[(&str, i64)]) -> Domains {
    let nodes: Vec<Node> = nodes.iter().map(|(path, cpu)| node(path, *cpu)).collect();
    Domains::build(&spec(), &nodes).unwrap()
}

pub(super) fn cpu(amount: i64) -> Vec<(ResourceIx, Amount)> {
    vec![(CPU, Amount::new(amount))]
}

pub(super) fn slice(level: LevelIx, size: u32) -> Layer {
    Layer { level, size }
}

/// Hosts by name with their pods.
pub(super) fn hosts(domains: &Domains, placement: &Placement) -> String {
    let one = |(leaf, pods): &(LeafIx, u32)| format!("{}:{pods}", domains.path(*leaf).last().unwrap());
    placement.0.iter().map(one).collect::<Vec<String>>().join(" ")
}

/// Pods of one CPU.
#[derive(Debug, Clone)]
pub(super) struct Want {
    pub count: u32,
    pub spread: Spread,
    pub slices: Vec<Layer>,
    pub leader: Option<i64>,
    pub balanced: bool,
}

pub(super) fn want(count: u32, spread: Spread) -> Want {
    Want { count, spread, slices: vec![], leader: None, balanced: false }
}

impl Want {
    pub(super) fn slices(mut self, slices: &[Layer]) -> Self {
        self.slices = slices.to_vec();
        self
    }

    pub(super) fn led(mut self, cpu: i64) -> Self {
        self.leader = Some(cpu);
        self
    }

    pub(super) fn balanced(mut self) -> Self {
        self.balanced = true;
        self
    }

    pub(super) fn room(&self, domains: &Domains, load: &Load, each: i64) -> Result<Room, Refusal> {
        let (eligible, per_pod) = (domains.eligible(&Needs::default()), cpu(each));
        let leader = self.leader.map(cpu);
        let ask = Ask {
            per_pod: &per_pod,
            count: self.count,
            leader: leader.as_deref().map(|leader| (leader, &eligible)),
            spread: self.spread,
            slices: &self.slices,
            eligible: &eligible,
            within: None,
            balanced: self.balanced,
        };
        Ok(Room::new(domains, load, Plan::new(domains, &ask)?))
    }

    pub(super) fn place(&self, domains: &Domains, each: i64) -> Result<Placed, Refusal> {
        let load = domains.unused();
        self.room(domains, &load, each)?.place(domains, &load)
    }

    /// Where it goes, as hosts with pods, the leader's host behind.
    pub(super) fn at(&self, domains: &Domains) -> String {
        let placed = self.place(domains, 1).unwrap();
        let leader = placed.leader.map(|leaf| format!(" leader {}", domains.path(leaf).last().unwrap()));
        hosts(domains, &placed.pods) + &leader.unwrap_or_default()
    }

    /// How many fit, of how many.
    pub(super) fn fits(&self, domains: &Domains) -> (u64, u64, Unit) {
        match self.place(domains, 1) {
            Err(Refusal::DoesNotFit { fits, of, unit, .. }) => (fits, of, unit),
            other => panic!("{other:?}"),
        }
    }
}
