//! Where a launch would go or went, and why; and what operators do about places. Owners get counts and words, operators
//! nodes and slots as well. The answers come from the engine that places for real.

mod backfill;
mod evacuation;
mod occupancy;
mod plan;

use api::{
    operation::OperationView,
    page::Page,
    placement::{
        AllocationForceRelease, AllocationInspect, AllocationPlaceView, DecisionList, DecisionView, PlacedDecisionList,
        PlacedDecisionView,
    },
};
use store::{
    allocations::{self, AllocationRow},
    claims, decisions, drifts, nodes, slots, tasks,
};

use super::{allocations::release_started, state_conflict};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    let mut all = vec![
        route::<DecisionList>(decision_list),
        route::<AllocationInspect>(allocation_inspect),
        route::<PlacedDecisionList>(placed_decision_list),
        route::<AllocationForceRelease>(allocation_force_release),
    ];
    all.extend(plan::routes());
    all.extend(evacuation::routes());
    all.extend(backfill::routes());
    all.extend(occupancy::routes());
    all
}

fn decision_list(ctx: &mut Ctx<'_, '_>, input: Input<DecisionList>) -> Result<Answer<Page<DecisionView>>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = decisions::of_subject(ctx.tx, row.id.as_str(), cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| views::decision(&row))?))
}

fn placed_decision_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<PlacedDecisionList>,
) -> Result<Answer<Page<PlacedDecisionView>>, Refusal> {
    let row = ctx.any_allocation(&input.path.allocation_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = decisions::of_subject(ctx.tx, row.id.as_str(), cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| views::placed_decision(&row))?))
}

fn allocation_inspect(
    ctx: &mut Ctx<'_, '_>,
    input: Input<AllocationInspect>,
) -> Result<Answer<AllocationPlaceView>, Refusal> {
    let row = ctx.any_allocation(&input.path.allocation_id)?;
    let now = ctx.now();
    let held = claims::of_allocation(ctx.tx, &row.id)?;
    let node_id = held.iter().find(|claim| claim.active).map(|claim| claim.node_id.clone());
    let node = match &node_id {
        Some(id) => nodes::get(ctx.tx, id)?.map(|node| node.name),
        None => None,
    };
    let mut shown = Vec::new();
    for slot in held_slots(ctx, &row, &held)? {
        let drifted = drifts::of_slot(ctx.tx, &slot.id)?;
        shown.push(views::slot(slot, drifted, now)?);
    }
    let decision = decisions::latest(ctx.tx, row.id.as_str())?;
    let orders = tasks::of_allocation(ctx.tx, &row.id)?;
    Ok(Answer::new(AllocationPlaceView {
        node_id,
        node,
        claims: held.into_iter().map(views::claim).collect(),
        slots: shown,
        tasks: orders.into_iter().map(|task| views::task(task, now)).collect(),
        decision: decision.as_ref().map(views::placed_decision).transpose()?,
        allocation: views::allocation(row, now)?,
    }))
}

// A claim on a whole node holds every slot of it.
fn held_slots(
    ctx: &mut Ctx<'_, '_>,
    row: &AllocationRow,
    held: &[claims::ClaimRow],
) -> Result<Vec<slots::SlotRow>, Refusal> {
    let whole = held.iter().find(|claim| claim.active && claim.slot_id.is_none());
    Ok(match whole {
        Some(claim) => slots::of_node(ctx.tx, &claim.node_id)?,
        None => slots::of_allocation(ctx.tx, &row.id)?,
    })
}

fn allocation_force_release(
    ctx: &mut Ctx<'_, '_>,
    input: Input<AllocationForceRelease>,
) -> Result<Answer<OperationView>, Refusal> {
    let row = ctx.any_allocation(&input.path.allocation_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.state.is_terminal() {
        return Err(state_conflict(format!("The allocation has ended ({}); there is nothing to release.", row.state)));
    }
    if row.force_reason.is_some() {
        return Err(state_conflict("The allocation is being released by force already."));
    }
    allocations::force_release(ctx.tx, &mut ctx.stamp, &row, input.body.reason.as_str())?;
    release_started(ctx, &row)
}
