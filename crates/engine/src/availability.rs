//! What can be had now, counted over the same picture of the fleet that placement looks at, by the same rules: what is counted
//! here would be placed. Counts only; nothing here names a node or a device, because tenants read it.

use crate::fleet::Fleet;
use model::{RegionId, sku::CapacityShape, supply::GpuModel};
use std::collections::{BTreeMap, BTreeSet};

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

/// What can be had, by region and model. What is not listed cannot be had at all.
pub fn availability(fleet: &Fleet) -> BTreeMap<(RegionId, GpuModel), Availability> {
    let mut all: BTreeMap<(RegionId, GpuModel), Availability> = BTreeMap::new();
    for node in &fleet.nodes {
        let sellable = node.sellable();
        let here = all.entry((node.region_id.clone(), node.gpu_model)).or_default();
        if node.takes_new_work(CapacityShape::GpuSlice) {
            // A free GPU that belongs to no free set cannot be had, whatever its slot says.
            let reachable: BTreeSet<_> = node.free_sets(&sellable).flatten().collect();
            here.slice_gpus = here.slice_gpus.saturating_add(count(reachable.len()));
            let largest = node.free_sets(&sellable).map(BTreeSet::len).max().unwrap_or(0);
            here.largest_slice = here.largest_slice.max(count(largest));
        }
        if node.takes_new_work(CapacityShape::Baremetal) && node.is_wholly_free(&sellable) {
            here.whole_nodes = here.whole_nodes.saturating_add(1);
        }
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
fn short_name(model: GpuModel) -> &'static str {
    match model {
        GpuModel::H200Sxm => "H200",
        GpuModel::A100Sxm => "A100",
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
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
