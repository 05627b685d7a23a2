//! Ideal allocation, victims, reservations and apps of one queue, a rule at a time.

use super::bundle::{Bundle, Measure};
use super::ideal::{Pace, Queue, compute};
use super::intra::{First, Serve, UserLimits, Users, Wish, Within, computed_limit, even_limit};
use super::victims::{App, Choice, Cluster, Container};
use proptest::prelude::*;

const fn one(amount: i64) -> Bundle {
    Bundle([amount, 0, 0, 0])
}

const MEASURE: Measure = Measure { width: 1, total: one(100) };

const PACE: Pace = Pace {
    for_reservations: false,
    balance: false,
    conservative: false,
    allowed: one(1000),
    ignored_over_micro: 100_000,
    at_once_micro: 1_000_000,
};

fn queue(guaranteed: i64, used: i64, pending: i64) -> Queue {
    Queue {
        parent: Some(0),
        guaranteed: one(guaranteed),
        max: one(100),
        used: one(used),
        pending: one(pending),
        ..Queue::default()
    }
}

fn tree(children: &[Queue]) -> Vec<Queue> {
    let root = Queue { parent: None, guaranteed: one(100), max: one(100), used: one(100), ..Queue::default() };
    std::iter::once(root).chain(children.iter().cloned()).collect()
}

fn obtain(pace: Pace, children: &[Queue]) -> Vec<i64> {
    compute(MEASURE, pace, &tree(children)).iter().skip(1).map(|ideal| ideal.obtain.0[0]).collect()
}

#[test]
fn who_is_over_its_guarantee_gives_to_who_waits_below_it() {
    assert_eq!(obtain(PACE, &[queue(40, 0, 10), queue(40, 60, 0), queue(20, 40, 0)]), [0, 0, 10]);
}

#[test]
fn a_small_excess_is_left_alone() {
    assert_eq!(obtain(PACE, &[queue(50, 45, 20), queue(50, 55, 0)]), [0, 0]);
    assert_eq!(obtain(Pace { ignored_over_micro: 0, ..PACE }, &[queue(50, 45, 20), queue(50, 55, 0)]), [0, 5]);
}

#[test]
fn only_a_part_is_taken_at_once_and_no_more_than_allowed() {
    let children = [queue(50, 0, 50), queue(50, 100, 0)];
    assert_eq!(obtain(PACE, &children), [0, 50]);
    assert_eq!(obtain(Pace { at_once_micro: 200_000, ..PACE }, &children), [0, 10]);
    assert_eq!(obtain(Pace { allowed: one(20), ..PACE }, &children), [0, 20]);
}

#[test]
fn what_is_kept_is_not_asked_for() {
    let kept = Queue { kept: true, ..queue(25, 60, 0) };
    assert_eq!(obtain(PACE, &[queue(50, 0, 50), kept, queue(25, 40, 0)]), [0, 0, 15]);
}

#[test]
fn queues_without_a_guarantee_never_take_from_each_other() {
    assert_eq!(obtain(PACE, &[queue(0, 80, 0), queue(0, 20, 50)]), [0, 0]);
}

#[test]
fn beyond_the_guarantee_only_balance_moves_anything() {
    let children = [queue(30, 10, 30), queue(30, 40, 30), queue(30, 50, 30), queue(10, 0, 0)];
    assert_eq!(obtain(PACE, &children), [0, 5, 15, 0]);
    assert_eq!(obtain(Pace { balance: true, ..PACE }, &children), [0, 7, 17, 0]);
}

#[test]
fn priority_decides_among_those_on_the_same_side() {
    let first = Queue { priority: 2, ..queue(30, 0, 40) };
    let ideals = compute(MEASURE, PACE, &tree(&[queue(40, 0, 40), first, queue(30, 60, 0)]));
    assert_eq!(ideals[2].ideal.0[0], 30, "its guarantee, before the others");
}

fn app(queue: usize, age_rank: u64, priority: i32) -> App {
    App { queue, age_rank, priority }
}

fn containers(app: usize, count: u64, size: i64) -> Vec<Container> {
    (0..count)
        .map(|number| Container {
            app,
            size: one(size),
            priority: 1,
            number,
            node: 0,
            partition: 0,
            on_sufferance: false,
            reserved: false,
            master: number == 0,
        })
        .collect()
}

