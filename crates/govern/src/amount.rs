//! Amounts of a resource. They saturate, and the largest amount stands for "without limit": a sum that would overflow is as
//! good as unlimited, and an unlimited amount stays so whatever is taken from it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An amount of one resource, in its smallest unit. May be below zero: a queue whose quota was cut uses more than it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amount(i64);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// Without limit.
    pub const UNLIMITED: Self = Self(i64::MAX);

    /// So many of the smallest unit.
    #[must_use]
    pub const fn new(units: i64) -> Self {
        Self(units)
    }

    /// In the smallest unit.
    #[must_use]
    pub const fn units(self) -> i64 {
        self.0
    }

    /// Whether it is without limit.
    #[must_use]
    pub const fn is_unlimited(self) -> bool {
        self.0 == i64::MAX
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        if self.is_unlimited() || other.is_unlimited() { Self::UNLIMITED } else { Self(self.0.saturating_add(other.0)) }
    }

    /// What is left without the other.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        if self.is_unlimited() { Self::UNLIMITED } else { Self(self.0.saturating_sub(other.0)) }
    }

    /// This, or nothing if it is below.
    #[must_use]
    pub const fn or_zero(self) -> Self {
        if self.0 < 0 { Self::ZERO } else { self }
    }

    /// So many times this.
    #[must_use]
    pub const fn times(self, count: i64) -> Self {
        if self.is_unlimited() && count > 0 { Self::UNLIMITED } else { Self(self.0.saturating_mul(count)) }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unlimited() { formatter.write_str("unlimited") } else { self.0.fmt(formatter) }
    }
}

#[cfg(test)]
mod tests {
    use super::Amount;

    #[test]
    fn without_limit_stays_without_limit() {
        let (some, all) = (Amount::new(5), Amount::UNLIMITED);
        assert_eq!([all.plus(some), some.plus(all), all.minus(some), all.times(2)], [all; 4]);
        assert_eq!(Amount::new(i64::MAX - 1).plus(some), all);
        assert_eq!(Amount::new(2).minus(some).or_zero(), Amount::ZERO);
        assert_eq!([all.to_string(), some.to_string()], ["unlimited", "5"]);
    }
}
