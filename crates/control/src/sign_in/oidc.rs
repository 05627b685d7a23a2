//! Signing in through an identity provider: authorization code with PKCE, kept by this side from beginning to end.
//!
//! A sign-in that was begun lives in one cookie and nowhere else, so any replica can finish it: a secret, the moment, and
//! the page to come back to. State, nonce and the verifier of PKCE are hashes over the whole cookie. What comes back with
//! the right state therefore comes from the browser that began, with the cookie as it was given.

use std::sync::Arc;

use api::{Code, Problem};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{
    Timestamp,
    text::{DisplayName, SitePath},
};
use reqwest::StatusCode;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    claims::{self, Claims, Expected, Unbelieved},
    fetched::{Fetched, Known, Silent, encoded, safe_url},
    rules::{BadRules, Rules},
    site::{BEGUN_S, Site},
};
use crate::{Ports, authz::token::same};

/// Where the identity provider sends browsers back to.
pub(crate) const CALLBACK: &str = "/auth/callback";
/// By how many seconds the clocks of replicas may differ.
const LEEWAY_S: i64 = 60;

/// Characters of a provider's name at most: it becomes a part of the names of tokens.
const NAME_MAX: usize = 60;

/// How to speak with the identity provider.
#[derive(Clone)]
pub struct OidcSettings {
    /// Its issuer, exactly as it calls itself.
    pub issuer: String,
    /// What it knows this platform as.
    pub client_id: String,
    /// What this platform shows it, unless it is a public client.
    pub client_secret: Option<String>,
    /// What people know it as.
    pub name: String,
    /// What its groups mean here.
    pub rules: Rules,
}

// A derived Debug would print the secret.
impl std::fmt::Debug for OidcSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OidcSettings").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// The identity provider cannot be used like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOidc {
    /// Its address.
    #[error("`{0}` is not an issuer: expected https://NAME, or http:// on this machine")]
    Issuer(String),
    /// Our own address.
    #[error("an identity provider needs to know where to send browsers back to: say the site's public address")]
    NoSite,
    /// Its name.
    #[error("`{0}` is not a name for people to read: expected 1 to 60 printable characters")]
    Name(String),
    /// The rules.
    #[error(transparent)]
    Rules(#[from] BadRules),
    /// The HTTP client.
    #[error("the HTTP client cannot be set up: {0}")]
    Http(String),
}

/// The identity provider that people sign in through.
#[derive(Debug)]
pub struct Oidc {
    settings: OidcSettings,
    redirect_uri: String,
    fetched: Fetched,
}

/// A sign-in that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Where the browser goes now.
    pub(crate) authorization_url: String,
    /// What it has to bring back.
    pub(crate) cookie: String,
}

/// What the identity provider sent the browser back with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Returned {
    pub(crate) code: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) error: Option<String>,
}

fn refused(detail: impl Into<String>) -> Problem {
    Problem::new(Code::SignInRefused, detail)
}

fn unavailable() -> Problem {
    Problem::new(Code::SignInUnavailable, "The identity provider does not answer as it should. Nobody was signed in.")
        .with_retry_after(5)
}

fn not_begun() -> Problem {
    refused("This sign-in was not begun in this browser, or was begun too long ago. Begin again.")
}

/// One of the values that follow from the cookie of a sign-in.
fn derived(label: &str, cookie: &str) -> String {
    let digest = Sha256::new().chain_update("gpuaas-sign-in-").chain_update(label).chain_update("\n");
    URL_SAFE_NO_PAD.encode(digest.chain_update(cookie).finalize())
}

impl Oidc {
    /// Takes settings, if they hold together. Nobody is asked yet.
    pub fn new(settings: OidcSettings, site: &Site) -> Result<Self, BadOidc> {
        let issuer = safe_url(&settings.issuer).filter(|url| url.query().is_none() && url.fragment().is_none());
        issuer.ok_or_else(|| BadOidc::Issuer(settings.issuer.clone()))?;
        let named = settings.name.parse::<DisplayName>().is_ok() && settings.name.chars().count() <= NAME_MAX;
        if !named {
            return Err(BadOidc::Name(settings.name));
        }
        settings.rules.check()?;
        let redirect_uri = site.address(CALLBACK).ok_or(BadOidc::NoSite)?;
        Ok(Self { settings, redirect_uri, fetched: Fetched::new()? })
    }

