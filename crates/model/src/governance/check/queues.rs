//! What can be wrong with queues and the tree they hang in.

use std::collections::{BTreeMap, BTreeSet};

use super::{FindingCode, Looking};
use crate::{
    governance::{ClusterQueue, Identity, Kind, LocalQueue, Object, Quota, ResourceGroup, Window},
    number::Quantity,
    supply::GpuModel,
    text::Slug,
};

const MINUTES_A_DAY: i64 = 24 * 60;
const MINUTES_A_WEEK: i64 = 7 * MINUTES_A_DAY;

/// What a flavor has of a resource, in all cohorts and queues together.
type Sums<'a> = BTreeMap<(&'a Slug, &'a Slug), i64>;

/// When a window is open, from and to, and which it is.
type Open = (i64, i64, usize);

/// Whether a node of the tree has somebody above it, and whether its members' quota counts as its own.
#[derive(Clone, Copy)]
struct Place {
    above: bool,
    is_cohort: bool,
}

impl<'a> Looking<'a> {
    pub(super) fn queues(&mut self) {
        let mut sums = Sums::new();
        for cohort in &self.all.cohorts {
            let identity = Object::Cohort(cohort.clone()).identity();
            if let Some(parent) = &cohort.parent {
                let there = self.names.cohorts.contains_key(parent);
                self.must_exist(&identity, "/parent", Kind::Cohort, parent, there);
            }
            if self.comes_back(&cohort.slug) {
                let accepted = "a cohort that is not below this one";
                self.refuse(&identity, "/parent", FindingCode::CohortCycle, accepted);
            }
            let place = Place { above: cohort.parent.is_some(), is_cohort: true };
            self.groups(&identity, &cohort.resource_groups, place, &mut sums);
            self.weight(&identity, cohort.weight_milli.get());
        }
        for queue in &self.all.cluster_queues {
            self.cluster_queue(queue, &mut sums);
        }
        self.local_queues();
    }

    /// Whether the ancestors of a cohort come back to it. One that merely hangs below a cycle is not told again.
    fn comes_back(&self, slug: &Slug) -> bool {
        let mut seen = BTreeSet::new();
        let mut above = self.names.cohorts.get(slug).copied().flatten();
        while let Some(cohort) = above {
            if cohort == slug {
                return true;
            }
            if !seen.insert(cohort) {
                return false;
            }
            above = self.names.cohorts.get(cohort).copied().flatten();
        }
        false
    }

    fn weight(&mut self, identity: &Identity, weight_milli: i64) {
        if weight_milli == 0 {
            let means = "with weight 0 it borrows only what nobody else wants, and gives it back first";
            self.tell(identity, "/weight_milli", FindingCode::WeightZero, means);
        }
    }

