//! Wipes a disk by a method that its policy names and the disk promises. The policy is an ordered list; the first method that
//! the disk has is the one, and why others were passed over is kept. When the chosen one fails, that is a fault: nothing
//! weaker is tried in its place. Everything goes through the exclusively opened descriptor.

use crate::{
    bulk::{self, Range},
    exclusive::ExclusiveDisk,
    fault::{Fault, Refusal},
    identity::{self, DiskIdentity, HostView},
    nvme::{self, NvmeCapabilities, SanitizeAction, SanitizeLimits, SanitizeNext, SanitizeWatch},
    progress::Progress,
    tools::Tools,
    verify::{self, ReadBack, VerifyPolicy},
};
use rustix::fs::FallocateFlags;
use serde::{Deserialize, Serialize};
use std::{fmt, thread, time::Duration};

/// What the erase of an NVMe format does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecureErase {
    /// Erases the data: SES 1.
    UserData,
    /// Forgets the key: SES 2.
    Crypto,
}

impl SecureErase {
    /// Its number in the command.
    pub fn code(self) -> u8 {
        match self {
            Self::UserData => 1,
            Self::Crypto => 2,
        }
    }
}

/// A way to wipe a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case", deny_unknown_fields)]
pub enum WipeMethod {
    /// The whole NVMe disk, with all its hidden blocks.
    NvmeSanitize {
        /// How.
        action: SanitizeAction,
    },
    /// The NVMe namespace.
    NvmeFormat {
        /// How.
        erase: SecureErase,
    },
    /// The disk forgets every block, and the kernel sees to it that they read as zeros.
    Discard,
    /// Zeros over every block.
    Overwrite,
}

impl fmt::Display for WipeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NvmeSanitize { action } => write!(f, "nvme_sanitize({})", action.code()),
            Self::NvmeFormat { erase } => write!(f, "nvme_format(ses {})", erase.code()),
            Self::Discard => f.write_str("discard"),
            Self::Overwrite => f.write_str("overwrite"),
        }
    }
}

/// What a disk can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// What an NVMe disk says; nothing for other disks.
    pub nvme: Option<NvmeCapabilities>,
    /// How much it can forget at once; 0 means it cannot.
    pub discard_bytes_max: u64,
    /// How much it can zero at once by itself; 0 means it cannot.
    pub write_zeroes_bytes_max: u64,
}

/// How disks are to be wiped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WipePolicy {
    /// The methods that will do, the most wanted first.
    pub methods: Vec<WipeMethod>,
    /// How long a format may take.
    pub format_s_max: u64,
    /// How long a sanitize may take.
    pub sanitize: SanitizeLimits,
    /// How the disk is read back.
    pub verify: VerifyPolicy,
}

impl Default for WipePolicy {
    fn default() -> Self {
        Self {
            methods: vec![
                WipeMethod::NvmeFormat { erase: SecureErase::UserData },
                WipeMethod::Discard,
                WipeMethod::Overwrite,
            ],
            format_s_max: 1800,
            sanitize: SanitizeLimits::default(),
            verify: VerifyPolicy::default(),
        }
    }
}

/// The chosen method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// It.
    pub method: WipeMethod,
    /// The methods before it in the list, with the reason against each.
    pub passed_over: Vec<String>,
}

/// An erase that was done; what it is worth, reading back tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erased {
    /// How.
    pub choice: Choice,
    /// Which disk it was before.
    pub before: DiskIdentity,
    /// Which disk it was after.
    pub after: DiskIdentity,
    /// When it began.
    pub started_us: u64,
    /// When it ended.
    pub ended_us: u64,
    /// How many bytes of the disk it reached.
    pub bytes: u64,
}

/// All that shows that a disk holds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WipeEvidence {
    /// How it was erased.
    pub erased: Erased,
    /// What was read of it then.
    pub read_back: ReadBack,
    /// Which disk it was after that.
    pub identity_after: DiskIdentity,
}

/// What a wipe is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WipeStage {
    /// Erasing.
    Erase,
    /// Reading back.
    ReadBack,
}

/// The first method of the policy that the disk has.
pub fn choose(policy: &WipePolicy, disk: &Capabilities) -> Result<Choice, Refusal> {
    let mut passed_over = vec![];
    for method in &policy.methods {
        match against(*method, disk) {
            None => return Ok(Choice { method: *method, passed_over }),
            Some(why) => passed_over.push(format!("{method}: {why}")),
        }
    }
    Err(Refusal::NoMethod { passed_over })
}

