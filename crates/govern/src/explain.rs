//! Why a workload is where it is, as data: a code, numbers, nodes of the quota tree, and what would change it.
//!
//! An [`Explanation`] is made from the state of the [`Scheduler`] and the last verdict about a workload. All numbers are those
//! of the quota tree at the time of asking. The sentence for people ([`sentence::sentence`]) is made from the explanation and
//! from nothing else, so nobody has to read it to find out what it says.
//!
//! ```text
//!   verdict ─┐                    ┌─▶ code, node, numbers, who holds it, what would help ──▶ sentence
//!            ├──▶ Explanation ────┤
//!   state ───┘                    └─▶ the same for programs
//! ```

pub mod sentence;
mod shortage;
mod starts;

pub use starts::{Ahead, ahead};

use crate::{
    amount::Amount,
    cycle::{
        Scheduler, Verdict, Why,
        book::{Bar, PendingIx, Strategy, Where},
    },
    flavors::{Assignment, Blocked},
    preempt::{Reason, Victim},
    tree::{FlavorResource, NodeIx},
    workload::{Amounts, Cause, WorkloadIx},
};
use shortage::Shortage;

/// Where a workload stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It waits in its queue.
    Queued {
        /// How many are looked at before it, and one.
        position: u32,
        /// How many wait there.
        of: u32,
    },
    /// It waits outside the line of its queue, until a time comes or somebody lets it in.
    Held,
    /// It was just given its quota.
    Admitted,
    /// It runs.
    Running,
    /// It is being stopped.
    Stopping,
}

/// Why, in one word. The text of a code never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// It got its quota.
    Admitted,
    /// It runs.
    Running,
    /// No cycle has looked at it yet.
    WaitingForTurn,
    /// Others use the quota.
    WaitingForQuota,
    /// It asks for more than its queue could ever use.
    ExceedsMaxQuota,
    /// No flavor of the queue suits its pods.
    NoMatchingFlavor,
    /// There is quota, but no place, even if everybody went.
    NoPlace,
    /// Others were told to go for it.
    WaitingForPreempted,
    /// A check outside has to say yes first.
    PendingEvaluation,
    /// The queue does not take workloads from where it comes.
    NotAllowedInQueue,
    /// What it asks for is against a rule of where it comes from.
    InvalidRequest,
    /// Others would have to go, but it must not tell them, for now.
    Gated,
    /// It would take what is kept for another one that waits longer.
    ReservedForAnother,
    /// It would tell too many others to go, for now.
    OverPreemptionBudget,
    /// It had to stop and is not looked at before a time.
    BackingOff,
    /// Somebody holds it.
    Held,
    /// Its queue is stopped.
    QueueStopped,
    /// It has to make room for another one.
    Preempted,
    /// Its queue is being emptied.
    Drained,
    /// A check outside took back its yes.
    CheckFailed,
    /// It did not get ready in time.
    NotReadyInTime,
    /// What it ran on is gone.
    PlaceLost,
    /// Somebody asked for it to stop.
    StopAsked,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Admitted,
        Self::Running,
        Self::WaitingForTurn,
        Self::WaitingForQuota,
        Self::ExceedsMaxQuota,
        Self::NoMatchingFlavor,
        Self::NoPlace,
        Self::WaitingForPreempted,
        Self::PendingEvaluation,
        Self::NotAllowedInQueue,
        Self::InvalidRequest,
        Self::Gated,
        Self::ReservedForAnother,
        Self::OverPreemptionBudget,
        Self::BackingOff,
        Self::Held,
        Self::QueueStopped,
        Self::Preempted,
        Self::Drained,
        Self::CheckFailed,
        Self::NotReadyInTime,
        Self::PlaceLost,
        Self::StopAsked,
    ];

    /// Its text, for programs.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Running => "running",
            Self::WaitingForTurn => "waiting_for_turn",
            Self::WaitingForQuota => "waiting_for_quota",
            Self::ExceedsMaxQuota => "exceeds_max_quota",
            Self::NoMatchingFlavor => "no_matching_flavor",
            Self::NoPlace => "no_place",
            Self::WaitingForPreempted => "waiting_for_preempted",
            Self::PendingEvaluation => "pending_evaluation",
            Self::NotAllowedInQueue => "not_allowed_in_queue",
            Self::InvalidRequest => "invalid_request",
            Self::Gated => "gated",
            Self::ReservedForAnother => "reserved_for_another",
            Self::OverPreemptionBudget => "over_preemption_budget",
            Self::BackingOff => "backing_off",
            Self::Held => "held",
            Self::QueueStopped => "queue_stopped",
            Self::Preempted => "preempted",
            Self::Drained => "drained",
            Self::CheckFailed => "check_failed",
            Self::NotReadyInTime => "not_ready_in_time",
            Self::PlaceLost => "place_lost",
            Self::StopAsked => "stop_asked",
        }
    }

    const fn of_cause(cause: Cause) -> Self {
        match cause {
            Cause::Preempted { .. } => Self::Preempted,
            Cause::Drained => Self::Drained,
            Cause::CheckFailed => Self::CheckFailed,
            Cause::NotReady => Self::NotReadyInTime,
            Cause::Lost => Self::PlaceLost,
            Cause::Asked => Self::StopAsked,
        }
    }

    const fn of_bar(bar: Bar) -> Self {
        match bar {
            Bar::FailedChecks => Self::PendingEvaluation,
            Bar::NotAllowedHere => Self::NotAllowedInQueue,
            Bar::Invalid => Self::InvalidRequest,
        }
    }

    const fn of_why(why: Why) -> Self {
        match why {
            Why::Blocked(Blocked::WaitingForQuota) => Self::WaitingForQuota,
            Why::Blocked(Blocked::ExceedsMaxQuota) => Self::ExceedsMaxQuota,
            Why::Blocked(Blocked::NoMatchingFlavor) => Self::NoMatchingFlavor,
            Why::Blocked(Blocked::NoPlace) => Self::NoPlace,
            Why::WaitingForPreempted => Self::WaitingForPreempted,
            Why::Misconfigured => Self::InvalidRequest,
            Why::PendingEvaluation => Self::PendingEvaluation,
            Why::Gated => Self::Gated,
            Why::Reserved { .. } => Self::ReservedForAnother,
            Why::OverBudget { .. } => Self::OverPreemptionBudget,
        }
    }
}

