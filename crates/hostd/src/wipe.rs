//! One step of wiping one slot, and the evidence of it: one line of JSON that says what was done and what was seen. A slot on
//! which anybody still sits, or whose disk a machine uses, is not touched.

use crate::{
    devices::DeviceClaim,
    disks,
    failed::Failed,
    host::{Hostd, now_us},
    marks,
    protocol::EVIDENCE_BYTES_MAX,
    work::Work,
};
use disk::{
    verify::{ReadBack, VerifyMode},
    wipe::{self, Erased},
};
use model::{
    AllocationId,
    guest::{BundleDevice, SlotBundle},
    proof::WipeStep,
    runtime::WorkStep,
    task::TaskSlot,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn failed(step: WipeStep, why: impl ToString) -> Failed {
    Failed::plain(format!("{step}: {}", why.to_string()))
}

impl Hostd {
    /// Makes one step of wiping one slot; the evidence.
    pub fn wipe(
        &self,
        allocation_id: &AllocationId,
        slot: &TaskSlot,
        step: WipeStep,
        work: Work<'_>,
    ) -> Result<String, Failed> {
        let _hand = self.hands.take(BTreeSet::from([slot.slot_id.to_string()]), work)?;
        let bundle = slot.bundle.as_deref();
        let bundle = bundle.ok_or_else(|| failed(step, format!("the order does not say what {} has", slot.slot_id)))?;
        if !marks::is_allowed(&bundle.disk_identity, self.config.disks.as_deref()) {
            let found = format!("one of the disks in the host's settings was expected, found {}", bundle.disk_identity);
            return Err(failed(step, found));
        }
        self.nobody_sits(slot, bundle, step)?;
        let evidence = match step {
            // What was looked for and not found: records, machines of libvirt, processes and leases.
            WipeStep::GuestGone => {
                json!({"slot": slot.slot_id, "of": allocation_id, "guests": 0, "machines_on_disk": 0}).to_string()
            }
            WipeStep::DiskErased => self.erase(bundle, step, work)?,
            WipeStep::DiskReadBack => self.read_back(slot, bundle, step, work)?,
            WipeStep::GpuReset => self.reset(bundle, bundle.gpu.as_ref(), step, work)?,
            WipeStep::FabricReset => self.reset(bundle, bundle.fabric.as_ref(), step, work)?,
        };
        if evidence.is_empty() || evidence.len() > EVIDENCE_BYTES_MAX {
            let found = format!("{} bytes of evidence where 1 to {EVIDENCE_BYTES_MAX} are taken", evidence.len());
            return Err(failed(step, found));
        }
        Ok(evidence)
    }

    fn nobody_sits(&self, slot: &TaskSlot, bundle: &SlotBundle, step: WipeStep) -> Result<(), Failed> {
        let sitting = self.on_slot(&slot.slot_id).map_err(|fault| failed(step, fault))?;
        if let Some(other) = sitting.first() {
            return Err(failed(step, format!("nobody may sit on {}, but {other} does", slot.slot_id)));
        }
        let disks = disks::all(&self.view).map_err(|fault| failed(step, fault))?;
        let Ok(disk) = disks::with_identity(&disks, &bundle.disk_identity) else { return Ok(()) };
        let path = disk.path.display().to_string();
        let domains = self.domains().map_err(|fault| failed(step, fault))?;
        match domains.iter().find(|domain| domain.disks.iter().any(|seen| seen.source == path)) {
            Some(domain) => Err(failed(step, format!("no machine may use {path}, but {} does", domain.name))),
            None => Ok(()),
        }
    }

    fn erase(&self, bundle: &SlotBundle, step: WipeStep, work: Work<'_>) -> Result<String, Failed> {
        work.step(WorkStep::Erase)?;
        let disk = disks::take(&self.view, &bundle.disk_identity).map_err(|fault| failed(step, fault))?;
        let mut tell = |done| work.bytes(WorkStep::Erase, done);
        let erased = wipe::erase(&disk, &self.config.wipe, &self.tools, &now_us, &mut tell)
            .map_err(|fault| failed(step, fault))?;
        self.marks.erased(&bundle.disk_identity).map_err(|fault| failed(step, fault))?;
        Ok(erase_evidence(&bundle.disk_identity, &erased).to_string())
    }

    fn read_back(
        &self,
        slot: &TaskSlot,
        bundle: &SlotBundle,
        step: WipeStep,
        work: Work<'_>,
    ) -> Result<String, Failed> {
        work.step(WorkStep::ReadBack)?;
        let nonce = slot.nonce.as_deref().ok_or_else(|| failed(step, "the order brings no challenge"))?;
        let disk = disks::take(&self.view, &bundle.disk_identity).map_err(|fault| failed(step, fault))?;
        let mut tell = |done| work.bytes(WorkStep::ReadBack, done);
        let (read, after) = wipe::prove(&disk, &self.config.wipe.verify, nonce, &now_us, &mut tell)
            .map_err(|fault| failed(step, fault))?;
        if disks::identity_text(&after) != bundle.disk_identity {
            let found = format!("{} was read, not {}", disks::identity_text(&after), bundle.disk_identity);
            return Err(failed(step, found));
        }
        self.marks.read_back(&bundle.disk_identity).map_err(|fault| failed(step, fault))?;
        Ok(read_evidence(&bundle.disk_identity, &read).to_string())
    }

    fn reset(
        &self,
        bundle: &SlotBundle,
        device: Option<&BundleDevice>,
        step: WipeStep,
        work: Work<'_>,
    ) -> Result<String, Failed> {
        work.step(WorkStep::Reset)?;
        let device = device.ok_or_else(|| failed(step, "the slot has no such device"))?;
        let address = device.pci_address.parse().map_err(|why| failed(step, why))?;
        let claim = DeviceClaim { gpus: vec![address], ..DeviceClaim::default() };
        self.others_have_none(&claim, None).map_err(|why| failed(step, why))?;
        let reset = match step {
            WipeStep::GpuReset => self.devices.reset_gpu(address, bundle.gpu_module_id),
            _ => self.devices.reset_fabric(address),
        };
        reset.map_err(|fault| failed(step, fault))
    }
}

fn erase_evidence(disk: &str, erased: &Erased) -> Value {
    // Reasons against other methods may be long; which ones they were is enough here.
    let passed_over: Vec<&str> = erased.choice.passed_over.iter().filter_map(|why| why.split(':').next()).collect();
    json!({
        "disk": disk,
        "method": erased.choice.method.to_string(),
        "passed_over": passed_over,
        "bytes": erased.bytes,
        "started_us": erased.started_us,
        "ended_us": erased.ended_us,
    })
}

fn read_evidence(disk: &str, read: &ReadBack) -> Value {
    let mode = match &read.mode {
        VerifyMode::Whole => json!({"mode": "whole"}),
        VerifyMode::Sampled { metadata, sample_count, sample_bytes } => json!({
            "mode": "sampled",
            "metadata_ranges": metadata.len(),
            "metadata_bytes": metadata.iter().map(|range| range.bytes).sum::<u64>(),
            "sample_count": sample_count,
            "sample_bytes": sample_bytes,
        }),
    };
    json!({
        "disk": disk,
        "read": mode,
        "nonce": read.nonce,
        "size_bytes": read.size_bytes,
        "bytes_read": read.bytes_read,
        "nonzero_bytes": 0,
        "signatures": read.signatures.len(),
        "started_us": read.started_us,
        "ended_us": read.ended_us,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use disk::{DiskIdentity, LoopIdentity, WipeMethod, bulk::Range, wipe::Choice};
    use model::proof::EraseMethod;

    #[test]
    fn evidence_is_short_whatever_was_done() {
        let identity = DiskIdentity::Loop(LoopIdentity {
            device: "loop1".into(),
            backing_file: "/x".into(),
            size_bytes: u64::MAX / 512 * 512,
            logical_block_bytes: 512,
        });
        let long = "x".repeat(128);
        let choice = Choice {
            method: WipeMethod::Overwrite,
            passed_over: vec![format!("nvme_sanitize(2): {}", "why ".repeat(500)); 6],
        };
        let (before, after) = (identity.clone(), identity);
        let erased = Erased { choice, before, after, started_us: u64::MAX, ended_us: u64::MAX, bytes: u64::MAX };
        let text = erase_evidence(&long, &erased).to_string();
        assert_eq!(EraseMethod::named_in(&text), EraseMethod::Overwrite, "what was passed over does not count");
        assert!(text.len() <= EVIDENCE_BYTES_MAX && !text.contains("why"), "{text}");
        let metadata = vec![Range { offset: 0, bytes: 1 << 40 }; 200];
        let read = ReadBack {
            mode: VerifyMode::Sampled { metadata, sample_count: u32::MAX, sample_bytes: u64::MAX },
            nonce: "n".repeat(256),
            size_bytes: u64::MAX,
            bytes_read: u64::MAX,
            started_us: u64::MAX,
            ended_us: u64::MAX,
            first_nonzero: None,
            signatures: vec![],
        };
        let text = read_evidence(&long, &read).to_string();
        assert!(text.len() <= EVIDENCE_BYTES_MAX, "{}", text.len());
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((value["read"]["metadata_ranges"].as_u64(), value["signatures"].as_u64()), (Some(200), Some(0)));
    }
}
