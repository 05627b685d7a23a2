//! A journal that is a store: everything of a scenario is durable before it counts.
//!
//! It is the store of a server, an SQLite file with its settings (WAL, every commit synced), through the functions that the
//! server calls. What comes, ends or is gone at one time is one transaction, and so is what a cycle decides:
//!
//! ```text
//!   came       ──▶ a row, and the event that it was created
//!   admitted   ──▶ looked at again, then state, flavor, what is borrowed, when; an event
//!   has to go  ──▶ the preemption with its rule and its numbers; state; an event
//!   gone       ──▶ the preemption is over; back to its place in the queue; an event
//!   ended      ──▶ state; an event
//! ```
//!
//! Kueue's scenarios have no machines, so there are no allocations, no claims and no members that start one after the other;
//! places on the nodes of the third scenario are kept by the bench alone. A CPU of a scenario is a GPU of a row, rounded up
//! for each pod. Why somebody waits is not written: nothing depends on it. Events get their numbers afterwards, as a server
//! numbers them between its turns; that is measured by itself.

use super::scenarios::{BORROW, CPU, Cycle, Happening, Journal, MILLI, Outcome, QUOTA, Scenario, Size};
use control::{Ports, plane::PlaneConfig};
use govern::{
    amount::Amount,
    cycle::{Scheduler, Verdict, book::PendingIx},
    flavors::Assignment,
    preempt::{Cut, Reason, Victim},
    tree::NodeIx,
    workload::WorkloadIx,
};
use model::{
    GovernedId, PreemptionId, ProjectId, RegionId, SkuId, TenantId, Timestamp, WorkloadId,
    allocation::Desired,
    governance::{Governance, Object},
    sku::CapacityShape,
    supply::GpuModel,
    text::{DisplayName, Slug},
    workload::{IfUnavailable, PreemptionRule, State},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};
use store::{
    Db, Dialect, LEADER, LeaderGuard, Stamp, StoreError, Tx, events, governance, lease,
    living::Life,
    preemptions::{self, PreemptionNew},
    projects, regions, skus, tenants,
    testing::Place,
    workloads::{self, Entering, Recent, Returning, WorkloadNew, WorkloadRow},
};

const FLAVOR: &str = "cpus";
const LOCAL_QUEUE: &str = "main";
const LEASE_US: i64 = 3_600_000_000;
// The first moment of every scenario.
const BEGINS_US: i64 = 1_767_225_600_000_000;
const READ_AT_ONCE: usize = 5000;

// What a store that missed nothing has so many of, in the order of `Durable::check`.
const COUNTS: [&str; 7] = [
    "SELECT COUNT(*) FROM workloads",
    "SELECT COUNT(*) FROM events WHERE noun = 'workload' AND state_to = 'queued'",
    "SELECT COUNT(*) FROM events WHERE noun = 'workload' AND state_to = 'admitted'",
    "SELECT COUNT(*) FROM events WHERE noun = 'workload' AND state_to = 'preempting'",
    "SELECT COUNT(*) FROM events WHERE noun = 'workload' AND state_to = 'finished'",
    "SELECT COUNT(*) FROM events WHERE noun = 'workload'",
    "SELECT COUNT(*) FROM preemptions WHERE gone_us IS NOT NULL",
];

fn moment(now_ms: u64) -> Timestamp {
    Timestamp::from_micros(BEGINS_US).plus_micros(i64::try_from(now_ms).unwrap_or(i64::MAX).saturating_mul(1000))
}

fn said(error: StoreError) -> String {
    error.to_string()
}

// A project of its own for each queue.
#[derive(Debug, Clone)]
struct Home {
    project_id: ProjectId,
    queue: Slug,
}

// What all workloads have in common.
#[derive(Debug, Clone)]
struct Owner {
    tenant_id: TenantId,
    sku_id: SkuId,
    region_id: RegionId,
    name: DisplayName,
    local_queue: Slug,
    flavor: Slug,
}

// A workload as it was written last, and the preemption that is not over.
struct Kept {
    row: WorkloadRow,
    open: Option<PreemptionId>,
}

/// The journal.
pub struct Durable {
    db: Db,
    ports: Ports,
    guard: LeaderGuard,
    owner: Owner,
    homes: BTreeMap<NodeIx, Home>,
    // By number in the scenario.
    kept: Vec<Option<Kept>>,
    told: u64,
    // Goes last: the file is in it.
    _place: Place,
}

