//! Webhooks: where a tenant's events, or the platform's, are sent, and the secrets that sign them. A webhook is an object
//! like others, with a version and events of its own; how far it has come and since when it fails is not part of that, or
//! every delivery would be an event to deliver.

pub mod deliveries;

use model::event::{Change as What, Noun};
use model::text::Note;
use model::webhook::{EventFilter, WebhookUrl};
use model::{EventId, ProjectId, TenantId, Timestamp, WebhookId};

use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_administration};
use crate::value::keys;
use crate::{Row, StoreError, Tx};

/// What of a webhook its owner sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTerms {
    /// Where events are sent.
    pub url: WebhookUrl,
    /// What it is for.
    pub description: Option<Note>,
    /// Which events; all of them when empty.
    pub event_types: Vec<EventFilter>,
    /// Only events of this project.
    pub project_id: Option<ProjectId>,
    /// Whether anything is sent.
    pub enabled: bool,
    /// Why not, where the platform ended it.
    pub disabled_why: Option<String>,
}

/// One webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRow {
    /// Its id.
    pub id: WebhookId,
    /// Whose it is; the platform's when absent.
    pub tenant_id: Option<TenantId>,
    /// What its owner set.
    pub terms: WebhookTerms,
    /// Events up to this number were taken on.
    pub taken_seq: i64,
    /// Events up to this number are sent again though they were taken on before.
    pub replay_seq: i64,
    /// The first failure since anything was delivered.
    pub failing_since: Option<Timestamp>,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl WebhookRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Webhook, what, self.id.as_str(), self.version + 1).within(self.tenant_id.as_ref(), None)
    }
}

macro_rules! selected {
    () => {
        "SELECT w.id, w.tenant_id, w.project_id, w.url, w.description, w.event_types, w.enabled, w.disabled_why, \
         w.taken_seq, w.replay_seq, w.failing_since_us, w.version, w.created_us FROM webhooks w"
    };
}

const INSERT: &str = "INSERT INTO webhooks (id, tenant_id, project_id, url, description, event_types, enabled, disabled_why, \
    taken_seq, version, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, $10)";
const GET: &str = concat!(selected!(), " WHERE w.id = $1");
const GET_SCOPED: &str =
    concat!(selected!(), " WHERE w.id = $1 AND ", opened_by_administration!("w.tenant_id", "$2", "$3"));
const LIST: &str =
    concat!(selected!(), " WHERE w.id > $1 AND w.tenant_id IS NOT DISTINCT FROM $3 ORDER BY w.id LIMIT $2");
const COUNT: &str = "SELECT COUNT(*) FROM webhooks WHERE tenant_id IS NOT DISTINCT FROM $1";
const BEHIND: &str =
    concat!(selected!(), " WHERE w.enabled = 1 AND w.taken_seq < $1 ORDER BY w.taken_seq, w.id LIMIT $2");
const TAKEN: &str = "UPDATE webhooks SET taken_seq = $2 WHERE enabled = 1 AND taken_seq = $3 \
    AND id IN (SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given)";
const UPDATE: &str = "UPDATE webhooks SET project_id = $3, url = $4, description = $5, event_types = $6, enabled = $7, \
    disabled_why = $8, taken_seq = $9, failing_since_us = $10, version = version + 1 WHERE id = $1 AND version = $2";
const TOUCH: &str = "UPDATE webhooks SET version = version + 1 WHERE id = $1 AND version = $2";
const REPLAY: &str =
    "UPDATE webhooks SET taken_seq = $3, replay_seq = $4, version = version + 1 WHERE id = $1 AND version = $2";
const DISABLE: &str = "UPDATE webhooks SET enabled = 0, disabled_why = $3, version = version + 1 \
    WHERE id = $1 AND version = $2 AND enabled = 1";
const FAILING: &str = "UPDATE webhooks SET failing_since_us = $2 WHERE id = $1";
const DELETE: &str = "DELETE FROM webhooks WHERE id = $1 AND version = $2";
const OF_TENANT: &str = concat!(selected!(), " WHERE w.tenant_id = $1 ORDER BY w.id LIMIT $2");
const DISABLED: &str = "SELECT COUNT(*) FROM webhooks WHERE enabled = 0 AND disabled_why IS NOT NULL";
const SECRET: &str = "INSERT INTO webhook_secrets (webhook_id, made_in_version, secret) VALUES ($1, $2, $3)";
const SECRET_ENDS: &str = "UPDATE webhook_secrets SET until_us = $2 WHERE webhook_id = $1 AND until_us IS NULL";
const SECRETS_ENDED: &str = "DELETE FROM webhook_secrets WHERE webhook_id = $1 AND until_us <= $2";
const SECRETS: &str = "SELECT secret FROM webhook_secrets WHERE webhook_id = $1 AND (until_us IS NULL OR until_us > $2) \
    ORDER BY made_in_version DESC";
