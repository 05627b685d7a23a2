//! Weights: how much one queue or cohort counts against its siblings. A weight is a whole number of billionths, so that
//! decimal weights from one billionth to eighteen thousand million are held exactly and can be compared without rounding.

use serde::{Deserialize, Serialize};

const NANO_DIGITS: u32 = 9;

/// A weight, in billionths. One, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weight(u64);

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl Weight {
    /// Counts for nothing: any borrowing is too much.
    pub const ZERO: Self = Self(0);
    /// Counts like everybody else.
    pub const ONE: Self = Self(10_u64.pow(NANO_DIGITS));

    /// So many billionths.
    #[must_use]
    pub const fn from_nano(nano: u64) -> Self {
        Self(nano)
    }

    /// In billionths.
    #[must_use]
    pub const fn nano(self) -> u64 {
        self.0
    }

    /// Whether it counts for nothing.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Reads a decimal number as JSON writes it (`1`, `0.5`, `1e-9`). What is finer than a billionth is rounded up, so that
    /// no weight above zero becomes zero; what is too large becomes the largest weight. Nothing for what is no number or is
    /// below zero.
    #[must_use]
    pub fn from_decimal(text: &str) -> Option<Self> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let whole = whole.strip_prefix('+').unwrap_or(whole);
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let places = i32::try_from(part.len()).ok()?;
        // The value is `mantissa * 10^shift` billionths.
        let shift = exponent.saturating_sub(places).saturating_add(i32::try_from(NANO_DIGITS).ok()?);
        let mut mantissa: u128 = 0;
        for digit in whole.chars().chain(part.chars()) {
            mantissa = mantissa.saturating_mul(10).saturating_add(u128::from(digit.to_digit(10)?));
        }
        let power = 10_u128.checked_pow(shift.unsigned_abs());
        let nano = match (power, shift >= 0) {
            (Some(power), true) => mantissa.saturating_mul(power),
            (None, true) if mantissa > 0 => u128::MAX,
            (Some(power), false) => mantissa.div_ceil(power),
            (None, false) => u128::from(mantissa > 0),
            (None, true) => 0,
        };
        Some(Self(u64::try_from(nano).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::Weight;

    #[test]
    fn decimals_are_read_exactly() {
        let nano = |text: &str| Weight::from_decimal(text).map(Weight::nano);
        assert_eq!(nano("1"), Some(1_000_000_000));
        assert_eq!(nano("0.5"), Some(500_000_000));
        assert_eq!(nano("1e-9"), Some(1));
        assert_eq!(nano("2.5E+1"), Some(25_000_000_000));
        assert_eq!(nano("123456789.0"), Some(123_456_789_000_000_000));
        assert_eq!(nano("0.0"), Some(0));
    }

    #[test]
    fn what_does_not_fit_is_rounded_away_from_zero_or_cut_at_the_largest() {
        let nano = |text: &str| Weight::from_decimal(text).map(Weight::nano);
        assert_eq!(nano("1e-12"), Some(1));
        assert_eq!(nano("1e-400"), Some(1));
        assert_eq!(nano("1e30"), Some(u64::MAX));
        assert_eq!(nano("1e400"), Some(u64::MAX));
        assert_eq!(nano("0e400"), Some(0));
    }

    #[test]
    fn what_is_no_weight_is_refused() {
        assert_eq!(["-1", "", ".", "one", "1e", "NaN"].map(Weight::from_decimal), [None; 6]);
    }
}
