//! The gateway: the way in to guests that sit behind private addresses. A client asks for a stream, the node that holds the
//! guest is told with its next poll and opens a connection outward, and the two are joined here.
//!
//! ```text
//! client ── GET …/ssh, Upgrade ──▶ row `wanted` ──▶ the node's poll ──▶ agent ── POST …/streams/{id}, Upgrade ──▶ row `open`
//!   ▲                                                                                                        │
//!   └──────────────────────── 101, then bytes both ways until either side, or the platform, ends it ◀────────┘
//! ```
//!
//! What must be known by others is in the row: who, to which guest, at which replica. What is here is only what cannot be
//! shared: the two connections, and the token that is checked again and again while they are joined. A stream ends when
//! either side closes it, and within [`GatewayConfig::recheck`] and a moment when its reason is gone: the allocation leaves
//! `running`, the token or the role ends, the tenant is suspended, the node's identity is revoked. Whether that is so is
//! asked of the store; a store that does not answer ends streams too.
//!
//! Nothing is held back in memory but one buffer for each direction, so a side that reads slowly slows the other down.

mod expected;
mod join;
mod recording;
mod retention;
mod standing;
mod watch;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use api::{
    Code, Problem,
    node_plane::{STREAM_OPEN_S_MAX, StreamWanted},
};
use hyper::upgrade::Upgraded;
use model::{NodeId, StreamId, Timestamp, stream::StreamEnding};
use store::{Db, StoreError, streams, streams::StreamRow};
use tokio::{
    sync::{Notify, oneshot, watch as channel},
    time::Instant,
};

use crate::{Ports, authz::token::Secret};

pub(crate) use expected::Expected;
pub(crate) use join::keep_alive;
pub(crate) use retention::is_over;
pub use standing::Opening;
pub(crate) use standing::{Watched, check_room, closed, ending, way_in};

/// What is kept of what consoles print.
#[derive(Debug, Clone)]
pub struct RecordingConfig {
    /// Where the files are.
    pub folder: PathBuf,
    /// How much of one stream is kept.
    pub bytes_max: u64,
    /// Whether what is typed is kept too, in a file of its own that is not offered for download.
    pub keystrokes: bool,
    /// For how long after the end of its stream a file is kept.
    pub keep: Duration,
    /// How often files are looked for that are kept no longer.
    pub purge_every: Duration,
}

/// For how long recordings are usually kept.
pub const RECORDINGS_KEEP_DAYS: u64 = 30;

impl RecordingConfig {
    /// The usual settings for a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            bytes_max: 16 * 1024 * 1024,
            keystrokes: false,
            keep: Duration::from_secs(RECORDINGS_KEEP_DAYS * 86_400),
            purge_every: Duration::from_secs(3600),
        }
    }
}

/// How the gateway works.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// How long a node has to open a stream.
    pub open_within: Duration,
    /// How often the reasons of all open streams are checked, besides at once after a change through this replica.
    pub recheck: Duration,
    /// How long a stream goes on when the store cannot be asked.
    pub unconfirmed_max: Duration,
    /// How long a stream with one side closed waits for a byte from the other.
    pub half_open_max: Duration,
    /// For how long a replica that says nothing is taken to be alive.
    pub alive: Duration,
    /// Streams to one guest at most.
    pub per_allocation_max: i64,
    /// Streams to the guests of one tenant at most.
    pub per_tenant_max: i64,
    /// Streams to the guests of one node at most.
    pub per_node_max: i64,
    /// What is kept of what consoles print; without it there are no consoles.
    pub recordings: Option<RecordingConfig>,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            open_within: Duration::from_secs(STREAM_OPEN_S_MAX),
            recheck: Duration::from_secs(2),
            unconfirmed_max: Duration::from_secs(5),
            half_open_max: Duration::from_secs(60),
            alive: Duration::from_secs(60),
            per_allocation_max: 8,
            per_tenant_max: 64,
            per_node_max: 128,
            recordings: None,
        }
    }
}

