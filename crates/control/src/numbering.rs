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

/// Numbers one batch of each. The two are separate commits: neither needs the other.
pub(crate) fn step(leader: &Leader) -> Result<Numbered, StoreError> {
    let limit = leader.config.numbered_per_step;
    let waiting = leader.read(|tx| Ok((events::waiting(tx)?, audit::waiting(tx)?)))?;
    let mut numbered = Numbered::default();
    if waiting.0 {
        numbered.events = leader.commit(move |tx, _| events::number_batch(tx, limit))?;
    }
    if waiting.1 {
        numbered.audit = leader.commit(move |tx, _| audit::chain_batch(tx, limit))?;
    }
    Ok(numbered)
}
