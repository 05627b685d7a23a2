//! Devices of a host with a kernel and a Fabric Manager of the tests' own. Every sequence is made to fail at each of its steps in
//! turn: it must say where, leave no partition on, and be put right by what comes next.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::devices::{settings, settings::NO_FABRIC};
use ::devices::pretend::{Device, Kernel, Mischief};
use serde_json::Value;
use std::{fs, os::unix::fs::symlink, path::Path};

const ONE: &str = "0000:0f:00.0";
const TWO: &str = "0000:10:00.0";
const NIC: &str = "0000:03:00.0";
const VF: &str = "0000:03:10.0";

struct World {
    kernel: Kernel,
    devices: HostDevices,
    folder: tempfile::TempDir,
}

fn at(text: &str) -> PciAddress {
    text.parse().unwrap()
}

impl World {
    fn new() -> Self {
        Self::with("fmpm", "")
    }

    /// Two GPUs that wait with VFIO, and a function of the fabric that the host's driver still has.
    fn with(fmpm: &str, more: &str) -> Self {
        let mut nic = Device::new(0x8086, 0x10c9, 0x02_0000, "igb", 7);
        nic.total_vfs = Some(7);
        let gpu = |group| Device::h200("nvidia", group).on_vfio();
        let kernel = Kernel::new([(ONE, gpu(42)), (TWO, gpu(43)), (NIC, nic)]);
        let nic = NIC.parse().unwrap();
        ::devices::sriov::set_count(&kernel, &Approved::from_iter([nic]), nic, 1, Settle::NONE).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // A link, not a copy: a program that was just written may still be open in the child of another test.
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/fmpm");
        symlink(program, folder.path().join("fmpm")).unwrap();
        fs::write(folder.path().join("board"), "0 5 6 7 8\n5 5 7\n11 5\n13 7\n").unwrap();
        fs::write(folder.path().join("active"), "").unwrap();
        let fmpm = if fmpm == NO_FABRIC { fmpm.to_owned() } else { folder.path().join(fmpm).display().to_string() };
        let text = settings::tests::GOOD.replace("/usr/bin/fmpm", &fmpm).replace("15b3:101e", "8086:10ca") + more;
        let settings = toml::from_str(&text).unwrap();
        let devices = HostDevices::with_files(settings, Box::new(kernel.clone()), Settle::NONE);
        kernel.log();
        kernel.writes();
        Self { kernel, devices, folder }
    }

    fn before(&self) -> Result<Vec<String>, DevicesFault> {
        self.devices.before_guest(&claim(), &|_| ())
    }

    fn after(&self) -> Result<Vec<String>, DevicesFault> {
        self.devices.after_guest(&claim(), &|_| ())
    }

    fn active(&self) -> String {
        fs::read_to_string(self.folder.path().join("active")).unwrap().trim().to_owned()
    }

    fn calls(&self) -> Vec<String> {
        let path = self.folder.path().join("calls");
        let calls = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        calls.lines().map(str::to_owned).collect()
    }

    /// Lets the fabric's call of this number fail, counted from now; 0 is every call.
    fn fail_call(&self, number: usize) {
        self.calls();
        fs::write(self.folder.path().join("fail"), format!("{number} 247\n")).unwrap();
    }

    fn behaves(&self) {
        self.kernel.behaves();
        let _ = fs::remove_file(self.folder.path().join("fail"));
    }

    // Nobody's: no partition on, every device with VFIO, its choice of resets as it was.
    fn is_clean(&self) {
        assert_eq!(self.active(), "");
        for device in [ONE, TWO, VF] {
            let seen = self.kernel.device(device);
            assert_eq!(seen.driver.as_deref(), Some("vfio-pci"), "{device}");
            assert_eq!(seen.chosen, seen.offered, "{device}");
            assert!(!seen.resets.is_empty(), "{device}");
        }
    }
}

fn claim() -> DeviceClaim {
    DeviceClaim { gpus: vec![at(ONE), at(TWO)], fabric: vec![at(VF)], partition: vec![7, 5] }
}

#[test]
fn a_guest_gets_its_devices_and_leaves_them_clean() {
    let world = World::new();
    let told = Mutex::new(vec![]);
    let tell = |percent| told.lock().unwrap().push(percent);
    let done = world.devices.before_guest(&claim(), &tell).unwrap();
    assert_eq!(world.active(), "5", "the partition that is exactly its GPUs");
    assert_eq!(world.calls(), ["-l", "-l", "-a 5", "-l"]);
    assert_eq!(done.len(), 9);
    assert!(done[4].contains("lists partition 5 as active"), "{done:?}");
    assert_eq!(world.kernel.device(VF).driver.as_deref(), Some("vfio-pci"));
    let told = told.into_inner().unwrap();
    assert!(told.len() == 9 && told.is_sorted() && told.last() == Some(&100), "{told:?}");
    world.before().unwrap();
    assert_eq!(world.active(), "5", "twice is once");
    let done = world.after().unwrap();
    assert!(done[0].ends_with("scrubbing of its memory was not observed"), "{done:?}");
    world.is_clean();
    world.after().unwrap();
    world.is_clean();
}

