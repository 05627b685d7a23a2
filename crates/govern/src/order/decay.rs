//! Usage that fades: what a local queue used of late, so that the queues that used least come first.
//!
//! What was consumed fades with a half-life, and what is in use now flows in at the same rate, so a constant use is
//! approached and an idle queue is forgiven. An admission counts at once, as if it had been in use for one sampling interval,
//! until the next sample shows it. Everything is in whole numbers: factors have 62 bits after the point and amounts 32, so one
//! step is wrong by less than a billionth of what it changes plus one part in 2^32 of a unit.

use crate::{amount::Amount, share::Resource, weight::Weight};

const FACTOR_BITS: u32 = 62;
const AMOUNT_BITS: u32 = 32;
const ONE: u64 = 1 << FACTOR_BITS;

/// How usage fades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decay {
    /// After so many seconds half is left; zero forgets at once.
    pub half_life_s: u32,
    /// How often usage is looked at, in seconds.
    pub sample_s: u32,
}

/// What one local queue consumed, by resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consumed {
    // With 32 bits after the point, in the order of resources.
    faded: Vec<(Resource, u128)>,
    penalty: Vec<(Resource, u128)>,
    sampled_at: Option<i64>,
}

// The square root of one half, of that, and so on: what is left after a half, a quarter, ... of a half-life.
fn roots() -> impl Iterator<Item = u64> {
    let root = |x: u64| u64::try_from((u128::from(x) << FACTOR_BITS).isqrt()).unwrap_or(ONE);
    std::iter::successors(Some(root(ONE / 2)), move |x| Some(root(*x))).take(FACTOR_BITS as usize)
}

// Rounded to the nearest, so that many steps do not drift.
fn product(factor: u64, by: u64) -> u64 {
    let half = 1_u128 << (FACTOR_BITS - 1);
    u64::try_from((u128::from(factor) * u128::from(by) + half) >> FACTOR_BITS).unwrap_or(ONE)
}

fn share_of(amount: u128, factor: u64) -> u128 {
    // The amount may need all 128 bits, so its two halves are multiplied one by one.
    let (high, low) = (amount >> FACTOR_BITS, amount & u128::from(ONE - 1));
    (high * u128::from(factor)).saturating_add((low * u128::from(factor)) >> FACTOR_BITS)
}

impl Decay {
    /// What is left of usage after so many seconds, of 2^62.
    #[must_use]
    pub fn left(&self, elapsed_s: u64) -> u64 {
        let half_life = u64::from(self.half_life_s);
        if half_life == 0 {
            return 0;
        }
        let whole = elapsed_s / half_life;
        if whole >= u64::from(FACTOR_BITS) {
            return 0;
        }
        // The rest of the way in halves, quarters and so on of a half-life.
        let (mut left, mut rest) = (ONE >> whole, u128::from(elapsed_s % half_life));
        for root in roots() {
            rest *= 2;
            if rest >= u128::from(half_life) {
                rest -= u128::from(half_life);
                left = product(left, root);
            }
        }
        left
    }
}

fn add(list: &mut Vec<(Resource, u128)>, resource: Resource, more: u128) {
    match list.binary_search_by_key(&resource, |(known, _)| *known) {
        Ok(at) => list[at].1 = list[at].1.saturating_add(more),
        Err(at) => list.insert(at, (resource, more)),
    }
}

fn wide(amount: Amount) -> u128 {
    u128::from(amount.or_zero().units().unsigned_abs()) << AMOUNT_BITS
}

impl Consumed {
    /// Counts what is in use now. Penalties are over: the use shows what they stood for.
    pub fn sample(&mut self, decay: &Decay, now: i64, in_use: &[(Resource, Amount)]) {
        let elapsed = self.sampled_at.map_or(0, |then| now.saturating_sub(then));
        let left = decay.left(u64::try_from(elapsed).unwrap_or(0));
        for (_, amount) in &mut self.faded {
            *amount = share_of(*amount, left);
        }
        for (resource, amount) in in_use {
            add(&mut self.faded, *resource, share_of(wide(*amount), ONE - left));
        }
        self.penalty.clear();
        self.sampled_at = Some(now);
    }

