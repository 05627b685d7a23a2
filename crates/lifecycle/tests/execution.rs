//! Allocations, slots, nodes and orders: how they get from a wish to proof.

mod support;

use lifecycle::{
    Next, allocation, node,
    order::{OrderView, Orders},
    slot, task,
};
use model::{Timestamp, proof::ProofFault, task::TaskState};
use proptest::prelude::*;
use support::{ended, wait_code};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

fn wished(state: allocation::State) -> allocation::View {
    allocation::View {
        state,
        desired: allocation::Desired::Running,
        lease: None,
        forced: false,
        in_workload: false,
        placement_refused: false,
        provision_failed: false,
        node_online: true,
        machine: None,
        provision: Orders::default(),
        release: Orders::default(),
        last_attempt: 0,
    }
}

fn given_back(state: allocation::State) -> allocation::View {
    allocation::View { desired: allocation::Desired::Released, ..wished(state) }
}

#[test]
fn a_wish_is_placed_ordered_and_run() {
    use allocation::{Effect, State, decide};
    assert_eq!(decide(&wished(State::Requested), NOW), Next::Do(Effect::Place));
    let mut view = wished(State::Reserved);
    assert_eq!(decide(&view, NOW), Next::Do(Effect::OrderProvision { attempt: 1 }));
    view.provision = ended(TaskState::Pending, 1);
    assert_eq!(decide(&view, NOW), Next::Enter(State::Provisioning));
    view.state = State::Provisioning;
    assert_eq!(wait_code(decide(&view, NOW)), "node_building");
    view.provision = ended(TaskState::Succeeded, 1);
    assert_eq!(decide(&view, NOW), Next::Enter(State::Running));
    view.state = State::Running;
    assert_eq!(decide(&view, NOW), Next::Forget);
}

#[test]
fn a_wish_without_a_place_is_refused() {
    use allocation::{State, decide};
    let view = allocation::View { placement_refused: true, ..wished(State::Requested) };
    assert_eq!(decide(&view, NOW), Next::Enter(State::Refused));
}

#[test]
fn a_member_of_a_workload_waits_for_the_workload_and_is_still_given_back() {
    use allocation::{State, decide};
    let member = allocation::View { in_workload: true, ..wished(State::Requested) };
    assert_eq!(decide(&member, NOW), Next::Forget);
    let lease = allocation::Lease::new(NOW, NOW.plus_seconds(3600), true, 900);
    assert_eq!(
        decide(&allocation::View { lease: Some(lease), ..member }, NOW),
        Next::LookAgain { after_s: 3600 },
        "its lease runs while it waits"
    );
    let back = allocation::View { desired: allocation::Desired::Released, ..member };
    assert_eq!(decide(&back, NOW), Next::Enter(State::Released));
}

#[test]
fn giving_back_wins_over_everything() {
    use allocation::{Effect, State, decide};
    assert_eq!(decide(&given_back(State::Requested), NOW), Next::Enter(State::Released));
    for state in [State::Reserved, State::Provisioning, State::Running] {
        let view = allocation::View { provision: ended(TaskState::Succeeded, 1), ..given_back(state) };
        assert_eq!(decide(&view, NOW), Next::Enter(State::Releasing), "{state}");
        assert!(!allocation::records_failure(&view, State::Releasing), "{state}");
    }
    let view = allocation::View { last_attempt: 2, ..given_back(State::Releasing) };
    assert_eq!(decide(&view, NOW), Next::Do(Effect::OrderRelease { attempt: 3 }), "above every order to start it");
}

