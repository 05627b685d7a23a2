//! The audit trail: who did what, in a chain of hashes.
//!
//! A row is inserted in the transaction of the change it tells about, without place and hash. The leader appends what
//! it finds to the chain, in batches: `hash = SHA-256(previous hash, every field of the row)`, so that an edited,
//! removed, inserted or reordered row breaks every hash after it. A cut-off tail breaks nothing by itself; whoever
//! keeps the head elsewhere hands it to [`verify_chain`], which then misses it.

use model::listing::ListOrder;
use model::{AuditId, TenantId, Timestamp, TokenId};
use sha2::{Digest, Sha256};

use crate::scope::{Page, Scope, opened_by_administration};
use crate::{Batch, BulkInsert, BulkUpdate, Kind, Row, StoreError, Tx, Value};

/// One audited action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Its id, made of the moment in `at`: lists of a stretch of time count on that.
    pub id: AuditId,
    /// Who acted: a principal id, or the part of the platform that did.
    pub actor: String,
    /// With which token.
    pub token_id: Option<TokenId>,
    /// What was done, such as `tenant.create`.
    pub action: String,
    /// To what.
    pub subject: String,
    /// Whose that is.
    pub tenant_id: Option<TenantId>,
    /// In which request.
    pub request_id: String,
    /// What else is worth keeping, as JSON; never a secret.
    pub body: String,
    /// When.
    pub at: Timestamp,
}

/// A row with its place in the chain, where it has one yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chained {
    /// What was done.
    pub row: AuditRow,
    /// Its place and hash.
    pub link: Option<Link>,
    /// The hash it is chained to.
    pub prev_hash: Option<String>,
}

/// A place in the chain and the hash there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The place, from 1.
    pub seq: i64,
    /// The hash over everything up to here, in hexadecimal.
    pub hash: String,
}

/// Which actions to list, and from which end; every given field must match.
#[derive(Debug, Clone, Copy)]
pub struct AuditFilter<'a> {
    /// In one tenant.
    pub tenant_id: Option<&'a TenantId>,
    /// By one actor.
    pub actor: Option<&'a str>,
    /// Of one kind.
    pub action: Option<&'a str>,
    /// On one thing.
    pub subject: Option<&'a str>,
    /// From this moment on.
    pub from: Option<Timestamp>,
    /// Until before this moment.
    pub to: Option<Timestamp>,
    /// Which come first.
    pub order: ListOrder,
}

impl Default for AuditFilter<'_> {
    fn default() -> Self {
        let order = ListOrder::Oldest;
        Self { tenant_id: None, actor: None, action: None, subject: None, from: None, to: None, order }
    }
}

/// Where a chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The first place that is wrong.
    pub seq: i64,
    /// What is wrong there.
    pub why: &'static str,
}

macro_rules! selected {
    () => {
        "SELECT u.id, u.actor, u.token_id, u.action, u.subject, u.tenant_id, u.request_id, u.body, u.at_us, u.seq, \
         u.prev_hash, u.hash FROM audit u"
    };
}
// What is looked for by an index is said once more by itself: no engine uses one behind an OR.
macro_rules! listed {
    ($found_by:literal, $order:literal, $($scoped:tt)+) => {
        concat!(
            selected!(),
            " WHERE u.id > $1 AND u.id < $2 AND u.at_us >= $8 AND u.at_us < $9 ",
            "AND (CAST($4 AS TEXT) IS NULL OR u.tenant_id = $4) AND (CAST($5 AS TEXT) IS NULL OR u.actor = $5) ",
            "AND (CAST($6 AS TEXT) IS NULL OR u.action = $6) AND (CAST($7 AS TEXT) IS NULL OR u.subject = $7)",
            $found_by,
            $($scoped)+,
            " ORDER BY u.id",
            $order,
            " LIMIT $3"
        )
    };
}
/// The statement for everything, and the one for what a scope sees.
macro_rules! lists {
    ($found_by:literal, $order:literal) => {
        (
            listed!($found_by, $order, ""),
            listed!($found_by, $order, " AND ", opened_by_administration!("u.tenant_id", "$10", "$11")),
        )
    };
}

