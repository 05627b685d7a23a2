//! What a launch, a release and a comparison do about GPUs and partitions, on a real host whose GPUs and fabric are the test's
//! own: no machine that runs tests has any. Everything else (libvirt, QEMU, records, leases) is real, and the verbs are the
//! process's.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod world;

use ::devices::{
    Settle,
    pretend::{Device, Kernel, Mischief, at},
};
use disk::HostView;
use guest::{
    identity::GuestUse,
    leases::{Leases, Thing},
};
use hostbox::{MIB, tiny_image, until};
use hostd::{Config, Failed, Hostd, Order, Work, devices::HostDevices, now};
use model::{
    guest::{BundleDevice, GuestSpec},
    proof::WipeStep,
    runtime::{FindingAction, FindingKind, GuestSeen},
    task::{PlanSlot, ReconcileOrder, TaskFailure, TaskSlot},
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};
use world::{World, allocation, guest, slot, world};

const GPU: &str = "0000:0f:00.0";
const NIC: &str = "0000:03:00.0";
const VF: &str = "0000:03:10.0";
const QUIET: Work<'static> = Work { tell: &|_| (), wanted: &|| true };

fn kernel() -> Kernel {
    let mut nic = Device::new(0x8086, 0x10c9, 0x02_0000, "igb", 7);
    nic.total_vfs = Some(7);
    let kernel = Kernel::new([(GPU, Device::h200("nvidia", 42)), (NIC, nic)]);
    let approved = [at(NIC)].into_iter().collect();
    ::devices::sriov::set_count(&kernel, &approved, at(NIC), 1, Settle::NONE).unwrap();
    kernel
}

// The process's own verbs, on the settings of the box.
fn open(world: &World, kernel: &Kernel, view: HostView) -> Hostd {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/fmpm");
    symlink(program, world.path("fmpm")).unwrap();
    fs::write(world.path("board"), "0 5 6 7 8\n11 5\n13 7\n").unwrap();
    fs::write(world.path("active"), "").unwrap();
    let path = world.path("fmpm").display().to_string();
    let devices = format!(
        "[devices]\nfmpm = \"{path}\"\ngpus = {{ h200-sxm = [\"10de:2335\"] }}\nfabric_functions = [\"8086:10ca\"]\n\n[network]"
    );
    let config = Config::read(&world.hostd_config(&[("[network]", &devices)])).unwrap();
    let own = HostDevices::with_files(config.devices.clone().unwrap(), Box::new(kernel.clone()), Settle::NONE);
    Hostd::open_at(config, Box::new(own), view).unwrap()
}

// As they are from their promotion on, and as guests leave them.
fn on_vfio(kernel: &Kernel) {
    for device in [GPU, VF] {
        let approved = [at(device)].into_iter().collect();
        ::devices::vfio::bind(kernel, &approved, &[at(device)], Settle::NONE).unwrap();
    }
}

fn slot_with_gpu() -> TaskSlot {
    let mut slot = slot(7, "eui.1");
    let bundle = slot.bundle.as_mut().unwrap();
    let device = |address: &str| Some(BundleDevice { pci_address: address.into() });
    bundle.profile = "h200-sxm-slice".into();
    (bundle.gpu, bundle.gpu_module_id) = (device(GPU), Some(5));
    bundle.fabric = device(VF);
    slot
}

fn active(world: &World) -> String {
    fs::read_to_string(world.path("active")).unwrap().trim().to_owned()
}

