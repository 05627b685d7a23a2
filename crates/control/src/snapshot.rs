//! The leader's picture of the fleet: store rows turned into what the engine looks at, with the version at which each row
//! was seen, so that a verdict made on it can be checked. Nothing is decided here. A node whose row makes no sense is left
//! out, and said so, rather than stopping placement for everybody.
//!
//! ```text
//! load ──▶ the whole fleet, once
//!            ├─ claim ─▶ took            what this replica just decided, and then committed
//!            ├─ changed ─▶ adopt         what anybody committed since, by events; those nodes alone are read again
//!            └─ set_aside ─▶ bring_back  a node on which verdicts keep losing rests for a while
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

use engine::{
    Inventory, Policy, Request, Verdict,
    fleet::{Fleet as Views, NodeView, Occupant, SlotView},
};
use model::{
    AllocationId, NodeId, PoolId, ProjectId, RegionId, SlotId, TenantId, Timestamp,
    allocation::PlacementWishes,
    event::Noun,
    placement::{CoTenancy, Spread},
    sku::CapacityShape,
    supply::{GpuModel, OccupancyMode, SlotState},
};
use store::{
    StoreError, Tx,
    events::{self, Touched},
    fleet::{self, Fleet, FleetClaim, FleetNode, FleetSlot},
};
use topology::{DeviceField, ModuleId, Partitions};

/// After more events than this the whole fleet is read again; that is quicker.
const EVENTS_MAX: i64 = 50_000;

/// A picture, and what is needed to check a verdict made on it and to keep it current.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) inventory: Inventory,
    /// How far the event sequence had come when it was last brought up to date.
    pub(crate) version: i64,
    nodes: HashMap<NodeId, SeenNode>,
    node_of_slot: HashMap<SlotId, NodeId>,
    // What is being wiped, and where: it is nobody's, and will be free.
    wiping: BTreeMap<NodeId, Vec<SlotId>>,
    node_of_allocation: HashMap<AllocationId, NodeId>,
    pools: HashMap<PoolId, i64>,
    // Known, but not offered for a while. Ordered, because it is walked.
    aside: BTreeMap<NodeId, Aside>,
    // Whether a laboratory's nodes are offered at all.
    lab: bool,
}

#[derive(Debug)]
struct SeenNode {
    version: i64,
    region_id: RegionId,
    pool_id: PoolId,
    gpu_model: GpuModel,
    slots: Vec<(SlotId, i64)>,
    allocations: Vec<AllocationId>,
}

#[derive(Debug)]
struct Aside {
    until: Timestamp,
    view: Option<NodeView>,
}

/// What must be read again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Changed {
    /// Everything: something that concerns many nodes was changed.
    pub(crate) everything: bool,
    /// These nodes.
    pub(crate) nodes: BTreeSet<NodeId>,
    /// The nodes of these slots, which are new.
    pub(crate) slots: BTreeSet<SlotId>,
}

impl Changed {
    /// Whether the picture is current.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.everything && self.nodes.is_empty() && self.slots.is_empty()
    }
}

/// A place that a verdict chose, with the versions it was seen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) node_id: NodeId,
    pub(crate) node_version: i64,
    pub(crate) shape: CapacityShape,
    /// In id order.
    pub(crate) slots: Vec<(SlotId, i64)>,
}

/// Takes a picture, ranked by the policy of the house. A laboratory's nodes are in it only where they are offered.
pub(crate) fn load(tx: &mut Tx<'_>, lab: bool) -> Result<Snapshot, StoreError> {
    let (version, rows) = read(tx)?;
    Ok(Snapshot::new(version, &rows, Policy::default(), lab))
}

/// What a picture is made of: how far the event sequence has come, and every row.
pub(crate) fn read(tx: &mut Tx<'_>) -> Result<(i64, Fleet), StoreError> {
    // The number first: what is committed in between comes again, and is harmless; on one snapshot nothing is.
    Ok((events::head(tx)?, fleet::load(tx)?))
}

