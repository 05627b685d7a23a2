//! Disks as captured trees of sysfs show them.

use super::*;
use std::{collections::BTreeMap, fs, os::unix::fs::symlink};

/// A tree of sysfs with one device: its folder below `devices`, its number, and its files.
pub(crate) fn tree(folder: &str, number: &str, files: &BTreeMap<&str, &str>) -> (tempfile::TempDir, HostView) {
    let root = tempfile::tempdir().unwrap();
    let host = HostView { sys: root.path().join("sys"), proc: root.path().join("proc"), dev: root.path().join("dev") };
    let device = host.sys.join("devices").join(folder);
    for (file, text) in files {
        let path = device.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir_all(device.join("holders")).unwrap();
    fs::create_dir_all(host.sys.join("dev/block")).unwrap();
    fs::create_dir_all(host.sys.join("block")).unwrap();
    symlink(&device, host.sys.join("dev/block").join(number)).unwrap();
    symlink(&device, host.sys.join("block").join(device.file_name().unwrap())).unwrap();
    (root, host)
}

pub(crate) fn nvme_files() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([
        ("size", "7501476528\n"),
        ("ro", "0\n"),
        ("queue/logical_block_size", "512\n"),
        ("nsid", "1\n"),
        ("wwid", "eui.36344730570014110025384100000001\n"),
        ("nguid", "36344730-5700-1411-0025-384100000001\n"),
        ("eui", "00 00 00 00 00 00 00 00\n"),
        ("device/model", "SAMSUNG MZQL23T8HCLS-00A07              \n"),
        ("device/serial", "S64GNE0W100001      \n"),
    ])
}

pub(crate) const NUMBER: DeviceNumber = DeviceNumber { major: 259, minor: 3 };

fn nvme() -> NvmeIdentity {
    NvmeIdentity {
        model: "SAMSUNG MZQL23T8HCLS-00A07".into(),
        serial: "S64GNE0W100001".into(),
        wwid: "eui.36344730570014110025384100000001".into(),
        nguid: Some("36344730570014110025384100000001".into()),
        eui64: None,
        namespace: 1,
        size_bytes: 3_840_755_982_336,
        logical_block_bytes: 512,
    }
}

#[test]
fn an_nvme_disk_is_known_by_its_own_numbers() {
    let (_root, host) = tree("pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1", "259:3", &nvme_files());
    assert_eq!(read(&host, NUMBER).unwrap(), DiskIdentity::Nvme(nvme()));
}

#[test]
fn a_loop_device_is_known_by_its_file() {
    let files = BTreeMap::from([
        ("size", "2048\n"),
        ("queue/logical_block_size", "512\n"),
        ("loop/backing_file", "/var/lab/disk 1.img\n"),
    ]);
    let (_root, host) = tree("virtual/block/loop7", "259:3", &files);
    let expected = LoopIdentity {
        device: "loop7".into(),
        backing_file: "/var/lab/disk 1.img".into(),
        size_bytes: 1 << 20,
        logical_block_bytes: 512,
    };
    assert_eq!(read(&host, NUMBER).unwrap(), DiskIdentity::Loop(expected));
}

#[test]
fn what_is_missing_or_odd_is_refused() {
    for (file, text) in [
        ("size", "0\n"),
        ("size", "many\n"),
        ("queue/logical_block_size", "0\n"),
        ("queue/logical_block_size", "777\n"),
        ("device/serial", "  \n"),
        ("wwid", "\n"),
        ("nsid", "x\n"),
    ] {
        let mut files = nvme_files();
        files.insert(file, text);
        let (_root, host) = tree("nvme0n1", "259:3", &files);
        assert!(matches!(read(&host, NUMBER), Err(Refusal::Unreadable { .. })), "{file} {text:?}");
        files.remove(file);
        let (_root, host) = tree("nvme0n1", "259:3", &files);
        assert!(read(&host, NUMBER).is_err(), "{file}");
    }
    let (_root, host) = tree("nvme0n1", "259:3", &nvme_files());
    assert!(matches!(read(&host, DeviceNumber { major: 1, minor: 1 }), Err(Refusal::Unreadable { .. })));
    let (_root, host) = tree("sda", "259:3", &nvme_files());
    assert_eq!(read(&host, NUMBER), Err(Refusal::UnknownKind { device: "sda".into() }));
    let mut files = nvme_files();
    files.insert("partition", "1\n");
    let (_root, host) = tree("nvme0n1p1", "259:3", &files);
    assert_eq!(read(&host, NUMBER), Err(Refusal::Partition { device: "nvme0n1p1".into() }));
}

#[test]
fn every_field_counts() {
    type Change = fn(&mut NvmeIdentity);
    let changes: [(&str, Change); 8] = [
        ("model", |d| d.model.push('x')),
        ("serial", |d| d.serial.push('x')),
        ("wwid", |d| d.wwid.push('x')),
        ("nguid", |d| d.nguid = None),
        ("eui64", |d| d.eui64 = Some("1".into())),
        ("namespace", |d| d.namespace = 2),
        ("size_bytes", |d| d.size_bytes += 512),
        ("logical_block_bytes", |d| d.logical_block_bytes = 4096),
    ];
    let approved = DiskIdentity::Nvme(nvme());
    assert_eq!(compare(&approved, &approved), []);
    for (field, change) in changes {
        let mut seen = nvme();
        change(&mut seen);
        let differences = compare(&approved, &DiskIdentity::Nvme(seen));
        assert_eq!(differences.iter().map(|found| found.field.as_str()).collect::<Vec<_>>(), [field]);
    }
    let other =
        LoopIdentity { device: "loop0".into(), backing_file: "/f".into(), size_bytes: 1, logical_block_bytes: 512 };
    let differences = compare(&approved, &DiskIdentity::Loop(other));
    assert_eq!(differences[0].to_string(), "its kind is \"loop\" where \"nvme\" was approved");
}

#[test]
fn what_is_stored_comes_back_and_nothing_else_is_taken() {
    let approved = DiskIdentity::Nvme(nvme());
    let text = serde_json::to_string(&approved).unwrap();
    assert_eq!(serde_json::from_str::<DiskIdentity>(&text).unwrap(), approved);
    let more = text.replacen('{', "{\"extra\":1,", 1);
    assert!(serde_json::from_str::<DiskIdentity>(&more).is_err());
    assert_eq!(DeviceNumber::from_raw(NUMBER.to_raw()), NUMBER);
    assert_eq!(DeviceNumber::parse("259:3\n"), Some(NUMBER));
    assert_eq!(DeviceNumber::parse("259"), None);
}
