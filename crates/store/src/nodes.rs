//! Nodes: enrolled GPU hosts. Heartbeats arrive often and mean little one by one, so they are collected in memory and
//! written in batches here; they raise no version and write no event. Whether a node counts as online or silent is a
//! state, entered by the driver like any other.

use model::event::{Change as What, Noun};
use model::supply::{GpuModel, NodeDesired, NodeProfile, NodeState};
use model::time::MICROS_PER_SECOND;
use model::{NodeId, PoolId, Timestamp};

use crate::living::{Life, Seen, life_begins_anew, life_columns};
use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    /// Its id.
    pub id: NodeId,
    /// Its pool.
    pub pool_id: PoolId,
    /// Its host name, unique.
    pub name: String,
    /// What it carries.
    pub gpu_model: GpuModel,
    /// The Ed25519 key its proofs are signed with, in hexadecimal.
    pub public_key: String,
    /// Sellable sets of GPU module ids, as JSON.
    pub partitions: String,
    /// The last heartbeat that was written down.
    pub last_seen: Option<Timestamp>,
    /// Raised in the transaction that gives the whole node to a tenant.
    pub use_generation: i64,
    /// Its number among all nodes, for ever; MAC addresses are derived from it.
    pub number: i64,
    /// Its number in its pool, for ever; private addresses are derived from it.
    pub pool_number: i64,
    /// Its mainboard's serial number.
    pub hardware_serial: Option<String>,
    /// What operators want of it.
    pub desired: NodeDesired,
    /// Why, in their words.
    pub desired_reason: String,
    /// What it is meant for, as a JSON list.
    pub profiles: String,
    /// Since when it may be cut into slices.
    pub promoted: Option<Timestamp>,
    /// What its agent said of its readiness, as JSON.
    pub readiness: Option<String>,
    /// When.
    pub readiness_at: Option<Timestamp>,
    /// The version of its agent.
    pub agent_version: String,
    /// How many times its agent has started.
    pub agent_boot: i64,
    /// The process that its agent is now.
    pub agent_session: String,
    /// Which machine it is, and whose.
    pub machine: Option<MachineRef>,
    /// The mark under which the platform's own host was installed on that machine.
    pub machine_mark: Option<String>,
    /// Since when the machine is a tenant's. Its agent has no identity until its host is enrolled again.
    pub handed_over: Option<Timestamp>,
    /// What it is being turned into, and since when.
    pub converting: Option<(NodeProfile, Timestamp)>,
    /// Whether its agent has been heard of lately.
    pub state: NodeState,
    /// Waits, looks and faults.
    pub life: Life,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

/// A machine at its provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineRef {
    /// Who has it.
    pub provider: String,
    /// Its id there.
    pub machine_id: String,
}

// What stands in the place of a key while a tenant has the machine: no signature and no certificate can match it.
macro_rules! no_key {
    () => {
        "handed-over:"
    };
}

impl NodeRow {
    /// Whether nobody can speak for it now: a tenant has the machine, and its host was not enrolled again yet.
    pub fn is_without_identity(&self) -> bool {
        self.public_key.starts_with(no_key!())
    }
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: self.life.look }
    }
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Node, what, self.id.as_str(), self.version + 1)
    }
}

/// A node to record.
#[derive(Debug, Clone, Copy)]
pub struct NodeNew<'a> {
    /// Its id.
    pub id: &'a NodeId,
    /// Its pool.
    pub pool_id: &'a PoolId,
    /// Its host name.
    pub name: &'a str,
    /// What it carries.
    pub gpu_model: GpuModel,
    /// The Ed25519 key its proofs are signed with, in hexadecimal.
    pub public_key: &'a str,
    /// Sellable sets of GPU module ids, as JSON.
    pub partitions: &'a str,
    /// Its mainboard's serial number.
    pub hardware_serial: Option<&'a str>,
    /// What it is meant for, as a JSON list.
    pub profiles: &'a str,
    /// Since when it may be cut into slices; a host that comes in is not promoted.
    pub promoted: Option<Timestamp>,
}

macro_rules! selected {
    () => {
        concat!(
            "SELECT n.id, n.pool_id, n.name, n.gpu_model, n.public_key, n.partitions, n.last_seen_us, ",
            "n.use_generation, n.state, n.version, n.created_us, n.number, n.pool_number, n.hardware_serial, ",
            "n.desired, n.desired_reason, n.profiles, n.promoted_us, n.readiness, n.readiness_us, n.agent_version, ",
            "n.agent_boot, n.agent_session, n.provider, n.machine_id, n.machine_mark, n.handed_over_us, ",
            "n.converting_to, n.converting_us, ",
            life_columns!("n"),
            " FROM nodes n"
        )
    };
}