/// How far the event sequence has come, and what was changed after a number; none when so much was that it is quicker to
/// read everything.
pub(crate) fn news(
    tx: &mut Tx<'_>,
    after: i64,
    placed: events::Placed,
) -> Result<Option<(i64, Vec<Touched>)>, StoreError> {
    let far = events::head(tx)?.saturating_sub(after) > EVENTS_MAX;
    if far { Ok(None) } else { events::touched_since(tx, after, placed).map(Some) }
}

/// The rows of what changed.
pub(crate) fn read_changed(tx: &mut Tx<'_>, changed: &Changed) -> Result<(BTreeSet<NodeId>, Fleet), StoreError> {
    let mut nodes = changed.nodes.clone();
    if !changed.slots.is_empty() {
        nodes.extend(fleet::nodes_of_slots(tx, &changed.slots)?);
    }
    let rows = fleet::load_nodes(tx, &nodes)?;
    Ok((nodes, rows))
}

impl Snapshot {
    /// A picture of rows that were read together.
    pub(crate) fn new(version: i64, rows: &Fleet, policy: Policy, lab: bool) -> Self {
        let mut snapshot = Self {
            inventory: Inventory::new(&Views::default(), policy),
            version,
            nodes: HashMap::with_capacity(rows.nodes.len()),
            node_of_slot: HashMap::with_capacity(rows.slots.len()),
            wiping: BTreeMap::new(),
            node_of_allocation: HashMap::new(),
            pools: HashMap::new(),
            aside: BTreeMap::new(),
            lab,
        };
        snapshot.take_in(rows);
        snapshot
    }

    /// What of this is news, given what was committed up to `head`.
    pub(crate) fn changed(&mut self, head: i64, touched: &[Touched]) -> Changed {
        let mut changed = Changed::default();
        self.version = self.version.max(head);
        if model::planted!(InventoryStands) {
            return changed;
        }
        for Touched { noun, subject_id, version } in touched {
            match noun {
                Noun::Node => {
                    let Ok(id) = subject_id.parse::<NodeId>() else { continue };
                    if self.nodes.get(&id).is_none_or(|seen| seen.version < *version) {
                        changed.nodes.insert(id);
                    }
                }
                Noun::Slot => {
                    let Ok(id) = subject_id.parse::<SlotId>() else { continue };
                    match self.node_of_slot.get(&id) {
                        None => drop(changed.slots.insert(id)),
                        Some(node) if self.slot_version(node, &id) < Some(*version) => {
                            changed.nodes.insert(node.clone());
                        }
                        Some(_) => (),
                    }
                }
                Noun::Pool => {
                    let known = subject_id.parse().ok().and_then(|id: PoolId| self.pools.get(&id));
                    changed.everything |= known.is_some_and(|known| known < version);
                }
                Noun::Allocation => {
                    let ended = subject_id.parse().ok().and_then(|id: AllocationId| self.node_of_allocation.get(&id));
                    changed.nodes.extend(ended.cloned());
                }
                _ => (),
            }
        }
        changed
    }

    /// Takes over what was read of some nodes; one that was not found is gone.
    pub(crate) fn adopt(&mut self, nodes: &BTreeSet<NodeId>, rows: &Fleet) {
        nodes.iter().for_each(|id| self.forget(id));
        self.take_in(rows);
    }

    /// The answer to one request. Nodes that were set aside are not offered; where nothing else would do they are looked at
    /// too, so that a refusal counts every node, and the answer may then be on one of them.
    pub(crate) fn place(&mut self, request: &Request) -> (Verdict, bool) {
        let verdict = self.inventory.place(request);
        if self.aside.is_empty() || matches!(verdict, Verdict::Placed(_)) {
            return (verdict, false);
        }
        for view in self.aside.values().filter_map(|aside| aside.view.as_ref()) {
            self.inventory.put(view);
        }
        let verdict = self.inventory.place(request);
        for id in self.aside.keys() {
            self.inventory.remove(id);
        }
        let on_aside = matches!(verdict, Verdict::Placed(_));
        (verdict, on_aside)
    }

