//! A comparison: one trace, one setup, several policies; and a few small replays beside them that show what no comparison of
//! policies alone can: what asking for one model of GPU costs, what raising those that wait does, and how a team without
//! quota fares.

use crate::{
    measure::{Fate, Outcome, Waits},
    policy::Policy,
    replay::replay,
    stage::{Setup, Stage, StageFault},
    trace::Trace,
};
use govern::tree::TreeFault;
use serde::Serialize;
use thiserror::Error;

/// The replays beside the comparison look at so many jobs, at most.
pub const ASIDE_JOBS_MAX: usize = 5_000;
/// In the one of them that raises those that wait, a job goes up a class after so many seconds.
pub const AGEING_S: u32 = 4 * 3600;

/// Why nothing was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RunFault {
    /// The trace does not fit.
    #[error(transparent)]
    Stage(#[from] StageFault),
    /// The quotas are no tree.
    #[error(transparent)]
    Tree(#[from] TreeFault),
}

/// What a replay beside the comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Aside {
    /// Waits of all jobs that it looked at.
    pub waits: Waits,
    /// Waits of those that it is about: the lowest class, or the team without quota.
    pub about: Waits,
    /// What was in use, in millionths.
    pub busy_ppm: u64,
    /// The mean Jain index, in millionths.
    pub jain_ppm: u64,
    /// How often a job was stopped.
    pub stops: u64,
    /// How often one of those that it is about was stopped.
    pub about_stops: u64,
    /// How many of those ended.
    pub about_ended: u64,
}

/// The replays beside the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asides {
    /// How many jobs they looked at.
    pub jobs: u64,
    /// On how many GPUs.
    pub gpus: u32,
    /// Two models of GPU, and every job takes either.
    pub any_model: Aside,
    /// Two models, and every job wants one of them.
    pub one_model: Aside,
    /// Strict priority.
    pub classes_fixed: Aside,
    /// Strict priority that rises with waiting.
    pub classes_rise: Aside,
    /// Every team with its quota.
    pub with_quota: Aside,
    /// One team with none.
    pub without_quota: Aside,
    /// That team.
    pub team: String,
    /// Nothing is kept of a job that is stopped.
    pub no_checkpoints: Aside,
}

/// A comparison, as far as it is put together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The form of the trace.
    pub form: &'static str,
    /// Jobs replayed.
    pub jobs: u64,
    /// Rows left out, because they ask for no GPU or run for no time.
    pub left_out: u64,
    /// Teams, and what of the GPUs each is entitled to, in thousandths of a GPU.
    pub teams: Vec<(String, i64)>,
    /// How many GPUs.
    pub gpus: u32,
    /// Whether jobs ask for processors and memory, too.
    pub several_resources: bool,
    /// How far checkpoints are apart; zero where nothing is kept.
    pub checkpoint_s: u64,
    /// When the last job came.
    pub span_s: u64,
    /// What came of each policy.
    pub outcomes: Vec<Outcome>,
    /// What was replayed beside it.
    pub asides: Asides,
}

impl Comparison {
    /// Puts outcomes and what was replayed beside them together.
    #[must_use]
    pub fn new(trace: &Trace, stage: &Stage, setup: &Setup, outcomes: Vec<Outcome>, asides: Asides) -> Self {
        let teams = trace.teams.iter().cloned().zip(stage.teams.iter().map(|team| team.quota[0])).collect();
        Self {
            form: trace.form.name(),
            jobs: u64::try_from(trace.jobs.len()).unwrap_or(u64::MAX),
            left_out: trace.left_out,
            teams,
            gpus: stage.gpus,
            several_resources: stage.width > 1,
            checkpoint_s: setup.checkpoint_s,
            span_s: trace.jobs.last().map_or(0, |job| job.submitted_s.max(0).unsigned_abs()),
            outcomes,
            asides,
        }
    }

    /// The outcome of a policy, if it was compared.
    #[must_use]
    pub fn of(&self, policy: Policy) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.policy == policy.name())
    }
}

