//! TLS 1.3 with the authority at both ends. A client may come without a certificate, since that is how a host enrolls; who
//! shows one must hold one that the authority signed. Sessions are resumed by ticket, so that a fleet that comes back after a
//! short break does not pay for every handshake in full.

use std::sync::{Arc, Mutex, PoisonError};

use model::Timestamp;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier},
    sign::CertifiedKey,
};

use super::AgentsError;
use crate::{
    Ports,
    authority::{Authority, SERVER_CERTIFICATE_S},
};

/// The settings of every connection.
pub(super) fn config(
    authority: &Arc<Authority>,
    names: &[String],
    ports: &Ports,
) -> Result<Arc<ServerConfig>, AgentsError> {
    let provider = Arc::new(ring::default_provider());
    let cannot = |error: &dyn std::fmt::Display| AgentsError::Tls(error.to_string());
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate().clone()).map_err(|error| cannot(&error))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = verifier.allow_unauthenticated().build().map_err(|error| cannot(&error))?;
    let own = OwnCertificate::new(authority, names, ports, &provider)?;
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
    let builder = builder.map_err(|error| cannot(&error))?;
    let mut config = builder.with_client_cert_verifier(verifier).with_cert_resolver(Arc::new(own));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = ring::Ticketer::new().map_err(|error| cannot(&error))?;
    config.send_tls13_tickets = 1;
    Ok(Arc::new(config))
}

/// The door's own certificate, made anew before it ends: the process may live longer than it.
struct OwnCertificate {
    authority: Arc<Authority>,
    names: Vec<String>,
    ports: Ports,
    provider: Arc<CryptoProvider>,
    current: Mutex<(Arc<CertifiedKey>, Timestamp)>,
}

impl std::fmt::Debug for OwnCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnCertificate").field("names", &self.names).finish_non_exhaustive()
    }
}

impl OwnCertificate {
    fn new(
        authority: &Arc<Authority>,
        names: &[String],
        ports: &Ports,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, AgentsError> {
        let (authority, names, ports) = (Arc::clone(authority), names.to_vec(), ports.clone());
        let first = (Arc::new(make(&authority, &names, &ports, provider)?), ports.now());
        Ok(Self { authority, names, ports, provider: Arc::clone(provider), current: Mutex::new(first) })
    }
}

fn make(
    authority: &Authority,
    names: &[String],
    ports: &Ports,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, AgentsError> {
    let (chain, key) = authority.sign_server(names, ports)?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| AgentsError::Tls(error.to_string()))
}

impl ResolvesServerCert for OwnCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.ports.now();
        if now >= current.1.plus_seconds(SERVER_CERTIFICATE_S / 2) {
            match make(&self.authority, &self.names, &self.ports, &self.provider) {
                Ok(fresh) => *current = (Arc::new(fresh), now),
                Err(error) => tracing::error!(%error, "the agents' door could not get a new certificate"),
            }
        }
        Some(Arc::clone(&current.0))
    }
}
