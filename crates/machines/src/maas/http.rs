//! One request to MAAS and its answer, within limits of time and size. What the server says in a refusal is cleaned before
//! anybody sees it: the key, the user data and every long unbroken run of characters are taken out, since a proxy or a
//! debugging page may repeat the request.

use super::{ApiKey, Settings, Signing, form::Form, form::percent};
use crate::{
    fault::Fault,
    machine::{ProviderId, shown},
};
use reqwest::{
    Method, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use std::{fmt, time::Duration};

/// How much of a refusal is read, and how much is shown.
const REFUSAL_BYTES_MAX: usize = 16 * 1024;
const REFUSAL_SHOWN_MAX: usize = 300;
/// A word of MAAS's own is shorter.
const RUN_MAX: usize = 24;

/// One request.
pub(super) struct Request {
    /// For faults: what is being done.
    pub(super) what: String,
    method: Method,
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    form: Form,
    about: Option<ProviderId>,
    long: bool,
}

impl Request {
    pub(super) fn get(what: String, path: &[&str]) -> Self {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Self { what, method: Method::GET, path, query: Vec::new(), form: Form::new(), about: None, long: false }
    }
    pub(super) fn post(what: String, path: &[&str]) -> Self {
        Self { method: Method::POST, ..Self::get(what, path) }
    }
    pub(super) fn op(self, op: &str) -> Self {
        self.query("op", op)
    }
    pub(super) fn query(mut self, name: &'static str, value: &str) -> Self {
        self.query.push((name, value.to_owned()));
        self
    }
    pub(super) fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }
    /// The machine that a 404 or 409 is about.
    pub(super) fn about(mut self, id: &ProviderId) -> Self {
        self.about = Some(id.clone());
        self
    }
    /// The answer may be as large as the list of all machines.
    pub(super) fn long(mut self) -> Self {
        self.long = true;
        self
    }
}

