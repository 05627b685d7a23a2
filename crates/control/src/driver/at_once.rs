//! Several looks at once, up to a bound. Workers take what is due in order; the thread that called sorts out how each look
//! ended, and keeps the lease in between, also while looks last long. A look that shows no end for a whole lease period is
//! not covered for: the lease runs out, and another replica goes on without it.

use std::{
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use store::{StoreError, living::Due};

use super::KeepLease;

/// How often the lease is thought of while nothing ends.
const BREATH: Duration = Duration::from_millis(250);

/// How looks are run.
pub(super) struct Looks<'a> {
    /// The bound.
    pub(super) at_once: usize,
    /// The lease is kept this long without a look ending.
    pub(super) patience_us: i64,
    /// The steady clock.
    pub(super) monotonic_us: &'a dyn Fn() -> i64,
}

impl Looks<'_> {
    /// Looks at everything in `due` and hands each ending to `settle`, on the calling thread. The first error of either
    /// `keep_lease` or `settle` is the answer; looks that have not begun by then do not.
    pub(super) fn run(
        &self,
        due: &[Due],
        look: impl Fn(&Due) -> Result<(), StoreError> + Sync,
        keep_lease: &mut KeepLease<'_>,
        mut settle: impl FnMut(&Due, Result<(), StoreError>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let workers = self.at_once.min(due.len());
        if workers < 2 {
            return due.iter().try_for_each(|due| {
                keep_lease()?;
                settle(due, look(due))
            });
        }
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, ended) = sync_channel(due.len());
        let work = |sender: SyncSender<(usize, Result<(), StoreError>)>| {
            while !stop.load(Ordering::Acquire) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(one) = due.get(at) else { return };
                if sender.send((at, look(one))).is_err() {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..workers {
                let (sender, work) = (sender.clone(), &work);
                scope.spawn(move || work(sender));
            }
            drop(sender);
            let mut last_us = (self.monotonic_us)();
            loop {
                let settled = match ended.recv_timeout(BREATH) {
                    Ok((at, result)) => {
                        last_us = (self.monotonic_us)();
                        settle(&due[at], result).and_then(|()| keep_lease())
                    }
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                    Err(RecvTimeoutError::Timeout) if self.within_patience(last_us) => keep_lease(),
                    Err(RecvTimeoutError::Timeout) => Ok(()),
                };
                if settled.is_err() {
                    stop.store(true, Ordering::Release);
                    return settled;
                }
            }
        })
    }

    fn within_patience(&self, last_us: i64) -> bool {
        (self.monotonic_us)().saturating_sub(last_us) < self.patience_us
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::{
        sync::{
            Condvar, Mutex,
            atomic::{AtomicI64, AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use model::Timestamp;

    use super::*;

    const AT_ONCE: usize = 4;

    fn due(count: usize) -> Vec<Due> {
        let due = |number: usize| Due { id: number.to_string(), look: Timestamp::from_micros(0), faults: 0 };
        (0..count).map(due).collect()
    }

    fn looks(monotonic_us: &dyn Fn() -> i64) -> Looks<'_> {
        Looks { at_once: AT_ONCE, patience_us: 1_000_000, monotonic_us }
    }

    /// Counts who is inside, and lets nobody out of the first round before the bound is reached.
    #[derive(Default)]
    struct Room {
        inside: Mutex<(usize, usize)>,
        came: Condvar,
    }

    impl Room {
        fn visit(&self) {
            let mut counts = self.inside.lock().unwrap();
            counts.0 += 1;
            counts.1 = counts.1.max(counts.0);
            self.came.notify_all();
            let waited = self.came.wait_timeout_while(counts, Duration::from_secs(30), |counts| counts.1 < AT_ONCE);
            waited.unwrap().0.0 -= 1;
        }
    }

    #[test]
    fn as_many_at_once_as_the_bound_and_never_more() {
        let (room, due, mut settled) = (Room::default(), due(50), Vec::new());
        let look = |_: &Due| {
            room.visit();
            Ok(())
        };
        let settle = |due: &Due, result: Result<(), StoreError>| {
            settled.push(due.id.clone());
            result
        };
        looks(&|| 0).run(&due, look, &mut || Ok(()), settle).unwrap();
        assert_eq!(*room.inside.lock().unwrap(), (0, AT_ONCE));
        settled.sort_by_key(|id| id.parse::<usize>().unwrap());
        assert_eq!(settled, due.into_iter().map(|due| due.id).collect::<Vec<_>>(), "each once");
    }

    #[test]
    fn a_look_that_lasts_does_not_cost_the_lease_and_holds_nobody_up() {
        let (kept, settled) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let due = due(9);
        // The first look ends only after all others did and the lease was kept twice more without any of them.
        let look = |due: &Due| {
            let enough = || settled.load(Ordering::Acquire) == 8 && kept.load(Ordering::Acquire) >= 10;
            while due.id == "0" && !enough() {
                thread::yield_now();
            }
            Ok(())
        };
        let mut keep = || {
            kept.fetch_add(1, Ordering::AcqRel);
            Ok(())
        };
        let settle = |_: &Due, result| {
            settled.fetch_add(1, Ordering::AcqRel);
            result
        };
        looks(&|| 0).run(&due, look, &mut keep, settle).unwrap();
        assert_eq!(settled.load(Ordering::Acquire), 9);
    }

    #[test]
    fn a_look_without_end_is_not_covered_for() {
        let (asked, due) = (AtomicI64::new(0), due(2));
        // Two seconds pass whenever the clock is read, twice the patience.
        let clock = || 2_000_000 * asked.fetch_add(1, Ordering::AcqRel);
        let look = |_: &Due| {
            while asked.load(Ordering::Acquire) < 4 {
                thread::yield_now();
            }
            Ok(())
        };
        let mut kept_while_waiting = 0;
        let mut keep = || {
            kept_while_waiting += usize::from(asked.load(Ordering::Acquire) < 4);
            Ok(())
        };
        looks(&clock).run(&due, look, &mut keep, |_, result| result).unwrap();
        assert_eq!(kept_while_waiting, 0);
    }

    #[test]
    fn a_lost_lease_begins_no_more_looks() {
        let (begun, due) = (AtomicUsize::new(0), due(1000));
        let look = |_: &Due| {
            begun.fetch_add(1, Ordering::AcqRel);
            thread::sleep(Duration::from_millis(1));
            Ok(())
        };
        let ended = looks(&|| 0).run(&due, look, &mut || Err(StoreError::LostLeadership), |_, result| result);
        assert_eq!(ended, Err(StoreError::LostLeadership));
        assert!(begun.load(Ordering::Acquire) < due.len());
    }
}
