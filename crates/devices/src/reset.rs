//! Resets a function until there is proof that it was reset. The ways to do it form a ladder, and a policy says which rungs
//! may be climbed and in which order:
//!
//! ```text
//!   flr            the function resets itself
//!   bus            the bus above it is reset
//!   remove_rescan  the kernel forgets the function, finds it again, and then resets it by one of the other two
//! ```
//!
//! After each rung the function must be at its address, answer, be the same device and be on the driver that it was on. A rung
//! that fails, or that the device does not offer, is noted and the next is tried; when none is left, it is a fault. To be
//! found again is not to be reset, so the last rung counts only with a reset after it. On that rung the host's driver, if the
//! host has one for the device, gets the function for a moment, with whatever a tenant left in it. So no policy has that rung
//! unless an operator asks for it.
//!
//! It refuses a function that a guest holds, and everything but a reset of its own for a virtual function.

use crate::{
    fault::{Fault, Refusal},
    pci::{self, Approved, DeviceId, PciAddress, PciSeen, VFIO},
    sriov,
    sysfs::{Settle, SysFs},
    vfio::{self, BindStep},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// A rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetMethod {
    /// The function resets itself.
    Flr,
    /// The bus above the function is reset.
    Bus,
    /// The kernel forgets the function, finds it again and resets it.
    RemoveRescan,
}

impl ResetMethod {
    // The kernel's name of the method, where it is one of its own.
    fn kernel_name(self) -> Option<&'static str> {
        match self {
            Self::Flr => Some("flr"),
            Self::Bus => Some("bus"),
            Self::RemoveRescan => None,
        }
    }
}

impl fmt::Display for ResetMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel_name().unwrap_or("remove_rescan"))
    }
}

/// Which rungs may be climbed, and what is known of devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetPolicy {
    /// The rungs in the order in which they are tried.
    pub methods: Vec<ResetMethod>,
    /// Who says of which device that it clears its memory when it is reset. Nothing here can see that it does.
    pub scrub_sources: BTreeMap<DeviceId, String>,
    /// How long a function may take to answer again.
    pub settle: Settle,
}

impl ResetPolicy {
    /// What is done to a GPU where nobody says otherwise.
    pub fn gpu() -> Self {
        Self {
            methods: vec![ResetMethod::Flr, ResetMethod::Bus],
            scrub_sources: BTreeMap::new(),
            settle: Settle::default(),
        }
    }

    /// What is done to a virtual function.
    pub fn virtual_function() -> Self {
        Self { methods: vec![ResetMethod::Flr], ..Self::gpu() }
    }
}

/// How one rung ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The function was reset, and the proof is there.
    Reset,
    /// The device or its place does not allow it; nothing was done.
    NotOffered {
        /// Why.
        why: String,
    },
    /// It was tried and is not proved.
    Failed {
        /// What is missing.
        why: String,
    },
}

/// A rung that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Which one.
    pub method: ResetMethod,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Reset => write!(f, "{} worked", self.method),
            Outcome::NotOffered { why } => write!(f, "{} is not offered: {why}", self.method),
            Outcome::Failed { why } => write!(f, "{} failed: {why}", self.method),
        }
    }
}

/// What is known of a device's memory after its reset. No host can look into it without a driver of its own, so that it was
/// cleared is never seen, only said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scrub", rename_all = "snake_case", deny_unknown_fields)]
pub enum MemoryScrub {
    /// Nobody says that the device clears it.
    NotObserved,
    /// Somebody says that it does.
    SaidBy {
        /// Who, and where.
        source: String,
    },
}

impl fmt::Display for MemoryScrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("scrubbing of its memory was not observed")?;
        match self {
            Self::NotObserved => Ok(()),
            Self::SaidBy { source } => write!(f, ", but this device does it at reset according to {source}"),
        }
    }
}

/// What shows that a function was reset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetEvidence {
    /// Which function.
    pub address: PciAddress,
    /// The rung that worked.
    pub method: ResetMethod,
    /// Every rung that was tried, with that one at the end.
    pub tried: Vec<Tried>,
    /// What the kernel said before.
    pub before: PciSeen,
    /// What it says now.
    pub after: PciSeen,
    /// The driver of the host that had it for a moment when it was found again, before it was reset.
    pub had_by: Option<String>,
    /// What is known of the memory.
    pub memory: MemoryScrub,
}