    /// Counts what was in use from one time to another, or is in use since then, as it counts at a later time. What has just
    /// come into use counts as if it had been for one sampling interval.
    pub fn ran(&mut self, decay: &Decay, amount: (Resource, Amount), from: i64, to: Option<i64>, now: i64) {
        let ago = |then: i64| u64::try_from(now.saturating_sub(then)).unwrap_or(0);
        let part = match to {
            Some(to) => decay.left(ago(to)).saturating_sub(decay.left(ago(from.min(to)))),
            None => ONE - decay.left(ago(from).max(u64::from(decay.sample_s))),
        };
        add(&mut self.faded, amount.0, share_of(wide(amount.1), part));
    }

    /// An admission counts at once, with what one sampling interval of it would add.
    pub fn admitted(&mut self, decay: &Decay, requests: &[(Resource, Amount)]) {
        let part = ONE - decay.left(u64::from(decay.sample_s));
        for (resource, amount) in requests {
            add(&mut self.penalty, *resource, share_of(wide(*amount), part));
        }
    }

    /// An admission that did not come to be counts no more.
    pub fn not_admitted(&mut self, decay: &Decay, requests: &[(Resource, Amount)]) {
        let part = ONE - decay.left(u64::from(decay.sample_s));
        for (resource, amount) in requests {
            if let Ok(at) = self.penalty.binary_search_by_key(resource, |(known, _)| *known) {
                self.penalty[at].1 = self.penalty[at].1.saturating_sub(share_of(wide(*amount), part));
            }
        }
    }

