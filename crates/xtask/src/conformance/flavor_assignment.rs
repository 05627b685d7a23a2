//! The player of flavor assignment: one workload, one queue, and an answer in advance to whether others could be told to go.

use super::{
    Played,
    offers::{Words, catalog, offer, pod_sets},
    preemption::{fair_strategies, policies},
    read::{items, maybe, number, text},
    sentence,
    world::World,
};
use govern::{
    amount::Amount,
    flavors::{
        Assigner, Assignment, Oracle, Possibility, Reason, Request, Undeclared,
        matching::Mismatch,
        mode::{Mode, preempts_while_borrowing},
    },
    preempt::PreemptionRules,
    tree::{FlavorResource, NodeIx, Usage},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

// The answers that the case gives.
struct Told {
    otherwise: (Possibility, u32),
    special: BTreeMap<FlavorResource, (Possibility, u32)>,
}

impl Oracle for Told {
    fn possibility(&mut self, _: &mut Usage, _: NodeIx, what: FlavorResource, _: Amount) -> (Possibility, u32) {
        self.special.get(&what).copied().unwrap_or(self.otherwise)
    }
}

fn answer(value: &Value) -> Result<(Possibility, u32), String> {
    let possibility = match text(value, "possibility").unwrap_or("Preempt") {
        "NoCandidates" => Possibility::NoCandidates,
        "Preempt" => Possibility::Preempt,
        "Reclaim" => Possibility::Reclaim,
        other => return Err(format!("no possibility {other}")),
    };
    let level = number(value, "borrowingLevelAfter").and_then(|level| u32::try_from(level).ok());
    Ok((possibility, level.unwrap_or(0)))
}

fn told(case: &Value, world: &World) -> Result<Told, String> {
    let mut told = Told { otherwise: (Possibility::Preempt, 0), special: BTreeMap::new() };
    let Some(oracle) = maybe(case, "preemptionOracle") else { return Ok(told) };
    if let Some(otherwise) = maybe(oracle, "default") {
        told.otherwise = answer(otherwise)?;
    }
    for special in items(oracle, "perFlavorResource") {
        let pair = world.pair(text(special, "flavor").unwrap_or(""), text(special, "resource").unwrap_or(""))?;
        told.special.insert(pair, answer(special)?);
    }
    Ok(told)
}

/// The name of a mode.
pub const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::NoFit => "NoFit",
        Mode::Preempt => "Preempt",
        Mode::DeferredFit => "DeferredFit",
        Mode::Fit => "Fit",
    }
}

/// A reason by its parts.
fn reason_parts(reason: &Reason, world: &World, words: &Words) -> Value {
    let pair = |what: FlavorResource| world.pair_names(what);
    match reason {
        Reason::ExceedsCapacity { what, earlier, asked, capacity } => json!({
            "code": "exceeds_capacity", "flavor": pair(*what).0, "resource": pair(*what).1,
            "earlier": earlier.units(), "asked": asked.units(), "capacity": capacity.units(),
        }),
        Reason::Insufficient { what, missing } => json!({
            "code": "insufficient", "flavor": pair(*what).0, "resource": pair(*what).1, "missing": missing.units(),
        }),
        Reason::Mismatch { flavor, why: Mismatch::Affinity } => {
            json!({ "code": "affinity", "flavor": world.flavor_name(flavor.0) })
        }
        Reason::Mismatch { flavor, why: Mismatch::Taint(taint) } => json!({
            "code": "taint", "flavor": world.flavor_name(flavor.0), "key": words.word(taint.key),
            "value": words.word(taint.value.id),
        }),
        Reason::NoSuchFlavor { flavor } => json!({ "code": "no_such_flavor", "flavor": world.flavor_name(flavor.0) }),
        Reason::Topology { flavor, wanted } => {
            json!({ "code": "topology", "flavor": world.flavor_name(flavor.0), "wanted": wanted })
        }
        Reason::NotOffered { resource } => json!({ "code": "not_offered", "resource": world.resource_name(*resource) }),
        Reason::NotNominated { flavor, resource } => json!({
            "code": "not_nominated", "flavor": world.flavor_name(flavor.0),
            "resource": world.resource_name(*resource),
        }),
        Reason::NoPlace => json!({ "code": "no_place" }),
    }
}

