//! How much of a cluster a queue used in the past, where the past counts less the longer ago it is: after one half-life a use
//! counts half.
//!
//! Weights are powers of one half in fixed point with 62 bits. Whole half-lives are shifts; the fraction of one is a product
//! of repeated square roots, exact to about one part in 2^57.

const ONE_BITS: u32 = 62;
const STEPS: usize = 32;

// 2^(-1/2), 2^(-1/4), ... with 62 bits.
const ROOTS: [u64; STEPS] = roots();

const fn roots() -> [u64; STEPS] {
    let (mut table, mut last, mut at) = ([0; STEPS], 1_u128 << (ONE_BITS - 1), 0);
    while at < STEPS {
        last = (last << ONE_BITS).isqrt();
        // Always below 2^62.
        table[at] = low_half(last);
        at += 1;
    }
    table
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the caller's number is below 2^62, and const code has no try_from"
)]
const fn low_half(number: u128) -> u64 {
    number as u64
}

/// What was in use at one moment, and what there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// How long ago.
    pub age_s: u64,
    /// In use by the queue.
    pub used: u64,
    /// In the cluster.
    pub capacity: u64,
}

/// How much a use of that age still counts, in 2^-62. Without a half-life everything counts fully.
#[must_use]
pub fn weight(age_s: u64, half_life_s: Option<u64>) -> u64 {
    let one = 1_u64 << ONE_BITS;
    let Some(half_life_s) = half_life_s.filter(|half| *half > 0) else { return one };
    let (halves, within) = (age_s / half_life_s, age_s % half_life_s);
    if halves >= u64::from(ONE_BITS) {
        return 0;
    }
    let fraction = (u128::from(within) << STEPS) / u128::from(half_life_s);
    let mut weight = u128::from(one >> halves);
    for (root, bit) in ROOTS.iter().zip((0..STEPS).rev()) {
        if fraction >> bit & 1 == 1 {
            weight = (weight * u128::from(*root)) >> ONE_BITS;
        }
    }
    low_half(weight)
}

/// The weighted share of the cluster that these samples show, in parts per billion.
#[must_use]
pub fn usage_ppb(samples: &[Sample], half_life_s: Option<u64>) -> u64 {
    let (mut used, mut capacity) = (0_u128, 0_u128);
    for sample in samples {
        // 24 bits of the weight are dropped so that sums of many large samples fit.
        let weight = u128::from(weight(sample.age_s, half_life_s) >> 24);
        used = used.saturating_add(weight * u128::from(sample.used));
        capacity = capacity.saturating_add(weight * u128::from(sample.capacity));
    }
    while used.leading_zeros() < 30 {
        (used, capacity) = (used >> 1, capacity >> 1);
    }
    let ppb = (used * 1_000_000_000).checked_div(capacity).unwrap_or(0);
    u64::try_from(ppb).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Sample, usage_ppb, weight};

    #[test]
    fn a_use_counts_half_after_one_half_life() {
        let one = weight(0, Some(600));
        assert_eq!([weight(600, Some(600)), weight(1200, Some(600))], [one / 2, one / 4]);
        let root = u128::from(weight(300, Some(600)));
        assert!(
            (root * root).abs_diff(u128::from(one) * u128::from(one) / 2) < 1 << 72,
            "the square of half a half-life"
        );
        assert_eq!([weight(u64::MAX, Some(1)), weight(u64::MAX, None)], [0, one]);
        assert!((0..2000).all(|age| weight(age, Some(600)) > weight(age + 1, Some(600))));
    }

    #[test]
    fn usage_is_a_share_of_what_there_was() {
        let full = Sample { age_s: 0, used: 8, capacity: 8 };
        let idle = Sample { age_s: 100, used: 0, capacity: 8 };
        assert_eq!(usage_ppb(&[full, idle], None), 500_000_000);
        // One against a half.
        assert_eq!(usage_ppb(&[full, idle], Some(100)), 666_666_666);
        assert_eq!(usage_ppb(&[], None), 0);
        let large = Sample { age_s: 0, used: u64::MAX, capacity: u64::MAX };
        assert_eq!(usage_ppb(&[large; 1000], None), 1_000_000_000);
    }
}
