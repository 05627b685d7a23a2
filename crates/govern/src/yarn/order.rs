//! Who is served next.
//!
//! Between capacity queues, priority counts only among those on the same side of their guarantee. Between fair queues, whoever
//! is below its minimum comes first. Shares are fractions compared exactly.

use super::bundle::{Bundle, Measure};
use crate::division::fraction::Fraction;
use std::cmp::Ordering;

/// A capacity queue, seen from one partition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityQueue {
    /// Whether it may use this partition at all. True for the default one.
    pub may_use: bool,
    /// What is guaranteed to it, of the whole.
    pub guaranteed: Fraction,
    /// What it uses, of the whole.
    pub used_of_whole: Fraction,
    /// What it uses, of its guarantee.
    pub used_of_guarantee: Fraction,
    /// Higher first; zero where priorities do not count.
    pub priority: u32,
}

/// Less goes first, unless both are on the same side of one and differ in priority.
#[must_use]
pub fn by_band(left: (Fraction, u32), right: (Fraction, u32)) -> Ordering {
    let below = |ratio: Fraction| ratio < Fraction::ONE;
    if left.1 != right.1 && below(left.0) == below(right.0) {
        return right.1.cmp(&left.1);
    }
    left.0.partial_cmp(&right.0).unwrap_or(Ordering::Equal)
}

/// Which of two capacity queues is served first.
#[must_use]
pub fn capacity(left: &CapacityQueue, right: &CapacityQueue) -> Ordering {
    let some = |queue: &CapacityQueue| queue.guaranteed.over > 0;
    let ratio = |queue: &CapacityQueue| {
        let both_without = !some(left) && !some(right);
        if both_without { queue.used_of_whole } else { queue.used_of_guarantee }
    };
    right
        .may_use
        .cmp(&left.may_use)
        .then_with(|| some(right).cmp(&some(left)))
        .then_with(|| by_band((ratio(left), left.priority), (ratio(right), right.priority)))
        .then_with(|| right.guaranteed.partial_cmp(&left.guaranteed).unwrap_or(Ordering::Equal))
}

/// One who shares fairly: a queue or an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairQueue {
    /// What it uses.
    pub used: Bundle,
    /// What it uses and waits for.
    pub demand: Bundle,
    /// What it should have at least.
    pub min: Bundle,
    /// Its weight in millionths.
    pub weight_micro: u64,
    /// When it came.
    pub start: u64,
    /// Breaks ties: its place by name.
    pub name: u64,
}

fn weighted(share: Fraction, weight_micro: u64) -> Fraction {
    Fraction { over: share.over, under: share.under.saturating_mul(i128::from(weight_micro)) }
}

/// Which of two is served first when one resource, the first, is shared.
#[must_use]
pub fn fair(left: &FairQueue, right: &FairQueue) -> Ordering {
    let least = |queue: &FairQueue| queue.min.0[0].min(queue.demand.0[0]);
    let needy = |queue: &FairQueue| queue.used.0[0] < least(queue);
    let of_min =
        |queue: &FairQueue| Fraction { over: i128::from(queue.used.0[0]), under: i128::from(least(queue).max(1)) };
    let of_weight =
        |queue: &FairQueue| weighted(Fraction { over: i128::from(queue.used.0[0]), under: 1 }, queue.weight_micro);
    let wants = |queue: &FairQueue| queue.demand.any_above_zero();
    let ratio = if needy(left) && needy(right) {
        of_min(left).partial_cmp(&of_min(right))
    } else {
        of_weight(left).partial_cmp(&of_weight(right))
    };
    wants(right)
        .cmp(&wants(left))
        .then_with(|| needy(right).cmp(&needy(left)))
        .then(ratio.unwrap_or(Ordering::Equal))
        .then_with(|| (left.start, left.name).cmp(&(right.start, right.name)))
}

