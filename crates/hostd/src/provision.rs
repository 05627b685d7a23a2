//! Building a guest. Each step is told, and each can be done again after the process was killed in it:
//!
//! ```text
//!   image · plan ──(record)── lease · clone · verify · devices · seed · network · start · lease seen · ssh ready
//! ```
//!
//! Up to the plan nothing is changed, so what is refused there leaves nothing behind. From then on the guest has a record and
//! is listed until it was stopped. A guest whose machine already runs is not built again but waited for; one whose machine does
//! not run is built from the plan on, because half a clone is none. One that was built to the end is never built again: its
//! disk is the tenant's, so its machine is started as it was.

use crate::{
    bundle, disks,
    failed::Failed,
    host::{Hostd, folder_make, now, now_us},
    host_key,
    planning::Looked,
    record::{self, Record},
    work::Work,
};
use disk::{CachedImage, CloneLimits, CloneStage, clone};
use guest::{
    identity::GuestUse,
    machine::{self, Machines, State, StopProgress, Which},
    plan::BundlePlan,
    seed::{Addressing, HostKey, SeedNetwork, SeedSpec, documents},
};
use model::{
    AllocationId, SlotId,
    guest::{GuestSpec, SlotBundle},
    runtime::{GuestSeen, WorkStep},
    task::{TaskFailure, TaskSlot},
};
use std::{
    collections::BTreeSet,
    os::unix::fs::chown,
    thread,
    time::{Duration, Instant},
};

// How long the switch may take to notice a port that libvirt made.
const PORT_WITHIN: Duration = Duration::from_secs(30);

/// An order to build a guest.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// For whom.
    pub allocation_id: &'a AllocationId,
    /// On which slots.
    pub slots: &'a [TaskSlot],
    /// What it is.
    pub spec: &'a GuestSpec,
}

/// What has to be in hand for an order.
pub(crate) fn names(allocation_id: &AllocationId, slots: &[TaskSlot]) -> BTreeSet<String> {
    let slots = slots.iter().map(|slot| slot.slot_id.to_string());
    slots.chain([allocation_id.to_string()]).collect()
}

impl<'a> Order<'a> {
    /// The guest it is about; its use is that of its first slot.
    fn guest(&self) -> Result<GuestUse, Failed> {
        let first = self.slots.first().ok_or_else(|| Failed::at(WorkStep::Plan, "the order names no slot"))?;
        Ok(GuestUse { allocation_id: self.allocation_id.clone(), use_generation: first.use_generation })
    }

    fn bundles(&self) -> Result<Vec<(&'a SlotId, &'a SlotBundle)>, Failed> {
        let one = |slot: &'a TaskSlot| {
            let missing = || Failed::at(WorkStep::Plan, format!("the order does not say what {} has", slot.slot_id));
            Ok((&slot.slot_id, slot.bundle.as_deref().ok_or_else(missing)?))
        };
        self.slots.iter().map(one).collect()
    }

    // Whether a record is of this very order; the challenge of a later wipe is no part of it.
    fn is_of(&self, record: &Record) -> bool {
        let same = |(one, other): (&TaskSlot, &TaskSlot)| {
            (&one.slot_id, one.use_generation, &one.bundle) == (&other.slot_id, other.use_generation, &other.bundle)
        };
        record.guest.allocation_id == *self.allocation_id
            && record.slots.len() == self.slots.len()
            && record.slots.iter().zip(self.slots).all(same)
            && record.spec == *self.spec
    }
}

