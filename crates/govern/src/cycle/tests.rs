//! Cycles on small estates by hand, and what must hold for any.

mod budgets;
mod change;
mod events;
mod guarantees;
mod play;
mod reserve;

use super::{
    AnyFloor, Decision, Estate, Floor, Placing, Profile, Scheduler, Verdict, Why,
    book::{self, Bar, Pending, PendingIx, Where},
};
use crate::{
    amount::Amount,
    flavors::{Blocked, Flavor, FlavorIx, Group, Offer, PodSet},
    order::{Order, Waiting},
    preempt::{FairStrategies, Part, Place, PreemptionRules, QueuePolicy, Takes},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    workload::{Terms, Workload, WorkloadIx},
};
use proptest::{prelude::*, strategy::Strategy as Generator};

const GPU: FlavorResource = FlavorResource(0);

// A queue: quota of its own, how much it may borrow, and whom it may take.
#[derive(Debug, Clone, Copy, Default)]
struct Q {
    nominal: i64,
    borrow: Option<i64>,
    within: Takes,
    reclaim: Takes,
    strict: bool,
}

const fn rules() -> PreemptionRules {
    PreemptionRules::kueue(None)
}

// One cohort; the queues are the nodes from one on. It has the fair shares that the profile may ask for.
fn scheduler(queues: &[Q], profile: Profile) -> Scheduler {
    let spec = |queue: &Q| {
        let borrowing_limit = queue.borrow.map(Amount::new);
        let quota = Quota { nominal: Amount::new(queue.nominal), borrowing_limit, lending_limit: None };
        NodeSpec { parent: Some(0), is_queue: true, quotas: vec![(GPU, quota)], ..NodeSpec::default() }
    };
    let specs: Vec<NodeSpec> = std::iter::once(NodeSpec::default()).chain(queues.iter().map(spec)).collect();
    let tree = Tree::build(&specs, 1).unwrap();
    let group = Group { resources: vec![Resource(0)], flavors: vec![FlavorIx(0)], cells: vec![GPU] };
    let offer = Offer { groups: vec![group], ..Offer::default() };
    let policy = |queue: &Q| QueuePolicy { within_queue: queue.within, reclaim: queue.reclaim, while_borrowing: None };
    let estate = Estate {
        shares: Shares::build(&tree, &[Resource(0)]),
        offers: vec![offer; specs.len()],
        policies: std::iter::once(QueuePolicy::default()).chain(queues.iter().map(policy)).collect(),
        tree,
        catalog: vec![Some(Flavor::default())],
        pods: None,
    };
    let mut scheduler = Scheduler::new(estate, profile);
    for (queue, node) in queues.iter().zip(1..) {
        let strategy = if queue.strict { book::Strategy::Strict } else { book::Strategy::BestEffort };
        scheduler.set_queue(NodeIx(node), strategy, Order::PriorityThenAge);
    }
    scheduler
}

fn pod_set(count: u32, least: Option<u32>) -> PodSet {
    PodSet { count, least, requests: vec![(Resource(0), Amount::new(1))], ..PodSet::default() }
}

fn submit(scheduler: &mut Scheduler, queue: u32, identity: u64, priority: i64, pods: u32) -> PendingIx {
    let shape = scheduler.shape(&[pod_set(pods, None)]);
    let waiting = Waiting { local_usage: 0, priority, queued_at: None, identity };
    scheduler.submit(Pending::new(NodeIx(queue), waiting, shape))
}

fn start(scheduler: &mut Scheduler, queue: u32, identity: u64, priority: i64, units: i64) -> WorkloadIx {
    scheduler.start(Workload {
        queue: NodeIx(queue),
        priority,
        identity,
        queued_at: None,
        quota_at: Some(0),
        usage: vec![(GPU, Amount::new(units))],
        evicting: false,
        local_usage: 0,
        elastic: None,
        terms: Terms::default(),
    })
}

fn of(decisions: &[Decision], pending: PendingIx) -> &Decision {
    decisions.iter().find(|decision| decision.pending == pending).unwrap()
}

fn is_admitted(decisions: &[Decision], pending: PendingIx) -> bool {
    matches!(of(decisions, pending).verdict, Verdict::Admitted { .. })
}

fn why(decisions: &[Decision], pending: PendingIx) -> Why {
    match of(decisions, pending).verdict {
        Verdict::Waiting { why, .. } => why,
        Verdict::Preempting { .. } => Why::WaitingForPreempted,
        Verdict::Admitted { .. } => panic!("it was admitted"),
    }
}

