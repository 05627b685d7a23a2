//! Plays `topology_placement`: nodes with labels and pod sets of one workload in, how many pods go to which domain out, or why
//! they cannot be placed. The reason of a case is a sentence; what it states (numbers, levels, resources, taints) is read out
//! of it and compared with what the engine gives as data.

use super::Played;
use govern::amount::Amount;
use govern::domains::{
    Compare, Domains, DomainsSpec, Effect, Eligible, Excluded, Layer, LevelIx, LevelOf, Needs, Node, PodSet, Refusal,
    Requirement, ResourceIx, SetsPlaced, Spread, Taint, Term, Tolerate, Toleration, Unit, Weighted, place_all,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const HOSTNAME: &str = "kubernetes.io/hostname";
const PODS: &str = "pods";

/// Gives one case to the engine.
pub fn play(case: &Value) -> Result<Played, String> {
    let names = Names::of(case);
    let levels: Vec<String> = words(&case["levels"]);
    let spec = DomainsSpec {
        leaves_are_nodes: levels.last().is_some_and(|level| level == HOSTNAME),
        levels,
        node_labels: pairs(&case["flavorNodeLabels"]),
        tolerations: tolerations(&case["flavorTolerations"])?,
        resources: u32::try_from(names.0.len()).map_err(|_| "too many resources".to_owned())?,
        pods: Some(names.ix(PODS)?),
    };
    let others = &case["nonTasPodUsagePerNode"];
    let nodes = list(&case["nodes"]).map(|spec| node(spec, others, &names)).collect::<Result<Vec<Node>, String>>()?;
    let domains = Domains::build(&spec, &nodes).map_err(|fault| fault.to_string())?;
    let mut groups = vec![];
    let asked = list(&case["podSets"])
        .map(|set| Asked::read(set, &domains, &names, &mut groups))
        .collect::<Result<Vec<Asked>, String>>()?;
    let sets: Vec<PodSet<'_>> = asked.iter().map(Asked::set).collect();
    let balanced = case["balancedPlacement"].as_bool().unwrap_or(false);
    let SetsPlaced { placed, refused } = place_all(&domains, &mut domains.unused(), &sets, balanced);

    let (mut want, mut got) = (vec![], vec![]);
    for expected in list(&case["expected"]) {
        let set = list(&case["podSets"]).position(|set| text(&set["name"]) == text(&expected["podSet"]));
        let set = set.ok_or_else(|| format!("no pod set {}", expected["podSet"]))?;
        let stated = expected["reason"].as_str().map(stated);
        let refusal = refused.as_ref().filter(|refused| refused.sets.contains(&set)).map(|refused| &refused.why);
        let reason = refusal.map(|refusal| facts(refusal, &domains, &names));
        // A sentence of a kind that is not known here says only that there is a reason.
        let reason = if stated == Some(Value::Null) { reason.map(|_| Value::Null) } else { reason };
        let places = placed[set].as_ref().map(|placement| {
            let place = |(leaf, pods): &(_, u32)| {
                let path = domains.path(*leaf);
                let values = if spec.leaves_are_nodes { &path[path.len() - 1..] } else { &path[..] };
                json!({ "values": values, "pods": pods })
            };
            placement.0.iter().map(place).collect::<Vec<Value>>()
        });
        want.push(json!({ "podSet": expected["podSet"], "domains": expected["domains"], "reason": stated }));
        got.push(json!({ "podSet": expected["podSet"], "domains": places, "reason": reason }));
    }
    Ok(Played { want: want.into(), got: got.into() })
}

/// The resources of a case, in the order of their names.
struct Names(Vec<String>);

impl Names {
    fn of(case: &Value) -> Self {
        let nodes = list(&case["nodes"]).map(|node| &node["allocatable"]);
        let sets = list(&case["podSets"]).map(|set| &set["requestsPerPod"]);
        let others = case["nonTasPodUsagePerNode"].as_object().into_iter().flat_map(Map::values);
        let amounts = nodes.chain(sets).chain(others).filter_map(Value::as_object);
        let mut names: BTreeSet<String> = amounts.flat_map(|amounts| amounts.keys().cloned()).collect();
        names.insert(PODS.to_owned());
        Self(names.into_iter().collect())
    }

    fn ix(&self, name: &str) -> Result<ResourceIx, String> {
        let at = self.0.iter().position(|other| other == name).and_then(|at| u32::try_from(at).ok());
        at.map(ResourceIx).ok_or_else(|| format!("no resource {name}"))
    }

    fn amounts(&self, amounts: &Value) -> Result<Vec<(ResourceIx, Amount)>, String> {
        let amounts = amounts.as_object().into_iter().flatten();
        let amount = |(name, amount): (&String, &Value)| {
            let amount = amount.as_i64().ok_or_else(|| format!("{name}: {amount} is no amount"))?;
            Ok((self.ix(name)?, Amount::new(amount)))
        };
        amounts.map(amount).collect()
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn words(value: &Value) -> Vec<String> {
    list(value).map(|word| text(word).to_owned()).collect()
}

fn pairs(value: &Value) -> Vec<(String, String)> {
    let pairs = value.as_object().into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), text(value).to_owned())).collect()
}

