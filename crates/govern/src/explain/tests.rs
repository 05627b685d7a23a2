//! A small world for every code, positions under every order, and numbers that are those of the tree.

use super::{
    Code, Explanation, Holder, Preempted, Promise, Rule, Standing, Unblock, admitted, ahead, pending, position,
    preempted, running,
    sentence::{Names, sentence},
    shortage::{blocking_node, holders},
};
use crate::{
    amount::Amount,
    cycle::{
        AnyFloor, Decision, Estate, Floor, Placing, Profile, Scheduler, Stop, Verdict,
        book::{Bar, Pending, PendingIx, Strategy as Line},
    },
    flavors::{Flavor, FlavorIx, Group, Offer, PodSet},
    order::{Order, Waiting},
    preempt::{FairStrategies, Place, PreemptionRules, QueuePolicy, Takes, TakesWhileBorrowing},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    workload::{Cause, Terms, Workload, WorkloadIx},
};
use proptest::prelude::*;

const GPU: FlavorResource = FlavorResource(0);
const ROOT: NodeIx = NodeIx(0);
const A: NodeIx = NodeIx(1);
const B: NodeIx = NodeIx(2);
// When whatever started at zero has run long enough to be stopped.
const LATER: i64 = 10_000;

fn node(parent: Option<u32>, is_queue: bool, nominal: i64, borrow: Option<i64>, lend: Option<i64>) -> NodeSpec {
    let quota = Quota {
        nominal: Amount::new(nominal),
        borrowing_limit: borrow.map(Amount::new),
        lending_limit: lend.map(Amount::new),
    };
    NodeSpec { parent, is_queue, quotas: vec![(GPU, quota)], ..NodeSpec::default() }
}

// One cohort with two queues.
fn world(a: (i64, Option<i64>), b: i64, policy: QueuePolicy, profile: Profile) -> Scheduler {
    let specs =
        [node(None, false, 0, None, None), node(Some(0), true, a.0, a.1, None), node(Some(0), true, b, None, None)];
    let tree = Tree::build(&specs, 1).unwrap();
    let group = Group { resources: vec![Resource(0)], flavors: vec![FlavorIx(0)], cells: vec![GPU] };
    let estate = Estate {
        shares: Shares::build(&tree, &[Resource(0)]),
        offers: vec![Offer { groups: vec![group], ..Offer::default() }; specs.len()],
        policies: vec![policy; specs.len()],
        tree,
        catalog: vec![Some(Flavor::default())],
        pods: None,
    };
    Scheduler::new(estate, profile)
}

fn own() -> Profile {
    Profile::own(PreemptionRules::own(None))
}

fn plain(a: i64, b: i64) -> Scheduler {
    world((a, None), b, QueuePolicy::default(), own())
}

fn asks(scheduler: &mut Scheduler, queue: NodeIx, identity: u64, priority: i64, gpus: u32) -> Pending {
    let requests = vec![(Resource(0), Amount::new(1))];
    let shape = scheduler.shape(&[PodSet { count: gpus, requests, ..PodSet::default() }]);
    let queued_at = i64::try_from(identity).ok();
    Pending::new(queue, Waiting { local_usage: 0, priority, queued_at, identity }, shape)
}

fn submit(scheduler: &mut Scheduler, queue: NodeIx, identity: u64, priority: i64, gpus: u32) -> PendingIx {
    let pending = asks(scheduler, queue, identity, priority, gpus);
    scheduler.submit(pending)
}

fn start(scheduler: &mut Scheduler, queue: NodeIx, identity: u64, gpus: i64, run_s: Option<u32>) -> WorkloadIx {
    scheduler.start(Workload {
        queue,
        priority: 0,
        identity,
        queued_at: Some(0),
        quota_at: Some(0),
        usage: vec![(GPU, Amount::new(gpus))],
        evicting: false,
        local_usage: 0,
        elastic: None,
        terms: Terms { max_run_s: run_s, ..Terms::default() },
    })
}

fn of(decisions: &[Decision], place: PendingIx) -> &Verdict {
    &decisions.iter().find(|decision| decision.pending == place).unwrap().verdict
}

