//! Ids: newtypes, time-ordered, with a readable prefix (`alc_01jh…`). The 26 characters after the prefix are a ULID in
//! lower case, so ids of one kind sort by creation and index well; the prefix makes an id in a log say what it names.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt, str::FromStr};
use ulid::Ulid;

use crate::Timestamp;

/// Random bits for one id, brought by the caller (the operating system, or a seeded generator in the simulator).
pub type IdBits = [u8; 10];

/// The text was not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an id such as {prefix}_01jh2n6f4zw8q9r0s1t2v3x4y5")]
pub struct NotAnId {
    /// The prefix that ids of this kind carry.
    pub prefix: &'static str,
}

fn ulid_text(prefix: &str, at: Timestamp, bits: IdBits) -> String {
    let mut random = [0u8; 16];
    random[6..].copy_from_slice(&bits);
    let millis = u64::try_from(at.as_micros() / 1000).unwrap_or(0);
    let ulid = Ulid::from_parts(millis, u128::from_be_bytes(random));
    format!("{prefix}_{}", ulid.to_string().to_ascii_lowercase())
}

fn is_ulid_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 26
        && (b'0'..=b'7').contains(&bytes[0])
        && bytes
            .iter()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'h' | b'j' | b'k' | b'm' | b'n' | b'p'..=b't' | b'v'..=b'z'))
}

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident = $prefix:literal),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// What every id of this kind starts with.
            pub const PREFIX: &'static str = $prefix;
            /// Builds an id from a moment and random bits.
            pub fn from_parts(at: Timestamp, bits: IdBits) -> Self { Self(ulid_text($prefix, at, bits)) }
            /// The id as text, prefix included.
            pub fn as_str(&self) -> &str { &self.0 }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                let rest = text.strip_prefix(concat!($prefix, "_")).ok_or(NotAnId { prefix: $prefix })?;
                if is_ulid_text(rest) { Ok(Self(text.to_owned())) } else { Err(NotAnId { prefix: $prefix }) }
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> { s.serialize_str(&self.0) }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": concat!("^", $prefix, "_[0-7][0-9a-hjkmnp-tv-z]{25}$"),
                    "examples": [concat!($prefix, "_01jh2n6f4zw8q9r0s1t2v3x4y5")]
                })
            }
        }
    )+ };
}

ids! {
    /// A tenant: an organisation that owns projects and pays.
    TenantId = "tnt",
    /// A project inside a tenant.
    ProjectId = "prj",
    /// A person or a service account.
    PrincipalId = "prn",
    /// A membership: one principal's role in a tenant or project.
    MemberId = "mbr",
    /// An API token.
    TokenId = "tok",
    /// A session of somebody in a browser.
    SessionId = "ses",
    /// A region.
    RegionId = "rgn",
    /// A pool of nodes inside a region.
    PoolId = "pol",
    /// A thing that is sold.
    SkuId = "sku",
    /// A one-time token that brings a host in.
    EnrollmentTokenId = "enr",
    /// Something an agent did that an honest one does not.
    IncidentId = "inc",
    /// An enrolled GPU host.
    NodeId = "nod",
    /// An approved, schedulable bundle of devices on one node.
    SlotId = "slt",
    /// A public key that opens a project's guests.
    SshKeyId = "ssh",
    /// What a user holds.
    AllocationId = "alc",
    /// What waits in a queue and is admitted as a whole: one or more allocations.
    WorkloadId = "wkl",
    /// One time that a workload was told to go.
    PreemptionId = "pmt",
    /// The exclusive right of an allocation to a slot or node.
    ClaimId = "clm",
    /// One bounded order to a node agent.
    TaskId = "tsk",
    /// A connection to a guest, through the gateway.
    StreamId = "str",
    /// A stored answer with its reasons.
    DecisionId = "dec",
    /// A wipe proof that was received, taken or not.
    ProofId = "prf",
    /// Two operators' word that a slot goes on without a proof.
    WipeOverrideId = "ovr",
    /// A way in from outside to a guest.
    IngressId = "ing",
    /// An object of governance: a flavor, a cohort, a queue.
    GovernedId = "gov",
    /// One committed transition.
    EventId = "evt",
    /// One audited action.
    AuditId = "aud",
    /// Long work started by a request.
    OperationId = "opn",
    /// Where events are sent.
    WebhookId = "whk",
    /// One event on its way to one webhook.
    WebhookDeliveryId = "whd",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation_time() {
        let early = TenantId::from_parts(Timestamp::from_micros(1_000_000), [255; 10]);
        let late = TenantId::from_parts(Timestamp::from_micros(2_000_000), [0; 10]);
        assert!(early < late);
        assert_eq!(early.as_str().parse::<TenantId>(), Ok(early.clone()));
    }

    #[test]
    fn another_prefix_or_alphabet_is_refused() {
        let tenant = TenantId::from_parts(Timestamp::from_micros(1), [7; 10]);
        assert!(tenant.as_str().parse::<ProjectId>().is_err());
        for text in [
            "",
            "tnt_",
            "tnt_8zzzzzzzzzzzzzzzzzzzzzzzzz",
            "tnt_01jh2n6f4zw8q9r0s1t2v3x4yu",
            "tnt_01JH2N6F4ZW8Q9R0S1T2V3X4Y5",
        ] {
            assert!(text.parse::<TenantId>().is_err(), "{text}");
        }
    }
}
