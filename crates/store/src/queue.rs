//! The bounded line of waiting jobs in front of an engine's threads. A full line is an answer
//! ([`StoreError::Busy`]), not memory; a closed line is drained before its threads end.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{StoreError, job::Work};

#[derive(Default)]
struct Line {
    jobs: VecDeque<Box<dyn Work>>,
    idle: usize,
    closed: Option<StoreError>,
}

/// A bounded first-in, first-out line that many threads push into and take from.
pub(crate) struct Queue {
    line: Mutex<Line>,
    more: Condvar,
    room: Condvar,
    limit: usize,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { line: Mutex::new(Line::default()), more: Condvar::new(), room: Condvar::new(), limit: limit.max(1) }
    }

    // Nothing panics while the lock is held; a poisoned lock still guards a whole line.
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many jobs wait.
    pub(crate) fn depth(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Joins the line, or answers the job at once when the line is full or closed.
    pub(crate) fn push(&self, job: Box<dyn Work>) {
        self.push_within(job, Duration::ZERO);
    }

    /// Joins the line, waiting a while for room.
    pub(crate) fn push_within(&self, job: Box<dyn Work>, patience: Duration) {
        let mut line = self.lock();
        if line.jobs.len() >= self.limit && !patience.is_zero() {
            let until = Instant::now() + patience;
            while line.closed.is_none() && line.jobs.len() >= self.limit {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                line = self.room.wait_timeout(line, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        let refusal = line.closed.clone().or_else(|| (line.jobs.len() >= self.limit).then_some(StoreError::Busy));
        if let Some(error) = refusal {
            drop(line);
            job.answer(Err(error));
            return;
        }
        line.jobs.push_back(job);
        let wake = line.idle > 0;
        drop(line);
        if wake {
            self.more.notify_one();
        }
    }

    /// Waits for jobs and takes at most `most` of them, leaving an equal share to every thread that has nothing to do.
    /// `None` when the line is closed and empty.
    pub(crate) fn take(&self, most: usize) -> Option<Vec<Box<dyn Work>>> {
        let mut line = self.lock();
        while line.jobs.is_empty() {
            if line.closed.is_some() {
                return None;
            }
            line.idle += 1;
            line = self.more.wait(line).unwrap_or_else(PoisonError::into_inner);
            line.idle -= 1;
        }
        let share = line.jobs.len().div_ceil(line.idle + 1).clamp(1, most.max(1));
        let jobs = line.jobs.drain(..share).collect();
        drop(line);
        self.room.notify_all();
        Some(jobs)
    }

    /// Lets nobody join any more; those in the line are still served.
    pub(crate) fn close(&self, error: StoreError) {
        self.lock().closed.get_or_insert(error);
        self.more.notify_all();
        self.room.notify_all();
    }

    /// Closes the line and answers everybody in it.
    pub(crate) fn refuse(&self, error: &StoreError) {
        self.close(error.clone());
        let left = std::mem::take(&mut self.lock().jobs);
        for job in left {
            job.answer(Err(error.clone()));
        }
    }
}
