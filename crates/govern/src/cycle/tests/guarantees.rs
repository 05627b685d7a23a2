//! What holds for any estate and any work under our own profile.

use super::{
    play::{Dice, Play},
    *,
};
use crate::tree::Usage;
use std::collections::{BTreeMap, BTreeSet};

fn takes(dice: &mut Dice) -> Takes {
    [Takes::Never, Takes::LowerPriority, Takes::LowerOrNewerEqualPriority, Takes::Any][dice.node(4) as usize]
}

fn estate(dice: &mut Dice) -> Vec<Q> {
    let queue = |dice: &mut Dice| {
        let borrow = (dice.below(3) == 0).then(|| dice.amount(6));
        let (within, reclaim) = (takes(dice), takes(dice));
        Q { nominal: dice.amount(7), borrow, within, reclaim, strict: dice.below(4) == 0 }
    };
    (0..2 + dice.below(3)).map(|_| queue(dice)).collect()
}

fn rules(dice: &mut Dice) -> PreemptionRules {
    let fair = (dice.below(2) == 0).then_some(FairStrategies::Both);
    // Half of them without any limit in time: rest must not depend on it.
    if dice.below(2) == 0 {
        return PreemptionRules { run_s_min: 0, stops_max: None, ..PreemptionRules::own(fair) };
    }
    PreemptionRules::own(fair)
}

// Who has to go, as it is decided: the victim's queue uses more than its own, and whoever borrows takes nobody below its own.
fn check_nominal(before: &Scheduler, decisions: &[Decision]) {
    let tree = &before.estate().tree;
    let own = |queue: NodeIx| tree.quota(queue, GPU).nominal;
    let (mut usage, mut gone) = (before.usage().clone(), BTreeSet::new());
    for decision in decisions {
        let (assignment, victims) = match &decision.verdict {
            Verdict::Admitted { assignment, .. } => (assignment, &[][..]),
            Verdict::Preempting { assignment, victims } => (assignment, victims.as_slice()),
            Verdict::Waiting { .. } => continue,
        };
        gone.extend(victims.iter().map(|victim| victim.workload));
        let left = |usage: &Usage, queue: NodeIx| {
            let lost = gone.iter().filter_map(|place| before.running().get(*place)).filter(|one| one.queue == queue);
            lost.fold(usage.of(queue, GPU), |left, one| left.minus(one.usage[0].1))
        };
        let taker = left(&usage, decision.queue).plus(assignment.usage[0].1);
        for victim in victims.iter().filter(|one| one.queue != decision.queue && one.stops_at.is_some()) {
            assert!(usage.of(victim.queue, GPU) > own(victim.queue), "{:?} uses only its own", victim.queue);
            if taker > own(decision.queue) {
                assert!(left(&usage, victim.queue) >= own(victim.queue), "{:?} is left with less", victim.queue);
            }
        }
        usage.add(tree, decision.queue, GPU, assignment.usage[0].1);
    }
}

#[test]
fn ten_thousand_scenarios_come_to_rest_and_keep_all_limits() {
    let (mut told, mut admitted) = (0_u32, 0_usize);
    for seed in 0..10_000 {
        let dice = &mut Dice(seed);
        let queues = estate(dice);
        let own = Profile::own(rules(dice));
        // Also with so short a breath that most cycles are cut short.
        let candidates_per_cycle = if seed % 3 == 0 { Some(1 + dice.node(4)) } else { own.candidates_per_cycle };
        let profile = Profile { heads_per_queue: 1 + dice.node(4), candidates_per_cycle, ..own };
        let mut play = Play::new(scheduler(&queues, profile));
        let works = 3 + dice.below(8);
        for identity in 0..works {
            let queue = 1 + dice.node(queues.len() as u64);
            play.submit(queue, identity, dice.amount(3), 1 + dice.node(5));
            if dice.below(3) == 0 {
                cycle(&mut play);
            }
            play.now += dice.amount(900);
            let until = play.now;
            while play.tick(until) {
                cycle(&mut play);
            }
            play.now = until;
        }
        // Nothing ends from here on: whatever still happens, happens because work pushes work.
        let before: u32 = play.stops.values().sum();
        let mut moments = 0;
        loop {
            // A cycle that was cut short may do nothing and leave something to the next one.
            let mut idle = 0;
            while idle <= queues.len() {
                idle = if cycle(&mut play) { 0 } else { idle + 1 };
            }
            if !play.tick(i64::MAX) {
                break;
            }
            moments += 1;
            assert!(moments < 500, "seed {seed} does not come to rest: {:?}", play.stops);
        }
        let after: u32 = play.stops.values().sum();
        let bound = u32::try_from(works * works).unwrap();
        assert!(after - before <= bound, "seed {seed}: {} stops for {works} workloads", after - before);
        told += after;
        admitted += play.started.len();
    }
    assert!(told > 2_000 && admitted > 30_000, "{told} told to go, {admitted} admitted");
}