    /// What people know it as.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Its issuer.
    pub(crate) fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// What its groups mean here.
    pub(crate) fn rules(&self) -> &Rules {
        &self.settings.rules
    }

    /// Asks the provider about itself unless that is known. Whether it answered shows when it is needed.
    pub(crate) async fn make_ready(&self, ports: &Ports) {
        let _ = self.fetched.ready(&self.settings, ports).await;
    }

    /// Begins a sign-in. The provider must have been made ready.
    pub(crate) fn begin(&self, ports: &Ports, return_to: Option<&SitePath>) -> Result<Begun, Problem> {
        let now = ports.now();
        let known = self.fetched.known(now).ok_or_else(unavailable)?;
        let mut secret = [0u8; 32];
        ports.entropy.fill(&mut secret);
        let path = return_to.map_or("/", SitePath::as_str);
        let cookie = format!("{}.{}.{}", URL_SAFE_NO_PAD.encode(secret), now.as_micros(), URL_SAFE_NO_PAD.encode(path));
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(derived("verifier", &cookie)));
        let asked = self.settings.rules.scopes.iter().map(String::as_str);
        let scope = ["openid"].into_iter().chain(asked).collect::<Vec<_>>().join(" ");
        let query = encoded(&[
            ("response_type", "code"),
            ("client_id", &self.settings.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("scope", &scope),
            ("state", &derived("state", &cookie)),
            ("nonce", &derived("nonce", &cookie)),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        let page = &known.published.authorization_endpoint;
        let joint = if page.contains('?') { '&' } else { '?' };
        Ok(Begun { authorization_url: format!("{page}{joint}{query}"), cookie })
    }

    /// Finishes a sign-in: what the provider says about the person, and the page to come back to.
    pub(crate) async fn finish(
        &self,
        ports: &Ports,
        cookie: Option<&str>,
        returned: &Returned,
    ) -> Result<(Claims, SitePath), Problem> {
        let (cookie, return_to) = begun(cookie, returned.state.as_deref(), ports.now()).ok_or_else(not_begun)?;
        let known = self.fetched.ready(&self.settings, ports).await.map_err(|_| unavailable())?;
        let by_issuer = match &returned.issuer {
            Some(issuer) => *issuer == self.settings.issuer,
            None => !known.published.authorization_response_iss_parameter_supported,
        };
        if !by_issuer {
            return Err(refused("The answer does not come from the identity provider that was asked."));
        }
        if let Some(error) = &returned.error {
            let word: String = error.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(60).collect();
            return Err(refused(format!("The identity provider did not let you in: {word}.")));
        }
        let code = returned.code.as_deref().ok_or_else(not_begun)?;
        let (token, access) = self.redeem(&known, code, &derived("verifier", cookie)).await?;
        let claims = self.believed(&known, &token, &derived("nonce", cookie), ports).await?;
        let more = self.more(&known, &claims, access.as_deref()).await?;
        Ok((Claims::of(&claims, more.as_ref(), &self.settings.rules.groups_claim), return_to))
    }

    /// The ID token, and the access token if there is one, for a code.
    async fn redeem(&self, known: &Known, code: &str, verifier: &str) -> Result<(String, Option<String>), Problem> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", verifier),
        ];
        let answer = self.fetched.exchange(&self.settings, &known.published, &fields).await;
        let (status, answer) = answer.map_err(|why| self.silent(&why))?;
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        if status == StatusCode::OK {
            let token = text("id_token").ok_or_else(|| self.silent(&Silent("it gives no ID token".to_owned())))?;
            return Ok((token, text("access_token")));
        }
        match text("error").as_deref() {
            Some("invalid_grant") => {
                Err(refused("The identity provider's code was used before, or has run out. Begin again."))
            }
            error => Err(self.silent(&Silent(format!("it answers {status} {} to a code", error.unwrap_or_default())))),
        }
    }

    /// What an ID token says, if it is to be believed. For a key that is not known the provider is asked again.
    async fn believed(&self, known: &Arc<Known>, token: &str, nonce: &str, ports: &Ports) -> Result<Value, Problem> {
        let Oidc { settings: OidcSettings { issuer, client_id, .. }, .. } = self;
        let expected = Expected { issuer, client_id, nonce, now: ports.now() };
        let mut read = claims::believed(token, &known.keys, &expected);
        if read == Err(Unbelieved::UnknownKey) {
            let known = self.fetched.keys_again(known, ports).await.map_err(|why| self.silent(&why))?;
            read = claims::believed(token, &known.keys, &expected);
        }
        read.map_err(|why| {
            tracing::warn!(issuer, %why, "an ID token is not believed");
            refused(format!("The identity provider's word is not accepted: {why}."))
        })
    }

