//! A fleet of machines in memory, for the simulated fleet and for `dev`. It goes through the same states as a real provider
//! and takes its time by the clock it is given, so one seed gives one history. What can go wrong with a real one can be
//! planned here: a call that is refused, an answer that is lost after the work was done, an installation that fails or never
//! ends.

use crate::{
    fault::Fault,
    machine::{Machine, MachineStatus, OrderMark, PowerState, ProviderId, TagName},
    plan::{self, Allocation, Rest},
    provider::{Answer, BreakOrder, DeployOrder, Erase, MachineProvider, ReleaseOrder},
};
use model::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// An installation.
    pub deploy_s: i64,
    /// Giving back, without erasing.
    pub release_s: i64,
    /// Erasing, before that.
    pub erase_s: i64,
}

impl Default for Timings {
    /// About what a large server takes.
    fn default() -> Self {
        Self { deploy_s: 600, release_s: 60, erase_s: 300 }
    }
}

/// Which call something happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Listing all machines or all tags.
    List,
    /// Reading one machine.
    Read,
    /// Taking one.
    Allocate,
    /// Installing one.
    Deploy,
    /// Giving one back.
    Release,
    /// Marking one as broken.
    MarkBroken,
    /// Putting a tag on or taking one off.
    Tag,
}

/// What happens to the next such call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mishap {
    /// It answers with this and does nothing.
    Refused(Fault),
    /// It is done, but the caller never hears of it.
    AnswerLost,
    /// It is taken, and what it starts fails in the end.
    Fails,
    /// It is taken, and what it starts never ends.
    Hangs,
}

struct Planned {
    call: Call,
    id: Option<ProviderId>,
    mishap: Mishap,
}

struct Simulated {
    machine: Machine,
    /// When the present state ends, and what comes then.
    next: Vec<(Timestamp, MachineStatus)>,
    installations: u32,
    /// What the last installation was told.
    installed: Option<DeployOrder>,
}

#[derive(Default)]
struct Fleet {
    machines: BTreeMap<ProviderId, Simulated>,
    tags: BTreeSet<String>,
    planned: Vec<Planned>,
}

/// A fleet in memory.
pub struct SimulatedMachines {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    timings: Timings,
    fleet: Mutex<Fleet>,
}

impl fmt::Debug for SimulatedMachines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedMachines").field("timings", &self.timings).finish_non_exhaustive()
    }
}

