//! One request from head to answer: limits first, then the body, then the door; whatever happens, an answer.

use std::{convert::Infallible, io::ErrorKind, net::SocketAddr, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use api::{
    Code, Endpoint as _, Problem, headers as names, limits,
    session::{SessionCreate, SessionOidcStart},
};
use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    body::{Body as _, Incoming},
    upgrade::OnUpgrade,
};
use tokio::{net::TcpStream, sync::watch, time::Instant};
use tracing::Instrument as _;

use super::{
    HttpConfig, Parts, guests,
    limits::{Left, Noted, Rates},
    outside::{self, Page},
    portal::Portal,
    stream, upload,
    wire::Phase,
};
use crate::{
    authz::token::Secret,
    front_door::{FrontDoor, Headers, Request, Response, StreamStart, internal},
    sign_in::CALLBACK,
};
use store::Tx;

pub(super) type Answer = hyper::Response<BoxBody<Bytes, Infallible>>;

pub(super) struct Service {
    pub(super) parts: Parts,
    rates: Arc<Rates>,
    stopping: watch::Receiver<bool>,
    arrival: Duration,
    heartbeat: Duration,
    stall: Duration,
    pages: outside::Pages,
    portal: Portal,
    noted: Noted,
}

/// Operations that are a try to sign in.
const SIGN_INS: [&str; 2] = [SessionCreate::OPERATION.id, SessionOidcStart::OPERATION.id];

/// What a request is counted as.
struct Counts {
    operation: &'static str,
    changes: bool,
    streaming: bool,
    upgraded: bool,
    limit: Option<Left>,
}

impl Service {
    pub(super) fn new(config: &HttpConfig, parts: Parts, rates: Arc<Rates>, stopping: watch::Receiver<bool>) -> Self {
        let (arrival, heartbeat, stall) = (config.arrival, config.heartbeat, config.stall);
        Self {
            parts,
            rates,
            stopping,
            arrival,
            heartbeat,
            stall,
            pages: outside::Pages::default(),
            portal: Portal::new(config.portal),
            noted: Noted::default(),
        }
    }

