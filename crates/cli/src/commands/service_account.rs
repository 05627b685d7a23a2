//! Service accounts: programs that act for a tenant.

use api::{
    Nothing,
    identity::{
        PrincipalPath, ServiceAccountCreate, ServiceAccountCreateBody, ServiceAccountList, ServiceAccountRemove,
        ServiceAccountShow,
    },
    tenancy::TenantPath,
};
use clap::Subcommand;
use model::text::Slug;

use crate::{
    args::{Consent, Keyed, Pinned, examples},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of service accounts.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas service-account list --tenant aurora"])]
pub enum ServiceAccountCommand {
    /// List the service accounts of a tenant
    #[command(after_help = examples!["gpuaas service-account list --tenant aurora"])]
    List {
        /// Id or slug of the tenant
        #[arg(long)]
        tenant: String,
    },
    /// Show a service account
    #[command(after_help = examples!["gpuaas service-account show aurora/builder"])]
    Show {
        /// Id, or tenant/name
        service_account: String,
    },
    /// Create a service account; give it a role with `member create` and a token with `token create`
    #[command(after_help = examples![
        "gpuaas service-account create builder --tenant aurora",
        "gpuaas member create --tenant aurora --service-account aurora/builder --role project_member --project aurora/vision",
        "gpuaas token create ci --scope write --lifetime 30d --service-account aurora/builder",
    ])]
    Create {
        /// Short name, unique in the tenant
        name: Slug,
        /// Id or slug of the tenant
        #[arg(long)]
        tenant: String,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Remove a service account, its memberships and its tokens
    #[command(after_help = examples!["gpuaas service-account remove aurora/builder --yes"])]
    Remove {
        /// Id, or tenant/name
        service_account: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: ServiceAccountCommand) -> Result<(), Failure> {
    match command {
        ServiceAccountCommand::List { tenant } => {
            let path = TenantPath { tenant_id: resolve::tenant(session, &tenant).await? };
            session.print_list(&table::SERVICE_ACCOUNTS, session.list::<ServiceAccountList, _>(path).await?)
        }
        ServiceAccountCommand::Show { service_account } => {
            let path = PrincipalPath { principal_id: resolve::service_account(session, &service_account).await? };
            session.print(&session.show::<ServiceAccountShow>(path).await?)
        }
        ServiceAccountCommand::Create { name, tenant, keyed } => {
            let path = TenantPath { tenant_id: resolve::tenant(session, &tenant).await? };
            let body = ServiceAccountCreateBody { name };
            session.print(&session.send::<ServiceAccountCreate>(path, body, Extra::keyed(&keyed)).await?)
        }
        ServiceAccountCommand::Remove { service_account, consent, pinned } => {
            confirm(&consent, &format!("Remove service account {service_account}, its memberships and its tokens?"))?;
            let path = PrincipalPath { principal_id: resolve::service_account(session, &service_account).await? };
            session.send::<ServiceAccountRemove>(path, Nothing {}, Extra::default().pinned(&pinned)).await?;
            session.note(&format!("service account {service_account} removed"));
            Ok(())
        }
    }
}
