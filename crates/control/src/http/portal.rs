//! The portal's files over HTTP. Paths that are the portal's own business (`/nodes/nod_…`) get its first page, and the
//! script on it looks at the path; only a browser that wants a page gets one, so a mistyped API call is still told so.
//!
//! Files whose names change with what is in them are kept for ever by browsers; everything else is asked for again and
//! compared by its entity tag. The policy on every answer lets the page load what comes from here and nothing else.

use std::collections::BTreeMap;

use api::headers as names;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use http_body_util::{Full, combinators::BoxBody};
use portal::File;
use sha2::{Digest as _, Sha256};

use super::service::Answer;
use crate::{authz::token::hex, sign_in::CALLBACK};

/// What the page may load: its own files, and the API.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const ASSETS: &str = "/assets/";
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// The files with the entity tags of those that are asked for again.
#[derive(Debug)]
pub(super) struct Portal {
    files: BTreeMap<&'static str, (&'static File, Option<String>)>,
}

impl Portal {
    pub(super) fn new(files: &'static [File]) -> Self {
        let tagged = |file: &'static File| {
            let tag = (!file.immutable).then(|| hex(&Sha256::digest(file.plain))[..32].to_owned());
            (file.path, (file, tag))
        };
        Self { files: files.iter().map(tagged).collect() }
    }

    /// The answer to a request that nothing else has a claim to; `None` if it is not for the portal either.
    pub(super) fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Answer> {
        if self.files.is_empty() || method != Method::GET {
            return None;
        }
        let (file, tag) = match self.files.get(path) {
            Some(found) => found,
            None if path == "/" => self.files.get(portal::INDEX)?,
            None if path.starts_with("/api/") || path.starts_with(ASSETS) || path == CALLBACK => return None,
            None if wants_a_page(headers) => self.files.get(portal::INDEX)?,
            None => return None,
        };
        let gzip = file.gzip.filter(|_| takes_gzip(headers));
        let tag = tag.as_ref().map(|tag| format!("\"{tag}{}\"", if gzip.is_some() { "-gzip" } else { "" }));
        let known = tag.as_deref().is_some_and(|tag| has_already(headers, tag));
        let body = if known { &[] } else { gzip.unwrap_or(file.plain) };
        let mut answer = hyper::Response::new(BoxBody::new(Full::new(Bytes::from_static(body))));
        if known {
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
        }
        describe(answer.headers_mut(), file, tag.as_deref(), gzip.is_some() && !known);
        Some(answer)
    }
}

fn describe(headers: &mut HeaderMap, file: &File, tag: Option<&str>, compressed: bool) {
    let caching = if file.immutable { FOR_EVER } else { "no-cache" };
    for (name, value) in [
        (header::CONTENT_TYPE, file.content_type),
        (header::CACHE_CONTROL, caching),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=(), payment=(), usb=(), serial=(), bluetooth=()",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if compressed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.extend(tag.and_then(|tag| HeaderValue::from_str(tag).ok()).map(|tag| (header::ETAG, tag)));
}

fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether the request is a browser's for a page. Scripts and command lines say otherwise, or nothing.
pub(super) fn wants_a_page(headers: &HeaderMap) -> bool {
    text(headers, header::ACCEPT).split(',').any(|kind| kind.split(';').next().is_some_and(|k| k.trim() == "text/html"))
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    text(headers, header::ACCEPT_ENCODING).split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").map(|weight| weight.trim_matches(['0', '.']));
            weight.is_some_and(str::is_empty)
        });
        named && !refused
    })
}

fn has_already(headers: &HeaderMap, tag: &str) -> bool {
    names::if_none_match(text(headers, header::IF_NONE_MATCH)).is_ok_and(|given| given.names(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for takes in ["gzip", "br, gzip", "deflate, GZIP;q=0.5", "gzip;q=1.0"] {
            assert!(takes_gzip(&with(header::ACCEPT_ENCODING, takes)), "{takes}");
        }
        for not in ["", "br", "gzip;q=0", "gzip;q=0.000", "identity"] {
            assert!(!takes_gzip(&with(header::ACCEPT_ENCODING, not)), "{not}");
        }
    }

    #[test]
    fn where_an_identity_provider_sends_browsers_back_to_is_not_the_portals() {
        static FILES: [File; 1] =
            [File { path: portal::INDEX, content_type: "text/html", immutable: false, plain: b"page", gzip: None }];
        let (served, browser) = (Portal::new(&FILES), with(header::ACCEPT, "text/html"));
        assert!(served.answer(&Method::GET, "/nodes/nod_1", &browser).is_some());
        for not in [CALLBACK, "/api/v1/nowhere", "/assets/gone.js"] {
            assert!(served.answer(&Method::GET, not, &browser).is_none(), "{not}");
        }
    }

    #[test]
    fn a_page_is_for_browsers() {
        assert!(wants_a_page(&with(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")));
        for not in ["*/*", "application/json", "text/event-stream", ""] {
            assert!(!wants_a_page(&with(header::ACCEPT, not)), "{not}");
        }
    }
}