impl fmt::Display for ResetEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) was reset by {} and answers", self.address, self.after.id(), self.method)?;
        // What a virtual function remembers is its network's, not a memory of its own.
        if self.after.is_vf { Ok(()) } else { write!(f, "; {}", self.memory) }
    }
}

/// Resets a GPU, or another physical function.
pub fn reset_gpu(
    files: &dyn SysFs,
    approved: &Approved,
    address: PciAddress,
    policy: &ResetPolicy,
) -> Result<ResetEvidence, Fault> {
    approved.check(address)?;
    let before = pci::look(files, address)?;
    if before.is_vf {
        return Err(Refusal::Virtual { address }.into());
    }
    if before.id().is_nvswitch() {
        return Err(Refusal::NvSwitch { address, id: before.id() }.into());
    }
    if before.is_bridge_class() {
        return Err(Refusal::Bridge { address, class: before.class }.into());
    }
    climb(files, before, policy)
}

/// Resets a virtual function, by itself only.
pub fn reset_vf(
    files: &dyn SysFs,
    approved: &Approved,
    address: PciAddress,
    policy: &ResetPolicy,
) -> Result<ResetEvidence, Fault> {
    approved.check(address)?;
    let before = pci::look(files, address)?;
    if !before.is_vf {
        return Err(Refusal::NotVirtual { address }.into());
    }
    if let Some(method) = policy.methods.iter().find(|method| **method != ResetMethod::Flr) {
        return Err(Refusal::MethodTooWide { address, method: *method }.into());
    }
    climb(files, before, policy)
}

// What a rung led to: the function afterwards, and the driver of the host that had it in between.
type Reached = (PciSeen, Option<String>);

fn climb(files: &dyn SysFs, before: PciSeen, policy: &ResetPolicy) -> Result<ResetEvidence, Fault> {
    let address = before.address;
    if policy.methods.is_empty() {
        return Err(Refusal::NoMethod { address }.into());
    }
    vfio::refuse_held(files, &before)?;
    let mut tried = vec![];
    for method in &policy.methods {
        let outcome = match method.kernel_name() {
            Some(name) => by_kernel(files, &before, name, policy.settle),
            None => by_rescan(files, &before, policy),
        };
        match outcome {
            Ok((after, had_by)) => {
                tried.push(Tried { method: *method, outcome: Outcome::Reset });
                let source = policy.scrub_sources.get(&after.id()).cloned();
                let memory = source.map_or(MemoryScrub::NotObserved, |source| MemoryScrub::SaidBy { source });
                return Ok(ResetEvidence { address, method: *method, tried, before, after, had_by, memory });
            }
            Err(outcome) => tried.push(Tried { method: *method, outcome }),
        }
    }
    Err(Fault::NotReset { address, tried })
}

fn by_kernel(files: &dyn SysFs, before: &PciSeen, name: &str, settle: Settle) -> Result<Reached, Outcome> {
    let failed = |why: String| Outcome::Failed { why };
    if !before.reset_methods.iter().any(|offered| offered == name) {
        let offered = if before.reset_methods.is_empty() { "none".to_owned() } else { before.reset_methods.join(" ") };
        return Err(Outcome::NotOffered { why: format!("the kernel offers {offered}") });
    }
    let choice = pci::file(before.address, "reset_method");
    vfio::write(files, &choice, name).map_err(|fault| failed(fault.to_string()))?;
    let reset = vfio::write(files, &pci::file(before.address, "reset"), "1");
    // The choice stays with the function, and VFIO resets by it too: it has to be what it was.
    let restored = vfio::write(files, &choice, &before.reset_methods.join(" "));
    reset.and(restored).map_err(|fault| failed(fault.to_string()))?;
    settle.until(|| same(files, before)).map(|after| (after, None)).map_err(failed)
}

