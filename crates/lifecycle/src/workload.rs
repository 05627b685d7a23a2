//! A workload: what waits in a queue and is admitted as a whole, from its wish to its end.
//!
//! Each member is an allocation that lives its own life; the workload keeps them together. When one cannot be built, all go.
//! Being told to go is a road of its own: its guests are told, and its notice runs until all of them say that the work is saved,
//! or until it is over, whether or not anybody listened; then all members are released like any other, and once the last is gone the workload stands in the queue again, where it stood before. Giving
//! back wins over everything: what its owner gave back does not come again.
//!
//! ```text
//! queued ─▶ admitted ─▶ running ─▶ preempting ─ notice over, or work saved ─▶ stopping ─▶ queued (launched again)
//!    │          └───────────┴──── given back, not built, run time over ──────────▶ │ ───▶ finished, failed
//!    └─ given back ─▶ cancelled
//! ```
//!
//! A queued workload rests: whoever decides about admission looks at all queues together, not at one thing at a time.

use crate::{diagram, order::whole_seconds};
pub use model::workload::State;
use model::{
    Timestamp,
    allocation::{self, Desired},
    lifecycle::{Next, Wait},
};

/// How the members stand, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Members {
    /// Not ended.
    pub living: u64,
    /// Not ended, and wanted.
    pub wanted: u64,
    /// Wanted, and not up yet.
    pub building: u64,
    /// Could not be built, gone or going.
    pub failed: u64,
    /// No place was found.
    pub refused: u64,
    /// Gone or going, to be launched again.
    pub returning: u64,
    /// Gone or going for good.
    pub given_back: u64,
}

impl Members {
    /// Counts one more member; `reason` is the word with which it was asked back.
    pub fn note(&mut self, state: allocation::State, desired: Desired, reason: &str) {
        use allocation::State as Member;
        self.living += u64::from(!state.is_terminal());
        match (state, desired) {
            (Member::Failed, _) | (Member::Releasing, Desired::Running) => self.failed += 1,
            (Member::Refused, _) => self.refused += 1,
            (Member::Released, _) | (_, Desired::Released) if returns(reason) => self.returning += 1,
            (Member::Released, _) | (_, Desired::Released) => self.given_back += 1,
            (Member::Requested | Member::Reserved | Member::Provisioning, Desired::Running) => {
                self.wanted += 1;
                self.building += 1;
            }
            (Member::Running, Desired::Running) => self.wanted += 1,
        }
    }
}

/// What was told to a workload that has to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// When its members are stopped at the latest.
    pub stop: Timestamp,
    /// Wanted members whose guests run, can be told, and were not yet.
    pub untold: u64,
    /// Wanted members whose guests said that the work is saved.
    pub saved: u64,
}

/// What the decider sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Where the workflow stands.
    pub state: State,
    /// What the owner wants.
    pub desired: Desired,
    /// How its members stand.
    pub members: Members,
    /// When its run time is over; none for as long as its owner likes, and while it waits.
    pub run_ends: Option<Timestamp>,
    /// It was told to go, and is not gone yet.
    pub notice: Option<Notice>,
}

/// What a workload may ask of the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Its run time is over: give it back.
    EndRun,
    /// Tell the guests that have not been told yet when they will be stopped.
    TellGuests,
    /// Ask back every member that is wanted.
    ReleaseMembers {
        /// Why, as a word.
        reason: &'static str,
    },
}

/// The published graph. `queued → admitted` and the moves to `preempting` belong to whoever decides about admission; all
/// others are the driver's.
pub const EDGES: &[(State, State)] = &[
    (State::Queued, State::Admitted),
    (State::Queued, State::Cancelled),
    (State::Queued, State::Refused),
    (State::Admitted, State::Running),
    (State::Admitted, State::Preempting),
    (State::Admitted, State::Stopping),
    (State::Running, State::Preempting),
    (State::Running, State::Stopping),
    (State::Preempting, State::Stopping),
    (State::Stopping, State::Queued),
    (State::Stopping, State::Finished),
    (State::Stopping, State::Failed),
];

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Queued, EDGES)
}

/// Why members of a workload that was told to go are asked back.
pub const PREEMPTED: &str = "preempted";
/// Why members are asked back whose gang lost one to an evacuated node; the word that such a one has itself.
pub const EVACUATED: &str = "evacuated";

