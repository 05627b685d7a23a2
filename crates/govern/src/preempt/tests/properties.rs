//! What must hold of every search, in worlds drawn at random: the fast search answers like the plain one, its victims are
//! enough and all needed, nobody within its own is asked, and the order of the rows that were read does not matter.

use super::{super::*, CPU, GPU, World, naive::Naive};
use crate::{
    tree::{NodeSpec, Quota},
    weight::Weight,
    workload::{Elastic, Workload},
};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use std::collections::{BTreeMap, BTreeSet};

// The one that asks, as it was drawn.
#[derive(Debug, Clone)]
struct Ask {
    queue: u32,
    priority: i64,
    queued_at: Option<i64>,
    request: Vec<(FlavorResource, Amount)>,
    contested: Vec<FlavorResource>,
}

impl Ask {
    fn asking(&self) -> Asking<'_> {
        let Self { queue, priority, queued_at, request, contested } = self;
        Asking {
            queue: NodeIx(*queue),
            priority: *priority,
            queued_at: *queued_at,
            request,
            contested,
            displaced_by: None,
        }
    }
}

fn takes() -> impl Strategy<Value = Takes> {
    prop_oneof![
        1 => Just(Takes::Never),
        1 => Just(Takes::Unset),
        4 => Just(Takes::LowerPriority),
        4 => Just(Takes::LowerOrNewerEqualPriority),
        6 => Just(Takes::Any),
    ]
}

fn quota(units: i64, limits: (Option<i64>, Option<i64>), with_limits: bool) -> Quota {
    let limit = |units: Option<i64>| units.filter(|_| with_limits).map(Amount::new);
    Quota { nominal: Amount::new(units), borrowing_limit: limit(limits.0), lending_limit: limit(limits.1) }
}

prop_compose! {
    fn spec(parent: Option<u32>, is_queue: bool)(
        gpus in 0..5_i64,
        cpus in 0..5_i64,
        limits in prop::option::weighted(0.3, (prop::option::of(0..5_i64), prop::option::of(0..4_i64))),
        weight in prop_oneof![Just(0), Just(500_000_000_u64), Just(1_000_000_000), Just(1_000_000_000), Just(3_000_000_000)],
    ) -> NodeSpec {
        let limits = limits.unwrap_or_default();
        let with_limits = parent.is_some();
        let quotas = vec![(GPU, quota(gpus, limits, with_limits)), (CPU, quota(cpus, (None, None), with_limits))];
        NodeSpec { parent, is_queue, weight: Weight::from_nano(weight), quotas }
    }
}

// A root, two cohorts below it, one below the first of them, and seven queues here and there; one stands alone.
fn specs() -> impl Strategy<Value = Vec<NodeSpec>> {
    let cohorts = (spec(None, false), spec(Some(0), false), spec(Some(0), false), spec(Some(1), false));
    let parents = prop::collection::vec(0..4_u32, 6);
    (cohorts, parents).prop_flat_map(|((a, b, c, d), parents)| {
        let mut queues: Vec<_> = parents.into_iter().map(|parent| spec(Some(parent), true).boxed()).collect();
        queues.push(spec(None, true).boxed());
        (Just(vec![a, b, c, d]), queues).prop_map(|(cohorts, queues)| [cohorts, queues].concat())
    })
}

prop_compose! {
    fn workload()(
        queue in 4..11_u32,
        priority in -2..3_i64,
        quota_at in prop::option::weighted(0.9, 0..3_i64),
        queued_at in prop::option::weighted(0.9, 0..4_i64),
        usage in prop_oneof![(1..4_i64, Just(0_i64)), (1..4_i64, 0..3_i64), (Just(0), 1..4_i64)],
        evicting in prop::bool::weighted(0.1),
        spare in prop::option::weighted(0.3, 0..4_u32),
    ) -> Workload {
        let mut amounts = vec![];
        if usage.0 > 0 { amounts.push((GPU, Amount::new(usage.0))); }
        if usage.1 > 0 { amounts.push((CPU, Amount::new(usage.1))); }
        let most = u32::try_from(usage.0.max(1) - 1).unwrap();
        let elastic = spare.map(|spare| Elastic { unit: vec![(GPU, Amount::new(1))], spare: spare.min(most) });
        let (queue, identity, local_usage, terms) = (NodeIx(queue), 0, 0, crate::workload::Terms::default());
        Workload { queue, priority, identity, queued_at, quota_at, usage: amounts, evicting, local_usage, elastic, terms }
    }
}

prop_compose! {
    fn ask()(
        queue in 4..11_u32,
        priority in -2..3_i64,
        queued_at in prop::option::weighted(0.9, 0..4_i64),
        much in (1..5_i64, 1..5_i64),
        contested in 1..4_u32,
    ) -> Ask {
        let request = vec![(GPU, Amount::new(much.0)), (CPU, Amount::new(much.1))];
        let contested = [GPU, CPU].into_iter().filter(|what| contested & (1 << what.0) != 0).collect();
        Ask { queue, priority, queued_at, request, contested }
    }
}

