//! What the settings say about devices: which GPUs and functions of the fabric guests may have at all, how they are reset, and
//! who switches the partitions of the fabric. A host without these settings gives no device to anybody.

use ::devices::{DeviceId, Fmpm, NvidiaSmi, PciAddress, ResetMethod, ResetPolicy, fabric::Reach};
use model::supply::GpuModel;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// What `fmpm` says where there is no fabric.
pub const NO_FABRIC: &str = "none";

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSettings {
    /// The Fabric Manager's tool, or `none` on a host without NVSwitches.
    fmpm: PathBuf,
    /// Where the Fabric Manager listens.
    #[serde(default)]
    fabric_manager: Reach,
    /// The vendor and device numbers of the GPUs that guests may have, by model.
    gpus: BTreeMap<GpuModel, BTreeSet<DeviceId>>,
    /// Those of the functions of the fabric.
    fabric_functions: BTreeSet<DeviceId>,
    /// How many virtual functions each card of the fabric has; the kernel forgets that at every start of the host.
    #[serde(default)]
    virtual_functions: BTreeMap<PciAddress, u32>,
    /// The ways in which a GPU may be reset, in their order.
    #[serde(default = "reset")]
    reset: Vec<ResetMethod>,
    /// Who says of which GPU that it clears its memory at reset.
    #[serde(default)]
    scrub_sources: BTreeMap<DeviceId, String>,
    /// NVIDIA's tool, for GPUs that the host's driver has before they are given away.
    #[serde(default = "nvidia_smi")]
    nvidia_smi: PathBuf,
}

fn reset() -> Vec<ResetMethod> {
    ResetPolicy::gpu().methods
}

fn nvidia_smi() -> PathBuf {
    NvidiaSmi::default().program
}

/// A field that makes no sense: its name, what is expected, and what was found.
pub type Odd = (&'static str, &'static str, String);

