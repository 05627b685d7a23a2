//! What a root process does to the PCI functions and the NVSwitch fabric of a GPU host: it looks at functions, gives them to
//! VFIO, resets them, and switches the partitions of the fabric. The agent's privileged part puts these together.
//!
//! ```text
//!   pci ──┬── vfio ───┐
//!         ├── sriov ──┤
//!         ├── reset ──┼── sequence ── before and after a guest
//!   fabric (fmpm) ────┘
//! ```
//!
//! Each change is decided by a pure function from what was seen, made by a thin one, and proved by looking again. Only approved
//! functions are touched. It refuses: bridges, NVSwitches, a function whose IOMMU group works for the host or is held by a
//! guest, and every answer that it does not understand.

pub mod fabric;
mod fault;
pub mod pci;
mod persistence;
pub mod reset;
pub mod sequence;
pub mod sriov;
mod sysfs;
pub mod vfio;

#[cfg(any(test, feature = "testing"))]
pub mod pretend;

pub use fabric::{FabricEvidence, FabricFault, FabricOutcome, FabricPartitions, Fmpm, NoFabric, Partition};
pub use fault::{Fault, Refusal};
pub use pci::{Approved, DeviceId, PciAddress, PciSeen};
pub use persistence::NvidiaSmi;
pub use reset::{MemoryScrub, ResetEvidence, ResetMethod, ResetPolicy};
pub use sequence::{
    Claim, Ground, PartitionClaim, SequenceFault, Step, StepEvidence, StepFailed, StepFault, after_guest, before_guest,
};
pub use sysfs::{HostFiles, Node, Settle, SysFs};
