//! What can happen to a host after it was looked at: each function changes a tree the way the kernel would show it. They say
//! whether there was anything to change.

use crate::{
    pci::PciAddress,
    probe::{self, FabricProbe, NvmlProbe},
    tree::{Entry, Tree, joined},
};
use serde::{Serialize, de::DeserializeOwned};

const DEVICES: &str = "sys/bus/pci/devices";

/// A GPU falls off the bus. Driver and fabric manager lose it too.
pub fn remove_gpu(tree: &mut Tree, gpu: PciAddress) -> bool {
    let module = nvml(tree).and_then(|nvml| {
        let told = nvml.gpus.iter().find(|told| told.pci_address.parse() == Ok(gpu));
        told.and_then(|told| told.module_id)
    });
    forget_gpu(tree, gpu);
    if let (Some(module), Some(mut told)) = (module, answer::<FabricProbe>(tree, probe::FABRIC)) {
        told.partitions.retain(|partition| !partition.gpus.contains(&module));
        for (partition, id) in told.partitions.iter_mut().zip(0u32..) {
            partition.id = id;
        }
        put(tree, probe::FABRIC, &told);
    }
    remove_function(tree, gpu)
}

/// A function is bound to another driver, or with `None` to no driver. Its own driver no longer speaks for it: a GPU shows no
/// unique name, a disk no identity.
pub fn bind(tree: &mut Tree, function: PciAddress, driver: Option<&str>) -> bool {
    let Some(place) = place(tree, function) else { return false };
    let link = joined(&place, "driver");
    tree.remove(&link);
    if let Some(driver) = driver {
        let up = "../".repeat(place.split('/').count() - 1);
        let put = tree.insert_link(&link, format!("{up}bus/pci/drivers/{driver}"));
        put.expect("a simulated host fits a tree");
    }
    if driver != Some("nvidia") {
        forget_gpu(tree, function);
    }
    if driver != Some("nvme") {
        let inside = joined(&place, "nvme");
        let gone: Vec<String> = tree
            .entries()
            .iter()
            .filter(|(path, entry)| {
                let listed = path.starts_with("sys/block/") || path.starts_with("sys/class/nvme/");
                listed
                    && matches!(entry, Entry::Link(_))
                    && tree.resolve(path).is_some_and(|to| to.starts_with(&inside))
            })
            .map(|(path, _)| path.clone())
            .collect();
        gone.iter().for_each(|path| {
            tree.remove(path);
        });
        tree.remove(&inside);
    }
    true
}

/// Another disk is plugged in where one was.
pub fn replace_disk(tree: &mut Tree, identity: &str, by: &str) -> bool {
    let Some(disk) = disk(tree, identity) else { return false };
    set(tree, &joined(&disk, "wwid"), by)
}

/// Somebody makes a file system on a disk and mounts it.
pub fn mount_disk(tree: &mut Tree, identity: &str, point: &str) -> bool {
    let Some(path) = disk(tree, identity) else { return false };
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let number = tree.text(&joined(&path, "dev")).unwrap_or_default().to_owned();
    let before = tree.text("proc/1/mountinfo").unwrap_or_default();
    let line = format!("90 29 {number} / {point} rw,relatime shared:60 - ext4 /dev/{name} rw");
    let mounts = format!("{before}\n{line}");
    set(tree, "proc/1/mountinfo", &mounts) && format_disk(tree, identity, "ext4")
}

/// Somebody makes a file system on a disk.
pub fn format_disk(tree: &mut Tree, identity: &str, filesystem: &str) -> bool {
    let Some(path) = disk(tree, identity) else { return false };
    let record = format!("run/udev/data/b{}", tree.text(&joined(&path, "dev")).unwrap_or_default());
    let kept: Vec<&str> =
        tree.text(&record).unwrap_or_default().lines().filter(|line| !line.starts_with("E:ID_FS_TYPE=")).collect();
    let text = format!("{}\nE:ID_FS_TYPE={filesystem}", kept.join("\n"));
    set(tree, &record, &text)
}

/// A link loses lanes.
pub fn degrade_link(tree: &mut Tree, function: PciAddress, width: u32) -> bool {
    let Some(place) = place(tree, function) else { return false };
    set(tree, &joined(&place, "current_link_width"), &width.to_string())
}

/// A virtual function is taken back.
pub fn remove_vf(tree: &mut Tree, function: PciAddress) -> bool {
    let Some(place) = place(tree, function) else { return false };
    let Some(parent) = tree.resolve(&joined(&place, "physfn")) else { return false };
    let count = joined(&parent, "sriov_numvfs");
    let left = tree.text(&count).and_then(|count| count.parse::<u32>().ok()).unwrap_or(1).saturating_sub(1);
    set(tree, &count, &left.to_string());
    remove_function(tree, function)
}

/// A function joins another one's IOMMU group.
pub fn share_iommu_group(tree: &mut Tree, function: PciAddress, with: PciAddress) -> bool {
    let group = place(tree, with).and_then(|place| tree.link(&joined(&place, "iommu_group")).map(str::to_owned));
    let Some((place, group)) = place(tree, function).zip(group) else { return false };
    tree.insert_link(&joined(&place, "iommu_group"), group).expect("a simulated host fits a tree");
    true
}

fn place(tree: &Tree, function: PciAddress) -> Option<String> {
    tree.resolve(&format!("{DEVICES}/{function}"))
}

fn disk(tree: &Tree, identity: &str) -> Option<String> {
    let disks = tree.children("sys/block").into_iter().map(|name| format!("sys/block/{name}"));
    let path = disks.into_iter().find(|path| tree.text(&joined(path, "wwid")) == Some(identity))?;
    tree.resolve(&path)
}

fn remove_function(tree: &mut Tree, function: PciAddress) -> bool {
    let Some(place) = place(tree, function) else { return false };
    tree.remove(&format!("{DEVICES}/{function}"));
    tree.remove(&place) > 0
}

fn forget_gpu(tree: &mut Tree, gpu: PciAddress) {
    if let Some(mut nvml) = nvml(tree) {
        nvml.gpus.retain(|told| told.pci_address.parse() != Ok(gpu));
        put(tree, probe::NVML, &nvml);
    }
}

fn nvml(tree: &Tree) -> Option<NvmlProbe> {
    answer(tree, probe::NVML)
}

fn answer<P: DeserializeOwned>(tree: &Tree, path: &str) -> Option<P> {
    serde_json::from_str(tree.text(path)?).ok()
}

fn put(tree: &mut Tree, path: &str, answer: &impl Serialize) {
    let text = serde_json::to_string_pretty(answer).expect("answers are plain data");
    set(tree, path, &text);
}

fn set(tree: &mut Tree, path: &str, text: &str) -> bool {
    tree.insert_file(path, format!("{text}\n")).expect("a simulated host fits a tree");
    true
}
