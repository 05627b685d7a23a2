//! What each event does, and whom it wakes.

use super::{
    super::{Backoff, Stop},
    *,
};
use crate::workload::Cause;

const Q4: Q = Q { nominal: 4, borrow: None, within: Takes::LowerPriority, reclaim: Takes::Any, strict: false };

fn own() -> Profile {
    Profile::own(PreemptionRules::own(None))
}

// The workload that a cycle admitted, and nothing else.
fn the_admitted(decisions: &[Decision]) -> WorkloadIx {
    match decisions {
        [Decision { verdict: Verdict::Admitted { workload, .. }, .. }] => *workload,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_back_off_is_twice_the_last_up_to_a_limit() {
    let backoff = Backoff { first_s: 10, most_s: 600 };
    assert_eq!([1, 2, 3, 6, 7, 40, u32::MAX].map(|time| backoff.wait_s(time)), [10, 20, 40, 320, 600, 600, 600]);
    assert_eq!(Backoff::NONE.wait_s(5), 0);
}

#[test]
fn who_had_to_stop_keeps_its_place_and_waits_for_its_back_off() {
    let mut scheduler = scheduler(&[Q4], own());
    let shape = scheduler.shape(&[pod_set(4, None)]);
    let waiting = Waiting { local_usage: 0, priority: 3, queued_at: Some(-50), identity: 1 };
    scheduler.submit(Pending { max_run_s: Some(77), ..Pending::new(NodeIx(1), waiting, shape) });
    for (now, due) in [(100, 110), (200, 220)] {
        let workload = the_admitted(&scheduler.step(now, &mut AnyFloor));
        assert!(scheduler.evict(workload, Cause::NotReady));
        assert!(!scheduler.evict(workload, Cause::Asked), "it goes already");
        // Its quota counts until it is gone.
        assert_eq!(scheduler.usage().of(NodeIx(1), GPU), Amount::new(4));
        let pending = scheduler.gone(now, workload).unwrap();
        assert_eq!(scheduler.usage().of(NodeIx(1), GPU), Amount::ZERO);
        let found = scheduler.book().get(pending).unwrap();
        assert_eq!((found.waiting, found.max_run_s, found.due_at), (waiting, Some(77), Some(due)));
        assert_eq!(scheduler.next_due(), Some(due));
        assert!(scheduler.step(due - 1, &mut AnyFloor).is_empty());
        let workload = the_admitted(&scheduler.step(due, &mut AnyFloor));
        assert_eq!(scheduler.next_due(), None);
        scheduler.evict(workload, Cause::NotReady);
        // It leaves with what it had; the next round starts from there.
        let again = scheduler.end(workload).unwrap();
        let past = again.terms.past;
        scheduler.submit(Pending { max_run_s: Some(77), past, ..Pending::new(NodeIx(1), waiting, shape) });
    }
}

#[test]
fn who_was_started_without_a_shape_does_not_come_back() {
    let mut scheduler = scheduler(&[Q4], own());
    let workload = start(&mut scheduler, 1, 1, 0, 4);
    assert_eq!((scheduler.gone(5, workload), scheduler.gone(6, workload)), (None, None));
    assert_eq!(scheduler.usage().of(NodeIx(1), GPU), Amount::ZERO);
}

#[test]
fn a_gate_keeps_one_out_until_it_opens() {
    let mut scheduler = scheduler(&[Q4], own());
    let place = submit(&mut scheduler, 1, 1, 0, 1);
    scheduler.gate(place, false);
    assert_eq!(why(&scheduler.step(0, &mut AnyFloor), place), Why::PendingEvaluation);
    assert!(!scheduler.is_ready() && scheduler.step(1, &mut AnyFloor).is_empty());
    scheduler.gate(place, true);
    assert!(scheduler.is_ready() && is_admitted(&scheduler.step(2, &mut AnyFloor), place));
}

#[test]
fn a_queue_on_hold_admits_nothing_and_a_drained_one_empties() {
    let mut scheduler = scheduler(&[Q4], own());
    let (one, other) = (start(&mut scheduler, 1, 1, 0, 1), start(&mut scheduler, 1, 2, 0, 1));
    let place = submit(&mut scheduler, 1, 3, 9, 1);
    assert!(scheduler.set_stop(NodeIx(1), Stop::Hold).is_empty());
    assert!(scheduler.step(0, &mut AnyFloor).is_empty());
    scheduler.evict(one, Cause::Asked);
    assert_eq!(scheduler.set_stop(NodeIx(1), Stop::HoldAndDrain), [other]);
    assert_eq!(scheduler.running().get(other).unwrap().terms.leaves, Some(Cause::Drained));
    assert_eq!(scheduler.running().get(one).unwrap().terms.leaves, Some(Cause::Asked));
    assert!(scheduler.set_stop(NodeIx(1), Stop::None).is_empty());
    assert!(is_admitted(&scheduler.step(1, &mut AnyFloor), place));
}

#[test]
fn priorities_change_for_who_waits_and_for_who_runs() {
    let mut scheduler = scheduler(&[Q4], own());
    let running = start(&mut scheduler, 1, 1, 5, 4);
    let (low, high) = (submit(&mut scheduler, 1, 2, 1, 4), submit(&mut scheduler, 1, 3, 2, 4));
    let decisions = scheduler.step(1000, &mut AnyFloor);
    assert_eq!([why(&decisions, low), why(&decisions, high)], [SHORT; 2]);
    assert_eq!(decisions[0].pending, high);
    scheduler.set_priority(low, 3);
    assert_eq!(scheduler.step(1001, &mut AnyFloor)[0].pending, low);
    // One that runs is worth less now than one that waits.
    scheduler.set_running_priority(running, 2);
    assert_eq!(victims(&scheduler.step(1002, &mut AnyFloor), low), [running]);
}

#[test]
fn a_queue_lines_up_anew_when_its_order_changes() {
    let mut scheduler = scheduler(&[Q4], own());
    let places = [(1, 0), (2, 7), (3, 3)].map(|(identity, priority)| submit(&mut scheduler, 1, identity, priority, 1));
    let line = |scheduler: &Scheduler| {
        scheduler.book().line_up(NodeIx(1)).into_iter().map(|(place, _)| place).collect::<Vec<_>>()
    };
    assert_eq!(line(&scheduler), [places[1], places[2], places[0]]);
    scheduler.set_queue(NodeIx(1), book::Strategy::Strict, Order::Age);
    assert_eq!(line(&scheduler), places);
}

// Two kinds of GPUs, a group of its own for each.
fn two_kinds() -> Scheduler {
    let four = Quota { nominal: Amount::new(4), ..Quota::default() };
    let quotas = vec![(GPU, four), (FlavorResource(1), four)];
    let queue = NodeSpec { parent: Some(0), is_queue: true, quotas, ..NodeSpec::default() };
    let specs = [NodeSpec::default(), queue];
    let tree = Tree::build(&specs, 2).unwrap();
    let group =
        |at| Group { resources: vec![Resource(at)], flavors: vec![FlavorIx(0)], cells: vec![FlavorResource(at)] };
    let estate = Estate {
        shares: Shares::build(&tree, &[Resource(0), Resource(1)]),
        offers: vec![Offer { groups: vec![group(0), group(1)], ..Offer::default() }; 2],
        policies: vec![QueuePolicy::default(); 2],
        tree,
        catalog: vec![Some(Flavor::default())],
        pods: None,
    };
    Scheduler::new(estate, own())
}

#[test]
fn an_end_wakes_only_those_that_may_use_what_it_used() {
    let mut scheduler = two_kinds();
    let ask = |kind| PodSet { count: 4, requests: vec![(Resource(kind), Amount::new(1))], ..PodSet::default() };
    let mut places = vec![];
    for (identity, kind) in [(1, 0), (2, 1), (3, 0), (4, 1)] {
        let shape = scheduler.shape(&[ask(kind)]);
        let waiting = Waiting { local_usage: 0, priority: 0, queued_at: Some(0), identity };
        places.push(scheduler.submit(Pending::new(NodeIx(1), waiting, shape)));
    }
    let decisions = scheduler.step(0, &mut AnyFloor);
    assert_eq!([2, 3].map(|at| why(&decisions, places[at])), [SHORT; 2]);
    let Verdict::Admitted { workload, .. } = of(&decisions, places[0]).verdict else { panic!("it waits") };
    assert!(!scheduler.is_ready());
    scheduler.end(workload);
    let decisions = scheduler.step(1, &mut AnyFloor);
    assert!(is_admitted(&decisions, places[2]) && decisions.len() == 1, "{decisions:?}");
    assert_eq!(scheduler.book().place_of(places[3]), Some(Where::Parked));
}

#[test]
fn a_minimum_run_time_ends_without_any_event() {
    let mut scheduler = scheduler(&[Q4], own());
    let running = start(&mut scheduler, 1, 1, 0, 4);
    scheduler.running.update(running, |one| one.quota_at = Some(100));
    let place = submit(&mut scheduler, 1, 2, 9, 4);
    assert_eq!(why(&scheduler.step(150, &mut AnyFloor), place), SHORT);
    assert_eq!(scheduler.next_due(), Some(700));
    assert!(scheduler.step(699, &mut AnyFloor).is_empty());
    let decisions = scheduler.step(700, &mut AnyFloor);
    assert_eq!(victims(&decisions, place), [running]);
    let Verdict::Preempting { victims, .. } = &of(&decisions, place).verdict else { panic!("nobody goes") };
    assert_eq!(victims[0].stops_at, Some(730));
}

#[test]
fn who_is_cancelled_is_not_due() {
    let mut scheduler = scheduler(&[Q4], own());
    let running = start(&mut scheduler, 1, 1, 0, 4);
    scheduler.running.update(running, |one| one.quota_at = Some(100));
    let place = submit(&mut scheduler, 1, 2, 9, 4);
    scheduler.step(150, &mut AnyFloor);
    assert_eq!(scheduler.cancel(place).map(|pending| pending.waiting.identity), Some(2));
    assert_eq!((scheduler.next_due(), scheduler.cancel(place)), (None, None));
}

#[test]
fn who_waits_for_others_to_go_gives_nothing_to_do_until_one_of_them_is_gone() {
    for strict in [false, true] {
        let mut scheduler = scheduler(&[Q { strict, ..Q4 }], own());
        let leaves = start(&mut scheduler, 1, 1, 0, 4);
        let (place, behind) = (submit(&mut scheduler, 1, 2, 9, 4), submit(&mut scheduler, 1, 3, 9, 4));
        assert_eq!(victims(&scheduler.step(700, &mut AnyFloor), place), [leaves]);
        // The one behind is looked at in its turn, and waits.
        scheduler.step(701, &mut AnyFloor);
        assert_eq!((scheduler.is_ready(), scheduler.next_due()), (false, None));
        // Another one comes, and does not pass it.
        let smaller = submit(&mut scheduler, 1, 4, 0, 1);
        assert_eq!(scheduler.is_ready(), !strict);
        let decisions = scheduler.step(702, &mut AnyFloor);
        assert!(!is_admitted_at_all(&decisions) && !scheduler.is_ready(), "{decisions:?}");
        // A wish of its own is looked at at once.
        scheduler.set_priority(place, 10);
        assert!(scheduler.is_ready());
        scheduler.step(703, &mut AnyFloor);
        assert!(!scheduler.is_ready());
        scheduler.gone(730, leaves);
        assert!(scheduler.is_ready());
        assert!(is_admitted(&scheduler.step(730, &mut AnyFloor), place));
        assert_eq!([behind, smaller].map(|waits| scheduler.book().get(waits).is_some()), [true; 2]);
    }
}

fn is_admitted_at_all(decisions: &[Decision]) -> bool {
    decisions.iter().any(|decision| matches!(decision.verdict, Verdict::Admitted { .. }))
}
