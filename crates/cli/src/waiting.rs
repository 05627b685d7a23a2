//! Lengths of time as people write them: `90s`, `20m`, `2h`, `30d`.

use std::time::Duration;

/// Parses a whole number with a unit; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a whole number with a unit, such as 90s, 20m, 2h or 30d".to_owned();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| expected())?;
    let scale = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(expected()),
    };
    number.checked_mul(scale).filter(|seconds| *seconds <= 86_400 * 3_660).map(Duration::from_secs).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_a_unit() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("20m"), Ok(Duration::from_secs(1200)));
        assert_eq!(duration("30d"), Ok(Duration::from_secs(2_592_000)));
        for bad in ["", "m", "-1s", "1.5h", "10 m", "1w", "99999999999999999999", "999999999d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
