//! Machines through libvirt's own program, `virsh`, with fixed arguments. A process per question is slower than a library
//! by some milliseconds and keeps libvirt's C code out of the platform's processes.

use super::{MachineFault, Machines, State, StateSeen, Which};
use crate::identity::{Refused, Uuid};
use command::Program;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};

/// libvirt, reached by `virsh`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Virsh {
    /// Where `virsh` is.
    pub program: PathBuf,
    /// Which libvirt.
    pub uri: String,
    /// How long one answer may take. Starting a guest pins its memory, which takes a while for a large one.
    pub answer_s_max: u64,
}

impl Default for Virsh {
    fn default() -> Self {
        Self { program: "/usr/bin/virsh".into(), uri: "qemu:///system".into(), answer_s_max: 300 }
    }
}

const DOWN: [&str; 7] = [
    "failed to connect to the hypervisor",
    "Failed to connect socket",
    "client socket is closed",
    "Cannot recv data",
    "Cannot write data",
    "End of file while reading data",
    "Disconnected from",
];
const HUGEPAGES: [&str; 6] = [
    "Insufficient free host memory pages",
    "preallocating memory failed",
    "hugetlbfs filesystem is not mounted",
    "Unable to find any usable hugetlbfs mount",
    "unable to map backing store for guest RAM",
    "can't open backing store",
];
const QEMU: [&str; 4] = [
    "process exited while connecting to monitor",
    "unexpectedly closed the monitor",
    "qemu-system-x86_64: ",
    "Failed to start QEMU binary",
];

/// Sorts what `virsh` said when it failed.
pub fn sort_fault(uuid: &str, said: &str) -> MachineFault {
    let has = |any: &[&str]| any.iter().any(|text| said.contains(text));
    let own = || said.trim().to_owned();
    // QEMU's words come first: they may quote any of the others.
    if has(&HUGEPAGES) {
        MachineFault::NoHugepages { said: own() }
    } else if has(&QEMU) {
        MachineFault::QemuFailed { said: own() }
    } else if has(&DOWN) {
        MachineFault::LibvirtDown { said: own() }
    } else if has(&["Domain not found", "failed to get domain", "no domain with matching"]) {
        MachineFault::NoSuchDomain { uuid: uuid.to_owned() }
    } else if has(&["already exists with uuid", "is already defined with uuid", "already defined with"]) {
        MachineFault::AlreadyExists { said: own() }
    } else {
        MachineFault::Refused { said: own() }
    }
}

impl Virsh {
    fn ask(&self, words: &[&str]) -> Result<String, MachineFault> {
        self.say(words, "")
    }

    fn say(&self, words: &[&str], input: &str) -> Result<String, MachineFault> {
        let answer = Program::at(&self.program)
            .args(["--quiet", "--connect", &self.uri])
            .args(words)
            .input(input)
            .within(Duration::from_secs(self.answer_s_max))
            .run();
        match answer {
            Ok(said) => Ok(said.out),
            Err(command::Fault::Failed { said, .. }) => Err(sort_fault(words.get(1).unwrap_or(&""), &said)),
            Err(fault) => Err(fault.into()),
        }
    }

    // A command about a machine that may be in the wanted state already. What counts is the state afterwards.
    fn reach(&self, words: &[&str], uuid: Uuid, good: impl Fn(Option<State>) -> bool) -> Result<(), MachineFault> {
        match self.ask(words) {
            Ok(_) => Ok(()),
            Err(MachineFault::NoSuchDomain { .. }) if good(None) => Ok(()),
            Err(fault @ MachineFault::Refused { .. }) => {
                let now = self.state(uuid)?.map(|seen| seen.state);
                if good(now) { Ok(()) } else { Err(fault) }
            }
            Err(fault) => Err(fault),
        }
    }
}

impl Machines for Virsh {
    fn define(&self, xml: &str) -> Result<(), MachineFault> {
        self.say(&["define", "/dev/stdin", "--validate"], xml).map(drop)
    }

    fn start(&self, uuid: Uuid) -> Result<(), MachineFault> {
        self.reach(&["start", &uuid.to_string()], uuid, |state| matches!(state, Some(State::Running)))
    }

