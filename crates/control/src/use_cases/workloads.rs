//! Workloads: asking for members that start together, watching where one stands in its queue, and giving it back. Whether one
//! is admitted is decided later by the leader; nothing is promised here but a place in the queue.

use api::{
    Code, Problem,
    allocation::AllocationLaunchBody,
    operation::OperationView,
    page::Page,
    workload::{
        WorkloadCancel, WorkloadExplain, WorkloadExplanationView, WorkloadGate, WorkloadList, WorkloadPriority,
        WorkloadShow, WorkloadSubmit, WorkloadSurvey, WorkloadView,
    },
};
use engine::Admission;
use model::{
    AllocationId, WorkloadId,
    allocation::Desired,
    event::Noun,
    governance::{Governed, Identity, Kind, LocalQueue, PriorityClass},
    number::{MaxRunS, MemberCount},
    text::Slug,
    workload::{IfUnavailable, State},
};
use store::{
    Page as Rows, Scope, allocations,
    allocations::AllocationNew,
    governance,
    projects::ProjectRow,
    scope::PAGE_ROWS_MAX,
    workloads::{self, WorkloadFilter, WorkloadNew, WorkloadRow},
};

use super::{
    allocations::{Launch, admitted, remember},
    as_display_name,
    governance::explained as governance_standing,
    hardware, state_conflict,
    tenancy::accepted,
    unknown,
};
use crate::{
    front_door::{Answer, Ctx, Cursor, Input, Refusal, Route, Work, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<WorkloadList>(workload_list),
        route::<WorkloadSubmit>(workload_submit),
        route::<WorkloadShow>(workload_show),
        route::<WorkloadExplain>(workload_explain),
        route::<WorkloadCancel>(workload_cancel),
        route::<WorkloadPriority>(workload_priority),
        route::<WorkloadSurvey>(workload_survey),
        route::<WorkloadGate>(workload_gate),
    ]
}

/// The queue that a launch goes through, and how.
pub(super) struct Queueing {
    local_queue: Slug,
    queue: Slug,
    priority_class: Option<Slug>,
    priority: i64,
    if_unavailable: IfUnavailable,
    max_run_s: Option<i64>,
}

impl Queueing {
    /// Reads it for a launch; none where the project has no queue and the launch asks for nothing that needs one. Fields are
    /// named below `at`.
    pub(super) fn read(
        ctx: &mut Ctx<'_, '_>,
        project: &ProjectRow,
        body: &AllocationLaunchBody,
        at: &str,
    ) -> Result<Option<Self>, Refusal> {
        let profile = hardware::profile(ctx, body, at)?;
        let (queue, class) =
            profile.as_ref().map_or((None, None), |it| (it.local_queue.as_ref(), it.priority_class.as_ref()));
        let Some(local) = local_queue(ctx, project, body.queue.as_ref().or(queue), at)? else {
            let needs_one = profile.is_some()
                || body.if_unavailable == Some(IfUnavailable::Queue)
                || body.priority_class.is_some()
                || body.max_run_s.is_some();
            return if needs_one { Err(queue_missing(at)) } else { Ok(None) };
        };
        let class = priority_class(ctx, body.priority_class.as_ref().or(class), at)?;
        Ok(Some(Self {
            local_queue: local.slug,
            queue: local.cluster_queue,
            priority: class.as_ref().map_or(0, |class| class.value.get()),
            priority_class: class.map(|class| class.slug),
            if_unavailable: body.if_unavailable.unwrap_or(IfUnavailable::Queue),
            max_run_s: body.max_run_s.map(MaxRunS::get),
        }))
    }
}

fn queue_missing(at: &str) -> Refusal {
    let problem = Problem::new(Code::QueueMissing, "The project has no default queue, and none was named.");
    problem.with_field(format!("{at}/queue"), "the short name of one of the project's queues").into()
}

/// The queue of a project that is named, else its default.
fn local_queue(
    ctx: &mut Ctx<'_, '_>,
    project: &ProjectRow,
    named: Option<&Slug>,
    at: &str,
) -> Result<Option<LocalQueue>, Refusal> {
    if let Some(slug) = named {
        let identity = Identity { kind: Kind::LocalQueue, project_id: Some(project.id.clone()), slug: slug.clone() };
        let found = governance::get(ctx.tx, &identity)?.and_then(|row| LocalQueue::from_object(row.object));
        return found.map(Some).ok_or_else(|| unknown(&format!("{at}/queue")));
    }
    let all = governance::local_queues(ctx.tx, &project.id, Rows::first(PAGE_ROWS_MAX))?;
    Ok(all.into_iter().filter_map(|row| LocalQueue::from_object(row.object)).find(|queue| queue.default))
}