// Somebody who gets quota.
struct Admitted {
    item: usize,
    row: WorkloadRow,
    borrowed: i64,
}

// Somebody who has to go.
struct Told {
    item: usize,
    row: WorkloadRow,
    id: PreemptionId,
    by: WorkloadId,
    rule: PreemptionRule,
    notice_s: i64,
    body: String,
}

impl Durable {
    /// A new store with the queues of a scenario.
    ///
    /// # Errors
    /// What the store answers.
    pub fn new(scenario: &Scenario) -> Result<Self, String> {
        let (place, ports) = (Place::new(Dialect::Sqlite), Ports::system());
        let db = place.open();
        let now = moment(0);
        let acquire = move |tx: &mut Tx<'_>| lease::lease_acquire(tx, LEADER, "bench", None, now, LEASE_US);
        let guard = db.write(acquire).map_err(said)?.ok_or("somebody else leads")?;
        let word = |text: &str| text.parse::<Slug>().map_err(|why| format!("{text}: {why}"));
        let bits = || ports.id_bits();
        let owner = Owner {
            tenant_id: TenantId::from_parts(now, bits()),
            sku_id: SkuId::from_parts(now, bits()),
            region_id: RegionId::from_parts(now, bits()),
            name: "A run".parse().map_err(|_| "a name")?,
            local_queue: word(LOCAL_QUEUE)?,
            flavor: word(FLAVOR)?,
        };
        let mut homes = BTreeMap::new();
        for (cohort, queue, node) in scenario.queues() {
            let home = Home {
                project_id: ProjectId::from_parts(now, bits()),
                queue: word(&format!("queue-{cohort}-{queue}"))?,
            };
            homes.insert(node, home);
        }
        let objects = objects(scenario, &homes)?;
        let journal = Self { db, ports, guard, owner, homes, kept: vec![], told: 0, _place: place };
        journal.make(objects)?;
        Ok(journal)
    }

    fn make(&self, objects: Vec<Object>) -> Result<(), String> {
        let (owner, homes) = (self.owner.clone(), self.homes.clone());
        self.commit(moment(0), move |tx, stamp| {
            let Owner { tenant_id, sku_id, region_id, name, local_queue: slug, .. } = &owner;
            regions::insert(tx, stamp, region_id, slug, name, true)?;
            let terms = skus::SkuTerms {
                name: name.clone(),
                gpu_counts: vec![1],
                profile: None,
                vcpus_per_gpu: 1,
                memory_mib_per_gpu: 1024,
                price_micros_per_gpu_hour: 0,
                enabled: true,
            };
            skus::insert(tx, stamp, sku_id, slug, (CapacityShape::GpuSlice, GpuModel::H200Sxm), &terms)?;
            tenants::insert(tx, stamp, tenant_id, slug, name)?;
            for Home { project_id, queue } in homes.values() {
                let new = projects::ProjectNew { id: project_id, tenant_id, slug: queue, name, gpu_cap: 1_000_000 };
                projects::insert(tx, stamp, new)?;
            }
            governance::hold(tx)?;
            for object in &objects {
                let id = GovernedId::from_parts(stamp.now, stamp.bits());
                let of = matches!(object, Object::LocalQueue(_)).then_some(tenant_id);
                governance::insert(tx, stamp, &id, object, of)?;
            }
            Ok(())
        })
    }

    // As a leader commits.
    fn commit(
        &self,
        now: Timestamp,
        mut run: impl FnMut(&mut Tx<'_>, &mut Stamp<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), String> {
        let (guard, ports) = (self.guard.clone(), self.ports.clone());
        let write = move |tx: &mut Tx<'_>| {
            guard.check(tx)?;
            let mut bits = || ports.id_bits();
            run(tx, &mut Stamp::new(now, &mut bits))
        };
        self.db.write(write).map_err(said)
    }

    /// How many commits were made so far.
    pub fn commits(&self) -> u64 {
        self.db.counts().commits
    }

    /// Gives every event its number, and says how long that took.
    ///
    /// # Errors
    /// What the store answers.
    pub fn number(&self) -> Result<Duration, String> {
        let limit = PlaneConfig::serving("bench").numbered_per_commit;
        let begun = Instant::now();
        while self.db.write(move |tx| events::number_batch(tx, limit)).map_err(said)? > 0 {}
        Ok(begun.elapsed())
    }

