//! Connections of people to guests. The replica that has the client writes the row and keeps saying that it is alive; the
//! node that holds the guest takes the stream, once; whoever sees it end writes down how. A row is never deleted: with the
//! audit trail it says who was in which guest, and when.

use model::stream::{StreamEnding, StreamKind, StreamState};
use model::{AllocationId, NodeId, PrincipalId, ProjectId, StreamId, TenantId, Timestamp, TokenId};

use crate::scope::{Page, Scope, opened_by_membership};
use crate::{Row, StoreError, Tx};

/// What was kept of what a console printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// How many bytes.
    pub bytes: i64,
    /// Their SHA-256 in hexadecimal.
    pub sha256: String,
    /// More was printed than is kept.
    pub cut: bool,
}

/// One stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRow {
    /// Its id.
    pub id: StreamId,
    /// To whose guest.
    pub allocation_id: AllocationId,
    /// Whose that is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// The node that holds the guest.
    pub node_id: NodeId,
    /// What it carries.
    pub kind: StreamKind,
    /// Where it stands.
    pub state: StreamState,
    /// Who asked for it.
    pub principal_id: PrincipalId,
    /// With which token.
    pub token_id: TokenId,
    /// In which request.
    pub request_id: String,
    /// From which address.
    pub came_from: String,
    /// The replica that has the client.
    pub replica: String,
    /// Where agents reach that replica, if it said so.
    pub agent_address: Option<String>,
    /// When it was asked for.
    pub wanted: Timestamp,
    /// By when the node has to open it.
    pub open_by: Timestamp,
    /// Until when its replica is taken to be alive.
    pub alive_until: Timestamp,
    /// When the node opened it.
    pub opened: Option<Timestamp>,
    /// When and how it ended.
    pub ended: Option<(Timestamp, StreamEnding)>,
    /// Bytes to the guest.
    pub to_guest_bytes: i64,
    /// Bytes from the guest.
    pub from_guest_bytes: i64,
    /// What was recorded.
    pub recording: Option<Recording>,
}

/// A stream that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct StreamNew<'a> {
    /// Its id.
    pub id: &'a StreamId,
    /// To whose guest.
    pub allocation_id: &'a AllocationId,
    /// Whose that is.
    pub tenant_id: &'a TenantId,
    /// In which project.
    pub project_id: &'a ProjectId,
    /// The node that holds the guest.
    pub node_id: &'a NodeId,
    /// What it carries.
    pub kind: StreamKind,
    /// Who asks for it.
    pub principal_id: &'a PrincipalId,
    /// With which token.
    pub token_id: &'a TokenId,
    /// In which request.
    pub request_id: &'a str,
    /// From which address.
    pub came_from: &'a str,
    /// The replica that has the client.
    pub replica: &'a str,
    /// Where agents reach that replica, if it says so.
    pub agent_address: Option<&'a str>,
    /// By when the node has to open it.
    pub open_by: Timestamp,
    /// Until when its replica is taken to be alive.
    pub alive_until: Timestamp,
}

/// How many streams are not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Live {
    /// To this guest.
    pub of_allocation: i64,
    /// To the guests of this tenant.
    pub of_tenant: i64,
    /// To the guests of this node.
    pub of_node: i64,
}

/// The end of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// How.
    pub how: StreamEnding,
    /// Bytes to the guest.
    pub to_guest_bytes: i64,
    /// Bytes from the guest.
    pub from_guest_bytes: i64,
    /// What was recorded.
    pub recording: Option<Recording>,
}

impl End {
    /// The end of a stream that carried nothing, or of which nobody knows what it carried.
    pub fn bare(how: StreamEnding) -> Self {
        Self { how, to_guest_bytes: 0, from_guest_bytes: 0, recording: None }
    }
}

