//! What agents saw when they were ordered to look, kept in the transaction that ends the order.
//!
//! A discovery becomes the newest advice about its node: its devices are registered, its board and readiness are read off
//! it, and every approved slot is compared with it. A slot whose host shows something else is drifted and no longer sold;
//! whoever runs on it is not touched. A report that names a GPU, a disk or a mainboard of another node is refused whole:
//! a host that copies another's papers must not change anything.

use std::collections::BTreeSet;

use api::node_plane::{REPORT_BYTES_MAX, TaskReport};
use model::SlotId;
use model::supply::{IncidentKind, LAB_PROFILE, NodeDesired, SaidBy};
use model::task::{TaskInput, TaskKind};
use sha2::{Digest as _, Sha256};
use store::{
    Stamp, StoreError, Tx,
    discoveries::{self, Devices},
    drifts::{self, DriftSeen},
    node_reports,
    nodes::{self, Found, NodeRow},
    slots::{self, SlotRow},
    tasks::TaskRow,
};
use topology::{ApprovedSlot, Discovery, Drift};

use crate::{authz::token::hex, driver::write_json, host_findings};

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is stored, and whatever follows from it.
    Stored,
    /// Nothing of it was taken.
    Refused {
        /// What its agent did.
        kind: IncidentKind,
        /// The same in a sentence.
        detail: String,
    },
}

/// Keeps a report in the transaction that ends its order.
pub(crate) fn keep(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    task: &TaskRow,
    report: &TaskReport,
) -> Result<Kept, StoreError> {
    match (task.kind, report) {
        (TaskKind::SliceTopologyDiscover, TaskReport::SliceTopologyDiscover(discovery)) => {
            keep_discovery(tx, stamp, node, task, discovery)
        }
        (TaskKind::NodeReadiness, TaskReport::NodeReadiness(readiness)) => {
            // What a host must have is said by its pool, not by its agent.
            let readiness = topology::required_by((**readiness).clone(), node.gpu_model.is_lab());
            let text = write_json(&readiness)?;
            if text.len() > REPORT_BYTES_MAX {
                return Ok(oversized(text.len()));
            }
            nodes::set_readiness(tx, stamp, node, &text)?;
            Ok(Kept::Stored)
        }
        (TaskKind::SlicePlan, TaskReport::SlicePlan(plan)) => {
            let text = write_json(plan)?;
            if text.len() > REPORT_BYTES_MAX {
                return Ok(oversized(text.len()));
            }
            node_reports::put(tx, &node.id, task.kind, &task.id, &text, stamp.now)?;
            host_findings::plan_answered(tx, stamp, node, &planned(task), &plan.refusals)?;
            Ok(Kept::Stored)
        }
        (TaskKind::SliceReconcile, TaskReport::SliceReconcile(found)) => {
            let text = write_json(found)?;
            if text.len() > REPORT_BYTES_MAX {
                return Ok(oversized(text.len()));
            }
            node_reports::put(tx, &node.id, task.kind, &task.id, &text, stamp.now)?;
            host_findings::reconciled(tx, stamp, node, &found.findings, &found.guests)?;
            Ok(Kept::Stored)
        }
        (asked, _) => Ok(Kept::Refused {
            kind: IncidentKind::ReplayedResult,
            detail: format!("The order was {asked}; the report answers another kind of order."),
        }),
    }
}

/// The slots that a plan was asked for.
fn planned(task: &TaskRow) -> BTreeSet<SlotId> {
    match &task.input {
        TaskInput::SlicePlan(order) => order.slots.iter().map(|slot| slot.slot_id.clone()).collect(),
        _ => BTreeSet::new(),
    }
}

fn keep_discovery(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    task: &TaskRow,
    discovery: &Discovery,
) -> Result<Kept, StoreError> {
    let body = write_json(discovery)?;
    if body.len() > REPORT_BYTES_MAX {
        return Ok(oversized(body.len()));
    }
    let slots = slots::of_node(tx, &node.id)?;
    let shown = shown(discovery);
    if let Some(detail) = foreign(tx, node, discovery, &shown)? {
        tracing::error!(alert = "foreign_device", node = %node.id, detail, "a report was refused");
        return Ok(Kept::Refused { kind: IncidentKind::ClaimedForeignDevice, detail });
    }
    let digest = hex(&Sha256::digest(body.as_bytes()));
    discoveries::insert(tx, &node.id, &task.id, &digest, &body, stamp.now)?;
    discoveries::register(tx, &node.id, &with_approved(shown, &slots))?;
    let serial = node.hardware_serial.clone().or_else(|| discovery.host.serial.clone().filter(|text| is_name(text)));
    let is_lab = node.gpu_model.is_lab();
    let partitions = if is_lab { topology::lab_partitions() } else { discovery.partitions.clone() };
    let found = Found {
        partitions: &write_json(&partitions)?,
        readiness: &write_json(&topology::required_by(topology::readiness(discovery), is_lab))?,
        hardware_serial: serial.as_deref(),
    };
    nodes::set_found(tx, stamp, node, found)?;
    for slot in &slots {
        compare(tx, stamp, slot, discovery)?;
    }
    Ok(Kept::Stored)
}

