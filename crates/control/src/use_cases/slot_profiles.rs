//! Slot profiles: what one slot of a kind is made of. Everybody reads them; operators change them, and the SKUs that are made
//! of a profile change with it in the same transaction.

use api::{
    catalog::{SlotProfileCreate, SlotProfileList, SlotProfileShow, SlotProfileUpdate, SlotProfileView},
    page::Page,
};
use model::number::{HugepageKib, MemoryMibPerGpu, MinDiskBytes, VcpusPerGpu};
use store::{
    skus,
    slot_profiles::{self, SlotNeeds, SlotProfileRow, SlotProfileTerms},
};

use super::{lab, name_taken};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<SlotProfileList>(profile_list),
        route::<SlotProfileCreate>(profile_create),
        route::<SlotProfileShow>(profile_show),
        route::<SlotProfileUpdate>(profile_update),
    ]
}

fn answer(row: SlotProfileRow) -> Answer<SlotProfileView> {
    let (slug, version) = (row.slug.clone(), row.version);
    Answer::new(views::slot_profile(row)).version(version).about(slug, None)
}

fn profile_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<SlotProfileList>,
) -> Result<Answer<Page<SlotProfileView>>, Refusal> {
    ctx.platform()?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = match lab::shows(ctx) {
        true => slot_profiles::list(ctx.tx, cursor.rows())?,
        false => slot_profiles::list_sold(ctx.tx, cursor.rows())?,
    };
    let page = cursor.page(rows, |row| row.slug.as_str(), |row| Ok::<_, Refusal>(views::slot_profile(row)))?;
    Ok(Answer::page(page))
}

fn profile_create(ctx: &mut Ctx<'_, '_>, input: Input<SlotProfileCreate>) -> Result<Answer<SlotProfileView>, Refusal> {
    ctx.platform()?;
    let body = &input.body;
    let terms = SlotProfileTerms {
        name: body.name.clone(),
        vcpus: body.vcpus.get(),
        memory_mib: body.memory_mib.get(),
        min_disk_bytes: body.min_disk_bytes.map_or(0, MinDiskBytes::get),
        hugepage_kib: body.hugepage_kib.map(HugepageKib::get),
    };
    lab::profile(ctx.config.lab, &body.slug, body.gpu_model)?;
    let real = !body.gpu_model.is_lab();
    let kind = (body.gpu_model, SlotNeeds { gpu: real, fabric: real });
    let made = slot_profiles::insert(ctx.tx, &mut ctx.stamp, &body.slug, kind, &terms);
    made.map_err(name_taken("/slug", body.slug.as_str()))?;
    let row = slot_profiles::get(ctx.tx, &body.slug)?.ok_or_else(internal)?;
    Ok(answer(row).at(format!("/api/v1/slot-profiles/{}", body.slug)))
}

fn profile_show(ctx: &mut Ctx<'_, '_>, input: Input<SlotProfileShow>) -> Result<Answer<SlotProfileView>, Refusal> {
    Ok(answer(ctx.slot_profile(&input.path.profile)?))
}

fn profile_update(ctx: &mut Ctx<'_, '_>, input: Input<SlotProfileUpdate>) -> Result<Answer<SlotProfileView>, Refusal> {
    let row = ctx.slot_profile(&input.path.profile)?;
    ctx.check_version(input.if_match, row.version)?;
    let (body, old) = (input.body, row.terms.clone());
    let terms = SlotProfileTerms {
        name: body.name.unwrap_or(old.name),
        vcpus: body.vcpus.map_or(old.vcpus, VcpusPerGpu::get),
        memory_mib: body.memory_mib.map_or(old.memory_mib, MemoryMibPerGpu::get),
        min_disk_bytes: body.min_disk_bytes.map_or(old.min_disk_bytes, MinDiskBytes::get),
        hugepage_kib: body.hugepage_kib.map(HugepageKib::get).or(old.hugepage_kib),
    };
    slot_profiles::update(ctx.tx, &mut ctx.stamp, &row, &terms)?;
    for sku in skus::of_profile(ctx.tx, &row.slug)? {
        let (vcpus_per_gpu, memory_mib_per_gpu) = (terms.vcpus, terms.memory_mib);
        let follows = skus::SkuTerms { vcpus_per_gpu, memory_mib_per_gpu, ..sku.terms.clone() };
        if follows != sku.terms {
            skus::update(ctx.tx, &mut ctx.stamp, &sku, &follows)?;
        }
    }
    Ok(answer(slot_profiles::get(ctx.tx, &row.slug)?.ok_or_else(internal)?))
}