impl SimulatedMachines {
    /// A fleet without machines that lives by this clock.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static, timings: Timings) -> Self {
        Self { now: Arc::new(now), timings, fleet: Mutex::default() }
    }

    /// Puts a machine into the fleet, or another one in its place.
    pub fn put(&self, machine: Machine) {
        let mut fleet = self.fleet();
        fleet.tags.extend(machine.tags.iter().cloned());
        let simulated = Simulated { next: Vec::new(), installations: 0, installed: None, machine };
        fleet.machines.insert(simulated.machine.id.clone(), simulated);
    }

    /// Takes a machine out of the fleet, as if somebody had carried it away.
    pub fn remove(&self, id: &ProviderId) {
        self.fleet().machines.remove(id);
    }

    /// Plans what happens to the next such call, about this machine or about any.
    pub fn plan(&self, call: Call, id: Option<ProviderId>, mishap: Mishap) {
        self.fleet().planned.push(Planned { call, id, mishap });
    }

    /// Forgets what was planned and did not happen yet.
    pub fn forget_plans(&self) {
        self.fleet().planned.clear();
    }

    /// How often a machine was installed: what must not happen twice for one order.
    pub fn installations(&self, id: &ProviderId) -> u32 {
        self.fleet().machines.get(id).map_or(0, |simulated| simulated.installations)
    }

    /// A machine as it is now, for whoever plays the host.
    pub fn seen(&self, id: &ProviderId) -> Option<Machine> {
        let now = (self.now)();
        let mut fleet = self.fleet();
        let simulated = fleet.machines.get_mut(id)?;
        simulated.live_until(now);
        Some(simulated.machine.clone())
    }

    /// What runs on a machine: the order it was installed for, once it is. For whoever plays the host.
    pub fn installed(&self, id: &ProviderId) -> Option<DeployOrder> {
        let now = (self.now)();
        let mut fleet = self.fleet();
        let simulated = fleet.machines.get_mut(id)?;
        simulated.live_until(now);
        let order = simulated.installed.clone()?;
        let runs = simulated.machine.status == MachineStatus::Deployed && simulated.machine.carries(order.mark());
        runs.then_some(order)
    }

    fn fleet(&self) -> MutexGuard<'_, Fleet> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one call at the present moment, with whatever was planned for it.
    fn call<T>(
        &self,
        call: Call,
        id: Option<&ProviderId>,
        work: impl FnOnce(&mut Fleet, Moment) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let now = (self.now)();
        let mut fleet = self.fleet();
        for simulated in fleet.machines.values_mut() {
            simulated.live_until(now);
        }
        let place = fleet
            .planned
            .iter()
            .position(|planned| planned.call == call && (planned.id.is_none() || planned.id.as_ref() == id));
        let mishap = place.map(|place| fleet.planned.remove(place).mishap);
        let ending = match &mishap {
            Some(Mishap::Refused(fault)) => return Err(fault.clone()),
            Some(Mishap::Fails) => Ending::Fails,
            Some(Mishap::Hangs) => Ending::Hangs,
            Some(Mishap::AnswerLost) | None => Ending::Good,
        };
        let answer = work(&mut fleet, Moment { now, ending, timings: self.timings });
        match mishap {
            Some(Mishap::AnswerLost) => Err(Fault::TimedOut { what: format!("{call:?}"), limit_ms: 1_000 }),
            _ => answer,
        }
    }
}

/// How what a call starts will end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Good,
    Fails,
    Hangs,
}

#[derive(Clone, Copy)]
struct Moment {
    now: Timestamp,
    ending: Ending,
    timings: Timings,
}

impl Simulated {
    fn live_until(&mut self, now: Timestamp) {
        while let Some((at, status)) = self.next.first().cloned()
            && at <= now
        {
            self.next.remove(0);
            self.enter(status);
        }
    }

    fn enter(&mut self, status: MachineStatus) {
        let machine = &mut self.machine;
        if matches!(status, MachineStatus::Ready | MachineStatus::Broken) {
            (machine.owner, machine.mark) = (None, None);
        }
        machine.power = match status {
            MachineStatus::Deploying | MachineStatus::Deployed | MachineStatus::DiskErasing => PowerState::On,
            _ => PowerState::Off,
        };
        machine.message = if status.is_failed() { "simulated".to_owned() } else { String::new() };
        machine.status = status;
    }

    fn deploy(&mut self, order: &DeployOrder, moment: Moment) {
        self.installations += 1;
        self.installed = Some(order.clone());
        self.enter(MachineStatus::Deploying);
        let at = moment.now.plus_seconds(moment.timings.deploy_s);
        self.next = match moment.ending {
            Ending::Good => vec![(at, MachineStatus::Deployed)],
            Ending::Fails => vec![(at, MachineStatus::FailedDeployment)],
            Ending::Hangs => Vec::new(),
        };
    }

    fn release(&mut self, erase: Erase, moment: Moment) {
        let erases = erase != Erase::None;
        let erased = moment.now.plus_seconds(if erases { moment.timings.erase_s } else { 0 });
        let (doing, failing) = if erases {
            (MachineStatus::DiskErasing, MachineStatus::FailedDiskErasing)
        } else {
            (MachineStatus::Releasing, MachineStatus::FailedReleasing)
        };
        self.next = match moment.ending {
            Ending::Hangs => Vec::new(),
            Ending::Fails => vec![(erased, failing)],
            Ending::Good => vec![
                (erased, MachineStatus::Releasing),
                (erased.plus_seconds(moment.timings.release_s), MachineStatus::Ready),
            ],
        };
        self.enter(doing);
    }
}

