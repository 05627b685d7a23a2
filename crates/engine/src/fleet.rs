//! What placement looks at: the fleet as rows, with nothing decided yet.

use model::{
    AllocationId, NodeId, PoolId, ProjectId, RegionId, SlotId, TenantId, Timestamp,
    placement::CoTenancy,
    supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState},
};
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
    /// Who is on it, in any order.
    pub occupants: Vec<Occupant>,
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
    /// The PCIe switch it hangs off, by any number that is the same for slots of one switch.
    pub pcie_switch: Option<u32>,
    /// The rail of the fabric that its card is on.
    pub rail: Option<u32>,
    /// Where it stands between being sold and being sold again.
    pub state: SlotState,
    /// Since when it has been in that state, where that is known.
    pub since: Option<Timestamp>,
    /// Devices that are not known; anything here keeps it from being sold whatever its state says.
    pub missing: Vec<DeviceField>,
    /// The host shows something else than what was approved.
    pub drifted: bool,
    /// How often it was used.
    pub wear: u32,
}

/// One allocation on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// The group of that project it belongs to.
    pub group: Option<String>,
    /// Whom it tolerates beside it.
    pub co_tenancy: CoTenancy,
    /// The slots it holds; none when that is not known.
    pub slot_ids: Vec<SlotId>,
}
