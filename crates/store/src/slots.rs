//! Slots: approved bundles of devices on one node, sold one claim at a time.
//!
//! ```text
//! disabled ──▶ available ── reserve (use_generation + 1) ──▶ reserved ──▶ in_use ──▶ wiping ──▶ available
//!                  ▲                                             └────────┴──▶ cleanup_blocked ──┘ │
//!                  └────────────────────────── only with a proof of this use ──────────────────────┘
//! ```
//!
//! Two rules are in the statements themselves, whoever calls: a slot is reserved only out of `available`, and becomes
//! `available` only unused, with a stored proof for its current use that answers its current challenge, or with an override
//! of its current use that a second operator has just approved.

use std::collections::{BTreeMap, BTreeSet};

use model::event::{Change as What, Noun};
use model::supply::{FabricClaimMode, SlotState};
use model::{AllocationId, NodeId, PoolId, SlotId, Timestamp};

use crate::living::{Life, Seen, life_begins_anew, life_columns, wait_ends};
use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::value::keys;
use crate::{Batch, BulkInsert, BulkUpdate, Kind, Row, StoreError, Tx};

/// The devices and addresses of a slot. A slot is sellable only when none of them is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotParts {
    /// PCI address of the GPU.
    pub gpu_pci_address: Option<String>,
    /// The GPU's own identity.
    pub gpu_uuid: Option<String>,
    /// The GPU's place on its board, the number that partitions are written in.
    pub gpu_module_id: Option<i64>,
    /// Identity of the raw disk (WWID, EUI or serial; never size).
    pub nvme_identity: Option<String>,
    /// MAC of the management interface.
    pub mgmt_mac: Option<String>,
    /// Private address.
    pub private_ip: Option<String>,
    /// How the slot takes part in the fabric.
    pub fabric_claim_mode: FabricClaimMode,
    /// PCI address of its fabric function.
    pub fabric_vf_pci_address: Option<String>,
    /// NUMA node.
    pub numa_node: Option<i64>,
    /// The PCIe switch of its node that the GPU hangs off.
    pub pcie_switch: Option<i64>,
    /// The rail of the fabric that its function is on.
    pub rail: Option<i64>,
    /// The partitions it is part of, as JSON.
    pub partition_ids: String,
    /// Anything else about its capacity, as JSON.
    pub capacity_metadata: String,
}

/// An operator's word about a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The devices as they were approved, as JSON: what later discoveries are compared with.
    pub devices: String,
    /// Who said so.
    pub by: String,
}

/// One slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotRow {
    /// Its id.
    pub id: SlotId,
    /// Its node.
    pub node_id: NodeId,
    /// What one slot of this kind gets.
    pub profile: String,
    /// Where it stands between being sold and being sold again.
    pub state: SlotState,
    /// Its devices.
    pub parts: SlotParts,
    /// What an operator approved, and who.
    pub approval: Option<Approval>,
    /// When.
    pub approved: Option<Timestamp>,
    /// The host shows something else than what was approved; the slot is not sold.
    pub drifted: bool,
    /// Raised in the transaction that claims it, before any tenant code can run.
    pub use_generation: i64,
    /// The challenge that the next proof must answer.
    pub wipe_nonce: Option<String>,
    /// A word about its health.
    pub health_state: String,
    /// A sentence about its health.
    pub health_detail: String,
    /// Waits, looks and faults.
    pub life: Life,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl SlotRow {
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: self.life.look }
    }
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Slot, what, self.id.as_str(), self.version + 1)
    }
    fn entering(&self, state: SlotState) -> Change<'_> {
        self.change(What::StateChanged).states(Some(self.state.as_str()), state.as_str())
    }
}

/// What a map of the fleet shows of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotCell {
    /// Its id.
    pub id: SlotId,
    /// Its node.
    pub node_id: NodeId,
    /// Its GPU's place on the board.
    pub gpu_module_id: Option<i64>,
    /// Where it stands between being sold and being sold again.
    pub state: SlotState,
    /// The host shows something else than what was approved.
    pub drifted: bool,
    /// Who has a claim on it now, or on the whole node.
    pub allocation_id: Option<AllocationId>,
}

