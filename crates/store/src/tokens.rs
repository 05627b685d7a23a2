//! API tokens. Only a hash of the secret is stored; a token has an owner, an end, a reach, and perhaps one project that
//! it is narrowed to. Nothing here says whether a token is still good: it answers the facts, the caller compares them
//! with its clock.

use model::event::{Change as What, Noun};
use model::identity::{PlatformRole, PrincipalKind, TokenScope};
use model::{PrincipalId, ProjectId, TenantId, Timestamp, TokenId};

use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_administration};
use crate::{Row, StoreError, Tx};

/// One token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its id.
    pub id: TokenId,
    /// Who acts with it.
    pub principal_id: PrincipalId,
    /// The tenant it belongs to, where it belongs to one.
    pub tenant_id: Option<TenantId>,
    /// The project it is narrowed to.
    pub project_id: Option<ProjectId>,
    /// What its owner calls it.
    pub name: String,
    /// How far it may be used.
    pub scope: TokenScope,
    /// When it ends.
    pub expires: Timestamp,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl TokenRow {
    /// Whether the token itself still opens anything at this moment; its owner may be gone all the same.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && now < self.expires
    }
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Token, what, self.id.as_str(), self.version + 1)
            .within(self.tenant_id.as_ref(), self.project_id.as_ref())
    }
}

/// A token together with who acts with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenOwner {
    /// The token.
    pub token: TokenRow,
    /// What its owner is called.
    pub principal_name: String,
    /// A person or a program.
    pub principal_kind: PrincipalKind,
    /// The owner's role over the whole platform.
    pub platform_role: Option<PlatformRole>,
    /// When the owner was removed.
    pub principal_removed: Option<Timestamp>,
}

/// A token to record.
#[derive(Debug, Clone, Copy)]
pub struct TokenNew<'a> {
    /// Its id.
    pub id: &'a TokenId,
    /// Who acts with it.
    pub principal_id: &'a PrincipalId,
    /// The tenant it belongs to, where it belongs to one.
    pub tenant_id: Option<&'a TenantId>,
    /// The project it is narrowed to.
    pub project_id: Option<&'a ProjectId>,
    /// What its owner calls it.
    pub name: &'a str,
    /// The hash of the secret.
    pub secret_hash: &'a str,
    /// How far it may be used.
    pub scope: TokenScope,
    /// When it ends.
    pub expires: Timestamp,
}

/// Which tokens to list; every given field must match.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenFilter<'a> {
    /// Of one owner.
    pub principal_id: Option<&'a PrincipalId>,
    /// Of one tenant.
    pub tenant_id: Option<&'a TenantId>,
    /// Of one project.
    pub project_id: Option<&'a ProjectId>,
    /// Leave out what is revoked.
    pub unrevoked_only: bool,
}

macro_rules! columns {
    () => {
        "k.id, k.principal_id, k.tenant_id, k.project_id, k.name, k.scope, k.expires_us, k.revoked_us, k.version, \
         k.created_us"
    };
}
macro_rules! listed {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM tokens k WHERE k.id > $1 AND (CAST($3 AS TEXT) IS NULL OR k.principal_id = $3) ",
            "AND (CAST($4 AS TEXT) IS NULL OR k.tenant_id = $4) AND (CAST($5 AS TEXT) IS NULL OR k.project_id = $5) ",
            "AND (k.revoked_us IS NULL OR CAST($6 AS BIGINT) = 0)"
        )
    };
}
// Everybody sees their own tokens, an administrator those of the tenant; through a narrowed token, only those inside
// it.
macro_rules! opened {
    ($who:literal, $only:literal) => {
        concat!(
            "((k.principal_id = ",
            $who,
            " AND (CAST(",
            $only,
            " AS TEXT) IS NULL OR k.project_id = ",
            $only,
            " OR k.tenant_id = ",
            $only,
            ")) OR (",
            opened_by_administration!("k.tenant_id", $who, $only),
            "))"
        )
    };
}

const INSERT: &str = "INSERT INTO tokens (id, principal_id, tenant_id, project_id, name, secret_hash, scope, \
    expires_us, version, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9)";