#[test]
fn a_single_gpu_has_the_partition_of_its_own() {
    let world = World::new();
    let single = DeviceClaim { gpus: vec![at(ONE)], fabric: vec![at(VF)], partition: vec![5] };
    world.devices.before_guest(&single, &|_| ()).unwrap();
    assert_eq!(world.active(), "11");
    let other = DeviceClaim { gpus: vec![at(TWO)], fabric: vec![], partition: vec![7] };
    world.devices.before_guest(&other, &|_| ()).unwrap();
    let overlap = world.devices.before_guest(&claim(), &|_| ()).unwrap_err().to_string();
    assert!(overlap.contains("partition_on: no GPU of partition 5 may be in one that is active"), "{overlap}");
    world.devices.after_guest(&single, &|_| ()).unwrap();
    assert_eq!(world.active(), "13", "the other's stays");
}

#[test]
fn a_sequence_that_fails_at_any_write_says_where_and_leaves_no_partition_on() {
    let good = World::new();
    good.before().unwrap();
    let before = good.kernel.writes();
    good.after().unwrap();
    let after = good.kernel.writes();
    assert!(before >= 12 && after >= 9, "{before} {after}");
    for number in 0..before {
        let world = World::new();
        world.kernel.clone().with(Mischief::WriteFailsOnce(number));
        // A GPU that does not reset itself is reset by its bus; everything else ends it.
        if let Err(fault) = world.before() {
            let fault = fault.to_string();
            let step = ["gpu_reset: ", "bind: ", "vf_reset: "].iter().find(|step| fault.starts_with(**step));
            assert!(step.is_some() && fault.contains("timed out"), "write {number}: {fault}");
            assert_eq!(world.active(), "", "write {number}: {fault}");
        } else {
            let by_bus = |gpu: &&str| world.kernel.device(gpu).resets.last().is_some_and(|method| method == "bus");
            assert_eq!([ONE, TWO].into_iter().filter(by_bus).count(), 1, "write {number}");
        }
        // Whatever was left is put right by the next guest, and by the taking back.
        world.behaves();
        world.before().unwrap();
        world.after().unwrap();
        world.is_clean();
    }
    for number in 0..after {
        let world = World::new();
        world.before().unwrap();
        world.kernel.writes();
        world.kernel.clone().with(Mischief::WriteFailsOnce(number));
        let ended = world.after();
        assert_eq!(world.active(), "", "write {number}: the partition is off all the same");
        if let Err(fault) = ended {
            assert!(fault.to_string().starts_with("vf_reset: "), "write {number}: {fault}");
        }
        world.behaves();
        world.after().unwrap();
        world.is_clean();
    }
}

#[test]
fn a_sequence_that_fails_at_any_call_of_the_fabric_says_so() {
    for call in 1..=4 {
        let world = World::new();
        world.fail_call(call);
        let fault = world.before().unwrap_err().to_string();
        assert!(
            fault.starts_with("partition_on: ") && fault.contains("there is no connection"),
            "call {call}: {fault}"
        );
        assert_eq!(world.active(), "", "call {call}: {fault}");
        if call == 1 {
            assert!(world.kernel.log().is_empty(), "nothing is touched before the partition is known");
        }
        world.behaves();
        world.before().unwrap();
        world.after().unwrap();
        world.is_clean();
    }
    // Before the change, at it, and when it should be proved.
    for call in 1..=4 {
        let world = World::new();
        world.before().unwrap();
        world.kernel.log();
        world.fail_call(call);
        let fault = world.after().unwrap_err().to_string();
        assert!(fault.starts_with("partition_off: "), "call {call}: {fault}");
        assert!(fault.contains("the partition may still be on"), "call {call}: {fault}");
        let resets = world.kernel.log().iter().filter(|line| line.ends_with("/reset = 1")).count();
        assert_eq!(resets, 3, "call {call}: everything else is taken back");
        world.behaves();
        world.after().unwrap();
        world.is_clean();
    }
    // The change failed and nobody answers any more: that it may be on is said.
    let world = World::new();
    world.fail_call(0);
    assert!(world.before().is_err() && world.kernel.log().is_empty());
}

