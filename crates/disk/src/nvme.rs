//! What an NVMe disk says of itself, as `nvme -o json` writes it: what it can erase, which namespaces it has, and how far a
//! sanitize is. All of it is read by pure functions; an answer that is not understood is a fault, never a "probably fine".

use crate::fault::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What sanitize does to the whole disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SanitizeAction {
    /// Erases every block.
    Block,
    /// Forgets the key.
    Crypto,
    /// Writes over every block.
    Overwrite,
}

impl SanitizeAction {
    /// Its number in the command.
    pub fn code(self) -> u8 {
        match self {
            Self::Block => 2,
            Self::Overwrite => 3,
            Self::Crypto => 4,
        }
    }
}

/// What an NVMe disk can erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvmeCapabilities {
    /// Sanitize by erasing blocks.
    pub sanitize_block: bool,
    /// Sanitize by forgetting the key.
    pub sanitize_crypto: bool,
    /// Sanitize by writing over.
    pub sanitize_overwrite: bool,
    /// Format at all.
    pub format: bool,
    /// Format by forgetting the key.
    pub format_crypto: bool,
    /// A format or its erase reaches every namespace of the disk.
    pub format_reaches_all: bool,
    /// How many namespaces the disk has. Sanitize reaches all of them.
    pub namespaces: u32,
}

fn not_understood(why: impl Into<String>) -> Fault {
    Fault::NotUnderstood { program: "nvme".to_owned(), why: why.into() }
}

fn object(said: &str) -> Result<Value, Fault> {
    let value: Value = serde_json::from_str(said).map_err(|error| not_understood(error.to_string()))?;
    if value.is_object() { Ok(value) } else { Err(not_understood("it is no object")) }
}

fn number(value: &Value, name: &str) -> Result<u64, Fault> {
    value.get(name).and_then(Value::as_u64).ok_or_else(|| not_understood(format!("there is no number {name}")))
}

/// Whether the disk can manage namespaces, and so may have some that are not attached.
pub fn manages_namespaces(id_ctrl: &str) -> Result<bool, Fault> {
    Ok(number(&object(id_ctrl)?, "oacs")? & 1 << 3 != 0)
}

/// Reads `nvme id-ctrl -o json`, with the number of namespaces from [`namespaces`].
pub fn capabilities(id_ctrl: &str, namespaces: u32) -> Result<NvmeCapabilities, Fault> {
    let said = object(id_ctrl)?;
    let (commands, format, sanitize) = (number(&said, "oacs")?, number(&said, "fna")?, number(&said, "sanicap")?);
    Ok(NvmeCapabilities {
        sanitize_crypto: sanitize & 1 != 0,
        sanitize_block: sanitize & 1 << 1 != 0,
        sanitize_overwrite: sanitize & 1 << 2 != 0,
        format: commands & 1 << 1 != 0,
        format_reaches_all: format & 0b11 != 0,
        format_crypto: format & 1 << 2 != 0,
        namespaces,
    })
}

/// The model and serial number that `nvme id-ctrl -o json` gives, to hold against what sysfs gives.
pub fn model_and_serial(id_ctrl: &str) -> Result<(String, String), Fault> {
    let said = object(id_ctrl)?;
    let text = |name: &str| {
        let found = said.get(name).and_then(Value::as_str).map(|text| text.trim().to_owned());
        found.filter(|text| !text.is_empty()).ok_or_else(|| not_understood(format!("there is no text {name}")))
    };
    Ok((text("mn")?, text("sn")?))
}

/// Reads `nvme list-ns -o json`: how many namespaces there are, one of which must be ours.
pub fn namespaces(list_ns: &str, ours: u32) -> Result<u32, Fault> {
    let said = object(list_ns)?;
    let list =
        said.get("nsid_list").and_then(Value::as_array).ok_or_else(|| not_understood("there is no nsid_list"))?;
    let ids = list.iter().map(|entry| number(entry, "nsid")).collect::<Result<Vec<_>, _>>()?;
    if !ids.contains(&u64::from(ours)) {
        return Err(not_understood(format!("namespace {ours} is not among {ids:?}")));
    }
    u32::try_from(ids.len()).map_err(|error| not_understood(error.to_string()))
}

/// How a sanitize stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SanitizeStatus {
    /// There was none.
    Never,
    /// It is done, and what it erased is free.
    Done,
    /// It is done, but what it erased was kept as it is.
    DoneNotFreed,
    /// It runs; 65536 would be all.
    Running {
        /// How far it is.
        of_65536: u32,
    },
    /// It failed.
    Failed,
}

