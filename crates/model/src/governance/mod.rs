//! The objects of governance: what platform teams write down about who may have how much of which GPUs, and in which order.
//!
//! ```text
//! topology ◀── flavor ◀── quota ── cohort (a tree) ◀── cluster queue ◀── local queue of a project
//!                └──────── hardware profile ──▶ priority class
//! ```
//!
//! Everything refers to everything else by short name, and a short name is for ever: whoever wants another one makes another
//! object. [`Governance`] is all of it at one moment; the same form is stored, sent, exported and written in files.
//! [`check`] says what is wrong with it before anybody acts on it.

pub mod check;
pub mod difference;
mod hardware;
mod queue;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{ProjectId, event::Noun, text::Slug};

pub use hardware::{Flavor, HardwareProfile, Taint, TaintEffect, Toleration, Topology};
pub use queue::{
    BorrowWithinCohort, ClusterQueue, Cohort, Day, FlavorQuotas, Fungibility, LocalQueue, OpenTo, Ordering, Preemption,
    Preference, PriorityClass, Quota, ResourceGroup, Search, Stop, Takes, TakesWhileBorrowing, Window, WindowQuota,
};

text_enum! {
    #[schemars(rename = "GovernanceKind")]
    /// The kinds of objects, in the order in which they can be made: what is referred to comes first.
    Kind {
        /// Levels of places.
        Topology = "topology",
        /// A kind of GPU.
        Flavor = "flavor",
        /// A priority by name.
        PriorityClass = "priority_class",
        /// Queues that lend to each other.
        Cohort = "cohort",
        /// A queue with quota.
        ClusterQueue = "cluster_queue",
        /// A project's way into one.
        LocalQueue = "local_queue",
        /// What people choose hardware by.
        HardwareProfile = "hardware_profile",
    }
}

impl Kind {
    /// The noun of its events.
    pub const fn noun(self) -> Noun {
        match self {
            Self::Topology => Noun::Topology,
            Self::Flavor => Noun::Flavor,
            Self::PriorityClass => Noun::PriorityClass,
            Self::Cohort => Noun::Cohort,
            Self::ClusterQueue => Noun::ClusterQueue,
            Self::LocalQueue => Noun::LocalQueue,
            Self::HardwareProfile => Noun::HardwareProfile,
        }
    }

    /// The list of its objects in a [`Governance`].
    pub const fn list(self) -> &'static str {
        match self {
            Self::Topology => "topologies",
            Self::Flavor => "flavors",
            Self::PriorityClass => "priority_classes",
            Self::Cohort => "cohorts",
            Self::ClusterQueue => "cluster_queues",
            Self::LocalQueue => "local_queues",
            Self::HardwareProfile => "hardware_profiles",
        }
    }
}

/// Which object: its kind, its short name, and the project for what belongs to one. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Its kind.
    pub kind: Kind,
    /// The project, for local queues.
    pub project_id: Option<ProjectId>,
    /// Its short name.
    pub slug: Slug,
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.project_id {
            Some(project_id) => write!(f, "{} {project_id}/{}", self.kind, self.slug),
            None => write!(f, "{} {}", self.kind, self.slug),
        }
    }
}

/// One object of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// Levels of places.
    Topology(Topology),
    /// A kind of GPU.
    Flavor(Flavor),
    /// A priority by name.
    PriorityClass(PriorityClass),
    /// Queues that lend to each other.
    Cohort(Cohort),
    /// A queue with quota.
    ClusterQueue(ClusterQueue),
    /// A project's way into one.
    LocalQueue(LocalQueue),
    /// What people choose hardware by.
    HardwareProfile(HardwareProfile),
}

