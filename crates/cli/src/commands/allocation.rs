//! Allocations: launch, watch, release.

use api::{
    Nothing,
    allocation::{
        AllocationLaunch, AllocationLaunchBody, AllocationList, AllocationPath, AllocationRelease, AllocationShow,
    },
    operation::OperationView,
    tenancy::ProjectPath,
};
use clap::{Args, Subcommand};
use model::{AllocationId, number::GpuCount, text::Slug};

use crate::{
    args::{Consent, Keyed, Waiting, examples},
    confirm::confirm,
    failure::Failure,
    follow, resolve,
    session::{Extra, Items, Session},
    table,
};

/// Verbs of allocations.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas allocation list --project aurora/vision"])]
pub enum AllocationCommand {
    /// List allocations, ended ones too
    #[command(after_help = examples!["gpuaas allocation list", "gpuaas allocation list --project aurora/vision -o json"])]
    List {
        /// Id, tenant/slug, or a slug that only one project has; all that you may see when absent
        #[arg(long, conflicts_with = "tenant")]
        project: Option<String>,
        /// Id or slug of a tenant: those of all its projects
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Show an allocation
    #[command(after_help = examples!["gpuaas allocation show alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the allocation
        allocation: AllocationId,
    },
}

/// What to launch.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas launch trainer --project aurora/vision --sku h200-sxm-slice --gpus 2 --region eu-north",
    "gpuaas launch trainer --project aurora/vision --sku h200-sxm-slice --gpus 1 --region eu-north --no-wait -o json",
])]
pub struct Launch {
    /// A name for it; need not be unique
    name: Slug,
    /// Id, tenant/slug, or a slug that only one project has
    #[arg(long)]
    project: String,
    /// Id or slug of the SKU
    #[arg(long)]
    sku: String,
    /// How many GPUs; one of the SKU's counts
    #[arg(long, value_name = "N")]
    gpus: GpuCount,
    /// Id or slug of the region
    #[arg(long)]
    region: String,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    keyed: Keyed,
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
        AllocationCommand::List { project: None, tenant } => {
            let mut all = Vec::new();
            for project in resolve::projects(session, tenant.as_deref()).await? {
                all.extend(session.list::<AllocationList, _>(ProjectPath { project_id: project.id }).await?);
            }
            session.print_list(&table::ALLOCATIONS, all)
        }
        AllocationCommand::Show { allocation } => {
            session.print(&session.show::<AllocationShow>(AllocationPath { allocation_id: allocation }).await?)
        }
    }
}

/// Asks for GPUs.
pub async fn launch(session: &Session, launch: Launch) -> Result<(), Failure> {
    let path = ProjectPath { project_id: resolve::project(session, &launch.project).await? };
    let body = AllocationLaunchBody {
        name: launch.name,
        sku_id: resolve::sku(session, &launch.sku).await?,
        gpu_count: launch.gpus,
        region_id: resolve::region(session, &launch.region).await?,
    };
    let operation = session.send::<AllocationLaunch>(path, body, Extra::keyed(&launch.keyed)).await?;
    session.follow_and_print(operation, &launch.waiting).await
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
