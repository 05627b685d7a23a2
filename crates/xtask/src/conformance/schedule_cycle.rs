//! The player of whole cycles: what waits and what runs, one cycle, and what came of each workload.

use super::{
    Played,
    offers::{Words, catalog, offer, pod_sets},
    preemption::{fair_strategies, policies, reason_name, running},
    read::{fact, items, maybe, moment, number, text},
    world::World,
};
use govern::{
    cycle::{
        AnyFloor, Decision, Estate, Profile, Scheduler, Stop, Verdict, Why,
        book::{Bar, Pending, PendingIx, Strategy, Where},
    },
    flavors::{Assignment, Blocked, Offer, Undeclared},
    order::{Order, Waiting},
    preempt::PreemptionRules,
    workload::{Workload, WorkloadIx},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

// A case and the names of what is in it.
struct Stage {
    scheduler: Scheduler,
    queues: Vec<String>,
    flavors: Vec<String>,
    resources: Vec<String>,
    running: BTreeMap<WorkloadIx, String>,
    evicting: Vec<String>,
    // Name and names of pod sets.
    waiting: BTreeMap<PendingIx, (String, Vec<String>)>,
}

fn profile(case: &Value) -> Result<Profile, String> {
    let mut profile = Profile::kueue(PreemptionRules::kueue(fair_strategies(case)?));
    profile.partial_admission = fact(case, "partialAdmission", true);
    if text(case, "quotaCheckStrategy") == Some("IgnoreUndeclared") {
        profile.undeclared = Undeclared::Ignore;
    }
    Ok(profile)
}

fn bar(workload: &Value) -> Option<Bar> {
    let failed = |check: &Value| matches!(text(check, "state"), Some("Retry" | "Rejected"));
    if items(workload, "admissionChecks").iter().any(failed) {
        return Some(Bar::FailedChecks);
    }
    (!fact(workload, "namespaceAllowed", true)).then_some(Bar::NotAllowedHere)
}

fn stage(case: &Value) -> Result<Stage, String> {
    let world = World::read(case)?;
    let mut words = Words::default();
    let catalog = catalog(case, &world, &mut words);
    let described = items(case, "clusterQueues");
    let mut offers = vec![Offer::default(); world.names.len()];
    for queue in described {
        offers[world.queue(text(queue, "name").unwrap_or(""))?.0 as usize] = offer(queue, &world)?;
    }
    let (runs, names) = running(&world, items(case, "running"))?;
    let policies = policies(&world, described)?;
    let pods = world.resource("pods");
    let estate = Estate { tree: world.tree.clone(), shares: world.shares.clone(), catalog, offers, policies, pods };
    let mut scheduler = Scheduler::new(estate, profile(case)?);
    for queue in described {
        let node = world.queue(text(queue, "name").unwrap_or(""))?;
        let strict = text(queue, "queueingStrategy") == Some("StrictFIFO");
        let strategy = if strict { Strategy::Strict } else { Strategy::BestEffort };
        scheduler.set_queue(node, strategy, Order::PriorityThenAge);
        let stopped = matches!(text(queue, "stopPolicy"), Some("Hold" | "HoldAndDrain"));
        if stopped || !fact(queue, "active", true) {
            scheduler.set_stop(node, Stop::Hold);
        }
    }
    let mut started = BTreeMap::new();
    let mut evicting = vec![];
    for (place, workload) in runs.iter() {
        let name = names.get(&place).cloned().unwrap_or_default();
        if workload.evicting {
            evicting.push(name.clone());
        }
        started.insert(scheduler.start(Workload::clone(workload)), name);
    }
    let waiting = submit(case, &world, &mut words, &mut scheduler)?;
    let World { names: queues, flavors, resources, .. } = world;
    Ok(Stage { scheduler, queues, flavors, resources, running: started, evicting, waiting })
}

fn submit(
    case: &Value,
    world: &World,
    words: &mut Words,
    scheduler: &mut Scheduler,
) -> Result<BTreeMap<PendingIx, (String, Vec<String>)>, String> {
    let mut pending: Vec<&Value> = items(case, "pending").iter().collect();
    pending.sort_by_key(|workload| text(workload, "name").unwrap_or(""));
    let mut all = BTreeMap::new();
    for (workload, identity) in pending.into_iter().zip(0..) {
        // A workload whose queue does not exist waits for the queue, not in it.
        let Some(queue) = text(workload, "clusterQueue").and_then(|name| world.queue(name).ok()) else { continue };
        let (sets, names) = pod_sets(workload, world, words)?;
        let shape = scheduler.shape(&sets);
        let waiting = Waiting {
            local_usage: 0,
            priority: number(workload, "priority").unwrap_or(0),
            queued_at: moment(workload, "createdAt"),
            identity,
        };
        let place = scheduler.submit(Pending {
            bar: bar(workload),
            may_not_preempt: !items(workload, "preemptionGates").is_empty(),
            ..Pending::new(queue, waiting, shape)
        });
        all.insert(place, (text(workload, "name").unwrap_or("").to_owned(), names));
    }
    Ok(all)
}

const fn why_name(why: Why) -> &'static str {
    match why {
        Why::Blocked(Blocked::NoMatchingFlavor) => "NoMatchingFlavor",
        Why::Blocked(Blocked::ExceedsMaxQuota) => "ExceedsMaxQuota",
        Why::Blocked(Blocked::WaitingForQuota) => "WaitingForQuota",
        Why::Blocked(Blocked::NoPlace) => "TopologyPlacementFailed",
        Why::WaitingForPreempted => "WaitingForPreemptedWorkloads",
        Why::Misconfigured => "Misconfigured",
        Why::PendingEvaluation => "PendingEvaluation",
        Why::Gated => "AdmissionGated",
        // Our own profile says these; Kueue's does not.
        Why::Reserved { .. } => "Reserved",
        Why::OverBudget { .. } => "OverBudget",
    }
}

