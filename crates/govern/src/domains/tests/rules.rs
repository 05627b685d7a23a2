//! The rules one by one, without slices.

use super::*;
use std::collections::BTreeMap;

const TWO_BLOCKS: &[(&str, i64)] =
    &[("b1/r1/x1", 4), ("b1/r1/x2", 2), ("b1/r2/x3", 3), ("b1/r2/x4", 3), ("b2/r3/x5", 5), ("b2/r3/x6", 1)];

#[test]
fn a_leaf_holds_what_its_shortest_resource_allows() {
    let mut full = node("b/r/x", 10);
    full.capacity.push((GPU, Amount::new(6)));
    full.others = vec![(CPU, Amount::new(3)), (PODS, Amount::new(97))];
    let domains = Domains::build(&spec(), &[full]).unwrap();
    let load = domains.unused();
    let eligible = domains.eligible(&Needs::default());
    let count = |cpu: i64, gpu: i64| {
        let per_pod = [(CPU, Amount::new(cpu)), (GPU, Amount::new(gpu))];
        let spread = Spread::Unconstrained;
        let ask = Ask {
            per_pod: &per_pod,
            count: 1,
            leader: None,
            spread,
            slices: &[],
            eligible: &eligible,
            within: None,
            balanced: false,
        };
        Room::new(&domains, &load, Plan::new(&domains, &ask).unwrap()).pods(&domains, HOST)
    };
    assert_eq!(count(1, 0), 3, "three pods more, whatever they take");
    assert_eq!(count(3, 1), 2, "seven of ten CPU are free");
    assert_eq!(count(0, 6), 1);
    assert_eq!(count(0, 7), 0);
    assert_eq!(count(-5, 0), 3, "less than nothing counts as nothing");
}

#[test]
fn required_takes_the_smallest_domain_that_holds_all() {
    let domains = tree(TWO_BLOCKS);
    let required = |count, level| want(count, Spread::Required(level));
    assert_eq!(required(3, HOST).at(&domains), "x3:3", "of two equal ones the first by name");
    assert_eq!(required(4, HOST).at(&domains), "x1:4");
    assert_eq!(required(6, RACK).at(&domains), "x1:4 x2:2", "three racks of six: the first");
    assert_eq!(required(6, BLOCK).at(&domains), "x5:5 x6:1", "the block of six, not the one of twelve");
    assert_eq!(required(7, RACK).fits(&domains), (6, 7, Unit::Pods));
    assert_eq!(required(13, BLOCK).fits(&domains), (12, 13, Unit::Pods));
}

#[test]
fn going_down_as_few_domains_as_possible_are_used_and_the_last_is_chosen_best() {
    let domains = tree(TWO_BLOCKS);
    let at = |count| want(count, Spread::Required(BLOCK)).at(&domains);
    assert_eq!(at(1), "x6:1", "a block, a rack and a host that are no larger than need be");
    assert_eq!(at(8), "x1:4 x2:1 x3:3", "six from one rack, then the rest from the largest hosts of both racks");
    assert_eq!(at(12), "x1:4 x2:2 x3:3 x4:3");
}

#[test]
fn preferred_goes_up_and_at_the_top_over_several() {
    let domains = tree(TWO_BLOCKS);
    let preferred = |count, level| want(count, Spread::Preferred(level));
    assert_eq!(preferred(5, HOST).at(&domains), "x5:5");
    assert_eq!(preferred(6, HOST).at(&domains), "x1:4 x2:2", "no host, but a rack");
    assert_eq!(preferred(9, HOST).at(&domains), "x1:4 x2:2 x3:3", "no rack, but a block");
    assert_eq!(preferred(14, HOST).at(&domains), "x1:4 x2:2 x3:3 x5:5", "both blocks, the last host chosen best");
    assert_eq!(preferred(19, HOST).fits(&domains), (18, 19, Unit::Pods));
}

#[test]
fn unconstrained_fills_the_fullest_first() {
    let domains = tree(TWO_BLOCKS);
    let at = |count| want(count, Spread::Unconstrained).at(&domains);
    assert_eq!(at(1), "x6:1", "the host with the least free that holds all");
    assert_eq!(at(2), "x2:2");
    assert_eq!(at(6), "x2:2 x3:3 x6:1", "none holds all: from the least free on");
    assert_eq!(want(19, Spread::Unconstrained).fits(&domains), (18, 19, Unit::Pods));
}

