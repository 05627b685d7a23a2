//! What operators want of a node: its profiles, whether it is cut into slices, whether anything new comes onto it, and that
//! everything on it which waits for them is tried again.

use api::{
    Code,
    fleet::NodeView,
    supply::{NodeDemote, NodeDisable, NodeDrain, NodePromote, NodeRepair, NodeUndrain, NodeUpdate},
};
use model::{
    NodeId,
    supply::{NodeDesired, OccupancyMode},
    task::TaskInput,
};
use store::{
    allocations, claims,
    nodes::{self, MachineRef, NodeRow},
    slots, standing,
};

use super::{super::fleet::node_answer, listed};
use crate::{
    driver::{machine, write_json},
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
        if row.converting.is_some() {
            return Err(state_conflict("The node is being turned into something else; its profile follows from that."));
        }
        profiles.sort_unstable();
        nodes::set_profiles(ctx.tx, &mut ctx.stamp, &row, &write_json(&profiles)?)?;
    }
    if let Some(machine) = &input.body.machine {
        set_machine(ctx, &row.id, machine)?;
    }
    answer(ctx, &row)
}

/// Says which machine a node is: one of a provider that is known, and no other node's.
fn set_machine(ctx: &mut Ctx<'_, '_>, id: &NodeId, machine: &str) -> Result<(), Refusal> {
    let row = nodes::get(ctx.tx, id)?.ok_or_else(internal)?;
    let link = machine
        .split_once('/')
        .map(|(provider, machine_id)| MachineRef { provider: provider.to_owned(), machine_id: machine_id.to_owned() });
    if row.machine == link {
        return Ok(());
    }
    if row.handed_over.is_some() {
        return Err(state_conflict(
            "The machine is a tenant's, or not taken back yet; until then it stays this node's.",
        ));
    }
    if let Some(link) = &link {
        if !store::machines::providers(ctx.tx)?.iter().any(|provider| provider.slug == link.provider) {
            return Err(super::super::unknown("/machine"));
        }
        if nodes::by_machine(ctx.tx, link)?.is_some() {
            return Err(state_conflict(format!("Another node is {machine}.")));
        }
    }
    nodes::set_machine(ctx.tx, &mut ctx.stamp, &row, link.as_ref())?;
    Ok(())
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
    if let Some((to, _)) = row.converting {
        return Err(state_conflict(format!(
            "The node is being turned into {to} and comes back by itself; convert it back to give that up."
        )));
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
    if row.converting.is_some() {
        return Err(state_conflict("The node is being turned into something else; promote it afterwards."));
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
const NEEDS_OPERATOR: &[&str] = &[
    "provision_needs_operator",
    "release_needs_operator",
    "reclaim_needs_operator",
    crate::views::CLEANUP_NEEDS_OPERATOR,
];

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
    // A machine whose allocation ended without it has nobody else who would have it taken back.
    if row.handed_over.is_some() && holders.is_empty() {
        machine::reclaim_again(ctx.tx, &mut ctx.stamp, &row)?;
    }
    for id in holders {
        if let Some(allocation) = allocations::get(ctx.tx, &id)?.filter(|allocation| waits(&allocation.life)) {
            allocations::begin_anew(ctx.tx, &mut ctx.stamp, &allocation)?;
        }
    }
    // One that is open already will do; a tenant's machine is not asked.
    if row.handed_over.is_none() {
        host_orders::give(ctx.tx, &mut ctx.stamp, &row, TaskInput::SliceTopologyDiscover {})?;
    }
    answer(ctx, &row)
}
