//! The policy lab: replays a trace of jobs under several policies and writes one report. Needs no server. Reads the trace and
//! writes the report; everything in between is decided in the `lab` crate.

use clap::{Args, Subcommand, ValueEnum};
use lab::{
    measure::Outcome,
    policy::{ALL, Policy},
    replay::replay,
    report,
    run::{Asides, Comparison, RunFault, asides},
    stage::{GPUS_MAX, Quotas, Setup, Stage},
    trace::{self, JOBS_MAX, Trace},
};
use serde::Serialize;
use std::{
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use crate::{
    args::{Global, examples},
    failure::Failure,
    output,
    session::Items,
    table::Columns,
};

/// The largest trace that is read, in bytes.
const TRACE_MAX: u64 = 256 << 20;

/// What to do in the lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Replay a trace under several policies and compare them
    Run(Run),
}

/// Which trace, under which policies.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas lab run --trace philly.csv",
    "gpuaas lab run --trace philly.csv --policies fifo,lifo,priority,fair,drf,kueue,kai,gpuaas --gpus 512 --out report.html",
    "gpuaas lab run --trace philly.csv --limit 5000 --policies fair,gpuaas --json report.json -o json",
])]
pub struct Run {
    /// The trace, as CSV in the form of Philly, Gavel or openb
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// Policies to compare, in this order [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = policy)]
    policies: Vec<Policy>,
    /// How many GPUs there are [default: so many that jobs that never wait would keep four fifths of them busy]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(GPUS_MAX)))]
    gpus: Option<u32>,
    /// Replay only the first so many jobs
    #[arg(long, value_name = "JOBS", value_parser = jobs)]
    limit: Option<usize>,
    /// What of the GPUs each team is entitled to
    #[arg(long, value_enum, default_value_t = QuotaRule::Equal)]
    quotas: QuotaRule,
    /// How many minutes checkpoints are apart; a job that is stopped loses what it did since its last. 0: everything
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=525_600))]
    checkpoint_minutes: u32,
    /// Where to write the report
    #[arg(long, default_value = "report.html", value_name = "FILE")]
    out: PathBuf,
    /// Where to write all figures as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// How quotas are drawn up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum QuotaRule {
    /// The same for every team
    Equal,
    /// As much of the whole as a team's work is of all work in the trace
    Demand,
}

fn policy(name: &str) -> Result<Policy, String> {
    let names = || ALL.map(Policy::name).join(", ");
    Policy::from_name(name).ok_or_else(|| format!("there is no such policy; accepted: {}", names()))
}

fn jobs(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=JOBS_MAX).contains(count));
    count.ok_or_else(|| format!("accepted: a whole number from 1 to {JOBS_MAX}"))
}

#[derive(Serialize)]
struct Row {
    policy: &'static str,
    wait_mean_s: u64,
    wait_p50_s: u64,
    wait_p90_s: u64,
    wait_p99_s: u64,
    wait_longest_s: u64,
    waits_over_a_day: u64,
    busy_per_mille: u64,
    jain_per_mille: u64,
    share_gap_per_mille: u64,
    stops: u64,
    lost_gpu_s: u64,
}

const ROWS: Columns = Columns {
    plural: "policies",
    columns: &[
        ("POLICY", "/policy"),
        ("MEAN WAIT S", "/wait_mean_s"),
        ("P50", "/wait_p50_s"),
        ("P90", "/wait_p90_s"),
        ("P99", "/wait_p99_s"),
        ("LONGEST", "/wait_longest_s"),
        ("OVER A DAY", "/waits_over_a_day"),
        ("BUSY ‰", "/busy_per_mille"),
        ("JAIN ‰", "/jain_per_mille"),
        ("GAP ‰", "/share_gap_per_mille"),
        ("STOPS", "/stops"),
        ("LOST GPU-S", "/lost_gpu_s"),
    ],
};

fn row(outcome: &Outcome) -> Row {
    Row {
        policy: outcome.policy,
        wait_mean_s: outcome.waits.mean_s,
        wait_p50_s: outcome.waits.p50_s,
        wait_p90_s: outcome.waits.p90_s,
        wait_p99_s: outcome.waits.p99_s,
        wait_longest_s: outcome.waits.longest_s,
        waits_over_a_day: outcome.waits.over_a_day,
        busy_per_mille: outcome.busy_ppm / 1000,
        jain_per_mille: outcome.jain_ppm / 1000,
        share_gap_per_mille: outcome.gap_ppm / 1000,
        stops: outcome.stops.count,
        lost_gpu_s: outcome.stops.lost_gpu_s,
    }
}