static CHAIN: BulkUpdate = BulkUpdate {
    table: "audit",
    matches: &[("id", Kind::Text)],
    sets: &[("seq", Kind::Int), ("prev_hash", Kind::Text), ("hash", Kind::Text)],
    also: "",
};
static INSERTS: BulkInsert = BulkInsert {
    table: "audit",
    columns: &[
        ("id", Kind::Text),
        ("actor", Kind::Text),
        ("token_id", Kind::Text),
        ("action", Kind::Text),
        ("subject", Kind::Text),
        ("tenant_id", Kind::Text),
        ("request_id", Kind::Text),
        ("body", Kind::Text),
        ("at_us", Kind::Int),
    ],
};
const INSERT: &str = "INSERT INTO audit (id, actor, token_id, action, subject, tenant_id, request_id, body, at_us) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const HEAD: &str = "SELECT seq, hash FROM audit WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1";
const WAITING: &str = concat!(selected!(), " WHERE u.seq IS NULL ORDER BY u.at_us, u.id LIMIT $1");
const AFTER: &str = concat!(selected!(), " WHERE u.seq > $1 ORDER BY u.seq LIMIT $2");

/// How many letters of an id tell its moment.
const MOMENT_LETTERS: usize = 10;
/// Comes after every letter of an id.
const PAST_IDS: &str = "~";

/// What the first row's hash is chained to.
const GENESIS: &str = "gpuaas-audit-v1";

fn read(row: &Row) -> Result<AuditRow, StoreError> {
    Ok(AuditRow {
        id: row.parse(0)?,
        actor: row.text(1)?.to_owned(),
        token_id: row.opt_parse(2)?,
        action: row.text(3)?.to_owned(),
        subject: row.text(4)?.to_owned(),
        tenant_id: row.opt_parse(5)?,
        request_id: row.text(6)?.to_owned(),
        body: row.text(7)?.to_owned(),
        at: row.timestamp(8)?,
    })
}

/// The hash of a row that stands at `seq` behind `prev_hash`. Fields are length-prefixed so that they cannot run
/// together, and a missing one is not an empty one.
fn hash_of(prev_hash: &str, seq: i64, row: &Row) -> Result<String, StoreError> {
    let mut hasher = Sha256::new();
    let mut put = |text: Option<&str>| match text {
        None => hasher.update(b"-;"),
        Some(text) => {
            hasher.update(format!("{}:", text.len()));
            hasher.update(text);
        }
    };
    put(Some(prev_hash));
    put(Some(&seq.to_string()));
    for at in 0..8 {
        put(row.opt_text(at)?);
    }
    put(Some(&row.int(8)?.to_string()));
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn values(row: &AuditRow) -> [Value; 9] {
    [
        (&row.id).into(),
        row.actor.as_str().into(),
        row.token_id.as_ref().into(),
        row.action.as_str().into(),
        row.subject.as_str().into(),
        row.tenant_id.as_ref().into(),
        row.request_id.as_str().into(),
        row.body.as_str().into(),
        row.at.into(),
    ]
}

/// Writes down an action, in the transaction that did it.
pub fn append(tx: &mut Tx<'_>, row: &AuditRow) -> Result<(), StoreError> {
    tx.post(INSERT, &values(row))
}

/// Writes down many actions, in the transaction that did them.
pub fn append_all(tx: &mut Tx<'_>, rows: &[AuditRow]) -> Result<(), StoreError> {
    let mut batch = Batch::insert(&INSERTS);
    rows.iter().for_each(|row| batch.push(values(row)));
    tx.post_bulk(&batch)
}

/// The end of the chain; `None` when nothing is chained yet.
pub fn head(tx: &mut Tx<'_>) -> Result<Option<Link>, StoreError> {
    let read = |row: &Row| Ok(Link { seq: row.int(0)?, hash: row.text(1)?.to_owned() });
    tx.query_opt(HEAD, &[])?.as_ref().map(read).transpose()
}

/// Whether a row waits for its place.
pub fn waiting(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.query_opt("SELECT id FROM audit WHERE seq IS NULL LIMIT 1", &[])?.is_some())
}

/// Appends up to `limit` rows to the chain; says how many. Only the leader calls it, and checks its epoch in the same
/// transaction: two writers would collide on the unique `seq`.
pub fn chain_batch(tx: &mut Tx<'_>, limit: i64) -> Result<usize, StoreError> {
    let rows = tx.query(WAITING, &[limit.into()])?;
    if rows.is_empty() {
        return Ok(0);
    }
    let Link { mut seq, mut hash } = head(tx)?.unwrap_or(Link { seq: 0, hash: GENESIS.to_owned() });
    let mut links = Batch::update(&CHAIN);
    for row in &rows {
        seq += 1;
        let next = hash_of(&hash, seq, row)?;
        links.push([row.text(0)?.into(), seq.into(), hash.into(), next.as_str().into()]);
        hash = next;
    }
    let linked = tx.execute_bulk(&links)?;
    if usize::try_from(linked) != Ok(rows.len()) {
        return Err(StoreError::StaleVersion);
    }
    Ok(rows.len())
}