const SECRETS_UNTIL: &str = "SELECT MAX(until_us) FROM webhook_secrets WHERE webhook_id = $1 AND until_us > $2";
const SECRETS_GONE: &str = "DELETE FROM webhook_secrets WHERE webhook_id = $1";
const GONE: &str = "INSERT INTO webhooks_gone (webhook_id) VALUES ($1)";
const NEWEST_EVENT: &str = "SELECT id FROM events WHERE subject_id = $1 AND object_version = $2";

fn read(row: &Row) -> Result<WebhookRow, StoreError> {
    let event_types = serde_json::from_str(row.text(5)?).map_err(|error| row.corrupt(5, &error.to_string()))?;
    Ok(WebhookRow {
        id: row.parse(0)?,
        tenant_id: row.opt_parse(1)?,
        terms: WebhookTerms {
            project_id: row.opt_parse(2)?,
            url: row.parse(3)?,
            description: row.opt_parse(4)?,
            event_types,
            enabled: row.flag(6)?,
            disabled_why: row.opt_text(7)?.map(str::to_owned),
        },
        taken_seq: row.int(8)?,
        replay_seq: row.int(9)?,
        failing_since: row.opt_timestamp(10)?,
        version: row.int(11)?,
        created: row.timestamp(12)?,
    })
}

fn filters(terms: &WebhookTerms) -> Result<String, StoreError> {
    let why = |error: serde_json::Error| StoreError::Corrupt { column: "event_types".into(), why: error.to_string() };
    serde_json::to_string(&terms.event_types).map_err(why)
}

/// Records a webhook with the secret that signs, for events after a number.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    (id, tenant_id): (&WebhookId, Option<&TenantId>),
    terms: &WebhookTerms,
    (secret, after): (&str, i64),
) -> Result<(), StoreError> {
    let params = [
        id.into(),
        tenant_id.into(),
        terms.project_id.as_ref().into(),
        terms.url.as_str().into(),
        terms.description.as_ref().map(Note::as_str).into(),
        filters(terms)?.into(),
        terms.enabled.into(),
        terms.disabled_why.as_deref().into(),
        after.into(),
        stamp.now.into(),
    ];
    let change = Change::of(Noun::Webhook, What::Created, id.as_str(), 1).within(tenant_id, None);
    record::created(tx, stamp, INSERT, &params, change)?;
    tx.execute(SECRET, &[id.into(), 1.into(), secret.into()]).map(drop)
}

/// One webhook, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &WebhookId) -> Result<Option<WebhookRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One webhook, if this scope may see it: those of a tenant are its administrators' business.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &WebhookId) -> Result<Option<WebhookRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// The webhooks of a tenant, or of the platform, in id order.
pub fn list(tx: &mut Tx<'_>, tenant_id: Option<&TenantId>, page: Page<'_>) -> Result<Vec<WebhookRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into(), tenant_id.into()])?.iter().map(read).collect()
}

/// How many webhooks a tenant, or the platform, has.
pub fn count(tx: &mut Tx<'_>, tenant_id: Option<&TenantId>) -> Result<i64, StoreError> {
    tx.query_one(COUNT, &[tenant_id.into()])?.int(0)
}

/// How many webhooks the platform ended.
pub fn disabled(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.query_one(DISABLED, &[])?.int(0)
}

/// The enabled webhooks that have not taken on the events up to a number, furthest behind first.
pub fn behind(tx: &mut Tx<'_>, head: i64, limit: i64) -> Result<Vec<WebhookRow>, StoreError> {
    tx.query(BEHIND, &[head.into(), limit.into()])?.iter().map(read).collect()
}

/// Says that webhooks which had come to one number have come to another. Those that moved meanwhile stay where they are.
pub fn taken<'a>(
    tx: &mut Tx<'_>,
    ids: impl Iterator<Item = &'a WebhookId>,
    (from, to): (i64, i64),
) -> Result<(), StoreError> {
    tx.execute(TAKEN, &[keys(ids.map(WebhookId::as_str)), to.into(), from.into()]).map(drop)
}

