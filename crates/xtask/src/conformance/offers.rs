//! Flavors, what queues offer of them, and what pods ask for: from the names in a case to the numbers of the engine.

use super::{
    read::{items, maybe, number, text},
    world::World,
};
use govern::{
    amount::Amount,
    flavors::{
        Flavor, FlavorIx, Group, Offer, PodSet,
        matching::{Effect, Expression, Label, Needs, Taint, Test, Tolerates, Toleration, Value as LabelValue},
        mode::{Fungibility, Preference, Search},
    },
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Gives every label name and value of a case a number.
#[derive(Default)]
pub struct Words(BTreeMap<String, u32>);

impl Words {
    fn id(&mut self, word: &str) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(word.to_owned()).or_insert(next)
    }

    fn value(&mut self, word: &str) -> LabelValue {
        LabelValue { id: self.id(word), number: word.parse().ok() }
    }

    /// The word with this number.
    pub fn word(&self, id: u32) -> &str {
        self.0.iter().find(|(_, known)| **known == id).map_or("", |(word, _)| word)
    }

    fn labels(&mut self, value: &Value, field: &str) -> Vec<Label> {
        let labels = maybe(value, field).and_then(Value::as_object).into_iter().flatten();
        let label = |(key, value): (&String, &Value)| Label {
            key: self.id(key),
            value: self.value(value.as_str().unwrap_or("")),
        };
        labels.map(label).collect()
    }

    fn taint(&mut self, taint: &Value) -> Taint {
        Taint {
            key: self.id(text(taint, "key").unwrap_or("")),
            value: self.value(text(taint, "value").unwrap_or("")),
            effect: effect(text(taint, "effect").unwrap_or("")).unwrap_or(Effect::PreferNoSchedule),
        }
    }

    fn toleration(&mut self, toleration: &Value) -> Toleration {
        let value = self.value(text(toleration, "value").unwrap_or(""));
        Toleration {
            key: text(toleration, "key").filter(|key| !key.is_empty()).map(|key| self.id(key)),
            values: match text(toleration, "operator").unwrap_or("") {
                "Exists" => Tolerates::Any,
                "Lt" => Tolerates::Below(value),
                "Gt" => Tolerates::Above(value),
                _ => Tolerates::Equal(value),
            },
            effect: effect(text(toleration, "effect").unwrap_or("")),
        }
    }

    fn expression(&mut self, expression: &Value) -> Result<Expression, String> {
        let words: Vec<&str> = items(expression, "values").iter().filter_map(Value::as_str).collect();
        let bound = || words.first().and_then(|word| word.parse().ok()).ok_or("a bound that is no number");
        let test = match text(expression, "operator").unwrap_or("") {
            "In" => Test::In(words.iter().map(|word| self.value(word)).collect()),
            "NotIn" => Test::NotIn(words.iter().map(|word| self.value(word)).collect()),
            "Exists" => Test::Exists,
            "DoesNotExist" => Test::Absent,
            "Gt" => Test::Above(bound()?),
            "Lt" => Test::Below(bound()?),
            other => return Err(format!("no operator {other}")),
        };
        Ok(Expression { key: self.id(text(expression, "key").unwrap_or("")), test })
    }

    fn needs(&mut self, pod_set: &Value) -> Result<Needs, String> {
        let mut affinity = vec![];
        for term in items(pod_set, "affinityTerms") {
            let list = term.as_array().map_or(&[][..], Vec::as_slice);
            affinity.push(list.iter().map(|one| self.expression(one)).collect::<Result<_, _>>()?);
        }
        let tolerations = items(pod_set, "tolerations").iter().map(|one| self.toleration(one)).collect();
        Ok(Needs { selector: self.labels(pod_set, "nodeSelector"), affinity, tolerations })
    }
}

fn effect(name: &str) -> Option<Effect> {
    match name {
        "NoSchedule" => Some(Effect::NoSchedule),
        "NoExecute" => Some(Effect::NoExecute),
        "PreferNoSchedule" => Some(Effect::PreferNoSchedule),
        _ => None,
    }
}

