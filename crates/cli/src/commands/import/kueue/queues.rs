//! Kueue's queues and cohorts: quota, limits, weights, and who may be stopped for whom.

use model::governance::Cohort;
use serde_json::{Value, json};

use super::{Projects, Reading};
use crate::commands::apply::governance::{LocalQueueEntry, OpenToEntry, QueueEntry};

/// Resources that are GPUs.
const GPUS: [&str; 2] = ["nvidia.com/gpu", "amd.com/gpu"];
const STOPS: &[(&str, &str)] = &[("None", "none"), ("Hold", "hold"), ("HoldAndDrain", "hold_and_drain")];
const TAKES: &[(&str, &str)] = &[
    ("Never", "never"),
    ("LowerPriority", "lower_priority"),
    ("LowerOrNewerEqualPriority", "lower_or_newer_equal_priority"),
    ("Any", "any"),
];
/// The older words are still read.
const SEARCHES: &[(&str, &str)] = &[
    ("MayStopSearch", "may_stop_search"),
    ("Borrow", "may_stop_search"),
    ("Preempt", "may_stop_search"),
    ("TryNextFlavor", "try_next_flavor"),
];

impl Reading<'_> {
    pub(super) fn cohort(&mut self) {
        let Some(slug) = self.own_slug() else { return };
        let mut cohort = json!({ "slug": slug, "resource_groups": self.groups() });
        if let Some(parent) =
            self.reference("spec.parentName", "parent").or_else(|| self.reference("spec.parent", "parent"))
        {
            cohort["parent"] = parent.as_str().into();
        }
        self.weight(&mut cohort);
        self.keep(cohort, |all, it: Cohort| all.governance.cohorts.push(it));
    }

    pub(super) fn cluster_queue(&mut self, projects: &Projects) {
        let Some(slug) = self.own_slug() else { return };
        let mut queue = json!({ "slug": slug, "resource_groups": self.groups() });
        if let Some(cohort) =
            self.reference("spec.cohortName", "cohort").or_else(|| self.reference("spec.cohort", "cohort"))
        {
            queue["cohort"] = cohort.as_str().into();
        }
        let orders = [("StrictFIFO", "strict_fifo"), ("BestEffortFIFO", "best_effort_fifo")];
        if let Some(ordering) = self.word("spec.queueingStrategy", "ordering", &orders) {
            queue["ordering"] = ordering.into();
        }
        if let Some(stop) = self.word("spec.stopPolicy", "stop", STOPS) {
            queue["stop"] = stop.into();
        }
        self.weight(&mut queue);
        self.preemption(&mut queue);
        self.fungibility(&mut queue);
        if let Some(open_to) = self.open_to(projects) {
            match serde_json::to_value(open_to) {
                Ok(value) => queue["open_to"] = value,
                Err(error) => self.not_mapped("spec.namespaceSelector", error.to_string()),
            }
        }
        self.keep(queue, |all, it: QueueEntry| all.governance.cluster_queues.push(it));
    }

    pub(super) fn local_queue(&mut self, projects: &Projects) {
        let Some(slug) = self.own_slug() else { return };
        let namespace = self.fields.take_text("metadata.namespace").unwrap_or_else(|| "default".to_owned());
        let Some(project) = projects.of(&namespace) else {
            let why = format!("no project is known for namespace {namespace}; say --tenant or --project");
            self.not_mapped("metadata.namespace", why);
            return;
        };
        self.mapped("metadata.namespace", format!("project: {project}"));
        let Some(cluster_queue) = self.reference("spec.clusterQueue", "cluster_queue") else {
            self.not_mapped("spec.clusterQueue", "it is missing");
            return;
        };
        // In Kueue the queue of this name is for jobs that name none.
        let default = slug.as_str() == "default";
        let mut queue = json!({ "slug": slug, "project": project, "cluster_queue": cluster_queue, "default": default });
        if let Some(stop) = self.word("spec.stopPolicy", "stop", STOPS) {
            queue["stop"] = stop.into();
        }
        self.weight(&mut queue);
        self.keep(queue, |all, it: LocalQueueEntry| all.governance.local_queues.push(it));
    }

    /// Groups with quota in GPUs. What else they have quota in is named.
    fn groups(&mut self) -> Vec<Value> {
        let mut groups = Vec::new();
        for at in 0..self.fields.entries("spec.resourceGroups") {
            let group = format!("spec.resourceGroups[{at}]");
            self.covered(&group);
            let mut flavors = Vec::new();
            for place in 0..self.fields.entries(&format!("{group}.flavors")) {
                let flavor = format!("{group}.flavors[{place}]");
                let name = self.fields.take_text(&format!("{flavor}.name"));
                let quotas = self.quotas(&flavor);
                let Some(name) = name.filter(|_| !quotas.is_empty()) else { continue };
                let Some(slug) = self.slug(&format!("{flavor}.name"), &name) else { continue };
                self.mapped(&format!("{flavor}.name"), format!("flavor: {slug}"));
                flavors.push(json!({ "flavor": slug, "quotas": quotas }));
            }
            if flavors.is_empty() {
                self.not_mapped(&group, "there is no quota in GPUs in it");
            } else {
                groups.push(json!({ "flavors": flavors }));
            }
        }
        groups
    }

    fn covered(&mut self, group: &str) {
        for at in 0..self.fields.entries(&format!("{group}.coveredResources")) {
            let field = format!("{group}.coveredResources[{at}]");
            let Some(resource) = self.fields.take_text(&field) else { continue };
            if GPUS.contains(&resource.as_str()) {
                self.mapped(&field, "resource: gpu");
            } else {
                self.not_mapped(&field, format!("{resource} is not counted; it goes with the GPU"));
            }
        }
    }

    fn quotas(&mut self, flavor: &str) -> Vec<Value> {
        let mut quotas: Vec<Value> = Vec::new();
        for at in 0..self.fields.entries(&format!("{flavor}.resources")) {
            let field = format!("{flavor}.resources[{at}]");
            let resource = self.fields.take_text(&format!("{field}.name")).unwrap_or_default();
            if !GPUS.contains(&resource.as_str()) || !quotas.is_empty() {
                let why = match GPUS.contains(&resource.as_str()) {
                    true => "there is quota in GPUs for this flavor already".to_owned(),
                    false => format!("{resource} is not counted; it goes with the GPU"),
                };
                self.fields.take_under(&field);
                self.not_mapped(&field, why);
                continue;
            }
            let Some(nominal) = self.quantity(&format!("{field}.nominalQuota"), "nominal") else {
                self.not_mapped(&format!("{field}.nominalQuota"), "there is no quota without it");
                continue;
            };
            let mut quota = json!({ "nominal": nominal });
            for (theirs, ours) in [("borrowingLimit", "borrowing_limit"), ("lendingLimit", "lending_limit")] {
                if let Some(limit) = self.quantity(&format!("{field}.{theirs}"), ours) {
                    quota[ours] = limit.into();
                }
            }
            quotas.push(quota);
        }
        quotas
    }

    /// A whole number, as a number or as text.
    fn quantity(&mut self, field: &str, ours: &str) -> Option<i64> {
        let value = self.fields.take(field)?;
        let number = value.as_i64().or_else(|| value.as_str()?.parse().ok()).filter(|number| *number >= 0);
        match number {
            Some(number) => self.mapped(field, format!("{ours}: {number}")),
            None if value.is_null() => {}
            None => self.not_mapped(field, format!("{value} is no whole number of GPUs")),
        }
        number
    }

    /// A decimal weight in thousandths.
    fn weight(&mut self, object: &mut Value) {
        let field = "spec.fairSharing.weight";
        let Some(value) = self.fields.take(field) else { return };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match thousandths(&text) {
            Some(weight) => {
                self.mapped(field, format!("weight_milli: {weight}"));
                object["weight_milli"] = weight.into();
            }
            None => self.not_mapped(field, format!("{text} is no weight from 0 to 1000000 in thousandths")),
        }
    }

    fn preemption(&mut self, queue: &mut Value) {
        let mut preemption = json!({});
        let within = self.word("spec.preemption.withinClusterQueue", "preemption.within_queue", TAKES);
        let reclaim = self.word("spec.preemption.reclaimWithinCohort", "preemption.reclaim_within_cohort", TAKES);
        for (name, word) in [("within_queue", within), ("reclaim_within_cohort", reclaim)] {
            if let Some(word) = word {
                preemption[name] = word.into();
            }
        }
        let policies = [("Never", "never"), ("LowerPriority", "lower_priority")];
        let borrow = "spec.preemption.borrowWithinCohort";
        let policy = self.word(&format!("{borrow}.policy"), "preemption.borrow_within_cohort.policy", &policies);
        if let Some(policy) = policy {
            preemption["borrow_within_cohort"] = json!({ "policy": policy });
            let field = format!("{borrow}.maxPriorityThreshold");
            if let Some(threshold) = self.fields.take(&field).filter(|it| !it.is_null()) {
                self.mapped(&field, format!("preemption.borrow_within_cohort.max_priority_threshold: {threshold}"));
                preemption["borrow_within_cohort"]["max_priority_threshold"] = threshold;
            }
        }
        if preemption != json!({}) {
            queue["preemption"] = preemption;
        }
    }

    fn fungibility(&mut self, queue: &mut Value) {
        let mut fungibility = json!({});
        let preferences = [
            ("BorrowingOverPreemption", "borrowing_over_preemption"),
            ("PreemptionOverBorrowing", "preemption_over_borrowing"),
        ];
        for (theirs, ours, words) in [
            ("whenCanBorrow", "when_can_borrow", SEARCHES),
            ("whenCanPreempt", "when_can_preempt", SEARCHES),
            ("preference", "preference", preferences.as_slice()),
        ] {
            let field = format!("spec.flavorFungibility.{theirs}");
            if let Some(word) = self.word(&field, &format!("fungibility.{ours}"), words) {
                fungibility[ours] = word.into();
            }
        }
        if fungibility != json!({}) {
            queue["fungibility"] = fungibility;
        }
    }

    /// Whose projects may come in: everybody's for an empty selector, nobody's without one. Namespaces that are named one by
    /// one become projects; other selectors cannot be said.
    fn open_to(&mut self, projects: &Projects) -> Option<OpenToEntry> {
        let selector = "spec.namespaceSelector";
        if !self.fields.has(selector) {
            self.mapped("spec.namespaceSelector", "open_to: nobody, as nothing is said");
            return Some(OpenToEntry::default());
        }
        if self.fields.take(selector).is_some_and(|value| value == json!({})) {
            self.mapped(selector, "open_to: everybody");
            return None;
        }
        let mut open_to = OpenToEntry::default();
        for at in 0..self.fields.entries(&format!("{selector}.matchExpressions")) {
            let expression = format!("{selector}.matchExpressions[{at}]");
            let key = self.fields.take_text(&format!("{expression}.key"));
            let operator = self.fields.take_text(&format!("{expression}.operator"));
            if key.as_deref() != Some("kubernetes.io/metadata.name") || operator.as_deref() != Some("In") {
                self.fields.take_under(&expression);
                self.not_mapped(
                    &expression,
                    "only namespaces by name can be said; the queue is open to nobody by this",
                );
                continue;
            }
            for place in 0..self.fields.entries(&format!("{expression}.values")) {
                let field = format!("{expression}.values[{place}]");
                let Some(namespace) = self.fields.take_text(&field) else { continue };
                match projects.of(&namespace) {
                    Some(project) => {
                        self.mapped(&field, format!("open_to.projects: {project}"));
                        open_to.projects.push(project);
                    }
                    None => self.not_mapped(&field, "no project is known for it; say --tenant or --project"),
                }
            }
        }
        let labels = format!("{selector}.matchLabels");
        if self.fields.has(&labels) {
            self.fields.take_under(&labels);
            self.not_mapped(&labels, "only namespaces by name can be said; the queue is open to nobody by this");
        }
        Some(open_to)
    }
}

/// `2`, `0.75` and `1500m` as thousandths.
pub(super) fn thousandths(text: &str) -> Option<i64> {
    if let Some(milli) = text.strip_suffix('m') {
        return milli.parse().ok().filter(|it| (0..=1_000_000_000).contains(it));
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits_only = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits_only(whole) || !digits_only(part) || part.len() > 3 {
        return None;
    }
    let padded = format!("{part:0<3}");
    let milli = whole.parse::<i64>().ok()?.checked_mul(1000)?.checked_add(padded.parse().ok()?)?;
    (milli <= 1_000_000_000).then_some(milli)
}
