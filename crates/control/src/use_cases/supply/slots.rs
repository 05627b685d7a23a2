//! Slots: approved one by one or all complete ones at once, approved again with other devices, taken out of sale and put
//! back, wiped once more. Whether a slot is let through is the validator's word; whether it is clean is its proof's.

use api::{
    fleet::{SlotCellView, SlotView},
    page::Page,
    supply::{
        ApprovedAllView, SlotApprove, SlotApproveComplete, SlotDisable, SlotEnable, SlotReapprove, SlotRepair,
        SlotShow, SlotSurvey,
    },
};
use model::{
    SlotId,
    supply::{OccupancyMode, SlotState},
};
use store::{
    StoreError, Tx, claims, drifts, nodes, proofs,
    slots::{self, Health, SlotNew, SlotRow},
};

use super::{
    super::fleet::slot_answer,
    approval::{Evidence, Wanted, is_gap, refused, taken_meanwhile},
    caller_name,
};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    reports,
    use_cases::state_conflict,
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<SlotApprove>(slot_approve),
        route::<SlotApproveComplete>(slot_approve_complete),
        route::<SlotSurvey>(slot_survey),
        route::<SlotShow>(slot_show),
        route::<SlotReapprove>(slot_reapprove),
        route::<SlotDisable>(slot_disable),
        route::<SlotEnable>(slot_enable),
        route::<SlotRepair>(slot_repair),
    ]
}

fn slot_survey(ctx: &mut Ctx<'_, '_>, input: Input<SlotSurvey>) -> Result<Answer<Page<SlotCellView>>, Refusal> {
    ctx.platform()?;
    let query = input.query;
    let cursor = ctx.cursor(&query)?;
    let rows = slots::survey(ctx.tx, query.pool_id.as_ref(), query.state, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::slot_cell(row)))?;
    Ok(Answer::page(page))
}

fn slot_show(ctx: &mut Ctx<'_, '_>, input: Input<SlotShow>) -> Result<Answer<SlotView>, Refusal> {
    let row = ctx.slot(&input.path.slot_id)?;
    slot_answer(ctx, row)
}

fn answer(ctx: &mut Ctx<'_, '_>, id: &SlotId) -> Result<Answer<SlotView>, Refusal> {
    let row = slots::get(ctx.tx, id)?.ok_or_else(internal)?;
    slot_answer(ctx, row)
}

fn slot_approve(ctx: &mut Ctx<'_, '_>, input: Input<SlotApprove>) -> Result<Answer<SlotView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    refuse_while_held_whole(ctx.tx, &node.id)?;
    let evidence = Evidence::load(ctx.tx, node)?;
    let wanted = evidence.wanted(&input.body, None);
    let elsewhere = evidence.elsewhere(ctx.tx, std::slice::from_ref(&wanted))?;
    let rules = evidence.judge(&wanted, &elsewhere, None);
    if !rules.iter().all(is_gap) {
        return Err(refused(&rules));
    }
    let new = new_slot(ctx, &evidence, &wanted, rules.is_empty())?;
    insert(ctx, &evidence, std::slice::from_ref(&new))?;
    let id = &new.id;
    Ok(answer(ctx, id)?.at(format!("/api/v1/admin/resource-slots/{id}")))
}

fn slot_approve_complete(
    ctx: &mut Ctx<'_, '_>,
    input: Input<SlotApproveComplete>,
) -> Result<Answer<ApprovedAllView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    refuse_while_held_whole(ctx.tx, &node.id)?;
    let evidence = Evidence::load(ctx.tx, node)?;
    if evidence.found.is_none() {
        return Err(state_conflict("Nobody has looked at the node yet; order a discovery first."));
    }
    let (mut new, mut left) = (Vec::new(), Vec::new());
    for view in evidence.judged_candidates(ctx.tx)?.into_iter().filter(|view| view.slot_id.is_none()) {
        if view.refusals.is_empty() {
            new.push(new_slot(ctx, &evidence, &Wanted::from(&view.candidate), true)?);
        } else {
            left.push(view);
        }
    }
    insert(ctx, &evidence, &new)?;
    let (now, mut approved) = (ctx.now(), Vec::new());
    for slot in &new {
        let row = slots::get(ctx.tx, &slot.id)?.ok_or_else(internal)?;
        let drifted = drifts::of_slot(ctx.tx, &slot.id)?;
        approved.push(views::slot(row, drifted, now)?);
    }
    Ok(Answer::new(ApprovedAllView { approved, left }).about(&evidence.node.id, None))
}

