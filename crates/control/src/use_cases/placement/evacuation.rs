//! Evacuation of a node: nothing new is placed on it, and what its owners allow is stopped and launched again elsewhere. No
//! pretence of live migration: a guest ends, its disks are wiped, and another begins. What has no other place now stays,
//! and so does what nobody consented to; both leave by natural release, as from any drained node.

use api::placement::{EvacuationView, LeavingView, NodeEvacuate, StayReason, StayingView};
use engine::{Inventory, Occupant, Verdict, explain};
use model::{
    AllocationId, NodeId,
    allocation::{Desired, State},
    supply::NodeDesired,
};
use std::collections::BTreeSet;
use store::{
    Tx,
    allocations::{self, AllocationRow},
    claims, nodes, projects, skus,
};

use super::{super::state_conflict, plan};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    snapshot,
};

pub(super) fn routes() -> Vec<Route> {
    vec![route::<NodeEvacuate>(node_evacuate)]
}

fn node_evacuate(ctx: &mut Ctx<'_, '_>, input: Input<NodeEvacuate>) -> Result<Answer<EvacuationView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    ctx.check_version(input.if_match, node.version)?;
    match node.desired {
        NodeDesired::InService => {
            nodes::wish(ctx.tx, &mut ctx.stamp, &node, NodeDesired::Drained, input.body.reason.as_str())?;
        }
        NodeDesired::Drained => {}
        NodeDesired::Disabled => return Err(state_conflict("The node is out of use; nothing is on it.")),
    }
    // The picture is taken after the wish, so the node itself is no place any more.
    let mut inventory = snapshot::load(ctx.tx, ctx.config.lab)?.inventory;
    let (mut leaving, mut staying) = (Vec::new(), Vec::new());
    for row in on_node(ctx.tx, &node.id)? {
        match judge(ctx.tx, &mut inventory, &row)? {
            Fate::Leaves => {
                if row.desired == Desired::Running {
                    allocations::evacuate(ctx.tx, &mut ctx.stamp, &row)?;
                }
                leaving.push(leaves(&row, true));
            }
            Fate::Ends => leaving.push(leaves(&row, false)),
            Fate::Stays(reason, projected) => staying.push(StayingView {
                allocation_id: row.id,
                tenant_id: row.tenant_id,
                project_id: row.project_id,
                gpu_count: row.gpu_count,
                reason,
                projected,
            }),
        }
    }
    let projected = format!(
        "{} of {} allocations leave the node; {}.",
        leaving.len(),
        leaving.len() + staying.len(),
        if staying.is_empty() { "nothing stays" } else { "the others stay until their owners give them back" }
    );
    let view = EvacuationView { node_id: node.id.clone(), leaving, staying, projected };
    Ok(Answer::new(view).about(&node.id, None))
}

fn leaves(row: &AllocationRow, recreated: bool) -> LeavingView {
    LeavingView {
        allocation_id: row.id.clone(),
        tenant_id: row.tenant_id.clone(),
        project_id: row.project_id.clone(),
        gpu_count: row.gpu_count,
        recreated,
    }
}

fn on_node(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<Vec<AllocationRow>, Refusal> {
    let held = claims::active_on_node(tx, node_id)?;
    let holders: BTreeSet<AllocationId> = held.into_iter().map(|claim| claim.allocation_id).collect();
    let mut rows = Vec::with_capacity(holders.len());
    for id in holders {
        rows.push(allocations::get(tx, &id)?.ok_or_else(internal)?);
    }
    Ok(rows)
}

enum Fate {
    /// It is stopped and launched again elsewhere.
    Leaves,
    /// It is being given back anyway.
    Ends,
    /// It stays until its owner gives it back.
    Stays(StayReason, String),
}

fn judge(tx: &mut Tx<'_>, inventory: &mut Inventory, row: &AllocationRow) -> Result<Fate, Refusal> {
    if row.evacuating {
        return Ok(Fate::Leaves);
    }
    if row.desired == Desired::Released || row.state == State::Releasing {
        return Ok(Fate::Ends);
    }
    if !row.terms.may_recreate {
        let because = "Its owner has not said that it may be stopped and launched again elsewhere.";
        return Ok(Fate::Stays(StayReason::NoConsent, because.to_owned()));
    }
    let project = projects::get(tx, &row.project_id)?.ok_or_else(internal)?;
    let sku = skus::get(tx, &row.sku_id)?.ok_or_else(internal)?;
    let request = plan::request(&project, &sku, &row.region_id, (row.gpu_count, &row.terms.placement));
    match inventory.place(&request) {
        Verdict::Placed(placement) => {
            // The next one must find another place than this one.
            let occupant = Occupant {
                allocation_id: row.id.clone(),
                tenant_id: row.tenant_id.clone(),
                project_id: row.project_id.clone(),
                group: request.group.clone(),
                co_tenancy: request.co_tenancy,
                slot_ids: placement.slot_ids,
            };
            let taken = inventory.claim(&placement.chosen.node_id, request.shape, &occupant);
            taken.map_err(|_| internal())?;
            Ok(Fate::Leaves)
        }
        refused @ Verdict::Refused(_) => {
            let because = format!("There is no other place for it now. {}", explain::sentence(&request, &refused));
            Ok(Fate::Stays(StayReason::NoOtherPlace, because))
        }
    }
}
