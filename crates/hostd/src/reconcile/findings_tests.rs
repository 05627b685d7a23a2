//! One host and one order at a time: what is found there, and what is done about it.

use super::*;
use crate::{
    devices::{PartitionSeen, WrongDriver},
    reconcile::GuestLook,
    record::tests::{bundle, guest_use, record, slot_id, task_slot},
};
use guest::leases::{Lease, Thing};
use model::{
    Timestamp,
    task::{PlanSlot, TaskSlot},
};
use std::collections::BTreeMap;

fn empty() -> World {
    World {
        domains: vec![],
        guests: vec![],
        processes: vec![],
        leases: vec![],
        network: Ok(vec![]),
        files: vec![],
        disks: vec![],
        cache: (0, vec![]),
        drivers: Ok(vec![]),
        partitions: Ok(None),
        known: BTreeMap::new(),
    }
}

fn domain(number: u8, state: State) -> DomainLook {
    let guest = guest_use(number);
    DomainLook {
        name: guest.name(),
        guest: Some(guest),
        uses: record(number).slot_uses(),
        slots: BTreeSet::from([slot_id(number)]),
        state,
        differences: vec![],
        devices: vec![],
    }
}

fn look(number: u8, running: bool) -> GuestLook {
    GuestLook {
        guest: guest_use(number),
        uses: record(number).slot_uses(),
        port: record(number).port(),
        ready: true,
        running,
        lease: GuestLeaseState::Leased,
        modules: BTreeSet::new(),
    }
}

fn lease(number: u8) -> Lease {
    let (thing, taken_at) = (Thing::Slot(slot_id(number)), Timestamp::from_micros(1));
    Lease { thing, holder: guest_use(number), taken_at }
}

fn order(claims: &[u8]) -> ReconcileOrder {
    let claim = |number: &u8| ReconcileClaim {
        allocation_id: guest_use(*number).allocation_id,
        slots: vec![task_slot(*number)],
        should_run: true,
    };
    let slots = (1..4).map(|number| PlanSlot { slot_id: slot_id(number), bundle: bundle(number) });
    ReconcileOrder { claims: claims.iter().map(claim).collect(), slots: slots.collect() }
}

// A guest that is as it should be.
fn well() -> World {
    World {
        domains: vec![domain(1, State::Running)],
        guests: vec![look(1, true)],
        processes: vec![(9, guest_use(1))],
        leases: vec![lease(1)],
        files: Folder::ALL.map(|folder| (folder, format!("{}.x", guest_use(1).name()))).to_vec(),
        ..empty()
    }
}

fn told(world: &World, claims: &[u8], busy: &[u8]) -> Vec<(FindingKind, FindingAction, Option<Repair>)> {
    let busy = busy.iter().map(|number| guest_use(*number).allocation_id).collect();
    let found = findings(world, &order(claims), &busy);
    found.into_iter().map(|found| (found.finding.kind, found.finding.action, found.repair)).collect()
}

#[test]
fn a_host_that_is_as_claimed_has_no_findings() {
    assert_eq!(told(&well(), &[1], &[]), []);
    assert_eq!(told(&empty(), &[], &[]), []);
}

#[test]
fn a_guest_that_nobody_claims_is_quarantined_and_never_ended() {
    let quarantined = (FindingKind::GuestWithoutClaim, FindingAction::Quarantined, None);
    assert_eq!(told(&well(), &[], &[]), vec![quarantined.clone()]);
    assert_eq!(told(&well(), &[], &[1]), [], "unless an order is being carried out for it");
    let only_record = World { domains: vec![], processes: vec![], ..well() };
    assert_eq!(told(&only_record, &[], &[]), vec![quarantined.clone()], "also when only its record is left");
    // A claim of another use is not a claim of this guest.
    let mut later = order(&[1]);
    later.claims[0].slots[0].use_generation += 1;
    let kinds: Vec<FindingKind> =
        findings(&well(), &later, &BTreeSet::new()).into_iter().map(|found| found.finding.kind).collect();
    assert_eq!(kinds, [FindingKind::GuestWithoutClaim, FindingKind::ClaimWithoutGuest]);
    let stranger = DomainLook { guest: None, name: "pet".into(), ..domain(2, State::Off) };
    let world = World { domains: vec![stranger.clone()], ..empty() };
    assert_eq!(told(&world, &[], &[]), [quarantined]);
    let world = World { domains: vec![DomainLook { slots: BTreeSet::new(), ..stranger }], ..empty() };
    assert_eq!(told(&world, &[], &[]), [], "what has nothing of a slot is nobody's business");
}

