//! What the engine says about workloads, with names in place of numbers: for those who wait, and for those who have to go.

use api::queue::{
    ExplanationView, FlavorTriedView, HolderView, PromiseKind, QueueUseView, QuotaUseView, WayOutKind, WayOutView,
};
use govern::{
    cycle::{Scheduler, Verdict, book::PendingIx},
    explain::{self, Explanation, Promise, Standing, Unblock, sentence},
    flavors::{Attempt, mode::Reach},
    preempt::Reason,
    tree::{FlavorResource, NodeIx},
    workload::WorkloadIx,
};
use model::{ProjectId, Timestamp, WorkloadId, governance::Governance, time::MICROS_PER_SECOND};
use serde_json::{Value, json};
use store::workloads::WorkloadRow;

use super::{Known, Names};

fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds.saturating_mul(MICROS_PER_SECOND))
}

impl Known {
    // Those of other projects are not named: who they are is nobody's matter.
    fn running_id(&self, workload: WorkloadIx, to: Option<&ProjectId>) -> Option<WorkloadId> {
        let row = self.holders.get(&workload).map(|holder| &holder.row)?;
        (Some(&row.project_id) == to).then(|| row.id.clone())
    }
    fn waiting_id(&self, pending: PendingIx, to: Option<&ProjectId>) -> Option<WorkloadId> {
        let row = self.waiters.get(&pending).map(|waiter| &waiter.row)?;
        (Some(&row.project_id) == to).then(|| row.id.clone())
    }
}

impl sentence::Names for Known {
    fn node(&self, node: NodeIx) -> String {
        self.names.node(node).to_owned()
    }
    fn thing(&self, what: FlavorResource) -> String {
        let (flavor, resource) = self.names.counted(what);
        format!("{resource} {flavor}")
    }
    // Whose it is is nobody's matter but its owner's.
    fn workload(&self, _: WorkloadIx) -> String {
        "a workload that runs".to_owned()
    }
    fn pending(&self, _: PendingIx) -> String {
        "the workload it is kept for".to_owned()
    }
    fn identity(&self, _: u64) -> String {
        "a workload".to_owned()
    }
    fn time(&self, seconds: i64) -> String {
        moment(seconds).to_string()
    }
}

/// Why a workload waits, given the last verdict about it.
pub(super) fn pending(
    scheduler: &Scheduler,
    known: &Known,
    place: PendingIx,
    last: Option<&Verdict>,
    start: Option<i64>,
) -> Option<ExplanationView> {
    let to = known.waiters.get(&place).map(|waiter| &waiter.row.project_id);
    let found = explain::pending(scheduler, place, last, start)?;
    Some(ExplanationView { tried: tried(known, last), ..view(known, &found, to) })
}

/// Adds flavors that were tried before, as far as they were not tried again.
pub(super) fn tried_before(wait: &mut ExplanationView, before: Vec<FlavorTriedView>) {
    let mut all: Vec<FlavorTriedView> = vec![];
    let again = std::mem::take(&mut wait.tried);
    let earlier = before.into_iter().filter(|one| again.iter().all(|other| other.flavor != one.flavor));
    for one in earlier.chain(again.iter().cloned()) {
        if all.iter().all(|known| known.flavor != one.flavor) {
            all.push(one);
        }
    }
    wait.tried = all;
}

/// The flavors that a verdict looked at.
pub(super) fn tried(known: &Known, last: Option<&Verdict>) -> Vec<FlavorTriedView> {
    let assignment = match last {
        Some(Verdict::Admitted { assignment, .. } | Verdict::Preempting { assignment, .. }) => Some(assignment),
        Some(Verdict::Waiting { assignment, .. }) => assignment.as_ref(),
        None => None,
    };
    let attempts = assignment.into_iter().flat_map(|it| &it.pod_sets).flat_map(|set| &set.attempts);
    let named = |attempt: &Attempt| {
        let reach = match attempt.standing.reach {
            Reach::NoFit => "no_fit",
            Reach::NoCandidates => "no_candidates",
            Reach::Preempt => "preempt",
            Reach::Reclaim => "reclaim",
            Reach::Fit => "fit",
        };
        Some(FlavorTriedView { flavor: known.names.flavor(attempt.flavor)?.slug.to_string(), reach: reach.to_owned() })
    };
    attempts.filter_map(named).collect()
}

