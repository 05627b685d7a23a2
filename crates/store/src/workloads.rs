//! Workloads: what waits in a queue and is admitted as a whole. The row says where one stands and what it uses of its
//! queue's quota; which slots its members hold is said by their claims alone.
//!
//! Wishes come from users, the driver moves what was admitted, and whoever decides about admission enters `admitted`.
//! `preempting` is entered through [`crate::preemptions::insert`], so that nobody is told to go without a reason on record.

use std::collections::{BTreeMap, BTreeSet};

use model::allocation::{self, Desired};
use model::event::{Change as What, Noun};
use model::sku::CapacityShape;
use model::text::{DisplayName, Slug};
use model::workload::{Hardware, IfUnavailable, State};
use model::{AllocationId, NodeId, ProjectId, RegionId, SkuId, TenantId, Timestamp, WorkloadId};

use crate::bulk::Column;
use crate::living::{Life, Seen, life_columns, look_at_once, wait_ends};
use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_membership};
use crate::value::keys;
use crate::{Batch, BulkInsert, BulkUpdate, Kind, Row, StoreError, Tx, Value};

/// One workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadRow {
    /// Its id.
    pub id: WorkloadId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// What its owner calls it.
    pub name: DisplayName,
    /// The queue of the project that it was submitted to.
    pub local_queue: Slug,
    /// The cluster queue behind that, as it was then.
    pub queue: Slug,
    /// The class that its priority comes from.
    pub priority_class: Option<Slug>,
    /// Its priority; higher goes first.
    pub priority: i64,
    /// How many members it has.
    pub members: i64,
    /// What was bought; where a hardware profile was named, what it was admitted as last, or is first to be.
    pub sku_id: SkuId,
    /// What may serve it, where a hardware profile was named.
    pub hardware: Option<Hardware>,
    /// Where.
    pub region_id: RegionId,
    /// In which form.
    pub shape: CapacityShape,
    /// How many GPUs each member has.
    pub gpu_count: i64,
    /// What to do when it cannot start at once.
    pub if_unavailable: IfUnavailable,
    /// How long it runs at most, from its admission.
    pub max_run_s: Option<i64>,
    /// What its owner wants.
    pub desired: Desired,
    /// Where its workflow stands.
    pub state: State,
    /// Waits of the driver, looks and faults; since when it is in its state.
    pub life: Life,
    /// Its place in the queue: when it was submitted, however often it was preempted since.
    pub queued: Timestamp,
    /// Not to be admitted before.
    pub due: Option<Timestamp>,
    /// How often it was stopped and queued again.
    pub stops: i64,
    /// How often it was stopped for others of late, and for whom.
    pub recent: Recent,
    /// An admission gate is closed.
    pub gated: bool,
    /// The flavor whose quota it uses.
    pub flavor: Option<Slug>,
    /// How many of its GPUs its queue has borrowed.
    pub borrowed_gpus: i64,
    /// When it was admitted.
    pub admitted: Option<Timestamp>,
    /// Why it waits, as JSON.
    pub wait: Option<String>,
    /// When that was found.
    pub wait_at: Option<Timestamp>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was submitted.
    pub created: Timestamp,
}

impl WorkloadRow {
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: self.life.look }
    }
    /// How many GPUs all members have together.
    pub fn gpus(&self) -> i64 {
        self.members.saturating_mul(self.gpu_count)
    }
    pub(crate) fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Workload, what, self.id.as_str(), self.version + 1)
            .within(Some(&self.tenant_id), Some(&self.project_id))
    }
}

/// What a workload went through of late: what protects it from being stopped for others again and again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recent {
    /// How often it was stopped for others since the first of these stops.
    pub stops: i64,
    /// When that was.
    pub since: Option<Timestamp>,
    /// For whom it was stopped last, as long as it waits for its next run.
    pub displaced_by: Option<WorkloadId>,
}

