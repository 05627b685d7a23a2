//! What a node needs before it may be cut into slices: somebody's intent, fresh evidence that the host is ready, and a slot
//! to sell. The same words answer a promotion that is refused and stand in the view of a node that is not promoted.

use model::{
    Timestamp,
    supply::{NodeProfile, SlotState},
    time::MICROS_PER_SECOND,
};
use store::{StoreError, nodes::NodeRow, standing::Standing};
use topology::Readiness;

use crate::views;

/// Older evidence is none.
pub(crate) const EVIDENCE_S_MAX: i64 = 86_400;

/// What is missing, one sentence each; empty means nothing.
pub(crate) fn needs(node: &NodeRow, standing: &Standing, now: Timestamp) -> Result<Vec<String>, StoreError> {
    let mut missing = Vec::new();
    if !views::profiles(node)?.contains(&NodeProfile::SliceVm) {
        missing.push(format!("profile: {} is not set on the node", NodeProfile::SliceVm));
    }
    match (readiness(node)?, node.readiness_at) {
        (Some(readiness), Some(at)) => {
            if now.micros_since(at) > EVIDENCE_S_MAX * MICROS_PER_SECOND {
                missing.push("readiness: the evidence is older than 24 hours; order it anew".to_owned());
            }
            missing.extend(gaps(&readiness));
        }
        _ => missing.push("readiness: there is no evidence; order a discovery".to_owned()),
    }
    if !standing.slots.iter().any(|slot| slot.state == SlotState::Available && !slot.drifted) {
        missing.push("slots: none is approved and available".to_owned());
    }
    Ok(missing)
}

/// What a node's agent said of its readiness.
pub(crate) fn readiness(node: &NodeRow) -> Result<Option<Readiness>, StoreError> {
    let why =
        |error: serde_json::Error| StoreError::Corrupt { column: "nodes.readiness".into(), why: error.to_string() };
    node.readiness.as_deref().map(serde_json::from_str).transpose().map_err(why)
}

/// What is missing on the host.
pub(crate) fn gaps(readiness: &Readiness) -> impl Iterator<Item = String> {
    readiness.blocking().map(|check| {
        let remedy = check.remedy.as_deref().map(|remedy| format!(" {remedy}")).unwrap_or_default();
        let reboot = if check.reboot_required { " This takes a reboot." } else { "" };
        format!("{}: {}{remedy}{reboot}", check.check, check.detail)
    })
}