/// What a workload is told whose project has as many GPUs as it may have.
pub(super) fn capped(row: &WorkloadRow, again: Timestamp) -> ExplanationView {
    let time =
        WayOutView { kind: WayOutKind::TimePasses, workload_id: None, node: None, amount: None, at: Some(again) };
    ExplanationView {
        code: "project_gpu_cap".to_owned(),
        sentence: "Its project has as many GPUs as it may have; it is tried again once some are given back.".to_owned(),
        queue: row.queue.to_string(),
        position: None,
        of: None,
        blocked_at: None,
        flavor: None,
        resource: None,
        tried: vec![],
        asked: row.gpus(),
        available: 0,
        shortfall: 0,
        holders: vec![],
        unblocks: vec![time],
        promise: None,
        estimated_start_at: None,
    }
}

/// How a workload that holds quota stands.
pub(super) fn running(scheduler: &Scheduler, known: &Known, place: WorkloadIx) -> Option<ExplanationView> {
    explain::running(scheduler, place, None).map(|found| view(known, &found, None))
}

fn view(known: &Known, found: &Explanation, to: Option<&ProjectId>) -> ExplanationView {
    let names = &known.names;
    let position = match found.standing {
        Standing::Queued { position, of } => Some((i64::from(position), i64::from(of))),
        _ => None,
    };
    let thing = found.what.map(|what| names.counted(what));
    let holder = |holder: &explain::Holder| HolderView {
        queue: names.node(holder.queue).to_owned(),
        holds: holder.holds.units(),
        borrowed: holder.borrowed.units(),
    };
    ExplanationView {
        code: found.code.text().to_owned(),
        sentence: sentence::sentence(found, known),
        queue: names.node(found.queue).to_owned(),
        position: position.map(|(at, _)| at),
        of: position.map(|(_, of)| of),
        blocked_at: found.blocked_at.map(|node| names.node(node).to_owned()),
        flavor: thing.map(|(flavor, _)| flavor.to_owned()),
        resource: thing.map(|(_, resource)| resource.to_owned()),
        tried: vec![],
        asked: found.asked.units(),
        available: found.available.units(),
        shortfall: found.shortfall.units(),
        holders: found.holders.iter().map(holder).collect(),
        unblocks: found.unblocks.iter().map(|one| unblock(known, *one, to)).collect(),
        promise: found.promise.map(|promise| match promise {
            Promise::WithinNominal => PromiseKind::WithinNominal,
            Promise::Borrowing { .. } => PromiseKind::Borrowing,
            Promise::ZeroQuota { .. } => PromiseKind::ZeroQuota,
        }),
        estimated_start_at: found.estimated_start.map(moment),
    }
}

fn unblock(known: &Known, one: Unblock, to: Option<&ProjectId>) -> WayOutView {
    let bare = |kind| WayOutView { kind, workload_id: None, node: None, amount: None, at: None };
    let node = |node| Some(known.names.node(node).to_owned());
    match one {
        Unblock::Ends { workload, at } => WayOutView {
            workload_id: known.running_id(workload, to),
            at: at.map(moment),
            ..bare(WayOutKind::WorkloadEnds)
        },
        Unblock::Released { queue, amount } => {
            WayOutView { node: node(queue), amount: Some(amount.units()), ..bare(WayOutKind::QueueReleases) }
        }
        Unblock::QuotaRaised { node: at, by } => {
            WayOutView { node: node(at), amount: Some(by.units()), ..bare(WayOutKind::QuotaRaised) }
        }
        Unblock::Starts { pending, at } => WayOutView {
            workload_id: known.waiting_id(pending, to),
            at: at.map(moment),
            ..bare(WayOutKind::EarlierStarts)
        },
        Unblock::Gate => bare(WayOutKind::MayPreempt),
        Unblock::Check => bare(WayOutKind::CheckPasses),
        Unblock::Release => bare(WayOutKind::Released),
        Unblock::QueueResumed { queue } => WayOutView { node: node(queue), ..bare(WayOutKind::QueueResumed) },
        Unblock::BackOff { until } => WayOutView { at: Some(moment(until)), ..bare(WayOutKind::TimePasses) },
        Unblock::RequestChanged => bare(WayOutKind::RequestChanged),
        Unblock::Turn => bare(WayOutKind::NextTurn),
    }
}

