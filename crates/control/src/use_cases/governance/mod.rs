//! The objects of governance. Whatever changes, one or many, goes one way: the counter over all of them is taken, the world
//! after the change is looked at as a whole, and only what fits together is written. What refuses is told field by field.

mod change;
mod standing;

pub(in crate::use_cases) use standing::explained;

use api::{
    Code, Nothing,
    governance::{
        ClusterQueueDelete, ClusterQueueList, ClusterQueuePut, ClusterQueueShow, CohortDelete, CohortList, CohortPut,
        CohortShow, FlavorDelete, FlavorList, FlavorPut, FlavorShow, GovernanceAppliedView, GovernanceApply,
        GovernanceShow, GovernanceView, GovernedView, HardwareProfileDelete, HardwareProfileList, HardwareProfilePut,
        HardwareProfileShow, LocalQueueDelete, LocalQueueList, LocalQueuePath, LocalQueuePut, LocalQueueShow,
        PriorityClassDelete, PriorityClassList, PriorityClassPut, PriorityClassShow, TopologyDelete, TopologyList,
        TopologyPut, TopologyShow,
    },
    page::{Page, PageQuery},
    queue::{GovernanceSimulate, QueueUse},
};
use model::{
    ProjectId,
    governance::{
        ClusterQueue, Cohort, Flavor, Governed, HardwareProfile, Identity, LocalQueue, PriorityClass, Topology,
        check::referrers,
    },
    text::Slug,
};
use store::governance::{self, GovernedRow};

use crate::front_door::{Answer, Ctx, Input, Refusal, Route, internal, route};
use change::{Changing, Wanted};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<GovernanceShow>(show_all),
        route::<GovernanceApply>(apply),
        route::<TopologyList>(|ctx, input| list(ctx, &input.query)),
        route::<TopologyShow>(|ctx, input| show(ctx, input.path.topology)),
        route::<TopologyPut>(|ctx, input| put(ctx, input.path.topology, input.body, input.if_match)),
        route::<TopologyDelete>(|ctx, input| delete::<Topology>(ctx, input.path.topology, input.if_match)),
        route::<FlavorList>(|ctx, input| list(ctx, &input.query)),
        route::<FlavorShow>(|ctx, input| show(ctx, input.path.flavor)),
        route::<FlavorPut>(|ctx, input| put(ctx, input.path.flavor, input.body, input.if_match)),
        route::<FlavorDelete>(|ctx, input| delete::<Flavor>(ctx, input.path.flavor, input.if_match)),
        route::<PriorityClassList>(|ctx, input| list(ctx, &input.query)),
        route::<PriorityClassShow>(|ctx, input| show(ctx, input.path.priority_class)),
        route::<PriorityClassPut>(|ctx, input| put(ctx, input.path.priority_class, input.body, input.if_match)),
        route::<PriorityClassDelete>(|ctx, input| {
            delete::<PriorityClass>(ctx, input.path.priority_class, input.if_match)
        }),
        route::<HardwareProfileList>(|ctx, input| list(ctx, &input.query)),
        route::<HardwareProfileShow>(|ctx, input| show(ctx, input.path.hardware_profile)),
        route::<HardwareProfilePut>(|ctx, input| put(ctx, input.path.hardware_profile, input.body, input.if_match)),
        route::<HardwareProfileDelete>(|ctx, input| {
            delete::<HardwareProfile>(ctx, input.path.hardware_profile, input.if_match)
        }),
        route::<CohortList>(|ctx, input| list(ctx, &input.query)),
        route::<CohortShow>(|ctx, input| show(ctx, input.path.cohort)),
        route::<CohortPut>(|ctx, input| put(ctx, input.path.cohort, input.body, input.if_match)),
        route::<CohortDelete>(|ctx, input| delete::<Cohort>(ctx, input.path.cohort, input.if_match)),
        route::<ClusterQueueList>(|ctx, input| list(ctx, &input.query)),
        route::<ClusterQueueShow>(|ctx, input| show(ctx, input.path.cluster_queue)),
        route::<ClusterQueuePut>(|ctx, input| put(ctx, input.path.cluster_queue, input.body, input.if_match)),
        route::<ClusterQueueDelete>(|ctx, input| delete::<ClusterQueue>(ctx, input.path.cluster_queue, input.if_match)),
        route::<LocalQueueList>(local_list),
        route::<LocalQueueShow>(local_show),
        route::<LocalQueuePut>(local_put),
        route::<LocalQueueDelete>(local_delete),
        route::<QueueUse>(standing::queue_use),
        route::<GovernanceSimulate>(standing::simulate),
    ]
}

fn view<T: Governed>(row: GovernedRow) -> Result<GovernedView<T>, Refusal> {
    let spec = T::from_object(row.object).ok_or_else(internal)?;
    Ok(GovernedView { id: row.id, spec, version: row.version, created_at: row.created })
}

fn answer<T: Governed>(row: GovernedRow) -> Result<Answer<GovernedView<T>>, Refusal> {
    let (id, version, tenant_id) = (row.id.clone(), row.version, row.tenant_id.clone());
    Ok(Answer::new(view(row)?).version(version).about(id, tenant_id.as_ref()))
}

fn named<T: Governed>(slug: Slug) -> Identity {
    Identity { kind: T::KIND, project_id: None, slug }
}

fn local(project_id: &ProjectId, slug: &Slug) -> Identity {
    Identity { kind: LocalQueue::KIND, project_id: Some(project_id.clone()), slug: slug.clone() }
}

