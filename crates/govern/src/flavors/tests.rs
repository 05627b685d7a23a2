//! The choice of flavors, one rule at a time, with an oracle that says what each test wants.

use super::{
    Assigner, Assignment, Blocked, Flavor, FlavorIx, Group, Offer, Oracle, PodSet, Possibility, Reason, Request,
    Undeclared,
    matching::{Effect, Mismatch, Taint, Value},
    mode::{Fungibility, Mode, Preference, Reach, Search, Standing, lowest_subtree},
};
use crate::{
    amount::Amount,
    share::Resource,
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree, Usage},
};

const CPU: Resource = Resource(0);
const GPU: Resource = Resource(1);
const PODS: Resource = Resource(2);
const FIRST: FlavorIx = FlavorIx(0);
const SECOND: FlavorIx = FlavorIx(1);
const QUEUE: NodeIx = NodeIx(1);
const OTHER: NodeIx = NodeIx(2);

// A flavor's number times three and the resource's.
const fn cell(flavor: FlavorIx, resource: Resource) -> FlavorResource {
    FlavorResource(flavor.0 * 3 + resource.0)
}

struct Says(Possibility, u32);

impl Oracle for Says {
    fn possibility(&mut self, _: &mut Usage, _: NodeIx, _: FlavorResource, _: Amount) -> (Possibility, u32) {
        (self.0, self.1)
    }
}

struct Bench {
    tree: Tree,
    usage: Usage,
    offer: Offer,
    catalog: Vec<Option<Flavor>>,
    undeclared: Undeclared,
    while_borrowing: bool,
    says: Says,
}

fn group(resources: &[Resource]) -> Group {
    let flavors = vec![FIRST, SECOND];
    let cells = flavors.iter().flat_map(|flavor| resources.iter().map(|resource| cell(*flavor, *resource))).collect();
    Group { resources: resources.to_vec(), flavors, cells }
}

// Two queues in a cohort, each with so much of every resource in each of two flavors.
fn bench(first: i64, second: i64) -> Bench {
    let quota = |units| Quota { nominal: Amount::new(units), ..Quota::default() };
    let quotas = |scale: i64| {
        let of = |flavor, units: i64| [CPU, GPU, PODS].map(move |one| (cell(flavor, one), quota(units * scale)));
        [of(FIRST, first), of(SECOND, second)].concat()
    };
    let queue = |scale| NodeSpec { parent: Some(0), is_queue: true, quotas: quotas(scale), ..NodeSpec::default() };
    let tree = Tree::build(&[NodeSpec::default(), queue(1), queue(1)], 6).unwrap();
    Bench {
        usage: tree.unused(),
        tree,
        offer: Offer { groups: vec![group(&[CPU]), group(&[GPU])], ..Offer::default() },
        catalog: vec![Some(Flavor::default()), Some(Flavor::default())],
        undeclared: Undeclared::Block,
        while_borrowing: false,
        says: Says(Possibility::Preempt, 0),
    }
}

impl Bench {
    fn used(mut self, queue: NodeIx, flavor: FlavorIx, units: i64) -> Self {
        self.usage.add(&self.tree, queue, cell(flavor, CPU), Amount::new(units));
        self
    }

    fn assign_as(&mut self, request: Request<'_>) -> Assignment {
        let assigner = Assigner {
            tree: &self.tree,
            queue: QUEUE,
            offer: &self.offer,
            catalog: &self.catalog,
            pods: Some(PODS),
            undeclared: self.undeclared,
            preempts_while_borrowing: self.while_borrowing,
        };
        assigner.assign(&mut self.usage, &mut self.says, request)
    }

    fn assign(&mut self, pod_sets: &[PodSet]) -> Assignment {
        self.assign_as(Request { pod_sets, counts: None, progress: None, only: None })
    }
}

fn pods(count: u32, cpu: i64) -> PodSet {
    PodSet { count, requests: vec![(CPU, Amount::new(cpu))], ..PodSet::default() }
}

fn flavors(assignment: &Assignment) -> Vec<(FlavorIx, Mode, u32)> {
    let all = assignment.pod_sets.iter().flat_map(|set| &set.resources);
    all.map(|one| (one.flavor, one.mode, one.level)).collect()
}

