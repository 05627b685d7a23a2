//! Wipe proofs as people read them: every step with its evidence, what each check says now, and a document that anybody can
//! check again without the platform. Tenants learn that what they had was wiped, and how; never on which device.

use crate::{
    allocation::AllocationPath,
    endpoints,
    page::{Page, PageQuery},
    supply::SlotPath,
};
use model::{
    AllocationId, NodeId, ProofId, SlotId, Timestamp,
    number::UseNumber,
    proof::{EraseMethod, Expected, Proof, ProofCheckOutcome, ProofFault, WipeStep},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the document of a proof calls itself. Another meaning of its fields needs another number.
pub const DOCUMENT_FORMAT: &str = "gpuaas-wipe-proof/1";

/// No document is longer than this, in bytes.
pub const DOCUMENT_BYTES_MAX: u64 = 256 * 1024;

/// Which proof of a slot.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofQuery {
    /// The use that ended; the newest proof of all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_generation: Option<UseNumber>,
}

/// What a proof had to be about when it came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedProof {
    /// The node that was asked.
    pub node_id: NodeId,
    /// The slot that was released.
    pub slot_id: SlotId,
    /// The use that ended.
    pub use_generation: i64,
    /// The disk that was approved for the slot.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub disk_identity: String,
    /// The challenge that was given.
    pub nonce: String,
    /// The steps that the slot's devices need.
    pub steps: Vec<WipeStep>,
}

impl ExpectedProof {
    /// The same for the checks of a proof.
    pub fn as_expected(&self) -> Expected<'_> {
        Expected {
            node_id: &self.node_id,
            slot_id: &self.slot_id,
            use_generation: self.use_generation,
            disk_identity: &self.disk_identity,
            nonce: &self.nonce,
            steps: &self.steps,
        }
    }
}

/// A proof that was received, with what it is worth now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofView {
    /// Its id.
    pub id: ProofId,
    /// The slot.
    pub slot_id: SlotId,
    /// The node that gave it.
    pub node_id: NodeId,
    /// The use it was asked for.
    pub use_generation: i64,
    /// Whether every check holds now.
    pub holds: bool,
    /// Every check by name.
    pub checks: Vec<ProofCheckOutcome>,
    /// Why it was refused when it came in; absent when it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<ProofFault>,
    /// The proof as it was received: every step with its evidence, and the signature.
    pub proof: Proof,
    /// What it had to be about.
    pub expected: ExpectedProof,
    /// The public key that the node had then, in hexadecimal.
    pub node_public_key: String,
    /// SHA-256 of that key, in hexadecimal.
    pub node_key_fingerprint: String,
    /// When it came in.
    pub received_at: Timestamp,
}

impl ProofView {
    /// The same as a document that can be checked without the platform.
    pub fn document(self, exported_at: Timestamp) -> ProofDocument {
        ProofDocument {
            format: DOCUMENT_FORMAT.to_owned(),
            proof: self.proof,
            expected: self.expected,
            node_public_key: self.node_public_key,
            exported_at,
        }
    }
}

/// One line of the history of a slot's proofs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofSummary {
    /// Its id.
    pub id: ProofId,
    /// The use it was asked for.
    pub use_generation: i64,
    /// Whether every check holds now.
    pub holds: bool,
    /// Why it was refused when it came in; absent when it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<ProofFault>,
    /// How the disk was erased, as far as the evidence names it.
    pub method: EraseMethod,
    /// What does not hold, in a sentence; empty when everything does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// When it came in.
    pub received_at: Timestamp,
}

/// A proof by itself: everything that is needed to check it again, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofDocument {
    /// Always `gpuaas-wipe-proof/1`.
    pub format: String,
    /// The proof as it was received.
    pub proof: Proof,
    /// What it had to be about.
    pub expected: ExpectedProof,
    /// The node's public key, in hexadecimal. Whoever does not trust the file compares it with what the node says.
    pub node_public_key: String,
    /// When the file was written. Says nothing about the wipe.
    pub exported_at: Timestamp,
}

/// Why a file is not the document of a proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotADocument {
    /// Nothing of that size is a proof.
    #[error("it is longer than {DOCUMENT_BYTES_MAX} bytes")]
    TooLong,
    /// Not text.
    #[error("it is not text in UTF-8")]
    NotText,
    /// Not of the form of one.
    #[error("it is not the document of a proof: {0}")]
    Malformed(String),
    /// Of a form that this program does not know.
    #[error("its format is {0:?}; this program reads {DOCUMENT_FORMAT}")]
    OtherFormat(String),
}

impl ProofDocument {
    /// Reads a document. Nothing of it has been checked then but its form; nothing unknown is passed over.
    pub fn read(bytes: &[u8]) -> Result<Self, NotADocument> {
        if u64::try_from(bytes.len()).is_ok_and(|len| len > DOCUMENT_BYTES_MAX) {
            return Err(NotADocument::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| NotADocument::NotText)?;
        let document: Self = serde_json::from_str(text).map_err(|error| NotADocument::Malformed(error.to_string()))?;
        if document.format == DOCUMENT_FORMAT { Ok(document) } else { Err(NotADocument::OtherFormat(document.format)) }
    }
}

model::text_enum! {
    /// What became of one slot that an allocation had.
    WipeOutcome {
        /// It is still held, or its wipe is under way.
        Pending = "pending",
        /// It was wiped, and the proof was checked and holds.
        Proved = "proved",
        /// No proof holds yet; nobody else gets it before one does.
        Unproved = "unproved",
        /// Two operators let it go on without a proof.
        Overridden = "overridden",
    }
}

/// What became of one slot that an allocation had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WipeView {
    /// Which of the allocation's slots, counted from 1.
    pub slot_number: i64,
    /// What became of it.
    pub outcome: WipeOutcome,
    /// How its disk was erased, when that is proved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<EraseMethod>,
    /// The steps that were proved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<WipeStep>,
    /// The node's signature under the proof, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// SHA-256 of the key it was made with, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_key_fingerprint: Option<String>,
    /// When the proof came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proved_at: Option<Timestamp>,
    /// The same in a sentence.
    pub projected: String,
}

/// What became of everything that an allocation had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationProofsView {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// One entry a slot.
    pub slots: Vec<WipeView>,
    /// The same in a sentence.
    pub projected: String,
}

endpoints! {
    /// Show the newest wipe proof of a slot, or the newest of one use: every step, its evidence, and what each check says now.
    ProofShow = "proof_show", Get "/api/v1/admin/resource-slots/{slot_id}/proof", "slots", PlatformRead { path: SlotPath, query: ProofQuery, answer: Ok ProofView }
    /// List every wipe proof of a slot that came in, refused ones too.
    ProofList = "proof_list", Get "/api/v1/admin/resource-slots/{slot_id}/proofs", "slots", PlatformRead { path: SlotPath, query: PageQuery, answer: Ok Page<ProofSummary>, problems: [InvalidPageToken] }
    /// Show whether what an allocation had was wiped, and how that was proved.
    AllocationProofs = "allocation_proofs", Get "/api/v1/allocations/{allocation_id}/proofs", "allocations", ProjectRead { path: AllocationPath, answer: Ok AllocationProofsView }
}