impl Hostd {
    /// Builds a guest and waits until it answers.
    pub fn provision(&self, order: Order<'_>, work: Work<'_>) -> Result<GuestSeen, Failed> {
        let _hand = self.hands.take(names(order.allocation_id, order.slots), work)?;
        let guest = order.guest()?;
        let known = self.records.read(order.allocation_id).map_err(|fault| Failed::at(WorkStep::Plan, fault))?;
        let known = match known {
            Some(record) if record.step == WorkStep::Stop || record.step == WorkStep::Remove => {
                return Err(Failed::at(WorkStep::Plan, format!("{guest} is being taken away")));
            }
            Some(record) if !order.is_of(&record) => {
                let what = format!("what is left of {} is still here, and was made for another order", record.guest);
                return Err(Failed::at(WorkStep::Plan, what));
            }
            other => other,
        };
        let state = self.virsh.state(guest.uuid()).map_err(|fault| Failed::at(WorkStep::Plan, fault))?;
        let runs = state.is_some_and(|seen| seen.state == State::Running);
        let mut record = match known {
            Some(record) if runs && record.started_at.is_some() => record,
            Some(record) if record.ready => self.start_again(record, work)?,
            known => self.build(order, &guest, known, work)?,
        };
        self.port_open(&mut record, work)?;
        let seen = self.ready_wait(&record, work)?;
        record.ready = true;
        self.note(&mut record, WorkStep::SshReady)?;
        Ok(seen)
    }

    fn note(&self, record: &mut Record, step: WorkStep) -> Result<(), Failed> {
        record.step = step;
        self.records.write(record).map_err(|fault| Failed::at(step, fault))
    }

    // Begins a step: if it is still wanted, told, and written down before anything of it is done.
    fn begin(&self, record: &mut Record, step: WorkStep, work: Work<'_>) -> Result<(), Failed> {
        work.step(step)?;
        self.note(record, step)
    }

    fn build(
        &self,
        order: Order<'_>,
        guest: &GuestUse,
        known: Option<Record>,
        work: Work<'_>,
    ) -> Result<Record, Failed> {
        work.step(WorkStep::Image)?;
        let image = self.image_cached(&order.spec.image)?;
        let mut record = self.claim(order, guest, known, work)?;
        self.clone_image(&mut record, &image, work)?;
        self.begin(&mut record, WorkStep::Devices, work)?;
        let bundles = order.bundles()?;
        let claim = bundle::device_claim(bundles.iter().map(|(_, bundle)| *bundle), &order.spec.partition)
            .map_err(|why| Failed::at(WorkStep::Devices, why))?;
        let tell = |percent| work.percent(WorkStep::Devices, percent);
        self.devices.before_guest(&claim, &tell).map_err(|fault| Failed::at(WorkStep::Devices, fault))?;
        self.begin(&mut record, WorkStep::Seed, work)?;
        self.seed_write(&record)?;
        self.begin(&mut record, WorkStep::Network, work)?;
        self.network_settle(Some(&record.port())).map_err(|fault| Failed::at(WorkStep::Network, fault))?;
        self.start(record, work)
    }

    // Plans and takes the leases. Only here a guest gets its record.
    fn claim(
        &self,
        order: Order<'_>,
        guest: &GuestUse,
        known: Option<Record>,
        work: Work<'_>,
    ) -> Result<Record, Failed> {
        work.step(WorkStep::Plan)?;
        let _one = self.planning();
        let records = self.records.list().map_err(|fault| Failed::at(WorkStep::Plan, fault))?;
        let looked = self.look(guest, &records)?;
        let plan = self.plan_for(guest, &order.bundles()?, &looked).map_err(Failed::plan_refused)?;
        fits(order.spec, &plan, &looked)?;
        let is_new = known.is_none();
        let host_key = match known {
            Some(record) => record.host_key,
            None => host_key::make().map_err(|fault| Failed::at(WorkStep::Plan, fault))?,
        };
        let mut record = Record {
            guest: guest.clone(),
            slots: order.slots.to_vec(),
            spec: order.spec.clone(),
            plan,
            host_key,
            step: WorkStep::Plan,
            started_at: None,
            ready: false,
            stop: StopProgress::default(),
        };
        self.seed_spec(&record)?;
        self.begin(&mut record, WorkStep::Lease, work)?;
        let taken = self.leases.take(&record.plan.leases, guest, now());
        if let Err(fault) = taken {
            if is_new {
                self.records.remove(order.allocation_id).map_err(|fault| Failed::at(WorkStep::Lease, fault))?;
            }
            return Err(Failed::at(WorkStep::Lease, fault));
        }
        for disk in &record.plan.disks {
            let marked = self.marks.used(&disk.identity, order.allocation_id);
            marked.map_err(|fault| Failed::at(WorkStep::Lease, fault))?;
        }
        Ok(record)
    }

