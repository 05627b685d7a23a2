//! How jobs become transactions, the same for both engines. Several waiting jobs share one transaction, and nobody is
//! answered before COMMIT: that is the group commit. What happens to a job that fails among others differs:
//!
//! - SQLite runs each job in a savepoint, which is cheap there, and undoes the failed one alone.
//! - On PostgreSQL savepoints cost as much as the work itself, so jobs share a transaction without them. A job that fails
//!   before it touched anything has its answer and disturbs nobody. One that fails later spoils the transaction: all of
//!   it is rolled back, each job runs again by itself, and this thread shares no transaction for a while.
//!
//! A job that lost a race runs again by itself, with jittered pauses and at most [`TRIES_MAX`] tries. A COMMIT that does
//! not answer with success leaves every job of its transaction [`StoreError::OutcomeUnknown`].

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    StoreError,
    job::{Verdict, Work},
    queue::Queue,
    tx::{Control, Fault, Session},
};

/// How often a closure is run at most before its caller hears that it did not get through.
pub const TRIES_MAX: u32 = 8;

/// After a lost race, and while the server cannot be reached: the latter pauses add up to about a second.
const PAUSE_US_RACE: u64 = 500;
const PAUSE_US_LOST: u64 = 8_000;
const PAUSE_US_MAX: u64 = 400_000;

/// How many transactions a thread runs unshared after a shared one was spoiled.
const UNSHARED_AFTER_SPOIL: u32 = 16;

/// A session that can be brought back, and that knows how bad an unknown commit is.
pub(crate) trait Engine: Session {
    /// Makes the session usable again after a loss; cheap when nothing was lost.
    fn restore(&mut self) -> Result<(), StoreError>;
    /// Whether one job of a shared transaction can be undone alone at little cost.
    fn undoes_parts(&self) -> bool;
    /// Called when the outcome of a COMMIT is unknown. True when this process must not write any more.
    fn distrust(&mut self) -> bool;
}

/// Set once, when an embedded store no longer knows what it holds.
#[derive(Default)]
pub(crate) struct Poison {
    set: AtomicBool,
    callbacks: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl Poison {
    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    pub(crate) fn set(&self) {
        self.set.store(true, Ordering::Release);
    }

    /// Runs the callbacks that wait for this.
    pub(crate) fn announce(&self) {
        let callbacks = std::mem::take(&mut *self.callbacks.lock().unwrap_or_else(PoisonError::into_inner));
        for callback in callbacks {
            callback();
        }
    }

    pub(crate) fn on_set(&self, callback: Box<dyn FnOnce() + Send>) {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).push(callback);
        if self.is_set() {
            self.announce();
        }
    }
}

/// What the threads of a store have done so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Write closures answered after a COMMIT.
    pub(crate) closures: AtomicU64,
    /// COMMITs that changed something.
    pub(crate) commits: AtomicU64,
    /// Tries beyond the first.
    pub(crate) retries: AtomicU64,
}

/// Small differences between pauses, so that two losers of one race do not meet again. Not for secrets.
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new() -> Self {
        Self(RandomState::new().hash_one(0u8) | 1)
    }

    /// Half to all of a pause that doubles with every try.
    pub(crate) fn pause(&mut self, tries: u32, first_us: u64) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let whole = (first_us << tries.saturating_sub(1).min(16)).min(PAUSE_US_MAX);
        Duration::from_micros(whole / 2 + self.0 % (whole / 2 + 1))
    }
}

/// How one thread serves its line.
pub(crate) struct Worker<'a> {
    pub(crate) queue: &'a Queue,
    pub(crate) poison: &'a Poison,
    pub(crate) tally: &'a Tally,
    /// Whether transactions may change anything.
    pub(crate) writes: bool,
    /// How many jobs may share one transaction.
    pub(crate) batch: usize,
}

/// The rest of a batch.
#[derive(Default)]
struct Left {
    /// What must run again, each by itself.
    again: Vec<Box<dyn Work>>,
    /// The store is poisoned.
    poisoned: bool,
    /// A shared transaction was rolled back because of one of its jobs.
    spoiled: bool,
}

impl Left {
    fn again(again: Vec<Box<dyn Work>>) -> Self {
        Self { again, ..Self::default() }
    }

    fn spoiled(again: Vec<Box<dyn Work>>) -> Self {
        Self { again, spoiled: true, ..Self::default() }
    }
}

