//! Virtual functions come and go by number, and only while no guest may have one.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::pretend::{Device, Kernel, Mischief, at};

const NIC: &str = "0000:03:00.0";
const VF: &str = "0000:03:10.0";

fn kernel() -> Kernel {
    let mut nic = Device::new(0x8086, 0x10c9, 0x02_0000, "igb", 7);
    nic.total_vfs = Some(7);
    Kernel::new([(NIC, nic), ("0000:0f:00.0", Device::h200("nvidia", 42))])
}

fn approved() -> Approved {
    [NIC, VF, "0000:0f:00.0"].into_iter().map(at).collect()
}

fn set(kernel: &Kernel, count: u32) -> Result<Vec<PciAddress>, Fault> {
    set_count(kernel, &approved(), at(NIC), count, Settle::NONE)
}

#[test]
fn they_come_and_go_and_twice_is_once() {
    let kernel = kernel();
    assert_eq!(set(&kernel, 2).unwrap(), [at(VF), at("0000:03:10.1")]);
    assert_eq!(kernel.log(), ["bus/pci/devices/0000:03:00.0/sriov_numvfs = 2"]);
    set(&kernel, 2).unwrap();
    assert!(kernel.log().is_empty());
    // The kernel changes a number only by way of none.
    assert_eq!(set(&kernel, 3).unwrap().len(), 3);
    assert_eq!(kernel.log().len(), 2);
    assert_eq!(set(&kernel, 0).unwrap(), []);
    assert_eq!(list(&kernel, at(NIC)).unwrap(), []);
}

#[test]
fn a_number_that_cannot_be_is_refused() {
    let kernel = kernel();
    let many = Refusal::TooManyVirtualFunctions { address: at(NIC), most: 7, wanted: 8 };
    assert_eq!(set(&kernel, 8).unwrap_err(), many.into());
    let gpu = at("0000:0f:00.0");
    let none = Refusal::NoVirtualFunctions { address: gpu };
    assert_eq!(set_count(&kernel, &approved(), gpu, 1, Settle::NONE).unwrap_err(), none.into());
    let strange = set_count(&kernel, &Approved::default(), at(NIC), 1, Settle::NONE).unwrap_err();
    assert_eq!(strange, Refusal::NotApproved { address: at(NIC) }.into());
    assert!(kernel.log().is_empty());
}

#[test]
fn none_is_taken_from_a_guest() {
    let kernel = kernel();
    set(&kernel, 2).unwrap();
    vfio::bind(&kernel, &approved(), &[at(VF)], Settle::NONE).unwrap();
    kernel.log();
    let taken = Refusal::VirtualFunctionTaken { address: at(NIC), other: at(VF) };
    assert_eq!(set(&kernel, 0).unwrap_err(), taken.into());
    assert!(kernel.log().is_empty());
    assert_eq!(set(&kernel, 2).unwrap().len(), 2, "the number that is there changes nothing");
}

#[test]
fn another_number_than_asked_for_is_a_fault() {
    let short = Fault::WrongCount { address: at(NIC), expected: 2, found: 1 };
    assert_eq!(set(&kernel().with(Mischief::OneFewer), 2).unwrap_err(), short);
}

#[test]
fn what_can_be_read_of_one_is_told_and_only_of_an_approved_one() {
    let kernel = kernel();
    set(&kernel, 2).unwrap();
    let seen = look(&kernel, &approved(), at(VF)).unwrap();
    assert_eq!((seen.index, seen.physfn, seen.mac.as_deref()), (0, at(NIC), Some("02:00:00:00:00:00")));
    assert_eq!((seen.node_guid, seen.port_guid), (None, None));
    // With VFIO the host's own view of it is gone; what the maker's driver keeps is still there.
    kernel.change(VF, |vf| vf.texts.clear());
    kernel.change(NIC, |nic| {
        nic.texts.insert("sriov/0/node".to_owned(), "00:11:22:33:44:55:66:77".to_owned());
    });
    let seen = look(&kernel, &approved(), at(VF)).unwrap();
    assert_eq!((seen.mac, seen.node_guid.as_deref()), (None, Some("00:11:22:33:44:55:66:77")));
    let other = at("0000:03:10.1");
    assert_eq!(look(&kernel, &approved(), other), Err(Refusal::NotApproved { address: other }));
    assert_eq!(look(&kernel, &approved(), at(NIC)), Err(Refusal::NotVirtual { address: at(NIC) }));
}
