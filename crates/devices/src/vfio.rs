//! Gives functions to VFIO, by which a guest gets them, and back to the host. Everything is checked for all functions before
//! the first write; afterwards the kernel is asked again, and only its answer counts.
//!
//! The IOMMU keeps groups apart, not functions. So a function goes to VFIO only when nothing else of its group works for the
//! host. It refuses what was not approved, bridges, and the switches of an NVLink fabric, which all guests share.
//!
//! A function that was taken from its host driver and did not arrive is left without one: no guest can get it, and the host
//! does not use it.

use crate::{
    fault::{Fault, Refusal},
    pci::{self, Approved, PciAddress, PciSeen, VFIO},
    sysfs::{Node, Settle, SysFs},
};
use serde::{Deserialize, Serialize};

const PROBE: &str = "bus/pci/drivers_probe";

/// One thing to do to a function on its way to VFIO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindStep {
    /// Say that only VFIO may take it.
    Override,
    /// Take it from the driver that has it.
    Unbind {
        /// That driver.
        driver: String,
    },
    /// Let the kernel look for a driver.
    Probe,
}

/// What shows that a function is with VFIO.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindEvidence {
    /// Which function.
    pub address: PciAddress,
    /// The driver that it was on before.
    pub driver_before: Option<String>,
    /// Its IOMMU group.
    pub iommu_group: u32,
    /// The node below `/dev` by which a guest gets the group.
    pub group_node: String,
    /// Whether anything had to be done.
    pub changed: bool,
    /// What the kernel says of it now.
    pub seen: PciSeen,
}

/// What shows that a function is back with the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReturnEvidence {
    /// Which function.
    pub address: PciAddress,
    /// Whether anything had to be done.
    pub changed: bool,
    /// What the kernel says of it now; nothing if it is not on the bus.
    pub seen: Option<PciSeen>,
}

/// Decides whether a function may go to VFIO and what that takes. `group` holds what was seen of the other functions of its
/// group, `together` the functions that go with it.
pub fn plan(
    seen: &PciSeen,
    group: &[PciSeen],
    approved: &Approved,
    together: &[PciAddress],
) -> Result<Vec<BindStep>, Refusal> {
    let address = seen.address;
    approved.check(address)?;
    if seen.id().is_nvswitch() {
        return Err(Refusal::NvSwitch { address, id: seen.id() });
    }
    if seen.is_bridge_class() {
        return Err(Refusal::Bridge { address, class: seen.class });
    }
    let group_number = seen.iommu_group.ok_or(Refusal::NoIommuGroup { address })?;
    for other in group {
        let harmless = other.is_plain_bridge() || together.contains(&other.address);
        if let Some(driver) = other.driver.as_deref().filter(|driver| *driver != VFIO && !harmless) {
            let (other, driver) = (other.address, driver.to_owned());
            return Err(Refusal::GroupShared { group: group_number, other, driver });
        }
    }
    let mut steps = vec![];
    if seen.driver_override.as_deref() != Some(VFIO) {
        steps.push(BindStep::Override);
    }
    match seen.driver.as_deref() {
        Some(VFIO) => {}
        Some(driver) => steps.extend([BindStep::Unbind { driver: driver.to_owned() }, BindStep::Probe]),
        None => steps.push(BindStep::Probe),
    }
    Ok(steps)
}

/// Brings functions to VFIO and keeps them there. All of a group that work for the host must be named together.
pub fn bind(
    files: &dyn SysFs,
    approved: &Approved,
    addresses: &[PciAddress],
    settle: Settle,
) -> Result<Vec<BindEvidence>, Fault> {
    let mut planned = vec![];
    for address in addresses {
        // Before any look: a function that is not ours to touch is none to read, either.
        approved.check(*address)?;
        let seen = pci::look(files, *address)?;
        let group: Result<Vec<_>, _> = seen.group_members.iter().map(|other| pci::look(files, *other)).collect();
        planned.push((plan(&seen, &group?, approved, addresses)?, seen));
    }
    let changes = planned.iter().any(|(steps, _)| !steps.is_empty());
    if changes && files.list(&format!("bus/pci/drivers/{VFIO}")).is_err() {
        return Err(Refusal::NoVfioDriver.into());
    }
    for (steps, seen) in &planned {
        for step in steps {
            take(files, seen.address, step)?;
        }
    }
    let evidence = |(steps, before): &(Vec<BindStep>, PciSeen)| {
        let mut evidence = settle.until(|| bound(files, before.address))?;
        evidence.driver_before.clone_from(&before.driver);
        evidence.changed = !steps.is_empty();
        Ok(evidence)
    };
    planned.iter().map(evidence).collect()
}