#[test]
fn a_guest_that_is_off_after_a_reboot_is_started_and_a_missing_one_is_told() {
    let off = World { domains: vec![domain(1, State::Off)], processes: vec![], guests: vec![look(1, false)], ..well() };
    let start = Repair::Start { guest: guest_use(1) };
    assert_eq!(told(&off, &[1], &[]), [(FindingKind::ClaimWithoutGuest, FindingAction::Reported, Some(start))]);
    let only_told = (FindingKind::ClaimWithoutGuest, FindingAction::Reported, None);
    let crashed = World { domains: vec![domain(1, State::Crashed)], ..off.clone() };
    assert_eq!(told(&crashed, &[1], &[]), vec![only_told.clone()], "one that crashed is not started again");
    assert_eq!(told(&empty(), &[1], &[]), vec![only_told.clone()]);
    assert_eq!(told(&empty(), &[1], &[1]), []);
    let mut unready = off.clone();
    unready.guests[0].ready = false;
    assert_eq!(told(&unready, &[1], &[]), [only_told]);
    let mut resting = order(&[1]);
    resting.claims[0].should_run = false;
    assert_eq!(findings(&off, &resting, &BTreeSet::new()), []);
}

#[test]
fn a_machine_that_differs_is_quarantined_and_not_started() {
    let mut world = well();
    world.domains[0].differences = vec!["device: expected none, found 0000:0f:00.0".into()];
    assert_eq!(told(&world, &[1], &[]), [(FindingKind::GuestDiffers, FindingAction::Quarantined, None)]);
    world.domains[0].state = State::Off;
    world.processes.clear();
    assert!(told(&world, &[1], &[]).iter().all(|(_, _, repair)| repair.is_none()));
}

#[test]
fn a_process_that_libvirt_lost_is_quarantined() {
    let world = World { domains: vec![], ..well() };
    let kinds: Vec<FindingKind> = told(&world, &[1], &[]).into_iter().map(|(kind, _, _)| kind).collect();
    assert_eq!(kinds, [FindingKind::ClaimWithoutGuest, FindingKind::OrphanProcess]);
}

#[test]
fn what_belongs_to_nobody_is_taken_away() {
    let (own, log) = (format!("{}.iso", guest_use(1).name()), format!("{}.log.0", guest_use(2).name()));
    let stray = World {
        leases: vec![lease(1), lease(2)],
        files: vec![
            (Folder::Seeds, own),
            (Folder::Seeds, format!("{}.iso", guest_use(2).name())),
            (Folder::Seeds, "odd".into()),
            (Folder::ConsoleLogs, log.clone()),
            (Folder::Consoles, guest_use(2).name()),
        ],
        cache: (5, vec!["x.part".into()]),
        ..well()
    };
    let found = told(&stray, &[1], &[]);
    let repairs: Vec<Option<Repair>> = found.iter().map(|(_, _, repair)| repair.clone()).collect();
    let file = |folder, file: String| Some(Repair::RemoveFile { folder, file });
    assert_eq!(
        repairs,
        [
            Some(Repair::ReleaseLeases { guest: guest_use(2) }),
            file(Folder::Seeds, format!("{}.iso", guest_use(2).name())),
            file(Folder::Seeds, "odd".into()),
            file(Folder::ConsoleLogs, log),
            file(Folder::Consoles, guest_use(2).name()),
            Some(Repair::TidyCache),
        ]
    );
    assert_eq!((found[1].0, found[3].0), (FindingKind::StraySeed, FindingKind::StrayFile));
    let busy = told(&stray, &[1], &[2]);
    assert!(!busy.iter().any(|(kind, _, _)| *kind == FindingKind::StrayLease), "not while an order is under way");
}

