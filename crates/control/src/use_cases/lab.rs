//! Laboratories: a model of GPU that is none, for trying things out on files and loop devices. What is said here keeps it apart
//! from what is sold: it is unknown unless the replica was told that this is a laboratory, it costs nothing, and it is made of
//! the one profile that nothing else has.

use api::{Code, Problem, Right};
use model::{
    sku::CapacityShape,
    supply::{GpuModel, LAB_PROFILE},
    text::Slug,
};

use crate::{
    authz::Resource,
    front_door::{Ctx, Refusal},
};

fn refuse(detail: &str, pointer: &str, accepted: &str) -> Refusal {
    Problem::new(Code::LabOnly, detail).with_field(pointer, accepted).into()
}

/// Whether the catalogue shows a laboratory's things: where it is one, and to operators, who may have to clear up after one.
pub(super) fn shows(ctx: &Ctx<'_, '_>) -> bool {
    ctx.config.lab || ctx.may(Right::PlatformRead, Resource::Platform)
}

/// Whether a model can be named here at all.
pub(super) fn model(is_lab: bool, model: GpuModel) -> Result<(), Refusal> {
    if is_lab || !model.is_lab() {
        return Ok(());
    }
    let sold: Vec<&str> = GpuModel::ALL.iter().filter(|known| !known.is_lab()).map(|known| known.as_str()).collect();
    let detail = "This platform is no laboratory; serve it with --lab to try things out without GPUs.";
    Err(refuse(detail, "/gpu_model", &sold.join(" or ")))
}

/// Whether slots of a model may have a profile of this name.
pub(super) fn profile(is_lab: bool, slug: &Slug, gpu_model: GpuModel) -> Result<(), Refusal> {
    model(is_lab, gpu_model)?;
    match (gpu_model.is_lab(), slug.as_str() == LAB_PROFILE) {
        (true, false) => Err(refuse("A laboratory has one profile.", "/slug", LAB_PROFILE)),
        (false, true) => Err(refuse("The name is kept for laboratories.", "/slug", "another name")),
        _ => Ok(()),
    }
}

/// Whether something may be sold like this.
pub(super) fn sku(
    is_lab: bool,
    gpu_model: GpuModel,
    shape: CapacityShape,
    profile: Option<&Slug>,
    price_micros: i64,
) -> Result<(), Refusal> {
    model(is_lab, gpu_model)?;
    if !gpu_model.is_lab() {
        return Ok(());
    }
    if shape != CapacityShape::GpuSlice || profile.is_none_or(|profile| profile.as_str() != LAB_PROFILE) {
        return Err(refuse("A laboratory has slots, and no whole nodes.", "/profile", LAB_PROFILE));
    }
    price(gpu_model, price_micros)
}

/// Whether it may cost that.
pub(super) fn price(gpu_model: GpuModel, price_micros: i64) -> Result<(), Refusal> {
    if gpu_model.is_lab() && price_micros != 0 {
        return Err(refuse("A laboratory is never for sale.", "/price_micros_per_gpu_hour", "0"));
    }
    Ok(())
}

/// Whether it can be launched here.
pub(super) fn launch(is_lab: bool, gpu_model: GpuModel) -> Result<(), Refusal> {
    if is_lab || !gpu_model.is_lab() {
        return Ok(());
    }
    Err(refuse("This platform is no laboratory any more.", "/sku_id", "a SKU that is made of GPUs"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_laboratory_is_known_only_where_it_is_one_and_never_costs_anything() {
        let (lab, other): (Slug, Slug) = (LAB_PROFILE.parse().unwrap(), "h200-sxm-slice".parse().unwrap());
        let slice = CapacityShape::GpuSlice;
        assert!(model(false, GpuModel::Lab).is_err() && model(true, GpuModel::Lab).is_ok());
        assert!(model(false, GpuModel::H200Sxm).is_ok());
        assert!(profile(true, &lab, GpuModel::Lab).is_ok());
        assert!(profile(true, &other, GpuModel::Lab).is_err());
        assert!(profile(true, &lab, GpuModel::H200Sxm).is_err(), "the name would lift the rules of approval");
        assert!(profile(false, &lab, GpuModel::H200Sxm).is_err());
        assert!(sku(true, GpuModel::Lab, slice, Some(&lab), 0).is_ok());
        assert!(sku(true, GpuModel::Lab, slice, Some(&lab), 1).is_err());
        assert!(sku(true, GpuModel::Lab, slice, None, 0).is_err());
        assert!(sku(true, GpuModel::Lab, CapacityShape::Baremetal, None, 0).is_err());
        assert!(sku(false, GpuModel::Lab, slice, Some(&lab), 0).is_err());
        assert!(sku(false, GpuModel::H200Sxm, slice, Some(&other), 5).is_ok());
    }
}
