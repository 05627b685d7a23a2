//! Guarantees that are as good as a cluster of one's own: a tenant is promised cells of 1, 2, 4 or 8 devices, not a number of
//! devices.
//!
//! A number is not enough. Two tenants with eight devices each on two nodes: eight small requests of the first, spread over
//! both nodes, keep out the second one's request for a whole node, although it is within its number. So a node is a cell that
//! is halved into smaller cells, and a tenant owns *virtual* cells of each size. A virtual cell is bound to a real one only
//! while something guaranteed runs in it. The real cell is taken from the smallest free cell that is large enough, which is
//! halved as often as needed; halves that become free together are one cell again.
//!
//! ```text
//!   node  ┌───────────────8───────────────┐     promised: one 4 and two 1 to "vision", one 2 to "speech"
//!         ├───────4───────┬───────4───────┤     the first request of "speech" for 2 takes a half of a half:
//!         ├───2───┬───2───┤               │     a free 4 stays for "vision", and so on, whatever the order
//!         └─1─┬─1─┘
//! ```
//!
//! That this never fails is a matter of counting. Let `room(k)` be how many cells of size `k` the free cells of that size and
//! above can be cut into, and `owed(k)` the same for all virtual cells that are not bound. Then `room(k) >= owed(k)` for every
//! `k`, from the start on: taking a cell lowers both alike for its own size and below, and above it a cell is halved only when
//! no smaller one is free, which means that there is one more than is owed. Giving a cell back raises both.
//!
//! What is free, or bound and not in use, is open to opportunistic work of anybody, which gives way at once.
//! The idea of virtual cells and the counting are those of HiveD (OSDI 2020).

mod buddy;
mod room;
pub mod trial;

use buddy::Buddy;
use room::{Job, Room};
use std::collections::BTreeMap;
use thiserror::Error;

/// How many devices a node has.
pub const NODE_GPUS: u32 = 8;
const NODES_MAX: u32 = 1 << 20;

/// How large a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One device.
    One,
    /// Two of them.
    Two,
    /// Half a node.
    Four,
    /// A node.
    Eight,
}

impl Level {
    /// All, smallest first.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Four, Self::Eight];

    /// How many devices it has.
    #[must_use]
    pub const fn gpus(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => NODE_GPUS,
        }
    }

    /// The smallest cell that so many devices fit into; nothing for none, or more than a node has.
    #[must_use]
    pub fn for_gpus(gpus: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|level| gpus > 0 && gpus <= level.gpus())
    }

    const fn at(self) -> usize {
        self as usize
    }

    const fn above(self) -> Option<Self> {
        match self {
            Self::One => Some(Self::Two),
            Self::Two => Some(Self::Four),
            Self::Four => Some(Self::Eight),
            Self::Eight => None,
        }
    }

    const fn below(self) -> Option<Self> {
        match self {
            Self::One => None,
            Self::Two => Some(Self::One),
            Self::Four => Some(Self::Two),
            Self::Eight => Some(Self::Four),
        }
    }
}

/// A tenant, as its place in the list of guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantIx(pub u32);

/// What was placed, as a number that is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobIx(pub u64);

/// How many cells of each size a tenant owns, in the order of [`Level::ALL`].
pub type Guarantee = [u32; 4];

/// A real cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// On this node.
    pub node: u32,
    /// The first of its devices on the node.
    pub first: u32,
    /// How large it is.
    pub level: Level,
}

/// Why guarantees cannot be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CellsFault {
    /// More nodes than can be counted.
    #[error("at most {NODES_MAX} nodes can be cut into cells")]
    TooManyNodes,
    /// More is promised than there is.
    #[error("{promised} devices are promised, and there are {there}")]
    PromisedTooMuch {
        /// Devices of all guarantees together.
        promised: u64,
        /// Devices of all nodes.
        there: u64,
    },
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has its cell.
    Placed {
        /// To release it by.
        job: JobIx,
        /// Where.
        cell: Cell,
        /// Opportunistic work that had to give way, and is gone.
        victims: Vec<JobIx>,
    },
    /// It has none.
    Refused(Refusal),
}

/// Why a request has no cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody knows the tenant.
    NoSuchTenant,
    /// The tenant's own cells have no room for it.
    BeyondGuarantee,
    /// No free cell is large enough.
    Full,
    /// More was promised than is there. The counting above says that it never happens.
    Broken,
}

// The virtual cells of one tenant. They have addresses of their own, the largest first.
#[derive(Debug, Clone)]
struct Tenant {
    pool: Buddy,
    // By the address of a whole virtual cell: where it is bound to, and how many run in it.
    bound: BTreeMap<u32, (u32, u32)>,
}

/// All cells, real and virtual, and what runs in them.
#[derive(Debug, Clone)]
pub struct Cells {
    tenants: Vec<Tenant>,
    // Real cells that no virtual one is bound to.
    unbound: Buddy,
    // Virtual cells that are bound to no real one, by level.
    owed: Guarantee,
    room: Room,
}

