//! Takes out of a captured tree what identifies one machine: serial numbers, UUIDs, hardware addresses, GUIDs and the
//! host's name, so that the tree can be kept as a fixture or sent along with a question.
//!
//! Each is replaced by an invented one of the same form, the same one everywhere, also where it stands inside a path, a link
//! or a longer text. Invented values are numbered in the order of the originals and say nothing else about them; the same
//! tree gives the same result.

use std::collections::{BTreeMap, BTreeSet};
use topology::tree::{Entry, Tree, TreeFault};

// Files that hold one identifying value each.
const IDENTIFYING: &[&str] = &[
    "address",
    "eui",
    "hostname",
    "nguid",
    "node_guid",
    "product_serial",
    "serial",
    "sys_image_guid",
    "unique_id",
    "uuid",
    "wwid",
];
// Properties of a disk that are kept from what the device database knows; the others name the disk.
const KEPT_PROPERTIES: &[&str] = &["ID_FS_TYPE", "ID_FS_USAGE", "ID_FS_VERSION", "ID_PART_TABLE_TYPE"];
// What is kept of what the kernel was started with.
const KEPT_ARGUMENTS: &[&str] = &[
    "amd_iommu",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "intel_iommu",
    "iommu",
    "pcie_acs_override",
    "vfio-pci",
];
// Shorter values are replaced only where they are all there is: inside other texts they would be found by chance.
const ANYWHERE_MIN: usize = 6;

/// The same tree with invented identities.
pub fn redacted(tree: &Tree) -> Result<Tree, TreeFault> {
    let reduced: Vec<(&String, Entry)> =
        tree.entries().iter().map(|(path, entry)| (path, reduced(path, entry))).collect();
    let names = Names::new(&reduced);
    let mut redacted = Tree::default();
    for (path, entry) in reduced {
        let path = names.replaced(path);
        match entry {
            Entry::File(text) => redacted.insert_file(&path, names.replaced_whole(&text))?,
            Entry::Link(target) => redacted.insert_link(&path, names.replaced(&target))?,
        }
    }
    Ok(redacted)
}

// Leaves out what no one reads and what cannot be told apart from names.
fn reduced(path: &str, entry: &Entry) -> Entry {
    let Entry::File(text) = entry else { return entry.clone() };
    let lines = |keep: &dyn Fn(&str) -> Option<String>| text.lines().filter_map(keep).map(|line| line + "\n").collect();
    if path.starts_with("run/udev/data/") {
        let kept = |line: &str| {
            let name = line.strip_prefix("E:")?.split('=').next()?;
            KEPT_PROPERTIES.contains(&name).then(|| line.to_owned())
        };
        Entry::File(lines(&kept))
    } else if path.ends_with("/mountinfo") {
        // Only disks matter; where the others are mounted and with which options says what else the machine is used for.
        let plain = |line: &str| {
            let (head, tail) = line.split_once(" - ")?;
            let (kind, source) = tail.split_once(' ')?;
            let source = source.split(' ').next().filter(|source| source.starts_with("/dev/"))?;
            Some(format!("{head} - {kind} {source} rw"))
        };
        Entry::File(lines(&plain))
    } else if path == "proc/cmdline" {
        let kept = |word: &&str| word.split(['=', '.']).next().is_some_and(|name| KEPT_ARGUMENTS.contains(&name));
        Entry::File(text.split_whitespace().filter(kept).collect::<Vec<_>>().join(" ") + "\n")
    } else {
        entry.clone()
    }
}

struct Names {
    // The longest first, so that a value inside another does not break it.
    anywhere: Vec<(String, String)>,
    whole: BTreeMap<String, String>,
}

