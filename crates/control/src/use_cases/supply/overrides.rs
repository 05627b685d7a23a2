//! Overrides: one operator asks that a blocked slot goes on without a proof, another decides. Approving makes the slot
//! available in the same transaction.
//!
//! What can be checked is that two different people's accounts acted: only people can be operators, and nobody decides on
//! their own request. That two accounts are two persons is for whoever appoints operators to see to.

use std::collections::BTreeMap;

use api::{
    Code,
    page::Page,
    wipe_override::{
        WipeOverrideApprove, WipeOverrideList, WipeOverrideReject, WipeOverrideRequest, WipeOverrideShow,
        WipeOverrideView,
    },
};
use lifecycle::wipe_override::LIFETIME_S;
use model::{
    PrincipalId, Timestamp, WipeOverrideId,
    identity::{PlatformRole, PrincipalKind},
    supply::{OverrideState, SlotState},
    task::TaskKind,
};
use store::{
    StoreError, Tx, principals,
    slots::{self, Health, SlotRow},
    tasks, wipe_overrides,
    wipe_overrides::{WipeOverrideNew, WipeOverrideRow},
};

use super::slots::refuse_if_held;
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    use_cases::state_conflict,
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<WipeOverrideRequest>(request),
        route::<WipeOverrideList>(list),
        route::<WipeOverrideShow>(show),
        route::<WipeOverrideApprove>(approve),
        route::<WipeOverrideReject>(reject),
    ]
}

fn request(ctx: &mut Ctx<'_, '_>, input: Input<WipeOverrideRequest>) -> Result<Answer<WipeOverrideView>, Refusal> {
    let slot = ctx.slot(&input.path.slot_id)?;
    refuse_unless_blocked(ctx.tx, &slot)?;
    for earlier in wipe_overrides::of_use(ctx.tx, &slot.id, slot.use_generation)? {
        if earlier.state != OverrideState::Requested {
            continue;
        }
        if earlier.expires > ctx.now() {
            let detail = format!("Override {} of this slot waits for a second operator already.", earlier.id);
            return Err(state_conflict(detail));
        }
        wipe_overrides::expire(ctx.tx, &mut ctx.stamp, &earlier)?;
    }
    let id = WipeOverrideId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let me = ctx.caller.principal_id.clone();
    let new = WipeOverrideNew {
        id: &id,
        slot_id: &slot.id,
        use_generation: slot.use_generation,
        reason: input.body.reason.as_str(),
        evidence_ref: input.body.evidence_ref.as_ref().map_or("", |text| text.as_str()),
        requested_by: &me,
        expires: ctx.now().plus_seconds(LIFETIME_S),
    };
    wipe_overrides::insert(ctx.tx, &mut ctx.stamp, new).map_err(|error| match error {
        StoreError::UniqueViolation { .. } => state_conflict("Somebody else has just asked for the same."),
        other => other.into(),
    })?;
    Ok(answer(ctx, &id)?.at(format!("/api/v1/admin/wipe-overrides/{id}")))
}

fn list(ctx: &mut Ctx<'_, '_>, input: Input<WipeOverrideList>) -> Result<Answer<Page<WipeOverrideView>>, Refusal> {
    ctx.platform()?;
    let (cursor, now) = (ctx.cursor(&input.query)?, ctx.now());
    let rows = wipe_overrides::list(ctx.tx, cursor.rows())?;
    let mut names = Names::default();
    for row in &rows {
        names.learn(ctx.tx, row)?;
    }
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(view(row, &names, now)))?))
}

fn show(ctx: &mut Ctx<'_, '_>, input: Input<WipeOverrideShow>) -> Result<Answer<WipeOverrideView>, Refusal> {
    let row = ctx.wipe_override(&input.path.override_id)?;
    answer(ctx, &row.id)
}

fn approve(ctx: &mut Ctx<'_, '_>, input: Input<WipeOverrideApprove>) -> Result<Answer<WipeOverrideView>, Refusal> {
    let row = ctx.wipe_override(&input.path.override_id)?;
    refuse_unless_open_to(ctx, &row)?;
    refuse_unless_asked_by_an_operator(ctx.tx, &row)?;
    let slot = slots::get(ctx.tx, &row.slot_id)?.ok_or_else(internal)?;
    if slot.use_generation != row.use_generation {
        return Err(state_conflict("The slot was used again since; the override is about an earlier use."));
    }
    refuse_unless_blocked(ctx.tx, &slot)?;
    refuse_while_wiping(ctx.tx, &slot)?;
    decide(ctx, &row, OverrideState::Approved)?;
    let approved = wipe_overrides::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    let names = Names::of(ctx.tx, &approved)?;
    let detail = format!(
        "Not proved clean after use {}. Asked for by {} and approved by {} (override {}).",
        row.use_generation,
        names.name(&row.requested_by),
        names.name(&ctx.caller.principal_id),
        row.id
    );
    let health = Health { state: views::OVERRIDDEN, detail: &detail };
    slots::enter(ctx.tx, &mut ctx.stamp, &slot, SlotState::Available, health, Some(views::OVERRIDDEN))?;
    wipe_overrides::use_up(ctx.tx, &mut ctx.stamp, &approved)?;
    tracing::warn!(alert = "wipe_overridden", slot = %slot.id, wipe_override = %row.id, "a slot goes on without a proof");
    answer(ctx, &row.id)
}

fn reject(ctx: &mut Ctx<'_, '_>, input: Input<WipeOverrideReject>) -> Result<Answer<WipeOverrideView>, Refusal> {
    let row = ctx.wipe_override(&input.path.override_id)?;
    refuse_unless_open_to(ctx, &row)?;
    decide(ctx, &row, OverrideState::Rejected)?;
    answer(ctx, &row.id)
}