// Numbers are never given twice: nodes are not deleted, and two that are recorded at once race for the unique index.
const INSERT: &str = "INSERT INTO nodes (id, pool_id, name, gpu_model, public_key, partitions, state, state_since_us, \
    look_us, version, created_us, hardware_serial, profiles, promoted_us, number, pool_number) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, 1, $8, $9, $10, $11, \
    (SELECT COALESCE(MAX(number), 0) + 1 FROM nodes), \
    (SELECT COALESCE(MAX(pool_number), 0) + 1 FROM nodes WHERE pool_id = $2))";
const INSERT_OCCUPANCY: &str = "INSERT INTO node_occupancy (node_id, mode) VALUES ($1, 'free')";
const GET: &str = concat!(selected!(), " WHERE n.id = $1");
const BY_NAME: &str = concat!(selected!(), " WHERE n.name = $1");
const BY_KEY: &str = concat!(selected!(), " WHERE n.public_key = $1");
const BY_SERIAL: &str = concat!(selected!(), " WHERE n.hardware_serial = $1");
const LIST: &str =
    concat!(selected!(), " WHERE n.id > $1 AND (CAST($3 AS TEXT) IS NULL OR n.pool_id = $3) ORDER BY n.id LIMIT $2");
const ENTER: &str = concat!(
    "UPDATE nodes SET state = $3, ",
    life_begins_anew!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const RAISE: &str = "UPDATE nodes SET use_generation = use_generation + 1, version = version + 1 \
    WHERE id = $1 AND version = $2";
const WISH: &str = "UPDATE nodes SET desired = $3, desired_reason = $4, version = version + 1 \
    WHERE id = $1 AND version = $2";
const SET_PROFILES: &str = "UPDATE nodes SET profiles = $3, version = version + 1 WHERE id = $1 AND version = $2";
const SET_PROMOTED: &str = "UPDATE nodes SET promoted_us = $3, version = version + 1 WHERE id = $1 AND version = $2";
const SET_READINESS: &str = "UPDATE nodes SET readiness = $3, readiness_us = $4, version = version + 1 \
    WHERE id = $1 AND version = $2";
const SET_IDENTITY: &str = "UPDATE nodes SET public_key = $3, hardware_serial = $4, agent_boot = 0, agent_session = '', \
    version = version + 1 WHERE id = $1 AND version = $2";
const SET_AGENT: &str = "UPDATE nodes SET agent_version = $3, agent_boot = $4, agent_session = $5, \
    version = version + 1 WHERE id = $1 AND version = $2";
const AGENTS: &str = "SELECT id, agent_boot, agent_session FROM nodes ORDER BY id";
const SET_AGENT_VERSION: &str = "UPDATE nodes SET agent_version = $2 WHERE id = $1";
const NOTE_REVOKED: &str = "UPDATE nodes SET version = version + 1 WHERE id = $1 AND version = $2";
const SET_MACHINE: &str = "UPDATE nodes SET provider = $3, machine_id = $4, machine_mark = NULL, version = version + 1 \
    WHERE id = $1 AND version = $2 AND handed_over_us IS NULL";
const SET_MACHINE_MARK: &str =
    "UPDATE nodes SET machine_mark = $3, version = version + 1 WHERE id = $1 AND version = $2";
const HAND_OVER: &str = concat!(
    "UPDATE nodes SET handed_over_us = COALESCE(handed_over_us, $3), machine_mark = NULL, public_key = '",
    no_key!(),
    "' || id, agent_boot = 0, agent_session = '', last_seen_us = NULL, readiness = NULL, readiness_us = NULL, look_us = $3, ",
    "version = version + 1 WHERE id = $1 AND version = $2"
);
const TAKE_BACK: &str = "UPDATE nodes SET handed_over_us = NULL, look_us = $3, version = version + 1 \
    WHERE id = $1 AND version = $2 AND handed_over_us IS NOT NULL";
const SET_CONVERTING: &str = "UPDATE nodes SET converting_to = $3, converting_us = $4, look_us = $5, version = version + 1 \
    WHERE id = $1 AND version = $2";
const CONVERTED: &str = "UPDATE nodes SET converting_to = NULL, converting_us = NULL, profiles = $3, promoted_us = NULL, \
    readiness = NULL, readiness_us = NULL, version = version + 1 WHERE id = $1 AND version = $2";
const BY_MACHINE: &str = concat!(selected!(), " WHERE n.provider = $1 AND n.machine_id = $2");
const OF_PROVIDER: &str = concat!(selected!(), " WHERE n.provider = $3 AND n.id > $1 ORDER BY n.id LIMIT $2");
const SET_PARTITIONS: &str = "UPDATE nodes SET partitions = $3, version = version + 1 WHERE id = $1 AND version = $2";
const SET_FOUND: &str = "UPDATE nodes SET partitions = $3, readiness = $4, readiness_us = $5, hardware_serial = $6, \
    version = version + 1 WHERE id = $1 AND version = $2";
// One document of {node id: micros}. A late heartbeat never moves time back; a node that was not online is looked at. An
// online node need not be looked at before its lease could run out, so its look is pushed on when it comes near: a healthy
// fleet is never looked at. A look that is due, or as good as due, stays:
// somebody may have asked for it. So does one that failed before, and one of a node that is being turned into something else.
const HEARTBEATS: &str = "UPDATE nodes SET last_seen_us = CAST(CAST(beat.value AS TEXT) AS BIGINT), \
    look_us = CASE WHEN state = 'online' AND look_us > $3 AND look_us < $4 AND faults = 0 \
    AND converting_to IS NULL \
    THEN CAST(CAST(beat.value AS TEXT) AS BIGINT) + $5 \
    WHEN state = 'online' THEN look_us WHEN look_us <= $2 THEN look_us - 1 ELSE $2 END \
    FROM json_each(json(CAST($1 AS TEXT))) AS beat WHERE nodes.id = beat.key \
    AND nodes.public_key NOT LIKE 'handed-over:%' \
    AND (last_seen_us IS NULL OR last_seen_us < CAST(CAST(beat.value AS TEXT) AS BIGINT))";
// Sooner than this a look is somebody's wish.
const SOON_S: i64 = 2;

fn read(row: &Row) -> Result<NodeRow, StoreError> {
    Ok(NodeRow {
        id: row.parse(0)?,
        pool_id: row.parse(1)?,
        name: row.text(2)?.to_owned(),
        gpu_model: row.parse(3)?,
        public_key: row.text(4)?.to_owned(),
        partitions: row.text(5)?.to_owned(),
        last_seen: row.opt_timestamp(6)?,
        use_generation: row.int(7)?,
        state: row.parse(8)?,
        version: row.int(9)?,
        created: row.timestamp(10)?,
        number: row.int(11)?,
        pool_number: row.int(12)?,
        hardware_serial: row.opt_text(13)?.map(str::to_owned),
        desired: row.parse(14)?,
        desired_reason: row.text(15)?.to_owned(),
        profiles: row.text(16)?.to_owned(),
        promoted: row.opt_timestamp(17)?,
        readiness: row.opt_text(18)?.map(str::to_owned),
        readiness_at: row.opt_timestamp(19)?,
        agent_version: row.text(20)?.to_owned(),
        agent_boot: row.int(21)?,
        agent_session: row.text(22)?.to_owned(),
        machine: match (row.opt_text(23)?, row.opt_text(24)?) {
            (Some(provider), Some(id)) => Some(MachineRef { provider: provider.to_owned(), machine_id: id.to_owned() }),
            _ => None,
        },
        machine_mark: row.opt_text(25)?.map(str::to_owned),
        handed_over: row.opt_timestamp(26)?,
        converting: row.opt_parse(27)?.zip(row.opt_timestamp(28)?),
        life: Life::read(row, 29)?,
    })
}

/// Records a new node: `enrolled`, free of claims, due for a look.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: NodeNew<'_>) -> Result<(), StoreError> {
    let state = NodeState::Enrolled.as_str();
    let params = [
        new.id.into(),
        new.pool_id.into(),
        new.name.into(),
        new.gpu_model.as_str().into(),
        new.public_key.into(),
        new.partitions.into(),
        state.into(),
        stamp.now.into(),
        new.hardware_serial.into(),
        new.profiles.into(),
        new.promoted.into(),
    ];
    let change = Change::of(Noun::Node, What::Created, new.id.as_str(), 1).states(None, state);
    record::created(tx, stamp, INSERT, &params, change)?;
    tx.execute(INSERT_OCCUPANCY, &[new.id.into()])?;
    Ok(())
}

