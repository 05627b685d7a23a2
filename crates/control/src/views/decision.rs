//! Decisions as the API shows them: to owners with counts and scores, to operators with nodes and boards besides. What is
//! stored is numbers; the words are made here, from the same code that made them when the decision was taken.

use api::{
    Code,
    placement::{
        CheckView, DecisionOutcome, DecisionView, PassedOver, PlaceView, PlacedDecisionView, PlacementRefusal, Reason,
        UnblockView,
    },
};
use engine::{Admission, DecisionRecord, explain::Unblock, place::Refusal};
use std::collections::BTreeMap;
use store::{StoreError, decisions::DecisionRow};

use crate::applier::PlacementDecision;

fn unblock(unblock: &Unblock) -> UnblockView {
    UnblockView { step: unblock.step, nodes: unblock.nodes, gpus: unblock.gpus }
}

/// Nodes that were passed over, by why.
fn passed_over(nodes: &BTreeMap<Reason, u32>) -> Vec<PassedOver> {
    nodes.iter().map(|(reason, nodes)| PassedOver { reason: *reason, nodes: *nodes }).collect()
}

/// The checks of an admission.
pub(crate) fn checks(admission: &Admission) -> Vec<CheckView> {
    let view = |check: &engine::admit::Check| CheckView {
        code: check.code,
        outcome: check.outcome,
        detail: check.detail.clone(),
    };
    admission.checks.iter().map(view).collect()
}

/// A refusal of the engine, in numbers.
pub(crate) fn refusal(refusal: &Refusal) -> PlacementRefusal {
    PlacementRefusal {
        code: Code::SkuUnavailable,
        free_gpus: refusal.free_gpus,
        largest_set_gpus: refusal.largest_set,
        nodes: passed_over(&refusal.nodes_by_reason),
        slots: Some(refusal.slots),
        blocked_since: refusal.blocked_since,
        unblocks: engine::explain::unblocks(refusal).iter().map(unblock).collect(),
    }
}

impl PlacementDecision {
    /// What a refusal counted, and what would end it; nothing for a decision that found a place, or that admission made.
    pub(crate) fn refusal(&self) -> Option<PlacementRefusal> {
        let record = self.record.as_ref()?;
        let shortage = record.shortage.as_ref()?;
        Some(PlacementRefusal {
            code: self.code.unwrap_or(Code::SkuUnavailable),
            free_gpus: shortage.free_gpus,
            largest_set_gpus: shortage.largest_set,
            nodes: passed_over(&record.nodes_by_reason),
            slots: shortage.slots,
            blocked_since: shortage.blocked_since,
            unblocks: record.owner().unblocks.iter().map(unblock).collect(),
        })
    }
}

/// A decision as its owner may see it.
pub fn decision(row: &DecisionRow) -> Result<DecisionView, StoreError> {
    let outcome: DecisionOutcome = super::stored(&row.outcome, "decisions.outcome")?;
    let read = PlacementDecision::read(&row.body)?;
    let empty = DecisionView {
        id: row.id.clone(),
        outcome,
        because: read.because.clone(),
        checks: serde_json::from_str::<Admission>(&row.body).map(|told| checks(&told)).unwrap_or_default(),
        considered: None,
        nodes: vec![],
        kind: None,
        scores: vec![],
        refusal: read.refusal(),
        snapshot_version: row.snapshot_version,
        at: row.at,
    };
    let Some(record) = &read.record else { return Ok(empty) };
    let check = |(code, outcome): (&_, &_)| CheckView { code: *code, outcome: *outcome, detail: String::new() };
    Ok(DecisionView {
        checks: record.checks.iter().map(check).collect(),
        considered: Some(record.considered),
        nodes: passed_over(&record.nodes_by_reason),
        kind: record.kind,
        scores: record.candidates.iter().map(|candidate| candidate.score).collect(),
        ..empty
    })
}

/// A decision with hardware.
pub fn placed_decision(row: &DecisionRow) -> Result<PlacedDecisionView, StoreError> {
    let seen = decision(row)?;
    let Some(record) = PlacementDecision::read(&row.body)?.record else {
        return Ok(PlacedDecisionView {
            decision: seen,
            policy: String::new(),
            partition: None,
            places: vec![],
            left_out: 0,
        });
    };
    let DecisionRecord { policy, partition, candidates, left_out, .. } = record;
    let policy = policy.into_owned();
    let places = candidates.iter().map(|candidate| PlaceView {
        node_id: candidate.node_id.clone(),
        gpu_modules: candidate.modules.iter().map(|module| module.0).collect(),
        score: candidate.score,
        wear: candidate.wear,
    });
    Ok(PlacedDecisionView { decision: seen, policy, partition, places: places.collect(), left_out })
}
