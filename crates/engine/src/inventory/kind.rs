//! Kinds of nodes. Nodes that a request cannot tell apart, except by their age and name, are of one kind; a fleet of any
//! size has some hundreds of kinds. What a kind offers to a request of some shape and size is worked out once.

use super::node::Key;
use crate::{
    board::{Board, BoardSet, bits},
    place::Reason,
    policy::{Score, Weights},
};
use model::{
    sku::CapacityShape,
    supply::{NodeDesired, NodeState, OccupancyMode},
};

use std::hash::{Hash, Hasher};

/// Whether a slot can be sold, and why not. Each slot has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SlotStatus {
    Free,
    Claimed,
    Wiping,
    CleanupBlocked,
    Drifted,
    Incomplete,
    Disabled,
}

impl SlotStatus {
    pub(crate) const ALL: [Self; 7] = [
        Self::Free,
        Self::Claimed,
        Self::Wiping,
        Self::CleanupBlocked,
        Self::Drifted,
        Self::Incomplete,
        Self::Disabled,
    ];

    /// Its place in a table.
    pub(crate) fn at(self) -> usize {
        self as usize
    }
}

/// Who is on a node, as far as sharing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tenancy {
    /// Nobody.
    Vacant,
    /// Somebody, and everybody tolerates others.
    Open,
    /// Somebody who does not.
    Closed,
}

/// Everything about a node that a verdict can depend on, except its age and its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) masks: [u64; SlotStatus::ALL.len()],
    pub(crate) holders: Vec<u64>,
    pub(crate) occupancy: OccupancyMode,
    pub(crate) tenancy: Tenancy,
    pub(crate) pool: Key,
    pub(crate) board: usize,
    pub(crate) slices_enabled: bool,
    pub(crate) promoted: bool,
    pub(crate) state: NodeState,
    pub(crate) desired: NodeDesired,
    pub(crate) tallies: [u16; SlotStatus::ALL.len()],
}

// Multiply and rotate: quick, and the same on every machine that reads words alike. Kinds that share a digest are compared.
struct Digest(u64);

impl Digest {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, number: u8) {
        self.add(u64::from(number));
    }
    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }
}

/// What an allocation that comes or goes makes of a kind, where that follows from the kind alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    /// The GPUs that it took or gave back.
    pub(crate) mask: u64,
    pub(crate) taken: bool,
    /// How the node is held afterwards.
    pub(crate) occupancy: OccupancyMode,
    pub(crate) tenancy: Tenancy,
}

/// A shape and a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wanted {
    pub(crate) shape: CapacityShape,
    pub(crate) size: u32,
}

/// What a kind answers to a shape and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It fits.
    Offer(Offer),
    /// It does not.
    Passed {
        reason: Reason,
        /// It would fit if this one reason fell.
        one_step: bool,
        /// GPUs that would have to be given back, where that alone would help.
        release: Option<u32>,
    },
}

/// The best sets of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// What speaks against the best.
    pub(crate) score: Score,
    /// The sets that share that score, ordered by the GPUs in them.
    pub(crate) best: Vec<BoardSet>,
    /// How many sets would do.
    pub(crate) sets: u32,
}

