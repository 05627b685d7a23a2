//! A machine is what was asked for, and every way in which it is not is seen.

use super::*;
use crate::identity::tests::{guest, slot};
use crate::{notice, xml::Element};
use proptest::prelude::*;

pub(crate) fn spec() -> DomainSpec {
    DomainSpec {
        guest: guest(3),
        slots: vec![SlotUse { slot_id: slot(1), use_generation: 3 }, SlotUse { slot_id: slot(2), use_generation: 9 }],
        accelerator: Accelerator::Kvm,
        emulator: "/usr/bin/qemu-system-x86_64".into(),
        cpu_model: CpuModel::HostPassthrough,
        cells: vec![
            Cell { host_node: 0, cpus: vec![4, 5], memory_mib: 2048 },
            Cell { host_node: 1, cpus: vec![20, 21], memory_mib: 2048 },
        ],
        emulator_cpus: vec![0, 1],
        hugepage_kib: Some(1024 * 1024),
        firmware: Firmware::Uefi {
            code: "/usr/share/OVMF/OVMF_CODE_4M.fd".into(),
            vars_template: "/usr/share/OVMF/OVMF_VARS_4M.fd".into(),
            vars: "/var/lib/gpuaas/vars.fd".into(),
        },
        disks: vec![
            Disk { device: "/dev/disk/by-id/nvme-eui.1".into(), serial: "S1".into() },
            Disk { device: "/dev/disk/by-id/nvme-eui.2".into(), serial: "S2".into() },
        ],
        seed: "/var/lib/gpuaas/seed.iso".into(),
        passthrough: vec![
            Passthrough { address: "0000:0f:00.0".parse().unwrap(), role: Role::Gpu },
            Passthrough { address: "0000:10:00.2".parse().unwrap(), role: Role::FabricVf },
        ],
        nic: Nic {
            mac: "02:00:00:00:2a:05".parse().unwrap(),
            bridge: "br-gpu".into(),
            vlan: 100,
            interface_id: guest(4).uuid(),
            tap: "gt0".into(),
            offloads: Offloads::Off,
        },
        console: Console { path: "/run/gpuaas/c.sock".into(), log: "/var/log/gpuaas/c.log".into() },
        notice: "/run/gpuaas/n.sock".into(),
    }
}

fn seen(spec: &DomainSpec) -> DomainSeen {
    read_domain(&build(spec).unwrap()).unwrap()
}

#[test]
fn a_guest_is_what_was_asked_for() {
    let spec = spec();
    assert_eq!(compare(&spec, &seen(&spec)), []);
    let tree = Element::read(&build(&spec).unwrap()).unwrap();
    let devices = tree.first("devices").unwrap();
    assert_eq!(tree.get("type"), Some("kvm"));
    let ports = devices.all("controller").filter(|c| c.get("model") == Some("pcie-root-port")).count();
    assert_eq!(ports, 2);
    let buses: Vec<_> = devices.all("hostdev").map(|h| (h.get("managed"), h.at(&["address"], "bus"))).collect();
    assert_eq!(buses, [(Some("no"), Some("0x01")), (Some("no"), Some("0x02"))]);
    assert_eq!(devices.at(&["disk", "driver"], "discard"), Some("unmap"));
    for none in ["graphics", "video", "sound", "redirdev", "tpm", "filesystem", "shmem"] {
        assert!(devices.first(none).is_none(), "{none}");
    }
    let cells: Vec<_> =
        tree.down(&["cpu", "numa"]).unwrap().all("cell").map(|cell| cell.get("cpus").unwrap()).collect();
    assert_eq!(cells, ["0,1", "2,3"]);
    assert_eq!(tree.at(&["numatune", "memory"], "mode"), Some("strict"));
    assert_eq!(tree.first("on_crash").unwrap().text, "destroy");
}

#[test]
fn each_wish_shows_in_the_machine() {
    type Change = fn(&mut DomainSpec);
    let changes: [(&str, Change); 12] = [
        ("uuid", |spec| spec.guest = guest(4)),
        ("metadata", |spec| spec.slots.truncate(1)),
        ("accelerator", |spec| {
            (spec.accelerator, spec.cpu_model) = (Accelerator::Tcg, CpuModel::Named("qemu64".into()))
        }),
        ("pins", |spec| spec.cells[0].cpus = vec![6, 7]),
        ("memory_kib", |spec| spec.cells[0].memory_mib = 1024),
        ("memory_nodes", |spec| spec.cells[1].host_node = 2),
        ("hugepage_kib", |spec| spec.hugepage_kib = Some(2048)),
        ("firmware", |spec| spec.firmware = Firmware::Bios),
        ("disk", |spec| spec.disks[0].device = "/dev/sda".into()),
        ("disk /dev/disk/by-id/nvme-eui.1", |spec| spec.disks[0].serial = "S9".into()),
        ("network card", |spec| spec.nic.vlan = 101),
        ("serial console", |spec| spec.console.log = "/x".into()),
    ];
    for (what, change) in changes {
        let mut other = spec();
        change(&mut other);
        let differences = compare(&spec(), &seen(&other));
        assert!(differences.iter().any(|difference| difference.what == what), "{what}: {differences:?}");
        assert_eq!(compare(&other, &seen(&other)), [], "{what}");
    }
}

