//! What an approval is judged by, read together, and the verdict of the one validator on it. Nothing here refuses by itself:
//! rules are `topology`'s, and what can be said as a constraint is said once more by the store.

use api::{
    Code,
    supply::{CandidateView, SlotApproveBody},
};
use model::{SlotId, supply::FabricClaimMode};
use std::collections::BTreeMap;
use store::{
    StoreError, Tx,
    discoveries::{self, DiscoveryRow},
    grants,
    nodes::NodeRow,
    pools, slot_profiles,
    slots::{self, Approval, Marks, SlotParts, SlotRow},
};
use topology::{
    ApprovalRule, ApprovedSlot, Cidr, Discovery, DiskGrant, DiskGrantKind, ModuleId, Naming, Partitions, PciAddress,
    Readiness, Refusal as Rule, SlotDevices, SlotRequest, TakenSlot,
};

use super::listed;
use crate::{driver::write_json, front_door::Refusal, promotion};

/// The newest discovery of a node.
pub(super) struct FoundThere {
    pub(super) row: DiscoveryRow,
    pub(super) discovery: Discovery,
}

/// Everything that is known about a node when somebody wants a slot on it.
pub(super) struct Evidence {
    pub(super) node: NodeRow,
    pub(super) found: Option<FoundThere>,
    pub(super) slots: Vec<SlotRow>,
    range: Option<Cidr>,
    readiness: Option<Readiness>,
    partitions: Option<Partitions>,
    grants: Vec<DiskGrant>,
    min_disk_bytes: u64,
}

/// A slot that somebody wants: its devices, and its GPU's own name as far as the host shows it.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) devices: SlotDevices,
    pub(super) gpu_uuid: Option<String>,
}

fn corrupt<E: ToString>(column: &'static str) -> impl FnOnce(E) -> StoreError {
    move |error| StoreError::Corrupt { column: column.to_owned(), why: error.to_string() }
}

impl Evidence {
    /// Reads it all.
    pub(super) fn load(tx: &mut Tx<'_>, node: NodeRow) -> Result<Self, StoreError> {
        let found = match discoveries::latest(tx, &node.id)? {
            None => None,
            Some(row) => {
                let discovery = serde_json::from_str(&row.body).map_err(corrupt("node_discoveries.body"))?;
                Some(FoundThere { row, discovery })
            }
        };
        let pool = pools::get(tx, &node.pool_id)?.ok_or(StoreError::NotFound)?;
        let range = pool.private_range.as_deref().map(str::parse).transpose();
        // A grant is the proof on record that what is on the disk may go, whoever used it.
        let granted =
            |row: grants::GrantRow| DiskGrant { nvme_identity: row.nvme_identity, kind: DiskGrantKind::Remap };
        let profile = node.gpu_model.slot_profile().parse().map_err(corrupt("nodes.gpu_model"))?;
        let profile = slot_profiles::get(tx, &profile)?;
        Ok(Self {
            min_disk_bytes: profile.and_then(|of| u64::try_from(of.terms.min_disk_bytes).ok()).unwrap_or(0),
            found,
            slots: slots::of_node(tx, &node.id)?,
            range: range.map_err(corrupt("pools.private_range"))?,
            readiness: promotion::readiness(&node)?,
            partitions: serde_json::from_str(&node.partitions).map_err(corrupt("nodes.partitions"))?,
            grants: grants::of_node(tx, &node.id)?.into_iter().map(granted).collect(),
            node,
        })
    }

    pub(super) fn discovery(&self) -> Option<&Discovery> {
        self.found.as_ref().map(|found| &found.discovery)
    }

    /// Whether a disk's content may go.
    pub(super) fn is_granted(&self, nvme_identity: &str) -> bool {
        self.grants.iter().any(|grant| grant.nvme_identity == nvme_identity)
    }

