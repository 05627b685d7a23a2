//! Candidates: one proposal for each GPU, with the disk and the fabric function that belong to it.
//!
//! What hangs off one PCIe switch belongs together; next comes what shares a memory node. All pairs are looked at together
//! and the closest are joined first, so that no GPU takes another's neighbour. A disk that anybody uses is not proposed,
//! and the candidate says why; when no disk is left it stays without one.
//!
//! A candidate is advice and never schedulable. It is not kept from one discovery to the next.

use crate::{
    DeviceField, SlotDevices,
    discovery::{Discovery, FabricFunction, FabricRole, Gpu, NvmeDisk, PciFunction},
    pci::PciAddress,
    suggest::{Naming, Suggestion, slot_numbers},
};
use model::{
    supply::{FabricClaimMode, GpuModel},
    text_enum,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// More reasons than this for one GPU say nothing more.
const NOTES_MAX: usize = 12;

text_enum! {
    /// How close a device is to its GPU.
    Closeness {
        /// Under one PCIe switch.
        SameSwitch = "same_switch",
        /// On one memory node.
        SameNuma = "same_numa",
    }
}

/// What is proposed for one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The GPU's family, when it is one that is sold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_model: Option<GpuModel>,
    /// The GPU's own unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_uuid: Option<String>,
    /// The devices, with the suggested MAC and address.
    pub devices: SlotDevices,
    /// Where the disk sits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvme_pci_address: Option<PciAddress>,
    /// How close the disk is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvme_closeness: Option<Closeness>,
    /// The physical function that the fabric function was cut from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_parent_pci_address: Option<PciAddress>,
    /// How close the fabric function is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_closeness: Option<Closeness>,
    /// Suggested names and addresses; empty when the GPU has no number to make them from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Suggestion>,
    /// What is missing before it could be approved.
    pub missing: Vec<DeviceField>,
    /// What a person should know: why a disk was not proposed, what a disk carries.
    pub notes: Vec<String>,
}

/// Proposes a slot for each GPU, by PCI address.
pub fn candidates(discovery: &Discovery, naming: &Naming) -> Vec<Candidate> {
    let gpus: Vec<&PciFunction> = discovery.gpus.iter().map(|gpu| &gpu.pci).collect();
    let disks: Vec<&NvmeDisk> = discovery.nvme_disks.iter().filter(|disk| unfit(discovery, disk).is_none()).collect();
    let functions: Vec<&FabricFunction> = discovery.fabric_functions.iter().filter(|f| is_for_guests(f)).collect();
    let disk_choices: Vec<Option<Choice<'_>>> =
        disks.iter().map(|disk| disk.pci.as_ref().map(|pci| Choice { pci, card: pci.address })).collect();
    let function_choices: Vec<Option<Choice<'_>>> = functions
        .iter()
        .map(|function| Some(Choice { pci: &function.pci, card: function.parent.unwrap_or(function.pci.address) }))
        .collect();
    let disk_of = closest(&gpus, &disk_choices);
    let function_of = closest(&gpus, &function_choices);
    let numbers = slot_numbers(&discovery.gpus);
    let each = discovery.gpus.iter().enumerate().map(|(at, gpu)| {
        let disk = disk_of.get(&at).map(|(disk, closeness)| (disks[*disk], *closeness));
        let function = function_of.get(&at).map(|(function, closeness)| (functions[*function], *closeness));
        let number = numbers.get(&gpu.pci.address).cloned().unwrap_or_else(|| Err("it is not listed".into()));
        candidate(discovery, gpu, disk, function, number.map(|number| naming.suggest(number)))
    });
    each.collect()
}

fn candidate(
    discovery: &Discovery,
    gpu: &Gpu,
    disk: Option<(&NvmeDisk, Closeness)>,
    function: Option<(&FabricFunction, Closeness)>,
    suggestion: Result<Option<Suggestion>, String>,
) -> Candidate {
    let mut notes = Vec::new();
    let suggestion = match suggestion {
        Ok(suggestion) => suggestion,
        Err(reason) => {
            notes.push(format!("No names are suggested for this GPU: {reason}."));
            None
        }
    };
    notes.extend(
        suggestion
            .iter()
            .filter_map(|s| s.private_ip_missing.as_ref())
            .map(|reason| format!("No address is suggested: {reason}.")),
    );
    if gpu.pci.link.is_some_and(|link| link.is_degraded()) {
        notes.push("The GPU's PCIe link is slower or narrower than it could be.".into());
    }
    notes.extend(disk_notes(discovery, gpu, disk.map(|(disk, _)| disk)));
    if function.is_none() {
        notes.push("No virtual fabric function is free under its PCIe switch or on its memory node.".into());
    }
    notes.truncate(NOTES_MAX);
    let devices = SlotDevices {
        gpu_pci_address: Some(gpu.pci.address.to_string()),
        gpu_module_id: gpu.module_id,
        nvme_identity: disk.and_then(|(disk, _)| disk.identity.clone()),
        mgmt_mac: suggestion.as_ref().map(|suggestion| suggestion.mgmt_mac.clone()),
        private_ip: suggestion.as_ref().and_then(|suggestion| suggestion.private_ip.clone()),
        fabric_claim_mode: if function.is_some() { FabricClaimMode::PerSlotVf } else { FabricClaimMode::None },
        fabric_vf_pci_address: function.map(|(function, _)| function.pci.address.to_string()),
        numa_node: gpu.pci.numa_node,
    };
    Candidate {
        gpu_model: gpu.model,
        gpu_uuid: gpu.uuid.clone(),
        missing: devices.missing(),
        devices,
        nvme_pci_address: disk.and_then(|(disk, _)| disk.pci.as_ref()).map(|pci| pci.address),
        nvme_closeness: disk.map(|(_, closeness)| closeness),
        fabric_parent_pci_address: function.and_then(|(function, _)| function.parent),
        fabric_closeness: function.map(|(_, closeness)| closeness),
        suggestion,
        notes,
    }
}