/// The priority class that is named, else the platform's default.
fn priority_class(ctx: &mut Ctx<'_, '_>, named: Option<&Slug>, at: &str) -> Result<Option<PriorityClass>, Refusal> {
    if let Some(slug) = named {
        let identity = Identity { kind: Kind::PriorityClass, project_id: None, slug: slug.clone() };
        let found = governance::get(ctx.tx, &identity)?.and_then(|row| PriorityClass::from_object(row.object));
        return found.map(Some).ok_or_else(|| unknown(&format!("{at}/priority_class")));
    }
    let all = governance::list(ctx.tx, Kind::PriorityClass, Rows::first(PAGE_ROWS_MAX))?;
    Ok(all.into_iter().filter_map(|row| PriorityClass::from_object(row.object)).find(|class| class.default))
}

/// What was put in a queue.
pub(super) struct Submitted {
    pub(super) id: WorkloadId,
    pub(super) members: Vec<AllocationId>,
}

/// Puts members in a queue that start together or not at all.
pub(super) fn submit(
    ctx: &mut Ctx<'_, '_>,
    project: &ProjectRow,
    body: &AllocationLaunchBody,
    members: MemberCount,
    queueing: &Queueing,
) -> Result<Submitted, Refusal> {
    let mut launch = Launch::read(ctx, project, body)?;
    // What the project holds now it may have given back by then; the cap is held against it when it is admitted.
    launch.looked_at.project_gpus_held = 0;
    let admission = admitted(&launch.looked_at)?;
    refuse_over_cap(project, body, members)?;
    let id = WorkloadId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let name = as_display_name(&body.name)?;
    let new = WorkloadNew {
        id: &id,
        tenant_id: &project.tenant_id,
        project_id: &project.id,
        name: &name,
        local_queue: &queueing.local_queue,
        queue: &queueing.queue,
        priority_class: queueing.priority_class.as_ref(),
        priority: queueing.priority,
        members: members.get(),
        sku_id: &launch.sku.id,
        hardware: launch.hardware.as_ref(),
        region_id: &body.region_id,
        shape: launch.sku.shape,
        gpu_count: body.gpu_count.get(),
        if_unavailable: queueing.if_unavailable,
        max_run_s: queueing.max_run_s,
    };
    workloads::insert(ctx.tx, &mut ctx.stamp, new)?;
    let members = (0..members.get())
        .map(|_| member(ctx, &new, &launch, &admission))
        .collect::<Result<Vec<AllocationId>, Refusal>>()?;
    Ok(Submitted { id, members })
}

fn member(
    ctx: &mut Ctx<'_, '_>,
    workload: &WorkloadNew<'_>,
    launch: &Launch,
    admission: &Admission,
) -> Result<AllocationId, Refusal> {
    let id = AllocationId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let new = AllocationNew {
        id: &id,
        tenant_id: workload.tenant_id,
        project_id: workload.project_id,
        name: workload.name,
        sku_id: workload.sku_id,
        region_id: workload.region_id,
        shape: workload.shape,
        gpu_count: workload.gpu_count,
        terms: &launch.terms,
        recreated_from: None,
        workload_id: Some(workload.id),
    };
    allocations::insert(ctx.tx, &mut ctx.stamp, new)?;
    remember(ctx, &id, admission)?;
    Ok(id)
}

/// What is more than the project may ever hold would wait for ever.
fn refuse_over_cap(project: &ProjectRow, body: &AllocationLaunchBody, members: MemberCount) -> Result<(), Refusal> {
    let each = body.gpu_count.get();
    let asked = each.saturating_mul(members.get());
    if asked <= project.gpu_cap {
        return Ok(());
    }
    let detail = format!("The project may hold {} GPUs; {asked} are asked for together.", project.gpu_cap);
    let accepted = format!("at most {}", project.gpu_cap / each.max(1));
    Err(Problem::new(Code::QuotaExceeded, detail).with_field("/members", accepted).into())
}

fn workload_submit(ctx: &mut Ctx<'_, '_>, input: Input<WorkloadSubmit>) -> Result<Answer<OperationView>, Refusal> {
    let (project, body) = (ctx.project(&input.path.project_id)?, &input.body);
    let queueing = Queueing::read(ctx, &project, &body.launch, "/launch")?.ok_or_else(|| queue_missing("/launch"))?;
    let Submitted { id, .. } = submit(ctx, &project, &body.launch, body.members, &queueing)?;
    let operation = ctx.start(Work {
        noun: Noun::Workload,
        subject_id: id.as_str(),
        tenant_id: Some(&project.tenant_id),
        project_id: Some(&project.id),
        succeeds_in: &["running"],
        fails_in: &["finished", "cancelled", "refused", "failed"],
    })?;
    Ok(accepted(ctx, &operation)?.about(&id, Some(&project.tenant_id)))
}

