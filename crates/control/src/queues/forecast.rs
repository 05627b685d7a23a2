//! What would become of everybody under other objects: the cycles that would follow, on rows and a picture that are the
//! question's own. Time stands still meanwhile: who has to go is gone at once and does not come back, and nobody ends. Who is
//! admitted has its places, so that the next cycle does not give them away again.

use std::collections::BTreeMap;

use api::queue::{ExplanationView, QueueUseView};
use model::{Timestamp, WorkloadId, workload::PreemptionRule};
use store::workloads::WorkloadRow;

use super::{CYCLES_AHEAD_MAX, Governor, Outcome, Told, Waiter, floor::Before};
use crate::snapshot::Snapshot;

/// What would become of everybody.
#[derive(Debug, Default)]
pub(crate) struct Forecast {
    pub(crate) starts: BTreeMap<WorkloadId, WorkloadRow>,
    pub(crate) stops: BTreeMap<WorkloadId, (WorkloadRow, PreemptionRule)>,
    pub(crate) waits: BTreeMap<WorkloadId, (WorkloadRow, ExplanationView)>,
    pub(crate) uses: Vec<QueueUseView>,
}

impl Governor {
    /// What would become of everybody. The picture is left as it was.
    pub(crate) fn forecast(mut self, snapshot: &mut Snapshot, now: Timestamp) -> Forecast {
        let waiters: BTreeMap<WorkloadId, Waiter> =
            self.known.waiters.values().map(|waiter| (waiter.row.id.clone(), waiter.clone())).collect();
        let mut before = Before::default();
        let mut forecast = Forecast::default();
        self.scheduler.places_changed();
        for _ in 0..CYCLES_AHEAD_MAX {
            let Outcome { admitted, told, waits, unfinished } = self.cycle(snapshot, now);
            let news = unfinished || !admitted.is_empty() || !told.is_empty();
            for one in admitted {
                let waiter = waiters.get(&one.row.id);
                if let Some(request) = waiter.and_then(|it| it.asked(Some(&one.flavor), one.pool_id.clone())) {
                    before.place(snapshot, &request, one.wishes.len());
                }
                forecast.waits.remove(&one.row.id);
                forecast.starts.insert(one.row.id.clone(), one.row);
            }
            for one in told {
                self.leave(snapshot, &mut before, &one);
                forecast.stops.insert(one.row.id.clone(), (one.row, one.rule));
            }
            forecast.waits.extend(waits.into_iter().map(|one| (one.row.id.clone(), (one.row, one.wait))));
            if !news {
                break;
            }
        }
        forecast.uses = self.uses();
        before.restore(snapshot);
        forecast
    }

    fn leave(&mut self, snapshot: &mut Snapshot, before: &mut Before, told: &Told) {
        let Some(place) = self.running.remove(&told.row.id) else { return };
        self.scheduler.end(place);
        if let Some(holder) = self.known.holders.remove(&place) {
            before.leave(snapshot, &holder.allocations);
        }
    }
}
