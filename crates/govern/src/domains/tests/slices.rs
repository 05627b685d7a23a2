//! Slices, balanced shares and replacement.

use super::*;

#[test]
fn every_slice_is_whole_in_its_domain() {
    // 5, 3 and 4 pods in racks: two, one and two pairs.
    let domains = tree(&[("b/r1/x1", 3), ("b/r1/x2", 2), ("b/r2/x3", 3), ("b/r3/x4", 2), ("b/r3/x5", 2)]);
    let pairs = |count| want(count, Spread::Required(BLOCK)).slices(&[slice(RACK, 2)]);
    assert_eq!(pairs(4).at(&domains), "x4:2 x5:2", "of two racks with two pairs the one that has less left over");
    assert_eq!(pairs(10).at(&domains), "x1:2 x2:2 x3:2 x4:2 x5:2");
    assert_eq!(pairs(12).fits(&domains), (5, 6, Unit::Slices), "twelve pods would fit");
    let in_hosts = want(8, Spread::Required(BLOCK)).slices(&[slice(HOST, 2)]);
    assert_eq!(in_hosts.at(&domains), "x1:2 x2:2 x4:2 x5:2");
}

#[test]
fn slices_alone_may_be_anywhere_but_each_in_its_domain() {
    let domains = tree(&[("b1/r1/x1", 4), ("b1/r2/x2", 2), ("b2/r3/x3", 3)]);
    let anywhere = |count| want(count, Spread::Unconstrained).slices(&[slice(HOST, 2)]);
    assert_eq!(anywhere(2).at(&domains), "x3:2", "the block with the least free");
    assert_eq!(anywhere(8).at(&domains), "x1:4 x2:2 x3:2");
    assert_eq!(anywhere(10).fits(&domains), (4, 5, Unit::Slices));
}