/// Whether a function is with VFIO now; the fault says what is missing.
pub fn bound(files: &dyn SysFs, address: PciAddress) -> Result<BindEvidence, Fault> {
    let seen = pci::look(files, address)?;
    let kept = |expected: &str, found: Option<&str>| match found {
        Some(VFIO) => Ok(()),
        other => {
            let found = other.unwrap_or("none").to_owned();
            Err(Fault::WrongDriver { address, expected: expected.to_owned(), found })
        }
    };
    kept(VFIO, seen.driver.as_deref())?;
    // Without it the host's driver takes the function at the next probe.
    kept("an override for vfio-pci", seen.driver_override.as_deref())?;
    let iommu_group = seen.iommu_group.ok_or(Refusal::NoIommuGroup { address })?;
    let group_node = format!("vfio/{iommu_group}");
    match files.node(&group_node) {
        Ok(Node::Free | Node::Held) => {}
        Ok(Node::Absent) => return Err(Fault::NoGroupNode { address, node: group_node }),
        Err(error) => return Err(pci::unreadable(&group_node, error).into()),
    }
    let driver_before = seen.driver.clone();
    Ok(BindEvidence { address, driver_before, iommu_group, group_node, changed: false, seen })
}

/// Gives a function back to whatever driver of the host wants it. One that is not there any more needs nothing.
pub fn return_to_host(
    files: &dyn SysFs,
    approved: &Approved,
    address: PciAddress,
    settle: Settle,
) -> Result<ReturnEvidence, Fault> {
    approved.check(address)?;
    let seen = match pci::look(files, address) {
        Err(Refusal::Missing { .. }) => return Ok(ReturnEvidence { address, changed: false, seen: None }),
        looked => looked?,
    };
    refuse_held(files, &seen)?;
    let (on_vfio, overridden) = (seen.driver.as_deref() == Some(VFIO), seen.driver_override.is_some());
    if !on_vfio && !overridden && seen.driver.is_some() {
        return Ok(ReturnEvidence { address, changed: false, seen: Some(seen) });
    }
    if overridden {
        // An empty line is how the kernel is told to forget it.
        write(files, &pci::file(address, "driver_override"), "\n")?;
    }
    if on_vfio {
        take(files, address, &BindStep::Unbind { driver: VFIO.to_owned() })?;
    }
    take(files, address, &BindStep::Probe)?;
    let seen = settle.until(|| {
        let seen = pci::look(files, address)?;
        let left = seen.driver.as_deref() != Some(VFIO) && seen.driver_override.is_none();
        let expected = "a driver of the host".to_owned();
        if left { Ok(seen) } else { Err(Fault::WrongDriver { address, expected, found: VFIO.to_owned() }) }
    })?;
    Ok(ReturnEvidence { address, changed: on_vfio || overridden, seen: Some(seen) })
}

/// Refuses a function whose group a guest has open.
pub(crate) fn refuse_held(files: &dyn SysFs, seen: &PciSeen) -> Result<(), Refusal> {
    let Some(group) = seen.iommu_group.filter(|_| seen.driver.as_deref() == Some(VFIO)) else { return Ok(()) };
    let node = format!("vfio/{group}");
    match files.node(&node) {
        Ok(Node::Held) => Err(Refusal::Held { address: seen.address, group }),
        Ok(Node::Free | Node::Absent) => Ok(()),
        Err(error) => Err(pci::unreadable(&node, error)),
    }
}

/// Does one step.
pub(crate) fn take(files: &dyn SysFs, address: PciAddress, step: &BindStep) -> Result<(), Fault> {
    match step {
        BindStep::Override => write(files, &pci::file(address, "driver_override"), VFIO),
        BindStep::Unbind { driver } => write(files, &format!("bus/pci/drivers/{driver}/unbind"), &address.to_string()),
        BindStep::Probe => write(files, PROBE, &address.to_string()),
    }
}

/// Writes, and says to which file it did not go.
pub(crate) fn write(files: &dyn SysFs, path: &str, text: &str) -> Result<(), Fault> {
    let fault = |error: std::io::Error| Fault::Write {
        path: path.to_owned(),
        text: text.trim().to_owned(),
        why: error.to_string(),
    };
    files.write(path, text).map_err(fault)
}

#[cfg(test)]
#[path = "vfio_tests.rs"]
mod tests;
