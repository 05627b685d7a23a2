//! Partial admission: when a workload does not fit whole, fewer pods of it may. The counts shrink together, each in
//! proportion to what it can give, and the largest that fit are found by halving.

/// How many pods a set has, and how few it can live with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// All of them.
    pub full: u32,
    /// The fewest; the same as `full` where none can be spared.
    pub least: u32,
}

/// What the spans together can spare.
#[must_use]
pub fn spare(spans: &[Span]) -> u64 {
    spans.iter().map(|span| u64::from(span.full.saturating_sub(span.least))).sum()
}

/// The counts after `step` of [`spare`] steps: each gives its proportion, rounded down.
#[must_use]
pub fn counts_at(spans: &[Span], step: u64) -> Vec<u32> {
    let all = u128::from(spare(spans)).max(1);
    let count = |span: &Span| {
        let given = u128::from(span.full.saturating_sub(span.least)) * u128::from(step) / all;
        span.full.saturating_sub(u32::try_from(given).unwrap_or(u32::MAX))
    };
    spans.iter().map(count).collect()
}

/// The answer of `fits` for the largest counts that fit, if any do. Smaller counts are taken to fit wherever larger ones do.
pub fn largest<T>(spans: &[Span], mut fits: impl FnMut(&[u32]) -> Option<T>) -> Option<T> {
    let all = spare(spans);
    if all == 0 {
        return None;
    }
    let (mut low, mut high, mut found) = (0, all + 1, None);
    while low < high {
        let middle = low + (high - low) / 2;
        match fits(&counts_at(spans, middle)) {
            Some(answer) => (high, found) = (middle, Some(answer)),
            None => low = middle + 1,
        }
    }
    // The last answer that was found belongs to the smallest step, because the search only ever moves down from one.
    found
}

#[cfg(test)]
mod tests {
    use super::{Span, counts_at, largest, spare};
    use proptest::prelude::*;

    const SPANS: [Span; 3] = [Span { full: 20, least: 10 }, Span { full: 7, least: 7 }, Span { full: 15, least: 0 }];

    #[test]
    fn each_gives_its_part_rounded_down() {
        assert_eq!(spare(&SPANS), 25);
        assert_eq!(counts_at(&SPANS, 0), [20, 7, 15]);
        assert_eq!(counts_at(&SPANS, 1), [20, 7, 15]);
        assert_eq!(counts_at(&SPANS, 3), [19, 7, 14]);
        assert_eq!(counts_at(&SPANS, 25), [10, 7, 0]);
    }

    #[test]
    fn nothing_to_spare_is_nothing_to_search() {
        assert_eq!(largest(&SPANS[1..2], |_| Some(())), None);
    }

    proptest! {
        #[test]
        fn the_largest_that_fits_is_found(limit in 0_u32..50) {
            let sum = |counts: &[u32]| counts.iter().sum::<u32>();
            let found = largest(&SPANS, |counts| (sum(counts) <= limit).then(|| counts.to_vec()));
            let best = (0..=25).map(|step| counts_at(&SPANS, step)).find(|counts| sum(counts) <= limit);
            prop_assert_eq!(found, best);
        }
    }
}
