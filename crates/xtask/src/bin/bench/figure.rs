//! A measured figure and the report they go into. Whole numbers only: a ratio is kept in thousandths.

use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;

/// How often each figure is taken.
pub const RUNS: usize = 5;

/// All figures of one run of the bench.
pub struct Report {
    name: &'static str,
    figures: Vec<serde_json::Value>,
}

/// What a figure is held against.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// More is better; the limit is what the machine could do at best, or a goal to reach.
    AtBest(u64),
    /// Less is better; the limit is a ceiling.
    AtMost(u64),
    /// Nothing to compare with.
    None,
}

impl Report {
    /// An empty report.
    pub fn new(name: &'static str) -> Self {
        Self { name, figures: Vec::new() }
    }

    /// Prints a figure and keeps it: the median of `runs`.
    pub fn figure(&mut self, name: &str, runs: &[u64], unit: &str, limit: Limit) -> u64 {
        self.keep(name, median(runs), runs, unit, limit)
    }

    /// The same with the largest of `runs`, where the limit is the largest of as many rounds too: what either can do when
    /// nobody else is in the way.
    pub fn best(&mut self, name: &str, runs: &[u64], unit: &str, limit: Limit) -> u64 {
        self.keep(name, runs.iter().copied().max().unwrap_or(0), runs, unit, limit)
    }

    fn keep(&mut self, name: &str, value: u64, runs: &[u64], unit: &str, limit: Limit) -> u64 {
        let (bound, ratio) = match limit {
            Limit::AtBest(bound) | Limit::AtMost(bound) => (bound.to_string(), thousandths(value, bound)),
            Limit::None => ("-".to_owned(), "-".to_owned()),
        };
        say(&format!("BENCH {name} {value} {unit} {bound} {ratio}"));
        self.figures
            .push(json!({ "name": name, "value": value, "unit": unit, "limit": bound, "ratio": ratio, "runs": runs }));
        value
    }

    /// Writes the report to `target/bench/NAME.json`. One without figures leaves what is there.
    pub fn write(&self) -> std::io::Result<()> {
        if self.figures.is_empty() {
            return Ok(());
        }
        let directory = PathBuf::from("target/bench");
        std::fs::create_dir_all(&directory)?;
        let machine =
            json!({ "cpu": cpu_model(), "cores": std::thread::available_parallelism().map_or(0, usize::from) });
        let document = json!({ "machine": machine, "figures": self.figures });
        std::fs::write(directory.join(format!("{}.json", self.name)), format!("{document:#}\n"))
    }
}

fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    line.split_once(':').map_or(String::new(), |(_, name)| name.trim().to_owned())
}

/// The middle value.
pub fn median(runs: &[u64]) -> u64 {
    let mut sorted = runs.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// `value / bound` with three digits after the point.
pub fn thousandths(value: u64, bound: u64) -> String {
    let scaled = value.saturating_mul(1000) / bound.max(1);
    format!("{}.{:03}", scaled / 1000, scaled % 1000)
}

/// Takes a figure [`RUNS`] times.
pub fn five(mut once: impl FnMut() -> Result<u64, String>) -> Result<Vec<u64>, String> {
    (0..RUNS).map(|_| once()).collect()
}

/// One line on standard output.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// One line on standard error.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
