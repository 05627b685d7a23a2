//! The placement applier: asks the engine where wishes fit, and writes the answers down, many in one transaction.
//!
//! ```text
//! a turn: bring the picture up to date ── decide each wish in order ── one commit ── losers adopt what was read, again
//! ```
//!
//! The leader keeps a picture of the fleet in memory. Each verdict takes its slots in the picture at once, so that the next
//! sees them taken. The transaction then checks every verdict against the rows themselves (locked in id order, states and
//! versions as they were seen), drops those that lost, and writes the rest; the schema checks it once more. A lost verdict
//! comes back with the rows that were read, and is decided again in the same turn. A node on which verdicts keep losing is
//! set aside for a while. If the schema refuses a batch, it is halved until the one that it refuses is alone.
//!
//! For a verdict the transaction writes: the slots' reservation (each begins a new use), the claims with a snapshot of what
//! was sold, the node's occupancy, the allocation, the decision, the events, the audit row, and the operations that end
//! there. A refusal is an answer too: its decision is stored in the same transaction, and the driver ends the wish with it.

mod commit;
mod deciding;
mod governed;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod ground;
mod sold;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use api::Code;
use engine::{
    Admission, DecisionRecord,
    admit::{CheckCode, CheckOutcome},
};
use lifecycle::Wait;
use model::{NodeId, Timestamp, supply::SlotState, time::MICROS_PER_SECOND};
use serde::Deserialize;
use store::{
    StoreError,
    events::Placed,
    fleet,
    living::{self, Living as Table},
    placing::{self, WishRow},
};

use crate::{
    driver::KeepLease,
    leader::Leader,
    queues::Governor,
    snapshot::{self, Changed, Snapshot},
};
use commit::{Loss, Written};
use deciding::{Answer, Decided, Grounds};

pub(crate) use deciding::request;
pub use sold::{ClaimSnapshot, DeviceSnapshot};

/// The outcome of a decision that found a place.
pub const PLACED: &str = placing::PLACED;
/// The outcome of a decision that found none.
pub const REFUSED: &str = "refused";

/// A decision about a place, read again from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementDecision {
    /// Why it was refused, where it was.
    pub code: Option<Code>,
    /// The answer in a sentence or two.
    pub because: String,
    /// Everything that was counted; nothing where admission refused before anybody looked for a place.
    pub record: Option<DecisionRecord<'static>>,
}

impl PlacementDecision {
    /// Reads the body of a stored decision.
    pub fn read(body: &str) -> Result<Self, StoreError> {
        if let Ok(record) = DecisionRecord::from_json(body) {
            let refused = record.shortage.is_some();
            let code = refused.then_some(Code::SkuUnavailable);
            return Ok(Self { code, because: record.sentence(), record: Some(record) });
        }
        if let Ok(admission) = serde_json::from_str::<Admission>(body) {
            let first = admission.first_refusal();
            let because = first.map_or_else(|| "Admission let it in.".to_owned(), |check| check.detail.clone());
            return Ok(Self { code: first.map(|check| code_of(check.code)), because, record: None });
        }
        let told: Told = serde_json::from_str(body)
            .map_err(|error| StoreError::Corrupt { column: "body".into(), why: error.to_string() })?;
        Ok(Self { code: told.code, because: told.because, record: None })
    }
}

// What was stored before decisions had a record.
#[derive(Debug, Deserialize)]
struct Told {
    code: Option<Code>,
    because: String,
}

/// The problem that a failed check of admission is told as.
pub(crate) fn code_of(check: CheckCode) -> Code {
    match check {
        CheckCode::TenantActive | CheckCode::ProjectActive => Code::StateConflict,
        CheckCode::RegionEnabled | CheckCode::SkuEnabled | CheckCode::CountSellable => Code::NotForSale,
        CheckCode::GpuCap => Code::QuotaExceeded,
    }
}

/// An admission as it is stored; the sentences give way where it would be too long.
pub(crate) fn admission_body(admission: &Admission) -> Result<String, StoreError> {
    let body = crate::driver::write_json(admission)?;
    if body.len() <= store::decisions::BODY_BYTES_MAX {
        return Ok(body);
    }
    let mut short = admission.clone();
    let first = short.checks.iter().position(|check| check.outcome == CheckOutcome::Refused);
    for (at, check) in short.checks.iter_mut().enumerate() {
        if Some(at) != first {
            check.detail.clear();
        }
    }
    crate::driver::write_json(&short)
}

/// What a turn of placement did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// Wishes that got a place.
    pub placed: usize,
    /// Wishes for which there is none.
    pub refused: usize,
    /// Verdicts that lost against somebody else.
    pub lost: usize,
    /// Wishes that wait because all that would do is being changed by somebody else.
    pub postponed: usize,
    /// Batches that the schema refused, and that were halved.
    pub halved: usize,
    /// Wishes that could not be decided about, with why.
    pub(crate) faults: Vec<(WishRow, StoreError)>,
}

