//! Simulated hosts: what they would show if they were real. A real node reports its own devices and its own table of
//! partitions; these exist so that a simulated one has something believable to report, and nothing that schedules may call
//! them.
//!
//! [`trees`] makes the full tree of a host, [`drift`] lets something happen to it afterwards.

pub mod drift;
mod host;
pub mod trees;

pub use host::HostSpec;

use crate::{ModuleId, Partitions};
use std::collections::BTreeSet;

// What the fabric manager of an 8-GPU H100 or H200 baseboard lists: the whole, two halves, four pairs, eight singles.
// Pairs are (1 3) (2 4) (5 7) (6 8): neighbours in module-id space are not NVLink pairs.
const HGX_SETS: [&[u32]; 15] = [
    &[1, 2, 3, 4, 5, 6, 7, 8],
    &[1, 2, 3, 4],
    &[5, 6, 7, 8],
    &[1, 3],
    &[2, 4],
    &[5, 7],
    &[6, 8],
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[6],
    &[7],
    &[8],
];

// A table of the same sizes with other pairs, so that nothing can rely on the pairs of one board.
const A100_SETS: [&[u32]; 15] = [
    &[1, 2, 3, 4, 5, 6, 7, 8],
    &[1, 2, 3, 4],
    &[5, 6, 7, 8],
    &[1, 2],
    &[3, 4],
    &[5, 6],
    &[7, 8],
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[6],
    &[7],
    &[8],
];

/// The table of a simulated 8-GPU A100 board.
pub fn a100_partitions() -> Partitions {
    trusted(
        (1..=8).map(ModuleId).collect(),
        A100_SETS.iter().map(|set| set.iter().copied().map(ModuleId).collect()).collect(),
    )
}

/// The table of a simulated 8-GPU HGX H100 or H200 board: 8 | 4+4 | pairs | singles.
pub fn hgx_partitions() -> Partitions {
    trusted(
        (1..=8).map(ModuleId).collect(),
        HGX_SETS.iter().map(|set| set.iter().copied().map(ModuleId).collect()).collect(),
    )
}

/// The table of a simulated board that can only be sold whole. `None` for a size no board has.
pub fn whole_board_partitions(gpus: u32) -> Option<Partitions> {
    let board: Vec<ModuleId> = (1..=gpus).map(ModuleId).collect();
    Partitions::new(&board, std::slice::from_ref(&board)).ok()
}

// A constant table has been checked by the tests below; there is no error to hand to a caller.
fn trusted(board: BTreeSet<ModuleId>, sets: Vec<Vec<ModuleId>>) -> Partitions {
    let board: Vec<ModuleId> = board.into_iter().collect();
    Partitions::new(&board, &sets).expect("the table above is well formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hgx_board_is_cut_into_a_whole_two_halves_four_pairs_and_eight_singles() {
        for table in [hgx_partitions(), a100_partitions()] {
            let counts: Vec<_> = table.sizes().into_iter().map(|size| (size, table.sets_of(size).count())).collect();
            assert_eq!(counts, [(1, 8), (2, 4), (4, 2), (8, 1)]);
            for size in table.sizes() {
                let covered: BTreeSet<ModuleId> = table.sets_of(size).flatten().copied().collect();
                assert_eq!(&covered, table.board(), "sets of {size} cover the board without overlap");
            }
        }
    }

    #[test]
    fn a_whole_board_is_one_set() {
        assert_eq!(whole_board_partitions(8).map(|table| table.sets().len()), Some(1));
        assert_eq!(whole_board_partitions(0), None);
    }
}
