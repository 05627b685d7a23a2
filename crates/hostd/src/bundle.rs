//! From an approved bundle to a slot of the plan: which rules a profile has, what is looked for on the host, and what stands
//! against it before the plan is even made. Pure: the host as it is now comes in as data.

use crate::{
    devices::{DeviceClaim, DeviceIds},
    disks::{self, DiskFound, LOOP},
    record::Record,
};
use guest::{
    domain::Role,
    identity::{Mac, PciAddress},
    plan::{ApprovedDevice, ApprovedDisk, ApprovedSlot, HostNow, Share},
};
use model::{
    SlotId,
    guest::{BundleDevice, SlotBundle},
    runtime::Refusal,
};
use network::HostNetwork;
use std::collections::BTreeSet;

/// The profile of a laboratory's slots.
pub const LAB_PROFILE: &str = "lab-vm";

/// Whether a bundle may be used on this host at all, by its profile alone.
pub fn profile_check(slot_id: &SlotId, bundle: &SlotBundle, lab: bool) -> Result<(), Refusal> {
    let refused = |check: &str, expected: &str, found: &str| {
        let (check, expected, found) = (check.to_owned(), expected.to_owned(), found.to_owned());
        Err(Refusal { check, slot_id: Some(slot_id.clone()), expected, found })
    };
    let is_lab = bundle.profile == LAB_PROFILE;
    let is_loop = bundle.disk_identity.starts_with(LOOP);
    if is_lab && !lab {
        return refused("profile", "a profile that is sold, since this host is no laboratory", LAB_PROFILE);
    }
    if is_loop && !is_lab {
        return refused("disk_identity", "a disk of its own", &bundle.disk_identity);
    }
    if is_lab && !is_loop {
        return refused("disk_identity", "a loop device, as the profile lab-vm has", &bundle.disk_identity);
    }
    if is_lab && (bundle.gpu.is_some() || bundle.fabric.is_some()) {
        return refused("profile", "no GPU and no fabric function, as the profile lab-vm has", "one of them");
    }
    if !is_lab && (bundle.gpu.is_none() || bundle.fabric.is_none()) {
        let found = if bundle.gpu.is_none() { "no GPU" } else { "no fabric function" };
        return refused("profile", &format!("a GPU and a fabric function for {}", bundle.profile), found);
    }
    Ok(())
}

/// What the settings of a host say about every slot on it.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Its network.
    pub network: &'a HostNetwork,
    /// The devices that guests may have.
    pub devices: &'a DeviceIds,
}

/// A slot as the plan takes it, or everything that stands against that.
pub fn approved(
    slot_id: &SlotId,
    bundle: &SlotBundle,
    rules: &Rules<'_>,
    host: &HostNow,
    found: &[DiskFound],
) -> Result<ApprovedSlot, Vec<Refusal>> {
    let mut refusals = vec![];
    let mut refuse = |check: &str, expected: String, found: String| {
        refusals.push(Refusal { check: check.to_owned(), slot_id: Some(slot_id.clone()), expected, found });
    };
    let disk = match disks::with_identity(found, &bundle.disk_identity) {
        Ok(disk) => Some(disk),
        Err(fault) => {
            refuse("disk_present", bundle.disk_identity.clone(), fault.to_string());
            None
        }
    };
    let mac = bundle.mac.parse::<Mac>();
    match &mac {
        Err(why) => refuse("mac", "the address of one network card".to_owned(), why.to_string()),
        Ok(own) => {
            if let Some(expected) = rules.network.mac_expected(network::Mac::new(own.0)) {
                refuse("mac", expected.to_owned(), own.to_string());
            }
        }
    }
    if let Some(expected) = rules.network.ip_expected(bundle.ip) {
        refuse("ip", expected, bundle.ip.to_string());
    }
    let mut devices = vec![];
    for (role, device) in [(Role::Gpu, &bundle.gpu), (Role::FabricVf, &bundle.fabric)] {
        let Some(device) = device else { continue };
        let ids = if role == Role::Gpu { &rules.devices.gpus } else { &rules.devices.fabric };
        match device_approved(role, device, bundle.numa_node, ids, host) {
            Ok(device) => devices.push(device),
            Err((expected, found)) => refuse("device_present", expected, found),
        }
    }
    let (Some(disk), Ok(mac), true) = (disk, mac, refusals.is_empty()) else { return Err(refusals) };
    Ok(ApprovedSlot {
        slot_id: slot_id.clone(),
        numa_node: bundle.numa_node,
        devices,
        disk: ApprovedDisk {
            path: disk.path.clone(),
            identity: bundle.disk_identity.clone(),
            size_bytes_min: bundle.share.disk_bytes_min,
            guest_serial: guest_serial(slot_id),
        },
        mac,
        ip: bundle.ip,
        bridge: rules.network.bridge.clone(),
        share: Share {
            vcpus: bundle.share.vcpus,
            memory_mib: bundle.share.memory_mib,
            hugepage_kib: bundle.share.hugepage_kib,
        },
    })
}