macro_rules! selected {
    () => {
        "SELECT s.id, s.allocation_id, s.tenant_id, s.project_id, s.node_id, s.kind, s.state, s.principal_id, s.token_id, \
         s.request_id, s.came_from, s.replica, s.agent_address, s.wanted_us, s.open_by_us, s.alive_until_us, s.opened_us, \
         s.ended_us, s.ended_how, s.to_guest_bytes, s.from_guest_bytes, s.recording_bytes, s.recording_sha256, \
         s.recording_cut FROM streams s"
    };
}

const INSERT: &str = "INSERT INTO streams (id, allocation_id, tenant_id, project_id, node_id, kind, state, principal_id, \
    token_id, request_id, came_from, replica, agent_address, wanted_us, open_by_us, alive_until_us) \
    VALUES ($1, $2, $3, $4, $5, $6, 'wanted', $7, $8, $9, $10, $11, $12, $13, $14, $15)";
const GET: &str = concat!(selected!(), " WHERE s.id = $1");
const GET_SCOPED: &str =
    concat!(selected!(), " WHERE s.id = $1 AND ", opened_by_membership!("s.tenant_id", "s.project_id", "$2", "$3"));
const OF_ALLOCATION: &str = concat!(selected!(), " WHERE s.allocation_id = $3 AND s.id > $1 ORDER BY s.id LIMIT $2");
const WANTED: &str = concat!(selected!(), " WHERE s.state = 'wanted' AND s.open_by_us > $1 ORDER BY s.id");
const WANTED_OF_NODE: &str =
    concat!(selected!(), " WHERE s.state = 'wanted' AND s.node_id = $2 AND s.open_by_us > $1 ORDER BY s.id");
const LIVE: &str = "SELECT COALESCE(SUM(CASE WHEN s.allocation_id = $1 THEN 1 ELSE 0 END), 0), \
    COALESCE(SUM(CASE WHEN s.tenant_id = $2 THEN 1 ELSE 0 END), 0), \
    COALESCE(SUM(CASE WHEN s.node_id = $3 THEN 1 ELSE 0 END), 0) FROM streams s \
    WHERE s.state <> 'ended' AND s.alive_until_us >= $4 AND (s.tenant_id = $2 OR s.node_id = $3)";
const TAKE: &str =
    "UPDATE streams SET state = 'open', opened_us = $3 WHERE id = $1 AND node_id = $2 AND state = 'wanted'";
const ALIVE: &str = "UPDATE streams SET alive_until_us = $2 WHERE id = $1 AND state <> 'ended'";
const LOST: &str = concat!(
    selected!(),
    " WHERE s.state <> 'ended' AND s.alive_until_us < $1 ORDER BY s.alive_until_us, s.id LIMIT $2"
);
const END: &str = "UPDATE streams SET state = 'ended', ended_us = $2, ended_how = $3, to_guest_bytes = $4, \
    from_guest_bytes = $5, recording_bytes = $6, recording_sha256 = $7, recording_cut = $8 \
    WHERE id = $1 AND state <> 'ended'";

fn read(row: &Row) -> Result<StreamRow, StoreError> {
    let ended: Option<StreamEnding> = row.opt_parse(18)?;
    let recording = match (row.opt_int(21)?, row.opt_text(22)?) {
        (Some(bytes), Some(sha256)) => Some(Recording { bytes, sha256: sha256.to_owned(), cut: row.flag(23)? }),
        _ => None,
    };
    Ok(StreamRow {
        id: row.parse(0)?,
        allocation_id: row.parse(1)?,
        tenant_id: row.parse(2)?,
        project_id: row.parse(3)?,
        node_id: row.parse(4)?,
        kind: row.parse(5)?,
        state: row.parse(6)?,
        principal_id: row.parse(7)?,
        token_id: row.parse(8)?,
        request_id: row.text(9)?.to_owned(),
        came_from: row.text(10)?.to_owned(),
        replica: row.text(11)?.to_owned(),
        agent_address: row.opt_text(12)?.map(str::to_owned),
        wanted: row.timestamp(13)?,
        open_by: row.timestamp(14)?,
        alive_until: row.timestamp(15)?,
        opened: row.opt_timestamp(16)?,
        ended: row.opt_timestamp(17)?.zip(ended),
        to_guest_bytes: row.int(19)?,
        from_guest_bytes: row.int(20)?,
        recording,
    })
}

