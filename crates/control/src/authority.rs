//! The authority: the key that signs every node's certificate, and the certificate of the agents' door itself. It is two
//! files in a folder that only its owner can read; all replicas share their content. Whoever holds the key can be any node,
//! so it is never sent anywhere, printed or stored in the database.
//!
//! A node's certificate lives for a day at most and says one thing: which node this key belongs to, as
//! `spiffe://TRUST-DOMAIN/node/NODE-ID`. Everything else that a certificate request asks for is ignored.

use std::{
    fs,
    io::Write as _,
    net::IpAddr,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    time::Duration,
};

use model::{NodeId, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ED25519, PublicKeyData as _, SanType,
    SerialNumber,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject as _};
use sha2::{Digest as _, Sha256};

use crate::{Ports, authz::token::hex};

/// The file with the key.
pub const KEY_FILE: &str = "authority.key";
/// The file with the certificate.
pub const CERTIFICATE_FILE: &str = "authority.pem";
/// How long a node's certificate is good, in seconds, from a little before it is given.
pub const NODE_CERTIFICATE_S: i64 = 24 * 3600;
/// How long the door's own certificate is good, in seconds.
pub(crate) const SERVER_CERTIFICATE_S: i64 = 30 * 24 * 3600;

const AUTHORITY_S: i64 = 10 * 365 * 24 * 3600;
// Clocks differ: what is given now is good from a little earlier.
const EARLIER_S: i64 = 300;
const REQUEST_LETTERS_MAX: usize = 16 * 1024;

/// Why there is no authority, or why it did not sign.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityFault {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// There is an authority already, and it must not be replaced: every node trusts it.
    #[error("{0} has an authority already")]
    Exists(String),
    /// Others can read the key.
    #[error("{0} can be read by others than its owner; accepted: mode 0600")]
    Exposed(String),
    /// The files are not an authority.
    #[error("{path} is not an authority: {why}")]
    Unusable {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// The trust domain cannot be part of an identity.
    #[error("{0:?} is no trust domain; accepted: lower-case letters, digits, dots, dashes and underscores")]
    TrustDomain(String),
    /// A certificate request that is not accepted.
    #[error("the certificate request is not accepted: {0}")]
    Request(&'static str),
    /// A name that the door's certificate cannot have.
    #[error("{0:?} is neither an address nor the name of a host")]
    Name(String),
    /// The signature could not be made.
    #[error("a certificate could not be made: {0}")]
    Signing(rcgen::Error),
}

/// A certificate that was given to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCertificate {
    /// In PEM.
    pub pem: String,
    /// Its serial number in hexadecimal.
    pub serial: String,
    /// Until when it is good.
    pub not_after: Timestamp,
}

/// A certificate request that was read: its signature holds, and its key is of the right kind.
#[derive(Debug, Clone)]
pub struct NodeRequest(rcgen::PublicKey);

impl NodeRequest {
    /// Reads a request in PEM. Only the key is taken from it.
    pub fn read(pem: &str) -> Result<Self, AuthorityFault> {
        if pem.len() > REQUEST_LETTERS_MAX {
            return Err(AuthorityFault::Request("it is longer than any honest one"));
        }
        let unreadable = |_| AuthorityFault::Request("it cannot be read, or is not signed by its own key");
        let request = CertificateSigningRequestParams::from_pem(pem).map_err(unreadable)?;
        if *request.public_key.algorithm() != PKCS_ED25519 || request.public_key.der_bytes().len() != 32 {
            return Err(AuthorityFault::Request("its key is not an Ed25519 key"));
        }
        Ok(Self(request.public_key))
    }

    /// The key, in hexadecimal.
    pub fn public_key(&self) -> String {
        hex(self.0.der_bytes())
    }
}

/// Signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    trust_domain: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("trust_domain", &self.trust_domain).finish_non_exhaustive()
    }
}

impl Authority {
    /// Makes an authority in a folder that has none. The folder is made for its owner only when it is absent.
    pub fn create(folder: &Path, ports: &Ports) -> Result<(), AuthorityFault> {
        let (key_path, certificate_path) = (folder.join(KEY_FILE), folder.join(CERTIFICATE_FILE));
        if key_path.exists() || certificate_path.exists() {
            return Err(AuthorityFault::Exists(folder.display().to_string()));
        }
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| AuthorityFault::File { path: folder.display().to_string(), error })?;
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(AuthorityFault::Signing)?;
        let mut params = good_for(ports.now(), AUTHORITY_S);
        params.serial_number = Some(serial(ports));
        params.distinguished_name = named("gpuaas authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(AuthorityFault::Signing)?;
        // The certificate last: a folder that has both is whole.
        write_new(&key_path, &key.serialize_pem())?;
        write_new(&certificate_path, &certificate.pem())
    }

