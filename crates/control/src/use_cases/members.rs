//! Memberships: who works where, as what. A tenant always keeps one administrator, counted under the tenant's lock.
//!
//! Nobody grants what they do not have: only those who manage the whole tenant get here, and every role of a tenant is part
//! of managing it. A person is known by address and created when new, without any right beyond the membership.

use api::{
    Code, Nothing, Problem,
    identity::{
        MemberCreate, MemberCreateBody, MemberList, MemberRemove, MemberShow, MemberSubject, MemberUpdate, MemberView,
    },
    page::Page,
};
use model::{
    MemberId, PrincipalId, TenantId,
    identity::{MemberRole, PrincipalKind},
};
use store::{StoreError, members, members::MemberRow, principals, projects};

use super::{tenancy::refuse_if_going, unknown};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<MemberList>(member_list),
        route::<MemberCreate>(member_create),
        route::<MemberShow>(member_show),
        route::<MemberUpdate>(member_update),
        route::<MemberRemove>(member_remove),
    ]
}

fn member_list(ctx: &mut Ctx<'_, '_>, input: Input<MemberList>) -> Result<Answer<Page<MemberView>>, Refusal> {
    let tenant = ctx.tenant(&input.path.tenant_id)?;
    let (cursor, scope) = (ctx.cursor(&input.query)?, ctx.scope());
    let rows = members::list(ctx.tx, &scope, Some(&tenant.id), None, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::member(row)))?;
    Ok(Answer::page(page))
}

fn member_create(ctx: &mut Ctx<'_, '_>, input: Input<MemberCreate>) -> Result<Answer<MemberView>, Refusal> {
    let tenant = ctx.tenant(&input.path.tenant_id)?;
    refuse_if_going("tenant", tenant.state, tenant.desired)?;
    let body = &input.body;
    check_project(ctx, body, &tenant.id)?;
    let principal_id = principal_of(ctx, &body.subject, &tenant.id)?;
    let id = MemberId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let new = members::MemberNew {
        id: &id,
        tenant_id: &tenant.id,
        project_id: body.project_id.as_ref(),
        principal_id: &principal_id,
        role: body.role,
    };
    members::insert(ctx.tx, &mut ctx.stamp, new).map_err(|error| match error {
        StoreError::UniqueViolation { .. } => {
            Problem::new(Code::NameTaken, "They are a member here already; change that membership instead.")
                .with_field("/subject", "somebody who is not a member here yet")
                .into()
        }
        other => Refusal::from(other),
    })?;
    let row = members::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(answer(row).at(format!("/api/v1/members/{id}")))
}

fn check_project(ctx: &mut Ctx<'_, '_>, body: &MemberCreateBody, tenant_id: &TenantId) -> Result<(), Refusal> {
    let Some(project_id) = &body.project_id else { return Ok(()) };
    let project = projects::get(ctx.tx, project_id)?.filter(|project| project.tenant_id == *tenant_id);
    let project = project.ok_or_else(|| unknown("/project_id"))?;
    refuse_if_going("project", project.state, project.desired)
}

/// Who is meant. A person is created when new; a service account must be one of this tenant.
fn principal_of(ctx: &mut Ctx<'_, '_>, subject: &MemberSubject, tenant_id: &TenantId) -> Result<PrincipalId, Refusal> {
    match subject {
        MemberSubject::Email(email) => match principals::by_email(ctx.tx, email.as_str())? {
            Some(known) => Ok(known.id),
            None => new_person(ctx, email.as_str(), None),
        },
        MemberSubject::ServiceAccount(id) => {
            let account = principals::get(ctx.tx, id)?.filter(|account| {
                account.kind == PrincipalKind::ServiceAccount
                    && account.removed.is_none()
                    && account.tenant_id.as_ref() == Some(tenant_id)
            });
            account.map(|account| account.id).ok_or_else(|| unknown("/subject/service_account"))
        }
    }
}

/// Records a person.
pub(super) fn new_person(
    ctx: &mut Ctx<'_, '_>,
    email: &str,
    platform_role: Option<model::identity::PlatformRole>,
) -> Result<PrincipalId, Refusal> {
    let id = PrincipalId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let new =
        principals::PrincipalNew { id: &id, kind: PrincipalKind::User, name: email, tenant_id: None, platform_role };
    principals::insert(ctx.tx, &mut ctx.stamp, new)?;
    Ok(id)
}

fn answer(row: MemberRow) -> Answer<MemberView> {
    let (id, tenant, version) = (row.id.clone(), row.tenant_id.clone(), row.version);
    Answer::new(views::member(row)).version(version).about(&id, Some(&tenant))
}

fn member_show(ctx: &mut Ctx<'_, '_>, input: Input<MemberShow>) -> Result<Answer<MemberView>, Refusal> {
    Ok(answer(ctx.member(&input.path.member_id)?))
}

fn member_update(ctx: &mut Ctx<'_, '_>, input: Input<MemberUpdate>) -> Result<Answer<MemberView>, Refusal> {
    let row = ctx.member(&input.path.member_id)?;
    ctx.check_version(input.if_match, row.version)?;
    match (input.body.role, row.project_id.is_some()) {
        (MemberRole::ProjectMember, false) => {
            return Err(elsewhere("The membership is in the whole tenant.", "tenant_admin or viewer"));
        }
        (MemberRole::TenantAdmin, true) => {
            return Err(elsewhere("The membership is in one project.", "project_member or viewer"));
        }
        _ => {}
    }
    if input.body.role != MemberRole::TenantAdmin {
        keep_an_admin(ctx, &row)?;
    }
    members::set_role(ctx.tx, &mut ctx.stamp, &row, input.body.role)?;
    Ok(answer(members::get(ctx.tx, &row.id)?.ok_or_else(internal)?))
}

/// A role that does not go with where the membership is.
fn elsewhere(detail: &str, accepted: &str) -> Refusal {
    Problem::new(Code::StateConflict, detail).with_field("/role", accepted).into()
}

fn member_remove(ctx: &mut Ctx<'_, '_>, input: Input<MemberRemove>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.member(&input.path.member_id)?;
    ctx.check_version(input.if_match, row.version)?;
    keep_an_admin(ctx, &row)?;
    members::remove(ctx.tx, &mut ctx.stamp, &row)?;
    Ok(Answer::new(Nothing {}).about(&row.id, Some(&row.tenant_id)))
}

/// Refuses to take the last administrator away. The tenant is held, so two such requests cannot pass each other.
pub(super) fn keep_an_admin(ctx: &mut Ctx<'_, '_>, row: &MemberRow) -> Result<(), Refusal> {
    if row.role == MemberRole::TenantAdmin && members::admins_left(ctx.tx, &row.tenant_id)? <= 1 {
        return Err(Refusal::new(Code::LastAdmin, "This is the tenant's last administrator."));
    }
    Ok(())
}
