//! Tenants and projects: create, show, change, and the wishes to suspend, resume and delete them.

use api::{
    Code,
    operation::{OperationError, OperationView},
    page::Page,
    tenancy::{
        ProjectCreate, ProjectDelete, ProjectList, ProjectResume, ProjectShow, ProjectSuspend, ProjectUpdate,
        ProjectView, TenantCreate, TenantDelete, TenantList, TenantResume, TenantShow, TenantSuspend, TenantUpdate,
        TenantView,
    },
};
use model::{
    OperationId, ProjectId, TenantId,
    event::Noun,
    tenancy::{Desired, State},
};
use store::{projects, projects::ProjectRow, tenants, tenants::TenantRow};

use super::{name_taken, state_conflict};
use crate::{
    driver::write_json,
    front_door::{Answer, Ctx, Input, Refusal, Route, Work, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<TenantList>(tenant_list),
        route::<TenantCreate>(tenant_create),
        route::<TenantShow>(tenant_show),
        route::<TenantUpdate>(tenant_update),
        route::<TenantSuspend>(|ctx, input| {
            tenant_wish(ctx, &input.path.tenant_id, input.if_match, Desired::Suspended)
        }),
        route::<TenantResume>(|ctx, input| tenant_wish(ctx, &input.path.tenant_id, input.if_match, Desired::Active)),
        route::<TenantDelete>(|ctx, input| tenant_wish(ctx, &input.path.tenant_id, input.if_match, Desired::Deleted)),
        route::<ProjectList>(project_list),
        route::<ProjectCreate>(project_create),
        route::<ProjectShow>(project_show),
        route::<ProjectUpdate>(project_update),
        route::<ProjectSuspend>(|ctx, input| {
            project_wish(ctx, &input.path.project_id, input.if_match, Desired::Suspended)
        }),
        route::<ProjectResume>(|ctx, input| project_wish(ctx, &input.path.project_id, input.if_match, Desired::Active)),
        route::<ProjectDelete>(|ctx, input| {
            project_wish(ctx, &input.path.project_id, input.if_match, Desired::Deleted)
        }),
    ]
}

fn tenant_list(ctx: &mut Ctx<'_, '_>, input: Input<TenantList>) -> Result<Answer<Page<TenantView>>, Refusal> {
    ctx.myself()?;
    let (cursor, scope, now) = (ctx.cursor(&input.query)?, ctx.scope(), ctx.now());
    let rows = tenants::list(ctx.tx, &scope, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::tenant(row, now)))?;
    Ok(Answer::page(page))
}

fn tenant_create(ctx: &mut Ctx<'_, '_>, input: Input<TenantCreate>) -> Result<Answer<TenantView>, Refusal> {
    ctx.platform()?;
    let id = TenantId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let made = tenants::insert(ctx.tx, &mut ctx.stamp, &id, &input.body.slug, &input.body.name);
    made.map_err(name_taken("/slug", input.body.slug.as_str()))?;
    let row = tenants::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(tenant_answer(ctx, row).at(format!("/api/v1/tenants/{id}")))
}

fn tenant_answer(ctx: &Ctx<'_, '_>, row: TenantRow) -> Answer<TenantView> {
    let (id, version) = (row.id.clone(), row.version);
    Answer::new(views::tenant(row, ctx.now())).version(version).about(&id, Some(&id))
}

fn tenant_show(ctx: &mut Ctx<'_, '_>, input: Input<TenantShow>) -> Result<Answer<TenantView>, Refusal> {
    let mut row = ctx.tenant(&input.path.tenant_id)?;
    // What is kept with a deleted one is the proof that nothing was left; of a living one the reader wants the count now.
    if row.state != State::Deleted {
        let left = tenants::left(ctx.tx, &row.id, ctx.now())?;
        row.observed = write_json(&views::tenant_holdings(&left, ctx.now()))?;
    }
    Ok(tenant_answer(ctx, row))
}

