//! One commit for many verdicts. Everything they chose is locked and looked at again; what is not as it was seen loses and is
//! left out; the rest is written in bulk. Who loses is decided here in Rust; the schema is the last line, and a batch that it
//! refuses is halved until the culprit is alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use model::{
    AuditId, ClaimId, DecisionId, NodeId, SlotId, WorkloadId,
    allocation::State,
    sku::CapacityShape,
    supply::{NodeDesired, NodeState, OccupancyMode, SlotState},
    workload,
};
use serde::Serialize;
use store::{
    Stamp, StoreError, Tx,
    audit::{self, AuditRow},
    claims::{self, ClaimNew},
    decisions::{self, DecisionRow},
    fleet::{self, Fleet},
    operations,
    placing::{self, ChosenNode, ChosenSlot},
    workloads::{self, Entering},
};

use super::{PLACED, REFUSED, deciding::Decided, sold::snapshot_of};
use crate::{
    driver::{Weight, weigh, write_json},
    leader::Leader,
    queues::Admitted,
    snapshot::Chosen,
};

/// Why a verdict lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Loss {
    /// The wish itself was changed, or somebody is changing it.
    WishChanged,
    /// A slot is locked by somebody else, or gone.
    SlotTaken,
    /// A slot is not as it was seen.
    SlotChanged,
    /// What the node carries is being changed by somebody else, or the node is gone.
    NodeTaken,
    /// The node is not as it was seen, or takes nothing of this shape any more.
    NodeChanged,
    /// Another member of its workload lost: all of them get a place, or none.
    GangBroken,
    /// The schema refused it.
    RuleBroken,
    /// It cannot be written at all.
    Fault(StoreError),
}

/// What became of a batch; positions in it.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) placed: Vec<usize>,
    pub(super) refused: Vec<usize>,
    pub(super) lost: Vec<(usize, Loss)>,
    /// Refusals that came after a loss: what was lost may be free.
    pub(super) again: Vec<usize>,
    /// The rows of the nodes that verdicts lost on, as this transaction left them; none when there were several.
    pub(super) rows: Option<Fleet>,
    pub(super) halved: usize,
}

/// Commits a batch. `Err` is what ends a step.
pub(super) fn commit(leader: &Leader, batch: &Arc<Vec<Decided>>) -> Result<Written, StoreError> {
    commit_range(leader, batch, 0..batch.len())
}

fn commit_range(leader: &Leader, batch: &Arc<Vec<Decided>>, range: Range<usize>) -> Result<Written, StoreError> {
    let (shared, part) = (Arc::clone(batch), range.clone());
    let error = match leader.commit(move |tx, stamp| write(tx, stamp, &shared, part.clone())) {
        Ok(written) => return Ok(written),
        Err(error) => error,
    };
    let weight = weigh(&error);
    if matches!(weight, Weight::EndsTheStep) {
        return Err(error);
    }
    let Some(middle) = middle(batch, &range) else {
        tracing::error!(alert = "placement_refused_by_store", allocation = %batch[range.start].wish.id, %error, "a verdict");
        let broken = matches!(
            error,
            StoreError::UniqueViolation { .. }
                | StoreError::ForeignKeyViolation
                | StoreError::CheckViolation { .. }
                | StoreError::StaleVersion
        );
        let loss = if broken { Loss::RuleBroken } else { Loss::Fault(error) };
        let lost = range.map(|at| (at, loss.clone())).collect();
        return Ok(Written { lost, ..Written::default() });
    };
    tracing::warn!(verdicts = range.len(), %error, "a batch was refused; it is halved");
    let mut written = commit_range(leader, batch, range.start..middle)?;
    if !model::planted!(BisectDropsHalf) {
        let second = commit_range(leader, batch, middle..range.end)?;
        written.placed.extend(second.placed);
        written.refused.extend(second.refused);
        written.lost.extend(second.lost);
        written.again.extend(second.again);
        written.halved += second.halved;
    }
    written.rows = None;
    written.halved += 1;
    Ok(written)
}

/// Where a batch can be cut in two; nowhere where it is one verdict, or the members of one workload.
fn middle(batch: &[Decided], range: &Range<usize>) -> Option<usize> {
    let workload = |at: usize| batch[at].workload.as_ref().map(|admitted| &admitted.row.id);
    let cuts = |at: &usize| workload(*at).is_none() || workload(*at) != workload(*at - 1);
    let half = range.start + range.len() / 2;
    let before = (range.start + 1..half).rev().find(cuts);
    (half.max(range.start + 1)..range.end).find(cuts).or(before)
}

