//! What holds for every tree and every request.

use super::*;
use proptest::prelude::*;

fn spreads() -> impl Strategy<Value = Spread> {
    let level = prop_oneof![Just(BLOCK), Just(RACK), Just(HOST)];
    prop_oneof![
        level.clone().prop_map(Spread::Required),
        level.prop_map(Spread::Preferred),
        Just(Spread::Unconstrained)
    ]
}

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    prop_oneof![
        3 => Just(vec![]),
        1 => Just(vec![slice(HOST, 2)]),
        1 => Just(vec![slice(RACK, 3)]),
        1 => Just(vec![slice(RACK, 4), slice(HOST, 2)]),
        1 => Just(vec![slice(BLOCK, 4), slice(HOST, 2)]),
        1 => Just(vec![slice(BLOCK, 8), slice(RACK, 4), slice(HOST, 2)]),
    ]
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let host = (0..3_u8, 0..3_u8, 0..9_i64);
    proptest::collection::vec(host, 1..14).prop_map(|hosts| {
        let node = |(at, (block, rack, cpu)): (usize, (u8, u8, i64))| node(&format!("b{block}/r{rack}/x{at}"), cpu);
        hosts.into_iter().enumerate().map(node).collect()
    })
}

fn wants() -> impl Strategy<Value = Want> {
    (0..16_u32, spreads(), layers(), proptest::option::of(1..4_i64), any::<bool>()).prop_map(
        |(count, spread, slices, leader, balanced)| {
            let size = slices.first().map_or(1, |layer| layer.size);
            Want { count: count / size * size, spread, slices, leader, balanced }
        },
    )
}

// The pods of a placement by domain of a level.
fn by_domain(domains: &Domains, placed: &Placed, level: LevelIx) -> BTreeMap<DomainIx, u32> {
    let mut pods = BTreeMap::new();
    for (leaf, count) in &placed.pods.0 {
        *pods.entry(domains.domain_of(*leaf, level).unwrap()).or_default() += count;
    }
    pods
}

