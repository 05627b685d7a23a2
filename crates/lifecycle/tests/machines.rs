//! Whole machines: from an agent's host to a tenant's, back to the platform, and to proof; and nodes that change their use.

mod support;

use lifecycle::{
    Next, allocation, node,
    order::{OrderView, Orders},
};
use model::{Timestamp, supply::NodeProfile, task::TaskState};
use proptest::prelude::*;
use support::{ended, wait_code};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

fn whole(state: allocation::State) -> allocation::View {
    allocation::View {
        state,
        desired: allocation::Desired::Running,
        lease: None,
        forced: false,
        in_workload: false,
        placement_refused: false,
        provision_failed: false,
        node_online: true,
        machine: Some(allocation::Machine::default()),
        provision: Orders::default(),
        release: Orders::default(),
        last_attempt: 0,
    }
}

fn with(view: allocation::View, deploy: Orders, reclaim: Orders) -> allocation::View {
    let last_attempt = deploy.given + reclaim.given;
    allocation::View { machine: Some(allocation::Machine { deploy, reclaim }), last_attempt, ..view }
}

fn given_back(state: allocation::State) -> allocation::View {
    allocation::View { desired: allocation::Desired::Released, ..whole(state) }
}

#[test]
fn a_machine_is_handed_over_by_its_provider_and_not_by_its_agent() {
    use allocation::{Effect, State, decide};
    let silent = allocation::View { node_online: false, ..whole(State::Reserved) };
    for view in [whole(State::Reserved), silent] {
        assert_eq!(decide(&view, NOW), Next::Do(Effect::OrderDeploy { attempt: 1 }));
    }
    let given = |state, deploy| with(whole(state), ended(deploy, 1), Orders::default());
    assert_eq!(decide(&given(State::Reserved, TaskState::Pending), NOW), Next::Enter(State::Provisioning));
    assert_eq!(wait_code(decide(&given(State::Provisioning, TaskState::Delivered), NOW)), "machine_deploying");
    assert_eq!(decide(&given(State::Provisioning, TaskState::Succeeded), NOW), Next::Enter(State::Running));
    let gone = allocation::View { node_online: false, ..given(State::Running, TaskState::Succeeded) };
    assert_eq!(decide(&gone, NOW), Next::Forget, "silence of a host that is a tenant's means nothing");
}

#[test]
fn a_machine_that_could_not_be_handed_over_is_taken_back_and_the_allocation_has_failed() {
    use allocation::{Effect, State, decide, records_failure};
    for failed in [TaskState::Failed, TaskState::Expired] {
        let view = with(whole(State::Provisioning), ended(failed, 1), Orders::default());
        assert_eq!(decide(&view, NOW), Next::Enter(State::Releasing));
        assert!(records_failure(&view, State::Releasing));
        let view = allocation::View { state: State::Releasing, provision_failed: true, ..view };
        assert_eq!(decide(&view, NOW), Next::Do(Effect::OrderReclaim { attempt: 2 }));
        let view = with(view, ended(failed, 1), ended(TaskState::Succeeded, 1));
        assert_eq!(decide(&view, NOW), Next::Do(Effect::OrderRelease { attempt: 3 }));
        let proved = allocation::View { release: ended(TaskState::Succeeded, 1), ..view };
        assert_eq!(decide(&proved, NOW), Next::Enter(State::Failed));
    }
}

#[test]
fn nobody_is_told_to_wipe_before_the_machine_is_back() {
    use allocation::{Effect, State, decide};
    let back = |reclaim: Orders| with(given_back(State::Releasing), ended(TaskState::Succeeded, 1), reclaim);
    assert_eq!(decide(&back(Orders::default()), NOW), Next::Do(Effect::OrderReclaim { attempt: 2 }));
    assert_eq!(wait_code(decide(&back(ended(TaskState::Delivered, 1)), NOW)), "machine_reclaiming");
    assert_eq!(decide(&back(ended(TaskState::Failed, 1)), NOW), Next::Do(Effect::OrderReclaim { attempt: 3 }));
    assert_eq!(wait_code(decide(&back(ended(TaskState::Failed, 5)), NOW)), "reclaim_needs_operator");
    let taken_back = back(ended(TaskState::Succeeded, 2));
    assert_eq!(decide(&taken_back, NOW), Next::Do(Effect::OrderRelease { attempt: 4 }));
    let silent = allocation::View { node_online: false, ..taken_back };
    assert_eq!(wait_code(decide(&silent, NOW)), "node_silent");
    // Given back before the machine was: its agent is still there, and is asked.
    assert_eq!(decide(&given_back(State::Releasing), NOW), Next::Do(Effect::OrderRelease { attempt: 1 }));
    let deploying = with(given_back(State::Releasing), ended(TaskState::Delivered, 1), Orders::default());
    assert_eq!(
        decide(&deploying, NOW),
        Next::Do(Effect::OrderReclaim { attempt: 2 }),
        "the tenant may have it already"
    );
}

