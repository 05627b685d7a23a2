//! What a replay comes to, in whole numbers. Between two moments nothing changes, so everything that is measured over time is
//! a sum of values times seconds, and no sample is missed.
//!
//! Two measures of fairness, both taken only while somebody waits. The **Jain index** looks at what each team uses of what it
//! is due: its part of the GPUs by weight, where nobody is due more than it wants and what one leaves goes to the others. One
//! is perfectly fair; one divided by the number of teams is one team that has everything. The **gap** is the largest dominant
//! share of any team less the smallest of a team that waits.

use crate::{
    desk::Cause,
    stage::Stage,
    trace::{CLASSES, Trace},
};
use govern::{
    amount::Amount,
    division::{Claim, Rule, divide},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// One, in millionths.
pub const ONE_PPM: u64 = 1_000_000;
/// A day, in seconds: who waits longer counts as starved.
pub const DAY_S: u64 = 86_400;
const SAMPLES_MAX: usize = 512;
/// Names of the classes of size.
pub const SIZES: [&str; 3] = ["up to 1 GPU", "2 to 7 GPUs", "8 GPUs and more"];

/// The class of size that so many thousandths of GPUs belong to.
#[must_use]
pub const fn size_class(gpu_milli: u64) -> usize {
    match gpu_milli {
        0..=1000 => 0,
        1001..=7999 => 1,
        _ => 2,
    }
}

/// How fair one moment is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fairness {
    /// The Jain index, in millionths.
    pub jain_ppm: u64,
    /// The gap between dominant shares, in millionths.
    pub gap_ppm: u64,
}

/// What one team uses and wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Need {
    /// Thousandths of GPUs, thousandths of processors, MiB.
    pub used: [u64; 3],
    /// What its jobs that wait ask for, in thousandths of GPUs.
    pub wanted_gpu_milli: u64,
}

/// How fair it is that the teams of a stage use so much; nothing when nobody waits.
#[must_use]
pub fn fairness(stage: &Stage, needs: &[Need]) -> Option<Fairness> {
    needs.iter().any(|need| need.wanted_gpu_milli > 0).then_some(())?;
    let amount = |value: u64| Amount::new(i64::try_from(value).unwrap_or(i64::MAX));
    let claim = |((need, team), rank): ((&Need, &crate::stage::Team), u64)| Claim {
        quota: Amount::ZERO,
        weight: team.weight,
        request: amount(need.used[0].saturating_add(need.wanted_gpu_milli)),
        limit: Amount::UNLIMITED,
        priority: 0,
        rank,
        usage_ppb: 0,
    };
    let claims: Vec<Claim> = needs.iter().zip(&stage.teams).zip(0..).map(claim).collect();
    let due = divide(Amount::new(stage.total[0]), Rule::PLAIN, &claims).shares;
    let (mut count, mut sum, mut squares) = (0_u128, 0_u128, 0_u128);
    for (need, due) in needs.iter().zip(due).filter(|(_, due)| due.units() > 0) {
        let served = u128::from(need.used[0]) * u128::from(ONE_PPM) / u128::from(due.units().unsigned_abs());
        count += 1;
        sum = sum.saturating_add(served);
        squares = squares.saturating_add(served.saturating_mul(served));
    }
    let jain = match squares {
        0 => u128::from(ONE_PPM),
        _ => sum.saturating_mul(sum).saturating_mul(u128::from(ONE_PPM)) / (count * squares),
    };
    let share = |need: &Need| {
        let of = |(used, total): (u64, i64)| used.saturating_mul(ONE_PPM) / total.max(1).unsigned_abs();
        need.used.into_iter().zip(stage.total).filter(|(_, total)| *total > 0).map(of).max().unwrap_or(0)
    };
    let largest = needs.iter().map(share).max().unwrap_or(0);
    let smallest = needs.iter().filter(|need| need.wanted_gpu_milli > 0).map(share).min().unwrap_or(0);
    Some(Fairness { jain_ppm: u64::try_from(jain).unwrap_or(ONE_PPM), gap_ppm: largest.saturating_sub(smallest) })
}

