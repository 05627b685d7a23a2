//! Those who place: the engine, and the plain policies it is held against. All of them may use only the sets of an HGX
//! board, and only free ones; they differ in which they take.

use super::stream::{Dice, Wish};
use crate::made_fleet;
use engine::Inventory;
use model::{AllocationId, NodeId, sku::CapacityShape, supply::SlotState};
use topology::simulated::hgx_partitions;

/// GPUs of a node.
pub const BOARD: u32 = 8;

/// Somebody who finds places.
pub trait Packer {
    /// Finds a place and takes it. False if there is none.
    fn take(&mut self, holder: u32, wish: Wish) -> bool;
    /// Gives it back.
    fn give_back(&mut self, holder: u32);
    /// Whether a set of this size is free somewhere.
    fn has_room(&self, wish: Wish) -> bool;
}

/// The plain policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// The first node on which it fits, and there the first set.
    FirstFit,
    /// The node with the fewest free GPUs on which it fits, and there the first set.
    BestFit,
    /// Any node on which it fits, and there any set.
    Random,
}

/// Boards as bytes: a bit for every GPU that is taken.
#[derive(Debug)]
pub struct Boards {
    policy: Plain,
    taken: Vec<u8>,
    sets: [Vec<u8>; 9],
    holders: Vec<Option<(usize, u8)>>,
    dice: Dice,
}

impl Boards {
    /// So many empty nodes.
    pub fn new(policy: Plain, nodes: u32, seed: u64) -> Self {
        let mut sets: [Vec<u8>; 9] = Default::default();
        for set in hgx_partitions().sets() {
            let mask = set.iter().fold(0u8, |mask, module| mask | 1 << (module.0 - 1));
            sets[set.len()].push(mask);
        }
        Self { policy, taken: vec![0; nodes as usize], sets, holders: vec![], dice: Dice::new(!seed) }
    }

    fn sets(&self, wish: Wish) -> &[u8] {
        &self.sets[wish.gpus() as usize]
    }

    fn fits(&self, taken: u8, wish: Wish) -> bool {
        self.sets(wish).iter().any(|set| set & taken == 0)
    }

    fn fitting(&self, wish: Wish) -> impl Iterator<Item = (usize, u8)> {
        self.taken.iter().copied().enumerate().filter(move |(_, taken)| self.fits(*taken, wish))
    }

    fn free_sets(&self, at: usize, wish: Wish) -> impl Iterator<Item = u8> {
        let taken = self.taken[at];
        self.sets(wish).iter().copied().filter(move |set| set & taken == 0)
    }

    fn choose(&mut self, wish: Wish) -> Option<(usize, u8)> {
        let at = match self.policy {
            Plain::FirstFit => self.fitting(wish).next()?.0,
            Plain::BestFit => self.fitting(wish).min_by_key(|(at, taken)| (taken.count_zeros(), *at))?.0,
            Plain::Random => {
                let nodes: Vec<usize> = self.fitting(wish).map(|(at, _)| at).collect();
                *nodes.get(self.dice.index(nodes.len()))?
            }
        };
        let sets: Vec<u8> = self.free_sets(at, wish).collect();
        let which = if self.policy == Plain::Random { self.dice.index(sets.len()) } else { 0 };
        Some((at, sets[which]))
    }
}

impl Packer for Boards {
    fn take(&mut self, holder: u32, wish: Wish) -> bool {
        let Some((at, set)) = self.choose(wish) else { return false };
        self.taken[at] |= set;
        let holder = holder as usize;
        if self.holders.len() <= holder {
            self.holders.resize(holder + 1, None);
        }
        self.holders[holder] = Some((at, set));
        true
    }

    fn give_back(&mut self, holder: u32) {
        if let Some((at, set)) = self.holders[holder as usize].take() {
            self.taken[at] &= !set;
        }
    }

    fn has_room(&self, wish: Wish) -> bool {
        self.taken.iter().any(|taken| self.fits(*taken, wish))
    }
}

/// The bound: everything may be moved at every arrival. The sizes divide each other and the board, so whatever is not more
/// than there is can be packed.
#[derive(Debug)]
pub struct Repacking {
    free: u32,
    holders: Vec<u32>,
}

impl Repacking {
    /// So many empty nodes.
    pub fn new(nodes: u32) -> Self {
        Self { free: nodes * BOARD, holders: vec![] }
    }
}

impl Packer for Repacking {
    fn take(&mut self, holder: u32, wish: Wish) -> bool {
        if self.free < wish.gpus() {
            return false;
        }
        self.free -= wish.gpus();
        let holder = holder as usize;
        if self.holders.len() <= holder {
            self.holders.resize(holder + 1, 0);
        }
        self.holders[holder] = wish.gpus();
        true
    }

    fn give_back(&mut self, holder: u32) {
        self.free += std::mem::take(&mut self.holders[holder as usize]);
    }

    fn has_room(&self, wish: Wish) -> bool {
        self.free >= wish.gpus()
    }
}

/// The engine. Beside it the boards as bytes, to see whether it ever refuses what fits.
#[derive(Debug)]
pub struct Ours {
    inventory: Inventory,
    boards: Boards,
    nodes: std::collections::BTreeMap<NodeId, usize>,
    holders: Vec<Option<(NodeId, AllocationId)>>,
}

impl Ours {
    /// So many empty nodes.
    pub fn new(nodes: u32) -> Self {
        let numbers = (0..nodes).map(made_fleet::node_id).zip(0usize..).collect();
        let (inventory, boards) = (made_fleet::clean(nodes), Boards::new(Plain::FirstFit, nodes, 0));
        Self { inventory, boards, nodes: numbers, holders: vec![] }
    }
}

impl Packer for Ours {
    fn take(&mut self, holder: u32, wish: Wish) -> bool {
        let (shape, request) = match wish {
            Wish::Slice(gpus) => (CapacityShape::GpuSlice, made_fleet::slice(gpus)),
            Wish::BareMetal => (CapacityShape::Baremetal, made_fleet::bare_metal()),
        };
        let Some(spot) = self.inventory.find(&request) else { return false };
        let occupant = made_fleet::occupant(holder, spot.slot_ids);
        let allocation = occupant.allocation_id.clone();
        let modules = occupant.slot_ids.iter().fold(0u8, |mask, slot| mask | made_fleet::module_bit(slot));
        if self.inventory.claim(&spot.node_id, shape, &occupant).is_err() {
            return false;
        }
        let at = holder as usize;
        if self.holders.len() <= at {
            self.holders.resize(at + 1, None);
            self.boards.holders.resize(at + 1, None);
        }
        let node = self.nodes[&spot.node_id];
        self.boards.taken[node] |= modules;
        self.boards.holders[at] = Some((node, modules));
        self.holders[at] = Some((spot.node_id, allocation));
        true
    }

    fn give_back(&mut self, holder: u32) {
        if let Some((node, allocation)) = self.holders[holder as usize].take() {
            self.inventory.release(&node, &allocation, SlotState::Available, None);
            self.boards.give_back(holder);
        }
    }

    fn has_room(&self, wish: Wish) -> bool {
        self.boards.has_room(wish)
    }
}
