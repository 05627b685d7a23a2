//! Allocations: asking for GPUs, changing what is said about them, and giving them back. A launch is admitted here, with
//! every check recorded, and placed later by the leader; nothing is promised but an operation to follow.

use api::{
    Code, Problem,
    allocation::{
        AllocationExtend, AllocationLaunch, AllocationLaunchBody, AllocationList, AllocationRelease, AllocationShow,
        AllocationSurvey, AllocationUpdate, AllocationView, UserDataShow, UserDataView,
    },
    operation::OperationView,
    page::Page,
};
use engine::{
    Admission, AdmitInput,
    admit::{CheckCode, CheckOutcome},
};
use model::{
    AllocationId, DecisionId, Timestamp,
    allocation::{AllocationTerms, Desired, LaunchKey},
    event::Noun,
    image::{ImageSpec, ImageState},
    number::MemberCount,
    sku::CapacityShape,
    time::UtcTime,
    workload::Hardware,
};
use store::{
    Scope, allocations,
    allocations::{AllocationFilter, AllocationRow, Description},
    decisions, images, pools, projects,
    projects::ProjectRow,
    regions,
    skus::SkuRow,
    slot_profiles, ssh_keys, tenants,
};

use super::{
    as_display_name,
    hardware::Served,
    state_conflict,
    tenancy::accepted,
    unknown,
    workloads::{self, Queueing},
};
use crate::{
    applier::{admission_body, code_of},
    front_door::{Answer, Ctx, Cursor, Input, Refusal, Route, Work, internal, route},
    usual_image::usual_image,
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<AllocationList>(allocation_list),
        route::<AllocationLaunch>(allocation_launch),
        route::<AllocationShow>(allocation_show),
        route::<UserDataShow>(user_data_show),
        route::<AllocationUpdate>(allocation_update),
        route::<AllocationExtend>(allocation_extend),
        route::<AllocationRelease>(allocation_release),
        route::<AllocationSurvey>(allocation_survey),
    ]
}

fn allocation_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<AllocationList>,
) -> Result<Answer<Page<AllocationView>>, Refusal> {
    let project = ctx.project(&input.path.project_id)?;
    let (cursor, scope) = (ctx.cursor(&input.query)?, ctx.scope());
    let filter = AllocationFilter { project_id: Some(&project.id), ..AllocationFilter::default() };
    page(ctx, &cursor, &scope, filter)
}

fn allocation_survey(
    ctx: &mut Ctx<'_, '_>,
    input: Input<AllocationSurvey>,
) -> Result<Answer<Page<AllocationView>>, Refusal> {
    ctx.platform()?;
    let query = input.query;
    let cursor = ctx.cursor(&query)?;
    let filter = AllocationFilter { tenant_id: query.tenant_id.as_ref(), project_id: None, state: query.state };
    page(ctx, &cursor, &Scope::All, filter)
}

fn page(
    ctx: &mut Ctx<'_, '_>,
    cursor: &Cursor,
    scope: &Scope,
    filter: AllocationFilter<'_>,
) -> Result<Answer<Page<AllocationView>>, Refusal> {
    let (rows, now) = (allocations::list(ctx.tx, scope, filter, cursor.rows())?, ctx.now());
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| views::allocation(row, now))?))
}

fn allocation_show(ctx: &mut Ctx<'_, '_>, input: Input<AllocationShow>) -> Result<Answer<AllocationView>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    answer(ctx, row)
}

fn user_data_show(ctx: &mut Ctx<'_, '_>, input: Input<UserDataShow>) -> Result<Answer<UserDataView>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    let user_data = allocations::user_data(ctx.tx, &row.id)?.ok_or_else(Refusal::not_found)?;
    Ok(Answer::new(UserDataView { user_data }))
}

fn answer(ctx: &mut Ctx<'_, '_>, row: AllocationRow) -> Result<Answer<AllocationView>, Refusal> {
    let (id, tenant, version, now) = (row.id.clone(), row.tenant_id.clone(), row.version, ctx.now());
    Ok(Answer::new(views::allocation(row, now)?).version(version).about(id, Some(&tenant)))
}