impl Names {
    fn new(entries: &[(&String, Entry)]) -> Self {
        let mut found = BTreeSet::new();
        let mut hostnames = BTreeSet::new();
        for (path, entry) in entries {
            found.extend(patterns(path));
            let (Entry::File(text) | Entry::Link(text)) = entry;
            found.extend(patterns(text));
            let name = path.rsplit('/').next().unwrap_or(path);
            if matches!(entry, Entry::File(_)) && IDENTIFYING.contains(&name) && !is_pci_address(text.trim()) {
                found.insert(text.trim().to_owned());
                if name == "hostname" {
                    hostnames.insert(text.trim().to_owned());
                }
            }
            if path.as_str() == topology::probe::NVML {
                found.extend(quoted(text, "serial"));
            }
        }
        found.retain(|value| value.chars().any(|c| c.is_ascii_alphanumeric() && c != '0'));
        let mut whole = BTreeMap::new();
        for (number, value) in found.into_iter().enumerate() {
            let invented =
                if hostnames.contains(&value) { format!("host-{}", number + 1) } else { invented(&value, number + 1) };
            // Interfaces are named after their hardware address.
            if is_mac(&value) {
                whole.insert(value.replace(':', ""), invented.replace(':', ""));
            }
            whole.insert(value, invented);
        }
        let long = whole.iter().filter(|(value, _)| value.len() >= ANYWHERE_MIN);
        let mut anywhere: Vec<(String, String)> =
            long.map(|(value, invented)| (value.clone(), invented.clone())).collect();
        anywhere.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Self { anywhere, whole }
    }

    fn replaced(&self, text: &str) -> String {
        self.anywhere.iter().fold(text.to_owned(), |text, (value, invented)| text.replace(value, invented))
    }

    fn replaced_whole(&self, text: &str) -> String {
        match self.whole.get(text.trim()) {
            Some(invented) => text.replace(text.trim(), invented),
            None => self.replaced(text),
        }
    }
}

// Values of the same form, with a number at the end.
fn invented(value: &str, number: usize) -> String {
    let start = value.find(['.', '-']).filter(|at| *at <= 4).map_or(0, |at| at + 1);
    let places = value[start..].chars().filter(char::is_ascii_alphanumeric).count();
    let hexadecimal = value[start..].chars().all(|c| c.is_ascii_hexdigit() || !c.is_ascii_alphanumeric());
    let number = if hexadecimal { format!("{number:x}") } else { number.to_string() };
    let digits: Vec<char> = format!("{number:0>places$}").chars().rev().take(places).collect();
    let mut digits = digits.into_iter().rev();
    let mut first = true;
    let shaped = value[start..].chars().map(|c| {
        if !c.is_ascii_alphanumeric() {
            return c;
        }
        let digit = digits.next().unwrap_or('0');
        let lead = std::mem::replace(&mut first, false) && digit == '0';
        match c {
            // A leading letter stays one. The second digit of a hardware address says that somebody made it up.
            _ if lead && c.is_ascii_uppercase() && !hexadecimal => 'X',
            _ if lead && c.is_ascii_lowercase() && !hexadecimal => 'x',
            _ => digit,
        }
    });
    let text = format!("{}{}", &value[..start], shaped.collect::<String>());
    if is_mac(&text) { format!("02{}", &text[2..]) } else { text }
}

// UUIDs, hardware addresses and long runs of hexadecimal digits, wherever they stand.
fn patterns(text: &str) -> Vec<String> {
    let mut found = vec![];
    let piece = |c: char| c.is_ascii_hexdigit() || c == '-' || c == ':';
    for word in text.split(|c: char| !piece(c)) {
        let word = word.trim_matches(['-', ':']);
        if is_uuid(word) || is_mac(word) || (word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit())) {
            found.push(word.to_owned());
        }
    }
    found
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

fn is_mac(text: &str) -> bool {
    let is_pair = |pair: &str| pair.len() == 2 && pair.chars().all(|c| c.is_ascii_hexdigit());
    text.split(':').count() == 6 && text.split(':').all(is_pair)
}

fn is_pci_address(text: &str) -> bool {
    text.parse::<topology::PciAddress>().is_ok()
}

