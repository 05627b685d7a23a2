//! How long to wait after a failure: twice as long after each, a minute at most, and never exactly what a thousand other
//! hosts wait that failed at the same moment.

use std::time::Duration;

const FIRST_MS: u64 = 1_000;
const LONGEST_MS: u64 = 60_000;

/// The failures in a row.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// It worked.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// It failed again: how long to wait.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = FIRST_MS.saturating_mul(1 << self.failures.min(16)).min(LONGEST_MS);
        self.failures += 1;
        Duration::from_millis(whole / 2 + draw(whole / 2 + 1))
    }
}

/// A number from 0 up to this one, without it.
pub(crate) fn draw(below: u64) -> u64 {
    // Without random bits all hosts wait the same, which is bad and not wrong.
    getrandom::u64().unwrap_or(0) % below.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_stay_within_half_and_whole_and_end_at_a_minute() {
        let mut backoff = Backoff::default();
        for whole_ms in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000] {
            let wait = backoff.next();
            assert!(wait >= Duration::from_millis(whole_ms / 2), "{wait:?} {whole_ms}");
            assert!(wait <= Duration::from_millis(whole_ms), "{wait:?} {whole_ms}");
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_secs(1));
    }

    #[test]
    fn hosts_do_not_all_wait_the_same() {
        let waits: std::collections::BTreeSet<Duration> = (0..50).map(|_| Backoff { failures: 10 }.next()).collect();
        assert!(waits.len() > 10);
    }
}
