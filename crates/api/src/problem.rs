//! Refusals: RFC 9457 problems, each with a stable code and a page in `docs/errors/`.
//!
//! The table below is the only place where a code, its status and its title are written; the OpenAPI document, the command
//! line's exit codes and `gpuaas explain` all read it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! problem_codes {
    ($($(#[$meta:meta])* $variant:ident = $code:literal, $status:literal, $title:literal, retryable: $retryable:literal;)+) => {
        model::text_enum! {
            /// Every way a request can be refused.
            Code { $($(#[$meta])* $variant = $code),+ }
        }
        impl Code {
            /// The HTTP status that goes with the code.
            pub const fn status(self) -> u16 { match self { $(Code::$variant => $status),+ } }
            /// The same for every occurrence.
            pub const fn title(self) -> &'static str { match self { $(Code::$variant => $title),+ } }
            /// Whether the same request may succeed later without being changed.
            pub const fn is_retryable(self) -> bool { match self { $(Code::$variant => $retryable),+ } }
            /// The page that explains the code: what happened, why, what to do.
            pub const fn page(self) -> &'static str {
                match self { $(Code::$variant => include_str!(concat!("../../../docs/errors/", $code, ".md"))),+ }
            }
        }
    };
}

problem_codes! {
    /// What arrived cannot be read as one HTTP request.
    MalformedRequest = "malformed_request", 400, "The request is not valid HTTP", retryable: false;
    /// The body is not JSON.
    MalformedJson = "malformed_json", 400, "The body is not valid JSON", retryable: false;
    /// A field of the body is missing, unknown or breaks its rule.
    InvalidBody = "invalid_body", 400, "The body does not match its schema", retryable: false;
    /// The body is nested too deeply.
    BodyTooDeep = "body_too_deep", 400, "The body is nested too deeply", retryable: false;
    /// A path or query parameter is unknown or breaks its rule.
    InvalidParameter = "invalid_parameter", 400, "A parameter does not match its schema", retryable: false;
    /// A header breaks its rule.
    InvalidHeader = "invalid_header", 400, "A header does not match its rule", retryable: false;
    /// The page token is not one of ours, or belongs to another list.
    InvalidPageToken = "invalid_page_token", 400, "The page token does not belong to this list", retryable: false;
    /// A create or action came without an Idempotency-Key.
    IdempotencyKeyMissing = "idempotency_key_missing", 400, "An Idempotency-Key header is required", retryable: false;
    /// No token, or one that is not known.
    Unauthenticated = "unauthenticated", 401, "A valid token is required", retryable: false;
    /// The token has expired.
    TokenExpired = "token_expired", 401, "The token has expired", retryable: false;
    /// The token was revoked, or its owner removed.
    TokenRevoked = "token_revoked", 401, "The token was revoked", retryable: false;
    /// The caller sees the thing but may not do this to it.
    Forbidden = "forbidden", 403, "The caller may not do this", retryable: false;
    /// The token may only be used for reading.
    TokenScopeTooNarrow = "token_scope_too_narrow", 403, "The token may only be used for reading", retryable: false;
    /// A browser's request that may not be the person's own wish.
    CsrfRefused = "csrf_refused", 403, "The request may come from another site", retryable: false;
    /// The identity provider did not vouch for the person, or nothing here is open to them.
    SignInRefused = "sign_in_refused", 403, "You cannot be signed in", retryable: false;
    /// The one-time token does not let this host in.
    EnrollmentRefused = "enrollment_refused", 403, "The host cannot be enrolled with this token", retryable: false;
    /// No certificate, or one that is not good any more.
    NodeIdentityRefused = "node_identity_refused", 403, "The node's identity is not accepted", retryable: false;
    /// An agent said what it may not say.
    NodeMessageRefused = "node_message_refused", 403, "The agent's message is not accepted", retryable: false;
    /// There is no such thing, or the caller may not know of it.
    NotFound = "not_found", 404, "Not found", retryable: false;
    /// No operation has this path.
    RouteNotFound = "route_not_found", 404, "No operation has this path", retryable: false;
    /// The path exists, the method does not.
    MethodNotAllowed = "method_not_allowed", 405, "The path does not take this method", retryable: false;
    /// The request took too long to arrive.
    RequestTimeout = "request_timeout", 408, "The request took too long to arrive", retryable: true;
    /// The name is in use.
    NameTaken = "name_taken", 409, "The name is in use", retryable: false;
    /// Something else still refers to it.
    StillInUse = "still_in_use", 409, "Something else still refers to it", retryable: false;
    /// It is not in a state that allows this.
    StateConflict = "state_conflict", 409, "Its state does not allow this", retryable: false;
    /// A request with the same Idempotency-Key is still running.
    RequestInFlight = "request_in_flight", 409, "A request with this Idempotency-Key is still running", retryable: true;
    /// A tenant must keep one administrator.
    LastAdmin = "last_admin", 409, "A tenant must keep one administrator", retryable: false;
    /// A project would hold more GPUs than its cap.
    QuotaExceeded = "quota_exceeded", 409, "The project would exceed its GPU cap", retryable: false;
    /// The project has no queue for what asks for one.
    QueueMissing = "queue_missing", 409, "There is no queue to wait in", retryable: false;
    /// No topology-safe set of slots is free.
    SkuUnavailable = "sku_unavailable", 409, "Nothing that fits is free", retryable: true;
    /// The host could not start what was placed on it.
    ProvisioningFailed = "provisioning_failed", 409, "The host could not start it", retryable: true;
    /// The node lacks what slice use needs.
    NodeNotReady = "node_not_ready", 409, "The node is not ready for slices", retryable: false;
    /// No operator has said who owns ways in here.
    IngressNotOwned = "ingress_not_owned", 409, "Nobody owns ways in here", retryable: false;
    /// A newer agent, or another one, speaks for the node.
    AgentSuperseded = "agent_superseded", 409, "Another agent speaks for the node", retryable: false;
    /// The object changed since the version in If-Match.
    StaleVersion = "stale_version", 412, "The object has changed since that version", retryable: false;
    /// The body is larger than the limit.
    BodyTooLarge = "body_too_large", 413, "The body is too large", retryable: false;
    /// The request target is longer than the limit.
    UriTooLong = "uri_too_long", 414, "The request target is too long", retryable: false;
    /// The bytes that a range asks for are not there.
    RangeRefused = "range_refused", 416, "There are no such bytes", retryable: false;
    /// The body is not declared as JSON.
    UnsupportedMediaType = "unsupported_media_type", 415, "The body must be application/json", retryable: false;
    /// The key was used for another request.
    IdempotencyKeyReused = "idempotency_key_reused", 422, "The Idempotency-Key was used for another request", retryable: false;
    /// The body refers to something that does not exist, or that the caller may not know of.
    UnknownReference = "unknown_reference", 422, "The body refers to something that does not exist", retryable: false;
    /// A slot breaks a rule of approval.
    SlotRefused = "slot_refused", 422, "The slot cannot be approved like this", retryable: false;
    /// The text is no public key, or not one that can be used.
    SshKeyRefused = "ssh_key_refused", 422, "The public key cannot be used", retryable: false;
    /// Objects of governance would not fit together.
    GovernanceRefused = "governance_refused", 422, "The objects of governance would not fit together", retryable: false;
    /// The lease cannot end at that moment.
    LeaseRefused = "lease_refused", 422, "The lease cannot end then", retryable: false;
    /// The port is not among those that were set aside.
    IngressOutOfRange = "ingress_out_of_range", 422, "The port was not set aside for ways in", retryable: false;
    /// The entry or the bytes of an image are not what they must be.
    ImageRefused = "image_refused", 422, "The image cannot be taken", retryable: false;
    /// There is no such image to launch, or none was named and there is no default.
    ImageUnavailable = "image_unavailable", 422, "There is no such image to launch", retryable: false;
    /// The image asks for more disk than the slots have.
    ImageUnfit = "image_unfit", 422, "The image does not fit", retryable: false;
    /// Something that only a laboratory has.
    LabOnly = "lab_only", 422, "Only a laboratory has this", retryable: false;
    /// Events may not be sent to that address.
    WebhookRefused = "webhook_refused", 422, "Events cannot be sent there", retryable: false;
    /// The SKU or region cannot be bought now.
    NotForSale = "not_for_sale", 422, "This cannot be bought", retryable: false;
    /// The operation opens a stream, and the request did not ask for one.
    UpgradeRequired = "upgrade_required", 426, "The request must ask for a stream", retryable: false;
    /// A changing request came without If-Match.
    VersionRequired = "version_required", 428, "An If-Match header is required", retryable: false;
    /// Too many requests with this token.
    RateLimited = "rate_limited", 429, "Too many requests", retryable: true;
    /// There are as many open streams as there may be.
    StreamLimit = "stream_limit", 429, "Too many open streams", retryable: true;
    /// The headers together are larger than the limit.
    HeadersTooLarge = "headers_too_large", 431, "The headers are too large", retryable: false;
    /// A fault of ours.
    Internal = "internal", 500, "The platform failed", retryable: true;
    /// The store is not reachable or is overloaded.
    StoreUnavailable = "store_unavailable", 503, "The store cannot be reached", retryable: true;
    /// The commit may or may not have happened.
    OutcomeUnknown = "outcome_unknown", 503, "Whether the change was made is not known", retryable: true;
    /// The identity provider cannot be reached.
    SignInUnavailable = "sign_in_unavailable", 503, "Signing in through the identity provider does not work now", retryable: true;
    /// The host did not open the way to its guest.
    GuestUnreachable = "guest_unreachable", 504, "The guest cannot be reached", retryable: true;
}

/// One field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// JSON Pointer into the body, or the name of the parameter or header.
    pub pointer: String,
    /// What would be accepted.
    pub detail: String,
}

/// A refusal as `application/problem+json`. The request id is in the `X-Request-Id` header, so that two answers about the
/// same fact are the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Where the code is explained.
    #[serde(rename = "type")]
    pub type_uri: String,
    /// The same for every occurrence of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: Code,
    /// What happened this time.
    pub detail: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// How long to wait before that, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u32>,
    /// The fields that break a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

impl Problem {
    /// A problem of this code with a sentence about this occurrence.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            type_uri: format!("/docs/errors/{code}"),
            title: code.title().to_owned(),
            status: code.status(),
            code,
            detail: detail.into(),
            retryable: code.is_retryable(),
            retry_after_s: None,
            errors: Vec::new(),
        }
    }
    /// Names a field that breaks a rule.
    pub fn with_field(mut self, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        self.errors.push(FieldError { pointer: pointer.into(), detail: detail.into() });
        self
    }
    /// Says when to try again.
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }
    /// The one answer for what is absent and for what the caller may not know of.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "There is no such thing here, or you may not see it.")
    }
    /// A field of the body that names something that does not exist.
    pub fn unknown_reference(pointer: &str) -> Self {
        Self::new(Code::UnknownReference, "The body refers to something that does not exist, or that you may not see.")
            .with_field(pointer, "the id of something that exists and that you may see")
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)?;
        for error in &self.errors {
            write!(f, "\n  {}: {}", error.pointer, error.detail)?;
        }
        Ok(())
    }
}
impl std::error::Error for Problem {}
