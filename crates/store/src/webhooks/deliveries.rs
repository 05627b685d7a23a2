//! Deliveries: one event on its way to one webhook, and every attempt that was made. A delivery is pending until it was
//! tried, failed while it will be tried again, and in the end delivered or exhausted. It is no object with a version: who
//! leads writes it, alone.

use model::event::{Change, Noun};
use model::webhook::DeliveryState;
use model::{EventId, Timestamp, WebhookDeliveryId, WebhookId};

use crate::record::Stamp;
use crate::scope::Page;
use crate::value::keys;
use crate::{Row, StoreError, Tx};

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Its id.
    pub id: WebhookDeliveryId,
    /// To which webhook.
    pub webhook_id: WebhookId,
    /// Which event.
    pub event_id: EventId,
    /// The event's number, once it has one.
    pub event_seq: Option<i64>,
    /// What kind of event.
    pub event: Option<(Noun, Change)>,
    /// How it stands.
    pub state: DeliveryState,
    /// Attempts in all.
    pub attempts: i64,
    /// Attempts since it was last asked for.
    pub tries: i64,
    /// When the next attempt is due; none once it has ended.
    pub next: Option<Timestamp>,
    /// When it was recorded.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// What the last attempt was answered with, and what went wrong.
    pub last: (Option<i64>, Option<String>),
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// The how manieth, from 1.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// How long it took.
    pub duration_us: i64,
    /// The status of the answer, if there was one.
    pub status: Option<i64>,
    /// What went wrong.
    pub error: Option<String>,
    /// How the answer began.
    pub body: String,
}

/// What came of an attempt, for the delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It was taken.
    Delivered,
    /// It is tried again at a moment.
    Again(Timestamp),
    /// It is not tried again.
    Exhausted,
}

macro_rules! selected {
    () => {
        "SELECT d.id, d.webhook_id, d.event_id, d.event_seq, e.noun, e.change, d.state, d.attempts, d.tries, d.next_us, \
         d.created_us, d.ended_us, a.status, a.error FROM webhook_deliveries d LEFT JOIN events e ON e.id = d.event_id \
         LEFT JOIN webhook_attempts a ON a.delivery_id = d.id AND a.number = d.attempts"
    };
}

const INSERT: &str = "INSERT INTO webhook_deliveries (id, webhook_id, event_id, event_seq, state, attempts, tries, next_us, \
    created_us) VALUES ($1, $2, $3, $4, 'pending', 0, 0, $5, $5) ON CONFLICT (webhook_id, event_id) DO NOTHING";
const AGAIN: &str = "UPDATE webhook_deliveries SET state = 'pending', tries = 0, next_us = $3, ended_us = NULL \
    WHERE webhook_id = $1 AND event_id = $2";
const NUMBERED: &str = "UPDATE webhook_deliveries SET event_seq = (SELECT e.seq FROM events e \
    WHERE e.id = webhook_deliveries.event_id) WHERE event_seq IS NULL";
const UNNUMBERED: &str = "SELECT id FROM webhook_deliveries WHERE event_seq IS NULL LIMIT 1";
const GET: &str = concat!(selected!(), " WHERE d.id = $1");
const OF_EVENT: &str = concat!(selected!(), " WHERE d.webhook_id = $1 AND d.event_id = $2");
const LIST: &str = concat!(
    selected!(),
    " WHERE d.webhook_id = $3 AND (CAST($1 AS TEXT) = '' OR d.id < $1) AND (CAST($4 AS TEXT) IS NULL OR d.state = $4) ",
    "ORDER BY d.id DESC LIMIT $2"
);
const NEW: &str = concat!(
    selected!(),
    " WHERE d.webhook_id = $1 AND d.state = 'pending' AND d.event_seq IS NOT NULL AND d.next_us <= $2 ",
    "ORDER BY d.event_seq LIMIT $3"
);
const DUE_AGAIN: &str = concat!(
    selected!(),
    " WHERE d.webhook_id = $1 AND d.state = 'failed' AND d.event_seq IS NOT NULL AND d.next_us <= $2 ",
    "ORDER BY d.next_us, d.event_seq LIMIT $3"
);
// One part for each state: each then walks the index of what is open, and never the rows of a month.
macro_rules! waiting_in {
    ($state:literal) => {
        concat!(
            "SELECT d.webhook_id, d.state FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id ",
            "WHERE w.enabled = 1 AND d.state = '",
            $state,
            "' AND d.next_us <= $1 AND d.event_seq IS NOT NULL GROUP BY d.webhook_id, d.state"
        )
    };
}
const WAITING: &str = concat!(waiting_in!("pending"), " UNION ALL ", waiting_in!("failed"));
const OPEN: &str = "SELECT o.webhook_id, COUNT(*) FROM (SELECT webhook_id FROM webhook_deliveries WHERE state = 'pending' \
    UNION ALL SELECT webhook_id FROM webhook_deliveries WHERE state = 'failed') AS o GROUP BY o.webhook_id";