/// All flavors of the case, by number. One that a queue names and the case does not describe is none.
pub fn catalog(case: &Value, world: &World, words: &mut Words) -> Vec<Option<Flavor>> {
    let Some(described) = maybe(case, "flavors").and_then(Value::as_array) else {
        return vec![Some(Flavor::default()); world.flavors.len()];
    };
    let mut all = vec![None; world.flavors.len()];
    for flavor in described {
        let Some(at) = text(flavor, "name").and_then(|name| world.flavor(name)) else { continue };
        all[at as usize] = Some(Flavor {
            labels: words.labels(flavor, "nodeLabels"),
            taints: items(flavor, "taints").iter().map(|taint| words.taint(taint)).collect(),
            tolerations: items(flavor, "tolerations").iter().map(|one| words.toleration(one)).collect(),
            topology: maybe(flavor, "topologyName").is_some(),
        });
    }
    all
}

fn search(value: &Value, field: &str, otherwise: Search) -> Result<Search, String> {
    match text(value, field) {
        None => Ok(otherwise),
        // One that was left unset is not `TryNextFlavor`.
        Some("MayStopSearch" | "Borrow" | "Preempt" | "Unset" | "") => Ok(Search::Stop),
        Some("TryNextFlavor") => Ok(Search::TryNext),
        Some(other) => Err(format!("no {field} {other}")),
    }
}

fn fungibility(queue: &Value) -> Result<Fungibility, String> {
    let mut chosen = Fungibility::default();
    if let Some(said) = maybe(queue, "flavorFungibility") {
        chosen.when_can_borrow = search(said, "whenCanBorrow", chosen.when_can_borrow)?;
        chosen.when_can_preempt = search(said, "whenCanPreempt", chosen.when_can_preempt)?;
        chosen.preference = match text(said, "preference") {
            None | Some("BorrowingOverPreemption" | "Unset" | "") => Preference::BorrowRatherThanPreempt,
            Some("PreemptionOverBorrowing") => Preference::PreemptRatherThanBorrow,
            Some(other) => return Err(format!("no preference {other}")),
        };
    }
    Ok(chosen)
}

/// What a queue offers.
pub fn offer(queue: &Value, world: &World) -> Result<Offer, String> {
    let mut groups = vec![];
    for group in items(queue, "resourceGroups") {
        let covered: Vec<&str> = items(group, "coveredResources").iter().filter_map(Value::as_str).collect();
        let mut read = Group::default();
        read.resources.extend(covered.iter().filter_map(|name| world.resource(name)));
        for flavor in items(group, "flavors") {
            let name = text(flavor, "name").unwrap_or("");
            read.flavors.push(FlavorIx(world.flavor(name).ok_or("a flavor of no name")?));
            for resource in &covered {
                read.cells.push(world.pair(name, resource)?);
            }
        }
        groups.push(read);
    }
    Ok(Offer { groups, fungibility: fungibility(queue)? })
}

fn small(value: &Value, field: &str) -> Option<u32> {
    number(value, field).and_then(|number| u32::try_from(number).ok())
}

/// The pod sets of a workload, and their names.
pub fn pod_sets(workload: &Value, world: &World, words: &mut Words) -> Result<(Vec<PodSet>, Vec<String>), String> {
    let (mut sets, mut names) = (vec![], vec![]);
    for pod_set in items(workload, "podSets") {
        let mut requests = vec![];
        for (name, each) in maybe(pod_set, "requests").and_then(Value::as_object).into_iter().flatten() {
            let resource = world.resource(name).ok_or("a resource of no name")?;
            requests.push((resource, each.as_i64().map_or(Amount::UNLIMITED, Amount::new)));
        }
        requests.sort_unstable_by_key(|(resource, _)| *resource);
        let topology = maybe(pod_set, "topologyRequest");
        let group = text(pod_set, "podSetGroupName")
            .or_else(|| topology.and_then(|topology| text(topology, "podSetGroupName")));
        sets.push(PodSet {
            count: small(pod_set, "count").unwrap_or(1),
            least: small(pod_set, "minCount"),
            requests,
            needs: words.needs(pod_set)?,
            group: group.map(|name| words.id(name)),
            topology: topology.is_some(),
        });
        names.push(text(pod_set, "name").unwrap_or("").to_owned());
    }
    Ok((sets, names))
}
