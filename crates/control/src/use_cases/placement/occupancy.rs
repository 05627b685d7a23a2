//! Occupancy: how full every pool is, for operators. Postures are worked out node by node, by the rule that shows a single one.

use api::placement::{OccupancyList, OccupancyShow, OccupancyView, PostureCount};
use engine::Availability;
use lifecycle::posture::{self, NodeFacts, SlotFacts};
use model::{
    NodeId, PoolId,
    supply::{OccupancyMode, Posture, SlotState},
};
use std::collections::BTreeMap;
use store::{
    Page, StoreError, Tx, claims, nodes, nodes::NodeRow, pools, pools::PoolRow, regions, standing, standing::Standing,
};

use crate::front_door::{Answer, Ctx, Input, Refusal, Route, route};

const PAGE_ROWS: i64 = 500;

pub(super) fn routes() -> Vec<Route> {
    vec![route::<OccupancyShow>(occupancy_show)]
}

#[derive(Default)]
struct Count {
    postures: BTreeMap<Posture, i64>,
    free: i64,
    held: i64,
    blocked: i64,
    disabled: i64,
    have: Availability,
}

fn occupancy_show(ctx: &mut Ctx<'_, '_>, _: Input<OccupancyShow>) -> Result<Answer<OccupancyList>, Refusal> {
    ctx.platform()?;
    let mut counts = counted(ctx.tx)?;
    for ((_, _, pool), have) in ctx.availability.picture(ctx.tx)?.availability() {
        counts.entry(pool).or_default().have = have;
    }
    let regions = regions::list(ctx.tx, Page::first(PAGE_ROWS))?;
    let mut items = Vec::new();
    for pool in pools::list(ctx.tx, None, Page::first(PAGE_ROWS))? {
        let Some(region) = regions.iter().find(|region| region.id == pool.region_id) else { continue };
        let count = counts.remove(&pool.id).unwrap_or_default();
        items.push(view(pool, region.slug.clone(), count));
    }
    items.sort_by(|one, other| (&one.region, &one.pool).cmp(&(&other.region, &other.pool)));
    Ok(Answer::new(OccupancyList { items }))
}

fn counted(tx: &mut Tx<'_>) -> Result<BTreeMap<PoolId, Count>, StoreError> {
    let mut counts: BTreeMap<PoolId, Count> = BTreeMap::new();
    let mut after = String::new();
    loop {
        let rows = nodes::list(tx, None, Page::after(&after, PAGE_ROWS))?;
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(counts) };
        let modes = claims::occupancy_between(tx, &first.id, &last.id)?;
        let standings = standing::between(tx, &first.id, &last.id)?;
        after = last.id.to_string();
        for row in rows {
            count(counts.entry(row.pool_id.clone()).or_default(), &row, &modes, &standings);
        }
    }
}

fn count(
    to: &mut Count,
    row: &NodeRow,
    modes: &BTreeMap<NodeId, OccupancyMode>,
    standings: &BTreeMap<NodeId, Standing>,
) {
    let nothing = Standing::default();
    let standing = standings.get(&row.id).unwrap_or(&nothing);
    let facts = NodeFacts {
        state: row.state,
        desired: row.desired,
        identity_revoked: standing.identity_revoked,
        handed_over: row.handed_over.is_some(),
        occupancy: modes.get(&row.id).copied().unwrap_or(OccupancyMode::Free),
        promoted: row.promoted.is_some(),
        slots: standing.slots.iter().map(|slot| SlotFacts { state: slot.state, drifted: slot.drifted }).collect(),
    };
    *to.postures.entry(posture::posture(&facts).posture).or_default() += 1;
    for slot in &standing.slots {
        let place = match slot.state {
            SlotState::Available => &mut to.free,
            SlotState::Reserved | SlotState::InUse => &mut to.held,
            SlotState::Wiping | SlotState::CleanupBlocked => &mut to.blocked,
            SlotState::Disabled => &mut to.disabled,
        };
        *place += 1;
    }
}

fn view(pool: PoolRow, region: model::text::Slug, count: Count) -> OccupancyView {
    let Count { postures, free, held, blocked, disabled, have } = count;
    let nodes: i64 = postures.values().sum();
    let all = free + held + blocked + disabled;
    let projected = format!(
        "{nodes} nodes: {held} of {all} GPUs held, {free} free, {blocked} being cleaned, {disabled} out of sale"
    );
    OccupancyView {
        region_id: pool.region_id,
        region,
        pool_id: pool.id,
        pool: pool.slug,
        gpu_model: pool.gpu_model,
        postures: postures.into_iter().map(|(posture, nodes)| PostureCount { posture, nodes }).collect(),
        gpus_free: free,
        gpus_held: held,
        gpus_blocked: blocked,
        gpus_disabled: disabled,
        largest_slice_gpus: have.largest_slice.into(),
        whole_nodes: have.whole_nodes.into(),
        projected,
    }
}
