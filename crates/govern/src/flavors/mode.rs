//! How well a flavor suits a request: it fits as it is, others would have to go first, or it cannot be. Finer standings order
//! flavors against each other; coarser modes are what an assignment says in the end.

use crate::{
    amount::Amount,
    preempt::{PreemptionRules, QueuePolicy, Takes},
    tree::{FlavorResource, NodeIx, Tree, Usage},
};

/// What an assignment asks for before it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// It cannot be, with the quotas as they are.
    NoFit,
    /// Others would have to go.
    Preempt,
    /// It fits once those are gone that were told to go for somebody else.
    DeferredFit,
    /// It fits.
    Fit,
}

/// The same in finer steps, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// It cannot be.
    NoFit,
    /// Others would have to go, but nobody may be told to.
    NoCandidates,
    /// Others would have to go, some of the same queue among them.
    Preempt,
    /// Others would have to go, all of them of other queues that use more than their own.
    Reclaim,
    /// It fits.
    Fit,
}

impl Reach {
    /// In the coarser steps.
    #[must_use]
    pub const fn mode(self) -> Mode {
        match self {
            Self::NoFit => Mode::NoFit,
            Self::NoCandidates | Self::Preempt | Self::Reclaim => Mode::Preempt,
            Self::Fit => Mode::Fit,
        }
    }
}

/// How well a flavor suits, and how far away the quota is that it would use: nothing within the queue, else the height of the
/// smallest subtree that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// How well.
    pub reach: Reach,
    /// How far.
    pub level: u32,
}

/// What to do at a flavor that would do, but not well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Search {
    /// Take it.
    #[default]
    Stop,
    /// Look at the next one first.
    TryNext,
}

/// Which of two flavors is better, when neither fits without borrowing or preempting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preference {
    /// The one where fewer have to go, even if it borrows more.
    #[default]
    BorrowRatherThanPreempt,
    /// The one that borrows less, even if others have to go.
    PreemptRatherThanBorrow,
}

/// How a queue chooses among its flavors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fungibility {
    /// At a flavor where it would have to borrow.
    pub when_can_borrow: Search,
    /// At a flavor where others would have to go.
    pub when_can_preempt: Search,
    /// Among those that were passed.
    pub preference: Preference,
}

impl Default for Fungibility {
    fn default() -> Self {
        Self {
            when_can_borrow: Search::Stop,
            when_can_preempt: Search::TryNext,
            preference: Preference::BorrowRatherThanPreempt,
        }
    }
}

impl Standing {
    /// Fits within the queue.
    pub const BEST: Self = Self { reach: Reach::Fit, level: 0 };
    /// Cannot be.
    pub const WORST: Self = Self { reach: Reach::NoFit, level: u32::MAX };

    /// Whether this is to be preferred. A flavor where nobody may be told to go is worse than any that would work.
    #[must_use]
    pub fn is_better(self, other: Self, preference: Preference) -> bool {
        if self.reach == Reach::NoFit || other.reach == Reach::NoFit {
            return self.reach != Reach::NoFit;
        }
        let works = |standing: Self| standing.reach != Reach::NoCandidates;
        if works(self) != works(other) {
            return works(self);
        }
        match preference {
            Preference::BorrowRatherThanPreempt if self.reach != other.reach => self.reach > other.reach,
            Preference::PreemptRatherThanBorrow if self.level == other.level => self.reach > other.reach,
            _ => self.level < other.level,
        }
    }

    /// Whether the search goes on after such a flavor.
    #[must_use]
    pub fn wants_next(self, fungibility: Fungibility) -> bool {
        match self.reach {
            Reach::NoFit | Reach::NoCandidates => true,
            Reach::Preempt | Reach::Reclaim if fungibility.when_can_preempt == Search::TryNext => true,
            _ => self.level > 0 && fungibility.when_can_borrow == Search::TryNext,
        }
    }
}

/// The height of the smallest subtree around a queue that has so much more of its own, and whether there is somebody beyond
/// that subtree who might give back what is its due.
#[must_use]
pub fn lowest_subtree(tree: &Tree, usage: &Usage, queue: NodeIx, what: FlavorResource, more: Amount) -> (u32, bool) {
    if tree.parent(queue).is_none() || !tree.borrows_with(usage, queue, what, more) {
        return (0, tree.parent(queue).is_some());
    }
    let mut rest = more.minus(tree.kept_free(usage, queue, what));
    for node in tree.ancestors(queue) {
        if !tree.borrows_with(usage, node, what, rest) {
            return (tree.height(node), tree.parent(node).is_some());
        }
        rest = rest.minus(tree.kept_free(usage, node, what));
    }
    (tree.height(tree.root(queue)), false)
}

/// Whether others may be told to go for a request that borrows: where the queue's policy says so, and by fair shares wherever
/// a queue takes back anything at all.
#[must_use]
pub fn preempts_while_borrowing(policy: &QueuePolicy, rules: &PreemptionRules) -> bool {
    policy.while_borrowing.is_some() || (rules.fair.is_some() && policy.reclaim != Takes::Never)
}
