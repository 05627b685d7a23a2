//! Who the node is: its id, and the key that signs its proofs. The key never leaves this type.

use ed25519_dalek::{Signer, SigningKey};
use model::{
    NodeId,
    proof::{Proof, StepEvidence},
};
use std::fmt;

use crate::{hex, host::SlotUse};

/// A node's id and signing key.
pub struct Identity {
    node_id: NodeId,
    key: SigningKey,
}

impl Identity {
    /// From the 32 secret bytes of an Ed25519 key.
    pub fn from_secret(node_id: NodeId, secret: &[u8; 32]) -> Self {
        Self { node_id, key: SigningKey::from_bytes(secret) }
    }

    /// The node.
    pub fn node_id(&self) -> &NodeId {
        &self.node_id
    }

    /// The public key in hexadecimal, as the node is enrolled with.
    pub fn public_key_hex(&self) -> String {
        hex::encode(self.key.verifying_key().as_bytes())
    }

    /// Signs what was seen on one slot. Nothing is added: a proof of a wipe that did not work says so.
    pub fn prove(&self, slot: &SlotUse, challenge: Challenge<'_>, steps: Vec<StepEvidence>) -> Proof {
        let mut proof = Proof {
            node_id: self.node_id.clone(),
            slot_id: slot.slot_id.clone(),
            use_generation: slot.use_generation,
            disk_identity: challenge.disk_identity.to_owned(),
            nonce: challenge.nonce.to_owned(),
            steps,
            signature: String::new(),
        };
        proof.signature = hex::encode(&self.key.sign(&proof.signed_bytes()).to_bytes());
        proof
    }
}

/// What a proof has to answer.
#[derive(Debug, Clone, Copy)]
pub struct Challenge<'a> {
    /// The disk that the order names.
    pub disk_identity: &'a str,
    /// The control plane's challenge.
    pub nonce: &'a str,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.node_id)
    }
}