/// Which of two is served first when several resources of this total are shared by dominant share.
#[must_use]
pub fn dominant(measure: Measure, left: &FairQueue, right: &FairQueue) -> Ordering {
    // Places of the resources by share, largest first.
    let places = |queue: &FairQueue| {
        let mut places: Vec<usize> = (0..measure.width).collect();
        let share = |at: usize| share_of(measure, queue.used, at);
        places.sort_by(|one, two| share(*two).partial_cmp(&share(*one)).unwrap_or(Ordering::Equal));
        places
    };
    let (of_left, of_right) = (places(left), places(right));
    let needy = |queue: &FairQueue, places: &[usize]| {
        places.first().is_some_and(|at| queue.used.0[*at] < queue.min.0[*at].min(queue.demand.0[*at]))
    };
    let both = needy(left, &of_left) && needy(right, &of_right);
    let value = |queue: &FairQueue, at: usize| {
        if both {
            Fraction { over: i128::from(queue.used.0[at]), under: i128::from(queue.min.0[at].max(1)) }
        } else {
            weighted(share_of(measure, queue.used, at), queue.weight_micro)
        }
    };
    let ratios = of_left
        .iter()
        .zip(&of_right)
        .map(|(one, two)| value(left, *one).partial_cmp(&value(right, *two)).unwrap_or(Ordering::Equal))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal);
    needy(right, &of_right)
        .cmp(&needy(left, &of_left))
        .then(ratios)
        .then_with(|| (left.start, left.name).cmp(&(right.start, right.name)))
}

fn share_of(measure: Measure, used: Bundle, at: usize) -> Fraction {
    Fraction { over: i128::from(used.0[at]), under: i128::from(measure.total.0[at].max(1)) }
}

#[cfg(test)]
mod tests {
    use super::{CapacityQueue, FairQueue, by_band, capacity, dominant, fair};
    use crate::division::fraction::Fraction;
    use crate::yarn::bundle::{Bundle, Measure};
    use std::cmp::Ordering::{Greater, Less};

    const fn part(over: i128, under: i128) -> Fraction {
        Fraction { over, under }
    }

    #[test]
    fn priority_counts_only_on_the_same_side_of_the_guarantee() {
        assert_eq!(by_band((part(1, 2), 0), (part(3, 4), 5)), Greater);
        assert_eq!(by_band((part(3, 2), 0), (part(2, 1), 5)), Greater);
        assert_eq!(by_band((part(1, 2), 0), (part(1, 1), 5)), Less);
        assert_eq!(by_band((part(1, 2), 5), (part(1, 3), 5)), Greater);
    }

    #[test]
    fn a_queue_with_a_guarantee_goes_before_one_without() {
        let with = CapacityQueue {
            may_use: true,
            guaranteed: part(1, 4),
            used_of_whole: part(1, 2),
            used_of_guarantee: part(2, 1),
            priority: 0,
        };
        let without = CapacityQueue { guaranteed: part(0, 1), used_of_whole: part(0, 1), priority: 9, ..with };
        assert_eq!(capacity(&with, &without), Less);
        assert_eq!(capacity(&CapacityQueue { may_use: false, ..with }, &without), Greater);
        assert_eq!(capacity(&with, &CapacityQueue { guaranteed: part(1, 2), ..with }), Greater);
    }

    #[test]
    fn the_needy_come_first_and_no_weight_comes_last() {
        let one = |used: i64, min: i64, weight_micro| FairQueue {
            used: Bundle([used, 0, 0, 0]),
            demand: Bundle([50, 0, 0, 0]),
            min: Bundle([min, 0, 0, 0]),
            weight_micro,
            start: 0,
            name: 0,
        };
        assert_eq!(fair(&one(9, 10, 1), &one(1, 0, 1_000_000)), Less);
        assert_eq!(fair(&one(1, 0, 0), &one(40, 0, 1)), Greater);
        let measure = Measure { width: 2, total: Bundle([100, 10, 0, 0]) };
        let of = |memory, cores| FairQueue { used: Bundle([memory, cores, 0, 0]), ..one(0, 0, 1_000_000) };
        assert_eq!(dominant(measure, &of(30, 1), &of(10, 4)), Less);
    }
}
