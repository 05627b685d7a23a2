//! The platform itself: what it speaks, who leads, what waits.

use api::platform::{ApiIndex, ApiIndexView, PlatformStatus, PlatformStatusView, StuckList, StuckView, WaitList};
use model::{Timestamp, event::Noun};
use store::{Dialect, audit, events, living, living::Living};

use crate::front_door::{Answer, Ctx, Input, Refusal, Route, route};

/// No more waits than this are listed.
const WAITS_MAX: usize = 200;

pub(super) fn routes() -> Vec<Route> {
    vec![route::<ApiIndex>(api_index), route::<PlatformStatus>(platform_status), route::<WaitList>(wait_list)]
}

fn api_index(ctx: &mut Ctx<'_, '_>, _: Input<ApiIndex>) -> Result<Answer<ApiIndexView>, Refusal> {
    ctx.myself()?;
    Ok(Answer::new(ApiIndexView {
        api_version: "v1".to_owned(),
        program_version: ctx.config.program_version.clone(),
        extensions: Vec::new(),
    }))
}

fn platform_status(ctx: &mut Ctx<'_, '_>, _: Input<PlatformStatus>) -> Result<Answer<PlatformStatusView>, Refusal> {
    ctx.platform()?;
    let identity = store::store_identity(ctx.tx)?;
    let lease = store::lease::lease_read(ctx.tx, store::LEADER)?;
    let now = ctx.now();
    Ok(Answer::new(PlatformStatusView {
        store_engine: engine_name(ctx.tx.dialect()).to_owned(),
        store_id: identity.store_id,
        incarnation: identity.incarnation,
        replica: ctx.config.replica.clone(),
        epoch: lease.as_ref().map_or(0, |lease| lease.epoch),
        leader: lease.filter(|lease| !lease.is_released()).map(|lease| lease.holder),
        event_head: events::head(ctx.tx)?,
        audit_head: audit::head(ctx.tx)?.map_or(0, |link| link.seq),
        over_budget: crate::driver::overdue_count(ctx.tx, now)?,
    }))
}

/// The engine as the API names it.
pub(crate) const fn engine_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => "sqlite",
        Dialect::Postgres => "postgres",
    }
}

/// The noun of a table of living things.
pub(crate) const fn noun(living: Living) -> Noun {
    match living {
        Living::Tenants => Noun::Tenant,
        Living::Projects => Noun::Project,
        Living::Nodes => Noun::Node,
        Living::Slots => Noun::Slot,
        Living::Workloads => Noun::Workload,
        Living::Allocations => Noun::Allocation,
        Living::Tasks => Noun::Task,
    }
}

fn wait_list(ctx: &mut Ctx<'_, '_>, _: Input<WaitList>) -> Result<Answer<StuckList>, Refusal> {
    ctx.platform()?;
    // Every wait ends some day, so this finds them all, whether their budget has run out or not.
    let (end_of_time, limit) = (Timestamp::from_micros(i64::MAX), i64::try_from(WAITS_MAX).unwrap_or(0));
    let mut items = Vec::new();
    for living in Living::ALL {
        for found in living::overdue(ctx.tx, *living, end_of_time, limit)? {
            items.push(StuckView {
                noun: noun(*living),
                subject_id: found.id,
                execution: found.state,
                code: found.wait.code,
                because: found.wait.because,
                source: found.wait.source,
                since: found.state_since,
                until: found.wait.until,
            });
        }
    }
    items.sort_by(|a, b| (a.until, &a.subject_id).cmp(&(b.until, &b.subject_id)));
    items.truncate(WAITS_MAX);
    Ok(Answer::new(StuckList { items }))
}
