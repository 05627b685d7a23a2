//! The facts that discovery finds, as they are stored and shown. Lists are sorted by address, number or name.

use crate::{
    ModuleId, Partitions,
    pci::PciAddress,
    probe::{FabricProbe, ImageCacheProbe, ToolsProbe},
};
use model::{supply::GpuModel, text_enum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that was found on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Discovery {
    /// The host itself.
    pub host: HostFacts,
    /// Its memory nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// Its GPUs, of any maker that the platform knows.
    pub gpus: Vec<Gpu>,
    /// Its NVMe disks; also those that a guest holds and of which only the PCI function is seen.
    pub nvme_disks: Vec<NvmeDisk>,
    /// Its other disks, and what is built on top of disks.
    pub other_disks: Vec<OtherDisk>,
    /// A laboratory's disks: loop devices and the files behind them. Nobody else's agent lists any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lab_disks: Vec<LabDisk>,
    /// Whether it could be seen what is mounted. If not, no disk counts as free.
    pub mounts_known: bool,
    /// Network functions that can do RDMA (InfiniBand or RoCE), and the virtual functions cut from them.
    pub fabric_functions: Vec<FabricFunction>,
    /// Other network functions.
    pub network_functions: Vec<NetworkFunction>,
    /// Functions of BlueField cards; those that carry traffic are under `fabric_functions` too.
    pub bluefield_functions: Vec<BlueFieldFunction>,
    /// The switches of the NVLink fabric.
    pub nvswitches: Vec<PciFunction>,
    /// PCI bridges: root ports and the ports of PCIe switches.
    pub bridges: Vec<PciFunction>,
    /// The PCIe switches that GPUs, disks and fabric functions hang off, with what hangs there. What shares one belongs
    /// together: it can move data without passing the processor.
    pub pcie_switches: Vec<PcieSwitch>,
    /// Who shares an IOMMU group with whom.
    pub iommu_groups: Vec<IommuGroup>,
    /// What the fabric manager said; empty when it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_manager: Option<FabricProbe>,
    /// The sets of GPUs that can be isolated, as the fabric manager reported them; empty when it reported none that make
    /// sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<Partitions>,
    /// Which programs are installed; empty when nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsProbe>,
    /// Where guest images are kept; empty when nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_cache: Option<ImageCacheProbe>,
    /// PCI functions that are nothing of the above.
    pub other: Vec<PciFunction>,
    /// What could not be read, or made no sense.
    pub notes: Vec<DiscoveryNote>,
}

/// A loop device that stands for a disk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabDisk {
    /// What makes it that one: `loop:` and the file behind it. The device may be another one after a reboot.
    pub identity: String,
    /// The device now.
    pub device: String,
    /// The file behind it.
    pub backing_file: String,
    /// How long it is.
    pub size_bytes: u64,
    /// What the host itself does with it: where it is mounted, what is built on top of it.
    pub used_for: Vec<String>,
}

/// A host as a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// Its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Which product it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Its serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its firmware's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bios_version: Option<String>,
    /// The running kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_release: Option<String>,
    /// What the kernel was started with, as far as it matters here: IOMMU, VFIO and hugepage settings, in order.
    pub kernel_arguments: Vec<String>,
    /// The IOMMU units that are at work.
    pub iommu_units: Vec<String>,
    /// Whether devices can be handed to guests: the `vfio-pci` driver is loaded.
    pub vfio_loaded: bool,
    /// Whether it was started by UEFI firmware.
    pub uefi: bool,
    /// Whether Secure Boot is on; empty when the firmware does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secure_boot: Option<bool>,
    /// Whether the system asks for a reboot to finish an update.
    pub reboot_pending: bool,
    /// The NVIDIA driver's version, when it is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvidia_driver_version: Option<String>,
}

/// A memory node with its processors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumaNode {
    /// Its number.
    pub number: u32,
    /// Its processors, as the kernel lists them: `0-55,112-167`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Its huge pages, by size.
    pub hugepages: Vec<Hugepages>,
}

/// The huge pages of one size on one memory node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hugepages {
    /// The size of one.
    pub size_kib: u64,
    /// How many are set aside.
    pub total: u64,
    /// How many of them nobody uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<u64>,
}

/// One function on the PCI bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PciFunction {
    /// Where it sits.
    pub address: PciAddress,
    /// Who made it: four hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor_id: Option<String>,
    /// What it is: four hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// Who built it into what: two times four hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subsystem_id: Option<String>,
    /// What kind of thing it says it is: six hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What it is called, when the platform knows its ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The driver it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The IOMMU group it is in; empty when the IOMMU is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iommu_group: Option<u32>,
    /// The memory node it hangs off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// The PCIe switches between it and the root, outermost first, each by its upstream port.
    pub switches: Vec<PciAddress>,
    /// Its link; empty for functions that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<PciLink>,
}

