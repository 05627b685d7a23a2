//! How far a long piece of work is. `qemu-img -p` says it as `    (12.34/100%)` and a return, in pieces that may end anywhere;
//! it is kept in hundredths of a percent, because whole numbers are all that is needed.

use serde::{Deserialize, Serialize};

/// How far a piece of work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// 0 to 100, rounded down.
    pub percent: u8,
    /// How many bytes are done.
    pub bytes_done: u64,
    /// How many there are.
    pub bytes_total: u64,
    /// How many were done in a second, so far.
    pub bytes_per_s: u64,
    /// How many seconds are left at that speed; unknown before the first byte.
    pub eta_s: Option<u64>,
}

impl Progress {
    /// From bytes done and microseconds since the start.
    pub fn at(bytes_done: u64, bytes_total: u64, elapsed_us: u64) -> Self {
        let (total, done) = (u128::from(bytes_total), u128::from(bytes_done.min(bytes_total)));
        let percent = (done * 100).checked_div(total).unwrap_or(100);
        let per_s = done * 1_000_000 / u128::from(elapsed_us.max(1));
        let left = (total - done).saturating_mul(u128::from(elapsed_us.max(1)));
        let eta_s = if total == done { Some(0) } else { left.checked_div(done * 1_000_000) };
        Self {
            percent: u8::try_from(percent).unwrap_or(100),
            bytes_done: bytes_done.min(bytes_total),
            bytes_total,
            bytes_per_s: clamp(per_s),
            eta_s: eta_s.map(clamp),
        }
    }

    /// From hundredths of a percent.
    pub fn at_hundredths(hundredths: u32, bytes_total: u64, elapsed_us: u64) -> Self {
        let done = u128::from(bytes_total) * u128::from(hundredths.min(10_000)) / 10_000;
        Self::at(clamp(done), bytes_total, elapsed_us)
    }
}

fn clamp(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Reads what `qemu-img -p` says. Takes anything; what is not progress is passed over.
#[derive(Debug, Clone, Default)]
pub struct Percentages {
    // What stands since the last opening bracket, if one stands open.
    open: Option<Vec<u8>>,
    highest: Option<u32>,
}

impl Percentages {
    /// Takes the next bytes; answers how far the work is, in hundredths of a percent, if they say that it is further.
    pub fn push(&mut self, bytes: &[u8]) -> Option<u32> {
        // The longest that is said is `100.00/100%`.
        const LONGEST: usize = 16;
        let before = self.highest;
        for byte in bytes {
            match (byte, &mut self.open) {
                (b'(', _) => self.open = Some(vec![]),
                (b')', Some(said)) => {
                    let hundredths = std::str::from_utf8(said).ok().and_then(parse);
                    self.highest = self.highest.max(hundredths);
                    self.open = None;
                }
                (_, Some(said)) if said.len() < LONGEST => said.push(*byte),
                _ => self.open = None,
            }
        }
        if self.highest == before { None } else { self.highest }
    }
}

fn parse(said: &str) -> Option<u32> {
    let (whole, part) = said.strip_suffix("/100%")?.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || part.len() != 2 || !digits(part) {
        return None;
    }
    let hundredths = whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(part.parse().ok()?)?;
    (hundredths <= 10_000).then_some(hundredths)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_qemu_img_says_is_read() {
        let mut percentages = Percentages::default();
        assert_eq!(percentages.push(b"    (0.00/100%)\r    (10.46/1"), Some(0));
        assert_eq!(percentages.push(b"00%)\r"), Some(1046));
        assert_eq!(percentages.push(b"    (9.00/100%)\r(x/100%) (1000.00/100%) (-1.00/100%) (50.0/100%)"), None);
        assert_eq!(percentages.push(b"    (100.00/100%)\r\n"), Some(10_000));
    }

    #[test]
    fn speed_and_time_left_are_whole_numbers() {
        let progress = Progress::at(1 << 30, 4 << 30, 2_000_000);
        let expected =
            Progress { percent: 25, bytes_done: 1 << 30, bytes_total: 4 << 30, bytes_per_s: 1 << 29, eta_s: Some(6) };
        assert_eq!(progress, expected);
        assert_eq!(Progress::at(0, 100, 5).eta_s, None);
        assert_eq!(Progress::at(0, 0, 0).percent, 100);
        assert_eq!(Progress::at(100, 100, 0).eta_s, Some(0));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_pieces_end(
            steps in proptest::collection::vec(0u32..=10_000, 1..40), cuts in proptest::collection::vec(1usize..40, 0..40)
        ) {
            let said: String =
                steps.iter().map(|step| format!("    ({}.{:02}/100%)\r", step / 100, step % 100)).collect();
            let (mut percentages, mut rest, mut last) = (Percentages::default(), said.as_bytes(), None);
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                last = percentages.push(piece).or(last);
                rest = after;
            }
            last = percentages.push(rest).or(last);
            prop_assert_eq!(last, steps.iter().max().copied());
        }

        #[test]
        fn no_bytes_confuse_it(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 0..20)) {
            let mut percentages = Percentages::default();
            for piece in pieces {
                prop_assert!(percentages.push(&piece).is_none_or(|said| said <= 10_000));
                prop_assert!(percentages.open.as_ref().is_none_or(|open| open.len() <= 16));
            }
        }

        #[test]
        fn no_numbers_break_it(done: u64, total: u64, elapsed: u64, hundredths: u32) {
            prop_assert!(Progress::at(done, total, elapsed).percent <= 100);
            prop_assert!(Progress::at_hundredths(hundredths, total, elapsed).bytes_done <= total);
        }
    }
}
