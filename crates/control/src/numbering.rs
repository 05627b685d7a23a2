//! Gives events their place in the dense sequence and audit rows their place in the chain. Whoever commits a change inserts
//! them without either, so that writers never wait for each other; the leader, and only the leader, does this afterwards.

use store::{StoreError, audit, events};

use crate::leader::Leader;

/// What one pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Numbered {
    /// Events that got their number.
    pub(crate) events: u64,
    /// Audit rows that were chained.
    pub(crate) audit: usize,
}

/// A flood of events must not keep the leader from everything else, nor may the numbers fall behind for ever while it lasts.
const BATCHES_MAX: u32 = 16;

/// Numbers batches of each until nothing waits, or it is enough for one pass. Every batch is a commit of its own, events and
/// audit rows too: neither needs the other.
pub(crate) fn step(leader: &Leader) -> Result<Numbered, StoreError> {
    let limit = leader.config.numbered_per_commit;
    let full = |count: u64| i64::try_from(count).is_ok_and(|count| count >= limit);
    let mut numbered = Numbered::default();
    for _ in 0..BATCHES_MAX {
        let waiting = leader.read(|tx| Ok((events::waiting(tx)?, audit::waiting(tx)?)))?;
        let events = if waiting.0 { leader.commit(move |tx, _| events::number_batch(tx, limit))? } else { 0 };
        let audit = if waiting.1 { leader.commit(move |tx, _| audit::chain_batch(tx, limit))? } else { 0 };
        numbered.events += events;
        numbered.audit += audit;
        if !full(events) && !full(audit as u64) {
            break;
        }
    }
    Ok(numbered)
}
