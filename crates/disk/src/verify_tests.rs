//! What is read of a disk, and that it can be worked out again.

use super::*;
use crate::bulk::tests::Memory;
use proptest::prelude::*;
use std::cell::Cell;

const NONCE: &str = "0123456789abcdef";

fn sampled() -> VerifyPolicy {
    VerifyPolicy { whole_s_max: 0, sample_count: 8, sample_bytes: 65536 }
}

fn ticking() -> impl Fn() -> u64 {
    let now = Cell::new(0);
    move || {
        now.set(now.get() + 1000);
        now.get()
    }
}

fn look(memory: &Memory, policy: &VerifyPolicy) -> Result<ReadBack, Fault> {
    verify(memory, memory.bytes.len() as u64, NONCE, policy, &ticking(), &mut |_| ())
}

#[test]
fn a_clean_disk_is_read_whole_when_that_is_quick() {
    let memory = Memory::new(80 << 20);
    let read_back = look(&memory, &VerifyPolicy::default()).unwrap();
    assert_eq!((read_back.mode.clone(), read_back.bytes_read), (VerifyMode::Whole, 80 << 20));
    let text = serde_json::to_string(&read_back).unwrap();
    assert_eq!(serde_json::from_str::<ReadBack>(&text).unwrap(), read_back);
}

#[test]
fn a_large_disk_is_read_at_its_roots_and_by_samples() {
    let mut memory = Memory::new(100 << 20);
    let read_back = look(&memory, &sampled()).unwrap();
    let VerifyMode::Sampled { metadata, sample_count: 8, sample_bytes: 65536 } = read_back.mode else { panic!() };
    assert_eq!(metadata, metadata_ranges(100 << 20));
    assert!(read_back.bytes_read >= 64 << 20 && read_back.bytes_read < 100 << 20);
    // Every sample is really read: dirt at any of its places is found.
    for offset in sample_offsets(NONCE, 100 << 20, 65536, 8) {
        let at = usize::try_from(offset).unwrap() + 65535;
        memory.bytes[at] = 1;
        let Err(Fault::NotClean { read_back }) = look(&memory, &sampled()) else { panic!("missed {at}") };
        assert_eq!(read_back.first_nonzero, Some(at as u64));
        memory.bytes[at] = 0;
    }
}

#[test]
fn errors_are_faults_wherever_they_are() {
    for fails_at in [0, 40 << 20, (80 << 20) - 1] {
        let memory = Memory { fails_at: Some(fails_at), ..Memory::new(80 << 20) };
        assert!(matches!(look(&memory, &VerifyPolicy::default()), Err(Fault::Io { .. })));
    }
    let memory = Memory { ends_at: 79 << 20, ..Memory::new(80 << 20) };
    assert!(matches!(look(&memory, &VerifyPolicy::default()), Err(Fault::ShortRead { .. })));
}

#[test]
fn a_weak_challenge_or_policy_is_refused() {
    let memory = Memory::new(1 << 20);
    let size = memory.bytes.len() as u64;
    let ask = |nonce: &str, policy: &VerifyPolicy| verify(&memory, size, nonce, policy, &ticking(), &mut |_| ());
    assert!(matches!(ask("short", &sampled()), Err(Fault::Refused { .. })));
    for policy in [
        VerifyPolicy { sample_count: 0, ..sampled() },
        VerifyPolicy { sample_bytes: 0, ..sampled() },
        VerifyPolicy { sample_bytes: 65537, ..sampled() },
    ] {
        assert!(matches!(ask(NONCE, &policy), Err(Fault::Refused { .. })));
    }
    ask(NONCE, &sampled()).unwrap();
}

#[test]
fn samples_are_fixed_by_the_nonce() {
    // Written down, so that a change of the rule, which would break old proofs, is noticed.
    let expected = [417_393_016_832_u64, 152_398_987_264_u64, 620_582_928_384_u64];
    assert_eq!(sample_offsets(NONCE, 1 << 40, 1 << 20, 3), expected);
    assert_ne!(sample_offsets("0123456789abcdeg", 1 << 40, 1 << 20, 3), expected);
    assert_eq!(sample_offsets(NONCE, 100, 1000, 3), Vec::<u64>::new());
}

#[test]
fn whole_or_not_is_measured() {
    assert!(whole_is_quick(1000, 100, 60_000_000, 600));
    assert!(!whole_is_quick(1001, 100, 60_000_000, 600));
    assert!(!whole_is_quick(1000, 0, 0, 600));
    assert!(!whole_is_quick(u64::MAX, 1, u64::MAX, u64::MAX / 2));
}

fn covered(ranges: &[Range], at: u64) -> bool {
    ranges.iter().any(|range| (range.offset..range.end()).contains(&at))
}

proptest! {
    #[test]
    fn roots_are_within_the_disk_and_in_order(blocks in 1u64..1 << 36) {
        let size = blocks * 512;
        let ranges = metadata_ranges(size);
        prop_assert!(covered(&ranges, 0) && covered(&ranges, size - 1));
        prop_assert!(ranges.iter().all(|range| range.end() <= size && range.offset % 65536 == 0 && range.bytes % 512 == 0));
        prop_assert!(ranges.windows(2).all(|pair| pair[0].end() < pair[1].offset));
    }

    #[test]
    fn samples_are_within_the_disk(nonce in ".{0,40}", blocks in 1u64..1 << 36, grains in 1u64..64) {
        let (size, each) = (blocks * 512, grains * 65536);
        prop_assert!(sample_offsets(&nonce, size, each, 20).iter().all(|at| at % each == 0 && at + each <= size));
    }

    #[test]
    fn merging_and_taking_away_lose_nothing(
        some in proptest::collection::vec((0u64..100, 1u64..9), 0..9), others in proptest::collection::vec((0u64..100, 1u64..9), 0..9)
    ) {
        let grain = 65536;
        let ranges = |list: &[(u64, u64)]| {
            let list: Vec<Range> = list.iter().map(|(at, count)| Range { offset: at * grain, bytes: count * grain }).collect();
            merge(&list, 104 * grain)
        };
        let holds = |list: &[(u64, u64)], at: u64| list.iter().any(|(start, count)| (*start..start + count).contains(&at));
        let (one, two) = (ranges(&some), ranges(&others));
        let left = without(&one, &two);
        for at in 0..104 {
            prop_assert_eq!(covered(&one, at * grain), holds(&some, at));
            prop_assert_eq!(covered(&left, at * grain), holds(&some, at) && !holds(&others, at));
        }
    }
}