impl Kind {
    /// A number that equal kinds share.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Digest(0);
        self.hash(&mut digest);
        digest.finish()
    }

    pub(crate) fn mask(&self, status: SlotStatus) -> u64 {
        self.masks[status.at()]
    }

    pub(crate) fn tally(&self, status: SlotStatus) -> u32 {
        u32::from(self.tallies[status.at()])
    }

    fn slots(&self) -> u32 {
        self.tallies.iter().copied().map(u32::from).sum()
    }

    /// Whether anything new of this shape may be put on it, as far as the node itself goes.
    pub(crate) fn takes_new_work(&self, shape: CapacityShape) -> bool {
        self.gate(shape).is_none_or(|reason| reason == Reason::HeldBySlices)
    }

    /// Whether it can be had whole: nobody is on it, and every slot of its board can be sold.
    pub(crate) fn is_wholly_free(&self, board: &Board) -> bool {
        self.occupancy == OccupancyMode::Free && self.whole_with(board, None)
    }

    /// The GPUs that belong to some free set.
    pub(crate) fn reachable(&self, board: &Board) -> u64 {
        self.free_sets(board).fold(0, |mask, set| mask | set.mask)
    }

    pub(crate) fn free_sets<'a>(&'a self, board: &'a Board) -> impl Iterator<Item = &'a BoardSet> {
        let free = self.mask(SlotStatus::Free);
        board.sets.iter().filter(move |set| set.mask & !free == 0)
    }

    // What the node itself says, whatever the size.
    fn gate(&self, shape: CapacityShape) -> Option<Reason> {
        let whole = shape == CapacityShape::Baremetal;
        if !whole && !self.slices_enabled {
            Some(Reason::SlicesDisabled)
        } else if self.desired == NodeDesired::Disabled {
            Some(Reason::OutOfUse)
        } else if self.desired == NodeDesired::Drained {
            Some(Reason::Draining)
        } else if !whole && !self.promoted {
            Some(Reason::NotPromoted)
        } else if self.state != NodeState::Online {
            Some(Reason::NotOnline)
        } else if self.occupancy == OccupancyMode::Exclusive {
            Some(Reason::HeldAsBareMetal)
        } else if whole && self.occupancy == OccupancyMode::Sliced {
            Some(Reason::HeldBySlices)
        } else {
            None
        }
    }

    // Whether every slot is free, or would be if those of one status were.
    fn whole_with(&self, board: &Board, status: Option<SlotStatus>) -> bool {
        let (mask, tally) = status.map_or((0, 0), |status| (self.mask(status), self.tally(status)));
        let all = self.tally(SlotStatus::Free) + tally;
        board.whole.is_some_and(|whole| self.mask(SlotStatus::Free) | mask == whole.mask)
            && all == board.len()
            && self.slots() == all
    }

    // The same for a set of this size.
    fn fits_with(&self, board: &Board, wanted: Wanted, status: SlotStatus) -> bool {
        if wanted.shape == CapacityShape::Baremetal {
            return self.whole_with(board, Some(status));
        }
        let open = self.mask(SlotStatus::Free) | self.mask(status);
        board.sets.iter().any(|set| set.size == wanted.size && set.mask & !open == 0)
    }

    /// What it answers to a shape and size.
    pub(crate) fn judge(&self, board: &Board, wanted: Wanted, weights: &Weights) -> Outcome {
        let passed = |reason| Outcome::Passed {
            reason,
            one_step: self.fits_without(board, wanted, reason, weights),
            release: self.release(board, wanted, reason),
        };
        if let Some(reason) = self.gate(wanted.shape) {
            return passed(reason);
        }
        let exists = match wanted.shape {
            CapacityShape::Baremetal => board.whole.is_some_and(|whole| whole.size == wanted.size),
            CapacityShape::GpuSlice => board.sizes.contains(&wanted.size),
        };
        if !exists {
            return passed(Reason::NoSuchSet);
        }
        let free: Vec<BoardSet> = match wanted.shape {
            CapacityShape::Baremetal => board.whole.into_iter().filter(|_| self.is_wholly_free(board)).collect(),
            CapacityShape::GpuSlice => self.free_sets(board).filter(|set| set.size == wanted.size).copied().collect(),
        };
        match self.best_of(board, wanted.shape, &free, weights) {
            Some(offer) => Outcome::Offer(offer),
            None => passed(self.shortage(board, wanted)),
        }
    }

    // Whether it would fit if the reason fell, and nothing else changed.
    fn fits_without(&self, board: &Board, wanted: Wanted, reason: Reason, weights: &Weights) -> bool {
        let mut lifted = self.clone();
        match reason {
            Reason::SlicesDisabled => lifted.slices_enabled = true,
            Reason::OutOfUse | Reason::Draining => lifted.desired = NodeDesired::InService,
            Reason::NotPromoted => lifted.promoted = true,
            Reason::NotOnline => lifted.state = NodeState::Online,
            Reason::Drifted | Reason::Incomplete | Reason::CleanupBlocked | Reason::BeingWiped => return true,
            _ => return false,
        }
        matches!(lifted.judge(board, wanted, weights), Outcome::Offer(_))
    }

    fn shortage(&self, board: &Board, wanted: Wanted) -> Reason {
        let would_do = [
            (SlotStatus::Drifted, Reason::Drifted),
            (SlotStatus::Incomplete, Reason::Incomplete),
            (SlotStatus::CleanupBlocked, Reason::CleanupBlocked),
            (SlotStatus::Wiping, Reason::BeingWiped),
        ];
        if let Some((_, reason)) = would_do.iter().find(|(status, _)| self.fits_with(board, wanted, *status)) {
            *reason
        } else if wanted.shape == CapacityShape::Baremetal || self.tally(SlotStatus::Free) < wanted.size {
            Reason::TooFewFree
        } else {
            Reason::FreeButScattered
        }
    }

    // The fewest GPUs whose holders would have to give them back. Nothing where something else is in the way.
    fn release(&self, board: &Board, wanted: Wanted, reason: Reason) -> Option<u32> {
        let by_holders = [Reason::HeldAsBareMetal, Reason::HeldBySlices, Reason::TooFewFree, Reason::FreeButScattered];
        if !by_holders.contains(&reason) || !self.fits_with(board, wanted, SlotStatus::Claimed) {
            return None;
        }
        let open = self.mask(SlotStatus::Free) | self.mask(SlotStatus::Claimed);
        let all = self.mask(SlotStatus::Claimed).count_ones();
        if wanted.shape == CapacityShape::Baremetal || reason == Reason::HeldAsBareMetal {
            let exists =
                board.whole.is_some_and(|whole| wanted.shape == CapacityShape::GpuSlice || whole.size == wanted.size);
            return exists.then_some(all).filter(|gpus| *gpus > 0);
        }
        let claimed = self.mask(SlotStatus::Claimed);
        let held_in = |set: &BoardSet| {
            let holders = self.holders.iter().filter(|held| **held & set.mask & claimed != 0);
            (holders.fold(0, |mask, held| mask | held) & claimed).count_ones()
        };
        board
            .sets
            .iter()
            .filter(|set| set.size == wanted.size && set.mask & !open == 0)
            .map(held_in)
            .filter(|gpus| *gpus > 0)
            .min()
    }

    fn best_of(&self, board: &Board, shape: CapacityShape, free: &[BoardSet], weights: &Weights) -> Option<Offer> {
        let scored: Vec<(Score, BoardSet)> =
            free.iter().map(|set| (self.score(board, shape, set, weights), *set)).collect();
        let score = scored.iter().map(|(score, _)| *score).min()?;
        let best = scored.iter().filter(|(other, _)| *other == score).map(|(_, set)| *set).collect();
        Some(Offer { score, best, sets: crate::board::count(free.len()) })
    }

    /// What speaks against one free set.
    pub(crate) fn score(&self, board: &Board, shape: CapacityShape, set: &BoardSet, weights: &Weights) -> Score {
        let (opens, node_cost, spoils) = match shape {
            CapacityShape::GpuSlice => {
                let opens = u32::from(self.occupancy != OccupancyMode::Sliced);
                (opens, i64::from(opens) * weights.opens_clean_node, self.spoils(board, set, weights))
            }
            CapacityShape::Baremetal => {
                let opens = u32::from(self.slices_enabled) + u32::from(self.slices_enabled && self.promoted);
                (opens, i64::from(opens) * (weights.takes_sliceable_node / 2), 0)
            }
        };
        let straddle = set.straddle;
        let wires = i64::from(straddle.numa) * weights.numa
            + i64::from(straddle.switches) * weights.pcie_switch
            + i64::from(straddle.rails) * weights.rail;
        Score {
            cost: node_cost.saturating_add(spoils).saturating_add(wires),
            opens,
            spoils,
            numa: straddle.numa,
            switches: straddle.switches,
            rails: straddle.rails,
        }
    }

    // What every other set at least as large loses by one more holder. A slot that is being wiped will soon be back, and
    // holds nothing up; any other that cannot be sold is in the way like a holder.
    fn spoils(&self, board: &Board, set: &BoardSet, weights: &Weights) -> i64 {
        let stuck = self.mask(SlotStatus::CleanupBlocked)
            | self.mask(SlotStatus::Drifted)
            | self.mask(SlotStatus::Incomplete)
            | self.mask(SlotStatus::Disabled);
        board
            .sets_and_whole()
            .filter(|other| other.size >= set.size && other.mask != set.mask && other.mask & set.mask != 0)
            .map(|other| {
                let holding = self.holders.iter().filter(|held| **held & other.mask != 0).count();
                let stuck = bits(stuck & other.mask).count();
                weights.loss(other.size, crate::board::count(holding + stuck))
            })
            .fold(0, i64::saturating_add)
    }
}
