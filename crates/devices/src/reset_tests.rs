//! The ladder, rung by rung, on devices that behave, that die, and that come back as something else.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::pretend::{Device, Kernel, Mischief, at};
use std::io::ErrorKind;

const GPU: &str = "0000:0f:00.0";
const NIC: &str = "0000:03:00.0";
const VF: &str = "0000:03:10.0";

fn kernel() -> Kernel {
    let mut nic = Device::new(0x8086, 0x10c9, 0x02_0000, "igb", 7);
    nic.total_vfs = Some(7);
    Kernel::new([(GPU, Device::h200("nvidia", 42).on_vfio()), (NIC, nic)])
}

fn approved() -> Approved {
    [GPU, NIC, VF].into_iter().map(at).collect()
}

fn policy(methods: &[ResetMethod]) -> ResetPolicy {
    ResetPolicy { methods: methods.to_vec(), settle: Settle::NONE, ..ResetPolicy::gpu() }
}

fn all() -> ResetPolicy {
    policy(&[ResetMethod::Flr, ResetMethod::Bus, ResetMethod::RemoveRescan])
}

fn reset(kernel: &Kernel, policy: &ResetPolicy) -> Result<ResetEvidence, Fault> {
    reset_gpu(kernel, &approved(), at(GPU), policy)
}

fn tried(fault: Fault) -> Vec<Tried> {
    match fault {
        Fault::NotReset { tried, .. } => tried,
        other => panic!("expected a failed reset, found {other}"),
    }
}

#[test]
fn the_first_rung_is_enough_when_it_works() {
    let kernel = kernel();
    let evidence = reset(&kernel, &all()).unwrap();
    assert_eq!((evidence.method, evidence.tried.len()), (ResetMethod::Flr, 1));
    assert_eq!(evidence.before, evidence.after);
    let said = "0000:0f:00.0 (10de:2335) was reset by flr and answers; scrubbing of its memory was not observed";
    assert_eq!(evidence.to_string(), said);
    let expected = [
        "bus/pci/devices/0000:0f:00.0/reset_method = flr",
        "bus/pci/devices/0000:0f:00.0/reset = 1",
        "bus/pci/devices/0000:0f:00.0/reset_method = flr bus",
    ];
    assert_eq!(kernel.log(), expected);
    assert_eq!(kernel.device(GPU).resets, ["flr"]);
    reset(&kernel, &all()).unwrap();
    let json = serde_json::to_string(&evidence).unwrap();
    assert_eq!(serde_json::from_str::<ResetEvidence>(&json).unwrap(), evidence);
}

#[test]
fn that_memory_was_scrubbed_is_never_said_as_if_it_had_been_seen() {
    let evidence = reset(&kernel(), &all()).unwrap();
    assert_eq!(evidence.memory, MemoryScrub::NotObserved);
    let source = "the maker's manual, chapter 7".to_owned();
    let policy = ResetPolicy { scrub_sources: [(evidence.after.id(), source.clone())].into(), ..all() };
    let evidence = reset(&kernel(), &policy).unwrap();
    assert_eq!(evidence.memory, MemoryScrub::SaidBy { source });
    let said =
        "scrubbing of its memory was not observed, but this device does it at reset according to the maker's manual";
    assert!(evidence.to_string().contains(said), "{evidence}");
}

#[test]
fn no_policy_gives_the_hosts_driver_a_function_with_a_tenants_data() {
    for policy in [ResetPolicy::gpu(), ResetPolicy::virtual_function()] {
        assert!(!policy.methods.contains(&ResetMethod::RemoveRescan));
    }
}

#[test]
fn a_rung_that_fails_leads_to_the_next() {
    let kernel = kernel().with(Mischief::FailsBy(at(GPU), "flr"));
    let evidence = reset(&kernel, &all()).unwrap();
    assert_eq!(evidence.method, ResetMethod::Bus);
    assert!(matches!(evidence.tried[0].outcome, Outcome::Failed { .. }), "{:?}", evidence.tried);
    assert_eq!(kernel.device(GPU).resets, ["bus"]);
    assert_eq!(kernel.device(GPU).chosen, ["flr", "bus"], "the choice is what it was");
}

#[test]
fn a_rung_that_the_policy_does_not_list_is_not_climbed() {
    let kernel = kernel().with(Mischief::FailsBy(at(GPU), "flr"));
    let tried = tried(reset(&kernel, &policy(&[ResetMethod::Flr])).unwrap_err());
    assert_eq!(tried.len(), 1);
    assert!(kernel.device(GPU).resets.is_empty());
    let none = reset(&kernel, &policy(&[])).unwrap_err();
    assert_eq!(none, Refusal::NoMethod { address: at(GPU) }.into());
}

