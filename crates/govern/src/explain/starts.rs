//! When those that wait would start, answered by the engine itself: a copy of the state runs ahead to the ends that are known.

use crate::cycle::{Decision, Floor, Scheduler, Verdict, book::PendingIx};
use std::collections::BTreeMap;

/// What a copy of the state came to that ran ahead.
#[derive(Debug, Clone, Default)]
pub struct Ahead {
    /// What the next cycle would decide.
    pub next: Vec<Decision>,
    /// When each workload that waits starts at the latest, in seconds, if nobody else comes.
    pub starts: BTreeMap<PendingIx, i64>,
}

/// Runs a copy ahead, no further than so many cycles. What has no known end never ends, and whoever would need its quota has
/// no start there.
#[must_use]
pub fn ahead(scheduler: &Scheduler, now: i64, cycles_max: u32, floor: &mut dyn Floor) -> Ahead {
    let mut ahead = scheduler.clone();
    let (mut now, mut starts, mut next_cycle) = (now, BTreeMap::new(), None);
    for _ in 0..cycles_max {
        let decisions = ahead.step(now, floor);
        next_cycle.get_or_insert_with(|| decisions.clone());
        let before = starts.len();
        let is_admitted = |decision: &&Decision| matches!(decision.verdict, Verdict::Admitted { .. });
        // A place in the book is used again once its workload runs, but nobody new comes here.
        starts.extend(decisions.iter().filter(is_admitted).map(|decision| (decision.pending, now)));
        let stopping = |(place, workload): (_, &crate::workload::Workload)| workload.evicting.then_some(place);
        let leave: Vec<_> = ahead.running().iter().filter_map(stopping).collect();
        if !leave.is_empty() {
            let notice_s = i64::from(ahead.profile().rules.notice_s);
            now = now.saturating_add(notice_s);
            // They do not come back here: when they do, they wait behind what is asked about.
            leave.into_iter().for_each(|place| drop(ahead.end(place)));
            continue;
        }
        if starts.len() > before {
            continue;
        }
        let ends = ahead.running().iter().filter_map(|(_, workload)| workload.ends_by());
        let Some(next) = ends.chain(ahead.next_due()).map(|at| at.max(now)).min() else { break };
        now = next;
        let over = |(place, workload): (_, &crate::workload::Workload)| {
            workload.ends_by().is_some_and(|end| end <= now).then_some(place)
        };
        let over: Vec<_> = ahead.running().iter().filter_map(over).collect();
        over.into_iter().for_each(|place| drop(ahead.end(place)));
    }
    Ahead { next: next_cycle.unwrap_or_default(), starts }
}
