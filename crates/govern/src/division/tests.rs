//! Each pass of the division by example, and what must hold for any claims.

use super::{Claim, Rule, divide, divide_surplus};
use crate::amount::Amount;
use proptest::prelude::*;

fn claim(quota: i64, weight: u64, request: i64) -> Claim {
    Claim {
        quota: Amount::new(quota),
        weight,
        request: Amount::new(request),
        limit: Amount::UNLIMITED,
        priority: 0,
        rank: 0,
        usage_ppb: 0,
    }
}

fn shares(total: i64, rule: Rule, claims: &[Claim]) -> (Vec<i64>, i64) {
    let divided = divide(Amount::new(total), rule, claims);
    (divided.shares.iter().map(|share| share.units()).collect(), divided.rest.units())
}

#[test]
fn quotas_are_not_cut_when_over_committed() {
    assert_eq!(shares(10, Rule::PLAIN, &[claim(8, 1, 9), claim(8, 1, 9)]), (vec![8, 8], 0));
}

#[test]
fn surplus_goes_by_weight_and_what_one_leaves_goes_round_again() {
    assert_eq!(shares(8, Rule::PLAIN, &[claim(2, 1, 6), claim(2, 3, 6)]), (vec![3, 5], 0));
    assert_eq!(shares(10, Rule::PLAIN, &[claim(0, 1, 2), claim(0, 1, 20)]), (vec![2, 8], 0));
    assert_eq!(shares(10, Rule::PLAIN, &[claim(0, 0, 20)]), (vec![0], 10));
}

#[test]
fn a_higher_priority_is_served_first() {
    let first = Claim { priority: 1, ..claim(1, 1, 5) };
    assert_eq!(shares(6, Rule::PLAIN, &[claim(1, 9, 5), first]), (vec![1, 5], 0));
}

#[test]
fn the_largest_remainder_and_then_the_oldest_gets_the_last_unit() {
    let young = Claim { rank: 1, ..claim(0, 1, 9) };
    assert_eq!(shares(3, Rule::PLAIN, &[young, claim(0, 1, 9)]), (vec![1, 2], 0));
    assert_eq!(shares(3, Rule::PLAIN, &[claim(0, 7, 9), claim(0, 8, 9)]).0, [1, 2]);
}

#[test]
fn only_whole_units_are_given_but_a_part_can_be_asked_for() {
    let rule = Rule { whole: 1000, ..Rule::PLAIN };
    assert_eq!(shares(2000, rule, &[claim(3000, 0, 1500)]), (vec![1500], 500));
    assert_eq!(shares(3500, rule, &[claim(0, 1, 9000), claim(0, 1, 9000)]), (vec![2000, 1500], 0));
}

#[test]
fn past_use_lowers_the_portion() {
    let rule = Rule { whole: 1, usage_factor_milli: 1000 };
    let heavy = Claim { usage_ppb: 500_000_000, ..claim(0, 1, 100) };
    // 1/2 + (1/2 - 1/2) against 1/2 + (1/2 - 0).
    assert_eq!(shares(30, rule, &[heavy, claim(0, 1, 100)]), (vec![10, 20], 0));
    let total = Claim { usage_ppb: 1_000_000_000, ..heavy };
    assert_eq!(shares(30, rule, &[total, claim(0, 1, 100)]), (vec![0, 30], 0));
}

#[test]
fn an_unlimited_quota_is_the_total() {
    assert_eq!(shares(7, Rule::PLAIN, &[Claim { quota: Amount::UNLIMITED, ..claim(0, 0, 9) }]), (vec![7], 0));
}

#[test]
fn huge_numbers_do_not_overflow() {
    let rule = Rule { whole: 1_000_000, usage_factor_milli: u64::MAX };
    let huge = Claim { quota: Amount::ZERO, weight: u64::MAX, ..claim(0, 0, i64::MAX) };
    let divided = divide_surplus(Amount::new(i64::MAX - 1), rule, &[huge, huge], vec![Amount::ZERO; 2]);
    assert!(divided.shares.iter().all(|share| share.units() >= 0));
    assert_eq!(shares(i64::MAX - 1, Rule::PLAIN, &[huge, huge]).1, 0);
}

prop_compose! {
    fn any_claim()(quota in 0_i64..20, weight in 0_u64..5, request in 0_i64..40, limit in prop_oneof![Just(i64::MAX), 0_i64..30],
        priority in 0_i32..3, usage_ppb in 0_u64..1_000_000_000) -> Claim {
        Claim { limit: Amount::new(limit), priority, usage_ppb, ..claim(quota, weight, request) }
    }
}

fn any_claims() -> impl Strategy<Value = Vec<Claim>> {
    prop::collection::vec(any_claim(), 1..7).prop_map(|mut claims| {
        claims.iter_mut().zip(0..).for_each(|(claim, rank)| claim.rank = rank);
        claims
    })
}

proptest! {
    #[test]
    fn nobody_gets_more_than_it_asks_or_may_have(total in 0_i64..100, factor in 0_u64..3000, claims in any_claims()) {
        let rule = Rule { whole: 1, usage_factor_milli: factor };
        let (shares, rest) = shares(total, rule, &claims);
        let mut kept = 0;
        for (share, claim) in shares.iter().zip(&claims) {
            let wanted = claim.request.min(claim.limit).units();
            let quota = claim.quota.units().min(wanted);
            prop_assert!(quota <= *share && *share <= wanted);
            kept += quota;
        }
        let sum: i64 = shares.iter().sum();
        prop_assert_eq!(sum + rest, total.max(kept));
    }

    #[test]
    fn the_order_of_the_list_does_not_matter(total in 0_i64..100, factor in 0_u64..3000, claims in any_claims()) {
        let rule = Rule { whole: 1, usage_factor_milli: factor };
        let reversed: Vec<Claim> = claims.iter().rev().copied().collect();
        let (mut back, rest) = shares(total, rule, &reversed);
        back.reverse();
        prop_assert_eq!((back, rest), shares(total, rule, &claims));
    }

    #[test]
    fn more_weight_is_never_less(total in 0_i64..100, more in 1_u64..5, claims in any_claims()) {
        let mut heavier = claims.clone();
        heavier[0].weight += more;
        // One unit may go elsewhere by rounding.
        prop_assert!(shares(total, Rule::PLAIN, &heavier).0[0] + 1 >= shares(total, Rule::PLAIN, &claims).0[0]);
    }
}
