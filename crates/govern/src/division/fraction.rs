//! Fractions that are compared exactly, by cross-multiplication. A fraction over nothing stands for "without limit".

use std::cmp::Ordering;

/// A fraction that is not below zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fraction {
    /// Above the line.
    pub over: i128,
    /// Below the line; zero means without limit.
    pub under: i128,
}

impl Fraction {
    /// One.
    pub const ONE: Self = Self { over: 1, under: 1 };

    /// So many millionths.
    #[must_use]
    pub const fn millionths(count: u32) -> Self {
        Self { over: count as i128, under: 1_000_000 }
    }

    /// This part of an amount, rounded to zero.
    #[must_use]
    pub fn of(self, amount: i64) -> i64 {
        if self.under == 0 {
            return i64::MAX;
        }
        i64::try_from(i128::from(amount).saturating_mul(self.over) / self.under).unwrap_or(i64::MAX)
    }

    /// This part of an amount, rounded to the nearest, halves up.
    #[must_use]
    pub fn of_nearest(self, amount: i64) -> i64 {
        if self.under == 0 {
            return i64::MAX;
        }
        let twice = i128::from(amount).saturating_mul(self.over).saturating_mul(2) + self.under;
        i64::try_from(twice.div_euclid(self.under * 2)).unwrap_or(i64::MAX)
    }

    /// This part of an amount, rounded up.
    #[must_use]
    pub fn of_up(self, amount: i64) -> i64 {
        if self.under == 0 {
            return i64::MAX;
        }
        let product = i128::from(amount).saturating_mul(self.over);
        let up = product.div_euclid(self.under) + i128::from(product.rem_euclid(self.under) != 0);
        i64::try_from(up).unwrap_or(i64::MAX)
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(match (self.under == 0, other.under == 0) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.over.saturating_mul(other.under).cmp(&other.over.saturating_mul(self.under)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Fraction;

    #[test]
    fn fractions_round_as_they_say() {
        let half = Fraction { over: 1, under: 2 };
        assert_eq!([half.of(5), half.of_nearest(5), half.of_up(5), half.of_up(4)], [2, 3, 3, 2]);
        assert!(half < Fraction { over: 5, under: 0 } && half < Fraction::ONE && half > Fraction::millionths(499_999));
    }
}
