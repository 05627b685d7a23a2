//! The partitions of an NVSwitch fabric: which sets of GPUs may talk to each other over NVLink. A partition is switched on for
//! one guest and off after it; the Fabric Manager does that, and its tool `fmpm` is how it is told.
//!
//! The tool's word is never enough. Before a change the list of partitions is read, and a partition that has other GPUs than
//! the claim, or shares one with a partition that is on, is refused. After the change the list is read again, and only what it
//! says counts. An answer that cannot be read is a fault.
//!
//! GPUs have their numbers on the board here (the Fabric Manager's `physicalId`, the driver's module id). They are not
//! positions on the PCI bus: what the tool says of those is empty while the GPUs are with VFIO.

mod fmpm;

pub use fmpm::{Fmpm, Reach, parse};

use crate::{pci, sysfs::SysFs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A GPU of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionGpu {
    /// Its number on the board.
    pub module: u8,
    /// How many NVLinks it has in this partition.
    pub nvlinks: u32,
    /// How many it should have.
    pub nvlinks_max: u32,
}

/// A set of GPUs that can be kept apart from the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Its number on this host.
    pub id: u32,
    /// Whether it is on.
    pub active: bool,
    /// Its GPUs.
    pub gpus: Vec<PartitionGpu>,
}

impl Partition {
    /// The numbers of its GPUs on the board.
    pub fn modules(&self) -> BTreeSet<u8> {
        self.gpus.iter().map(|gpu| gpu.module).collect()
    }
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FabricOutcome {
    /// It was switched on.
    Activated,
    /// It was on already.
    AlreadyActive,
    /// It was switched off.
    Deactivated,
    /// It was off already.
    AlreadyInactive,
    /// The host has no fabric.
    NoFabric,
}

/// What shows how a partition stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricEvidence {
    /// Which partition.
    pub partition: u32,
    /// How the change ended.
    pub outcome: FabricOutcome,
    /// What the list of partitions says of it afterwards; nothing where the host has no fabric.
    pub seen: Option<Partition>,
    /// GPUs that have fewer NVLinks than they should.
    pub short_of_links: Vec<u8>,
    /// In words.
    pub note: String,
}

impl std::fmt::Display for FabricEvidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.note)?;
        match self.short_of_links.is_empty() {
            true => Ok(()),
            false => write!(f, "; fewer NVLinks than they should have: GPUs {:?}", self.short_of_links),
        }
    }
}

