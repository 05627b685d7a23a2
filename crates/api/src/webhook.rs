//! Webhooks: events sent to an address of their owner. Each is one CloudEvent, the same as in the stream of events, inside
//! a message of Standard Webhooks: signed, with an id that stays the same however often it is sent. Delivery is at least once.

use crate::{
    endpoint::{Nothing, not_null},
    endpoints,
    event::CloudEvent,
    page::{Page, PageQuery, PageToken, paged},
    problem::FieldError,
    tenancy::TenantPath,
};
use model::{
    EventId, ProjectId, TenantId, Timestamp, WebhookDeliveryId, WebhookId,
    number::{EventPosition, PageSize, PreviousSecretS},
    text::Note,
    webhook::{DeliveryState, EventFilter, WebhookUrl},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Filters that one webhook may have.
pub const EVENT_TYPES_MAX: usize = 32;

/// Names a webhook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookPath {
    /// The webhook.
    pub webhook_id: WebhookId,
}

/// Names a delivery to a webhook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookDeliveryPath {
    /// The webhook.
    pub webhook_id: WebhookId,
    /// The delivery.
    pub delivery_id: WebhookDeliveryId,
}

/// A webhook that somebody wants.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookCreateBody {
    /// Where events are sent. With https; without it only into ranges that the platform's operators allow.
    pub url: WebhookUrl,
    /// What it is for.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub description: Option<Note>,
    /// Which events: up to 32 of `NOUN.CHANGE` and `NOUN.*`; all that its owner may read when absent or empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = EVENT_TYPES_MAX))]
    pub event_types: Vec<EventFilter>,
    /// Only events of this project.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Whether anything is sent; it is when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
impl WebhookCreateBody {
    fn check(&self) -> Result<(), FieldError> {
        check_types(&self.event_types)
    }
}

/// What changes about a webhook. At least one field.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct WebhookUpdateBody {
    /// Where events are sent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub url: Option<WebhookUrl>,
    /// What it is for.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub description: Option<Note>,
    /// Which events: up to 32; all that its owner may read when empty.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = EVENT_TYPES_MAX))]
    pub event_types: Option<Vec<EventFilter>>,
    /// Whether anything is sent. One that is enabled again begins with what happens from then on.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
impl WebhookUpdateBody {
    fn check(&self) -> Result<(), FieldError> {
        self.event_types.as_deref().map_or(Ok(()), check_types)
    }
}

fn check_types(types: &[EventFilter]) -> Result<(), FieldError> {
    if types.len() <= EVENT_TYPES_MAX {
        return Ok(());
    }
    Err(FieldError { pointer: "/event_types".to_owned(), detail: "up to 32 filters".to_owned() })
}

/// How a new secret comes into use.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookRotateBody {
    /// For how long the secret before signs beside the new one, in seconds; a day when absent, not at all when 0.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub previous_for_s: Option<PreviousSecretS>,
}

/// What to send again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookReplayBody {
    /// Every wanted event after this position.
    pub after: EventPosition,
}

/// Which deliveries.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookDeliveryQuery {
    /// Only those that stand like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<DeliveryState>,
    /// How many items at most; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<PageSize>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<PageToken>,
}

paged!(WebhookDeliveryQuery);

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookView {
    /// Its id.
    pub id: WebhookId,
    /// Whose it is; the platform's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Where events are sent.
    pub url: WebhookUrl,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Note>,
    /// Which events; all that its owner may read when empty.
    pub event_types: Vec<EventFilter>,
    /// Only events of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Whether anything is sent.
    pub enabled: bool,
    /// Why the platform ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_why: Option<String>,
    /// Events up to this position were taken on.
    pub position: i64,
    /// Deliveries that have not ended.
    pub open_deliveries: i64,
    /// The first failure since anything was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// Until when an older secret signs beside the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_secret_until: Option<Timestamp>,
    /// One sentence.
    pub projected: String,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// A webhook with the secret that signs from now on, which is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookCreatedView {
    /// The webhook.
    pub webhook: WebhookView,
    /// `whsec_` and a key in base64: what the receiver checks signatures with.
    pub secret: String,
}

/// One event on its way to one webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookDeliveryView {
    /// Its id.
    pub id: WebhookDeliveryId,
    /// To which webhook.
    pub webhook_id: WebhookId,
    /// Which event; the `webhook-id` of every attempt.
    pub event_id: EventId,
    /// `io.gpuaas.NOUN.CHANGE.v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// The event's position in the stream, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<i64>,
    /// How it stands.
    pub state: DeliveryState,
    /// Attempts in all.
    pub attempts: i64,
    /// What the last attempt was answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_status: Option<i64>,
    /// What went wrong with the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// One header of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookHeaderView {
    /// Its name.
    pub name: String,
    /// What it said.
    pub value: String,
}

