//! Player of the search for victims: who has to give way to one workload that waits, and why.

use super::{
    Played,
    read::{fact, items, maybe, moment, number, text},
    world::World,
};
use govern::{
    preempt::{
        AnyPlace, Asking, FairStrategies, PreemptionRules, QueuePolicy, Reason, Scene, Takes, TakesWhileBorrowing,
        search,
    },
    tree::FlavorResource,
    workload::{Amounts, Running, Terms, Workload, WorkloadIx},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Which victims are chosen for the workload that waits.
pub fn preemption_targets(case: &Value) -> Result<Played, String> {
    let world = World::read(case)?;
    let (running, names) = running(&world, items(case, "running"))?;
    let mut usage = world.tree.unused();
    running.iter().for_each(|(_, workload)| workload.charge(&world.tree, &mut usage));
    let pending = maybe(case, "pending").ok_or("nothing is pending")?;
    let requests = items(pending, "requests");
    let request = summed(world.amounts(requests)?);
    let contested: Vec<Value> =
        requests.iter().filter(|entry| text(entry, "mode") == Some("Preempt")).cloned().collect();
    let mut contested: Vec<FlavorResource> = world.amounts(&contested)?.into_iter().map(|(what, _)| what).collect();
    contested.sort_unstable();
    contested.dedup();
    let asking = Asking {
        queue: world.queue(text(pending, "clusterQueue").unwrap_or(""))?,
        priority: number(pending, "priority").unwrap_or(0),
        queued_at: moment(pending, "createdAt"),
        request: &request,
        contested: &contested,
        displaced_by: None,
    };
    let policies = policies(&world, items(case, "clusterQueues"))?;
    let rules = PreemptionRules::kueue(fair_strategies(case)?);
    let scene = Scene {
        tree: &world.tree,
        shares: &world.shares,
        usage: &mut usage,
        running: &running,
        policies: &policies,
        rules: &rules,
        now: 0,
    };
    let got = outcome(scene, &asking, &running, &names)?;
    let mut want = maybe(case, "expected").cloned().unwrap_or_default();
    if let Some(Value::Array(list)) = want.get_mut("preempted") {
        list.sort_by_key(|victim| text(victim, "name").unwrap_or("").to_owned());
    }
    Ok(Played { want, got })
}

fn outcome(
    mut scene: Scene<'_>,
    asking: &Asking<'_>,
    running: &Running,
    names: &BTreeMap<WorkloadIx, String>,
) -> Result<Value, String> {
    let before = scene.usage.clone();
    let found = search(&mut scene, asking, &mut AnyPlace);
    if *scene.usage != before {
        return Err("the search left another usage than it found".to_owned());
    }
    let victims = found.map_or_else(|_| vec![], |plan| plan.victims);
    let mut rows = BTreeMap::new();
    for victim in &victims {
        let name = names.get(&victim.workload).ok_or("a victim without a name")?;
        let evicting = running.get(victim.workload).is_some_and(|workload| workload.evicting);
        let row = json!({ "name": name, "reason": reason_name(&victim.reason), "alreadyEvicted": evicting });
        rows.insert(name, row);
    }
    let outcome = if victims.is_empty() { "no-targets" } else { "preempt" };
    Ok(json!({ "outcome": outcome, "preempted": rows.into_values().collect::<Vec<_>>() }))
}

/// The word that the cases have for a reason.
pub fn reason_name(reason: &Reason) -> &'static str {
    match reason {
        Reason::InQueue { .. } => "InClusterQueue",
        Reason::CohortReclaim { .. } => "InCohortReclamation",
        Reason::CohortReclaimWhileBorrowing { .. } => "InCohortReclaimWhileBorrowing",
        Reason::CohortFairShare { .. } => "InCohortFairSharing",
    }
}

/// A list of workloads that run, and the names of their places. Identities are in the order of names.
pub fn running(world: &World, list: &[Value]) -> Result<(Running, BTreeMap<WorkloadIx, String>), String> {
    let mut order: Vec<&Value> = list.iter().collect();
    order.sort_by_key(|workload| text(workload, "name").unwrap_or(""));
    let (mut running, mut names) = (Running::new(), BTreeMap::new());
    for (workload, identity) in order.into_iter().zip(0..) {
        let place = running.add(Workload {
            queue: world.queue(text(workload, "clusterQueue").unwrap_or(""))?,
            priority: number(workload, "priority").unwrap_or(0),
            identity,
            queued_at: moment(workload, "createdAt"),
            quota_at: moment(workload, "quotaReservedAt"),
            usage: summed(world.amounts(items(workload, "usage"))?),
            evicting: fact(workload, "alreadyEvicted", false),
            local_usage: 0,
            elastic: None,
            terms: Terms::default(),
        });
        names.insert(place, text(workload, "name").unwrap_or("").to_owned());
    }
    Ok((running, names))
}

/// Each pair once, with all that is asked of it.
pub fn summed(amounts: Amounts) -> Amounts {
    let mut sums = BTreeMap::new();
    for (what, much) in amounts {
        sums.entry(what).and_modify(|sum: &mut govern::amount::Amount| *sum = sum.plus(much)).or_insert(much);
    }
    sums.into_iter().collect()
}

/// What each queue may take, by node. An absent policy is never; `Unset` is one that nobody set.
pub fn policies(world: &World, queues: &[Value]) -> Result<Vec<QueuePolicy>, String> {
    let mut policies = vec![QueuePolicy::default(); world.names.len()];
    for queue in queues {
        let node = world.queue(text(queue, "name").unwrap_or(""))?;
        let Some(policy) = maybe(queue, "preemption") else { continue };
        policies[node.0 as usize] = QueuePolicy {
            within_queue: takes(text(policy, "withinClusterQueue"))?,
            reclaim: takes(text(policy, "reclaimWithinCohort"))?,
            while_borrowing: maybe(policy, "borrowWithinCohort")
                .filter(|limit| text(limit, "policy").unwrap_or("Never") != "Never")
                .map(|limit| TakesWhileBorrowing { priority_max: number(limit, "maxPriorityThreshold") }),
        };
    }
    Ok(policies)
}

fn takes(policy: Option<&str>) -> Result<Takes, String> {
    Ok(match policy {
        None | Some("Never") => Takes::Never,
        Some("Unset" | "") => Takes::Unset,
        Some("LowerPriority") => Takes::LowerPriority,
        Some("LowerOrNewerEqualPriority") => Takes::LowerOrNewerEqualPriority,
        Some("Any") => Takes::Any,
        Some(other) => return Err(format!("no policy {other}")),
    })
}

/// How fair shares are used, where they are.
pub fn fair_strategies(case: &Value) -> Result<Option<FairStrategies>, String> {
    if !fact(case, "fairSharing", false) {
        return Ok(None);
    }
    let names: Vec<&str> = items(case, "fairPreemptionStrategies").iter().filter_map(Value::as_str).collect();
    Ok(Some(match names.as_slice() {
        [] | ["LessThanOrEqualToFinalShare", "LessThanInitialShare"] => FairStrategies::Both,
        ["LessThanOrEqualToFinalShare"] => FairStrategies::FinalShare,
        ["LessThanInitialShare"] => FairStrategies::InitialShare,
        other => return Err(format!("no such list of strategies: {other:?}")),
    }))
}