/// Why a partition does not stand as it should.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case", deny_unknown_fields)]
pub enum FabricFault {
    /// The tool is missing, was ended, or took too long.
    #[error("the Fabric Manager must answer, but: {why}")]
    Program {
        /// What happened.
        why: String,
    },
    /// The Fabric Manager says no.
    #[error("the Fabric Manager must {verb}, but says {meaning} (status {status}): {said}")]
    Refused {
        /// What it was asked to do.
        verb: String,
        /// Its status, a negative number.
        status: i32,
        /// What the status means.
        meaning: String,
        /// What the tool printed.
        said: String,
    },
    /// The partitions could not be listed before anything was changed.
    #[error("the partitions must be known before one is changed, but: {why}")]
    NotListed {
        /// Why not.
        why: String,
    },
    /// The list makes no sense.
    #[error("the list of partitions must be understood, but {why}")]
    NotUnderstood {
        /// What is wrong with it.
        why: String,
    },
    /// The host does not have it.
    #[error("partition {id} must exist, but the Fabric Manager does not list it")]
    NoSuchPartition {
        /// Which one.
        id: u32,
    },
    /// No partition of the host is this set of GPUs.
    #[error("a partition of exactly the GPUs {modules:?} must exist, but the Fabric Manager lists none")]
    NoPartitionOf {
        /// The GPUs of the claim.
        modules: BTreeSet<u8>,
    },
    /// It is another set of GPUs than the claim's.
    #[error("partition {id} must have the GPUs {expected:?}, but has {found:?}")]
    OtherGpus {
        /// Which one.
        id: u32,
        /// The GPUs of the claim.
        expected: BTreeSet<u8>,
        /// The GPUs of the partition.
        found: BTreeSet<u8>,
    },
    /// Another guest has a GPU of it.
    #[error(
        "no GPU of partition {id} may be in one that is active, but partition {other} is active and has {shared:?}"
    )]
    Overlap {
        /// Which one.
        id: u32,
        /// The one that is on.
        other: u32,
        /// The GPUs that are in both.
        shared: BTreeSet<u8>,
    },
    /// The Fabric Manager took the change and did not make it.
    #[error("partition {id} must be {}, but the Fabric Manager lists it as {}", on(*wanted), on(!*wanted))]
    NotChanged {
        /// Which one.
        id: u32,
        /// Whether it should be on.
        wanted: bool,
    },
    /// The list says something else after the change than it did before.
    #[error("partition {id} must be proved to be {}, but: {why}", on(*wanted))]
    Unproved {
        /// Which one.
        id: u32,
        /// Whether it should be on.
        wanted: bool,
        /// What the list says.
        why: String,
    },
    /// Several GPUs on a host that cannot join them.
    #[error("a fabric must join the GPUs {modules:?}, but there is none on this host")]
    NoFabric {
        /// The GPUs of the claim.
        modules: BTreeSet<u8>,
    },
    /// The host was said to have no fabric.
    #[error("this host must have no NVSwitch when it is used without a Fabric Manager, but {found}")]
    NotWithoutFabric {
        /// What was found.
        found: String,
    },
}

impl FabricFault {
    /// Whether the fabric may be in another state than before. The checks come first and change nothing.
    pub fn may_have_changed(&self) -> bool {
        match self {
            Self::Program { .. }
            | Self::Refused { .. }
            | Self::NotUnderstood { .. }
            | Self::NotChanged { .. }
            | Self::Unproved { .. } => true,
            Self::NotListed { .. }
            | Self::NoSuchPartition { .. }
            | Self::NoPartitionOf { .. }
            | Self::OtherGpus { .. }
            | Self::Overlap { .. }
            | Self::NoFabric { .. }
            | Self::NotWithoutFabric { .. } => false,
        }
    }
}

fn on(active: bool) -> &'static str {
    if active { "active" } else { "inactive" }
}

/// Whoever can switch partitions.
pub trait FabricPartitions: Send + Sync {
    /// Every partition of the host.
    fn list(&self) -> Result<Vec<Partition>, FabricFault>;
    /// Switches a partition on, if it has exactly these GPUs. One that is on already is fine.
    fn activate(&self, id: u32, expected_modules: &[u8]) -> Result<FabricEvidence, FabricFault>;
    /// Switches a partition off. One that is off already is fine.
    fn deactivate(&self, id: u32) -> Result<FabricEvidence, FabricFault>;
}

/// What has to be done to a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing: it stands as it should.
    Nothing,
    /// A change.
    Change,
}

/// Decides whether a partition may be switched on.
pub fn plan_activate(list: &[Partition], id: u32, expected: &BTreeSet<u8>) -> Result<Wanted, FabricFault> {
    let partition = find(list, id)?;
    let found = partition.modules();
    if found != *expected {
        return Err(FabricFault::OtherGpus { id, expected: expected.clone(), found });
    }
    for other in list.iter().filter(|other| other.active && other.id != id) {
        let shared: BTreeSet<u8> = other.modules().intersection(&found).copied().collect();
        if !shared.is_empty() {
            return Err(FabricFault::Overlap { id, other: other.id, shared });
        }
    }
    Ok(if partition.active { Wanted::Nothing } else { Wanted::Change })
}

