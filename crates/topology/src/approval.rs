//! The one place where a slot is refused. Whoever wants to approve a slot asks here, and gets every reason at once, each with
//! the field it is about, the rule it breaks and what would be accepted. No reasons means that the slot may be sold.
//!
//! The rules fail closed: a host that was never looked at, a disk whose state is not known, a GPU without an IOMMU group are
//! refused like those that are known to be wrong. What is taken elsewhere is passed in by the caller; the database holds
//! the same line once more.

use crate::{
    SlotDevices, SlotField,
    candidate::namespaces_beside,
    discovery::{Discovery, FabricRole, Gpu, NvmeDisk},
    pci::PciAddress,
    readiness::Readiness,
    suggest::{Cidr, Mac},
};
use model::{supply::FabricClaimMode, text_enum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// More choices than this are not listed.
const CHOICES_MAX: usize = 8;

text_enum! {
    /// The rule that a refusal is about.
    ApprovalRule {
        /// Nobody has looked at the node yet.
        NoDiscovery = "no_discovery",
        /// The node lacks something that slices need.
        NodeNotReady = "node_not_ready",
        /// The field has to be filled in.
        Missing = "missing",
        /// The field is not spelled as it has to be.
        Malformed = "malformed",
        /// Slots take part in the fabric with a function of their own.
        FabricMode = "fabric_mode",
        /// The node has no such device.
        NotOnNode = "not_on_node",
        /// The host shows something else.
        DiffersFromHost = "differs_from_host",
        /// Another slot has it.
        UsedByOtherSlot = "used_by_other_slot",
        /// The MAC was given out by a maker, or is for several interfaces at once.
        NotLocalUnicast = "not_local_unicast",
        /// The address is not one that a guest in this pool may have.
        OutsidePoolRange = "outside_pool_range",
        /// Two disks show this identity.
        IdentityShared = "identity_shared",
        /// It cannot be seen who uses the disk, or what is on it.
        DiskStateUnknown = "disk_state_unknown",
        /// The host's own system is on the disk. No grant lifts this.
        SystemDisk = "system_disk",
        /// The disk or a part of it is mounted.
        DiskMounted = "disk_mounted",
        /// The host swaps to the disk.
        DiskSwap = "disk_swap",
        /// Something is built on top of the disk.
        DiskHeld = "disk_held",
        /// There is something on the disk.
        DiskNotBlank = "disk_not_blank",
        /// The disk is smaller than the slot's profile asks for.
        DiskTooSmall = "disk_too_small",
        /// The function is a whole port and not a share of one.
        NotAVirtualFunction = "not_a_virtual_function",
        /// The function belongs to a BlueField, which carries the host's own traffic.
        BlueFieldFunction = "bluefield_function",
        /// The device is in no IOMMU group, so nothing keeps a guest from the host's memory.
        IommuUnknown = "iommu_unknown",
        /// The device can be handed over only together with one that is not in the slot.
        IommuShared = "iommu_shared",
        /// A laboratory's slots have no such device.
        NotInLab = "not_in_lab",
    }
}

/// One reason against a slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// What it is about.
    pub field: SlotField,
    /// The rule that is broken.
    pub rule: ApprovalRule,
    /// What is wrong.
    pub detail: String,
    /// What would be accepted.
    pub accepted: String,
}

/// A slot that somebody wants to approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotRequest {
    /// Its devices.
    pub devices: SlotDevices,
    /// The GPU's own unique name, when the request names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_uuid: Option<String>,
    /// The addresses that the pool's guests may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_range: Option<Cidr>,
    /// The smallest disk that it may have.
    #[serde(default)]
    pub min_disk_bytes: u64,
    /// Whether it is a laboratory's: then it has neither a GPU nor a fabric function, and a file for a disk.
    #[serde(default)]
    pub is_lab: bool,
}

/// A slot that exists already, on this node or another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakenSlot {
    /// What it is called in a refusal.
    pub slot: String,
    /// Whether it is on the same node. Places on the bus are compared only then.
    pub same_node: bool,
    /// Its devices.
    pub devices: SlotDevices,
    /// Its GPU's own unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_uuid: Option<String>,
}