/// How a workload goes back to its queue.
#[derive(Debug, Clone)]
pub struct Returning<'a> {
    /// Not to be admitted before.
    pub due: Option<Timestamp>,
    /// What it went through of late, with this stop.
    pub recent: Recent,
    /// Why.
    pub reason: Option<&'a str>,
}

/// A workload to record.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadNew<'a> {
    /// Its id.
    pub id: &'a WorkloadId,
    /// Whose it is.
    pub tenant_id: &'a TenantId,
    /// In which project.
    pub project_id: &'a ProjectId,
    /// What its owner calls it.
    pub name: &'a DisplayName,
    /// The queue of the project.
    pub local_queue: &'a Slug,
    /// The cluster queue behind that.
    pub queue: &'a Slug,
    /// The class that its priority comes from.
    pub priority_class: Option<&'a Slug>,
    /// Its priority.
    pub priority: i64,
    /// How many members it has.
    pub members: i64,
    /// What is bought, or is first to be.
    pub sku_id: &'a SkuId,
    /// What may serve it, where a hardware profile was named.
    pub hardware: Option<&'a Hardware>,
    /// Where.
    pub region_id: &'a RegionId,
    /// In which form.
    pub shape: CapacityShape,
    /// How many GPUs each member has.
    pub gpu_count: i64,
    /// What to do when it cannot start at once.
    pub if_unavailable: IfUnavailable,
    /// How long it runs at most.
    pub max_run_s: Option<i64>,
}

/// A state to enter, with what goes with it.
#[derive(Debug, Clone, Copy)]
pub struct Entering<'a> {
    /// The state.
    pub state: State,
    /// For `admitted`: the flavor whose quota it uses. `None` leaves what is there while quota is held.
    pub flavor: Option<&'a str>,
    /// For `admitted`: what is bought. `None` leaves what is there.
    pub sku_id: Option<&'a SkuId>,
    /// For `admitted`: how many of its GPUs its queue borrows. Of no meaning for other states.
    pub borrowed_gpus: i64,
    /// Why.
    pub reason: Option<&'a str>,
}

/// Which workloads to list; every given field must match.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkloadFilter<'a> {
    /// Of one project.
    pub project_id: Option<&'a ProjectId>,
    /// Of one cluster queue.
    pub queue: Option<&'a Slug>,
    /// In one state.
    pub state: Option<State>,
}

/// One time that a workload held quota, and gave it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Whose it was.
    pub project_id: ProjectId,
    /// Through which queue of the project.
    pub local_queue: Slug,
    /// Whose quota.
    pub queue: Slug,
    /// Of which flavor.
    pub flavor: Slug,
    /// How many GPUs.
    pub gpus: i64,
    /// From when.
    pub from: Timestamp,
    /// Until when.
    pub to: Timestamp,
}

/// One allocation of a workload: that lives, or that ended and was not launched again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Of which workload.
    pub workload_id: WorkloadId,
    /// Which allocation.
    pub allocation_id: AllocationId,
    /// Where it stands.
    pub allocation_state: allocation::State,
    /// What is wanted of it.
    pub desired: Desired,
    /// Where it was placed.
    pub node_id: Option<NodeId>,
    /// Why it is wanted released, as a word; empty while it is wanted, and when its owner gave it back.
    pub desired_reason: String,
    /// The version that was read.
    pub version: i64,
}

macro_rules! selected {
    () => {
        concat!(
            "SELECT w.id, w.tenant_id, w.project_id, w.name, w.local_queue, w.queue, w.priority_class, w.priority, ",
            "w.members, w.sku_id, w.region_id, w.shape, w.gpu_count, w.if_unavailable, w.max_run_s, w.desired, w.state, ",
            life_columns!("w"),
            ", w.queued_us, w.due_us, w.stops, w.gated, w.flavor, w.borrowed_gpus, w.admitted_us, w.wait, w.wait_us, ",
            "w.version, w.created_us, w.hardware, w.recent_stops, w.recent_stops_us, w.displaced_by FROM workloads w"
        )
    };
}
macro_rules! listed {
    () => {
        concat!(
            selected!(),
            " WHERE w.id > $1 AND (CAST($3 AS TEXT) IS NULL OR w.project_id = $3) ",
            "AND (CAST($4 AS TEXT) IS NULL OR w.queue = $4) AND (CAST($5 AS TEXT) IS NULL OR w.state = $5)"
        )
    };
}
macro_rules! given {
    () => {
        "(SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given)"
    };
}