#[test]
fn devices_that_are_not_those_of_the_settings_are_not_touched() {
    let world = World::new();
    world.kernel.change(TWO, |gpu| gpu.device = 0x2330);
    let fault = world.before().unwrap_err().to_string();
    assert_eq!(fault, "0000:10:00.0 must be one of 10de:2335, but it is 10de:2330");
    assert!(world.after().is_err() && world.devices.reset_gpu(at(TWO), Some(7)).is_err());
    assert!(world.devices.bind(at(NIC)).is_err(), "the function that made the others is nobody's");
    let swapped = DeviceClaim { gpus: vec![at(VF)], fabric: vec![at(ONE)], partition: vec![5] };
    assert!(world.devices.before_guest(&swapped, &|_| ()).is_err(), "a GPU is no function of the fabric");
    assert!(world.kernel.log().is_empty() && world.calls().is_empty());
}

#[test]
fn a_claim_whose_partition_does_not_fit_changes_nothing() {
    for (gpus, partition) in
        [(2, &[][..]), (2, &[5, 6]), (2, &[5]), (1, &[5, 7]), (1, &[300]), (2, &[5, 300]), (1, &[])]
    {
        let world = World::new();
        let claim = DeviceClaim { gpus: claim().gpus[..gpus].to_vec(), fabric: vec![], partition: partition.to_vec() };
        assert!(world.devices.before_guest(&claim, &|_| ()).is_err(), "{claim:?}");
        assert!(world.kernel.log().is_empty() && world.active().is_empty());
    }
}

#[test]
fn a_reset_is_proved_and_a_gpu_that_is_joined_to_others_is_not_clean() {
    let world = World::new();
    world.before().unwrap();
    let joined = world.devices.reset_gpu(at(ONE), Some(5)).unwrap_err().to_string();
    assert_eq!(joined, "no partition with GPU 5 may be active, but partition 5 is");
    world.after().unwrap();
    let text = world.devices.reset_gpu(at(ONE), Some(5)).unwrap();
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((seen["device"].as_str(), seen["ids"].as_str()), (Some(ONE), Some("10de:2335")));
    assert_eq!((seen["reset"].as_str(), seen["answers"].as_bool()), (Some("flr"), Some(true)));
    assert_eq!(seen["partition"], "no active partition has GPU 5");
    assert_eq!(seen["memory"], "scrubbing of its memory was not observed");
    let text = world.devices.reset_fabric(at(VF)).unwrap();
    assert!(!text.contains("memory") && text.contains("\"reset\":\"flr\""), "{text}");
    assert!(world.devices.reset_gpu(at(ONE), None).is_err() && world.devices.reset_gpu(at(ONE), Some(1)).is_err());
    world.fail_call(0);
    assert!(world.devices.reset_gpu(at(ONE), Some(5)).is_err(), "who does not know is not sure");
    world.behaves();
    world.kernel.hold(42);
    assert!(world.devices.reset_gpu(at(ONE), Some(5)).unwrap_err().to_string().contains("somebody holds"));
}

#[test]
fn a_gpu_that_dies_by_its_reset_is_reset_another_way_or_not_at_all() {
    let both = [Mischief::FailsBy(ONE.parse().unwrap(), "flr"), Mischief::FailsBy(ONE.parse().unwrap(), "bus")];
    let world = World::new();
    for one in &both {
        world.kernel.clone().with(one.clone());
    }
    world.kernel.log();
    let fault = world.devices.reset_gpu(at(ONE), Some(5)).unwrap_err().to_string();
    assert!(fault.starts_with("0000:0f:00.0 must be reset, but: flr failed"), "{fault}");
    assert!(!world.kernel.log().iter().any(|line| line.contains("/remove")), "the host's driver never gets it");
    let world = World::with("fmpm", "reset = [\"flr\", \"bus\", \"remove_rescan\"]\n");
    world.kernel.clone().with(both[0].clone()).with(both[1].clone());
    assert!(world.devices.reset_gpu(at(ONE), Some(5)).is_err());
    assert!(world.kernel.log().iter().any(|line| line.contains("/remove")), "unless an operator wants that");
}

#[test]
fn a_device_that_left_vfio_is_found_and_brought_back() {
    let world = World::new();
    let all = [at(ONE), at(TWO), at(VF)];
    let wrong = world.devices.wrong_drivers(&all).unwrap();
    assert_eq!(wrong, [WrongDriver { address: at(VF), driver: Some("igbvf".into()), unfit: None }]);
    world.devices.bind(at(VF)).unwrap();
    assert_eq!(world.devices.wrong_drivers(&all).unwrap(), []);
    // Kept there by nothing: the next probe would take it.
    world.kernel.change(ONE, |gpu| gpu.only = None);
    assert_eq!(world.devices.wrong_drivers(&all).unwrap()[0].driver.as_deref(), Some("vfio-pci"));
    world.devices.bind(at(ONE)).unwrap();
    world.kernel.change(TWO, |gpu| gpu.dead = true);
    let missing = at("0000:77:00.0");
    let wrong = world.devices.wrong_drivers(&[at(TWO), missing]).unwrap();
    assert!(wrong[0].unfit.as_ref().unwrap().contains("does not answer"), "{wrong:?}");
    assert!(wrong[1].unfit.as_ref().unwrap().contains("there is none"), "{wrong:?}");
}

