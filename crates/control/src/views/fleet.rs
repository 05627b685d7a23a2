//! Nodes, slots, claims, orders and what can be had, as the API shows them.

use api::{
    fleet::{ClaimView, DriftView, NodeView, SlotCellView, SlotView, TaskView},
    supply::{AvailabilityView, DiskGrantView},
};
use engine::Availability;
use lifecycle::posture::{self, NodeFacts, SlotFacts};
use model::{
    Timestamp,
    supply::{GpuModel, NodeProfile, OccupancyMode, SlotState},
    task::{TaskFailure, TaskResult, TaskState},
};
use store::{
    StoreError,
    claims::ClaimRow,
    drifts::DriftRow,
    grants::GrantRow,
    nodes::NodeRow,
    regions::RegionRow,
    slots::{SlotCell, SlotRow},
    standing::Standing,
    tasks::TaskRow,
    wipe_overrides::WipeOverrideRow,
};

use super::{progress, sentence, stored};
use crate::promotion;

/// A node. Its posture is worked out here, from what is known now.
pub fn node(
    row: NodeRow,
    occupancy: OccupancyMode,
    standing: &Standing,
    now: Timestamp,
) -> Result<NodeView, StoreError> {
    let facts = NodeFacts {
        state: row.state,
        desired: row.desired,
        identity_revoked: standing.identity_revoked,
        handed_over: row.handed_over.is_some(),
        occupancy,
        promoted: row.promoted.is_some(),
        slots: standing.slots.iter().map(|slot| SlotFacts { state: slot.state, drifted: slot.drifted }).collect(),
    };
    let derived = posture::posture(&facts);
    let needs = if row.promoted.is_some() { vec![] } else { promotion::needs(&row, standing, now)? };
    Ok(NodeView {
        projected: derived.reason,
        posture: derived.posture,
        promotion_needs: needs,
        progress: progress(&row.life, now),
        profiles: profiles(&row)?,
        id: row.id,
        pool_id: row.pool_id,
        name: row.name,
        gpu_model: row.gpu_model,
        occupancy,
        execution: row.state,
        desired: row.desired,
        desired_reason: row.desired_reason,
        promoted_at: row.promoted,
        agent_version: row.agent_version,
        agent_boot: row.agent_boot,
        hardware_serial: row.hardware_serial,
        incidents: standing.incidents,
        machine: row.machine.map(|machine| format!("{}/{}", machine.provider, machine.machine_id)),
        handed_over_at: row.handed_over,
        converting_to: row.converting.map(|(to, _)| to),
        converting_since: row.converting.map(|(_, since)| since),
        last_seen_at: row.last_seen,
        version: row.version,
        created_at: row.created,
    })
}

/// What a node is meant for.
pub(crate) fn profiles(row: &NodeRow) -> Result<Vec<NodeProfile>, StoreError> {
    let why =
        |error: serde_json::Error| StoreError::Corrupt { column: "nodes.profiles".into(), why: error.to_string() };
    serde_json::from_str(&row.profiles).map_err(why)
}

/// A slot as a cell of a map.
pub fn slot_cell(row: SlotCell) -> SlotCellView {
    SlotCellView {
        id: row.id,
        node_id: row.node_id,
        gpu_module_id: row.gpu_module_id,
        execution: row.state,
        drifted: row.drifted,
        allocation_id: row.allocation_id,
    }
}

/// A slot, with what has drifted on it.
pub fn slot(row: SlotRow, drifts: Vec<DriftRow>, now: Timestamp) -> Result<SlotView, StoreError> {
    let base = match row.state {
        SlotState::Disabled => "The slot is not for sale.",
        SlotState::Available if row.drifted => {
            "The slot is proved clean and free, but its host does not show what was approved; it is not for sale."
        }
        SlotState::Available if row.health_state == OVERRIDDEN => {
            "The slot is free. It was not proved clean: two operators let it go on without a proof."
        }
        SlotState::Available => "The slot is proved clean and free.",
        SlotState::Reserved => "The slot is claimed; nothing runs on it yet.",
        SlotState::InUse => "A tenant's guest may be running on the slot.",
        SlotState::Wiping => "The guest is gone; the proof of its wipe is being checked.",
        SlotState::CleanupBlocked => {
            "There is no valid proof that the slot is clean; it is not for sale until there is."
        }
    };
    Ok(SlotView {
        projected: sentence(base, &row.life),
        progress: progress(&row.life, now),
        ways_out: ways_out(&row),
        drift: drifts.into_iter().map(drift).collect::<Result<_, _>>()?,
        approved_by: row.approval.map(|approval| approval.by).unwrap_or_default(),
        approved_at: row.approved,
        id: row.id,
        node_id: row.node_id,
        profile: row.profile,
        execution: row.state,
        gpu_pci_address: row.parts.gpu_pci_address,
        gpu_module_id: row.parts.gpu_module_id,
        nvme_identity: row.parts.nvme_identity,
        mgmt_mac: row.parts.mgmt_mac,
        private_ip: row.parts.private_ip,
        fabric_claim_mode: row.parts.fabric_claim_mode,
        fabric_vf_pci_address: row.parts.fabric_vf_pci_address,
        numa_node: row.parts.numa_node,
        use_generation: row.use_generation,
        health_state: row.health_state,
        health_detail: row.health_detail,
        version: row.version,
        created_at: row.created,
    })
}

