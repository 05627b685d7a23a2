//! What would become of everybody under other objects: the cycles that would follow, on rows and a picture that are the
//! question's own. Time stands still meanwhile: who has to go is gone at once and does not come back, and nobody ends. Who is
//! admitted has its places, so that the next cycle does not give them away again.

use std::collections::BTreeMap;

use api::queue::{ExplanationView, QueueUseView};
use engine::{Request, Verdict};
use model::{Timestamp, WorkloadId, supply::SlotState, workload::PreemptionRule};
use store::workloads::WorkloadRow;

use super::{Admitted, CYCLES_AHEAD_MAX, Governor, Outcome, Told, Waiter, floor::stand_in, kept::Before};
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
        let waiters = self.known.waiters.values().map(|waiter| (waiter.row.id.clone(), waiter.clone())).collect();
        let mut coming = Coming { waiters, before: Before::default(), placed: 0 };
        let mut forecast = Forecast::default();
        self.scheduler.places_changed();
        for _ in 0..CYCLES_AHEAD_MAX {
            let Outcome { admitted, told, waits, unfinished } = self.cycle(snapshot, now);
            let news = unfinished || !admitted.is_empty() || !told.is_empty();
            for one in admitted {
                coming.place(snapshot, &one);
                forecast.waits.remove(&one.row.id);
                forecast.starts.insert(one.row.id.clone(), one.row);
            }
            for one in told {
                self.leave(snapshot, &mut coming, &one);
                forecast.stops.insert(one.row.id.clone(), (one.row, one.rule));
            }
            forecast.waits.extend(waits.into_iter().map(|one| (one.row.id.clone(), (one.row, one.wait))));
            if !news {
                break;
            }
        }
        forecast.uses = self.uses();
        coming.before.restore(snapshot);
        forecast
    }

    fn leave(&mut self, snapshot: &mut Snapshot, coming: &mut Coming, told: &Told) {
        let Some(place) = self.running.remove(&told.row.id) else { return };
        self.scheduler.end(place);
        let Some(holder) = self.known.holders.remove(&place) else { return };
        for allocation in &holder.allocations {
            if let Some(node) = snapshot.node_of(allocation).cloned() {
                coming.before.keep(snapshot, &node);
                snapshot.inventory.release(&node, allocation, SlotState::Available, None);
            }
        }
    }
}

// The picture as it would be after the cycles so far.
struct Coming {
    waiters: BTreeMap<WorkloadId, Waiter>,
    before: Before,
    placed: u32,
}

impl Coming {
    fn place(&mut self, snapshot: &mut Snapshot, admitted: &Admitted) {
        let Some(request) = self.waiters.get(&admitted.row.id).and_then(|waiter| asked(waiter, admitted)) else {
            return;
        };
        for _ in &admitted.wishes {
            let Verdict::Placed(found) = snapshot.inventory.place(&request) else { return };
            let node = found.chosen.node_id;
            self.before.keep(snapshot, &node);
            self.placed += 1;
            let occupant = stand_in(&request, self.placed, found.slot_ids);
            if snapshot.inventory.claim(&node, request.shape, &occupant).is_err() {
                return;
            }
        }
    }
}

// What each member asks for with the flavor that it was given.
fn asked(waiter: &Waiter, admitted: &Admitted) -> Option<Request> {
    let mut request = waiter.request.clone();
    if waiter.row.hardware.is_some() {
        request.gpu_model = *waiter.models.iter().find(|(slug, _)| slug.as_str() == admitted.flavor)?.1;
    }
    if let Some(pool) = &admitted.pool_id {
        request.pool_id = Some(pool.clone());
    }
    Some(request)
}