    /// Takes slots for an allocation in the picture, before they are in the store, so that the next verdict sees it.
    pub(crate) fn claim(
        &mut self,
        node_id: &NodeId,
        shape: CapacityShape,
        occupant: Occupant,
    ) -> Result<Chosen, engine::Unclaimable> {
        let seen = self.nodes.get(node_id).ok_or(engine::Unclaimable::NoSuchNode)?;
        let mut slots = Vec::with_capacity(occupant.slot_ids.len());
        for id in &occupant.slot_ids {
            let known = seen.slots.iter().find(|(slot, _)| slot == id);
            slots.push(known.cloned().ok_or_else(|| engine::Unclaimable::NotFree(id.clone()))?);
        }
        slots.sort();
        let chosen = Chosen { node_id: node_id.clone(), node_version: seen.version, shape, slots };
        self.inventory.claim(node_id, shape, &occupant)?;
        Ok(chosen)
    }

    /// Takes over that the store has what was chosen: each row that was changed has its next version.
    pub(crate) fn took(&mut self, chosen: &Chosen, allocation_id: &AllocationId) {
        let Some(seen) = self.nodes.get_mut(&chosen.node_id) else { return };
        for (id, version) in &chosen.slots {
            if let Some(slot) = seen.slots.iter_mut().find(|(slot, _)| slot == id) {
                slot.1 = version + 1;
            }
        }
        if chosen.shape == CapacityShape::Baremetal {
            seen.version = chosen.node_version + 1;
        }
        seen.allocations.push(allocation_id.clone());
        self.node_of_allocation.insert(allocation_id.clone(), chosen.node_id.clone());
    }

    /// Where an allocation is.
    pub(crate) fn node_of(&self, allocation: &AllocationId) -> Option<&NodeId> {
        self.node_of_allocation.get(allocation)
    }

    /// What is being wiped, and where.
    pub(crate) fn wiping(&self) -> &BTreeMap<NodeId, Vec<SlotId>> {
        &self.wiping
    }

    /// Whether so many of these could be placed at once if nothing at all ran, as far as the number of slots tells.
    pub(crate) fn could_ever_place(&self, request: &Request, count: u32) -> bool {
        let suits = |seen: &&SeenNode| {
            seen.region_id == request.region_id
                && seen.gpu_model == request.gpu_model
                && request.pool_id.as_ref().is_none_or(|pool| *pool == seen.pool_id)
        };
        let per_node = |seen: &SeenNode| match request.shape {
            CapacityShape::GpuSlice => seen.slots.len() / (request.gpu_count.max(1) as usize),
            CapacityShape::Baremetal => usize::from(seen.slots.len() >= request.gpu_count as usize),
        };
        let mut places = 0_usize;
        self.nodes.values().filter(suits).any(|seen| {
            places = places.saturating_add(per_node(seen));
            places >= count as usize
        })
    }

    /// Offers nothing on a node until then. What it looks like must be read and adopted afterwards.
    pub(crate) fn set_aside(&mut self, id: NodeId, until: Timestamp) {
        self.inventory.remove(&id);
        self.aside.insert(id, Aside { until, view: None });
    }

    /// Offers again what has rested long enough.
    pub(crate) fn bring_back(&mut self, now: Timestamp) {
        let rested = |aside: &Aside| aside.until <= now;
        let back: Vec<NodeId> =
            self.aside.iter().filter(|(_, aside)| rested(aside)).map(|(id, _)| id.clone()).collect();
        for id in back {
            if let Some(view) = self.aside.remove(&id).and_then(|aside| aside.view) {
                self.inventory.put(&view);
            }
        }
    }