const INSERT: &str = "INSERT INTO workloads (id, tenant_id, project_id, name, local_queue, queue, priority_class, priority, \
    members, sku_id, region_id, shape, gpu_count, if_unavailable, max_run_s, desired, state, state_since_us, look_us, \
    queued_us, version, created_us, live_local_queue, live_queue, hardware) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18, $18, 1, $18, $5, $6, $19)";
const GET: &str = concat!(selected!(), " WHERE w.id = $1");
const GET_SCOPED: &str =
    concat!(selected!(), " WHERE w.id = $1 AND ", opened_by_membership!("w.tenant_id", "w.project_id", "$2", "$3"));
const LIST: &str = concat!(listed!(), " ORDER BY w.id LIMIT $2");
const LIST_SCOPED: &str = concat!(
    listed!(),
    " AND ",
    opened_by_membership!("w.tenant_id", "w.project_id", "$6", "$7"),
    " ORDER BY w.id LIMIT $2"
);
const LIVE: &str =
    concat!(selected!(), " WHERE w.state NOT IN ('finished', 'cancelled', 'refused', 'failed') ORDER BY w.id");
const OF_IDS: &str = concat!(selected!(), " WHERE w.id IN ", given!(), " ORDER BY w.id");
const VERSIONS: &str = concat!("SELECT w.id, w.version FROM workloads w WHERE w.id IN ", given!());
// What was launched again has a successor that is a member in its place.
const MEMBERS: &str = concat!(
    "SELECT a.workload_id, a.id, a.state, a.desired, a.node_id, a.desired_reason, a.version FROM allocations a ",
    "WHERE a.workload_id IN ",
    given!(),
    " AND NOT EXISTS (SELECT 1 FROM allocations r WHERE r.recreated_from = a.id) ORDER BY a.workload_id, a.id"
);
const POSITION: &str = "SELECT COUNT(*) FROM workloads o JOIN workloads w ON w.id = $1 WHERE o.queue = w.queue \
    AND o.state = 'queued' AND w.state = 'queued' AND (o.priority > w.priority OR (o.priority = w.priority \
    AND (o.queued_us < w.queued_us OR (o.queued_us = w.queued_us AND o.id <= w.id))))";
