//! The sets of GPUs that a board can be cut into, in module-id space, as the node reported them.
//!
//! On an NVSwitch board not every set of GPUs can be isolated: the fabric manager names the ones that can. Those sets,
//! and no others, are what a slice may consist of. A table that makes no sense (an empty set, a GPU twice in one set, a
//! GPU that is not on the board) is refused as a whole, so a value of this type can be used without looking again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// More GPUs than any board has; a longer table is refused.
pub const BOARD_MODULES_MAX: usize = 64;
/// More sets than any board has; a longer table is refused.
pub const SETS_MAX: usize = 1024;

/// The number a GPU has on its board. It is not its PCI address and not its index in a driver's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ModuleId(pub u32);

impl fmt::Display for ModuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What is wrong with a reported table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartitionsFault {
    /// The board lists no GPU.
    #[error("the board lists no GPU")]
    EmptyBoard,
    /// The board lists a GPU twice.
    #[error("module {0} is listed twice on the board")]
    BoardRepeats(ModuleId),
    /// There is nothing to sell.
    #[error("there is no set at all")]
    NoSets,
    /// A set without GPUs.
    #[error("set {0} is empty")]
    EmptySet(usize),
    /// A set lists a GPU twice.
    #[error("set {0} lists module {1} twice")]
    SetRepeats(usize, ModuleId),
    /// A set lists a GPU that the board does not have.
    #[error("set {0} lists module {1}, which is not on the board")]
    NotOnBoard(usize, ModuleId),
    /// Two sets are the same.
    #[error("sets {0} and {1} are the same")]
    SameSet(usize, usize),
    /// The table is longer than any board's.
    #[error("more than {BOARD_MODULES_MAX} modules or {SETS_MAX} sets")]
    TooLong,
}

/// The sellable sets of one board. A set's position is its partition id on that node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Reported", into = "Reported")]
#[schemars(with = "Reported")]
pub struct Partitions {
    board: BTreeSet<ModuleId>,
    sets: Vec<BTreeSet<ModuleId>>,
}

// The table as it is written down, before it is checked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Partitions")]
struct Reported {
    /// Every GPU of the board.
    board: Vec<ModuleId>,
    /// The sets that can be isolated.
    sets: Vec<Vec<ModuleId>>,
}

impl Partitions {
    /// Checks a reported table.
    pub fn new(board: &[ModuleId], sets: &[Vec<ModuleId>]) -> Result<Self, PartitionsFault> {
        if board.len() > BOARD_MODULES_MAX || sets.len() > SETS_MAX {
            return Err(PartitionsFault::TooLong);
        }
        let modules = distinct(board).map_err(PartitionsFault::BoardRepeats)?;
        if modules.is_empty() {
            return Err(PartitionsFault::EmptyBoard);
        }
        if sets.is_empty() {
            return Err(PartitionsFault::NoSets);
        }
        let mut seen = BTreeMap::new();
        let mut checked = Vec::with_capacity(sets.len());
        for (at, set) in sets.iter().enumerate() {
            if set.is_empty() {
                return Err(PartitionsFault::EmptySet(at));
            }
            let set = distinct(set).map_err(|module| PartitionsFault::SetRepeats(at, module))?;
            if let Some(stranger) = set.difference(&modules).next() {
                return Err(PartitionsFault::NotOnBoard(at, *stranger));
            }
            if let Some(before) = seen.insert(set.clone(), at) {
                return Err(PartitionsFault::SameSet(before, at));
            }
            checked.push(set);
        }
        Ok(Self { board: modules, sets: checked })
    }

    /// Every GPU of the board.
    pub fn board(&self) -> &BTreeSet<ModuleId> {
        &self.board
    }

    /// Every sellable set, in partition-id order.
    pub fn sets(&self) -> &[BTreeSet<ModuleId>] {
        &self.sets
    }

    /// The sellable sets of exactly this many GPUs.
    pub fn sets_of(&self, size: usize) -> impl Iterator<Item = &BTreeSet<ModuleId>> {
        self.sets.iter().filter(move |set| set.len() == size)
    }

