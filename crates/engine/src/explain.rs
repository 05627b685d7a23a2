//! Verdicts in words. Users read these, so they hold counts and never a device, a node name or another tenant.

use crate::place::{Reason, Request, Verdict};
use model::sku::CapacityShape;
use std::fmt::Write;

/// One or two sentences: what happened, and for a refusal the numbers that decided it.
pub fn sentence(request: &Request, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Placed { considered, .. } => format!(
            "{} on one node; {} of {} could take it.",
            capitalised(&wanted(request)),
            nodes(considered.nodes_fitting),
            nodes(considered.nodes)
        ),
        Verdict::Refused { free_gpus_in_region, largest_set_on_one_node, nodes_by_reason } => {
            let mut text = refusal(request, *free_gpus_in_region, *largest_set_on_one_node);
            let mut joint = " Passed over: ";
            for (reason, number) in nodes_by_reason {
                let _ = write!(text, "{joint}{} {}", nodes(*number), phrase(*reason));
                joint = ", ";
            }
            if !nodes_by_reason.is_empty() {
                text.push('.');
            }
            text
        }
    }
}

/// The words for one reason, to follow "3 nodes".
pub fn phrase(reason: Reason) -> &'static str {
    match reason {
        Reason::OtherRegion => "in another region",
        Reason::OtherGpuModel => "with other GPUs",
        Reason::SlicesDisabled => "in pools that do not sell slices",
        Reason::OutOfUse => "out of use",
        Reason::Draining => "being drained",
        Reason::NotPromoted => "not promoted to slice use",
        Reason::NotOnline => "not heard of lately",
        Reason::HeldAsBareMetal => "held as bare metal",
        Reason::HeldBySlices => "held by slices",
        Reason::NoSuchSet => "whose board cannot be sold at this size",
        Reason::Drifted => "that do not show what was approved",
        Reason::TooFewFree => "with too few free slots",
        Reason::FreeButScattered => "with enough free slots that do not form one set",
    }
}

fn refusal(request: &Request, free: u32, largest: u32) -> String {
    let wanted = wanted(request);
    let model = request.gpu_model;
    if free == 0 {
        return format!("No {model} GPU is free in this region; {wanted} was asked for.");
    }
    let are = if free == 1 { "GPU is" } else { "GPUs are" };
    if free >= request.gpu_count {
        let together = match (request.shape, largest) {
            (CapacityShape::Baremetal, _) => "no node of that size is wholly free".to_owned(),
            (CapacityShape::GpuSlice, 0) => "not even one can be sold alone".to_owned(),
            (CapacityShape::GpuSlice, _) => format!("at most {largest} of them together on one node"),
        };
        format!("{free} {model} {are} free in this region, but {together}; {wanted} was asked for.")
    } else {
        format!("Only {free} {model} {are} free in this region; {wanted} was asked for.")
    }
}

fn wanted(request: &Request) -> String {
    let count = request.gpu_count;
    match request.shape {
        CapacityShape::Baremetal => format!("a whole node of {count}"),
        CapacityShape::GpuSlice => format!("a slice of {count}"),
    }
}

fn nodes(number: u32) -> String {
    if number == 1 { "1 node".to_owned() } else { format!("{number} nodes") }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Considered;
    use model::{NodeId, RegionId, Timestamp, supply::GpuModel};
    use std::collections::BTreeMap;

    fn request(shape: CapacityShape, gpu_count: u32) -> Request {
        let region_id = RegionId::from_parts(Timestamp::from_micros(1), [1; 10]);
        Request { shape, gpu_model: GpuModel::H200Sxm, gpu_count, region_id }
    }

    fn refused(free: u32, largest: u32, reasons: &[(Reason, u32)]) -> Verdict {
        Verdict::Refused {
            free_gpus_in_region: free,
            largest_set_on_one_node: largest,
            nodes_by_reason: reasons.iter().copied().collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn enough_gpus_but_not_on_one_node_is_said_first() {
        let verdict = refused(6, 2, &[(Reason::TooFewFree, 3), (Reason::OtherRegion, 1)]);
        assert_eq!(
            sentence(&request(CapacityShape::GpuSlice, 4), &verdict),
            "6 h200-sxm GPUs are free in this region, but at most 2 of them together on one node; a slice of 4 was asked for. \
             Passed over: 1 node in another region, 3 nodes with too few free slots."
        );
    }

    #[test]
    fn each_kind_of_shortage_reads_as_a_sentence() {
        let slice = request(CapacityShape::GpuSlice, 2);
        assert_eq!(
            sentence(&slice, &refused(0, 0, &[])),
            "No h200-sxm GPU is free in this region; a slice of 2 was asked for."
        );
        assert_eq!(
            sentence(&slice, &refused(1, 1, &[])),
            "Only 1 h200-sxm GPU is free in this region; a slice of 2 was asked for."
        );
        assert_eq!(
            sentence(&request(CapacityShape::Baremetal, 8), &refused(20, 0, &[])),
            "20 h200-sxm GPUs are free in this region, but no node of that size is wholly free; a whole node of 8 was asked for."
        );
    }

    #[test]
    fn a_placement_names_no_device() {
        let node_id = NodeId::from_parts(Timestamp::from_micros(1), [2; 10]);
        let considered = Considered { nodes: 9, nodes_fitting: 1, sets: 4 };
        let verdict = Verdict::Placed { node_id: node_id.clone(), slot_ids: vec![], considered };
        let text = sentence(&request(CapacityShape::GpuSlice, 2), &verdict);
        assert_eq!(text, "A slice of 2 on one node; 1 node of 9 nodes could take it.");
        assert!(!text.contains(node_id.as_str()));
    }
}
