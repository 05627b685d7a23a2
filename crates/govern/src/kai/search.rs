//! The search for victims: sets that grow one unit at a time, each tried out in full before it is judged.
//!
//! A unit is one task beyond what its gang needs, or else the whole gang. The tasks of the claimant are placed one more at a
//! time; what had to go for the first is kept in mind for the next. In each try the victims on one node leave, then victims
//! and claimant are placed in the order of the line, on what is being released. A victim that finds a place again is moved
//! (or stays, if it is its own place); one that does not is lost.

use super::account::plus;
use super::action::Action;
use super::line::{Entry, Line};
use super::model::{Amounts, GpuAsk, RESOURCES, Status};
use super::place::place;
use super::session::Session;
use std::collections::{BTreeMap, BTreeSet};

/// What kind of search it is: who can be a victim, and which outcome is fair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Move, stop nobody.
    Consolidate,
    /// Take from other queues.
    Reclaim,
    /// Take from lower priority in the same queue.
    Preempt,
}

impl Aim {
    /// The action that searches so.
    #[must_use]
    pub const fn action(self) -> Action {
        match self {
            Self::Consolidate => Action::Consolidate,
            Self::Reclaim => Action::Reclaim,
            Self::Preempt => Action::Preempt,
        }
    }
}

// Tasks that leave together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unit {
    job: usize,
    tasks: Vec<usize>,
}

// Up to whom places are given out in a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    // The claimant.
    Claimant,
    // The last who left.
    All,
}

struct Search<'a> {
    session: &'a mut Session,
    aim: Aim,
    claimant: usize,
    // Nodes worth trying.
    nodes: Vec<usize>,
    // Who else waits. Every try begins with the same, so they are looked for once.
    waiting: Vec<usize>,
    // What had to leave for the tasks so far.
    settled: Vec<Unit>,
}

/// Tries to place a job at the cost of others. What succeeds is in the session's log, not kept yet.
pub fn search(session: &mut Session, aim: Aim, claimant: usize) -> bool {
    let nodes = worthwhile_nodes(session, claimant);
    let tasks = Entry::of(session, claimant).tasks_next(session, true);
    // What no node could ever take is not worth a search.
    let is_hopeless = |task: &usize| {
        let spec = &session.tasks[*task].spec;
        !session.rooms.iter().any(|room| room.takes(spec) && room.fits_when_empty(spec))
    };
    if tasks.iter().any(is_hopeless) {
        return false;
    }
    let waiting = Line::ready(session).filter(|job| *job != claimant).collect();
    let mut search = Search { session, aim, claimant, nodes, waiting, settled: vec![] };
    for count in 1..=tasks.len() {
        let mark = search.session.mark();
        if !search.solve(&tasks[..count]) {
            return false;
        }
        if count < tasks.len() {
            search.session.rollback(mark);
        }
    }
    let min = search.session.jobs[claimant].spec.min_available as usize;
    !tasks.is_empty() && search.session.count(claimant, Status::is_placed) >= min
}

// Jobs that all need GPUs only look where some are free, or will be.
fn worthwhile_nodes(session: &Session, job: usize) -> Vec<usize> {
    let without = session.jobs[job].tasks.iter().any(|task| session.tasks[*task].spec.gpu == GpuAsk::None);
    let some = |node: &usize| {
        let (now, soon) = session.gpu_parts(*node);
        without || now > 0 || soon > 0
    };
    (0..session.rooms.len()).filter(some).collect()
}

