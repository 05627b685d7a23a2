//! Reading an ID token: the signature first, then whether it is for us, for now, and for the sign-in that was begun. The
//! primitives are ring's, which TLS uses here too; nothing is taken from a token before its signature holds.
//!
//! Which algorithms are good is decided here and not by the token: signatures with public keys only. A key is used for the
//! algorithm of its kind, so a public key is never mistaken for a shared secret.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{Timestamp, text::Email};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::Value;

/// By how many seconds clocks may differ.
const LEEWAY_S: i64 = 60;
/// The longest subject that a provider may give somebody.
const SUBJECT_MAX: usize = 255;
/// More groups than anybody has.
const GROUPS_MAX: usize = 2000;

/// Why an ID token is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unbelieved {
    /// No key of the provider has this name: perhaps it has new ones.
    #[error("it is signed with a key that the provider does not show")]
    UnknownKey,
    /// Anything else.
    #[error("{0}")]
    Because(&'static str),
}

/// One of a provider's public keys, as its key set states it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Key {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default, rename = "use")]
    used_for: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

/// What a token must say.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now: Timestamp,
}

/// What a provider says about somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claims {
    /// The name that the provider keeps for them, for good.
    pub(crate) subject: String,
    /// Their address, if the provider says that it is theirs.
    pub(crate) email: Option<Email>,
    /// Their groups.
    pub(crate) groups: BTreeSet<String>,
}

/// Checks a token and gives what it says.
pub(super) fn believed(token: &str, keys: &[Key], expected: &Expected<'_>) -> Result<Value, Unbelieved> {
    let because = Unbelieved::Because;
    let parts: Vec<&str> = token.split('.').collect();
    let [head, body, signature] = parts[..] else { return Err(because("it is not a signed token")) };
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| because("it is not in base64url"));
    let parsed: Head = serde_json::from_slice(&decode(head)?).map_err(|_| because("its head cannot be read"))?;
    if parsed.crit.is_some() {
        return Err(because("it needs something that is not known here"));
    }
    let fitting: Vec<&Key> = keys.iter().filter(|key| key.fits(&parsed)).collect();
    if fitting.is_empty() {
        let known = matches!(parsed.alg.as_str(), "RS256" | "PS256" | "ES256" | "ES384" | "EdDSA");
        return Err(if known { Unbelieved::UnknownKey } else { because("its algorithm is not accepted") });
    }
    let signed = format!("{head}.{body}");
    let signature = decode(signature)?;
    if !fitting.iter().any(|key| key.verifies(&parsed.alg, signed.as_bytes(), &signature)) {
        return Err(because("its signature does not hold"));
    }
    let claims: Value = serde_json::from_slice(&decode(body)?).map_err(|_| because("its claims cannot be read"))?;
    check(&claims, expected)?;
    Ok(claims)
}

fn check(claims: &Value, expected: &Expected<'_>) -> Result<(), Unbelieved> {
    let because = |what| Err(Unbelieved::Because(what));
    let text = |name: &str| claims[name].as_str();
    if text("iss") != Some(expected.issuer) {
        return because("another issuer made it");
    }
    let (ours, others) = match &claims["aud"] {
        Value::String(one) => (one == expected.client_id, false),
        Value::Array(all) => (all.iter().any(|one| one.as_str() == Some(expected.client_id)), all.len() > 1),
        _ => (false, false),
    };
    let party = text("azp");
    if !ours || party.is_some_and(|party| party != expected.client_id) || (others && party.is_none()) {
        return because("it was made for somebody else");
    }
    let now_s = expected.now.as_micros() / 1_000_000;
    // A number of seconds; some providers write it with a fraction, which does not matter here.
    let seconds = |name: &str| claims[name].as_i64().or_else(|| whole_seconds(&claims[name]));
    if seconds("exp").is_none_or(|end| now_s >= end.saturating_add(LEEWAY_S)) {
        return because("it has run out");
    }
    if seconds("iat").is_none_or(|made| made > now_s.saturating_add(LEEWAY_S)) {
        return because("it was made in the future");
    }
    if text("nonce") != Some(expected.nonce) {
        return because("it belongs to another sign-in");
    }
    let subject = text("sub").unwrap_or_default();
    if subject.is_empty() || subject.len() > SUBJECT_MAX || !subject.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return because("it names nobody");
    }
    Ok(())
}