/// Carries out a command of the lab.
pub fn run(global: &Global, command: LabCommand) -> Result<(), Failure> {
    let LabCommand::Run(asked) = command;
    let text = text_of(&asked.trace)?;
    let refused = |why: String| Failure::Usage(format!("{}: {why}", asked.trace.display()));
    let trace = trace::read(&text, asked.limit).map_err(|fault| refused(fault.to_string()))?;
    let setup = Setup {
        gpus: asked.gpus,
        checkpoint_s: u64::from(asked.checkpoint_minutes) * 60,
        quotas: match asked.quotas {
            QuotaRule::Equal => Quotas::Equal,
            QuotaRule::Demand => Quotas::Demand,
        },
        ..Setup::default()
    };
    let mut policies = vec![];
    for policy in if asked.policies.is_empty() { &ALL[..] } else { &asked.policies } {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    let comparison = compare(global, &trace, &setup, &policies).map_err(|fault| refused(fault.to_string()))?;
    write(&asked.out, &report::page(&comparison))?;
    if let Some(path) = &asked.json {
        let all = report::json(&comparison).map_err(|error| Failure::Local(format!("the figures: {error}")))?;
        write(path, &all)?;
    }
    if !global.quiet {
        output::note(&format!("the report is in {}", asked.out.display()));
    }
    let rows: Vec<Row> = comparison.outcomes.iter().map(row).collect();
    output::list(global.output, &ROWS, &rows, &Items { items: &rows })
}

// Every policy in a thread of its own: each replay depends on nothing but its input, so their order does not matter.
fn compare(global: &Global, trace: &Trace, setup: &Setup, policies: &[Policy]) -> Result<Comparison, RunFault> {
    let stage = Stage::new(trace, setup)?;
    if !global.quiet {
        let (jobs, teams) = (trace.jobs.len(), trace.teams.len());
        output::note(&format!(
            "{jobs} jobs of {teams} teams on {} GPUs; the whole of a long trace takes minutes",
            stage.gpus
        ));
    }
    let stage = &stage;
    let one = |policy: Policy| -> Result<Outcome, RunFault> {
        let outcome = replay(trace, stage, setup, policy)?.outcome;
        if !global.quiet {
            output::note(&format!("{} is done", policy.name()));
        }
        Ok(outcome)
    };
    let one = &one;
    let (outcomes, beside) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| asides(trace, setup));
        let replays: Vec<_> = policies.iter().map(|policy| scope.spawn(move || one(*policy))).collect();
        let outcomes: Vec<_> = replays.into_iter().map(joined).collect();
        (outcomes, joined(beside))
    });
    let outcomes = outcomes.into_iter().collect::<Result<Vec<Outcome>, RunFault>>()?;
    let beside: Asides = beside?;
    Ok(Comparison::new(trace, stage, setup, outcomes, beside))
}

// A thread that panicked has told why; its panic goes on here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let cannot = |why: &dyn std::fmt::Display| Failure::Local(format!("cannot read {}: {why}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::Usage(format!("there is no file {}", path.display())),
        _ => cannot(&error),
    })?;
    let mut bytes = vec![];
    file.take(TRACE_MAX + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    let refuse = |why: &str| Err(Failure::Usage(format!("{}: {why}", path.display())));
    if bytes.len() as u64 > TRACE_MAX {
        return refuse("more than 256 MiB; accepted: a smaller trace, or a part of this one");
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return refuse("compressed; accepted: the same file after `gunzip`");
    }
    String::from_utf8(bytes).or_else(|_| refuse("no text in UTF-8; accepted: CSV"))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::Local(format!("cannot write to {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::{jobs, policy, text_of};
    use lab::policy::Policy;

    #[test]
    fn names_and_limits_are_checked() {
        assert_eq!(policy("drf"), Ok(Policy::Drf));
        assert!(policy("best").unwrap_err().ends_with("fifo, lifo, priority, fair, drf, kueue, kai, gpuaas"));
        assert_eq!(jobs("7"), Ok(7));
        assert!(["0", "-1", "many", "2000001"].iter().all(|text| jobs(text).is_err()));
    }

    #[test]
    fn files_that_are_no_text_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            text_of(&path).unwrap_err().told().unwrap()
        };
        assert!(refusal("a.gz", &[0x1f, 0x8b, 8]).contains("gunzip"));
        assert!(refusal("b.csv", &[0xff, 0xfe]).contains("UTF-8"));
        assert!(text_of(&folder.path().join("none")).unwrap_err().told().unwrap().contains("there is no file"));
    }
}
