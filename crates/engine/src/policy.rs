//! The policy of placement as data: what each drawback of a place weighs. One sum of whole numbers ranks all places, so a
//! score can be shown part by part and a weight can be changed without touching the search. Where one thing must always come
//! before another (slices go where slices are) its weight is beyond the sum of all the others.
//!
//! What taking a set spoils is measured in chances. A larger set that the choice touches is worth its weight while nobody
//! is on it; with one holder on it, it is worth what the chance is that it comes free soon, with two less, and so on. The
//! price of a choice is what these sets lose by one more holder. So a broken pair is filled before a whole one is broken,
//! a half that four tenants share is filled before one that a single tenant will give back in one piece, and clean nodes
//! stay clean, all by the same rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest weight: sums of the largest board's sets stay far from overflow.
pub const WEIGHT_MAX: i64 = 1_000_000_000;
/// The largest weight of opening or taking a node.
pub const NODE_WEIGHT_MAX: i64 = 1_000_000_000_000_000;
/// A chance of one.
pub const CERTAIN: i64 = 1000;

/// How places are ranked, and what is held back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// What each drawback weighs.
    pub weights: Weights,
    /// Slices open no further clean node while no more than this many of a region and model are left.
    pub keep_whole_nodes: u32,
}

/// What each drawback weighs; a place with a smaller sum is better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// A slice opens a node that carries no slices.
    pub opens_clean_node: i64,
    /// Bare metal takes a node that could be sliced; half of it when only the pool allows that.
    pub takes_sliceable_node: i64,
    /// What a set is worth, by its size: up to 1, 2, 4, 8, 16, 32 and 64 GPUs.
    pub set_worth: [i64; 7],
    /// In thousandths, what is left of a set's worth with this many holders on it. The last counts for any more.
    pub worth_left: [i64; 9],
    /// The set straddles one more memory node.
    pub numa: i64,
    /// The set straddles one more PCIe switch.
    pub pcie_switch: i64,
    /// One more GPU of the set shares its rail.
    pub rail: i64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            opens_clean_node: 1_000_000_000_000,
            takes_sliceable_node: 1_000_000_000_000,
            set_worth: [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000],
            worth_left: [1000, 300, 90, 27, 8, 2, 1, 0, 0],
            numa: 30,
            pcie_switch: 20,
            rail: 10,
        }
    }
}

/// Why a policy cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFault {
    /// A weight is negative or too large.
    #[error("{0} is not between 0 and {1}")]
    OutOfRange(&'static str, i64),
    /// More holders leave more worth.
    #[error("worth_left must not rise")]
    Rises,
}

impl Policy {
    /// Whether every weight is in range and `worth_left` falls.
    pub fn validate(&self) -> Result<(), PolicyFault> {
        let Weights { opens_clean_node, takes_sliceable_node, set_worth, worth_left, numa, pcie_switch, rail } =
            &self.weights;
        let within = |name, values: &[i64], most| {
            let good = values.iter().all(|value| (0..=most).contains(value));
            if good { Ok(()) } else { Err(PolicyFault::OutOfRange(name, most)) }
        };
        within("opens_clean_node", &[*opens_clean_node], NODE_WEIGHT_MAX)?;
        within("takes_sliceable_node", &[*takes_sliceable_node], NODE_WEIGHT_MAX)?;
        within("set_worth", set_worth, WEIGHT_MAX)?;
        within("worth_left", worth_left, CERTAIN)?;
        within("numa", &[*numa], WEIGHT_MAX)?;
        within("pcie_switch", &[*pcie_switch], WEIGHT_MAX)?;
        within("rail", &[*rail], WEIGHT_MAX)?;
        if worth_left.is_sorted_by(|before, after| before >= after) { Ok(()) } else { Err(PolicyFault::Rises) }
    }

    /// A short name that two policies share only if they are the same, for the record of a decision.
    pub fn id(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        // FNV-1a: the name tells policies apart and guards nothing.
        let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("p{digest:016x}")
    }
}

impl Weights {
    /// What a set of this size loses when one more joins this many holders.
    pub(crate) fn loss(&self, size: u32, holders: u32) -> i64 {
        let at = |holders: u32| {
            let last = self.worth_left.len() - 1;
            self.worth_left[usize::try_from(holders).unwrap_or(last).min(last)]
        };
        let class = usize::try_from(size.max(1).next_power_of_two().trailing_zeros()).unwrap_or(0);
        let worth = self.set_worth[class.min(self.set_worth.len() - 1)];
        worth.saturating_mul(at(holders) - at(holders.saturating_add(1)))
    }
}

/// What speaks against a place, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The weighted sum; smaller is better.
    pub cost: i64,
    /// For a slice 1 if it opens a clean node; for bare metal 2 if the node could be sliced, 1 if its pool allows that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub opens: u32,
    /// What larger sets lose, weighted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spoils: i64,
    /// Memory nodes beyond the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub numa: u32,
    /// PCIe switches beyond the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub switches: u32,
    /// GPUs that share a rail.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rails: u32,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_can_be_used_and_every_fault_is_found() {
        assert_eq!(Policy::default().validate(), Ok(()));
        let fault = |change: fn(&mut Weights)| {
            let mut policy = Policy::default();
            change(&mut policy.weights);
            policy.validate().err()
        };
        assert_eq!(fault(|w| w.numa = -1), Some(PolicyFault::OutOfRange("numa", WEIGHT_MAX)));
        assert_eq!(fault(|w| w.set_worth[6] = WEIGHT_MAX + 1), Some(PolicyFault::OutOfRange("set_worth", WEIGHT_MAX)));
        assert_eq!(fault(|w| w.worth_left[8] = 1000), Some(PolicyFault::Rises));
        let too_much = PolicyFault::OutOfRange("opens_clean_node", NODE_WEIGHT_MAX);
        assert_eq!(fault(|w| w.opens_clean_node = i64::MAX), Some(too_much));
    }

    #[test]
    fn a_changed_weight_changes_the_name() {
        let (one, mut other) = (Policy::default(), Policy::default());
        assert_eq!(one.id(), other.id());
        other.weights.rail += 1;
        assert_ne!(one.id(), other.id());
    }

    #[test]
    fn no_sum_of_other_drawbacks_outweighs_opening_a_clean_node() {
        let weights = Weights::default();
        // The longest table that a board may have, every set of the largest size and all of them spoiled.
        let most = 1025 * weights.loss(64, 0) + 64 * (weights.numa + weights.pcie_switch + weights.rail);
        assert!(most < weights.opens_clean_node, "{most}");
    }
}
