//! What quota is given in and what people choose by: levels of places, kinds of GPUs, and profiles of hardware.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{not_null, optional_where_defaulted, within};
use crate::{
    allocation::Labels,
    number::{GpuCount, SpeedMilli},
    supply::GpuModel,
    text::{DisplayName, LabelKey, LabelValue, Slug},
};

/// Levels of places that work can be kept together in, such as rack and host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Short name, for ever.
    pub slug: Slug,
    /// The labels that name a place on each level, the widest first: 1 to 16, each once.
    #[serde(deserialize_with = "within::<_, _, 1, 16>")]
    #[schemars(length(min = 1, max = 16))]
    pub levels: Vec<LabelKey>,
}

text_enum! {
    /// What a taint does to work that does not put up with it.
    TaintEffect {
        /// It is not placed there.
        NoSchedule = "no_schedule",
        /// It is rather placed elsewhere.
        PreferNoSchedule = "prefer_no_schedule",
        /// It is not placed there, and what runs there is moved away.
        NoExecute = "no_execute",
    }
}

/// What keeps work away that does not say that it puts up with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    /// Its name.
    pub key: LabelKey,
    /// More precisely.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub value: Option<LabelValue>,
    /// What it does.
    pub effect: TaintEffect,
}

/// A taint that work puts up with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Toleration {
    /// The taint's name.
    pub key: LabelKey,
    /// Only this value; any when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub value: Option<LabelValue>,
    /// Only this effect; any when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
}

/// A kind of GPU that quota is given in. It covers the nodes of one GPU model, or of one pool, or both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct Flavor {
    /// Short name, for ever.
    pub slug: Slug,
    /// Only nodes with these GPUs; any when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub gpu_model: Option<GpuModel>,
    /// Only nodes of this pool, by its short name; any when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub pool: Option<Slug>,
    /// Labels that work may ask for.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// What keeps work away that does not put up with it: 8 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 8>")]
    #[schemars(length(max = 8))]
    pub taints: Vec<Taint>,
    /// What work on it puts up with without saying so: 8 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 8>")]
    #[schemars(length(max = 8))]
    pub tolerations: Vec<Toleration>,
    /// The levels of places of its nodes, by short name.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub topology: Option<Slug>,
    /// How fast it is, in thousandths of the reference: fairness counts work, not devices.
    #[serde(default = "reference_speed")]
    pub speed_milli: SpeedMilli,
}

/// What people choose hardware by, in words of theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct HardwareProfile {
    /// Short name, for ever.
    pub slug: Slug,
    /// Name for people.
    pub name: DisplayName,
    /// Any of these flavors, the first in the order of the queue that can be had; any GPU when empty. A flavor counts if a
    /// SKU for slices of its GPUs is sold in the size that is asked for; of several the cheapest is bought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 64>")]
    #[schemars(length(max = 64))]
    pub flavors: Vec<Slug>,
    /// The taints of flavors that whoever chooses the profile puts up with: 8 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 8>")]
    #[schemars(length(max = 8))]
    pub tolerations: Vec<Toleration>,
    /// How many GPUs at least.
    #[serde(default = "one_gpu")]
    pub gpu_count_min: GpuCount,
    /// How many GPUs at most.
    #[serde(default = "one_board")]
    pub gpu_count_max: GpuCount,
    /// How many GPUs the command line asks for unless said.
    #[serde(default = "one_gpu")]
    pub gpu_count_default: GpuCount,
    /// The local queue to wait in, by its short name in whichever project chooses the profile; that project's default when
    /// absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub local_queue: Option<Slug>,
    /// The priority class; the default when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<Slug>,
    /// Whether it can be chosen.
    #[serde(default = "yes")]
    pub enabled: bool,
}

const fn reference_speed() -> SpeedMilli {
    SpeedMilli::REFERENCE
}
const fn one_gpu() -> GpuCount {
    GpuCount::ONE
}
const fn one_board() -> GpuCount {
    GpuCount::BOARD
}
const fn yes() -> bool {
    true
}
