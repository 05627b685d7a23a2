//! What a host has, read out of a captured tree. A pure function: the same tree gives the same answer, byte for byte.
//!
//! Nothing is guessed and nothing is dropped. A function on the PCI bus is put where it belongs (GPU, disk, fabric, network,
//! NVSwitch, bridge) or listed under `other` with its raw ids; a file that cannot be made sense of becomes a note with its
//! path. Where nobody could be asked, the field is empty, which is not the same as "no".
//!
//! What comes out is a list of facts. Whether the host is fit for slices is [`crate::readiness`]'s question, which devices
//! belong together is [`crate::candidate`]'s, and whether a slot may be approved is [`crate::approval`]'s.

mod disks;
mod functions;
mod gpus;
mod host;
mod network;
mod scan;
mod seen;

pub use seen::*;

use crate::{
    ModuleId, Partitions,
    pci::{self, Kind, PciAddress, class},
    probe::{self, CaptureReport, FabricPartition, FabricProbe, ImageCacheProbe, LabProbe, NvmlProbe, ToolsProbe},
    tree::Tree,
};
use functions::Function;
use scan::Scan;
use std::collections::{BTreeMap, BTreeSet};

/// Reads a captured tree.
pub fn discover(tree: &Tree) -> Discovery {
    let mut scan = Scan::new(tree);
    let numa_nodes = host::numa_nodes(&mut scan);
    let functions = functions::read(&mut scan, &numa_nodes);
    let nvml: Option<NvmlProbe> = scan.probe(probe::NVML);
    let fabric_told: Option<FabricProbe> = scan.probe(probe::FABRIC);
    let mut sorted = Sorted::of(&functions);

    let gpus = gpus::read(&mut scan, &sorted.take(Place::Gpu), nvml.as_ref());
    let told: Option<LabProbe> = scan.probe(probe::LAB);
    let disks::Disks { nvme: nvme_disks, others: other_disks, lab: lab_disks, mounts_known } =
        disks::read(&mut scan, &functions, &sorted.take(Place::Nvme), told.as_ref());
    let network = network::read(&mut scan, &functions, sorted.network());
    let partitions = partitions(&mut scan, fabric_told.as_ref(), &gpus);
    let host = host::facts(&mut scan, nvml.and_then(|nvml| nvml.driver_version));
    let tools: Option<ToolsProbe> = scan.probe(probe::TOOLS);
    let image_cache: Option<ImageCacheProbe> = scan.probe(probe::IMAGE_CACHE);
    if let Some(report) = scan.probe::<CaptureReport>(probe::CAPTURE) {
        report.skipped.iter().for_each(|skipped| scan.note(&skipped.path, &skipped.reason));
    }
    Discovery {
        host,
        numa_nodes,
        pcie_switches: pcie_switches(&gpus, &nvme_disks, &network.fabric),
        iommu_groups: iommu_groups(&functions),
        gpus,
        nvme_disks,
        other_disks,
        lab_disks,
        mounts_known,
        fabric_functions: network.fabric,
        network_functions: network.plain,
        bluefield_functions: network.bluefield,
        nvswitches: sorted.take(Place::NvSwitch).iter().map(|function| function.pci.clone()).collect(),
        bridges: sorted.take(Place::Bridge).iter().map(|function| function.pci.clone()).collect(),
        fabric_manager: fabric_told,
        partitions,
        tools,
        image_cache,
        other: sorted.take(Place::Other).iter().map(|function| function.pci.clone()).collect(),
        notes: scan.notes(),
    }
}

/// Where in the discovery a function is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Gpu,
    Nvme,
    Fabric,
    Network,
    BlueFieldManagement,
    NvSwitch,
    Bridge,
    Other,
}

/// Every function, by where it is listed.
struct Sorted<'a> {
    places: BTreeMap<Place, Vec<&'a Function>>,
}

impl<'a> Sorted<'a> {
    fn of(functions: &'a BTreeMap<PciAddress, Function>) -> Self {
        let mut places: BTreeMap<Place, Vec<&Function>> = BTreeMap::new();
        for function in functions.values() {
            places.entry(place(function, functions)).or_default().push(function);
        }
        Self { places }
    }

    fn take(&mut self, place: Place) -> Vec<&'a Function> {
        self.places.remove(&place).unwrap_or_default()
    }

    fn network(&mut self) -> network::Functions<'a> {
        network::Functions {
            fabric: self.take(Place::Fabric),
            plain: self.take(Place::Network),
            management: self.take(Place::BlueFieldManagement),
        }
    }
}

