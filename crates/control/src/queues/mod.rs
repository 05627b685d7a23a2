//! The governor: who of those that wait in queues gets quota and a place now, and who has to go for whom.
//!
//! It keeps the engine's book of all workloads in memory, like the picture of the fleet: read once, then changed by what was
//! committed, by whomever. A cycle asks the engine; what it answers is carried out by the applier, which places the members of
//! an admitted workload and commits quota and claims in one transaction.
//!
//! ```text
//!   events ──▶ book ──▶ cycle on the picture ──┬─ admitted    ──▶ the applier: members placed, claims and quota committed
//!                                              ├─ preempting  ──▶ those who have to go are told, with notice
//!                                              └─ waits       ──▶ why, kept with the workload
//! ```
//!
//! Whatever does not go as decided (somebody was quicker, the store refused) throws the book away; it is read again.

mod estate;
mod floor;
mod forecast;
mod kept;
mod lately;
mod memo;
mod past;
mod rows;
mod tell;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use api::queue::{ExplanationView, FlavorTriedView, QueueUseView};
use engine::Request;
use govern::{
    amount::Amount,
    cycle::{
        self, Decision, Placing, Profile, Scheduler, Verdict,
        book::{Bar, Pending, PendingIx, ShapeIx, Strategy, Where},
    },
    explain::{self, Ahead},
    flavors::{Assignment, FlavorIx},
    order::{Order, Waiting},
    preempt::{FairStrategies, PreemptionRules, Reason, Victim},
    tree::{FlavorResource, NodeIx},
    workload::{Cause, Terms, Workload, WorkloadIx},
};
use model::{
    AllocationId, PoolId, Timestamp, WorkloadId,
    governance::{Governance, Ordering, Stop},
    supply::GpuModel,
    text::Slug,
    workload::{IfUnavailable, PreemptionRule, State},
};
use store::{placing::WishRow, workloads::WorkloadRow};

pub(crate) use estate::Names;
pub(crate) use forecast::Forecast;
pub(crate) use memo::BookMemo;
pub(crate) use past::returning;
pub(crate) use rows::{Rows, news, read, read_some};
pub(crate) use tell::{Wrote, hold_back, write};

use crate::snapshot::Snapshot;
use estate::Counted;
use floor::{PictureFloor, Tenancy};
use kept::MadeFree;
use lately::Lately;

/// How our own cycles go about it: fair shares, and everything beyond the models.
pub(crate) fn profile() -> Profile {
    Profile::own(PreemptionRules::own(Some(FairStrategies::Both)))
}

/// One that waits.
#[derive(Debug, Clone)]
struct Waiter {
    row: WorkloadRow,
    request: Request,
    wishes: Vec<WishRow>,
    // Where several flavors would do: the GPUs of each.
    models: BTreeMap<Slug, GpuModel>,
}

impl Waiter {
    // What each member asks for with the flavor that it is given, and where that has to lie.
    fn asked(&self, flavor: Option<&str>, pool: Option<PoolId>) -> Option<Request> {
        let mut request = self.request.clone();
        if self.row.hardware.is_some() {
            let given = flavor?;
            request.gpu_model = *self.models.iter().find(|(slug, _)| slug.as_str() == given)?.1;
        }
        if pool.is_some() {
            request.pool_id = pool;
        }
        Some(request)
    }
}

/// One that holds quota.
#[derive(Debug, Clone)]
struct Holder {
    row: WorkloadRow,
    allocations: Vec<AllocationId>,
}

/// Who is behind the engine's numbers.
#[derive(Debug, Clone, Default)]
struct Known {
    names: Names,
    waiters: HashMap<PendingIx, Waiter>,
    holders: HashMap<WorkloadIx, Holder>,
    // Flavors that a search has looked at and that is not over.
    tried: HashMap<PendingIx, Vec<FlavorTriedView>>,
}

impl Tenancy for Known {
    fn request(&self, asked: &Placing<'_>) -> Option<Request> {
        let flavor = flavor_of(asked.assignment).and_then(|(flavor, _)| self.names.flavor(flavor));
        let pool = pool_of(&self.names, asked.assignment)?;
        self.waiters.get(&asked.pending)?.asked(flavor.map(|flavor| flavor.slug.as_str()), pool)
    }