// Steps once and explains.
fn explain(scheduler: &mut Scheduler, now: i64, place: PendingIx) -> Explanation {
    let decisions = scheduler.step(now, &mut AnyFloor);
    let start = ahead(scheduler, now, 100, &mut AnyFloor).starts.get(&place).copied();
    pending(scheduler, place, Some(of(&decisions, place)), start).unwrap()
}

struct Plain;

impl Names for Plain {
    fn node(&self, node: NodeIx) -> String {
        ["all", "vision", "speech"][node.0 as usize].to_owned()
    }
    fn thing(&self, _: FlavorResource) -> String {
        "H100".to_owned()
    }
    fn workload(&self, workload: WorkloadIx) -> String {
        format!("run-{}", workload.0)
    }
    fn pending(&self, pending: PendingIx) -> String {
        format!("wait-{}", pending.0)
    }
    fn identity(&self, identity: u64) -> String {
        format!("work-{identity}")
    }
    fn time(&self, seconds: i64) -> String {
        format!("{seconds} s")
    }
}

#[test]
fn a_wait_for_quota_names_the_node_the_numbers_the_holders_and_what_helps() {
    let mut scheduler = plain(4, 4);
    let holder = start(&mut scheduler, B, 1, 6, Some(300));
    start(&mut scheduler, A, 2, 1, None);
    let place = submit(&mut scheduler, A, 3, 0, 3);
    let told = explain(&mut scheduler, 10, place);
    assert_eq!((told.code, told.standing), (Code::WaitingForQuota, Standing::Queued { position: 1, of: 1 }));
    assert_eq!((told.blocked_at, told.what), (Some(ROOT), Some(GPU)));
    assert_eq!([told.asked, told.available, told.shortfall].map(Amount::units), [3, 1, 2]);
    let held = |queue, holds, borrowed| Holder { queue, holds: Amount::new(holds), borrowed: Amount::new(borrowed) };
    assert_eq!(told.holders, [held(B, 6, 2), held(A, 1, 0)]);
    let by = Amount::new(2);
    assert_eq!(
        told.unblocks,
        [Unblock::Ends { workload: holder, at: Some(300) }, Unblock::QuotaRaised { node: ROOT, by }]
    );
    assert_eq!((told.promise, told.estimated_start), (Some(Promise::WithinNominal), Some(300)));
    assert_eq!(
        sentence(&told, &Plain),
        "Number 1 of 1 in queue vision: the quota it needs is in use. It asks for 3 of H100 and 1 can be had, so 2 are \
         missing at all. In use by speech with 6, 2 of them borrowed; vision with 1. What helps: run-0 ends by 300 s; or \
         the quota or limit of all is raised by 2. Its quota is its queue's own; no other queue can take it. It should \
         start by 300 s."
    );
}

#[test]
fn a_start_that_nobody_knows_is_not_made_up() {
    let mut scheduler = plain(4, 4);
    start(&mut scheduler, B, 1, 8, None);
    let place = submit(&mut scheduler, A, 2, 0, 3);
    let told = explain(&mut scheduler, 0, place);
    assert_eq!((told.code, told.estimated_start), (Code::WaitingForQuota, None));
    assert_eq!(told.unblocks[0], Unblock::Released { queue: B, amount: Amount::new(3) });
}

#[test]
fn a_queue_that_may_not_borrow_more_is_where_it_blocks() {
    let mut scheduler = world((2, Some(2)), 10, QueuePolicy::default(), own());
    start(&mut scheduler, A, 1, 3, None);
    let place = submit(&mut scheduler, A, 2, 0, 2);
    let told = explain(&mut scheduler, 0, place);
    assert_eq!((told.code, told.blocked_at, told.shortfall), (Code::WaitingForQuota, Some(A), Amount::new(1)));
    assert_eq!(told.holders.iter().map(|holder| holder.queue).collect::<Vec<_>>(), [A]);
    let place = submit(&mut scheduler, A, 3, 0, 7);
    let told = explain(&mut scheduler, 1, place);
    assert_eq!((told.code, told.blocked_at), (Code::ExceedsMaxQuota, Some(A)));
    assert_eq!([told.asked, told.available, told.shortfall].map(Amount::units), [7, 4, 3]);
    let raised = Unblock::QuotaRaised { node: A, by: Amount::new(3) };
    assert_eq!(told.unblocks, [raised, Unblock::RequestChanged]);
    assert!(told.holders.is_empty());
}

