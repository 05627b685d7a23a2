//! Places that are being made free for a workload are kept for it: whoever asks without a queue does not get them meanwhile.
//! They are kept from the moment that others are told to go until the workload is admitted or gone, and no longer than half
//! an hour after the last of the others must have stopped: then it is taken that their slots do not come back in time.
//!
//! Which places these are is found as the search for victims found them: those that were told are taken out of the picture,
//! what is being wiped counts as free, and the workload is placed. What of that is free already is what is kept.

use std::collections::{BTreeMap, BTreeSet};

use engine::Request;
use govern::cycle::{Placing, book::PendingIx};
use model::{NodeId, SlotId, Timestamp, WorkloadId, workload::State};
use store::preemptions::PreemptionRow;

use super::{
    Governor, Known,
    floor::{Before, Tenancy},
};
use crate::snapshot::Snapshot;

// Long enough for slots to be wiped and proved.
const KEPT_S: i64 = 1800;

/// For whom others were told to go, and who.
#[derive(Debug, Clone, Default)]
pub(super) struct MadeFree(BTreeMap<WorkloadId, Freed>);

#[derive(Debug, Clone)]
struct Freed {
    victims: BTreeSet<WorkloadId>,
    until: Timestamp,
    // With the flavor that was decided on; what it asks for itself where that is not known.
    request: Option<Request>,
}

impl MadeFree {
    /// As the store has it.
    pub(super) fn new(told: &[PreemptionRow]) -> Self {
        let mut made = Self::default();
        for one in told {
            if let Some(by) = &one.by_workload_id {
                made.add(by, &one.workload_id, one.stop.plus_seconds(one.grace_s), None);
            }
        }
        made
    }

    /// Somebody is gone by then, for another one.
    pub(super) fn add(&mut self, by: &WorkloadId, victim: &WorkloadId, gone: Timestamp, request: Option<Request>) {
        let until = gone.plus_seconds(KEPT_S);
        let freed =
            self.0.entry(by.clone()).or_insert_with(|| Freed { victims: BTreeSet::new(), until, request: None });
        freed.victims.insert(victim.clone());
        freed.until = freed.until.max(until);
        freed.request = request.or_else(|| freed.request.take());
    }
}

impl Known {
    /// What a workload would ask for with the flavors that it was given.
    pub(super) fn asked(&self, pending: PendingIx, assignment: &govern::flavors::Assignment) -> Option<Request> {
        self.request(&Placing { pending, pod_sets: &[], assignment })
    }
}

impl Governor {
    /// The free slots that are kept for those for whom others were told to go. The picture is left as it was.
    pub(crate) fn kept(&mut self, snapshot: &mut Snapshot, now: Timestamp) -> Vec<(NodeId, Vec<SlotId>)> {
        let Self { made_free, waiting, .. } = self;
        made_free.0.retain(|by, freed| waiting.contains_key(by) && now < freed.until);
        if self.made_free.0.is_empty() {
            return vec![];
        }
        let mut before = Before::default();
        self.clear(snapshot, &mut before);
        let mut chosen = vec![];
        for (by, freed) in &self.made_free.0 {
            let waiter = self.waiting.get(by).and_then(|place| self.known.waiters.get(place));
            let Some(waiter) = waiter else { continue };
            let request = freed.request.as_ref().unwrap_or(&waiter.request);
            let members = usize::try_from(waiter.row.members).unwrap_or(0);
            chosen.extend(before.place(snapshot, request, members));
        }
        before.restore(snapshot);
        let free = |(node, slots): (NodeId, Vec<SlotId>)| {
            let free = snapshot.inventory.free_of(&node, &slots);
            (!free.is_empty()).then_some((node, free))
        };
        chosen.into_iter().filter_map(free).collect()
    }

    // Whoever was told is gone, and what is being wiped is free.
    fn clear(&self, snapshot: &mut Snapshot, before: &mut Before) {
        let victims = self.made_free.0.values().flat_map(|freed| &freed.victims);
        let holders = victims.filter_map(|id| self.known.holders.get(self.running.get(id)?));
        // One that runs again was not told this time.
        let holders = holders.filter(|holder| matches!(holder.row.state, State::Preempting | State::Stopping));
        holders.for_each(|holder| before.leave(snapshot, &holder.allocations));
        for (node, slots) in snapshot.wiping().clone() {
            before.free(snapshot, &node, &slots);
        }
    }
}
