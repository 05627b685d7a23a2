//! Queues as they stand: how much of their quota is used, who waits and why, and what a change of the objects would do to all
//! of them. Everything is told as data first; the sentence is made from it.

use crate::{endpoints, governance::GovernanceApplyBody};
use model::{Timestamp, WorkloadId, text::Slug, workload::PreemptionRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue that holds some of what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HolderView {
    /// Which queue.
    pub queue: String,
    /// How much it uses.
    pub holds: i64,
    /// How much of that is beyond its own.
    pub borrowed: i64,
}

model::text_enum! {
    /// What would let a workload go on, or help to.
    WayOutKind {
        /// A workload ends.
        WorkloadEnds = "workload_ends",
        /// A queue gives back some of what it holds.
        QueueReleases = "queue_releases",
        /// A quota or a borrowing limit is raised.
        QuotaRaised = "quota_raised",
        /// The one before it starts.
        EarlierStarts = "earlier_starts",
        /// It may have others stopped.
        MayPreempt = "may_preempt",
        /// A check outside says yes.
        CheckPasses = "check_passes",
        /// Somebody lets it in.
        Released = "released",
        /// Its queue goes on.
        QueueResumed = "queue_resumed",
        /// A time comes.
        TimePasses = "time_passes",
        /// It asks for something else, or what there is changes.
        RequestChanged = "request_changed",
        /// The next look.
        NextTurn = "next_turn",
    }
}

/// Something that would let a workload go on, or help to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WayOutView {
    /// What.
    pub kind: WayOutKind,
    /// The workload it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_id: Option<WorkloadId>,
    /// The queue or cohort it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// When, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

model::text_enum! {
    /// What the quota of a workload is worth.
    PromiseKind {
        /// Its queue uses no more than its own: nobody outside the queue can take it.
        WithinNominal = "within_nominal",
        /// Its queue uses what others have lent, and has to give it back when they ask.
        Borrowing = "borrowing",
        /// Its queue has nothing of its own: all that it runs can be taken back.
        ZeroQuota = "zero_quota",
    }
}

/// A flavor that was tried for a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlavorTriedView {
    /// Which flavor.
    pub flavor: String,
    /// How it stands: `no_fit`, `no_candidates`, `preempt`, `reclaim` or `fit`, the worst first.
    pub reach: String,
}

/// Why a workload is where it is, with the numbers behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplanationView {
    /// Why, in one word that never changes.
    pub code: String,
    /// The same and the rest in sentences.
    pub sentence: String,
    /// Its queue.
    pub queue: String,
    /// How many are looked at before it, and one; absent when it is not in the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<i64>,
    /// How many wait in its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<i64>,
    /// The queue or cohort that has no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_at: Option<String>,
    /// The flavor of which too little is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flavor: Option<String>,
    /// The resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The flavors that were tried, in the order of the queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<FlavorTriedView>,
    /// How much of it is asked for.
    pub asked: i64,
    /// How much of it can be had.
    pub available: i64,
    /// The difference.
    pub shortfall: i64,
    /// Who holds it, who borrowed most first.
    pub holders: Vec<HolderView>,
    /// What would help, most likely first.
    pub unblocks: Vec<WayOutView>,
    /// What its quota is or will be worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<PromiseKind>,
    /// When it starts at the latest if nobody else comes; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_start_at: Option<Timestamp>,
}

/// How much of one resource in one flavor a queue or cohort has and uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaUseView {
    /// The flavor.
    pub flavor: String,
    /// The resource.
    pub resource: String,
    /// Its own, now.
    pub nominal: i64,
    /// What it uses; for a cohort, what its members use beyond what they keep to themselves.
    pub used: i64,
    /// What of that is beyond its own.
    pub borrowed: i64,
    /// What others use of its own.
    pub lent: i64,
    /// What it could still use now without anybody going.
    pub available: i64,
}

/// A queue or cohort as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueUseView {
    /// Its short name.
    pub slug: Slug,
    /// Whether it is a queue; else it is a cohort.
    pub is_queue: bool,
    /// The cohort above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Slug>,
    /// How far it lives beyond its own, in thousandths of what could be lent to it, divided by its weight.
    pub share_per_mille: i64,
    /// Workloads that hold quota here.
    pub running: i64,
    /// Workloads that wait here.
    pub waiting: i64,
    /// Resource by resource.
    pub quotas: Vec<QuotaUseView>,
}

/// All queues and cohorts as they stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueUseList {
    /// Cohorts first, each kind by name.
    pub items: Vec<QueueUseView>,
}

/// What a change would do to one workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectView {
    /// Which one.
    pub workload_id: WorkloadId,
    /// What it is called.
    pub name: String,
    /// Its queue.
    pub queue: String,
    /// What would happen to it.
    pub effect: EffectKind,
    /// Under which rule it would have to go, where it would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<PreemptionRule>,
    /// Why it would wait, where it would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<ExplanationView>,
}

model::text_enum! {
    /// What a change would do to a workload.
    EffectKind {
        /// It waits and would start.
        Starts = "starts",
        /// It runs and would have to go.
        Stops = "stops",
        /// It would wait for another reason, or for the same reason with other numbers.
        WaitsOtherwise = "waits_otherwise",
    }
}

/// What a change would do to everything that waits and runs now, by the engine that would do it. Nothing was touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationView {
    /// Who would be treated otherwise than without the change, by id.
    pub effects: Vec<EffectView>,
    /// How many would start.
    pub starts: i64,
    /// How many would have to go.
    pub stops: i64,
    /// The queues and cohorts as they would stand then.
    pub queues: Vec<QueueUseView>,
}

endpoints! {
    /// Show how much of their quota queues and cohorts use, and how many wait.
    QueueUse = "queue_use", Get "/api/v1/admin/governance/usage", "governance", PlatformRead { answer: Ok QueueUseList }
    /// Show what a change of the objects would do to everything that waits and runs now. Nothing is changed.
    GovernanceSimulate = "governance_simulate", Post "/api/v1/admin/governance/simulate", "governance", PlatformRead { body: GovernanceApplyBody, check: GovernanceApplyBody::check, answer: Ok SimulationView, reads_only: true, problems: [GovernanceRefused] }
}