fn tenant_update(ctx: &mut Ctx<'_, '_>, input: Input<TenantUpdate>) -> Result<Answer<TenantView>, Refusal> {
    let row = ctx.tenant(&input.path.tenant_id)?;
    ctx.check_version(input.if_match, row.version)?;
    refuse_if_going("tenant", row.state, row.desired)?;
    tenants::rename(ctx.tx, &mut ctx.stamp, &row, &input.body.name)?;
    let row = tenants::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    Ok(tenant_answer(ctx, row))
}

fn tenant_wish(
    ctx: &mut Ctx<'_, '_>,
    id: &TenantId,
    if_match: Option<i64>,
    desired: Desired,
) -> Result<Answer<OperationView>, Refusal> {
    let row = ctx.tenant(id)?;
    ctx.check_version(if_match, row.version)?;
    check_wish("tenant", row.state, row.desired, desired)?;
    tenants::wish(ctx.tx, &mut ctx.stamp, &row, desired, None)?;
    supersede(ctx, row.id.as_str())?;
    let ends = Ends::of(desired);
    let operation = ctx.start(Work {
        noun: Noun::Tenant,
        subject_id: row.id.as_str(),
        tenant_id: Some(&row.id),
        project_id: None,
        succeeds_in: ends.well,
        fails_in: ends.badly,
    })?;
    Ok(accepted(ctx, &operation)?.about(&row.id, Some(&row.id)))
}

fn project_list(ctx: &mut Ctx<'_, '_>, input: Input<ProjectList>) -> Result<Answer<Page<ProjectView>>, Refusal> {
    let tenant = ctx.tenant(&input.path.tenant_id)?;
    let (cursor, scope, now) = (ctx.cursor(&input.query)?, ctx.scope(), ctx.now());
    let rows = projects::list(ctx.tx, &scope, Some(&tenant.id), cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::project(row, now)))?;
    Ok(Answer::page(page))
}

fn project_create(ctx: &mut Ctx<'_, '_>, input: Input<ProjectCreate>) -> Result<Answer<ProjectView>, Refusal> {
    let tenant = ctx.tenant(&input.path.tenant_id)?;
    refuse_unless_open("tenant", tenant.state, tenant.desired)?;
    let id = ProjectId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let new = projects::ProjectNew {
        id: &id,
        tenant_id: &tenant.id,
        slug: &input.body.slug,
        name: &input.body.name,
        gpu_cap: input.body.gpu_cap.get(),
    };
    projects::insert(ctx.tx, &mut ctx.stamp, new).map_err(name_taken("/slug", input.body.slug.as_str()))?;
    let row = projects::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(project_answer(ctx, row).at(format!("/api/v1/projects/{id}")))
}

fn project_answer(ctx: &Ctx<'_, '_>, row: ProjectRow) -> Answer<ProjectView> {
    let (id, tenant, version) = (row.id.clone(), row.tenant_id.clone(), row.version);
    Answer::new(views::project(row, ctx.now())).version(version).about(&id, Some(&tenant))
}

fn project_show(ctx: &mut Ctx<'_, '_>, input: Input<ProjectShow>) -> Result<Answer<ProjectView>, Refusal> {
    let mut row = ctx.project(&input.path.project_id)?;
    if row.state != State::Deleted {
        let left = projects::left(ctx.tx, &row.id, ctx.now())?;
        row.observed = write_json(&views::project_holdings(&left, ctx.now()))?;
    }
    Ok(project_answer(ctx, row))
}

fn project_update(ctx: &mut Ctx<'_, '_>, input: Input<ProjectUpdate>) -> Result<Answer<ProjectView>, Refusal> {
    let row = ctx.project(&input.path.project_id)?;
    ctx.check_version(input.if_match, row.version)?;
    refuse_if_going("project", row.state, row.desired)?;
    let name = input.body.name.as_ref().unwrap_or(&row.name);
    let gpu_cap = input.body.gpu_cap.map_or(row.gpu_cap, model::number::GpuCap::get);
    projects::update(ctx.tx, &mut ctx.stamp, &row, name, gpu_cap)?;
    let row = projects::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    Ok(project_answer(ctx, row))
}

