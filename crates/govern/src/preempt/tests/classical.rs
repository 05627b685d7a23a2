//! The classical search, rule by rule.

use super::{super::*, GPU, World, cohort, gpus, queue};
use std::collections::BTreeSet;

// One cohort with three queues of four GPUs.
fn three() -> World {
    World::new(vec![cohort(None, 0), queue(Some(0), 4), queue(Some(0), 4), queue(Some(0), 4)])
}

#[test]
fn in_a_queue_the_lowest_priority_goes_first_and_no_more_than_needed() {
    let world = World::new(vec![queue(None, 6)]).run(0, 1, 2).run(0, -1, 2).run(0, 0, 2);
    assert_eq!(world.victims(0, 2, 2), [1]);
    assert_eq!(world.victims(0, 2, 3), [1, 2]);
    let plan = world.ask(0, 2, 2).unwrap();
    assert_eq!(plan.victims[0].reason, Reason::InQueue { priority: -1, taker_priority: 2 });
    assert_eq!(world.refusal(0, -1, 2), Because::NoCandidates);
    assert_eq!(world.refusal(0, 0, 3), Because::NotEnough { what: GPU, short: Amount::new(1) });
}

#[test]
fn of_equal_priority_only_what_came_later_gives_way() {
    let world = World::new(vec![queue(None, 4)])
        .policy(0, |policy| policy.within_queue = Takes::LowerOrNewerEqualPriority)
        .run_with(0, 0, 2, |it| it.queued_at = Some(4))
        .run_with(0, 0, 2, |it| it.queued_at = Some(6));
    // The one that asks came at five.
    assert_eq!(world.victims(0, 0, 2), [1]);
    assert_eq!(world.refusal(0, 0, 4), Because::NotEnough { what: GPU, short: Amount::new(2) });
    let margin = PreemptionRules { newer_s_min: 1, ..PreemptionRules::default() };
    assert_eq!(world.rules(margin).refusal(0, 0, 2), Because::NoCandidates);
}

#[test]
fn never_and_unset_give_nobody() {
    for takes in [Takes::Never, Takes::Unset] {
        let own = World::new(vec![queue(None, 2)]).policy(0, |policy| policy.within_queue = takes).run(0, 0, 2);
        assert_eq!(own.refusal(0, 9, 1), Because::NoCandidates);
        let other = three().policy(1, |policy| policy.reclaim = takes).run(2, 0, 12);
        assert_eq!(other.refusal(1, 9, 1), Because::NoCandidates);
    }
}

#[test]
fn only_what_is_borrowed_is_reclaimed() {
    // The second queue borrows two, the third none.
    let world = three().run(2, 5, 2).run(2, 6, 2).run(2, 7, 2).run(3, -9, 4);
    assert_eq!(world.victims(1, 0, 4), [0]);
    let Reason::CohortReclaim { over, nearer: true } = world.ask(1, 0, 4).unwrap().victims[0].reason else { panic!() };
    assert_eq!(over, Over { node: NodeIx(2), what: GPU, used: Amount::new(6), own: Amount::new(4) });
    // More than its own it does not get back.
    assert_eq!(world.refusal(1, 0, 5), Because::NotEnough { what: GPU, short: Amount::new(1) });
}

#[test]
fn a_queue_that_has_come_down_to_its_own_gives_no_more() {
    // Both borrow; after one of its own the second is within its own and the third has to give.
    let world = three().run(2, -5, 3).run(2, -4, 3).run(3, 0, 3).run(3, 1, 3);
    assert_eq!(world.victims(1, 0, 4), [0, 2]);
}

#[test]
fn what_is_being_stopped_goes_first() {
    let world = three().run(2, -5, 3).run_with(2, 9, 3, |it| it.evicting = true).run(2, 0, 3);
    let plan = world.ask(1, 0, 4).unwrap();
    assert_eq!(plan.victims.iter().map(|victim| victim.workload.0).collect::<Vec<_>>(), [1]);
    assert_eq!(plan.victims[0].stops_at, None);
}

#[test]
fn the_order_of_local_queues_counts_in_one_queue_only() {
    let world = three()
        .run_with(2, 0, 3, |it| it.local_usage = 10)
        .run_with(2, -7, 3, |it| it.local_usage = 1)
        .run(3, -5, 3)
        .run(3, -4, 3);
    // The first of the second queue has priority zero, so the third is asked first.
    assert_eq!(world.victims(1, 1, 3), [2]);
}