#[test]
fn what_could_not_be_built_is_cleaned_up_and_ends_as_failed() {
    use allocation::{State, decide};
    let mut view = allocation::View { provision: ended(TaskState::Failed, 1), ..wished(State::Provisioning) };
    assert_eq!(decide(&view, NOW), Next::Enter(State::Releasing));
    assert!(allocation::records_failure(&view, State::Releasing));
    (view.state, view.provision_failed) = (State::Releasing, true);
    view.release = ended(TaskState::Delivered, 1);
    assert_eq!(wait_code(decide(&view, NOW)), "node_releasing");
    view.release = ended(TaskState::Succeeded, 1);
    assert_eq!(decide(&view, NOW), Next::Enter(State::Failed));
}

#[test]
fn an_unanswered_order_is_given_again_five_times_and_then_an_operator_is_waited_for() {
    use allocation::{Effect, State, decide};
    for given in 1..allocation::ORDERS_MAX {
        let view = allocation::View {
            provision: ended(TaskState::Expired, given),
            last_attempt: given,
            ..wished(State::Provisioning)
        };
        assert_eq!(decide(&view, NOW), Next::Do(Effect::OrderProvision { attempt: given + 1 }));
    }
    let mut view = allocation::View { provision: ended(TaskState::Expired, 5), ..wished(State::Provisioning) };
    assert_eq!(wait_code(decide(&view, NOW)), "provision_needs_operator");
    view.desired = allocation::Desired::Released;
    assert_eq!(decide(&view, NOW), Next::Enter(State::Releasing), "the owner need not wait for the operator");
    let stuck = allocation::View { release: ended(TaskState::Failed, 5), ..given_back(State::Releasing) };
    assert_eq!(wait_code(decide(&stuck, NOW)), "release_needs_operator");
}

#[test]
fn a_silent_node_stops_orders_and_leaves_running_guests_alone() {
    use allocation::{State, decide};
    let silent = |view: allocation::View| allocation::View { node_online: false, ..view };
    assert_eq!(wait_code(decide(&silent(wished(State::Reserved)), NOW)), "node_silent");
    assert_eq!(wait_code(decide(&silent(given_back(State::Releasing)), NOW)), "node_silent");
    assert_eq!(decide(&silent(wished(State::Running)), NOW), Next::Forget);
}

#[test]
fn a_lease_is_warned_of_once_and_then_ends() {
    use allocation::{Effect, Lease, State, decide};
    let begun = NOW;
    let lease = |warned| Some(Lease::new(begun, begun.plus_seconds(36_000), warned, 900));
    let held = |state, warned| allocation::View { lease: lease(warned), ..wished(state) };
    let at = |seconds: i64| begun.plus_seconds(seconds);
    assert_eq!(decide(&held(State::Running, false), at(0)), Next::LookAgain { after_s: 35_100 }, "until the warning");
    for state in [State::Reserved, State::Provisioning, State::Running] {
        assert_eq!(decide(&held(state, false), at(35_100)), Next::Do(Effect::WarnOfLeaseEnd), "{state}");
        assert_eq!(decide(&held(state, true), at(36_000)), Next::Do(Effect::EndLease), "{state}");
        assert_eq!(decide(&held(state, false), at(36_000)), Next::Do(Effect::EndLease), "too late for a warning");
    }
    assert_eq!(decide(&held(State::Running, true), at(35_100)), Next::LookAgain { after_s: 900 }, "until the end");
    assert_eq!(decide(&held(State::Requested, false), at(36_000)), Next::Do(Effect::EndLease));
    let back = allocation::View { lease: lease(false), ..given_back(State::Running) };
    assert_eq!(decide(&back, at(36_000)), Next::Enter(State::Releasing), "its owner was quicker");
    assert_eq!(decide(&held(State::Released, false), at(36_000)), Next::Forget);
    let short = Lease::new(begun, at(100), false, 900);
    assert_eq!(short.warn_from, at(90), "a tenth of a short one");
    assert_eq!(Lease::new(at(10), at(5), false, 900).warn_from, at(5), "a clock that jumped back");
}

