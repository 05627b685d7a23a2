//! A request as the front door takes it and an answer as it gives it, free of any HTTP library, so that a simulated client
//! and a socket are served by the same code. Only the headers that mean something here are carried; whoever builds a
//! [`Request`] must refuse a header that was sent twice, or leave it to [`Headers::set`], which does.

use api::Problem;
use model::{AllocationId, EventId, StreamId};

use crate::streams::Opening;

use crate::image_files::Received;

/// The media type of a refusal.
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The media type of everything else.
pub const JSON: &str = "application/json";

/// The headers that the front door reads.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    /// `Authorization`
    pub authorization: Option<String>,
    /// `Content-Type`
    pub content_type: Option<String>,
    /// `Cookie`
    pub cookie: Option<String>,
    /// `X-CSRF-Token`
    pub csrf_token: Option<String>,
    /// `Host`
    pub host: Option<String>,
    /// `Idempotency-Key`
    pub idempotency_key: Option<String>,
    /// `If-Match`
    pub if_match: Option<String>,
    /// `If-None-Match`
    pub if_none_match: Option<String>,
    /// `Last-Event-ID`
    pub last_event_id: Option<String>,
    /// `Origin`
    pub origin: Option<String>,
    /// `Sec-Fetch-Site`
    pub sec_fetch_site: Option<String>,
    /// `Upgrade`
    pub upgrade: Option<String>,
    /// `X-Request-Id`
    pub request_id: Option<String>,
    /// A header that was sent twice or is not text, by name; the request is refused for it.
    pub unreadable: Option<&'static str>,
}

// A derived Debug would print the token.
impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Headers")
            .field("authorization", &self.authorization.as_ref().map(|_| "…"))
            .field("content_type", &self.content_type)
            .field("idempotency_key", &self.idempotency_key)
            .field("if_match", &self.if_match)
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}

impl Headers {
    /// The names, in lower case, of the headers that are read.
    pub const NAMES: &'static [&'static str] = &[
        "authorization",
        "content-type",
        "cookie",
        "host",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "last-event-id",
        "origin",
        "sec-fetch-site",
        "upgrade",
        "x-csrf-token",
        "x-request-id",
    ];

    /// Takes one header over. A second one of the same name, or one that is not text, is noted and refused later.
    pub fn set(&mut self, name: &'static str, value: Option<&str>) {
        let place = match name {
            "authorization" => &mut self.authorization,
            "content-type" => &mut self.content_type,
            "cookie" => &mut self.cookie,
            "host" => &mut self.host,
            "origin" => &mut self.origin,
            "sec-fetch-site" => &mut self.sec_fetch_site,
            "x-csrf-token" => &mut self.csrf_token,
            "idempotency-key" => &mut self.idempotency_key,
            "if-match" => &mut self.if_match,
            "if-none-match" => &mut self.if_none_match,
            "last-event-id" => &mut self.last_event_id,
            "upgrade" => &mut self.upgrade,
            "x-request-id" => &mut self.request_id,
            _ => return,
        };
        match value {
            Some(value) if place.is_none() => *place = Some(value.to_owned()),
            _ => self.unreadable = Some(name),
        }
    }
}

/// One request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path as it came, percent-encoded.
    pub path: String,
    /// What follows the `?`, as it came.
    pub query: Option<String>,
    /// What the headers say.
    pub headers: Headers,
    /// The body.
    pub body: Vec<u8>,
    /// The address it came from; empty where there is none.
    pub from: String,
    /// What the shell counted of bytes that it took in before, for operations that take bytes as they are.
    pub received: Option<Received>,
}