    fn allocations(&self, workload: WorkloadIx) -> &[AllocationId] {
        self.holders.get(&workload).map_or(&[], |holder| &holder.allocations)
    }
}

/// The flavor that an assignment gives for GPUs.
fn flavor_of(assignment: &Assignment) -> Option<(FlavorIx, FlavorResource)> {
    let first = assignment.pod_sets.first()?.resources.first()?;
    Some((first.flavor, first.what))
}

// What is parked and woken together.
type Class = (NodeIx, ShapeIx, i64);

fn class_of(scheduler: &Scheduler, place: PendingIx) -> Option<Class> {
    let pending = scheduler.book().get(place)?;
    Some((pending.queue, pending.shape, pending.waiting.priority))
}

// What a decision gives, if it does.
fn granted(decision: &Decision) -> Option<(FlavorResource, Amount)> {
    let Verdict::Admitted { assignment, .. } = &decision.verdict else { return None };
    let (_, what) = flavor_of(assignment)?;
    assignment.usage.iter().find(|(of, _)| *of == what).copied()
}

// The pool that the flavor is limited to, if it is; nothing at all where there is no such pool.
fn pool_of(names: &Names, assignment: &Assignment) -> Option<Option<PoolId>> {
    let Some((flavor, _)) = flavor_of(assignment) else { return Some(None) };
    names.pool_of(flavor).ok().map(|pool| pool.cloned())
}

/// A workload that gets quota: what is committed with its claims.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    /// As it was seen.
    pub(crate) row: WorkloadRow,
    /// The flavor whose quota it uses.
    pub(crate) flavor: String,
    /// Where its members have to lie, if the flavor says so.
    pub(crate) pool_id: Option<PoolId>,
    /// What of it is borrowed.
    pub(crate) borrowed_gpus: i64,
    /// Its members' wishes, with what each is sold as.
    pub(crate) wishes: Vec<WishRow>,
}

/// Somebody who has to go.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// As it was seen.
    pub(crate) row: WorkloadRow,
    /// For whom; nobody when the queue is emptied.
    pub(crate) by: Option<WorkloadId>,
    /// Under which rule.
    pub(crate) rule: PreemptionRule,
    /// How long it is warned.
    pub(crate) notice_s: i64,
    /// How long it may take to stop after that.
    pub(crate) grace_s: i64,
    /// The numbers that made it the one.
    pub(crate) body: serde_json::Value,
}

/// Somebody who waits, and why.
#[derive(Debug, Clone)]
pub(crate) struct Waits {
    /// As it was seen.
    pub(crate) row: WorkloadRow,
    /// Why.
    pub(crate) wait: ExplanationView,
    /// Its members, if it was not to wait: it is refused.
    pub(crate) refused: Option<Vec<WishRow>>,
}

/// What a cycle decided.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) admitted: Vec<Admitted>,
    pub(crate) told: Vec<Told>,
    pub(crate) waits: Vec<Waits>,
    /// Not all flavors that would do were looked at: the next cycle goes on with them.
    pub(crate) unfinished: bool,
}

/// The book, and who is in it.
#[derive(Debug, Clone)]
pub(crate) struct Governor {
    /// The objects of governance it was made from.
    governance: Governance,
    /// Their version.
    pub(crate) version: i64,
    /// How far the event sequence had come.
    pub(crate) head: i64,
    scheduler: Scheduler,
    known: Known,
    waiting: BTreeMap<WorkloadId, PendingIx>,
    running: BTreeMap<WorkloadId, WorkloadIx>,
    identities: HashMap<WorkloadId, u64>,
    // Nobody has told them anything yet.
    newcomers: BTreeSet<PendingIx>,
    // They were told that they are not in the line, or behind one that nobody passes.
    aside: BTreeSet<PendingIx>,
    // What was last decided about workloads that ask for the same: whoever joins them is not looked at alone.
    verdicts: HashMap<Class, Verdict>,
    // From then on other quotas count.
    quotas_until: Option<i64>,
    lately: Lately,
    made_free: MadeFree,
}

