//! What goes wrong on a real host: each has its precise reason, and what was refused leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod world;

use hostbox::{MIB, image_of, tiny_image};
use hostd::{Client, ClientFault, Waiting};
use model::{
    guest::{GuestSpec, SlotBundle},
    proof::WipeStep,
    task::{PlanSlot, TaskFailure, TaskSlot},
};
use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};
use world::{World, allocation, guest, slot, world};

fn refused<T: std::fmt::Debug>(ended: Result<T, ClientFault>) -> (Option<TaskFailure>, String) {
    match ended {
        Err(ClientFault::Refused { failure, detail, .. }) => (failure, detail),
        other => panic!("{other:?}"),
    }
}

fn provision(world: &World, number: u8, slot: &TaskSlot, spec: &GuestSpec) -> Result<String, ClientFault> {
    let slots = std::slice::from_ref(slot);
    let seen = world.client().provision(&allocation(number), slots, spec, Waiting::quietly());
    seen.map(|seen| seen.expected_ip)
}

fn checks(client: &Client, slot: &TaskSlot) -> Vec<String> {
    let bundle = slot.bundle.as_deref().unwrap().clone();
    let slots = [PlanSlot { slot_id: slot.slot_id.clone(), bundle }];
    client.plan(&slots).unwrap().refusals.into_iter().map(|refusal| refusal.check).collect()
}

// What a user who is neither root nor the agent hears, even where the socket's own rights let him in.
fn strangers_hear_nothing(world: &World) {
    let socket = world.socket();
    let mode = fs::metadata(&socket).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o660);
    let ask = |user: &str| {
        let mut asked = Command::new("setpriv")
            .args(["--reuid", user, "--clear-groups", "nc", "-N", "-U", "-w", "10"])
            .arg(&socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _ = asked.stdin.take().unwrap().write_all(b"{\"ask\":\"guests\"}\n");
        let said = asked.wait_with_output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    assert_eq!(ask("65534"), "", "he cannot even open it");
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(ask("0").contains("\"said\":\"done\""));
    assert_eq!(ask("65534"), "", "and if he could, he would hear nothing");
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o660)).unwrap();
}

fn odd_asks_are_refused(world: &World) {
    let say = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(world.socket()).unwrap();
        let _ = stream.write_all(bytes);
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        said
    };
    assert!(say(b"{\"ask\":\"shell\",\"command\":\"id\"}\n").contains("the line is not understood"));
    assert!(say(b"GET / HTTP/1.1\r\n").contains("the line is not understood"));
    assert!(say(&vec![b'x'; 3 * 1024 * 1024]).contains("a line may be 2097152 bytes long"));
}

// A plan that is refused is told by its check, the order for it as well, and neither leaves anything.
fn refused_by(world: &World, slot: &TaskSlot, check: &str, why: &str) {
    assert_eq!(checks(&world.client(), slot), [check]);
    let (failure, detail) = refused(provision(world, 1, slot, &guest(world, "one")));
    assert_eq!(failure, Some(TaskFailure::PlanRefused), "{detail}");
    assert!(detail.starts_with(&format!("plan: {check}: expected ")), "{detail}");
    assert!(detail.contains(why), "{detail}");
}

fn with(slot: &TaskSlot, change: impl FnOnce(&mut SlotBundle)) -> TaskSlot {
    let mut slot = slot.clone();
    change(slot.bundle.as_mut().unwrap());
    slot
}

fn plans_are_refused(world: &World, slot: &TaskSlot, device: &str) {
    assert_eq!(checks(&world.client(), slot), Vec::<String>::new());
    world.inside(&["mkfs.ext4", "-q", "-F", device]);
    let point = world.path("mounted");
    fs::create_dir(&point).unwrap();
    world.inside(&["mount", device, point.to_str().unwrap()]);
    refused_by(world, slot, "disk_unmounted", "is mounted at");
    world.inside(&["umount", point.to_str().unwrap()]);
    let pages = with(slot, |bundle| bundle.share.hugepage_kib = Some(1_048_576));
    refused_by(world, &pages, "hugepages_free", "1 free pages of 1048576 KiB on node 0, found 0");
    let much = with(slot, |bundle| bundle.share.vcpus = 500);
    refused_by(world, &much, "cpus_free", "500 free CPUs on node 0");
    let sold = with(slot, |bundle| bundle.profile = "h200-sxm-slice".into());
    refused_by(world, &sold, "disk_identity", "a disk of its own");
    let gateway = with(slot, |bundle| bundle.ip = [10, 77, 0, 1].into());
    refused_by(world, &gateway, "ip", "an address in 10.77.0.0/24 other than the gateway's, found 10.77.0.1");
    // Somebody whom nobody knows has the address.
    let leases = world.path("state/dhcp/leases");
    fs::create_dir_all(leases.parent().unwrap()).unwrap();
    fs::write(&leases, "0 02:00:00:00:99:99 10.77.0.7 * *\n").unwrap();
    refused_by(world, slot, "ip_unused", "10.77.0.7 used by nobody else, found somebody unknown");
    fs::remove_file(&leases).unwrap();
    world.nothing_left();
}

