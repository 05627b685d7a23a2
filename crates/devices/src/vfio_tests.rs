//! To VFIO and back, on a kernel that behaves and on one that does not.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::pretend::{Device, Kernel, Mischief, at};
use std::io::ErrorKind;

const GPU: &str = "0000:0f:00.0";
const AUDIO: &str = "0000:0f:00.1";
const PORT: &str = "0000:0e:00.0";

fn kernel() -> Kernel {
    Kernel::new([
        (GPU, Device::h200("nvidia", 42)),
        (PORT, Device::new(0x1000, 0xc030, 0x06_0400, "pcieport", 42)),
        ("0000:05:00.0", Device::new(0x10de, 0x22a3, 0x06_8000, "nvidia-nvswitch", 114)),
    ])
}

fn with_neighbour(neighbour: Device) -> Kernel {
    Kernel::new([(GPU, Device::h200("nvidia", 42)), (AUDIO, neighbour)])
}

fn approved(addresses: &[&str]) -> Approved {
    addresses.iter().map(|address| at(address)).collect()
}

fn try_bind(kernel: &Kernel, addresses: &[&str]) -> Result<Vec<BindEvidence>, Fault> {
    let all: Vec<PciAddress> = addresses.iter().map(|address| at(address)).collect();
    bind(kernel, &approved(addresses), &all, Settle::NONE)
}