#[test]
fn virtual_functions_come_back_after_a_start_of_the_host_and_go_to_guests_again() {
    let world = World::with("fmpm", &format!("virtual_functions = {{ \"{NIC}\" = 2 }}\n"));
    let nic = Approved::from_iter([NIC.parse().unwrap()]);
    // As the kernel leaves them.
    ::devices::sriov::set_count(&world.kernel, &nic, NIC.parse().unwrap(), 0, Settle::NONE).unwrap();
    assert!(world.devices.wrong_drivers(&[at(VF)]).unwrap()[0].unfit.is_some());
    let missing = world.devices.missing();
    assert_eq!(missing, [format!("{NIC} must have 2 virtual functions, but has 0")]);
    world.devices.prepare().unwrap();
    world.devices.prepare().unwrap();
    assert_eq!(world.devices.missing(), Vec::<String>::new());
    assert_eq!(world.devices.wrong_drivers(&[at(VF)]).unwrap()[0].unfit, None);
    world.devices.bind(at(VF)).unwrap();
    assert_eq!(world.devices.wrong_drivers(&[at(VF)]).unwrap(), []);
    // A function that guests may have by now is not taken away for another number of them.
    let other = World::with("fmpm", &format!("virtual_functions = {{ \"{NIC}\" = 3 }}\n"));
    other.devices.bind(at(VF)).unwrap();
    assert!(other.devices.prepare().unwrap_err().to_string().contains(VF));
    assert_eq!(other.kernel.device(VF).driver.as_deref(), Some("vfio-pci"));
}

#[test]
fn a_partition_is_switched_off_only_if_it_is_still_nobodys() {
    let world = World::new();
    fs::write(world.folder.path().join("active"), "13\n").unwrap();
    let listed = world.devices.partitions().unwrap().unwrap();
    let active: Vec<u32> = listed.iter().filter(|partition| partition.active).map(|partition| partition.id).collect();
    assert_eq!((listed.len(), active), (4, vec![13]));
    let somebodys = world.devices.partition_off(13, &|| Err("alc_1 has a GPU of it".to_owned()));
    assert_eq!(somebodys.unwrap_err().to_string(), "alc_1 has a GPU of it");
    assert_eq!(world.active(), "13");
    world.devices.partition_off(13, &|| Ok(())).unwrap();
    world.devices.partition_off(13, &|| Ok(())).unwrap();
    assert_eq!(world.active(), "");
    assert!(world.devices.partition_off(99, &|| Ok(())).is_err());
    // While it is looked at whether it is somebody's, nobody can get it.
    let during = || {
        let free = world.devices.nobodys.try_read().is_ok();
        Err(format!("{free}"))
    };
    assert_eq!(world.devices.partition_off(13, &during).unwrap_err().to_string(), "false");
}

#[test]
fn a_host_without_a_fabric_must_have_none() {
    let world = World::with(NO_FABRIC, "");
    let single = DeviceClaim { gpus: vec![at(ONE)], fabric: vec![at(VF)], partition: vec![] };
    world.devices.before_guest(&single, &|_| ()).unwrap();
    world.devices.after_guest(&single, &|_| ()).unwrap();
    assert!(world.devices.reset_gpu(at(ONE), None).unwrap().contains("no fabric on this host"));
    assert_eq!((world.devices.partitions(), world.devices.missing()), (Ok(None), vec![]));
    assert!(world.before().unwrap_err().to_string().contains("a fabric must join the GPUs"));
    world.kernel.change(NIC, |nic| (nic.vendor, nic.device) = (0x10de, 0x22a3));
    world.kernel.log();
    let fault = world.devices.before_guest(&single, &|_| ()).unwrap_err().to_string();
    assert!(fault.contains("must have no NVSwitch"), "{fault}");
    assert!(world.kernel.log().is_empty());
    assert!(world.devices.after_guest(&single, &|_| ()).is_err() && world.devices.partitions().is_err());
    assert_eq!(world.devices.missing().len(), 1);
    assert!(world.kernel.log().iter().any(|line| line.ends_with("/reset = 1")), "it is reset all the same");
}

#[test]
fn what_is_missing_is_named() {
    let world = World::new();
    assert_eq!(world.devices.missing(), Vec::<String>::new());
    world.fail_call(0);
    let without = HostDevices::with_files(
        world.devices.settings.clone(),
        Box::new(world.kernel.clone().without_driver("vfio-pci")),
        Settle::NONE,
    );
    let missing = without.missing();
    assert!(missing.len() == 2 && missing[0].contains("vfio-pci is not loaded"), "{missing:?}");
}
