//! When an event is sent again that its receiver did not take, and when a receiver is given up. The schedule is the one that
//! Standard Webhooks recommends: soon at first, then ever less often, for about three days in all.

use model::{Timestamp, time::MICROS_PER_SECOND};

/// How long to wait after each failed attempt, in seconds. After as many waits and one more failure, there is no other.
pub const WAITS_S: [i64; 9] = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600];
/// A wait is longer by up to this share of itself, in thousandths, so that many do not come back at the same moment.
pub const JITTER_PER_MILLE_MAX: i64 = 100;
/// No answer may ask for a longer wait than this.
pub const RETRY_AFTER_S_MAX: i64 = 24 * 3600;
/// A webhook that took nothing for this long is disabled when a delivery is exhausted.
pub const ONLY_FAILURES_DAYS: i64 = 5;
/// How long deliveries and their attempts are kept.
pub const KEPT_DAYS: i64 = 30;
/// The longest rest of a webhook between new events after failures in a row.
const REST_S_MAX: i64 = 60;
/// The longest rest that an answer may ask for, so that new events are not held back for a day.
const REST_ASKED_S_MAX: i64 = 3600;

const DAY_S: i64 = 24 * 3600;

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The receiver has it.
    Delivered,
    /// The receiver wants nothing more, ever.
    Gone,
    /// It was not taken; redirects are among this and never followed.
    Failed,
}

/// What the status of an answer means.
pub const fn verdict(status: u16) -> Verdict {
    match status {
        200..=299 => Verdict::Delivered,
        410 => Verdict::Gone,
        _ => Verdict::Failed,
    }
}

/// When to try again after so many failed tries, if at all. `jitter_per_mille` is drawn by the caller; `retry_after_s` is
/// what the answer asked for.
pub fn next_attempt(
    tries: i64,
    now: Timestamp,
    jitter_per_mille: i64,
    retry_after_s: Option<i64>,
) -> Option<Timestamp> {
    let place = usize::try_from(tries.max(1).saturating_sub(1)).ok()?;
    let wait_s = *WAITS_S.get(place)?;
    let asked_s = retry_after_s.unwrap_or(0).clamp(0, RETRY_AFTER_S_MAX);
    let wait_us = wait_s.max(asked_s).saturating_mul(MICROS_PER_SECOND);
    let jitter_us = (wait_us / 1000).saturating_mul(jitter_per_mille.clamp(0, JITTER_PER_MILLE_MAX));
    Some(Timestamp::from_micros(now.as_micros().saturating_add(wait_us).saturating_add(jitter_us)))
}

/// How long new events to a webhook wait after so many failures in a row, in seconds.
pub fn rest_s(failures: u32, retry_after_s: Option<i64>) -> i64 {
    let doubled = 1_i64.checked_shl(failures.saturating_sub(1).min(30)).unwrap_or(REST_S_MAX);
    doubled.min(REST_S_MAX).max(retry_after_s.unwrap_or(0).clamp(0, REST_ASKED_S_MAX))
}

/// Whether a webhook that has had nothing but failures since a moment is given up.
pub fn is_given_up(failing_since: Timestamp, now: Timestamp) -> bool {
    now >= failing_since.plus_seconds(ONLY_FAILURES_DAYS * DAY_S)
}

/// Deliveries from before this moment are forgotten.
pub fn kept_since(now: Timestamp) -> Timestamp {
    now.plus_seconds(-KEPT_DAYS * DAY_S)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn wait_us(tries: i64, jitter: i64, asked: Option<i64>) -> Option<i64> {
        next_attempt(tries, NOW, jitter, asked).map(|at| at.micros_since(NOW))
    }

    #[test]
    fn ten_attempts_are_made_in_about_three_days() {
        let waits: Vec<i64> = (1..=12).map_while(|tries| wait_us(tries, 0, None)).collect();
        assert_eq!(waits.len(), WAITS_S.len(), "nine waits, so ten attempts");
        assert_eq!(waits, WAITS_S.map(|seconds| seconds * 1_000_000));
        assert!(waits.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(waits.iter().sum::<i64>() / 1_000_000, 272_105, "75 hours, 35 minutes and 5 seconds");
        assert_eq!(wait_us(10, 0, Some(60)), None, "asking for more does not give more");
    }

    #[test]
    fn jitter_lengthens_by_a_tenth_at_most() {
        assert_eq!(wait_us(1, 100, None), Some(5_500_000));
        assert_eq!(wait_us(1, 37, None), Some(5_185_000));
        assert_eq!(wait_us(1, 5_000, None), Some(5_500_000), "never more");
        assert_eq!(wait_us(1, -5, None), Some(5_000_000), "never less");
    }

    #[test]
    fn what_an_answer_asks_for_is_heard_within_bounds() {
        assert_eq!(wait_us(1, 0, Some(120)), Some(120_000_000));
        assert_eq!(wait_us(1, 0, Some(1)), Some(5_000_000), "not sooner than the schedule");
        assert_eq!(wait_us(1, 0, Some(-9)), Some(5_000_000));
        assert_eq!(wait_us(1, 0, Some(i64::MAX)), Some(86_400_000_000), "not later than a day");
    }

    #[test]
    fn statuses_mean_what_the_standard_says() {
        for (status, meant) in [
            (200, Verdict::Delivered),
            (204, Verdict::Delivered),
            (299, Verdict::Delivered),
            (301, Verdict::Failed),
            (302, Verdict::Failed),
            (308, Verdict::Failed),
            (400, Verdict::Failed),
            (404, Verdict::Failed),
            (410, Verdict::Gone),
            (429, Verdict::Failed),
            (500, Verdict::Failed),
            (100, Verdict::Failed),
        ] {
            assert_eq!(verdict(status), meant, "{status}");
        }
    }

    #[test]
    fn new_events_rest_longer_with_each_failure_and_never_long() {
        let rests: Vec<i64> = (1..=9).map(|failures| rest_s(failures, None)).collect();
        assert_eq!(rests, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!((rest_s(1, Some(90)), rest_s(1, Some(i64::MAX)), rest_s(u32::MAX, None)), (90, 3600, 60));
    }

    #[test]
    fn five_days_of_failures_are_enough() {
        assert!(!is_given_up(NOW, NOW.plus_seconds(5 * DAY_S - 1)));
        assert!(is_given_up(NOW, NOW.plus_seconds(5 * DAY_S)));
        assert_eq!(NOW.micros_since(kept_since(NOW)), 30 * DAY_S * 1_000_000);
    }
}