    /// The partition ids that one GPU belongs to.
    pub fn ids_with(&self, module: ModuleId) -> Vec<usize> {
        self.sets.iter().enumerate().filter(|(_, set)| set.contains(&module)).map(|(at, _)| at).collect()
    }

    /// The sizes that can be sold, smallest first.
    pub fn sizes(&self) -> BTreeSet<usize> {
        self.sets.iter().map(BTreeSet::len).collect()
    }
}

impl TryFrom<Reported> for Partitions {
    type Error = PartitionsFault;
    fn try_from(reported: Reported) -> Result<Self, PartitionsFault> {
        Self::new(&reported.board, &reported.sets)
    }
}

impl From<Partitions> for Reported {
    fn from(partitions: Partitions) -> Self {
        Self {
            board: partitions.board.into_iter().collect(),
            sets: partitions.sets.into_iter().map(|set| set.into_iter().collect()).collect(),
        }
    }
}

fn distinct(modules: &[ModuleId]) -> Result<BTreeSet<ModuleId>, ModuleId> {
    let mut set = BTreeSet::new();
    match modules.iter().find(|module| !set.insert(**module)) {
        Some(twice) => Err(*twice),
        None => Ok(set),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn ids(numbers: &[u32]) -> Vec<ModuleId> {
        numbers.iter().map(|n| ModuleId(*n)).collect()
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused_with_the_place() {
        let board = ids(&[1, 2]);
        let fault = |board: &[ModuleId], sets: &[&[u32]]| {
            Partitions::new(board, &sets.iter().map(|set| ids(set)).collect::<Vec<_>>()).unwrap_err()
        };
        assert_eq!(fault(&[], &[&[1]]), PartitionsFault::EmptyBoard);
        assert_eq!(fault(&ids(&[1, 1]), &[&[1]]), PartitionsFault::BoardRepeats(ModuleId(1)));
        assert_eq!(fault(&board, &[]), PartitionsFault::NoSets);
        assert_eq!(fault(&board, &[&[1], &[]]), PartitionsFault::EmptySet(1));
        assert_eq!(fault(&board, &[&[2, 2]]), PartitionsFault::SetRepeats(0, ModuleId(2)));
        assert_eq!(fault(&board, &[&[1], &[1, 9]]), PartitionsFault::NotOnBoard(1, ModuleId(9)));
        assert_eq!(fault(&board, &[&[1, 2], &[2, 1]]), PartitionsFault::SameSet(0, 1));
        let long: Vec<u32> = (0..=64).collect();
        assert_eq!(fault(&ids(&long), &[&[1]]), PartitionsFault::TooLong);
    }

    #[test]
    fn reading_json_checks_as_strictly_as_building() {
        let good: Partitions = serde_json::from_str(r#"{"board":[2,1],"sets":[[2,1],[1],[2]]}"#).unwrap();
        assert_eq!(good.sizes(), BTreeSet::from([1, 2]));
        assert_eq!(good.ids_with(ModuleId(2)), [0, 2]);
        assert_eq!(serde_json::to_string(&good).unwrap(), r#"{"board":[1,2],"sets":[[1,2],[1],[2]]}"#);
        for bad in [
            r#"{"board":[1],"sets":[[2]]}"#,
            r#"{"board":[1],"sets":[[1]],"more":1}"#,
            r#"{"board":[-1],"sets":[[-1]]}"#,
            r#"{"sets":[[1]]}"#,
        ] {
            assert!(serde_json::from_str::<Partitions>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_survives_json_and_lies_on_the_board(
            board in prop::collection::vec(0u32..10, 0..10),
            sets in prop::collection::vec(prop::collection::vec(0u32..10, 0..5), 0..6),
        ) {
            let sets: Vec<_> = sets.iter().map(|set| ids(set)).collect();
            if let Ok(table) = Partitions::new(&ids(&board), &sets) {
                prop_assert!(table.sets().iter().all(|set| !set.is_empty() && set.is_subset(table.board())));
                let by_size: usize = table.sizes().into_iter().map(|size| table.sets_of(size).count()).sum();
                prop_assert_eq!(by_size, table.sets().len());
                let text = serde_json::to_string(&table).unwrap();
                prop_assert_eq!(serde_json::from_str::<Partitions>(&text).unwrap(), table);
            }
        }
    }
}
