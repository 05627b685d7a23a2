//! The marks by which file systems, partition tables and volume managers are known: where they stand and what they look like.
//! A disk that is wiped has none of them. The table is data; looking is a pure function over two ends of a disk.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How much of each end of a disk is looked at.
pub const END_BYTES: u64 = 8 * 1024 * 1024;

/// A mark that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureFound {
    /// Whose mark it is.
    pub name: String,
    /// At which byte of the disk.
    pub offset: u64,
}

impl fmt::Display for SignatureFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the mark of {} stands at byte {}", self.name, self.offset)
    }
}

// Places are bytes from the start of the disk.
const AT_START: &[(&str, &[u64], &[u8])] = &[
    ("MBR or FAT", &[510], b"\x55\xaa"),
    ("GPT", &[512, 4096], b"EFI PART"),
    ("ext2, ext3 or ext4", &[1080], b"\x53\xef"),
    ("XFS", &[0], b"XFSB"),
    ("XFS log", &[0], b"\xfe\xed\xba\xbe"),
    ("btrfs", &[65600], b"_BHRfS_M"),
    ("LUKS", &[0], b"LUKS\xba\xbe"),
    (
        "LUKS2, second header",
        &[0x4000, 0x8000, 0x10000, 0x20000, 0x40000, 0x80000, 0x10_0000, 0x20_0000, 0x40_0000],
        b"SKUL\xba\xbe",
    ),
    ("LVM", &[0, 512, 1024, 1536], b"LABELONE"),
    ("Linux RAID", &[0, 4096], b"\xfc\x4e\x2b\xa9"),
    ("swap", &[4086, 8182, 16374, 32758, 65526], b"SWAPSPACE2"),
    ("swap, old", &[4086, 8182, 16374, 32758, 65526], b"SWAP-SPACE"),
    ("hibernation", &[4086, 8182, 16374, 32758, 65526], b"S1SUSPEND"),
    ("hibernation", &[4086, 8182, 16374, 32758, 65526], b"LINHIB0001"),
    ("NTFS", &[3], b"NTFS    "),
    ("exFAT", &[3], b"EXFAT   "),
    ("F2FS", &[1024, 5120], b"\x10\x20\xf5\xf2"),
    ("EROFS", &[1024], b"\xe2\xe1\xf5\xe0"),
    ("ISO 9660", &[32769], b"CD001"),
    ("UDF", &[32769], b"BEA01"),
    ("JFS", &[32768], b"JFS1"),
    ("ReiserFS", &[65588, 8244], b"ReIsEr"),
    ("NILFS2", &[1030], b"\x34\x34"),
    ("SquashFS", &[0], b"hsqs"),
    ("GFS2", &[65536], b"\x01\x16\x19\x70"),
    ("OCFS2", &[1024, 2048, 4096, 8192], b"OCFSV2"),
    ("bcache", &[4120], b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    ("bcachefs", &[4120], b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    ("Ceph BlueStore", &[0], b"bluestore block device"),
    ("VMFS", &[0x10_0000], b"\x0d\xd0\x01\xc0"),
    ("Stratis", &[512 + 4], b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("BitLocker", &[3], b"-FVE-FS-"),
    ("qcow2 in raw", &[0], b"QFI\xfb"),
];

// Places are bytes from the end of the disk.
const AT_END: &[(&str, &[u64], &[u8])] = &[
    ("GPT, second", &[512, 4096], b"EFI PART"),
    ("DDF RAID", &[512], b"\xde\x11\xde\x11"),
    ("DRBD", &[4096 - 60, 4096 - 28], b"\x83\x74\x02\x6b"),
    ("Intel RAID", &[1024], b"Intel Raid ISM Cfg Sig."),
];

/// Looks for marks. `head` is the first bytes of the disk, `tail` its last ones; on a small disk they may overlap.
pub fn find(head: &[u8], tail: &[u8], size_bytes: u64) -> Vec<SignatureFound> {
    let tail_offset = size_bytes.saturating_sub(tail.len() as u64);
    let mut found = vec![];
    let mut look = |name: &str, offset: u64, magic: &[u8]| {
        let within = |part: &[u8], start: u64| {
            let at = usize::try_from(offset.checked_sub(start)?).ok()?;
            part.get(at..at.checked_add(magic.len())?).map(|bytes| bytes == magic)
        };
        if within(head, 0) == Some(true) || within(tail, tail_offset) == Some(true) {
            found.push(SignatureFound { name: name.to_owned(), offset });
        }
    };
    for (name, places, magic) in AT_START {
        places.iter().for_each(|place| look(name, *place, magic));
    }
    for (name, places, magic) in AT_END {
        places.iter().filter_map(|place| size_bytes.checked_sub(*place)).for_each(|place| look(name, place, magic));
    }
    // Linux RAID keeps its mark near the end, at a place that depends on the size.
    let raid = [((size_bytes / 512).saturating_sub(16) & !7) * 512, (size_bytes & !65535).saturating_sub(65536)];
    raid.into_iter().for_each(|place| look("Linux RAID, at the end", place, b"\xfc\x4e\x2b\xa9"));
    // ZFS keeps four labels of 256 KiB, with marks every KiB in the second half of each.
    let aligned = size_bytes & !(262_144 - 1);
    let labels = [0, 262_144, aligned.saturating_sub(524_288), aligned.saturating_sub(262_144)];
    for place in labels.iter().flat_map(|label| (0..128).map(move |index| label + 131_072 + index * 1024)) {
        look("ZFS", place, b"\x0c\xb1\xba\0\0\0\0\0");
        look("ZFS", place, b"\0\0\0\0\0\xba\xb1\x0c");
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u64 = 64 << 20;

    fn marks() -> Vec<(&'static str, u64, &'static [u8])> {
        let start =
            AT_START.iter().flat_map(|(name, places, magic)| places.iter().map(move |place| (*name, *place, *magic)));
        let end = AT_END
            .iter()
            .flat_map(|(name, places, magic)| places.iter().map(move |place| (*name, SIZE - place, *magic)));
        start.chain(end).collect()
    }

    #[test]
    fn zeros_have_no_mark() {
        let end = vec![0; usize::try_from(END_BYTES).unwrap()];
        assert_eq!(find(&end, &end, SIZE), []);
        assert_eq!(find(&[0; 512], &[0; 512], 512), []);
        assert_eq!(find(&[], &[], 0), []);
    }

    #[test]
    fn each_mark_is_found_where_it_stands() {
        for (name, offset, magic) in marks() {
            let mut disk = vec![0; usize::try_from(SIZE).unwrap()];
            let at = usize::try_from(offset).unwrap();
            disk[at..at + magic.len()].copy_from_slice(magic);
            let ends = usize::try_from(END_BYTES).unwrap();
            let found = find(&disk[..ends], &disk[disk.len() - ends..], SIZE);
            assert!(found.contains(&SignatureFound { name: name.to_owned(), offset }), "{name} at {offset}: {found:?}");
        }
    }

    #[test]
    fn the_places_that_depend_on_the_size_are_looked_at() {
        for (offset, magic) in [
            (SIZE - 8192, &b"\xfc\x4e\x2b\xa9"[..]),
            (SIZE - 65536, b"\xfc\x4e\x2b\xa9"),
            (131_072, b"\x0c\xb1\xba\0\0\0\0\0"),
            (SIZE - 131_072, b"\0\0\0\0\0\xba\xb1\x0c"),
        ] {
            let mut disk = vec![0; usize::try_from(SIZE).unwrap()];
            let at = usize::try_from(offset).unwrap();
            disk[at..at + magic.len()].copy_from_slice(magic);
            let ends = usize::try_from(END_BYTES).unwrap();
            let found = find(&disk[..ends], &disk[disk.len() - ends..], SIZE);
            assert_eq!(found.iter().map(|found| found.offset).collect::<Vec<_>>(), [offset]);
        }
    }

    proptest! {
        #[test]
        fn no_disk_breaks_it(head in proptest::collection::vec(any::<u8>(), 0..9000), tail in proptest::collection::vec(any::<u8>(), 0..9000), size: u64) {
            let _ = find(&head, &tail, size);
        }
    }
}