fn oversized(bytes: usize) -> Kept {
    let detail = format!("The report has {bytes} bytes; at most {REPORT_BYTES_MAX} are taken.");
    Kept::Refused { kind: IncidentKind::OversizedOutput, detail }
}

/// Compares a slot with what its host shows, and writes down what is not as approved.
pub(crate) fn compare(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    slot: &SlotRow,
    discovery: &Discovery,
) -> Result<(), StoreError> {
    let Some(approval) = &slot.approval else { return Ok(()) };
    let approved: ApprovedSlot = match serde_json::from_str(&approval.devices) {
        Ok(approved) => approved,
        Err(error) => {
            tracing::error!(alert = "approval_unreadable", slot = %slot.id, %error, "not compared");
            return Ok(());
        }
    };
    let seen: Vec<DriftSeen> = topology::drift(&approved, discovery).into_iter().map(drift_seen).collect();
    let drifted = drifts::replace(tx, &slot.id, SaidBy::Discovery, &seen, stamp.now)?;
    if drifted != slot.drifted {
        tracing::info!(slot = %slot.id, drifted, "what the host shows of a slot changed");
        slots::set_drifted(tx, stamp, slot, drifted)?;
    }
    Ok(())
}

fn drift_seen(drift: Drift) -> DriftSeen {
    DriftSeen {
        field: drift.field.to_string(),
        kind: drift.kind.to_string(),
        approved: shown_text(&drift.approved),
        seen: shown_text(drift.seen.as_deref().unwrap_or("nothing")),
        detail: shown_text(&drift.detail),
    }
}

// An agent may say anything; what is shown to people is short and printable.
fn shown_text(text: &str) -> String {
    const LETTERS_MAX: usize = 400;
    text.chars().take(LETTERS_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

// A name that a device could have.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

fn shown(discovery: &Discovery) -> Devices {
    let named = |text: &Option<String>| text.clone().filter(|text| is_name(text));
    Devices {
        gpus: discovery.gpus.iter().filter_map(|gpu| named(&gpu.uuid)).collect(),
        nvme: discovery.nvme_disks.iter().filter_map(|disk| named(&disk.identity)).collect(),
    }
}

// A device that a guest holds shows no name; it belongs to the node all the same.
fn with_approved(mut devices: Devices, slots: &[SlotRow]) -> Devices {
    devices.gpus.extend(slots.iter().filter_map(|slot| slot.parts.gpu_uuid.clone()));
    // A laboratory's disk is a file of one host; another host may have one of the same name.
    let real = slots.iter().filter(|slot| slot.profile != LAB_PROFILE);
    devices.nvme.extend(real.filter_map(|slot| slot.parts.nvme_identity.clone()));
    devices
}

/// What of a report belongs to another node, in a sentence. What a node that is out of use has but nobody approved is
/// taken over instead: hardware does move between hosts.
fn foreign(
    tx: &mut Tx<'_>,
    node: &NodeRow,
    discovery: &Discovery,
    shown: &Devices,
) -> Result<Option<String>, StoreError> {
    if let Some(serial) = discovery.host.serial.as_deref().filter(|serial| is_name(serial))
        && let Some(other) = nodes::by_hardware_serial(tx, serial)?.filter(|other| other.id != node.id)
    {
        return Ok(Some(format!("The mainboard {serial} belongs to node {}.", other.name)));
    }
    let marks =
        slots::Marks { gpu_uuids: shown.gpus.clone(), nvme_identities: shown.nvme.clone(), ..slots::Marks::default() };
    if let Some(slot) = slots::having(tx, &marks)?.iter().find(|slot| slot.node_id != node.id) {
        let owner = nodes::get(tx, &slot.node_id)?.map(|owner| owner.name).unwrap_or_default();
        let both = [&slot.parts.gpu_uuid, &slot.parts.nvme_identity];
        let known: BTreeSet<&String> = shown.gpus.union(&shown.nvme).collect();
        let device = both.into_iter().flatten().find(|device| known.contains(device));
        return Ok(device.map(|device| format!("The device {device} belongs to slot {} of node {owner}.", slot.id)));
    }
    let strange = discoveries::foreign(tx, &node.id, shown)?;
    for device in &strange {
        let owner = nodes::get(tx, &device.node_id)?.ok_or(StoreError::NotFound)?;
        if owner.desired != NodeDesired::Disabled {
            return Ok(Some(format!("The {} {} belongs to node {}.", device.kind, device.identity, owner.name)));
        }
    }
    // Only now: a report that is refused changes nothing.
    for device in &strange {
        discoveries::take_over(tx, device)?;
    }
    Ok(None)
}