/// One node.
pub fn get(tx: &mut Tx<'_>, id: &NodeId) -> Result<Option<NodeRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The node with this host name.
pub fn by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<NodeRow>, StoreError> {
    tx.query_opt(BY_NAME, &[name.into()])?.as_ref().map(read).transpose()
}

/// The node with this public key: what an agent that proves its key may act for.
pub fn by_public_key(tx: &mut Tx<'_>, public_key: &str) -> Result<Option<NodeRow>, StoreError> {
    tx.query_opt(BY_KEY, &[public_key.into()])?.as_ref().map(read).transpose()
}

/// The node with this mainboard.
pub fn by_hardware_serial(tx: &mut Tx<'_>, serial: &str) -> Result<Option<NodeRow>, StoreError> {
    tx.query_opt(BY_SERIAL, &[serial.into()])?.as_ref().map(read).transpose()
}

/// Which process the agent of every node is: how many times it has started, and its session.
pub fn agents(tx: &mut Tx<'_>) -> Result<Vec<(NodeId, i64, String)>, StoreError> {
    let read = |row: &Row| Ok((row.parse(0)?, row.int(1)?, row.text(2)?.to_owned()));
    tx.query(AGENTS, &[])?.iter().map(read).collect()
}

/// Nodes in id order, of one pool where one is given.
pub fn list(tx: &mut Tx<'_>, pool_id: Option<&PoolId>, page: Page<'_>) -> Result<Vec<NodeRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into(), pool_id.into()])?.iter().map(read).collect()
}