/// A verdict that holds.
struct Good<'a> {
    at: usize,
    decided: &'a Decided,
    node: &'a ChosenNode,
    slots: Vec<&'a ChosenSlot>,
}

fn write(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    batch: &[Decided],
    range: Range<usize>,
) -> Result<Written, StoreError> {
    let part: Vec<(usize, &Decided)> = range.map(|at| (at, &batch[at])).collect();
    let locked = Locked::take(tx, &part)?;
    let (mut good, mut refused, mut written) = locked.judge(&part);
    whole_or_nothing(tx, &part, &mut good, &mut refused, &mut written)?;
    let reserved: Vec<&ChosenSlot> = good
        .iter()
        .filter(|good| good.node_is_sliced() || !model::planted!(SliceBesideBareMetal))
        .flat_map(|good| good.slots.iter().copied())
        .collect();
    let whole: Vec<&ChosenNode> = good.iter().filter(|good| !good.node_is_sliced()).map(|good| good.node).collect();
    if !good.is_empty() {
        // First, because it asks; what follows only tells, and travels together.
        for id in good.iter().map(|good| &good.decided.wish.id).filter(|id| locked.0.ending.contains(*id)) {
            operations::finish_for(tx, id.as_str(), State::Reserved.as_str(), None, stamp.now)?;
        }
        placing::reserve_slots(tx, stamp, &reserved)?;
        placing::raise_nodes(tx, stamp, &whole)?;
        placing::occupy(tx, &occupied(&good))?;
        claims::insert_all(tx, &new_claims(stamp, &good)?)?;
        let moves: Vec<_> = good.iter().map(|good| (&good.decided.wish, &good.node.id)).collect();
        placing::reserve(tx, stamp, &moves)?;
        admit(tx, stamp, &good)?;
    }
    record(tx, stamp, &good, &refused)?;
    written.placed = good.iter().map(|good| good.at).collect();
    written.refused = refused.iter().map(|(at, _)| *at).collect();
    let lost_on = written.lost.iter().filter_map(|(at, _)| batch[*at].answer.chosen.as_ref());
    let nodes: BTreeSet<NodeId> = lost_on.map(|chosen| chosen.node_id.clone()).collect();
    written.rows = Some(if nodes.is_empty() { Fleet::default() } else { fleet::load_nodes(tx, &nodes)? });
    Ok(written)
}

