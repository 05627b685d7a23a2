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
    /// A workload that holds its quota for less than this is left alone, unless its own terms say how long.
    pub run_s_min: u32,
    /// How long a victim has between being told and being stopped.
    pub notice_s: u32,
    /// Of equal priority only what came more than so many seconds later counts as newer.
    pub newer_s_min: u32,
    /// Workloads that can run on less are shrunk before any is stopped.
    pub shrink_first: bool,
    /// Within a queue only a strictly higher priority takes, whatever the queue's policy says.
    pub strict_within_queue: bool,
    /// Shares that differ by less than so many thousandths are equal enough: nobody is stopped for them.
    pub share_margin_per_mille: u32,
    /// How often a workload may be stopped for others, at most, and in how long. Whoever was stopped is remembered: it is
    /// stopped after those that never were, and does not stop the one that it was stopped for.
    pub stops_max: Option<Most>,
    /// Whoever gets back what is its own waits for nobody's run time, whatever has been stopped before.
    pub owner_waits_for_nobody: bool,
}

/// So many in so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// How many.
    pub count: u32,
    /// In how many seconds.
    pub window_s: u32,
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
            strict_within_queue: false,
            share_margin_per_mille: 0,
            stops_max: None,
            owner_waits_for_nobody: false,
        }
    }

    /// Our own: everything beyond the models. What runs is left alone for its first ten minutes and after three stops in a
    /// day, unless an owner wants back what it lent.
    #[must_use]
    pub const fn own(fair: Option<FairStrategies>) -> Self {
        Self {
            keep_nominal: true,
            minimal: true,
            run_s_min: 600,
            notice_s: 30,
            shrink_first: true,
            strict_within_queue: true,
            share_margin_per_mille: 10,
            stops_max: Some(Most { count: 3, window_s: 86_400 }),
            owner_waits_for_nobody: true,
            ..Self::kueue(fair)
        }
    }
}