impl Turn {
    /// How many wishes have an answer.
    pub fn answered(&self) -> usize {
        self.placed + self.refused + self.postponed + self.faults.len()
    }
}

/// The leader's picture of the fleet and what was learnt about losing. Volatile.
#[derive(Debug, Default)]
pub(crate) struct Applier {
    // With the epoch it was taken in: what another leader did in between is not in it.
    snapshot: Option<(i64, Snapshot)>,
    refreshed: Option<Timestamp>,
    losses: BTreeMap<NodeId, u32>,
    // Who waits in queues and who holds quota, in the same epoch.
    governor: Option<(i64, Governor)>,
    // Workloads whose projects have as many GPUs as they may have.
    capped: Vec<store::workloads::WorkloadRow>,
    // The picture was changed by others since the governor last looked at it.
    fleet_changed: bool,
    // What was read for the next batches of the same turn. The commit checks that each wish is still as it was read.
    ahead: Ahead,
}

#[derive(Debug, Default)]
struct Ahead {
    wishes: VecDeque<WishRow>,
    grounds: Grounds,
}

/// What is filled while wishes are decided about.
struct Looked<'a> {
    grounds: &'a mut Grounds,
    postponed: &'a mut Vec<WishRow>,
    turn: &'a mut Turn,
}

/// No more batches than this in one turn, so that everything else gets its turn too.
const BATCHES_MAX: usize = 16;
/// So many batches are read together.
const BATCHES_AHEAD: usize = 4;
/// A verdict is made so often in one turn; a node is set aside before that.
const ROUNDS_MAX: usize = 4;
/// So many losses in a row on one node set it aside.
const LOSSES_MAX: u32 = 3;
const ASIDE_S: i64 = 5;
/// Without wishes the picture is brought up to date this often.
const REFRESH_US: i64 = MICROS_PER_SECOND;

impl Applier {
    /// Answers the wishes that are due, in batches.
    pub(crate) fn turn(&mut self, leader: &Leader, keep_lease: &mut KeepLease<'_>) -> Result<Turn, StoreError> {
        let mut turn = Turn::default();
        // What has quota comes first: what was made free for somebody is not given to the next who asks.
        self.govern(leader, keep_lease, &mut turn)?;
        if self.governor.is_none() {
            // Thrown away in between; what is kept for whom stands in it.
            self.read_book(leader)?;
        }
        let limit = leader.config.placements_per_commit.max(1);
        for batch in 0..BATCHES_MAX {
            keep_lease()?;
            // What others commit during a turn is seen by the checks of each commit; the next turn takes it over.
            let (wishes, answered) = self.batch(leader, limit, batch == 0, &mut turn)?;
            if wishes < limit || answered == 0 {
                break;
            }
        }
        Ok(turn)
    }

    /// One batch of at most so many wishes, the first of a turn or a later one.
    pub(crate) fn one_batch(&mut self, leader: &Leader, limit: usize, first: bool) -> Result<Turn, StoreError> {
        let mut turn = Turn::default();
        self.batch(leader, limit, first, &mut turn)?;
        Ok(turn)
    }

    /// One batch. Says how many wishes were due, and how many of them have an answer.
    fn batch(
        &mut self,
        leader: &Leader,
        limit: usize,
        first: bool,
        turn: &mut Turn,
    ) -> Result<(usize, usize), StoreError> {
        let ended = self.try_batch(leader, limit, first, turn);
        // Whatever ends a step leaves it unknown what the store has.
        ended.inspect_err(|_| (self.snapshot, self.ahead) = (None, Ahead::default()))
    }

    fn try_batch(
        &mut self,
        leader: &Leader,
        limit: usize,
        first: bool,
        turn: &mut Turn,
    ) -> Result<(usize, usize), StoreError> {
        if first || self.ahead.wishes.is_empty() {
            self.read_ahead(leader, limit)?;
        }
        let idle = |refreshed: Timestamp| (0..REFRESH_US).contains(&leader.now.micros_since(refreshed));
        if self.ahead.wishes.is_empty() && self.refreshed.is_some_and(idle) {
            return Ok((0, 0));
        }
        if first || self.snapshot.is_none() {
            self.refresh(leader)?;
        }
        let due = self.ahead.wishes.len().min(limit);
        let (wishes, before) = (self.ahead.wishes.drain(..due).collect(), turn.answered());
        let mut grounds = std::mem::take(&mut self.ahead.grounds);
        let ended = self.answer(leader, wishes, &mut grounds, turn);
        self.ahead.grounds = grounds;
        ended.map(|()| (due, turn.answered() - before))
    }

