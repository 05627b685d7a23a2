//! The typed client: one generic call for every operation of the contract, pages, and the live event stream.
//!
//! A call is retried when that cannot do harm: reads always, creates and actions under the same `Idempotency-Key`, other
//! changes only when the answer says that nothing was done. Retries are bounded and heed `Retry-After`. Nothing is guessed:
//! an answer that is neither the declared success nor a problem is an error of its own.

mod follow;
mod sse;

pub use follow::{Follower, TimelineFollower};

use reqwest::{
    Method as HttpMethod, Response, StatusCode, Url,
    header::{
        ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, UPGRADE,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc, time::Duration};

use crate::{
    allocation::AllocationPath,
    endpoint::{Endpoint, Method, Nothing, Operation, Part, Success},
    headers,
    node_plane::STREAM_PROTOCOL,
    page::{Page, Paged},
    problem::{Code, Problem},
    timeline::TimelineStream,
};

/// Bytes of an answer at most; the largest page is far below.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
const CONNECT_S_MAX: u64 = 10;
const ANSWER_S_MAX: u64 = 60;

/// How long and how often the client tries again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Tries in all; 1 means no retry.
    pub tries_max: u32,
    /// The wait before the second try; doubled for each further one.
    pub first_wait: Duration,
    /// The longest single wait. When the server asks for a longer one, the caller gets the problem instead.
    pub wait_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { tries_max: 5, first_wait: Duration::from_millis(100), wait_max: Duration::from_secs(10) }
    }
}

impl Patience {
    /// How long to wait before try number `next` (from 2), or `None` to give up.
    fn wait_before(&self, next: u32, asked: Option<Duration>) -> Option<Duration> {
        if next > self.tries_max {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1_u32.checked_shl(next.saturating_sub(2)).unwrap_or(u32::MAX));
        let own = doubled.min(self.wait_max);
        match asked {
            Some(asked) if asked > self.wait_max => None,
            Some(asked) => Some(asked.max(own)),
            None => Some(own),
        }
    }
}

/// Why a call gave no answer of the declared form.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The platform refused.
    #[error("{problem}")]
    Problem {
        /// Why.
        problem: Box<Problem>,
        /// Names the request in the server's logs; absent when the client itself refused to send it.
        request_id: Option<String>,
    },
    /// The request or its answer was lost on the way.
    #[error("cannot talk to {address}: {detail}")]
    Transport {
        /// Whom the client tried to reach.
        address: String,
        /// What went wrong, in words.
        detail: String,
        /// Whether the request certainly never arrived.
        never_arrived: bool,
    },
    /// Something answered, but not as the contract says.
    #[error("unexpected answer from {address} (status {status}): {detail}")]
    Unexpected {
        /// Who answered.
        address: String,
        /// The HTTP status.
        status: u16,
        /// What was not as declared.
        detail: String,
    },
    /// The call cannot be made as it is: a bad address, token, key or parameter.
    #[error("{0}")]
    Usage(String),
}

impl ClientError {
    /// The problem, when the platform refused.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem { problem, .. } => Some(problem),
            Self::Transport { .. } | Self::Unexpected { .. } | Self::Usage(_) => None,
        }
    }

    /// Whether the same request may be sent again without harm and with hope.
    fn may_try_again(&self, operation: &Operation) -> bool {
        // A repeated read changes nothing, and a repeated key is answered from the record.
        let repeatable = matches!(operation.method, Method::Get | Method::Post) && !operation.is_upgrade();
        match self {
            Self::Problem { problem, .. } => match problem.code {
                // Certainly not carried out.
                Code::RateLimited | Code::RequestTimeout | Code::StoreUnavailable => true,
                // Waiting for capacity is the caller's decision.
                Code::SkuUnavailable | Code::ProvisioningFailed => false,
                code => code.is_retryable() && repeatable,
            },
            Self::Transport { never_arrived, .. } => *never_arrived || repeatable,
            Self::Unexpected { .. } | Self::Usage(_) => false,
        }
    }

    fn asked_wait(&self) -> Option<Duration> {
        self.problem().and_then(|problem| problem.retry_after_s).map(|seconds| Duration::from_secs(seconds.into()))
    }
}

/// One request to one operation.
#[derive(Debug, Clone)]
pub struct Call<E: Endpoint> {
    /// Path parameters.
    pub path: E::Path,
    /// Query parameters.
    pub query: E::Query,
    /// The body.
    pub body: E::Body,
    /// The name of this wish; made up when absent and needed. Give it when a retry may come from another process.
    pub idempotency_key: Option<String>,
    /// The version the request is made for.
    pub if_match: Option<i64>,
}

