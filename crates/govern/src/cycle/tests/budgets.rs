//! Nobody is stopped more often than it helps: the loop of the models comes to rest, and what is stopped stays within budgets.

use super::{play::Play, *};
use crate::preempt::Most;

const ANY: Q =
    Q { nominal: 0, borrow: None, within: Takes::LowerOrNewerEqualPriority, reclaim: Takes::Any, strict: false };

// Ten GPUs that belong to nobody but an idle queue. Both others have three small workloads and want to run a large one, which
// came before the small ones. Only one large one has room.
fn two_that_push(profile: Profile) -> Play {
    let owner = Q { nominal: 10, ..Q::default() };
    let mut play = Play::new(scheduler(&[ANY, ANY, owner], profile));
    play.now = 10;
    for identity in 0..6 {
        play.submit(if identity < 3 { 1 } else { 2 }, identity, 0, 1);
    }
    play.settle();
    assert_eq!(play.scheduler.usage().of(NodeIx(0), GPU), Amount::new(6));
    play.now = 0;
    play.submit(1, 10, 0, 4);
    play.submit(2, 11, 0, 4);
    play.now = 2000;
    play
}

#[test]
fn the_models_push_each_other_out_for_ever_and_we_do_not() {
    let fair = Some(FairStrategies::Both);
    let large = |play: &Play| [10, 11].map(|identity| play.stops.get(&identity).copied().unwrap_or(0));
    // As it is, the one that was stopped takes back what was freed for the other; with that mended they take turns.
    for (preemptors_first, least) in [(false, [0, 0]), (true, [20, 20])] {
        let profile = Profile { preemptors_first, ..Profile::kueue(PreemptionRules::kueue(fair)) };
        let mut loops = two_that_push(profile);
        for _ in 0..200 {
            loops.cycle();
            loops.now += 1;
            loops.tick(loops.now);
        }
        let stops = large(&loops);
        assert!(stops.iter().sum::<u32>() > 50 && stops[0] >= least[0] && stops[1] >= least[1], "{:?}", loops.stops);
    }
    // Without its limits in time our own search comes to rest, because it looks at the shares once more in the end ...
    let patient = PreemptionRules { run_s_min: 0, stops_max: None, notice_s: 0, ..PreemptionRules::own(fair) };
    for rules in [patient, PreemptionRules::own(fair)] {
        let mut rests = two_that_push(Profile::own(rules));
        rests.play(1_000_000);
        assert!(large(&rests).iter().sum::<u32>() <= 1, "{:?}", rests.stops);
    }
    // ... and with nothing but the limit on stops the loop of the models ends, too.
    let stops_max = Some(Most { count: 3, window_s: 10_000_000 });
    let limited = PreemptionRules { stops_max, ..PreemptionRules::kueue(fair) };
    let mut ends = two_that_push(Profile::kueue(limited));
    ends.play(1_000_000);
    assert!(ends.stops.values().all(|stops| *stops <= 3), "{:?}", ends.stops);
}

const LOW: Q = Q { nominal: 4, borrow: None, within: Takes::LowerPriority, reclaim: Takes::Never, strict: false };

#[test]
fn a_cycle_tells_only_so_many_to_go() {
    let rules = PreemptionRules::own(None);
    for (most, told) in [(None, vec![2, 0]), (Some(1), vec![1, 1])] {
        let mut scheduler = scheduler(&[LOW], Profile { evictions_per_cycle: most, ..Profile::own(rules) });
        start(&mut scheduler, 1, 1, 0, 2);
        start(&mut scheduler, 1, 2, 0, 2);
        let (one, other) = (submit(&mut scheduler, 1, 3, 9, 2), submit(&mut scheduler, 1, 4, 8, 2));
        let first = scheduler.step(1000, &mut AnyFloor);
        if most.is_some() {
            assert_eq!(why(&first, other), Why::OverBudget { until: None });
        }
        let second = scheduler.step(1000, &mut AnyFloor);
        let new = |decisions: &[Decision]| {
            let told = decisions.iter().filter_map(|decision| match &decision.verdict {
                Verdict::Preempting { victims, .. } => {
                    Some(victims.iter().filter(|one| one.stops_at.is_some()).count())
                }
                _ => None,
            });
            told.sum::<usize>()
        };
        assert_eq!([new(&first), new(&second)].to_vec(), told);
        assert!(!victims(&first, one).is_empty());
    }
}