fn project_wish(
    ctx: &mut Ctx<'_, '_>,
    id: &ProjectId,
    if_match: Option<i64>,
    desired: Desired,
) -> Result<Answer<OperationView>, Refusal> {
    let row = ctx.project(id)?;
    ctx.check_version(if_match, row.version)?;
    check_wish("project", row.state, row.desired, desired)?;
    projects::wish(ctx.tx, &mut ctx.stamp, &row, desired, None)?;
    supersede(ctx, row.id.as_str())?;
    let ends = Ends::of(desired);
    let operation = ctx.start(Work {
        noun: Noun::Project,
        subject_id: row.id.as_str(),
        tenant_id: Some(&row.tenant_id),
        project_id: Some(&row.id),
        succeeds_in: ends.well,
        fails_in: ends.badly,
    })?;
    Ok(accepted(ctx, &operation)?.about(&row.id, Some(&row.tenant_id)))
}

/// The answer that points at long work.
pub(super) fn accepted(ctx: &mut Ctx<'_, '_>, id: &OperationId) -> Result<Answer<OperationView>, Refusal> {
    let row = store::operations::get(ctx.tx, id)?.ok_or_else(internal)?;
    Ok(Answer::new(views::operation(row)).at(format!("/api/v1/operations/{id}")))
}

/// Where a wish ends.
struct Ends {
    well: &'static [&'static str],
    badly: &'static [&'static str],
}

/// A word that is no state: an earlier wish ends with it when a later one takes its place.
pub(super) const SUPERSEDED: &str = "superseded";

impl Ends {
    const fn of(desired: Desired) -> Self {
        match desired {
            Desired::Active => Self { well: &["active"], badly: &[SUPERSEDED, "deleting"] },
            Desired::Suspended => Self { well: &["suspended"], badly: &[SUPERSEDED, "deleting"] },
            Desired::Deleted => Self { well: &["deleted"], badly: &[] },
        }
    }
}

/// Ends operations whose wish is overruled by the one that is being recorded.
pub(super) fn supersede(ctx: &mut Ctx<'_, '_>, subject_id: &str) -> Result<(), Refusal> {
    let detail = "A later request took its place.".to_owned();
    let error = OperationError { code: Code::StateConflict, detail, refusal: None };
    let text = serde_json::to_string(&error).map_err(|_| internal())?;
    store::operations::finish_for(ctx.tx, subject_id, SUPERSEDED, Some(&text), ctx.stamp.now)?;
    Ok(())
}

/// Whether the wish makes sense now; otherwise what would.
fn check_wish(noun: &str, state: State, wanted: Desired, wish: Desired) -> Result<(), Refusal> {
    refuse_if_going(noun, state, wanted)?;
    match (wanted, wish) {
        (_, Desired::Deleted) | (Desired::Active, Desired::Suspended) | (Desired::Suspended, Desired::Active) => Ok(()),
        (Desired::Suspended, Desired::Suspended) => {
            Err(state_conflict(format!("The {noun} is suspended already; it can be resumed or deleted.")))
        }
        (Desired::Active, Desired::Active) => {
            Err(state_conflict(format!("The {noun} is not suspended; only what is suspended can be resumed.")))
        }
        (Desired::Deleted, _) => Err(going(noun, state)),
    }
}

fn going(noun: &str, state: State) -> Refusal {
    let how = if state == State::Deleted { "is deleted" } else { "is being deleted" };
    state_conflict(format!("The {noun} {how}; nothing about it can be changed any more."))
}

/// Refuses changes to what is on its way out.
pub(super) fn refuse_if_going(noun: &str, state: State, desired: Desired) -> Result<(), Refusal> {
    let gone = desired == Desired::Deleted || matches!(state, State::Deleting | State::Deleted);
    if gone { Err(going(noun, state)) } else { Ok(()) }
}

/// Refuses to start something in what is suspended or on its way out. One that is still being created will do.
fn refuse_unless_open(noun: &str, state: State, desired: Desired) -> Result<(), Refusal> {
    refuse_if_going(noun, state, desired)?;
    if desired == Desired::Suspended || state == State::Suspended {
        let detail = format!("The {noun} is suspended; nothing new starts in it until it is resumed.");
        return Err(state_conflict(detail));
    }
    Ok(())
}