fn refusal(result: Result<Vec<BindEvidence>, Fault>) -> Refusal {
    match result {
        Err(Fault::Refused { refusal }) => refusal,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn a_gpu_goes_to_vfio_and_stays_there() {
    let kernel = kernel();
    let evidence = try_bind(&kernel, &[GPU]).unwrap().remove(0);
    assert_eq!((evidence.driver_before.as_deref(), evidence.changed), (Some("nvidia"), true));
    assert_eq!((evidence.iommu_group, evidence.group_node.as_str()), (42, "vfio/42"));
    assert_eq!(evidence.seen.driver_override.as_deref(), Some(VFIO));
    let expected = [
        "bus/pci/devices/0000:0f:00.0/driver_override = vfio-pci",
        "bus/pci/drivers/nvidia/unbind = 0000:0f:00.0",
        "bus/pci/drivers_probe = 0000:0f:00.0",
    ];
    assert_eq!(kernel.log(), expected);
    // Twice is once.
    let again = try_bind(&kernel, &[GPU]).unwrap().remove(0);
    assert!(!again.changed && kernel.log().is_empty());
}

#[test]
fn one_that_lost_its_override_gets_it_back_without_leaving_vfio() {
    let kernel = kernel();
    kernel.change(GPU, |gpu| gpu.driver = Some(VFIO.to_owned()));
    kernel.hold(42);
    assert!(matches!(bound(&kernel, at(GPU)), Err(Fault::WrongDriver { .. })));
    assert!(try_bind(&kernel, &[GPU]).unwrap()[0].changed);
    assert_eq!(kernel.log(), ["bus/pci/devices/0000:0f:00.0/driver_override = vfio-pci"]);
}

#[test]
fn a_group_goes_as_a_whole_or_not_at_all() {
    let audio = || Device::new(0x10de, 0x22a0, 0x04_0300, "snd_hda_intel", 42);
    let kernel = with_neighbour(audio());
    let shared = Refusal::GroupShared { group: 42, other: at(AUDIO), driver: "snd_hda_intel".to_owned() };
    assert_eq!(refusal(try_bind(&kernel, &[GPU])), shared);
    assert!(kernel.log().is_empty(), "a refusal comes before the first write");
    let both = try_bind(&kernel, &[GPU, AUDIO]).unwrap();
    assert!(both.iter().all(|evidence| evidence.seen.driver.as_deref() == Some(VFIO)));
    // A neighbour without driver, or with VFIO, is no obstacle.
    for neighbour in [Device::new(0x10de, 0x22a0, 0x04_0300, "", 42), audio().on_vfio()] {
        try_bind(&with_neighbour(neighbour), &[GPU]).unwrap();
    }
}

#[test]
fn a_neighbour_that_goes_too_must_be_approved_too() {
    let kernel = with_neighbour(Device::new(0x10de, 0x22a0, 0x04_0300, "snd_hda_intel", 42));
    let result = bind(&kernel, &approved(&[GPU]), &[at(GPU), at(AUDIO)], Settle::NONE);
    assert_eq!(refusal(result), Refusal::NotApproved { address: at(AUDIO) });
    assert!(kernel.log().is_empty());
}

#[test]
fn a_switch_of_the_fabric_in_the_group_is_no_bridge() {
    let kernel = with_neighbour(Device::new(0x10de, 0x22a3, 0x06_8000, "nvidia-nvswitch", 42));
    assert!(matches!(refusal(try_bind(&kernel, &[GPU])), Refusal::GroupShared { other, .. } if other == at(AUDIO)));
}

#[test]
fn what_is_not_for_guests_is_refused_even_when_approved() {
    let kernel = kernel();
    assert_eq!(refusal(try_bind(&kernel, &[PORT])), Refusal::Bridge { address: at(PORT), class: 0x06_0400 });
    assert!(matches!(refusal(try_bind(&kernel, &["0000:05:00.0"])), Refusal::NvSwitch { .. }));
    let result = bind(&kernel, &approved(&[]), &[at(GPU)], Settle::NONE);
    assert_eq!(refusal(result), Refusal::NotApproved { address: at(GPU) });
    let gone = at("0000:99:00.0");
    assert_eq!(refusal(try_bind(&kernel, &["0000:99:00.0"])), Refusal::Missing { address: gone });
    kernel.change(GPU, |gpu| gpu.group = None);
    assert_eq!(refusal(try_bind(&kernel, &[GPU])), Refusal::NoIommuGroup { address: at(GPU) });
    assert!(kernel.log().is_empty());
}

#[test]
fn without_the_driver_nothing_is_taken_from_the_host() {
    let kernel = kernel().without_driver(VFIO);
    assert_eq!(refusal(try_bind(&kernel, &[GPU])), Refusal::NoVfioDriver);
    assert!(kernel.log().is_empty());
    assert_eq!(kernel.device(GPU).driver.as_deref(), Some("nvidia"));
}

#[test]
fn only_what_the_kernel_says_afterwards_counts() {
    let deaf = kernel().with(Mischief::NobodyProbes(at(GPU)));
    let wrong = Fault::WrongDriver { address: at(GPU), expected: VFIO.to_owned(), found: "none".to_owned() };
    assert_eq!(try_bind(&deaf, &[GPU]).unwrap_err(), wrong);
    assert_eq!(deaf.device(GPU).driver, None, "it does not fall back to the host");
    deaf.behaves();
    try_bind(&deaf, &[GPU]).unwrap();
    let nodeless = kernel().with(Mischief::NoNode(42));
    assert!(matches!(try_bind(&nodeless, &[GPU]), Err(Fault::NoGroupNode { node, .. }) if node == "vfio/42"));
    for end in ["driver_override", "nvidia/unbind", "drivers_probe"] {
        let stuck = kernel().with(Mischief::WriteFails(end, ErrorKind::TimedOut));
        let fault = try_bind(&stuck, &[GPU]).unwrap_err();
        assert!(matches!(&fault, Fault::Write { path, .. } if path.ends_with(end)), "{fault}");
        stuck.behaves();
        try_bind(&stuck, &[GPU]).unwrap();
    }
}

#[test]
fn back_to_the_host_and_again() {
    let kernel = kernel();
    try_bind(&kernel, &[GPU]).unwrap();
    kernel.log();
    let back = return_to_host(&kernel, &approved(&[GPU]), at(GPU), Settle::NONE).unwrap();
    assert_eq!(back.seen.unwrap().driver.as_deref(), Some("nvidia"));
    let expected = [
        "bus/pci/devices/0000:0f:00.0/driver_override = ",
        "bus/pci/drivers/vfio-pci/unbind = 0000:0f:00.0",
        "bus/pci/drivers_probe = 0000:0f:00.0",
    ];
    assert_eq!(kernel.log(), expected);
    let again = return_to_host(&kernel, &approved(&[GPU]), at(GPU), Settle::NONE).unwrap();
    assert!(!again.changed && kernel.log().is_empty());
    let gone = return_to_host(&kernel, &approved(&["0000:99:00.0"]), at("0000:99:00.0"), Settle::NONE).unwrap();
    assert_eq!((gone.changed, gone.seen), (false, None));
}

#[test]
fn what_a_guest_holds_does_not_go_back() {
    let kernel = kernel();
    try_bind(&kernel, &[GPU]).unwrap();
    kernel.log();
    kernel.hold(42);
    let held = return_to_host(&kernel, &approved(&[GPU]), at(GPU), Settle::NONE).unwrap_err();
    assert_eq!(held, Refusal::Held { address: at(GPU), group: 42 }.into());
    let strange = return_to_host(&kernel, &approved(&[]), at(GPU), Settle::NONE).unwrap_err();
    assert_eq!(strange, Refusal::NotApproved { address: at(GPU) }.into());
    assert!(kernel.log().is_empty());
}

#[test]
fn a_return_that_did_not_happen_is_a_fault() {
    let stuck = kernel();
    try_bind(&stuck, &[GPU]).unwrap();
    let stuck = stuck.with(Mischief::WriteFails("vfio-pci/unbind", ErrorKind::TimedOut));
    assert!(matches!(
        return_to_host(&stuck, &approved(&[GPU]), at(GPU), Settle::NONE),
        Err(Fault::Write { path, .. }) if path.ends_with("unbind")
    ));
}
