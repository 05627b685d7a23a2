//! What the placement applier asks and writes, many wishes at a time: who waits for a place, what admission and the commit
//! check, and the moves of slots, nodes and allocations that were placed. Every statement has one constant text, whatever
//! the size of the batch.
//!
//! Everything chosen is locked in id order before it is looked at, and what another transaction has locked is left out
//! rather than waited for (`SKIP LOCKED`; on SQLite the write transaction itself is the lock). So two appliers, or an
//! applier and anybody else, never wait for each other in a circle, and whoever is left out decides again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::allocation::State;
use model::event::{Change as What, Noun};
use model::sku::CapacityShape;
use model::supply::{FabricClaimMode, LAB_PROFILE, NodeDesired, NodeState, OccupancyMode, SlotState};
use model::tenancy;
use model::{AllocationId, NodeId, PoolId, ProjectId, RegionId, SkuId, SlotId, TenantId, Timestamp, WorkloadId};

use crate::living::{Seen, wait_ends};
use crate::operations;
use crate::record::{self, Change, Stamp};
use crate::skus::{self, SkuRow};
use crate::slots;
use crate::value::keys;
use crate::{Batch, BulkUpdate, Kind, Row, StoreError, Tx};

/// Why placement moves slots and allocations; events that say so are no news to it.
pub const PLACED: &str = "placed";

/// An allocation that waits for a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WishRow {
    /// Its id.
    pub id: AllocationId,
    /// The workload that it is a member of; then it is placed when that is admitted.
    pub workload_id: Option<WorkloadId>,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// What was bought.
    pub sku_id: SkuId,
    /// Where.
    pub region_id: RegionId,
    /// In which form.
    pub shape: CapacityShape,
    /// How many GPUs.
    pub gpu_count: i64,
    /// What its owner wished about the place, as JSON.
    pub placement: String,
    /// The version that was read.
    pub version: i64,
    /// Since when it is due.
    pub look: Timestamp,
    /// How often in a row looking at it failed.
    pub faults: i64,
}

impl WishRow {
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: Some(self.look) }
    }
}

/// Where a project stands, with its tenant, and what its allocations hold or ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Where the tenant stands.
    pub tenant: tenancy::State,
    /// What somebody wants of the tenant.
    pub tenant_desired: tenancy::Desired,
    /// Where the project stands.
    pub project: tenancy::State,
    /// What somebody wants of the project.
    pub project_desired: tenancy::Desired,
    /// GPUs that the project may hold.
    pub gpu_cap: i64,
    /// GPUs that its allocations hold or have asked for; what waits in a queue does not count before it is admitted.
    pub gpus_held: i64,
}

/// A slot that was chosen, locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenSlot {
    /// Its id.
    pub id: SlotId,
    /// Its node.
    pub node_id: NodeId,
    /// What one slot of this kind gets.
    pub profile: String,
    /// Where it stands.
    pub state: SlotState,
    /// The host shows something else than what was approved.
    pub drifted: bool,
    /// PCI address of the GPU.
    pub gpu_pci_address: Option<String>,
    /// The GPU's own identity.
    pub gpu_uuid: Option<String>,
    /// The GPU's place on its board.
    pub gpu_module_id: Option<i64>,
    /// Identity of the raw disk.
    pub nvme_identity: Option<String>,
    /// PCI address of its fabric function.
    pub fabric_vf_pci_address: Option<String>,
    /// Whether every device and address that a slice needs is there, whoever wrote the row.
    pub complete: bool,
    /// The generation of its last use.
    pub use_generation: i64,
    /// The version that was read.
    pub version: i64,
    /// When the last claim on it ended; a new one does not begin before.
    pub last_end: Option<Timestamp>,
}

