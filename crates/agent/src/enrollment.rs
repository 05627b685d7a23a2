//! Becoming a node, and staying one: a one-time token is traded for a certificate, and the certificate for the next one
//! before it ends. Whatever comes back is checked before it is kept.

use crate::{
    state::{Enrolled, StateDir, StateFault, token_sha256},
    wire::{
        CallFault, Client,
        address::ServerAddress,
        credential::{Credential, CredentialFault, certificate},
        trust::AuthorityPin,
    },
};
use api::node_plane::{ENROLL_PATH, EnrollAnswer, EnrollRequest, RENEW_PATH, RenewAnswer, RenewRequest};
use std::time::Duration;

/// Why there is no identity, or no new certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnrollFault {
    /// The control plane was not reached, or said no.
    #[error(transparent)]
    Call(#[from] CallFault),
    /// It could not be kept.
    #[error(transparent)]
    State(#[from] StateFault),
    /// What came back is not for this node.
    #[error("the control plane answered with an identity that cannot be used: {0}")]
    Unusable(String),
}

impl From<CredentialFault> for EnrollFault {
    fn from(fault: CredentialFault) -> Self {
        Self::Unusable(fault.to_string())
    }
}

/// The shortest and the longest time between two heartbeats that is accepted.
pub const HEARTBEAT_S: std::ops::RangeInclusive<u32> = 1..=60;

/// Trades a token for an identity and keeps it.
pub async fn enroll(
    state: &StateDir,
    server: &ServerAddress,
    pin: AuthorityPin,
    token: &str,
    hardware_serial: Option<String>,
) -> Result<Enrolled, EnrollFault> {
    let key = state.enrolling_key(token)?;
    let request = EnrollRequest {
        secret: token.to_owned(),
        csr_pem: key.request_pem()?,
        hardware_serial,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let answer: EnrollAnswer = Client::new(server, pin, None)?.post(ENROLL_PATH, &request, Duration::ZERO).await?;
    authority_checked(&answer.authority_pem, pin)?;
    let credential = Credential::new(key, &answer.certificate_pem)?;
    if *credential.node_id() != answer.node_id {
        return Err(EnrollFault::Unusable(format!(
            "the certificate names {}, the answer {}",
            credential.node_id(),
            answer.node_id
        )));
    }
    if !HEARTBEAT_S.contains(&answer.heartbeat_s) {
        return Err(EnrollFault::Unusable(format!("a heartbeat every {} s", answer.heartbeat_s)));
    }
    let enrolled = Enrolled {
        node_id: answer.node_id,
        key: credential.key().to_hex(),
        certificate_pem: answer.certificate_pem,
        authority_sha256: pin,
        token_sha256: token_sha256(token),
        heartbeat_s: answer.heartbeat_s,
    };
    state.keep(&enrolled)?;
    Ok(enrolled)
}

/// Asks for the next certificate under the present one, with the same key, and keeps it.
pub async fn renew(state: &StateDir, client: &mut Client, enrolled: &Enrolled) -> Result<Enrolled, EnrollFault> {
    let credential = enrolled.credential()?;
    let csr_pem = credential.key().request_pem()?;
    let request = RenewRequest { csr_pem, agent_version: env!("CARGO_PKG_VERSION").to_owned() };
    let answer: RenewAnswer = client.post(RENEW_PATH, &request, Duration::ZERO).await?;
    authority_checked(&answer.authority_pem, enrolled.authority_sha256)?;
    let next = Credential::new(credential.key().clone(), &answer.certificate_pem)?;
    if next.node_id() != credential.node_id() {
        return Err(EnrollFault::Unusable(format!("the new certificate names {}", next.node_id())));
    }
    if next.not_after() <= credential.not_after() {
        return Err(EnrollFault::Unusable("the new certificate ends no later than the old one".to_owned()));
    }
    let heartbeat_s = Some(answer.heartbeat_s).filter(|s| HEARTBEAT_S.contains(s)).unwrap_or(enrolled.heartbeat_s);
    let renewed = Enrolled { certificate_pem: answer.certificate_pem, heartbeat_s, ..enrolled.clone() };
    state.keep(&renewed)?;
    Ok(renewed)
}

fn authority_checked(pem: &str, pin: AuthorityPin) -> Result<(), EnrollFault> {
    if AuthorityPin::of(&certificate(pem)?) == pin {
        Ok(())
    } else {
        Err(EnrollFault::Unusable("its authority is not the pinned one".to_owned()))
    }
}