#[test]
fn what_is_used_is_not_free() {
    let domains = tree(TWO_BLOCKS);
    let mut load = domains.unused();
    let per_pod = domains.per_pod(&cpu(1));
    let room = want(6, Spread::Required(RACK)).room(&domains, &load, 1).unwrap();
    let first = room.place(&domains, &load).unwrap().pods;
    load.place(&domains, &per_pod, &first);
    let second = want(6, Spread::Required(RACK)).room(&domains, &load, 1).unwrap().place(&domains, &load).unwrap();
    assert_eq!(hosts(&domains, &second.pods), "x3:3 x4:3");
    assert!(!load.has_room(&per_pod, &first) && load.has_room(&per_pod, &second.pods));
    load.unplace(&domains, &per_pod, &first);
    assert_eq!(load, domains.unused());
}

#[test]
fn more_than_there_is_can_be_used_and_given_back() {
    let domains = tree(&[("b/r/x", 4)]);
    let (mut load, huge) = (domains.unused(), domains.per_pod(&cpu(i64::MAX)));
    for _ in 0..3 {
        load.add(&domains, &huge, LeafIx(0), u32::MAX);
    }
    assert_eq!(load.free(LeafIx(0), CPU), Amount::new(i64::MIN));
    let room = want(1, Spread::Unconstrained).room(&domains, &load, 1).unwrap();
    assert_eq!((room.pods(&domains, HOST), room.fits(&domains)), (0, false));
    for _ in 0..3 {
        load.remove(&domains, &huge, LeafIx(0), u32::MAX);
    }
    assert_eq!(load, domains.unused());
}

#[test]
fn the_leader_goes_where_its_loss_leaves_room_for_the_workers() {
    // Workers of 2 CPU: 1, 2 and 1 fit. A leader of 1 CPU costs a worker on x1 and x2, on x3 none.
    let domains = tree(&[("b/r/x1", 2), ("b/r/x2", 4), ("b/r/x3", 3)]);
    for spread in [Spread::Preferred(RACK), Spread::Required(BLOCK), Spread::Unconstrained] {
        let placed = want(4, spread).led(1).place(&domains, 2).unwrap();
        assert_eq!(hosts(&domains, &placed.pods), "x1:1 x2:2 x3:1");
        assert_eq!(domains.path(placed.leader.unwrap()), ["b", "r", "x3"]);
    }
    let refused = want(4, Spread::Unconstrained).led(2).place(&domains, 2).unwrap_err();
    assert!(matches!(refused, Refusal::DoesNotFit { fits: 3, of: 4, for_leader: true, .. }), "{refused:?}");
    let refused = want(4, Spread::Unconstrained).led(5).place(&domains, 2).unwrap_err();
    assert!(matches!(refused, Refusal::DoesNotFit { fits: 0, of: 4, .. }), "no host takes the leader: {refused:?}");
}

#[test]
fn counts_hold_for_another_number_of_pods() {
    let domains = tree(TWO_BLOCKS);
    let load = domains.unused();
    let mut room = want(6, Spread::Required(RACK)).slices(&[slice(HOST, 2)]).room(&domains, &load, 1).unwrap();
    let mut fits = |count| room.set_count(&domains, count).map(|()| room.fits(&domains));
    assert_eq!([fits(6), fits(8), fits(4)], [Ok(true), Ok(false), Ok(true)]);
    assert_eq!(fits(5), Err(Refusal::NotWhole { count: 5, size: 2 }));
}

#[test]
fn one_domain_with_the_leader_is_taken_before_a_larger_one() {
    let domains = tree(&[("b/r1/x1", 5), ("b/r1/x2", 2), ("b/r2/x3", 6)]);
    assert_eq!(want(5, Spread::Required(HOST)).led(1).at(&domains), "x3:5 leader x3", "five and the leader");
    assert_eq!(want(5, Spread::Required(RACK)).led(1).at(&domains), "x3:5 leader x3", "six are enough");
    assert_eq!(want(4, Spread::Required(HOST)).led(1).at(&domains), "x1:4 leader x1");
    assert_eq!(want(6, Spread::Required(RACK)).led(1).at(&domains), "x1:4 x2:2 leader x1");
}