impl Governor {
    /// From rows that were read together.
    pub(crate) fn new(rows: Rows, now: Timestamp) -> Result<Self, String> {
        let Counted { estate, names, until } = estate::build(&rows.governance, rows.pools.clone(), now)?;
        let mut governor = Self {
            governance: rows.governance.clone(),
            version: rows.version,
            head: rows.head,
            scheduler: Scheduler::new(estate, profile()),
            known: Known { names, ..Known::default() },
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            identities: HashMap::new(),
            newcomers: BTreeSet::new(),
            aside: BTreeSet::new(),
            verdicts: HashMap::new(),
            quotas_until: until,
            lately: Lately::new(rows.runs.clone()),
            made_free: MadeFree::new(&rows.told),
        };
        governor.line_up();
        governor.adopt(rows, now);
        Ok(governor)
    }

    fn line_up(&mut self) {
        for queue in &self.governance.cluster_queues {
            let Some(node) = self.known.names.queue(&queue.slug) else { continue };
            let (strategy, order) = match queue.ordering {
                Ordering::StrictFifo | Ordering::Priority => (Strategy::Strict, Order::PriorityThenAge),
                Ordering::BestEffortFifo => (Strategy::BestEffort, Order::PriorityThenAge),
                Ordering::Lifo => (Strategy::BestEffort, Order::NewestFirst),
            };
            self.scheduler.set_queue(node, strategy, order);
            // Those who have to go are told here, one by one.
            let stop = if queue.stop == Stop::None { cycle::Stop::None } else { cycle::Stop::Hold };
            self.scheduler.set_stop(node, stop);
        }
    }

    /// Whether everything has to be read again: the objects have changed, or a window of quota opens or closes.
    pub(crate) fn is_outdated(&self, version: i64, now: Timestamp) -> bool {
        self.version != version || self.quotas_until.is_some_and(|until| until <= seconds(now))
    }

