//! Everything that placement looks at, loaded in three queries: nodes with their pool, region and occupancy, their slots,
//! and who is on them. Plain rows; what fits where is decided elsewhere. The whole fleet is loaded when a leader starts,
//! single nodes when they changed or a verdict lost.

use model::supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState};
use model::{AllocationId, NodeId, PoolId, ProjectId, RegionId, SlotId, TenantId, Timestamp};

use crate::value::keys;

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
    /// The version of its pool.
    pub pool_version: i64,
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
    /// Since when.
    pub state_since: Timestamp,
    /// Whether every device and address that a slice needs is there, whoever wrote the row.
    pub complete: bool,
    /// The host shows something else than what was approved.
    pub drifted: bool,
    /// The GPU's place on its board.
    pub gpu_module_id: Option<i64>,
    /// NUMA node.
    pub numa_node: Option<i64>,
    /// The PCIe switch of its node that the GPU hangs off.
    pub pcie_switch: Option<i64>,
    /// The rail of the fabric that its function is on.
    pub rail: Option<i64>,
    /// The generation of its last use.
    pub use_generation: i64,
    /// The version that was read.
    pub version: i64,
}

/// One active claim: an allocation on a slot, or on the whole node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetClaim {
    /// On which node.
    pub node_id: NodeId,
    /// On which slot; `None` for the whole node.
    pub slot_id: Option<SlotId>,
    /// Who holds it.
    pub allocation_id: AllocationId,
    /// Whose that is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// What its owner wished about the place, as JSON.
    pub placement: String,
}

/// Nodes and slots, each in id order, and the active claims.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fleet {
    /// The nodes.
    pub nodes: Vec<FleetNode>,
    /// Their slots.
    pub slots: Vec<FleetSlot>,
    /// Who holds what.
    pub claims: Vec<FleetClaim>,
}

macro_rules! nodes {
    () => {
        "SELECT n.id, n.pool_id, p.region_id, r.enabled, p.slices_enabled, n.gpu_model, n.state, n.last_seen_us, \
         o.mode, n.partitions, n.use_generation, n.version, n.desired, n.promoted_us, p.version FROM nodes n \
         JOIN pools p ON p.id = n.pool_id JOIN regions r ON r.id = p.region_id JOIN node_occupancy o ON o.node_id = n.id"
    };
}
macro_rules! slots {
    () => {
        "SELECT s.id, s.node_id, s.profile, s.state, CAST(CASE WHEN s.gpu_module_id IS NULL \
         OR s.nvme_identity IS NULL OR s.mgmt_mac IS NULL OR s.private_ip IS NULL \
         OR (s.profile <> 'lab-vm' AND (s.gpu_pci_address IS NULL OR s.fabric_claim_mode <> 'per_slot_vf' \
         OR s.fabric_vf_pci_address IS NULL)) THEN 0 ELSE 1 END AS BIGINT), \
         s.gpu_module_id, s.numa_node, s.use_generation, s.version, s.drifted, s.state_since_us, s.pcie_switch, s.rail \
         FROM node_resource_slots s"
    };
}
// The mode is named so that the partial index of that mode serves the question.
macro_rules! claims {
    ($mode:literal) => {
        concat!(
            "SELECT c.node_id, c.slot_id, a.id, a.tenant_id, a.project_id, a.placement FROM allocation_resource_claims c \
             JOIN allocations a ON a.id = c.allocation_id WHERE c.active_mode = '",
            $mode,
            "'"
        )
    };
}
macro_rules! given {
    () => {
        "(SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given)"
    };
}

const NODES: &str = concat!(nodes!(), " ORDER BY n.id");
const SLOTS: &str = concat!(slots!(), " ORDER BY s.id");
const CLAIMS: &str = concat!(claims!("sliced"), " UNION ALL ", claims!("exclusive"));
const NODES_GIVEN: &str = concat!(nodes!(), " WHERE n.id IN ", given!(), " ORDER BY n.id");
const SLOTS_GIVEN: &str = concat!(slots!(), " WHERE s.node_id IN ", given!(), " ORDER BY s.id");
const CLAIMS_GIVEN: &str = concat!(
    claims!("sliced"),
    " AND c.node_id IN ",
    given!(),
    " UNION ALL ",
    claims!("exclusive"),
    " AND c.node_id IN ",
    given!()
);

const NODES_OF_SLOTS: &str =
    concat!("SELECT DISTINCT s.node_id FROM node_resource_slots s WHERE s.id IN ", given!(), " ORDER BY s.node_id");

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
        pool_version: row.int(14)?,
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
        state_since: row.timestamp(10)?,
        pcie_switch: row.opt_int(11)?,
        rail: row.opt_int(12)?,
    })
}

fn read_claim(row: &Row) -> Result<FleetClaim, StoreError> {
    Ok(FleetClaim {
        node_id: row.parse(0)?,
        slot_id: row.opt_parse(1)?,
        allocation_id: row.parse(2)?,
        tenant_id: row.parse(3)?,
        project_id: row.parse(4)?,
        placement: row.text(5)?.to_owned(),
    })
}

/// The whole fleet.
pub fn load(tx: &mut Tx<'_>) -> Result<Fleet, StoreError> {
    let nodes = tx.query(NODES, &[])?.iter().map(read_node).collect::<Result<_, _>>()?;
    let slots = tx.query(SLOTS, &[])?.iter().map(read_slot).collect::<Result<_, _>>()?;
    let claims = tx.query(CLAIMS, &[])?.iter().map(read_claim).collect::<Result<_, _>>()?;
    Ok(Fleet { nodes, slots, claims })
}

/// Some nodes with their slots and who is on them; a node that does not exist is not in it.
pub fn load_nodes<'a>(tx: &mut Tx<'_>, ids: impl IntoIterator<Item = &'a NodeId>) -> Result<Fleet, StoreError> {
    let given = [keys(ids.into_iter().map(NodeId::as_str))];
    let nodes = tx.query(NODES_GIVEN, &given)?.iter().map(read_node).collect::<Result<_, _>>()?;
    let slots = tx.query(SLOTS_GIVEN, &given)?.iter().map(read_slot).collect::<Result<_, _>>()?;
    let claims = tx.query(CLAIMS_GIVEN, &given)?.iter().map(read_claim).collect::<Result<_, _>>()?;
    Ok(Fleet { nodes, slots, claims })
}

/// The nodes that slots are on.
pub fn nodes_of_slots<'a>(
    tx: &mut Tx<'_>,
    ids: impl IntoIterator<Item = &'a SlotId>,
) -> Result<Vec<NodeId>, StoreError> {
    let given = [keys(ids.into_iter().map(SlotId::as_str))];
    tx.query(NODES_OF_SLOTS, &given)?.iter().map(|row| row.parse(0)).collect()
}