#[test]
fn a_host_that_is_not_waited_for_gets_one_chance_if_it_is_heard_of() {
    use allocation::{Effect, State, decide, ends_by_force};
    let forced = |view: allocation::View| allocation::View { forced: true, ..view };
    let dead = allocation::View { node_online: false, ..given_back(State::Releasing) };
    assert_eq!(wait_code(decide(&dead, NOW)), "node_silent");
    assert_eq!(decide(&forced(dead), NOW), Next::Enter(State::Released));
    assert!(ends_by_force(&forced(dead), State::Released));
    let alive = forced(given_back(State::Releasing));
    assert_eq!(decide(&alive, NOW), Next::Do(Effect::OrderRelease { attempt: 1 }), "its chance");
    let working = allocation::View { release: ended(TaskState::Delivered, 1), ..alive };
    assert_eq!(wait_code(decide(&working, NOW)), "node_releasing");
    for missed in [TaskState::Failed, TaskState::Expired] {
        let missed = allocation::View { release: ended(missed, 1), ..alive };
        assert_eq!(decide(&missed, NOW), Next::Enter(State::Released));
        let unbuilt = allocation::View { provision_failed: true, ..missed };
        assert_eq!(decide(&unbuilt, NOW), Next::Enter(State::Failed));
    }
    let done = allocation::View { release: ended(TaskState::Succeeded, 1), ..alive };
    assert_eq!(decide(&done, NOW), Next::Enter(State::Released));
    assert!(!ends_by_force(&done, State::Released), "it was ended properly");
    assert_eq!(decide(&forced(given_back(State::Running)), NOW), Next::Enter(State::Releasing));
}

fn blocked() -> slot::View {
    slot::View {
        state: slot::State::CleanupBlocked,
        claim_active: false,
        proof: slot::ProofView::Faulty(ProofFault::StepMissing),
        node_online: true,
        rewipe: Orders::default(),
    }
}

#[test]
fn only_a_valid_proof_makes_a_slot_available() {
    use slot::{ProofView, State, decide};
    let faults = ProofFault::ALL.iter().map(|fault| ProofView::Faulty(*fault));
    for proof in faults.chain([ProofView::Missing]) {
        let view = slot::View { state: State::Wiping, proof, ..blocked() };
        assert_eq!(decide(&view, NOW), Next::Enter(State::CleanupBlocked), "{proof:?}");
    }
    for state in [State::Wiping, State::CleanupBlocked] {
        let view = slot::View { state, proof: ProofView::Valid, ..blocked() };
        assert_eq!(decide(&view, NOW), Next::Enter(State::Available));
        assert_eq!(wait_code(decide(&slot::View { claim_active: true, ..view }, NOW)), "claim_active");
    }
}

#[test]
fn a_blocked_slot_is_wiped_three_more_times_and_then_rests_blocked() {
    use slot::{Effect, decide};
    assert_eq!(decide(&blocked(), NOW), Next::Do(Effect::OrderRewipe));
    assert_eq!(
        wait_code(decide(&slot::View { rewipe: ended(TaskState::Pending, 1), ..blocked() }, NOW)),
        "node_rewiping"
    );
    assert_eq!(wait_code(decide(&slot::View { node_online: false, ..blocked() }, NOW)), "node_silent");
    let again = slot::View { rewipe: ended(TaskState::Succeeded, 2), ..blocked() };
    assert_eq!(decide(&again, NOW), Next::Do(Effect::OrderRewipe), "an answer is not a proof");
    let exhausted = slot::View { rewipe: ended(TaskState::Succeeded, 3), ..blocked() };
    let Next::Wait(wait) = decide(&exhausted, NOW) else { panic!("rests blocked") };
    assert_eq!(wait.code, "cleanup_needs_operator");
    assert!(wait.because.contains("a step is missing from the proof"), "{}", wait.because);
}

