//! What the identity provider publishes about itself, fetched and kept for a while: where its pages are and which keys it
//! signs with. However many people ask at once, the provider is asked once; one that does not answer is left alone for a
//! moment, and made-up names of keys do not make us ask again and again.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use model::Timestamp;
use reqwest::{RequestBuilder, Response, StatusCode, Url, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    claims::Key,
    oidc::{BadOidc, OidcSettings},
};
use crate::Ports;

/// For how long what was fetched is used.
const KEPT_S: i64 = 3600;
/// For how long a provider that did not answer is left alone.
const PAUSE_S: i64 = 2;
/// How often keys are fetched again for the sake of a name that is not among them.
const KEYS_AGAIN_S: i64 = 60;
const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Why the provider could not be asked, for the log: people are told only that it could not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Silent(pub(super) String);

/// What a provider publishes about itself.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Published {
    issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    pub(super) userinfo_endpoint: Option<String>,
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// What is known of a provider.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) published: Published,
    pub(super) keys: Vec<Key>,
    at: Timestamp,
}

#[derive(Debug, Default)]
struct Tries {
    failed: Option<(Timestamp, Silent)>,
    keys_again: Option<Timestamp>,
}

/// The provider, as far as it was asked.
#[derive(Debug)]
pub(super) struct Fetched {
    http: reqwest::Client,
    known: RwLock<Option<Arc<Known>>>,
    // Held while the provider is asked: everybody else waits for that answer.
    tries: tokio::sync::Mutex<Tries>,
}

/// An address that may be asked: encrypted, or on this machine.
pub(super) fn safe_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let here = match url.host_str()? {
        "localhost" | "[::1]" => true,
        host => host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
    };
    let safe = url.scheme() == "https" || (url.scheme() == "http" && here);
    if safe && url.username().is_empty() && url.password().is_none() { Some(url) } else { None }
}

impl Fetched {
    pub(super) fn new() -> Result<Self, BadOidc> {
        // Refused only when another part of the process has already chosen a provider, which then serves us as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            // A redirect could carry a code or a secret elsewhere, and so could a proxy that the environment names.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("gpuaas/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| BadOidc::Http(error.to_string()))?;
        Ok(Self { http, known: RwLock::default(), tries: tokio::sync::Mutex::default() })
    }

