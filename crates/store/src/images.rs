//! Images and the keys that sign them. An entry is written once and never changes; where it stands does:
//!
//! ```text
//! registered ── its bytes are there ──▶ available ──▶ retired
//!      └───────────────────────────────────────────────▲
//! ```
//!
//! One image at most is the one that is launched when nobody names one, and only an available one is.

use model::event::{Change as What, Noun};
use model::image::{ImageKind, ImageSpec, ImageState};
use model::text::{Ed25519Key, ImageName};
use model::{PrincipalId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRow {
    /// Its entry, as it was signed.
    pub spec: ImageSpec,
    /// Where it stands.
    pub state: ImageState,
    /// What is launched when nobody names one.
    pub is_default: bool,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was registered.
    pub created: Timestamp,
}

/// What an image is called in events. Names of images, of keys and of other things may be the same; these are not.
fn subject(id: &str) -> String {
    format!("image/{id}")
}

fn key_subject(key_id: &str) -> String {
    format!("image_key/{key_id}")
}

/// One key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageKeyRow {
    /// Its name.
    pub key_id: ImageName,
    /// The public half, in hexadecimal.
    pub public_key: String,
    /// Who added it.
    pub added_by: String,
    /// Since when it is not trusted any more.
    pub revoked: Option<Timestamp>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was added.
    pub created: Timestamp,
}

macro_rules! selected {
    () => {
        "SELECT i.id, i.spec, i.state, i.is_default, i.version, i.created_us FROM images i"
    };
}
macro_rules! keys {
    () => {
        "SELECT k.key_id, k.public_key, k.added_by, k.revoked_us, k.version, k.created_us FROM image_keys k"
    };
}

const INSERT: &str = "INSERT INTO images (id, sha256, kind, spec, signer_key_id, state, version, created_us) \
    VALUES ($1, $2, $3, $4, $5, $6, 1, $7)";
const GET: &str = concat!(selected!(), " WHERE i.id = $1");
const LIST: &str =
    concat!(selected!(), " WHERE i.id > $1 AND (CAST($3 AS TEXT) IS NULL OR i.state = $3) ORDER BY i.id LIMIT $2");
const OF_SHA256: &str = concat!(selected!(), " WHERE i.sha256 = $1 AND i.state <> 'registered' ORDER BY i.id LIMIT 1");
const DEFAULT: &str = concat!(selected!(), " WHERE i.is_default = 1");
const AVAILABLE_OF_KIND: &str =
    concat!(selected!(), " WHERE i.state = 'available' AND i.kind = $1 ORDER BY i.id LIMIT $2");
const ENTER: &str = "UPDATE images SET state = $3, is_default = CASE WHEN $3 = 'available' THEN is_default ELSE 0 END, \
    version = version + 1 WHERE id = $1 AND version = $2";
const SET_DEFAULT: &str = "UPDATE images SET is_default = $3, version = version + 1 WHERE id = $1 AND version = $2";
const INSERT_KEY: &str = "INSERT INTO image_keys (key_id, public_key, added_by, version, created_us) \
    VALUES ($1, $2, $3, 1, $4)";
const GET_KEY: &str = concat!(keys!(), " WHERE k.key_id = $1");
const LIST_KEYS: &str = concat!(keys!(), " WHERE k.key_id > $1 ORDER BY k.key_id LIMIT $2");
const REVOKE_KEY: &str =
    "UPDATE image_keys SET revoked_us = $3, version = version + 1 WHERE key_id = $1 AND version = $2";

fn read(row: &Row) -> Result<ImageRow, StoreError> {
    Ok(ImageRow {
        spec: serde_json::from_str(row.text(1)?).map_err(|error| row.corrupt(1, &error.to_string()))?,
        state: row.parse(2)?,
        is_default: row.flag(3)?,
        version: row.int(4)?,
        created: row.timestamp(5)?,
    })
}

fn read_key(row: &Row) -> Result<ImageKeyRow, StoreError> {
    Ok(ImageKeyRow {
        key_id: row.parse(0)?,
        public_key: row.text(1)?.to_owned(),
        added_by: row.text(2)?.to_owned(),
        revoked: row.opt_timestamp(3)?,
        version: row.int(4)?,
        created: row.timestamp(5)?,
    })
}

