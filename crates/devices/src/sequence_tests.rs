//! The order of the steps, what is undone when one fails, and that nothing keeps the taking back from being tried in full.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::{
    fabric::{FabricOutcome, Partition, PartitionGpu},
    fault::Refusal,
    pci::VFIO,
    pretend::{Device, Kernel, Mischief, at},
};
use std::sync::{Arc, Mutex};

const ONE: &str = "0000:0f:00.0";
const TWO: &str = "0000:10:00.0";
const NIC: &str = "0000:03:00.0";
const VF: &str = "0000:03:10.0";

/// A fabric with one partition, and the faults that it is told to have.
struct Fabric {
    log: Arc<Mutex<Vec<String>>>,
    active: Mutex<bool>,
    activate_fault: Option<FabricFault>,
    deactivate_fault: Option<FabricFault>,
}

impl Fabric {
    fn change(&self, verb: &str, to: bool, fault: Option<&FabricFault>) -> Result<FabricEvidence, FabricFault> {
        self.log.lock().unwrap().push(format!("{verb} 5"));
        if let Some(fault) = fault {
            return Err(fault.clone());
        }
        *self.active.lock().unwrap() = to;
        let outcome = if to { FabricOutcome::Activated } else { FabricOutcome::Deactivated };
        let seen = self.list()?.pop();
        Ok(FabricEvidence { partition: 5, outcome, seen, short_of_links: vec![], note: String::new() })
    }
}

impl FabricPartitions for Fabric {
    fn list(&self) -> Result<Vec<Partition>, FabricFault> {
        let gpu = |module| PartitionGpu { module, nvlinks: 18, nvlinks_max: 18 };
        Ok(vec![Partition { id: 5, active: *self.active.lock().unwrap(), gpus: vec![gpu(5), gpu(7)] }])
    }
    fn activate(&self, _: u32, _: &[u8]) -> Result<FabricEvidence, FabricFault> {
        self.change("activate", true, self.activate_fault.as_ref())
    }
    fn deactivate(&self, _: u32) -> Result<FabricEvidence, FabricFault> {
        self.change("deactivate", false, self.deactivate_fault.as_ref())
    }
}

struct World {
    kernel: Kernel,
    fabric: Fabric,
    nvidia_smi: NvidiaSmi,
    approved: Approved,
    gpu_reset: ResetPolicy,
    vf_reset: ResetPolicy,
    claim: Claim,
}

impl World {
    fn new() -> Self {
        let mut nic = Device::new(0x8086, 0x10c9, 0x02_0000, "igb", 7);
        nic.total_vfs = Some(7);
        let gpu = |group| Device::h200("nvidia", group).on_vfio();
        let kernel = Kernel::new([(ONE, gpu(42)), (TWO, gpu(43)), (NIC, nic)]);
        let approved: Approved = [ONE, TWO, NIC, VF].into_iter().map(at).collect();
        crate::sriov::set_count(&kernel, &approved, at(NIC), 1, Settle::NONE).unwrap();
        kernel.log();
        let log = kernel.log.clone();
        let partition = Some(PartitionClaim { id: 5, modules: vec![5, 7] });
        Self {
            kernel,
            fabric: Fabric { log, active: Mutex::new(false), activate_fault: None, deactivate_fault: None },
            nvidia_smi: NvidiaSmi { program: "/nonexistent/nvidia-smi".into(), ms_max: 1000 },
            approved,
            gpu_reset: ResetPolicy { settle: Settle::NONE, ..ResetPolicy::gpu() },
            vf_reset: ResetPolicy { settle: Settle::NONE, ..ResetPolicy::virtual_function() },
            claim: Claim { gpus: vec![at(ONE), at(TWO)], virtual_functions: vec![at(VF)], partition },
        }
    }

