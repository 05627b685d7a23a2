//! A trial of the promise: made-up tenants come and go on made-up nodes, each with a cluster of its own beside the shared one.
//! Whatever a tenant's own cluster would have placed, the shared one must place. The same stream also runs against quota that
//! only counts devices, which shows both that the trial can fail and what the promise costs in use of the devices.
//!
//! Everything follows from the seed. A request that its tenant's guarantee does not cover runs opportunistically if there is
//! room, and what is pushed out is gone; so in all clusters the same work is offered at the same time.

use super::{Cells, Guarantee, JobIx, Level, NODE_GPUS, Outcome, TenantIx, buddy::Buddy, room::Job, room::Room};
use std::collections::BTreeMap;

/// What came of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests, one a step.
    pub steps: u64,
    /// Of them those under a guarantee that the tenant's own cluster placed.
    pub covered: u64,
    /// Of those the ones that cells refused.
    pub violations: u64,
    /// Of those the ones that quota by count refused.
    pub violations_by_count: u64,
    /// Steps after which more was owed than there was room for.
    pub unsafe_steps: u64,
    /// Devices there were, added up over all steps.
    pub there: u64,
    /// Devices in use with cells.
    pub used: u64,
    /// Devices in use with quota by count.
    pub used_by_count: u64,
}

impl Tally {
    /// Use of the devices in hundredths of a per cent: with cells, and with quota by count.
    #[must_use]
    pub fn utilisation(&self) -> (u64, u64) {
        let of = |used: u64| used.saturating_mul(10_000) / self.there.max(1);
        (of(self.used), of(self.used_by_count))
    }

    fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.covered += other.covered;
        self.violations += other.violations;
        self.violations_by_count += other.violations_by_count;
        self.unsafe_steps += other.unsafe_steps;
        self.there += other.there;
        self.used += other.used;
        self.used_by_count += other.used_by_count;
    }
}

/// Runs so many steps in each of so many made-up worlds.
#[must_use]
pub fn run(seed: u64, worlds: u32, steps: u64) -> Tally {
    let mut tally = Tally::default();
    for world in 0..worlds {
        let mut dice = Dice(seed.wrapping_add(u64::from(world) << 32));
        if let Some(mut world) = World::new(&mut dice) {
            (0..steps).for_each(|_| world.step(&mut dice));
            tally.add(&world.tally);
        }
    }
    tally
}

// Numbers that look thrown, the same for the same seed (the step of splitmix64).
struct Dice(u64);

impl Dice {
    const fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let upper = (mixed >> 32) * end as u64;
        (upper >> 32) as u32
    }

    // Half of all requests are for one device, the rest for more.
    const fn level(&mut self) -> Level {
        match self.below(20) {
            0..10 => Level::One,
            10..14 => Level::Two,
            14..17 => Level::Four,
            _ => Level::Eight,
        }
    }
}

// One request, wherever it runs.
struct Guest {
    tenant: TenantIx,
    cells: Option<JobIx>,
    by_count: Option<JobIx>,
    private: Option<(usize, usize, Level)>,
}

struct World {
    gpus: u32,
    owned: Vec<u32>,
    cells: Cells,
    by_count: ByCount,
    private: Vec<Private>,
    // By the step before which they leave.
    leaving: BTreeMap<u64, Vec<Guest>>,
    stays_max: u32,
    now: u64,
    tally: Tally,
}

impl World {
    fn new(dice: &mut Dice) -> Option<Self> {
        let (nodes, tenants) = (4 + dice.below(29), 2 + dice.below(5));
        let gpus = nodes * NODE_GPUS;
        let mut guarantees = vec![Guarantee::default(); tenants as usize];
        // Some of it is promised to nobody.
        let mut left = gpus - dice.below(gpus / 8);
        while left > 0 {
            let level = dice.level();
            if level.gpus() <= left {
                guarantees[dice.below(tenants) as usize][level.at()] += 1;
                left -= level.gpus();
            }
        }
        let owned = |guarantee: &Guarantee| Level::ALL.iter().zip(guarantee).map(|(level, of)| level.gpus() * of).sum();
        let owned: Vec<u32> = guarantees.iter().map(owned).collect();
        // Requests are for 2.7 devices in the mean, and stay for half of the longest stay.
        let load_percent = [50, 70, 85, 100, 130][dice.below(5) as usize];
        let stays_max = (gpus * load_percent * 2 * 10 / (27 * 100)).max(2);
        Some(Self {
            gpus,
            cells: Cells::new(nodes, &guarantees).ok()?,
            by_count: ByCount { left: owned.clone(), pool: Buddy::new(&[0, 0, 0, nodes]), room: Room::new(nodes) },
            private: guarantees.iter().map(Private::new).collect(),
            owned,
            leaving: BTreeMap::new(),
            stays_max,
            now: 0,
            tally: Tally::default(),
        })
    }

