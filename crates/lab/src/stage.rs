//! What a trace is replayed on: so many GPUs, and what of them each team is entitled to. Processors and memory, where a trace
//! asks for them, are there in the proportion in which the whole trace asks for them, so that none is scarcer than another.

use crate::trace::Trace;
use govern::{
    amount::Amount,
    division::{Claim, Rule, divide},
};
use thiserror::Error;

/// So much of the GPUs a trace would keep busy while its jobs come, in hundredths, where nobody says how many there are.
const LOAD_PERCENT: u128 = 80;
/// GPUs come in hosts of so many.
const GPUS_PER_HOST: u128 = 8;
/// The most GPUs of a stage.
pub const GPUS_MAX: u32 = 1_000_000;

/// What teams are entitled to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Quotas {
    /// All the same.
    #[default]
    Equal,
    /// As much of the whole as their work is of all work in the trace.
    Demand,
}

/// How a trace is replayed, whatever the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// How many GPUs there are; without a number, so many that jobs that never wait would keep four fifths of them busy, on
    /// average from when the first comes to when the last does.
    pub gpus: Option<u32>,
    /// A job that is stopped keeps what it had done at its last checkpoint; they are so many seconds apart. Zero: none.
    pub checkpoint_s: u64,
    /// What teams are entitled to.
    pub quotas: Quotas,
    /// A job that waited for so many seconds is raised by one class of priority, and again after as many.
    pub ageing_s: Option<u32>,
    /// How many models of GPU there are, in equal parts.
    pub models: u32,
    /// Whether each job wants one model and no other.
    pub pinned: bool,
    /// A team that is entitled to nothing, by its place.
    pub without_quota: Option<u32>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            gpus: None,
            checkpoint_s: 3600,
            quotas: Quotas::Equal,
            ageing_s: None,
            models: 1,
            pinned: false,
            without_quota: None,
        }
    }
}

/// A team on the stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// Thousandths of GPUs, thousandths of processors, MiB.
    pub quota: [i64; 3],
    /// What it counts against the others.
    pub weight: u64,
}

/// What a trace is replayed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// How many GPUs.
    pub gpus: u32,
    /// Thousandths of GPUs, thousandths of processors, MiB; zero of what the trace does not ask for.
    pub total: [i64; 3],
    /// How many of these are counted: GPUs alone, or all.
    pub width: usize,
    /// In the order of the trace's teams.
    pub teams: Vec<Team>,
}

/// Why there is no stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StageFault {
    /// A job could never start.
    #[error("the job in line {line} asks for {wants} GPUs of one model and there are {gpus}; it could never start")]
    TooSmall {
        /// Which line of the trace.
        line: u64,
        /// How many it asks for.
        wants: u64,
        /// How many there are.
        gpus: u64,
    },
    /// More than can be counted.
    #[error("{GPUS_MAX} GPUs are the most that a replay has")]
    TooLarge,
}

impl Stage {
    /// Sets the stage for a trace.
    ///
    /// # Errors
    /// When it would be too small for a job, or too large.
    pub fn new(trace: &Trace, setup: &Setup) -> Result<Self, StageFault> {
        let work = work(trace);
        let models = setup.models.max(1);
        let largest = trace.jobs.iter().max_by_key(|job| (job.asks.gpu_milli, std::cmp::Reverse(job.line)));
        let largest_gpus = largest.map_or(0, |job| job.asks.gpu_milli.div_ceil(1000));
        let gpus = match setup.gpus {
            Some(gpus) => gpus,
            None => {
                let full = busy_on_average(trace) * 100 / (LOAD_PERCENT * 1000) + 1;
                let least = u128::from(largest_gpus) * u128::from(models);
                let gpus = full.max(least).div_ceil(GPUS_PER_HOST) * GPUS_PER_HOST;
                u32::try_from(gpus).map_err(|_| StageFault::TooLarge)?
            }
        };
        if gpus > GPUS_MAX {
            return Err(StageFault::TooLarge);
        }
        let each = u64::from(gpus / models);
        if let Some(job) = largest.filter(|_| largest_gpus > each) {
            return Err(StageFault::TooSmall { line: job.line, wants: largest_gpus, gpus: each });
        }
        let total = total(trace, gpus, work);
        let width = if total[1] > 0 { 3 } else { 1 };
        let teams = teams(trace, setup, gpus, total);
        Ok(Self { gpus, total, width, teams })
    }
}

// Thousandths of GPUs that would be in use while jobs come, on average, if nobody ever waited.
fn busy_on_average(trace: &Trace) -> u128 {
    let last = trace.jobs.last().map_or(1, |job| job.submitted_s.max(1));
    let within = |job: &crate::trace::Job| {
        let left = last.saturating_sub(job.submitted_s).max(0).unsigned_abs();
        u128::from(job.asks.gpu_milli) * u128::from(left.min(job.run_s))
    };
    trace.jobs.iter().map(within).sum::<u128>() / u128::from(last.unsigned_abs())
}

