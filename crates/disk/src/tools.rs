//! The programs of the host that this crate uses, and how they are started so that they cannot outlive us or eat the host.

use command::Program;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};

/// Where the programs are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// Reads and writes images.
    pub qemu_img: PathBuf,
    /// Speaks to NVMe disks.
    pub nvme: PathBuf,
    /// Ends a program when its parent ends.
    pub setpriv: PathBuf,
    /// Limits a program's memory and time.
    pub prlimit: PathBuf,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            qemu_img: "/usr/bin/qemu-img".into(),
            nvme: "/usr/sbin/nvme".into(),
            setpriv: "/usr/bin/setpriv".into(),
            prlimit: "/usr/bin/prlimit".into(),
        }
    }
}

impl Tools {
    /// `qemu-img`, which ends when we end: it holds the disk open without a claim, and must not write to it when nobody
    /// watches any more.
    pub(crate) fn qemu_img(&self, time_max: Duration) -> Program {
        Program::at(&self.setpriv).args(["--pdeathsig", "KILL", "--"]).arg(&self.qemu_img).within(time_max)
    }

    /// The same, with little memory and time: for looking at a file that may have been made to hurt.
    pub(crate) fn qemu_img_bounded(&self, time_max: Duration) -> Program {
        const MEMORY_BYTES_MAX: u64 = 2 << 30;
        Program::at(&self.prlimit)
            .arg(format!("--as={MEMORY_BYTES_MAX}"))
            .arg(format!("--cpu={}", time_max.as_secs().max(1)))
            .arg("--")
            .arg(&self.setpriv)
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&self.qemu_img)
            .within(time_max)
    }

    /// `nvme`.
    pub(crate) fn nvme(&self, time_max: Duration) -> Program {
        Program::at(&self.nvme).within(time_max)
    }
}
