//! Amounts of several resources at once, and how two of them compare: by the larger share of a total, which is what
//! dominant-resource fairness means. With one resource this is plain comparison.

use crate::division::fraction::Fraction;
use std::cmp::Ordering;

/// How many resources a bundle can hold.
pub const WIDTH: usize = 4;

/// An amount of each resource. Unused places are zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bundle(pub [i64; WIDTH]);

impl Bundle {
    /// Nothing.
    pub const ZERO: Self = Self([0; WIDTH]);

    fn zip(self, other: Self, with: impl Fn(i64, i64) -> i64) -> Self {
        let mut result = self;
        result.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = with(*mine, theirs));
        result
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, i64::saturating_add)
    }

    /// What is left without the other; may be below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.zip(other, i64::saturating_sub)
    }

    /// The smaller of each.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        self.zip(other, i64::min)
    }

    /// The larger of each.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        self.zip(other, i64::max)
    }

    /// Each, or nothing where it is below.
    #[must_use]
    pub fn or_zero(self) -> Self {
        self.most(Self::ZERO)
    }

    /// Whether there is enough of each.
    #[must_use]
    pub fn fits_in(self, other: Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| *mine <= theirs)
    }

    /// Whether there is something of any.
    #[must_use]
    pub fn any_above_zero(self) -> bool {
        self.0.iter().any(|amount| *amount > 0)
    }

    /// Each times a fraction, rounded down.
    #[must_use]
    pub fn times(self, part: Fraction) -> Self {
        Self(self.0.map(|amount| part.of(amount)))
    }
}

/// How bundles are compared: against a total, over so many resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// How many resources count.
    pub width: usize,
    /// What they are compared against.
    pub total: Bundle,
}

impl Measure {
    /// The same resources against another total.
    #[must_use]
    pub const fn against(self, total: Bundle) -> Self {
        Self { total, ..self }
    }

    fn shares(self, bundle: Bundle) -> [Fraction; WIDTH] {
        let mut shares = [Fraction { over: 0, under: 1 }; WIDTH];
        for (share, at) in shares.iter_mut().zip(0..self.width) {
            *share = Fraction { over: i128::from(bundle.0[at]), under: i128::from(self.total.0[at].max(1)) };
        }
        shares[..self.width].sort_by(|left, right| right.partial_cmp(left).unwrap_or(Ordering::Equal));
        shares
    }

    /// Compares by the largest share, then by the next.
    #[must_use]
    pub fn compare(self, left: Bundle, right: Bundle) -> Ordering {
        if self.width <= 1 {
            return left.0[0].cmp(&right.0[0]);
        }
        if self.total.0[..self.width].contains(&0) {
            // No shares of nothing: only a bundle that is nowhere smaller is larger.
            let more = left.0.iter().zip(right.0).any(|(left, right)| *left > right);
            let less = left.0.iter().zip(right.0).any(|(left, right)| *left < right);
            return more.cmp(&less);
        }
        let (left, right) = (self.shares(left), self.shares(right));
        left.partial_cmp(&right).unwrap_or(Ordering::Equal)
    }

    /// Whether the left is more.
    #[must_use]
    pub fn more(self, left: Bundle, right: Bundle) -> bool {
        self.compare(left, right) == Ordering::Greater
    }

    /// Whether it is more than nothing.
    #[must_use]
    pub fn some(self, bundle: Bundle) -> bool {
        self.more(bundle, Bundle::ZERO)
    }

    /// The larger.
    #[must_use]
    pub fn max(self, left: Bundle, right: Bundle) -> Bundle {
        if self.compare(left, right) == Ordering::Less { right } else { left }
    }

    /// The smaller.
    #[must_use]
    pub fn min(self, left: Bundle, right: Bundle) -> Bundle {
        if self.compare(left, right) == Ordering::Greater { right } else { left }
    }

    /// The largest share of one over the largest share of the other.
    #[must_use]
    pub fn ratio(self, over: Bundle, under: Bundle) -> Fraction {
        let (over, under) = (self.shares(over)[0], self.shares(under)[0]);
        Fraction { over: over.over * under.under, under: over.under * under.over }
    }

    /// A part of a bundle in whole units, rounded as this number of resources is: one to the nearest, several up.
    #[must_use]
    pub fn part(self, bundle: Bundle, parts: [Fraction; WIDTH]) -> Bundle {
        let mut result = Bundle::ZERO;
        for (at, part) in parts.iter().enumerate().take(self.width) {
            let amount = bundle.0[at];
            result.0[at] = if self.width == 1 { part.of_nearest(amount) } else { part.of_up(amount) };
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::{Bundle, Measure};
    use std::cmp::Ordering;

    #[test]
    fn the_dominant_share_decides_and_then_the_next() {
        let measure = Measure { width: 2, total: Bundle([100, 10, 0, 0]) };
        let bundle = |memory, cores| Bundle([memory, cores, 0, 0]);
        assert_eq!(measure.compare(bundle(40, 1), bundle(1, 5)), Ordering::Less);
        assert_eq!(measure.compare(bundle(50, 1), bundle(1, 5)), Ordering::Greater);
        assert_eq!(measure.compare(bundle(50, 1), bundle(10, 5)), Ordering::Equal);
        assert_eq!(measure.against(bundle(100, 0)).compare(bundle(2, 0), bundle(1, 3)), Ordering::Equal);
    }
}