fn show_all(ctx: &mut Ctx<'_, '_>, _: Input<GovernanceShow>) -> Result<Answer<GovernanceView>, Refusal> {
    ctx.platform()?;
    let all = governance::all(ctx.tx)?;
    let (version, governance) = (all.version, all.governance());
    Ok(Answer::new(GovernanceView { version, governance }).version(version))
}

fn apply(ctx: &mut Ctx<'_, '_>, input: Input<GovernanceApply>) -> Result<Answer<GovernanceAppliedView>, Refusal> {
    ctx.platform()?;
    let body = input.body;
    let changing = Changing::begin(ctx, Wanted::Document { document: body.governance, prune: body.prune })?;
    ctx.check_version(input.if_match, changing.before.version)?;
    let (changes, findings) = (changing.changes()?, changing.findings());
    if !body.dry_run {
        changing.refuse_unless_fitting()?;
        changing.carry_out(ctx)?;
    }
    let version = governance::version(ctx.tx)?;
    let applied = GovernanceAppliedView { version, dry_run: body.dry_run, changes, findings };
    Ok(Answer::new(applied).version(version).about("governance", None))
}

fn list<T: Governed>(ctx: &mut Ctx<'_, '_>, query: &PageQuery) -> Result<Answer<Page<GovernedView<T>>>, Refusal> {
    ctx.platform()?;
    let cursor = ctx.cursor(query)?;
    let rows = governance::list(ctx.tx, T::KIND, cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.object.slug().as_str(), view)?))
}

fn show<T: Governed>(ctx: &mut Ctx<'_, '_>, slug: Slug) -> Result<Answer<GovernedView<T>>, Refusal> {
    answer(ctx.governed(&named::<T>(slug))?)
}

fn put<T: Governed>(
    ctx: &mut Ctx<'_, '_>,
    slug: Slug,
    body: T,
    if_match: Option<i64>,
) -> Result<Answer<GovernedView<T>>, Refusal> {
    ctx.govern(T::KIND)?;
    set(ctx, named::<T>(slug), body, if_match)
}

/// Makes an object or changes it, for somebody who may.
fn set<T: Governed>(
    ctx: &mut Ctx<'_, '_>,
    identity: Identity,
    body: T,
    if_match: Option<i64>,
) -> Result<Answer<GovernedView<T>>, Refusal> {
    let wanted = Wanted::Object { identity: identity.clone(), object: body.into_object() };
    let changing = Changing::begin(ctx, wanted)?;
    let version = changing.before.find(&identity).map_or(0, |row| row.version);
    ctx.check_version(if_match, version)?;
    changing.refuse_unless_fitting()?;
    changing.carry_out(ctx)?;
    answer(governance::get(ctx.tx, &identity)?.ok_or_else(internal)?)
}

fn delete<T: Governed>(ctx: &mut Ctx<'_, '_>, slug: Slug, if_match: Option<i64>) -> Result<Answer<Nothing>, Refusal> {
    ctx.govern(T::KIND)?;
    remove(ctx, &named::<T>(slug), if_match)
}

/// Takes an object away, for somebody who may.
fn remove(ctx: &mut Ctx<'_, '_>, identity: &Identity, if_match: Option<i64>) -> Result<Answer<Nothing>, Refusal> {
    governance::hold(ctx.tx)?;
    let row = governance::get(ctx.tx, identity)?.ok_or_else(Refusal::not_found)?;
    ctx.check_version(if_match, row.version)?;
    let referring = referrers(&governance::all(ctx.tx)?.governance(), identity);
    if let Some((object, field)) = referring.first() {
        let others = match referring.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let detail = format!("{object} refers to it at {field}{others}.");
        return Err(Refusal::new(Code::StillInUse, detail));
    }
    let gone = governance::delete(ctx.tx, &mut ctx.stamp, &row);
    gone.map_err(super::still_in_use("There is still work in it, or something else refers to it."))?;
    Ok(Answer::new(Nothing {}).about(row.id, row.tenant_id.as_ref()))
}

fn local_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<LocalQueueList>,
) -> Result<Answer<Page<GovernedView<LocalQueue>>>, Refusal> {
    let project = ctx.project(&input.path.project_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = governance::local_queues(ctx.tx, &project.id, cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.object.slug().as_str(), view)?))
}

fn local_show(
    ctx: &mut Ctx<'_, '_>,
    input: Input<LocalQueueShow>,
) -> Result<Answer<GovernedView<LocalQueue>>, Refusal> {
    let LocalQueuePath { project_id, local_queue } = input.path;
    let project = ctx.project(&project_id)?;
    answer(governance::get(ctx.tx, &local(&project.id, &local_queue))?.ok_or_else(Refusal::not_found)?)
}

fn local_put(ctx: &mut Ctx<'_, '_>, input: Input<LocalQueuePut>) -> Result<Answer<GovernedView<LocalQueue>>, Refusal> {
    let LocalQueuePath { project_id, local_queue } = input.path;
    // The counter comes before projects, always.
    governance::hold(ctx.tx)?;
    let project = ctx.project(&project_id)?;
    set(ctx, local(&project.id, &local_queue), input.body, input.if_match)
}

fn local_delete(ctx: &mut Ctx<'_, '_>, input: Input<LocalQueueDelete>) -> Result<Answer<Nothing>, Refusal> {
    let LocalQueuePath { project_id, local_queue } = input.path;
    governance::hold(ctx.tx)?;
    let project = ctx.project(&project_id)?;
    remove(ctx, &local(&project.id, &local_queue), input.if_match)
}