    /// Looks whether the store has exactly what the engine decided: each row to the letter, one event for each version, and
    /// as many admissions, preemptions and ends as there were.
    ///
    /// # Errors
    /// When it has not, and what the store answers.
    pub fn check(&self, outcome: &Outcome) -> Result<(), String> {
        let kept: BTreeMap<&WorkloadId, &WorkloadRow> =
            self.kept.iter().flatten().map(|kept| (&kept.row.id, &kept.row)).collect();
        let ids: Vec<&WorkloadId> = kept.keys().copied().collect();
        for part in ids.chunks(READ_AT_ONCE) {
            let part: BTreeSet<WorkloadId> = part.iter().copied().cloned().collect();
            let wanted = part.len();
            let rows = self.db.read(move |tx| workloads::of_ids(tx, &part)).map_err(said)?;
            let other = rows.iter().find(|row| kept.get(&row.id) != Some(row));
            if other.is_some() || rows.len() != wanted {
                return Err(format!("{} rows of {wanted}; one is {other:?}", rows.len()));
            }
        }
        let (rows, versions) = (kept.len() as u64, kept.values().map(|row| row.version.unsigned_abs()).sum());
        let requeued = kept.values().map(|row| row.stops.unsigned_abs()).sum::<u64>();
        let expected = [rows, rows + requeued, outcome.admissions, self.told, rows, versions, self.told];
        let found = self.db.read(|tx| COUNTS.iter().map(|sql| tx.query_one(sql, &[])?.int(0)).collect());
        let found: Vec<i64> = found.map_err(said)?;
        let same = found.iter().map(|count| count.unsigned_abs()).eq(expected);
        if same { Ok(()) } else { Err(format!("expected {expected:?}, and the store has {found:?}")) }
    }

    fn kept(&self, item: usize) -> Result<&Kept, String> {
        self.kept.get(item).and_then(Option::as_ref).ok_or_else(|| format!("workload {item} never came"))
    }

    fn row(&self, item: usize) -> Result<WorkloadRow, String> {
        self.kept(item).map(|kept| kept.row.clone())
    }

    // What a move of a workload leaves in its row.
    fn moved(&mut self, item: usize, now: Timestamp, change: impl FnOnce(&mut Kept)) {
        if let Some(kept) = self.kept.get_mut(item).and_then(Option::as_mut) {
            change(kept);
            let Kept { row, open } = kept;
            row.version += 1;
            row.due = row.due.filter(|_| row.state == State::Queued);
            (row.life.state_since, row.life.look) = (now, Some(now));
            if !row.state.holds_quota() {
                (row.flavor, row.borrowed_gpus, row.admitted) = (None, 0, None);
                *open = None;
            }
        }
    }

    fn newcomer(&self, now: Timestamp, queue: NodeIx, size: &Size) -> Result<WorkloadRow, String> {
        let home = self.homes.get(&queue).ok_or_else(|| format!("no queue {queue:?}"))?;
        let Owner { tenant_id, sku_id, region_id, name, local_queue, .. } = self.owner.clone();
        let each = size.cpus.unsigned_abs().div_ceil(u64::from(size.pods));
        Ok(WorkloadRow {
            id: WorkloadId::from_parts(now, self.ports.id_bits()),
            tenant_id,
            project_id: home.project_id.clone(),
            name,
            local_queue,
            queue: home.queue.clone(),
            priority_class: None,
            priority: size.priority,
            members: i64::from(size.pods),
            sku_id,
            region_id,
            shape: CapacityShape::GpuSlice,
            gpu_count: i64::try_from(each).map_err(|_| "a size")?,
            if_unavailable: IfUnavailable::Queue,
            max_run_s: None,
            hardware: None,
            recent: Recent::default(),
            desired: Desired::Running,
            state: State::Queued,
            life: Life { state_since: now, wait: None, look: Some(now), faults: 0, last_fault: None },
            queued: now,
            due: None,
            stops: 0,
            gated: false,
            flavor: None,
            borrowed_gpus: 0,
            admitted: None,
            wait: None,
            wait_at: None,
            version: 1,
            created: now,
        })
    }

