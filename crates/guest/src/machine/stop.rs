//! How a guest is stopped: ask, wait, end, forget, and prove that it is gone.
//!
//! ```text
//!   running ──ask──▶ wait ──time out──▶ destroy ──▶ off ──forget──▶ not known, no process ──▶ gone
//!      └── paused, asleep ─────────────────▲
//! ```
//!
//! The next step follows from what is seen now and from when the stop began; nothing else is remembered, so an agent
//! that was killed goes on where the last one was. "Gone" is said only when libvirt answered that it knows no such machine
//! and the process table, read just then, holds no process of it.

use super::{MachineFault, Machines, ProcessFault, State, processes_with_uuid};
use crate::identity::Uuid;
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What is left of a guest, seen just now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remains {
    /// What libvirt says; none when it answers and knows no such machine.
    pub machine: Option<State>,
    /// The processes of it.
    pub processes: Vec<u32>,
}

/// When what was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StopProgress {
    /// When it was first asked to stop.
    pub asked_at: Option<Timestamp>,
    /// When it was first ended by force.
    pub destroyed_at: Option<Timestamp>,
}

/// How long each step may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopBudget {
    /// From asking to ending by force.
    pub acpi_s: i64,
    /// From ending by force to giving up.
    pub destroy_s: i64,
}

impl Default for StopBudget {
    fn default() -> Self {
        Self { acpi_s: 60, destroy_s: 120 }
    }
}

