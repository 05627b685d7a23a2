//! Shares of small trees, where every number can be worked out by hand.

use super::{Resource, Share, Shares, borrows_on, wide};
use crate::{
    amount::Amount,
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    weight::Weight,
};
use proptest::prelude::*;
use std::cmp::Ordering;

const ROOT: NodeIx = NodeIx(0);
const LEFT: NodeIx = NodeIx(1);
const RIGHT: NodeIx = NodeIx(2);
// A resource in two flavors, another in one.
const KINDS: [Resource; 3] = [Resource(0), Resource(1), Resource(0)];

fn queue(weight: Weight, nominal: [i64; 3]) -> NodeSpec {
    let quota = |units| Quota { nominal: Amount::new(units), ..Quota::default() };
    let quotas = nominal.iter().zip(0..).map(|(units, what)| (FlavorResource(what), quota(*units))).collect();
    NodeSpec { parent: Some(0), is_queue: true, weight, quotas }
}

fn pair(left: NodeSpec, right: NodeSpec) -> (Tree, Shares) {
    let tree = Tree::build(&[NodeSpec::default(), left, right], 3).unwrap();
    let shares = Shares::build(&tree, &KINDS);
    (tree, shares)
}

fn use_of(what: u32, units: i64) -> (FlavorResource, Amount) {
    (FlavorResource(what), Amount::new(units))
}

#[test]
fn a_share_is_what_is_borrowed_over_all_flavors_against_what_can_be_lent() {
    let (tree, shares) = pair(queue(Weight::ONE, [10, 10, 0]), queue(Weight::ONE, [10, 10, 20]));
    // 2 in one flavor and 3 in the other beyond its own, of 40 that could be lent.
    let share = shares.with(&tree, &tree.unused(), LEFT, &[use_of(0, 12), use_of(2, 3)]);
    assert_eq!((share.per_mille_ceil(), share.dominant(), share.borrows()), (125, Some(Resource(0)), true));
    // Unused quota of one flavor does not make up for borrowing in another.
    let share = shares.with(&tree, &tree.unused(), LEFT, &[use_of(2, 4)]);
    assert_eq!(share.per_mille_ceil(), 100);
}

#[test]
fn the_largest_fraction_is_dominant_and_the_first_of_equal_ones() {
    let (tree, shares) = pair(queue(Weight::ONE, [0, 0, 0]), queue(Weight::ONE, [10, 20, 0]));
    let share = shares.with(&tree, &tree.unused(), LEFT, &[use_of(0, 5), use_of(1, 11)]);
    assert_eq!((share.per_mille_ceil(), share.dominant()), (550, Some(Resource(1))));
    let share = shares.with(&tree, &tree.unused(), LEFT, &[use_of(0, 5), use_of(1, 10)]);
    assert_eq!((share.per_mille_ceil(), share.dominant()), (500, Some(Resource(0))));
}

#[test]
fn usage_within_quota_and_roots_have_no_share() {
    let (tree, shares) = pair(queue(Weight::ZERO, [10, 0, 0]), queue(Weight::ONE, [10, 0, 0]));
    let mut usage = tree.unused();
    usage.add(&tree, LEFT, FlavorResource(0), Amount::new(10));
    let share = shares.of(&tree, &usage, LEFT);
    assert_eq!((share.per_mille_ceil(), share.borrows(), share.is_zero()), (0, false, true));
    usage.add(&tree, LEFT, FlavorResource(0), Amount::new(90));
    assert!(!shares.of(&tree, &usage, ROOT).borrows());
}

#[test]
fn a_borrower_of_no_weight_is_beyond_all_others() {
    let heavy = queue(Weight::from_nano(1), [10, 0, 0]);
    let (tree, shares) = pair(queue(Weight::ZERO, [10, 0, 0]), heavy);
    let of = |node, units| shares.with(&tree, &tree.unused(), node, &[use_of(0, units)]);
    let (little, much, other) = (of(LEFT, 11), of(LEFT, 20), of(RIGHT, 20));
    assert_eq!(little.per_mille_ceil(), i64::MAX);
    assert_eq!(little.compare(&other), Ordering::Greater);
    assert_eq!(other.compare(&little), Ordering::Less);
    // Among themselves they compare what they borrow.
    assert_eq!(little.compare(&much), Ordering::Less);
    // Within its quota it is like anybody.
    assert_eq!(of(LEFT, 10).compare(&of(RIGHT, 10)), Ordering::Equal);
}

#[test]
fn borrowing_what_nobody_lends_is_borrowing_with_a_share_of_nothing() {
    let (tree, shares) = pair(queue(Weight::ONE, [0, 0, 0]), queue(Weight::ONE, [0, 0, 0]));
    let share = shares.with(&tree, &tree.unused(), LEFT, &[use_of(0, 1)]);
    assert_eq!((share.borrows(), share.is_zero(), share.per_mille_ceil()), (true, true, 0));
    let (tree, shares) = pair(queue(Weight::ZERO, [0, 0, 0]), queue(Weight::ONE, [0, 0, 0]));
    assert!(shares.with(&tree, &tree.unused(), LEFT, &[use_of(0, 1)]).is_beyond_all());
}

