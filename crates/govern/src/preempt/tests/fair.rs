//! The fair search, rule by rule.

use super::{super::*, World, cohort, queue, weight};

fn fair(strategies: FairStrategies) -> PreemptionRules {
    PreemptionRules::kueue(Some(strategies))
}

// Three queues of three GPUs in one cohort.
fn three() -> World {
    let specs = vec![cohort(None, 0), queue(Some(0), 3), queue(Some(0), 3), queue(Some(0), 3)];
    World::new(specs).rules(fair(FairStrategies::Both))
}

#[test]
fn within_its_own_a_queue_takes_back_whatever_the_shares_are() {
    let world = three().run(2, 0, 3).run(2, 1, 3).run(3, 0, 3);
    let plan = world.ask(1, 0, 3).unwrap();
    assert_eq!(plan.victims.len(), 1);
    assert_eq!(plan.victims[0].workload, WorkloadIx(0));
    assert!(matches!(plan.victims[0].reason, Reason::CohortReclaim { nearer: false, .. }));
}

#[test]
fn beyond_its_own_only_while_its_share_stays_below() {
    // The second queue borrows the three of the third, in workloads of one.
    let mut world = three().run(1, 0, 3);
    for _ in 0..6 {
        world = world.run(2, 0, 1);
    }
    let plan = world.ask(1, 0, 1).unwrap();
    let [Victim { reason: Reason::CohortFairShare { rule, taker, giver, giver_after }, .. }] = plan.victims[..] else {
        panic!()
    };
    assert_eq!(rule, FairRule::FinalShare);
    assert_eq!((taker.0, giver.0), (NodeIx(1), NodeIx(2)));
    // One, three and two of nine, in thousandths.
    assert_eq!([taker.1, giver.1, giver_after].map(|share| share.per_mille_ceil()), [112, 334, 223]);
    // With three more the taker would have the share that the giver has now.
    assert_eq!(world.refusal(1, 0, 3), Because::NotFair { refused: 6 });
}

#[test]
fn the_second_rule_takes_one_that_is_larger_than_the_difference() {
    // What is borrowed is one workload of three. Without it the giver has less than the taker would have.
    let world = three().run(1, 0, 3).run(2, 0, 3).run(2, 1, 3);
    assert_eq!(world.victims(1, 0, 2), [1]);
    let Reason::CohortFairShare { rule: FairRule::InitialShare, .. } = world.ask(1, 0, 2).unwrap().victims[0].reason
    else {
        panic!()
    };
    assert_eq!(world.clone().rules(fair(FairStrategies::InitialShare)).victims(1, 0, 2), [1]);
    let first_only = world.rules(fair(FairStrategies::FinalShare));
    assert_eq!(first_only.refusal(1, 0, 2), Because::NotFair { refused: 2 });
}

#[test]
fn the_largest_share_gives_first_and_a_weight_divides_it() {
    let specs =
        |heavy: &str| vec![cohort(None, 6), queue(Some(0), 0), queue(Some(0), 0), weight(queue(Some(0), 0), heavy)];
    let build = |heavy| {
        let world = World::new(specs(heavy)).rules(fair(FairStrategies::Both));
        world.run(2, 0, 1).run(2, 0, 1).run(3, 0, 1).run(3, 0, 1).run(3, 0, 1).run(3, 0, 1)
    };
    assert_eq!(build("1").victims(1, 0, 1), [2]);
    assert_eq!(build("4").victims(1, 0, 1), [0]);
    // Counting for nothing is beyond everybody, so all of it goes before anybody else gives.
    assert_eq!(build("0").victims(1, 0, 2), [2, 3]);
}

#[test]
fn shares_are_compared_right_below_the_common_cohort() {
    // The second cohort has the larger share, although each of its queues has a small one.
    let specs = vec![
        cohort(None, 6),
        cohort(Some(0), 0),
        cohort(Some(0), 0),
        queue(Some(1), 0),
        queue(Some(2), 0),
        queue(Some(2), 0),
        queue(Some(1), 0),
    ];
    let world = World::new(specs).rules(fair(FairStrategies::Both));
    let world = world.run(6, 0, 1).run(6, 0, 1).run(4, 0, 1).run(4, 0, 1).run(5, 0, 1).run(5, 0, 1);
    let plan = world.ask(3, 0, 1).unwrap();
    let [Victim { workload, reason: Reason::CohortFairShare { taker, giver, .. }, .. }] = plan.victims[..] else {
        panic!()
    };
    assert_eq!((workload, taker.0, giver.0), (WorkloadIx(2), NodeIx(1), NodeIx(2)));
}

#[test]
fn its_own_queue_stands_among_the_others() {
    let world = three().run(1, -1, 6).run(2, 0, 3);
    assert_eq!(world.victims(1, 0, 6), [0]);
    assert!(matches!(world.ask(1, 0, 6).unwrap().victims[0].reason, Reason::InQueue { .. }));
}

#[test]
fn a_queue_without_a_cohort_takes_from_itself_alone() {
    let world = World::new(vec![queue(None, 2), queue(None, 0)]).rules(fair(FairStrategies::Both));
    assert_eq!(world.run(0, -1, 2).run(1, -9, 5).victims(0, 0, 1), [0]);
}

#[test]
fn what_a_queue_keeps_is_its_own_even_while_the_root_is_overdrawn() {
    // The first queue lends nothing of its six. The second uses two that nobody has.
    let mut own = queue(Some(0), 6);
    own.quotas[0].1.lending_limit = Some(Amount::ZERO);
    let world = World::new(vec![cohort(None, 0), own, queue(Some(0), 0)]).rules(fair(FairStrategies::Both));
    assert_eq!(world.run(1, -1, 4).run(2, 0, 2).victims(1, 0, 4), [0]);
}