// Why a disk cannot be wiped in a way, if it cannot.
fn against(method: WipeMethod, disk: &Capabilities) -> Option<String> {
    let no_nvme = || "it is no NVMe disk".to_owned();
    let not_alone = |namespaces: u32| format!("it would reach all {namespaces} namespaces of the disk");
    let because = |holds: bool, why: &str| holds.then(|| why.to_owned());
    match (method, &disk.nvme) {
        (WipeMethod::NvmeSanitize { .. } | WipeMethod::NvmeFormat { .. }, None) => Some(no_nvme()),
        (WipeMethod::NvmeSanitize { action }, Some(nvme)) => {
            let has = match action {
                SanitizeAction::Block => nvme.sanitize_block,
                SanitizeAction::Crypto => nvme.sanitize_crypto,
                SanitizeAction::Overwrite => nvme.sanitize_overwrite,
            };
            because(!has, "the disk has no such sanitize")
                .or_else(|| (nvme.namespaces != 1).then(|| not_alone(nvme.namespaces)))
        }
        (WipeMethod::NvmeFormat { erase }, Some(nvme)) => {
            let has = nvme.format && (erase == SecureErase::UserData || nvme.format_crypto);
            let reaches = nvme.format_reaches_all && nvme.namespaces != 1;
            because(!has, "the disk has no such format").or_else(|| reaches.then(|| not_alone(nvme.namespaces)))
        }
        // The kernel frees blocks with a promise of zeros by the same command that writes zeros.
        (WipeMethod::Discard, _) => because(
            disk.discard_bytes_max == 0 || disk.write_zeroes_bytes_max == 0,
            "the disk does not promise zeros for what it forgets",
        ),
        (WipeMethod::Overwrite, _) => None,
    }
}

/// What the kernel says a disk can do.
pub fn queue_capabilities(host: &HostView, disk: &ExclusiveDisk) -> Result<(u64, u64), Refusal> {
    let folder = identity::folder(host, disk.number())?;
    Ok((
        identity::parsed(&folder, "queue/discard_max_bytes")?,
        identity::parsed(&folder, "queue/write_zeroes_max_bytes")?,
    ))
}

/// What a disk can do, asked now.
pub fn capabilities(disk: &ExclusiveDisk, tools: &Tools) -> Result<Capabilities, Fault> {
    let (discard_bytes_max, write_zeroes_bytes_max) = queue_capabilities(disk.host(), disk)?;
    let nvme = match disk.identity() {
        DiskIdentity::Loop(_) => None,
        DiskIdentity::Nvme(known) => {
            let ask = |arguments: &[&str]| {
                let program = tools.nvme(command::TIME_MAX).arg(arguments[0]).arg(disk.path_for_programs());
                program.args(&arguments[1..]).args(["-o", "json"]).run().map(|said| said.out)
            };
            let id_ctrl = ask(&["id-ctrl"])?;
            let (model, serial) = nvme::model_and_serial(&id_ctrl)?;
            if (&model, &serial) != (&known.model, &known.serial) {
                let why = format!("nvme speaks of {model:?} {serial:?}, not of {:?} {:?}", known.model, known.serial);
                return Err(Fault::DiskGone { why });
            }
            let all: &[&str] = if nvme::manages_namespaces(&id_ctrl)? { &["list-ns", "--all"] } else { &["list-ns"] };
            let namespaces = nvme::namespaces(&ask(all)?, known.namespace)?;
            Some(nvme::capabilities(&id_ctrl, namespaces)?)
        }
    };
    Ok(Capabilities { nvme, discard_bytes_max, write_zeroes_bytes_max })
}

