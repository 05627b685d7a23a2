//! Who is at the other end of a connection: read once, from the certificate that the TLS library has checked against the
//! authority, and from nothing else.

use model::{NodeId, Timestamp};
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;

use crate::{authority::Authority, authz::token::hex};

/// A node, as its certificate names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) node_id: NodeId,
    /// The certificate's serial number in hexadecimal.
    pub(super) serial: String,
    /// The node's key in hexadecimal.
    pub(super) public_key: String,
    /// Until when the certificate is good. A connection may outlive it.
    pub(super) not_after: Timestamp,
}

impl Peer {
    /// Reads a certificate that the authority signed. None when it does not name a node of this trust domain.
    pub(super) fn read(authority: &Authority, certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, read) = x509_parser::parse_x509_certificate(certificate).ok()?;
        let names = &read.subject_alternative_name().ok()??.value.general_names;
        let [GeneralName::URI(identity)] = names.as_slice() else { return None };
        let (_, node_id) = identity.rsplit_once('/')?;
        let node_id: NodeId = node_id.parse().ok()?;
        if authority.identity(&node_id) != *identity {
            return None;
        }
        let not_after = read.validity().not_after.timestamp();
        Some(Self {
            node_id,
            serial: hex(read.raw_serial()),
            public_key: hex(&read.public_key().subject_public_key.data),
            not_after: Timestamp::from_micros(not_after.saturating_mul(1_000_000)),
        })
    }
}
