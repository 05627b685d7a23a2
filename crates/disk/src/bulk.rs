//! Much data to and from a disk, fast: large aligned pieces past the page cache, several readers at once. Every error is a
//! fault that names the byte; a piece that comes short is one too, because a disk has no end before its end.

use crate::fault::Fault;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};

/// How much is read or written at once.
pub const PIECE_BYTES: usize = 4 * 1024 * 1024;

/// How many pieces are in flight: one is read while another is looked at. More only take turns on the same cores.
pub const READERS: usize = 2;

const ALIGNMENT: usize = 4096;

/// A range of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Its first byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Range {
    /// The first byte after it.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// What can be read at a place; a disk, or a test's idea of one.
pub trait ReadAt: Sync {
    /// Reads at most one buffer.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

/// Memory that the kernel can move to and from a disk without a copy.
#[derive(Debug)]
pub struct Aligned {
    storage: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Aligned {
    /// Zeros.
    pub fn new(bytes: usize) -> Self {
        let storage = vec![0; bytes + ALIGNMENT];
        let start = storage.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { storage, start, bytes }
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.bytes]
    }

    /// All of it, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.start + self.bytes]
    }
}

/// Fills the buffer from the place, or says what went wrong.
pub fn read_exact(source: &dyn ReadAt, buffer: &mut [u8], offset: u64) -> Result<(), Fault> {
    let mut filled = 0;
    while filled < buffer.len() {
        let at = offset + filled as u64;
        match source.read_at(&mut buffer[filled..], at) {
            Ok(0) => return Err(Fault::ShortRead { offset, expected: buffer.len() as u64, found: filled as u64 }),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(Fault::io("reading the disk", at, &error)),
        }
    }
    Ok(())
}

/// Cuts ranges into pieces, in order.
pub fn pieces(ranges: &[Range]) -> impl Iterator<Item = Range> + Send {
    let each = PIECE_BYTES as u64;
    ranges.iter().flat_map(move |range| {
        let count = range.bytes.div_ceil(each);
        (0..count).map(move |index| {
            let offset = range.offset + index * each;
            Range { offset, bytes: each.min(range.end() - offset) }
        })
    })
}

/// What reading for zeros found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zeros {
    /// How many bytes were read.
    pub bytes: u64,
    /// The first byte that is not zero, in the order of the ranges; reading stops there.
    pub first_nonzero: Option<u64>,
}

/// Reads the ranges, which come in rising order, and looks for a byte that is not zero.
pub fn zeros(source: &dyn ReadAt, ranges: &[Range], progress: &mut dyn FnMut(u64)) -> Result<Zeros, Fault> {
    let work = Mutex::new(Some(pieces(ranges)));
    let (tell, told) = mpsc::channel::<Result<(u64, Option<u64>), Fault>>();
    let mut zeros = Zeros { bytes: 0, first_nonzero: None };
    let mut fault = None;
    thread::scope(|scope| {
        for _ in 0..READERS {
            let (work, tell) = (&work, tell.clone());
            scope.spawn(move || {
                let mut buffer = Aligned::new(PIECE_BYTES);
                // Taken in its own statement: the next piece must not be held back while this one is read.
                loop {
                    let Some(piece) = open(work).as_mut().and_then(Iterator::next) else { return };
                    let seen = zeros_in(source, &mut buffer, piece);
                    // Pieces are handed out in order, so all before this one are already on their way.
                    if !matches!(seen, Ok((_, None))) {
                        open(work).take();
                    }
                    if tell.send(seen).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        for seen in told {
            match seen {
                Ok((bytes, nonzero)) => {
                    zeros.bytes += bytes;
                    zeros.first_nonzero = [zeros.first_nonzero, nonzero].into_iter().flatten().min();
                    progress(zeros.bytes);
                }
                Err(error) => fault = fault.take().or(Some(error)),
            }
        }
    });
    fault.map_or(Ok(zeros), Err)
}

fn open<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn zeros_in(source: &dyn ReadAt, buffer: &mut Aligned, piece: Range) -> Result<(u64, Option<u64>), Fault> {
    let count = usize::try_from(piece.bytes).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
    let part = &mut buffer.bytes_mut()[..count];
    // What was there before must not pass for what was read.
    part[0] = 0xff;
    read_exact(source, part, piece.offset)?;
    Ok((piece.bytes, first_nonzero(part).map(|at| piece.offset + at as u64)))
}

/// The first byte that is not zero.
pub fn first_nonzero(bytes: &[u8]) -> Option<usize> {
    static ZEROS: [u8; 65536] = [0; 65536];
    for (index, block) in bytes.chunks(ZEROS.len()).enumerate() {
        // Comparing whole blocks is as fast as memory; only the block that differs is looked at byte by byte.
        if block != &ZEROS[..block.len()] {
            return block.iter().position(|byte| *byte != 0).map(|at| index * ZEROS.len() + at);
        }
    }
    None
}

/// The digest of a range. One thread reads ahead while the other computes. The last piece is read up to a multiple of
/// `block_bytes`, as a disk wants it; what is beyond the range is not part of the digest.
pub fn sha256(
    source: &dyn ReadAt,
    range: Range,
    block_bytes: u32,
    progress: &mut dyn FnMut(u64),
) -> Result<[u8; 32], Fault> {
    let block = usize::try_from(block_bytes).unwrap_or(1).clamp(1, PIECE_BYTES);
    let (give, take) = mpsc::sync_channel::<Result<(Aligned, usize), Fault>>(2);
    let (back, spare) = mpsc::channel::<Aligned>();
    for _ in 0..3 {
        let _ = back.send(Aligned::new(PIECE_BYTES));
    }
    thread::scope(|scope| {
        scope.spawn(move || {
            for piece in pieces(&[range]) {
                let Ok(mut buffer) = spare.recv() else { return };
                let count = usize::try_from(piece.bytes).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
                let whole = count.next_multiple_of(block).min(PIECE_BYTES);
                let read = read_exact(source, &mut buffer.bytes_mut()[..whole], piece.offset).map(|()| (buffer, count));
                let ends = read.is_err();
                if give.send(read).is_err() || ends {
                    return;
                }
            }
        });
        let (mut digest, mut done) = (Sha256::new(), 0);
        for read in take {
            let (buffer, count) = read?;
            digest.update(&buffer.bytes()[..count]);
            done += count as u64;
            progress(done);
            let _ = back.send(buffer);
        }
        if done != range.bytes {
            return Err(Fault::ShortRead { offset: range.offset, expected: range.bytes, found: done });
        }
        Ok(digest.finalize().into())
    })
}

/// Writes zeros over a range.
pub fn write_zeros(file: &File, range: Range, progress: &mut dyn FnMut(u64)) -> Result<(), Fault> {
    let buffer = Aligned::new(PIECE_BYTES);
    let mut done = 0;
    for piece in pieces(&[range]) {
        let count = usize::try_from(piece.bytes).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        file.write_all_at(&buffer.bytes()[..count], piece.offset)
            .map_err(|error| Fault::io("writing the disk", piece.offset, &error))?;
        done += piece.bytes;
        progress(done);
    }
    file.sync_data().map_err(|error| Fault::io("flushing the disk", range.end(), &error))
}

/// Bytes as text.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text as bytes; lower case only, so that there is one way to write them.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| if let [high, low] = pair { Some(digit(*high)? << 4 | digit(*low)?) } else { None }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "bulk_tests.rs"]
pub(crate) mod tests;