#[test]
fn positions_follow_the_order_of_the_queue_and_a_preemptor_comes_first() {
    let wants = [(Order::PriorityThenAge, [3, 1, 2]), (Order::Age, [1, 2, 3]), (Order::NewestFirst, [3, 2, 1])];
    for (order, want) in wants {
        for strategy in [Line::BestEffort, Line::Strict] {
            let mut scheduler = plain(4, 0);
            scheduler.set_queue(A, strategy, order);
            let places: Vec<PendingIx> =
                [(1, 5), (2, 0), (3, 9)].map(|(id, priority)| submit(&mut scheduler, A, id, priority, 1)).to_vec();
            let found: Vec<u32> = places.iter().map(|place| position(&scheduler, *place).unwrap().0).collect();
            let by_hand: Vec<u32> = [1_u64, 2, 3]
                .map(|id| u32::try_from(want.iter().position(|other| *other == id).unwrap() + 1).unwrap())
                .to_vec();
            assert_eq!(found, by_hand, "{order:?}");
        }
    }
    // Others were told to go for the older one: it is looked at before one that is more important.
    let policy = QueuePolicy { within_queue: Takes::LowerPriority, ..QueuePolicy::default() };
    let mut scheduler = world((4, None), 0, policy, own());
    start(&mut scheduler, A, 1, 4, None);
    let taker = submit(&mut scheduler, A, 2, 5, 2);
    let decisions = scheduler.step(LATER, &mut AnyFloor);
    let urgent = submit(&mut scheduler, A, 3, 9, 1);
    assert_eq!([taker, urgent].map(|place| position(&scheduler, place)), [Some((1, 2)), Some((2, 2))]);
    let told = pending(&scheduler, taker, Some(of(&decisions, taker)), None).unwrap();
    assert_eq!((told.code, told.shortfall), (Code::WaitingForPreempted, Amount::new(2)));
    assert!(matches!(told.unblocks[..], [Unblock::Ends { .. }]));
    let told = pending(&scheduler, urgent, None, None).unwrap();
    assert_eq!((told.code, told.unblocks), (Code::WaitingForTurn, vec![Unblock::Turn]));
}

#[test]
fn what_is_barred_held_stopped_or_backing_off_says_so() {
    let mut scheduler = plain(4, 4);
    for (bar, code, helps) in [
        (Bar::FailedChecks, Code::PendingEvaluation, Unblock::Check),
        (Bar::NotAllowedHere, Code::NotAllowedInQueue, Unblock::RequestChanged),
        (Bar::Invalid, Code::InvalidRequest, Unblock::RequestChanged),
    ] {
        let barred = Pending { bar: Some(bar), ..asks(&mut scheduler, A, 1, 0, 1) };
        let place = scheduler.submit(barred);
        let told = explain(&mut scheduler, 0, place);
        assert_eq!((told.code, told.unblocks), (code, vec![helps]));
        scheduler.cancel(place);
    }
    let later = Pending { due_at: Some(90), ..asks(&mut scheduler, A, 2, 0, 1) };
    let later = scheduler.submit(later);
    let told = pending(&scheduler, later, None, None).unwrap();
    assert_eq!((told.code, told.standing), (Code::BackingOff, Standing::Held));
    assert_eq!(told.unblocks, [Unblock::BackOff { until: 90 }]);
    let held = submit(&mut scheduler, A, 3, 0, 1);
    scheduler.book_mut().hold(held);
    let told = pending(&scheduler, held, None, None).unwrap();
    assert_eq!((told.code, told.unblocks), (Code::Held, vec![Unblock::Release]));
    let stopped = submit(&mut scheduler, B, 4, 0, 1);
    scheduler.set_stop(B, Stop::Hold);
    let told = pending(&scheduler, stopped, None, None).unwrap();
    assert_eq!((told.code, told.unblocks), (Code::QueueStopped, vec![Unblock::QueueResumed { queue: B }]));
}

