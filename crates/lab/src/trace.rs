//! Reads traces of jobs. The form is known by the header; columns are found by name, so their order does not matter and
//! further columns are ignored. A row that cannot be read is refused with its line, its column and what would be accepted;
//! nothing is guessed.
//!
//! | form | header | teams | priorities |
//! |---|---|---|---|
//! | `philly` | `timestamp,duration,num_gpus,cluster` | the virtual cluster | drawn up by the lab |
//! | `gavel` | `job_id,unit_arrival,scale_factor,duration_s_on_v100,job_type` | the kind of model | drawn up by the lab |
//! | `openb` | `name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,creation_time,deletion_time` | the class of service | by class of service |
//!
//! Where a trace has no priorities, of ten jobs in the order of the file one is high, three are normal and six are low. So
//! the class of a job has nothing to do with its size, its team or its time, and what differs between classes is what the
//! policy did.

use std::collections::BTreeMap;
use thiserror::Error;

/// The most jobs that one trace may have.
pub const JOBS_MAX: usize = 2_000_000;
/// The most teams.
pub const TEAMS_MAX: usize = 1_024;
/// The longest line, in bytes.
pub const LINE_MAX: usize = 4_096;
/// The most GPUs that one job may ask for.
pub const GPUS_MAX: u64 = 100_000;
/// The longest that one job may run, and the latest that it may come: a hundred years.
pub const SECONDS_MAX: u64 = 100 * 366 * 86_400;
/// A hundred thousand processors, or as many GiB.
const HOST_MAX: u64 = 100_000_000;

const MICRO: u64 = 1_000_000;

/// Where a trace comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Microsoft's clusters for deep learning.
    Philly,
    /// Jobs drawn by the Gavel simulator; one unit of arrival is an hour here.
    Gavel,
    /// Alibaba's pods on nodes with GPUs.
    Openb,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Philly, Self::Gavel, Self::Openb];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Philly => "philly",
            Self::Gavel => "gavel",
            Self::Openb => "openb",
        }
    }

    /// Columns that a header must have.
    #[must_use]
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Philly => &["timestamp", "duration", "num_gpus", "cluster"],
            Self::Gavel => &["job_id", "unit_arrival", "scale_factor", "duration_s_on_v100", "job_type"],
            Self::Openb => {
                &["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "qos", "creation_time", "deletion_time"]
            }
        }
    }
}

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The line of the file that it stands in.
    pub line: u64,
    /// When it came, in seconds since the first of the trace.
    pub submitted_s: i64,
    /// How long it runs.
    pub run_s: u64,
    /// What it asks for at once.
    pub asks: Asks,
    /// Whose it is: its place in the list of teams.
    pub team: u32,
    /// Its class: the higher, the more urgent.
    pub priority: u8,
}

/// What a job holds while it runs. All of it is there when it starts, or it does not start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asks {
    /// Thousandths of a GPU.
    pub gpu_milli: u64,
    /// Thousandths of a processor; nothing where the trace does not say.
    pub cpu_milli: u64,
    /// Memory; nothing where the trace does not say.
    pub memory_mib: u64,
}

impl Asks {
    /// The same as a list, GPUs first.
    #[must_use]
    pub const fn list(self) -> [u64; 3] {
        [self.gpu_milli, self.cpu_milli, self.memory_mib]
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            gpu_milli: self.gpu_milli.saturating_add(other.gpu_milli),
            cpu_milli: self.cpu_milli.saturating_add(other.cpu_milli),
            memory_mib: self.memory_mib.saturating_add(other.memory_mib),
        }
    }
}

/// What a trace says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Its form.
    pub form: Form,
    /// In the order in which they came; of those that came together, in the order of the file.
    pub jobs: Vec<Job>,
    /// Names of the teams, in their order.
    pub teams: Vec<String>,
    /// Rows that ask for no GPU, or run for no time, and are left out.
    pub left_out: u64,
}

/// Names of the classes of priority, lowest first.
pub const CLASSES: [&str; 3] = ["low", "normal", "high"];

/// Why a trace is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The first line is no header that is known.
    #[error("line 1: no header of a trace that is known; accepted: {}", headers())]
    Header,
    /// A line that cannot be read as a row.
    #[error("line {line}: {why}")]
    Line {
        /// Which.
        line: u64,
        /// Why not.
        why: String,
    },
    /// A value that is not accepted.
    #[error("line {line}, column `{column}`: `{found}` is not accepted; accepted: {accepted}")]
    Value {
        /// Which line.
        line: u64,
        /// Which column.
        column: &'static str,
        /// What is there, cut to a length that can be shown.
        found: String,
        /// What would be.
        accepted: &'static str,
    },
    /// There is nothing to replay.
    #[error("the trace has no job that asks for a GPU")]
    Empty,
}

