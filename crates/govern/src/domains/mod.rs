//! Placement over a tree of named domains: a block holds racks, a rack holds hosts, a host has so much of each resource.
//!
//! ```text
//!   block b1                     level 0        a pod set asks for so many pods, so much for each,
//!   ├── rack r1                  level 1        all in one domain of a level (required), if possible so (preferred)
//!   │   ├── host x1  8 GPUs      level 2        or anywhere (unconstrained), perhaps in slices: every 4 pods in one
//!   │   └── host x2  8 GPUs                     host, every 16 in one rack
//!   └── rack r2 …
//! ```
//!
//! [`Domains`] is the tree, built once from the nodes; [`Load`] is what is used of it, a plain array beside it to which
//! placements are added and from which they are taken away again. For one kind of request a [`Room`] keeps how many pods fit
//! in every domain; it follows each change of the load in as many steps as the tree has levels, so a search may take
//! running work away and ask "does it fit now" thousands of times. Domains are numbered in the order of their names, level by
//! level, so the smaller number is the smaller name and no answer depends on the order in which nodes were read.
//!
//! Nothing here knows quotas: it says where pods would go, or how many would and why not more.

mod ask;
mod balance;
mod matching;
mod place;
mod room;
mod sets;
#[cfg(test)]
mod tests;

pub use ask::{Ask, Layer, LayerFit, LevelOf, Plan, Refusal, Spread, Unit};
pub use matching::{
    Compare, Effect, Eligible, Excluded, Needs, Requirement, Taint, Term, Tolerate, Toleration, Weighted,
};
pub use place::{Placed, Placement};
pub use room::Room;
pub use sets::{PodSet, Refused, SetsPlaced, place_all, replace};

use crate::amount::Amount;
use matching::Facts;
use std::{collections::BTreeMap, ops::Range};
use thiserror::Error;

/// At most so many levels.
pub const LEVELS_MAX: usize = 16;

/// A level of the tree; 0 is the coarsest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelIx(pub u8);

impl LevelIx {
    /// No level of any tree: what a name that no level has is resolved to.
    pub const UNKNOWN: Self = Self(u8::MAX);
}

/// A domain: all of level 0 by name, then all of level 1, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainIx(pub u32);

/// A domain of the finest level, as its place among those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeafIx(pub u32);

/// A resource, as its place in a list that the caller keeps. Where two are equally short the first one is named, so a list
/// in the order of the names gives the same answer everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceIx(pub u32);

/// One node, as it is described.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// Labels; those of the levels say where in the tree it is.
    pub labels: BTreeMap<String, String>,
    /// Ready, and open for new work.
    pub ready: bool,
    /// What keeps pods away from it.
    pub taints: Vec<Taint>,
    /// What it can give to pods.
    pub capacity: Vec<(ResourceIx, Amount)>,
    /// What pods take from it that are not placed here.
    pub others: Vec<(ResourceIx, Amount)>,
}

/// The levels and what else is common to all nodes of one flavor.
#[derive(Debug, Clone, Default)]
pub struct DomainsSpec {
    /// Label keys, coarsest first.
    pub levels: Vec<String>,
    /// The finest level is one node each: taints and labels of nodes count. Else a leaf is the sum of its nodes.
    pub leaves_are_nodes: bool,
    /// Only nodes with these labels belong to it.
    pub node_labels: Vec<(String, String)>,
    /// What every pod of the flavor tolerates.
    pub tolerations: Vec<Toleration>,
    /// How many resources are counted.
    pub resources: u32,
    /// The resource of which every pod takes one.
    pub pods: Option<ResourceIx>,
}

/// Why nodes make no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DomainsFault {
    /// There must be at least one level, and at most [`LEVELS_MAX`].
    #[error("{levels} levels, but a tree has 1 to {LEVELS_MAX}")]
    Levels {
        /// So many there are.
        levels: usize,
    },
    /// An amount of something that is not counted.
    #[error("node {node} has an amount of something that is not counted")]
    NoSuchResource {
        /// Its place in the list.
        node: usize,
    },
    /// More domains than can be numbered.
    #[error("more domains than can be numbered")]
    TooMany,
}

/// The tree, and what its leaves have.
#[derive(Debug, Clone)]
pub struct Domains {
    levels: Vec<String>,
    // The domains of level l are starts[l]..starts[l + 1].
    starts: Vec<u32>,
    parents: Vec<u32>,
    kids: Vec<Range<u32>>,
    names: Vec<String>,
    // Leaf by leaf, `width` of each.
    width: usize,
    capacity: Vec<i64>,
    pods: Option<ResourceIx>,
    // By leaf; empty where leaves are sums of nodes.
    facts: Vec<Vec<Facts>>,
    tolerations: Vec<Toleration>,
}

/// What one pod takes: the resources it names, each above zero, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerPod(Vec<(u32, i64)>);

/// What is used of every leaf, and so what is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    width: usize,
    // Wide enough for any number of pods of any size: taking away gives back exactly what was.
    used: Vec<i128>,
    free: Vec<i64>,
}

