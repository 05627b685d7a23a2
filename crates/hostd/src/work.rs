//! What whoever does work is given with it: somebody to tell how far it is, and somebody to ask whether it is still wanted.
//! And who has which allocation and slot in hand: two orders for the same one are done one after the other.

use crate::failed::Failed;
use disk::Progress;
use model::runtime::{WorkProgress, WorkStep};
use std::{
    collections::BTreeSet,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// The caller's side of some work.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Told how far it is.
    pub tell: &'a (dyn Fn(WorkProgress) + Sync),
    /// Asked whether it is still wanted.
    pub wanted: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Work")
    }
}

impl Work<'_> {
    /// Begins a step, if it is still wanted.
    pub fn step(&self, step: WorkStep) -> Result<(), Failed> {
        if !(self.wanted)() {
            return Err(Failed::not_wanted(step));
        }
        tracing::debug!(?step, "begins");
        (self.tell)(WorkProgress::at(step));
        Ok(())
    }

    /// Tells how much of a step is done.
    pub fn percent(&self, step: WorkStep, percent: u8) {
        (self.tell)(WorkProgress { percent: Some(percent), ..WorkProgress::at(step) });
    }

    /// Tells how many bytes of a step are done.
    pub fn bytes(&self, step: WorkStep, done: Progress) {
        (self.tell)(WorkProgress {
            step,
            percent: Some(done.percent),
            bytes_per_s: Some(done.bytes_per_s),
            remaining_s: done.eta_s,
        });
    }
}

/// What is in hand.
#[derive(Debug, Default)]
pub struct Hands {
    held: Mutex<BTreeSet<String>>,
    freed: Condvar,
}

/// Something in hand; put down when this is dropped.
#[derive(Debug)]
pub struct InHand<'a> {
    hands: &'a Hands,
    names: BTreeSet<String>,
}

impl Hands {
    /// Takes all of these, waiting for whoever has one of them, or none when it is not wanted any more.
    pub fn take(&self, names: BTreeSet<String>, work: Work<'_>) -> Result<InHand<'_>, Failed> {
        const LOOK_EVERY: Duration = Duration::from_millis(100);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = false;
        while names.iter().any(|name| held.contains(name)) {
            if !(work.wanted)() {
                return Err(Failed::not_wanted(WorkStep::Waiting));
            }
            if !told {
                (work.tell)(WorkProgress::at(WorkStep::Waiting));
                told = true;
            }
            held = self.freed.wait_timeout(held, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        held.extend(names.iter().cloned());
        Ok(InHand { hands: self, names })
    }

    /// Takes all of these, or none when somebody has one of them now.
    pub fn try_take(&self, names: BTreeSet<String>) -> Option<InHand<'_>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if names.iter().any(|name| held.contains(name)) {
            return None;
        }
        held.extend(names.iter().cloned());
        Some(InHand { hands: self, names })
    }

    /// Whether somebody has it.
    pub fn has(&self, name: &str) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        let mut held = self.hands.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|name| !self.names.contains(name));
        self.hands.freed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    const QUIET: Work<'static> = Work { tell: &|_| (), wanted: &|| true };

    fn names(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_in_hand_is_waited_for() {
        let hands = Hands::default();
        let first = hands.take(names(&["a", "b"]), QUIET).unwrap();
        assert!(hands.has("a") && !hands.has("c"));
        assert!(hands.try_take(names(&["b", "c"])).is_none() && !hands.has("c"));
        drop(hands.try_take(names(&["c"])).unwrap());
        let waits = AtomicBool::new(false);
        let tell = |progress: WorkProgress| waits.store(progress.step == WorkStep::Waiting, Ordering::SeqCst);
        thread::scope(|scope| {
            let second = scope.spawn(|| hands.take(names(&["b", "c"]), Work { tell: &tell, ..QUIET }).map(drop));
            while !waits.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            drop(first);
            second.join().unwrap().unwrap();
        });
        assert!(!hands.has("a") && !hands.has("b") && !hands.has("c"));
    }

    #[test]
    fn nobody_waits_for_what_is_not_wanted() {
        let hands = Hands::default();
        let _first = hands.take(names(&["a"]), QUIET).unwrap();
        let unwanted = Work { wanted: &|| false, ..QUIET };
        assert!(hands.take(names(&["a"]), unwanted).is_err());
        assert!(unwanted.step(WorkStep::Clone).unwrap_err().detail.starts_with("clone: "));
    }
}
