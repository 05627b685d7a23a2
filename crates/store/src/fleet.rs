//! Everything that placement looks at, loaded in two queries: nodes with their pool, region and occupancy, and their
//! slots. Plain rows; what fits where is decided elsewhere. The whole fleet is loaded when a leader starts, one node
//! when a verdict lost.

use model::supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState};
use model::{NodeId, PoolId, RegionId, SlotId, Timestamp};

use crate::{Row, StoreError, Tx};

/// A node as placement sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetNode {
    /// Its id.
    pub id: NodeId,
    /// Its pool.
    pub pool_id: PoolId,
    /// Its region.
    pub region_id: RegionId,
    /// Whether anything new is placed in the region.
    pub region_enabled: bool,
    /// Whether the pool's nodes may be cut into slices.
    pub slices_enabled: bool,
    /// What it carries.
    pub gpu_model: GpuModel,
    /// Whether its agent has been heard of lately.
    pub state: NodeState,
    /// What operators want of it.
    pub desired: NodeDesired,
    /// It was promoted to slice use.
    pub promoted: bool,
    /// The last heartbeat that was written down.
    pub last_seen: Option<Timestamp>,
    /// What kind of claim it may carry now.
    pub occupancy: OccupancyMode,
    /// Sellable sets of GPU module ids, as JSON.
    pub partitions: String,
    /// Of the node, for bare metal.
    pub use_generation: i64,
    /// The version that was read.
    pub version: i64,
}

/// A slot as placement sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSlot {
    /// Its id.
    pub id: SlotId,
    /// Its node.
    pub node_id: NodeId,
    /// What one slot of this kind gets.
    pub profile: String,
    /// Where it stands.
    pub state: SlotState,
    /// Whether every device and address that a slice needs is there, whoever wrote the row.
    pub complete: bool,
    /// The host shows something else than what was approved.
    pub drifted: bool,
    /// The GPU's place on its board.
    pub gpu_module_id: Option<i64>,
    /// NUMA node.
    pub numa_node: Option<i64>,
    /// The generation of its last use.
    pub use_generation: i64,
    /// The version that was read.
    pub version: i64,
}

/// Nodes and slots, each in id order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fleet {
    /// The nodes.
    pub nodes: Vec<FleetNode>,
    /// Their slots.
    pub slots: Vec<FleetSlot>,
}

macro_rules! nodes {
    () => {
        "SELECT n.id, n.pool_id, p.region_id, r.enabled, p.slices_enabled, n.gpu_model, n.state, n.last_seen_us, \
         o.mode, n.partitions, n.use_generation, n.version, n.desired, n.promoted_us FROM nodes n \
         JOIN pools p ON p.id = n.pool_id JOIN regions r ON r.id = p.region_id JOIN node_occupancy o ON o.node_id = n.id"
    };
}
macro_rules! slots {
    () => {
        "SELECT s.id, s.node_id, s.profile, s.state, CAST(CASE WHEN s.gpu_pci_address IS NULL \
         OR s.gpu_module_id IS NULL OR s.nvme_identity IS NULL OR s.mgmt_mac IS NULL OR s.private_ip IS NULL \
         OR s.fabric_claim_mode <> 'per_slot_vf' OR s.fabric_vf_pci_address IS NULL THEN 0 ELSE 1 END AS BIGINT), \
         s.gpu_module_id, s.numa_node, s.use_generation, s.version, s.drifted FROM node_resource_slots s"
    };
}

const NODES: &str = concat!(nodes!(), " ORDER BY n.id");
const SLOTS: &str = concat!(slots!(), " ORDER BY s.id");
const NODE: &str = concat!(nodes!(), " WHERE n.id = $1");
const SLOTS_OF_NODE: &str = concat!(slots!(), " WHERE s.node_id = $1 ORDER BY s.id");

fn read_node(row: &Row) -> Result<FleetNode, StoreError> {
    Ok(FleetNode {
        id: row.parse(0)?,
        pool_id: row.parse(1)?,
        region_id: row.parse(2)?,
        region_enabled: row.flag(3)?,
        slices_enabled: row.flag(4)?,
        gpu_model: row.parse(5)?,
        state: row.parse(6)?,
        last_seen: row.opt_timestamp(7)?,
        occupancy: row.parse(8)?,
        partitions: row.text(9)?.to_owned(),
        use_generation: row.int(10)?,
        version: row.int(11)?,
        desired: row.parse(12)?,
        promoted: row.opt_timestamp(13)?.is_some(),
    })
}

fn read_slot(row: &Row) -> Result<FleetSlot, StoreError> {
    Ok(FleetSlot {
        id: row.parse(0)?,
        node_id: row.parse(1)?,
        profile: row.text(2)?.to_owned(),
        state: row.parse(3)?,
        complete: row.flag(4)?,
        gpu_module_id: row.opt_int(5)?,
        numa_node: row.opt_int(6)?,
        use_generation: row.int(7)?,
        version: row.int(8)?,
        drifted: row.flag(9)?,
    })
}

/// The whole fleet.
pub fn load(tx: &mut Tx<'_>) -> Result<Fleet, StoreError> {
    let nodes = tx.query(NODES, &[])?.iter().map(read_node).collect::<Result<_, _>>()?;
    let slots = tx.query(SLOTS, &[])?.iter().map(read_slot).collect::<Result<_, _>>()?;
    Ok(Fleet { nodes, slots })
}

/// One node and its slots; an empty fleet when there is no such node.
pub fn load_node(tx: &mut Tx<'_>, id: &NodeId) -> Result<Fleet, StoreError> {
    let nodes = tx.query(NODE, &[id.into()])?.iter().map(read_node).collect::<Result<_, _>>()?;
    let slots = tx.query(SLOTS_OF_NODE, &[id.into()])?.iter().map(read_slot).collect::<Result<_, _>>()?;
    Ok(Fleet { nodes, slots })
}