    // Only the first disk gets the image; the others are the tenant's to fill.
    fn clone_image(&self, record: &mut Record, image: &CachedImage, work: Work<'_>) -> Result<(), Failed> {
        self.begin(record, WorkStep::Clone, work)?;
        let first = record.plan.disks.first().ok_or_else(|| Failed::at(WorkStep::Clone, "the plan has no disk"))?;
        let disk = disks::take(&self.view, &first.identity).map_err(|fault| Failed::at(WorkStep::Clone, fault))?;
        let mut tell = |stage: CloneStage, done: disk::Progress| {
            let step = if stage == CloneStage::Write { WorkStep::Clone } else { WorkStep::Verify };
            work.bytes(step, done);
        };
        let limits = CloneLimits::default();
        let cloned = clone::clone_while(image, &disk, &self.tools, &limits, &now_us, &mut tell, &|| (work.wanted)());
        // Our claim ends here, before QEMU opens the disk.
        drop(disk);
        match cloned {
            Ok(_) => Ok(()),
            Err(_) if !(work.wanted)() => Err(Failed::not_wanted(WorkStep::Clone)),
            Err(fault) => {
                if matches!(fault, disk::Fault::ReadBackDiffers { .. }) {
                    self.cache.doubt(&image.spec().sha256);
                }
                Err(Failed::disk(WorkStep::Clone, &fault))
            }
        }
    }

    fn seed_spec(&self, record: &Record) -> Result<SeedSpec, Failed> {
        let network = &self.config.network;
        let keys = record.spec.ssh_keys.iter().map(|line| line.parse());
        let keys = keys.collect::<Result<Vec<_>, _>>().map_err(|_| Failed::at(WorkStep::Seed, "a key is no line"))?;
        let HostKey { private_openssh, public } = record.host_key.clone();
        let spec = SeedSpec {
            guest: record.guest.clone(),
            host_name: record.spec.host_name.clone(),
            user_name: record.spec.user_name.clone(),
            ssh_keys: keys,
            network: SeedNetwork {
                mac: record.plan.mac,
                ip: record.plan.ip,
                prefix: network.subnet.prefix(),
                gateway: network.gateway_ip,
                dns: vec![],
                addressing: Addressing::Dhcp,
            },
            host_key: HostKey { private_openssh, public },
            tenant_data: record.spec.user_data.clone(),
        };
        spec.check().map_err(|refused| Failed::at(WorkStep::Seed, refused))?;
        Ok(spec)
    }

    fn seed_write(&self, record: &Record) -> Result<(), Failed> {
        let files = documents(&self.seed_spec(record)?).map_err(|refused| Failed::at(WorkStep::Seed, refused))?;
        let places = record::places(&self.config, &record.guest);
        self.iso.write(&files, &places.seed).map_err(|fault| Failed::at(WorkStep::Seed, fault))
    }

    /// Makes the folder in which QEMU, as its own user, makes the socket of a guest's console.
    pub(crate) fn console_folder(&self, guest: &GuestUse) -> Result<(), Failed> {
        let folder = record::places(&self.config, guest).console_dir;
        let (user, group) = self.config.emulator_ids().map_err(Failed::plain)?;
        if let Some(parent) = folder.parent() {
            folder_make(parent, 0o711)?;
        }
        folder_make(&folder, 0o700)?;
        chown(&folder, Some(user), Some(group)).map_err(Failed::plain)
    }

    fn start(&self, mut record: Record, work: Work<'_>) -> Result<Record, Failed> {
        self.console_folder(&record.guest).map_err(|fault| Failed::at(WorkStep::Start, fault))?;
        work.step(WorkStep::Start)?;
        // The last look before somebody else's program opens them.
        for disk in &record.plan.disks {
            disks::is_still(&self.view, &disk.path, &disk.identity)
                .map_err(|fault| Failed::at(WorkStep::Start, fault))?;
        }
        record.started_at = Some(now());
        self.note(&mut record, WorkStep::Start)?;
        machine::create(&self.virsh, &record::domain_spec(&self.config, &record))
            .map_err(|fault| Failed::at(WorkStep::Start, fault))?;
        Ok(record)
    }

