//! What a workload went through before, from its row to the engine and back: how often it was stopped for others of late, for
//! whom last, and how often it came back. It outlives every book, because what protects a workload must not be forgotten
//! with a leader.

use govern::workload::Past;
use store::{
    preemptions::PreemptionRow,
    workloads::{Recent, Returning, WorkloadRow},
};

use model::{Timestamp, time::MICROS_PER_SECOND};

use super::{profile, seconds};

/// As the engine counts it. `displaced_by` is whom it was stopped for, by the engine's number.
pub(super) fn past(row: &WorkloadRow, displaced_by: Option<u64>) -> Past {
    let count = |of: i64| u32::try_from(of).unwrap_or(u32::MAX);
    Past {
        stops: count(row.recent.stops),
        stops_since: row.recent.since.map_or(0, seconds),
        returns: count(row.stops),
        displaced_by,
    }
}

/// How a workload that is gone now waits again: for as long as the engine's back-off says, with one stop more if it had to go
/// for another one.
pub(crate) fn returning<'a>(
    row: &WorkloadRow,
    told: Option<&PreemptionRow>,
    now: Timestamp,
    reason: &'a str,
) -> Returning<'a> {
    let profile = profile();
    let (mut past, mut recent) = (past(row, None), row.recent.clone());
    if let (Some(by), Some(most)) = (told.and_then(|told| told.by_workload_id.clone()), profile.rules.stops_max) {
        // Whom it was for is kept by its id; the number is only of use within one book.
        past.stopped(seconds(now), most.window_s, 0);
        let since = Timestamp::from_micros(past.stops_since.saturating_mul(MICROS_PER_SECOND));
        recent = Recent { stops: i64::from(past.stops), since: Some(since), displaced_by: Some(by) };
    }
    let wait_s = profile.backoff.wait_s(past.returns.saturating_add(1));
    Returning { due: Some(now.plus_seconds(i64::from(wait_s))), recent, reason: Some(reason) }
}
