//! Tokens: who one is, and making, listing and revoking tokens.
//!
//! A token never carries more than its owner has at the moment it is used, so what matters here is whose token it is and
//! how far it is restricted. A restricted token makes only tokens under the same restriction. A tenant's administrator may
//! make tokens for members and service accounts of that tenant, and those work in that tenant only: nobody gets at what a
//! member may do elsewhere. Only a platform operator may make an unrestricted token for somebody else, and only for
//! another operator.

use api::{
    Code, Nothing, Problem, Right,
    identity::{
        TokenCreate, TokenCreateBody, TokenCreatedView, TokenList, TokenRevoke, TokenShow, TokenView, Whoami,
        WhoamiView,
    },
    page::Page,
};
use model::{PrincipalId, ProjectId, TenantId, TokenId};
use store::{Tx, members, principals, principals::PrincipalRow, projects, tenants, tokens};

use super::{tenancy::refuse_if_going, unknown};
use crate::{
    authz::{Caller, Resource},
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<Whoami>(whoami),
        route::<TokenList>(token_list),
        route::<TokenCreate>(token_create),
        route::<TokenShow>(token_show),
        route::<TokenRevoke>(token_revoke),
    ]
}

fn whoami(ctx: &mut Ctx<'_, '_>, _: Input<Whoami>) -> Result<Answer<WhoamiView>, Refusal> {
    ctx.myself()?;
    Ok(Answer::new(who(ctx.tx, ctx.caller)?))
}

/// Who a caller is, and what they may do with what they have shown.
pub(super) fn who(tx: &mut Tx<'_>, caller: &Caller) -> Result<WhoamiView, Refusal> {
    let row = principals::get(tx, &caller.principal_id)?.ok_or_else(internal)?;
    let mut principal = views::principal(row);
    // What the token in use carries, not what its owner could do with another.
    principal.platform_role = caller.platform_role;
    let token = views::token(caller.token.clone())?;
    let bindings = caller.bindings.iter().cloned().map(views::binding).collect();
    Ok(WhoamiView { principal, token, bindings })
}

fn token_list(ctx: &mut Ctx<'_, '_>, input: Input<TokenList>) -> Result<Answer<Page<TokenView>>, Refusal> {
    ctx.myself()?;
    let (cursor, scope) = (ctx.cursor(&input.query)?, ctx.scope());
    let rows = tokens::list(ctx.tx, &scope, tokens::TokenFilter::default(), cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), views::token)?))
}

fn token_show(ctx: &mut Ctx<'_, '_>, input: Input<TokenShow>) -> Result<Answer<TokenView>, Refusal> {
    let row = ctx.token(&input.path.token_id)?;
    let version = row.version;
    Ok(Answer::new(views::token(row)?).version(version))
}

fn token_revoke(ctx: &mut Ctx<'_, '_>, input: Input<TokenRevoke>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.token(&input.path.token_id)?;
    ctx.check_version(input.if_match, row.version)?;
    // Revoking what is revoked changes nothing, and says so by changing nothing.
    if row.revoked.is_none() {
        tokens::revoke(ctx.tx, &mut ctx.stamp, &row, None)?;
    }
    Ok(Answer::new(Nothing {}).about(&row.id, row.tenant_id.as_ref()))
}

/// Whose the new token is and what it is restricted to.
struct Reach {
    owner: PrincipalId,
    tenant_id: Option<TenantId>,
    project_id: Option<ProjectId>,
}

fn token_create(ctx: &mut Ctx<'_, '_>, input: Input<TokenCreate>) -> Result<Answer<TokenCreatedView>, Refusal> {
    let body = &input.body;
    let project_tenant = project_tenant(ctx, body)?;
    let me = ctx.caller.principal_id.clone();
    let reach = match body.principal_id.as_ref().filter(|owner| **owner != me) {
        None => own_reach(ctx, body, project_tenant)?,
        Some(owner) => others_reach(ctx, body, owner, project_tenant)?,
    };
    if let Some(tenant_id) = &reach.tenant_id {
        let tenant = tenants::hold(ctx.tx, tenant_id)?.ok_or_else(|| unknown("/tenant_id"))?;
        refuse_if_going("tenant", tenant.state, tenant.desired).map_err(|_| unknown("/tenant_id"))?;
    }
    let id = TokenId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let secret = ctx.mint();
    let new = tokens::TokenNew {
        id: &id,
        principal_id: &reach.owner,
        tenant_id: reach.tenant_id.as_ref(),
        project_id: reach.project_id.as_ref(),
        name: body.name.as_str(),
        secret_hash: &secret.hash(),
        scope: body.scope,
        expires: ctx.stamp.now.plus_seconds(body.lifetime_s.get()),
    };
    tokens::insert(ctx.tx, &mut ctx.stamp, new)?;
    let row = tokens::get(ctx.tx, &id)?.ok_or_else(internal)?;
    let version = row.version;
    let view = TokenCreatedView { token: views::token(row)?, secret: secret.reveal().to_owned() };
    let answer = Answer::new(view).version(version).about(&id, reach.tenant_id.as_ref());
    Ok(Answer { secret: Some(secret), ..answer.at(format!("/api/v1/tokens/{id}")) })
}