/// The numbers that made a workload the one that has to go.
pub(super) fn numbers(names: &Names, reason: &Reason) -> Value {
    match reason {
        Reason::InQueue { priority, taker_priority } => json!({ "priority": priority, "by_priority": taker_priority }),
        Reason::CohortReclaim { over, .. } => over_of(names, over),
        Reason::CohortReclaimWhileBorrowing { over, priority, taker_priority, .. } => {
            let mut told = over_of(names, over);
            told["priority"] = json!(priority);
            told["by_priority"] = json!(taker_priority);
            told
        }
        Reason::CohortFairShare { taker, giver, giver_after, .. } => json!({
            "node": names.node(giver.0),
            "share_per_mille": giver.1.per_mille_ceil(),
            "share_after_per_mille": giver_after.per_mille_ceil(),
            "by_node": names.node(taker.0),
            "by_share_per_mille": taker.1.per_mille_ceil(),
        }),
    }
}

fn over_of(names: &Names, over: &govern::preempt::Over) -> Value {
    let (flavor, resource) = names.counted(over.what);
    json!({
        "node": names.node(over.node),
        "flavor": flavor,
        "resource": resource,
        "used": over.used.units(),
        "own": over.own.units(),
    })
}

/// Every queue and cohort as it stands.
pub(super) fn uses(scheduler: &Scheduler, known: &Known, governance: &Governance) -> Vec<QueueUseView> {
    let tree = &scheduler.estate().tree;
    let all = tree.nodes().filter_map(|node| {
        let slug = known.names.node(node).parse().ok()?;
        let is_queue = tree.is_queue(node);
        let waiting = if is_queue { known.waiters.values().filter(|it| it.row.queue == slug).count() } else { 0 };
        let share = scheduler.estate().shares.of(tree, scheduler.usage(), node);
        Some(QueueUseView {
            is_queue,
            parent: tree.parent(node).and_then(|parent| known.names.node(parent).parse().ok()),
            share_per_mille: share.per_mille_ceil(),
            running: count(scheduler.running().of_queue(node).len()),
            waiting: count(waiting),
            quotas: quotas(scheduler, known, governance, node),
            slug,
        })
    });
    all.collect()
}

fn count(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

// What a node has quota of, or uses.
fn quotas(scheduler: &Scheduler, known: &Known, governance: &Governance, node: NodeIx) -> Vec<QuotaUseView> {
    let (tree, usage) = (&scheduler.estate().tree, scheduler.usage());
    let named = |flavor: &str, resource: &str| {
        let name = known.names.node(node);
        let cohorts = governance.cohorts.iter().filter(|it| it.slug.as_str() == name).map(|it| &it.resource_groups);
        let queues = governance.cluster_queues.iter().filter(|it| it.slug.as_str() == name);
        let groups = cohorts.chain(queues.map(|it| &it.resource_groups)).flatten();
        let mut flavors = groups.flat_map(|group| &group.flavors).filter(|it| it.flavor.as_str() == flavor);
        flavors.any(|it| it.quotas.iter().any(|quota| quota.resource.as_str() == resource))
    };
    let mut all = vec![];
    for what in (0..tree.width()).map(FlavorResource) {
        let (flavor, resource) = known.names.counted(what);
        let used = usage.of(node, what);
        if !named(flavor, resource) && used.units() == 0 {
            continue;
        }
        let own = tree.subtree(node, what);
        let borrowed = used.minus(own).or_zero();
        // What the root has less than its own is what others use of it, as far as they do.
        let available = tree.available(usage, node, what).or_zero();
        let lent = own.minus(used).or_zero().minus(available).or_zero();
        all.push(QuotaUseView {
            flavor: flavor.to_owned(),
            resource: resource.to_owned(),
            nominal: tree.quota(node, what).nominal.units(),
            used: used.units(),
            borrowed: borrowed.units(),
            lent: lent.units(),
            available: available.units(),
        });
    }
    all
}
