//! Disk grants: a person says, with a reason, that what is on a disk may go.

use api::{
    Nothing,
    page::Page,
    supply::{DiskGrantCreate, DiskGrantDelete, DiskGrantList, DiskGrantView},
};
use store::grants::{self, GrantRow};

use super::{super::name_taken, caller_name};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<DiskGrantList>(disk_grant_list),
        route::<DiskGrantCreate>(disk_grant_create),
        route::<DiskGrantDelete>(disk_grant_delete),
    ]
}

fn disk_grant_list(ctx: &mut Ctx<'_, '_>, input: Input<DiskGrantList>) -> Result<Answer<Page<DiskGrantView>>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = grants::list(ctx.tx, &node.id, cursor.rows())?;
    let page = cursor.page(rows, |row| &row.nvme_identity, |row| Ok::<_, Refusal>(views::disk_grant(row)))?;
    Ok(Answer::page(page))
}

fn disk_grant_create(ctx: &mut Ctx<'_, '_>, input: Input<DiskGrantCreate>) -> Result<Answer<DiskGrantView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let grant = GrantRow {
        node_id: node.id.clone(),
        nvme_identity: input.body.nvme_identity.to_string(),
        reason: input.body.reason.to_string(),
        granted_by: caller_name(ctx)?,
        at: ctx.now(),
    };
    grants::insert(ctx.tx, &grant).map_err(name_taken("/nvme_identity", &grant.nvme_identity))?;
    let place = format!("/api/v1/admin/nodes/{}/disk-grants", node.id);
    // A grant never changes; it is given and taken back.
    Ok(Answer::new(views::disk_grant(grant)).version(1).at(place).about(&node.id, None))
}

fn disk_grant_delete(ctx: &mut Ctx<'_, '_>, input: Input<DiskGrantDelete>) -> Result<Answer<Nothing>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    if !grants::delete(ctx.tx, &node.id, input.path.nvme_identity.as_str())? {
        return Err(Refusal::not_found());
    }
    Ok(Answer::new(Nothing {}).about(&node.id, None))
}