const OPEN_OF: &str = "SELECT COUNT(*) FROM (SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'pending' \
    UNION ALL SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'failed') AS o";
const OLDEST_NEW: &str = "SELECT MIN(e.at_us) FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id \
    JOIN events e ON e.id = d.event_id WHERE w.enabled = 1 AND d.state = 'pending'";
const ATTEMPT: &str = "INSERT INTO webhook_attempts (delivery_id, number, at_us, duration_us, status, error, body) \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const ATTEMPTED: &str = "UPDATE webhook_deliveries SET state = $2, attempts = attempts + 1, tries = tries + 1, next_us = $3, \
    ended_us = $4 WHERE id = $1";
const ATTEMPTS: &str = "SELECT number, at_us, duration_us, status, error, body FROM webhook_attempts \
    WHERE delivery_id = $1 ORDER BY number DESC LIMIT $2";
const OLD: &str = "SELECT id FROM webhook_deliveries WHERE created_us < $1 ORDER BY created_us, id LIMIT $2";
const GONE: &str = "SELECT webhook_id FROM webhooks_gone ORDER BY webhook_id LIMIT 1";
const OF_GONE: &str = "SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id LIMIT $2";
const GONE_WHOLLY: &str = "DELETE FROM webhooks_gone WHERE webhook_id = $1";
const FORGET_ATTEMPTS: &str = "DELETE FROM webhook_attempts WHERE delivery_id IN \
    (SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given)";
const FORGET: &str = "DELETE FROM webhook_deliveries WHERE id IN \
    (SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given)";

fn read(row: &Row) -> Result<DeliveryRow, StoreError> {
    Ok(DeliveryRow {
        id: row.parse(0)?,
        webhook_id: row.parse(1)?,
        event_id: row.parse(2)?,
        event_seq: row.opt_int(3)?,
        event: row.opt_parse(4)?.zip(row.opt_parse(5)?),
        state: row.parse(6)?,
        attempts: row.int(7)?,
        tries: row.int(8)?,
        next: row.opt_timestamp(9)?,
        created: row.timestamp(10)?,
        ended: row.opt_timestamp(11)?,
        last: (row.opt_int(12)?, row.opt_text(13)?.map(str::to_owned)),
    })
}

/// Records that an event is to be sent to a webhook. One that is recorded already stays as it is.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    webhook_id: &WebhookId,
    (event_id, event_seq): (&EventId, Option<i64>),
) -> Result<(), StoreError> {
    let id = WebhookDeliveryId::from_parts(stamp.now, stamp.bits());
    tx.execute(INSERT, &[id.into(), webhook_id.into(), event_id.into(), event_seq.into(), stamp.now.into()]).map(drop)
}

/// Has a delivery begin anew, if there is one.
pub fn again(tx: &mut Tx<'_>, stamp: &Stamp<'_>, webhook_id: &WebhookId, event_id: &EventId) -> Result<(), StoreError> {
    tx.execute(AGAIN, &[webhook_id.into(), event_id.into(), stamp.now.into()]).map(drop)
}

/// Gives deliveries the numbers of their events that had none when they were recorded.
pub fn number(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(NUMBERED, &[]).map(drop)
}

/// Whether a delivery waits for the number of its event.
pub fn unnumbered(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.query_opt(UNNUMBERED, &[])?.is_some())
}

/// One delivery.
pub fn get(tx: &mut Tx<'_>, id: &WebhookDeliveryId) -> Result<Option<DeliveryRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The delivery of an event to a webhook.
pub fn of_event(tx: &mut Tx<'_>, webhook: &WebhookId, event: &EventId) -> Result<Option<DeliveryRow>, StoreError> {
    tx.query_opt(OF_EVENT, &[webhook.into(), event.into()])?.as_ref().map(read).transpose()
}

/// The deliveries to a webhook, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    webhook: &WebhookId,
    state: Option<DeliveryState>,
    page: Page<'_>,
) -> Result<Vec<DeliveryRow>, StoreError> {
    let state = state.map(DeliveryState::as_str);
    tx.query(LIST, &[page.after.into(), page.rows().into(), webhook.into(), state.into()])?.iter().map(read).collect()
}