/// Whether what is asked back with this word is launched again.
pub fn returns(reason: &str) -> bool {
    matches!(reason, PREEMPTED | EVACUATED)
}

// Members have budgets of their own; these are for the alert and for a lost poke.
const BUILDING_BUDGET_S: i64 = 3 * 3600;
const LEAVING_BUDGET_S: i64 = 31 * 3600;
const LOOK_S: i64 = 30;
const NOTICE_SLACK_S: i64 = 60;

/// What should happen next.
pub fn decide(view: &View, now: Timestamp) -> Next<State, Effect> {
    let run_ends = view.run_ends.filter(|_| view.desired == Desired::Running && view.state.holds_quota());
    match view.state {
        State::Finished | State::Cancelled | State::Refused | State::Failed => Next::Forget,
        _ if run_ends.is_some_and(|ends| now >= ends) => Next::Do(Effect::EndRun),
        State::Queued => queued(view),
        State::Admitted | State::Running | State::Preempting if has_to_stop(view) => Next::Enter(State::Stopping),
        State::Admitted if view.members.building == 0 => Next::Enter(State::Running),
        State::Admitted => {
            let because = "Its members are being built.";
            Next::Wait(Wait::new("members_building", because, BUILDING_BUDGET_S, LOOK_S))
        }
        State::Running => match run_ends {
            Some(ends) => Next::LookAgain { after_s: whole_seconds(ends.micros_since(now)).max(1) },
            None => Next::Forget,
        },
        State::Preempting => preempting(view, now),
        State::Stopping => stopping(view),
    }
}

/// The word with which the members of a workload that ends or stops are asked back.
pub fn release_reason(view: &View) -> &'static str {
    if view.desired == Desired::Released {
        "workload_released"
    } else if view.members.failed > 0 || view.members.refused > 0 {
        "workload_failed"
    } else if view.members.given_back > 0 {
        "workload_incomplete"
    } else if view.notice.is_some() {
        PREEMPTED
    } else if view.members.returning > 0 {
        EVACUATED
    } else {
        "workload_released"
    }
}

fn has_to_stop(view: &View) -> bool {
    let members = &view.members;
    view.desired == Desired::Released || members.failed > 0 || members.returning > 0 || members.wanted == 0
}

fn queued(view: &View) -> Next<State, Effect> {
    let members = &view.members;
    let lost = members.failed > 0 || members.refused > 0 || members.returning > 0 || members.given_back > 0;
    if view.desired == Desired::Running && members.wanted > 0 && !lost {
        return Next::Forget;
    }
    let ended = if members.refused > 0 { State::Refused } else { State::Cancelled };
    leave(view, ended)
}

/// Whether every guest said that its work is saved. One that was not told, or is still being built, has said nothing.
pub fn is_saved(view: &View) -> bool {
    view.members.wanted > 0 && view.notice.is_some_and(|notice| notice.saved >= view.members.wanted)
}

fn preempting(view: &View, now: Timestamp) -> Next<State, Effect> {
    match view.notice.filter(|notice| now < notice.stop && !is_saved(view)) {
        None => Next::Enter(State::Stopping),
        Some(notice) if notice.untold > 0 => Next::Do(Effect::TellGuests),
        Some(notice) => {
            let left_s = whole_seconds(notice.stop.micros_since(now)).max(1);
            let because = "It was told to go, and has until the end of its notice to save its work.";
            // A node that is heard again in between has a guest to tell; nobody else says so.
            let look_s = left_s.min(LOOK_S);
            Next::Wait(Wait::new("preemption_notice", because, left_s.saturating_add(NOTICE_SLACK_S), look_s))
        }
    }
}

fn stopping(view: &View) -> Next<State, Effect> {
    let members = &view.members;
    let comes_again = view.desired == Desired::Running && members.given_back == 0 && members.returning > 0;
    let ended = if members.failed > 0 {
        State::Failed
    } else if comes_again {
        State::Queued
    } else {
        State::Finished
    };
    leave(view, ended)
}

/// Releases what is left, waits until it is gone, and then ends.
fn leave(view: &View, ended: State) -> Next<State, Effect> {
    if view.members.wanted > 0 {
        Next::Do(Effect::ReleaseMembers { reason: release_reason(view) })
    } else if view.members.living > 0 {
        let because = "Its members are being released.";
        Next::Wait(Wait::new("members_leaving", because, LEAVING_BUDGET_S, LOOK_S))
    } else {
        Next::Enter(ended)
    }
}
