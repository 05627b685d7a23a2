//! Queues and the tree they hang in: quota, what may be lent and borrowed, who may be stopped for whom, and in which order
//! work goes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{not_null, optional_where_defaulted, within};
use crate::{
    ProjectId, TenantId,
    number::{HalfLifeS, MinRunS, MinuteOfDay, NoticeS, Priority, Quantity, UtcOffsetMinutes, WeightMilli},
    text::Slug,
};

/// What there is of one resource in one flavor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct Quota {
    /// What is counted; GPUs unless said.
    #[serde(default = "Slug::gpu")]
    pub resource: Slug,
    /// Its own.
    pub nominal: Quantity,
    /// What it may borrow beyond its own; whatever the cohort has when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub borrowing_limit: Option<Quantity>,
    /// What of its own it lends at most; all of it when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub lending_limit: Option<Quantity>,
}

/// What there is in one flavor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlavorQuotas {
    /// The flavor, by short name.
    pub flavor: Slug,
    /// Resource by resource, each once.
    #[serde(deserialize_with = "within::<_, _, 1, 64>")]
    #[schemars(length(min = 1, max = 64))]
    pub quotas: Vec<Quota>,
}

/// Flavors that can stand in for each other, the best first. All have quota in the same resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceGroup {
    /// The flavors, the best first, each once in all groups.
    #[serde(deserialize_with = "within::<_, _, 1, 64>")]
    #[schemars(length(min = 1, max = 64))]
    pub flavors: Vec<FlavorQuotas>,
}

/// Queues and cohorts that lend to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct Cohort {
    /// Short name, for ever.
    pub slug: Slug,
    /// The cohort above it; it is a root when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub parent: Option<Slug>,
    /// What it has besides what its members have: for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 16>")]
    #[schemars(length(max = 16))]
    pub resource_groups: Vec<ResourceGroup>,
    /// How much it counts against its siblings, in thousandths.
    #[serde(default = "one")]
    pub weight_milli: WeightMilli,
}

text_enum! {
    /// In which order work of a queue goes.
    Ordering {
        /// By priority, then age; what cannot start holds up all that come after it in this order.
        StrictFifo = "strict_fifo",
        /// By priority, then age; what cannot start is passed by what can.
        BestEffortFifo = "best_effort_fifo",
        /// The newest first.
        Lifo = "lifo",
        /// Strict priority: the highest first, and nobody passes a higher one that cannot start. Of equal priority the oldest
        /// goes first, so this is the order of `strict_fifo` under the name of what it promises.
        Priority = "priority",
    }
}

text_enum! {
    /// Whose work may be stopped.
    Takes {
        /// Nobody's.
        Never = "never",
        /// That of less priority.
        LowerPriority = "lower_priority",
        /// That, and what is of equal priority and came later.
        LowerOrNewerEqualPriority = "lower_or_newer_equal_priority",
        /// Anybody's.
        Any = "any",
    }
}

text_enum! {
    /// Whose work may be stopped by a queue that itself borrows.
    TakesWhileBorrowing {
        /// Nobody's.
        Never = "never",
        /// That of less priority.
        LowerPriority = "lower_priority",
    }
}

/// What a queue that borrows may take from others in its cohort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BorrowWithinCohort {
    /// Whose work.
    pub policy: TakesWhileBorrowing,
    /// Only work of this priority or less; whatever is of less than its own when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub max_priority_threshold: Option<Priority>,
}

/// What a queue may take, and from whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct Preemption {
    /// From itself.
    #[serde(default = "never")]
    pub within_queue: Takes,
    /// From those in its cohort that use more than their own.
    #[serde(default = "never")]
    pub reclaim_within_cohort: Takes,
    /// The same while it borrows itself.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub borrow_within_cohort: Option<BorrowWithinCohort>,
}

impl Default for Preemption {
    fn default() -> Self {
        Self { within_queue: Takes::Never, reclaim_within_cohort: Takes::Never, borrow_within_cohort: None }
    }
}

text_enum! {
    /// What happens to the search for a flavor when one would do at a price.
    Search {
        /// It may be taken.
        MayStop = "may_stop_search",
        /// The next one is tried first.
        TryNext = "try_next_flavor",
    }
}

text_enum! {
    /// Which price is the smaller one.
    Preference {
        /// To borrow rather than to stop others.
        BorrowingOverPreemption = "borrowing_over_preemption",
        /// To stop others rather than to borrow.
        PreemptionOverBorrowing = "preemption_over_borrowing",
    }
}

/// How a queue chooses among flavors that do at a price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct Fungibility {
    /// When it would have to borrow.
    #[serde(default = "may_stop")]
    pub when_can_borrow: Search,
    /// When others would have to be stopped.
    #[serde(default = "try_next")]
    pub when_can_preempt: Search,
    /// Which of both it prefers.
    #[serde(default = "rather_borrow")]
    pub preference: Preference,
}

impl Default for Fungibility {
    fn default() -> Self {
        Self { when_can_borrow: may_stop(), when_can_preempt: try_next(), preference: rather_borrow() }
    }
}

text_enum! {
    /// Whether a queue is stopped.
    Stop {
        /// It is not.
        None = "none",
        /// Nothing new starts; what runs goes on.
        Hold = "hold",
        /// Nothing new starts, and what runs is stopped with notice.
        HoldAndDrain = "hold_and_drain",
    }
}

/// Whose projects may have local queues into a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenTo {
    /// All projects of these tenants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 1000>")]
    #[schemars(length(max = 1000))]
    pub tenants: Vec<TenantId>,
    /// And these projects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 1000>")]
    #[schemars(length(max = 1000))]
    pub projects: Vec<ProjectId>,
}

