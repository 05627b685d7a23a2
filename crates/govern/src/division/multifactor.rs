//! Priority as a sum of weighted factors, and bills as a sum of weighted resources: the way of batch systems. Whole numbers
//! throughout: a factor is a value against the largest value of its kind, and its product with the weight is rounded down.

/// The weighted part of one factor: the value against the largest of its kind, times the weight.
#[must_use]
pub fn normalised(value: u64, largest: u64, weight: u64) -> u64 {
    let product = u128::from(value) * u128::from(weight);
    u64::try_from(product.checked_div(u128::from(largest)).unwrap_or(0)).unwrap_or(u64::MAX)
}

/// The weighted part of one factor that is taken as it is.
#[must_use]
pub const fn raw(value: u64, weight: u64) -> u64 {
    value.saturating_mul(weight)
}

/// How the resources of a job become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// All together.
    Sum,
    /// The largest alone.
    Largest,
}

/// The bill of a job: amounts with their weights. Both may be in thousandths or what the caller likes; the bill is in their
/// product.
pub fn bill(how: Billing, amounts: impl IntoIterator<Item = (u64, u64)>) -> u128 {
    let parts = amounts.into_iter().map(|(amount, weight)| u128::from(amount) * u128::from(weight));
    match how {
        Billing::Sum => parts.fold(0, u128::saturating_add),
        Billing::Largest => parts.max().unwrap_or(0),
    }
}

/// The priority of a job that is not held: its factors, more or less what the site and the user say, from 1 to 2^32 - 1. Zero
/// stands for held jobs and is never reached.
#[must_use]
pub fn priority(factors: impl IntoIterator<Item = u64>, site: i64, nice: i64) -> u32 {
    let sum: i128 = factors.into_iter().map(i128::from).sum();
    let sum = (sum + i128::from(site) - i128::from(nice)).clamp(1, i128::from(u32::MAX));
    u32::try_from(sum).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Billing, bill, normalised, priority, raw};

    #[test]
    fn factors_are_against_the_largest() {
        assert_eq!([normalised(10, 20, 5000), normalised(20, 20, 5000), normalised(3, 0, 5000)], [2500, 5000, 0]);
        assert_eq!(raw(10, 5000), 50_000);
    }

    #[test]
    fn a_bill_is_a_sum_or_the_largest() {
        let parts = [(16, 1000), (60, 250)];
        assert_eq!([bill(Billing::Sum, parts), bill(Billing::Largest, parts)], [31_000, 16_000]);
    }

    #[test]
    fn a_priority_is_never_that_of_a_held_job() {
        assert_eq!([priority([5, 6], 1, 2), priority([], 0, 100), priority([u64::MAX], 0, 0)], [10, 1, u32::MAX]);
    }
}
