//! What is wrong with a host, from what was seen and what is claimed there. Pure; the same host and order give the same
//! findings in the same order.

use super::world::{DomainLook, Folder, GuestLook, World, file_owner};
use crate::devices::PartitionSeen;
use guest::{
    identity::{GuestUse, PciAddress, SlotUse},
    leases::Thing,
    machine::State,
};
use model::{
    AllocationId, SlotId,
    runtime::{Finding, FindingAction, FindingKind, GuestLeaseState},
    task::{ReconcileClaim, ReconcileOrder},
};
use network::{Change, Foreign, GuestPort};
use std::collections::BTreeSet;

/// What would put something right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// Make the network what the records say.
    Network,
    /// Start a machine that is defined and off.
    Start {
        /// Whose.
        guest: GuestUse,
    },
    /// Give back leases of somebody who is gone.
    ReleaseLeases {
        /// Whose.
        guest: GuestUse,
    },
    /// Remove a file of a guest that is gone.
    RemoveFile {
        /// Where it is.
        folder: Folder,
        /// Its name.
        file: String,
    },
    /// Put a device on the driver that guests need.
    Bind {
        /// Which.
        address: PciAddress,
    },
    /// Switch a partition of the fabric off.
    PartitionOff {
        /// Which.
        id: u32,
    },
    /// Remove what does not belong into the image cache.
    TidyCache,
}

impl Repair {
    /// What has to be in hand for it, by the names that orders take: nothing where a lock of its own keeps others away.
    pub fn names(&self, world: &World) -> BTreeSet<String> {
        let of_guest = |guest: &GuestUse| {
            let slots = slots_of(world, guest).into_iter().map(|slot_id| slot_id.to_string());
            slots.chain([guest.allocation_id.to_string()]).collect()
        };
        match self {
            Self::Start { guest } | Self::ReleaseLeases { guest } => of_guest(guest),
            Self::RemoveFile { file, .. } => file_owner(file).as_ref().map(of_guest).unwrap_or_default(),
            Self::Bind { address } => {
                let wrong = world.drivers.iter().flatten().filter(|(_, found)| found.address == *address);
                wrong.map(|(slot_id, _)| slot_id.to_string()).collect()
            }
            Self::Network | Self::PartitionOff { .. } | Self::TidyCache => BTreeSet::new(),
        }
    }
}

/// Something that is not as it should be, and what would put it right; nothing when it is only told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is. Its action is what is done when there is no repair.
    pub finding: Finding,
    /// The repair.
    pub repair: Option<Repair>,
}

struct Notes(Vec<Found>);

impl Notes {
    // Something that nobody may sit beside: told once for each of its slots, because a slot is taken out of use only by a
    // finding of its own.
    fn quarantine(
        &mut self,
        kind: FindingKind,
        thing: impl ToString,
        allocation_id: Option<&AllocationId>,
        slots: &BTreeSet<SlotId>,
        detail: &str,
    ) {
        let thing = thing.to_string();
        let each = slots.iter().map(Some).chain(slots.is_empty().then_some(None));
        for slot_id in each {
            let about = (allocation_id, slot_id);
            self.note(kind, FindingAction::Quarantined, &thing, about, detail.to_owned(), None);
        }
    }

    fn note(
        &mut self,
        kind: FindingKind,
        action: FindingAction,
        thing: impl ToString,
        about: (Option<&AllocationId>, Option<&SlotId>),
        detail: String,
        repair: Option<Repair>,
    ) {
        let finding = Finding {
            kind,
            action,
            thing: thing.to_string(),
            allocation_id: about.0.cloned(),
            slot_id: about.1.cloned(),
            detail,
        };
        self.0.push(Found { finding, repair });
    }
}

