//! A real kernel with an IOMMU: an NVMe disk and a virtual network function go to VFIO, are reset there, and go back. Meant for
//! the guest that stands for a node, with an emulated IOMMU, NVMe disks and an SR-IOV network card, and runs nowhere else. It
//! takes only a disk that nothing uses, and gives back what it took, also when it fails.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use devices::{
    Approved, Fault, HostFiles, PciAddress, PciSeen, Refusal, ResetEvidence, ResetMethod, ResetPolicy, Settle, SysFs,
    pci, reset, sriov, vfio,
};
use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

const NVME: u32 = 0x01_0802;
const ETHERNET: u32 = 0x02_0000;

// The tests change the same bus.
static BUS: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    BUS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether what a test needs is there. If not it says so, or fails where everything must run.
fn can_run<T>(name: &str, needed: Result<T, String>) -> Option<T> {
    match needed {
        Ok(found) => Some(found),
        Err(reason) => {
            assert!(std::env::var("GPUAAS_REAL").as_deref() != Ok("require"), "{name} cannot run: {reason}");
            println!("SKIPPED {name}: {reason}");
            None
        }
    }
}

fn host() -> Result<HostFiles, String> {
    let files = HostFiles::default();
    let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let groups = files.list("kernel/iommu_groups").unwrap_or_default();
    // Drivers are taken from devices here, which nobody wants on a machine of his own.
    let thrown_away = std::env::var("GPUAAS_NODE_GUEST").as_deref() == Ok("1");
    let checks = [
        (thrown_away, "this is not the node guest, which is thrown away afterwards (GPUAAS_NODE_GUEST=1)"),
        (root, "not root"),
        (!groups.is_empty(), "there are no IOMMU groups"),
        (files.list("bus/pci/drivers/vfio-pci").is_ok(), "the driver vfio-pci is not loaded"),
    ];
    checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(files), |(_, reason)| Err(reason.to_owned()))
}

fn functions(files: &HostFiles) -> Vec<PciSeen> {
    pci::all(files).unwrap().into_iter().filter_map(|address| pci::look(files, address).ok()).collect()
}

// A disk of which no part is mounted, swapped to or otherwise held: the kernel gives it to one who wants it alone.
fn unused(files: &HostFiles, address: PciAddress) -> bool {
    let folder = format!("bus/pci/devices/{address}/nvme");
    let Ok(controllers) = files.list(&folder) else { return false };
    let named = |name: &String| controllers.iter().any(|controller| name.starts_with(&format!("{controller}n")));
    let disks: Vec<String> = files.list("block").unwrap().into_iter().filter(named).collect();
    let excl = i32::try_from(rustix::fs::OFlags::EXCL.bits()).unwrap();
    let free = |disk: &String| {
        let path = Path::new("/dev").join(disk);
        OpenOptions::new().read(true).write(true).custom_flags(excl).open(path).is_ok()
    };
    !disks.is_empty() && disks.iter().all(free)
}

fn nvme(files: &HostFiles) -> Result<PciAddress, String> {
    let disks = functions(files).into_iter().filter(|seen| seen.class == NVME && seen.iommu_group.is_some());
    let mut free = disks.map(|seen| seen.address).filter(|address| unused(files, *address));
    free.next_back().ok_or_else(|| "there is no NVMe disk in an IOMMU group that nothing uses".to_owned())
}

fn network_card(files: &HostFiles) -> Result<PciAddress, String> {
    let capable = |seen: &PciSeen| {
        let count = |name: &str| {
            let text = files.read(&format!("bus/pci/devices/{}/{name}", seen.address)).ok()?;
            String::from_utf8(text).ok()?.trim().parse::<u32>().ok()
        };
        // One that has virtual functions already has a use for them.
        seen.class == ETHERNET && count("sriov_totalvfs") >= Some(2) && count("sriov_numvfs") == Some(0)
    };
    let card = functions(files).into_iter().find(capable).map(|seen| seen.address);
    card.ok_or_else(|| "there is no network card that can have virtual functions and has none".to_owned())
}

/// Gives everything back, whatever happened.
struct Taken<'a> {
    files: &'a HostFiles,
    approved: Approved,
    functions: Vec<PciAddress>,
    card: Option<PciAddress>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        for address in &self.functions {
            let _ = vfio::return_to_host(self.files, &self.approved, *address, Settle::default());
        }
        if let Some(card) = self.card {
            let _ = sriov::set_count(self.files, &self.approved, card, 0, Settle::default());
        }
    }
}

fn to_vfio(files: &HostFiles, approved: &Approved, address: PciAddress) {
    let before = pci::look(files, address).unwrap();
    let evidence = vfio::bind(files, approved, &[address], Settle::default()).unwrap().remove(0);
    println!("{}", serde_json::to_string(&evidence).unwrap());
    assert_eq!(evidence.driver_before, before.driver);
    assert!(evidence.changed);
    assert_eq!(evidence.seen.driver.as_deref(), Some(pci::VFIO));
    assert!(Path::new("/dev").join(&evidence.group_node).exists());
    let again = vfio::bind(files, approved, &[address], Settle::default()).unwrap().remove(0);
    assert!(!again.changed, "twice is once");
    // Whoever opens the group has it; nothing may be done to the function then.
    let guest = OpenOptions::new().read(true).write(true).open(Path::new("/dev").join(&evidence.group_node)).unwrap();
    let held = Fault::from(Refusal::Held { address, group: evidence.iommu_group });
    assert_eq!(vfio::return_to_host(files, approved, address, Settle::default()).unwrap_err(), held);
    drop(guest);
}