/// A slot to record.
#[derive(Debug, Clone)]
pub struct SlotNew {
    /// Its id.
    pub id: SlotId,
    /// Its node.
    pub node_id: NodeId,
    /// What one slot of this kind gets.
    pub profile: String,
    /// Approved for sale; an incomplete slot cannot be.
    pub available: bool,
    /// Its devices.
    pub parts: SlotParts,
    /// Who approved it; none for slots that were there from the start.
    pub approval: Option<Approval>,
}

/// What is known about the health of a slot.
#[derive(Debug, Clone, Copy)]
pub struct Health<'a> {
    /// A word.
    pub state: &'a str,
    /// A sentence.
    pub detail: &'a str,
}

macro_rules! columns {
    () => {
        concat!(
            "s.id, s.node_id, s.profile, s.state, s.gpu_pci_address, s.gpu_uuid, s.gpu_module_id, s.nvme_identity, ",
            "s.mgmt_mac, s.private_ip, s.fabric_claim_mode, s.fabric_vf_pci_address, s.numa_node, s.partition_ids, ",
            "s.capacity_metadata, s.use_generation, s.wipe_nonce, s.health_state, s.health_detail, s.version, ",
            "s.created_us, s.drifted, s.approved, s.approved_by, s.approved_us, s.pcie_switch, s.rail, ",
            life_columns!("s")
        )
    };
}
macro_rules! selected {
    () => {
        concat!("SELECT ", columns!(), " FROM node_resource_slots s")
    };
}
macro_rules! chosen {
    () => {
        concat!(
            selected!(),
            " WHERE s.id IN (SELECT chosen.key FROM json_each(json(CAST($1 AS TEXT))) AS chosen) ORDER BY s.id"
        )
    };
}

static INSERTS: BulkInsert = BulkInsert {
    table: "node_resource_slots",
    columns: &[
        ("id", Kind::Text),
        ("node_id", Kind::Text),
        ("profile", Kind::Text),
        ("state", Kind::Text),
        ("gpu_pci_address", Kind::Text),
        ("gpu_uuid", Kind::Text),
        ("gpu_module_id", Kind::Int),
        ("nvme_identity", Kind::Text),
        ("mgmt_mac", Kind::Text),
        ("private_ip", Kind::Text),
        ("fabric_claim_mode", Kind::Text),
        ("fabric_vf_pci_address", Kind::Text),
        ("numa_node", Kind::Int),
        ("partition_ids", Kind::Text),
        ("capacity_metadata", Kind::Text),
        ("health_state", Kind::Text),
        ("health_detail", Kind::Text),
        ("state_since_us", Kind::Int),
        ("version", Kind::Int),
        ("created_us", Kind::Int),
        ("approved", Kind::Text),
        ("approved_by", Kind::Text),
        ("approved_us", Kind::Int),
        ("pcie_switch", Kind::Int),
        ("rail", Kind::Int),
    ],
};
static RESERVE: BulkUpdate = BulkUpdate {
    table: "node_resource_slots",
    matches: &[("id", Kind::Text), ("version", Kind::Int), ("state", Kind::Text)],
    sets: &[("state", Kind::Text), ("state_since_us", Kind::Int)],
    // Nobody need look at it: its allocation moves it on. (And no index changes, which a PostgreSQL of many indexes thanks.)
    also: concat!("look_us = NULL, use_generation = use_generation + 1, wipe_nonce = NULL, ", wait_ends!()),
};
static MOVE: BulkUpdate = BulkUpdate {
    table: "node_resource_slots",
    matches: &[("id", Kind::Text), ("version", Kind::Int)],
    sets: &[("state", Kind::Text), ("state_since_us", Kind::Int), ("look_us", Kind::Int)],
    also: wait_ends!(),
};
static CHALLENGE: BulkUpdate = BulkUpdate {
    table: "node_resource_slots",
    matches: &[("id", Kind::Text), ("version", Kind::Int), ("use_generation", Kind::Int)],
    sets: &[("wipe_nonce", Kind::Text)],
    also: "version = version + 1",
};