/// Compares policies on a trace, one after the other.
///
/// # Errors
/// When the trace does not fit on the stage.
pub fn compare(trace: &Trace, setup: &Setup, policies: &[Policy]) -> Result<Comparison, RunFault> {
    let stage = Stage::new(trace, setup)?;
    let outcome = |policy: &Policy| Ok(replay(trace, &stage, setup, *policy)?.outcome);
    let outcomes = policies.iter().map(outcome).collect::<Result<Vec<Outcome>, RunFault>>()?;
    Ok(Comparison::new(trace, &stage, setup, outcomes, asides(trace, setup)?))
}

/// The replays beside the comparison, on the busiest part of the trace.
///
/// # Errors
/// When that part does not fit on any stage.
pub fn asides(trace: &Trace, setup: &Setup) -> Result<Asides, RunFault> {
    let part = busiest(trace);
    let base = Setup { gpus: None, models: 2, pinned: false, without_quota: None, ageing_s: None, ..*setup };
    let stage = Stage::new(&part, &base)?;
    let base = Setup { gpus: Some(stage.gpus), ..base };
    let whole = Setup { models: 1, ..base };
    // The team that asks most often is the one whose quota matters most.
    let mut jobs_of: Vec<u32> = vec![0; part.teams.len()];
    part.jobs.iter().for_each(|job| jobs_of.get_mut(job.team as usize).into_iter().for_each(|count| *count += 1));
    let team = (0..).zip(&jobs_of).max_by_key(|(at, count)| (**count, u32::MAX - at)).map_or(0, |(at, _)| at);
    let low = |_: u32, priority: u8| priority == 0;
    let theirs = |of: u32, _: u8| of == team;
    let strict = |setup| aside(&part, &setup, Policy::Priority, &low);
    let own = |setup| aside(&part, &setup, Policy::Gpuaas, &theirs);
    Ok(Asides {
        jobs: u64::try_from(part.jobs.len()).unwrap_or(u64::MAX),
        gpus: stage.gpus,
        any_model: aside(&part, &base, Policy::Fair, &low)?,
        one_model: aside(&part, &Setup { pinned: true, ..base }, Policy::Fair, &low)?,
        classes_fixed: strict(whole)?,
        classes_rise: strict(Setup { ageing_s: Some(AGEING_S), ..whole })?,
        no_checkpoints: strict(Setup { checkpoint_s: 0, ..whole })?,
        with_quota: own(whole)?,
        without_quota: own(Setup { without_quota: Some(team), ..whole })?,
        team: part.teams.get(team as usize).cloned().unwrap_or_default(),
    })
}

fn aside(trace: &Trace, setup: &Setup, policy: Policy, is_about: &dyn Fn(u32, u8) -> bool) -> Result<Aside, RunFault> {
    let stage = Stage::new(trace, setup)?;
    let replayed = replay(trace, &stage, setup, policy)?;
    let jobs = trace.jobs.iter().zip(&replayed.fates).filter(|(job, _)| is_about(job.team, job.priority));
    let about: Vec<Fate> = jobs.map(|(_, fate)| *fate).collect();
    let outcome = replayed.outcome;
    Ok(Aside {
        waits: outcome.waits,
        about: Waits::of(about.iter().map(|fate| fate.waited_s).collect()),
        busy_ppm: outcome.busy_ppm,
        jain_ppm: outcome.jain_ppm,
        stops: outcome.stops.count,
        about_stops: about.iter().map(|fate| u64::from(fate.stops)).fold(0, u64::saturating_add),
        about_ended: about.iter().map(|fate| u64::from(fate.ended_s.is_some())).sum(),
    })
}

// The jobs that came one after the other in the shortest time.
fn busiest(trace: &Trace) -> Trace {
    let all = &trace.jobs;
    let ends = all.iter().enumerate().skip(ASIDE_JOBS_MAX.saturating_sub(1));
    let spans = ends.zip(all).map(|((last, end), start)| (end.submitted_s.saturating_sub(start.submitted_s), last));
    let first = spans.min().map_or(0, |(_, last)| last + 1 - ASIDE_JOBS_MAX.min(last + 1));
    let mut jobs: Vec<_> = all.iter().skip(first).take(ASIDE_JOBS_MAX).cloned().collect();
    let begin = jobs.first().map_or(0, |job| job.submitted_s);
    jobs.iter_mut().for_each(|job| job.submitted_s -= begin);
    Trace { form: trace.form, jobs, teams: trace.teams.clone(), left_out: 0 }
}