// A disk that is not there any more, and another one in its place.
fn disks_vanish_and_are_swapped(world: &World, slot: &TaskSlot, device: &str) {
    let identity = &slot.bundle.as_ref().unwrap().disk_identity;
    let file = identity.strip_prefix("loop:").unwrap();
    world.inside(&["losetup", "--detach", device]);
    refused_by(world, slot, "disk_present", &format!("one disk with the identity {identity} was expected, found none"));
    let other = world.path("other.img");
    File::create(&other).unwrap().set_len(96 * MIB).unwrap();
    world.inside(&["losetup", device, other.to_str().unwrap()]);
    refused_by(world, slot, "disk_present", "found none");
    assert_eq!(fs::read(&other).unwrap().iter().filter(|byte| **byte != 0).count(), 0, "the stranger was not written");
    world.inside(&["losetup", "--detach", device]);
    world.inside(&["losetup", device, file]);
    assert_eq!(checks(&world.client(), slot), Vec::<String>::new());
}

fn images_and_words_are_refused(world: &World, slot: &TaskSlot) {
    let refuse = |spec: &GuestSpec, kind: TaskFailure, why: &str| {
        let (failure, detail) = refused(provision(world, 1, slot, spec));
        assert!(failure == Some(kind) && detail.contains(why), "{detail}");
        world.nothing_left();
    };
    let absent = world.path("absent.raw");
    fs::write(&absent, vec![1; 4096]).unwrap();
    let spec = GuestSpec { image: image_of(&absent), ..guest(world, "one") };
    refuse(&spec, TaskFailure::ImageRefused, "is not there");
    // As long as it should be, with other bytes.
    let (failure, detail) = refused(world.client().image_admit(&spec.image, &mut &[2; 4096][..]));
    assert_eq!(failure, Some(TaskFailure::ImageRefused));
    assert!(detail.contains(&format!("to have digest {}, but has", spec.image.sha256)), "{detail}");
    assert!(!world.client().image_there(&spec.image).unwrap());
    // And one that changed after it was taken.
    world.client().image_admit(&spec.image, &mut File::open(&absent).unwrap()).unwrap();
    fs::write(world.path("state/images").join(&spec.image.sha256), vec![2; 4096]).unwrap();
    refuse(&spec, TaskFailure::ImageRefused, "to have digest");
    assert!(!world.client().image_there(&spec.image).unwrap(), "it is not kept");
    let large = world.path("large.raw");
    File::create(&large).unwrap().set_len(128 * MIB).unwrap();
    let spec = GuestSpec { image: image_of(&large), ..guest(world, "one") };
    world.client().image_admit(&spec.image, &mut File::open(&large).unwrap()).unwrap();
    refuse(&spec, TaskFailure::ImageRefused, "needs a disk of");
    let hostile = GuestSpec { host_name: "a\nrunlevel: 0".into(), ..guest(world, "one") };
    refuse(&hostile, TaskFailure::ProvisionFailed, "seed: host_name");
}

// The file system of the cache has less room than the image needs.
fn a_full_cache_is_told(world: &mut World) {
    let folder = world.path("state/images");
    let point = folder.to_str().unwrap();
    world.inside(&["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", point]);
    let tiny = guest(world, "one").image;
    let (failure, detail) = refused(world.client().image_admit(&tiny, &mut File::open(tiny_image()).unwrap()));
    assert_eq!(failure, Some(TaskFailure::ImageRefused), "{detail}");
    assert!(detail.contains(&format!("there is no room left under {point}")), "{detail}");
    let left = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert_eq!(left.sum::<u64>(), 0, "no part of it stays");
    world.inside(&["umount", point]);
    world.daemon_restart(&[("bytes_max = 1000000000", "bytes_max = 1000000")]);
    let (failure, detail) = refused(world.client().image_admit(&tiny, &mut File::open(tiny_image()).unwrap()));
    assert_eq!(failure, Some(TaskFailure::ImageRefused), "{detail}");
    assert!(detail.contains("bytes in the cache, but only 1000000 can be made free"), "{detail}");
}

