//! Public keys of a project: who may sign in to its guests. A key never changes; it is added and removed. What was launched
//! with a key keeps a copy of it, so removing one does not reach into guests that run.

use model::event::{Change as What, Noun};
use model::text::Slug;
use model::{ProjectId, SshKeyId, TenantId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_membership};
use crate::{Row, StoreError, Tx};

/// One public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshKeyRow {
    /// Its id.
    pub id: SshKeyId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// Its name, unique in the project.
    pub name: Slug,
    /// The key in one line.
    pub public_key: String,
    /// SHA-256 of the key, unique in the project.
    pub fingerprint: String,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was added.
    pub created: Timestamp,
}

impl SshKeyRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::SshKey, what, self.id.as_str(), self.version + 1)
            .within(Some(&self.tenant_id), Some(&self.project_id))
    }
}

/// A key to add.
#[derive(Debug, Clone, Copy)]
pub struct SshKeyNew<'a> {
    /// Its id.
    pub id: &'a SshKeyId,
    /// Whose it is.
    pub tenant_id: &'a TenantId,
    /// In which project.
    pub project_id: &'a ProjectId,
    /// Its name.
    pub name: &'a Slug,
    /// The key in one line.
    pub public_key: &'a str,
    /// SHA-256 of the key.
    pub fingerprint: &'a str,
}

macro_rules! selected {
    () => {
        "SELECT k.id, k.tenant_id, k.project_id, k.name, k.public_key, k.fingerprint, k.version, k.created_us \
         FROM ssh_keys k"
    };
}

const INSERT: &str = "INSERT INTO ssh_keys (id, tenant_id, project_id, name, public_key, fingerprint, version, created_us) \
    VALUES ($1, $2, $3, $4, $5, $6, 1, $7)";
const GET: &str = concat!(selected!(), " WHERE k.id = $1");
const GET_SCOPED: &str =
    concat!(selected!(), " WHERE k.id = $1 AND ", opened_by_membership!("k.tenant_id", "k.project_id", "$2", "$3"));
const OF_PROJECT: &str = concat!(selected!(), " WHERE k.project_id = $3 AND k.id > $1 ORDER BY k.id LIMIT $2");
const COUNT: &str = "SELECT COUNT(*) FROM ssh_keys WHERE project_id = $1";
const DELETE: &str = "DELETE FROM ssh_keys WHERE id = $1 AND version = $2";

fn read(row: &Row) -> Result<SshKeyRow, StoreError> {
    Ok(SshKeyRow {
        id: row.parse(0)?,
        tenant_id: row.parse(1)?,
        project_id: row.parse(2)?,
        name: row.parse(3)?,
        public_key: row.text(4)?.to_owned(),
        fingerprint: row.text(5)?.to_owned(),
        version: row.int(6)?,
        created: row.timestamp(7)?,
    })
}

/// Adds a key. A name or a key that the project has already is a `UniqueViolation`.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: SshKeyNew<'_>) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.tenant_id.into(),
        new.project_id.into(),
        new.name.as_str().into(),
        new.public_key.into(),
        new.fingerprint.into(),
        stamp.now.into(),
    ];
    let change =
        Change::of(Noun::SshKey, What::Created, new.id.as_str(), 1).within(Some(new.tenant_id), Some(new.project_id));
    record::created(tx, stamp, INSERT, &params, change)
}

/// One key, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &SshKeyId) -> Result<Option<SshKeyRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One key, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &SshKeyId) -> Result<Option<SshKeyRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// The keys of a project in id order.
pub fn of_project(tx: &mut Tx<'_>, project_id: &ProjectId, page: Page<'_>) -> Result<Vec<SshKeyRow>, StoreError> {
    tx.query(OF_PROJECT, &[page.after.into(), page.rows().into(), project_id.into()])?.iter().map(read).collect()
}

/// How many keys a project has.
pub fn count(tx: &mut Tx<'_>, project_id: &ProjectId) -> Result<i64, StoreError> {
    tx.query_one(COUNT, &[project_id.into()])?.int(0)
}

/// Removes a key.
pub fn delete(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, key: &SshKeyRow) -> Result<(), StoreError> {
    let params = [(&key.id).into(), key.version.into()];
    record::changed(tx, stamp, DELETE, &params, key.change(What::Deleted)).map(drop)
}