/// Records an entry. A name that is in use is a `UniqueViolation`.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, spec: &ImageSpec) -> Result<(), StoreError> {
    let (text, state) = (json(spec)?, ImageState::Registered.as_str());
    let params = [
        spec.id.as_str().into(),
        spec.sha256.as_str().into(),
        spec.kind.as_str().into(),
        text.into(),
        spec.signer_key_id.as_str().into(),
        state.into(),
        stamp.now.into(),
    ];
    let subject = subject(&spec.id);
    let change = Change::of(Noun::Image, What::Created, &subject, 1).states(None, state);
    record::created(tx, stamp, INSERT, &params, change)
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Other(error.to_string()))
}

/// One image.
pub fn get(tx: &mut Tx<'_>, id: &ImageName) -> Result<Option<ImageRow>, StoreError> {
    tx.query_opt(GET, &[id.as_str().into()])?.as_ref().map(read).transpose()
}

/// Images by name, in one state where given.
pub fn list(tx: &mut Tx<'_>, state: Option<ImageState>, page: Page<'_>) -> Result<Vec<ImageRow>, StoreError> {
    let params = [page.after.into(), page.rows().into(), state.map(ImageState::as_str).into()];
    tx.query(LIST, &params)?.iter().map(read).collect()
}

/// An image whose bytes were brought and have this digest.
pub fn with_bytes(tx: &mut Tx<'_>, sha256: &str) -> Result<Option<ImageRow>, StoreError> {
    tx.query_opt(OF_SHA256, &[sha256.into()])?.as_ref().map(read).transpose()
}

/// The image that is launched when nobody names one.
pub fn default(tx: &mut Tx<'_>) -> Result<Option<ImageRow>, StoreError> {
    tx.query_opt(DEFAULT, &[])?.as_ref().map(read).transpose()
}

/// Images of a kind that can be launched, so many at most.
pub fn available(tx: &mut Tx<'_>, kind: ImageKind, limit: i64) -> Result<Vec<ImageRow>, StoreError> {
    tx.query(AVAILABLE_OF_KIND, &[kind.as_str().into(), limit.into()])?.iter().map(read).collect()
}

/// Moves an image to a state. What is not available is not the default either.
pub fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, image: &ImageRow, state: ImageState) -> Result<i64, StoreError> {
    let params = [image.spec.id.as_str().into(), image.version.into(), state.as_str().into()];
    let subject = subject(&image.spec.id);
    let change = Change::of(Noun::Image, What::StateChanged, &subject, image.version + 1);
    let change = change.states(Some(image.state.as_str()), state.as_str());
    record::changed(tx, stamp, ENTER, &params, change)
}

/// Makes an image the default, in place of the one that was, or no longer the default.
pub fn set_default(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    image: &ImageRow,
    is_default: bool,
) -> Result<i64, StoreError> {
    if is_default && let Some(before) = default(tx)?.filter(|before| before.spec.id != image.spec.id) {
        set_default(tx, stamp, &before, false)?;
    }
    let params = [image.spec.id.as_str().into(), image.version.into(), is_default.into()];
    let subject = subject(&image.spec.id);
    let change = Change::of(Noun::Image, What::Updated, &subject, image.version + 1);
    record::changed(tx, stamp, SET_DEFAULT, &params, change)
}

/// Trusts a key. A name or a key that is known already is a `UniqueViolation`.
pub fn insert_key(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    key_id: &ImageName,
    public_key: &Ed25519Key,
    added_by: &PrincipalId,
) -> Result<(), StoreError> {
    let params = [key_id.as_str().into(), public_key.as_str().into(), added_by.as_str().into(), stamp.now.into()];
    let subject = key_subject(key_id.as_str());
    record::created(tx, stamp, INSERT_KEY, &params, Change::of(Noun::ImageKey, What::Created, &subject, 1))
}

/// One key.
pub fn get_key(tx: &mut Tx<'_>, key_id: &str) -> Result<Option<ImageKeyRow>, StoreError> {
    tx.query_opt(GET_KEY, &[key_id.into()])?.as_ref().map(read_key).transpose()
}

/// Keys by name, revoked ones too.
pub fn list_keys(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<ImageKeyRow>, StoreError> {
    tx.query(LIST_KEYS, &[page.after.into(), page.rows().into()])?.iter().map(read_key).collect()
}

/// Trusts a key no more.
pub fn revoke_key(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, key: &ImageKeyRow) -> Result<i64, StoreError> {
    let params = [key.key_id.as_str().into(), key.version.into(), stamp.now.into()];
    let subject = key_subject(key.key_id.as_str());
    let change = Change::of(Noun::ImageKey, What::Updated, &subject, key.version + 1);
    record::changed(tx, stamp, REVOKE_KEY, &params, change.because(Some("revoked")))
}
