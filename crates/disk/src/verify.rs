//! Reads a wiped disk back. All of it where that is quick enough, which is measured and not guessed; otherwise every place
//! where file systems and partition tables keep their roots, and samples at places nobody could know before: they follow
//! from the control plane's nonce, so whoever checks the proof can work them out again. The result says what was read.

use crate::{
    bulk::{self, Aligned, Range, ReadAt},
    fault::{Fault, Refusal},
    progress::Progress,
    signatures::{self, SignatureFound},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const MIB: u64 = 1024 * 1024;

/// How much of each end is always read.
pub const END_BYTES: u64 = 32 * MIB;

// Every place that is read begins and ends at a multiple of this, which every disk's block divides.
const GRAIN_BYTES: u64 = 65536;

/// How a disk is to be read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyPolicy {
    /// The whole disk is read if that takes no longer than this.
    pub whole_s_max: u64,
    /// How many samples otherwise.
    pub sample_count: u32,
    /// How long each of them is; a multiple of 64 KiB.
    pub sample_bytes: u64,
}

impl Default for VerifyPolicy {
    fn default() -> Self {
        Self { whole_s_max: 600, sample_count: 4096, sample_bytes: MIB }
    }
}

/// What was read of the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum VerifyMode {
    /// All of it.
    Whole,
    /// The roots, and samples.
    Sampled {
        /// The ranges where file systems and tables keep their roots.
        metadata: Vec<Range>,
        /// How many samples; [`sample_offsets`] gives their places again.
        sample_count: u32,
        /// How long each of them is.
        sample_bytes: u64,
    },
}

/// What was read back, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// What was read.
    pub mode: VerifyMode,
    /// The challenge that the places of samples follow from.
    pub nonce: String,
    /// How many bytes the disk has.
    pub size_bytes: u64,
    /// How many different bytes were read.
    pub bytes_read: u64,
    /// When reading began.
    pub started_us: u64,
    /// When it ended.
    pub ended_us: u64,
    /// The first byte that is not zero; reading ended there.
    pub first_nonzero: Option<u64>,
    /// The marks that were found.
    pub signatures: Vec<SignatureFound>,
}

impl ReadBack {
    /// Whether it shows an empty disk.
    pub fn is_clean(&self) -> bool {
        self.first_nonzero.is_none() && self.signatures.is_empty() && self.bytes_read > 0
    }
}

/// Whether all of a disk can be read in time, by what was read of it so far.
pub fn whole_is_quick(size_bytes: u64, read_bytes: u64, read_us: u64, whole_s_max: u64) -> bool {
    let whole_us = u128::from(size_bytes) * u128::from(read_us);
    read_bytes > 0 && whole_us <= u128::from(whole_s_max) * 1_000_000 * u128::from(read_bytes)
}

/// Where file systems and tables keep their roots: both ends, and the copies that they spread over a disk.
pub fn metadata_ranges(size_bytes: u64) -> Vec<Range> {
    let end = Range { offset: size_bytes.saturating_sub(END_BYTES), bytes: END_BYTES };
    let mut ranges = vec![Range { offset: 0, bytes: END_BYTES }, end];
    let copy = |offset: u64| Range { offset, bytes: GRAIN_BYTES };
    // btrfs at 64 MiB and 256 GiB; ext4 in the first group and the powers of 3, 5 and 7, for its usual blocks of 4 KiB and 1 KiB.
    ranges.extend([copy(64 * MIB), copy(256 * 1024 * MIB)]);
    for group_bytes in [128 * MIB, 8 * MIB] {
        ranges.push(copy(group_bytes));
        for base in [3_u64, 5, 7] {
            let powers = (1..).map_while(|power| base.checked_pow(power)?.checked_mul(group_bytes));
            ranges.extend(powers.take_while(|offset| *offset < size_bytes).map(copy));
        }
    }
    // XFS begins each quarter of a disk anew.
    ranges.extend((1..4).map(|quarter| copy(size_bytes / 4 * quarter)));
    merge(&ranges, size_bytes)
}

/// Sorted, aligned, cut at the end of the disk, and without overlap.
pub fn merge(ranges: &[Range], size_bytes: u64) -> Vec<Range> {
    let aligned = ranges.iter().filter(|range| range.offset < size_bytes && range.bytes > 0).map(|range| {
        let offset = range.offset / GRAIN_BYTES * GRAIN_BYTES;
        let end = range.end().checked_next_multiple_of(GRAIN_BYTES).unwrap_or(size_bytes).min(size_bytes);
        (offset, end)
    });
    let mut sorted: Vec<(u64, u64)> = aligned.collect();
    sorted.sort_unstable();
    let mut merged: Vec<(u64, u64)> = vec![];
    for (offset, end) in sorted {
        match merged.last_mut() {
            Some(last) if offset <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((offset, end)),
        }
    }
    merged.into_iter().map(|(offset, end)| Range { offset, bytes: end - offset }).collect()
}

/// The places of the samples, in the order they are drawn: sample `i` is the SHA-256 of a fixed text, the nonce and `i`, taken
/// as a number modulo how many places there are. Two samples may fall on one place.
pub fn sample_offsets(nonce: &str, size_bytes: u64, sample_bytes: u64, count: u32) -> Vec<u64> {
    let places = size_bytes / sample_bytes.max(1);
    let draw = |index: u32| {
        let mut digest = Sha256::new();
        digest.update(b"gpuaas-wipe-sample-v1\n");
        digest.update(format!("{}:{nonce}:{index}", nonce.len()).as_bytes());
        let drawn = digest.finalize().iter().take(16).fold(0_u128, |value, byte| value << 8 | u128::from(*byte));
        u64::try_from(drawn % u128::from(places)).unwrap_or(0) * sample_bytes
    };
    if places == 0 { vec![] } else { (0..count).map(draw).collect() }
}

