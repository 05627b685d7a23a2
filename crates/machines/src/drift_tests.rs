//! Each disagreement by itself, with what mends it.

use super::*;
use crate::machine::PowerState;
use proptest::prelude::*;

fn machine(id: &str) -> Machine {
    Machine {
        id: id.parse().unwrap(),
        hostname: format!("host-{id}"),
        serial: Some(format!("S-{id}")),
        status: MachineStatus::Ready,
        message: String::new(),
        power: PowerState::Off,
        tags: [NodeProfile::Baremetal.as_str().to_owned(), "rack-7".to_owned()].into(),
        pool: None,
        zone: None,
        owner: None,
        mark: None,
        locked: false,
        gpus: None,
    }
}

fn known(id: &str) -> KnownMachine {
    KnownMachine {
        id: id.parse().unwrap(),
        node: format!("node-{id}"),
        serial: Some(format!("S-{id}")),
        profile: NodeProfile::Baremetal,
        hold: Hold::Nobody,
        gpus: None,
    }
}

fn held(mark: &str) -> Hold {
    Hold::Order(mark.parse().unwrap())
}

/// The only disagreement, with its mend.
fn only(machine: Machine, known: KnownMachine) -> (Drift, Mend) {
    let found = drift(&[machine], &[known]);
    assert_eq!(found.len(), 1, "{found:?}");
    (found[0].clone(), found[0].mend())
}

#[test]
fn two_equal_lists_agree() {
    assert_eq!(drift(&[machine("a"), machine("b")], &[known("b"), known("a")]), []);
    let deployed = Machine { status: MachineStatus::Deployed, mark: Some("o1".to_owned()), ..machine("a") };
    assert_eq!(drift(std::slice::from_ref(&deployed), &[KnownMachine { hold: held("o1"), ..known("a") }]), []);
    assert_eq!(drift(&[deployed], &[KnownMachine { hold: Hold::Platform, ..known("a") }]), []);
}

#[test]
fn a_machine_that_the_platform_does_not_know_is_enrolled_if_it_is_meant_for_it() {
    let found = drift(&[machine("a")], &[]);
    assert_eq!(found[0].mend(), Mend::Enroll);
    assert_eq!(found[0].to_string(), "machine a (host-a) was expected to be a node, but the platform does not know it");
    let untagged = Machine { tags: ["rack-7".to_owned()].into(), ..machine("a") };
    assert_eq!(drift(&[untagged], &[])[0].mend(), Mend::TagOrLeave);
}

#[test]
fn a_node_that_the_provider_does_not_know_is_found() {
    let found = drift(&[], &[known("a")]);
    assert_eq!(found[0].to_string(), "node node-a was expected to be machine a, but the provider does not know it");
    assert_eq!(found[0].mend(), Mend::FindOrRemove);
}

#[test]
fn two_nodes_are_not_one_machine() {
    let found = drift(&[machine("a")], &[known("a"), KnownMachine { node: "node-x".to_owned(), ..known("a") }]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "machine a was expected to be one node, but node-a and node-x say they are it");
    assert_eq!(found[0].mend(), Mend::Quarantine);
}

#[test]
fn another_serial_number_is_another_machine() {
    let (found, mend) = only(Machine { serial: Some("S-z".to_owned()), ..machine("a") }, known("a"));
    assert_eq!(found.to_string(), "machine a was expected to have serial S-a, but the provider says S-z");
    assert_eq!(mend, Mend::Quarantine);
    let (found, mend) = only(Machine { serial: None, ..machine("a") }, known("a"));
    assert_eq!(found.to_string(), "machine a was expected to have serial S-a, but the provider knows none");
    assert_eq!(mend, Mend::Recommission);
}

#[test]
fn a_tag_for_the_other_profile_is_found_both_ways_round() {
    let tag = |profile: NodeProfile| TagName::from(profile);
    let (slice, metal) = (NodeProfile::SliceVm, NodeProfile::Baremetal);
    for (tagged, sold) in [(slice, metal), (metal, slice)] {
        let machine = Machine { tags: [tagged.as_str().to_owned()].into(), ..machine("a") };
        let (found, mend) = only(machine, KnownMachine { profile: sold, ..known("a") });
        assert_eq!(found.to_string(), format!("machine a was expected to be tagged {sold}, but it is tagged {tagged}"));
        assert_eq!(mend, Mend::Retag { add: Some(tag(sold)), remove: vec![tag(tagged)] });
    }
    let both = Machine { tags: [slice.as_str().to_owned(), metal.as_str().to_owned()].into(), ..machine("a") };
    assert_eq!(only(both, known("a")).1, Mend::Retag { add: None, remove: vec![tag(slice)] });
    let none = Machine { tags: BTreeSet::new(), ..machine("a") };
    assert_eq!(only(none, known("a")).1, Mend::Retag { add: Some(tag(metal)), remove: Vec::new() });
}

