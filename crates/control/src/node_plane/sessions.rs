//! Which process the agent of each node is. An agent counts its starts in its journal and chooses a session at every start;
//! of two agents with one identity, the one with the higher count speaks for the node and the other one is refused.
//!
//! What is held here only saves looking into the store: a heartbeat of the known session costs nothing, and everything else
//! is compared with the node's row before anybody is refused.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use api::node_plane::{Heartbeat, SESSION_LETTERS_MAX};
use model::{NodeId, Timestamp};
use store::{Db, Stamp, StoreError, nodes, nodes::NodeRow};

use super::NodeRefusal;
use crate::{Ports, comparison};

#[derive(Debug, Clone)]
struct Session {
    boot: i64,
    word: String,
    /// What its first heartbeat said of the time; what an older agent said before that was merely late.
    since: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<NodeId, Session>>);

/// How an agent stands to the one that speaks for its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is that one.
    Same,
    /// It was started later, and takes over.
    Newer,
    /// It was started earlier.
    Older,
    /// It was started just as often, and is another one.
    Other,
}

fn standing(known: (i64, &str), beat: &Heartbeat) -> Standing {
    match beat.boot.cmp(&known.0) {
        std::cmp::Ordering::Less => Standing::Older,
        std::cmp::Ordering::Greater => Standing::Newer,
        std::cmp::Ordering::Equal if beat.session == known.1 => Standing::Same,
        std::cmp::Ordering::Equal => Standing::Other,
    }
}

impl Sessions {
    /// Whether a heartbeat is of the session that is known to speak for its node.
    pub(super) fn knows(&self, beat: &Heartbeat) -> bool {
        let sessions = self.lock();
        let known = sessions.get(&beat.node_id);
        known.is_some_and(|known| standing((known.boot, &known.word), beat) == Standing::Same)
    }

    /// Whether a message comes from an agent that was started before the one that is known.
    pub(super) fn is_older(&self, node: &NodeId, boot: i64) -> bool {
        self.lock().get(node).is_some_and(|known| boot < known.boot)
    }

    /// Whether a word is another session than the one that is known.
    pub(super) fn is_other(&self, node: &NodeId, word: &str) -> bool {
        self.lock().get(node).is_some_and(|known| known.word != word)
    }

    /// Lets an agent speak for its node, or refuses it. A start that is news is written down with the node.
    pub(super) fn admit(
        &self,
        db: &Db,
        ports: &Ports,
        beat: &Heartbeat,
        version: Option<&str>,
        now: Timestamp,
    ) -> Result<(), NodeRefusal> {
        if self.knows(beat) {
            return Ok(());
        }
        if beat.session.is_empty() || beat.session.len() > SESSION_LETTERS_MAX {
            return Err(NodeRefusal::Oversized);
        }
        let id = beat.node_id.clone();
        let seen = db.read(move |tx| nodes::get(tx, &id))?.ok_or(NodeRefusal::UnknownNode)?;
        match standing((seen.agent_boot, &seen.agent_session), beat) {
            Standing::Newer => {
                take_over(db, ports, beat, version, now)?;
                self.remember(&beat.node_id, (beat.boot, &beat.session), beat.sent_at);
                Ok(())
            }
            Standing::Same => {
                self.remember(&beat.node_id, (beat.boot, &beat.session), beat.sent_at);
                Ok(())
            }
            Standing::Other => Err(NodeRefusal::IdentityShared),
            Standing::Older => Err(self.older(&seen, beat, now)),
        }
    }

    /// Says why an older agent is refused: because two are at work, or because its message was merely late.
    fn older(&self, seen: &NodeRow, beat: &Heartbeat, now: Timestamp) -> NodeRefusal {
        let since = self.lock().get(&seen.id).filter(|known| known.boot == seen.agent_boot).map(|known| known.since);
        match since {
            Some(since) if beat.sent_at > since => NodeRefusal::IdentityShared,
            Some(_) => NodeRefusal::Superseded,
            None => {
                // The other one was not heard here yet; from now on it can be told.
                self.remember(&seen.id, (seen.agent_boot, &seen.agent_session), now);
                NodeRefusal::Superseded
            }
        }
    }

    /// Learns who speaks for every node, in one query: after a start, so that a whole fleet that comes back does not ask node
    /// by node; and now and then, since agents may have spoken to another replica.
    pub(super) fn learn(&self, db: &Db, now: Timestamp) -> Result<(), StoreError> {
        let rows = db.read(nodes::agents)?;
        let mut sessions = self.lock();
        for (id, boot, word) in rows {
            let current = sessions.get(&id).is_some_and(|known| known.boot == boot && known.word == word);
            if boot == 0 {
                sessions.remove(&id);
            } else if !current {
                sessions.insert(id, Session { boot, word, since: now });
            }
        }
        Ok(())
    }

    /// Forgets a node whose host was enrolled again.
    pub(super) fn forget(&self, node: &NodeId) {
        self.lock().remove(node);
    }

    fn remember(&self, node: &NodeId, (boot, word): (i64, &str), since: Timestamp) {
        self.lock().insert(node.clone(), Session { boot, word: word.to_owned(), since });
    }

    // What the lock guards is whole at every moment, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, HashMap<NodeId, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take_over(
    db: &Db,
    ports: &Ports,
    beat: &Heartbeat,
    version: Option<&str>,
    now: Timestamp,
) -> Result<(), NodeRefusal> {
    let (beat, version, ports) = (beat.clone(), version.map(str::to_owned), ports.clone());
    db.write(move |tx| {
        let row = nodes::get(tx, &beat.node_id)?.ok_or(NodeRefusal::UnknownNode)?;
        match standing((row.agent_boot, &row.agent_session), &beat) {
            Standing::Newer => {
                let mut bits = || ports.id_bits();
                let version = version.as_deref().unwrap_or(&row.agent_version);
                let mut stamp = Stamp::new(now, &mut bits);
                nodes::set_agent(tx, &mut stamp, &row, version, beat.boot, &beat.session)?;
                // The first agent of a host finds nothing; a later one may find what another began.
                if row.agent_boot > 0 {
                    comparison::on_return(tx, &mut stamp, &row)?;
                }
                Ok(())
            }
            Standing::Same => Ok(()),
            Standing::Other => Err(NodeRefusal::IdentityShared),
            Standing::Older => Err(NodeRefusal::Superseded),
        }
    })
}