#[test]
fn a_rung_that_the_device_does_not_offer_is_noted() {
    let kernel = kernel();
    kernel.change(GPU, |gpu| {
        gpu.offered = vec!["bus"];
        gpu.chosen = vec!["bus".to_owned()];
    });
    let evidence = reset(&kernel, &all()).unwrap();
    assert_eq!(evidence.method, ResetMethod::Bus);
    let why = "the kernel offers bus".to_owned();
    assert_eq!(evidence.tried[0].outcome, Outcome::NotOffered { why });
}

#[test]
fn a_device_that_dies_and_is_found_again_alive_counts_only_after_a_reset() {
    let died = || kernel().with(Mischief::DiesBy(at(GPU), "flr")).with(Mischief::RescanHeals(at(GPU)));
    // FLR kills it each time, the bus reset works on what was found again.
    let kernel = died();
    let evidence = reset(&kernel, &all()).unwrap();
    assert_eq!(evidence.method, ResetMethod::RemoveRescan);
    assert_eq!(evidence.tried.len(), 3);
    assert_eq!(evidence.after.driver.as_deref(), Some(VFIO));
    assert_eq!(evidence.after.driver_override.as_deref(), Some(VFIO));
    assert_eq!(evidence.had_by.as_deref(), Some("nvidia"), "what could not be kept from happening is told");
    // Where no reset may follow, being found again is not enough.
    let kernel = died();
    let tried = tried(reset(&kernel, &policy(&[ResetMethod::Flr, ResetMethod::RemoveRescan])).unwrap_err());
    let said = tried[1].to_string();
    assert!(said.contains("it was found again, but not reset"), "{said}");
}

#[test]
fn the_host_driver_gives_it_up_when_it_is_found_again() {
    let kernel = kernel();
    let evidence = reset(&kernel, &policy(&[ResetMethod::RemoveRescan, ResetMethod::Flr])).unwrap();
    assert_eq!((evidence.method, evidence.had_by.as_deref()), (ResetMethod::RemoveRescan, Some("nvidia")));
    let expected = [
        "bus/pci/devices/0000:0f:00.0/remove = 1",
        "bus/pci/rescan = 1",
        "bus/pci/devices/0000:0f:00.0/driver_override = vfio-pci",
        "bus/pci/drivers/nvidia/unbind = 0000:0f:00.0",
        "bus/pci/drivers_probe = 0000:0f:00.0",
    ];
    assert_eq!(kernel.log()[..5], expected);
    assert_eq!(kernel.device(GPU).resets, ["flr"]);
    // A driver that does not let go is a failure, and the function is not called reset.
    let stuck = self::kernel().with(Mischief::WriteFails("nvidia/unbind", ErrorKind::TimedOut));
    let fault = reset(&stuck, &policy(&[ResetMethod::RemoveRescan, ResetMethod::Flr])).unwrap_err();
    assert!(fault.to_string().contains("nvidia/unbind"), "{fault}");
    // One that was the host's before goes back to the host's driver.
    let hosted = Kernel::new([(GPU, Device::h200("nvidia", 42))]);
    let evidence = reset(&hosted, &policy(&[ResetMethod::RemoveRescan, ResetMethod::Flr])).unwrap();
    assert_eq!((evidence.had_by, evidence.after.driver.as_deref()), (None, Some("nvidia")));
}

#[test]
fn a_device_that_stays_away_stays_dead_or_was_swapped_is_a_fault() {
    for (mischief, expected) in [
        (Mischief::StaysAway(at(GPU)), "there is none"),
        (Mischief::DiesBy(at(GPU), "bus"), "does not answer"),
        (Mischief::RescanSwaps(at(GPU), 0x99), "serial number"),
        (Mischief::NobodyProbes(at(GPU)), "its driver was vfio-pci and is none"),
        (Mischief::WriteFails("rescan", ErrorKind::TimedOut), "bus/pci/rescan"),
        (Mischief::WriteFails("remove", ErrorKind::PermissionDenied), "/remove"),
    ] {
        let mut policy = all();
        let kernel = kernel().with(Mischief::FailsBy(at(GPU), "flr")).with(mischief.clone());
        if !matches!(mischief, Mischief::DiesBy(..)) {
            policy.methods = vec![ResetMethod::RemoveRescan, ResetMethod::Flr];
        }
        let fault = reset(&kernel, &policy).unwrap_err();
        assert!(fault.to_string().contains(expected), "{mischief:?}: {fault}");
    }
}

