//! What to do next with one machine, from what is wanted of it and how it was last seen. Pure: the caller looks, asks here,
//! does what it is told, and looks again. Every wait has an end, and there is one end to all of them together, so that
//! whatever the provider does, the walk comes to rest: the machine is as wanted, or the caller is told why it will not be.
//!
//! ```text
//!  wanted: deployed     Ready ─Allocate▶ Allocated ─Deploy▶ Deploying ─wait▶ Deployed ─▶ Rest
//!                                                     │ failed, too long
//!                                                     └─MarkBroken▶ Broken ─▶ GiveUp
//!  wanted: free         Deployed ─Release▶ Disk erasing, Releasing ─wait▶ Ready ─▶ Rest
//!                                                     │ failed, too long
//!                                                     └─MarkBroken▶ Broken ─▶ GiveUp
//! ```
//!
//! A machine that failed to deploy is marked as broken and not released: released, it would be free again, be chosen again
//! and fail again.

use crate::{
    machine::{Machine, MachineStatus, OrderMark},
    provider::Erase,
};

/// What is wanted of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Deployed for this order.
    Deployed {
        /// The order's mark.
        mark: OrderMark,
    },
    /// Free for the next.
    Free {
        /// The order that held it; `None` when it does not matter who did.
        held_by: Option<OrderMark>,
        /// How its disks are erased.
        erase: Erase,
    },
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// From a call until the machine shows it.
    pub act_s: i64,
    /// An installation.
    pub deploy_s: i64,
    /// Giving back, without erasing.
    pub release_s: i64,
    /// Erasing. Overwriting the disks of a large machine takes long.
    pub erase_s: i64,
    /// Looking into a machine, or testing it.
    pub commission_s: i64,
    /// All of it together, whatever happens in between.
    pub total_s: i64,
}

impl Default for Budgets {
    /// Somewhat above what MAAS allows itself before it calls a step failed, so that its own verdict comes first.
    fn default() -> Self {
        let (minute, hour) = (60, 3_600);
        Self {
            act_s: 5 * minute,
            deploy_s: 45 * minute,
            release_s: 15 * minute,
            erase_s: 24 * hour,
            commission_s: hour,
            total_s: 30 * hour,
        }
    }
}

/// How long it has lasted so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Elapsed {
    /// Since the machine was first seen in its present state with this wish.
    pub in_status_s: i64,
    /// Since this was wanted.
    pub since_wanted_s: i64,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing: the machine is as wanted.
    Rest,
    /// Look again later.
    Wait {
        /// What is going on.
        because: &'static str,
        /// What ends it.
        until: &'static str,
        /// How long it has lasted.
        waited_s: i64,
        /// How long it may last in all.
        at_most_s: i64,
    },
    /// Take the machine, and mark it.
    Allocate,
    /// Install it.
    Deploy,
    /// Give it back.
    Release {
        /// How its disks are erased.
        erase: Erase,
    },
    /// Take it out of what can be had.
    MarkBroken(Trouble),
    /// Nothing that can be done from here would help; a person must look.
    GiveUp(Trouble),
}

/// Why a machine will not be as wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It lasted too long.
    #[error("{what} was expected to take at most {budget_s} s, but lasts {took_s} s already")]
    TooLong {
        /// What lasted.
        what: &'static str,
        /// How long it has lasted.
        took_s: i64,
        /// How long it may last.
        budget_s: i64,
    },
    /// The provider says that it failed.
    #[error("the machine was expected to become {wanted}, but it is {status}{}", said(message))]
    Failed {
        /// What it should become.
        wanted: &'static str,
        /// What it is.
        status: String,
        /// What the provider says about it; may be empty.
        message: String,
    },
    /// It is somebody else's.
    #[error("the machine was expected to be this order's, but it is {status} with {}", held(mark))]
    HeldByOther {
        /// What it is.
        status: String,
        /// The mark it carries.
        mark: Option<String>,
    },
    /// It is locked by a person.
    #[error("the machine was expected to be free to use, but a person has locked it")]
    Locked,
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn held(mark: &Option<String>) -> String {
    mark.as_ref().map_or_else(|| "no mark".to_owned(), |mark| format!("the mark {mark}"))
}

/// Says what to do next with a machine.
pub fn next_step(wanted: &Wanted, seen: &Machine, elapsed: Elapsed, budgets: &Budgets) -> Step {
    let step = match wanted {
        Wanted::Deployed { mark } => towards_deployed(mark, seen, elapsed, budgets),
        Wanted::Free { held_by, erase } => towards_free(held_by.as_ref(), *erase, seen, elapsed, budgets),
    };
    match step {
        Step::Rest | Step::GiveUp(_) => step,
        _ if elapsed.since_wanted_s >= budgets.total_s => {
            Step::GiveUp(too_long("the whole walk", elapsed.since_wanted_s, budgets.total_s))
        }
        // A lock does not hinder waiting; whatever is under way ends by itself.
        Step::Allocate | Step::Deploy | Step::Release { .. } if seen.locked => Step::GiveUp(Trouble::Locked),
        Step::Allocate | Step::Deploy | Step::Release { .. } if elapsed.in_status_s >= budgets.act_s => {
            Step::GiveUp(too_long("a call to the provider", elapsed.in_status_s, budgets.act_s))
        }
        step => step,
    }
}