impl<E: Endpoint> Call<E> {
    /// A request with these parameters and body.
    pub fn new(path: E::Path, query: E::Query, body: E::Body) -> Self {
        Self { path, query, body, idempotency_key: None, if_match: None }
    }
    /// Names the wish.
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }
    /// Says which version the request is made for.
    pub fn at_version(mut self, version: i64) -> Self {
        self.if_match = Some(version);
        self
    }
}

impl<E: Endpoint<Query = Nothing, Body = Nothing>> Call<E> {
    /// A request that has path parameters only.
    pub fn at(path: E::Path) -> Self {
        Self::new(path, Nothing {}, Nothing {})
    }
}

impl<E: Endpoint<Query = Nothing>> Call<E> {
    /// A request with path parameters and a body.
    pub fn send(path: E::Path, body: E::Body) -> Self {
        Self::new(path, Nothing {}, body)
    }
}

/// A declared success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered<T> {
    /// The body.
    pub value: T,
    /// The version of the object, when the answer is about one.
    pub etag: Option<i64>,
    /// Where the new object or operation is.
    pub location: Option<String>,
    /// The HTTP status.
    pub status: u16,
    /// Names the request in the server's logs.
    pub request_id: Option<String>,
}

/// Speaks to one control plane with one token. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    authorization: HeaderValue,
    patience: Patience,
    keys: Arc<dyn Fn() -> String + Send + Sync>,
}

