//! What placement looks at: the fleet as rows, with nothing decided yet.

use model::{
    NodeId, PoolId, RegionId, SlotId,
    supply::{GpuModel, NodeState, OccupancyMode, SlotState},
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
    /// What kind of claim it carries now.
    pub occupancy: OccupancyMode,
    /// The sets its board can be cut into.
    pub partitions: Partitions,
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
}

impl SlotView {
    /// Whether the slot may be sold: proved clean, free, and with every device known.
    pub fn is_sellable(&self) -> bool {
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
            .filter(|(module, _)| named.get(module) == Some(&1) && self.partitions.board().contains(module))
            .collect()
    }

    /// The sets of this size whose every GPU is sellable now.
    pub(crate) fn free_sets<'a>(
        &'a self,
        sellable: &'a BTreeMap<ModuleId, &'a SlotView>,
    ) -> impl Iterator<Item = &'a BTreeSet<ModuleId>> + 'a {
        self.partitions.sets().iter().filter(|set| set.iter().all(|module| sellable.contains_key(module)))
    }
}
