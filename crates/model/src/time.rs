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
}
