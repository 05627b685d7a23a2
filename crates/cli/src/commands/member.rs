//! Members: who works in which tenant and project, as what.

use api::{
    Nothing,
    identity::{
        MemberCreate, MemberCreateBody, MemberList, MemberPath, MemberRemove, MemberShow, MemberSubject, MemberUpdate,
        MemberUpdateBody,
    },
    tenancy::TenantPath,
};
use clap::Subcommand;
use model::{MemberId, identity::MemberRole, text::Email};

use crate::{
    args::{Consent, Keyed, Pinned, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of members.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas member list --tenant aurora"])]
pub enum MemberCommand {
    /// List the memberships of a tenant
    #[command(after_help = examples!["gpuaas member list --tenant aurora"])]
    List {
        /// Id or slug of the tenant
        #[arg(long)]
        tenant: String,
    },
    /// Show a membership
    #[command(after_help = examples!["gpuaas member show mbr_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the membership
        member: MemberId,
    },
    /// Make somebody a member
    #[command(after_help = examples![
        "gpuaas member create --tenant aurora --email ada@aurora.example --role tenant_admin",
        "gpuaas member create --tenant aurora --email bob@aurora.example --role project_member --project aurora/vision",
        "gpuaas member create --tenant aurora --service-account aurora/builder --role viewer",
    ])]
    Create {
        /// Id or slug of the tenant
        #[arg(long)]
        tenant: String,
        /// A person, by address
        #[arg(long, required_unless_present = "service_account", conflicts_with = "service_account")]
        email: Option<Email>,
        /// A service account, by id or tenant/name
        #[arg(long)]
        service_account: Option<String>,
        /// As what
        #[arg(long, value_parser = words!(MemberRole))]
        role: MemberRole,
        /// In which project; the whole tenant when absent
        #[arg(long)]
        project: Option<String>,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Change a member's role
    #[command(after_help = examples!["gpuaas member update mbr_01jh2n6f4zw8q9r0s1t2v3x4y5 --role viewer"])]
    Update {
        /// Id of the membership
        member: MemberId,
        /// As what
        #[arg(long, value_parser = words!(MemberRole))]
        role: MemberRole,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// End a membership
    #[command(after_help = examples!["gpuaas member remove mbr_01jh2n6f4zw8q9r0s1t2v3x4y5 --yes"])]
    Remove {
        /// Id of the membership
        member: MemberId,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

async fn subject(
    session: &Session,
    email: Option<Email>,
    service_account: Option<String>,
) -> Result<MemberSubject, Failure> {
    match (email, service_account) {
        (Some(email), _) => Ok(MemberSubject::Email(email)),
        (None, Some(name)) => Ok(MemberSubject::ServiceAccount(resolve::service_account(session, &name).await?)),
        (None, None) => Err(Failure::Usage("say who: --email or --service-account".to_owned())),
    }
}

/// Carries out a verb.
pub async fn run(session: &Session, command: MemberCommand) -> Result<(), Failure> {
    match command {
        MemberCommand::List { tenant } => {
            let path = TenantPath { tenant_id: resolve::tenant(session, &tenant).await? };
            session.print_list(&table::MEMBERS, session.list::<MemberList, _>(path).await?)
        }
        MemberCommand::Show { member } => {
            session.print(&session.show::<MemberShow>(MemberPath { member_id: member }).await?)
        }
        MemberCommand::Create { tenant, email, service_account, role, project, keyed } => {
            let path = TenantPath { tenant_id: resolve::tenant(session, &tenant).await? };
            let project_id = match project {
                Some(name) => Some(resolve::project(session, &name).await?),
                None => None,
            };
            let body = MemberCreateBody { subject: subject(session, email, service_account).await?, role, project_id };
            session.print(&session.send::<MemberCreate>(path, body, Extra::keyed(&keyed)).await?)
        }
        MemberCommand::Update { member, role, pinned } => {
            let path = MemberPath { member_id: member };
            session.print(&session.change::<MemberUpdate, MemberShow>(path, MemberUpdateBody { role }, &pinned).await?)
        }
        MemberCommand::Remove { member, consent, pinned } => {
            confirm(&consent, &format!("End membership {member}?"))?;
            session
                .send::<MemberRemove>(
                    MemberPath { member_id: member.clone() },
                    Nothing {},
                    Extra::default().pinned(&pinned),
                )
                .await?;
            session.note(&format!("membership {member} ended"));
            Ok(())
        }
    }
}