    /// What is known now, without asking.
    pub(super) fn known(&self, now: Timestamp) -> Option<Arc<Known>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        known.filter(|known| now < known.at.plus_seconds(KEPT_S))
    }

    /// What is known, asking if need be.
    pub(super) async fn ready(&self, settings: &OidcSettings, ports: &Ports) -> Result<Arc<Known>, Silent> {
        if let Some(known) = self.known(ports.now()) {
            return Ok(known);
        }
        let mut tries = self.tries.lock().await;
        let now = ports.now();
        if let Some(known) = self.known(now) {
            return Ok(known);
        }
        if let Some((at, why)) = &tries.failed
            && now < at.plus_seconds(PAUSE_S)
        {
            return Err(why.clone());
        }
        match self.fetch(settings, now).await {
            Ok(known) => {
                tries.failed = None;
                Ok(self.keep(known))
            }
            Err(why) => {
                tracing::warn!(issuer = settings.issuer, %why, "the identity provider cannot be asked");
                tries.failed = Some((ports.now(), why.clone()));
                Err(why)
            }
        }
    }

    /// The provider's keys once more, because it used one that was not there; what is known already if that was tried not
    /// long ago.
    pub(super) async fn keys_again(&self, known: &Arc<Known>, ports: &Ports) -> Result<Arc<Known>, Silent> {
        let mut tries = self.tries.lock().await;
        let now = ports.now();
        if tries.keys_again.is_some_and(|at| now < at.plus_seconds(KEYS_AGAIN_S)) {
            return Ok(self.known(now).unwrap_or_else(|| Arc::clone(known)));
        }
        tries.keys_again = Some(now);
        let keys = self.keys(&known.published.jwks_uri).await?;
        Ok(self.keep(Known { published: known.published.clone(), keys, at: known.at }))
    }

    fn keep(&self, known: Known) -> Arc<Known> {
        let known = Arc::new(known);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&known));
        known
    }

    async fn fetch(&self, settings: &OidcSettings, now: Timestamp) -> Result<Known, Silent> {
        let about = format!("{}/.well-known/openid-configuration", settings.issuer.trim_end_matches('/'));
        let published: Published = self.get(&about, None).await?;
        if published.issuer != settings.issuer {
            return Err(Silent(format!("it calls itself {}, not {}", published.issuer, settings.issuer)));
        }
        for address in [&published.authorization_endpoint, &published.token_endpoint] {
            safe_url(address).ok_or_else(|| Silent(format!("it names the unsafe address {address}")))?;
        }
        let keys = self.keys(&published.jwks_uri).await?;
        Ok(Known { published, keys, at: now })
    }

    async fn keys(&self, address: &str) -> Result<Vec<Key>, Silent> {
        let set: KeySet = self.get(address, None).await?;
        // A key of a kind that is not known here is not used; the others are.
        Ok(set.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect())
    }

    /// What is at an address, with the access token of somebody if it is about them.
    pub(super) async fn get<T: DeserializeOwned>(&self, address: &str, access: Option<&str>) -> Result<T, Silent> {
        let url = safe_url(address).ok_or_else(|| Silent(format!("it names the unsafe address {address}")))?;
        let request = self.http.get(url).header(header::ACCEPT, "application/json");
        let request = match access {
            Some(access) => request.bearer_auth(access),
            None => request,
        };
        match answered(request).await? {
            (StatusCode::OK, body) => serde_json::from_slice(&body)
                .map_err(|error| Silent(format!("{address} is not as it should be: {error}"))),
            (status, _) => Err(Silent(format!("{address} answers {status}"))),
        }
    }

    /// Exchanges a code at the provider; its status and answer.
    pub(super) async fn exchange(
        &self,
        settings: &OidcSettings,
        published: &Published,
        fields: &[(&str, &str)],
    ) -> Result<(StatusCode, Value), Silent> {
        let url = safe_url(&published.token_endpoint).ok_or_else(|| Silent("its address is unsafe".to_owned()))?;
        let mut form = encoded(fields);
        let mut request = self.http.post(url).header(header::ACCEPT, "application/json");
        // In the header unless the provider says that it takes the secret in the form only.
        let methods = published.token_endpoint_auth_methods_supported.as_deref();
        let in_header = methods.is_none_or(|all| all.iter().any(|method| method == "client_secret_basic"));
        match &settings.client_secret {
            Some(secret) if in_header => {
                let pair = STANDARD.encode(format!("{}:{}", percent(&settings.client_id), percent(secret)));
                request = request.header(header::AUTHORIZATION, format!("Basic {pair}"));
            }
            Some(secret) => {
                form.push_str(&format!(
                    "&{}",
                    encoded(&[("client_id", &settings.client_id), ("client_secret", secret)])
                ));
            }
            None => form.push_str(&format!("&{}", encoded(&[("client_id", &settings.client_id)]))),
        }
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        let (status, body) = answered(request).await?;
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}

async fn answered(request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), Silent> {
    // Without the address: a query may hold what is not for logs.
    let lost = |error: reqwest::Error| Silent(error.without_url().to_string());
    let mut response: Response = request.send().await.map_err(lost)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(Silent(format!("it answers with more than {ANSWER_BYTES_MAX} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((response.status(), body))
}

/// Pairs as a form or a query has them.
pub(super) fn encoded(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", percent(value))).collect();
    pairs.join("&")
}

fn percent(value: &str) -> String {
    let keep = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    value.bytes().map(|b| if keep(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for good in ["https://id.example", "http://127.0.0.1:4000/x", "http://localhost:1", "http://[::1]:2"] {
            assert!(safe_url(good).is_some(), "{good}");
        }
        for bad in ["http://id.example", "http://127.0.0.1.example", "ftp://localhost", "https://u:p@id.example", "x"] {
            assert!(safe_url(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn what_is_special_in_a_form_is_written_otherwise() {
        assert_eq!(encoded(&[("a", "b c&d=é"), ("e", "~-._")]), "a=b%20c%26d%3D%C3%A9&e=~-._");
    }
}
