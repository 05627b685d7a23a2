//! Whether a host is fit to be cut into slices, check by check, in words that say what is missing and what to do about it.
//!
//! A check is `ok`, `missing` or `unknown`. Unknown is what it says: nobody could look. It counts against the host, because
//! a guest that fails to start on a host that looked fine costs more than a second look.

use crate::{
    discovery::{Discovery, FabricFunction, FabricRole, GpuVendor},
    probe::{FabricMode, FabricServiceState, Tool},
};
use model::text_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const GIB: u64 = 1024 * 1024 * 1024;
const GIB_PAGE_KIB: u64 = 1024 * 1024;
/// Room for the images of a few guests.
pub const IMAGE_CACHE_FREE_BYTES_MIN: u64 = 20 * GIB;
/// The driver under which a device waits for a guest.
pub const HANDOVER_DRIVER: &str = "vfio-pci";

text_enum! {
    /// What is checked.
    ReadinessCheckName {
        /// There is something to sell.
        Gpus = "gpus",
        /// GPUs are bound to a driver that knows them.
        GpuDriver = "gpu_driver",
        /// The fabric manager isolates sets of GPUs.
        FabricManager = "fabric_manager",
        /// The IOMMU is on, so that guests see only their own memory.
        Iommu = "iommu",
        /// Devices can be handed to guests.
        Vfio = "vfio",
        /// There is a virtual fabric function for each GPU.
        Sriov = "sriov",
        /// It can be seen which disks are in use.
        DiskState = "disk_state",
        /// Memory is set aside for guests in pages of 1 GiB.
        Hugepages = "hugepages",
        /// Guests can be started.
        Libvirt = "libvirt",
        /// Guests can boot.
        UefiFirmware = "uefi_firmware",
        /// Guests can be connected.
        Ovs = "ovs",
        /// Guests can be told their first settings.
        CloudInitTools = "cloud_init_tools",
        /// Fabric functions can be set up.
        RdmaTools = "rdma_tools",
        /// Guest images have a place.
        ImageCache = "image_cache",
        /// Whether the firmware starts only signed systems. For information.
        SecureBoot = "secure_boot",
        /// Whether an update waits for a reboot. For information.
        PendingReboot = "pending_reboot",
    }
}

impl ReadinessCheckName {
    /// Whether slices need it; the others are for information.
    pub const fn is_needed_for_slices(self) -> bool {
        !matches!(self, Self::SecureBoot | Self::PendingReboot)
    }
}