impl Worker<'_> {
    /// Serves the line until it is closed and empty, or the store is poisoned.
    pub(crate) fn serve(&self, engine: &mut dyn Engine) {
        let mut jitter = Jitter::new();
        let mut unshared = 0;
        loop {
            let most = if unshared > 0 { 1 } else { self.batch };
            let Some(jobs) = self.queue.take(most) else { return };
            let left = self.batch(engine, jobs);
            unshared = if left.spoiled { UNSHARED_AFTER_SPOIL } else { u32::saturating_sub(unshared, 1) };
            if left.poisoned || self.again(engine, left.again, &mut jitter) {
                self.queue.refuse(&StoreError::Poisoned);
                self.poison.announce();
                return;
            }
        }
    }

    /// Runs jobs again, each by itself, round after round until all have an answer. True when the store is poisoned.
    fn again(&self, engine: &mut dyn Engine, mut jobs: Vec<Box<dyn Work>>, jitter: &mut Jitter) -> bool {
        while !jobs.is_empty() {
            let pauses = jobs.iter().filter(|job| job.has_lost()).map(|job| {
                let first_us = if job.is_cut_off() { PAUSE_US_LOST } else { PAUSE_US_RACE };
                jitter.pause(job.tries(), first_us)
            });
            thread::sleep(pauses.max().unwrap_or_default());
            self.tally.retries.fetch_add(jobs.len() as u64, Ordering::Relaxed);
            // One look at a lost server is enough for all.
            let lost = engine.restore().map_err(Fault::plain).err();
            let mut left = Vec::new();
            let mut rest = jobs.into_iter();
            while let Some(mut job) = rest.next() {
                let mut one = match &lost {
                    None => self.batch(engine, vec![job]),
                    Some(fault) => {
                        job.missed(fault);
                        Left::again(vec![job])
                    }
                };
                if one.poisoned {
                    rest.chain(left).for_each(|job| job.answer(Err(StoreError::Poisoned)));
                    return true;
                }
                left.append(&mut one.again);
            }
            let (over, more) = left.into_iter().partition(|job| job.tries() >= TRIES_MAX);
            jobs = more;
            Vec::into_iter(over).for_each(|job: Box<dyn Work>| job.give_up());
        }
        false
    }

    fn batch(&self, engine: &mut dyn Engine, mut jobs: Vec<Box<dyn Work>>) -> Left {
        let shared = jobs.len() > 1;
        let begin = match (self.writes, shared) {
            (true, true) => Control::BeginShared,
            (true, false) => Control::BeginWrite,
            (false, _) => Control::BeginRead,
        };
        let begun = engine.restore().map_err(Fault::plain).and_then(|()| engine.control(begin));
        if let Err(fault) = begun {
            jobs.iter_mut().for_each(|job| job.missed(&fault));
            return Left::again(jobs);
        }
        if shared && !engine.undoes_parts() {
            return self.together(engine, jobs);
        }
        let (mut done, mut again, mut keep) = (Vec::with_capacity(jobs.len()), Vec::new(), 0);
        let mut jobs = jobs.into_iter();
        while let Some(mut job) = jobs.next() {
            match one(engine, job.as_mut(), shared) {
                Verdict::Keep => {
                    keep += 1;
                    done.push(job);
                }
                Verdict::Undo | Verdict::Leave => done.push(job),
                Verdict::Again => again.push(job),
                Verdict::Gone => {
                    // Nothing of this transaction exists any more: all of it starts over, each job by itself.
                    let _ = engine.control(Control::Rollback);
                    return Left::again(done.into_iter().chain(again).chain([job]).chain(jobs).collect());
                }
            }
        }
        if !self.writes {
            // A read has its answer; the caller need not wait for the end of the snapshot.
            done.into_iter().for_each(|job| job.answer(Ok(())));
            let _ = engine.control(Control::Rollback);
            return Left::again(again);
        }
        Left { poisoned: self.end(engine, done, keep), again, spoiled: false }
    }

    /// Runs jobs in one transaction in the hope that none has to be undone.
    fn together(&self, engine: &mut dyn Engine, jobs: Vec<Box<dyn Work>>) -> Left {
        let (mut done, mut keep) = (Vec::with_capacity(jobs.len()), 0);
        let mut jobs = jobs.into_iter();
        while let Some(mut job) = jobs.next() {
            let verdict = job.attempt(engine, false);
            done.push(job);
            match verdict {
                Verdict::Keep => keep += 1,
                Verdict::Leave => {}
                Verdict::Undo | Verdict::Again | Verdict::Gone => {
                    let _ = engine.control(Control::Rollback);
                    return Left::spoiled(done.into_iter().chain(jobs).collect());
                }
            }
        }
        if engine.flush().is_err() {
            let _ = engine.control(Control::Rollback);
            return Left::spoiled(done);
        }
        Left { poisoned: self.end(engine, done, keep), ..Left::default() }
    }

    /// Commits and answers. True when the store is poisoned by it.
    fn end(&self, engine: &mut dyn Engine, done: Vec<Box<dyn Work>>, keep: u64) -> bool {
        if keep == 0 {
            let _ = engine.control(Control::Rollback);
            done.into_iter().for_each(|job| job.answer(Ok(())));
            return false;
        }
        match engine.control(Control::Commit) {
            Ok(()) => {
                self.tally.closures.fetch_add(keep, Ordering::Relaxed);
                self.tally.commits.fetch_add(1, Ordering::Relaxed);
                done.into_iter().for_each(|job| job.answer(Ok(())));
                false
            }
            Err(fault) => {
                tracing::error!(error = %fault.error, jobs = done.len(), "COMMIT failed: the outcome is unknown");
                let poisoned = engine.distrust();
                if poisoned {
                    self.poison.set();
                }
                // Also those that failed by themselves: they may have read what is now unknown.
                done.into_iter().for_each(|job| job.answer(Err(StoreError::OutcomeUnknown)));
                poisoned
            }
        }
    }
}

/// Runs one job, in a savepoint when it shares its transaction.
fn one(engine: &mut dyn Engine, job: &mut dyn Work, shared: bool) -> Verdict {
    if !shared {
        return job.attempt(engine, true);
    }
    if let Err(fault) = engine.control(Control::Savepoint) {
        job.missed(&fault);
        return Verdict::Gone;
    }
    let verdict = job.attempt(engine, true);
    let ended = match verdict {
        Verdict::Keep | Verdict::Leave => engine.control(Control::Release),
        Verdict::Undo | Verdict::Again => engine.control(Control::Undo).and_then(|()| engine.control(Control::Release)),
        Verdict::Gone => return Verdict::Gone,
    };
    if ended.is_ok() { verdict } else { Verdict::Gone }
}
