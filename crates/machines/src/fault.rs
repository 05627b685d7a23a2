//! What can go wrong between the platform and a provider of machines. Every fault says in one sentence what was expected and
//! what was found, and whether doing the same again may help. None of them holds a key, a signature or user data.

use crate::machine::ProviderId;

/// Why a provider did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No connection.
    #[error("the provider was expected to answer, but it cannot be reached: {why}")]
    Unreachable {
        /// What the system said.
        why: String,
    },
    /// No answer in time. The provider may have done what was asked.
    #[error("{what} was expected to be answered within {limit_ms} ms, but was not")]
    TimedOut {
        /// What was asked.
        what: String,
        /// How long was waited.
        limit_ms: u64,
    },
    /// The provider said no, or broke.
    #[error("{what} was expected to succeed, but the provider answered {status}: {detail}")]
    Refused {
        /// What was asked.
        what: String,
        /// The HTTP status, or 500 from a provider that speaks something else.
        status: u16,
        /// What it said, cleaned and cut.
        detail: String,
    },
    /// It does not know the key.
    #[error("the provider was expected to accept the platform's key, but does not")]
    Unauthorized,
    /// It does not know the thing.
    #[error("the provider was expected to know {what}, but does not")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// The machine is in a state, or in hands, that forbid it.
    #[error("machine {id} was expected to be {expected}, but it is {status}{}", because(why))]
    Conflict {
        /// Which machine.
        id: ProviderId,
        /// Which states would have done.
        expected: String,
        /// The state it is in, in the provider's words.
        status: String,
        /// What else is in the way; may be empty.
        why: String,
    },
    /// Another machine came than the one that was asked for.
    #[error(
        "machine {expected} was asked for, but the provider gave {found}, which was {}",
        if *given_back { "given back" } else { "not given back" }
    )]
    WrongMachine {
        /// The one that was asked for.
        expected: ProviderId,
        /// The one that came.
        found: ProviderId,
        /// Whether the other one was released again.
        given_back: bool,
    },
    /// The answer makes no sense, or is too large.
    #[error("the answer to {what} was expected to be {expected}, but {found}")]
    Unparsable {
        /// What was asked.
        what: String,
        /// What it should have been.
        expected: String,
        /// What is wrong with it.
        found: String,
    },
    /// The provider's settings make no sense; nothing was sent.
    #[error("the provider's {what} was expected to be {expected}, but {found}")]
    Settings {
        /// Which setting.
        what: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What is wrong with it, without its value.
        found: String,
    },
}

fn because(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(" ({why})") }
}

impl Fault {
    /// Whether the same call may succeed later without anybody doing anything. Trying again is always safe: no call does its
    /// work twice.
    pub fn may_try_again(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => true,
            Self::Refused { status, .. } => *status >= 500 || matches!(status, 408 | 425 | 429),
            // Half an answer may be whole the next time; nothing was believed of it.
            Self::Unparsable { .. } => true,
            Self::Unauthorized
            | Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::WrongMachine { .. }
            | Self::Settings { .. } => false,
        }
    }
}