#[test]
fn the_first_flavor_that_fits_is_taken() {
    let mut bench = bench(10, 10).used(QUEUE, FIRST, 15);
    let taken = bench.assign(&[pods(2, 2)]);
    assert_eq!((taken.mode, taken.level), (Mode::Fit, 1));
    assert_eq!(flavors(&taken), [(FIRST, Mode::Fit, 1)]);
    assert_eq!(taken.usage, [(cell(FIRST, CPU), Amount::new(4))]);
    // There is a flavor that was not looked at, so a later search would go on with it.
    assert_eq!(taken.progress(), Some(vec![vec![(CPU, 0)]]));
}

#[test]
fn a_queue_that_would_rather_not_borrow_looks_further() {
    let mut bench = bench(10, 10).used(QUEUE, FIRST, 10);
    bench.offer.fungibility.when_can_borrow = Search::TryNext;
    assert_eq!(flavors(&bench.assign(&[pods(1, 2)])), [(SECOND, Mode::Fit, 0)]);
}

#[test]
fn a_queue_that_may_stop_where_it_can_preempt_does() {
    let mut bench = bench(10, 10).used(OTHER, FIRST, 20);
    assert_eq!(flavors(&bench.assign(&[pods(1, 2)])), [(SECOND, Mode::Fit, 0)]);
    bench.offer.fungibility.when_can_preempt = Search::Stop;
    let taken = bench.assign(&[pods(1, 2)]);
    assert_eq!(flavors(&taken), [(FIRST, Mode::Preempt, 0)]);
    assert_eq!(taken.contested().collect::<Vec<_>>(), [cell(FIRST, CPU)]);
    bench.says = Says(Possibility::NoCandidates, 0);
    assert_eq!(flavors(&bench.assign(&[pods(1, 2)])), [(SECOND, Mode::Fit, 0)]);
}

#[test]
fn preference_orders_what_was_passed() {
    let standing = |reach, level| Standing { reach, level };
    let better = |left: Standing, right: Standing, preference| {
        assert!(left.is_better(right, preference) && !right.is_better(left, preference), "{left:?} {right:?}");
    };
    let (borrow, preempt) = (Preference::BorrowRatherThanPreempt, Preference::PreemptRatherThanBorrow);
    better(standing(Reach::Fit, 2), standing(Reach::Reclaim, 0), borrow);
    better(standing(Reach::Reclaim, 0), standing(Reach::Fit, 2), preempt);
    better(standing(Reach::Reclaim, 1), standing(Reach::Preempt, 1), preempt);
    better(standing(Reach::Fit, 1), standing(Reach::Fit, 2), borrow);
    for preference in [borrow, preempt] {
        better(standing(Reach::Preempt, 9), standing(Reach::NoCandidates, 0), preference);
        better(standing(Reach::NoCandidates, 9), Standing::WORST, preference);
        assert!(!Standing::WORST.is_better(Standing::WORST, preference));
    }
}

#[test]
fn what_the_search_stops_at_is_a_matter_of_the_queue() {
    let eager = Fungibility { when_can_preempt: Search::Stop, ..Fungibility::default() };
    let shy = Fungibility { when_can_borrow: Search::TryNext, ..eager };
    let standing = |reach, level| Standing { reach, level };
    assert!(!standing(Reach::Preempt, 1).wants_next(eager));
    assert!(standing(Reach::Preempt, 1).wants_next(shy));
    assert!(!standing(Reach::Reclaim, 0).wants_next(shy));
    assert!(standing(Reach::Reclaim, 0).wants_next(Fungibility::default()));
    assert!(standing(Reach::NoCandidates, 0).wants_next(eager));
}

#[test]
fn more_than_could_ever_be_used_is_told_from_what_is_in_use() {
    let mut bench = bench(10, 10).used(OTHER, FIRST, 20).used(OTHER, SECOND, 20);
    let too_much = bench.assign(&[pods(1, 21)]);
    assert_eq!((too_much.mode, too_much.blocked), (Mode::NoFit, Some(Blocked::ExceedsMaxQuota)));
    let reason = Reason::ExceedsCapacity {
        what: cell(FIRST, CPU),
        earlier: Amount::ZERO,
        asked: Amount::new(21),
        capacity: Amount::new(20),
    };
    assert_eq!(too_much.pod_sets[0].reasons[0], reason);
    // Beyond its own it may not tell others to go.
    let waits = bench.assign(&[pods(1, 11)]);
    assert_eq!((waits.mode, waits.blocked), (Mode::NoFit, Some(Blocked::WaitingForQuota)));
    bench.while_borrowing = true;
    assert_eq!(bench.assign(&[pods(1, 11)]).mode, Mode::Preempt);
}