fn cluster(children: &[Queue], apps: Vec<App>, containers: Vec<Container>) -> Cluster {
    let nodes = vec![Some(one(100))];
    Cluster { measure: MEASURE, partitions: vec![tree(children)], apps, containers, nodes, masters_micro: 0 }
}

fn lost(cluster: &Cluster, choice: &Choice) -> Vec<usize> {
    let count = |app: usize| {
        cluster.containers.iter().zip(&choice.chosen).filter(|(one, chosen)| one.app == app && **chosen).count()
    };
    (0..cluster.apps.len()).map(count).collect()
}

fn chosen(cluster: &Cluster) -> Vec<usize> {
    let mut choice = Choice::new(cluster, one(1000));
    cluster.choose(PACE, &mut choice);
    lost(cluster, &choice)
}

#[test]
fn lower_priority_and_then_newer_apps_lose_first() {
    let all = [containers(0, 30, 1), containers(1, 30, 1), containers(2, 40, 1)].concat();
    let children = [queue(50, 0, 45), queue(50, 100, 0)];
    let apps = |first: i32| vec![app(2, 0, first), app(2, 1, 1), app(2, 2, 1)];
    assert_eq!(chosen(&cluster(&children, apps(1), all.clone())), [0, 6, 39]);
    assert_eq!(chosen(&cluster(&children, apps(0), all)), [29, 0, 16]);
}

#[test]
fn masters_go_last_and_only_beyond_what_they_may_hold() {
    let all = [containers(0, 10, 5), containers(1, 10, 5)].concat();
    let mut cluster = cluster(&[queue(90, 0, 100), queue(10, 100, 0)], vec![app(2, 0, 0), app(2, 1, 0)], all);
    assert_eq!(chosen(&cluster), [9, 9]);
    cluster.partitions[0][1].guaranteed = one(100);
    cluster.partitions[0][2].guaranteed = one(0);
    cluster.partitions[0][0].guaranteed = one(100);
    assert_eq!(chosen(&cluster), [10, 10], "nothing is guaranteed, so masters may hold nothing");
    cluster.masters_micro = 1_000_000;
    cluster.partitions[0][1].guaranteed = one(92);
    cluster.partitions[0][2].guaranteed = one(8);
    assert_eq!(chosen(&cluster), [9, 10], "one of the two masters is within the guarantee");
}

#[test]
fn guests_of_a_partition_go_before_all_others() {
    let mut all = [containers(0, 60, 1), containers(1, 40, 1)].concat();
    all.iter_mut().filter(|one| one.app == 0).for_each(|one| one.on_sufferance = true);
    let children = [queue(50, 0, 50), queue(50, 100, 0)];
    assert_eq!(chosen(&cluster(&children, vec![app(2, 0, 0), app(2, 1, 0)], all)), [50, 0]);
}

#[test]
fn a_node_is_cleared_for_its_reservation_or_not_touched() {
    let mut all = [containers(0, 90, 1), containers(1, 2, 1)].concat();
    all[91] = Container { size: one(12), reserved: true, ..all[91] };
    let children = [queue(50, 90, 0), Queue { reserved: one(12), ..queue(50, 10, 12) }];
    let mut cluster = cluster(&children, vec![app(1, 0, 0), app(2, 1, 0)], all);
    let reserve = |cluster: &Cluster| {
        let mut choice = Choice::new(cluster, one(1000));
        cluster.choose_for_reservations(PACE, &mut choice);
        lost(cluster, &choice)
    };
    assert_eq!(reserve(&cluster), [3, 0], "nine are free");
    cluster.nodes[0] = Some(one(92));
    assert_eq!(reserve(&cluster), [11, 0], "one is free");
    cluster.nodes[0] = Some(one(60));
    assert_eq!(reserve(&cluster), [0, 0], "more than may be taken");
}

struct Limit(i64);

impl UserLimits for Limit {
    fn limit(&self, _: usize, _: usize) -> Bundle {
        one(self.0)
    }
}