/// Changes what its owner sets. One that is enabled again goes on with events after `head` and has a clean slate.
pub fn update(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    webhook: &WebhookRow,
    terms: &WebhookTerms,
    head: i64,
) -> Result<i64, StoreError> {
    let begins = terms.enabled && !webhook.terms.enabled;
    let params = [
        (&webhook.id).into(),
        webhook.version.into(),
        terms.project_id.as_ref().into(),
        terms.url.as_str().into(),
        terms.description.as_ref().map(Note::as_str).into(),
        filters(terms)?.into(),
        terms.enabled.into(),
        terms.disabled_why.as_deref().into(),
        if begins { head } else { webhook.taken_seq }.into(),
        webhook.failing_since.filter(|_| !begins).into(),
    ];
    record::changed(tx, stamp, UPDATE, &params, webhook.change(What::Updated))
}

/// Makes a new secret sign. The ones before sign beside it until a moment.
pub fn rotate(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    webhook: &WebhookRow,
    secret: &str,
    previous_until: Timestamp,
) -> Result<i64, StoreError> {
    let params = [(&webhook.id).into(), webhook.version.into()];
    let change = webhook.change(What::Updated).because(Some("secret_rotated"));
    let version = record::changed(tx, stamp, TOUCH, &params, change)?;
    tx.execute(SECRET_ENDS, &[(&webhook.id).into(), previous_until.into()])?;
    tx.execute(SECRETS_ENDED, &[(&webhook.id).into(), stamp.now.into()])?;
    tx.execute(SECRET, &[(&webhook.id).into(), version.into(), secret.into()])?;
    Ok(version)
}

/// The secrets that sign at a moment, the newest first.
pub fn secrets(tx: &mut Tx<'_>, id: &WebhookId, now: Timestamp) -> Result<Vec<String>, StoreError> {
    tx.query(SECRETS, &[id.into(), now.into()])?.iter().map(|row| row.text(0).map(str::to_owned)).collect()
}

/// Until when an older secret signs beside the newest, where one does.
pub fn previous_until(tx: &mut Tx<'_>, id: &WebhookId, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    tx.query_one(SECRETS_UNTIL, &[id.into(), now.into()])?.opt_timestamp(0)
}

/// Has every event after a number that is wanted sent again, up to `head`.
pub fn replay(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    webhook: &WebhookRow,
    (after, head): (i64, i64),
) -> Result<i64, StoreError> {
    let params = [(&webhook.id).into(), webhook.version.into(), after.into(), head.into()];
    record::changed(tx, stamp, REPLAY, &params, webhook.change(What::Updated).because(Some("replayed")))
}

/// Writes down that somebody tries it out. Answers the event that says so, which is what is sent.
pub fn test(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, webhook: &WebhookRow) -> Result<EventId, StoreError> {
    let params = [(&webhook.id).into(), webhook.version.into()];
    let version = record::changed(tx, stamp, TOUCH, &params, webhook.change(What::Tested))?;
    tx.query_one(NEWEST_EVENT, &[(&webhook.id).into(), version.into()])?.parse(0)
}

/// Ends the sending, for a reason.
pub fn disable(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, webhook: &WebhookRow, why: &str) -> Result<i64, StoreError> {
    let params = [(&webhook.id).into(), webhook.version.into(), why.into()];
    record::changed(tx, stamp, DISABLE, &params, webhook.change(What::Updated).because(Some("disabled")))
}

/// Writes down since when nothing but failures came of it.
pub fn failing(tx: &mut Tx<'_>, id: &WebhookId, since: Option<Timestamp>) -> Result<(), StoreError> {
    tx.execute(FAILING, &[id.into(), since.into()]).map(drop)
}

/// Removes a webhook and its secrets. Its deliveries go when they are pruned.
pub fn delete(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, webhook: &WebhookRow) -> Result<(), StoreError> {
    tx.execute(SECRETS_GONE, &[(&webhook.id).into()])?;
    tx.execute(GONE, &[(&webhook.id).into()])?;
    let params = [(&webhook.id).into(), webhook.version.into()];
    record::changed(tx, stamp, DELETE, &params, webhook.change(What::Deleted)).map(drop)
}

/// Removes every webhook of a tenant, at most `limit`. Says how many there were.
pub fn delete_of_tenant(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    tenant_id: &TenantId,
    limit: i64,
) -> Result<usize, StoreError> {
    let rows: Vec<WebhookRow> =
        tx.query(OF_TENANT, &[tenant_id.into(), limit.into()])?.iter().map(read).collect::<Result<_, _>>()?;
    rows.iter().try_for_each(|row| delete(tx, stamp, row))?;
    Ok(rows.len())
}