const GET: &str = concat!(selected!(), " WHERE s.id = $1");
const OF_NODE: &str = concat!(selected!(), " WHERE s.node_id = $1 ORDER BY s.id");
const OF_ALLOCATION: &str = concat!(
    selected!(),
    " JOIN allocation_resource_claims c ON c.slot_id = s.id AND c.active_mode IS NOT NULL ",
    "WHERE c.allocation_id = $1 ORDER BY s.id"
);
const LIST: &str = concat!(
    selected!(),
    " WHERE s.id > $1 AND (CAST($3 AS TEXT) IS NULL OR s.node_id = $3) ",
    "AND (CAST($4 AS TEXT) IS NULL OR s.state = $4) ORDER BY s.id LIMIT $2"
);
// Each join finds one claim at most, by the index that keeps it so.
const SURVEY: &str = "SELECT s.id, s.node_id, s.gpu_module_id, s.state, s.drifted, \
    COALESCE(c.allocation_id, w.allocation_id) FROM node_resource_slots s \
    LEFT JOIN allocation_resource_claims c ON c.slot_id = s.id AND c.active_mode = 'sliced' \
    LEFT JOIN allocation_resource_claims w ON w.node_id = s.node_id AND w.active_mode = 'exclusive' \
    WHERE s.id > $1 AND (CAST($3 AS TEXT) IS NULL OR s.node_id IN (SELECT n.id FROM nodes n WHERE n.pool_id = $3)) \
    AND (CAST($4 AS TEXT) IS NULL OR s.state = $4) ORDER BY s.id LIMIT $2";