    fn read_ahead(&mut self, leader: &Leader, limit: usize) -> Result<(), StoreError> {
        let (now, rows) = (leader.now, i64::try_from(limit.saturating_mul(BATCHES_AHEAD)).unwrap_or(i64::MAX));
        self.ahead = leader.read(move |tx| {
            let wishes = placing::due(tx, now, rows)?;
            let grounds = Grounds::read(tx, &wishes)?;
            Ok(Ahead { wishes: wishes.into(), grounds })
        })?;
        Ok(())
    }

    /// Brings the picture up to date with what was committed, by whomever.
    fn refresh(&mut self, leader: &Leader) -> Result<(), StoreError> {
        let epoch = leader.guard.epoch;
        self.refreshed = Some(leader.now);
        let Some((_, mut snapshot)) = self.snapshot.take().filter(|(of, _)| *of == epoch) else {
            return self.reload(leader);
        };
        let version = snapshot.version;
        let news = leader.read(move |tx| snapshot::news(tx, version, Placed::LeftOut))?;
        let Some((head, touched)) = news else { return self.reload(leader) };
        let changed = snapshot.changed(head, &touched);
        if changed.everything {
            return self.reload(leader);
        }
        if !changed.is_nothing() {
            self.read_again(leader, &mut snapshot, changed)?;
        }
        snapshot.bring_back(leader.now);
        self.snapshot = Some((epoch, snapshot));
        Ok(())
    }

    fn read_again(&mut self, leader: &Leader, snapshot: &mut Snapshot, changed: Changed) -> Result<(), StoreError> {
        let (nodes, rows) = leader.read(move |tx| snapshot::read_changed(tx, &changed))?;
        self.fleet_changed = true;
        snapshot.adopt(&nodes, &rows);
        Ok(())
    }

    fn reload(&mut self, leader: &Leader) -> Result<(), StoreError> {
        let (version, rows) = leader.read(snapshot::read)?;
        let snapshot = Snapshot::new(version, &rows, leader.config.policy.clone(), leader.config.lab);
        tracing::info!(nodes = rows.nodes.len(), slots = rows.slots.len(), version, "the fleet was read");
        self.losses.clear();
        self.fleet_changed = true;
        self.snapshot = Some((leader.guard.epoch, snapshot));
        Ok(())
    }

    /// Where the picture, brought up to date, is not what the store has. Both are asked the same questions, and a picture
    /// that answers one differently is at fault. Nothing to say while a node is set aside, or before there is a picture.
    pub(crate) fn picture_fault(&mut self, leader: &Leader) -> Result<Option<String>, StoreError> {
        if self.snapshot.as_ref().is_none_or(|(epoch, _)| *epoch != leader.guard.epoch) {
            return Ok(None);
        }
        self.refresh(leader)?;
        let guard = leader.guard.clone();
        let (leads, (version, rows)) = leader.read(move |tx| {
            // Who was overtaken and does not know it yet may have an old picture: it commits nothing on it.
            let lease = store::lease::lease_read(tx, &guard.name)?;
            let leads = lease.is_some_and(|lease| lease.epoch == guard.epoch && lease.holder == guard.holder);
            Ok((leads, snapshot::read(tx)?))
        })?;
        if !leads {
            return Ok(None);
        }
        let fresh = Snapshot::new(version, &rows, leader.config.policy.clone(), leader.config.lab);
        Ok(self.snapshot.as_ref().and_then(|(_, kept)| kept.differs_from(&fresh)))
    }

    /// Decides and commits, and again for those that lost, a bounded number of times.
    fn answer(
        &mut self,
        leader: &Leader,
        mut wishes: Vec<WishRow>,
        grounds: &mut Grounds,
        turn: &mut Turn,
    ) -> Result<(), StoreError> {
        let mut postponed = vec![];
        for _ in 0..ROUNDS_MAX {
            if wishes.is_empty() {
                break;
            }
            let looked = Looked { grounds: &mut *grounds, postponed: &mut postponed, turn: &mut *turn };
            let Some(decided) = self.decide_all(std::mem::take(&mut wishes), leader.now, looked) else {
                // The picture is gone; what was decided on it was not written and is still due.
                return Ok(());
            };
            if decided.is_empty() {
                break;
            }
            let decided = Arc::new(decided);
            let written = commit::commit(leader, &decided)?;
            let again = self.settle(leader, &decided, written, turn)?;
            for Decided { wish, answer, .. } in again.iter().map(|at| &decided[*at]) {
                if answer.chosen.is_none() {
                    grounds.asks_again(wish);
                }
                wishes.push(wish.clone());
            }
        }
        postponed.append(&mut wishes);
        turn.postponed += postponed.len();
        if postponed.is_empty() { Ok(()) } else { postpone(leader, postponed) }
    }