/// The tenant of the project that the body names, if it names one that fits.
fn project_tenant(ctx: &mut Ctx<'_, '_>, body: &TokenCreateBody) -> Result<Option<TenantId>, Refusal> {
    let Some(project_id) = &body.project_id else { return Ok(None) };
    let project = projects::get(ctx.tx, project_id)?.ok_or_else(|| unknown("/project_id"))?;
    let fits = body.tenant_id.as_ref().is_none_or(|tenant| *tenant == project.tenant_id);
    let going = refuse_if_going("project", project.state, project.desired).is_err();
    if fits && !going { Ok(Some(project.tenant_id)) } else { Err(unknown("/project_id")) }
}

/// A token for oneself: no wider than the one in use, and restricted only to where one has a role.
fn own_reach(
    ctx: &mut Ctx<'_, '_>,
    body: &TokenCreateBody,
    project_tenant: Option<TenantId>,
) -> Result<Reach, Refusal> {
    ctx.myself()?;
    let used = &ctx.caller.token;
    let wanted_tenant = body.tenant_id.clone().or(project_tenant);
    let inside =
        |wanted: &Option<TenantId>, held: &Option<TenantId>| held.is_none() || wanted.is_none() || wanted == held;
    if !inside(&wanted_tenant, &used.tenant_id) {
        return Err(unknown("/tenant_id"));
    }
    if used.project_id.is_some() && body.project_id.is_some() && used.project_id != body.project_id {
        return Err(unknown("/project_id"));
    }
    let tenant_id = wanted_tenant.or_else(|| used.tenant_id.clone());
    let project_id = body.project_id.clone().or_else(|| used.project_id.clone());
    let has_role = tenant_id.as_ref().is_none_or(|tenant| {
        ctx.caller.bindings.iter().any(|binding| {
            let in_project = |project: &ProjectId| binding.project_id.as_ref().is_none_or(|held| held == project);
            binding.tenant_id == *tenant && project_id.as_ref().is_none_or(in_project)
        })
    });
    if !has_role {
        let pointer = if body.project_id.is_some() { "/project_id" } else { "/tenant_id" };
        let detail = "A restricted token carries only memberships, and you have none there.";
        let problem = Problem::new(Code::UnknownReference, detail);
        return Err(problem.with_field(pointer, "a tenant or project that you are a member of").into());
    }
    Ok(Reach { owner: ctx.caller.principal_id.clone(), tenant_id, project_id })
}

/// A token for somebody else: bound to a tenant that the caller manages, in which the owner has a place.
fn others_reach(
    ctx: &mut Ctx<'_, '_>,
    body: &TokenCreateBody,
    owner: &PrincipalId,
    project_tenant: Option<TenantId>,
) -> Result<Reach, Refusal> {
    let stranger = || unknown("/principal_id");
    let owner = principals::get(ctx.tx, owner)?.filter(|owner| owner.removed.is_none()).ok_or_else(stranger)?;
    let tenant_id = body.tenant_id.clone().or(project_tenant).or_else(|| owner.tenant_id.clone());
    let Some(tenant_id) = tenant_id else { return operators_reach(ctx, owner) };
    ctx.require(Right::TenantManage, Resource::Tenant(&tenant_id)).map_err(|_| stranger())?;
    let belongs = owner.tenant_id.as_ref() == Some(&tenant_id)
        || members::bindings_of(ctx.tx, &owner.id)?.iter().any(|binding| binding.tenant_id == tenant_id);
    if !belongs {
        return Err(stranger());
    }
    Ok(Reach { owner: owner.id, tenant_id: Some(tenant_id), project_id: body.project_id.clone() })
}

fn operators_reach(ctx: &mut Ctx<'_, '_>, owner: PrincipalRow) -> Result<Reach, Refusal> {
    if ctx.require(Right::PlatformManage, Resource::Platform).is_ok() && owner.platform_role.is_some() {
        return Ok(Reach { owner: owner.id, tenant_id: None, project_id: None });
    }
    let problem =
        Problem::new(Code::UnknownReference, "A token for somebody else is bound to a tenant that you administer.");
    Err(problem.with_field("/tenant_id", "the tenant in which the token is to work").into())
}
