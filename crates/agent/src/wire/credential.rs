//! The node's key and the certificate for it. One Ed25519 key is both who the node is on the wire and what signs its
//! proofs; it is made here, and only requests and signatures leave.

use ed25519_dalek::SigningKey;
use model::{NodeId, Timestamp};
use rcgen::{CertificateParams, DistinguishedName, KeyPair, PKCS_ED25519};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};
use std::fmt;
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer, X509Certificate},
};

/// Something about a key or a certificate is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CredentialFault(String);

fn fault(text: impl fmt::Display) -> CredentialFault {
    CredentialFault(text.to_string())
}

/// An Ed25519 key.
#[derive(Clone)]
pub struct NodeKey([u8; 32]);

// What stands before the 32 secret bytes of an Ed25519 key in PKCS #8 (RFC 8410).
const PKCS8_HEAD: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

impl NodeKey {
    /// A new one from the system's random bits.
    pub fn generate() -> Result<Self, CredentialFault> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(fault)?;
        Ok(Self(secret))
    }

    /// From its secret in hexadecimal.
    pub fn from_hex(text: &str) -> Result<Self, CredentialFault> {
        crate::hex::decode(text).map(Self).ok_or_else(|| fault("a key is 64 hexadecimal digits"))
    }

    /// Its secret in hexadecimal, for the file that keeps it.
    pub fn to_hex(&self) -> String {
        crate::hex::encode(&self.0)
    }

    /// Its secret bytes.
    pub fn secret(&self) -> &[u8; 32] {
        &self.0
    }

    /// The public half.
    pub fn public(&self) -> [u8; 32] {
        SigningKey::from_bytes(&self.0).verifying_key().to_bytes()
    }

    /// A request for a certificate, in PEM. It says nothing but the key: who the node is, the control plane says.
    pub fn request_pem(&self) -> Result<String, CredentialFault> {
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&self.pkcs8(), &PKCS_ED25519).map_err(fault)?;
        let mut params = CertificateParams::new(vec![]).map_err(fault)?;
        params.distinguished_name = DistinguishedName::new();
        params.serialize_request(&key).and_then(|request| request.pem()).map_err(fault)
    }

    /// As the TLS library takes it.
    pub fn to_rustls(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.pkcs8())
    }

    fn pkcs8(&self) -> PrivatePkcs8KeyDer<'static> {
        PrivatePkcs8KeyDer::from([PKCS8_HEAD.as_slice(), &self.0].concat())
    }
}

impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeKey")
    }
}

/// A key with a certificate for it.
#[derive(Debug, Clone)]
pub struct Credential {
    key: NodeKey,
    chain: Vec<CertificateDer<'static>>,
    node_id: NodeId,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl Credential {
    /// Reads a chain of certificates in PEM, the node's own first. It must be for this key and name a node.
    pub fn new(key: NodeKey, chain_pem: &str) -> Result<Self, CredentialFault> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain_pem.as_bytes()).collect();
        let chain = chain.map_err(|error| fault(format!("the certificate is no PEM: {error:?}")))?;
        let own = chain.first().ok_or_else(|| fault("there is no certificate"))?;
        let (_, own) = X509Certificate::from_der(own)
            .map_err(|error| fault(format!("the certificate cannot be read: {error}")))?;
        if own.public_key().subject_public_key.data.as_ref() != key.public() {
            return Err(fault("the certificate is for another key"));
        }
        let node_id = named(&own).ok_or_else(|| fault("the certificate names no node"))?;
        let moment = |seconds: i64| Timestamp::from_micros(seconds.saturating_mul(model::time::MICROS_PER_SECOND));
        let not_before = moment(own.validity().not_before.timestamp());
        let not_after = moment(own.validity().not_after.timestamp());
        Ok(Self { key, node_id, not_before, not_after, chain })
    }

    /// The key.
    pub fn key(&self) -> &NodeKey {
        &self.key
    }

    /// The certificates, the node's own first.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// The node it names.
    pub fn node_id(&self) -> &NodeId {
        &self.node_id
    }

    /// From when it is good.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// Until when it is good.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// When to ask for the next one: at half of its life, later by up to a tenth. `permille` is a draw from 0 to 999 that
    /// keeps hosts that were enrolled together from coming back together.
    pub fn renew_at(&self, permille: i64) -> Timestamp {
        let life = self.not_after.micros_since(self.not_before).max(0);
        self.not_before.plus_micros(life / 2 + life / 10 / 1000 * permille.clamp(0, 999))
    }
}