fn victims(decisions: &[Decision], pending: PendingIx) -> Vec<WorkloadIx> {
    match &of(decisions, pending).verdict {
        Verdict::Preempting { victims, .. } => victims.iter().map(|victim| victim.workload).collect(),
        _ => vec![],
    }
}

const SHORT: Why = Why::Blocked(Blocked::WaitingForQuota);

#[test]
fn what_fits_is_admitted_and_counts() {
    let mut scheduler = scheduler(&[Q { nominal: 4, ..Q::default() }], Profile::kueue(rules()));
    let place = submit(&mut scheduler, 1, 1, 0, 3);
    let decisions = scheduler.step(7, &mut AnyFloor);
    assert!(is_admitted(&decisions, place));
    assert_eq!(scheduler.usage().of(NodeIx(1), GPU), Amount::new(3));
    let (_, workload) = scheduler.running().iter().next().unwrap();
    assert_eq!((workload.identity, workload.quota_at), (1, Some(7)));
    assert_eq!(scheduler.book().get(place), None);
    assert!(scheduler.step(8, &mut AnyFloor).is_empty());
}

#[test]
fn within_quota_comes_before_borrowing_and_the_loser_is_tried_again() {
    let queue = Q { nominal: 2, ..Q::default() };
    let mut scheduler = scheduler(&[queue, queue], Profile::kueue(rules()));
    let borrows = submit(&mut scheduler, 1, 1, 9, 3);
    let within = submit(&mut scheduler, 2, 2, 0, 2);
    let decisions = scheduler.step(0, &mut AnyFloor);
    assert!(is_admitted(&decisions, within));
    assert_eq!((why(&decisions, borrows), of(&decisions, borrows).at), (SHORT, Some(Where::Active)));
    // Now it is seen that there is nothing to wait for but the end of another.
    let decisions = scheduler.step(1, &mut AnyFloor);
    assert_eq!((why(&decisions, borrows), of(&decisions, borrows).at), (SHORT, Some(Where::Parked)));
    let (running, _) = scheduler.running().iter().next().unwrap();
    scheduler.end(running);
    assert!(is_admitted(&scheduler.step(2, &mut AnyFloor), borrows));
}

#[test]
fn whoever_others_go_for_comes_next() {
    let queue = Q { nominal: 4, within: Takes::LowerPriority, ..Q::default() };
    let mut scheduler = scheduler(&[queue], Profile::kueue(rules()));
    let victim = start(&mut scheduler, 1, 1, 0, 4);
    let place = submit(&mut scheduler, 1, 2, 5, 2);
    let decisions = scheduler.step(0, &mut AnyFloor);
    assert_eq!(victims(&decisions, place), [victim]);
    assert!(scheduler.running().get(victim).unwrap().evicting);
    // Until it is gone its quota counts.
    assert_eq!(scheduler.usage().of(NodeIx(1), GPU), Amount::new(4));
    let urgent = submit(&mut scheduler, 1, 3, 9, 1);
    scheduler.end(victim);
    let decisions = scheduler.step(1, &mut AnyFloor);
    assert!(is_admitted(&decisions, place) && decisions.len() == 1);
    assert!(is_admitted(&scheduler.step(2, &mut AnyFloor), urgent));
}

#[test]
fn a_victim_that_is_promised_is_not_promised_again() {
    let queue = Q { nominal: 3, reclaim: Takes::Any, ..Q::default() };
    let borrower = Q { nominal: 0, ..Q::default() };
    for again in [true, false] {
        let profile = Profile { replan_on_overlap: again, ..Profile::kueue(rules()) };
        let mut scheduler = scheduler(&[queue, queue, borrower], profile);
        let victim = start(&mut scheduler, 3, 1, 0, 6);
        let first = submit(&mut scheduler, 1, 2, 0, 1);
        let second = submit(&mut scheduler, 2, 3, 0, 1);
        let decisions = scheduler.step(0, &mut AnyFloor);
        assert_eq!(victims(&decisions, first), [victim]);
        assert!(victims(&decisions, second).is_empty());
        // Planned again it sees that there is room once the victim is gone; else it is only put back.
        assert_eq!(why(&decisions, second), if again { Why::WaitingForPreempted } else { SHORT });
        scheduler.end(victim);
        let decisions = scheduler.step(1, &mut AnyFloor);
        assert!(is_admitted(&decisions, first) && is_admitted(&decisions, second));
    }
}

