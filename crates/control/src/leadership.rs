//! Which replica decides. One row in the store says who; its epoch rises with every change of hands, and every commit of
//! a leader checks it, so a replica that was paused and overtaken can commit nothing. What is here is only the patience:
//! when to renew, when to stop believing, when another's silence has lasted long enough.
//!
//! ```text
//! watching ── row absent, released, own from an earlier life, or unmoved for a whole period ──▶ leading (epoch + 1)
//! leading ── somebody took over, or no renewal got through for a whole period ──▶ watching
//! ```
//!
//! No clock is compared across machines: a follower counts by its own steady clock from the last movement it saw.

use model::{Timestamp, time::MICROS_PER_SECOND};
use store::{Db, LEADER, LeaderGuard, LeaseWatch, StoreError, lease};

/// The leader's lease as one replica sees it. Volatile: a new one starts by watching.
#[derive(Debug)]
pub struct Leadership {
    replica: String,
    ttl_us: i64,
    watch: LeaseWatch,
    held: Option<Held>,
    // A lease in this replica's own name can only be from an earlier life, but only before this life has held one.
    newborn: bool,
}

#[derive(Debug)]
struct Held {
    guard: LeaderGuard,
    renewed_us: i64,
}

impl Leadership {
    /// A watcher. `replica` names this process in the lease row.
    pub fn new(replica: &str, ttl_s: i64) -> Self {
        let ttl_us = ttl_s.max(1).saturating_mul(MICROS_PER_SECOND);
        Self { replica: replica.to_owned(), ttl_us, watch: LeaseWatch::default(), held: None, newborn: true }
    }

    /// The right to commit as leader, while this replica believes it has it.
    pub fn guard(&self) -> Option<&LeaderGuard> {
        self.held.as_ref().map(|held| &held.guard)
    }

    /// How long this replica may sleep before it must renew or look again.
    pub fn pause_us(&self) -> i64 {
        self.ttl_us / 3
    }

    /// Renews when it is time, or takes the lease when that is allowed. True when this replica leads now.
    pub fn step(&mut self, db: &Db, now: Timestamp, monotonic_us: i64) -> Result<bool, StoreError> {
        match &self.held {
            Some(held) => {
                let unrenewed_us = monotonic_us.saturating_sub(held.renewed_us);
                if unrenewed_us < self.pause_us() { Ok(true) } else { self.renew(db, now, monotonic_us) }
            }
            None => self.watch(db, now, monotonic_us),
        }
    }

    /// A commit was refused because somebody else leads: back to watching.
    pub fn lost(&mut self) {
        if let Some(held) = self.held.take() {
            tracing::warn!(replica = self.replica, epoch = held.guard.epoch, "no longer leading");
        }
    }

    /// Gives the lease back, so that another replica need not wait for it to run out.
    pub fn release(&mut self, db: &Db, now: Timestamp) -> Result<(), StoreError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        db.write(move |tx| lease::lease_release(tx, &held.guard, now))?;
        Ok(())
    }

    fn renew(&mut self, db: &Db, now: Timestamp, monotonic_us: i64) -> Result<bool, StoreError> {
        let Some(held) = &mut self.held else { return Ok(false) };
        let (guard, ttl_us) = (held.guard.clone(), self.ttl_us);
        match db.write(move |tx| lease::lease_renew(tx, &guard, now, ttl_us)) {
            Ok(()) => {
                held.renewed_us = monotonic_us;
                Ok(true)
            }
            Err(StoreError::LostLeadership) => {
                self.lost();
                Ok(false)
            }
            Err(error) => {
                if monotonic_us.saturating_sub(held.renewed_us) >= self.ttl_us {
                    self.lost();
                }
                Err(error)
            }
        }
    }

    fn watch(&mut self, db: &Db, now: Timestamp, monotonic_us: i64) -> Result<bool, StoreError> {
        let seen = db.read(|tx| lease::lease_read(tx, LEADER))?;
        let own_earlier_life = self.newborn && seen.as_ref().is_some_and(|lease| lease.holder == self.replica);
        if !self.watch.may_take(seen.as_ref(), monotonic_us, self.ttl_us) && !own_earlier_life {
            return Ok(false);
        }
        let (replica, ttl_us) = (self.replica.clone(), self.ttl_us);
        let taken = db.write(move |tx| lease::lease_acquire(tx, LEADER, &replica, seen.as_ref(), now, ttl_us))?;
        let Some(guard) = taken else { return Ok(false) };
        tracing::info!(replica = self.replica, epoch = guard.epoch, "leading");
        self.newborn = false;
        self.held = Some(Held { guard, renewed_us: monotonic_us });
        Ok(true)
    }
}
