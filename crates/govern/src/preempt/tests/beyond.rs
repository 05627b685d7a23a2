//! What goes beyond the models, switch by switch: with the switch off the models' victim is chosen, with it on another or none.

use super::{super::*, CPU, GPU, World, cohort, elastic, gpus, queue};
use crate::tree::{NodeSpec, Quota};

const OFF: PreemptionRules = PreemptionRules::kueue(None);
const FAIR: PreemptionRules = PreemptionRules::kueue(Some(FairStrategies::Both));

fn three() -> World {
    World::new(vec![cohort(None, 0), queue(Some(0), 4), queue(Some(0), 4), queue(Some(0), 4)])
}

#[test]
fn whoever_borrows_takes_nobody_below_its_own() {
    // The giver borrows one, in a workload of five. The taker is full and would borrow the four that it gives too much.
    let borrow = |policy: &mut QueuePolicy| policy.while_borrowing = Some(TakesWhileBorrowing { priority_max: None });
    let world = three().policy(1, borrow).run(1, 9, 4).run(2, -5, 5).run(3, 0, 3);
    assert_eq!(world.victims(1, 0, 2), [1]);
    let kept = PreemptionRules { keep_nominal: true, ..OFF };
    let refusal = world.clone().rules(kept).ask(1, 0, 2).unwrap_err();
    assert_eq!((refusal.because, refusal.spared.nominal), (Because::NoCandidates, 1));
    // What is its own it still gets back.
    let world = three().run(2, -5, 5).run(2, 0, 5).rules(kept);
    assert_eq!(world.victims(1, 0, 4), [0]);
}

#[test]
fn fair_shares_take_nobody_below_its_own_either() {
    let world = three().run(1, 9, 4).run(2, 0, 8).rules(FAIR);
    assert_eq!(world.victims(1, 0, 2), [1]);
    let kept = PreemptionRules { keep_nominal: true, ..FAIR };
    assert_eq!(world.rules(kept).refusal(1, 0, 2), Because::NoCandidates);
}

#[test]
fn a_queue_within_its_own_of_what_a_victim_uses_loses_nothing() {
    // The second queue borrows CPUs only and the third GPUs only; both are contested.
    let both = [GPU, CPU];
    let four = || NodeSpec { quotas: both.map(|what| (what, quota(4))).to_vec(), ..queue(Some(0), 0) };
    let world = World::new(vec![cohort(None, 0), four(), four(), four()])
        .run(2, -9, 4)
        .run_with(2, 0, 0, |it| it.usage = vec![(CPU, Amount::new(10))])
        .run(3, 5, 6)
        .run(1, 9, 2);
    let request = [(GPU, Amount::new(2)), (CPU, Amount::new(4))];
    let asking = Asking {
        queue: NodeIx(1),
        priority: 0,
        queued_at: None,
        request: &request,
        contested: &both,
        displaced_by: None,
    };
    let find = |rules| {
        let plan = world.clone().rules(rules).search_in(&asking, &mut AnyPlace).unwrap();
        plan.victims.iter().map(|victim| victim.workload.0).collect::<Vec<_>>()
    };
    assert_eq!(find(OFF), [0, 1]);
    assert_eq!(find(PreemptionRules { keep_nominal: true, ..OFF }), [1, 2]);
}

fn quota(units: i64) -> Quota {
    Quota { nominal: Amount::new(units), ..Quota::default() }
}

#[test]
fn no_victim_of_another_queue_that_is_not_fair_in_the_end() {
    // Ten GPUs that belong to nobody: the taker has three in small workloads, the other seven.
    let specs = vec![cohort(None, 10), queue(Some(0), 0), queue(Some(0), 0)];
    let world = World::new(specs).run(1, -1, 1).run(1, -1, 1).run(1, -1, 1).run(2, -1, 4).run(2, 0, 3);
    // With its own small ones gone the taker would have four, and the other may give its four. Then nothing else is needed,
    // the small ones come back, and the taker has seven: what the other had before it gave.
    let taken = world.clone().rules(FAIR).ask(1, 0, 4).unwrap();
    assert_eq!(taken.victims.iter().map(|victim| victim.workload.0).collect::<Vec<_>>(), [3]);
    let Reason::CohortFairShare { rule, taker, giver, giver_after } = taken.victims[0].reason else { panic!() };
    assert!(!rule.gives(0, &taker.1, &giver.1, &giver_after));
    // One small one less, and three of the other, is fair: the taker has six in the end.
    let plan = world.rules(PreemptionRules { minimal: true, ..FAIR }).ask(1, 0, 4).unwrap();
    assert_eq!(plan.victims.iter().map(|victim| victim.workload.0).collect::<Vec<_>>(), [0, 4]);
    let Reason::CohortFairShare { taker, giver, .. } = plan.victims[1].reason else { panic!() };
    assert_eq!([taker.1, giver.1].map(|share| share.per_mille_ceil()), [600, 700]);
    assert_eq!(plan.spared.unfair, 1);
}

