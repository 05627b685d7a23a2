//! Whether a call has anything left to do, decided from the machine as it is now. Every provider asks here before it acts, so
//! that all of them treat a repeated call, a lost answer and a stranger's machine the same way.

use crate::{
    fault::Fault,
    machine::{Machine, MachineStatus, OrderMark},
    provider::{BreakOrder, ReleaseOrder},
};

/// What is left of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// It is this order's already, at this stage or a later one.
    Done,
    /// It is free: take it and mark it.
    Take,
    /// It is taken but carries no mark: perhaps by this order, in a call that broke off. The provider must find out.
    Unmarked,
}

/// What is left of any other call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Done,
    /// All of it.
    Act,
}

/// Decides what is left of allocating this machine for this order.
pub fn allocation(seen: &Machine, mark: &OrderMark) -> Result<Allocation, Fault> {
    const FREE: &str = "Ready, or taken by this order";
    let takes_part = matches!(
        seen.status,
        MachineStatus::Allocated | MachineStatus::Deploying | MachineStatus::Deployed | MachineStatus::FailedDeployment
    );
    match &seen.status {
        _ if takes_part && seen.carries(mark) => Ok(Allocation::Done),
        MachineStatus::Ready if seen.locked => Err(conflict(seen, FREE, "it is locked")),
        MachineStatus::Ready => Ok(Allocation::Take),
        MachineStatus::Allocated if seen.mark.is_none() => Ok(Allocation::Unmarked),
        _ => Err(conflict(seen, FREE, &whose(seen))),
    }
}

/// Decides what is left of deploying this machine for this order.
pub fn deployment(seen: &Machine, mark: &OrderMark) -> Result<Rest, Fault> {
    const TAKEN: &str = "Allocated by this order";
    match &seen.status {
        MachineStatus::Deploying | MachineStatus::Deployed if seen.carries(mark) => Ok(Rest::Done),
        MachineStatus::Allocated if !seen.carries(mark) => Err(conflict(seen, TAKEN, &whose(seen))),
        MachineStatus::Allocated if seen.locked => Err(conflict(seen, TAKEN, "it is locked")),
        MachineStatus::Allocated => Ok(Rest::Act),
        _ => Err(conflict(seen, TAKEN, &whose(seen))),
    }
}

/// Decides what is left of releasing this machine.
pub fn release(seen: &Machine, order: &ReleaseOrder) -> Result<Rest, Fault> {
    const HELD: &str = "held, failed or broken";
    let may_be_released = matches!(
        seen.status,
        MachineStatus::Allocated
            | MachineStatus::Reserved
            | MachineStatus::Deploying
            | MachineStatus::Deployed
            | MachineStatus::FailedDeployment
            | MachineStatus::FailedReleasing
            | MachineStatus::FailedDiskErasing
            | MachineStatus::Broken
    );
    if seen.status == MachineStatus::Ready || seen.status.is_going_back() {
        return Ok(Rest::Done);
    }
    if !may_be_released {
        return Err(conflict(seen, HELD, ""));
    }
    // A broken machine and one that failed on its way back have lost their mark; nobody else's work is on them.
    let held = seen.status.is_taken();
    if held && order.held_by.as_ref().is_some_and(|mark| !seen.carries(mark)) {
        return Err(conflict(seen, "held by this order", &whose(seen)));
    }
    if seen.locked {
        return Err(conflict(seen, HELD, "it is locked"));
    }
    Ok(Rest::Act)
}

/// Decides what is left of marking this machine as broken.
pub fn breaking(seen: &Machine, order: &BreakOrder) -> Result<Rest, Fault> {
    if seen.status == MachineStatus::Broken {
        return Ok(Rest::Done);
    }
    if seen.status.is_taken() && order.held_by.as_ref().is_some_and(|mark| !seen.carries(mark)) {
        return Err(conflict(seen, "free, failed or held by this order", &whose(seen)));
    }
    Ok(Rest::Act)
}