impl Search<'_> {
    fn is_victim(&self, job: usize) -> bool {
        let session = &*self.session;
        let (own, other) = (&session.jobs[self.claimant].spec, &session.jobs[job].spec);
        let rule = match self.aim {
            Aim::Consolidate => true,
            Aim::Reclaim => other.queue != own.queue,
            Aim::Preempt => other.queue == own.queue && other.priority < own.priority,
        };
        let beyond_gang = || session.count(job, Status::is_active) > other.min_available as usize;
        rule && other.preemptible && job != self.claimant && (!self.is_safe(job) || beyond_gang())
    }

    // Whether a job has not run long enough to be taken from. What it has beyond its gang may be taken all the same.
    fn is_safe(&self, job: usize) -> bool {
        let (session, own) = (&*self.session, self.session.jobs[self.claimant].spec.queue);
        let victim = &session.jobs[job].spec;
        let safe_s = match self.aim {
            Aim::Consolidate => 0,
            Aim::Reclaim => session.accounts.safe_from_reclaim_s(victim.queue, own),
            Aim::Preempt => session.accounts.safe_from_preemption_s(victim.queue),
        };
        victim.ran_s.is_some_and(|ran_s| ran_s < safe_s)
    }

    fn solve(&mut self, tasks: &[usize]) -> bool {
        if !self.settled.is_empty() && self.try_out(tasks, &[], None) == Some(true) {
            return true;
        }
        if self.session.by_halves && !self.is_worthwhile(tasks) {
            return false;
        }
        let units = self.units();
        let mut first = self.first_large_enough(tasks, &units);
        if self.session.by_halves {
            first = self.first_with_room(tasks, &units, first);
        }
        for at in first..units.len() {
            let of = &self.session.jobs[units[at].job].tasks;
            let nodes: BTreeSet<usize> = of.iter().filter_map(|task| self.session.node_of(*task)).collect();
            for node in nodes {
                match self.try_out(tasks, &units[..=at], Some(node)) {
                    Some(true) => return true,
                    // It fits but is not fair: more victims may make it so, another node will not.
                    Some(false) => break,
                    None => {}
                }
            }
        }
        false
    }

    // All victims there are, in the order in which they are asked to leave.
    fn units(&self) -> Vec<Unit> {
        let mut line = Line::of_victims(self.session, |job| self.is_victim(job));
        let mut units = vec![];
        while let Some(entry) = line.pop(self.session) {
            units.extend(self.unit_of(&entry, &mut line));
        }
        units
    }

    // Most sets are too small, and that is seen without trying them out. Says where the first is that may do.
    fn first_large_enough(&self, tasks: &[usize], units: &[Unit]) -> usize {
        let wanted = self.gpus_wanted(tasks);
        let mut gpus = self.gpus_soon();
        let enough = |unit: &Unit| {
            gpus = gpus.saturating_add(self.gpus_left_by(unit));
            gpus >= wanted
        };
        units.iter().position(enough).unwrap_or(units.len())
    }

    // Whether the claimant would find a place if everybody left who could.
    fn is_worthwhile(&mut self, tasks: &[usize]) -> bool {
        let stays = |task: &usize| {
            !self.session.tasks[*task].status.is_active() || self.settled.iter().any(|unit| unit.tasks.contains(task))
        };
        let leaves = |job: usize| {
            let tasks = self.session.jobs[job].tasks.iter().copied().filter(|task| !stays(task)).collect();
            Unit { job, tasks }
        };
        let jobs = (0..self.session.jobs.len()).filter(|job| self.is_victim(*job));
        let all: Vec<Unit> = jobs.map(leaves).filter(|unit| !unit.tasks.is_empty()).collect();
        self.first_large_enough(tasks, &all) < all.len() && self.makes_room(tasks, &all)
    }

    // The first set, from one on, that makes room for the claimant, if sets do not leave less room as they grow.
    fn first_with_room(&mut self, tasks: &[usize], units: &[Unit], from: usize) -> usize {
        let (mut low, mut high) = (from, units.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.makes_room(tasks, &units[..=middle]) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    // Whether the claimant finds a place once these have left. Everything is as before then.
    fn makes_room(&mut self, tasks: &[usize], units: &[Unit]) -> bool {
        let mark = self.session.mark();
        let leaving = [&self.settled, units].concat();
        let nodes = self.leave(&leaving);
        let placed = self.place_in_turn(tasks, &leaving, &nodes, Until::Claimant);
        self.session.rollback(mark);
        placed
    }

    // Whole GPUs that the tasks cannot do without.
    fn gpus_wanted(&self, tasks: &[usize]) -> i64 {
        let wanted = |task: &usize| match self.session.tasks[*task].spec.gpu {
            GpuAsk::Whole(count) => i64::from(count),
            _ => 0,
        };
        tasks.iter().map(wanted).sum()
    }

    // Whole GPUs that are free, will be, or are left by what is settled: more than all tasks together will find.
    fn gpus_soon(&self) -> i64 {
        let soon = self.session.rooms.iter().map(|room| (room.gpus_idle() + room.gpus_releasing()).max(0));
        soon.chain(self.settled.iter().map(|unit| self.gpus_left_by(unit))).fold(0, i64::saturating_add)
    }

    // Whole GPUs that can become free when these leave: a shared one counts as if they were the last on it.
    fn gpus_left_by(&self, unit: &Unit) -> i64 {
        let held = |task: &usize| match self.session.tasks[*task].spec.gpu {
            GpuAsk::Whole(count) | GpuAsk::Part { devices: count, .. } | GpuAsk::Memory { devices: count, .. } => {
                i64::from(count)
            }
            GpuAsk::None | GpuAsk::Partitions(_) => 0,
        };
        unit.tasks.iter().map(held).sum()
    }

    // What of a job leaves next; the rest of it goes back into the line.
    fn unit_of(&self, entry: &Entry, line: &mut Line) -> Option<Unit> {
        let active: Vec<usize> =
            entry.tasks.iter().copied().filter(|task| self.session.tasks[*task].status.is_active()).collect();
        let leaves = if active.len() > entry.min_available { 1 } else { active.len() };
        if active.len() <= entry.min_available && self.is_safe(entry.job) {
            return None;
        }
        let unit: Vec<usize> = active.iter().rev().take(leaves).copied().collect();
        let is_settled = |task: &usize| self.settled.iter().any(|unit| unit.tasks.contains(task));
        if unit.iter().any(is_settled) {
            let rest: Vec<usize> = entry.tasks.iter().copied().filter(|task| !is_settled(task)).collect();
            if rest.iter().any(|task| self.session.tasks[*task].status.is_active()) {
                line.push(self.session, Entry { tasks: rest, ..entry.clone() });
            }
            return None;
        }
        if leaves < active.len() {
            let rest: Vec<usize> = entry.tasks.iter().copied().filter(|task| !unit.contains(task)).collect();
            line.push(self.session, Entry { tasks: rest, ..entry.clone() });
        }
        Some(Unit { job: entry.job, tasks: unit })
    }

    // Lets the settled victims and those on one node leave, and places everyone again. None if the claimant finds no place;
    // else whether the outcome is fair. What is fair stays in the log.
    fn try_out(&mut self, tasks: &[usize], units: &[Unit], node: Option<usize>) -> Option<bool> {
        let mark = self.session.mark();
        let on_node = |unit: &Unit| unit.tasks.iter().any(|task| self.session.node_of(*task) == node);
        let jobs: BTreeSet<usize> = match node {
            Some(_) => units.iter().filter(|unit| on_node(unit)).map(|unit| unit.job).collect(),
            None => BTreeSet::new(),
        };
        let mut leaving = self.settled.clone();
        leaving.extend(units.iter().filter(|unit| jobs.contains(&unit.job)).cloned());
        let nodes = self.leave(&leaving);
        if !self.place_in_turn(tasks, &leaving, &nodes, Until::All) {
            self.session.rollback(mark);
            return None;
        }
        if !self.is_fair(tasks, &leaving) {
            self.session.rollback(mark);
            return Some(false);
        }
        let moved = |task: &usize| matches!(self.session.tasks[*task].status, Status::Releasing | Status::Pipelined);
        self.settled = leaving.into_iter().filter(|unit| unit.tasks.iter().any(moved)).collect();
        Some(true)
    }

    // Lets these leave; says which nodes are worth looking at then.
    fn leave(&mut self, leaving: &[Unit]) -> Vec<usize> {
        let mut nodes: BTreeSet<usize> = self.nodes.iter().copied().collect();
        for task in leaving.iter().flat_map(|unit| &unit.tasks) {
            nodes.extend(self.session.node_of(*task));
            self.session.evict(*task);
        }
        nodes.into_iter().collect()
    }

    // Whether the claimant finds a place when it is its turn.
    fn place_in_turn(&mut self, tasks: &[usize], leaving: &[Unit], nodes: &[usize], until: Until) -> bool {
        let claimant = self.claimant;
        let mut jobs: BTreeSet<usize> = leaving.iter().map(|unit| unit.job).collect();
        let mut line = Line::new(self.session.accounts.count(), false);
        for job in self.waiting.iter().filter(|job| !jobs.contains(job)).chain(&jobs) {
            line.push(self.session, Entry::of(self.session, *job));
        }
        let own = Entry::of(self.session, claimant);
        line.push(self.session, Entry { tasks: tasks.to_vec(), min_available: tasks.len(), ..own });
        let mut placed = false;
        // Others that wait decide whose turn it is, and nothing is done for them.
        while !(placed && (jobs.is_empty() || until == Until::Claimant)) {
            let Some(entry) = line.pop(self.session) else { break };
            if entry.job == claimant {
                if !place(self.session, &entry, nodes, true) {
                    return false;
                }
                placed = true;
            } else if jobs.remove(&entry.job) {
                place(self.session, &entry, nodes, true);
            }
        }
        placed
    }

    // What each victim unit that found no place again held, by queue: tasks beyond a gang one by one, the gang as a whole.
    fn losses(&self, leaving: &[Unit]) -> Vec<(usize, Vec<Amounts>)> {
        let session = &*self.session;
        // In the order in which they left, because each is judged after those before it.
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        let mut jobs: Vec<(usize, Vec<usize>)> = vec![];
        for unit in leaving {
            let at = *places.entry(unit.job).or_insert(jobs.len());
            if at == jobs.len() {
                jobs.push((unit.job, vec![]));
            }
            jobs[at].1.extend(&unit.tasks);
        }
        let mut losses: Vec<(usize, Vec<Amounts>)> = vec![];
        for (job, tasks) in jobs {
            let of = &session.jobs[job].spec;
            let core = tasks.len().min(of.min_available as usize);
            let lost = |tasks: &[usize]| {
                let gone = tasks.iter().filter(|task| session.tasks[**task].status == Status::Releasing);
                gone.map(|task| session.amounts_held(&session.tasks[*task].spec, session.node_of(*task))).reduce(plus)
            };
            let mut amounts: Vec<Amounts> = tasks[core..].iter().filter_map(|task| lost(&[*task])).collect();
            amounts.extend(lost(&tasks[..core]));
            if amounts.is_empty() {
                continue;
            }
            match losses.iter_mut().find(|(queue, _)| *queue == of.queue) {
                Some((_, all)) => all.extend(amounts),
                None => losses.push((of.queue, amounts)),
            }
        }
        losses
    }

    fn is_fair(&self, tasks: &[usize], leaving: &[Unit]) -> bool {
        match self.aim {
            Aim::Preempt => true,
            Aim::Consolidate => {
                let mut all = leaving.iter().flat_map(|unit| &unit.tasks);
                all.all(|task| self.session.tasks[*task].status != Status::Releasing)
            }
            Aim::Reclaim => self.reclaim_is_fair(tasks, leaving),
        }
    }

    // Judged by the accounts as they were before the statement.
    fn reclaim_is_fair(&self, tasks: &[usize], leaving: &[Unit]) -> bool {
        let own = &self.session.jobs[self.claimant].spec;
        let gain: Amounts = tasks
            .iter()
            .fold([0; RESOURCES], |sum, task| plus(sum, self.session.amounts_asked(&self.session.tasks[*task].spec)));
        let losses = self.losses(leaving);
        self.session.before().reclaim_is_fair(own.queue, gain, !own.preemptible, &losses)
    }
}
