//! What can be had now, counted over the same picture of the fleet that placement looks at, by the same rules: what is counted
//! here would be placed. Counts only; nothing here names a node or a device, because tenants read it.

use crate::{fleet::Fleet, inventory::Inventory, policy::Policy};
use model::{PoolId, RegionId, supply::GpuModel};
use std::collections::BTreeMap;

/// What can be had of one GPU model in one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Availability {
    /// GPUs that can be had as slices.
    pub slice_gpus: u32,
    /// The largest slice that one node can give.
    pub largest_slice: u32,
    /// Nodes that can be had whole.
    pub whole_nodes: u32,
}

/// What can be had, by region and model. What is not listed has no node.
pub fn availability(fleet: &Fleet) -> BTreeMap<(RegionId, GpuModel), Availability> {
    by_region(Inventory::new(fleet, Policy::default()).availability())
}

/// What the pools of a region have together.
pub fn by_region(
    pools: BTreeMap<(RegionId, GpuModel, PoolId), Availability>,
) -> BTreeMap<(RegionId, GpuModel), Availability> {
    let mut all: BTreeMap<(RegionId, GpuModel), Availability> = BTreeMap::new();
    for ((region, model, _), have) in pools {
        let here = all.entry((region, model)).or_default();
        here.slice_gpus = here.slice_gpus.saturating_add(have.slice_gpus);
        here.largest_slice = here.largest_slice.max(have.largest_slice);
        here.whole_nodes = here.whole_nodes.saturating_add(have.whole_nodes);
    }
    all
}

/// The same in a sentence.
pub fn sentence(model: GpuModel, region: &str, have: Availability) -> String {
    let model = short_name(model);
    if have.slice_gpus == 0 {
        return match have.whole_nodes {
            0 => format!("No {model} available in {region}"),
            1 => format!("1 whole {model} node available in {region}"),
            nodes => format!("{nodes} whole {model} nodes available in {region}"),
        };
    }
    let (gpus, largest) = (have.slice_gpus, have.largest_slice);
    format!("{gpus} {model} available in {region}, largest set on one node {largest}")
}

/// What people call a model.
pub(crate) fn short_name(model: GpuModel) -> &'static str {
    match model {
        GpuModel::H200Sxm => "H200",
        GpuModel::A100Sxm => "A100",
        GpuModel::Lab => "laboratory slots",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_availability_reads_as_a_sentence() {
        let told = |slice_gpus, largest_slice, whole_nodes| {
            sentence(GpuModel::H200Sxm, "eu-1", Availability { slice_gpus, largest_slice, whole_nodes })
        };
        assert_eq!(told(16, 8, 2), "16 H200 available in eu-1, largest set on one node 8");
        assert_eq!(told(0, 0, 0), "No H200 available in eu-1");
        assert_eq!(told(0, 0, 1), "1 whole H200 node available in eu-1");
        assert_eq!(told(0, 0, 3), "3 whole H200 nodes available in eu-1");
    }
}