/// A queue that holds some of what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Which queue.
    pub queue: NodeIx,
    /// How much it uses.
    pub holds: Amount,
    /// How much of that is beyond its own.
    pub borrowed: Amount,
}

/// Something that would let a workload go on, or help to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unblock {
    /// A workload ends, at the latest then.
    Ends {
        /// Which one.
        workload: WorkloadIx,
        /// At the latest then, in seconds; nothing where nobody knows.
        at: Option<i64>,
    },
    /// A queue gives some of what it holds back.
    Released {
        /// Which queue.
        queue: NodeIx,
        /// How much.
        amount: Amount,
    },
    /// A quota or borrowing limit is raised.
    QuotaRaised {
        /// Of this node.
        node: NodeIx,
        /// By so much.
        by: Amount,
    },
    /// The one before it starts.
    Starts {
        /// Which one.
        pending: PendingIx,
        /// At the latest then, in seconds; nothing where nobody knows.
        at: Option<i64>,
    },
    /// It may tell others to go.
    Gate,
    /// A check outside says yes.
    Check,
    /// Somebody lets it in.
    Release,
    /// Its queue goes on.
    QueueResumed {
        /// Which queue.
        queue: NodeIx,
    },
    /// A time comes.
    BackOff {
        /// Until then, in seconds.
        until: i64,
    },
    /// It asks for something else, or what there is changes.
    RequestChanged,
    /// The next cycle.
    Turn,
}

