//! Guests on a real host: libvirt and QEMU (in software), Open vSwitch, dnsmasq, nftables and loop devices, through the root
//! process and its socket alone. It is killed on the way, and at the end nothing is left but what was there before.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod world;

use hostbox::{MIB, image, tiny_image, until};
use hostd::{Client, ClientFault, Waiting};
use model::{
    AllocationId,
    image::ImageSpec,
    proof::WipeStep,
    runtime::{FindingAction, FindingKind, GuestLeaseState, GuestSeen, WorkProgress, WorkStep},
    stream::StreamKind,
    task::{PlanSlot, ReconcileClaim, ReconcileOrder, TaskFailure, TaskSlot},
};
use std::{
    fs::{self, File},
    io::{Read, Write},
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use world::{World, allocation, guest, slot, world};

const SECRET: &str = "the-tenants-planted-secret-8e1f";

struct Place {
    allocation: AllocationId,
    slot: TaskSlot,
    device: PathBuf,
}

fn place(world: &World, number: u8) -> Place {
    let (identity, device) = world.disk(&format!("disk{number}.img"), 96 * MIB);
    Place { allocation: allocation(number), slot: slot(number, &identity), device }
}

fn refused(fault: ClientFault) -> (Option<TaskFailure>, String) {
    match fault {
        ClientFault::Refused { failure, detail, .. } => (failure, detail),
        other => panic!("{other}"),
    }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    eprintln!("TIME {what}: {} ms", begun.elapsed().as_millis());
    done
}

fn admit(client: &Client) {
    let image = image();
    assert!(!client.image_there(&image).unwrap());
    let unsigned = ImageSpec { minimum_disk_bytes: image.minimum_disk_bytes + 512, ..image.clone() };
    let (failure, detail) = refused(client.image_admit(&unsigned, &mut std::io::empty()).unwrap_err());
    assert_eq!(failure, Some(TaskFailure::ImageRefused), "{detail}");
    let (failure, detail) = refused(client.image_admit(&image, &mut &b"too short"[..]).unwrap_err());
    assert!(failure == Some(TaskFailure::ImageRefused) && detail.contains("but 9 came"), "{detail}");
    timed("image admitted", || client.image_admit(&image, &mut File::open(tiny_image()).unwrap()).unwrap());
    client.image_admit(&image, &mut std::io::empty()).unwrap();
    assert!(client.image_there(&image).unwrap());
}

fn plan(client: &Client, place: &Place) {
    let bundle = place.slot.bundle.as_deref().unwrap().clone();
    let slot = |bundle| PlanSlot { slot_id: place.slot.slot_id.clone(), bundle };
    let report = client.plan(&[slot(bundle.clone())]).unwrap();
    assert_eq!(report.refusals, []);
    assert_eq!(report.disks, [place.device.display().to_string()]);
    assert_eq!((report.cells.len(), report.cells[0].memory_mib), (1, 192));
    let mut other = bundle;
    other.disk_identity = "loop:/nonexistent".into();
    other.share.vcpus = 1000;
    let refusals = client.plan(&[slot(other)]).unwrap().refusals;
    assert!(refusals.len() == 1 && refusals[0].check == "disk_present", "{refusals:?}");
}

// A disk that the host uses, or that is not there, keeps its slot from being sold.
fn disks_are_told(world: &World, place: &Place) {
    let (device, point) = (place.device.to_str().unwrap(), world.path("mounted"));
    let nobodys = ReconcileOrder { claims: vec![], ..order(&[place]) };
    // A host that has had no guest yet has no network either.
    let first = compared(world, &nobodys);
    assert!(first.iter().all(|(kind, ..)| *kind == FindingKind::MissingNetwork), "{first:?}");
    assert_eq!(compared(world, &nobodys), []);
    fs::create_dir(&point).unwrap();
    world.inside(&["mkfs.ext4", "-q", "-F", device]);
    world.inside(&["mount", device, point.to_str().unwrap()]);
    let mounted = compared(world, &nobodys);
    world.inside(&["umount", point.to_str().unwrap()]);
    let mut swapped = nobodys.clone();
    swapped.slots[0].bundle.disk_identity = "loop:/nonexistent".into();
    for (found, why) in [(mounted, "is mounted at"), (compared(world, &swapped), "found none")] {
        let [(FindingKind::SlotDisk, FindingAction::Quarantined, detail)] = &found[..] else { panic!("{found:?}") };
        assert!(detail.contains(why), "{detail}");
    }
    assert_eq!(compared(world, &nobodys), []);
}

// Builds a guest, and does something when a step is first told.
fn provision(
    world: &World,
    place: &Place,
    name: &str,
    at: Option<(WorkStep, &(dyn Fn() + Sync))>,
) -> Result<(GuestSeen, Vec<WorkStep>), ClientFault> {
    let steps = Mutex::new(vec![]);
    let acted = AtomicBool::new(false);
    let progress = |progress: WorkProgress| {
        let mut steps = steps.lock().unwrap();
        if steps.last() != Some(&progress.step) {
            steps.push(progress.step);
        }
        if let Some((step, act)) = at
            && progress.step == step
            && !acted.swap(true, Ordering::SeqCst)
        {
            act();
        }
    };
    let waiting = Waiting { progress: &progress, wanted: &|| true };
    let slots = std::slice::from_ref(&place.slot);
    let seen = world.client().provision(&place.allocation, slots, &guest(world, name), waiting)?;
    let steps = steps.lock().unwrap().clone();
    Ok((seen, steps))
}

// Killed in the middle of the clone and then while the guest starts, it goes on and the guest is the same one.
fn killed_twice(world: &mut World, place: &Place) -> GuestSeen {
    for step in [WorkStep::Clone, WorkStep::LeaseSeen] {
        let ended = provision(world, place, "one", Some((step, &|| world.daemon_signal("-KILL"))));
        assert!(matches!(ended, Err(ClientFault::Broken(_))), "{ended:?}");
        world.daemon_ended();
        world.daemon_start();
        let listed = world.client().guests().unwrap();
        assert_eq!((listed.len(), listed[0].ready), (1, false), "killed at {step}: {listed:?}");
    }
    let before = world.qemus();
    assert_eq!(before.len(), 1);
    let (seen, steps) = timed("guest waited for after a kill", || provision(world, place, "one", None)).unwrap();
    assert!(!steps.contains(&WorkStep::Clone), "it runs, so it is not built again: {steps:?}");
    assert_eq!(world.qemus(), before, "the same machine");
    seen
}

fn seen_well(place: &Place, seen: &GuestSeen) {
    let bundle = place.slot.bundle.as_deref().unwrap();
    assert_eq!((&seen.mac, &seen.expected_ip), (&bundle.mac, &bundle.ip.to_string()));
    assert_eq!(seen.actual_ip, Some(bundle.ip.to_string()));
    assert_eq!((seen.lease_state, seen.accelerator.as_str()), (GuestLeaseState::Leased, "tcg"));
}

fn inside_guest(world: &World, seen: &GuestSeen, words: &str) -> String {
    let done = world.ssh(&seen.expected_ip, &seen.host_key, words);
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{words}: {out} {err}");
    out.trim().to_owned()
}

fn logged_in(world: &World, one: &GuestSeen, two: &GuestSeen) {
    assert_ne!(one.host_key, two.host_key);
    assert_eq!(inside_guest(world, one, "hostname"), "one");
    assert_eq!(inside_guest(world, two, "hostname"), "two");
    assert_eq!(inside_guest(world, two, "cat /sys/class/net/eth0/address"), two.mac);
    // The host reaches SSH of both; one guest does not reach the other's.
    let try_other = format!("nc -w 3 {} 22 </dev/null | head -c 4", two.expected_ip);
    assert_eq!(inside_guest(world, one, &format!("({try_other}) 2>/dev/null || true")), "");
    let plant = format!("echo -n {SECRET} | dd of=/dev/vda bs=1M seek=80 conv=fsync 2>/dev/null");
    inside_guest(world, one, &plant);
}

fn streams(world: &World, place: &Place) {
    let mut ssh = world.client().stream(&place.allocation, StreamKind::Ssh).unwrap();
    let mut banner = [0; 8];
    ssh.read_exact(&mut banner).unwrap();
    assert_eq!(&banner, b"SSH-2.0-");
    let mut console = world.client().stream(&place.allocation, StreamKind::Console).unwrap();
    console.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    console.write_all(b"\necho answer-$((40+2))\n").unwrap();
    let mut said = vec![];
    let late = Instant::now() + Duration::from_secs(60);
    while !String::from_utf8_lossy(&said).contains("answer-42") {
        assert!(Instant::now() < late, "{:?}", String::from_utf8_lossy(&said));
        let mut piece = [0; 256];
        let count = console.read(&mut piece).unwrap();
        said.extend_from_slice(&piece[..count]);
    }
    let nobody = world.client().stream(&allocation(99), StreamKind::Ssh).unwrap_err();
    assert!(refused(nobody).1.contains("no guest"));
}

fn order(places: &[&Place]) -> ReconcileOrder {
    let claim = |place: &&Place| ReconcileClaim {
        allocation_id: place.allocation.clone(),
        slots: vec![place.slot.clone()],
        should_run: true,
    };
    let slot = |place: &&Place| PlanSlot {
        slot_id: place.slot.slot_id.clone(),
        bundle: place.slot.bundle.as_deref().unwrap().clone(),
    };
    ReconcileOrder { claims: places.iter().map(claim).collect(), slots: places.iter().map(slot).collect() }
}

fn reconciled(world: &World, places: &[&Place]) -> Vec<(FindingKind, FindingAction, String)> {
    compared(world, &order(places))
}

fn compared(world: &World, order: &ReconcileOrder) -> Vec<(FindingKind, FindingAction, String)> {
    let report = world.client().reconcile(order, &[], Waiting::quietly()).unwrap();
    report.findings.into_iter().map(|found| (found.kind, found.action, found.detail)).collect()
}

fn strays_go_and_guests_stay(world: &World, places: &[&Place]) {
    assert_eq!(reconciled(world, places), []);
    fs::write(world.path("state/seeds/alc_01jh2n6f4zw8q9r0s1t2v3x4y5-g1.iso"), "x").unwrap();
    let stray = ["state/vars", "state/consoles", "r/console"].map(|folder| world.path(folder));
    for folder in &stray {
        fs::write(folder.join("alc_01jh2n6f4zw8q9r0s1t2v3x4y5-g1.log.0"), "x").unwrap();
    }
    fs::write(world.path("state/images/x.part"), "x").unwrap();
    fs::write(world.path("state/dhcp/hosts/gp00000000beef"), "02:00:00:00:01:99,10.77.0.99\n").unwrap();
    let bridge = "unix:/run/openvswitch/br-gpu.mgmt";
    let flow = "cookie=0x677000000000beef,priority=9,ip,nw_src=10.77.0.99,actions=LOCAL";
    world.inside(&["ovs-ofctl", "-O", "OpenFlow14", "add-flow", bridge, flow]);
    let found = reconciled(world, places);
    assert!(found.iter().all(|(_, action, _)| *action == FindingAction::Repaired), "{found:?}");
    let kinds: Vec<FindingKind> = found.iter().map(|(kind, ..)| *kind).collect();
    for kind in [FindingKind::StraySeed, FindingKind::StrayFile, FindingKind::ImageCache, FindingKind::StrayNetwork] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!(reconciled(world, places), []);
    // Nobody claims them: they are quarantined, and run on.
    let found = reconciled(world, &[]);
    assert_eq!(found.len(), places.len(), "{found:?}");
    assert!(found.iter().all(|(_, action, _)| *action == FindingAction::Quarantined), "{found:?}");
    assert_eq!(world.qemus().len(), places.len());
}

fn machine_ends(world: &World, place: &Place) {
    world.inside(&["pkill", "-KILL", "-f", &format!("guest={}", place.allocation)]);
    until("the machine is off", || {
        let states = world.inside(&["virsh", "list", "--all"]);
        states.contains("shut off").then_some(())
    });
    assert!(world.client().guests().unwrap().iter().any(|listed| !listed.ready));
}

// A machine that is off though it should run, as after a reboot, is started again, and answers when that is told.
fn started_again(world: &World, places: &[&Place], seen: &GuestSeen) {
    machine_ends(world, places[1]);
    let found = reconciled(world, places);
    let kinds: Vec<_> = found.iter().map(|(kind, action, _)| (*kind, *action)).collect();
    assert!(kinds.contains(&(FindingKind::ClaimWithoutGuest, FindingAction::Repaired)), "{found:?}");
    inside_guest(world, seen, "true");
}

// The same order once more, as from an agent that was killed before it wrote down the answer: the disk is the tenant's by now.
fn never_built_again(world: &World, place: &Place, seen: &GuestSeen) {
    let work = "the-tenants-work-55c0";
    inside_guest(world, seen, &format!("echo -n {work} | dd of=/dev/vda bs=1M seek=84 conv=fsync 2>/dev/null"));
    machine_ends(world, place);
    let (again, steps) = provision(world, place, "two", None).unwrap();
    assert_eq!(steps, [WorkStep::Start, WorkStep::LeaseSeen, WorkStep::SshReady]);
    assert_eq!((&again.host_key, &again.expected_ip), (&seen.host_key, &seen.expected_ip));
    assert!(world.disk_holds(&place.device, work));
}

fn wiped(world: &World, place: &Place) {
    let client = world.client();
    let step = |step: WipeStep| client.wipe(&place.allocation, &place.slot, step, Waiting::quietly());
    for early in [WipeStep::GuestGone, WipeStep::DiskErased] {
        let early = refused(step(early).unwrap_err()).1;
        assert!(early.contains("nobody may sit on"), "{early}");
    }
    // What stands against giving the slot to somebody else.
    let against = || {
        let refusals = client.plan(&order(&[place]).slots).unwrap().refusals;
        refusals.into_iter().map(|refusal| refusal.check).collect::<Vec<_>>()
    };
    let slots = std::slice::from_ref(&place.slot);
    let gone = timed("guest stopped", || client.stop(&place.allocation, slots, None, Waiting::quietly()).unwrap());
    assert!(gone.contains("no process runs it"), "{gone}");
    assert!(client.stop(&place.allocation, slots, None, Waiting::quietly()).unwrap().contains("nothing of"));
    assert!(world.disk_holds(&place.device, SECRET) == (place.slot.slot_id == slot(7, "").slot_id));
    assert!(step(WipeStep::GuestGone).unwrap().contains("\"guests\":0"));
    assert_eq!(against(), ["disk_clean"]);
    let unclean = refused(step(WipeStep::DiskReadBack).unwrap_err()).1;
    assert!(unclean.contains("expected to hold nothing"), "{unclean}");
    let erased = timed("disk erased", || step(WipeStep::DiskErased).unwrap());
    assert_eq!(against(), ["disk_clean"]);
    let read = timed("disk read back", || step(WipeStep::DiskReadBack).unwrap());
    for (text, what) in [(&erased, "\"method\":\"discard\""), (&read, "\"mode\":\"whole\""), (&read, world::NONCE)] {
        assert!(text.contains(what), "{text}");
    }
    assert!(!world.disk_holds(&place.device, SECRET));
    assert_eq!(against(), Vec::<String>::new());
    assert!(refused(step(WipeStep::GpuReset).unwrap_err()).1.contains("no such device"));
}

fn not_wanted(world: &World, place: &Place) {
    let begun = AtomicBool::new(false);
    let progress = |progress: WorkProgress| {
        if progress.step == WorkStep::Clone {
            begun.store(true, Ordering::SeqCst);
        }
    };
    let waiting = Waiting { progress: &progress, wanted: &|| !begun.load(Ordering::SeqCst) };
    let slots = std::slice::from_ref(&place.slot);
    let ended = world.client().provision(&place.allocation, slots, &guest(world, "two"), waiting);
    assert!(matches!(ended, Err(ClientFault::NotWanted)), "{ended:?}");
    // The next ask waits for the other to let go, and finds what it left.
    assert!(
        world.client().stop(&place.allocation, slots, None, Waiting::quietly()).unwrap().contains("no process runs it")
    );
    assert_eq!(world.client().guests().unwrap().len(), 1, "only the other guest is left");
}

#[test]
fn two_guests_live_through_kills_and_leave_nothing() {
    let Some(mut world) = world("two_guests_live_through_kills_and_leave_nothing") else { return };
    world.config_write(&[]);
    timed("root process started", || world.daemon_start());
    let ready = world.client().ready().unwrap();
    assert_eq!(ready.missing, Vec::<String>::new());
    assert!(ready.lab && ready.accelerator == "tcg" && ready.tools["qemu"].contains("QEMU"), "{ready:?}");
    let (one, two) = (place(&world, 7), place(&world, 8));
    admit(&world.client());
    plan(&world.client(), &one);
    disks_are_told(&world, &one);

    let first = killed_twice(&mut world, &one);
    seen_well(&one, &first);
    not_wanted(&world, &two);
    let (second, steps) = timed("guest built", || provision(&world, &two, "two", None)).unwrap();
    use WorkStep::{Clone, Devices, Image, Lease, LeaseSeen, Network, Plan, Seed, SshReady, Start, Verify};
    assert_eq!(steps, [Image, Plan, Lease, Clone, Verify, Devices, Seed, Network, Start, LeaseSeen, SshReady]);
    seen_well(&two, &second);
    let (again, steps) = provision(&world, &two, "two", None).unwrap();
    assert!(again == second && !steps.contains(&Plan), "a guest that is there is not built again: {steps:?}");
    let other = provision(&world, &two, "other", None).unwrap_err();
    assert!(refused(other).1.contains("another order"));
    let report = world.client().plan(&order(&[&two]).slots).unwrap();
    assert!(report.refusals.iter().any(|refusal| refusal.check == "slot_free"), "{report:?}");

    logged_in(&world, &first, &second);
    streams(&world, &one);
    strays_go_and_guests_stay(&world, &[&one, &two]);
    started_again(&world, &[&one, &two], &second);
    never_built_again(&world, &two, &second);
    let mut watched = world.client().stream(&one.allocation, StreamKind::Console).unwrap();
    thread::scope(|scope| {
        // A stop ends the streams of its guest.
        let ended = scope.spawn(move || watched.read_to_end(&mut vec![]));
        wiped(&world, &one);
        let _ = ended.join().unwrap();
    });
    wiped(&world, &two);
    assert_eq!(reconciled(&world, &[]), []);
    world.nothing_left();
    world.daemon_signal("-TERM");
    assert_eq!(world.daemon_ended(), Some(0));
    assert!(!world.socket().exists());
}
