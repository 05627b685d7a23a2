//! Regions, pools and SKUs. Everybody who is signed in reads them; operators change them. What is referred to stays.

use api::{
    Code, Nothing, Problem,
    catalog::{
        PoolCreate, PoolDelete, PoolList, PoolShow, PoolUpdate, PoolView, RegionCreate, RegionDelete, RegionList,
        RegionShow, RegionUpdate, RegionView, SkuCreate, SkuCreateBody, SkuDelete, SkuList, SkuShow, SkuUpdate,
        SkuView,
    },
    page::Page,
};
use model::{
    PoolId, RegionId, SkuId,
    number::{MemoryMibPerGpu, PriceMicrosPerGpuHour, VcpusPerGpu},
};
use store::{pools, pools::PoolRow, regions, regions::RegionRow, skus, skus::SkuRow, slot_profiles};

use super::{lab, name_taken, still_in_use, unknown};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<RegionList>(region_list),
        route::<RegionCreate>(region_create),
        route::<RegionShow>(region_show),
        route::<RegionUpdate>(region_update),
        route::<RegionDelete>(region_delete),
        route::<PoolList>(pool_list),
        route::<PoolCreate>(pool_create),
        route::<PoolShow>(pool_show),
        route::<PoolUpdate>(pool_update),
        route::<PoolDelete>(pool_delete),
        route::<SkuList>(sku_list),
        route::<SkuCreate>(sku_create),
        route::<SkuShow>(sku_show),
        route::<SkuUpdate>(sku_update),
        route::<SkuDelete>(sku_delete),
    ]
}

fn region_answer(row: RegionRow) -> Answer<RegionView> {
    let (id, version) = (row.id.clone(), row.version);
    Answer::new(views::region(row)).version(version).about(id, None)
}

fn region_list(ctx: &mut Ctx<'_, '_>, input: Input<RegionList>) -> Result<Answer<Page<RegionView>>, Refusal> {
    ctx.platform()?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = regions::list(ctx.tx, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::region(row)))?;
    Ok(Answer::page(page))
}

fn region_create(ctx: &mut Ctx<'_, '_>, input: Input<RegionCreate>) -> Result<Answer<RegionView>, Refusal> {
    ctx.platform()?;
    let (id, body) = (RegionId::from_parts(ctx.stamp.now, ctx.stamp.bits()), &input.body);
    let made = regions::insert(ctx.tx, &mut ctx.stamp, &id, &body.slug, &body.name, body.enabled);
    made.map_err(name_taken("/slug", body.slug.as_str()))?;
    let row = regions::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(region_answer(row).at(format!("/api/v1/regions/{id}")))
}

fn region_show(ctx: &mut Ctx<'_, '_>, input: Input<RegionShow>) -> Result<Answer<RegionView>, Refusal> {
    Ok(region_answer(ctx.region(&input.path.region_id)?))
}

fn region_update(ctx: &mut Ctx<'_, '_>, input: Input<RegionUpdate>) -> Result<Answer<RegionView>, Refusal> {
    let row = ctx.region(&input.path.region_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let name = input.body.name.as_ref().unwrap_or(&row.name);
    regions::update(ctx.tx, &mut ctx.stamp, &row, name, input.body.enabled.unwrap_or(row.enabled))?;
    Ok(region_answer(regions::get(ctx.tx, &row.id)?.ok_or_else(internal)?))
}

fn region_delete(ctx: &mut Ctx<'_, '_>, input: Input<RegionDelete>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.region(&input.path.region_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let gone = regions::delete(ctx.tx, &mut ctx.stamp, &row);
    gone.map_err(still_in_use("Pools or allocations still refer to the region; disable it instead."))?;
    Ok(Answer::new(Nothing {}).about(row.id, None))
}

fn pool_answer(row: PoolRow) -> Result<Answer<PoolView>, Refusal> {
    let (id, version) = (row.id.clone(), row.version);
    Ok(Answer::new(views::pool(row)?).version(version).about(id, None))
}

fn pool_list(ctx: &mut Ctx<'_, '_>, input: Input<PoolList>) -> Result<Answer<Page<PoolView>>, Refusal> {
    ctx.platform()?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = match lab::shows(ctx) {
        true => pools::list(ctx.tx, None, cursor.rows())?,
        false => pools::list_sold(ctx.tx, cursor.rows())?,
    };
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), views::pool)?))
}

fn pool_create(ctx: &mut Ctx<'_, '_>, input: Input<PoolCreate>) -> Result<Answer<PoolView>, Refusal> {
    ctx.platform()?;
    let (id, body) = (PoolId::from_parts(ctx.stamp.now, ctx.stamp.bits()), &input.body);
    lab::model(ctx.config.lab, body.gpu_model)?;
    regions::get(ctx.tx, &body.region_id)?.ok_or_else(|| unknown("/region_id"))?;
    let range = body.private_range.map(|range| range.to_string());
    let new = pools::PoolNew {
        id: &id,
        region_id: &body.region_id,
        slug: &body.slug,
        name: &body.name,
        gpu_model: body.gpu_model,
        slices_enabled: body.slices_enabled,
        private_range: range.as_deref(),
    };
    pools::insert(ctx.tx, &mut ctx.stamp, new).map_err(name_taken("/slug", body.slug.as_str()))?;
    let row = pools::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(pool_answer(row)?.at(format!("/api/v1/pools/{id}")))
}

fn pool_show(ctx: &mut Ctx<'_, '_>, input: Input<PoolShow>) -> Result<Answer<PoolView>, Refusal> {
    pool_answer(ctx.pool(&input.path.pool_id)?)
}