fn back(files: &HostFiles, approved: &Approved, address: PciAddress, driver: Option<&str>) {
    let evidence = vfio::return_to_host(files, approved, address, Settle::default()).unwrap();
    println!("{}", serde_json::to_string(&evidence).unwrap());
    assert_eq!(evidence.seen.unwrap().driver.as_deref(), driver);
    assert!(!vfio::return_to_host(files, approved, address, Settle::default()).unwrap().changed, "twice is once");
}

fn shown(evidence: &ResetEvidence) {
    println!("{}", serde_json::to_string(evidence).unwrap());
    assert!(evidence.after.config_readable);
    assert_eq!(evidence.after.driver, evidence.before.driver);
    assert_eq!(evidence.after.reset_methods, evidence.before.reset_methods, "the kernel's choice is what it was");
}

#[test]
fn a_disk_goes_to_vfio_is_reset_and_goes_back() {
    let _alone = alone();
    let needed = host().and_then(|files| nvme(&files).map(|disk| (files, disk)));
    let name = "a_disk_goes_to_vfio_is_reset_and_goes_back";
    let Some((files, disk)) = can_run(name, needed) else { return };
    let before = pci::look(&files, disk).unwrap();
    println!("{}", serde_json::to_string(&before).unwrap());
    assert!(before.config_readable && before.nvme_serial.is_some());
    let approved: Approved = [disk].into_iter().collect();
    let _taken = Taken { files: &files, approved: approved.clone(), functions: vec![disk], card: None };
    to_vfio(&files, &approved, disk);
    let by = |methods: &[ResetMethod]| {
        let policy = ResetPolicy { methods: methods.to_vec(), ..ResetPolicy::gpu() };
        reset::reset_gpu(&files, &approved, disk, &policy)
    };
    let ready = pci::look(&files, disk).unwrap();
    shown(&by(&[ResetMethod::Flr]).unwrap());
    // An emulated port may never say that its link is up again, and then the kernel calls the reset of its bus a failure. That
    // has to be told as one, and the function has to be as it was.
    match by(&[ResetMethod::Bus]) {
        Ok(evidence) => shown(&evidence),
        Err(fault @ Fault::NotReset { .. }) => {
            println!("bus: {fault}");
            assert_eq!(pci::look(&files, disk).unwrap(), ready);
        }
        Err(fault) => panic!("{fault}"),
    }
    // Found again first, then reset.
    let evidence = by(&[ResetMethod::RemoveRescan, ResetMethod::Flr]).unwrap();
    shown(&evidence);
    assert_eq!(evidence.method, ResetMethod::RemoveRescan, "{:?}", evidence.tried);
    assert_eq!(evidence.had_by.as_deref(), Some("nvme"), "the kernel gives what it finds to the host's driver");
    back(&files, &approved, disk, Some("nvme"));
    let again = Settle::default().until(|| {
        let seen = pci::look(&files, disk).unwrap();
        if seen.nvme_serial == before.nvme_serial { Ok(seen) } else { Err(seen) }
    });
    assert_eq!(again.unwrap().nvme_serial, before.nvme_serial, "it is the disk that it was");
}

#[test]
fn a_virtual_function_is_made_goes_to_vfio_is_reset_and_goes_back() {
    let _alone = alone();
    let needed = host().and_then(|files| network_card(&files).map(|card| (files, card)));
    let name = "a_virtual_function_is_made_goes_to_vfio_is_reset_and_goes_back";
    let Some((files, card)) = can_run(name, needed) else { return };
    let approved: Approved = [card].into_iter().collect();
    let mut taken = Taken { files: &files, approved: approved.clone(), functions: vec![], card: Some(card) };
    let made = sriov::set_count(&files, &approved, card, 2, Settle::default()).unwrap();
    assert_eq!(made.len(), 2);
    assert_eq!(sriov::set_count(&files, &approved, card, 2, Settle::default()).unwrap(), made, "twice is once");
    let approved: Approved = [card, made[0]].into_iter().collect();
    taken.approved = approved.clone();
    taken.functions = vec![made[0]];
    let seen = sriov::look(&files, &approved, made[0]).unwrap();
    println!("{}", serde_json::to_string(&seen).unwrap());
    assert_eq!((seen.physfn, seen.index, seen.pci.is_vf), (card, 0, true));
    assert_eq!(sriov::look(&files, &approved, made[1]), Err(Refusal::NotApproved { address: made[1] }));
    let driver = seen.pci.driver.clone();
    to_vfio(&files, &approved, made[0]);
    shown(&reset::reset_vf(&files, &approved, made[0], &ResetPolicy::virtual_function()).unwrap());
    let kept = Fault::from(Refusal::VirtualFunctionTaken { address: card, other: made[0] });
    assert_eq!(sriov::set_count(&files, &approved, card, 0, Settle::default()).unwrap_err(), kept);
    back(&files, &approved, made[0], driver.as_deref());
    assert_eq!(sriov::set_count(&files, &approved, card, 0, Settle::default()).unwrap(), []);
    let missing = Err(Refusal::Missing { address: made[0] });
    assert_eq!(pci::look(&files, made[0]), missing);
}

#[test]
fn bridges_and_strangers_are_refused_on_a_real_bus() {
    let _alone = alone();
    let name = "bridges_and_strangers_are_refused_on_a_real_bus";
    let Some(files) = can_run(name, host()) else { return };
    let seen = functions(&files);
    let approved: Approved = seen.iter().filter(|seen| seen.is_bridge_class()).map(|seen| seen.address).collect();
    for one in &seen {
        let refused = vfio::bind(&files, &approved, &[one.address], Settle::NONE).unwrap_err();
        let expected = if one.is_bridge_class() {
            Refusal::Bridge { address: one.address, class: one.class }
        } else {
            Refusal::NotApproved { address: one.address }
        };
        assert_eq!(refused, expected.into());
        assert_eq!(pci::look(&files, one.address).unwrap().driver, one.driver);
    }
}
