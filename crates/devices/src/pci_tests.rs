//! Looking at functions: spelling, a tree of files as a host shows it, and files that make no sense.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::sysfs::HostFiles;
use proptest::prelude::*;
use std::{fs, os::unix::fs::symlink};

const GPU: &str = "0000:0f:00.0";

struct Tree {
    _folder: tempfile::TempDir,
    files: HostFiles,
}

impl Tree {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = HostFiles { sys: folder.path().join("sys"), dev: folder.path().join("dev"), write_s_max: 5 };
        let tree = Self { _folder: folder, files };
        tree.function(GPU, "0x10de", "0x2335", "0x030200");
        tree.text(GPU, "numa_node", "1\n");
        tree.text(GPU, "driver_override", "(null)\n");
        tree.text(GPU, "reset_method", "flr bus\n");
        tree.link(GPU, "driver", "../../../../bus/pci/drivers/nvidia");
        tree
    }

    fn function(&self, address: &str, vendor: &str, device: &str, class: &str) {
        for (name, text) in [("vendor", vendor), ("device", device), ("class", class)] {
            self.text(address, name, &format!("{text}\n"));
        }
        let number = |text: &str| u16::from_str_radix(text.trim_start_matches("0x"), 16).unwrap().to_le_bytes();
        let mut config = vec![0; 256];
        config[..4].copy_from_slice(&[number(vendor), number(device)].concat());
        self.bytes(address, "config", &config);
    }

    fn bytes(&self, address: &str, name: &str, bytes: &[u8]) {
        let path = self.files.sys.join("bus/pci/devices").join(address).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn text(&self, address: &str, name: &str, text: &str) {
        self.bytes(address, name, text.as_bytes());
    }

    fn link(&self, address: &str, name: &str, target: &str) {
        symlink(target, self.files.sys.join("bus/pci/devices").join(address).join(name)).unwrap();
    }

    fn group(&self, number: u32, members: &[&str]) {
        let folder = self.files.sys.join(format!("kernel/iommu_groups/{number}/devices"));
        fs::create_dir_all(&folder).unwrap();
        for member in members {
            symlink("x", folder.join(member)).unwrap();
            self.link(member, "iommu_group", &format!("../../kernel/iommu_groups/{number}"));
        }
    }

    fn look(&self, address: &str) -> Result<PciSeen, Refusal> {
        look(&self.files, address.parse().unwrap())
    }
}