#[test]
fn leader_and_workers_are_one_group_whichever_comes_first() {
    let domains = tree(&[("b/r/x1", 4), ("b/r/x2", 4)]);
    let (one, eligible) = (cpu(1), domains.eligible(&Needs::default()));
    let set = |count, group| PodSet {
        per_pod: &one,
        count,
        spread: Spread::Required(RACK),
        slices: &[],
        eligible: &eligible,
        group,
    };
    let place = |sets: &[PodSet<'_>]| {
        let mut load = domains.unused();
        let answer = place_all(&domains, &mut load, sets, false);
        assert_eq!(load, domains.unused(), "the load is as before");
        let placed = answer.placed.iter().map(|set| set.as_ref().map(|set| hosts(&domains, set)));
        (placed.collect::<Vec<_>>(), answer.refused)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(place(&[set(1, Some(7)), set(5, Some(7))]), (vec![some("x1:1"), some("x1:3 x2:2")], None));
    assert_eq!(place(&[set(5, Some(7)), set(1, Some(7))]).0, [some("x1:3 x2:2"), some("x1:1")]);
    let (placed, refused) = place(&[set(3, None), set(1, Some(1)), set(5, Some(1)), set(1, None)]);
    assert_eq!(placed, [some("x1:3"), None, None, None], "what comes after is not tried");
    assert_eq!(refused.unwrap().sets, [1, 2], "three are taken, so five and a leader do not fit");
    for odd in [vec![set(2, Some(1)), set(2, Some(1))], vec![set(1, Some(1)), set(1, Some(1)), set(1, Some(1))]] {
        assert_eq!(place(&odd).1.unwrap().why, Refusal::NoLeaderAndWorkers);
    }
}

fn taint(key: &str, value: &str, effect: Effect) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
}

fn toleration(key: &str, operator: Tolerate, value: &str) -> Toleration {
    Toleration { key: key.to_owned(), operator, value: value.to_owned(), effect: None }
}

#[test]
fn a_refusal_counts_why_nodes_were_left_out() {
    let mut nodes: Vec<Node> = (1..=6).map(|host| node(&format!("b/r/x{host}"), 4)).collect();
    nodes[0].taints = vec![taint("soft", "", Effect::PreferNoSchedule), taint("a", "1", Effect::NoExecute)];
    nodes[0].capacity = cpu(0);
    nodes[1].labels.insert("zone".to_owned(), "z1".to_owned());
    nodes[2].labels.insert("zone".to_owned(), "z2".to_owned());
    nodes[2].capacity = cpu(1);
    nodes[3].labels.insert("zone".to_owned(), "z2".to_owned());
    nodes[3].capacity.push((GPU, Amount::new(9)));
    nodes[3].others = cpu(4);
    nodes[4].ready = false;
    nodes[5].labels.remove("rack");
    let domains = Domains::build(&spec(), &nodes).unwrap();
    let needs = Needs { selector: vec![("zone".to_owned(), "z2".to_owned())], ..Needs::default() };
    let (eligible, per_pod) = (domains.eligible(&needs), cpu(2));
    let set = PodSet {
        per_pod: &per_pod,
        count: 2,
        spread: Spread::Required(BLOCK),
        slices: &[],
        eligible: &eligible,
        group: None,
    };
    let why = place_all(&domains, &mut domains.unused(), &[set], false).refused.unwrap().why;
    let excluded = Excluded {
        leaves: 4,
        taints: BTreeMap::from([(taint("a", "1", Effect::NoExecute), 1)]),
        selector: 1,
        resources: BTreeMap::from([(CPU, 2)]),
        ..Excluded::default()
    };
    let unit = Unit::Pods;
    assert_eq!(why, Refusal::DoesNotFit { fits: 0, of: 2, unit, for_leader: false, layers: vec![], excluded });
}

#[test]
fn taints_are_tolerated_by_the_pod_or_the_flavor() {
    let mut tainted = node("b/r/x", 4);
    tainted.taints = vec![taint("gpu", "5", Effect::NoSchedule), taint("drain", "", Effect::NoExecute)];
    let flavor = DomainsSpec { tolerations: vec![toleration("drain", Tolerate::Exists, "")], ..spec() };
    let domains = Domains::build(&flavor, &[tainted]).unwrap();
    let fits =
        |tolerations: Vec<Toleration>| !domains.eligible(&Needs { tolerations, ..Needs::default() }).excluded.is_any();
    assert!(!fits(vec![]));
    assert!(fits(vec![toleration("gpu", Tolerate::Equal, "5")]));
    assert!(!fits(vec![toleration("gpu", Tolerate::Equal, "6")]));
    assert!(fits(vec![toleration("", Tolerate::Exists, "")]), "all taints");
    assert!(!fits(vec![toleration("", Tolerate::Equal, "5")]), "an equal value of no key is nothing");
    assert!(fits(vec![toleration("gpu", Tolerate::Less, "6")]) && !fits(vec![toleration("gpu", Tolerate::Less, "5")]));
    assert!(fits(vec![toleration("gpu", Tolerate::Greater, "4")]));
    assert!(!fits(vec![toleration("gpu", Tolerate::Greater, "many")]));
    let only = Toleration { effect: Some(Effect::NoExecute), ..toleration("gpu", Tolerate::Exists, "") };
    assert!(!fits(vec![only]), "of another effect");
}