/// What its quota is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Its queue uses no more than its own: nobody outside the queue can take it.
    WithinNominal,
    /// Its queue uses what others have lent, and has to give it back when they ask.
    Borrowing {
        /// Of what.
        what: FlavorResource,
        /// So much, with this workload.
        borrowed: Amount,
    },
    /// Its queue has nothing of its own: all that it runs can be taken back.
    ZeroQuota {
        /// Of this.
        what: FlavorResource,
    },
}

/// Under which rule a workload had to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// For one of its own queue that is more important.
    WithinQueue,
    /// For one that gets back what is its own.
    Reclaim,
    /// For a more important one that borrows, too.
    BorrowWithinCohort,
    /// For one whose side has the smaller share.
    FairShare,
}

impl Rule {
    /// Its text, for programs.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::WithinQueue => "within_queue",
            Self::Reclaim => "reclaim",
            Self::BorrowWithinCohort => "borrow_within_cohort",
            Self::FairShare => "fair_share",
        }
    }
}

/// What a workload that has to make room is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preempted {
    /// The identity of the one it makes room for.
    pub by: u64,
    /// The queue of that one.
    pub by_queue: NodeIx,
    /// Under which rule.
    pub rule: Rule,
    /// For how long it runs on, in seconds.
    pub notice_s: i64,
    /// Where it stands in its queue now, and of how many; nothing as long as it runs or is held.
    pub at_position: Option<(u32, u32)>,
}

/// Why a workload is where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Its queue.
    pub queue: NodeIx,
    /// Where it stands.
    pub standing: Standing,
    /// Why, in one word.
    pub code: Code,
    /// The node of the quota tree that has no more: a root, or a node that may not borrow more.
    pub blocked_at: Option<NodeIx>,
    /// What is missing; of several things the one of which most is missing.
    pub what: Option<FlavorResource>,
    /// How much of it is asked for.
    pub asked: Amount,
    /// How much of it there is for this queue; for what exceeds every quota, how much there could ever be.
    pub available: Amount,
    /// The difference.
    pub shortfall: Amount,
    /// Who holds it, who borrowed most first; no more than [`HOLDERS_MAX`].
    pub holders: Vec<Holder>,
    /// What would help, most likely first.
    pub unblocks: Vec<Unblock>,
    /// What its quota is or will be worth; nothing where it is not known which quota that is.
    pub promise: Option<Promise>,
    /// When it starts at the latest if nobody else comes, in seconds; nothing where that is not known.
    pub estimated_start: Option<i64>,
    /// Whom it made room for, where it did.
    pub preempted: Option<Preempted>,
}

/// The most holders that an explanation names.
pub const HOLDERS_MAX: usize = 16;
// The most workloads whose end is named.
const ENDS_MAX: usize = 8;

/// All that wait in a queue, in the order in which they are looked at. Those that are held are not among them.
#[must_use]
pub fn line(scheduler: &Scheduler, queue: NodeIx) -> Vec<PendingIx> {
    let book = scheduler.book();
    let mut line: Vec<PendingIx> = book.line_up(queue).into_iter().map(|(place, _)| place).collect();
    // Whoever others were told to go for is looked at first, unless the first of the queue holds up the others.
    let jumps = |place: &PendingIx| book.is_preemptor(*place) && book.place_of(*place) == Some(Where::Active);
    if book.strategy(queue) == Strategy::BestEffort
        && let Some(at) = line.iter().position(jumps)
    {
        line[..=at].rotate_right(1);
    }
    line
}

/// Where a workload that waits stands in its queue: it is looked at as the so manieth of so many. Nothing for one that is not
/// in the line.
#[must_use]
pub fn position(scheduler: &Scheduler, place: PendingIx) -> Option<(u32, u32)> {
    let line = line(scheduler, scheduler.book().get(place)?.queue);
    let count = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
    let at = line.iter().position(|other| *other == place)?;
    Some((count(at + 1), count(line.len())))
}

