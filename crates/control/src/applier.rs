//! The placement applier: asks the engine where a wish fits, and writes the answer down in one transaction.
//!
//! The engine proposes on a picture of the fleet that may already be old; the transaction checks the proposal against the
//! rows themselves (slots locked in id order, states and versions as they were seen) and the schema checks it once more.
//! A proposal that lost comes back as a race, and the picture is thrown away; the next look decides on a fresh one. A refusal
//! is an answer too: it is stored with its reasons, and the driver ends the wish with them.
//!
//! One transaction writes: the slots' reservation (each begins a new use), the claims with a snapshot of what was sold, the
//! node's occupancy, the allocation, the decision, the events, the audit row, and the operations that end there.

use std::collections::{BTreeMap, HashMap};

use api::{Code, allocation::AllocationObserved};
use engine::{
    admit::{self, AdmitInput, CheckCode},
    explain,
    place::{self, Considered, Reason, Request, Verdict},
};
use model::supply::{NodeDesired, NodeState, SlotState};
use model::{AuditId, ClaimId, DecisionId, NodeId, SlotId, allocation::State, sku::CapacityShape};
use serde::{Deserialize, Serialize};
use store::{
    Stamp, StoreError, Tx,
    allocations::{self, AllocationRow, Entering},
    audit::{self, AuditRow},
    claims::{self, NodeClaim, SlotClaim},
    decisions::{self, DecisionRow},
    nodes::{self, NodeRow},
    operations, projects, regions,
    skus::{self, SkuRow},
    slots::{self, SlotRow},
    tenants,
};

use crate::{
    driver::{read_json, write_json},
    leader::{Leader, unchanged},
    snapshot::{self, Snapshot},
};

/// The outcome of a decision that found a place.
pub const PLACED: &str = "placed";
/// The outcome of a decision that found none.
pub const REFUSED: &str = "refused";

/// The body of a placement decision: counts and words, never a device or another tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacementDecision {
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The answer in a sentence or two.
    pub because: String,
    /// How much was looked at, when it was placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub considered: Option<Considered>,
    /// Why nodes were passed over, when it was refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes_by_reason: BTreeMap<Reason, u32>,
}

/// What a claim carries for ever: what was sold, at what price, on which devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSnapshot {
    /// The SKU.
    pub sku_id: model::SkuId,
    /// Its short name.
    pub sku: String,
    /// The form.
    pub shape: CapacityShape,
    /// The slot's profile; the node's name for a whole node.
    pub profile: String,
    /// The price.
    pub price_micros_per_gpu_hour: i64,
    /// GPUs to bill while the claim is active.
    pub billable_gpus: i64,
    /// Virtual CPUs that go with it.
    pub vcpus: i64,
    /// Memory that goes with it.
    pub memory_mib: i64,
    /// The devices, by slot.
    pub devices: BTreeMap<String, DeviceSnapshot>,
}

/// The devices of one slot when it was claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct DeviceSnapshot {
    pub gpu_pci_address: Option<String>,
    pub gpu_uuid: Option<String>,
    pub gpu_module_id: Option<i64>,
    pub nvme_identity: Option<String>,
    pub fabric_vf_pci_address: Option<String>,
}

/// The leader's picture of the fleet, kept for one sweep. Volatile.
#[derive(Debug, Default)]
pub(crate) struct Applier {
    snapshot: Option<Snapshot>,
}

// What one wish is about, read together.
struct Wish {
    allocation: AllocationRow,
    sku: SkuRow,
    admission: AdmitInput,
}

impl Applier {
    /// Forgets the picture, so that the next wish is decided on a fresh one.
    pub(crate) fn forget_snapshot(&mut self) {
        self.snapshot = None;
    }

    /// Finds slots for a wish and claims them, or records that there are none.
    pub(crate) fn place(&mut self, leader: &Leader, allocation: &AllocationRow) -> Result<(), StoreError> {
        let wish = wish(leader, allocation)?;
        let admission = admit::admit(&wish.admission);
        if let Some(refused) = admission.first_refusal() {
            let decision = PlacementDecision {
                code: Some(code_of(refused.code)),
                because: refused.detail.clone(),
                ..PlacementDecision::default()
            };
            return refuse(leader, &wish.allocation, decision, 0);
        }
        let request = Request {
            shape: wish.allocation.shape,
            gpu_model: wish.sku.gpu_model,
            gpu_count: number(wish.allocation.gpu_count),
            region_id: wish.allocation.region_id.clone(),
        };
        let snapshot = match self.snapshot.take() {
            Some(snapshot) => self.snapshot.insert(snapshot),
            None => self.snapshot.insert(leader.read(snapshot::load)?),
        };
        let verdict = place::place(&snapshot.fleet, &request);
        let mut decision = PlacementDecision { because: explain::sentence(&request, &verdict), ..Default::default() };
        match verdict {
            Verdict::Refused { nodes_by_reason, .. } => {
                (decision.code, decision.nodes_by_reason) = (Some(Code::SkuUnavailable), nodes_by_reason);
                refuse(leader, &wish.allocation, decision, snapshot.version)
            }
            Verdict::Placed { node_id, slot_ids, considered } => {
                decision.considered = Some(considered);
                let chosen = Chosen::new(snapshot, node_id, slot_ids);
                let applied = apply(leader, wish, chosen.clone(), decision);
                match &applied {
                    Ok(()) => snapshot.adopt(&chosen.node_id, &chosen.slots, request.shape),
                    Err(_) => self.snapshot = None,
                }
                applied
            }
        }
    }
}