fn allocation_launch(ctx: &mut Ctx<'_, '_>, input: Input<AllocationLaunch>) -> Result<Answer<OperationView>, Refusal> {
    let (project, body) = (ctx.project(&input.path.project_id)?, &input.body);
    let id = match Queueing::read(ctx, &project, body, "")? {
        Some(queueing) => submitted(ctx, &project, body, &queueing)?,
        None => asked(ctx, &project, body)?,
    };
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

/// Puts it in a queue, as a workload of one.
fn submitted(
    ctx: &mut Ctx<'_, '_>,
    project: &ProjectRow,
    body: &AllocationLaunchBody,
    queueing: &Queueing,
) -> Result<AllocationId, Refusal> {
    let submitted = workloads::submit(ctx, project, body, MemberCount::ONE, queueing)?;
    Ok(submitted.members.into_iter().next().ok_or_else(internal)?)
}

/// Asks for it at once: what is not free is refused.
fn asked(ctx: &mut Ctx<'_, '_>, project: &ProjectRow, body: &AllocationLaunchBody) -> Result<AllocationId, Refusal> {
    let Launch { sku, looked_at, terms, .. } = Launch::read(ctx, project, body)?;
    let admission = admitted(&looked_at)?;
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
        terms: &terms,
        recreated_from: None,
        workload_id: None,
    };
    allocations::insert(ctx.tx, &mut ctx.stamp, new)?;
    remember(ctx, &id, &admission)?;
    Ok(id)
}

/// What a launch is about, read and checked as far as it refers to other things.
pub(super) struct Launch {
    pub(super) sku: SkuRow,
    /// What else would do, where a hardware profile was named.
    pub(super) others: Vec<SkuRow>,
    /// What is kept with the workload, where one was named.
    pub(super) hardware: Option<Hardware>,
    pub(super) looked_at: AdmitInput,
    pub(super) terms: AllocationTerms,
}

impl Launch {
    /// Reads it for a project; while that is held, nobody else launches in it.
    pub(super) fn read(
        ctx: &mut Ctx<'_, '_>,
        project: &ProjectRow,
        body: &AllocationLaunchBody,
    ) -> Result<Self, Refusal> {
        let Served { sku, others, hardware } = Served::read(ctx, body)?;
        let looked_at = admission_input(ctx, project, &sku, body)?;
        refuse_unfit_pool(ctx, &sku, body)?;
        let lease_ends = body.lease_ends_at.map(UtcTime::get);
        refuse_lease_before(lease_ends, ctx.now(), "The lease would end before it begins.")?;
        let terms = AllocationTerms {
            placement: body.placement.clone(),
            labels: body.labels.clone(),
            ssh_keys: launch_keys(ctx, project, body)?,
            lease_ends,
            may_recreate: body.may_recreate,
            image: launch_image(ctx, &sku, body)?,
            user_data: body.user_data.clone(),
        };
        if let Some(image) = &terms.image {
            others.iter().try_for_each(|other| refuse_unfit_image(ctx, other, image))?;
        }
        Ok(Self { sku, others, hardware, looked_at, terms })
    }
}

/// What a launch is made of: the image it names, else the platform's default, else the only one there is. A whole node may do
/// without: what its tenant puts on it is theirs.
fn launch_image(
    ctx: &mut Ctx<'_, '_>,
    sku: &SkuRow,
    body: &AllocationLaunchBody,
) -> Result<Option<ImageSpec>, Refusal> {
    let unavailable = |detail: String| {
        let problem = Problem::new(Code::ImageUnavailable, detail);
        Refusal::from(problem.with_field("/image", "the name of an image that is available"))
    };
    let row = match &body.image {
        Some(id) => {
            let found = images::get(ctx.tx, id)?.filter(|row| row.state == ImageState::Available);
            found.ok_or_else(|| unavailable(format!("There is no image {id} that can be launched.")))?
        }
        None => match usual_image(ctx.tx)? {
            Ok(row) => row,
            Err(_) if sku.shape == CapacityShape::Baremetal => return Ok(None),
            Err(why) => {
                return Err(unavailable(format!("No image was named, the platform has no default, and {why}.")));
            }
        },
    };
    refuse_unfit_image(ctx, sku, &row.spec)?;
    Ok(Some(row.spec))
}

/// Every slot that the launch may get must be large enough, so what counts is what the profile promises. One that promises
/// nothing leaves it to the host, which refuses before the first byte is written.
fn refuse_unfit_image(ctx: &mut Ctx<'_, '_>, sku: &SkuRow, image: &ImageSpec) -> Result<(), Refusal> {
    let Some(slug) = &sku.terms.profile else { return Ok(()) };
    let Some(profile) = slot_profiles::get(ctx.tx, slug)? else { return Ok(()) };
    let sure = u64::try_from(profile.terms.min_disk_bytes).unwrap_or(0);
    let needed = image.minimum_disk_bytes;
    if sure == 0 || needed <= sure {
        return Ok(());
    }
    let id = &image.id;
    let detail = format!("The image {id} needs a disk of {needed} bytes; slots of {slug} are sure to have {sure}.");
    let accepted = format!("an image that works on a disk of {sure} bytes");
    Err(Problem::new(Code::ImageUnfit, detail).with_field("/image", accepted).into())
}