    /// Opens the authority of a folder. The trust domain is the first part of every identity it gives.
    pub fn open(folder: &Path, trust_domain: &str) -> Result<Self, AuthorityFault> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
        if trust_domain.is_empty() || trust_domain.len() > 255 || !trust_domain.chars().all(fits) {
            return Err(AuthorityFault::TrustDomain(trust_domain.to_owned()));
        }
        let (key_path, certificate_path) = (folder.join(KEY_FILE), folder.join(CERTIFICATE_FILE));
        let unusable = |path: &Path| {
            let path = path.display().to_string();
            move |why: String| AuthorityFault::Unusable { path, why }
        };
        let mode = fs::metadata(&key_path).map_err(in_file(&key_path))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(AuthorityFault::Exposed(key_path.display().to_string()));
        }
        let key = fs::read_to_string(&key_path).map_err(in_file(&key_path))?;
        let key = KeyPair::from_pem(&key).map_err(|error| unusable(&key_path)(error.to_string()))?;
        let pem = fs::read_to_string(&certificate_path).map_err(in_file(&certificate_path))?;
        let bad = unusable(&certificate_path);
        let certificate = match CertificateDer::from_pem_slice(pem.as_bytes()) {
            Ok(certificate) => certificate,
            Err(error) => return Err(bad(error.to_string())),
        };
        match x509_parser::parse_x509_certificate(&certificate) {
            Ok((_, read)) if *read.public_key().subject_public_key.data != *key.public_key_raw() => {
                return Err(bad("it is not the certificate of the key beside it".to_owned()));
            }
            Ok((_, read)) if !read.is_ca() => return Err(bad("it may not sign others".to_owned())),
            Ok(_) => {}
            Err(error) => return Err(bad(error.to_string())),
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|error| bad(error.to_string()))?;
        Ok(Self { issuer, certificate, pem, trust_domain: trust_domain.to_owned() })
    }

    /// Its certificate, in PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Its certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// SHA-256 of its certificate in hexadecimal: what an agent is told to trust.
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(&self.certificate))
    }

    /// The first part of every identity.
    pub fn trust_domain(&self) -> &str {
        &self.trust_domain
    }

    /// What a node's certificate calls it.
    pub fn identity(&self, node: &NodeId) -> String {
        format!("spiffe://{}/node/{node}", self.trust_domain)
    }

    /// Signs that a key is a node's.
    pub fn sign_node(
        &self,
        request: &NodeRequest,
        node: &NodeId,
        ports: &Ports,
    ) -> Result<NodeCertificate, AuthorityFault> {
        let now = ports.now();
        let mut params = good_for(now, NODE_CERTIFICATE_S);
        let serial = serial(ports);
        params.serial_number = Some(serial.clone());
        params.distinguished_name = named(node.as_str());
        let identity = self.identity(node).try_into().map_err(AuthorityFault::Signing)?;
        params.subject_alt_names = vec![SanType::URI(identity)];
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let signed = params.signed_by(&request.0, &self.issuer).map_err(AuthorityFault::Signing)?;
        let not_after = now.plus_seconds(NODE_CERTIFICATE_S - EARLIER_S);
        Ok(NodeCertificate { pem: signed.pem(), serial: hex(&serial.to_bytes()), not_after })
    }

    /// A fresh key and certificate for the door, good for these names and addresses.
    pub(crate) fn sign_server(
        &self,
        names: &[String],
        ports: &Ports,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), AuthorityFault> {
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(AuthorityFault::Signing)?;
        let mut params = good_for(ports.now(), SERVER_CERTIFICATE_S);
        params.serial_number = Some(serial(ports));
        params.distinguished_name = named("gpuaas agents' door");
        params.subject_alt_names = names.iter().map(|name| alternative(name)).collect::<Result<_, _>>()?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let signed = params.signed_by(&key, &self.issuer).map_err(AuthorityFault::Signing)?;
        // The authority goes along: an agent that enrolls knows only its hash.
        let chain = vec![signed.der().clone(), self.certificate.clone()];
        Ok((chain, PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
    }
}

fn alternative(name: &str) -> Result<SanType, AuthorityFault> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let letters = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let host = !name.is_empty() && name.len() <= 253 && name.split('.').all(|part| !part.is_empty() && letters(part));
    let wrong = || AuthorityFault::Name(name.to_owned());
    if host { name.to_owned().try_into().map(SanType::DnsName).map_err(|_| wrong()) } else { Err(wrong()) }
}

fn in_file(path: &Path) -> impl FnOnce(std::io::Error) -> AuthorityFault {
    let path = path.display().to_string();
    move |error| AuthorityFault::File { path, error }
}

fn write_new(path: &Path, text: &str) -> Result<(), AuthorityFault> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(in_file(path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(in_file(path))
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

fn good_for(now: Timestamp, seconds: i64) -> CertificateParams {
    let second = u64::try_from(now.plus_seconds(-EARLIER_S).as_micros() / 1_000_000).unwrap_or(0);
    let mut params = CertificateParams::default();
    params.not_before = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(second);
    params.not_after = params.not_before + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    params
}

/// Sixteen bytes that nobody else has; the first is neither zero nor negative, so that they stay sixteen when written.
fn serial(ports: &Ports) -> SerialNumber {
    let mut bytes = [0u8; 16];
    ports.entropy.fill(&mut bytes);
    bytes[0] = (bytes[0] & 0x3f) | 0x40;
    SerialNumber::from_slice(&bytes)
}
