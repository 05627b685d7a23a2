//! What changed on a host since a slot was approved, field by field. A slot that drifted stops being sold; whoever runs on it
//! is left alone, and a person decides.
//!
//! What cannot be seen is not drift. A device that a guest holds is bound to `vfio-pci` and shows neither its unique name
//! nor, for a disk, its identity; it counts as unchanged as long as something of its kind sits where it was.

use crate::{
    SlotDevices, SlotField,
    discovery::{Discovery, FabricFunction, FabricRole, Gpu, NvmeDisk, PciLink},
    pci::PciAddress,
    readiness::HANDOVER_DRIVER,
};
use model::text_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

text_enum! {
    /// How something changed.
    DriftKind {
        /// It is not there any more.
        Gone = "gone",
        /// It is somewhere else.
        Moved = "moved",
        /// Another one is in its place.
        Replaced = "replaced",
        /// It is bound to another driver.
        DriverChanged = "driver_changed",
        /// The virtual function is gone, or is another one now.
        VfChanged = "vf_changed",
        /// Somebody uses the disk.
        DiskMounted = "disk_mounted",
        /// The link is slower or narrower than it was.
        LinkDegraded = "link_degraded",
        /// The host refused to build on it.
        Refused = "refused",
        /// The host found something on it that it left alone.
        Quarantined = "quarantined",
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// What changed.
    pub field: SlotField,
    /// How.
    pub kind: DriftKind,
    /// What was approved.
    pub approved: String,
    /// What is seen now; empty when nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// The change in words.
    pub detail: String,
}

/// A slot as it was when it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovedSlot {
    /// Its devices.
    pub devices: SlotDevices,
    /// The GPU's own unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_uuid: Option<String>,
    /// The driver the GPU was bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_driver: Option<String>,
    /// The GPU's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_link: Option<PciLink>,
    /// Where the disk was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvme_pci_address: Option<PciAddress>,
    /// What the fabric function was cut from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_parent_pci_address: Option<PciAddress>,
}

impl ApprovedSlot {
    /// Writes down what the host shows of a slot's devices at the moment of its approval.
    pub fn at_approval(devices: SlotDevices, gpu_uuid: Option<String>, discovery: &Discovery) -> Self {
        let gpu = place(&devices.gpu_pci_address).and_then(|address| discovery.gpu_at(address));
        let disk = devices.nvme_identity.as_deref().and_then(|identity| discovery.nvme_with(identity));
        let function = place(&devices.fabric_vf_pci_address).and_then(|address| discovery.fabric_at(address));
        Self {
            gpu_uuid: gpu_uuid.or_else(|| gpu.and_then(|gpu| gpu.uuid.clone())),
            gpu_driver: gpu.and_then(|gpu| gpu.pci.driver.clone()),
            gpu_link: gpu.and_then(|gpu| gpu.pci.link),
            nvme_pci_address: disk.and_then(|disk| disk.pci.as_ref()).map(|pci| pci.address),
            fabric_parent_pci_address: function.and_then(|function| function.parent),
            devices,
        }
    }
}

/// Compares an approved slot with what its host shows now, in a fixed order.
pub fn drift(approved: &ApprovedSlot, discovery: &Discovery) -> Vec<Drift> {
    let mut drifts = Vec::new();
    gpu(approved, discovery, &mut drifts);
    disk(approved, discovery, &mut drifts);
    fabric(approved, discovery, &mut drifts);
    drifts.sort();
    drifts
}

fn place(text: &Option<String>) -> Option<PciAddress> {
    text.as_deref()?.parse().ok()
}

