//! Network functions: those that can do RDMA with their ports and virtual functions, the others with their interfaces, and
//! which of them belong to a BlueField.

use super::{
    BlueFieldFunction, FabricFunction, FabricPort, FabricRole, LinkLayer, NetworkFunction, NetworkInterface,
    functions::{self, Function},
    scan::Scan,
};
use crate::{
    pci::{Kind, PciAddress},
    tree::joined,
};
use std::collections::BTreeMap;

const INTERFACES: &str = "sys/class/net";
const RDMA_DEVICES: &str = "sys/class/infiniband";

/// The functions that this is about.
pub(super) struct Functions<'a> {
    pub(super) fabric: Vec<&'a Function>,
    pub(super) plain: Vec<&'a Function>,
    pub(super) management: Vec<&'a Function>,
}

/// What they turn out to be.
pub(super) struct Network {
    pub(super) fabric: Vec<FabricFunction>,
    pub(super) plain: Vec<NetworkFunction>,
    pub(super) bluefield: Vec<BlueFieldFunction>,
}

pub(super) fn read(scan: &mut Scan<'_>, all: &BTreeMap<PciAddress, Function>, functions: Functions<'_>) -> Network {
    let mut interfaces = interfaces(scan);
    let mut network = Network { fabric: Vec::new(), plain: Vec::new(), bluefield: Vec::new() };
    for function in functions.fabric {
        let interfaces = interfaces.remove(&function.pci.address).unwrap_or_default();
        let fabric = fabric(scan, all, function, interfaces);
        if fabric.bluefield {
            network.bluefield.push(bluefield(function, false));
        }
        network.fabric.push(fabric);
    }
    for function in functions.plain {
        let interfaces = interfaces.remove(&function.pci.address).unwrap_or_default();
        network.plain.push(NetworkFunction { pci: function.pci.clone(), parent: function.parent, interfaces });
    }
    network.bluefield.extend(functions.management.into_iter().map(|function| bluefield(function, true)));
    network.bluefield.sort_by_key(|function| function.pci_address);
    network
}

fn bluefield(function: &Function, management: bool) -> BlueFieldFunction {
    let name = function.known().map_or("BlueField virtual function", |known| known.name);
    BlueFieldFunction { pci_address: function.pci.address, name: name.to_owned(), management }
}

fn fabric(
    scan: &mut Scan<'_>,
    all: &BTreeMap<PciAddress, Function>,
    function: &Function,
    interfaces: Vec<NetworkInterface>,
) -> FabricFunction {
    let parent = function.parent.and_then(|parent| all.get(&parent));
    let is_bluefield = |function: &Function| function.known().is_some_and(|known| known.kind == Kind::BlueField);
    let place = |parent: &Function| parent.vfs.iter().position(|share| *share == function.pci.address);
    let vf_index = parent.and_then(place).and_then(|at| u32::try_from(at).ok());
    let device = function.rdma.as_ref().map(|name| joined(RDMA_DEVICES, name));
    let of_device = |scan: &mut Scan<'_>, file: &str| scan.line(&joined(device.as_ref()?, file));
    FabricFunction {
        pci: function.pci.clone(),
        role: if function.parent.is_some() { FabricRole::Virtual } else { FabricRole::Physical },
        parent: function.parent,
        vf_index,
        vfs: function.vfs.clone(),
        vfs_max: scan.number(&joined(&function.path, "sriov_totalvfs")),
        bluefield: is_bluefield(parent.unwrap_or(function)),
        rdma_name: function.rdma.clone(),
        node_guid: of_device(scan, "node_guid"),
        card_guid: of_device(scan, "sys_image_guid"),
        firmware: of_device(scan, "fw_ver"),
        ports: device.as_ref().map(|device| ports(scan, device)).unwrap_or_default(),
        interfaces,
    }
}

fn ports(scan: &mut Scan<'_>, device: &str) -> Vec<FabricPort> {
    let directory = joined(device, "ports");
    let mut ports = Vec::new();
    for name in scan.tree.children(&directory) {
        let path = joined(&directory, name);
        let Ok(number) = name.parse() else {
            scan.note(&path, "expected a port's number");
            continue;
        };
        // `4: ACTIVE`
        let word = |scan: &mut Scan<'_>, file: &str| {
            let line = scan.line(&joined(&path, file))?;
            Some(line.split_once(": ").map_or(line.as_str(), |(_, word)| word).to_ascii_lowercase())
        };
        let link_layer = match word(scan, "link_layer").as_deref() {
            Some("infiniband") => Some(LinkLayer::Infiniband),
            Some("ethernet") => Some(LinkLayer::Ethernet),
            _ => None,
        };
        let (state, physical_state) = (word(scan, "state"), word(scan, "phys_state"));
        let rate_mbps = scan.line(&joined(&path, "rate")).and_then(|rate| megabits(&rate));
        ports.push(FabricPort { number, link_layer, state, physical_state, rate_mbps });
    }
    ports.sort_by_key(|port| port.number);
    ports
}

/// `400 Gb/sec (4X NDR)`, `2.5 Gb/sec (1X SDR)`
fn megabits(rate: &str) -> Option<u64> {
    let (number, unit) = rate.split_once(' ')?;
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let tenths = (tenths.len() == 1).then(|| tenths.parse::<u64>().ok()).flatten()?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(1000)?;
    unit.starts_with("Gb/sec").then(|| whole.checked_add(tenths * 100)).flatten()
}

/// The interfaces of each function. Those of none (bridges, tunnels, loopback) are not hardware.
fn interfaces(scan: &mut Scan<'_>) -> BTreeMap<PciAddress, Vec<NetworkInterface>> {
    let mut interfaces: BTreeMap<PciAddress, Vec<NetworkInterface>> = BTreeMap::new();
    for name in scan.tree.children(INTERFACES) {
        let path = joined(INTERFACES, name);
        let Some(address) = functions::owner(scan, &path) else { continue };
        // An interface without a cable says -1.
        let speed = scan.number::<i64>(&joined(&path, "speed"));
        interfaces.entry(address).or_default().push(NetworkInterface {
            name: name.to_owned(),
            hardware_address: scan.line(&joined(&path, "address")),
            state: scan.line(&joined(&path, "operstate")),
            speed_mbps: speed.and_then(|speed| u64::try_from(speed).ok()).filter(|speed| *speed < u64::from(u32::MAX)),
            mtu: scan.number(&joined(&path, "mtu")),
        });
    }
    interfaces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_without_fractions() {
        assert_eq!(megabits("400 Gb/sec (4X NDR)"), Some(400_000));
        assert_eq!(megabits("2.5 Gb/sec (1X SDR)"), Some(2_500));
        for bad in ["", "fast", "400", "400 Mb/sec", "2.55 Gb/sec"] {
            assert_eq!(megabits(bad), None, "{bad}");
        }
    }
}