    /// What a body asks for, with what the host shows of its GPU. What it cannot show now, because a guest has the GPU, is
    /// taken from `before`, if that is about the same GPU.
    pub(super) fn wanted(&self, body: &SlotApproveBody, before: Option<&SlotRow>) -> Wanted {
        let text = |name: &Option<model::text::DeviceName>| name.as_ref().map(|name| name.as_str().to_owned());
        let address = text(&body.gpu_pci_address);
        let gpu = address.as_deref().and_then(PciAddress::canonical).and_then(|at| self.discovery()?.gpu_at(at));
        let same = before.filter(|slot| address.is_some() && slot.parts.gpu_pci_address == address);
        let same = same.map(|slot| &slot.parts);
        let (module, numa) = if self.is_lab() {
            let disk = text(&body.nvme_identity);
            let here = self.candidates().into_iter().find(|candidate| candidate.devices.nvme_identity == disk);
            here.map_or((None, None), |found| (found.devices.gpu_module_id, found.devices.numa_node))
        } else {
            let module = gpu.and_then(|gpu| gpu.module_id).or_else(|| module_of(same?));
            (module, gpu.and_then(|gpu| gpu.pci.numa_node).or_else(|| u32::try_from(same?.numa_node?).ok()))
        };
        Wanted {
            gpu_uuid: gpu.and_then(|gpu| gpu.uuid.clone()).or_else(|| same?.gpu_uuid.clone()),
            devices: SlotDevices {
                gpu_pci_address: address,
                gpu_module_id: module,
                nvme_identity: text(&body.nvme_identity),
                mgmt_mac: text(&body.mgmt_mac),
                private_ip: text(&body.private_ip),
                fabric_claim_mode: body.fabric_claim_mode,
                fabric_vf_pci_address: text(&body.fabric_vf_pci_address),
                numa_node: numa,
            },
        }
    }

    /// Slots of other nodes that have something of what is wanted.
    pub(super) fn elsewhere(&self, tx: &mut Tx<'_>, wanted: &[Wanted]) -> Result<Vec<SlotRow>, StoreError> {
        let mut marks = Marks::default();
        for Wanted { devices, gpu_uuid } in wanted {
            marks.gpu_uuids.extend(gpu_uuid.clone());
            // Files of two hosts may have one path; only real disks have names of their own.
            marks.nvme_identities.extend(devices.nvme_identity.clone().filter(|_| !self.is_lab()));
            marks.mgmt_macs.extend(devices.mgmt_mac.clone());
            marks.private_ips.extend(devices.private_ip.clone());
        }
        let mut found = slots::having(tx, &marks)?;
        found.retain(|slot| slot.node_id != self.node.id);
        Ok(found)
    }

    /// What stands in the way of a slot. `own` is the slot that is being changed, which does not stand in its own way.
    pub(super) fn judge(&self, wanted: &Wanted, elsewhere: &[SlotRow], own: Option<&SlotId>) -> Vec<Rule> {
        let others = self.slots.iter().chain(elsewhere).filter(|slot| Some(&slot.id) != own);
        let taken: Vec<TakenSlot> = others.map(|slot| self.taken(slot)).collect();
        let (devices, gpu_uuid) = (wanted.devices.clone(), wanted.gpu_uuid.clone());
        let request = SlotRequest {
            devices,
            gpu_uuid,
            pool_range: self.range,
            min_disk_bytes: self.min_disk_bytes,
            is_lab: self.is_lab(),
        };
        let mut refusals =
            topology::validate(&request, self.discovery(), self.readiness.as_ref(), &taken, &self.grants);
        let gpu_unknown = |rule: &Rule| {
            matches!(rule.rule, ApprovalRule::NoDiscovery | ApprovalRule::NotOnNode | ApprovalRule::Malformed)
                && matches!(rule.field, topology::SlotField::Node | topology::SlotField::GpuPciAddress)
        };
        if refusals.iter().any(gpu_unknown) {
            // Where the GPU is not known, what it would show is not missing on top of that.
            refusals.retain(|rule| rule.rule != ApprovalRule::Missing || is_asked_for(rule.field));
        }
        refusals
    }

    fn taken(&self, slot: &SlotRow) -> TakenSlot {
        TakenSlot {
            slot: slot.id.to_string(),
            same_node: slot.node_id == self.node.id,
            devices: devices_of(&slot.parts),
            gpu_uuid: slot.parts.gpu_uuid.clone(),
        }
    }

    /// What the newest discovery proposes.
    pub(super) fn candidates(&self) -> Vec<topology::Candidate> {
        let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        // Nodes are counted from 1, their places in the pool's range from 0.
        let naming = Naming {
            node_number: number(self.node.number),
            pool_number: number(self.node.pool_number - 1),
            pool_range: self.range,
        };
        let Some(discovery) = self.discovery() else { return vec![] };
        if self.is_lab() {
            return topology::lab_candidates(discovery, &naming, &self.numbers());
        }
        topology::candidates(discovery, &naming)
    }