/// The keys of a launch, which must be the project's own: one of another project is one that does not exist.
fn launch_keys(
    ctx: &mut Ctx<'_, '_>,
    project: &ProjectRow,
    body: &AllocationLaunchBody,
) -> Result<Vec<LaunchKey>, Refusal> {
    let mut keys = Vec::with_capacity(body.ssh_key_ids.len());
    for (at, id) in body.ssh_key_ids.iter().enumerate() {
        let row = ssh_keys::get(ctx.tx, id)?.filter(|row| row.project_id == project.id);
        let row = row.ok_or_else(|| unknown(&format!("/ssh_key_ids/{at}")))?;
        keys.push(LaunchKey { name: row.name, public_key: row.public_key, fingerprint: row.fingerprint });
    }
    Ok(keys)
}

fn refuse_unfit_pool(ctx: &mut Ctx<'_, '_>, sku: &SkuRow, body: &AllocationLaunchBody) -> Result<(), Refusal> {
    let Some(id) = &body.placement.pool_id else { return Ok(()) };
    let pool = pools::get(ctx.tx, id)?.ok_or_else(|| unknown("/placement/pool_id"))?;
    if pool.region_id == body.region_id && pool.gpu_model == sku.gpu_model {
        return Ok(());
    }
    let problem = Problem::new(Code::UnknownReference, "The pool is in another region, or has other GPUs.");
    Err(problem.with_field("/placement/pool_id", "a pool of the region with the SKU's GPUs").into())
}

fn refuse_lease_before(ends: Option<Timestamp>, moment: Timestamp, detail: &str) -> Result<(), Refusal> {
    match ends {
        Some(ends) if ends <= moment => {
            let problem = Problem::new(Code::LeaseRefused, detail);
            Err(problem.with_field("/lease_ends_at", format!("a moment after {moment}")).into())
        }
        _ => Ok(()),
    }
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

/// The checks of a launch, all passed.
pub(super) fn admitted(input: &AdmitInput) -> Result<Admission, Refusal> {
    let admission = engine::admit(input);
    let Some(first) = admission.first_refusal() else { return Ok(admission) };
    let code = code_of(first.code);
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
pub(super) fn remember(ctx: &mut Ctx<'_, '_>, id: &AllocationId, admission: &Admission) -> Result<(), Refusal> {
    let body = admission_body(admission)?;
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
    // Whoever gives back what is being evacuated does not want it launched again.
    if row.desired == Desired::Released && !row.evacuating {
        return Err(state_conflict("The allocation is being released already; follow the operation that was started."));
    }
    allocations::wish(ctx.tx, &mut ctx.stamp, &row, Desired::Released, None)?;
    release_started(ctx, &row)
}

/// The operation that follows a release to its end, gentle or not.
pub(super) fn release_started(ctx: &mut Ctx<'_, '_>, row: &AllocationRow) -> Result<Answer<OperationView>, Refusal> {
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

/// An allocation that can still be changed: nobody wants it released.
fn refuse_unless_wanted(row: &AllocationRow) -> Result<(), Refusal> {
    if row.state.is_terminal() {
        return Err(state_conflict(format!("The allocation has ended ({}).", row.state)));
    }
    if row.desired == Desired::Released && !row.evacuating {
        return Err(state_conflict("The allocation is being released."));
    }
    Ok(())
}

fn allocation_update(ctx: &mut Ctx<'_, '_>, input: Input<AllocationUpdate>) -> Result<Answer<AllocationView>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    ctx.check_version(input.if_match, row.version)?;
    refuse_unless_wanted(&row)?;
    let body = &input.body;
    let name = body.name.as_ref().map(as_display_name).transpose()?;
    let new = Description {
        name: name.as_ref().unwrap_or(&row.name),
        labels: body.labels.as_ref().unwrap_or(&row.terms.labels),
        may_recreate: body.may_recreate.unwrap_or(row.terms.may_recreate),
    };
    allocations::describe(ctx.tx, &mut ctx.stamp, &row, new)?;
    let row = allocations::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    answer(ctx, row)
}

fn allocation_extend(ctx: &mut Ctx<'_, '_>, input: Input<AllocationExtend>) -> Result<Answer<AllocationView>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    ctx.check_version(input.if_match, row.version)?;
    refuse_unless_wanted(&row)?;
    let ends = input.body.lease_ends_at.get();
    let not_before = row.terms.lease_ends.unwrap_or_default().max(ctx.now());
    refuse_lease_before(Some(ends), not_before, "The lease would end no later than it does now.")?;
    allocations::extend_lease(ctx.tx, &mut ctx.stamp, &row, ends)?;
    let row = allocations::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    answer(ctx, row)
}