/// Drops the members of every workload that changed meanwhile, or of which one lost.
fn whole_or_nothing<'a>(
    tx: &mut Tx<'_>,
    part: &[(usize, &'a Decided)],
    good: &mut Vec<Good<'a>>,
    refused: &mut Vec<(usize, &'a Decided)>,
    written: &mut Written,
) -> Result<(), StoreError> {
    let of = |decided: &Decided| decided.workload.as_ref().map(|admitted| admitted.row.id.clone());
    let ids: BTreeSet<WorkloadId> = part.iter().filter_map(|(_, decided)| of(decided)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let now = workloads::versions(tx, &ids)?;
    let changed = |admitted: &Admitted| now.get(&admitted.row.id) != Some(&admitted.row.version);
    let mut broken: BTreeSet<WorkloadId> = part
        .iter()
        .filter_map(|(_, decided)| decided.workload.as_deref())
        .filter(|admitted| changed(admitted))
        .map(|admitted| admitted.row.id.clone())
        .collect();
    let fell = written.lost.iter().map(|(at, _)| *at).chain(written.again.iter().copied());
    for at in fell.collect::<BTreeSet<_>>() {
        broken.extend(part.iter().find(|(place, _)| *place == at).and_then(|(_, decided)| of(decided)));
    }
    let is_broken = |decided: &Decided| of(decided).is_some_and(|id| broken.contains(&id));
    let lost: Vec<usize> = good.iter().filter(|good| is_broken(good.decided)).map(|good| good.at).collect();
    written.again.extend(refused.iter().filter(|(_, decided)| is_broken(decided)).map(|(at, _)| *at));
    good.retain(|good| !is_broken(good.decided));
    refused.retain(|(_, decided)| !is_broken(decided));
    written.lost.extend(lost.into_iter().map(|at| (at, Loss::GangBroken)));
    Ok(())
}

fn each_once<'a>(all: impl Iterator<Item = &'a Decided>) -> Vec<&'a Admitted> {
    let all = all.filter_map(|decided| decided.workload.as_deref());
    all.map(|admitted| (&admitted.row.id, admitted)).collect::<BTreeMap<_, _>>().into_values().collect()
}

/// The quota of the workloads whose members got their places.
fn admit(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, good: &[Good<'_>]) -> Result<(), StoreError> {
    let admitted = each_once(good.iter().map(|good| good.decided));
    let entering = |admitted: &&'_ Admitted| Entering {
        state: workload::State::Admitted,
        flavor: None,
        sku_id: None,
        borrowed_gpus: admitted.borrowed_gpus,
        reason: Some("placed"),
    };
    let moves: Vec<_> = admitted
        .iter()
        .map(|admitted| {
            let (flavor, sku_id) = (Some(admitted.flavor.as_str()), admitted.wishes.first().map(|wish| &wish.sku_id));
            (&admitted.row, Entering { flavor, sku_id, ..entering(admitted) })
        })
        .collect();
    if moves.is_empty() { Ok(()) } else { workloads::enter_all(tx, stamp, &moves) }
}

/// Everything that a batch chose, as it is now, locked.
struct Locked(placing::Locked);

impl Locked {
    fn take(tx: &mut Tx<'_>, part: &[(usize, &Decided)]) -> Result<Self, StoreError> {
        let chosen = || part.iter().filter_map(|(_, decided)| decided.answer.chosen.as_ref());
        let wishes = part.iter().map(|(_, decided)| &decided.wish.id);
        let slots = chosen().flat_map(|chosen| chosen.slots.iter().map(|(id, _)| id));
        placing::lock(tx, wishes, slots, chosen().map(|chosen| &chosen.node_id)).map(Self)
    }

    /// Sorts a batch into verdicts that hold, refusals that hold, and the rest.
    fn judge<'a>(&'a self, part: &[(usize, &'a Decided)]) -> (Vec<Good<'a>>, Vec<(usize, &'a Decided)>, Written) {
        let (mut good, mut refused, mut written) = (vec![], vec![], Written::default());
        let mut taken = Taken::default();
        for (at, decided) in part {
            let unchanged = self.0.wishes.get(&decided.wish.id) == Some(&decided.wish.version);
            let judged = match &decided.answer.chosen {
                _ if !unchanged => Err(Loss::WishChanged),
                None if written.lost.is_empty() => {
                    refused.push((*at, *decided));
                    continue;
                }
                None => {
                    written.again.push(*at);
                    continue;
                }
                Some(chosen) => self.verify(chosen, &mut taken),
            };
            match judged {
                Ok((node, slots)) => good.push(Good { at: *at, decided, node, slots }),
                Err(loss) => written.lost.push((*at, loss)),
            }
        }
        (good, refused, written)
    }

    /// Whether everything is as it was seen, nobody else of this batch has it, and the node still takes this shape.
    fn verify<'a>(
        &'a self,
        chosen: &Chosen,
        taken: &mut Taken<'a>,
    ) -> Result<(&'a ChosenNode, Vec<&'a ChosenSlot>), Loss> {
        let node = self.0.nodes.get(&chosen.node_id).ok_or(Loss::NodeTaken)?;
        let mut slots = Vec::with_capacity(chosen.slots.len());
        for (id, version) in &chosen.slots {
            let slot = self.0.slots.get(id).ok_or(Loss::SlotTaken)?;
            let as_seen = slot.version == *version
                && slot.state == SlotState::Available
                && !slot.drifted
                && slot.complete
                && slot.node_id == node.id
                && !taken.slots.contains(id);
            if !as_seen && !model::planted!(TwoClaimsOnOneSlot) {
                return Err(Loss::SlotChanged);
            }
            slots.push(slot);
        }
        if node.version != chosen.node_version || !takes(node, chosen) || !taken.fits(node, chosen.shape) {
            return Err(Loss::NodeChanged);
        }
        taken.add(node, chosen.shape, &slots);
        Ok((node, slots))
    }
}

// What raises no version, or may have been changed without one.
fn takes(node: &ChosenNode, chosen: &Chosen) -> bool {
    let in_use = node.state == NodeState::Online && node.desired == NodeDesired::InService;
    in_use
        && match chosen.shape {
            CapacityShape::GpuSlice => node.promoted && node.slices_enabled,
            // A slot that was approved meanwhile is not among the chosen, and would not be wiped after this use.
            CapacityShape::Baremetal => usize::try_from(node.slots) == Ok(chosen.slots.len()),
        }
}

/// What verdicts of this batch have taken so far.
#[derive(Default)]
struct Taken<'a> {
    slots: BTreeSet<&'a SlotId>,
    modes: BTreeMap<&'a NodeId, OccupancyMode>,
}

impl<'a> Taken<'a> {
    fn fits(&self, node: &ChosenNode, shape: CapacityShape) -> bool {
        if model::planted!(SliceBesideBareMetal) {
            return true;
        }
        let mode = self.modes.get(&node.id).copied().unwrap_or(node.occupancy);
        match shape {
            CapacityShape::GpuSlice => mode != OccupancyMode::Exclusive,
            CapacityShape::Baremetal => mode == OccupancyMode::Free,
        }
    }

    fn add(&mut self, node: &'a ChosenNode, shape: CapacityShape, slots: &[&'a ChosenSlot]) {
        self.modes.insert(&node.id, mode_of(shape));
        self.slots.extend(slots.iter().map(|slot| &slot.id));
    }
}

