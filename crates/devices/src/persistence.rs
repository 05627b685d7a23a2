//! Lets go of a GPU that NVIDIA's driver keeps awake on the host: persistence mode off, by `nvidia-smi` with fixed arguments.
//! The tool is asked again afterwards, and anything but its plain word that the mode is off is a fault.

use crate::{fault::Fault, pci::PciAddress};
use command::Program;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};

/// The tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvidiaSmi {
    /// The program.
    pub program: PathBuf,
    /// How long it may take: it wakes a GPU that sleeps.
    pub ms_max: u64,
}

impl Default for NvidiaSmi {
    fn default() -> Self {
        Self { program: "/usr/bin/nvidia-smi".into(), ms_max: 60_000 }
    }
}

impl NvidiaSmi {
    /// Switches persistence mode off for one GPU that is on NVIDIA's driver.
    pub fn persistence_off(&self, address: PciAddress) -> Result<(), Fault> {
        let address = address.to_string();
        self.run(&["-pm", "0", "-i", &address])?;
        let found = self.run(&["--query-gpu=persistence_mode", "--format=csv,noheader", "-i", &address])?;
        if found.trim() == "Disabled" {
            return Ok(());
        }
        let (program, expected) = ("nvidia-smi".to_owned(), "Disabled".to_owned());
        Err(Fault::NotUnderstood { program, expected, found: found.trim().chars().take(200).collect() })
    }

    fn run(&self, words: &[&str]) -> Result<String, Fault> {
        let program = Program::at(&self.program).within(Duration::from_millis(self.ms_max));
        Ok(program.args(words).run()?.out)
    }
}