/// Moves a node to a state.
pub fn enter(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    state: NodeState,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), state.as_str().into(), stamp.now.into()];
    let change = node.change(What::StateChanged).states(Some(node.state.as_str()), state.as_str()).because(reason);
    record::changed(tx, stamp, ENTER, &params, change)
}

/// Begins a new use of the whole node, before any tenant code can run on it. Answers the generation that fences it.
pub fn raise_generation(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into()];
    record::changed(tx, stamp, RAISE, &params, node.change(What::Updated).because(Some("claimed")))?;
    Ok(node.use_generation + 1)
}

/// Stores the sellable sets that were read from the node.
pub fn set_partitions(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    partitions: &str,
) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), partitions.into()];
    record::changed(tx, stamp, SET_PARTITIONS, &params, node.change(What::Updated))
}

/// Says what operators want of a node, and why.
pub fn wish(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    desired: NodeDesired,
    reason: &str,
) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), desired.as_str().into(), reason.into()];
    record::changed(tx, stamp, WISH, &params, node.change(What::Wished).because(Some(desired.as_str())))
}

/// Stores what a node is meant for.
pub fn set_profiles(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow, profiles: &str) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), profiles.into()];
    record::changed(tx, stamp, SET_PROFILES, &params, node.change(What::Updated).because(Some("profiles")))
}

/// Promotes a node to slice use, or takes that back.
pub fn set_promoted(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    promoted: Option<Timestamp>,
) -> Result<i64, StoreError> {
    let reason = if promoted.is_some() { "promoted" } else { "demoted" };
    let params = [(&node.id).into(), node.version.into(), promoted.into()];
    record::changed(tx, stamp, SET_PROMOTED, &params, node.change(What::Updated).because(Some(reason)))
}

/// Stores what a node's agent said of its readiness.
pub fn set_readiness(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    readiness: &str,
) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), readiness.into(), stamp.now.into()];
    record::changed(tx, stamp, SET_READINESS, &params, node.change(What::Updated).because(Some("readiness")))
}

/// What a discovery says about the node itself.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Sellable sets of GPU module ids, as JSON.
    pub partitions: &'a str,
    /// Whether it is ready for slices, as JSON.
    pub readiness: &'a str,
    /// Its mainboard's serial number.
    pub hardware_serial: Option<&'a str>,
}

/// Stores what a discovery says about the node itself.
pub fn set_found(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow, found: Found<'_>) -> Result<i64, StoreError> {
    let params = [
        (&node.id).into(),
        node.version.into(),
        found.partitions.into(),
        found.readiness.into(),
        stamp.now.into(),
        found.hardware_serial.into(),
    ];
    record::changed(tx, stamp, SET_FOUND, &params, node.change(What::Updated).because(Some("discovered")))
}

/// Gives a node a new key when its host is enrolled again. Its agent begins to count anew.
pub fn set_identity(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    public_key: &str,
    hardware_serial: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), public_key.into(), hardware_serial.into()];
    record::changed(tx, stamp, SET_IDENTITY, &params, node.change(What::Updated).because(Some("enrolled_again")))
}