const WISH: &str = concat!(
    "UPDATE workloads SET desired = $3, ",
    look_at_once!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const WAIT: &str = "UPDATE workloads SET wait = $3, wait_us = $4, version = version + 1 \
    WHERE id = $1 AND version = $2 AND state = 'queued'";
const WAIT_ON: &str = "UPDATE workloads SET wait = $3 WHERE id = $1 AND version = $2 AND state = 'queued'";
const DUE: &str = "UPDATE workloads SET due_us = $3, version = version + 1 WHERE id = $1 AND version = $2";
const PRIORITY: &str = "UPDATE workloads SET priority_class = $3, priority = $4, version = version + 1 \
    WHERE id = $1 AND version = $2";
const GATE: &str = "UPDATE workloads SET gated = $3, version = version + 1 WHERE id = $1 AND version = $2";

const RUNS: &str = "SELECT r.project_id, r.local_queue, r.queue, r.flavor, r.gpus, r.from_us, r.to_us FROM workload_runs r \
    WHERE r.queue = $1 AND r.to_us > $2 ORDER BY r.workload_id, r.from_us";

static RUN: BulkInsert = BulkInsert {
    table: "workload_runs",
    columns: &[
        ("workload_id", Kind::Text),
        ("project_id", Kind::Text),
        ("local_queue", Kind::Text),
        ("queue", Kind::Text),
        ("flavor", Kind::Text),
        ("gpus", Kind::Int),
        ("from_us", Kind::Int),
        ("to_us", Kind::Int),
    ],
};

const SEEN: &[Column] = &[("id", Kind::Text), ("version", Kind::Int)];
const MOVED: &[Column] = &[
    ("state", Kind::Text),
    ("state_since_us", Kind::Int),
    ("look_us", Kind::Int),
    ("flavor", Kind::Text),
    ("borrowed_gpus", Kind::Int),
    ("admitted_us", Kind::Int),
    ("due_us", Kind::Int),
    ("stops", Kind::Int),
    ("sku_id", Kind::Text),
    ("recent_stops", Kind::Int),
    ("recent_stops_us", Kind::Int),
    ("displaced_by", Kind::Text),
];
// Two texts: who lives on keeps its queues, and what is not named is neither checked nor put in order again.
static ENTER: BulkUpdate = BulkUpdate {
    table: "workloads",
    matches: SEEN,
    sets: MOVED,
    also: concat!("wait = NULL, wait_us = NULL, ", wait_ends!()),
};
static END: BulkUpdate = BulkUpdate {
    table: "workloads",
    matches: SEEN,
    sets: MOVED,
    also: concat!("live_local_queue = NULL, live_queue = NULL, wait = NULL, wait_us = NULL, ", wait_ends!()),
};

fn read(row: &Row) -> Result<WorkloadRow, StoreError> {
    Ok(WorkloadRow {
        id: row.parse(0)?,
        tenant_id: row.parse(1)?,
        project_id: row.parse(2)?,
        name: row.parse(3)?,
        local_queue: row.parse(4)?,
        queue: row.parse(5)?,
        priority_class: row.opt_parse(6)?,
        priority: row.int(7)?,
        members: row.int(8)?,
        sku_id: row.parse(9)?,
        region_id: row.parse(10)?,
        shape: row.parse(11)?,
        gpu_count: row.int(12)?,
        if_unavailable: row.parse(13)?,
        max_run_s: row.opt_int(14)?,
        desired: row.parse(15)?,
        state: row.parse(16)?,
        life: Life::read(row, 17)?,
        queued: row.timestamp(25)?,
        due: row.opt_timestamp(26)?,
        stops: row.int(27)?,
        gated: row.flag(28)?,
        flavor: row.opt_parse(29)?,
        borrowed_gpus: row.int(30)?,
        admitted: row.opt_timestamp(31)?,
        wait: row.opt_text(32)?.map(str::to_owned),
        wait_at: row.opt_timestamp(33)?,
        version: row.int(34)?,
        created: row.timestamp(35)?,
        hardware: row.opt_text(36)?.map(|text| read_hardware(row, text)).transpose()?,
        recent: Recent { stops: row.int(37)?, since: row.opt_timestamp(38)?, displaced_by: row.opt_parse(39)? },
    })
}

fn read_hardware(row: &Row, text: &str) -> Result<Hardware, StoreError> {
    serde_json::from_str(text).map_err(|error| row.corrupt(36, &error.to_string()))
}

/// Records a wish for capacity: `queued`, wanted `running`.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: WorkloadNew<'_>) -> Result<(), StoreError> {
    let state = State::Queued.as_str();
    let hardware = new.hardware.map(serde_json::to_string).transpose();
    let hardware = hardware.map_err(|error| StoreError::Other(error.to_string()))?;
    let params = [
        new.id.into(),
        new.tenant_id.into(),
        new.project_id.into(),
        new.name.as_str().into(),
        new.local_queue.as_str().into(),
        new.queue.as_str().into(),
        new.priority_class.map(Slug::as_str).into(),
        new.priority.into(),
        new.members.into(),
        new.sku_id.into(),
        new.region_id.into(),
        new.shape.as_str().into(),
        new.gpu_count.into(),
        new.if_unavailable.as_str().into(),
        new.max_run_s.into(),
        Desired::Running.as_str().into(),
        state.into(),
        stamp.now.into(),
        hardware.as_deref().into(),
    ];
    let change = Change::of(Noun::Workload, What::Created, new.id.as_str(), 1)
        .within(Some(new.tenant_id), Some(new.project_id))
        .states(None, state);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One workload, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &WorkloadId) -> Result<Option<WorkloadRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One workload, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &WorkloadId) -> Result<Option<WorkloadRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// Workloads in id order.