/// Everything on the host that is not as the order says. Allocations that are busy are not spoken of, and neither is what is
/// theirs. Devices come before the guests that need them, because repairs are made in this order.
pub fn findings(world: &World, order: &ReconcileOrder, busy: &BTreeSet<AllocationId>) -> Vec<Found> {
    let mut notes = Notes(vec![]);
    let busy_slots = busy_slots(world, order, busy);
    machines(world, order, busy, &mut notes);
    disks(world, &busy_slots, &mut notes);
    devices(world, &busy_slots, &mut notes);
    claims(world, order, busy, &mut notes);
    processes(world, busy, &mut notes);
    network_of(world, busy, &mut notes);
    leftovers(world, busy, &mut notes);
    partitions(world, busy, &mut notes);
    notes.0
}

/// The slots that anything on the host says a guest sits on.
pub fn slots_of(world: &World, guest: &GuestUse) -> BTreeSet<SlotId> {
    let own = |other: &&GuestUse| *other == guest;
    let domains = world.domains.iter().filter(|domain| domain.guest.as_ref().filter(own).is_some());
    let looks = world.guests.iter().filter(|look| look.guest == *guest);
    let recorded = looks.flat_map(|look| &look.uses).map(|held| &held.slot_id);
    let leases = world.leases.iter().filter(|lease| lease.holder == *guest);
    let leased = leases.filter_map(|lease| if let Thing::Slot(slot_id) = &lease.thing { Some(slot_id) } else { None });
    domains.flat_map(|domain| &domain.slots).chain(recorded).chain(leased).cloned().collect()
}

fn busy_slots(world: &World, order: &ReconcileOrder, busy: &BTreeSet<AllocationId>) -> BTreeSet<SlotId> {
    let claims = order.claims.iter().filter(|claim| busy.contains(&claim.allocation_id));
    let mut slots: BTreeSet<SlotId> = claims.flat_map(|claim| &claim.slots).map(|slot| slot.slot_id.clone()).collect();
    let domains = world.domains.iter().filter_map(|domain| domain.guest.as_ref());
    let looks = world.guests.iter().map(|look| &look.guest);
    let holders = world.leases.iter().map(|lease| &lease.holder);
    let guests: BTreeSet<&GuestUse> = domains.chain(looks).chain(holders).collect();
    for guest in guests.into_iter().filter(|guest| busy.contains(&guest.allocation_id)) {
        slots.extend(slots_of(world, guest));
    }
    slots
}

// The claim of exactly these uses of these slots. In which order they are named says nothing.
fn claim_of<'a>(
    order: &'a ReconcileOrder,
    allocation_id: &AllocationId,
    uses: &[SlotUse],
) -> Option<&'a ReconcileClaim> {
    let held: BTreeSet<(&SlotId, i64)> = uses.iter().map(|held| (&held.slot_id, held.use_generation)).collect();
    let same = |claim: &&ReconcileClaim| {
        let claimed = claim.slots.iter().map(|slot| (&slot.slot_id, slot.use_generation));
        claim.allocation_id == *allocation_id && claimed.collect::<BTreeSet<_>>() == held
    };
    order.claims.iter().find(same).filter(|_| !held.is_empty())
}

// Machines and records that nobody claims, and machines that are not what was claimed.
fn machines(world: &World, order: &ReconcileOrder, busy: &BTreeSet<AllocationId>, notes: &mut Notes) {
    for domain in &world.domains {
        let Some(guest) = &domain.guest else {
            foreign(domain, notes);
            continue;
        };
        let id = &guest.allocation_id;
        if busy.contains(id) {
            continue;
        }
        let slots = slots_of(world, guest);
        if claim_of(order, id, &domain.uses).is_none() {
            let detail = format!("The machine {} is on the host, and nothing is claimed for it.", domain.name);
            notes.quarantine(FindingKind::GuestWithoutClaim, &domain.name, Some(id), &slots, &detail);
        } else if let Some(difference) = domain.differences.first() {
            let more = domain.differences.len();
            let detail = format!("The machine {} differs in {more} points: {difference}.", domain.name);
            notes.quarantine(FindingKind::GuestDiffers, &domain.name, Some(id), &slots, &detail);
        }
    }
    for look in world.guests.iter().filter(|look| !world.domains.iter().any(|d| d.guest.as_ref() == Some(&look.guest)))
    {
        let id = &look.guest.allocation_id;
        if busy.contains(id) || claim_of(order, id, &look.uses).is_some() {
            continue;
        }
        let detail = format!("What is left of {} is on the host, and nothing is claimed for it.", look.guest);
        let slots = slots_of(world, &look.guest);
        notes.quarantine(FindingKind::GuestWithoutClaim, &look.guest, Some(id), &slots, &detail);
    }
}