fn number(value: &Value) -> Result<u32, String> {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).ok_or_else(|| format!("{value} is no count"))
}

fn effect(value: &Value) -> Result<Option<Effect>, String> {
    match text(value) {
        "" => Ok(None),
        "NoSchedule" => Ok(Some(Effect::NoSchedule)),
        "PreferNoSchedule" => Ok(Some(Effect::PreferNoSchedule)),
        "NoExecute" => Ok(Some(Effect::NoExecute)),
        other => Err(format!("no effect {other}")),
    }
}

fn node(spec: &Value, others: &Value, names: &Names) -> Result<Node, String> {
    let taint = |taint: &Value| {
        let effect = effect(&taint["effect"])?.unwrap_or(Effect::NoSchedule);
        Ok(Taint { key: text(&taint["key"]).to_owned(), value: text(&taint["value"]).to_owned(), effect })
    };
    let closed = spec["unschedulable"].as_bool().unwrap_or(false) || !spec["schedulable"].as_bool().unwrap_or(true);
    Ok(Node {
        labels: pairs(&spec["labels"]).into_iter().collect(),
        ready: spec["ready"].as_bool().unwrap_or(true) && !closed,
        taints: list(&spec["taints"]).map(taint).collect::<Result<Vec<Taint>, String>>()?,
        capacity: names.amounts(&spec["allocatable"])?,
        others: others.get(text(&spec["name"])).map_or(Ok(vec![]), |taken| names.amounts(taken))?,
    })
}

fn tolerations(value: &Value) -> Result<Vec<Toleration>, String> {
    let toleration = |toleration: &Value| {
        let operator = match text(&toleration["operator"]) {
            "" | "Equal" => Tolerate::Equal,
            "Exists" => Tolerate::Exists,
            "Lt" => Tolerate::Less,
            "Gt" => Tolerate::Greater,
            other => return Err(format!("no operator {other}")),
        };
        let (key, value) = (text(&toleration["key"]).to_owned(), text(&toleration["value"]).to_owned());
        Ok(Toleration { key, operator, value, effect: effect(&toleration["effect"])? })
    };
    list(value).map(toleration).collect()
}

fn term(value: &Value) -> Result<Term, String> {
    let requirement = |requirement: &Value| {
        let operator = match text(&requirement["operator"]) {
            "In" => Compare::In,
            "NotIn" => Compare::NotIn,
            "Exists" => Compare::Exists,
            "DoesNotExist" => Compare::DoesNotExist,
            "Gt" => Compare::Greater,
            "Lt" => Compare::Less,
            other => return Err(format!("no operator {other}")),
        };
        Ok(Requirement { key: text(&requirement["key"]).to_owned(), operator, values: words(&requirement["values"]) })
    };
    Ok(Term(list(value).map(requirement).collect::<Result<Vec<Requirement>, String>>()?))
}

fn needs(set: &Value) -> Result<Needs, String> {
    let terms = &set["affinityTerms"];
    let affinity =
        terms.as_array().map(|_| list(terms).map(term).collect::<Result<Vec<Term>, String>>()).transpose()?;
    let liked = |liked: &Value| {
        let weight = liked["weight"].as_i64().and_then(|weight| i32::try_from(weight).ok()).unwrap_or(1);
        Ok(Weighted { weight, term: term(&liked["term"])? })
    };
    Ok(Needs {
        selector: pairs(&set["nodeSelector"]),
        affinity: affinity.filter(|terms| !terms.is_empty()),
        preferred: list(&set["preferredAffinityTerms"]).map(liked).collect::<Result<Vec<Weighted>, String>>()?,
        tolerations: tolerations(&set["tolerations"])?,
    })
}