/// Which enabled webhooks have deliveries that are due: the webhook, and whether they were tried before.
pub fn waiting(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<(WebhookId, bool)>, StoreError> {
    let read = |row: &Row| Ok((row.parse(0)?, row.parse::<DeliveryState>(1)? == DeliveryState::Failed));
    tx.query(WAITING, &[now.into()])?.iter().map(read).collect()
}

/// What is due to a webhook: what was never tried in the order of events, or what failed before in the order it is due.
pub fn due(
    tx: &mut Tx<'_>,
    webhook: &WebhookId,
    tried_before: bool,
    (now, limit): (Timestamp, i64),
) -> Result<Vec<DeliveryRow>, StoreError> {
    let sql = if tried_before { DUE_AGAIN } else { NEW };
    tx.query(sql, &[webhook.into(), now.into(), limit.into()])?.iter().map(read).collect()
}

/// How many deliveries of each webhook have not ended.
pub fn open(tx: &mut Tx<'_>) -> Result<Vec<(WebhookId, i64)>, StoreError> {
    tx.query(OPEN, &[])?.iter().map(|row| Ok((row.parse(0)?, row.int(1)?))).collect()
}

/// How many deliveries of one webhook have not ended.
pub fn open_of(tx: &mut Tx<'_>, webhook: &WebhookId) -> Result<i64, StoreError> {
    tx.query_one(OPEN_OF, &[webhook.into()])?.int(0)
}

/// When the oldest event happened that waits for its first attempt.
pub fn oldest_new(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    tx.query_one(OLDEST_NEW, &[])?.opt_timestamp(0)
}

/// Writes an attempt down, and what follows from it.
pub fn attempted(
    tx: &mut Tx<'_>,
    stamp: &Stamp<'_>,
    delivery: &DeliveryRow,
    attempt: &AttemptRow,
    then: Then,
) -> Result<(), StoreError> {
    let (state, next, ended) = match then {
        Then::Delivered => (DeliveryState::Delivered, None, Some(stamp.now)),
        Then::Again(at) => (DeliveryState::Failed, Some(at), None),
        Then::Exhausted => (DeliveryState::Exhausted, None, Some(stamp.now)),
    };
    tx.execute_one(ATTEMPTED, &[(&delivery.id).into(), state.as_str().into(), next.into(), ended.into()])?;
    let params = [
        (&delivery.id).into(),
        (delivery.attempts + 1).into(),
        attempt.at.into(),
        attempt.duration_us.into(),
        attempt.status.into(),
        attempt.error.as_deref().into(),
        attempt.body.as_str().into(),
    ];
    tx.post(ATTEMPT, &params)
}

/// The attempts of a delivery, the newest first.
pub fn attempts(tx: &mut Tx<'_>, id: &WebhookDeliveryId, limit: i64) -> Result<Vec<AttemptRow>, StoreError> {
    let read = |row: &Row| {
        Ok(AttemptRow {
            number: row.int(0)?,
            at: row.timestamp(1)?,
            duration_us: row.int(2)?,
            status: row.opt_int(3)?,
            error: row.opt_text(4)?.map(str::to_owned),
            body: row.text(5)?.to_owned(),
        })
    };
    tx.query(ATTEMPTS, &[id.into(), limit.into()])?.iter().map(read).collect()
}

/// Forgets deliveries from before a moment, and those to a webhook that is gone. Says how many.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp, limit: i64) -> Result<u64, StoreError> {
    let mut rows = tx.query(OLD, &[before.into(), limit.into()])?;
    if let Some(gone) = tx.query_opt(GONE, &[])? {
        let webhook = gone.text(0)?;
        let left = tx.query(OF_GONE, &[webhook.into(), limit.into()])?;
        if left.is_empty() {
            tx.execute(GONE_WHOLLY, &[webhook.into()])?;
        }
        rows.extend(left);
    }
    if rows.is_empty() {
        return Ok(0);
    }
    let ids = rows.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
    let given = [keys(ids.iter().map(String::as_str))];
    tx.execute(FORGET_ATTEMPTS, &given)?;
    tx.execute(FORGET, &given)
}