/// Writes down that a stream is wanted.
pub fn insert(tx: &mut Tx<'_>, new: StreamNew<'_>, now: Timestamp) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.allocation_id.into(),
        new.tenant_id.into(),
        new.project_id.into(),
        new.node_id.into(),
        new.kind.as_str().into(),
        new.principal_id.into(),
        new.token_id.into(),
        new.request_id.into(),
        new.came_from.into(),
        new.replica.into(),
        new.agent_address.into(),
        now.into(),
        new.open_by.into(),
        new.alive_until.into(),
    ];
    tx.execute_one(INSERT, &params)
}

/// One stream, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &StreamId) -> Result<Option<StreamRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One stream, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &StreamId) -> Result<Option<StreamRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// The streams to an allocation's guest in id order, which is the order they were asked for in.
pub fn of_allocation(tx: &mut Tx<'_>, id: &AllocationId, page: Page<'_>) -> Result<Vec<StreamRow>, StoreError> {
    tx.query(OF_ALLOCATION, &[page.after.into(), page.rows().into(), id.into()])?.iter().map(read).collect()
}

/// The streams that wait for their nodes.
pub fn wanted(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<StreamRow>, StoreError> {
    tx.query(WANTED, &[now.into()])?.iter().map(read).collect()
}

/// The streams that wait for one node.
pub fn wanted_of_node(tx: &mut Tx<'_>, node_id: &NodeId, now: Timestamp) -> Result<Vec<StreamRow>, StoreError> {
    tx.query(WANTED_OF_NODE, &[now.into(), node_id.into()])?.iter().map(read).collect()
}

/// How many streams are not over, of what a new one would count to.
pub fn live(
    tx: &mut Tx<'_>,
    (allocation_id, tenant_id, node_id): (&AllocationId, &TenantId, &NodeId),
    now: Timestamp,
) -> Result<Live, StoreError> {
    let row = tx.query_one(LIVE, &[allocation_id.into(), tenant_id.into(), node_id.into(), now.into()])?;
    Ok(Live { of_allocation: row.int(0)?, of_tenant: row.int(1)?, of_node: row.int(2)? })
}

/// A node takes a stream that waits for it. False when it does not wait, or not for this node: an id is good once.
pub fn take(tx: &mut Tx<'_>, id: &StreamId, node_id: &NodeId, now: Timestamp) -> Result<bool, StoreError> {
    Ok(tx.execute(TAKE, &[id.into(), node_id.into(), now.into()])? == 1)
}

/// Says of these streams that their replica is alive until a moment.
pub fn alive(tx: &mut Tx<'_>, ids: &[StreamId], until: Timestamp) -> Result<(), StoreError> {
    ids.iter().try_for_each(|id| tx.execute(ALIVE, &[id.into(), until.into()]).map(drop))
}

/// Streams whose replica was not heard of since before a moment.
pub fn lost(tx: &mut Tx<'_>, before: Timestamp, limit: i64) -> Result<Vec<StreamRow>, StoreError> {
    tx.query(LOST, &[before.into(), limit.into()])?.iter().map(read).collect()
}

/// Ends a stream. False when it had ended before; the first end stays.
pub fn end(tx: &mut Tx<'_>, id: &StreamId, end: &End, now: Timestamp) -> Result<bool, StoreError> {
    let recording = end.recording.as_ref();
    let params = [
        id.into(),
        now.into(),
        end.how.as_str().into(),
        end.to_guest_bytes.into(),
        end.from_guest_bytes.into(),
        recording.map(|kept| kept.bytes).into(),
        recording.map(|kept| kept.sha256.as_str()).into(),
        recording.map(|kept| kept.cut).into(),
    ];
    Ok(tx.execute(END, &params)? == 1)
}