#[test]
fn whoever_borrows_takes_only_below_the_threshold() {
    let limited = |priority_max| {
        three()
            .policy(1, |policy| policy.while_borrowing = Some(TakesWhileBorrowing { priority_max }))
            .run(1, 5, 4)
            .run(2, 1, 3)
            .run(2, 0, 3)
            .run(2, -3, 2)
    };
    // Six are free in quota for nobody: the first queue is full, so what it asks for would be borrowed.
    assert_eq!(limited(None).victims(1, 2, 2), [3]);
    assert_eq!(limited(Some(-3)).victims(1, 2, 2), [3]);
    assert_eq!(limited(None).victims(1, 2, 3), [2]);
    assert_eq!(limited(Some(-3)).refusal(1, 2, 3), Because::NotEnough { what: GPU, short: Amount::new(1) });
    let plan = limited(Some(-3)).ask(1, 2, 2).unwrap();
    let Reason::CohortReclaimWhileBorrowing { priority: -3, taker_priority: 2, priority_max: Some(-3), over } =
        plan.victims[0].reason
    else {
        panic!()
    };
    assert_eq!((over.used, over.own), (Amount::new(8), Amount::new(4)));
}

#[test]
fn what_is_nearer_by_the_shape_of_the_tree_goes_before_lower_priority() {
    // The taker's cohort has ten of its own; the queue outside uses four of it and the sibling six.
    let specs = vec![cohort(None, 0), cohort(Some(0), 10), queue(Some(1), 0), queue(Some(1), 0), queue(Some(0), 0)];
    let world = World::new(specs).run(3, -9, 6).run(4, 9, 4);
    let plan = world.ask(2, 0, 4).unwrap();
    assert_eq!(plan.victims.iter().map(|victim| victim.workload.0).collect::<Vec<_>>(), [1]);
    assert!(matches!(plan.victims[0].reason, Reason::CohortReclaim { nearer: true, .. }));
    // For five the cohort has not enough either: then nobody is nearer, and the taker would borrow.
    assert_eq!(world.refusal(2, 0, 5), Because::NoCandidates);
}

#[test]
fn getting_back_its_own_is_tried_before_borrowing() {
    // Two of its own would be enough with borrowing; without, one of them and what another has borrowed.
    let world = three().run(1, -2, 1).run(1, -1, 2).run(2, 5, 4).run(2, 6, 4).run(3, 9, 1);
    assert_eq!(world.victims(1, 0, 3), [2, 1]);
    // Where it may take while it borrows, that is tried first.
    let limit = Some(TakesWhileBorrowing { priority_max: None });
    assert_eq!(world.policy(1, |policy| policy.while_borrowing = limit).victims(1, 0, 3), [0, 1]);
}

#[test]
fn a_large_search_puts_back_the_same_as_a_small_one() {
    let mut world = World::new(vec![queue(None, 160)]);
    for _ in 0..80 {
        world = world.run(0, -9, 1);
    }
    for _ in 0..20 {
        world = world.run(0, -8, 3);
    }
    // All are taken, the large one last: seventeen too many. Five of three come back, and two of one.
    let left: Vec<u32> = (0..78).chain(80..95).chain([100]).collect();
    assert_eq!(world.run(0, -1, 20).victims(0, 0, 143), left);
}

#[test]
fn who_is_set_aside_is_not_taken() {
    let mut world = three().run(2, 0, 6).run(2, 1, 6);
    assert_eq!(world.victims(1, 0, 4), [0]);
    world.running.set_aside(WorkloadIx(0), true);
    assert_eq!(world.victims(1, 0, 4), [1]);
}

// A place that is free once all of these are gone.
#[derive(Default)]
struct Needs {
    gone: BTreeSet<u32>,
    needed: BTreeSet<u32>,
}

impl Place for Needs {
    fn take(&mut self, workload: WorkloadIx, _: Part) {
        assert!(self.gone.insert(workload.0));
    }
    fn put_back(&mut self, workload: WorkloadIx, _: Part) {
        assert!(self.gone.remove(&workload.0));
    }
    fn is_found(&mut self) -> bool {
        self.needed.is_subset(&self.gone)
    }
}

#[test]
fn quota_and_place_become_free_together() {
    let world = World::new(vec![queue(None, 8)]).run(0, -1, 2).run(0, -2, 2).run(0, -3, 2).run(0, -4, 2);
    let (request, contested) = (gpus(2), [GPU]);
    let asking = Asking {
        queue: NodeIx(0),
        priority: 0,
        queued_at: None,
        request: &request,
        contested: &contested,
        displaced_by: None,
    };
    let mut place = Needs { needed: BTreeSet::from([1]), ..Needs::default() };
    let plan = world.search_in(&asking, &mut place).unwrap();
    // The lowest two would do for quota alone; the place needs the second, and only it stays a victim.
    assert_eq!(plan.victims.iter().map(|victim| victim.workload.0).collect::<Vec<_>>(), [1]);
    assert!(place.gone.is_empty());
    let mut nowhere = Needs { needed: BTreeSet::from([7]), ..Needs::default() };
    assert_eq!(world.search_in(&asking, &mut nowhere).unwrap_err().because, Because::NoPlace);
}