#[test]
fn one_term_of_an_affinity_must_hold_in_whole() {
    let labels = BTreeMap::from([("zone".to_owned(), "a".to_owned()), ("size".to_owned(), "8".to_owned())]);
    let one = |key: &str, operator, values: &[&str]| {
        let (key, values) = (key.to_owned(), values.iter().map(|value| (*value).to_owned()).collect());
        Requirement { key, operator, values }
    };
    let holds = |key, operator, values: &[&str]| one(key, operator, values).holds(&labels);
    assert!(holds("zone", Compare::In, &["b", "a"]) && !holds("zone", Compare::In, &["b"]));
    assert!(!holds("rank", Compare::In, &["b"]) && holds("rank", Compare::NotIn, &["b"]));
    assert!(holds("zone", Compare::NotIn, &["b"]) && !holds("zone", Compare::NotIn, &["a"]));
    assert!(holds("zone", Compare::Exists, &[]) && !holds("rank", Compare::Exists, &[]));
    assert!(holds("rank", Compare::DoesNotExist, &[]) && !holds("zone", Compare::DoesNotExist, &[]));
    assert!(holds("size", Compare::Greater, &["7"]) && !holds("size", Compare::Greater, &["8"]));
    assert!(holds("size", Compare::Less, &["9"]) && !holds("zone", Compare::Less, &["9"]));
    assert!(!Term::default().holds(&labels), "an empty term matches nothing");
    let both = Term(vec![one("zone", Compare::In, &["a"]), one("size", Compare::In, &["9"])]);
    assert!(!both.holds(&labels));

    let mut here = node("b/r/x1", 4);
    here.labels.extend(labels.clone());
    let domains = Domains::build(&spec(), &[here, node("b/r/x2", 4)]).unwrap();
    let open = |terms: Vec<Term>| domains.eligible(&Needs { affinity: Some(terms), ..Needs::default() });
    assert_eq!(open(vec![both.clone()]).open, [false, false]);
    let other = open(vec![both, Term(vec![one("zone", Compare::Exists, &[])])]);
    assert_eq!((other.open, other.excluded.affinity), (vec![true, false], 1));
}

#[test]
fn a_liked_domain_goes_before_a_better_fitting_one() {
    let mut liked = node("b/r2/x3", 9);
    liked.labels.insert("fast".to_owned(), "yes".to_owned());
    let domains = Domains::build(&spec(), &[node("b/r1/x1", 3), node("b/r1/x2", 3), liked]).unwrap();
    let term = Term(vec![Requirement { key: "fast".to_owned(), operator: Compare::Exists, values: vec![] }]);
    let needs = Needs { preferred: vec![Weighted { weight: 10, term }], ..Needs::default() };
    let (liking, plain, one) = (domains.eligible(&needs), domains.eligible(&Needs::default()), cpu(1));
    let at = |eligible, count, spread| {
        let set = PodSet { per_pod: &one, count, spread, slices: &[], eligible, group: None };
        let answer = place_all(&domains, &mut domains.unused(), &[set], false);
        hosts(&domains, answer.placed[0].as_ref().unwrap())
    };
    assert_eq!(at(&plain, 3, Spread::Required(HOST)), "x1:3");
    assert_eq!(at(&liking, 3, Spread::Required(HOST)), "x3:3");
    assert_eq!(at(&liking, 3, Spread::Unconstrained), "x3:3");
    assert_eq!(at(&liking, 10, Spread::Preferred(RACK)), "x1:1 x3:9");
}

#[test]
fn a_leader_has_needs_of_its_own() {
    let mut nodes = [node("b/r/x1", 9), node("b/r/x2", 5)];
    nodes[1].labels.insert("front".to_owned(), "yes".to_owned());
    let domains = Domains::build(&spec(), &nodes).unwrap();
    let front = Needs { selector: vec![("front".to_owned(), "yes".to_owned())], ..Needs::default() };
    let (any, front, one) = (domains.eligible(&Needs::default()), domains.eligible(&front), cpu(1));
    let set = |count, eligible| PodSet {
        per_pod: &one,
        count,
        spread: Spread::Required(RACK),
        slices: &[],
        eligible,
        group: Some(0),
    };
    let answer = place_all(&domains, &mut domains.unused(), &[set(8, &any), set(1, &front)], false);
    assert_eq!(hosts(&domains, answer.placed[1].as_ref().unwrap()), "x2:1");
}