#[test]
fn a_node_is_online_for_thirty_seconds_after_each_call() {
    use node::{State, View, decide};
    let never = View { state: State::Enrolled, last_seen: None, handed_over: false, conversion: None };
    let seen = |state, seconds_ago: i64| View { state, last_seen: Some(NOW.plus_seconds(-seconds_ago)), ..never };
    assert_eq!(wait_code(decide(&never, NOW)), "never_heard");
    assert_eq!(decide(&seen(State::Enrolled, 0), NOW), Next::Enter(State::Online));
    assert_eq!(decide(&seen(State::Silent, 29), NOW), Next::Enter(State::Online));
    assert_eq!(decide(&seen(State::Online, 30), NOW), Next::Enter(State::Silent));
    assert_eq!(wait_code(decide(&seen(State::Silent, 30), NOW)), "node_silent");
    assert_eq!(decide(&seen(State::Online, 20), NOW), Next::LookAgain { after_s: 10 }, "when its lease ends");
    let jumped_back = decide(&seen(State::Online, -1000), NOW);
    assert_eq!(jumped_back, Next::LookAgain { after_s: node::LEASE_S }, "one lease at a time");
}

#[test]
fn an_order_waits_until_its_deadline_and_not_longer() {
    use task::{State, View, decide};
    let open = |state| View {
        state,
        state_since: NOW.plus_seconds(-5),
        deadline: NOW.plus_seconds(7),
        superseded: false,
        for_provider: false,
    };
    assert_eq!(wait_code(decide(&View { for_provider: true, ..open(State::Delivered) }, NOW)), "awaiting_provider");
    assert_eq!(wait_code(decide(&open(State::Pending), NOW)), "awaiting_poll");
    let Next::Wait(wait) = decide(&open(State::Delivered), NOW) else { panic!("waits") };
    assert_eq!((wait.code.as_str(), wait.look_again_s), ("awaiting_answer", 7));
    assert_eq!(decide(&open(State::Delivered), NOW.plus_seconds(7)), Next::Enter(State::Expired));
    assert_eq!(decide(&View { superseded: true, ..open(State::Pending) }, NOW), Next::Enter(State::Expired));
    for state in [State::Succeeded, State::Failed, State::Expired] {
        assert_eq!(decide(&open(state), NOW.plus_seconds(99)), Next::Forget);
    }
}

fn any_orders() -> impl Strategy<Value = Orders> {
    let newest = (prop::sample::select(TaskState::ALL), 0i64..2_000)
        .prop_map(|(state, s)| OrderView { state, since: Timestamp::from_micros(0).plus_seconds(s) });
    (prop::option::of(newest), 1i64..7)
        .prop_map(|(newest, given)| Orders { newest, given: newest.map_or(0, |_| given) })
}

fn any_allocation() -> impl Strategy<Value = allocation::View> {
    let states = (prop::sample::select(allocation::State::ALL), prop::sample::select(allocation::Desired::ALL));
    let lease = (0i64..3_000, 1i64..3_000, any::<bool>()).prop_map(|(begun, lasts, warned)| {
        let begun = Timestamp::from_micros(0).plus_seconds(begun);
        allocation::Lease::new(begun, begun.plus_seconds(lasts), warned, 900)
    });
    (states, prop::array::uniform5(any::<bool>()), prop::option::of(lease), any_orders(), any_orders()).prop_map(
        |(
            (state, desired),
            [placement_refused, provision_failed, node_online, forced, in_workload],
            lease,
            provision,
            release,
        )| {
            allocation::View {
                state,
                desired,
                lease,
                forced,
                in_workload,
                placement_refused,
                provision_failed,
                node_online,
                machine: None,
                provision,
                release,
                last_attempt: provision.given + release.given,
            }
        },
    )
}

// What the outside does when an order is looked at: it is fetched and then ends one way or another.
fn answer(orders: &mut Orders, with: TaskState, now: Timestamp) {
    if let Some(order) = orders.newest.as_mut().filter(|order| !order.state.is_terminal()) {
        *order = OrderView { state: with, since: now };
    }
}