#[test]
fn an_operator_need_not_wait_for_a_provider_and_the_machine_is_taken_back_all_the_same() {
    use allocation::{Effect, State, decide, ends_by_force};
    let forced = |reclaim: Orders| allocation::View {
        forced: true,
        ..with(given_back(State::Releasing), ended(TaskState::Succeeded, 1), reclaim)
    };
    assert_eq!(decide(&forced(Orders::default()), NOW), Next::Do(Effect::OrderReclaim { attempt: 2 }), "first of all");
    for state in [TaskState::Pending, TaskState::Delivered, TaskState::Failed, TaskState::Expired] {
        let view = forced(ended(state, 1));
        assert_eq!(decide(&view, NOW), Next::Enter(State::Released), "{state}");
        assert!(ends_by_force(&view, State::Released));
    }
    assert_eq!(decide(&forced(ended(TaskState::Succeeded, 1)), NOW), Next::Do(Effect::OrderRelease { attempt: 3 }));
}

#[test]
fn a_lease_ends_and_the_machine_is_taken_back() {
    use allocation::{Effect, Lease, State, decide};
    let lease = Some(Lease::new(NOW, NOW.plus_seconds(3600), true, 900));
    let view =
        allocation::View { lease, ..with(whole(State::Running), ended(TaskState::Succeeded, 1), Orders::default()) };
    assert_eq!(decide(&view, NOW.plus_seconds(3600)), Next::Do(Effect::EndLease));
    let over = allocation::View { desired: allocation::Desired::Released, ..view };
    assert_eq!(decide(&over, NOW.plus_seconds(3600)), Next::Enter(State::Releasing));
}

#[test]
fn what_an_agent_was_told_to_start_stays_its_matter() {
    use allocation::{Effect, State, decide};
    let view =
        allocation::View { provision: ended(TaskState::Expired, 1), last_attempt: 1, ..whole(State::Provisioning) };
    assert_eq!(decide(&view, NOW), Next::Do(Effect::OrderProvision { attempt: 2 }));
}

#[test]
fn a_node_whose_machine_is_a_tenants_is_silent_by_right() {
    use node::{State, View, decide};
    let view = View { state: State::Silent, last_seen: None, handed_over: true, conversion: None };
    assert!(matches!(decide(&view, NOW), Next::LookAgain { .. }));
    assert_eq!(wait_code(decide(&View { handed_over: false, ..view }, NOW)), "node_silent");
    let online = View { state: State::Online, ..view };
    assert_eq!(decide(&online, NOW), Next::Enter(State::Silent));
    let back = View { last_seen: Some(NOW), ..view };
    assert_eq!(decide(&back, NOW), Next::Enter(State::Online));
}

#[test]
fn a_node_changes_its_use_when_nobody_holds_it_and_all_of_it_is_proved_clean() {
    use node::{Conversion, Effect, State, View, decide};
    let to = NodeProfile::Baremetal;
    let online = |holders, unproved| View {
        state: State::Online,
        last_seen: Some(NOW.plus_seconds(-20)),
        handed_over: false,
        conversion: Some(Conversion { to, holders, unproved }),
    };
    assert_eq!(wait_code(decide(&online(2, 1), NOW)), "conversion_holders");
    let Next::Wait(wait) = decide(&online(0, 3), NOW) else { panic!("waits") };
    assert_eq!((wait.code.as_str(), wait.look_again_s), ("conversion_proofs", 10));
    assert!(wait.because.contains(to.as_str()) && wait.because.contains('3'), "{}", wait.because);
    assert_eq!(decide(&online(0, 0), NOW), Next::Do(Effect::Convert));
    let silent = View { state: State::Silent, last_seen: None, ..online(1, 0) };
    assert_eq!(wait_code(decide(&silent, NOW)), "node_silent");
}