fn headers() -> String {
    let each = Form::ALL.map(|form| format!("`{}` ({})", form.columns().join(","), form.name()));
    each.join(", ")
}

/// Reads a trace; no more than so many jobs of it, if a limit is given.
///
/// # Errors
/// With the first line that is not as it should be.
pub fn read(text: &str, limit: Option<usize>) -> Result<Trace, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().zip(1_u64..);
    let header: Vec<&str> = lines.next().map_or(vec![], |(line, _)| line.split(',').map(str::trim).collect());
    let found = |form: &Form| form.columns().iter().all(|column| header.contains(column));
    let form = Form::ALL.into_iter().find(found).ok_or(Fault::Header)?;
    let mut reader = Reader { form, header: &header, rows: vec![], left_out: 0, read: 0 };
    for (line, number) in lines {
        if !line.is_empty() {
            reader.row(line, number)?;
        }
    }
    reader.finish(limit)
}

struct Reader<'a> {
    form: Form,
    header: &'a [&'a str],
    rows: Vec<(i64, Job, String)>,
    left_out: u64,
    read: u64,
}

// One row, with its columns by name.
struct Row<'a> {
    line: u64,
    header: &'a [&'a str],
    fields: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn text(&self, column: &'static str) -> &'a str {
        let at = self.header.iter().position(|name| *name == column);
        at.and_then(|at| self.fields.get(at)).copied().unwrap_or("").trim()
    }

    fn refuse(&self, column: &'static str, accepted: &'static str) -> Fault {
        let found = self.text(column).chars().take(40).collect();
        Fault::Value { line: self.line, column, found, accepted }
    }

    fn micro(&self, column: &'static str, accepted: &'static str) -> Result<u64, Fault> {
        let value = micro(self.text(column)).filter(|micro| *micro <= SECONDS_MAX * MICRO);
        value.ok_or_else(|| self.refuse(column, accepted))
    }

    fn whole(&self, column: &'static str, most: u64, accepted: &'static str) -> Result<u64, Fault> {
        let value = self.text(column).parse().ok().filter(|value| *value <= most);
        value.ok_or_else(|| self.refuse(column, accepted))
    }

    fn name(&self, column: &'static str) -> Result<String, Fault> {
        let text = self.text(column);
        if text.is_empty() || text.len() > 100 || text.chars().any(char::is_control) {
            return Err(self.refuse(column, "a name of 1 to 100 bytes without control characters"));
        }
        Ok(text.to_owned())
    }
}

const SECONDS: &str = "seconds from 0 to a hundred years, such as 66 or 66.5";
const GPUS: &str = "a whole number from 0 to 100000";
const OF_A_HOST: &str = "a whole number from 0 to 100000000";

