//! Wipe proofs, checked before they are stored: signature, node, slot, use, challenge, every step. One that fails is written
//! down as the slot's state of health; it never makes a slot available.

use ed25519_dalek::{Signature, VerifyingKey};
use model::{
    proof::{Expected, Proof, ProofFault},
    supply::SlotState,
    task::TaskSlot,
};
use store::{
    Stamp, StoreError, Tx,
    nodes::NodeRow,
    proofs,
    slots::{self, Health},
    tasks::TaskRow,
};

/// Checks the proof for each slot of an order. Proofs about anything else are not looked at.
pub(super) fn keep(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    task: &TaskRow,
    given: &[Proof],
) -> Result<(), StoreError> {
    // One proof for each slot, in their order; a proof that names another slot is held against the slot it stands for.
    let unclaimed = given.iter().filter(|proof| !task.slots.iter().any(|slot| slot.slot_id == proof.slot_id));
    let mut unclaimed = unclaimed.peekable();
    for asked in &task.slots {
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
