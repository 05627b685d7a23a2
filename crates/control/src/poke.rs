//! A nudge from whoever recorded a wish to whoever looks for wishes. It carries nothing: it changes only *when* the next
//! look happens, so a lost poke costs a little time and never a wish.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

/// A nudge, cheap to clone; all clones are one.
#[derive(Debug, Clone, Default)]
pub struct Poke {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    poked: Mutex<bool>,
    heard: Condvar,
    notify: Notify,
}

impl Poke {
    /// Asks for a look soon. Several pokes before the look are one.
    pub fn poke(&self) {
        *self.lock() = true;
        self.shared.heard.notify_all();
        self.shared.notify.notify_waiters();
    }

    /// Takes the poke, if there is one, without waiting.
    pub fn take(&self) -> bool {
        std::mem::take(&mut *self.lock())
    }

    /// Waits for a poke and takes it; false when none came in time. Blocks; not for async code.
    pub fn wait(&self, at_most: Duration) -> bool {
        let waiting = self.shared.heard.wait_timeout_while(self.lock(), at_most, |poked| !*poked);
        let (mut poked, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *poked)
    }

    /// Waits for the next poke without taking it: for async code that wants to know that something may have changed.
    pub async fn next(&self) {
        self.shared.notify.notified().await;
    }

    // The flag is whole at every moment, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.shared.poked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poke_before_the_wait_is_not_lost_and_counts_once() {
        let poke = Poke::default();
        let clone = poke.clone();
        clone.poke();
        clone.poke();
        assert!(poke.wait(Duration::ZERO));
        assert!(!poke.wait(Duration::ZERO), "two pokes are one look");
    }

    #[test]
    fn a_poke_ends_a_wait() {
        let poke = Poke::default();
        let waker = poke.clone();
        let thread = std::thread::spawn(move || waker.poke());
        assert!(poke.wait(Duration::from_secs(60)));
        thread.join().expect("the poking thread");
    }
}