#[test]
fn a_device_that_was_dead_before_is_brought_back() {
    let kernel = kernel().with(Mischief::RescanHeals(at(GPU)));
    kernel.change(GPU, |gpu| gpu.dead = true);
    let evidence = reset(&kernel, &all()).unwrap();
    assert_eq!(evidence.method, ResetMethod::RemoveRescan);
    assert!(!evidence.before.config_readable && evidence.after.config_readable);
}

#[test]
fn what_a_guest_holds_is_not_reset() {
    let kernel = kernel();
    kernel.hold(42);
    assert_eq!(reset(&kernel, &all()).unwrap_err(), Refusal::Held { address: at(GPU), group: 42 }.into());
    assert!(kernel.log().is_empty());
}

#[test]
fn a_function_with_virtual_ones_is_not_forgotten() {
    let kernel = kernel().with(Mischief::FailsBy(at(NIC), "flr")).with(Mischief::FailsBy(at(NIC), "bus"));
    sriov::set_count(&kernel, &approved(), at(NIC), 1, Settle::NONE).unwrap();
    kernel.log();
    let tried = tried(reset_gpu(&kernel, &approved(), at(NIC), &all()).unwrap_err());
    let why = "its virtual function 0000:03:10.0 would go with it".to_owned();
    assert_eq!(tried[2].outcome, Outcome::NotOffered { why });
    assert!(!kernel.log().iter().any(|line| line.contains("remove")));
}

#[test]
fn a_virtual_function_is_reset_by_itself_only() {
    let kernel = kernel();
    sriov::set_count(&kernel, &approved(), at(NIC), 1, Settle::NONE).unwrap();
    vfio::bind(&kernel, &approved(), &[at(VF)], Settle::NONE).unwrap();
    kernel.log();
    let flr = ResetPolicy { settle: Settle::NONE, ..ResetPolicy::virtual_function() };
    let evidence = reset_vf(&kernel, &approved(), at(VF), &flr).unwrap();
    assert_eq!((evidence.method, evidence.memory), (ResetMethod::Flr, MemoryScrub::NotObserved));
    // There is one way only, so the choice needs no restoring and is written all the same.
    assert_eq!(kernel.log().len(), 3);
    let wide = Refusal::MethodTooWide { address: at(VF), method: ResetMethod::Bus };
    assert_eq!(reset_vf(&kernel, &approved(), at(VF), &all()).unwrap_err(), wide.into());
    let physical = reset_vf(&kernel, &approved(), at(GPU), &flr).unwrap_err();
    assert_eq!(physical, Refusal::NotVirtual { address: at(GPU) }.into());
    let not_physical = reset_gpu(&kernel, &approved(), at(VF), &all()).unwrap_err();
    assert_eq!(not_physical, Refusal::Virtual { address: at(VF) }.into());
    assert!(kernel.log().is_empty());
}

#[test]
fn bridges_switches_and_strangers_are_refused() {
    let kernel = Kernel::new([
        (GPU, Device::new(0x10de, 0x22a3, 0x06_8000, "nvidia-nvswitch", 1)),
        (NIC, Device::new(0x1000, 0xc030, 0x06_0400, "pcieport", 2)),
    ]);
    assert!(matches!(reset(&kernel, &all()), Err(Fault::Refused { refusal: Refusal::NvSwitch { .. } })));
    let bridge = reset_gpu(&kernel, &approved(), at(NIC), &all()).unwrap_err();
    assert_eq!(bridge, Refusal::Bridge { address: at(NIC), class: 0x06_0400 }.into());
    let strange = reset_gpu(&kernel, &Approved::default(), at(GPU), &all()).unwrap_err();
    assert_eq!(strange, Refusal::NotApproved { address: at(GPU) }.into());
    assert!(kernel.log().is_empty());
}

#[test]
fn a_group_that_is_counted_anew_is_the_same_and_one_with_others_is_not() {
    let before = pci::look(&kernel(), at(GPU)).unwrap();
    let mut after = before.clone();
    after.iommu_group = Some(77);
    assert_eq!(compare(&before, &after), Vec::<String>::new());
    after.group_members = vec![at(NIC)];
    assert_eq!(compare(&before, &after), ["its IOMMU group was its own and is shared with 0000:03:00.0"]);
    after.iommu_group = None;
    assert_eq!(compare(&before, &after), ["its IOMMU group was its own and is none"]);
}
