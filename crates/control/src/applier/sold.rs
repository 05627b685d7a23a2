//! What a claim carries for ever: what was sold, at what price, on which devices.

use std::collections::BTreeMap;

use model::sku::CapacityShape;
use serde::{Deserialize, Serialize};
use store::{placing::ChosenSlot, skus::SkuRow};

/// What a claim carries for ever: what was sold, at what price, on which devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSnapshot {
    /// The SKU.
    pub sku_id: model::SkuId,
    /// Its short name.
    pub sku: String,
    /// The form.
    pub shape: CapacityShape,
    /// The slot's profile; the node's name for a whole node.
    pub profile: String,
    /// The price.
    pub price_micros_per_gpu_hour: i64,
    /// GPUs to bill while the claim is active.
    pub billable_gpus: i64,
    /// Virtual CPUs that go with it.
    pub vcpus: i64,
    /// Memory that goes with it.
    pub memory_mib: i64,
    /// The devices, by slot.
    pub devices: BTreeMap<String, DeviceSnapshot>,
}

/// The devices of one slot when it was claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct DeviceSnapshot {
    pub gpu_pci_address: Option<String>,
    pub gpu_uuid: Option<String>,
    pub gpu_module_id: Option<i64>,
    pub nvme_identity: Option<String>,
    pub fabric_vf_pci_address: Option<String>,
}

/// What is sold with these slots.
pub(super) fn snapshot_of(sku: &SkuRow, profile: &str, covered: &[&ChosenSlot]) -> ClaimSnapshot {
    let gpus = i64::try_from(covered.len()).unwrap_or(i64::MAX);
    let devices = |slot: &ChosenSlot| DeviceSnapshot {
        gpu_pci_address: slot.gpu_pci_address.clone(),
        gpu_uuid: slot.gpu_uuid.clone(),
        gpu_module_id: slot.gpu_module_id,
        nvme_identity: slot.nvme_identity.clone(),
        fabric_vf_pci_address: slot.fabric_vf_pci_address.clone(),
    };
    ClaimSnapshot {
        sku_id: sku.id.clone(),
        sku: sku.slug.to_string(),
        shape: sku.shape,
        profile: profile.to_owned(),
        price_micros_per_gpu_hour: sku.terms.price_micros_per_gpu_hour,
        billable_gpus: gpus,
        vcpus: sku.terms.vcpus_per_gpu.saturating_mul(gpus),
        memory_mib: sku.terms.memory_mib_per_gpu.saturating_mul(gpus),
        devices: covered.iter().map(|slot| (slot.id.to_string(), devices(slot))).collect(),
    }
}