impl Domains {
    /// Builds the tree from those nodes that are ready, have the labels of the flavor and one of every level.
    ///
    /// # Errors
    /// When there is no level or too many, or an amount of something that is not counted.
    pub fn build(spec: &DomainsSpec, nodes: &[Node]) -> Result<Self, DomainsFault> {
        let levels = spec.levels.len();
        if !(1..=LEVELS_MAX).contains(&levels) {
            return Err(DomainsFault::Levels { levels });
        }
        let mut leaves: BTreeMap<Vec<&str>, Vec<(usize, &Node)>> = BTreeMap::new();
        for (at, node) in nodes.iter().enumerate() {
            let fits = spec.node_labels.iter().all(|(key, value)| node.labels.get(key) == Some(value));
            let path: Option<Vec<&str>> =
                spec.levels.iter().map(|key| node.labels.get(key).map(String::as_str)).collect();
            if let Some(path) = path.filter(|_| node.ready && fits) {
                leaves.entry(path).or_default().push((at, node));
            }
        }
        let paths: Vec<&[&str]> = leaves.keys().map(Vec::as_slice).collect();
        let mut domains = Self::shape(&spec.levels, &paths)?;
        domains.width = spec.resources as usize;
        domains.pods = spec.pods;
        domains.tolerations.clone_from(&spec.tolerations);
        for nodes in leaves.values() {
            domains.leaf_push(nodes, spec.leaves_are_nodes)?;
        }
        Ok(domains)
    }

    // Paths come sorted, so the domains of a level come sorted and the kids of one stand side by side.
    fn shape(levels: &[String], paths: &[&[&str]]) -> Result<Self, DomainsFault> {
        let number = |count: usize| u32::try_from(count).map_err(|_| DomainsFault::TooMany);
        let (mut starts, mut names, mut parents, mut kids) = (vec![0], vec![], vec![], Vec::<Range<u32>>::new());
        let mut above: Vec<u32> = vec![u32::MAX; paths.len()];
        for level in 0..levels.len() {
            let mut last: Option<&[&str]> = None;
            for (path, above) in paths.iter().zip(&mut above) {
                let own = &path[..=level];
                if last != Some(own) {
                    let new = number(names.len())?;
                    names.push(own[level].to_owned());
                    parents.push(*above);
                    kids.push(0..0);
                    if let Some(range) = kids.get_mut(*above as usize) {
                        let start = if range.end == 0 { new } else { range.start };
                        *range = start..new + 1;
                    }
                    last = Some(own);
                }
                *above = number(names.len() - 1)?;
            }
            starts.push(number(names.len())?);
        }
        let (levels, tolerations, facts, capacity) = (levels.to_vec(), vec![], vec![], vec![]);
        Ok(Self { levels, starts, parents, kids, names, width: 0, capacity, pods: None, facts, tolerations })
    }

    fn leaf_push(&mut self, nodes: &[(usize, &Node)], is_node: bool) -> Result<(), DomainsFault> {
        let (width, mut sums) = (self.width, vec![Amount::ZERO; self.width]);
        for (at, node) in nodes {
            let mut slot = |what: &ResourceIx, change: &dyn Fn(Amount) -> Amount| match sums.get_mut(what.0 as usize) {
                Some(sum) => {
                    *sum = change(*sum);
                    Ok(())
                }
                None => Err(DomainsFault::NoSuchResource { node: *at }),
            };
            for (what, amount) in &node.capacity {
                slot(what, &|sum| sum.plus(*amount))?;
            }
            for (what, amount) in &node.others {
                slot(what, &|sum| sum.minus(*amount))?;
            }
        }
        debug_assert_eq!(sums.len(), width, "one sum a resource");
        self.capacity.extend(sums.into_iter().map(Amount::units));
        let facts = nodes.iter().filter(|_| is_node).map(|(_, node)| Facts::new(node));
        self.facts.push(facts.collect());
        Ok(())
    }

    /// The keys of the levels, coarsest first.
    #[must_use]
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// The level with this key, or [`LevelIx::UNKNOWN`].
    #[must_use]
    pub fn level(&self, key: &str) -> LevelIx {
        let at = self.levels.iter().position(|level| level == key);
        at.and_then(|at| u8::try_from(at).ok()).map_or(LevelIx::UNKNOWN, LevelIx)
    }

    /// How many leaves there are.
    #[must_use]
    pub fn leaf_count(&self) -> u32 {
        self.leaves().len().try_into().unwrap_or(u32::MAX)
    }

    /// All leaves, in the order of their names.
    pub fn leaf_indexes(&self) -> impl Iterator<Item = LeafIx> + use<> {
        (0..self.leaf_count()).map(LeafIx)
    }

    /// The names from the coarsest level down to this leaf.
    #[must_use]
    pub fn path(&self, leaf: LeafIx) -> Vec<&str> {
        let up = std::iter::successors(Some(self.domain(leaf)), |domain| self.parent(*domain));
        let mut path: Vec<&str> = up.map(|domain| self.names[domain as usize].as_str()).collect();
        path.reverse();
        path
    }

