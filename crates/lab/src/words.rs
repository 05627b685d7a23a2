//! Numbers in words that people read.

use crate::measure::ONE_PPM;

// So many of a unit, with one digit after the point.
fn tenths(value: u64, unit: u64) -> String {
    let tenths = (value.saturating_mul(10).saturating_add(unit / 2)) / unit.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A time.
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", tenths(seconds, 60)),
        7200..=172_799 => format!("{} h", tenths(seconds, 3600)),
        _ => format!("{} d", tenths(seconds, 86_400)),
    }
}

/// Millionths as hundredths.
pub(crate) fn percent(ppm: u64) -> String {
    format!("{} %", tenths(ppm, ONE_PPM / 100))
}

/// Millionths as a number around one.
pub(crate) fn index(ppm: u64) -> String {
    let thousandths = (ppm + 500) / 1000;
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

/// GPU-seconds as GPU-hours.
pub(crate) fn gpu_hours(gpu_s: u64) -> String {
    format!("{} GPU-h", grouped(gpu_s.saturating_add(1800) / 3600))
}

/// A count, in groups of three digits.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{duration, gpu_hours, grouped, index, percent};

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0, 119, 120, 5400, 7200, 172_800].map(duration),
            ["0 s", "119 s", "2.0 min", "90.0 min", "2.0 h", "2.0 d"]
        );
        assert_eq!([0, 963_450, 1_000_000].map(percent), ["0.0 %", "96.3 %", "100.0 %"]);
        assert_eq!([999_499, 999_500, 40_000].map(index), ["0.999", "1.000", "0.040"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(gpu_hours(3_600_000), "1,000 GPU-h");
    }
}