struct Nowhere;

impl Floor for Nowhere {
    fn place<'p>(&'p mut self, _: &Placing<'_>) -> Box<dyn Place + 'p> {
        struct None;
        impl Place for None {
            fn take(&mut self, _: WorkloadIx, _: crate::preempt::Part) {}
            fn put_back(&mut self, _: WorkloadIx, _: crate::preempt::Part) {}
            fn is_found(&mut self) -> bool {
                false
            }
        }
        Box::new(None)
    }
    fn is_possible(&mut self, _: &Placing<'_>) -> bool {
        false
    }
    fn occupy(&mut self, _: &Placing<'_>, _: &[WorkloadIx]) {}
}

#[test]
fn what_never_fits_says_whether_a_flavor_or_a_place_is_missing() {
    let mut scheduler = plain(4, 4);
    let place = submit(&mut scheduler, A, 1, 0, 1);
    let decisions = scheduler.step(0, &mut Nowhere);
    let told = pending(&scheduler, place, Some(of(&decisions, place)), None).unwrap();
    assert_eq!((told.code, told.shortfall), (Code::NoPlace, Amount::ZERO));
    let requests = vec![(Resource(7), Amount::new(1))];
    let shape = scheduler.shape(&[PodSet { count: 1, requests, ..PodSet::default() }]);
    let pending = Pending { shape, ..asks(&mut scheduler, A, 2, 0, 1) };
    let place = scheduler.submit(pending);
    assert_eq!(explain(&mut scheduler, 1, place).code, Code::NoMatchingFlavor);
}

#[test]
fn who_may_not_take_or_would_take_too_many_or_would_pass_another_says_so() {
    let policy = QueuePolicy { within_queue: Takes::LowerPriority, ..QueuePolicy::default() };
    let mut scheduler = world((4, None), 0, policy, own());
    start(&mut scheduler, A, 1, 4, None);
    let gated = Pending { may_not_preempt: true, ..asks(&mut scheduler, A, 2, 5, 2) };
    let gated = scheduler.submit(gated);
    let told = explain(&mut scheduler, LATER, gated);
    assert_eq!((told.code, told.unblocks[0], told.shortfall), (Code::Gated, Unblock::Gate, Amount::new(2)));

    let profile = Profile { evictions_per_cycle: Some(1), ..own() };
    let mut scheduler = world((4, None), 0, policy, profile);
    for identity in 0..4 {
        start(&mut scheduler, A, identity, 1, None);
    }
    let first = submit(&mut scheduler, A, 5, 9, 1);
    let second = submit(&mut scheduler, A, 6, 8, 1);
    let decisions = scheduler.step(LATER, &mut AnyFloor);
    assert!(matches!(of(&decisions, first), Verdict::Preempting { .. }));
    let told = pending(&scheduler, second, Some(of(&decisions, second)), None).unwrap();
    assert_eq!(told.code, Code::OverPreemptionBudget);

    // The first waits for a known end; the second is small but would still run then.
    let mut scheduler = plain(4, 0);
    start(&mut scheduler, A, 1, 3, Some(100));
    let first = submit(&mut scheduler, A, 2, 0, 4);
    scheduler.step(0, &mut AnyFloor);
    let second = submit(&mut scheduler, A, 3, 0, 1);
    let decisions = scheduler.step(1, &mut AnyFloor);
    let told = pending(&scheduler, second, Some(of(&decisions, second)), None).unwrap();
    assert_eq!(told.code, Code::ReservedForAnother);
    assert_eq!(told.unblocks, [Unblock::Starts { pending: first, at: Some(100) }]);
    let seen = ahead(&scheduler, 1, 100, &mut AnyFloor);
    assert_eq!(seen.starts.get(&first), Some(&100));
    let mut copy = scheduler.clone();
    assert_eq!(seen.next, copy.step(1, &mut AnyFloor), "the first step of the run is the next cycle");
}

#[test]
fn what_runs_says_what_its_quota_is_worth() {
    let mut scheduler = plain(4, 0);
    let own = submit(&mut scheduler, A, 1, 0, 3);
    let decisions = scheduler.step(7, &mut AnyFloor);
    let Verdict::Admitted { workload, .. } = of(&decisions, own) else { panic!("it waits") };
    let told = admitted(&scheduler, *workload).unwrap();
    assert_eq!((told.code, told.standing, told.estimated_start), (Code::Admitted, Standing::Admitted, Some(7)));
    assert_eq!(told.promise, Some(Promise::WithinNominal));
    let guest = start(&mut scheduler, B, 2, 1, None);
    let told = running(&scheduler, guest, None).unwrap();
    assert_eq!((told.code, told.standing), (Code::Running, Standing::Running));
    assert_eq!(told.promise, Some(Promise::ZeroQuota { what: GPU }));
    let mut scheduler = plain(2, 2);
    let over = start(&mut scheduler, A, 1, 3, None);
    let promise = running(&scheduler, over, None).unwrap().promise;
    assert_eq!(promise, Some(Promise::Borrowing { what: GPU, borrowed: Amount::new(1) }));
}

#[test]
fn what_is_stopped_says_for_what_reason() {
    for (cause, code) in [
        (Cause::Preempted { by: 9 }, Code::Preempted),
        (Cause::Drained, Code::Drained),
        (Cause::CheckFailed, Code::CheckFailed),
        (Cause::NotReady, Code::NotReadyInTime),
        (Cause::Lost, Code::PlaceLost),
        (Cause::Asked, Code::StopAsked),
    ] {
        let mut scheduler = plain(4, 0);
        let place = start(&mut scheduler, A, 1, 1, None);
        assert!(scheduler.evict(place, cause));
        let told = running(&scheduler, place, None).unwrap();
        assert_eq!((told.code, told.standing), (code, Standing::Stopping));
    }
}

// The first victim of a taker that asks for so many in the first queue, and what it is told; then where it waits.
fn victim_of(mut scheduler: Scheduler, gpus: u32) -> (Preempted, Preempted) {
    let taker = submit(&mut scheduler, A, 50, 9, gpus);
    let decisions = scheduler.step(LATER, &mut AnyFloor);
    let Verdict::Preempting { victims, .. } = of(&decisions, taker) else { panic!("{decisions:?}") };
    let now = preempted(&scheduler, LATER, (50, A), &victims[0], None);
    let waits_as = scheduler.gone(LATER + 30, victims[0].workload);
    (now, preempted(&scheduler, LATER + 30, (50, A), &victims[0], waits_as))
}

#[test]
fn a_victim_is_told_by_whom_under_which_rule_with_how_much_notice_and_where_it_stands_now() {
    let notice = |fair| PreemptionRules { notice_s: 30, ..PreemptionRules::own(fair) };
    let profile = |fair| Profile { backoff: crate::cycle::Backoff::NONE, ..Profile::own(notice(fair)) };
    let within = QueuePolicy { within_queue: Takes::LowerPriority, ..QueuePolicy::default() };
    let reclaim = QueuePolicy { reclaim: Takes::Any, ..QueuePolicy::default() };
    let while_borrowing = Some(TakesWhileBorrowing { priority_max: None });
    let borrowing = QueuePolicy { while_borrowing, reclaim: Takes::LowerPriority, ..QueuePolicy::default() };
    let fair = Some(FairStrategies::Both);
    // Own quota of the cohort and both queues, whose four workloads run, the policy, and what is asked for.
    let cases = [
        (Rule::WithinQueue, (0, 4, 0), A, within, None, 2),
        (Rule::Reclaim, (0, 4, 0), B, reclaim, None, 2),
        (Rule::BorrowWithinCohort, (2, 1, 1), B, borrowing, None, 2),
        (Rule::FairShare, (4, 0, 0), B, reclaim, fair, 1),
    ];
    for (rule, (shared, a, b), queue, policy, fair, asked) in cases {
        let mut scheduler = world((a, None), b, policy, profile(fair));
        let shared = Quota { nominal: Amount::new(shared), ..Quota::default() };
        let tree = scheduler.estate().tree.with_quotas(&[(ROOT, GPU, shared)]).unwrap();
        let estate = Estate { shares: scheduler.estate().shares.on(&tree), tree, ..scheduler.estate().clone() };
        scheduler.set_estate(estate);
        for identity in 0..4 {
            let place = start(&mut scheduler, queue, identity, 1, None);
            let shape = asks(&mut scheduler, queue, identity, 0, 1).shape;
            let terms = Terms { shape: Some(shape), ..Terms::default() };
            // Started by hand, it comes back as what it asked for.
            let mut workload = scheduler.end(place).unwrap();
            workload.terms = terms;
            scheduler.start(workload);
        }
        let (told, gone) = victim_of(scheduler, asked);
        assert_eq!((told.by, told.by_queue, told.rule), (50, A, rule));
        assert_eq!((told.notice_s, told.at_position, gone.notice_s), (30, None, 0));
        let of = if queue == A { 2 } else { 1 };
        assert_eq!(gone.at_position, Some((of, of)), "{rule:?}");
    }
    let told = Preempted { by: 50, by_queue: A, rule: Rule::Reclaim, notice_s: 30, at_position: Some((2, 3)) };
    let mut scheduler = plain(4, 0);
    let place = start(&mut scheduler, B, 1, 1, None);
    scheduler.evict(place, Cause::Preempted { by: 50 });
    let text = sentence(&running(&scheduler, place, Some(told)).unwrap(), &Plain);
    assert_eq!(
        text,
        "Being stopped in queue speech: it has to make room for another one. It makes room for work-50 of vision, whose \
         queue takes back what it had lent, with 30 s of notice. It is number 2 of 3 in its queue now. Its queue has no \
         H100 of its own; all that it runs can be reclaimed."
    );
}

#[test]
fn codes_and_rules_have_texts_of_their_own() {
    let mut texts: Vec<&str> = Code::ALL.iter().map(|code| code.text()).collect();
    let snake = |text: &&str| text.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    assert!(texts.iter().all(snake));
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), Code::ALL.len());
    let rules = [Rule::WithinQueue, Rule::Reclaim, Rule::BorrowWithinCohort, Rule::FairShare].map(Rule::text);
    assert_eq!(rules, ["within_queue", "reclaim", "borrow_within_cohort", "fair_share"]);
}

