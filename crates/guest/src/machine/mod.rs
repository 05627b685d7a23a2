//! Machines as the platform reaches them: define, start, look, stop, remove. One trait, and libvirt behind it.
//!
//! Everything can be asked twice: defining the same guest again, starting one that runs, stopping one that is stopped and
//! removing one that is not there all succeed. What libvirt says when it refuses is sorted into faults that name what is
//! wrong, and QEMU's own words are kept.

mod processes;
mod stop;
mod virsh;

use crate::{
    domain::{self, Difference, DomainSpec, ReadFault},
    identity::{Refused, Uuid},
};
use serde::{Deserialize, Serialize};

pub use processes::{ProcessFault, processes_of_guests, processes_with_uuid};
pub use stop::{Remains, RemainsFault, StopBudget, StopProgress, StopStep, Stuck, next_stop_step, remains};
pub use virsh::{Virsh, sort_fault};

/// What a machine is doing, in libvirt's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It runs, or waits for the processor.
    Running,
    /// It is held.
    Paused,
    /// It was asked to stop and has not yet.
    Stopping,
    /// It is not running.
    Off,
    /// It ended by a fault.
    Crashed,
    /// It sleeps.
    Suspended,
}

/// A state with libvirt's reason for it: `booted`, `shutdown`, `crashed`, `failed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSeen {
    /// The state.
    pub state: State,
    /// The reason, as libvirt writes it.
    pub reason: String,
}

/// Why something about a machine did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MachineFault {
    /// libvirt does not answer, so nothing can be known.
    #[error("libvirt does not answer: {said}")]
    LibvirtDown {
        /// What was said instead.
        said: String,
    },
    /// libvirt knows no such machine.
    #[error("libvirt knows no machine {uuid}")]
    NoSuchDomain {
        /// Which one.
        uuid: String,
    },
    /// Another machine has the name or the UUID.
    #[error("there is another machine of that name or UUID: {said}")]
    AlreadyExists {
        /// What libvirt said.
        said: String,
    },
    /// The host has too few huge pages.
    #[error("the host has not enough huge pages: {said}")]
    NoHugepages {
        /// What was said.
        said: String,
    },
    /// QEMU ended while it was starting.
    #[error("QEMU did not start: {said}")]
    QemuFailed {
        /// QEMU's own words.
        said: String,
    },
    /// libvirt refused for another reason.
    #[error("libvirt refused: {said}")]
    Refused {
        /// What it said.
        said: String,
    },
    /// `virsh` is missing, was ended, or said too much.
    #[error(transparent)]
    Program(#[from] command::Fault),
    /// What was asked for breaks a rule; libvirt was not asked.
    #[error("the machine cannot be described: {0}")]
    Spec(Refused),
    /// The answer says nothing that is understood.
    #[error("libvirt's answer cannot be read: {0}")]
    Answer(#[from] Refused),
    /// The XML in the answer cannot be read.
    #[error(transparent)]
    Xml(#[from] ReadFault),
    /// libvirt made something else of it than was asked for.
    #[error("libvirt made something else of the machine: {}", differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Different {
        /// Where.
        differences: Vec<Difference>,
    },
}

/// Machines that can be made and stopped.
pub trait Machines {
    /// Defines a machine, or defines it anew. Starts nothing.
    fn define(&self, xml: &str) -> Result<(), MachineFault>;
    /// Starts a defined machine. One that runs is left alone.
    fn start(&self, uuid: Uuid) -> Result<(), MachineFault>;
    /// What it is doing; none when libvirt answers and knows no such machine.
    fn state(&self, uuid: Uuid) -> Result<Option<StateSeen>, MachineFault>;
    /// Every machine that libvirt knows, running or not.
    fn list(&self) -> Result<Vec<Uuid>, MachineFault>;
    /// Presses the power button. One that does not run is left alone.
    fn shutdown_acpi(&self, uuid: Uuid) -> Result<(), MachineFault>;
    /// Ends it at once. One that does not run, or is not there, is left alone.
    fn destroy(&self, uuid: Uuid) -> Result<(), MachineFault>;
    /// Forgets it, with its firmware's variables. One that is not there is forgotten already.
    fn undefine(&self, uuid: Uuid) -> Result<(), MachineFault>;
    /// What libvirt made of it: as it runs, or as it would start.
    fn dumpxml(&self, uuid: Uuid, which: Which) -> Result<String, MachineFault>;
}

/// Which of a machine's two descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// As it is now.
    Now,
    /// As it will be when it starts next.
    NextStart,
}

/// Defines a guest, looks at what libvirt made of it, starts it if that is what was asked for, and looks again at what
/// runs. A definition that differs is forgotten and never started; a guest that runs and differs is left for whoever asked
/// to stop, because it may have run before.
pub fn create(machines: &impl Machines, spec: &DomainSpec) -> Result<(), MachineFault> {
    let uuid = spec.guest.uuid();
    machines.define(&domain::build(spec).map_err(MachineFault::Spec)?)?;
    let differences = differences(machines, spec, Which::NextStart)?;
    if !differences.is_empty() {
        machines.undefine(uuid)?;
        return Err(MachineFault::Different { differences });
    }
    machines.start(uuid)?;
    let differences = self::differences(machines, spec, Which::Now)?;
    if differences.is_empty() { Ok(()) } else { Err(MachineFault::Different { differences }) }
}

/// Where a guest differs from what was asked for.
pub fn differences(machines: &impl Machines, spec: &DomainSpec, which: Which) -> Result<Vec<Difference>, MachineFault> {
    let seen = domain::read_domain(&machines.dumpxml(spec.guest.uuid(), which)?)?;
    Ok(domain::compare(spec, &seen))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