    /// Which of these are news.
    pub(crate) fn changed(&self, touched: &[(WorkloadId, i64)]) -> BTreeSet<WorkloadId> {
        let seen = |id: &WorkloadId| {
            let waiter = self.waiting.get(id).and_then(|place| self.known.waiters.get(place)).map(|it| it.row.version);
            waiter.or_else(|| self.running.get(id).and_then(|at| self.known.holders.get(at)).map(|it| it.row.version))
        };
        touched
            .iter()
            .filter(|(id, version)| seen(id).is_none_or(|seen| seen < *version))
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Takes over rows that were read again, in place of what was known of them.
    pub(crate) fn adopt(&mut self, rows: Rows, now: Timestamp) {
        self.head = self.head.max(rows.head);
        let mut all = rows.workloads.clone();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        let mut members = rows.members();
        let mut wishes = rows.wishes();
        for row in all {
            let held = self.running.get(&row.id).and_then(|place| self.known.holders.get(place));
            if let Some(before) = held.filter(|_| !row.state.holds_quota()).map(|holder| holder.row.clone()) {
                self.lately.ended(&before, row.life.state_since);
            }
            self.lately.changed();
            self.forget(&row.id);
            let (members, wishes) = (members.remove(&row.id), wishes.remove(&row.id));
            if row.state.holds_quota() {
                self.holds(row, members.unwrap_or_default());
            } else if row.state == State::Queued && row.desired == model::allocation::Desired::Running {
                self.waits(&rows, row, wishes.unwrap_or_default(), now);
            }
        }
    }

    fn forget(&mut self, id: &WorkloadId) {
        if let Some(place) = self.waiting.remove(id) {
            self.newcomers.remove(&place);
            self.aside.remove(&place);
            self.known.tried.remove(&place);
            self.scheduler.cancel(place);
            self.known.waiters.remove(&place);
        }
        if let Some(place) = self.running.remove(id) {
            self.scheduler.end(place);
            self.known.holders.remove(&place);
        }
    }

    fn identity(&mut self, id: &WorkloadId) -> u64 {
        let next = self.identities.len() as u64;
        *self.identities.entry(id.clone()).or_insert(next)
    }

    fn holds(&mut self, row: WorkloadRow, allocations: Vec<AllocationId>) {
        let names = &self.known.names;
        let queue = names.queue(&row.queue);
        let what = row.flavor.as_ref().and_then(|flavor| names.gpus_of(flavor.as_str()));
        // A queue or flavor that is gone counts nothing any more.
        let (Some(queue), Some(what)) = (queue, what) else { return };
        let workload = Workload {
            queue,
            priority: row.priority,
            identity: self.identity(&row.id),
            queued_at: Some(seconds(row.queued)),
            quota_at: row.admitted.map(seconds),
            usage: vec![(what, Amount::new(row.gpus()))],
            evicting: matches!(row.state, State::Preempting | State::Stopping),
            local_usage: 0,
            elastic: None,
            terms: Terms {
                max_run_s: max_run_s(&row),
                run_s_min: self.run_s_min(&row),
                past: past::past(&row, None),
                ..Terms::default()
            },
        };
        let place = self.scheduler.start(workload);
        self.running.insert(row.id.clone(), place);
        self.known.holders.insert(place, Holder { row, allocations });
    }

    fn waits(&mut self, rows: &Rows, row: WorkloadRow, wishes: Vec<WishRow>, now: Timestamp) {
        // Members that are still on their way back come later, and are told then.
        if i64::try_from(wishes.len()) != Ok(row.members) {
            return;
        }
        let Some(request) = rows.request(&wishes) else { return };
        let Some(queue) = self.known.names.queue(&row.queue) else { return };
        let members = u32::try_from(row.members).unwrap_or(u32::MAX);
        let pod_set = self.known.names.pod_set(&request, members, row.hardware.as_ref());
        let choices = row.hardware.iter().flat_map(|hardware| &hardware.choices);
        let models = choices.filter_map(|it| Some((it.flavor.clone(), rows.gpu_model(&it.sku_id)?))).collect();
        let shape = self.scheduler.shape(std::slice::from_ref(&pod_set));
        let displaced_by = row.recent.displaced_by.as_ref().map(|by| self.identity(by));
        let waiting = Waiting {
            local_usage: 0,
            priority: row.priority,
            queued_at: Some(seconds(row.queued)),
            identity: self.identity(&row.id),
        };
        let pending = Pending {
            bar: (row.gated || self.is_held(&row)).then_some(Bar::FailedChecks),
            may_not_preempt: row.if_unavailable == IfUnavailable::Refuse || !self.may_preempt(&row),
            max_run_s: max_run_s(&row),
            run_s_min: self.run_s_min(&row),
            due_at: row.due.filter(|due| *due > now).map(seconds),
            past: past::past(&row, displaced_by),
            ..Pending::new(queue, waiting, shape)
        };
        let place = self.scheduler.submit(pending);
        self.waiting.insert(row.id.clone(), place);
        self.newcomers.insert(place);
        self.known.waiters.insert(place, Waiter { row, request, wishes, models });
    }

    // Of a queue that is gone the rules know.
    fn run_s_min(&self, row: &WorkloadRow) -> Option<u32> {
        let queue = self.governance.cluster_queues.iter().find(|queue| queue.slug == row.queue)?;
        Some(u32::try_from(queue.min_run_s.get()).unwrap_or(u32::MAX))
    }

    fn is_held(&self, row: &WorkloadRow) -> bool {
        let own = |queue: &&model::governance::LocalQueue| {
            queue.project_id == row.project_id && queue.slug == row.local_queue
        };
        self.governance.local_queues.iter().find(own).is_none_or(|queue| queue.stop != Stop::None)
    }

    fn may_preempt(&self, row: &WorkloadRow) -> bool {
        let class = row.priority_class.as_ref();
        let known = class.and_then(|slug| self.governance.priority_classes.iter().find(|class| class.slug == *slug));
        known.is_none_or(|class| class.preempts)
    }

    /// The fleet has changed: what found no place may find one.
    pub(crate) fn wake(&mut self) {
        self.scheduler.places_changed();
    }

    /// Takes over what was written about those who wait or have to go.
    pub(crate) fn wrote(&mut self, written: Vec<Wrote>) {
        for Wrote { id, version, state, wait } in written {
            if let Some(waiter) = self.waiting.get(&id).and_then(|place| self.known.waiters.get_mut(place)) {
                waiter.row.version = version;
                waiter.row.wait = wait.or_else(|| waiter.row.wait.take());
                if state == Some(State::Refused) {
                    self.forget(&id);
                }
                continue;
            }
            let Some(place) = self.running.get(&id).copied() else { continue };
            if let Some(holder) = self.known.holders.get_mut(&place) {
                (holder.row.version, holder.row.state) = (version, state.unwrap_or(holder.row.state));
                self.scheduler.evict(place, Cause::Asked);
            }
        }
    }

    /// Whether nobody waits and nobody has to be told anything: the fleet need not be looked at.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.drained().next().is_none()
    }