    /// Starts the machine of a guest that was built to the end and is off. Everything is looked at again: it must get what it
    /// was given, and its machine must still be the one that was made. Only where its disks are may have changed.
    pub(crate) fn start_again(&self, mut record: Record, work: Work<'_>) -> Result<Record, Failed> {
        let guest = record.guest.clone();
        let at = |why: String| Failed::at(WorkStep::Start, why);
        let slots: Vec<_> =
            record.slots.iter().filter_map(|slot| Some((&slot.slot_id, slot.bundle.as_deref()?))).collect();
        let plan = {
            let _one = self.planning();
            let records = self.records.list().map_err(|fault| at(fault.to_string()))?;
            let looked = self.look(&guest, &records)?;
            self.plan_for(&guest, &slots, &looked).map_err(Failed::plan_refused)?
        };
        if !is_same_but_for_paths(&plan, &record.plan) {
            return Err(at(format!("{guest} would get something else of the host now than it was given")));
        }
        let spec = record::domain_spec(&self.config, &record);
        let made = machine::differences(&self.virsh, &spec, Which::NextStart).map_err(|fault| at(fault.to_string()))?;
        if let Some(difference) = made.first() {
            return Err(at(format!("its machine is not as it was made: {difference}")));
        }
        let bundles = record.slots.iter().filter_map(|slot| slot.bundle.as_deref());
        let claim = bundle::device_claim(bundles, &record.spec.partition).map_err(at)?;
        record.plan = plan;
        let tell = |percent| work.percent(WorkStep::Devices, percent);
        self.devices.before_guest(&claim, &tell).map_err(|fault| Failed::at(WorkStep::Devices, fault))?;
        self.network_settle(None).map_err(|fault| Failed::at(WorkStep::Network, fault))?;
        self.start(record, work)
    }

    // The switch makes a port's rules only once the port is there, which is when the machine starts.
    pub(crate) fn port_open(&self, record: &mut Record, work: Work<'_>) -> Result<(), Failed> {
        let (name, late) = (record.port().port_name(), Instant::now() + PORT_WITHIN);
        loop {
            let done = self.network_settle(None).map_err(|fault| Failed::at(WorkStep::Start, fault))?;
            if !done.awaited.contains(&name) {
                return Ok(());
            }
            let state = self.virsh.state(record.guest.uuid()).map_err(|fault| Failed::at(WorkStep::Start, fault))?;
            if state.is_none_or(|seen| seen.state != State::Running) {
                return Err(Failed::at(WorkStep::Start, "the guest stopped right after its start"));
            }
            if Instant::now() >= late {
                return Err(Failed::at(WorkStep::Start, format!("the port {name} did not come up on the bridge")));
            }
            if !(work.wanted)() {
                return Err(Failed::not_wanted(WorkStep::Start));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

// Disks are known by what they are; where one is may be another place after a reboot.
fn is_same_but_for_paths(now: &BundlePlan, given: &BundlePlan) -> bool {
    let mut now = now.clone();
    for (disk, given) in now.disks.iter_mut().zip(&given.disks) {
        disk.path.clone_from(&given.path);
    }
    now == *given
}

// The image must fit before anything is leased.
fn fits(spec: &GuestSpec, plan: &BundlePlan, looked: &Looked) -> Result<(), Failed> {
    let first = plan.disks.first().and_then(|disk| looked.disks.iter().find(|found| found.path == disk.path));
    let disk = first.ok_or_else(|| Failed::at(WorkStep::Plan, "the plan has no disk"))?;
    clone::fits(&spec.image, disk.identity.size_bytes())
        .map_err(|refusal| Failed::of(TaskFailure::ImageRefused, format!("plan: {refusal}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn a_guest_gets_again_what_it_had_wherever_its_disk_is_now() {
        let given = record(1).plan;
        let mut now = given.clone();
        now.disks[0].path = "/dev/loop9".into();
        assert!(is_same_but_for_paths(&now, &given));
        now.disks[0].identity = "loop:/disks/2.img".into();
        assert!(!is_same_but_for_paths(&now, &given));
        assert!(!is_same_but_for_paths(&BundlePlan { disks: vec![], ..given.clone() }, &given));
        assert!(!is_same_but_for_paths(&BundlePlan { mac: record(2).plan.mac, ..given.clone() }, &given));
    }
}