    /// Whether the node is in a laboratory's pool.
    pub(super) fn is_lab(&self) -> bool {
        self.node.gpu_model.is_lab()
    }

    /// The numbers that a laboratory's slots have, by their disks.
    fn numbers(&self) -> BTreeMap<String, u8> {
        let number =
            |slot: &SlotRow| Some((slot.parts.nvme_identity.clone()?, u8::try_from(slot.parts.gpu_module_id?).ok()?));
        self.slots.iter().filter_map(number).collect()
    }

    /// The slot that has a candidate's GPU already, or in a laboratory its disk.
    pub(super) fn slot_of(&self, candidate: &topology::Candidate) -> Option<&SlotRow> {
        if self.is_lab() {
            let disk = candidate.devices.nvme_identity.as_ref();
            return self.slots.iter().find(|slot| slot.parts.nvme_identity.as_ref() == disk);
        }
        let place = candidate.devices.gpu_pci_address.as_ref();
        self.slots.iter().find(|slot| slot.parts.gpu_pci_address.as_ref() == place)
    }

    /// Every candidate with what stands in its way now.
    pub(super) fn judged_candidates(&self, tx: &mut Tx<'_>) -> Result<Vec<CandidateView>, StoreError> {
        let candidates = self.candidates();
        let wanted: Vec<Wanted> = candidates.iter().map(Wanted::of).collect();
        let elsewhere = self.elsewhere(tx, &wanted)?;
        let judged = candidates.into_iter().zip(wanted).map(|(candidate, wanted)| {
            let slot_id = self.slot_of(&candidate).map(|slot| slot.id.clone());
            let refusals = self.judge(&wanted, &elsewhere, slot_id.as_ref());
            CandidateView { candidate, slot_id, refusals }
        });
        Ok(judged.collect())
    }

    /// A slot's row and the record of its approval.
    pub(super) fn approved(&self, wanted: &Wanted, by: &str) -> Result<(SlotParts, Approval), StoreError> {
        let Wanted { devices, gpu_uuid } = wanted;
        let discovery = self.discovery().ok_or(StoreError::NotFound)?;
        let record = ApprovedSlot::at_approval(devices.clone(), gpu_uuid.clone(), discovery);
        let locality = topology::locality(devices, discovery);
        let fabric = devices.fabric_claim_mode == FabricClaimMode::PerSlotVf;
        let ids = devices.gpu_module_id.and_then(|module| Some(self.partitions.as_ref()?.ids_with(module)));
        let parts = SlotParts {
            gpu_pci_address: devices.gpu_pci_address.clone(),
            gpu_uuid: gpu_uuid.clone(),
            gpu_module_id: devices.gpu_module_id.map(|module| module.0.into()),
            nvme_identity: devices.nvme_identity.clone(),
            mgmt_mac: devices.mgmt_mac.clone(),
            private_ip: devices.private_ip.clone(),
            fabric_claim_mode: devices.fabric_claim_mode,
            fabric_vf_pci_address: devices.fabric_vf_pci_address.clone().filter(|_| fabric),
            numa_node: devices.numa_node.map(i64::from),
            pcie_switch: locality.pcie_switch.map(i64::from),
            rail: locality.rail.map(i64::from).filter(|_| fabric),
            partition_ids: write_json(&ids.unwrap_or_default())?,
            capacity_metadata: "{}".to_owned(),
        };
        Ok((parts, Approval { devices: write_json(&record)?, by: by.to_owned() }))
    }
}

impl Wanted {
    fn of(candidate: &topology::Candidate) -> Self {
        Self { devices: candidate.devices.clone(), gpu_uuid: candidate.gpu_uuid.clone() }
    }

    /// The same devices as a slot has.
    pub(super) fn as_it_is(slot: &SlotRow) -> Self {
        Self { devices: devices_of(&slot.parts), gpu_uuid: slot.parts.gpu_uuid.clone() }
    }
}

impl From<&topology::Candidate> for Wanted {
    fn from(candidate: &topology::Candidate) -> Self {
        Self::of(candidate)
    }
}

fn module_of(parts: &SlotParts) -> Option<ModuleId> {
    parts.gpu_module_id.and_then(|module| u32::try_from(module).ok()).map(ModuleId)
}