// The values of a key in a flat piece of JSON.
fn quoted(text: &str, key: &str) -> Vec<String> {
    let opening = format!("\"{key}\":\"");
    text.split(&opening).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MAC: &str = "b8:59:9f:11:22:33";
    const UUID: &str = "6e51e8b2-90d3-4c6c-9f3a-0a1b2c3d4e5f";

    fn tree() -> Tree {
        let mut tree = Tree::default();
        let mut file = |path: &str, text: &str| tree.insert_file(path, text).unwrap();
        file("sys/devices/dmi/id/product_serial", "J0BTX92\n");
        file("sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/serial", "S64FNX0R123456      \n");
        file("sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/address", "0000:01:00.0\n");
        file("sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/wwid", "eui.0025385b01402f0d\n");
        file("sys/devices/pci0000:00/0000:02:00.0/net/enxb8599f112233/address", &format!("{MAC}\n"));
        file("sys/devices/lo/address", "00:00:00:00:00:00\n");
        file("proc/sys/kernel/hostname", "gpu7\n");
        file("proc/cmdline", &format!("root=UUID={UUID} intel_iommu=on vfio-pci.ids=10de:2335 token=secret\n"));
        file("run/reboot-required", &format!("gpu7 of {UUID}\n"));
        file(
            "proc/self/mountinfo",
            &format!(
                "1 0 259:1 / / rw shared:1 - ext4 /dev/x rw,errors=/secret/{UUID}\n2 1 0:9 / /secret/ rw - overlay overlay rw\n"
            ),
        );
        file(
            "run/udev/data/b259:1",
            "S:disk/by-id/nvme-S64FNX0R123456\nE:ID_SERIAL=S64FNX0R123456\nE:ID_FS_TYPE=ext4\n",
        );
        file("probe/nvml.json", &format!("{{\"uuid\":\"GPU-{UUID}\",\"serial\":\"1650123456789\"}}"));
        tree.insert_link("sys/class/net/enxb8599f112233", "../../devices/pci0000:00/0000:02:00.0/net/enxb8599f112233")
            .unwrap();
        tree
    }

    #[test]
    fn nothing_that_identifies_the_machine_is_left_anywhere() {
        let text = serde_json::to_string(&redacted(&tree()).unwrap()).unwrap();
        for secret in
            ["J0BTX92", "S64FNX0R123456", "0025385b01402f0d", MAC, "b8599f112233", UUID, "1650123456789", "secret"]
        {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }

    #[test]
    fn what_is_put_in_its_place_has_the_same_form_and_is_the_same_everywhere() {
        let redacted = redacted(&tree()).unwrap();
        let wwid = redacted.text("sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/wwid").unwrap();
        assert!(wwid.starts_with("eui.0") && wwid.len() == "eui.0025385b01402f0d".len(), "{wwid}");
        let serial = redacted.text("sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/serial").unwrap();
        assert!(serial.starts_with('X') && serial.len() == 14, "{serial}");
        let interface = redacted.children("sys/class/net")[0].to_owned();
        let mac = redacted.text(&format!("sys/class/net/{interface}/address")).unwrap();
        assert_eq!(interface, format!("enx{}", mac.replace(':', "")));
        assert!(mac.starts_with("02:00:00:"), "{mac}");
        assert_eq!(redacted.text("sys/devices/lo/address"), Some("00:00:00:00:00:00"));
        assert_eq!(redacted.text("proc/cmdline"), Some("intel_iommu=on vfio-pci.ids=10de:2335"));
        let note = redacted.text("run/reboot-required").unwrap();
        let uuid = note.strip_prefix("gpu7 of ").expect("short names are replaced only where they stand alone");
        assert!(is_uuid(uuid) && redacted.text("probe/nvml.json").unwrap().contains(&format!("GPU-{uuid}")));
        assert_eq!(redacted.text("sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/address"), Some("0000:01:00.0"));
        assert_eq!(redacted.text("run/udev/data/b259:1"), Some("E:ID_FS_TYPE=ext4"));
        assert_eq!(redacted.text("proc/self/mountinfo"), Some("1 0 259:1 / / rw shared:1 - ext4 /dev/x rw"));
        assert!(redacted.text("proc/sys/kernel/hostname").unwrap().starts_with("host-"));
    }

    #[test]
    fn the_same_tree_gives_the_same_and_a_second_time_changes_nothing_but_numbers() {
        let once = redacted(&tree()).unwrap();
        assert_eq!(redacted(&tree()).unwrap(), once);
        assert_eq!(redacted(&once).unwrap().entries().len(), once.entries().len());
    }
}