/// The gateway of one replica, shared by the door of the API, where clients come in, and the door of the agents. Cheap to
/// clone.
#[derive(Debug, Clone, Default)]
pub struct Gateway(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    config: GatewayConfig,
    address: OnceLock<String>,
    live: Mutex<HashMap<StreamId, Live>>,
    ended: Notify,
    flow: Flow,
}

/// A stream whose client is here.
#[derive(Debug)]
struct Live {
    watched: Watched,
    deliver: Option<oneshot::Sender<Result<Upgraded, String>>>,
    end: channel::Sender<Option<StreamEnding>>,
    confirmed: Instant,
}

/// How many bytes are between the two connections of all streams, now and at most so far.
#[derive(Debug, Default)]
struct Flow {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Flow {
    fn enter(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, Ordering::AcqRel) + bytes;
        self.most.fetch_max(now, Ordering::AcqRel);
    }
    fn leave(&self, bytes: usize) {
        self.now.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// Why a node does not get a stream.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// There is no such stream for it: never was, is another node's, was taken or is over.
    Unknown,
    /// The stream waits for another node.
    NotYours,
    /// The client is at another replica, or not quite here yet.
    Elsewhere,
    /// The store's trouble.
    Store(StoreError),
}

impl NotTaken {
    pub(crate) fn into_problem(self) -> Problem {
        match self {
            Self::Unknown | Self::NotYours => Problem::not_found(),
            Self::Elsewhere => Problem::new(Code::StateConflict, "The client of the stream is not at this replica."),
            Self::Store(error) => crate::front_door::Refusal::from(error).into_problem(),
        }
    }
}

impl From<StoreError> for NotTaken {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Gateway {
    /// A gateway that works like this.
    pub fn new(config: GatewayConfig) -> Self {
        Self(Arc::new(Inner { config, ..Inner::default() }))
    }

    /// How it works.
    pub fn config(&self) -> &GatewayConfig {
        &self.0.config
    }

    /// Says where agents reach this replica, as `https://name:port`, so that an agent that polls at another one still
    /// finds the client. Said once; later words change nothing.
    pub fn advertise(&self, address: impl Into<String>) {
        let _ = self.0.address.set(address.into());
    }

    /// Where agents reach this replica, if that was said.
    pub fn address(&self) -> Option<&str> {
        self.0.address.get().map(String::as_str)
    }

    /// How many streams have their client here.
    pub fn open_count(&self) -> usize {
        self.live().len()
    }

    /// How many bytes were read from one side and not yet written to the other, over all streams: now, and the most so far.
    pub fn buffered_bytes(&self) -> (usize, usize) {
        (self.0.flow.now.load(Ordering::Acquire), self.0.flow.most.load(Ordering::Acquire))
    }

    /// Where the recording of a stream is, if this replica keeps recordings.
    pub(crate) fn recording_path(&self, id: &StreamId) -> Option<PathBuf> {
        self.0.config.recordings.as_ref().map(|kept| recording::printed_path(&kept.folder, id))
    }

    /// Begins to wait for the node of a stream that was written down.
    pub(crate) fn expect(&self, db: &Db, ports: &Ports, opening: Opening, secret: Secret) -> Expected {
        let (deliver, arrival) = oneshot::channel();
        let (end, ending) = channel::channel(None);
        let watched = Watched {
            id: opening.id.clone(),
            allocation_id: opening.allocation_id.clone(),
            node_id: opening.node_id.clone(),
            secret,
            serial: None,
        };
        let live = Live { watched, deliver: Some(deliver), end, confirmed: Instant::now() };
        self.live().insert(opening.id.clone(), live);
        Expected::new(self.clone(), (db.clone(), ports.clone()), opening, (arrival, ending))
    }