// A guest that starts and never asks for its address.
fn a_silent_guest_fails(world: &World, slot: &TaskSlot) {
    let blank = world.path("blank.raw");
    File::create(&blank).unwrap().set_len(64 * MIB).unwrap();
    let spec = GuestSpec { image: image_of(&blank), ..guest(world, "one") };
    world.client().image_admit(&spec.image, &mut File::open(&blank).unwrap()).unwrap();
    let (failure, detail) = refused(provision(world, 1, slot, &spec));
    assert_eq!(failure, Some(TaskFailure::ProvisionFailed));
    assert!(detail.starts_with("lease_seen: the guest took no lease within 4 s; its console "), "{detail}");
    not_reused_and_gone(world, slot);
}

// Nobody else gets what a failed guest has, and nothing is wiped under it; taken away, it leaves nothing.
fn not_reused_and_gone(world: &World, slot: &TaskSlot) {
    let listed = world.client().guests().unwrap();
    assert_eq!((listed.len(), listed[0].ready), (1, false));
    let (failure, detail) = refused(provision(world, 3, slot, &guest(world, "thief")));
    assert!(failure == Some(TaskFailure::PlanRefused) && detail.contains("slot_free"), "{detail}");
    let early = world.client().wipe(&allocation(1), slot, WipeStep::DiskErased, Waiting::quietly());
    assert!(refused(early).1.contains("nobody may sit on"));
    stop(world, 1, slot);
    world.nothing_left();
}

// A guest that has its address and that nobody reaches by SSH.
fn a_guest_without_ssh_fails(world: &mut World, slot: &TaskSlot) {
    world.daemon_restart(&[("ssh_s = 180", "ssh_s = 12")]);
    for words in [
        &["add", "table", "inet", "wall"][..],
        &["add", "chain", "inet", "wall", "out", "{ type filter hook output priority 0; }"],
        &["add", "rule", "inet", "wall", "out", "tcp", "dport", "22", "drop"],
    ] {
        world.inside(&[&["nft"], words].concat());
    }
    let (failure, detail) = refused(provision(world, 1, slot, &guest(world, "one")));
    world.inside(&["nft", "delete", "table", "inet", "wall"]);
    assert_eq!(failure, Some(TaskFailure::ProvisionFailed));
    assert!(detail.starts_with("ssh_ready: the guest did not answer SSH within 12 s: "), "{detail}");
    assert!(detail.contains("; its console ended with "), "{detail}");
    not_reused_and_gone(world, slot);
}

// A QEMU that says what it can do and dies as soon as it is to run a guest.
fn a_qemu_that_crashes_is_told(world: &mut World, slot: &TaskSlot) {
    let crashing = world.path("crashing-qemu");
    let script = "#!/bin/sh\ncase \"$*\" in *guest=alc_*) echo planted crash >&2; kill -SEGV $$;; esac\n\
                  exec /usr/bin/qemu-system-x86_64 \"$@\"\n";
    fs::write(&crashing, script).unwrap();
    fs::set_permissions(&crashing, fs::Permissions::from_mode(0o755)).unwrap();
    let emulator = format!("emulator = \"{}\"\nemulator_user", crashing.display());
    world.daemon_restart(&[("emulator_user", &emulator)]);
    let (failure, detail) = refused(provision(world, 1, slot, &guest(world, "one")));
    assert_eq!(failure, Some(TaskFailure::ProvisionFailed));
    assert!(detail.starts_with("start: QEMU did not start: "), "{detail}");
    not_reused_and_gone(world, slot);
}

fn a_missing_bridge_is_told(world: &mut World, slot: &TaskSlot) {
    world.inside(&["ovs-vsctl", "del-br", "br-gpu"]);
    refused_by(world, slot, "bridge_present", "expected br-gpu, found {}");
    world.daemon_restart(&[]);
    assert_eq!(checks(&world.client(), slot), Vec::<String>::new(), "it made the bridge when it started");
}