// A machine that the platform did not make matters only where it has something of a slot.
fn foreign(domain: &DomainLook, notes: &mut Notes) {
    if domain.slots.is_empty() {
        return;
    }
    let detail = format!("The machine {}, which is not the platform's, uses the slot's disk or devices.", domain.name);
    notes.quarantine(FindingKind::GuestWithoutClaim, &domain.name, None, &domain.slots, &detail);
}

// A disk that a slot does not have, or that the host uses, cannot be sold with it.
fn disks(world: &World, busy_slots: &BTreeSet<SlotId>, notes: &mut Notes) {
    for (slot_id, why) in world.disks.iter().filter(|(slot_id, _)| !busy_slots.contains(slot_id)) {
        let detail = format!("The disk of the slot cannot be used: {why}.");
        let slots = BTreeSet::from([slot_id.clone()]);
        notes.quarantine(FindingKind::SlotDisk, format!("disk of {slot_id}"), None, &slots, &detail);
    }
}

fn claims(world: &World, order: &ReconcileOrder, busy: &BTreeSet<AllocationId>, notes: &mut Notes) {
    for claim in order.claims.iter().filter(|claim| claim.should_run && !busy.contains(&claim.allocation_id)) {
        let id = &claim.allocation_id;
        let about = (Some(id), claim.slots.first().map(|slot| &slot.slot_id));
        let is_of = |guest: &GuestUse, uses: &[SlotUse]| claim_of(order, &guest.allocation_id, uses) == Some(claim);
        let guest = world.guests.iter().find(|look| is_of(&look.guest, &look.uses));
        let mut domains = world.domains.iter();
        let domain = domains.find(|domain| domain.guest.as_ref().is_some_and(|guest| is_of(guest, &domain.uses)));
        match (domain, guest) {
            (Some(domain), Some(guest)) if domain.state == State::Running => {
                if guest.ready && guest.lease != GuestLeaseState::Leased {
                    let detail = format!("{} runs and its address stands as {}.", guest.guest, guest.lease);
                    let (kind, action) = (FindingKind::GuestAddress, FindingAction::Reported);
                    notes.note(kind, action, &guest.guest, about, detail, None);
                }
            }
            (Some(domain), Some(guest))
                if domain.state == State::Off && guest.ready && domain.differences.is_empty() =>
            {
                let detail = format!("{} should run and is off.", guest.guest);
                let repair = Some(Repair::Start { guest: guest.guest.clone() });
                let (kind, action) = (FindingKind::ClaimWithoutGuest, FindingAction::Reported);
                notes.note(kind, action, &guest.guest, about, detail, repair);
            }
            (domain, _) => {
                if domain.is_some_and(|domain| domain.state == State::Running) {
                    continue;
                }
                let found =
                    domain.map_or("there is no machine".to_owned(), |domain| format!("it is {:?}", domain.state));
                let detail = format!("{id} should have a guest that runs, and {found}.");
                let (kind, action) = (FindingKind::ClaimWithoutGuest, FindingAction::Reported);
                notes.note(kind, action, id, about, detail, None);
            }
        }
    }
}

