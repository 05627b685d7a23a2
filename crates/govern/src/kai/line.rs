//! Who is next: jobs in the order of their queues, level by level, and within a queue by priority, then by how far their gang
//! is, then by age. Victims come in the reverse of that order.

use super::account::{Outlook, Standing, plus};
use super::model::{Amounts, RESOURCES, Status};
use super::session::Session;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

/// A job that stands in line, with the tasks of it that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which job.
    pub job: usize,
    /// Its queue.
    pub queue: usize,
    /// Which of its tasks.
    pub tasks: Vec<usize>,
    /// How many of the tasks its gang needs.
    pub min_available: usize,
}

impl Entry {
    /// A job with all its tasks.
    #[must_use]
    pub fn of(session: &Session, job: usize) -> Self {
        let of = &session.jobs[job];
        let min_available = of.spec.min_available as usize;
        Self { job, queue: of.spec.queue, tasks: of.tasks.clone(), min_available }
    }

    /// The tasks to place next: what the gang lacks, or one more. Those that only leave in this statement may come back if
    /// nothing is done for good.
    #[must_use]
    pub fn tasks_next(&self, session: &Session, virtually: bool) -> Vec<usize> {
        let active = self.tasks.iter().filter(|task| session.tasks[**task].status.is_active()).count();
        let wanted = self.min_available.saturating_sub(active).max(1);
        let tasks = self.tasks.iter().copied();
        tasks.filter(|task| session.may_be_placed(*task, virtually)).take(wanted).collect()
    }

    fn amounts_next(&self, session: &Session) -> Amounts {
        session.amounts_of(&self.tasks_next(session, true))
    }
}

// Jobs of a queue in their order: priority, how far the gang is, age, and the order of coming for what is left.
type Key = (Reverse<i32>, Ordering, u64, usize, u64);

// An entry with what it would change, as it was when it took its place.
#[derive(Debug, Clone)]
struct Place {
    entry: Entry,
    amounts: Amounts,
}

/// Jobs in line. What decides about a job's place is looked at when it takes it.
#[derive(Debug, Clone)]
pub struct Line {
    // By queue.
    waiting: Vec<BTreeMap<Key, Place>>,
    // For victims: what those held that were taken from the line, by queue.
    taken: Vec<Amounts>,
    victims: bool,
    pushed: u64,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub fn new(queues: usize, victims: bool) -> Self {
        Self { waiting: vec![BTreeMap::new(); queues], taken: vec![[0; RESOURCES]; queues], victims, pushed: 0 }
    }

    /// Jobs with a waiting task whose gang can be complete.
    pub fn ready(session: &Session) -> impl Iterator<Item = usize> {
        let is_ready = |job: &usize| {
            let needs = session.jobs[*job].spec.min_available as usize;
            session.count(*job, |status| status == Status::Pending) > 0
                && session.count(*job, Status::is_alive) >= needs
        };
        (0..session.jobs.len()).filter(is_ready)
    }

    /// All of those, as far as they are wanted.
    #[must_use]
    pub fn of_pending(session: &Session, filter: impl Fn(usize) -> bool) -> Self {
        let mut line = Self::new(session.accounts.count(), false);
        Self::ready(session).filter(|job| filter(*job)).for_each(|job| line.push(session, Entry::of(session, job)));
        line
    }

    /// Jobs that could be victims.
    #[must_use]
    pub fn of_victims(session: &Session, filter: impl Fn(usize) -> bool) -> Self {
        let mut line = Self::new(session.accounts.count(), true);
        for job in 0..session.jobs.len() {
            if session.count(job, Status::is_active) > 0 && filter(job) {
                line.push(session, Entry::of(session, job));
            }
        }
        line
    }

    /// A job takes its place. One of a queue that does not exist never comes up.
    pub fn push(&mut self, session: &Session, entry: Entry) {
        let Some(waiting) = self.waiting.get_mut(entry.queue) else { return };
        let spec = &session.jobs[entry.job].spec;
        let active = entry.tasks.iter().filter(|task| session.tasks[**task].status.is_active()).count();
        let key = (Reverse(spec.priority), active.cmp(&entry.min_available), spec.rank, entry.job, self.pushed);
        let amounts = if self.victims { session.amounts_allocated(&entry.tasks) } else { entry.amounts_next(session) };
        waiting.insert(key, Place { entry, amounts });
        self.pushed += 1;
    }

    fn head(&self, queue: usize) -> Option<(&Key, &Place)> {
        let waiting = &self.waiting[queue];
        if self.victims { waiting.last_key_value() } else { waiting.first_key_value() }
    }

    // In which queue at or below this one the next is, and what it would change.
    fn best(&self, session: &Session, queue: usize) -> Option<(usize, Outlook)> {
        let below = session.accounts.children(Some(queue));
        if !below.is_empty() {
            return self.best_of(session, below);
        }
        let (_, place) = self.head(queue)?;
        let outlook = if self.victims {
            Outlook { loss: plus(self.taken[queue], place.amounts), ..Outlook::default() }
        } else {
            Outlook { gain: place.amounts, ..Outlook::default() }
        };
        Some((queue, outlook))
    }

    fn best_of(&self, session: &Session, level: &[usize]) -> Option<(usize, Outlook)> {
        let candidates = level.iter().filter_map(|queue| {
            let (leaf, outlook) = self.best(session, *queue)?;
            Some((leaf, outlook, session.accounts.standing(*queue, outlook)))
        });
        let order = |left: &(usize, Outlook, Standing), right: &(usize, Outlook, Standing)| left.2.order(&right.2);
        let best = if self.victims { candidates.max_by(order) } else { candidates.min_by(order) };
        best.map(|(leaf, outlook, _)| (leaf, outlook))
    }

    /// Takes the next from the line.
    pub fn pop(&mut self, session: &Session) -> Option<Entry> {
        let (leaf, _) = self.best_of(session, session.accounts.children(None))?;
        let key = *self.head(leaf)?.0;
        let place = self.waiting[leaf].remove(&key)?;
        if self.victims {
            self.taken[leaf] = plus(self.taken[leaf], place.amounts);
        }
        Some(place.entry)
    }
}
