//! The order in which a claim's devices are made ready for a guest, and taken back after it.
//!
//! ```text
//!   before:  persistence off → reset each GPU → partition on → VFIO (whole groups) → reset each virtual function
//!   after:   reset each GPU → reset each virtual function → partition off → still with VFIO?
//! ```
//!
//! Before a guest the first failure ends it, and a partition that may be on is switched off again. After a guest every step is
//! tried whatever the others did, because each of them takes something away from the guest that was; one failure is enough for
//! the whole to have failed. Both can be repeated. The devices stay with VFIO: the host does not get them back between guests.
//!
//! It refuses while a guest holds any of the devices. Starting and stopping the guest is the caller's.

use crate::{
    fabric::{FabricEvidence, FabricFault, FabricPartitions},
    fault::Fault,
    pci::{self, Approved, PciAddress},
    persistence::NvidiaSmi,
    reset::{self, ResetEvidence, ResetPolicy},
    sysfs::{Settle, SysFs},
    vfio::{self, BindEvidence},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt};

/// The partition of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionClaim {
    /// Its number on this host.
    pub id: u32,
    /// The numbers of its GPUs on the board.
    pub modules: Vec<u8>,
}

/// The devices of one guest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its GPUs.
    pub gpus: Vec<PciAddress>,
    /// Its virtual functions of the fabric's network.
    pub virtual_functions: Vec<PciAddress>,
    /// The partition of its GPUs. A guest with a GPU has one, also with a single GPU, which must be cut off from the others.
    pub partition: Option<PartitionClaim>,
}

impl Claim {
    fn devices(&self) -> Vec<PciAddress> {
        self.gpus.iter().chain(&self.virtual_functions).copied().collect()
    }

    /// What does not fit together in it.
    pub fn check(&self) -> Result<(), ClaimFault> {
        let devices = self.devices();
        let mut seen = BTreeSet::new();
        if let Some(address) = devices.iter().find(|address| !seen.insert(**address)) {
            return Err(ClaimFault::Twice { address: *address });
        }
        let modules: BTreeSet<u8> = self.partition.iter().flat_map(|partition| partition.modules.clone()).collect();
        let listed = self.partition.as_ref().map_or(0, |partition| partition.modules.len());
        if modules.len() != self.gpus.len() || listed != self.gpus.len() {
            return Err(ClaimFault::Uneven { gpus: self.gpus.len(), modules: listed });
        }
        Ok(())
    }
}

/// What does not fit together in a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "check", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClaimFault {
    /// A function is in it twice.
    #[error("each function must be in a claim once, but {address} is in it twice")]
    Twice {
        /// Which one.
        address: PciAddress,
    },
    /// The partition does not fit the GPUs.
    #[error("a claim's partition must have as many GPUs as the claim, {gpus}, but has {modules}")]
    Uneven {
        /// GPUs of the claim.
        gpus: usize,
        /// GPUs of its partition.
        modules: usize,
    },
}

/// All that is needed to act.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The kernel's files.
    pub files: &'a dyn SysFs,
    /// Who switches partitions.
    pub fabric: &'a dyn FabricPartitions,
    /// NVIDIA's tool.
    pub nvidia_smi: &'a NvidiaSmi,
    /// The functions that may be touched.
    pub approved: &'a Approved,
    /// How GPUs are reset.
    pub gpu_reset: &'a ResetPolicy,
    /// How virtual functions are reset.
    pub vf_reset: &'a ResetPolicy,
    /// How long the kernel may take to bind.
    pub settle: Settle,
    /// Told of each step that was done.
    pub tell: &'a dyn Fn(&StepEvidence),
}

impl fmt::Debug for Ground<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ground").field("approved", self.approved).finish_non_exhaustive()
    }
}

/// A step that was done, with what shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum StepEvidence {
    /// Persistence mode was switched off.
    PersistenceOff {
        /// Which GPU.
        address: PciAddress,
    },
    /// Persistence mode does not matter.
    PersistenceNotNeeded {
        /// Which GPU.
        address: PciAddress,
        /// The driver that it is on.
        driver: Option<String>,
    },
    /// A GPU was reset.
    GpuReset {
        /// What shows it.
        evidence: ResetEvidence,
    },
    /// The partition is on.
    PartitionActive {
        /// What shows it.
        evidence: FabricEvidence,
    },
    /// A function is with VFIO.
    Bound {
        /// What shows it.
        evidence: BindEvidence,
    },
    /// A virtual function was reset.
    VfReset {
        /// What shows it.
        evidence: ResetEvidence,
    },
    /// The partition is off.
    PartitionInactive {
        /// What shows it.
        evidence: FabricEvidence,
    },
}