/// A node on which slots were chosen, its occupancy locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenNode {
    /// Its id.
    pub id: NodeId,
    /// Its host name.
    pub name: String,
    /// Its pool.
    pub pool_id: PoolId,
    /// Its region.
    pub region_id: RegionId,
    /// Whether the pool's nodes may be cut into slices.
    pub slices_enabled: bool,
    /// Whether its agent has been heard of lately.
    pub state: NodeState,
    /// What operators want of it.
    pub desired: NodeDesired,
    /// It was promoted to slice use.
    pub promoted: bool,
    /// What kind of claim it may carry now.
    pub occupancy: OccupancyMode,
    /// How many slots it has.
    pub slots: i64,
    /// Of the node, for bare metal.
    pub use_generation: i64,
    /// The version that was read.
    pub version: i64,
    /// When the last claim on the whole of it ended.
    pub last_end: Option<Timestamp>,
}

macro_rules! given {
    () => {
        "(SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given)"
    };
}
macro_rules! locked_wishes {
    () => {
        concat!("SELECT a.id, a.version FROM allocations a WHERE a.id IN ", given!(), " ORDER BY a.id")
    };
}
// The last claim on a slot is the one with the highest fence.
macro_rules! chosen_slots {
    () => {
        concat!(
            "SELECT s.id, s.node_id, s.profile, s.state, s.drifted, s.gpu_pci_address, s.gpu_uuid, s.gpu_module_id, ",
            "s.nvme_identity, s.fabric_vf_pci_address, s.mgmt_mac, s.private_ip, s.fabric_claim_mode, s.numa_node, ",
            "s.use_generation, s.version, (SELECT c.released_us FROM allocation_resource_claims c ",
            "WHERE c.slot_id = s.id ORDER BY c.fence DESC LIMIT 1) FROM node_resource_slots s WHERE s.id IN ",
            given!(),
            " ORDER BY s.id"
        )
    };
}
macro_rules! chosen_nodes {
    () => {
        concat!(
            "SELECT n.id, n.name, n.pool_id, p.region_id, p.slices_enabled, n.state, n.desired, n.promoted_us, o.mode, ",
            "(SELECT COUNT(*) FROM node_resource_slots s WHERE s.node_id = n.id), n.use_generation, n.version, ",
            "(SELECT c.released_us FROM allocation_resource_claims c WHERE c.node_id = n.id ",
            "AND c.kind = 'node_exclusive' ORDER BY c.fence DESC LIMIT 1) ",
            "FROM nodes n JOIN pools p ON p.id = n.pool_id JOIN node_occupancy o ON o.node_id = n.id WHERE n.id IN ",
            given!(),
            " ORDER BY n.id"
        )
    };
}

macro_rules! wishes {
    () => {
        "SELECT a.id, a.tenant_id, a.project_id, a.sku_id, a.region_id, a.shape, a.gpu_count, a.placement, a.version, \
         COALESCE(a.look_us, a.created_us), a.faults, a.workload_id FROM allocations a WHERE a.state = 'requested' \
         AND a.desired = 'running' AND "
    };
}

const DUE: &str = concat!(
    wishes!(),
    "a.workload_id IS NULL AND a.look_us IS NOT NULL AND a.look_us <= $1 ",
    "AND (a.lease_ends_us IS NULL OR a.lease_ends_us > $1) ",
    "AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.subject_id = a.id AND d.outcome = 'refused') ",
    "ORDER BY a.look_us, a.id LIMIT $2"
);
const OF_WORKLOADS: &str = concat!(
    wishes!(),
    "a.workload_id IN ",
    given!(),
    " AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.subject_id = a.id AND d.outcome = 'refused') ",
    "ORDER BY a.workload_id, a.id"
);
const STANDINGS: &str = concat!(
    "SELECT p.id, t.state, t.desired, p.state, p.desired, p.gpu_cap, (SELECT CAST(COALESCE(SUM(a.gpu_count), 0) AS BIGINT) ",
    "FROM allocations a WHERE a.project_id = p.id AND a.state NOT IN ('released', 'refused', 'failed') ",
    "AND NOT (a.state = 'requested' AND a.workload_id IS NOT NULL)) ",
    "FROM projects p JOIN tenants t ON t.id = p.tenant_id WHERE p.id IN ",
    given!()
);
const REGIONS: &str = concat!("SELECT r.id, r.enabled FROM regions r WHERE r.id IN ", given!());
const WISHES: &str = locked_wishes!();
const WISHES_LOCKED: &str = concat!(locked_wishes!(), " FOR UPDATE OF a SKIP LOCKED");
const SLOTS: &str = chosen_slots!();
const SLOTS_LOCKED: &str = concat!(chosen_slots!(), " FOR UPDATE OF s SKIP LOCKED");
const NODES: &str = chosen_nodes!();
const NODES_LOCKED: &str = concat!(chosen_nodes!(), " FOR UPDATE OF o SKIP LOCKED");