impl DeviceSettings {
    /// The first field that makes no sense. Paths are checked by a rule of the caller's.
    pub(crate) fn check(&self, is_path: fn(&Path) -> bool) -> Result<(), Odd> {
        const PATH: &str = "an absolute path of letters, digits, / - _ and .";
        let rule = |field: &'static str, holds: bool, expected: &'static str, found: &dyn std::fmt::Debug| {
            if holds { Ok(()) } else { Err((field, expected, format!("{found:?}"))) }
        };
        let none = self.fmpm == Path::new(NO_FABRIC);
        rule("devices.fmpm", none || is_path(&self.fmpm), "the path of fmpm, or none", &self.fmpm)?;
        rule("devices.nvidia_smi", is_path(&self.nvidia_smi), PATH, &self.nvidia_smi)?;
        match &self.fabric_manager {
            Reach::ToolDefault => {}
            reach if none => rule("devices.fabric_manager", false, "left out, since fmpm is none", reach)?,
            Reach::UnixSocket(path) => rule("devices.fabric_manager", is_path(path), PATH, path)?,
            Reach::Host(name) => {
                let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':'));
                let good = plain && name.starts_with(|first: char| first.is_ascii_alphanumeric());
                rule("devices.fabric_manager", good, "the name or address of a host", name)?;
            }
        }
        let gpus = self.gpu_ids();
        let lab = self.gpus.contains_key(&GpuModel::Lab);
        rule("devices.gpus", !gpus.is_empty() && !lab, "models of GPUs with their numbers, and not lab", &self.gpus)?;
        let switch = gpus.iter().chain(&self.fabric_functions).find(|id| id.is_nvswitch());
        rule("devices.gpus", switch.is_none(), "nothing that all guests share", &switch)?;
        let both = gpus.intersection(&self.fabric_functions).next();
        rule("devices.fabric_functions", both.is_none(), "numbers that are no GPU's", &both)?;
        let none = self.virtual_functions.iter().find(|(_, count)| **count == 0);
        rule("devices.virtual_functions", none.is_none(), "at least one for each card that is named", &none)?;
        let mut seen = BTreeSet::new();
        let good = !self.reset.is_empty() && self.reset.iter().all(|method| seen.insert(*method));
        rule("devices.reset", good, "at least one of flr, bus and remove_rescan, each once", &self.reset)?;
        let own = self.reset.iter().any(|method| *method != ResetMethod::RemoveRescan);
        rule("devices.reset", own, "flr or bus besides remove_rescan, which is no reset by itself", &self.reset)?;
        let stranger = self.scrub_sources.iter().find(|(id, source)| !gpus.contains(id) || source.trim().is_empty());
        rule("devices.scrub_sources", stranger.is_none(), "a source for GPUs of devices.gpus", &stranger)
    }

    /// The numbers of every GPU that guests may have.
    pub fn gpu_ids(&self) -> BTreeSet<DeviceId> {
        self.gpus.values().flatten().copied().collect()
    }

    /// The numbers of every function of the fabric that guests may have.
    pub fn fabric_ids(&self) -> &BTreeSet<DeviceId> {
        &self.fabric_functions
    }

    /// The cards of the fabric, and how many virtual functions each must have.
    pub fn virtual_functions(&self) -> &BTreeMap<PciAddress, u32> {
        &self.virtual_functions
    }

    /// The tool that switches partitions; none on a host without NVSwitches.
    pub fn tool(&self) -> Option<Fmpm> {
        let (program, reach) = (self.fmpm.clone(), self.fabric_manager.clone());
        (self.fmpm != Path::new(NO_FABRIC)).then(|| Fmpm { program, reach, ..Fmpm::default() })
    }

    /// How GPUs are reset.
    pub fn gpu_reset(&self) -> ResetPolicy {
        let (methods, scrub_sources) = (self.reset.clone(), self.scrub_sources.clone());
        ResetPolicy { methods, scrub_sources, ..ResetPolicy::gpu() }
    }

    /// NVIDIA's tool.
    pub fn smi(&self) -> NvidiaSmi {
        NvidiaSmi { program: self.nvidia_smi.clone(), ..NvidiaSmi::default() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const GOOD: &str = r#"
fmpm = "/usr/bin/fmpm"
gpus = { h200-sxm = ["10de:2335"] }
fabric_functions = ["15b3:101e"]
"#;

    fn checked(text: &str) -> Result<(), String> {
        let settings: DeviceSettings = toml::from_str(text).map_err(|error| error.to_string())?;
        let odd = settings.check(|path| path.is_absolute());
        odd.map_err(|(field, expected, found)| format!("{field} must be {expected}, found {found}"))
    }

    #[test]
    fn what_is_left_out_is_careful() {
        let settings: DeviceSettings = toml::from_str(GOOD).unwrap();
        assert_eq!(settings.gpu_reset(), ResetPolicy::gpu());
        assert!(!settings.gpu_reset().methods.contains(&ResetMethod::RemoveRescan));
        assert_eq!(settings.tool(), Some(Fmpm::default()));
        assert_eq!(settings.smi(), NvidiaSmi::default());
        let without: DeviceSettings = toml::from_str(&GOOD.replace("/usr/bin/fmpm", "none")).unwrap();
        assert_eq!((without.tool(), without.check(|path| path.is_absolute())), (None, Ok(())));
        for field in ["fmpm", "gpus", "fabric_functions"] {
            let text: Vec<&str> = GOOD.lines().filter(|line| !line.starts_with(field)).collect();
            assert!(checked(&text.join("\n")).unwrap_err().contains(field));
        }
    }

    #[test]
    fn every_bad_field_is_named() {
        assert_eq!(checked(GOOD), Ok(()));
        for (from, to, field) in [
            ("/usr/bin/fmpm", "fmpm", "devices.fmpm must be the path of fmpm, or none"),
            ("\nfmpm", "\nnvidia_smi = \"smi\"\nfmpm", "devices.nvidia_smi must be"),
            ("\nfmpm", "\nfabric_manager = { host = \"-x\" }\nfmpm", "devices.fabric_manager must be the name"),
            ("\nfmpm", "\nfabric_manager = { unix_socket = \"x\" }\nfmpm", "devices.fabric_manager must be"),
            (
                "\"/usr/bin/fmpm\"",
                "\"none\"\nfabric_manager = { host = \"x\" }",
                "devices.fabric_manager must be left out",
            ),
            ("[\"10de:2335\"]", "[]", "devices.gpus must be"),
            ("h200-sxm", "lab", "devices.gpus must be models of GPUs with their numbers, and not lab"),
            ("10de:2335", "10de:22a3", "devices.gpus must be nothing that all guests share"),
            ("15b3:101e", "10de:2335", "devices.fabric_functions must be"),
            ("10de:2335", "10de:23", "expected a vendor and device"),
            ("\nfmpm", "\nvirtual_functions = { \"0000:03:00.0\" = 0 }\nfmpm", "devices.virtual_functions must be"),
            ("\nfmpm", "\nreset = []\nfmpm", "devices.reset must be"),
            ("\nfmpm", "\nreset = [\"flr\", \"flr\"]\nfmpm", "devices.reset must be"),
            ("\nfmpm", "\nreset = [\"remove_rescan\"]\nfmpm", "devices.reset must be flr or bus besides"),
            ("\nfmpm", "\nscrub_sources = { \"10de:1111\" = \"x\" }\nfmpm", "devices.scrub_sources must be"),
            ("\nfmpm", "\nscrub_sources = { \"10de:2335\" = \" \" }\nfmpm", "devices.scrub_sources must be"),
            ("\nfmpm", "\nshell = 1\nfmpm", "shell"),
        ] {
            let fault = checked(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(fault.contains(field), "{to}: {fault}");
        }
        assert_eq!(checked(&GOOD.replacen("\nfmpm", "\nreset = [\"flr\", \"remove_rescan\"]\nfmpm", 1)), Ok(()));
    }
}
