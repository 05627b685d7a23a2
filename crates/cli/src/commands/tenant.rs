//! Tenants: organisations that own projects.

use api::{
    Nothing,
    tenancy::{
        TenantCreate, TenantCreateBody, TenantDelete, TenantList, TenantPath, TenantResume, TenantShow, TenantSuspend,
        TenantUpdate, TenantUpdateBody,
    },
};
use clap::Subcommand;
use model::text::{DisplayName, Slug};

use crate::{
    args::{Consent, Keyed, Pinned, Waiting, examples},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of tenants.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas tenant list", "gpuaas tenant create aurora --name 'Aurora Research'"])]
pub enum TenantCommand {
    /// List the tenants you may see
    #[command(after_help = examples!["gpuaas tenant list", "gpuaas tenant list -o json"])]
    List,
    /// Show a tenant
    #[command(after_help = examples!["gpuaas tenant show aurora", "gpuaas tenant show tnt_01jh2n6f4zw8q9r0s1t2v3x4y5 -o yaml"])]
    Show {
        /// Id or slug of the tenant
        tenant: String,
    },
    /// Create a tenant
    #[command(after_help = examples!["gpuaas tenant create aurora --name 'Aurora Research'"])]
    Create {
        /// Short name, unique among tenants
        slug: Slug,
        /// Name for people
        #[arg(long)]
        name: DisplayName,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Rename a tenant
    #[command(after_help = examples!["gpuaas tenant update aurora --name 'Aurora Laboratories'"])]
    Update {
        /// Id or slug of the tenant
        tenant: String,
        /// Name for people
        #[arg(long)]
        name: DisplayName,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Suspend a tenant: what runs goes on, nothing new starts
    #[command(after_help = examples!["gpuaas tenant suspend aurora --yes"])]
    Suspend {
        /// Id or slug of the tenant
        tenant: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// End the suspension of a tenant
    #[command(after_help = examples!["gpuaas tenant resume aurora"])]
    Resume {
        /// Id or slug of the tenant
        tenant: String,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Delete a tenant and everything in it, with proof that nothing is left
    #[command(after_help = examples!["gpuaas tenant delete aurora", "gpuaas tenant delete aurora --yes --no-wait"])]
    Delete {
        /// Id or slug of the tenant
        tenant: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        waiting: Waiting,
    },
}

async fn path(session: &Session, tenant: &str) -> Result<TenantPath, Failure> {
    Ok(TenantPath { tenant_id: resolve::tenant(session, tenant).await? })
}

/// Carries out a verb.
pub async fn run(session: &Session, command: TenantCommand) -> Result<(), Failure> {
    match command {
        TenantCommand::List => session.print_list(&table::TENANTS, session.list::<TenantList, _>(Nothing {}).await?),
        TenantCommand::Show { tenant } => {
            let path = path(session, &tenant).await?;
            session.print(&session.show::<TenantShow>(path).await?)
        }
        TenantCommand::Create { slug, name, keyed } => {
            let body = TenantCreateBody { slug, name };
            session.print(&session.send::<TenantCreate>(Nothing {}, body, Extra::keyed(&keyed)).await?)
        }
        TenantCommand::Update { tenant, name, pinned } => {
            let path = path(session, &tenant).await?;
            session.print(&session.change::<TenantUpdate, TenantShow>(path, TenantUpdateBody { name }, &pinned).await?)
        }
        TenantCommand::Suspend { tenant, consent, pinned, waiting, keyed } => {
            confirm(&consent, &format!("Suspend tenant {tenant}: nothing new starts in it?"))?;
            let path = path(session, &tenant).await?;
            let extra = Extra::keyed(&keyed).pinned(&pinned);
            let operation = session.send::<TenantSuspend>(path, Nothing {}, extra).await?;
            session.follow_and_print(operation, &waiting).await
        }
        TenantCommand::Resume { tenant, pinned, waiting, keyed } => {
            let path = path(session, &tenant).await?;
            let extra = Extra::keyed(&keyed).pinned(&pinned);
            let operation = session.send::<TenantResume>(path, Nothing {}, extra).await?;
            session.follow_and_print(operation, &waiting).await
        }
        TenantCommand::Delete { tenant, consent, pinned, waiting } => {
            confirm(&consent, &format!("Delete tenant {tenant} and everything in it?"))?;
            let path = path(session, &tenant).await?;
            let operation = session.change::<TenantDelete, TenantShow>(path, Nothing {}, &pinned).await?;
            session.follow_and_print(operation, &waiting).await
        }
    }
}
