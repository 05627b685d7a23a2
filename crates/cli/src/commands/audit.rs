//! The audit trail.

use api::{Nothing, audit::AuditList};
use clap::Subcommand;

use crate::{args::examples, failure::Failure, session::Session, table};

/// Verbs of the audit trail.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas audit list"])]
pub enum AuditCommand {
    /// List the audited actions you may see
    #[command(after_help = examples!["gpuaas audit list", "gpuaas audit list -o json"])]
    List,
}

/// Carries out a verb.
pub async fn run(session: &Session, command: AuditCommand) -> Result<(), Failure> {
    match command {
        AuditCommand::List => session.print_list(&table::AUDIT, session.list::<AuditList, _>(Nothing {}).await?),
    }
}
