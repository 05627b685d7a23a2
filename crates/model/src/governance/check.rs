//! What is wrong with the objects of governance, said before anybody acts on them.
//!
//! A [`Finding`] names the object, the field and what would be accepted. Findings that refuse keep a change from being made;
//! the others only tell what it will mean. A weight of 0 is allowed: its queue borrows only what nobody else wants. So is
//! quota below what is in use: nothing is stopped because of it, and nothing new starts until usage is below again.

mod queues;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::{Governance, Identity, Kind, Object};
use crate::{ProjectId, TenantId, supply::GpuModel, text::Slug};

text_enum! {
    /// What is wrong.
    FindingCode {
        /// Two objects of a kind have one name.
        DuplicateName = "duplicate_name",
        /// The short name of something is for ever.
        Renamed = "renamed",
        /// The field is settled when the object is made.
        Settled = "settled",
        /// There is no such object.
        UnknownReference = "unknown_reference",
        /// The ancestors of a cohort come back to it.
        CohortCycle = "cohort_cycle",
        /// One thing is said twice.
        DuplicateEntry = "duplicate_entry",
        /// The flavors of a group have quota in different resources.
        UnevenGroup = "uneven_group",
        /// Nothing asks for this resource.
        UnknownResource = "unknown_resource",
        /// There is nobody to lend to or to borrow from.
        LimitWithoutCohort = "limit_without_cohort",
        /// More is lent than there is.
        LendingAboveNominal = "lending_above_nominal",
        /// All quota of a flavor together cannot be counted.
        SumTooLarge = "sum_too_large",
        /// Two windows of one quota are open at the same time.
        WindowsOverlap = "windows_overlap",
        /// A time of day that does not begin a window.
        WrongMinute = "wrong_minute",
        /// There can be one default only.
        SecondDefault = "second_default",
        /// The least, the usual and the most are not in this order.
        Disordered = "disordered",
        /// The queue is not open to the project.
        NotOpen = "not_open",
        /// Something else refers to it.
        StillReferred = "still_referred",
        /// It borrows only what nobody else wants.
        WeightZero = "weight_zero",
        /// More is in use than the quota says.
        QuotaBelowUsage = "quota_below_usage",
    }
}

/// One thing that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The object that says so.
    pub object: Identity,
    /// JSON Pointer into the object.
    pub field: String,
    /// What is wrong.
    pub code: FindingCode,
    /// What would be accepted, or what it means.
    pub detail: String,
    /// Whether it keeps the change from being made.
    pub refuses: bool,
}

/// What the objects of governance refer to beyond each other.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The short names of all pools.
    pub pools: BTreeSet<Slug>,
    /// All tenants that are not deleted.
    pub tenants: BTreeSet<TenantId>,
    /// All projects that are not deleted, with their tenants.
    pub projects: BTreeMap<ProjectId, TenantId>,
    /// GPUs in use now, by cluster queue and model.
    pub in_use: BTreeMap<(Slug, GpuModel), i64>,
}

/// Everything that is wrong with all objects together, or worth knowing. In no order that means anything, but always the same.
pub fn check(governance: &Governance, surroundings: &Surroundings) -> Vec<Finding> {
    let mut looking =
        Looking { all: governance, around: surroundings, names: Names::of(governance), found: Vec::new() };
    looking.names_are_distinct();
    looking.hardware();
    looking.queues();
    looking.found
}

/// The objects that refer to one of them, each with the field that does.
pub fn referrers(governance: &Governance, identity: &Identity) -> Vec<(Identity, String)> {
    let mut without = governance.clone();
    without.remove(identity);
    let lost = |finding: &Finding| finding.code == FindingCode::UnknownReference;
    let around = Surroundings::default();
    let before: BTreeSet<Finding> = check(governance, &around).into_iter().filter(lost).collect();
    let after = check(&without, &around).into_iter().filter(lost);
    after.filter(|finding| !before.contains(finding)).map(|finding| (finding.object, finding.field)).collect()
}

/// The short names there are.
struct Names<'a> {
    topologies: BTreeSet<&'a Slug>,
    flavors: BTreeSet<&'a Slug>,
    priority_classes: BTreeSet<&'a Slug>,
    cohorts: BTreeMap<&'a Slug, Option<&'a Slug>>,
    cluster_queues: BTreeMap<&'a Slug, &'a super::ClusterQueue>,
}