impl OpenTo {
    /// Whether a project of a tenant may come in.
    pub fn admits(&self, tenant_id: &TenantId, project_id: &ProjectId) -> bool {
        self.tenants.contains(tenant_id) || self.projects.contains(project_id)
    }
}

text_enum! {
    /// A day of the week.
    Day {
        /// Monday.
        Monday = "monday",
        /// Tuesday.
        Tuesday = "tuesday",
        /// Wednesday.
        Wednesday = "wednesday",
        /// Thursday.
        Thursday = "thursday",
        /// Friday.
        Friday = "friday",
        /// Saturday.
        Saturday = "saturday",
        /// Sunday.
        Sunday = "sunday",
    }
}

/// What is its own of a resource in a flavor, while a window is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct WindowQuota {
    /// The flavor, by short name.
    pub flavor: Slug,
    /// What is counted; GPUs unless said.
    #[serde(default = "Slug::gpu")]
    pub resource: Slug,
    /// Its own, instead of what it has otherwise.
    pub nominal: Quantity,
}

/// A time of the week in which a queue has another quota. A window that ends at or before its start ends on the next day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct Window {
    /// The days it begins on, each once.
    #[serde(deserialize_with = "within::<_, _, 1, 7>")]
    #[schemars(length(min = 1, max = 7))]
    pub days: Vec<Day>,
    /// The minute of the day it begins in.
    pub from_minute: MinuteOfDay,
    /// The minute of the day it ends before.
    pub to_minute: MinuteOfDay,
    /// How far the clock it is told by is ahead of UTC.
    #[serde(default = "utc")]
    pub utc_offset_minutes: UtcOffsetMinutes,
    /// What is different.
    #[serde(deserialize_with = "within::<_, _, 1, 64>")]
    #[schemars(length(min = 1, max = 64))]
    pub quotas: Vec<WindowQuota>,
}

/// A queue with quota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct ClusterQueue {
    /// Short name, for ever.
    pub slug: Slug,
    /// The cohort it lends to and borrows from; it stands alone when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub cohort: Option<Slug>,
    /// In which order its work goes.
    #[serde(default = "best_effort")]
    pub ordering: Ordering,
    /// What it has; 16 groups at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 16>")]
    #[schemars(length(max = 16))]
    pub resource_groups: Vec<ResourceGroup>,
    /// How much it counts against its siblings, in thousandths.
    #[serde(default = "one")]
    pub weight_milli: WeightMilli,
    /// What it may take, and from whom.
    #[serde(default)]
    pub preemption: Preemption,
    /// How it chooses among flavors.
    #[serde(default)]
    pub fungibility: Fungibility,
    /// Whether it is stopped.
    #[serde(default = "not_stopped")]
    pub stop: Stop,
    /// Whose projects may come in; everybody's when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub open_to: Option<OpenTo>,
    /// Times of the week in which it has another quota; 64 at most, which do not overlap for one flavor and resource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "within::<_, _, 0, 64>")]
    #[schemars(length(max = 64))]
    pub schedule: Vec<Window>,
    /// How long work is warned before it has to stop.
    #[serde(default = "a_minute")]
    pub notice_s: NoticeS,
    /// How long its guests may take to stop in order after that, before they are cut off.
    #[serde(default = "half_a_minute")]
    pub grace_s: NoticeS,
    /// How long work has its quota at least before it may be stopped for others. Who wants back what it lent waits for nobody.
    #[serde(default = "ten_minutes")]
    pub min_run_s: MinRunS,
    /// When given, local queues that used less of late, for their weight, come before others that lead here, whatever the
    /// priority of their work, and work of those that used most gives way first. What was used counts half after so long.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub usage_half_life_s: Option<HalfLifeS>,
}

/// A project's way into a queue with quota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct LocalQueue {
    /// Whose it is.
    pub project_id: ProjectId,
    /// Short name in the project, for ever.
    pub slug: Slug,
    /// The queue it leads to, by short name; settled at birth.
    pub cluster_queue: Slug,
    /// Whether requests that name no queue go here; one at most in a project.
    #[serde(default)]
    pub default: bool,
    /// Whether it is stopped.
    #[serde(default = "not_stopped")]
    pub stop: Stop,
    /// How much it counts against others that lead to the same queue, in thousandths, where that queue counts what was used.
    #[serde(default = "one")]
    pub weight_milli: WeightMilli,
}

/// A priority by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = optional_where_defaulted)]
pub struct PriorityClass {
    /// Short name, for ever.
    pub slug: Slug,
    /// What goes first: more is more important.
    pub value: Priority,
    /// Whether its work may have others stopped.
    #[serde(default = "yes")]
    pub preempts: bool,
    /// Whether it is for requests that name none; one at most.
    #[serde(default)]
    pub default: bool,
}

const fn one() -> WeightMilli {
    WeightMilli::ONE
}
const fn utc() -> UtcOffsetMinutes {
    UtcOffsetMinutes::UTC
}
const fn a_minute() -> NoticeS {
    NoticeS::MINUTE
}
const fn half_a_minute() -> NoticeS {
    NoticeS::HALF_A_MINUTE
}
const fn ten_minutes() -> MinRunS {
    MinRunS::TEN_MINUTES
}
const fn best_effort() -> Ordering {
    Ordering::BestEffortFifo
}
const fn not_stopped() -> Stop {
    Stop::None
}
const fn never() -> Takes {
    Takes::Never
}
const fn may_stop() -> Search {
    Search::MayStop
}
const fn try_next() -> Search {
    Search::TryNext
}
const fn rather_borrow() -> Preference {
    Preference::BorrowingOverPreemption
}
const fn yes() -> bool {
    true
}