/// The way to one server.
pub(super) struct Connection {
    http: reqwest::Client,
    base: Url,
    key: ApiKey,
    signing: Signing,
    limits: super::Limits,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) fn new(settings: &Settings, signing: Signing) -> Result<Self, Fault> {
        let base = base_url(&settings.url, settings.plain_http_allowed)?;
        // Refused only when another part of the process has already chosen a provider, which then serves us as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let certificates = |e: reqwest::Error| Fault::Settings {
            what: "extra certificates",
            expected: "PEM",
            found: format!("they cannot be used: {}", with_causes(e)),
        };
        let mut builder = reqwest::Client::builder()
            .connect_timeout(Duration::from_millis(settings.limits.connect_ms))
            .timeout(Duration::from_millis(settings.limits.answer_ms))
            // A redirect could carry the key elsewhere, and so could a proxy that the environment names.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("gpuaas-machines/", env!("CARGO_PKG_VERSION")));
        if !settings.extra_roots_pem.is_empty() {
            let roots = reqwest::Certificate::from_pem_bundle(&settings.extra_roots_pem).map_err(certificates)?;
            builder = builder.tls_certs_merge(roots);
        }
        let http = builder.build().map_err(certificates)?;
        Ok(Self { http, base, key: settings.key.clone(), signing, limits: settings.limits })
    }

    /// Sends a request and reads the whole answer, or says why there is none.
    pub(super) async fn send(&self, request: &Request) -> Result<Vec<u8>, Fault> {
        let mut authorization = HeaderValue::from_str(&self.signing.header(&self.key)).map_err(|_| {
            Fault::Settings { what: "key", expected: "visible characters", found: "has others".to_owned() }
        })?;
        authorization.set_sensitive(true);
        let mut call = self
            .http
            .request(request.method.clone(), self.address(request))
            .header(AUTHORIZATION, authorization)
            .header("accept", "application/json");
        if request.method == Method::POST {
            call = call.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(request.form.body().to_owned());
        }
        let response = call.send().await.map_err(|e| self.lost(request, e))?;
        let status = response.status();
        if !status.is_success() {
            let (body, _) = self.read(request, response, REFUSAL_BYTES_MAX).await?;
            return Err(self.refusal(request, status, &body));
        }
        let limit = if request.long { self.limits.list_bytes } else { self.limits.answer_bytes };
        match self.read(request, response, limit).await? {
            (body, true) => Ok(body),
            (_, false) => Err(Fault::Unparsable {
                what: request.what.clone(),
                expected: format!("at most {limit} bytes"),
                found: "more came".to_owned(),
            }),
        }
    }

    fn address(&self, request: &Request) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            // MAAS redirects an address without its last slash, and a redirect loses the form.
            path.pop_if_empty().extend(&request.path).push("");
        }
        if !request.query.is_empty() {
            let query: Vec<String> =
                request.query.iter().map(|(name, value)| format!("{name}={}", percent(value))).collect();
            url.set_query(Some(&query.join("&")));
        }
        url
    }

    /// The body up to the limit, and whether that was all of it.
    async fn read(
        &self,
        request: &Request,
        mut response: reqwest::Response,
        limit: usize,
    ) -> Result<(Vec<u8>, bool), Fault> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| self.lost(request, e))? {
            let room = limit - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Ok((body, false));
            }
        }
        Ok((body, true))
    }

    fn lost(&self, request: &Request, error: reqwest::Error) -> Fault {
        if error.is_timeout() {
            let limit_ms = if error.is_connect() { self.limits.connect_ms } else { self.limits.answer_ms };
            return Fault::TimedOut { what: request.what.clone(), limit_ms };
        }
        Fault::Unreachable { why: self.cleaned(request, &with_causes(error)) }
    }

    fn refusal(&self, request: &Request, status: StatusCode, body: &[u8]) -> Fault {
        let detail = self.cleaned(request, &String::from_utf8_lossy(body));
        match (status, &request.about) {
            (StatusCode::UNAUTHORIZED, _) => Fault::Unauthorized,
            (StatusCode::NOT_FOUND, Some(id)) => Fault::NotFound { what: format!("machine {id}") },
            (StatusCode::NOT_FOUND, None) => Fault::NotFound { what: format!("what {} is about", request.what) },
            (StatusCode::CONFLICT, Some(id)) => Fault::Conflict {
                id: id.clone(),
                expected: "in a state that allows it".to_owned(),
                status: "in another".to_owned(),
                why: detail,
            },
            _ => Fault::Refused { what: request.what.clone(), status: status.as_u16(), detail },
        }
    }

    /// What the server said, without anything that was meant only for it.
    fn cleaned(&self, request: &Request, text: &str) -> String {
        let key = self.key.secrets().into_iter().flat_map(|secret| [secret.to_owned(), percent(secret)]);
        let mut secrets: Vec<String> = key.chain(request.form.secrets().iter().cloned()).collect();
        // The longest first, so that no secret survives as the rest of a longer one.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let hidden = secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "(hidden)"));
        shown(without_long_runs(&hidden).trim(), REFUSAL_SHOWN_MAX)
    }
}

/// Replaces what looks like a key or encoded data, whole or cut off.
fn without_long_runs(text: &str) -> String {
    let in_run = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '%' | '-' | '_');
    let mut cleaned = String::with_capacity(text.len());
    let mut run = String::new();
    for c in text.chars().chain(['\n']) {
        if in_run(c) {
            run.push(c);
            continue;
        }
        if run.len() > RUN_MAX {
            cleaned.push_str("(hidden)")
        } else {
            cleaned.push_str(&run)
        }
        run.clear();
        cleaned.push(c);
    }
    cleaned.pop();
    cleaned
}

fn with_causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

fn base_url(text: &str, plain_http_allowed: bool) -> Result<Url, Fault> {
    let refuse =
        |expected: &'static str, found: &str| Fault::Settings { what: "address", expected, found: found.to_owned() };
    let mut url: Url = text.parse().map_err(|_| refuse("an address such as https://maas.example/MAAS", "is none"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("without a user name or password", "it has one"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("without a query or fragment", "it has one"));
    }
    let loopback = match url.host_str().unwrap_or_default() {
        "localhost" => true,
        host => host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()),
    };
    match url.scheme() {
        "https" => {}
        "http" if loopback || plain_http_allowed => {}
        "http" => return Err(refuse("https, since the key is sent as it is", "it is http to another host")),
        _ => return Err(refuse("http or https", "it is neither")),
    }
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["api", "2.0"]);
    }
    Ok(url)
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
