//! The host beside its claims. What is there is looked at ([`Hostd::world`]), what is wrong with it follows from that and the
//! order alone ([`findings`]), and only what has a repair is changed. No disk is ever written or freed here, no guest is ever
//! ended: a machine that nobody claims, or that is not what was claimed, is quarantined until a release deals with it.
//!
//! Allocations that an order is being carried out for are left alone, and so is everything of theirs. The look is old when a
//! repair begins, so what is repaired is first taken in hand as an order takes it; then the host is looked at once more, and
//! the repair is made only if it still follows. The network is one for all and has a lock of its own: it becomes what the
//! records say, which is what every order makes of it.

mod findings;
mod world;

pub use findings::{Found, Repair, findings, partition_nobodys, slots_of};
pub use world::{DomainLook, Folder, GuestLook, World, file_owner};

use crate::{failed::Failed, host::Hostd, stop::gone, work::Work};
use guest::identity::GuestUse;
use model::{
    AllocationId,
    runtime::{Finding, FindingAction, FindingKind, GuestStanding, ReconcileReport, WorkStep},
    task::{ReconcileOrder, TaskFailure},
};
use std::{collections::BTreeSet, fs};

impl Hostd {
    /// Compares the host with its claims and repairs what may be repaired.
    pub fn reconcile(
        &self,
        order: &ReconcileOrder,
        busy: &[AllocationId],
        work: Work<'_>,
    ) -> Result<ReconcileReport, Failed> {
        work.step(WorkStep::Reconcile)?;
        let failed = |fault: Failed| Failed::of(TaskFailure::ReconcileFailed, fault);
        let world = self.world(order).map_err(failed)?;
        // Besides what the caller has in hand, what this process has.
        let mut busy: BTreeSet<AllocationId> = busy.iter().cloned().collect();
        busy.extend(world.allocations().into_iter().filter(|id| self.hands.has(id.as_str())));
        busy.extend(
            order.claims.iter().map(|claim| &claim.allocation_id).filter(|id| self.hands.has(id.as_str())).cloned(),
        );
        let mut report = ReconcileReport::default();
        for found in findings(&world, order, &busy) {
            report.findings.extend(self.settle(found, &world, order, &busy, work));
        }
        report.findings.iter_mut().for_each(|finding| self.started_wait(finding, work));
        // Repairs of one thing can stand for several findings of the network.
        report.findings.sort();
        report.findings.dedup();
        report.guests = self.standings()?;
        Ok(report)
    }

    // Makes a repair, unless somebody has what it is about in hand or it does not follow any more. Nothing is told of what is
    // right meanwhile.
    fn settle(
        &self,
        found: Found,
        world: &World,
        order: &ReconcileOrder,
        busy: &BTreeSet<AllocationId>,
        work: Work<'_>,
    ) -> Option<Finding> {
        let Found { mut finding, repair } = found;
        let Some(repair) = repair else { return Some(finding) };
        let names = repair.names(world);
        let looked_at = !names.is_empty();
        let Some(_hand) = self.hands.try_take(names) else {
            finding.detail = format!("{} It is left alone: an order for it has begun.", finding.detail);
            return Some(finding);
        };
        let still = || -> Result<bool, Failed> {
            let now = findings(&self.world(order)?, order, busy);
            Ok(now.iter().any(|now| now.repair.as_ref() == Some(&repair)))
        };
        let repaired = match if looked_at { still() } else { Ok(true) } {
            Ok(false) => return None,
            Ok(true) => self.repair(&repair, order, work),
            Err(fault) => Err(fault),
        };
        finding.action = match repaired {
            Ok(()) => FindingAction::Repaired,
            Err(fault) => failed(&mut finding, &fault),
        };
        Some(finding)
    }

    fn repair(&self, repair: &Repair, order: &ReconcileOrder, work: Work<'_>) -> Result<(), Failed> {
        match repair {
            Repair::Network => self.network_settle(None).map(drop),
            Repair::Start { guest } => self.guest_start(guest, work),
            Repair::ReleaseLeases { guest } => self.leases.release_all(guest).map(drop).map_err(Failed::plain),
            Repair::RemoveFile { folder, file } => {
                let path = folder.path(&self.config).join(file);
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                gone(&path, removed).map_err(Failed::plain)
            }
            Repair::Bind { address } => self.devices.bind(*address).map_err(Failed::plain),
            Repair::PartitionOff { id } => {
                // Looked at once more while no guest is being made ready: one may have got it since.
                let nobodys = || {
                    let world = self.world(order).map_err(|fault| fault.to_string())?;
                    partition_nobodys(&world, *id)
                };
                self.devices.partition_off(*id, &nobodys).map_err(Failed::plain)
            }
            Repair::TidyCache => {
                let _one = self.images();
                self.cache.tidy(&self.images_pinned()?).map_err(Failed::plain)
            }
        }
    }

    // A guest whose host was restarted.
    fn guest_start(&self, guest: &GuestUse, work: Work<'_>) -> Result<(), Failed> {
        let record = self.records.read(&guest.allocation_id).map_err(Failed::plain)?;
        let record = record.filter(|record| record.guest == *guest && record.ready);
        let record = record.ok_or_else(|| Failed::plain(format!("{guest} was not built to the end")))?;
        let mut record = self.start_again(record, work)?;
        self.port_open(&mut record, work)
    }

    // That a guest was started is not enough: it must answer as it did. They are waited for when all of them were started, and
    // not in hand: a release need not wait with us.
    fn started_wait(&self, finding: &mut Finding, work: Work<'_>) {
        let started = (finding.kind, finding.action) == (FindingKind::ClaimWithoutGuest, FindingAction::Repaired);
        let Some(id) = finding.allocation_id.as_ref().filter(|_| started) else { return };
        let answered = self.records.read(id).map_err(Failed::plain).and_then(|record| match record {
            Some(record) => self.ready_wait(&record, work).map(drop),
            None => Err(Failed::plain("it was taken away meanwhile")),
        });
        if let Err(fault) = answered {
            finding.action = failed(finding, &fault);
        }
    }

    fn standings(&self) -> Result<Vec<GuestStanding>, Failed> {
        let running = self.running()?;
        let records = self.records.list().map_err(Failed::plain)?;
        let standing = |record: &crate::record::Record| GuestStanding {
            allocation_id: record.guest.allocation_id.clone(),
            running: running.contains(&record.guest),
            seen: self.seen(record),
        };
        Ok(records.iter().map(standing).collect())
    }
}

fn failed(finding: &mut Finding, fault: &Failed) -> FindingAction {
    finding.detail = format!("{} The repair failed: {fault}.", finding.detail);
    FindingAction::Failed
}
