//! Projects: where a tenant works.

use api::{
    Nothing,
    tenancy::{
        ProjectCreate, ProjectCreateBody, ProjectDelete, ProjectPath, ProjectResume, ProjectShow, ProjectSuspend,
        ProjectUpdate, ProjectUpdateBody, TenantPath,
    },
};
use clap::Subcommand;
use model::{
    number::GpuCap,
    text::{DisplayName, Slug},
};

use crate::{
    args::{Consent, Keyed, Pinned, Waiting, examples},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of projects.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas project list --tenant aurora", "gpuaas project show aurora/vision"])]
pub enum ProjectCommand {
    /// List the projects you may see
    #[command(after_help = examples!["gpuaas project list", "gpuaas project list --tenant aurora -o json"])]
    List {
        /// Id or slug of a tenant; all that you may see when absent
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Show a project
    #[command(after_help = examples!["gpuaas project show aurora/vision", "gpuaas project show vision -o json"])]
    Show {
        /// Id, tenant/slug, or a slug that only one project has
        project: String,
    },
    /// Create a project
    #[command(after_help = examples!["gpuaas project create vision --tenant aurora --name Research --gpu-cap 16"])]
    Create {
        /// Short name, unique in the tenant
        slug: Slug,
        /// Id or slug of the tenant
        #[arg(long)]
        tenant: String,
        /// Name for people
        #[arg(long)]
        name: DisplayName,
        /// GPUs it may hold at once
        #[arg(long, value_name = "N")]
        gpu_cap: GpuCap,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Change a project's name or cap
    #[command(after_help = examples!["gpuaas project update aurora/vision --gpu-cap 32", "gpuaas project update aurora/vision --name 'Basic research'"])]
    Update {
        /// Id, tenant/slug, or a slug that only one project has
        project: String,
        /// Name for people
        #[arg(long, required_unless_present = "gpu_cap")]
        name: Option<DisplayName>,
        /// GPUs it may hold at once
        #[arg(long, value_name = "N")]
        gpu_cap: Option<GpuCap>,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Suspend a project: what runs goes on, nothing new starts
    #[command(after_help = examples!["gpuaas project suspend aurora/vision --yes"])]
    Suspend {
        /// Id, tenant/slug, or a slug that only one project has
        project: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// End the suspension of a project
    #[command(after_help = examples!["gpuaas project resume aurora/vision"])]
    Resume {
        /// Id, tenant/slug, or a slug that only one project has
        project: String,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Delete a project and everything in it, with proof that nothing is left
    #[command(after_help = examples!["gpuaas project delete aurora/vision", "gpuaas project delete aurora/vision --yes --timeout 2h"])]
    Delete {
        /// Id, tenant/slug, or a slug that only one project has
        project: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        waiting: Waiting,
    },
}

async fn path(session: &Session, project: &str) -> Result<ProjectPath, Failure> {
    Ok(ProjectPath { project_id: resolve::project(session, project).await? })
}

/// Carries out a verb.
pub async fn run(session: &Session, command: ProjectCommand) -> Result<(), Failure> {
    match command {
        ProjectCommand::List { tenant } => {
            session.print_list(&table::PROJECTS, resolve::projects(session, tenant.as_deref()).await?)
        }
        ProjectCommand::Show { project } => {
            let path = path(session, &project).await?;
            session.print(&session.show::<ProjectShow>(path).await?)
        }
        ProjectCommand::Create { slug, tenant, name, gpu_cap, keyed } => {
            let path = TenantPath { tenant_id: resolve::tenant(session, &tenant).await? };
            let body = ProjectCreateBody { slug, name, gpu_cap };
            session.print(&session.send::<ProjectCreate>(path, body, Extra::keyed(&keyed)).await?)
        }
        ProjectCommand::Update { project, name, gpu_cap, pinned } => {
            let path = path(session, &project).await?;
            session.print(
                &session
                    .change::<ProjectUpdate, ProjectShow>(path, ProjectUpdateBody { name, gpu_cap }, &pinned)
                    .await?,
            )
        }
        ProjectCommand::Suspend { project, consent, pinned, waiting, keyed } => {
            confirm(&consent, &format!("Suspend project {project}: nothing new starts in it?"))?;
            let path = path(session, &project).await?;
            let operation =
                session.send::<ProjectSuspend>(path, Nothing {}, Extra::keyed(&keyed).pinned(&pinned)).await?;
            session.follow_and_print(operation, &waiting).await
        }
        ProjectCommand::Resume { project, pinned, waiting, keyed } => {
            let path = path(session, &project).await?;
            let operation =
                session.send::<ProjectResume>(path, Nothing {}, Extra::keyed(&keyed).pinned(&pinned)).await?;
            session.follow_and_print(operation, &waiting).await
        }
        ProjectCommand::Delete { project, consent, pinned, waiting } => {
            confirm(&consent, &format!("Delete project {project} and everything in it?"))?;
            let path = path(session, &project).await?;
            let operation = session.change::<ProjectDelete, ProjectShow>(path, Nothing {}, &pinned).await?;
            session.follow_and_print(operation, &waiting).await
        }
    }
}