#[test]
fn nobody_starts_in_quota_that_a_victim_still_holds() {
    for early in [true, false] {
        let queue = Q { nominal: 2, within: Takes::LowerPriority, ..Q::default() };
        let profile = Profile { admit_before_gone: early, ..Profile::kueue(rules()) };
        let mut scheduler = scheduler(&[queue, queue, queue], profile);
        let victim = start(&mut scheduler, 1, 1, 0, 5);
        let taker = submit(&mut scheduler, 1, 2, 9, 2);
        let one = submit(&mut scheduler, 2, 3, 0, 1);
        let other = submit(&mut scheduler, 3, 4, 0, 1);
        let decisions = scheduler.step(0, &mut AnyFloor);
        assert_eq!((victims(&decisions, taker), is_admitted(&decisions, one)), (vec![victim], true));
        assert_eq!(is_admitted(&decisions, other), early);
        scheduler.end(victim);
        let decisions = scheduler.step(1, &mut AnyFloor);
        assert!(is_admitted(&decisions, taker) && (early || is_admitted(&decisions, other)));
    }
}

#[test]
fn what_was_freed_for_one_is_not_taken_by_another() {
    for first in [true, false] {
        let queue = Q { nominal: 2, reclaim: Takes::Any, ..Q::default() };
        let profile = Profile { preemptors_first: first, ..Profile::kueue(rules()) };
        let mut scheduler = scheduler(&[queue, Q { nominal: 2, ..Q::default() }, Q::default()], profile);
        let victim = start(&mut scheduler, 3, 1, 0, 4);
        let taker = submit(&mut scheduler, 1, 2, 0, 2);
        assert_eq!(victims(&scheduler.step(0, &mut AnyFloor), taker), [victim]);
        // What is freed is enough for one of the two, and the other one is more urgent.
        scheduler.end(victim);
        start(&mut scheduler, 3, 3, 0, 2);
        let urgent = submit(&mut scheduler, 2, 4, 9, 2);
        let decisions = scheduler.step(1, &mut AnyFloor);
        assert_eq!([is_admitted(&decisions, taker), is_admitted(&decisions, urgent)], [first, !first]);
    }
}

#[test]
fn who_cannot_take_its_quota_back_keeps_it_from_others() {
    for (reclaim, kept) in [(Takes::Never, true), (Takes::LowerPriority, true), (Takes::Any, false)] {
        let owner = Q { nominal: 5, reclaim, ..Q::default() };
        let other = Q { nominal: 5, ..Q::default() };
        let mut scheduler = scheduler(&[owner, other, Q::default()], Profile::kueue(rules()));
        // The owner wants all that is its own, but three of it are in its own use and stay so.
        start(&mut scheduler, 1, 1, 0, 3);
        start(&mut scheduler, 2, 2, 0, 5);
        let waits = submit(&mut scheduler, 1, 3, 9, 5);
        let borrows = submit(&mut scheduler, 3, 4, 0, 1);
        let decisions = scheduler.step(0, &mut AnyFloor);
        assert_eq!(why(&decisions, waits), SHORT);
        assert_eq!(is_admitted(&decisions, borrows), !kept, "{reclaim:?}");
        // What was kept was kept for one cycle only.
        assert_eq!(scheduler.usage().of(NodeIx(1), GPU), Amount::new(3));
    }
}

#[test]
fn fewer_pods_start_where_that_is_allowed() {
    let mut scheduler = scheduler(&[Q { nominal: 5, ..Q::default() }], Profile::kueue(rules()));
    let shape = scheduler.shape(&[pod_set(8, Some(2))]);
    let waiting = Waiting { local_usage: 0, priority: 0, queued_at: None, identity: 1 };
    let place = scheduler.submit(Pending::new(NodeIx(1), waiting, shape));
    scheduler.profile.partial_admission = false;
    assert_eq!(why(&scheduler.step(0, &mut AnyFloor), place), Why::Blocked(Blocked::ExceedsMaxQuota));
    scheduler.book_mut().wake(NodeIx(1));
    scheduler.profile.partial_admission = true;
    let decisions = scheduler.step(0, &mut AnyFloor);
    let Verdict::Admitted { assignment, .. } = &of(&decisions, place).verdict else { panic!("it waits") };
    assert_eq!(assignment.pod_sets[0].count, 5);
}

#[test]
fn many_heads_are_looked_at_in_one_cycle_unless_the_first_of_a_strict_queue_waits() {
    for (strict, seen) in [(false, [2, 3].as_slice()), (true, &[])] {
        let queue = Q { nominal: 4, strict, ..Q::default() };
        let profile = Profile { heads_per_queue: 10, ..Profile::kueue(rules()) };
        let mut scheduler = scheduler(&[queue], profile);
        submit(&mut scheduler, 1, 1, 9, 5);
        submit(&mut scheduler, 1, 2, 5, 3);
        submit(&mut scheduler, 1, 3, 4, 1);
        let blocked = submit(&mut scheduler, 1, 4, 3, 2);
        let decisions = scheduler.step(0, &mut AnyFloor);
        let running: Vec<u64> = scheduler.running().iter().map(|(_, workload)| workload.identity).collect();
        assert_eq!(running, seen);
        assert_eq!(decisions.iter().any(|decision| decision.pending == blocked), !strict);
    }
}

