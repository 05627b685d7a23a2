//! Free cells by size: a cell is halved when a smaller one is asked for, and halves that are free together are one cell again,
//! up to the cells it all began with.

use super::{Guarantee, Level};
use std::collections::{BTreeMap, BTreeSet};

/// Cells that can be halved. They are named by the address of their first device; a cell's address is a multiple of its size.
#[derive(Debug, Clone)]
pub(super) struct Buddy {
    free: [BTreeSet<u32>; 4],
    // The cells it all began with: where they begin, and how large they are.
    tops: BTreeMap<u32, Level>,
}

impl Buddy {
    /// So many cells of each size, all free.
    pub(super) fn new(counts: &Guarantee) -> Self {
        let (mut free, mut tops, mut next) = (<[BTreeSet<u32>; 4]>::default(), BTreeMap::new(), 0);
        // The largest first, so that each begins at a multiple of its size.
        for level in Level::ALL.into_iter().rev() {
            for _ in 0..counts[level.at()] {
                free[level.at()].insert(next);
                tops.insert(next, level);
                next += level.gpus();
            }
        }
        Self { free, tops }
    }

    /// How many of this size are free, not counting larger ones.
    pub(super) fn count(&self, level: Level) -> u64 {
        u64::try_from(self.free[level.at()].len()).unwrap_or(u64::MAX)
    }

    /// The size of the smallest free cell that is large enough.
    pub(super) fn smallest(&self, level: Level) -> Option<Level> {
        Level::ALL.into_iter().find(|this| *this >= level && !self.free[this.at()].is_empty())
    }

    /// The first free cell of a size.
    pub(super) fn first_of(&self, level: Level) -> Option<u32> {
        self.free[level.at()].first().copied()
    }

    /// The cell of a size that costs least, of all that the free cells of another size can be cut into.
    pub(super) fn cheapest<C: Ord>(&self, from: Level, level: Level, cost: impl Fn(u32) -> C) -> Option<u32> {
        let parts = |start: &u32| (*start..*start + from.gpus()).step_by(level.gpus() as usize);
        self.free[from.at()].iter().flat_map(parts).min_by_key(|part| (cost(*part), *part))
    }

    /// Takes a cell out of the free one that it is a part of.
    pub(super) fn take(&mut self, address: u32, level: Level) {
        let mut halved = level;
        loop {
            let start = address - address % halved.gpus();
            if self.free[halved.at()].remove(&start) {
                break;
            }
            let Some(above) = halved.above() else { return };
            halved = above;
        }
        // Down again: the half that holds the cell is halved on, the other one is free.
        while let Some(half) = halved.below().filter(|half| *half >= level) {
            let ours = address - address % half.gpus();
            self.free[half.at()].insert(ours ^ half.gpus());
            halved = half;
        }
    }

    /// A cell is free again, and with its other half a larger one.
    pub(super) fn give_back(&mut self, address: u32, level: Level) {
        let Some((_, top)) = self.top_of(address) else { return };
        let (mut start, mut level) = (address, level);
        while let Some(above) = level.above().filter(|above| *above <= top) {
            if !self.free[level.at()].remove(&(start ^ level.gpus())) {
                break;
            }
            start -= start % above.gpus();
            level = above;
        }
        self.free[level.at()].insert(start);
    }

    /// The cell at the beginning that an address is in.
    pub(super) fn top_of(&self, address: u32) -> Option<(u32, Level)> {
        self.tops.range(..=address).next_back().map(|(start, level)| (*start, *level))
    }
}