// What is contested is asked for beyond what is free, or there would be nothing to search for; of the rest there is enough.
fn more_than_there_is(world: &World, mut ask: Ask) -> Ask {
    let usage = world.usage();
    for (what, much) in &mut ask.request {
        let free = world.tree.available(&usage, NodeIx(ask.queue), *what).or_zero();
        *much = if ask.contested.contains(what) { much.plus(free) } else { free.min(*much) };
    }
    ask
}

fn world(fair: impl Strategy<Value = Option<FairStrategies>>) -> impl Strategy<Value = (World, Ask)> {
    let policy = (takes(), takes(), prop::option::of(prop::option::of(-2..2_i64)));
    let running = prop::collection::vec(workload(), 4..20);
    (specs(), running, policy, fair, ask()).prop_map(|(specs, workloads, policy, fair, ask)| {
        let mut world = World::new(specs).rules(PreemptionRules::kueue(fair));
        for (identity, workload) in workloads.into_iter().enumerate() {
            world.running.add(Workload { identity: identity as u64, ..workload });
        }
        let while_borrowing = policy.2.map(|priority_max| TakesWhileBorrowing { priority_max });
        let policy = QueuePolicy { within_queue: policy.0, reclaim: policy.1, while_borrowing };
        let ask = more_than_there_is(&world, ask);
        (world.policy(ask.queue, |it| *it = policy), ask)
    })
}

fn any_way() -> impl Strategy<Value = Option<FairStrategies>> {
    prop_oneof![
        3 => Just(None),
        2 => Just(Some(FairStrategies::Both)),
        1 => Just(Some(FairStrategies::FinalShare)),
        1 => Just(Some(FairStrategies::InitialShare)),
    ]
}

fn own_rules() -> impl Strategy<Value = PreemptionRules> {
    (any_way(), any::<bool>(), any::<bool>(), 0..2_u32).prop_map(|(fair, keep_nominal, shrink_first, zone)| {
        let dead_zone_per_mille = zone * 300;
        PreemptionRules {
            keep_nominal,
            minimal: true,
            shrink_first,
            dead_zone_per_mille,
            ..PreemptionRules::kueue(fair)
        }
    })
}

fn word(reason: &Reason) -> &'static str {
    match reason {
        Reason::InQueue { .. } => "own",
        Reason::CohortReclaim { .. } => "reclaim",
        Reason::CohortReclaimWhileBorrowing { .. } => "borrowing",
        Reason::CohortFairShare { .. } => "fair",
    }
}

// The usage once these have given way.
fn usage_after(world: &World, victims: &[Victim]) -> Usage {
    let mut usage = world.usage();
    for victim in victims {
        let workload = world.running.get(victim.workload).unwrap();
        match victim.cut {
            Cut::Stop => workload.refund(&world.tree, &mut usage),
            Cut::Shrink { units } => {
                usage.remove(&world.tree, workload.queue, GPU, Amount::new(i64::from(units)));
            }
        }
    }
    usage
}

// Whether the request fits, without asking the search.
fn fits(world: &World, usage: &Usage, ask: &Ask) -> bool {
    let free = |what| world.tree.available(usage, NodeIx(ask.queue), what).or_zero();
    ask.request.iter().all(|(what, much)| *much <= free(*what))
}

