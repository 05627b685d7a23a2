//! Workloads: waiting, being built, being told to go, coming again, and ending as a whole.

mod support;

use lifecycle::{
    Next,
    workload::{self, Effect, Members, Notice, State, View, decide},
};
use model::{
    Timestamp,
    allocation::{Desired, State as Member},
};
use proptest::prelude::*;
use support::wait_code;

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

#[derive(Debug, Clone)]
struct Gang {
    state: State,
    desired: Desired,
    members: Vec<(Member, Desired, &'static str)>,
    run_ends: Option<Timestamp>,
    notice: Option<Notice>,
}

impl Gang {
    fn new(state: State, member: Member, size: usize) -> Self {
        let members = vec![(member, Desired::Running, ""); size];
        Self { state, desired: Desired::Running, members, run_ends: None, notice: None }
    }
    fn view(&self) -> View {
        let mut members = Members::default();
        self.members.iter().for_each(|(state, desired, reason)| members.note(*state, *desired, reason));
        View { state: self.state, desired: self.desired, members, run_ends: self.run_ends, notice: self.notice }
    }
    fn next(&self) -> Next<State, Effect> {
        decide(&self.view(), NOW)
    }
    fn released(reason: &'static str) -> Next<State, Effect> {
        Next::Do(Effect::ReleaseMembers { reason })
    }
}

#[test]
fn a_queued_workload_rests_until_somebody_decides() {
    assert_eq!(Gang::new(State::Queued, Member::Requested, 3).next(), Next::Forget);
}

#[test]
fn what_is_given_back_while_it_waits_is_cancelled_with_all_its_members() {
    let mut gang = Gang::new(State::Queued, Member::Requested, 2);
    gang.desired = Desired::Released;
    assert_eq!(gang.next(), Gang::released("workload_released"));
    gang.members = vec![(Member::Requested, Desired::Released, "workload_released"); 2];
    assert_eq!(wait_code(gang.next()), "members_leaving");
    gang.members = vec![(Member::Released, Desired::Released, "workload_released"); 2];
    assert_eq!(gang.next(), Next::Enter(State::Cancelled));
}

#[test]
fn a_queued_gang_that_loses_a_member_is_cancelled_whole() {
    let mut gang = Gang::new(State::Queued, Member::Requested, 2);
    gang.members[0] = (Member::Released, Desired::Released, "lease_ended");
    assert_eq!(gang.next(), Gang::released("workload_incomplete"));
    gang.members[1] = (Member::Released, Desired::Released, "workload_incomplete");
    assert_eq!(gang.next(), Next::Enter(State::Cancelled));
}

#[test]
fn what_would_have_to_wait_and_must_not_is_refused() {
    assert_eq!(Gang::new(State::Queued, Member::Refused, 1).next(), Next::Enter(State::Refused));
}

#[test]
fn it_runs_when_all_its_members_run() {
    let mut gang = Gang::new(State::Admitted, Member::Running, 3);
    gang.members[2].0 = Member::Provisioning;
    assert_eq!(wait_code(gang.next()), "members_building");
    gang.members[2].0 = Member::Running;
    assert_eq!(gang.next(), Next::Enter(State::Running));
    gang.state = State::Running;
    assert_eq!(gang.next(), Next::Forget);
}

#[test]
fn one_member_that_could_not_be_built_takes_the_whole_gang_with_it() {
    let mut gang = Gang::new(State::Admitted, Member::Running, 2);
    gang.members[0].0 = Member::Releasing;
    assert_eq!(gang.next(), Next::Enter(State::Stopping), "before it is cleaned up");
    gang.state = State::Stopping;
    assert_eq!(gang.next(), Gang::released("workload_failed"));
    gang.members =
        vec![(Member::Failed, Desired::Running, ""), (Member::Released, Desired::Released, "workload_failed")];
    assert_eq!(gang.next(), Next::Enter(State::Failed));
}

#[test]
fn a_notice_runs_until_it_is_over_or_the_work_is_saved() {
    let mut gang = Gang::new(State::Preempting, Member::Running, 1);
    let told = |left_s, saved| Some(Notice { stop: NOW.plus_seconds(left_s), untold: 0, saved });
    for (left_s, look_again_s) in [(60, 30), (20, 20)] {
        gang.notice = told(left_s, 0);
        let Next::Wait(wait) = gang.next() else { panic!("waits") };
        assert_eq!((wait.code.as_str(), wait.look_again_s), ("preemption_notice", look_again_s));
    }
    for over in [told(0, 0), told(60, 1), None] {
        gang.notice = over;
        assert_eq!(gang.next(), Next::Enter(State::Stopping));
    }
}

#[test]
fn guests_are_told_while_there_is_time_and_all_of_them_must_have_saved() {
    let mut gang = Gang::new(State::Preempting, Member::Running, 2);
    let told = |left_s, untold, saved| Some(Notice { stop: NOW.plus_seconds(left_s), untold, saved });
    gang.notice = told(60, 1, 0);
    assert_eq!(gang.next(), Next::Do(Effect::TellGuests));
    gang.notice = told(0, 1, 0);
    assert_eq!(gang.next(), Next::Enter(State::Stopping), "too late to tell anybody");
    gang.notice = told(60, 0, 1);
    assert_eq!(wait_code(gang.next()), "preemption_notice", "the other is not ready");
    // One that is still being built has nobody to tell, and its notice runs.
    gang.members[1].0 = Member::Provisioning;
    assert_eq!(wait_code(gang.next()), "preemption_notice");
    gang.members[1] = (Member::Released, Desired::Released, "");
    assert_eq!(gang.next(), Next::Enter(State::Stopping), "all that are left have saved");
}

#[test]
fn what_was_told_to_go_comes_again_and_what_was_given_back_does_not() {
    let mut gang = Gang::new(State::Stopping, Member::Running, 2);
    gang.notice = Some(Notice { stop: NOW, untold: 0, saved: 0 });
    assert_eq!(gang.next(), Gang::released("preempted"));
    gang.members = vec![(Member::Released, Desired::Released, "preempted"); 2];
    assert_eq!(gang.next(), Next::Enter(State::Queued));
    assert_eq!(
        decide(&View { desired: Desired::Released, ..gang.view() }, NOW),
        Next::Enter(State::Finished),
        "its owner gave it back meanwhile"
    );
    gang.members[0].2 = "";
    assert_eq!(gang.next(), Next::Enter(State::Finished), "its owner gave one back before");
}

#[test]
fn a_gang_that_loses_a_member_to_an_evacuated_node_comes_again_whole() {
    let mut gang = Gang::new(State::Running, Member::Running, 2);
    gang.members[0] = (Member::Releasing, Desired::Released, "evacuated");
    assert_eq!(gang.next(), Next::Enter(State::Stopping));
    gang.state = State::Stopping;
    assert_eq!(gang.next(), Gang::released("evacuated"));
    gang.members = vec![(Member::Released, Desired::Released, "evacuated"); 2];
    assert_eq!(gang.next(), Next::Enter(State::Queued));
}

#[test]
fn members_may_leave_one_by_one_and_the_last_ends_it() {
    let mut gang = Gang::new(State::Running, Member::Running, 2);
    gang.members[0] = (Member::Released, Desired::Released, "lease_ended");
    assert_eq!(gang.next(), Next::Forget);
    gang.members[1] = (Member::Releasing, Desired::Released, "");
    assert_eq!(gang.next(), Next::Enter(State::Stopping));
}

#[test]
fn a_run_time_that_is_over_ends_it_like_a_lease() {
    for state in [State::Admitted, State::Running, State::Preempting, State::Stopping] {
        let mut gang = Gang::new(state, Member::Running, 1);
        gang.run_ends = Some(NOW);
        assert_eq!(gang.next(), Next::Do(Effect::EndRun), "{state}");
    }
    let mut gang = Gang::new(State::Running, Member::Running, 1);
    gang.run_ends = Some(NOW.plus_seconds(90));
    assert_eq!(gang.next(), Next::LookAgain { after_s: 90 });
    gang.state = State::Queued;
    gang.run_ends = Some(NOW);
    assert_eq!(gang.next(), Next::Forget, "time in the queue does not count");
}

/// What may happen to a gang from outside between two looks.
#[derive(Debug, Clone, Copy)]
enum Happens {
    Admit,
    Preempt,
    MemberMoves(usize, bool),
    MemberGivenBack(usize),
    GivenBack,
    Evacuate(usize),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => Just(Happens::Admit),
        2 => Just(Happens::Preempt),
        8 => (0usize..4, prop::bool::weighted(0.97)).prop_map(|(at, well)| Happens::MemberMoves(at, well)),
        1 => (0usize..4).prop_map(Happens::MemberGivenBack),
        1 => Just(Happens::GivenBack),
        1 => (0usize..4).prop_map(Happens::Evacuate),
    ]
}

