//! Queues as they stand, and as they would stand under other objects. The leader's own engine answers. How they stand is asked
//! of a book and a picture of the fleet that are kept and brought up to date; what would be is worked out on rows that are
//! read for the question and forgotten after it.

use api::queue::{EffectKind, EffectView, ExplanationView, GovernanceSimulate, QueueUse, QueueUseList, SimulationView};
use model::WorkloadId;
use store::StoreError;

use super::change::{Changing, Wanted};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal},
    queues::{self, Forecast, Governor, Rows},
    snapshot::{self, Snapshot},
};

fn unreadable(why: String) -> Refusal {
    StoreError::Corrupt { column: "governance".into(), why }.into()
}

pub(super) fn queue_use(ctx: &mut Ctx<'_, '_>, _: Input<QueueUse>) -> Result<Answer<QueueUseList>, Refusal> {
    ctx.platform()?;
    let now = ctx.now();
    let items = ctx.books.ask(ctx.tx, now, |book, _| Ok(book.uses()))?;
    Ok(Answer::new(QueueUseList { items }))
}

/// Why a workload is where it is, asked now; nothing for one that neither waits nor holds quota.
pub(in crate::use_cases) fn explained(
    ctx: &mut Ctx<'_, '_>,
    id: &WorkloadId,
) -> Result<Option<ExplanationView>, Refusal> {
    let (now, fleet) = (ctx.now(), ctx.availability);
    let explained = ctx.books.ask(ctx.tx, now, |book, tx| {
        let mut picture = fleet.picture(tx)?;
        Ok(picture.snapshot().and_then(|picture| book.explain(picture, id, now)))
    })?;
    Ok(explained)
}

pub(super) fn simulate(
    ctx: &mut Ctx<'_, '_>,
    input: Input<GovernanceSimulate>,
) -> Result<Answer<SimulationView>, Refusal> {
    ctx.platform()?;
    let body = input.body;
    let changing = Changing::begin(ctx, Wanted::Document { document: body.governance, prune: body.prune })?;
    changing.refuse_unless_fitting()?;
    let rows = queues::read(ctx.tx, ctx.now())?;
    let mut picture = snapshot::load(ctx.tx, ctx.config.lab)?;
    let mut changed = rows.clone();
    changed.governance = changing.after().clone();
    let now = forecast(ctx, rows, &mut picture)?;
    let then = forecast(ctx, changed, &mut picture)?;
    Ok(Answer::new(compared(&now, then)))
}

fn forecast(ctx: &Ctx<'_, '_>, rows: Rows, picture: &mut Snapshot) -> Result<Forecast, Refusal> {
    let governor = Governor::new(rows, ctx.now()).map_err(unreadable)?;
    Ok(governor.forecast(picture, ctx.now()))
}

// Who is treated otherwise than without the change.
fn compared(now: &Forecast, then: Forecast) -> SimulationView {
    let mut effects = vec![];
    let mut add = |row: &store::workloads::WorkloadRow, effect, rule, wait| {
        effects.push(EffectView {
            workload_id: row.id.clone(),
            name: row.name.to_string(),
            queue: row.queue.to_string(),
            effect,
            rule,
            wait,
        });
    };
    for row in then.starts.values().filter(|row| !now.starts.contains_key(&row.id)) {
        add(row, EffectKind::Starts, None, None);
    }
    for (row, rule) in then.stops.values().filter(|(row, _)| !now.stops.contains_key(&row.id)) {
        add(row, EffectKind::Stops, Some(*rule), None);
    }
    for (id, (row, wait)) in &then.waits {
        let same = now.waits.get(id).is_some_and(|(_, before)| before == wait);
        if !same && !then.starts.contains_key(id) {
            add(row, EffectKind::WaitsOtherwise, None, Some(wait.clone()));
        }
    }
    effects.sort_by(|a, b| a.workload_id.cmp(&b.workload_id));
    let count = |effect| effects.iter().filter(|one| one.effect == effect).count();
    let number = |of: usize| i64::try_from(of).unwrap_or(i64::MAX);
    let (starts, stops) = (number(count(EffectKind::Starts)), number(count(EffectKind::Stops)));
    SimulationView { effects, starts, stops, queues: then.uses }
}
