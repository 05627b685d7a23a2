//! Allocations: watch, change, explain, release.

use api::{
    Nothing,
    allocation::{
        AllocationExtend, AllocationExtendBody, AllocationList, AllocationPath, AllocationQuery, AllocationRelease,
        AllocationShow, AllocationSurvey, AllocationUpdate, AllocationUpdateBody,
    },
    operation::OperationView,
    placement::DecisionList,
    stream::StreamList,
    tenancy::ProjectPath,
    timeline::{TimelineEntry, TimelineQuery, TimelineShow},
};
use clap::{Args, Subcommand};
use model::{
    AllocationId,
    allocation::{Label, Labels, State},
    number::{EventPosition, PageSize},
    text::Slug,
    time::UtcTime,
};

use super::launch::label;
use crate::{
    args::{Consent, Keyed, Pinned, Waiting, examples, words},
    confirm::confirm,
    failure::Failure,
    follow, output,
    output::Format,
    resolve,
    session::{Extra, Items, Session},
    table,
};

/// Verbs of allocations.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas allocation list --project aurora/vision"])]
pub enum AllocationCommand {
    /// List allocations, ended ones too
    #[command(after_help = examples![
        "gpuaas allocation list",
        "gpuaas allocation list --project aurora/vision -o json",
        "gpuaas allocation list --all-projects --state running --tenant aurora",
    ])]
    List {
        /// Id, tenant/slug, or a slug that only one project has; all that you may see when absent
        #[arg(long, conflicts_with_all = ["tenant", "all_projects"])]
        project: Option<String>,
        /// Id or slug of a tenant: those of all its projects
        #[arg(long)]
        tenant: Option<String>,
        /// Of all projects there are, deleted ones too, in one list by age, for operators
        #[arg(long)]
        all_projects: bool,
        /// Of all projects, those in this state
        #[arg(long, requires = "all_projects", value_parser = words!(State))]
        state: Option<State>,
    },
    /// Show an allocation
    #[command(after_help = examples!["gpuaas allocation show alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the allocation
        allocation: AllocationId,
    },
    /// Why an allocation got its place, or none: every decision about it
    #[command(after_help = examples!["gpuaas allocation why alc_01jh2n6f4zw8q9r0s1t2v3x4y5", "gpuaas allocation why alc_01jh2n6f4zw8q9r0s1t2v3x4y5 -o json"])]
    Why {
        /// Id of the allocation
        allocation: AllocationId,
    },
    /// What happened to an allocation, step by step
    #[command(after_help = examples!["gpuaas allocation timeline alc_01jh2n6f4zw8q9r0s1t2v3x4y5", "gpuaas allocation timeline alc_01jh2n6f4zw8q9r0s1t2v3x4y5 --follow"])]
    Timeline {
        /// Id of the allocation
        allocation: AllocationId,
        /// Go on until it has ended
        #[arg(short, long)]
        follow: bool,
    },
    /// Who was or is in an allocation's guest: streams, and how they ended
    #[command(after_help = examples!["gpuaas allocation streams alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Streams {
        /// Id of the allocation
        allocation: AllocationId,
    },
    /// Rename or label an allocation, or say whether it may be launched again elsewhere
    #[command(after_help = examples!["gpuaas allocation update alc_01jh2n6f4zw8q9r0s1t2v3x4y5 --may-recreate true", "gpuaas allocation update alc_01jh2n6f4zw8q9r0s1t2v3x4y5 --label team=vision"])]
    Update(Update),
    /// Move the end of an allocation's lease to a later moment
    #[command(after_help = examples!["gpuaas allocation extend alc_01jh2n6f4zw8q9r0s1t2v3x4y5 --until 2026-01-31T12:00:00Z"])]
    Extend {
        /// Id of the allocation
        allocation: AllocationId,
        /// When it is given back by itself, in UTC
        #[arg(long, value_name = "TIME")]
        until: UtcTime,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// What changes about an allocation.
#[derive(Debug, Args)]
pub struct Update {
    /// Id of the allocation
    allocation: AllocationId,
    /// A name for it
    #[arg(long, required_unless_present_any = ["labels", "no_labels", "may_recreate"])]
    name: Option<Slug>,
    /// A word to find it by; those given take the place of all it has
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<Label>,
    /// It has no labels any more
    #[arg(long, conflicts_with = "labels")]
    no_labels: bool,
    /// Whether it may be stopped and launched again elsewhere when its node is evacuated
    #[arg(long, value_name = "BOOL")]
    may_recreate: Option<bool>,
    #[command(flatten)]
    pinned: Pinned,
}

/// What to release.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas release alc_01jh2n6f4zw8q9r0s1t2v3x4y5",
    "gpuaas release alc_01jh2n6f4zw8q9r0s1t2v3x4y5 alc_01jh2n6f4zw8q9r0s1t2v3x4y6 --yes --no-wait",
])]
pub struct Release {
    /// Ids of the allocations
    #[arg(required = true, value_name = "ALLOCATION")]
    allocations: Vec<AllocationId>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    keyed: Keyed,
}