fn whole_seconds(value: &Value) -> Option<i64> {
    let text = value.as_number()?.to_string();
    text.split('.').next()?.parse().ok()
}

impl Key {
    /// Whether the key may have signed a token with this head.
    fn fits(&self, head: &Head) -> bool {
        let kind = match head.alg.as_str() {
            "RS256" | "PS256" => self.kty == "RSA",
            "ES256" => self.kty == "EC" && self.crv.as_deref() == Some("P-256"),
            "ES384" => self.kty == "EC" && self.crv.as_deref() == Some("P-384"),
            "EdDSA" => self.kty == "OKP" && self.crv.as_deref() == Some("Ed25519"),
            _ => false,
        };
        let named = head.kid.is_none() || self.kid == head.kid;
        let signs = self.used_for.as_deref().is_none_or(|purpose| purpose == "sig");
        kind && named && signs && self.alg.as_deref().is_none_or(|alg| alg == head.alg)
    }

    fn verifies(&self, alg: &str, signed: &[u8], signature: &[u8]) -> bool {
        let part = |text: &Option<String>| text.as_ref().and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        match alg {
            "RS256" | "PS256" => {
                let (Some(n), Some(e)) = (part(&self.n), part(&self.e)) else { return false };
                let parameters = if alg == "RS256" {
                    &signature::RSA_PKCS1_2048_8192_SHA256
                } else {
                    &signature::RSA_PSS_2048_8192_SHA256
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature).is_ok()
            }
            "ES256" | "ES384" => {
                let (Some(x), Some(y)) = (part(&self.x), part(&self.y)) else { return false };
                let algorithm: &dyn VerificationAlgorithm = if alg == "ES256" {
                    &signature::ECDSA_P256_SHA256_FIXED
                } else {
                    &signature::ECDSA_P384_SHA384_FIXED
                };
                let point = [&[4], x.as_slice(), y.as_slice()].concat();
                UnparsedPublicKey::new(algorithm, point).verify(signed, signature).is_ok()
            }
            "EdDSA" => part(&self.x)
                .is_some_and(|x| UnparsedPublicKey::new(&signature::ED25519, x).verify(signed, signature).is_ok()),
            _ => false,
        }
    }
}

impl Claims {
    /// What is in claims that were checked, and in what the provider says elsewhere about the same person.
    pub(super) fn of(token: &Value, more: Option<&Value>, groups_claim: &str) -> Self {
        let more = more.filter(|more| more["sub"] == token["sub"]);
        let said = |name: &str| {
            let of_token = token.get(name);
            of_token.or_else(|| more.and_then(|more| more.get(name))).cloned().unwrap_or(Value::Null)
        };
        // Whoever says the address must be the one who says that it is theirs.
        let mut sources = [Some(token), more].into_iter().flatten();
        let vouched =
            sources.find(|source| source["email"].is_string() && source["email_verified"] == Value::Bool(true));
        let email = vouched.and_then(|source| source["email"].as_str()?.to_ascii_lowercase().parse().ok());
        let groups = match said(groups_claim) {
            Value::String(one) => BTreeSet::from([one]),
            Value::Array(all) => all.iter().filter_map(Value::as_str).take(GROUPS_MAX).map(str::to_owned).collect(),
            _ => BTreeSet::new(),
        };
        Self { subject: token["sub"].as_str().unwrap_or_default().to_owned(), email, groups }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer as _, SigningKey};
    use serde_json::json;

    const NOW_S: i64 = 1_900_000_000;

    fn key(seed: u8, kid: &str) -> Key {
        let public = SigningKey::from_bytes(&[seed; 32]).verifying_key();
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": URL_SAFE_NO_PAD.encode(public.as_bytes())});
        serde_json::from_value(jwk).unwrap()
    }