impl fmt::Display for StepEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PersistenceOff { address } => write!(f, "persistence mode of {address} is off"),
            Self::PersistenceNotNeeded { address, driver } => {
                write!(f, "{address} is on {}, not on NVIDIA's driver", driver.as_deref().unwrap_or("no driver"))
            }
            Self::GpuReset { evidence } | Self::VfReset { evidence } => evidence.fmt(f),
            Self::PartitionActive { evidence } | Self::PartitionInactive { evidence } => evidence.fmt(f),
            Self::Bound { evidence } => {
                write!(f, "{} is on {} in IOMMU group {}", evidence.address, pci::VFIO, evidence.iommu_group)
            }
        }
    }
}

/// What is done, in one word each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Everything that can be known before the first change.
    Check,
    /// The driver of the host lets go of a GPU.
    Persistence,
    /// A GPU is reset.
    GpuReset,
    /// The partition is switched on.
    PartitionOn,
    /// The devices go to VFIO.
    Bind,
    /// A virtual function is reset.
    VfReset,
    /// The partition is switched off.
    PartitionOff,
    /// The devices must still be with VFIO.
    StillBound,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Check => "check",
            Self::Persistence => "persistence",
            Self::GpuReset => "gpu_reset",
            Self::PartitionOn => "partition_on",
            Self::Bind => "bind",
            Self::VfReset => "vf_reset",
            Self::PartitionOff => "partition_off",
            Self::StillBound => "still_bound",
        })
    }
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {fault}")]
#[serde(deny_unknown_fields)]
pub struct StepFailed {
    /// Which one.
    pub step: Step,
    /// Why.
    pub fault: StepFault,
}

impl StepFailed {
    fn at(step: Step) -> impl Fn(StepFault) -> Self {
        move |fault| Self { step, fault }
    }

    fn device<F: Into<Fault>>(step: Step) -> impl Fn(F) -> Self {
        move |fault| Self { step, fault: StepFault::Device(fault.into()) }
    }
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum StepFault {
    /// The claim makes no sense.
    #[error("{0}")]
    Claim(ClaimFault),
    /// A device.
    #[error("{0}")]
    Device(Fault),
    /// The fabric.
    #[error("{0}")]
    Fabric(FabricFault),
}

/// What became of the partition when something failed before the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "undone", rename_all = "snake_case")]
pub enum Undone {
    /// It was not touched.
    NothingToUndo,
    /// It is off again.
    Deactivated {
        /// What shows it.
        evidence: FabricEvidence,
    },
    /// It may still be on.
    NotDeactivated {
        /// Why.
        why: FabricFault,
    },
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToUndo => f.write_str("no partition was touched"),
            Self::Deactivated { evidence } => write!(f, "partition {} is off again", evidence.partition),
            Self::NotDeactivated { why } => write!(f, "the partition may still be on: {why}"),
        }
    }
}

/// What failed, with all that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}; {undone}", sentences(faults))]
#[serde(deny_unknown_fields)]
pub struct SequenceFault {
    /// Every step that failed.
    pub faults: Vec<StepFailed>,
    /// The steps that were done.
    pub done: Vec<StepEvidence>,
    /// What became of the partition.
    pub undone: Undone,
}

fn sentences(faults: &[StepFailed]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl SequenceFault {
    fn at_once(fault: StepFault) -> Self {
        let step = Step::Check;
        Self { faults: vec![StepFailed { step, fault }], done: vec![], undone: Undone::NothingToUndo }
    }
}

// The steps that were done, each told as it is.
struct Done<'a> {
    steps: Vec<StepEvidence>,
    tell: &'a dyn Fn(&StepEvidence),
}

impl Done<'_> {
    fn push(&mut self, step: StepEvidence) {
        (self.tell)(&step);
        self.steps.push(step);
    }
}

/// How many steps [`before_guest`] has for a claim.
pub fn steps_before(claim: &Claim) -> usize {
    3 * claim.gpus.len() + 2 * claim.virtual_functions.len() + usize::from(claim.partition.is_some())
}

/// How many steps [`after_guest`] has for a claim.
pub fn steps_after(claim: &Claim) -> usize {
    2 * claim.devices().len() + usize::from(claim.partition.is_some())
}

/// Makes the devices of a claim ready. Afterwards the caller may start the guest.
pub fn before_guest(ground: Ground<'_>, claim: &Claim) -> Result<Vec<StepEvidence>, SequenceFault> {
    check(ground, claim)?;
    let mut done = Done { steps: vec![], tell: ground.tell };
    // Whether the partition may be on through us.
    let mut touched = false;
    match prepare(ground, claim, &mut done, &mut touched) {
        Ok(()) => Ok(done.steps),
        Err(fault) => {
            let undone = match claim.partition.as_ref().filter(|_| touched) {
                None => Undone::NothingToUndo,
                Some(partition) => match ground.fabric.deactivate(partition.id) {
                    Ok(evidence) => Undone::Deactivated { evidence },
                    Err(why) => Undone::NotDeactivated { why },
                },
            };
            Err(SequenceFault { faults: vec![fault], done: done.steps, undone })
        }
    }
}