/// The slots that a verdict chose, with the versions they were seen at.
#[derive(Debug, Clone)]
struct Chosen {
    node_id: NodeId,
    slots: Vec<SlotId>,
    versions: HashMap<SlotId, i64>,
    snapshot_version: i64,
}

impl Chosen {
    fn new(snapshot: &Snapshot, node_id: NodeId, mut slots: Vec<SlotId>) -> Self {
        slots.sort();
        let versions = slots.iter().filter_map(|id| Some((id.clone(), *snapshot.versions.get(id)?))).collect();
        Self { node_id, slots, versions, snapshot_version: snapshot.version }
    }

    /// The chosen slots, locked and still as they were seen; otherwise the verdict lost.
    fn lock(&self, tx: &mut Tx<'_>) -> Result<Vec<SlotRow>, StoreError> {
        let locked = slots::lock_chosen(tx, &self.slots)?;
        let as_seen = |slot: &SlotRow| {
            slot.state == SlotState::Available
                && !slot.drifted
                && slot.node_id == self.node_id
                && self.versions.get(&slot.id) == Some(&slot.version)
        };
        let whole = locked.len() == self.slots.len();
        if whole && (locked.iter().all(as_seen) || model::planted!(TwoClaimsOnOneSlot)) {
            Ok(locked)
        } else {
            Err(StoreError::StaleVersion)
        }
    }
}

fn wish(leader: &Leader, allocation: &AllocationRow) -> Result<Wish, StoreError> {
    let (allocation, gone) = (allocation.clone(), StoreError::NotFound);
    leader.read(move |tx| {
        let sku = skus::get(tx, &allocation.sku_id)?.ok_or(gone.clone())?;
        let region = regions::get(tx, &allocation.region_id)?.ok_or(gone.clone())?;
        let project = projects::get(tx, &allocation.project_id)?.ok_or(gone.clone())?;
        let tenant = tenants::get(tx, &allocation.tenant_id)?.ok_or(gone.clone())?;
        let held = projects::gpus_held(tx, &project.id)?.saturating_sub(allocation.gpu_count);
        let admission = AdmitInput {
            tenant: tenant.state,
            tenant_desired: tenant.desired,
            project: project.state,
            project_desired: project.desired,
            region_enabled: region.enabled,
            sku_enabled: sku.terms.enabled,
            sku_gpu_counts: sku.terms.gpu_counts.iter().map(|count| number(*count)).collect(),
            gpu_count: number(allocation.gpu_count),
            project_gpus_held: number(held),
            project_gpu_cap: number(project.gpu_cap),
        };
        Ok(Wish { allocation: allocation.clone(), sku, admission })
    })
}

/// Records that a wish has no place. The driver ends it at its next look.
fn refuse(
    leader: &Leader,
    allocation: &AllocationRow,
    decision: PlacementDecision,
    snapshot_version: i64,
) -> Result<(), StoreError> {
    let allocation = allocation.clone();
    leader.commit(move |tx, stamp| {
        unchanged(allocations::get(tx, &allocation.id)?, |found| found.version, allocation.version)?;
        record(tx, stamp, &allocation, REFUSED, &decision, snapshot_version)?;
        Ok(())
    })
}

fn apply(leader: &Leader, wish: Wish, chosen: Chosen, decision: PlacementDecision) -> Result<(), StoreError> {
    leader.commit(move |tx, stamp| {
        let Wish { allocation, sku, .. } = &wish;
        unchanged(allocations::get(tx, &allocation.id)?, |found| found.version, allocation.version)?;
        let node = nodes::get(tx, &chosen.node_id)?.filter(|node| takes(node, allocation.shape));
        let node = node.ok_or(StoreError::StaleVersion)?;
        let locked = chosen.lock(tx)?;
        let claimed = match allocation.shape {
            CapacityShape::GpuSlice => {
                slots::reserve_all(tx, stamp, &locked)?;
                let claims = slot_claims(stamp, sku, &locked)?;
                claims::take_slots(tx, &allocation.id, &node.id, &claims, stamp.now)?
            }
            CapacityShape::Baremetal => {
                if !model::planted!(SliceBesideBareMetal) {
                    slots::reserve_all(tx, stamp, &locked)?;
                }
                let fence = nodes::raise_generation(tx, stamp, &node)?;
                let snapshot = write_json(&snapshot_of(sku, &node.name, &locked))?;
                let claim = NodeClaim { id: ClaimId::from_parts(stamp.now, stamp.bits()), fence, snapshot };
                // A slot that was approved meanwhile is not among the chosen, and would not be wiped after this use.
                claims::take_node(tx, &allocation.id, &node.id, &claim, stamp.now)?
                    && slots::of_node(tx, &node.id)?.len() == locked.len()
            }
        };
        if !claimed {
            return Err(StoreError::StaleVersion);
        }
        let observed = write_json(&read_json::<AllocationObserved>("observed", &allocation.observed)?)?;
        let entering =
            Entering { state: State::Reserved, observed: &observed, node_id: Some(&node.id), reason: Some(PLACED) };
        allocations::enter(tx, stamp, allocation, entering)?;
        let decided = record(tx, stamp, allocation, PLACED, &decision, chosen.snapshot_version)?;
        witness(tx, stamp, allocation, &decided, locked.len())?;
        operations::finish_for(tx, allocation.id.as_str(), State::Reserved.as_str(), None, stamp.now)?;
        Ok(())
    })
}