// What all jobs hold for how long, each resource for itself.
fn work(trace: &Trace) -> [u128; 3] {
    let mut work = [0_u128; 3];
    for job in &trace.jobs {
        for (sum, much) in work.iter_mut().zip(job.asks.list()) {
            *sum = sum.saturating_add(u128::from(much).saturating_mul(u128::from(job.run_s)));
        }
    }
    work
}

fn total(trace: &Trace, gpus: u32, work: [u128; 3]) -> [i64; 3] {
    let gpu_milli = i64::from(gpus) * 1000;
    let mut total = [gpu_milli, 0, 0];
    for at in 1..3 {
        let most = trace.jobs.iter().map(|job| job.asks.list()[at]).max().unwrap_or(0);
        let part = work[at].saturating_mul(u128::from(gpu_milli.unsigned_abs())) / work[0].max(1);
        total[at] = i64::try_from(part.max(u128::from(most))).unwrap_or(i64::MAX / 4);
    }
    total
}

fn teams(trace: &Trace, setup: &Setup, gpus: u32, total: [i64; 3]) -> Vec<Team> {
    let mut weights: Vec<u64> = vec![u64::from(setup.quotas == Quotas::Equal); trace.teams.len()];
    for job in trace.jobs.iter().filter(|_| setup.quotas == Quotas::Demand) {
        let gpu_s = job.asks.gpu_milli.saturating_mul(job.run_s).div_ceil(1000);
        if let Some(weight) = weights.get_mut(job.team as usize) {
            *weight = weight.saturating_add(gpu_s);
        }
    }
    let claim = |(weight, rank): (&u64, u64)| Claim {
        quota: Amount::ZERO,
        weight: if setup.without_quota.is_some_and(|team| u64::from(team) == rank) { 0 } else { *weight },
        request: Amount::UNLIMITED,
        limit: Amount::UNLIMITED,
        priority: 0,
        rank,
        usage_ppb: 0,
    };
    let claims: Vec<Claim> = weights.iter().zip(0_u64..).map(claim).collect();
    let shares = divide(Amount::new(i64::from(gpus)), Rule::PLAIN, &claims).shares;
    let quota = |share: &Amount| {
        let part = |total: i64| {
            let part = i128::from(total) * i128::from(share.units()) / i128::from(gpus.max(1));
            i64::try_from(part).unwrap_or(i64::MAX / 4)
        };
        total.map(part)
    };
    shares.iter().zip(&weights).map(|(share, weight)| Team { quota: quota(share), weight: (*weight).max(1) }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Quotas, Setup, Stage, StageFault};
    use crate::trace::{Trace, read};

    fn trace() -> Trace {
        let rows = "2017-10-09 07:00:00,1000,4,0,a\n2017-10-09 07:00:00,1000,12,0,b\n2017-10-09 07:16:40,1,1,0,c\n";
        read(&format!("timestamp,duration,num_gpus,gpu_time,cluster\n{rows}"), None).unwrap()
    }

    #[test]
    fn without_a_number_the_trace_fills_four_fifths_in_whole_hosts() {
        let stage = Stage::new(&trace(), &Setup::default()).unwrap();
        assert_eq!((stage.gpus, stage.width), (24, 1));
        assert_eq!(stage.teams.iter().map(|team| team.quota[0]).collect::<Vec<_>>(), [8000; 3]);
    }

    #[test]
    fn quotas_can_follow_demand_and_one_team_can_have_none() {
        let setup = Setup { gpus: Some(16), quotas: Quotas::Demand, ..Setup::default() };
        let quotas = |setup| Stage::new(&trace(), &setup).unwrap().teams.iter().map(|t| t.quota[0]).collect::<Vec<_>>();
        assert_eq!(quotas(setup), [4000, 12_000, 0]);
        let setup = Setup { gpus: Some(16), without_quota: Some(0), ..Setup::default() };
        assert_eq!(quotas(setup), [0, 8000, 8000]);
    }

    #[test]
    fn what_is_too_small_is_refused_with_the_job_that_does_not_fit() {
        let refused = |setup| Stage::new(&trace(), &setup).unwrap_err();
        let small = StageFault::TooSmall { line: 3, wants: 12, gpus: 11 };
        assert_eq!(refused(Setup { gpus: Some(11), ..Setup::default() }), small);
        let halves = StageFault::TooSmall { line: 3, wants: 12, gpus: 8 };
        assert_eq!(refused(Setup { gpus: Some(16), models: 2, ..Setup::default() }), halves);
        assert_eq!(refused(Setup { gpus: Some(u32::MAX), ..Setup::default() }), StageFault::TooLarge);
    }
}
