//! Whom the agent believes to be the control plane: whoever shows a certificate that the pinned authority has signed.
//!
//! The pin is the SHA-256 of the authority's certificate, given by the operator together with the token. The server shows
//! the authority's certificate in the handshake, so a host that has nothing but the pin can already check everything.

use rustls::{
    CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr, sync::Arc};

/// The SHA-256 of an authority's certificate, in DER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AuthorityPin([u8; 32]);

impl AuthorityPin {
    /// Of this certificate.
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for AuthorityPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::hex::encode(&self.0))
    }
}

/// The text is no such sum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected the authority's SHA-256: 64 hexadecimal digits")]
pub struct NotAPin;

impl FromStr for AuthorityPin {
    type Err = NotAPin;

    fn from_str(text: &str) -> Result<Self, NotAPin> {
        crate::hex::decode(text).map(Self).ok_or(NotAPin)
    }
}

impl TryFrom<String> for AuthorityPin {
    type Error = NotAPin;
    fn try_from(text: String) -> Result<Self, NotAPin> {
        text.parse()
    }
}

impl From<AuthorityPin> for String {
    fn from(pin: AuthorityPin) -> Self {
        pin.to_string()
    }
}

/// Checks a server's certificate against one authority.
#[derive(Debug)]
pub struct PinnedAuthority {
    pin: AuthorityPin,
    provider: Arc<CryptoProvider>,
}

impl PinnedAuthority {
    /// For this authority.
    pub fn new(pin: AuthorityPin, provider: Arc<CryptoProvider>) -> Self {
        Self { pin, provider }
    }
}

impl ServerCertVerifier for PinnedAuthority {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        shown: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let authority = shown.iter().find(|shown| AuthorityPin::of(shown) == self.pin);
        let authority = authority.ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone())
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        verifier.verify_server_cert(end_entity, shown, server_name, ocsp, now)
    }

    // Only TLS 1.3 is offered.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken here".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    use std::time::Duration;

    struct Authority(CertifiedIssuer<'static, KeyPair>);

    impl Authority {
        fn new() -> Self {
            let mut params = CertificateParams::new(vec![]).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
        }
        fn signs(&self, name: &str) -> CertificateDer<'static> {
            let key = KeyPair::generate().unwrap();
            CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap().der().clone()
        }
        fn der(&self) -> CertificateDer<'static> {
            self.0.der().clone()
        }
    }

    fn verdict(pin: AuthorityPin, shown: &[CertificateDer<'static>], name: &str) -> Result<(), Error> {
        let verifier = PinnedAuthority::new(pin, Arc::new(rustls::crypto::ring::default_provider()));
        // Generated certificates are good from 1975 to 4096.
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(&shown[0], &shown[1..], &name, &[], now).map(|_| ())
    }

    #[test]
    fn only_what_the_pinned_authority_signed_for_the_name_is_believed() {
        let (ours, other) = (Authority::new(), Authority::new());
        let pin = AuthorityPin::of(&ours.der());
        assert_eq!(verdict(pin, &[ours.signs("control.test"), ours.der()], "control.test"), Ok(()));
        let unknown = Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert_eq!(verdict(pin, &[other.signs("control.test"), other.der()], "control.test"), unknown);
        assert_eq!(verdict(pin, &[ours.signs("control.test")], "control.test"), unknown);
        // Showing the right authority beside a certificate of another does not help.
        let mixed = verdict(pin, &[other.signs("control.test"), ours.der(), other.der()], "control.test");
        assert!(matches!(mixed, Err(Error::InvalidCertificate(_))), "{mixed:?}");
        let misnamed = verdict(pin, &[ours.signs("control.test"), ours.der()], "elsewhere.test");
        assert!(matches!(misnamed, Err(Error::InvalidCertificate(_))), "{misnamed:?}");
    }

    #[test]
    fn a_pin_reads_back_and_nothing_else_is_one() {
        let pin = AuthorityPin::of(&Authority::new().der());
        assert_eq!(pin.to_string().parse::<AuthorityPin>(), Ok(pin));
        assert_eq!(pin.to_string().to_uppercase().parse::<AuthorityPin>(), Ok(pin));
        for text in ["", "ab", &"g".repeat(64), &"a".repeat(63), &"é".repeat(32)] {
            assert_eq!(text.parse::<AuthorityPin>(), Err(NotAPin), "{text}");
        }
        assert!(("+f".to_owned() + &"0".repeat(62)).parse::<AuthorityPin>().is_err());
    }
}
