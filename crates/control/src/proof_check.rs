//! What a wipe proof is worth, for whoever asks: the agents' door when one comes in, people who read one, `gpuaas proof
//! verify` without a control plane, and the auditor. No I/O and no clock.

use api::proof::{ExpectedProof, ProofDocument};
use ed25519_dalek::{Signature, VerifyingKey};
use model::proof::{Proof, ProofCheck, ProofCheckOutcome};
use sha2::{Digest, Sha256};
use store::proofs::ProofRow;

/// Whether a proof carries a good signature for a public key in hexadecimal.
pub fn signed_by(public_key: &str, proof: &Proof) -> bool {
    let check = || {
        let key = VerifyingKey::from_bytes(&unhex::<32>(public_key)?).ok()?;
        let signature = Signature::from_bytes(&unhex::<64>(&proof.signature)?);
        key.verify_strict(&proof.signed_bytes(), &signature).ok()
    };
    check().is_some()
}

/// SHA-256 of a public key in hexadecimal, as people compare it; nothing when it is no key.
pub fn fingerprint(public_key: &str) -> Option<String> {
    let key = unhex::<32>(public_key)?;
    Some(Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What a stored proof had to be about.
pub(crate) fn expected_of(row: &ProofRow) -> ExpectedProof {
    ExpectedProof {
        node_id: row.node_id.clone(),
        slot_id: row.slot_id.clone(),
        use_generation: row.use_generation,
        disk_identity: row.disk_identity.clone(),
        nonce: row.nonce.clone(),
        steps: row.steps.clone(),
    }
}

/// Every check of a stored proof, made anew.
pub(crate) fn checks_of(row: &ProofRow) -> Vec<ProofCheckOutcome> {
    row.proof.checks(&expected_of(row).as_expected(), signed_by(&row.public_key, &row.proof))
}

/// Every check of a document, made anew from what is in it. With a key that the reader brings, the signature must be by that
/// one, and the document must not name another.
pub fn verify(document: &ProofDocument, node_key: Option<&str>) -> Vec<ProofCheckOutcome> {
    let same = |key: &str| unhex::<32>(key).is_some_and(|key| unhex(&document.node_public_key) == Some(key));
    let foreign = node_key.is_some_and(|key| !same(key));
    let signed = !foreign && signed_by(&document.node_public_key, &document.proof);
    let mut checks = document.proof.checks(&document.expected.as_expected(), signed);
    for check in checks.iter_mut().filter(|check| check.check == ProofCheck::Signature) {
        let shown = fingerprint(&document.node_public_key).unwrap_or_else(|| "that cannot be read".to_owned());
        match (foreign, check.ok, node_key) {
            (true, _, _) => check.detail = "expected the key that was given, found another in the document".to_owned(),
            (false, true, None) => {
                check.detail = format!("signed with the key in the document, whose SHA-256 is {shown}");
            }
            (false, true, Some(_)) => check.detail = format!("signed with the key that was given, SHA-256 {shown}"),
            (false, false, _) => {}
        }
    }
    checks
}

pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};
    use model::{
        NodeId, SlotId, Timestamp,
        proof::{StepEvidence, WipeStep},
    };

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn document() -> ProofDocument {
        let key = SigningKey::from_bytes(&[7; 32]);
        let (node_id, slot_id) = (
            NodeId::from_parts(Timestamp::from_micros(1), [1; 10]),
            SlotId::from_parts(Timestamp::from_micros(1), [2; 10]),
        );
        let step = |step: &WipeStep| StepEvidence {
            step: *step,
            ok: true,
            evidence: step.simulated_evidence("eui.1", "challenge"),
        };
        let mut proof = Proof {
            node_id: node_id.clone(),
            slot_id: slot_id.clone(),
            use_generation: 3,
            disk_identity: "eui.1".to_owned(),
            nonce: "challenge".to_owned(),
            steps: WipeStep::ALL.iter().map(step).collect(),
            signature: String::new(),
        };
        proof.signature = hex(&key.sign(&proof.signed_bytes()).to_bytes());
        ProofDocument {
            format: api::proof::DOCUMENT_FORMAT.to_owned(),
            proof,
            expected: ExpectedProof {
                node_id,
                slot_id,
                use_generation: 3,
                disk_identity: "eui.1".to_owned(),
                nonce: "challenge".to_owned(),
                steps: WipeStep::ALL.to_vec(),
            },
            node_public_key: hex(key.verifying_key().as_bytes()),
            exported_at: Timestamp::from_micros(5),
        }
    }

    fn holds(document: &ProofDocument, key: Option<&str>) -> bool {
        verify(document, key).iter().all(|check| check.ok)
    }

    #[test]
    fn only_whole_hexadecimal_is_read() {
        assert_eq!(unhex::<2>("0aFf"), Some([0x0a, 0xff]));
        for bad in ["", "0a", "0a0", "0g00", "+a00", "0a00 "] {
            assert_eq!(unhex::<2>(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_whole_document_holds_with_its_own_key_and_with_no_other() {
        let good = document();
        assert!(holds(&good, None) && holds(&good, Some(&good.node_public_key.to_uppercase())));
        let other = hex(SigningKey::from_bytes(&[8; 32]).verifying_key().as_bytes());
        for wrong in [other.as_str(), "", "00", "nonsense"] {
            assert!(!holds(&good, Some(wrong)), "{wrong}");
        }
    }

    /// Flips every single value of the document, one at a time: a letter of a text, a flag, a number, a word of a list.
    #[test]
    fn every_forgery_is_noticed() {
        let good = serde_json::to_value(document()).unwrap();
        let key = document().node_public_key;
        let mut pointers = Vec::new();
        leaves("", &good, &mut pointers);
        assert!(pointers.len() > 25, "{pointers:?}");
        for pointer in pointers {
            let mut forged = good.clone();
            let value = forged.pointer_mut(&pointer).unwrap();
            *value = flipped(value);
            let Ok(read) = ProofDocument::read(forged.to_string().as_bytes()) else { continue };
            // When the file was written is no evidence of anything.
            assert_eq!(holds(&read, Some(&key)), pointer == "/exported_at", "{pointer}");
        }
    }

    fn leaves(pointer: &str, value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                map.iter().for_each(|(name, inner)| leaves(&format!("{pointer}/{name}"), inner, found));
            }
            serde_json::Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, inner)| leaves(&format!("{pointer}/{at}"), inner, found));
            }
            _ => found.push(pointer.to_owned()),
        }
    }

    fn flipped(value: &serde_json::Value) -> serde_json::Value {
        use serde_json::Value;
        match value {
            Value::Bool(flag) => Value::Bool(!flag),
            Value::Number(number) => Value::from(number.as_i64().unwrap() + 1),
            Value::String(text) if text.ends_with('Z') => Value::from("2030-01-01T00:00:00.000Z"),
            Value::String(text) => {
                let mut letters: Vec<char> = text.chars().collect();
                let last = letters.last_mut().unwrap();
                *last = if *last == '1' { '0' } else { '1' };
                Value::from(letters.into_iter().collect::<String>())
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_step_that_was_left_out_or_moved_to_what_is_expected_is_noticed() {
        let good = document();
        let key = good.node_public_key.clone();
        let mut shorter = good.clone();
        shorter.proof.steps.pop();
        shorter.expected.steps.pop();
        assert!(!holds(&shorter, Some(&key)), "the signature covers every step");
        let mut unasked = good;
        unasked.expected.nonce = String::new();
        unasked.proof.nonce = String::new();
        assert!(!holds(&unasked, Some(&key)));
    }

    #[test]
    fn only_a_document_of_this_form_is_read() {
        let text = serde_json::to_string(&document()).unwrap();
        assert!(ProofDocument::read(text.as_bytes()).is_ok());
        let cases: Vec<(Vec<u8>, &str)> = vec![
            (text.replace("wipe-proof/1", "wipe-proof/2").into_bytes(), "format"),
            (text.replacen('{', r#"{"more":1,"#, 1).into_bytes(), "unknown field"),
            (text.replacen('{', r#"{"format":"x","#, 1).into_bytes(), "duplicate field"),
            (b"[]".to_vec(), "invalid"),
            (b"".to_vec(), "EOF"),
            (vec![0xff, 0xfe], "UTF-8"),
            (vec![b' '; usize::try_from(api::proof::DOCUMENT_BYTES_MAX).unwrap() + 1], "longer"),
            ("[".repeat(10_000).into_bytes(), "not the document"),
        ];
        for (bytes, word) in cases {
            let told = ProofDocument::read(&bytes).unwrap_err().to_string();
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}
