//! The settings of the process, from one TOML file. What decides about guests (what executes them, whether this is a
//! laboratory, whose images are trusted) is said there and never guessed; what has one sensible value has that as default. A
//! field that makes no sense is named with what was expected.

use crate::devices::DeviceSettings;
use disk::{TrustedKeys, WipePolicy};
use guest::{
    domain::{Accelerator, CpuModel},
    machine::StopBudget,
};
use network::{Datapath, HostNetwork, Mac, Policy, Subnet, Tools};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    net::Ipv4Addr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Where the settings are.
pub const PATH: &str = "/etc/gpuaas/hostd.toml";
/// Where the process is asked.
pub const SOCKET: &str = "/run/gpuaas-hostd/socket";

const FILE_BYTES_MAX: u64 = 256 * 1024;

/// What is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFault {
    /// The file cannot be read.
    #[error("the settings at {path} cannot be read: {why}")]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It is no TOML, or has a field that is not known, missing or of another kind.
    #[error("the settings are not understood: {0}")]
    Shape(String),
    /// A field makes no sense.
    #[error("{field} must be {expected}, found {found}")]
    Field {
        /// Which.
        field: String,
        /// What is accepted.
        expected: String,
        /// What was given.
        found: String,
    },
}

/// What guests start from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FirmwareChoice {
    /// SeaBIOS, which comes with QEMU.
    Bios {},
    /// UEFI.
    Uefi {
        /// The firmware.
        code: PathBuf,
        /// What each guest's variables start from.
        vars_template: PathBuf,
    },
}

/// How long a guest has to show that it is alive, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadyBudget {
    /// Until its lease is seen.
    pub lease_s: i64,
    /// Until it answers SSH.
    pub ssh_s: i64,
}

impl Default for ReadyBudget {
    fn default() -> Self {
        Self { lease_s: 180, ssh_s: 600 }
    }
}

/// The image cache.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagesConfig {
    /// How many bytes of images are kept.
    pub bytes_max: u64,
    /// Whose images are taken: Ed25519 keys in hexadecimal, by their id.
    pub trusted_keys: TrustedKeys,
}

/// The network of the guests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkConfig {
    bridge: String,
    datapath: Datapath,
    subnet: Subnet,
    gateway_ip: Ipv4Addr,
    gateway_mac: Mac,
    #[serde(default)]
    dns: Vec<Ipv4Addr>,
    uplink: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    dhcp_dir: Option<PathBuf>,
    #[serde(default = "lease_s")]
    lease_s: u32,
    #[serde(default = "nft_table")]
    nft_table: String,
    #[serde(default)]
    denied: Option<Vec<Subnet>>,
    #[serde(default)]
    allowed: Vec<Subnet>,
}

fn lease_s() -> u32 {
    3600
}

fn nft_table() -> String {
    "gpuaas".to_owned()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    agent_user: String,
    accelerator: Accelerator,
    cpu_model: String,
    firmware: FirmwareChoice,
    #[serde(default)]
    lab: bool,
    #[serde(default = "socket")]
    socket: PathBuf,
    #[serde(default = "state_dir")]
    state_dir: PathBuf,
    #[serde(default = "emulator")]
    emulator: PathBuf,
    #[serde(default = "emulator_user")]
    emulator_user: String,
    #[serde(default = "libvirt_uri")]
    libvirt_uri: String,
    #[serde(default)]
    host_cpus: Vec<u32>,
    #[serde(default)]
    disks: Option<Vec<String>>,
    network: NetworkConfig,
    images: ImagesConfig,
    #[serde(default)]
    devices: Option<DeviceSettings>,
    #[serde(default)]
    wipe: WipePolicy,
    #[serde(default)]
    stop: StopBudget,
    #[serde(default)]
    ready: ReadyBudget,
}

fn socket() -> PathBuf {
    SOCKET.into()
}

fn state_dir() -> PathBuf {
    "/var/lib/gpuaas-hostd".into()
}

fn emulator() -> PathBuf {
    "/usr/bin/qemu-system-x86_64".into()
}

fn emulator_user() -> String {
    "libvirt-qemu".to_owned()
}

fn libvirt_uri() -> String {
    "qemu:///system".to_owned()
}

