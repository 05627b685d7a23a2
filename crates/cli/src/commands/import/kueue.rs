//! From Kueue's objects to ours. Only GPUs are counted here: quota in anything else is named as not mapped. A cohort that
//! queues name and nobody describes comes to be, as it does in Kueue.

mod queues;
#[cfg(test)]
mod tests;

use model::{
    governance::{Cohort, Flavor, PriorityClass, Taint, Toleration, Topology},
    supply::GpuModel,
    text::Slug,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Imported, Mapped, NotMapped,
    manifest::{Fields, Manifest},
};

/// What namespaces become.
#[derive(Debug, Default)]
pub struct Projects {
    /// The tenant whose projects are called like the namespaces.
    pub tenant: Option<Slug>,
    /// Namespaces that become something else.
    pub named: BTreeMap<String, String>,
}

impl Projects {
    fn of(&self, namespace: &str) -> Option<String> {
        let called_alike = || self.tenant.as_ref().map(|tenant| format!("{tenant}/{namespace}"));
        self.named.get(namespace).cloned().or_else(called_alike)
    }
}

/// Says manifests in our words.
pub fn import(manifests: Vec<Manifest>, projects: &Projects) -> Imported {
    let mut imported = Imported::default();
    for manifest in manifests {
        let mut reading = Reading::new(&manifest, &mut imported);
        match manifest.kind.as_str() {
            "Topology" => reading.topology(),
            "ResourceFlavor" => reading.flavor(),
            "WorkloadPriorityClass" => reading.priority_class(),
            "Cohort" => reading.cohort(),
            "ClusterQueue" => reading.cluster_queue(projects),
            "LocalQueue" => reading.local_queue(projects),
            _ => reading.unknown_kind(),
        }
        reading.done();
    }
    implied_cohorts(&mut imported);
    imported
}

/// Cohorts that are named and not described.
fn implied_cohorts(imported: &mut Imported) {
    let governance = &imported.governance;
    let described: BTreeSet<&Slug> = governance.cohorts.iter().map(|it| &it.slug).collect();
    let parents = governance.cohorts.iter().filter_map(|it| it.parent.as_ref());
    let named = governance.cluster_queues.iter().filter_map(|it| it.cohort.as_ref()).chain(parents);
    let missing: BTreeSet<Slug> = named.filter(|name| !described.contains(name)).cloned().collect();
    for slug in missing {
        let Ok(cohort) = serde_json::from_value::<Cohort>(json!({ "slug": slug })) else { continue };
        imported.mapped.push(Mapped {
            object: format!("Cohort {slug}"),
            field: "(implied)".to_owned(),
            becomes: format!("cohorts: {slug}, which others name"),
        });
        imported.governance.cohorts.push(cohort);
    }
}

/// One manifest while it is read.
struct Reading<'a> {
    object: String,
    name: String,
    fields: Fields,
    imported: &'a mut Imported,
}

impl<'a> Reading<'a> {
    fn new(manifest: &Manifest, imported: &'a mut Imported) -> Self {
        let mut fields = Fields::of(&manifest.body);
        for known in ["kind", "apiVersion", "metadata.name"] {
            fields.take(known);
        }
        Self { object: format!("{} {}", manifest.kind, manifest.name), name: manifest.name.clone(), fields, imported }
    }

    fn mapped(&mut self, field: &str, becomes: impl Into<String>) {
        let (object, field, becomes) = (self.object.clone(), field.to_owned(), becomes.into());
        self.imported.mapped.push(Mapped { object, field, becomes });
    }

    fn not_mapped(&mut self, field: &str, why: impl Into<String>) {
        let (object, field, why) = (self.object.clone(), field.to_owned(), why.into());
        self.imported.not_mapped.push(NotMapped { object, field, why });
    }

    /// Names everything that nobody took.
    fn done(self) {
        for (field, _) in self.fields.left() {
            let why = match field.split(['.', '[']).next() {
                Some("status") => continue,
                Some("metadata") => "objects have a short name here and nothing else of this kind",
                _ => "there is no such thing here",
            };
            let (object, why) = (self.object.clone(), why.to_owned());
            self.imported.not_mapped.push(NotMapped { object, field, why });
        }
    }

    fn unknown_kind(&mut self) {
        self.fields.take_all();
        self.not_mapped(
            "kind",
            "only ResourceFlavor, ClusterQueue, Cohort, LocalQueue, WorkloadPriorityClass and Topology are read",
        );
    }

    /// A name as a short name: dots, which Kubernetes allows, become hyphens.
    fn slug(&mut self, field: &str, name: &str) -> Option<Slug> {
        let shortened = name.replace('.', "-");
        match shortened.parse::<Slug>() {
            Ok(slug) => Some(slug),
            Err(error) => {
                self.not_mapped(field, format!("{name} cannot be a short name: {error}"));
                None
            }
        }
    }

    /// The object's own name.
    fn own_slug(&mut self) -> Option<Slug> {
        let name = self.name.clone();
        let slug = self.slug("metadata.name", &name)?;
        self.mapped("metadata.name", format!("slug: {slug}"));
        Some(slug)
    }

    /// A reference by name.
    fn reference(&mut self, field: &str, ours: &str) -> Option<Slug> {
        let name = self.fields.take_text(field)?;
        if name.is_empty() {
            return None;
        }
        let slug = self.slug(field, &name)?;
        self.mapped(field, format!("{ours}: {slug}"));
        Some(slug)
    }