fn check(domains: &Domains, load: &Load, want: &Want, placed: &Placed) -> Result<(), TestCaseError> {
    prop_assert_eq!(placed.pods.pods(), u64::from(want.count));
    prop_assert_eq!(placed.leader.is_some(), want.leader.is_some());
    let mut after = load.clone();
    after.place(domains, &domains.per_pod(&cpu(1)), &placed.pods);
    if let (Some(leaf), Some(leader)) = (placed.leader, want.leader) {
        after.add(domains, &domains.per_pod(&cpu(leader)), leaf, 1);
    }
    for leaf in domains.leaf_indexes() {
        let before = load.free(leaf, CPU);
        let now = after.free(leaf, CPU);
        prop_assert!(now >= Amount::ZERO || now == before, "{leaf:?} had {before} and has {now}");
    }
    if let Spread::Required(level) = want.spread {
        let mut used = by_domain(domains, placed, level);
        if let Some(leaf) = placed.leader {
            used.entry(domains.domain_of(leaf, level).unwrap()).or_default();
        }
        prop_assert!(used.len() <= 1, "{used:?}");
    }
    for layer in &want.slices {
        let used = by_domain(domains, placed, layer.level);
        prop_assert!(used.values().all(|pods| pods.is_multiple_of(layer.size)), "{layer:?} {used:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_placement_is_whole_and_within_every_limit(nodes in nodes(), want in wants()) {
        let domains = Domains::build(&spec(), &nodes).unwrap();
        let load = domains.unused();
        let Ok(room) = want.room(&domains, &load, 1) else { return Ok(()) };
        let placed = room.place(&domains, &load);
        prop_assert_eq!(room.fits(&domains), placed.is_ok(), "{:?}", placed);
        match placed {
            Ok(placed) => check(&domains, &load, &want, &placed)?,
            Err(Refusal::DoesNotFit { fits, of, .. }) => prop_assert!(fits <= of || want.leader.is_some()),
            Err(other) => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn the_order_of_nodes_does_not_matter(
        (nodes, mixed) in nodes().prop_flat_map(|nodes| (Just(nodes.clone()), Just(nodes).prop_shuffle())),
        want in wants(),
    ) {
        let at = |nodes: &[Node]| {
            let domains = Domains::build(&spec(), nodes).unwrap();
            want.place(&domains, 1).map(|placed| {
                let name = |leaf: LeafIx| domains.path(leaf).join("/");
                let pods: Vec<(String, u32)> = placed.pods.0.iter().map(|(leaf, pods)| (name(*leaf), *pods)).collect();
                (pods, placed.leader.map(name))
            })
        };
        prop_assert_eq!(at(&nodes), at(&mixed));
    }

    #[test]
    fn counts_follow_the_load_and_come_back(
        nodes in nodes(),
        wanted in wants(),
        others in proptest::collection::vec((wants(), 1..4_i64, any::<bool>()), 1..8),
    ) {
        let domains = Domains::build(&spec(), &nodes).unwrap();
        let mut load = domains.unused();
        let Ok(mut room) = wanted.room(&domains, &load, 1) else { return Ok(()) };
        let before = room.slots.clone();
        let mut running = vec![];
        for (other, each, leaves) in &others {
            if *leaves && let Some((per_pod, pods)) = running.pop() {
                room.remove(&domains, &mut load, &per_pod, &pods);
            }
            let Ok(placed) = other.room(&domains, &load, *each).and_then(|other| other.place(&domains, &load)) else {
                continue;
            };
            let per_pod = domains.per_pod(&cpu(*each));
            room.add(&domains, &mut load, &per_pod, &placed.pods);
            running.push((per_pod, placed.pods));
            let fresh = wanted.room(&domains, &load, 1).unwrap();
            prop_assert_eq!(&room.slots, &fresh.slots);
            prop_assert_eq!(room.fits(&domains), fresh.fits(&domains));
            prop_assert_eq!(room.fits(&domains), room.place(&domains, &load).is_ok());
            if let Ok(placed) = room.place(&domains, &load) {
                check(&domains, &load, &wanted, &placed)?;
            }
        }
        for (per_pod, pods) in running.into_iter().rev() {
            room.remove(&domains, &mut load, &per_pod, &pods);
        }
        prop_assert_eq!(load, domains.unused());
        prop_assert_eq!(room.slots, before);
    }

    #[test]
    fn without_leader_and_slices_a_placement_is_found_where_there_is_one(nodes in nodes(), want in wants()) {
        let want = Want { slices: vec![], leader: None, ..want };
        let domains = Domains::build(&spec(), &nodes).unwrap();
        let most = match want.spread {
            Spread::Required(level) => {
                let mut sums: BTreeMap<DomainIx, i64> = BTreeMap::new();
                for leaf in domains.leaf_indexes() {
                    let cpu = domains.capacity(leaf, CPU).units();
                    *sums.entry(domains.domain_of(leaf, level).unwrap()).or_default() += cpu;
                }
                sums.into_values().max().unwrap_or(0)
            }
            _ => domains.leaf_indexes().map(|leaf| domains.capacity(leaf, CPU).units()).sum(),
        };
        prop_assert_eq!(want.place(&domains, 1).is_ok(), most >= i64::from(want.count));
    }

    #[test]
    fn a_balanced_placement_never_has_a_smaller_smallest_share(nodes in nodes(), count in 1..20_u32) {
        let domains = Domains::build(&spec(), &nodes).unwrap();
        let greedy = want(count, Spread::Preferred(HOST));
        let smallest = |placed: Placed| placed.pods.0.iter().map(|(_, pods)| *pods).min().unwrap();
        match (greedy.place(&domains, 1), greedy.clone().balanced().place(&domains, 1)) {
            (Ok(greedy), Ok(balanced)) => prop_assert!(smallest(balanced) >= smallest(greedy)),
            (greedy, balanced) => prop_assert_eq!(greedy, balanced),
        }
    }
}