/// Why a workload waits. `last` is the last verdict about it, where there was one; `estimated_start` comes from [`ahead`].
#[must_use]
pub fn pending(
    scheduler: &Scheduler,
    place: PendingIx,
    last: Option<&Verdict>,
    estimated_start: Option<i64>,
) -> Option<Explanation> {
    let found = scheduler.book().get(place)?;
    let queue = found.queue;
    let standing = position(scheduler, place);
    let standing = standing.map_or(Standing::Held, |(position, of)| Standing::Queued { position, of });
    let (code, assignment) = code_of(scheduler, place, last);
    let shortage = assignment.and_then(|assignment| match code {
        Code::WaitingForQuota | Code::WaitingForPreempted | Code::Gated | Code::OverPreemptionBudget => {
            Shortage::now(scheduler, place, assignment)
        }
        Code::ExceedsMaxQuota => Shortage::ever(scheduler, place, assignment),
        _ => None,
    });
    let usage: &[_] = assignment.map_or(&[], |assignment| &assignment.usage);
    let mut explanation =
        Explanation { estimated_start, promise: promise(scheduler, queue, usage, true), ..bare(queue, standing, code) };
    if let Some(shortage) = &shortage {
        shortage.tell(scheduler, &mut explanation);
    }
    explanation.unblocks = unblocks(scheduler, place, last, code, shortage.as_ref());
    Some(explanation)
}

/// What there is to say about a workload that runs or is being stopped. `preempted` is what it was told, if it was.
#[must_use]
pub fn running(scheduler: &Scheduler, place: WorkloadIx, preempted: Option<Preempted>) -> Option<Explanation> {
    let workload = scheduler.running().get(place)?;
    let (standing, code) = match (workload.evicting, workload.terms.leaves) {
        (false, _) => (Standing::Running, Code::Running),
        (true, None) => (Standing::Stopping, Code::Preempted),
        (true, Some(cause)) => (Standing::Stopping, Code::of_cause(cause)),
    };
    let promise = promise(scheduler, workload.queue, &workload.usage, false);
    Some(Explanation { promise, preempted, ..bare(workload.queue, standing, code) })
}

/// What there is to say about a workload that was just admitted.
#[must_use]
pub fn admitted(scheduler: &Scheduler, place: WorkloadIx) -> Option<Explanation> {
    let workload = scheduler.running().get(place)?;
    let promise = promise(scheduler, workload.queue, &workload.usage, false);
    let estimated_start = workload.quota_at;
    Some(Explanation { promise, estimated_start, ..bare(workload.queue, Standing::Admitted, Code::Admitted) })
}

/// What a victim is told, at this time in seconds. `waits_as` is where it waits again, once it does.
#[must_use]
pub fn preempted(
    scheduler: &Scheduler,
    now: i64,
    by: (u64, NodeIx),
    victim: &Victim,
    waits_as: Option<PendingIx>,
) -> Preempted {
    let rule = match victim.reason {
        Reason::InQueue { .. } => Rule::WithinQueue,
        Reason::CohortReclaim { .. } => Rule::Reclaim,
        Reason::CohortReclaimWhileBorrowing { .. } => Rule::BorrowWithinCohort,
        Reason::CohortFairShare { .. } => Rule::FairShare,
    };
    let notice_s = victim.stops_at.map_or(0, |at| at.saturating_sub(now).max(0));
    let at_position = waits_as.and_then(|place| position(scheduler, place));
    Preempted { by: by.0, by_queue: by.1, rule, notice_s, at_position }
}

const fn bare(queue: NodeIx, standing: Standing, code: Code) -> Explanation {
    Explanation {
        queue,
        standing,
        code,
        blocked_at: None,
        what: None,
        asked: Amount::ZERO,
        available: Amount::ZERO,
        shortfall: Amount::ZERO,
        holders: vec![],
        unblocks: vec![],
        promise: None,
        estimated_start: None,
        preempted: None,
    }
}