fn found<'a>(fleet: &'a mut Fleet, id: &ProviderId) -> Result<&'a mut Simulated, Fault> {
    fleet.machines.get_mut(id).ok_or_else(|| Fault::NotFound { what: format!("machine {id}") })
}

fn done<T: Send + 'static>(answer: Result<T, Fault>) -> Answer<'static, T> {
    Box::pin(std::future::ready(answer))
}

impl MachineProvider for SimulatedMachines {
    fn list(&self) -> Answer<'_, Vec<Machine>> {
        done(self.call(Call::List, None, |fleet, _| {
            Ok(fleet.machines.values().map(|simulated| simulated.machine.clone()).collect())
        }))
    }

    fn machine<'a>(&'a self, id: &'a ProviderId) -> Answer<'a, Machine> {
        done(self.call(Call::Read, Some(id), |fleet, _| Ok(found(fleet, id)?.machine.clone())))
    }

    fn allocate<'a>(&'a self, id: &'a ProviderId, mark: &'a OrderMark) -> Answer<'a, Machine> {
        done(self.call(Call::Allocate, Some(id), |fleet, _| {
            let simulated = found(fleet, id)?;
            match plan::allocation(&simulated.machine, mark)? {
                Allocation::Done => {}
                Allocation::Take => {
                    simulated.enter(MachineStatus::Allocated);
                    simulated.machine.owner = Some("gpuaas".to_owned());
                    simulated.machine.mark = Some(mark.as_str().to_owned());
                }
                // Taking and marking are one here, so whoever took it was somebody else.
                Allocation::Unmarked => return Err(plan::conflict(&simulated.machine, "taken by this order", "")),
            }
            Ok(simulated.machine.clone())
        }))
    }

    fn deploy<'a>(&'a self, id: &'a ProviderId, order: &'a DeployOrder) -> Answer<'a, Machine> {
        done(self.call(Call::Deploy, Some(id), |fleet, moment| {
            let simulated = found(fleet, id)?;
            if plan::deployment(&simulated.machine, order.mark())? == Rest::Act {
                simulated.deploy(order, moment);
            }
            Ok(simulated.machine.clone())
        }))
    }

    fn release<'a>(&'a self, id: &'a ProviderId, order: &'a ReleaseOrder) -> Answer<'a, Machine> {
        done(self.call(Call::Release, Some(id), |fleet, moment| {
            let simulated = found(fleet, id)?;
            if plan::release(&simulated.machine, order)? == Rest::Act {
                simulated.release(order.erase, moment);
            }
            Ok(simulated.machine.clone())
        }))
    }

    fn mark_broken<'a>(&'a self, id: &'a ProviderId, order: &'a BreakOrder) -> Answer<'a, Machine> {
        done(self.call(Call::MarkBroken, Some(id), |fleet, _| {
            let simulated = found(fleet, id)?;
            if plan::breaking(&simulated.machine, order)? == Rest::Act {
                simulated.next = Vec::new();
                simulated.enter(MachineStatus::Broken);
                simulated.machine.message = crate::machine::shown(&order.comment, 255);
            }
            Ok(simulated.machine.clone())
        }))
    }

    fn tag<'a>(&'a self, id: &'a ProviderId, name: &'a TagName) -> Answer<'a, ()> {
        done(self.call(Call::Tag, Some(id), |fleet, _| {
            found(fleet, id)?.machine.tags.insert(name.as_str().to_owned());
            fleet.tags.insert(name.as_str().to_owned());
            Ok(())
        }))
    }

    fn untag<'a>(&'a self, id: &'a ProviderId, name: &'a TagName) -> Answer<'a, ()> {
        done(self.call(Call::Tag, Some(id), |fleet, _| {
            if let Some(simulated) = fleet.machines.get_mut(id) {
                simulated.machine.tags.remove(name.as_str());
            }
            Ok(())
        }))
    }

    fn tags(&self) -> Answer<'_, Vec<String>> {
        done(self.call(Call::List, None, |fleet, _| Ok(fleet.tags.iter().cloned().collect())))
    }
}

#[cfg(test)]
#[path = "simulated_tests.rs"]
mod tests;