#[test]
fn the_network_is_put_right_and_what_others_made_is_only_told() {
    let world = World {
        network: Ok(vec![
            Change::PortRemove { name: "gp000000000009".into() },
            Change::DhcpStart { config: String::new() },
            Change::PortAwaited { name: look(1, true).port.port_name() },
            Change::PortAwaited { name: "gp0000000000ff".into() },
            Change::Report { foreign: Foreign::Port { name: "eth9".into() } },
        ]),
        ..well()
    };
    let repair = Some(Repair::Network);
    assert_eq!(
        told(&world, &[1], &[]),
        [
            (FindingKind::StrayNetwork, FindingAction::Reported, repair.clone()),
            (FindingKind::MissingNetwork, FindingAction::Reported, repair),
            (FindingKind::MissingNetwork, FindingAction::Reported, None),
            (FindingKind::StrayNetwork, FindingAction::Reported, None),
        ]
    );
    let blind = World { network: Err("down".into()), ..well() };
    assert_eq!(told(&blind, &[1], &[]), [(FindingKind::MissingNetwork, FindingAction::Failed, None)]);
}

#[test]
fn a_guest_without_its_address_is_told() {
    let mut world = well();
    world.guests[0].lease = GuestLeaseState::Expired;
    assert_eq!(told(&world, &[1], &[]), [(FindingKind::GuestAddress, FindingAction::Reported, None)]);
}

#[test]
fn a_device_is_bound_again_only_when_no_guest_has_it() {
    let address = PciAddress { domain: 0, bus: 15, device: 0, function: 0 };
    let wrong = WrongDriver { address, driver: Some("nvidia".into()), unfit: None };
    let mut world = World { drivers: Ok(vec![(slot_id(2), wrong)]), ..well() };
    let bind = Some(Repair::Bind { address });
    assert_eq!(told(&world, &[1], &[]), [(FindingKind::WrongDriver, FindingAction::Reported, bind)]);
    world.domains[0].devices = vec![address];
    assert_eq!(told(&world, &[1], &[]), [(FindingKind::WrongDriver, FindingAction::Reported, None)]);
    world.domains[0].devices.clear();
    let unfit = Some("it is not there".into());
    world.drivers = Ok(vec![(slot_id(2), WrongDriver { address, driver: None, unfit })]);
    assert_eq!(told(&world, &[1], &[]), [(FindingKind::WrongDriver, FindingAction::Reported, None)]);
    world.drivers = Err("no bus".into());
    assert_eq!(told(&world, &[1], &[]), [(FindingKind::WrongDriver, FindingAction::Failed, None)]);
}

// As a host is after a reboot: the machine is off, and its GPU is with the host's driver.
#[test]
fn a_guest_that_is_off_gets_its_devices_back_before_it_is_started() {
    let wrong = WrongDriver { address: gpu(15), driver: Some("nvidia".into()), unfit: None };
    let mut off = World {
        domains: vec![DomainLook { devices: vec![gpu(15)], ..domain(1, State::Off) }],
        guests: vec![look(1, false)],
        processes: vec![],
        drivers: Ok(vec![(slot_id(1), wrong)]),
        ..well()
    };
    let repairs = |world: &World, busy: &[u8]| {
        told(world, &[1], busy).into_iter().filter_map(|(_, _, repair)| repair).collect::<Vec<_>>()
    };
    let (bind, start) = (Repair::Bind { address: gpu(15) }, Repair::Start { guest: guest_use(1) });
    assert_eq!(repairs(&off, &[]), [bind.clone(), start.clone()], "in this order");
    assert_eq!(repairs(&off, &[1]), [], "not under the hands of an order");
    // What is taken in hand for each is what an order for the guest would take.
    let slot = slot_id(1).to_string();
    assert_eq!(bind.names(&off), BTreeSet::from([slot.clone()]));
    assert_eq!(start.names(&off), BTreeSet::from([slot, guest_use(1).allocation_id.to_string()]));
    for state in [State::Running, State::Paused, State::Stopping, State::Suspended] {
        off.domains[0].state = state;
        assert!(!repairs(&off, &[]).contains(&bind), "{state:?}");
    }
}

