//! The serial numbers of certificates that were revoked before they ended. Every call of an agent is held against them. The
//! list is read again from the store every few seconds, and at once when an identity was revoked through this replica: then
//! the next call of any agent waits for it. While the store cannot be reached the last list stays; nothing can be revoked
//! then either.

use std::{
    collections::HashSet,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use store::{Db, certificates};

use crate::Ports;

/// The list is never older than five seconds while the store answers.
const EVERY: Duration = Duration::from_secs(4);

/// Revoked serial numbers, shared by the door of the API, which revokes, and the door of the agents, which refuses. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct Revocations(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    serials: RwLock<HashSet<String>>,
    // Something was revoked here since the list was read, or it was never read.
    outdated: AtomicBool,
    reading: tokio::sync::Mutex<()>,
}

impl Default for Revocations {
    fn default() -> Self {
        let (serials, reading) = (RwLock::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { serials, outdated: AtomicBool::new(true), reading }))
    }
}

impl Revocations {
    /// Says that something was revoked: the next call of any agent waits for the new list.
    pub fn outdate(&self) {
        self.0.outdated.store(true, Ordering::Release);
    }

    /// Whether a serial number was revoked.
    pub(super) async fn contains(&self, db: &Db, ports: &Ports, serial: &str) -> bool {
        if self.0.outdated.load(Ordering::Acquire) {
            let _one_at_a_time = self.0.reading.lock().await;
            if self.0.outdated.load(Ordering::Acquire) {
                self.read(db, ports).await;
            }
        }
        self.0.serials.read().unwrap_or_else(PoisonError::into_inner).contains(serial)
    }

    /// Keeps the list current, for as long as the future lives.
    pub(super) async fn follow(&self, db: &Db, ports: &Ports) {
        loop {
            tokio::time::sleep(EVERY).await;
            let _one_at_a_time = self.0.reading.lock().await;
            self.read(db, ports).await;
        }
    }

    async fn read(&self, db: &Db, ports: &Ports) {
        // Before the read: what is revoked while it runs outdates the list again.
        let outdated = self.0.outdated.swap(false, Ordering::AcqRel);
        let now = ports.now();
        match db.read_async(move |tx| certificates::revoked(tx, now)).await {
            Ok(serials) => {
                *self.0.serials.write().unwrap_or_else(PoisonError::into_inner) = serials.into_iter().collect();
            }
            Err(error) => {
                tracing::warn!(%error, "the list of revoked certificates could not be read");
                self.0.outdated.fetch_or(outdated, Ordering::AcqRel);
            }
        }
    }
}