text_enum! {
    /// How a check came out.
    ReadinessState {
        /// As it should be.
        Ok = "ok",
        /// Something is missing.
        Missing = "missing",
        /// Nobody could look.
        Unknown = "unknown",
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadinessCheck {
    /// What was checked.
    pub check: ReadinessCheckName,
    /// How it came out.
    pub state: ReadinessState,
    /// Whether slices need it.
    pub required: bool,
    /// What was found.
    pub detail: String,
    /// What to do, unless it is fine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Whether that takes a reboot.
    pub reboot_required: bool,
}

/// Every check, in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Readiness {
    /// One for each [`ReadinessCheckName`].
    pub checks: Vec<ReadinessCheck>,
    /// Whether putting it right takes a reboot.
    pub reboot_required: bool,
}

impl Readiness {
    /// Whether everything that slices need is in order. No checks at all are no evidence.
    pub fn ready(&self) -> bool {
        !self.checks.is_empty() && self.blocking().next().is_none()
    }

    /// The checks that stand in the way.
    pub fn blocking(&self) -> impl Iterator<Item = &ReadinessCheck> {
        self.checks.iter().filter(|check| check.required && check.state != ReadinessState::Ok)
    }
}

/// Judges a host.
pub fn readiness(discovery: &Discovery) -> Readiness {
    let checks: Vec<ReadinessCheck> = ReadinessCheckName::ALL.iter().map(|name| check(*name, discovery)).collect();
    let reboot_required = checks.iter().any(|check| check.reboot_required);
    Readiness { checks, reboot_required }
}

/// How a check came out, before it is given its name.
struct Outcome {
    state: ReadinessState,
    detail: String,
    remedy: Option<String>,
    reboot: bool,
}

fn ok(detail: impl Into<String>) -> Outcome {
    Outcome { state: ReadinessState::Ok, detail: detail.into(), remedy: None, reboot: false }
}

fn missing(detail: impl Into<String>, remedy: impl Into<String>) -> Outcome {
    Outcome { state: ReadinessState::Missing, detail: detail.into(), remedy: Some(remedy.into()), reboot: false }
}

fn unknown(detail: impl Into<String>, remedy: impl Into<String>) -> Outcome {
    Outcome { state: ReadinessState::Unknown, detail: detail.into(), remedy: Some(remedy.into()), reboot: false }
}

impl Outcome {
    fn after_reboot(self) -> Self {
        Self { reboot: true, ..self }
    }
}

fn check(name: ReadinessCheckName, d: &Discovery) -> ReadinessCheck {
    use ReadinessCheckName as Name;
    let outcome = match name {
        Name::Gpus => gpus(d),
        Name::GpuDriver => gpu_driver(d),
        Name::FabricManager => fabric_isolation(d),
        Name::Iommu => iommu(d),
        Name::Vfio => vfio(d),
        Name::Sriov => sriov(d),
        Name::DiskState => disk_state(d),
        Name::Hugepages => hugepages(d),
        Name::Libvirt => {
            let all = [Tool::QemuSystem, Tool::QemuImg, Tool::LibvirtSocket];
            tools(d, &all, "Install qemu-system-x86, qemu-utils and libvirt-daemon-system, and start libvirtd.")
        }
        Name::UefiFirmware => tools(d, &[Tool::UefiFirmware], "Install the package ovmf."),
        Name::Ovs => tools(d, &[Tool::OvsVsctl, Tool::OvsDbSocket], "Install openvswitch-switch and start it."),
        Name::CloudInitTools => cloud_init_tools(d),
        Name::RdmaTools => {
            let all = [Tool::IbvDevinfo, Tool::Rdma];
            tools(d, &all, "Install ibverbs-utils, rdma-core and iproute2.")
        }
        Name::ImageCache => image_cache(d),
        Name::SecureBoot => secure_boot(d),
        Name::PendingReboot => pending_reboot(d),
    };
    ReadinessCheck {
        check: name,
        state: outcome.state,
        required: name.is_needed_for_slices(),
        detail: outcome.detail,
        remedy: outcome.remedy,
        reboot_required: outcome.reboot,
    }
}

fn gpus(d: &Discovery) -> Outcome {
    let mig = d.gpus.iter().filter(|gpu| gpu.mig_enabled == Some(true)).count();
    match d.gpus.len() {
        0 => missing(
            "No GPU was found on the PCI bus.",
            "Check that the GPUs are seated and powered, then discover again.",
        ),
        _ if mig > 0 => missing(
            format!(
                "{mig} of {} GPUs are cut into MIG instances; such a GPU takes no part in the fabric.",
                d.gpus.len()
            ),
            "Switch MIG off with `nvidia-smi -mig 0` and reset the GPUs.",
        ),
        count => ok(format!("{count} GPUs were found.")),
    }
}

fn gpu_driver(d: &Discovery) -> Outcome {
    let knows = |vendor: GpuVendor| if vendor == GpuVendor::Amd { "amdgpu" } else { "nvidia" };
    let strange: Vec<String> = d
        .gpus
        .iter()
        .filter(|gpu| {
            gpu.pci.driver.as_deref().is_none_or(|driver| driver != knows(gpu.vendor) && driver != HANDOVER_DRIVER)
        })
        .map(|gpu| format!("{} ({})", gpu.pci.address, gpu.pci.driver.as_deref().unwrap_or("no driver")))
        .collect();
    if d.gpus.is_empty() {
        return unknown("There is no GPU to look at.", "See the check `gpus`.");
    }
    if !strange.is_empty() {
        return missing(
            format!("GPUs without a driver that knows them: {}.", strange.join(", ")),
            "Install the maker's data-centre driver and bind the GPUs to it.",
        );
    }
    let version = d.host.nvidia_driver_version.as_deref().map(|version| format!(" The NVIDIA driver is {version}."));
    ok(format!("Every GPU is bound to its driver or waits for a guest.{}", version.unwrap_or_default()))
}

fn fabric_isolation(d: &Discovery) -> Outcome {
    if d.nvswitches.is_empty() {
        return ok("There is no NVSwitch, so no fabric manager is needed.");
    }
    let start = "Install nvidia-fabricmanager in the driver's version and start it.";
    let Some(told) = &d.fabric_manager else {
        return unknown("There are NVSwitches, and the fabric manager could not be asked.", start);
    };
    match told.state {
        FabricServiceState::NotInstalled => return missing("The fabric manager is not installed.", start),
        FabricServiceState::Stopped => return missing("The fabric manager does not run.", start),
        FabricServiceState::Running => {}
    }
    if told.fabric_mode != Some(FabricMode::SharedNvswitch) {
        let mode = told.fabric_mode.map_or("unknown", FabricMode::as_str);
        return missing(
            format!("The fabric manager's mode is {mode}; slices need shared_nvswitch."),
            "Set FABRIC_MODE=1 in fabricmanager.cfg and restart the fabric manager.",
        );
    }
    match &d.partitions {
        Some(partitions) => ok(format!("The fabric manager reports {} partitions.", partitions.sets().len())),
        None => missing(
            "The fabric manager reports no partitions that make sense.",
            "Look at the discovery's notes and at the fabric manager's log.",
        ),
    }
}

fn iommu(d: &Discovery) -> Outcome {
    let grouped = d.gpus.iter().filter(|gpu| gpu.pci.iommu_group.is_some()).count();
    if !d.gpus.is_empty() && grouped == d.gpus.len() {
        return ok(format!("Every GPU is in an IOMMU group; {} groups in all.", d.iommu_groups.len()));
    }
    let asked = d.host.kernel_arguments.iter().any(|argument| argument.contains("iommu="));
    let remedy = if asked {
        "The kernel was told to use it: switch VT-d or AMD-Vi on in the firmware, then reboot."
    } else {
        "Switch VT-d or AMD-Vi on in the firmware, add `intel_iommu=on iommu=pt` (AMD: `iommu=pt`) to the kernel's \
         arguments, then reboot."
    };
    let detail = if d.iommu_groups.is_empty() {
        "The IOMMU is off: no device is in an IOMMU group.".to_owned()
    } else {
        format!("Only {grouped} of {} GPUs are in an IOMMU group.", d.gpus.len())
    };
    missing(detail, remedy).after_reboot()
}

fn vfio(d: &Discovery) -> Outcome {
    if d.host.vfio_loaded {
        return ok("The vfio-pci driver is loaded.");
    }
    missing("The vfio-pci driver is not loaded.", "Run `modprobe vfio-pci` and list it in /etc/modules-load.d.")
}

fn sriov(d: &Discovery) -> Outcome {
    let ports: Vec<&FabricFunction> = d
        .fabric_functions
        .iter()
        .filter(|function| function.role == FabricRole::Physical && !function.bluefield)
        .collect();
    let virtual_functions: usize = ports.iter().map(|port| port.vfs.len()).sum();
    let gpus = d.gpus.len();
    if ports.is_empty() {
        return missing(
            "There is no fabric card (BlueField cards carry the host's own traffic and do not count).",
            "Check that the cards are seated and that their driver is loaded.",
        );
    }
    if virtual_functions >= gpus {
        return ok(format!("{virtual_functions} virtual fabric functions for {gpus} GPUs."));
    }
    let detail = format!("Only {virtual_functions} virtual fabric functions for {gpus} GPUs.");
    let barred: Vec<String> =
        ports.iter().filter(|port| port.vfs_max.unwrap_or(0) == 0).map(|port| port.pci.address.to_string()).collect();
    if barred.is_empty() {
        return missing(detail, "Write the number wanted to `sriov_numvfs` of each card.");
    }
    let remedy = format!(
        "Switch SR-IOV on in the firmware of {} (`mlxconfig set SRIOV_EN=1 NUM_OF_VFS=4`), then reboot.",
        barred.join(", ")
    );
    missing(detail, remedy).after_reboot()
}

fn disk_state(d: &Discovery) -> Outcome {
    if d.mounts_known {
        return ok("It can be seen what is mounted and swapped to.");
    }
    unknown(
        "It cannot be seen what is mounted or swapped to, so no disk counts as free.",
        "Let the agent read /proc/1/mountinfo and /proc/swaps.",
    )
}

fn hugepages(d: &Discovery) -> Outcome {
    if d.numa_nodes.is_empty() {
        return unknown("No memory node was found.", "Let the agent read /sys/devices/system/node.");
    }
    let near_gpus: BTreeSet<u32> = d.gpus.iter().filter_map(|gpu| gpu.pci.numa_node).collect();
    let pages = |number: u32| {
        let node = d.numa_nodes.iter().find(|node| node.number == number);
        let pages = node.and_then(|node| node.hugepages.iter().find(|pages| pages.size_kib == GIB_PAGE_KIB));
        pages.map_or(0, |pages| pages.total)
    };
    let bare: Vec<String> = near_gpus.iter().filter(|node| pages(**node) == 0).map(u32::to_string).collect();
    let total: u64 = d.numa_nodes.iter().map(|node| pages(node.number)).sum();
    if total > 0 && bare.is_empty() {
        return ok(format!("{total} huge pages of 1 GiB are set aside."));
    }
    let where_to = if bare.is_empty() { String::new() } else { format!(" on memory node {}", bare.join(" and ")) };
    missing(
        format!("No huge pages of 1 GiB are set aside{where_to}."),
        "Add `default_hugepagesz=1G hugepagesz=1G hugepages=N` to the kernel's arguments, then reboot; later they are \
         hard to find.",
    )
    .after_reboot()
}

fn tools(d: &Discovery, needed: &[Tool], remedy: &str) -> Outcome {
    let Some(probe) = &d.tools else {
        return unknown("Nobody looked for programs on the host.", "Run discovery through the agent.");
    };
    let named = |found: Option<bool>| {
        let tools = needed.iter().filter(move |tool| probe.has(**tool) == found);
        tools.map(|tool| tool.as_str()).collect::<Vec<_>>()
    };
    let (absent, unseen) = (named(Some(false)), named(None));
    if !absent.is_empty() {
        return missing(format!("Not found: {}.", absent.join(", ")), remedy);
    }
    if !unseen.is_empty() {
        return unknown(format!("Nobody looked for: {}.", unseen.join(", ")), "Update the agent and discover again.");
    }
    ok(format!("Found: {}.", named(Some(true)).join(", ")))
}

fn cloud_init_tools(d: &Discovery) -> Outcome {
    let remedy = "Install cloud-image-utils or genisoimage.";
    let either = [Tool::CloudLocalds, Tool::Genisoimage];
    match either.iter().find(|tool| d.tools.as_ref().and_then(|probe| probe.has(**tool)) == Some(true)) {
        Some(tool) => ok(format!("Found: {tool}.")),
        None => tools(d, &either, remedy),
    }
}

fn image_cache(d: &Discovery) -> Outcome {
    let Some(cache) = &d.image_cache else {
        return unknown("Nobody looked for the image cache.", "Create it and name it in the agent's settings.");
    };
    let (free, wanted) = (cache.free_bytes / GIB, IMAGE_CACHE_FREE_BYTES_MIN / GIB);
    if cache.free_bytes >= IMAGE_CACHE_FREE_BYTES_MIN {
        return ok(format!("{} has {free} GiB free.", cache.path));
    }
    missing(
        format!("{} has {free} GiB free; {wanted} GiB are needed.", cache.path),
        "Make room, or name a larger place in the agent's settings.",
    )
}

fn secure_boot(d: &Discovery) -> Outcome {
    match d.host.secure_boot {
        Some(true) => ok("Secure Boot is on: drivers have to be signed."),
        Some(false) => ok("Secure Boot is off."),
        None if d.host.uefi => unknown("The firmware does not say.", "Let the agent read /sys/firmware/efi/efivars."),
        None => ok("The host was not started by UEFI firmware, so there is no Secure Boot."),
    }
}

fn pending_reboot(d: &Discovery) -> Outcome {
    if d.host.reboot_pending {
        return missing("The system asks for a reboot to finish an update.", "Drain the node, then reboot it.")
            .after_reboot();
    }
    ok("No update waits for a reboot.")
}