#[test]
fn what_is_barred_is_not_planned() {
    let queue = Q { nominal: 4, within: Takes::LowerPriority, ..Q::default() };
    let mut scheduler = scheduler(&[queue], Profile::kueue(rules()));
    let place = submit(&mut scheduler, 1, 1, 5, 1);
    for (bar, want) in [
        (Bar::FailedChecks, Why::PendingEvaluation),
        (Bar::NotAllowedHere, Why::Misconfigured),
        (Bar::Invalid, Why::Misconfigured),
    ] {
        scheduler.book_mut().change(place, |pending| pending.bar = Some(bar));
        let decisions = scheduler.step(0, &mut AnyFloor);
        assert_eq!((why(&decisions, place), of(&decisions, place).at), (want, Some(Where::Parked)));
    }
    // One that may not tell others to go does not, although somebody could go.
    start(&mut scheduler, 1, 2, 0, 4);
    scheduler.book_mut().change(place, |pending| (pending.bar, pending.may_not_preempt) = (None, true));
    let decisions = scheduler.step(0, &mut AnyFloor);
    assert_eq!((why(&decisions, place), of(&decisions, place).at), (Why::Gated, Some(Where::Parked)));
}

#[test]
fn a_change_of_quota_is_seen_by_whoever_waits() {
    let small = scheduler(&[Q { nominal: 1, ..Q::default() }], Profile::kueue(rules()));
    let large = scheduler(&[Q { nominal: 5, ..Q::default() }], Profile::kueue(rules()));
    let mut scheduler = large.clone();
    start(&mut scheduler, 1, 1, 0, 3);
    let place = submit(&mut scheduler, 1, 2, 0, 1);
    scheduler.set_estate(small.estate().clone());
    // More is used now than there is; nobody is stopped for that, and nobody starts.
    assert_eq!(scheduler.usage().of(NodeIx(1), GPU), Amount::new(3));
    assert_eq!(of(&scheduler.step(0, &mut AnyFloor), place).at, Some(Where::Parked));
    scheduler.set_estate(large.estate().clone());
    assert!(is_admitted(&scheduler.step(1, &mut AnyFloor), place));
}

// A floor on which there is a place once so many workloads are gone.
struct Full {
    needs_gone: usize,
    possible: bool,
}

struct Spot<'f>(&'f Full, usize);

impl Place for Spot<'_> {
    fn take(&mut self, _: WorkloadIx, _: Part) {
        self.1 += 1;
    }
    fn put_back(&mut self, _: WorkloadIx, _: Part) {
        self.1 -= 1;
    }
    fn is_found(&mut self) -> bool {
        self.1 >= self.0.needs_gone
    }
}

