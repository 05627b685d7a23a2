//! Nodes, slots, claims and tasks, for operators. Nobody else learns even that a node exists.

use api::{
    fleet::{ClaimList, ClaimView, NodeList, NodeShow, NodeView, SlotList, SlotView, TaskList, TaskView},
    page::Page,
};
use model::supply::{OccupancyMode, OverrideState, SlotState};
use store::{claims, drifts, nodes, nodes::NodeRow, slots, slots::SlotRow, standing, tasks, wipe_overrides};

use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<NodeList>(node_list),
        route::<NodeShow>(node_show),
        route::<SlotList>(slot_list),
        route::<ClaimList>(claim_list),
        route::<TaskList>(task_list),
    ]
}

fn node_list(ctx: &mut Ctx<'_, '_>, input: Input<NodeList>) -> Result<Answer<Page<NodeView>>, Refusal> {
    ctx.platform()?;
    let (cursor, now) = (ctx.cursor(&input.query)?, ctx.now());
    let rows = nodes::list(ctx.tx, None, cursor.rows())?;
    let (modes, mut standings) = match (rows.first(), rows.last()) {
        (Some(first), Some(last)) => {
            (claims::occupancy_between(ctx.tx, &first.id, &last.id)?, standing::between(ctx.tx, &first.id, &last.id)?)
        }
        _ => Default::default(),
    };
    let view = |row: NodeRow| {
        let mode = modes.get(&row.id).copied().unwrap_or(OccupancyMode::Free);
        views::node(row.clone(), mode, &standings.remove(&row.id).unwrap_or_default(), now)
    };
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), view)?))
}

fn node_show(ctx: &mut Ctx<'_, '_>, input: Input<NodeShow>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    node_answer(ctx, row)
}

/// A node as it is in this transaction.
pub(super) fn node_answer(ctx: &mut Ctx<'_, '_>, row: NodeRow) -> Result<Answer<NodeView>, Refusal> {
    let (mode, standing) = (claims::occupancy(ctx.tx, &row.id)?, standing::of(ctx.tx, &row.id)?);
    let (id, version, now) = (row.id.clone(), row.version, ctx.now());
    Ok(Answer::new(views::node(row, mode, &standing, now)?).version(version).about(id, None))
}

/// A slot as it is in this transaction.
pub(super) fn slot_answer(ctx: &mut Ctx<'_, '_>, row: SlotRow) -> Result<Answer<SlotView>, Refusal> {
    let drifts = drifts::of_slot(ctx.tx, &row.id)?;
    let (id, version, now) = (row.id.clone(), row.version, ctx.now());
    let asked = if row.state == SlotState::CleanupBlocked {
        wipe_overrides::of_use(ctx.tx, &row.id, row.use_generation)?
    } else {
        vec![]
    };
    let mut view = views::slot(row, drifts, now)?;
    let open = asked.iter().filter(|wish| wish.state == OverrideState::Requested && wish.expires > now);
    view.ways_out.extend(open.map(views::waiting_override));
    Ok(Answer::new(view).version(version).about(id, None))
}

fn slot_list(ctx: &mut Ctx<'_, '_>, input: Input<SlotList>) -> Result<Answer<Page<SlotView>>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let (cursor, now) = (ctx.cursor(&input.query)?, ctx.now());
    let rows = slots::list(ctx.tx, Some(&node.id), None, cursor.rows())?;
    let mut drifted = drifts::of_node(ctx.tx, &node.id)?;
    let view = |row: SlotRow| {
        let drifts = drifted.remove(&row.id).unwrap_or_default();
        views::slot(row, drifts, now)
    };
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), view)?))
}

fn claim_list(ctx: &mut Ctx<'_, '_>, input: Input<ClaimList>) -> Result<Answer<Page<ClaimView>>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = claims::list_on_node(ctx.tx, &node.id, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::claim(row)))?;
    Ok(Answer::page(page))
}

fn task_list(ctx: &mut Ctx<'_, '_>, input: Input<TaskList>) -> Result<Answer<Page<TaskView>>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let (cursor, now) = (ctx.cursor(&input.query)?, ctx.now());
    let rows = tasks::list_of_node(ctx.tx, &node.id, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::task(row, now)))?;
    Ok(Answer::page(page))
}
