//! What can be had now, and what comes back by itself. Everybody reads the counts; operators see them by pool and by SKU too.

use api::supply::{
    AvailabilityList, AvailabilityShow, AvailabilityView, ForecastView, PoolAvailabilityView, SkuAvailabilityView,
};
use engine::Inventory;
use model::Timestamp;
use store::{
    Page, StoreError, Tx, pools, skus,
    skus::SkuRow,
    usage::{self, LeaseEnd},
};

use crate::{
    authz::Resource,
    availability::AvailabilityMemo,
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    snapshot::stranger,
};

/// How far ahead is looked.
const FORECAST_S: i64 = 7 * 24 * 3600;
const LEASES_MAX: i64 = 1000;
/// Moments told for each region and model.
const MOMENTS_MAX: usize = 10;
const PAGE_ROWS: i64 = 200;
const SKUS_MAX: i64 = 50;

pub(super) fn routes() -> Vec<Route> {
    vec![route::<AvailabilityShow>(availability_show)]
}

fn availability_show(ctx: &mut Ctx<'_, '_>, _: Input<AvailabilityShow>) -> Result<Answer<AvailabilityList>, Refusal> {
    ctx.platform()?;
    let now = ctx.now();
    let mut list = ctx.availability.read(ctx.tx, now)?.as_ref().clone();
    let ends = usage::lease_ends(ctx.tx, (now, now.plus_seconds(FORECAST_S)), LEASES_MAX)?;
    for item in &mut list.items {
        foretell(item, &ends);
    }
    if ctx.may(api::Right::PlatformRead, Resource::Platform) {
        detail(ctx.availability, ctx.tx, &mut list.items)?;
    }
    Ok(Answer::new(list))
}

fn foretell(item: &mut AvailabilityView, ends: &[LeaseEnd]) {
    for end in ends.iter().filter(|end| end.region_id == item.region_id && end.gpu_model == item.gpu_model) {
        if let Some(last) = item.forecast.last_mut().filter(|last| last.at == end.at) {
            last.gpus += end.gpus;
        } else if item.forecast.len() < MOMENTS_MAX {
            item.forecast.push(ForecastView { at: end.at, gpus: end.gpus });
        }
    }
    if let Some(first) = item.forecast.first().filter(|_| item.enabled) {
        item.projected.push_str(&format!("; {} more at {}", first.gpus, minute(first.at)));
    }
}

// "2026-01-31 14:00 UTC".
fn minute(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

fn detail(memo: &AvailabilityMemo, tx: &mut Tx<'_>, items: &mut [AvailabilityView]) -> Result<(), StoreError> {
    let inventory = memo.picture(tx)?;
    let have = inventory.availability();
    for pool in pools::list(tx, None, Page::first(PAGE_ROWS))? {
        let key = (pool.region_id.clone(), pool.gpu_model, pool.id.clone());
        let Some(item) = items.iter_mut().find(|item| (&item.region_id, item.gpu_model) == (&key.0, key.1)) else {
            continue;
        };
        let have = have.get(&key).copied().unwrap_or_default();
        item.pools.push(PoolAvailabilityView {
            pool_id: pool.id,
            pool: pool.slug,
            slice_gpus: have.slice_gpus.into(),
            largest_slice_gpus: have.largest_slice.into(),
            whole_nodes: have.whole_nodes.into(),
        });
    }
    for item in items.iter_mut().filter(|item| item.enabled) {
        for sku in skus::for_sale(tx, item.gpu_model, SKUS_MAX)? {
            item.skus.push(sizes(&inventory, item, sku));
        }
    }
    Ok(())
}

/// The sizes of a SKU that somebody who is not there yet would get.
fn sizes(inventory: &Inventory, item: &AvailabilityView, sku: SkuRow) -> SkuAvailabilityView {
    let request = |count: i64| {
        let gpu_count = u32::try_from(count).unwrap_or(u32::MAX);
        stranger(sku.shape, gpu_count, sku.gpu_model, item.region_id.clone())
    };
    let counts = sku.terms.gpu_counts.iter().copied();
    let gpu_counts = counts.filter(|count| inventory.find(&request(*count)).is_some()).collect();
    SkuAvailabilityView { sku_id: sku.id, sku: sku.slug, gpu_counts }
}
