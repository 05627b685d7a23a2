//! What operators want of a node: its profiles, whether it is cut into slices, whether anything new comes onto it, and that
//! everything on it which waits for them is tried again.

use api::{
    Code,
    fleet::NodeView,
    supply::{NodeDemote, NodeDisable, NodeDrain, NodePromote, NodeRepair, NodeUndrain, NodeUpdate},
};
use model::{
    supply::{NodeDesired, OccupancyMode},
    task::TaskInput,
};
use store::{allocations, claims, nodes, nodes::NodeRow, slots, standing};

use super::{super::fleet::node_answer, listed};
use crate::{
    driver::write_json,
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    host_orders, promotion,
    use_cases::state_conflict,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<NodeUpdate>(node_update),
        route::<NodeDrain>(node_drain),
        route::<NodeUndrain>(node_undrain),
        route::<NodeDisable>(node_disable),
        route::<NodeRepair>(node_repair),
        route::<NodePromote>(node_promote),
        route::<NodeDemote>(node_demote),
    ]
}

fn answer(ctx: &mut Ctx<'_, '_>, node: &NodeRow) -> Result<Answer<NodeView>, Refusal> {
    let row = nodes::get(ctx.tx, &node.id)?.ok_or_else(internal)?;
    node_answer(ctx, row)
}

fn node_update(ctx: &mut Ctx<'_, '_>, input: Input<NodeUpdate>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if let Some(mut profiles) = input.body.profiles {
        profiles.sort_unstable();
        nodes::set_profiles(ctx.tx, &mut ctx.stamp, &row, &write_json(&profiles)?)?;
    }
    answer(ctx, &row)
}

fn node_drain(ctx: &mut Ctx<'_, '_>, input: Input<NodeDrain>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    ctx.check_version(input.if_match, row.version)?;
    match row.desired {
        NodeDesired::InService => {}
        NodeDesired::Drained => return Err(state_conflict("The node is being drained already.")),
        NodeDesired::Disabled => return Err(state_conflict("The node is out of use; nothing is placed on it anyway.")),
    }
    nodes::wish(ctx.tx, &mut ctx.stamp, &row, NodeDesired::Drained, input.body.reason.as_str())?;
    answer(ctx, &row)
}

fn node_undrain(ctx: &mut Ctx<'_, '_>, input: Input<NodeUndrain>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.desired == NodeDesired::InService {
        return Err(state_conflict("The node is in service; only what is drained or disabled can be put back."));
    }
    nodes::wish(ctx.tx, &mut ctx.stamp, &row, NodeDesired::InService, "")?;
    answer(ctx, &row)
}

fn node_disable(ctx: &mut Ctx<'_, '_>, input: Input<NodeDisable>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.desired == NodeDesired::Disabled {
        return Err(state_conflict("The node is out of use already."));
    }
    if claims::occupancy_held(ctx.tx, &row.id)? != OccupancyMode::Free {
        return Err(state_conflict("Tenants still hold capacity on the node; drain it and wait until they have left."));
    }
    nodes::wish(ctx.tx, &mut ctx.stamp, &row, NodeDesired::Disabled, input.body.reason.as_str())?;
    answer(ctx, &row)
}

fn node_promote(ctx: &mut Ctx<'_, '_>, input: Input<NodePromote>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.promoted.is_some() {
        return Err(state_conflict("The node is promoted already."));
    }
    let standing = standing::of(ctx.tx, &row.id)?;
    let needs = promotion::needs(&row, &standing, ctx.now())?;
    if !needs.is_empty() {
        let things = if needs.len() == 1 { "thing" } else { "things" };
        let detail = format!("The node lacks {} {things} that slice use needs.", needs.len());
        return Err(listed(Code::NodeNotReady, detail, needs.into_iter().map(|need| (String::new(), need))));
    }
    let now = ctx.stamp.now;
    nodes::set_promoted(ctx.tx, &mut ctx.stamp, &row, Some(now))?;
    answer(ctx, &row)
}

fn node_demote(ctx: &mut Ctx<'_, '_>, input: Input<NodeDemote>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.promoted.is_none() {
        return Err(state_conflict("The node is not promoted."));
    }
    nodes::set_promoted(ctx.tx, &mut ctx.stamp, &row, None)?;
    answer(ctx, &row)
}

/// Waits of allocations and slots that only an operator ends.
const NEEDS_OPERATOR: &[&str] =
    &["provision_needs_operator", "release_needs_operator", super::slots::CLEANUP_NEEDS_OPERATOR];

fn node_repair(ctx: &mut Ctx<'_, '_>, input: Input<NodeRepair>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    if row.desired == NodeDesired::Disabled {
        return Err(state_conflict("The node is out of use; put it back into service before it is repaired."));
    }
    let waits = |life: &store::living::Life| {
        life.wait.as_ref().is_some_and(|wait| NEEDS_OPERATOR.contains(&wait.code.as_str()))
    };
    for slot in slots::of_node(ctx.tx, &row.id)?.iter().filter(|slot| waits(&slot.life)) {
        slots::begin_anew(ctx.tx, &mut ctx.stamp, slot)?;
    }
    let mut holders: Vec<_> = claims::active_on_node(ctx.tx, &row.id)?.into_iter().map(|c| c.allocation_id).collect();
    holders.sort();
    holders.dedup();
    for id in holders {
        if let Some(allocation) = allocations::get(ctx.tx, &id)?.filter(|allocation| waits(&allocation.life)) {
            allocations::begin_anew(ctx.tx, &mut ctx.stamp, &allocation)?;
        }
    }
    // One that is open already will do.
    host_orders::give(ctx.tx, &mut ctx.stamp, &row, TaskInput::SliceTopologyDiscover {})?;
    answer(ctx, &row)
}
