//! Nodes, slots, claims and tasks, for operators. Nobody else learns even that a node exists.

use api::{
    fleet::{ClaimList, ClaimView, NodeList, NodeShow, NodeView, SlotList, SlotView, TaskList, TaskView},
    page::Page,
};
use model::supply::OccupancyMode;
use store::{claims, nodes, slots, tasks};

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
    let modes = match (rows.first(), rows.last()) {
        (Some(first), Some(last)) => claims::occupancy_between(ctx.tx, &first.id, &last.id)?,
        _ => Default::default(),
    };
    let view = |row: nodes::NodeRow| {
        let mode = modes.get(&row.id).copied().unwrap_or(OccupancyMode::Free);
        Ok::<_, Refusal>(views::node(row, mode, now))
    };
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), view)?))
}

fn node_show(ctx: &mut Ctx<'_, '_>, input: Input<NodeShow>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    let (mode, version) = (claims::occupancy(ctx.tx, &row.id)?, row.version);
    Ok(Answer::new(views::node(row, mode, ctx.now())).version(version))
}

fn slot_list(ctx: &mut Ctx<'_, '_>, input: Input<SlotList>) -> Result<Answer<Page<SlotView>>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let (cursor, now) = (ctx.cursor(&input.query)?, ctx.now());
    let rows = slots::list(ctx.tx, Some(&node.id), None, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::slot(row, now)))?;
    Ok(Answer::page(page))
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