    fn token(seed: u8, head: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(head), part(claims));
        let signature = SigningKey::from_bytes(&[seed; 32]).sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }

    fn good() -> Value {
        json!({"iss": "https://id.example", "aud": "us", "exp": NOW_S + 60, "iat": NOW_S, "nonce": "n", "sub": "1"})
    }

    fn read(token: &str) -> Result<Value, Unbelieved> {
        let now = Timestamp::from_micros(NOW_S * 1_000_000);
        let expected = Expected { issuer: "https://id.example", client_id: "us", nonce: "n", now };
        believed(token, &[key(1, "one"), key(2, "two")], &expected)
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = good();
        claims[name] = value;
        claims
    }

    #[test]
    fn a_token_is_believed_only_with_a_signature_of_the_provider() {
        let head = json!({"alg": "EdDSA", "kid": "one"});
        let good = token(1, &head, &good());
        assert_eq!(read(&good).unwrap()["sub"], "1");
        assert_eq!(read(&token(3, &head, &with("sub", json!("2")))).unwrap_err(), read(&forged(&good)).unwrap_err());
        assert_eq!(read(&token(1, &json!({"alg": "EdDSA", "kid": "new"}), &self::good())), Err(Unbelieved::UnknownKey));
        // Without a name every key is tried.
        assert!(read(&token(2, &json!({"alg": "EdDSA"}), &self::good())).is_ok());
        for alg in ["none", "HS256", "eddsa", ""] {
            let head = json!({"alg": alg, "kid": "one"});
            assert_eq!(
                read(&token(1, &head, &self::good())),
                Err(Unbelieved::Because("its algorithm is not accepted")),
                "{alg}"
            );
        }
        let critical = json!({"alg": "EdDSA", "kid": "one", "crit": ["b64"]});
        assert!(read(&token(1, &critical, &self::good())).is_err());
        for text in ["", "a.b", "a.b.c.d", "..", &good[..good.len() - 3]] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    /// The same token with another body under the old signature.
    fn forged(token: &str) -> String {
        let parts: Vec<&str> = token.split('.').collect();
        format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(with("sub", json!("root")).to_string()), parts[2])
    }

    #[test]
    fn a_token_must_be_for_us_for_now_and_for_this_sign_in() {
        let head = json!({"alg": "EdDSA", "kid": "one"});
        for (name, value) in [
            ("iss", json!("https://other.example")),
            ("aud", json!("others")),
            ("aud", json!(["us", "others"])),
            ("aud", json!([])),
            ("azp", json!("others")),
            ("exp", json!(NOW_S - 61)),
            ("exp", json!("soon")),
            ("exp", Value::Null),
            ("iat", json!(NOW_S + 61)),
            ("nonce", json!("m")),
            ("nonce", Value::Null),
            ("sub", json!("")),
            ("sub", json!(7)),
            ("sub", json!("a\nb")),
        ] {
            assert!(read(&token(1, &head, &with(name, value.clone()))).is_err(), "{name}: {value}");
        }
        assert!(read(&token(1, &head, &with("exp", json!(NOW_S - 59)))).is_ok(), "clocks differ a little");
        let mut several = with("aud", json!(["others", "us"]));
        several["azp"] = json!("us");
        assert!(read(&token(1, &head, &several)).is_ok());
    }

    #[test]
    fn an_address_counts_only_when_the_provider_says_that_it_is_theirs() {
        let claims = |more: Value| {
            let token = json!({"sub": "1", "email": "Ada@Acme.example"});
            Claims::of(&token, Some(&more), "groups")
        };
        assert_eq!(claims(json!({"sub": "1"})).email, None);
        assert_eq!(claims(json!({"sub": "1", "email_verified": true})).email, None, "of which address?");
        let vouched = json!({"sub": "1", "email": "Ada@New.example", "email_verified": true, "groups": ["a", 7, "b"]});
        let theirs = claims(vouched);
        assert_eq!(theirs.email.unwrap().as_str(), "ada@new.example");
        assert_eq!(theirs.groups, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        let of_another = claims(json!({"sub": "2", "email": "x@y.example", "email_verified": true, "groups": ["a"]}));
        assert_eq!((of_another.email, of_another.groups.len()), (None, 0));
    }
}