fn code_of<'v>(scheduler: &Scheduler, place: PendingIx, last: Option<&'v Verdict>) -> (Code, Option<&'v Assignment>) {
    let book = scheduler.book();
    let found = book.get(place);
    if let Some(bar) = found.and_then(|found| found.bar) {
        return (Code::of_bar(bar), None);
    }
    if found.is_some_and(|found| book.is_stopped(found.queue)) {
        return (Code::QueueStopped, None);
    }
    if book.place_of(place) == Some(Where::Held) {
        let backs_off = found.is_some_and(|found| found.due_at.is_some());
        return (if backs_off { Code::BackingOff } else { Code::Held }, None);
    }
    match last {
        None => (Code::WaitingForTurn, None),
        Some(Verdict::Admitted { assignment, .. }) => (Code::Admitted, Some(assignment)),
        Some(Verdict::Preempting { assignment, .. }) => (Code::WaitingForPreempted, Some(assignment)),
        Some(Verdict::Waiting { why, assignment }) => (Code::of_why(*why), assignment.as_ref()),
    }
}

// `more`: it is not counted yet.
fn promise(scheduler: &Scheduler, queue: NodeIx, uses: &[(FlavorResource, Amount)], more: bool) -> Option<Promise> {
    let (tree, usage) = (&scheduler.estate().tree, scheduler.usage());
    let mut promise = (!uses.is_empty()).then_some(Promise::WithinNominal)?;
    for (what, much) in uses.iter().filter(|(_, much)| *much > Amount::ZERO) {
        let used = usage.of(queue, *what).plus(if more { *much } else { Amount::ZERO });
        let (own, borrowed) = (tree.subtree(queue, *what), used.minus(tree.subtree(queue, *what)));
        if own <= Amount::ZERO {
            return Some(Promise::ZeroQuota { what: *what });
        }
        if borrowed > Amount::ZERO && promise == Promise::WithinNominal {
            promise = Promise::Borrowing { what: *what, borrowed };
        }
    }
    Some(promise)
}

fn unblocks(
    scheduler: &Scheduler,
    place: PendingIx,
    last: Option<&Verdict>,
    code: Code,
    shortage: Option<&Shortage>,
) -> Vec<Unblock> {
    let Some(found) = scheduler.book().get(place) else { return vec![] };
    let queue = found.queue;
    match (code, last) {
        (Code::PendingEvaluation, _) => vec![Unblock::Check],
        (Code::QueueStopped, _) => vec![Unblock::QueueResumed { queue }],
        (Code::BackingOff, _) => found.due_at.map(|until| Unblock::BackOff { until }).into_iter().collect(),
        (Code::Held, _) => vec![Unblock::Release],
        (Code::WaitingForTurn | Code::Admitted, _) => vec![Unblock::Turn],
        (Code::ReservedForAnother, Some(Verdict::Waiting { why: Why::Reserved { holder, start }, .. })) => {
            vec![Unblock::Starts { pending: *holder, at: *start }]
        }
        (Code::OverPreemptionBudget, Some(Verdict::Waiting { why: Why::OverBudget { until }, .. })) => {
            vec![until.map_or(Unblock::Turn, |until| Unblock::BackOff { until })]
        }
        (Code::WaitingForPreempted, Some(Verdict::Preempting { victims, .. })) => {
            let ends = |victim: &Victim| Unblock::Ends { workload: victim.workload, at: victim.stops_at };
            victims.iter().take(ENDS_MAX).map(ends).collect()
        }
        (Code::WaitingForPreempted | Code::WaitingForQuota, _) => {
            shortage.map_or_else(|| vec![Unblock::Turn], |shortage| shortage.unblocks(scheduler))
        }
        (Code::Gated, _) => std::iter::once(Unblock::Gate)
            .chain(shortage.into_iter().flat_map(|shortage| shortage.unblocks(scheduler)))
            .collect(),
        (Code::ExceedsMaxQuota, _) => {
            let raised = shortage.and_then(Shortage::raised);
            raised.into_iter().chain([Unblock::RequestChanged]).collect()
        }
        _ => vec![Unblock::RequestChanged],
    }
}

#[cfg(test)]
mod tests;
