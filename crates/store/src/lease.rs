//! Who leads. One row per lease; its epoch rises with every change of hands and is what makes leading safe: a commit of
//! a leader checks its epoch inside the transaction ([`LeaderGuard::check`]), so a replica that was paused and
//! overtaken can compute what it likes but commit nothing.
//!
//! Clocks are not trusted across machines. `until_us` is for people to read; a follower takes over only after it has seen
//! the row unchanged for a whole period by its own monotonic clock ([`LeaseWatch`]), and the take-over itself compares
//! (epoch, renewals) with what was seen. A clean release lets others in at once.
//!
//! On PostgreSQL the check locks the row FOR KEY SHARE and a take-over locks it FOR UPDATE: a take-over waits for commits
//! in flight and stops later ones, while a renewal (which changes no key) neither waits for commits nor holds them up.

use model::Timestamp;

use crate::{StoreError, Tx, for_key_share, for_update};

/// The lease of the one replica that decides.
pub const LEADER: &str = "leader";

/// A lease row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it; empty after a release.
    pub holder: String,
    /// Rises by one with every change of hands.
    pub epoch: i64,
    /// Rises with every renewal.
    pub renewals: i64,
    /// When it was last promised to end, by the holder's clock. For people.
    pub until: Timestamp,
}

impl Lease {
    /// Whether the last holder gave it back.
    pub fn is_released(&self) -> bool {
        self.holder.is_empty()
    }
}

/// The right to commit as leader, as long as nobody took over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderGuard {
    /// Which lease.
    pub name: String,
    /// Under which name it was taken.
    pub holder: String,
    /// In which epoch.
    pub epoch: i64,
}

impl LeaderGuard {
    /// Must run inside every commit made as leader. [`StoreError::LostLeadership`] when somebody took over or the
    /// lease was released.
    pub fn check(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let sql = for_key_share!(tx.dialect(), "SELECT holder, epoch FROM leases WHERE name = $1");
        let row = tx.query_opt(sql, &[self.name.as_str().into()])?.ok_or(StoreError::LostLeadership)?;
        if row.text(0)? == self.holder && row.int(1)? == self.epoch { Ok(()) } else { Err(StoreError::LostLeadership) }
    }
}

/// Reads a lease.
pub fn lease_read(tx: &mut Tx<'_>, name: &str) -> Result<Option<Lease>, StoreError> {
    let sql = "SELECT holder, epoch, renewals, until_us FROM leases WHERE name = $1";
    let Some(row) = tx.query_opt(sql, &[name.into()])? else { return Ok(None) };
    Ok(Some(Lease {
        holder: row.text(0)?.to_owned(),
        epoch: row.int(1)?,
        renewals: row.int(2)?,
        until: row.timestamp(3)?,
    }))
}

/// Takes the lease if it is still exactly as it was seen (`None`: there was no row). `None` when somebody was quicker or
/// the holder renewed. Whether enough time has passed is the caller's to say, see [`LeaseWatch`].
pub fn lease_acquire(
    tx: &mut Tx<'_>,
    name: &str,
    holder: &str,
    seen: Option<&Lease>,
    now: Timestamp,
    ttl_us: i64,
) -> Result<Option<LeaderGuard>, StoreError> {
    let until = now.plus_micros(ttl_us);
    let epoch = match seen {
        None => {
            let sql = "INSERT INTO leases (name, holder, epoch, renewals, until_us) VALUES ($1, $2, 1, 0, $3)
                       ON CONFLICT (name) DO NOTHING";
            if tx.execute(sql, &[name.into(), holder.into(), until.into()])? == 0 {
                return Ok(None);
            }
            1
        }
        Some(seen) => {
            let sql = for_update!(tx.dialect(), "SELECT epoch, renewals FROM leases WHERE name = $1");
            let Some(row) = tx.query_opt(sql, &[name.into()])? else { return Ok(None) };
            if row.int(0)? != seen.epoch || row.int(1)? != seen.renewals {
                return Ok(None);
            }
            let sql = "UPDATE leases SET holder = $2, epoch = epoch + 1, renewals = 0, until_us = $3 WHERE name = $1";
            tx.execute_one(sql, &[name.into(), holder.into(), until.into()])?;
            seen.epoch + 1
        }
    };
    Ok(Some(LeaderGuard { name: name.to_owned(), holder: holder.to_owned(), epoch }))
}