fn new_slot(ctx: &mut Ctx<'_, '_>, evidence: &Evidence, wanted: &Wanted, available: bool) -> Result<SlotNew, Refusal> {
    let by = caller_name(ctx)?;
    let (parts, approval) = evidence.approved(wanted, &by)?;
    Ok(SlotNew {
        id: SlotId::from_parts(ctx.stamp.now, ctx.stamp.bits()),
        node_id: evidence.node.id.clone(),
        profile: evidence.node.gpu_model.slot_profile(),
        available,
        parts,
        approval: Some(approval),
    })
}

fn insert(ctx: &mut Ctx<'_, '_>, evidence: &Evidence, new: &[SlotNew]) -> Result<(), Refusal> {
    if new.is_empty() {
        return Ok(());
    }
    slots::insert_all(ctx.tx, &mut ctx.stamp, new).map_err(taken_meanwhile)?;
    for slot in new {
        compared(ctx, evidence, &slot.id)?;
    }
    Ok(())
}

// A disk that is in use may be granted all the same; the slot is then sold once the host shows it free.
fn compared(ctx: &mut Ctx<'_, '_>, evidence: &Evidence, id: &SlotId) -> Result<(), Refusal> {
    let row = slots::get(ctx.tx, id)?.ok_or_else(internal)?;
    if let Some(discovery) = evidence.discovery() {
        reports::compare(ctx.tx, &mut ctx.stamp, &row, discovery)?;
    }
    Ok(())
}

fn slot_reapprove(ctx: &mut Ctx<'_, '_>, input: Input<SlotReapprove>) -> Result<Answer<SlotView>, Refusal> {
    let row = ctx.slot(&input.path.slot_id)?;
    ctx.check_version(input.if_match, row.version)?;
    refuse_if_held(ctx.tx, &row)?;
    let node = nodes::get(ctx.tx, &row.node_id)?.ok_or_else(internal)?;
    let evidence = Evidence::load(ctx.tx, node)?;
    let wanted = evidence.wanted(&input.body, Some(&row));
    let elsewhere = evidence.elsewhere(ctx.tx, std::slice::from_ref(&wanted))?;
    let rules = evidence.judge(&wanted, &elsewhere, Some(&row.id));
    if !rules.iter().all(is_gap) {
        return Err(refused(&rules));
    }
    let clean = is_proved_clean(ctx.tx, &row)?;
    if !clean && wanted.devices.nvme_identity != row.parts.nvme_identity {
        let old = row.parts.nvme_identity.as_deref().unwrap_or_default();
        if !evidence.is_granted(old) {
            let detail = "The slot is not proved clean, and its disk may hold a tenant's data: wipe it (repair the slot), or \
                          record with a disk grant what became of it.";
            return Err(state_conflict(detail));
        }
    }
    let state = match (rules.is_empty(), clean) {
        (false, _) => SlotState::Disabled,
        (true, true) => SlotState::Available,
        // Two operators let it go on without a proof; whoever gives it other devices does not take that back.
        (true, false) if row.state == SlotState::Available => SlotState::Available,
        (true, false) => SlotState::CleanupBlocked,
    };
    let by = caller_name(ctx)?;
    let (parts, approval) = evidence.approved(&wanted, &by)?;
    slots::reapprove(ctx.tx, &mut ctx.stamp, &row, state, &parts, &approval).map_err(taken_meanwhile)?;
    compared(ctx, &evidence, &row.id)?;
    answer(ctx, &row.id)
}

