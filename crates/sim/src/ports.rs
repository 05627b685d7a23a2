//! The simulated clock and the simulated randomness that a world lends to the control plane.

use crate::dice::Dice;
use control::{Clock, Entropy, Ports};
use model::Timestamp;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicI64, Ordering},
};

/// A clock that moves only when the world says so.
#[derive(Debug)]
pub struct SimClock(AtomicI64);

impl SimClock {
    /// A clock that starts on 1 January 2026.
    pub fn new() -> Arc<Self> {
        Self::starting(Timestamp::from_micros(1_767_225_600_000_000))
    }
    /// A clock that starts at a moment.
    pub fn starting(at: Timestamp) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(at.as_micros())))
    }
    /// Moves forward.
    pub fn advance_us(&self, us: i64) {
        self.0.fetch_add(us.max(0), Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// The clock of one replica: the world's, a little off, and standing still while its process does. A process that was
/// stopped in the middle of something goes on with the time it had read.
#[derive(Debug)]
pub struct ReplicaClock {
    world: Arc<SimClock>,
    skew_us: i64,
    frozen_us: AtomicI64,
}

const RUNNING: i64 = i64::MIN;

impl ReplicaClock {
    /// A clock that is this much ahead of the world's.
    pub fn new(world: &Arc<SimClock>, skew_us: i64) -> Arc<Self> {
        Arc::new(Self { world: Arc::clone(world), skew_us, frozen_us: AtomicI64::new(RUNNING) })
    }
    /// Stands still.
    pub fn freeze(&self) {
        self.frozen_us.store(self.now().as_micros(), Ordering::Relaxed);
    }
    /// Goes with the world again.
    pub fn thaw(&self) {
        self.frozen_us.store(RUNNING, Ordering::Relaxed);
    }
}

impl Clock for ReplicaClock {
    fn now(&self) -> Timestamp {
        match self.frozen_us.load(Ordering::Relaxed) {
            RUNNING => Timestamp::from_micros(self.world.now().as_micros() + self.skew_us),
            frozen => Timestamp::from_micros(frozen),
        }
    }
}

#[derive(Debug)]
struct SimEntropy(Mutex<Dice>);

impl Entropy for SimEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(buffer);
    }
}

/// The ports of one world.
pub fn ports(seed: u64, clock: &Arc<SimClock>) -> Ports {
    Ports { clock: clock.clone(), entropy: Arc::new(SimEntropy(Mutex::new(Dice::new(seed, "entropy")))) }
}

/// The ports of one replica: a clock of its own, the world's randomness.
pub fn replica_ports(world: &Ports, clock: &Arc<ReplicaClock>) -> Ports {
    Ports { clock: clock.clone(), entropy: Arc::clone(&world.entropy) }
}
