//! Shares by weight between a minimum and a maximum: a ratio is searched so that weight times ratio, held between minimum and
//! maximum, sums to the total. The search doubles from one and then halves the interval 25 times; every ratio it visits is a
//! whole number of the last interval, so the arithmetic is exact. Who stays below its share for too long is
//! starved and may be given what others have beyond theirs.

use crate::division::fraction::Fraction;

/// One who takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taker {
    /// What it gets at least.
    pub min: i64,
    /// What it gets at most.
    pub max: i64,
    /// Its weight in millionths; without one its share is its minimum.
    pub weight_micro: u64,
    /// Whether it takes part at all just now.
    pub active: bool,
}

const HALVINGS: u32 = 25;
const DOUBLINGS_MAX: u32 = 62;
const MICRO: i128 = 1_000_000;

impl Taker {
    // A share that does not depend on the others.
    fn fixed(&self) -> Option<i64> {
        if self.max <= 0 || !self.active {
            Some(0)
        } else if self.weight_micro == 0 {
            Some(self.min.max(0))
        } else {
            None
        }
    }

    // At a ratio of so many 2^-25.
    fn at(&self, ratio: i128) -> i64 {
        let share = i128::from(self.weight_micro).saturating_mul(ratio) / (MICRO << HALVINGS);
        i64::try_from(share).unwrap_or(i64::MAX).max(self.min).min(self.max)
    }
}

/// Everyone's share of a total.
#[must_use]
pub fn shares(total: i64, takers: &[Taker]) -> Vec<i64> {
    let sum = |values: &mut dyn Iterator<Item = i64>| values.fold(0, i64::saturating_add);
    let open = || takers.iter().filter(|taker| taker.fixed().is_none());
    let taken = sum(&mut takers.iter().filter_map(Taker::fixed));
    let total = total.saturating_sub(taken).max(0).min(sum(&mut open().map(|taker| taker.max)));
    let used = |ratio: i128| sum(&mut open().map(|taker| taker.at(ratio)));
    let one: i128 = 1 << HALVINGS;
    let doublings = (0..DOUBLINGS_MAX).find(|count| used(one << count) >= total).unwrap_or(DOUBLINGS_MAX);
    // In 2^-25 of a whole ratio, so halving 25 times stays whole.
    let (mut low, mut high) = (0, one << doublings);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2;
        match used(middle).cmp(&total) {
            std::cmp::Ordering::Equal => {
                high = middle;
                break;
            }
            std::cmp::Ordering::Less => low = middle,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    takers.iter().map(|taker| taker.fixed().unwrap_or_else(|| taker.at(high))).collect()
}

/// When one that shares fairly counts as starved, and for how long it must have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Below this part of its share it starves, in millionths.
    pub threshold_micro: u32,
    /// Below its fair share for so long; none means it never counts.
    pub fair_s: Option<u64>,
    /// Below its minimum for so long; none means it never counts.
    pub min_s: Option<u64>,
}

/// What one that shares fairly has and wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// What it uses.
    pub used: i64,
    /// What it uses and waits for.
    pub demand: i64,
    /// Its fair share.
    pub share: i64,
    /// Its minimum.
    pub min: i64,
    /// For how long it has been below what it should have of its fair share.
    pub below_fair_s: u64,
    /// For how long it has been below its minimum.
    pub below_min_s: u64,
}

/// What may be taken from others for it: nothing until its patience is over.
#[must_use]
pub fn starved_by(standing: &Standing, patience: &Patience) -> i64 {
    let due = Fraction::millionths(patience.threshold_micro).of(standing.share).min(standing.demand);
    let over = |limit: Option<u64>, waited: u64| limit.is_some_and(|limit| waited >= limit);
    let missing = |due: i64, counts: bool| if counts { due.saturating_sub(standing.used).max(0) } else { 0 };
    let fair = missing(due, over(patience.fair_s, standing.below_fair_s));
    fair.max(missing(standing.min.min(standing.demand), over(patience.min_s, standing.below_min_s)))
}

/// Whether a container of this size may be taken from one that shares fairly: not if it then had less than its share.
#[must_use]
pub const fn may_give(used: i64, chosen: i64, size: i64, share: i64) -> bool {
    used.saturating_sub(chosen).saturating_sub(size) >= share
}

#[cfg(test)]
mod tests {
    use super::{Patience, Standing, Taker, may_give, shares, starved_by};
    use proptest::prelude::*;

    fn taker(weight_micro: u64, min: i64, max: i64) -> Taker {
        Taker { min, max, weight_micro, active: true }
    }

    #[test]
    fn equal_weights_share_equally_up_to_their_maximum() {
        let all = [taker(1_000_000, 0, 100), taker(1_000_000, 0, 11), taker(1_000_000, 0, 3)];
        assert_eq!(shares(40, &all), [26, 11, 3]);
    }

    #[test]
    fn no_weight_means_the_minimum_and_inactive_means_nothing() {
        let idle = Taker { active: false, ..taker(1_000_000, 5, 10) };
        assert_eq!(shares(20, &[taker(0, 7, 10), idle, taker(500_000, 0, 100)]), [7, 0, 13]);
    }

    #[test]
    fn who_has_waited_long_enough_is_starved_by_what_it_misses() {
        let standing = Standing { used: 10, demand: 100, share: 60, min: 15, below_fair_s: 30, below_min_s: 30 };
        let patience = |fair_s, min_s| Patience { threshold_micro: 500_000, fair_s, min_s };
        assert_eq!(starved_by(&standing, &patience(None, None)), 0, "never");
        assert_eq!(starved_by(&standing, &patience(Some(31), None)), 0, "not yet");
        assert_eq!(starved_by(&standing, &patience(Some(30), None)), 20, "half its share");
        assert_eq!(starved_by(&standing, &patience(None, Some(30))), 5);
        assert_eq!(starved_by(&Standing { demand: 12, ..standing }, &patience(Some(30), Some(30))), 2);
    }

    #[test]
    fn nobody_gives_from_its_share() {
        assert!(may_give(60, 5, 5, 50) && !may_give(60, 5, 6, 50));
    }

    #[test]
    fn minimums_beyond_the_total_are_kept() {
        assert_eq!(shares(10, &[taker(1_000_000, 9, 20), taker(1_000_000, 9, 20)]), [9, 9]);
    }

    proptest! {
        #[test]
        fn shares_stay_between_their_bounds_and_fill_the_total(
            total in 0_i64..1000,
            parts in prop::collection::vec((0_u64..4, 0_i64..50, 0_i64..300), 1..8),
        ) {
            let all: Vec<Taker> = parts.iter().map(|(weight, min, more)| taker(weight * 500_000, *min, min + more)).collect();
            let got = shares(total, &all);
            for (share, one) in got.iter().zip(&all).filter(|(_, one)| one.weight_micro > 0 && one.max > 0) {
                prop_assert!((one.min..=one.max).contains(share));
            }
            let least: i64 = all.iter().filter(|one| one.max > 0).map(|one| one.min).sum();
            let count = i64::try_from(all.len()).unwrap();
            prop_assert!(got.iter().sum::<i64>() <= total.max(least) + count);
        }
    }
}
