//! Wipe proofs, for operators in full and for owners as far as it is their business: that what they had was wiped, how, and
//! the signature under it. Every check is made anew whenever somebody looks; nothing is believed because it was stored.

use std::collections::BTreeMap;

use api::{
    page::Page,
    proof::{
        AllocationProofs, AllocationProofsView, ProofList, ProofShow, ProofSummary, ProofView, WipeOutcome, WipeView,
    },
};
use model::{
    SlotId,
    claim::ClaimKind,
    proof::{EraseMethod, Proof, ProofCheckOutcome, WipeStep},
    supply::{OverrideState, SlotState},
};
use store::{
    Tx,
    allocations::AllocationRow,
    claims::{self, ClaimRow},
    proofs::{self, ProofRow},
    slots, wipe_overrides,
};

use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    proof_check::{checks_of, expected_of, fingerprint},
};

pub(super) fn routes() -> Vec<Route> {
    vec![route::<ProofShow>(proof_show), route::<ProofList>(proof_list), route::<AllocationProofs>(allocation_proofs)]
}

fn proof_show(ctx: &mut Ctx<'_, '_>, input: Input<ProofShow>) -> Result<Answer<ProofView>, Refusal> {
    let slot = ctx.slot(&input.path.slot_id)?;
    let of_use = input.query.use_generation.map(model::number::UseNumber::get);
    let row = proofs::newest(ctx.tx, &slot.id, of_use)?.ok_or_else(Refusal::not_found)?;
    Ok(Answer::new(proof_view(row)))
}

fn proof_list(ctx: &mut Ctx<'_, '_>, input: Input<ProofList>) -> Result<Answer<Page<ProofSummary>>, Refusal> {
    let slot = ctx.slot(&input.path.slot_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = proofs::list(ctx.tx, &slot.id, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(summary(row)))?;
    Ok(Answer::page(page))
}

fn proof_view(row: ProofRow) -> ProofView {
    let checks = checks_of(&row);
    ProofView {
        holds: checks.iter().all(|check| check.ok),
        checks,
        expected: expected_of(&row),
        node_key_fingerprint: fingerprint(&row.public_key).unwrap_or_default(),
        id: row.id,
        slot_id: row.slot_id,
        node_id: row.node_id,
        use_generation: row.use_generation,
        refused: row.refused,
        proof: row.proof,
        node_public_key: row.public_key,
        received_at: row.at,
    }
}

fn summary(row: ProofRow) -> ProofSummary {
    let wrong: Vec<ProofCheckOutcome> = checks_of(&row).into_iter().filter(|check| !check.ok).collect();
    let told: Vec<String> = wrong.iter().map(|check| format!("{}: {}", check.check, check.detail)).collect();
    ProofSummary {
        holds: wrong.is_empty(),
        detail: told.join("; "),
        method: method(&row.proof),
        id: row.id,
        use_generation: row.use_generation,
        refused: row.refused,
        received_at: row.at,
    }
}

fn method(proof: &Proof) -> EraseMethod {
    let erased = proof.steps.iter().find(|given| given.step == WipeStep::DiskErased);
    erased.map_or(EraseMethod::Unnamed, |given| EraseMethod::named_in(&given.evidence))
}

fn allocation_proofs(
    ctx: &mut Ctx<'_, '_>,
    input: Input<AllocationProofs>,
) -> Result<Answer<AllocationProofsView>, Refusal> {
    let allocation = ctx.allocation(&input.path.allocation_id)?;
    let claims = claims::of_allocation(ctx.tx, &allocation.id)?;
    let whole = claims.iter().any(|claim| claim.kind == ClaimKind::NodeExclusive);
    // A slot counts once, for the last time the allocation had it.
    let mut held: BTreeMap<SlotId, ClaimRow> = BTreeMap::new();
    for claim in claims {
        if let Some(slot_id) = claim.slot_id.clone() {
            held.insert(slot_id, claim);
        }
    }
    let mut views = Vec::with_capacity(held.len());
    for (number, (slot_id, claim)) in (1..).zip(held) {
        views.push(wiped(ctx.tx, number, &slot_id, &claim)?);
    }
    let projected = sentence(&allocation, whole, &views);
    Ok(Answer::new(AllocationProofsView { allocation_id: allocation.id, slots: views, projected }))
}

/// What became of one slot after the use that a claim stands for. Nothing of it names a device.
fn wiped(tx: &mut Tx<'_>, number: i64, slot_id: &SlotId, claim: &ClaimRow) -> Result<WipeView, Refusal> {
    let slot = slots::get(tx, slot_id)?.ok_or_else(internal)?;
    // A slot that was challenged anew after it was proved clean is not proved clean.
    let proof = match slot.use_generation == claim.fence {
        true => proofs::of_latest(tx, &slot)?,
        false => proofs::get(tx, slot_id, claim.fence)?,
    };
    let holds = proof.as_ref().is_some_and(|row| checks_of(row).iter().all(|check| check.ok));
    let asked = wipe_overrides::of_use(tx, slot_id, claim.fence)?;
    let under_way = slot.use_generation == claim.fence && slot.state == SlotState::Wiping;
    let (outcome, projected) = if claim.active || under_way {
        (WipeOutcome::Pending, "It is still held, or its wipe is under way.")
    } else if holds {
        (WipeOutcome::Proved, "It was wiped; the host's signed proof was checked and holds.")
    } else if asked.iter().any(|wish| wish.state == OverrideState::Used) {
        (WipeOutcome::Overridden, "Its wipe was not proved; two operators decided on it, each with their name.")
    } else {
        (WipeOutcome::Unproved, "Its wipe is not proved; nobody else gets it before it is.")
    };
    let shown = proof.filter(|_| outcome == WipeOutcome::Proved);
    Ok(WipeView {
        slot_number: number,
        outcome,
        method: shown.as_ref().map(|row| method(&row.proof)),
        steps: shown.iter().flat_map(|row| row.proof.steps.iter().map(|given| given.step)).collect(),
        node_key_fingerprint: shown.as_ref().and_then(|row| fingerprint(&row.public_key)),
        proved_at: shown.as_ref().map(|row| row.at),
        signature: shown.map(|row| row.proof.signature),
        projected: projected.to_owned(),
    })
}

fn sentence(allocation: &AllocationRow, whole: bool, slots: &[WipeView]) -> String {
    let proved = slots.iter().filter(|slot| slot.outcome == WipeOutcome::Proved).count();
    match slots.len() {
        0 if whole => "It had a whole node; each of its slots is proved clean before it is sold again.".to_owned(),
        0 => "It never had anything that would have to be wiped.".to_owned(),
        all if proved == all => "Everything it had was wiped, and that is proved.".to_owned(),
        all if allocation.state.is_terminal() => {
            format!("{proved} of {all} slots that it had are proved clean.")
        }
        _ => "It has not ended; what it has is wiped when it does.".to_owned(),
    }
}
