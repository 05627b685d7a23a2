//! Worlds by the hundred: seeds derived from the commit, so that every commit looks somewhere else, and every seed that ever
//! failed. `GPUAAS_SEED_BASE=N` chooses other seeds, `GPUAAS_SOAK=1` runs many more.
#![allow(clippy::unwrap_used)]

use sha2::{Digest, Sha256};
use sim::run::{Report, on_all_cores, run};
use std::{fs, path::PathBuf};

const SEEDS: u64 = 200;
const SEEDS_SOAKED: u64 = 20_000;
// One seed in so many is run twice.
const TWICE_EVERY: usize = 20;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

// The commit that is checked out, read without any tool.
fn commit() -> Option<String> {
    let git = repository().join(".git");
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return Some(head.trim().to_owned()) };
    if let Ok(commit) = fs::read_to_string(git.join(name)) {
        return Some(commit.trim().to_owned());
    }
    let packed = fs::read_to_string(git.join("packed-refs")).ok()?;
    packed.lines().find_map(|line| line.strip_suffix(name)).map(|commit| commit.trim().to_owned())
}

fn base() -> u64 {
    if let Some(base) = std::env::var("GPUAAS_SEED_BASE").ok().and_then(|text| text.parse().ok()) {
        return base;
    }
    let digest = Sha256::digest(commit().unwrap_or_else(|| "no commit".to_owned()));
    // Short enough to type, and far enough apart that two commits hardly share a seed.
    u64::from(u32::from_be_bytes(digest[..4].try_into().unwrap()))
}

fn past_failures() -> Vec<u64> {
    let text = include_str!("past_failures.txt");
    let words = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_whitespace().next());
    words.map(|word| word.parse().unwrap()).collect()
}

#[test]
fn no_seed_breaks_a_rule_and_every_world_comes_to_rest() {
    let soaked = std::env::var_os("GPUAAS_SOAK").is_some();
    let (base, count) = (base(), if soaked { SEEDS_SOAKED } else { SEEDS });
    let mut seeds = past_failures();
    seeds.extend(base..base + count);
    let failed = |report: &Report| report.failure.is_some();
    let reports = on_all_cores(&seeds, |seed| run(seed, false, |_| Ok(())).unwrap(), failed);
    let first = reports.iter().find(|report| failed(report));
    assert!(first.is_none(), "{}", first.unwrap());
    assert_eq!(reports.len(), seeds.len());
    // A run in which nothing happens proves nothing.
    let (steps, looks) = reports.iter().fold((0, 0), |sum, report| (sum.0 + report.steps, sum.1 + report.looks));
    assert!(steps > 200 * count && looks > 50 * count, "{steps} steps, {looks} looks");
}

#[test]
fn one_seed_gives_one_history() {
    let base = base();
    let seeds: Vec<u64> = (base..base + SEEDS).step_by(TWICE_EVERY).collect();
    let twice = |seed| {
        let hash = || run(seed, false, |_| Ok(())).unwrap().hash;
        (seed, hash(), hash())
    };
    for (seed, one, other) in on_all_cores(&seeds, twice, |_| false) {
        assert_eq!(one, other, "seed {seed} went two ways");
    }
    let apart = run(base, false, |_| Ok(())).unwrap().hash != run(base + 1, false, |_| Ok(())).unwrap().hash;
    assert!(apart, "two seeds went the same way");
}
