//! The devices of a real host: the sequences of the room that knows PCI and NVSwitches, with what this host's settings say.
//!
//! Only what an order names is touched, and only if what sits there is a device of the settings: a root process that resets
//! whatever it is told would be a way into the host. The partition of a guest is found by its GPUs each time, because the
//! numbers of partitions are the Fabric Manager's and may be others after it was started anew.
//!
//! Guests are made ready and taken back beside each other. Two things keep them apart: the fabric is changed by one at a time,
//! and a partition that belongs to nobody is switched off only while no guest is being made ready at all.

use super::{DeviceClaim, DeviceIds, DeviceSettings, Devices, DevicesFault, PartitionSeen, Tell, WrongDriver};
use ::devices::{
    Approved, Claim, FabricEvidence, FabricFault, FabricPartitions, Ground, HostFiles, NoFabric, Partition,
    PartitionClaim, PciAddress as Address, Refusal, ResetEvidence, ResetPolicy, Settle, StepEvidence, SysFs, fabric,
    pci, reset,
    sequence::{steps_after, steps_before},
    sriov, vfio,
};
use guest::identity::PciAddress;
use serde_json::json;
use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError, RwLock},
};

/// The devices of this host.
pub struct HostDevices {
    files: Box<dyn SysFs>,
    settings: DeviceSettings,
    settle: Settle,
    fabric_turn: Mutex<()>,
    // Read by whoever makes a guest ready or takes one back, written by whoever looks for what is nobody's.
    nobodys: RwLock<()>,
}

impl fmt::Debug for HostDevices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostDevices").field("settings", &self.settings).finish_non_exhaustive()
    }
}

fn fault(why: impl ToString) -> DevicesFault {
    DevicesFault(why.to_string())
}

fn address(of: PciAddress) -> Result<Address, DevicesFault> {
    of.to_string().parse().map_err(fault)
}

// The fabric, changed by one at a time.
struct Turn<'a> {
    of: Box<dyn FabricPartitions>,
    turn: &'a Mutex<()>,
}

impl FabricPartitions for Turn<'_> {
    fn list(&self) -> Result<Vec<Partition>, FabricFault> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.of.list()
    }

    fn activate(&self, id: u32, expected_modules: &[u8]) -> Result<FabricEvidence, FabricFault> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.of.activate(id, expected_modules)
    }

    fn deactivate(&self, id: u32) -> Result<FabricEvidence, FabricFault> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.of.deactivate(id)
    }
}

impl HostDevices {
    /// With these settings, on this kernel.
    pub fn new(settings: DeviceSettings) -> Self {
        Self::with_files(settings, Box::new(HostFiles::default()), Settle::default())
    }

    /// With these settings, on a kernel that has these files.
    pub fn with_files(settings: DeviceSettings, files: Box<dyn SysFs>, settle: Settle) -> Self {
        Self { files, settings, settle, fabric_turn: Mutex::new(()), nobodys: RwLock::new(()) }
    }

