//! Workloads: what waits in a queue and is admitted as a whole. Each of its members is an ordinary allocation; a launch in
//! a project that has a queue is a workload of one.

use serde::{Deserialize, Serialize};

use crate::{SkuId, governance::Toleration, text::Slug};

/// What may serve a workload that named a hardware profile instead of a SKU: the profile as it was when the workload was
/// submitted. Which of it serves is decided when the workload is admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// The profile's short name.
    pub profile: Slug,
    /// What would do, in the order of the profile.
    pub choices: Vec<HardwareChoice>,
    /// The taints of flavors that it puts up with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

impl Hardware {
    /// What is bought where a flavor serves.
    pub fn sku_of(&self, flavor: &Slug) -> Option<&SkuId> {
        self.choices.iter().find(|choice| choice.flavor == *flavor).map(|choice| &choice.sku_id)
    }
}

/// One flavor that would do, and what is bought then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareChoice {
    /// The flavor whose quota it would use.
    pub flavor: Slug,
    /// The SKU that it would be sold as.
    pub sku_id: SkuId,
}

text_enum! {
    /// Where the workflow stands. `admitted` to `stopping` hold quota; the last four are ends.
    #[schemars(rename = "WorkloadState")]
    State {
        /// It waits in its queue.
        Queued = "queued",
        /// Quota and places are its own; its members are being built.
        Admitted = "admitted",
        /// All its members run, or ran.
        Running = "running",
        /// It was told to go, and its notice runs.
        Preempting = "preempting",
        /// Its members are being released.
        Stopping = "stopping",
        /// It was given back after it had been admitted.
        Finished = "finished",
        /// It was given back before it was admitted.
        Cancelled = "cancelled",
        /// It would have had to wait, and was not to.
        Refused = "refused",
        /// A member could not be built; all of them were released.
        Failed = "failed",
    }
}

impl State {
    /// Whether a workload in this state uses quota and its members have claims.
    pub const fn holds_quota(self) -> bool {
        matches!(self, Self::Admitted | Self::Running | Self::Preempting | Self::Stopping)
    }
    /// Whether nothing more will happen.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Finished | Self::Cancelled | Self::Refused | Self::Failed)
    }
}

text_enum! {
    /// What to do when it cannot start at once.
    IfUnavailable {
        /// Say so and forget it.
        Refuse = "refuse",
        /// Let it wait in its queue.
        Queue = "queue",
    }
}

text_enum! {
    /// The rule under which a workload is told to go.
    PreemptionRule {
        /// For one of a higher priority in its own queue.
        WithinQueue = "within_queue",
        /// Its queue used what it had borrowed, and the owner wants it back.
        Reclaim = "reclaim",
        /// For one that borrows as well, with a higher priority.
        BorrowWithinCohort = "borrow_within_cohort",
        /// For a queue whose share is smaller.
        FairShare = "fair_share",
        /// Its queue is being emptied.
        Drain = "drain",
    }
}