fn processes(world: &World, busy: &BTreeSet<AllocationId>, notes: &mut Notes) {
    for (pid, guest) in &world.processes {
        let known =
            world.domains.iter().any(|domain| domain.guest.as_ref() == Some(guest) && domain.state != State::Off);
        if known || busy.contains(&guest.allocation_id) {
            continue;
        }
        // It may still write to a disk, so its slots are not to be used; a release ends it.
        let detail = format!("Process {pid} runs {guest}, and libvirt does not know it.");
        let (kind, id) = (FindingKind::OrphanProcess, &guest.allocation_id);
        notes.quarantine(kind, format!("process {pid}"), Some(id), &slots_of(world, guest), &detail);
    }
}

// What an order in hand has not put into the network yet, or not taken out, it will.
fn network_of(world: &World, busy: &BTreeSet<AllocationId>, notes: &mut Notes) {
    let changes = match &world.network {
        Ok(changes) => changes,
        Err(fault) => {
            let detail = format!("The network cannot be looked at: {fault}.");
            let (kind, action) = (FindingKind::MissingNetwork, FindingAction::Failed);
            return notes.note(kind, action, "network", (None, None), detail, None);
        }
    };
    let busy: Vec<&GuestPort> =
        world.guests.iter().map(|look| &look.port).filter(|port| busy.contains(&port.allocation_id)).collect();
    for change in changes.iter().filter(|change| !busy.iter().any(|port| is_of_port(change, port))) {
        let Some((kind, thing, detail, repaired)) = change_told(change, world) else { continue };
        let repair = repaired.then_some(Repair::Network);
        notes.note(kind, FindingAction::Reported, thing, (None, None), detail, repair);
    }
}

fn is_of_port(change: &Change, port: &GuestPort) -> bool {
    match change {
        Change::PortAdd { port: wanted } => wanted.name == port.port_name(),
        Change::PortAwaited { name } | Change::PortRemove { name } | Change::ReservationRemove { port: name } => {
            *name == port.port_name()
        }
        Change::FlowAdd { flow } | Change::FlowRemove { flow } => flow.cookie == port.cookie(),
        Change::ElementAdd { element } | Change::ElementRemove { element } => element.ip == port.ip,
        Change::ReservationWrite { reservation } => reservation.ip == port.ip,
        Change::LeaseRemove { lease } => lease.ip == port.ip,
        Change::GatewaySet { .. }
        | Change::FirewallReplace { .. }
        | Change::DhcpStart { .. }
        | Change::Report { .. } => false,
    }
}

fn change_told(change: &Change, world: &World) -> Option<(FindingKind, String, String, bool)> {
    use FindingKind::{MissingNetwork, StrayNetwork};
    let stray = |what: &str, thing: String| {
        let detail = format!("{what} {thing} belongs to no guest.");
        Some((StrayNetwork, thing, detail, true))
    };
    let missing = |what: &str, thing: String| {
        let detail = format!("{what} {thing} was not as it should be.");
        Some((MissingNetwork, thing, detail, true))
    };
    match change {
        Change::GatewaySet { .. } => missing("The gateway", "gateway".to_owned()),
        Change::FirewallReplace { .. } => missing("The packet filter", "firewall".to_owned()),
        Change::DhcpStart { .. } => missing("The DHCP server", "dnsmasq".to_owned()),
        Change::ElementAdd { element } => missing("The filter's address", element.ip.to_string()),
        Change::PortAdd { port } => missing("The port", port.name.clone()),
        Change::FlowAdd { flow } => missing("The bridge's rule", flow.line_add()),
        Change::ReservationWrite { reservation } => missing("The reservation", reservation.ip.to_string()),
        Change::ElementRemove { element } => stray("The filter's address", element.ip.to_string()),
        Change::PortRemove { name } => stray("The port", name.clone()),
        Change::FlowRemove { flow } => stray("The bridge's rule", flow.line_add()),
        Change::ReservationRemove { port } => stray("The reservation", port.clone()),
        Change::LeaseRemove { lease } => stray("The lease", lease.ip.to_string()),
        // A guest that is off has no port; one that runs must have one.
        Change::PortAwaited { name } => {
            let runs = world.guests.iter().any(|look| look.port.port_name() == *name && look.running && look.ready);
            let detail = format!("The port {name} of a guest that runs is not on the bridge.");
            runs.then(|| (MissingNetwork, name.clone(), detail, false))
        }
        Change::Report { foreign } => {
            let thing = match foreign {
                Foreign::Flow { flow, .. } => flow.line_add(),
                Foreign::Port { name } => name.clone(),
                Foreign::Reservation { file } => file.clone(),
                Foreign::Element { element, .. } => element.ip.to_string(),
            };
            let detail = format!("{thing} was made by somebody else and is left alone.");
            Some((StrayNetwork, thing, detail, false))
        }
    }
}