// One cycle, and whether it did something. Usage is looked at by the play.
fn cycle(play: &mut Play) -> bool {
    let before = play.scheduler.clone();
    let decisions = play.cycle();
    check_nominal(&before, &decisions);
    decisions.iter().any(|decision| match &decision.verdict {
        Verdict::Admitted { .. } => true,
        Verdict::Preempting { victims, .. } => victims.iter().any(|victim| victim.stops_at.is_some()),
        Verdict::Waiting { .. } => false,
    })
}

#[test]
fn what_is_lent_comes_back_within_the_notice() {
    for seed in 0..500 {
        let dice = &mut Dice(seed);
        let fair = (dice.below(2) == 0).then_some(FairStrategies::Both);
        let owner = Q { nominal: 2 + dice.amount(6), reclaim: Takes::Any, ..Q::default() };
        let borrower = Q { nominal: dice.amount(3), reclaim: Takes::Any, ..Q::default() };
        let profile = Profile::own(PreemptionRules::own(fair));
        let mut play = Play::new(scheduler(&[owner, borrower, borrower], profile));
        for identity in 0..20 {
            play.submit(2 + dice.node(2), identity, 9, 1 + dice.node(3));
        }
        play.settle();
        // The owner asks at once for what is its own, of less priority, when the others have hardly started.
        play.now += dice.amount(20);
        let pods = 1 + dice.node(u64::try_from(owner.nominal).unwrap());
        let asked_at = play.now;
        play.submit(1, 100, -5, pods);
        play.settle();
        play.play(asked_at + i64::from(PreemptionRules::own(fair).notice_s));
        assert!(play.started[&100] <= asked_at + 30, "seed {seed}");
    }
}

#[test]
fn who_is_named_first_does_not_matter() {
    let mut told = 0;
    for seed in 0..300 {
        let outcome = |turn: u64| {
            let dice = &mut Dice(seed);
            let queues = estate(dice);
            let mut play = Play::new(scheduler(&queues, Profile::own(rules(dice))));
            let mut works: Vec<(u32, u64, i64, u32)> = (0..12)
                .map(|identity| (1 + dice.node(queues.len() as u64), identity, dice.amount(3), 1 + dice.node(5)))
                .collect();
            let mut shuffle = Dice(turn);
            for part in works.chunks_mut(6) {
                for at in (1..part.len()).rev() {
                    part.swap(at, shuffle.node(at as u64 + 1) as usize);
                }
                for (queue, identity, priority, pods) in part {
                    play.submit(*queue, *identity, *priority, *pods);
                }
                play.settle();
                play.play(play.now + 1000);
                play.now += 1000;
            }
            play.play(100_000);
            let running: BTreeMap<u64, i64> =
                play.scheduler.running().iter().map(|(_, one)| (one.identity, one.quota_at.unwrap())).collect();
            (running, play.stops, play.started)
        };
        let first = outcome(0);
        told += first.1.len();
        (1..4).for_each(|turn| assert_eq!(outcome(turn), first, "seed {seed}, turn {turn}"));
    }
    assert!(told > 50, "{told}");
}
