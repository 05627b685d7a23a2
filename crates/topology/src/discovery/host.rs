//! The host as a machine: who made it, what it was started with, its memory nodes and huge pages.

use super::{HostFacts, Hugepages, NumaNode, scan::Scan};
use crate::tree::joined;

const NODES: &str = "sys/devices/system/node";
const SECURE_BOOT: &str = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// The arguments of the kernel that decide about passing devices to guests.
const ARGUMENTS: &[&str] = &[
    "amd_iommu",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "intel_iommu",
    "iommu",
    "iommu.passthrough",
    "iommu.strict",
    "pci",
    "pcie_acs_override",
    "vfio-pci.ids",
    "vfio_pci.ids",
];

pub(super) fn facts(scan: &mut Scan<'_>, nvidia_driver_version: Option<String>) -> HostFacts {
    let mut dmi = |name: &str| scan.line(&joined("sys/class/dmi/id", name));
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    let (serial, bios_version) = (dmi("product_serial"), dmi("bios_version"));
    let units = scan.tree.children("sys/class/iommu");
    let version = nvidia_driver_version.and_then(|version| scan.printable(crate::probe::NVML, &version));
    HostFacts {
        hostname: scan.line("proc/sys/kernel/hostname"),
        vendor,
        product,
        serial,
        bios_version,
        kernel_release: scan.line("proc/sys/kernel/osrelease"),
        kernel_arguments: kernel_arguments(scan),
        iommu_units: units.into_iter().map(str::to_owned).collect(),
        vfio_loaded: scan.tree.exists("sys/bus/pci/drivers/vfio-pci/new_id"),
        uefi: scan.tree.exists("sys/firmware/efi/fw_platform_size"),
        secure_boot: secure_boot(scan),
        reboot_pending: scan.tree.exists("run/reboot-required"),
        nvidia_driver_version: version,
    }
}

fn kernel_arguments(scan: &mut Scan<'_>) -> Vec<String> {
    let line = scan.tree.text("proc/cmdline").unwrap_or_default();
    let wanted = |argument: &&str| ARGUMENTS.contains(&argument.split('=').next().unwrap_or_default());
    line.split_whitespace().filter(wanted).filter_map(|argument| scan.printable("proc/cmdline", argument)).collect()
}

/// The last of five bytes; the four before it say how the variable may be used.
fn secure_boot(scan: &mut Scan<'_>) -> Option<bool> {
    let hex = scan.line(SECURE_BOOT)?;
    match hex.get(8..).filter(|_| hex.len() == 10) {
        Some("00") => Some(false),
        Some("01") => Some(true),
        _ => {
            scan.note(SECURE_BOOT, "expected five bytes, the last of them 0 or 1");
            None
        }
    }
}

pub(super) fn numa_nodes(scan: &mut Scan<'_>) -> Vec<NumaNode> {
    let mut nodes = Vec::new();
    for name in scan.tree.children(NODES) {
        let Some(number) = name.strip_prefix("node").and_then(|number| number.parse().ok()) else { continue };
        let path = joined(NODES, name);
        let cpus = scan.line(&joined(&path, "cpulist"));
        nodes.push(NumaNode { number, cpus, memory_mib: memory_mib(scan, &path), hugepages: hugepages(scan, &path) });
    }
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// `Node 0 MemTotal:       1056500000 kB`
fn memory_mib(scan: &mut Scan<'_>, path: &str) -> Option<u64> {
    let path = joined(path, "meminfo");
    let text = scan.tree.text(&path)?;
    let total = text.lines().find_map(|line| line.split_once("MemTotal:")?.1.trim().strip_suffix(" kB"));
    let kib = total.and_then(|total| total.trim().parse::<u64>().ok());
    if kib.is_none() {
        scan.note(&path, "expected a line with MemTotal in kB");
    }
    Some(kib? / 1024)
}

fn hugepages(scan: &mut Scan<'_>, path: &str) -> Vec<Hugepages> {
    let path = joined(path, "hugepages");
    let mut pages = Vec::new();
    for name in scan.tree.children(&path) {
        let directory = joined(&path, name);
        let size = name.strip_prefix("hugepages-").and_then(|size| size.strip_suffix("kB")?.parse().ok());
        let total = scan.number(&joined(&directory, "nr_hugepages"));
        match size.zip(total) {
            Some((size_kib, total)) => {
                let free = scan.number(&joined(&directory, "free_hugepages"));
                pages.push(Hugepages { size_kib, total, free });
            }
            None => scan.note(&directory, "shows no number of huge pages"),
        }
    }
    pages.sort_by_key(|pages| pages.size_kib);
    pages
}