    /// The domain of a level in which a leaf is.
    #[must_use]
    pub fn domain_of(&self, leaf: LeafIx, level: LevelIx) -> Option<DomainIx> {
        let ups = self.last().checked_sub(usize::from(level.0))?;
        (0..ups).try_fold(self.domain(leaf), |domain, _| self.parent(domain)).map(DomainIx)
    }

    /// What a leaf can give to the pods that are placed here.
    #[must_use]
    pub fn capacity(&self, leaf: LeafIx, what: ResourceIx) -> Amount {
        Amount::new(self.capacity[leaf.0 as usize * self.width + what.0 as usize])
    }

    /// What one pod takes, with the one that it counts as. What is below zero counts as nothing, what is not counted is left
    /// out and reported by [`Plan::new`].
    #[must_use]
    pub fn per_pod(&self, requests: &[(ResourceIx, Amount)]) -> PerPod {
        let mut sums: BTreeMap<u32, Amount> = BTreeMap::new();
        let one = self.pods.map(|what| (what, Amount::new(1)));
        for (what, amount) in requests.iter().copied().chain(one) {
            let sum = sums.entry(what.0).or_default();
            *sum = sum.plus(amount.or_zero());
        }
        let known = sums.into_iter().filter(|(what, sum)| (*what as usize) < self.width && *sum > Amount::ZERO);
        PerPod(known.map(|(what, sum)| (what, sum.units())).collect())
    }

    /// Nothing used.
    #[must_use]
    pub fn unused(&self) -> Load {
        Load { width: self.width, used: vec![0; self.capacity.len()], free: self.capacity.clone() }
    }

    fn last(&self) -> usize {
        self.levels.len() - 1
    }

    fn range(&self, level: usize) -> Range<u32> {
        self.starts[level]..self.starts[level + 1]
    }

    fn leaves(&self) -> Range<u32> {
        self.range(self.last())
    }

    fn domain(&self, leaf: LeafIx) -> u32 {
        self.leaves().start + leaf.0
    }

    fn parent(&self, domain: u32) -> Option<u32> {
        self.parents.get(domain as usize).copied().filter(|parent| *parent != u32::MAX)
    }

    fn kids(&self, domain: u32) -> Range<u32> {
        self.kids[domain as usize].clone()
    }
}

impl Load {
    /// What is free of a leaf; below zero where more is used than there is.
    #[must_use]
    pub fn free(&self, leaf: LeafIx, what: ResourceIx) -> Amount {
        Amount::new(self.free[leaf.0 as usize * self.width + what.0 as usize])
    }

    /// So many pods more on a leaf.
    pub fn add(&mut self, domains: &Domains, per_pod: &PerPod, leaf: LeafIx, pods: u32) {
        self.change(domains, per_pod, leaf, i128::from(pods));
    }

    /// So many pods fewer on a leaf. Undoes [`Load::add`] exactly.
    pub fn remove(&mut self, domains: &Domains, per_pod: &PerPod, leaf: LeafIx, pods: u32) {
        self.change(domains, per_pod, leaf, -i128::from(pods));
    }

    /// All pods of a placement more.
    pub fn place(&mut self, domains: &Domains, per_pod: &PerPod, placement: &Placement) {
        placement.0.iter().for_each(|(leaf, pods)| self.add(domains, per_pod, *leaf, *pods));
    }

    /// All pods of a placement fewer. Undoes [`Load::place`] exactly.
    pub fn unplace(&mut self, domains: &Domains, per_pod: &PerPod, placement: &Placement) {
        placement.0.iter().for_each(|(leaf, pods)| self.remove(domains, per_pod, *leaf, *pods));
    }

    /// Whether every leaf of a placement has room for its pods now. To be asked again before it is committed.
    #[must_use]
    pub fn has_room(&self, per_pod: &PerPod, placement: &Placement) -> bool {
        let room = |(leaf, pods): &(LeafIx, u32)| {
            let free = self.of(leaf.0 as usize);
            per_pod.0.iter().all(|(what, each)| free[*what as usize] / each >= i64::from(*pods))
        };
        placement.0.iter().all(room)
    }

    fn change(&mut self, domains: &Domains, per_pod: &PerPod, leaf: LeafIx, pods: i128) {
        for (what, each) in &per_pod.0 {
            let at = leaf.0 as usize * self.width + *what as usize;
            self.used[at] += i128::from(*each) * pods;
            let has = domains.capacity[at];
            let left = i128::from(has) - self.used[at];
            let edge = if left < 0 { i64::MIN } else { i64::MAX };
            self.free[at] = if has == i64::MAX { has } else { i64::try_from(left).unwrap_or(edge) };
        }
    }

    fn of(&self, leaf: usize) -> &[i64] {
        &self.free[leaf * self.width..(leaf + 1) * self.width]
    }
}
