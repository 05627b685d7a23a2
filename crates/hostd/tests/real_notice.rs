//! A real guest is told on its port that it will be stopped, and says that it is ready; and guests that do not listen, do not stop
//! talking, or are from before there were such ports.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod world;

use hostbox::{MIB, image, tiny_image, until};
use hostd::{ClientFault, Waiting};
use model::{
    AllocationId, Timestamp,
    notice::{NoticeSeen, StopNotice, StopReason},
    runtime::GuestSeen,
    task::{ReconcileClaim, ReconcileOrder, TaskFailure, TaskSlot},
};
use std::{fs::File, os::unix::fs::PermissionsExt, path::Path};
use world::{World, allocation, guest, slot, world};

const NOBODY: NoticeSeen = NoticeSeen { delivered: false, checkpointed: false };
const LISTENS: NoticeSeen = NoticeSeen { delivered: true, checkpointed: false };
const READY: NoticeSeen = NoticeSeen { delivered: true, checkpointed: true };

const PORT: &str = "/dev/virtio-ports/org.gpuaas.notice.0";

struct Place {
    allocation: AllocationId,
    slots: [TaskSlot; 1],
    seen: GuestSeen,
}

fn up(world: &World, number: u8) -> Place {
    let (identity, _) = world.disk(&format!("disk{number}.img"), 96 * MIB);
    let (allocation, slots) = (allocation(number), [slot(number, &identity)]);
    let spec = guest(world, &format!("guest{number}"));
    let seen = world.client().provision(&allocation, &slots, &spec, Waiting::quietly()).unwrap();
    Place { allocation, slots, seen }
}

fn inside_guest(world: &World, place: &Place, words: &str) -> String {
    let done = world.ssh(&place.seen.expected_ip, &place.seen.host_key, words);
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{words}: {out} {err}");
    out.trim().to_owned()
}

fn preempted(second: i64) -> StopNotice {
    let stop_at = Timestamp::from_micros(1_767_225_600_000_000).plus_seconds(second);
    StopNotice { stop_at, reason: StopReason::Preempted, by: Some(allocation(99)) }
}

fn notice(world: &World, place: &Place, notice: &StopNotice) -> NoticeSeen {
    world.client().notice(&place.allocation, notice).unwrap()
}

// As in the guide: the port is held open, a line is read, the work is saved, the answer is given.
fn listener(line: &str) -> String {
    format!(
        "sh -c 'exec 3<>{PORT}; while :; do if IFS= read -r line <&3; then echo \"$line\" >>{line}; \
         until [ -e {line}.saved ]; do sleep 1; done; echo \"{{\\\"event\\\":\\\"checkpointed\\\"}}\" >&3; \
         else sleep 1; fi; done' >/dev/null 2>&1 </dev/null &"
    )
}

fn only_root_and_qemu_reach(world: &World) {
    let socket = world.inside(&["find", world.path("r/console").to_str().unwrap(), "-name", "notice"]);
    let folder = Path::new(socket.trim()).parent().unwrap().to_owned();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
}

fn told_read_and_answered(world: &mut World, place: &Place) {
    assert_eq!(notice(world, place, &preempted(0)), NOBODY, "nobody listens, and that is no fault");
    // It waits in the line for whoever comes.
    inside_guest(world, place, &listener("/tmp/heard"));
    until("somebody listens", || (notice(world, place, &preempted(0)) == LISTENS).then_some(()));
    let heard = || inside_guest(world, place, "cat /tmp/heard 2>/dev/null || true");
    let first = until("it is heard", || Some(heard()).filter(|heard| !heard.is_empty()));
    let by = allocation(99);
    let expected = format!(
        "{{\"event\":\"stop_notice\",\"stop_at\":\"2026-01-01T00:00:00.000Z\",\"reason\":\"preempted\",\"by\":\"{by}\"}}"
    );
    assert_eq!(first, expected, "it is told once, however often it is looked at");
    assert_eq!(notice(world, place, &preempted(0)), LISTENS, "it is not ready before it says so");
    inside_guest(world, place, "touch /tmp/heard.saved");
    until("it is ready", || (notice(world, place, &preempted(0)) == READY).then_some(()));
    assert_eq!(notice(world, place, &preempted(0)), READY, "and stays so");
    assert_eq!(heard().lines().count(), 1);
}

