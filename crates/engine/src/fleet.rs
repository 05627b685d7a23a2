//! What placement looks at: the fleet as rows, with nothing decided yet.

use model::{
    NodeId, PoolId, RegionId, SlotId,
    sku::CapacityShape,
    supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState},
};
use std::collections::{BTreeMap, BTreeSet};
use topology::{DeviceField, ModuleId, Partitions};

/// Every node that could be looked at, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fleet {
    /// The nodes.
    pub nodes: Vec<NodeView>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    /// The node.
    pub id: NodeId,
    /// The region its pool is in.
    pub region_id: RegionId,
    /// Its pool.
    pub pool_id: PoolId,
    /// What GPUs it has.
    pub gpu_model: GpuModel,
    /// Whether its pool sells slices.
    pub slices_enabled: bool,
    /// Whether its agent has been heard of.
    pub state: NodeState,
    /// What operators want of it.
    pub desired: NodeDesired,
    /// It was promoted to slice use.
    pub promoted: bool,
    /// What kind of claim it carries now.
    pub occupancy: OccupancyMode,
    /// The sets its board can be cut into; none before they were read from it.
    pub partitions: Option<Partitions>,
    /// Its slots, in any order.
    pub slots: Vec<SlotView>,
}

/// One slot of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotView {
    /// The slot.
    pub id: SlotId,
    /// Which GPU of the board it is.
    pub module_id: Option<ModuleId>,
    /// The memory node it hangs off.
    pub numa: Option<u32>,
    /// Where it stands between being sold and being sold again.
    pub state: SlotState,
    /// Devices that are not known; anything here keeps it from being sold whatever its state says.
    pub missing: Vec<DeviceField>,
    /// The host shows something else than what was approved.
    pub drifted: bool,
}

impl SlotView {
    /// Whether the slot may be sold: proved clean, free, with every device known and where it was approved.
    pub fn is_sellable(&self) -> bool {
        self.is_free() && !self.drifted
    }

    // The same, were it not for drift.
    fn is_free(&self) -> bool {
        self.state == SlotState::Available && self.missing.is_empty() && self.module_id.is_some()
    }
}

impl NodeView {
    /// The sellable slots by the GPU they hold. Two slots that name the same GPU cannot both be right, so neither counts;
    /// nor does a slot whose GPU the board does not list.
    pub fn sellable(&self) -> BTreeMap<ModuleId, &SlotView> {
        let mut named: BTreeMap<ModuleId, u32> = BTreeMap::new();
        for module in self.slots.iter().filter_map(|slot| slot.module_id) {
            *named.entry(module).or_default() += 1;
        }
        self.slots
            .iter()
            .filter(|slot| slot.is_sellable())
            .filter_map(|slot| slot.module_id.map(|module| (module, slot)))
            .filter(|(module, _)| named.get(module) == Some(&1))
            .filter(|(module, _)| self.board().is_some_and(|board| board.contains(module)))
            .collect()
    }

    /// Slots that could be sold if the host showed what was approved.
    pub(crate) fn drifted(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_free() && slot.drifted).count()
    }

    /// Every GPU of its board, once that was read.
    pub(crate) fn board(&self) -> Option<&BTreeSet<ModuleId>> {
        self.partitions.as_ref().map(Partitions::board)
    }

    /// The sets its board can be cut into.
    pub(crate) fn sets(&self) -> &[BTreeSet<ModuleId>] {
        self.partitions.as_ref().map_or(&[], Partitions::sets)
    }

    /// Whether anything new of this shape may be put on it, as far as the node itself goes.
    pub(crate) fn takes_new_work(&self, shape: CapacityShape) -> bool {
        let whole = shape == CapacityShape::Baremetal;
        self.state == NodeState::Online
            && self.desired == NodeDesired::InService
            && self.occupancy != OccupancyMode::Exclusive
            && (whole || (self.slices_enabled && self.promoted))
    }

    /// Whether it can be had whole: nobody is on it, and every slot of its board can be sold.
    pub(crate) fn is_wholly_free(&self, sellable: &BTreeMap<ModuleId, &SlotView>) -> bool {
        self.occupancy == OccupancyMode::Free
            && sellable.len() == self.slots.len()
            && self.board().is_some_and(|board| board.len() == sellable.len())
    }

    /// The sets of this size whose every GPU is sellable now.
    pub(crate) fn free_sets<'a>(
        &'a self,
        sellable: &'a BTreeMap<ModuleId, &'a SlotView>,
    ) -> impl Iterator<Item = &'a BTreeSet<ModuleId>> + 'a {
        self.sets().iter().filter(|set| set.iter().all(|module| sellable.contains_key(module)))
    }
}
