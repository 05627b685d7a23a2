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

impl WipeStep {
    /// The steps that a slot needs: resets only for the devices that it has.
    pub fn needed(has_gpu: bool, has_fabric: bool) -> Vec<Self> {
        let needed = |step: &Self| match step {
            Self::GuestGone | Self::DiskErased | Self::DiskReadBack => true,
            Self::GpuReset => has_gpu,
            Self::FabricReset => has_fabric,
        };
        Self::ALL.iter().copied().filter(needed).collect()
    }
}

text_enum! {
    /// How a disk was erased, as far as the evidence names it.
    EraseMethod {
        /// The disk erased all of itself by its own command.
        NvmeSanitize = "nvme_sanitize",
        /// The disk formatted itself with a secure erase.
        NvmeFormat = "nvme_format",
        /// The disk was told to forget everything, and reads as zeros.
        Discard = "discard",
        /// Everything was overwritten.
        Overwrite = "overwrite",
        /// The evidence names none of these, or more than one.
        Unnamed = "unnamed",
    }
}

impl EraseMethod {
    /// The method that an evidence says was used, whatever it says of others. The evidence itself may name devices and stays
    /// with operators.
    pub fn named_in(evidence: &str) -> Self {
        serde_json::from_str::<Erased>(evidence).map_or(Self::Unnamed, |erased| erased.method())
    }
}

/// What a host must say of a disk that it erased. It may say more.
#[derive(Deserialize)]
struct Erased {
    disk: String,
    // By its name, and in brackets what of it was used: `nvme_format(ses 1)`.
    method: String,
}

impl Erased {
    fn method(&self) -> EraseMethod {
        let name = self.method.split('(').next().unwrap_or_default();
        name.parse().unwrap_or(EraseMethod::Unnamed)
    }
}

/// What a host must say of a disk that it read back. It may say more.
#[derive(Deserialize)]
struct ReadBack {
    disk: String,
    nonce: String,
    bytes_read: u64,
    #[serde(default)]
    nonzero_bytes: u64,
    #[serde(default)]
    signatures: u64,
}

impl WipeStep {
    /// What speaks against an evidence of this step, for the disk and the challenge that it must be about. What was seen of
    /// guests and devices is told in words, which only people read.
    fn evidence_fault(self, evidence: &str, disk: &str, nonce: &str) -> Option<&'static str> {
        match self {
            Self::DiskErased => match serde_json::from_str::<Erased>(evidence) {
                Err(_) => Some("has evidence that cannot be read"),
                Ok(erased) if erased.disk != disk => Some("has evidence of another disk"),
                Ok(erased) if erased.method() == EraseMethod::Unnamed => Some("names no known method"),
                Ok(_) => None,
            },
            Self::DiskReadBack => match serde_json::from_str::<ReadBack>(evidence) {
                Err(_) => Some("has evidence that cannot be read"),
                Ok(read) if read.disk != disk => Some("has evidence of another disk"),
                Ok(read) if read.nonce != nonce => Some("has evidence for another challenge"),
                Ok(read) if read.bytes_read == 0 => Some("has read nothing"),
                Ok(read) if read.nonzero_bytes > 0 || read.signatures > 0 => Some("has found something"),
                Ok(_) => None,
            },
            Self::GuestGone | Self::GpuReset | Self::FabricReset => None,
        }
    }

    /// Evidence in the form that hosts give it, for hosts that are simulated.
    pub fn simulated_evidence(self, disk: &str, nonce: &str) -> String {
        match self {
            Self::GuestGone => "the host lists no guest on the slot".to_owned(),
            Self::DiskErased => {
                serde_json::json!({ "disk": disk, "method": "nvme_format(ses 1)", "passed_over": ["nvme_sanitize(2)"] })
                    .to_string()
            }
            Self::DiskReadBack => {
                let read = serde_json::json!({ "mode": "sampled", "sample_count": 4096, "sample_bytes": 4096 });
                serde_json::json!({ "disk": disk, "read": read, "nonce": nonce, "bytes_read": 4096 * 4096, "nonzero_bytes": 0 })
                    .to_string()
            }
            Self::GpuReset => "secondary bus reset, memory scrubbed".to_owned(),
            Self::FabricReset => "function level reset".to_owned(),
        }
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
    /// The disk that was wiped, by the identity that was approved for the slot. Proofs from before it was named have none,
    /// and are of no use for a wipe that is still to be proved.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub disk_identity: String,
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
        /// Another disk was wiped.
        WrongDisk = "wrong_disk",
        /// It does not answer the challenge.
        WrongNonce = "wrong_nonce",
        /// A step says that it failed.
        StepFailed = "step_failed",
        /// A required step is missing, doubled, or has no evidence that shows it.
        StepMissing = "step_missing",
        /// It was not signed by the node.
        BadSignature = "bad_signature",
    }
}

