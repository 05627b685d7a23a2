//! Reading the headers that decide whether a request is safe to repeat and which version it is about. A header that cannot
//! be read is refused, never ignored.

use api::{
    Code, Method, Operation, Problem,
    endpoint::IfMatch,
    headers as rules,
    node_plane::STREAM_PROTOCOL,
    session::{COOKIE, CSRF_HEADER},
};

use super::request::Headers;
use crate::{
    authz::token::{Secret, same},
    sign_in::Site,
};

/// The token in `Authorization: Bearer …`.
pub(crate) fn bearer(headers: &Headers) -> Option<Secret> {
    let (scheme, rest) = headers.authorization.as_deref()?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") { Secret::parse(rest.trim_matches(' ')) } else { None }
}

/// What a request shows of its caller: the token in `Authorization`, or, without that header, the session in the cookie.
pub(crate) fn credential(headers: &Headers) -> Option<Secret> {
    match &headers.authorization {
        Some(_) => bearer(headers),
        None => cookie(headers, COOKIE).and_then(Secret::parse_session),
    }
}

/// The value of a cookie. One that is there twice is nobody's: somebody may have slipped in a second.
pub(crate) fn cookie<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    let pairs = headers.cookie.as_deref()?.split(';').filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(given, _)| *given == name).map(|(_, value)| value);
    let first = found.next()?;
    if found.next().is_none() { Some(first) } else { None }
}

/// Refuses what a browser may have been made to ask by another site. A request with `Authorization` was written by whoever
/// has the token; a cookie comes along by itself, so a page of this site has to show that it was there.
pub(crate) fn own_wish(headers: &Headers, operation: &Operation, site: &Site) -> Result<(), Problem> {
    if headers.authorization.is_some() || (operation.method == Method::Get && !operation.is_mutating()) {
        return Ok(());
    }
    let refused = |detail: &str| Err(Problem::new(Code::CsrfRefused, detail));
    if headers.sec_fetch_site.as_deref().is_some_and(|from| !matches!(from, "same-origin" | "none")) {
        return refused("The browser says that another site made this request.");
    }
    if headers.origin.as_deref().is_some_and(|origin| !site.is_own(origin, headers.host.as_deref())) {
        return refused("The request comes from a page of another site.");
    }
    let Some(session) = credential(headers) else { return Ok(()) };
    let given = headers.csrf_token.as_deref().unwrap_or_default();
    if operation.public || same(given, &session.csrf_token()) {
        return Ok(());
    }
    Err(Problem::new(Code::CsrfRefused, "A session's request must repeat the session's CSRF token.")
        .with_field(CSRF_HEADER, "the csrf_token of GET /api/v1/session"))
}

/// The headers of a request, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) idempotency_key: Option<String>,
    pub(crate) if_match: Option<i64>,
    pub(crate) last_event_id: Option<i64>,
    pub(crate) none_match: Option<rules::NoneMatch>,
}

/// Reads what this operation looks at.
pub(crate) fn read(headers: &Headers, operation: &Operation) -> Result<Read, Problem> {
    if let Some(name) = headers.unreadable {
        return Err(Problem::new(Code::InvalidHeader, "A header does not match its rule.")
            .with_field(name, "the header once, as plain text"));
    }
    let mut found = Read::default();
    if operation.needs_idempotency_key() {
        found.idempotency_key = Some(idempotency_key(headers)?);
    }
    if operation.if_match != IfMatch::Ignored {
        found.if_match = headers.if_match.as_deref().map(rules::if_match).transpose()?;
    }
    if operation.if_match == IfMatch::Required && found.if_match.is_none() {
        let detail = "This operation needs an If-Match header with the version to change.";
        return Err(Problem::new(Code::VersionRequired, detail)
            .with_field(rules::IF_MATCH, "one version in double quotes, such as \"7\""));
    }
    if operation.is_upgrade() && headers.upgrade.as_deref().is_none_or(|asked| asked != STREAM_PROTOCOL) {
        let accepted = format!("{STREAM_PROTOCOL}, with Connection: Upgrade over HTTP/1.1");
        return Err(
            Problem::new(Code::UpgradeRequired, "This operation opens a stream.").with_field(rules::UPGRADE, accepted)
        );
    }
    if operation.success == api::Success::EventStream {
        let position = headers.last_event_id.as_deref().map(rules::last_event_id).transpose()?;
        found.last_event_id = position.map(model::number::EventPosition::get);
    }
    Ok(found)
}

fn idempotency_key(headers: &Headers) -> Result<String, Problem> {
    let Some(given) = headers.idempotency_key.as_deref() else {
        return Err(Problem::new(Code::IdempotencyKeyMissing, "This operation needs an Idempotency-Key header.")
            .with_field(
                rules::IDEMPOTENCY_KEY,
                "1 to 64 of the characters A-Z a-z 0-9 _ . : -, bare or in double quotes",
            ));
    };
    rules::idempotency_key(given).map(str::to_owned)
}