fn slot_disable(ctx: &mut Ctx<'_, '_>, input: Input<SlotDisable>) -> Result<Answer<SlotView>, Refusal> {
    let row = ctx.slot(&input.path.slot_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.state == SlotState::Disabled {
        return Err(state_conflict("The slot is out of sale already."));
    }
    refuse_if_held(ctx.tx, &row)?;
    let health = Health { state: "disabled", detail: input.body.reason.as_str() };
    slots::enter(ctx.tx, &mut ctx.stamp, &row, SlotState::Disabled, health, Some("disabled"))?;
    answer(ctx, &row.id)
}

fn slot_enable(ctx: &mut Ctx<'_, '_>, input: Input<SlotEnable>) -> Result<Answer<SlotView>, Refusal> {
    let row = ctx.slot(&input.path.slot_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.state != SlotState::Disabled {
        return Err(state_conflict(format!("The slot is {}; only one that is disabled can be put back.", row.state)));
    }
    refuse_while_held_whole(ctx.tx, &row.node_id)?;
    let node = nodes::get(ctx.tx, &row.node_id)?.ok_or_else(internal)?;
    let evidence = Evidence::load(ctx.tx, node)?;
    let wanted = Wanted::as_it_is(&row);
    let elsewhere = evidence.elsewhere(ctx.tx, std::slice::from_ref(&wanted))?;
    let rules = evidence.judge(&wanted, &elsewhere, Some(&row.id));
    if !rules.is_empty() {
        return Err(refused(&rules));
    }
    // One that was taken out before it was clean is wiped first.
    let (state, health) = if is_proved_clean(ctx.tx, &row)? {
        (SlotState::Available, Health { state: "clean", detail: "Put back on sale." })
    } else {
        (SlotState::CleanupBlocked, Health { state: "proof_missing", detail: "No wipe proof has come." })
    };
    slots::enter(ctx.tx, &mut ctx.stamp, &row, state, health, Some("enabled"))?;
    compared(ctx, &evidence, &row.id)?;
    answer(ctx, &row.id)
}

fn slot_repair(ctx: &mut Ctx<'_, '_>, input: Input<SlotRepair>) -> Result<Answer<SlotView>, Refusal> {
    let row = ctx.slot(&input.path.slot_id)?;
    let waits_for = row.life.wait.as_ref().map(|wait| wait.code.as_str());
    if row.state != SlotState::CleanupBlocked {
        return Err(state_conflict(format!("The slot is {}; there is nothing to wipe again.", row.state)));
    }
    if waits_for != Some(views::CLEANUP_NEEDS_OPERATOR) {
        return Err(state_conflict("The platform is still at it by itself; nothing waits for an operator."));
    }
    slots::begin_anew(ctx.tx, &mut ctx.stamp, &row)?;
    answer(ctx, &row.id)
}

fn is_proved_clean(tx: &mut Tx<'_>, slot: &SlotRow) -> Result<bool, StoreError> {
    if slot.use_generation == 0 {
        return Ok(true);
    }
    Ok(proofs::of_latest(tx, slot)?.is_some())
}

/// Refuses what would change a slot under somebody who holds it.
pub(super) fn refuse_if_held(tx: &mut Tx<'_>, slot: &SlotRow) -> Result<(), Refusal> {
    refuse_while_held_whole(tx, &slot.node_id)?;
    let idle = matches!(slot.state, SlotState::Disabled | SlotState::Available | SlotState::CleanupBlocked);
    let claimed = claims::of_slot(tx, &slot.id, 1)?.iter().any(|claim| claim.active);
    if !idle || claimed {
        return Err(state_conflict(format!("The slot is {} and somebody holds it; release it first.", slot.state)));
    }
    Ok(())
}

/// A tenant who has the whole host has every disk in it, approved or not: what they had must be wiped before it is sold.
fn refuse_while_held_whole(tx: &mut Tx<'_>, node_id: &model::NodeId) -> Result<(), Refusal> {
    if claims::occupancy_held(tx, node_id)? == OccupancyMode::Exclusive {
        return Err(state_conflict("One tenant holds the whole node; nothing about its slots can be changed now."));
    }
    Ok(())
}
