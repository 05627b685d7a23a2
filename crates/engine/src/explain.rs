//! Answers in words, and what would change them. Users read these, so they hold counts and never a device, a node name or
//! another tenant. The words are made from the numbers of the answer alone, so they can be made again from a stored one.

use crate::{
    availability::short_name,
    place::{Placement, Reason, Refusal, Request, SetKind, Verdict},
};
use model::{Timestamp, placement::CoTenancy, sku::CapacityShape, supply::GpuModel, text_enum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::ModuleId;

/// More sets than this are not listed in a sentence.
const SETS_TOLD: usize = 4;

/// What of a request its explanation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Whole node or slice.
    pub shape: CapacityShape,
    /// Which GPUs.
    pub gpu_model: GpuModel,
    /// How many.
    pub gpu_count: u32,
    /// In one pool only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_pool: bool,
    /// Beside nobody else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

impl From<&Request> for Asked {
    fn from(request: &Request) -> Self {
        Self {
            shape: request.shape,
            gpu_model: request.gpu_model,
            gpu_count: request.gpu_count,
            one_pool: request.pool_id.is_some(),
            alone: request.co_tenancy == CoTenancy::SameTenant,
        }
    }
}

/// What happened, and for a refusal the numbers that decided it and what would end it.
pub fn sentence(request: &Request, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Placed(placement) => placed(Asked::from(request), placement),
        Verdict::Refused(refusal) => refused(Asked::from(request), refusal),
    }
}

fn placed(asked: Asked, placement: &Placement) -> String {
    placed_sentence(asked, placement.kind, placement.considered.nodes_fitting, placement.considered.nodes)
}

/// The sentence for a request that has a place.
pub(crate) fn placed_sentence(asked: Asked, kind: SetKind, fitting: u32, nodes: u32) -> String {
    let what = match (asked.shape, kind) {
        (CapacityShape::Baremetal, _) => format!("A whole node of {}", asked.gpu_count),
        (_, SetKind::Single) => "A slice of 1".to_owned(),
        (_, SetKind::Pair) => "A slice of 2 as a pair".to_owned(),
        (_, SetKind::HalfBoard) => format!("A slice of {} as half of a board", asked.gpu_count),
        (_, SetKind::WholeBoard) => format!("A slice of {} as a whole board", asked.gpu_count),
        (_, SetKind::Set) => format!("A slice of {} as one set", asked.gpu_count),
    };
    format!("{what} on one node; {fitting} of {nodes} nodes could take it.")
}

/// The sentences for a request that has none.
pub(crate) fn refused(asked: Asked, refusal: &Refusal) -> String {
    let mut text = shortage(asked, refusal);
    let mut joint = "; ";
    let told = refusal.nodes_by_reason.iter().filter(|(reason, _)| {
        // Nobody asked about those.
        !matches!(reason, Reason::OtherRegion | Reason::OtherGpuModel)
    });
    for (reason, nodes) in told {
        text.push_str(joint);
        text.push_str(&if joint == "; " { number_of(*nodes, "node") } else { nodes.to_string() });
        text.push(' ');
        text.push_str(phrase(*reason, *nodes));
        if let (Reason::CleanupBlocked, Some(since)) = (reason, refusal.blocked_since) {
            text.push_str(&format!(" (wipe proof missing since {})", minute(since)));
        }
        joint = ", ";
    }
    text.push('.');
    if let Some(way_out) = way_out(&unblocks(refusal)) {
        text.push(' ');
        text.push_str(&way_out);
    }
    text
}