fn borrows(world: &World, usage: &Usage, ask: &Ask) -> bool {
    let beyond = |(what, much): &(_, _)| world.tree.borrows_with(usage, NodeIx(ask.queue), *what, *much);
    ask.request.iter().any(beyond)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn it_finds_what_the_plain_search_finds((world, ask) in world(any_way())) {
        let plain = Naive::search(&world, &ask.asking());
        let found = world.search_in(&ask.asking(), &mut AnyPlace).map_or_else(|_| vec![], |plan| plan.victims);
        let found: BTreeSet<_> = found.iter().map(|victim| (victim.workload.0, word(&victim.reason))).collect();
        prop_assert_eq!(found, plain);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn victims_are_enough_and_all_of_them_are_needed((world, ask) in world(any_way()), rules in own_rules()) {
        let world = world.rules(rules);
        let Ok(plan) = world.search_in(&ask.asking(), &mut AnyPlace) else { return Ok(()) };
        let after = usage_after(&world, &plan.victims);
        prop_assert!(fits(&world, &after, &ask));
        // A search that did not have to borrow may have stopped somebody in order not to.
        let borrows_now = borrows(&world, &after, &ask);
        for at in 0..plan.victims.len() {
            let mut fewer = plan.victims.clone();
            match &mut fewer[at].cut {
                Cut::Shrink { units } if *units > 1 => *units -= 1,
                _ => drop(fewer.remove(at)),
            }
            let without = usage_after(&world, &fewer);
            let enough = fits(&world, &without, &ask) && (borrows_now || !borrows(&world, &without, &ask));
            prop_assert!(!enough, "{:?} is not needed in {:?}", plan.victims[at], plan.victims);
        }
    }

    #[test]
    fn nobody_within_its_own_is_asked((world, ask) in world(any_way()), rules in own_rules()) {
        let rules = PreemptionRules { keep_nominal: true, ..rules };
        let world = world.rules(rules);
        let Ok(plan) = world.search_in(&ask.asking(), &mut AnyPlace) else { return Ok(()) };
        let mut usage = world.usage();
        for victim in plan.victims.iter().filter(|victim| victim.queue != NodeIx(ask.queue)) {
            let workload = world.running.get(victim.workload).unwrap();
            let over = |what| usage.of(victim.queue, what) > world.tree.subtree(victim.queue, what);
            let contested = |what: &FlavorResource| ask.contested.contains(what);
            prop_assert!(workload.usage.iter().any(|(what, _)| contested(what) && over(*what)), "{:?}", victim);
            usage = usage_after(&world, &plan.victims[..=plan.victims.iter().position(|it| it == victim).unwrap()]);
        }
    }

    #[test]
    fn every_victim_is_fair_in_the_end((world, ask) in world(any_way()), rules in own_rules()) {
        let Ok(plan) = world.rules(rules).search_in(&ask.asking(), &mut AnyPlace) else { return Ok(()) };
        for victim in plan.victims {
            if let Reason::CohortFairShare { rule, taker, giver, giver_after } = victim.reason {
                prop_assert!(rule.gives(0, &taker.1, &giver.1, &giver_after));
            }
        }
    }

    #[test]
    fn the_order_of_the_rows_does_not_matter((world, ask) in world(any_way()), rules in own_rules(), plain: bool, seed in 0..1000_usize) {
        let world = if plain { world } else { world.rules(rules) };
        let mut rows: Vec<Workload> = world.running.iter().map(|(_, workload)| workload.clone()).collect();
        let mut other = world.clone();
        other.running = Running::new();
        let mut turn = seed;
        while !rows.is_empty() {
            turn = turn.wrapping_mul(31).wrapping_add(7);
            other.running.add(rows.swap_remove(turn % rows.len()));
        }
        let find = |world: &World| {
            let plan = world.search_in(&ask.asking(), &mut AnyPlace);
            let identity = |place: WorkloadIx| world.running.get(place).unwrap().identity;
            plan.map(|plan| plan.victims.iter().map(|it| (identity(it.workload), it.cut, it.reason)).collect::<Vec<_>>())
                .map_err(|refusal| refusal.because)
        };
        prop_assert_eq!(find(&world), find(&other));
    }

    #[test]
    fn a_plan_that_was_carried_out_needs_no_other((world, ask) in world(any_way()), rules in own_rules()) {
        let mut world = world.rules(rules);
        let Ok(plan) = world.search_in(&ask.asking(), &mut AnyPlace) else { return Ok(()) };
        let cuts: BTreeMap<_, _> = plan.victims.iter().map(|victim| (victim.workload, victim.cut)).collect();
        for (place, cut) in cuts {
            match cut {
                Cut::Stop => drop(world.running.remove(place)),
                Cut::Shrink { units } => world.running.update(place, |it| {
                    let gpus = it.usage.iter_mut().find(|(what, _)| *what == GPU).unwrap();
                    gpus.1 = gpus.1.minus(Amount::new(i64::from(units)));
                    it.elastic.as_mut().unwrap().spare -= units;
                }),
            }
        }
        prop_assert!(fits(&world, &world.usage(), &ask));
    }
}

#[test]
fn few_victims_among_many_cost_little() {
    let mut specs = vec![NodeSpec::default()];
    let quotas = |units| vec![(GPU, Quota { nominal: Amount::new(units), ..Quota::default() })];
    for queue in 0..101 {
        let units = if queue == 0 { 10_000 } else { 0 };
        specs.push(NodeSpec { parent: Some(0), is_queue: true, quotas: quotas(units), ..NodeSpec::default() });
    }
    let mut world = World::new(specs);
    for at in 0..10_000_u32 {
        world = world.run_with(2 + at % 100, i64::from(at % 7), 1, |it| it.identity = u64::from(at));
    }
    for fair in [None, Some(FairStrategies::Both)] {
        let plan = world.clone().rules(PreemptionRules::own(fair)).ask(1, 0, 8).unwrap();
        assert_eq!(plan.victims.len(), 8);
        // The first of each queue once or twice, and eight more.
        assert!(plan.work.looked <= 300 && plan.work.moved <= 60 && plan.work.fits <= 20, "{:?}", plan.work);
        let plan = world.clone().rules(PreemptionRules::own(fair)).ask(1, 0, 10_000).unwrap();
        assert!(plan.work.looked <= 11_000 && plan.work.moved <= 60_000 && plan.work.fits <= 20_000, "{:?}", plan.work);
    }
}

#[test]
fn the_worlds_are_not_dull() {
    let mut runner = TestRunner::deterministic();
    let mut found = [[0; 3]; 2];
    for _ in 0..500 {
        let (world, ask) = world(any_way()).new_tree(&mut runner).unwrap().current();
        assert!(!fits(&world, &world.usage(), &ask));
        let victims = world.search_in(&ask.asking(), &mut AnyPlace).map_or(0, |plan| plan.victims.len());
        found[usize::from(world.rules.fair.is_some())][victims.min(2)] += 1;
    }
    assert!(found.iter().all(|[_, one, more]| *one > 20 && *more > 15), "{found:?}");
}