fn device_approved(
    role: Role,
    device: &BundleDevice,
    numa_node: u32,
    ids: &BTreeSet<String>,
    host: &HostNow,
) -> Result<ApprovedDevice, (String, String)> {
    let address: PciAddress =
        device.pci_address.parse().map_err(|_| ("a PCI address".to_owned(), device.pci_address.clone()))?;
    let now = host.pci.iter().find(|now| now.address == address).map(|now| &now.identity);
    // One of these must sit there; which of them it is makes no difference.
    let any = || ids.iter().map(String::as_str).collect::<Vec<_>>().join(" or ");
    let identity = now.filter(|now| ids.contains(*now)).cloned().unwrap_or_else(any);
    Ok(ApprovedDevice { role, address, identity, numa_node })
}

// A guest reads at most 20 characters; the last ones of an id are the random ones.
fn guest_serial(slot_id: &SlotId) -> String {
    let text = slot_id.as_str();
    text[text.len().saturating_sub(20)..].to_owned()
}

/// The devices of a guest's bundles. An address that cannot be read is none that could have been given. The GPUs of a guest
/// are one partition, also when it is one GPU that must be kept apart from the others; what the order says of it must agree.
pub fn device_claim<'a>(
    bundles: impl Iterator<Item = &'a SlotBundle> + Clone,
    partition: &[u32],
) -> Result<DeviceClaim, String> {
    let addresses = |of: fn(&SlotBundle) -> Option<&BundleDevice>| {
        let all = bundles.clone().filter_map(of).map(|device| device.pci_address.parse::<PciAddress>());
        all.collect::<Result<Vec<_>, _>>().map_err(|why| why.to_string())
    };
    let gpus = addresses(|bundle| bundle.gpu.as_ref())?;
    let known: Vec<u32> = bundles.clone().filter_map(|bundle| bundle.gpu.as_ref().and(bundle.gpu_module_id)).collect();
    let set = |modules: &[u32]| modules.iter().copied().collect::<BTreeSet<u32>>();
    if !partition.is_empty() && known.len() == gpus.len() && set(partition) != set(&known) {
        return Err(format!("the partition must be that of the GPUs {known:?}, but the order says {partition:?}"));
    }
    let partition = if partition.is_empty() { known } else { partition.to_vec() };
    Ok(DeviceClaim { gpus, fabric: addresses(|bundle| bundle.fabric.as_ref())?, partition })
}