#[test]
fn of_alternatives_the_mildest_reason_counts_and_of_needs_the_most_severe() {
    let mut bench = bench(10, 2).used(OTHER, FIRST, 20);
    // In the first flavor it waits for quota, the second could never hold it.
    assert_eq!(bench.assign(&[pods(1, 11)]).blocked, Some(Blocked::WaitingForQuota));
    let both = PodSet { requests: vec![(CPU, Amount::new(11)), (GPU, Amount::new(99))], ..pods(1, 0) };
    assert_eq!(bench.assign(std::slice::from_ref(&both)).blocked, Some(Blocked::WaitingForQuota));
    let bench = &mut self::bench(10, 10);
    assert_eq!(bench.assign(&[both]).blocked, Some(Blocked::ExceedsMaxQuota));
}

#[test]
fn earlier_pod_sets_count_for_later_ones() {
    let mut bench = bench(5, 5);
    bench.offer.fungibility.when_can_borrow = Search::TryNext;
    let taken = bench.assign(&[pods(1, 4), pods(2, 2)]);
    assert_eq!(flavors(&taken), [(FIRST, Mode::Fit, 0), (SECOND, Mode::Fit, 0)]);
    let missing = bench.assign(&[pods(1, 4), pods(1, 4), pods(1, 8)]);
    assert_eq!((missing.pod_sets.len(), missing.mode), (3, Mode::NoFit));
}

#[test]
fn a_group_of_resources_gets_one_flavor() {
    let mut bench = bench(10, 10).used(OTHER, FIRST, 20);
    bench.offer.groups = vec![group(&[CPU, GPU])];
    let asked = PodSet { requests: vec![(CPU, Amount::new(1)), (GPU, Amount::new(1))], ..pods(1, 0) };
    let taken = bench.assign(&[asked]);
    assert_eq!(flavors(&taken), [(SECOND, Mode::Fit, 0), (SECOND, Mode::Fit, 0)]);
}

#[test]
fn pod_sets_that_belong_together_get_the_same_flavor() {
    let mut bench = bench(5, 10);
    bench.offer.fungibility.when_can_borrow = Search::TryNext;
    let leader = PodSet { group: Some(7), ..pods(1, 3) };
    let workers = PodSet { group: Some(7), ..pods(2, 2) };
    let taken = bench.assign(&[leader.clone(), workers]);
    assert_eq!(flavors(&taken), [(SECOND, Mode::Fit, 0), (SECOND, Mode::Fit, 0)]);
    assert_eq!(taken.usage, [(cell(SECOND, CPU), Amount::new(7))]);
    assert_eq!(flavors(&bench.assign(&[leader])), [(FIRST, Mode::Fit, 0)]);
}

#[test]
fn resources_that_the_queue_does_not_offer_block_or_are_left_out() {
    let mut bench = bench(10, 10);
    bench.offer.groups = vec![group(&[CPU])];
    let asked = |gpu| PodSet { requests: vec![(CPU, Amount::new(1)), (GPU, Amount::new(gpu))], ..pods(1, 0) };
    let blocked = bench.assign(&[asked(1)]);
    assert_eq!((blocked.mode, blocked.blocked), (Mode::NoFit, Some(Blocked::NoMatchingFlavor)));
    assert_eq!(blocked.pod_sets[0].reasons, [Reason::NotOffered { resource: GPU }]);
    assert_eq!(bench.assign(&[asked(0)]).mode, Mode::Fit);
    bench.undeclared = Undeclared::Ignore;
    let taken = bench.assign(&[asked(1)]);
    assert_eq!((taken.mode, taken.usage), (Mode::Fit, vec![(cell(FIRST, CPU), Amount::new(1))]));
}