#[test]
fn a_device_too_many_or_too_few_is_a_difference() {
    let spec = spec();
    let tree = Element::read(&build(&spec).unwrap()).unwrap();
    let differs = |change: &dyn Fn(&mut Vec<Element>)| {
        let mut tree = tree.clone();
        change(&mut tree.children.iter_mut().find(|child| child.name == "devices").unwrap().children);
        !compare(&spec, &read_domain(&tree.write().unwrap()).unwrap()).is_empty()
    };
    assert!(!differs(&|_| ()));
    for extra in [
        Element::new("graphics").with("type", "vnc"),
        Element::new("graphics").with("type", "spice"),
        Element::new("video"),
        Element::new("filesystem").with("type", "mount"),
        Element::new("controller").with("type", "usb").with("model", "qemu-xhci"),
        Element::new("hostdev").with("type", "usb"),
        Element::new("redirdev"),
        Element::new("shmem"),
        Element::new("tpm").with("model", "tpm-crb"),
        Element::new("channel").with("type", "unix").child(Element::new("target").with("name", "x")),
        Element::new("serial").with("type", "tcp"),
        Element::new("memballoon").with("model", "virtio"),
        Element::new("something-new"),
    ] {
        assert!(differs(&|devices| devices.push(extra.clone())), "{extra:?}");
    }
    let count = tree.first("devices").unwrap().children.len();
    for at in 0..count {
        let name = tree.first("devices").unwrap().children[at].clone();
        // The root itself is not a device that a guest could miss: libvirt puts it back.
        let by_itself = name.name == "controller" && name.get("type") == Some("pci");
        // Nor is a port for notices: guests from before there were any have none.
        let older = name.at(&["target"], "name") == Some(notice::PORT);
        assert!(differs(&|devices| drop(devices.remove(at))) || by_itself || older, "{name:?}");
        let doubled = |devices: &mut Vec<Element>| devices.push(name.clone());
        let own = ["emulator", "controller"].contains(&name.name.as_str());
        assert!(differs(&doubled) || own, "{name:?} twice");
    }
    assert!(differs(&|devices| {
        let hostdev = devices.iter_mut().find(|device| device.name == "hostdev").unwrap();
        hostdev.attributes.iter_mut().find(|(name, _)| name == "managed").unwrap().1 = "yes".into();
    }));
}

#[test]
fn whether_somebody_listens_for_notices_is_seen() {
    let (xml, socket) = (build(&spec()).unwrap(), spec().notice);
    let heard = |xml: &str| read_domain(xml).unwrap().notice_heard(&socket);
    let target = format!("name='{}'", notice::PORT);
    let double = format!("name=\"{}\"", notice::PORT);
    let in_state = |state: &str| {
        let with = |target: &str| format!("{target} state='{state}'");
        xml.replace(&target, &with(&target)).replace(&double, &with(&double))
    };
    assert_eq!(heard(&xml), Some(false), "a machine that is off");
    assert_eq!(heard(&in_state("disconnected")), Some(false));
    assert_eq!(heard(&in_state("connected")), Some(true));
    assert_eq!(heard(&in_state("connected").replace("n.sock", "other.sock")), None, "somewhere else");
    assert_eq!(heard(&xml.replace(notice::PORT, "org.example.other")), None, "from before there were notices");
    let mut elsewhere = spec();
    elsewhere.notice = "/run/gpuaas/other.sock".into();
    assert!(!compare(&spec(), &seen(&elsewhere)).is_empty(), "a port that leads elsewhere is one too many");
}