/// Why a disk cannot be proposed; `None` when it can.
pub fn unfit(discovery: &Discovery, disk: &NvmeDisk) -> Option<String> {
    let Some(identity) = &disk.identity else {
        let holder = disk.pci.as_ref().and_then(|pci| pci.driver.as_deref());
        return Some(match holder {
            Some(driver) => format!("its identity cannot be read while {driver} holds it"),
            None => "its identity cannot be read: no driver is bound to it".into(),
        });
    };
    if disk.identity_shared {
        return Some(format!("another disk shows the identity {identity} too"));
    }
    if disk.pci.is_none() {
        return Some("it is not attached to this host's PCI bus".into());
    }
    if !discovery.mounts_known {
        return Some("it cannot be seen what is mounted".into());
    }
    namespaces_beside(discovery, disk).find_map(in_use)
}

/// It, and whatever else its controller carries: they are handed over together.
pub(crate) fn namespaces_beside<'a>(
    discovery: &'a Discovery,
    disk: &'a NvmeDisk,
) -> impl Iterator<Item = &'a NvmeDisk> {
    let place = disk.pci.as_ref().map(|pci| pci.address);
    let beside = move |other: &&NvmeDisk| {
        other.name != disk.name && place.is_some() && other.pci.as_ref().map(|pci| pci.address) == place
    };
    std::iter::once(disk).chain(discovery.nvme_disks.iter().filter(beside))
}

fn in_use(disk: &NvmeDisk) -> Option<String> {
    let (mounts, holders) = (disk.mount_points(), disk.holders());
    let name = disk.name.as_deref().unwrap_or("it");
    if disk.system_disk {
        Some(format!("{name} carries the host's own system"))
    } else if !mounts.is_empty() {
        Some(format!("{name} is mounted at {}", mounts.join(", ")))
    } else if disk.swaps() {
        Some(format!("the host swaps to {name}"))
    } else if !holders.is_empty() {
        Some(format!("{} is built on top of {name}", holders.join(", ")))
    } else {
        None
    }
}

fn disk_notes(discovery: &Discovery, gpu: &Gpu, chosen: Option<&NvmeDisk>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(disk) = chosen {
        let name = disk.name.as_deref().unwrap_or("The disk");
        if !disk.content_known() {
            notes.push(format!("Nobody looked at what is on {name}."));
        } else if !disk.content().is_empty() {
            let content = disk.content().join(", ");
            notes.push(format!("{name} is not blank ({content}): approval needs a wipe proof or a remap."));
        }
    }
    for disk in &discovery.nvme_disks {
        let Some(pci) = &disk.pci else { continue };
        // A disk further away is of interest only when there is no other.
        let near = gpu.pci.switches_shared_with(pci) > 0 || chosen.is_none() && gpu.pci.numa_node == pci.numa_node;
        if let Some(reason) = unfit(discovery, disk).filter(|_| near) {
            notes.push(format!("The disk at {} was not proposed: {reason}.", pci.address));
        }
    }
    if chosen.is_none() {
        notes.push("No disk is free under its PCIe switch or on its memory node.".into());
    }
    notes
}

fn is_for_guests(function: &FabricFunction) -> bool {
    function.role == FabricRole::Virtual && !function.bluefield
}

/// Something that a GPU can be joined with.
struct Choice<'a> {
    pci: &'a PciFunction,
    /// What it shares with others of its kind: the card of a virtual function.
    card: PciAddress,
}

/// Joins each GPU with one device, the closest pairs first, then by address. No device is given out twice, and of devices
/// that are equally close one on a card that no other GPU uses comes first.
fn closest(gpus: &[&PciFunction], choices: &[Option<Choice<'_>>]) -> BTreeMap<usize, (usize, Closeness)> {
    let mut pairs = Vec::new();
    for (gpu_at, gpu) in gpus.iter().enumerate() {
        for (at, choice) in choices.iter().enumerate() {
            let Some(choice) = choice else { continue };
            let shared = gpu.switches_shared_with(choice.pci);
            let closeness = match shared {
                0 if gpu.numa_node == choice.pci.numa_node => Closeness::SameNuma,
                0 => continue,
                _ => Closeness::SameSwitch,
            };
            pairs.push((Reverse(shared), gpu.address, choice.pci.address, gpu_at, at, choice.card, closeness));
        }
    }
    pairs.sort();
    let mut joined = BTreeMap::new();
    let (mut given, mut cards) = (BTreeSet::new(), BTreeSet::new());
    for level in pairs.chunk_by(|a, b| a.0 == b.0) {
        for sharing in [false, true] {
            for (_, _, _, gpu, at, card, closeness) in level {
                let free = !joined.contains_key(gpu) && !given.contains(at);
                if free && (sharing || !cards.contains(card)) {
                    joined.insert(*gpu, (*at, *closeness));
                    given.insert(*at);
                    cards.insert(*card);
                }
            }
        }
    }
    joined
}
