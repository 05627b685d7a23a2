//! Every guest on the host, and what is left of others: whatever has a record, a machine, a process or a lease. Somebody is
//! listed from the moment anything of him exists until nothing does.

use crate::{
    bundle,
    devices::DeviceClaim,
    failed::Failed,
    host::Hostd,
    protocol::{GuestListed, SlotHeld},
};
use guest::{
    identity::GuestUse,
    leases::{Lease, Thing},
    machine::{Machines, State},
};
use model::{AllocationId, SlotId};
use std::collections::{BTreeMap, BTreeSet};

/// One sign of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) allocation_id: AllocationId,
    pub(crate) slots: Vec<SlotHeld>,
    pub(crate) ready: bool,
}

/// Puts signs of the same allocation together. It is ready when one of them says so.
pub(crate) fn listed(traces: impl IntoIterator<Item = Trace>) -> Vec<GuestListed> {
    let mut all: BTreeMap<AllocationId, (BTreeMap<SlotId, i64>, bool)> = BTreeMap::new();
    for trace in traces {
        let (slots, ready) = all.entry(trace.allocation_id).or_default();
        for slot in trace.slots {
            let generation = slots.entry(slot.slot_id).or_insert(slot.use_generation);
            *generation = (*generation).max(slot.use_generation);
        }
        *ready |= trace.ready;
    }
    let one = |(allocation_id, (slots, ready)): (AllocationId, (BTreeMap<SlotId, i64>, bool))| GuestListed {
        allocation_id,
        slots: slots.into_iter().map(|(slot_id, use_generation)| SlotHeld { slot_id, use_generation }).collect(),
        ready,
    };
    all.into_iter().map(one).collect()
}

// Whoever else holds a device of a claim by a lease, or a GPU of its partition by a record; and what it is.
fn held_by_other(
    claim: &DeviceClaim,
    own: Option<&GuestUse>,
    leases: &[Lease],
    records: &[(GuestUse, BTreeSet<u32>)],
) -> Option<(String, GuestUse)> {
    let is_other = |guest: &GuestUse| Some(guest) != own;
    let device = |lease: &&Lease| match lease.thing {
        Thing::Pci(address) => claim.gpus.contains(&address) || claim.fabric.contains(&address),
        _ => false,
    };
    if let Some(lease) = leases.iter().filter(|lease| is_other(&lease.holder)).find(device) {
        return Some((lease.thing.to_string(), lease.holder.clone()));
    }
    let joined = |modules: &BTreeSet<u32>| claim.partition.iter().copied().find(|module| modules.contains(module));
    let mut others = records.iter().filter(|(guest, _)| is_other(guest));
    others.find_map(|(guest, modules)| Some((format!("GPU {}", joined(modules)?), guest.clone())))
}

impl Hostd {
    /// Every guest on the host.
    pub fn guests(&self) -> Result<Vec<GuestListed>, Failed> {
        Ok(listed(self.all_traces()?))
    }

    pub(crate) fn all_traces(&self) -> Result<Vec<Trace>, Failed> {
        let held = |slot: &guest::identity::SlotUse| SlotHeld {
            slot_id: slot.slot_id.clone(),
            use_generation: slot.use_generation,
        };
        let mut traces = vec![];
        for record in self.records.list().map_err(Failed::plain)? {
            let state = if record.ready { self.virsh.state(record.guest.uuid()).map_err(Failed::plain)? } else { None };
            traces.push(Trace {
                allocation_id: record.guest.allocation_id.clone(),
                slots: record.slot_uses().iter().map(held).collect(),
                ready: state.is_some_and(|seen| seen.state == State::Running),
            });
        }
        for seen in self.domains().map_err(Failed::plain)?.into_iter().filter_map(|domain| domain.guest) {
            let slots = seen.slots.iter().map(held).collect();
            traces.push(Trace { allocation_id: seen.guest.allocation_id, slots, ready: false });
        }
        for (_, guest) in self.processes()? {
            traces.push(Trace { allocation_id: guest.allocation_id, slots: vec![], ready: false });
        }
        for lease in self.leases.list().map_err(Failed::plain)? {
            let use_generation = lease.holder.use_generation;
            let slots = match lease.thing {
                Thing::Slot(slot_id) => vec![SlotHeld { slot_id, use_generation }],
                _ => vec![],
            };
            traces.push(Trace { allocation_id: lease.holder.allocation_id, slots, ready: false });
        }
        Ok(traces)
    }