    /// One number for all resources, in 2^32 of a unit: each by its own weight, all by the local queue's. A local queue that
    /// counts for nothing has used more than anybody.
    #[must_use]
    pub fn key(&self, of_resource: impl Fn(Resource) -> Weight, queue: Weight) -> u64 {
        if queue.is_zero() {
            return u64::MAX;
        }
        let mut sum = 0_u128;
        for (resource, amount) in self.faded.iter().chain(&self.penalty) {
            sum = sum.saturating_add(amount.saturating_mul(u128::from(of_resource(*resource).nano())));
        }
        u64::try_from(sum / u128::from(queue.nano())).unwrap_or(u64::MAX - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Consumed, Decay, ONE};
    use crate::{amount::Amount, share::Resource, weight::Weight};
    use proptest::prelude::*;

    const GPU: Resource = Resource(0);
    const HOUR: Decay = Decay { half_life_s: 3600, sample_s: 300 };

    fn key(consumed: &Consumed) -> u64 {
        consumed.key(|_| Weight::ONE, Weight::ONE)
    }

    fn about(value: u64, units: u64) -> bool {
        let (want, slack) = (units << 32, (units << 32) / 1_000_000 + 1000);
        value.abs_diff(want) <= slack
    }

    #[test]
    fn half_is_left_after_a_half_life() {
        assert_eq!([0, 3600, 7200].map(|elapsed| HOUR.left(elapsed)), [ONE, ONE / 2, ONE / 4]);
        assert_eq!(HOUR.left(u64::MAX), 0);
        assert_eq!(Decay { half_life_s: 0, ..HOUR }.left(1), 0);
        // The square root of one half.
        let half_way = HOUR.left(1800);
        assert!((u128::from(half_way) * u128::from(half_way)).abs_diff(1 << 123) < 1 << 64);
    }

    #[test]
    fn constant_use_is_approached_and_idleness_is_forgiven() {
        let mut consumed = Consumed::default();
        consumed.sample(&HOUR, 0, &[(GPU, Amount::new(8))]);
        assert_eq!(key(&consumed), 0);
        consumed.sample(&HOUR, 3600, &[(GPU, Amount::new(8))]);
        assert!(about(key(&consumed), 4));
        consumed.sample(&HOUR, 36_000, &[(GPU, Amount::new(8))]);
        // After nine more half-lives a 512th is left of the four that it was short of.
        assert!(key(&consumed).abs_diff((2046 << 32) / 256) < 1000);
        let before = key(&consumed);
        consumed.sample(&HOUR, 39_600, &[]);
        assert!(key(&consumed).abs_diff(before / 2) <= 1);
    }

    #[test]
    fn an_admission_counts_until_the_next_sample() {
        let mut consumed = Consumed::default();
        let asked = [(GPU, Amount::new(16))];
        let day = Decay { half_life_s: 300, sample_s: 300 };
        consumed.admitted(&day, &asked);
        assert!(about(key(&consumed), 8));
        consumed.not_admitted(&day, &asked);
        assert_eq!(key(&consumed), 0);
        consumed.admitted(&day, &asked);
        consumed.sample(&day, 0, &[]);
        assert_eq!(key(&consumed), 0);
    }

    #[test]
    fn a_run_counts_as_if_it_had_been_sampled_all_the_while() {
        let mut sampled = Consumed::default();
        for (now, gpus) in [(0, 8), (1800, 8), (3600, 8), (5400, 0), (9000, 0)] {
            sampled.sample(&HOUR, now, &[(GPU, Amount::new(gpus))]);
        }
        let mut ran = Consumed::default();
        ran.ran(&HOUR, (GPU, Amount::new(8)), 0, Some(3600), 9000);
        assert!(key(&ran).abs_diff(key(&sampled)) < 100, "{} {}", key(&ran), key(&sampled));
        // Three half-lives after it began and half that after it ended.
        let mut runs = Consumed::default();
        runs.ran(&HOUR, (GPU, Amount::new(8)), 0, None, 3600);
        assert!(about(key(&runs), 4));
        let (mut just, mut soon) = (Consumed::default(), Consumed::default());
        just.ran(&HOUR, (GPU, Amount::new(8)), 3600, None, 3600);
        soon.ran(&HOUR, (GPU, Amount::new(8)), 3300, None, 3600);
        assert_eq!(key(&just), key(&soon), "an admission counts at once");
        assert!(key(&just) > 0);
    }

    #[test]
    fn weights_count() {
        let mut consumed = Consumed::default();
        consumed
            .admitted(&Decay { half_life_s: 0, sample_s: 1 }, &[(GPU, Amount::new(2)), (Resource(1), Amount::new(6))]);
        let heavy = |resource: Resource| if resource == GPU { Weight::from_nano(3_000_000_000) } else { Weight::ZERO };
        assert_eq!(consumed.key(heavy, Weight::ONE), 6 << 32);
        assert_eq!(consumed.key(heavy, Weight::from_nano(2_000_000_000)), 3 << 32);
        assert_eq!(consumed.key(heavy, Weight::ZERO), u64::MAX);
    }

    proptest! {
        #[test]
        fn less_is_left_the_longer_it_lasts(half_life_s in 1_u32..1_000_000, first in 0_u64..10_000_000, more in 0_u64..10_000_000) {
            let decay = Decay { half_life_s, sample_s: 1 };
            prop_assert!(decay.left(first + more) <= decay.left(first).saturating_add(1 << 12));
            prop_assert!(decay.left(first) <= ONE);
        }

        #[test]
        fn no_amount_is_too_large(units in 0..i64::MAX, elapsed in 0_i64..1_000_000) {
            let mut consumed = Consumed::default();
            consumed.sample(&HOUR, 0, &[]);
            consumed.sample(&HOUR, elapsed, &[(GPU, Amount::new(units))]);
            let most = u128::from(units.unsigned_abs()) << 32;
            prop_assert!(u128::from(key(&consumed)) <= most.max(1));
        }
    }
}
