//! `gpuaas apply`: brings a server to what a file describes. It shows what differs, asks, and does it through the same public
//! API as everything else: creates under keys made from their content, changes only for the version that was looked at.
//! It never deletes, and running it again changes nothing.

mod carry_out;
pub mod file;
pub mod governance;
mod kinds;
mod plan;
mod report;

use clap::Args;

use self::{
    file::Described,
    governance::GovernanceFile,
    plan::Plan,
    report::{Action, Counts, Outcome},
};
use crate::{
    args::{Consent, examples},
    confirm::confirm,
    failure::Failure,
    interrupt, output,
    session::Session,
};

/// What to apply.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas apply -f platform.yaml --dry-run",
    "gpuaas apply -f platform.yaml",
    "gpuaas apply -f platform.yaml --yes -o json",
    "gpuaas apply -f - --yes < platform.json",
])]
pub struct Apply {
    /// A YAML or JSON file that describes regions, pools, SKUs, images, tenants with their projects, and governance; - is standard input
    #[arg(short, long, value_name = "FILE")]
    file: String,
    /// Show what differs and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    consent: Consent,
}

/// Applies a file.
pub async fn apply(session: &Session, apply: Apply) -> Result<(), Failure> {
    let described = file::read(&apply.file)?;
    all_of_it(session, described, apply.dry_run, &apply.consent).await
}

/// Applies governance alone.
pub async fn govern(session: &Session, governance: GovernanceFile, consent: &Consent) -> Result<(), Failure> {
    all_of_it(session, Described { governance, ..Described::default() }, false, consent).await
}

async fn all_of_it(session: &Session, described: Described, dry_run: bool, consent: &Consent) -> Result<(), Failure> {
    let mut plan = Plan::make(session, described).await?;
    plan.governance.tell(session);
    if dry_run {
        return report::print(session, true, &plan.items());
    }
    let (creates, changes) = (count(&plan, Action::Create), count(&plan, Action::Change));
    if creates + changes == 0 {
        return report::print(session, false, &plan.items());
    }
    if !session.quiet {
        output::note(report::plan_text(&plan.items()).trim_end());
    }
    let question = format!("Create {creates} and change {changes} at {}?", session.server());
    confirm(consent, &question)?;
    let word = interrupt::leave_word("what was done stays; apply the same file again for the rest".to_owned());
    let done = carry_out::carry_out(session, &mut plan).await;
    drop(word);
    report::print(session, false, &plan.items())?;
    ended(session, &plan, done)
}

fn count(plan: &Plan, action: Action) -> usize {
    plan.items().iter().filter(|item| item.action == action).count()
}

/// All, some or nothing: the number for the shell, and what went wrong for people.
fn ended(session: &Session, plan: &Plan, mut done: carry_out::Done) -> Result<(), Failure> {
    let counts = Counts::of(&plan.items());
    session.note(&format!(
        "{} created, {} changed, {} unchanged, {} failed, {} not tried",
        counts.created, counts.changed, counts.unchanged, counts.failed, counts.not_tried
    ));
    if done.requests == 0 && done.failures.len() == 1 {
        return done.failures.pop().map_or(Ok(()), Err);
    }
    let failed = plan.items().into_iter().filter(|item| item.outcome == Outcome::Failed);
    for (item, text) in failed.zip(done.failures.iter().filter_map(Failure::told)) {
        output::note(&format!("{} {}: {text}", item.kind, item.name));
    }
    match counts.failed + counts.not_tried {
        0 => Ok(()),
        failed => Err(Failure::Partial { done: counts.created + counts.changed, failed }),
    }
}
