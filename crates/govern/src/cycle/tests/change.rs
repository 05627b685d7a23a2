//! A change is tried on a copy, and its effect is what would really come.

use super::{
    super::{
        Stop,
        change::{Change, Effect, Fate},
    },
    *,
};

fn any(_: &Scheduler) -> Box<dyn Floor> {
    Box::new(AnyFloor)
}

const OWNER: Q = Q { nominal: 4, borrow: None, within: Takes::LowerPriority, reclaim: Takes::Any, strict: false };

fn with_quota(first: i64, second: i64) -> Scheduler {
    let queues = [first, second].map(|nominal| Q { nominal, ..OWNER });
    scheduler(&queues, Profile::own(PreemptionRules::own(None)))
}

#[test]
fn more_quota_lets_one_in_and_less_pushes_one_out() {
    let mut scheduler = with_quota(4, 4);
    submit(&mut scheduler, 1, 1, 0, 4);
    submit(&mut scheduler, 2, 2, 0, 4);
    scheduler.step(0, &mut AnyFloor);
    let waits = submit(&mut scheduler, 1, 3, 0, 2);
    scheduler.step(5000, &mut AnyFloor);
    let before = scheduler.clone();
    let effect = |first, second| {
        let estate = Change::Estate(Box::new(with_quota(first, second).estate().clone()));
        scheduler.what_if(&[estate], 5000, &mut any, 100)
    };
    let Effect { admitted, preempted, waits: others, at_rest, .. } = effect(6, 4);
    assert_eq!((admitted, preempted, others.len(), at_rest), (vec![3], vec![], 0, true));
    // Two of the second queue's quota move to the first: what it runs is now partly borrowed, and the first takes it back.
    let Effect { admitted, preempted, waits: others, .. } = effect(6, 2);
    assert_eq!((admitted, preempted), (vec![3], vec![2]));
    assert_eq!(others.iter().map(|one| (one.identity, one.before)).collect::<Vec<_>>(), [(2, Fate::Runs)]);
    // Less than it asks for can never be enough.
    let Effect { waits: others, .. } = effect(1, 0);
    assert_eq!(others.len(), 1);
    assert_eq!(others[0].after, Fate::Waits(Some(Why::Blocked(Blocked::ExceedsMaxQuota))));
    // Nothing was touched.
    assert_eq!(outcome(&scheduler), outcome(&before));
    assert_eq!(scheduler.book().get(waits), before.book().get(waits));
}

#[test]
fn other_changes_are_tried_too() {
    let mut scheduler = with_quota(4, 0);
    let running = start(&mut scheduler, 1, 1, 5, 4);
    let waits = submit(&mut scheduler, 1, 2, 0, 4);
    scheduler.step(5000, &mut AnyFloor);
    let effect = |change| scheduler.what_if(&[change], 5000, &mut any, 100);
    let drained = effect(Change::Stop { queue: NodeIx(1), stop: Stop::HoldAndDrain });
    assert_eq!((drained.admitted, drained.preempted), (vec![], vec![1]));
    let urgent = effect(Change::Priority { pending: waits, priority: 9 });
    assert_eq!((urgent.admitted, urgent.preempted), (vec![2], vec![1]));
    let gone = effect(Change::Evict(running));
    assert_eq!((gone.admitted, gone.preempted), (vec![2], vec![1]));
    let waiting = Waiting { local_usage: 0, priority: 9, queued_at: None, identity: 3 };
    let shape = scheduler.shape(&[pod_set(4, None)]);
    let more = Change::Submit(Box::new(Pending::new(NodeIx(1), waiting, shape)));
    let more = scheduler.what_if(&[more], 5000, &mut any, 100);
    assert_eq!((more.admitted, more.preempted), (vec![3], vec![1]));
    // A look that is cut short says so.
    assert!(!scheduler.what_if(&[Change::Evict(running)], 5000, &mut any, 1).at_rest);
}