    fn with(mut self, mischief: Mischief) -> Self {
        self.kernel = self.kernel.with(mischief);
        self
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            files: &self.kernel,
            fabric: &self.fabric,
            nvidia_smi: &self.nvidia_smi,
            approved: &self.approved,
            gpu_reset: &self.gpu_reset,
            vf_reset: &self.vf_reset,
            settle: Settle::NONE,
            tell: &|_| (),
        }
    }

    fn before(&self) -> Result<Vec<StepEvidence>, SequenceFault> {
        before_guest(self.ground(), &self.claim)
    }

    fn after(&self) -> Result<Vec<StepEvidence>, SequenceFault> {
        after_guest(self.ground(), &self.claim)
    }

    fn active(&self) -> bool {
        *self.fabric.active.lock().unwrap()
    }
}

// The one step that failed.
fn failed(fault: &SequenceFault) -> (Step, &StepFault) {
    match &fault.faults[..] {
        [StepFailed { step, fault }] => (*step, fault),
        other => panic!("expected one fault, found {other:?}"),
    }
}

// The steps in the order in which they happened, in one word each.
fn steps(log: &[String]) -> Vec<String> {
    let word = |line: &String| {
        let short = line.strip_prefix("bus/pci/devices/").unwrap_or(line);
        let kept = ["/reset = 1", "activate 5", "/unbind", "drivers_probe"].iter().any(|end| short.contains(end));
        kept.then(|| short.to_owned())
    };
    log.iter().filter_map(word).collect()
}

#[test]
fn devices_are_made_ready_in_order_with_evidence_for_each_step() {
    let world = World::new();
    let done = world.before().unwrap();
    let expected = [
        "0000:0f:00.0/reset = 1",
        "0000:10:00.0/reset = 1",
        "activate 5",
        "bus/pci/drivers/igbvf/unbind = 0000:03:10.0",
        "bus/pci/drivers_probe = 0000:03:10.0",
        "0000:03:10.0/reset = 1",
    ];
    assert_eq!(steps(&world.kernel.log()), expected);
    assert_eq!(done.len(), 2 + 2 + 1 + 3 + 1);
    assert!(world.active());
    // Twice is once: nothing moves to VFIO again, the rest is done again.
    world.before().unwrap();
    assert!(!steps(&world.kernel.log()).iter().any(|step| step.contains("drivers_probe")));
    let json = serde_json::to_string(&done).unwrap();
    assert_eq!(serde_json::from_str::<Vec<StepEvidence>>(&json).unwrap(), done);
}

#[test]
fn each_step_is_told_when_it_is_done_and_they_are_as_many_as_was_said() {
    let world = World::new();
    let told = Mutex::new(vec![]);
    let tell = |step: &StepEvidence| told.lock().unwrap().push(step.clone());
    let ground = Ground { tell: &tell, ..world.ground() };
    assert_eq!(before_guest(ground, &world.claim).unwrap(), *told.lock().unwrap());
    assert_eq!(told.lock().unwrap().len(), steps_before(&world.claim));
    told.lock().unwrap().clear();
    assert_eq!(after_guest(ground, &world.claim).unwrap(), *told.lock().unwrap());
    assert_eq!(told.lock().unwrap().len(), steps_after(&world.claim));
    let said: Vec<String> = told.lock().unwrap().iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("0000:0f:00.0 (10de:2335) was reset by flr"), "{said:?}");
    assert_eq!(said[2], "0000:03:10.0 (8086:10ca) was reset by flr and answers");
    assert_eq!(said[4], "0000:0f:00.0 is on vfio-pci in IOMMU group 42");
}

#[test]
fn a_fabric_that_cannot_be_told_apart_keeps_nothing_else_from_being_taken_back() {
    let world = World::new();
    world.before().unwrap();
    world.kernel.log();
    let why = FabricFault::NotListed { why: "it is not running".to_owned() };
    let unknown = crate::fabric::Unknown(why.clone());
    let ground = Ground { fabric: &unknown, ..world.ground() };
    let fault = after_guest(ground, &world.claim).unwrap_err();
    assert_eq!(failed(&fault), (Step::PartitionOff, &StepFault::Fabric(why)));
    assert_eq!(steps(&world.kernel.log()).len(), 3, "all three were reset");
}

