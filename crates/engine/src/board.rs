//! A board as bits: every GPU has a place in a 64-bit word, a set of GPUs is a word, and "does it fit" is one operation.
//!
//! Boards that are cut alike and wired alike are one board here. What the wiring costs a set is worked out once, when the
//! board is first seen.

use crate::fleet::NodeView;
use std::collections::{BTreeMap, BTreeSet};
use topology::ModuleId;

/// What two boards must share to be the same one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BoardKey {
    modules: Vec<ModuleId>,
    sets: Vec<u64>,
    wiring: Vec<Wiring>,
}

/// Where one GPU hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Wiring {
    numa: Option<u32>,
    pcie_switch: Option<u32>,
    rail: Option<u32>,
}

/// What a set's GPUs have between them: how many borders they straddle beyond the least possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Straddle {
    /// Memory nodes beyond the first.
    pub(crate) numa: u32,
    /// PCIe switches beyond the first.
    pub(crate) switches: u32,
    /// GPUs that share a rail with another of the set.
    pub(crate) rails: u32,
}

/// One set that can be isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BoardSet {
    pub(crate) mask: u64,
    pub(crate) size: u32,
    /// Its position in the node's table; none for the whole board where the table does not list it.
    pub(crate) partition: Option<u32>,
    pub(crate) straddle: Straddle,
}

/// One kind of board.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    /// The GPUs by bit.
    modules: Vec<ModuleId>,
    /// What can be sold as a slice, ordered by the GPUs in it.
    pub(crate) sets: Vec<BoardSet>,
    /// All of it; none for a board that was not read yet.
    pub(crate) whole: Option<BoardSet>,
    /// The sizes of the sets, smallest first.
    pub(crate) sizes: BTreeSet<u32>,
}

impl BoardKey {
    pub(crate) fn of(node: &NodeView) -> Self {
        let Some(partitions) = &node.partitions else {
            return Self { modules: vec![], sets: vec![], wiring: vec![] };
        };
        let modules: Vec<ModuleId> = partitions.board().iter().copied().collect();
        let mask = |set: &BTreeSet<ModuleId>| set.iter().filter_map(|m| bit_of(&modules, *m)).map(bit).sum();
        let sets = partitions.sets().iter().map(mask).collect();
        let mut wiring: BTreeMap<ModuleId, Wiring> = BTreeMap::new();
        for slot in &node.slots {
            let Some(module) = slot.module_id else { continue };
            let here = Wiring { numa: slot.numa, pcie_switch: slot.pcie_switch, rail: slot.rail };
            // Two rows for one GPU are never sold; which of them counts here must only not depend on their order.
            wiring.entry(module).and_modify(|known| *known = here.min(*known)).or_insert(here);
        }
        let wiring = modules.iter().map(|module| wiring.get(module).copied().unwrap_or_default()).collect();
        Self { modules, sets, wiring }
    }
}

impl Board {
    pub(crate) fn new(key: &BoardKey) -> Self {
        let set = |mask: u64, partition: Option<u32>| {
            let straddle = key.straddle(mask);
            BoardSet { mask, size: mask.count_ones(), partition, straddle }
        };
        let mut sets: Vec<BoardSet> = key.sets.iter().zip(0u32..).map(|(mask, at)| set(*mask, Some(at))).collect();
        let all = (0u32..).zip(&key.modules).map(|(at, _)| bit(at)).sum::<u64>();
        let listed = sets.iter().find(|set| set.mask == all).copied();
        let whole = (all != 0).then(|| listed.unwrap_or_else(|| set(all, None)));
        let board = Self { modules: key.modules.clone(), sets: vec![], whole, sizes: BTreeSet::new() };
        sets.sort_by_cached_key(|set| board.modules_in(set.mask));
        Self { sizes: sets.iter().map(|set| set.size).collect(), sets, ..board }
    }

    /// The place of a GPU.
    pub(crate) fn bit_of(&self, module: ModuleId) -> Option<u32> {
        bit_of(&self.modules, module)
    }

    /// How many GPUs it has.
    pub(crate) fn len(&self) -> u32 {
        count(self.modules.len())
    }

    /// The GPUs of a set.
    pub(crate) fn modules_in(&self, mask: u64) -> Vec<ModuleId> {
        self.modules.iter().zip(0u32..).filter(|(_, at)| mask & bit(*at) != 0).map(|(module, _)| *module).collect()
    }

    /// The sets that can be isolated, and the board as a whole.
    pub(crate) fn sets_and_whole(&self) -> impl Iterator<Item = &BoardSet> {
        self.sets.iter().chain(self.whole.iter().filter(|whole| whole.partition.is_none()))
    }
}

impl BoardKey {
    fn straddle(&self, mask: u64) -> Straddle {
        let (mut numa, mut switches, mut rails) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut on_rails = 0;
        for (wiring, _) in self.wiring.iter().zip(0u32..).filter(|(_, at)| mask & bit(*at) != 0) {
            numa.insert(wiring.numa);
            switches.insert(wiring.pcie_switch);
            on_rails += usize::from(wiring.rail.is_some());
            rails.extend(wiring.rail);
        }
        Straddle {
            numa: count(numa.len()).saturating_sub(1),
            switches: count(switches.len()).saturating_sub(1),
            rails: count(on_rails - rails.len()),
        }
    }
}

/// The word with only this bit.
pub(crate) fn bit(at: u32) -> u64 {
    1u64.checked_shl(at).unwrap_or(0)
}

/// Every bit of a word, lowest first.
pub(crate) fn bits(mask: u64) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(mask), |left| Some(left & left.wrapping_sub(1)))
        .take_while(|left| *left != 0)
        .map(u64::trailing_zeros)
}

fn bit_of(modules: &[ModuleId], module: ModuleId) -> Option<u32> {
    modules.binary_search(&module).ok().map(count)
}

pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