// A device that cannot be taken back keeps its slot, and nothing is proved of it.
fn a_release_holds_the_slot_until_its_devices_are_back(world: &World, host: &Hostd, kernel: &Kernel) {
    let slot = slot_with_gpu();
    let guest = GuestUse { allocation_id: allocation(1), use_generation: slot.use_generation };
    let leases = Leases { folder: world.path("state/leases") };
    leases.take(&BTreeSet::from([Thing::Slot(slot.slot_id.clone())]), &guest, now()).unwrap();
    fs::write(world.path("active"), "11\n").unwrap();
    let slots = std::slice::from_ref(&slot);
    let stop = || host.stop(&allocation(1), slots, None, QUIET);
    let wipe = |step| host.wipe(&allocation(1), &slot, step, QUIET);

    kernel.clone().with(Mischief::FailsBy(at(GPU), "flr")).with(Mischief::FailsBy(at(GPU), "bus"));
    let failed = stop().unwrap_err();
    assert_eq!(failed.failure, Some(TaskFailure::GuestNotGone));
    assert!(failed.detail.starts_with("remove: devices: gpu_reset: 0000:0f:00.0 must be reset"), "{failed}");
    assert_eq!(active(world), "", "the partition is off all the same");
    assert_eq!(leases.list().unwrap().len(), 1, "and the slot is nobody else's");
    let early = wipe(WipeStep::GpuReset).unwrap_err().to_string();
    assert!(early.contains("nobody may sit on"), "{early}");

    kernel.behaves();
    fs::write(world.path("fail"), "0 247\n").unwrap();
    let failed = stop().unwrap_err().to_string();
    assert!(failed.contains("devices: partition_off: ") && failed.contains("may still be on"), "{failed}");
    fs::remove_file(world.path("fail")).unwrap();
    let evidence = stop().unwrap();
    for what in ["no process runs it", "was reset by flr", "lists partition 11 as inactive", "is on vfio-pci"] {
        assert!(evidence.contains(what), "{what} is not in {evidence}");
    }
    assert_eq!(leases.list().unwrap(), []);

    let gpu = wipe(WipeStep::GpuReset).unwrap();
    assert!(gpu.contains("no active partition has GPU 5") && gpu.contains("was not observed"), "{gpu}");
    assert!(wipe(WipeStep::FabricReset).unwrap().contains(VF));
    fs::write(world.path("active"), "0\n").unwrap();
    let joined = wipe(WipeStep::GpuReset).unwrap_err().to_string();
    assert_eq!(joined, "gpu_reset: no partition with GPU 5 may be active, but partition 0 is");
}

// What is on and nobody's goes off, and what left VFIO comes back.
fn a_comparison_puts_devices_right(world: &World, host: &Hostd, kernel: &Kernel) {
    let slot = slot_with_gpu();
    let slots = vec![PlanSlot { slot_id: slot.slot_id.clone(), bundle: *slot.bundle.unwrap() }];
    let order = ReconcileOrder { claims: vec![], slots };
    let found = || {
        let report = host.reconcile(&order, &[], QUIET).unwrap();
        let of_devices = report
            .findings
            .into_iter()
            .filter(|found| matches!(found.kind, FindingKind::Partition | FindingKind::WrongDriver));
        of_devices.map(|found| (found.kind, found.action, found.thing)).collect::<Vec<_>>()
    };
    let repaired = |kind, thing: &str| (kind, FindingAction::Repaired, thing.to_owned());
    assert_eq!(active(world), "0");
    assert_eq!(found(), [repaired(FindingKind::Partition, "partition 0")]);
    assert_eq!((active(world), found()), (String::new(), vec![]));
    kernel.change(GPU, |gpu| (gpu.driver, gpu.only) = (Some("nvidia".into()), None));
    assert_eq!(found(), [repaired(FindingKind::WrongDriver, GPU)]);
    assert_eq!(found(), []);
    fs::write(world.path("fail"), "0 247\n").unwrap();
    assert_eq!(found(), [(FindingKind::Partition, FindingAction::Failed, "fabric".to_owned())]);
}

#[test]
fn devices_are_taken_back_before_anybody_else_gets_them() {
    let Some(world) = world("devices_are_taken_back_before_anybody_else_gets_them") else { return };
    let kernel = kernel();
    let host = open(&world, &kernel, HostView::default());
    network::prepare(&Config::read(&world.path("hostd.toml")).unwrap().network).unwrap();
    until("libvirt answers", || host.guests().ok());
    on_vfio(&kernel);
    a_release_holds_the_slot_until_its_devices_are_back(&world, &host, &kernel);
    a_comparison_puts_devices_right(&world, &host, &kernel);
}