const GET: &str = concat!("SELECT ", columns!(), " FROM tokens k WHERE k.id = $1");
const GET_SCOPED: &str = concat!("SELECT ", columns!(), " FROM tokens k WHERE k.id = $1 AND ", opened!("$2", "$3"));
macro_rules! owned {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            ", r.name, r.kind, r.platform_role, r.removed_us FROM tokens k JOIN principals r ON r.id = k.principal_id "
        )
    };
}
const BY_HASH: &str = concat!(owned!(), "WHERE k.secret_hash = $1");
const WITH_OWNER: &str = concat!(owned!(), "WHERE k.id = $1");
const LIST: &str = concat!(listed!(), " ORDER BY k.id LIMIT $2");
const LIST_SCOPED: &str = concat!(listed!(), " AND ", opened!("$7", "$8"), " ORDER BY k.id LIMIT $2");
const REVOKE: &str = "UPDATE tokens SET revoked_us = $3, version = version + 1 \
    WHERE id = $1 AND version = $2 AND revoked_us IS NULL";

fn read(row: &Row) -> Result<TokenRow, StoreError> {
    Ok(TokenRow {
        id: row.parse(0)?,
        principal_id: row.parse(1)?,
        tenant_id: row.opt_parse(2)?,
        project_id: row.opt_parse(3)?,
        name: row.text(4)?.to_owned(),
        scope: row.parse(5)?,
        expires: row.timestamp(6)?,
        revoked: row.opt_timestamp(7)?,
        version: row.int(8)?,
        created: row.timestamp(9)?,
    })
}

fn read_owner(row: &Row) -> Result<TokenOwner, StoreError> {
    Ok(TokenOwner {
        token: read(row)?,
        principal_name: row.text(10)?.to_owned(),
        principal_kind: row.parse(11)?,
        platform_role: row.opt_parse(12)?,
        principal_removed: row.opt_timestamp(13)?,
    })
}

/// Records a new token. A second token with the same hash is refused.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: TokenNew<'_>) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.principal_id.into(),
        new.tenant_id.into(),
        new.project_id.into(),
        new.name.into(),
        new.secret_hash.into(),
        new.scope.as_str().into(),
        new.expires.into(),
        stamp.now.into(),
    ];
    let change = Change::of(Noun::Token, What::Created, new.id.as_str(), 1).within(new.tenant_id, new.project_id);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One token, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &TokenId) -> Result<Option<TokenRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One token, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &TokenId) -> Result<Option<TokenRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// The token with this hash and who acts with it, live or not, in one query.
pub fn find_by_hash(tx: &mut Tx<'_>, secret_hash: &str) -> Result<Option<TokenOwner>, StoreError> {
    tx.query_opt(BY_HASH, &[secret_hash.into()])?.as_ref().map(read_owner).transpose()
}

/// A token and who acts with it, live or not, in one query.
pub fn with_owner(tx: &mut Tx<'_>, id: &TokenId) -> Result<Option<TokenOwner>, StoreError> {
    tx.query_opt(WITH_OWNER, &[id.into()])?.as_ref().map(read_owner).transpose()
}

/// Tokens in id order.
pub fn list(
    tx: &mut Tx<'_>,
    scope: &Scope,
    filter: TokenFilter<'_>,
    page: Page<'_>,
) -> Result<Vec<TokenRow>, StoreError> {
    let params = vec![
        page.after.into(),
        page.rows().into(),
        filter.principal_id.into(),
        filter.tenant_id.into(),
        filter.project_id.into(),
        filter.unrevoked_only.into(),
    ];
    let (sql, params) = scope.choose(LIST, LIST_SCOPED, params);
    tx.query(sql, &params)?.iter().map(read).collect()
}

/// Revokes a token: it opens nothing from here on.
pub fn revoke(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    token: &TokenRow,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&token.id).into(), token.version.into(), stamp.now.into()];
    record::changed(tx, stamp, REVOKE, &params, token.change(What::Deleted).because(reason))
}

/// Revokes up to `limit` tokens that match; says how many.
pub fn revoke_matching(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    filter: TokenFilter<'_>,
    reason: Option<&str>,
    limit: i64,
) -> Result<usize, StoreError> {
    let filter = TokenFilter { unrevoked_only: true, ..filter };
    let found = list(tx, &Scope::All, filter, Page::first(limit))?;
    for token in &found {
        revoke(tx, stamp, token, reason)?;
    }
    Ok(found.len())
}