    /// Whether nobody's turn has come.
    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        let due = self.scheduler.next_due().is_some_and(|due| due <= seconds(now));
        !due && !self.scheduler.is_ready() && self.newcomers.is_empty() && self.drained().next().is_none()
    }

    // Those in queues that are being emptied, who were not told yet.
    fn drained(&self) -> impl Iterator<Item = &Holder> {
        let drains = |row: &WorkloadRow| {
            let queue = self.governance.cluster_queues.iter().find(|queue| queue.slug == row.queue);
            let own =
                |it: &&model::governance::LocalQueue| it.project_id == row.project_id && it.slug == row.local_queue;
            let local = self.governance.local_queues.iter().find(own);
            queue.is_some_and(|queue| queue.stop == Stop::HoldAndDrain)
                || local.is_some_and(|local| local.stop == Stop::HoldAndDrain)
        };
        let any = self.governance.cluster_queues.iter().any(|queue| queue.stop == Stop::HoldAndDrain)
            || self.governance.local_queues.iter().any(|queue| queue.stop == Stop::HoldAndDrain);
        let stays = |row: &WorkloadRow| matches!(row.state, State::Admitted | State::Running);
        self.running
            .values()
            .filter(move |_| any)
            .filter_map(|place| self.known.holders.get(place))
            .filter(move |holder| stays(&holder.row) && drains(&holder.row))
    }

    /// One cycle on the picture, which is left as it was.
    pub(crate) fn cycle(&mut self, snapshot: &mut Snapshot, now: Timestamp) -> Outcome {
        self.count_usage(now);
        let mut outcome = Outcome::default();
        let drained: Vec<Holder> = self.drained().cloned().collect();
        for holder in drained {
            outcome.told.push(self.told(&holder.row, None, PreemptionRule::Drain, serde_json::json!({})));
        }
        let Self { scheduler, known, .. } = self;
        let decisions = {
            let mut floor = PictureFloor::new(snapshot, known);
            scheduler.step(seconds(now), &mut floor)
        };
        // What each queue will use once all are in, from which those that came later are taken away again.
        let mut later: BTreeMap<(NodeIx, FlavorResource), Amount> = BTreeMap::new();
        for decision in &decisions {
            if let Some((what, amount)) = granted(decision) {
                let sum = later.entry((decision.queue, what)).or_default();
                *sum = sum.plus(amount);
            }
        }
        for decision in decisions {
            if let Some((what, amount)) = granted(&decision)
                && let Some(sum) = later.get_mut(&(decision.queue, what))
            {
                *sum = sum.minus(amount);
            }
            let later = |what| later.get(&(decision.queue, what)).copied().unwrap_or_default();
            self.newcomers.remove(&decision.pending);
            self.aside.remove(&decision.pending);
            if let Some(class) = class_of(&self.scheduler, decision.pending) {
                self.verdicts.insert(class, decision.verdict.clone());
            }
            self.take_over(&decision, now, later, &mut outcome);
        }
        self.join_others(&mut outcome);
        outcome
    }

    // Whoever asks for what others wait for already waits for the same reason, and is not looked at alone. Whoever is not in the
    // line, or behind one that nobody passes, is told that, and comes back once it waits with the others.
    fn join_others(&mut self, outcome: &mut Outcome) {
        let aside = std::mem::take(&mut self.aside);
        let newcomers = std::mem::take(&mut self.newcomers);
        for place in aside.union(&newcomers).copied() {
            let Some(waiter) = self.known.waiters.get(&place).cloned() else { continue };
            let verdict = class_of(&self.scheduler, place).and_then(|class| self.verdicts.get(&class).cloned());
            match (self.scheduler.book().place_of(place), verdict) {
                (None, _) => (),
                (Some(Where::Parked), Some(verdict @ (Verdict::Waiting { .. } | Verdict::Preempting { .. }))) => {
                    self.hears(&waiter, place, Some(&verdict), outcome);
                }
                (Some(Where::Active | Where::InFlight), _) if self.scheduler.is_ready() => {
                    self.newcomers.insert(place);
                }
                (Some(_), _) => {
                    self.aside.insert(place);
                    if !aside.contains(&place) {
                        self.hears(&waiter, place, None, outcome);
                    }
                }
            }
        }
    }

    fn take_over(
        &mut self,
        decision: &Decision,
        now: Timestamp,
        later: impl Fn(FlavorResource) -> Amount,
        outcome: &mut Outcome,
    ) {
        let Some(waiter) = self.known.waiters.get(&decision.pending).cloned() else { return };
        match &decision.verdict {
            Verdict::Admitted { workload, assignment } => {
                let Some(admitted) = self.admitted(&waiter, *workload, assignment, later) else { return };
                self.waiting.remove(&waiter.row.id);
                self.known.waiters.remove(&decision.pending);
                self.lately.changed();
                self.known.tried.remove(&decision.pending);
                self.running.insert(waiter.row.id.clone(), *workload);
                let allocations = waiter.wishes.iter().map(|wish| wish.id.clone()).collect();
                self.known.holders.insert(*workload, Holder { row: waiter.row, allocations });
                outcome.admitted.push(admitted);
            }
            Verdict::Preempting { victims, assignment } => {
                let asked = self.known.asked(decision.pending, assignment);
                for victim in victims {
                    let told = self.victim(&waiter, victim);
                    if let Some(told) = &told {
                        let gone = now.plus_seconds(told.notice_s.saturating_add(told.grace_s));
                        self.made_free.add(&waiter.row.id, &told.row.id, gone, asked.clone());
                    }
                    outcome.told.extend(told);
                }
                self.hears(&waiter, decision.pending, Some(&decision.verdict), outcome);
            }
            // As long as there are flavors to look at, nobody knows whether it waits.
            Verdict::Waiting { .. } if self.scheduler.book().progress(decision.pending).is_some() => {
                let tried = words::tried(&self.known, Some(&decision.verdict));
                self.known.tried.entry(decision.pending).or_default().extend(tried);
                outcome.unfinished = true;
            }
            Verdict::Waiting { .. } => self.hears(&waiter, decision.pending, Some(&decision.verdict), outcome),
        }
    }

    fn admitted(
        &self,
        waiter: &Waiter,
        place: WorkloadIx,
        assignment: &Assignment,
        later: impl Fn(FlavorResource) -> Amount,
    ) -> Option<Admitted> {
        let (flavor, what) = flavor_of(assignment)?;
        let names = &self.known.names;
        let tree = &self.scheduler.estate().tree;
        let queue = self.scheduler.running().get(place)?.queue;
        let own = tree.quota(queue, what).nominal;
        let over = self.scheduler.usage().of(queue, what).minus(later(what)).minus(own).or_zero().units();
        let flavor = &names.flavor(flavor)?.slug;
        // From now on it is what it is sold as.
        let mut wishes = waiter.wishes.clone();
        if let Some(hardware) = &waiter.row.hardware {
            let sku_id = hardware.sku_of(flavor)?;
            wishes.iter_mut().for_each(|wish| wish.sku_id.clone_from(sku_id));
        }
        Some(Admitted {
            row: waiter.row.clone(),
            flavor: flavor.to_string(),
            pool_id: pool_of(names, assignment)?,
            borrowed_gpus: over.min(waiter.row.gpus()),
            wishes,
        })
    }

    fn victim(&self, by: &Waiter, victim: &Victim) -> Option<Told> {
        let holder = self.known.holders.get(&victim.workload)?;
        // One that was told before is not told again.
        if !matches!(holder.row.state, State::Admitted | State::Running) {
            return None;
        }
        let rule = match victim.reason {
            Reason::InQueue { .. } => PreemptionRule::WithinQueue,
            Reason::CohortReclaim { .. } => PreemptionRule::Reclaim,
            Reason::CohortReclaimWhileBorrowing { .. } => PreemptionRule::BorrowWithinCohort,
            Reason::CohortFairShare { .. } => PreemptionRule::FairShare,
        };
        let body = words::numbers(&self.known.names, &victim.reason);
        Some(self.told(&holder.row, Some(by.row.id.clone()), rule, body))
    }

    fn told(&self, row: &WorkloadRow, by: Option<WorkloadId>, rule: PreemptionRule, body: serde_json::Value) -> Told {
        let queue = self.governance.cluster_queues.iter().find(|queue| queue.slug == row.queue);
        let (notice_s, grace_s) = queue.map_or((0, 0), |queue| (queue.notice_s.get(), queue.grace_s.get()));
        Told { row: row.clone(), by, rule, notice_s, grace_s, body }
    }

    // Somebody does not get it now, and hears why.
    fn hears(&mut self, waiter: &Waiter, place: PendingIx, verdict: Option<&Verdict>, outcome: &mut Outcome) {
        let found = words::pending(&self.scheduler, &self.known, place, verdict, None);
        let Some(mut wait) = found else { return };
        // Where it stands moves with every other one; who asks is told then.
        (wait.position, wait.of) = (None, None);
        words::tried_before(&mut wait, self.known.tried.remove(&place).unwrap_or_default());
        let refused = (waiter.row.if_unavailable == IfUnavailable::Refuse).then(|| waiter.wishes.clone());
        outcome.waits.push(Waits { row: waiter.row.clone(), wait, refused });
    }

    /// Every queue and cohort as it stands.
    pub(crate) fn uses(&self) -> Vec<QueueUseView> {
        words::uses(&self.scheduler, &self.known, &self.governance)
    }

    /// Why a workload is where it is, with an estimate of its start. A copy of the book is run ahead on the picture.
    pub(crate) fn explain(
        &mut self,
        snapshot: &mut Snapshot,
        id: &WorkloadId,
        now: Timestamp,
    ) -> Option<ExplanationView> {
        if let Some(place) = self.running.get(id) {
            return words::running(&self.scheduler, &self.known, *place);
        }
        let place = *self.waiting.get(id)?;
        self.count_usage(now);
        self.scheduler.time_passes(seconds(now));
        let Ahead { next, starts } = {
            let mut floor = PictureFloor::new(snapshot, &self.known);
            explain::ahead(&self.scheduler, seconds(now), CYCLES_AHEAD_MAX, &mut floor)
        };
        let class = class_of(&self.scheduler, place);
        let own = |decision: &&Decision| decision.pending == place;
        let alike = |decision: &&Decision| class_of(&self.scheduler, decision.pending) == class;
        let found = next.iter().find(own).or_else(|| next.iter().find(alike));
        let verdict = found.map(|decision| &decision.verdict);
        let mut told = words::pending(&self.scheduler, &self.known, place, verdict, starts.get(&place).copied())?;
        // One look may be at the first flavor only; what was written down is of a whole search.
        let written = self.known.waiters.get(&place).and_then(|waiter| waiter.row.wait.as_deref());
        let written: Option<ExplanationView> = written.and_then(|wait| serde_json::from_str(wait).ok());
        words::tried_before(&mut told, written.map(|wait| wait.tried).unwrap_or_default());
        Some(told)
    }
}

// How far ahead a question looks.
const CYCLES_AHEAD_MAX: u32 = 64;

fn max_run_s(row: &WorkloadRow) -> Option<u32> {
    row.max_run_s.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX))
}

/// Whole seconds of a moment.
fn seconds(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(model::time::MICROS_PER_SECOND)
}
