//! Virtual time: jobs come when the trace says and end when they have run for as long as they must; at every such moment the
//! engine decides who runs. Time jumps from one moment to the next, so a replay takes as long as its decisions.
//!
//! A job starts with all it asks for or not at all. One that is stopped keeps what it had done at its last checkpoint, waits
//! again with the age it has, and does the rest, and what was lost, over.

use crate::{
    desk::{Change, Cycles, Desk},
    kai::Rounds,
    measure::{Fate, Level, Need, Outcome, Series, Stops, Tally, fairness},
    policy::Policy,
    stage::{Setup, Stage},
    trace::Trace,
};
use govern::tree::TreeFault;
use std::collections::BTreeSet;

// The highest class; waiting raises nobody beyond it.
const PRIORITY_MAX: u8 = 2;

/// What came of a replay, and of each job of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// In sums.
    pub outcome: Outcome,
    /// By job.
    pub fates: Vec<Fate>,
}

/// Replays a trace under a policy.
///
/// # Errors
/// When the teams of the stage are no tree; they always are.
pub fn replay(trace: &Trace, stage: &Stage, setup: &Setup, policy: Policy) -> Result<Replayed, TreeFault> {
    let desk: Box<dyn Desk + '_> = match policy {
        Policy::Kai => Box::new(Rounds::new(trace, stage)),
        _ => Box::new(Cycles::new(trace, stage, setup, policy)?),
    };
    let mut world = World::new(trace, stage, setup, desk);
    while let Some(moment) = world.next_moment() {
        world.pass(moment);
        world.end_and_submit(moment);
        world.decide(moment);
    }
    let World { fates, stops, series, busy, .. } = world;
    let window = trace.jobs.last().map_or(1, |job| job.submitted_s.max(1)).unsigned_abs();
    let whole = u128::from(stage.gpus.max(1)) * 1000 * u128::from(window);
    let busy_ppm = u64::try_from(busy * 1_000_000 / whole).unwrap_or(u64::MAX);
    let tally = Tally { trace, fates: &fates, busy_ppm, stops, series };
    let outcome = tally.outcome(policy.name());
    Ok(Replayed { outcome, fates })
}

// How one job is doing.
#[derive(Debug, Clone, Copy)]
struct Progress {
    left_s: u64,
    // Since when it runs, or waits.
    since: i64,
    runs: bool,
    priority: u8,
    // When it is raised by a class.
    raised_at: Option<i64>,
}

struct World<'t> {
    trace: &'t Trace,
    stage: &'t Stage,
    setup: &'t Setup,
    desk: Box<dyn Desk + 't>,
    now: i64,
    // The next job to come.
    next: usize,
    ends: BTreeSet<(i64, usize)>,
    // When those that wait are raised by a class.
    raises: BTreeSet<(i64, usize)>,
    progress: Vec<Progress>,
    fates: Vec<Fate>,
    needs: Vec<Need>,
    level: Level,
    // The desk was cut short, and is asked again even if nothing happens.
    again: bool,
    // The desk wants to be asked again then.
    ask_at: Option<i64>,
    stops: Stops,
    series: Series,
    // Thousandths of GPUs times seconds, while jobs came.
    busy: u128,
}

impl<'t> World<'t> {
    fn new(trace: &'t Trace, stage: &'t Stage, setup: &'t Setup, desk: Box<dyn Desk + 't>) -> Self {
        let progress = |job: &crate::trace::Job| Progress {
            left_s: job.run_s,
            since: job.submitted_s,
            runs: false,
            priority: job.priority,
            raised_at: None,
        };
        Self {
            trace,
            stage,
            setup,
            desk,
            now: 0,
            next: 0,
            ends: BTreeSet::new(),
            raises: BTreeSet::new(),
            progress: trace.jobs.iter().map(progress).collect(),
            fates: vec![Fate::default(); trace.jobs.len()],
            needs: vec![Need::default(); stage.teams.len()],
            level: Level::default(),
            again: false,
            ask_at: None,
            stops: Stops::default(),
            series: Series::default(),
            busy: 0,
        }
    }

    fn next_moment(&mut self) -> Option<i64> {
        let comes = self.trace.jobs.get(self.next).map(|job| job.submitted_s);
        let ends = self.ends.first().map(|(at, _)| *at);
        let soonest = comes.into_iter().chain(ends).chain(self.ask_at.take()).min();
        // With nothing to come and nothing that runs, raising somebody is no reason to go on for ever.
        let raises = self.raises.first().map(|(at, _)| *at).filter(|_| soonest.is_some());
        let again = std::mem::take(&mut self.again).then_some(self.now);
        soonest.into_iter().chain(raises).min().or(again)
    }

    // Nothing changed until this moment.
    fn pass(&mut self, moment: i64) {
        let (from, until) = (self.now.max(0).unsigned_abs(), moment.max(0).unsigned_abs());
        if until > from {
            self.level.fairness = fairness(self.stage, &self.needs);
            self.series.hold(from, until, &self.level);
            if self.next < self.trace.jobs.len() {
                self.busy += u128::from(self.level.busy) * u128::from(until - from);
            }
        }
        self.now = moment;
    }