/// Sums over a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// How long it is.
    pub seconds: u64,
    /// Thousandths of GPUs in use, times seconds.
    pub busy: u64,
    /// Jobs that wait, times seconds.
    pub waiting: u64,
    /// For how long somebody waited.
    pub contended_s: u64,
    /// Millionths of the Jain index, times seconds in which somebody waited.
    pub jain: u64,
    /// Millionths of the gap, times the same seconds.
    pub gap: u64,
}

impl Sample {
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.busy = self.busy.saturating_add(other.busy);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.contended_s += other.contended_s;
        self.jain = self.jain.saturating_add(other.jain);
        self.gap = self.gap.saturating_add(other.gap);
    }

    /// The mean Jain index while somebody waited; one if nobody did.
    #[must_use]
    pub fn jain_ppm(&self) -> u64 {
        self.jain.checked_div(self.contended_s).unwrap_or(ONE_PPM)
    }

    /// The mean gap while somebody waited; none if nobody did.
    #[must_use]
    pub fn gap_ppm(&self) -> u64 {
        self.gap.checked_div(self.contended_s).unwrap_or(0)
    }

    /// What of so many GPUs was in use, in millionths.
    #[must_use]
    pub fn busy_ppm(&self, gpus: u32) -> u64 {
        let whole = u128::from(gpus) * 1000 * u128::from(self.seconds.max(1));
        u64::try_from(u128::from(self.busy) * u128::from(ONE_PPM) / whole.max(1)).unwrap_or(ONE_PPM)
    }
}

/// Samples of equal width. When there are too many, two become one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Series {
    /// How long each is.
    pub width_s: u64,
    /// From the start.
    pub samples: Vec<Sample>,
}

impl Default for Series {
    fn default() -> Self {
        Self { width_s: 60, samples: vec![] }
    }
}

/// What holds from one moment to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Level {
    /// Thousandths of GPUs in use.
    pub busy: u64,
    /// Jobs that wait.
    pub waiting: u64,
    /// How fair it is, while somebody waits.
    pub fairness: Option<Fairness>,
}

impl Series {
    /// This held from here to there.
    pub fn hold(&mut self, from_s: u64, until_s: u64, level: &Level) {
        let mut from = from_s;
        while from < until_s {
            while usize::try_from(from / self.width_s).unwrap_or(usize::MAX) >= SAMPLES_MAX {
                self.halve();
            }
            let at = usize::try_from(from / self.width_s).unwrap_or(0);
            let until = until_s.min((from / self.width_s + 1) * self.width_s);
            if self.samples.len() <= at {
                self.samples.resize(at + 1, Sample::default());
            }
            if let Some(sample) = self.samples.get_mut(at) {
                sample.add(&level.for_seconds(until - from));
            }
            from = until;
        }
    }

    fn halve(&mut self) {
        let pairs = self.samples.chunks(2).map(|pair| {
            pair.iter().fold(Sample::default(), |mut sum, one| {
                sum.add(one);
                sum
            })
        });
        self.samples = pairs.collect();
        self.width_s = self.width_s.saturating_mul(2);
    }

    /// All of it in one.
    #[must_use]
    pub fn whole(&self) -> Sample {
        self.samples.iter().fold(Sample::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }
}

impl Level {
    fn for_seconds(&self, seconds: u64) -> Sample {
        let fair = self.fairness.unwrap_or_default();
        Sample {
            seconds,
            busy: self.busy.saturating_mul(seconds),
            waiting: self.waiting.saturating_mul(seconds),
            contended_s: if self.fairness.is_some() { seconds } else { 0 },
            jain: fair.jain_ppm.saturating_mul(seconds),
            gap: fair.gap_ppm.saturating_mul(seconds),
        }
    }
}

/// What one job went through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fate {
    /// When it first ran, in seconds of the trace.
    pub started_s: Option<i64>,
    /// When it ended.
    pub ended_s: Option<i64>,
    /// For how long it waited, all times together.
    pub waited_s: u64,
    /// How often it was stopped.
    pub stops: u32,
    /// What of its work was lost, in thousandths of GPUs times seconds.
    pub lost: u64,
}