fn decide(ctx: &mut Ctx<'_, '_>, row: &WipeOverrideRow, state: OverrideState) -> Result<(), Refusal> {
    let me = ctx.caller.principal_id.clone();
    wipe_overrides::decide(ctx.tx, &mut ctx.stamp, row, state, &me)?;
    Ok(())
}

/// Refuses what is decided, what expired, and whoever asked for it.
fn refuse_unless_open_to(ctx: &Ctx<'_, '_>, row: &WipeOverrideRow) -> Result<(), Refusal> {
    match effective(row, ctx.now()) {
        OverrideState::Requested => {}
        OverrideState::Expired => {
            return Err(state_conflict(format!("The override expired at {}; ask again.", row.expires)));
        }
        decided => return Err(state_conflict(format!("The override is {decided} already; it is decided once."))),
    }
    if row.requested_by == ctx.caller.principal_id {
        let detail = "You asked for this override; another operator has to decide.";
        return Err(Refusal::new(Code::Forbidden, detail));
    }
    Ok(())
}

// Whoever asked must still be somebody whose word counts.
fn refuse_unless_asked_by_an_operator(tx: &mut Tx<'_>, row: &WipeOverrideRow) -> Result<(), Refusal> {
    let asker = principals::get(tx, &row.requested_by)?.ok_or_else(internal)?;
    let counts = asker.removed.is_none()
        && asker.kind == PrincipalKind::User
        && asker.platform_role == Some(PlatformRole::PlatformOperator);
    if counts { Ok(()) } else { Err(state_conflict("Whoever asked for it is no operator any more; ask again.")) }
}

fn refuse_unless_blocked(tx: &mut Tx<'_>, slot: &SlotRow) -> Result<(), Refusal> {
    if slot.state != SlotState::CleanupBlocked || slot.use_generation == 0 {
        let detail = format!("The slot is {}; only one whose cleanup is blocked can go on by an override.", slot.state);
        return Err(state_conflict(detail));
    }
    refuse_if_held(tx, slot)
}

// A host that is at the disk must not meet the next tenant there.
fn refuse_while_wiping(tx: &mut Tx<'_>, slot: &SlotRow) -> Result<(), Refusal> {
    let open = tasks::open_for_node(tx, &slot.node_id, ORDERS_MAX)?;
    let full = i64::try_from(open.len()).is_ok_and(|count| count >= ORDERS_MAX);
    let touches = |task: &tasks::TaskRow| {
        task.kind == TaskKind::SliceVmRelease && task.slots().iter().any(|touched| touched.slot_id == slot.id)
    };
    if full || open.iter().any(touches) {
        return Err(state_conflict("An order to wipe the slot is still open; wait until it has ended."));
    }
    Ok(())
}

/// Orders of one node that are looked through; more are never open at once.
const ORDERS_MAX: i64 = 1000;

/// Where an override stands at a moment: one that nobody decided in time has expired, whether that is written down yet or not.
fn effective(row: &WipeOverrideRow, now: Timestamp) -> OverrideState {
    match row.state {
        OverrideState::Requested if row.expires <= now => OverrideState::Expired,
        state => state,
    }
}

/// What the people in overrides are called.
#[derive(Debug, Default)]
struct Names(BTreeMap<PrincipalId, String>);

impl Names {
    fn of(tx: &mut Tx<'_>, row: &WipeOverrideRow) -> Result<Self, StoreError> {
        let mut names = Self::default();
        names.learn(tx, row)?;
        Ok(names)
    }

    fn learn(&mut self, tx: &mut Tx<'_>, row: &WipeOverrideRow) -> Result<(), StoreError> {
        let decider = row.decided.as_ref().map(|(by, _)| by);
        for id in std::iter::once(&row.requested_by).chain(decider) {
            if !self.0.contains_key(id) {
                let found = principals::get(tx, id)?;
                self.0.insert(id.clone(), found.map_or_else(|| id.to_string(), |person| person.name));
            }
        }
        Ok(())
    }

    fn name(&self, id: &PrincipalId) -> String {
        self.0.get(id).cloned().unwrap_or_else(|| id.to_string())
    }
}

fn answer(ctx: &mut Ctx<'_, '_>, id: &WipeOverrideId) -> Result<Answer<WipeOverrideView>, Refusal> {
    let row = wipe_overrides::get(ctx.tx, id)?.ok_or_else(internal)?;
    let names = Names::of(ctx.tx, &row)?;
    let (version, now) = (row.version, ctx.now());
    Ok(Answer::new(view(row, &names, now)).version(version).about(id, None))
}

fn view(row: WipeOverrideRow, names: &Names, now: Timestamp) -> WipeOverrideView {
    let state = effective(&row, now);
    let (asker, decider) = (names.name(&row.requested_by), row.decided.as_ref().map(|(by, _)| names.name(by)));
    let by = decider.clone().unwrap_or_default();
    let projected = match state {
        OverrideState::Requested => format!("{asker} asked; another operator has to decide until {}.", row.expires),
        OverrideState::Approved | OverrideState::Used => {
            format!("{asker} asked and {by} approved: the slot went on without a proof of use {}.", row.use_generation)
        }
        OverrideState::Rejected => format!("{asker} asked and {by} refused; the slot stayed blocked."),
        OverrideState::Expired => format!("{asker} asked and nobody decided in time; the slot stayed blocked."),
    };
    WipeOverrideView {
        execution: state,
        projected,
        requested_by: asker,
        decided_by: decider,
        decided_at: row.decided.map(|(_, at)| at),
        id: row.id,
        slot_id: row.slot_id,
        use_generation: row.use_generation,
        reason: row.reason,
        evidence_ref: row.evidence_ref,
        requested_at: row.requested,
        expires_at: row.expires,
        version: row.version,
    }
}