// A process that was killed has forgotten whom it told, and tells them again; another notice is another line.
fn killed_and_told_anew(world: &mut World, place: &Place) {
    let lines = |world: &World| inside_guest(world, place, "wc -l </tmp/heard").parse::<usize>().unwrap();
    world.daemon_signal("-KILL");
    world.daemon_ended();
    world.daemon_start();
    until("it is ready again", || (notice(world, place, &preempted(0)) == READY).then_some(()));
    assert_eq!(lines(world), 2);
    until("it is ready for another", || (notice(world, place, &preempted(60)) == READY).then_some(()));
    assert_eq!(lines(world), 3);
}

// It never ends its line, and is not waited for; nobody else is kept waiting, and it can be stopped.
fn floods(world: &World, place: &Place) {
    inside_guest(world, place, &format!("sh -c 'cat /dev/zero >{PORT}' >/dev/null 2>&1 </dev/null &"));
    until("it floods", || (notice(world, place, &preempted(0)) == LISTENS).then_some(()));
    for _ in 0..20 {
        assert_eq!(notice(world, place, &preempted(0)), LISTENS);
    }
    assert_eq!(world.client().guests().unwrap().len(), 2);
}

// A machine as it was defined before there were notices: nothing is wrong with it, and it cannot be told.
fn older(world: &World, place: &Place) {
    let name = world.inside(&["virsh", "list", "--name"]).lines().next().unwrap().to_owned();
    let xml = world.inside(&["virsh", "dumpxml", &name]);
    let at = xml.find("org.gpuaas.notice.0").unwrap();
    let (from, to) = (xml[..at].rfind("<channel").unwrap(), at + xml[at..].find("</channel>").unwrap());
    let device = world.path("channel.xml");
    std::fs::write(&device, format!("{}</channel>", &xml[from..to])).unwrap();
    world.inside(&["virsh", "detach-device", &name, device.to_str().unwrap(), "--live"]);
    let gone = || !world.inside(&["virsh", "dumpxml", &name]).contains("org.gpuaas.notice.0");
    until("the port is gone", || gone().then_some(()));
    assert_eq!(notice(world, place, &preempted(7)), NOBODY);
    let claim =
        ReconcileClaim { allocation_id: place.allocation.clone(), slots: place.slots.to_vec(), should_run: true };
    let order = ReconcileOrder { claims: vec![claim], slots: vec![] };
    let report = world.client().reconcile(&order, &[], Waiting::quietly()).unwrap();
    assert_eq!(report.findings, []);
}

fn nobody_is_told_who_is_not_there(world: &World, place: &Place) {
    match world.client().notice(&place.allocation, &preempted(0)).unwrap_err() {
        ClientFault::Refused { failure, detail, .. } => {
            assert_eq!(failure, Some(TaskFailure::NoticeFailed));
            assert!(detail.contains("has no guest on this host"), "{detail}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn guests_are_told_that_they_will_be_stopped() {
    let Some(mut world) = world("guests_are_told_that_they_will_be_stopped") else { return };
    world.config_write(&[]);
    world.daemon_start();
    world.client().image_admit(&image(), &mut File::open(tiny_image()).unwrap()).unwrap();
    let one = up(&world, 7);
    only_root_and_qemu_reach(&world);
    told_read_and_answered(&mut world, &one);
    killed_and_told_anew(&mut world, &one);
    let two = up(&world, 8);
    floods(&world, &two);
    world.client().stop(&two.allocation, &two.slots, None, Waiting::quietly()).unwrap();
    nobody_is_told_who_is_not_there(&world, &two);
    older(&world, &one);
    world.client().stop(&one.allocation, &one.slots, None, Waiting::quietly()).unwrap();
    world.nothing_left();
}