fn gpu(approved: &ApprovedSlot, discovery: &Discovery, drifts: &mut Vec<Drift>) {
    let Some(address) = place(&approved.devices.gpu_pci_address) else { return };
    let named = |gpu: &&Gpu| approved.gpu_uuid.is_some() && gpu.uuid == approved.gpu_uuid;
    let (here, named) = (discovery.gpu_at(address), discovery.gpus.iter().find(named));
    let mut push = |field, kind, approved: String, seen: Option<String>, detail: String| {
        drifts.push(Drift { field, kind, approved, seen, detail });
    };
    if let Some(elsewhere) = named.filter(|gpu| gpu.pci.address != address) {
        let now = elsewhere.pci.address;
        let detail = format!("The GPU moved from {address} to {now}.");
        push(SlotField::GpuPciAddress, DriftKind::Moved, address.to_string(), Some(now.to_string()), detail);
        return;
    }
    let Some(gpu) = here else {
        let detail = format!("There is no GPU at {address} any more.");
        push(SlotField::GpuPciAddress, DriftKind::Gone, address.to_string(), None, detail);
        return;
    };
    if let (Some(before), Some(now)) = (&approved.gpu_uuid, &gpu.uuid)
        && before != now
    {
        let detail = format!("Another GPU is at {address}: {now} in place of {before}.");
        push(SlotField::GpuUuid, DriftKind::Replaced, before.clone(), Some(now.clone()), detail);
        return;
    }
    if let (Some(before), Some(now)) = (approved.devices.gpu_module_id, gpu.module_id)
        && before != now
    {
        let detail = format!("The GPU at {address} has module id {now}; {before} was approved.");
        push(SlotField::GpuModuleId, DriftKind::Moved, before.to_string(), Some(now.to_string()), detail);
    }
    if let (Some(before), Some(now)) = (approved.devices.numa_node, gpu.pci.numa_node)
        && before != now
    {
        let detail = format!("The GPU at {address} hangs off memory node {now}; {before} was approved.");
        push(SlotField::NumaNode, DriftKind::Moved, before.to_string(), Some(now.to_string()), detail);
    }
    gpu_driver(approved, gpu, &mut push);
    gpu_link(approved, gpu, &mut push);
}

type Push<'a> = dyn FnMut(SlotField, DriftKind, String, Option<String>, String) + 'a;

fn gpu_driver(approved: &ApprovedSlot, gpu: &Gpu, push: &mut Push<'_>) {
    let Some(before) = &approved.gpu_driver else { return };
    let now = gpu.pci.driver.clone();
    // A GPU waits under this driver for its guest, whatever it was bound to before.
    if now.as_ref() == Some(before) || now.as_deref() == Some(HANDOVER_DRIVER) {
        return;
    }
    let detail = format!(
        "The GPU at {} is bound to {}; {before} was approved.",
        gpu.pci.address,
        now.as_deref().unwrap_or("no driver")
    );
    push(SlotField::GpuDriver, DriftKind::DriverChanged, before.clone(), now, detail);
}

fn gpu_link(approved: &ApprovedSlot, gpu: &Gpu, push: &mut Push<'_>) {
    let Some((before, now)) = approved.gpu_link.zip(gpu.pci.link) else { return };
    let below = |now: Option<u32>, before: Option<u32>| now.zip(before).is_some_and(|(now, before)| now < before);
    if !below(now.speed_mtps, before.speed_mtps) && !below(now.width, before.width) {
        return;
    }
    let (before, now) = (link_text(before), link_text(now));
    let detail = format!("The link of the GPU at {} fell from {before} to {now}.", gpu.pci.address);
    push(SlotField::GpuLink, DriftKind::LinkDegraded, before, Some(now), detail);
}

fn link_text(link: PciLink) -> String {
    let speed = link.speed_mtps.map_or("?".to_owned(), |speed| format!("{}.{}", speed / 1000, speed % 1000 / 100));
    let width = link.width.map_or("?".to_owned(), |width| width.to_string());
    format!("{speed} GT/s x{width}")
}