impl<'a> Names<'a> {
    fn of(all: &'a Governance) -> Self {
        Self {
            topologies: all.topologies.iter().map(|it| &it.slug).collect(),
            flavors: all.flavors.iter().map(|it| &it.slug).collect(),
            priority_classes: all.priority_classes.iter().map(|it| &it.slug).collect(),
            cohorts: all.cohorts.iter().map(|it| (&it.slug, it.parent.as_ref())).collect(),
            cluster_queues: all.cluster_queues.iter().map(|it| (&it.slug, it)).collect(),
        }
    }
}

struct Looking<'a> {
    all: &'a Governance,
    around: &'a Surroundings,
    names: Names<'a>,
    found: Vec<Finding>,
}

impl<'a> Looking<'a> {
    fn refuse(&mut self, object: &Identity, field: impl Into<String>, code: FindingCode, accepted: impl Into<String>) {
        let (object, field, detail) = (object.clone(), field.into(), accepted.into());
        self.found.push(Finding { object, field, code, detail, refuses: true });
    }

    fn tell(&mut self, object: &Identity, field: impl Into<String>, code: FindingCode, detail: impl Into<String>) {
        let (object, field, detail) = (object.clone(), field.into(), detail.into());
        self.found.push(Finding { object, field, code, detail, refuses: false });
    }

    /// A reference that must lead somewhere.
    fn must_exist(&mut self, object: &Identity, field: impl Into<String>, kind: Kind, name: &Slug, there: bool) {
        if !there {
            let accepted = format!("the short name of a {kind} that exists; there is no {name}");
            self.refuse(object, field, FindingCode::UnknownReference, accepted);
        }
    }

    /// Items of a list that came before, each at its field.
    fn must_differ<T: Ord>(&mut self, object: &Identity, items: impl IntoIterator<Item = (String, T)>) {
        let mut seen = BTreeSet::new();
        for (field, item) in items {
            if !seen.insert(item) {
                self.refuse(object, field, FindingCode::DuplicateEntry, "each only once");
            }
        }
    }

    fn names_are_distinct(&mut self) {
        let mut seen = BTreeSet::new();
        for object in self.all.objects() {
            let identity = object.identity();
            if seen.contains(&identity) {
                self.refuse(&identity, "/slug", FindingCode::DuplicateName, "a name that no other one of its kind has");
            }
            seen.insert(identity);
        }
        let defaults = self.all.priority_classes.iter().filter(|class| class.default);
        let second: Vec<Identity> =
            defaults.skip(1).map(|class| Object::PriorityClass(class.clone()).identity()).collect();
        for identity in second {
            self.refuse(&identity, "/default", FindingCode::SecondDefault, "false: another class is the default");
        }
    }

    fn hardware(&mut self) {
        for topology in &self.all.topologies {
            let identity = Object::Topology(topology.clone()).identity();
            let levels = topology.levels.iter().enumerate().map(|(at, level)| (format!("/levels/{at}"), level));
            self.must_differ(&identity, levels);
        }
        for flavor in &self.all.flavors {
            let identity = Object::Flavor(flavor.clone()).identity();
            if let Some(topology) = &flavor.topology {
                let there = self.names.topologies.contains(topology);
                self.must_exist(&identity, "/topology", Kind::Topology, topology, there);
            }
            if let Some(pool) = &flavor.pool
                && !self.around.pools.contains(pool)
            {
                let accepted = format!("the short name of a pool that exists; there is no {pool}");
                self.refuse(&identity, "/pool", FindingCode::UnknownReference, accepted);
            }
            let taints = flavor.taints.iter().enumerate();
            self.must_differ(&identity, taints.map(|(at, it)| (format!("/taints/{at}"), (&it.key, it.effect))));
        }
        for profile in &self.all.hardware_profiles {
            self.profile(profile);
        }
    }

    fn profile(&mut self, profile: &super::HardwareProfile) {
        let identity = Object::HardwareProfile(profile.clone()).identity();
        for (at, flavor) in profile.flavors.iter().enumerate() {
            let there = self.names.flavors.contains(flavor);
            self.must_exist(&identity, format!("/flavors/{at}"), Kind::Flavor, flavor, there);
        }
        let flavors = profile.flavors.iter().enumerate();
        self.must_differ(&identity, flavors.map(|(at, it)| (format!("/flavors/{at}"), it)));
        if let Some(class) = &profile.priority_class {
            let there = self.names.priority_classes.contains(class);
            self.must_exist(&identity, "/priority_class", Kind::PriorityClass, class, there);
        }
        let (least, usual, most) = (profile.gpu_count_min, profile.gpu_count_default, profile.gpu_count_max);
        if !(least..=most).contains(&usual) {
            let accepted = format!("a count from gpu_count_min ({least}) to gpu_count_max ({most})");
            self.refuse(&identity, "/gpu_count_default", FindingCode::Disordered, accepted);
        }
    }
}