    /// The first question that this picture and another one answer differently.
    pub(crate) fn differs_from(&self, other: &Self) -> Option<String> {
        // One that was made blind on purpose is not compared.
        let blind = model::planted!(SliceBesideBareMetal) || model::planted!(TwoClaimsOnOneSlot);
        if blind || !self.aside.is_empty() {
            return None;
        }
        let (mine, theirs) = (self.inventory.availability(), other.inventory.availability());
        if mine != theirs {
            return Some(format!("it has {mine:?}, the store {theirs:?}"));
        }
        let sizes = [(CapacityShape::Baremetal, 8), (CapacityShape::GpuSlice, 1), (CapacityShape::GpuSlice, 2)];
        let larger = [(CapacityShape::GpuSlice, 4), (CapacityShape::GpuSlice, 8)];
        for (region_id, gpu_model, _) in theirs.into_keys() {
            for (shape, gpu_count) in sizes.into_iter().chain(larger) {
                let request = stranger(shape, gpu_count, gpu_model, region_id.clone());
                let (mine, theirs) = (self.inventory.place(&request), other.inventory.place(&request));
                if mine != theirs {
                    return Some(format!("it answers {gpu_count} GPUs as {shape} with {mine:?}, the store {theirs:?}"));
                }
            }
        }
        None
    }

    fn slot_version(&self, node: &NodeId, slot: &SlotId) -> Option<i64> {
        let seen = self.nodes.get(node)?;
        seen.slots.iter().find(|(id, _)| id == slot).map(|(_, version)| *version)
    }

    fn forget(&mut self, id: &NodeId) {
        self.inventory.remove(id);
        self.wiping.remove(id);
        let Some(seen) = self.nodes.remove(id) else { return };
        for (slot, _) in &seen.slots {
            self.node_of_slot.remove(slot);
        }
        for allocation in &seen.allocations {
            self.node_of_allocation.remove(allocation);
        }
    }

    fn take_in(&mut self, rows: &Fleet) {
        let mut slots: HashMap<&NodeId, Vec<&FleetSlot>> = HashMap::with_capacity(rows.nodes.len());
        for slot in &rows.slots {
            slots.entry(&slot.node_id).or_default().push(slot);
        }
        let mut claims: HashMap<&NodeId, Vec<&FleetClaim>> = HashMap::new();
        for claim in &rows.claims {
            claims.entry(&claim.node_id).or_default().push(claim);
        }
        for node in &rows.nodes {
            let (slots, claims) = (slots.remove(&node.id).unwrap_or_default(), claims.remove(&node.id));
            self.take_in_node(node, &slots, &claims.unwrap_or_default());
        }
    }

    fn take_in_node(&mut self, node: &FleetNode, slots: &[&FleetSlot], claims: &[&FleetClaim]) {
        self.pools.insert(node.pool_id.clone(), node.pool_version);
        let versions = slots.iter().map(|slot| (slot.id.clone(), slot.version)).collect();
        let allocations: BTreeSet<AllocationId> = claims.iter().map(|claim| claim.allocation_id.clone()).collect();
        for slot in slots {
            self.node_of_slot.insert(slot.id.clone(), node.id.clone());
        }
        for allocation in &allocations {
            self.node_of_allocation.insert(allocation.clone(), node.id.clone());
        }
        let wiping = slots.iter().filter(|slot| slot.state == SlotState::Wiping);
        let wiping: Vec<SlotId> = wiping.map(|slot| slot.id.clone()).collect();
        if !wiping.is_empty() {
            self.wiping.insert(node.id.clone(), wiping);
        }
        let seen = SeenNode {
            version: node.version,
            region_id: node.region_id.clone(),
            pool_id: node.pool_id.clone(),
            gpu_model: node.gpu_model,
            slots: versions,
            allocations: allocations.into_iter().collect(),
        };
        self.nodes.insert(node.id.clone(), seen);
        if node.gpu_model.is_lab() && !self.lab {
            return;
        }
        let view = match node_view(node, slots, claims) {
            Ok(view) => view,
            Err(why) => {
                tracing::error!(alert = "node_unreadable", node = %node.id, why, "left out of placement");
                return;
            }
        };
        match self.aside.get_mut(&node.id) {
            Some(aside) => aside.view = Some(view),
            None => self.inventory.put(&view),
        }
    }
}