/// A PCIe link, in mega-transfers a second and lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PciLink {
    /// How fast it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mtps: Option<u32>,
    /// How fast it could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mtps_max: Option<u32>,
    /// How wide it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// How wide it could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width_max: Option<u32>,
}

text_enum! {
    /// Who made a GPU.
    GpuVendor {
        /// NVIDIA.
        Nvidia = "nvidia",
        /// AMD.
        Amd = "amd",
    }
}

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Where and how it is attached.
    pub pci: PciFunction,
    /// Who made it.
    pub vendor: GpuVendor,
    /// The family it is sold as, when it is one that is sold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<GpuModel>,
    /// What the driver calls it, or else its ids' name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Its windows into memory; a guest needs room for them.
    pub bars: Vec<PciBar>,
    /// How it can be reset, best first.
    pub reset_methods: Vec<String>,
    /// Its number on the board; empty when the driver cannot be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module_id: Option<ModuleId>,
    /// Its own unique name; empty when the driver cannot be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Its serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Its firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vbios: Option<String>,
    /// Whether it is cut into MIG instances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig_enabled: Option<bool>,
    /// Whether memory errors are corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc_enabled: Option<bool>,
    /// How many NVLinks are up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlinks: Option<u32>,
}

/// One window of a function into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PciBar {
    /// Which of the six.
    pub index: u32,
    /// Its size.
    pub bytes: u64,
}

/// An NVMe disk: one namespace, or a function of which no namespace is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NvmeDisk {
    /// What it is recognised by, wherever it is plugged: its WWID, else EUI, NGUID or serial number. Empty when a guest
    /// holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Whether another disk here shows the same identity; neither can be told apart then.
    pub identity_shared: bool,
    /// What the kernel calls it at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where and how it is attached; empty when it is reached over a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<PciFunction>,
    /// Which product it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its firmware's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// What is on it and who uses it.
    pub usage: DiskUsage,
    /// The parts it is cut into.
    pub parts: Vec<DiskPart>,
    /// Whether the host's own system lives on it, directly or through something built on top.
    pub system_disk: bool,
}

/// Who uses a disk or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskUsage {
    /// Whether anybody looked at what is on it.
    pub content_known: bool,
    /// Its table of parts: `gpt`, `dos`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_table: Option<String>,
    /// The signature found on it: `ext4`, `linux_raid_member`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<String>,
    /// Where it is mounted.
    pub mount_points: Vec<String>,
    /// What is built on top of it: `md0`, `dm-1`.
    pub holders: Vec<String>,
    /// Where that is mounted.
    pub holder_mount_points: Vec<String>,
    /// Whether the host swaps to it.
    pub swap: bool,
}

/// A part of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskPart {
    /// What the kernel calls it at the moment.
    pub name: String,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// What is on it and who uses it.
    pub usage: DiskUsage,
}

/// A disk that is not NVMe, or something built on top of disks. Never handed to a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherDisk {
    /// What the kernel calls it at the moment.
    pub name: String,
    /// Where it is attached, when that is a PCI function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<PciAddress>,
    /// Which product it is, or what it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Where it or a part of it is mounted, directly or through what is built on top.
    pub mount_points: Vec<String>,
}

text_enum! {
    /// What a fabric function is.
    FabricRole {
        /// A whole port of a card.
        Physical = "physical",
        /// A share of one, which a guest can have for itself.
        Virtual = "virtual",
    }
}

/// A network function that can do RDMA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricFunction {
    /// Where and how it is attached.
    pub pci: PciFunction,
    /// Whether it is a port or a share of one.
    pub role: FabricRole,
    /// The physical function that a virtual one was cut from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<PciAddress>,
    /// Its number among its parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vf_index: Option<u32>,
    /// The virtual functions cut from a physical one.
    pub vfs: Vec<PciAddress>,
    /// How many could be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vfs_max: Option<u32>,
    /// Whether it belongs to a BlueField, which carries the host's own traffic.
    pub bluefield: bool,
    /// What the kernel calls it; empty when a guest holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma_name: Option<String>,
    /// Its own GUID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_guid: Option<String>,
    /// Its card's GUID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_guid: Option<String>,
    /// Its firmware's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Its ports.
    pub ports: Vec<FabricPort>,
    /// Its network interfaces.
    pub interfaces: Vec<NetworkInterface>,
}

text_enum! {
    /// What runs over a fabric port.
    LinkLayer {
        /// InfiniBand.
        Infiniband = "infiniband",
        /// Ethernet, which makes it RoCE.
        Ethernet = "ethernet",
    }
}

/// A port of a fabric function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricPort {
    /// Its number.
    pub number: u32,
    /// What runs over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_layer: Option<LinkLayer>,
    /// Its state in the kernel's word: `active`, `down`, `init`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The cable's state in the kernel's word: `linkup`, `polling`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_state: Option<String>,
    /// How fast it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<u64>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkInterface {
    /// What the kernel calls it.
    pub name: String,
    /// Its hardware address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_address: Option<String>,
    /// Its state in the kernel's word: `up`, `down`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How fast it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u64>,
    /// The largest packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}

