//! How a host becomes a node, and how a node keeps its identity.
//!
//! Enrolling is one transaction: the token is used, the node is there (or has its new key, and its old certificates are
//! worth nothing), its certificate is on record, and the audit trail says so; or nothing of it has happened. A token works
//! once, whoever is how quick. A try with a token that is known and does not work leaves a row in the audit trail, since an
//! operator may want to know who tries; one a minute for each token.
//!
//! A renewal carries the same key and is always held against the store.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use api::{
    Code, Problem,
    node_plane::{EnrollAnswer, EnrollRequest, HEARTBEAT_S, RenewAnswer, RenewRequest},
};
use model::{AuditId, EnrollmentTokenId, NodeId, Timestamp, supply::IncidentKind};
use store::{
    Db, Stamp, StoreError, Tx,
    audit::{self, AuditRow},
    certificates,
    enrollment::{self, EnrollmentTokenRow},
    nodes::{self, NodeNew, NodeRow},
    pools,
};

use super::peer::Peer;
use crate::{
    Ports,
    authority::{Authority, AuthorityFault, NodeCertificate, NodeRequest},
    authz::token::Secret,
};

/// Why a host was not let in, or a certificate not renewed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The host is told this; a token that is known is named for the audit trail.
    Refused(Code, String, Option<EnrollmentTokenId>),
    /// It used an identity that was revoked.
    Revoked,
    /// The store's trouble, or ours.
    Store(StoreError),
    /// The authority did not sign.
    Authority(AuthorityFault),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    fn enrollment(token: Option<&EnrollmentTokenId>, why: impl Into<String>) -> Self {
        Self::Refused(Code::EnrollmentRefused, why.into(), token.cloned())
    }
    fn identity(why: &str) -> Self {
        Self::Refused(Code::NodeIdentityRefused, why.to_owned(), None)
    }

    /// What the agent is told.
    pub(super) fn into_problem(self) -> Problem {
        match self {
            Self::Refused(code, why, _) => Problem::new(code, why),
            Self::Revoked => Problem::new(Code::NodeIdentityRefused, "The certificate was revoked."),
            Self::Store(error) => crate::front_door::Refusal::from(error).into_problem(),
            Self::Authority(error) => {
                tracing::error!(%error, "the authority did not sign");
                crate::front_door::internal()
            }
        }
    }
}

/// What enrolling came to.
#[derive(Debug, Clone)]
pub(super) struct Enrolled {
    pub(super) answer: EnrollAnswer,
    /// The node was there before, with another key.
    pub(super) again: bool,
}

/// Lets hosts in.
#[derive(Debug)]
pub(super) struct Registrar {
    db: Db,
    ports: Ports,
    authority: std::sync::Arc<Authority>,
    refused: Mutex<HashMap<EnrollmentTokenId, Timestamp>>,
}

/// How often two that enroll at the same moment may get in each other's way.
const RACES_MAX: u32 = 8;
const VERSION_LETTERS_MAX: usize = 64;
const SERIAL_LETTERS_MAX: usize = 128;
const NO_REQUEST: &str = "The certificate request cannot be used.";

impl Registrar {
    pub(super) fn new(db: Db, ports: Ports, authority: std::sync::Arc<Authority>) -> Self {
        Self { db, ports, authority, refused: Mutex::default() }
    }

    /// Lets a host in. Blocks.
    pub(super) fn enroll(&self, request: &EnrollRequest) -> Result<Enrolled, Fault> {
        let done = self.try_enroll(request);
        if let Err(Fault::Refused(_, why, token)) = &done {
            tracing::warn!(token = token.as_ref().map(tracing::field::display), why, "a host was not let in");
            if let Some(token) = token {
                self.note_refused(token, why);
            }
        }
        done
    }

    fn try_enroll(&self, request: &EnrollRequest) -> Result<Enrolled, Fault> {
        let unknown = || Fault::enrollment(None, "The token is not known here.");
        let secret_hash = Secret::parse_enrollment(&request.secret).ok_or_else(unknown)?.hash();
        // Strangers must not keep the writer busy.
        let hash = secret_hash.clone();
        let known = self.db.read(move |tx| enrollment::find_by_hash(tx, &hash))?.ok_or_else(unknown)?;
        let bad = |fault| match fault {
            AuthorityFault::Request(why) => Fault::enrollment(Some(&known.id), format!("{NO_REQUEST} Because {why}.")),
            other => Fault::Authority(other),
        };
        let host = Host {
            secret_hash,
            request: NodeRequest::read(&request.csr_pem).map_err(bad)?,
            serial: request.hardware_serial.as_deref().and_then(meaningful),
            version: shown(&request.agent_version, VERSION_LETTERS_MAX),
        };
        let mut races = 0;
        loop {
            let (host, ports, authority) = (host.clone(), self.ports.clone(), self.authority.clone());
            let done = self.db.write(move |tx| {
                let mut bits = || ports.id_bits();
                host.enter(tx, &mut Stamp::new(ports.now(), &mut bits), &authority, &ports)
            });
            match done {
                // Two hosts took the same number, or the same token; the next try sees what the other one did.
                Err(Fault::Store(StoreError::UniqueViolation { .. } | StoreError::StaleVersion))
                    if races < RACES_MAX =>
                {
                    races += 1;
                }
                done => return done,
            }
        }
    }