    /// That nobody else holds one of these devices, or has a GPU of that partition. What an order says of a guest that has no
    /// record is the caller's word alone; a device that is somebody else's is not touched for it.
    pub(crate) fn others_have_none(&self, claim: &DeviceClaim, own: Option<&GuestUse>) -> Result<(), String> {
        let leases = self.leases.list().map_err(|fault| fault.to_string())?;
        let records = self.records.list().map_err(|fault| fault.to_string())?;
        let others: Vec<(GuestUse, BTreeSet<u32>)> =
            records.iter().map(|record| (record.guest.clone(), bundle::modules(record))).collect();
        held_by_other(claim, own, &leases, &others)
            .map_or(Ok(()), |(what, other)| Err(format!("{what} must be nobody else's, but {other} has it")))
    }

    /// Who sits on a slot, if anybody does.
    pub(crate) fn on_slot(&self, slot_id: &SlotId) -> Result<BTreeSet<AllocationId>, Failed> {
        let sits = |trace: &Trace| trace.slots.iter().any(|slot| slot.slot_id == *slot_id);
        Ok(self.all_traces()?.into_iter().filter(sits).map(|trace| trace.allocation_id).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{guest_use, slot_id};
    use guest::identity::PciAddress;
    use model::Timestamp;

    #[test]
    fn a_device_of_another_guest_is_not_touched() {
        let address = |bus| PciAddress { domain: 0, bus, device: 0, function: 0 };
        let lease = |bus, number| Lease {
            thing: Thing::Pci(address(bus)),
            holder: guest_use(number),
            taken_at: Timestamp::from_micros(1),
        };
        let claim = DeviceClaim { gpus: vec![address(1)], fabric: vec![address(2)], partition: vec![5] };
        let own = guest_use(1);
        let records = [(guest_use(1), BTreeSet::from([5])), (guest_use(2), BTreeSet::from([6, 7]))];
        let held = |claim: &DeviceClaim, leases: &[Lease]| held_by_other(claim, Some(&own), leases, &records);
        assert_eq!(held(&claim, &[lease(1, 1), lease(2, 1), lease(3, 2)]), None);
        let other = Some(("pci-0000:02:00.0".to_owned(), guest_use(2)));
        assert_eq!(held(&claim, &[lease(1, 1), lease(2, 2)]), other);
        let joined = DeviceClaim { partition: vec![5, 7], ..claim.clone() };
        assert_eq!(held(&joined, &[]), Some(("GPU 7".to_owned(), guest_use(2))));
        assert!(held_by_other(&claim, None, &[], &records).is_some(), "a wipe has no guest of its own");
    }

    #[test]
    fn signs_of_one_allocation_are_one_guest() {
        let slot = |number, use_generation| SlotHeld { slot_id: slot_id(number), use_generation };
        let trace = |number, slots: &[SlotHeld], ready| Trace {
            allocation_id: guest_use(number).allocation_id,
            slots: slots.to_vec(),
            ready,
        };
        let all = listed([
            trace(2, &[], false),
            trace(1, &[slot(1, 3)], true),
            trace(1, &[slot(1, 3), slot(2, 5)], false),
            trace(1, &[slot(2, 4)], false),
        ]);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].slots.clone(), all[0].ready), (vec![slot(1, 3), slot(2, 5)], true));
        assert_eq!((all[1].slots.len(), all[1].ready), (0, false));
    }
}