text_enum! {
    /// What a proof is held against, one by one.
    ProofCheck {
        /// The node signed it.
        Signature = "signature",
        /// It is by the node that was asked.
        Node = "node",
        /// It is about the slot.
        Slot = "slot",
        /// It is about the use that ended.
        Use = "use",
        /// It is about the disk that was approved.
        Disk = "disk",
        /// It answers the challenge.
        Nonce = "nonce",
        /// Every required step is there once, done, with evidence that shows it.
        Steps = "steps",
    }
}

/// How one check went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofCheckOutcome {
    /// Which check.
    pub check: ProofCheck,
    /// Whether it holds.
    pub ok: bool,
    /// What was expected and what was found, or that it holds.
    pub detail: String,
}

impl Proof {
    /// The bytes that the node signs: everything but the signature, length-prefixed so that fields cannot run together.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let names_disk = !self.disk_identity.is_empty();
        let mut bytes =
            if names_disk { b"gpuaas-wipe-proof-v2\n".to_vec() } else { b"gpuaas-wipe-proof-v1\n".to_vec() };
        let mut put = |text: &str| {
            bytes.extend_from_slice(format!("{}:", text.len()).as_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        put(self.node_id.as_str());
        put(self.slot_id.as_str());
        put(&self.use_generation.to_string());
        if names_disk {
            put(&self.disk_identity);
        }
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
        if self.disk_identity != expected.disk_identity {
            return Some(ProofFault::WrongDisk);
        }
        if expected.nonce.is_empty() || self.nonce != expected.nonce {
            return Some(ProofFault::WrongNonce);
        }
        if self.steps.iter().any(|given| !given.ok) {
            return Some(ProofFault::StepFailed);
        }
        if expected.steps.iter().any(|step| self.step_fault(*step).is_some()) {
            return Some(ProofFault::StepMissing);
        }
        if signature_ok { None } else { Some(ProofFault::BadSignature) }
    }

    /// The same by name, for people: every check is made, whatever came of those before it. A proof has no fault exactly when
    /// all of them hold.
    pub fn checks(&self, expected: &Expected<'_>, signature_ok: bool) -> Vec<ProofCheckOutcome> {
        let same = |what: &str, expected: &str, found: &str| match expected == found && !expected.is_empty() {
            true => Ok(format!("{what} {found}")),
            false => Err(differs(what, expected, found)),
        };
        let outcome = |check: &ProofCheck| {
            let found = match check {
                ProofCheck::Signature if signature_ok => Ok("signed with the node's key".to_owned()),
                ProofCheck::Signature => {
                    Err("expected a signature of the node's key, found another or none".to_owned())
                }
                ProofCheck::Node => same("node", expected.node_id.as_str(), self.node_id.as_str()),
                ProofCheck::Slot => same("slot", expected.slot_id.as_str(), self.slot_id.as_str()),
                ProofCheck::Use => same("use", &expected.use_generation.to_string(), &self.use_generation.to_string()),
                // Proofs from before disks were named say nothing, and nothing else was expected of them then.
                ProofCheck::Disk if expected.disk_identity.is_empty() && self.disk_identity.is_empty() => {
                    Ok("no disk is named, as was usual when it was taken".to_owned())
                }
                ProofCheck::Disk => same("disk", expected.disk_identity, &self.disk_identity),
                ProofCheck::Nonce => same("challenge", expected.nonce, &self.nonce),
                ProofCheck::Steps => self.steps_outcome(expected.steps),
            };
            let (ok, detail) = found.map_or_else(|detail| (false, detail), |detail| (true, detail));
            ProofCheckOutcome { check: *check, ok, detail }
        };
        ProofCheck::ALL.iter().map(outcome).collect()
    }

    /// What is wrong with the steps, each by name and with the evidence of what failed; nothing when all are there and done.
    pub fn step_faults(&self, needed: &[WipeStep]) -> Vec<String> {
        let failed = self.steps.iter().filter(|given| !given.ok);
        let failed = failed.map(|given| match given.evidence.as_str() {
            "" => format!("{} failed", given.step),
            evidence => format!("{} failed: {evidence}", given.step),
        });
        let faulty = |step: &WipeStep| self.step_fault(*step).map(|why| format!("{step} {why}"));
        let untold = needed.iter().filter(|step| !self.steps.iter().any(|given| given.step == **step && !given.ok));
        failed.chain(untold.filter_map(faulty)).collect()
    }

    fn steps_outcome(&self, needed: &[WipeStep]) -> Result<String, String> {
        let faults = self.step_faults(needed);
        match (needed.is_empty(), faults.is_empty()) {
            (true, true) => Ok("no step was required".to_owned()),
            (false, true) => Ok(format!("{} required steps, each done once, with evidence", needed.len())),
            (_, false) => Err(faults.join("; ")),
        }
    }

    fn step_fault(&self, step: WipeStep) -> Option<&'static str> {
        let mut found = self.steps.iter().filter(|given| given.step == step);
        match (found.next(), found.next()) {
            (None, _) => Some("is missing"),
            (Some(_), Some(_)) => Some("is there more than once"),
            (Some(given), None) if !given.ok => Some("failed"),
            (Some(given), None) if given.evidence.is_empty() => Some("has no evidence"),
            // Proofs from before disks were named told everything in words.
            (Some(_), None) if self.disk_identity.is_empty() => None,
            (Some(given), None) => step.evidence_fault(&given.evidence, &self.disk_identity, &self.nonce),
        }
    }
}