const CHOSEN: &str = chosen!();
const CHOSEN_LOCKED: &str = concat!(chosen!(), " FOR UPDATE OF s SKIP LOCKED");
const ENTER: &str = concat!(
    "UPDATE node_resource_slots SET state = $3, health_state = $5, health_detail = $6, ",
    life_begins_anew!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2 AND ($3 <> 'available' OR use_generation = 0 OR EXISTS ",
    "(SELECT 1 FROM wipe_proofs p WHERE p.slot_id = node_resource_slots.id ",
    "AND p.use_generation = node_resource_slots.use_generation AND p.nonce = node_resource_slots.wipe_nonce) ",
    "OR EXISTS (SELECT 1 FROM wipe_overrides o WHERE o.slot_id = node_resource_slots.id ",
    "AND o.use_generation = node_resource_slots.use_generation AND o.state = 'approved'))"
);

// What is for sale may stay so: it was proved clean, or two operators said so.
// Only what nobody holds: a slot that is claimed keeps the devices it was claimed with.
const REAPPROVE: &str = concat!(
    "UPDATE node_resource_slots SET state = $3, gpu_pci_address = $5, gpu_uuid = $6, gpu_module_id = $7, ",
    "nvme_identity = $8, mgmt_mac = $9, private_ip = $10, fabric_claim_mode = $11, fabric_vf_pci_address = $12, ",
    "numa_node = $13, partition_ids = $14, approved = $15, approved_by = $16, approved_us = $4, pcie_switch = $17, ",
    "rail = $18, ",
    life_begins_anew!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2 AND state IN ('disabled', 'available', 'cleanup_blocked') ",
    "AND ($3 <> 'available' OR use_generation = 0 OR state = 'available' OR EXISTS (SELECT 1 FROM wipe_proofs p ",
    "WHERE p.slot_id = node_resource_slots.id AND p.use_generation = node_resource_slots.use_generation ",
    "AND p.nonce = node_resource_slots.wipe_nonce))"
);
const SET_DRIFTED: &str = "UPDATE node_resource_slots SET drifted = $3, version = version + 1 \
    WHERE id = $1 AND version = $2";
const BEGIN_ANEW: &str = concat!(
    "UPDATE node_resource_slots SET ",
    life_begins_anew!("$3"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
macro_rules! having {
    ($column:literal) => {
        concat!(
            selected!(),
            " WHERE s.",
            $column,
            " IN (SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given) ORDER BY s.id"
        )
    };
}
const HAVING_GPU: &str = having!("gpu_uuid");
const HAVING_NVME: &str = having!("nvme_identity");
const HAVING_MAC: &str = having!("mgmt_mac");
const HAVING_IP: &str = having!("private_ip");
const SET_HEALTH: &str = "UPDATE node_resource_slots SET health_state = $3, health_detail = $4, version = version + 1 \
    WHERE id = $1 AND version = $2";

fn read(row: &Row) -> Result<SlotRow, StoreError> {
    let text = |at: usize| Ok::<_, StoreError>(row.opt_text(at)?.map(str::to_owned));
    Ok(SlotRow {
        id: row.parse(0)?,
        node_id: row.parse(1)?,
        profile: row.text(2)?.to_owned(),
        state: row.parse(3)?,
        parts: SlotParts {
            gpu_pci_address: text(4)?,
            gpu_uuid: text(5)?,
            gpu_module_id: row.opt_int(6)?,
            nvme_identity: text(7)?,
            mgmt_mac: text(8)?,
            private_ip: text(9)?,
            fabric_claim_mode: row.parse(10)?,
            fabric_vf_pci_address: text(11)?,
            numa_node: row.opt_int(12)?,
            pcie_switch: row.opt_int(25)?,
            rail: row.opt_int(26)?,
            partition_ids: row.text(13)?.to_owned(),
            capacity_metadata: row.text(14)?.to_owned(),
        },
        use_generation: row.int(15)?,
        wipe_nonce: text(16)?,
        health_state: row.text(17)?.to_owned(),
        health_detail: row.text(18)?.to_owned(),
        version: row.int(19)?,
        created: row.timestamp(20)?,
        drifted: row.flag(21)?,
        approval: match row.opt_text(22)? {
            None => None,
            Some(devices) => Some(Approval { devices: devices.to_owned(), by: row.text(23)?.to_owned() }),
        },
        approved: row.opt_timestamp(24)?,
        life: Life::read(row, 27)?,
    })
}

/// Records new slots. A device, address or MAC that another slot has is refused, and so is an incomplete slot for sale.
pub fn insert_all(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: &[SlotNew]) -> Result<(), StoreError> {
    let mut rows = Batch::insert(&INSERTS);
    let mut changes = Vec::with_capacity(new.len());
    for slot in new {
        let state = if slot.available { SlotState::Available } else { SlotState::Disabled }.as_str();
        let parts = &slot.parts;
        rows.push([
            (&slot.id).into(),
            (&slot.node_id).into(),
            slot.profile.as_str().into(),
            state.into(),
            parts.gpu_pci_address.as_deref().into(),
            parts.gpu_uuid.as_deref().into(),
            parts.gpu_module_id.into(),
            parts.nvme_identity.as_deref().into(),
            parts.mgmt_mac.as_deref().into(),
            parts.private_ip.as_deref().into(),
            parts.fabric_claim_mode.as_str().into(),
            parts.fabric_vf_pci_address.as_deref().into(),
            parts.numa_node.into(),
            parts.partition_ids.as_str().into(),
            parts.capacity_metadata.as_str().into(),
            "unknown".into(),
            "".into(),
            stamp.now.into(),
            1_i64.into(),
            stamp.now.into(),
            slot.approval.as_ref().map(|approval| approval.devices.as_str()).into(),
            slot.approval.as_ref().map_or("", |approval| approval.by.as_str()).into(),
            slot.approval.as_ref().map(|_| stamp.now).into(),
            parts.pcie_switch.into(),
            parts.rail.into(),
        ]);
        changes.push(Change::of(Noun::Slot, What::Created, slot.id.as_str(), 1).states(None, state));
    }
    record::created_all(tx, stamp, &rows, &changes)
}

/// One slot.
pub fn get(tx: &mut Tx<'_>, id: &SlotId) -> Result<Option<SlotRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The slots of a node.
pub fn of_node(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<Vec<SlotRow>, StoreError> {
    tx.query(OF_NODE, &[node_id.into()])?.iter().map(read).collect()
}

/// The slots that an allocation holds claims on now.
pub fn of_allocation(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Vec<SlotRow>, StoreError> {
    tx.query(OF_ALLOCATION, &[id.into()])?.iter().map(read).collect()
}

/// Slots in id order, of one node and in one state where given.
pub fn list(
    tx: &mut Tx<'_>,
    node_id: Option<&NodeId>,
    state: Option<SlotState>,
    page: Page<'_>,
) -> Result<Vec<SlotRow>, StoreError> {
    let state = state.map(SlotState::as_str);
    tx.query(LIST, &[page.after.into(), page.rows().into(), node_id.into(), state.into()])?.iter().map(read).collect()
}

/// The slots of the whole fleet in id order, of one pool and in one state where given, with who holds them.
pub fn survey(
    tx: &mut Tx<'_>,
    pool_id: Option<&PoolId>,
    state: Option<SlotState>,
    page: Page<'_>,
) -> Result<Vec<SlotCell>, StoreError> {
    let params = [page.after.into(), page.rows().into(), pool_id.into(), state.map(SlotState::as_str).into()];
    let read = |row: &Row| {
        Ok(SlotCell {
            id: row.parse(0)?,
            node_id: row.parse(1)?,
            gpu_module_id: row.opt_int(2)?,
            state: row.parse(3)?,
            drifted: row.flag(4)?,
            allocation_id: row.opt_parse(5)?,
        })
    };
    tx.query(SURVEY, &params)?.iter().map(read).collect()
}

/// The chosen slots as they are now, in id order, locked until the transaction ends; what another transaction has
/// locked is left out. On SQLite the write transaction itself is the lock.
pub fn lock_chosen(tx: &mut Tx<'_>, ids: &[SlotId]) -> Result<Vec<SlotRow>, StoreError> {
    let sql = tx.dialect().pick(CHOSEN, CHOSEN_LOCKED);
    tx.query(sql, &[keys(ids.iter().map(SlotId::as_str))])?.iter().map(read).collect()
}

/// Reserves slots and begins a new use of each (`use_generation` + 1), all or none. `StaleVersion` when one has moved
/// on or is not `available`.
pub fn reserve_all(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, slots: &[SlotRow]) -> Result<(), StoreError> {
    reserve_seen(tx, stamp, slots.iter().map(|slot| (&slot.id, slot.version, slot.state)), None)
}

/// The same for slots of which only id, version and state were read.
pub(crate) fn reserve_seen<'a>(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slots: impl Iterator<Item = (&'a SlotId, i64, SlotState)>,
    reason: Option<&'static str>,
) -> Result<(), StoreError> {
    let (mut rows, mut changes, to) = (Batch::update(&RESERVE), vec![], SlotState::Reserved.as_str());
    for (id, version, state) in slots {
        let from = if model::planted!(TwoClaimsOnOneSlot) { state } else { SlotState::Available };
        rows.push([id.into(), version.into(), from.as_str().into(), to.into(), stamp.now.into()]);
        let change = Change::of(Noun::Slot, What::StateChanged, id.as_str(), version + 1);
        changes.push(change.states(Some(state.as_str()), to).because(reason));
    }
    record::changed_all(tx, stamp, &rows, &changes)
}

/// Moves slots to a state, all or none; their health stays as it is. `available` is refused here: it needs a proof
/// each.
pub fn enter_all(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slots: &[SlotRow],
    state: SlotState,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    if state == SlotState::Available {
        return Err(StoreError::Other("slots become available one by one, each with its proof".into()));
    }
    let mut rows = Batch::update(&MOVE);
    for slot in slots {
        let now = stamp.now;
        rows.push([(&slot.id).into(), slot.version.into(), state.as_str().into(), now.into(), now.into()]);
    }
    let changes: Vec<_> = slots.iter().map(|slot| slot.entering(state).because(reason)).collect();
    record::changed_all(tx, stamp, &rows, &changes)
}

/// Moves a slot to a state. Into `available` only unused, with a stored proof for this use that answers the challenge, or
/// with an approved override of this use; otherwise `StaleVersion`, and the slot stays where it is.
pub fn enter(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slot: &SlotRow,
    state: SlotState,
    health: Health<'_>,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [
        (&slot.id).into(),
        slot.version.into(),
        state.as_str().into(),
        stamp.now.into(),
        health.state.into(),
        health.detail.into(),
    ];
    record::changed(tx, stamp, ENTER, &params, slot.entering(state).because(reason))
}

/// Writes down what became known about a slot's health, without moving it.
pub fn set_health(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slot: &SlotRow,
    health: Health<'_>,
) -> Result<i64, StoreError> {
    let params = [(&slot.id).into(), slot.version.into(), health.state.into(), health.detail.into()];
    record::changed(tx, stamp, SET_HEALTH, &params, slot.change(What::Updated).because(Some(health.state)))
}

/// Gives each slot a fresh challenge that its next proof must answer, all or none.
pub fn challenge_all(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, slots: &[(&SlotRow, &str)]) -> Result<(), StoreError> {
    let mut rows = Batch::update(&CHALLENGE);
    for (slot, nonce) in slots {
        rows.push([(&slot.id).into(), slot.version.into(), slot.use_generation.into(), (*nonce).into()]);
    }
    let changes: Vec<_> =
        slots.iter().map(|(slot, _)| slot.change(What::Updated).because(Some("wipe_challenged"))).collect();
    record::changed_all(tx, stamp, &rows, &changes)
}

/// What slots are looked for by, on whatever node they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// GPUs, by their own identity.
    pub gpu_uuids: BTreeSet<String>,
    /// Disks, by their own identity.
    pub nvme_identities: BTreeSet<String>,
    /// Management addresses.
    pub mgmt_macs: BTreeSet<String>,
    /// Private addresses.
    pub private_ips: BTreeSet<String>,
}

/// The slots of the whole fleet that have one of these, each once.
pub fn having(tx: &mut Tx<'_>, marks: &Marks) -> Result<Vec<SlotRow>, StoreError> {
    let mut found = BTreeMap::new();
    for (sql, values) in [
        (HAVING_GPU, &marks.gpu_uuids),
        (HAVING_NVME, &marks.nvme_identities),
        (HAVING_MAC, &marks.mgmt_macs),
        (HAVING_IP, &marks.private_ips),
    ] {
        if values.is_empty() {
            continue;
        }
        let document: serde_json::Map<_, _> = values.iter().map(|value| (value.clone(), true.into())).collect();
        for row in &tx.query(sql, &[serde_json::Value::Object(document).to_string().into()])? {
            let slot = read(row)?;
            found.insert(slot.id.clone(), slot);
        }
    }
    Ok(found.into_values().collect())
}

/// Gives a slot that nobody holds other devices, and moves it to the state they allow. Into `available` only
/// unused, proved clean, or out of it. `StaleVersion` when it has moved on or is held.
pub fn reapprove(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slot: &SlotRow,
    state: SlotState,
    parts: &SlotParts,
    approval: &Approval,
) -> Result<i64, StoreError> {
    let params = [
        (&slot.id).into(),
        slot.version.into(),
        state.as_str().into(),
        stamp.now.into(),
        parts.gpu_pci_address.as_deref().into(),
        parts.gpu_uuid.as_deref().into(),
        parts.gpu_module_id.into(),
        parts.nvme_identity.as_deref().into(),
        parts.mgmt_mac.as_deref().into(),
        parts.private_ip.as_deref().into(),
        parts.fabric_claim_mode.as_str().into(),
        parts.fabric_vf_pci_address.as_deref().into(),
        parts.numa_node.into(),
        parts.partition_ids.as_str().into(),
        approval.devices.as_str().into(),
        approval.by.as_str().into(),
        parts.pcie_switch.into(),
        parts.rail.into(),
    ];
    let change = if state == slot.state { slot.change(What::Updated) } else { slot.entering(state) };
    record::changed(tx, stamp, REAPPROVE, &params, change.because(Some("approved_again")))
}

/// Notes that the host shows something else than what was approved, or does so no longer. No move: a tenant who holds
/// the slot is not touched.
pub fn set_drifted(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, slot: &SlotRow, drifted: bool) -> Result<i64, StoreError> {
    let reason = if drifted { "drifted" } else { "drift_cleared" };
    let params = [(&slot.id).into(), slot.version.into(), drifted.into()];
    record::changed(tx, stamp, SET_DRIFTED, &params, slot.change(What::Updated).because(Some(reason)))
}

/// Begins the slot's state anew at an operator's word: orders that were given before do not count any more.
pub fn begin_anew(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, slot: &SlotRow) -> Result<i64, StoreError> {
    let params = [(&slot.id).into(), slot.version.into(), stamp.now.into()];
    record::changed(tx, stamp, BEGIN_ANEW, &params, slot.change(What::Wished).because(Some("repair")))
}