fn workload_list(ctx: &mut Ctx<'_, '_>, input: Input<WorkloadList>) -> Result<Answer<Page<WorkloadView>>, Refusal> {
    let project = ctx.project(&input.path.project_id)?;
    let (cursor, scope) = (ctx.cursor(&input.query)?, ctx.scope());
    let filter = WorkloadFilter { project_id: Some(&project.id), ..WorkloadFilter::default() };
    page(ctx, &cursor, &scope, filter)
}

fn workload_survey(ctx: &mut Ctx<'_, '_>, input: Input<WorkloadSurvey>) -> Result<Answer<Page<WorkloadView>>, Refusal> {
    ctx.platform()?;
    let query = input.query;
    let cursor = ctx.cursor(&query)?;
    let filter = WorkloadFilter { project_id: None, queue: query.queue.as_ref(), state: query.state };
    page(ctx, &cursor, &Scope::All, filter)
}

fn page(
    ctx: &mut Ctx<'_, '_>,
    cursor: &Cursor,
    scope: &Scope,
    filter: WorkloadFilter<'_>,
) -> Result<Answer<Page<WorkloadView>>, Refusal> {
    let rows = workloads::list(ctx.tx, scope, filter, cursor.rows())?;
    let (mut beside, now) = (views::Beside::read(ctx.tx, scope, &rows)?, ctx.now());
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| views::workload(row, &mut beside, now))?))
}

fn workload_show(ctx: &mut Ctx<'_, '_>, input: Input<WorkloadShow>) -> Result<Answer<WorkloadView>, Refusal> {
    let row = ctx.workload(&input.path.workload_id)?;
    answer(ctx, row)
}

fn answer(ctx: &mut Ctx<'_, '_>, row: WorkloadRow) -> Result<Answer<WorkloadView>, Refusal> {
    let (id, tenant, version, now) = (row.id.clone(), row.tenant_id.clone(), row.version, ctx.now());
    let rows = [row];
    let scope = ctx.scope();
    let mut beside = views::Beside::read(ctx.tx, &scope, &rows)?;
    let [row] = rows;
    Ok(Answer::new(views::workload(row, &mut beside, now)?).version(version).about(id, Some(&tenant)))
}

fn workload_explain(
    ctx: &mut Ctx<'_, '_>,
    input: Input<WorkloadExplain>,
) -> Result<Answer<WorkloadExplanationView>, Refusal> {
    let row = ctx.workload(&input.path.workload_id)?;
    let fresh = if row.state.is_terminal() { None } else { governance_standing(ctx, &row.id)? };
    let scope = ctx.scope();
    let mut told = views::explanation(ctx.tx, &scope, &row)?;
    told.wait = fresh.or(told.wait);
    Ok(Answer::new(told))
}

fn workload_cancel(ctx: &mut Ctx<'_, '_>, input: Input<WorkloadCancel>) -> Result<Answer<OperationView>, Refusal> {
    let row = ctx.workload(&input.path.workload_id)?;
    ctx.check_version(input.if_match, row.version)?;
    refuse_unless_wanted(&row)?;
    workloads::wish(ctx.tx, &mut ctx.stamp, &row, Desired::Released, None)?;
    let operation = ctx.start(Work {
        noun: Noun::Workload,
        subject_id: row.id.as_str(),
        tenant_id: Some(&row.tenant_id),
        project_id: Some(&row.project_id),
        // However it ends, nothing is held any more.
        succeeds_in: &["finished", "cancelled", "refused", "failed"],
        fails_in: &[],
    })?;
    Ok(accepted(ctx, &operation)?.about(&row.id, Some(&row.tenant_id)))
}

fn workload_priority(ctx: &mut Ctx<'_, '_>, input: Input<WorkloadPriority>) -> Result<Answer<WorkloadView>, Refusal> {
    let row = ctx.workload(&input.path.workload_id)?;
    ctx.check_version(input.if_match, row.version)?;
    refuse_unless_wanted(&row)?;
    let class = priority_class(ctx, Some(&input.body.priority_class), "")?.ok_or_else(internal)?;
    workloads::set_priority(ctx.tx, &mut ctx.stamp, &row, Some(&class.slug), class.value.get())?;
    let row = workloads::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    answer(ctx, row)
}

fn workload_gate(ctx: &mut Ctx<'_, '_>, input: Input<WorkloadGate>) -> Result<Answer<WorkloadView>, Refusal> {
    let row = ctx.any_workload(&input.path.workload_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.state != State::Queued {
        return Err(state_conflict(format!("The workload does not wait any more ({}).", row.state)));
    }
    workloads::set_gate(ctx.tx, &mut ctx.stamp, &row, input.body.closed)?;
    let row = workloads::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    answer(ctx, row)
}

fn refuse_unless_wanted(row: &WorkloadRow) -> Result<(), Refusal> {
    if row.state.is_terminal() {
        return Err(state_conflict(format!("The workload has ended ({}).", row.state)));
    }
    if row.desired == Desired::Released {
        return Err(state_conflict("The workload is being given back."));
    }
    Ok(())
}
