//! Who comes first: among the workloads that wait in one queue, and among those of several queues that a cycle looks at.
//! Orders are plain tuples of numbers, so that a set or a heap can keep them, and they are total: the identity settles ties.

pub mod decay;

use std::cmp::Reverse;

/// How the workloads of one queue line up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The highest priority first, then who came first.
    #[default]
    PriorityThenAge,
    /// Who came first.
    Age,
    /// Who came last.
    NewestFirst,
}

/// What an order looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// What its local queue used of late, in a unit of the caller; zero where that does not count. Less comes first.
    pub local_usage: u64,
    /// The higher, the earlier.
    pub priority: i64,
    /// Since when it counts in its queue, in seconds; nothing is before everything.
    pub queued_at: Option<i64>,
    /// Its place in an order of all identities that the caller keeps; different for each workload.
    pub identity: u64,
}

/// A place in a queue; the smallest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    local_usage: u64,
    priority: Reverse<i64>,
    age: i64,
    identity: u64,
}

impl Order {
    /// Where a workload stands.
    #[must_use]
    pub fn key(self, waiting: &Waiting) -> Key {
        let since = waiting.queued_at.unwrap_or(i64::MIN);
        let (priority, age) = match self {
            Self::PriorityThenAge => (waiting.priority, since),
            Self::Age => (0, since),
            Self::NewestFirst => (0, since.saturating_neg()),
        };
        Key { local_usage: waiting.local_usage, priority: Reverse(priority), age, identity: waiting.identity }
    }
}

/// Where the first of a queue stands among the firsts of other queues: what takes quota from near comes before what takes it
/// from far, then the highest priority, then who came first.
#[must_use]
pub fn among_queues(level: u32, waiting: &Waiting) -> impl Ord + Copy + use<> {
    (level, Reverse(waiting.priority), waiting.queued_at.unwrap_or(i64::MIN), waiting.identity)
}

#[cfg(test)]
mod tests {
    use super::{Order, Waiting, among_queues};

    const fn waiting(priority: i64, queued_at: Option<i64>, identity: u64) -> Waiting {
        Waiting { local_usage: 0, priority, queued_at, identity }
    }

    fn sorted(order: Order) -> Vec<u64> {
        let mut all = [
            waiting(0, Some(5), 1),
            waiting(9, Some(7), 2),
            waiting(0, Some(3), 3),
            waiting(0, Some(3), 4),
            waiting(0, None, 5),
            Waiting { local_usage: 1, ..waiting(99, None, 6) },
        ];
        all.sort_by_key(|one| order.key(one));
        all.iter().map(|one| one.identity).collect()
    }

    #[test]
    fn each_order_has_its_own_first() {
        assert_eq!(sorted(Order::PriorityThenAge), [2, 5, 3, 4, 1, 6]);
        assert_eq!(sorted(Order::Age), [5, 3, 4, 1, 2, 6]);
        assert_eq!(sorted(Order::NewestFirst), [2, 1, 3, 4, 5, 6]);
    }

    #[test]
    fn near_quota_comes_before_priority_and_priority_before_age() {
        let (near, far) = (among_queues(0, &waiting(0, Some(9), 1)), among_queues(1, &waiting(9, None, 2)));
        assert!(near < far);
        assert!(among_queues(0, &waiting(1, Some(9), 1)) < among_queues(0, &waiting(0, None, 2)));
        assert!(among_queues(0, &waiting(0, Some(1), 2)) < among_queues(0, &waiting(0, Some(2), 1)));
    }
}