#[test]
fn a_plan_longer_than_the_budget_is_refused() {
    let world = World::new(vec![queue(None, 4)]).run(0, -1, 2).run(0, -1, 2);
    let limit = |most| PreemptionRules { evictions_max: Some(most), ..OFF };
    assert_eq!(world.clone().rules(limit(2)).victims(0, 0, 4).len(), 2);
    assert_eq!(world.clone().rules(limit(1)).refusal(0, 0, 4), Because::OverBudget { needed: 2, allowed: 1 });
    // What is being stopped anyway counts for nothing.
    let mut world = world.rules(limit(1));
    world.running.update(WorkloadIx(0), |it| it.evicting = true);
    assert_eq!(world.victims(0, 0, 4).len(), 2);
}

#[test]
fn a_little_too_much_is_left_alone() {
    let world = World::new(vec![cohort(None, 0), queue(Some(0), 100), queue(Some(0), 100)]).run(2, 0, 5).run(2, 1, 100);
    let zone = |rules, per_mille| world.clone().rules(PreemptionRules { dead_zone_per_mille: per_mille, ..rules });
    for rules in [OFF, FAIR] {
        assert_eq!(zone(rules, 0).victims(1, 0, 100), [0]);
        assert_eq!(zone(rules, 50).victims(1, 0, 100), [0]);
        assert_eq!(zone(rules, 51).refusal(1, 0, 100), Because::NoCandidates);
    }
}

#[test]
fn a_workload_runs_for_a_while_before_it_is_taken() {
    let world = World::new(vec![queue(None, 4)]).run_with(0, -5, 2, |it| it.quota_at = Some(941)).run(0, -1, 2);
    let young = |least| world.clone().rules(PreemptionRules { run_s_min: least, ..OFF });
    assert_eq!(young(59).victims(0, 0, 2), [0]);
    assert_eq!(young(60).victims(0, 0, 2), [1]);
    let refusal = young(2000).ask(0, 0, 2).unwrap_err();
    assert_eq!((refusal.because, refusal.spared.young), (Because::NoCandidates, 2));
    // What its own terms say goes before what holds for all.
    let (mut longer, mut shorter) = (young(59), young(2000));
    longer.running.update(WorkloadIx(0), |it| it.terms.run_s_min = Some(60));
    assert_eq!(longer.victims(0, 0, 2), [1]);
    shorter.running.update(WorkloadIx(0), |it| it.terms.run_s_min = Some(0));
    assert_eq!(shorter.victims(0, 0, 2), [0]);
    // It makes no difference to one that is being stopped.
    let mut world = young(2000);
    world.running.update(WorkloadIx(0), |it| it.evicting = true);
    assert_eq!(world.victims(0, 0, 2), [0]);
}

#[test]
fn a_victim_is_told_before_it_is_stopped() {
    let world = World::new(vec![queue(None, 2)]).run(0, -1, 2);
    let plan = world.rules(PreemptionRules { notice_s: 30, ..OFF }).ask(0, 0, 2).unwrap();
    assert_eq!(plan.victims[0].stops_at, Some(1030));
}

#[test]
fn what_can_shrink_shrinks_before_anybody_is_stopped() {
    for base in [OFF, FAIR] {
        let world = World::new(vec![queue(None, 12)])
            .run(0, -9, 4)
            .run_with(0, -1, 4, |it| it.elastic = elastic(3))
            .run_with(0, -2, 4, |it| it.elastic = elastic(2));
        assert_eq!(world.clone().rules(base).victims(0, 0, 4), [0]);
        let world = world.rules(PreemptionRules { shrink_first: true, ..base });
        let cuts = |much| {
            let plan = world.ask(0, 0, much).unwrap();
            plan.victims.iter().map(|victim| (victim.workload.0, victim.cut)).collect::<Vec<_>>()
        };
        assert_eq!(cuts(1), [(2, Cut::Shrink { units: 1 })]);
        assert_eq!(cuts(4), [(2, Cut::Shrink { units: 2 }), (1, Cut::Shrink { units: 2 })]);
        // With one stopped the other need not shrink; who is stopped does not also shrink.
        assert_eq!(cuts(7), [(1, Cut::Shrink { units: 3 }), (0, Cut::Stop)]);
        assert_eq!(cuts(12).len(), 3);
        assert!(cuts(12).iter().all(|(_, cut)| *cut == Cut::Stop));
    }
}

#[test]
fn shrinking_gives_back_what_was_lent_too() {
    let world = three().run_with(2, 0, 8, |it| it.elastic = elastic(6)).run(3, 0, 4);
    for base in [OFF, FAIR] {
        let plan = world.clone().rules(PreemptionRules { shrink_first: true, ..base }).ask(1, 0, 4).unwrap();
        assert_eq!(plan.victims.len(), 1);
        assert_eq!(plan.victims[0].cut, Cut::Shrink { units: 4 });
        assert!(matches!(plan.victims[0].reason, Reason::CohortReclaim { .. }));
    }
}

#[test]
fn what_is_being_stopped_goes_before_anybody_shrinks() {
    for base in [OFF, FAIR] {
        let world = World::new(vec![queue(None, 8)])
            .run_with(0, -1, 4, |it| it.elastic = elastic(3))
            .run_with(0, -1, 4, |it| it.evicting = true)
            .rules(PreemptionRules { shrink_first: true, ..base });
        assert_eq!(world.victims(0, 0, 3), [1]);
    }
}

