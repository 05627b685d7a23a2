//! What a simulated host says when it is asked: what is seen of a guest, what a guest would get, and what on the host is not as
//! its claims say. Read from what is physically there, and made up only where a real host would have to be read.

use crate::host::{Machine, SimGuest};
use model::{
    AllocationId,
    runtime::{
        Finding, FindingAction, FindingKind, GuestLeaseState, GuestSeen, GuestStanding, PlanCell, PlanReport,
        ReconcileReport, Refusal,
    },
    task::{GuestOrder, PlanOrder, PlanSlot, ReconcileClaim, ReconcileOrder},
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What is seen of a guest that was started: it leased the address of its first slot, and shows a key of its own.
pub(crate) fn seen(order: &GuestOrder) -> GuestSeen {
    let bundle = order.slots.iter().find_map(|slot| slot.bundle.as_ref());
    let (mac, ip) = match bundle {
        Some(bundle) => (bundle.mac.clone(), bundle.ip.to_string()),
        None => ("02:00:00:00:00:01".to_owned(), "10.0.0.1".to_owned()),
    };
    GuestSeen {
        mac,
        expected_ip: ip.clone(),
        actual_ip: Some(ip),
        lease_state: GuestLeaseState::Leased,
        host_key: host_key(&order.allocation_id),
        accelerator: "tcg".to_owned(),
    }
}

// A well-formed public key, always the same for the same guest.
fn host_key(allocation_id: &AllocationId) -> String {
    let digest = Sha256::digest(allocation_id.as_str());
    let key: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} simulated", &key[..43])
}

/// What a guest would get, or what stands against it.
pub(crate) fn plan(machine: &Machine, order: &PlanOrder) -> PlanReport {
    let refusals = refusals(machine, order);
    let first = order.slots.first().filter(|_| refusals.is_empty());
    let slots: &[PlanSlot] = if refusals.is_empty() { &order.slots } else { &[] };
    let bundles = || slots.iter().map(|slot| &slot.bundle);
    let devices = bundles().flat_map(|bundle| [&bundle.gpu, &bundle.fabric]).flatten();
    PlanReport {
        cells: cells(slots),
        hugepage_kib: first.and_then(|slot| slot.bundle.share.hugepage_kib),
        pci_addresses: devices.map(|device| device.pci_address.clone()).collect(),
        disks: bundles().map(|bundle| bundle.disk_identity.clone()).collect(),
        mac: first.map(|slot| slot.bundle.mac.clone()).unwrap_or_default(),
        ip: first.map(|slot| slot.bundle.ip.to_string()).unwrap_or_default(),
        refusals,
    }
}

fn refusals(machine: &Machine, order: &PlanOrder) -> Vec<Refusal> {
    let mut refusals = vec![];
    if order.slots.is_empty() {
        let (expected, found) = ("at least one".to_owned(), "none".to_owned());
        refusals.push(Refusal { check: "slots".to_owned(), slot_id: None, expected, found });
    }
    for (at, slot) in order.slots.iter().enumerate() {
        let slot_id = Some(slot.slot_id.clone());
        if order.slots[..at].iter().any(|other| other.slot_id == slot.slot_id) {
            let (expected, found) = ("each slot once".to_owned(), "twice".to_owned());
            refusals.push(Refusal { check: "slots".to_owned(), slot_id: slot_id.clone(), expected, found });
        }
        let sits = |guest: &&SimGuest| guest.slots.iter().any(|held| held.slot_id == slot.slot_id);
        if let Some(guest) = machine.guests.iter().find(sits) {
            let (expected, found) = ("no guest on the slot".to_owned(), format!("a guest of {}", guest.allocation_id));
            refusals.push(Refusal { check: "slot_free".to_owned(), slot_id, expected, found });
        }
    }
    refusals
}

