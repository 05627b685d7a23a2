//! What node agents say, and what they hear back. The caller's identity is proved before this is reached; here it is only
//! compared: a node reads and answers its own orders and nobody else's.
//!
//! Every message may be lost, doubled, late or out of order. An answer counts once, and only for the attempt that is open,
//! under the fence it was given with; whatever comes later is acknowledged, so that it is not repeated for ever, and
//! changes nothing. A wipe proof is checked before it is stored: signature, node, slot, use, challenge, every step. One that
//! fails is written down as the slot's state of health; it never makes a slot available.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use api::node_plane::{FromControl, ResultAck, TASKS_OFFERED_MAX, TaskAnswer, TasksOffered, ToControl};
use ed25519_dalek::{Signature, VerifyingKey};
use model::{
    NodeId, Timestamp,
    proof::{Expected, Proof, ProofFault},
    supply::SlotState,
    task::{TaskKind, TaskResult, TaskSlot, TaskState},
    time::MICROS_PER_SECOND,
};
use store::{
    Db, Stamp, StoreError, Tx, nodes, proofs,
    slots::{self, Health},
    tasks::{self, TaskRow},
};

use crate::{Ports, driver::poke_waiting, poke::Poke};

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeRefusal {
    /// The message, or the order it answers, belongs to another node.
    #[error("the message is not this node's to send")]
    WrongNode,
    /// No such node is enrolled.
    #[error("no such node is enrolled")]
    UnknownNode,
    /// The store did not take it; the same message may be sent again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The agents' side of the control plane. Holds only what may be lost: heartbeats not yet written down.
#[derive(Debug)]
pub struct NodePlane {
    ports: Ports,
    poke: Poke,
    beats: Mutex<Beats>,
}

#[derive(Debug, Default)]
struct Beats {
    fresh: BTreeMap<NodeId, Timestamp>,
    written: BTreeMap<NodeId, Timestamp>,
    flushed: Option<Timestamp>,
    urgent: bool,
}

/// A node that was not written down for this long is written down at once, not with the next batch.
const URGENT_S: i64 = 15;

impl NodePlane {
    /// `poke` is told when something came in that the driver should look at.
    pub fn new(ports: Ports, poke: Poke) -> Self {
        Self { ports, poke, beats: Mutex::default() }
    }

    /// Takes one message of a node whose identity is proved, and answers it.
    pub fn handle(&self, db: &Db, node: &NodeId, message: ToControl) -> Result<Vec<FromControl>, NodeRefusal> {
        if message.node_id() != node && !model::planted!(NodeActsForAnother) {
            tracing::warn!(%node, claimed = %message.node_id(), "a node spoke for another");
            return Err(NodeRefusal::WrongNode);
        }
        let now = self.ports.now();
        let answer = match message {
            ToControl::Heartbeat(_) => vec![],
            ToControl::Poll(_) => self.offer(db, node, now)?,
            ToControl::Result(answer) => self.take_answer(db, node, answer, now)?,
        };
        self.heard(node, now);
        Ok(answer)
    }

    /// Whether heartbeats should be written down now.
    pub(crate) fn flush_due(&self, now: Timestamp, every_s: i64) -> bool {
        let beats = self.lock();
        let waited = beats.flushed.is_none_or(|at| now < at || now.micros_since(at) >= every_s * MICROS_PER_SECOND);
        !beats.fresh.is_empty() && (beats.urgent || waited)
    }

    /// Writes the collected heartbeats down. Not a leader's commit: a node may be heard by any replica.
    pub fn flush(&self, db: &Db, now: Timestamp) -> Result<(), StoreError> {
        let batch: Vec<(NodeId, Timestamp)> = {
            let mut beats = self.lock();
            (beats.urgent, beats.flushed) = (false, Some(now));
            std::mem::take(&mut beats.fresh).into_iter().collect()
        };
        let written = batch.clone();
        let result = db.write(move |tx| nodes::heartbeats_flush(tx, &batch, now));
        let mut beats = self.lock();
        for (node, at) in written {
            // What could not be written is kept, unless something newer has come.
            let kept = if result.is_ok() { &mut beats.written } else { &mut beats.fresh };
            let known = kept.entry(node).or_insert(at);
            *known = at.max(*known);
        }
        result.map(|_| ())
    }

    fn heard(&self, node: &NodeId, now: Timestamp) {
        let mut beats = self.lock();
        let stale = beats.written.get(node).is_none_or(|at| now.micros_since(*at) >= URGENT_S * MICROS_PER_SECOND);
        beats.fresh.insert(node.clone(), now);
        if stale && !beats.urgent {
            beats.urgent = true;
            drop(beats);
            self.poke.poke();
        }
    }

    // What the lock guards is whole at every moment, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Beats> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offer(&self, db: &Db, node: &NodeId, now: Timestamp) -> Result<Vec<FromControl>, NodeRefusal> {
        let id = node.clone();
        let open = db.read(move |tx| {
            nodes::get(tx, &id)?.ok_or(NodeRefusal::UnknownNode)?;
            Ok::<_, NodeRefusal>(open_orders(tx, &id, now)?)
        })?;
        let open = if open.iter().any(|task| task.state == TaskState::Pending) {
            let (id, ports) = (node.clone(), self.ports.clone());
            db.write(move |tx| {
                let open = open_orders(tx, &id, now)?;
                let mut bits = || ports.id_bits();
                tasks::deliver_all(tx, &mut Stamp::new(now, &mut bits), &open)?;
                Ok::<_, StoreError>(open)
            })?
        } else {
            open
        };
        let tasks = open.iter().map(TaskRow::order).collect();
        Ok(vec![FromControl::TasksOffered(TasksOffered { tasks })])
    }

    fn take_answer(
        &self,
        db: &Db,
        node: &NodeId,
        answer: TaskAnswer,
        now: Timestamp,
    ) -> Result<Vec<FromControl>, NodeRefusal> {
        let (id, ports, result) = (node.clone(), self.ports.clone(), answer.result);
        let task_id = result.task_id.clone();
        let taken = db.write(move |tx| {
            let mut bits = || ports.id_bits();
            finish(tx, &mut Stamp::new(now, &mut bits), &id, &result)
        })?;
        if taken {
            self.poke.poke();
        }
        Ok(vec![FromControl::ResultAck(ResultAck { task_id })])
    }
}

