//! People in browsers: how they can sign in, and the session that they have afterwards.
//!
//! A session is a cookie that scripts cannot read. What it may do is what a token may do: the one that was shown at sign-in,
//! or one that was made for the session when an identity provider vouched for the person. Requests that change something
//! repeat the session's CSRF token in `X-CSRF-Token`.

use crate::{
    endpoint::{Nothing, not_null},
    endpoints,
    identity::WhoamiView,
};
use model::{
    SessionId, Timestamp,
    text::{SitePath, TokenSecret},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cookie that a session is in.
pub const COOKIE: &str = "gpuaas_session";
/// The header that repeats the session's CSRF token.
pub const CSRF_HEADER: &str = "X-CSRF-Token";
/// Hours without a request after which a session is over.
pub const IDLE_HOURS: i64 = 12;
/// Hours after which a session is over in any case.
pub const LIFETIME_HOURS: i64 = 7 * 24;

/// How people can sign in here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignInView {
    /// With a token.
    pub token: bool,
    /// Through an identity provider, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oidc: Option<OidcWayView>,
}

/// An identity provider that people sign in through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OidcWayView {
    /// What people know it as.
    pub name: String,
}

/// A token to sign in with.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionCreateBody {
    /// The token's secret.
    pub token: TokenSecret,
}

// A derived Debug would print the token.
impl std::fmt::Debug for SessionCreateBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionCreateBody(…)")
    }
}

/// Where to go after the identity provider.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcStartBody {
    /// The page of the portal to come back to; its first one when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub return_to: Option<SitePath>,
}

/// Where the browser goes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OidcStartView {
    /// The identity provider's page.
    pub authorization_url: String,
}

/// A session and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// Who is signed in, and what they may do.
    pub who: WhoamiView,
    /// What to send as `X-CSRF-Token` with requests that change something.
    pub csrf_token: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ends unless it is used.
    pub idle_expires_at: Timestamp,
    /// When it ends in any case.
    pub expires_at: Timestamp,
}

endpoints! {
    /// Say how people can sign in here.
    SignInShow = "sign_in_show", Get "/api/v1/sign-in", "sessions", SelfRead { answer: Ok SignInView, public: true }
    /// Sign in with a token; the session comes as a cookie.
    SessionCreate = "session_create", Post "/api/v1/session", "sessions", SelfManage { body: SessionCreateBody, answer: Ok SessionView, public: true, problems: [Unauthenticated, TokenExpired, TokenRevoked, CsrfRefused] }
    /// Begin to sign in through the identity provider.
    SessionOidcStart = "session_oidc_start", Post "/api/v1/session/oidc", "sessions", SelfManage { body: OidcStartBody, answer: Ok OidcStartView, reads_only: true, public: true, problems: [NotFound, SignInUnavailable, CsrfRefused] }
    /// Show the session of the request's cookie.
    SessionShow = "session_show", Get "/api/v1/session", "sessions", SelfRead { answer: Ok SessionView, problems: [NotFound] }
    /// Sign out: end the session of the request's cookie.
    SessionDelete = "session_delete", Delete "/api/v1/session", "sessions", SelfManage { answer: NoContent Nothing, problems: [NotFound] }
}