#[test]
fn devices_are_taken_back_in_order_and_stay_with_vfio() {
    let world = World::new();
    world.before().unwrap();
    world.kernel.log();
    let done = world.after().unwrap();
    let expected = ["0000:0f:00.0/reset = 1", "0000:10:00.0/reset = 1", "0000:03:10.0/reset = 1", "deactivate 5"];
    assert_eq!(steps(&world.kernel.log()), expected);
    assert!(!world.active());
    let bound = done.iter().filter(|step| matches!(step, StepEvidence::Bound { .. })).count();
    assert_eq!(bound, 3);
    assert_eq!(world.kernel.device(ONE).driver.as_deref(), Some(VFIO));
    world.after().unwrap();
}

#[test]
fn a_failure_before_the_partition_touches_no_partition() {
    for method in ["flr", "bus"] {
        let mut world = World::new().with(Mischief::FailsBy(at(TWO), method));
        world.gpu_reset.methods = vec![if method == "flr" { reset::ResetMethod::Flr } else { reset::ResetMethod::Bus }];
        let fault = world.before().unwrap_err();
        assert_eq!(fault.undone, Undone::NothingToUndo);
        assert!(
            matches!(failed(&fault), (Step::GpuReset, StepFault::Device(Fault::NotReset { address, .. })) if *address == at(TWO))
        );
        assert!(!world.kernel.log().iter().any(|line| line.contains("activate")));
        assert_eq!(fault.done.len(), 3, "what was done is told");
    }
}

#[test]
fn a_failure_after_the_partition_switches_it_off_again() {
    let world = World::new().with(Mischief::NobodyProbes(at(VF)));
    let fault = world.before().unwrap_err();
    assert!(matches!(&fault.undone, Undone::Deactivated { .. }), "{fault}");
    assert!(fault.to_string().ends_with("partition 5 is off again"), "{fault}");
    assert!(!world.active());
    // And it is said when that fails too.
    let mut world = World::new().with(Mischief::NobodyProbes(at(VF)));
    world.fabric.deactivate_fault = Some(FabricFault::Program { why: "fmpm did not end within 60 s".to_owned() });
    let fault = world.before().unwrap_err();
    assert!(matches!(fault.undone, Undone::NotDeactivated { .. }));
    assert!(fault.to_string().contains("may still be on"), "{fault}");
    let json = serde_json::to_string(&fault).unwrap();
    assert_eq!(serde_json::from_str::<SequenceFault>(&json).unwrap(), fault);
}

#[test]
fn a_partition_that_may_be_on_is_switched_off_and_one_of_others_is_left_alone() {
    let mut world = World::new();
    world.fabric.activate_fault = Some(FabricFault::Program { why: "fmpm did not end within 60 s".to_owned() });
    let fault = world.before().unwrap_err();
    assert!(matches!(fault.undone, Undone::Deactivated { .. }));
    let mut world = World::new();
    let shared = BTreeSet::from([5]);
    world.fabric.activate_fault = Some(FabricFault::Overlap { id: 5, other: 2, shared });
    let fault = world.before().unwrap_err();
    assert_eq!(fault.undone, Undone::NothingToUndo);
    assert!(!world.kernel.log().iter().any(|line| line.starts_with("deactivate")));
}

#[test]
fn taking_back_tries_everything_and_one_failure_is_enough() {
    let world = World::new();
    world.before().unwrap();
    let world = world.with(Mischief::FailsBy(at(ONE), "flr")).with(Mischief::FailsBy(at(ONE), "bus"));
    world.kernel.log();
    let fault = world.after().unwrap_err();
    assert_eq!(fault.faults.len(), 1);
    assert!(!world.active(), "the partition is off all the same");
    assert!(steps(&world.kernel.log()).contains(&"0000:03:10.0/reset = 1".to_owned()));
    world.kernel.behaves();
    world.after().unwrap();
}

