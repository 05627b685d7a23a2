//! Token secrets: 32 random bytes, written as `gpuaas_` and 43 characters of base64url, stored only as a SHA-256.
//!
//! A plain hash is enough because the secret is 256 random bits: there is nothing to guess. The prefix lets scanners of
//! leaked text find one. A secret never appears in a log: its `Debug` is blank. The secret of a one-time token that brings a
//! host in is made alike, with a prefix of its own: it opens nothing else. So is the secret of a browser's session, which only
//! ever travels in a cookie. What signs the messages of a webhook is a key and not a password: it has the form that Standard
//! Webhooks asks for, and has to be kept as it is.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use sha2::{Digest, Sha256};

use crate::Ports;

/// What every secret starts with.
pub const PREFIX: &str = "gpuaas_";
/// What every secret of an enrollment token starts with.
pub const ENROLLMENT_PREFIX: &str = "gpe_";
/// What every secret of a browser's session starts with.
pub const SESSION_PREFIX: &str = "gps_";

/// What every key that signs the messages of a webhook starts with.
pub const WEBHOOK_PREFIX: &str = "whsec_";

const BYTES: usize = 32;
const LETTERS: usize = 43;

/// The secret of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// A fresh secret.
    pub fn mint(ports: &Ports) -> Self {
        Self::minted(ports, PREFIX)
    }

    /// A fresh secret for an enrollment token.
    pub fn mint_enrollment(ports: &Ports) -> Self {
        Self::minted(ports, ENROLLMENT_PREFIX)
    }

    /// A fresh secret for a session.
    pub fn mint_session(ports: &Ports) -> Self {
        Self::minted(ports, SESSION_PREFIX)
    }

    /// A fresh key for the messages of a webhook.
    pub fn mint_webhook(ports: &Ports) -> Self {
        Self(format!("{WEBHOOK_PREFIX}{}", STANDARD.encode(random(ports))))
    }

    fn minted(ports: &Ports, prefix: &str) -> Self {
        Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random(ports))))
    }

    /// Reads what a caller sent; `None` when it cannot be a secret of ours.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parsed(text, PREFIX)
    }

    /// Reads what a host sent that wants to be enrolled.
    pub fn parse_enrollment(text: &str) -> Option<Self> {
        Self::parsed(text, ENROLLMENT_PREFIX)
    }

    /// Reads what a browser sent as its session.
    pub fn parse_session(text: &str) -> Option<Self> {
        Self::parsed(text, SESSION_PREFIX)
    }

    /// Whether it is the secret of a session.
    pub fn is_session(&self) -> bool {
        self.0.starts_with(SESSION_PREFIX)
    }

    /// What requests of a session repeat in a header, to show that a page of this site made them: no other site can read
    /// it. It follows from the secret and does not give it away.
    pub fn csrf_token(&self) -> String {
        let digest = Sha256::new().chain_update(b"gpuaas-csrf-v1\n").chain_update(self.0.as_bytes()).finalize();
        URL_SAFE_NO_PAD.encode(digest)
    }

    fn parsed(text: &str, prefix: &str) -> Option<Self> {
        let letters = text.strip_prefix(prefix)?;
        let shaped =
            letters.len() == LETTERS && URL_SAFE_NO_PAD.decode(letters).is_ok_and(|bytes| bytes.len() == BYTES);
        shaped.then(|| Self(text.to_owned()))
    }

    /// The secret itself, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored: SHA-256 in hexadecimal.
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.0.as_bytes()))
    }

    /// Seals the secret under another one and a label, so that the answer of its creation can be kept for a retry without
    /// the store knowing the secret: only a caller who presents the same `under` again can open it. The label must never
    /// be used twice under one secret.
    pub fn seal(&self, under: &Secret, label: &str) -> String {
        if let Some(letters) = self.0.strip_prefix(WEBHOOK_PREFIX) {
            let open = STANDARD.decode(letters).unwrap_or_default();
            return format!("{WEBHOOK_PREFIX}{}", STANDARD.encode(under.mask(&open, label)));
        }
        let (prefix, letters) = self.0.split_at(self.0.len().saturating_sub(LETTERS));
        let open = URL_SAFE_NO_PAD.decode(letters).unwrap_or_default();
        format!("{prefix}{}", URL_SAFE_NO_PAD.encode(under.mask(&open, label)))
    }

    /// Opens what [`Secret::seal`] made.
    pub fn unseal(sealed: &str, under: &Secret, label: &str) -> Option<Self> {
        if let Some(letters) = sealed.strip_prefix(WEBHOOK_PREFIX) {
            let closed = STANDARD.decode(letters).ok()?;
            return Some(Self(format!("{WEBHOOK_PREFIX}{}", STANDARD.encode(under.mask(&closed, label)))));
        }
        let (prefix, letters) = sealed.split_at_checked(sealed.len().checked_sub(LETTERS)?)?;
        let closed = URL_SAFE_NO_PAD.decode(letters).ok()?;
        let opened = format!("{prefix}{}", URL_SAFE_NO_PAD.encode(under.mask(&closed, label)));
        Self::parse(&opened).or_else(|| Self::parse_enrollment(&opened))
    }

    fn mask(&self, bytes: &[u8], label: &str) -> Vec<u8> {
        let key = Sha256::new().chain_update(b"gpuaas-sealed-answer-v1\n").chain_update(self.0.as_bytes());
        let key = key.chain_update(b"\n").chain_update(label.as_bytes()).finalize();
        bytes.iter().zip(key).map(|(byte, mask)| byte ^ mask).collect()
    }
}

