//! Allocations: asking for GPUs and giving them back. A launch is admitted here, with every check recorded, and placed
//! later by the leader; nothing is promised but an operation to follow.

use api::{
    Code, Problem,
    allocation::{
        AllocationLaunch, AllocationLaunchBody, AllocationList, AllocationRelease, AllocationShow, AllocationView,
    },
    operation::OperationView,
    page::Page,
};
use engine::{
    Admission, AdmitInput,
    admit::{CheckCode, CheckOutcome},
};
use model::{AllocationId, DecisionId, allocation::Desired, event::Noun};
use store::{allocations, decisions, projects, projects::ProjectRow, regions, skus, skus::SkuRow, tenants};

use super::{as_display_name, state_conflict, tenancy::accepted, unknown};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, Work, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<AllocationList>(allocation_list),
        route::<AllocationLaunch>(allocation_launch),
        route::<AllocationShow>(allocation_show),
        route::<AllocationRelease>(allocation_release),
    ]
}

fn allocation_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<AllocationList>,
) -> Result<Answer<Page<AllocationView>>, Refusal> {
    let project = ctx.project(&input.path.project_id)?;
    let (cursor, scope, now) = (ctx.cursor(&input.query)?, ctx.scope(), ctx.now());
    let filter = allocations::AllocationFilter { project_id: Some(&project.id), ..Default::default() };
    let rows = allocations::list(ctx.tx, &scope, filter, cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| views::allocation(row, now))?))
}

fn allocation_show(ctx: &mut Ctx<'_, '_>, input: Input<AllocationShow>) -> Result<Answer<AllocationView>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    let (version, now) = (row.version, ctx.now());
    Ok(Answer::new(views::allocation(row, now)?).version(version))
}

fn allocation_launch(ctx: &mut Ctx<'_, '_>, input: Input<AllocationLaunch>) -> Result<Answer<OperationView>, Refusal> {
    let (project, body) = (ctx.project(&input.path.project_id)?, &input.body);
    let sku = skus::get(ctx.tx, &body.sku_id)?.ok_or_else(|| unknown("/sku_id"))?;
    let looked_at = admission_input(ctx, &project, &sku, body)?;
    let admission = engine::admit(&looked_at);
    refuse_unless_admitted(&admission, &looked_at)?;
    let id = AllocationId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let new = allocations::AllocationNew {
        id: &id,
        tenant_id: &project.tenant_id,
        project_id: &project.id,
        name: &as_display_name(&body.name)?,
        sku_id: &sku.id,
        region_id: &body.region_id,
        shape: sku.shape,
        gpu_count: body.gpu_count.get(),
    };
    allocations::insert(ctx.tx, &mut ctx.stamp, new)?;
    remember(ctx, &id, &admission)?;
    let operation = ctx.start(Work {
        noun: Noun::Allocation,
        subject_id: id.as_str(),
        tenant_id: Some(&project.tenant_id),
        project_id: Some(&project.id),
        succeeds_in: &["running"],
        fails_in: &["releasing", "released", "refused", "failed"],
    })?;
    Ok(accepted(ctx, &operation)?.about(&id, Some(&project.tenant_id)))
}

/// What admission looks at, read while the project is held.
fn admission_input(
    ctx: &mut Ctx<'_, '_>,
    project: &ProjectRow,
    sku: &SkuRow,
    body: &AllocationLaunchBody,
) -> Result<AdmitInput, Refusal> {
    let region = regions::get(ctx.tx, &body.region_id)?.ok_or_else(|| unknown("/region_id"))?;
    let tenant = tenants::get(ctx.tx, &project.tenant_id)?.ok_or_else(internal)?;
    let held = projects::gpus_held(ctx.tx, &project.id)?;
    let whole = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(AdmitInput {
        tenant: tenant.state,
        tenant_desired: tenant.desired,
        project: project.state,
        project_desired: project.desired,
        region_enabled: region.enabled,
        sku_enabled: sku.terms.enabled,
        sku_gpu_counts: sku.terms.gpu_counts.iter().copied().map(whole).collect(),
        gpu_count: whole(body.gpu_count.get()),
        project_gpus_held: whole(held),
        project_gpu_cap: whole(project.gpu_cap),
    })
}

