//! Partitions: what may be switched, what the list must say, and a host that has no fabric. The tool itself is tested with a
//! program that stands in for it, in `tests/fmpm.rs`.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::pretend::{Device, Kernel};
use proptest::prelude::*;

// The sets of an eight-GPU board, by partition.
const SETS: [&[u8]; 15] = [
    &[1, 2, 3, 4, 5, 6, 7, 8],
    &[1, 2, 3, 4],
    &[5, 6, 7, 8],
    &[1, 3],
    &[2, 4],
    &[5, 7],
    &[6, 8],
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[6],
    &[7],
    &[8],
];

fn board(active: &[u32]) -> Vec<Partition> {
    let gpu = |module: &u8, links: u32| PartitionGpu { module: *module, nvlinks: links, nvlinks_max: links };
    let partition = |(id, set): (u32, &&[u8])| {
        let links = if set.len() > 1 { 18 } else { 0 };
        Partition { id, active: active.contains(&id), gpus: set.iter().map(|module| gpu(module, links)).collect() }
    };
    (0..).zip(&SETS).map(partition).collect()
}

fn set(modules: &[u8]) -> BTreeSet<u8> {
    modules.iter().copied().collect()
}

#[test]
fn a_partition_goes_on_when_its_gpus_are_the_claims_and_free() {
    assert_eq!(plan_activate(&board(&[]), 3, &set(&[3, 1])), Ok(Wanted::Change));
    assert_eq!(plan_activate(&board(&[3]), 3, &set(&[1, 3])), Ok(Wanted::Nothing));
    assert_eq!(plan_activate(&board(&[4, 2]), 3, &set(&[1, 3])), Ok(Wanted::Change), "neighbours that share nothing");
    let other = FabricFault::OtherGpus { id: 3, expected: set(&[1, 2]), found: set(&[1, 3]) };
    assert_eq!(plan_activate(&board(&[]), 3, &set(&[1, 2])), Err(other));
    let overlap = FabricFault::Overlap { id: 3, other: 1, shared: set(&[1, 3]) };
    assert_eq!(plan_activate(&board(&[1]), 3, &set(&[1, 3])), Err(overlap));
    assert_eq!(plan_activate(&board(&[]), 15, &set(&[1])), Err(FabricFault::NoSuchPartition { id: 15 }));
    assert_eq!(plan_deactivate(&board(&[3]), 3), Ok(Wanted::Change));
    assert_eq!(plan_deactivate(&board(&[]), 3), Ok(Wanted::Nothing));
    assert_eq!(plan_deactivate(&board(&[]), 99), Err(FabricFault::NoSuchPartition { id: 99 }));
}

proptest! {
    // Whatever is asked for in whatever order: no GPU is ever in two partitions that are on.
    #[test]
    fn no_gpu_is_ever_in_two_guests(asked in prop::collection::vec((0u32..16, any::<bool>()), 0..40)) {
        let mut list = board(&[]);
        for (id, up) in asked {
            let modules = list.iter().find(|one| one.id == id).map(Partition::modules).unwrap_or_default();
            let plan = if up { plan_activate(&list, id, &modules) } else { plan_deactivate(&list, id) };
            if plan == Ok(Wanted::Change) {
                list.iter_mut().find(|one| one.id == id).unwrap().active = up;
            }
            let on: Vec<u8> = list.iter().filter(|one| one.active).flat_map(Partition::modules).collect();
            prop_assert_eq!(set(&on).len(), on.len());
        }
    }

    #[test]
    fn no_text_makes_the_reading_of_a_list_fail_in_another_way(text in ".{0,200}") {
        prop_assert!(parse(&text).is_err());
    }
}

fn listed(partitions: &str, count: usize) -> String {
    format!(
        r#"{{"maxNumPartitions": 15, "numPartitions": {count}, "partitionInfo": [{partitions}], "version": 16909068}}"#
    )
}

fn one(id: u32, active: u32, count: usize, modules: &[&str]) -> String {
    let gpu = |module: &&str| {
        format!(
            r#"{{"maxNumNvLinks": 18, "numNvLinksAvailable": 17, "nvlinkLineRateMBps": 26562,
                 "pciBusId": "00000000:00:00.0", "physicalId": {module}, "uuid": ""}}"#
        )
    };
    let gpus: Vec<String> = modules.iter().map(gpu).collect();
    let gpus = gpus.join(",");
    format!(r#"{{"gpuInfo": [{gpus}], "isActive": {active}, "numGpus": {count}, "partitionId": {id}}}"#)
}