    /// What the provider says about the person elsewhere, if the ID token leaves something out.
    async fn more(&self, known: &Known, claims: &Value, access: Option<&str>) -> Result<Option<Value>, Problem> {
        let complete =
            [self.settings.rules.groups_claim.as_str(), "email"].iter().all(|name| claims.get(name).is_some());
        match (&known.published.userinfo_endpoint, access) {
            (Some(address), Some(access)) if !complete => {
                self.fetched.get(address, Some(access)).await.map(Some).map_err(|why| self.silent(&why))
            }
            _ => Ok(None),
        }
    }

    fn silent(&self, why: &Silent) -> Problem {
        tracing::warn!(issuer = self.settings.issuer, %why, "the identity provider does not answer as it should");
        unavailable()
    }
}

/// The cookie of a sign-in and the page to come back to, if the state belongs to it and it is not too old.
fn begun<'a>(cookie: Option<&'a str>, state: Option<&str>, now: Timestamp) -> Option<(&'a str, SitePath)> {
    let cookie = cookie?;
    if !same(state?, &derived("state", cookie)) {
        return None;
    }
    let mut parts = cookie.split('.').skip(1);
    let at = Timestamp::from_micros(parts.next()?.parse().ok()?);
    let path = URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
    let path = std::str::from_utf8(&path).ok()?.parse().ok()?;
    let fresh = now < at.plus_seconds(BEGUN_S) && at < now.plus_seconds(LEEWAY_S);
    if fresh { Some((cookie, path)) } else { None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn cookie(at: i64, path: &str) -> String {
        format!("{}.{at}.{}", "A".repeat(43), URL_SAFE_NO_PAD.encode(path))
    }

    #[test]
    fn a_sign_in_is_finished_by_the_browser_that_began_it_and_in_time() {
        let at = 1_000_000_000;
        let begun_at = cookie(at, "/nodes?x=1");
        let state = derived("state", &begun_at);
        let after = |seconds| Timestamp::from_micros(at).plus_seconds(seconds);
        assert_eq!(begun(Some(&begun_at), Some(&state), after(5)).unwrap().1.as_str(), "/nodes?x=1");
        assert!(begun(Some(&begun_at), Some(&state), after(BEGUN_S)).is_none(), "too old");
        assert!(begun(Some(&begun_at), Some(&state), after(-LEEWAY_S - 1)).is_none(), "from the future");
        assert!(begun(Some(&begun_at), Some("other"), after(5)).is_none());
        assert!(begun(Some(&begun_at), None, after(5)).is_none());
        assert!(begun(None, Some(&state), after(5)).is_none());
        // What is in the cookie cannot be exchanged: the state is over all of it.
        assert!(begun(Some(&cookie(at, "/evil")), Some(&state), after(5)).is_none());
        let abroad = cookie(at, "//evil.example/");
        assert!(begun(Some(&abroad), Some(&derived("state", &abroad)), after(5)).is_none(), "another site");
    }

    #[test]
    fn what_follows_from_a_cookie_says_nothing_about_the_rest() {
        let one = cookie(1, "/");
        let all = ["state", "nonce", "verifier"].map(|label| derived(label, &one));
        assert!(all.iter().all(|value| value.len() == 43));
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let rules = Rules { groups_claim: "groups".into(), scopes: vec![], rules: vec![] };
        let settings = |issuer: &str| OidcSettings {
            issuer: issuer.to_owned(),
            client_id: "us".into(),
            client_secret: None,
            name: "Id".into(),
            rules: rules.clone(),
        };
        let site = Site::at("https://gpuaas.example").unwrap();
        assert!(Oidc::new(settings("https://id.example"), &site).is_ok());
        assert!(Oidc::new(settings("http://127.0.0.1:1"), &site).is_ok());
        for bad in ["http://id.example", "id.example", "https://id.example?x", "https://id.example#y"] {
            assert!(matches!(Oidc::new(settings(bad), &site), Err(BadOidc::Issuer(_))), "{bad}");
        }
        assert!(matches!(Oidc::new(settings("https://id.example"), &Site::default()), Err(BadOidc::NoSite)));
    }
}