#[test]
fn borrowing_counts_only_on_what_is_asked_for() {
    let (tree, _) = pair(queue(Weight::ONE, [1, 1, 1]), queue(Weight::ONE, [9, 9, 9]));
    let mut usage = tree.unused();
    usage.add(&tree, LEFT, FlavorResource(0), Amount::new(5));
    assert!(borrows_on(&tree, &usage, LEFT, &[use_of(0, 1)]));
    assert!(!borrows_on(&tree, &usage, LEFT, &[use_of(1, 1), use_of(0, 0)]));
    // A root has nobody to borrow from.
    usage.add(&tree, LEFT, FlavorResource(0), Amount::new(90));
    assert!(!borrows_on(&tree, &usage, ROOT, &[use_of(0, 1)]));
}

#[test]
fn the_wide_product_carries() {
    assert_eq!(wide(u128::MAX, u64::MAX), (u128::MAX - (1 << 64), 1));
    assert_eq!(wide(1 << 64, 3), (3, 0));
}

#[test]
fn of_two_teams_with_equally_many_devices_the_one_on_fast_ones_has_the_larger_share() {
    let cohort = NodeSpec { quotas: queue(Weight::ONE, [10, 10, 10]).quotas, ..NodeSpec::default() };
    let team = queue(Weight::ONE, [0, 0, 0]);
    let tree = Tree::build(&[cohort, team.clone(), team], 3).unwrap();
    // The second flavor of the first resource does two and a half times the work.
    let by_work = Shares::build_by_work(&tree, &KINDS, &[1000, 1000, 2500]);
    let by_count = Shares::build(&tree, &KINDS);
    let of = |shares: &Shares, node, what| shares.with(&tree, &tree.unused(), node, &[use_of(what, 4)]);
    assert_eq!(of(&by_count, LEFT, 0).compare(&of(&by_count, RIGHT, 2)), Ordering::Equal);
    assert_eq!(of(&by_work, LEFT, 0).compare(&of(&by_work, RIGHT, 2)), Ordering::Less);
    // 4 of 10 + 25, and 10 of 10 + 25.
    assert_eq!([of(&by_work, LEFT, 0), of(&by_work, RIGHT, 2)].map(|share| share.per_mille_ceil()), [115, 286]);
    // Another resource is not touched by it.
    assert_eq!(of(&by_work, LEFT, 1), of(&by_count, LEFT, 1));
}

#[test]
fn the_slowest_device_still_counts_and_the_largest_amounts_do_not_wrap() {
    let huge = i64::MAX / 2;
    let (tree, _) = pair(queue(Weight::ONE, [0, 0, 0]), queue(Weight::ONE, [huge, 0, huge]));
    let shares = Shares::build_by_work(&tree, &KINDS, &[0, 0, u32::MAX]);
    let of = |what, units| shares.with(&tree, &tree.unused(), LEFT, &[use_of(what, units)]);
    assert!(of(0, 1).borrows() && !of(0, 1).is_zero());
    assert_eq!(of(2, huge).per_mille_ceil(), 1000);
}

proptest! {
    #[test]
    fn flavors_of_equal_speed_count_as_before(
        speed in 1..u32::MAX, left in prop::array::uniform3(0..i64::MAX), right in prop::array::uniform3(0..i64::MAX),
        used in prop::array::uniform3(0..i64::MAX),
    ) {
        let (tree, before) = pair(queue(Weight::ONE, left), queue(Weight::ONE, right));
        let by_work = Shares::build_by_work(&tree, &KINDS, &[speed; 3]);
        let more: Vec<_> = used.iter().zip(0..).map(|(units, what)| use_of(what, *units)).collect();
        for node in [ROOT, LEFT, RIGHT] {
            let usage = tree.unused();
            prop_assert_eq!(before.with(&tree, &usage, node, &more), by_work.with(&tree, &usage, node, &more));
        }
    }

    #[test]
    fn comparison_is_a_total_order_that_agrees_with_the_shown_number(
        raw in prop::collection::vec((1..i64::MAX, 1..i64::MAX, 0..u64::MAX), 3)
    ) {
        let shares: Vec<Share> = raw
            .iter()
            .map(|(borrowed, lendable, nano)| Share {
                weight: Weight::from_nano(*nano),
                borrowed: Amount::new(*borrowed),
                lendable: Amount::new(*lendable),
                dominant: Some(Resource(0)),
                borrows: true,
            })
            .collect();
        let [a, b, c] = [shares[0], shares[1], shares[2]];
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        if a.compare(&b).is_le() && b.compare(&c).is_le() {
            prop_assert!(a.compare(&c).is_le());
        }
        if a.per_mille_ceil() < b.per_mille_ceil() {
            prop_assert!(a.compare(&b).is_lt());
        }
    }

    #[test]
    fn a_heavier_node_has_the_smaller_share(borrowed in 1..i64::MAX, lendable in 1..i64::MAX, nano in 1..u64::MAX - 1) {
        let of = |nano| Share {
            weight: Weight::from_nano(nano),
            borrowed: Amount::new(borrowed),
            lendable: Amount::new(lendable),
            dominant: Some(Resource(0)),
            borrows: true,
        };
        prop_assert_eq!(of(nano + 1).compare(&of(nano)), Ordering::Less);
    }
}