fn towards_deployed(mark: &OrderMark, seen: &Machine, elapsed: Elapsed, budgets: &Budgets) -> Step {
    const WANTED: &str = "Deployed";
    let mine = seen.carries(mark);
    match &seen.status {
        MachineStatus::Ready => Step::Allocate,
        // Taken without a mark: by this order, perhaps, in a call that broke off. Allocating again finds out.
        MachineStatus::Allocated if seen.mark.is_none() => Step::Allocate,
        MachineStatus::Allocated if mine => Step::Deploy,
        MachineStatus::Deploying if mine => {
            let wait = Waiting { because: "the machine is being installed", until: "it is Deployed or has failed" };
            wait.or_else(elapsed, budgets.deploy_s, |took, budget| {
                Step::MarkBroken(too_long("the installation", took, budget))
            })
        }
        MachineStatus::Deployed if mine => Step::Rest,
        MachineStatus::FailedDeployment if mine => Step::MarkBroken(failed(WANTED, seen)),
        status if status.is_taken() => Step::GiveUp(held_by_other(seen)),
        MachineStatus::DiskErasing | MachineStatus::Releasing => {
            let wait = Waiting { because: "the machine is on its way back", until: "it is Ready or has failed" };
            wait.or_else(elapsed, going_back_s(&seen.status, budgets), |took, budget| {
                Step::GiveUp(too_long("giving the machine back", took, budget))
            })
        }
        MachineStatus::Commissioning | MachineStatus::Testing => looked_into(elapsed, budgets),
        _ => Step::GiveUp(failed(WANTED, seen)),
    }
}

fn towards_free(
    held_by: Option<&OrderMark>,
    erase: Erase,
    seen: &Machine,
    elapsed: Elapsed,
    budgets: &Budgets,
) -> Step {
    const WANTED: &str = "Ready";
    let may = held_by.is_none_or(|mark| seen.carries(mark));
    match &seen.status {
        MachineStatus::Ready => Step::Rest,
        MachineStatus::Rescue => Step::GiveUp(failed(WANTED, seen)),
        status if status.is_taken() && may => Step::Release { erase },
        status if status.is_taken() => Step::GiveUp(held_by_other(seen)),
        MachineStatus::DiskErasing | MachineStatus::Releasing => {
            let wait = Waiting { because: "the machine is on its way back", until: "it is Ready or has failed" };
            wait.or_else(elapsed, going_back_s(&seen.status, budgets), |took, budget| {
                Step::MarkBroken(too_long("giving the machine back", took, budget))
            })
        }
        // Its disks may hold anything: nobody may get it before a person has looked.
        MachineStatus::FailedReleasing | MachineStatus::FailedDiskErasing => Step::MarkBroken(failed(WANTED, seen)),
        MachineStatus::Commissioning | MachineStatus::Testing => looked_into(elapsed, budgets),
        _ => Step::GiveUp(failed(WANTED, seen)),
    }
}

fn looked_into(elapsed: Elapsed, budgets: &Budgets) -> Step {
    let wait = Waiting { because: "the provider looks into the machine", until: "it is Ready or has failed" };
    wait.or_else(elapsed, budgets.commission_s, |took, budget| {
        Step::GiveUp(too_long("looking into the machine", took, budget))
    })
}

fn going_back_s(status: &MachineStatus, budgets: &Budgets) -> i64 {
    if *status == MachineStatus::DiskErasing { budgets.erase_s } else { budgets.release_s }
}

struct Waiting {
    because: &'static str,
    until: &'static str,
}

impl Waiting {
    fn or_else(self, elapsed: Elapsed, at_most_s: i64, over: impl FnOnce(i64, i64) -> Step) -> Step {
        let waited_s = elapsed.in_status_s;
        if waited_s >= at_most_s {
            return over(waited_s, at_most_s);
        }
        Step::Wait { because: self.because, until: self.until, waited_s, at_most_s }
    }
}

fn too_long(what: &'static str, took_s: i64, budget_s: i64) -> Trouble {
    Trouble::TooLong { what, took_s, budget_s }
}

fn failed(wanted: &'static str, seen: &Machine) -> Trouble {
    Trouble::Failed { wanted, status: seen.status.name().to_owned(), message: seen.message.clone() }
}

fn held_by_other(seen: &Machine) -> Trouble {
    Trouble::HeldByOther { status: seen.status.name().to_owned(), mark: seen.mark.clone() }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
