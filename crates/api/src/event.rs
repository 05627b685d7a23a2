//! Events out: CloudEvents 1.0, as pages and as a live stream of server-sent events.
//!
//! Delivery is at least once. `sequence` is dense and gap-free; `id` is what to dedupe on. A stream resumes after the
//! sequence in `Last-Event-ID`.

use crate::{endpoint::not_null, endpoints, workload::PreemptionNotice};
use model::{
    EventId, ProjectId, TenantId, Timestamp, allocation,
    event::{Change, Noun},
    image::ImageState,
    number::{EventPosition, PageSize},
    supply::{NodeState, OverrideState, SlotState},
    task::TaskState,
    tenancy,
    text::RecordedName,
    workload,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every change that can be recorded, noun by noun. An event outside this table is a bug: it would have a type that the
/// AsyncAPI document does not know.
pub const OCCURRING: &[(Noun, &[Change])] = {
    use Change::{Created, Deleted, Preempted, StateChanged, Tested, Updated, Wished};
    &[
        (Noun::Tenant, &[Created, Updated, Wished, StateChanged]),
        (Noun::Project, &[Created, Updated, Wished, StateChanged]),
        (Noun::Principal, &[Created, Updated, Deleted]),
        (Noun::Member, &[Created, Updated, Deleted]),
        (Noun::Token, &[Created, Deleted]),
        (Noun::Region, &[Created, Updated, Deleted]),
        (Noun::Pool, &[Created, Updated, Deleted]),
        (Noun::Sku, &[Created, Updated, Deleted]),
        (Noun::SlotProfile, &[Created, Updated]),
        (Noun::Image, &[Created, Updated, StateChanged]),
        (Noun::ImageKey, &[Created, Updated]),
        (Noun::SshKey, &[Created, Deleted]),
        (Noun::EnrollmentToken, &[Created, Updated, Deleted]),
        (Noun::Node, &[Created, Updated, Wished, StateChanged]),
        (Noun::Slot, &[Created, Updated, Wished, StateChanged]),
        (Noun::WipeOverride, &[Created, StateChanged]),
        (Noun::Ingress, &[Created, Deleted]),
        (Noun::Workload, &[Created, Updated, Wished, StateChanged, Preempted]),
        (Noun::Allocation, &[Created, Updated, Wished, StateChanged]),
        (Noun::Task, &[Created, Updated, StateChanged]),
        (Noun::Topology, &[Created, Updated, Deleted]),
        (Noun::Flavor, &[Created, Updated, Deleted]),
        (Noun::Cohort, &[Created, Updated, Deleted]),
        (Noun::ClusterQueue, &[Created, Updated, Deleted]),
        (Noun::LocalQueue, &[Created, Updated, Deleted]),
        (Noun::PriorityClass, &[Created, Updated, Deleted]),
        (Noun::HardwareProfile, &[Created, Updated, Deleted]),
        (Noun::Webhook, &[Created, Updated, Tested, Deleted]),
    ]
};

/// Whether this change can happen to this kind of thing.
pub fn can_occur(noun: Noun, change: Change) -> bool {
    OCCURRING.iter().any(|(known, changes)| *known == noun && changes.contains(&change))
}

/// The CloudEvents type of a change.
pub fn event_type(noun: Noun, change: Change) -> String {
    format!("io.gpuaas.{noun}.{change}.v1")
}

/// The workflow states of a kind of thing; none for what has no workflow.
pub fn states(noun: Noun) -> Vec<&'static str> {
    fn words<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Vec<&'static str> {
        all.iter().map(|state| word(*state)).collect()
    }
    match noun {
        Noun::Tenant | Noun::Project => words(tenancy::State::ALL, tenancy::State::as_str),
        Noun::Node => words(NodeState::ALL, NodeState::as_str),
        Noun::Slot => words(SlotState::ALL, SlotState::as_str),
        Noun::Allocation => words(allocation::State::ALL, allocation::State::as_str),
        Noun::Workload => words(workload::State::ALL, workload::State::as_str),
        Noun::WipeOverride => words(OverrideState::ALL, OverrideState::as_str),
        Noun::Task => words(TaskState::ALL, TaskState::as_str),
        Noun::Image => words(ImageState::ALL, ImageState::as_str),
        Noun::ImageKey
        | Noun::Principal
        | Noun::Member
        | Noun::Token
        | Noun::Region
        | Noun::Pool
        | Noun::Sku
        | Noun::SlotProfile
        | Noun::SshKey
        | Noun::Ingress
        | Noun::EnrollmentToken
        | Noun::Topology
        | Noun::Flavor
        | Noun::Cohort
        | Noun::ClusterQueue
        | Noun::LocalQueue
        | Noun::PriorityClass
        | Noun::HardwareProfile
        | Noun::Webhook => Vec::new(),
    }
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventData {
    /// What kind of thing.
    pub noun: Noun,
    /// What happened to it.
    pub change: Change,
    /// The version the change produced.
    pub object_version: i64,
    /// The tenant it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// The project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The workflow state before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_from: Option<String>,
    /// The workflow state after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_to: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a workload was told that has to go; only in that event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<PreemptionNotice>,
}

/// A CloudEvent in structured JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CloudEvent {
    /// Always `1.0`.
    pub specversion: String,
    /// Unique; what to dedupe on.
    pub id: EventId,
    /// The store the event comes from.
    pub source: String,
    /// `io.gpuaas.NOUN.CHANGE.v1`.
    #[serde(rename = "type")]
    pub event_type: String,
    /// The id of the thing that changed.
    pub subject: String,
    /// When it was committed.
    pub time: Timestamp,
    /// Always `application/json`.
    pub datacontenttype: String,
    /// The position in the stream, as text (a registered extension): dense, gap-free, from 1.
    pub sequence: String,
    /// What changed.
    pub data: EventData,
}

/// Which events.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventQuery {
    /// Only events after this position; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<EventPosition>,
    /// Only events of the thing with this id.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub subject: Option<RecordedName>,
    /// How many at most; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<PageSize>,
}

/// Where a stream starts.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventStreamQuery {
    /// Only events after this position; from now on when absent. `Last-Event-ID` wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<EventPosition>,
}

/// A run of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventPage {
    /// The events, oldest first. Events of others are left out, so the sequences of a tenant's page may have gaps.
    pub items: Vec<CloudEvent>,
    /// Pass this as `after` to go on.
    pub next_after: i64,
    /// The newest position in the store.
    pub head: i64,
}

endpoints! {
    /// List events after a position, of everything or of one thing.
    EventList = "event_list", Get "/api/v1/events", "events", SelfRead { query: EventQuery, answer: Ok EventPage }
    /// Follow events live, as server-sent events.
    EventStream = "event_stream", Get "/api/v1/events/stream", "events", SelfRead { query: EventStreamQuery, answer: EventStream CloudEvent }
}