// The host as the plan looks at it: its own processors and memory, a disk that says it is an NVMe namespace, and the devices.
fn captured(world: &World) -> HostView {
    let (sys, dev) = (world.path("sys"), world.path("dev"));
    let put = |path: &str, text: &str| {
        let path = sys.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    };
    let (_, device) = world.disk("disk7.img", 96 * MIB);
    let real = Path::new("/sys/block").join(device.file_name().unwrap());
    put("block/nvme0n1/device/model", "M");
    put("block/nvme0n1/device/serial", "S");
    put("block/nvme0n1/wwid", "eui.1");
    put("block/nvme0n1/nsid", "1");
    for name in ["dev", "size", "ro", "queue", "holders", "slaves"] {
        symlink(real.join(name), sys.join("block/nvme0n1").join(name)).unwrap();
    }
    let number = fs::read_to_string(real.join("dev")).unwrap().trim().to_owned();
    fs::create_dir_all(sys.join("dev/block")).unwrap();
    symlink(sys.join("block/nvme0n1"), sys.join("dev/block").join(&number)).unwrap();
    fs::create_dir_all(&dev).unwrap();
    let (major, minor) = number.split_once(':').unwrap();
    world.inside(&["mknod", dev.join("nvme0n1").to_str().unwrap(), "b", major, minor]);
    for (address, vendor, id, class, group) in
        [(GPU, "0x10de", "0x2335", "0x030200", "42"), (VF, "0x8086", "0x10ca", "0x020000", "60")]
    {
        for (file, text) in [("vendor", vendor), ("device", id), ("class", class), ("numa_node", "0")] {
            put(&format!("bus/pci/devices/{address}/{file}"), text);
        }
        let folder = sys.join("bus/pci/devices").join(address);
        symlink("../../drivers/vfio-pci", folder.join("driver")).unwrap();
        symlink(format!("../../../kernel/iommu_groups/{group}"), folder.join("iommu_group")).unwrap();
    }
    fs::create_dir_all(sys.join("devices")).unwrap();
    symlink("/sys/devices/system", sys.join("devices/system")).unwrap();
    HostView { sys, proc: "/proc".into(), dev }
}

// libvirt as far as there is a device to give away: `<hostdev>` is taken out of what is defined and put back into what is told.
// What changes a machine is written down in the same file as the calls of the fabric.
fn virsh_without_devices(world: &World) {
    let here = world.path("").display().to_string();
    let script = r#"#!/bin/sh
here=HERE
verb= ; of=
for word; do
  case $word in define|start|shutdown|destroy|undefine|dumpxml) verb=$word ;; *-*-*-*-*) of=$word ;; esac
done
case $verb in define|start|undefine) echo "virsh $verb" >> "$here/calls" ;; esac
case $verb in
define)
  whole=$(cat)
  of=${whole#*<uuid>} ; of=${of%%</uuid>*}
  printf '%s' "$whole" > "$here/defined.xml"
  devices="<hostdev${whole#*<hostdev}" ; devices="${devices%</hostdev>*}</hostdev>"
  printf '%s' "$devices" > "$here/$of.hostdevs"
  printf '%s' "${whole%%<hostdev*}${whole##*</hostdev>}" | "$here/real-virsh" "$@"
  ;;
dumpxml)
  out=$("$here/real-virsh" "$@") || exit $?
  printf '%s' "${out%%</devices>*}$(cat "$here/$of.hostdevs")</devices>${out#*</devices>}"
  ;;
*) exec "$here/real-virsh" "$@" ;;
esac
"#;
    fs::copy("/usr/bin/virsh", world.path("real-virsh")).unwrap();
    fs::write(world.path("virsh"), script.replace("HERE", here.trim_end_matches('/'))).unwrap();
    fs::set_permissions(world.path("virsh"), fs::Permissions::from_mode(0o755)).unwrap();
    // In the box alone.
    world.inside(&["mount", "--bind", world.path("virsh").to_str().unwrap(), "/usr/bin/virsh"]);
}