fn shortage(asked: Asked, refusal: &Refusal) -> String {
    let (model, free, count) = (short_name(asked.gpu_model), refusal.free_gpus, asked.gpu_count);
    let place = if asked.one_pool { "this pool" } else { "this region" };
    let wanted = wanted(asked);
    if free == 0 {
        return format!("No {model} free in {place}; {wanted} was asked for");
    }
    if free < count {
        return format!("Only {free} {model} free in {place}; {wanted} was asked for");
    }
    let needs = match (asked.shape, refusal.largest_set) {
        (_, largest) if largest >= count => format!("{wanted} may not go where there is room for it"),
        (CapacityShape::Baremetal, _) => format!("{wanted} needs every GPU of one node free: no node has that"),
        (CapacityShape::GpuSlice, largest) => {
            let sets = match refusal.sets_wanted.len() {
                1..=SETS_TOLD => format!("partition {}", either(&refusal.sets_wanted)),
                _ => "one such set".to_owned(),
            };
            let together = match largest {
                0 => "no free set on any node".to_owned(),
                _ => format!("largest free set on one node is {largest}"),
            };
            format!("{} needs one node with {sets} free: {together}", set_name(count))
        }
    };
    format!("{free} {model} free in {place}, but {needs}")
}

fn wanted(asked: Asked) -> String {
    let count = asked.gpu_count;
    match asked.shape {
        CapacityShape::Baremetal => format!("a whole node of {count}"),
        CapacityShape::GpuSlice => format!("a slice of {count}"),
    }
}

fn set_name(count: u32) -> String {
    if count == 1 { "a single GPU".to_owned() } else { format!("a {count}-GPU NVLink set") }
}

// "{1-4} or {5-8}".
fn either(sets: &[Vec<ModuleId>]) -> String {
    let one = |set: &Vec<ModuleId>| format!("{{{}}}", ranges(set));
    sets.iter().map(one).collect::<Vec<_>>().join(" or ")
}

/// GPUs in few words: "1-4", or "1,3".
pub fn ranges(modules: &[ModuleId]) -> String {
    let mut runs: Vec<(u32, u32)> = vec![];
    for module in modules {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(module.0) => *last = module.0,
            _ => runs.push((module.0, module.0)),
        }
    }
    let one = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.iter().map(one).collect::<Vec<_>>().join(",")
}

/// The words for one reason, to follow "3 nodes" or "1 node".
pub fn phrase(reason: Reason, nodes: u32) -> &'static str {
    let (one, many) = match reason {
        Reason::OtherRegion => ("is in another region", "are in another region"),
        Reason::OtherGpuModel => ("has other GPUs", "have other GPUs"),
        Reason::OtherPool => ("is in another pool", "are in another pool"),
        Reason::SlicesDisabled => ("is in a pool that sells no slices", "are in pools that sell no slices"),
        Reason::OutOfUse => ("is out of use", "are out of use"),
        Reason::Draining => ("is draining", "are draining"),
        Reason::NotPromoted => ("is not promoted to slice use", "are not promoted to slice use"),
        Reason::NotOnline => ("has not been heard of lately", "have not been heard of lately"),
        Reason::HeldAsBareMetal => ("is held as bare metal", "are held as bare metal"),
        Reason::HeldBySlices => ("is held by slices", "are held by slices"),
        Reason::NoSuchSet => ("has no set of this size", "have no set of this size"),
        Reason::Drifted => ("does not show what was approved", "do not show what was approved"),
        Reason::Incomplete => ("lacks a device", "lack a device"),
        Reason::CleanupBlocked => ("is cleanup-blocked", "are cleanup-blocked"),
        Reason::BeingWiped => ("is being wiped", "are being wiped"),
        Reason::TooFewFree => ("has too few free", "have too few free"),
        Reason::FreeButScattered => ("has enough free that form no set", "have enough free that form no set"),
        Reason::KeptWhole => ("is kept whole by policy", "are kept whole by policy"),
        Reason::CoTenancy => ("may not be shared with those on it", "may not be shared with those on them"),
        Reason::SameGroup => ("holds the same group already", "hold the same group already"),
        Reason::NotWithGroup => ("does not hold the group", "do not hold the group"),
    };
    if nodes == 1 { one } else { many }
}

