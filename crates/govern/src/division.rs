//! Fair shares by division: a total of one resource is divided among the queues of one level in three passes.
//!
//! ```text
//!   1. quota      everyone gets its quota or what it asks for, whichever is less; nobody is cut when quotas
//!                 are over-committed
//!   2. surplus    by priority, then by weight, in whole units, until nobody who still asks got too little
//!   3. remainders what rounding left goes one unit each to the largest remainders, then to the oldest
//! ```
//!
//! Past use can shift the weights of the second pass ([`usage`] says how it is measured). Each resource is divided for itself,
//! and below a node its own share is the total. The arithmetic is exact: portions are fractions over one common sum; only when
//! that sum passes 63 bits are the portions rounded to fit, and remainders are compared to one part in 2^40.

pub mod fraction;
pub mod multifactor;
pub mod usage;

use crate::amount::Amount;

/// What one queue brings to the division of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Its quota.
    pub quota: Amount,
    /// Its weight when the surplus is divided; only the ratio to its siblings counts.
    pub weight: u64,
    /// What it uses and waits for, together.
    pub request: Amount,
    /// What it may have at most.
    pub limit: Amount,
    /// Who is served first from the surplus: higher before lower.
    pub priority: i32,
    /// Its place among its siblings by age, then by name. Breaks ties.
    pub rank: u64,
    /// What of the cluster it used in the past, in parts per billion.
    pub usage_ppb: u64,
}

/// How to divide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// How many of the smallest unit make a whole one, at most 2^24; a share that is cut is cut to whole ones. A whole one that
    /// rounding left may pass a request that is no whole number.
    pub whole: i64,
    /// How strongly past use counts against a queue, in thousandths; nothing turns it off.
    pub usage_factor_milli: u64,
}

impl Rule {
    /// Whole units of one, past use does not count.
    pub const PLAIN: Self = Self { whole: 1, usage_factor_milli: 0 };
}

/// A division.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// One for each claim, in their order.
    pub shares: Vec<Amount>,
    /// What nobody got.
    pub rest: Amount,
}

// Numbers as wide as the arithmetic needs; unlimited amounts are far above any total.
#[derive(Debug, Clone, Copy)]
struct Row {
    wanted: i128,
    share: i128,
    // What rounding kept from it, in 2^-40 of a whole unit.
    remainder: u128,
    portion: u128,
}

const REMAINDER_BITS: u32 = 40;
const PORTION_BITS: u32 = 63;
const WHOLE_MAX: i64 = 1 << 24;
const BILLION: i128 = 1_000_000_000;

/// What a queue asks for and may have.
fn wanted(claim: &Claim) -> Amount {
    claim.request.min(claim.limit)
}

/// Divides a total.
#[must_use]
pub fn divide(total: Amount, rule: Rule, claims: &[Claim]) -> Shares {
    let shares: Vec<Amount> = claims
        .iter()
        .map(|claim| {
            let quota = if claim.quota.is_unlimited() { total } else { claim.quota };
            quota.min(wanted(claim)).or_zero()
        })
        .collect();
    let rest = shares.iter().fold(total, |rest, share| rest.minus(*share)).or_zero();
    divide_surplus(rest, rule, claims, shares)
}

/// Divides a surplus among queues that have something already.
///
/// # Panics
/// When the shares are not one for each claim.
#[must_use]
pub fn divide_surplus(surplus: Amount, rule: Rule, claims: &[Claim], shares: Vec<Amount>) -> Shares {
    assert_eq!(claims.len(), shares.len(), "one share for each claim");
    let mut rows: Vec<Row> = claims
        .iter()
        .zip(&shares)
        .map(|(claim, share)| Row {
            wanted: i128::from(wanted(claim).units()),
            share: i128::from(share.units()),
            remainder: 0,
            portion: 0,
        })
        .collect();
    let mut rest = i128::from(surplus.units().max(0));
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(claims[at].priority), claims[at].rank, at));
    for level in order.chunk_by(|left, right| claims[*left].priority == claims[*right].priority) {
        by_weight(&mut rest, rule, claims, level, &mut rows);
        by_remainder(&mut rest, rule, level, &mut rows);
        if rest == 0 {
            break;
        }
    }
    let back = |units: i128| Amount::new(i64::try_from(units).unwrap_or(i64::MAX));
    Shares { shares: rows.iter().map(|row| back(row.share)).collect(), rest: back(rest) }
}

// Sets the portions of those who still ask; says their sum.
fn set_portions(rule: Rule, claims: &[Claim], level: &[usize], rows: &mut [Row]) -> u128 {
    let asks = |row: &Row| row.wanted > row.share;
    let weights: i128 = level.iter().filter(|&&at| asks(&rows[at])).map(|&at| i128::from(claims[at].weight)).sum();
    if weights == 0 {
        return 0;
    }
    let factor = i128::from(rule.usage_factor_milli);
    let mut sum: u128 = 0;
    for &at in level {
        let claim = &claims[at];
        let weight = i128::from(claim.weight);
        let portion = if !asks(&rows[at]) {
            0
        } else if factor == 0 {
            weight
        } else {
            // n + k (n - u), times weights, a thousand and a billion.
            let used = factor.saturating_mul(i128::from(claim.usage_ppb)).saturating_mul(weights);
            weight.saturating_mul(1000 + factor).saturating_mul(BILLION).saturating_sub(used)
        };
        rows[at].portion = u128::try_from(portion).unwrap_or(0);
        sum = sum.saturating_add(rows[at].portion);
    }
    let excess = (u128::BITS - sum.leading_zeros()).saturating_sub(PORTION_BITS);
    level.iter().fold(0, |sum, &at| {
        rows[at].portion >>= excess;
        sum + rows[at].portion
    })
}

fn by_weight(rest: &mut i128, rule: Rule, claims: &[Claim], level: &[usize], rows: &mut [Row]) {
    let whole = u128::from(rule.whole.clamp(1, WHOLE_MAX).unsigned_abs());
    loop {
        let sum = set_portions(rule, claims, level, rows);
        if sum == 0 || *rest == 0 {
            return;
        }
        let (round, mut again) = (rest.unsigned_abs(), false);
        for &at in level {
            let row = &mut rows[at];
            if row.portion == 0 || row.wanted <= row.share {
                continue;
            }
            let (fair, missing) = (round * row.portion, row.wanted - row.share);
            let missing_scaled = missing.unsigned_abs() * sum;
            let give = if missing_scaled <= fair {
                row.remainder = 0;
                again |= missing_scaled < fair && missing > 0;
                missing
            } else {
                let (count, left) = (fair / (sum * whole), fair % (sum * whole));
                if left > 0 {
                    row.remainder = (left << REMAINDER_BITS) / (sum * whole);
                }
                i128::try_from(count * whole).unwrap_or(i128::MAX)
            };
            row.share += give;
            *rest = (*rest - give).max(0);
        }
        if !again {
            return;
        }
    }
}

fn by_remainder(rest: &mut i128, rule: Rule, level: &[usize], rows: &mut [Row]) {
    let mut left: Vec<usize> = level.iter().copied().filter(|&at| rows[at].remainder > 0).collect();
    // The level is in order of age; the sort is stable.
    left.sort_by_key(|&at| std::cmp::Reverse(rows[at].remainder));
    for at in left {
        let give = i128::from(rule.whole.clamp(1, WHOLE_MAX)).min(*rest);
        rows[at].share += give;
        *rest -= give;
    }
}

#[cfg(test)]
mod tests;