fn give(orders: &mut Orders, now: Timestamp) {
    *orders = Orders { newest: Some(OrderView { state: TaskState::Pending, since: now }), given: orders.given + 1 };
}

fn answer(orders: &mut Orders, with: TaskState, now: Timestamp) {
    if let Some(order) = orders.newest.as_mut().filter(|order| !order.state.is_terminal()) {
        *order = OrderView { state: with, since: now };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    // Orders end as drawn, and well once the draws run out; the owner gives it back at some point, an operator may force it,
    // and the agent is heard of only while the host is the platform's.
    #[test]
    fn a_machine_is_never_wiped_by_a_stranger_and_never_sold_unproved_and_always_comes_to_rest(
        draws in prop::collection::vec(
            prop::sample::select(&[TaskState::Succeeded, TaskState::Failed, TaskState::Expired][..]), 0..20),
        back_at in 0usize..40, forced_at in prop::option::of(0usize..80),
    ) {
        use allocation::{Effect, State, decide};
        let (mut view, mut now, mut draws) = (whole(State::Reserved), NOW, draws.into_iter());
        for round in 0..300 {
            if round == back_at {
                view.desired = allocation::Desired::Released;
            }
            view.forced |= forced_at.is_some_and(|at| round >= at && view.desired == allocation::Desired::Released);
            let mut machine = view.machine.unwrap_or_default();
            view.node_online = !machine.is_handed_over();
            let at_rest = match decide(&view, now) {
                Next::Enter(to) => {
                    prop_assert!(allocation::EDGES.contains(&(view.state, to)));
                    prop_assert!(!to.is_terminal() || view.forced || view.release.ended(TaskState::Succeeded),
                        "its claims end only with the agent's proof, or at an operator's word");
                    view.provision_failed |= allocation::records_failure(&view, to);
                    view.state = to;
                    false
                }
                Next::Do(Effect::OrderDeploy { attempt }) => {
                    prop_assert!(attempt > view.last_attempt && view.state == State::Reserved);
                    prop_assert!(view.desired == allocation::Desired::Running && machine.deploy.given == 0);
                    give(&mut machine.deploy, now);
                    view.last_attempt = attempt;
                    false
                }
                Next::Do(Effect::OrderReclaim { attempt }) => {
                    prop_assert!(attempt > view.last_attempt && view.state == State::Releasing);
                    prop_assert!(machine.is_handed_over() && machine.reclaim.given < allocation::ORDERS_MAX);
                    give(&mut machine.reclaim, now);
                    view.last_attempt = attempt;
                    false
                }
                Next::Do(Effect::OrderRelease { attempt }) => {
                    prop_assert!(attempt > view.last_attempt && view.state == State::Releasing);
                    prop_assert!(!machine.is_handed_over(), "an agent of the tenant's time is told to wipe");
                    give(&mut view.release, now);
                    view.last_attempt = attempt;
                    false
                }
                Next::Do(other) => { prop_assert!(false, "{:?}", other); false }
                Next::Wait(wait) => {
                    now = now.plus_seconds(wait.look_again_s);
                    let ends = draws.next().unwrap_or(TaskState::Succeeded);
                    for orders in [&mut machine.deploy, &mut machine.reclaim, &mut view.release] {
                        answer(orders, ends, now);
                    }
                    prop_assert!(!wait.because.is_empty());
                    wait.code.ends_with("_needs_operator")
                }
                Next::LookAgain { after_s } => { now = now.plus_seconds(after_s); false }
                Next::Forget => true,
            };
            view.machine = Some(machine);
            if at_rest && round > back_at && forced_at.is_none_or(|at| round > at) {
                let stuck = machine.reclaim.given == allocation::ORDERS_MAX || view.release.given == allocation::ORDERS_MAX;
                prop_assert!(view.state.is_terminal() || (stuck && !view.forced), "{:?}", view);
                return Ok(());
            }
        }
        prop_assert!(false, "never came to rest: {:?}", view);
    }
}