// Each memory node's CPUs are made up, and numbered on from one slot to the next.
fn cells(slots: &[PlanSlot]) -> Vec<PlanCell> {
    const CPUS_A_NODE: u32 = 96;
    let mut cells: BTreeMap<u32, PlanCell> = BTreeMap::new();
    for PlanSlot { bundle, .. } in slots {
        let numa_node = bundle.numa_node;
        let cell = cells.entry(numa_node).or_insert(PlanCell { numa_node, cpus: vec![], memory_mib: 0 });
        let from = cell.cpus.last().map_or(numa_node.saturating_mul(CPUS_A_NODE), |last| last.saturating_add(1));
        cell.cpus.extend(from..from.saturating_add(bundle.share.vcpus));
        cell.memory_mib = cell.memory_mib.saturating_add(bundle.share.memory_mib);
    }
    cells.into_values().collect()
}

/// What is there and nobody's, and what is somebody's and not there. Nothing is put right: nothing here goes wrong that a
/// host may put right by itself.
pub(crate) fn compare(machine: &Machine, order: &ReconcileOrder, busy: &[AllocationId]) -> ReconcileReport {
    let claim_of = |guest: &SimGuest| order.claims.iter().find(|claim| claim.allocation_id == guest.allocation_id);
    let guest_of =
        |claim: &ReconcileClaim| machine.guests.iter().find(|guest| guest.allocation_id == claim.allocation_id);
    let mut findings = vec![];
    for guest in &machine.guests {
        match claim_of(guest) {
            _ if busy.contains(&guest.allocation_id) => (),
            None => findings.push(finding(
                FindingKind::GuestWithoutClaim,
                FindingAction::Quarantined,
                &guest.allocation_id,
                "The guest is here and nobody holds its slots.",
            )),
            Some(claim) if !same_slots(guest, claim) => findings.push(finding(
                FindingKind::GuestDiffers,
                FindingAction::Quarantined,
                &guest.allocation_id,
                "The guest sits on other slots than are held for it.",
            )),
            Some(_) => (),
        }
    }
    for claim in order.claims.iter().filter(|claim| claim.should_run && !busy.contains(&claim.allocation_id)) {
        if !guest_of(claim).is_some_and(|guest| guest.ready) {
            findings.push(finding(
                FindingKind::ClaimWithoutGuest,
                FindingAction::Reported,
                &claim.allocation_id,
                "The guest should run and is not here.",
            ));
        }
    }
    findings.sort();
    let mut guests: Vec<GuestStanding> = machine.guests.iter().filter_map(standing).collect();
    guests.sort_by(|one, other| one.allocation_id.cmp(&other.allocation_id));
    ReconcileReport { findings, guests }
}

fn same_slots(guest: &SimGuest, claim: &ReconcileClaim) -> bool {
    let claimed = |slot_id| claim.slots.iter().any(|slot| slot.slot_id == slot_id);
    guest.slots.len() == claim.slots.len() && guest.slots.iter().all(|held| claimed(held.slot_id.clone()))
}

fn standing(guest: &SimGuest) -> Option<GuestStanding> {
    let seen = guest.seen.clone()?;
    Some(GuestStanding { allocation_id: guest.allocation_id.clone(), running: guest.ready, seen })
}