/// A network function without RDMA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkFunction {
    /// Where and how it is attached.
    pub pci: PciFunction,
    /// The physical function that a virtual one was cut from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<PciAddress>,
    /// Its network interfaces.
    pub interfaces: Vec<NetworkInterface>,
}

/// A function of a BlueField card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlueFieldFunction {
    /// Where it sits.
    pub pci_address: PciAddress,
    /// What it is called.
    pub name: String,
    /// Whether the card is managed through it; otherwise it carries traffic.
    pub management: bool,
}

/// A PCIe switch with what hangs off it directly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PcieSwitch {
    /// Its port towards the processor.
    pub upstream_port: PciAddress,
    /// GPUs.
    pub gpus: Vec<PciAddress>,
    /// NVMe disks.
    pub nvme: Vec<PciAddress>,
    /// Fabric functions, virtual ones included.
    pub fabric: Vec<PciAddress>,
}

/// Functions that can be handed to a guest only together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IommuGroup {
    /// Its number.
    pub number: u32,
    /// Its functions, bridges apart.
    pub members: Vec<PciAddress>,
    /// The bridges in it, which stay with the host.
    pub bridges: Vec<PciAddress>,
}

/// Something that could not be read, or made no sense.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoveryNote {
    /// Where.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

impl PciFunction {
    /// How many PCIe switches both hang off, counted from the root. More is closer; 0 is none.
    pub fn switches_shared_with(&self, other: &Self) -> usize {
        self.switches.iter().zip(&other.switches).take_while(|(a, b)| a == b).count()
    }
}

impl PciLink {
    /// Whether it is slower or narrower than it could be.
    pub fn is_degraded(&self) -> bool {
        let below = |now: Option<u32>, best: Option<u32>| now.zip(best).is_some_and(|(now, best)| now < best);
        below(self.speed_mtps, self.speed_mtps_max) || below(self.width, self.width_max)
    }
}

impl NvmeDisk {
    /// It and its parts.
    pub fn usages(&self) -> impl Iterator<Item = &DiskUsage> {
        std::iter::once(&self.usage).chain(self.parts.iter().map(|part| &part.usage))
    }

    /// Where it or a part of it is mounted, directly or through what is built on top.
    pub fn mount_points(&self) -> Vec<&str> {
        let direct = self.usages().flat_map(|usage| usage.mount_points.iter().chain(&usage.holder_mount_points));
        let mut points: Vec<&str> = direct.map(String::as_str).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    /// What is built on top of it or of a part of it.
    pub fn holders(&self) -> Vec<&str> {
        let mut holders: Vec<&str> = self.usages().flat_map(|usage| &usage.holders).map(String::as_str).collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    /// Whether the host swaps to it or to a part of it.
    pub fn swaps(&self) -> bool {
        self.usages().any(|usage| usage.swap)
    }

    /// Whether it was looked at, and on every part of it.
    pub fn content_known(&self) -> bool {
        self.usages().all(|usage| usage.content_known)
    }

    /// What is on it, in words; empty when it is blank.
    pub fn content(&self) -> Vec<String> {
        let mut content: Vec<String> = Vec::new();
        content.extend(self.usage.part_table.iter().map(|table| format!("a {table} table of parts")));
        content.extend(self.usage.filesystem.iter().map(|name| format!("{name} on the whole disk")));
        for part in &self.parts {
            let what = part.usage.filesystem.as_deref().unwrap_or("nothing known");
            content.push(format!("{what} on {}", part.name));
        }
        content
    }
}

impl Discovery {
    /// The GPU at an address.
    pub fn gpu_at(&self, address: PciAddress) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.pci.address == address)
    }

    /// The disk with an identity; the first of them when the identity is shared.
    pub fn nvme_with(&self, identity: &str) -> Option<&NvmeDisk> {
        self.nvme_disks.iter().find(|disk| disk.identity.as_deref() == Some(identity))
    }

    /// The loop device with an identity.
    pub fn lab_disk_with(&self, identity: &str) -> Option<&LabDisk> {
        self.lab_disks.iter().find(|disk| disk.identity == identity)
    }

    /// The disk at an address, when there is one.
    pub fn nvme_at(&self, address: PciAddress) -> Option<&NvmeDisk> {
        self.nvme_disks.iter().find(|disk| disk.pci.as_ref().is_some_and(|pci| pci.address == address))
    }

    /// The fabric function at an address.
    pub fn fabric_at(&self, address: PciAddress) -> Option<&FabricFunction> {
        self.fabric_functions.iter().find(|function| function.pci.address == address)
    }

    /// The group with a number.
    pub fn iommu_group(&self, number: u32) -> Option<&IommuGroup> {
        self.iommu_groups.iter().find(|group| group.number == number)
    }
}