    /// Gives a node its next certificate. Blocks.
    pub(super) fn renew(&self, peer: &Peer, request: &RenewRequest) -> Result<RenewAnswer, Fault> {
        let asked = NodeRequest::read(&request.csr_pem).map_err(|fault| match fault {
            AuthorityFault::Request(why) => Fault::identity(&format!("{NO_REQUEST} Because {why}.")),
            other => Fault::Authority(other),
        })?;
        let version = shown(&request.agent_version, VERSION_LETTERS_MAX);
        let (peer, ports, authority) = (peer.clone(), self.ports.clone(), self.authority.clone());
        let certificate = self.db.write(move |tx| {
            let known = certificates::get(tx, &peer.serial)?.filter(|known| known.node_id == peer.node_id);
            let known = known.ok_or_else(|| Fault::identity("The certificate is not on record."))?;
            if known.revoked.is_some() {
                return Err(Fault::Revoked);
            }
            let node = nodes::get(tx, &peer.node_id)?.ok_or_else(|| Fault::identity("There is no such node."))?;
            if node.public_key != peer.public_key || node.public_key != asked.public_key() {
                return Err(Fault::identity("The request is for another key than the node's; enroll the host again."));
            }
            if node.agent_version != version {
                nodes::set_agent_version(tx, &node.id, &version)?;
            }
            let signed = authority.sign_node(&asked, &node.id, &ports).map_err(Fault::Authority)?;
            certificates::insert(tx, &signed.serial, &node.id, signed.not_after, ports.now())?;
            Ok(signed)
        })?;
        let NodeCertificate { pem, not_after, .. } = certificate;
        let authority_pem = self.authority.pem().to_owned();
        Ok(RenewAnswer { certificate_pem: pem, authority_pem, not_after, heartbeat_s: HEARTBEAT_S })
    }

    /// Writes down that somebody tried with a token that did not work.
    fn note_refused(&self, token: &EnrollmentTokenId, why: &str) {
        let now = self.ports.now();
        {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            let recent = |at: &Timestamp| now >= *at && now < at.plus_seconds(60);
            refused.retain(|_, at| recent(at));
            if refused.contains_key(token) {
                return;
            }
            refused.insert(token.clone(), now);
        }
        let (ports, token, why) = (self.ports.clone(), token.clone(), why.to_owned());
        let noted = self.db.write(move |tx| {
            let mut bits = || ports.id_bits();
            let mut stamp = Stamp::new(now, &mut bits);
            let body = serde_json::json!({ "why": why });
            let row = audited(&mut stamp, &token, "node_enroll_refused", token.as_str(), body);
            audit::append(tx, &row)
        });
        if let Err(error) = noted {
            tracing::warn!(%error, "a refused enrollment could not be written down");
        }
    }
}

/// The incident that goes with a fault, if there is one.
pub(super) fn incident(fault: &Fault) -> Option<(IncidentKind, &'static str)> {
    match fault {
        Fault::Revoked => Some((IncidentKind::RevokedIdentity, "It asked for a new certificate with a revoked one.")),
        _ => None,
    }
}

fn audited(
    stamp: &mut Stamp<'_>,
    token: &EnrollmentTokenId,
    action: &str,
    subject: &str,
    body: serde_json::Value,
) -> AuditRow {
    let id = AuditId::from_parts(stamp.now, stamp.bits());
    AuditRow {
        request_id: id.to_string(),
        id,
        actor: format!("enrollment:{token}"),
        token_id: None,
        action: action.to_owned(),
        subject: subject.to_owned(),
        tenant_id: None,
        body: body.to_string(),
        at: stamp.now,
    }
}

/// A host that wants to come in.
#[derive(Debug, Clone)]
struct Host {
    secret_hash: String,
    request: NodeRequest,
    serial: Option<String>,
    version: String,
}

