//! What to do next about one order to a provider, decided from how the machine was seen and what the platform knows. Pure:
//! the caller looks, asks here, does what it is told, and looks again. What is remembered between two looks is a phase; it can
//! be lost, because each phase finds out by itself when it is past.
//!
//! ```text
//! deploy    Free ──▶ Install ──▶ done: the tenant has it
//! reclaim   Free ──▶ Install ──▶ Enroll ──▶ Look ──▶ done: the platform has it
//!             └── the platform's host is on it already ──▲
//! ```

use std::collections::BTreeSet;

use machines::{Budgets, Elapsed, Erase, Machine, MachineStatus, OrderMark, Step, Wanted, next_step};
use model::{runtime::WorkStep, task::TaskFailure, text_enum};

text_enum! {
    /// Which part of an order is under way.
    Phase {
        /// Whoever has the machine gives it back, and its disks are erased.
        Free = "free",
        /// It is taken and installed.
        Install = "install",
        /// The platform's own host on it enrolls and calls.
        Enroll = "enroll",
        /// That host is looked at, and compared with what was approved.
        Look = "look",
    }
}

impl Phase {
    /// The same for whoever follows the order.
    pub(super) const fn step(self) -> WorkStep {
        match self {
            Self::Free => WorkStep::MachineFree,
            Self::Install => WorkStep::MachineInstall,
            Self::Enroll => WorkStep::MachineEnroll,
            Self::Look => WorkStep::MachineLook,
        }
    }
}

/// How long the platform's own part may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostBudgets {
    /// From an installed host to one that is enrolled.
    pub enroll_s: i64,
    /// From an enrolled host to one that called, was looked at and compared.
    pub look_s: i64,
}

impl Default for HostBudgets {
    fn default() -> Self {
        Self { enroll_s: 30 * 60, look_s: 30 * 60 }
    }
}

/// What came of looking at the host that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Looked {
    /// Nobody was told to look yet.
    NotOrdered,
    /// It is being looked at.
    Waiting,
    /// It could not be looked at.
    Failed(String),
    /// It is not what was approved, in one sentence each.
    Drifted(Vec<String>),
    /// It is what was approved.
    AsApproved,
}

/// What is known besides the machine.
#[derive(Debug, Clone)]
pub(super) struct Facts<'a> {
    /// The machine is handed over; otherwise it is taken back.
    pub(super) deploy: bool,
    /// This order's mark.
    pub(super) mark: &'a OrderMark,
    /// Marks of the platform's own earlier orders for this node.
    pub(super) ours: &'a BTreeSet<String>,
    /// The mark under which the platform's own host was installed and enrolled, since the machine was last a tenant's.
    pub(super) installed: Option<&'a str>,
    /// Which part is under way.
    pub(super) phase: Phase,
    /// Since when.
    pub(super) in_phase_s: i64,
    /// For how long the machine is as it is.
    pub(super) elapsed: Elapsed,
    /// A host was enrolled with a token of this order.
    pub(super) enrolled: bool,
    /// Its agent is heard of.
    pub(super) online: bool,
    /// What came of looking at it.
    pub(super) looked: &'a Looked,
    /// How disks are erased.
    pub(super) erase: Erase,
    /// How long the provider may take.
    pub(super) budgets: &'a Budgets,
    /// How long the host may take.
    pub(super) host: HostBudgets,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Do {
    /// Go on to another phase, and ask again.
    Enter(Phase),
    /// Take the machine.
    Allocate,
    /// Install it.
    Deploy,
    /// Have it given back by whoever holds it; by anybody when there is no mark.
    Release(Option<OrderMark>),
    /// Take it out of what can be had.
    MarkBroken(String),
    /// Tell the host to look at itself.
    OrderLooks,
    /// Look again later.
    Wait(String),
    /// It is done.
    Succeed,
    /// It will not be done by this order.
    Fail(TaskFailure, String),
}

/// Says what to do next about an order.
pub(super) fn decide(seen: &Machine, facts: &Facts<'_>) -> Do {
    match facts.phase {
        Phase::Free => free(seen, facts),
        Phase::Install => install(seen, facts),
        Phase::Enroll => enroll(seen, facts),
        Phase::Look => look(seen, facts),
    }
}