impl StopBudget {
    /// The same, for a guest that was promised so many seconds to stop in order, if it was.
    #[must_use]
    pub fn within(self, grace_s: Option<i64>) -> Self {
        Self { acpi_s: grace_s.map_or(self.acpi_s, |grace_s| grace_s.max(0)), ..self }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopStep {
    /// Press the power button, and note when.
    AskAcpi,
    /// Look again, at the latest at this moment.
    Wait {
        /// When the time is over.
        until: Timestamp,
    },
    /// End it, and note when it was done first.
    Destroy,
    /// Forget the definition.
    Undefine,
    /// It is gone: this was seen.
    Gone,
    /// It will not go; a person has to look.
    Stuck(Stuck),
}

/// What would not go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the guest did not go within {seconds} s of being ended: libvirt says {machine:?}, processes {processes:?}")]
pub struct Stuck {
    /// What libvirt says.
    pub machine: Option<State>,
    /// The processes that are left.
    pub processes: Vec<u32>,
    /// How long it was waited for.
    pub seconds: i64,
}

/// The next step of stopping a guest.
pub fn next_stop_step(seen: &Remains, since: &StopProgress, now: Timestamp, budget: &StopBudget) -> StopStep {
    let wait_or_stuck = |since: Timestamp| {
        let until = since.plus_seconds(budget.destroy_s);
        let Remains { machine, processes } = seen.clone();
        if now < until {
            StopStep::Wait { until }
        } else {
            StopStep::Stuck(Stuck { machine, processes, seconds: budget.destroy_s })
        }
    };
    let past_destroy = since.destroyed_at.is_some_and(|at| now >= at.plus_seconds(budget.destroy_s));
    match (seen.machine, seen.processes.is_empty()) {
        (None, true) => StopStep::Gone,
        (Some(State::Off | State::Crashed), true) => StopStep::Undefine,
        // libvirt holds it for ended while QEMU is there: it may still be letting go of its memory.
        (None | Some(State::Off | State::Crashed), false) => match since.destroyed_at {
            Some(at) => wait_or_stuck(at),
            None => StopStep::Destroy,
        },
        (Some(_), _) if past_destroy => wait_or_stuck(since.destroyed_at.unwrap_or(now)),
        // One that is held or sleeps cannot hear the button.
        (Some(State::Paused | State::Suspended), _) => StopStep::Destroy,
        (Some(State::Running | State::Stopping), _) => match since.asked_at {
            None => StopStep::AskAcpi,
            Some(at) if now < at.plus_seconds(budget.acpi_s) => {
                StopStep::Wait { until: at.plus_seconds(budget.acpi_s) }
            }
            Some(_) => StopStep::Destroy,
        },
    }
}

/// Why it is not known what is left of a guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemainsFault {
    /// libvirt did not say.
    #[error(transparent)]
    Machine(#[from] MachineFault),
    /// The process table did not say.
    #[error(transparent)]
    Process(#[from] ProcessFault),
}

/// Looks at what is left of a guest. libvirt is asked first: what it starts after its answer, the process table shows.
pub fn remains(machines: &impl Machines, proc_root: &Path, uuid: Uuid) -> Result<Remains, RemainsFault> {
    let listed = machines.list()?.contains(&uuid);
    let state = machines.state(uuid)?.map(|seen| seen.state);
    // A machine that is listed and has no state went in between; the next look will say.
    let machine = if listed { state.or(Some(State::Stopping)) } else { state };
    Ok(Remains { machine, processes: processes_with_uuid(proc_root, uuid)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BUDGET: StopBudget = StopBudget { acpi_s: 60, destroy_s: 120 };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(0).plus_seconds(seconds)
    }

    fn step(
        machine: Option<State>,
        processes: &[u32],
        asked: Option<i64>,
        destroyed: Option<i64>,
        now: i64,
    ) -> StopStep {
        let since = StopProgress { asked_at: asked.map(at), destroyed_at: destroyed.map(at) };
        next_stop_step(&Remains { machine, processes: processes.to_vec() }, &since, at(now), &BUDGET)
    }

    #[test]
    fn a_guest_is_asked_then_ended_then_forgotten() {
        let running = Some(State::Running);
        assert_eq!(step(running, &[9], None, None, 100), StopStep::AskAcpi);
        assert_eq!(step(running, &[9], Some(100), None, 159), StopStep::Wait { until: at(160) });
        assert_eq!(step(running, &[9], Some(100), None, 160), StopStep::Destroy);
        assert_eq!(step(Some(State::Paused), &[9], None, None, 1), StopStep::Destroy);
        assert_eq!(step(Some(State::Off), &[], Some(100), Some(160), 161), StopStep::Undefine);
        assert_eq!(step(None, &[], None, None, 1), StopStep::Gone);
    }

    #[test]
    fn a_guest_has_as_long_as_it_was_promised() {
        let (seen, since) = (
            Remains { machine: Some(State::Running), processes: vec![9] },
            StopProgress { asked_at: Some(at(100)), destroyed_at: None },
        );
        let step = |grace_s, now| next_stop_step(&seen, &since, at(now), &BUDGET.within(grace_s));
        assert_eq!(step(None, 159), StopStep::Wait { until: at(160) });
        assert_eq!((step(Some(90), 189), step(Some(90), 190)), (StopStep::Wait { until: at(190) }, StopStep::Destroy));
        assert_eq!((step(Some(0), 100), step(Some(-5), 100)), (StopStep::Destroy, StopStep::Destroy));
        assert_eq!(BUDGET.within(Some(7)).destroy_s, BUDGET.destroy_s);
    }

    #[test]
    fn a_process_that_stays_is_never_gone() {
        assert_eq!(step(None, &[9], None, None, 1), StopStep::Destroy);
        assert_eq!(step(None, &[9], None, Some(1), 2), StopStep::Wait { until: at(121) });
        assert!(matches!(step(None, &[9], None, Some(1), 121), StopStep::Stuck(stuck) if stuck.processes == [9]));
        assert!(matches!(step(Some(State::Running), &[9], Some(1), Some(70), 200), StopStep::Stuck(_)));
    }

    fn any_state() -> impl Strategy<Value = Option<State>> {
        proptest::option::of(prop_oneof![
            Just(State::Running),
            Just(State::Paused),
            Just(State::Stopping),
            Just(State::Off),
            Just(State::Crashed),
            Just(State::Suspended)
        ])
    }

    proptest! {
        #[test]
        fn gone_needs_both_answers(machine in any_state(), processes in proptest::collection::vec(1u32..9, 0..2), asked in proptest::option::of(0i64..500), destroyed in proptest::option::of(0i64..500), now in 0i64..1000) {
            let gone = step(machine, &processes, asked, destroyed, now) == StopStep::Gone;
            prop_assert_eq!(gone, machine.is_none() && processes.is_empty());
        }

        #[test]
        fn the_ladder_ends(deaf: bool, kernel_holds: bool, mut machine in any_state()) {
            let (mut since, mut processes, mut now) = (StopProgress::default(), vec![9], 0);
            for _ in 0..20 {
                match next_stop_step(&Remains { machine, processes: processes.clone() }, &since, at(now), &BUDGET) {
                    StopStep::AskAcpi => {
                        since.asked_at.get_or_insert(at(now));
                        if !deaf { machine = Some(State::Off); processes.clear(); }
                    }
                    StopStep::Wait { until } => now = until.as_micros() / 1_000_000,
                    StopStep::Destroy => {
                        since.destroyed_at.get_or_insert(at(now));
                        machine = machine.map(|_| State::Off);
                        if !kernel_holds { processes.clear(); }
                    }
                    StopStep::Undefine => machine = None,
                    StopStep::Gone => { prop_assert!(processes.is_empty()); return Ok(()); }
                    StopStep::Stuck(_) => { prop_assert!(kernel_holds); return Ok(()); }
                }
            }
            prop_assert!(false, "it goes round in circles");
        }
    }
}
