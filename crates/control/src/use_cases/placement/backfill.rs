//! Backfill: allocations whose state says that they hold capacity, and that have no claim, get the claims they should have.
//! Where they are is read from what was written down when they were placed: the node of the allocation, and for slices the
//! slots of its newest order. Every rule of the schema still speaks; what it refuses is reported and left as it is.
//! Doing it again does nothing.

use api::placement::{BackfilledView, ClaimBackfill, ClaimBackfillView, NotBackfilledView};
use model::{ClaimId, NodeId, SlotId, sku::CapacityShape, supply::SlotState};
use store::{
    Page, Stamp, StoreError, Tx,
    allocations::{self, AllocationRow},
    claims::{self, NodeClaim, SlotClaim},
    nodes,
    skus::{self, SkuRow},
    slots::{self, SlotRow},
    tasks,
};

use crate::{
    applier::{ClaimSnapshot, DeviceSnapshot},
    driver::write_json,
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
};

/// How many allocations one request looks at.
const BITE: i64 = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![route::<ClaimBackfill>(claim_backfill)]
}

fn claim_backfill(ctx: &mut Ctx<'_, '_>, input: Input<ClaimBackfill>) -> Result<Answer<ClaimBackfillView>, Refusal> {
    ctx.platform()?;
    let after = input.body.after.as_ref().map(ToString::to_string).unwrap_or_default();
    let rows = allocations::without_claims(ctx.tx, Page::after(&after, BITE))?;
    let full = i64::try_from(rows.len()).is_ok_and(|count| count == BITE);
    let next_after = rows.last().filter(|_| full).map(|row| row.id.clone());
    let (mut claimed, mut left) = (Vec::new(), Vec::new());
    for row in rows {
        let stamp = &mut ctx.stamp;
        // What one allocation is refused undoes that one alone.
        match ctx.tx.savepoint(|tx| fill(tx, stamp, &row).and_then(|done| kept(done, input.body.dry_run))) {
            Ok((node_id, claims)) | Err(Unfilled::Dry(node_id, claims)) => {
                claimed.push(BackfilledView { allocation_id: row.id, node_id, claims });
            }
            Err(Unfilled::Because(because)) => left.push(NotBackfilledView { allocation_id: row.id, because }),
            Err(Unfilled::Store(error)) => return Err(error.into()),
        }
    }
    let about = format!("{} allocations", claimed.len() + left.len());
    Ok(Answer::new(ClaimBackfillView { claimed, left, next_after }).about(about, None))
}

enum Unfilled {
    // It was only tried, and is undone.
    Dry(NodeId, i64),
    Because(String),
    Store(StoreError),
}

impl From<StoreError> for Unfilled {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UniqueViolation { .. }
            | StoreError::ForeignKeyViolation
            | StoreError::CheckViolation { .. } => {
                Self::Because(format!("A rule of the store speaks against it: {error}."))
            }
            StoreError::StaleVersion => Self::Because("Its slots are not as they would have to be.".to_owned()),
            other => Self::Store(other),
        }
    }
}

fn kept((node_id, claims): (NodeId, i64), dry_run: bool) -> Result<(NodeId, i64), Unfilled> {
    if dry_run { Err(Unfilled::Dry(node_id, claims)) } else { Ok((node_id, claims)) }
}

fn because(text: impl Into<String>) -> Unfilled {
    Unfilled::Because(text.into())
}

fn fill(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &AllocationRow) -> Result<(NodeId, i64), Unfilled> {
    let Some(node_id) = row.node_id.clone() else {
        return Err(because("Nothing says on which node it is."));
    };
    let sku = skus::get(tx, &row.sku_id)?.ok_or_else(|| because("Its SKU is gone."))?;
    let claims = match row.shape {
        CapacityShape::Baremetal => fill_node(tx, stamp, row, (&node_id, &sku))?,
        CapacityShape::GpuSlice => fill_slots(tx, stamp, row, (&node_id, &sku))?,
    };
    Ok((node_id, claims))
}

fn fill_node(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    row: &AllocationRow,
    (node_id, sku): (&NodeId, &SkuRow),
) -> Result<i64, Unfilled> {
    let node = nodes::get(tx, node_id)?.ok_or_else(|| because("Its node is gone."))?;
    let all = slots::of_node(tx, node_id)?;
    let covered: Vec<SlotRow> = all.into_iter().filter(|slot| slot.state != SlotState::Disabled).collect();
    let free: Vec<SlotRow> = covered.iter().filter(|slot| slot.state == SlotState::Available).cloned().collect();
    if !free.is_empty() {
        // They were never marked as taken; from now on they are, and have to be proved clean.
        slots::reserve_all(tx, stamp, &free)?;
    }
    let fence = nodes::raise_generation(tx, stamp, &node)?;
    let snapshot = write_json(&sold(sku, &node.name, &covered))?;
    let claim = NodeClaim { id: ClaimId::from_parts(stamp.now, stamp.bits()), fence, snapshot };
    if claims::take_node(tx, &row.id, node_id, &claim, stamp.now)? {
        Ok(1)
    } else {
        Err(because("Somebody else has a claim on the node."))
    }
}

fn fill_slots(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    row: &AllocationRow,
    (node_id, sku): (&NodeId, &SkuRow),
) -> Result<i64, Unfilled> {
    let wanted = slots_of_orders(tx, row)?;
    if i64::try_from(wanted.len()) != Ok(row.gpu_count) {
        return Err(because(format!(
            "Its orders name {} slots; it has {} GPUs, so nothing says which slots are its own.",
            wanted.len(),
            row.gpu_count
        )));
    }
    let chosen = slots::lock_chosen(tx, &wanted)?;
    if chosen.len() != wanted.len() || chosen.iter().any(|slot| slot.node_id != *node_id) {
        return Err(because("One of its slots is gone, or on another node."));
    }
    let mut new = Vec::with_capacity(chosen.len());
    for slot in &chosen {
        let fence = match slot.state {
            SlotState::Available => slot.use_generation + 1,
            SlotState::Reserved | SlotState::InUse | SlotState::CleanupBlocked => slot.use_generation,
            state @ (SlotState::Wiping | SlotState::Disabled) => {
                return Err(because(format!("Slot {} is {state}.", slot.id)));
            }
        };
        let snapshot = write_json(&sold(sku, &slot.profile, std::slice::from_ref(slot)))?;
        let id = ClaimId::from_parts(stamp.now, stamp.bits());
        new.push(SlotClaim { id, slot_id: slot.id.clone(), fence, snapshot });
    }
    let free: Vec<SlotRow> = chosen.iter().filter(|slot| slot.state == SlotState::Available).cloned().collect();
    if !free.is_empty() {
        slots::reserve_all(tx, stamp, &free)?;
    }
    if claims::take_slots(tx, &row.id, node_id, &new, stamp.now)? {
        Ok(row.gpu_count)
    } else {
        Err(because("Somebody else has a claim on the whole node."))
    }
}

/// The slots that the newest order for an allocation names.
fn slots_of_orders(tx: &mut Tx<'_>, row: &AllocationRow) -> Result<Vec<SlotId>, StoreError> {
    let newest = tasks::of_allocation(tx, &row.id)?.into_iter().max_by_key(|task| task.fence.attempt);
    let mut ids: Vec<SlotId> =
        newest.map(|task| task.slots().iter().map(|slot| slot.slot_id.clone()).collect()).unwrap_or_default();
    ids.sort();
    Ok(ids)
}

fn sold(sku: &SkuRow, profile: &str, covered: &[SlotRow]) -> ClaimSnapshot {
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