#[test]
fn a_device_that_vanished_or_left_vfio_fails_the_taking_back() {
    let world = World::new();
    world.before().unwrap();
    world.kernel.change(TWO, |gpu| gpu.driver = Some("nvidia".to_owned()));
    let fault = world.after().unwrap_err();
    assert!(fault.to_string().contains("0000:10:00.0 must be on vfio-pci, but it is on nvidia"), "{fault}");
    let mut world = World::new();
    world.before().unwrap();
    world.claim.gpus[1] = at("0000:99:00.0");
    world.approved = [ONE, "0000:99:00.0", VF].into_iter().map(at).collect();
    let fault = world.after().unwrap_err();
    assert!(fault.to_string().contains("expected at 0000:99:00.0, but there is none"), "{fault}");
    assert!(!world.active());
}

#[test]
fn a_partition_that_does_not_go_off_fails_the_taking_back() {
    let mut world = World::new();
    world.before().unwrap();
    world.fabric.deactivate_fault = Some(FabricFault::NotChanged { id: 5, wanted: false });
    let fault = world.after().unwrap_err();
    assert!(matches!(fault.undone, Undone::NotDeactivated { .. }));
    assert!(matches!(failed(&fault), (Step::PartitionOff, StepFault::Fabric(_))));
}

#[test]
fn nothing_is_touched_while_a_guest_holds_one_of_the_devices() {
    let world = World::new();
    world.before().unwrap();
    world.kernel.log();
    world.kernel.hold(43);
    let held = StepFault::Device(Refusal::Held { address: at(TWO), group: 43 }.into());
    assert_eq!(failed(&world.before().unwrap_err()), (Step::Check, &held));
    assert_eq!(failed(&world.after().unwrap_err()), (Step::Check, &held));
    assert!(world.kernel.log().is_empty());
    assert!(world.active());
}

#[test]
fn a_claim_must_fit_together_and_be_approved() {
    let mut world = World::new();
    world.claim.partition = None;
    let uneven = StepFault::Claim(ClaimFault::Uneven { gpus: 2, modules: 0 });
    assert_eq!(failed(&world.before().unwrap_err()), (Step::Check, &uneven));
    world.claim.partition = Some(PartitionClaim { id: 5, modules: vec![5, 5] });
    assert!(world.before().is_err());
    world.claim = Claim { gpus: vec![], virtual_functions: vec![at(VF), at(VF)], partition: None };
    let twice = StepFault::Claim(ClaimFault::Twice { address: at(VF) });
    assert_eq!(failed(&world.before().unwrap_err()), (Step::Check, &twice));
    world.claim.virtual_functions.pop();
    world.approved = Approved::default();
    let strange = StepFault::Device(Refusal::NotApproved { address: at(VF) }.into());
    assert_eq!(failed(&world.before().unwrap_err()), (Step::Check, &strange));
    assert!(world.kernel.log().is_empty());
}

#[test]
fn a_guest_without_gpus_needs_no_fabric() {
    let mut world = World::new();
    world.claim = Claim { gpus: vec![], virtual_functions: vec![at(VF)], partition: None };
    world.before().unwrap();
    world.after().unwrap();
    assert!(!world.kernel.log().iter().any(|line| line.contains("activate")));
    world.claim = Claim::default();
    assert_eq!(world.before().unwrap(), []);
}

#[test]
fn a_gpu_on_the_drivers_hands_is_let_go_first() {
    let world = World::new();
    world.kernel.change(ONE, |gpu| {
        gpu.driver = Some("nvidia".to_owned());
        gpu.only = None;
    });
    // The tool is not there: a GPU that cannot be let go of is not reset under its driver.
    let fault = world.before().unwrap_err();
    assert!(matches!(failed(&fault), (Step::Persistence, StepFault::Device(Fault::Program { .. }))), "{fault}");
    assert!(world.kernel.log().is_empty());
}
