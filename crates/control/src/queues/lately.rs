//! What local queues used of late, where their cluster queue counts it. Every run counts from its row: those that hold quota
//! now, and those that gave it back, each less the longer ago it is. So a new leader counts what the old one did.

use std::collections::BTreeMap;

use govern::{
    amount::Amount,
    order::decay::{Consumed, Decay},
    share::Resource,
    weight::Weight,
};
use model::{
    ProjectId, Timestamp,
    governance::{ClusterQueue, Governance, LocalQueue},
    text::Slug,
};
use store::{
    StoreError, Tx,
    workloads::{self, RunRow, WorkloadRow},
};

use super::{Governor, estate::weight, seconds};

// What was admitted counts at once as if it had run for so long.
const ADMISSION_COUNTS_S: u32 = 300;
// What is older than so many half-lives counts for less than a billionth.
const HALF_LIVES_MAX: i64 = 30;
// As long as nothing else happens, the order is looked at this often.
const EVERY_S: i64 = 60;

/// What was used by runs that are over, and when that was last counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Lately {
    runs: Vec<RunRow>,
    counted_at: Option<i64>,
}

fn decay(queue: &ClusterQueue) -> Option<Decay> {
    let half_life_s = u32::try_from(queue.usage_half_life_s?.get()).unwrap_or(u32::MAX);
    Some(Decay { half_life_s, sample_s: ADMISSION_COUNTS_S })
}

/// The runs that still count, of queues that count them.
pub(super) fn read(tx: &mut Tx<'_>, governance: &Governance, now: Timestamp) -> Result<Vec<RunRow>, StoreError> {
    let mut runs = vec![];
    for queue in &governance.cluster_queues {
        let Some(decay) = decay(queue) else { continue };
        let since = now.plus_seconds(-i64::from(decay.half_life_s).saturating_mul(HALF_LIVES_MAX));
        runs.extend(workloads::runs_since(tx, &queue.slug, since)?);
    }
    Ok(runs)
}

impl Lately {
    pub(super) fn new(runs: Vec<RunRow>) -> Self {
        Self { runs, counted_at: None }
    }

    /// A workload that held quota does not any more.
    pub(super) fn ended(&mut self, row: &WorkloadRow, now: Timestamp) {
        let (Some(flavor), Some(from)) = (&row.flavor, row.admitted) else { return };
        self.runs.push(RunRow {
            project_id: row.project_id.clone(),
            local_queue: row.local_queue.clone(),
            queue: row.queue.clone(),
            flavor: flavor.clone(),
            gpus: row.gpus(),
            from,
            to: now,
        });
        self.counted_at = None;
    }

    /// Somebody came or went: it is counted again at the next opportunity.
    pub(super) fn changed(&mut self) {
        self.counted_at = None;
    }
}

type Local = (ProjectId, Slug);

impl Governor {
    /// Puts everybody where what its local queue used of late puts it, in queues where that counts.
    pub(super) fn count_usage(&mut self, now: Timestamp) {
        let at = seconds(now);
        if self.lately.counted_at.is_some_and(|before| (before..before.saturating_add(EVERY_S)).contains(&at)) {
            return;
        }
        self.lately.counted_at = Some(at);
        let counting: BTreeMap<Slug, Decay> = self
            .governance
            .cluster_queues
            .iter()
            .filter_map(|queue| Some((queue.slug.clone(), decay(queue)?)))
            .collect();
        // What counts no more is forgotten.
        self.lately.runs.retain(|run| {
            let counts = |decay: &Decay| i64::from(decay.half_life_s).saturating_mul(HALF_LIVES_MAX);
            let age_s = at.saturating_sub(seconds(run.to));
            counting.get(&run.queue).is_some_and(|decay| age_s <= counts(decay))
        });
        if counting.is_empty() {
            return;
        }
        let used = self.used(&counting, at);
        let of = |row: &WorkloadRow| {
            let local = (row.project_id.clone(), row.local_queue.clone());
            counting.contains_key(&row.queue).then(|| used.get(&local).copied().unwrap_or(0))
        };
        for place in self.waiting.values() {
            if let Some(used) = self.known.waiters.get(place).and_then(|waiter| of(&waiter.row)) {
                self.scheduler.set_local_usage(*place, used);
            }
        }
        for place in self.running.values() {
            if let Some(used) = self.known.holders.get(place).and_then(|holder| of(&holder.row)) {
                self.scheduler.set_running_local_usage(*place, used);
            }
        }
    }

    // In parts of a GPU of the reference speed, for the weight of each local queue.
    fn used(&self, counting: &BTreeMap<Slug, Decay>, at: i64) -> BTreeMap<Local, u64> {
        let mut consumed: BTreeMap<Local, Consumed> = BTreeMap::new();
        let mut add = |local: Local,
                       queue: &Slug,
                       flavor: &Slug,
                       gpus: i64,
                       (from, to): (Timestamp, Option<Timestamp>)| {
            let Some(decay) = counting.get(queue) else { return };
            let speed =
                self.governance.flavors.iter().find(|it| it.slug == *flavor).map_or(1000, |it| it.speed_milli.get());
            let work = (Resource(0), Amount::new(gpus.saturating_mul(speed)));
            consumed.entry(local).or_default().ran(decay, work, seconds(from), to.map(seconds), at);
        };
        for run in &self.lately.runs {
            let local = (run.project_id.clone(), run.local_queue.clone());
            add(local, &run.queue, &run.flavor, run.gpus, (run.from, Some(run.to)));
        }
        for holder in self.known.holders.values() {
            let row = &holder.row;
            let local = (row.project_id.clone(), row.local_queue.clone());
            if let (Some(flavor), Some(from)) = (&row.flavor, row.admitted) {
                add(local, &row.queue, flavor, row.gpus(), (from, None));
            }
        }
        let weight_of = |(project, slug): &Local| {
            let own = |queue: &&LocalQueue| queue.project_id == *project && queue.slug == *slug;
            self.governance.local_queues.iter().find(own).map_or(Weight::ONE, |queue| weight(queue.weight_milli))
        };
        consumed
            .into_iter()
            .map(|(local, used)| {
                let key = used.key(|_| Weight::ONE, weight_of(&local));
                (local, key)
            })
            .collect()
    }
}