/// The settings, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Who may ask, besides root: a user's name or number.
    pub agent_user: String,
    /// What executes guests.
    pub accelerator: Accelerator,
    /// What processor they see.
    pub cpu_model: CpuModel,
    /// What they start from.
    pub firmware: FirmwareChoice,
    /// Whether slots of a laboratory are taken.
    pub lab: bool,
    /// Where the process is asked.
    pub socket: PathBuf,
    /// What outlives a reboot.
    pub state_dir: PathBuf,
    /// QEMU.
    pub emulator: PathBuf,
    /// The user that QEMU runs as.
    pub emulator_user: String,
    /// Which libvirt.
    pub libvirt_uri: String,
    /// CPUs that the host keeps for itself.
    pub host_cpus: Vec<u32>,
    /// The disks that guests may have, by their identities; where none are named, all that orders name.
    pub disks: Option<Vec<String>>,
    /// The network of the guests.
    pub network: HostNetwork,
    /// The image cache.
    pub images: ImagesConfig,
    /// The devices that guests may have; none where slots have no devices.
    pub devices: Option<DeviceSettings>,
    /// How disks are wiped and read back.
    pub wipe: WipePolicy,
    /// How long stopping may take.
    pub stop: StopBudget,
    /// How long starting may take.
    pub ready: ReadyBudget,
}

impl Config {
    /// From a file.
    pub fn read(path: &Path) -> Result<Self, ConfigFault> {
        let unreadable = |why: String| ConfigFault::Unreadable { path: path.to_owned(), why };
        let text = (|| {
            let file = fs::File::open(path)?;
            let about = file.metadata()?;
            if about.len() > FILE_BYTES_MAX {
                return Err(io::Error::other("it is too large"));
            }
            // Whoever can write it can have root run any program.
            let own = about.uid() == 0 || about.uid() == rustix::process::geteuid().as_raw();
            if !own || about.mode() & 0o022 != 0 {
                let (mode, uid) = (about.mode() & 0o7777, about.uid());
                return Err(io::Error::other(format!(
                    "only root may write it, but it has mode {mode:o} of user {uid}"
                )));
            }
            io::read_to_string(file.take(FILE_BYTES_MAX))
        })();
        Self::parse(&text.map_err(|error| unreadable(error.to_string()))?)
    }