impl Object {
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Topology(_) => Kind::Topology,
            Self::Flavor(_) => Kind::Flavor,
            Self::PriorityClass(_) => Kind::PriorityClass,
            Self::Cohort(_) => Kind::Cohort,
            Self::ClusterQueue(_) => Kind::ClusterQueue,
            Self::LocalQueue(_) => Kind::LocalQueue,
            Self::HardwareProfile(_) => Kind::HardwareProfile,
        }
    }

    /// Its short name.
    pub const fn slug(&self) -> &Slug {
        match self {
            Self::Topology(it) => &it.slug,
            Self::Flavor(it) => &it.slug,
            Self::PriorityClass(it) => &it.slug,
            Self::Cohort(it) => &it.slug,
            Self::ClusterQueue(it) => &it.slug,
            Self::LocalQueue(it) => &it.slug,
            Self::HardwareProfile(it) => &it.slug,
        }
    }

    /// Which object it is.
    pub fn identity(&self) -> Identity {
        let project_id = if let Self::LocalQueue(queue) = self { Some(queue.project_id.clone()) } else { None };
        Identity { kind: self.kind(), project_id, slug: self.slug().clone() }
    }

    /// Whether it is the default of its kind.
    pub const fn is_default(&self) -> bool {
        match self {
            Self::PriorityClass(it) => it.default,
            Self::LocalQueue(it) => it.default,
            _ => false,
        }
    }

    /// The same object as no default.
    pub fn without_default(mut self) -> Self {
        match &mut self {
            Self::PriorityClass(it) => it.default = false,
            Self::LocalQueue(it) => it.default = false,
            _ => {}
        }
        self
    }

    /// As JSON text: what is stored, and what two versions are compared by.
    pub fn to_json(&self) -> Result<serde_json::Value, serde_json::Error> {
        match self {
            Self::Topology(it) => serde_json::to_value(it),
            Self::Flavor(it) => serde_json::to_value(it),
            Self::PriorityClass(it) => serde_json::to_value(it),
            Self::Cohort(it) => serde_json::to_value(it),
            Self::ClusterQueue(it) => serde_json::to_value(it),
            Self::LocalQueue(it) => serde_json::to_value(it),
            Self::HardwareProfile(it) => serde_json::to_value(it),
        }
    }

    /// Reads an object of a kind from its JSON text.
    pub fn from_json(kind: Kind, text: &str) -> Result<Self, serde_json::Error> {
        match kind {
            Kind::Topology => serde_json::from_str(text).map(Self::Topology),
            Kind::Flavor => serde_json::from_str(text).map(Self::Flavor),
            Kind::PriorityClass => serde_json::from_str(text).map(Self::PriorityClass),
            Kind::Cohort => serde_json::from_str(text).map(Self::Cohort),
            Kind::ClusterQueue => serde_json::from_str(text).map(Self::ClusterQueue),
            Kind::LocalQueue => serde_json::from_str(text).map(Self::LocalQueue),
            Kind::HardwareProfile => serde_json::from_str(text).map(Self::HardwareProfile),
        }
    }
}

/// What is an object of one kind.
pub trait Governed: Sized {
    /// The kind.
    const KIND: Kind;
    /// As an object of any kind.
    fn into_object(self) -> Object;
    /// An object, if it is of this kind.
    fn from_object(object: Object) -> Option<Self>;
}

macro_rules! governed {
    ($($kind:ident),+) => { $(
        impl Governed for $kind {
            const KIND: Kind = Kind::$kind;
            fn into_object(self) -> Object {
                Object::$kind(self)
            }
            fn from_object(object: Object) -> Option<Self> {
                if let Object::$kind(it) = object { Some(it) } else { None }
            }
        }
    )+ };
}
governed!(Topology, Flavor, PriorityClass, Cohort, ClusterQueue, LocalQueue, HardwareProfile);

/// All objects at one moment, and the form of a file that describes them. Lists are in no particular order, except where a
/// field says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Governance {
    /// Levels of places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub topologies: Vec<Topology>,
    /// Kinds of GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub flavors: Vec<Flavor>,
    /// Priorities by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub priority_classes: Vec<PriorityClass>,
    /// Queues that lend to each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub cohorts: Vec<Cohort>,
    /// Queues with quota.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub cluster_queues: Vec<ClusterQueue>,
    /// Projects' ways into them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub local_queues: Vec<LocalQueue>,
    /// What people choose hardware by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub hardware_profiles: Vec<HardwareProfile>,
}