fn by_rescan(files: &dyn SysFs, before: &PciSeen, policy: &ResetPolicy) -> Result<Reached, Outcome> {
    let failed = |why: String| Outcome::Failed { why };
    let children = sriov::list(files, before.address).map_err(|refusal| failed(refusal.to_string()))?;
    if let Some(child) = children.first() {
        return Err(Outcome::NotOffered { why: format!("its virtual function {child} would go with it") });
    }
    let stranger = remove_and_rescan(files, before, policy.settle).map_err(|fault| failed(fault.to_string()))?;
    let found = policy.settle.until(|| same(files, before)).map_err(failed)?;
    let mut why = "it was found again, but not reset".to_owned();
    // The last of the others first: what was tried early on may be what the function did not survive.
    for name in policy.methods.iter().rev().filter_map(|method| method.kernel_name()) {
        match by_kernel(files, &found, name, policy.settle) {
            Ok((after, _)) => return Ok((after, stranger)),
            Err(Outcome::Failed { why: more } | Outcome::NotOffered { why: more }) => {
                why = format!("{why}: {name}: {more}");
            }
            Err(Outcome::Reset) => {}
        }
    }
    Err(failed(why))
}

// The kernel forgets which driver a function was kept for together with the function, and gives what it finds to the host's
// driver at once; nothing in sysfs keeps it from that. So the function is taken from there again, and who had it is told.
fn remove_and_rescan(files: &dyn SysFs, before: &PciSeen, settle: Settle) -> Result<Option<String>, Fault> {
    let address = before.address;
    vfio::write(files, &pci::file(address, "remove"), "1")?;
    vfio::write(files, "bus/pci/rescan", "1")?;
    let found = settle.until(|| pci::look(files, address))?;
    let kept_for = before.driver_override.as_deref().or(before.driver.as_deref().filter(|name| *name == VFIO));
    if let Some(name) = kept_for {
        vfio::write(files, &pci::file(address, "driver_override"), name)?;
    }
    let stranger = found.driver.filter(|driver| before.driver.as_ref() != Some(driver));
    if let Some(driver) = &stranger {
        vfio::take(files, address, &BindStep::Unbind { driver: driver.clone() })?;
    }
    if before.driver.is_some() {
        vfio::take(files, address, &BindStep::Probe)?;
    }
    Ok(stranger)
}

fn same(files: &dyn SysFs, before: &PciSeen) -> Result<PciSeen, String> {
    let after = pci::look(files, before.address).map_err(|refusal| refusal.to_string())?;
    let differences = compare(before, &after);
    if differences.is_empty() { Ok(after) } else { Err(differences.join(", ")) }
}

/// What speaks against a function being the same, alive and where it was. Nothing means that nothing does.
pub fn compare(before: &PciSeen, after: &PciSeen) -> Vec<String> {
    let mut found = vec![];
    if !after.config_readable {
        found.push("its configuration space does not answer".to_owned());
    }
    let mut same = |what: &str, before: String, after: String| {
        if before != after {
            found.push(format!("its {what} was {before} and is {after}"));
        }
    };
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
    same("address", before.address.to_string(), after.address.to_string());
    same("vendor and device", before.id().to_string(), after.id().to_string());
    same("class", format!("{:06x}", before.class), format!("{:06x}", after.class));
    same("driver", name(&before.driver), name(&after.driver));
    if before.driver_override.is_some() {
        same("driver override", name(&before.driver_override), name(&after.driver_override));
    }
    // A function that did not answer before could not tell its number then.
    if before.device_serial.is_some() {
        same("serial number", name(&before.device_serial), name(&after.device_serial));
    }
    // The kernel may count the groups anew; who is in it must stay.
    same("IOMMU group", group(before), group(after));
    found
}

fn group(seen: &PciSeen) -> String {
    let others: Vec<String> = seen.group_members.iter().map(ToString::to_string).collect();
    match seen.iommu_group {
        None => "none".to_owned(),
        Some(_) if others.is_empty() => "its own".to_owned(),
        Some(_) => format!("shared with {}", others.join(" ")),
    }
}

#[cfg(test)]
#[path = "reset_tests.rs"]
mod tests;
