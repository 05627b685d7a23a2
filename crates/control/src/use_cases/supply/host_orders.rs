//! Orders to a host that are about its guests as a whole: what one would get on some slots, whether everything is as claimed,
//! and an image to have before it is needed. Each is built from what the store says now, and answered with a report.

use api::{
    operation::OperationView,
    supply::{NodePlan, NodePrefetch, NodeReconcile, PlanReportView, PlanShow, ReconcileReportView, ReconcileShow},
};
use model::{
    NodeId,
    image::ImageState,
    task::{PlanOrder, TaskInput, TaskKind},
};
use serde::de::DeserializeOwned;
use store::{
    StoreError, images,
    node_reports::{self, ReportRow},
    nodes::NodeRow,
    slots,
};

use super::looks::order;
use crate::{
    comparison::{self, plan_slot},
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    use_cases::{state_conflict, unknown},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<NodePlan>(node_plan),
        route::<PlanShow>(plan_show),
        route::<NodeReconcile>(node_reconcile),
        route::<ReconcileShow>(reconcile_show),
        route::<NodePrefetch>(node_prefetch),
    ]
}

fn node_plan(ctx: &mut Ctx<'_, '_>, input: Input<NodePlan>) -> Result<Answer<OperationView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let known = slots::of_node(ctx.tx, &node.id)?;
    let mut wanted = Vec::with_capacity(input.body.slot_ids.len());
    for (at, id) in input.body.slot_ids.iter().enumerate() {
        let slot = known.iter().find(|slot| slot.id == *id);
        let slot = slot.ok_or_else(|| unknown(&format!("/slot_ids/{at}")))?;
        let Some(planned) = plan_slot(ctx.tx, slot)? else {
            return Err(state_conflict(format!("The slot {id} is not complete; approve it again with every device.")));
        };
        wanted.push(planned);
    }
    order(ctx, &node.id, TaskInput::SlicePlan(PlanOrder { slots: wanted }))
}

fn node_reconcile(ctx: &mut Ctx<'_, '_>, input: Input<NodeReconcile>) -> Result<Answer<OperationView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let asked = comparison::order(ctx.tx, &node)?;
    order(ctx, &node.id, TaskInput::SliceReconcile(asked))
}

fn node_prefetch(ctx: &mut Ctx<'_, '_>, input: Input<NodePrefetch>) -> Result<Answer<OperationView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let image = images::get(ctx.tx, &input.body.image_id)?.ok_or_else(|| unknown("/image_id"))?;
    if image.state != ImageState::Available {
        return Err(state_conflict(format!("The image is {}; only an available one can be fetched.", image.state)));
    }
    order(ctx, &node.id, TaskInput::ImagePrefetch { image: image.spec })
}

/// The newest report of a kind, read.
fn report<T: DeserializeOwned>(
    ctx: &mut Ctx<'_, '_>,
    node_id: &NodeId,
    kind: TaskKind,
) -> Result<(NodeRow, ReportRow, T), Refusal> {
    let node = ctx.node(node_id)?;
    let row = node_reports::latest(ctx.tx, &node.id, kind)?.ok_or_else(Refusal::not_found)?;
    let read = serde_json::from_str(&row.body);
    let why =
        |error: serde_json::Error| StoreError::Corrupt { column: "node_reports.body".into(), why: error.to_string() };
    let read = read.map_err(why)?;
    Ok((node, row, read))
}

fn plan_show(ctx: &mut Ctx<'_, '_>, input: Input<PlanShow>) -> Result<Answer<PlanReportView>, Refusal> {
    let (node, row, report) = report(ctx, &input.path.node_id, TaskKind::SlicePlan)?;
    Ok(Answer::new(PlanReportView { node_id: node.id, task_id: row.task_id, at: row.at, report }))
}

fn reconcile_show(ctx: &mut Ctx<'_, '_>, input: Input<ReconcileShow>) -> Result<Answer<ReconcileReportView>, Refusal> {
    let (node, row, report) = report(ctx, &input.path.node_id, TaskKind::SliceReconcile)?;
    Ok(Answer::new(ReconcileReportView { node_id: node.id, task_id: row.task_id, at: row.at, report }))
}
