//! Who decides: jobs are handed in and ended, and a decision says who starts and who is stopped. One desk drives the engine's
//! cycles; another one, in [`crate::kai`], its sessions.

use crate::{
    policy::{self, Policy},
    stage::{Setup, Stage},
    trace::Trace,
};
use govern::{
    cycle::{
        AnyFloor, Scheduler, Verdict,
        book::{Pending, PendingIx, ShapeIx, Where},
    },
    order::Waiting,
    preempt::Reason,
    tree::TreeFault,
    workload::WorkloadIx,
};
use std::collections::BTreeMap;

/// So many times jobs are stopped at one moment, at most. Rules that undo what they did would go on for ever.
pub(crate) const STOP_ROUNDS_MAX: u32 = 32;

/// By which rule a job is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A higher class of the same queue.
    Priority,
    /// Another team takes back what it lent, or what is its fair part.
    Reclaim,
    /// Another team has the smaller share.
    FairShare,
}

/// What happens to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Start(usize),
    Stop(usize, Cause),
}

/// What was decided at one moment, in the order in which it happens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) changes: Vec<Change>,
    // Jobs were stopped again and again, and the rest was left for later.
    pub(crate) cut: bool,
    // The desk wants to be asked again then, whatever happens.
    pub(crate) ask_again_at: Option<i64>,
}

pub(crate) trait Desk {
    /// A job waits.
    fn submit(&mut self, job: usize, priority: u8);
    /// A job that waits has another class now.
    fn raise(&mut self, job: usize, priority: u8);
    /// A job that ran has ended.
    fn end(&mut self, job: usize);
    /// Decides until nothing changes. Those that are stopped wait again.
    fn decide(&mut self, now: i64) -> Decided;
}

pub(crate) struct Cycles<'t> {
    trace: &'t Trace,
    policy: Policy,
    scheduler: Scheduler,
    shapes: Vec<ShapeIx>,
    priorities: Vec<u8>,
    waiting: BTreeMap<usize, PendingIx>,
    running: BTreeMap<usize, WorkloadIx>,
}

impl<'t> Cycles<'t> {
    pub(crate) fn new(trace: &'t Trace, stage: &Stage, setup: &Setup, policy: Policy) -> Result<Self, TreeFault> {
        let mut scheduler = policy.scheduler(stage, setup)?;
        let shapes = trace.jobs.iter().map(|job| policy::shape(&mut scheduler, stage, setup, job)).collect();
        let priorities = trace.jobs.iter().map(|job| job.priority).collect();
        Ok(Self { trace, policy, scheduler, shapes, priorities, waiting: BTreeMap::new(), running: BTreeMap::new() })
    }

    // Which job this is that runs.
    fn job_at(&self, workload: WorkloadIx) -> Option<usize> {
        usize::try_from(self.scheduler.running().get(workload)?.identity).ok()
    }

    // A replay gives no notice: who is told to go is gone, and waits again as the engine has it.
    fn stop(&mut self, now: i64, victims: &[(WorkloadIx, Cause)], changes: &mut Vec<Change>) {
        for (workload, cause) in victims {
            let Some(job) = self.job_at(*workload) else { continue };
            let Some(pending) = self.scheduler.gone(now, *workload) else { continue };
            self.running.remove(&job);
            self.waiting.insert(job, pending);
            changes.push(Change::Stop(job, *cause));
        }
    }
}

const fn cause(reason: &Reason) -> Cause {
    match reason {
        Reason::InQueue { .. } => Cause::Priority,
        Reason::CohortReclaim { .. } | Reason::CohortReclaimWhileBorrowing { .. } => Cause::Reclaim,
        Reason::CohortFairShare { .. } => Cause::FairShare,
    }
}

impl Desk for Cycles<'_> {
    fn submit(&mut self, job: usize, priority: u8) {
        let (Some(of), Some(shape)) = (self.trace.jobs.get(job), self.shapes.get(job)) else { return };
        let waiting = Waiting {
            local_usage: 0,
            priority: i64::from(priority),
            queued_at: Some(of.submitted_s),
            identity: u64::try_from(job).unwrap_or(u64::MAX),
        };
        let queue = self.policy.queue_of(of.team);
        let pending = Pending::new(queue, waiting, *shape);
        self.waiting.insert(job, self.scheduler.submit(pending));
    }

    fn raise(&mut self, job: usize, priority: u8) {
        if let Some(known) = self.priorities.get_mut(job) {
            *known = priority;
        }
        if let Some(pending) = self.waiting.get(&job) {
            self.scheduler.set_priority(*pending, i64::from(priority));
        }
    }

    fn end(&mut self, job: usize) {
        if let Some(workload) = self.running.remove(&job) {
            self.scheduler.end(workload);
        }
    }

    fn decide(&mut self, now: i64) -> Decided {
        let mut decided = Decided::default();
        let mut stop_rounds = 0;
        loop {
            let decisions = self.scheduler.step(now, &mut AnyFloor);
            let (mut victims, mut started, mut parked) = (vec![], vec![], false);
            for decision in &decisions {
                match &decision.verdict {
                    Verdict::Admitted { workload, .. } => started.push(*workload),
                    Verdict::Preempting { victims: told, .. } => {
                        victims.extend(told.iter().map(|victim| (victim.workload, cause(&victim.reason))));
                    }
                    Verdict::Waiting { .. } => parked |= decision.at == Some(Where::Parked),
                }
            }
            for workload in &started {
                if let Some(job) = self.job_at(*workload) {
                    self.waiting.remove(&job);
                    self.running.insert(job, *workload);
                }
            }
            self.stop(now, &victims, &mut decided.changes);
            let started_now: Vec<usize> = started.iter().filter_map(|workload| self.job_at(*workload)).collect();
            decided.changes.extend(started_now.into_iter().map(Change::Start));
            if started.is_empty() && victims.is_empty() && !parked {
                decided.ask_again_at = self.scheduler.next_due().filter(|due| *due > now);
                return decided;
            }
            stop_rounds += u32::from(!victims.is_empty());
            if stop_rounds >= STOP_ROUNDS_MAX {
                decided.cut = true;
                return decided;
            }
        }
    }
}
