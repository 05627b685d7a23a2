//! Who somebody is at an identity provider, and what the provider's groups gave them here. An account at a provider is its
//! issuer and its subject together, and is one person's for good; addresses and names may move on.

use model::identity::PlatformRole;
use model::{MemberId, PrincipalId, Timestamp};

use crate::{Row, StoreError, Tx};

/// One person's account at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityRow {
    /// Whose it is.
    pub principal_id: PrincipalId,
    /// The role over the platform that rules gave.
    pub platform_role: Option<PlatformRole>,
}

const INSERT: &str = "INSERT INTO external_identities (issuer, subject, principal_id, created_us, seen_us) \
    VALUES ($1, $2, $3, $4, $4)";
const FIND: &str = "SELECT principal_id, platform_role FROM external_identities WHERE issuer = $1 AND subject = $2";
const OF_PRINCIPAL: &str = "SELECT COUNT(*) FROM external_identities WHERE principal_id = $1 AND issuer = $2";
const SEEN: &str = "UPDATE external_identities SET platform_role = $3, seen_us = $4 WHERE issuer = $1 AND subject = $2";
const RULE_MEMBER: &str = "INSERT INTO ruled_members (member_id, principal_id) VALUES ($1, $2)";
const RULED: &str = "SELECT r.member_id FROM ruled_members r JOIN members b ON b.id = r.member_id \
    WHERE r.principal_id = $1 AND b.removed_us IS NULL ORDER BY r.member_id";

/// Records that an account at a provider is this person's.
pub fn insert(
    tx: &mut Tx<'_>,
    (issuer, subject): (&str, &str),
    principal_id: &PrincipalId,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute_one(INSERT, &[issuer.into(), subject.into(), principal_id.into(), now.into()])
}

/// Whose account it is.
pub fn find(tx: &mut Tx<'_>, (issuer, subject): (&str, &str)) -> Result<Option<IdentityRow>, StoreError> {
    let read = |row: &Row| Ok(IdentityRow { principal_id: row.parse(0)?, platform_role: row.opt_parse(1)? });
    tx.query_opt(FIND, &[issuer.into(), subject.into()])?.as_ref().map(read).transpose()
}

/// Whether a person has an account at this provider already.
pub fn has_one(tx: &mut Tx<'_>, principal_id: &PrincipalId, issuer: &str) -> Result<bool, StoreError> {
    Ok(tx.query_one(OF_PRINCIPAL, &[principal_id.into(), issuer.into()])?.int(0)? > 0)
}

/// Notes that somebody came in with this account, and which role over the platform rules gave them.
pub fn seen(
    tx: &mut Tx<'_>,
    (issuer, subject): (&str, &str),
    platform_role: Option<PlatformRole>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let role = platform_role.map(PlatformRole::as_str);
    tx.execute_one(SEEN, &[issuer.into(), subject.into(), role.into(), now.into()])
}

/// Notes that rules gave a membership.
pub fn rule_member(tx: &mut Tx<'_>, member_id: &MemberId, principal_id: &PrincipalId) -> Result<(), StoreError> {
    tx.execute_one(RULE_MEMBER, &[member_id.into(), principal_id.into()])
}

/// The memberships in force that rules gave somebody.
pub fn ruled_members(tx: &mut Tx<'_>, principal_id: &PrincipalId) -> Result<Vec<MemberId>, StoreError> {
    tx.query(RULED, &[principal_id.into()])?.iter().map(|row| row.parse(0)).collect()
}