    fn groups(&mut self, identity: &Identity, groups: &'a [ResourceGroup], place: Place, sums: &mut Sums<'a>) {
        let mut flavors = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let field = format!("/resource_groups/{at}/flavors");
            let resources = |quotas: &'a [Quota]| quotas.iter().map(|it| &it.resource).collect::<BTreeSet<_>>();
            let first = group.flavors.first().map(|it| resources(&it.quotas));
            for (place_in_group, offered) in group.flavors.iter().enumerate() {
                let field = format!("{field}/{place_in_group}");
                flavors.push((format!("{field}/flavor"), &offered.flavor));
                let there = self.names.flavors.contains(&offered.flavor);
                self.must_exist(identity, format!("{field}/flavor"), Kind::Flavor, &offered.flavor, there);
                if first.as_ref() != Some(&resources(&offered.quotas)) {
                    let accepted = "quota in the same resources as the first flavor of the group";
                    self.refuse(identity, format!("{field}/quotas"), FindingCode::UnevenGroup, accepted);
                }
                let each = offered.quotas.iter().enumerate();
                self.must_differ(
                    identity,
                    each.map(|(at, it)| (format!("{field}/quotas/{at}/resource"), &it.resource)),
                );
                for (at, quota) in offered.quotas.iter().enumerate() {
                    let field = format!("{field}/quotas/{at}");
                    self.quota(identity, &field, quota, place);
                    self.counted(identity, &field, (&offered.flavor, &quota.resource), quota.nominal.get(), sums);
                }
            }
        }
        self.must_differ(identity, flavors);
    }

    fn quota(&mut self, identity: &Identity, field: &str, quota: &Quota, place: Place) {
        if quota.resource != Slug::gpu() {
            let accepted = format!("{}: nothing else is asked for", Slug::gpu());
            self.refuse(identity, format!("{field}/resource"), FindingCode::UnknownResource, accepted);
        }
        for (name, limit) in [("borrowing_limit", quota.borrowing_limit), ("lending_limit", quota.lending_limit)] {
            if limit.is_some() && !place.above {
                let accepted = "no such field without a cohort above: there is nobody to lend to or to borrow from";
                self.refuse(identity, format!("{field}/{name}"), FindingCode::LimitWithoutCohort, accepted);
            }
        }
        // A cohort also lends what its members have.
        if !place.is_cohort && quota.lending_limit.is_some_and(|limit| limit > quota.nominal) {
            let accepted = format!("nominal ({}) at most", quota.nominal);
            self.refuse(identity, format!("{field}/lending_limit"), FindingCode::LendingAboveNominal, accepted);
        }
    }

    fn counted(
        &mut self,
        identity: &Identity,
        field: &str,
        what: (&'a Slug, &'a Slug),
        nominal: i64,
        sums: &mut Sums<'a>,
    ) {
        let sum = sums.entry(what).or_default();
        *sum = sum.saturating_add(nominal);
        if *sum > Quantity::MAX {
            let accepted = format!("all quota of {} in {} together at most {}", what.1, what.0, Quantity::MAX);
            self.refuse(identity, format!("{field}/nominal"), FindingCode::SumTooLarge, accepted);
        }
    }

    fn cluster_queue(&mut self, queue: &'a ClusterQueue, sums: &mut Sums<'a>) {
        let identity = Object::ClusterQueue(queue.clone()).identity();
        if let Some(cohort) = &queue.cohort {
            let there = self.names.cohorts.contains_key(cohort);
            self.must_exist(&identity, "/cohort", Kind::Cohort, cohort, there);
        }
        let place = Place { above: queue.cohort.is_some(), is_cohort: false };
        self.groups(&identity, &queue.resource_groups, place, sums);
        self.weight(&identity, queue.weight_milli.get());
        self.schedule(&identity, queue);
        self.usage(&identity, queue);
        let Some(open_to) = &queue.open_to else { return };
        for (at, tenant) in open_to.tenants.iter().enumerate() {
            if !self.around.tenants.contains(tenant) {
                let field = format!("/open_to/tenants/{at}");
                self.refuse(&identity, field, FindingCode::UnknownReference, "the id of a tenant that exists");
            }
        }
        for (at, project) in open_to.projects.iter().enumerate() {
            if !self.around.projects.contains_key(project) {
                let field = format!("/open_to/projects/{at}");
                self.refuse(&identity, field, FindingCode::UnknownReference, "the id of a project that exists");
            }
        }
    }

    fn schedule(&mut self, identity: &Identity, queue: &ClusterQueue) {
        let offered: BTreeSet<(&Slug, &Slug)> = quotas(queue).map(|(flavor, it)| (flavor, &it.resource)).collect();
        let mut times: BTreeMap<(&Slug, &Slug), Vec<Open>> = BTreeMap::new();
        for (at, window) in queue.schedule.iter().enumerate() {
            let field = format!("/schedule/{at}");
            let days = window.days.iter().enumerate();
            self.must_differ(identity, days.map(|(at, day)| (format!("{field}/days/{at}"), *day)));
            if window.from_minute.get() == MINUTES_A_DAY {
                let accepted = "0 to 1439: the end of a day is the beginning of the next";
                self.refuse(identity, format!("{field}/from_minute"), FindingCode::WrongMinute, accepted);
            }
            for (place, quota) in window.quotas.iter().enumerate() {
                let what = (&quota.flavor, &quota.resource);
                if !offered.contains(&what) {
                    let accepted = "a flavor and resource that the queue has quota in";
                    let field = format!("{field}/quotas/{place}/flavor");
                    self.refuse(identity, field, FindingCode::UnknownReference, accepted);
                }
                times.entry(what).or_default().extend(open_times(window).map(|(from, to)| (from, to, at)));
            }
        }
        let mut overlapping = BTreeSet::new();
        for open in times.values_mut() {
            open.sort_unstable();
            let mut latest = (0, 0);
            for &(from, to, at) in open.iter() {
                if from < latest.0 {
                    overlapping.insert((at, latest.1));
                }
                if to > latest.0 {
                    latest = (to, at);
                }
            }
        }
        for (at, other) in overlapping {
            let accepted = format!("a time in which window {other} is not open for the same flavor");
            self.refuse(identity, format!("/schedule/{at}"), FindingCode::WindowsOverlap, accepted);
        }
    }

    /// Tells of quota below what is in use. A model that several flavors stand for is counted over all of them.
    fn usage(&mut self, identity: &Identity, queue: &ClusterQueue) {
        let models: BTreeMap<&Slug, Option<GpuModel>> =
            self.all.flavors.iter().map(|it| (&it.slug, it.gpu_model)).collect();
        for ((name, model), used) in &self.around.in_use {
            if *name != queue.slug {
                continue;
            }
            let stands_for = |flavor: &Slug| models.get(flavor).is_some_and(|it| it.is_none_or(|it| it == *model));
            let nominal = quotas(queue)
                .filter(|(flavor, _)| stands_for(flavor))
                .fold(0_i64, |sum, (_, quota)| sum.saturating_add(quota.nominal.get()));
            if *used > nominal {
                let means = format!(
                    "{used} {model} GPUs are in use and {nominal} are its own: nothing is stopped because of that, and \
                     what is beyond is borrowed"
                );
                self.tell(identity, "/resource_groups", FindingCode::QuotaBelowUsage, means);
            }
        }
    }

    fn local_queues(&mut self) {
        let mut defaults = BTreeSet::new();
        for queue in &self.all.local_queues {
            let identity = Object::LocalQueue(queue.clone()).identity();
            if queue.default && !defaults.insert(&queue.project_id) {
                let accepted = "false: another queue is the project's default";
                self.refuse(&identity, "/default", FindingCode::SecondDefault, accepted);
            }
            self.local_queue(&identity, queue);
        }
    }

    fn local_queue(&mut self, identity: &Identity, queue: &LocalQueue) {
        self.weight(identity, queue.weight_milli.get());
        let Some(leads_to) = self.names.cluster_queues.get(&queue.cluster_queue) else {
            self.must_exist(identity, "/cluster_queue", Kind::ClusterQueue, &queue.cluster_queue, false);
            return;
        };
        let open_to = leads_to.open_to.as_ref();
        let Some(tenant_id) = self.around.projects.get(&queue.project_id) else {
            self.refuse(identity, "/project_id", FindingCode::UnknownReference, "the id of a project that exists");
            return;
        };
        if open_to.is_some_and(|open_to| !open_to.admits(tenant_id, &queue.project_id)) {
            let accepted = format!("a queue that is open to the project; {} is not", queue.cluster_queue);
            self.refuse(identity, "/cluster_queue", FindingCode::NotOpen, accepted);
        }
    }
}