    fn end_and_submit(&mut self, moment: i64) {
        while let Some((_, job)) = self.ends.first().copied().filter(|(at, _)| *at <= moment) {
            self.ends.pop_first();
            self.desk.end(job);
            self.leave(job);
            if let Some(fate) = self.fates.get_mut(job) {
                fate.ended_s = Some(moment);
            }
        }
        while let Some(job) = self.trace.jobs.get(self.next).filter(|job| job.submitted_s <= moment) {
            self.desk.submit(self.next, job.priority);
            self.wait(self.next, moment);
            self.next += 1;
        }
        while let Some((at, job)) = self.raises.first().copied().filter(|(at, _)| *at <= moment) {
            self.raises.remove(&(at, job));
            let Some(progress) = self.progress.get_mut(job) else { continue };
            progress.priority = progress.priority.saturating_add(1).min(PRIORITY_MAX);
            self.desk.raise(job, progress.priority);
            self.raise_later(job, at);
        }
    }

    fn decide(&mut self, moment: i64) {
        let decided = self.desk.decide(moment);
        self.stops.cut += u64::from(decided.cut);
        self.again = decided.cut && !decided.changes.is_empty();
        self.ask_at = decided.ask_again_at;
        for change in decided.changes {
            match change {
                Change::Start(job) => self.start(job, moment),
                Change::Stop(job, cause) => {
                    self.stop(job, moment);
                    self.stops.count(cause);
                }
            }
        }
    }

    fn start(&mut self, job: usize, moment: i64) {
        let (Some(of), Some(progress)) = (self.trace.jobs.get(job), self.progress.get_mut(job)) else { return };
        if std::mem::replace(&mut progress.runs, true) {
            return;
        }
        let waited = moment.saturating_sub(std::mem::replace(&mut progress.since, moment)).max(0).unsigned_abs();
        self.ends.insert((moment.saturating_add_unsigned(progress.left_s), job));
        if let Some(at) = progress.raised_at.take() {
            self.raises.remove(&(at, job));
        }
        if let Some(fate) = self.fates.get_mut(job) {
            fate.waited_s = fate.waited_s.saturating_add(waited);
            fate.started_s.get_or_insert(moment);
        }
        if let Some(need) = self.needs.get_mut(of.team as usize) {
            need.wanted_gpu_milli = need.wanted_gpu_milli.saturating_sub(of.asks.gpu_milli);
            need.used.iter_mut().zip(of.asks.list()).for_each(|(used, more)| *used = used.saturating_add(more));
        }
        self.level.waiting = self.level.waiting.saturating_sub(1);
        self.level.busy = self.level.busy.saturating_add(of.asks.gpu_milli);
    }

    fn stop(&mut self, job: usize, moment: i64) {
        let (Some(of), Some(progress)) = (self.trace.jobs.get(job), self.progress.get_mut(job)) else { return };
        if !progress.runs {
            return;
        }
        self.ends.remove(&(progress.since.saturating_add_unsigned(progress.left_s), job));
        let ran = moment.saturating_sub(progress.since).max(0).unsigned_abs();
        let kept = ran.checked_div(self.setup.checkpoint_s).map_or(0, |count| count * self.setup.checkpoint_s);
        progress.left_s = progress.left_s.saturating_sub(kept);
        if let Some(fate) = self.fates.get_mut(job) {
            fate.stops = fate.stops.saturating_add(1);
            fate.lost = fate.lost.saturating_add((ran - kept).saturating_mul(of.asks.gpu_milli));
        }
        self.leave(job);
        self.wait(job, moment);
    }

    // It runs no more.
    fn leave(&mut self, job: usize) {
        let (Some(of), Some(progress)) = (self.trace.jobs.get(job), self.progress.get_mut(job)) else { return };
        progress.runs = false;
        if let Some(need) = self.needs.get_mut(of.team as usize) {
            need.used.iter_mut().zip(of.asks.list()).for_each(|(used, less)| *used = used.saturating_sub(less));
        }
        self.level.busy = self.level.busy.saturating_sub(of.asks.gpu_milli);
    }

    fn wait(&mut self, job: usize, moment: i64) {
        let (Some(of), Some(progress)) = (self.trace.jobs.get(job), self.progress.get_mut(job)) else { return };
        progress.since = moment;
        if let Some(need) = self.needs.get_mut(of.team as usize) {
            need.wanted_gpu_milli = need.wanted_gpu_milli.saturating_add(of.asks.gpu_milli);
        }
        self.level.waiting += 1;
        self.raise_later(job, moment);
    }

    fn raise_later(&mut self, job: usize, moment: i64) {
        let (Some(progress), Some(ageing_s)) = (self.progress.get_mut(job), self.setup.ageing_s) else { return };
        if progress.priority < PRIORITY_MAX {
            let at = moment.saturating_add(i64::from(ageing_s));
            progress.raised_at = Some(at);
            self.raises.insert((at, job));
        }
    }
}