/// Waits of some jobs, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// How many jobs.
    pub jobs: u64,
    /// On average.
    pub mean_s: u64,
    /// Half of them waited no longer.
    pub p50_s: u64,
    /// Nine of ten.
    pub p90_s: u64,
    /// Ninety-nine of a hundred.
    pub p99_s: u64,
    /// Nobody waited longer.
    pub longest_s: u64,
    /// How many waited for more than a day.
    pub over_a_day: u64,
}

// Of sorted values, the smallest that so many hundredths of them do not pass.
fn percentile(sorted: &[u64], hundredths: usize) -> u64 {
    let at = (sorted.len() * hundredths).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or(0)
}

impl Waits {
    /// Of these.
    #[must_use]
    pub fn of(mut waits: Vec<u64>) -> Self {
        waits.sort_unstable();
        let jobs = u64::try_from(waits.len()).unwrap_or(u64::MAX);
        let sum = waits.iter().fold(0_u64, |sum, wait| sum.saturating_add(*wait));
        Self {
            jobs,
            mean_s: sum / jobs.max(1),
            p50_s: percentile(&waits, 50),
            p90_s: percentile(&waits, 90),
            p99_s: percentile(&waits, 99),
            longest_s: waits.last().copied().unwrap_or(0),
            over_a_day: u64::try_from(waits.iter().filter(|wait| **wait > DAY_S).count()).unwrap_or(u64::MAX),
        }
    }
}

/// What was stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stops {
    /// How often a job was stopped.
    pub count: u64,
    /// How many jobs were, at least once.
    pub jobs: u64,
    /// By which rule: by a higher class, reclaimed by another team, by fair share.
    pub by_priority: u64,
    /// See there.
    pub by_reclaim: u64,
    /// See there.
    pub by_fair_share: u64,
    /// How often the unluckiest job was.
    pub most: u32,
    /// Its line in the trace.
    pub most_line: u64,
    /// Work that had to be done again, in GPU-seconds.
    pub lost_gpu_s: u64,
    /// Moments at which rules undid what they had done until they were cut short.
    pub cut: u64,
}

impl Stops {
    /// One more, for this reason.
    pub(crate) const fn count(&mut self, cause: Cause) {
        self.count += 1;
        match cause {
            Cause::Priority => self.by_priority += 1,
            Cause::Reclaim => self.by_reclaim += 1,
            Cause::FairShare => self.by_fair_share += 1,
        }
    }
}

/// What came of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The policy's name.
    pub policy: &'static str,
    /// Waits of all jobs.
    pub waits: Waits,
    /// From when a job came to when it ended, on average.
    pub turnaround_mean_s: u64,
    /// So many millionths of the jobs waited no longer than so many seconds.
    pub wait_curve: Vec<(u64, u64)>,
    /// By class of priority, lowest first.
    pub by_class: Vec<(&'static str, Waits)>,
    /// By size.
    pub by_size: Vec<(&'static str, Waits)>,
    /// By team.
    pub by_team: Vec<(String, Waits)>,
    /// What was in use while jobs came, in millionths.
    pub busy_ppm: u64,
    /// The mean Jain index while somebody waited, in millionths.
    pub jain_ppm: u64,
    /// The mean gap while somebody waited, in millionths.
    pub gap_ppm: u64,
    /// What was stopped.
    pub stops: Stops,
    /// Work that was done and kept, in GPU-seconds.
    pub done_gpu_s: u64,
    /// From the first job that came to the last that ended.
    pub makespan_s: u64,
    /// Jobs that never ended.
    pub unfinished: u64,
    /// Over time.
    pub series: Series,
}

/// Puts together what came of the jobs.
pub(crate) struct Tally<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) fates: &'a [Fate],
    pub(crate) busy_ppm: u64,
    pub(crate) stops: Stops,
    pub(crate) series: Series,
}