text_enum! {
    /// What is on record about a disk.
    DiskGrantKind {
        /// What was on it has been erased, and that was proved. Lifts `disk_not_blank`.
        WipeProof = "wipe_proof",
        /// Infrastructure has given the disk to the platform, whoever uses it now. Lifts `disk_not_blank`, `disk_mounted`,
        /// `disk_swap` and `disk_held`; the slot still cannot be sold until the host shows the disk free.
        Remap = "remap",
    }
}

/// A recorded right to use a disk that is not blank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskGrant {
    /// Which disk.
    pub nvme_identity: String,
    /// Which right.
    pub kind: DiskGrantKind,
}

/// Every reason against a slot, in a fixed order.
pub fn validate(
    request: &SlotRequest,
    discovery: Option<&Discovery>,
    readiness: Option<&Readiness>,
    others: &[TakenSlot],
    grants: &[DiskGrant],
) -> Vec<Refusal> {
    let mut verdict = Verdict { request, refusals: Vec::new() };
    verdict.node(discovery, readiness);
    verdict.missing();
    let places = verdict.shapes();
    verdict.taken(discovery, others);
    if let Some(discovery) = discovery {
        if request.is_lab {
            verdict.lab_disk(discovery);
        } else {
            verdict.gpu(discovery, places.gpu);
            verdict.disk(discovery, grants);
            verdict.fabric(discovery, places.function);
            verdict.isolation(discovery, places);
        }
    }
    verdict.refusals.sort();
    verdict.refusals
}

/// What another slot has in a field.
type Theirs = fn(&TakenSlot) -> &Option<String>;

/// The places on the bus that a request names, as far as they are well formed.
#[derive(Clone, Copy)]
struct Places {
    gpu: Option<PciAddress>,
    function: Option<PciAddress>,
}

struct Verdict<'a> {
    request: &'a SlotRequest,
    refusals: Vec<Refusal>,
}

