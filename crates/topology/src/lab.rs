//! A laboratory's host: no GPU and no fabric, and files behind loop devices instead of disks. Its slots are proposed, numbered
//! and judged here by rules of their own, so that the rules for what is sold need no exception.
//!
//! Only the pool decides that a node is a laboratory's. What its agent says of itself adds loop devices to what was found, and
//! nothing else.

use crate::{
    Candidate, Discovery, ModuleId, Partitions, Readiness, ReadinessCheckName, SlotDevices,
    suggest::{Naming, SLOTS_MAX},
};
use model::supply::{FabricClaimMode, GpuModel};
use std::collections::{BTreeMap, BTreeSet};

/// Proposes a slot for each loop device that nobody uses. `taken` are the numbers that slots have already, by disk; they keep
/// them, and others get what is left.
pub fn lab_candidates(discovery: &Discovery, naming: &Naming, taken: &BTreeMap<String, u8>) -> Vec<Candidate> {
    let used: BTreeSet<u8> = taken.values().copied().collect();
    let mut free = (0..SLOTS_MAX).filter(|number| !used.contains(number));
    let numa_node = discovery.numa_nodes.first().map_or(0, |node| node.number);
    let mut proposed = Vec::new();
    for disk in &discovery.lab_disks {
        let number = taken.get(&disk.identity).copied().or_else(|| free.next());
        let suggestion = number.and_then(|number| naming.suggest(number));
        let devices = SlotDevices {
            gpu_pci_address: None,
            gpu_module_id: number.map(|number| ModuleId(number.into())),
            nvme_identity: Some(disk.identity.clone()),
            mgmt_mac: suggestion.as_ref().map(|suggestion| suggestion.mgmt_mac.clone()),
            private_ip: suggestion.as_ref().and_then(|suggestion| suggestion.private_ip.clone()),
            fabric_claim_mode: FabricClaimMode::None,
            fabric_vf_pci_address: None,
            numa_node: Some(numa_node),
        };
        let mut notes: Vec<String> = disk.used_for.iter().map(|what| format!("The host uses it: {what}.")).collect();
        if number.is_none() {
            notes.push(format!("A node has {SLOTS_MAX} slots at most."));
        }
        proposed.push(Candidate {
            gpu_model: Some(GpuModel::Lab),
            gpu_uuid: None,
            missing: devices.missing_of(false, false),
            devices,
            nvme_pci_address: None,
            nvme_closeness: None,
            fabric_parent_pci_address: None,
            fabric_closeness: None,
            suggestion,
            notes,
        });
    }
    proposed
}

/// The sets that a laboratory's slots are sold in: each alone, by its number.
pub fn lab_partitions() -> Option<Partitions> {
    let board: Vec<ModuleId> = (0..SLOTS_MAX).map(|number| ModuleId(number.into())).collect();
    let sets: Vec<Vec<ModuleId>> = board.iter().map(|module| vec![*module]).collect();
    Partitions::new(&board, &sets).ok()
}

/// What a laboratory's host must have; everything else is for information.
const NEEDED: &[ReadinessCheckName] =
    &[ReadinessCheckName::DiskState, ReadinessCheckName::Libvirt, ReadinessCheckName::Ovs];

/// The same checks, with those required that the node's pool asks for, whatever its agent thinks is.
pub fn required_by(readiness: Readiness, is_lab: bool) -> Readiness {
    let mut readiness = readiness;
    for check in &mut readiness.checks {
        check.required = if is_lab { NEEDED.contains(&check.check) } else { check.check.is_needed_for_slices() };
    }
    // A check that is not there is not passed.
    let complete = ReadinessCheckName::ALL.iter().all(|name| readiness.checks.iter().any(|check| check.check == *name));
    if !complete {
        readiness.checks.clear();
    }
    let counts = |check: &crate::ReadinessCheck| check.reboot_required && (check.required || !is_lab);
    readiness.reboot_required = readiness.checks.iter().any(counts);
    readiness
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{ReadinessState, discovery::LabDisk, readiness, simulated};

    fn host(disks: usize) -> Discovery {
        let mut discovery = crate::discover(&simulated::trees::hgx_h200(&simulated::HostSpec {
            number: 1,
            name: "host-1".into(),
            gpus: 8,
        }));
        discovery.lab_disks = (0..disks)
            .map(|at| LabDisk {
                device: format!("/dev/loop{at}"),
                backing_file: format!("/lab/{at:02}.img"),
                identity: format!("loop:/lab/{at:02}.img"),
                size_bytes: 1 << 30,
                used_for: vec![],
            })
            .collect();
        discovery
    }

    fn naming() -> Naming {
        Naming { node_number: 7, pool_number: 0, pool_range: Some("10.0.0.0/24".parse().unwrap()) }
    }

    #[test]
    fn each_file_is_proposed_once_and_keeps_its_number() {
        let proposed = lab_candidates(&host(3), &naming(), &BTreeMap::new());
        assert_eq!(proposed.len(), 3);
        assert!(proposed.iter().all(|one| one.missing.is_empty() && one.devices.gpu_pci_address.is_none()));
        let numbers =
            |all: &[Candidate]| all.iter().map(|one| one.devices.gpu_module_id.unwrap().0).collect::<Vec<_>>();
        assert_eq!(numbers(&proposed), [0, 1, 2]);
        let taken = BTreeMap::from([("loop:/lab/01.img".to_owned(), 0), ("loop:/lab/gone.img".to_owned(), 2)]);
        assert_eq!(numbers(&lab_candidates(&host(3), &naming(), &taken)), [1, 0, 3]);
        let many = lab_candidates(&host(20), &naming(), &BTreeMap::new());
        assert_eq!(many.iter().filter(|one| one.missing.is_empty()).count(), usize::from(SLOTS_MAX));
    }

    #[test]
    fn the_pool_says_what_a_host_must_have_and_not_its_agent() {
        let mut seen = readiness(&host(1));
        let gpus = |seen: &mut Readiness| {
            let gpus = seen.checks.iter_mut().find(|check| check.check == ReadinessCheckName::Gpus).unwrap();
            (gpus.state, gpus.required) = (ReadinessState::Missing, false);
        };
        gpus(&mut seen);
        assert!(!required_by(seen.clone(), false).ready(), "an agent cannot talk its way past a missing GPU");
        assert!(required_by(seen.clone(), true).ready());
        seen.checks.pop();
        assert!(!required_by(seen, true).ready(), "a check that is not there is not passed");
    }
}
