//! How a request to MAAS is signed: OAuth 1.0 with the method PLAINTEXT (RFC 5849 sections 3.4.4 and 3.5.1). The consumer has
//! no secret in MAAS, so the signature is `&` and the token's secret. The parts of the key never show.

use super::form::percent;
use crate::fault::Fault;
use model::{Timestamp, time::MICROS_PER_SECOND};
use std::{fmt, str::FromStr, sync::Arc};

/// The key of a MAAS user: `consumer:token:secret`, as MAAS shows it.
#[derive(Clone)]
pub struct ApiKey {
    consumer: String,
    token: String,
    secret: String,
}

impl ApiKey {
    /// Everything of it that must not come back in an error.
    pub(super) fn secrets(&self) -> [&str; 3] {
        [&self.secret, &self.token, &self.consumer]
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

impl FromStr for ApiKey {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let part = |part: &&str| (8..=128).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_graphic());
        let parts: Vec<&str> = text.trim().split(':').collect();
        match parts.as_slice() {
            [consumer, token, secret] if parts.iter().all(part) => {
                let own = |text: &&str| (*text).to_owned();
                Ok(Self { consumer: own(consumer), token: own(token), secret: own(secret) })
            }
            _ => Err(Fault::Settings {
                what: "key",
                expected: "three parts of 8 to 128 visible characters, with colons between them",
                found: "is not".to_owned(),
            }),
        }
    }
}

/// What makes two requests differ: time and chance, brought by the caller so that a test can repeat itself.
#[derive(Clone)]
pub struct Signing {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    nonce: Arc<dyn Fn() -> String + Send + Sync>,
}

impl Signing {
    /// Signs with this clock and these words, each of which must come only once.
    pub fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        nonce: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), nonce: Arc::new(nonce) }
    }

    /// The value of the header `Authorization`.
    pub(super) fn header(&self, key: &ApiKey) -> String {
        let timestamp = ((self.now)().as_micros() / MICROS_PER_SECOND).to_string();
        let (nonce, signature) = ((self.nonce)(), format!("&{}", percent(&key.secret)));
        let fields = [
            ("oauth_consumer_key", key.consumer.as_str()),
            ("oauth_token", &key.token),
            ("oauth_signature_method", "PLAINTEXT"),
            ("oauth_signature", &signature),
            ("oauth_timestamp", &timestamp),
            ("oauth_nonce", &nonce),
            ("oauth_version", "1.0"),
        ];
        let fields = fields.map(|(name, value)| format!("{name}=\"{}\"", percent(value)));
        format!("OAuth realm=\"\", {}", fields.join(", "))
    }
}

impl fmt::Debug for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_as_the_standard_writes_it() {
        let key: ApiKey = "consumer-1:token+/=22:secret&%33".parse().unwrap();
        let signing = Signing::new(|| Timestamp::from_micros(1_769_860_800_999_999), || "once 1".to_owned());
        assert_eq!(
            signing.header(&key),
            "OAuth realm=\"\", oauth_consumer_key=\"consumer-1\", oauth_token=\"token%2B%2F%3D22\", \
             oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"%26secret%2526%252533\", \
             oauth_timestamp=\"1769860800\", oauth_nonce=\"once%201\", oauth_version=\"1.0\""
        );
    }

    #[test]
    fn a_key_has_three_parts_and_never_shows() {
        for bad in [
            "",
            "a:b:c",
            "consumer-1:token-222",
            "consumer-1:token-222:secret-3:more-444",
            "consumer-1::secret-3",
            "consumer-1:token 22:secret-3",
        ] {
            let fault = bad.parse::<ApiKey>().unwrap_err();
            assert!(!fault.to_string().contains("secret-3"), "{fault}");
        }
        let key: ApiKey = " consumer-1:token-222:secret-3\n".parse().unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey(hidden)");
    }
}