#[test]
fn an_address_has_one_spelling() {
    for good in ["0000:0f:00.0", "ffff:ff:1f.7", "10000:01:00.0"] {
        assert_eq!(good.parse::<PciAddress>().unwrap().to_string(), good);
    }
    for bad in [
        "",
        "0f:00.0",
        "0000:0F:00.0",
        "00000000:0f:00.0",
        "0000:0f:20.0",
        "0000:0f:00.8",
        "0000:0f:00",
        "0000:0f:00.0 ",
        "0000:0f:00.0\n",
        "0000:0f:0.0",
        "+000:0f:00.0",
        "0000:0f:00.+",
        "../..:0f:00.0",
        "0000:0f:00:0.0",
        "0000:0f/00.0",
    ] {
        assert!(bad.parse::<PciAddress>().is_err(), "{bad:?}");
        assert!(serde_json::from_value::<PciAddress>(bad.into()).is_err(), "{bad:?}");
    }
    for bad in ["10de", "10de:", "10DE:2335", "10de:02335", "+0de:2335"] {
        assert!(bad.parse::<DeviceId>().is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn every_address_is_read_as_it_is_written(domain in any::<u32>(), bus in any::<u8>(), device in 0u8..32, function in 0u8..8) {
        let address = PciAddress::new(domain, bus, device, function).unwrap();
        prop_assert_eq!(address.to_string().parse::<PciAddress>().unwrap(), address);
    }

    #[test]
    fn no_text_is_read_as_another_address(text in "[0-9a-fA-F:.+ /]{0,16}") {
        if let Ok(address) = text.parse::<PciAddress>() {
            prop_assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn no_configuration_space_makes_the_search_for_a_number_fail(config in prop::collection::vec(any::<u8>(), 0..4096)) {
        let _ = device_serial(&config);
    }
}

#[test]
fn a_gpu_is_seen_as_the_host_shows_it() {
    let tree = Tree::new();
    tree.function("0000:0f:00.1", "0x10de", "0x22a0", "0x040300");
    tree.group(42, &[GPU, "0000:0f:00.1"]);
    let seen = tree.look(GPU).unwrap();
    let expected = PciSeen {
        address: GPU.parse().unwrap(),
        vendor_id: 0x10de,
        device_id: 0x2335,
        class: 0x03_0200,
        device_serial: None,
        nvme_serial: None,
        driver: Some("nvidia".into()),
        driver_override: None,
        iommu_group: Some(42),
        group_members: vec!["0000:0f:00.1".parse().unwrap()],
        numa_node: Some(1),
        is_vf: false,
        physfn: None,
        reset_methods: vec!["flr".into(), "bus".into()],
        config_readable: true,
    };
    assert_eq!(seen, expected);
    let json = serde_json::to_string(&seen).unwrap();
    assert_eq!(serde_json::from_str::<PciSeen>(&json).unwrap(), seen);
}

#[test]
fn what_a_function_does_not_have_is_none() {
    let tree = Tree::new();
    let bare = "0000:01:00.0";
    tree.function(bare, "0x144d", "0xa80a", "0x010802");
    let seen = tree.look(bare).unwrap();
    assert_eq!((&seen.driver, seen.iommu_group, seen.numa_node), (&None, None, None));
    assert!(seen.reset_methods.is_empty() && seen.group_members.is_empty() && !seen.is_vf);
    tree.text(bare, "numa_node", "-1\n");
    tree.text(bare, "nvme/nvme3/serial", "S6ABC123  \n");
    let seen = tree.look(bare).unwrap();
    assert_eq!((seen.numa_node, seen.nvme_serial.as_deref()), (None, Some("S6ABC123")));
}

#[test]
fn a_function_that_fell_off_the_bus_does_not_answer() {
    let tree = Tree::new();
    assert!(tree.look(GPU).unwrap().config_readable);
    tree.bytes(GPU, "config", &[0xff; 256]);
    assert!(!tree.look(GPU).unwrap().config_readable);
    tree.bytes(GPU, "config", &[0; 256]);
    assert!(!tree.look(GPU).unwrap().config_readable, "another device's header");
    tree.bytes(GPU, "config", &[0xde, 0x10, 0x35, 0x23]);
    assert!(!tree.look(GPU).unwrap().config_readable, "too short");
}

#[test]
fn a_virtual_function_names_its_maker_and_has_no_ids_of_its_own() {
    let tree = Tree::new();
    let vf = "0000:03:10.0";
    tree.function(vf, "0x15b3", "0x101e", "0x020700");
    tree.link(vf, "physfn", "../0000:03:00.0");
    let mut config = vec![0; 64];
    config[..4].fill(0xff);
    tree.bytes(vf, "config", &config);
    let seen = tree.look(vf).unwrap();
    assert_eq!((seen.is_vf, seen.physfn, seen.config_readable), (true, "0000:03:00.0".parse().ok(), true));
    tree.bytes(vf, "config", &[0xff; 64]);
    assert!(!tree.look(vf).unwrap().config_readable);
}

#[test]
fn the_number_in_the_configuration_space_is_read_as_lspci_spells_it() {
    let mut config = vec![0; 4096];
    config[0x100..0x104].copy_from_slice(&(0x0001_u32 | 0x148 << 20).to_le_bytes());
    config[0x148..0x14c].copy_from_slice(&0x0003_u32.to_le_bytes());
    config[0x14c..0x154].copy_from_slice(&0xb8ce_f603_0012_3456_u64.to_le_bytes());
    assert_eq!(device_serial(&config).as_deref(), Some("b8-ce-f6-03-00-12-34-56"));
    // A circle, a jump back and a number that is none.
    config[0x148..0x14c].copy_from_slice(&(0x0002_u32 | 0x100 << 20).to_le_bytes());
    assert_eq!(device_serial(&config), None);
    config[0x148..0x14c].copy_from_slice(&(0x0002_u32 | 0x040 << 20).to_le_bytes());
    assert_eq!(device_serial(&config), None);
    config[0x148..0x14c].copy_from_slice(&0x0003_u32.to_le_bytes());
    config[0x14c..0x154].fill(0);
    assert_eq!(device_serial(&config), None);
    assert_eq!(device_serial(&config[..64]), None);
}

#[test]
fn a_function_that_is_missing_or_makes_no_sense_is_refused() {
    let tree = Tree::new();
    let address: PciAddress = "0000:aa:00.0".parse().unwrap();
    assert_eq!(tree.look("0000:aa:00.0"), Err(Refusal::Missing { address }));
    for (name, bad) in
        [("vendor", "10de"), ("vendor", "0x110de"), ("device", "0xzz"), ("class", "0x1030200"), ("numa_node", "one")]
    {
        let tree = Tree::new();
        tree.text(GPU, name, bad);
        assert!(matches!(tree.look(GPU), Err(Refusal::Unreadable { .. })), "{name} {bad}");
    }
    let tree = Tree::new();
    tree.link(GPU, "iommu_group", "../../kernel/iommu_groups/none");
    assert!(matches!(tree.look(GPU), Err(Refusal::Unreadable { .. })));
    let tree = Tree::new();
    tree.group(9, &[]);
    tree.link(GPU, "iommu_group", "../../kernel/iommu_groups/9");
    let refusal = tree.look(GPU).unwrap_err().to_string();
    assert!(refusal.contains("is not listed"), "{refusal}");
}

#[test]
fn switches_of_the_fabric_are_found_among_all_functions() {
    let tree = Tree::new();
    assert_eq!(nvswitches(&tree.files).unwrap(), []);
    tree.function("0000:05:00.0", "0x10de", "0x22a3", "0x068000");
    assert_eq!(nvswitches(&tree.files).unwrap(), ["0000:05:00.0".parse().unwrap()]);
    let seen = tree.look("0000:05:00.0").unwrap();
    assert!(seen.is_bridge_class() && !seen.is_plain_bridge());
}
