//! Small work passes who waits only if that one does not start later for it.

use super::{
    super::{Reservation, Stop},
    play::{Dice, Play},
    *,
};
use std::collections::BTreeMap;

const FOUR: Q = Q { nominal: 4, borrow: None, within: Takes::Never, reclaim: Takes::Never, strict: false };

fn own(patience_s: Option<u32>) -> Profile {
    Profile { patience_s, ..Profile::own(PreemptionRules::own(None)) }
}

// Three of four GPUs are in use until 100, and one that needs all four waits.
fn head(profile: Profile) -> (Play, PendingIx) {
    let mut play = Play::new(scheduler(&[FOUR, FOUR], profile));
    play.submit_known(2, 90, 4, 5000);
    play.submit_known(1, 1, 3, 100);
    play.settle();
    let head = play.submit_known(1, 2, 4, 10);
    (play, head)
}

fn starts(scheduler: &Scheduler) -> Vec<(u64, Option<i64>)> {
    scheduler.reservations().iter().map(|Reservation { identity, start, .. }| (*identity, *start)).collect()
}

#[test]
fn who_is_gone_in_time_passes_and_who_is_not_waits() {
    let (mut play, head) = head(own(Some(1_000_000)));
    play.settle();
    let (long, short) = (play.submit_known(1, 3, 1, 101), play.submit_known(1, 4, 1, 100));
    let decisions = play.cycle();
    assert!(is_admitted(&decisions, short));
    assert_eq!(why(&decisions, long), Why::Reserved { holder: head, start: Some(100) });
    assert_eq!(starts(&play.scheduler), [(2, Some(100))]);
    play.play(1000);
    assert_eq!((play.started[&2], play.started[&3]), (100, 110));
    // Without that it would have started later.
    let (mut play, _) = self::head(own(None));
    play.settle();
    play.submit_known(1, 4, 1, 101);
    play.play(1000);
    assert_eq!((play.started[&4], play.started[&2]), (0, 101));
}

#[test]
fn who_leaves_enough_passes() {
    let mut play = Play::new(scheduler(&[Q { nominal: 8, ..FOUR }], own(Some(1_000_000))));
    play.submit_known(1, 1, 6, 100);
    play.settle();
    let head = play.submit_known(1, 2, 7, 10);
    play.settle();
    // One of eight is left over when the head starts.
    let (one, other) = (play.submit_known(1, 3, 1, 500), play.submit_known(1, 4, 1, 500));
    let decisions = play.cycle();
    assert!(is_admitted(&decisions, one));
    assert_eq!(why(&decisions, other), Why::Reserved { holder: head, start: Some(100) });
    play.play(1000);
    assert_eq!(play.started[&2], 100);
}

#[test]
fn where_no_end_is_known_patience_decides() {
    for (patience_s, starved) in [(None, true), (Some(300), false)] {
        let mut play = Play::new(scheduler(&[FOUR], own(patience_s)));
        // Small ones come all the time, and nobody says how long they run.
        for identity in 100..200 {
            play.run_s.insert(identity, 50);
        }
        play.run_s.insert(1, 10);
        for (second, identity) in (0..2000).step_by(20).zip(100..200) {
            play.play(second);
            play.now = second;
            play.submit(1, identity, 0, 1);
            if second == 40 {
                play.submit(1, 1, 0, 4);
            }
        }
        play.play(2000);
        // It waits for as long as the patience lasts, and then for the last of the small ones.
        assert_eq!(play.started.get(&1).is_none_or(|at| *at > 400), starved, "{:?}", play.started.get(&1));
    }
}

#[test]
fn a_queue_within_its_own_is_not_held_up_by_another() {
    let borrower = Q { nominal: 0, ..FOUR };
    let mut play = Play::new(scheduler(&[FOUR, FOUR, borrower], own(Some(0))));
    play.submit(1, 1, 0, 2);
    play.settle();
    // The borrower waits for all eight, and nobody knows for how long.
    let head = play.submit(3, 2, 0, 8);
    play.settle();
    let (within, beyond) = (play.submit(2, 3, 0, 4), play.submit(3, 4, 0, 1));
    let decisions = play.cycle();
    assert!(is_admitted(&decisions, within));
    assert_eq!(why(&decisions, beyond), Why::Reserved { holder: head, start: None });
    // Somebody more urgent is not held up either.
    let urgent = play.submit(1, 5, 1, 2);
    assert!(is_admitted(&play.cycle(), urgent));
}