    // Whether the host has a fabric is looked at each time: a host that was said to have none must not have got one.
    fn fabric(&self) -> Result<Turn<'_>, FabricFault> {
        let of: Box<dyn FabricPartitions> = match self.settings.tool() {
            Some(tool) => Box::new(tool),
            None => Box::new(NoFabric::check(&*self.files)?),
        };
        Ok(Turn { of, turn: &self.fabric_turn })
    }

    // An order's devices, if each of them may be given to guests. One that is not there is left to the step that needs it.
    fn devices(&self, claim: &DeviceClaim) -> Result<(Claim, Approved), DevicesFault> {
        let (gpus, functions) = (addresses(&claim.gpus)?, addresses(&claim.fabric)?);
        for (all, ids) in [(&gpus, &self.settings.gpu_ids()), (&functions, self.settings.fabric_ids())] {
            for address in all {
                self.fit(*address, ids)?;
            }
        }
        let approved = gpus.iter().chain(&functions).copied().collect();
        Ok((Claim { gpus, virtual_functions: functions, partition: None }, approved))
    }

    fn fit(&self, address: Address, ids: &BTreeSet<pci::DeviceId>) -> Result<(), DevicesFault> {
        let Ok(seen) = pci::look(&*self.files, address) else { return Ok(()) };
        if ids.contains(&seen.id()) {
            return Ok(());
        }
        let known: Vec<String> = ids.iter().map(ToString::to_string).collect();
        Err(fault(format!("{address} must be one of {}, but it is {}", known.join(" "), seen.id())))
    }

    // The partition of a claim, by what the host lists now.
    fn partition(&self, fabric: &Turn<'_>, claim: &DeviceClaim) -> Result<Option<PartitionClaim>, FabricFault> {
        if claim.gpus.is_empty() && claim.partition.is_empty() {
            return Ok(None);
        }
        // A number that is too large for a board is left out, and then it is one GPU too few.
        let modules: Vec<u8> = claim.partition.iter().filter_map(|module| u8::try_from(*module).ok()).collect();
        if self.settings.tool().is_none() {
            // A GPU that nothing joins needs no number; several are refused there.
            let modules = if claim.gpus.len() == 1 { vec![0] } else { modules };
            return Ok(Some(PartitionClaim { id: 0, modules }));
        }
        let list = fabric.list().map_err(|fault| FabricFault::NotListed { why: fault.to_string() })?;
        let id = fabric::with_modules(&list, &modules.iter().copied().collect())?.id;
        Ok(Some(PartitionClaim { id, modules }))
    }

    fn ground<'a>(&'a self, tools: &'a Tools, approved: &'a Approved, fabric: &'a dyn FabricPartitions) -> Ground<'a> {
        Ground {
            files: &*self.files,
            fabric,
            nvidia_smi: &tools.smi,
            approved,
            gpu_reset: &tools.gpu_reset,
            vf_reset: &tools.vf_reset,
            settle: self.settle,
            tell: &|_| (),
        }
    }

    fn tools(&self) -> Tools {
        Tools {
            smi: self.settings.smi(),
            gpu_reset: ResetPolicy { settle: self.settle, ..self.settings.gpu_reset() },
            vf_reset: ResetPolicy { settle: self.settle, ..ResetPolicy::virtual_function() },
        }
    }

    // That no partition joins a GPU to others, in words.
    fn alone(&self, module: Option<u32>) -> Result<String, DevicesFault> {
        let Some(listed) = self.partitions()? else { return Ok("no fabric on this host".to_owned()) };
        let module = module.ok_or_else(|| fault("the GPU's number on the board must be known, but is not"))?;
        if !listed.iter().any(|partition| partition.modules.contains(&module)) {
            return Err(fault(format!("GPU {module} must be in the fabric's list, but it is in no partition")));
        }
        match listed.iter().find(|partition| partition.active && partition.modules.contains(&module)) {
            Some(partition) => {
                let id = partition.id;
                Err(fault(format!("no partition with GPU {module} may be active, but partition {id} is")))
            }
            None => Ok(format!("no active partition has GPU {module}")),
        }
    }
}

struct Tools {
    smi: ::devices::NvidiaSmi,
    gpu_reset: ResetPolicy,
    vf_reset: ResetPolicy,
}

fn addresses(of: &[PciAddress]) -> Result<Vec<Address>, DevicesFault> {
    of.iter().map(|one| address(*one)).collect()
}

fn said(steps: &[StepEvidence]) -> Vec<String> {
    steps.iter().map(ToString::to_string).collect()
}

// Counts steps and tells how much of all is done.
fn counted<'a>(all: usize, tell: Tell<'a>) -> impl Fn(&StepEvidence) + 'a {
    let done = std::cell::Cell::new(0_usize);
    move |step| {
        tracing::info!(%step, "devices");
        done.set(done.get() + 1);
        tell(u8::try_from((100 * done.get() / all.max(1)).min(100)).unwrap_or(100));
    }
}

