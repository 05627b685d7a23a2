//! A captured host, read as the plan needs it.

use super::*;
use crate::record::tests::{guest_use, record};
use network::{GatewaySeen, Lease};
use std::os::unix::fs::symlink;

fn put(root: &Path, path: &str, said: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, said).unwrap();
}

fn host() -> (tempfile::TempDir, HostView) {
    let folder = tempfile::tempdir().unwrap();
    let sys = folder.path().join("sys");
    put(&sys, "devices/system/cpu/online", "0-3\n");
    put(&sys, "devices/system/node/online", "0-1\n");
    for node in 0..2 {
        let at = |name: &str| format!("devices/system/node/node{node}/{name}");
        put(&sys, &at("cpulist"), if node == 0 { "0-1\n" } else { "2-4\n" });
        put(&sys, &at("hugepages/hugepages-2048kB/free_hugepages"), "7\n");
        put(&sys, &at("meminfo"), "Node 0 MemTotal: 9 kB\nNode 0 MemFree: 2048 kB\nNode 0 Inactive(file): 2048 kB\n");
    }
    for cpu in 0..4 {
        let siblings = if cpu < 2 { "0,1" } else { "2-3" };
        put(&sys, &format!("devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), siblings);
    }
    for (name, said) in [("vendor", "0x10de"), ("device", "0x2335"), ("class", "0x030200"), ("numa_node", "1")] {
        put(&sys, &format!("bus/pci/devices/0000:0f:00.0/{name}"), said);
    }
    symlink("../../drivers/vfio-pci", sys.join("bus/pci/devices/0000:0f:00.0/driver")).unwrap();
    symlink("../../groups/31", sys.join("bus/pci/devices/0000:0f:00.0/iommu_group")).unwrap();
    let view = HostView { sys, proc: "/proc".into(), dev: "/dev".into() };
    (folder, view)
}

#[test]
fn processors_memory_and_functions_are_read() {
    let (_folder, view) = host();
    let cpu = |cpu, numa_node, core| CpuNow { cpu, numa_node, core };
    // CPU 4 is off, CPU 0 is the host's own.
    assert_eq!(cpus(&view, &[0]).unwrap(), [cpu(1, 0, 0), cpu(2, 1, 2), cpu(3, 1, 2)]);
    assert_eq!(hugepages(&view).unwrap().len(), 2);
    assert_eq!(memory_free_mib(&view).unwrap(), BTreeMap::from([(0, 3), (1, 3)]));
    let functions = pci(&view).unwrap();
    let expected = PciNow {
        address: "0000:0f:00.0".parse().unwrap(),
        identity: "10de:2335".into(),
        driver: Some("vfio-pci".into()),
        iommu_group: Some(31),
        numa_node: Some(1),
        is_bridge: false,
    };
    assert_eq!(functions, [expected]);
}

#[test]
fn what_cannot_be_read_is_a_fault() {
    let (_folder, view) = host();
    put(&view.sys, "devices/system/cpu/online", "many");
    assert!(cpus(&view, &[]).is_err());
    put(&view.sys, "devices/system/node/node0/meminfo", "Node 0 MemTotal: 1 kB");
    assert!(memory_free_mib(&view).is_err());
    put(&view.sys, "devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "");
    assert!(hugepages(&view).is_err());
    for bad in ["a", "3-1", "1-99999999", "1-"] {
        assert_eq!(number_set(bad), None, "{bad}");
    }
}

#[test]
fn addresses_are_told_with_whoever_uses_them() {
    let (own, other) = (record(7), "02:00:00:00:01:09");
    let mut seen = Seen {
        gateway: GatewaySeen {
            mac: "02:00:00:00:00:01".parse().unwrap(),
            addresses: BTreeSet::from([("10.77.0.1".parse().unwrap(), 24)]),
            up: true,
            forwards: true,
            secure: true,
        },
        ports: vec![],
        elsewhere: BTreeSet::new(),
        flows: BTreeSet::new(),
        dhcp: None,
        reservations: BTreeMap::from([(own.port().port_name(), "02:00:00:00:01:07,10.77.0.7\n".to_owned())]),
        leases: BTreeSet::new(),
        firewall: None,
    };
    seen.leases.insert(Lease { mac: other.parse().unwrap(), ip: "10.77.0.9".parse().unwrap(), until_s: 0 });
    let now = addresses(&seen, std::slice::from_ref(&own), &[]);
    assert_eq!(now.macs.get(&"02:00:00:00:01:07".parse().unwrap()), Some(&Some(own.guest.clone())));
    assert_eq!(now.ips.get(&Ipv4Addr::new(10, 77, 0, 7)), Some(&Some(own.guest)));
    assert_eq!(now.macs.get(&other.parse().unwrap()), Some(&None), "nobody knows whose that is");
    assert_eq!(now.ips.get(&Ipv4Addr::new(10, 77, 0, 1)), Some(&None), "the gateway's is taken");
}

#[test]
fn what_was_promised_and_is_not_up_counts() {
    let records = [record(1), record(2), record(3)];
    let running = BTreeSet::from([guest_use(2)]);
    assert_eq!(promised_mib(&records, &guest_use(1), &running), BTreeMap::from([((0, None), 128)]));
}

#[test]
fn only_a_node_of_the_very_disk_is_one() {
    let (folder, _) = host();
    put(folder.path(), "dev/nvme0n1", "a file that somebody made");
    let disk = DeviceNumber { major: 259, minor: 1 };
    for path in [folder.path().join("dev/nvme0n1"), folder.path().join("dev/nvme1n1"), "/dev/null".into()] {
        assert!(!is_node_of(&path, disk), "{}", path.display());
    }
}
