//! The plan: approved bundles on one side, the host as it is now on the other, and either what the guest gets or everything that
//! stands against it.

use crate::{
    bundle,
    disks::{self, DiskFound},
    failed::{Failed, refusal},
    host::Hostd,
    look, marks,
    record::Record,
};
use guest::{
    identity::GuestUse,
    plan::{self, BundlePlan, HostNow},
};
use model::{
    AllocationId, SlotId, Timestamp,
    guest::SlotBundle,
    runtime::{PlanCell, PlanReport, Refusal},
    task::{PlanSlot, TaskFailure},
};
use std::collections::BTreeSet;

/// The host as it is now, with the disks it was looked at with.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) now: HostNow,
    pub(crate) disks: Vec<DiskFound>,
}

impl Hostd {
    /// Looks at the host for one guest: what it holds already counts as free for it.
    pub(crate) fn look(&self, own: &GuestUse, records: &[Record]) -> Result<Looked, Failed> {
        let not_readable = |why: String| Failed::of(TaskFailure::NotReadable, why);
        let domains = self.domains().map_err(|fault| not_readable(fault.to_string()))?;
        let disks = disks::all(&self.view).map_err(|fault| not_readable(fault.to_string()))?;
        let host = &self.config.network;
        let (bridges, addresses) = match network::see(host) {
            Ok(seen) => (BTreeSet::from([host.bridge.clone()]), look::addresses(&seen, records, &domains)),
            Err(network::Fault::BridgeMissing { .. }) => Default::default(),
            Err(fault) => return Err(not_readable(fault.to_string())),
        };
        let sysfs = || -> Result<HostNow, look::LookFault> {
            Ok(HostNow {
                pci: look::pci(&self.view)?,
                disks: look::disks_now(&self.view, &disks, &domains, records, own),
                hugepages: look::hugepages(&self.view)?,
                memory_free_mib: look::memory_free_mib(&self.view)?,
                cpus: look::cpus(&self.view, &self.config.host_cpus)?,
                leases: vec![],
                bridges,
                macs: addresses.macs,
                ips: addresses.ips,
            })
        };
        let mut now = sysfs().map_err(|fault| not_readable(fault.to_string()))?;
        now.leases = self.leases.list().map_err(|fault| not_readable(fault.to_string()))?;
        promised_away(&mut now, records, own, &self.running()?);
        Ok(Looked { now, disks })
    }

    /// What a guest on these slots gets, or everything that stands against it.
    pub(crate) fn plan_for(
        &self,
        guest: &GuestUse,
        slots: &[(&SlotId, &SlotBundle)],
        looked: &Looked,
    ) -> Result<BundlePlan, Vec<Refusal>> {
        let (mut approved, mut refusals) = (vec![], vec![]);
        let ids = self.devices.ids();
        let rules = bundle::Rules { network: &self.config.network, devices: &ids };
        for (slot_id, bundle) in slots {
            if let Err(refusal) = bundle::profile_check(slot_id, bundle, self.config.lab) {
                refusals.push(refusal);
                continue;
            }
            match bundle::approved(slot_id, bundle, &rules, &looked.now, &looked.disks) {
                Ok(slot) => approved.push(slot),
                Err(more) => refusals.extend(more),
            }
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let planned = plan::plan(guest, &approved, &looked.now);
        let kept = slots.iter().filter_map(|(slot_id, bundle)| {
            let (disk, allowed) = (bundle.disk_identity.as_str(), self.config.disks.as_deref());
            marks::refusal(slot_id, disk, &guest.allocation_id, allowed, &self.marks.of(disk))
        });
        let kept: Vec<Refusal> = kept.collect();
        match planned {
            Ok(plan) if kept.is_empty() => Ok(plan),
            Ok(_) => Err(kept),
            Err(found) => Err(found.into_iter().map(refusal).chain(kept).collect()),
        }
    }

    /// Answers what a guest on these slots would get. Changes nothing.
    pub fn plan(&self, slots: &[PlanSlot]) -> Result<PlanReport, Failed> {
        // Nobody's guest: whatever is held is held by somebody else.
        let nobody =
            GuestUse { allocation_id: AllocationId::from_parts(Timestamp::from_micros(0), [0; 10]), use_generation: 0 };
        let records = self.records.list().map_err(Failed::plain)?;
        let looked = self.look(&nobody, &records)?;
        let slots: Vec<_> = slots.iter().map(|slot| (&slot.slot_id, &slot.bundle)).collect();
        Ok(match self.plan_for(&nobody, &slots, &looked) {
            Ok(plan) => report(&plan),
            Err(refusals) => PlanReport {
                refusals,
                cells: vec![],
                hugepage_kib: None,
                pci_addresses: vec![],
                disks: vec![],
                mac: String::new(),
                ip: String::new(),
            },
        })
    }
}

// Memory that others were promised is not free, though nobody has it yet.
fn promised_away(now: &mut HostNow, records: &[Record], own: &GuestUse, running: &BTreeSet<GuestUse>) {
    for ((node, page_kib), mib) in look::promised_mib(records, own, running) {
        match page_kib {
            None => {
                if let Some(free) = now.memory_free_mib.get_mut(&node) {
                    *free = free.saturating_sub(mib);
                }
            }
            Some(page_kib) => {
                let pages = mib.saturating_mul(1024).div_ceil(page_kib.max(1));
                let of = now.hugepages.iter_mut().filter(|now| now.numa_node == node && now.page_kib == page_kib);
                of.for_each(|now| now.free = now.free.saturating_sub(pages));
            }
        }
    }
}

fn report(plan: &BundlePlan) -> PlanReport {
    let cell = |cell: &guest::domain::Cell| PlanCell {
        numa_node: cell.host_node,
        cpus: cell.cpus.clone(),
        memory_mib: cell.memory_mib,
    };
    PlanReport {
        refusals: vec![],
        cells: plan.cells.iter().map(cell).collect(),
        hugepage_kib: plan.hugepage_kib,
        pci_addresses: plan.devices.iter().map(|device| device.address.to_string()).collect(),
        disks: plan.disks.iter().map(|disk| disk.path.display().to_string()).collect(),
        mac: plan.mac.to_string(),
        ip: plan.ip.to_string(),
    }
}