// One guest on the slots 1 and 2, whose uses are 3 and 7; its own use is the first one's.
fn on_two_slots() -> (World, ReconcileOrder) {
    let mut world = well();
    let uses =
        vec![SlotUse { slot_id: slot_id(1), use_generation: 3 }, SlotUse { slot_id: slot_id(2), use_generation: 7 }];
    (world.domains[0].uses, world.guests[0].uses) = (uses.clone(), uses);
    world.domains[0].slots = BTreeSet::from([slot_id(1), slot_id(2)]);
    let mut order = order(&[1]);
    order.claims[0].slots = vec![task_slot(1), TaskSlot { use_generation: 7, ..task_slot(2) }];
    (world, order)
}

fn about(world: &World, order: &ReconcileOrder) -> Vec<(FindingKind, Option<SlotId>)> {
    let found = findings(world, order, &BTreeSet::new());
    found.into_iter().map(|found| (found.finding.kind, found.finding.slot_id)).collect()
}

#[test]
fn a_claim_is_known_by_all_of_its_slots_in_any_order() {
    let (world, mut order) = on_two_slots();
    assert_eq!(about(&world, &order), []);
    order.claims[0].slots.reverse();
    assert_eq!(about(&world, &order), []);
    let off = World { domains: vec![DomainLook { state: State::Off, ..world.domains[0].clone() }], ..world.clone() };
    let start = findings(&World { processes: vec![], ..off }, &order, &BTreeSet::new());
    assert_eq!(start[0].repair, Some(Repair::Start { guest: guest_use(1) }));
    let without = FindingKind::GuestWithoutClaim;
    let nobodys = [(without, Some(slot_id(1))), (without, Some(slot_id(2)))];
    for change in [
        &|slots: &mut Vec<TaskSlot>| slots[0].use_generation += 1,
        &|slots: &mut Vec<TaskSlot>| drop(slots.pop()),
        &|slots: &mut Vec<TaskSlot>| slots.push(task_slot(3)),
    ] as [&dyn Fn(&mut Vec<TaskSlot>); 3]
    {
        let mut other = order.clone();
        change(&mut other.claims[0].slots);
        let found = about(&world, &other);
        assert_eq!(found[..2], nobodys, "every slot is told of");
        assert_eq!((found.len(), found[2].0), (3, FindingKind::ClaimWithoutGuest));
    }
}

#[test]
fn whatever_is_quarantined_is_told_of_each_slot() {
    let (mut world, order) = on_two_slots();
    world.domains[0].differences = vec!["device".into()];
    // It has the disk of a third.
    world.domains[0].slots.insert(slot_id(3));
    let differs = |number| (FindingKind::GuestDiffers, Some(slot_id(number)));
    assert_eq!(about(&world, &order), [differs(1), differs(2), differs(3)]);
    // Of a process of which there is nothing else, its leases say where it sits.
    let lost = World { processes: vec![(77, guest_use(2))], leases: vec![lease(2)], ..empty() };
    let none = ReconcileOrder { claims: vec![], slots: vec![] };
    assert_eq!(about(&lost, &none), [(FindingKind::OrphanProcess, Some(slot_id(2)))]);
    let unknown = World { leases: vec![], ..lost };
    assert_eq!(about(&unknown, &none), [(FindingKind::OrphanProcess, None)]);
}

#[test]
fn a_disk_that_cannot_be_used_keeps_its_slot_from_being_sold() {
    let world = World { disks: vec![(slot_id(1), "loop1 is mounted at /mnt".into())], ..well() };
    assert_eq!(about(&world, &order(&[1])), [(FindingKind::SlotDisk, Some(slot_id(1)))]);
    assert_eq!(told(&world, &[1], &[]), [(FindingKind::SlotDisk, FindingAction::Quarantined, None)]);
    assert_eq!(told(&world, &[1], &[1]), [], "not while an order writes to it");
}

#[test]
fn what_an_order_is_doing_to_the_network_is_not_told() {
    let port = look(1, true).port;
    let world = World {
        network: Ok(vec![
            Change::PortRemove { name: port.port_name() },
            Change::ReservationRemove { port: port.port_name() },
            Change::ReservationRemove { port: "gp000000000009".into() },
        ]),
        ..well()
    };
    let things = |busy: &[u8]| {
        let busy = busy.iter().map(|number| guest_use(*number).allocation_id).collect();
        findings(&world, &order(&[1]), &busy).into_iter().map(|found| found.finding.thing).collect::<Vec<_>>()
    };
    assert_eq!(things(&[]).len(), 3);
    assert_eq!(things(&[1]), ["gp000000000009"]);
}