/// Reads a disk back. `clock` tells microseconds. The result may show a disk that is not clean; [`verify`] makes that a fault.
pub fn read_back(
    source: &dyn ReadAt,
    size_bytes: u64,
    nonce: &str,
    policy: &VerifyPolicy,
    clock: &dyn Fn() -> u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<ReadBack, Fault> {
    check_policy(nonce, policy)?;
    let started_us = clock();
    let signatures = scan(source, size_bytes)?;
    let metadata = metadata_ranges(size_bytes);
    let first = bulk::zeros(source, &metadata, &mut |_| ())?;
    let quick = whole_is_quick(size_bytes, first.bytes, clock().saturating_sub(started_us), policy.whole_s_max);
    let mut read_back = ReadBack {
        mode: VerifyMode::Whole,
        nonce: nonce.to_owned(),
        size_bytes,
        bytes_read: first.bytes,
        started_us,
        ended_us: started_us,
        first_nonzero: first.first_nonzero,
        signatures,
    };
    let ranges = if quick {
        vec![Range { offset: 0, bytes: size_bytes }]
    } else {
        let (sample_count, sample_bytes) = (policy.sample_count, policy.sample_bytes);
        let samples = sample_offsets(nonce, size_bytes, sample_bytes, sample_count);
        let samples = samples.into_iter().map(|offset| Range { offset, bytes: sample_bytes });
        let all: Vec<Range> = metadata.iter().copied().chain(samples).collect();
        read_back.mode = VerifyMode::Sampled { metadata: metadata.clone(), sample_count, sample_bytes };
        merge(&all, size_bytes)
    };
    if first.first_nonzero.is_none() {
        let rest = without(&ranges, &metadata);
        let total: u64 = rest.iter().map(|range| range.bytes).sum();
        let begun = clock();
        let mut tell = |done: u64| progress(Progress::at(done, total, clock().saturating_sub(begun)));
        let second = bulk::zeros(source, &rest, &mut tell)?;
        read_back.bytes_read += second.bytes;
        read_back.first_nonzero = second.first_nonzero;
    }
    let expected: u64 = ranges.iter().map(|range| range.bytes).sum();
    if read_back.first_nonzero.is_none() && read_back.bytes_read != expected {
        return Err(Fault::ShortRead { offset: 0, expected, found: read_back.bytes_read });
    }
    read_back.ended_us = clock();
    Ok(read_back)
}

/// Reads a disk back and answers only if it is clean.
pub fn verify(
    source: &dyn ReadAt,
    size_bytes: u64,
    nonce: &str,
    policy: &VerifyPolicy,
    clock: &dyn Fn() -> u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<ReadBack, Fault> {
    let read_back = read_back(source, size_bytes, nonce, policy, clock, progress)?;
    if read_back.is_clean() { Ok(read_back) } else { Err(Fault::NotClean { read_back: Box::new(read_back) }) }
}

fn check_policy(nonce: &str, policy: &VerifyPolicy) -> Result<(), Refusal> {
    let input = |what: &str, holds: bool, expected: &str, found: String| {
        let refusal = Refusal::Input { what: what.to_owned(), expected: expected.to_owned(), found };
        if holds { Ok(()) } else { Err(refusal) }
    };
    let known = (16..=256).contains(&nonce.len());
    input("the nonce", known, "16 to 256 bytes long", format!("{} bytes long", nonce.len()))?;
    let counted = (1..=1 << 20).contains(&policy.sample_count);
    input("the number of samples", counted, "1 to 1048576", policy.sample_count.to_string())?;
    let bytes = policy.sample_bytes;
    let whole = (GRAIN_BYTES..=END_BYTES).contains(&bytes) && bytes.is_multiple_of(GRAIN_BYTES);
    input("the length of a sample", whole, "a multiple of 65536 up to 33554432", bytes.to_string())
}

fn scan(source: &dyn ReadAt, size_bytes: u64) -> Result<Vec<SignatureFound>, Fault> {
    let each = signatures::END_BYTES.min(size_bytes);
    let count = usize::try_from(each).unwrap_or(0);
    let (mut head, mut tail) = (Aligned::new(count), Aligned::new(count));
    bulk::read_exact(source, head.bytes_mut(), 0)?;
    bulk::read_exact(source, tail.bytes_mut(), size_bytes - each)?;
    Ok(signatures::find(head.bytes(), tail.bytes(), size_bytes))
}

/// What is left of some ranges without others; both sorted and without overlap.
pub fn without(ranges: &[Range], others: &[Range]) -> Vec<Range> {
    let mut left = vec![];
    for range in ranges {
        let mut from = range.offset;
        for other in others.iter().filter(|other| other.end() > range.offset && other.offset < range.end()) {
            if other.offset > from {
                left.push(Range { offset: from, bytes: other.offset - from });
            }
            from = from.max(other.end());
        }
        if from < range.end() {
            left.push(Range { offset: from, bytes: range.end() - from });
        }
    }
    left
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "verify_tests.rs"]
mod tests;