fn a_libvirt_that_is_down_is_told(world: &World, slot: &TaskSlot) {
    provision(world, 1, slot, &guest(world, "one")).unwrap();
    let running = world.qemus();
    world.libvirt_kill();
    let (_, detail) = refused(world.client().guests());
    assert!(detail.starts_with("libvirt does not answer"), "{detail}");
    let slots = std::slice::from_ref(slot);
    let (failure, detail) = refused(world.client().stop(&allocation(1), slots, None, Waiting::quietly()));
    assert!(failure == Some(TaskFailure::GuestNotGone) && detail.contains("libvirt does not answer"), "{detail}");
    let (failure, detail) = refused(provision(world, 2, slot, &guest(world, "two")));
    assert!(failure == Some(TaskFailure::ProvisionFailed), "{detail}");
    assert!(detail.starts_with("plan: libvirt does not answer"), "{detail}");
    let early = world.client().wipe(&allocation(1), slot, WipeStep::DiskErased, Waiting::quietly());
    assert!(refused(early).1.contains("libvirt does not answer"), "who does not know wipes nothing");
    assert_eq!(world.qemus(), running, "the guest runs on");
    let _libvirt = world.libvirt_start();
    assert!(world.client().guests().unwrap()[0].ready);
    stop(world, 1, slot);
    world.nothing_left();
}

fn stop(world: &World, number: u8, slot: &TaskSlot) {
    let slots = std::slice::from_ref(slot);
    world.client().stop(&allocation(number), slots, None, Waiting::quietly()).unwrap();
    assert!(world.client().guests().unwrap().iter().all(|guest| guest.allocation_id != allocation(number)));
}

fn two_at_once(world: &World, slots: &[TaskSlot; 2]) {
    let build = |number: u8, slot: &TaskSlot| provision(world, number, slot, &guest(world, &format!("g{number}")));
    let (one, two) = thread::scope(|scope| {
        let one = scope.spawn(|| build(1, &slots[0]));
        let two = scope.spawn(|| build(2, &slots[1]));
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!((one.unwrap().as_str(), two.unwrap().as_str()), ("10.77.0.7", "10.77.0.8"));
    // The slot of one is not another's, whatever the order says.
    let taken = refused(provision(world, 3, &slots[0], &guest(world, "thief")));
    assert!(taken.0 == Some(TaskFailure::PlanRefused) && taken.1.contains("slot_free"), "{}", taken.1);
    thread::scope(|scope| {
        scope.spawn(|| stop(world, 1, &slots[0]));
        scope.spawn(|| stop(world, 2, &slots[1]));
    });
    assert_eq!(world.client().guests().unwrap(), []);
}

fn begin(world: &mut World) -> [(TaskSlot, PathBuf); 2] {
    world.config_write(&[("lease_s = 120", "lease_s = 4")]);
    world.daemon_start();
    [7, 8].map(|number| {
        let (identity, device) = world.disk(&format!("disk{number}.img"), 96 * MIB);
        (slot(number, &identity), device)
    })
}

fn admit(world: &World) {
    let tiny = guest(world, "one").image;
    world.client().image_admit(&tiny, &mut File::open(tiny_image()).unwrap()).unwrap();
}

#[test]
fn what_is_refused_leaves_nothing() {
    let Some(mut world) = world("what_is_refused_leaves_nothing") else { return };
    let [(slot, device), _] = begin(&mut world);
    strangers_hear_nothing(&world);
    odd_asks_are_refused(&world);
    a_full_cache_is_told(&mut world);
    world.daemon_restart(&[]);
    admit(&world);
    plans_are_refused(&world, &slot, device.to_str().unwrap());
    disks_vanish_and_are_swapped(&world, &slot, device.to_str().unwrap());
    images_and_words_are_refused(&world, &slot);
    a_missing_bridge_is_told(&mut world, &slot);
    world.nothing_left();
}

#[test]
fn a_guest_that_fails_is_told_and_leaves_nothing() {
    let Some(mut world) = world("a_guest_that_fails_is_told_and_leaves_nothing") else { return };
    let [(one, _), (two, _)] = begin(&mut world);
    admit(&world);
    a_silent_guest_fails(&world, &one);
    a_guest_without_ssh_fails(&mut world, &one);
    a_qemu_that_crashes_is_told(&mut world, &one);
    world.daemon_restart(&[]);
    two_at_once(&world, &[one.clone(), two]);
    a_libvirt_that_is_down_is_told(&world, &one);
}
