//! Stopping a guest and taking away all that was made for it. The machine first, up the ladder of [`next_stop_step`], until
//! libvirt and the process table both say that it is gone; then its devices, its network, its seed and console, its leases, and
//! last its record. Killed in between, it goes on where it was. What was never there is stopped already.
//!
//! What was said on the console goes with the guest: it is the tenant's, and the gateway recorded what people saw of it.

use crate::{
    bundle, console,
    failed::Failed,
    host::{Hostd, now},
    provision::names,
    record::{self, Record},
    work::Work,
};
use guest::{
    identity::GuestUse,
    machine::{
        self, Machines, Remains, State, StopBudget, StopProgress, StopStep, next_stop_step, processes_with_uuid,
    },
};
use model::{
    AllocationId,
    runtime::{WorkProgress, WorkStep},
    task::{TaskFailure, TaskSlot},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{collections::BTreeSet, fs, io, path::Path, thread, time::Duration};

const LOOK_EVERY: Duration = Duration::from_millis(100);

fn not_gone(why: impl ToString) -> Failed {
    Failed::of(TaskFailure::GuestNotGone, why)
}

impl Hostd {
    /// Stops every guest of an allocation and removes what is left of it; what shows that it is gone. A guest is cut off after
    /// `grace_s`, or after the host's own time.
    pub fn stop(
        &self,
        allocation_id: &AllocationId,
        slots: &[TaskSlot],
        grace_s: Option<i64>,
        work: Work<'_>,
    ) -> Result<String, Failed> {
        let budget = self.config.stop.within(grace_s);
        let known = self.records.read(allocation_id).map_err(not_gone)?;
        let own = known.as_ref().map_or(&[][..], |record| &record.slots);
        let all = names(allocation_id, slots).into_iter().chain(names(allocation_id, own)).collect();
        self.streams.close(allocation_id);
        let _hand = self.hands.take(all, work)?;
        let mut guests: Vec<GuestUse> = self.traces(allocation_id)?.into_iter().collect();
        guests.sort();
        let mut evidence = vec![];
        for guest in &guests {
            (work.tell)(WorkProgress::at(WorkStep::Stop));
            self.streams.close(allocation_id);
            evidence.push(self.machine_stop(guest, &budget)?);
            // Who came in while it was being stopped.
            self.streams.close(allocation_id);
            self.notices.forget(allocation_id);
            (work.tell)(WorkProgress::at(WorkStep::Remove));
            evidence.extend(self.remove(guest, slots, work)?);
        }
        if evidence.is_empty() {
            evidence.push(format!("nothing of {allocation_id} is on this host"));
        }
        Ok(evidence.join("; "))
    }

    /// Every guest of an allocation of which there is a trace.
    pub(crate) fn traces(&self, allocation_id: &AllocationId) -> Result<BTreeSet<GuestUse>, Failed> {
        let mut guests = BTreeSet::new();
        guests.extend(self.records.read(allocation_id).map_err(not_gone)?.map(|record| record.guest));
        let domains = self.domains().map_err(not_gone)?;
        guests.extend(domains.into_iter().filter_map(|domain| domain.guest).map(|seen| seen.guest));
        guests.extend(self.leases.list().map_err(not_gone)?.into_iter().map(|lease| lease.holder));
        guests.extend(self.running()?);
        guests.retain(|guest| guest.allocation_id == *allocation_id);
        Ok(guests)
    }

    fn own_record(&self, guest: &GuestUse) -> Result<Option<Record>, Failed> {
        let record = self.records.read(&guest.allocation_id).map_err(not_gone)?;
        Ok(record.filter(|record| record.guest == *guest))
    }

    fn machine_stop(&self, guest: &GuestUse, budget: &StopBudget) -> Result<String, Failed> {
        let uuid = guest.uuid();
        let mut record = self.own_record(guest)?;
        let mut since = record.as_ref().map_or(StopProgress::default(), |record| record.stop);
        // An earlier order gave up on it; this one ends it anew.
        let given_up = since.destroyed_at.is_some_and(|at| now() >= at.plus_seconds(budget.destroy_s));
        if given_up {
            since.destroyed_at = None;
        }
        loop {
            let left = machine::remains(&self.virsh, &self.view.proc, uuid).map_err(not_gone)?;
            match next_stop_step(&left, &since, now(), budget) {
                StopStep::AskAcpi => {
                    since.asked_at = Some(now());
                    self.stop_note(&mut record, since)?;
                    self.virsh.shutdown_acpi(uuid).map_err(not_gone)?;
                }
                StopStep::Wait { .. } => thread::sleep(LOOK_EVERY),
                StopStep::Destroy => {
                    since.destroyed_at = since.destroyed_at.or(Some(now()));
                    self.stop_note(&mut record, since)?;
                    self.virsh.destroy(uuid).map_err(not_gone)?;
                    self.orphans_end(guest, &left)?;
                }
                StopStep::Undefine => self.virsh.undefine(uuid).map_err(not_gone)?,
                StopStep::Gone => return Ok(format!("libvirt knows no machine {guest} and no process runs it")),
                StopStep::Stuck(stuck) => return Err(not_gone(format!("stop: {stuck}"))),
            }
        }
    }

    fn stop_note(&self, record: &mut Option<Record>, since: StopProgress) -> Result<(), Failed> {
        let Some(record) = record else { return Ok(()) };
        // A guest that is being stopped is not ready, whatever it was.
        (record.stop, record.step, record.ready) = (since, WorkStep::Stop, false);
        self.records.write(record).map_err(not_gone)
    }

    // A QEMU that libvirt lost sight of is ended here. Looked at once more just before: numbers are used again.
    fn orphans_end(&self, guest: &GuestUse, left: &Remains) -> Result<(), Failed> {
        if !matches!(left.machine, None | Some(State::Off | State::Crashed)) {
            return Ok(());
        }
        for pid in processes_with_uuid(&self.view.proc, guest.uuid()).map_err(not_gone)? {
            tracing::warn!(%guest, pid, "ends a QEMU that libvirt does not know");
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                // One that ended meanwhile is what was wanted.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        Ok(())
    }

    // Takes away what was made for a guest whose machine is gone; what shows that its devices were taken back. Devices that
    // were not keep nothing else from going, but stay leased: nobody gets them before this was done again, and worked.
    fn remove(&self, guest: &GuestUse, slots: &[TaskSlot], work: Work<'_>) -> Result<Vec<String>, Failed> {
        let at = |why: String| not_gone(format!("remove: {why}"));
        let record = self.own_record(guest)?;
        let (held, partition) = match &record {
            Some(record) => (&record.slots[..], &record.spec.partition[..]),
            None => (slots, &[][..]),
        };
        let bundles = held.iter().filter_map(|slot| slot.bundle.as_deref());
        let claim = bundle::device_claim(bundles, partition).map_err(at)?;
        self.others_have_none(&claim, Some(guest)).map_err(|why| at(format!("devices: {why}")))?;
        let tell = |percent| work.percent(WorkStep::Remove, percent);
        let taken_back = if claim.is_empty() { Ok(vec![]) } else { self.devices.after_guest(&claim, &tell) };
        if let Some(mut record) = record {
            (record.step, record.ready) = (WorkStep::Remove, false);
            self.records.write(&record).map_err(|fault| at(fault.to_string()))?;
        }
        self.network_settle(None).map_err(|fault| at(fault.to_string()))?;
        let places = record::places(&self.config, guest);
        self.iso.remove(&places.seed).map_err(|fault| at(fault.to_string()))?;
        gone(&places.vars, fs::remove_file(&places.vars)).map_err(at)?;
        console::logs_remove(&places.console_log).map_err(at)?;
        gone(&places.console_dir, fs::remove_dir_all(&places.console_dir)).map_err(at)?;
        let evidence = taken_back.map_err(|fault| at(format!("devices: {fault}")))?;
        self.leases.release_all(guest).map_err(|fault| at(fault.to_string()))?;
        if self.own_record(guest)?.is_some() {
            self.records.remove(&guest.allocation_id).map_err(|fault| at(fault.to_string()))?;
        }
        Ok(evidence)
    }
}

/// What is not there is removed already.
pub(crate) fn gone(path: &Path, removed: io::Result<()>) -> Result<(), String> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("{}: {error}", path.display())),
        _ => Ok(()),
    }
}