const fn mode_of(shape: CapacityShape) -> OccupancyMode {
    match shape {
        CapacityShape::GpuSlice => OccupancyMode::Sliced,
        CapacityShape::Baremetal => OccupancyMode::Exclusive,
    }
}

impl Good<'_> {
    fn node_is_sliced(&self) -> bool {
        self.decided.wish.shape == CapacityShape::GpuSlice
    }
}

/// The nodes that carry nothing yet, with what they will.
fn occupied<'a>(good: &[Good<'a>]) -> Vec<(&'a NodeId, OccupancyMode)> {
    let mut moves: BTreeMap<&NodeId, OccupancyMode> = BTreeMap::new();
    for good in good.iter().filter(|good| good.node.occupancy == OccupancyMode::Free) {
        moves.insert(&good.node.id, mode_of(good.decided.wish.shape));
    }
    moves.into_iter().collect()
}

fn new_claims(stamp: &mut Stamp<'_>, good: &[Good<'_>]) -> Result<Vec<ClaimNew>, StoreError> {
    let mut all = Vec::with_capacity(good.iter().map(|good| good.slots.len()).sum());
    for Good { decided, node, slots, .. } in good {
        let (wish, sku) = (&decided.wish, &decided.answer.sku);
        let mut claim = |slot: Option<&ChosenSlot>, fence, profile: &str, covered: &[&ChosenSlot]| {
            let ends = covered.iter().map(|slot| slot.last_end).chain([node.last_end]);
            all.push(ClaimNew {
                id: ClaimId::from_parts(stamp.now, stamp.bits()),
                allocation_id: wish.id.clone(),
                node_id: node.id.clone(),
                slot_id: slot.map(|slot| slot.id.clone()),
                fence,
                // Whatever the clocks of two leaders say, a claim does not begin before the last one ended.
                claimed: ends.flatten().fold(stamp.now, Ord::max),
                snapshot: write_json(&snapshot_of(sku, profile, covered))?,
            });
            Ok::<_, StoreError>(())
        };
        match wish.shape {
            CapacityShape::GpuSlice => {
                for slot in slots {
                    claim(Some(slot), slot.use_generation + 1, &slot.profile, &[slot])?;
                }
            }
            CapacityShape::Baremetal => claim(None, node.use_generation + 1, &node.name, slots)?,
        }
    }
    Ok(all)
}

#[derive(Serialize)]
struct PlacementAudit<'a> {
    decision_id: &'a DecisionId,
    slots: usize,
}

/// The decisions, and for those that were placed the audit rows.
fn record(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    good: &[Good<'_>],
    refused: &[(usize, &Decided)],
) -> Result<(), StoreError> {
    let mut decision = |decided: &Decided, outcome: &str| DecisionRow {
        id: DecisionId::from_parts(stamp.now, stamp.bits()),
        subject_id: decided.wish.id.to_string(),
        outcome: outcome.to_owned(),
        body: decided.answer.body.clone(),
        snapshot_version: decided.answer.snapshot_version,
        at: stamp.now,
    };
    let mut rows: Vec<DecisionRow> = good.iter().map(|good| decision(good.decided, PLACED)).collect();
    rows.extend(refused.iter().map(|(_, decided)| decision(decided, REFUSED)));
    let mut trail = Vec::with_capacity(good.len());
    for (good, decided) in good.iter().zip(&rows) {
        let wish = &good.decided.wish;
        trail.push(AuditRow {
            id: AuditId::from_parts(stamp.now, stamp.bits()),
            actor: "system:placement".to_owned(),
            token_id: None,
            action: "allocation_place".to_owned(),
            subject: wish.id.to_string(),
            tenant_id: Some(wish.tenant_id.clone()),
            // Nobody's request: the decision is what led here.
            request_id: decided.id.to_string(),
            body: write_json(&PlacementAudit { decision_id: &decided.id, slots: good.slots.len() })?,
            at: stamp.now,
        });
    }
    if model::planted!(DecisionLost) {
        rows.retain(|row| row.outcome == REFUSED);
    }
    decisions::insert_all(tx, &rows)?;
    audit::append_all(tx, &trail)
}