/// A pod set, as it was read.
struct Asked {
    per_pod: Vec<(ResourceIx, Amount)>,
    count: u32,
    spread: Spread,
    slices: Vec<Layer>,
    eligible: Eligible,
    group: Option<u32>,
}

impl Asked {
    fn read(set: &Value, domains: &Domains, names: &Names, groups: &mut Vec<String>) -> Result<Self, String> {
        let topology = &set["topology"];
        let level = |name: &str| topology[name].as_str().map(|key| domains.level(key));
        let spread = match (level("required"), level("preferred")) {
            (Some(level), _) => Spread::Required(level),
            (None, Some(level)) => Spread::Preferred(level),
            (None, None) => Spread::Unconstrained,
        };
        let slice = |slice: &Value| {
            let size = slice["size"].as_i64().and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
            Layer { level: domains.level(text(&slice["level"])), size }
        };
        let group = set["group"].as_str().map(|group| {
            let known = groups.iter().position(|known| known == group);
            known.unwrap_or_else(|| {
                groups.push(group.to_owned());
                groups.len() - 1
            })
        });
        Ok(Self {
            per_pod: names.amounts(&set["requestsPerPod"])?,
            count: number(&set["count"])?,
            spread,
            slices: list(&topology["slices"]).map(slice).collect(),
            eligible: domains.eligible(&needs(set)?),
            group: group.and_then(|group| u32::try_from(group).ok()),
        })
    }

    fn set(&self) -> PodSet<'_> {
        let Self { per_pod, count, spread, slices, eligible, group } = self;
        PodSet { per_pod, count: *count, spread: *spread, slices, eligible, group: *group }
    }
}

/// What the engine states.
fn facts(refusal: &Refusal, domains: &Domains, names: &Names) -> Value {
    let level = |level: &LevelIx| domains.levels().get(usize::from(level.0)).cloned().unwrap_or_default();
    match refusal {
        Refusal::NoDomains { level: at } => json!({ "no_domains": level(at) }),
        Refusal::SlicesAbove { slices, pods } => json!({ "slices": level(slices), "above": level(pods) }),
        Refusal::NoSuchLevel { of: LevelOf::Pods } => json!({ "no_level": "pods" }),
        Refusal::NoSuchLevel { of: LevelOf::Slices(0) } => json!({ "no_level": "slices" }),
        Refusal::NoSuchLevel { of: LevelOf::Slices(_) } => json!({ "no_level": "finer slices" }),
        Refusal::SliceWithoutSize { .. } => json!({ "size": null }),
        Refusal::LayerNotFiner { .. } => json!({ "finer": false }),
        Refusal::LayerNotDividing { size, before, .. } => json!({ "size": size, "divides": before }),
        Refusal::DoesNotFit { fits, of, unit, layers, excluded, .. } => {
            let unit = if *unit == Unit::Pods { "pod" } else { "slice" };
            let one = json!([fits, of, unit, null]);
            let each = layers.iter().map(|fit| json!([fit.fits, fit.of, "slice", level(&fit.layer.level)]));
            let fits = if layers.is_empty() { vec![one] } else { each.collect() };
            let (nodes, reasons) = left_out(excluded, names);
            json!({ "fits": fits, "nodes": nodes, "excluded": reasons })
        }
        other => json!({ "other": format!("{other:?}") }),
    }
}

fn left_out(excluded: &Excluded, names: &Names) -> (Value, BTreeSet<String>) {
    let counts = [("nodeSelector", excluded.selector), ("affinity", excluded.affinity)];
    let counts = counts.into_iter().chain([("topologyDomain", excluded.elsewhere)]);
    let mut reasons: BTreeSet<String> =
        counts.filter(|(_, count)| *count > 0).map(|(why, count)| format!("{why}: {count}")).collect();
    for (taint, count) in &excluded.taints {
        let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
        reasons.insert(format!("taint \"{}{value}:{:?}\": {count}", taint.key, taint.effect));
    }
    for (resource, count) in &excluded.resources {
        let name = names.0.get(resource.0 as usize).map_or("", String::as_str);
        reasons.insert(format!("resource \"{name}\": {count}"));
    }
    let nodes = if excluded.is_any() { excluded.leaves.into() } else { Value::Null };
    (nodes, reasons)
}