fn give(orders: &mut Orders, now: Timestamp) {
    *orders = Orders { newest: Some(OrderView { state: TaskState::Pending, since: now }), given: orders.given + 1 };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn an_allocation_moves_only_along_its_graph(view in any_allocation()) {
        match allocation::decide(&view, NOW) {
            Next::Enter(to) => {
                prop_assert!(allocation::EDGES.contains(&(view.state, to)));
                prop_assert!(to != allocation::State::Released && to != allocation::State::Failed
                    || view.state == allocation::State::Requested || view.release.ended(TaskState::Succeeded)
                    || (view.forced && (!view.release.is_open() || !view.node_online)),
                    "claims end only when the guest is proved gone, or at an operator's word");
            }
            Next::Do(allocation::Effect::OrderProvision { attempt }) => {
                prop_assert_eq!(view.desired, allocation::Desired::Running);
                prop_assert!(view.node_online && attempt > view.last_attempt && view.provision.given < allocation::ORDERS_MAX);
            }
            Next::Do(allocation::Effect::OrderRelease { attempt }) => {
                prop_assert!(view.node_online && attempt > view.last_attempt && view.release.given < allocation::ORDERS_MAX);
            }
            Next::Do(allocation::Effect::OrderDeploy { .. } | allocation::Effect::OrderReclaim { .. }) => {
                prop_assert!(false, "there is no machine to hand over");
            }
            Next::Do(allocation::Effect::Place) => {
                prop_assert!(view.state == allocation::State::Requested && !view.in_workload);
            }
            Next::Do(allocation::Effect::WarnOfLeaseEnd | allocation::Effect::EndLease) => {
                prop_assert!(view.lease.is_some() && view.desired == allocation::Desired::Running && !view.state.is_terminal());
            }
            Next::Forget => {
                let waits = view.state == allocation::State::Requested && view.in_workload;
                let rests = (view.state == allocation::State::Running || waits) && view.lease.is_none();
                prop_assert!(view.state.is_terminal() || rests);
            }
            Next::Wait(wait) => prop_assert!(wait.look_again_s > 0),
            Next::LookAgain { after_s } => {
                let waits = view.state == allocation::State::Requested && view.in_workload;
                prop_assert!(after_s > 0 && (view.state == allocation::State::Running || waits),
                    "whatever else goes on says what it waits for");
            }
        }
    }

    // Orders end as drawn, and well once the draws run out; the owner gives it back at some point.
    #[test]
    fn an_allocation_always_comes_to_rest(
        draws in prop::collection::vec(prop::sample::select(&[TaskState::Succeeded, TaskState::Failed, TaskState::Expired][..]), 0..14),
        back_at in 0usize..60, refused in any::<bool>(),
    ) {
        let (mut view, mut now, mut draws) = (wished(allocation::State::Requested), NOW, draws.into_iter());
        for round in 0..200 {
            if round == back_at {
                view.desired = allocation::Desired::Released;
            }
            let at_rest = match allocation::decide(&view, now) {
                Next::Enter(to) => {
                    prop_assert!(allocation::EDGES.contains(&(view.state, to)));
                    view.provision_failed |= allocation::records_failure(&view, to);
                    view.state = to;
                    false
                }
                Next::Do(allocation::Effect::WarnOfLeaseEnd | allocation::Effect::EndLease) => {
                    prop_assert!(false, "there is no lease");
                    false
                }
                Next::Do(allocation::Effect::OrderDeploy { .. } | allocation::Effect::OrderReclaim { .. }) => {
                    prop_assert!(false, "there is no machine to hand over");
                    false
                }
                Next::Do(allocation::Effect::Place) if refused => { view.placement_refused = true; false }
                Next::Do(allocation::Effect::Place) => { view.state = allocation::State::Reserved; false }
                Next::Do(allocation::Effect::OrderProvision { attempt }) => {
                    give(&mut view.provision, now);
                    view.last_attempt = attempt;
                    false
                }
                Next::Do(allocation::Effect::OrderRelease { attempt }) => {
                    give(&mut view.release, now);
                    view.last_attempt = attempt;
                    false
                }
                Next::Wait(wait) => {
                    now = now.plus_seconds(wait.look_again_s);
                    let ends = draws.next().unwrap_or(TaskState::Succeeded);
                    answer(&mut view.provision, ends, now);
                    answer(&mut view.release, ends, now);
                    wait.code.ends_with("_needs_operator")
                }
                Next::LookAgain { after_s } => { now = now.plus_seconds(after_s); false }
                Next::Forget => true,
            };
            if at_rest && round > back_at {
                let stuck = view.release.given == allocation::ORDERS_MAX;
                prop_assert!(view.state.is_terminal() || stuck, "{:?}", view);
                return Ok(());
            }
        }
        prop_assert!(false, "never came to rest: {:?}", view);
    }

    #[test]
    fn a_slot_moves_only_along_its_graph_and_is_sold_only_on_proof(
        state in prop::sample::select(slot::State::ALL), flags in prop::array::uniform2(any::<bool>()),
        proof in 0usize..7, rewipe in any_orders(),
    ) {
        use slot::{Effect, ProofView, State, View, decide};
        let proof = match proof {
            0 => ProofView::Missing,
            6 => ProofView::Valid,
            n => ProofView::Faulty(ProofFault::ALL[n - 1]),
        };
        let view = View { state, claim_active: flags[0], proof, node_online: flags[1], rewipe };
        match decide(&view, NOW) {
            Next::Enter(to) => {
                prop_assert!(slot::EDGES.contains(&(state, to)));
                prop_assert!(!view.claim_active);
                prop_assert_eq!(to == State::Available, proof == ProofView::Valid);
            }
            Next::Do(Effect::OrderRewipe) => {
                prop_assert!(!view.claim_active && rewipe.given < slot::REWIPES_MAX && !rewipe.is_open());
            }
            Next::Wait(wait) => prop_assert!(wait.look_again_s > 0),
            Next::LookAgain { .. } => prop_assert!(false, "a slot that is not for sale says why"),
            Next::Forget => prop_assert!(!matches!(state, State::Wiping | State::CleanupBlocked)),
        }
    }

    #[test]
    fn nodes_and_orders_move_only_along_their_graphs(
        node_state in prop::sample::select(node::State::ALL), seen in prop::option::of(0i64..2_000),
        task_state in prop::sample::select(task::State::ALL), deadline in 0i64..2_000, superseded in any::<bool>(),
    ) {
        let last_seen = seen.map(|s| Timestamp::from_micros(0).plus_seconds(s));
        match node::decide(&node::View { state: node_state, last_seen, handed_over: false, conversion: None }, NOW) {
            Next::Enter(to) => prop_assert!(node::EDGES.contains(&(node_state, to))),
            Next::Wait(wait) => prop_assert!(wait.look_again_s > 0 && node_state != node::State::Online),
            Next::LookAgain { after_s } => prop_assert!(after_s > 0 && node_state == node::State::Online),
            Next::Do(node::Effect::Convert) => prop_assert!(false, "nobody converts it"),
            Next::Forget => prop_assert!(false, "a node is always looked at again"),
        }
        let view = task::View { state: task_state, state_since: NOW, deadline: Timestamp::from_micros(0).plus_seconds(deadline), superseded, for_provider: false };
        match task::decide(&view, NOW) {
            Next::Enter(to) => prop_assert!(task::EDGES.contains(&(task_state, to))),
            Next::Wait(wait) => prop_assert!(wait.look_again_s > 0 && !task_state.is_terminal()),
            Next::LookAgain { .. } => prop_assert!(false, "an open order is always waited for"),
            Next::Do(never) => match never {},
            Next::Forget => prop_assert!(task_state.is_terminal()),
        }
    }
}
