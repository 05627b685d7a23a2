//! The functions on the PCI bus, each with its ids, driver, IOMMU group, memory node, link and the switches above it.

use super::{NumaNode, PciFunction, PciLink, scan::Scan};
use crate::{
    pci::{self, Known, PciAddress},
    tree::joined,
};
use std::collections::BTreeMap;

pub(super) const DEVICES: &str = "sys/bus/pci/devices";
const RDMA_DEVICES: &str = "sys/class/infiniband";

/// A function with what is needed to tell where it belongs.
pub(super) struct Function {
    pub(super) pci: PciFunction,
    /// Its directory.
    pub(super) path: String,
    pub(super) vendor: Option<u16>,
    pub(super) device: Option<u16>,
    /// The upper two bytes of the class.
    pub(super) class: Option<u16>,
    /// What a virtual function was cut from.
    pub(super) parent: Option<PciAddress>,
    /// What was cut from a physical one, in the order in which the card numbers them.
    pub(super) vfs: Vec<PciAddress>,
    /// What the kernel calls it as an RDMA device.
    pub(super) rdma: Option<String>,
}

impl Function {
    pub(super) fn known(&self) -> Option<&'static Known> {
        pci::known_as(self.vendor?, self.device?)
    }
}

/// Reads all of them.
pub(super) fn read(scan: &mut Scan<'_>, numa_nodes: &[NumaNode]) -> BTreeMap<PciAddress, Function> {
    let mut rdma: BTreeMap<PciAddress, String> = BTreeMap::new();
    for name in scan.tree.children(RDMA_DEVICES) {
        match owner(scan, &joined(RDMA_DEVICES, name)) {
            Some(address) => {
                rdma.entry(address).or_insert_with(|| name.to_owned());
            }
            None => scan.note(&joined(RDMA_DEVICES, name), "an RDMA device that belongs to no PCI function"),
        }
    }
    // The kernel does not say which node a device hangs off when there is only one to choose from.
    let only_node = if let [node] = numa_nodes { Some(node.number) } else { None };
    let mut functions = BTreeMap::new();
    for name in scan.tree.children(DEVICES) {
        let path = joined(DEVICES, name);
        match name.parse::<PciAddress>() {
            Ok(address) => {
                let mut function = function(scan, address, path, rdma.remove(&address));
                function.pci.numa_node = function.pci.numa_node.or(only_node);
                functions.insert(address, function);
            }
            Err(fault) => scan.note(&path, &fault.to_string()),
        }
    }
    number_virtual_functions(scan, &mut functions);
    for (address, name) in rdma {
        scan.note(&joined(RDMA_DEVICES, &name), &format!("belongs to {address}, which is not on the PCI bus"));
    }
    functions
}

/// The PCI function that a device of some class belongs to: the last address in the path that its link leads to.
pub(super) fn owner(scan: &Scan<'_>, path: &str) -> Option<PciAddress> {
    let place = scan.tree.resolve(path)?;
    place.rsplit('/').find_map(|part| part.parse().ok())
}

fn function(scan: &mut Scan<'_>, address: PciAddress, path: String, rdma: Option<String>) -> Function {
    let event = Event::read(scan, &path);
    let half = |scan: &mut Scan<'_>, name: &str| {
        let value = scan.hex(&joined(&path, name))?;
        let half = u16::try_from(value).ok();
        if half.is_none() {
            scan.note(&joined(&path, name), "expected four hexadecimal digits");
        }
        half
    };
    let vendor = half(scan, "vendor").or(event.ids.map(|ids| ids.0));
    let device = half(scan, "device").or(event.ids.map(|ids| ids.1));
    let subsystem = half(scan, "subsystem_vendor").zip(half(scan, "subsystem_device")).or(event.subsystem);
    let class = scan.hex(&joined(&path, "class")).or(event.class).filter(|class| *class <= 0x00ff_ffff);
    for (name, value) in [("vendor", vendor.map(u32::from)), ("device", device.map(u32::from)), ("class", class)] {
        if value.is_none() {
            scan.note(&path, &format!("shows no {name}"));
        }
    }
    let known = vendor.zip(device).and_then(|(vendor, device)| pci::known_as(vendor, device));
    let hex = |id: u16| format!("{id:04x}");
    let link_of = |scan: &mut Scan<'_>, name: &str| {
        let link = joined(&path, name);
        let name = scan.tree.link_name(&link)?.to_owned();
        scan.printable(&link, &name)
    };
    let pci = PciFunction {
        address,
        vendor_id: vendor.map(hex),
        device_id: device.map(hex),
        subsystem_id: subsystem.map(|(vendor, device)| format!("{vendor:04x}:{device:04x}")),
        class: class.map(|class| format!("{class:06x}")),
        name: known.map(|known| known.name.to_owned()),
        driver: link_of(scan, "driver").or(event.driver),
        iommu_group: link_of(scan, "iommu_group").and_then(|name| name.parse().ok()),
        numa_node: scan.number::<i64>(&joined(&path, "numa_node")).and_then(|node| u32::try_from(node).ok()),
        switches: switches(scan, &path, address),
        link: link(scan, &path),
    };
    let parent = link_of(scan, "physfn").and_then(|name| name.parse().ok());
    let class = class.and_then(|class| u16::try_from(class >> 8).ok());
    Function { pci, path, vendor, device, class, parent, vfs: Vec::new(), rdma }
}