    fn step(&mut self, dice: &mut Dice) {
        self.now += 1;
        for guest in self.leaving.remove(&self.now).unwrap_or_default() {
            self.leave(&guest);
        }
        let tenant = self.any_tenant(dice);
        let (level, guaranteed) = (dice.level(), dice.below(10) < 7);
        let guest = self.arrive(tenant, level, guaranteed);
        let leaves = self.now + 1 + u64::from(dice.below(self.stays_max));
        self.leaving.entry(leaves).or_default().push(guest);
        self.tally.steps += 1;
        self.tally.unsafe_steps += u64::from(!self.cells.is_safe());
        self.tally.there += u64::from(self.gpus);
        self.tally.used += u64::from(self.cells.used().0);
        self.tally.used_by_count += u64::from(self.by_count.room.used().0);
    }

    // Who owns more asks more often.
    fn any_tenant(&self, dice: &mut Dice) -> TenantIx {
        let mut at = dice.below(self.owned.iter().sum());
        for (owned, tenant) in self.owned.iter().zip(0..) {
            if at < *owned {
                return TenantIx(tenant);
            }
            at -= owned;
        }
        TenantIx(0)
    }

    fn arrive(&mut self, tenant: TenantIx, level: Level, guaranteed: bool) -> Guest {
        let place = |outcome: Outcome| match outcome {
            Outcome::Placed { job, .. } => Some(job),
            Outcome::Refused(_) => None,
        };
        let (mut cells, mut by_count, mut private) = (None, None, None);
        if guaranteed {
            private = self.private.get_mut(tenant.0 as usize).and_then(|cluster| cluster.admit(level));
            cells = place(self.cells.admit(tenant, level, true));
            by_count = self.by_count.admit_guaranteed(tenant, level);
            if private.is_some() {
                self.tally.covered += 1;
                self.tally.violations += u64::from(cells.is_none());
                self.tally.violations_by_count += u64::from(by_count.is_none());
            }
        }
        let cells = cells.or_else(|| place(self.cells.admit(tenant, level, false)));
        let by_count = by_count.or_else(|| self.by_count.admit_opportunistic(tenant, level));
        Guest { tenant, cells, by_count, private }
    }

    fn leave(&mut self, guest: &Guest) {
        if let Some(job) = guest.cells {
            self.cells.release(job);
        }
        if let Some(job) = guest.by_count {
            self.by_count.release(job);
        }
        if let (Some(spot), Some(cluster)) = (guest.private, self.private.get_mut(guest.tenant.0 as usize)) {
            cluster.release(spot);
        }
    }
}

// A tenant's own cluster, written as plainly as can be: devices that are taken or not, block by block, the largest first.
struct Private(Vec<Vec<bool>>);

impl Private {
    fn new(guarantee: &Guarantee) -> Self {
        let largest_first = Level::ALL.into_iter().zip(guarantee).rev();
        let blocks = |(level, count): (Level, &u32)| vec![vec![false; level.gpus() as usize]; *count as usize];
        Self(largest_first.flat_map(blocks).collect())
    }

    // The first of the smallest holes that are large enough. A hole is as large as its half and it together are free.
    fn admit(&mut self, level: Level) -> Option<(usize, usize, Level)> {
        let size = level.gpus() as usize;
        for hole in Level::ALL.into_iter().map(|level| level.gpus() as usize).filter(|hole| *hole >= size) {
            for (at, block) in self.0.iter_mut().enumerate().filter(|(_, block)| block.len() >= hole) {
                let is_free = |from: usize, size: usize| block[from..from + size].iter().all(|taken| !taken);
                let is_hole = |from: &usize| {
                    let twice = *from - *from % (2 * hole);
                    is_free(*from, hole) && (block.len() == hole || !is_free(twice, 2 * hole))
                };
                if let Some(from) = (0..block.len()).step_by(hole).find(is_hole) {
                    block[from..from + size].fill(true);
                    return Some((at, from, level));
                }
            }
        }
        None
    }

    fn release(&mut self, (at, from, level): (usize, usize, Level)) {
        self.0[at][from..from + level.gpus() as usize].fill(false);
    }
}

// Quota that counts devices and nothing else. It packs as well as cells do.
struct ByCount {
    left: Vec<u32>,
    pool: Buddy,
    room: Room,
}

impl ByCount {
    fn admit_guaranteed(&mut self, tenant: TenantIx, level: Level) -> Option<JobIx> {
        let left = self.left.get_mut(tenant.0 as usize).filter(|left| **left >= level.gpus())?;
        let from = self.pool.smallest(level)?;
        let room = &self.room;
        let address = self.pool.cheapest(from, level, |start| room.opportunistic_in(start, level.gpus()))?;
        *left -= level.gpus();
        self.pool.take(address, level);
        self.room.push_out(address, level.gpus());
        Some(self.room.put(Job { tenant, address, level, virtual_address: Some(address) }))
    }

    fn admit_opportunistic(&mut self, tenant: TenantIx, level: Level) -> Option<JobIx> {
        let address = self.room.free_spot(level)?;
        Some(self.room.put(Job { tenant, address, level, virtual_address: None }))
    }

    fn release(&mut self, job: JobIx) {
        let Some(job) = self.room.remove(job) else { return };
        if job.virtual_address.is_some() {
            self.pool.give_back(job.address, job.level);
            self.left[job.tenant.0 as usize] += job.level.gpus();
        }
    }
}
