//! Why something was not done to a disk. A [`Refusal`] comes before anything was changed and names the check, what was
//! expected and what was found. A [`Fault`] is everything else that went wrong: after one of those the disk may hold anything.

use crate::identity::{DeviceNumber, Difference};
use serde::{Deserialize, Serialize};

/// A check that did not hold; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "check", rename_all = "snake_case", deny_unknown_fields)]
pub enum Refusal {
    /// There is nothing at the path.
    #[error("a disk was expected at {path}, but it cannot be looked at: {why}")]
    Missing {
        /// Where it was looked for.
        path: String,
        /// What the system said.
        why: String,
    },
    /// The path is something else.
    #[error("a block device was expected at {path}, but it is something else")]
    NotBlockDevice {
        /// The path.
        path: String,
    },
    /// Part of a disk.
    #[error("a whole disk was expected, but {device} is a partition")]
    Partition {
        /// Its kernel name.
        device: String,
    },
    /// It cannot be written.
    #[error("a disk that can be written was expected, but {device} is read-only")]
    ReadOnly {
        /// Its kernel name.
        device: String,
    },
    /// Neither NVMe nor a loop device.
    #[error("an NVMe disk or a loop device was expected, but {device} is neither")]
    UnknownKind {
        /// Its kernel name.
        device: String,
    },
    /// The system does not say what must be known.
    #[error("{what} must be known, but could not be read: {why}")]
    Unreadable {
        /// What was asked.
        what: String,
        /// Why there is no answer.
        why: String,
    },
    /// It, or a part of it, is mounted.
    #[error("no part of the disk may be mounted, but {device} is mounted at {point}")]
    Mounted {
        /// The disk or a partition of it.
        device: String,
        /// Where.
        point: String,
    },
    /// Another block device sits on it.
    #[error("nothing may sit on the disk, but {holder} sits on {device}")]
    Held {
        /// The disk or a partition of it.
        device: String,
        /// What sits on it.
        holder: String,
    },
    /// The system swaps to it.
    #[error("the system may not swap to the disk, but it swaps to {device}")]
    Swap {
        /// The disk or a partition of it.
        device: String,
    },
    /// A second loop device shows the same bytes.
    #[error("only {device} may show these bytes, but {other} shows them too")]
    Shared {
        /// The disk.
        device: String,
        /// The other loop device.
        other: String,
    },
    /// A process has it open.
    #[error("no process may have the disk open, but process {pid} ({program}) has")]
    OpenElsewhere {
        /// The process.
        pid: u32,
        /// Its name.
        program: String,
    },
    /// Somebody else holds it exclusively.
    #[error("{path} was to be opened exclusively, but somebody else holds it")]
    Busy {
        /// The path.
        path: String,
    },
    /// It could not be opened.
    #[error("{path} could not be opened: {why}")]
    NotOpened {
        /// The path.
        path: String,
        /// What the system said.
        why: String,
    },
    /// The path led to another device a moment later.
    #[error("{path} was device {expected}, but opening it gave device {found}")]
    PathMoved {
        /// The path.
        path: String,
        /// The device that was checked.
        expected: DeviceNumber,
        /// The device that was opened.
        found: DeviceNumber,
    },
    /// It is not the approved disk.
    #[error("the approved disk was expected, but {}", sentences(differences))]
    WrongDisk {
        /// In what it differs; never empty.
        differences: Vec<Difference>,
    },
    /// The image is not one that may be used.
    #[error("{0}")]
    Image(ImageRefusal),
    /// No method of the policy works on this disk.
    #[error("the disk can be wiped by none of the methods of the policy: {}", passed_over.join("; "))]
    NoMethod {
        /// Each method with the reason against it.
        passed_over: Vec<String>,
    },
    /// An input makes no sense.
    #[error("{what} was expected to be {expected}, but is {found}")]
    Input {
        /// Which input.
        what: String,
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
}

/// Why an image may not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "image_check", rename_all = "snake_case", deny_unknown_fields)]
pub enum ImageRefusal {
    /// A field of its catalogue entry is not valid.
    #[error("the image's {field} was expected to be {expected}, but is {found}")]
    Field {
        /// Which field.
        field: String,
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Signed with a key that is not trusted.
    #[error("the image was expected to be signed with a trusted key, but its key {key_id} is not one")]
    UnknownSigner {
        /// The key it names.
        key_id: String,
    },
    /// The signature does not fit.
    #[error("the image's entry was expected to carry a signature of key {key_id}, but it does not fit")]
    BadSignature {
        /// The key it names.
        key_id: String,
    },
    /// Not in the cache.
    #[error("the image {digest} was expected in the cache, but is not there")]
    NotCached {
        /// Its digest.
        digest: String,
    },
    /// The file is longer or shorter.
    #[error("the image was expected to be {expected} bytes long, but {found} came")]
    Length {
        /// By its entry.
        expected: u64,
        /// What was seen; more than expected is counted only to the first byte too many.
        found: u64,
    },
    /// The content is something else.
    #[error("the image was expected to have digest {expected}, but has {found}")]
    Digest {
        /// By its entry.
        expected: String,
        /// What was computed.
        found: String,
    },
    /// The file was written to after it was verified.
    #[error("the image {digest} was expected to stay as it was verified, but its file changed since")]
    Changed {
        /// Its digest.
        digest: String,
    },
    /// It points to other files, or is damaged, or asks for something odd.
    #[error("the image was expected to be a plain {format} file, but {found}")]
    NotPlain {
        /// Its format.
        format: String,
        /// What is wrong with it.
        found: String,
    },
    /// The disk is too small.
    #[error("the image needs a disk of {needed} bytes, but the disk has {found}")]
    DiskTooSmall {
        /// The larger of its virtual size and its minimum disk.
        needed: u64,
        /// The disk's size.
        found: u64,
    },
    /// It is larger than the cache, or all the cache holds is in use.
    #[error("the image needs {needed} bytes in the cache, but only {free} can be made free")]
    CacheFull {
        /// Its size.
        needed: u64,
        /// What can be had without touching what is pinned.
        free: u64,
    },
    /// Another fetch is under way.
    #[error("the cache was expected to be free for a fetch, but another fetch is under way")]
    CacheBusy,
}

/// Something that went wrong under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Refused before anything was changed.
    #[error("{refusal}")]
    Refused {
        /// The check.
        refusal: Refusal,
    },
    /// The system could not read or write.
    #[error("{what} failed at byte {offset}: {why}")]
    Io {
        /// What was done.
        what: String,
        /// Where.
        offset: u64,
        /// What the system said.
        why: String,
    },
    /// Fewer bytes came than there must be.
    #[error("{expected} bytes were expected at byte {offset}, but only {found} came")]
    ShortRead {
        /// Where.
        offset: u64,
        /// How many there must be.
        expected: u64,
        /// How many came.
        found: u64,
    },
    /// The disk under our hands became another one.
    #[error("the disk changed under way: {}", sentences(differences))]
    DiskChanged {
        /// In what it differs.
        differences: Vec<Difference>,
    },
    /// The disk's identity can no longer be read.
    #[error("the disk cannot be recognised any more: {why}")]
    DiskGone {
        /// Why.
        why: String,
    },
    /// A program failed, said too much or took too long.
    #[error("{why}")]
    Program {
        /// What happened.
        why: String,
    },
    /// A program's answer means nothing to us.
    #[error("the answer of {program} was not understood: {why}")]
    NotUnderstood {
        /// Which program.
        program: String,
        /// What is wrong with it.
        why: String,
    },
    /// No room on the file system of the cache.
    #[error("there is no room left under {path}")]
    NoRoom {
        /// Where.
        path: String,
    },
    /// What was written is not what was to be written.
    #[error("what was read back was expected to be {expected}, but is {found}")]
    ReadBackDiffers {
        /// What was written.
        expected: String,
        /// What was read.
        found: String,
    },
    /// The chosen method did not work. No other is tried.
    #[error("the method {method} failed: {why}")]
    MethodFailed {
        /// Which method.
        method: String,
        /// Why.
        why: String,
    },
    /// There is still something on the disk.
    #[error("the disk was expected to hold nothing, but {}", left(read_back))]
    NotClean {
        /// All that was read, and what was found.
        read_back: Box<crate::verify::ReadBack>,
    },
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { refusal }
    }
}

impl From<ImageRefusal> for Fault {
    fn from(refusal: ImageRefusal) -> Self {
        Self::Refused { refusal: Refusal::Image(refusal) }
    }
}

impl From<command::Fault> for Fault {
    fn from(fault: command::Fault) -> Self {
        Self::Program { why: fault.to_string() }
    }
}

impl Fault {
    /// A failed read or write.
    pub(crate) fn io(what: &str, offset: u64, error: &std::io::Error) -> Self {
        Self::Io { what: what.to_owned(), offset, why: error.to_string() }
    }
}

impl Refusal {
    pub(crate) fn unreadable(what: impl Into<String>, why: impl ToString) -> Self {
        Self::Unreadable { what: what.into(), why: why.to_string() }
    }
}

fn sentences(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn left(read_back: &crate::verify::ReadBack) -> String {
    let mut found: Vec<String> = read_back.signatures.iter().map(ToString::to_string).collect();
    found.extend(read_back.first_nonzero.map(|offset| format!("byte {offset} is not zero")));
    if found.is_empty() { "the read-back is not complete".to_owned() } else { found.join(", ") }
}