/// The numbers of a guest's GPUs on the board.
pub fn modules(record: &Record) -> BTreeSet<u32> {
    let bundles = record.slots.iter().filter_map(|slot| slot.bundle.as_deref());
    let claim = device_claim(bundles, &record.spec.partition);
    claim.map(|claim| claim.partition.into_iter().collect()).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{
        config::{Config, tests::GOOD},
        record::tests::{bundle, slot_id},
    };
    use disk::{DeviceNumber, DiskIdentity, LoopIdentity};
    use guest::plan::PciNow;

    fn device(address: &str) -> Option<BundleDevice> {
        Some(BundleDevice { pci_address: address.into() })
    }

    fn sold() -> SlotBundle {
        SlotBundle {
            profile: "h200-sxm-slice".into(),
            disk_identity: "eui.1".into(),
            gpu: device("0000:0f:00.0"),
            fabric: device("0000:19:00.1"),
            ..bundle(1)
        }
    }

    fn disk(bytes: u64) -> DiskFound {
        let identity = DiskIdentity::Loop(LoopIdentity {
            device: "loop1".into(),
            backing_file: "/disks/1.img".into(),
            size_bytes: bytes,
            logical_block_bytes: 512,
        });
        let number = DeviceNumber { major: 7, minor: 1 };
        DiskFound { path: "/dev/loop1".into(), text: "loop:/disks/1.img".into(), identity, number }
    }

    #[test]
    fn a_laboratorys_bundle_needs_a_laboratory_and_others_need_their_devices() {
        let checked = |bundle: &SlotBundle, lab: bool| profile_check(&slot_id(1), bundle, lab);
        assert_eq!(checked(&bundle(1), true), Ok(()));
        assert_eq!(checked(&bundle(1), false).unwrap_err().check, "profile");
        assert_eq!(checked(&sold(), false), Ok(()));
        assert_eq!(checked(&sold(), true), Ok(()));
        let wrong = [
            SlotBundle { gpu: None, ..sold() },
            SlotBundle { fabric: None, ..sold() },
            SlotBundle { disk_identity: "loop:/x".into(), ..sold() },
            SlotBundle { disk_identity: "eui.1".into(), ..bundle(1) },
            SlotBundle { gpu: device("0000:0f:00.0"), ..bundle(1) },
        ];
        for bundle in wrong {
            assert!(checked(&bundle, true).is_err(), "{bundle:?}");
        }
    }

    #[test]
    fn a_bundle_becomes_a_slot_or_says_what_stands_against_it() {
        let host = HostNow::default();
        let network = Config::parse(GOOD).unwrap().network;
        let devices = DeviceIds { gpus: ["10de:2335".to_owned()].into(), ..DeviceIds::default() };
        let rules = Rules { network: &network, devices: &devices };
        let bundle = |number| SlotBundle { ip: [10, 77, 0, 7].into(), ..bundle(number) };
        let slot = approved(&slot_id(1), &bundle(1), &rules, &host, &[disk(1 << 20)]).unwrap();
        assert_eq!(slot.disk.path.to_str(), Some("/dev/loop1"));
        assert!(slot.disk.guest_serial.len() == 20 && slot.devices.is_empty());
        let checks = |bundle: &SlotBundle, disks: &[DiskFound]| {
            let refusals = approved(&slot_id(1), bundle, &rules, &host, disks).unwrap_err();
            refusals.into_iter().map(|refusal| refusal.check).collect::<Vec<_>>()
        };
        assert_eq!(checks(&bundle(1), &[]), ["disk_present"]);
        // What was approved goes into the plan, which then looks whether the disk is that.
        let small = approved(&slot_id(1), &bundle(1), &rules, &host, &[disk(512)]).unwrap().disk;
        assert_eq!((small.size_bytes_min, small.identity), (1 << 20, bundle(1).disk_identity));
        assert_eq!(checks(&SlotBundle { mac: "x".into(), ..bundle(1) }, &[]), ["disk_present", "mac"]);
        let odd = SlotBundle { gpu: device("0f:00"), ..bundle(1) };
        assert_eq!(checks(&odd, &[disk(1 << 20)]), ["device_present"]);
        // Addresses that are the gateway's, the subnet's own or another's, whether or not the bridge has them already.
        for ip in [[10, 77, 0, 1], [10, 77, 0, 0], [10, 77, 0, 255], [10, 78, 0, 7]] {
            assert_eq!(checks(&SlotBundle { ip: ip.into(), ..bundle(1) }, &[disk(1 << 20)]), ["ip"], "{ip:?}");
        }
        let gateway = SlotBundle { mac: network.gateway_mac.to_string(), ..bundle(1) };
        assert_eq!(checks(&gateway, &[disk(1 << 20)]), ["mac"]);
    }

    #[test]
    fn what_may_sit_at_a_place_is_what_the_settings_say() {
        let ids = BTreeSet::from(["10de:2330".to_owned(), "10de:2335".to_owned()]);
        let with = |identity: &str| HostNow {
            pci: vec![PciNow {
                address: "0000:0f:00.0".parse().unwrap(),
                identity: identity.to_owned(),
                driver: None,
                iommu_group: None,
                numa_node: None,
                is_bridge: false,
            }],
            ..HostNow::default()
        };
        let gpu = device("0000:0f:00.0").unwrap();
        let expected = |host: &HostNow| device_approved(Role::Gpu, &gpu, 0, &ids, host).unwrap().identity;
        assert_eq!(expected(&with("10de:2335")), "10de:2335");
        assert_eq!(expected(&with("10de:1111")), "10de:2330 or 10de:2335", "which the plan then does not find");
        assert_eq!(expected(&HostNow::default()), "10de:2330 or 10de:2335");
    }

    #[test]
    fn the_devices_of_all_slots_are_one_claim() {
        let bundles = [sold(), SlotBundle { gpu: device("0000:10:00.0"), fabric: device("0000:19:00.2"), ..sold() }];
        let claim = device_claim(bundles.iter(), &[1, 2]).unwrap();
        assert_eq!((claim.gpus.len(), claim.fabric.len(), claim.partition), (2, 2, vec![1, 2]));
        assert_eq!(device_claim(bundles.iter(), &[]).unwrap().partition, [0_u32; 0], "where no number is known");
        let mut numbered = bundles.clone();
        (numbered[0].gpu_module_id, numbered[1].gpu_module_id) = (Some(7), Some(5));
        assert_eq!(device_claim(numbered.iter(), &[5, 7]).unwrap().partition, [5, 7]);
        assert_eq!(device_claim(numbered.iter(), &[]).unwrap().partition, [7, 5]);
        assert_eq!(device_claim(numbered[..1].iter(), &[]).unwrap().partition, [7], "a single GPU is a partition too");
        assert!(device_claim(numbered.iter(), &[5, 6]).unwrap_err().contains("must be that of the GPUs [7, 5]"));
        let odd = SlotBundle { gpu: device("x"), ..sold() };
        assert!(device_claim([odd].iter(), &[]).is_err());
    }
}
