//! Why something was not done to a PCI function. A [`Refusal`] comes before anything was changed and names the check, what was
//! expected and what was found. A [`Fault`] is everything else that went wrong: after one of those the function may be in any
//! state, and whoever wants to use it has to prove its state again.

use crate::{
    pci::{DeviceId, PciAddress},
    reset::{ResetMethod, Tried},
};
use serde::{Deserialize, Serialize};

/// A check that did not hold; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "check", rename_all = "snake_case", deny_unknown_fields)]
pub enum Refusal {
    /// Nobody approved it.
    #[error("only approved functions may be touched, but {address} is not among them")]
    NotApproved {
        /// Which function.
        address: PciAddress,
    },
    /// It is not on the bus.
    #[error("a PCI function was expected at {address}, but there is none")]
    Missing {
        /// Where it was looked for.
        address: PciAddress,
    },
    /// The kernel does not say what must be known.
    #[error("{what} must be known, but could not be read: {why}")]
    Unreadable {
        /// What was asked.
        what: String,
        /// Why there is no answer.
        why: String,
    },
    /// It joins buses.
    #[error("a function that can be given to a guest was expected, but {address} is a bridge (class {class:06x})")]
    Bridge {
        /// Which function.
        address: PciAddress,
        /// Its class code.
        class: u32,
    },
    /// It belongs to the fabric that all guests share.
    #[error("a function that can be given to a guest was expected, but {address} is an NVSwitch ({id})")]
    NvSwitch {
        /// Which function.
        address: PciAddress,
        /// Its vendor and device.
        id: DeviceId,
    },
    /// Nothing keeps its memory accesses apart.
    #[error("{address} must be in an IOMMU group, but it is in none")]
    NoIommuGroup {
        /// Which function.
        address: PciAddress,
    },
    /// A neighbour in its group belongs to the host.
    #[error(
        "every function of IOMMU group {group} must be on vfio-pci, a bridge or without driver, but {other} is on {driver}"
    )]
    GroupShared {
        /// Which group.
        group: u32,
        /// The neighbour.
        other: PciAddress,
        /// The neighbour's driver.
        driver: String,
    },
    /// The kernel has no such driver.
    #[error("the driver vfio-pci must be loaded, but the kernel does not have it")]
    NoVfioDriver,
    /// A guest has it.
    #[error("{address} must be free, but somebody holds IOMMU group {group}")]
    Held {
        /// Which function.
        address: PciAddress,
        /// Its group.
        group: u32,
    },
    /// It is not a virtual function.
    #[error("a virtual function was expected, but {address} is none")]
    NotVirtual {
        /// Which function.
        address: PciAddress,
    },
    /// It is a virtual function.
    #[error("a physical function was expected, but {address} is a virtual one")]
    Virtual {
        /// Which function.
        address: PciAddress,
    },
    /// It cannot have virtual functions.
    #[error("{address} must be able to have virtual functions, but it is not")]
    NoVirtualFunctions {
        /// Which function.
        address: PciAddress,
    },
    /// More than it can have.
    #[error("{address} has at most {most} virtual functions, but {wanted} are wanted")]
    TooManyVirtualFunctions {
        /// Which function.
        address: PciAddress,
        /// How many it can have.
        most: u32,
        /// How many are wanted.
        wanted: u32,
    },
    /// Changing the number would take one away from a guest.
    #[error("the number of virtual functions of {address} may only change while none is on vfio-pci, but {other} is")]
    VirtualFunctionTaken {
        /// The physical function.
        address: PciAddress,
        /// The virtual function.
        other: PciAddress,
    },
    /// The policy names no method that may be used.
    #[error("the policy must name a way to reset {address}, but it names none")]
    NoMethod {
        /// Which function.
        address: PciAddress,
    },
    /// A way of resetting that would reach further than the virtual function.
    #[error("a virtual function is reset by flr only, but the policy for {address} names {method}")]
    MethodTooWide {
        /// Which function.
        address: PciAddress,
        /// The method.
        method: ResetMethod,
    },
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// A check did not hold; nothing was changed.
    #[error("{refusal}")]
    Refused {
        /// Which one.
        refusal: Refusal,
    },
    /// The kernel did not take what it was told.
    #[error("{path} must take {text:?}, but: {why}")]
    Write {
        /// The file.
        path: String,
        /// What was written.
        text: String,
        /// What the kernel said.
        why: String,
    },
    /// It is on another driver than it should be.
    #[error("{address} must be on {expected}, but it is on {found}")]
    WrongDriver {
        /// Which function.
        address: PciAddress,
        /// The driver that was wanted.
        expected: String,
        /// The one that it is on.
        found: String,
    },
    /// The node by which a guest gets the group is not there.
    #[error("the device node {node} of {address} must exist, but there is none")]
    NoGroupNode {
        /// Which function.
        address: PciAddress,
        /// The node.
        node: String,
    },
    /// There are more or fewer virtual functions than asked for.
    #[error("{address} must have {expected} virtual functions, but it has {found}")]
    WrongCount {
        /// Which function.
        address: PciAddress,
        /// How many were asked for.
        expected: u32,
        /// How many there are.
        found: u32,
    },
    /// No way of resetting worked.
    #[error("{address} must be reset, but: {}", told(tried))]
    NotReset {
        /// Which function.
        address: PciAddress,
        /// Every way and how it ended.
        tried: Vec<Tried>,
    },
    /// A program is missing, failed, or took too long.
    #[error("{why}")]
    Program {
        /// What happened.
        why: String,
    },
    /// A program's answer means nothing to us.
    #[error("{program} must answer {expected}, but said {found:?}")]
    NotUnderstood {
        /// Which program.
        program: String,
        /// What was expected.
        expected: String,
        /// What it said.
        found: String,
    },
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { refusal }
    }
}

impl From<command::Fault> for Fault {
    fn from(fault: command::Fault) -> Self {
        Self::Program { why: fault.to_string() }
    }
}

fn told(tried: &[Tried]) -> String {
    tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
