//! What follows from a host's word about its slots: what it refused to build on, and what it found and left alone when it was
//! compared with its claims. A slot it speaks of must be its own; what is said about any other changes nothing.
//!
//! Nothing is destroyed because of a report. A slot that is in doubt is not sold; a guest whose allocation is over is stopped,
//! and its slots wiped, by the same order that ends every allocation.

use std::collections::{BTreeMap, BTreeSet};

use api::allocation::AllocationObserved;
use model::{
    SlotId,
    allocation::State,
    runtime::{Finding, FindingAction, FindingKind, GuestStanding, Refusal},
    supply::{SaidBy, SlotState},
};
use store::{
    Stamp, StoreError, Tx, allocations, claims,
    drifts::{self, DriftSeen},
    nodes::NodeRow,
    slots::{self, Health, SlotRow},
};
use topology::DriftKind;

use crate::driver::{challenge, write_json};

// An agent may say anything; what is shown to people is short and printable.
fn shown(text: &str, letters_max: usize) -> String {
    text.chars().take(letters_max).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn refused(refusal: &Refusal) -> DriftSeen {
    let (check, expected, found) =
        (shown(&refusal.check, 80), shown(&refusal.expected, 400), shown(&refusal.found, 400));
    DriftSeen {
        detail: format!("The host refused to build on it: {check}: expected {expected}, found {found}."),
        field: check,
        kind: DriftKind::Refused.to_string(),
        approved: expected,
        seen: found,
    }
}

fn quarantined(finding: &Finding) -> DriftSeen {
    DriftSeen {
        field: finding.kind.to_string(),
        kind: DriftKind::Quarantined.to_string(),
        approved: "nothing but what is claimed".to_owned(),
        seen: shown(&finding.thing, 400),
        detail: shown(&finding.detail, 400),
    }
}

/// Writes down what a host says is wrong with some of its slots, in place of what it said before in the same way, and marks
/// those slots accordingly.
fn mark(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slot: &SlotRow,
    said_by: SaidBy,
    seen: &[DriftSeen],
) -> Result<(), StoreError> {
    let drifted = drifts::replace(tx, &slot.id, said_by, seen, stamp.now)?;
    if drifted != slot.drifted {
        tracing::info!(slot = %slot.id, drifted, %said_by, "what the host says of a slot changed");
        slots::set_drifted(tx, stamp, slot, drifted)?;
    }
    Ok(())
}

/// What a host refused to build on, slot by slot, of those it was asked about. Only where it objects to nothing at all is what
/// it objected to before taken back.
pub(crate) fn plan_answered(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    asked: &BTreeSet<SlotId>,
    refusals: &[Refusal],
) -> Result<(), StoreError> {
    for slot in slots::of_node(tx, &node.id)?.iter().filter(|slot| asked.contains(&slot.id)) {
        let own = refusals.iter().filter(|refusal| refusal.slot_id.as_ref() == Some(&slot.id));
        let seen: Vec<DriftSeen> = own.map(refused).collect();
        if !seen.is_empty() || refusals.is_empty() {
            mark(tx, stamp, slot, SaidBy::Plan, &seen)?;
        }
    }
    Ok(())
}

/// What a comparison of a host with its claims found.
pub(crate) fn reconciled(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    findings: &[Finding],
    guests: &[GuestStanding],
) -> Result<(), StoreError> {
    let mut left_alone: BTreeMap<&SlotId, Vec<DriftSeen>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.action == FindingAction::Quarantined) {
        if let Some(slot_id) = &finding.slot_id {
            left_alone.entry(slot_id).or_default().push(quarantined(finding));
        }
    }
    for slot in slots::of_node(tx, &node.id)? {
        let seen = left_alone.remove(&slot.id).unwrap_or_default();
        mark(tx, stamp, &slot, SaidBy::Reconcile, &seen)?;
    }
    let strays = findings.iter().filter(|finding| finding.kind == FindingKind::GuestWithoutClaim);
    for finding in strays {
        end_again(tx, stamp, node, finding)?;
    }
    for guest in guests {
        observe(tx, stamp, node, guest)?;
    }
    Ok(())
}

/// A guest whose allocation is over: its slots are not clean, whatever was proved before. They are blocked under a fresh
/// challenge, and the driver has them wiped again by an order to release. Slots that are being cleaned up already, that an
/// operator took out, or that somebody holds now are left as they are.
fn end_again(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow, finding: &Finding) -> Result<(), StoreError> {
    let Some(id) = &finding.allocation_id else { return Ok(()) };
    let Some(allocation) = allocations::get(tx, id)? else { return Ok(()) };
    if !allocation.state.is_terminal() {
        return Ok(());
    }
    let held = claims::of_allocation(tx, id)?;
    let here = held.iter().filter(|claim| claim.node_id == node.id);
    let fences: BTreeMap<&SlotId, i64> =
        here.filter_map(|claim| Some((claim.slot_id.as_ref()?, claim.fence))).collect();
    for slot in slots::of_node(tx, &node.id)? {
        let last_use = fences.get(&slot.id) == Some(&slot.use_generation);
        if !last_use || slot.state != SlotState::Available {
            continue;
        }
        tracing::error!(alert = "guest_after_release", node = %node.id, slot = %slot.id, allocation = %id, "wiped again");
        let detail = format!("A guest of allocation {id} was found on it after it was given back.");
        let health = Health { state: "guest_found", detail: &detail };
        slots::enter(tx, stamp, &slot, SlotState::CleanupBlocked, health, Some("guest_found"))?;
        let blocked = slots::get(tx, &slot.id)?.ok_or(StoreError::NotFound)?;
        challenge(tx, stamp, &[blocked])?;
    }
    Ok(())
}

/// How a guest stands, written down with its allocation while that runs here.
fn observe(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow, guest: &GuestStanding) -> Result<(), StoreError> {
    let Some(row) = allocations::get(tx, &guest.allocation_id)? else { return Ok(()) };
    let here = claims::of_allocation(tx, &row.id)?.iter().any(|claim| claim.active && claim.node_id == node.id);
    if row.state != State::Running || !here {
        return Ok(());
    }
    let before: AllocationObserved = serde_json::from_str(&row.observed)
        .map_err(|error| StoreError::Corrupt { column: "allocations.observed".into(), why: error.to_string() })?;
    let after = AllocationObserved { guest_up: guest.running, guest: Some(guest.seen.clone()), ..before.clone() };
    if after != before {
        allocations::observe(tx, stamp, &row, &write_json(&after)?, Some("guest_seen"))?;
    }
    Ok(())
}