/// Decides whether a partition has to be switched off.
pub fn plan_deactivate(list: &[Partition], id: u32) -> Result<Wanted, FabricFault> {
    Ok(if find(list, id)?.active { Wanted::Change } else { Wanted::Nothing })
}

/// The partition that is exactly this set of GPUs. Numbers of partitions differ from host to host; sets of GPUs do not.
pub fn with_modules<'a>(list: &'a [Partition], modules: &BTreeSet<u8>) -> Result<&'a Partition, FabricFault> {
    let found = list.iter().find(|partition| partition.modules() == *modules);
    found.ok_or_else(|| FabricFault::NoPartitionOf { modules: modules.clone() })
}

fn find(list: &[Partition], id: u32) -> Result<&Partition, FabricFault> {
    list.iter().find(|partition| partition.id == id).ok_or(FabricFault::NoSuchPartition { id })
}

/// Reads from a list that a partition stands as it should.
fn proved(
    list: &[Partition],
    id: u32,
    expected: Option<&BTreeSet<u8>>,
    outcome: FabricOutcome,
) -> Result<FabricEvidence, FabricFault> {
    let wanted = expected.is_some();
    if let Some(expected) = expected {
        plan_activate(list, id, expected)?;
    }
    let seen = find(list, id)?.clone();
    if seen.active != wanted {
        return Err(FabricFault::NotChanged { id, wanted });
    }
    let short = seen.gpus.iter().filter(|gpu| wanted && gpu.nvlinks < gpu.nvlinks_max);
    let short_of_links = short.map(|gpu| gpu.module).collect();
    let note = format!("the Fabric Manager lists partition {id} as {}", on(wanted));
    Ok(FabricEvidence { partition: id, outcome, seen: Some(seen), short_of_links, note })
}

/// A fabric whose partitions could not be told apart: whatever is asked of it fails for that reason. It lets everything else of
/// a sequence be tried all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown(pub FabricFault);

impl FabricPartitions for Unknown {
    fn list(&self) -> Result<Vec<Partition>, FabricFault> {
        Err(self.0.clone())
    }

    fn activate(&self, _: u32, _: &[u8]) -> Result<FabricEvidence, FabricFault> {
        Err(self.0.clone())
    }

    fn deactivate(&self, _: u32) -> Result<FabricEvidence, FabricFault> {
        Err(self.0.clone())
    }
}

/// A host without NVSwitches. A single GPU needs no fabric there; several cannot be joined.
#[derive(Debug)]
pub struct NoFabric(());

impl NoFabric {
    /// Only for a host on whose bus there is no NVSwitch: where there is one, a GPU without a partition of its own would be
    /// joined to those of others.
    pub fn check(files: &dyn SysFs) -> Result<Self, FabricFault> {
        let found = match pci::nvswitches(files) {
            Ok(switches) if switches.is_empty() => return Ok(Self(())),
            Ok(switches) => format!("{} is one", switches[0]),
            Err(refusal) => refusal.to_string(),
        };
        Err(FabricFault::NotWithoutFabric { found })
    }

    fn evidence(partition: u32) -> FabricEvidence {
        let note = "no fabric on this host".to_owned();
        FabricEvidence { partition, outcome: FabricOutcome::NoFabric, seen: None, short_of_links: vec![], note }
    }
}

impl FabricPartitions for NoFabric {
    fn list(&self) -> Result<Vec<Partition>, FabricFault> {
        Ok(vec![])
    }

    fn activate(&self, id: u32, expected_modules: &[u8]) -> Result<FabricEvidence, FabricFault> {
        let modules: BTreeSet<u8> = expected_modules.iter().copied().collect();
        if modules.len() == 1 { Ok(Self::evidence(id)) } else { Err(FabricFault::NoFabric { modules }) }
    }

    fn deactivate(&self, id: u32) -> Result<FabricEvidence, FabricFault> {
        Ok(Self::evidence(id))
    }
}

#[cfg(test)]
#[path = "fabric_tests.rs"]
mod tests;