fn quotas(queue: &ClusterQueue) -> impl Iterator<Item = (&Slug, &Quota)> {
    let offered = queue.resource_groups.iter().flat_map(|group| &group.flavors);
    offered.flat_map(|offered| offered.quotas.iter().map(|quota| (&offered.flavor, quota)))
}

/// When a window is open: minutes of the week, UTC, from Monday. One that goes past the end of the week is two.
fn open_times(window: &Window) -> impl Iterator<Item = (i64, i64)> + '_ {
    let (from, to) = (window.from_minute.get(), window.to_minute.get());
    let length = if to > from { to - from } else { MINUTES_A_DAY - from + to };
    window.days.iter().zip(std::iter::repeat((from, length))).flat_map(move |(day, (from, length))| {
        let day = crate::governance::Day::ALL.iter().zip(0_i64..).find(|(known, _)| *known == day).map_or(0, |it| it.1);
        let begins = (day * MINUTES_A_DAY + from - window.utc_offset_minutes.get()).rem_euclid(MINUTES_A_WEEK);
        let ends = begins + length;
        let past = (ends > MINUTES_A_WEEK).then_some((0, ends - MINUTES_A_WEEK));
        std::iter::once((begins, ends.min(MINUTES_A_WEEK))).chain(past)
    })
}