fn pool_update(ctx: &mut Ctx<'_, '_>, input: Input<PoolUpdate>) -> Result<Answer<PoolView>, Refusal> {
    let row = ctx.pool(&input.path.pool_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let name = input.body.name.as_ref().unwrap_or(&row.name);
    let slices_enabled = input.body.slices_enabled.unwrap_or(row.slices_enabled);
    let range = input.body.private_range.map(|range| range.to_string()).or_else(|| row.private_range.clone());
    let terms = pools::PoolTerms { name, slices_enabled, private_range: range.as_deref() };
    pools::update(ctx.tx, &mut ctx.stamp, &row, terms)?;
    pool_answer(pools::get(ctx.tx, &row.id)?.ok_or_else(internal)?)
}

fn pool_delete(ctx: &mut Ctx<'_, '_>, input: Input<PoolDelete>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.pool(&input.path.pool_id)?;
    ctx.check_version(input.if_match, row.version)?;
    pools::delete(ctx.tx, &mut ctx.stamp, &row).map_err(still_in_use("The pool still has nodes."))?;
    Ok(Answer::new(Nothing {}).about(row.id, None))
}

fn sku_answer(row: SkuRow) -> Result<Answer<SkuView>, Refusal> {
    let (id, version) = (row.id.clone(), row.version);
    Ok(Answer::new(views::sku(row)?).version(version).about(id, None))
}

fn sku_list(ctx: &mut Ctx<'_, '_>, input: Input<SkuList>) -> Result<Answer<Page<SkuView>>, Refusal> {
    ctx.platform()?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = match lab::shows(ctx) {
        true => skus::list(ctx.tx, cursor.rows())?,
        false => skus::list_sold(ctx.tx, cursor.rows())?,
    };
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), views::sku)?))
}

fn sku_create(ctx: &mut Ctx<'_, '_>, input: Input<SkuCreate>) -> Result<Answer<SkuView>, Refusal> {
    ctx.platform()?;
    let (id, body) = (SkuId::from_parts(ctx.stamp.now, ctx.stamp.bits()), &input.body);
    let mut gpu_counts: Vec<i64> = body.gpu_counts.iter().map(|count| count.get()).collect();
    gpu_counts.sort_unstable();
    let price = body.price_micros_per_gpu_hour.get();
    lab::sku(ctx.config.lab, body.gpu_model, body.shape, body.profile.as_ref(), price)?;
    let (vcpus_per_gpu, memory_mib_per_gpu) = goes_with_a_gpu(ctx, body)?;
    let terms = skus::SkuTerms {
        name: body.name.clone(),
        gpu_counts,
        profile: body.profile.clone(),
        vcpus_per_gpu,
        memory_mib_per_gpu,
        price_micros_per_gpu_hour: price,
        enabled: true,
    };
    let made = skus::insert(ctx.tx, &mut ctx.stamp, &id, &body.slug, (body.shape, body.gpu_model), &terms);
    made.map_err(name_taken("/slug", body.slug.as_str()))?;
    let row = skus::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(sku_answer(row)?.at(format!("/api/v1/skus/{id}")))
}

/// Virtual CPUs and memory of one GPU, as the profile says or the body.
fn goes_with_a_gpu(ctx: &mut Ctx<'_, '_>, body: &SkuCreateBody) -> Result<(i64, i64), Refusal> {
    let Some(slug) = &body.profile else {
        let said = body.vcpus_per_gpu.map(VcpusPerGpu::get).zip(body.memory_mib_per_gpu.map(MemoryMibPerGpu::get));
        return Ok(said.ok_or_else(internal)?);
    };
    let profile = slot_profiles::get(ctx.tx, slug)?.filter(|profile| profile.gpu_model == body.gpu_model);
    let Some(profile) = profile else {
        let problem = Problem::new(Code::UnknownReference, "There is no such slot profile for this GPU.");
        return Err(problem.with_field("/profile", "the short name of a slot profile with the SKU's GPU").into());
    };
    Ok((profile.terms.vcpus, profile.terms.memory_mib))
}

fn sku_show(ctx: &mut Ctx<'_, '_>, input: Input<SkuShow>) -> Result<Answer<SkuView>, Refusal> {
    sku_answer(ctx.sku(&input.path.sku_id)?)
}

fn sku_update(ctx: &mut Ctx<'_, '_>, input: Input<SkuUpdate>) -> Result<Answer<SkuView>, Refusal> {
    let row = ctx.sku(&input.path.sku_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let (body, old) = (input.body, row.terms.clone());
    let terms = skus::SkuTerms {
        name: body.name.unwrap_or(old.name),
        price_micros_per_gpu_hour: body
            .price_micros_per_gpu_hour
            .map_or(old.price_micros_per_gpu_hour, PriceMicrosPerGpuHour::get),
        enabled: body.enabled.unwrap_or(old.enabled),
        ..old
    };
    lab::price(row.gpu_model, terms.price_micros_per_gpu_hour)?;
    skus::update(ctx.tx, &mut ctx.stamp, &row, &terms)?;
    sku_answer(skus::get(ctx.tx, &row.id)?.ok_or_else(internal)?)
}

fn sku_delete(ctx: &mut Ctx<'_, '_>, input: Input<SkuDelete>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.sku(&input.path.sku_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let gone = skus::delete(ctx.tx, &mut ctx.stamp, &row);
    gone.map_err(still_in_use("The SKU was launched before; disable it instead."))?;
    Ok(Answer::new(Nothing {}).about(row.id, None))
}