impl Floor for Full {
    fn place<'p>(&'p mut self, _: &Placing<'_>) -> Box<dyn Place + 'p> {
        Box::new(Spot(self, 0))
    }
    fn is_possible(&mut self, _: &Placing<'_>) -> bool {
        self.possible
    }
    fn occupy(&mut self, _: &Placing<'_>, _: &[WorkloadIx]) {}
}

#[test]
fn quota_without_a_place_is_not_enough() {
    let queue = Q { nominal: 9, within: Takes::LowerPriority, ..Q::default() };
    let mut scheduler = scheduler(&[queue], Profile::kueue(rules()));
    let running = start(&mut scheduler, 1, 1, 0, 1);
    let place = submit(&mut scheduler, 1, 2, 5, 1);
    let decisions = scheduler.step(0, &mut Full { needs_gone: 1, possible: false });
    assert_eq!(why(&decisions, place), Why::Blocked(Blocked::NoPlace));
    scheduler.book_mut().wake(NodeIx(1));
    let decisions = scheduler.step(1, &mut Full { needs_gone: 1, possible: true });
    assert_eq!(victims(&decisions, place), [running]);
}

#[derive(Debug, Clone)]
struct World {
    queues: Vec<Q>,
    // Queue, priority, units.
    running: Vec<(u32, i64, i64)>,
    waiting: Vec<(u32, i64, u32)>,
    fair: bool,
    heads: u32,
}

fn world() -> impl Generator<Value = World> {
    let within = prop_oneof![Just(Takes::Never), Just(Takes::LowerPriority), Just(Takes::LowerOrNewerEqualPriority)];
    let reclaim = prop_oneof![Just(Takes::Never), Just(Takes::LowerPriority), Just(Takes::Any)];
    let queue = (0_i64..8, prop::option::of(0_i64..8), within, reclaim, any::<bool>());
    let queue =
        queue.prop_map(|(nominal, borrow, within, reclaim, strict)| Q { nominal, borrow, within, reclaim, strict });
    let parts = (
        prop::collection::vec(queue, 4),
        prop::collection::vec((1_u32..5, 0_i64..3, 1_i64..4), 0..6),
        prop::collection::vec((1_u32..5, 0_i64..4, 1_u32..6), 0..12),
        any::<bool>(),
        1_u32..5,
    );
    parts.prop_map(|(queues, running, waiting, fair, heads)| World { queues, running, waiting, fair, heads })
}

// Only what fits runs at the start. `turn` changes the order in which things are said.
fn set_up(world: &World, rules: PreemptionRules, turn: usize) -> Scheduler {
    let mut scheduler = scheduler(&world.queues, Profile { heads_per_queue: world.heads, ..Profile::own(rules) });
    for ((queue, priority, units), identity) in world.running.iter().zip(100..) {
        if scheduler.estate().tree.available(scheduler.usage(), NodeIx(*queue), GPU) >= Amount::new(*units) {
            start(&mut scheduler, *queue, identity, *priority, *units);
        }
    }
    let mut waiting: Vec<_> = world.waiting.iter().zip(0..).collect();
    let by = turn % waiting.len().max(1);
    waiting.rotate_left(by);
    for ((queue, priority, pods), identity) in waiting {
        submit(&mut scheduler, *queue, identity, *priority, *pods);
    }
    scheduler
}

fn kueue_rules(world: &World) -> PreemptionRules {
    PreemptionRules::kueue(world.fair.then_some(FairStrategies::Both))
}

// What came of it, by identity.
fn outcome(scheduler: &Scheduler) -> Vec<(u64, u32, bool)> {
    let running = scheduler.running().iter();
    let mut all: Vec<_> = running.map(|(_, one)| (one.identity, one.queue.0, one.evicting)).collect();
    all.sort_unstable();
    all
}

proptest! {
    #[test]
    fn no_cycle_gives_more_than_there_is(world in world()) {
        let mut scheduler = set_up(&world, kueue_rules(&world), 0);
        let waiting = world.waiting.len();
        for now in 0..20 {
            let before = scheduler.running().iter().count();
            let decisions = scheduler.step(now, &mut AnyFloor);
            let seen: std::collections::BTreeSet<PendingIx> = decisions.iter().map(|one| one.pending).collect();
            prop_assert_eq!(seen.len(), decisions.len(), "a workload was looked at twice");
            let admitted = decisions.iter().filter(|one| matches!(one.verdict, Verdict::Admitted { .. })).count();
            prop_assert_eq!(scheduler.running().iter().count(), before + admitted);
            let Estate { tree, .. } = scheduler.estate();
            let mut sum = tree.unused();
            scheduler.running().iter().for_each(|(_, one)| one.charge(tree, &mut sum));
            prop_assert_eq!(scheduler.usage(), &sum);
            prop_assert!(sum.of(NodeIx(0), GPU) <= tree.subtree(NodeIx(0), GPU));
            for queue in (1..5).map(NodeIx) {
                prop_assert!(sum.of(queue, GPU) <= tree.potential(queue, GPU));
            }
            // Whoever was told to go goes, and does not come back.
            let gone: Vec<_> = scheduler.running().iter().filter(|(_, one)| one.evicting).map(|(at, _)| at).collect();
            gone.into_iter().for_each(|at| drop(scheduler.end(at)));
        }
        let queued: usize = (1..5).map(|queue| scheduler.book().line_up(NodeIx(queue)).len()).sum();
        prop_assert!(queued <= waiting);
        // Everything that could be decided was: another cycle only says the same again.
        let last = scheduler.step(99, &mut AnyFloor);
        let waits = last.iter().all(|one| matches!(one.verdict, Verdict::Waiting { .. }));
        prop_assert!(waits);
    }

    #[test]
    fn the_order_in_which_things_are_said_does_not_matter(world in world(), turn in 0_usize..12) {
        let rules = kueue_rules(&world);
        let (mut one, mut other) = (set_up(&world, rules, 0), set_up(&world, rules, turn));
        for now in 0..4 {
            one.step(now, &mut AnyFloor);
            other.step(now, &mut AnyFloor);
            prop_assert_eq!(outcome(&one), outcome(&other));
        }
    }
}