fn sorted(mut values: Vec<Value>) -> Value {
    values.sort_by_key(Value::to_string);
    Value::Array(values)
}

fn shown(assignment: &Assignment, names: &[String], world: &World, words: &Words) -> Value {
    let (mut sets, mut reasons) = (Map::new(), Map::new());
    for (set, name) in assignment.pod_sets.iter().zip(names) {
        let resources = set.resources.iter().map(|one| {
            let row = json!({
                "flavor": world.flavor_name(one.flavor.0),
                "mode": mode_name(one.mode),
                "lastTriedFlavorIndex": one.stopped_at.map_or(-1, i64::from),
            });
            (world.resource_name(one.resource).to_owned(), row)
        });
        sets.insert(name.clone(), Value::Object(resources.collect()));
        if !set.reasons.is_empty() {
            let parts = set.reasons.iter().map(|reason| reason_parts(reason, world, words)).collect();
            reasons.insert(name.clone(), sorted(parts));
        }
    }
    json!({
        "mode": mode_name(assignment.mode),
        "borrowingLevel": assignment.level,
        "podSets": sets,
        "reasons": reasons,
    })
}

// The same form, with the sentences taken apart.
fn wanted(case: &Value) -> Value {
    let expected = maybe(case, "expected").cloned().unwrap_or_default();
    let reasons = maybe(&expected, "reasons").and_then(Value::as_object).into_iter().flatten();
    let parts = |list: &Value| {
        let sentences = list.as_array().into_iter().flatten().filter_map(Value::as_str);
        sorted(sentences.map(sentence::parts).collect())
    };
    let reasons: Map<String, Value> = reasons.map(|(name, list)| (name.clone(), parts(list))).collect();
    let field = |name: &str| maybe(&expected, name).cloned().unwrap_or_else(|| json!({}));
    json!({
        "mode": field("mode"),
        "borrowingLevel": number(&expected, "borrowingLevel").unwrap_or(0),
        "podSets": field("podSets"),
        "reasons": reasons,
    })
}

/// Assigns flavors to the pending workload of the case.
pub fn flavor_assignment(case: &Value) -> Result<Played, String> {
    let world = World::read(case)?;
    let mut usage = world.usage(case)?;
    let mut words = Words::default();
    let catalog = catalog(case, &world, &mut words);
    let pending = maybe(case, "pending").ok_or("nothing pending")?;
    let name = text(pending, "clusterQueue").ok_or("a workload without a queue")?;
    let described = items(case, "clusterQueues").iter().find(|queue| text(queue, "name") == Some(name));
    let described = described.ok_or("a queue that is not described")?;
    let offer = offer(described, &world)?;
    let node = world.queue(name)?;
    let policies = policies(&world, items(case, "clusterQueues"))?;
    let rules = PreemptionRules::kueue(fair_strategies(case)?);
    let (sets, names) = pod_sets(pending, &world, &mut words)?;
    let ignore = text(case, "quotaCheckStrategy") == Some("IgnoreUndeclared");
    let assigner = Assigner {
        tree: &world.tree,
        queue: node,
        offer: &offer,
        catalog: &catalog,
        pods: world.resource("pods"),
        undeclared: if ignore { Undeclared::Ignore } else { Undeclared::Block },
        preempts_while_borrowing: preempts_while_borrowing(&policies[node.0 as usize], &rules),
    };
    let request = Request { pod_sets: &sets, counts: None, progress: None, only: None };
    let assignment = assigner.assign(&mut usage, &mut told(case, &world)?, request);
    Ok(Played { want: wanted(case), got: shown(&assignment, &names, &world, &words) })
}