#[test]
fn deployed_for_nobody_is_given_back_only_if_the_platform_deployed_it() {
    for status in [MachineStatus::Allocated, MachineStatus::Deploying, MachineStatus::Deployed] {
        let ours = Machine { status: status.clone(), mark: Some("old".to_owned()), ..machine("a") };
        let (found, mend) = only(ours, known("a"));
        assert_eq!(
            found.to_string(),
            format!("machine a was expected to be free, but it is {status} with the mark old")
        );
        assert_eq!(mend, Mend::Release);
        assert_eq!(only(Machine { status, ..machine("a") }, known("a")).1, Mend::Quarantine);
    }
}

#[test]
fn held_but_not_deployed_is_found() {
    for hold in [held("o1"), Hold::Platform] {
        let (found, mend) = only(machine("a"), KnownMachine { hold, ..known("a") });
        assert!(matches!(found, Drift::NotDeployed { .. }), "{found}");
        assert_eq!(mend, Mend::RedeployOrEnd);
    }
    let other = Machine { status: MachineStatus::Deployed, mark: Some("o2".to_owned()), ..machine("a") };
    let (found, mend) = only(other, KnownMachine { hold: held("o1"), ..known("a") });
    assert_eq!(found.to_string(), "machine a was expected to be Deployed for o1, but it carries o2");
    assert_eq!(mend, Mend::Quarantine);
}

#[test]
fn an_order_on_its_way_is_no_disagreement() {
    for status in [MachineStatus::Allocated, MachineStatus::Deploying] {
        let machine = Machine { status, mark: Some("o1".to_owned()), ..machine("a") };
        assert_eq!(drift(&[machine], &[KnownMachine { hold: held("o1"), ..known("a") }]), []);
    }
}

#[test]
fn a_failed_machine_is_found_and_so_is_a_state_nobody_knows() {
    for status in [
        MachineStatus::Broken,
        MachineStatus::FailedReleasing,
        MachineStatus::FailedDiskErasing,
        MachineStatus::FailedTesting,
        MachineStatus::Missing,
        MachineStatus::Other("Melted".to_owned()),
    ] {
        let failed = Machine { status: status.clone(), message: "fan 3".to_owned(), ..machine("a") };
        let (found, mend) = only(failed, known("a"));
        assert_eq!(found.to_string(), format!("machine a was expected to work, but it is {status}: fan 3"));
        assert_eq!(mend, Mend::Repair);
    }
}

#[test]
fn gpus_are_compared_only_where_both_count_them() {
    let (found, mend) = only(Machine { gpus: Some(7), ..machine("a") }, KnownMachine { gpus: Some(8), ..known("a") });
    assert_eq!(found.to_string(), "machine a was expected to have 8 GPUs, but the provider counts 7");
    assert_eq!(mend, Mend::Recommission);
    assert_eq!(drift(&[machine("a")], &[KnownMachine { gpus: Some(8), ..known("a") }]), []);
}

proptest! {
    #[test]
    fn the_order_of_the_lists_does_not_matter_and_nothing_is_overlooked(
        provider in proptest::collection::btree_set(0_u8..12, 0..10),
        platform in proptest::collection::btree_set(0_u8..12, 0..10),
    ) {
        let name = |n: &u8| format!("m{n}");
        let machines: Vec<Machine> = provider.iter().map(|n| machine(&name(n))).collect();
        let nodes: Vec<KnownMachine> = platform.iter().map(|n| known(&name(n))).collect();
        let found = drift(&machines, &nodes);
        let reversed = drift(
            &machines.iter().rev().cloned().collect::<Vec<_>>(),
            &nodes.iter().rev().cloned().collect::<Vec<_>>(),
        );
        prop_assert_eq!(&found, &reversed);
        let about: BTreeSet<String> = found.iter().map(|drift| drift.id().to_string()).collect();
        let differ: BTreeSet<String> = provider.symmetric_difference(&platform).map(name).collect();
        prop_assert_eq!(about, differ);
    }
}