#[test]
fn leaves_that_are_no_nodes_are_sums_of_nodes() {
    let racks = DomainsSpec { levels: vec!["block".to_owned(), "rack".to_owned()], leaves_are_nodes: false, ..spec() };
    let mut nodes = [node("b/r1/x1", 3), node("b/r1/x2", 3), node("b/r2/x3", 4)];
    nodes[0].taints = vec![taint("a", "", Effect::NoSchedule)];
    let domains = Domains::build(&racks, &nodes).unwrap();
    let placed = want(6, Spread::Required(RACK)).place(&domains, 1).unwrap();
    let places: Vec<_> = placed.pods.0.iter().map(|(leaf, pods)| (domains.path(*leaf), *pods)).collect();
    assert_eq!(places, [(vec!["b", "r1"], 6)], "a taint is of a node, and the sum has none");
}

#[test]
fn only_nodes_of_the_flavor_are_in_the_tree() {
    let mut nodes = [node("b/r/x1", 4), node("b/r/x2", 4)];
    nodes[1].labels.insert("gpu".to_owned(), "h100".to_owned());
    let flavor = DomainsSpec { node_labels: vec![("gpu".to_owned(), "h100".to_owned())], ..spec() };
    let domains = Domains::build(&flavor, &nodes).unwrap();
    assert_eq!(domains.leaf_indexes().map(|leaf| domains.path(leaf)).collect::<Vec<_>>(), [["b", "r", "x2"]]);
    let none = Domains::build(&flavor, &nodes[..1]).unwrap();
    let refused = want(1, Spread::Required(RACK)).place(&none, 1).unwrap_err();
    assert_eq!(refused, Refusal::NoDomains { level: RACK });
    let room = want(1, Spread::Required(RACK)).room(&none, &none.unused(), 1).unwrap();
    assert!(!room.fits(&none));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let domains = tree(TWO_BLOCKS);
    let refused = |want: Want| want.place(&domains, 1).unwrap_err();
    let level = |of| Refusal::NoSuchLevel { of };
    let top = Spread::Required(BLOCK);
    assert_eq!(refused(want(2, Spread::Required(LevelIx::UNKNOWN))), level(LevelOf::Pods));
    let unknown = slice(LevelIx(3), 2);
    assert_eq!(refused(want(2, top).slices(&[unknown])), level(LevelOf::Slices(0)));
    assert_eq!(refused(want(2, top).slices(&[slice(RACK, 2), unknown])), level(LevelOf::Slices(1)));
    let missing = Refusal::SliceWithoutSize { layer: 0 };
    assert_eq!(refused(want(2, top).slices(&[slice(HOST, 0)])), missing);
    let above = Refusal::SlicesAbove { slices: BLOCK, pods: RACK };
    assert_eq!(refused(want(2, Spread::Required(RACK)).slices(&[slice(BLOCK, 2)])), above);
    let finer = Refusal::LayerNotFiner { layer: 1 };
    assert_eq!(refused(want(4, top).slices(&[slice(RACK, 4), slice(RACK, 2)])), finer);
    let dividing = Refusal::LayerNotDividing { layer: 1, size: 3, before: 4 };
    assert_eq!(refused(want(4, top).slices(&[slice(RACK, 4), slice(HOST, 3)])), dividing);
    assert_eq!(refused(want(5, top).slices(&[slice(RACK, 4)])), Refusal::NotWhole { count: 5, size: 4 });
    let four = [slice(BLOCK, 8), slice(RACK, 4), slice(HOST, 2), slice(HOST, 1)];
    assert_eq!(refused(want(8, top).slices(&four)), Refusal::TooManyLayers { layers: 4 });
    let no_levels = DomainsSpec { levels: vec![], ..spec() };
    assert_eq!(Domains::build(&no_levels, &[]).unwrap_err(), DomainsFault::Levels { levels: 0 });
    let mut odd = node("b/r/x", 1);
    odd.others.push((ResourceIx(3), Amount::new(1)));
    assert_eq!(Domains::build(&spec(), &[odd]).unwrap_err(), DomainsFault::NoSuchResource { node: 0 });
}

#[test]
fn no_pods_are_placed_nowhere() {
    let domains = tree(TWO_BLOCKS);
    for spread in [Spread::Required(RACK), Spread::Preferred(HOST), Spread::Unconstrained] {
        assert_eq!(want(0, spread).balanced().place(&domains, 1).unwrap(), Placed::default());
    }
}
