//! Which paths of a host a capture takes, and in which form. The agent walks a real root by this list, the fixtures hold
//! nothing else, and discovery reads nothing else; a path that is not here is never opened.
//!
//! A star stands for any run of characters within one part of a path. Nothing stands for several parts: devices hang at any
//! depth, and they are reached through the links that the kernel keeps flat directories of. Links that lead back to where
//! one came from (from a card to its virtual functions, from a disk to its controller) are left out: they say nothing new,
//! and without them a capture that is written to a directory can be walked by any program without going in circles.

/// In which form a path is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// A file's text. Links on the way are taken too, and the file lies where they lead.
    Text,
    /// A file's text, as if it lay where the pattern says: the links on the way differ from one moment to the next.
    TextHere,
    /// A file's bytes as hex digits.
    Hex,
    /// That a file is there. It is not opened.
    Presence,
    /// A link, and not what it leads to.
    Link,
}

/// Some names in some directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// The directories, from the root.
    pub under: &'static str,
    /// The names in them.
    pub names: &'static [&'static str],
    /// The form.
    pub take: Take,
}

const fn texts(under: &'static str, names: &'static [&'static str]) -> Pattern {
    Pattern { under, names, take: Take::Text }
}

const fn links(under: &'static str, names: &'static [&'static str]) -> Pattern {
    Pattern { under, names, take: Take::Link }
}

const PCI_FILES: &[&str] = &[
    "class",
    "current_link_speed",
    "current_link_width",
    "device",
    "max_link_speed",
    "max_link_width",
    "mem_info_vram_total",
    "numa_node",
    "reset_method",
    "resource",
    "revision",
    "sriov_numvfs",
    "sriov_totalvfs",
    "subsystem_device",
    "subsystem_vendor",
    "uevent",
    "unique_id",
    "vendor",
    "xgmi_physical_id",
];
const DISK_FILES: &[&str] = &["dev", "eui", "nguid", "nsid", "size", "uuid", "wwid"];
const PART_FILES: &[&str] = &["dev", "partition", "size"];

/// Everything that a capture takes, but for the answers of programs.
pub const CAPTURED: &[Pattern] = &[
    Pattern { under: "dev/vfio", names: &["vfio"], take: Take::Presence },
    texts("proc", &["cmdline", "swaps"]),
    // The first process sees the host's mounts; an agent in a sandbox of its own sees fewer. Both count.
    texts("proc/1", &["mountinfo"]),
    Pattern { under: "proc/self", names: &["mountinfo"], take: Take::TextHere },
    texts("proc/sys/kernel", &["hostname", "osrelease"]),
    Pattern { under: "run", names: &["reboot-required"], take: Take::Presence },
    texts("run/udev/data", &["b*"]),
    texts("sys/block/dm-*", DISK_FILES),
    texts("sys/block/dm-*/dm", &["name"]),
    links("sys/block/dm-*/holders", &["*"]),
    texts("sys/block/md*", DISK_FILES),
    links("sys/block/md*/holders", &["*"]),
    texts("sys/block/md*/md*", PART_FILES),
    links("sys/block/md*/md*/holders", &["*"]),
    texts("sys/block/nvme*", DISK_FILES),
    links("sys/block/nvme*/holders", &["*"]),
    texts("sys/block/nvme*/nvme*", PART_FILES),
    links("sys/block/nvme*/nvme*/holders", &["*"]),
    texts("sys/block/sd*", DISK_FILES),
    texts("sys/block/sd*/device", &["model"]),
    links("sys/block/sd*/holders", &["*"]),
    texts("sys/block/sd*/sd*", PART_FILES),
    links("sys/block/sd*/sd*/holders", &["*"]),
    texts("sys/block/vd*", DISK_FILES),
    links("sys/block/vd*/holders", &["*"]),
    texts("sys/block/vd*/vd*", PART_FILES),
    links("sys/block/vd*/vd*/holders", &["*"]),
    texts("sys/bus/pci/devices/*", PCI_FILES),
    links("sys/bus/pci/devices/*", &["driver", "iommu_group", "physfn"]),
    Pattern { under: "sys/bus/pci/drivers/vfio-pci", names: &["new_id"], take: Take::Presence },
    texts("sys/class/dmi/id", &["bios_version", "board_name", "product_name", "product_serial", "sys_vendor"]),
    texts("sys/class/infiniband/*", &["board_id", "fw_ver", "hca_type", "node_guid", "sys_image_guid"]),
    texts("sys/class/infiniband/*/ports/*", &["link_layer", "phys_state", "rate", "state"]),
    links("sys/class/iommu", &["*"]),
    texts("sys/class/net/*", &["address", "mtu", "operstate", "speed"]),
    texts("sys/class/nvme/*", &["address", "firmware_rev", "model", "serial", "state", "transport"]),
    links("sys/class/nvme-subsystem/*", &["nvme*"]),
    texts("sys/devices/system/node/node*", &["cpulist", "meminfo"]),
    texts("sys/devices/system/node/node*/hugepages/*", &["free_hugepages", "nr_hugepages"]),
    texts("sys/firmware/efi", &["fw_platform_size"]),
    Pattern {
        under: "sys/firmware/efi/efivars",
        names: &["SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"],
        take: Take::Hex,
    },
];

/// The answers of programs. They are files only in a tree that was captured before: on a live host the agent asks.
pub const PROBED: &[Pattern] =
    &[texts("probe", &["capture.json", "fabric_manager.json", "image_cache.json", "nvml.json", "tools.json"])];

/// The form in which a path is taken, when it is written without links; `None` when it is not taken.
pub fn take_of(path: &str) -> Option<Take> {
    let (directory, name) = path.rsplit_once('/')?;
    let takes = |pattern: &&Pattern| {
        pattern.names.iter().any(|wanted| matches(wanted, name))
            && pattern.under.split('/').count() == directory.split('/').count()
            && pattern.under.split('/').zip(directory.split('/')).all(|(wanted, part)| matches(wanted, part))
    };
    CAPTURED.iter().chain(PROBED).find(takes).map(|pattern| pattern.take)
}

/// Whether one part of a path is what one part of a pattern stands for.
pub fn matches(wanted: &str, part: &str) -> bool {
    let mut pieces = wanted.split('*');
    let Some(mut rest) = part.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_within_one_part() {
        for (wanted, part) in [("a", "a"), ("*", ""), ("nvme*", "nvme0n1"), ("*p*", "p"), ("a*b*c", "a-b-b-c")] {
            assert!(matches(wanted, part), "{wanted} {part}");
        }
        for (wanted, part) in [("a", "ab"), ("a", ""), ("nvme*", "sda"), ("a*b*c", "acb"), ("ab*b", "ab")] {
            assert!(!matches(wanted, part), "{wanted} {part}");
        }
    }

    #[test]
    fn only_listed_paths_are_taken() {
        assert_eq!(take_of("sys/bus/pci/devices/0000:0f:00.0/vendor"), Some(Take::Text));
        assert_eq!(take_of("sys/block/nvme0n1/nvme0n1p2/holders/md0"), Some(Take::Link));
        assert_eq!(
            take_of("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"),
            Some(Take::Hex)
        );
        assert_eq!(take_of("probe/nvml.json"), Some(Take::Text));
        for path in ["etc/shadow", "proc/1/environ", "sys/bus/pci/devices/0000:0f:00.0/config", "proc", "probe/x.json"]
        {
            assert_eq!(take_of(path), None, "{path}");
        }
    }
}
