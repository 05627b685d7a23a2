//! Plans: what a launch would do now, answered by the same checks and the same engine on a fresh picture of the fleet. Nothing
//! is reserved, so the answer is good for the moment it is given in.

use api::placement::{AllocationPlan, ElsewhereView, PlanView, PriceView};
use engine::{Inventory, Request, Verdict, explain};
use model::{PoolId, RegionId, allocation::PlacementWishes, supply::GpuModel};
use std::collections::BTreeSet;
use store::{Page, StoreError, Tx, pools, projects::ProjectRow, regions, skus, skus::SkuRow};

use super::super::allocations::Launch;
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    views,
};

/// More other places than this are not looked at.
const ELSEWHERE_MAX: usize = 20;
const SKUS_MAX: i64 = 20;
const PAGE_ROWS: i64 = 200;
const HOURS_OF_A_MONTH: i64 = 730;

pub(super) fn routes() -> Vec<Route> {
    vec![route::<AllocationPlan>(allocation_plan)]
}

fn allocation_plan(ctx: &mut Ctx<'_, '_>, input: Input<AllocationPlan>) -> Result<Answer<PlanView>, Refusal> {
    let (project, body) = (ctx.project(&input.path.project_id)?, &input.body);
    let Launch { sku, others, looked_at, terms, .. } = Launch::read(ctx, &project, body)?;
    let admission = engine::admit(&looked_at);
    let inventory = ctx.availability.picture(ctx.tx)?;
    let gpus = body.gpu_count.get();
    let tried = |sku: &SkuRow| {
        let request = request(&project, sku, &body.region_id, (gpus, &terms.placement));
        let verdict = inventory.place(&request);
        (sku.clone(), request, verdict)
    };
    // Of a hardware profile the first that has a place now.
    let fitting = others.iter().map(&tried).find(|(_, _, verdict)| matches!(verdict, Verdict::Placed(_)));
    let first = tried(&sku);
    let fits = matches!(first.2, Verdict::Placed(_));
    let (sku, request, verdict) = fitting.filter(|_| !fits).unwrap_or(first);
    let elsewhere = elsewhere(ctx.tx, &inventory, &project, (&sku, &request))?;
    let refused = match &verdict {
        Verdict::Placed(_) => None,
        Verdict::Refused(refusal) => Some(views::refusal(refusal)),
    };
    let kind = match &verdict {
        Verdict::Placed(placement) => Some(placement.kind),
        Verdict::Refused(_) => None,
    };
    let projected = match admission.first_refusal() {
        Some(check) => check.detail.clone(),
        None => explain::sentence(&request, &verdict),
    };
    Ok(Answer::new(PlanView {
        admitted: admission.admitted(),
        fits: refused.is_none(),
        checks: views::checks(&admission),
        gpu_model: sku.gpu_model,
        shape: sku.shape,
        vcpus: sku.terms.vcpus_per_gpu.saturating_mul(gpus),
        memory_mib: sku.terms.memory_mib_per_gpu.saturating_mul(gpus),
        kind,
        price: price(&sku, gpus),
        refusal: refused,
        elsewhere,
        projected,
    }))
}

/// What a SKU costs in this size.
fn price(sku: &SkuRow, gpus: i64) -> PriceView {
    let micros_per_gpu_hour = sku.terms.price_micros_per_gpu_hour;
    let micros_per_hour = micros_per_gpu_hour.saturating_mul(gpus);
    let micros_per_730_hours = micros_per_hour.saturating_mul(HOURS_OF_A_MONTH);
    PriceView { micros_per_gpu_hour, micros_per_hour, micros_per_730_hours }
}

/// What the engine is asked about a wish.
pub(super) fn request(
    project: &ProjectRow,
    sku: &SkuRow,
    region_id: &RegionId,
    (gpus, wishes): (i64, &PlacementWishes),
) -> Request {
    Request {
        shape: sku.shape,
        gpu_model: sku.gpu_model,
        gpu_count: u32::try_from(gpus).unwrap_or(u32::MAX),
        region_id: region_id.clone(),
        pool_id: wishes.pool_id.clone(),
        tenant_id: project.tenant_id.clone(),
        project_id: project.id.clone(),
        group: wishes.group.as_ref().map(ToString::to_string),
        spread: wishes.spread,
        co_tenancy: wishes.co_tenancy,
    }
}

/// The same wish in every other region that has such GPUs, and as every other SKU that sells them.
fn elsewhere(
    tx: &mut Tx<'_>,
    inventory: &Inventory,
    project: &ProjectRow,
    (sku, asked): (&SkuRow, &Request),
) -> Result<Vec<ElsewhereView>, StoreError> {
    let sold = skus::for_sale(tx, sku.gpu_model, SKUS_MAX)?;
    let with_gpus = regions_with(tx, sku.gpu_model)?;
    let mut found = Vec::new();
    for region in regions::list(tx, Page::first(PAGE_ROWS))? {
        if !region.enabled || !with_gpus.contains(&region.id) {
            continue;
        }
        for other in &sold {
            let same = region.id == asked.region_id && other.id == sku.id;
            let count = other.terms.gpu_counts.iter().copied().find(|count| *count >= i64::from(asked.gpu_count));
            let Some(count) = count.filter(|_| !same && found.len() < ELSEWHERE_MAX) else { continue };
            // A pool is in one region; elsewhere the wish for it means nothing.
            let pool_id: Option<PoolId> = asked.pool_id.clone().filter(|_| region.id == asked.region_id);
            let (shape, gpu_count) = (other.shape, u32::try_from(count).unwrap_or(u32::MAX));
            let request = Request {
                shape,
                gpu_count,
                region_id: region.id.clone(),
                pool_id,
                project_id: project.id.clone(),
                ..asked.clone()
            };
            let verdict = inventory.place(&request);
            found.push(ElsewhereView {
                region_id: region.id.clone(),
                region: region.slug.clone(),
                sku_id: other.id.clone(),
                sku: other.slug.clone(),
                gpu_count: count,
                fits: matches!(verdict, Verdict::Placed(_)),
                price: price(other, count),
                projected: explain::sentence(&request, &verdict),
            });
        }
    }
    Ok(found)
}

fn regions_with(tx: &mut Tx<'_>, model: GpuModel) -> Result<BTreeSet<RegionId>, StoreError> {
    let rows = pools::list(tx, None, Page::first(PAGE_ROWS))?;
    Ok(rows.into_iter().filter(|pool| pool.gpu_model == model).map(|pool| pool.region_id).collect())
}