/// Reads which versions the caller has already.
pub(crate) fn none_match(headers: &Headers) -> Result<Option<rules::NoneMatch>, Problem> {
    headers.if_none_match.as_deref().map(rules::if_none_match).transpose()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use api::{
        Endpoint,
        tenancy::{TenantCreate, TenantUpdate},
    };

    fn key(text: &str) -> Result<String, Code> {
        let headers = Headers { idempotency_key: Some(text.into()), ..Headers::default() };
        read(&headers, &TenantCreate::OPERATION).map(|found| found.idempotency_key.unwrap()).map_err(|p| p.code)
    }
    fn matched(text: &str) -> Result<Option<i64>, Code> {
        let headers = Headers { if_match: Some(text.into()), ..Headers::default() };
        read(&headers, &TenantUpdate::OPERATION).map(|found| found.if_match).map_err(|p| p.code)
    }

    #[test]
    fn keys_are_read_bare_and_quoted() {
        for text in ["8e03978e-40d5", "\"8e03978e-40d5\""] {
            assert_eq!(key(text), Ok("8e03978e-40d5".to_owned()), "{text}");
        }
        for text in ["", "\"\"", "\"a", "a\"", "a b", "é", "\"a\\\"b\"", &"a".repeat(65)] {
            assert_eq!(key(text), Err(Code::InvalidHeader), "{text}");
        }
        let missing = read(&Headers::default(), &TenantCreate::OPERATION).unwrap_err();
        assert_eq!(missing.code, Code::IdempotencyKeyMissing);
    }

    #[test]
    fn versions_are_one_quoted_number() {
        assert_eq!(matched("\"7\""), Ok(Some(7)));
        for text in
            ["7", "*", "W/\"7\"", "\"7\", \"8\"", "\"0\"", "\"-1\"", "\"+1\"", "\"\"", "\"99999999999999999999\""]
        {
            assert_eq!(matched(text), Err(Code::InvalidHeader), "{text}");
        }
        let missing = read(&Headers::default(), &TenantUpdate::OPERATION).unwrap_err();
        assert_eq!(missing.code, Code::VersionRequired);
    }

    #[test]
    fn a_header_sent_twice_is_refused() {
        let mut headers = Headers::default();
        headers.set("if-match", Some("\"1\""));
        headers.set("if-match", Some("\"1\""));
        assert_eq!(read(&headers, &TenantUpdate::OPERATION).unwrap_err().code, Code::InvalidHeader);
    }

    #[test]
    fn a_bearer_token_must_be_one_of_ours() {
        let with = |text: &str| bearer(&Headers { authorization: Some(text.into()), ..Headers::default() });
        let secret = format!("gpuaas_{}", "A".repeat(43));
        assert!(with(&format!("Bearer {secret}")).is_some());
        assert!(with(&format!("bearer {secret}")).is_some());
        for text in ["", "Bearer", "Bearer x", &format!("Basic {secret}"), &secret] {
            assert!(with(text).is_none(), "{text}");
        }
    }

    const SESSION: &str = "gps_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn browser() -> Headers {
        let csrf_token = Secret::parse_session(SESSION).map(|session| session.csrf_token());
        Headers { cookie: Some(format!("a=b; {COOKIE}={SESSION}")), csrf_token, ..Headers::default() }
    }

    fn refused(headers: &Headers) -> Option<Code> {
        own_wish(headers, &TenantCreate::OPERATION, &Site::default()).err().map(|problem| problem.code)
    }

    #[test]
    fn a_cookie_counts_only_without_a_token_and_only_once() {
        assert!(credential(&browser()).unwrap().is_session());
        assert!(credential(&Headers { authorization: Some("Bearer x".into()), ..browser() }).is_none());
        let twice = Headers { cookie: Some(format!("{COOKIE}={SESSION}; {COOKIE}={SESSION}")), ..Headers::default() };
        assert!(credential(&twice).is_none());
        let token = format!("{COOKIE}=gpuaas_{}", "A".repeat(43));
        assert!(credential(&Headers { cookie: Some(token), ..Headers::default() }).is_none(), "a token is no session");
    }

    #[test]
    fn what_another_site_may_have_asked_for_is_refused() {
        assert_eq!(refused(&browser()), None);
        assert_eq!(refused(&Headers { csrf_token: None, ..browser() }), Some(Code::CsrfRefused));
        assert_eq!(refused(&Headers { csrf_token: Some("x".into()), ..browser() }), Some(Code::CsrfRefused));
        for from in ["cross-site", "same-site", "unheard-of"] {
            let headers = Headers { sec_fetch_site: Some(from.into()), ..browser() };
            assert_eq!(refused(&headers), Some(Code::CsrfRefused), "{from}");
        }
        let at = |origin: &str| Headers { origin: Some(origin.into()), host: Some("here:7070".into()), ..browser() };
        assert_eq!(refused(&at("http://here:7070")), None);
        for origin in ["http://here", "http://here:7071", "https://elsewhere:7070", "null", ""] {
            assert_eq!(refused(&at(origin)), Some(Code::CsrfRefused), "{origin}");
        }
        // Reading is safe: another site cannot see the answer. And a token does not come along by itself.
        let reading = Headers { csrf_token: None, ..browser() };
        assert!(own_wish(&reading, &api::tenancy::TenantList::OPERATION, &Site::default()).is_ok());
        assert_eq!(refused(&Headers { authorization: Some("Bearer x".into()), ..at("http://elsewhere") }), None);
    }
}