    pub(super) async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
        phase: &Phase,
    ) -> Result<Answer, Infallible> {
        phase.request();
        let started = Instant::now();
        let headers = read_headers(request.headers());
        let request_id = self.parts.door.request_id(&headers);
        let mut counts = Counts { operation: "none", changes: false, streaming: false, upgraded: false, limit: None };
        let span = tracing::info_span!("request", request_id);
        let serving = self.serve(request, headers, &request_id, peer, &mut counts).instrument(span);
        let serving = AssertUnwindSafe(serving).catch_unwind();
        let mut answer = serving.await.unwrap_or_else(|_| {
            tracing::error!(request_id, "a request panicked");
            plain(Response::problem(&internal()))
        });
        let headers = answer.headers_mut();
        if let Some(left) = &counts.limit {
            put(headers, HeaderName::from_static("ratelimit-policy"), &left.policy);
            put(headers, HeaderName::from_static("ratelimit"), &left.left);
        }
        put(headers, HeaderName::from_static("x-request-id"), &request_id);
        secure(headers);
        let (status, took) = (answer.status().as_u16(), started.elapsed());
        self.parts.metrics.answered(counts.operation, status, took);
        tell(&counts, status, took, &request_id);
        if counts.upgraded {
            phase.stream();
        } else if !counts.streaming {
            phase.idle();
        }
        Ok(answer)
    }

    async fn serve(
        &self,
        mut request: hyper::Request<Incoming>,
        mut headers: Headers,
        request_id: &str,
        peer: SocketAddr,
        counts: &mut Counts,
    ) -> Answer {
        if let Some(problem) = too_large(&request).or_else(|| ambiguous(&request)) {
            return self.refuse(problem, unread(request)).await;
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        if let Some(answer) = self.beside(&method, &path, request.headers()).await {
            counts.operation = "page";
            return answer;
        }
        if let Some(found) = self.parts.door.operation_of(method.as_str(), &path) {
            counts.operation = found.id;
            counts.changes = found.is_mutating();
        }
        let token = FrontDoor::credential_of(&headers);
        let token_hash = token.as_ref().map(Secret::hash);
        let returns = path == CALLBACK && method == http::Method::GET;
        let signs_in = returns || SIGN_INS.contains(&counts.operation);
        let taken =
            if signs_in { self.rates.sign_in(peer.ip()) } else { self.rates.take(token_hash.as_ref(), peer.ip()) };
        match taken {
            Ok(left) => counts.limit = Some(left),
            Err((problem, left)) => {
                counts.limit = Some(left);
                return self.refuse(problem, unread(request)).await;
            }
        }
        if returns {
            counts.operation = "sign_in_return";
            let query = request.uri().query().unwrap_or_default();
            return self.signed_in(query, &headers, request.headers(), request_id).await;
        }
        let query = request.uri().query().map(str::to_owned);
        let upgrade = guests::upgrade_of(&mut request);
        headers.request_id = Some(request_id.to_owned());
        if upgrade.is_none() {
            // Asked for on a connection that cannot become anything else.
            headers.upgrade = None;
        }
        let (method, from) = (method.as_str().to_owned(), peer.ip().to_string());
        let named = Request { method, path, query, headers, from, ..Request::default() };
        let taken = if upload::is_upload(counts.operation) {
            self.bytes(named, token.clone(), request.into_body()).await
        } else {
            self.body(request).await.map(|body| Request { body, ..named })
        };
        let request = match taken {
            Ok(request) => request,
            Err((problem, unread)) => return self.refuse(problem, unread).await,
        };
        self.make_ready(counts.operation).await;
        let response = self.parts.door.serve(&self.parts.db, request).await;
        if let Some(hash) = token_hash.as_ref().filter(|_| !signs_in)
            && let Some(left) = self.rates.learn(hash, response.status != 401)
        {
            counts.limit = Some(left);
        }
        self.seen(token.as_ref(), response.status != 401).await;
        self.given(response, token, upgrade, counts).await
    }

    /// Asks the identity provider about itself before a transaction needs to know it.
    async fn make_ready(&self, operation: &str) {
        if operation == SessionOidcStart::OPERATION.id
            && let Some(oidc) = &self.parts.door.config().sign_in.oidc
        {
            oidc.make_ready(self.parts.door.ports()).await;
        }
    }

    /// Notes now and then that a session is used, so that it does not end for want of it.
    async fn seen(&self, credential: Option<&Secret>, good: bool) {
        let Some(session) = credential.filter(|secret| good && secret.is_session()) else { return };
        let (hash, now) = (session.hash(), self.parts.door.ports().now());
        if !self.noted.due(&hash, now) {
            return;
        }
        let noting = self.parts.db.write_async(move |tx: &mut Tx<'_>| store::sessions::seen(tx, &hash, now)).await;
        if let Err(error) = noting {
            // The session ends a little earlier than it might; nothing else depends on it.
            tracing::warn!(%error, "that a session is used could not be noted");
        }
    }

    /// The answer of the door as one of HTTP, with what it needs of the connection.
    async fn given(
        &self,
        response: Response,
        token: Option<Secret>,
        upgrade: Option<OnUpgrade>,
        counts: &mut Counts,
    ) -> Answer {
        if let (Some(opening), Some(token)) = (response.opening.clone(), token.clone()) {
            let opened = self.open(opening, token, upgrade).await;
            counts.upgraded = opened.is_ok();
            return opened.unwrap_or_else(|problem| self.problem(&problem));
        }
        if response.poke {
            self.parts.poke.poke();
        }
        if let Some(file) = &response.file {
            return self.recording(file).await.unwrap_or_else(|problem| self.problem(&problem));
        }
        if let Some(problem) = response.as_problem() {
            self.parts.metrics.refused(problem.code);
        }
        match (response.stream.clone(), token) {
            (Some(start), Some(token)) => {
                counts.streaming = true;
                self.stream(response, token, start)
            }
            _ => plain(response),
        }
    }

    fn problem(&self, problem: &Problem) -> Answer {
        self.parts.metrics.refused(problem.code);
        plain(Response::problem(problem))
    }

    /// Refuses a request whose body, or some of it, was not read. The connection ends: what else is on it is unclear.
    async fn refuse(&self, problem: Problem, unread: Option<Incoming>) -> Answer {
        self.parts.metrics.refused(problem.code);
        if let Some(body) = unread {
            drain(body).await;
        }
        closing(plain(Response::problem(&problem)))
    }

    /// The last word to a client whose head did not become a request: the HTTP library has given up on the connection, so
    /// the answer is written here.
    pub(super) async fn last_word(&self, stream: &TcpStream, problem: &Problem) {
        self.parts.metrics.refused(problem.code);
        let response = Response::problem(problem);
        let status = http::StatusCode::from_u16(response.status).unwrap_or(http::StatusCode::BAD_REQUEST);
        let mut text = format!("HTTP/1.1 {status}\r\n");
        let id = self.parts.door.request_id(&Headers::default());
        let length = response.body.len().to_string();
        let head = [("content-type", response.content_type), ("content-length", &length), ("connection", "close")];
        let own = response.headers.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in head.into_iter().chain([(names::REQUEST_ID, id.as_str())]).chain(own) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        // One try: the answer is small and the send buffer empty. A client that is gone does not want it.
        let _ = stream.try_write(&[text.as_bytes(), &response.body].concat());
        // What still comes is read and dropped for a while: closing on it would take the answer back.
        let mut room = [0u8; 8192];
        let rest = async {
            for _ in 0..DRAIN_BYTES_MAX / room.len() {
                if stream.readable().await.is_err() || matches!(stream.try_read(&mut room), Ok(0)) {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(DRAIN, rest).await;
    }

    /// Takes in a body that is bytes as they are. Only where they go limits how many there may be.
    async fn bytes(
        &self,
        request: Request,
        token: Option<crate::authz::token::Secret>,
        body: Incoming,
    ) -> Result<Request, (Problem, Option<Incoming>)> {
        let Parts { door, db, .. } = &self.parts;
        let received = upload::Upload { door, db, token, stall: self.stall }.take(&request, body).await?;
        Ok(request.bringing(received))
    }

    /// Collects a body within its limits of size and time; what is left of it when it breaks them.
    async fn body(&self, request: hyper::Request<Incoming>) -> Result<Vec<u8>, (Problem, Option<Incoming>)> {
        let declared = request.body().size_hint().lower();
        if declared > limits::BODY_BYTES_MAX as u64 {
            return Err((body_too_large(), unread(request)));
        }
        let mut incoming = request.into_body();
        let mut found = Vec::new();
        let collect = async {
            while let Some(frame) = incoming.frame().await {
                let frame = frame.map_err(|error| broken_body(&error))?;
                let Ok(data) = frame.into_data() else { continue };
                if found.len() + data.len() > limits::BODY_BYTES_MAX {
                    return Err(body_too_large());
                }
                found.extend_from_slice(&data);
            }
            Ok(())
        };
        let waited = tokio::time::timeout(self.arrival, collect).await;
        match waited.unwrap_or_else(|_| Err(late("The body took too long to arrive."))) {
            Ok(()) => Ok(found),
            // Whoever was late once is not waited for again.
            Err(problem) if problem.code == Code::BodyTooLarge => Err((problem, Some(incoming))),
            Err(problem) => Err((problem, None)),
        }
    }

    /// What is served beside the API: documents first, then the portal.
    async fn beside(&self, method: &http::Method, path: &str, headers: &HeaderMap) -> Option<Answer> {
        match self.pages.find(path) {
            None => self.portal.answer(method, path, headers),
            Some(Page::Start) => match self.portal.answer(method, path, headers) {
                Some(answer) => Some(answer),
                None => Some(self.page(Page::Start, method).await),
            },
            Some(page) => Some(self.page(page, method).await),
        }
    }

    async fn page(&self, page: Page, method: &http::Method) -> Answer {
        if method != http::Method::GET {
            let problem = Problem::new(Code::MethodNotAllowed, "This path takes GET.");
            return plain(Response::problem(&problem).with("Allow", "GET"));
        }
        plain(self.pages.answer(page, &self.parts).await)
    }

    fn stream(&self, response: Response, token: Secret, start: StreamStart) -> Answer {
        let source = stream::Source {
            door: self.parts.door.clone(),
            db: self.parts.db.clone(),
            head: self.parts.feed.listen(),
            stop: self.stopping.clone(),
            heartbeat: self.heartbeat,
        };
        let open = self.parts.metrics.stream_opened();
        let body = stream::body(source, token, start).map_frame(move |frame| {
            // The count lives as long as the body does.
            let _ = &open;
            frame
        });
        let mut answer = closing(plain(response));
        *answer.body_mut() = BoxBody::new(body);
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }
}

/// One line a request: what failed here is a warning, what changed something is worth a line, the rest is for debugging.
fn tell(counts: &Counts, status: u16, took: Duration, request_id: &str) {
    let (operation, took_us) = (counts.operation, took.as_micros());
    if status >= 500 {
        tracing::warn!(operation, status, took_us, request_id, "answered");
    } else if counts.changes {
        tracing::info!(operation, status, took_us, request_id, "answered");
    } else {
        tracing::debug!(operation, status, took_us, request_id, "answered");
    }
}

fn late(detail: &str) -> Problem {
    Problem::new(Code::RequestTimeout, detail).with_retry_after(1)
}

fn body_too_large() -> Problem {
    Problem::new(Code::BodyTooLarge, format!("The body has more than {} bytes.", limits::BODY_BYTES_MAX))
}

fn malformed(detail: &str) -> Problem {
    Problem::new(Code::MalformedRequest, detail)
}

/// Why a body cannot be read on.
fn broken_body(error: &hyper::Error) -> Problem {
    match io_kind(error) {
        Some(ErrorKind::InvalidInput | ErrorKind::InvalidData) => malformed("The body is not in well-formed chunks."),
        // The client broke off: nobody will read the answer, but there is one.
        _ => late("The connection ended before the body did."),
    }
}

/// Whether it is in doubt for whom a request is. Where it ends is the HTTP library's business: it takes `Transfer-Encoding`
/// alone when a length is given too, and then ends the connection.
fn ambiguous(request: &hyper::Request<Incoming>) -> Option<Problem> {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    let told = hosts == 1 || (hosts == 0 && request.version() < http::Version::HTTP_11);
    if told { None } else { Some(malformed("The request must have one Host header.")) }
}

/// The body of a request, unless the client waits to be asked for it.
fn unread(request: hyper::Request<Incoming>) -> Option<Incoming> {
    if request.headers().contains_key(header::EXPECT) { None } else { Some(request.into_body()) }
}

// For how long, and how much, is read of what nobody wants.
const DRAIN: Duration = Duration::from_secs(2);
const DRAIN_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Reads on for a while, so that a client that only listens after it has sent everything gets to hear the answer.
async fn drain(mut incoming: Incoming) {
    let read = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = incoming.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > DRAIN_BYTES_MAX {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN, read).await;
}

fn too_large(request: &hyper::Request<Incoming>) -> Option<Problem> {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > limits::URI_BYTES_MAX {
        return Some(uri_too_long());
    }
    let bytes: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > limits::HEADER_BYTES_MAX {
        return Some(headers_too_large());
    }
    None
}

fn uri_too_long() -> Problem {
    Problem::new(Code::UriTooLong, format!("The request target has more than {} bytes.", limits::URI_BYTES_MAX))
}

fn headers_too_large() -> Problem {
    let (bytes, count) = (limits::HEADER_BYTES_MAX, super::HEADERS_MAX);
    let detail = format!("The headers have more than {bytes} bytes together, or there are more than {count}.");
    Problem::new(Code::HeadersTooLarge, detail)
}

fn read_headers(map: &HeaderMap) -> Headers {
    let mut headers = Headers::default();
    for name in Headers::NAMES {
        for value in map.get_all(*name) {
            match *name {
                // Other programs of this host have cookies too, and write into them what they like.
                "cookie" => headers.set(name, Some(&String::from_utf8_lossy(value.as_bytes()))),
                name => headers.set(name, value.to_str().ok()),
            }
        }
    }
    headers
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// An answer of the door as one of HTTP.
pub(super) fn plain(response: Response) -> Answer {
    let mut answer = hyper::Response::new(BoxBody::new(Full::new(Bytes::from(response.body))));
    *answer.status_mut() =
        http::StatusCode::from_u16(response.status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    if !response.content_type.is_empty() {
        put(headers, header::CONTENT_TYPE, response.content_type);
    }
    for (name, value) in &response.headers {
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes())
            && !name.as_str().eq_ignore_ascii_case(names::REQUEST_ID)
        {
            put(headers, name, value);
        }
    }
    answer
}

/// The same answer, after which the connection ends: what else is on it was not read.
fn closing(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// Headers that keep browsers from doing clever things with an answer.
fn secure(headers: &mut HeaderMap) {
    let policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        // What serves pages of its own knows better what they need.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// What is wrong with a head that never became a request, if that is why the connection ended.
pub(super) fn unread_head(error: &hyper::Error, phase: &Phase) -> Option<Problem> {
    match phase.held_back() {
        _ if !phase.in_head() => None,
        Some(414) => Some(uri_too_long()),
        Some(431) => Some(headers_too_large()),
        Some(_) => Some(malformed("The head of the request cannot be read as HTTP/1.1.")),
        None if error.is_parse() => Some(malformed("The request cannot be read as HTTP/1.1.")),
        None if io_kind(error) == Some(ErrorKind::TimedOut) => {
            Some(late("The head of the request took too long to arrive."))
        }
        None => None,
    }
}

/// What kind of trouble with the socket, or with the frames on it, is behind an error.
fn io_kind(error: &hyper::Error) -> Option<ErrorKind> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}