#[test]
fn pods_are_counted_where_the_queue_counts_them() {
    let mut bench = bench(10, 10);
    bench.offer.groups = vec![group(&[CPU, PODS])];
    // What a pod says of itself there is no matter.
    let asked = PodSet { requests: vec![(CPU, Amount::new(1)), (PODS, Amount::new(5))], ..pods(3, 0) };
    let taken = bench.assign(&[asked]);
    assert_eq!(taken.usage, [(cell(FIRST, CPU), Amount::new(3)), (cell(FIRST, PODS), Amount::new(3))]);
}

#[test]
fn flavors_that_do_not_suit_or_do_not_exist_are_passed() {
    let mut bench = bench(10, 10);
    let taint = Taint { key: 1, value: Value { id: 2, number: None }, effect: Effect::NoSchedule };
    bench.catalog[0] = Some(Flavor { taints: vec![taint], ..Flavor::default() });
    assert_eq!(flavors(&bench.assign(&[pods(1, 1)])), [(SECOND, Mode::Fit, 0)]);
    bench.catalog[1] = None;
    let nowhere = bench.assign(&[pods(1, 1)]);
    assert_eq!((nowhere.mode, nowhere.blocked), (Mode::NoFit, Some(Blocked::NoMatchingFlavor)));
    let reasons =
        [Reason::Mismatch { flavor: FIRST, why: Mismatch::Taint(taint) }, Reason::NoSuchFlavor { flavor: SECOND }];
    assert_eq!(nowhere.pod_sets[0].reasons, reasons);
}

#[test]
fn topology_is_for_those_who_ask_unless_there_is_nothing_else() {
    let mut bench = bench(10, 10);
    bench.catalog[1] = Some(Flavor { topology: true, ..Flavor::default() });
    let asks = PodSet { topology: true, ..pods(1, 1) };
    assert_eq!(flavors(&bench.assign(std::slice::from_ref(&asks))), [(SECOND, Mode::Fit, 0)]);
    assert_eq!(flavors(&bench.assign(&[pods(1, 1)])), [(FIRST, Mode::Fit, 0)]);
    bench.catalog[0] = bench.catalog[1].clone();
    assert_eq!(flavors(&bench.assign(&[pods(1, 1)])), [(FIRST, Mode::Fit, 0)]);
}

#[test]
fn a_search_goes_on_where_it_stopped_and_a_plan_keeps_its_flavors() {
    let mut bench = bench(10, 10);
    let pod_sets = [pods(1, 1)];
    let progress = vec![vec![(CPU, 0)]];
    let resumed = Request { pod_sets: &pod_sets, counts: None, progress: Some(&progress), only: None };
    let taken = bench.assign_as(resumed);
    assert_eq!((flavors(&taken), taken.progress()), (vec![(SECOND, Mode::Fit, 0)], None));
    let only = taken.nominated();
    let again = bench.assign_as(Request { progress: None, only: Some(&only), ..resumed });
    assert_eq!(flavors(&again), [(SECOND, Mode::Fit, 0)]);
}

#[test]
fn fewer_pods_ask_for_less() {
    let mut bench = bench(10, 10);
    let pod_sets = [pods(8, 1)];
    let fewer = Request { pod_sets: &pod_sets, counts: Some(&[3]), progress: None, only: None };
    let taken = bench.assign_as(fewer);
    assert_eq!((taken.pod_sets[0].count, taken.usage), (3, vec![(cell(FIRST, CPU), Amount::new(3))]));
}

#[test]
fn the_level_is_the_height_of_the_smallest_subtree_with_enough() {
    let quota = |units| vec![(FlavorResource(0), Quota { nominal: Amount::new(units), ..Quota::default() })];
    let node = |parent, is_queue, units| NodeSpec { parent, is_queue, quotas: quota(units), ..NodeSpec::default() };
    // A root with 10, in it a cohort with 5, in that a queue with 2; a chain of three beside them makes the root higher.
    let specs = [
        node(None, false, 10),
        node(Some(0), false, 5),
        node(Some(1), true, 2),
        node(Some(0), false, 0),
        node(Some(3), false, 0),
        node(Some(4), true, 0),
    ];
    let tree = Tree::build(&specs, 1).unwrap();
    let level = |units| lowest_subtree(&tree, &tree.unused(), NodeIx(2), FlavorResource(0), Amount::new(units));
    assert_eq!(
        [level(2), level(3), level(7), level(8), level(17), level(18)],
        [(0, true), (1, true), (1, true), (3, false), (3, false), (3, false)]
    );
}