/// Whether two texts are the same, in a time that says nothing about where they differ.
pub(crate) fn same(one: &str, other: &str) -> bool {
    // Hashes of what somebody else cannot predict: comparing them byte by byte tells nothing about the texts.
    Sha256::digest(one.as_bytes()) == Sha256::digest(other.as_bytes())
}

fn random(ports: &Ports) -> [u8; BYTES] {
    let mut bytes = [0u8; BYTES];
    ports.entropy.fill(&mut bytes);
    bytes
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_back_and_others_are_refused() {
        let secret = Secret::mint(&Ports::system());
        assert_eq!(secret.reveal().len(), PREFIX.len() + LETTERS);
        assert_eq!(Secret::parse(secret.reveal()), Some(secret.clone()));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        let other = format!("{PREFIX}{}", "A".repeat(LETTERS - 1));
        for text in ["", PREFIX, "secret", &other, &secret.reveal()[1..], &format!("{}=", secret.reveal())] {
            assert_eq!(Secret::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_sealed_secret_opens_only_under_the_same_secret_and_label() {
        let (secret, under, other) =
            (Secret::mint(&Ports::system()), Secret::mint(&Ports::system()), Secret::mint(&Ports::system()));
        let sealed = secret.seal(&under, "key/tok_1");
        assert!(!secret.reveal().contains(&sealed));
        assert_eq!(Secret::unseal(&sealed, &under, "key/tok_1"), Some(secret.clone()));
        assert_ne!(Secret::unseal(&sealed, &under, "key/tok_2"), Some(secret.clone()));
        assert_ne!(Secret::unseal(&sealed, &other, "key/tok_1"), Some(secret));
        assert_eq!(Secret::unseal("not base64!", &under, ""), None);
        let enrollment = Secret::mint_enrollment(&Ports::system());
        let sealed = enrollment.seal(&under, "key/enr_1");
        assert_eq!(Secret::unseal(&sealed, &under, "key/enr_1"), Some(enrollment.clone()));
        let signs = Secret::mint_webhook(&Ports::system());
        let sealed = signs.seal(&under, "key/whk_1");
        assert!(!sealed.contains(signs.reveal().strip_prefix(WEBHOOK_PREFIX).unwrap()));
        assert_eq!(Secret::unseal(&sealed, &under, "key/whk_1"), Some(signs.clone()));
        assert_eq!(Secret::parse(signs.reveal()), None, "a key is no token");
        assert_eq!(Secret::parse(enrollment.reveal()), None, "a host's secret is no caller's");
        assert_eq!(Secret::parse_enrollment(under.reveal()), None, "and the other way round");
    }

    #[test]
    fn a_session_is_no_token_and_its_csrf_token_is_its_own() {
        let (one, other) = (Secret::mint_session(&Ports::system()), Secret::mint_session(&Ports::system()));
        assert_eq!(Secret::parse_session(one.reveal()), Some(one.clone()));
        assert_eq!((Secret::parse(one.reveal()), Secret::parse_enrollment(one.reveal())), (None, None));
        assert!(one.is_session() && !Secret::mint(&Ports::system()).is_session());
        assert_eq!(one.csrf_token(), one.clone().csrf_token());
        assert_ne!(one.csrf_token(), other.csrf_token());
        assert!(!one.reveal().contains(&one.csrf_token()));
        assert!(same(&one.csrf_token(), &one.csrf_token()) && !same(&one.csrf_token(), &other.csrf_token()));
    }
}
