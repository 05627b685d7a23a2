//! The inventory: the fleet as placement keeps it in memory, changed node by node and asked many times between changes.
//!
//! Nodes that no request can tell apart are of one *kind*. A request is answered by the first node of the best kind, and
//! a refusal by counting kinds, so an answer costs about the same for a hundred nodes and a hundred thousand. The answer
//! depends on what the nodes are, never on the order in which they were told or on what happened before.

mod domain;
mod kind;
mod node;
mod numbers;
mod search;
mod tally;

use crate::{
    availability::Availability,
    board::{Board, BoardKey, count},
    fleet::{Fleet, NodeView, Occupant},
    policy::Policy,
};
use domain::{Domain, Member};
use kind::Change;
use model::{
    AllocationId, NodeId, PoolId, ProjectId, RegionId, SlotId, Timestamp,
    sku::CapacityShape,
    supply::{GpuModel, OccupancyMode, SlotState},
};
use node::{Holder, Key, Node, key_of, occupancy_for};
use numbers::Numbers;
use std::collections::{BTreeMap, BTreeSet};

pub use search::Spot;

/// The fleet, ready to be asked.
#[derive(Debug, Clone)]
pub struct Inventory {
    policy: Policy,
    policy_id: String,
    boards: Vec<Board>,
    board_numbers: BTreeMap<BoardKey, usize>,
    domains: Vec<Domain>,
    domain_numbers: BTreeMap<(Key, GpuModel), usize>,
    regions: BTreeMap<Key, RegionId>,
    pools: BTreeMap<Key, PoolId>,
    nodes: Vec<Option<Node>>,
    node_numbers: Numbers,
    unused: Vec<usize>,
    groups: Groups,
}

/// Why slots cannot be claimed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unclaimable {
    /// There is no such node.
    #[error("the node is not in the inventory")]
    NoSuchNode,
    /// What is on the node rules this shape out.
    #[error("the node is held in another way")]
    Held,
    /// A slot is not free.
    #[error("slot {0} is not free")]
    NotFree(SlotId),
}

/// A node as it was at some moment.
#[derive(Debug, Clone)]
pub struct Kept {
    at: usize,
    node: Node,
}

impl Inventory {
    /// The inventory of a fleet. A node that is told twice counts as told last.
    pub fn new(fleet: &Fleet, policy: Policy) -> Self {
        let mut inventory = Self {
            policy_id: policy.id(),
            policy,
            boards: vec![],
            board_numbers: BTreeMap::new(),
            domains: vec![],
            domain_numbers: BTreeMap::new(),
            regions: BTreeMap::new(),
            pools: BTreeMap::new(),
            nodes: vec![],
            node_numbers: Numbers::default(),
            unused: vec![],
            groups: BTreeMap::new(),
        };
        for node in &fleet.nodes {
            inventory.put(node);
        }
        inventory
    }