fn within(first: First, apps: Vec<App>, sizes: &[u64], wishes: &[(usize, i64)], limit: i64) -> Vec<usize> {
    let all = sizes.iter().enumerate().flat_map(|(app, count)| containers(app, *count, 1)).collect();
    let used = i64::try_from(sizes.iter().sum::<u64>()).unwrap();
    let pending = wishes.iter().map(|wish| wish.1).sum();
    let cluster = cluster(&[queue(100, used, pending)], apps, all);
    let wishes: Vec<Wish> =
        wishes.iter().map(|(user, pending)| Wish { user: *user, pending: vec![one(*pending)] }).collect();
    let how = Within {
        first,
        serve: Serve::Oldest,
        threshold_micro: 500_000,
        at_most_micro: 500_000,
        conservative: true,
        least: one(1),
    };
    let mut choice = Choice::new(&cluster, one(1000));
    let obtain = cluster.choose(PACE, &mut choice);
    cluster.choose_within(how, &wishes, &Limit(limit), &obtain, &mut choice);
    lost(&cluster, &choice)
}

#[test]
fn a_higher_priority_takes_from_a_lower_in_its_queue() {
    let apps = vec![app(1, 0, 1), app(1, 1, 5)];
    assert_eq!(within(First::Priority, apps.clone(), &[90, 10], &[(0, 0), (0, 20)], 100), [20, 0]);
    assert_eq!(within(First::Priority, apps, &[30, 10], &[(0, 0), (0, 20)], 100), [0, 0], "used too little to bother");
    let equal = vec![app(1, 0, 1), app(1, 1, 1)];
    assert_eq!(within(First::Priority, equal, &[90, 10], &[(0, 0), (0, 20)], 100), [0, 0]);
}

#[test]
fn a_user_over_its_limit_gives_to_one_below() {
    let apps = vec![app(1, 0, 1), app(1, 1, 1)];
    assert_eq!(within(First::UserLimit, apps.clone(), &[60, 40], &[(0, 10), (1, 10)], 50), [9, 0]);
    assert_eq!(within(First::UserLimit, apps, &[50, 50], &[(0, 0), (1, 10)], 50), [0, 0]);
    let higher = vec![app(1, 0, 1), app(1, 1, 5)];
    assert_eq!(within(First::UserLimit, higher, &[50, 50], &[(0, 0), (1, 10)], 50), [0, 0], "the limit comes first");
}

#[test]
fn limits_of_users() {
    assert_eq!(even_limit(one(100), 3, None), one(34));
    assert_eq!(even_limit(one(100), 3, Some(50)), one(50));
    let users = Users {
        guaranteed: one(100),
        used: one(60),
        used_by_active: one(40),
        weights_micro: 3_000_000,
        weights_active_micro: 2_000_000,
        percent: 25,
        factor_micro: Some(1_000_000),
        least: one(5),
    };
    assert_eq!(computed_limit(MEASURE, &users, false), one(35), "a third, rounded up to whole containers");
    assert_eq!(computed_limit(MEASURE, &users, true), one(25), "what each is sure of");
    assert_eq!(computed_limit(MEASURE, &Users { percent: 100, factor_micro: Some(500_000), ..users }, false), one(50));
    assert_eq!(computed_limit(MEASURE, &Users { used: one(115), factor_micro: None, ..users }, false), one(40));
}

proptest! {
    #[test]
    fn ideals_fit_into_the_total_and_nobody_loses_its_guarantee(
        rows in prop::collection::vec((0_i64..5, 0_i64..40, 0_i64..60), 1..6),
    ) {
        // Guarantees that sum to the total.
        let weights: i64 = rows.iter().map(|row| row.0).sum::<i64>().max(1);
        let mut children: Vec<Queue> =
            rows.iter().map(|(weight, used, pending)| queue(weight * 100 / weights, *used, *pending)).collect();
        let used: i64 = children.iter().map(|child| child.used.0[0]).sum();
        prop_assume!(used <= 100);
        children.iter_mut().for_each(|child| child.max = one(100));
        let ideals = compute(MEASURE, PACE, &tree(&children));
        let sum: i64 = ideals.iter().skip(1).map(|ideal| ideal.ideal.0[0]).sum();
        prop_assert!(sum <= 100, "{}", sum);
        for (child, ideal) in children.iter().zip(&ideals[1..]) {
            let wanted = child.used.0[0] + child.pending.0[0];
            prop_assert!(ideal.ideal.0[0] <= wanted);
            let left = child.used.0[0] - ideal.obtain.0[0];
            prop_assert!(left >= child.used.0[0].min(child.guaranteed.0[0]), "below its guarantee");
        }
    }
}
