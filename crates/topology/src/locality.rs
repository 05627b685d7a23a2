//! Where the devices of a slot hang on their host, as small numbers: slots of one node with the same number share a PCIe
//! switch, or a rail of the fabric. Nodes that are built alike number alike, because both are counted by address.

use crate::{
    SlotDevices,
    discovery::{Discovery, FabricFunction},
    pci::PciAddress,
};
use std::collections::BTreeSet;

/// The place of a slot on its host. What the host does not show is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Locality {
    /// The PCIe switch that the GPU hangs off directly, counted from 0.
    pub pcie_switch: Option<u32>,
    /// The fabric port that the slot's function was cut from, counted from 0. The cards of the host's own traffic are no rails.
    pub rail: Option<u32>,
}

/// Reads the place of a slot off its host.
pub fn locality(devices: &SlotDevices, discovery: &Discovery) -> Locality {
    Locality { pcie_switch: pcie_switch(devices, discovery), rail: rail(devices, discovery) }
}

fn pcie_switch(devices: &SlotDevices, discovery: &Discovery) -> Option<u32> {
    let gpu = discovery.gpu_at(place(devices.gpu_pci_address.as_deref())?)?;
    let upstream = *gpu.pci.switches.last()?;
    number_of(upstream, discovery.pcie_switches.iter().map(|switch| switch.upstream_port))
}

fn rail(devices: &SlotDevices, discovery: &Discovery) -> Option<u32> {
    let function = discovery.fabric_at(place(devices.fabric_vf_pci_address.as_deref())?)?;
    let rails = discovery.fabric_functions.iter().filter(|function| !function.bluefield).map(port);
    number_of(port(function), rails)
}

// The port itself, or what a share of it was cut from.
fn port(function: &FabricFunction) -> PciAddress {
    function.parent.unwrap_or(function.pci.address)
}

// Which of these it is, in the order of their addresses.
fn number_of(one: PciAddress, all: impl Iterator<Item = PciAddress>) -> Option<u32> {
    let all: BTreeSet<PciAddress> = all.collect();
    all.iter().position(|other| *other == one).and_then(|at| u32::try_from(at).ok())
}

fn place(address: Option<&str>) -> Option<PciAddress> {
    address.and_then(PciAddress::canonical)
}
