//! One machine as its provider shows it. What a provider or the owner of a machine wrote (host names, messages) is cleaned
//! when it is read, so that no such text can break a log line, a table or an address; names that go into addresses are
//! checked types of their own.

use model::supply::NodeProfile;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt, str::FromStr};

/// A name with letters that it may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} was expected to be 1 to {max} letters, digits, hyphens or underscores, but is not")]
pub struct BadName {
    /// Whose rule it is.
    pub what: &'static str,
    /// The longest it may be.
    pub max: usize,
}

macro_rules! names {
    ($($(#[$meta:meta])* $name:ident { what: $what:literal, max: $max:literal }),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str { &self.0 }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
        impl FromStr for $name {
            type Err = BadName;
            fn from_str(text: &str) -> Result<Self, BadName> {
                let letters = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
                if letters && (1..=$max).contains(&text.len()) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(BadName { what: $what, max: $max })
                }
            }
        }
        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(text: String) -> Result<Self, BadName> { text.parse() }
        }
        impl From<$name> for String {
            fn from(name: $name) -> Self { name.0 }
        }
    )+ };
}

names! {
    /// How the provider names a machine; MAAS calls it `system_id`.
    ProviderId { what: "a machine's id at its provider", max: 64 },
    /// What an order writes on the machine that it takes. One mark stands for one order, for ever.
    OrderMark { what: "an order's mark", max: 64 },
    /// A tag.
    TagName { what: "a tag", max: 64 },
}

impl From<NodeProfile> for TagName {
    fn from(profile: NodeProfile) -> Self {
        Self(profile.as_str().to_owned())
    }
}

/// Where a machine is in its provider's life cycle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MachineStatus {
    /// Seen, but never looked into.
    New,
    /// Being looked into.
    Commissioning,
    /// Looking into it failed.
    FailedCommissioning,
    /// Cannot be found.
    Missing,
    /// Free.
    Ready,
    /// Kept for somebody by name.
    Reserved,
    /// Taken, with nothing on it.
    Allocated,
    /// Being installed.
    Deploying,
    /// Installed and running.
    Deployed,
    /// Taken out of service by a person.
    Retired,
    /// Marked as broken.
    Broken,
    /// The installation failed.
    FailedDeployment,
    /// On its way back.
    Releasing,
    /// Giving it back failed.
    FailedReleasing,
    /// Its disks are being erased.
    DiskErasing,
    /// Its disks could not be erased: they may hold anything.
    FailedDiskErasing,
    /// Somebody looks into it by hand, or is about to, or just did.
    Rescue,
    /// Being tested.
    Testing,
    /// A test failed.
    FailedTesting,
    /// A state that this version does not know.
    Other(String),
}

impl MachineStatus {
    /// The status in the provider's words.
    pub fn name(&self) -> &str {
        match self {
            Self::New => "New",
            Self::Commissioning => "Commissioning",
            Self::FailedCommissioning => "Failed commissioning",
            Self::Missing => "Missing",
            Self::Ready => "Ready",
            Self::Reserved => "Reserved",
            Self::Allocated => "Allocated",
            Self::Deploying => "Deploying",
            Self::Deployed => "Deployed",
            Self::Retired => "Retired",
            Self::Broken => "Broken",
            Self::FailedDeployment => "Failed deployment",
            Self::Releasing => "Releasing",
            Self::FailedReleasing => "Releasing failed",
            Self::DiskErasing => "Disk erasing",
            Self::FailedDiskErasing => "Failed disk erasing",
            Self::Rescue => "Rescue mode",
            Self::Testing => "Testing",
            Self::FailedTesting => "Failed testing",
            Self::Other(name) => name,
        }
    }
    /// Whether somebody has it: it is taken, being installed or running.
    pub fn is_taken(&self) -> bool {
        matches!(
            self,
            Self::Reserved | Self::Allocated | Self::Deploying | Self::Deployed | Self::FailedDeployment | Self::Rescue
        )
    }
    /// Whether it is on its way back to free.
    pub fn is_going_back(&self) -> bool {
        matches!(self, Self::Releasing | Self::DiskErasing)
    }
    /// Whether nothing will come of it unless a person does something.
    pub fn is_failed(&self) -> bool {
        matches!(
            self,
            Self::FailedCommissioning
                | Self::Missing
                | Self::Broken
                | Self::FailedDeployment
                | Self::FailedReleasing
                | Self::FailedDiskErasing
                | Self::FailedTesting
                | Self::Other(_)
        )
    }
}

impl fmt::Display for MachineStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the provider last saw of a machine's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerState {
    /// On.
    On,
    /// Off.
    Off,
    /// Asking failed.
    Error,
    /// Nobody knows.
    Unknown,
}

/// A machine as its provider shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its id at the provider.
    pub id: ProviderId,
    /// Its host name, cleaned.
    pub hostname: String,
    /// Its serial number, when the provider knows one.
    pub serial: Option<String>,
    /// Where it is in its life cycle.
    pub status: MachineStatus,
    /// What the provider says about that; may be empty.
    pub message: String,
    /// Whether it runs.
    pub power: PowerState,
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// The pool it is in.
    pub pool: Option<String>,
    /// The zone it is in.
    pub zone: Option<String>,
    /// Who has it, by the provider's user name.
    pub owner: Option<String>,
    /// The mark of the order that has it. A text, because others may have written something else there.
    pub mark: Option<String>,
    /// Locked by a person: it may be neither deployed nor released.
    pub locked: bool,
    /// How many GPUs the provider saw, when it counts them.
    pub gpus: Option<u32>,
}

impl Machine {
    /// Whether it carries this order's mark.
    pub fn carries(&self, mark: &OrderMark) -> bool {
        self.mark.as_deref() == Some(mark.as_str())
    }
    /// What its tags say it is meant for: none, one, or both, which is a contradiction.
    pub fn profiles(&self) -> Vec<NodeProfile> {
        NodeProfile::ALL.iter().copied().filter(|profile| self.tags.contains(profile.as_str())).collect()
    }
}

/// Text from outside in a form that is safe to show: no control, direction or invisible characters, and not longer than this
/// many characters.
pub fn shown(text: &str, max: usize) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
    };
    let mut short: String = text.chars().take(max).map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_leave_its_place_in_an_address_is_refused() {
        for bad in ["", "a/b", "..", "a?op=release", "a b", "ä", "a\n", "%2f", &"a".repeat(65)] {
            assert!(bad.parse::<ProviderId>().is_err(), "{bad:?}");
            assert!(bad.parse::<TagName>().is_err(), "{bad:?}");
        }
        assert_eq!("4y3h7n".parse::<ProviderId>().unwrap().as_str(), "4y3h7n");
        for profile in NodeProfile::ALL {
            assert_eq!(profile.as_str().parse::<TagName>().unwrap(), TagName::from(*profile));
        }
    }

    #[test]
    fn hostile_text_is_shown_harmless_and_short() {
        assert_eq!(shown("a\u{1b}[31mb\r\nc\u{202e}d", 20), "a\u{fffd}[31mb\u{fffd}\u{fffd}c\u{fffd}d");
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("abc", 3), "abc");
    }
}