/// Walks the whole chain, page by page, and answers its end, or where it does not hold. `known` is a head that was kept
/// elsewhere: the chain must still pass through it.
pub fn verify_chain(tx: &mut Tx<'_>, known: Option<&Link>) -> Result<Result<Option<Link>, Break>, StoreError> {
    const ROWS: i64 = 1000;
    let mut end = Link { seq: 0, hash: GENESIS.to_owned() };
    loop {
        let rows = tx.query(AFTER, &[end.seq.into(), ROWS.into()])?;
        for row in &rows {
            let seq = end.seq + 1;
            if row.int(9)? != seq {
                return Ok(Err(Break { seq, why: "no row at this place" }));
            }
            if row.opt_text(10)? != Some(&end.hash) {
                return Ok(Err(Break { seq, why: "not chained to the row before it" }));
            }
            let hash = hash_of(&end.hash, seq, row)?;
            if row.opt_text(11)? != Some(&hash) {
                return Ok(Err(Break { seq, why: "its fields do not give its hash" }));
            }
            if known.is_some_and(|known| known.seq == seq && known.hash != hash) {
                return Ok(Err(Break { seq, why: "another hash was known for this place" }));
            }
            end = Link { seq, hash };
        }
        if rows.is_empty() {
            break;
        }
    }
    if let Some(known) = known.filter(|known| known.seq > end.seq) {
        return Ok(Err(Break { seq: known.seq, why: "the chain ends before a head that was known" }));
    }
    Ok(Ok((end.seq > 0).then_some(end)))
}

/// Audited actions in the order of their ids. A scope sees those of tenants it administers.
pub fn list(
    tx: &mut Tx<'_>,
    scope: &Scope,
    filter: AuditFilter<'_>,
    page: Page<'_>,
) -> Result<Vec<Chained>, StoreError> {
    let (low, high) = between(&filter, page.after);
    let params = vec![
        low.into(),
        high.into(),
        page.rows().into(),
        filter.tenant_id.into(),
        filter.actor.into(),
        filter.action.into(),
        filter.subject.into(),
        filter.from.map_or(0, Timestamp::as_micros).into(),
        filter.to.map_or(i64::MAX, Timestamp::as_micros).into(),
    ];
    let (all, scoped) = statements(&filter);
    let (sql, params) = scope.choose(all, scoped, params);
    let read_chained = |row: &Row| {
        let link = match (row.opt_int(9)?, row.opt_text(11)?) {
            (Some(seq), Some(hash)) => Some(Link { seq, hash: hash.to_owned() }),
            _ => None,
        };
        Ok(Chained { row: read(row)?, link, prev_hash: row.opt_text(10)?.map(str::to_owned) })
    };
    tx.query(sql, &params)?.iter().map(read_chained).collect()
}

fn statements(filter: &AuditFilter<'_>) -> (&'static str, &'static str) {
    use ListOrder::{Newest, Oldest};
    match (filter.order, filter.subject, filter.actor) {
        (Oldest, Some(_), _) => lists!(" AND u.subject = $7", ""),
        (Newest, Some(_), _) => lists!(" AND u.subject = $7", " DESC"),
        (Oldest, None, Some(_)) => lists!(" AND u.actor = $5", ""),
        (Newest, None, Some(_)) => lists!(" AND u.actor = $5", " DESC"),
        (Oldest, None, None) => lists!("", ""),
        (Newest, None, None) => lists!("", " DESC"),
    }
}

/// The ids that a page lies between, both left out. Ids begin with their moment, so a stretch of time is one of ids.
fn between(filter: &AuditFilter<'_>, after: &str) -> (String, String) {
    let moment = |at: Timestamp| {
        let id = AuditId::from_parts(at, [0; 10]).to_string();
        id.chars().take(AuditId::PREFIX.len() + 1 + MOMENT_LETTERS).collect::<String>()
    };
    let low = filter.from.map(moment).unwrap_or_default();
    let last = |to: Timestamp| Timestamp::from_micros(to.as_micros().saturating_sub(1));
    let high = filter.to.map_or_else(|| PAST_IDS.to_owned(), |to| moment(last(to)) + PAST_IDS);
    match (filter.order, after) {
        (_, "") => (low, high),
        (ListOrder::Oldest, after) => (low.max(after.to_owned()), high),
        (ListOrder::Newest, after) => (low, high.min(after.to_owned())),
    }
}
