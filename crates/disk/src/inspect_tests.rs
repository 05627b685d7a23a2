//! Free and busy disks, as captured trees show them.

use super::*;
use crate::identity::tests::{NUMBER, nvme_files, tree};
use proptest::prelude::*;
use std::{fs, path::Path};

const MOUNTS: &str = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
    30 22 0:25 /sub /mnt/a\\040b rw shared:1 master:2 - btrfs /dev/sdx rw,space_cache=v2\n";
const SWAPS: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

fn host(mounts: &str) -> (tempfile::TempDir, HostView) {
    let mut files = nvme_files();
    files.insert("nvme0n1p1/partition", "1\n");
    files.insert("nvme0n1p1/dev", "259:4\n");
    files.insert("nvme0n1p1/holders/.keep", "");
    let (root, host) = tree("pci/nvme0n1", "259:3", &files);
    let part = host.sys.join("devices/pci/nvme0n1/nvme0n1p1/holders");
    fs::remove_file(part.join(".keep")).unwrap();
    fs::create_dir_all(host.proc.join("self")).unwrap();
    fs::write(host.proc.join("self/mountinfo"), mounts).unwrap();
    fs::write(host.proc.join("swaps"), SWAPS).unwrap();
    (root, host)
}

#[test]
fn a_free_disk_has_nothing_against_it() {
    let (_root, host) = host(MOUNTS);
    let facts = gather(&host, NUMBER).unwrap();
    assert_eq!(facts.partitions.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["nvme0n1p1"]);
    assert_eq!(judge(&facts), []);
}

#[test]
fn a_mounted_part_is_named() {
    let (_root, host) = host(&format!("{MOUNTS}31 22 259:4 / /srv rw - xfs /dev/nvme0n1p1 rw\n"));
    let expected = Refusal::Mounted { device: "nvme0n1p1".into(), point: "/srv".into() };
    assert_eq!(inspect(&host, NUMBER).unwrap(), [expected]);
}

#[test]
fn what_sits_on_the_disk_or_a_part_of_it_is_named() {
    let (_root, host) = host(MOUNTS);
    let device = host.sys.join("devices/pci/nvme0n1");
    fs::create_dir(device.join("holders/md0")).unwrap();
    fs::create_dir(device.join("nvme0n1p1/holders/dm-3")).unwrap();
    let held = |device: &str, holder: &str| Refusal::Held { device: device.into(), holder: holder.into() };
    assert_eq!(inspect(&host, NUMBER).unwrap(), [held("nvme0n1", "md0"), held("nvme0n1p1", "dm-3")]);
}

#[test]
fn a_loop_device_over_the_disk_is_named() {
    let (_root, host) = host(MOUNTS);
    let other = host.sys.join("block/loop4/loop");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("backing_file"), format!("{}\n", host.dev.join("nvme0n1p1").display())).unwrap();
    let expected = Refusal::Shared { device: "nvme0n1".into(), other: "loop4".into() };
    assert_eq!(inspect(&host, NUMBER).unwrap(), [expected]);
}

#[test]
fn facts_are_judged_one_by_one() {
    let (_root, host) = host(MOUNTS);
    let free = gather(&host, NUMBER).unwrap();
    let part = free.partitions[0].number;
    assert_eq!(
        judge(&Facts { is_partition: true, is_read_only: true, swaps: vec![part], ..free }),
        [
            Refusal::Partition { device: "nvme0n1".into() },
            Refusal::ReadOnly { device: "nvme0n1".into() },
            Refusal::Swap { device: "nvme0n1p1".into() }
        ]
    );
}

#[test]
fn what_cannot_be_read_is_a_refusal() {
    for missing in
        ["proc/self/mountinfo", "proc/swaps", "sys/devices/pci/nvme0n1/ro", "sys/devices/pci/nvme0n1/nvme0n1p1/dev"]
    {
        let (root, host) = host(MOUNTS);
        fs::remove_file(root.path().join(missing)).unwrap();
        assert!(matches!(inspect(&host, NUMBER), Err(Refusal::Unreadable { .. })), "{missing}");
    }
    let (_root, host) = host("not a list of mounts\n");
    assert!(matches!(inspect(&host, NUMBER), Err(Refusal::Unreadable { .. })));
}

#[test]
fn lists_of_the_kernel_are_read() {
    let mounts = parse_mountinfo(MOUNTS).unwrap();
    assert_eq!((mounts[1].point.as_str(), mounts[1].source.as_str()), ("/mnt/a b", "/dev/sdx"));
    let swaps = format!("{SWAPS}/dev/sda\\0402 partition 100 0 -2\n");
    assert_eq!(parse_swaps(&swaps).unwrap(), ["/dev/sda 2"]);
    assert!(parse_swaps("").is_err() && parse_swaps(&format!("{SWAPS}what\n")).is_err());
    assert_eq!(number_at(Path::new("/dev/null")), None);
}

proptest! {
    #[test]
    fn no_list_breaks_the_readers(text in "[ -~\\n\\\\]{0,200}") {
        let _ = (parse_mountinfo(&text), parse_swaps(&text), unescape(&text));
    }
}