static RAISE_NODES: BulkUpdate = BulkUpdate {
    table: "nodes",
    matches: &[("id", Kind::Text), ("version", Kind::Int)],
    sets: &[("use_generation", Kind::Int)],
    also: "version = version + 1",
};
static OCCUPY: BulkUpdate = BulkUpdate {
    table: "node_occupancy",
    matches: &[("node_id", Kind::Text), ("mode", Kind::Text)],
    sets: &[("mode", Kind::Text)],
    also: "",
};
static RESERVE: BulkUpdate = BulkUpdate {
    table: "allocations",
    matches: &[("id", Kind::Text), ("version", Kind::Int)],
    sets: &[
        ("state", Kind::Text),
        ("node_id", Kind::Text),
        ("state_since_us", Kind::Int),
        ("look_us", Kind::Int),
        ("sku_id", Kind::Text),
    ],
    also: wait_ends!(),
};

fn read_wish(row: &Row) -> Result<WishRow, StoreError> {
    Ok(WishRow {
        id: row.parse(0)?,
        workload_id: row.opt_parse(11)?,
        tenant_id: row.parse(1)?,
        project_id: row.parse(2)?,
        sku_id: row.parse(3)?,
        region_id: row.parse(4)?,
        shape: row.parse(5)?,
        gpu_count: row.int(6)?,
        placement: row.text(7)?.to_owned(),
        version: row.int(8)?,
        look: row.timestamp(9)?,
        faults: row.int(10)?,
    })
}

/// Wishes whose look is due, longest waiting first: not given back, not refused, their lease not over. Members of
/// workloads are not among them: see [`wishes_of`].
pub fn due(tx: &mut Tx<'_>, now: Timestamp, limit: i64) -> Result<Vec<WishRow>, StoreError> {
    tx.query(DUE, &[now.into(), limit.into()])?.iter().map(read_wish).collect()
}

/// The members of workloads that wait for a place, workload by workload. None of a member that is wanted released.
pub fn wishes_of(tx: &mut Tx<'_>, workloads: &BTreeSet<WorkloadId>) -> Result<Vec<WishRow>, StoreError> {
    let keys = keys(workloads.iter().map(WorkloadId::as_str));
    tx.query(OF_WORKLOADS, &[keys])?.iter().map(read_wish).collect()
}

/// What admission looks at besides the wishes themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grounds {
    /// How their projects stand.
    pub standings: BTreeMap<ProjectId, Standing>,
    /// What was bought.
    pub skus: BTreeMap<SkuId, Arc<SkuRow>>,
    /// Whether their regions are open.
    pub regions: BTreeMap<RegionId, bool>,
}