impl Cells {
    /// Nothing runs yet.
    ///
    /// # Errors
    /// When more is promised than there is.
    pub fn new(nodes: u32, guarantees: &[Guarantee]) -> Result<Self, CellsFault> {
        if nodes > NODES_MAX {
            return Err(CellsFault::TooManyNodes);
        }
        let gpus = |level: Level, count: u32| u64::from(count) * u64::from(level.gpus());
        let of =
            |guarantee: &Guarantee| Level::ALL.iter().zip(guarantee).map(|(level, count)| gpus(*level, *count)).sum();
        let promised = guarantees.iter().map(of).fold(0, u64::saturating_add);
        let there = gpus(Level::Eight, nodes);
        if promised > there {
            return Err(CellsFault::PromisedTooMuch { promised, there });
        }
        let mut owed = Guarantee::default();
        for guarantee in guarantees {
            owed.iter_mut().zip(guarantee).for_each(|(sum, count)| *sum += count);
        }
        let tenant = |guarantee: &Guarantee| Tenant { pool: Buddy::new(guarantee), bound: BTreeMap::new() };
        let tenants = guarantees.iter().map(tenant).collect();
        Ok(Self { tenants, unbound: Buddy::new(&[0, 0, 0, nodes]), owed, room: Room::new(nodes) })
    }

    /// Finds a cell. A guaranteed request gets one whenever the tenant's own cells, with nobody else around, have room for
    /// it, and pushes opportunistic work out of it. Any other request gets what is left, or nothing.
    pub fn admit(&mut self, tenant: TenantIx, level: Level, guaranteed: bool) -> Outcome {
        if tenant.0 as usize >= self.tenants.len() {
            return Outcome::Refused(Refusal::NoSuchTenant);
        }
        if guaranteed {
            return self.admit_guaranteed(tenant, level).unwrap_or_else(Outcome::Refused);
        }
        match self.room.free_spot(level) {
            None => Outcome::Refused(Refusal::Full),
            Some(address) => self.put(Job { tenant, address, level, virtual_address: None }, vec![]),
        }
    }

    fn admit_guaranteed(&mut self, tenant: TenantIx, level: Level) -> Result<Outcome, Refusal> {
        let Self { tenants, unbound, owed, room } = self;
        let own = tenants.get_mut(tenant.0 as usize).ok_or(Refusal::NoSuchTenant)?;
        let from = own.pool.smallest(level).ok_or(Refusal::BeyondGuarantee)?;
        // The first of the smallest, as in a cluster of its own: so the two never come apart.
        let address = own.pool.first_of(from).ok_or(Refusal::BeyondGuarantee)?;
        let (whole, whole_level) = own.pool.top_of(address).ok_or(Refusal::Broken)?;
        let offset = address - whole;
        let (base, running) = if let Some(bound) = own.bound.get(&whole) {
            *bound
        } else {
            let real = unbound.smallest(whole_level).ok_or(Refusal::Broken)?;
            let cost = |base: u32| {
                let pushed = room.opportunistic_in(base + offset, level.gpus());
                (pushed, room.opportunistic_in(base, whole_level.gpus()))
            };
            let base = unbound.cheapest(real, whole_level, cost).ok_or(Refusal::Broken)?;
            unbound.take(base, whole_level);
            owed[whole_level.at()] -= 1;
            (base, 0)
        };
        own.bound.insert(whole, (base, running + 1));
        own.pool.take(address, level);
        let real = base + offset;
        let victims = self.room.push_out(real, level.gpus());
        Ok(self.put(Job { tenant, address: real, level, virtual_address: Some(address) }, victims))
    }

    fn put(&mut self, job: Job, victims: Vec<JobIx>) -> Outcome {
        let cell = job.cell();
        Outcome::Placed { job: self.room.put(job), cell, victims }
    }

    /// It runs no more. Says where it ran.
    pub fn release(&mut self, job: JobIx) -> Option<Cell> {
        let job = self.room.remove(job)?;
        if let (Some(address), Some(own)) = (job.virtual_address, self.tenants.get_mut(job.tenant.0 as usize)) {
            own.pool.give_back(address, job.level);
            let (whole, level) = own.pool.top_of(address)?;
            let (base, running) = own.bound.get(&whole).copied()?;
            if running > 1 {
                own.bound.insert(whole, (base, running - 1));
            } else {
                own.bound.remove(&whole);
                self.unbound.give_back(base, level);
                self.owed[level.at()] += 1;
            }
        }
        Some(job.cell())
    }

    /// Devices in use, and of them those in guaranteed use.
    #[must_use]
    pub const fn used(&self) -> (u32, u32) {
        self.room.used()
    }

    /// Whether every virtual cell that is not bound could be bound now, all of them together: the counting above.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        let (mut room, mut owed) = (0_u64, 0_u64);
        for level in Level::ALL.into_iter().rev() {
            room = room * 2 + self.unbound.count(level);
            owed = owed * 2 + u64::from(self.owed[level.at()]);
            if room < owed {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
