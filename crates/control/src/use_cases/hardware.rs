//! What a launch is to be served by: the SKU that it names, or whatever its hardware profile lets serve. A profile is read when
//! the launch comes in: each flavor of it with what would be bought there is kept with the workload, and which of them it
//! is to be is for the queue to say.

use std::collections::{BTreeMap, btree_map::Entry};

use api::{Code, Problem, allocation::AllocationLaunchBody};
use model::{
    PoolId,
    governance::{Flavor, Governed, HardwareProfile, Identity, Kind},
    number::GpuCount,
    sku::CapacityShape,
    supply::GpuModel,
    text::Slug,
    workload::{Hardware, HardwareChoice},
};
use store::{
    Page as Rows, governance,
    pools::{self, PoolRow},
    scope::PAGE_ROWS_MAX,
    skus::{self, SkuRow},
};

use super::{lab, unknown};
use crate::front_door::{Ctx, Refusal, internal};

/// What a launch is to be served by.
pub(super) struct Served {
    /// The SKU, or the first that would do.
    pub(super) sku: SkuRow,
    /// The others that would do, in the order of the profile.
    pub(super) others: Vec<SkuRow>,
    /// What is kept with the workload, where a profile was named.
    pub(super) hardware: Option<Hardware>,
}

impl Served {
    /// Reads it for a launch.
    pub(super) fn read(ctx: &mut Ctx<'_, '_>, body: &AllocationLaunchBody) -> Result<Self, Refusal> {
        let Some(profile) = profile(ctx, body, "")? else {
            let id = body.sku_id.as_ref().ok_or_else(internal)?;
            let sku = skus::get(ctx.tx, id)?.ok_or_else(|| unknown("/sku_id"))?;
            lab::launch(ctx.config.lab, sku.gpu_model)?;
            return Ok(Self { sku, others: vec![], hardware: None });
        };
        refuse_other_counts(&profile, body.gpu_count)?;
        let (mut sold, mut choices) = (vec![], vec![]);
        for (flavor, sku) in choices_of(ctx, &profile, body)? {
            choices.push(HardwareChoice { flavor, sku_id: sku.id.clone() });
            if !sold.contains(&sku) {
                sold.push(sku);
            }
        }
        let mut sold = sold.into_iter();
        let sku = sold.next().ok_or_else(|| nothing_sold(&profile, body.gpu_count))?;
        let hardware = Hardware { profile: profile.slug, choices, tolerations: profile.tolerations };
        Ok(Self { sku, others: sold.collect(), hardware: Some(hardware) })
    }
}

/// The hardware profile that a launch names. Its field is named below `at`.
pub(super) fn profile(
    ctx: &mut Ctx<'_, '_>,
    body: &AllocationLaunchBody,
    at: &str,
) -> Result<Option<HardwareProfile>, Refusal> {
    let Some(slug) = &body.hardware_profile else { return Ok(None) };
    let identity = Identity { kind: Kind::HardwareProfile, project_id: None, slug: slug.clone() };
    let found = governance::get(ctx.tx, &identity)?.and_then(|row| HardwareProfile::from_object(row.object));
    let enabled = found.filter(|profile| profile.enabled);
    enabled.map(Some).ok_or_else(|| unknown(&format!("{at}/hardware_profile")))
}

fn refuse_other_counts(profile: &HardwareProfile, count: GpuCount) -> Result<(), Refusal> {
    let (least, most) = (profile.gpu_count_min, profile.gpu_count_max);
    if (least..=most).contains(&count) {
        return Ok(());
    }
    let problem = Problem::new(Code::NotForSale, format!("{} is for {least} to {most} GPUs.", profile.slug));
    Err(problem.with_field("/gpu_count", format!("from {least} to {most}")).into())
}

fn nothing_sold(profile: &HardwareProfile, count: GpuCount) -> Refusal {
    let detail = format!("No slices of {count} GPUs are sold of any flavor of {}.", profile.slug);
    let problem = Problem::new(Code::NotForSale, detail);
    problem.with_field("/hardware_profile", "a hardware profile with a flavor that is sold in this size").into()
}

// SKUs of one GPU model that are looked at.
const SKUS_MAX: i64 = 100;

/// The flavors that may serve, with what would be bought there: of several SKUs the cheapest.
fn choices_of(
    ctx: &mut Ctx<'_, '_>,
    profile: &HardwareProfile,
    body: &AllocationLaunchBody,
) -> Result<Vec<(Slug, SkuRow)>, Refusal> {
    let pools = pools::list(ctx.tx, None, Rows::first(PAGE_ROWS_MAX))?;
    let mut sold: BTreeMap<GpuModel, Option<SkuRow>> = BTreeMap::new();
    let mut choices = vec![];
    for flavor in flavors(ctx, profile)? {
        let Some(model) = model_of(&flavor, &pools, body) else { continue };
        if lab::launch(ctx.config.lab, model).is_err() {
            continue;
        }
        if let Entry::Vacant(first) = sold.entry(model) {
            let mut all = skus::for_sale(ctx.tx, model, SKUS_MAX)?;
            all.retain(|sku| {
                sku.shape == CapacityShape::GpuSlice && sku.terms.gpu_counts.contains(&body.gpu_count.get())
            });
            let price = |sku: &SkuRow| (sku.terms.price_micros_per_gpu_hour, sku.slug.clone());
            first.insert(all.into_iter().min_by_key(price));
        }
        choices.extend(sold.get(&model).cloned().flatten().map(|sku| (flavor.slug, sku)));
    }
    Ok(choices)
}

fn flavors(ctx: &mut Ctx<'_, '_>, profile: &HardwareProfile) -> Result<Vec<Flavor>, Refusal> {
    if profile.flavors.is_empty() {
        let all = governance::list(ctx.tx, Kind::Flavor, Rows::first(PAGE_ROWS_MAX))?;
        return Ok(all.into_iter().filter_map(|row| Flavor::from_object(row.object)).collect());
    }
    let mut found = Vec::with_capacity(profile.flavors.len());
    for slug in &profile.flavors {
        let identity = Identity { kind: Kind::Flavor, project_id: None, slug: slug.clone() };
        found.extend(governance::get(ctx.tx, &identity)?.and_then(|row| Flavor::from_object(row.object)));
    }
    Ok(found)
}

/// The GPUs of a flavor, as far as it can serve this launch: in its region, and in the pool that it asks for. Nothing of one
/// that covers several models: what it would be sold as is not known before it has a place.
fn model_of(flavor: &Flavor, pools: &[PoolRow], body: &AllocationLaunchBody) -> Option<GpuModel> {
    let by_slug = |slug: &Slug| pools.iter().find(|pool| pool.slug == *slug);
    let by_id = |id: &PoolId| pools.iter().find(|pool| pool.id == *id);
    let covers = match &flavor.pool {
        Some(slug) => Some(by_slug(slug).filter(|pool| pool.region_id == body.region_id)?),
        None => None,
    };
    let model = flavor.gpu_model.or_else(|| covers.map(|pool| pool.gpu_model))?;
    let wanted = body.placement.pool_id.as_ref().and_then(by_id);
    let fits = wanted.is_none_or(|pool| pool.gpu_model == model && covers.is_none_or(|own| own.id == pool.id));
    fits.then_some(model)
}