// What may have changed since the picture was taken, and raises no version of a slot.
fn takes(node: &NodeRow, shape: CapacityShape) -> bool {
    node.state == NodeState::Online
        && node.desired == NodeDesired::InService
        && (shape == CapacityShape::Baremetal || node.promoted.is_some())
}

fn slot_claims(stamp: &mut Stamp<'_>, sku: &SkuRow, locked: &[SlotRow]) -> Result<Vec<SlotClaim>, StoreError> {
    let mut claim = |slot: &SlotRow| {
        Ok(SlotClaim {
            id: ClaimId::from_parts(stamp.now, stamp.bits()),
            slot_id: slot.id.clone(),
            fence: slot.use_generation + 1,
            snapshot: write_json(&snapshot_of(sku, &slot.profile, std::slice::from_ref(slot)))?,
        })
    };
    locked.iter().map(&mut claim).collect()
}

fn snapshot_of(sku: &SkuRow, profile: &str, covered: &[SlotRow]) -> ClaimSnapshot {
    let gpus = i64::try_from(covered.len()).unwrap_or(i64::MAX);
    let devices = |slot: &SlotRow| DeviceSnapshot {
        gpu_pci_address: slot.parts.gpu_pci_address.clone(),
        gpu_uuid: slot.parts.gpu_uuid.clone(),
        gpu_module_id: slot.parts.gpu_module_id,
        nvme_identity: slot.parts.nvme_identity.clone(),
        fabric_vf_pci_address: slot.parts.fabric_vf_pci_address.clone(),
    };
    ClaimSnapshot {
        sku_id: sku.id.clone(),
        sku: sku.slug.to_string(),
        shape: sku.shape,
        profile: profile.to_owned(),
        price_micros_per_gpu_hour: sku.terms.price_micros_per_gpu_hour,
        billable_gpus: gpus,
        vcpus: sku.terms.vcpus_per_gpu.saturating_mul(gpus),
        memory_mib: sku.terms.memory_mib_per_gpu.saturating_mul(gpus),
        devices: covered.iter().map(|slot| (slot.id.to_string(), devices(slot))).collect(),
    }
}

/// Stores a decision, within its limit: the sentence says what the counts say, so the counts give way.
fn record(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    outcome: &str,
    decision: &PlacementDecision,
    snapshot_version: i64,
) -> Result<DecisionId, StoreError> {
    let mut body = write_json(decision)?;
    if body.len() > decisions::BODY_BYTES_MAX {
        body = write_json(&PlacementDecision { nodes_by_reason: BTreeMap::new(), ..decision.clone() })?;
    }
    let row = DecisionRow {
        id: DecisionId::from_parts(stamp.now, stamp.bits()),
        subject_id: allocation.id.to_string(),
        outcome: outcome.to_owned(),
        body,
        snapshot_version,
        at: stamp.now,
    };
    decisions::insert(tx, &row)?;
    Ok(row.id)
}

#[derive(Serialize)]
struct PlacementAudit<'a> {
    decision_id: &'a DecisionId,
    slots: usize,
}

fn witness(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    decided: &DecisionId,
    slots: usize,
) -> Result<(), StoreError> {
    let row = AuditRow {
        id: AuditId::from_parts(stamp.now, stamp.bits()),
        actor: "system:placement".to_owned(),
        token_id: None,
        action: "allocation_place".to_owned(),
        subject: allocation.id.to_string(),
        tenant_id: Some(allocation.tenant_id.clone()),
        // Nobody's request: the decision is what led here.
        request_id: decided.to_string(),
        body: write_json(&PlacementAudit { decision_id: decided, slots })?,
        at: stamp.now,
    };
    audit::append(tx, &row)
}

fn code_of(check: CheckCode) -> Code {
    match check {
        CheckCode::TenantActive | CheckCode::ProjectActive => Code::StateConflict,
        CheckCode::RegionEnabled | CheckCode::SkuEnabled | CheckCode::CountSellable => Code::NotForSale,
        CheckCode::GpuCap => Code::QuotaExceeded,
    }
}

fn number(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}
