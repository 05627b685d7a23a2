//! How far the event stream has come, known to every open stream of this process. One task asks the store for its head,
//! and only when somebody listens; streams wait for the number to grow. A replica that leads tells it at once.

use std::{sync::Arc, time::Duration};

use store::{Db, Tx, events};
use tokio::sync::watch;

/// The newest event number that this process knows of. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventFeed {
    head: Arc<watch::Sender<i64>>,
}

impl Default for EventFeed {
    fn default() -> Self {
        Self { head: Arc::new(watch::Sender::new(0)) }
    }
}

impl EventFeed {
    /// Says that events up to this number exist. A smaller number than the known one changes nothing.
    pub fn advance(&self, head: i64) {
        self.head.send_if_modified(|known| {
            let newer = head > *known;
            *known = (*known).max(head);
            newer
        });
    }

    /// The newest number that is known.
    pub fn head(&self) -> i64 {
        *self.head.borrow()
    }

    pub(super) fn listen(&self) -> watch::Receiver<i64> {
        self.head.subscribe()
    }

    /// Asks the store now and then, for as long as the future lives. `hint` ends a pause early.
    pub(super) async fn follow(&self, db: &Db, every: Duration, poke: &crate::plane::Poke) {
        loop {
            if self.head.receiver_count() > 0 {
                match db.read_async(|tx: &mut Tx<'_>| events::head(tx)).await {
                    Ok(head) => self.advance(head),
                    Err(error) => tracing::debug!(%error, "the event head could not be read"),
                }
            }
            // A change was made here: it is numbered soon, so look sooner than the next round.
            let soon = async {
                poke.next().await;
                tokio::time::sleep(every / 8).await;
            };
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = soon => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_only_grows() {
        let feed = EventFeed::default();
        let listener = feed.listen();
        feed.advance(5);
        feed.advance(3);
        assert_eq!((feed.head(), *listener.borrow()), (5, 5));
    }
}
