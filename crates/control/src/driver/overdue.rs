//! Waits that have outlived their budget. Nothing is ever just pending: a wait says how long it may last, and one that lasts
//! longer is an alert. Each is logged once; how many there are now is counted for the metrics.

use std::collections::HashSet;

use model::Timestamp;
use store::{
    StoreError, Tx,
    living::{self, Living as Table, Overdue},
};

use crate::leader::Leader;

/// More than this many are counted but not logged one by one.
const LOGGED_MAX: i64 = 100;

/// What was logged already. Volatile: a new leader logs again.
#[derive(Debug, Default)]
pub(crate) struct OverdueLog {
    logged: HashSet<(Table, String, String)>,
}

impl OverdueLog {
    /// Counts the waits over budget and logs those that are new.
    pub(crate) fn check(&mut self, leader: &Leader) -> Result<i64, StoreError> {
        let now = leader.now;
        let (count, waits) = leader.read(move |tx| Ok((overdue_count(tx, now)?, overdue_list(tx, now)?)))?;
        let mut still = HashSet::new();
        for (noun, overdue) in waits {
            let key = (noun, overdue.id.clone(), overdue.wait.code.clone());
            if !self.logged.contains(&key) {
                let Overdue { id, state, wait, .. } = &overdue;
                let (code, because, source) = (&wait.code, &wait.because, &wait.source);
                tracing::error!(alert = "wait_over_budget", ?noun, id, state, code, because, source, "waits too long");
            }
            still.insert(key);
        }
        self.logged = still;
        Ok(count)
    }
}

/// How many waits of all nouns have outlived their budget.
pub(crate) fn overdue_count(tx: &mut Tx<'_>, now: Timestamp) -> Result<i64, StoreError> {
    Table::ALL.iter().try_fold(0, |sum, noun| Ok(sum + living::overdue_count(tx, *noun, now)?))
}

fn overdue_list(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<(Table, Overdue)>, StoreError> {
    let mut all = Vec::new();
    for noun in Table::ALL {
        all.extend(living::overdue(tx, *noun, now, LOGGED_MAX)?.into_iter().map(|overdue| (*noun, overdue)));
    }
    Ok(all)
}
