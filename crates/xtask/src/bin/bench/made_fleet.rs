//! Fleets for the benches of placement: HGX nodes without a fault, all in one pool, and requests for them.

use engine::{Fleet, Inventory, NodeView, Occupant, Policy, Request, SlotView};
use model::{
    AllocationId, NodeId, PoolId, ProjectId, RegionId, SlotId, TenantId, Timestamp,
    placement::{CoTenancy, Spread},
    sku::CapacityShape,
    supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState},
};
use topology::{ModuleId, simulated::hgx_partitions};

const EPOCH: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

fn bits(n: u32) -> [u8; 10] {
    let mut bits = [0; 10];
    bits[6..].copy_from_slice(&n.to_be_bytes());
    bits
}

/// A tenant.
pub fn tenant(n: u32) -> TenantId {
    TenantId::from_parts(EPOCH, bits(n))
}

/// A project.
pub fn project(n: u32) -> ProjectId {
    ProjectId::from_parts(EPOCH, bits(n))
}

/// The pool that all nodes are in.
pub fn pool() -> PoolId {
    PoolId::from_parts(EPOCH, bits(1))
}

/// An inventory of so many clean nodes. Told one by one, so that what is measured afterwards does not live among the ruins
/// of a hundred thousand rows.
pub fn clean(nodes: u32) -> Inventory {
    let mut inventory = Inventory::new(&Fleet::default(), Policy::default());
    (0..nodes).for_each(|n| inventory.put(&node(n)));
    inventory
}

/// The id of a node.
pub fn node_id(n: u32) -> NodeId {
    NodeId::from_parts(EPOCH, bits(n))
}

fn node(n: u32) -> NodeView {
    NodeView {
        id: node_id(n),
        region_id: RegionId::from_parts(EPOCH, bits(1)),
        pool_id: pool(),
        gpu_model: GpuModel::H200Sxm,
        slices_enabled: true,
        state: NodeState::Online,
        desired: NodeDesired::InService,
        promoted: true,
        occupancy: OccupancyMode::Free,
        partitions: Some(hgx_partitions()),
        slots: (1..=8).map(|module| slot(n, module)).collect(),
        occupants: vec![],
    }
}

fn slot(n: u32, module: u32) -> SlotView {
    SlotView {
        // The last bits of the id tell the module: see `module_bit`.
        id: SlotId::from_parts(EPOCH, bits(n * 8 + module - 1)),
        module_id: Some(ModuleId(module)),
        numa: Some((module - 1) / 4),
        pcie_switch: Some((module - 1) / 2),
        rail: Some(module - 1),
        state: SlotState::Available,
        since: None,
        missing: vec![],
        drifted: false,
        wear: 0,
    }
}

/// The GPU of a slot of such a fleet, as a bit. The last character of an id stands for five bits.
pub fn module_bit(slot: &SlotId) -> u8 {
    let last = slot.as_str().bytes().next_back().unwrap_or(b'0');
    let digit = "0123456789abcdefghjkmnpqrstvwxyz".bytes().position(|byte| byte == last).unwrap_or(0);
    1 << (digit % 8)
}

/// A slice for somebody.
pub fn slice(gpu_count: u32) -> Request {
    Request {
        shape: CapacityShape::GpuSlice,
        gpu_model: GpuModel::H200Sxm,
        gpu_count,
        region_id: RegionId::from_parts(EPOCH, bits(1)),
        pool_id: None,
        tenant_id: tenant(1),
        project_id: project(1),
        group: None,
        spread: Spread::None,
        co_tenancy: CoTenancy::Any,
    }
}

/// A node for somebody.
pub fn bare_metal() -> Request {
    Request { shape: CapacityShape::Baremetal, ..slice(8) }
}

/// The holder of slots.
pub fn occupant(n: u32, slot_ids: Vec<SlotId>) -> Occupant {
    let asked = slice(1);
    Occupant {
        allocation_id: AllocationId::from_parts(EPOCH, bits(n)),
        tenant_id: asked.tenant_id,
        project_id: asked.project_id,
        group: None,
        co_tenancy: CoTenancy::Any,
        slot_ids,
    }
}