#[test]
fn a_list_that_makes_no_sense_is_refused_as_a_whole() {
    let good = parse(&listed(&one(3, 1, 2, &["1", "3"]), 1)).unwrap();
    assert_eq!((good[0].id, good[0].active, good[0].modules()), (3, true, set(&[1, 3])));
    assert_eq!((good[0].gpus[0].nvlinks, good[0].gpus[0].nvlinks_max), (17, 18));
    let two = |left: &str, right: &str| listed(&format!("{left},{right}"), 2);
    let huge: Vec<String> = (0..257).map(|id| one(id, 0, 1, &["1"])).collect();
    for (text, why) in [
        (listed(&one(3, 1, 2, &["1", "3"]), 2), "says 2 partitions and has 1"),
        (listed(&one(3, 2, 2, &["1", "3"]), 1), "neither on nor off but 2"),
        (listed(&one(3, 0, 3, &["1", "3"]), 1), "says 3 GPUs and has [1, 3]"),
        (listed(&one(3, 0, 2, &["1", "1"]), 1), "says 2 GPUs and has [1, 1]"),
        (listed(&one(3, 0, 0, &[]), 1), "says 0 GPUs"),
        (listed(&one(3, 0, 1, &["-1"]), 1), "no such list"),
        (listed(&one(3, 0, 1, &["300"]), 1), "no such list"),
        (two(&one(3, 0, 1, &["1"]), &one(3, 0, 1, &["2"])), "partition 3 is in it twice"),
        (two(&one(3, 1, 1, &["1"]), &one(4, 1, 2, &["1", "2"])), "GPU 1 is in two partitions that are active"),
        (listed(&huge.join(","), 257), "says 257 partitions"),
        (r#"{"numPartitions": 0}"#.to_owned(), "no such list"),
        (String::new(), "no such list"),
    ] {
        let found = parse(&text).unwrap_err().to_string();
        assert!(found.contains(why), "{found} for {why}");
    }
}

#[test]
fn evidence_says_which_gpus_are_short_of_links() {
    let mut list = board(&[3]);
    list[3].gpus[1].nvlinks = 16;
    let evidence = proved(&list, 3, Some(&set(&[1, 3])), FabricOutcome::Activated).unwrap();
    assert_eq!((evidence.short_of_links, evidence.outcome), (vec![3], FabricOutcome::Activated));
    let off = proved(&board(&[]), 3, Some(&set(&[1, 3])), FabricOutcome::Activated).unwrap_err();
    assert_eq!(off.to_string(), "partition 3 must be active, but the Fabric Manager lists it as inactive");
}

#[test]
fn a_host_without_fabric_has_single_gpus_only() {
    let kernel = Kernel::new([("0000:0f:00.0", Device::h200("nvidia", 42))]);
    let fabric = NoFabric::check(&kernel).unwrap();
    assert_eq!(fabric.list(), Ok(vec![]));
    let evidence = fabric.activate(7, &[1]).unwrap();
    assert_eq!((evidence.outcome, evidence.note.as_str()), (FabricOutcome::NoFabric, "no fabric on this host"));
    assert_eq!(fabric.activate(3, &[1, 3]), Err(FabricFault::NoFabric { modules: set(&[1, 3]) }));
    assert_eq!(fabric.activate(3, &[]), Err(FabricFault::NoFabric { modules: set(&[]) }));
    fabric.deactivate(7).unwrap();
}

#[test]
fn a_host_with_a_switch_is_not_one_without_fabric() {
    let switch = Device::new(0x10de, 0x22a3, 0x06_8000, "nvidia-nvswitch", 114);
    let fault = NoFabric::check(&Kernel::new([("0000:05:00.0", switch)])).unwrap_err();
    assert!(fault.to_string().contains("0000:05:00.0 is one"), "{fault}");
    let nowhere = crate::sysfs::HostFiles { sys: "/nonexistent".into(), ..Default::default() };
    assert!(matches!(NoFabric::check(&nowhere), Err(FabricFault::NotWithoutFabric { .. })));
}

#[test]
fn a_partition_is_found_by_its_gpus_and_by_nothing_less() {
    assert_eq!(with_modules(&board(&[]), &set(&[7, 5])).unwrap().id, 5);
    assert_eq!(with_modules(&board(&[]), &set(&[4])).unwrap().id, 10);
    for modules in [&[][..], &[1, 2], &[1, 3, 5], &[9]] {
        let modules = set(modules);
        let fault = FabricFault::NoPartitionOf { modules: modules.clone() };
        assert_eq!(with_modules(&board(&[]), &modules), Err(fault));
    }
}
