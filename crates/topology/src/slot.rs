//! The devices behind one slot, and which of them are still unknown.
//!
//! A slot is sold only when every device is known. This is the scheduler's own predicate: a row that claims to be
//! available but lacks a device is passed over, whoever wrote it.

use crate::ModuleId;
use model::{supply::FabricClaimMode, text_enum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

text_enum! {
    /// What a slot needs before it can be sold.
    DeviceField {
        /// Where the GPU sits on the PCI bus.
        GpuPciAddress = "gpu_pci_address",
        /// Which GPU of the board it is; without it no partition can be chosen.
        GpuModuleId = "gpu_module_id",
        /// The drive that goes with the GPU.
        NvmeIdentity = "nvme_identity",
        /// The guest's management interface.
        MgmtMac = "mgmt_mac",
        /// The guest's address.
        PrivateIp = "private_ip",
        /// A fabric function of its own.
        FabricVfPciAddress = "fabric_vf_pci_address",
        /// The memory node the GPU hangs off.
        NumaNode = "numa_node",
    }
}

text_enum! {
    /// What a refusal or a drift is about: a device of the slot, something measured of it, or the node as a whole.
    SlotField {
        /// The node.
        Node = "node",
        /// Where the GPU sits.
        GpuPciAddress = "gpu_pci_address",
        /// Which GPU of the board it is.
        GpuModuleId = "gpu_module_id",
        /// The GPU's own unique name.
        GpuUuid = "gpu_uuid",
        /// The driver the GPU is bound to.
        GpuDriver = "gpu_driver",
        /// The GPU's PCIe link.
        GpuLink = "gpu_link",
        /// The drive.
        NvmeIdentity = "nvme_identity",
        /// The guest's management interface.
        MgmtMac = "mgmt_mac",
        /// The guest's address.
        PrivateIp = "private_ip",
        /// How the slot takes part in the fabric.
        FabricClaimMode = "fabric_claim_mode",
        /// The fabric function.
        FabricVfPciAddress = "fabric_vf_pci_address",
        /// The memory node.
        NumaNode = "numa_node",
    }
}

impl From<DeviceField> for SlotField {
    fn from(field: DeviceField) -> Self {
        match field {
            DeviceField::GpuPciAddress => Self::GpuPciAddress,
            DeviceField::GpuModuleId => Self::GpuModuleId,
            DeviceField::NvmeIdentity => Self::NvmeIdentity,
            DeviceField::MgmtMac => Self::MgmtMac,
            DeviceField::PrivateIp => Self::PrivateIp,
            DeviceField::FabricVfPciAddress => Self::FabricVfPciAddress,
            DeviceField::NumaNode => Self::NumaNode,
        }
    }
}

/// The devices of one slot, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotDevices {
    /// Where the GPU sits on the PCI bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_pci_address: Option<String>,
    /// Which GPU of the board it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_module_id: Option<ModuleId>,
    /// The drive that goes with the GPU, by its own identity rather than by where it is plugged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvme_identity: Option<String>,
    /// The guest's management interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mgmt_mac: Option<String>,
    /// The guest's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ip: Option<String>,
    /// How the slot takes part in the fabric.
    pub fabric_claim_mode: FabricClaimMode,
    /// The fabric function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_vf_pci_address: Option<String>,
    /// The memory node the GPU hangs off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
}

impl SlotDevices {
    /// Everything that is still unknown, in a fixed order; empty means complete. A blank text is unknown, and so is
    /// the fabric function of a slot whose mode gives it none.
    pub fn missing(&self) -> Vec<DeviceField> {
        self.missing_of(true, true)
    }

    /// The same for a slot that may do without a GPU, or without a fabric function. Each has a number all the same.
    pub fn missing_of(&self, needs_gpu: bool, needs_fabric: bool) -> Vec<DeviceField> {
        let known = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let fabric = self.fabric_claim_mode == FabricClaimMode::PerSlotVf && known(&self.fabric_vf_pci_address);
        DeviceField::ALL
            .iter()
            .copied()
            .filter(|field| !match field {
                DeviceField::GpuPciAddress => !needs_gpu || known(&self.gpu_pci_address),
                DeviceField::GpuModuleId => self.gpu_module_id.is_some(),
                DeviceField::NvmeIdentity => known(&self.nvme_identity),
                DeviceField::MgmtMac => known(&self.mgmt_mac),
                DeviceField::PrivateIp => known(&self.private_ip),
                DeviceField::FabricVfPciAddress => !needs_fabric || fabric,
                DeviceField::NumaNode => self.numa_node.is_some(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> SlotDevices {
        SlotDevices {
            gpu_pci_address: Some("0000:0f:00.0".into()),
            gpu_module_id: Some(ModuleId(5)),
            nvme_identity: Some("eui.0025388b1".into()),
            mgmt_mac: Some("52:54:00:00:00:01".into()),
            private_ip: Some("10.0.0.1".into()),
            fabric_claim_mode: FabricClaimMode::PerSlotVf,
            fabric_vf_pci_address: Some("0000:0e:00.1".into()),
            numa_node: Some(0),
        }
    }

    #[test]
    fn a_complete_slot_misses_nothing() {
        assert_eq!(complete().missing(), []);
    }

    #[test]
    fn each_unknown_device_is_named() {
        let without = |change: fn(&mut SlotDevices)| {
            let mut devices = complete();
            change(&mut devices);
            devices.missing()
        };
        assert_eq!(without(|d| d.gpu_pci_address = None), [DeviceField::GpuPciAddress]);
        assert_eq!(without(|d| d.gpu_module_id = None), [DeviceField::GpuModuleId]);
        assert_eq!(without(|d| d.nvme_identity = Some(" ".into())), [DeviceField::NvmeIdentity]);
        assert_eq!(without(|d| d.mgmt_mac = Some(String::new())), [DeviceField::MgmtMac]);
        assert_eq!(without(|d| d.private_ip = None), [DeviceField::PrivateIp]);
        assert_eq!(without(|d| d.fabric_vf_pci_address = None), [DeviceField::FabricVfPciAddress]);
        assert_eq!(without(|d| d.fabric_claim_mode = FabricClaimMode::None), [DeviceField::FabricVfPciAddress]);
        assert_eq!(without(|d| d.numa_node = None), [DeviceField::NumaNode]);
    }
}