// Past its deadline an order is as good as given up; the driver says so at its next look.
fn open_orders(tx: &mut Tx<'_>, node: &NodeId, now: Timestamp) -> Result<Vec<TaskRow>, StoreError> {
    let limit = i64::try_from(TASKS_OFFERED_MAX).unwrap_or(i64::MAX);
    let mut open = tasks::open_for_node(tx, node, limit)?;
    open.retain(|task| task.deadline > now);
    Ok(open)
}

/// Writes an answer down. False when nobody waits for it any more: given up, answered before, or under another fence.
fn finish(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeId, result: &TaskResult) -> Result<bool, NodeRefusal> {
    let Some(task) = tasks::get(tx, &result.task_id)? else { return Ok(false) };
    if task.node_id != *node && !model::planted!(NodeActsForAnother) {
        tracing::warn!(%node, task = %task.id, "a node answered another node's order");
        return Err(NodeRefusal::WrongNode);
    }
    if task.state.is_terminal() || task.fence != result.fence {
        tracing::info!(%node, task = %task.id, state = %task.state, "an answer came too late, twice, or under another fence");
        return Ok(false);
    }
    if result.failure.is_none() && task.kind == TaskKind::SliceVmRelease {
        keep_proofs(tx, stamp, &task, &result.proofs)?;
    }
    tasks::finish(tx, stamp, &task, result)?;
    poke_waiting(tx, &task, stamp.now)?;
    Ok(true)
}

/// Checks the proof for each slot of an order. Proofs about anything else are not looked at.
fn keep_proofs(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, task: &TaskRow, given: &[Proof]) -> Result<(), StoreError> {
    let node = nodes::get(tx, &task.node_id)?.ok_or(StoreError::NotFound)?;
    // One proof for each slot, in their order; a proof that names another slot is held against the slot it stands for.
    let unclaimed = given.iter().filter(|proof| !task.slots.iter().any(|slot| slot.slot_id == proof.slot_id));
    let mut unclaimed = unclaimed.peekable();
    for asked in &task.slots {
        let own = given.iter().find(|proof| proof.slot_id == asked.slot_id);
        let Some(proof) = own.or_else(|| unclaimed.next()) else { continue };
        keep_proof(tx, stamp, &node, asked, proof)?;
    }
    Ok(())
}

fn keep_proof(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &nodes::NodeRow,
    asked: &TaskSlot,
    proof: &Proof,
) -> Result<(), StoreError> {
    let slot = slots::get(tx, &asked.slot_id)?.ok_or(StoreError::NotFound)?;
    if slot.use_generation != asked.use_generation || slot.state == SlotState::Available {
        // The slot has moved on to another use; nothing about an old one matters any more.
        return Ok(());
    }
    let expected = Expected {
        node_id: &node.id,
        slot_id: &slot.id,
        use_generation: slot.use_generation,
        nonce: slot.wipe_nonce.as_deref().unwrap_or_default(),
    };
    match proof.fault(&expected, signed_by(&node.public_key, proof)) {
        None => {
            proofs::insert(tx, proof, stamp.now)?;
        }
        Some(fault) => {
            tracing::error!(alert = "proof_refused", node = %node.id, slot = %slot.id, %fault, "a wipe proof proves nothing");
            let detail = format!("The wipe proof for use {} was refused: {}.", slot.use_generation, words(fault));
            slots::set_health(tx, stamp, &slot, Health { state: fault.as_str(), detail: &detail })?;
        }
    }
    Ok(())
}

fn words(fault: ProofFault) -> &'static str {
    match fault {
        ProofFault::WrongSubject => "it is about another node or slot",
        ProofFault::WrongGeneration => "it is about another use of the slot",
        ProofFault::WrongNonce => "it does not answer the challenge",
        ProofFault::StepMissing => "a step is missing, doubled, failed or without evidence",
        ProofFault::BadSignature => "it was not signed by the node",
    }
}

/// Whether a proof carries a good signature for a public key in hexadecimal.
pub(crate) fn signed_by(public_key: &str, proof: &Proof) -> bool {
    let check = || {
        let key = VerifyingKey::from_bytes(&unhex::<32>(public_key)?).ok()?;
        let signature = Signature::from_bytes(&unhex::<64>(&proof.signature)?);
        key.verify_strict(&proof.signed_bytes(), &signature).ok()
    };
    check().is_some()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0u8; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::unhex;

    #[test]
    fn only_whole_hexadecimal_is_read() {
        assert_eq!(unhex::<2>("0aFf"), Some([0x0a, 0xff]));
        for bad in ["", "0a", "0a0", "0g00", "+a00", "0a00 "] {
            assert_eq!(unhex::<2>(bad), None, "{bad:?}");
        }
    }
}
