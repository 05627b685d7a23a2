//! Who is on which device. Guaranteed work knows where it goes; opportunistic work looks here for what is left, and is found
//! here when it has to give way.

use super::{Cell, JobIx, Level, NODE_GPUS, TenantIx};
use std::collections::BTreeMap;

/// What runs somewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub(super) tenant: TenantIx,
    /// The first of its devices, counted over all nodes.
    pub(super) address: u32,
    pub(super) level: Level,
    /// Its place among the virtual cells of its tenant; nothing for opportunistic work.
    pub(super) virtual_address: Option<u32>,
}

impl Job {
    pub(super) const fn cell(&self) -> Cell {
        Cell { node: self.address / NODE_GPUS, first: self.address % NODE_GPUS, level: self.level }
    }
}

/// All devices.
#[derive(Debug, Clone)]
pub(super) struct Room {
    owners: Vec<Option<JobIx>>,
    jobs: BTreeMap<JobIx, Job>,
    next: u64,
    used: u32,
    guaranteed: u32,
}

impl Room {
    pub(super) fn new(nodes: u32) -> Self {
        let owners = vec![None; nodes as usize * NODE_GPUS as usize];
        Self { owners, jobs: BTreeMap::new(), next: 0, used: 0, guaranteed: 0 }
    }

    pub(super) const fn used(&self) -> (u32, u32) {
        (self.used, self.guaranteed)
    }

    fn devices(&self, address: u32, gpus: u32) -> &[Option<JobIx>] {
        self.owners.get(address as usize..(address + gpus) as usize).unwrap_or(&[])
    }

    fn is_free(&self, address: u32, level: Level) -> bool {
        self.devices(address, level.gpus()).iter().all(Option::is_none)
    }

    fn is_opportunistic(&self, job: JobIx) -> bool {
        self.jobs.get(&job).is_some_and(|job| job.virtual_address.is_none())
    }

    /// How many of these devices opportunistic work is on.
    pub(super) fn opportunistic_in(&self, address: u32, gpus: u32) -> usize {
        self.devices(address, gpus).iter().flatten().filter(|job| self.is_opportunistic(**job)).count()
    }

    /// Where the smallest free cell begins that is large enough; opportunistic work fills holes first, too.
    pub(super) fn free_spot(&self, level: Level) -> Option<u32> {
        let all = u32::try_from(self.owners.len()).unwrap_or(u32::MAX);
        let spots = (0..all).step_by(level.gpus() as usize).filter(|address| self.is_free(*address, level));
        spots.min_by_key(|address| (self.hole_around(*address, level), *address))
    }

    fn hole_around(&self, address: u32, level: Level) -> Level {
        let mut hole = level;
        while let Some(above) = hole.above() {
            if !self.is_free(address - address % above.gpus(), above) {
                break;
            }
            hole = above;
        }
        hole
    }

    /// Opportunistic work on these devices is gone.
    pub(super) fn push_out(&mut self, address: u32, gpus: u32) -> Vec<JobIx> {
        let mut victims: Vec<JobIx> = self.devices(address, gpus).iter().copied().flatten().collect();
        victims.retain(|job| self.is_opportunistic(*job));
        victims.dedup();
        for victim in &victims {
            self.remove(*victim);
        }
        victims
    }

    pub(super) fn put(&mut self, job: Job) -> JobIx {
        let place = JobIx(self.next);
        self.next += 1;
        self.jobs.insert(place, job);
        self.set_owner(&job, Some(place));
        place
    }

    pub(super) fn remove(&mut self, place: JobIx) -> Option<Job> {
        let job = self.jobs.remove(&place)?;
        self.set_owner(&job, None);
        Some(job)
    }

    fn set_owner(&mut self, job: &Job, owner: Option<JobIx>) {
        let (gpus, guaranteed) = (job.level.gpus(), job.virtual_address.is_some());
        let devices = job.address as usize..(job.address + gpus) as usize;
        self.owners.get_mut(devices).unwrap_or(&mut []).fill(owner);
        let counts = [Some(&mut self.used), guaranteed.then_some(&mut self.guaranteed)];
        for count in counts.into_iter().flatten() {
            *count = if owner.is_some() { *count + gpus } else { *count - gpus };
        }
    }
}