fn place(function: &Function, all: &BTreeMap<PciAddress, Function>) -> Place {
    let class = function.class.unwrap_or(0);
    let maker = function.vendor.unwrap_or(0);
    let kind = function.known().map(|known| known.kind);
    let makes_gpus = maker == pci::NVIDIA || maker == pci::AMD;
    match kind {
        Some(Kind::NvSwitch) => Place::NvSwitch,
        Some(Kind::BlueFieldManagement) => Place::BlueFieldManagement,
        // A virtual function of a GPU is a share of it, not another GPU.
        _ if makes_gpus && class::GPU.contains(&class) && function.parent.is_none() => Place::Gpu,
        _ if class == class::NVME => Place::Nvme,
        _ if maker == pci::NVIDIA && class == class::OTHER_BRIDGE => Place::NvSwitch,
        _ if class >> 8 == class::BRIDGE_BASE => Place::Bridge,
        _ if is_fabric(function, all) => Place::Fabric,
        _ if class >> 8 == class::ETHERNET >> 8 => Place::Network,
        _ => Place::Other,
    }
}

/// By the kernel's word, by its ids, or because the function it is a share of is one.
fn is_fabric(function: &Function, all: &BTreeMap<PciAddress, Function>) -> bool {
    let itself = |function: &Function| {
        let network = function.class.is_some_and(|class| class >> 8 == class::ETHERNET >> 8);
        let known = function.known().is_some_and(|known| matches!(known.kind, Kind::Fabric | Kind::BlueField));
        function.rdma.is_some() || network && known || function.class == Some(class::INFINIBAND)
    };
    itself(function) || function.parent.and_then(|parent| all.get(&parent)).is_some_and(itself)
}

/// The fabric manager's table. A partition's place in the table is its number, so numbers with gaps cannot be kept.
fn partitions(scan: &mut Scan<'_>, told: Option<&FabricProbe>, gpus: &[Gpu]) -> Option<Partitions> {
    let mut reported: Vec<&FabricPartition> = told?.partitions.iter().collect();
    if reported.is_empty() {
        return None;
    }
    reported.sort_by_key(|partition| partition.id);
    if !reported.iter().zip(0u32..).all(|(partition, at)| partition.id == at) {
        scan.note(probe::FABRIC, "the partitions are not numbered from 0 without gaps, so none is used");
        return None;
    }
    let sets: Vec<Vec<ModuleId>> =
        reported.iter().map(|partition| partition.gpus.iter().copied().map(ModuleId).collect()).collect();
    let board: BTreeSet<ModuleId> = sets.iter().flatten().copied().collect();
    for gpu in gpus {
        if let Some(module) = gpu.module_id.filter(|module| !board.contains(module)) {
            let reason = format!("no partition has module {module}, the GPU at {}", gpu.pci.address);
            scan.note(probe::FABRIC, &reason);
        }
    }
    match Partitions::new(&board.into_iter().collect::<Vec<_>>(), &sets) {
        Ok(partitions) => Some(partitions),
        Err(fault) => {
            scan.note(probe::FABRIC, &format!("the partitions make no sense: {fault}"));
            None
        }
    }
}

/// The switches that GPUs, disks and fabric functions hang off directly, with what hangs there.
fn pcie_switches(gpus: &[Gpu], disks: &[NvmeDisk], fabric: &[FabricFunction]) -> Vec<PcieSwitch> {
    let mut switches: BTreeMap<PciAddress, PcieSwitch> = BTreeMap::new();
    let mut put = |pci: &PciFunction, list: fn(&mut PcieSwitch) -> &mut Vec<PciAddress>| {
        if let Some(upstream) = pci.switches.last() {
            let empty = || PcieSwitch { upstream_port: *upstream, gpus: vec![], nvme: vec![], fabric: vec![] };
            list(switches.entry(*upstream).or_insert_with(empty)).push(pci.address);
        }
    };
    gpus.iter().for_each(|gpu| put(&gpu.pci, |switch| &mut switch.gpus));
    disks.iter().filter_map(|disk| disk.pci.as_ref()).for_each(|pci| put(pci, |switch| &mut switch.nvme));
    fabric.iter().for_each(|function| put(&function.pci, |switch| &mut switch.fabric));
    let mut switches: Vec<PcieSwitch> = switches.into_values().collect();
    for switch in &mut switches {
        switch.nvme.sort();
        switch.nvme.dedup();
    }
    switches
}

fn iommu_groups(functions: &BTreeMap<PciAddress, Function>) -> Vec<IommuGroup> {
    let mut groups: BTreeMap<u32, IommuGroup> = BTreeMap::new();
    for function in functions.values() {
        if let Some(number) = function.pci.iommu_group {
            let group = groups.entry(number).or_insert_with(|| IommuGroup { number, members: vec![], bridges: vec![] });
            // An NVSwitch calls itself a bridge, and is a device all the same.
            let bridge =
                function.class.is_some_and(|class| class >> 8 == class::BRIDGE_BASE && class != class::OTHER_BRIDGE);
            if bridge { &mut group.bridges } else { &mut group.members }.push(function.pci.address);
        }
    }
    groups.into_values().collect()
}