fn build(host: &Hostd, number: u8, slot: &TaskSlot, spec: &GuestSpec) -> Result<GuestSeen, Failed> {
    let slots = std::slice::from_ref(slot);
    host.provision(Order { allocation_id: &allocation(number), slots, spec }, QUIET)
}

// The next calls of the fabric and of libvirt.
fn calls(world: &World) -> Vec<String> {
    let calls = fs::read_to_string(world.path("calls")).unwrap_or_default();
    let _ = fs::remove_file(world.path("calls"));
    calls.lines().map(str::to_owned).collect()
}

// Devices that are gone, swapped, or on the host's driver: refused by the plan, and nothing is touched.
fn devices_that_drifted_are_refused(world: &World, host: &Hostd, slot: &TaskSlot, spec: &GuestSpec) {
    let gpu = world.path("sys/bus/pci/devices").join(GPU);
    let refused = |check: &str, why: &str| {
        let failed = build(host, 1, slot, spec).unwrap_err();
        assert_eq!(failed.failure, Some(TaskFailure::PlanRefused), "{failed}");
        assert_eq!(failed.refusals.iter().map(|refusal| refusal.check.as_str()).collect::<Vec<_>>(), [check]);
        assert!(failed.detail.contains(why), "{failed}");
        world_is_empty(world, host);
    };
    fs::write(gpu.join("device"), "0x2330\n").unwrap();
    refused("device_identity", "expected 10de:2335 at 0000:0f:00.0, found 10de:2330");
    fs::write(gpu.join("device"), "0x2335\n").unwrap();
    fs::remove_file(gpu.join("driver")).unwrap();
    refused("device_driver", "vfio-pci on 0000:0f:00.0, found no driver");
    symlink("../../drivers/vfio-pci", gpu.join("driver")).unwrap();
    fs::rename(&gpu, world.path("away")).unwrap();
    refused("device_present", "expected 0000:0f:00.0, found nothing");
    fs::rename(world.path("away"), &gpu).unwrap();
    // Another disk where the approved one was: the same place, another identity.
    let wwid = world.path("sys/block/nvme0n1/wwid");
    fs::write(&wwid, "eui.2\n").unwrap();
    refused("disk_present", "one disk with the identity eui.1 was expected, found none");
    fs::write(&wwid, "eui.1\n").unwrap();
}

fn world_is_empty(world: &World, host: &Hostd) {
    assert_eq!(host.guests().unwrap(), []);
    assert_eq!((active(world), calls(world)), (String::new(), vec![]));
    let leases = Leases { folder: world.path("state/leases") };
    assert_eq!(leases.list().unwrap(), []);
}

// One root port for each device, and libvirt leaves their drivers alone.
fn the_machine_has_its_devices(world: &World) {
    let xml = fs::read_to_string(world.path("defined.xml")).unwrap().replace('\'', "\"");
    let count = |what: &str| xml.matches(what).count();
    assert_eq!((count("<hostdev "), count("managed=\"no\""), count("model=\"pcie-root-port\"")), (2, 2, 2), "{xml}");
    for (host, port) in [("bus=\"0x0f\" slot=\"0x00\"", "bus=\"0x01\""), ("bus=\"0x03\" slot=\"0x10\"", "bus=\"0x02\"")]
    {
        let device = xml.split("<hostdev ").find(|device| device.contains(host)).unwrap();
        let device = device.split("</hostdev>").next().unwrap();
        assert!(device.contains(port) && device.contains("<driver name=\"vfio\""), "{device}");
    }
}