    /// The policy it ranks by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The name of that policy.
    pub fn policy_id(&self) -> &str {
        &self.policy_id
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.node_numbers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a node in, in place of what was known of it.
    pub fn put(&mut self, view: &NodeView) {
        self.remove(&view.id);
        let board = self.board_number(view);
        let domain = self.domain_number(view);
        let node = Node::new(view, domain, board, &self.boards[board]);
        self.pools.entry(node.pool).or_insert_with(|| view.pool_id.clone());
        let at = self.unused.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            self.nodes.len() - 1
        });
        self.node_numbers.insert(node.key, at);
        for holder in &node.holders {
            enter_group(&mut self.groups, holder, at);
        }
        self.nodes[at] = Some(node);
        self.join(at, None);
    }

    /// Forgets a node. False if it was not known.
    pub fn remove(&mut self, id: &NodeId) -> bool {
        let (key, nodes) = (key_of(id.as_str()), &self.nodes);
        let Some(at) = self.node_numbers.remove(key, |at| is_node(nodes, at, key)) else { return false };
        self.leave(at);
        self.unused.push(at);
        let Some(node) = self.nodes[at].take() else { return false };
        for holder in &node.holders {
            leave_group(&mut self.groups, holder, at);
        }
        true
    }

    /// Takes over that an allocation got slots, so that the next answer does not offer them again: each begins a new use.
    pub fn claim(&mut self, id: &NodeId, shape: CapacityShape, occupant: &Occupant) -> Result<(), Unclaimable> {
        let (at, node) = self.node(id).ok_or(Unclaimable::NoSuchNode)?;
        let compatible = match shape {
            CapacityShape::Baremetal => node.occupancy == OccupancyMode::Free,
            CapacityShape::GpuSlice => node.occupancy != OccupancyMode::Exclusive,
        };
        if !compatible {
            return Err(Unclaimable::Held);
        }
        let places = node.free_places(&occupant.slot_ids).map_err(|taken| Unclaimable::NotFree(taken.clone()))?;
        let change = node.sale(occupant, shape, &places);
        let from = self.leave(at);
        if let Some(node) = &mut self.nodes[at] {
            node.sell(occupant, places);
            node.occupancy = occupancy_for(shape);
            if let Some(holder) = node.holders.last() {
                enter_group(&mut self.groups, holder, at);
            }
        }
        self.join(at, from.zip(change));
        Ok(())
    }

    /// Takes over that an allocation is gone and that its slots are in this state since then. False if it was not there.
    pub fn release(
        &mut self,
        id: &NodeId,
        allocation: &AllocationId,
        into: SlotState,
        since: Option<Timestamp>,
    ) -> bool {
        let Some((at, node)) = self.node(id) else { return false };
        let key = key_of(allocation.as_str());
        let Some(place) = node.holders.iter().position(|holder| holder.allocation == key) else { return false };
        let change = node.return_of(place, into);
        let from = self.leave(at);
        if let Some(node) = &mut self.nodes[at] {
            let gone = node.leave(place, into, since);
            if node.holders.is_empty() {
                node.occupancy = OccupancyMode::Free;
            }
            if node.holders.iter().all(|holder| holder.group != gone.group) {
                leave_group(&mut self.groups, &gone, at);
            }
        }
        self.join(at, from.zip(change));
        true
    }

    /// Takes over that slots of a node are in another state. False if the node is not known.
    pub fn turn(&mut self, id: &NodeId, slots: &[SlotId], into: SlotState, since: Option<Timestamp>) -> bool {
        let Some((at, _)) = self.node(id) else { return false };
        self.leave(at);
        if let Some(node) = &mut self.nodes[at] {
            for id in slots {
                if let Some(place) = node.place_of(id) {
                    node.turn(place, into, since);
                }
            }
        }
        self.join(at, None);
        true
    }

    /// Those of these slots of a node that are free.
    pub fn free_of(&self, id: &NodeId, slots: &[SlotId]) -> Vec<SlotId> {
        let Some((_, node)) = self.node(id) else { return vec![] };
        let is_free = |slot: &&SlotId| node.place_of(slot).is_some_and(|place| node.is_available(place));
        slots.iter().filter(is_free).cloned().collect()
    }

    /// A node as it is now, to be put back after trying something on it; none if it is not known.
    pub fn keep(&self, id: &NodeId) -> Option<Kept> {
        self.node(id).map(|(at, node)| Kept { at, node: node.clone() })
    }

    /// Puts a node back as it was kept, whatever was tried on it since.
    pub fn put_back(&mut self, kept: Kept) {
        let Kept { at, node } = kept;
        let unmoved = self.nodes.get(at).and_then(Option::as_ref).is_some_and(|now| now.key == node.key);
        if !unmoved {
            return;
        }
        self.leave(at);
        if let Some(tried) = &self.nodes[at] {
            for holder in &tried.holders {
                leave_group(&mut self.groups, holder, at);
            }
        }
        for holder in &node.holders {
            enter_group(&mut self.groups, holder, at);
        }
        self.nodes[at] = Some(node);
        self.join(at, None);
    }

    /// What can be had of each model in each pool. What is not listed has no node.
    pub fn availability(&self) -> BTreeMap<(RegionId, GpuModel, PoolId), Availability> {
        let mut all: BTreeMap<(RegionId, GpuModel, PoolId), Availability> = BTreeMap::new();
        for ((region, model), at) in &self.domain_numbers {
            let Some(region) = self.regions.get(region) else { continue };
            for class in self.domains[*at].live() {
                let Some(pool) = self.pools.get(&class.kind.pool) else { continue };
                let (board, nodes) = (&self.boards[class.kind.board], class.nodes);
                let here = all.entry((region.clone(), *model, pool.clone())).or_default();
                if class.kind.takes_new_work(CapacityShape::GpuSlice) {
                    let gpus = class.kind.reachable(board).count_ones();
                    let largest = class.kind.free_sets(board).map(|set| set.size).max().unwrap_or(0);
                    here.slice_gpus = here.slice_gpus.saturating_add(gpus.saturating_mul(nodes));
                    here.largest_slice = here.largest_slice.max(largest);
                }
                here.whole_nodes += if class.wholly_free { nodes } else { 0 };
            }
        }
        all
    }

    fn node(&self, id: &NodeId) -> Option<(usize, &Node)> {
        let key = key_of(id.as_str());
        let at = self.node_numbers.get(key, |at| is_node(&self.nodes, at, key))?;
        self.nodes[at].as_ref().map(|node| (at, node))
    }

    fn board_number(&mut self, view: &NodeView) -> usize {
        let key = BoardKey::of(view);
        if let Some(at) = self.board_numbers.get(&key) {
            return *at;
        }
        self.boards.push(Board::new(&key));
        self.board_numbers.insert(key, self.boards.len() - 1);
        self.boards.len() - 1
    }

    fn domain_number(&mut self, view: &NodeView) -> usize {
        let region = key_of(view.region_id.as_str());
        self.regions.entry(region).or_insert_with(|| view.region_id.clone());
        *self.domain_numbers.entry((region, view.gpu_model)).or_insert_with(|| {
            self.domains.push(Domain::default());
            self.domains.len() - 1
        })
    }

    // Puts a node among its kind. What a change made of a kind is worked out once.
    fn join(&mut self, at: usize, by: Option<(Left, Change)>) {
        let Some(node) = &mut self.nodes[at] else { return };
        let domain = &mut self.domains[node.domain as usize];
        for since in node.waiting() {
            *domain.blocked.entry((node.pool, since)).or_default() += 1;
        }
        let known = by.and_then(|(left, change)| domain.after(left.class, &change).filter(|_| left.is_alive(domain)));
        debug_assert!(
            known.is_none_or(|class| domain.class(class).kind == node.kind()),
            "a change was remembered wrong"
        );
        let class = known.unwrap_or_else(|| domain.number(node.kind(), &self.boards, &self.policy.weights));
        node.class = count(class);
        if let (Some((left, change)), None) = (by, known) {
            domain.remember(left.class, left.life, change, class);
        }
        let member = Member { wear: node.wear, key: node.key, at: count(at) };
        domain.join(class, member, node.sole_tenant());
    }

    // Takes a node from among its kind, to be changed, and tells which that was.
    fn leave(&mut self, at: usize) -> Option<Left> {
        let node = self.nodes[at].as_ref()?;
        let member = Member { wear: node.wear, key: node.key, at: count(at) };
        let domain = &mut self.domains[node.domain as usize];
        for since in node.waiting() {
            let key = (node.pool, since);
            if let Some(slots) = domain.blocked.get_mut(&key) {
                *slots -= 1;
                if *slots == 0 {
                    domain.blocked.remove(&key);
                }
            }
        }
        let class = node.class as usize;
        let left = Left { class, life: domain.life(class) };
        domain.leave(class, member, node.sole_tenant());
        Some(left)
    }
}