pub fn list(
    tx: &mut Tx<'_>,
    scope: &Scope,
    filter: WorkloadFilter<'_>,
    page: Page<'_>,
) -> Result<Vec<WorkloadRow>, StoreError> {
    let params = vec![
        page.after.into(),
        page.rows().into(),
        filter.project_id.into(),
        filter.queue.map(Slug::as_str).into(),
        filter.state.map(State::as_str).into(),
    ];
    let (sql, params) = scope.choose(LIST, LIST_SCOPED, params);
    tx.query(sql, &params)?.iter().map(read).collect()
}

/// Every workload that has not ended, in id order.
pub fn live(tx: &mut Tx<'_>) -> Result<Vec<WorkloadRow>, StoreError> {
    tx.query(LIVE, &[])?.iter().map(read).collect()
}

/// The workloads with these ids, in id order.
pub fn of_ids(tx: &mut Tx<'_>, ids: &BTreeSet<WorkloadId>) -> Result<Vec<WorkloadRow>, StoreError> {
    tx.query(OF_IDS, &[keys(ids.iter().map(WorkloadId::as_str))])?.iter().map(read).collect()
}

/// The versions of the workloads with these ids.
pub fn versions(tx: &mut Tx<'_>, ids: &BTreeSet<WorkloadId>) -> Result<BTreeMap<WorkloadId, i64>, StoreError> {
    let read = |row: &Row| Ok((row.parse(0)?, row.int(1)?));
    tx.query(VERSIONS, &[keys(ids.iter().map(WorkloadId::as_str))])?.iter().map(read).collect()
}

/// The members of workloads, workload by workload: those that live, and those that ended and were not launched again.
pub fn members(tx: &mut Tx<'_>, ids: &BTreeSet<WorkloadId>) -> Result<Vec<Member>, StoreError> {
    let read = |row: &Row| {
        Ok(Member {
            workload_id: row.parse(0)?,
            allocation_id: row.parse(1)?,
            allocation_state: row.parse(2)?,
            desired: row.parse(3)?,
            node_id: row.opt_parse(4)?,
            desired_reason: row.text(5)?.to_owned(),
            version: row.int(6)?,
        })
    };
    tx.query(MEMBERS, &[keys(ids.iter().map(WorkloadId::as_str))])?.iter().map(read).collect()
}

/// Which place a workload has among those that wait in its queue, from 1: by priority, then by when it was submitted.
/// `None` when it does not wait.
pub fn position(tx: &mut Tx<'_>, id: &WorkloadId) -> Result<Option<i64>, StoreError> {
    let place = tx.query_one(POSITION, &[id.into()])?.int(0)?;
    Ok(Some(place).filter(|place| *place > 0))
}

/// Moves a workload to a state. Answers the new version.
pub fn enter(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    workload: &WorkloadRow,
    entering: Entering<'_>,
) -> Result<i64, StoreError> {
    enter_all(tx, stamp, &[(workload, entering)])?;
    Ok(workload.version + 1)
}

