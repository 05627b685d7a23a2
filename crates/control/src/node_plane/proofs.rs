//! Wipe proofs, checked before they are taken: signature, node, slot, use, disk, challenge, every step. One that fails is
//! kept for people to read, and written down as the slot's state of health; it never makes a slot available.

use model::{
    ProofId,
    proof::{Expected, Proof, ProofFault, WipeStep},
    supply::SlotState,
    task::TaskSlot,
};
use store::{
    Stamp, StoreError, Tx,
    nodes::NodeRow,
    proofs::{self, ProofNew},
    slots::{self, Health},
    tasks::TaskRow,
};

use crate::proof_check::signed_by;

/// Checks the proof for each slot of an order. Proofs about anything else are not looked at.
pub(super) fn keep(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    task: &TaskRow,
    given: &[Proof],
) -> Result<(), StoreError> {
    // One proof for each slot, in their order; a proof that names another slot is held against the slot it stands for.
    let unclaimed = given.iter().filter(|proof| !task.slots().iter().any(|slot| slot.slot_id == proof.slot_id));
    let mut unclaimed = unclaimed.peekable();
    for asked in task.slots() {
        let own = given.iter().find(|proof| proof.slot_id == asked.slot_id);
        let Some(proof) = own.or_else(|| unclaimed.next()) else { continue };
        keep_one(tx, stamp, node, asked, proof)?;
    }
    Ok(())
}

fn keep_one(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    asked: &TaskSlot,
    proof: &Proof,
) -> Result<(), StoreError> {
    let slot = slots::get(tx, &asked.slot_id)?.ok_or(StoreError::NotFound)?;
    if slot.use_generation != asked.use_generation || slot.state == SlotState::Available {
        // The slot has moved on to another use; nothing about an old one matters any more.
        return Ok(());
    }
    let steps = WipeStep::needed(slot.parts.gpu_pci_address.is_some(), slot.parts.fabric_vf_pci_address.is_some());
    let expected = Expected {
        node_id: &node.id,
        slot_id: &slot.id,
        use_generation: slot.use_generation,
        disk_identity: slot.parts.nvme_identity.as_deref().unwrap_or_default(),
        steps: &steps,
        nonce: slot.wipe_nonce.as_deref().unwrap_or_default(),
    };
    let new = ProofNew {
        id: &ProofId::from_parts(stamp.now, stamp.bits()),
        node_id: expected.node_id,
        slot_id: expected.slot_id,
        use_generation: expected.use_generation,
        nonce: expected.nonce,
        proof,
        public_key: &node.public_key,
        disk_identity: expected.disk_identity,
        steps: &steps,
    };
    match proof.fault(&expected, signed_by(&node.public_key, proof)) {
        None => {
            proofs::insert(tx, &new, stamp.now)?;
        }
        Some(fault) => {
            tracing::error!(alert = "proof_refused", node = %node.id, slot = %slot.id, %fault, "a wipe proof proves nothing");
            proofs::refuse(tx, &new, fault, stamp.now)?;
            let detail = sentence(fault, proof, &expected);
            slots::set_health(tx, stamp, &slot, Health { state: fault.as_str(), detail: &detail })?;
        }
    }
    Ok(())
}

/// What an operator reads about a proof that proves nothing. What failed on the host is told as the host told it.
fn sentence(fault: ProofFault, proof: &Proof, expected: &Expected<'_>) -> String {
    let of_use = expected.use_generation;
    let refused = |why: &str| format!("The wipe proof for use {of_use} was refused: {why}.");
    match fault {
        ProofFault::StepFailed => {
            let faults = proof.step_faults(expected.steps).join("; ");
            format!("The wipe after use {of_use} failed on the host: {}.", plain(&faults))
        }
        ProofFault::StepMissing => refused(&plain(&proof.step_faults(expected.steps).join("; "))),
        ProofFault::WrongSubject => refused("it is about another node or slot"),
        ProofFault::WrongGeneration => refused("it is about another use of the slot"),
        ProofFault::WrongDisk => refused("it is about another disk than the one that was approved"),
        ProofFault::WrongNonce => refused("it does not answer the challenge"),
        ProofFault::BadSignature => refused("it was not signed by the node"),
    }
}

/// The longest piece of a host's own words that is repeated in a sentence; the whole is kept with the proof.
const WORDS_MAX: usize = 400;

fn plain(words: &str) -> String {
    let shown: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS_MAX).collect();
    let shown = shown.trim_end_matches(['.', ' ']);
    if words.chars().count() > WORDS_MAX { format!("{shown} …") } else { shown.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_hosts_words_are_kept_short_and_on_one_line() {
        assert_eq!(
            plain("disk_erased failed: Input/output\nerror\u{1b}[2J."),
            "disk_erased failed: Input/output error [2J"
        );
        assert_eq!(plain(&"x".repeat(500)).chars().count(), 402);
    }
}