// Leases and files whose owner is gone.
fn leftovers(world: &World, busy: &BTreeSet<AllocationId>, notes: &mut Notes) {
    let is_known = |guest: &GuestUse| {
        world.guests.iter().any(|look| look.guest == *guest)
            || world.domains.iter().any(|domain| domain.guest.as_ref() == Some(guest))
            || world.processes.iter().any(|(_, running)| running == guest)
    };
    let holders: BTreeSet<&GuestUse> = world.leases.iter().map(|lease| &lease.holder).collect();
    for guest in holders.into_iter().filter(|guest| !is_known(guest) && !busy.contains(&guest.allocation_id)) {
        let detail = format!("{guest} holds leases and nothing else of it is on the host.");
        let about = (Some(&guest.allocation_id), None);
        let repair = Some(Repair::ReleaseLeases { guest: guest.clone() });
        notes.note(FindingKind::StrayLease, FindingAction::Reported, guest, about, detail, repair);
    }
    for (folder, file) in &world.files {
        let owner = file_owner(file);
        let wanted = owner.as_ref().is_some_and(|guest| is_known(guest) || busy.contains(&guest.allocation_id));
        if !wanted {
            let kind = if *folder == Folder::Seeds { FindingKind::StraySeed } else { FindingKind::StrayFile };
            let detail = format!("{folder} {file} belongs to no guest.");
            let about = (owner.as_ref().map(|guest| &guest.allocation_id), None);
            let repair = Some(Repair::RemoveFile { folder: *folder, file: file.clone() });
            notes.note(kind, FindingAction::Reported, file, about, detail, repair);
        }
    }
    let (over, parts) = &world.cache;
    if *over > 0 || !parts.is_empty() {
        let detail =
            format!("The image cache is {over} bytes over its limit and holds {} unfinished files.", parts.len());
        let (kind, action) = (FindingKind::ImageCache, FindingAction::Reported);
        notes.note(kind, action, "images", (None, None), detail, Some(Repair::TidyCache));
    }
}

// After a reboot devices are on the host's drivers again, also those of guests that are off and wait to be started: only a
// machine that is up has its devices in use.
fn devices(world: &World, busy_slots: &BTreeSet<SlotId>, notes: &mut Notes) {
    let wrong = match &world.drivers {
        Ok(wrong) => wrong,
        Err(fault) => {
            let detail = format!("The drivers of approved devices cannot be looked at: {fault}.");
            let (kind, action) = (FindingKind::WrongDriver, FindingAction::Failed);
            return notes.note(kind, action, "devices", (None, None), detail, None);
        }
    };
    let is_up = |domain: &&DomainLook| !matches!(domain.state, State::Off | State::Crashed);
    for (slot_id, found) in wrong.iter().filter(|(slot_id, _)| !busy_slots.contains(slot_id)) {
        let driver = found.driver.as_deref().unwrap_or("no driver");
        let used = world.domains.iter().filter(is_up).any(|domain| domain.devices.contains(&found.address));
        let detail = match &found.unfit {
            Some(why) => format!("{} is on {driver} and cannot be given to guests: {why}.", found.address),
            None => format!("{} is on {driver} where guests need vfio-pci.", found.address),
        };
        let repair = (!used && found.unfit.is_none()).then_some(Repair::Bind { address: found.address });
        let about = (None, Some(slot_id));
        notes.note(FindingKind::WrongDriver, FindingAction::Reported, found.address, about, detail, repair);
    }
}

