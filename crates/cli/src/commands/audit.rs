//! The audit trail.

use api::{
    Nothing,
    audit::{AuditList, AuditQuery},
};
use clap::{Args, Subcommand};
use model::{listing::ListOrder, number::PageSize, text::RecordedName, time::UtcTime};

use crate::{args::examples, failure::Failure, session::Session, table};

/// Verbs of the audit trail.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas audit list"])]
pub enum AuditCommand {
    /// List the audited actions you may see
    #[command(after_help = examples![
        "gpuaas audit list",
        "gpuaas audit list --newest --limit 20",
        "gpuaas audit list --actor prn_01jh2n6f4zw8q9r0s1t2v3x4y5 --from 2026-01-31T00:00:00Z -o json",
        "gpuaas audit list --subject alc_01jh2n6f4zw8q9r0s1t2v3x4y5",
    ])]
    List(List),
}

/// Which actions.
#[derive(Debug, Args)]
pub struct List {
    /// Only by this one: a principal's id, or a part of the platform such as system:placement
    #[arg(long)]
    actor: Option<RecordedName>,
    /// Only this operation
    #[arg(long)]
    action: Option<RecordedName>,
    /// Only on what has this id
    #[arg(long, value_name = "ID")]
    subject: Option<RecordedName>,
    /// From this moment on, in UTC
    #[arg(long, value_name = "TIME")]
    from: Option<UtcTime>,
    /// Until before this moment, in UTC
    #[arg(long, value_name = "TIME")]
    to: Option<UtcTime>,
    /// The newest first
    #[arg(long)]
    newest: bool,
    /// How many at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

/// Carries out a verb.
pub async fn run(session: &Session, command: AuditCommand) -> Result<(), Failure> {
    let AuditCommand::List(List { actor, action, subject, from, to, newest, limit }) = command;
    let wanted = limit.map_or(PageSize::MAX, i64::from).min(PageSize::MAX);
    let query = AuditQuery {
        actor,
        action,
        subject,
        from,
        to,
        order: newest.then_some(ListOrder::Newest),
        page_size: PageSize::try_from(wanted).ok(),
        page_token: None,
    };
    let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    session.print_list(&table::AUDIT, session.list_by::<AuditList, _>(Nothing {}, query, limit).await?)
}
