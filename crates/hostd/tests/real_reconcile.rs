//! What does not belong on a real host, and what a comparison does about each: repaired, told, or left for somebody to decide.
//! The guest that is claimed runs on through all of it, and its disk is never touched; also when libvirt dies, and when
//! everything that a reboot takes away is gone.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod world;

use guest::{
    identity::GuestUse,
    leases::{Leases, Thing},
};
use hostbox::{MIB, tiny_image, until};
use hostd::{ClientFault, Waiting, now};
use model::{
    runtime::{FindingAction, FindingKind, GuestSeen},
    task::{PlanSlot, ReconcileClaim, ReconcileOrder, TaskFailure, TaskSlot},
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::PathBuf,
};
use world::{World, allocation, guest, slot, world};

const SECRET: &str = "what-the-tenant-keeps-77aa";
const STRAY: &str = "gp0000deadbeef";

struct Place {
    slots: [TaskSlot; 2],
    devices: [PathBuf; 2],
    seen: GuestSeen,
}

// A guest on slot 7 and nobody on slot 8.
fn begin(world: &mut World) -> Place {
    world.config_write(&[]);
    world.daemon_start();
    let disks = [7, 8].map(|number| world.disk(&format!("disk{number}.img"), 96 * MIB));
    let slots = [slot(7, &disks[0].0), slot(8, &disks[1].0)];
    let spec = guest(world, "one");
    world.client().image_admit(&spec.image, &mut File::open(tiny_image()).unwrap()).unwrap();
    let seen = world.client().provision(&allocation(1), &slots[..1], &spec, Waiting::quietly()).unwrap();
    let plant = format!("echo -n {SECRET} | dd of=/dev/vda bs=1M seek=80 conv=fsync 2>/dev/null");
    assert!(world.ssh(&seen.expected_ip, &seen.host_key, &plant).status.success());
    Place { slots, devices: disks.map(|(_, device)| device), seen }
}

impl Place {
    fn order(&self, claims: &[u8]) -> ReconcileOrder {
        let claim = |number: &u8| ReconcileClaim {
            allocation_id: allocation(*number),
            slots: vec![self.slots[usize::from(*number) - 1].clone()],
            should_run: true,
        };
        let slot = |slot: &TaskSlot| PlanSlot {
            slot_id: slot.slot_id.clone(),
            bundle: slot.bundle.as_deref().unwrap().clone(),
        };
        ReconcileOrder { claims: claims.iter().map(claim).collect(), slots: self.slots.iter().map(slot).collect() }
    }

    fn found(&self, world: &World, claims: &[u8]) -> Vec<(FindingKind, FindingAction, String)> {
        let report = world.client().reconcile(&self.order(claims), &[], Waiting::quietly()).unwrap();
        report.findings.into_iter().map(|found| (found.kind, found.action, found.thing)).collect()
    }

    // One thing is wrong, it is put right, and then nothing is wrong.
    fn repaired(&self, world: &World, kind: FindingKind, thing: &str) {
        let found = self.found(world, &[1]);
        assert!(found.iter().any(|(found, _, what)| *found == kind && what.contains(thing)), "{thing}: {found:?}");
        assert!(found.iter().all(|(_, action, _)| *action == FindingAction::Repaired), "{found:?}");
        assert_eq!(self.found(world, &[1]), [], "{thing}");
    }

    fn answers(&self, world: &World) -> bool {
        world.ssh(&self.seen.expected_ip, &self.seen.host_key, "true").status.success()
    }
}

fn strays_are_taken_away(world: &World, place: &Place) {
    world.inside(&["ip", "tuntap", "add", STRAY, "mode", "tap"]);
    world.inside(&["ovs-vsctl", "add-port", "br-gpu", STRAY]);
    place.repaired(world, FindingKind::StrayNetwork, STRAY);
    assert!(!world.inside(&["ovs-vsctl", "list-ports", "br-gpu"]).contains(STRAY));
    world.inside(&["ip", "link", "del", STRAY]);

    let bridge = "unix:/run/openvswitch/br-gpu.mgmt";
    let flow = "cookie=0x677000000000beef,priority=9,ip,nw_src=10.77.0.99,actions=LOCAL";
    world.inside(&["ovs-ofctl", "-O", "OpenFlow14", "add-flow", bridge, flow]);
    place.repaired(world, FindingKind::StrayNetwork, "10.77.0.99");
    fs::write(world.path("state/dhcp/hosts/gp00000000beef"), "02:00:00:00:01:99,10.77.0.99\n").unwrap();
    place.repaired(world, FindingKind::StrayNetwork, "gp00000000beef");
    let leases = world.path("state/dhcp/leases");
    let text = fs::read_to_string(&leases).unwrap();
    fs::write(&leases, format!("{text}0 02:00:00:00:01:98 10.77.0.98 * *\n")).unwrap();
    place.repaired(world, FindingKind::StrayNetwork, "10.77.0.98");
    assert!(!fs::read_to_string(&leases).unwrap().contains("10.77.0.98"));

    let gone = GuestUse { allocation_id: allocation(9), use_generation: 1 };
    let held = Leases { folder: world.path("state/leases") };
    held.take(&BTreeSet::from([Thing::Slot(place.slots[1].slot_id.clone())]), &gone, now()).unwrap();
    place.repaired(world, FindingKind::StrayLease, allocation(9).as_str());
    assert!(held.list().unwrap().iter().all(|lease| lease.holder.allocation_id == allocation(1)));

    let seed = world.path("state/seeds").join(format!("{}.iso", gone.name()));
    fs::write(&seed, "x").unwrap();
    place.repaired(world, FindingKind::StraySeed, &gone.name());
    assert!(!seed.exists());
}