fn prepare(ground: Ground<'_>, claim: &Claim, done: &mut Done<'_>, touched: &mut bool) -> Result<(), StepFailed> {
    let Ground { files, approved, .. } = ground;
    for address in &claim.gpus {
        let driver = pci::look(files, *address).map_err(StepFailed::device(Step::Persistence))?.driver;
        if driver.as_deref() == Some("nvidia") {
            ground.nvidia_smi.persistence_off(*address).map_err(StepFailed::device(Step::Persistence))?;
            done.push(StepEvidence::PersistenceOff { address: *address });
        } else {
            done.push(StepEvidence::PersistenceNotNeeded { address: *address, driver });
        }
    }
    for address in &claim.gpus {
        let reset = reset::reset_gpu(files, approved, *address, ground.gpu_reset);
        done.push(StepEvidence::GpuReset { evidence: reset.map_err(StepFailed::device(Step::GpuReset))? });
    }
    if let Some(partition) = &claim.partition {
        let activated = ground.fabric.activate(partition.id, &partition.modules);
        *touched = activated.as_ref().map_or_else(FabricFault::may_have_changed, |_| true);
        let evidence = activated.map_err(StepFault::Fabric).map_err(StepFailed::at(Step::PartitionOn))?;
        done.push(StepEvidence::PartitionActive { evidence });
    }
    let bound = vfio::bind(files, approved, &claim.devices(), ground.settle);
    for evidence in bound.map_err(StepFailed::device(Step::Bind))? {
        done.push(StepEvidence::Bound { evidence });
    }
    for address in &claim.virtual_functions {
        let reset = reset::reset_vf(files, approved, *address, ground.vf_reset);
        done.push(StepEvidence::VfReset { evidence: reset.map_err(StepFailed::device(Step::VfReset))? });
    }
    Ok(())
}

/// Takes the devices of a claim back, after the caller stopped the guest.
pub fn after_guest(ground: Ground<'_>, claim: &Claim) -> Result<Vec<StepEvidence>, SequenceFault> {
    check(ground, claim)?;
    let Ground { files, approved, .. } = ground;
    let (mut done, mut faults) = (Done { steps: vec![], tell: ground.tell }, vec![]);
    let mut undone = Undone::NothingToUndo;
    let mut note = |step: Step, ended: Result<StepEvidence, StepFault>| match ended {
        Ok(evidence) => done.push(evidence),
        Err(fault) => faults.push(StepFailed { step, fault }),
    };
    for address in &claim.gpus {
        let reset = reset::reset_gpu(files, approved, *address, ground.gpu_reset);
        let ended = reset.map(|evidence| StepEvidence::GpuReset { evidence }).map_err(StepFault::Device);
        note(Step::GpuReset, ended);
    }
    for address in &claim.virtual_functions {
        let reset = reset::reset_vf(files, approved, *address, ground.vf_reset);
        let ended = reset.map(|evidence| StepEvidence::VfReset { evidence }).map_err(StepFault::Device);
        note(Step::VfReset, ended);
    }
    if let Some(partition) = &claim.partition {
        let off = ground.fabric.deactivate(partition.id);
        if let Err(why) = &off {
            undone = Undone::NotDeactivated { why: why.clone() };
        }
        let ended = off.map(|evidence| StepEvidence::PartitionInactive { evidence }).map_err(StepFault::Fabric);
        note(Step::PartitionOff, ended);
    }
    for address in claim.devices() {
        let bound = ground.settle.until(|| vfio::bound(files, address));
        let ended = bound.map(|evidence| StepEvidence::Bound { evidence }).map_err(StepFault::Device);
        note(Step::StillBound, ended);
    }
    if faults.is_empty() { Ok(done.steps) } else { Err(SequenceFault { faults, done: done.steps, undone }) }
}

// Everything that can be known before the first change. What is missing or unreadable is left to the step that needs it:
// after a guest it must not keep the others from being tried.
fn check(ground: Ground<'_>, claim: &Claim) -> Result<(), SequenceFault> {
    claim.check().map_err(|fault| SequenceFault::at_once(StepFault::Claim(fault)))?;
    for address in claim.devices() {
        let device = |refusal| SequenceFault::at_once(StepFault::Device(Fault::from(refusal)));
        ground.approved.check(address).map_err(device)?;
        if let Ok(seen) = pci::look(ground.files, address) {
            vfio::refuse_held(ground.files, &seen).map_err(device)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