fn finding(kind: FindingKind, action: FindingAction, allocation_id: &AllocationId, detail: &str) -> Finding {
    Finding {
        kind,
        action,
        thing: allocation_id.to_string(),
        allocation_id: Some(allocation_id.clone()),
        slot_id: None,
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::SlotUse;
    use model::{
        SlotId, Timestamp,
        guest::{SlotBundle, SlotShare},
        task::TaskSlot,
    };
    use std::net::Ipv4Addr;

    fn allocation(n: u8) -> AllocationId {
        AllocationId::from_parts(Timestamp::from_micros(0), [n; 10])
    }

    fn slot(n: u8) -> SlotId {
        SlotId::from_parts(Timestamp::from_micros(0), [n; 10])
    }

    fn bundle(n: u8) -> SlotBundle {
        SlotBundle {
            profile: "lab-vm".to_owned(),
            gpu: None,
            gpu_module_id: None,
            fabric: None,
            disk_identity: format!("disk-{n}"),
            mac: format!("02:00:00:00:00:{n:02x}"),
            ip: Ipv4Addr::new(10, 0, 0, n),
            numa_node: u32::from(n % 2),
            share: SlotShare { vcpus: 2, memory_mib: 64, hugepage_kib: None, disk_bytes_min: 1 },
        }
    }

    fn guest(n: u8) -> SimGuest {
        let order = GuestOrder { allocation_id: allocation(n), slots: vec![], guest: None, grace_s: None };
        SimGuest {
            allocation_id: allocation(n),
            slots: vec![SlotUse { slot_id: slot(n), use_generation: 1 }],
            ready: true,
            seen: Some(seen(&order)),
        }
    }

    fn claim(n: u8) -> ReconcileClaim {
        let slots = vec![TaskSlot { slot_id: slot(n), use_generation: 1, nonce: None, bundle: None }];
        ReconcileClaim { allocation_id: allocation(n), slots, should_run: true }
    }

    fn machine(guests: &[u8]) -> Machine {
        Machine { guests: guests.iter().map(|n| guest(*n)).collect(), ..Machine::default() }
    }

    #[test]
    fn a_comparison_names_what_is_nobodys_and_what_is_missing_and_nothing_else() {
        let order = ReconcileOrder { claims: vec![claim(1), claim(2)], slots: vec![] };
        let kinds = |busy: &[AllocationId]| {
            let report = compare(&machine(&[1, 3]), &order, busy);
            assert_eq!(report.guests.len(), 2);
            report.findings.into_iter().map(|found| (found.kind, found.allocation_id)).collect::<Vec<_>>()
        };
        let stray = (FindingKind::GuestWithoutClaim, Some(allocation(3)));
        let missing = (FindingKind::ClaimWithoutGuest, Some(allocation(2)));
        assert_eq!(kinds(&[]), [stray.clone(), missing.clone()]);
        assert_eq!(kinds(&[allocation(3)]), [missing]);
        assert_eq!(kinds(&[allocation(2)]), [stray]);
    }

    #[test]
    fn a_plan_adds_up_the_slots_or_says_what_stands_against_it() {
        let slots = |numbers: &[u8]| PlanOrder {
            slots: numbers.iter().map(|n| PlanSlot { slot_id: slot(*n), bundle: bundle(*n) }).collect(),
        };
        let report = plan(&machine(&[]), &slots(&[1, 3]));
        assert_eq!(report.refusals, []);
        assert_eq!(report.cells, [PlanCell { numa_node: 1, cpus: vec![96, 97, 98, 99], memory_mib: 128 }]);
        assert_eq!((report.disks.len(), report.mac.as_str(), report.ip.as_str()), (2, "02:00:00:00:00:01", "10.0.0.1"));
        for (order, check) in [(slots(&[]), "slots"), (slots(&[1, 1]), "slots"), (slots(&[3]), "slot_free")] {
            let report = plan(&machine(&[3]), &order);
            let checks: Vec<&str> = report.refusals.iter().map(|refusal| refusal.check.as_str()).collect();
            assert_eq!((checks, report.cells, report.disks.len()), (vec![check], vec![], 0));
        }
    }

    #[test]
    fn what_is_seen_of_a_guest_is_what_was_approved_for_it() {
        let slots =
            vec![TaskSlot { slot_id: slot(7), use_generation: 1, nonce: None, bundle: Some(Box::new(bundle(7))) }];
        let seen = seen(&GuestOrder { allocation_id: allocation(7), slots, guest: None, grace_s: None });
        assert_eq!((seen.mac.as_str(), seen.expected_ip.as_str()), ("02:00:00:00:00:07", "10.0.0.7"));
        assert_eq!((seen.actual_ip.as_deref(), seen.lease_state), (Some("10.0.0.7"), GuestLeaseState::Leased));
        let words: Vec<&str> = seen.host_key.split(' ').collect();
        assert_eq!((words.len(), words[0], words[1].len()), (3, "ssh-ed25519", 68));
    }
}