impl Stage {
    fn name(&self, pending: PendingIx) -> &str {
        self.waiting.get(&pending).map_or("", |(name, _)| name)
    }

    fn admission(&self, pending: PendingIx, assignment: &Assignment) -> Value {
        let names = self.waiting.get(&pending).map_or(&[][..], |(_, names)| names);
        let sets = names.iter().zip(&assignment.pod_sets).map(|(name, set)| {
            let rows = set.resources.iter().map(|one| {
                let flavor = &self.flavors[one.flavor.0 as usize];
                let row = json!({ "flavor": flavor, "amount": one.amount.units() });
                (self.resources[one.resource.0 as usize].clone(), row)
            });
            (name.clone(), json!({ "count": set.count, "assignments": Value::Object(rows.collect()) }))
        });
        Value::Object(sets.collect())
    }

    fn shown(&self, decisions: &[Decision]) -> Value {
        let (mut admitted, mut preempted, mut why) = (vec![], BTreeMap::new(), Map::new());
        for decision in decisions {
            let name = self.name(decision.pending);
            match &decision.verdict {
                Verdict::Admitted { assignment, .. } => admitted.push(json!({
                    "workload": name,
                    "clusterQueue": self.queues[decision.queue.0 as usize],
                    "podSets": self.admission(decision.pending, assignment),
                })),
                Verdict::Preempting { victims, .. } => {
                    for victim in victims {
                        let victim_name = self.running.get(&victim.workload).cloned().unwrap_or_default();
                        if !self.evicting.contains(&victim_name) {
                            preempted.insert(victim_name, reason_name(&victim.reason));
                        }
                    }
                    why.insert(name.to_owned(), json!(why_name(Why::WaitingForPreempted)));
                }
                Verdict::Waiting { why: reason, .. } => drop(why.insert(name.to_owned(), json!(why_name(*reason)))),
            }
        }
        let preempted: Vec<Value> =
            preempted.into_iter().map(|(name, reason)| json!({ "name": name, "reason": reason })).collect();
        json!({
            "admitted": by_name(admitted, "workload"),
            "preempted": preempted,
            "stillQueuedActive": self.lines(Where::Active),
            "inadmissible": self.lines(Where::Parked),
            "notAdmittedReason": why,
        })
    }

    fn lines(&self, at: Where) -> Value {
        let mut lines = Map::new();
        for (node, queue) in self.scheduler.estate().tree.nodes().zip(&self.queues) {
            let here = self.scheduler.book().line_up(node).into_iter().filter(|(_, place)| *place == at);
            let mut names: Vec<&str> = here.map(|(pending, _)| self.name(pending)).collect();
            names.sort_unstable();
            if !names.is_empty() {
                lines.insert(queue.clone(), json!(names));
            }
        }
        Value::Object(lines)
    }
}

fn by_name(mut list: Vec<Value>, field: &str) -> Value {
    list.sort_by_key(|entry| text(entry, field).unwrap_or("").to_owned());
    Value::Array(list)
}

// The same form, with every list in the order of names.
fn wanted(case: &Value) -> Value {
    let expected = maybe(case, "expected").cloned().unwrap_or_default();
    let list = |field: &str, by: &str| by_name(items(&expected, field).to_vec(), by);
    let lines = |field: &str| {
        let lines = maybe(&expected, field).and_then(Value::as_object).into_iter().flatten();
        let sorted = lines.map(|(queue, names)| {
            let mut names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            names.sort_unstable();
            (queue.clone(), json!(names))
        });
        Value::Object(sorted.filter(|(_, names)| names.as_array().is_some_and(|names| !names.is_empty())).collect())
    };
    json!({
        "admitted": list("admitted", "workload"),
        "preempted": list("preempted", "name"),
        "stillQueuedActive": lines("stillQueuedActive"),
        "inadmissible": lines("inadmissible"),
        "notAdmittedReason": maybe(&expected, "notAdmittedReason").cloned().unwrap_or_else(|| json!({})),
    })
}

/// Runs one cycle.
pub fn schedule_cycle(case: &Value) -> Result<Played, String> {
    let mut stage = stage(case)?;
    let decisions = stage.scheduler.step(0, &mut AnyFloor);
    Ok(Played { want: wanted(case), got: stage.shown(&decisions) })
}
