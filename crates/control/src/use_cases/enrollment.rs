//! One-time tokens that bring hosts in, and what to do about a host that misbehaves: see its incidents, revoke its identity.
//! The host's own side of an enrollment is not here: it has no token of the API, and comes through the agents' door.

use api::{
    Nothing,
    fleet::NodeView,
    page::Page,
    supply::{
        EnrollmentTokenCreate, EnrollmentTokenCreatedView, EnrollmentTokenList, EnrollmentTokenRevoke,
        EnrollmentTokenShow, EnrollmentTokenView, IncidentList, IncidentView, NodeRevokeIdentity,
    },
};
use model::{EnrollmentTokenId, Timestamp};
use store::{
    certificates,
    enrollment::{self, EnrollmentTokenNew, EnrollmentTokenRow},
    incidents::{self, IncidentRow},
    nodes, pools,
};

use super::{fleet::node_answer, state_conflict, unknown};
use crate::front_door::{Answer, Ctx, Input, Refusal, Route, internal, route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<EnrollmentTokenList>(token_list),
        route::<EnrollmentTokenCreate>(token_create),
        route::<EnrollmentTokenShow>(token_show),
        route::<EnrollmentTokenRevoke>(token_revoke),
        route::<NodeRevokeIdentity>(revoke_identity),
        route::<IncidentList>(incident_list),
    ]
}

fn token_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<EnrollmentTokenList>,
) -> Result<Answer<Page<EnrollmentTokenView>>, Refusal> {
    ctx.platform()?;
    let (cursor, now) = (ctx.cursor(&input.query)?, ctx.now());
    let rows = enrollment::list(ctx.tx, cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| view(row, now))?))
}

fn token_create(
    ctx: &mut Ctx<'_, '_>,
    input: Input<EnrollmentTokenCreate>,
) -> Result<Answer<EnrollmentTokenCreatedView>, Refusal> {
    ctx.platform()?;
    let body = &input.body;
    let Some(authority_sha256) = ctx.config.authority_sha256.clone() else {
        return Err(state_conflict("This replica lets no agents in: it was started without an authority."));
    };
    pools::get(ctx.tx, &body.pool_id)?.ok_or_else(|| unknown("/pool_id"))?;
    let before = nodes::by_name(ctx.tx, body.node_name.as_str())?;
    if before.is_some_and(|node| node.pool_id != body.pool_id) {
        return Err(state_conflict(format!("The node {} is in another pool.", body.node_name)));
    }
    let (id, secret) = (EnrollmentTokenId::from_parts(ctx.stamp.now, ctx.stamp.bits()), ctx.mint_enrollment());
    let created_by = ctx.caller.principal_id.to_string();
    let new = EnrollmentTokenNew {
        id: &id,
        pool_id: &body.pool_id,
        node_name: body.node_name.as_str(),
        hardware_serial: body.hardware_serial.as_ref().map(|serial| serial.as_str()),
        secret_hash: &secret.hash(),
        expires: ctx.stamp.now.plus_seconds(body.lifetime_s.get()),
        created_by: &created_by,
    };
    enrollment::insert(ctx.tx, &mut ctx.stamp, new)?;
    let row = enrollment::get(ctx.tx, &id)?.ok_or_else(internal)?;
    let (version, now) = (row.version, ctx.now());
    let view =
        EnrollmentTokenCreatedView { token: view(row, now)?, secret: secret.reveal().to_owned(), authority_sha256 };
    let answer = Answer::new(view).version(version).about(&id, None);
    Ok(Answer { secret: Some(secret), ..answer.at(format!("/api/v1/admin/enrollment-tokens/{id}")) })
}

fn token_show(
    ctx: &mut Ctx<'_, '_>,
    input: Input<EnrollmentTokenShow>,
) -> Result<Answer<EnrollmentTokenView>, Refusal> {
    let row = ctx.enrollment_token(&input.path.enrollment_token_id)?;
    let (version, now) = (row.version, ctx.now());
    Ok(Answer::new(view(row, now)?).version(version))
}

fn token_revoke(ctx: &mut Ctx<'_, '_>, input: Input<EnrollmentTokenRevoke>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.enrollment_token(&input.path.enrollment_token_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if let Some(node) = &row.node_id {
        return Err(state_conflict(format!("The token was used for {node}; revoke that node's identity instead.")));
    }
    // Revoking what is revoked changes nothing, and says so by changing nothing.
    if row.revoked.is_none() {
        enrollment::revoke(ctx.tx, &mut ctx.stamp, &row)?;
    }
    Ok(Answer::new(Nothing {}).about(&row.id, None))
}

fn revoke_identity(ctx: &mut Ctx<'_, '_>, input: Input<NodeRevokeIdentity>) -> Result<Answer<NodeView>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let now = ctx.now();
    if certificates::revoke_of_node(ctx.tx, &node.id, now)? == 0 {
        return Err(state_conflict("The node has no certificate that could be revoked."));
    }
    nodes::note_revoked(ctx.tx, &mut ctx.stamp, &node)?;
    let row = nodes::get(ctx.tx, &node.id)?.ok_or_else(internal)?;
    node_answer(ctx, row)
}

fn incident_list(ctx: &mut Ctx<'_, '_>, input: Input<IncidentList>) -> Result<Answer<Page<IncidentView>>, Refusal> {
    let node = ctx.node(&input.path.node_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = incidents::list(ctx.tx, &node.id, cursor.rows())?;
    let shown = |row: IncidentRow| {
        let IncidentRow { id, node_id, kind, detail, count, first, last } = row;
        Ok::<_, Refusal>(IncidentView { id, node_id, kind, detail, count, first_at: first, last_at: last })
    };
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), shown)?))
}

fn view(row: EnrollmentTokenRow, now: Timestamp) -> Result<EnrollmentTokenView, Refusal> {
    let projected = match (&row.node_id, row.revoked) {
        (Some(node), _) => format!("Used: the host is {node}."),
        (None, Some(_)) => "Taken back; it brings nobody in.".to_owned(),
        (None, None) if now >= row.expires => "Expired unused.".to_owned(),
        (None, None) => format!("Waits for the host {}, until {}.", row.node_name, row.expires),
    };
    Ok(EnrollmentTokenView {
        id: row.id,
        pool_id: row.pool_id,
        node_name: row.node_name.parse().map_err(|_| internal())?,
        hardware_serial: row.hardware_serial,
        expires_at: row.expires,
        used_at: row.used,
        node_id: row.node_id,
        revoked_at: row.revoked,
        projected,
        version: row.version,
        created_at: row.created,
    })
}
