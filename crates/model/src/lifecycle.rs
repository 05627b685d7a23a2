//! What a lifecycle answers when it looks at one thing: wait, look again, do, enter or forget.

use serde::{Deserialize, Serialize};
use std::panic::Location;

/// The answer of a pure decider: what should happen next to one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<S, E> {
    /// Nothing can be done now; the reason is stored and shown.
    Wait(Wait),
    /// All is well and nothing is waited for, so nothing is shown; look again after this long, poked or not.
    LookAgain {
        /// Whole seconds, at least one.
        after_s: i64,
    },
    /// Ask the outside world; safe to repeat.
    Do(E),
    /// Move to a state, compare-and-swap on the version, with history and event in one transaction.
    Enter(S),
    /// Rest: no further look is scheduled until somebody pokes.
    Forget,
}

/// A wait: why, since which line of source, for how long at most, and when to look again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// A stable snake_case code.
    pub code: String,
    /// One sentence: what it waits for and what would end it.
    pub because: String,
    /// `file:line` of the decision.
    pub source: String,
    /// Longer than this raises an alert.
    pub at_most_s: i64,
    /// Look again after this long, poked or not.
    pub look_again_s: i64,
}

impl Wait {
    /// A wait, stamped with the caller's line of source.
    #[track_caller]
    pub fn new(code: &str, because: impl Into<String>, at_most_s: i64, look_again_s: i64) -> Self {
        let place = Location::caller();
        let file = place.file().rsplit_once("crates/").map_or(place.file(), |(_, rest)| rest);
        Self {
            code: code.to_owned(),
            because: because.into(),
            source: format!("{file}:{}", place.line()),
            at_most_s,
            look_again_s,
        }
    }
}