/// Reads the grounds of wishes.
pub fn grounds(tx: &mut Tx<'_>, wishes: &[WishRow]) -> Result<Grounds, StoreError> {
    let mut grounds = Grounds::default();
    if wishes.is_empty() {
        return Ok(grounds);
    }
    let answers = tx.query_each(&[
        (STANDINGS, vec![keys(wishes.iter().map(|wish| wish.project_id.as_str()))]),
        (skus::OF_KEYS, vec![keys(wishes.iter().map(|wish| wish.sku_id.as_str()))]),
        (REGIONS, vec![keys(wishes.iter().map(|wish| wish.region_id.as_str()))]),
    ])?;
    let [standings, skus, regions] = answered(answers)?;
    for row in &standings {
        let standing = Standing {
            tenant: row.parse(1)?,
            tenant_desired: row.parse(2)?,
            project: row.parse(3)?,
            project_desired: row.parse(4)?,
            gpu_cap: row.int(5)?,
            gpus_held: row.int(6)?,
        };
        grounds.standings.insert(row.parse(0)?, standing);
    }
    for row in &skus {
        let sku = skus::read(row)?;
        grounds.skus.insert(sku.id.clone(), Arc::new(sku));
    }
    for row in &regions {
        grounds.regions.insert(row.parse(0)?, row.flag(1)?);
    }
    Ok(grounds)
}

fn answered<const COUNT: usize>(answers: Vec<Vec<Row>>) -> Result<[Vec<Row>; COUNT], StoreError> {
    answers.try_into().map_err(|_| StoreError::Other(format!("not {COUNT} answers to {COUNT} questions")))
}

/// What verdicts chose, as it is now, locked. What somebody else has locked is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Locked {
    /// The versions of the wishes.
    pub wishes: BTreeMap<AllocationId, i64>,
    /// The slots.
    pub slots: BTreeMap<SlotId, ChosenSlot>,
    /// The nodes; what they may carry is what is locked.
    pub nodes: BTreeMap<NodeId, ChosenNode>,
    /// The wishes whose placement ends an operation.
    pub ending: BTreeSet<AllocationId>,
}

/// Locks wishes, then slots, then nodes, each in id order.
pub fn lock<'a>(
    tx: &mut Tx<'_>,
    wishes: impl Iterator<Item = &'a AllocationId>,
    slots: impl Iterator<Item = &'a SlotId>,
    nodes: impl Iterator<Item = &'a NodeId>,
) -> Result<Locked, StoreError> {
    let dialect = tx.dialect();
    let wishes = keys(wishes.map(AllocationId::as_str));
    let answers = tx.query_each(&[
        (dialect.pick(WISHES, WISHES_LOCKED), vec![wishes.clone()]),
        (dialect.pick(SLOTS, SLOTS_LOCKED), vec![keys(slots.map(SlotId::as_str))]),
        (dialect.pick(NODES, NODES_LOCKED), vec![keys(nodes.map(NodeId::as_str))]),
        (operations::ENDING, vec![wishes, format!("% {} %", State::Reserved).into()]),
    ])?;
    let [wishes, slots, nodes, ending] = answered(answers)?;
    let mut locked = Locked::default();
    for row in &wishes {
        locked.wishes.insert(row.parse(0)?, row.int(1)?);
    }
    for row in &slots {
        let slot = read_slot(row)?;
        locked.slots.insert(slot.id.clone(), slot);
    }
    for row in &nodes {
        let node = read_node(row)?;
        locked.nodes.insert(node.id.clone(), node);
    }
    for row in &ending {
        locked.ending.insert(row.parse(0)?);
    }
    Ok(locked)
}

fn read_slot(row: &Row) -> Result<ChosenSlot, StoreError> {
    let text = |at: usize| Ok::<_, StoreError>(row.opt_text(at)?.map(str::to_owned));
    let mode: FabricClaimMode = row.parse(12)?;
    let mut slot = ChosenSlot {
        id: row.parse(0)?,
        node_id: row.parse(1)?,
        profile: row.text(2)?.to_owned(),
        state: row.parse(3)?,
        drifted: row.flag(4)?,
        gpu_pci_address: text(5)?,
        gpu_uuid: text(6)?,
        gpu_module_id: row.opt_int(7)?,
        nvme_identity: text(8)?,
        fabric_vf_pci_address: text(9)?,
        complete: false,
        use_generation: row.int(14)?,
        version: row.int(15)?,
        last_end: row.opt_timestamp(16)?,
    };
    // Only a laboratory's slot does without a GPU and a fabric function.
    let has_devices = slot.profile == LAB_PROFILE
        || (slot.gpu_pci_address.is_some()
            && mode == FabricClaimMode::PerSlotVf
            && slot.fabric_vf_pci_address.is_some());
    slot.complete = has_devices
        && slot.gpu_module_id.is_some()
        && slot.nvme_identity.is_some()
        && row.opt_text(10)?.is_some()
        && row.opt_text(11)?.is_some()
        && row.opt_int(13)?.is_some();
    Ok(slot)
}

