//! What `apply` tells: the plan before, the outcome after, for people line by line and for programs as one object.

use api::{Code, problem::FieldError};
use serde::Serialize;
use std::fmt;

use crate::{failure::Failure, ordered::Ordered, output, output::Format, safe, session::Session};

/// What the plan says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It does not exist.
    Create,
    /// Some of its fields differ.
    Change,
    /// It is as the file says.
    Unchanged,
}

/// What became of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Not asked for yet.
    Planned,
    /// There was nothing to do.
    Unchanged,
    /// It exists now.
    Created,
    /// It is as the file says now.
    Changed,
    /// It was refused, or the server could not be asked.
    Failed,
    /// Something before it failed.
    NotTried,
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Its name.
    pub field: String,
    /// What it is; absent for what does not exist yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Ordered>,
    /// What it shall be.
    pub to: Ordered,
}

fn value_text(value: &Ordered) -> String {
    serde_json::to_string(value).map(|text| safe::json(&text)).unwrap_or_default()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.from {
            Some(from) => write!(f, "{} {} → {}", self.field, value_text(from), value_text(&self.to)),
            None => write!(f, "{} {}", self.field, value_text(&self.to)),
        }
    }
}

/// Why something was not done.
#[derive(Debug, Clone, Serialize)]
pub struct ItemError {
    /// The code of the problem, when the server refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// In words.
    pub detail: String,
    /// The fields that break a rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Names the request in the server's logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ItemError {
    /// In words alone.
    pub fn plain(detail: String) -> Self {
        Self { code: None, detail, errors: Vec::new(), request_id: None }
    }
    /// What a failure says, without colours.
    pub fn of(failure: &Failure) -> Self {
        match failure {
            Failure::Refused { problem, request_id } => Self {
                code: Some(problem.code),
                detail: problem.detail.clone(),
                errors: problem.errors.clone(),
                request_id: request_id.clone(),
            },
            Failure::Usage(text)
            | Failure::NotFound(text)
            | Failure::Conflict(text)
            | Failure::Server(text)
            | Failure::TimedOut(text)
            | Failure::Local(text) => Self::plain(text.clone()),
            other => Self::plain(other.exit().meaning().to_owned()),
        }
    }
}

/// One object.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// The word for its kind.
    pub kind: &'static str,
    /// Its slug; for a project `tenant/slug`.
    pub name: String,
    /// What the plan says.
    pub action: Action,
    /// What became of it.
    pub outcome: Outcome,
    /// Its id, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The fields that differ.
    pub changes: Vec<Change>,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ItemError>,
}

/// How many had each outcome.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Not asked for yet.
    pub planned: usize,
    /// Nothing to do.
    pub unchanged: usize,
    /// Created.
    pub created: usize,
    /// Changed.
    pub changed: usize,
    /// Failed.
    pub failed: usize,
    /// Not tried.
    pub not_tried: usize,
}

impl Counts {
    /// Counts them.
    pub fn of(items: &[&Item]) -> Self {
        let count = |outcome| items.iter().filter(|item| item.outcome == outcome).count();
        Self {
            planned: count(Outcome::Planned),
            unchanged: count(Outcome::Unchanged),
            created: count(Outcome::Created),
            changed: count(Outcome::Changed),
            failed: count(Outcome::Failed),
            not_tried: count(Outcome::NotTried),
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    dry_run: bool,
    items: &'a [&'a Item],
    counts: Counts,
}

/// The plan for people, a line each.
pub fn plan_text(items: &[&Item]) -> String {
    let line = |item: &&Item| {
        let (sign, colour) = match item.action {
            Action::Create => ('+', "32"),
            Action::Change => ('~', "33"),
            Action::Unchanged => ('=', "2"),
        };
        format!("\u{1b}[{colour}m{sign} {} {}\u{1b}[0m{}\n", item.kind, item.name, with_changes(item))
    };
    items.iter().map(line).collect()
}

/// What happened for people, a line each.
fn outcome_text(items: &[&Item]) -> String {
    let line = |item: &&Item| {
        let (word, colour) = match item.outcome {
            Outcome::Planned => ("planned", "0"),
            Outcome::Unchanged => ("unchanged", "2"),
            Outcome::Created => ("created", "32"),
            Outcome::Changed => ("changed", "33"),
            Outcome::Failed => ("failed", "31"),
            Outcome::NotTried => ("not tried", "31"),
        };
        let more = match (&item.error, item.outcome) {
            (Some(error), Outcome::NotTried) => format!(": {}", safe::line(&error.detail)),
            (_, Outcome::Created) => item.id.as_ref().map(|id| format!(" {id}")).unwrap_or_default(),
            _ => with_changes(item),
        };
        format!("\u{1b}[{colour}m{word:<9}\u{1b}[0m {} {}{more}\n", item.kind, item.name)
    };
    items.iter().map(line).collect()
}

fn with_changes(item: &Item) -> String {
    let texts: Vec<String> = item.changes.iter().map(Change::to_string).collect();
    if texts.is_empty() { String::new() } else { format!(": {}", texts.join(", ")) }
}

/// Prints the report.
pub fn print(session: &Session, dry_run: bool, items: &[&Item]) -> Result<(), Failure> {
    match session.format {
        Format::Table if dry_run => output::data(&plan_text(items)),
        Format::Table => output::data(&outcome_text(items)),
        other => output::object(other, &Report { dry_run, items, counts: Counts::of(items) }),
    }
}
