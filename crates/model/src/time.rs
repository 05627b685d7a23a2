//! Time as one type: microseconds since 1970-01-01T00:00:00Z, read by somebody else's clock.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt, str::FromStr};

/// A moment in microseconds of Unix time. Stored as BIGINT, shown as RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// Microseconds in one second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;

// 9999-12-31T23:59:59.999999Z, the last moment RFC 3339 can write.
const LATEST_US: i64 = 253_402_207_200_000_000;

impl Timestamp {
    /// From microseconds of Unix time; clamped to what RFC 3339 can show.
    pub const fn from_micros(us: i64) -> Self {
        if us < 0 {
            Self(0)
        } else if us > LATEST_US {
            Self(LATEST_US)
        } else {
            Self(us)
        }
    }
    /// Microseconds of Unix time.
    pub const fn as_micros(self) -> i64 {
        self.0
    }
    /// This moment plus whole seconds.
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        self.plus_micros(seconds.saturating_mul(MICROS_PER_SECOND))
    }
    /// This moment plus microseconds.
    pub const fn plus_micros(self, us: i64) -> Self {
        Self::from_micros(self.0.saturating_add(us))
    }
    /// Microseconds from `earlier` to this moment; negative when `earlier` is later.
    pub const fn micros_since(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{}", moment.strftime("%Y-%m-%dT%H:%M:%S.%3fZ")),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

/// The text was not an RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 time such as 2026-01-31T12:00:00.000Z")]
pub struct NotATime;

impl FromStr for Timestamp {
    type Err = NotATime;
    fn from_str(text: &str) -> Result<Self, NotATime> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| NotATime)?;
        if moment.as_microsecond() < 0 || moment.as_microsecond() > LATEST_US {
            return Err(NotATime);
        }
        Ok(Self(moment.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}
impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "format": "date-time",
            "description": "RFC 3339 time in UTC with milliseconds.",
            "examples": ["2026-01-31T12:00:00.000Z"]
        })
    }
}

/// A moment that a person names in a request: in UTC, in this century. Its schema says exactly what is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(Timestamp);

impl UtcTime {
    /// The moment.
    pub const fn get(self) -> Timestamp {
        self.0
    }
}
impl From<Timestamp> for UtcTime {
    fn from(moment: Timestamp) -> Self {
        Self(moment)
    }
}
impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text was not a time in UTC.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a time in UTC such as 2026-01-31T12:00:00Z")]
pub struct NotUtc;

impl FromStr for UtcTime {
    type Err = NotUtc;
    fn from_str(text: &str) -> Result<Self, NotUtc> {
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let (whole, rest) = text.split_at_checked(19).ok_or(NotUtc)?;
        let fraction = rest.strip_suffix('Z').ok_or(NotUtc)?;
        let fraction_ok = match fraction.strip_prefix('.') {
            Some(fraction) => (1..=6).contains(&fraction.len()) && digits(fraction),
            None => fraction.is_empty(),
        };
        let shape =
            whole.bytes().zip("2000-00-00T00:00:00".bytes()).enumerate().all(|(at, (given, wanted))| match wanted {
                b'0' if at > 1 => given.is_ascii_digit(),
                _ => given == wanted,
            });
        // A leap second has no place of its own on the clock.
        if !shape || !fraction_ok || whole.ends_with("60") {
            return Err(NotUtc);
        }
        text.parse().map(Self).map_err(|_| NotUtc)
    }
}
impl Serialize for UtcTime {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for UtcTime {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}
impl JsonSchema for UtcTime {
    fn schema_name() -> Cow<'static, str> {
        "UtcTime".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "maxLength": 27, "pattern": concat!(
                "^(20[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))",
                "|20([02468][048]|[13579][26])-02-29)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?Z$"),
            "description": "A time in UTC such as 2026-01-31T12:00:00Z.",
            "examples": ["2026-01-31T12:00:00Z"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_utc_with_milliseconds_and_reads_it_back() {
        let moment = Timestamp::from_micros(1_769_860_800_123_456);
        assert_eq!(moment.to_string(), "2026-01-31T12:00:00.123Z");
        assert_eq!("2026-01-31T13:00:00.123+01:00".parse::<Timestamp>(), Ok(Timestamp(1_769_860_800_123_000)));
    }

    #[test]
    fn refuses_what_is_not_a_time() {
        for text in ["", "yesterday", "1969-12-31T23:59:59Z", "2026-02-30T00:00:00Z", "2026-01-31"] {
            assert_eq!(text.parse::<Timestamp>(), Err(NotATime), "{text}");
        }
    }

    #[test]
    fn a_time_in_a_request_has_one_form() {
        for good in ["2026-01-31T12:00:00Z", "2028-02-29T23:59:59.5Z", "2000-01-01T00:00:00.000001Z"] {
            assert!(good.parse::<UtcTime>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "2026-01-31",
            "2026-01-31T12:00Z",
            "2026-01-31 12:00:00Z",
            "2026-01-31t12:00:00z",
            "2026-01-31T12:00:00+00:00",
            "2026-02-29T12:00:00Z",
            "2026-01-31T12:00:60Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T12:00:00.Z",
            "2026-01-31T12:00:00.1234567Z",
            "1999-01-31T12:00:00Z",
            "2026-01-31T12:00:00Z\n",
            "２０26-01-31T12:00:00Z",
        ] {
            assert!(bad.parse::<UtcTime>().is_err(), "{bad:?}");
        }
    }
}