/// The state of health of a slot that went on without a proof, until its next proved wipe.
pub(crate) const OVERRIDDEN: &str = "overridden";

/// What a slot waits for when it was wiped in vain too often.
pub(crate) const CLEANUP_NEEDS_OPERATOR: &str = "cleanup_needs_operator";

/// What would end it that a slot has no valid proof, and who would do it.
fn ways_out(row: &SlotRow) -> Vec<String> {
    if row.state != SlotState::CleanupBlocked {
        return vec![];
    }
    let id = &row.id;
    let first = match row.life.wait.as_ref().map(|wait| wait.code.as_str()) {
        Some("claim_active") => "Its allocation still holds it: the guest has to be proved gone first.".to_owned(),
        Some(CLEANUP_NEEDS_OPERATOR) => {
            format!("Have it wiped once more when its host is mended: gpuaas slot repair {id}")
        }
        _ => "The platform has it wiped again by itself; nobody need do anything yet.".to_owned(),
    };
    vec![
        first,
        format!("Two operators let it go on without a proof: gpuaas slot override {id} --reason TEXT"),
        format!("Take it out of sale: gpuaas slot disable {id} --reason TEXT"),
    ]
}

/// That an override waits for a second operator.
pub(crate) fn waiting_override(row: &WipeOverrideRow) -> String {
    let WipeOverrideRow { id, expires, .. } = row;
    format!("An override waits for a second operator until {expires}: gpuaas override approve {id}, or reject")
}

/// One field that is not as approved any more.
pub fn drift(row: DriftRow) -> Result<DriftView, StoreError> {
    Ok(DriftView {
        kind: stored(&row.kind, "slot_drifts.kind")?,
        said_by: row.said_by,
        field: row.field,
        approved: row.approved,
        seen: row.seen,
        detail: row.detail,
        first_seen_at: row.first,
        last_seen_at: row.last,
    })
}

/// A grant.
pub fn disk_grant(row: GrantRow) -> DiskGrantView {
    DiskGrantView {
        node_id: row.node_id,
        nvme_identity: row.nvme_identity,
        reason: row.reason,
        granted_by: row.granted_by,
        at: row.at,
    }
}

/// What can be had of one model in one region. Nothing can be had in a region that is disabled.
pub fn availability(region: &RegionRow, model: GpuModel, have: Availability) -> AvailabilityView {
    let have = if region.enabled { have } else { Availability::default() };
    let projected = if region.enabled {
        engine::availability::sentence(model, region.slug.as_str(), have)
    } else {
        format!("Nothing can be launched in {} now", region.slug)
    };
    AvailabilityView {
        region_id: region.id.clone(),
        region: region.slug.clone(),
        enabled: region.enabled,
        gpu_model: model,
        slice_gpus: have.slice_gpus.into(),
        largest_slice_gpus: have.largest_slice.into(),
        whole_nodes: have.whole_nodes.into(),
        forecast: vec![],
        skus: vec![],
        pools: vec![],
        projected,
    }
}

/// A claim.
pub fn claim(row: ClaimRow) -> ClaimView {
    ClaimView {
        id: row.id,
        allocation_id: row.allocation_id,
        node_id: row.node_id,
        slot_id: row.slot_id,
        kind: row.kind,
        fence: row.fence,
        claimed_at: row.claimed,
        released_at: row.released,
    }
}

/// An order to an agent.
pub fn task(row: TaskRow, now: Timestamp) -> TaskView {
    let failure = row.result.as_ref().and_then(|result| result.failure);
    let base = match (row.state, failure) {
        (TaskState::Pending, _) => "The agent has not fetched the order.".to_owned(),
        (TaskState::Delivered, _) => "The agent has the order.".to_owned(),
        (TaskState::Succeeded, _) => "The agent did it.".to_owned(),
        (TaskState::Failed, Some(failure)) => format!("The agent could not do it: {failure}."),
        (TaskState::Failed, None) => "The agent could not do it.".to_owned(),
        (TaskState::Expired, _) => "No answer came in time, or a newer order took its place.".to_owned(),
    };
    let result =
        row.result.unwrap_or_else(|| TaskResult::failed(row.id.clone(), row.fence, TaskFailure::NotReadable, ""));
    TaskView {
        failure,
        failure_detail: result.detail,
        refusals: result.refusals,
        projected: sentence(&base, &row.life),
        progress: progress(&row.life, now),
        id: row.id,
        node_id: row.node_id,
        allocation_id: row.served.map(|served| served.allocation_id),
        kind: row.kind,
        attempt: row.fence.attempt,
        execution: row.state,
        deadline: row.deadline,
        created_at: row.created,
    }
}