    /// A word that has a counterpart.
    fn word(&mut self, field: &str, ours: &str, words: &[(&str, &'static str)]) -> Option<&'static str> {
        let given = self.fields.take_text(field)?;
        match words.iter().find(|(theirs, _)| *theirs == given) {
            Some((_, word)) => {
                self.mapped(field, format!("{ours}: {word}"));
                Some(word)
            }
            None => {
                let known: Vec<&str> = words.iter().map(|(theirs, _)| *theirs).collect();
                self.not_mapped(field, format!("{given} is none of {}", known.join(", ")));
                None
            }
        }
    }

    /// Puts an object together and keeps it, if it holds.
    fn keep<T: serde::de::DeserializeOwned>(&mut self, value: Value, push: impl FnOnce(&mut Imported, T)) {
        match serde_json::from_value(value) {
            Ok(object) => push(self.imported, object),
            Err(error) => self.not_mapped("(all)", format!("it cannot be said here: {error}")),
        }
    }

    fn topology(&mut self) {
        let Some(slug) = self.own_slug() else { return };
        let mut levels = Vec::new();
        for at in 0..self.fields.entries("spec.levels") {
            let field = format!("spec.levels[{at}].nodeLabel");
            if let Some(label) = self.fields.take_text(&field) {
                self.mapped(&field, format!("levels[{}]: {label}", levels.len()));
                levels.push(label);
            }
        }
        self.keep(json!({ "slug": slug, "levels": levels }), |all, it: Topology| all.governance.topologies.push(it));
    }

    fn flavor(&mut self) {
        let Some(slug) = self.own_slug() else { return };
        let mut labels = Vec::new();
        let mut gpu_model = None;
        for (name, value) in self.fields.under("spec.nodeLabels") {
            let field = format!("spec.nodeLabels.{name}");
            let Some(text) = value.as_str() else { continue };
            if name == "nvidia.com/gpu.product" {
                gpu_model = model_of(text);
            }
            self.fields.take(&field);
            self.mapped(&field, format!("labels: {name}"));
            labels.push(json!({ "key": name, "value": text }));
        }
        let mut flavor = json!({ "slug": slug, "labels": labels });
        if let Some(model) = gpu_model {
            self.mapped("spec.nodeLabels.nvidia.com/gpu.product", format!("gpu_model: {model}"));
            flavor["gpu_model"] = model.as_str().into();
        }
        flavor["taints"] = self.taints().into();
        flavor["tolerations"] = self.tolerations().into();
        if let Some(topology) = self.reference("spec.topologyName", "topology") {
            flavor["topology"] = topology.as_str().into();
        }
        self.keep(flavor, |all, it: Flavor| all.governance.flavors.push(it));
    }

    fn taints(&mut self) -> Vec<Value> {
        let mut taints = Vec::new();
        for at in 0..self.fields.entries("spec.nodeTaints") {
            let field = format!("spec.nodeTaints[{at}]");
            let Some(effect) = self.word(&format!("{field}.effect"), "taints", EFFECTS) else { continue };
            let mut taint = json!({ "effect": effect, "key": self.fields.take_text(&format!("{field}.key")) });
            if let Some(value) = self.fields.take_text(&format!("{field}.value")).filter(|value| !value.is_empty()) {
                taint["value"] = value.into();
            }
            match serde_json::from_value::<Taint>(taint.clone()) {
                Ok(_) => {
                    self.mapped(&format!("{field}.key"), format!("taints[{}]", taints.len()));
                    taints.push(taint);
                }
                Err(error) => self.not_mapped(&field, error.to_string()),
            }
        }
        taints
    }

    fn tolerations(&mut self) -> Vec<Value> {
        let mut tolerations = Vec::new();
        for at in 0..self.fields.entries("spec.tolerations") {
            let field = format!("spec.tolerations[{at}]");
            let exists = match self.fields.take_text(&format!("{field}.operator")).as_deref() {
                Some("Exists") => true,
                Some("Equal") | None => false,
                Some(other) => {
                    self.not_mapped(&format!("{field}.operator"), format!("{other} is neither Equal nor Exists"));
                    continue;
                }
            };
            let mut toleration = json!({ "key": self.fields.take_text(&format!("{field}.key")) });
            if let Some(effect) = self.word(&format!("{field}.effect"), "tolerations", EFFECTS) {
                toleration["effect"] = effect.into();
            }
            let value = self.fields.take_text(&format!("{field}.value")).filter(|value| !exists && !value.is_empty());
            if let Some(value) = value {
                toleration["value"] = value.into();
            }
            match serde_json::from_value::<Toleration>(toleration.clone()) {
                Ok(_) => {
                    self.mapped(&format!("{field}.key"), format!("tolerations[{}]", tolerations.len()));
                    tolerations.push(toleration);
                }
                Err(error) => self.not_mapped(&field, error.to_string()),
            }
        }
        tolerations
    }

    fn priority_class(&mut self) {
        let Some(slug) = self.own_slug() else { return };
        let Some(value) = self.fields.take("value") else {
            self.not_mapped("value", "it is missing");
            return;
        };
        self.mapped("value", format!("value: {value}"));
        // In Kueue the class of this name is for workloads that name none.
        let default = slug.as_str() == "default";
        let class = json!({ "slug": slug, "value": value, "default": default });
        self.keep(class, |all, it: PriorityClass| all.governance.priority_classes.push(it));
    }
}

const EFFECTS: &[(&str, &str)] =
    &[("NoSchedule", "no_schedule"), ("PreferNoSchedule", "prefer_no_schedule"), ("NoExecute", "no_execute")];

/// The GPU model that a product label stands for, as far as the platform knows it.
fn model_of(product: &str) -> Option<GpuModel> {
    let product = product.to_ascii_uppercase();
    match product {
        it if it.contains("H200") => Some(GpuModel::H200Sxm),
        it if it.contains("A100-SXM") => Some(GpuModel::A100Sxm),
        _ => None,
    }
}
