//! What a host says only when it is asked by a program: the GPU driver, the fabric manager, which programs are installed.
//!
//! The agent asks and puts each answer into the captured tree as a small JSON file, so that everything discovery looks at is
//! in one place and can be kept as a fixture. A file that is missing means that nobody could be asked; that is never taken
//! for an answer.

use model::text_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where [`NvmlProbe`] lies.
pub const NVML: &str = "probe/nvml.json";
/// Where [`FabricProbe`] lies.
pub const FABRIC: &str = "probe/fabric_manager.json";
/// Where [`ToolsProbe`] lies.
pub const TOOLS: &str = "probe/tools.json";
/// Where [`ImageCacheProbe`] lies.
pub const IMAGE_CACHE: &str = "probe/image_cache.json";
/// Where [`LabProbe`] lies. Only an agent that was started for a laboratory writes it.
pub const LAB: &str = "probe/lab.json";
/// Where [`CaptureReport`] lies.
pub const CAPTURE: &str = "probe/capture.json";

/// What the NVIDIA driver says of itself and of the GPUs it holds. A GPU that is bound to another driver is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NvmlProbe {
    /// The driver's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// Its GPUs.
    pub gpus: Vec<NvmlGpu>,
}

/// One GPU as the NVIDIA driver sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NvmlGpu {
    /// Where it sits; joins it with what the kernel shows.
    pub pci_address: String,
    /// Its own unique name, `GPU-…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The board's serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its number on the board; partitions are written in these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module_id: Option<u32>,
    /// The product name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Firmware version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vbios: Option<String>,
    /// Whether it is cut into MIG instances; such a GPU takes no part in the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig_enabled: Option<bool>,
    /// Whether memory errors are corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc_enabled: Option<bool>,
    /// How many NVLinks are up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlinks: Option<u32>,
}

text_enum! {
    /// Whether the fabric manager is at work.
    FabricServiceState {
        /// It runs and answers.
        Running = "running",
        /// It is installed and does not run.
        Stopped = "stopped",
        /// It is not installed.
        NotInstalled = "not_installed",
    }
}

text_enum! {
    /// Who may use the NVSwitches; the fabric manager's own setting.
    FabricMode {
        /// The host itself, or one guest with everything.
        BareMetal = "bare_metal",
        /// Guests with some GPUs each; the host keeps the switches. What slices need.
        SharedNvswitch = "shared_nvswitch",
        /// Guests with virtual GPUs.
        Vgpu = "vgpu",
    }
}

/// What the fabric manager says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricProbe {
    /// Whether it is at work.
    pub state: FabricServiceState,
    /// Its version; it has to match the guests' driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Who may use the switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_mode: Option<FabricMode>,
    /// The sets of GPUs it can isolate.
    pub partitions: Vec<FabricPartition>,
}

/// One set of GPUs that the fabric manager can isolate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricPartition {
    /// Its number on this node.
    pub id: u32,
    /// Its GPUs by module id.
    pub gpus: Vec<u32>,
    /// NVLinks for each GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlinks: Option<u32>,
}

text_enum! {
    /// A program, socket or file that slices need on the host.
    Tool {
        /// Runs guests.
        QemuSystem = "qemu-system-x86_64",
        /// Prepares disk images.
        QemuImg = "qemu-img",
        /// Where libvirt answers.
        LibvirtSocket = "libvirt-socket",
        /// Talks to Open vSwitch.
        OvsVsctl = "ovs-vsctl",
        /// Where Open vSwitch's database answers.
        OvsDbSocket = "ovsdb-socket",
        /// Firmware that guests boot with.
        UefiFirmware = "uefi-firmware",
        /// Makes the disk a guest reads its first settings from.
        CloudLocalds = "cloud-localds",
        /// The same, with fewer words.
        Genisoimage = "genisoimage",
        /// Shows RDMA devices.
        IbvDevinfo = "ibv_devinfo",
        /// Sets up RDMA devices.
        Rdma = "rdma",
        /// Reads and sets a network card's firmware settings.
        Mlxconfig = "mlxconfig",
    }
}

/// Which tools are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolsProbe {
    /// One for each tool that was looked for.
    pub tools: Vec<ToolSeen>,
}

impl ToolsProbe {
    /// Whether a tool is there; `None` when nobody looked.
    pub fn has(&self, tool: Tool) -> Option<bool> {
        self.tools.iter().find(|seen| seen.tool == tool).map(|seen| seen.present)
    }
}

/// Whether one tool is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSeen {
    /// Which.
    pub tool: Tool,
    /// Whether it is there.
    pub present: bool,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Which version, where that is cheap to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Where guest images are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageCacheProbe {
    /// The directory.
    pub path: String,
    /// Room left.
    pub free_bytes: u64,
}

/// The loop devices of a laboratory's host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabProbe {
    /// Each with the file behind it.
    pub loop_devices: Vec<LoopDevice>,
}

/// One loop device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopDevice {
    /// Its name below `/dev`, such as `loop3`.
    pub name: String,
    /// The file behind it, as a path without links.
    pub backing_file: String,
    /// How long it is.
    pub size_bytes: u64,
}

/// What a capture wanted to take and could not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureReport {
    /// One for each path, in order.
    pub skipped: Vec<SkippedPath>,
}

/// A path that could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkippedPath {
    /// Which.
    pub path: String,
    /// Why, in words.
    pub reason: String,
}