fn member_moves((state, desired, _): &mut (Member, Desired, &'static str), well: bool) {
    *state = match (*state, *desired) {
        (Member::Requested, Desired::Released) => Member::Released,
        (Member::Reserved | Member::Provisioning | Member::Running, Desired::Released) => Member::Releasing,
        (Member::Reserved, _) => Member::Provisioning,
        (Member::Provisioning, _) if well => Member::Running,
        (Member::Provisioning, _) => Member::Releasing,
        (Member::Releasing, Desired::Running) => Member::Failed,
        (Member::Releasing, Desired::Released) => Member::Released,
        (state, _) => state,
    };
}

fn ask_back(member: &mut (Member, Desired, &'static str), reason: &'static str) {
    if !member.0.is_terminal() && member.1 == Desired::Running {
        (member.1, member.2) = (Desired::Released, reason);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    // Anything happens for a while; then the owner gives it back and members only move on.
    #[test]
    fn a_gang_moves_on_its_graph_never_waits_with_claims_and_always_comes_to_rest(
        size in 1usize..4, script in prop::collection::vec(happens(), 0..60),
    ) {
        let mut gang = Gang::new(State::Queued, Member::Requested, size);
        let mut now = NOW;
        let mut script = script.into_iter();
        for round in 0..600 {
            match script.next() {
                Some(Happens::Admit) if gang.state == State::Queued && gang.desired == Desired::Running
                    && gang.members.iter().all(|one| *one == (Member::Requested, Desired::Running, "")) => {
                    gang.state = State::Admitted;
                    gang.members.iter_mut().for_each(|member| member.0 = Member::Reserved);
                }
                Some(Happens::Preempt) if matches!(gang.state, State::Admitted | State::Running) => {
                    gang.state = State::Preempting;
                    gang.notice = Some(Notice { stop: now.plus_seconds(30), untold: round % 3, saved: round % 2 });
                }
                Some(Happens::MemberMoves(at, well)) => {
                    member_moves(&mut gang.members[at % size], well);
                }
                Some(Happens::MemberGivenBack(at)) => ask_back(&mut gang.members[at % size], ""),
                Some(Happens::GivenBack) => gang.desired = Desired::Released,
                Some(Happens::Evacuate(at)) if gang.state.holds_quota() => {
                    ask_back(&mut gang.members[at % size], "evacuated");
                }
                Some(_) => (),
                None => {
                    gang.desired = Desired::Released;
                    gang.members.iter_mut().for_each(|member| member_moves(member, true));
                }
            }
            match decide(&gang.view(), now) {
                Next::Enter(to) => {
                    prop_assert!(workload::EDGES.contains(&(gang.state, to)), "{} to {to}", gang.state);
                    let living = gang.members.iter().any(|member| !member.0.is_terminal());
                    prop_assert!(to.holds_quota() || !living, "ends or waits with {:?}", gang.members);
                    if to == State::Queued {
                        prop_assert!(gang.desired == Desired::Running);
                        prop_assert!(gang.members.iter().all(|one| workload::returns(one.2)), "{:?}", gang.members);
                        gang.members = vec![(Member::Requested, Desired::Running, ""); size];
                    }
                    if !matches!(to, State::Stopping) {
                        gang.notice = None;
                    }
                    gang.state = to;
                }
                Next::Do(Effect::ReleaseMembers { reason }) => {
                    gang.members.iter_mut().for_each(|member| ask_back(member, reason));
                }
                Next::Do(Effect::TellGuests) => {
                    prop_assert!(gang.state == State::Preempting);
                    let Some(notice) = &mut gang.notice else { return Err(TestCaseError::fail("nothing to tell")) };
                    prop_assert!(now < notice.stop && notice.untold > 0, "told too late or twice: {notice:?}");
                    notice.untold = 0;
                }
                Next::Do(Effect::EndRun) => prop_assert!(false, "it has no run time"),
                Next::Wait(wait) => {
                    prop_assert!(!wait.because.is_empty() && wait.look_again_s >= 1);
                    now = now.plus_seconds(wait.look_again_s);
                }
                Next::LookAgain { after_s } => now = now.plus_seconds(after_s),
                Next::Forget if gang.state.is_terminal() => {
                    let failed = gang.members.iter().any(|member| member.0 == Member::Failed);
                    prop_assert!(!failed || gang.state == State::Failed, "{:?}", gang);
                    return Ok(());
                }
                Next::Forget => (),
            }
        }
        prop_assert!(false, "never came to rest: {:?}", gang);
    }
}
