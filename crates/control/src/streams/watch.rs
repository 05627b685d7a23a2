//! Looks again at what streams rest on, says that this replica is alive, and writes ends down. One look is one transaction for
//! all streams of the replica; it happens every [`recheck`](super::GatewayConfig::recheck), and soon after a change that was
//! made here.

use std::time::Duration;

use model::{
    AuditId, StreamId,
    stream::{StreamEnding, StreamState},
};
use serde_json::json;
use store::{
    Db, StoreError, Tx,
    audit::{self, AuditRow},
    streams::{self, End, Recording, StreamRow},
};
use tokio::time::{Instant, timeout};

use super::{Gateway, Watched, plus};
use crate::{Ports, front_door::FrontDoor, plane::Poke};

/// The end of a stream, as it is written down.
pub(super) struct Over {
    pub(super) end: End,
    /// What was typed, where that is kept.
    pub(super) typed: Option<Recording>,
}

impl Over {
    pub(super) fn bare(how: StreamEnding) -> Self {
        Self { end: End::bare(how), typed: None }
    }
}

/// How often an end is tried to be written down; after that whoever finds it lost does.
const TRIES_MAX: u32 = 5;
const LOST_PER_LOOK_MAX: i64 = 64;

impl Gateway {
    /// Keeps the reasons of streams checked, for as long as the future lives.
    pub(crate) async fn follow(&self, door: &FrontDoor, db: &Db, poke: &Poke) {
        let (recheck, alive) = (self.config().recheck, self.config().alive);
        let mut said = Instant::now();
        let purge_every = self.config().recordings.as_ref().map(|kept| kept.purge_every);
        let mut purged: Option<Instant> = None;
        loop {
            let soon = async {
                poke.next().await;
                tokio::time::sleep(recheck / 16).await;
            };
            tokio::select! {
                () = tokio::time::sleep(recheck) => {}
                () = soon => {}
            }
            self.look_again(door, db).await;
            if said.elapsed() >= alive / 4 {
                said = Instant::now();
                self.say_alive(db, door.ports()).await;
                find_lost(db, door.ports()).await;
            }
            if purge_every.is_some_and(|every| purged.is_none_or(|at| at.elapsed() >= every)) {
                purged = Some(Instant::now());
                self.purge(db, door.ports()).await;
            }
        }
    }

    /// Ends every stream, and waits until that is written down.
    pub(crate) async fn stop(&self, within: Duration) {
        for known in self.live().values() {
            let _ = known.end.send(Some(StreamEnding::ReplicaStopped));
        }
        let all = async {
            loop {
                let ended = self.0.ended.notified();
                tokio::pin!(ended);
                // Listens before it looks, so that what comes in between is not missed.
                ended.as_mut().enable();
                if self.live().is_empty() {
                    return;
                }
                ended.await;
            }
        };
        if timeout(within, all).await.is_err() {
            tracing::warn!(left = self.open_count(), "streams were cut at shutdown");
        }
    }

    async fn look_again(&self, door: &FrontDoor, db: &Db) {
        let watched: Vec<Watched> = self.live().values().map(|known| known.watched.clone()).collect();
        if watched.is_empty() {
            return;
        }
        let ids: Vec<StreamId> = watched.iter().map(|known| known.id.clone()).collect();
        let asked = timeout(self.config().recheck, door.streams_standing(db, watched)).await;
        let asked = asked.unwrap_or_else(|_| Err(StoreError::Unavailable("no answer in time".to_owned())));
        let endings = match asked {
            Ok(endings) => {
                let mut live = self.live();
                ids.iter().for_each(|id| {
                    if let Some(known) = live.get_mut(id) {
                        known.confirmed = Instant::now();
                    }
                });
                endings
            }
            Err(error) => {
                tracing::warn!(%error, "it could not be asked whether streams may go on");
                self.unconfirmed()
            }
        };
        let live = self.live();
        for (id, how) in endings {
            if let Some(known) = live.get(&id) {
                tracing::info!(stream = %id, %how, "a stream is ended");
                let _ = known.end.send(Some(how));
            }
        }
    }