impl Governance {
    /// So many objects of one kind in a document.
    pub const LIST_MAX: usize = 10_000;

    /// Every object, kind by kind in the order of [`Kind::ALL`], as its lists have them.
    pub fn objects(&self) -> Vec<Object> {
        let mut all = Vec::new();
        all.extend(self.topologies.iter().cloned().map(Object::Topology));
        all.extend(self.flavors.iter().cloned().map(Object::Flavor));
        all.extend(self.priority_classes.iter().cloned().map(Object::PriorityClass));
        all.extend(self.cohorts.iter().cloned().map(Object::Cohort));
        all.extend(self.cluster_queues.iter().cloned().map(Object::ClusterQueue));
        all.extend(self.local_queues.iter().cloned().map(Object::LocalQueue));
        all.extend(self.hardware_profiles.iter().cloned().map(Object::HardwareProfile));
        all
    }

    /// Adds an object at the end of its list.
    pub fn push(&mut self, object: Object) {
        match object {
            Object::Topology(it) => self.topologies.push(it),
            Object::Flavor(it) => self.flavors.push(it),
            Object::PriorityClass(it) => self.priority_classes.push(it),
            Object::Cohort(it) => self.cohorts.push(it),
            Object::ClusterQueue(it) => self.cluster_queues.push(it),
            Object::LocalQueue(it) => self.local_queues.push(it),
            Object::HardwareProfile(it) => self.hardware_profiles.push(it),
        }
    }

    /// Takes an object out. Whether it was there.
    pub fn remove(&mut self, identity: &Identity) -> bool {
        fn without<T>(list: &mut Vec<T>, slug: &Slug, slug_of: impl Fn(&T) -> &Slug) -> bool {
            let before = list.len();
            list.retain(|it| slug_of(it) != slug);
            list.len() != before
        }
        let slug = &identity.slug;
        match identity.kind {
            Kind::Topology => without(&mut self.topologies, slug, |it| &it.slug),
            Kind::Flavor => without(&mut self.flavors, slug, |it| &it.slug),
            Kind::PriorityClass => without(&mut self.priority_classes, slug, |it| &it.slug),
            Kind::Cohort => without(&mut self.cohorts, slug, |it| &it.slug),
            Kind::ClusterQueue => without(&mut self.cluster_queues, slug, |it| &it.slug),
            Kind::HardwareProfile => without(&mut self.hardware_profiles, slug, |it| &it.slug),
            Kind::LocalQueue => {
                let before = self.local_queues.len();
                self.local_queues.retain(|it| it.slug != *slug || Some(&it.project_id) != identity.project_id.as_ref());
                self.local_queues.len() != before
            }
        }
    }

    /// Puts an object in the place of the one with the same identity, or at the end of its list.
    pub fn put(&mut self, object: Object) {
        self.remove(&object.identity());
        self.push(object);
    }
}

/// Reads a field that may be left out but must not be `null`: an object says nothing in one way only.
fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads a list of so many entries.
fn within<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MIN: usize, const MAX: usize>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(deserializer)?;
    if (MIN..=MAX).contains(&list.len()) {
        return Ok(list);
    }
    let least = if MIN == 0 { String::new() } else { format!("at least {MIN} and ") };
    Err(serde::de::Error::custom(format!("{least}at most {MAX} entries")))
}

/// What has a default may be left out, whoever reads: an answer always says it, but promises no more than a request has to.
fn optional_where_defaulted(schema: &mut Schema) {
    let has_default = |field: &serde_json::Value| field.get("default").is_some();
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let defaulted: Vec<String> = properties
        .map(|fields| fields.iter().filter(|(_, field)| has_default(field)).map(|(name, _)| name.clone()).collect())
        .unwrap_or_default();
    let Some(serde_json::Value::Array(required)) = schema.get_mut("required") else { return };
    required.retain(|name| name.as_str().is_none_or(|name| !defaulted.iter().any(|it| it == name)));
    if required.is_empty() {
        schema.remove("required");
    }
}