/// The machine is not in a state that would do.
pub fn conflict(seen: &Machine, expected: &str, why: &str) -> Fault {
    Fault::Conflict {
        id: seen.id.clone(),
        expected: expected.to_owned(),
        status: seen.status.name().to_owned(),
        why: why.to_owned(),
    }
}

/// Whose machine it is, in words.
fn whose(seen: &Machine) -> String {
    match (&seen.mark, &seen.owner) {
        (Some(mark), _) => format!("it carries the mark {mark}"),
        (None, Some(owner)) => format!("it carries no mark and belongs to {owner}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{machine::PowerState, provider::Erase};

    fn seen(status: MachineStatus, mark: Option<&str>) -> Machine {
        Machine {
            id: "abc123".parse().unwrap(),
            hostname: "host".to_owned(),
            serial: None,
            status,
            message: String::new(),
            power: PowerState::Unknown,
            tags: Default::default(),
            pool: None,
            zone: None,
            owner: mark.map(|_| "gpuaas".to_owned()),
            mark: mark.map(str::to_owned),
            locked: false,
            gpus: None,
        }
    }

    fn mine() -> OrderMark {
        "mine".parse().unwrap()
    }

    fn giving_back(held_by: Option<OrderMark>) -> ReleaseOrder {
        ReleaseOrder { held_by, erase: Erase::Secure, comment: String::new() }
    }

    #[test]
    fn what_is_done_is_not_done_again() {
        for status in [MachineStatus::Allocated, MachineStatus::Deploying, MachineStatus::Deployed] {
            assert_eq!(allocation(&seen(status, Some("mine")), &mine()), Ok(Allocation::Done));
        }
        for status in [MachineStatus::Deploying, MachineStatus::Deployed] {
            assert_eq!(deployment(&seen(status, Some("mine")), &mine()), Ok(Rest::Done));
        }
        for status in [MachineStatus::Ready, MachineStatus::Releasing, MachineStatus::DiskErasing] {
            assert_eq!(release(&seen(status, None), &giving_back(Some(mine()))), Ok(Rest::Done));
        }
    }

    #[test]
    fn a_stranger_s_machine_is_never_touched() {
        for status in [
            MachineStatus::Reserved,
            MachineStatus::Allocated,
            MachineStatus::Deploying,
            MachineStatus::Deployed,
            MachineStatus::FailedDeployment,
            MachineStatus::Rescue,
        ] {
            for mark in [Some("other"), Some("mine2"), None] {
                let seen = seen(status.clone(), mark);
                let unmarked = status == MachineStatus::Allocated && mark.is_none();
                assert_eq!(allocation(&seen, &mine()).is_ok(), unmarked, "{status} {mark:?}");
                assert!(deployment(&seen, &mine()).is_err(), "{status} {mark:?}");
                assert!(release(&seen, &giving_back(Some(mine()))).is_err(), "{status} {mark:?}");
                let order = BreakOrder { held_by: Some(mine()), comment: String::new() };
                assert!(breaking(&seen, &order).is_err(), "{status} {mark:?}");
            }
        }
    }

    #[test]
    fn an_operator_may_release_what_carries_another_mark() {
        assert_eq!(release(&seen(MachineStatus::Deployed, Some("other")), &giving_back(None)), Ok(Rest::Act));
    }

    #[test]
    fn a_locked_machine_is_left_as_it_is() {
        let locked = |status, mark| Machine { locked: true, ..seen(status, mark) };
        assert!(allocation(&locked(MachineStatus::Ready, None), &mine()).is_err());
        assert!(deployment(&locked(MachineStatus::Allocated, Some("mine")), &mine()).is_err());
        assert!(release(&locked(MachineStatus::Deployed, Some("mine")), &giving_back(Some(mine()))).is_err());
    }

    #[test]
    fn a_conflict_says_what_was_expected_and_whose_it_is() {
        let fault = deployment(&seen(MachineStatus::Deployed, Some("other")), &mine()).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "machine abc123 was expected to be Allocated by this order, but it is Deployed (it carries the mark other)"
        );
        assert!(!fault.may_try_again());
    }
}