impl std::fmt::Debug for Client {
    // The token stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.base.as_str())
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client for the control plane at `base_url`. Nothing is sent yet.
    pub fn new(base_url: &str, token: &str) -> Result<Self, ClientError> {
        let base: Url =
            base_url.parse().map_err(|e| ClientError::Usage(format!("`{base_url}` is not an address: {e}")))?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(ClientError::Usage(format!("`{base_url}` is not an http or https address")));
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| ClientError::Usage("the token has characters that no token has".to_owned()))?;
        authorization.set_sensitive(true);
        // Refused only when another part of the process has already chosen a provider, which then serves us as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = builder().build().map_err(|error| cannot_be_set_up(&error))?;
        Ok(Self { http, base, authorization, patience: Patience::default(), keys: Arc::new(random_key) })
    }

    /// The same client with other bounds on retries.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The same client with idempotency keys from elsewhere, for tests that must repeat.
    #[must_use]
    pub fn with_keys(mut self, keys: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.keys = Arc::new(keys);
        self
    }

    /// Where this client sends its requests.
    pub fn base_url(&self) -> &str {
        self.base.as_str()
    }

    /// Calls one operation, trying again where that is safe.
    pub async fn call<E: Endpoint>(&self, call: Call<E>) -> Result<Answered<E::Answer>, ClientError> {
        let operation = E::OPERATION;
        if matches!(operation.success, Success::EventStream | Success::Bytes | Success::Upgraded) {
            return Err(ClientError::Usage(format!("{} has no JSON for an answer; follow it instead", operation.id)));
        }
        let request = self.request::<E>(&call)?;
        let mut tries = 1;
        loop {
            let outcome = match self.send(&request).await {
                Ok(response) => self.answered::<E::Answer>(&operation, response).await,
                Err(error) => Err(error),
            };
            let error = match outcome {
                Ok(answered) => return Ok(answered),
                Err(error) if error.may_try_again(&operation) => error,
                Err(error) => return Err(error),
            };
            tries += 1;
            match self.patience.wait_before(tries, error.asked_wait()) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(error),
            }
        }
    }

    /// Walks over the pages of a list.
    pub fn pages<E, T>(&self, path: E::Path, query: E::Query) -> Pages<E>
    where
        E: Endpoint<Query: Paged, Body = Nothing, Answer = Page<T>>,
        T: Part,
    {
        Pages { client: self.clone(), path, next: Some(query) }
    }

    /// Follows events live, from behind this position, or from now on. Reconnects and resumes by itself.
    pub fn events(&self, after: Option<i64>) -> Follower {
        Follower::new(self.clone(), after)
    }

    /// Follows what happens to an allocation, from behind this position to its end. Reconnects and resumes by itself.
    pub fn timeline(&self, path: &AllocationPath, after: i64) -> Result<TimelineFollower, ClientError> {
        let path = filled_path(TimelineStream::OPERATION.path, path)?;
        Ok(TimelineFollower::new(self.clone(), path, after))
    }

    /// Opens a stream: after this, bytes go both ways. Not tried again: who asked sees at once that it did not work.
    pub async fn open<E: Endpoint<Query = Nothing, Body = Nothing>>(
        &self,
        path: E::Path,
    ) -> Result<reqwest::Upgraded, ClientError> {
        let Prepared { method, url, .. } = self.request::<E>(&Call::at(path))?;
        // A stream takes a whole connection, which only HTTP/1.1 gives away.
        let http = builder().http1_only().build().map_err(|error| cannot_be_set_up(&error))?;
        let request = http
            .request(method, url)
            .header(AUTHORIZATION, self.authorization.clone())
            .header(ACCEPT, "application/problem+json")
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, STREAM_PROTOCOL)
            .send();
        let late = |_| ClientError::Transport {
            address: self.base.as_str().to_owned(),
            detail: format!("no answer within {ANSWER_S_MAX} s"),
            never_arrived: false,
        };
        let answered = tokio::time::timeout(Duration::from_secs(ANSWER_S_MAX), request).await.map_err(late)?;
        let response = answered.map_err(|error| self.transport(&error))?;
        if response.status().as_u16() != E::OPERATION.success.status() {
            return Err(self.refusal(response).await);
        }
        response.upgrade().await.map_err(|error| self.transport(&error))
    }

    /// Brings bytes to an operation that takes them as they are. It is tried once: a body that is read as it is sent cannot be
    /// sent again. There is no limit of time but the server's own.
    pub async fn upload<E: Endpoint<Query = Nothing, Body = Nothing>>(
        &self,
        path: E::Path,
        body: reqwest::Body,
        length: u64,
    ) -> Result<Answered<E::Answer>, ClientError> {
        let operation = E::OPERATION;
        let prepared = self.request::<E>(&Call::at(path))?;
        let request = self
            .http
            .request(prepared.method, prepared.url)
            .headers(prepared.headers)
            .header(AUTHORIZATION, self.authorization.clone())
            .header(ACCEPT, "application/json, application/problem+json")
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, length)
            .body(body);
        let response = request.send().await.map_err(|e| self.transport(&e))?;
        self.answered::<E::Answer>(&operation, response).await
    }

    fn request<E: Endpoint>(&self, call: &Call<E>) -> Result<Prepared, ClientError> {
        let operation = E::OPERATION;
        let mut url = self.address(&filled_path(operation.path, &call.path)?)?;
        for (name, value) in fields(&call.query)? {
            url.query_pairs_mut().append_pair(&name, &value);
        }
        let mut header_map = HeaderMap::new();
        if operation.needs_idempotency_key() {
            let key = call.idempotency_key.clone().unwrap_or_else(|| (self.keys)());
            let key = headers::idempotency_key(&key)
                .map_err(|problem| ClientError::Problem { problem: Box::new(problem), request_id: None })?;
            insert(&mut header_map, headers::IDEMPOTENCY_KEY, &headers::idempotency_key_text(key))?;
        }
        if let Some(version) = call.if_match {
            insert(&mut header_map, headers::IF_MATCH, &headers::version_text(version))?;
        }
        let body = if E::has_body() {
            header_map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Some(
                serde_json::to_vec(&call.body)
                    .map_err(|e| ClientError::Usage(format!("the body cannot be written: {e}")))?,
            )
        } else {
            None
        };
        Ok(Prepared { method: http_method(operation.method), url, headers: header_map, body })
    }

    fn address(&self, path: &str) -> Result<Url, ClientError> {
        let whole = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        whole.parse().map_err(|e| ClientError::Usage(format!("`{whole}` is not an address: {e}")))
    }

    async fn send(&self, request: &Prepared) -> Result<Response, ClientError> {
        let mut builder = self
            .http
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone())
            .header(AUTHORIZATION, self.authorization.clone())
            .header(ACCEPT, "application/json, application/problem+json")
            .timeout(Duration::from_secs(ANSWER_S_MAX));
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(|e| self.transport(&e))
    }

    fn transport(&self, error: &reqwest::Error) -> ClientError {
        ClientError::Transport {
            address: self.base.as_str().to_owned(),
            detail: with_causes(error),
            never_arrived: error.is_connect(),
        }
    }

    fn unexpected(&self, status: StatusCode, detail: impl Into<String>) -> ClientError {
        ClientError::Unexpected {
            address: self.base.as_str().to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
        }
    }

    async fn answered<T: DeserializeOwned>(
        &self,
        operation: &Operation,
        response: Response,
    ) -> Result<Answered<T>, ClientError> {
        let status = response.status();
        if status.as_u16() != operation.success.status() {
            return Err(self.refusal(response).await);
        }
        let text = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let etag = text(headers::ETAG).and_then(|tag| headers::version(&tag));
        let (location, request_id) = (text(headers::LOCATION), text(headers::REQUEST_ID));
        let bytes = self.read(response).await?;
        let bytes: &[u8] = if operation.success == Success::NoContent { b"{}" } else { &bytes };
        let value = serde_json::from_slice(bytes)
            .map_err(|e| self.unexpected(status, format!("the body of {} is not as declared: {e}", operation.id)))?;
        Ok(Answered { value, etag, location, status: status.as_u16(), request_id })
    }

    /// Turns an answer that is not the declared success into what it says.
    async fn refusal(&self, response: Response) -> ClientError {
        let status = response.status();
        let text = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok());
        let retry_after = text(headers::RETRY_AFTER).and_then(|v| v.parse::<u32>().ok());
        let request_id = text(headers::REQUEST_ID).map(str::to_owned);
        let bytes = match self.read(response).await {
            Ok(bytes) => bytes,
            Err(error) => return error,
        };
        match serde_json::from_slice::<Problem>(&bytes) {
            Ok(mut problem) => {
                problem.retry_after_s = problem.retry_after_s.or(retry_after);
                ClientError::Problem { problem: Box::new(problem), request_id }
            }
            Err(_) => self.unexpected(
                status,
                "the answer is neither the declared success nor a problem; is this address a control plane?",
            ),
        }
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| self.transport(&e))? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(
                    self.unexpected(response.status(), format!("the answer is larger than {ANSWER_BYTES_MAX} bytes"))
                );
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