fn refuse_unless_admitted(admission: &Admission, input: &AdmitInput) -> Result<(), Refusal> {
    let Some(first) = admission.first_refusal() else { return Ok(()) };
    let code = match first.code {
        CheckCode::TenantActive | CheckCode::ProjectActive => Code::StateConflict,
        CheckCode::RegionEnabled | CheckCode::SkuEnabled | CheckCode::CountSellable => Code::NotForSale,
        CheckCode::GpuCap => Code::QuotaExceeded,
    };
    let refused = admission.checks.iter().filter(|check| check.outcome == CheckOutcome::Refused);
    let problem = Problem::new(code, first.detail.clone());
    let named = |problem: Problem, code| problem.with_field(place(code), accepted_instead(code, input));
    Err(refused.fold(problem, |problem, check| named(problem, check.code)).into())
}

/// What would pass the check.
fn accepted_instead(check: CheckCode, input: &AdmitInput) -> String {
    match check {
        CheckCode::TenantActive => "a project of a tenant that is active".to_owned(),
        CheckCode::ProjectActive => "a project that is active".to_owned(),
        CheckCode::RegionEnabled => "the id of a region that is enabled".to_owned(),
        CheckCode::SkuEnabled => "the id of a SKU that is enabled".to_owned(),
        CheckCode::CountSellable => {
            let counts: Vec<String> = input.sku_gpu_counts.iter().map(u32::to_string).collect();
            format!("one of {}", counts.join(", "))
        }
        CheckCode::GpuCap => match input.project_gpu_cap.saturating_sub(input.project_gpus_held) {
            0 => "no launch until some of the project's GPUs are released or its cap is raised".to_owned(),
            left => format!("at most {left}"),
        },
    }
}

const fn place(check: CheckCode) -> &'static str {
    match check {
        CheckCode::TenantActive | CheckCode::ProjectActive => "project_id",
        CheckCode::RegionEnabled => "/region_id",
        CheckCode::SkuEnabled => "/sku_id",
        CheckCode::CountSellable | CheckCode::GpuCap => "/gpu_count",
    }
}

/// Stores the admission with its reasons.
fn remember(ctx: &mut Ctx<'_, '_>, id: &AllocationId, admission: &Admission) -> Result<(), Refusal> {
    let mut body = serde_json::to_string(admission).map_err(|_| internal())?;
    if body.len() > decisions::BODY_BYTES_MAX {
        let mut short = admission.clone();
        short.checks.iter_mut().for_each(|check| check.detail.clear());
        body = serde_json::to_string(&short).map_err(|_| internal())?;
    }
    let row = decisions::DecisionRow {
        id: DecisionId::from_parts(ctx.stamp.now, ctx.stamp.bits()),
        subject_id: id.to_string(),
        outcome: "admitted".to_owned(),
        body,
        snapshot_version: 0,
        at: ctx.stamp.now,
    };
    Ok(decisions::insert(ctx.tx, &row)?)
}

fn allocation_release(
    ctx: &mut Ctx<'_, '_>,
    input: Input<AllocationRelease>,
) -> Result<Answer<OperationView>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.state.is_terminal() {
        return Err(state_conflict(format!("The allocation has ended ({}); there is nothing to release.", row.state)));
    }
    if row.desired == Desired::Released {
        return Err(state_conflict("The allocation is being released already; follow the operation that was started."));
    }
    allocations::wish(ctx.tx, &mut ctx.stamp, &row, Desired::Released, None)?;
    let operation = ctx.start(Work {
        noun: Noun::Allocation,
        subject_id: row.id.as_str(),
        tenant_id: Some(&row.tenant_id),
        project_id: Some(&row.project_id),
        // However it ends, nothing is held any more.
        succeeds_in: &["released", "refused", "failed"],
        fails_in: &[],
    })?;
    Ok(accepted(ctx, &operation)?.about(&row.id, Some(&row.tenant_id)))
}