/// Moves workloads to states, all or none. `StaleVersion` when one has moved on.
pub fn enter_all(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    moves: &[(&WorkloadRow, Entering<'_>)],
) -> Result<(), StoreError> {
    if moves.iter().any(|(_, entering)| entering.state == State::Preempting) {
        return Err(StoreError::Other("a workload is told to go only with a preemption on record".to_owned()));
    }
    let moves: Vec<Move<'_>> = moves.iter().map(|(workload, entering)| Move::new(workload, *entering)).collect();
    moved(tx, stamp, &moves)
}

/// Puts a workload whose members are gone back to its place in the queue. Answers the new version.
pub fn requeue(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    workload: &WorkloadRow,
    returning: &Returning<'_>,
) -> Result<i64, StoreError> {
    let Returning { due, recent, reason } = returning;
    let (due, reason) = (*due, *reason);
    let entering = Entering { state: State::Queued, flavor: None, sku_id: None, borrowed_gpus: 0, reason };
    let stops = workload.stops.saturating_add(1);
    let again = Move { due, stops, recent, ..Move::new(workload, entering) };
    moved(tx, stamp, &[again])?;
    Ok(workload.version + 1)
}

/// Tells a workload to go: `preempting`, with all that its owner is told in the event.
pub(crate) fn preempt(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    workload: &WorkloadRow,
    reason: &str,
    detail: &str,
) -> Result<i64, StoreError> {
    let entering =
        Entering { state: State::Preempting, flavor: None, sku_id: None, borrowed_gpus: 0, reason: Some(reason) };
    let told = Move { what: What::Preempted, detail: Some(detail), ..Move::new(workload, entering) };
    moved(tx, stamp, &[told])?;
    Ok(workload.version + 1)
}

#[derive(Clone, Copy)]
struct Move<'a> {
    workload: &'a WorkloadRow,
    entering: Entering<'a>,
    what: What,
    detail: Option<&'a str>,
    due: Option<Timestamp>,
    stops: i64,
    recent: &'a Recent,
}

impl<'a> Move<'a> {
    fn new(workload: &'a WorkloadRow, entering: Entering<'a>) -> Self {
        let (what, stops, recent) = (What::StateChanged, workload.stops, &workload.recent);
        Self { workload, entering, what, detail: None, due: None, stops, recent }
    }

    fn values(&self, now: Timestamp) -> [Value; 14] {
        let Self { workload, entering, .. } = self;
        let holds = entering.state.holds_quota();
        let flavor = entering.flavor.or(workload.flavor.as_ref().map(Slug::as_str)).filter(|_| holds);
        let borrowed = if entering.state == State::Admitted { entering.borrowed_gpus } else { workload.borrowed_gpus };
        [
            (&workload.id).into(),
            workload.version.into(),
            entering.state.as_str().into(),
            now.into(),
            now.into(),
            flavor.into(),
            if holds { borrowed } else { 0 }.into(),
            holds.then(|| workload.admitted.unwrap_or(now)).into(),
            self.due.into(),
            self.stops.into(),
            entering.sku_id.unwrap_or(&workload.sku_id).into(),
            self.recent.stops.into(),
            self.recent.since.into(),
            self.recent.displaced_by.as_ref().filter(|_| !holds).into(),
        ]
    }

    fn change(&self) -> Change<'a> {
        let change = self
            .workload
            .change(self.what)
            .states(Some(self.workload.state.as_str()), self.entering.state.as_str())
            .because(self.entering.reason);
        Change { detail: self.detail, ..change }
    }
}

