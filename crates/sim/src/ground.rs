//! The ground that every world starts from: the small fleet and its tenants, seeded once for each process and copied for each
//! world. It is always made without planted bugs, on a thread of its own.

use crate::{
    fleet::{HostPlan, SMALL},
    ports::{SimClock, ports},
    seed::{SeedFault, Seeded, seed},
};
use control::{
    front_door::{FrontDoor, FrontDoorConfig},
    plane::{ControlPlane, PlaneConfig},
};
use model::{ProjectId, Timestamp};
use std::{collections::BTreeSet, sync::OnceLock};
use store::{Db, NoFaults, StoreError};

/// A filled store, and what is in it.
#[derive(Debug)]
pub struct Ground {
    /// The store as bytes.
    pub image: Vec<u8>,
    /// Who and what is in it.
    pub seeded: Seeded,
    /// The projects whose launches go through a queue.
    pub queued: BTreeSet<ProjectId>,
    /// The hosts.
    pub hosts: Vec<HostPlan>,
    /// When it was finished.
    pub at: Timestamp,
}

// Any number does; every world has the same ground.
const SEED: u64 = 0;

impl Ground {
    /// The ground of this process.
    pub fn get() -> Result<&'static Self, String> {
        static GROUND: OnceLock<Result<Ground, String>> = OnceLock::new();
        let made = GROUND.get_or_init(|| {
            let made = std::thread::spawn(|| Self::make().map_err(|error| error.to_string())).join();
            made.unwrap_or_else(|_| Err("making the ground panicked".to_owned()))
        });
        made.as_ref().map_err(Clone::clone)
    }

    fn make() -> Result<Self, SeedFault> {
        let clock = SimClock::new();
        let ports = ports(SEED, &clock);
        let db = Db::open_inline(Box::new(NoFaults))?;
        let door = FrontDoor::new(ports.clone(), FrontDoorConfig::default())?;
        let seeded = seed(&db, &door, &ports, &SMALL, &[])?;
        let mut plane = ControlPlane::new(db.clone(), ports.clone(), PlaneConfig::new("ground"));
        // Tenants and projects become usable and everything is numbered; nobody is waited for, so a few steps do.
        for _ in 0..STEPS_MAX {
            clock.advance_us(100_000);
            let report = plane.step_now();
            if let Some(error) = report.stopped {
                return Err(SeedFault::Store(error));
            }
            if report.leading && !report.worked {
                plane.resign();
                let (image, at) = (db.inline_image()?, ports.now());
                return Ok(Self { image, queued: queued(&seeded), seeded, hosts: SMALL.hosts(), at });
            }
        }
        Err(SeedFault::Store(StoreError::Other("the ground did not come to rest".to_owned())))
    }
}

const STEPS_MAX: usize = 500;

fn queued(seeded: &Seeded) -> BTreeSet<ProjectId> {
    let of = |(tenant, project): &(&str, &str)| {
        let tenant = seeded.tenants.iter().find(|seeded| seeded.slug == *tenant)?;
        tenant.projects.get(*project).cloned()
    };
    SMALL.queues.projects.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_ground_is_made_once_and_copies_are_apart() {
        let ground = Ground::get().unwrap();
        let copy = || Db::open_inline_image(&ground.image, Box::new(NoFaults)).unwrap();
        let (one, other) = (copy(), copy());
        let count = |db: &Db| {
            db.read(|tx| store::nodes::list(tx, None, store::Page::first(100))).map(|rows: Vec<_>| rows.len())
        };
        assert_eq!(count(&one), Ok::<_, StoreError>(4));
        one.write(store::incarnation_bump).unwrap();
        assert_ne!(one.read(store::incarnation), other.read(store::incarnation));
    }
}