    /// Verdicts for wishes, in order. `None` when the engine panicked, and the picture was thrown away.
    fn decide_all(&mut self, wishes: Vec<WishRow>, now: Timestamp, looked: Looked<'_>) -> Option<Vec<Decided>> {
        let Looked { grounds, postponed, turn } = looked;
        let (_, snapshot) = self.snapshot.as_mut()?;
        // What is being made free for somebody in a queue is not for those who ask without one.
        let kept = self.governor.as_mut().map(|(_, governor)| governor.kept(snapshot, now)).unwrap_or_default();
        for (node, slots) in &kept {
            snapshot.inventory.turn(node, slots, SlotState::Reserved, None);
        }
        let mut decided = Vec::with_capacity(wishes.len());
        for wish in wishes {
            let tried = catch_unwind(AssertUnwindSafe(|| deciding::decide(snapshot, grounds, &wish, None)));
            match tried {
                Ok(Ok(Answer::Postpone)) => postponed.push(wish),
                Ok(Ok(Answer::Decided(answer))) => {
                    decided.push(Decided { wish, answer: *answer, workload: None });
                }
                Ok(Err(error)) => turn.faults.push((wish, error)),
                Err(panic) => {
                    let why = crate::driver::panic_text(panic.as_ref());
                    turn.faults.push((wish, StoreError::Panicked(why)));
                    self.snapshot = None;
                    return None;
                }
            }
        }
        for (node, slots) in &kept {
            snapshot.inventory.turn(node, slots, SlotState::Available, None);
        }
        Some(decided)
    }

    /// Takes over what was written, and what was read for those that lost. Answers which are to be decided again.
    fn settle(
        &mut self,
        leader: &Leader,
        decided: &Arc<Vec<Decided>>,
        written: Written,
        turn: &mut Turn,
    ) -> Result<BTreeSet<usize>, StoreError> {
        let Some((_, snapshot)) = &mut self.snapshot else { return Ok(BTreeSet::new()) };
        turn.refused += written.refused.len();
        turn.placed += written.placed.len();
        turn.halved += written.halved;
        for at in written.placed {
            let Decided { wish, answer, .. } = &decided[at];
            if let Some(chosen) = &answer.chosen {
                snapshot.took(chosen, &wish.id);
                self.losses.remove(&chosen.node_id);
            }
        }
        let mut again: BTreeSet<usize> = written.again.into_iter().collect();
        let mut nodes = BTreeSet::new();
        for (at, loss) in written.lost {
            let Decided { wish, answer, .. } = &decided[at];
            turn.lost += 1;
            let node = answer.chosen.as_ref().map(|chosen| chosen.node_id.clone());
            tracing::debug!(allocation = %wish.id, ?node, ?loss, "a verdict lost");
            match loss {
                Loss::WishChanged => (),
                Loss::Fault(error) => turn.faults.push((wish.clone(), error)),
                _ => {
                    again.insert(at);
                    if let Some(node) = &node {
                        lose(&mut self.losses, snapshot, node, leader.now);
                    }
                }
            }
            nodes.extend(node);
        }
        if !nodes.is_empty() {
            // What was read before later halves were written is out of date by them.
            let rows = match written.rows {
                Some(rows) => rows,
                None => {
                    let nodes = nodes.clone();
                    leader.read(move |tx| fleet::load_nodes(tx, &nodes))?
                }
            };
            snapshot.adopt(&nodes, &rows);
        }
        Ok(again)
    }
}

fn lose(losses: &mut BTreeMap<NodeId, u32>, snapshot: &mut Snapshot, node: &NodeId, now: Timestamp) {
    let count = losses.entry(node.clone()).or_default();
    *count += 1;
    if *count >= LOSSES_MAX {
        losses.remove(node);
        snapshot.set_aside(node.clone(), now.plus_seconds(ASIDE_S));
        tracing::error!(
            alert = "placement_node_set_aside",
            %node,
            seconds = ASIDE_S,
            "{LOSSES_MAX} verdicts in a row lost on this node; somebody else changes it"
        );
    }
}

fn postpone(leader: &Leader, wishes: Vec<WishRow>) -> Result<(), StoreError> {
    let because = "Everything that would do is being changed by somebody else; it is tried again in a moment.";
    let (wait, now) = (Wait::new("placement_contended", because, 60, 1), leader.now);
    leader.commit(move |tx, _| {
        for wish in &wishes {
            match living::set_wait(tx, Table::Allocations, wish.seen(), &wait, now) {
                // It has moved on by itself.
                Ok(()) | Err(StoreError::StaleVersion) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })
}