impl Reader<'_> {
    fn row(&mut self, text: &str, line: u64) -> Result<(), Fault> {
        let refuse = |why: String| Err(Fault::Line { line, why });
        if text.len() > LINE_MAX {
            return refuse(format!("{} bytes; accepted: at most {LINE_MAX}", text.len()));
        }
        if text.contains('"') {
            return refuse("a quoted field; accepted: fields without quotes or commas in them".to_owned());
        }
        let fields: Vec<&str> = text.split(',').collect();
        if fields.len() != self.header.len() {
            return refuse(format!("{} fields; accepted: {}, as in the header", fields.len(), self.header.len()));
        }
        if self.rows.len() >= JOBS_MAX {
            return refuse(format!("one job too many; accepted: at most {JOBS_MAX}"));
        }
        let row = Row { line, header: self.header, fields };
        let (at, job, team) = match self.form {
            Form::Philly => self.philly(&row)?,
            Form::Gavel => self.gavel(&row)?,
            Form::Openb => openb(&row)?,
        };
        self.read += 1;
        if job.asks.gpu_milli == 0 || job.run_s == 0 {
            self.left_out += 1;
        } else {
            self.rows.push((at, job, team));
        }
        Ok(())
    }

    // Of ten in the order of the file: one high, three normal, six low.
    fn drawn_priority(&self) -> u8 {
        match self.read % 10 {
            0 => 2,
            1..=3 => 1,
            _ => 0,
        }
    }

    fn philly(&self, row: &Row<'_>) -> Result<(i64, Job, String), Fault> {
        let stamp = row.text("timestamp").parse::<jiff::civil::DateTime>();
        let stamp = stamp.map_err(|_| row.refuse("timestamp", "a date and time such as 2017-10-09 07:01:55"))?;
        let at = stamp.duration_since(jiff::civil::DateTime::constant(1970, 1, 1, 0, 0, 0, 0)).as_secs();
        let run_s = row.micro("duration", SECONDS)?.div_ceil(MICRO);
        let asks = Asks { gpu_milli: row.whole("num_gpus", GPUS_MAX, GPUS)? * 1000, ..Asks::default() };
        let priority = self.drawn_priority();
        Ok((at, Job { line: row.line, submitted_s: 0, run_s, asks, team: 0, priority }, row.name("cluster")?))
    }

    fn gavel(&self, row: &Row<'_>) -> Result<(i64, Job, String), Fault> {
        let arrival = row.micro("unit_arrival", "a number from 0, such as 0.271762")?;
        let at = i64::try_from(arrival.saturating_mul(3600) / MICRO).unwrap_or(i64::MAX);
        let run_s = row.micro("duration_s_on_v100", SECONDS)?.div_ceil(MICRO);
        let asks = Asks { gpu_milli: row.whole("scale_factor", GPUS_MAX, GPUS)? * 1000, ..Asks::default() };
        // The batch size is left out: `ResNet-18 (batch size 64)` is of the team `ResNet-18`.
        let kind = row.name("job_type")?;
        let team = kind.split(" (").next().unwrap_or_default().to_owned();
        let priority = self.drawn_priority();
        Ok((at, Job { line: row.line, submitted_s: 0, run_s, asks, team: 0, priority }, team))
    }

    fn finish(self, limit: Option<usize>) -> Result<Trace, Fault> {
        let Self { form, mut rows, left_out, .. } = self;
        rows.sort_by_key(|(at, job, _)| (*at, job.line));
        rows.truncate(limit.unwrap_or(JOBS_MAX));
        let first = rows.first().map(|(at, _, _)| *at).ok_or(Fault::Empty)?;
        let mut names: BTreeMap<&str, u32> = rows.iter().map(|(_, _, team)| (team.as_str(), 0)).collect();
        if names.len() > TEAMS_MAX {
            let why = format!("{} teams in all; accepted: at most {TEAMS_MAX}", names.len());
            return Err(Fault::Line { line: rows.last().map_or(0, |(_, job, _)| job.line), why });
        }
        names.values_mut().zip(0_u32..).for_each(|(place, at)| *place = at);
        let jobs = rows.iter().map(|(at, job, team)| {
            let team = names.get(team.as_str()).copied().unwrap_or_default();
            Job { submitted_s: at.saturating_sub(first), team, ..job.clone() }
        });
        let jobs: Vec<Job> = jobs.collect();
        let teams = names.keys().map(|name| (*name).to_owned()).collect();
        Ok(Trace { form, jobs, teams, left_out })
    }
}

fn openb(row: &Row<'_>) -> Result<(i64, Job, String), Fault> {
    let begun = row.whole("creation_time", SECONDS_MAX, "a whole number of seconds from 0")?;
    let ended = row.whole("deletion_time", SECONDS_MAX, "a whole number of seconds from 0")?;
    if ended < begun {
        return Err(row.refuse("deletion_time", "no time before `creation_time`"));
    }
    let each = row.whole("gpu_milli", 1000, "a whole number from 0 to 1000")?;
    let gpu_milli = row.whole("num_gpu", GPUS_MAX, GPUS)?.saturating_mul(each);
    let cpu_milli = row.whole("cpu_milli", HOST_MAX, OF_A_HOST)?;
    let memory_mib = row.whole("memory_mib", HOST_MAX, OF_A_HOST)?;
    let service = row.name("qos")?;
    let priority = match service.as_str() {
        "LS" | "Guaranteed" => 2,
        "Burstable" => 1,
        "BE" => 0,
        _ => return Err(row.refuse("qos", "LS, Guaranteed, Burstable or BE")),
    };
    let asks = Asks { gpu_milli, cpu_milli, memory_mib };
    let at = i64::try_from(begun).unwrap_or(i64::MAX);
    Ok((at, Job { line: row.line, submitted_s: 0, run_s: ended - begun, asks, team: 0, priority }, service))
}

// A decimal number that is not below zero, in millionths; finer digits are cut off.
fn micro(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return None;
    }
    let part: String = part.chars().chain("000000".chars()).take(6).collect();
    whole.parse::<u64>().ok()?.checked_mul(MICRO)?.checked_add(part.parse().ok()?)
}

#[cfg(test)]
mod tests;