/// One attempt to deliver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookAttemptView {
    /// The how manieth, from 1.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// What was sent along; signatures are left out.
    pub request_headers: Vec<WebhookHeaderView>,
    /// The status of the answer, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How the answer began: its first 1,024 bytes.
    pub response_body: String,
}

/// A delivery with what was sent and everything that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookDeliveryDetailView {
    /// The delivery.
    pub delivery: WebhookDeliveryView,
    /// What is sent; absent until the event has its position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<CloudEvent>,
    /// The newest attempts, newest first, at most 100.
    pub attempts: Vec<WebhookAttemptView>,
}

endpoints! {
    /// List a tenant's webhooks.
    WebhookList = "webhook_list", Get "/api/v1/tenants/{tenant_id}/webhooks", "webhooks", AuditRead { path: TenantPath, query: PageQuery, answer: Ok Page<WebhookView>, problems: [InvalidPageToken] }
    /// Have a tenant's events sent to an address. The secret that signs them is shown this once.
    WebhookCreate = "webhook_create", Post "/api/v1/tenants/{tenant_id}/webhooks", "webhooks", TenantManage { path: TenantPath, body: WebhookCreateBody, check: WebhookCreateBody::check, answer: Created WebhookCreatedView, problems: [WebhookRefused, StateConflict, UnknownReference] }
    /// List the platform's own webhooks.
    PlatformWebhookList = "platform_webhook_list", Get "/api/v1/admin/webhooks", "webhooks", PlatformRead { query: PageQuery, answer: Ok Page<WebhookView>, problems: [InvalidPageToken] }
    /// Have every event of the platform sent to an address. The secret that signs them is shown this once.
    PlatformWebhookCreate = "platform_webhook_create", Post "/api/v1/admin/webhooks", "webhooks", PlatformManage { body: WebhookCreateBody, check: WebhookCreateBody::check, answer: Created WebhookCreatedView, problems: [WebhookRefused, StateConflict, UnknownReference] }
    /// Show a webhook, without its secret.
    WebhookShow = "webhook_show", Get "/api/v1/webhooks/{webhook_id}", "webhooks", AuditRead { path: WebhookPath, answer: Ok WebhookView }
    /// Change a webhook.
    WebhookUpdate = "webhook_update", Patch "/api/v1/webhooks/{webhook_id}", "webhooks", TenantManage { path: WebhookPath, body: WebhookUpdateBody, check: WebhookUpdateBody::check, answer: Ok WebhookView, if_match: Required, problems: [WebhookRefused] }
    /// Remove a webhook. Nothing more is sent, and its deliveries are forgotten soon after.
    WebhookDelete = "webhook_delete", Delete "/api/v1/webhooks/{webhook_id}", "webhooks", TenantManage { path: WebhookPath, answer: NoContent Nothing, if_match: Optional }
    /// Make a new secret. It is shown this once; the one before signs beside it for a while.
    WebhookRotateSecret = "webhook_rotate_secret", Post "/api/v1/webhooks/{webhook_id}/rotate-secret", "webhooks", TenantManage { path: WebhookPath, body: WebhookRotateBody, answer: Ok WebhookCreatedView }
    /// Send an event that says that somebody tries the webhook out.
    WebhookTest = "webhook_test", Post "/api/v1/webhooks/{webhook_id}/test", "webhooks", TenantManage { path: WebhookPath, answer: Ok WebhookDeliveryView, problems: [StateConflict] }
    /// Send every wanted event after a position, again where it was sent before.
    WebhookReplay = "webhook_replay", Post "/api/v1/webhooks/{webhook_id}/replay", "webhooks", TenantManage { path: WebhookPath, body: WebhookReplayBody, answer: Ok WebhookView, problems: [StateConflict] }
    /// List deliveries to a webhook, newest first. They are kept for 30 days.
    WebhookDeliveryList = "webhook_delivery_list", Get "/api/v1/webhooks/{webhook_id}/deliveries", "webhooks", AuditRead { path: WebhookPath, query: WebhookDeliveryQuery, answer: Ok Page<WebhookDeliveryView>, problems: [InvalidPageToken] }
    /// Show a delivery with what was sent and every attempt.
    WebhookDeliveryShow = "webhook_delivery_show", Get "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}", "webhooks", AuditRead { path: WebhookDeliveryPath, answer: Ok WebhookDeliveryDetailView }
    /// Send one event again, with the same `webhook-id`.
    WebhookDeliveryReplay = "webhook_delivery_replay", Post "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", "webhooks", TenantManage { path: WebhookDeliveryPath, answer: Ok WebhookDeliveryView, problems: [StateConflict] }
}