#[test]
fn a_machine_of_somebody_else_is_read_for_what_it_takes_from_the_host() {
    let uuid = guest(3).uuid();
    let at = "<address domain='0x0000' bus='0x0f' slot='0x00' function='0x1'/>";
    let odd = format!(
        "<memory unit='TiB'>1</memory><vcpu>many</vcpu><memoryBacking><hugepages/></memoryBacking>\
         <cputune><vcpupin vcpu='x' cpuset='1'/></cputune><numatune><memnode cellid='x' nodeset='0'/></numatune>\
         <devices><disk type='block'><source dev='/dev/nvme3n1'/></disk><interface type='user'/>\
         <interface type='hostdev'><mac address='52:54:00:00:00:01'/><source>{}</source></interface>\
         <disk type='nvme'><source type='pci' namespace='1'>{}</source></disk>\
         <hostdev type='pci' managed='yes'><source>{at}</source></hostdev></devices>",
        at.replace("0x0f", "0x10"),
        at.replace("0x0f", "0x11")
    );
    let read = |more: &str| {
        read_domain(&format!("<domain type='kvm'><name>pet</name><uuid>{uuid}</uuid>{more}{odd}</domain>"))
    };
    let pet = read("").unwrap();
    assert_eq!((pet.uuid, pet.name.as_str(), pet.guest), (uuid, "pet", None));
    assert_eq!((pet.memory_kib, pet.vcpus, pet.hugepage_kib), (0, 0, None));
    assert_eq!(pet.disks[0].source, "/dev/nvme3n1");
    let mut places: Vec<String> = pet.hostdevs.iter().map(|device| device.address.unwrap().to_string()).collect();
    places.sort();
    assert_eq!(places, ["0000:0f:00.1", "0000:10:00.1", "0000:11:00.1"]);
    assert_eq!(pet.nics.len(), 1, "a card without an address has none that could be taken");
    // The same, if it says that the platform made it, is not understood.
    let id = guest(3).allocation_id;
    let ours = format!(
        "<metadata><gpuaas:guest xmlns:gpuaas='{NAMESPACE}' allocation_id='{id}' use_generation='3'/></metadata>"
    );
    assert!(matches!(read(&ours), Err(ReadFault::Part(_))));
    // A device that nobody can place could be anybody's.
    let blind = odd.replace("slot='0x00'", "slot='first'");
    assert!(read_domain(&format!("<domain><uuid>{uuid}</uuid>{blind}</domain>")).is_err());
}

#[test]
fn specs_that_break_a_rule_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut DomainSpec)| {
        let mut spec = spec();
        change(&mut spec);
        build(&spec).unwrap_err().field
    };
    for bad in ["", "relative", "/a/../b", "/a\nb", "/a\u{0}", "/a ", "/\u{ffff}", &format!("/{}", "x".repeat(1100))] {
        assert_eq!(refused(&|spec| spec.seed = bad.into()), "seed", "{bad:?}");
    }
    for bad in ["", "a b", "x'/>", "a\u{0}", &"x".repeat(21)] {
        assert_eq!(refused(&|spec| spec.disks[0].serial = bad.into()), "disks.serial", "{bad:?}");
    }
    for bad in ["", "br/x", "-o", &"x".repeat(16)] {
        assert_eq!(refused(&|spec| spec.nic.bridge = bad.into()), "nic.bridge", "{bad:?}");
    }
    assert_eq!(refused(&|spec| spec.nic.tap = "vnet0".into()), "nic.tap");
    assert_eq!(refused(&|spec| spec.nic.vlan = 0), "nic.vlan");
    assert_eq!(refused(&|spec| spec.cells[1].cpus = vec![4]), "cells");
    assert_eq!(refused(&|spec| spec.cells[1].host_node = 0), "cells");
    assert_eq!(refused(&|spec| spec.cells[1].memory_mib = 100), "cells");
    assert_eq!(refused(&|spec| spec.cells[1].memory_mib = u64::MAX), "cells");
    assert_eq!(refused(&|spec| spec.cells.clear()), "cells");
    assert_eq!(refused(&|spec| spec.disks.clear()), "disks");
    assert_eq!(refused(&|spec| spec.slots.clear()), "slots");
    assert_eq!(refused(&|spec| spec.accelerator = Accelerator::Tcg), "cpu_model");
    assert_eq!(refused(&|spec| spec.passthrough[1] = spec.passthrough[0].clone()), "passthrough");
}

#[test]
fn domains_of_others_are_read_and_broken_ones_are_not() {
    let foreign = "<domain type='kvm'><name>x</name><uuid>00000000-0000-4000-8000-000000000001</uuid><memory>1024</memory><vcpu>1</vcpu><devices/></domain>";
    assert_eq!(read_domain(foreign).unwrap().guest, None);
    for bad in ["", "<x/>", "<domain/>", &foreign.replace("<devices/>", ""), &foreign.replace("00000000-", "")] {
        assert!(read_domain(bad).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn hostile_paths_come_back_as_they_went(name in "\\PC{1,40}|[<>&'\"\\]\\[!; ]{1,20}") {
        let mut spec = spec();
        let path = PathBuf::from(format!("/x/{name}y"));
        (spec.seed, spec.disks[0].device) = (path.clone(), path.join("disk"));
        (spec.console, spec.notice) = (Console { path: path.join("s"), log: path.join("l") }, path.join("n"));
        match build(&spec) {
            Ok(xml) => prop_assert_eq!(compare(&spec, &read_domain(&xml).unwrap()), vec![]),
            Err(refused) => prop_assert!(name.contains("..") || name.starts_with("./") || name.contains("/./") || !fits(&name) , "{}", refused),
        }
    }

    #[test]
    fn no_xml_upsets_the_reader(cut in 0usize..6000, put in "\\PC{0,10}") {
        let xml = build(&spec()).unwrap();
        let at = (0..=cut.min(xml.len())).rev().find(|at| xml.is_char_boundary(*at)).unwrap();
        let _ = read_domain(&format!("{}{put}{}", &xml[..at], &xml[at..]));
        let _ = read_domain(&xml[..at]);
    }
}