#[test]
fn a_cycle_searches_only_so_long_and_every_queue_has_its_turn() {
    let owner = Q { nominal: 2, reclaim: Takes::Any, ..Q::default() };
    let rules = PreemptionRules { run_s_min: 0, ..PreemptionRules::own(None) };
    let profile = Profile { candidates_per_cycle: Some(1), ..Profile::own(rules) };
    let mut scheduler = scheduler(&[owner, owner, owner, Q::default()], profile);
    for identity in 0..3 {
        start(&mut scheduler, 4, identity, 0, 2);
    }
    let places = [1, 2, 3].map(|queue| submit(&mut scheduler, queue, u64::from(10 + queue), 9 - i64::from(queue), 2));
    let mut served: Vec<Vec<PendingIx>> = vec![];
    while served.len() < 4 {
        let decisions = scheduler.step(1000, &mut AnyFloor);
        let found = places.iter().filter(|place| {
            decisions.iter().any(|decision| {
                let Verdict::Preempting { victims, .. } = &decision.verdict else { return false };
                decision.pending == **place && victims.iter().any(|victim| victim.stops_at.is_some())
            })
        });
        served.push(found.copied().collect());
    }
    assert!(served.iter().all(|cycle| cycle.len() <= 1), "{served:?}");
    assert_eq!(served.concat(), places);
}

#[test]
fn whoever_needs_nobody_to_go_waits_for_nobodys_turn() {
    let owner = Q { nominal: 2, reclaim: Takes::Any, ..Q::default() };
    let profile = Profile { candidates_per_cycle: Some(0), ..Profile::own(PreemptionRules::own(None)) };
    let mut scheduler = scheduler(&[owner, owner, Q::default()], profile);
    start(&mut scheduler, 3, 1, 0, 3);
    submit(&mut scheduler, 1, 2, 9, 2);
    let small = submit(&mut scheduler, 2, 3, 0, 1);
    let decisions = scheduler.step(1000, &mut AnyFloor);
    let admitted = |one: &Decision| one.pending == small && matches!(one.verdict, Verdict::Admitted { .. });
    assert!(decisions.iter().any(admitted), "{decisions:?}");
}

#[test]
fn a_queue_tells_only_so_many_to_go_in_so_long() {
    let most = Some(Most { count: 1, window_s: 100 });
    let profile = Profile { evictions_per_queue: most, ..Profile::own(PreemptionRules::own(None)) };
    let mut scheduler = scheduler(&[LOW], profile);
    start(&mut scheduler, 1, 1, 0, 2);
    start(&mut scheduler, 1, 2, 0, 2);
    submit(&mut scheduler, 1, 3, 9, 2);
    let other = submit(&mut scheduler, 1, 4, 8, 2);
    let decisions = scheduler.step(1000, &mut AnyFloor);
    assert_eq!(why(&decisions, other), Why::OverBudget { until: Some(1100) });
    assert_eq!(scheduler.next_due(), Some(1100));
    let (gone, _) = scheduler.running().iter().find(|(_, one)| one.evicting).unwrap();
    scheduler.end(gone);
    assert_eq!(why(&scheduler.step(1030, &mut AnyFloor), other), Why::OverBudget { until: Some(1100) });
    assert_eq!(victims(&scheduler.step(1100, &mut AnyFloor), other).len(), 1);
}

#[test]
fn the_budget_of_a_queue_does_not_hold_up_its_own() {
    let most = Some(Most { count: 0, window_s: 100 });
    let profile = Profile { evictions_per_queue: most, ..Profile::own(PreemptionRules::own(None)) };
    let owner = Q { nominal: 4, reclaim: Takes::Any, ..Q::default() };
    let mut scheduler = scheduler(&[owner, Q::default()], profile);
    let borrower = start(&mut scheduler, 2, 1, 0, 4);
    let place = submit(&mut scheduler, 1, 2, 0, 1);
    // It has run for no time at all.
    assert_eq!(victims(&scheduler.step(0, &mut AnyFloor), place), [borrower]);
}

#[test]
fn whoever_was_stopped_three_times_in_a_day_is_left_alone() {
    let mut play = Play::new(scheduler(&[LOW], Profile::own(PreemptionRules::own(None))));
    play.submit(1, 1, 0, 4);
    play.settle();
    for identity in 2..8 {
        play.now += 1000;
        play.run_s.insert(identity, 50);
        play.submit(1, identity, 5, 4);
        play.settle();
        let until = play.now + 900;
        play.play(until);
        play.now = until;
    }
    assert_eq!(play.stops, [(1, 3)].into());
    assert_eq!(play.started.len(), 4, "the others wait");
    // A day after the first stop the next one may.
    play.play(86_400 + 3000);
    assert_eq!(play.stops, [(1, 4)].into());
}