    fn state(&self, uuid: Uuid) -> Result<Option<StateSeen>, MachineFault> {
        match self.ask(&["domstate", &uuid.to_string(), "--reason"]) {
            Ok(said) => Ok(Some(read_state(&said)?)),
            Err(MachineFault::NoSuchDomain { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn list(&self) -> Result<Vec<Uuid>, MachineFault> {
        Ok(read_list(&self.ask(&["list", "--all", "--uuid"])?)?)
    }

    fn shutdown_acpi(&self, uuid: Uuid) -> Result<(), MachineFault> {
        let stopped = |state| matches!(state, None | Some(State::Off | State::Crashed | State::Stopping));
        self.reach(&["shutdown", &uuid.to_string(), "--mode", "acpi"], uuid, stopped)
    }

    fn destroy(&self, uuid: Uuid) -> Result<(), MachineFault> {
        let stopped = |state| matches!(state, None | Some(State::Off | State::Crashed));
        self.reach(&["destroy", &uuid.to_string()], uuid, stopped)
    }

    fn undefine(&self, uuid: Uuid) -> Result<(), MachineFault> {
        self.reach(&["undefine", &uuid.to_string(), "--nvram"], uuid, |state| state.is_none())
    }

    fn dumpxml(&self, uuid: Uuid, which: Which) -> Result<String, MachineFault> {
        let uuid = uuid.to_string();
        match which {
            Which::Now => self.ask(&["dumpxml", &uuid]),
            Which::NextStart => self.ask(&["dumpxml", &uuid, "--inactive"]),
        }
    }
}

fn read_state(said: &str) -> Result<StateSeen, Refused> {
    let refused = || Refused::new("domstate", "a state and a reason", said);
    let (state, reason) = said.trim().split_once(" (").ok_or_else(refused)?;
    let state = match state {
        "running" | "idle" | "blocked" => State::Running,
        "paused" => State::Paused,
        "in shutdown" => State::Stopping,
        "shut off" => State::Off,
        "crashed" => State::Crashed,
        "pmsuspended" => State::Suspended,
        _ => return Err(refused()),
    };
    let reason = reason.strip_suffix(')').ok_or_else(refused)?.to_owned();
    Ok(StateSeen { state, reason })
}

fn read_list(said: &str) -> Result<Vec<Uuid>, Refused> {
    said.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_virsh_says_is_sorted() {
        let kind = |said: &str| match sort_fault("u", said) {
            MachineFault::LibvirtDown { .. } => "down",
            MachineFault::NoSuchDomain { .. } => "none",
            MachineFault::AlreadyExists { .. } => "exists",
            MachineFault::NoHugepages { .. } => "pages",
            MachineFault::QemuFailed { .. } => "qemu",
            _ => "other",
        };
        let down = "error: failed to connect to the hypervisor error: Failed to connect socket to '/run/libvirt/libvirt-sock': No such file or directory";
        assert_eq!(kind(down), "down");
        assert_eq!(kind("error: failed to get domain 'x'"), "none");
        assert_eq!(kind("error: operation failed: domain 'a' already exists with uuid 1"), "exists");
        assert_eq!(
            kind(
                "error: internal error: process exited while connecting to monitor: qemu-system-x86_64: -blockdev x: Could not open '/x'"
            ),
            "qemu"
        );
        assert_eq!(
            kind(
                "error: internal error: qemu unexpectedly closed the monitor: unable to map backing store for guest RAM: Cannot allocate memory"
            ),
            "pages"
        );
        assert_eq!(kind("error: unsupported configuration: x"), "other");
    }

    #[test]
    fn states_and_lists_are_read_and_anything_else_is_a_fault() {
        assert_eq!(
            read_state("running (booted)\n\n").unwrap(),
            StateSeen { state: State::Running, reason: "booted".into() }
        );
        assert_eq!(read_state("shut off (crashed)\n").unwrap().state, State::Off);
        for bad in ["", "running", "no state (unknown)", "running (booted"] {
            assert!(read_state(bad).is_err(), "{bad}");
        }
        assert_eq!(read_list("\n").unwrap(), []);
        assert!(read_list("x\n").is_err());
    }

    #[test]
    fn a_missing_virsh_is_a_fault_and_not_an_empty_host() {
        let virsh = Virsh { program: "/nonexistent/virsh".into(), ..Virsh::default() };
        assert!(matches!(virsh.list(), Err(MachineFault::Program(_))));
        assert!(matches!(virsh.state(Uuid([0; 16])), Err(MachineFault::Program(_))));
    }

    proptest! {
        #[test]
        fn no_answer_upsets_the_readers(said in "\\PC{0,80}|(CPU\\(s\\)|:| |\n|running|\\(|\\)|1){0,20}") {
            let _ = (read_state(&said), read_list(&said), sort_fault("u", &said));
        }
    }
}