// Whatever an order says, the devices of a guest that runs are not another's, and are not taken from it.
fn a_running_guests_devices_are_its_own(world: &World, host: &Hostd, kernel: &Kernel, spec: &GuestSpec) {
    let mut thief = slot_with_gpu();
    thief.slot_id = slot(8, "").slot_id;
    let (mac, ip) = ("02:00:00:00:01:08".to_owned(), [10, 77, 0, 8].into());
    (thief.bundle.as_mut().unwrap().mac, thief.bundle.as_mut().unwrap().ip) = (mac, ip);
    let failed = build(host, 2, &thief, spec).unwrap_err();
    let checks: BTreeSet<&str> = failed.refusals.iter().map(|refusal| refusal.check.as_str()).collect();
    assert!(checks.contains("device_free") && checks.contains("disk_unmounted"), "{failed}");
    kernel.log();
    let leases = Leases { folder: world.path("state/leases") };
    let holder = GuestUse { allocation_id: allocation(2), use_generation: thief.use_generation };
    leases.take(&BTreeSet::from([Thing::Slot(thief.slot_id.clone())]), &holder, now()).unwrap();
    let failed = host.stop(&allocation(2), std::slice::from_ref(&thief), None, QUIET).unwrap_err();
    let why = format!("remove: devices: pci-{GPU} must be nobody else's, but {}", allocation(1));
    let other = format!("remove: devices: pci-{VF} must be nobody else's, but {}", allocation(1));
    assert!(failed.detail.starts_with(&why) || failed.detail.starts_with(&other), "{failed}");
    leases.release_all(&holder).unwrap();
    let failed = host.wipe(&allocation(2), &thief, WipeStep::GpuReset, QUIET).unwrap_err();
    assert!(failed.detail.starts_with("gpu_reset: "), "{failed}");
    assert_eq!((active(world).as_str(), kernel.log()), ("11", vec![]), "nothing was done to them");
}

#[test]
fn a_guest_with_a_gpu_and_a_fabric_function_lives_and_leaves_them_clean() {
    let name = "a_guest_with_a_gpu_and_a_fabric_function_lives_and_leaves_them_clean";
    let Some(world) = world(name) else { return };
    virsh_without_devices(&world);
    let kernel = kernel();
    on_vfio(&kernel);
    let host = open(&world, &kernel, captured(&world));
    network::prepare(&Config::read(&world.path("hostd.toml")).unwrap().network).unwrap();
    until("libvirt answers", || host.guests().ok());
    let (slot, spec) = (slot_with_gpu(), guest(&world, "one"));
    host.image_admit(&spec.image, || Ok(File::open(tiny_image()).unwrap())).unwrap();
    devices_that_drifted_are_refused(&world, &host, &slot, &spec);

    kernel.log();
    let seen = build(&host, 1, &slot, &spec).unwrap();
    assert!(world.ssh(&seen.expected_ip, &seen.host_key, "true").status.success());
    assert_eq!(calls(&world), ["-l", "-l", "-a 11", "-l", "virsh define", "virsh start"], "on before the guest starts");
    assert_eq!(active(&world), "11");
    the_machine_has_its_devices(&world);
    let resets = |log: &[String]| log.iter().filter(|line| line.ends_with("/reset = 1")).count();
    assert_eq!(resets(&kernel.log()), 2, "each device is reset before the guest gets it");
    a_running_guests_devices_are_its_own(&world, &host, &kernel, &spec);
    calls(&world);

    let evidence = host.stop(&allocation(1), std::slice::from_ref(&slot), None, QUIET).unwrap();
    for what in ["no process runs it", "was reset by flr", "lists partition 11 as inactive", "is on vfio-pci"] {
        assert!(evidence.contains(what), "{what} is not in {evidence}");
    }
    let done = calls(&world);
    let place = |what: &str| done.iter().position(|call| call == what).unwrap();
    assert!(place("virsh undefine") < place("-d 11"), "off only after the guest is gone: {done:?}");
    assert_eq!(resets(&kernel.log()), 2, "and once more after it");
    let proved = |step| host.wipe(&allocation(1), &slot, step, QUIET).unwrap();
    assert!(proved(WipeStep::GuestGone).contains("\"guests\":0"));
    let gpu = proved(WipeStep::GpuReset);
    assert!(gpu.contains(GPU) && gpu.contains("\"reset\":\"flr\"") && gpu.contains("no active partition"), "{gpu}");
    assert!(proved(WipeStep::FabricReset).contains(VF));
    calls(&world);
    world_is_empty(&world, &host);
}
