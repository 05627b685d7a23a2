//! Allocations: what a user holds, from wish to proof, and the terms it was asked for with.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

use crate::{
    PoolId, Timestamp,
    guest::UserData,
    image::ImageSpec,
    placement::{CoTenancy, Spread},
    text::{LabelKey, LabelValue, Slug},
};

text_enum! {
    /// What the owner wants.
    #[schemars(rename = "AllocationDesired")]
    Desired {
        /// Have it running.
        Running = "running",
        /// Give it back.
        Released = "released",
    }
}

text_enum! {
    /// Where the workflow stands. `reserved` to `releasing` hold claims; the last three hold none.
    #[schemars(rename = "AllocationState")]
    State {
        /// Asked for, not placed.
        Requested = "requested",
        /// Claims are committed; the host has not been told.
        Reserved = "reserved",
        /// The host is building it.
        Provisioning = "provisioning",
        /// The guest is up.
        Running = "running",
        /// The host is stopping and wiping it.
        Releasing = "releasing",
        /// Given back.
        Released = "released",
        /// It could not be placed.
        Refused = "refused",
        /// The host could not build it; its slots were cleaned up.
        Failed = "failed",
    }
}

impl State {
    /// Whether an allocation in this state holds exactly the claims it asked for.
    pub const fn holds_claims(self) -> bool {
        matches!(self, Self::Reserved | Self::Provisioning | Self::Running | Self::Releasing)
    }
    /// Whether nothing more will happen.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Released | Self::Refused | Self::Failed)
    }
}

/// What its owner wishes about the place, besides size and region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementWishes {
    /// Only in this pool.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub pool_id: Option<PoolId>,
    /// The group of the project that it belongs to. Without one `spread` means nothing.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub group: Option<Slug>,
    /// How it lies to the others of its group.
    #[serde(default = "anywhere", skip_serializing_if = "is_anywhere")]
    pub spread: Spread,
    /// Whose slices may be beside it.
    #[serde(default = "anybody", skip_serializing_if = "is_anybody")]
    pub co_tenancy: CoTenancy,
}

impl Default for PlacementWishes {
    fn default() -> Self {
        Self { pool_id: None, group: None, spread: anywhere(), co_tenancy: anybody() }
    }
}

const fn anywhere() -> Spread {
    Spread::None
}
const fn anybody() -> CoTenancy {
    CoTenancy::Any
}
fn is_anywhere(spread: &Spread) -> bool {
    *spread == anywhere()
}
fn is_anybody(co_tenancy: &CoTenancy) -> bool {
    *co_tenancy == anybody()
}

// A field that may be left out but must not be `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A word that an owner sticks to an allocation to find it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// What it is called.
    pub key: LabelKey,
    /// What it says.
    pub value: LabelValue,
}

/// The labels of one allocation, by key, each key once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Labels(Vec<Label>);

impl Labels {
    /// No more labels than this.
    pub const MAX: usize = 32;
    /// The labels, by key.
    pub fn as_slice(&self) -> &[Label] {
        &self.0
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// More labels than one thing may have, or two with one key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected at most 32 labels, each key once")]
pub struct BadLabels;

impl TryFrom<Vec<Label>> for Labels {
    type Error = BadLabels;
    fn try_from(mut labels: Vec<Label>) -> Result<Self, BadLabels> {
        labels.sort_by(|one, other| one.key.cmp(&other.key));
        let once = labels.windows(2).all(|pair| pair[0].key != pair[1].key);
        if once && labels.len() <= Self::MAX { Ok(Self(labels)) } else { Err(BadLabels) }
    }
}
impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Self::try_from(Vec::deserialize(d)?).map_err(serde::de::Error::custom)
    }
}
impl JsonSchema for Labels {
    fn schema_name() -> Cow<'static, str> {
        "Labels".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let label = generator.subschema_for::<Label>();
        json_schema!({ "type": "array", "maxItems": Self::MAX, "uniqueItems": true, "items": label,
            "description": "At most 32 labels, each key once.", "examples": [[{ "key": "team", "value": "vision" }]] })
    }
}

/// A public key as it was when the allocation was asked for; a key that is deleted later stays where it was put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchKey {
    /// What its project calls it.
    pub name: Slug,
    /// The key in one line.
    pub public_key: String,
    /// SHA-256 of the key, as `ssh-keygen -l` shows it.
    pub fingerprint: String,
}

/// What an allocation was asked for with, besides what was bought and where. Carried over when it is launched again
/// elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllocationTerms {
    /// Wishes about the place.
    pub placement: PlacementWishes,
    /// Words to find it by.
    pub labels: Labels,
    /// Who may sign in.
    pub ssh_keys: Vec<LaunchKey>,
    /// What it is made of, as the entry was at launch.
    pub image: Option<ImageSpec>,
    /// What its owner wrote for cloud-init; not read with lists.
    pub user_data: Option<UserData>,
    /// When it is given back by itself.
    pub lease_ends: Option<Timestamp>,
    /// It may be stopped and launched again elsewhere when its node is evacuated.
    pub may_recreate: bool,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn wishes_that_say_nothing_are_stored_as_nothing() {
        let none = PlacementWishes::default();
        assert_eq!(serde_json::to_string(&none).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<PlacementWishes>("{}").unwrap(), none);
        assert!(serde_json::from_str::<PlacementWishes>(r#"{"group": null}"#).is_err());
        let apart = r#"{"group":"web","spread":"require"}"#;
        assert_eq!(serde_json::to_string(&serde_json::from_str::<PlacementWishes>(apart).unwrap()).unwrap(), apart);
    }

    #[test]
    fn labels_are_few_and_each_key_is_there_once() {
        let labels = |count: usize| {
            let all: Vec<_> = (0..count).map(|n| serde_json::json!({ "key": format!("l{n}"), "value": "x" })).collect();
            serde_json::from_value::<Labels>(all.into())
        };
        assert_eq!(labels(32).unwrap().as_slice().len(), 32);
        assert!(labels(33).is_err());
        let twice = r#"[{"key":"b","value":"x"},{"key":"a","value":"x"},{"key":"b","value":"y"}]"#;
        assert!(serde_json::from_str::<Labels>(twice).is_err());
        let sorted: Labels = serde_json::from_str(r#"[{"key":"b","value":"x"},{"key":"a","value":"x"}]"#).unwrap();
        assert_eq!(sorted.as_slice()[0].key.as_str(), "a");
    }
}