// Partitions that are on and nobody's are switched off. One that a guest runs in and that is off is told: switching it on under
// a running guest is a decision for somebody who can see what the guest does.
fn partitions(world: &World, busy: &BTreeSet<AllocationId>, notes: &mut Notes) {
    let listed = match &world.partitions {
        Ok(listed) => listed.as_deref().unwrap_or_default(),
        Err(fault) => {
            let detail = format!("The partitions of the fabric cannot be looked at: {fault}.");
            let (kind, action) = (FindingKind::Partition, FindingAction::Failed);
            return notes.note(kind, action, "fabric", (None, None), detail, None);
        }
    };
    let (kind, action) = (FindingKind::Partition, FindingAction::Reported);
    let is_owned = |partition: &PartitionSeen| world.guests.iter().any(|guest| guest.modules == partition.modules);
    for partition in listed.iter().filter(|partition| partition.active && !is_owned(partition)) {
        let (id, modules) = (partition.id, &partition.modules);
        let nobodys = partition_nobodys(world, id);
        let why = nobodys.as_ref().err().map_or(String::new(), |why| format!(" It is left on: {why}."));
        let detail = format!("Partition {id} with the GPUs {modules:?} is active and nobody's.{why}");
        let repair = nobodys.is_ok().then_some(Repair::PartitionOff { id });
        notes.note(kind, action, format!("partition {id}"), (None, None), detail, repair);
    }
    if world.partitions == Ok(None) {
        return;
    }
    let runs = |guest: &&GuestLook| guest.running && !guest.modules.is_empty();
    for look in world.guests.iter().filter(runs).filter(|look| !busy.contains(&look.guest.allocation_id)) {
        if listed.iter().any(|partition| partition.active && partition.modules == look.modules) {
            continue;
        }
        let detail = format!("{} runs, and no partition of exactly its GPUs {:?} is active.", look.guest, look.modules);
        let about = (Some(&look.guest.allocation_id), look.uses.first().map(|held| &held.slot_id));
        notes.note(kind, action, &look.guest, about, detail, None);
    }
}

/// Why a partition may not be switched off: somebody uses a GPU of it, or may.
pub fn partition_nobodys(world: &World, id: u32) -> Result<(), String> {
    let listed = world.partitions.as_ref().map_err(Clone::clone)?.as_deref().unwrap_or_default();
    let found = listed.iter().find(|partition| partition.id == id);
    let modules = &found.ok_or_else(|| format!("partition {id} is not listed any more"))?.modules;
    if let Some(guest) = world.guests.iter().find(|look| !look.modules.is_disjoint(modules)) {
        return Err(format!("{} has a GPU of it", guest.guest));
    }
    // A device of which nothing is known may be one of its GPUs.
    let may_be_of_it = |address: &PciAddress| match world.known.get(address) {
        Some(Some(module)) => modules.contains(module),
        Some(None) => false,
        None => true,
    };
    if let Some(domain) = world.domains.iter().find(|domain| domain.devices.iter().any(may_be_of_it)) {
        return Err(format!("the machine {} has a GPU of it, or may have one", domain.name));
    }
    let recorded = |guest: &GuestUse| world.guests.iter().any(|look| look.guest == *guest);
    match world.processes.iter().find(|(_, guest)| !recorded(guest)) {
        Some((pid, guest)) => Err(format!("process {pid} runs {guest}, of which nothing is recorded")),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "findings_tests.rs"]
mod tests;