text_enum! {
    /// A step that would let a refused request in.
    Step {
        /// Holders give GPUs of one node back.
        Release = "release",
        /// The proof of a wipe arrives.
        WipeProof = "wipe_proof",
        /// A wipe that runs ends well.
        WipeEnds = "wipe_ends",
        /// An operator approves what a host shows now, or the host shows again what was approved.
        ApproveDrift = "approve_drift",
        /// The missing devices are told.
        CompleteSlots = "complete_slots",
        /// An operator puts a draining node back in service.
        Undrain = "undrain",
        /// An operator puts a node back in use.
        Enable = "enable",
        /// An operator promotes a node to slice use.
        Promote = "promote",
        /// An agent is heard of again.
        AgentReturns = "agent_returns",
        /// An operator lets a pool sell slices.
        EnableSlices = "enable_slices",
        /// The request names no pool, or another one.
        OtherPool = "other_pool",
        /// The policy keeps fewer nodes whole.
        KeepFewerWhole = "keep_fewer_whole",
        /// The request, or those on the nodes, tolerate others.
        Share = "share",
        /// The request does not insist on being apart from its group.
        AllowSameNode = "allow_same_node",
        /// The request does not insist on being with its group.
        AllowOtherNodes = "allow_other_nodes",
    }
}

/// A step and how far it reaches. Each would do alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unblock {
    /// What has to happen.
    pub step: Step,
    /// On how many nodes it would do; one of them is enough.
    pub nodes: u32,
    /// GPUs it takes on one node, for a release.
    pub gpus: Option<u32>,
}

/// Every single step that would let the request in, those that need nobody's decision first.
pub fn unblocks(refusal: &Refusal) -> Vec<Unblock> {
    let by_reason = [
        (Reason::BeingWiped, Step::WipeEnds),
        (Reason::CleanupBlocked, Step::WipeProof),
        (Reason::NotOnline, Step::AgentReturns),
        (Reason::SameGroup, Step::AllowSameNode),
        (Reason::NotWithGroup, Step::AllowOtherNodes),
        (Reason::CoTenancy, Step::Share),
        (Reason::OtherPool, Step::OtherPool),
        (Reason::Draining, Step::Undrain),
        (Reason::OutOfUse, Step::Enable),
        (Reason::Drifted, Step::ApproveDrift),
        (Reason::Incomplete, Step::CompleteSlots),
        (Reason::NotPromoted, Step::Promote),
        (Reason::SlicesDisabled, Step::EnableSlices),
        (Reason::KeptWhole, Step::KeepFewerWhole),
    ];
    let release =
        refusal.release.map(|release| Unblock { step: Step::Release, nodes: release.nodes, gpus: Some(release.gpus) });
    let others = by_reason.iter().filter_map(|(reason, step)| {
        let nodes = *refusal.one_step.get(reason)?;
        Some(Unblock { step: *step, nodes, gpus: None })
    });
    release.into_iter().chain(others).collect()
}

/// The same in a sentence. Nothing when no single step would do.
pub fn way_out(steps: &[Unblock]) -> Option<String> {
    let told: Vec<String> = steps.iter().map(Unblock::told).collect();
    (!told.is_empty()).then(|| format!("Any of these would end it: {}.", told.join("; ")))
}

impl Unblock {
    fn told(&self) -> String {
        let one = if self.nodes == 1 { "one node".to_owned() } else { format!("one of {} nodes", self.nodes) };
        let nodes = number_of(self.nodes, "node");
        match self.step {
            Step::Release => format!("{} given back on {one}", number_of(self.gpus.unwrap_or(0), "GPU")),
            Step::WipeProof => format!("the missing wipe proof of {one}"),
            Step::WipeEnds => format!("the end of the wipe on {one}"),
            Step::ApproveDrift => format!("approval of what {one} shows now"),
            Step::CompleteSlots => format!("the missing devices of {one}"),
            Step::Undrain => format!("{one} no longer drained"),
            Step::Enable => format!("{one} back in use"),
            Step::Promote => format!("{one} promoted to slice use"),
            Step::AgentReturns => format!("{one} heard of again"),
            Step::EnableSlices => format!("slices enabled for the pool of {one}"),
            Step::OtherPool => format!("another pool ({nodes})"),
            Step::KeepFewerWhole => format!("{one} no longer kept whole"),
            Step::Share => format!("sharing {one}"),
            Step::AllowSameNode => format!("sharing a node with the same group ({nodes})"),
            Step::AllowOtherNodes => format!("a node without the group ({nodes})"),
        }
    }
}

fn number_of(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

// "2026-01-31 14:02 UTC".
fn minute(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}
