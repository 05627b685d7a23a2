//! Builds the tree of a simulated host, piece by piece, the way the kernel would show it. Everything that is unique on a real
//! host (serial numbers, GUIDs, hardware addresses) is made from the host's number, so two hosts never show the same and
//! one host always does.

use crate::{
    pci::PciAddress,
    tree::{Tree, joined},
};
use serde::Serialize;

/// Which host is simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSpec {
    /// Its number in the fleet; serial numbers and addresses are made from it.
    pub number: u32,
    /// Its host name.
    pub name: String,
    /// How many GPUs its board has: those with the lowest module ids, at most 8.
    pub gpus: u32,
}

/// Where a function hangs and what it shows.
pub(super) struct NewFunction {
    pub(super) address: PciAddress,
    pub(super) ids: (u16, u16),
    pub(super) class: u32,
    pub(super) numa_node: u32,
    pub(super) driver: Option<&'static str>,
    pub(super) group: Group,
    pub(super) link: Option<NewLink>,
}

/// Whether a function can be handed over alone.
#[derive(Clone, Copy)]
pub(super) enum Group {
    /// It can.
    Own,
    /// Only with all others that name the same number.
    Shared(u32),
}

#[derive(Clone, Copy)]
pub(super) struct NewLink {
    pub(super) speed: &'static str,
    pub(super) width: u32,
}

pub(super) const GEN5_X16: Option<NewLink> = Some(NewLink { speed: "32.0 GT/s PCIe", width: 16 });
pub(super) const GEN4_X16: Option<NewLink> = Some(NewLink { speed: "16.0 GT/s PCIe", width: 16 });
pub(super) const GEN4_X4: Option<NewLink> = Some(NewLink { speed: "16.0 GT/s PCIe", width: 4 });

/// Groups that a function has for itself are numbered from here; shared ones have lower numbers.
const OWN_GROUPS_FROM: u32 = 20;

pub(super) struct Build {
    pub(super) tree: Tree,
    groups: u32,
    blocks: u32,
}

pub(super) fn address(bus: u8, device: u8, function: u8) -> PciAddress {
    PciAddress::new(0, bus, device, function).expect("simulated addresses are in range")
}

impl Build {
    pub(super) fn new() -> Self {
        Self { tree: Tree::default(), groups: OWN_GROUPS_FROM, blocks: 0 }
    }

    pub(super) fn file(&mut self, path: &str, text: impl AsRef<str>) {
        let text = text.as_ref();
        let text = if text.is_empty() { String::new() } else { format!("{text}\n") };
        self.tree.insert_file(path, text).expect("a simulated host fits a tree");
    }

    pub(super) fn files(&mut self, directory: &str, files: &[(&str, &str)]) {
        for (name, text) in files {
            self.file(&joined(directory, name), text);
        }
    }

    /// A link with a target as the kernel writes it: relative to the link's own directory.
    pub(super) fn link(&mut self, path: &str, target: &str) {
        let target = relative(path, target);
        self.tree.insert_link(path, target).expect("a simulated host fits a tree");
    }

    /// Something that is neither text nor link: captures keep hex digits of it.
    pub(super) fn hex(&mut self, path: &str, digits: &str) {
        self.tree.insert_file(path, digits).expect("a simulated host fits a tree");
    }

    pub(super) fn json(&mut self, path: &str, answer: &impl Serialize) {
        let text = serde_json::to_string_pretty(answer).expect("answers are plain data");
        self.file(path, text);
    }

    /// Hangs a function below another directory, and returns its own.
    pub(super) fn function(&mut self, parent: &str, new: &NewFunction) -> String {
        let path = joined(parent, &new.address.to_string());
        let (vendor, device) = new.ids;
        self.files(
            &path,
            &[
                ("class", &format!("0x{:06x}", new.class)),
                ("vendor", &format!("0x{vendor:04x}")),
                ("device", &format!("0x{device:04x}")),
                ("numa_node", &new.numa_node.to_string()),
            ],
        );
        if let Some(link) = new.link {
            let width = link.width.to_string();
            self.files(
                &path,
                &[
                    ("current_link_speed", link.speed),
                    ("current_link_width", &width),
                    ("max_link_speed", link.speed),
                    ("max_link_width", &width),
                ],
            );
        }
        if let Some(driver) = new.driver {
            self.link(&joined(&path, "driver"), &format!("sys/bus/pci/drivers/{driver}"));
        }
        let group = match new.group {
            Group::Own => {
                self.groups += 1;
                self.groups
            }
            Group::Shared(number) => number,
        };
        self.link(&joined(&path, "iommu_group"), &format!("sys/kernel/iommu_groups/{group}"));
        self.link(&format!("sys/bus/pci/devices/{}", new.address), &path);
        path
    }