fn read_node(row: &Row) -> Result<ChosenNode, StoreError> {
    Ok(ChosenNode {
        id: row.parse(0)?,
        name: row.text(1)?.to_owned(),
        pool_id: row.parse(2)?,
        region_id: row.parse(3)?,
        slices_enabled: row.flag(4)?,
        state: row.parse(5)?,
        desired: row.parse(6)?,
        promoted: row.opt_timestamp(7)?.is_some(),
        occupancy: row.parse(8)?,
        slots: row.int(9)?,
        use_generation: row.int(10)?,
        version: row.int(11)?,
        last_end: row.opt_timestamp(12)?,
    })
}

/// Reserves slots and begins a new use of each (`use_generation` + 1), all or none. `StaleVersion` when one has moved on
/// or is not `available`.
pub fn reserve_slots(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, slots: &[&ChosenSlot]) -> Result<(), StoreError> {
    slots::reserve_seen(tx, stamp, slots.iter().map(|slot| (&slot.id, slot.version, slot.state)), Some(PLACED))
}

/// Begins a new use of whole nodes, all or none.
pub fn raise_nodes(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, nodes: &[&ChosenNode]) -> Result<(), StoreError> {
    if nodes.is_empty() {
        return Ok(());
    }
    let mut rows = Batch::update(&RAISE_NODES);
    for node in nodes {
        rows.push([(&node.id).into(), node.version.into(), (node.use_generation + 1).into()]);
    }
    let changes: Vec<Change<'_>> = nodes
        .iter()
        .map(|node| Change::of(Noun::Node, What::Updated, node.id.as_str(), node.version + 1).because(Some("claimed")))
        .collect();
    record::changed_all(tx, stamp, &rows, &changes)
}

/// Moves free nodes to what they are about to carry, all or none. `StaleVersion` when one is not free any more.
pub fn occupy(tx: &mut Tx<'_>, nodes: &[(&NodeId, OccupancyMode)]) -> Result<(), StoreError> {
    let mut rows = Batch::update(&OCCUPY);
    for (id, mode) in nodes {
        rows.push([(*id).into(), OccupancyMode::Free.as_str().into(), mode.as_str().into()]);
    }
    if model::planted!(SliceBesideBareMetal) {
        return tx.execute_bulk(&rows).map(drop);
    }
    tx.post_bulk(&rows)
}

/// Moves wishes to `reserved` on their nodes, each as the SKU that it is sold as, all or none.
pub fn reserve(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, placed: &[(&WishRow, &NodeId)]) -> Result<(), StoreError> {
    let (mut rows, now, to) = (Batch::update(&RESERVE), stamp.now, State::Reserved.as_str());
    for (wish, node_id) in placed {
        let (id, node_id) = ((&wish.id).into(), (*node_id).into());
        rows.push([id, wish.version.into(), to.into(), node_id, now.into(), now.into(), (&wish.sku_id).into()]);
    }
    let changes: Vec<Change<'_>> = placed
        .iter()
        .map(|(wish, _)| {
            Change::of(Noun::Allocation, What::StateChanged, wish.id.as_str(), wish.version + 1)
                .within(Some(&wish.tenant_id), Some(&wish.project_id))
                .states(Some(State::Requested.as_str()), to)
                .because(Some(PLACED))
        })
        .collect();
    record::changed_all(tx, stamp, &rows, &changes)
}