fn free(seen: &Machine, facts: &Facts<'_>) -> Do {
    if seen.status.is_taken() && seen.carries(facts.mark) {
        return Do::Enter(Phase::Install);
    }
    if !facts.deploy && is_ours_again(seen, facts) {
        return Do::Enter(Phase::Look);
    }
    // A machine without a mark was installed by a person for the platform: an operator said that it is this node.
    let held_by = match &seen.mark {
        Some(mark) if facts.ours.contains(mark) => mark.parse().ok(),
        Some(_) => Some(facts.mark.clone()),
        None => None,
    };
    let wanted = Wanted::Free { held_by: held_by.clone(), erase: facts.erase };
    match next_step(&wanted, seen, facts.elapsed, facts.budgets) {
        Step::Rest => Do::Enter(Phase::Install),
        Step::Release { .. } => Do::Release(held_by),
        Step::MarkBroken(trouble) => Do::MarkBroken(trouble.to_string()),
        step => otherwise(step),
    }
}

fn install(seen: &Machine, facts: &Facts<'_>) -> Do {
    // A late call of an earlier order may have taken it in between.
    let unmarked = seen.mark.is_none() && seen.status == MachineStatus::Allocated;
    if seen.status.is_taken() && !seen.carries(facts.mark) && !unmarked {
        return Do::Enter(Phase::Free);
    }
    let wanted = Wanted::Deployed { mark: facts.mark.clone() };
    match next_step(&wanted, seen, facts.elapsed, facts.budgets) {
        Step::Rest if facts.deploy => Do::Succeed,
        Step::Rest => Do::Enter(Phase::Enroll),
        Step::Allocate => Do::Allocate,
        Step::Deploy => Do::Deploy,
        // One that a tenant could not get is taken back next; what comes of that decides whether it is broken.
        Step::MarkBroken(trouble) if facts.deploy => Do::Fail(TaskFailure::MachineFailed, trouble.to_string()),
        Step::MarkBroken(trouble) => Do::MarkBroken(trouble.to_string()),
        step => otherwise(step),
    }
}

fn enroll(seen: &Machine, facts: &Facts<'_>) -> Do {
    if seen.status != MachineStatus::Deployed || !seen.carries(facts.mark) {
        return Do::Enter(Phase::Install);
    }
    if facts.enrolled {
        return Do::Enter(Phase::Look);
    }
    if facts.in_phase_s >= facts.host.enroll_s {
        return too_long("the installed host to enroll", facts.host.enroll_s);
    }
    Do::Wait("the installed host has not enrolled yet".to_owned())
}

fn look(seen: &Machine, facts: &Facts<'_>) -> Do {
    if !is_ours_again(seen, facts) {
        return Do::Enter(Phase::Free);
    }
    match facts.looked {
        Looked::AsApproved if facts.online => return Do::Succeed,
        Looked::Drifted(what) => {
            return Do::Fail(
                TaskFailure::MachineDrifted,
                format!("the machine that came back was expected to be as approved, but {}", what.join("; ")),
            );
        }
        Looked::Failed(why) => {
            let detail = format!("the host that came back was expected to say what it has, but {why}");
            return Do::Fail(TaskFailure::MachineFailed, detail);
        }
        _ => {}
    }
    if facts.in_phase_s >= facts.host.look_s {
        return too_long("the enrolled host to call and to be looked at", facts.host.look_s);
    }
    match facts.looked {
        _ if !facts.online => Do::Wait("the enrolled host has not called yet".to_owned()),
        Looked::NotOrdered => Do::OrderLooks,
        _ => Do::Wait("the host that came back is looked at".to_owned()),
    }
}

/// Whether the platform's own host is on the machine, installed since a tenant had it.
fn is_ours_again(seen: &Machine, facts: &Facts<'_>) -> bool {
    seen.status == MachineStatus::Deployed && seen.mark.is_some() && seen.mark.as_deref() == facts.installed
}

fn otherwise(step: Step) -> Do {
    match step {
        Step::Wait { because, until, waited_s, at_most_s } => {
            Do::Wait(format!("{because}; waits until {until}, {waited_s} of {at_most_s} s"))
        }
        Step::GiveUp(trouble) | Step::MarkBroken(trouble) => Do::Fail(TaskFailure::MachineFailed, trouble.to_string()),
        other => Do::Fail(TaskFailure::MachineFailed, format!("{other:?} makes no sense here")),
    }
}

fn too_long(what: &str, budget_s: i64) -> Do {
    Do::Fail(
        TaskFailure::MachineFailed,
        format!("{what} was expected within {budget_s} s, but it did not come to that"),
    )
}

#[cfg(test)]
#[path = "phase_tests.rs"]
mod tests;