    /// Streams of which nobody could say for too long that they may go on, or will not before the next look.
    fn unconfirmed(&self) -> Vec<(StreamId, StreamEnding)> {
        let config = self.config();
        let too_long = |since: Instant| since.elapsed() + config.recheck >= config.unconfirmed_max;
        let live = self.live();
        let late = live.iter().filter(|(_, known)| too_long(known.confirmed));
        late.map(|(id, _)| (id.clone(), StreamEnding::Unconfirmed)).collect()
    }

    async fn say_alive(&self, db: &Db, ports: &Ports) {
        let ids: Vec<StreamId> = self.live().keys().cloned().collect();
        if ids.is_empty() {
            return;
        }
        let until = plus(ports.now(), self.config().alive);
        if let Err(error) = db.write_async(move |tx| streams::alive(tx, &ids, until)).await {
            tracing::warn!(%error, "it could not be said that streams are alive");
        }
    }
}

/// Writes down how a stream ended, and the audit row about it. What ended before stays as it is.
pub(super) async fn write_end(db: &Db, ports: &Ports, id: &StreamId, over: Over) {
    let mut pause = Duration::from_millis(50);
    for _ in 0..TRIES_MAX {
        let (id, ports) = (id.clone(), ports.clone());
        let (end, typed) = (over.end.clone(), over.typed.clone());
        let write = move |tx: &mut Tx<'_>| end_in(tx, &ports, &id, &end, typed.as_ref());
        match db.write_async(write).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "the end of a stream could not be written down"),
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}

/// Ends what replicas left behind that are not heard of any more.
async fn find_lost(db: &Db, ports: &Ports) {
    let now = ports.now();
    let lost = match db.read_async(move |tx| streams::lost(tx, now, LOST_PER_LOOK_MAX)).await {
        Ok(lost) => lost,
        Err(error) => {
            tracing::warn!(%error, "lost streams could not be looked for");
            return;
        }
    };
    for row in lost {
        tracing::warn!(stream = %row.id, replica = row.replica, "a stream was lost with its replica");
        write_end(db, ports, &row.id, Over::bare(StreamEnding::ReplicaLost)).await;
    }
}

fn end_in(
    tx: &mut Tx<'_>,
    ports: &Ports,
    id: &StreamId,
    end: &End,
    typed: Option<&Recording>,
) -> Result<(), StoreError> {
    let now = ports.now();
    let Some(row) = streams::get(tx, id)?.filter(|row| row.state != StreamState::Ended) else { return Ok(()) };
    if !streams::end(tx, id, end, now)? {
        return Ok(());
    }
    audit::append(
        tx,
        &AuditRow {
            id: AuditId::from_parts(now, ports.id_bits()),
            actor: row.principal_id.to_string(),
            token_id: Some(row.token_id.clone()),
            action: "stream_end".to_owned(),
            subject: row.allocation_id.to_string(),
            tenant_id: Some(row.tenant_id.clone()),
            request_id: row.request_id.clone(),
            body: told(&row, end, typed, now.micros_since(row.wanted)).to_string(),
            at: now,
        },
    )
}

/// What the audit trail says about the end of a stream.
fn told(row: &StreamRow, end: &End, typed: Option<&Recording>, lasted_us: i64) -> serde_json::Value {
    let file = |kept: &Recording| json!({ "bytes": kept.bytes, "sha256": kept.sha256, "cut": kept.cut });
    let mut told = json!({
        "stream_id": row.id, "kind": row.kind, "from": row.came_from, "node_id": row.node_id, "replica": row.replica,
        "how": end.how, "seconds": lasted_us.max(0) / model::time::MICROS_PER_SECOND,
        "to_guest_bytes": end.to_guest_bytes, "from_guest_bytes": end.from_guest_bytes,
    });
    if let Some(kept) = &end.recording {
        told["recording"] = file(kept);
    }
    if let Some(kept) = typed {
        told["typed"] = file(kept);
    }
    told
}