    // In the order of decisions: a queue borrows what it uses beyond its own, without those who come in after this one.
    fn admitted(&self, cycle: &Cycle<'_>) -> Result<Vec<Admitted>, String> {
        let scheduler = cycle.scheduler;
        let granted = |assignment: &Assignment| {
            assignment.usage.iter().find(|(what, _)| *what == CPU).map_or(Amount::ZERO, |(_, amount)| *amount)
        };
        let mut later: BTreeMap<NodeIx, Amount> = BTreeMap::new();
        let mut admitted = vec![];
        for decision in cycle.decisions.iter().rev() {
            let Verdict::Admitted { workload, assignment } = &decision.verdict else { continue };
            let after = later.entry(decision.queue).or_default();
            let used = scheduler.usage().of(decision.queue, CPU).minus(*after);
            *after = after.plus(granted(assignment));
            let own = scheduler.estate().tree.quota(decision.queue, CPU).nominal;
            let over = used.minus(own).or_zero().units();
            let item = runs_at(scheduler, *workload)?;
            let row = self.row(item)?;
            let borrowed = over.saturating_add(MILLI - 1).div_euclid(MILLI).min(row.gpus());
            admitted.push(Admitted { item, row, borrowed });
        }
        admitted.reverse();
        Ok(admitted)
    }

    // Who has to go, and was not told before.
    fn told(&self, cycle: &Cycle<'_>) -> Result<Vec<Told>, String> {
        let (mut all, mut known) = (vec![], BTreeSet::new());
        for decision in cycle.decisions {
            let Verdict::Preempting { victims, .. } = &decision.verdict else { continue };
            let by = self.row(waits_at(cycle.scheduler, decision.pending)?)?.id;
            for victim in victims.iter().filter(|victim| victim.cut == Cut::Stop) {
                let item = runs_at(cycle.scheduler, victim.workload)?;
                let row = self.row(item)?;
                if row.state == State::Admitted && known.insert(item) {
                    all.push(self.one_told(cycle.now_ms, item, row, by.clone(), victim));
                }
            }
        }
        Ok(all)
    }

    fn one_told(&self, now_ms: u64, item: usize, row: WorkloadRow, by: WorkloadId, victim: &Victim) -> Told {
        let rule = match victim.reason {
            Reason::InQueue { .. } => PreemptionRule::WithinQueue,
            Reason::CohortReclaim { .. } => PreemptionRule::Reclaim,
            Reason::CohortReclaimWhileBorrowing { .. } => PreemptionRule::BorrowWithinCohort,
            Reason::CohortFairShare { .. } => PreemptionRule::FairShare,
        };
        let now_s = i64::try_from(now_ms / 1000).unwrap_or(i64::MAX);
        let notice_s = victim.stops_at.map_or(0, |at| at.saturating_sub(now_s).max(0));
        let id = PreemptionId::from_parts(moment(now_ms), self.ports.id_bits());
        Told { item, row, id, by, rule, notice_s, body: self.numbers(&victim.reason).to_string() }
    }

    // As many numbers as a server writes.
    fn numbers(&self, reason: &Reason) -> Value {
        let named = |node: NodeIx| self.homes.get(&node).map_or("cohort", |home| home.queue.as_str());
        match reason {
            Reason::InQueue { priority, taker_priority } => {
                json!({ "priority": priority, "by_priority": taker_priority })
            }
            Reason::CohortReclaim { over, .. } | Reason::CohortReclaimWhileBorrowing { over, .. } => json!({
                "node": named(over.node),
                "flavor": FLAVOR,
                "resource": "gpu",
                "used": over.used.units(),
                "own": over.own.units(),
            }),
            Reason::CohortFairShare { taker, giver, .. } => json!({
                "node": named(giver.0),
                "share_per_mille": giver.1.per_mille_ceil(),
                "by_node": named(taker.0),
                "by_share_per_mille": taker.1.per_mille_ceil(),
            }),
        }
    }

    fn note_decided(&mut self, now: Timestamp, admitted: &[(usize, i64)], told: Vec<(usize, PreemptionId)>) {
        let flavor = self.owner.flavor.clone();
        for (item, borrowed) in admitted {
            self.moved(*item, now, |kept| {
                kept.row.state = State::Admitted;
                (kept.row.flavor, kept.row.borrowed_gpus) = (Some(flavor.clone()), *borrowed);
                kept.row.admitted = Some(now);
            });
        }
        for (item, id) in told {
            self.told += 1;
            self.moved(item, now, |kept| (kept.row.state, kept.open) = (State::Preempting, Some(id)));
        }
    }