impl Verdict<'_> {
    fn refuse(&mut self, field: SlotField, rule: ApprovalRule, detail: impl Into<String>, accepted: impl Into<String>) {
        self.refusals.push(Refusal { field, rule, detail: detail.into(), accepted: accepted.into() });
    }

    fn node(&mut self, discovery: Option<&Discovery>, readiness: Option<&Readiness>) {
        let ready = "a node whose required readiness checks are all ok";
        match (discovery, readiness) {
            (None, _) => self.refuse(
                SlotField::Node,
                ApprovalRule::NoDiscovery,
                "Nobody has looked at this node yet.",
                "a node with a finished discovery",
            ),
            (Some(_), None) => {
                let detail = "There is no readiness evidence of this node.";
                self.refuse(SlotField::Node, ApprovalRule::NodeNotReady, detail, ready);
            }
            (Some(_), Some(readiness)) if !readiness.ready() => {
                let blocking: Vec<&str> = readiness.blocking().map(|check| check.check.as_str()).collect();
                let detail = format!("The node is not ready: {}.", blocking.join(", "));
                self.refuse(SlotField::Node, ApprovalRule::NodeNotReady, detail, ready);
            }
            _ => {}
        }
    }

    fn missing(&mut self) {
        if self.request.is_lab {
            return self.missing_in_lab();
        }
        let devices = &self.request.devices;
        if devices.fabric_claim_mode != FabricClaimMode::PerSlotVf {
            self.refuse(
                SlotField::FabricClaimMode,
                ApprovalRule::FabricMode,
                format!("The slot's fabric mode is `{}`.", devices.fabric_claim_mode),
                FabricClaimMode::PerSlotVf.as_str(),
            );
        }
        // The mode is its own field; here it is only asked whether the function is named.
        let as_if = SlotDevices { fabric_claim_mode: FabricClaimMode::PerSlotVf, ..devices.clone() };
        for field in as_if.missing() {
            let detail = format!("`{field}` is missing.");
            self.refuse(
                field.into(),
                ApprovalRule::Missing,
                detail,
                "a value; the candidate of this GPU has one to suggest",
            );
        }
    }

    /// A laboratory's slot has a disk and addresses, and must not have what a sold one has.
    fn missing_in_lab(&mut self) {
        let devices = self.request.devices.clone();
        for field in devices.missing_of(false, false) {
            let accepted = "a value; the candidate of this disk has one to suggest";
            self.refuse(field.into(), ApprovalRule::Missing, format!("`{field}` is missing."), accepted);
        }
        let given = [
            (SlotField::GpuPciAddress, known(&devices.gpu_pci_address).is_some()),
            (SlotField::FabricVfPciAddress, known(&devices.fabric_vf_pci_address).is_some()),
            (SlotField::FabricClaimMode, devices.fabric_claim_mode != FabricClaimMode::None),
        ];
        for (field, given) in given {
            if given {
                let detail = format!("`{field}` is given, and the slot is a laboratory's.");
                self.refuse(field, ApprovalRule::NotInLab, detail, "nothing; slots with GPUs are in other pools");
            }
        }
    }

    fn lab_disk(&mut self, discovery: &Discovery) {
        let Some(identity) = known(&self.request.devices.nvme_identity) else { return };
        let field = SlotField::NvmeIdentity;
        let Some(disk) = discovery.lab_disk_with(identity) else {
            let there = choices(discovery.lab_disks.iter().map(|disk| disk.identity.clone()));
            let detail = format!("The node has no loop device with the identity {identity}.");
            self.refuse(field, ApprovalRule::NotOnNode, detail, there);
            return;
        };
        let (size, least) = (disk.size_bytes, self.request.min_disk_bytes);
        if size < least {
            let detail = format!("The disk has {size} bytes, less than the slot's profile asks for.");
            self.refuse(field, ApprovalRule::DiskTooSmall, detail, format!("a disk of at least {least} bytes"));
        }
        if !discovery.mounts_known {
            let detail = "It cannot be seen what is mounted on this node.";
            self.refuse(field, ApprovalRule::DiskStateUnknown, detail, "a node whose mounts can be read");
        }
        if !disk.used_for.is_empty() {
            let detail = format!("The host uses {}: {}.", disk.device, disk.used_for.join(", "));
            self.refuse(field, ApprovalRule::DiskMounted, detail, "a disk that nobody uses");
        }
    }

    fn shapes(&mut self) -> Places {
        let devices = self.request.devices.clone();
        let gpu = self.address(SlotField::GpuPciAddress, known(&devices.gpu_pci_address));
        let function = self.address(SlotField::FabricVfPciAddress, known(&devices.fabric_vf_pci_address));
        if let Some(text) = known(&devices.nvme_identity)
            && (text.len() > 256 || text.trim() != text || text.chars().any(|c| c.is_control() || c == ' '))
        {
            let detail = "The identity contains blanks or control characters, or is longer than 256 bytes.";
            self.refuse(SlotField::NvmeIdentity, ApprovalRule::Malformed, detail, "an identity as discovery shows it");
        }
        self.mac(known(&devices.mgmt_mac));
        self.private_ip(known(&devices.private_ip));
        Places { gpu, function }
    }

    fn address(&mut self, field: SlotField, text: Option<&str>) -> Option<PciAddress> {
        let text = text?;
        let address = PciAddress::canonical(text);
        if address.is_none() {
            let accepted = "a PCI address in lower case, such as 0000:0f:00.0";
            self.refuse(field, ApprovalRule::Malformed, format!("`{}` is no PCI address.", brief(text)), accepted);
        }
        address
    }

    fn mac(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        let accepted = "a locally administered unicast MAC in lower case, such as 02:00:00:00:2a:05";
        match Mac::canonical(text) {
            None => {
                let detail = format!("`{}` is no MAC.", brief(text));
                self.refuse(SlotField::MgmtMac, ApprovalRule::Malformed, detail, accepted);
            }
            Some(mac) if !mac.is_local_unicast() => {
                let detail = format!("{mac} was given out by a maker, or is for several interfaces at once.");
                self.refuse(SlotField::MgmtMac, ApprovalRule::NotLocalUnicast, detail, accepted);
            }
            Some(_) => {}
        }
    }

    fn private_ip(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        match (text.parse::<Ipv4Addr>(), self.request.pool_range) {
            (Err(_), _) => {
                let detail = format!("`{}` is no IPv4 address.", brief(text));
                self.refuse(SlotField::PrivateIp, ApprovalRule::Malformed, detail, "an IPv4 address such as 10.64.0.1");
            }
            (Ok(address), Some(range)) if !range.has_host(address) => {
                let detail = format!("{address} is not an address that a guest in {range} may have.");
                let accepted =
                    format!("an address between {} and {}, both excluded", range.network(), range.broadcast());
                self.refuse(SlotField::PrivateIp, ApprovalRule::OutsidePoolRange, detail, accepted);
            }
            _ => {}
        }
    }

    fn taken(&mut self, discovery: Option<&Discovery>, others: &[TakenSlot]) {
        let devices = self.request.devices.clone();
        let uuid = self.uuid(discovery);
        let mut others: Vec<&TakenSlot> = others.iter().collect();
        others.sort_by(|a, b| a.slot.cmp(&b.slot));
        let fields: [(SlotField, Option<&str>, bool, Theirs); 6] = [
            (SlotField::GpuPciAddress, known(&devices.gpu_pci_address), true, |o| &o.devices.gpu_pci_address),
            (SlotField::GpuUuid, uuid.as_deref(), false, |o| &o.gpu_uuid),
            // Files of two hosts may have one path; real disks have names of their own.
            (SlotField::NvmeIdentity, known(&devices.nvme_identity), self.request.is_lab, |o| &o.devices.nvme_identity),
            (SlotField::MgmtMac, known(&devices.mgmt_mac), false, |o| &o.devices.mgmt_mac),
            (SlotField::PrivateIp, known(&devices.private_ip), false, |o| &o.devices.private_ip),
            (SlotField::FabricVfPciAddress, known(&devices.fabric_vf_pci_address), true, |o| {
                &o.devices.fabric_vf_pci_address
            }),
        ];
        for (field, value, on_node_only, of) in fields {
            let Some(value) = value else { continue };
            let holds = |other: &&&TakenSlot| {
                (other.same_node || !on_node_only)
                    && known(of(other)).is_some_and(|theirs| theirs.trim().eq_ignore_ascii_case(value.trim()))
            };
            if let Some(other) = others.iter().find(holds) {
                let at = if other.same_node { "on this node" } else { "on another node" };
                let detail = format!("{} is used by slot {} {at}.", brief(value), other.slot);
                self.refuse(field, ApprovalRule::UsedByOtherSlot, detail, "one that no other slot has");
            }
        }
    }

    /// The name that the request gives its GPU, or else the one the host shows.
    fn uuid(&self, discovery: Option<&Discovery>) -> Option<String> {
        let shown = || {
            let address = PciAddress::canonical(self.request.devices.gpu_pci_address.as_deref()?)?;
            discovery?.gpu_at(address)?.uuid.clone()
        };
        known(&self.request.gpu_uuid).map(str::to_owned).or_else(shown)
    }

    fn gpu(&mut self, discovery: &Discovery, address: Option<PciAddress>) {
        let Some(address) = address else { return };
        let Some(gpu) = discovery.gpu_at(address) else {
            let there = choices(discovery.gpus.iter().map(|gpu| gpu.pci.address.to_string()));
            let detail = format!("The node has no GPU at {address}.");
            self.refuse(SlotField::GpuPciAddress, ApprovalRule::NotOnNode, detail, there);
            return;
        };
        let request = self.request;
        // What the host cannot show at the moment, because a guest has the device, is not held against the slot.
        let module = (request.devices.gpu_module_id.map(|id| id.to_string()), gpu.module_id.map(|id| id.to_string()));
        let node = (request.devices.numa_node.map(|n| n.to_string()), gpu.pci.numa_node.map(|n| n.to_string()));
        let uuid = (known(&request.gpu_uuid).map(str::to_owned), gpu.uuid.clone());
        for (field, (wanted, shown)) in
            [(SlotField::GpuModuleId, module), (SlotField::NumaNode, node), (SlotField::GpuUuid, uuid)]
        {
            if let (Some(wanted), Some(shown)) = (wanted, shown)
                && wanted != shown
            {
                let detail = format!("The GPU at {address} shows `{shown}`, not `{}`.", brief(&wanted));
                self.refuse(field, ApprovalRule::DiffersFromHost, detail, shown);
            }
        }
    }

    fn disk(&mut self, discovery: &Discovery, grants: &[DiskGrant]) {
        let Some(identity) = known(&self.request.devices.nvme_identity) else { return };
        if self.refusals.iter().any(|r| (r.field, r.rule) == (SlotField::NvmeIdentity, ApprovalRule::Malformed)) {
            return;
        }
        let Some(disk) = discovery.nvme_with(identity) else {
            let there = choices(discovery.nvme_disks.iter().filter_map(|disk| disk.identity.clone()));
            let detail = format!("The node has no disk with the identity {identity}.");
            self.refuse(SlotField::NvmeIdentity, ApprovalRule::NotOnNode, detail, there);
            return;
        };
        if disk.identity_shared {
            let detail = format!("Several disks of the node show the identity {identity}.");
            self.refuse(
                SlotField::NvmeIdentity,
                ApprovalRule::IdentityShared,
                detail,
                "a disk with an identity of its own",
            );
            return;
        }
        // One whose size is not shown is judged by the other rules.
        let least = self.request.min_disk_bytes;
        if let Some(size) = disk.size_bytes.filter(|size| *size < least) {
            let detail = format!("The disk has {size} bytes, less than the slot's profile asks for.");
            let accepted = format!("a disk of at least {least} bytes");
            self.refuse(SlotField::NvmeIdentity, ApprovalRule::DiskTooSmall, detail, accepted);
        }
        let granted =
            |kind: DiskGrantKind| grants.iter().any(|grant| grant.kind == kind && grant.nvme_identity == identity);
        let (remapped, wiped) = (granted(DiskGrantKind::Remap), granted(DiskGrantKind::WipeProof));
        for disk in namespaces_beside(discovery, disk) {
            if let Some((rule, detail, accepted)) = disk_trouble(discovery, disk, remapped, wiped) {
                self.refuse(SlotField::NvmeIdentity, rule, detail, accepted);
            }
        }
    }

    fn fabric(&mut self, discovery: &Discovery, address: Option<PciAddress>) {
        let Some(address) = address else { return };
        let field = SlotField::FabricVfPciAddress;
        let fit = discovery.fabric_functions.iter().filter(|f| f.role == FabricRole::Virtual && !f.bluefield);
        let accepted = choices(fit.map(|function| function.pci.address.to_string()));
        match discovery.fabric_at(address) {
            None => {
                let detail = format!("The node has no fabric function at {address}.");
                self.refuse(field, ApprovalRule::NotOnNode, detail, accepted);
            }
            Some(function) if function.bluefield => {
                let detail = format!("{address} belongs to a BlueField, which carries the host's own traffic.");
                self.refuse(field, ApprovalRule::BlueFieldFunction, detail, accepted);
            }
            Some(function) if function.role != FabricRole::Virtual => {
                let detail = format!("{address} is a physical function, a whole port of its card.");
                self.refuse(field, ApprovalRule::NotAVirtualFunction, detail, accepted);
            }
            Some(_) => {}
        }
    }

    /// GPU and fabric function are handed to the guest, so whatever shares their groups goes with them.
    fn isolation(&mut self, discovery: &Discovery, places: Places) {
        let gpu = places.gpu.and_then(|address| discovery.gpu_at(address));
        let function = places.function.and_then(|address| discovery.fabric_at(address));
        let function = function.filter(|function| function.role == FabricRole::Virtual && !function.bluefield);
        let disk = known(&self.request.devices.nvme_identity).and_then(|identity| discovery.nvme_with(identity));
        let disk = disk.and_then(|disk| disk.pci.as_ref()).map(|pci| pci.address);
        let bundle: Vec<PciAddress> = [places.gpu, places.function, disk].into_iter().flatten().collect();
        let gpu_pci = gpu.map(|gpu: &Gpu| (SlotField::GpuPciAddress, &gpu.pci));
        let function_pci = function.map(|function| (SlotField::FabricVfPciAddress, &function.pci));
        for (field, pci) in [gpu_pci, function_pci].into_iter().flatten() {
            let Some(number) = pci.iommu_group else {
                let detail = format!("{} is in no IOMMU group.", pci.address);
                self.refuse(field, ApprovalRule::IommuUnknown, detail, "a device in an IOMMU group");
                continue;
            };
            // The other functions of the GPU itself, such as its sound output, are part of it.
            let own = |member: PciAddress| field == SlotField::GpuPciAddress && member.is_sibling_of(pci.address);
            let members = discovery.iommu_group(number).map(|group| group.members.as_slice()).unwrap_or_default();
            let strangers: Vec<String> = members
                .iter()
                .filter(|member| !bundle.contains(member) && !own(**member))
                .map(PciAddress::to_string)
                .collect();
            if !strangers.is_empty() {
                let detail = format!("{} shares IOMMU group {number} with {}.", pci.address, choices(strangers));
                let accepted = "a device that shares its IOMMU group with nothing outside the slot";
                self.refuse(field, ApprovalRule::IommuShared, detail, accepted);
            }
        }
    }
}