/// Erases a disk by the first method of the policy that it has. `clock` tells microseconds.
pub fn erase(
    disk: &ExclusiveDisk,
    policy: &WipePolicy,
    tools: &Tools,
    clock: &dyn Fn() -> u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<Erased, Fault> {
    let choice = choose(policy, &capabilities(disk, tools)?)?;
    let before = disk.recheck()?;
    let started_us = clock();
    let bytes = disk.size_bytes();
    let mut tell = |done: u64| progress(Progress::at(done, bytes, clock().saturating_sub(started_us)));
    match choice.method {
        WipeMethod::Overwrite => bulk::write_zeros(disk.file(), Range { offset: 0, bytes }, &mut tell),
        WipeMethod::Discard => discard(disk, &mut tell),
        WipeMethod::NvmeFormat { erase } => format(disk, erase, policy, tools),
        WipeMethod::NvmeSanitize { action } => sanitize(disk, action, policy, tools, clock, &mut tell),
    }
    .map_err(|fault| failed(choice.method, &fault))?;
    let after = disk.recheck()?;
    Ok(Erased { choice, before, after, started_us, ended_us: clock(), bytes })
}

/// Erases a disk, reads it back, and answers only if it holds nothing.
pub fn wipe(
    disk: &ExclusiveDisk,
    policy: &WipePolicy,
    nonce: &str,
    tools: &Tools,
    clock: &dyn Fn() -> u64,
    progress: &mut dyn FnMut(WipeStage, Progress),
) -> Result<WipeEvidence, Fault> {
    let erased = erase(disk, policy, tools, clock, &mut |done| progress(WipeStage::Erase, done))?;
    let (read_back, identity_after) =
        prove(disk, &policy.verify, nonce, clock, &mut |done| progress(WipeStage::ReadBack, done))?;
    Ok(WipeEvidence { erased, read_back, identity_after })
}

/// Reads a disk back, answers only if it holds nothing, and says which disk that was.
pub fn prove(
    disk: &ExclusiveDisk,
    policy: &VerifyPolicy,
    nonce: &str,
    clock: &dyn Fn() -> u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<(ReadBack, DiskIdentity), Fault> {
    let read_back = verify::verify(disk.file(), disk.size_bytes(), nonce, policy, clock, progress)?;
    Ok((read_back, disk.recheck()?))
}

fn failed(method: WipeMethod, fault: &Fault) -> Fault {
    match fault {
        Fault::MethodFailed { why, .. } => Fault::MethodFailed { method: method.to_string(), why: why.clone() },
        other => Fault::MethodFailed { method: method.to_string(), why: other.to_string() },
    }
}

// With these flags the kernel makes the range read as zeros without writing them itself, or refuses.
fn discard(disk: &ExclusiveDisk, tell: &mut dyn FnMut(u64)) -> Result<(), Fault> {
    const STEP_BYTES: u64 = 1 << 30;
    let size = disk.size_bytes();
    let mut offset = 0;
    while offset < size {
        let bytes = STEP_BYTES.min(size - offset);
        rustix::fs::fallocate(disk.file(), FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes)
            .map_err(|error| Fault::io("discarding", offset, &error.into()))?;
        offset += bytes;
        tell(offset);
    }
    disk.file().sync_all().map_err(|error| Fault::io("flushing the disk", size, &error))
}

fn format(disk: &ExclusiveDisk, erase: SecureErase, policy: &WipePolicy, tools: &Tools) -> Result<(), Fault> {
    let DiskIdentity::Nvme(known) = disk.identity() else {
        return Err(Fault::Program { why: "only an NVMe disk can be formatted".to_owned() });
    };
    tools
        .nvme(Duration::from_secs(policy.format_s_max.saturating_add(10)))
        .arg("format")
        .arg(disk.path_for_programs())
        .arg(format!("--namespace-id={}", known.namespace))
        .arg(format!("--ses={}", erase.code()))
        .arg(format!("--timeout={}", policy.format_s_max.saturating_mul(1000)))
        // Ours is the claim that it would ask for.
        .arg("--force")
        .run()?;
    disk.file().sync_all().map_err(|error| Fault::io("flushing the disk", 0, &error))
}

fn sanitize(
    disk: &ExclusiveDisk,
    action: SanitizeAction,
    policy: &WipePolicy,
    tools: &Tools,
    clock: &dyn Fn() -> u64,
    tell: &mut dyn FnMut(u64),
) -> Result<(), Fault> {
    let path = disk.path_for_programs();
    let mut command = tools.nvme(command::TIME_MAX).arg("sanitize").arg(&path);
    command = command.arg(format!("--sanact={}", action.code()));
    if action == SanitizeAction::Overwrite {
        command = command.args(["--owpass=1", "--ovrpat=0"]);
    }
    command.run()?;
    let mut watch = SanitizeWatch::new(action, clock(), policy.sanitize);
    loop {
        let said = tools.nvme(command::TIME_MAX).arg("sanitize-log").arg(&path).args(["-o", "json"]).run()?;
        match watch.page(nvme::sanitize_page(&said.out)?, clock())? {
            SanitizeNext::Done => break,
            SanitizeNext::Wait { of_65536 } => {
                let done = u128::from(disk.size_bytes()) * u128::from(of_65536) / 65536;
                tell(u64::try_from(done).unwrap_or(0));
                thread::sleep(Duration::from_millis(policy.sanitize.look_every_ms.clamp(100, 60_000)));
            }
        }
    }
    disk.file().sync_all().map_err(|error| Fault::io("flushing the disk", 0, &error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "wipe_tests.rs"]
mod tests;
