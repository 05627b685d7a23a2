//! Numbers with limits: each type states its range once, in its error and in its JSON schema.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};

/// A number outside the range of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number from {min} to {max}")]
pub struct OutOfRange {
    /// The smallest accepted value.
    pub min: i64,
    /// The largest accepted value.
    pub max: i64,
}

macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident = $min:literal ..= $max:literal),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "i64", into = "i64")]
        pub struct $name(i64);

        impl $name {
            /// The smallest accepted value.
            pub const MIN: i64 = $min;
            /// The largest accepted value.
            pub const MAX: i64 = $max;
            /// The number itself.
            pub const fn get(self) -> i64 { self.0 }
        }
        impl TryFrom<i64> for $name {
            type Error = OutOfRange;
            fn try_from(value: i64) -> Result<Self, OutOfRange> {
                if (Self::MIN..=Self::MAX).contains(&value) { Ok(Self(value)) } else { Err(OutOfRange { min: $min, max: $max }) }
            }
        }
        impl From<$name> for i64 {
            fn from(number: $name) -> i64 { number.0 }
        }
        impl std::str::FromStr for $name {
            type Err = OutOfRange;
            fn from_str(text: &str) -> Result<Self, OutOfRange> {
                let value: i64 = text.parse().map_err(|_| OutOfRange { min: $min, max: $max })?;
                Self::try_from(value)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{}", self.0) }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "integer", "format": "int64", "minimum": Self::MIN, "maximum": Self::MAX })
            }
        }
    )+ };
}

numbers! {
    /// GPUs in one allocation.
    GpuCount = 1..=64,
    /// Members of one workload.
    MemberCount = 1..=64,
    /// How long work runs at most, in seconds: a minute to a year.
    MaxRunS = 60..=31_536_000,
    /// GPUs a project may hold at once.
    GpuCap = 0..=1_000_000,
    /// Virtual CPUs that go with one GPU.
    VcpusPerGpu = 1..=1024,
    /// Memory that goes with one GPU, in MiB.
    MemoryMibPerGpu = 1..=16_777_216,
    /// A price in millionths of the platform's currency per GPU and hour.
    PriceMicrosPerGpuHour = 0..=1_000_000_000_000,
    /// The smallest disk that a slot may have, in bytes.
    MinDiskBytes = 0..=9_007_199_254_740_991,
    /// How long a token lives, in seconds: a minute to a year.
    TokenLifetimeS = 60..=31_536_000,
    /// How long an enrollment token can be used, in seconds: a minute to a quarter of an hour.
    EnrollmentLifetimeS = 60..=900,
    /// A port of TCP or UDP.
    Port = 1..=65_535,
    /// A use of a slot, counted from 1.
    UseNumber = 1..=9_007_199_254_740_991,
    /// Items on one page.
    PageSize = 1..=200,
    /// Slots on one page of those of the whole fleet.
    SlotPageSize = 1..=1_000,
    /// For how long the secret before still signs after a new one was made, in seconds: up to a week.
    PreviousSecretS = 0..=604_800,
    /// A position in the event stream; 0 is before the first event.
    EventPosition = 0..=9_007_199_254_740_991,
    /// So much of something that quota counts: whole GPUs today.
    Quantity = 0..=9_007_199_254_740_991,
    /// How much a queue or cohort counts against its siblings, in thousandths; 0 is always last.
    WeightMilli = 0..=1_000_000_000,
    /// How fast a kind of GPU is, in thousandths of the reference.
    SpeedMilli = 1..=1_000_000,
    /// What goes first: more is more important.
    Priority = -2_147_483_648..=2_147_483_647,
    /// A minute of a day; 1440 is its end.
    MinuteOfDay = 0..=1_440,
    /// How far a clock is ahead of UTC, in minutes.
    UtcOffsetMinutes = -840..=840,
    /// How long work is warned before it is stopped, or has to stop itself, in seconds: a day at most.
    NoticeS = 0..=86_400,
    /// How long work runs at least before it may be stopped for others, in seconds: a week at most.
    MinRunS = 0..=604_800,
    /// After how long what was used counts half, in seconds: a minute to a year.
    HalfLifeS = 60..=31_536_000,
}

impl WeightMilli {
    /// Counts like everybody else.
    pub const ONE: Self = Self(1000);
}
impl SpeedMilli {
    /// As fast as the reference.
    pub const REFERENCE: Self = Self(1000);
}
impl MemberCount {
    /// On its own.
    pub const ONE: Self = Self(1);
}
impl GpuCount {
    /// A single GPU.
    pub const ONE: Self = Self(1);
    /// All GPUs of a common board.
    pub const BOARD: Self = Self(8);
}
impl UtcOffsetMinutes {
    /// UTC itself.
    pub const UTC: Self = Self(0);
}
impl NoticeS {
    /// Long enough for a person to see it and for most programs to save their work.
    pub const MINUTE: Self = Self(60);
    /// Long enough for a program that was warned.
    pub const HALF_A_MINUTE: Self = Self(30);
}
impl MinRunS {
    /// Long enough that starting was worth it.
    pub const TEN_MINUTES: Self = Self(600);
}

/// The size of huge pages, in KiB: one of the two that the processors have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct HugepageKib(i64);

/// Another size than the processors have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 2048 or 1048576")]
pub struct BadHugepage;

impl HugepageKib {
    /// The sizes there are.
    pub const ALL: [i64; 2] = [2048, 1_048_576];
    /// The number itself.
    pub const fn get(self) -> i64 {
        self.0
    }
}
impl TryFrom<i64> for HugepageKib {
    type Error = BadHugepage;
    fn try_from(value: i64) -> Result<Self, BadHugepage> {
        if Self::ALL.contains(&value) { Ok(Self(value)) } else { Err(BadHugepage) }
    }
}
impl From<HugepageKib> for i64 {
    fn from(size: HugepageKib) -> i64 {
        size.0
    }
}
impl std::str::FromStr for HugepageKib {
    type Err = BadHugepage;
    fn from_str(text: &str) -> Result<Self, BadHugepage> {
        text.parse::<i64>().map_err(|_| BadHugepage)?.try_into()
    }
}
impl JsonSchema for HugepageKib {
    fn schema_name() -> Cow<'static, str> {
        "HugepageKib".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "format": "int64", "minimum": Self::ALL[0], "maximum": Self::ALL[1], "enum": Self::ALL })
    }
}