/// Carries out a verb.
pub async fn run(session: &Session, command: AllocationCommand) -> Result<(), Failure> {
    match command {
        AllocationCommand::List { project: Some(name), .. } => {
            let path = ProjectPath { project_id: resolve::project(session, &name).await? };
            session.print_list(&table::ALLOCATIONS, session.list::<AllocationList, _>(path).await?)
        }
        AllocationCommand::List { all_projects: true, tenant, state, .. } => survey(session, tenant, state).await,
        AllocationCommand::List { project: None, tenant, .. } => {
            let mut all = Vec::new();
            for project in resolve::projects(session, tenant.as_deref()).await? {
                all.extend(session.list::<AllocationList, _>(ProjectPath { project_id: project.id }).await?);
            }
            session.print_list(&table::ALLOCATIONS, all)
        }
        AllocationCommand::Show { allocation } => {
            let view = session.show::<AllocationShow>(AllocationPath { allocation_id: allocation }).await?;
            session.print(&view)?;
            if view.access.is_some() {
                session.note(&format!("connect with: gpuaas ssh {}", view.id));
            }
            Ok(())
        }
        AllocationCommand::Why { allocation } => {
            let path = AllocationPath { allocation_id: allocation };
            session.print_list(&table::DECISIONS, session.list::<DecisionList, _>(path).await?)
        }
        AllocationCommand::Streams { allocation } => {
            let path = AllocationPath { allocation_id: allocation };
            session.print_list(&table::STREAMS, session.list::<StreamList, _>(path).await?)
        }
        AllocationCommand::Timeline { allocation, follow } => {
            timeline(session, AllocationPath { allocation_id: allocation }, follow).await
        }
        AllocationCommand::Update(args) => update(session, args).await,
        AllocationCommand::Extend { allocation, until, pinned, keyed } => {
            let path = AllocationPath { allocation_id: allocation };
            let body = AllocationExtendBody { lease_ends_at: until };
            let extra = Extra::keyed(&keyed).pinned(&pinned);
            session.print(&session.send::<AllocationExtend>(path, body, extra).await?)
        }
    }
}

/// Lists the allocations of all projects, or of those of one tenant.
async fn survey(session: &Session, tenant: Option<String>, state: Option<State>) -> Result<(), Failure> {
    let tenant_id = match tenant {
        Some(name) => Some(resolve::tenant(session, &name).await?),
        None => None,
    };
    let page_size = PageSize::try_from(PageSize::MAX).ok();
    let query = AllocationQuery { tenant_id, state, page_size, page_token: None };
    session.print_list(&table::ALLOCATIONS, session.list_by::<AllocationSurvey, _>(Nothing {}, query, None).await?)
}

async fn update(session: &Session, args: Update) -> Result<(), Failure> {
    let Update { allocation, name, labels, no_labels, may_recreate, pinned } = args;
    let labels = match (labels.is_empty(), no_labels) {
        (true, false) => None,
        _ => Some(Labels::try_from(labels).map_err(|error| Failure::Usage(error.to_string()))?),
    };
    let path = AllocationPath { allocation_id: allocation };
    let body = AllocationUpdateBody { name, labels, may_recreate };
    session.print(&session.change::<AllocationUpdate, AllocationShow>(path, body, &pinned).await?)
}

/// Prints a timeline; with `follow`, goes on until the allocation has ended.
async fn timeline(session: &Session, path: AllocationPath, follow: bool) -> Result<(), Failure> {
    let (mut entries, mut after, mut ended) = (Vec::new(), 0, false);
    let mut more = true;
    while more {
        let page_size = PageSize::try_from(PageSize::MAX).ok();
        let query = TimelineQuery { after: EventPosition::try_from(after).ok(), page_size };
        let page = session.query::<TimelineShow>(path.clone(), query).await?;
        (after, more, ended) = (page.next_after, page.more, page.ended);
        entries.extend(page.items);
    }
    if !follow {
        return session.print_list(&table::TIMELINE, entries);
    }
    for entry in &entries {
        tell(session, entry)?;
    }
    if ended {
        return Ok(());
    }
    session.timeline(path, after, |entry| tell(session, &entry).map(|()| false)).await
}

/// One entry on one line, as it comes.
fn tell(session: &Session, entry: &TimelineEntry) -> Result<(), Failure> {
    match session.format {
        Format::Table => output::data(&table::row(&table::TIMELINE, &output::ordered(entry)?)),
        Format::Json => output::data(&output::json_line(entry)?),
        Format::Yaml => output::data(&format!("---\n{}", output::yaml_text(entry)?)),
    }
}

/// Gives allocations back: first every wish is recorded, then all are waited for.
pub async fn release(session: &Session, release: Release) -> Result<(), Failure> {
    if release.allocations.len() > 1 && release.keyed.idempotency_key.is_some() {
        return Err(Failure::Usage("--idempotency-key names one request; release one allocation with it".to_owned()));
    }
    let names: Vec<&str> = release.allocations.iter().map(AllocationId::as_str).collect();
    confirm(&release.consent, &format!("Stop {}, wipe and give back?", names.join(", ")))?;
    let mut started = Vec::new();
    for allocation_id in release.allocations {
        let path = AllocationPath { allocation_id };
        started.push(session.send::<AllocationRelease>(path, Nothing {}, Extra::keyed(&release.keyed)).await);
    }
    if release.waiting.no_wait && !release.waiting.wait {
        return finish(session, started);
    }
    let deadline = follow::deadline(release.waiting.timeout);
    let mut ended = Vec::new();
    for outcome in started {
        ended.push(match outcome {
            Ok(operation) => follow::until(session, operation, deadline).await.and_then(follow::succeeded),
            Err(failure) => Err(failure),
        });
    }
    finish(session, ended)
}

fn finish(session: &Session, outcomes: Vec<Result<OperationView, Failure>>) -> Result<(), Failure> {
    let single = outcomes.len() == 1;
    let (done, result) = session.sorted_out(outcomes);
    match done.as_slice() {
        [] => {}
        [operation] if single => session.print(operation)?,
        several => crate::output::list(session.format, &table::OPERATIONS, several, &Items { items: several })?,
    }
    result
}