fn any_limit() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(0_i64..6)
}

proptest! {
    // A cohort of two cohorts of two queues, with any quotas, limits and use.
    #[test]
    fn somebody_blocks_exactly_when_it_does_not_fit_and_holders_hold_what_is_used(
        quotas in prop::collection::vec((0_i64..9, any_limit(), any_limit()), 7),
        used in prop::collection::vec(0_i64..9, 4), asked in 0_i64..20,
    ) {
        let parents = [None, Some(0), Some(0), Some(1), Some(1), Some(2), Some(2)];
        let specs: Vec<NodeSpec> = (0..7)
            .map(|at| {
                let (nominal, borrow, lend) = quotas[at];
                let limits = if at == 0 { (None, None) } else { (borrow, lend) };
                node(parents[at], at > 2, nominal, limits.0, limits.1)
            })
            .collect();
        let tree = Tree::build(&specs, 1).unwrap();
        let mut usage = tree.unused();
        for (units, queue) in used.iter().zip(3..) {
            usage.add(&tree, NodeIx(queue), GPU, Amount::new(*units));
        }
        let asked = Amount::new(asked);
        for queue in (3..7).map(NodeIx) {
            let blocked = blocking_node(&tree, &usage, queue, GPU, asked);
            prop_assert_eq!(blocked.is_none(), asked <= tree.available(&usage, queue, GPU));
            if let Some(node) = blocked {
                prop_assert!(node == queue || tree.ancestors(queue).any(|above| above == node));
            }
        }
        let all = holders(&tree, &usage, NodeIx(0), GPU);
        let sum = all.iter().fold(0, |sum, holder| sum + holder.holds.units());
        prop_assert_eq!(sum, used.iter().sum::<i64>());
        for holder in all {
            let own = tree.subtree(holder.queue, GPU).units();
            prop_assert_eq!(holder.borrowed.units(), (holder.holds.units() - own).max(0));
        }
    }
}