impl Host {
    fn enter(
        &self,
        tx: &mut Tx<'_>,
        stamp: &mut Stamp<'_>,
        authority: &Authority,
        ports: &Ports,
    ) -> Result<Enrolled, Fault> {
        let token = enrollment::find_by_hash(tx, &self.secret_hash)?;
        let token = token.ok_or_else(|| Fault::enrollment(None, "The token is not known here."))?;
        let refuse = |why: &str| Fault::enrollment(Some(&token.id), why);
        if let Some(why) = spent(&token, stamp.now) {
            return Err(refuse(why));
        }
        let before = nodes::by_name(tx, &token.node_name)?;
        self.check_serial(tx, &token, before.as_ref())?;
        let handed_over = before.as_ref().is_some_and(|node| node.handed_over.is_some());
        if let Some(why) = crate::providers::token_fault(tx, &token, before.as_ref().map(|node| &node.id), handed_over)?
        {
            return Err(refuse(why));
        }
        let key = self.request.public_key();
        let holder = nodes::by_public_key(tx, &key)?;
        if holder.is_some_and(|holder| before.as_ref().is_none_or(|node| node.id != holder.id)) {
            return Err(refuse("The key belongs to another node."));
        }
        let again = before.is_some();
        let node_id = match before {
            Some(node) if node.pool_id != token.pool_id => return Err(refuse("The node is in another pool.")),
            Some(node) => {
                let serial = self.serial.as_deref().or(node.hardware_serial.as_deref());
                nodes::set_identity(tx, stamp, &node, &key, serial)?;
                certificates::revoke_of_node(tx, &node.id, stamp.now)?;
                node.id
            }
            None => self.insert(tx, stamp, &token, &key)?,
        };
        nodes::set_agent_version(tx, &node_id, &self.version)?;
        enrollment::spend(tx, stamp, &token, &node_id)?;
        let signed = authority.sign_node(&self.request, &node_id, ports).map_err(Fault::Authority)?;
        certificates::insert(tx, &signed.serial, &node_id, signed.not_after, stamp.now)?;
        let body = serde_json::json!({
            "node_name": token.node_name, "again": again, "hardware_serial": self.serial,
            "certificate": signed.serial, "public_key": key,
        });
        let row = audited(stamp, &token.id, "node_enroll", node_id.as_str(), body);
        audit::append(tx, &row)?;
        let answer = EnrollAnswer {
            node_id,
            certificate_pem: signed.pem,
            authority_pem: authority.pem().to_owned(),
            not_after: signed.not_after,
            heartbeat_s: HEARTBEAT_S,
        };
        Ok(Enrolled { answer, again })
    }

    /// The token, the node that it names, and every other node may have something to say about the mainboard.
    fn check_serial(&self, tx: &mut Tx<'_>, token: &EnrollmentTokenRow, before: Option<&NodeRow>) -> Result<(), Fault> {
        let refuse = |why: &str| Fault::enrollment(Some(&token.id), why);
        let wanted = token.hardware_serial.as_ref().or(before.and_then(|node| node.hardware_serial.as_ref()));
        match (wanted, &self.serial) {
            (Some(_), None) => return Err(refuse("The host does not say its serial number, and one is asked for.")),
            (Some(wanted), Some(given)) if wanted != given => {
                return Err(refuse("The host has another serial number than the one asked for."));
            }
            _ => {}
        }
        let Some(given) = &self.serial else { return Ok(()) };
        let owner = nodes::by_hardware_serial(tx, given)?;
        if owner.is_some_and(|owner| before.is_none_or(|node| node.id != owner.id)) {
            return Err(refuse("The serial number belongs to another node."));
        }
        Ok(())
    }

    fn insert(
        &self,
        tx: &mut Tx<'_>,
        stamp: &mut Stamp<'_>,
        token: &EnrollmentTokenRow,
        key: &str,
    ) -> Result<NodeId, Fault> {
        let pool = pools::get(tx, &token.pool_id)?.ok_or(StoreError::NotFound)?;
        let id = NodeId::from_parts(stamp.now, stamp.bits());
        let new = NodeNew {
            id: &id,
            pool_id: &pool.id,
            name: &token.node_name,
            gpu_model: pool.gpu_model,
            public_key: key,
            // What the board can be cut into is known after the first discovery.
            partitions: "null",
            hardware_serial: self.serial.as_deref(),
            profiles: "[]",
            promoted: None,
        };
        nodes::insert(tx, stamp, new)?;
        Ok(id)
    }
}

fn spent(token: &EnrollmentTokenRow, now: Timestamp) -> Option<&'static str> {
    if token.used.is_some() {
        Some("The token was used already.")
    } else if token.revoked.is_some() {
        Some("The token was taken back.")
    } else if now >= token.expires {
        Some("The token has expired.")
    } else {
        None
    }
}

fn shown(text: &str, letters_max: usize) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(letters_max).collect()
}

/// A serial number that tells hosts apart. Many boards come with a text that their maker forgot to fill in.
fn meaningful(text: &str) -> Option<String> {
    const FILLERS: &[&str] = &[
        "to be filled by o.e.m.",
        "default string",
        "not specified",
        "not applicable",
        "system serial number",
        "none",
        "n/a",
        "unknown",
        "0123456789",
        "invalid",
        "empty",
    ];
    let text = shown(text, SERIAL_LETTERS_MAX);
    let filler = FILLERS.contains(&text.to_ascii_lowercase().as_str());
    let blank = text.chars().all(|c| matches!(c, '0' | '.' | '-' | ' ' | 'x' | 'X'));
    if filler || blank { None } else { Some(text) }
}

#[cfg(test)]
mod tests {
    use super::meaningful;

    #[test]
    fn a_serial_that_its_maker_forgot_is_none() {
        assert_eq!(meaningful(" S4X7\n").as_deref(), Some("S4X7"));
        for filler in ["", "  ", "To Be Filled By O.E.M.", "0000000", "00-00", "None", "Default string"] {
            assert_eq!(meaningful(filler), None, "{filler:?}");
        }
    }
}