#[test]
fn finer_layers_round_what_each_child_can_hold() {
    // Both racks hold six pods; only in the second are they three pairs.
    let domains = tree(&[("b/r1/x1", 3), ("b/r1/x2", 3), ("b/r2/x3", 2), ("b/r2/x4", 2), ("b/r2/x5", 2)]);
    let layers = [slice(RACK, 6), slice(HOST, 2)];
    assert_eq!(want(6, Spread::Required(RACK)).slices(&layers).at(&domains), "x3:2 x4:2 x5:2");
    let refused = want(12, Spread::Required(BLOCK)).slices(&layers).place(&domains, 1).unwrap_err();
    let fits = |layer, fits, of| LayerFit { layer, fits, of };
    let Refusal::DoesNotFit { layers: found, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(found, [fits(layers[0], 1, 2), fits(layers[1], 5, 6)]);
}

#[test]
fn rounding_reaches_through_levels_that_no_layer_names() {
    let levels = ["block", "row", "rack", "host"].map(str::to_owned).to_vec();
    let node = |path: &str, cpu: i64| {
        let mut node = node("b/r/x", cpu);
        let keys = ["block", "row", "rack", "host"].into_iter().zip(path.split('/'));
        node.labels = keys.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        node
    };
    // Pairs in hosts; blocks of four. Row w1 has 3 + 1 in hosts, which is one pair, not two.
    let nodes = [node("b/w1/r1/x1", 3), node("b/w1/r2/x2", 1), node("b/w2/r3/x3", 2), node("b/w2/r3/x4", 1)];
    let domains = Domains::build(&DomainsSpec { levels, ..spec() }, &nodes).unwrap();
    let layers = [slice(LevelIx(0), 4), slice(LevelIx(3), 2)];
    assert_eq!(want(4, Spread::Required(BLOCK)).slices(&layers).at(&domains), "x1:2 x3:2");
    let refused = want(8, Spread::Required(BLOCK)).slices(&layers).place(&domains, 1).unwrap_err();
    assert!(matches!(refused, Refusal::DoesNotFit { fits: 1, of: 2, .. }), "seven pods, four in pairs: {refused:?}");
}

#[test]
fn three_layers_hold_together() {
    // Blocks of 8, racks of 4, hosts of 2.
    let layers = [slice(BLOCK, 8), slice(RACK, 4), slice(HOST, 2)];
    let even = tree(&[("b/r1/x1", 3), ("b/r1/x2", 3), ("b/r2/x3", 2), ("b/r2/x4", 5)]);
    let asked = want(8, Spread::Required(BLOCK)).slices(&layers);
    assert_eq!(asked.at(&even), "x1:2 x2:2 x3:2 x4:2", "inside a slice the fullest hosts go first");
    let odd = tree(&[("b/r1/x1", 3), ("b/r1/x2", 1), ("b/r2/x3", 2), ("b/r2/x4", 5)]);
    assert!(asked.place(&odd, 1).is_err(), "three and one make no two pairs");
    let spread = tree(&[("b/r1/x1", 6), ("b/r2/x2", 6), ("b/r3/x3", 2)]);
    assert_eq!(asked.at(&spread), "x1:4 x2:4", "six pods of a rack are one four");
}

#[test]
fn with_a_leader_slices_stay_whole_as_well() {
    let domains = tree(&[("b/r1/x1", 4), ("b/r1/x2", 3), ("b/r2/x3", 2)]);
    let asked = want(6, Spread::Required(BLOCK)).slices(&[slice(HOST, 2)]).led(1);
    assert_eq!(asked.at(&domains), "x1:4 x2:2 leader x2", "the third pod of x2 makes room for it");
    let inner = want(4, Spread::Required(RACK)).slices(&[slice(RACK, 4), slice(HOST, 2)]).led(1);
    assert_eq!(inner.at(&domains), "x1:2 x2:2 leader x2");
}

#[test]
fn balanced_shares_are_even_where_filling_would_not_be() {
    let domains = tree(&[("b/r1/x1", 6), ("b/r1/x2", 6), ("b/r2/x3", 6), ("b/r2/x4", 1)]);
    let preferred = |count| want(count, Spread::Preferred(RACK));
    assert_eq!(preferred(8).at(&domains), "x1:6 x2:2");
    assert_eq!(preferred(8).balanced().at(&domains), "x1:4 x2:4");
    assert_eq!(preferred(7).balanced().at(&domains), "x1:4 x2:3", "the rest goes to the first");
    assert_eq!(preferred(6).balanced().at(&domains), "x3:6", "one host is enough, in the rack with less room");
    assert_eq!(preferred(13).balanced().at(&domains), "x1:5 x2:4 x3:4", "the host with one is left out");
    assert_eq!(preferred(19).balanced().at(&domains), preferred(19).at(&domains), "every host is needed");
    let unconstrained = |balanced: bool| Want { balanced, ..want(8, Spread::Unconstrained) };
    assert_eq!(unconstrained(true).at(&domains), unconstrained(false).at(&domains), "only for what prefers a level");
}

#[test]
fn balanced_chooses_domains_with_the_least_room() {
    let domains = tree(&[("b/r/x1", 9), ("b/r/x2", 5), ("b/r/x3", 5), ("b/r/x4", 4)]);
    let hosts = want(10, Spread::Preferred(HOST)).balanced();
    assert_eq!(hosts.at(&domains), "x2:5 x3:5", "two hosts with no room left over");
    let led = want(9, Spread::Preferred(HOST)).balanced().led(1);
    assert_eq!(led.at(&domains), "x2:4 x3:5 leader x2", "ten places are enough with the leader");
}

#[test]
fn among_equal_racks_the_even_one_is_balanced_first() {
    let domains = tree(&[("b/r1/x1", 5), ("b/r1/x2", 3), ("b/r2/x3", 4), ("b/r2/x4", 4)]);
    assert_eq!(want(6, Spread::Preferred(RACK)).balanced().at(&domains), "x3:3 x4:3");
}

#[test]
fn a_domain_that_cannot_take_its_share_beside_the_leader_is_not_given_it() {
    // A leader of 3 leaves 6, 4 and 3. Ten pods would just fit into x2 and x3, but not five and five.
    let domains = tree(&[("b/r/x1", 9), ("b/r/x2", 7), ("b/r/x3", 6)]);
    let asked = want(10, Spread::Preferred(HOST)).balanced().led(3);
    assert_eq!(asked.at(&domains), "x1:5 x3:5 leader x1");
}

#[test]
fn a_smaller_share_is_tried_where_the_leader_needs_it() {
    // Workers of 2, a leader of 3: it costs two of them on a, b and d, on c one. With shares of six d is left out, and then the
    // rack that takes the leader first has too little; with shares of four, what fits beside a leader on b, it has not.
    let domains = tree(&[("b/r1/a", 20), ("b/r1/b", 12), ("b/r2/c", 21), ("b/r2/d", 10)]);
    let placed = want(25, Spread::Preferred(RACK)).balanced().led(3).place(&domains, 2).unwrap();
    assert_eq!(hosts(&domains, &placed.pods), "a:10 b:6 c:9");
    assert_eq!(domains.path(placed.leader.unwrap())[2], "c");
}

#[test]
fn lost_pods_come_back_where_the_request_allows() {
    let domains = tree(&[("b1/r1/x1", 4), ("b1/r1/x2", 4), ("b1/r2/x3", 4), ("b2/r3/x4", 3), ("b2/r3/x5", 9)]);
    let (one, any) = (cpu(1), domains.eligible(&Needs::default()));
    let leaf = |name: &str| domains.leaf_indexes().find(|leaf| domains.path(*leaf)[2] == name).unwrap();
    let again = |spread, slices: &[Layer], kept: &[(&str, u32)], lost| {
        let set = PodSet { per_pod: &one, count: 0, spread, slices, eligible: &any, group: None };
        let kept = Placement(kept.iter().map(|(name, pods)| (leaf(name), *pods)).collect());
        let mut load = domains.unused();
        load.place(&domains, &domains.per_pod(&one), &kept);
        replace(&domains, &load, &set, &kept, lost).map(|all| hosts(&domains, &all))
    };
    let anywhere = again(Spread::Unconstrained, &[], &[("x1", 2)], 2);
    assert_eq!(anywhere.unwrap(), "x1:4", "two are left there, and that is the least");
    let in_rack = again(Spread::Required(RACK), &[], &[("x1", 4)], 3);
    assert_eq!(in_rack.unwrap(), "x1:4 x2:3", "not in the rack of three");
    assert!(again(Spread::Required(RACK), &[], &[("x1", 4)], 5).is_err(), "the rack has four left");
    // Slices of four in a rack: two were left of one, so the two come back there.
    let slices = [slice(RACK, 4)];
    let slice_again = again(Spread::Required(BLOCK), &slices, &[("x1", 4), ("x3", 2)], 2);
    assert_eq!(slice_again.unwrap(), "x1:4 x3:4");
    let whole = again(Spread::Required(BLOCK), &slices, &[("x1", 4)], 4);
    assert_eq!(whole.unwrap(), "x1:4 x2:4", "a whole slice may go anywhere in the block");

    // Racks of four, hosts of two: the pair must come back whole, and r4 has only single places left.
    let domains = tree(&[("b/r3/x1", 2), ("b/r3/x2", 2), ("b/r4/x4", 3), ("b/r4/x5", 1)]);
    let (layers, any) = ([slice(RACK, 4), slice(HOST, 2)], domains.eligible(&Needs::default()));
    let (mut load, per_pod) = (domains.unused(), domains.per_pod(&one));
    let kept = Placement(vec![(LeafIx(0), 2), (LeafIx(1), 2), (LeafIx(2), 2)]);
    load.place(&domains, &per_pod, &kept);
    let spread = Spread::Required(BLOCK);
    let set = PodSet { per_pod: &one, count: 8, spread, slices: &layers, eligible: &any, group: None };
    let refused = replace(&domains, &load, &set, &kept, 2).unwrap_err();
    let Refusal::DoesNotFit { fits: 0, of: 1, unit: Unit::Slices, excluded, .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((excluded.elsewhere, excluded.leaves), (2, 4));
}
