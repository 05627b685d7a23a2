//! Virtual functions: how many a physical function has, which they are, and what can be read of one. Their number changes only
//! while none of them is with VFIO, because the kernel takes all away before it makes others.
//!
//! What a tenant may have left in a virtual function is its addresses. They are told where the host can read them, which it
//! cannot while the function is with VFIO and its physical function's driver does not show them; `None` says only that.

use crate::{
    fault::{Fault, Refusal},
    pci::{self, Approved, PciAddress, PciSeen, VFIO},
    sysfs::{Settle, SysFs},
    vfio,
};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;

/// What can be read of a virtual function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VfSeen {
    /// The function itself.
    pub pci: PciSeen,
    /// The physical function that made it.
    pub physfn: PciAddress,
    /// Which of its virtual functions it is, from 0.
    pub index: u32,
    /// Its Ethernet address, where it can be read.
    pub mac: Option<String>,
    /// Its InfiniBand node GUID, where it can be read.
    pub node_guid: Option<String>,
    /// Its InfiniBand port GUID, where it can be read.
    pub port_guid: Option<String>,
}

/// The virtual functions of a physical one, in the order of their numbers.
pub fn list(files: &dyn SysFs, address: PciAddress) -> Result<Vec<PciAddress>, Refusal> {
    let folder = format!("bus/pci/devices/{address}");
    let names = match files.list(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Refusal::Missing { address }),
        names => names.map_err(|error| pci::unreadable(&folder, error))?,
    };
    let mut found = vec![];
    for name in names.iter().filter_map(|name| name.strip_prefix("virtfn")) {
        let path = pci::file(address, &format!("virtfn{name}"));
        let index: u32 = pci::parsed(&path, name)?;
        let target = files.read_link(&path).map_err(|error| pci::unreadable(&path, error))?;
        found.push((index, pci::parsed(&path, &target)?));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, address)| address).collect())
}

/// Looks at an approved virtual function.
pub fn look(files: &dyn SysFs, approved: &Approved, address: PciAddress) -> Result<VfSeen, Refusal> {
    approved.check(address)?;
    let pci = pci::look(files, address)?;
    let physfn = pci.physfn.ok_or(Refusal::NotVirtual { address })?;
    let siblings = list(files, physfn)?;
    let index = siblings.iter().position(|sibling| *sibling == address).and_then(|index| u32::try_from(index).ok());
    let not_listed = || pci::unreadable(&pci::file(physfn, "virtfn*"), format!("{address} is not among them"));
    let index = index.ok_or_else(not_listed)?;
    // Drivers that show what they keep for a virtual function do so below their own; the function's driver, if the host has
    // it, shows what the function itself says.
    let kept = |name: &str| readable(files, &pci::file(physfn, &format!("sriov/{index}/{name}")));
    let own = |class: &str, name: &str| {
        let folder = pci::file(address, class);
        let first = files.list(&folder).ok()?.into_iter().next()?;
        readable(files, &format!("{folder}/{first}/{name}"))
    };
    let mac = own("net", "address").or_else(|| kept("mac"));
    let node_guid = own("infiniband", "node_guid").or_else(|| kept("node"));
    Ok(VfSeen { physfn, index, mac, node_guid, port_guid: kept("port"), pci })
}

fn readable(files: &dyn SysFs, path: &str) -> Option<String> {
    pci::text(files, path).ok().flatten()
}

/// Gives an approved physical function this many virtual ones, and answers which they are.
pub fn set_count(
    files: &dyn SysFs,
    approved: &Approved,
    address: PciAddress,
    wanted: u32,
    settle: Settle,
) -> Result<Vec<PciAddress>, Fault> {
    approved.check(address)?;
    if pci::look(files, address)?.is_vf {
        return Err(Refusal::Virtual { address }.into());
    }
    let number = |name: &str| -> Result<u32, Refusal> {
        let path = pci::file(address, name);
        let found = pci::text(files, &path)?.ok_or(Refusal::NoVirtualFunctions { address })?;
        pci::parsed(&path, &found)
    };
    let (most, now) = (number("sriov_totalvfs")?, number("sriov_numvfs")?);
    if wanted > most {
        return Err(Refusal::TooManyVirtualFunctions { address, most, wanted }.into());
    }
    if now != wanted {
        for other in list(files, address)? {
            if pci::look(files, other)?.driver.as_deref() == Some(VFIO) {
                return Err(Refusal::VirtualFunctionTaken { address, other }.into());
            }
        }
        let path = pci::file(address, "sriov_numvfs");
        if now != 0 {
            vfio::write(files, &path, "0")?;
        }
        if wanted != 0 {
            vfio::write(files, &path, &wanted.to_string())?;
        }
    }
    settle.until(|| {
        let (count, found) = (number("sriov_numvfs")?, list(files, address)?);
        let listed = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let wrong = [count, listed].into_iter().find(|seen| *seen != wanted);
        wrong.map_or(Ok(found), |found| Err(Fault::WrongCount { address, expected: wanted, found }))
    })
}

#[cfg(test)]
#[path = "sriov_tests.rs"]
mod tests;