// A place that is free once the first is gone; taking the second as well closes it again.
struct Fickle(Vec<u32>);

impl Place for Fickle {
    fn take(&mut self, workload: WorkloadIx, _: Part) {
        self.0.push(workload.0);
    }
    fn put_back(&mut self, workload: WorkloadIx, _: Part) {
        self.0.retain(|gone| *gone != workload.0);
    }
    fn is_found(&mut self) -> bool {
        self.0.contains(&1) && (!self.0.contains(&2) || self.0.contains(&0))
    }
}

#[test]
fn a_minimal_set_is_minimal_in_place_too() {
    let world = World::new(vec![queue(None, 6)]).run(0, -1, 2).run(0, -2, 2).run(0, -3, 2);
    let (request, contested) = (gpus(2), [GPU]);
    let asking = Asking {
        queue: NodeIx(0),
        priority: 0,
        queued_at: None,
        request: &request,
        contested: &contested,
        displaced_by: None,
    };
    let find = |minimal| {
        let world = world.clone().rules(PreemptionRules { minimal, ..OFF });
        let plan = world.search_in(&asking, &mut Fickle(vec![])).unwrap();
        plan.victims.iter().map(|victim| victim.workload.0).collect::<Vec<_>>()
    };
    assert_eq!(find(false), [1, 0]);
    assert_eq!(find(true), [1]);
}

#[test]
fn within_a_queue_only_a_higher_priority_takes() {
    let newer = |policy: &mut QueuePolicy| policy.within_queue = Takes::LowerOrNewerEqualPriority;
    let world = World::new(vec![queue(None, 4)]).policy(0, newer).run_with(0, 0, 4, |it| it.queued_at = Some(9));
    assert_eq!(world.victims(0, 0, 4), [0]);
    let strict = PreemptionRules { strict_within_queue: true, ..OFF };
    assert_eq!(world.clone().rules(strict).refusal(0, 0, 4), Because::NoCandidates);
    assert_eq!(world.rules(strict).victims(0, 1, 4), [0]);
}

#[test]
fn shares_that_are_nearly_equal_are_left_alone() {
    // A hundred GPUs that belong to nobody: with what it asks for the taker has 45, the giver 55 without its smallest.
    let specs = vec![cohort(None, 100), queue(Some(0), 0), queue(Some(0), 0)];
    let world = World::new(specs).run(1, 0, 44).run(2, 0, 55).run(2, -1, 1);
    let margin = |per_mille| world.clone().rules(PreemptionRules { share_margin_per_mille: per_mille, ..FAIR });
    assert_eq!(margin(0).victims(1, 0, 1), [2]);
    assert_eq!(margin(110).victims(1, 0, 1), [2]);
    assert_eq!(margin(111).refusal(1, 0, 1), Because::NotFair { refused: 2 });
}

#[test]
fn who_was_stopped_often_enough_is_left_alone_except_by_an_owner() {
    let most = Some(Most { count: 2, window_s: 500 });
    let rules = PreemptionRules { stops_max: most, owner_waits_for_nobody: true, run_s_min: 2000, ..OFF };
    let often = |it: &mut crate::workload::Workload| {
        (it.terms.past.stops, it.terms.past.stops_since) = (2, 600);
        it.quota_at = Some(-5000);
    };
    let world = three().rules(rules).run_with(2, -5, 4, often).run_with(2, -1, 8, often);
    // In its own queue: not before the stops are forgotten.
    let refusal = world.ask(2, 0, 4).unwrap_err();
    assert_eq!((refusal.spared.stopped, refusal.spared.until), (2, Some(1100)));
    let mut later = world.clone();
    later.now = 1100;
    assert_eq!(later.victims(2, 0, 4), [0]);
    // The owner of what was lent waits neither for that nor for anybody's run time.
    assert_eq!(world.victims(1, -9, 4), [0]);
    let young = three().rules(rules).run(2, 0, 12);
    assert_eq!(young.victims(1, -9, 4), [0]);
    let waits = young.clone().rules(PreemptionRules { owner_waits_for_nobody: false, ..rules });
    let refusal = waits.ask(1, -9, 4).unwrap_err();
    assert_eq!((refusal.spared.young, refusal.spared.until), (1, Some(2000)));
}

#[test]
fn who_was_stopped_for_another_does_not_stop_that_one() {
    let world = World::new(vec![queue(None, 4)]).run(0, -5, 2).run(0, -1, 2);
    let (request, contested) = (gpus(2), [GPU]);
    let ask = |displaced_by| {
        let (queue, priority, queued_at) = (NodeIx(0), 0, Some(5));
        let asking = Asking { queue, priority, queued_at, request: &request, contested: &contested, displaced_by };
        let plan = world.search_in(&asking, &mut AnyPlace).unwrap();
        (plan.victims[0].workload.0, plan.spared.shielded)
    };
    assert_eq!([ask(None), ask(Some(0))], [(0, 0), (1, 1)]);
}
