//! Sums by hand.

use super::{Fairness, Level, Need, Series, Waits, curve, fairness};
use crate::stage::{Stage, Team};

fn stage(teams: usize) -> Stage {
    Stage { gpus: 8, total: [8000, 0, 0], width: 1, teams: vec![Team { quota: [0; 3], weight: 1 }; teams] }
}

fn need(used: u64, wanted_gpu_milli: u64) -> Need {
    Need { used: [used, 0, 0], wanted_gpu_milli }
}

#[test]
fn nobody_waits_means_nothing_to_be_fair_about() {
    assert_eq!(fairness(&stage(2), &[need(8000, 0), need(0, 0)]), None);
}

#[test]
fn what_everybody_is_due_is_fair_and_all_for_one_is_not() {
    let fair = fairness(&stage(2), &[need(4000, 1000), need(4000, 9000)]);
    assert_eq!(fair, Some(Fairness { jain_ppm: 1_000_000, gap_ppm: 0 }));
    let unfair = fairness(&stage(2), &[need(8000, 0), need(0, 9000)]);
    assert_eq!(unfair, Some(Fairness { jain_ppm: 500_000, gap_ppm: 1_000_000 }));
    // One team wants little; what it leaves is due to the other.
    let modest = fairness(&stage(2), &[need(1000, 0), need(7000, 9000)]);
    assert_eq!(modest.map(|fair| fair.jain_ppm), Some(1_000_000));
}

#[test]
fn a_series_keeps_every_second_however_wide_it_gets() {
    let mut series = Series::default();
    let level = Level { busy: 3, waiting: 1, fairness: Some(Fairness { jain_ppm: 10, gap_ppm: 20 }) };
    series.hold(0, 90, &level);
    assert_eq!(series.samples.iter().map(|sample| sample.seconds).collect::<Vec<_>>(), [60, 30]);
    series.hold(90, 1_000_000, &level);
    let whole = series.whole();
    assert_eq!((whole.seconds, whole.busy, whole.jain_ppm(), whole.gap_ppm()), (1_000_000, 3_000_000, 10, 20));
    assert!(series.samples.len() <= 512 && series.width_s == 60 * 64);
}

#[test]
fn percentiles_are_of_jobs() {
    let waits = Waits::of((1..=100).rev().collect());
    assert_eq!((waits.p50_s, waits.p90_s, waits.p99_s, waits.longest_s, waits.mean_s), (50, 90, 99, 100, 50));
    assert_eq!(Waits::of(vec![]), Waits::default());
    assert_eq!(Waits::of(vec![86_400, 86_401]).over_a_day, 1);
    assert_eq!(curve(vec![0, 0, 0, 5]), [(0, 750_000), (5, 1_000_000)]);
}
