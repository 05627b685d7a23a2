//! Providers of machines, what they last showed, and nodes that are turned from slices to bare metal or back. Nothing here
//! talks to a provider: the leader's hands do, and what they saw is read from the store.

use api::{
    Nothing,
    fleet::NodeView,
    machine::{MachineList, MachineSync, MachineView, NodeConvert, ProviderList, ProviderListView, ProviderView},
    page::Page,
};
use model::supply::NodeDesired;
use store::{
    StoreError, claims,
    machines::{self, MachineRow, ProviderRow},
    nodes::{self, NodeRow},
};

use super::{fleet::node_answer, state_conflict};
use crate::{
    driver::conversion_reason,
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<ProviderList>(provider_list),
        route::<MachineList>(machine_list),
        route::<MachineSync>(machine_sync),
        route::<NodeConvert>(node_convert),
    ]
}

fn provider_list(ctx: &mut Ctx<'_, '_>, _: Input<ProviderList>) -> Result<Answer<ProviderListView>, Refusal> {
    ctx.platform()?;
    let items = machines::providers(ctx.tx)?.into_iter().map(provider).collect();
    Ok(Answer::new(ProviderListView { items }))
}

fn provider(row: ProviderRow) -> ProviderView {
    ProviderView {
        name: row.slug,
        kind: row.kind,
        address: row.address,
        synced_at: row.synced,
        fault: Some(row.fault).filter(|fault| !fault.is_empty()),
        fault_at: row.fault_at,
    }
}

fn machine_list(ctx: &mut Ctx<'_, '_>, input: Input<MachineList>) -> Result<Answer<Page<MachineView>>, Refusal> {
    ctx.platform()?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = machines::machines(ctx.tx, cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |(key, _)| key.as_str(), |(_, row)| machine(row))?))
}

fn machine(row: MachineRow) -> Result<MachineView, Refusal> {
    let list = |column: &str, text: &str| -> Result<Vec<String>, StoreError> {
        let why = |error: serde_json::Error| StoreError::Corrupt { column: column.to_owned(), why: error.to_string() };
        serde_json::from_str(text).map_err(why)
    };
    Ok(MachineView {
        machine: format!("{}/{}", row.provider, row.machine_id),
        tags: list("provider_machines.tags", &row.tags)?,
        findings: list("provider_machines.findings", &row.findings)?,
        hostname: row.hostname,
        node_id: row.node_id,
        status: row.status,
        power: row.power,
        serial: row.serial,
        mark: row.mark,
        locked: row.locked,
        seen_at: row.seen,
    })
}

fn machine_sync(ctx: &mut Ctx<'_, '_>, _: Input<MachineSync>) -> Result<Answer<Nothing>, Refusal> {
    ctx.platform()?;
    if machines::providers(ctx.tx)?.is_empty() {
        return Err(state_conflict("No control plane was started with a provider of machines."));
    }
    let now = ctx.now();
    machines::want_sync(ctx.tx, now)?;
    Ok(Answer::new(Nothing {}).about("providers", None))
}

/// Begins a conversion: from here on the node takes nothing new and is not cut into slices. Asked to become what it is, a
/// conversion that is under way is given up instead.
fn node_convert(ctx: &mut Ctx<'_, '_>, input: Input<NodeConvert>) -> Result<Answer<NodeView>, Refusal> {
    let row = ctx.node(&input.path.node_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let (to, profiles) = (input.body.to, views::profiles(&row)?);
    match row.converting {
        Some((under_way, _)) if under_way == to => {
            return Err(state_conflict(format!("The node is being turned into {to} already.")));
        }
        None if profiles == [to] => return Err(state_conflict(format!("The node is {to} already."))),
        _ if row.desired == NodeDesired::Disabled => {
            return Err(state_conflict("The node is out of use; put it back into service before it is converted."));
        }
        _ => {}
    }
    // Whoever places on it meanwhile has the occupancy, or waits for this transaction.
    claims::occupancy_held(ctx.tx, &row.id)?;
    let latest =
        |ctx: &mut Ctx<'_, '_>| -> Result<NodeRow, Refusal> { Ok(nodes::get(ctx.tx, &row.id)?.ok_or_else(internal)?) };
    // What it was meant for before is not true any more, whichever way this ends.
    nodes::set_profiles(ctx.tx, &mut ctx.stamp, &row, "[]")?;
    let node = latest(ctx)?;
    if node.promoted.is_some() {
        nodes::set_promoted(ctx.tx, &mut ctx.stamp, &node, None)?;
    }
    let node = latest(ctx)?;
    let ours = node.converting.is_some_and(|(under_way, _)| node.desired_reason == conversion_reason(under_way));
    if node.desired == NodeDesired::InService || ours {
        nodes::wish(ctx.tx, &mut ctx.stamp, &node, NodeDesired::Drained, &conversion_reason(to))?;
    }
    let node = latest(ctx)?;
    nodes::set_converting(ctx.tx, &mut ctx.stamp, &node, Some(to))?;
    let node = latest(ctx)?;
    node_answer(ctx, node)
}
