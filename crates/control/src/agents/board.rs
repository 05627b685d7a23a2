//! Which nodes have orders, and which are asked to open a stream, for all polls that are being held at once. One query each
//! tells it for the whole fleet; they are made right after something was recorded through this replica, and every two seconds
//! for what another replica did, and only while somebody waits. A poll that waits is one entry in a map and no thread, and only the polls of nodes with new orders are woken.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{NodeId, StreamId};
use store::{Db, StoreError, Tx, streams, tasks};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use crate::{Ports, node_plane::NodePlane, plane::Poke};

/// How old the answer may be for orders that another replica gave.
const EVERY: Duration = Duration::from_secs(2);
/// The board is not read more often than this, however often it is asked for.
const GAP: Duration = Duration::from_millis(25);

/// What is known of a node's orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orders {
    /// There are none.
    None,
    /// There are some, and all were handed out before.
    HandedOut,
    /// There is one that was not handed out yet.
    Waiting,
}

#[derive(Debug, Default)]
pub(super) struct Board {
    state: Mutex<State>,
    // Asks for a look out of turn.
    look: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<NodeId, bool>,
    wanted: HashMap<NodeId, Vec<StreamId>>,
    // Wanted streams that their node was told of by this replica. One that lost it says so with a new connection.
    told: HashSet<StreamId>,
    read: Option<Instant>,
    polls: HashMap<NodeId, Arc<Notify>>,
}

/// A poll that is being held. Dropping it takes it off the board.
#[derive(Debug)]
pub(super) struct Held<'a> {
    board: &'a Board,
    node: NodeId,
    notify: Arc<Notify>,
}

impl Board {
    /// What is known of a node's orders, when that is fresh enough to rely on.
    pub(super) fn orders(&self, node: &NodeId) -> Option<Orders> {
        let state = self.lock();
        state.read.filter(|read| read.elapsed() < 2 * EVERY)?;
        Some(match state.open.get(node) {
            None => Orders::None,
            Some(false) => Orders::HandedOut,
            Some(true) => Orders::Waiting,
        })
    }

    /// Whether a node is wanted to open a stream that it was not told of here, or, `again`, any.
    pub(super) fn stream_waits(&self, node: &NodeId, again: bool) -> bool {
        self.lock().stream_waits(node, again)
    }

    /// Says that a node was told of these streams.
    pub(super) fn told<'a>(&self, streams: impl Iterator<Item = &'a StreamId>) {
        self.lock().told.extend(streams.cloned());
    }

    /// Begins to hold a poll.
    pub(super) fn hold(&self, node: &NodeId) -> Held<'_> {
        let mut state = self.lock();
        let notify = Arc::clone(state.polls.entry(node.clone()).or_default());
        let stale = state.read.is_none_or(|read| read.elapsed() >= EVERY);
        drop(state);
        if stale {
            self.look.notify_one();
        }
        Held { board: self, node: node.clone(), notify }
    }

    /// Says that a node took all that was waiting for it, so that its next poll is held.
    pub(super) fn handed_out(&self, node: &NodeId) {
        if let Some(waiting) = self.lock().open.get_mut(node) {
            *waiting = false;
        }
    }

    /// Keeps the board current for as long as the future lives.
    pub(super) async fn follow(
        &self,
        (db, ports): (&Db, &Ports),
        plane: &NodePlane,
        poke: &Poke,
        mut stop: watch::Receiver<bool>,
    ) {
        loop {
            tokio::select! {
                () = plane.orders_next() => {}
                () = poke.next() => {}
                () = self.look.notified() => {}
                () = tokio::time::sleep(EVERY) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            if !self.lock().polls.is_empty() {
                self.read(db, ports).await;
                tokio::time::sleep(GAP).await;
            }
        }
    }

    pub(super) async fn read(&self, db: &Db, ports: &Ports) {
        let (started, now) = (Instant::now(), ports.now());
        let both = move |tx: &mut Tx<'_>| Ok::<_, StoreError>((tasks::nodes_with_open(tx)?, streams::wanted(tx, now)?));
        let (open, wanted) = match db.read_async(both).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "it could not be read which nodes have orders");
                return;
            }
        };
        let mut state = self.lock();
        state.open.clear();
        state.read = Some(started);
        let mut wake = Vec::new();
        for (node, waiting) in open {
            if waiting && let Some(poll) = state.polls.get(&node) {
                wake.push(Arc::clone(poll));
            }
            state.open.insert(node, waiting);
        }
        state.wanted.clear();
        let still: HashSet<StreamId> = wanted.iter().map(|row| row.id.clone()).collect();
        state.told.retain(|id| still.contains(id));
        for row in wanted {
            state.wanted.entry(row.node_id).or_default().push(row.id);
        }
        let asked = state.wanted.keys().filter(|node| state.stream_waits(node, false));
        wake.extend(asked.filter_map(|node| state.polls.get(node)).map(Arc::clone));
        drop(state);
        wake.iter().for_each(|poll| poll.notify_waiters());
    }

    // What the lock guards is whole at every moment, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn stream_waits(&self, node: &NodeId, again: bool) -> bool {
        self.wanted.get(node).is_some_and(|ids| ids.iter().any(|id| again || !self.told.contains(id)))
    }
}

impl Held<'_> {
    /// Waits until the node has an order that was not handed out, or a stream that it was not told of. It may be gone again by the time this is looked at.
    pub(super) async fn ordered(&self) {
        let woken = self.notify.notified();
        tokio::pin!(woken);
        // Listens before it looks, so that what comes in between is not missed.
        woken.as_mut().enable();
        let waits = self.board.stream_waits(&self.node, false);
        if waits || self.board.orders(&self.node) == Some(Orders::Waiting) {
            return;
        }
        woken.await;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut state = self.board.lock();
        // The map and this are the last two that know of it.
        if Arc::strong_count(&self.notify) <= 2 {
            state.polls.remove(&self.node);
        }
    }
}