fn devices_of(parts: &SlotParts) -> SlotDevices {
    SlotDevices {
        gpu_pci_address: parts.gpu_pci_address.clone(),
        gpu_module_id: module_of(parts),
        nvme_identity: parts.nvme_identity.clone(),
        mgmt_mac: parts.mgmt_mac.clone(),
        private_ip: parts.private_ip.clone(),
        fabric_claim_mode: parts.fabric_claim_mode,
        fabric_vf_pci_address: parts.fabric_vf_pci_address.clone(),
        numa_node: parts.numa_node.and_then(|numa| u32::try_from(numa).ok()),
    }
}

/// Whether a refusal only says that the slot is not complete yet. Without a GPU it would not be a slot of anything.
pub(super) fn is_gap(rule: &Rule) -> bool {
    let nothing = rule.rule == ApprovalRule::Missing && rule.field == topology::SlotField::GpuPciAddress;
    matches!(rule.rule, ApprovalRule::Missing | ApprovalRule::FabricMode) && !nothing
}

// Fields that a person gives; the others are read off the GPU they name.
fn is_asked_for(field: topology::SlotField) -> bool {
    use topology::SlotField as Field;
    matches!(
        field,
        Field::GpuPciAddress
            | Field::NvmeIdentity
            | Field::MgmtMac
            | Field::PrivateIp
            | Field::FabricClaimMode
            | Field::FabricVfPciAddress
    )
}

/// The problem of a slot that rules do not let through: each rule with its field and what would be accepted.
pub(super) fn refused(rules: &[Rule]) -> Refusal {
    let detail = match rules.len() {
        1 => "1 rule does not let the slot through.".to_owned(),
        count => format!("{count} rules do not let the slot through."),
    };
    listed(Code::SlotRefused, detail, rules.iter().map(|rule| (pointer(rule.field), sentence(rule))))
}

fn pointer(field: topology::SlotField) -> String {
    match field {
        topology::SlotField::Node => String::new(),
        field if is_asked_for(field) => format!("/{field}"),
        _ => "/gpu_pci_address".to_owned(),
    }
}

fn sentence(rule: &Rule) -> String {
    format!("{}: {}; {}", rule.rule, rule.detail.trim_end_matches('.'), rule.accepted)
}

/// What the store refused although no rule did: somebody was quicker.
pub(super) fn taken_meanwhile(error: StoreError) -> Refusal {
    let StoreError::UniqueViolation { constraint } = &error else { return error.into() };
    // PostgreSQL names the index, SQLite the columns.
    const RULES: &[(&[&str], &str)] = &[
        (&["slots_gpu_uuid", "gpu_uuid"], "/gpu_pci_address"),
        (&["slots_gpu", "gpu_pci_address"], "/gpu_pci_address"),
        (&["slots_nvme", "nvme_identity"], "/nvme_identity"),
        (&["slots_mac", "mgmt_mac"], "/mgmt_mac"),
        (&["slots_ip", "private_ip"], "/private_ip"),
        (&["slots_vf", "fabric_vf_pci_address"], "/fabric_vf_pci_address"),
    ];
    let place = RULES.iter().find(|(names, _)| names.iter().any(|name| constraint.contains(name)));
    let Some((_, pointer)) = place else { return error.into() };
    let rule = format!("{}: another slot has just taken it; one that no other slot has", ApprovalRule::UsedByOtherSlot);
    listed(Code::SlotRefused, "1 rule does not let the slot through.".to_owned(), [((*pointer).to_owned(), rule)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_of_the_store_names_its_field() {
        for (constraint, field) in [
            ("slots_gpu", "/gpu_pci_address"),
            ("slots_gpu_uuid", "/gpu_pci_address"),
            ("slots_nvme", "/nvme_identity"),
            ("slots_mac", "/mgmt_mac"),
            ("slots_ip", "/private_ip"),
            ("slots_vf", "/fabric_vf_pci_address"),
            ("node_resource_slots.mgmt_mac", "/mgmt_mac"),
        ] {
            let refusal = taken_meanwhile(StoreError::UniqueViolation { constraint: constraint.to_owned() });
            let problem = refusal.into_problem();
            assert_eq!((problem.code, problem.errors[0].pointer.as_str()), (Code::SlotRefused, field), "{constraint}");
        }
        let other = taken_meanwhile(StoreError::UniqueViolation { constraint: "events_one_per_version".to_owned() });
        assert!(matches!(other, Refusal::Store(_)));
    }
}