// One line of JSON that says what was done and what was seen.
fn evidence(of: &ResetEvidence, partition: Option<&str>) -> String {
    let after = &of.after;
    let tried: Vec<String> = of.tried.iter().map(|tried| tried.to_string().chars().take(200).collect()).collect();
    let mut all = json!({
        "device": of.address.to_string(),
        "ids": after.id().to_string(),
        "serial": after.device_serial,
        "reset": of.method.to_string(),
        "tried": tried,
        "driver": after.driver,
        "answers": after.config_readable,
    });
    if let Some(partition) = partition {
        all["partition"] = json!(partition);
    }
    if !after.is_vf {
        all["memory"] = json!(of.memory.to_string());
    }
    if let Some(driver) = &of.had_by {
        all["host_driver_had_it"] = json!(driver);
    }
    all.to_string()
}

impl Devices for HostDevices {
    fn ids(&self) -> DeviceIds {
        let texts = |ids: &BTreeSet<pci::DeviceId>| ids.iter().map(ToString::to_string).collect();
        DeviceIds { gpus: texts(&self.settings.gpu_ids()), fabric: texts(self.settings.fabric_ids()) }
    }

    // Every card is tried: one that fails is no reason for others to be left without theirs.
    fn prepare(&self) -> Result<(), DevicesFault> {
        let mut faults = vec![];
        for (card, count) in self.settings.virtual_functions() {
            let made = sriov::set_count(&*self.files, &Approved::from_iter([*card]), *card, *count, self.settle);
            faults.extend(made.err().map(|fault| fault.to_string()));
        }
        if faults.is_empty() { Ok(()) } else { Err(fault(faults.join("; "))) }
    }

    fn before_guest(&self, claim: &DeviceClaim, tell: Tell<'_>) -> Result<Vec<String>, DevicesFault> {
        let _busy = self.nobodys.read().unwrap_or_else(PoisonError::into_inner);
        let (mut devices, approved) = self.devices(claim)?;
        let fabric = self.fabric().map_err(|why| fault(format!("partition_on: {why}")))?;
        devices.partition = self.partition(&fabric, claim).map_err(|why| fault(format!("partition_on: {why}")))?;
        let tools = self.tools();
        let tell = counted(steps_before(&devices), tell);
        let ground = Ground { tell: &tell, ..self.ground(&tools, &approved, &fabric) };
        ::devices::before_guest(ground, &devices).map(|done| said(&done)).map_err(fault)
    }