    /// From its text.
    pub fn parse(text: &str) -> Result<Self, ConfigFault> {
        let file: File = toml::from_str(text).map_err(|error| ConfigFault::Shape(error.to_string()))?;
        let cpu_model = match file.cpu_model.as_str() {
            "host-passthrough" => CpuModel::HostPassthrough,
            "maximum" => CpuModel::Maximum,
            name => CpuModel::Named(name.to_owned()),
        };
        let config = Self {
            network: network(file.network, &file.state_dir),
            agent_user: file.agent_user,
            accelerator: file.accelerator,
            cpu_model,
            firmware: file.firmware,
            lab: file.lab,
            socket: file.socket,
            state_dir: file.state_dir,
            emulator: file.emulator,
            emulator_user: file.emulator_user,
            libvirt_uri: file.libvirt_uri,
            host_cpus: file.host_cpus,
            disks: file.disks,
            images: file.images,
            devices: file.devices,
            wipe: file.wipe,
            stop: file.stop,
            ready: file.ready,
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigFault> {
        let rule = |field: &str, holds: bool, expected: &str, found: &dyn std::fmt::Debug| {
            let found = format!("{found:?}");
            let fault = ConfigFault::Field { field: field.to_owned(), expected: expected.to_owned(), found };
            if holds { Ok(()) } else { Err(fault) }
        };
        rule("agent_user", is_user(&self.agent_user), USER, &self.agent_user)?;
        rule("emulator_user", is_user(&self.emulator_user), USER, &self.emulator_user)?;
        let mut paths = vec![("socket", &self.socket), ("state_dir", &self.state_dir), ("emulator", &self.emulator)];
        if let FirmwareChoice::Uefi { code, vars_template } = &self.firmware {
            paths.extend([("firmware.code", code), ("firmware.vars_template", vars_template)]);
        }
        for (field, path) in paths {
            rule(field, is_plain_path(path), "an absolute path of letters, digits, / - _ and .", path)?;
        }
        let own = self.accelerator == Accelerator::Kvm || self.cpu_model != CpuModel::HostPassthrough;
        rule("cpu_model", own, "a model that software can be, since accelerator is tcg", &"host-passthrough")?;
        let named = !matches!(&self.cpu_model, CpuModel::Named(name) if !is_word(name));
        rule("cpu_model", named, "host-passthrough, maximum or the name of a CPU model", &self.cpu_model)?;
        let uri = self.libvirt_uri.starts_with("qemu") && self.libvirt_uri.bytes().all(|b| b.is_ascii_graphic());
        rule("libvirt_uri", uri, "the address of a libvirt for QEMU such as qemu:///system", &self.libvirt_uri)?;
        for disk in self.disks.iter().flatten() {
            let named = (1..=256).contains(&disk.len()) && disk.bytes().all(|b| b.is_ascii_graphic());
            rule("disks", named, "the identities of disks, as approvals write them", disk)?;
        }
        rule("images.bytes_max", self.images.bytes_max > 0, "more than 0", &self.images.bytes_max)?;
        for (id, key) in &self.images.trusted_keys {
            let known = disk::bulk::unhex(key).is_some_and(|bytes| bytes.len() == 32);
            rule(&format!("images.trusted_keys.{id}"), known, "64 lower-case hexadecimal digits", key)?;
        }
        if let Some((field, expected, found)) = self.devices.as_ref().and_then(|own| own.check(is_plain_path).err()) {
            rule(field, false, expected, &format_args!("{found}"))?;
        }
        rule("wipe.methods", !self.wipe.methods.is_empty(), "at least one method", &"none")?;
        for (field, seconds) in [
            ("stop.acpi_s", self.stop.acpi_s),
            ("stop.destroy_s", self.stop.destroy_s),
            ("ready.lease_s", self.ready.lease_s),
            ("ready.ssh_s", self.ready.ssh_s),
        ] {
            rule(field, (1..=86_400).contains(&seconds), "1 to 86400", &seconds)?;
        }
        self.network.check().map_err(|fault| ConfigFault::Shape(format!("network: {fault}")))
    }

    /// Whether the command line and the file agree about being a laboratory.
    pub fn lab_check(&self, lab: bool) -> Result<(), ConfigFault> {
        if self.lab == lab {
            return Ok(());
        }
        let expected = format!("{lab}, as on the command line");
        Err(ConfigFault::Field { field: "lab".to_owned(), expected, found: self.lab.to_string() })
    }

    /// The number of the agent's user.
    pub fn agent_uid(&self) -> Result<u32, ConfigFault> {
        user_ids(&self.agent_user, "agent_user").map(|(uid, _)| uid)
    }

    /// The numbers of the user and group that QEMU runs as.
    pub fn emulator_ids(&self) -> Result<(u32, u32), ConfigFault> {
        user_ids(&self.emulator_user, "emulator_user")
    }
}

const USER: &str = "a user's name or number";

fn network(file: NetworkConfig, state_dir: &Path) -> HostNetwork {
    let mut policy = Policy::default();
    policy.denied = file.denied.unwrap_or(policy.denied);
    policy.allowed = file.allowed;
    HostNetwork {
        bridge: file.bridge,
        datapath: file.datapath,
        subnet: file.subnet,
        gateway_ip: file.gateway_ip,
        gateway_mac: file.gateway_mac,
        dns: file.dns,
        uplink: file.uplink,
        namespace: file.namespace,
        dhcp_dir: file.dhcp_dir.unwrap_or_else(|| state_dir.join("dhcp")),
        lease_s: file.lease_s,
        nft_table: file.nft_table,
        policy,
        tools: Tools::default(),
    }
}

fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

fn is_user(text: &str) -> bool {
    is_word(text) && !text.starts_with('-')
}

fn is_plain_path(path: &Path) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    path.is_absolute() && path.to_str().is_some_and(|text| text.chars().all(good) && !text.contains(".."))
}

// From the list of users itself; services of the host have their users there and nowhere else.
fn user_ids(user: &str, field: &str) -> Result<(u32, u32), ConfigFault> {
    if let Ok(number) = user.parse() {
        return Ok((number, number));
    }
    let path = Path::new("/etc/passwd");
    let text = fs::read_to_string(path)
        .map_err(|error| ConfigFault::Unreadable { path: path.to_owned(), why: error.to_string() })?;
    users(&text).get(user).copied().ok_or_else(|| ConfigFault::Field {
        field: field.to_owned(),
        expected: "a user of this host".to_owned(),
        found: format!("{user:?}"),
    })
}

fn users(passwd: &str) -> BTreeMap<&str, (u32, u32)> {
    passwd
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next().filter(|name| !name.is_empty())?;
            let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
            Some((name, (uid, gid)))
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "config_tests.rs"]
pub(crate) mod tests;