fn gpu(bus: u8) -> PciAddress {
    PciAddress { domain: 0, bus, device: 0, function: 0 }
}

// A guest in the partition of GPUs 1 and 3, and what is active besides.
fn with_fabric(active: &[u32]) -> World {
    let partition = |(id, modules): (u32, &[u32])| PartitionSeen {
        id,
        active: active.contains(&id),
        modules: modules.iter().copied().collect(),
    };
    let listed = [(0, &[1, 2, 3, 4][..]), (3, &[1, 3]), (4, &[2, 4]), (8, &[2])].map(partition);
    let mut world = World { partitions: Ok(Some(listed.to_vec())), ..well() };
    world.guests[0].modules = BTreeSet::from([1, 3]);
    world.domains[0].devices = vec![gpu(1), gpu(3), gpu(99)];
    world.known = (1..5).map(|module| (gpu(module), Some(u32::from(module)))).collect();
    world.known.insert(gpu(99), None);
    world
}

#[test]
fn a_partition_that_is_on_and_nobodys_is_switched_off() {
    assert_eq!(told(&with_fabric(&[3]), &[1], &[]), []);
    let off = |id| (FindingKind::Partition, FindingAction::Reported, Some(Repair::PartitionOff { id }));
    assert_eq!(told(&with_fabric(&[3, 4]), &[1], &[]), [off(4)]);
    assert_eq!(told(&with_fabric(&[3, 8]), &[1], &[1]), [off(8)]);
    let blind = World { partitions: Err("the Fabric Manager must answer".into()), ..well() };
    assert_eq!(told(&blind, &[1], &[]), [(FindingKind::Partition, FindingAction::Failed, None)]);
}

#[test]
fn a_partition_is_left_on_while_anybody_may_use_a_gpu_of_it() {
    let left = vec![(FindingKind::Partition, FindingAction::Reported, None)];
    let mut shared = with_fabric(&[0]);
    shared.guests[0].running = false;
    assert_eq!(told(&shared, &[1], &[1]), left.clone(), "a guest that is off has its GPUs all the same");
    let stranger = |devices| DomainLook {
        guest: None,
        name: "pet".into(),
        slots: BTreeSet::new(),
        devices,
        ..domain(2, State::Off)
    };
    let mut known = with_fabric(&[3, 4]);
    known.domains.push(stranger(vec![gpu(2)]));
    assert_eq!(told(&known, &[1], &[]), left.clone());
    let mut unknown = with_fabric(&[3, 4]);
    unknown.domains.push(stranger(vec![gpu(7)]));
    assert_eq!(told(&unknown, &[1], &[]), left.clone(), "a device that nobody knows may be one of its GPUs");
    let mut orphan = with_fabric(&[3, 4]);
    orphan.processes.push((77, guest_use(2)));
    let found = told(&orphan, &[1], &[]);
    assert!(found.contains(&left[0]) && !found.iter().any(|(.., repair)| repair.is_some()), "{found:?}");
    assert!(partition_nobodys(&with_fabric(&[3]), 5).unwrap_err().contains("not listed any more"));
}

#[test]
fn a_guest_that_runs_in_a_partition_that_is_off_is_told() {
    let told_only = vec![(FindingKind::Partition, FindingAction::Reported, None)];
    assert_eq!(told(&with_fabric(&[]), &[1], &[]), told_only.clone());
    assert_eq!(told(&with_fabric(&[]), &[1], &[1]), [], "not while it is being built");
    let mut wider = with_fabric(&[0]);
    wider.known.clear();
    assert_eq!(told(&wider, &[1], &[]), [told_only.clone(), told_only].concat(), "a wider one is not its own");
    let mut off = with_fabric(&[]);
    off.guests[0].running = false;
    assert_eq!(told(&off, &[1], &[]), []);
    let none = World { partitions: Ok(None), ..with_fabric(&[]) };
    assert_eq!(told(&none, &[1], &[]), []);
}
