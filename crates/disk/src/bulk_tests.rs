//! Disks of memory: whole, dirty, failing and too short.

use super::*;
use proptest::prelude::*;

pub(crate) struct Memory {
    pub(crate) bytes: Vec<u8>,
    pub(crate) fails_at: Option<u64>,
    pub(crate) ends_at: u64,
}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], fails_at: None, ends_at: bytes as u64 }
    }
}

impl ReadAt for Memory {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.fails_at.is_some_and(|at| (offset..offset + buffer.len() as u64).contains(&at)) {
            return Err(io::Error::from_raw_os_error(5));
        }
        let at = usize::try_from(offset.min(self.ends_at)).unwrap();
        // Never all at once, as a disk may.
        let end = usize::try_from(self.ends_at).unwrap();
        let count = (end - at).min(buffer.len()).min(1_000_000);
        buffer[..count].copy_from_slice(&self.bytes[at..at + count]);
        Ok(count)
    }
}

const BYTES: usize = 10 * PIECE_BYTES + 4096;

fn whole() -> [Range; 1] {
    [Range { offset: 0, bytes: BYTES as u64 }]
}

#[test]
fn zeros_are_read_to_the_end() {
    let mut last = 0;
    let found = zeros(&Memory::new(BYTES), &whole(), &mut |done| last = done).unwrap();
    assert_eq!((found, last), (Zeros { bytes: BYTES as u64, first_nonzero: None }, BYTES as u64));
}

#[test]
fn the_first_byte_that_is_not_zero_is_named() {
    for dirty in [vec![0], vec![BYTES - 1], vec![PIECE_BYTES - 1, PIECE_BYTES, 9 * PIECE_BYTES], vec![70_000, 70_001]] {
        let mut memory = Memory::new(BYTES);
        dirty.iter().for_each(|at| memory.bytes[*at] = 1);
        let found = zeros(&memory, &whole(), &mut |_| ()).unwrap();
        assert_eq!(found.first_nonzero, Some(dirty[0] as u64));
    }
}

#[test]
fn an_error_and_a_short_disk_are_faults() {
    let failing = Memory { fails_at: Some(5 * PIECE_BYTES as u64 + 7), ..Memory::new(BYTES) };
    assert!(matches!(zeros(&failing, &whole(), &mut |_| ()), Err(Fault::Io { .. })));
    assert!(matches!(sha256(&failing, whole()[0], 1, &mut |_| ()), Err(Fault::Io { .. })));
    let short = Memory { ends_at: BYTES as u64 - 1, ..Memory::new(BYTES) };
    assert!(matches!(zeros(&short, &whole(), &mut |_| ()), Err(Fault::ShortRead { .. })));
    assert!(matches!(sha256(&short, whole()[0], 1, &mut |_| ()), Err(Fault::ShortRead { .. })));
}

#[test]
fn a_digest_is_of_the_range_alone() {
    let mut memory = Memory::new(BYTES);
    memory.bytes.iter_mut().zip(0_u64..).for_each(|(byte, at)| *byte = u8::try_from(at % 253).unwrap());
    let bytes = PIECE_BYTES as u64 + 512;
    let expected: [u8; 32] = Sha256::digest(&memory.bytes[..PIECE_BYTES + 512]).into();
    for block in [1, 512, 4096] {
        assert_eq!(sha256(&memory, Range { offset: 0, bytes }, block, &mut |_| ()).unwrap(), expected);
    }
}

#[test]
fn memory_is_aligned() {
    for bytes in [0, 1, 512, PIECE_BYTES] {
        let mut aligned = Aligned::new(bytes);
        assert_eq!((aligned.bytes().len(), aligned.bytes_mut().len()), (bytes, bytes));
        assert_eq!(aligned.bytes().as_ptr().align_offset(ALIGNMENT), 0);
    }
}

proptest! {
    #[test]
    fn pieces_are_the_ranges_again(starts in proptest::collection::vec((0u64..1 << 40, 0u64..20 << 20), 0..5)) {
        for (offset, bytes) in starts {
            let range = Range { offset, bytes };
            let mut next = offset;
            for piece in pieces(&[range]) {
                prop_assert_eq!(piece.offset, next);
                prop_assert!(piece.bytes > 0 && piece.bytes <= PIECE_BYTES as u64);
                next = piece.end();
            }
            prop_assert_eq!(next, range.end());
        }
    }

    #[test]
    fn text_of_bytes_comes_back(bytes: Vec<u8>, text in "[0-9a-zA-Z]{0,9}") {
        prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        if let Some(bytes) = unhex(&text) {
            prop_assert_eq!(hex(&bytes), text);
        }
    }

    #[test]
    fn the_first_nonzero_is_what_a_plain_search_finds(length in 0usize..200_000, at in 0usize..200_000) {
        let mut bytes = vec![0; length];
        if let Some(byte) = bytes.get_mut(at) {
            *byte = 9;
        }
        prop_assert_eq!(first_nonzero(&bytes), (at < length).then_some(at));
    }
}
