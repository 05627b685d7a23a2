//! Wipe proofs: evidence, step by step, that a released slot holds nothing of its last tenant. A proof is bound to one
//! node, slot, use generation and challenge, and signed by the node; anything missing means it proves nothing.

use crate::{NodeId, SlotId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

text_enum! {
    /// The steps a wipe consists of.
    WipeStep {
        /// The guest was stopped and its process is gone.
        GuestGone = "guest_gone",
        /// The disk was erased by a method that the device promises.
        DiskErased = "disk_erased",
        /// The disk was read back and held nothing.
        DiskReadBack = "disk_read_back",
        /// The GPU was reset.
        GpuReset = "gpu_reset",
        /// The fabric function was reset.
        FabricReset = "fabric_reset",
    }
}

/// One step with its evidence. A step without `ok` counts as not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepEvidence {
    /// Which step.
    pub step: WipeStep,
    /// Whether it was done and verified.
    pub ok: bool,
    /// What was seen, for people.
    pub evidence: String,
}

/// A signed wipe proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The node that did it.
    pub node_id: NodeId,
    /// The slot that was wiped.
    pub slot_id: SlotId,
    /// The use that ended.
    pub use_generation: i64,
    /// The control plane's challenge.
    pub nonce: String,
    /// What was done.
    pub steps: Vec<StepEvidence>,
    /// Ed25519 over [`Proof::signed_bytes`], in hexadecimal.
    pub signature: String,
}

text_enum! {
    /// Why a proof does not prove anything.
    ProofFault {
        /// It names another node or slot.
        WrongSubject = "wrong_subject",
        /// It is about another use of the slot.
        WrongGeneration = "wrong_generation",
        /// It does not answer the challenge.
        WrongNonce = "wrong_nonce",
        /// A required step is missing, doubled, failed, or has no evidence.
        StepMissing = "step_missing",
        /// It was not signed by the node.
        BadSignature = "bad_signature",
    }
}

impl Proof {
    /// The bytes that the node signs: everything but the signature, length-prefixed so that fields cannot run together.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::from(*b"gpuaas-wipe-proof-v1\n");
        let mut put = |text: &str| {
            bytes.extend_from_slice(format!("{}:", text.len()).as_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        put(self.node_id.as_str());
        put(self.slot_id.as_str());
        put(&self.use_generation.to_string());
        put(&self.nonce);
        for step in &self.steps {
            put(step.step.as_str());
            put(if step.ok { "ok" } else { "failed" });
            put(&step.evidence);
        }
        bytes
    }

    /// Checks everything but the signature. `signature_ok` comes from whoever holds the node's public key.
    pub fn fault(&self, expected: &Expected<'_>, signature_ok: bool) -> Option<ProofFault> {
        if self.node_id != *expected.node_id || self.slot_id != *expected.slot_id {
            return Some(ProofFault::WrongSubject);
        }
        if self.use_generation != expected.use_generation {
            return Some(ProofFault::WrongGeneration);
        }
        if expected.nonce.is_empty() || self.nonce != expected.nonce {
            return Some(ProofFault::WrongNonce);
        }
        let every_step_once = WipeStep::ALL.iter().all(|step| {
            let mut found = self.steps.iter().filter(|given| given.step == *step);
            matches!((found.next(), found.next()), (Some(given), None) if given.ok && !given.evidence.is_empty())
        });
        if !every_step_once {
            return Some(ProofFault::StepMissing);
        }
        if signature_ok { None } else { Some(ProofFault::BadSignature) }
    }
}

/// What a proof must be about.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The node that was asked.
    pub node_id: &'a NodeId,
    /// The slot that was released.
    pub slot_id: &'a SlotId,
    /// The use that ended.
    pub use_generation: i64,
    /// The challenge issued after the release was wanted.
    pub nonce: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn whole() -> Proof {
        Proof {
            node_id: NodeId::from_parts(Timestamp::from_micros(1), [1; 10]),
            slot_id: SlotId::from_parts(Timestamp::from_micros(1), [2; 10]),
            use_generation: 3,
            nonce: "n".into(),
            steps: WipeStep::ALL.iter().map(|s| StepEvidence { step: *s, ok: true, evidence: "seen".into() }).collect(),
            signature: String::new(),
        }
    }

    fn fault_of(change: impl Fn(&mut Proof), signature_ok: bool) -> Option<ProofFault> {
        let (good, mut given) = (whole(), whole());
        change(&mut given);
        let expected = Expected { node_id: &good.node_id, slot_id: &good.slot_id, use_generation: 3, nonce: "n" };
        given.fault(&expected, signature_ok)
    }

    #[test]
    fn a_whole_proof_has_no_fault() {
        assert_eq!(fault_of(|_| (), true), None);
    }

    #[test]
    fn every_forgery_is_named() {
        let other_slot = SlotId::from_parts(Timestamp::from_micros(1), [9; 10]);
        assert_eq!(fault_of(|p| p.slot_id = other_slot.clone(), true), Some(ProofFault::WrongSubject));
        assert_eq!(fault_of(|p| p.use_generation = 2, true), Some(ProofFault::WrongGeneration));
        assert_eq!(fault_of(|p| p.nonce = String::new(), true), Some(ProofFault::WrongNonce));
        assert_eq!(fault_of(|p| p.steps.truncate(2), true), Some(ProofFault::StepMissing));
        assert_eq!(fault_of(|p| p.steps[1].ok = false, true), Some(ProofFault::StepMissing));
        assert_eq!(fault_of(|p| p.steps[1].evidence.clear(), true), Some(ProofFault::StepMissing));
        assert_eq!(fault_of(|p| p.steps.push(p.steps[0].clone()), true), Some(ProofFault::StepMissing));
        assert_eq!(fault_of(|_| (), false), Some(ProofFault::BadSignature));
    }
}