// `spiffe://<domain>/node/<node id>`, the only name in it.
fn named(certificate: &X509Certificate<'_>) -> Option<NodeId> {
    let names = &certificate.subject_alternative_name().ok()??.value.general_names;
    let [GeneralName::URI(uri)] = names.as_slice() else { return None };
    let (_, node) = uri.strip_prefix("spiffe://")?.split_once("/node/")?;
    node.parse().ok()
}

/// The one certificate in a PEM text.
pub fn certificate(pem: &str) -> Result<CertificateDer<'static>, CredentialFault> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| fault(format!("no certificate in PEM: {error:?}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rcgen::{CertificateSigningRequestParams, CertifiedIssuer, SanType};
    use x509_parser::{certification_request::X509CertificationRequest, pem::parse_x509_pem};

    fn signed(key: &NodeKey, uris: &[&str]) -> String {
        let authority =
            CertifiedIssuer::self_signed(CertificateParams::new(vec![]).unwrap(), KeyPair::generate().unwrap())
                .unwrap();
        let mut request = CertificateSigningRequestParams::from_pem(&key.request_pem().unwrap()).unwrap();
        request.params.subject_alt_names = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())).collect();
        request.signed_by(&authority).unwrap().pem()
    }

    fn node_id() -> NodeId {
        NodeId::from_parts(Timestamp::from_micros(1), [7; 10])
    }

    #[test]
    fn a_request_carries_the_key_and_nothing_else() {
        let key = NodeKey::generate().unwrap();
        let pem = key.request_pem().unwrap();
        let (_, pem) = parse_x509_pem(pem.as_bytes()).unwrap();
        let (_, request) = X509CertificationRequest::from_der(&pem.contents).unwrap();
        let info = &request.certification_request_info;
        assert_eq!(info.subject_pki.subject_public_key.data.as_ref(), key.public());
        assert_eq!(info.subject.to_string(), "");
        assert_eq!(NodeKey::from_hex(&key.to_hex()).unwrap().public(), key.public());
        assert!(!format!("{key:?}").contains(&key.to_hex()));
    }

    #[test]
    fn a_certificate_must_be_for_the_key_and_name_one_node() {
        let key = NodeKey::generate().unwrap();
        let uri = format!("spiffe://site/node/{}", node_id());
        let credential = Credential::new(key.clone(), &signed(&key, &[&uri])).unwrap();
        assert_eq!(credential.node_id(), &node_id());
        let other = Credential::new(NodeKey::generate().unwrap(), &signed(&key, &[&uri])).unwrap_err();
        assert_eq!(other.to_string(), "the certificate is for another key");
        for uris in
            [vec![], vec!["spiffe://site/workload/x"], vec!["https://site/node/x"], vec![uri.as_str(), uri.as_str()]]
        {
            assert!(Credential::new(key.clone(), &signed(&key, &uris)).is_err(), "{uris:?}");
        }
        for text in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert!(Credential::new(key.clone(), text).is_err());
        }
    }

    #[test]
    fn renewal_is_due_between_half_and_six_tenths_of_the_life() {
        let key = NodeKey::generate().unwrap();
        let uri = format!("spiffe://site/node/{}", node_id());
        let mut credential = Credential::new(key.clone(), &signed(&key, &[&uri])).unwrap();
        (credential.not_before, credential.not_after) =
            (Timestamp::from_micros(0), Timestamp::from_micros(100_000_000));
        assert_eq!(credential.renew_at(0).as_micros(), 50_000_000);
        assert_eq!(credential.renew_at(999).as_micros(), 59_990_000);
    }

    #[test]
    fn a_key_is_64_digits() {
        for text in ["", "00", &"0".repeat(63), &"x".repeat(64), &"é".repeat(32)] {
            assert!(NodeKey::from_hex(text).is_err(), "{text}");
        }
    }
}