fn differs(what: &str, expected: &str, found: &str) -> String {
    let shown = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    format!("expected {what} {}, found {}", shown(expected), shown(found))
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
    /// The disk that was approved for the slot.
    pub disk_identity: &'a str,
    /// The challenge issued after the release was wanted.
    pub nonce: &'a str,
    /// The steps that the slot's devices need.
    pub steps: &'a [WipeStep],
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
            disk_identity: "eui.1".into(),
            nonce: "n".into(),
            steps: WipeStep::ALL.iter().map(|step| shown(*step)).collect(),
            signature: String::new(),
        }
    }

    fn shown(step: WipeStep) -> StepEvidence {
        StepEvidence { step, ok: true, evidence: step.simulated_evidence("eui.1", "n") }
    }

    fn fault_of(change: impl Fn(&mut Proof), signature_ok: bool) -> Option<ProofFault> {
        let (good, mut given) = (whole(), whole());
        change(&mut given);
        let expected = Expected {
            node_id: &good.node_id,
            slot_id: &good.slot_id,
            use_generation: 3,
            disk_identity: "eui.1",
            nonce: "n",
            steps: WipeStep::ALL,
        };
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
        assert_eq!(fault_of(|p| p.disk_identity = "eui.2".into(), true), Some(ProofFault::WrongDisk));
        assert_eq!(fault_of(|p| p.nonce = String::new(), true), Some(ProofFault::WrongNonce));
        assert_eq!(fault_of(|p| p.steps.truncate(2), true), Some(ProofFault::StepMissing));
        assert_eq!(fault_of(|p| p.steps[1].ok = false, true), Some(ProofFault::StepFailed));
        assert_eq!(fault_of(|p| p.steps[1].evidence.clear(), true), Some(ProofFault::StepMissing));
        assert_eq!(fault_of(|p| p.steps.push(p.steps[0].clone()), true), Some(ProofFault::StepMissing));
        assert_eq!(fault_of(|_| (), false), Some(ProofFault::BadSignature));
    }

    fn checks_of(given: &Proof, signature_ok: bool) -> Vec<ProofCheckOutcome> {
        let good = whole();
        let expected = Expected {
            node_id: &good.node_id,
            slot_id: &good.slot_id,
            use_generation: 3,
            disk_identity: "eui.1",
            nonce: "n",
            steps: WipeStep::ALL,
        };
        let checks = given.checks(&expected, signature_ok);
        assert_eq!(given.fault(&expected, signature_ok).is_none(), checks.iter().all(|check| check.ok), "{checks:?}");
        checks
    }

    #[test]
    fn every_check_is_made_by_name_and_agrees_with_the_fault() {
        let words = |checks: &[ProofCheckOutcome]| checks.iter().map(|check| check.check).collect::<Vec<_>>();
        assert_eq!(words(&checks_of(&whole(), true)), ProofCheck::ALL);
        type Change = fn(&mut Proof);
        let forgeries: [(ProofCheck, Change); 9] = [
            (ProofCheck::Node, |p| p.node_id = NodeId::from_parts(Timestamp::from_micros(1), [9; 10])),
            (ProofCheck::Slot, |p| p.slot_id = SlotId::from_parts(Timestamp::from_micros(1), [9; 10])),
            (ProofCheck::Use, |p| p.use_generation = 4),
            (ProofCheck::Disk, |p| p.disk_identity.clear()),
            (ProofCheck::Nonce, |p| {
                p.nonce = "m".to_owned();
                p.steps[2].evidence = p.steps[2].step.simulated_evidence("eui.1", "m");
            }),
            (ProofCheck::Steps, |p| p.steps.clear()),
            (ProofCheck::Steps, |p| p.steps[0].ok = false),
            (ProofCheck::Steps, |p| p.steps[0].evidence.clear()),
            (ProofCheck::Steps, |p| p.steps.push(p.steps[0].clone())),
        ];
        for (broken, forge) in forgeries {
            let mut given = whole();
            forge(&mut given);
            let checks = checks_of(&given, true);
            let failed: Vec<_> = checks.iter().filter(|check| !check.ok).map(|check| check.check).collect();
            assert_eq!(failed, [broken], "{checks:?}");
        }
        let unsigned = checks_of(&whole(), false);
        assert_eq!(unsigned.iter().find(|check| !check.ok).map(|check| check.check), Some(ProofCheck::Signature));
    }

    #[test]
    fn what_is_wrong_with_steps_is_said_step_by_step() {
        let mut given = whole();
        given.steps[1] = StepEvidence { step: WipeStep::DiskErased, ok: false, evidence: "write error at 4096".into() };
        given.steps.pop();
        assert_eq!(
            given.step_faults(WipeStep::ALL),
            ["disk_erased failed: write error at 4096", "fabric_reset is missing"]
        );
        assert!(whole().step_faults(WipeStep::ALL).is_empty());
    }

    #[test]
    fn evidence_that_does_not_show_the_step_proves_nothing() {
        let erased = [
            ("trust me", "has evidence that cannot be read"),
            (r#"{"method":"discard"}"#, "has evidence that cannot be read"),
            (r#"{"disk":"eui.2","method":"discard"}"#, "has evidence of another disk"),
            (r#"{"disk":"eui.1","method":"hope"}"#, "names no known method"),
            (r#"{"disk":"eui.1","method":"unnamed"}"#, "names no known method"),
        ];
        let read = [
            ("4096 samples read, all zero", "has evidence that cannot be read"),
            (r#"{"disk":"eui.1","nonce":"n","bytes_read":-1}"#, "has evidence that cannot be read"),
            (r#"{"disk":"eui.2","nonce":"n","bytes_read":1}"#, "has evidence of another disk"),
            (r#"{"disk":"eui.1","nonce":"m","bytes_read":1}"#, "has evidence for another challenge"),
            (r#"{"disk":"eui.1","nonce":"n","bytes_read":0}"#, "has read nothing"),
            (r#"{"disk":"eui.1","nonce":"n","bytes_read":1,"nonzero_bytes":1}"#, "has found something"),
            (r#"{"disk":"eui.1","nonce":"n","bytes_read":1,"signatures":1}"#, "has found something"),
        ];
        for (at, step, cases) in [(1, "disk_erased", &erased[..]), (2, "disk_read_back", &read[..])] {
            for (evidence, why) in cases {
                let change = |p: &mut Proof| p.steps[at].evidence = (*evidence).to_owned();
                assert_eq!(fault_of(change, true), Some(ProofFault::StepMissing), "{evidence}");
                let mut given = whole();
                change(&mut given);
                assert_eq!(given.step_faults(WipeStep::ALL), [format!("{step} {why}")], "{evidence}");
            }
        }
    }

    #[test]
    fn the_method_is_the_one_that_was_used_or_not_named() {
        let cases = [
            (r#"{"disk":"eui.1","method":"nvme_sanitize(2)"}"#, EraseMethod::NvmeSanitize),
            (r#"{"disk":"x","method":"discard","passed_over":["nvme_format(ses 1)"],"bytes":9}"#, EraseMethod::Discard),
            (r#"{"disk":"x","method":"hope","passed_over":["overwrite"]}"#, EraseMethod::Unnamed),
            ("discard, 64 MiB", EraseMethod::Unnamed),
        ];
        for (evidence, method) in cases {
            assert_eq!(EraseMethod::named_in(evidence), method, "{evidence}");
        }
    }
}
