//! The actions of a round, from the least to the most costly for others.

use super::account::{Block, plus};
use super::line::{Entry, Line};
use super::model::Status;
use super::place::place;
use super::search::{Aim, search};
use super::session::{Cause, Session};

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Place what waits.
    Allocate,
    /// Move to make room.
    Consolidate,
    /// Take from other queues.
    Reclaim,
    /// Take from lower priority.
    Preempt,
    /// Stop what is left of broken gangs.
    EvictStaleGangs,
}

impl Session {
    /// Does one action for all jobs.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::Allocate => self.allocate_all(),
            Action::Consolidate => self.search_all(Aim::Consolidate),
            Action::Reclaim => self.search_all(Aim::Reclaim),
            Action::Preempt => self.search_all(Aim::Preempt),
            Action::EvictStaleGangs => self.evict_stale_gangs(),
        }
    }

    fn allocate_all(&mut self) {
        let nodes: Vec<usize> = (0..self.rooms.len()).collect();
        let mut line = Line::of_pending(self, |_| true);
        while let Some(entry) = line.pop(self) {
            let tasks = entry.tasks_next(self, false);
            if !place(self, &entry, &nodes, false) {
                continue;
            }
            // A gang starts together: if some of it must wait for others to leave, all of it waits.
            let waits = self.count(entry.job, |status| status == Status::Pipelined) > 0;
            if waits && self.count(entry.job, Status::is_allocated) < entry.min_available {
                let now: Vec<usize> =
                    tasks.into_iter().filter(|task| self.tasks[*task].status == Status::Allocated).collect();
                now.into_iter().for_each(|task| self.postpone(task));
            }
            self.commit(Cause { action: Action::Allocate, job: Some(entry.job) });
            if self.count(entry.job, |status| status == Status::Pending) > 0 {
                let again = Entry::of(self, entry.job);
                line.push(self, again);
            }
        }
    }

    fn search_all(&mut self, aim: Aim) {
        let mut line = Line::of_pending(self, |job| aim != Aim::Consolidate || self.jobs[job].spec.preemptible);
        while let Some(entry) = line.pop(self) {
            if !self.may_search(aim, &entry) {
                continue;
            }
            self.remember_accounts();
            if search(self, aim, entry.job) {
                self.commit(Cause { action: aim.action(), job: Some(entry.job) });
            } else {
                self.rollback(0);
            }
        }
    }

    fn may_search(&self, aim: Aim, entry: &Entry) -> bool {
        let job = &self.jobs[entry.job].spec;
        let asked = self.amounts_of(&entry.tasks_next(self, true));
        match aim {
            Aim::Consolidate => {
                let free: i64 =
                    (0..self.rooms.len()).map(|node| self.gpu_parts(node)).map(|(now, soon)| now + soon).sum();
                asked[2] <= free
            }
            Aim::Reclaim => self.accounts.may_reclaim(job.queue, asked, !job.preemptible),
            Aim::Preempt => job.preemptible || self.accounts.has_quota(job.queue, asked),
        }
    }

    fn evict_stale_gangs(&mut self) {
        for job in 0..self.jobs.len() {
            let placed = self.count(job, Status::is_placed);
            let ended = self.count(job, |status| status == Status::Succeeded) > 0;
            let broken = placed > 0 && placed < self.jobs[job].spec.min_available as usize && !ended;
            let long = self.jobs[job].spec.stale_s.is_some_and(|stale_s| stale_s >= self.stale_grace_s);
            if broken && long {
                let tasks = self.jobs[job].tasks.clone();
                for task in tasks {
                    if self.tasks[task].status.is_active() {
                        self.evict(task);
                    }
                }
                self.commit(Cause { action: Action::EvictStaleGangs, job: None });
            }
        }
    }

    /// Why a job waits, as things are now: the first thing that is in its way.
    #[must_use]
    pub fn why_waiting(&self, job: usize) -> Option<Why> {
        let spec = &self.jobs[job].spec;
        let entry = Entry::of(self, job);
        let tasks = entry.tasks_next(self, false);
        if tasks.is_empty() {
            return None;
        }
        if spec.queue >= self.accounts.count() {
            return Some(Why::NoSuchQueue);
        }
        let (has, needs) = (self.count(job, Status::is_alive), entry.min_available);
        if has < needs {
            return Some(Why::GangTooSmall { has, needs });
        }
        let asked = tasks.iter().map(|task| self.amounts_at_least(&self.tasks[*task].spec)).reduce(plus);
        if let Some(block) = asked.and_then(|asked| self.accounts.block(spec.queue, asked, !spec.preemptible)) {
            return Some(Why::Blocked(block));
        }
        // How many of the tasks find a place is tried on a copy; this is asked for one job at a time.
        let mut copy = self.clone();
        let nodes: Vec<usize> = (0..self.rooms.len()).collect();
        let mut placed = 0;
        for (count, task) in tasks.iter().enumerate() {
            let alone = Entry { tasks: vec![*task], min_available: 1, ..entry.clone() };
            if !place(&mut copy, &alone, &nodes, false) {
                break;
            }
            placed = count + 1;
        }
        Some(if placed < tasks.len() { Why::NoRoom { placed, needs: tasks.len() } } else { Why::Next })
    }
}

/// Why a job waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Its queue does not exist.
    NoSuchQueue,
    /// It has fewer tasks than it says it needs.
    GangTooSmall {
        /// How many it has.
        has: usize,
        /// How many it needs.
        needs: usize,
    },
    /// A bound of its queue, or of one above.
    Blocked(Block),
    /// No node takes the next of its tasks.
    NoRoom {
        /// How many found a place.
        placed: usize,
        /// How many must.
        needs: usize,
    },
    /// Nothing; it is placed when it is its turn.
    Next,
}