    /// A node takes a stream, with this certificate. What is answered takes the connection when it is upgraded.
    pub(crate) async fn take(
        &self,
        (db, ports): (&Db, &Ports),
        (node, serial): (&NodeId, &str),
        id: &StreamId,
    ) -> Result<oneshot::Sender<Result<Upgraded, String>>, NotTaken> {
        self.is_for(db, node, id).await?;
        let (stream, to, now) = (id.clone(), node.clone(), ports.now());
        if !db.write_async(move |tx| Ok::<_, NotTaken>(streams::take(tx, &stream, &to, now)?)).await? {
            return Err(NotTaken::Unknown);
        }
        let mut live = self.live();
        let known = live.get_mut(id).ok_or(NotTaken::Unknown)?;
        known.watched.serial = Some(serial.to_owned());
        known.deliver.take().ok_or(NotTaken::Unknown)
    }

    /// A node says that it cannot open a stream.
    pub(crate) async fn refuse(&self, db: &Db, node: &NodeId, id: &StreamId, why: &str) -> Result<(), NotTaken> {
        self.is_for(db, node, id).await?;
        let deliver = self.live().get_mut(id).and_then(|known| known.deliver.take()).ok_or(NotTaken::Unknown)?;
        let _ = deliver.send(Err(why.chars().filter(|c| !c.is_control()).take(300).collect()));
        Ok(())
    }

    /// Whether a stream has its client here and waits for this node.
    async fn is_for(&self, db: &Db, node: &NodeId, id: &StreamId) -> Result<(), NotTaken> {
        if let Some(known) = self.live().get(id) {
            return if known.watched.node_id == *node { Ok(()) } else { Err(NotTaken::NotYours) };
        }
        let stream = id.clone();
        let row = db.read_async(move |tx| streams::get(tx, &stream)).await?;
        match row {
            None => Err(NotTaken::Unknown),
            Some(row) if row.node_id != *node => Err(NotTaken::NotYours),
            Some(row) if row.state == model::stream::StreamState::Wanted => Err(NotTaken::Elsewhere),
            Some(_) => Err(NotTaken::Unknown),
        }
    }

    // What the lock guards is whole at every moment, so a panic elsewhere does not spoil it.
    fn live(&self) -> MutexGuard<'_, HashMap<StreamId, Live>> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: &StreamId) {
        self.live().remove(id);
        self.0.ended.notify_waiters();
    }
}

/// What the node of a stream is told.
pub(crate) fn wanted(row: &StreamRow) -> StreamWanted {
    StreamWanted {
        id: row.id.clone(),
        allocation_id: row.allocation_id.clone(),
        kind: row.kind,
        address: row.agent_address.clone(),
    }
}

pub(crate) fn plus(now: Timestamp, time: Duration) -> Timestamp {
    now.plus_micros(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_on_their_way_are_counted() {
        let flow = Flow::default();
        flow.enter(10);
        flow.enter(5);
        flow.leave(10);
        flow.enter(1);
        assert_eq!((flow.now.load(Ordering::Acquire), flow.most.load(Ordering::Acquire)), (6, 15));
    }

    #[test]
    fn the_first_address_stays() {
        let gateway = Gateway::default();
        assert_eq!(gateway.address(), None);
        gateway.advertise("https://one:1");
        gateway.advertise("https://two:2");
        assert_eq!(gateway.address(), Some("https://one:1"));
    }

    #[test]
    fn the_usual_settings_leave_room_within_five_seconds() {
        // That streams end when their reasons are looked at is shown where streams are carried; here, that the usual settings
        // look early enough: a reason that is gone just after a look is seen at the next, with as long again to look.
        let (usual, promised) = (GatewayConfig::default(), Duration::from_secs(5));
        assert!(usual.recheck * 2 < promised, "{:?}", usual.recheck);
        assert!(usual.unconfirmed_max <= promised, "{:?}", usual.unconfirmed_max);
    }
}
