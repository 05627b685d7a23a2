//! An explanation as sentences for people. Everything said here is in the [`Explanation`]; names come from the caller, who
//! keeps them.

use super::{Code, Explanation, Preempted, Promise, Rule, Standing, Unblock};
use crate::{
    cycle::book::PendingIx,
    tree::{FlavorResource, NodeIx},
    workload::WorkloadIx,
};

/// What things are called.
pub trait Names {
    /// A queue or cohort.
    fn node(&self, node: NodeIx) -> String;
    /// A resource in a flavor.
    fn thing(&self, what: FlavorResource) -> String;
    /// A workload that runs.
    fn workload(&self, workload: WorkloadIx) -> String;
    /// A workload that waits.
    fn pending(&self, pending: PendingIx) -> String;
    /// A workload, by its identity.
    fn identity(&self, identity: u64) -> String;
    /// A time in seconds.
    fn time(&self, seconds: i64) -> String;
}

/// The explanation in plain sentences.
#[must_use]
pub fn sentence(explanation: &Explanation, names: &dyn Names) -> String {
    let mut parts = vec![opening(explanation, names)];
    parts.extend(numbers(explanation, names));
    parts.extend(holders(explanation, names));
    parts.extend(explanation.preempted.as_ref().map(|told| told_to_go(told, names)));
    let helps: Vec<String> = explanation.unblocks.iter().filter_map(|one| help(*one, names)).collect();
    if !helps.is_empty() {
        parts.push(format!("What helps: {}.", helps.join("; or ")));
    }
    parts.extend(explanation.promise.map(|promise| worth(promise, names)));
    if let (Some(start), Standing::Queued { .. } | Standing::Held) = (explanation.estimated_start, explanation.standing)
    {
        parts.push(format!("It should start by {}.", names.time(start)));
    }
    parts.join(" ")
}

fn opening(explanation: &Explanation, names: &dyn Names) -> String {
    let queue = names.node(explanation.queue);
    let place = match explanation.standing {
        Standing::Queued { position, of } => format!("Number {position} of {of} in queue {queue}"),
        Standing::Held => format!("Outside the line of queue {queue}"),
        Standing::Admitted => format!("Admitted in queue {queue}"),
        Standing::Running => format!("Running in queue {queue}"),
        Standing::Stopping => format!("Being stopped in queue {queue}"),
    };
    format!("{place}: {}.", because(explanation.code))
}

const fn because(code: Code) -> &'static str {
    match code {
        Code::Admitted => "it has its quota",
        Code::Running => "all is well",
        Code::WaitingForTurn => "it waits for its turn",
        Code::WaitingForQuota => "the quota it needs is in use",
        Code::ExceedsMaxQuota => "it asks for more than the queue could ever use",
        Code::NoMatchingFlavor => "no flavor of the queue suits it",
        Code::NoPlace => "there is quota, but no place where it could run",
        Code::WaitingForPreempted => "others were told to make room for it",
        Code::PendingEvaluation => "a check has to say yes first",
        Code::NotAllowedInQueue => "the queue does not take work from this project",
        Code::InvalidRequest => "what it asks for is against a rule of its project",
        Code::Gated => "others would have to make room, and it may not tell them to",
        Code::ReservedForAnother => "what it needs is kept for another one that waits longer",
        Code::OverPreemptionBudget => "too many others would have to make room at once",
        Code::BackingOff => "it had to stop and waits a while before the next try",
        Code::Held => "somebody holds it",
        Code::QueueStopped => "the queue is stopped",
        Code::Preempted => "it has to make room for another one",
        Code::Drained => "the queue is being emptied",
        Code::CheckFailed => "a check took back its yes",
        Code::NotReadyInTime => "it did not get ready in time",
        Code::PlaceLost => "what it ran on is gone",
        Code::StopAsked => "somebody asked for it",
    }
}

fn numbers(explanation: &Explanation, names: &dyn Names) -> Option<String> {
    let thing = names.thing(explanation.what?);
    let Explanation { asked, available, shortfall, .. } = explanation;
    let at = explanation.blocked_at.map_or(String::new(), |node| format!(" at {}", names.node(node)));
    Some(format!("It asks for {asked} of {thing} and {available} can be had, so {shortfall} are missing{at}."))
}

fn holders(explanation: &Explanation, names: &dyn Names) -> Option<String> {
    let one = |holder: &super::Holder| {
        let name = names.node(holder.queue);
        if holder.borrowed > crate::amount::Amount::ZERO {
            format!("{name} with {}, {} of them borrowed", holder.holds, holder.borrowed)
        } else {
            format!("{name} with {}", holder.holds)
        }
    };
    let all: Vec<String> = explanation.holders.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("In use by {}.", all.join("; ")))
}

fn told_to_go(told: &Preempted, names: &dyn Names) -> String {
    let rule = match told.rule {
        Rule::WithinQueue => "which is more important in the same queue",
        Rule::Reclaim => "whose queue takes back what it had lent",
        Rule::BorrowWithinCohort => "which is more important and borrows, too",
        Rule::FairShare => "whose side has the smaller share",
    };
    let (by, queue) = (names.identity(told.by), names.node(told.by_queue));
    let notice_s = told.notice_s;
    let position = told.at_position;
    let position = position.map_or(String::new(), |(at, of)| format!(" It is number {at} of {of} in its queue now."));
    format!("It makes room for {by} of {queue}, {rule}, with {notice_s} s of notice.{position}")
}

fn help(unblock: Unblock, names: &dyn Names) -> Option<String> {
    let by = |at: Option<i64>| at.map_or(String::new(), |at| format!(" by {}", names.time(at)));
    Some(match unblock {
        Unblock::Ends { workload, at } => format!("{} ends{}", names.workload(workload), by(at)),
        Unblock::Released { queue, amount } => format!("{} gives back {amount}", names.node(queue)),
        Unblock::QuotaRaised { node, by } => format!("the quota or limit of {} is raised by {by}", names.node(node)),
        Unblock::Starts { pending, at } => format!("{} starts{}", names.pending(pending), by(at)),
        Unblock::Gate => "it may tell others to make room".to_owned(),
        Unblock::Check => "the check says yes".to_owned(),
        Unblock::Release => "somebody releases it".to_owned(),
        Unblock::QueueResumed { queue } => format!("queue {} goes on", names.node(queue)),
        Unblock::BackOff { until } => format!("the wait is over at {}", names.time(until)),
        Unblock::RequestChanged => "it asks for something else".to_owned(),
        Unblock::Turn => return None,
    })
}

fn worth(promise: Promise, names: &dyn Names) -> String {
    match promise {
        Promise::WithinNominal => "Its quota is its queue's own; no other queue can take it.".to_owned(),
        Promise::Borrowing { what, borrowed } => {
            format!("Its queue borrows {borrowed} of {} with it, which can be reclaimed.", names.thing(what))
        }
        Promise::ZeroQuota { what } => {
            format!("Its queue has no {} of its own; all that it runs can be reclaimed.", names.thing(what))
        }
    }
}
