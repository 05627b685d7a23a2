//! Fleets for the tests of placement: by hand, and by chance.
#![allow(dead_code)]

pub mod chance;
pub mod oracle;

use engine::{Fleet, NodeView, Occupant, Placement, Refusal, Request, SlotView, Verdict};
use model::{
    AllocationId, NodeId, PoolId, ProjectId, RegionId, SlotId, TenantId, Timestamp,
    placement::{CoTenancy, Spread},
    sku::CapacityShape,
    supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState},
};
use topology::{ModuleId, simulated::hgx_partitions};

fn bits(n: u32) -> [u8; 10] {
    let mut bits = [0; 10];
    bits[6..].copy_from_slice(&n.to_be_bytes());
    bits
}

pub fn region(n: u32) -> RegionId {
    RegionId::from_parts(Timestamp::from_micros(0), bits(n))
}

pub fn pool(n: u32) -> PoolId {
    PoolId::from_parts(Timestamp::from_micros(0), bits(n))
}

pub fn node_id(n: u32) -> NodeId {
    NodeId::from_parts(Timestamp::from_micros(0), bits(n))
}

pub fn slot_id(node: u32, module: u32) -> SlotId {
    SlotId::from_parts(Timestamp::from_micros(0), bits(node * 100 + module))
}

pub fn tenant(n: u32) -> TenantId {
    TenantId::from_parts(Timestamp::from_micros(0), bits(n))
}

pub fn project(n: u32) -> ProjectId {
    ProjectId::from_parts(Timestamp::from_micros(0), bits(n))
}

pub fn allocation(n: u32) -> AllocationId {
    AllocationId::from_parts(Timestamp::from_micros(0), bits(n))
}

/// A clean HGX node.
pub fn node(n: u32) -> NodeView {
    NodeView {
        id: node_id(n),
        region_id: region(1),
        pool_id: pool(1),
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

pub fn slot(n: u32, module: u32) -> SlotView {
    SlotView {
        id: slot_id(n, module),
        module_id: Some(ModuleId(module)),
        numa: Some((module - 1) / 4),
        pcie_switch: None,
        rail: None,
        state: SlotState::Available,
        since: None,
        missing: vec![],
        drifted: false,
        wear: 0,
    }
}

/// One with these GPUs in use.
pub fn with_taken(n: u32, modules: &[u32]) -> NodeView {
    let mut node = node(n);
    node.occupancy = OccupancyMode::Sliced;
    for slot in node.slots.iter_mut().filter(|s| modules.contains(&s.module_id.unwrap().0)) {
        slot.state = SlotState::InUse;
    }
    node
}

/// One with these GPUs in use by one allocation of a tenant.
pub fn with_occupant(n: u32, modules: &[u32], whose: u32, co_tenancy: CoTenancy) -> NodeView {
    let mut node = with_taken(n, modules);
    node.occupants.push(Occupant {
        slot_ids: modules.iter().map(|module| slot_id(n, *module)).collect(),
        co_tenancy,
        ..occupant(n * 10 + whose, whose)
    });
    node
}

pub fn occupant(n: u32, whose: u32) -> Occupant {
    Occupant {
        allocation_id: allocation(n),
        tenant_id: tenant(whose),
        project_id: project(whose),
        group: None,
        co_tenancy: CoTenancy::Any,
        slot_ids: vec![],
    }
}

pub fn slice(gpu_count: u32) -> Request {
    Request {
        shape: CapacityShape::GpuSlice,
        gpu_model: GpuModel::H200Sxm,
        gpu_count,
        region_id: region(1),
        pool_id: None,
        tenant_id: tenant(1),
        project_id: project(1),
        group: None,
        spread: Spread::None,
        co_tenancy: CoTenancy::Any,
    }
}

pub fn bare_metal() -> Request {
    Request { shape: CapacityShape::Baremetal, ..slice(8) }
}

pub fn placement(verdict: Verdict) -> Placement {
    match verdict {
        Verdict::Placed(placement) => placement,
        refused => panic!("{refused:?}"),
    }
}

pub fn refusal(verdict: Verdict) -> Refusal {
    match verdict {
        Verdict::Refused(refusal) => refusal,
        placed => panic!("{placed:?}"),
    }
}

/// Where a request goes.
pub fn placed(nodes: Vec<NodeView>, request: &Request) -> (NodeId, Vec<u32>) {
    let fleet = Fleet { nodes };
    let placement = placement(engine::place(&fleet, request));
    let home = fleet.nodes.iter().find(|n| n.id == placement.chosen.node_id).unwrap();
    let modules: Vec<u32> =
        home.slots.iter().filter(|s| placement.slot_ids.contains(&s.id)).map(|s| s.module_id.unwrap().0).collect();
    assert_eq!(modules, placement.chosen.modules.iter().map(|m| m.0).collect::<Vec<_>>());
    (placement.chosen.node_id, modules)
}