    fn note_happened(&mut self, now: Timestamp, happenings: &[Happening<'_>]) {
        for happening in happenings {
            match happening {
                Happening::Arrived { .. } => {}
                Happening::Ended { item } => self.moved(*item, now, |kept| kept.row.state = State::Finished),
                Happening::Stopped { item, due_s } => self.moved(*item, now, |kept| {
                    (kept.row.state, kept.row.due) = (State::Queued, due_s.map(due));
                    kept.row.stops += 1;
                    kept.row.recent = once_more(&kept.row.recent, now);
                }),
            }
        }
    }
}

// Stopped for somebody, once more than before.
fn once_more(before: &Recent, now: Timestamp) -> Recent {
    Recent { stops: before.stops + 1, since: before.since.or(Some(now)), displaced_by: None }
}

fn due(seconds: i64) -> Timestamp {
    Timestamp::from_micros(BEGINS_US).plus_seconds(seconds)
}

// Who is behind a number of the engine.
fn runs_at(scheduler: &Scheduler, place: WorkloadIx) -> Result<usize, String> {
    let identity = scheduler.running().get(place).map(|workload| workload.identity);
    identity.and_then(|of| usize::try_from(of).ok()).ok_or_else(|| format!("nobody runs at {place:?}"))
}

fn waits_at(scheduler: &Scheduler, place: PendingIx) -> Result<usize, String> {
    let identity = scheduler.book().get(place).map(|pending| pending.waiting.identity);
    identity.and_then(|of| usize::try_from(of).ok()).ok_or_else(|| format!("nobody waits at {place:?}"))
}

fn objects(scenario: &Scenario, homes: &BTreeMap<NodeIx, Home>) -> Result<Vec<Object>, String> {
    let cohorts: Vec<Value> =
        (0..scenario.cohorts).map(|cohort| json!({ "slug": format!("cohort-{cohort}") })).collect();
    let (mut queues, mut ways_in) = (vec![], vec![]);
    for (cohort, _, node) in scenario.queues() {
        let Home { project_id, queue } = homes.get(&node).ok_or("a queue without a home")?;
        let quota = json!({ "nominal": QUOTA, "borrowing_limit": BORROW });
        let groups = json!([{ "flavors": [{ "flavor": FLAVOR, "quotas": [quota] }] }]);
        queues.push(json!({ "slug": queue, "cohort": format!("cohort-{cohort}"), "resource_groups": groups }));
        ways_in.push(json!({ "project_id": project_id, "slug": LOCAL_QUEUE, "cluster_queue": queue }));
    }
    let all = json!({
        "flavors": [{ "slug": FLAVOR, "gpu_model": "h200-sxm" }],
        "cohorts": cohorts,
        "cluster_queues": queues,
        "local_queues": ways_in,
    });
    let all: Governance = serde_json::from_value(all).map_err(|why| why.to_string())?;
    Ok(all.objects())
}

fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &WorkloadRow) -> Result<(), StoreError> {
    let new = WorkloadNew {
        id: &row.id,
        tenant_id: &row.tenant_id,
        project_id: &row.project_id,
        name: &row.name,
        local_queue: &row.local_queue,
        queue: &row.queue,
        priority_class: row.priority_class.as_ref(),
        priority: row.priority,
        members: row.members,
        sku_id: &row.sku_id,
        region_id: &row.region_id,
        shape: row.shape,
        gpu_count: row.gpu_count,
        if_unavailable: row.if_unavailable,
        max_run_s: row.max_run_s,
        hardware: None,
    };
    workloads::insert(tx, stamp, new)
}

fn enter_admitted(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, admitted: &[Admitted]) -> Result<(), StoreError> {
    if admitted.is_empty() {
        return Ok(());
    }
    let ids: BTreeSet<WorkloadId> = admitted.iter().map(|one| one.row.id.clone()).collect();
    let now = workloads::versions(tx, &ids)?;
    if admitted.iter().any(|one| now.get(&one.row.id) != Some(&one.row.version)) {
        return Err(StoreError::StaleVersion);
    }
    let entering = |one: &Admitted| Entering {
        state: State::Admitted,
        flavor: Some(FLAVOR),
        borrowed_gpus: one.borrowed,
        sku_id: None,
        reason: Some("placed"),
    };
    let moves: Vec<_> = admitted.iter().map(|one| (&one.row, entering(one))).collect();
    workloads::enter_all(tx, stamp, &moves)
}

fn tell(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, told: &Told) -> Result<(), StoreError> {
    let new = PreemptionNew {
        id: &told.id,
        by_workload_id: Some(&told.by),
        rule: told.rule,
        notice_s: told.notice_s,
        grace_s: 0,
        body: &told.body,
    };
    preemptions::insert(tx, stamp, &told.row, new).map(drop)
}