/// One reading of the sanitize log page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SanitizePage {
    /// How it stands.
    pub status: SanitizeStatus,
    /// Which action it is about.
    pub action: u64,
}

/// Reads `nvme sanitize-log -o json`. The page of the one disk may stand below the disk's name.
pub fn sanitize_page(said: &str) -> Result<SanitizePage, Fault> {
    let said = object(said)?;
    let page = match said.as_object().map(|map| map.values().collect::<Vec<_>>()) {
        Some(pages) if said.get("sstat").is_none() => match pages.as_slice() {
            [page] => *page,
            _ => return Err(not_understood("it is not the page of one disk")),
        },
        _ => &said,
    };
    let progress = number(page, "sprog")?;
    let of_65536 = u32::try_from(progress).ok().filter(|part| *part <= 65535);
    let of_65536 = of_65536.ok_or_else(|| not_understood(format!("{progress} is no progress")))?;
    let stands = page.get("sstat").and_then(|sstat| sstat.get("status")).and_then(Value::as_str).unwrap_or_default();
    // `(2) Sanitize in Progress.`: the number is the device's, the words are the program's.
    let code = stands.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(code, _)| code);
    let status = match code {
        Some("0") => SanitizeStatus::Never,
        Some("1") => SanitizeStatus::Done,
        Some("2") => SanitizeStatus::Running { of_65536 },
        Some("3") => SanitizeStatus::Failed,
        Some("4") => SanitizeStatus::DoneNotFreed,
        _ => return Err(not_understood(format!("{stands:?} is no status of a sanitize"))),
    };
    Ok(SanitizePage { status, action: number(page, "cdw10_info")? & 0b111 })
}

/// Watches a sanitize from page to page.
#[derive(Debug, Clone)]
pub struct SanitizeWatch {
    action: SanitizeAction,
    started_us: u64,
    moved_us: u64,
    furthest: u32,
    limits: SanitizeLimits,
}

/// How long a sanitize may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitizeLimits {
    /// In all.
    pub total_s_max: u64,
    /// Without getting further.
    pub still_s_max: u64,
    /// Between two looks.
    pub look_every_ms: u64,
}

impl Default for SanitizeLimits {
    fn default() -> Self {
        Self { total_s_max: 6 * 3600, still_s_max: 1800, look_every_ms: 1000 }
    }
}

/// What a watched sanitize comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SanitizeNext {
    /// Look again later.
    Wait {
        /// How far it is.
        of_65536: u32,
    },
    /// It is done.
    Done,
}

impl SanitizeWatch {
    /// Begins when the command was accepted.
    pub fn new(action: SanitizeAction, now_us: u64, limits: SanitizeLimits) -> Self {
        Self { action, started_us: now_us, moved_us: now_us, furthest: 0, limits }
    }

    /// Takes the next page.
    pub fn page(&mut self, page: SanitizePage, now_us: u64) -> Result<SanitizeNext, Fault> {
        let failed = |why: String| Err(Fault::MethodFailed { method: "nvme_sanitize".to_owned(), why });
        // The page is about the last sanitize there was. One of another kind is not ours.
        if page.action != u64::from(self.action.code()) {
            return failed(format!("the log is about action {} where {} was begun", page.action, self.action.code()));
        }
        match page.status {
            SanitizeStatus::Done => return Ok(SanitizeNext::Done),
            SanitizeStatus::Running { of_65536 } => {
                if of_65536 > self.furthest {
                    (self.furthest, self.moved_us) = (of_65536, now_us);
                }
            }
            SanitizeStatus::Never => return failed("the disk says it was never sanitized".to_owned()),
            SanitizeStatus::Failed => return failed("the disk says it failed".to_owned()),
            SanitizeStatus::DoneNotFreed => return failed("the disk kept what it erased".to_owned()),
        }
        let passed = |since: u64| now_us.saturating_sub(since) / 1_000_000;
        if passed(self.started_us) >= self.limits.total_s_max {
            return failed(format!("it did not end within {} s", self.limits.total_s_max));
        }
        if passed(self.moved_us) >= self.limits.still_s_max {
            return failed(format!("it stood still for {} s", self.limits.still_s_max));
        }
        Ok(SanitizeNext::Wait { of_65536: self.furthest })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "nvme_tests.rs"]
mod tests;