/// Notes which process a node's agent is now.
pub fn set_agent(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    version: &str,
    boot: i64,
    session: &str,
) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), version.into(), boot.into(), session.into()];
    record::changed(tx, stamp, SET_AGENT, &params, node.change(What::Updated).because(Some("agent_started")))
}

/// Notes the version of a node's agent, as it said of itself; like a heartbeat this is no transition.
pub fn set_agent_version(tx: &mut Tx<'_>, id: &NodeId, version: &str) -> Result<(), StoreError> {
    tx.execute_one(SET_AGENT_VERSION, &[id.into(), version.into()])
}

/// Notes with the node that its certificates were revoked.
pub fn note_revoked(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into()];
    record::changed(tx, stamp, NOTE_REVOKED, &params, node.change(What::Updated).because(Some("identity_revoked")))
}

/// The node that is this machine.
pub fn by_machine(tx: &mut Tx<'_>, machine: &MachineRef) -> Result<Option<NodeRow>, StoreError> {
    let params = [machine.provider.as_str().into(), machine.machine_id.as_str().into()];
    tx.query_opt(BY_MACHINE, &params)?.as_ref().map(read).transpose()
}

/// The nodes that are machines of a provider, in id order.
pub fn of_provider(tx: &mut Tx<'_>, provider: &str, page: Page<'_>) -> Result<Vec<NodeRow>, StoreError> {
    tx.query(OF_PROVIDER, &[page.after.into(), page.rows().into(), provider.into()])?.iter().map(read).collect()
}

/// Says which machine a node is. `StaleVersion` when it was changed since, or when a tenant has its machine.
pub fn set_machine(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    machine: Option<&MachineRef>,
) -> Result<i64, StoreError> {
    let params = [
        (&node.id).into(),
        node.version.into(),
        machine.map(|machine| machine.provider.as_str()).into(),
        machine.map(|machine| machine.machine_id.as_str()).into(),
    ];
    record::changed(tx, stamp, SET_MACHINE, &params, node.change(What::Updated).because(Some("machine")))
}

/// Notes under which mark the platform's own host was installed.
pub fn set_machine_mark(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow, mark: &str) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), mark.into()];
    record::changed(tx, stamp, SET_MACHINE_MARK, &params, node.change(What::Updated).because(Some("machine_installed")))
}

/// Gives the machine to a tenant: from here on nobody speaks for the node, and what was known of its host is not known
/// any more. Its certificates are the caller's matter, in the same transaction.
pub fn hand_over(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), stamp.now.into()];
    record::changed(tx, stamp, HAND_OVER, &params, node.change(What::Updated).because(Some("handed_over")))
}

/// The machine is the platform's again.
pub fn take_back(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), stamp.now.into()];
    record::changed(tx, stamp, TAKE_BACK, &params, node.change(What::Updated).because(Some("taken_back")))
}

/// Begins to turn a node into something else, or gives that up.
pub fn set_converting(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    to: Option<NodeProfile>,
) -> Result<i64, StoreError> {
    let params = [
        (&node.id).into(),
        node.version.into(),
        to.map(NodeProfile::as_str).into(),
        to.map(|_| stamp.now).into(),
        stamp.now.into(),
    ];
    let reason = if to.is_some() { "converting" } else { "conversion_ended" };
    record::changed(tx, stamp, SET_CONVERTING, &params, node.change(What::Updated).because(Some(reason)))
}

/// The node has become what it was turned into. Whatever let it be cut into slices has to be shown again.
pub fn converted(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow, profiles: &str) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), profiles.into()];
    record::changed(tx, stamp, CONVERTED, &params, node.change(What::Updated).because(Some("converted")))
}

/// Writes down heartbeats that were collected in memory; says how many nodes they moved. A node is good for `lease_s`
/// seconds after each.
pub fn heartbeats_flush(
    tx: &mut Tx<'_>,
    beats: &[(NodeId, Timestamp)],
    now: Timestamp,
    lease_s: i64,
) -> Result<u64, StoreError> {
    if beats.is_empty() {
        return Ok(0);
    }
    let mut latest = serde_json::Map::new();
    for (id, at) in beats {
        let known = latest.get(id.as_str()).and_then(serde_json::Value::as_i64).unwrap_or(0);
        latest.insert(id.as_str().to_owned(), at.as_micros().max(known).into());
    }
    let params = [
        serde_json::Value::Object(latest).to_string().into(),
        now.into(),
        now.plus_seconds(SOON_S).into(),
        now.plus_seconds(lease_s / 2).into(),
        (lease_s * MICROS_PER_SECOND).into(),
    ];
    tx.execute(HEARTBEATS, &params)
}
