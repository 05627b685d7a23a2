//! Service accounts: programs that belong to one tenant. They have no role of their own; a membership gives them one.

use api::{
    Nothing,
    identity::{PrincipalView, ServiceAccountCreate, ServiceAccountList, ServiceAccountRemove, ServiceAccountShow},
    page::Page,
};
use model::{PrincipalId, TenantId, identity::PrincipalKind};
use store::{members, principals, principals::PrincipalRow, tokens};

use super::{members::keep_an_admin, name_taken, tenancy::refuse_if_going};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views,
};

/// Tokens are revoked in batches of this size.
const BATCH: i64 = 500;

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<ServiceAccountList>(service_account_list),
        route::<ServiceAccountCreate>(service_account_create),
        route::<ServiceAccountShow>(service_account_show),
        route::<ServiceAccountRemove>(service_account_remove),
    ]
}

fn service_account_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<ServiceAccountList>,
) -> Result<Answer<Page<PrincipalView>>, Refusal> {
    let tenant = ctx.tenant(&input.path.tenant_id)?;
    let (cursor, scope) = (ctx.cursor(&input.query)?, ctx.scope());
    let kind = Some(PrincipalKind::ServiceAccount);
    let rows = principals::list(ctx.tx, &scope, kind, Some(&tenant.id), cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::principal(row)))?;
    Ok(Answer::page(page))
}

fn service_account_create(
    ctx: &mut Ctx<'_, '_>,
    input: Input<ServiceAccountCreate>,
) -> Result<Answer<PrincipalView>, Refusal> {
    let tenant = ctx.tenant(&input.path.tenant_id)?;
    refuse_if_going("tenant", tenant.state, tenant.desired)?;
    let id = PrincipalId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let new = principals::PrincipalNew {
        id: &id,
        kind: PrincipalKind::ServiceAccount,
        name: input.body.name.as_str(),
        tenant_id: Some(&tenant.id),
        platform_role: None,
    };
    principals::insert(ctx.tx, &mut ctx.stamp, new).map_err(name_taken("/name", input.body.name.as_str()))?;
    let row = principals::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(answer(row, &tenant.id).at(format!("/api/v1/service-accounts/{id}")))
}

fn answer(row: PrincipalRow, tenant_id: &TenantId) -> Answer<PrincipalView> {
    let (id, version) = (row.id.clone(), row.version);
    Answer::new(views::principal(row)).version(version).about(id, Some(tenant_id))
}

fn service_account_show(
    ctx: &mut Ctx<'_, '_>,
    input: Input<ServiceAccountShow>,
) -> Result<Answer<PrincipalView>, Refusal> {
    let (row, tenant_id) = ctx.service_account(&input.path.principal_id)?;
    Ok(answer(row, &tenant_id))
}

fn service_account_remove(
    ctx: &mut Ctx<'_, '_>,
    input: Input<ServiceAccountRemove>,
) -> Result<Answer<Nothing>, Refusal> {
    let (row, tenant_id) = ctx.service_account(&input.path.principal_id)?;
    ctx.check_version(input.if_match, row.version)?;
    for membership in members::of_principal(ctx.tx, &row.id)? {
        keep_an_admin(ctx, &membership)?;
        members::remove(ctx.tx, &mut ctx.stamp, &membership)?;
    }
    let filter = tokens::TokenFilter { principal_id: Some(&row.id), ..tokens::TokenFilter::default() };
    let reason = Some("service_account_removed");
    while tokens::revoke_matching(ctx.tx, &mut ctx.stamp, filter, reason, BATCH)? > 0 {}
    principals::remove(ctx.tx, &mut ctx.stamp, &row)?;
    Ok(Answer::new(Nothing {}).about(row.id, Some(&tenant_id)))
}