/// Promises another period. [`StoreError::LostLeadership`] when the lease is not the guard's any more.
pub fn lease_renew(tx: &mut Tx<'_>, guard: &LeaderGuard, now: Timestamp, ttl_us: i64) -> Result<(), StoreError> {
    let sql = "UPDATE leases SET renewals = renewals + 1, until_us = $4 WHERE name = $1 AND holder = $2 AND epoch = $3";
    let until = now.plus_micros(ttl_us);
    let params = [guard.name.as_str().into(), guard.holder.as_str().into(), guard.epoch.into(), until.into()];
    if tx.execute(sql, &params)? == 1 { Ok(()) } else { Err(StoreError::LostLeadership) }
}

/// Gives the lease back, so that another replica need not wait. The epoch stays: nothing committed under it is in doubt.
/// False when it was not the guard's any more.
pub fn lease_release(tx: &mut Tx<'_>, guard: &LeaderGuard, now: Timestamp) -> Result<bool, StoreError> {
    let sql = for_update!(tx.dialect(), "SELECT epoch FROM leases WHERE name = $1 AND holder = $2 AND epoch = $3");
    let params = [guard.name.as_str().into(), guard.holder.as_str().into(), guard.epoch.into()];
    if tx.query_opt(sql, &params)?.is_none() {
        return Ok(false);
    }
    let sql = "UPDATE leases SET holder = '', renewals = renewals + 1, until_us = $2 WHERE name = $1";
    tx.execute_one(sql, &[guard.name.as_str().into(), now.into()])?;
    Ok(true)
}

/// A follower's patience: has the lease stood still for a whole period, by this process's own clock?
#[derive(Debug, Clone, Default)]
pub struct LeaseWatch {
    seen: Option<(i64, i64)>,
    since_us: i64,
}

impl LeaseWatch {
    /// Notes what was read at `monotonic_us` (any steady clock of this process) and says whether the lease may be
    /// taken: it does not exist, was released, or has not moved for `ttl_us`.
    pub fn may_take(&mut self, lease: Option<&Lease>, monotonic_us: i64, ttl_us: i64) -> bool {
        let Some(lease) = lease else { return true };
        if lease.is_released() {
            return true;
        }
        let now_seen = Some((lease.epoch, lease.renewals));
        if self.seen != now_seen {
            self.seen = now_seen;
            self.since_us = monotonic_us;
            return false;
        }
        monotonic_us.saturating_sub(self.since_us) >= ttl_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(epoch: i64, renewals: i64) -> Lease {
        Lease { holder: "a".to_owned(), epoch, renewals, until: Timestamp::from_micros(0) }
    }

    #[test]
    fn patience_counts_from_the_last_movement_seen() {
        let mut watch = LeaseWatch::default();
        assert!(watch.may_take(None, 0, 100));
        assert!(!watch.may_take(Some(&lease(1, 0)), 1_000, 100), "first sight starts the wait");
        assert!(!watch.may_take(Some(&lease(1, 0)), 1_099, 100));
        assert!(!watch.may_take(Some(&lease(1, 1)), 1_100, 100), "a renewal starts it again");
        assert!(!watch.may_take(Some(&lease(1, 1)), 1_199, 100));
        assert!(watch.may_take(Some(&lease(1, 1)), 1_200, 100));
        let released = Lease { holder: String::new(), ..lease(2, 0) };
        assert!(watch.may_take(Some(&released), 1_201, 100));
    }
}