impl Tally<'_> {
    pub(crate) fn outcome(mut self, policy: &'static str) -> Outcome {
        let all: Vec<u64> = self.fates.iter().map(|fate| fate.waited_s).collect();
        let by = |count: usize, class: &dyn Fn(&crate::trace::Job) -> usize| {
            let mut waits = vec![vec![]; count];
            for (job, fate) in self.trace.jobs.iter().zip(self.fates) {
                if let Some(of) = waits.get_mut(class(job)) {
                    of.push(fate.waited_s);
                }
            }
            waits.into_iter().map(Waits::of).collect::<Vec<Waits>>()
        };
        let by_class = by(CLASSES.len(), &|job| usize::from(job.priority));
        let by_size = by(SIZES.len(), &|job| size_class(job.asks.gpu_milli));
        let by_team = by(self.trace.teams.len(), &|job| job.team as usize);
        let whole = self.series.whole();
        let (mut turnaround, mut done, mut last, mut lost) = (0_u128, 0_u128, 0, 0_u128);
        for (job, fate) in self.trace.jobs.iter().zip(self.fates) {
            let Some(ended_s) = fate.ended_s else { continue };
            turnaround += u128::from(ended_s.saturating_sub(job.submitted_s).max(0).unsigned_abs());
            done += u128::from(job.asks.gpu_milli) * u128::from(job.run_s);
            last = last.max(ended_s);
            lost += u128::from(fate.lost);
        }
        let ended = self.fates.iter().filter(|fate| fate.ended_s.is_some()).count();
        let narrow = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        let unlucky =
            self.fates.iter().zip(&self.trace.jobs).max_by_key(|(fate, job)| (fate.stops, u64::MAX - job.line));
        self.stops.jobs = narrow(self.fates.iter().map(|fate| u128::from(fate.stops > 0)).sum());
        (self.stops.most, self.stops.most_line) = unlucky.map_or((0, 0), |(fate, job)| (fate.stops, job.line));
        self.stops.lost_gpu_s = narrow(lost / 1000);
        Outcome {
            policy,
            wait_curve: curve(all.clone()),
            waits: Waits::of(all),
            turnaround_mean_s: narrow(turnaround / u128::try_from(ended.max(1)).unwrap_or(1)),
            by_class: CLASSES.into_iter().zip(by_class).collect(),
            by_size: SIZES.into_iter().zip(by_size).collect(),
            by_team: self.trace.teams.iter().cloned().zip(by_team).collect(),
            busy_ppm: self.busy_ppm,
            jain_ppm: whole.jain_ppm(),
            gap_ppm: whole.gap_ppm(),
            stops: self.stops,
            done_gpu_s: narrow(done / 1000),
            makespan_s: last.max(0).unsigned_abs(),
            unfinished: u64::try_from(self.fates.len().saturating_sub(ended)).unwrap_or(u64::MAX),
            series: self.series,
        }
    }
}

// Points at which the part of jobs that waited no longer is known; each wait once, and no more than a picture can show.
fn curve(mut waits: Vec<u64>) -> Vec<(u64, u64)> {
    const POINTS: usize = 200;
    waits.sort_unstable();
    let all = waits.len().max(1);
    let mut points = BTreeMap::new();
    for at in 0..=POINTS {
        let place = (all * at).div_ceil(POINTS).max(1);
        let Some(wait) = waits.get(place - 1) else { continue };
        let no_longer = waits.partition_point(|other| other <= wait);
        let part = u64::try_from(no_longer).unwrap_or(0).saturating_mul(ONE_PPM) / u64::try_from(all).unwrap_or(1);
        points.insert(*wait, part);
    }
    points.into_iter().collect()
}

#[cfg(test)]
mod tests;