fn disk(approved: &ApprovedSlot, discovery: &Discovery, drifts: &mut Vec<Drift>) {
    let Some(identity) = &approved.devices.nvme_identity else { return };
    if identity.starts_with(LAB_DISK) {
        return lab_disk(identity, discovery, drifts);
    }
    let mut push = |kind, approved: String, seen: Option<String>, detail: String| {
        drifts.push(Drift { field: SlotField::NvmeIdentity, kind, approved, seen, detail });
    };
    let Some(disk) = discovery.nvme_with(identity) else {
        let there = |disk: &&NvmeDisk| {
            approved.nvme_pci_address.is_some() && disk.pci.as_ref().map(|pci| pci.address) == approved.nvme_pci_address
        };
        let there: Vec<&NvmeDisk> = discovery.nvme_disks.iter().filter(there).collect();
        match there.iter().find_map(|disk| disk.identity.as_ref()) {
            Some(now) => {
                let detail = format!("Another disk is in the place of {identity}: {now}.");
                push(DriftKind::Replaced, identity.clone(), Some(now.clone()), detail);
            }
            // Something is there and shows no identity: a guest holds it.
            None if there.iter().any(|disk| held_for_guest(disk)) => {}
            None => {
                push(DriftKind::Gone, identity.clone(), None, format!("The disk {identity} is not there any more."))
            }
        }
        return;
    };
    let now = disk.pci.as_ref().map(|pci| pci.address);
    if approved.nvme_pci_address.is_some() && now != approved.nvme_pci_address {
        let text = |address: Option<PciAddress>| address.map_or("elsewhere".to_owned(), |address| address.to_string());
        let (before, now) = (text(approved.nvme_pci_address), text(now));
        let detail = format!("The disk {identity} moved from {before} to {now}.");
        push(DriftKind::Moved, before, Some(now), detail);
    }
    let used: Vec<String> = disk
        .mount_points()
        .into_iter()
        .map(|point| format!("mounted at {point}"))
        .chain(disk.swaps().then(|| "swapped to".to_owned()))
        .chain(disk.holders().into_iter().map(|holder| format!("held by {holder}")))
        .collect();
    if !used.is_empty() {
        let seen = used.join(", ");
        let detail = format!("The host uses the disk {identity}: {seen}.");
        push(DriftKind::DiskMounted, "not used by the host".into(), Some(seen), detail);
    }
}

/// How the identity of a laboratory's disk begins; no real disk calls itself that.
const LAB_DISK: &str = "loop:";

fn lab_disk(identity: &str, discovery: &Discovery, drifts: &mut Vec<Drift>) {
    let (kind, before, seen, detail) = match discovery.lab_disk_with(identity) {
        None => (DriftKind::Gone, identity, None, format!("No loop device is on {identity} any more.")),
        Some(disk) if !disk.used_for.is_empty() => {
            let seen = disk.used_for.join(", ");
            let detail = format!("The host uses {identity}: {seen}.");
            (DriftKind::DiskMounted, "not used by the host", Some(seen), detail)
        }
        Some(_) => return,
    };
    drifts.push(Drift { field: SlotField::NvmeIdentity, kind, approved: before.to_owned(), seen, detail });
}

fn held_for_guest(disk: &NvmeDisk) -> bool {
    disk.pci.as_ref().is_some_and(|pci| pci.driver.as_deref() == Some(HANDOVER_DRIVER))
}

fn fabric(approved: &ApprovedSlot, discovery: &Discovery, drifts: &mut Vec<Drift>) {
    let Some(address) = place(&approved.devices.fabric_vf_pci_address) else { return };
    let seen: Option<&FabricFunction> = discovery.fabric_at(address);
    let of = |parent: Option<PciAddress>| match parent {
        Some(parent) => format!("virtual function of {parent}"),
        None => "virtual function".to_owned(),
    };
    let before = of(approved.fabric_parent_pci_address);
    let (now, detail) = match seen {
        None => (None, format!("There is no fabric function at {address} any more.")),
        Some(function) if function.role != FabricRole::Virtual => {
            (Some("physical function".to_owned()), format!("{address} is a physical function now."))
        }
        Some(function)
            if approved.fabric_parent_pci_address.is_some()
                && function.parent != approved.fabric_parent_pci_address =>
        {
            let now = of(function.parent);
            (Some(now.clone()), format!("{address} is a {now} now; before, it was a {before}."))
        }
        Some(_) => return,
    };
    let field = SlotField::FabricVfPciAddress;
    drifts.push(Drift { field, kind: DriftKind::VfChanged, approved: before, seen: now, detail });
}