#[test]
fn what_is_kept_is_given_back_with_who_it_was_kept_for() {
    type Leave = fn(&mut Scheduler, PendingIx);
    let ways: [Leave; 4] = [
        |scheduler, head| assert!(scheduler.cancel(head).is_some()),
        |scheduler, head| scheduler.gate(head, false),
        |scheduler, _| assert!(scheduler.set_stop(NodeIx(1), Stop::Hold).is_empty()),
        |scheduler, _| scheduler.set_estate(scheduler.estate().clone()),
    ];
    for leave in ways {
        let (mut play, head) = head(own(Some(0)));
        play.settle();
        // One of the second queue would borrow the last GPU for too long.
        let other = play.submit_known(2, 4, 1, 1000);
        assert_eq!(why(&play.cycle(), other), Why::Reserved { holder: head, start: Some(100) });
        leave(&mut play.scheduler, head);
        assert!(play.scheduler.is_ready() || play.scheduler.book().is_stopped(NodeIx(1)));
        let decisions = play.cycle();
        if play.scheduler.reservations().is_empty() {
            assert!(is_admitted(&decisions, other));
        } else {
            // The quotas are new and the same: it is kept again.
            assert_eq!(starts(&play.scheduler)[0].0, 2);
        }
    }
}

#[test]
fn the_one_that_waits_longest_is_kept_for_first_and_then_the_next() {
    let mut play = Play::new(scheduler(&[FOUR, FOUR], own(Some(1_000_000))));
    play.submit_known(1, 1, 3, 100);
    play.submit_known(2, 2, 3, 100);
    play.settle();
    play.now = 5;
    play.submit_known(2, 3, 8, 10);
    play.now = 3;
    play.submit_known(1, 4, 8, 10);
    play.now = 5;
    play.settle();
    assert_eq!(starts(&play.scheduler).iter().map(|one| one.0).collect::<Vec<_>>(), [4]);
    play.play(100);
    assert_eq!(starts(&play.scheduler).iter().map(|one| one.0).collect::<Vec<_>>(), [3]);
    play.play(1000);
    assert_eq!((play.started[&4], play.started[&3]), (100, 110));
}

// A queue of its own with a head that does not fit at first, and small ones that come later. Says when the head starts, and
// when it was promised to start.
fn race(seed: u64, small: bool, early: bool) -> (i64, Option<i64>, BTreeMap<u64, i64>) {
    let mut dice = Dice(seed);
    let size = 4 + dice.amount(8);
    let mut play = Play::new(scheduler(&[Q { nominal: size, ..FOUR }], own(Some(100_000))));
    let mut free = u32::try_from(size).unwrap();
    for identity in 10..10 + dice.below(6) + 1 {
        let pods = 1 + dice.node(4);
        if pods > free {
            continue;
        }
        free -= pods;
        let run_s = 10 + dice.node(200);
        play.submit_known(1, identity, pods, run_s);
        if early {
            play.run_s.insert(identity, 1 + dice.amount(u64::from(run_s)));
        }
    }
    play.settle();
    play.now = 1;
    let pods = u32::try_from(size).unwrap() - dice.node(3);
    play.submit_known(1, 1, pods, 50);
    play.settle();
    let mut promised = None;
    for identity in 100..140 {
        let (wait_s, pods, run_s) = (dice.amount(15), 1 + dice.node(3), 5 + dice.node(150));
        let until = play.now + wait_s;
        play.play(until);
        play.now = until;
        promised = promised.or_else(|| starts(&play.scheduler).iter().find(|one| one.0 == 1).and_then(|one| one.1));
        if small {
            play.submit_known(1, identity, pods, run_s);
        }
    }
    play.play(100_000);
    (play.started[&1], promised, play.started)
}

#[test]
fn whoever_passes_never_delays_who_waits() {
    let (mut passed, mut waited) = (0, 0);
    for seed in 0..400 {
        let (alone, _, _) = race(seed, false, false);
        let (among, _, started) = race(seed, true, false);
        assert_eq!(among, alone, "seed {seed}");
        waited += u32::from(alone > 1);
        passed += started.iter().filter(|(identity, at)| **identity >= 100 && **at < among).count();
        // Where others end before their time it may start earlier than promised, and never later.
        let (among, promised, _) = race(seed, true, true);
        assert!(promised.is_none_or(|promised| among <= promised), "seed {seed}: {among} after {promised:?}");
    }
    // The test would be worth nothing if nobody waited or nobody passed.
    assert!(waited > 200 && passed > 200, "{waited} waited, {passed} passed");
}
