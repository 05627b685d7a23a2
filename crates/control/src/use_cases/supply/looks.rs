//! Orders to look at a host, and what was seen: discovery beside what is approved, and readiness.

use api::{
    operation::OperationView,
    supply::{CandidateView, DiscoveryShow, DiscoveryView, NodeDiscover, ReadinessOrder, ReadinessShow, ReadinessView},
};
use model::{NodeId, event::Noun, task::TaskInput};

use super::{super::tenancy::accepted, approval::Evidence};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, Work, route},
    host_orders, promotion,
    use_cases::state_conflict,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<NodeDiscover>(node_discover),
        route::<DiscoveryShow>(discovery_show),
        route::<ReadinessOrder>(readiness_order),
        route::<ReadinessShow>(readiness_show),
    ]
}

fn node_discover(ctx: &mut Ctx<'_, '_>, input: Input<NodeDiscover>) -> Result<Answer<OperationView>, Refusal> {
    order(ctx, &input.path.node_id, TaskInput::SliceTopologyDiscover {})
}

fn readiness_order(ctx: &mut Ctx<'_, '_>, input: Input<ReadinessOrder>) -> Result<Answer<OperationView>, Refusal> {
    order(ctx, &input.path.node_id, TaskInput::NodeReadiness {})
}

// The operation is about the order: it ends when the order does.
pub(super) fn order(
    ctx: &mut Ctx<'_, '_>,
    node_id: &NodeId,
    input: TaskInput,
) -> Result<Answer<OperationView>, Refusal> {
    let node = ctx.node(node_id)?;
    let Some(task_id) = host_orders::give(ctx.tx, &mut ctx.stamp, &node, input)? else {
        return Err(state_conflict("Such an order is open already; follow the operation that was started."));
    };
    let operation = ctx.start(Work {
        noun: Noun::Task,
        subject_id: task_id.as_str(),
        tenant_id: None,
        project_id: None,
        succeeds_in: host_orders::ENDS_WELL,
        fails_in: host_orders::ENDS_BADLY,
    })?;
    Ok(accepted(ctx, &operation)?.about(&node.id, None))
}

fn discovery_show(ctx: &mut Ctx<'_, '_>, input: Input<DiscoveryShow>) -> Result<Answer<DiscoveryView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let evidence = Evidence::load(ctx.tx, node)?;
    let candidates: Vec<CandidateView> = evidence.judged_candidates(ctx.tx)?;
    let Evidence { node, found, .. } = evidence;
    let found = found.ok_or_else(Refusal::not_found)?;
    Ok(Answer::new(DiscoveryView {
        node_id: node.id,
        task_id: found.row.task_id,
        number: found.row.number,
        digest: found.row.digest,
        at: found.row.at,
        candidates,
        discovery: found.discovery,
    }))
}

fn readiness_show(ctx: &mut Ctx<'_, '_>, input: Input<ReadinessShow>) -> Result<Answer<ReadinessView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let (Some(readiness), Some(at)) = (promotion::readiness(&node)?, node.readiness_at) else {
        return Err(Refusal::not_found());
    };
    Ok(Answer::new(ReadinessView { node_id: node.id, at, readiness }))
}
