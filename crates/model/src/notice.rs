//! What a guest is told before it is stopped, and what came of telling it.
//!
//! Nobody inside a guest has to listen. One that does reads on a port of its own that it will be stopped, saves what it needs
//! to go on later, and says so; the rest of its time is then not waited for.

use crate::{AllocationId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

text_enum! {
    /// Why a guest is to be stopped.
    StopReason {
        /// Somebody else has the better claim to what it runs on.
        Preempted = "preempted",
        /// Its queue or its host is being emptied.
        Drained = "drained",
    }
}

/// What a guest is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopNotice {
    /// It runs until then at least, unless it says earlier that it is ready.
    pub stop_at: Timestamp,
    /// Why.
    pub reason: StopReason,
    /// Who gets its place, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AllocationId>,
}

/// What came of telling a guest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeSeen {
    /// Somebody in the guest listens, and it was told. That nobody listens is no failure.
    pub delivered: bool,
    /// The guest said that it has saved what it needs.
    pub checkpointed: bool,
}

impl NoticeSeen {
    /// What is known after a further look: what was seen once stays so.
    #[must_use]
    pub const fn and(self, later: Self) -> Self {
        Self { delivered: self.delivered || later.delivered, checkpointed: self.checkpointed || later.checkpointed }
    }
}