/// A list, page by page.
#[derive(Debug)]
pub struct Pages<E: Endpoint> {
    client: Client,
    path: E::Path,
    next: Option<E::Query>,
}

impl<E, T> Pages<E>
where
    E: Endpoint<Query: Paged, Body = Nothing, Answer = Page<T>>,
    T: Part,
{
    /// The items of the next page; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<T>>, ClientError> {
        let Some(query) = &self.next else { return Ok(None) };
        let call = Call::<E>::new(self.path.clone(), query.clone(), Nothing {});
        let page = self.client.call(call).await?.value;
        self.next = page.next_page_token.map(|token| query.going_on(token));
        Ok(Some(page.items))
    }

    /// Every item, up to `items_max`.
    pub async fn all(mut self, items_max: usize) -> Result<Vec<T>, ClientError> {
        let mut items = Vec::new();
        while items.len() < items_max
            && let Some(page) = self.next().await?
        {
            items.extend(page);
        }
        items.truncate(items_max);
        Ok(items)
    }
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(CONNECT_S_MAX))
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("gpuaas-client/", env!("CARGO_PKG_VERSION")))
}

fn cannot_be_set_up(error: &reqwest::Error) -> ClientError {
    ClientError::Usage(format!("the HTTP client cannot be set up: {}", with_causes(error)))
}

struct Prepared {
    method: HttpMethod,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

const fn http_method(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::GET,
        Method::Post => HttpMethod::POST,
        Method::Put => HttpMethod::PUT,
        Method::Patch => HttpMethod::PATCH,
        Method::Delete => HttpMethod::DELETE,
    }
}

fn insert(map: &mut HeaderMap, name: &str, value: &str) -> Result<(), ClientError> {
    let bad = |_| ClientError::Usage(format!("`{value}` cannot be sent as {name}"));
    let name =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| ClientError::Usage(format!("{name} is not a header")))?;
    map.insert(name, HeaderValue::from_str(value).map_err(bad)?);
    Ok(())
}

fn random_key() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness two wishes could share a key, and the second would be taken for a retry of the first.
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The fields of a parameter struct as text.
fn fields(part: &impl Serialize) -> Result<Vec<(String, String)>, ClientError> {
    let value =
        serde_json::to_value(part).map_err(|e| ClientError::Usage(format!("the parameters cannot be written: {e}")))?;
    let Value::Object(map) = value else {
        return Err(ClientError::Usage("parameters are fields with names".to_owned()));
    };
    map.into_iter()
        .map(|(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            Value::Number(number) => Ok((name, number.to_string())),
            Value::Bool(flag) => Ok((name, flag.to_string())),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                Err(ClientError::Usage(format!("the parameter {name} is not a single value")))
            }
        })
        .collect()
}

/// Puts the fields of `path` into the template, percent-encoded.
fn filled_path(template: &str, path: &impl Serialize) -> Result<String, ClientError> {
    let mut filled = template.to_owned();
    for (name, value) in fields(path)? {
        filled = filled.replace(&format!("{{{name}}}"), &percent_encoded(&value));
    }
    if filled.contains('{') {
        return Err(ClientError::Usage(format!("{filled} still lacks a parameter")));
    }
    Ok(filled)
}

/// Leaves only what RFC 3986 calls unreserved, so that no value can become another segment, a query or a dot segment.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let only_dots = text.bytes().all(|b| b == b'.');
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') || (byte == b'.' && !only_dots);
        if plain {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// An error with everything that led to it, on one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let _ = write!(text, ": {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
#[path = "client/tests.rs"]
mod tests;