    // Whatever the fabric says, the devices are reset: a partition that cannot be found is one more fault at the end.
    fn after_guest(&self, claim: &DeviceClaim, tell: Tell<'_>) -> Result<Vec<String>, DevicesFault> {
        let _busy = self.nobodys.read().unwrap_or_else(PoisonError::into_inner);
        let (mut devices, approved) = self.devices(claim)?;
        let found = self.fabric().and_then(|fabric| Ok((self.partition(&fabric, claim)?, fabric)));
        let fabric: Box<dyn FabricPartitions + '_> = match found {
            Ok((partition, fabric)) => {
                devices.partition = partition;
                Box::new(fabric)
            }
            Err(why) => {
                let modules = (0..).take(devices.gpus.len()).collect();
                devices.partition = Some(PartitionClaim { id: 0, modules });
                Box::new(fabric::Unknown(why))
            }
        };
        let tools = self.tools();
        let tell = counted(steps_after(&devices), tell);
        let ground = Ground { tell: &tell, ..self.ground(&tools, &approved, &*fabric) };
        ::devices::after_guest(ground, &devices).map(|done| said(&done)).map_err(fault)
    }

    fn reset_gpu(&self, gpu: PciAddress, module: Option<u32>) -> Result<String, DevicesFault> {
        let gpu = address(gpu)?;
        self.fit(gpu, &self.settings.gpu_ids())?;
        // First: a GPU that is still joined to others may be written to by them after its reset.
        let alone = self.alone(module)?;
        let reset = reset::reset_gpu(&*self.files, &Approved::from_iter([gpu]), gpu, &self.tools().gpu_reset);
        Ok(evidence(&reset.map_err(fault)?, Some(&alone)))
    }

    fn reset_fabric(&self, function: PciAddress) -> Result<String, DevicesFault> {
        let function = address(function)?;
        self.fit(function, self.settings.fabric_ids())?;
        let approved = Approved::from_iter([function]);
        let reset = reset::reset_vf(&*self.files, &approved, function, &self.tools().vf_reset);
        Ok(evidence(&reset.map_err(fault)?, None))
    }

    fn wrong_drivers(&self, addresses: &[PciAddress]) -> Result<Vec<WrongDriver>, DevicesFault> {
        let mut wrong = vec![];
        let ids = self.settings.gpu_ids().union(self.settings.fabric_ids()).copied().collect();
        for one in addresses {
            let at = address(*one)?;
            let (driver, unfit) = match pci::look(&*self.files, at) {
                Err(refusal @ Refusal::Missing { .. }) => (None, Some(refusal.to_string())),
                Err(refusal) => return Err(fault(refusal)),
                Ok(seen) if !seen.config_readable => (seen.driver, Some(format!("{at} does not answer"))),
                Ok(seen) => match (self.fit(at, &ids), vfio::bound(&*self.files, at)) {
                    (Err(other), _) => (seen.driver, Some(other.to_string())),
                    (Ok(()), Ok(_)) => continue,
                    (Ok(()), Err(_)) => (seen.driver, None),
                },
            };
            wrong.push(WrongDriver { address: *one, driver, unfit });
        }
        Ok(wrong)
    }

    fn bind(&self, one: PciAddress) -> Result<(), DevicesFault> {
        let at = address(one)?;
        let ids = self.settings.gpu_ids().union(self.settings.fabric_ids()).copied().collect();
        self.fit(at, &ids)?;
        vfio::bind(&*self.files, &Approved::from_iter([at]), &[at], self.settle).map(drop).map_err(fault)
    }

    fn partitions(&self) -> Result<Option<Vec<PartitionSeen>>, DevicesFault> {
        let fabric = self.fabric().map_err(fault)?;
        if self.settings.tool().is_none() {
            return Ok(None);
        }
        let seen = |partition: Partition| PartitionSeen {
            id: partition.id,
            active: partition.active,
            modules: partition.modules().into_iter().map(u32::from).collect(),
        };
        Ok(Some(fabric.list().map_err(fault)?.into_iter().map(seen).collect()))
    }

    fn partition_off(&self, id: u32, nobodys: &dyn Fn() -> Result<(), String>) -> Result<(), DevicesFault> {
        let _alone = self.nobodys.write().unwrap_or_else(PoisonError::into_inner);
        nobodys().map_err(fault)?;
        self.fabric().and_then(|fabric| fabric.deactivate(id)).map(drop).map_err(fault)
    }

    fn missing(&self) -> Vec<String> {
        let driver = self.files.list(&format!("bus/pci/drivers/{}", pci::VFIO)).err();
        let driver = driver.map(|_| format!("the driver {} is not loaded", pci::VFIO));
        let fabric = self.partitions().err().map(|fault| fault.to_string());
        let functions = self.settings.virtual_functions().iter().filter_map(|(card, count)| {
            let found = sriov::list(&*self.files, *card).map_or(0, |found| found.len());
            (u32::try_from(found) != Ok(*count))
                .then(|| format!("{card} must have {count} virtual functions, but has {found}"))
        });
        driver.into_iter().chain(fabric).chain(functions).collect()
    }
}

#[cfg(test)]
#[path = "on_host_tests.rs"]
mod tests;