impl Request {
    /// A request without a body.
    pub fn new(method: &str, path: &str) -> Self {
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (path, None),
        };
        Self { method: method.to_owned(), path: path.to_owned(), query, ..Self::default() }
    }
    /// The same request with a token.
    pub fn bearer(mut self, secret: &str) -> Self {
        self.headers.authorization = Some(format!("Bearer {secret}"));
        self
    }
    /// The same request from a browser with a session; what the page knows of it goes along.
    pub fn session(mut self, secret: &str, csrf_token: &str) -> Self {
        self.headers.cookie = Some(format!("{}={secret}", api::session::COOKIE));
        self.headers.csrf_token = Some(csrf_token.to_owned());
        self
    }
    /// The same request with a JSON body.
    pub fn json(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.headers.content_type = Some(JSON.to_owned());
        self.body = body.into();
        self
    }
    /// The same request under an Idempotency-Key.
    pub fn key(mut self, key: &str) -> Self {
        self.headers.idempotency_key = Some(format!("\"{key}\""));
        self
    }
    /// The same request, to become a stream.
    pub fn upgrade(mut self) -> Self {
        self.headers.upgrade = Some(api::node_plane::STREAM_PROTOCOL.to_owned());
        self
    }

    /// The same request, with bytes that were taken in before.
    pub fn bringing(mut self, received: Received) -> Self {
        self.received = Some(received);
        self
    }
    /// The same request for one version.
    pub fn if_match(mut self, version: i64) -> Self {
        self.headers.if_match = Some(format!("\"{version}\""));
        self
    }
}

/// A file that the answer consists of, by the stream that it is the recording of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingFile {
    /// Which stream.
    pub stream_id: StreamId,
    /// The replica that wrote it.
    pub replica: String,
}

/// What a stream tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamOf {
    /// Everything that the caller may see.
    Events,
    /// What happens to one allocation.
    Timeline(AllocationId),
}

/// A stream that the caller may open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamStart {
    /// What comes after this position.
    pub after: i64,
    /// Of what.
    pub of: StreamOf,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The media type of the body; empty when there is none.
    pub content_type: &'static str,
    /// Further headers, by their usual spelling.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The operation that answered, if one was found.
    pub operation: Option<&'static str>,
    /// Whether something was changed that the driver should look at soon.
    pub poke: bool,
    /// Present when the body is to be a stream of events.
    pub stream: Option<StreamStart>,
    /// Present when the connection is to become a stream to a guest.
    pub opening: Option<Opening>,
    /// Present when the body is to be a recording.
    pub file: Option<RecordingFile>,
}

impl Response {
    /// An answer without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            content_type: "",
            headers: vec![],
            body: vec![],
            operation: None,
            poke: false,
            stream: None,
            opening: None,
            file: None,
        }
    }

    /// An answer with a JSON body.
    pub fn json(status: u16, body: Vec<u8>) -> Self {
        Self { content_type: JSON, body, ..Self::empty(status) }
    }

    /// A refusal.
    pub fn problem(problem: &Problem) -> Self {
        // A problem is made of texts and numbers; it always has a JSON form.
        let body = serde_json::to_vec(problem).unwrap_or_default();
        let mut answer = Self { content_type: PROBLEM_JSON, body, ..Self::empty(problem.status) };
        if let Some(seconds) = problem.retry_after_s {
            answer.headers.push(("Retry-After", seconds.to_string()));
        }
        if problem.status == 401 {
            answer.headers.push(("WWW-Authenticate", "Bearer".to_owned()));
        }
        answer
    }

    /// The same answer with one more header.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The problem of a refusal.
    pub fn as_problem(&self) -> Option<Problem> {
        if self.content_type == PROBLEM_JSON { serde_json::from_slice(&self.body).ok() } else { None }
    }

    /// Whether the request did what it asked for.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status) || self.status == 101
    }
}

/// The media type that goes with a status that was stored without it.
pub(crate) fn stored_content_type(status: u16, body_is_empty: bool) -> &'static str {
    match status {
        _ if body_is_empty => "",
        200..300 => JSON,
        _ => PROBLEM_JSON,
    }
}

/// A name for a request that came without one.
pub(crate) fn request_id(now: model::Timestamp, bits: model::IdBits) -> String {
    // An event id is a ULID with another prefix; what matters is that it sorts by time and does not repeat.
    EventId::from_parts(now, bits).as_str().replace(EventId::PREFIX, "req")
}

/// Whether a request id that a client chose can be repeated in headers, logs and audit rows.
pub(crate) fn is_request_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-'))
}