/// A request of somebody who is nowhere yet and wishes nothing else.
pub(crate) fn stranger(shape: CapacityShape, gpu_count: u32, gpu_model: GpuModel, region_id: RegionId) -> Request {
    let at = Timestamp::from_micros(0);
    Request {
        shape,
        gpu_model,
        gpu_count,
        region_id,
        pool_id: None,
        tenant_id: TenantId::from_parts(at, [0; 10]),
        project_id: ProjectId::from_parts(at, [0; 10]),
        group: None,
        spread: Spread::None,
        co_tenancy: CoTenancy::Any,
    }
}

fn node_view(node: &FleetNode, slots: &[&FleetSlot], claims: &[&FleetClaim]) -> Result<NodeView, String> {
    // A host that was not looked at yet has none.
    let partitions: Option<Partitions> =
        serde_json::from_str(&node.partitions).map_err(|error| format!("its partitions: {error}"))?;
    let blind = model::planted!(SliceBesideBareMetal);
    let claimed: BTreeSet<&SlotId> = claims.iter().filter_map(|claim| claim.slot_id.as_ref()).collect();
    Ok(NodeView {
        id: node.id.clone(),
        region_id: node.region_id.clone(),
        pool_id: node.pool_id.clone(),
        gpu_model: node.gpu_model,
        slices_enabled: node.slices_enabled,
        state: node.state,
        desired: node.desired,
        promoted: node.promoted,
        occupancy: if blind { OccupancyMode::Free } else { node.occupancy },
        partitions,
        slots: slots.iter().map(|slot| slot_view(slot, claimed.contains(&slot.id))).collect(),
        occupants: occupants(slots, claims)?,
    })
}

fn occupants(slots: &[&FleetSlot], claims: &[&FleetClaim]) -> Result<Vec<Occupant>, String> {
    let mut all: BTreeMap<&AllocationId, Occupant> = BTreeMap::new();
    for claim in claims {
        let holds = match &claim.slot_id {
            Some(slot) => vec![slot.clone()],
            None => slots.iter().map(|slot| slot.id.clone()).collect(),
        };
        if let Some(known) = all.get_mut(&claim.allocation_id) {
            known.slot_ids.extend(holds);
            continue;
        }
        let wishes = wishes(&claim.placement).map_err(|why| format!("allocation {}: {why}", claim.allocation_id))?;
        let occupant = Occupant {
            allocation_id: claim.allocation_id.clone(),
            tenant_id: claim.tenant_id.clone(),
            project_id: claim.project_id.clone(),
            group: wishes.group.map(|group| group.to_string()),
            co_tenancy: wishes.co_tenancy,
            slot_ids: holds,
        };
        all.insert(&claim.allocation_id, occupant);
    }
    Ok(all.into_values().collect())
}

/// What an owner wished about the place, as it is stored.
pub(crate) fn wishes(text: &str) -> Result<PlacementWishes, String> {
    if text == "{}" {
        return Ok(PlacementWishes::default());
    }
    serde_json::from_str(text).map_err(|error| format!("its wishes about the place: {error}"))
}

fn slot_view(slot: &FleetSlot, claimed: bool) -> SlotView {
    let positive = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    let numa = positive(slot.numa_node);
    // The row says that something is missing, not what; for placement any of it is enough.
    let missing = match (slot.complete, numa) {
        (false, _) => DeviceField::ALL.to_vec(),
        (true, None) => vec![DeviceField::NumaNode],
        (true, Some(_)) => vec![],
    };
    let blind = model::planted!(TwoClaimsOnOneSlot) && slot.state != SlotState::Disabled;
    SlotView {
        id: slot.id.clone(),
        module_id: positive(slot.gpu_module_id).map(ModuleId),
        numa,
        pcie_switch: positive(slot.pcie_switch),
        rail: positive(slot.rail),
        state: match slot.state {
            _ if blind => SlotState::Available,
            // The claims are the truth, whatever the row of the slot says.
            SlotState::Available if claimed => SlotState::Reserved,
            state => state,
        },
        since: Some(slot.state_since),
        missing,
        drifted: slot.drifted,
        wear: u32::try_from(slot.use_generation).unwrap_or(u32::MAX),
    }
}