impl Journal for Durable {
    fn happened(&mut self, now_ms: u64, happenings: &[Happening<'_>]) -> Result<(), String> {
        if happenings.is_empty() {
            return Ok(());
        }
        let now = moment(now_ms);
        let (mut came, mut ended, mut stopped, mut over) = (vec![], vec![], vec![], vec![]);
        for happening in happenings {
            match happening {
                Happening::Arrived { item, queue, size } => {
                    let row = self.newcomer(now, *queue, size)?;
                    came.push(row.clone());
                    if self.kept.len() <= *item {
                        self.kept.resize_with(*item + 1, || None);
                    }
                    self.kept[*item] = Some(Kept { row, open: None });
                }
                Happening::Ended { item } => {
                    over.extend(self.kept(*item)?.open.clone());
                    ended.push(self.row(*item)?);
                }
                Happening::Stopped { item, due_s } => {
                    over.extend(self.kept(*item)?.open.clone());
                    stopped.push((self.row(*item)?, due_s.map(due)));
                }
            }
        }
        self.commit(now, move |tx, stamp| {
            over.iter().try_for_each(|id| preemptions::gone(tx, id, stamp.now))?;
            let (state, reason) = (State::Finished, Some("members_gone"));
            let finished = Entering { state, flavor: None, borrowed_gpus: 0, sku_id: None, reason };
            let moves: Vec<_> = ended.iter().map(|row| (row, finished)).collect();
            workloads::enter_all(tx, stamp, &moves)?;
            for (row, due) in &stopped {
                let recent = once_more(&row.recent, stamp.now);
                workloads::requeue(tx, stamp, row, &Returning { due: *due, recent, reason: Some("preempted") })?;
            }
            came.iter().try_for_each(|row| insert(tx, stamp, row))
        })?;
        self.note_happened(now, happenings);
        Ok(())
    }

    fn decided(&mut self, cycle: &Cycle<'_>) -> Result<(), String> {
        let (admitted, told) = (self.admitted(cycle)?, self.told(cycle)?);
        if admitted.is_empty() && told.is_empty() {
            return Ok(());
        }
        let now = moment(cycle.now_ms);
        let items: Vec<(usize, i64)> = admitted.iter().map(|one| (one.item, one.borrowed)).collect();
        let ids = told.iter().map(|one| (one.item, one.id.clone())).collect();
        self.commit(now, move |tx, stamp| {
            enter_admitted(tx, stamp, &admitted)?;
            told.iter().try_for_each(|one| tell(tx, stamp, one))
        })?;
        self.note_decided(now, &items, ids);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::scenarios::{BASELINE, Clocks, Outcome, Scenario, Size, run},
        Durable,
    };

    const STOPPED: Clocks<'static> = Clocks { engine_us: &|| 0, journal_us: &|| 0 };

    // Two queues of twenty: small ones fill both for half an hour, and the large ones that come when they have run for as long
    // as everybody may are more important.
    fn crowded() -> Scenario {
        let [large, medium, small] = BASELINE.sizes;
        let sizes = [
            Size { count: 3, every_ms: 700_000, ..large },
            Size { count: 0, ..medium },
            Size { count: 30, every_ms: 10, run_ms: 2_000_000, ..small },
        ];
        Scenario { cohorts: 1, queues: 2, sizes, ..BASELINE }
    }

    fn played(scenario: &Scenario) -> (Durable, Outcome) {
        let mut journal = Durable::new(scenario).unwrap();
        let outcome = run(scenario, &mut journal, STOPPED).unwrap();
        (journal, outcome)
    }

    #[test]
    fn the_store_has_what_the_engine_decided() {
        let scenario = crowded();
        let (journal, outcome) = played(&scenario);
        journal.check(&outcome).unwrap();
        assert_eq!(outcome.admissions, scenario.workloads() + journal.told, "who had to go came in again");
        assert!(journal.told > 0, "somebody had to go: {outcome:?}");
        journal.number().unwrap();
        journal.check(&outcome).unwrap();
    }

    #[test]
    fn a_store_that_missed_something_is_found_out() {
        let (journal, outcome) = played(&crowded());
        let more = Outcome { admissions: outcome.admissions + 1, ..outcome.clone() };
        assert!(journal.check(&more).unwrap_err().contains("expected"));
        let one = "UPDATE workloads SET stops = stops + 1 WHERE id = (SELECT MIN(id) FROM workloads)";
        journal.db.write(move |tx| tx.execute(one, &[])).map_err(super::said).unwrap();
        assert!(journal.check(&outcome).unwrap_err().contains("one is Some"));
    }
}