// More than the cache may hold: what no guest needs goes, and what cannot be an image stays.
fn a_filled_cache_is_emptied(world: &World, place: &Place) {
    let folder = world.path("state/images");
    let old = folder.join("f".repeat(64));
    File::create(&old).unwrap().set_len(2_000_000_000).unwrap();
    world.inside(&["touch", "-d", "2001-01-01", old.to_str().unwrap()]);
    fs::write(folder.join("x.part"), "x").unwrap();
    fs::write(folder.join("README"), "not ours").unwrap();
    place.repaired(world, FindingKind::ImageCache, "images");
    assert!(!old.exists() && !folder.join("x.part").exists() && folder.join("README").exists());
    assert!(world.client().image_there(&guest(world, "one").image).unwrap(), "the one that was used last stays");
}

// Who may have what is not for a host to decide.
fn what_is_not_ours_to_decide_is_told(world: &World, place: &Place) {
    let found = place.found(world, &[]);
    let kinds: Vec<_> = found.iter().map(|(kind, action, _)| (*kind, *action)).collect();
    assert_eq!(kinds, [(FindingKind::GuestWithoutClaim, FindingAction::Quarantined)]);
    let found = place.found(world, &[1, 2]);
    let kinds: Vec<_> = found.iter().map(|(kind, action, _)| (*kind, *action)).collect();
    assert_eq!(kinds, [(FindingKind::ClaimWithoutGuest, FindingAction::Reported)]);
    // A machine of somebody else with a slot's disk.
    let xml = world.path("pet.xml");
    let text = format!(
        "<domain type='qemu'><name>pet</name><memory unit='MiB'>64</memory><os><type arch='x86_64'>hvm</type></os>\
         <devices><disk type='block'><source dev='{}'/><target dev='vda' bus='virtio'/></disk></devices></domain>",
        place.devices[1].display()
    );
    fs::write(&xml, text).unwrap();
    world.inside(&["virsh", "define", xml.to_str().unwrap()]);
    let found = place.found(world, &[1]);
    assert_eq!(found, [(FindingKind::GuestWithoutClaim, FindingAction::Quarantined, "pet".to_owned())]);
    assert!(world.inside(&["virsh", "list", "--all", "--name"]).contains("pet"), "it is left alone");
    world.inside(&["virsh", "undefine", "pet"]);
}

// libvirt dies: nothing is known, so nothing is done; when it is back, everything is as it was.
fn libvirt_dies(world: &World, place: &Place) -> hostbox::Running {
    let running = world.qemus();
    world.libvirt_kill();
    let blind = world.client().reconcile(&place.order(&[]), &[], Waiting::quietly()).unwrap_err();
    let ClientFault::Refused { failure, detail, .. } = blind else { panic!("{blind}") };
    assert!(failure == Some(TaskFailure::ReconcileFailed), "{detail}");
    assert!(detail.contains("libvirt does not answer"), "{detail}");
    assert!(place.answers(world), "the guest runs on");
    let libvirt = world.libvirt_start();
    assert_eq!(place.found(world, &[1]), []);
    assert_eq!(world.qemus(), running);
    libvirt
}

// All that a reboot takes: every process, the bridge, the filter, and what is in memory. Disks and state stay.
fn reboots(world: &mut World, place: &Place, libvirt: hostbox::Running) {
    world.daemon_signal("-KILL");
    world.daemon_ended();
    drop(libvirt);
    world.inside(&["pkill", "-KILL", "-f", "qemu-system-x86_64.*-uuid"]);
    world.inside(&["pkill", "-KILL", "dnsmasq"]);
    until("no guest runs", || world.qemus().is_empty().then_some(()));
    world.inside(&["ovs-vsctl", "del-br", "br-gpu"]);
    world.inside(&["nft", "delete", "table", "inet", "gpuaas"]);
    fs::remove_dir_all(world.path("r")).unwrap();
    let _libvirt = world.libvirt_start();
    world.daemon_start();
    let found = place.found(world, &[1]);
    let started = |(kind, action, _): &(FindingKind, FindingAction, String)| {
        (*kind, *action) == (FindingKind::ClaimWithoutGuest, FindingAction::Repaired)
    };
    assert!(found.iter().any(started), "{found:?}");
    assert!(found.iter().all(|(_, action, _)| *action == FindingAction::Repaired), "{found:?}");
    until("the guest answers again", || place.answers(world).then_some(()));
    assert!(world.disk_holds(&place.devices[0], SECRET), "its disk is as it was");
    until("nothing is wrong any more", || place.found(world, &[1]).is_empty().then_some(()));
    world.client().stop(&allocation(1), &place.slots[..1], None, Waiting::quietly()).unwrap();
    world.nothing_left();
}

#[test]
fn a_host_is_put_right_and_its_guest_runs_on() {
    let Some(mut world) = world("a_host_is_put_right_and_its_guest_runs_on") else { return };
    let place = begin(&mut world);
    let running = world.qemus();
    assert_eq!(place.found(&world, &[1]), []);
    strays_are_taken_away(&world, &place);
    a_filled_cache_is_emptied(&world, &place);
    what_is_not_ours_to_decide_is_told(&world, &place);
    assert_eq!(world.qemus(), running);
    let libvirt = libvirt_dies(&world, &place);
    assert!(world.disk_holds(&place.devices[0], SECRET));
    reboots(&mut world, &place, libvirt);
}