fn moved(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, moves: &[Move<'_>]) -> Result<(), StoreError> {
    // An end is an end, whoever asks.
    if moves.iter().any(|a_move| a_move.workload.state.is_terminal()) {
        return Err(StoreError::StaleVersion);
    }
    let (ends, others): (Vec<&Move<'_>>, Vec<_>) = moves.iter().partition(|a_move| a_move.entering.state.is_terminal());
    for (entry, part) in [(&ENTER, others), (&END, ends)].into_iter().filter(|(_, part)| !part.is_empty()) {
        let mut rows = Batch::update(entry);
        part.iter().for_each(|a_move| rows.push(a_move.values(stamp.now)));
        let changes: Vec<Change<'_>> = part.iter().map(|a_move| a_move.change()).collect();
        record::changed_all(tx, stamp, &rows, &changes)?;
    }
    write_runs(tx, moves, stamp.now)
}

/// Writes down how long those had quota that give it back.
fn write_runs(tx: &mut Tx<'_>, moves: &[Move<'_>], now: Timestamp) -> Result<(), StoreError> {
    let mut runs = Batch::insert(&RUN);
    for Move { workload, entering, .. } in moves {
        let (Some(flavor), Some(from)) = (&workload.flavor, workload.admitted) else { continue };
        if entering.state.holds_quota() {
            continue;
        }
        runs.push([
            (&workload.id).into(),
            (&workload.project_id).into(),
            workload.local_queue.as_str().into(),
            workload.queue.as_str().into(),
            flavor.as_str().into(),
            workload.gpus().into(),
            from.into(),
            now.max(from).into(),
        ]);
    }
    tx.post_bulk(&runs)
}

/// Who held quota of a cluster queue and gave it back after a moment.
pub fn runs_since(tx: &mut Tx<'_>, queue: &Slug, since: Timestamp) -> Result<Vec<RunRow>, StoreError> {
    let read = |row: &Row| {
        Ok(RunRow {
            project_id: row.parse(0)?,
            local_queue: row.parse(1)?,
            queue: row.parse(2)?,
            flavor: row.parse(3)?,
            gpus: row.int(4)?,
            from: row.timestamp(5)?,
            to: row.timestamp(6)?,
        })
    };
    tx.query(RUNS, &[queue.as_str().into(), since.into()])?.iter().map(read).collect()
}

/// Writes down why a workload waits, as JSON with a `code`. Only another code than before is a change that is told;
/// numbers that move on are not. Answers the version after it.
pub fn set_wait(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, workload: &WorkloadRow, wait: &str) -> Result<i64, StoreError> {
    let code = code_of(wait);
    let mut params = vec![(&workload.id).into(), workload.version.into(), wait.into()];
    if workload.wait.as_deref().is_some_and(|before| code_of(before) == code) {
        tx.execute_one(WAIT_ON, &params)?;
        return Ok(workload.version);
    }
    params.push(stamp.now.into());
    let change = workload.change(What::Updated).because(code.as_deref().or(Some("waits")));
    record::changed(tx, stamp, WAIT, &params, change)
}

fn code_of(wait: &str) -> Option<String> {
    let wait: serde_json::Value = serde_json::from_str(wait).ok()?;
    wait.get("code")?.as_str().map(str::to_owned)
}

/// Says before when a workload is not to be admitted.
pub fn set_due(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    workload: &WorkloadRow,
    due: Option<Timestamp>,
) -> Result<i64, StoreError> {
    let params = [(&workload.id).into(), workload.version.into(), due.into()];
    record::changed(tx, stamp, DUE, &params, workload.change(What::Updated).because(Some("back_off")))
}

/// Changes its priority, and the class that it comes from.
pub fn set_priority(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    workload: &WorkloadRow,
    class: Option<&Slug>,
    priority: i64,
) -> Result<i64, StoreError> {
    let class = class.map(Slug::as_str);
    let params = [(&workload.id).into(), workload.version.into(), class.into(), priority.into()];
    record::changed(tx, stamp, PRIORITY, &params, workload.change(What::Updated).because(Some("priority_changed")))
}

/// Closes its admission gate, or opens it.
pub fn set_gate(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    workload: &WorkloadRow,
    closed: bool,
) -> Result<i64, StoreError> {
    let params = [(&workload.id).into(), workload.version.into(), closed.into()];
    let reason = if closed { "gate_closed" } else { "gate_opened" };
    record::changed(tx, stamp, GATE, &params, workload.change(What::Updated).because(Some(reason)))
}

/// Records what is wanted of it, and why; the driver looks at it at once.
pub fn wish(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    workload: &WorkloadRow,
    desired: Desired,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&workload.id).into(), workload.version.into(), desired.as_str().into(), stamp.now.into()];
    record::changed(tx, stamp, WISH, &params, workload.change(What::Wished).because(reason))
}