/// A card's virtual functions lie behind it on the bus in the order of their numbers.
fn number_virtual_functions(scan: &mut Scan<'_>, functions: &mut BTreeMap<PciAddress, Function>) {
    let shares: Vec<(PciAddress, PciAddress)> =
        functions.values().filter_map(|function| Some((function.pci.address, function.parent?))).collect();
    for (share, parent) in shares {
        match functions.get_mut(&parent) {
            Some(parent) => parent.vfs.push(share),
            None => scan.note(&format!("{DEVICES}/{share}/physfn"), &format!("there is no function at {parent}")),
        }
    }
}

/// What the kernel says of a function in one file; some captures have nothing else.
#[derive(Default)]
struct Event {
    driver: Option<String>,
    ids: Option<(u16, u16)>,
    subsystem: Option<(u16, u16)>,
    class: Option<u32>,
}

impl Event {
    fn read(scan: &mut Scan<'_>, path: &str) -> Self {
        let mut event = Self::default();
        let path = joined(path, "uevent");
        let pair = |text: &str| {
            let (vendor, device) = text.split_once(':')?;
            Some((u16::from_str_radix(vendor, 16).ok()?, u16::from_str_radix(device, 16).ok()?))
        };
        for line in scan.tree.text(&path).unwrap_or_default().lines() {
            match line.split_once('=') {
                Some(("DRIVER", driver)) => event.driver = scan.printable(&path, driver),
                Some(("PCI_ID", ids)) => event.ids = pair(ids),
                Some(("PCI_SUBSYS_ID", ids)) => event.subsystem = pair(ids),
                Some(("PCI_CLASS", class)) => event.class = u32::from_str_radix(class, 16).ok(),
                _ => {}
            }
        }
        event
    }
}

/// The upstream ports of the switches above a function. Its way down from the root is: root port, then for each switch its
/// upstream port and one of its downstream ports.
fn switches(scan: &Scan<'_>, path: &str, address: PciAddress) -> Vec<PciAddress> {
    let place = scan.tree.resolve(path).unwrap_or_default();
    let above = place.split('/').filter_map(|part| part.parse::<PciAddress>().ok());
    let above: Vec<PciAddress> = above.take_while(|part| *part != address).collect();
    above.get(1..).unwrap_or_default().chunks_exact(2).map(|ports| ports[0]).collect()
}

fn link(scan: &mut Scan<'_>, path: &str) -> Option<PciLink> {
    let speed = |scan: &mut Scan<'_>, name: &str| {
        let path = joined(path, name);
        let line = scan.line(&path)?;
        let speed = mega_transfers(&line);
        if speed.is_none() && !line.starts_with("Unknown") {
            scan.note(&path, &format!("expected a speed such as 32.0 GT/s, found `{line}`"));
        }
        speed
    };
    // A function without a link of its own says 0 or 255 lanes.
    let width = |scan: &mut Scan<'_>, name: &str| {
        scan.number::<u32>(&joined(path, name)).filter(|width| (1..=32).contains(width))
    };
    let link = PciLink {
        speed_mtps: speed(scan, "current_link_speed"),
        speed_mtps_max: speed(scan, "max_link_speed"),
        width: width(scan, "current_link_width"),
        width_max: width(scan, "max_link_width"),
    };
    (link.speed_mtps.is_some() || link.width.is_some()).then_some(link)
}

/// `32.0 GT/s PCIe` in thousandths.
fn mega_transfers(text: &str) -> Option<u32> {
    let (number, unit) = text.split_once(' ')?;
    if !unit.starts_with("GT/s") {
        return None;
    }
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let tenths = (tenths.len() == 1).then(|| tenths.parse::<u32>().ok()).flatten()?;
    whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(tenths * 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_without_fractions() {
        assert_eq!(mega_transfers("32.0 GT/s PCIe"), Some(32_000));
        assert_eq!(mega_transfers("2.5 GT/s"), Some(2_500));
        for bad in ["Unknown", "Unknown speed", "", "32", "x.0 GT/s", "2.55 GT/s", "5 Gb/s"] {
            assert_eq!(mega_transfers(bad), None, "{bad}");
        }
    }
}