/// The kind that a node was of before it changed.
#[derive(Debug, Clone, Copy)]
struct Left {
    class: usize,
    life: u32,
}

impl Left {
    // Whether that kind is still known: the node may have been its last.
    fn is_alive(self, domain: &Domain) -> bool {
        domain.life(self.class) == self.life
    }
}

fn is_node(nodes: &[Option<Node>], at: usize, key: Key) -> bool {
    nodes.get(at).and_then(Option::as_ref).is_some_and(|node| node.key == key)
}

type Groups = BTreeMap<ProjectId, BTreeMap<String, BTreeSet<usize>>>;

fn enter_group(groups: &mut Groups, holder: &Holder, at: usize) {
    if let Some((project, group)) = holder.group.as_deref() {
        groups.entry(project.clone()).or_default().entry(group.clone()).or_default().insert(at);
    }
}

fn leave_group(groups: &mut Groups, holder: &Holder, at: usize) {
    let Some((project, group)) = holder.group.as_deref() else { return };
    let Some(of_project) = groups.get_mut(project) else { return };
    let Some(nodes) = of_project.get_mut(group) else { return };
    nodes.remove(&at);
    if nodes.is_empty() {
        of_project.remove(group);
        if of_project.is_empty() {
            groups.remove(project);
        }
    }
}