    /// A bridge: a root port or a port of a switch.
    pub(super) fn bridge(&mut self, parent: &str, address: PciAddress, ids: (u16, u16), numa_node: u32) -> String {
        let path = joined(parent, &address.to_string());
        let (vendor, device) = ids;
        self.files(
            &path,
            &[
                ("class", "0x060400"),
                ("vendor", &format!("0x{vendor:04x}")),
                ("device", &format!("0x{device:04x}")),
                ("numa_node", &numa_node.to_string()),
            ],
        );
        self.link(&format!("sys/bus/pci/devices/{address}"), &path);
        path
    }

    /// An NVMe controller with one blank namespace, on a function that exists already. Returns the namespace's directory.
    pub(super) fn nvme(&mut self, function: &str, at: u32, disk: &NewDisk) -> String {
        let controller = format!("{function}/nvme/nvme{at}");
        let place = function.rsplit('/').next().unwrap_or_default();
        self.files(
            &controller,
            &[
                ("address", place),
                ("firmware_rev", disk.firmware),
                ("model", disk.model),
                ("serial", &disk.serial),
                ("state", "live"),
                ("transport", "pcie"),
            ],
        );
        self.link(&format!("sys/class/nvme/nvme{at}"), &controller);
        let namespace = format!("{controller}/nvme{at}n1");
        let number = self.block(&namespace, disk.sectors, "");
        self.files(&namespace, &[("nsid", "1"), ("wwid", &disk.wwid)]);
        self.link(&format!("sys/block/nvme{at}n1"), &namespace);
        let record = format!("E:ID_MODEL={}\nE:ID_SERIAL_SHORT={}\nE:ID_WWN={}", disk.model, disk.serial, disk.wwid);
        self.file(&format!("run/udev/data/b{number}"), record);
        namespace
    }

    /// A part of a disk with something on it. Returns its directory and its device number.
    pub(super) fn part(&mut self, disk: &str, number: u32, sectors: u64, filesystem: &str) -> (String, String) {
        let name = format!("{}p{number}", disk.rsplit('/').next().unwrap_or_default());
        let path = joined(disk, &name);
        let device = self.block(&path, sectors, filesystem);
        self.file(&joined(&path, "partition"), number.to_string());
        (path, device)
    }

    fn block(&mut self, path: &str, sectors: u64, filesystem: &str) -> String {
        let device = format!("259:{}", self.blocks);
        self.blocks += 1;
        self.files(path, &[("dev", &device), ("size", &sectors.to_string())]);
        if !filesystem.is_empty() {
            self.file(&format!("run/udev/data/b{device}"), format!("E:ID_FS_TYPE={filesystem}"));
        }
        device
    }
}

/// A disk to be built in.
pub(super) struct NewDisk {
    pub(super) model: &'static str,
    pub(super) firmware: &'static str,
    pub(super) serial: String,
    pub(super) wwid: String,
    pub(super) sectors: u64,
}

/// A path from the root, seen from the directory of a link.
pub(super) fn relative(link: &str, target: &str) -> String {
    let link: Vec<&str> = link.split('/').collect();
    let target: Vec<&str> = target.split('/').collect();
    let directory = &link[..link.len() - 1];
    let shared = directory.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let mut parts = vec![".."; directory.len() - shared];
    parts.extend(&target[shared..]);
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn links_are_written_as_the_kernel_writes_them() {
        assert_eq!(relative("sys/bus/pci/devices/a", "sys/devices/pci0000:00/a"), "../../../devices/pci0000:00/a");
        assert_eq!(relative("sys/block/nvme0n1", "sys/devices/p/nvme0n1"), "../devices/p/nvme0n1");
        assert_eq!(relative("a/b/physfn", "a/c"), "../c");
    }
}
