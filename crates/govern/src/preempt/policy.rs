//! What a queue may take from whom, and the rules that hold for every search.
//!
//! A queue's own policy says which workloads it may stop at all. The rules say how a search goes about it: classical or by
//! fair shares, and what it does beyond the models that it follows. With everything beyond switched off it chooses the
//! victims that Kueue would choose.

/// Which workloads a queue may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Takes {
    /// None, and there is no search for them.
    #[default]
    Never,
    /// Nobody said. Matches no workload, but does not count as never.
    Unset,
    /// Those of lower priority.
    LowerPriority,
    /// Those, and the ones of equal priority that came later.
    LowerOrNewerEqualPriority,
    /// All.
    Any,
}

/// Whether a queue that will itself borrow may take from others in its cohort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakesWhileBorrowing {
    /// Only what has at most this priority; without one, whatever is lower than its own.
    pub priority_max: Option<i64>,
}

/// What one queue may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueuePolicy {
    /// From itself.
    pub within_queue: Takes,
    /// From queues of its cohorts that use more than their own.
    pub reclaim: Takes,
    /// From those while it borrows itself; without it, only to get back what is its own.
    pub while_borrowing: Option<TakesWhileBorrowing>,
}

/// When fair shares let one queue take from another. The shares are those of the nodes right below their common cohort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FairStrategies {
    /// While the taker's share, with what it asks for, is not above what the giver's would become.
    FinalShare,
    /// While it is below what the giver's share is now.
    InitialShare,
    /// The first, and where that is not enough the second for one workload of each queue.
    #[default]
    Both,
}

/// How a search goes about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PreemptionRules {
    /// By fair shares; else classical.
    pub fair: Option<FairStrategies>,
    /// A queue or cohort that uses no more than its own of what a victim uses loses nothing to others; and whoever borrows
    /// takes from nobody so much that less than its own is left to it.
    pub keep_nominal: bool,
    /// No victim that is not needed, and no victim of another queue whose taking is not fair once the rest is settled.
    pub minimal: bool,
    /// The most workloads that one plan may stop or shrink, besides those that are being stopped anyway.
    pub evictions_max: Option<u32>,
    /// Whoever uses less than so many thousandths of its own beyond it is left alone.
    pub dead_zone_per_mille: u32,
    /// A workload that holds its quota for less than this is left alone.
    pub run_s_min: u32,
    /// How long a victim has between being told and being stopped.
    pub notice_s: u32,
    /// Of equal priority only what came more than so many seconds later counts as newer.
    pub newer_s_min: u32,
    /// Workloads that can run on less are shrunk before any is stopped.
    pub shrink_first: bool,
}

impl PreemptionRules {
    /// As Kueue does it.
    #[must_use]
    pub const fn kueue(fair: Option<FairStrategies>) -> Self {
        Self {
            fair,
            keep_nominal: false,
            minimal: false,
            evictions_max: None,
            dead_zone_per_mille: 0,
            run_s_min: 0,
            notice_s: 0,
            newer_s_min: 0,
            shrink_first: false,
        }
    }

    /// Our own: everything beyond the models, without a limit on evictions or run time, which depend on the place.
    #[must_use]
    pub const fn own(fair: Option<FairStrategies>) -> Self {
        Self { keep_nominal: true, minimal: true, shrink_first: true, ..Self::kueue(fair) }
    }
}