/// What a sentence of a case states; nothing for a sentence of a kind that is not known.
fn stated(sentence: &str) -> Value {
    let number = |word: &str| word.parse::<u64>().map_or(Value::Null, Value::from);
    if let Some(level) = sentence.strip_prefix("no topology domains at level: ") {
        return json!({ "no_domains": level });
    }
    if let Some(levels) = sentence.strip_prefix("podset slice topology ") {
        let (slices, above) = levels.split_once(" is above the podset topology ").unwrap_or_default();
        return json!({ "slices": slices, "above": above });
    }
    let prefixes = [
        ("no requested topology level for slices: ", json!({ "no_level": "slices" })),
        ("no requested topology level for additional slice layer: ", json!({ "no_level": "finer slices" })),
        ("no requested topology level: ", json!({ "no_level": "pods" })),
        ("slice topology requested, but slice size not provided", json!({ "size": null })),
        ("additional slice layer topology ", json!({ "finer": false })),
    ];
    if let Some((_, facts)) = prefixes.into_iter().find(|(prefix, _)| sentence.starts_with(prefix)) {
        return facts;
    }
    if let Some(sizes) = sentence.strip_prefix("additional slice layer size ") {
        let (size, before) = sizes.split_once(" must evenly divide parent layer size ").unwrap_or_default();
        return json!({ "size": number(size), "divides": number(before) });
    }
    let (fits, nodes) = sentence.split_once(". Total nodes: ").unwrap_or((sentence, ""));
    let (nodes, reasons) = nodes.split_once("; excluded: ").unwrap_or_default();
    let reasons: BTreeSet<&str> = reasons.split(", ").filter(|reason| !reason.is_empty()).collect();
    let words: Vec<&str> = fits.split([' ', '/']).collect();
    let word = |at: usize| words.get(at).copied().unwrap_or("");
    let unit = |word: &str| word.trim_end_matches("(s)").to_owned();
    let fits = if fits.contains("allows to fit only") {
        // topology "x" allows to fit only 3 out of 4 pod(s)
        vec![json!([number(word(6)), number(word(9)), unit(word(10)), null])]
    } else if fits.contains("fit any of") {
        // topology "x" doesn't allow to fit any of 4 pod(s)
        vec![json!([0, number(word(8)), unit(word(9)), null])]
    } else if let Some((_, layers)) = fits.split_once("doesn't allow to fit; ") {
        // 1/2 slice(s) fit on level L; …
        let layer = |layer: &str| {
            let (counts, level) = layer.split_once(" slice(s) fit on level ").unwrap_or_default();
            let (fits, of) = counts.split_once('/').unwrap_or_default();
            json!([number(fits), number(of), "slice", level])
        };
        layers.split("; ").map(layer).collect()
    } else {
        return Value::Null;
    };
    json!({ "fits": fits, "nodes": number(nodes), "excluded": reasons })
}

#[cfg(test)]
mod tests {
    use super::stated;
    use serde_json::json;

    #[test]
    fn what_a_sentence_states_is_read() {
        let sentence = "topology \"t\" allows to fit only 3 out of 8 pod(s). Total nodes: 640; excluded: affinity: 2, \
                        resource \"cpu\": 12, taint \"k:NoSchedule\": 4";
        let excluded = ["affinity: 2", "resource \"cpu\": 12", "taint \"k:NoSchedule\": 4"];
        assert_eq!(stated(sentence), json!({ "fits": [[3, 8, "pod", null]], "nodes": 640, "excluded": excluded }));
        let sentence = "topology \"t\" doesn't allow to fit; 1/2 slice(s) fit on level a; 3/4 slice(s) fit on level b";
        let fits = [json!([1, 2, "slice", "a"]), json!([3, 4, "slice", "b"])];
        assert_eq!(stated(sentence), json!({ "fits": fits, "nodes": null, "excluded": [] }));
        let sentence = "topology \"t\" doesn't allow to fit any of 2 slice(s)";
        assert_eq!(stated(sentence), json!({ "fits": [[0, 2, "slice", null]], "nodes": null, "excluded": [] }));
        assert_eq!(stated("another sentence"), json!(null));
    }
}