/// The worst thing about a disk that its grants do not lift.
fn disk_trouble(
    discovery: &Discovery,
    disk: &NvmeDisk,
    remapped: bool,
    wiped: bool,
) -> Option<(ApprovalRule, String, &'static str)> {
    let name = disk.name.as_deref().unwrap_or("the disk");
    let (mounts, holders, content) = (disk.mount_points(), disk.holders(), disk.content());
    let free = "a disk that nobody uses, or this one with a remap on record";
    let blank = "a blank disk, or this one with a wipe proof or a remap on record";
    if !discovery.mounts_known {
        let detail = "It cannot be seen what is mounted on this node.".to_owned();
        return Some((ApprovalRule::DiskStateUnknown, detail, "a node whose mounts can be read"));
    }
    if disk.system_disk {
        let detail = format!("{name} carries the host's own system.");
        return Some((ApprovalRule::SystemDisk, detail, "a disk without the host's system; no grant lifts this"));
    }
    if !mounts.is_empty() && !remapped {
        let detail = format!("{name} is mounted at {}.", mounts.join(", "));
        return Some((ApprovalRule::DiskMounted, detail, free));
    }
    if disk.swaps() && !remapped {
        return Some((ApprovalRule::DiskSwap, format!("The host swaps to {name}."), free));
    }
    if !holders.is_empty() && !remapped {
        let detail = format!("{} is built on top of {name}.", holders.join(", "));
        return Some((ApprovalRule::DiskHeld, detail, free));
    }
    if remapped || wiped {
        return None;
    }
    if !disk.content_known() {
        let detail = format!("Nobody looked at what is on {name}.");
        return Some((ApprovalRule::DiskStateUnknown, detail, blank));
    }
    let detail = || format!("{name} is not blank: {}.", content.join(", "));
    (!content.is_empty()).then(|| (ApprovalRule::DiskNotBlank, detail(), blank))
}

fn known(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.trim().is_empty())
}

fn choices(all: impl IntoIterator<Item = String>) -> String {
    let all: Vec<String> = all.into_iter().collect();
    let more = all.len().saturating_sub(CHOICES_MAX);
    let listed = all.iter().take(CHOICES_MAX).cloned().collect::<Vec<_>>().join(", ");
    match (all.len(), more) {
        (0, _) => "nothing on this node".into(),
        (_, 0) => listed,
        _ => format!("{listed} and {more} more"),
    }
}

fn brief(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}
